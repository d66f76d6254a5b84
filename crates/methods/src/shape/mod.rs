//! Shape analysis with thread-quantified invariants (Thread Quantification): heaps and objects, any number of threads.
//!
//! In: an `object` with its `spec`, or threads over a heap. Out: claims with a closed set of views as evidence, or alarms.
//! `quantified` is the domain constructor; `view`, `heap`, `step`, `meet` and `domain` are canonical abstraction in packed form;
//! `types`, `expr`, `spec` and `build` read the program into a `model`; `points` guesses linearization points; `method` is the door.
//! `takes` is about cells that come back to one thread, and `free`.
//! Deliberately absent: atomic blocks with loops, spawn: programs with these are refused.

pub mod boolean;
mod build;
mod certify;
pub mod domain;
pub mod eval;
mod expr;
mod heap;
mod leaks;
mod meet;
mod method;
pub mod model;
pub mod picture;
mod points;
mod prune;
pub mod quantified;
mod spec;
mod spine;
mod start;
mod step;
mod takes;
mod types;
pub mod view;

pub use certify::views as certify_views;
pub use method::{Analysis, Shape, attempt, describe_alarm, search_fixpoint, tries};
pub use model::LockPrecision;

#[cfg(test)]
mod tests;
