//! What another thread sees of a step depends on little of the view of the thread that moves.
//!
//! In: a view and the step its thread takes. Out: a weaker view that keeps the shared variables, what the step looks at and the cells that
//! these certainly lead to. Every state that the view holds in satisfies the weaker one too, so the check of a pair is done once for all views
//! that are weakened to the same one; views with the same variables and cells are joined for it. Nothing is assumed to be kept: whatever is left out only admits more states.

use super::fragment::kind;
use super::step::FragmentStep;
use evidence::views::{CellOwner, Fires, OperationProgress, Val, View, ViewCell};
use logic::{SortKind, Symbol, Term};
use program::{Scope, VarId};
use rustc_hash::FxHashSet;

/// What views must have in common to be joined: everything but what fields may be, and which groups there are.
pub(crate) fn skeleton(view: &View) -> View {
    let bare = |c: &ViewCell| {
        let colours = kind(c).2;
        let mut fields = vec![Vec::new(); c.fields.len()];
        for (f, v) in colours {
            fields[f].push(v);
        }
        ViewCell { fields, successor: Vec::new(), single_predecessor: false, unshared: false, ..c.clone() }
    };
    let open = view.open.iter().map(|(v, _)| (*v, Vec::new())).collect();
    View { cells: view.cells.iter().map(bare).collect(), groups: Vec::new(), open, ..view.clone() }
}

/// Weakens `into` until it holds wherever `from`, a view of the same skeleton, holds: a field may be what either says.
pub(crate) fn join_views(into: &mut View, from: &View) {
    let mut to = Vec::new();
    for g in &from.groups {
        let at = into.groups.iter().position(|h| kind(h) == kind(g)).unwrap_or_else(|| {
            let fields = g.fields.iter().map(|_| Vec::new()).collect();
            into.groups.push(ViewCell { fields, successor: Vec::new(), ..g.clone() });
            into.groups.len() - 1
        });
        to.push(at as u16);
    }
    let moved = |v: &Val| match v {
        Val::Group(g) => Val::Group(to[*g as usize]),
        v => *v,
    };
    let merge = |a: &mut ViewCell, b: &ViewCell| {
        a.single_predecessor &= b.single_predecessor;
        a.unshared &= b.unshared;
        let lists = a.fields.iter_mut().zip(&b.fields).chain(std::iter::once((&mut a.successor, &b.successor)));
        for (list, more) in lists {
            list.extend(more.iter().map(moved));
            list.sort_unstable();
            list.dedup();
        }
    };
    for ((_, list), (_, more)) in into.open.iter_mut().zip(&from.open) {
        list.extend(more.iter().map(moved));
        list.sort_unstable();
        list.dedup();
    }
    for (a, b) in into.cells.iter_mut().zip(&from.cells) {
        merge(a, b);
    }
    for (b, at) in from.groups.iter().zip(&to) {
        merge(&mut into.groups[*at as usize], b);
    }
}

/// The variables that the step may look at.
fn looked_at(step: &FragmentStep<'_>) -> FxHashSet<VarId> {
    let program = step.program;
    let mut terms: Vec<Term> = vec![step.action.guard];
    terms.extend(step.action.gates.iter().map(|g| g.formula));
    terms.extend(step.action.updates.iter().map(|u| u.value));
    if let Some(Fires::When(e)) = step.fires {
        terms.push(e);
    }
    let symbols = terms.into_iter().flat_map(|t| program.terms.free_symbols(t));
    let mut out: FxHashSet<VarId> = symbols.filter_map(|s: Symbol| step.names.get(&s).copied()).collect();
    if let (Some(_), Some(call)) = (step.fires, &step.call) {
        out.extend(call.arguments.iter().copied());
    }
    out
}

