//! Proofs of `reduce` that go through calls, contracts, loops over maps and new objects: accepted, and rejected where one of their parts is left out.
//!
//! In: procedures with `performs` and `ensures`. Out: verdicts of the checker on what `reduce` claims of them, and on forged proofs of the same.

use super::reduction::{checked, claims, program};
use checker::Outcome;
use evidence::{Certificate, Claim, Proof, Reduction};
use program::{Program, PropertyKind};
use std::sync::Arc;

/// Locks that are given back by procedures, and one more call between them.
fn releases_by_calls(between: &str, body: &str) -> Program {
    program(&format!(
        "var a: lock;\nvar b: lock;\nvar c: lock;\nvar x: int = 0 guarded_by a;\n\
         proc rela() requires a == tid; performs RA: <a> a' == 0; {{ release a; }}\n\
         proc relc() requires c == tid; performs RC: <c> c' == 0; {{ release c; }}\n\
         proc between(n: int) performs W: <> true; {{ {between} }}\n\
         proc both(v: int) performs Both: <x> a == 0 && c == 0 && x' == v;\n\
         {{ acquire a; acquire c; x := v; {body} }}\n"
    ))
}

#[test]
fn check_calls_that_never_wait_may_follow_the_commit_of_a_run() {
    let turns = "var i: int := 0; while i < n { i := i + 1; }";
    for between in ["skip;", turns] {
        let p = releases_by_calls(between, "rela(); between(v); relc();");
        let claim = &claims(&p)["performs:both"];
        let Claim::Proved(c) = claim else { panic!("{between}: a proof was expected: {claim:?}") };
        assert_eq!(checked(&p, "performs:both", claim), Outcome::Safe, "{between}");
        let Proof::Reduction(proof) = &c.proof else { panic!("a reduction") };
        assert_eq!(proof.prompt.len(), 3, "{between}");
        let forged = |change: &dyn Fn(&mut Reduction)| {
            let mut proof = proof.clone();
            change(&mut proof);
            let claim = Claim::Proved(Arc::new(Certificate { proof: Proof::Reduction(proof), ..(**c).clone() }));
            checked(&p, "performs:both", &claim)
        };
        assert_eq!(forged(&|_| {}), Outcome::Safe);
        for left_out in 0..3 {
            let without = forged(&|r| {
                r.prompt.remove(left_out);
            });
            assert_eq!(without, Outcome::Unknown, "{between}: without {left_out}");
        }
        assert_eq!(forged(&|r| r.prompt.push(r.prompt[0])), Outcome::Unknown, "twice");
        if between == turns {
            let unranked = forged(&|r| r.units.iter_mut().for_each(|u| u.cuts.iter_mut().for_each(|c| c.rank = None)));
            assert_eq!(unranked, Outcome::Unknown, "a loop needs a rank");
            let flat = c.terms.int(0);
            let same = forged(&|r| r.units.iter_mut().flat_map(|u| &mut u.cuts).for_each(|c| c.rank = Some(flat)));
            assert_eq!(same, Outcome::Unknown, "which comes down");
        }
    }
}

#[test]
fn check_a_call_that_may_wait_or_never_end_does_not_follow_a_commit() {
    // Others would see `a` free and `c` held for as long as the call waits.
    for between in ["acquire b; release b;", "while true { skip; }", "while b != tid { skip; }"] {
        let right = releases_by_calls("skip;", "rela(); between(v); relc();");
        let p = releases_by_calls(between, "rela(); between(v); relc();");
        let claim = &claims(&p)["performs:both"];
        assert_ne!(checked(&p, "performs:both", claim), Outcome::Safe, "{between}");
        // The ranks and lists of the program that does not wait are no proof of this one.
        let Claim::Proved(c) = &claims(&right)["performs:both"] else { panic!("a proof was expected") };
        assert_ne!(checked(&p, "performs:both", &Claim::Proved(c.clone())), Outcome::Safe, "{between}");
        let listed = claims(&p).into_iter().find_map(|(_, claim)| match claim {
            Claim::Proved(c) => Some(c),
            _ => None,
        });
        if let Some(c) = listed
            && let Proof::Reduction(proof) = &c.proof
        {
            let mut proof = proof.clone();
            proof.prompt = proof.specified.clone();
            let mut properties = c.properties.clone();
            properties.extend(p.properties.ids().filter(|q| !c.properties.contains(q)));
            let forged = Certificate { proof: Proof::Reduction(proof), properties, ..(*c).clone() };
            assert_ne!(checked(&p, "performs:both", &Claim::Proved(Arc::new(forged))), Outcome::Safe, "{between}");
        }
    }
}

#[test]
fn check_what_a_procedure_ensures_is_shown_at_its_end_and_only_while_it_is_its_own() {
    let declared = "var l: [int]lock;\nvar d: [int]int accessible_if[j] l[j] == 0 || l[j] == tid;\n";
    let held = format!(
        "{declared}proc twice(i: int) requires l[i] == tid; ensures d[i] == old(d[i]) + 2; {{ d[i] := d[i] + 1; d[i] := d[i] + 1; }}\n"
    );
    let p = program(&held);
    let name = p.properties.iter().find(|q| matches!(q.kind, PropertyKind::Ensures(_))).expect("one").name.clone();
    assert_eq!(checked(&p, &name, &claims(&p)[name.as_str()]), Outcome::Safe);
    for wrong in [held.replace("+ 2", "+ 3"), held.replace("d[i] := d[i] + 1; }", "d[i] := d[i] + 1; release l[i]; }")]
    {
        let p = program(&wrong);
        assert_ne!(checked(&p, &name, &claims(&p)[name.as_str()]), Outcome::Safe, "{wrong}");
    }
}

