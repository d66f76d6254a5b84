//! What is known so far, in one place that every thread can read: the report is made from here at any moment.
//!
//! In: rows for the properties of each file, findings (made only by `judge`, from verdicts of the checker), and what
//! became of each method. Out: the outcome of a row, of a file, of the run, and its exit code. A finding can be
//! weakened here ("safe" falls to "unknown" while a construct outside the model may be reached) and never
//! strengthened. Deliberately absent: printing.

use crate::baseline::{Baseline, FindingKey};
use crate::judge::Finding;
pub use crate::outcome::{RowOutcome, RowWarning, exit};
use crate::outcome::{ViolatingExecution, quoted};
use crate::place::{Place, place_of};
use crate::report::html::annotate::PageParts;
use crate::strategy::race::Rank;
use evidence::file::EvidenceEntry;
use program::{Program, PropertyId, PropertyKind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// One property of one file.
#[derive(Clone, Debug)]
pub struct PropertyRow {
    pub id: PropertyId,
    pub name: String,
    pub kind: &'static str,
    pub text: String,
    pub place: Option<Place>,
    /// The construct outside the model, if the property is that it is not reached.
    pub unmodelled: Option<String>,
    /// The best of the candidates; none where they contradict each other.
    pub finding: Option<Finding>,
    /// An execution of the C program that violates it, made twice by the reference interpreter.
    pub execution: Option<ViolatingExecution>,
    /// For C: whether the run of the model was made again at the level of C.
    pub replay: Option<SourceReplay>,
    /// What was found by each method, checked.
    pub candidates: Vec<CheckedAnswer>,
    /// Whether two methods contradicted each other about it.
    pub disputed: bool,
    /// What an independent search of limited size says besides a proof.
    pub second: Option<CrossExamination>,
    /// Why methods left it undecided, and claims that the checker turned down, in the order of the registry.
    pub reasons: Vec<(usize, String)>,
}

/// An answer of one method that the checker accepted.
#[derive(Clone, Debug)]
pub struct CheckedAnswer {
    pub rank: Rank,
    pub method: usize,
    pub finding: Finding,
    /// Its evidence, as a place in `FileRows::evidence`.
    pub entry: Option<usize>,
    /// What the method said with it.
    pub statistics: evidence::Statistics,
    pub notes: Vec<String>,
}

/// Whether a run of the model was seen at the level of C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceReplay {
    /// An execution of the C program violates the property as well.
    Seen {
        sentence: String,
        seed: u64,
    },
    NotSeen {
        why: String,
    },
}

impl std::fmt::Display for SourceReplay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceReplay::Seen { sentence, seed } => {
                write!(f, "replayed at the level of C by the interpreter (seed {seed}): {sentence}")
            }
            SourceReplay::NotSeen { why } => write!(f, "not replayed at the level of C: {why}"),
        }
    }
}

/// A search of limited size that was asked about a property that others proved, and found nothing against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossExamination {
    /// How many instances of each thread of any number were searched wholly; `None` where the program fixes all numbers.
    pub instances: Option<u64>,
    pub states: u64,
    pub extent: SearchExtent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchExtent {
    /// Every state of these instances.
    Whole,
    /// Only some states.
    Part,
    /// Some states, without the reductions that the first search used.
    PartUnreduced,
    /// Every state, without the reductions that the first search used.
    WholeUnreduced,
    /// A file without threads: every run of few callers that make few calls.
    Callers,
    /// The same, only some states.
    CallersPart,
    /// Every history of few clients of an object; `states` counts the clients.
    Histories,
    /// The time limit left no time for it.
    Cut,
}

impl CrossExamination {
    /// How many states were seen, where that is the same in every run: how far a search comes that is cut depends on the workers.
    pub fn reproducible_states(&self) -> Option<u64> {
        use SearchExtent::{Callers, Histories, Whole, WholeUnreduced};
        matches!(self.extent, Whole | WholeUnreduced | Callers | Histories).then_some(self.states)
    }
}

