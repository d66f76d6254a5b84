//! One exploration of given numbers of instances: widens the layout until everything fits, searches, finds traces.
//!
//! In: a program, numbers of instances, properties, switches. Out: an `Exploration` with plain facts, from which
//! `method` makes claims. The width of a state in words is a compile-time constant of the search; it is chosen here.

use super::checkpoint::SearchCheckpoint;
use super::disk::search_on_disk;
use super::guess::{Escape, RangeGuess};
use super::layout::Layout;
use super::layout::StorageShape;
use super::search::{SearchProgress, SearchSettings, Searched, search_states};
use super::shared::SearchStop;
use super::spread::{Members, request::SearchRequest};
use super::system::{CompiledSystem, Switches};
use super::trace::{PastLevels, Tracer, shorten_trace};
use super::worker::{Expansion, FoldingMode, MANY_STARTS, StateExpander, words};
use base::Budget;
use program::semantics::{InstanceCounts, Sampling, Semantics, Trace};
use program::{LocId, Program, PropertyId, ThreadId};
use std::collections::BTreeMap;
use std::path::Path;

/// What to explore, and how.
pub struct ExplorePlan<'a> {
    pub program: &'a Program,
    pub counts: InstanceCounts,
    /// Properties of single runs.
    pub wanted: Vec<PropertyId>,
    pub switches: Switches,
    pub workers: usize,
    pub depth: usize,
    pub budget: Budget,
    pub progress: &'a (dyn Fn(&SearchProgress) + Sync),
    /// Keep hashes instead of states: less memory, and never a proof.
    pub compact: bool,
    /// Say which locations no instance reaches; nothing is folded then.
    pub unreachable: bool,
    pub means: SearchMeans<'a>,
}

/// What a search may use beside the memory and the processors of this process.
#[derive(Clone, Copy, Default)]
pub struct SearchMeans<'a> {
    /// Other processes with the same program.
    pub members: Option<&'a Members>,
    /// A folder for the logs of levels.
    pub checkpoint: Option<&'a Path>,
    /// A folder for the states, which are then not kept in memory; for one process.
    pub disk: Option<&'a Path>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Exploration {
    pub traces: BTreeMap<PropertyId, Trace>,
    /// Violated, but no trace could be made; why.
    pub untraced: BTreeMap<PropertyId, String>,
    pub states: u64,
    pub(crate) transitions: u64,
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
    pub stopped: Option<SearchStop>,
    pub notes: Vec<String>,
    /// Some traces may be longer than needed; why.
    pub long: Option<String>,
    /// Violations seen by a compact search, with the level: they still need a trace.
    pub(crate) sighted: BTreeMap<PropertyId, usize>,
    /// Where asked for and every state was seen: the locations of threads with instances that no thread reaches.
    pub unreached: Vec<(ThreadId, LocId)>,
}

/// One search of a plan.
#[derive(Clone, Copy)]
struct Aim<'a> {
    wanted: &'a [PropertyId],
    switches: Switches,
    depth: usize,
    /// `None`: as the switches say.
    mode: Option<FoldingMode>,
    compact: bool,
}

const MAX_RESTARTS: usize = 400;

pub fn explore_states(plan: &ExplorePlan<'_>) -> Exploration {
    let switches = Switches { por: plan.switches.por && !plan.unreachable, ..plan.switches };
    let mut answer = match plan.compact {
        true => explore_compact(plan, switches),
        false => explore_as(plan, &plan.wanted, switches, plan.depth),
    };
    // Objects that nothing reaches any more take room in a run but not in its representatives, and objects in sets may
    // have several numberings: both can hide the way forward, which is then found with fewer reductions.
    let mut tried = switches;
    for fewer in [Switches { heap: false, ..switches }, Switches { heap: false, symmetry: false, ..switches }] {
        if answer.untraced.is_empty() || fewer == tried {
            continue;
        }
        tried = fewer;
        let lost: Vec<PropertyId> = answer.untraced.keys().copied().collect();
        let again = explore_as(plan, &lost, fewer, plan.depth);
        for (p, trace) in again.traces {
            answer.untraced.remove(&p);
            answer.traces.insert(p, trace);
        }
        answer.notes.push("traces were found by a search with fewer reductions".into());
    }
    answer
}

