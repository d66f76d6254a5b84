//! What the refuters look at: for each rule and each kind of run random programs, the method that fills its evidence, and which
//! properties are certainly violated (or, for runs, certainly hold).
//!
//! Violations come from the reference semantics with two and three instances, from the definition of conformance by brute force, from clients written
//! as text, from histories. What holds comes from complete searches and, for kinds of runs that no search decides, from proofs that the checker
//! accepts: a run beside such a proof would show that one of the two is wrong.

use super::Subject;
use super::asked::{asking, never_so};
use crate::reduction::{Writer, program as lowered};
use crate::{callers, calls, conformance};
use base::Random;
use base::differential::limited_work;
use checker::{CheckLimits, Checker, Outcome};
use evidence::Claim;
use methods::Conform;
use methods::linear;
use methods::{Method, MethodOptions, Run, Task};
use program::clients::Against;
use program::semantics::{self, InstanceCounts};
use program::{ObjectId, Program, PropertyId, PropertyKind};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use testkit::oracle::Again;
use testkit::random::{self, Knobs};

const NONE: &[(&str, &str)] = &[];

pub(super) const RULES: [Subject; 14] = [
    Subject { name: "rely-guarantee", program: wide, certain: violated, method: horn, options: &[("bias", "modular")] },
    Subject { name: "assume-guarantee", program: wide, certain: violated, method: rely, options: NONE },
    Subject { name: "environments", program: fixed, certain: violated, method: horn, options: &[("bias", "none")] },
    Subject { name: "pairs", program: crowded, certain: violated, method: horn, options: &[("bias", "none")] },
    Subject { name: "quantified", program: crowded, certain: violated, method: quantify, options: NONE },
    Subject { name: "counting", program: wide, certain: violated, method: count, options: NONE },
    Subject { name: "search", program: fixed, certain: violated, method: explore, options: NONE },
    Subject { name: "views", program: heap, certain: violated_in_the_heap, method: shape, options: NONE },
    Subject { name: "simulation", program: pair, certain: not_followed, method: conform, options: NONE },
    Subject { name: "composed", program: machines, certain: violated, method: conform, options: NONE },
    Subject { name: "reduction", program: procedures, certain: violated, method: reduce, options: NONE },
    Subject { name: "performed", program: called_procedures, certain: violated, method: conform, options: NONE },
    Subject { name: "asserted", program: asking, certain: never_so, method: conform, options: NONE },
    Subject {
        name: "callers",
        program: open_file,
        certain: callers::violated_by_clients,
        method: any_callers,
        options: NONE,
    },
];

pub(super) const KINDS: [Subject; 5] = [
    Subject { name: "trace", program: fixed, certain: holding, method: explore, options: NONE },
    Subject { name: "local", program: pair, certain: followed, method: conform, options: NONE },
    Subject { name: "stray", program: well_locked, certain: performed, method: reduce, options: NONE },
    Subject { name: "called", program: open_file, certain: proved_for_callers, method: any_callers, options: NONE },
    Subject { name: "history", program: object, certain: linearizable, method: shape, options: NONE },
];

fn horn() -> Arc<dyn Method> {
    Arc::new(methods::HornClauses)
}
fn rely() -> Arc<dyn Method> {
    Arc::new(methods::RelyMethod)
}
fn count() -> Arc<dyn Method> {
    Arc::new(methods::Count)
}
fn quantify() -> Arc<dyn Method> {
    Arc::new(methods::Quantify)
}
fn explore() -> Arc<dyn Method> {
    Arc::new(methods::Explore)
}
fn shape() -> Arc<dyn Method> {
    Arc::new(methods::Shape)
}
fn reduce() -> Arc<dyn Method> {
    Arc::new(methods::Reduce)
}
fn conform() -> Arc<dyn Method> {
    Arc::new(Conform { composition: vec![explore(), count()], calls: Some(reduce()), facts: vec![explore(), rely()] })
}
fn any_callers() -> Arc<dyn Method> {
    Arc::new(methods::Callers { provers: vec![shape(), rely(), count()] })
}

