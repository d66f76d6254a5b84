//! Sorts, hash-consed terms, substitution, evaluation, printing and the one simplifier.
//!
//! A term belongs to one `Terms` table and is a `Copy` id into it. Nothing here knows programs or solvers; the
//! total meaning of partial operations (division by zero, an index out of a sequence) is fixed in `eval` and is the
//! meaning every encoding must give.

mod build;
pub mod eval;
mod print;
mod simplify;
mod sort;
pub mod subst;
pub mod term;
pub mod value;
mod walk;

pub use eval::{Env, EvalError, ReadPlace, eval_term};
pub use sort::{ClassId, EnumId, MachineIntSort, Sort, SortKind};
pub use term::{Node, Op, Quantifier, Symbol, Term, Terms};
pub use value::Value;