/// Hashes first; what they show is then found with states, no deeper than it was seen.
fn explore_compact(plan: &ExplorePlan<'_>, switches: Switches) -> Exploration {
    let (mut guess, mut restarts) = (RangeGuess::new(plan.program, &plan.counts), 0);
    let aim = Aim { wanted: &plan.wanted, switches, depth: plan.depth, mode: None, compact: true };
    let mut first = widening(plan, &aim, &mut guess, &mut restarts);
    first.restarts = restarts;
    let chance = (first.states as f64).powi(2) / 2f64.powi(65);
    let why = format!(
        "states were distinguished by hashes of 64 bits; that none of {} was missed has a chance of about 1 in {:.1e} to be false",
        first.states,
        1.0 / chance.max(f64::MIN_POSITIVE)
    );
    first.incomplete.get_or_insert(why);
    let sighted: Vec<PropertyId> = first.sighted.keys().copied().collect();
    if let Some(deepest) = first.sighted.values().max() {
        let exact = explore_as(plan, &sighted, switches, *deepest);
        for p in sighted {
            match exact.traces.get(&p) {
                Some(trace) => {
                    first.traces.insert(p, trace.clone());
                }
                None => {
                    let why = exact.incomplete.as_deref().unwrap_or("its run was not found again");
                    first.notes.push(format!("{} was violated, but: {why}", plan.program.properties[p].name));
                }
            }
        }
        first.long = exact.long;
    }
    first
}

fn explore_as(plan: &ExplorePlan<'_>, wanted: &[PropertyId], switches: Switches, levels: usize) -> Exploration {
    let mut guess = RangeGuess::new(plan.program, &plan.counts);
    let mut restarts = 0;
    let aim = Aim { wanted, switches, depth: levels, mode: None, compact: false };
    let mut first = widening(plan, &aim, &mut guess, &mut restarts);
    first.restarts = restarts;
    let found: Vec<PropertyId> = first.traces.keys().chain(first.untraced.keys()).copied().collect();
    if found.is_empty() || first.notes.iter().any(|n| n == UNFOLDED) || !switches.por {
        return first;
    }
    // The second search, for the lengths: nothing longer than what is known has to be looked at.
    let longest = first.traces.values().map(|t| t.steps.len()).max().unwrap_or(plan.depth);
    let is_deadlock = |p: &PropertyId| plan.program.properties[*p].kind == program::PropertyKind::Deadlock;
    let mode = if found.iter().any(is_deadlock) { FoldingMode::Plain } else { FoldingMode::Lazy };
    let exact = Aim { wanted: &found, depth: longest.min(plan.depth), mode: Some(mode), ..aim };
    let second = widening(plan, &exact, &mut guess, &mut restarts);
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
    if let Some(SearchStop::Exhausted(e)) = second.stopped {
        first.long = Some(e.to_string());
        first.traces.values_mut().for_each(|t| *t = shorten_trace(plan.program, t));
    }
    first
}

/// Said where a search did not fold, so that its distances are steps.
const UNFOLDED: &str = "no local steps were folded";

/// Searches with wider and wider layouts until nothing escapes.
fn widening(plan: &ExplorePlan<'_>, aim: &Aim<'_>, guess: &mut RangeGuess, restarts: &mut usize) -> Exploration {
    let mut ranges = 0;
    let mut kept = BTreeMap::new();
    loop {
        let escape = match once(plan, aim, guess, &mut SearchTask::Search(&mut kept)) {
            Ok(mut answer) => {
                // A search that was stopped may not have come again to where one before it was.
                kept.into_iter().for_each(|(p, trace)| {
                    answer.traces.entry(p).or_insert(trace);
                });
                return answer;
            }
            Err(e) => e,
        };
        *restarts += 1;
        let stuck = |why: String| Exploration { incomplete: Some(why), traces: kept.clone(), ..Exploration::default() };
        if *restarts > MAX_RESTARTS {
            return stuck("the values of the variables keep growing".into());
        }
        if let Err(e) = plan.budget.check() {
            return Exploration { stopped: Some(SearchStop::Exhausted(e)), ..stuck(e.to_string()) };
        }
        if let Err(why) = guess.widen(&escape) {
            return stuck(why);
        }
        ranges += usize::from(matches!(escape, Escape::Range { .. }));
        // A search that starts again for the second time may be a long one: look ahead first.
        for _ in 0..if ranges > 1 { MAX_LOOKS } else { 0 } {
            match once(plan, aim, guess, &mut SearchTask::Walk) {
                Err(Escape::Range { var, value })
                    if value.abs() <= MAX_RANGE_AHEAD && guess.widen(&Escape::Range { var, value }).is_ok() =>
                {
                    *restarts += 1;
                }
                _ => break,
            }
        }
    }
}

