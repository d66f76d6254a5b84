//! The library: one program in, a report out, without a process of its own.
//!
//! In: a path and `VerifyOptions`. Out: a `Report`, whatever happens: what cannot be read is `Outcome::Rejected` with its messages, work that does not
//! come back in time is left behind and what is open stays `Outcome::Unknown`. Deliberately absent: ending the process, and a limit on its memory
//! unless one is asked for.

use crate::board::{Board, FileRows, MethodStage, PropertyRow, RowOutcome, RunRecord, exit};
use crate::cli::{Checks, Command, CommandLine, SourceOptions, Verify, parse_check};
use crate::judge::FindingEvidence;
use crate::progress::Progress;
use crate::report::story::Detail;
use crate::report::{html, json, paint::Paint, text, undecided};
use crate::verifying::{VerifyRun, close_record};
use clap::Parser;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How far beyond its time work may go before it is left behind.
const GRACE_PERIOD: Duration = Duration::from_millis(300);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// How a program is verified. The default is what `threadproof verify FILE` does, but with a limit of one minute.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Time for the program.
    pub time: Duration,
    /// Memory of the whole process, in bytes; without it there is no limit.
    pub memory: Option<u64>,
    /// Worker threads that a method may use; by default one for each processor.
    pub workers: Option<u16>,
    /// Seed of everything that is random.
    pub seed: u64,
    /// Only these methods; none means every method that admits the program.
    pub methods: Vec<String>,
    /// Only these properties, by name or by the start of it, such as `assert`; none means all.
    pub properties: Vec<String>,
    /// Values of constants, by name.
    pub constants: Vec<(String, String)>,
    /// Numbers of instances, by thread.
    pub threads: Vec<(String, u32)>,
    /// What to show of a C or Java program, as `--check` takes it, such as `no-data-race` or `all`.
    pub checks: Vec<String>,
    /// Also ask that some thread can always move until all have ended.
    pub deadlock: bool,
    /// Also ask that no object is lost that was not freed.
    pub leaks: bool,
    /// Warnings make "safe" into "unknown": what is proved must not be proved about nothing.
    pub strict: bool,
    /// A folder in which what was found is kept for the next run.
    pub cache: Option<PathBuf>,
    /// Also keep what [`Report::html`] shows besides verdicts and runs: the source and the proof.
    pub page: bool,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            memory: None,
            workers: None,
            seed: 0,
            methods: Vec::new(),
            properties: Vec::new(),
            constants: Vec::new(),
            threads: Vec::new(),
            checks: Vec::new(),
            deadlock: false,
            leaks: false,
            strict: false,
            cache: None,
            page: false,
        }
    }
}

impl VerifyOptions {
    /// The request that the command line would make, or what is wrong with these options.
    fn request(&self, path: &Path) -> Result<Verify, String> {
        let mut words = vec!["threadproof".to_string(), "verify".to_string()];
        self.methods.iter().for_each(|m| words.extend(["--method".to_string(), m.clone()]));
        words.extend(["--".to_string(), "-".to_string()]);
        let parsed = CommandLine::try_parse_from(words).map_err(|e| e.to_string())?;
        let Command::Verify(mut request) = parsed.command else { return Err("error: no request".into()) };
        let checks: Result<Vec<Checks>, String> = self
            .checks
            .iter()
            .map(|c| parse_check(c).map_err(|wanted| format!("there is no check {c}: {wanted}")))
            .collect();
        request.reading = SourceOptions {
            set: self.constants.clone(),
            threads: self.threads.clone(),
            check: checks.map_err(|sentence| format!("error: {sentence}\n"))?,
            deadlock: self.deadlock,
            leaks: self.leaks,
            ..SourceOptions::default()
        };
        request.files = vec![path.to_path_buf()];
        request.property = self.properties.clone();
        request.strict = self.strict;
        request.cache = self.cache.clone();
        request.limits.time = self.time;
        request.limits.memory = self.memory;
        request.limits.workers = self.workers.map(|w| w.max(1));
        request.limits.seed = self.seed;
        Ok(*request)
    }
}

