//! Reachable states, from searches of few instances and long random runs of more.
//!
//! In: the program. Out: each visited state is given to the caller once per visit. Deliberately absent: anything that is concluded from what was
//! not visited.

use base::Budget;
use program::Program;
use program::semantics::{InstanceCounts, Sampling, Semantics, State, StepOutcome, Successors};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// How many states a search of two, and of three, instances of each thread may visit.
const SEARCHED_STATES: [(u32, usize); 2] = [(2, 6_000), (3, 12_000)];
/// Random runs: how many instances of each thread, how many runs, and how many steps each.
const RUNS: [(u32, usize, usize); 3] = [(3, 60, 500), (4, 60, 500), (5, 60, 500)];
/// Few values are tried where a step may choose any.
const SAMPLING: Sampling = Sampling { whole: 8, few: 8, ways: 64 };
/// A step of a random run is taken by the one that took the last, with this chance in ten.
const SAME_AGAIN: usize = 5;

pub(super) fn visit(p: &Program, seed: u64, budget: &Budget, mut look: impl FnMut(&State)) {
    let sem = Semantics::new(p);
    let mut random = base::Random::new(seed ^ 0x51);
    for (copies, most) in SEARCHED_STATES {
        search(&sem, &InstanceCounts::of(p, copies), most, budget, &mut random, &mut look);
    }
    for (copies, runs, steps) in RUNS {
        let starts = sem.initial(&InstanceCounts::of(p, copies), SAMPLING).states;
        if starts.is_empty() {
            continue;
        }
        for _ in 0..runs {
            if budget.check().is_err() {
                return;
            }
            let mut state = starts[random.below(starts.len())].0.clone();
            let mut last = 0;
            for _ in 0..steps {
                look(&state);
                match step(&sem, &state, &mut last, &mut random) {
                    Some(next) => state = next,
                    None => break,
                }
            }
        }
    }
}

/// A step of some instance; the one that took the last step is likely to take the next.
fn step(sem: &Semantics<'_>, state: &State, last: &mut usize, random: &mut base::Random) -> Option<State> {
    let only = sem.instance_in_atomic_block(state);
    let count = state.instances.len();
    let first = match only {
        Some(only) => only,
        None if random.below(10) < SAME_AGAIN => *last,
        None => random.below(count),
    };
    for k in 0..if only.is_some() { 1 } else { count } {
        let at = (first + k) % count;
        let mut moves = Successors::default();
        sem.moves(state, at, SAMPLING, &mut moves);
        let mut next: Vec<State> = moves.outcomes.into_iter().filter_map(moved).collect();
        if !next.is_empty() {
            *last = at;
            return Some(next.swap_remove(random.below(next.len())));
        }
    }
    None
}

fn moved(outcome: StepOutcome) -> Option<State> {
    if let StepOutcome::Moved { state, .. } = outcome { Some(*Box::new(state)) } else { None }
}

fn search(
    sem: &Semantics<'_>,
    counts: &InstanceCounts,
    most: usize,
    budget: &Budget,
    random: &mut base::Random,
    look: &mut impl FnMut(&State),
) {
    let mut seen: FxHashSet<State> = FxHashSet::default();
    let mut queue: VecDeque<State> = VecDeque::new();
    for (state, _) in sem.initial(counts, SAMPLING).states {
        if seen.insert(state.clone()) {
            queue.push_back(state);
        }
    }
    while let Some(state) = if random.below(2) == 0 { queue.pop_front() } else { queue.pop_back() } {
        look(&state);
        if seen.len() >= most || budget.check().is_err() {
            continue;
        }
        for next in sem.successors(&state, SAMPLING).outcomes.into_iter().filter_map(moved) {
            if seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
}
