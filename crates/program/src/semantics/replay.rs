//! Exact replay of a trace: every step is executed as written, nothing is searched for, and the violation is seen.
//!
//! What the trace says is not trusted: instances, indexes, sorts of values and choices are all checked.
//! In: a program and a trace. Out: the states of the run, or the first place where trace and program do not fit
//! (`Mismatch`).

use super::decide::Sampling;
use super::{Semantics, State, StateView, StepOutcome, Trace};
use crate::model::Program;
use crate::property::PropertyKind;

/// A replayed trace: the states before the first step and after each step. The last step is missing its state where
/// it went wrong.
#[derive(Clone, Debug)]
pub struct Replay {
    pub states: Vec<State>,
}

/// Why a trace is not a run of the program that violates its property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The number of steps that could be replayed.
    pub after: usize,
    pub reason: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "after {} steps: {}", self.after, self.reason)
    }
}

pub fn replay_trace(program: &Program, trace: &Trace) -> Result<Replay, Mismatch> {
    let sem = Semantics::new(program);
    let wrong = |after: usize, reason: String| Mismatch { after, reason };
    let Some(property) = program.properties.get(trace.violates) else {
        return Err(wrong(0, "there is no such property".into()));
    };
    let start = sem.start(&trace.instances, &trace.initial).map_err(|r| wrong(0, r))?;
    let mut states = vec![start];
    for (i, step) in trace.steps.iter().enumerate() {
        let now = states.last().expect("the start is a state");
        let outcome = sem.execute(now, step).map_err(|r| wrong(i, r))?;
        let last = i + 1 == trace.steps.len();
        match outcome {
            StepOutcome::Moved { state, .. } => states.push(state),
            StepOutcome::Wrong { property, .. } if last && property == trace.violates => {
                return Ok(Replay { states });
            }
            StepOutcome::Wrong { property, .. } => {
                let name = &program.properties[property].name;
                return Err(wrong(i, format!("the step goes wrong by `{name}`")));
            }
        }
    }
    let done = trace.steps.len();
    let last = states.last().expect("the start is a state");
    let last = sem.decide_all(last, &trace.finally).map_err(|r| wrong(done, r))?;
    let seen = |reason: &str| Err(wrong(done, reason.to_owned()));
    match &property.kind {
        PropertyKind::Invariant(formula) => {
            if sem.instance_in_atomic_block(&last).is_some() {
                return seen("the run ends inside an atomic block, where invariants are not looked at");
            }
            match StateView::of_store(&sem, &last).holds(*formula) {
                Ok(false) => {}
                Ok(true) => return seen("the invariant holds"),
                Err(e) => return seen(&format!("the invariant could not be evaluated ({e:?})")),
            }
        }
        PropertyKind::Rely(_) => {
            let Some(step) = trace.steps.last() else { return seen("no step was taken") };
            let before = &states[states.len() - 2];
            let before = sem.decide_all(before, &step.choices).map_err(|r| wrong(done, r))?;
            // Nothing is left to decide: with no values to try, an open value shows no violation.
            let nothing = Sampling { whole: 0, few: 0, ways: 1 };
            let (broken, _) = sem.broken_relies(&before, step, &last, nothing);
            if !broken.iter().any(|b| b.property == trace.violates && b.before.is_empty() && b.after.is_empty()) {
                return seen("the last step does not break the rely");
            }
        }
        PropertyKind::Deadlock => {
            let next = sem.successors(&last, Sampling::default());
            let (stuck, unsure) = sem.deadlocked(&last, &next);
            if let Some(why) = unsure {
                return seen(&why);
            }
            if !stuck.contains(&trace.violates) {
                return seen("somebody can still move, or all have ended");
            }
        }
        PropertyKind::Leak => {
            let before = states.len().checked_sub(2).map(|i| &states[i]);
            if before.is_none_or(|before| sem.leaks(before, &last) != Some(trace.violates)) {
                return seen("the last step loses no object");
            }
        }
        _ => return seen("the last step does not violate the property"),
    }
    *states.last_mut().expect("the start is a state") = last;
    Ok(Replay { states })
}