#[test]
fn check_loops_over_maps_are_shown_by_what_they_leave_unchanged() {
    let declared =
        "const N: int = 8;\nvar l: [int]lock;\nvar d: [int][int]int accessible_if[j] l[j] == 0 || l[j] == tid;\n";
    let clear = format!(
        "{declared}proc clear(b: int) requires l[b] == tid;\n\
         performs C: <d[b]> forall k: int :: 0 <= k && k < N ==> d'[b][k] == 0;\n\
         {{ var i: int := 0; while i < N {{ d[b][i] := 0; i := i + 1; }} }}\n"
    );
    let p = program(&clear);
    assert_eq!(checked(&p, "performs:clear", &claims(&p)["performs:clear"]), Outcome::Safe);
    for (right, wrong) in
        [("i: int := 0", "i: int := 1"), ("d[b][i] := 0", "d[b][i] := 1"), ("d[b][i] := 0", "d[b][2] := 0")]
    {
        let p = program(&clear.replace(right, wrong));
        assert_ne!(checked(&p, "performs:clear", &claims(&p)["performs:clear"]), Outcome::Safe, "{wrong}");
    }
    // With its lock taken and given back in the same run.
    let whole = clear
        .replace(" requires l[b] == tid;", "")
        .replace("<d[b]> ", "<d[b]> l[b] == 0 && ")
        .replace("{ var i", "{ acquire l[b]; var i")
        .replace("i := i + 1; } }", "i := i + 1; } release l[b]; }");
    let p = program(&whole);
    assert_eq!(checked(&p, "performs:clear", &claims(&p)["performs:clear"]), Outcome::Safe);
    let wrongs = [
        ("{ acquire", "{ acquire l[b + 1]; acquire"),
        ("d[b][i] := 0;", "d[b][i] := 0; d[b][0] := i;"),
        ("} release l[b];", "} release l[b]; acquire l[b]; d[b][0] := 0; release l[b];"),
    ];
    for (right, wrong) in wrongs {
        let p = program(&whole.replace(right, wrong));
        assert_ne!(checked(&p, "performs:clear", &claims(&p)["performs:clear"]), Outcome::Safe, "{wrong}");
    }
}

/// A procedure that makes an object of its own, used by specification inside a run of another.
fn made_in_calls(says: &str, body: &str, grows: &str) -> Program {
    program(&format!(
        "class Page {{ size: int thread_local; }}\nvar m: lock;\nvar x: int = 0 guarded_by m;\n\
         proc fetch(q: Page) returns (p: Page) requires m == tid; requires own(q);\n\
         performs F: <> p != null && own(p) && {says}; {{ p := new Page; {body} return; }}\n\
         proc grow(n: int) performs G: <x> m == 0 && {grows};\n\
         {{ var q: Page := null; acquire m; var a: Page := fetch(q); var b: Page := fetch(a); x := b.size + n; release m; }}\n"
    ))
}

#[test]
fn check_objects_that_a_procedure_makes_are_in_the_frame_of_what_it_performs() {
    let right = made_in_calls("p.size' == x", "p.size := x;", "x' == x + n");
    for name in ["performs:fetch", "performs:grow"] {
        assert_eq!(checked(&right, name, &claims(&right)[name]), Outcome::Safe, "{name}");
    }
    // Objects that were there already are not in it, and what is said of the new one must hold.
    let wrong = [
        ("p.size' == x", "p.size := x + 1;", "x' == x + n", "performs:fetch"),
        ("p.size' == x", "p.size := x; if q != null { q.size := 7; }", "x' == x + n", "performs:fetch"),
        ("p.size' == x", "p.size := x;", "x' == x + n + 1", "performs:grow"),
        ("p.size' >= x", "p.size := x;", "x' == x + n", "performs:grow"),
    ];
    for (says, body, grows, name) in wrong {
        let p = made_in_calls(says, body, grows);
        assert_ne!(checked(&p, name, &claims(&p)[name]), Outcome::Safe, "{says} {body} {grows}");
        // Nor is the right program's proof one of it.
        assert_ne!(checked(&p, name, &claims(&right)[name]), Outcome::Safe, "{says} {body} {grows}");
    }
}

#[test]
fn check_what_a_specification_says_of_objects_that_stay_counts_as_reading_them() {
    let p = made_in_calls(
        "p.size' == x && (q == null || q.size' == 5)",
        "p.size := x; assume q == null || q.size == 5;",
        "x' == x + n",
    );
    let fetch = p.procedures.iter_enumerated().find(|(_, q)| q.name == "fetch").expect("there").0;
    let basis = evidence::reduction::basis(&p, &[], &[fetch]).expect("no guards").specified;
    let (p, t) = (&basis.program, &basis.program.terms);
    let touches = program::access::Touches::new(p, t);
    let size = p.vars.iter_enumerated().find(|(_, v)| v.name == "Page.size").expect("a field").0;
    let live = p.classes.iter().next().expect("a class").live;
    let mut seen = 0;
    for q in p.procedures.iter() {
        for a in q.code.actions.iter().filter(|a| a.relation.is_some()) {
            seen += 1;
            let list = touches.of(a);
            let of = |v, mode| list.iter().filter(move |x| x.place.var == v && x.mode == mode);
            assert!(of(size, program::TouchMode::Read).any(|x| x.place.keys.len() == 1), "`q.size` is read");
            // Every write is at one entry, and at any entry only where it is the thread's own and new.
            for v in [size, live] {
                let writes: Vec<_> = of(v, program::TouchMode::Write).collect();
                assert!(!writes.is_empty() && writes.iter().all(|x| x.place.keys.len() == 1 && !t.is_true(x.when)));
            }
        }
    }
    assert_eq!(seen, 2, "both calls are by specification");
}
