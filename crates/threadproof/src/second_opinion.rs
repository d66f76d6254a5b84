//! The second opinion about C programs: executions by the reference interpreter, beside the methods.
//!
//! In: the C text and what was asked of it. Out: confirmed executions that violate a property, and lines that no execution reached. They run in a thread of their own
//! while the methods work: at least `LEAST_RUNS` (or `LEAST_TIME`), then on until the methods are done or a share of the time is spent; longer where they leave something open. What they mean
//! for a verdict: a violating execution withdraws "safe" (exit code 70), and makes "unknown" "unsafe"; a property that is unsafe has its run already.
//! An execution counts only if the interpreter has made it twice from its seed. Deliberately absent: any conclusion from executions that
//! go well.

use crate::board::FileRows;
use crate::coverage::{Coverage, assertion_sites};
use crate::load::AskedOfC;
pub use crate::outcome::ViolatingExecution;
use crate::outcome::{RowOutcome, RowWarning};
use crate::place::{Place, place_of};
use crate::report::story::{Relevance, Story, StoryStep};
use base::{Sources, Span};
use core_lang::campaign::FoundViolation;
use core_lang::interpreter::RecordedStep;
use core_lang::{Campaign, Execution, ExecutionLimits, Module, RunOptions};
use frontend::c::CCheck;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A program gets so many runs, however soon the methods are done.
const LEAST_RUNS: u32 = 60;
/// But not for longer than this.
const LEAST_TIME: Duration = Duration::from_secs(2);
/// Where the methods are done and have left something open, there are more runs: so many, for at most this time.
const UNDECIDED_RUNS: u32 = 1_000;
const UNDECIDED_TIME: Duration = Duration::from_secs(10);
/// Steps that are shown of a long run: the last ones.
const SHOWN_STEPS: usize = 40;
const MAX_INSTRUCTIONS: u64 = 1_000_000;
/// The code of the warning that no execution has a second thread.
const ONE_THREAD: &str = "W0513";
/// The code of the warning that no execution gets to an assertion.
const NOT_REACHED: &str = "W0514";

/// A C program as the interpreter takes it.
pub struct CoreProgram {
    pub module: Module,
    pub sources: Sources,
}

/// The program in the core language; `None` where the front end rejects it, which is reported elsewhere.
pub fn core_program(c: &AskedOfC) -> Option<CoreProgram> {
    let mut sources = Sources::new();
    let parsed = frontend::c::parse_files(&mut sources, &c.files, c.model).ok()?;
    if parsed.diagnostics.iter().any(base::Diagnostic::is_error) {
        return None;
    }
    let module = frontend::c::core::lower_to_core(&parsed.unit);
    Some(CoreProgram { module, sources })
}

/// What the executions saw.
#[derive(Clone, Debug, Default)]
pub struct Opinion {
    pub violations: Vec<ViolatingExecution>,
    pub runs: u32,
    /// Lines that none of the first `LEAST_RUNS` reached, if so many were made.
    pub coverage: Option<Coverage>,
    /// Why what is said about threads may say nothing.
    pub vacuous: Option<String>,
}

/// Executions under way.
pub struct Executing {
    stop: Arc<AtomicBool>,
    /// The methods are done and have left something open.
    undecided: Arc<AtomicBool>,
    handle: Option<JoinHandle<Opinion>>,
}

impl Executing {
    /// Starts executions of a program in a thread of their own, for at most this time.
    pub fn start(c: &AskedOfC, seed: u64, time: Duration) -> Executing {
        let stop = Arc::new(AtomicBool::new(false));
        let undecided = Arc::new(AtomicBool::new(false));
        let (c, stopped, open) = (c.clone(), stop.clone(), undecided.clone());
        let work = move || match core_program(&c) {
            Some(program) => execute(&program, &c, seed, time, [&stopped, &open]),
            None => Opinion::default(),
        };
        let handle = std::thread::Builder::new().name("executions".into()).stack_size(64 << 20).spawn(work).ok();
        Executing { stop, undecided, handle }
    }

