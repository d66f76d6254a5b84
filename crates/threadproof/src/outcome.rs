//! The words that all parts of the binary share: outcomes, exit codes, warnings, executions that violate a property.
//!
//! In: nothing; these are the types. Out: what `judge`, `load` and `second_opinion` make, `board` keeps and `report` shows.
//! Deliberately absent: anything that uses another part of the binary but places and stories, so that every part may use this one.

use crate::place::Place;
use crate::report::story::Story;
use frontend::c::CCheck;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowOutcome {
    Safe,
    Unknown,
    Unsafe,
}

impl RowOutcome {
    pub fn word(self) -> &'static str {
        match self {
            RowOutcome::Safe => "safe",
            RowOutcome::Unsafe => "unsafe",
            RowOutcome::Unknown => "unknown",
        }
    }
}

pub mod exit {
    //! The exit codes that scripts rely on.
    pub const SAFE: i32 = 0;
    pub const UNSAFE: i32 = 1;
    pub const UNKNOWN: i32 = 2;
    pub const USAGE: i32 = 64;
    pub const REJECTED: i32 = 65;
    /// A process of a search by several was lost, or they did not find each other.
    pub const LOST: i32 = 69;
    pub const INTERNAL: i32 = 70;
    pub const OUTPUT_LOST: i32 = 74;
}

/// A warning about the input, or about what a verdict means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWarning {
    pub code: String,
    pub message: String,
    pub place: Option<Place>,
}

/// An execution that violates a property, ready to be shown.
#[derive(Clone, Debug)]
pub struct ViolatingExecution {
    pub check: CCheck,
    /// Where it goes wrong.
    pub place: Option<Place>,
    /// One sentence: what, where, which thread.
    pub sentence: String,
    /// The run, one line for each step.
    pub shown: Vec<String>,
    /// The same as data.
    pub story: Story,
    pub steps: usize,
    pub seed: u64,
    /// What the run takes for granted of the world outside.
    pub assumptions: Vec<String>,
}

/// A word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
