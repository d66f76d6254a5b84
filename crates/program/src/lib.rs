//! The model: `Program`, its threads, actions and properties; well-formedness; text form; the reference semantics.
//!
//! Everything a front end produces and a method consumes. No source text, no solver. See
//! `docs/decisions/001-model.md` for why it has the shape it has.

pub mod access;
pub mod callers;
pub mod client;
pub mod clients;
pub mod code;
pub mod compose;
mod graft;
pub mod held;
pub mod live;
mod marks;
pub mod memory;
pub mod model;
pub mod movers;
pub mod order;
pub mod parts;
pub mod passive;
pub mod property;
pub mod relation;
pub mod semantics;
pub mod sequential;
pub mod spec;
pub mod specified;
pub mod symbolic;
pub mod text;
pub mod wellformed;

pub use code::{Action, ActionId, Call, Code, Gate, LocId, Location, Mark, Spawn, Update, What};
pub use model::{
    Access, Assumption, Class, Copies, Fact, Origin, OriginId, Program, Rely, Scope, Start, Thread, ThreadId, Var,
    VarId, VarKind,
};
pub use property::{Property, PropertyId, PropertyKind};
pub use spec::{
    Edge, Machine, MachineId, Object, ObjectId, Operation, Performs, Place, ProcId, Procedure, Spec, SpecOp, State,
    TwoStore,
};
pub use wellformed::{Fault, wellformed};
