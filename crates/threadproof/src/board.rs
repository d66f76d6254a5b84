//! What is known so far, in one place that every thread can read: the report is made from here at any moment.
//!
//! In: rows for the properties of each file, findings (made only by `judge`, from verdicts of the checker), and what
//! became of each method. Out: the outcome of a row, of a file, of the run, and its exit code. A finding can be
//! weakened here ("safe" falls to "unknown" while a construct outside the model may be reached) and never
//! strengthened. Deliberately absent: printing.

use crate::judge::Finding;
use base::Span;
use program::{Program, PropertyId, PropertyKind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Safe,
    Unknown,
    Unsafe,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Safe => "safe",
            Outcome::Unsafe => "unsafe",
            Outcome::Unknown => "unknown",
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
    pub const INTERNAL: i32 = 70;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: usize,
    pub column: usize,
}

/// One property of one file.
#[derive(Clone, Debug)]
pub struct Row {
    pub id: PropertyId,
    pub name: String,
    pub kind: &'static str,
    pub text: String,
    pub place: Option<Place>,
    /// The construct outside the model, if the property is that it is not reached.
    pub unmodelled: Option<String>,
    pub finding: Option<Finding>,
    /// Why methods left it undecided, and claims that the checker turned down, in the order of the registry.
    pub reasons: Vec<(usize, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodState {
    Running,
    Refused(String),
    Answered,
    Stopped,
    Failed(String),
}

#[derive(Clone, Debug)]
pub struct MethodRow {
    pub name: &'static str,
    pub state: MethodState,
    pub statistics: evidence::Statistics,
    pub notes: Vec<String>,
    /// Drawings as SVG.
    pub pictures: Vec<String>,
}

/// One file of the run.
#[derive(Clone, Debug)]
pub struct FileRows {
    pub path: PathBuf,
    pub stage: Stage,
    /// Rendered diagnostics, warnings included.
    pub diagnostics: Vec<String>,
    pub assumptions: Vec<program::Assumption>,
    pub rows: Vec<Row>,
    pub methods: Vec<MethodRow>,
    /// Why work on this file ended before everything was decided.
    pub stopped: Option<String>,
    /// What must not happen and did.
    pub internal: Vec<String>,
    /// Evidence for what was found, certificates and traces.
    pub entries: Vec<evidence::file::Entry>,
    /// Whether some thread comes in any number.
    pub parametric: bool,
    /// The properties asked of a C program; empty for other input.
    pub asked: Vec<frontend::c::Check>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Waiting,
    Working,
    Rejected,
    Done,
}

impl FileRows {
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            stage: Stage::Waiting,
            diagnostics: Vec::new(),
            assumptions: Vec::new(),
            rows: Vec::new(),
            methods: Vec::new(),
            stopped: None,
            internal: Vec::new(),
            entries: Vec::new(),
            parametric: false,
            asked: Vec::new(),
        }
    }

    /// The row of a construct outside the model that nobody has proved unreachable.
    pub fn open_construct(&self) -> Option<&Row> {
        self.rows
            .iter()
            .find(|r| r.unmodelled.is_some() && r.finding.as_ref().is_none_or(|f| f.outcome() != Outcome::Safe))
    }

    pub fn outcome_of(&self, row: &Row) -> Outcome {
        match row.finding.as_ref().map(Finding::outcome) {
            Some(Outcome::Safe) if self.open_construct().is_some() => Outcome::Unknown,
            Some(Outcome::Unsafe) if row.unmodelled.is_some() => Outcome::Unknown,
            Some(outcome) => outcome,
            None => Outcome::Unknown,
        }
    }

    /// Rows the user asked about: constructs outside the model show up only while they are open.
    pub fn shown(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|r| r.unmodelled.is_none() || self.outcome_of(r) != Outcome::Safe)
    }

    pub fn count(&self, outcome: Outcome) -> usize {
        self.shown().filter(|r| self.outcome_of(r) == outcome).count()
    }

    pub fn outcome(&self) -> Outcome {
        if self.stage != Stage::Done || self.stopped.is_some() && self.rows.is_empty() {
            let seen = self.rows.iter().map(|r| self.outcome_of(r)).max();
            return seen.unwrap_or(Outcome::Unknown).max(Outcome::Unknown);
        }
        self.rows.iter().map(|r| self.outcome_of(r)).max().unwrap_or(Outcome::Safe)
    }

    /// The result string of verification tasks, for C input.
    pub fn result(&self) -> Option<String> {
        if self.asked.is_empty() || !self.internal.is_empty() {
            return None;
        }
        let broken = self
            .asked
            .iter()
            .find(|check| self.rows.iter().any(|r| r.name == check.name() && self.outcome_of(r) == Outcome::Unsafe));
        // A specification in a comment is a property of its own, and told by its name.
        let specification = self.rows.iter().find(|r| self.outcome_of(r) == Outcome::Unsafe);
        Some(match (broken, self.outcome()) {
            (Some(check), _) => frontend::c::task::result_word(*check, Some(false)),
            (None, Outcome::Unsafe) => format!("false({})", specification.map_or("specification", |r| r.name.as_str())),
            (None, Outcome::Safe) => frontend::c::task::result_word(self.asked[0], Some(true)),
            (None, _) => frontend::c::task::result_word(self.asked[0], None),
        })
    }

    fn exit_code(&self) -> i32 {
        if !self.internal.is_empty() {
            return exit::INTERNAL;
        }
        match (self.stage, self.outcome()) {
            (Stage::Rejected, _) => exit::REJECTED,
            (_, Outcome::Safe) => exit::SAFE,
            (_, Outcome::Unsafe) => exit::UNSAFE,
            (_, Outcome::Unknown) => exit::UNKNOWN,
        }
    }
}

