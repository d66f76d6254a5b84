//! One exploration of given numbers of instances: widens the layout until everything fits, searches, finds traces.
//!
//! Comes in: a program, numbers of instances, properties, switches. Goes out: an `Answer` with plain facts, from which
//! `method` makes claims. The width of a state in words is a compile-time constant of the search; it is chosen here.

use super::guess::{Escape, Guess};
use super::layout::Layout;
use super::search::{Progress, Searched, Settings, Stop, search};
use super::system::{Switches, System};
use super::trace::Tracer;
use super::worker::Mode;
use base::Budget;
use program::semantics::{Instances, Sampling, Semantics, Trace};
use program::{Program, PropertyId};
use std::collections::BTreeMap;

/// What to explore, and how.
pub struct Plan<'a> {
    pub program: &'a Program,
    pub counts: Instances,
    /// Properties of single runs.
    pub wanted: Vec<PropertyId>,
    pub switches: Switches,
    pub workers: usize,
    pub depth: usize,
    pub budget: Budget,
    pub progress: &'a (dyn Fn(&Progress) + Sync),
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub traces: BTreeMap<PropertyId, Trace>,
    /// Violated, but no trace could be made; why.
    pub untraced: BTreeMap<PropertyId, String>,
    pub states: u64,
    pub transitions: u64,
    /// Levels of the search; with folding a level may be several steps.
    pub depth: usize,
    pub seconds: f64,
    pub bytes: u64,
    pub words: usize,
    pub restarts: usize,
    /// Actions of instances left to the reference semantics.
    pub slow: usize,
    /// Why not every reachable state was seen; `None`: all were.
    pub incomplete: Option<String>,
    pub stopped: Option<Stop>,
    pub notes: Vec<String>,
    /// Some traces may be longer than needed; why.
    pub long: Option<String>,
}

const MOST_RESTARTS: usize = 400;

pub fn explore(plan: &Plan<'_>) -> Answer {
    let mut answer = explore_as(plan, &plan.wanted, plan.switches);
    if !answer.untraced.is_empty() && plan.switches.symmetry {
        // A representative that is not the only one of its orbit can hide the way forward: search without symmetry.
        let lost: Vec<PropertyId> = answer.untraced.keys().copied().collect();
        let again = explore_as(plan, &lost, Switches { symmetry: false, ..plan.switches });
        for (p, trace) in again.traces {
            answer.untraced.remove(&p);
            answer.traces.insert(p, trace);
        }
        answer.notes.push("traces were found by a search without symmetry".into());
    }
    answer
}

fn explore_as(plan: &Plan<'_>, wanted: &[PropertyId], switches: Switches) -> Answer {
    let mut guess = Guess::new(plan.program, &plan.counts);
    let mut restarts = 0;
    let mut first = widening(plan, wanted, switches, plan.depth, None, &mut guess, &mut restarts);
    first.restarts = restarts;
    let found: Vec<PropertyId> = first.traces.keys().chain(first.untraced.keys()).copied().collect();
    if found.is_empty() || first.notes.iter().any(|n| n == UNFOLDED) || !switches.por {
        return first;
    }
    // The second search, for the lengths: nothing longer than what is known has to be looked at.
    let longest = first.traces.values().map(|t| t.steps.len()).max().unwrap_or(plan.depth);
    let second = pass_exact(plan, &found, switches, longest.min(plan.depth), &mut guess, &mut restarts);
    first.restarts = restarts;
    for (p, trace) in second.traces {
        first.untraced.remove(&p);
        match first.traces.get(&p) {
            Some(old) if old.steps.len() < trace.steps.len() => {}
            _ => {
                first.traces.insert(p, trace);
            }
        }
    }
    if let Some(Stop::Exhausted(e)) = second.stopped {
        first.long = Some(e.to_string());
    }
    first
}

/// Said where a search did not fold, so that its distances are steps.
const UNFOLDED: &str = "no local steps were folded";

