//! `walk`: single long runs with few changes of thread, for bugs that need many steps or many threads.
//!
//! In: a task. Out: runs that violate a property, as the reference semantics takes them. Every instance has a
//! priority; the one with the highest that can move does; at a few points of a run the one that moves falls to the
//! lowest (probabilistic concurrency testing: a bug that needs d orderings is hit by a run with d - 1 such points with a
//! probability that is polynomial in the number of steps). Where threads are of one kind they often have neighbouring
//! priorities, so that whole groups go first. Whoever moves very long is made to wait, since others may have to move for a loop to
//! end. The number of runs is fixed, so that the same seed gives the same run. What is found
//! is made shorter (`shorten`). Deliberately absent: proofs, relies.

use super::method::speaks_of;
use super::shorten::shorten;
use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use base::IdVec;
use evidence::{Claim, Claims};
use logic::Value;
use program::semantics::{
    Choice, InstanceCounts, Sampling, Semantics, State, StateView, StepOutcome, Successors, Trace, TraceStep,
    replay_trace,
};
use program::{ActionId, LocId, PropertyId, PropertyKind, ThreadId};
use std::collections::BTreeMap;

pub struct Walk;

/// The effort of one step by the reference semantics.
const STEP_EFFORT: u64 = 10;
/// How many runs, how long each may be, and how many steps all of them.
const MAX_RUNS: usize = 2_400;
const MAX_RUN_STEPS: usize = 4_000;
const MAX_TOTAL_STEPS: usize = 500_000;
/// More points than this at which somebody falls back are not tried.
const MAX_CHANGES: usize = 6;
/// How many steps in a row an instance may take before it waits.
const MAX_STEPS_IN_A_ROW: usize = 60;
/// Instances of a thread in any number, one choice after the other.
const ANY: [u32; 4] = [3, 8, 24, 64];
const SAMPLING: Sampling = Sampling { whole: 64, few: 8, ways: 400 };

impl Method for Walk {
    fn about(&self) -> MethodDescription {
        MethodDescription {
            name: "walk",
            summary: "long runs with few changes of thread; finds bugs only",
            paper: "beyond the papers: probabilistic concurrency testing",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        if task.program.threads.is_empty() {
            return Err(Refusal("there is no thread to run".into()));
        }
        if wanted(task).is_empty() {
            return Err(Refusal("no property is a matter of single runs".into()));
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        walks(task, run, WalkLength { runs: MAX_RUNS, steps: MAX_TOTAL_STEPS, turns: Turns::Few })
    }
}

/// How many runs are made, and how many steps they take together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkLength {
    pub runs: usize,
    pub steps: usize,
    pub turns: Turns,
}

/// How often another thread's turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turns {
    /// At a few points of a run.
    Few,
    /// Every few steps.
    Many,
}

/// Runs with few changes of thread, as many as were asked for.
pub(crate) fn walks(task: &Task, run: &Run, length: WalkLength) -> Claims {
    let sem = Semantics::new(&task.program);
    let outgoing = task.program.threads.iter().map(|t| t.code.outgoing()).collect();
    let mut walker = Walker {
        task,
        sem: &sem,
        outgoing,
        open: wanted(task),
        dice: Xorshift(run.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        usual: 20,
        left: length.steps,
        turns: length.turns,
    };
    let mut claims = Claims::default();
    let sizes: &[u32] = if task.is_parametric() { &ANY } else { &[0] };
    let mut starts: BTreeMap<u32, Vec<(State, Vec<Choice>)>> = BTreeMap::new();
    let mut runs = 0;
    while runs < length.runs && walker.left > 0 && !walker.open.is_empty() && run.budget.check().is_ok() {
        let size = sizes[runs % sizes.len()];
        let instances = task.instances(size);
        let start = starts.entry(size).or_insert_with(|| sem.initial(&instances, SAMPLING).states);
        if start.is_empty() {
            break;
        }
        let (state, choices) = start[walker.dice.below(start.len())].clone();
        if let Some(found) = walker.walk(state, runs / sizes.len() % MAX_CHANGES, run) {
            let trace = Trace { instances, initial: choices, ..found };
            let trace = with_those_who_move(task, &trace).unwrap_or(trace);
            let trace = shorten(&task.program, trace, &run.budget);
            let trace = with_those_who_move(task, &trace).unwrap_or(trace);
            // What the checker would not accept is not worth telling.
            if replay_trace(&task.program, &trace).is_ok() {
                walker.open.retain(|p| *p != trace.violates);
                let (violated, claim) = (trace.violates, Claim::Refuted(trace.into()));
                run.publish_one(violated, claim.clone());
                claims.set(violated, claim);
            }
        }
        runs += 1;
    }
    claims.statistics.insert("runs".into(), runs as u64);
    claims.statistics.insert("steps".into(), (length.steps - walker.left) as u64);
    claims
}

/// Gates, invariants and deadlocks: what a single run shows and this method looks at.
fn wanted(task: &Task) -> Vec<PropertyId> {
    let looks_at = |p: &PropertyId| {
        let kind = &task.program.properties[*p].kind;
        speaks_of(kind) && !matches!(kind, PropertyKind::Rely(_) | PropertyKind::Unmodelled(_))
    };
    task.properties.iter().copied().filter(looks_at).collect()
}

/// A xorshift generator: the same numbers for the same seed, everywhere.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % n.max(1) as u64) as usize
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
    }
}

