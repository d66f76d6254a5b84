//! A local counterexample: one thread's own steps, with what the others may have made of the shared store before each.
//!
//! In: a thread, its locals at first and its steps. Out: the run that the checker replays by evaluation alone, and that reports print.
//! Shows that code does not satisfy a specification that must hold whatever the other threads do (`follows`).
//! A thread that calls procedures with a `performs` follows its machine by their
//! code or by their specifications: there is then a run for each reading.

use logic::Value;
use program::call_summaries::{following, performing};
use program::{ActionId, Program, PropertyId, PropertyKind, ThreadId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRun {
    pub violates: PropertyId,
    pub thread: ThreadId,
    pub reading: CallReading,
    /// Initial values of `Thread::locals`.
    pub locals: Vec<Value>,
    /// The thread has tid 1.
    pub steps: Vec<LocalStep>,
    /// A run of the other reading.
    pub also: Option<Box<LocalRun>>,
}

/// What a call in the thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallReading {
    /// The callee's code.
    Code,
    /// What the callee performs. Only assertions are then checks of the thread: what else can fail is left to a reduction.
    Specified,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalStep {
    /// The shared store when the thread moves, in the order of `Program::shared`.
    pub store: Vec<Value>,
    pub action: ActionId,
    /// One value for each input.
    pub inputs: Vec<Value>,
}

impl CallReading {
    pub const ALL: [(CallReading, &'static str); 2] =
        [(CallReading::Code, "code"), (CallReading::Specified, "specified")];

    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(r, _)| *r == self).map_or("", |(_, w)| w)
    }

    /// The program so read, or why it cannot be.
    pub fn of(self, program: &Program) -> Result<Program, String> {
        match self {
            CallReading::Code => Ok(program.clone()),
            CallReading::Specified => {
                let access = |q: &PropertyId| matches!(program.properties[*q].kind, PropertyKind::Access(_));
                let shown: Vec<PropertyId> = program.properties.ids().filter(access).collect();
                following(program, &performing(program), &shown)
            }
        }
    }
}
