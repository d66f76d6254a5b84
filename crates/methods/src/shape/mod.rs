//! Shape analysis with thread-quantified invariants (Thread Quantification): heaps and objects, any number of threads.

pub mod domain;
pub mod eval;
pub mod expr;
pub mod heap;
pub mod meet;
pub mod model;
pub mod quantified;
pub mod spec;
pub mod step;
pub mod types;
pub mod view;

#[cfg(test)]
mod tests;