fn wide(seed: u64) -> Program {
    random::program(seed, &crate::proofs::wide())
}

/// Programs in which there are three instances or more.
fn crowded(seed: u64) -> Program {
    let mut program = wide(seed);
    let first = program.threads.ids().next().expect("a program has threads");
    program.threads[first].copies =
        if seed.is_multiple_of(2) { program::Copies::Any } else { program::Copies::Exactly(3) };
    program
}

fn fixed(seed: u64) -> Program {
    random::program(seed, &Knobs { invariants: true, relations: true, ..Knobs::plain() })
}

/// Programs over pointers and over ids, and objects with a specification.
fn heap(seed: u64) -> Program {
    match seed % 4 {
        0 => object(seed),
        1 => lowered(&testkit::heap::pointers::program(seed)),
        _ => lowered(&testkit::heap::ids::program(seed)),
    }
}

fn object(seed: u64) -> Program {
    lowered(&testkit::heap::objects::program(seed))
}

pub(super) fn pair(seed: u64) -> Program {
    conformance::pair(seed).0
}

fn procedures(seed: u64) -> Program {
    lowered(&Writer { dice: Random::new(seed), predicates: ["", ""] }.file())
}

/// A procedure that performs its specification under a lock, in several ways of writing it: what is refuted is a sibling.
fn well_locked(seed: u64) -> Program {
    let mut r = Random::new(seed);
    let mut pick = |list: &[&'static str]| list[r.below(list.len())];
    let (by, open) = (pick(&["1", "2"]), pick(&["m == 0 && ", ""]));
    let body = pick(&[
        "j := count; count := j + BY;",
        "j := count; j := j + BY; count := j;",
        "count := count + BY; j := count;",
        "if * { count := count + BY; } else { j := count; count := j + BY; }",
        "j := other; count := count + BY; other := j;",
    ]);
    let more = pick(&[
        "",
        "proc look() returns (r: int)\n  performs Look: <> r == count;\n{ acquire m; r := count; release m; return; }\n",
    ]);
    lowered(&format!(
        "var m: lock;\nvar count: int = 0 guarded_by m;\nvar other: int = 0 guarded_by m;\n\
         proc add()\n  performs Add: <count> {open}count' == count + {by};\n\
         {{ var j: int := 0; acquire m; {} release m; }}\n{more}",
        body.replace("BY", by)
    ))
}

fn called_procedures(seed: u64) -> Program {
    lowered(&calls::random(seed))
}

fn open_file(seed: u64) -> Program {
    lowered(&callers::open_file(seed).text)
}

/// Threads that step up and down as their machine does, more or less, beside one that looks.
pub(super) fn machines(seed: u64) -> Program {
    let mut r = Random::new(seed);
    let mut pick = |list: &[&'static str]| list[r.below(list.len())];
    let mut out = String::from("var n: int = 0;\nvar f: bool = false;\nmachine M { start A");
    let _ =
        writeln!(out, "{}; state B{};", pick(&["", " asserts n >= 0"]), pick(&["", " asserts n >= 1", " asserts f"]));
    let up = ["<n> n' == n + 1", "<n> n' >= n", "<n, f> n' == n + 1 && f'", "<n> n' == n + 1 && n == 0"];
    let down = ["<n> n' == n - 1", "<n> n' <= n", "<n, f> n' == n - 1 && !f'", "<n> n' == n - 1 && n >= 1"];
    let _ = writeln!(out, "  A -> B : {};\n  B -> A : {}; }}", pick(&up), pick(&down));
    let (begin, end) = pick2(&mut r, &[("", ""), ("while * {", "}"), ("if * {", "}")]);
    let mut pick = |list: &[&'static str]| list[r.below(list.len())];
    let _ = writeln!(
        out,
        "thread T{} follows M {{ {begin} {} {} {} {end} }}",
        pick(&["", "[2]", "[*]"]),
        pick(&["n := n + 1;", "n, f := n + 1, true;", "atomic { assume n == 0; n := n + 1; }"]),
        pick(&["", "skip;", "assert n >= 1;", "assert n >= 0;"]),
        pick(&["n := n - 1;", "n, f := n - 1, false;", ""]),
    );
    let _ = writeln!(
        out,
        "thread U {{ {} assert {}; }}",
        pick(&["", "assume f;", "assume n == 1;", "n := n + 1;"]),
        pick(&["n <= 1", "n >= 0", "n <= 2", "f", "!f || n >= 1"])
    );
    lowered(&out)
}

fn pick2(r: &mut Random, list: &[(&'static str, &'static str)]) -> (&'static str, &'static str) {
    list[r.below(list.len())]
}

/// What runs with two or three instances of each thread of any number violate.
pub(super) fn violated(_: u64, p: &Program) -> Vec<PropertyId> {
    let limits = semantics::ReachLimits { states: 1_500, ..semantics::ReachLimits::default() };
    let found = [2, 3].map(|n| semantics::reachable_states(p, &InstanceCounts::of(p, n), &limits).violations);
    let mut out: Vec<PropertyId> = found.iter().flat_map(|f| f.keys().copied()).collect();
    out.sort();
    out.dedup();
    out
}

/// The same, and objects with a history that no order explains.
fn violated_in_the_heap(seed: u64, p: &Program) -> Vec<PropertyId> {
    if p.objects.is_empty() {
        return violated(seed, p);
    }
    let run = Run::quiet(limited_work(Duration::from_millis(400)));
    let found = linear::search_histories(p, ObjectId(0), linear::ClientBounds::RANGES[0], Against::Orders, &run).found;
    found.filter(|h| h.gate.is_none()).map(|_| p.objects[ObjectId(0)].property).into_iter().collect()
}

pub(super) fn follows(p: &Program) -> Vec<PropertyId> {
    p.threads.iter().filter_map(|t| t.follows).map(|(_, property)| property).collect()
}

fn not_followed(_: u64, p: &Program) -> Vec<PropertyId> {
    if conformance::is_followed(p) { Vec::new() } else { follows(p) }
}

fn followed(_: u64, p: &Program) -> Vec<PropertyId> {
    if conformance::is_followed(p) { follows(p) } else { Vec::new() }
}

/// What a complete search does not violate. All numbers of threads are fixed, so that it is about every run.
fn holding(_: u64, p: &Program) -> Vec<PropertyId> {
    let limits = semantics::ReachLimits { states: 3_000, ..semantics::ReachLimits::default() };
    let found = semantics::reachable_states(p, &InstanceCounts::of(p, 0), &limits);
    if !found.complete() {
        return Vec::new();
    }
    p.properties.ids().filter(|q| !found.violations.contains_key(q)).collect()
}

/// What the method proves and the checker accepts.
fn proved(p: &Program, method: &dyn Method) -> Vec<PropertyId> {
    let task = Task {
        program: p.clone(),
        properties: p.properties.ids().collect(),
        threads: Default::default(),
        options: MethodOptions::default(),
    };
    if method.admits(&task).is_err() {
        return Vec::new();
    }
    let claims = method.run(&task, &Run::quiet(limited_work(Duration::from_secs(2)))).claims;
    let mut oracle = Again;
    let mut checker = Checker::new(p, &mut oracle, CheckLimits::default());
    let mut safe = |(q, c): &(PropertyId, Claim)| {
        matches!(c, Claim::Proved(_)) && checker.check(*q, "refuter", c).outcome() == Outcome::Safe
    };
    claims.into_iter().filter(|c| safe(c)).map(|(q, _)| q).collect()
}

fn performed(_: u64, p: &Program) -> Vec<PropertyId> {
    let all = proved(p, &methods::Reduce);
    all.into_iter().filter(|q| matches!(p.properties[*q].kind, PropertyKind::Performs(_))).collect()
}

fn proved_for_callers(_: u64, p: &Program) -> Vec<PropertyId> {
    proved(p, &*any_callers())
}

fn linearizable(_: u64, p: &Program) -> Vec<PropertyId> {
    let all = proved(p, &methods::Shape);
    all.into_iter().filter(|q| matches!(p.properties[*q].kind, PropertyKind::Linearizable(_))).collect()
}
