//! Loop-free pieces of code as formulas of linear size.
//!
//! In: code, a location to start from and the locations to stop at. Out: for each location between them when it is reached and
//! what the variables are there, for each action when it is taken, and what arrives at each stop. Where paths meet, values
//! are joined by `if then else`, so that the formulas grow with the code and not with its paths (Flanagan and Saxe).
//! Terms are over the store at the start, the inputs of the actions (each action occurs once) and fresh symbols
//! for choices. A step that fails a gate goes no further. A cycle that meets no stop is an error.

use crate::code::{Action, ActionId, Code, LocId};
use crate::model::{Program, VarId};
use crate::transition::{Cycle, topological_order};
use logic::{Op, Sort, Term, Terms};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What variables are, in terms of the start; a variable that is not listed is as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolicStore(BTreeMap<VarId, Term>);

impl SymbolicStore {
    /// The store with these values.
    pub(crate) fn of(values: impl IntoIterator<Item = (VarId, Term)>) -> Self {
        Self(values.into_iter().collect())
    }
    pub fn value(&self, program: &Program, terms: &Terms, var: VarId) -> Term {
        self.0.get(&var).copied().unwrap_or_else(|| terms.sym(program.vars[var].symbol))
    }
    /// The store with another value of a variable.
    pub fn set(&mut self, var: VarId, value: Term) {
        self.0.insert(var, value);
    }
    /// A term over this store, as one over the start.
    pub fn read(&self, program: &Program, terms: &Terms, term: Term) -> Term {
        if self.0.is_empty() {
            return term;
        }
        terms.substitute(term, self.0.iter().map(|(v, x)| (program.vars[*v].symbol, *x)))
    }
    pub fn after(&self, program: &Program, terms: &Terms, action: &Action) -> SymbolicStore {
        let mut out = self.clone();
        for u in &action.updates {
            out.0.insert(u.var, self.read(program, terms, u.value));
        }
        out
    }
    /// Every variable that may differ from the start.
    pub fn changed(&self) -> impl Iterator<Item = (VarId, Term)> + '_ {
        self.0.iter().map(|(v, x)| (*v, *x))
    }
}

/// A location of the piece: when it is reached, with what.
#[derive(Clone, Debug)]
pub struct PiecePoint {
    pub reached: Term,
    pub store: SymbolicStore,
    /// Whether a step that commits was taken.
    pub committed: Term,
}

/// An action of the piece.
#[derive(Clone, Debug)]
pub struct Taken {
    pub action: ActionId,
    /// Its location is reached, it was chosen, its guard holds.
    pub tried: Term,
    /// Also its gates hold.
    pub taken: Term,
    pub before: SymbolicStore,
    pub after: SymbolicStore,
    /// Before the step.
    pub committed: Term,
}

#[derive(Clone, Debug)]
pub struct CodePiece {
    pub start: LocId,
    /// In an order in which every step comes after those before it; the start first.
    pub points: Vec<(LocId, PiecePoint)>,
    pub steps: Vec<Taken>,
    /// What arrives at the stops, which may be the start again.
    pub ends: Vec<(LocId, PiecePoint)>,
}

/// Where a piece begins and ends.
pub struct PieceBounds<'a> {
    pub start: LocId,
    pub stops: &'a dyn Fn(LocId) -> bool,
    /// Whether a step commits.
    pub commits: &'a dyn Fn(ActionId) -> bool,
    /// Whether the piece starts committed.
    pub committed: bool,
}

pub fn piece(program: &Program, terms: &Terms, code: &Code, bounds: &PieceBounds<'_>) -> Result<CodePiece, Cycle> {
    let outgoing = code.outgoing();
    let order = topological_order(code, &outgoing, bounds.start, bounds.stops)?;
    let mut out = CodePiece { start: bounds.start, points: Vec::new(), steps: Vec::new(), ends: Vec::new() };
    let mut incoming: FxHashMap<LocId, Vec<(Term, SymbolicStore, Term)>> = FxHashMap::default();
    for at in &order {
        let point = if *at == bounds.start {
            PiecePoint { reached: terms.tt(), store: SymbolicStore::default(), committed: terms.bool(bounds.committed) }
        } else {
            join(program, terms, incoming.remove(at).unwrap_or_default())
        };
        let mut rest = point.reached;
        let actions = &outgoing[*at];
        let apart = exclusive(terms, code, actions);
        for (i, id) in actions.iter().enumerate() {
            let action = &code.actions[*id];
            let mut parts = vec![rest];
            if !apart && i + 1 < actions.len() {
                let choice = terms.sym(terms.symbol(format!("choose {at}.{i}"), Sort::BOOL));
                parts.push(choice);
                rest = and(terms, &[rest, terms.not(choice)]);
            }
            parts.push(point.store.read(program, terms, action.guard));
            let tried = and(terms, &parts);
            let mut parts = vec![tried];
            parts.extend(action.gates.iter().map(|g| point.store.read(program, terms, g.formula)));
            let taken = and(terms, &parts);
            let after = point.store.after(program, terms, action);
            let committed = if (bounds.commits)(*id) { terms.tt() } else { point.committed };
            incoming.entry(action.to).or_default().push((taken, after.clone(), committed));
            let (before, committed) = (point.store.clone(), point.committed);
            out.steps.push(Taken { action: *id, tried, taken, before, after, committed });
        }
        out.points.push((*at, point));
    }
    let mut ends: Vec<(LocId, Vec<(Term, SymbolicStore, Term)>)> = incoming.into_iter().collect();
    ends.sort_by_key(|(at, _)| *at);
    out.ends = ends.into_iter().map(|(at, ways)| (at, join(program, terms, ways))).collect();
    Ok(out)
}

