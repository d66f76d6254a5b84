//! A run for a reader, as data: who ran, what each step did and changed, which steps matter.
//!
//! In: what `replayed` makes of a trace. Out: a `Story`, which `layout` prints as text and the other reports in their own way. Deliberately absent:
//! anything about how the run was found.

use super::heap::HeapPicture;
use crate::place::Place;

/// A run as it is shown.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// What went wrong, in one or two sentences.
    pub summary: Vec<String>,
    /// Titles of the columns, one for each instance that ever runs.
    pub columns: Vec<String>,
    /// The initial values.
    pub start: Vec<StartValue>,
    pub events: Vec<StoryStep>,
    /// What is wrong at the end.
    pub end: Vec<String>,
}

/// A value before the first step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartValue {
    pub name: String,
    pub value: String,
    pub matters: Relevance,
}

impl std::fmt::Display for StartValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.name, self.value)
    }
}

/// Whether something has a part in the violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Relevance {
    #[default]
    Matters,
    Aside,
}

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Detail {
    /// Only what matters.
    #[default]
    Brief,
    Full,
}

impl Detail {
    pub fn shows(self, matters: Relevance) -> bool {
        self == Detail::Full || matters == Relevance::Matters
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryStep {
    pub instance: usize,
    /// Where the statement stands.
    pub at: Option<Place>,
    /// `file:line` with the file's own name, or empty.
    pub place: String,
    /// The statement.
    pub text: String,
    pub changes: Vec<(StepChange, Relevance)>,
    /// The heap before and after the step, where it is another one.
    pub heap: Option<(HeapPicture, HeapPicture)>,
    pub matters: Relevance,
}

/// What a step did to one variable, or besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepChange {
    /// `x: 0 -> 1`.
    Value { name: String, before: String, after: String },
    /// A value that was open is decided just before the step.
    Decided { name: String, value: String },
    /// A value that the step reads on its way.
    Reads { name: String, value: String },
    /// Anything else, in plain English.
    Note(String),
}

impl std::fmt::Display for StepChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // A variable that had no value yet.
            StepChange::Value { name, before, after } if before == "?" => write!(f, "{name} = {after}"),
            StepChange::Value { name, before, after } => write!(f, "{name}: {before} -> {after}"),
            StepChange::Decided { name, value } => write!(f, "{name} was {value}"),
            StepChange::Reads { name, value } => write!(f, "reads {name} = {value}"),
            StepChange::Note(text) => f.write_str(text),
        }
    }
}

impl StoryStep {
    /// The changes as they are listed.
    pub fn changes(&self, detail: Detail) -> String {
        let mut reads = false;
        let mut out: Vec<String> = Vec::new();
        for (change, _) in self.changes.iter().filter(|(_, matters)| detail.shows(*matters)) {
            match change {
                // The word once for all that is read.
                StepChange::Reads { name, value } if reads => out.push(format!("{name} = {value}")),
                _ => out.push(change.to_string()),
            }
            reads |= matches!(change, StepChange::Reads { .. });
        }
        out.join(", ")
    }
}

impl Story {
    /// For runs of which the end alone does not say what is wrong.
    pub fn everything_matters(&mut self) {
        self.start.iter_mut().for_each(|v| v.matters = Relevance::Matters);
        for event in &mut self.events {
            event.matters = Relevance::Matters;
            event.changes.iter_mut().for_each(|(_, matters)| *matters = Relevance::Matters);
        }
    }

    /// Steps that have no part in the violation.
    pub fn aside(&self) -> usize {
        self.events.iter().filter(|e| e.matters == Relevance::Aside).count()
    }
}
