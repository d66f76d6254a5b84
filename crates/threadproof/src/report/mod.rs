//! Reports: text for people, JSON for programs. Both are made from the board alone.

pub mod heap;
pub mod json;
pub mod local;
pub mod paint;
pub mod story;
pub mod stray;
pub mod text;
pub mod witness;

/// Said with every verdict.
pub const MEMORY_MODEL: &str = "sequential consistency";

/// The width of the terminal, or what fits a page.
pub fn width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|c| (60..=300).contains(c)).unwrap_or(110)
}
