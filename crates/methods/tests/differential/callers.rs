//! Files without threads: what `callers` says of random procedures and objects, against clients that are written as threads of the same
//! file, and against histories.
//!
//! In: a seed. The clients are text, so that the client that the tool builds for itself is compared with one that it did not build. A
//! proof must not be contradicted by them; what they cannot do is no contradiction of a run, since the tool's client may do more.

use base::Random;
use base::differential::{is_long_run, limited_work, seeds};
use checker::{CheckLimits, Checker, Outcome};
use evidence::Claim;
use methods::Callers;
use methods::linear;
use methods::{Method, MethodOptions, Run, Task};
use program::clients::Against;
use program::semantics::{self, InstanceCounts};
use program::{ObjectId, Program, PropertyId, PropertyKind};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use testkit::oracle::Again;

/// A file without threads, and threads that call what is in it.
pub(crate) struct OpenFile {
    pub text: String,
    /// Empty for an object, whose clients are those of histories.
    clients: String,
}

pub(crate) fn open_file(seed: u64) -> OpenFile {
    let mut r = Random::new(seed);
    if seed % 4 == 3 { object(&mut r) } else { procedures(&mut r) }
}

fn pick(r: &mut Random, list: &[&'static str]) -> &'static str {
    list[r.below(list.len())]
}

fn procedures(r: &mut Random) -> OpenFile {
    let mut text = String::from("var m: lock;\nvar x: int = 0;\nvar y: int = 1;\nvar f: bool = false;\n");
    if r.chance(70) {
        let formula = ["x >= 0", "x <= y + 2", "m == 0 ==> x <= 1", "f ==> x >= 1", "y >= 1 || f", "x + y <= 4"];
        let _ = writeln!(text, "invariant {};", pick(r, &formula));
    }
    if r.chance(25) {
        let _ = writeln!(text, "rely {};", pick(r, &["y' >= y", "m == tid ==> x' == x", "f ==> f'"]));
    }
    let mut calls = Vec::new();
    for k in 0..1 + r.below(2) {
        let requires = pick(r, &["", "\n  requires a >= 0;", "\n  requires a <= 1;"]);
        let _ = writeln!(text, "proc p{k}(a: int) returns (r: int){requires}\n{{\n  r := 0;");
        let locked = r.chance(60);
        if locked {
            text.push_str("  acquire m;\n");
        }
        for _ in 0..1 + r.below(4) {
            let _ = writeln!(text, "  {}", statement(r));
        }
        if locked {
            text.push_str("  release m;\n");
        }
        text.push_str("  return;\n}\n");
        let allowed: &[i32] = match requires {
            "" => &[-1, 0, 2],
            _ if requires.contains(">=") => &[0, 1, 2],
            _ => &[-1, 0, 1],
        };
        calls.extend(allowed.iter().map(|a| format!("{{ t := p{k}({a}); }}")));
    }
    let clients = format!("thread C[2] {{ var t: int := 0; while * {{ choose {} }} }}\n", calls.join(" or "));
    OpenFile { text, clients }
}

fn statement(r: &mut Random) -> &'static str {
    let all = [
        "x := (x + 1) % 3;",
        "x := a % 3;",
        "y := y;",
        "y := (if y < 3 then y + 1 else y);",
        "f := !f;",
        "f := x >= 1;",
        "r := x;",
        "x := r % 3;",
        "if f { x := 1; }",
        "if a == 0 { x := 0; } else { f := false; }",
        "assert x >= 0;",
        "assert x <= 1;",
        "assert x <= 2;",
        "assert m == tid;",
        "assert y >= 1;",
        "assert r == x;",
        "assert a >= 0;",
        "assume f;",
        "atomic { r := x; x := (r + 1) % 3; }",
        "x := 0;",
    ];
    pick(r, &all)
}

/// A counter with two operations, right or not.
fn object(r: &mut Random) -> OpenFile {
    let inc = [
        "v, k := k, k + 1; linearize; return;",
        "v, k := k, k + 1; return;",
        "v := k; k := v + 1; return;",
        "acquire m; v := k; k := v + 1; release m; return;",
        "atomic { v := k; k := k + 1; } return;",
        "var b: bool := false; while !b { v := k; b := cas(k, v, v + 1); } return;",
        "var b: bool := false; v := k; b := cas(k, v, v + 1); return;",
        "acquire m; v := k; release m; acquire m; k := v + 1; release m; return;",
    ];
    let get = [
        "v := k; return;",
        "v := k; linearize; return;",
        "v := last; return;",
        "acquire m; v := k; release m; return;",
        "v := k; v := k; return;",
        "v := k; if v == 1 { v := 2; } return;",
    ];
    let text = format!(
        "object C {{\n  spec {{ var n: int := 0;\n    inc() returns (v: int) {{ v := n; n := n + 1; }}\n    get() returns (v: int) {{ v := n; }}\n  }}\n\
           var k: int = 0;\n  var last: int = 0;\n  var m: lock;\n  op inc() returns (v: int) {{ {} }}\n  op get() returns (v: int) {{ {} }}\n}}\n",
        pick(r, &inc),
        pick(r, &get)
    );
    OpenFile { text, clients: String::new() }
}

/// The properties of the file of a seed that its clients violate.
pub(crate) fn violated_by_clients(seed: u64, open: &Program) -> Vec<PropertyId> {
    let file = open_file(seed);
    if file.clients.is_empty() {
        let run = Run::quiet(limited_work(Duration::from_millis(400)));
        let found =
            linear::search_histories(open, ObjectId(0), linear::ClientBounds::RANGES[0], Against::Orders, &run).found;
        return found.filter(|h| h.gate.is_none()).map(|_| open.objects[ObjectId(0)].property).into_iter().collect();
    }
    let closed = crate::reduction::program(&(file.text + &file.clients));
    let limits = semantics::ReachLimits { states: 3_000, ..semantics::ReachLimits::default() };
    let found = semantics::reachable_states(&closed, &InstanceCounts::of(&closed, 0), &limits);
    let names: Vec<&str> = found.violations.keys().map(|q| closed.properties[*q].name.as_str()).collect();
    let decided = |q: &PropertyId| !matches!(open.properties[*q].kind, PropertyKind::Requires(_));
    open.properties.ids().filter(decided).filter(|q| names.contains(&open.properties[*q].name.as_str())).collect()
}

#[test]
fn check_what_callers_proves_holds_for_clients_that_are_written_out() {
    let (mut programs, mut proved, mut refuted) = (0, 0, 0);
    let provers: Vec<Arc<dyn Method>> = vec![Arc::new(methods::RelyMethod), Arc::new(methods::Count)];
    for seed in seeds(30) {
        programs += 1;
        let text = open_file(seed).text;
        let p = crate::reduction::program(&text);
        let properties = p.properties.ids().collect();
        let task =
            Task { program: p.clone(), properties, threads: Default::default(), options: MethodOptions::default() };
        let method = Callers { provers: provers.clone() };
        if method.admits(&task).is_err() {
            continue;
        }
        let budget = limited_work(Duration::from_millis(if is_long_run() { 300 } else { 1_000 }));
        let claims = method.run(&task, &Run::quiet(budget)).claims;
        let violated = violated_by_clients(seed, &p);
        let mut oracle = Again;
        let mut checker = Checker::new(&p, &mut oracle, CheckLimits::default());
        for (property, claim) in &claims {
            let name = &p.properties[*property].name;
            // What no client contradicts is put to the checker in every eighth program of a long run.
            let contradicted = violated.contains(property);
            if is_long_run() && !seed.is_multiple_of(8) && matches!(claim, Claim::Proved(_)) && !contradicted {
                proved += 1;
                continue;
            }
            match (claim, checker.check(*property, "callers", claim).outcome()) {
                (Claim::Proved(_), Outcome::Safe) => {
                    proved += 1;
                    assert!(!contradicted, "seed {seed}: {name} is proved, and clients violate it\n{text}");
                }
                (Claim::Refuted(_), outcome) => {
                    refuted += 1;
                    assert_eq!(
                        outcome,
                        Outcome::Unsafe,
                        "seed {seed}: {name} is refuted by a run that is none\n{text}"
                    );
                }
                _ => {}
            }
        }
    }
    base::differential::report_agreement("callers", programs, &format!("{proved} proved, {refuted} refuted"));
    assert!(proved > 5 && refuted > 5, "too little is decided to mean anything: {proved} proved, {refuted} refuted");
}