/// Conjunction without the trivial parts.
fn and(terms: &Terms, parts: &[Term]) -> Term {
    let parts: Vec<Term> = parts.iter().copied().filter(|p| !terms.is_true(*p)).collect();
    match parts[..] {
        [] => terms.tt(),
        [one] => one,
        _ => terms.and(&parts),
    }
}

/// Whether at most one of the actions can be taken in any store: `e` and `!e`.
fn exclusive(terms: &Terms, code: &Code, actions: &[ActionId]) -> bool {
    let guard = |id: ActionId| code.actions[id].guard;
    let negates = |a: Term, b: Term| matches!(terms.app(a), Some((Op::Not, args)) if args[0] == b);
    match actions {
        [_] => true,
        [a, b] => negates(guard(*a), guard(*b)) || negates(guard(*b), guard(*a)),
        _ => false,
    }
}

/// Ways that exclude each other, as one.
fn join(program: &Program, terms: &Terms, ways: Vec<(Term, SymbolicStore, Term)>) -> PiecePoint {
    let reached = match &ways[..] {
        [] => terms.ff(),
        [(taken, ..)] => *taken,
        _ => terms.or(&ways.iter().map(|w| w.0).collect::<Vec<_>>()),
    };
    let mut vars: Vec<VarId> = ways.iter().flat_map(|(_, s, _)| s.0.keys().copied()).collect();
    vars.sort_unstable();
    vars.dedup();
    let choose = |value: &dyn Fn(&(Term, SymbolicStore, Term)) -> Term| {
        let mut all = ways.iter().rev();
        let mut out = all.next().map(value)?;
        for way in all {
            let v = value(way);
            out = if v == out { out } else { terms.ite(way.0, v, out) };
        }
        Some(out)
    };
    let mut store = SymbolicStore::default();
    for v in vars {
        store.0.extend(choose(&|w| w.1.value(program, terms, v)).map(|x| (v, x)));
    }
    let committed = choose(&|w| w.2).unwrap_or_else(|| terms.ff());
    PiecePoint { reached, store, committed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Copies;
    use crate::semantics::tests::Build;

    /// `k` branches in a row, each of which may add one to `x`.
    fn branches(k: u32) -> (Build, crate::ThreadId, VarId) {
        let mut b = Build::new();
        let x = b.shared("x", Sort::INT, None);
        let t = b.thread("T", Copies::One, k as usize + 1);
        let tt = b.p.terms.tt();
        for i in 0..k {
            let more = b.p.terms.add(b.p.now(x), b.p.terms.int(1));
            b.act(t, i, i + 1, tt, &[(x, more)]);
            b.act(t, i, i + 1, tt, &[]);
        }
        (b, t, x)
    }

    #[test]
    fn check_the_formulas_grow_with_the_code_and_not_with_its_paths() {
        let size = |k: u32| {
            let (b, t, _) = branches(k);
            let code = &b.p.threads[t].code;
            let before = b.p.terms.len();
            let end = LocId(k);
            let bounds = PieceBounds { start: LocId(0), stops: &|l| l == end, commits: &|_| false, committed: false };
            let found = piece(&b.p, &b.p.terms, code, &bounds).unwrap();
            assert_eq!(found.ends.len(), 1);
            b.p.terms.len() - before
        };
        let (small, large) = (size(20), size(200));
        assert!(large <= 11 * small, "{small} terms for 20 branches, {large} for 200");
    }

    #[test]
    fn check_a_cycle_without_a_stop_is_an_error() {
        let (mut b, t, _) = branches(2);
        let tt = b.p.terms.tt();
        b.p.threads[t].code.exit = None;
        b.act(t, 2, 1, tt, &[]);
        let code = &b.p.threads[t].code;
        let stops = |at: u32| move |l: LocId| l == LocId(at);
        let (none, one) = (stops(9), stops(1));
        let bounds = PieceBounds { start: LocId(0), stops: &none, commits: &|_| false, committed: false };
        assert!(piece(&b.p, &b.p.terms, code, &bounds).is_err());
        let bounds = PieceBounds { start: LocId(1), stops: &one, commits: &|_| false, committed: false };
        let found = piece(&b.p, &b.p.terms, code, &bounds).unwrap();
        assert_eq!(found.ends.iter().map(|e| e.0).collect::<Vec<_>>(), vec![LocId(1)]);
    }
}
