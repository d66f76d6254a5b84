//! Which lock guards which variable: candidates from the locks held at every access.
//!
//! In: a program. Out: for shared variables without an access predicate, a lock that is surely held wherever the program's code
//! touches them. Held locks are followed along the code (`lock := tid`, `lock := 0`), what `requires` says is held at
//! the entry, and paths that meet keep what both hold. These are candidates: the search shows them or drops them.

use evidence::Guard;
use logic::{Op, SortKind, Term, Terms};
use program::access::{Touches, constants};
use program::call_summaries::{CallSummaries, CodeUnit};
use program::transition::must_sets;
use program::{Action, Program, Scope, VarId, VarKind};
use std::collections::{BTreeMap, BTreeSet};

/// A lock, at a key where it is a map.
type Held = BTreeSet<(VarId, Option<Term>)>;

/// One guard for each variable that has a candidate.
pub(crate) fn candidates(basis: &CallSummaries, roots: &[CodeUnit]) -> Vec<Guard> {
    let p = &basis.program;
    let t = &p.terms;
    let touches = Touches::new(p, t);
    let constants = constants(p);
    let open = |v: VarId| {
        let var = &p.vars[v];
        let plain = var.scope == Scope::Shared && var.kind == VarKind::Plain && !constants.contains(&v);
        plain && var.access.as_ref().is_none_or(|a| a.formula.is_none())
    };
    // For each variable, the locks held at every access so far.
    let mut common: BTreeMap<VarId, BTreeSet<VarId>> = BTreeMap::new();
    for unit in roots {
        let code = basis.code(*unit);
        let of_calls = basis.unit(*unit).map(|u| u.of_calls.clone()).unwrap_or_default();
        let held = must_sets(code, entry(p, t, *unit), |a, held| follow(p, t, a, held));
        for (id, action) in code.actions.iter_enumerated() {
            if action.relation.is_some() && of_calls.contains(&id) {
                continue;
            }
            let Some(now) = &held[action.from] else { continue };
            for touch in touches.of(action).into_iter().filter(|x| open(x.place.var)) {
                let var = touch.place.var;
                let fits = now.iter().filter(|(lock, key)| match (t.kind(p.vars[var].sort), key) {
                    (_, None) => true,
                    (SortKind::Map(k, _), Some(key)) => {
                        touch.place.keys.first() == Some(key)
                            && matches!(t.kind(p.vars[*lock].sort), SortKind::Map(l, _) if l == k)
                    }
                    _ => false,
                });
                let here: BTreeSet<VarId> = fits.map(|(lock, _)| *lock).collect();
                match common.get_mut(&var) {
                    Some(list) => list.retain(|l| here.contains(l)),
                    None => {
                        common.insert(var, here);
                    }
                }
            }
        }
    }
    common.into_iter().filter_map(|(var, locks)| locks.first().map(|lock| Guard { var, lock: *lock })).collect()
}

/// What `requires` says is held.
fn entry(p: &Program, t: &Terms, unit: CodeUnit) -> Held {
    let CodeUnit::Procedure(q) = unit else { return Held::new() };
    let facts = p.procedures[q].requires.iter().filter_map(|f| f.formula).flat_map(|f| t.conjuncts(f));
    let tid = t.sym(p.tid);
    facts
        .filter_map(|f| match t.app(f) {
            Some((Op::Eq, args)) if args[1] == tid => lock(p, t, args[0]),
            Some((Op::Eq, args)) if args[0] == tid => lock(p, t, args[1]),
            _ => None,
        })
        .collect()
}

/// A term that is a lock, or an entry of a map of locks.
fn lock(p: &Program, t: &Terms, term: Term) -> Option<(VarId, Option<Term>)> {
    let (base, key) = match t.app(term) {
        Some((Op::Select, args)) => (args[0], Some(args[1])),
        _ => (term, None),
    };
    let symbol = t.as_symbol(base)?;
    let v = p.shared().find(|v| p.vars[*v].symbol == symbol && p.vars[*v].kind == VarKind::Lock)?;
    Some((v, key))
}

/// Follows an action: what is held after it.
fn follow(p: &Program, t: &Terms, action: &Action, held: &mut Held) {
    let tid = t.sym(p.tid);
    for u in &action.updates {
        // A key that changes names another lock now.
        let symbol = p.vars[u.var].symbol;
        held.retain(|(_, key)| key.is_none_or(|k| !t.free_symbols(k).contains(&symbol)));
    }
    for u in action.updates.iter().filter(|u| p.vars[u.var].kind == VarKind::Lock) {
        match t.app(u.value) {
            Some((Op::Store, args)) if t.as_symbol(args[0]) == Some(p.vars[u.var].symbol) => {
                if args[2] == tid {
                    held.insert((u.var, Some(args[1])));
                } else {
                    // Another key may be the same one.
                    held.retain(|(l, _)| *l != u.var);
                }
            }
            _ if u.value == tid => {
                held.insert((u.var, None));
            }
            _ => held.retain(|(l, _)| *l != u.var),
        }
    }
}

/// The guard as a declaration of the language.
pub(crate) fn shown(p: &Program, g: Guard) -> String {
    let (var, lock) = (&p.vars[g.var], &p.vars[g.lock]);
    let keyed = matches!(p.terms.kind(lock.sort), SortKind::Map(..));
    let access = if keyed {
        format!("accessible_if[j] {0}[j] == 0 || {0}[j] == tid", lock.name)
    } else {
        format!("guarded_by {}", lock.name)
    };
    format!("var {}: {} {access}", var.name, p.terms.sort_name(var.sort))
}
