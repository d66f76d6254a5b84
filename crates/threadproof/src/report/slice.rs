//! Which steps and variables of a run have a part in its violation: a dynamic slice, backwards from the end.
//!
//! In: a trace and its states. Out: for each step whether it matters, and the variables that do. A variable matters if the violated formula
//! reads it, or if a step that matters reads it to decide what it does; a step matters if it changes such a variable, if it starts a thread
//! with a step that matters, or if a later step of its thread matters and it waits or branches. Of shared variables the writes that are
//! overwritten later matter too. For a reader only: no verdict rests on it.
//! Deliberately absent: single entries of maps, which count as one variable.

use super::story::Relevance;
use logic::{Symbol, Term};
use program::semantics::{Semantics, State, Trace};
use program::{Program, PropertyKind, Scope, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// A shared variable, or a local of one instance.
type Key = (Option<usize>, VarId);

pub struct Slice {
    /// For each step.
    pub steps: Vec<Relevance>,
    /// Everything that mattered at some moment.
    vars: BTreeSet<Key>,
    everything: Relevance,
}

impl Slice {
    /// Whether a variable matters, as a local of this instance or a shared one.
    pub fn matters(&self, var: VarId, instance: usize) -> Relevance {
        let known = self.vars.contains(&(None, var)) || self.vars.contains(&(Some(instance), var));
        if known || self.everything == Relevance::Matters { Relevance::Matters } else { Relevance::Aside }
    }
}

struct Backwards<'a> {
    p: &'a Program,
    by_symbol: BTreeMap<Symbol, VarId>,
    /// What matters at the moment.
    wanted: BTreeSet<Key>,
    /// What mattered at any moment.
    ever: BTreeSet<Key>,
    /// Instances with a later step that matters.
    active: BTreeSet<usize>,
}

pub fn slice(sem: &Semantics<'_>, trace: &Trace, states: &[State]) -> Slice {
    let p = sem.program;
    let mut by_symbol = BTreeMap::new();
    for (id, var) in p.vars.iter_enumerated() {
        by_symbol.insert(var.symbol, id);
        by_symbol.insert(var.primed, id);
    }
    let mut back = Backwards { p, by_symbol, wanted: BTreeSet::new(), ever: BTreeSet::new(), active: BTreeSet::new() };
    let count = trace.steps.len();
    if !back.begin(trace, states) {
        return Slice { steps: vec![Relevance::Matters; count], vars: BTreeSet::new(), everything: Relevance::Matters };
    }
    let mut steps = vec![Relevance::Aside; count];
    for i in (0..count).rev() {
        if back.step(sem, trace, states, i) || i + 1 == count {
            back.keep(trace, i);
            steps[i] = Relevance::Matters;
        }
    }
    Slice { steps, vars: back.ever, everything: Relevance::Aside }
}

impl Backwards<'_> {
    /// What the violation itself reads; `false`: that cannot be said, so everything matters.
    fn begin(&mut self, trace: &Trace, states: &[State]) -> bool {
        let p = self.p;
        let Some(last) = states.last() else { return false };
        match &p.properties[trace.violates].kind {
            PropertyKind::Leak => return false,
            PropertyKind::Invariant(formula) => self.read(*formula, 0),
            PropertyKind::Rely(n) => {
                let formula = p.relies.get(*n as usize).and_then(|r| r.formula);
                formula.into_iter().for_each(|f| (0..last.instances.len()).for_each(|i| self.read(f, i)));
            }
            PropertyKind::Deadlock => {
                for (at, instance) in last.instances.iter().enumerate() {
                    let code = &p.threads[instance.thread].code;
                    if code.exit != Some(instance.at) {
                        code.from(instance.at).for_each(|(_, a)| self.read(a.guard, at));
                        self.activate(at, instance.thread);
                    }
                }
            }
            _ => {
                let Some(step) = trace.steps.last() else { return false };
                let action = &p.threads[step.thread].code.actions[step.action];
                let gates = action.gates.iter().filter(|g| g.property == trace.violates);
                gates.for_each(|g| self.read(g.formula, step.instance as usize));
            }
        }
        true
    }

    fn read(&mut self, term: Term, instance: usize) {
        for symbol in self.p.terms.free_symbols(term) {
            if let Some(var) = self.by_symbol.get(&symbol) {
                let key = (if self.p.vars[*var].scope == Scope::Shared { None } else { Some(instance) }, *var);
                self.wanted.insert(key);
                self.ever.insert(key);
            }
        }
    }

    fn activate(&mut self, instance: usize, thread: program::ThreadId) {
        if self.active.insert(instance)
            && let Some(flag) = self.p.started(thread)
        {
            self.wanted.insert((None, flag));
            self.ever.insert((None, flag));
        }
    }

    /// Whether step `i` matters; what it overwrites is no longer wanted before it.
    fn step(&mut self, sem: &Semantics<'_>, trace: &Trace, states: &[State], i: usize) -> bool {
        let p = self.p;
        let step = &trace.steps[i];
        let instance = step.instance as usize;
        let action = &p.threads[step.thread].code.actions[step.action];
        let mut matters = self.active.contains(&instance) && !p.terms.is_true(action.guard);
        let (Some(before), Some(after)) = (states.get(i), states.get(i + 1)) else { return true };
        matters |= (before.instances.len()..after.instances.len()).any(|born| self.active.contains(&born));
        let written = action.updates.iter().map(|u| u.var).chain(action.spawn.as_ref().and_then(|s| s.into));
        for var in written.collect::<Vec<_>>() {
            let key = (if p.vars[var].scope == Scope::Shared { None } else { Some(instance) }, var);
            // A value that is written again matters as much as one that changes; one that is only kept does not.
            let changed = sem.value(before, instance, var) != sem.value(after, instance, var);
            let kept = action.updates.iter().any(|u| u.var == var && u.value == p.now(var));
            if (changed || !kept) && self.wanted.contains(&key) {
                matters = true;
                // What another thread wrote before is part of the story, even where it is overwritten.
                if p.vars[var].scope != Scope::Shared {
                    self.wanted.remove(&key);
                }
                let values: Vec<Term> = action.updates.iter().filter(|u| u.var == var).map(|u| u.value).collect();
                values.into_iter().for_each(|value| self.read(value, instance));
            }
        }
        matters
    }

    /// What a step that matters reads to be there at all.
    fn keep(&mut self, trace: &Trace, i: usize) {
        let step = &trace.steps[i];
        let action = &self.p.threads[step.thread].code.actions[step.action];
        let instance = step.instance as usize;
        self.read(action.guard, instance);
        for argument in action.spawn.iter().flat_map(|s| s.args.clone()).collect::<Vec<_>>() {
            self.read(argument, instance);
        }
        self.activate(instance, step.thread);
    }
}
