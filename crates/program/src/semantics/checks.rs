//! Properties of stores and steps: invariants, relies, deadlock.
//!
//! Invariants and relies are not looked at while an instance is inside an atomic block; a rely sees a block with a
//! loop as one step, from the store at its entry to the store at its end.
//! In: a state, or a step between two. Out: the properties it breaks, and what was not looked at because a value is
//! open.

use super::decide::Sampling;
use super::{Choice, Semantics, State, StateView, StepOutcome, Successors, SymbolSlot, TraceStep};
use crate::property::{PropertyId, PropertyKind};
use logic::{EvalError, ReadPlace, Term};

/// A property that a store or a step violates, with the values that had to be decided to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    pub property: PropertyId,
    /// Decided before the step; only for relies.
    pub before: Vec<Choice>,
    /// Decided in the store after it.
    pub after: Vec<Choice>,
}

/// What is violated, and what could not be evaluated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breaches {
    pub found: Vec<Breach>,
    pub incomplete: Option<String>,
}

impl Semantics<'_> {
    /// The invariants a store violates.
    pub fn broken_invariants(&self, state: &State, sampling: Sampling) -> (Vec<Breach>, Option<String>) {
        let mut out = Breaches::default();
        if self.instance_in_atomic_block(state).is_some() {
            return (out.found, None);
        }
        for (id, property) in self.program.properties.iter_enumerated() {
            let PropertyKind::Invariant(formula) = property.kind else { continue };
            self.break_invariant(state, id, formula, sampling, &mut out);
        }
        (out.found, out.incomplete)
    }

    fn break_invariant(
        &self,
        state: &State,
        property: PropertyId,
        formula: Term,
        sampling: Sampling,
        out: &mut Breaches,
    ) {
        let mut todo = vec![(state.clone(), Vec::new())];
        let mut ways = 0;
        while let Some((state, choices)) = todo.pop() {
            ways += 1;
            if ways > sampling.ways {
                return note(out, "too many ways to decide the values of an invariant");
            }
            let view = StateView::of_store(self, &state);
            match view.holds(formula) {
                Ok(true) => {}
                Ok(false) => {
                    out.found.push(Breach { property, before: Vec::new(), after: choices });
                    return;
                }
                Err(EvalError::Open(place, _)) if self.beyond(&view, &place) => {
                    note(out, "an invariant speaks of the fields of all objects, also of those that are not there");
                }
                Err(EvalError::Open(place, sort)) => {
                    let found = self.any_value(&view, sort, sampling);
                    if !found.exhaustive {
                        note(out, "an invariant reads a value that was only sampled");
                    }
                    for value in found.values.into_iter().rev() {
                        let choice = Choice { instance: None, place: place.clone(), value };
                        let mut next = state.clone();
                        if self.decide(&mut next, &choice) {
                            todo.push((next, choices.iter().cloned().chain([choice]).collect()));
                        } else {
                            note(out, "an invariant reads a place that could not be decided");
                        }
                    }
                }
                Err(e) => note(out, &format!("an invariant could not be evaluated ({e:?})")),
            }
        }
    }

    /// The relies that a step violates, seen by every other instance.
    pub fn broken_relies(
        &self,
        before: &State,
        step: &TraceStep,
        after: &State,
        sampling: Sampling,
    ) -> (Vec<Breach>, Option<String>) {
        let mut out = Breaches::default();
        if !self.has_relies || self.instance_in_atomic_block(after).is_some() {
            return (out.found, None);
        }
        for rely in &self.program.relies {
            let Some(formula) = rely.formula else { continue };
            if out.found.iter().any(|b| b.property == rely.property) {
                continue;
            }
            for (at, other) in before.instances.iter().enumerate() {
                let others = at != step.instance as usize && self.is_there(before, at);
                let concerned = others && rely.thread.is_none_or(|t| t == other.thread);
                if concerned && self.break_rely(before, step, after, at, rely.property, formula, sampling, &mut out) {
                    break;
                }
            }
        }
        (out.found, out.incomplete)
    }

    #[allow(clippy::too_many_arguments)]
    fn break_rely(
        &self,
        before: &State,
        step: &TraceStep,
        after: &State,
        at: usize,
        property: PropertyId,
        formula: Term,
        sampling: Sampling,
        out: &mut Breaches,
    ) -> bool {
        // What a step of a whole block changes is seen from its entry; then nothing before it can still be decided.
        if let Some(entry) = &before.entered {
            let seen = State { shared: (**entry).clone(), ..before.clone() };
            return match StateView::of_instance(self, &seen, at).with_after(&after.shared).holds(formula) {
                Ok(true) => false,
                Ok(false) => {
                    out.found.push(Breach { property, before: Vec::new(), after: Vec::new() });
                    true
                }
                Err(e) => {
                    note(out, &format!("a rely could not be evaluated ({e:?})"));
                    false
                }
            };
        }
        let mut todo = vec![(before.clone(), after.clone(), Vec::new(), Vec::new())];
        let mut ways = 0;
        while let Some((pre, post, chosen, finally)) = todo.pop() {
            ways += 1;
            if ways > sampling.ways {
                note(out, "too many ways to decide the values of a rely");
                return false;
            }
            let view = StateView::of_instance(self, &pre, at).with_after(&post.shared);
            let (place, sort) = match view.holds(formula) {
                Ok(true) => continue,
                Ok(false) => {
                    out.found.push(Breach { property, before: chosen, after: finally });
                    return true;
                }
                Err(EvalError::Open(place, _)) if self.beyond(&view, &place) => {
                    note(out, "a rely speaks of the fields of all objects, also of those that are not there");
                    continue;
                }
                Err(EvalError::Open(place, sort)) => (place, sort),
                Err(e) => {
                    note(out, &format!("a rely could not be evaluated ({e:?})"));
                    continue;
                }
            };
            let found = self.any_value(&view, sort, sampling);
            if !found.exhaustive {
                note(out, "a rely reads a value that was only sampled");
            }
            let place = self.unprimed(place);
            for value in found.values.into_iter().rev() {
                let instance = matches!(self.slot(place.symbol), SymbolSlot::Local(..)).then_some(at as u32);
                let choice = Choice { instance, place: place.clone(), value };
                // Decide it before the step and take the step again: what the step leaves alone stays equal.
                let mut early = pre.clone();
                let again = |s: &State| {
                    let plain = TraceStep { choices: Vec::new(), ..step.clone() };
                    self.execute(s, &plain).ok().and_then(|o| match o {
                        StepOutcome::Moved { state, .. } => self.decide_all(&state, &finally).ok(),
                        StepOutcome::Wrong { .. } => None,
                    })
                };
                if self.decide(&mut early, &choice) {
                    match again(&early) {
                        Some(late) => {
                            let chosen = chosen.iter().cloned().chain([choice]).collect();
                            todo.push((early, late, chosen, finally.clone()));
                        }
                        None => note(out, "a rely reads a value that the step does not allow to decide"),
                    }
                    continue;
                }
                let mut late = post.clone();
                if self.decide(&mut late, &choice) {
                    let finally = finally.iter().cloned().chain([choice]).collect();
                    todo.push((pre.clone(), late, chosen.clone(), finally));
                } else {
                    note(out, "a rely reads a place that could not be decided");
                }
            }
        }
        false
    }

    /// The same place with the symbol of the store before.
    fn unprimed(&self, place: ReadPlace) -> ReadPlace {
        match self.slot(place.symbol) {
            SymbolSlot::After(i) => ReadPlace { symbol: self.program.vars[self.shared[i]].symbol, keys: place.keys },
            _ => place,
        }
    }

    /// The deadlock properties violated: no instance can complete a step and some instance that is there has not ended.
    /// `None` in the second place means that this is sure. An atomic block is one step: a run into it that comes to a
    /// statement that waits is no step at all, so a state inside a block is never a deadlock, and the state before it may be.
    pub fn deadlocked(&self, state: &State, successors: &Successors) -> (Vec<PropertyId>, Option<String>) {
        let wanted: Vec<PropertyId> = self
            .program
            .properties
            .iter_enumerated()
            .filter(|(_, p)| p.kind == PropertyKind::Deadlock)
            .map(|(id, _)| id)
            .collect();
        let over = |at: usize| {
            let i = &state.instances[at];
            self.program.threads[i.thread].code.exit == Some(i.at) || !self.is_there(state, at)
        };
        if wanted.is_empty() || self.instance_in_atomic_block(state).is_some() || (0..state.instances.len()).all(over) {
            return (Vec::new(), None);
        }
        let undecided = || Some("whether a state is stuck depends on an undecided value".to_owned());
        let mut entered = Vec::new();
        for outcome in &successors.outcomes {
            match outcome {
                StepOutcome::Moved { state, .. } if self.instance_in_atomic_block(state).is_some() => {
                    entered.push(state.clone())
                }
                _ => return (Vec::new(), successors.decided.then(undecided).flatten()),
            }
        }
        if let Some(why) = &successors.incomplete {
            return (Vec::new(), Some(why.clone()));
        }
        if entered.is_empty() {
            return (wanted, None);
        }
        match self.block_goes_on(entered) {
            Ok(GoesOn::No) if successors.decided => (Vec::new(), undecided()),
            Ok(GoesOn::No) => (wanted, None),
            Ok(GoesOn::Yes) => (Vec::new(), successors.decided.then(undecided).flatten()),
            Err(why) => (Vec::new(), Some(why)),
        }
    }

    /// Whether some run inside a block, from one of these states, leaves it, goes wrong, or never stops.
    fn block_goes_on(&self, entered: Vec<State>) -> Result<GoesOn, String> {
        // States on the way from the first one are `Open`; meeting one of them again is a run without end.
        let mut known: rustc_hash::FxHashMap<State, StateVisit> = rustc_hash::FxHashMap::default();
        let mut todo: Vec<(State, StateVisit)> = entered.into_iter().map(|s| (s, StateVisit::Open)).collect();
        while let Some((state, visit)) = todo.pop() {
            if visit == StateVisit::Done {
                known.insert(state, StateVisit::Done);
                continue;
            }
            match known.get(&state) {
                Some(StateVisit::Open) => return Ok(GoesOn::Yes),
                Some(StateVisit::Done) => continue,
                None => {}
            }
            if known.len() > MAX_BLOCK_STATES {
                return Err(format!("an atomic block has more than {MAX_BLOCK_STATES} states"));
            }
            let next = self.successors(&state, Sampling::default());
            if next.decided {
                return Err("whether an atomic block waits depends on an undecided value".to_owned());
            }
            known.insert(state.clone(), StateVisit::Open);
            todo.push((state, StateVisit::Done));
            for outcome in next.outcomes {
                match outcome {
                    StepOutcome::Moved { state, .. } if self.instance_in_atomic_block(&state).is_some() => {
                        todo.push((state, StateVisit::Open))
                    }
                    _ => return Ok(GoesOn::Yes),
                }
            }
            if let Some(why) = next.incomplete {
                return Err(why);
            }
        }
        Ok(GoesOn::No)
    }
}

/// States inside one block that are looked at to see whether it can go on.
const MAX_BLOCK_STATES: usize = 10_000;

/// Whether a block that was entered can be completed.
enum GoesOn {
    Yes,
    No,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StateVisit {
    Open,
    Done,
}

fn note(out: &mut Breaches, why: &str) {
    out.incomplete.get_or_insert_with(|| why.to_owned());
}
