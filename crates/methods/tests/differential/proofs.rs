//! What `rely`, `horn`, `count` and `walk` say against a plain search of small instances, and against the checker.
//!
//! Whenever a method proves a property, the reference semantics must find no violation with two instances of each thread of
//! any number; and the checker must accept the certificate, with Z3 asked again as its oracle. A run that refutes one must be replayed, and where all numbers of
//! threads are fixed and the search is complete, the search must find one too.

use base::differential::{is_long_run, limited_work, seeds};
use checker::{CheckLimits, Checker, Outcome};
use evidence::Claim;
use methods::{Method, MethodOptions, Run, Task};
use program::Copies;
use program::semantics::{self, InstanceCounts};
use std::time::Duration;
use testkit::oracle::Again;
use testkit::random::{self, Knobs};

/// What was decided, and holds.
struct Decided {
    programs: u64,
    proved: usize,
    refuted: usize,
}

impl Decided {
    fn report(&self, method: &str) {
        let decided = format!("{} proved, {} refuted", self.proved, self.refuted);
        base::differential::report_agreement(method, self.programs, &decided);
    }
}

/// Runs a method on random programs, so many where no number was asked for; `first` keeps the programs of different tests apart.
fn compare(method: &dyn Method, knobs: &Knobs, first: u64, usual: u64) -> Decided {
    let mut out = Decided { programs: 0, proved: 0, refuted: 0 };
    // In a long run hard programs are left out sooner: many small ones find more than a few large ones.
    let (time, states) =
        if is_long_run() { (Duration::from_millis(30), 4_000) } else { (Duration::from_millis(1_500), 20_000) };
    for seed in seeds(usual).map(|seed| first + seed) {
        out.programs += 1;
        let program = random::program(seed, knobs);
        let properties = program.properties.ids().collect();
        let task = Task {
            program: program.clone(),
            properties,
            threads: Default::default(),
            options: MethodOptions::default(),
        };
        if method.admits(&task).is_err() {
            continue;
        }
        let claims = method.run(&task, &Run::quiet(limited_work(time)));
        let decided: Vec<_> = claims.claims.iter().filter(|(_, c)| !matches!(c, Claim::Undecided(_))).collect();
        if decided.is_empty() {
            continue;
        }
        let limits = semantics::ReachLimits { states, ..semantics::ReachLimits::default() };
        let found = semantics::reachable_states(&program, &InstanceCounts::of(&program, 2), &limits);
        let parametric = program.threads.iter().any(|t| t.copies == Copies::Any);
        let mut leaves = Again;
        let mut checker = Checker::new(&program, &mut leaves, CheckLimits::default());
        for (property, claim) in decided {
            let what =
                format!("{} of random program {seed} by {}", program.properties[*property].name, method.about().name);
            let violated = found.violations.contains_key(property);
            if matches!(claim, Claim::Proved(_)) {
                assert!(!violated, "proved, and it is violated: {what}");
            }
            // What no run contradicts is put to the checker in every eighth program of a long run.
            if is_long_run() && !seed.is_multiple_of(8) && matches!(claim, Claim::Proved(_)) {
                out.proved += 1;
                continue;
            }
            let outcome = checker.check(*property, method.about().name, claim).outcome();
            if matches!(claim, Claim::Proved(_)) {
                assert_ne!(outcome, Outcome::Unsafe, "a proof is never a refutation");
                out.proved += usize::from(outcome == Outcome::Safe);
            } else {
                assert_eq!(outcome, Outcome::Unsafe, "refuted by a run that is none: {what}");
                assert!(violated || parametric || !found.complete(), "refuted, and no run violates it: {what}");
                out.refuted += 1;
            }
        }
    }
    out
}

pub(crate) fn wide() -> Knobs {
    Knobs { any: true, invariants: true, relies: true, relations: true, atomic: true, ..Knobs::plain() }
}

#[test]
fn check_what_rely_proves_holds() {
    let decided = compare(&methods::RelyMethod, &wide(), 0, 60);
    decided.report("rely");
    assert!(decided.proved > 5, "too little is proved to mean anything");
}

#[test]
fn check_what_horn_says_holds() {
    let decided = compare(&methods::HornClauses, &wide(), 1_000_000, 60);
    decided.report("horn");
    assert!(decided.proved > 5, "too little is proved to mean anything");
}

#[test]
fn check_what_count_proves_holds() {
    let decided = compare(&methods::Count, &wide(), 2_000_000, 80);
    decided.report("count");
    assert!(decided.proved > 5, "too little is proved to mean anything");
}

#[test]
fn check_what_count_proves_of_relies_and_started_threads_holds() {
    let knobs = Knobs { any: true, invariants: true, relies: true, spawn: true, ..Knobs::plain() };
    let decided = compare(&methods::Count, &knobs, 3_000_000, 60);
    decided.report("count with relies and started threads");
    assert!(decided.proved > 5, "too little is proved to mean anything");
}

#[test]
fn check_what_walk_refutes_is_violated() {
    let decided = compare(&methods::Walk, &Knobs::finite(), 4_000_000, 40);
    decided.report("walk");
    assert!(decided.proved == 0 && decided.refuted > 5, "it refutes and proves nothing");
}
