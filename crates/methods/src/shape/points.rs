//! Candidates for linearization points of operations that have no marks.
//!
//! In: an object. Out: assignments of one step to each such operation that can change the specification or tells something of its state, the likely ones
//! first. A guess is only a guess: what it leads to is proved or not. Outcomes that change nothing need no point, see `step::witness`.
//! Deliberately absent: points in another thread's step for outcomes that change the specification (helping, elimination).

use evidence::views::{Fires, SpecPoint};
use logic::{Op, SortKind};
use program::{ActionId, Mark, ObjectId, Operation, Program, Scope, Update, VarKind};

/// The largest number of assignments that are tried.
const MAX_ASSIGNMENTS: usize = 96;

pub(crate) fn assignments(program: &Program, object: ObjectId) -> Vec<Vec<SpecPoint>> {
    let o = &program.objects[object];
    let mut out: Vec<(usize, Vec<SpecPoint>)> = vec![(0, Vec::new())];
    for (i, (op, spec)) in o.ops.iter().zip(&o.spec.ops).enumerate() {
        let marked = op.code.actions.iter().any(|a| a.marks.iter().any(|m| matches!(m, Mark::Linearize(_))));
        let changes = spec.code.actions.iter().any(|a| a.updates.iter().any(|u| o.spec.vars.contains(&u.var)));
        // What gives known results and changes nothing needs no point; what tells something of the state does.
        let tells = |u: &Update| {
            let symbols = program.terms.free_symbols(u.value);
            spec.results.contains(&u.var) && o.spec.vars.iter().any(|v| symbols.contains(&program.vars[*v].symbol))
        };
        let tells = spec.code.actions.iter().any(|a| a.updates.iter().any(tells));
        let set = o.spec.vars.iter().any(|v| matches!(program.terms.kind(program.vars[*v].sort), SortKind::Set(_)));
        if marked || !(changes || (tells && !set)) {
            continue;
        }
        let found = candidates(program, op);
        out = out
            .into_iter()
            .flat_map(|(rank, points)| {
                found.iter().enumerate().map(move |(r, (action, when))| {
                    let mut points = points.clone();
                    points.push(SpecPoint { operation: i as u32, action: *action, when: *when });
                    (rank + r, points)
                })
            })
            .collect();
    }
    out.sort_by_key(|(rank, _)| *rank);
    out.truncate(MAX_ASSIGNMENTS);
    out.into_iter().map(|(_, p)| p).collect()
}

/// Whether a field is written of an object that the operation has made: seldom seen by anybody.
fn in_new(program: &Program, op: &Operation, update: &Update) -> bool {
    let t = &program.terms;
    let Some((Op::Store, args)) = t.app(update.value) else { return false };
    let Some((object, _)) = t.as_symbol(args[1]).and_then(|s| program.var_of(s)) else { return false };
    let mut assigned = op.code.actions.iter().flat_map(|a| a.updates.iter().map(move |u| (a, u)));
    program.vars[object].scope != Scope::Shared
        && assigned.all(|(a, u)| {
            let makes = a.updates.iter().any(|u| matches!(program.vars[u.var].kind, VarKind::Live(_)));
            u.var != object || (makes && t.as_symbol(u.value).is_some_and(|s| a.inputs.contains(&s)))
        })
}

/// Steps that write something shared, compare-and-swap first; then steps that read something shared; last writes to new objects.
fn candidates(program: &Program, op: &Operation) -> Vec<(ActionId, Fires)> {
    let mut ranked: Vec<(u32, ActionId, Fires)> = Vec::new();
    // Fields that hold the ids of threads are locks.
    let holds_tid =
        |t| matches!(program.terms.app(t), Some((Op::Store, a)) if program.terms.as_symbol(a[2]) == Some(program.tid));
    let updates = op.code.actions.iter().flat_map(|a| &a.updates);
    let locks: Vec<_> = updates.filter(|u| holds_tid(u.value)).map(|u| u.var).collect();
    // References and flags before numbers: what is stored in an object that is being made is most often a number.
    let plain = |u: &program::Update| {
        let sort = program.vars[u.var].sort;
        let entry = match program.terms.kind(sort) {
            SortKind::Map(_, entry) => entry,
            _ => sort,
        };
        entry.is_integer()
    };
    for (id, action) in op.code.actions.iter_enumerated() {
        let makes = action.updates.iter().any(|u| matches!(program.vars[u.var].kind, VarKind::Live(_)));
        let writes: Vec<_> = action
            .updates
            .iter()
            .filter(|u| {
                let v = &program.vars[u.var];
                v.scope == Scope::Shared && v.kind != VarKind::Lock && !locks.contains(&u.var)
            })
            .collect();
        if makes {
            continue;
        }
        let conditional = |t| match program.terms.app(t) {
            Some((Op::Ite, _)) => true,
            Some((Op::Store, a)) => matches!(program.terms.app(a[2]), Some((Op::Ite, _))),
            _ => false,
        };
        if writes.is_empty() {
            let symbols = action.updates.iter().flat_map(|u| program.terms.free_symbols(u.value));
            let reads = symbols.filter_map(|s| program.var_of(s)).any(|(v, _)| {
                let v = &program.vars[v];
                v.scope == Scope::Shared && v.kind != VarKind::Lock
            });
            if reads {
                ranked.push((3, id, Fires::Always));
            }
        } else if writes.iter().all(|u| in_new(program, op, u)) {
            ranked.push((4, id, Fires::Change));
        } else if writes.iter().any(|u| conditional(u.value)) {
            ranked.push((0, id, Fires::Change));
        } else {
            ranked.push((if writes.iter().all(|u| plain(u)) { 2 } else { 1 }, id, Fires::Change));
        }
    }
    ranked.sort_by_key(|(rank, id, _)| (*rank, *id));
    ranked.into_iter().map(|(_, id, when)| (id, when)).collect()
}