impl std::fmt::Display for CrossExamination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let states = super::report::counted(self.states, "state");
        match (self.extent, self.instances) {
            (SearchExtent::Cut, _) => write!(f, "the limits left no room for a second search"),
            (SearchExtent::PartUnreduced, _) => {
                write!(f, "also searched in part without reductions, which found no violation")
            }
            (SearchExtent::WholeUnreduced, _) => {
                write!(f, "also searched wholly without reductions ({states}), which found no violation")
            }
            (SearchExtent::Callers, _) => {
                write!(f, "also searched with two callers of two calls each ({states}), which found no violation")
            }
            (SearchExtent::CallersPart, _) => {
                write!(f, "also searched in part with two callers of two calls each, which found no violation")
            }
            (SearchExtent::Histories, _) => {
                let tried = super::report::counted(self.states, "client program");
                write!(f, "also searched with two clients of up to three calls ({tried}), which found no violation")
            }
            (SearchExtent::Whole, Some(n)) => {
                let n = super::report::counted(n, "instance");
                write!(f, "also searched with {n} of each thread ({states}), which found no violation")
            }
            (SearchExtent::Whole, None) => write!(f, "also searched wholly ({states}), which found no violation"),
            (SearchExtent::Part, Some(n)) if n > 0 => {
                let n = super::report::counted(n, "instance");
                write!(f, "also searched with {n} of each thread, and with more in part; no violation was found")
            }
            (SearchExtent::Part, _) => write!(f, "also searched in part, which found no violation"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodState {
    Running,
    Refused(String),
    Answered,
    /// Everything was decided without it.
    NotNeeded,
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

/// Options as they are typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// How the file is read: for every command.
    pub reading: String,
    /// What is verified and how: for `verify`, besides the first.
    pub verifying: String,
    /// Options with a value that a command may replace, such as the limits.
    pub replaceable: Vec<(&'static str, String)>,
    /// A time limit that is well above the present one.
    pub more_time: String,
}

impl Given {
    /// The command that verifies the file again with the same options and these; one with an empty value is a flag.
    pub fn verify(&self, path: &std::path::Path, more: &[(&str, &str)]) -> String {
        let mut out = format!("threadproof verify {}", quoted(&path.display().to_string()));
        out.push_str(&self.reading);
        out.push_str(&self.verifying);
        let kept = self.replaceable.iter().filter(|(flag, _)| more.iter().all(|(new, _)| new != flag));
        for (flag, value) in kept.map(|(f, v)| (*f, v.as_str())).chain(more.iter().copied()) {
            let value = if value.is_empty() { String::new() } else { format!(" {value}") };
            out.push_str(&format!(" {flag}{value}"));
        }
        out
    }
}

/// One file of the run.
#[derive(Clone, Debug)]
pub struct FileRows {
    pub path: PathBuf,
    pub stage: MethodStage,
    /// Rendered diagnostics, warnings included.
    pub diagnostics: Vec<String>,
    pub warnings: Vec<RowWarning>,
    /// What a reader might think was checked and was not, in a few words each.
    pub not_checked: Vec<String>,
    /// The options that the user gave, for commands that are advised.
    pub given: Given,
    pub assumptions: Vec<program::Assumption>,
    pub rows: Vec<PropertyRow>,
    pub methods: Vec<MethodRow>,
    /// Why work on this file ended before everything was decided.
    pub stopped: Option<String>,
    /// What must not happen and did.
    pub internal: Vec<String>,
    /// Evidence of all candidates, certificates and traces; `entries` are those of what is reported.
    pub evidence: Vec<EvidenceEntry>,
    /// Pairs of evidence that contradict each other.
    pub contradictions: Vec<(Option<usize>, Option<usize>)>,
    /// The first thread that comes in any number.
    pub parametric: Option<String>,
    /// What is reported is decided: methods that have not stopped yet change nothing any more.
    pub concluded: bool,
    /// Further constructs of a C program that are outside the model, where one stands in the way.
    pub obstacles: Vec<(crate::place::Place, String)>,
    /// Lines of a C program that no execution reached.
    pub coverage: Option<crate::coverage::Coverage>,
    /// The properties asked of a C program; empty for other input.
    pub asked: Vec<frontend::c::CCheck>,
    /// What a page about the file shows besides, where one is asked for.
    pub page: Option<std::sync::Arc<PageParts>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodStage {
    Waiting,
    Working,
    Rejected,
    Done,
}

impl FileRows {
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            stage: MethodStage::Waiting,
            diagnostics: Vec::new(),
            warnings: Vec::new(),
            not_checked: Vec::new(),
            given: Given::default(),
            assumptions: Vec::new(),
            rows: Vec::new(),
            methods: Vec::new(),
            stopped: None,
            internal: Vec::new(),
            evidence: Vec::new(),
            contradictions: Vec::new(),
            parametric: None,
            concluded: false,
            obstacles: Vec::new(),
            coverage: None,
            asked: Vec::new(),
            page: None,
        }
    }

    /// The candidate that is reported for a row.
    pub fn chosen<'a>(&self, row: &'a PropertyRow) -> Option<&'a CheckedAnswer> {
        row.finding.as_ref()?;
        row.candidates.iter().min_by_key(|c| c.rank)
    }

    /// The evidence of what is reported, in the order of the rows.
    pub fn entries(&self) -> Vec<EvidenceEntry> {
        let mut places: Vec<usize> = Vec::new();
        for place in self.rows.iter().filter_map(|r| self.chosen(r)?.entry) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places.into_iter().map(|place| self.evidence[place].clone()).collect()
    }

    /// The row of a construct outside the model that is not proved unreachable.
    pub fn open_construct(&self) -> Option<&PropertyRow> {
        self.rows
            .iter()
            .find(|r| r.unmodelled.is_some() && r.finding.as_ref().is_none_or(|f| f.outcome() != RowOutcome::Safe))
    }

    pub fn outcome_of(&self, row: &PropertyRow) -> RowOutcome {
        if row.execution.is_some() && row.unmodelled.is_none() {
            return RowOutcome::Unsafe;
        }
        match row.finding.as_ref().map(Finding::outcome) {
            Some(RowOutcome::Safe) if self.open_construct().is_some() => RowOutcome::Unknown,
            Some(RowOutcome::Unsafe) if row.unmodelled.is_some() => RowOutcome::Unknown,
            Some(outcome) => outcome,
            None => RowOutcome::Unknown,
        }
    }

    /// Rows the user asked about: constructs outside the model show up only while they are open.
    pub fn shown(&self) -> impl Iterator<Item = &PropertyRow> {
        self.rows.iter().filter(|r| r.unmodelled.is_none() || self.outcome_of(r) != RowOutcome::Safe)
    }

    pub fn count(&self, outcome: RowOutcome) -> usize {
        self.shown().filter(|r| self.outcome_of(r) == outcome).count()
    }

    pub fn outcome(&self) -> RowOutcome {
        if self.stage != MethodStage::Done || self.stopped.is_some() && self.rows.is_empty() {
            let seen = self.rows.iter().map(|r| self.outcome_of(r)).max();
            return seen.unwrap_or(RowOutcome::Unknown).max(RowOutcome::Unknown);
        }
        self.rows.iter().map(|r| self.outcome_of(r)).max().unwrap_or(RowOutcome::Safe)
    }

    /// The result string of verification tasks, for C input.
    pub fn result(&self) -> Option<String> {
        if self.asked.is_empty() || !self.internal.is_empty() {
            return None;
        }
        let broken = self
            .asked
            .iter()
            .find(|check| self.rows.iter().any(|r| check.owns(&r.name) && self.outcome_of(r) == RowOutcome::Unsafe));
        // A specification in a comment is a property of its own, and reported by its name.
        let specification = self.rows.iter().find(|r| self.outcome_of(r) == RowOutcome::Unsafe);
        Some(match (broken, self.outcome()) {
            (Some(check), _) => frontend::c::task::result_word(*check, Some(false)),
            (None, RowOutcome::Unsafe) => {
                format!("false({})", specification.map_or("specification", |r| r.name.as_str()))
            }
            (None, RowOutcome::Safe) => frontend::c::task::result_word(self.asked[0], Some(true)),
            (None, _) => frontend::c::task::result_word(self.asked[0], None),
        })
    }

    /// What a row is known by after an edit.
    pub fn finding_key(&self, row: &PropertyRow) -> FindingKey {
        let text = |r: &PropertyRow| if r.text.is_empty() { r.name.clone() } else { r.text.clone() };
        let same = |r: &&PropertyRow| r.kind == row.kind && text(r) == text(row);
        let occurrence = self.shown().filter(same).position(|r| r.id == row.id).map_or(1, |at| at + 1);
        FindingKey {
            file: self.path.display().to_string(),
            kind: row.kind.to_string(),
            text: text(row),
            occurrence,
            verdict: self.outcome_of(row).word().to_string(),
        }
    }

    /// The gravest verdict that counts: where there is a baseline, of what is not in it.
    fn counted_outcome(&self, known: Option<&Baseline>) -> RowOutcome {
        let Some(known) = known.filter(|_| self.stage == MethodStage::Done && !self.rows.is_empty()) else {
            return self.outcome();
        };
        let new = self.shown().filter(|r| !known.knows(&self.finding_key(r)));
        new.map(|r| self.outcome_of(r)).max().unwrap_or(RowOutcome::Safe)
    }

    fn exit_code(&self, known: Option<&Baseline>) -> i32 {
        if !self.internal.is_empty() {
            return exit::INTERNAL;
        }
        match (self.stage, self.counted_outcome(known)) {
            (MethodStage::Rejected, _) => exit::REJECTED,
            (_, RowOutcome::Safe) => exit::SAFE,
            (_, RowOutcome::Unsafe) => exit::UNSAFE,
            (_, RowOutcome::Unknown) => exit::UNKNOWN,
        }
    }
}

