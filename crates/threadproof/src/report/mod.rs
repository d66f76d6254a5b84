//! Reports: text for people, JSON for programs. Both are made from the board alone.

pub mod columns;
pub mod json;
pub mod paint;
#[allow(dead_code)]
pub mod story;
pub mod text;

/// Said with every verdict.
pub const MEMORY_MODEL: &str = "sequential consistency";
