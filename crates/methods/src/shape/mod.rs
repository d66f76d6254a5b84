//! Shape analysis with thread-quantified invariants (Thread Quantification): heaps and objects, any number of threads.
//!
//! In: an `object` with its `spec`, or threads over a heap. Out: claims with a closed set of views as evidence, or alarms.
//! `quantified` is the domain constructor; `view`, `heap`, `step`, `meet` and `domain` are canonical abstraction in packed form;
//! `types`, `expr`, `spec` and `build` read the program into a `model`; `points` guesses linearization points; `analysis` is one fixpoint after the other,
//! `decide` looks for a proof and for a history, `method` is the door.
//! `takes` is about cells that come back to one thread, and `free`; `names` about references that need no name.
//! Deliberately absent: atomic blocks with loops, spawn: programs with these are refused.

mod analysis;
#[cfg(test)]
mod boolean;
mod build;
mod certify;
mod decide;
pub(crate) mod domain;
pub(crate) mod eval;
mod expr;
mod heap;
mod leaks;
mod meet;
mod method;
pub(crate) mod model;
mod names;
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
mod words;

pub use method::Shape;
pub use words::in_words as views_in_words;

#[cfg(test)]
mod tests;