/// The whole run.
#[derive(Clone, Debug, Default)]
pub struct RunRecord {
    pub files: Vec<FileRows>,
    /// When the file at hand must be finished, whatever hangs.
    pub deadline: Option<Instant>,
    /// Whether warnings count as "not decided".
    pub strict: bool,
    /// Findings that do not make the run fail.
    pub baseline: Option<std::sync::Arc<Baseline>>,
}

impl RunRecord {
    /// The gravest: an internal error, then a rejected input, then unsafe, then unknown.
    pub fn exit_code(&self) -> i32 {
        let warned = self.strict && self.files.iter().any(|f| !f.warnings.is_empty());
        match self.plain_exit_code() {
            exit::SAFE if warned => exit::UNKNOWN,
            code => code,
        }
    }

    fn plain_exit_code(&self) -> i32 {
        gravest_code(self.files.iter().map(|f| f.exit_code(self.baseline.as_deref())))
    }

    /// Closes everything that is still open for one reason.
    pub fn stop_all(&mut self, reason: &str) {
        for file in self.files.iter_mut().filter(|f| matches!(f.stage, MethodStage::Waiting | MethodStage::Working)) {
            file.stopped.get_or_insert_with(|| reason.to_string());
            for method in file.methods.iter_mut().filter(|m| m.state == MethodState::Running) {
                method.state = MethodState::Stopped;
            }
        }
    }
}

