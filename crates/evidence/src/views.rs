//! The certificate of a thread-quantified proof: a finite set of views, one of which holds of every thread always.
//!
//! In: what `methods::shape` found. Out: plain data, from which the checker rebuilds the closure of the set
//! under every step of every thread. The meaning (concretisation) of a view is in `docs/decisions/010-shape-evidence.md`.
//! Nothing here is packed and no order is meant beyond positions: cells and groups are named by their position.

use logic::{ClassId, Term};
use program::{ActionId, LocId, ObjectId, ThreadId, VarId};

/// "For every thread, one of the views holds."
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Views {
    /// The object whose operations any number of threads call; `None`: the threads of the program.
    pub object: Option<ObjectId>,
    /// Where the specification's operations take effect. Operations without a point take effect only by an outcome
    /// that leaves the specification as it is, witnessed at some moment of the call.
    pub points: Vec<SpecPoint>,
    /// The list that holds a specification's set, if the proof is about one.
    pub spine: Option<Spine>,
    /// Where threads get cells for themselves that were published. Only with these do views say which cells are `unshared`.
    pub takes: Vec<Take>,
    /// In a claim that nothing leaks: the shared variables that lead to every published cell which is live.
    pub roots: Vec<VarId>,
    pub views: Vec<View>,
}

/// The list that starts at the object a shared variable refers to, by the link of its class. The variable is never assigned.
///
/// A cell of the list *stops* the search for the one key if another shared variable that is never assigned refers to it, or by
/// its key: see `SpineOrder`. The list crosses the key where its first stopping cell after the root is, or at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spine {
    pub root: VarId,
    /// The field that holds the key.
    pub key: VarId,
    pub order: SpineOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpineOrder {
    /// A cell whose key is the one key or above it stops.
    Sorted,
    /// Only a cell whose key is the one key stops.
    Unsorted,
}

/// When the step `action` of the thread or operation changes a shared variable or a published cell, the cell that `var` refers to after
/// it is the thread's own from then on. To be shown: nothing shared, no published cell and no other thread refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Take {
    pub code: Taker,
    pub action: ActionId,
    pub var: VarId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    Thread(ThreadId),
    Operation(u32),
}

/// The step `action` of an operation runs the specification's operation, where `when` says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecPoint {
    pub operation: u32,
    pub action: ActionId,
    pub when: Fires,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fires {
    /// Every time the step is taken.
    Always,
    /// When the formula holds in the store after the step.
    When(Term),
    /// When the step changes a shared variable or a field.
    Change,
}

/// Where the thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Control {
    /// Between two operations.
    Idle,
    Operation(u32, LocId),
    Thread(ThreadId, LocId),
}

/// What one thread sees: shared variables, its own locals, the cells that are published or its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub control: Control,
    /// Shared variables and the thread's own; each exactly once, by increasing id. A variable left out may be anything.
    pub vars: Vec<(VarId, Val)>,
    /// References of the thread's own that have one of several values, by increasing id: null, a published cell, a member of a group. Such a variable is not
    /// among `vars`, and gives no cell a name.
    pub open: Vec<(VarId, Vec<Val>)>,
    /// First and last element of the specification's sequence, if it has one.
    pub ends: Option<(Val, Val)>,
    /// Whether the one key is in the specification's set, if it has one.
    pub member: Option<bool>,
    /// Where there is a spine: the last cell before the crossing, and the cell after it or null.
    pub crossing: Option<(Val, Val)>,
    /// Has the specification's operation run, and with which results (by position)?
    pub done: OperationProgress,
    /// Bit i: path i of the specification's operation that changes nothing was possible at some moment of the call.
    pub witnessed: u32,
    /// Cells with a name: some variable above, or the first or last element.
    pub cells: Vec<ViewCell>,
    /// All other cells, by kind; there may be none of a kind.
    pub groups: Vec<ViewCell>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OperationProgress {
    No,
    /// By a path of the specification that changes nothing: may be done again.
    Pure(Vec<Val>),
    Changed(Vec<Val>),
}

/// A cell, or what is true of every cell of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ViewCell {
    pub class: ClassId,
    pub status: Status,
    pub owner: CellOwner,
    /// For each field of the class, in order: the values it may have.
    pub fields: Vec<Vec<Val>>,
    /// The successor in the specification's sequence (cells of status `In` only; else empty).
    pub successor: Vec<Val>,
    /// At most one published cell has it as its successor by the class's link.
    pub single_predecessor: bool,
    /// No variable of another thread, and no cell that another thread owns, refers to it.
    pub unshared: bool,
}

/// Whose cell it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CellOwner {
    /// No other thread's variable, no shared variable and no published cell refers to it.
    Mine,
    Published,
}

/// The value the cell stands for, in the specification's sequence; or the place of the cell in the spine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Not yet in the sequence; not in the spine.
    Never,
    In,
    Past,
    /// In the spine, up to the crossing.
    Before,
    /// In the spine, after the crossing.
    After,
    /// Not in the spine, but was since this thread last read the root (or began its call).
    Left,
}

impl Status {
    /// What all threads agree on.
    pub fn common(self) -> Status {
        if self == Status::Left { Status::Never } else { self }
    }
}

/// A value. For integers that are only copied, `ViewCell(i)` is the value that cell i stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Val {
    Null,
    /// Unconstrained; no thread may follow it.
    Any,
    Cell(u16),
    /// Some cell of the group.
    Group(u16),
    /// The value that the very cell stands for (in a field).
    Itself,
    /// The same as the link field's value (in `successor`); every other value there means: different from it.
    AsLink,
    /// The call's own argument, which no cell stands for yet.
    Argument,
    Number(i128),
    Bool(bool),
    Variant(u32),
    /// A lock: free, held by the thread at hand, held by another.
    Free,
    Me,
    Other,
    /// A key: below, equal to, above the one key that the proof is about.
    Below,
    Equal,
    Above,
}
