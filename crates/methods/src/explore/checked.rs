//! The checker's second search, on claims that are true and claims that are not.
//!
//! In: programs with claims made by hand. Out: tests: the true ones are accepted, the false ones are not.

use super::tests::parsed;
use checker::rules::search::searched_again;
use checker::{CheckLimits, Rejection, Trust};
use evidence::ExhaustiveSearch;
use program::semantics::InstanceCounts;
use program::{Program, PropertyId, PropertyKind};

fn check_all(p: &Program, states: u64, limit: u64) -> Result<Trust, Rejection> {
    let counts = InstanceCounts::of(p, 0);
    let all: Vec<PropertyId> = p.properties.ids().collect();
    let proof = ExhaustiveSearch { instances: counts.0.clone(), states };
    searched_again(p, &proof, &counts, &all, &CheckLimits { search: limit, ..CheckLimits::default() })
}

const COUNT: &str = "var x: int = 0; thread T[4] { x := x + 1; x := x + 1; assert x <= BOUND; }";

#[test]
fn check_a_true_claim_is_searched_again_up_to_symmetry() {
    let p = parsed(&COUNT.replace("BOUND", "8"));
    // Four instances at one of four places, up to their order: C(7, 3).
    assert_eq!(check_all(&p, 35, 1000), Ok(Trust::Searched { states: 35 }));
}
#[test]
fn check_a_false_claim_is_rejected() {
    let p = parsed(&COUNT.replace("BOUND", "7"));
    assert!(matches!(check_all(&p, 35, 1000), Err(Rejection::Replay(_))));
}
#[test]
fn check_a_claim_with_thread_ids_is_searched_without_symmetry() {
    let p = parsed("var x: int = 0; thread T[2] { x := tid; assert x != 2 || tid == 2; }");
    assert!(matches!(check_all(&p, 3, 1000), Err(Rejection::Replay(_))));
    let p = parsed("var x: int = 0; thread T[2] { x := tid; assert x > 0; }");
    // Places 3 x 3; x is 0 at the start, else the id of one that has written.
    assert_eq!(check_all(&p, 3, 1000), Ok(Trust::Searched { states: 1 + 2 + 2 + 4 * 2 }));
}
#[test]
fn check_a_claim_over_open_values_is_searched_again() {
    let p = parsed("var x: bool; thread T { havoc x; if x { x := false; } assert !x; }");
    assert!(matches!(check_all(&p, 3, 1000), Ok(Trust::Searched { .. })));
    let p = parsed("var x: bool; thread T { havoc x; assert !x; }");
    assert!(matches!(check_all(&p, 3, 1000), Err(Rejection::Replay(_))));
}
#[test]
fn check_a_search_that_is_too_large_is_told_as_searched_once() {
    let p = parsed(&COUNT.replace("BOUND", "8"));
    assert_eq!(check_all(&p, 35, 5), Ok(Trust::SearchedOnce { states: 35 }));
    // Fewer claimed than there are: the second search stops at four times the limit.
    assert_eq!(check_all(&p, 5, 5), Ok(Trust::SearchedOnce { states: 5 }));
}
#[test]
fn check_a_second_search_that_takes_too_long_leaves_the_first_as_searched_once() {
    let p = parsed("var x: int = 0; thread T[2] { while x < 400 { x := x + 1; } assert x >= 0; }");
    let counts = InstanceCounts::of(&p, 0);
    let all: Vec<PropertyId> = p.properties.ids().collect();
    let proof = ExhaustiveSearch { instances: counts.0.clone(), states: 3 };
    let within = |budget: base::Budget| {
        searched_again(&p, &proof, &counts, &all, &CheckLimits { budget, ..CheckLimits::default() })
    };
    let no_effort = base::Budget::unlimited().share(std::time::Duration::from_micros(1));
    assert_eq!(within(no_effort), Ok(Trust::SearchedOnce { states: 3 }));
    let no_time = base::Budget::unlimited().with_time(std::time::Duration::ZERO);
    assert_eq!(within(no_time), Ok(Trust::SearchedOnce { states: 3 }));
    let stopped = base::Budget::unlimited();
    stopped.cancel();
    assert!(matches!(within(stopped), Err(Rejection::Exhausted(base::Exhausted::Cancelled))));
    assert!(matches!(within(base::Budget::unlimited()), Ok(Trust::Searched { .. })));
}
#[test]
fn check_own_steps_go_first_in_the_second_search_and_hide_nothing() {
    let own = "var a: int := 1; a := a + 1; a := a + 1; a := a + 1;";
    let p = parsed(&format!("var x: int = 0; thread T[3] {{ {own} x := x + a; assert x <= 12; }}"));
    let Ok(Trust::Searched { states }) = check_all(&p, 20, 1000) else { panic!("it holds") };
    assert!(states < 40, "{states}");
    let p = parsed(&format!("var x: int = 0; thread T[3] {{ {own} x := x + a; assert x <= 11; }}"));
    assert!(matches!(check_all(&p, 20, 1000), Err(Rejection::Replay(_))));
    // A loop of own steps puts nobody off for ever; what waits for ever with own steps only puts nobody off either.
    for first in ["while true { skip; }", "var a: int := 1; while a > 0 { a := 1; }", "var a: int := 1; assume a > 1;"]
    {
        let p = parsed(&format!("var x: int = 0; thread A {{ {first} }} thread B {{ x := 1; assert x == 0; }}"));
        assert!(matches!(check_all(&p, 5, 1000), Err(Rejection::Replay(_))), "{first}");
    }
    // An invariant of a store between two steps of another.
    let p = parsed(&format!("var x: int = 0; invariant x != 1; thread A {{ {own} }} thread B {{ x := 1; x := 2; }}"));
    assert!(matches!(check_all(&p, 5, 1000), Err(Rejection::Replay(_))));
}
#[test]
fn check_a_deadlock_is_seen_again() {
    let text = "var m: lock; var n: lock;
        thread A { acquire m; acquire n; release n; release m; }
        thread B { acquire n; acquire m; release m; release n; }";
    let mut p = parsed(text);
    let origin = p.add_origin(None, "deadlock");
    p.properties.push(program::Property { kind: PropertyKind::Deadlock, name: "deadlock".into(), origin });
    assert!(matches!(check_all(&p, 20, 1000), Err(Rejection::Replay(_))));
}
#[test]
fn check_a_leak_is_seen_again() {
    let text = "class Node { next: Node; } var m: lock; var top: Node = null;
        thread T[2] { var x: Node := new Node; acquire m; x.next := top; top := x; release m;
            acquire m; x := top; top := x.next; release m; END }";
    let asked = |end: &str| {
        let mut p = parsed(&text.replace("END", end));
        let origin = p.add_origin(None, "leak");
        p.properties.push(program::Property { kind: PropertyKind::Leak, name: "leak".into(), origin });
        check_all(&p, 20, 100_000)
    };
    assert!(matches!(asked("free x;"), Ok(Trust::Searched { .. })));
    assert!(matches!(asked("if * { free x; }"), Err(Rejection::Replay(why)) if why.contains("leak is violated")));
    // The last read is the last hold; a thread that has ended holds nothing.
    assert!(asked("skip;").is_err());
    assert!(asked("while true { skip; } free x;").is_err());
}
#[test]
fn check_an_atomic_block_is_one_step_in_the_second_search() {
    let p = parsed("var x: int = 0; invariant x != 1; thread T[2] { atomic { x := x + 1; x := x + 1; } }");
    assert!(matches!(check_all(&p, 3, 1000), Ok(Trust::Searched { .. })));
    let p = parsed("var x: int = 0; invariant x != 1; thread T[2] { x := x + 1; x := x + 1; }");
    assert!(matches!(check_all(&p, 3, 1000), Err(Rejection::Replay(_))));
}
#[test]
fn check_one_property_that_a_search_does_not_show_costs_no_other() {
    // No thread calls `idle`: its check is not a matter of the threads' runs.
    let p = parsed("var x: int = 0; proc idle(n: int) { assert n > 0; } thread T[2] { x := x + 1; assert x >= 1; }");
    let task = crate::Task {
        properties: p.properties.ids().collect(),
        program: p.clone(),
        threads: Default::default(),
        options: Default::default(),
    };
    let claims = crate::Method::run(&super::Explore, &task, &crate::Run::quiet(base::Budget::unlimited()));
    let mut proved = 0;
    let mut oracle = testkit::oracle::Again;
    let mut checker = checker::Checker::new(&p, &mut oracle, CheckLimits::default());
    for (q, claim) in &claims.claims {
        let in_threads = p.threads.iter().any(|t| program::transition::has_gate_of(&t.code, *q));
        let safe = checker.check(*q, "explore", claim).outcome() == checker::Outcome::Safe;
        assert_eq!(safe, in_threads, "{claim:?}");
        proved += usize::from(safe);
    }
    assert_eq!(proved, 1);
}