/// Of the exit codes of several files, that of the run.
pub fn gravest_code(codes: impl Iterator<Item = i32>) -> i32 {
    let rank = |code: &i32| match *code {
        exit::INTERNAL => 5,
        exit::USAGE => 4,
        exit::REJECTED => 3,
        exit::UNSAFE => 2,
        exit::UNKNOWN => 1,
        _ => 0,
    };
    codes.max_by_key(rank).unwrap_or(exit::SAFE)
}

#[derive(Debug, Default)]
pub struct Board(Mutex<RunRecord>);

impl Board {
    pub fn new(paths: &[PathBuf]) -> Self {
        Self(Mutex::new(RunRecord {
            files: paths.iter().cloned().map(FileRows::new).collect(),
            ..RunRecord::default()
        }))
    }
    /// A thread that panicked while it held the lock left whole rows behind: each change is one assignment.
    pub fn lock(&self) -> MutexGuard<'_, RunRecord> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
    pub fn with_file<T>(&self, file: usize, change: impl FnOnce(&mut FileRows) -> T) -> T {
        change(&mut self.lock().files[file])
    }
}

/// The rows of a program, one for each wanted property; constructs outside the model are always wanted.
pub fn rows(program: &Program, sources: &base::Sources, wanted: &dyn Fn(&str) -> bool) -> Vec<PropertyRow> {
    program
        .properties
        .iter_enumerated()
        .filter(|(_, p)| wanted(&p.name) || matches!(p.kind, PropertyKind::Unmodelled(_)))
        .map(|(id, p)| {
            let origin = &program.origins[p.origin];
            PropertyRow {
                id,
                name: p.name.clone(),
                kind: kind_word(&p.kind),
                text: origin.text.clone(),
                place: origin.span.map(|span| place_of(sources, span)),
                unmodelled: match &p.kind {
                    PropertyKind::Unmodelled(what) => Some(what.clone()),
                    _ => None,
                },
                finding: None,
                execution: None,
                replay: None,
                candidates: Vec::new(),
                disputed: false,
                second: None,
                reasons: Vec::new(),
            }
        })
        .collect()
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
