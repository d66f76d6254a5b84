//! SMT and Horn back ends: the only crate that knows z3, cvc5 and SMT-LIB.
//!
//! In: interned terms of `logic`. Out: answers, models, cores, Horn solutions, and text.

mod answer;
mod closed;
mod encode;
mod horn;
mod identity;
mod opinion;
mod pipe;
mod piped;
mod sexpr;
pub mod smtlib;
pub mod version;
mod watchdog;
mod z3;

pub use answer::{Backend, Satisfiability, Smt, SolverSettings, UnknownReason};
pub use horn::{Atom, Horn, HornAnswer, HornClause, Relation};
pub use identity::named_cvc5;
pub use opinion::{AnsweredBy, SecondOpinion, Validity};
pub use pipe::end_solver_processes;
pub use piped::PipeSolver;
pub use z3::context::limit_memory;
pub use z3::session::{Z3, Z3InProcess};

#[cfg(test)]
mod differential;
#[cfg(test)]
mod random;
