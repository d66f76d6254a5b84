//! From an initial store to the store at a call, by steps of other threads and of the caller.
//!
//! In: the store that is wanted at the call. Out: an initial store and steps that lead from it to the wanted one, each of which
//! keeps to the access predicates, the invariants and the relies; or nothing, where no such steps are found: then the
//! store is not known to occur. The wanted heap is there from the start. Three orders are tried: others write and then the
//! caller takes its locks; the caller takes its locks and then writes; one write at a time.

use super::{BreachStart, guarded};
use evidence::Guard;
use logic::{SortKind, Value};
use program::semantics::{InstanceCounts, Sampling, Semantics, StepOutcome};
use program::stage::{ProcedureStage, StageEvent, StageHeap, Write};
use program::{VarId, VarKind};

/// The caller's thread, and another one.
const CALLER_TID: u32 = 1;
const OTHER_TID: u32 = 2;

/// The shared store at the start, where it is given by values and definitions; other places are open.
pub(super) fn undecided(stage: &ProcedureStage, sem: &Semantics<'_>) -> Vec<Value> {
    sem.undecided_start(&instances(stage)).map(|s| s.shared).unwrap_or_default()
}

/// The procedure's thread alone.
fn instances(stage: &ProcedureStage) -> InstanceCounts {
    InstanceCounts(stage.program.threads.ids().map(|t| u32::from(t == stage.thread)).collect())
}

pub(super) fn prepared(
    stage: &ProcedureStage,
    sem: &Semantics<'_>,
    guards: &[Guard],
    wanted: &[Value],
    own: Vec<Value>,
) -> Option<BreachStart> {
    let first = undecided(stage, sem);
    let decided = || {
        let few = Sampling::default();
        sem.initial(&instances(stage), few).states.into_iter().take(3).map(|(s, _)| s.shared)
    };
    std::iter::once(first).chain(decided()).find_map(|initial| {
        let store: Vec<Value> = (stage.shared.iter().zip(&initial).zip(wanted))
            .map(|((v, x), w)| {
                let heap = matches!(stage.program.vars[*v].kind, VarKind::Live(_) | VarKind::Field(_));
                if heap { w.clone() } else { filled(x, w) }
            })
            .collect();
        let start = stage.start(&store, &own).ok()?;
        stage.initial(sem, &start, StageHeap::Any).ok()?;
        let prefix = orders(stage, &store, wanted)?.into_iter().find(|events| {
            let mut state = start.clone();
            events.iter().all(|event| {
                let StageEvent::Other { thread, writes } = event else { return false };
                if !writes.iter().all(|w| guarded(stage, guards, &state, *thread, w.var)) {
                    return false;
                }
                let Ok((StepOutcome::Moved { state: next, .. }, _)) = stage.execute(sem, &state, event) else {
                    return false;
                };
                let keeps = stage.keeps(sem, &state.shared, &next, *thread).is_ok();
                state = next;
                keeps
            })
        })?;
        Some(BreachStart { store, own: own.clone(), prefix })
    })
}

/// The open places of an initial value, filled with what is wanted there.
fn filled(initial: &Value, wanted: &Value) -> Value {
    match (initial, wanted) {
        _ if !initial.is_open() => initial.clone(),
        (Value::Map(i), Value::Map(w)) if !i.default.is_open() => {
            let mut out = i.clone();
            for (k, x) in &i.entries {
                if x.is_open() {
                    out.set(k.clone(), filled(x, w.get(k)));
                }
            }
            Value::Map(out)
        }
        (Value::Map(i), Value::Map(w)) => {
            let mut out = w.clone();
            for (k, x) in i.entries.iter().filter(|(_, x)| !x.is_open()) {
                out.set(k.clone(), x.clone());
            }
            Value::Map(out)
        }
        _ => wanted.clone(),
    }
}

/// Steps that turn one store into another, in several orders; none where finitely many writes do not.
fn orders(stage: &ProcedureStage, from: &[Value], to: &[Value]) -> Option<Vec<Vec<StageEvent>>> {
    let (mut locks, mut plain) = (Vec::new(), Vec::new());
    for ((v, old), new) in stage.shared.iter().zip(from).zip(to).filter(|((_, old), new)| old != new) {
        let list = if stage.program.vars[*v].kind == VarKind::Lock { &mut locks } else { &mut plain };
        list.extend(writes(stage, *v, old, new)?);
    }
    let by = |thread: u32, writes: Vec<Write>| StageEvent::Other { thread, writes };
    let each =
        |thread: u32, list: &[Write]| -> Vec<StageEvent> { list.iter().map(|w| by(thread, vec![w.clone()])).collect() };
    let at_once = |thread: u32| -> Vec<StageEvent> {
        // A step writes each variable once.
        let mut rounds: Vec<Vec<Write>> = Vec::new();
        for w in &plain {
            match rounds.iter_mut().find(|r| r.iter().all(|x| x.var != w.var)) {
                Some(round) => round.push(w.clone()),
                None => rounds.push(vec![w.clone()]),
            }
        }
        rounds.into_iter().map(|r| by(thread, r)).collect()
    };
    let taken = each(CALLER_TID, &locks);
    Some(vec![
        [at_once(OTHER_TID), taken.clone()].concat(),
        [taken.clone(), at_once(CALLER_TID)].concat(),
        [each(OTHER_TID, &plain), taken].concat(),
    ])
}

/// The entries of a variable that differ.
fn writes(stage: &ProcedureStage, var: VarId, old: &Value, new: &Value) -> Option<Vec<Write>> {
    let map = matches!(stage.program.terms.kind(stage.program.vars[var].sort), SortKind::Map(..));
    match (old, new) {
        (Value::Map(a), Value::Map(b)) if map => {
            if a.default != b.default {
                return None;
            }
            let mut keys: Vec<&Value> = a.entries.keys().chain(b.entries.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            let differ = keys.into_iter().filter(|k| a.get(k) != b.get(k));
            Some(differ.map(|k| Write { var, keys: vec![k.clone()], value: b.get(k).clone() }).collect())
        }
        _ => Some(vec![Write { var, keys: Vec::new(), value: new.clone() }]),
    }
}
