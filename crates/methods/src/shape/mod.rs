//! Shape analysis with thread-quantified invariants (Thread Quantification): heaps and objects, any number of threads.
//!
//! In: an `object` with its `spec`, or threads over a heap. Out: claims with a closed set of views as evidence, or alarms.
//! `quantified` is the domain constructor; `view`, `heap`, `step`, `meet` and `domain` are canonical abstraction in packed form;
//! `types`, `expr`, `spec` and `build` read the program into a `model`; `points` guesses linearization points; `method` is the door.
//! `takes` is about cells that come back to one thread, and `free`.
//! Deliberately absent: atomic blocks with loops, spawn: programs with these are refused.

#[cfg(test)]
mod boolean;
mod build;
mod certify;
pub(crate) mod domain;
pub(crate) mod eval;
mod expr;
mod heap;
mod leaks;
mod meet;
mod method;
pub(crate) mod model;
pub mod picture;
mod points;
mod prune;
pub(crate) mod quantified;
mod spec;
mod spine;
mod start;
mod step;
mod takes;
mod types;
pub(crate) mod view;

pub use method::Shape;

#[cfg(test)]
mod tests;
