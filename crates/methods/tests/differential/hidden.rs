//! Variables that a specification hides: what `reduce` proves with them, and that the checker refuses it where one condition is missing.
//!
//! In: a lock table behind a monitor, right and changed. Out: accepted and rejected certificates, and programs in which nothing may be hidden.

use super::reduction::{checked, claims, program};
use base::Sources;
use checker::Outcome;
use evidence::{Certificate, Claim, Proof, Reduction};
use logic::Terms;
use program::{Program, VarId};
use std::sync::Arc;

/// Callers see who has a lock; the bits, and the monitor that guards them, are private.
const TABLE: &str = "private var monitor: lock;
private var busy: [int]bool guarded_by monitor;
var owner: [int]int accessible_if[i] owner[i] == 0 || owner[i] == tid;
var x: int accessible_if owner[1] == 0 || owner[1] == tid;
var y: int accessible_if owner[2] == 0 || owner[2] == tid;
init forall i: int :: owner[i] == 0 && !busy[i];
proc take(n: int)
  performs Take: <owner[n]> owner[n] == 0 && owner'[n] == tid;
{ acquire monitor; while busy[n] { release monitor; acquire monitor; } atomic { busy[n] := true; owner[n] := tid; } release monitor; }
proc give(n: int)
  requires owner[n] == tid;
  performs Give: <owner[n]> owner'[n] == 0;
{ acquire monitor; atomic { busy[n] := false; owner[n] := 0; } release monitor; }
";
const BOTH: &str = "proc both()
  performs Both: <x, y> owner[1] == 0 && owner[2] == 0 && x' == x + 1 && y' == y + 1;
{ take(1); take(2); x := x + 1; y := y + 1; give(2); give(1); }
";
const INVARIANT: &str = "invariant forall i: int :: busy[i] <==> owner[i] != 0;\n";

fn proved(p: &Program, name: &str) -> Option<Arc<Certificate>> {
    match claims(p).remove(name) {
        Some(Claim::Proved(c)) => Some(c),
        _ => None,
    }
}

/// Whether the checker accepts the certificate after a change.
fn accepted(p: &Program, name: &str, c: &Certificate, change: &dyn Fn(&mut Reduction, &Terms)) -> bool {
    let mut out = c.clone();
    let Proof::Reduction(r) = &mut out.proof else { panic!("a reduction") };
    let terms = out.terms.clone();
    change(r, &terms);
    out.terms = terms;
    checked(p, name, &Claim::Proved(Arc::new(out))) == Outcome::Safe
}

fn var(p: &Program, name: &str) -> VarId {
    p.shared().find(|v| p.vars[*v].name == name).expect("there is one")
}

#[test]
fn check_callers_are_proved_over_what_a_lock_table_shows() {
    // With the invariant that ties the bits to the owners, and where it has to be found.
    for text in [format!("{TABLE}{INVARIANT}{BOTH}"), format!("{TABLE}{BOTH}")] {
        let p = program(&text);
        for name in ["performs:take", "performs:give", "performs:both"] {
            let c = proved(&p, name).unwrap_or_else(|| panic!("{name} is proved: {:?}", claims(&p)[name]));
            assert!(accepted(&p, name, &c, &|_, _| ()), "{name}");
            let text = evidence::file::write_evidence(
                &p,
                &[evidence::file::EvidenceEntry::Certificate(Certificate::clone(&c))],
            );
            let read = evidence::file::read_evidence(&p, text.as_bytes()).expect("it reads");
            assert_eq!(text, evidence::file::write_evidence(&p, &read));
        }
    }
}

#[test]
fn check_a_certificate_that_hides_wrongly_is_rejected() {
    let p = program(&format!("{TABLE}{INVARIANT}{BOTH}"));
    let c = proved(&p, "performs:both").expect("it is proved");
    let (monitor, busy, owner) = (var(&p, "monitor"), var(&p, "busy"), var(&p, "owner"));
    let rejected = |why: &str, change: &dyn Fn(&mut Reduction, &Terms)| {
        assert!(!accepted(&p, "performs:both", &c, change), "accepted although {why}");
    };
    rejected("nothing is hidden", &|r, _| {
        r.hidden.clear();
        r.monitors.clear();
    });
    rejected("the bits are seen", &|r, _| r.hidden.retain(|v| *v != busy));
    rejected("callers see what is hidden", &|r, _| {
        r.hidden.push(owner);
        r.hidden.sort_unstable();
    });
    rejected("hidden variables are not in order", &|r, _| r.hidden.reverse());
    rejected("an owner is not used by specification", &|r, _| r.specified.retain(|q| p.procedures[*q].name != "give"));
    rejected("nobody says that the monitor comes to be free", &|r, _| r.monitors.clear());
    rejected("a monitor is no lock", &|r, _| r.monitors = vec![busy]);
    rejected("a monitor is not hidden", &|r, _| {
        r.hidden = vec![busy];
        r.monitors = vec![monitor];
    });
    rejected("an owner of monitors is not in the certificate", &|r, _| {
        let is_take = |u: &evidence::Reduced| matches!(u.unit, program::call_summaries::CodeUnit::Procedure(q) if p.procedures[q].name == "take");
        r.units.retain(|u| !is_take(u));
    });
    let both = |u: &evidence::Reduced| matches!(u.unit, program::call_summaries::CodeUnit::Procedure(q) if p.procedures[q].name == "both");
    rejected("a cut of a caller speaks of a hidden variable", &|r, t| {
        let unit = r.units.iter_mut().find(|u| both(u)).expect("it is there");
        let spoken = t.eq(t.sym(p.vars[monitor].symbol), t.int(5));
        unit.cuts[0].formula = t.or(&[unit.cuts[0].formula, spoken]);
    });
    rejected("the invariant of the owners is missing", &|r, _| {
        r.premises.clear();
        r.found.clear();
    });
}