/// What is known of a property, or of a whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Proved for every interleaving, and checked.
    Safe,
    /// There is a run that goes wrong, and it was replayed.
    Unsafe,
    /// Not decided.
    Unknown,
    /// The program or the options were not accepted: nothing is known.
    Rejected,
    /// A fault of this library, or no solver: nothing may be concluded.
    Failed,
}

/// One property of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PropertyReport {
    /// Its name, such as `assert:12`.
    pub name: String,
    /// Its text in the source.
    pub text: String,
    pub file: Option<String>,
    pub line: Option<usize>,
    /// `Safe`, `Unsafe` or `Unknown`.
    pub outcome: Outcome,
    /// The method whose claim was checked.
    pub method: Option<String>,
    /// What the verdict rests on.
    pub trust: Option<String>,
    /// Why it is unsafe or unknown, in sentences.
    pub explanation: Vec<String>,
}

/// The answer to [`verify`](crate::verify). Printed, it is the report of the command line.
#[derive(Clone, Debug)]
pub struct Report {
    record: RunRecord,
}

impl Report {
    /// The verdict about the whole program: the gravest of its properties, or that nothing can be said.
    pub fn outcome(&self) -> Outcome {
        match self.record.exit_code() {
            exit::SAFE => Outcome::Safe,
            exit::UNSAFE => Outcome::Unsafe,
            exit::UNKNOWN => Outcome::Unknown,
            exit::REJECTED | exit::USAGE => Outcome::Rejected,
            _ => Outcome::Failed,
        }
    }

    pub fn is_safe(&self) -> bool {
        self.outcome() == Outcome::Safe
    }

    /// The properties in the order of the program; none where it was rejected.
    pub fn properties(&self) -> Vec<PropertyReport> {
        let of_file = |f: &FileRows| f.shown().map(|r| property_report(f, r)).collect::<Vec<_>>();
        self.record.files.iter().flat_map(of_file).collect()
    }

    /// Errors and warnings, each as the text that the command line prints.
    pub fn messages(&self) -> Vec<String> {
        self.record.files.iter().flat_map(|f| f.internal.iter().chain(&f.diagnostics).cloned()).collect()
    }

    /// What the verdicts take for granted, besides sequentially consistent memory.
    pub fn assumptions(&self) -> Vec<String> {
        self.record.files.iter().flat_map(|f| f.assumptions.iter().map(|a| a.text.clone())).collect()
    }

    /// The document that `docs/verdict.schema.json` describes.
    pub fn json(&self) -> String {
        json::json_report(&self.record)
    }

    /// One web page that needs nothing else; ask for [`VerifyOptions::page`] to have the source and the proof in it.
    pub fn html(&self) -> String {
        html::web_page(&self.record)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::text_report(&self.record, Paint::Plain, Detail::Brief))
    }
}

fn property_report(file: &FileRows, row: &PropertyRow) -> PropertyReport {
    let outcome = match file.outcome_of(row) {
        _ if !file.internal.is_empty() => Outcome::Failed,
        RowOutcome::Safe => Outcome::Safe,
        RowOutcome::Unsafe => Outcome::Unsafe,
        RowOutcome::Unknown => Outcome::Unknown,
    };
    let found = row.finding.as_ref();
    let explanation = match (outcome, &row.execution, found.map(|f| f.evidence())) {
        (Outcome::Unknown, ..) => vec![undecided::why(file, row)],
        (Outcome::Unsafe, Some(execution), _) => execution.shown.clone(),
        (Outcome::Unsafe, _, Some(FindingEvidence::Trace { shown, .. })) => shown.summary.clone(),
        _ => Vec::new(),
    };
    PropertyReport {
        name: row.name.clone(),
        text: row.text.clone(),
        file: row.place.as_ref().map(|p| p.file.clone()),
        line: row.place.as_ref().map(|p| p.line),
        outcome,
        method: found.map(|f| f.method().to_string()),
        trust: found.map(|f| f.trust().to_string()),
        explanation,
    }
}

