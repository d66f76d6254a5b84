//! The model: `Program`, its threads, actions and properties; well-formedness; text form; the reference semantics.
//!
//! Everything a front end produces and a method consumes. No source text, no solver. See
//! `docs/decisions/001-model.md` for why it has the shape it has.

pub mod access;
pub mod call_summaries;
pub mod callers;
pub mod client;
pub mod clients;
mod code;
pub mod compose;
pub mod hidden;
mod ids;
mod inline;
pub mod live;
pub mod machine_assertions;
pub mod machine_step;
mod marks;
pub mod memory;
mod model;
pub mod movers;
pub mod order;
pub mod parts;
pub mod passive;
mod property;
pub mod relation;
pub mod semantics;
pub mod sequential;
pub mod spec;
pub mod stage;
pub mod symbolic;
pub mod text;
pub mod transition;
mod two_store;
pub mod wellformed;

pub use code::{Action, ActionId, Code, Gate, LocId, Location, Mark, ProcedureCall, Spawn, Update, What};
pub use model::{
    AccessPredicate, Assumption, Class, Copies, InitialFact, Origin, OriginId, Program, Rely, Scope, Start, Thread,
    ThreadId, TouchMode, Var, VarId, VarKind,
};
pub use property::{Property, PropertyId, PropertyKind};
pub use spec::{
    Machine, MachineEdge, MachineId, MachineState, Object, ObjectId, Operation, Performs, ProcId, Procedure, Spec,
    SpecOp, StorePlace, TwoStore,
};
pub use wellformed::wellformed;