fn explored(p: &Program) -> evidence::Claims {
    let task = crate::Task {
        properties: p.properties.ids().collect(),
        program: p.clone(),
        threads: Default::default(),
        options: Default::default(),
    };
    crate::Method::run(&super::Explore, &task, &crate::Run::quiet(base::Budget::unlimited()))
}
#[test]
fn check_a_map_with_undecided_entries_is_copied_and_the_run_is_replayed() {
    let text = "var area: [int]bool; var done: int = 0; init !area[0] && !area[1];
        thread Mark[2] { var mine: [int]bool := area; mine[tid - 1] := true; area := mine; done := done + 1; }
        thread Look { assume done == 2; assert area[0] && area[1]; }";
    let nested = "var g: [int][int]int; init g[0][0] == 0 && g[1][1] == 7;
        thread T { var a: [int][int]int := g; a[0][0] := 5; g := a; assert g[1][1] != 7; }";
    let wholly_open = "var area: [int]bool; thread T { var a: [int]bool := area; a[1] := !a[1]; assert a[1]; }";
    for text in [text, nested, wholly_open] {
        let p = parsed(text);
        let claims = explored(&p);
        let refuted = claims.claims.values().any(|c| match c {
            evidence::Claim::Refuted(evidence::Counterexample::Run(trace)) => {
                program::semantics::replay_trace(&p, trace).is_ok()
            }
            _ => false,
        });
        assert!(refuted, "{text}: {:?}", claims.claims);
    }
}
#[test]
fn check_a_search_that_tried_some_maps_only_proves_nothing() {
    // The search tries maps that are equal everywhere: only another one breaks it.
    let p = parsed("var m: [int]bool; thread T { var a: [int]bool := m; assert a[0] == a[1]; }");
    let claims = explored(&p);
    assert!(claims.claims.values().all(|c| !matches!(c, evidence::Claim::Proved(_))), "{:?}", claims.claims);
    assert_eq!(claims.statistics.get("complete"), Some(&0));
}
