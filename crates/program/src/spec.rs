//! Specifications: two-store actions, `performs`, machines, procedures and objects with their sequential specification.
//!
//! In: what a front end builds. Out: the types; their meaning is in `docs/language.md` and `docs/rules.md`.

use crate::code::{Code, Update};
pub use crate::ids::{MachineId, ObjectId, ProcId};
use crate::ids::{OriginId, PropertyId, VarId};
use crate::property::InitialFact;
pub use crate::two_store::{StorePlace, TwoStore};
use logic::Term;

#[derive(Clone, Debug)]
pub enum Performs {
    Action { label: String, action: TwoStore, origin: OriginId },
    Then(Vec<Performs>),
    Or(Vec<Performs>),
    Star(Box<Performs>),
}

#[derive(Clone, Debug)]
pub struct Procedure {
    pub name: String,
    pub params: Vec<VarId>,
    pub results: Vec<VarId>,
    /// Every variable of scope `Procedure(self)` that is neither parameter nor result.
    pub locals: Vec<VarId>,
    pub requires: Vec<InitialFact>,
    pub ensures: Vec<InitialFact>,
    pub performs: Option<(Performs, PropertyId)>,
    /// Shared variables and parameters of which `ensures` or a loop invariant says `old`, each with the local that holds its
    /// value at the entry.
    pub olds: Vec<(VarId, VarId)>,
    /// `inline proc`: never used by specification.
    pub inline: bool,
    /// Its own code: calls of specified procedures kept, others inlined. `exit` is reached with the results set.
    pub code: Code,
    pub origin: OriginId,
}

#[derive(Clone, Debug)]
pub struct Machine {
    pub name: String,
    /// Without the implicit idle step of every state.
    pub strict: bool,
    /// Part of its local state, each with an initial value. Assertions and edges may speak of them.
    pub vars: Vec<VarId>,
    pub states: Vec<MachineState>,
    /// Indices of the start states, increasing; at least one.
    pub starts: Vec<usize>,
    pub edges: Vec<MachineEdge>,
    pub origin: OriginId,
}

#[derive(Clone, Debug)]
pub struct MachineState {
    pub name: String,
    /// Over the shared store, the machine's variables and `tid`; `None`: no assertion. The inner `None`: asked for with `?`.
    pub assertion: Option<Option<Term>>,
    pub origin: OriginId,
}

#[derive(Clone, Debug)]
pub struct MachineEdge {
    pub from: usize,
    pub to: usize,
    /// Its frame holds shared variables only.
    pub action: TwoStore,
    /// What variables of the machine become, over both stores and the machine's variables before the step; the others stay.
    pub sets: Vec<Update>,
    /// The step makes an object, with any fields, to which this variable of the machine then refers.
    pub makes: Option<VarId>,
    pub origin: OriginId,
}

/// Concurrent operations over shared variables, against a sequential specification.
#[derive(Clone, Debug)]
pub struct Object {
    pub name: String,
    pub spec: Spec,
    pub ops: Vec<Operation>,
    /// Linearizability.
    pub property: PropertyId,
    pub origin: OriginId,
}

#[derive(Clone, Debug)]
pub struct Operation {
    pub name: String,
    pub params: Vec<VarId>,
    pub results: Vec<VarId>,
    pub locals: Vec<VarId>,
    /// Every call inlined.
    pub code: Code,
    pub origin: OriginId,
}

#[derive(Clone, Debug)]
pub struct Spec {
    /// Abstract state, scope `Spec`, each with an initial value.
    pub vars: Vec<VarId>,
    /// One for each operation of the object, in the same order.
    pub ops: Vec<SpecOp>,
}

/// The sequential meaning of an operation: `code` runs alone, from entry to exit.
#[derive(Clone, Debug)]
pub struct SpecOp {
    pub params: Vec<VarId>,
    pub results: Vec<VarId>,
    pub locals: Vec<VarId>,
    pub code: Code,
}

impl Procedure {
    /// Whether calls may be replaced by what it performs, once that is shown.
    pub fn usable(&self) -> bool {
        self.performs.is_some() && !self.inline && self.requires.iter().all(|f| f.formula.is_some())
    }
}

impl Performs {
    /// The labelled actions, from left to right.
    pub fn actions(&self) -> Vec<(&str, &TwoStore)> {
        match self {
            Performs::Action { label, action, .. } => vec![(label, action)],
            Performs::Then(parts) | Performs::Or(parts) => parts.iter().flat_map(Performs::actions).collect(),
            Performs::Star(inner) => inner.actions(),
        }
    }
}

/// Facts of a contract that are written out.
pub fn written(facts: &[InitialFact]) -> Vec<Term> {
    facts.iter().filter_map(|f| f.formula).collect()
}
