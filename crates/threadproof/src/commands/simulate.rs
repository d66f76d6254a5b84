//! `simulate`: the command around the simulator.
//!
//! In: the request. Out: the run on standard output, and an exit code: 0 nothing went wrong in it, 1 a property was
//! violated, 65 the program or the trace was rejected.

use crate::board::{Board, MethodStage, RunRecord, exit};
use crate::cli::Simulate;
use crate::load::{self, AskedOfC, Loaded};
use crate::report::{paint::Paint, width};
use crate::second_opinion;
use crate::simulate::{SimulationEnd as ModelEnding, SimulationMode, SimulationOutput, simulate_program};
use crate::watch::{self, LimitWatchdog};
use base::Budget;
use core_lang::interpreter::{ExecutionEnd, Interpreter, Recording, RunOptions};
use evidence::Counterexample;
use evidence::file::EvidenceEntry;
use program::Program;
use program::semantics::{InstanceCounts, Trace};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub fn run_simulate(request: Simulate, paint: Paint) -> i32 {
    watch_over(&request);
    // A C program runs by its own reference semantics; a trace is a run of its model.
    if request.trace.is_none() && !request.interactive {
        match load::asked_of_c(&request.file, &request.reading) {
            Ok(Some(c)) => return run_c(&c, &request, paint),
            Ok(None) => {}
            Err(rejected) => {
                rejected.0.iter().for_each(|m| eprint!("{m}"));
                return exit::REJECTED;
            }
        }
    }
    let loaded = match load::or_exit_code(load::load_program(&request.file, &request.reading, paint)) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    loaded.warnings.iter().for_each(|w| eprint!("{}", w.picture));
    let mut loaded = loaded;
    let trace = match request.trace.as_deref().map(|path| first_trace(&loaded, path)).transpose() {
        Ok(trace) => trace,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            return exit::REJECTED;
        }
    };
    let trace = trace.map(|(clients, trace)| {
        // Some runs are of clients of an object, or of callers.
        if let Some(clients) = clients {
            loaded.program = clients;
        }
        trace
    });
    let mode = match &trace {
        Some(trace) => SimulationMode::Along(trace),
        None if request.interactive => SimulationMode::Asking,
        None => SimulationMode::Random { seed: request.seed },
    };
    let instances = InstanceCounts::of(&loaded.program, request.copies);
    let show = SimulationOutput { steps: request.steps, width: width() };
    let mut input = std::io::stdin().lock();
    // Not locked for the whole run: the end by a limit must be able to flush.
    let mut out = std::io::stdout();
    match simulate_program(&loaded.program, &loaded.sources, &instances, mode, show, &mut input, &mut out) {
        // A reader that went away ends the run.
        Err(e) => crate::output::checked(Err(e)).map_or_else(|lost| lost, |()| exit::SAFE),
        Ok(ModelEnding::Ended | ModelEnding::Stuck | ModelEnding::Stopped) => exit::SAFE,
        Ok(ModelEnding::Violated(_)) => exit::UNSAFE,
        Ok(ModelEnding::Impossible(_)) => exit::REJECTED,
    }
}

/// One execution of a C program: its steps, what it prints, how it ends.
fn run_c(c: &AskedOfC, request: &Simulate, paint: Paint) -> i32 {
    let program = match second_opinion::core_program(c) {
        Some(program) => program,
        // The front end says why.
        None => {
            return match load::load_program(&request.file, &request.reading, paint) {
                Err(rejected) => {
                    rejected.0.iter().for_each(|m| eprint!("{m}"));
                    exit::REJECTED
                }
                Ok(_) => exit::REJECTED,
            };
        }
    };
    let options = RunOptions { seed: request.seed, recording: Recording::Steps, ..RunOptions::default() };
    let execution = Interpreter::run(&program.module, options);
    let place =
        |span: Option<base::Span>| span.map_or_else(String::new, |s| format!(" at {}", program.sources.place(s)));
    let mut lines = second_opinion::steps(&program, &execution, request.steps);
    for text in String::from_utf8_lossy(&execution.output).lines() {
        lines.push(format!("prints: {text}"));
    }
    let code = match &execution.ending {
        ExecutionEnd::Exited(code) => {
            lines.push(format!("the program ends with exit code {code}"));
            exit::SAFE
        }
        ExecutionEnd::Aborted => {
            lines.push("the program aborts".into());
            exit::SAFE
        }
        ExecutionEnd::Pruned => {
            lines.push("an assumption of the program does not hold: this is no run of it".into());
            exit::SAFE
        }
        ExecutionEnd::OutOfSteps => {
            lines.push("the run goes on; it was cut off here".into());
            exit::SAFE
        }
        ExecutionEnd::Unsupported { reason, span } => {
            lines.push(format!("the run cannot go on{}: {reason}", place(*span)));
            exit::UNKNOWN
        }
        ExecutionEnd::Violation(violation) => {
            lines.push(format!(
                "{}{}: {} {}",
                violation.kind.title(),
                place(violation.span),
                violation.thread,
                violation.message
            ));
            lines.extend(
                violation.notes.iter().map(|(span, note)| format!("  {}: {note}", program.sources.place(*span))),
            );
            exit::UNSAFE
        }
    };
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    crate::output::write_all(text.as_bytes()).map_or_else(|lost| lost, |()| code)
}

/// Ends the run when its time is over, or when it has taken too much memory.
fn watch_over(request: &Simulate) {
    let board = Arc::new(Board::new(std::slice::from_ref(&request.file)));
    {
        let mut record = board.lock();
        record.files[0].stage = MethodStage::Working;
        record.deadline = if request.interactive { None } else { Instant::now().checked_add(request.time) };
    }
    let memory = request.memory.or_else(watch::spare_memory);
    let print: watch::Print = Arc::new(|record: &RunRecord| {
        let why = record.files[0].stopped.clone().unwrap_or_default();
        eprintln!("\nstopped: {why}");
        Ok(())
    });
    LimitWatchdog { board, budget: Budget::unlimited(), memory, print }.start();
}

/// The first run of the file; for a history or a run of callers, with their program.
fn first_trace(loaded: &Loaded, path: &Path) -> Result<(Option<Program>, Trace), String> {
    let bytes = load::read_bytes(path).map_err(|r| r.0.concat())?;
    let entries =
        evidence::file::read_evidence(&loaded.program, &bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    let trace = entries.into_iter().find_map(|entry| match entry {
        EvidenceEntry::Counterexample { run, .. } => whole_run(&loaded.program, run),
        EvidenceEntry::Certificate(_) => None,
    });
    trace.ok_or_else(|| format!("{} holds no run of a whole program (see `threadproof audit`)", path.display()))
}

/// The trace of a run of a whole program; with the program it is one of, where that is built around the given one.
fn whole_run(program: &Program, run: Counterexample) -> Option<(Option<Program>, Trace)> {
    match run {
        Counterexample::Run(trace) => Some((None, trace)),
        Counterexample::History(h) => {
            let (clients, _) = h.program(program).ok()?;
            Some((Some(clients), h.trace))
        }
        Counterexample::ClientRun(c) => {
            let callers = program::callers::callers(program, None, &[], c.effort).ok()?;
            Some((Some(callers.program), c.trace))
        }
        Counterexample::LocalRun(_) | Counterexample::SpecRun(_) => None,
    }
}