/// Which of the values that a step may choose a run takes: often many threads must choose the same.
#[derive(Clone, Copy)]
enum Values {
    Any,
    /// The same as in the last step that chose, where that is possible.
    Same,
    First,
    Last,
}

struct Walker<'t> {
    task: &'t Task,
    sem: &'t Semantics<'t>,
    outgoing: IdVec<ThreadId, IdVec<LocId, Vec<ActionId>>>,
    open: Vec<PropertyId>,
    dice: Xorshift,
    /// How long runs usually are.
    usual: usize,
    left: usize,
    turns: Turns,
}

impl Walker<'_> {
    /// One run; what it violates at its end, with neither its instances nor its initial choices filled in.
    fn walk(&mut self, mut state: State, changes: usize, run: &Run) -> Option<Trace> {
        let mut order = self.priorities(&state);
        let mut points: Vec<usize> = (0..changes).map(|_| self.dice.below(self.usual)).collect();
        let mut steps: Vec<TraceStep> = Vec::new();
        let mut chosen: Vec<Value> = Vec::new();
        let (mut last, mut streak) = (usize::MAX, 0);
        let values = [Values::Any, Values::Same, Values::First, Values::Last][self.dice.below(4)];
        let found = |property: PropertyId, steps: Vec<TraceStep>, finally: Vec<Choice>| Trace {
            instances: InstanceCounts::default(),
            initial: Vec::new(),
            steps,
            finally,
            violates: property,
        };
        loop {
            let (broken, _) = self.sem.broken_invariants(&state, SAMPLING);
            if let Some(b) = broken.into_iter().find(|b| self.open.contains(&b.property)) {
                return Some(found(b.property, steps, b.after));
            }
            if steps.len() >= MAX_RUN_STEPS || self.left == 0 || run.budget.check().is_err() {
                break;
            }
            self.left -= 1;
            run.budget.spend(STEP_EFFORT);
            let Some((at, mut outcomes)) = self.first_that_moves(&state, &order) else {
                let next = self.sem.successors(&state, SAMPLING);
                let (stuck, unsure) = self.sem.deadlocked(&state, &next);
                let stuck = stuck.into_iter().find(|p| unsure.is_none() && self.open.contains(p));
                return stuck.map(|p| found(p, steps, Vec::new()));
            };
            let wrong =
                |o: &StepOutcome| matches!(o, StepOutcome::Wrong { property, .. } if self.open.contains(property));
            if let Some(i) = outcomes.iter().position(wrong)
                && let StepOutcome::Wrong { step, property, .. } = outcomes.swap_remove(i)
            {
                steps.push(step);
                return Some(found(property, steps, Vec::new()));
            }
            let Some((step, next)) = self.pick(outcomes, values, &chosen) else { break };
            if !step.inputs.is_empty() {
                chosen.clone_from(&step.inputs);
            }
            let leak = self.sem.leaks(&state, &next).filter(|p| self.open.contains(p));
            steps.push(step);
            state = next;
            if let Some(property) = leak {
                return Some(found(property, steps, Vec::new()));
            }
            streak = if at == last { streak + 1 } else { 0 };
            last = at;
            let restless = self.turns == Turns::Many && self.dice.below(3) == 0;
            let waits = restless || streak >= MAX_STEPS_IN_A_ROW || points.contains(&steps.len());
            if waits && let Some(i) = order.iter().position(|x| *x == at) {
                order.remove(i);
                let to = if restless { self.dice.below(order.len() + 1) } else { order.len() };
                order.insert(to, at);
                points.retain(|p| *p != steps.len());
                streak = 0;
            }
        }
        self.usual = self.usual.max(steps.len().min(MAX_RUN_STEPS / 4));
        None
    }

    /// The instances, highest priority first.
    fn priorities(&mut self, state: &State) -> Vec<usize> {
        let mut order: Vec<usize> = (0..state.instances.len()).collect();
        self.dice.shuffle(&mut order);
        if self.dice.below(2) == 0 {
            let mut kinds: Vec<ThreadId> = self.task.program.threads.ids().collect();
            self.dice.shuffle(&mut kinds);
            let rank = |i: &usize| kinds.iter().position(|k| *k == state.instances[*i].thread);
            order.sort_by_key(rank);
        }
        order
    }

    /// The first instance in the order that can move, with what it can do.
    fn first_that_moves(&self, state: &State, order: &[usize]) -> Option<(usize, Vec<StepOutcome>)> {
        let inside = self.sem.instance_in_atomic_block(state);
        // Instances that were born on the way come last.
        let born = order.len()..state.instances.len();
        for at in order.iter().copied().chain(born).filter(|at| inside.is_none_or(|only| only == *at)) {
            let mut out = Successors::default();
            let instance = &state.instances[at];
            let code = &self.task.program.threads[instance.thread].code;
            let actions: &[ActionId] = self.actions(instance.thread, instance.at);
            for id in actions {
                // Most instances wait most of the time: that is cheap to see.
                let view = StateView::of_instance(self.sem, state, at);
                if view.holds(code.actions[*id].guard) != Ok(false) {
                    self.sem.action_outcomes(state, at, *id, SAMPLING, &mut out);
                }
            }
            let useful = |o: &StepOutcome| match o {
                StepOutcome::Moved { .. } => true,
                StepOutcome::Wrong { property, .. } => self.open.contains(property),
            };
            out.outcomes.retain(useful);
            if !out.outcomes.is_empty() {
                return Some((at, out.outcomes));
            }
        }
        None
    }

    fn actions(&self, thread: ThreadId, at: LocId) -> &[ActionId] {
        &self.outgoing[thread][at]
    }

    /// One of the steps: first which action, then with which values.
    fn pick(&mut self, outcomes: Vec<StepOutcome>, values: Values, chosen: &[Value]) -> Option<(TraceStep, State)> {
        let mut actions: Vec<ActionId> = outcomes.iter().map(|o| o.step().action).collect();
        actions.dedup();
        let action = *actions.get(self.dice.below(actions.len()))?;
        let mut moved: Vec<(TraceStep, State)> = outcomes
            .into_iter()
            .filter_map(|o| match o {
                StepOutcome::Moved { step, state } if step.action == action => Some((step, state)),
                _ => None,
            })
            .collect();
        if moved.is_empty() {
            return None;
        }
        let i = match values {
            Values::Any => self.dice.below(moved.len()),
            Values::Same => match moved.iter().position(|(step, _)| !chosen.is_empty() && step.inputs == chosen) {
                Some(same) => same,
                None => self.dice.below(moved.len()),
            },
            Values::First => 0,
            Values::Last => moved.len() - 1,
        };
        Some(moved.swap_remove(i))
    }
}