/// How often a look ahead may widen ranges, and how far: numbers that grow without end are left to the search.
const MAX_LOOKS: usize = 24;
const MAX_RANGE_AHEAD: i64 = 1 << 10;

enum SearchTask<'k> {
    /// With the traces to violations that searches found which did not come to an end.
    Search(&'k mut BTreeMap<PropertyId, Trace>),
    /// Random walks only, to meet values that escape.
    Walk,
}

fn once(
    plan: &ExplorePlan<'_>,
    aim: &Aim<'_>,
    guess: &RangeGuess,
    task: &mut SearchTask<'_>,
) -> Result<Exploration, Escape> {
    let layout = Layout::new(plan.program, &plan.counts, guess)?;
    let system = CompiledSystem::new(plan.program, &plan.counts, layout, aim.wanted, aim.switches)?;
    let mode = match aim.mode {
        Some(mode) if system.folds => mode,
        None if system.folds => FoldingMode::Eager,
        _ => FoldingMode::Plain,
    };
    macro_rules! widths {
        ($mode:expr, $($w:literal)*) => {
            match (system.layout.words, &mut *task) {
                $(
                    (n, SearchTask::Search(kept)) if n <= $w => run::<$w>(plan, &system, aim, $mode, guess, kept),
                    (n, SearchTask::Walk) if n <= $w => walk::<$w>(plan, &system),
                )*
                _ => Err(Escape::Stuck("too many variables for the packed form".into())),
            }
        };
    }
    match widths!(mode, 1 2 3 4 6 10 64) {
        Err(Escape::Stuck(why)) if why == MANY_STARTS && mode != FoldingMode::Plain => {
            widths!(FoldingMode::Plain, 1 2 3 4 6 10 64)
        }
        answer => answer,
    }
}

/// A few long random runs: deep values are met in milliseconds instead of at the end of a search.
fn walk<const W: usize>(plan: &ExplorePlan<'_>, system: &CompiledSystem) -> Result<Exploration, Escape> {
    let sem = Semantics::new(plan.program);
    let mut worker = StateExpander::new(system, &sem);
    let starts = sem.initial(&plan.counts, worker.sampling).states;
    let mut random: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut expansion = Expansion::default();
    for n in 0..16 {
        let Some((start, _)) = starts.get(n % starts.len().max(1)) else { break };
        let mut state: [u64; W] = words(&system.layout.pack(&sem, start)?);
        for _ in 0..400 {
            expansion.clear();
            worker.expand(&state, FoldingMode::Plain, &mut expansion)?;
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            match expansion.states.len() as u64 {
                0 => break,
                many => state = expansion.states[(random % many) as usize].0,
            }
        }
    }
    Ok(Exploration::default())
}

