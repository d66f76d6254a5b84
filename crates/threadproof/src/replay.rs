//! Runs of the model are made again at the level of C before they are printed.
//!
//! In: a C program in the core language, and a trace of its model. Out: whether the interpreter makes a run that violates the same property,
//! guided by the trace: the order of threads at shared accesses by line, and the values that came from outside. A verdict whose run is not
//! seen there keeps a remark ("not replayed at the level of C"). Where the interpreter has made every schedule of the program to its end, and none violates,
//! the front end has mistranslated the program: an internal error, and no verdict. Deliberately absent: the search for the run, which
//! is `core_lang::replay`'s.

use crate::board::{FileRows, RowOutcome, SourceReplay};
use crate::second_opinion::CoreProgram;
use base::{Sources, Span};
use core_lang::interpreter::guide::{PlannedStep, PlannedThread, SchedulePlan};
use core_lang::replay::{GuidedReplay, Replayed};
use evidence::Counterexample;
use evidence::file::EvidenceEntry;
use frontend::c::CCheck;
use logic::Value;
use program::semantics::{Trace, TraceStep};
use program::{Copies, Program, ThreadId, What};
use std::sync::Arc;
use std::time::Instant;

/// Runs along the plan.
const MAX_ATTEMPTS: u32 = 200;
/// Schedules that are enumerated where the plan is not enough.
const MAX_SCHEDULES: u32 = 400;
const MAX_INSTRUCTIONS_PER_RUN: u64 = 300_000;
const MAX_INSTRUCTIONS: u64 = 6_000_000;

/// Replays the run of every property that is unsafe, and enters what came of it.
pub fn enter(
    program: &Program,
    sources: &Sources,
    core: &CoreProgram,
    checks: &[CCheck],
    seed: u64,
    deadline: Option<Instant>,
    file: &mut FileRows,
) {
    for at in 0..file.rows.len() {
        let row = &file.rows[at];
        let unsafe_by_model = file.outcome_of(row) == RowOutcome::Unsafe && row.execution.is_none();
        let Some(check) = checks.iter().copied().find(|c| c.owns(&row.name)).filter(|_| unsafe_by_model) else {
            continue;
        };
        let entry = file.chosen(row).and_then(|c| c.entry).map(|e| &file.evidence[e]);
        let Some(EvidenceEntry::Counterexample { run: Counterexample::Run(trace), .. }) = entry else { continue };
        let replay = GuidedReplay {
            plan: Arc::new(plan(program, trace, sources, core)),
            wanted: frontend::c::core::violations_of(check),
            seed,
            attempts: MAX_ATTEMPTS,
            instructions: MAX_INSTRUCTIONS_PER_RUN,
            all_instructions: MAX_INSTRUCTIONS,
            schedules: MAX_SCHEDULES,
            deadline,
        };
        match replay.run(&core.module) {
            Replayed::Seen(found, _) => {
                let violation = &found.violation;
                let place = violation.span.map_or_else(String::new, |s| format!(" at {}", core.sources.place(s)));
                let sentence = format!("{}{place}: {} {}", violation.kind.title(), violation.thread, violation.message);
                file.rows[at].replay = Some(SourceReplay::Seen { sentence, seed: found.options.seed });
            }
            Replayed::NotSeen { attempts, stopped } => {
                let why = match stopped {
                    Some((reason, span)) => {
                        let place = span.map_or_else(String::new, |s| format!(" at {}", core.sources.place(s)));
                        format!("executions stop{place}: {reason}")
                    }
                    None if deadline.is_some_and(|end| Instant::now() >= end) => "the time was over".into(),
                    None => format!("none of {attempts} executions along the run violates the property"),
                };
                file.rows[at].replay = Some(SourceReplay::NotSeen { why });
            }
            Replayed::Impossible { schedules } => {
                file.internal.push(format!(
                    "{} was refuted by a run of the model, but each of the {schedules} schedules of the C program ends without violating it",
                    check.name()
                ));
                file.rows[at].finding = None;
            }
        }
    }
}

/// What the trace says of the order of threads, in the places of the core program.
fn plan(program: &Program, trace: &Trace, sources: &Sources, core: &CoreProgram) -> SchedulePlan {
    let line = |span: Span| line_in(sources, span, &core.sources);
    let mut plan = SchedulePlan::default();
    let mut instances: Vec<u32> = Vec::new();
    for step in &trace.steps {
        let part = match instances.iter().position(|i| *i == step.instance) {
            Some(part) => part,
            None => {
                instances.push(step.instance);
                plan.threads.push(part_of(program, step, &line, core));
                instances.len() - 1
            }
        };
        let action = &program.threads[step.thread].code.actions[step.action];
        for value in step.inputs.iter().filter_map(number) {
            plan.values.push((part, value));
            plan.numbers.push(value);
        }
        let Some(place) = program.origins[action.origin].span.and_then(line) else { continue };
        // The start of a thread is no access of its own.
        let starts = plan.threads[part].created == Some(place) && action.what != What::Spawn;
        if !starts {
            plan.steps.push(PlannedStep { thread: part, line: place });
        }
    }
    plan.numbers.extend(trace.initial.iter().filter_map(|c| number(&c.value)));
    plan.numbers.sort_unstable();
    plan.numbers.dedup();
    plan
}

fn part_of(
    program: &Program,
    step: &TraceStep,
    line: &impl Fn(Span) -> Option<Span>,
    core: &CoreProgram,
) -> PlannedThread {
    let thread = &program.threads[step.thread];
    if step.thread == ThreadId(0) {
        return PlannedThread { created: None, function: None };
    }
    let created = program.origins[thread.origin].span.and_then(line);
    let name = thread.name.split('#').next().unwrap_or_default();
    let function = core.module.function(name).filter(|_| thread.copies != Copies::One);
    PlannedThread { created, function }
}

fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Int(n) => Some(*n),
        Value::Bool(b) => Some(i128::from(*b)),
        _ => None,
    }
}

/// The line of a place, in the sources of another reading of the same files.
fn line_in(sources: &Sources, span: Span, others: &Sources) -> Option<Span> {
    let file = sources.get(span.file)?;
    let line = file.position(span.start).0;
    let id = others.ids().find(|id| others.file(*id).name == file.name)?;
    let other = others.file(id);
    let start = other.line_start(line);
    Some(Span::new(id, start, start + other.line(line).len()))
}
