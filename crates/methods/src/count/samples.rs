//! Reachable states from short random runs.
//!
//! In: the program, with three instances of each thread that comes in any number. Out: the states that the runs went through.
//! Deliberately absent: anything that is concluded from what the runs have not seen; what they contradict is in `seen`.

use program::Program;
use program::semantics::{InstanceCounts, Sampling, Semantics, State, StepOutcome};
use rustc_hash::FxHashSet;

/// Steps of each random run, and how many runs.
const STEPS_PER_RUN: usize = 80;
const RANDOM_RUNS: usize = 100;
/// In how many of the states candidates are tried.
const MAX_TRIED_STATES: usize = 300;

pub(crate) struct Samples {
    /// Each once.
    pub visited: Vec<State>,
}

impl Samples {
    pub(super) fn of(p: &Program) -> Self {
        let sem = Semantics::new(p);
        let instances = InstanceCounts::of(p, 3);
        let mut random = base::Random::new(1);
        let (mut visited, mut seen) = (Vec::new(), FxHashSet::default());
        for _ in 0..RANDOM_RUNS {
            let Some((mut state, _)) = sem.initial(&instances, Sampling::default()).states.into_iter().next() else {
                break;
            };
            for _ in 0..STEPS_PER_RUN {
                if seen.insert(state.clone()) {
                    visited.push(state.clone());
                }
                let moved = |o| if let StepOutcome::Moved { state, .. } = o { Some(state) } else { None };
                let mut next: Vec<_> =
                    sem.successors(&state, Sampling::default()).outcomes.into_iter().filter_map(moved).collect();
                if next.is_empty() {
                    break;
                }
                state = next.swap_remove(random.below(next.len()));
            }
        }
        Self { visited }
    }

    /// Some of them, spread over all.
    pub(super) fn tried(&self) -> impl Iterator<Item = &State> {
        self.visited.iter().step_by(self.visited.len().div_ceil(MAX_TRIED_STATES).max(1))
    }
}
