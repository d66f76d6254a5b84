//! Which lines of a program hold code, and which of them some run comes to: what a page shows of lines on which nothing is checked.
//!
//! In: a program (for C also its form in the core language), and how many instances of each thread there are. Out: for each line with code whether a run
//! was seen there. States are searched by the reference semantics up to a fixed number, then random runs go on from the start; for C a fixed number of
//! executions is made besides, because steps of the model may be merged. A file without threads is searched with two callers of two calls each.
//! Everything is bounded by counts, so the same program gives the same lines. Deliberately absent: any effect on a verdict.

use crate::coverage::{LineReach, ReachedLines, code_lines};
use crate::load::AskedOfC;
use crate::place::place_of;
use crate::second_opinion::core_program;
use base::{Random, Sources};
use core_lang::{Campaign, ExecutionLimits};
use methods::Task;
use program::callers::callers;
use program::client::Effort;
use program::semantics::{InstanceCounts, Sampling, Semantics, State, StepOutcome, Successors};
use program::{ActionId, OriginId, Program, ThreadId, What};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// States that are searched; fewer where they are large.
const MAX_STATES: usize = 20_000;
const MAX_STATE_WORDS: usize = 1_000_000;
/// Random runs after a search that was cut, and how long they are.
const RANDOM_RUNS: usize = 60;
const RANDOM_RUN_STEPS: usize = 400;
/// Instances of each thread of any number.
const MODEL_INSTANCES: u32 = 2;
const SMALL_CALLERS: Effort = Effort::Bounded { clients: 2, calls: 2, values: 3 };
/// A machine on which this takes longer is too slow to go on: what was seen until then is shown.
const LONGEST_TIME: Duration = Duration::from_secs(10);
const EXECUTION_RUNS: u32 = 40;
const EXECUTION_INSTRUCTIONS: u64 = 20_000;

/// The lines of a program. `seed` is that of the random runs.
pub fn reached_lines(task: &Task, sources: &Sources, c: Option<&AskedOfC>, seed: u64) -> ReachedLines {
    let with_callers = callers(&task.program, None, &[], SMALL_CALLERS).ok().map(|found| found.program);
    let (program, counts) = match &with_callers {
        Some(program) => (program, InstanceCounts::of(program, 0)),
        None => (&task.program, task.instances(MODEL_INSTANCES)),
    };
    let mut lines = of_model(program, &counts, sources, seed);
    if let Some(core) = c.and_then(core_program) {
        let files: Vec<String> = c.into_iter().flat_map(|c| &c.files).map(|f| f.path.display().to_string()).collect();
        let campaign = Campaign {
            seed,
            wanted: Vec::new(),
            known_places: Vec::new(),
            runs: EXECUTION_RUNS,
            time: LONGEST_TIME,
            limits: ExecutionLimits { instructions: EXECUTION_INSTRUCTIONS, ..ExecutionLimits::default() },
            arguments: Vec::new(),
            input: Vec::new(),
        };
        let covered = campaign.run(&core.module).covered;
        for ((file, line), is_reached) in code_lines(&core.module, &core.sources, &covered, &files) {
            let reach = if is_reached { LineReach::Seen } else { LineReach::NotSeen };
            let known = lines.entry((file.to_string(), line)).or_insert(reach);
            *known = (*known).max(reach);
        }
    }
    lines
}

/// The lines of the steps of a program.
fn of_model(program: &Program, counts: &InstanceCounts, sources: &Sources, seed: u64) -> ReachedLines {
    let mut search = StepSearch::new(program);
    let is_whole = search.states(counts) && !program.threads.is_empty();
    if !is_whole {
        search.random_runs(counts, seed);
    }
    let missing = if is_whole { LineReach::Never } else { LineReach::NotSeen };
    let mut lines = ReachedLines::new();
    for (t, thread) in program.threads.iter_enumerated() {
        for (id, action) in thread.code.actions.iter_enumerated() {
            let reach = if search.taken.contains(&(t, id)) { LineReach::Seen } else { missing };
            for place in lines_of(program, sources, action.origin, action.what) {
                let known = lines.entry(place).or_insert(reach);
                *known = (*known).max(reach);
            }
        }
    }
    lines
}

