//! Why a run goes wrong: the one thing between the threads that a reader should look at.
//!
//! In: a failed run. Out: a sentence, or none. The first of these that the run shows: a value that a thread reads, another changes and the
//! first one still uses; a test that another thread makes false before what it was made for is done; the last change of what the check reads by another
//! thread; the change by another thread that let the failing thread go on; the step that made the check false; what others found. Deliberately absent: certainty that it is the mistake. It did happen in
//! this run, which was replayed.

use super::headline::FailedRun;
use super::reading::{Reading, conjuncts};
use super::story::Relevance;
use logic::Term;
use program::semantics::StateView;
use program::{PropertyKind, Scope, VarId, What};

/// What is said of tests that others made.
const MOST_FOUND: usize = 3;

impl FailedRun<'_> {
    pub(super) fn why(&self, formula: Term, mover: usize) -> Option<String> {
        self.stale_read(mover)
            .or_else(|| self.early_test(mover))
            .or_else(|| self.last_change(formula, mover))
            .or_else(|| self.let_on(mover))
    }

    fn instance(&self, step: usize) -> usize {
        self.trace.steps[step].instance as usize
    }

    fn matters(&self, step: usize) -> bool {
        self.slice.steps[step] == Relevance::Matters
    }

    /// Whether a step changes a place, as its thread sees it.
    fn changes(&self, step: usize, place: &Reading) -> bool {
        let by = self.instance(step);
        let (Some(before), Some(after)) = (self.states.get(step), self.states.get(step + 1)) else { return false };
        place.value_in(self.sem, before, by) != place.value_in(self.sem, after, by)
    }

    fn subject(&self, instance: usize, mover: usize) -> String {
        if instance == mover { "it".to_string() } else { self.who(instance) }
    }

    /// A value that one thread reads, another changes and the first one still uses: most mistakes between threads are of this kind.
    fn stale_read(&self, mover: usize) -> Option<String> {
        let p = self.sem.program;
        let count = self.trace.steps.len();
        for read in (0..count).filter(|i| self.matters(*i)) {
            let reader = self.instance(read);
            let step = &self.trace.steps[read];
            let action = &p.threads[step.thread].code.actions[step.action];
            for update in action.updates.iter().filter(|u| p.vars[u.var].scope != Scope::Shared) {
                let Some(used) = self.use_of(read, update.var) else { continue };
                for place in self.describer.shared_readings(&self.states[read], reader, update.value) {
                    // What is read and written in one step is not read too early.
                    if self.changes(read, &place) {
                        continue;
                    }
                    let changed = |i: &usize| self.instance(*i) != reader && self.changes(*i, &place);
                    if let Some(written) = (read + 1..used).find(changed) {
                        return Some(format!(
                            "{} read {place} at {} before {} changed it at {}, and went on with the old value at {}",
                            self.subject(reader, mover),
                            self.place_of(read),
                            self.who(self.instance(written)),
                            self.place_of(written),
                            self.place_of(used),
                        ));
                    }
                }
            }
        }
        None
    }

    /// The first step that uses a value for more than to hand it on: the value goes from local to local of its thread until it is written to what
    /// is shared, tested or checked.
    fn use_of(&self, read: usize, into: VarId) -> Option<usize> {
        let p = self.sem.program;
        let reader = self.instance(read);
        let mut carriers = vec![into];
        for i in (read + 1..self.trace.steps.len()).filter(|i| self.matters(*i) && self.instance(*i) == reader) {
            let step = &self.trace.steps[i];
            let action = &p.threads[step.thread].code.actions[step.action];
            let carries = |t: Term| {
                let symbols = p.terms.free_symbols(t);
                carriers.iter().any(|v| symbols.contains(&p.vars[*v].symbol))
            };
            let writes = action.updates.iter().any(|u| p.vars[u.var].scope == Scope::Shared && carries(u.value));
            let checks = action.gates.iter().any(|g| g.property == self.trace.violates && carries(g.formula));
            if writes || checks || carries(action.guard) {
                return Some(i);
            }
            let (handed, lost): (Vec<_>, Vec<_>) = action
                .updates
                .iter()
                .filter(|u| p.vars[u.var].scope != Scope::Shared)
                .map(|u| (u.var, carries(u.value)))
                .partition(|(_, carries)| *carries);
            carriers.retain(|v| lost.iter().all(|(other, _)| other != v));
            carriers.extend(handed.into_iter().map(|(v, _)| v));
            if carriers.is_empty() {
                return None;
            }
        }
        None
    }

    /// The last step before the end that made a formula false, as the failing thread sees it at the end.
    pub(super) fn turn(&self, formula: Term, mover: usize) -> Option<usize> {
        let last = self.states.last()?;
        let holds = |at: usize| {
            let mut state = self.states[at].clone();
            let place = state.instances.get_mut(mover)?;
            place.locals.clone_from(&last.instances[mover].locals);
            StateView::of_instance(self.sem, &state, mover).holds(formula).ok()
        };
        let end = holds(self.states.len() - 1)?;
        let turned = (0..self.states.len() - 1).rev().find(|at| holds(*at) != Some(end))?;
        // That a thread has ended is what a `join` waits for, and decides nothing.
        let step = &self.trace.steps[turned];
        let what = self.sem.program.threads[step.thread].code.actions[step.action].what;
        (holds(turned) == Some(!end) && what != What::Return).then_some(turned)
    }

    pub(super) fn is_free(&self, step: usize) -> bool {
        let done = &self.trace.steps[step];
        let what = self.sem.program.threads[done.thread].code.actions[done.action].what;
        what == What::Free || self.statement(step).contains("free(")
    }

    /// `thread 2 remover freed it at line 11 (step 4)`.
    pub(super) fn freed(&self, step: usize) -> String {
        let text = self.statement(step);
        format!(
            "{} freed it by `{}` at {}",
            self.who(self.instance(step)),
            text.trim_end_matches(';'),
            self.place_of(step)
        )
    }

    /// Where no value that was read or changed explains it: the step that decided it, else what the others found.
    pub(super) fn otherwise(&self, formula: Term, mover: usize) -> Option<String> {
        let p = self.sem.program;
        let is_invariant = matches!(p.properties[self.trace.violates].kind, PropertyKind::Invariant(_));
        if is_invariant {
            let atomic = p.origins.iter().any(|o| o.text.trim_start().starts_with("invariant"));
            return atomic.then(|| {
                "an invariant must hold after every single step; `atomic { .. }` makes several steps one".to_string()
            });
        }
        if let Some(step) = self.turn(formula, mover).filter(|i| self.instance(*i) != mover) {
            let (who, text, at) = (self.who(self.instance(step)), self.statement(step), self.place_of(step));
            return Some(format!("it held until {who} did `{}` at {at}", text.trim_end_matches(';')));
        }
        let found = |i: usize| {
            let step = &self.trace.steps[i];
            let action = &p.threads[step.thread].code.actions[step.action];
            let read = self.describer.shared_readings(&self.states[i], self.instance(i), action.guard);
            let place = read.first().filter(|_| self.instance(i) != mover && self.matters(i))?;
            Some(format!("{} found {place} at {}", self.who(self.instance(i)), self.place_of(i)))
        };
        let mut sentences: Vec<String> = (0..self.trace.steps.len()).filter_map(found).collect();
        let first = sentences.len().saturating_sub(MOST_FOUND);
        sentences.drain(..first);
        (!sentences.is_empty()).then(|| super::listed(&sentences))
    }

    /// A test that holds when it is made and no longer when the thread does what it was made for.
    fn early_test(&self, mover: usize) -> Option<String> {
        let p = self.sem.program;
        let count = self.trace.steps.len();
        for test in (0..count).filter(|i| self.matters(*i)) {
            let by = self.instance(test);
            let step = &self.trace.steps[test];
            let action = &p.threads[step.thread].code.actions[step.action];
            for part in conjuncts(self.describer, action.guard) {
                let places = self.describer.shared_readings(&self.states[test], by, part);
                // What is tested and written in one step is not tested too early.
                if places.is_empty() || places.iter().any(|q| self.changes(test, q)) {
                    continue;
                }
                // Until it looks again, or writes itself what it has tested.
                let looks = |i: &usize| {
                    let step = &self.trace.steps[*i];
                    let again = &p.threads[step.thread].code.actions[step.action];
                    let reads = self.describer.shared_readings(&self.states[*i], by, again.guard);
                    let looks = reads.iter().any(|r| places.iter().any(|q| q.var == r.var && q.keys == r.keys));
                    self.instance(*i) == by && (looks || places.iter().any(|q| self.changes(*i, q)))
                };
                let again = (test + 1..count).find(looks).unwrap_or(count - 1);
                let acts = |i: &usize| {
                    let step = &self.trace.steps[*i];
                    let writes = &p.threads[step.thread].code.actions[step.action].updates;
                    let named = |v| p.vars[v].scope == Scope::Shared && self.describer.is_named(v);
                    let waits = p.threads[step.thread].code.actions[step.action].what == What::Acquire;
                    self.instance(*i) == by
                        && self.matters(*i)
                        && !waits
                        && (*i + 1 == count || writes.iter().any(|u| named(u.var)))
                };
                let Some(acted) = (test + 1..=again).find(acts) else { continue };
                let over = StateView::of_instance(self.sem, &self.states[acted], by).holds(part) == Ok(false);
                let changed = |i: &usize| self.instance(*i) != by && places.iter().any(|q| self.changes(*i, q));
                let Some(written) = (test + 1..acted).rev().find(changed).filter(|_| over) else { continue };
                let Some(place) = places.iter().find(|q| self.changes(written, q)) else { continue };
                return Some(format!(
                    "{} tested {place} at {} before {} changed it at {}, and went on at {} although the test no longer held",
                    self.subject(by, mover),
                    self.place_of(test),
                    self.who(self.instance(written)),
                    self.place_of(written),
                    self.place_of(acted),
                ));
            }
        }
        None
    }

    /// The last step of another thread that changed something that the check reads.
    fn last_change(&self, formula: Term, mover: usize) -> Option<String> {
        let last = self.states.last()?;
        let step = self.trace.steps.last()?;
        let action = &self.sem.program.threads[step.thread].code.actions[step.action];
        let p = self.sem.program;
        let mut places = self.describer.shared_readings(last, mover, formula);
        if matches!(p.properties[self.trace.violates].kind, PropertyKind::Assertion) {
            // A value that was fetched in a step of its own before.
            let symbols = [p.terms.free_symbols(formula), p.terms.free_symbols(action.guard)].concat();
            let locals = symbols.iter().filter_map(|s| p.var_of(*s)).map(|(v, _)| v);
            for local in locals.filter(|v| p.vars[*v].scope != Scope::Shared) {
                places.extend(self.fetched(local, mover));
            }
            if places.is_empty() {
                places = self.describer.shared_readings(last, mover, action.guard);
            }
        }
        (0..self.trace.steps.len()).rev().filter(|i| self.instance(*i) != mover).find_map(|i| {
            let place = places.iter().find(|q| self.changes(i, q))?;
            self.changed(i, place)
        })
    }

    /// What the last step of a thread that wrote a local read for it.
    fn fetched(&self, local: VarId, mover: usize) -> Vec<Reading> {
        let p = self.sem.program;
        for i in (0..self.trace.steps.len()).rev().filter(|i| self.instance(*i) == mover) {
            let step = &self.trace.steps[i];
            let updates = &p.threads[step.thread].code.actions[step.action].updates;
            if let Some(update) = updates.iter().find(|u| u.var == local) {
                return self.describer.shared_readings(&self.states[i], mover, update.value);
            }
        }
        Vec::new()
    }

    /// The change by another thread that let the failing thread go on.
    fn let_on(&self, mover: usize) -> Option<String> {
        let p = self.sem.program;
        for test in (0..self.trace.steps.len()).rev().filter(|i| self.instance(*i) == mover) {
            let step = &self.trace.steps[test];
            let guard = p.threads[step.thread].code.actions[step.action].guard;
            for place in self.describer.shared_readings(&self.states[test], mover, guard) {
                let changed = |i: &usize| self.instance(*i) != mover && self.changes(*i, &place);
                if let Some(written) = (0..test).rev().find(changed) {
                    let at = self.place_of(test);
                    return Some(format!("it found {place} at {at}: {}", self.changed(written, &place)?));
                }
            }
        }
        None
    }

    /// `thread 2 Add changed x from 0 to 1 at line 7 (step 3)`.
    fn changed(&self, step: usize, place: &Reading) -> Option<String> {
        let p = self.sem.program;
        let by = self.instance(step);
        let mut sort = p.vars[place.var].sort;
        for _ in &place.keys {
            let logic::SortKind::Map(_, value) = p.terms.kind(sort) else { break };
            sort = value;
        }
        let show = |state: usize| {
            let value = place.value_in(self.sem, self.states.get(state)?, by)?;
            Some(self.describer.shown_value(place.var, sort, value))
        };
        let (old, new) = (show(step)?, show(step + 1)?);
        let (who, name, at) = (self.who(by), &place.name, self.place_of(step));
        Some(match old.as_str() {
            "?" => format!("{who} set {name} to {new} at {at}"),
            _ => format!("{who} changed {name} from {old} to {new} at {at}"),
        })
    }
}
