//! The lowering's own form of code: locations and steps over slots, before they become the model's actions.
//!
//! A step waits on its guard, fails on its gates, updates slots at once. Kept apart from `program::Code` because
//! shared and private slots are only told apart when the whole program is known, and steps are merged after that.

use base::{IdVec, Span};
use logic::{Sort, Symbol, Term};
use program::What;

base::id_type!(
    /// A slot: one variable of the model to be.
    SlotId, "q"
);
base::id_type!(
    /// A location of one thread's flow.
    Loc, "L"
);
base::id_type!(
    /// A thread of the program to be.
    TaskId, "task"
);

/// Who can reach a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Owner {
    Shared,
    Task(TaskId),
}

#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// Unique and the same in every pass.
    pub key: String,
    /// What a person calls it.
    pub shown: String,
    pub sort: Sort,
    pub symbol: Symbol,
    pub owner: Owner,
    /// The initial value; `None`: any value in `range`.
    pub initial: Option<Term>,
    /// The range of the C type, for integer slots.
    pub range: Option<(i128, i128)>,
    pub lock: bool,
    /// Begins with a value given from outside the program, which is one of its type.
    pub external: bool,
    /// Accesses of it never race: atomics and the library's own objects.
    pub synchronising: bool,
    pub span: Span,
}

/// A value the step chooses, with its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub symbol: Symbol,
    pub range: Option<(i128, i128)>,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub from: Loc,
    pub to: Loc,
    pub inputs: Vec<Input>,
    pub guard: Term,
    /// Blocks for good reasons of the program (locks, joins, assumptions), so it must not swallow an earlier write.
    pub blocking: bool,
    pub gates: Vec<(Failure, Term)>,
    pub updates: Vec<(SlotId, Term)>,
    pub what: What,
    pub span: Span,
    /// Threads whose end this step has waited for.
    pub joins: Vec<TaskId>,
}

/// Why a gate fails: the property it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Failure {
    /// `reach_error`, `assert`.
    Reach,
    Overflow,
    Division,
    Deref,
    Free,
    /// A mutex unlocked by a thread that does not hold it.
    Unlock,
    Leak,
    Race(String),
    /// What is not modelled, and where it stands.
    Unmodelled(String, Span),
}

#[derive(Clone, Debug)]
pub(super) struct Place {
    pub span: Span,
    /// Strictly inside an atomic section.
    pub inside: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub places: IdVec<Loc, Place>,
    pub steps: Vec<Step>,
    pub entry: Option<Loc>,
    pub exit: Option<Loc>,
}
