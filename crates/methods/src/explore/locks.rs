//! Locks, read off the program text: which an instance must hold at a location, and which variables each guards.
//!
//! A shared integer is a lock if every action that writes it either takes it (waits for 0, writes the own tid) or gives
//! it back (writes 0) from a location where the thread must hold it. Then an instance at a location where it must hold
//! the lock is the one whose tid is in it: no other thread can take or give it back. `m` guards `x` if every action of
//! every thread that touches `x` starts where `m` must be held; so between two steps of the holder no thread touches `x`.
//! A must-analysis over the control flow, from "everything" downwards; at an entry nothing is held.
//! Deliberately absent: locks in maps, locks taken more than once, reader-writer locks: they guard nothing here.
//! In: a program, and what each action touches. Out: the locks held at each location, the locks that guard each
//! variable.

use super::footprint::ActionFootprint;
use base::IdVec;
use logic::Op;
use program::transition::must_sets;
use program::{Action, LocId, Program, Scope, ThreadId, VarId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct ExploreLocks {
    /// For each thread and location.
    must_lockset: Vec<IdVec<LocId, BTreeSet<VarId>>>,
    guards: FxHashMap<VarId, BTreeSet<VarId>>,
    none: BTreeSet<VarId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LockEffect {
    Takes,
    Gives,
    Other,
}

fn effect(program: &Program, a: &Action, m: VarId) -> Option<LockEffect> {
    let t = &program.terms;
    if a.spawn.as_ref().is_some_and(|s| s.into == Some(m)) {
        return Some(LockEffect::Other);
    }
    let value = a.updates.iter().find(|u| u.var == m)?.value;
    let x = t.sym(program.vars[m].symbol);
    let zero = t.num(0, program.vars[m].sort);
    let waits = t.conjuncts(a.guard).iter().any(|c| match t.app(*c) {
        Some((Op::Eq, args)) => (args[0] == x && args[1] == zero) || (args[0] == zero && args[1] == x),
        _ => false,
    });
    Some(match value {
        v if v == t.sym(program.tid) && waits => LockEffect::Takes,
        v if v == zero => LockEffect::Gives,
        _ => LockEffect::Other,
    })
}

impl ExploreLocks {
    pub(crate) fn of(program: &Program, touches: &[Vec<ActionFootprint>]) -> Self {
        let mut locks: Vec<VarId> = program
            .vars
            .iter_enumerated()
            .filter(|(id, v)| {
                let takes = |a: &Action| effect(program, a, *id) == Some(LockEffect::Takes);
                v.scope == Scope::Shared
                    && v.sort == logic::Sort::INT
                    && program.threads.iter().any(|t| t.code.actions.iter().any(takes))
            })
            .map(|(id, _)| id)
            .collect();
        // A write of any other kind, or from where it may not be held: not a lock. Others may then hold less.
        loop {
            let must_lockset = must_lockset(program, &locks);
            let broken = |m: &VarId| {
                program.threads.iter_enumerated().any(|(id, t)| {
                    t.code.actions.iter().any(|a| match effect(program, a, *m) {
                        None | Some(LockEffect::Takes) => false,
                        Some(LockEffect::Gives) => !must_lockset[id.index()][a.from].contains(m),
                        Some(LockEffect::Other) => true,
                    })
                })
            };
            let kept: Vec<VarId> = locks.iter().copied().filter(|m| !broken(m)).collect();
            if kept.len() == locks.len() {
                let guards = guards(program, touches, &must_lockset);
                return Self { must_lockset, guards, none: BTreeSet::new() };
            }
            locks = kept;
        }
    }
    /// What an instance at a location holds.
    pub(crate) fn must_lockset(&self, thread: ThreadId, at: LocId) -> &BTreeSet<VarId> {
        &self.must_lockset[thread.index()][at]
    }
    /// The locks that everyone holds who touches a variable.
    pub(crate) fn guards(&self, var: VarId) -> &BTreeSet<VarId> {
        self.guards.get(&var).unwrap_or(&self.none)
    }
}

fn must_lockset(program: &Program, locks: &[VarId]) -> Vec<IdVec<LocId, BTreeSet<VarId>>> {
    let all: BTreeSet<VarId> = locks.iter().copied().collect();
    let follow = |a: &Action, must_lockset: &mut BTreeSet<VarId>| {
        for m in locks {
            match effect(program, a, *m) {
                None => {}
                Some(LockEffect::Takes) => {
                    must_lockset.insert(*m);
                }
                Some(LockEffect::Gives | LockEffect::Other) => {
                    must_lockset.remove(m);
                }
            }
        }
    };
    let of = |t: &program::Thread| {
        let sets = must_sets(&t.code, BTreeSet::new(), follow);
        // Where no path leads everything is said to be held.
        sets.iter().map(|s| s.clone().unwrap_or_else(|| all.clone())).collect()
    };
    program.threads.iter().map(of).collect()
}

fn guards(
    program: &Program,
    touches: &[Vec<ActionFootprint>],
    must_lockset: &[IdVec<LocId, BTreeSet<VarId>>],
) -> FxHashMap<VarId, BTreeSet<VarId>> {
    let mut out: FxHashMap<VarId, BTreeSet<VarId>> = FxHashMap::default();
    for (t, (thread, actions)) in program.threads.iter().zip(touches).enumerate() {
        for (a, touch) in thread.code.actions.iter().zip(actions) {
            let here = &must_lockset[t][a.from];
            for v in touch.reads.union(&touch.writes).filter(|v| program.vars[**v].scope == Scope::Shared) {
                out.entry(*v).and_modify(|g| g.retain(|m| here.contains(m))).or_insert_with(|| here.clone());
            }
        }
    }
    // A lock is not guarded by itself: giving it back is what the others wait for.
    out.iter_mut().for_each(|(v, g)| {
        g.remove(v);
    });
    out
}
