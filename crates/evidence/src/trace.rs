//! A concrete run, step by step: enough for the reference semantics to replay it with no search and no solver.

use logic::{Place, Value};
use program::{ActionId, PropertyId, ThreadId};

/// How many instances of each thread run, by thread id; `BySpawn` threads have 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instances(pub Vec<u32>);

/// A value decided at a place that was open before: of the shared store, or of one instance's locals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Whose local it is; `None`: shared.
    pub instance: Option<u32>,
    pub place: Place,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Index of the instance (tid - 1).
    pub instance: u32,
    pub thread: ThreadId,
    pub action: ActionId,
    /// One value for each input of the action; `Any` leaves it open.
    pub inputs: Vec<Value>,
    /// Decided just before the step.
    pub choices: Vec<Choice>,
}

/// A run from an initial store to the violation of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub instances: Instances,
    /// Decided in the initial store, before the first step.
    pub initial: Vec<Choice>,
    pub steps: Vec<TraceStep>,
    /// Violated by the last step (a gate), by the store after it (an invariant), or by that step as seen by another (a rely).
    pub violates: PropertyId,
}
