//! Code: locations and atomic actions between them.
//!
//! An action waits while no choice of its inputs satisfies its guard; with the guard true, the first false gate is a
//! failure of that gate's property; with all gates true the updates happen at once, their values read in the store
//! before the step. Inputs make every step of the language one form: `havoc` chooses a value, `new` an object that is
//! not live, a relational step the primed values of its frame.
//! Locations marked `in_atomic_block` belong to an atomic block that has a loop: no other thread moves there, and invariants
//! and relies are not looked at there; blocks without loops are single actions.
//! In: what a front end builds. Out: the one form of code that all methods and the checker read.

pub use crate::ids::{ActionId, LocId};
use crate::ids::{OriginId, ProcId, PropertyId, ThreadId, VarId};
use crate::two_store::TwoStore;
use base::IdVec;
use logic::{Symbol, Term};

#[derive(Clone, Debug)]
pub struct Code {
    pub entry: LocId,
    /// Where the code ends, if it can: no action leaves it.
    pub exit: Option<LocId>,
    pub locations: IdVec<LocId, Location>,
    pub actions: IdVec<ActionId, Action>,
    /// Calls kept as calls; empty in a thread's whole code.
    pub calls: Vec<ProcedureCall>,
}

#[derive(Clone, Debug)]
pub struct Location {
    /// The line's text, or a short name: what a person calls this point.
    pub name: String,
    /// Inside an atomic block: no other thread can be scheduled.
    pub in_atomic_block: bool,
    /// Written loop invariants; `None` inside: asked for with `?`.
    pub invariants: Vec<Option<Term>>,
    pub origin: OriginId,
}

#[derive(Clone, Debug)]
pub struct Action {
    pub from: LocId,
    pub to: LocId,
    /// Values the step chooses. Each symbol is used by this action alone.
    pub inputs: Vec<Symbol>,
    pub guard: Term,
    pub gates: Vec<Gate>,
    /// Simultaneous; each variable at most once; values over the store before, inputs and `tid`.
    pub updates: Vec<Update>,
    pub spawn: Option<Spawn>,
    /// The two-store form, where the action was written as one (`step <x> R`); guard and updates say the same.
    pub relation: Option<TwoStore>,
    pub marks: Vec<Mark>,
    pub what: What,
    pub origin: OriginId,
}

impl Action {
    /// A step that changes nothing and checks nothing, to be filled in.
    pub fn plain(from: LocId, to: LocId, guard: Term, what: What, origin: OriginId) -> Self {
        Self {
            from,
            to,
            inputs: Vec::new(),
            guard,
            gates: Vec::new(),
            updates: Vec::new(),
            spawn: None,
            relation: None,
            marks: Vec::new(),
            what,
            origin,
        }
    }
}

/// Goes wrong where `formula` is false (given the guard and the earlier gates).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gate {
    pub property: PropertyId,
    pub formula: Term,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    pub var: VarId,
    pub value: Term,
}

/// Starts a new instance of a `BySpawn` thread; its id goes to `into`.
#[derive(Clone, Debug)]
pub struct Spawn {
    pub thread: ThreadId,
    /// One value for each parameter.
    pub args: Vec<Term>,
    pub into: Option<VarId>,
}

/// Hints the user wrote at the step.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A linearization point of the operation, when the condition (over the store *after* the step) holds.
    Linearize(Option<Term>),
    /// This step performs the labelled action of the procedure's specification.
    Witness(String),
}

/// What kind of statement the step was: for people and heuristics, never for meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    Assign,
    Havoc,
    Assume,
    Assert,
    Acquire,
    Release,
    New,
    Free,
    Cas,
    Atomic,
    Relation,
    Test,
    Choose,
    Skip,
    Spawn,
    Join,
    Return,
    /// A construct outside the model: its gate is of an `Unmodelled` property.
    Unmodelled,
}

/// A call kept as a call: `results := procedure(args)`.
#[derive(Clone, Debug)]
pub struct ProcedureCall {
    pub from: LocId,
    pub to: LocId,
    pub procedure: ProcId,
    pub args: Vec<Term>,
    pub results: Vec<VarId>,
    /// The property that the callee's `requires` holds here, if it has one.
    pub requires: Option<PropertyId>,
    pub origin: OriginId,
}

impl Code {
    pub fn new() -> Self {
        Self { entry: LocId(0), exit: None, locations: IdVec::new(), actions: IdVec::new(), calls: Vec::new() }
    }
    pub fn from(&self, at: LocId) -> impl Iterator<Item = (ActionId, &Action)> {
        self.actions.iter_enumerated().filter(move |(_, a)| a.from == at)
    }
    /// For each location, the actions that leave it, in order.
    pub fn outgoing(&self) -> IdVec<LocId, Vec<ActionId>> {
        let mut out: IdVec<LocId, Vec<ActionId>> = self.locations.iter().map(|_| Vec::new()).collect();
        for (id, a) in self.actions.iter_enumerated() {
            out[a.from].push(id);
        }
        out
    }
}

impl Default for Code {
    fn default() -> Self {
        Self::new()
    }
}