/// Verifies the program at a path: a file in the modelling language, C or Java, or a folder that is one program or several.
pub fn verify_program(path: impl AsRef<Path>, options: &VerifyOptions) -> Report {
    let path = path.as_ref();
    if let Some(why) = z3_provider::missing_z3() {
        let mut record = rejected_record(path, Vec::new());
        record.files[0].internal.push(format!("the solver Z3 is missing: {why}"));
        return Report { record };
    }
    let request = match options.request(path) {
        Ok(request) => request,
        Err(message) => return Report { record: rejected_record(path, vec![message]) },
    };
    let mut work = match VerifyRun::prepare(request, options.memory, Progress::silent()) {
        Ok(work) => work,
        Err(refusal) => return Report { record: rejected_record(path, refusal.messages) },
    };
    work.with_page = options.page;
    let (board, budget) = (work.board.clone(), work.budget.clone());
    let Ok(thread) = work.start_thread() else {
        let mut record = board.lock().clone();
        close_record(&mut record, false);
        return Report { record };
    };
    while !thread.is_finished() {
        std::thread::sleep(POLL_INTERVAL);
        let late = board.lock().deadline.is_some_and(|d| Instant::now() > d + GRACE_PERIOD);
        if late {
            budget.cancel();
            return Report { record: left_behind(&board) };
        }
    }
    let ended = thread.join().is_ok();
    let mut record = board.lock().clone();
    close_record(&mut record, ended);
    Report { record }
}

/// The record of work that did not come back: a copy, which it cannot change any more.
fn left_behind(board: &Board) -> RunRecord {
    let mut record = board.lock().clone();
    record.stop_all("the time limit was reached");
    record.deadline = None;
    record
}

fn rejected_record(path: &Path, messages: Vec<String>) -> RunRecord {
    let mut file = FileRows::new(path.to_path_buf());
    file.stage = MethodStage::Rejected;
    file.diagnostics = messages;
    RunRecord { files: vec![file], ..RunRecord::default() }
}

/// Fails, with the whole report, unless the program at the path is safe.
///
/// # Panics
/// If it is anything but safe: unsafe, unknown, rejected.
#[track_caller]
pub fn assert_safe(path: impl AsRef<Path>) {
    assert_outcome(path.as_ref(), Outcome::Safe);
}

/// Fails, with the whole report, unless the program at the path is shown to go wrong.
///
/// # Panics
/// If it is anything but unsafe: safe, unknown, rejected.
#[track_caller]
pub fn assert_unsafe(path: impl AsRef<Path>) {
    assert_outcome(path.as_ref(), Outcome::Unsafe);
}

#[track_caller]
fn assert_outcome(path: &Path, wanted: Outcome) {
    let report = verify_program(path, &VerifyOptions::default());
    assert!(report.outcome() == wanted, "{} is {:?}, not {wanted:?}:\n{report}", path.display(), report.outcome());
}

/// A `#[test]` for each program: its name, `safe` or `unsafe`, and its path from the folder of the crate's `Cargo.toml`.
///
/// ```
/// threadproof::verified_programs! {
///     the_lock_excludes: safe "models/lock.tp";
///     the_first_design_was_wrong: unsafe "models/lock_first.tp";
/// }
/// ```
#[macro_export]
macro_rules! verified_programs {
    (@assert safe $path:ident) => { $crate::assert_safe($path) };
    (@assert unsafe $path:ident) => { $crate::assert_unsafe($path) };
    ($($name:ident: $wanted:ident $path:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let path = concat!(env!("CARGO_MANIFEST_DIR"), "/", $path);
                $crate::verified_programs!(@assert $wanted path);
            }
        )*
    };
}
