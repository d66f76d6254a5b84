//! For tests alone: random programs, random source text, shrinking, the corpus reader, solvers that fail.
//!
//! Nothing here is part of the tool; other crates use it as a dev-dependency.

pub mod agreement;
pub mod corpus;
pub mod document;
pub mod heap;
pub mod interpreter;
pub mod oracle;
pub mod random;
pub mod scale;
pub mod shrink;
pub mod small;
pub mod solvers;
pub mod source;
