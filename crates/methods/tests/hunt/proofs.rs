//! Proofs of `rely`, `horn` and `count` against a plain search of small instances, and against the checker.
//!
//! Whenever a method proves a property, the reference semantics must find no violation with two instances of each thread of
//! any number; and the checker must accept the certificate, with Z3 asked again as its oracle.

use base::Budget;
use checker::{Checker, Limits, Outcome};
use evidence::Claim;
use methods::{Method, Options, Run, Task};
use program::semantics::{self, Instances};
use std::time::Duration;
use testkit::oracle::Again;
use testkit::random::{self, Knobs};

/// Runs a method on random programs; gives how many properties it proved.
fn hunt(method: &dyn Method, knobs: &Knobs, seeds: std::ops::Range<u64>) -> usize {
    let mut proved = 0;
    for seed in seeds {
        let program = random::program(seed, knobs);
        let properties = program.properties.ids().collect();
        let task =
            Task { program: program.clone(), properties, threads: Default::default(), options: Options::default() };
        if method.admits(&task).is_err() {
            continue;
        }
        let budget = Budget::unlimited().with_time(Duration::from_millis(1500));
        let claims = method.run(&task, &Run::quiet(budget));
        let shown: Vec<_> = claims.claims.iter().filter(|(_, c)| matches!(c, Claim::Proved(_))).collect();
        if shown.is_empty() {
            continue;
        }
        let limits = semantics::Limits { states: 20_000, ..semantics::Limits::default() };
        let found = semantics::reach(&program, &Instances::of(&program, 2), &limits);
        let mut leaves = Again;
        let mut checker = Checker::new(&program, &mut leaves, Limits::default());
        for (property, claim) in shown {
            let name = &program.properties[*property].name;
            let violated = found.violations.contains_key(property);
            assert!(!violated, "{} proves {name} of random program {seed}, which is violated", method.about().name);
            let checked = checker.check(*property, method.about().name, claim);
            assert_ne!(checked.outcome(), Outcome::Unsafe, "a proof is never a refutation");
            proved += usize::from(checked.outcome() == Outcome::Safe);
        }
    }
    proved
}

pub fn wide() -> Knobs {
    Knobs { any: true, invariants: true, relies: true, relations: true, atomic: true, ..Knobs::plain() }
}

#[test]
fn check_what_rely_proves_holds() {
    let n = crate::rounds(60);
    assert!(hunt(&methods::rely::Rely, &wide(), 0..n) > 5, "the hunt must prove something");
}

#[test]
fn check_what_horn_proves_holds() {
    let n = crate::rounds(60);
    assert!(hunt(&methods::horn::HornClauses, &wide(), 1_000_000..1_000_000 + n) > 5, "the hunt must prove something");
}

#[test]
fn check_what_count_proves_holds() {
    let n = crate::rounds(80);
    assert!(hunt(&methods::count::Count, &wide(), 2_000_000..2_000_000 + n) > 5, "the hunt must prove something");
}

#[test]
fn check_what_count_proves_of_relies_and_started_threads_holds() {
    let n = crate::rounds(60);
    let knobs = Knobs { any: true, invariants: true, relies: true, spawn: true, ..Knobs::plain() };
    assert!(hunt(&methods::count::Count, &knobs, 3_000_000..3_000_000 + n) > 5, "the hunt must prove something");
}