/// The view, weakened to what matters for the step.
pub(crate) fn weaken_for_step(view: &View, step: &FragmentStep<'_>) -> View {
    let looked = looked_at(step);
    let cell = |v: &Val| if let Val::Cell(i) = v { Some(*i as usize) } else { None };
    let shared = |v: &VarId| step.program.vars[*v].scope == Scope::Shared;
    // Where views say who refers to what, all that the thread refers to matters; and what its values are named by, where another may get a name.
    let numbers =
        |v: VarId| matches!(step.program.terms.kind(step.program.vars[v].sort), SortKind::Map(_, e) if e.is_integer());
    let names = step.call.is_none() && step.action.updates.iter().any(|u| numbers(u.var));
    let refers = |x: &Val| (step.tracked || names) && cell(x).is_some();
    let mut keep: Vec<bool> = view.vars.iter().map(|(v, x)| shared(v) || looked.contains(v) || refers(x)).collect();
    let mut named = vec![false; view.cells.len()];
    let mut todo: Vec<usize> = Vec::new();
    let fires = step.fires.is_some();
    let ghosts = view.ends.iter().chain(&view.crossing).flat_map(|(a, b)| [*a, *b]);
    let ghosts = ghosts.chain(if fires { results(&view.done) } else { Vec::new() });
    todo.extend(ghosts.filter_map(|v| cell(&v)));
    todo.extend(view.vars.iter().zip(&keep).filter(|(_, k)| **k).filter_map(|((_, v), _)| cell(v)));
    // A cell of the thread's own that something else refers to is never left out.
    let referred = |d: usize| {
        let all = view.cells.iter().chain(&view.groups);
        all.flat_map(|c| c.fields.iter().flatten().chain(&c.successor)).any(|v| cell(v) == Some(d))
    };
    todo.extend((0..view.cells.len()).filter(|d| view.cells[*d].owner == CellOwner::Mine && referred(*d)));
    while let Some(c) = todo.pop() {
        if std::mem::replace(&mut named[c], true) {
            continue;
        }
        if let Some(i) = view.vars.iter().position(|(_, v)| cell(v) == Some(c)) {
            // One name is enough; where a kept variable has it already this changes nothing.
            let has_name = view.vars.iter().zip(&keep).any(|((_, v), k)| *k && cell(v) == Some(c));
            keep[i] |= !has_name
                && !view.ends.iter().chain(&view.crossing).any(|(a, b)| cell(a) == Some(c) || cell(b) == Some(c));
        }
        let lists = view.cells[c].fields.iter().chain(std::iter::once(&view.cells[c].successor));
        todo.extend(lists.filter(|l| l.len() == 1).filter_map(|l| cell(&l[0])));
    }
    let mut kept = view.clone();
    kept.open.retain(|(v, _)| looked.contains(v));
    rebuild(&kept, &keep, &named, fires)
}

fn results(done: &OperationProgress) -> Vec<Val> {
    match done {
        OperationProgress::No => Vec::new(),
        OperationProgress::Pure(r) | OperationProgress::Changed(r) => r.clone(),
    }
}

/// The view with the kept variables and named cells; other published cells go to the groups of their kinds.
fn rebuild(view: &View, keep: &[bool], named: &[bool], fires: bool) -> View {
    let mut groups = view.groups.clone();
    let mut to: Vec<Option<Val>> = vec![None; view.cells.len()];
    let mut count = 0;
    for (i, c) in view.cells.iter().enumerate() {
        if named[i] {
            to[i] = Some(Val::Cell(count));
            count += 1;
        } else if c.owner == CellOwner::Published {
            let at = groups.iter().position(|g| kind(g) == kind(c));
            let at = at.unwrap_or_else(|| {
                let fields = vec![Vec::new(); c.fields.len()];
                groups.push(ViewCell { fields, successor: Vec::new(), ..c.clone() });
                groups.len() - 1
            });
            let g = &mut groups[at];
            g.single_predecessor &= c.single_predecessor;
            g.unshared &= c.unshared;
            for (into, from) in g.fields.iter_mut().zip(&c.fields) {
                into.extend(from);
            }
            g.successor.extend(&c.successor);
            to[i] = Some(Val::Group(at as u16));
        }
    }
    let moved = |v: Val| match v {
        Val::Cell(i) => to[i as usize],
        v => Some(v),
    };
    let list = |l: &[Val]| {
        let mut out: Vec<Val> = l.iter().filter_map(|v| moved(*v)).collect();
        out.sort_unstable();
        out.dedup();
        out
    };
    let cell = |c: &ViewCell| ViewCell {
        fields: c.fields.iter().map(|f| list(f)).collect(),
        successor: list(&c.successor),
        ..c.clone()
    };
    let value = |v: Val| moved(v).unwrap_or(Val::Any);
    View {
        control: view.control,
        vars: view.vars.iter().zip(keep).filter(|(_, k)| **k).map(|((v, x), _)| (*v, value(*x))).collect(),
        open: view.open.iter().map(|(v, l)| (*v, list(l))).collect(),
        ends: view.ends.map(|(a, b)| (value(a), value(b))),
        member: view.member,
        crossing: view.crossing.map(|(a, b)| (value(a), value(b))),
        done: match &view.done {
            OperationProgress::Pure(r) if fires => OperationProgress::Pure(r.iter().map(|v| value(*v)).collect()),
            OperationProgress::Changed(r) if fires => OperationProgress::Changed(r.iter().map(|v| value(*v)).collect()),
            _ => OperationProgress::No,
        },
        witnessed: 0,
        cells: view.cells.iter().zip(named).filter(|(_, n)| **n).map(|(c, _)| cell(c)).collect(),
        groups: groups.iter().map(cell).collect(),
    }
}