fn run<const W: usize>(
    plan: &ExplorePlan<'_>,
    system: &CompiledSystem,
    aim: &Aim<'_>,
    mode: FoldingMode,
    guess: &RangeGuess,
    kept: &mut BTreeMap<PropertyId, Trace>,
) -> Result<Exploration, Escape> {
    let depth = aim.depth;
    let request = SearchRequest {
        counts: plan.counts.clone(),
        wanted: aim.wanted.to_vec(),
        switches: aim.switches,
        depth,
        mode,
        compact: aim.compact,
        mark: plan.unreachable && aim.mode.is_none(),
        width: W,
        guess: guess.clone(),
    };
    let checkpoint = checkpoint_of(plan, system, &request).map_err(Escape::Stuck)?;
    let sampling = Sampling::default();
    // Numbers in the table of values depend on who comes first: one worker keeps the result the same.
    let workers = if system.layout.interned { 1 } else { plan.workers };
    let settings = SearchSettings {
        mode,
        workers,
        depth,
        budget: plan.budget.clone(),
        progress: plan.progress,
        sampling,
        compact: aim.compact,
        mark: request.mark,
        checkpoint: checkpoint.as_ref(),
    };
    let (alone, spread, stored);
    let (searched, levels): (&Searched<W>, &dyn PastLevels<W>) = match (plan.means.members, plan.means.disk) {
        (None, Some(folder)) if !aim.compact => {
            stored = search_on_disk(plan.program, system, &settings, folder).map_err(Escape::Stuck)?;
            (&stored.searched, &stored)
        }
        (None, _) => {
            alone = search_states(plan.program, system, &settings);
            (&alone, &alone)
        }
        (Some(members), _) => {
            spread = members.search(&request, plan.program, system, &settings).map_err(Escape::Stuck)?;
            (&spread.searched, &spread)
        }
    };
    let mut answer = Exploration {
        states: searched.states,
        transitions: searched.transitions,
        depth: searched.depth,
        seconds: searched.seconds,
        bytes: searched.bytes,
        words: system.layout.words,
        slow: system.slow,
        stopped: searched.stopped.clone(),
        ..Exploration::default()
    };
    answer.incomplete = match &searched.stopped {
        Some(SearchStop::Exhausted(e)) => {
            Some(format!("{e} at depth {} with {} states", searched.depth, searched.states))
        }
        Some(SearchStop::Depth) => Some(format!("runs of more than {depth} steps were not looked at")),
        Some(SearchStop::AllFound) => Some("every property is violated".into()),
        None => searched.incomplete.clone(),
    };
    if mode == FoldingMode::Plain {
        answer.notes.push(UNFOLDED.into());
    }
    if let Some(why) = &system.symmetry.refused {
        answer.notes.push(format!("no symmetry reduction: {why}"));
    }
    if let Some(why) = &system.heap.refused {
        answer.notes.push(format!("objects are not renumbered: {why}"));
    }
    if answer.incomplete.is_none() {
        answer.unreached = unreached(plan.program, system, &searched.reached);
    }
    let sem = Semantics::new(plan.program);
    let tracer = Tracer { system, sem: &sem, mode, sampling };
    if let Some(escape) = &searched.escape {
        for (p, found) in searched.violations.iter().filter(|_| !aim.compact) {
            if system.wanted.contains(p)
                && !kept.contains_key(p)
                && let Ok(trace) = tracer.trace(levels, *p, found)
            {
                kept.insert(*p, trace);
            }
        }
        return Err(escape.clone());
    }
    if aim.compact {
        let wanted = searched.violations.iter().filter(|(p, _)| system.wanted.contains(p));
        answer.sighted = wanted.map(|(p, found)| (*p, found.distance.max(1))).collect();
        return Ok(answer);
    }
    for (p, found) in &searched.violations {
        if !system.wanted.contains(p) {
            continue;
        }
        match tracer.trace(levels, *p, found) {
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

/// The logs of a search, where they are asked for. Values that are numbered as they are met have other numbers in every process: neither logs nor other
/// processes can be used for them.
fn checkpoint_of(
    plan: &ExplorePlan<'_>,
    system: &CompiledSystem,
    request: &SearchRequest,
) -> Result<Option<SearchCheckpoint>, String> {
    let means = plan.means;
    if system.layout.interned && (means.members.is_some() || means.checkpoint.is_some()) {
        let numbered = system.layout.plans.iter().find(|p| p.shape == StorageShape::Interned);
        let what = numbered.and_then(|p| p.var).map_or_else(
            || "the store where an atomic block begins is".into(),
            |v| format!("the values of {} are", plan.program.vars[v].name),
        );
        return Err(format!(
            "{what} numbered as they are met, which one process does for itself: several processes and checkpoints are not for this program"
        ));
    }
    let logged = means.checkpoint.filter(|_| !request.compact && !request.mark);
    logged.map(|folder| SearchCheckpoint::open(folder.join(request.name()))).transpose()
}

/// The locations that no instance was seen at, of threads that have instances.
fn unreached(program: &Program, system: &CompiledSystem, reached: &[Vec<bool>]) -> Vec<(ThreadId, LocId)> {
    let mut seen: BTreeMap<(ThreadId, LocId), bool> = BTreeMap::new();
    for (place, codes) in system.layout.instances.iter().zip(reached) {
        for (code, here) in codes.iter().enumerate() {
            if let Some((thread, at)) = place.at(code as u64)
                && at.index() < program.threads[thread].code.locations.len()
            {
                *seen.entry((thread, at)).or_default() |= here;
            }
        }
    }
    seen.into_iter().filter(|(_, here)| !here).map(|(at, _)| at).collect()
}
