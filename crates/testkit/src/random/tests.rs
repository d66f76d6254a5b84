//! Every random program is well formed, reads back from its text, and runs.

use super::*;
use program::semantics::{InstanceCounts, ReachLimits, reachable_states, replay_trace};

fn limits(states: usize) -> ReachLimits {
    ReachLimits { states, ..ReachLimits::default() }
}

fn run(knobs: &Knobs, seeds: std::ops::Range<u64>) -> (usize, usize, usize) {
    let (mut complete, mut violated, mut all) = (0, 0, 0);
    for seed in seeds {
        let p = program(seed, knobs);
        assert_eq!(program::wellformed(&p), vec![], "seed {seed}");
        let r = reachable_states(&p, &InstanceCounts::of(&p, 2), &limits(1500));
        for (id, trace) in &r.violations {
            assert_eq!(*id, trace.violates);
            replay_trace(&p, trace).unwrap_or_else(|e| panic!("seed {seed}, {id}: {e}"));
        }
        all += 1;
        complete += usize::from(r.complete());
        violated += usize::from(!r.violations.is_empty());
    }
    (complete, violated, all)
}

#[test]
fn check_plain_programs_run_and_every_violation_replays() {
    let (complete, violated, all) = run(&Knobs::plain(), 0..300);
    assert!(complete * 10 > all * 9, "{complete} of {all} searches are complete");
    assert!(violated * 10 > all && violated * 10 < all * 9, "{violated} of {all} are violated");
}

#[test]
fn check_finite_programs_run_and_every_violation_replays() {
    let (complete, violated, all) = run(&Knobs::finite(), 0..300);
    assert!(complete * 10 > all * 7, "{complete} of {all} searches are complete");
    assert!(violated * 10 > all, "{violated} of {all} are violated");
}

#[test]
fn check_programs_with_everything_run_and_every_violation_replays() {
    let (_, violated, all) = run(&Knobs::everything(), 0..150);
    assert!(violated * 10 > all, "{violated} of {all} are violated");
}

#[test]
fn check_the_text_form_of_every_random_program_reads_back() {
    for seed in 0..300 {
        let p = program(seed, &Knobs::everything());
        let text = program::text::print_program(&p);
        let q = program::text::read_program(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        assert_eq!(program::text::print_program(&q), text, "seed {seed}");
        assert_eq!(program::wellformed(&q), vec![], "seed {seed}");
    }
}

#[test]
fn check_the_same_seed_gives_the_same_program() {
    for seed in 0..50 {
        let text = || program::text::print_program(&program(seed, &Knobs::everything()));
        assert_eq!(text(), text());
    }
}

#[test]
fn check_the_text_form_means_the_same_program() {
    for seed in 0..60 {
        let p = program(seed, &Knobs::finite());
        let q = program::text::read_program(&program::text::print_program(&p)).expect("it reads back");
        let (a, b) = (
            reachable_states(&p, &InstanceCounts::of(&p, 2), &limits(800)),
            reachable_states(&q, &InstanceCounts::of(&q, 2), &limits(800)),
        );
        assert_eq!((a.states, a.violations), (b.states, b.violations), "seed {seed}");
    }
}