/// The run with those instances alone that move in it, where a thread may come in any number.
fn with_those_who_move(task: &Task, trace: &Trace) -> Option<Trace> {
    let fewest = task.instances(0);
    let mut new: Vec<Option<u32>> = Vec::new();
    let (mut counts, mut next) = (Vec::new(), 0);
    for (t, count) in trace.instances.0.iter().enumerate() {
        let first = new.len() as u32;
        let may_go = fewest.0.get(t) != Some(count);
        let mut kept = 0;
        for i in first..first + count {
            let moves = trace.steps.iter().any(|s| s.instance == i);
            new.push((moves || !may_go).then(|| {
                kept += 1;
                next += 1;
                next - 1
            }));
        }
        counts.push(kept);
    }
    let rename = |i: u32| new.get(i as usize).copied().flatten();
    let choices = |list: &[Choice]| -> Option<Vec<Choice>> {
        list.iter()
            .map(|c| match c.instance {
                None => Some(c.clone()),
                Some(i) => Some(Choice { instance: Some(rename(i)?), ..c.clone() }),
            })
            .collect()
    };
    let mut steps = Vec::new();
    for s in &trace.steps {
        steps.push(TraceStep { instance: rename(s.instance)?, choices: choices(&s.choices)?, ..s.clone() });
    }
    let smaller = Trace {
        instances: InstanceCounts(counts),
        initial: choices(&trace.initial)?,
        steps,
        finally: choices(&trace.finally)?,
        violates: trace.violates,
    };
    replay_trace(&task.program, &smaller).is_ok().then_some(smaller)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Build;
    use super::*;
    use base::Budget;
    use program::Copies;

    /// Threads that each add one to a number they have read before, and one that says it never gets to `limit`.
    fn adders(copies: Copies, limit: i128) -> Task {
        let mut b = Build::new();
        let x = b.int("x", 0);
        let property = b.property("assert:1", PropertyKind::Assertion);
        let add = b.thread("Add", copies, 3);
        let zero = b.p.terms.int(0);
        let read = b.local(add, "read", logic::Sort::INT, Some(zero));
        b.step(add, 0, 1).set(read, |p| p.now(x)).done();
        b.step(add, 1, 2).set(x, |p| p.terms.add(p.now(read), p.terms.int(1))).done();
        let watch = b.thread("Watch", Copies::One, 2);
        b.step(watch, 0, 1).gate(property, |p| p.terms.lt(p.now(x), p.terms.int(limit))).done();
        Task { program: b.p, properties: vec![property], threads: BTreeMap::new(), options: Default::default() }
    }

    fn refuted(task: &Task) -> Option<Trace> {
        let claims = Walk.run(task, &Run::quiet(Budget::unlimited()));
        match claims.claims.into_values().next() {
            Some(Claim::Refuted(evidence::Counterexample::Run(trace))) => Some(trace),
            _ => None,
        }
    }

    #[test]
    fn check_a_bug_that_needs_thirty_threads_one_after_the_other_is_found() {
        let task = adders(Copies::Exactly(30), 30);
        let trace = refuted(&task).expect("a run in which no addition is lost");
        assert!(replay_trace(&task.program, &trace).is_ok());
        assert!(refuted(&adders(Copies::Exactly(30), 31)).is_none());
    }

    #[test]
    fn check_a_run_has_only_those_instances_of_any_number_that_move() {
        let task = adders(Copies::Any, 5);
        let trace = refuted(&task).expect("five additions are enough");
        let add = trace.instances.0[0];
        assert!((5..=64).contains(&add), "{add} instances");
        assert!((0..add).all(|i| trace.steps.iter().any(|s| s.instance == i)));
    }

    #[test]
    fn check_many_threads_may_choose_the_same_value() {
        let mut b = Build::new();
        let (x, wanted) = (b.int("x", 0), b.int("wanted", 6));
        let property = b.property("assert:1", PropertyKind::Assertion);
        let add = b.thread("Add", Copies::Exactly(6), 2);
        let any = b.p.terms.symbol("any", logic::Sort::INT);
        let step = b.step(add, 0, 1).set(x, |p| {
            let same = p.terms.eq(p.terms.sym(any), p.now(wanted));
            p.terms.add(p.now(x), p.terms.ite(same, p.terms.int(1), p.terms.int(0)))
        });
        let action = step.take();
        action.inputs.push(any);
        let (t, v) = (&b.p.terms, b.p.terms.sym(any));
        action.guard = t.and(&[t.le(t.int(1), v), t.le(v, t.int(12))]);
        b.p.threads[add].code.actions.push(action.clone());
        let watch = b.thread("Watch", Copies::One, 2);
        b.step(watch, 0, 1).gate(property, |p| p.terms.lt(p.now(x), p.terms.int(6))).done();
        let task =
            Task { program: b.p, properties: vec![property], threads: BTreeMap::new(), options: Default::default() };
        assert!(refuted(&task).is_some(), "six choices of one value in twelve are hardly ever made one by one");
    }

    #[test]
    fn check_the_same_seed_gives_the_same_run() {
        let task = adders(Copies::Any, 4);
        assert_eq!(refuted(&task), refuted(&task));
    }
}
