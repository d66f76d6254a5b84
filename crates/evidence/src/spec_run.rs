//! A run of one procedure that its specification does not explain, or, in a file without threads, that breaks an access predicate.
//!
//! The procedure's own steps and, between them, steps of other threads (`program::stage`). The checker replays it by evaluation alone.

use logic::Value;
use program::stage::StageEvent;
use program::{ProcId, PropertyId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecRun {
    pub violates: PropertyId,
    pub procedure: ProcId,
    /// The shared store at the call, in the order of `Program::shared`.
    pub store: Vec<Value>,
    /// The procedure's own variables at the call, in the order of `Stage::own`.
    pub own: Vec<Value>,
    pub events: Vec<StageEvent>,
}