    /// Ends the executions, at once or after some more where something is open, and says what they saw. A panic in them is no opinion.
    pub fn finish(mut self, undecided: bool) -> Opinion {
        self.undecided.store(undecided, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
        self.handle.take().and_then(|h| h.join().ok()).unwrap_or_default()
    }
}

impl Drop for Executing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn execute(program: &CoreProgram, c: &AskedOfC, seed: u64, time: Duration, done: [&AtomicBool; 2]) -> Opinion {
    let [stop, undecided] = done;
    let start = Instant::now();
    let mut opinion = Opinion::default();
    let mut open: Vec<CCheck> = c.checks.to_vec();
    let mut assertions = assertion_sites(&program.module);
    let mut known_places = Vec::new();
    let mut covered: Vec<Vec<bool>> = program.module.functions.iter().map(|f| vec![false; f.code.len()]).collect();
    let (mut round, mut threads, mut stopped) = (0u64, 0, 0);
    while !open.is_empty() {
        let (least, longest) = match undecided.load(Ordering::Relaxed) {
            true => (UNDECIDED_RUNS, UNDECIDED_TIME.min(time).max(LEAST_TIME)),
            false => (LEAST_RUNS, LEAST_TIME),
        };
        let enough = opinion.runs >= least || start.elapsed() >= longest;
        if enough && (stop.load(Ordering::Relaxed) || start.elapsed() >= time) {
            break;
        }
        let campaign = Campaign {
            seed: seed.wrapping_add(round.wrapping_mul(0x9e37_79b9)),
            wanted: open.iter().flat_map(|c| frontend::c::core::violations_of(*c)).collect(),
            runs: 20,
            time: LEAST_TIME,
            known_places: known_places.clone(),
            limits: ExecutionLimits { instructions: MAX_INSTRUCTIONS, ..ExecutionLimits::default() },
            arguments: Vec::new(),
            input: Vec::new(),
        };
        let report = campaign.run(&program.module);
        if opinion.runs < LEAST_RUNS {
            let both = covered.iter_mut().flatten().zip(report.covered.iter().flatten());
            both.for_each(|(all, seen)| *all |= *seen);
        }
        opinion.runs += report.runs;
        if opinion.coverage.is_none() && opinion.runs >= LEAST_RUNS {
            let files: Vec<String> = c.files.iter().map(|f| f.path.display().to_string()).collect();
            opinion.coverage =
                Some(Coverage::of_executions(&program.module, &program.sources, &covered, &files, opinion.runs));
        }
        threads = threads.max(report.most_threads);
        stopped += report.stopped.iter().map(|s| s.2).sum::<u32>();
        round += 1;
        if let Some(found) = report.found {
            let kind = found.violation.kind;
            let broken = open.iter().copied().find(|c| frontend::c::core::violations_of(*c).contains(&kind));
            if let Some(check) = broken {
                // Each assertion is a property of its own: there may be more to find.
                assertions = assertions.saturating_sub(usize::from(check == CCheck::Reach));
                match found.violation.span.filter(|_| check == CCheck::Reach && assertions > 0) {
                    Some(span) => known_places.push(span),
                    None => open.retain(|c| *c != check),
                }
                opinion.violations.push(violating(program, check, &found));
            }
        }
        // Where the start of the program is not supported, more runs see no more.
        if report.finished == 0 && report.stopped.iter().map(|s| s.2).sum::<u32>() == report.runs {
            break;
        }
    }
    let creates = |name: &str| matches!(name, "pthread_create" | "thrd_create");
    let threaded = program.module.externals.iter().any(|e| creates(&e.name));
    if threaded && threads == 1 && stopped == 0 && opinion.violations.is_empty() {
        opinion.vacuous =
            Some("no execution that was tried started a second thread: what is said of threads may be empty".into());
    }
    opinion
}

fn violating(program: &CoreProgram, check: CCheck, found: &FoundViolation) -> ViolatingExecution {
    let violation = &found.violation;
    let at = violation.span.map_or_else(String::new, |s| format!(" at {}", program.sources.place(s)));
    let mut shown = from_outside(&found.options);
    shown.extend(steps(program, &found.execution, SHOWN_STEPS));
    shown.push(format!("{}: {} {}{at}", violation.kind.title(), violation.thread, violation.message));
    for (span, note) in &violation.notes {
        shown.push(format!("  {}: {note}", program.sources.place(*span)));
    }
    ViolatingExecution {
        check,
        place: violation.span.map(|s| place_of(&program.sources, s)),
        sentence: format!("{}{at}: {} {}", violation.kind.title(), violation.thread, violation.message),
        shown,
        story: story(program, &found.execution),
        steps: found.execution.events.len(),
        seed: found.options.seed,
        assumptions: found.execution.assumptions.clone(),
    }
}

/// An execution as data: a column for each of its threads that moves, and every step with its place.
fn story(program: &CoreProgram, execution: &Execution) -> Story {
    let mut moving: Vec<u32> = execution.events.iter().map(|e| e.thread).collect();
    moving.sort_unstable();
    moving.dedup();
    let named = |t: &u32| execution.threads.get(*t as usize).cloned().unwrap_or_default();
    let step = |e: &RecordedStep| StoryStep {
        instance: moving.iter().position(|t| *t == e.thread).unwrap_or(0),
        at: Some(place_of(&program.sources, e.span)),
        place: program.sources.place(e.span),
        text: e.text.clone(),
        changes: Vec::new(),
        heap: None,
        matters: Relevance::Matters,
    };
    Story {
        columns: moving.iter().map(named).collect(),
        events: execution.events.iter().map(step).collect(),
        ..Story::default()
    }
}

/// What a run got from outside, a line for each thing.
fn from_outside(options: &RunOptions) -> Vec<String> {
    let mut lines = Vec::new();
    if !options.arguments.is_empty() {
        lines.push(format!("with the arguments: {}", options.arguments.join(" ")));
    }
    for (name, text) in &options.files {
        lines.push(format!("with the file {name}: {:?}", String::from_utf8_lossy(text)));
    }
    lines
}

/// The last steps of an execution, one line each.
pub fn steps(program: &CoreProgram, execution: &Execution, most: usize) -> Vec<String> {
    let skipped = execution.events.len().saturating_sub(most);
    let events = &execution.events[skipped..];
    let place = |span: Span| program.sources.place(span);
    let name = |t: u32| execution.threads.get(t as usize).cloned().unwrap_or_default();
    let places = events.iter().map(|e| place(e.span).len()).max().unwrap_or(0);
    let names = events.iter().map(|e| name(e.thread).len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    if skipped > 0 {
        lines.push(format!("({skipped} steps before)"));
    }
    lines.extend(events.iter().map(|e| format!("{:places$}  {:names$}  {}", place(e.span), name(e.thread), e.text)));
    lines
}

/// The row that an execution speaks of: of several assertions the one on its line.
fn row_of(file: &FileRows, violation: &ViolatingExecution) -> Option<usize> {
    let own = |at: &usize| violation.check.owns(&file.rows[*at].name);
    let line = |p: &Place| (p.file.clone(), p.line);
    let here = |at: &usize| {
        let place = file.rows[*at].place.as_ref().map(line);
        place.is_some() && place == violation.place.as_ref().map(line)
    };
    let rows = || (0..file.rows.len()).filter(own);
    rows()
        .find(here)
        .or_else(|| rows().find(|at| file.outcome_of(&file.rows[*at]) != RowOutcome::Safe))
        .or(rows().next())
}

/// Warns of assertions that are safe, and that no execution got to.
fn enter_coverage(coverage: Coverage, file: &mut FileRows) {
    let mut warned = Vec::new();
    for row in file.rows.iter().filter(|r| CCheck::Reach.owns(&r.name) && file.outcome_of(r) == RowOutcome::Safe) {
        let Some(place) = row.place.clone().filter(|p| coverage.misses(&p.file, p.line)) else { continue };
        let message = format!(
            "none of {} executions got to `{}`: it may hold for want of a run",
            coverage.executions,
            row.text.trim_matches('`')
        );
        warned.push(RowWarning { code: NOT_REACHED.into(), message, place: Some(place) });
    }
    for warning in warned {
        let at = warning.place.as_ref().map_or_else(String::new, |p| format!("{}:{}:{}", p.file, p.line, p.column));
        file.diagnostics.push(format!("warning[{NOT_REACHED}]: {at}: {}\n", warning.message));
        file.warnings.push(warning);
    }
    file.coverage = Some(coverage).filter(|c| !c.missed.is_empty());
}

/// Enters what the executions saw: see the header.
pub fn enter(opinion: Opinion, file: &mut FileRows) {
    if let Some(sentence) = &opinion.vacuous {
        file.diagnostics.push(format!("warning[{ONE_THREAD}]: {}: {sentence}\n", file.path.display()));
        file.warnings.push(RowWarning { code: ONE_THREAD.into(), message: sentence.clone(), place: None });
    }
    for violation in opinion.violations {
        let Some(at) = row_of(file, &violation) else { continue };
        match file.outcome_of(&file.rows[at]) {
            RowOutcome::Safe => {
                let mut text = format!(
                    "{} was proved, but an execution of the C program violates it (seed {}): {}",
                    violation.check.name(),
                    violation.seed,
                    violation.sentence
                );
                for line in &violation.shown {
                    text.push_str("\n    ");
                    text.push_str(line);
                }
                file.internal.push(text);
                file.rows[at].finding = None;
            }
            RowOutcome::Unknown => file.rows[at].execution = Some(violation),
            // How many executions there were depends on the time that the methods took: a report that has its run does not mention them.
            RowOutcome::Unsafe => {}
        }
    }
    if let Some(coverage) = opinion.coverage {
        enter_coverage(coverage, file);
    }
}
