//! Facts about all keys of a map or a set, as premises and goals of counting.
//!
//! In: a fact `forall k :: f`. Out, as a premise: `f` at the keys that instances have at hand and at the key in question; as a
//! goal: `f` at the key in question, which may be any (`crate::instances`). Deliberately absent: quantifiers under anything else, which are
//! left as they are.

use crate::instances::{at_keys, universal};
use logic::{Sort, Symbol, Term, Terms};
use std::collections::BTreeMap;

#[derive(Clone, Default)]
pub(crate) struct CellInstances {
    keys: BTreeMap<Sort, Vec<Symbol>>,
    any: BTreeMap<Sort, Symbol>,
}

impl CellInstances {
    /// `keys` are symbols that stand for keys.
    pub(super) fn new(terms: &Terms, keys: impl IntoIterator<Item = Symbol>) -> Self {
        let mut out = Self::default();
        for k in keys {
            out.keys.entry(terms.symbol_sort(k)).or_default().push(k);
        }
        out.any = out.keys.keys().map(|sort| (*sort, terms.symbol("any key", *sort))).collect();
        out
    }

    pub(super) fn premise(&self, t: &Terms, fact: Term) -> Term {
        let Some((bound, body)) = self.universal(t, fact) else { return fact };
        let keys = |sort: Sort| self.keys[&sort].iter().chain([&self.any[&sort]]).map(|s| t.sym(*s)).collect();
        t.and(&at_keys(t, &bound, body, &keys))
    }

    pub(super) fn goal(&self, t: &Terms, fact: Term) -> Term {
        let Some((bound, body)) = self.universal(t, fact) else { return fact };
        t.substitute(body, bound.into_iter().map(|k| (k, t.sym(self.any[&t.symbol_sort(k)]))))
    }

    /// At most two variables of different sorts, or one: more would be one key twice, or too many instances.
    fn universal(&self, t: &Terms, fact: Term) -> Option<(Vec<Symbol>, Term)> {
        let (bound, body) = universal(t, fact)?;
        let sorts: Vec<Sort> = bound.iter().map(|k| t.symbol_sort(*k)).collect();
        let apart = sorts.len() == 1 || sorts.len() == 2 && sorts[0] != sorts[1];
        (apart && sorts.iter().all(|s| self.keys.contains_key(s))).then_some((bound, body))
    }
}
