//! A concrete run, step by step: enough to replay it with no search and no solver.
//!
//! In: what a search chose: instances, initial values, actions with their inputs. Out: data alone; `replay` runs it.

use crate::code::ActionId;
use crate::model::{Copies, Program, Start, ThreadId};
use crate::property::PropertyId;
use logic::{ReadPlace, Value};

/// How many instances of each thread run, by thread id; `BySpawn` threads have 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceCounts(pub Vec<u32>);

impl InstanceCounts {
    /// The numbers the program gives, with `any` instances of each thread of any number.
    pub fn of(program: &Program, any: u32) -> Self {
        let count = |t: &crate::model::Thread| match (t.start, t.copies) {
            (Start::Spawned, _) => 0,
            (Start::Initial, Copies::One) => 1,
            (Start::Initial, Copies::Exactly(n)) => n,
            (Start::Initial, Copies::Any) => any,
        };
        Self(program.threads.iter().map(count).collect())
    }
    /// Whether a run of the program may have these numbers of instances.
    pub fn allowed(&self, program: &Program) -> bool {
        self.0.len() == program.threads.len()
            && self.0.iter().zip(program.threads.iter()).all(|(n, t)| match (t.start, t.copies) {
                (Start::Spawned, _) => *n == 0,
                (Start::Initial, Copies::One) => *n == 1,
                (Start::Initial, Copies::Exactly(m)) => *n == m,
                (Start::Initial, Copies::Any) => true,
            })
    }
}

/// A value decided at a place that was open before: of the shared store, or of one instance's locals.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Choice {
    /// Whose local it is; `None`: shared.
    pub instance: Option<u32>,
    pub place: ReadPlace,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceStep {
    /// Index of the instance (tid - 1).
    pub instance: u32,
    pub thread: ThreadId,
    pub action: ActionId,
    /// One value for each input of the action; an open value leaves it undecided.
    pub inputs: Vec<Value>,
    /// Decided just before the step.
    pub choices: Vec<Choice>,
}

/// A run from an initial store to the violation of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub instances: InstanceCounts,
    /// Decided in the initial store, before the first step.
    pub initial: Vec<Choice>,
    pub steps: Vec<TraceStep>,
    /// Decided in the store after the last step, so that an invariant or a rely can be read there.
    pub finally: Vec<Choice>,
    /// Violated by the last step (a gate), by the store after it (an invariant), or by that step as seen by another (a rely).
    pub violates: PropertyId,
}
