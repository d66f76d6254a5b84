//! The second opinion about what was proved: what a search of limited size, which shares nothing with the proof, has to say.
//!
//! In: the board once everything has its answer. Out: for each property that is safe, how far an independent search came without finding a
//! violation; or, should it find one, the contradiction on the board, which is an internal error and no verdict. For most programs the
//! search at the beginning (`scout`) is that search, and it has always ended before this is asked. It is repeated with more effort
//! where the proof took long and the search did not come far; and a search that was too large for the checker to repeat is followed by one without
//! reductions, as far as a part of its effort goes. All limits are effort, so that equal runs say the same.
//! A file without threads is searched with few callers (`small_callers`).
//! Deliberately absent: `performs` and `follows`, which are no matter of single runs.

use super::race::Race;
use super::scout::{NAME, Reductions, SCOUTED_INSTANCES, Scout, Scouted};
use super::small_callers::SmallCallers;
use super::worker::MethodWorker;
use crate::board::{Board, CrossExamination, MethodState, RowOutcome, SearchExtent};
use crate::judge::trust_level;
use base::Budget;
use methods::{Method, Task};
use program::{PropertyId, PropertyKind};
use std::sync::Arc;
use std::time::Duration;

/// The part of the effort of an answer that its examination may take, and its bounds.
const EFFORT_DIVISOR: u32 = 4;
const MIN_EFFORT: Duration = Duration::from_millis(200);
const MAX_EFFORT: Duration = Duration::from_secs(10);
/// From this effort on, a search that did not come far is repeated.
const LONG_EFFORT: Duration = Duration::from_secs(4);

/// What kind of second opinion the safe rows need.
#[derive(Default)]
struct WantedOpinions {
    /// Proved by something else than a search.
    proved: Vec<PropertyId>,
    /// Objects that are linearizable for any callers.
    objects: Vec<PropertyId>,
    /// Searched by the method alone.
    searched_once: Vec<PropertyId>,
    /// The greatest effort of a method that one of them is from.
    effort: Duration,
}

/// Asks, and notes the answers on the board. The clocks say what was spent; those of methods that are no longer needed have been stopped, so the
/// searches here have the budget of the whole.
#[allow(clippy::too_many_arguments)]
pub fn ask_second_opinions(
    task: &Task,
    methods: &[Arc<dyn Method>],
    board: &Board,
    file: usize,
    race: &Race,
    clocks: &[Budget],
    budget: &Budget,
    scouted: Option<&Scouted>,
    worker: &dyn Fn(usize, Arc<dyn Method>, Budget) -> MethodWorker,
) {
    let Some(scout) = methods.iter().position(|m| m.about().name == NAME) else { return };
    let Some(explore) = methods.iter().find(|m| m.about().name == "explore") else { return };
    let beside = scouted.map(|s| (s, effort_beside(board, file, race, scout))).filter(|(s, most)| s.has_passed(*most));
    if !race.has_ended(scout) && beside.is_none() {
        return;
    }
    let wanted = wanted(task, board, file, clocks, scout);
    if task.program.threads.is_empty() {
        return ask_callers(task, board, file, &wanted, scout, budget, worker);
    }
    let examine = |reductions: Reductions| {
        let effort = (wanted.effort / EFFORT_DIVISOR).clamp(MIN_EFFORT, MAX_EFFORT);
        let search = Scout { search: explore.clone(), effort: Some(effort), reductions };
        worker(scout, Arc::new(search), budget.child()).work(task);
    };
    if let Some((scouted, most)) = beside {
        // How much further it came depends on the moment it was stopped.
        let states = scouted.states_within(most);
        note(board, file, &wanted.proved, &CrossExamination { instances: None, states, extent: SearchExtent::Part });
    } else if !wanted.proved.is_empty() && has_answered(board, file, scout) {
        let far =
            |opinion: &CrossExamination| opinion.instances.map_or(opinion.extent == SearchExtent::Whole, |n| n >= 2);
        let mut opinion = read(task, board, file, scout, SearchExtent::Part);
        if !far(&opinion) && wanted.effort >= LONG_EFFORT {
            examine(Reductions::Usual);
            opinion = read(task, board, file, scout, SearchExtent::Part);
        }
        note(board, file, &wanted.proved, &opinion);
    }
    if !wanted.searched_once.is_empty() {
        examine(Reductions::Off);
        let opinion =
            CrossExamination { instances: None, ..read(task, board, file, scout, SearchExtent::PartUnreduced) };
        note(board, file, &wanted.searched_once, &opinion);
    }
}

