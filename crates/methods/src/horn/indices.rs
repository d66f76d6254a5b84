//! Which indices of maps matter: at these, elements are variables of inequalities.
//!
//! In: the processes. Out: for each map symbol the numbers at which it is looked at or changed. Where an index is not a number, the
//! numbers that its symbols are given, compared with, or can have as remainders. A guess: an element at another index is any value
//! in the clauses of a violation, so too few indices cost predicates, never soundness.

use super::formula::{Indices, index_term, number};
use super::system::HornSystem;
use logic::{Node, Op, Quantifier, SortKind, Symbol, Term, Terms};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Largest number taken as an index that the text does not name at a map, and largest number of them for one map.
const MAX_UNNAMED_INDEX: i128 = 64;
const MAX_INDICES: usize = 8;

pub(crate) fn indices(system: &HornSystem<'_>) -> Indices {
    let t = system.terms;
    let mut todo: Vec<Term> = system.init.clone();
    let transitions = || system.processes.iter().flat_map(|p| &p.transitions);
    todo.extend(system.processes.iter().flat_map(|p| p.init.iter()));
    todo.extend(transitions().flat_map(|a| a.enabled.iter().copied().chain(a.updates.iter().map(|(_, v)| *v))));
    todo.extend(system.program.properties.iter().filter_map(|p| match p.kind {
        program::PropertyKind::Invariant(f) => Some(f),
        _ => None,
    }));
    let mut named: FxHashMap<Symbol, BTreeSet<i128>> = FxHashMap::default();
    let mut open: FxHashMap<Symbol, BTreeSet<Term>> = FxHashMap::default();
    t.each_subterm(todo.clone(), |x| {
        let Node::App(Op::Select | Op::Store, args) = t.node(x) else { return };
        for s in t.free_symbols(args[0]) {
            if !matches!(t.kind(t.symbol_sort(s)), SortKind::Map(..)) {
                continue;
            }
            match number(t, args[1]) {
                Some(n) => {
                    named.entry(s).or_default().insert(n);
                }
                None => {
                    named.entry(s).or_default();
                    open.entry(s).or_default().insert(args[1]);
                }
            }
        }
    });
    for (map, places) in open {
        let found = values(system, &todo, places.into_iter().collect());
        let list = named.entry(map).or_default();
        list.extend(found.into_iter().take(MAX_INDICES));
    }
    named.into_iter().map(|(s, set)| (s, set.into_iter().collect())).collect()
}

/// Numbers that these terms may be.
fn values(system: &HornSystem<'_>, facts: &[Term], places: Vec<Term>) -> BTreeSet<i128> {
    let t = system.terms;
    let mut out = BTreeSet::new();
    let mut symbols: BTreeSet<Symbol> = BTreeSet::new();
    let mut todo = places;
    loop {
        let mut new: Vec<Symbol> = Vec::new();
        for x in todo.drain(..) {
            remainders(t, x, &mut out);
            out.extend(number(t, x));
            new.extend(t.free_symbols(x).iter().filter(|s| symbols.insert(**s)));
        }
        if new.is_empty() {
            break;
        }
        for a in system.processes.iter().flat_map(|p| &p.transitions) {
            todo.extend(a.updates.iter().filter(|(s, _)| new.contains(s)).map(|(_, v)| *v));
        }
    }
    t.each_subterm(facts.iter().copied(), |x| {
        let Node::App(op @ (Op::Eq | Op::Lt | Op::Le), args) = t.node(x) else { return };
        for (a, b) in [(args[0], args[1]), (args[1], args[0])] {
            let (Some(s), Some(n)) = (t.as_symbol(a), number(t, b)) else { continue };
            if symbols.contains(&s) {
                out.insert(n);
                if op != Op::Eq && (0..MAX_INDICES as i128).contains(&n) {
                    out.extend(0..n);
                }
            }
        }
    });
    out.retain(|n| n.abs() <= MAX_UNNAMED_INDEX);
    out
}

fn remainders(t: &Terms, x: Term, out: &mut BTreeSet<i128>) {
    t.each_subterm([x], |x| {
        if let Node::App(Op::Mod, args) = t.node(x)
            && let Some(by) = number(t, args[1]).filter(|n| (1..=MAX_INDICES as i128).contains(n))
        {
            out.extend(0..by);
        }
    });
}

/// A fact about all indices at the indices that matter; any other fact as it is.
pub(crate) fn at_indices(t: &Terms, indices: &Indices, fact: Term) -> Vec<Term> {
    let Node::Quant(Quantifier::Forall, bound, body) = t.node(fact) else { return vec![fact] };
    let [key] = bound.as_ref() else { return vec![fact] };
    let known: BTreeSet<i128> = t.free_symbols(body).iter().filter_map(|s| indices.get(s)).flatten().copied().collect();
    let at = known.into_iter().filter_map(|k| index_term(t, t.symbol_sort(*key), k));
    at.map(|k| t.substitute(body, [(*key, k)])).collect()
}
