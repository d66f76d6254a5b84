//! Guesses of the linearization points at which an object's operations take effect.
//!
//! In: an object. Out: lists of linearization points, the likely ones first. A guess is only a guess: what it leads to is
//! proved or not. An operation with marks has its linearization points there. Any other may take effect for good at one step that
//! writes something shared (compare-and-swap first), and may note an outcome that changes nothing at all its steps that
//! read something shared, or at one of them.

use logic::Op;
use program::callers::{LinearizationPoint, PointEffect};
use program::{Action, ActionId, Mark, ObjectId, Operation, Program, Scope, VarId, VarKind};

/// The largest number of guesses.
const MAX_GUESSES: usize = 96;

pub(crate) fn guesses(program: &Program, object: ObjectId) -> Vec<Vec<LinearizationPoint>> {
    let o = &program.objects[object];
    let mut out: Vec<(usize, Vec<LinearizationPoint>)> = vec![(0, Vec::new())];
    for (k, (op, spec)) in o.ops.iter().zip(&o.spec.ops).enumerate() {
        let marked = op.code.actions.iter().any(|a| a.marks.iter().any(|m| matches!(m, Mark::Linearize(_))));
        if marked {
            continue;
        }
        let changes = spec.code.actions.iter().any(|a| a.updates.iter().any(|u| o.spec.vars.contains(&u.var)));
        let choices = choices(program, op, k as u32, changes);
        out = out
            .into_iter()
            .flat_map(|(rank, so_far)| {
                choices.iter().enumerate().map(move |(r, more)| {
                    let mut all = so_far.clone();
                    all.extend(more);
                    (rank + r, all)
                })
            })
            .collect();
        out.sort_by_key(|(rank, _)| *rank);
        out.truncate(MAX_GUESSES);
    }
    out.into_iter().map(|(_, linearization_points)| linearization_points).collect()
}

/// The choices for one operation, the likely ones first.
fn choices(program: &Program, op: &Operation, operation: u32, changes: bool) -> Vec<Vec<LinearizationPoint>> {
    let mut writes: Vec<(bool, ActionId)> = Vec::new();
    let mut reads: Vec<ActionId> = Vec::new();
    for (id, a) in op.code.actions.iter_enumerated() {
        let written: Vec<_> = a.updates.iter().filter(|u| data(program, u.var)).collect();
        if !written.is_empty() {
            let conditional = |t| matches!(program.terms.app(t), Some((Op::Ite, _)));
            writes.push((!written.iter().any(|u| conditional(u.value)), id));
        }
        if reads_data(program, a) {
            reads.push(id);
        }
    }
    writes.sort();
    let moment = |action, effect| LinearizationPoint { operation, action, effect };
    let mut pure: Vec<Vec<LinearizationPoint>> = vec![reads.iter().map(|a| moment(*a, PointEffect::Reads)).collect()];
    if reads.len() > 1 {
        pure.extend(reads.iter().map(|a| vec![moment(*a, PointEffect::Reads)]));
    }
    let mut effects: Vec<Vec<LinearizationPoint>> = Vec::new();
    if changes {
        effects.extend(writes.iter().map(|(_, a)| vec![moment(*a, PointEffect::Writes)]));
        if writes.len() > 1 {
            effects.push(writes.iter().map(|(_, a)| moment(*a, PointEffect::Writes)).collect());
        }
    }
    if effects.is_empty() {
        effects.push(Vec::new());
    }
    let mut out: Vec<(usize, Vec<LinearizationPoint>)> = Vec::new();
    for (i, e) in effects.iter().enumerate() {
        for (j, p) in pure.iter().enumerate() {
            out.push((i + j, e.iter().chain(p).copied().collect()));
        }
    }
    out.sort_by_key(|(rank, _)| *rank);
    out.into_iter().map(|(_, m)| m).collect()
}

fn data(program: &Program, v: VarId) -> bool {
    let v = &program.vars[v];
    v.scope == Scope::Shared && v.kind != VarKind::Lock
}

fn reads_data(program: &Program, a: &Action) -> bool {
    let terms = a.updates.iter().map(|u| u.value).chain([a.guard]);
    let symbols = terms.flat_map(|t| program.terms.free_symbols(t));
    symbols.filter_map(|s| program.var_of(s)).any(|(v, _)| data(program, v))
}
