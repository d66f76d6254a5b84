//! What is found for small programs, and that every proof is accepted.

use super::*;
use crate::explore::parsed;
use base::Budget;
use checker::{CheckLimits, Checker, Outcome};

/// What the checker makes of the claims about the very program that the method worked on.
fn outcomes(text: &str) -> Vec<Outcome> {
    let p = parsed(text);
    let known = p.terms.len();
    let task = Task {
        properties: p.properties.ids().collect(),
        program: p.clone(),
        threads: Default::default(),
        options: Default::default(),
    };
    assert!(Quantify.admits(&task).is_ok());
    let claims = Quantify.run(&task, &Run::quiet(Budget::unlimited()));
    assert_eq!(task.program.terms.len(), known, "the program's own terms stay as they are");
    let mut oracle = testkit::oracle::Again;
    let mut checker = Checker::new(&p, &mut oracle, CheckLimits::default());
    claims.claims.iter().map(|(q, c)| checker.check(*q, "quantify", c).outcome()).collect()
}

const FLAGS: &str = "var N: int; init N > 0; var flag: [int]bool; init forall i: int :: !flag[i]; var x: int = 0; \
    thread P[*] { var j: int; assume tid <= N; while true { flag[tid] := true; j := 1; \
    while j <= N { assume j == tid || !flag[j]; j := j + 1; } x := tid; assert x == tid; flag[tid] := false; } }";

#[test]
fn check_who_looked_at_all_others_is_alone() {
    assert_eq!(outcomes(FLAGS), [Outcome::Safe]);
}

/// Dijkstra's: the turn is looked at through a local, and the entry of whoever has it.
#[test]
fn check_entries_of_others_are_looked_at_through_locals() {
    let text = "var N: int; init N > 0; var k: int = 1; var want: [int]bool; var pass: [int]bool; \
        init forall i: int :: !want[i] && !pass[i]; var x: int = 0; \
        thread P[*] { var j: int; var v: int; var ok: bool; assume tid <= N; want[tid] := true; ok := false; \
        while !ok { v := k; if v != tid { pass[tid] := false; if !want[v] { k := tid; } } else { pass[tid] := true; j := 1; ok := true; \
        while ok && j <= N { if j != tid && pass[j] { ok := false; } else { j := j + 1; } } } } \
        x := tid; assert x == tid; pass[tid] := false; want[tid] := false; }";
    assert_eq!(outcomes(text), [Outcome::Safe]);
}

#[test]
fn check_who_looks_before_raising_a_flag_is_not_proved_alone() {
    let early =
        FLAGS.replace("flag[tid] := true; j := 1;", "j := 1;").replace("x := tid;", "flag[tid] := true; x := tid;");
    assert_eq!(outcomes(&early), [Outcome::Unknown]);
    let some = FLAGS.replace("while j <= N", "while j < N");
    assert_eq!(outcomes(&some), [Outcome::Unknown]);
}

#[test]
fn check_a_number_of_instances_has_a_witness() {
    let counted = FLAGS
        .replace("var x", "var inside")
        .replace("x := tid; assert x == tid;", "inside := inside + 1; assert inside == 1; inside := inside - 1;");
    assert_eq!(outcomes(&counted), [Outcome::Safe]);
    let two = counted
        .replace("inside := inside + 1;", "inside := inside + 2;")
        .replace("== 1", "== 2")
        .replace("inside - 1", "inside - 2");
    assert_eq!(outcomes(&two), [Outcome::Unknown], "a change by two is no count");
}

#[test]
fn check_work_that_is_claimed_by_an_index_is_done_once() {
    let claimed = "var next: int = 0; var done: [int]bool; init forall i: int :: !done[i]; \
        thread W[*] { var i: int; while true { atomic { i := next; next := next + 1; } assert !done[i]; done[i] := true; } }";
    assert_eq!(outcomes(claimed), [Outcome::Unknown], "what is true of every entry is not found yet");
}
