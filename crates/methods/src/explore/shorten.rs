//! A long run made short enough to read: steps that the violation does not need are left out.
//!
//! In: a run that the reference semantics replays. Out: one that it replays too, no longer than the first. Tried, until
//! nothing helps: the run without an instance, without the end of what an instance does, without a round of its loops;
//! then the steps of an instance one after the other, where others need not move between them. Each trial is replayed in
//! full, so nothing has to be known about what depends on what. Deliberately absent: other values, and the shortest run of all (that
//! is what a search finds); the number of steps replayed is bounded, so that the same run always gives the same.

use base::Budget;
use program::semantics::{Trace, TraceStep, replay_trace};
use program::{LocId, Program};

/// Steps that all trials may replay together.
const MAX_REPLAYED_STEPS: usize = 300_000;

pub(super) fn shorten(program: &Program, trace: Trace, budget: &Budget) -> Trace {
    let mut s = Shortening { program, best: trace, left: MAX_REPLAYED_STEPS, budget };
    while s.instances() | s.ends() | s.rounds() {}
    s.turns();
    s.best
}

struct Shortening<'a> {
    program: &'a Program,
    best: Trace,
    left: usize,
    budget: &'a Budget,
}

impl Shortening<'_> {
    /// Takes these steps for the run if they are one.
    fn accept(&mut self, steps: Vec<TraceStep>) -> bool {
        if steps.is_empty() || self.left < steps.len() || self.budget.check().is_err() {
            return false;
        }
        let trial = Trace { steps, ..self.best.clone() };
        match replay_trace(self.program, &trial) {
            Ok(_) => {
                self.left -= trial.steps.len();
                self.best = trial;
                true
            }
            Err(mismatch) => {
                self.left -= mismatch.after.clamp(1, self.left);
                false
            }
        }
    }

    /// Tries the run without the steps at these places, which are in order.
    fn without(&mut self, places: &[usize]) -> bool {
        let kept = self.best.steps.iter().enumerate().filter(|(i, _)| places.binary_search(i).is_err());
        let kept = kept.map(|(_, s)| s.clone()).collect();
        self.accept(kept)
    }

    /// The places of an instance's steps.
    fn places(&self, instance: u32) -> Vec<usize> {
        let mine = self.best.steps.iter().enumerate().filter(|(_, s)| s.instance == instance);
        mine.map(|(i, _)| i).collect()
    }

    /// Those who move, the last one last.
    fn movers(&self) -> Vec<u32> {
        let mut movers: Vec<u32> = Vec::new();
        for s in &self.best.steps {
            if !movers.contains(&s.instance) {
                movers.push(s.instance);
            }
        }
        let last = self.best.steps.last().map(|s| s.instance);
        movers.sort_by_key(|m| Some(*m) == last);
        movers
    }

    fn instances(&mut self) -> bool {
        let mut shorter = false;
        for m in self.movers() {
            let places = self.places(m);
            shorter |= self.without(&places);
        }
        shorter
    }

    /// Leaves out what an instance does last: half of it, a quarter, and so on.
    fn ends(&mut self) -> bool {
        let mut shorter = false;
        for m in self.movers() {
            let mut size = self.places(m).len() / 2;
            while size > 0 {
                let places = self.places(m);
                if places.len() > size && self.without(&places[places.len() - size..]) {
                    shorter = true;
                } else {
                    size /= 2;
                }
            }
        }
        shorter
    }

    /// Leaves out what an instance does between two visits of one place in its code, long rounds first.
    fn rounds(&mut self) -> bool {
        let mut shorter = false;
        for m in self.movers() {
            let mut from = 0;
            loop {
                let places = self.places(m);
                let Some(here) = places.get(from).map(|i| self.location(*i)) else { break };
                let again: Vec<usize> =
                    (from + 1..places.len()).rev().filter(|j| self.location(places[*j]) == here).collect();
                if again.into_iter().any(|j| self.without(&places[from..j])) {
                    shorter = true;
                } else {
                    from += 1;
                }
            }
        }
        shorter
    }

    /// Where the instance stands before the step at this place.
    fn location(&self, place: usize) -> LocId {
        let s = &self.best.steps[place];
        self.program.threads[s.thread].code.actions[s.action].from
    }

    /// Puts what an instance does next right after what it did before.
    fn turns(&mut self) {
        let mut at = 1;
        while at < self.best.steps.len() {
            let steps = &self.best.steps;
            let mine = steps[at].instance;
            let before = steps[..at].iter().rposition(|s| s.instance == mine);
            let end = steps[at..].iter().position(|s| s.instance != mine).map_or(steps.len(), |n| at + n);
            if let Some(before) = before.filter(|b| b + 1 < at) {
                let mut moved = steps.clone();
                moved[before + 1..end].rotate_left(at - before - 1);
                if self.accept(moved) {
                    at = before + 1 + (end - at);
                    continue;
                }
            }
            at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Build;
    use super::*;
    use program::semantics::{InstanceCounts, Semantics};
    use program::{Copies, PropertyKind};

    /// One that goes round and round adding, one that only idles, and one that says there are less than two.
    fn rounds() -> (Program, Trace) {
        let mut b = Build::new();
        let x = b.int("x", 0);
        let property = b.property("assert:1", PropertyKind::Assertion);
        let add = b.thread("Add", Copies::One, 2);
        b.step(add, 0, 1).set(x, |p| p.terms.add(p.now(x), p.terms.int(1))).done();
        b.step(add, 1, 0).done();
        let idle = b.thread("Idle", Copies::One, 1);
        b.step(idle, 0, 0).done();
        let watch = b.thread("Watch", Copies::One, 2);
        b.step(watch, 0, 1).done();
        b.step(watch, 1, 1).gate(property, |p| p.terms.lt(p.now(x), p.terms.int(2))).done();
        let step = |thread: u32, action: u32| TraceStep {
            instance: thread,
            thread: program::ThreadId(thread),
            action: program::ActionId(action),
            inputs: Vec::new(),
            choices: Vec::new(),
        };
        let mut steps = vec![step(2, 0)];
        for _ in 0..20 {
            steps.extend([step(0, 0), step(1, 0), step(0, 1)]);
        }
        steps.push(step(2, 1));
        let sem = Semantics::new(&b.p);
        let initial = sem.initial(&InstanceCounts(vec![1, 1, 1]), Default::default()).states[0].1.clone();
        drop(sem);
        let trace =
            Trace { instances: InstanceCounts(vec![1, 1, 1]), initial, steps, finally: Vec::new(), violates: property };
        (b.p, trace)
    }

    #[test]
    fn check_only_what_the_violation_needs_is_left() {
        let (program, long) = rounds();
        assert!(replay_trace(&program, &long).is_ok());
        let short = shorten(&program, long, &Budget::unlimited());
        assert!(replay_trace(&program, &short).is_ok());
        let who: Vec<u32> = short.steps.iter().map(|s| s.instance).collect();
        assert_eq!(who, [2, 0, 0, 0, 2], "two additions, the way back between them, and no idle instance");
    }

    #[test]
    fn check_a_spent_budget_leaves_the_run_as_it_is() {
        let (program, long) = rounds();
        let spent = Budget::unlimited();
        spent.cancel();
        assert_eq!(shorten(&program, long.clone(), &spent), long);
    }
}