/// The whole run.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub files: Vec<FileRows>,
    /// When the file at hand must be finished, whatever hangs.
    pub deadline: Option<Instant>,
}

impl Record {
    /// The gravest: an internal error, then a rejected input, then unsafe, then unknown.
    pub fn exit_code(&self) -> i32 {
        let rank = |code: i32| match code {
            exit::INTERNAL => 4,
            exit::REJECTED => 3,
            exit::UNSAFE => 2,
            exit::UNKNOWN => 1,
            _ => 0,
        };
        self.files.iter().map(FileRows::exit_code).max_by_key(|c| rank(*c)).unwrap_or(exit::SAFE)
    }

    /// Closes everything that is still open for one reason.
    pub fn stop_all(&mut self, reason: &str) {
        for file in self.files.iter_mut().filter(|f| matches!(f.stage, Stage::Waiting | Stage::Working)) {
            file.stopped.get_or_insert_with(|| reason.to_string());
            for method in file.methods.iter_mut().filter(|m| m.state == MethodState::Running) {
                method.state = MethodState::Stopped;
            }
        }
    }
}

#[derive(Debug, Default)]
pub struct Board(Mutex<Record>);

impl Board {
    pub fn new(paths: &[PathBuf]) -> Self {
        Self(Mutex::new(Record { files: paths.iter().cloned().map(FileRows::new).collect(), deadline: None }))
    }
    /// A thread that panicked while it held the lock left whole rows behind: each change is one assignment.
    pub fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
    pub fn with_file<T>(&self, file: usize, change: impl FnOnce(&mut FileRows) -> T) -> T {
        change(&mut self.lock().files[file])
    }
}

/// The rows of a program, one for each wanted property; constructs outside the model are always wanted.
pub fn rows(program: &Program, sources: &base::Sources, wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    program
        .properties
        .iter_enumerated()
        .filter(|(_, p)| wanted(&p.name) || matches!(p.kind, PropertyKind::Unmodelled(_)))
        .map(|(id, p)| {
            let origin = &program.origins[p.origin];
            Row {
                id,
                name: p.name.clone(),
                kind: kind_word(&p.kind),
                text: origin.text.clone(),
                place: origin.span.map(|span| place(sources, span)),
                unmodelled: match &p.kind {
                    PropertyKind::Unmodelled(what) => Some(what.clone()),
                    _ => None,
                },
                finding: None,
                reasons: Vec::new(),
            }
        })
        .collect()
}

pub fn place(sources: &base::Sources, span: Span) -> Place {
    let file = sources.file(span.file);
    let (line, column) = file.position(span.start);
    Place { file: file.name.clone(), line, column }
}

/// The stable word for a kind of property, as the JSON prints it.
pub fn kind_word(kind: &PropertyKind) -> &'static str {
    match kind {
        PropertyKind::Assertion => "assertion",
        PropertyKind::Division => "division",
        PropertyKind::Null => "null",
        PropertyKind::Freed => "freed",
        PropertyKind::Release => "release",
        PropertyKind::Bounds => "bounds",
        PropertyKind::Overflow => "overflow",
        PropertyKind::Invariant(_) => "invariant",
        PropertyKind::Rely(_) => "rely",
        PropertyKind::Access(_) => "access",
        PropertyKind::Requires(_) => "requires",
        PropertyKind::Ensures(_) => "ensures",
        PropertyKind::Performs(_) => "performs",
        PropertyKind::Follows(_) => "follows",
        PropertyKind::Linearizable(_) => "linearizable",
        PropertyKind::Race => "race",
        PropertyKind::Deadlock => "deadlock",
        PropertyKind::Leak => "leak",
        PropertyKind::Unmodelled(_) => "unmodelled",
    }
}