/// How far the search had to come beside the latest of the answers.
fn effort_beside(board: &Board, file: usize, race: &Race, scout: usize) -> u64 {
    board.with_file(file, |f| {
        let proofs = f.rows.iter().filter_map(|r| f.chosen(r)).filter(|c| c.method != scout);
        proofs.map(|c| race.effort_beside(scout, &c.rank)).max().unwrap_or(u64::MAX)
    })
}

/// Where a limit ended the work, how far a second search came depends on the machine: it is said of every proof that it had none.
pub fn note_cut(task: &Task, methods: &[Arc<dyn Method>], board: &Board, file: usize, clocks: &[Budget]) {
    let Some(scout) = methods.iter().position(|m| m.about().name == NAME) else { return };
    let wanted = wanted(task, board, file, clocks, scout);
    let cut = CrossExamination { instances: None, states: 0, extent: SearchExtent::Cut };
    for rows in [&wanted.proved, &wanted.objects, &wanted.searched_once] {
        note(board, file, rows, &cut);
    }
}

/// A file without threads: few callers and few calls.
fn ask_callers(
    task: &Task,
    board: &Board,
    file: usize,
    wanted: &WantedOpinions,
    scout: usize,
    budget: &Budget,
    worker: &dyn Fn(usize, Arc<dyn Method>, Budget) -> MethodWorker,
) {
    let search = SmallCallers { effort: (wanted.effort / EFFORT_DIVISOR).clamp(MIN_EFFORT, MAX_EFFORT) };
    if wanted.proved.is_empty() && wanted.objects.is_empty() || search.admits(task).is_err() {
        return;
    }
    worker(scout, Arc::new(search), budget.child()).work(task);
    let number = |name: &str| board.with_file(file, |f| f.methods[scout].statistics.get(name).copied());
    if let Some(states) = number("states") {
        let extent = if number("complete") == Some(1) { SearchExtent::Callers } else { SearchExtent::CallersPart };
        note(board, file, &wanted.proved, &CrossExamination { instances: None, states, extent });
    }
    if number("all_histories") == Some(1) {
        let (states, extent) = (number("histories").unwrap_or(0), SearchExtent::Histories);
        note(board, file, &wanted.objects, &CrossExamination { instances: None, states, extent });
    }
}

/// Whether the scout took part at all.
fn has_answered(board: &Board, file: usize, scout: usize) -> bool {
    board.with_file(file, |f| f.methods[scout].state == MethodState::Answered)
}

fn wanted(task: &Task, board: &Board, file: usize, clocks: &[Budget], scout: usize) -> WantedOpinions {
    board.with_file(file, |f| {
        let mut out = WantedOpinions::default();
        for row in f.rows.iter().filter(|r| f.outcome_of(r) == RowOutcome::Safe) {
            let Some(chosen) = f.chosen(row) else { continue };
            let by_search = f.methods[chosen.method].name == "explore" || chosen.method == scout;
            match by_search {
                true if trust_level(chosen.finding.trust()) == "searched-once" => out.searched_once.push(row.id),
                false if is_seen_in_runs(&task.program.properties[row.id].kind) => out.proved.push(row.id),
                false if matches!(task.program.properties[row.id].kind, PropertyKind::Linearizable(_)) => {
                    out.objects.push(row.id);
                }
                _ => continue,
            }
            out.effort = out.effort.max(Duration::from_micros(clocks[chosen.method].spent()));
        }
        out
    })
}

/// Whether a single run can violate it.
fn is_seen_in_runs(kind: &PropertyKind) -> bool {
    !matches!(kind, PropertyKind::Performs(_) | PropertyKind::Follows(_) | PropertyKind::Linearizable(_))
}

/// How far the last search came.
fn read(task: &Task, board: &Board, file: usize, scout: usize, extent: SearchExtent) -> CrossExamination {
    board.with_file(file, |f| {
        let number = |name: &str| f.methods[scout].statistics.get(name).copied();
        let instances = number("instances").filter(|_| task.is_parametric());
        let is_whole = instances.map_or(number("complete") == Some(1), |n| n >= SCOUTED_INSTANCES);
        let extent = match extent {
            SearchExtent::PartUnreduced if is_whole => SearchExtent::WholeUnreduced,
            _ if is_whole => SearchExtent::Whole,
            part => part,
        };
        CrossExamination { instances, states: number("states").unwrap_or(0), extent }
    })
}

fn note(board: &Board, file: usize, properties: &[PropertyId], opinion: &CrossExamination) {
    board.with_file(file, |f| {
        let rows = f.rows.iter_mut().filter(|r| properties.contains(&r.id) && !r.disputed);
        rows.for_each(|r| r.second = Some(opinion.clone()));
    });
}
