//! A local counterexample: one thread's own steps, with what the others may have made of the shared store before each.
//!
//! Shows that code does not satisfy a specification that must hold whatever the other threads do (`follows`). The
//! checker replays it by evaluation alone.

use logic::Value;
use program::{ActionId, PropertyId, ThreadId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    pub violates: PropertyId,
    pub thread: ThreadId,
    /// Initial values of `Thread::locals`.
    pub locals: Vec<Value>,
    /// The thread has tid 1.
    pub steps: Vec<LocalStep>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalStep {
    /// The shared store when the thread moves, in the order of `Program::shared`.
    pub store: Vec<Value>,
    pub action: ActionId,
    /// One value for each input.
    pub inputs: Vec<Value>,
}