fn pass_exact(
    plan: &Plan<'_>,
    wanted: &[PropertyId],
    switches: Switches,
    depth: usize,
    guess: &mut Guess,
    restarts: &mut usize,
) -> Answer {
    let is_deadlock = |p: &PropertyId| plan.program.properties[*p].kind == program::PropertyKind::Deadlock;
    let mode = if wanted.iter().any(is_deadlock) { Mode::Plain } else { Mode::Lazy };
    widening(plan, wanted, switches, depth, Some(mode), guess, restarts)
}

/// Searches with wider and wider layouts until nothing escapes.
fn widening(
    plan: &Plan<'_>,
    wanted: &[PropertyId],
    switches: Switches,
    depth: usize,
    mode: Option<Mode>,
    guess: &mut Guess,
    restarts: &mut usize,
) -> Answer {
    loop {
        let escape = match once(plan, wanted, switches, depth, mode, guess) {
            Ok(answer) => return answer,
            Err(e) => e,
        };
        *restarts += 1;
        let stuck = |why: String| Answer { incomplete: Some(why), ..Answer::default() };
        if *restarts > MOST_RESTARTS {
            return stuck("the values of the variables keep growing".into());
        }
        if let Err(e) = plan.budget.check() {
            return Answer { stopped: Some(Stop::Exhausted(e)), ..stuck(e.to_string()) };
        }
        if let Err(why) = guess.widen(&escape) {
            return stuck(why);
        }
    }
}

fn once(
    plan: &Plan<'_>,
    wanted: &[PropertyId],
    switches: Switches,
    depth: usize,
    mode: Option<Mode>,
    guess: &Guess,
) -> Result<Answer, Escape> {
    let layout = Layout::new(plan.program, &plan.counts, guess)?;
    let system = System::new(plan.program, &plan.counts, layout, wanted, switches)?;
    let mode = match mode {
        Some(mode) if system.folds => mode,
        None if system.folds => Mode::Eager,
        _ => Mode::Plain,
    };
    macro_rules! widths {
        ($($w:literal)*) => {
            match system.layout.words {
                $(n if n <= $w => run::<$w>(plan, &system, depth, mode),)*
                _ => Err(Escape::Stuck("too many variables for the packed form".into())),
            }
        };
    }
    widths!(1 2 4 10 64)
}

fn run<const W: usize>(plan: &Plan<'_>, system: &System, depth: usize, mode: Mode) -> Result<Answer, Escape> {
    let sampling = Sampling::default();
    // Numbers in the table of values depend on who comes first: one worker keeps the result the same.
    let workers = if system.layout.interned { 1 } else { plan.workers };
    let settings = Settings { mode, workers, depth, budget: plan.budget.clone(), progress: plan.progress, sampling };
    let searched: Searched<W> = search(plan.program, system, &settings)?;
    let mut answer = Answer {
        states: searched.states,
        transitions: searched.transitions,
        depth: searched.depth,
        seconds: searched.seconds,
        bytes: searched.bytes() as u64,
        words: system.layout.words,
        slow: system.slow,
        stopped: searched.stopped.clone(),
        ..Answer::default()
    };
    answer.incomplete = match &searched.stopped {
        Some(Stop::Exhausted(e)) => Some(format!("{e} at depth {}", searched.depth)),
        Some(Stop::Depth) => Some(format!("runs of more than {depth} steps were not looked at")),
        Some(Stop::AllFound) => Some("every property is violated".into()),
        None => searched.incomplete.clone(),
    };
    if mode == Mode::Plain {
        answer.notes.push(UNFOLDED.into());
    }
    if let Some(why) = &system.symmetry.refused {
        answer.notes.push(format!("no symmetry reduction: {why}"));
    }
    if let Some(why) = &system.heap.refused {
        answer.notes.push(format!("objects are not renumbered: {why}"));
    }
    let sem = Semantics::new(plan.program);
    let tracer = Tracer { system, sem: &sem, mode, sampling };
    for (p, found) in &searched.violations {
        if !system.wanted.contains(p) {
            continue;
        }
        match tracer.trace(&searched, *p, found) {
            Ok(trace) => {
                answer.traces.insert(*p, trace);
            }
            Err(why) => {
                answer.untraced.insert(*p, why);
            }
        }
    }
    Ok(answer)
}
