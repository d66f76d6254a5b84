//! A plain breadth-first search by the reference semantics: the oracle of differential tests and of small searches.
//!
//! Out: each violated property with a shortest trace to it, the number of states, and whether every reachable
//! state was seen. Deliberately absent: anything that makes it fast.

use super::decide::Sampling;
use super::{Choice, InstanceCounts, Semantics, State, StepOutcome, Trace, TraceStep};
use crate::model::Program;
use crate::property::PropertyId;
use base::Budget;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct ReachLimits {
    pub states: usize,
    /// Longest run looked at.
    pub depth: usize,
    pub sampling: Sampling,
    pub budget: Budget,
}

impl Default for ReachLimits {
    fn default() -> Self {
        Self { states: 100_000, depth: usize::MAX, sampling: Sampling::default(), budget: Budget::unlimited() }
    }
}

/// A violated property and a shortest run to it.
pub type Violation = Trace;

#[derive(Clone, Debug)]
pub struct Reached {
    pub violations: BTreeMap<PropertyId, Violation>,
    /// Different states seen.
    pub states: usize,
    /// The greatest number of steps to a state.
    pub depth: usize,
    /// Why not every reachable state was seen; `None`: all were, and what is not violated holds for these instances.
    pub incomplete: Option<String>,
    /// Which limit ended it, where one did.
    pub cut: Option<SearchLimit>,
}

/// A limit that ended a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchLimit {
    States,
    Depth,
    Budget(base::Exhausted),
}

impl Reached {
    pub fn complete(&self) -> bool {
        self.incomplete.is_none()
    }
}

/// How a state was reached first.
enum StateParent {
    Start(Vec<Choice>),
    From(usize, TraceStep),
}

struct ReachSearch<'s> {
    sem: &'s Semantics<'s>,
    instances: &'s InstanceCounts,
    index: FxHashMap<State, usize>,
    states: Vec<State>,
    parents: Vec<(StateParent, usize)>,
    out: Reached,
}

/// Every state that the given numbers of instances reach, within the limits.
pub fn reachable_states(program: &Program, instances: &InstanceCounts, limits: &ReachLimits) -> Reached {
    let sem = Semantics::new(program);
    let mut s = ReachSearch {
        sem: &sem,
        instances,
        index: FxHashMap::default(),
        states: Vec::new(),
        parents: Vec::new(),
        out: Reached { violations: BTreeMap::new(), states: 0, depth: 0, incomplete: None, cut: None },
    };
    let initial = sem.initial(instances, limits.sampling);
    if let Some(why) = initial.incomplete {
        s.note(why);
    }
    for (state, choices) in initial.states {
        s.add(state, StateParent::Start(choices), 0, limits);
    }
    let mut at = 0;
    while at < s.states.len() {
        if s.states.len() > limits.states {
            s.note(format!("more than {} states", limits.states));
            s.out.cut = Some(SearchLimit::States);
            break;
        }
        if let Err(e) = limits.budget.check() {
            s.note(e.to_string());
            s.out.cut = Some(SearchLimit::Budget(e));
            break;
        }
        if s.parents[at].1 >= limits.depth {
            s.note(format!("runs of more than {} steps were not looked at", limits.depth));
            s.out.cut = Some(SearchLimit::Depth);
            break;
        }
        s.expand(at, limits);
        at += 1;
    }
    s.out.states = s.states.len();
    s.out
}

impl ReachSearch<'_> {
    fn note(&mut self, why: String) {
        self.out.incomplete.get_or_insert(why);
    }

    fn add(&mut self, state: State, parent: StateParent, depth: usize, limits: &ReachLimits) {
        if self.index.contains_key(&state) {
            return;
        }
        let at = self.states.len();
        self.index.insert(state.clone(), at);
        self.states.push(state);
        self.parents.push((parent, depth));
        self.out.depth = self.out.depth.max(depth);
        let (broken, incomplete) = self.sem.broken_invariants(&self.states[at], limits.sampling);
        if let Some(why) = incomplete {
            self.note(why);
        }
        for b in broken {
            self.report(b.property, at, None, b.after);
        }
    }

    fn expand(&mut self, at: usize, limits: &ReachLimits) {
        let state = self.states[at].clone();
        let depth = self.parents[at].1;
        let next = self.sem.successors(&state, limits.sampling);
        if let Some(why) = &next.incomplete {
            self.note(why.clone());
        }
        let (stuck, unsure) = self.sem.deadlocked(&state, &next);
        if let Some(why) = unsure {
            self.note(why);
        }
        for property in stuck {
            self.report(property, at, None, Vec::new());
        }
        for outcome in next.outcomes {
            match outcome {
                StepOutcome::Wrong { step, property, .. } => self.report(property, at, Some(step), Vec::new()),
                StepOutcome::Moved { step, state: after } => {
                    let before = match self.sem.decide_all(&state, &step.choices) {
                        Ok(before) => before,
                        Err(why) => panic!("the choices of an outcome can be made: {why}"),
                    };
                    let (broken, incomplete) = self.sem.broken_relies(&before, &step, &after, limits.sampling);
                    if let Some(why) = incomplete {
                        self.note(why);
                    }
                    for b in broken {
                        let mut step = step.clone();
                        step.choices.extend(b.before);
                        self.report(b.property, at, Some(step), b.after);
                    }
                    if let Some(property) = self.sem.leaks(&state, &after) {
                        self.report(property, at, Some(step.clone()), Vec::new());
                    }
                    self.add(after, StateParent::From(at, step), depth + 1, limits);
                }
            }
        }
    }

    /// Keeps the first, so shortest, violation of each property.
    fn report(&mut self, property: PropertyId, at: usize, last: Option<TraceStep>, finally: Vec<Choice>) {
        if self.out.violations.contains_key(&property) {
            return;
        }
        let mut steps: Vec<TraceStep> = last.into_iter().collect();
        let mut at = at;
        let initial = loop {
            match &self.parents[at].0 {
                StateParent::Start(choices) => break choices.clone(),
                StateParent::From(before, step) => {
                    steps.push(step.clone());
                    at = *before;
                }
            }
        };
        steps.reverse();
        let trace = Trace { instances: self.instances.clone(), initial, steps, finally, violates: property };
        self.out.violations.insert(property, trace);
    }
}
