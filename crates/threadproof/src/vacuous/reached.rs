//! Checks that no run comes to, and places that no run gets past: what only a search of all states can tell.
//!
//! In: a program, the properties asked for, those found safe. Out: warnings. Every state of the program (for threads in any number: of two
//! instances of each) is looked at, with a small effort; where that does not suffice, nothing is said. A check that always fails where it is
//! reached (`assert false`, a call of an error function) is meant never to be reached, and a wait for `false` is meant to end a run: neither is reported.
//! A violation of a property that was not asked for ends runs; what comes after it was not looked at, and that is said.

use super::{ALL_STOP_HERE, ENDS_BEFORE, NEVER_REACHED, VacuityWarning};
use base::Budget;
use logic::Term;
use methods::Switches;
use methods::Task;
use methods::{Exploration, ExplorePlan, explore_states};
use program::{Action, LocId, Program, PropertyId, PropertyKind, ThreadId};
use std::collections::BTreeSet;
use std::time::Duration;

/// The most effort of looking, and the instances of each thread of any number.
const SEARCH_EFFORT: Duration = Duration::from_millis(200);
const SEARCHED_INSTANCES: u32 = 2;

/// `safe`: what is reported as safe; only about these there is something to say.
pub fn warnings(task: &Task, safe: &[PropertyId], budget: &Budget) -> Vec<VacuityWarning> {
    // Terms that are made here must not become part of the program, whose digest is in its evidence.
    let task = &task.clone();
    let p = &task.program;
    if p.threads.is_empty() || safe.is_empty() {
        return Vec::new();
    }
    let answer = explore_states(&ExplorePlan {
        program: p,
        counts: task.instances(SEARCHED_INSTANCES),
        wanted: p.properties.iter_enumerated().filter(|(_, q)| is_seen_in_runs(&q.kind)).map(|(id, _)| id).collect(),
        switches: Switches::ALL,
        workers: 1,
        depth: usize::MAX,
        budget: budget.share(super::effort_of_search(budget, SEARCH_EFFORT)),
        progress: &|_| {},
        compact: false,
        unreachable: true,
        means: Default::default(),
    });
    let scope = if task.is_parametric() { " (searched with two instances of each thread)" } else { "" };
    let mut out = ends_before(task, &answer);
    if answer.incomplete.is_none() && answer.stopped.is_none() {
        let unreached: BTreeSet<(ThreadId, LocId)> = answer.unreached.iter().copied().collect();
        out.extend(never_reached(p, safe, &unreached, scope));
        if answer.traces.is_empty() {
            out.extend(all_stop_here(p, &unreached, scope));
        }
    }
    out
}

/// Properties of single runs that live in steps and stores.
fn is_seen_in_runs(kind: &PropertyKind) -> bool {
    use PropertyKind::{Deadlock, Follows, Leak, Linearizable, Performs, Unmodelled};
    !matches!(kind, Performs(_) | Follows(_) | Linearizable(_) | Deadlock | Leak | Unmodelled(_))
}

fn is_false(p: &Program, term: Term) -> bool {
    term == p.terms.ff()
}

/// Runs that end at a violation which was not asked about.
fn ends_before(task: &Task, answer: &Exploration) -> Vec<VacuityWarning> {
    let p = &task.program;
    let mut out = Vec::new();
    for id in answer.traces.keys().filter(|id| !task.properties.contains(id)) {
        let property = &p.properties[*id];
        let message = format!("runs go wrong here, and {} was not asked for", property.name);
        let warning =
            VacuityWarning::at(p, ENDS_BEFORE, property.origin, message).label("what comes after it is not looked at");
        out.push(warning.hint(format!("ask for it, too: --property {}", property.name)));
    }
    out
}

fn never_reached(
    p: &Program,
    safe: &[PropertyId],
    unreached: &BTreeSet<(ThreadId, LocId)>,
    scope: &str,
) -> Vec<VacuityWarning> {
    let mut out = Vec::new();
    for id in safe {
        let steps: Vec<(ThreadId, &Action)> = p
            .threads
            .iter_enumerated()
            .flat_map(|(t, thread)| thread.code.actions.iter().map(move |a| (t, a)))
            .filter(|(_, a)| a.gates.iter().any(|g| g.property == *id))
            .collect();
        let fails = |a: &Action| a.gates.iter().any(|g| g.property == *id && is_false(p, g.formula));
        if steps.is_empty() || steps.iter().any(|(_, a)| fails(a)) {
            continue;
        }
        if steps.iter().all(|(t, a)| unreached.contains(&(*t, a.from))) {
            let property = &p.properties[*id];
            let message = format!("no run comes to {}, so it holds for want of a run{scope}", property.name);
            out.push(VacuityWarning::at(p, NEVER_REACHED, property.origin, message));
        }
    }
    out
}

/// Places that some run comes to and none leaves.
fn all_stop_here(p: &Program, unreached: &BTreeSet<(ThreadId, LocId)>, scope: &str) -> Vec<VacuityWarning> {
    let mut out = Vec::new();
    for (t, thread) in p.threads.iter_enumerated() {
        for at in thread.code.locations.ids().filter(|at| !unreached.contains(&(t, *at))) {
            let ways: Vec<&Action> = thread.code.actions.iter().filter(|a| a.from == at).collect();
            let meant = |a: &&Action| is_false(p, a.guard) || a.gates.iter().any(|g| is_false(p, g.formula));
            let Some(first) = ways.first().filter(|_| !ways.iter().any(meant)) else { continue };
            if ways.iter().all(|a| unreached.contains(&(t, a.to))) {
                let message = format!("every run of {} that comes here stays here{scope}", thread.name);
                let warning = VacuityWarning::at(p, ALL_STOP_HERE, first.origin, message);
                out.push(warning.label("what follows holds for want of a run"));
            }
        }
    }
    out
}
