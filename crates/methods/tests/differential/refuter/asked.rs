//! Programs whose machines ask for their assertions, and what is certainly not so of them, whatever is asserted.
//!
//! In: a seed. Out: a program with machines that ask, and the properties that are violated: by the reference semantics, and by the definition of
//! conformance with the strongest assertions that the machines keep, which are the stores in which they are seen in a state.
//! Deliberately absent: the strongest assertions of machines that have variables of their own.

use super::subjects::{follows, machines, pair, violated};
use crate::conformance;
use logic::Term;
use program::compose::compose_machines;
use program::machine_assertions::{FoundAssertion, asked_assertions, with_assertions};
use program::semantics::{InstanceCounts, Sampling, Semantics, State, StepOutcome};
use program::{Program, PropertyId};
use rustc_hash::FxHashSet;

/// All or some states of its machines ask.
pub(super) fn asking(seed: u64) -> Program {
    let mut p = if seed.is_multiple_of(2) { pair(seed) } else { machines(seed) };
    for machine in p.machines.iter_mut() {
        for (k, state) in machine.states.iter_mut().enumerate() {
            if state.assertion.is_some() || !(seed / 2 + k as u64).is_multiple_of(3) {
                state.assertion = Some(None);
            }
        }
    }
    p
}

pub(super) fn never_so(seed: u64, p: &Program) -> Vec<PropertyId> {
    let mut out = violated(seed, p);
    let is_pair = seed.is_multiple_of(2) && p.machines.iter().all(|m| m.vars.is_empty());
    if is_pair && !conformance::is_followed(&with_strongest(p)) {
        out.extend(follows(p));
    }
    out
}

fn filled(p: &Program, formula: &dyn Fn(usize) -> Term) -> Program {
    let of = |(machine, state)| FoundAssertion { machine, state, formula: formula(state) };
    let found: Vec<FoundAssertion> = asked_assertions(p).into_iter().map(of).collect();
    with_assertions(p, &p.terms, &found).expect("there is one for each that is asked for")
}

/// A pair whose machine asserts, where it asks, that the store is one of those in which it may be there.
fn with_strongest(p: &Program) -> Program {
    let composed = compose_machines(&filled(p, &|_| p.terms.tt())).expect("a machine is composed with nothing");
    let seen = reachable(&composed);
    let (t, vars) = (&p.terms, p.shared().collect::<Vec<_>>());
    filled(p, &|state| {
        let here = seen.iter().filter(|s| s.instances[0].at.index() == state);
        let stores: Vec<Term> = here
            .map(|s| {
                let value = |k: usize| match s.shared[k] {
                    logic::Value::Bool(true) => p.now(vars[k]),
                    _ => t.not(p.now(vars[k])),
                };
                t.and(&(0..vars.len()).map(value).collect::<Vec<_>>())
            })
            .collect();
        t.or(&stores)
    })
}

fn reachable(p: &Program) -> Vec<State> {
    let semantics = Semantics::new(p);
    let start = semantics.initial(&InstanceCounts::of(p, 1), Sampling::default());
    let mut todo: Vec<State> = start.states.into_iter().map(|(s, _)| s).collect();
    let mut seen: FxHashSet<State> = todo.iter().cloned().collect();
    while let Some(state) = todo.pop() {
        for outcome in semantics.successors(&state, Sampling::default()).outcomes {
            if let StepOutcome::Moved { state, .. } = outcome
                && seen.insert(state.clone())
            {
                todo.push(state);
            }
        }
    }
    seen.into_iter().collect()
}
