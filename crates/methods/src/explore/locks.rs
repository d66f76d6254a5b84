//! Locks, read off the program text: which an instance must hold at a location, and which variables each guards.
//!
//! A shared integer is a lock if every action that writes it either takes it (waits for 0, writes the own tid) or gives
//! it back (writes 0) from a location where the thread must hold it. Then an instance at a location where it must hold
//! the lock is the one whose tid is in it: nobody else can take or give it back. `m` guards `x` if every action of
//! every thread that touches `x` starts where `m` must be held; so between two steps of the holder nobody touches `x`.
//! A must-analysis over the control flow, from "everything" downwards; at an entry nothing is held.
//! Absent: locks in maps, locks taken more than once, reader-writer locks: they guard nothing here.

use super::facts::Touch;
use logic::Op;
use program::{Action, LocId, Program, Scope, ThreadId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Debug, Default)]
pub struct Locks {
    /// For each thread and location.
    held: Vec<Vec<FxHashSet<VarId>>>,
    guards: FxHashMap<VarId, FxHashSet<VarId>>,
    none: FxHashSet<VarId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Takes,
    Gives,
    Other,
}

fn effect(program: &Program, a: &Action, m: VarId) -> Option<Effect> {
    let t = &program.terms;
    if a.spawn.as_ref().is_some_and(|s| s.into == Some(m)) {
        return Some(Effect::Other);
    }
    let value = a.updates.iter().find(|u| u.var == m)?.value;
    let x = t.sym(program.vars[m].symbol);
    let zero = t.num(0, program.vars[m].sort);
    let waits = t.conjuncts(a.guard).iter().any(|c| match t.app(*c) {
        Some((Op::Eq, args)) => (args[0] == x && args[1] == zero) || (args[0] == zero && args[1] == x),
        _ => false,
    });
    Some(match value {
        v if v == t.sym(program.tid) && waits => Effect::Takes,
        v if v == zero => Effect::Gives,
        _ => Effect::Other,
    })
}

impl Locks {
    pub fn of(program: &Program, touches: &[Vec<Touch>]) -> Self {
        let mut locks: Vec<VarId> = program
            .vars
            .iter_enumerated()
            .filter(|(id, v)| {
                let takes = |a: &Action| effect(program, a, *id) == Some(Effect::Takes);
                v.scope == Scope::Shared
                    && v.sort == logic::Sort::INT
                    && program.threads.iter().any(|t| t.code.actions.iter().any(takes))
            })
            .map(|(id, _)| id)
            .collect();
        // A write of any other kind, or from where it may not be held: not a lock. Others may then hold less.
        loop {
            let held = held(program, &locks);
            let broken = |m: &VarId| {
                program.threads.iter_enumerated().any(|(id, t)| {
                    t.code.actions.iter().any(|a| match effect(program, a, *m) {
                        None | Some(Effect::Takes) => false,
                        Some(Effect::Gives) => !held[id.0 as usize][a.from.0 as usize].contains(m),
                        Some(Effect::Other) => true,
                    })
                })
            };
            let kept: Vec<VarId> = locks.iter().copied().filter(|m| !broken(m)).collect();
            if kept.len() == locks.len() {
                let guards = guards(program, touches, &held);
                return Self { held, guards, none: FxHashSet::default() };
            }
            locks = kept;
        }
    }
    /// What an instance at a location holds.
    pub fn held(&self, thread: ThreadId, at: LocId) -> &FxHashSet<VarId> {
        &self.held[thread.0 as usize][at.0 as usize]
    }
    /// The locks that everyone holds who touches a variable.
    pub fn guards(&self, var: VarId) -> &FxHashSet<VarId> {
        self.guards.get(&var).unwrap_or(&self.none)
    }
}

fn held(program: &Program, locks: &[VarId]) -> Vec<Vec<FxHashSet<VarId>>> {
    let all: FxHashSet<VarId> = locks.iter().copied().collect();
    let mut out = Vec::new();
    for t in program.threads.iter() {
        let mut at = vec![all.clone(); t.code.locations.len()];
        at[t.code.entry.0 as usize].clear();
        let mut changed = true;
        while changed {
            changed = false;
            for a in t.code.actions.iter() {
                let mut after = at[a.from.0 as usize].clone();
                for m in locks {
                    match effect(program, a, *m) {
                        None => {}
                        Some(Effect::Takes) => {
                            after.insert(*m);
                        }
                        Some(Effect::Gives | Effect::Other) => {
                            after.remove(m);
                        }
                    }
                }
                let to = &mut at[a.to.0 as usize];
                let before = to.len();
                to.retain(|m| after.contains(m));
                changed |= to.len() != before;
            }
        }
        out.push(at);
    }
    out
}

fn guards(
    program: &Program,
    touches: &[Vec<Touch>],
    held: &[Vec<FxHashSet<VarId>>],
) -> FxHashMap<VarId, FxHashSet<VarId>> {
    let mut out: FxHashMap<VarId, FxHashSet<VarId>> = FxHashMap::default();
    for (t, (thread, actions)) in program.threads.iter().zip(touches).enumerate() {
        for (a, touch) in thread.code.actions.iter().zip(actions) {
            let here = &held[t][a.from.0 as usize];
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