/// With what is hidden as it was, and the invariant that ties it to what a call changes, callers could prove anything.
#[test]
fn check_nothing_absurd_follows_for_callers() {
    let absurd = "proc absurd() { take(1); assert false; }\n";
    let p = program(&format!("{TABLE}{INVARIANT}{BOTH}{absurd}"));
    let name = p.properties.iter().find(|q| q.name.starts_with("assert:")).expect("there is one").name.clone();
    assert!(proved(&p, &name).is_none(), "an assertion that always fails");
    let c = proved(&p, "performs:both").expect("it is proved");
    let mut forged = Certificate::clone(&c);
    forged.properties.push(p.properties.ids().find(|q| p.properties[*q].name == name).expect("it is there"));
    assert!(!accepted(&p, &name, &forged, &|_, _| ()));
    // A wrong caller, and an owner whose specification is wrong.
    let wrong = BOTH.replace("y' == y + 1", "y' == y + 2");
    assert!(proved(&program(&format!("{TABLE}{INVARIANT}{wrong}")), "performs:both").is_none());
    for (from, to) in [("owner[n] := tid", "owner[n + 1] := tid"), ("owner'[n] == tid", "owner'[n] == tid + 1")] {
        let p = program(&format!("{}{INVARIANT}{BOTH}", TABLE.replace(from, to)));
        assert!(proved(&p, "performs:take").is_none() && proved(&p, "performs:both").is_none(), "{to}");
    }
    // Without waiting, a lock is taken from who has it.
    let careless = TABLE.replace("while busy[n] { release monitor; acquire monitor; }", "");
    let p = program(&format!("{careless}{INVARIANT}{BOTH}"));
    assert!(proved(&p, "performs:take").is_none() && proved(&p, "performs:both").is_none());
}

/// A call that waits for a monitor ends only if whoever has it gives it back.
#[test]
fn check_a_monitor_that_is_kept_makes_no_prompt_owner() {
    let others = [
        "proc keep() performs Keep: <> true; { acquire monitor; }\n",
        "proc wait_inside() performs W: <> true; { acquire monitor; assume owner[3] == 0; release monitor; }\n",
        "proc turn() performs T: <> true; { acquire monitor; while busy[3] { skip; } release monitor; }\n",
        "private var second: lock;\nproc nested() performs N: <> true; { acquire monitor; acquire second; release second; release monitor; }\n",
    ];
    for other in others {
        let p = program(&format!("{TABLE}{INVARIANT}{BOTH}{other}"));
        assert!(proved(&p, "performs:both").is_none(), "{other}");
        let Some(c) = proved(&p, "performs:take") else { continue };
        let monitor = var(&p, "monitor");
        assert!(!accepted(&p, "performs:take", &c, &|r, _| r.monitors = vec![monitor]), "{other}");
    }
}

#[test]
fn check_what_somebody_sees_cannot_be_private() {
    let seen = [
        ("thread T { acquire monitor; release monitor; }", "thread T names it"),
        (
            "proc look() returns (r: bool) { acquire monitor; r := busy[1]; release monitor; }",
            "does not say what it performs",
        ),
        ("var z: int guarded_by monitor;", "who may access `z` depends on it"),
        (
            "proc odd() performs O: <busy[1]> true; { acquire monitor; busy[1] := true; release monitor; }",
            "specification of odd names it",
        ),
        (
            "proc twice() requires owner[1] == tid; performs G: <owner[1]> owner'[1] == 0; { give(1); acquire monitor; release monitor; }",
            "calls give",
        ),
        ("machine M { start A; A -> A : <x> true; }", "machines or objects"),
    ];
    for (more, why) in seen {
        let text = format!("{TABLE}{more}\n");
        let mut sources = Sources::new();
        let parsed = frontend::lang::parse_file(&mut sources, "test.tp", text.as_bytes());
        let lowered = frontend::lang::lower_file(&parsed, &sources, &Default::default());
        assert!(lowered.program.is_none(), "{more}");
        let messages: Vec<&str> = lowered.diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert!(messages.iter().any(|m| m.contains("cannot be private") && m.contains(why)), "{more}: {messages:?}");
    }
}
