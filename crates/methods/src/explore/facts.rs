//! What the program text says about its locations: which locals are dead, which steps are invisible to other threads.
//!
//! A local is dead at a location if no path from there reads it before writing it. A location is *invisible* if every
//! action that leaves it reads and writes only what no other instance can see or change: its own locals, shared
//! variables no thread writes, shared variables only this one instance uses. Invisible steps commute with every step of the
//! others in both directions, so they can be folded into the step before or the step after (see `fold`). A location on
//! every cycle of invisible steps is left out, so folding ends.
//! A variable that is only ever touched by who holds one lock counts as its holder's own (`locks`): no other thread can touch
//! it before the lock is released, and neither the lock.
//! Deliberately absent: independence that depends on values or on where the others are.
//! In: a program, numbers of instances, formulas that are watched. Out: `ThreadFacts` for each thread.

use super::footprint::{ActionFootprint, action_footprint};
use super::locks::ExploreLocks;
use logic::Term;
use program::{Action, Code, LocId, Program, Scope, ThreadId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Facts about one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadFacts {
    /// For each location, the locals that are dead there, in the order of `Thread::locals`.
    pub dead: Vec<Vec<VarId>>,
    pub invisible: Vec<bool>,
}

/// Facts about every thread, for the given numbers of instances; `watched` are formulas over the store that are looked
/// at after every step.
pub(crate) fn thread_facts(program: &Program, counts: &[u32], watched: &[Term]) -> Vec<ThreadFacts> {
    let vars = super::guess::symbols(program);
    let touches: Vec<Vec<ActionFootprint>> = program
        .threads
        .iter()
        .map(|t| t.code.actions.iter().map(|a| action_footprint(program, &vars, a)).collect())
        .collect();
    let mut readers: FxHashMap<VarId, FxHashSet<usize>> = FxHashMap::default();
    let mut writers: FxHashMap<VarId, FxHashSet<usize>> = FxHashMap::default();
    for (thread, actions) in touches.iter().enumerate() {
        for a in actions {
            a.reads.iter().for_each(|v| {
                readers.entry(*v).or_default().insert(thread);
            });
            a.writes.iter().for_each(|v| {
                writers.entry(*v).or_default().insert(thread);
            });
        }
    }
    let seen: FxHashSet<VarId> =
        watched.iter().flat_map(|t| program.terms.free_symbols(*t)).filter_map(|s| vars.get(&s).copied()).collect();
    let none = FxHashSet::default();
    // What only one instance ever touches is as good as a local.
    let private = |v: VarId, thread: usize| {
        let alone = |s: &FxHashSet<usize>| s.iter().all(|t| *t == thread);
        counts.get(thread) == Some(&1)
            && alone(readers.get(&v).unwrap_or(&none))
            && alone(writers.get(&v).unwrap_or(&none))
            && !seen.contains(&v)
    };
    let unwritten = |v: VarId| program.vars[v].initial.is_some() && !writers.contains_key(&v);
    let locks = ExploreLocks::of(program, &touches);
    program
        .threads
        .iter_enumerated()
        .map(|(id, t)| {
            let own = |v: VarId| program.vars[v].scope != Scope::Shared || private(v, id.index());
            let invisible_action = |at: usize, a: &Action| {
                let touch = &touches[id.index()][at];
                let held = locks.must_lockset(id, a.from);
                let guarded = |v: VarId| locks.guards(v).iter().any(|m| held.contains(m));
                a.spawn.is_none()
                    && !t.code.locations[a.to].in_atomic_block
                    && touch.reads.iter().all(|v| own(*v) || unwritten(*v) || guarded(*v) || held.contains(v))
                    && touch.writes.iter().all(|v| own(*v) || (guarded(*v) && !seen.contains(v)))
            };
            ThreadFacts { dead: dead(program, id, &seen), invisible: invisible(&t.code, &invisible_action) }
        })
        .collect()
}

fn dead(program: &Program, thread: ThreadId, seen: &FxHashSet<VarId>) -> Vec<Vec<VarId>> {
    let t = &program.threads[thread];
    let is_dead = |live: &FxHashSet<VarId>, v: &VarId| !live.contains(v) && !seen.contains(v);
    let live = program::live::live(program, &t.code);
    live.iter().map(|live| t.locals.iter().filter(|v| is_dead(live, v)).copied().collect()).collect()
}

fn invisible(code: &Code, invisible_action: &dyn Fn(usize, &Action) -> bool) -> Vec<bool> {
    let mut invisible: Vec<bool> = code.locations.iter().map(|l| !l.in_atomic_block).collect();
    let mut leaves = vec![false; code.locations.len()];
    for (i, a) in code.actions.iter().enumerate() {
        leaves[a.from.index()] = true;
        if !invisible_action(i, a) {
            invisible[a.from.index()] = false;
        }
    }
    // Where nothing leaves there is nothing to fold.
    invisible.iter_mut().zip(&leaves).for_each(|(q, l)| *q &= l);
    // Depth first over invisible steps; a step back to a location on the path closes a cycle.
    let out = code.outgoing();
    let mut mark = vec![0u8; invisible.len()];
    for start in 0..invisible.len() {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if invisible[start] && mark[start] == 0 {
            mark[start] = 1;
            path.push((start, 0));
        }
        while let Some((at, next)) = path.last_mut() {
            let here = *at;
            let steps = &out[LocId(here as u32)];
            if *next == steps.len() {
                mark[here] = 2;
                path.pop();
                continue;
            }
            let to = code.actions[steps[*next]].to.index();
            *next += 1;
            match mark[to] {
                0 if invisible[to] => {
                    mark[to] = 1;
                    path.push((to, 0));
                }
                1 => invisible[to] = false,
                _ => {}
            }
        }
    }
    invisible
}
