//! The core language, its interpreter and its library table: a reference semantics for source languages with threads.
//!
//! In: a `Module`, made by a front end (C today). Out: executions, each with how it ended. The core knows
//! places, objects, accesses with their kind, calls and threads; nothing of C, and nothing of the model that methods
//! prove things about. That is its point: what the model says about a source program is compared with what the
//! interpreter sees, and the two share no code below the typed tree. Decision 115 says why.

pub mod campaign;
pub mod interpreter;
pub mod library;
mod module;
mod operator;
mod outside;
pub mod replay;
pub mod text;
mod value;

pub use campaign::Campaign;
pub use interpreter::{Execution, ExecutionEnd, ExecutionLimits, RunOptions, Violation, ViolationKind};
pub use module::*;
pub use value::{CoreValue, FloatWidth, IntType, Provenance, ScalarType, Signedness};
