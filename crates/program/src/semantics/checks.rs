//! Properties of stores and steps: invariants, relies, deadlock.
//!
//! Invariants and relies are not looked at while an instance is inside an atomic block; a rely sees a block with a
//! loop as one step, from the store at its entry to the store at its end.

use super::decide::Sampling;
use super::{Choice, Outcome, Semantics, Slot, State, Step, Successors, View};
use crate::property::{PropertyId, PropertyKind};
use logic::{EvalError, Place, Term};

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
        if self.inside(state).is_some() {
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
            let view = View::of_store(self, &state);
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
        step: &Step,
        after: &State,
        sampling: Sampling,
    ) -> (Vec<Breach>, Option<String>) {
        let mut out = Breaches::default();
        if !self.has_relies || self.inside(after).is_some() {
            return (out.found, None);
        }
        for rely in &self.program.relies {
            let Some(formula) = rely.formula else { continue };
            if out.found.iter().any(|b| b.property == rely.property) {
                continue;
            }
            for (at, other) in before.instances.iter().enumerate() {
                let concerned = at != step.instance as usize && rely.thread.is_none_or(|t| t == other.thread);
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
        step: &Step,
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
            return match View::of_instance(self, &seen, at).with_after(&after.shared).holds(formula) {
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
            let view = View::of_instance(self, &pre, at).with_after(&post.shared);
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
                let instance = matches!(self.slot(place.symbol), Slot::Local(..)).then_some(at as u32);
                let choice = Choice { instance, place: place.clone(), value };
                // Decide it before the step and take the step again: what the step leaves alone stays equal.
                let mut early = pre.clone();
                let again = |s: &State| {
                    let plain = Step { choices: Vec::new(), ..step.clone() };
                    self.execute(s, &plain).ok().and_then(|o| match o {
                        Outcome::Moved { state, .. } => self.decide_all(&state, &finally).ok(),
                        Outcome::Wrong { .. } => None,
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
    fn unprimed(&self, place: Place) -> Place {
        match self.slot(place.symbol) {
            Slot::After(i) => Place { symbol: self.program.vars[self.shared[i]].symbol, keys: place.keys },
            _ => place,
        }
    }

    /// The deadlock properties violated: nobody can move and somebody has not ended. `None` in the second place
    /// means that this is sure.
    pub fn deadlocked(&self, state: &State, successors: &Successors) -> (Vec<PropertyId>, Option<String>) {
        let wanted: Vec<PropertyId> = self
            .program
            .properties
            .iter_enumerated()
            .filter(|(_, p)| p.kind == PropertyKind::Deadlock)
            .map(|(id, _)| id)
            .collect();
        if wanted.is_empty() {
            return (wanted, None);
        }
        let ended = |i: &super::Instance| self.program.threads[i.thread].code.exit == Some(i.at);
        if state.instances.iter().all(ended) {
            return (Vec::new(), None);
        }
        if !successors.outcomes.is_empty() {
            let unsure =
                successors.decided.then(|| "whether a state is stuck depends on an undecided value".to_owned());
            return (Vec::new(), unsure);
        }
        match &successors.incomplete {
            Some(why) => (Vec::new(), Some(why.clone())),
            None => (wanted, None),
        }
    }
}

fn note(out: &mut Breaches, why: &str) {
    out.incomplete.get_or_insert_with(|| why.to_owned());
}
