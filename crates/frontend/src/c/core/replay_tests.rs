//! Replays of plans by the interpreter.
//!
//! In: small C programs, and plans by lines. Out: what is followed, what is shown to be impossible, and which steps a run is made of.
//! Deliberately absent: plans that come from runs of the model, which the tests of the binary have.

use super::lower_to_core;
use crate::c::{DataModel, parse_c};
use base::{Sources, Span};
use core_lang::ViolationKind;
use core_lang::interpreter::guide::{PlannedStep, PlannedThread, SchedulePlan};
use core_lang::replay::{GuidedReplay, Replayed};
use std::path::Path;
use std::sync::Arc;

const HEAD: &str = "typedef unsigned long pthread_t; extern int pthread_create(pthread_t *, const void *, void *(*)(void *), void *); \
    extern int pthread_join(pthread_t, void **); extern unsigned long pthread_self(void); extern void reach_error(void); extern int __VERIFIER_nondet_int(void);\n";

/// Replays a plan that is given by lines: of each step the thread's number and the line.
fn replay(body: &str, created: &[usize], steps: &[(usize, usize)], values: &[i128]) -> Replayed {
    let mut sources = Sources::new();
    let text = format!("{HEAD}{body}");
    let parsed = parse_c(&mut sources, Path::new("t.i"), &text, DataModel::Lp64).expect("the text is C");
    let line = |number: usize| {
        let start = sources.file(parsed.main).line_start(number);
        Span::new(parsed.main, start, start + sources.file(parsed.main).line(number).len())
    };
    let threads = std::iter::once(None).chain(created.iter().map(|n| Some(line(*n))));
    let plan = SchedulePlan {
        threads: threads.map(|created| PlannedThread { created, function: None }).collect(),
        steps: steps.iter().map(|(thread, number)| PlannedStep { thread: *thread, line: line(*number) }).collect(),
        values: values.iter().map(|v| (0, *v)).collect(),
        numbers: Vec::new(),
    };
    let replay = GuidedReplay {
        deadline: None,
        plan: Arc::new(plan),
        wanted: vec![ViolationKind::Assertion],
        seed: 3,
        attempts: 1,
        instructions: 10_000,
        all_instructions: 1_000_000,
        schedules: 2_000,
    };
    replay.run(&lower_to_core(&parsed.unit))
}

/// Lines 2 to 9: the flags of two threads, of which the second sees the first half way.
const HALF_WAY: &str = "int a, b;
void *f(void *p) {
  a = 1;
  b = 1; return 0; }
void *g(void *p) {
  if (a == 1 && b == 0) reach_error(); return 0; }
int main(void) { pthread_t s, t;
  pthread_create(&s, 0, f, 0);
  pthread_create(&t, 0, g, 0);
  pthread_join(s, 0); pthread_join(t, 0); return 0; }
";

#[test]
fn check_a_plan_is_followed_at_the_first_attempt() {
    let found = replay(HALF_WAY, &[9, 10], &[(1, 4), (2, 7), (2, 7), (1, 5)], &[]);
    let Replayed::Seen(found, attempts) = found else { panic!("{found:?}") };
    assert_eq!((found.violation.kind, attempts), (ViolationKind::Assertion, 1));
}

#[test]
fn check_planned_values_arrive_where_values_come_from_outside() {
    let body = "int main(void) { if (__VERIFIER_nondet_int() == 123456) if (__VERIFIER_nondet_int() == -77) reach_error(); return 0; }";
    assert!(matches!(replay(body, &[], &[(0, 2)], &[123_456, -77]), Replayed::Seen(_, 1)));
    assert!(matches!(replay(body, &[], &[(0, 2)], &[1, 2]), Replayed::NotSeen { .. }), "values from outside stay open");
}

#[test]
fn check_a_run_that_no_schedule_has_is_impossible() {
    let body = "int a, b;
void *f(void *p) { a = 1; b = 1; return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); if (b == 1 && a == 0) reach_error(); return 0; }
";
    let found = replay(body, &[4], &[(1, 3), (0, 4)], &[]);
    let Replayed::Impossible { schedules } = found else { panic!("{found:?}") };
    assert!(schedules > 5, "{schedules}");
}

#[test]
fn check_a_program_with_another_violation_is_not_called_impossible() {
    let divides = HALF_WAY.replace("if (a == 1 && b == 0) reach_error();", "b = 1 / a;");
    let found = replay(&divides, &[9, 10], &[(2, 7)], &[]);
    assert!(matches!(found, Replayed::NotSeen { stopped: Some(_), .. }), "{found:?}");
}

#[test]
fn check_threads_run_between_the_last_access_of_main_and_its_return() {
    let body = "int x;
void *f(void *p) { reach_error(); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); return 0; }
";
    assert!(matches!(replay(body, &[4], &[(1, 3)], &[]), Replayed::Seen(..)));
}

#[test]
fn check_a_thread_runs_before_its_handle_is_stored() {
    let body = "pthread_t handle;
void *f(void *p) { if (handle != pthread_self()) reach_error(); return 0; }
int main(void) { pthread_create(&handle, 0, f, 0); pthread_join(handle, 0); return 0; }
";
    assert!(matches!(replay(body, &[4], &[(1, 3)], &[]), Replayed::Seen(..)));
}

#[test]
fn check_a_struct_is_copied_part_by_part_and_its_pointers_stay_pointers() {
    let body = "struct pair { int a, b; int *p; } shared, other = { 1, 1, &other.a };
void *f(void *p) { shared = other; return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0);
  struct pair seen = shared;
  if (seen.p == 0 && seen.a == 1) reach_error();
  pthread_join(t, 0); if (*shared.p != 1) reach_error(); return 0; }
";
    let found = replay(body, &[4], &[(1, 3), (0, 5)], &[]);
    let Replayed::Seen(found, _) = found else { panic!("{found:?}") };
    assert_eq!(found.execution.threads.len(), 2);
    let whole = body.replace("seen.p == 0 && seen.a == 1", "seen.p != 0 && seen.a == 0");
    assert!(!matches!(replay(&whole, &[4], &[(1, 3), (0, 5)], &[]), Replayed::NotSeen { stopped: Some(_), .. }));
}