/// The lines that a step stands on: of an atomic block all that hold code, else the first.
fn lines_of(program: &Program, sources: &Sources, origin: OriginId, what: What) -> Vec<(String, usize)> {
    let Some(span) = program.origins[origin].span else { return Vec::new() };
    let place = place_of(sources, span);
    let file = sources.file(span.file);
    let text = file.text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let count = if what == What::Atomic { text.lines().count().max(1) } else { 1 };
    let holds_code = |line: &usize| {
        let text = text.lines().nth(*line).unwrap_or_default().trim();
        *line == 0 || text.contains(|c: char| c.is_alphanumeric()) && !text.starts_with("//")
    };
    (0..count).filter(holds_code).map(|line| (place.file.clone(), place.line + line)).collect()
}

struct StepSearch<'p> {
    sem: Semantics<'p>,
    taken: BTreeSet<(ThreadId, ActionId)>,
    begun: Instant,
}

impl<'p> StepSearch<'p> {
    fn new(program: &'p Program) -> Self {
        Self { sem: Semantics::new(program), taken: BTreeSet::new(), begun: Instant::now() }
    }

    fn is_late(&self) -> bool {
        self.begun.elapsed() > LONGEST_TIME
    }

    /// What may come next, noted as taken.
    fn next(&mut self, state: &State) -> Successors {
        let next = self.sem.successors(state, Sampling::default());
        for outcome in &next.outcomes {
            let step = outcome.step();
            self.taken.insert((step.thread, step.action));
        }
        next
    }

    /// Whether every state was seen.
    fn states(&mut self, counts: &InstanceCounts) -> bool {
        let initial = self.sem.initial(counts, Sampling::default());
        let mut is_whole = initial.incomplete.is_none();
        let mut seen: FxHashSet<State> = FxHashSet::default();
        let mut open: Vec<State> = Vec::new();
        for (state, _) in initial.states {
            if seen.insert(state.clone()) {
                open.push(state);
            }
        }
        let words = |s: &State| s.shared.len() + s.instances.iter().map(|i| i.locals.len() + 1).sum::<usize>();
        let most = open.first().map_or(MAX_STATES, |s| MAX_STATES.min(MAX_STATE_WORDS / words(s).max(1)));
        let mut at = 0;
        while at < open.len() {
            if at >= most || self.is_late() {
                return false;
            }
            let state = open[at].clone();
            at += 1;
            let next = self.next(&state);
            is_whole &= next.incomplete.is_none();
            for outcome in next.outcomes {
                if let StepOutcome::Moved { state, .. } = outcome
                    && seen.insert(state.clone())
                {
                    open.push(state);
                }
            }
        }
        is_whole
    }

    fn random_runs(&mut self, counts: &InstanceCounts, seed: u64) {
        let mut dice = Random::new(seed);
        let starts: Vec<State> =
            self.sem.initial(counts, Sampling::default()).states.into_iter().map(|s| s.0).collect();
        for _ in 0..RANDOM_RUNS {
            let Some(mut state) = dice.pick(&starts).cloned() else { return };
            for _ in 0..RANDOM_RUN_STEPS {
                if self.is_late() {
                    return;
                }
                let next = self.next(&state);
                let moved = |outcome| match outcome {
                    StepOutcome::Moved { state, .. } => Some(state),
                    StepOutcome::Wrong { .. } => None,
                };
                let ways: Vec<State> = next.outcomes.into_iter().filter_map(moved).collect();
                let Some(after) = dice.pick(&ways) else { break };
                state = after.clone();
            }
        }
    }
}
