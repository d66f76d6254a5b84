//! Simultaneous substitution of terms for free symbols, without capture.
//!
//! Formulas that this tool builds never bind a symbol that is free elsewhere (`Terms::symbol` never repeats one). A certificate from a
//! file may: a binder that is replaced, or that would capture a symbol of what is put in, is renamed first.
//! In: a table, pairs of a symbol and a term of its sort, a term. Out: the term with all replaced at once.

use crate::term::{Node, Symbol, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};

/// A finite map from symbols to terms, applied with a memo so that shared subterms are rewritten once.
pub struct Substitution<'a> {
    terms: &'a Terms,
    map: FxHashMap<Symbol, Term>,
    /// The symbols that a binder must not have: those replaced, and those free in what is put in. Made at the first quantifier.
    kept_free: Option<FxHashSet<Symbol>>,
    memo: FxHashMap<Term, Term>,
}

impl<'a> Substitution<'a> {
    pub fn new(terms: &'a Terms, pairs: impl IntoIterator<Item = (Symbol, Term)>) -> Self {
        Self { terms, map: pairs.into_iter().collect(), kept_free: None, memo: FxHashMap::default() }
    }
    pub fn apply(&mut self, term: Term) -> Term {
        if let Some(done) = self.memo.get(&term) {
            return *done;
        }
        let out = match self.terms.node(term) {
            Node::Sym(s) => self.map.get(&s).copied().unwrap_or(term),
            Node::App(op, args) => {
                let new: Vec<Term> = args.iter().map(|a| self.apply(*a)).collect();
                if new[..] == args[..] { term } else { self.terms.mk(op, &new) }
            }
            Node::Quant(q, bound, body) => {
                if let Some((bound, body)) = self.renamed_apart(&bound, body) {
                    let new = self.apply(body);
                    let out = self.terms.quant(q, &bound, new);
                    self.memo.insert(term, out);
                    return out;
                }
                let new = self.apply(body);
                if new == body { term } else { self.terms.quant(q, &bound, new) }
            }
            _ => term,
        };
        self.memo.insert(term, out);
        out
    }

    /// The binders and the body with new symbols for the binders that would capture or be replaced; nothing if there are none.
    fn renamed_apart(&mut self, bound: &[Symbol], body: Term) -> Option<(Vec<Symbol>, Term)> {
        let (terms, map) = (self.terms, &self.map);
        let kept_free = self.kept_free.get_or_insert_with(|| {
            let mut out = free_in_all(terms, map.values().copied().collect());
            out.extend(map.keys().copied());
            out
        });
        if !bound.iter().any(|b| kept_free.contains(b)) {
            return None;
        }
        let fresh: Vec<Symbol> =
            bound.iter().map(|b| terms.symbol(terms.symbol_name(*b), terms.symbol_sort(*b))).collect();
        let renaming = bound.iter().copied().zip(fresh.iter().map(|s| terms.sym(*s)));
        Some((fresh.clone(), Substitution::new(terms, renaming).apply(body)))
    }
}

/// The symbols that are free in some of the terms; what they share is looked at once.
fn free_in_all(terms: &Terms, mut todo: Vec<Term>) -> FxHashSet<Symbol> {
    let (mut seen, mut out) = (FxHashSet::default(), FxHashSet::default());
    while let Some(term) = todo.pop() {
        if !seen.insert(term) {
            continue;
        }
        match terms.node(term) {
            Node::Sym(s) => {
                out.insert(s);
            }
            Node::App(_, args) => todo.extend(args.iter()),
            Node::Quant(..) => out.extend(terms.free_symbols(term)),
            _ => {}
        }
    }
    out
}

impl Terms {
    pub fn substitute(&self, term: Term, pairs: impl IntoIterator<Item = (Symbol, Term)>) -> Term {
        Substitution::new(self, pairs).apply(term)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::holds;
    use crate::{Sort, Value};

    #[test]
    fn check_a_binder_captures_nothing_that_is_put_in() {
        let t = Terms::new();
        let [x, n] = ["x", "n"].map(|name| t.symbol(name, Sort::BOOL));
        // `exists n: n && x` says `x`, whatever the binder is called.
        let formula = t.exists(&[n], t.and(&[t.sym(n), t.sym(x)]));
        let put_in = t.substitute(formula, [(x, t.sym(n))]);
        for value in [true, false] {
            let store = FxHashMap::from_iter([(n, Value::Bool(value))]);
            assert_eq!(holds(&t, put_in, &store), Ok(value), "{}", t.show(put_in));
        }
        // A captured `!n` would make it false for every value.
        let put_in = t.substitute(formula, [(x, t.not(t.sym(n)))]);
        let store = FxHashMap::from_iter([(n, Value::Bool(false))]);
        assert_eq!(holds(&t, put_in, &store), Ok(true), "{}", t.show(put_in));
    }

    #[test]
    fn check_a_bound_symbol_is_not_replaced() {
        let t = Terms::new();
        let [x, n] = ["x", "n"].map(|name| t.symbol(name, Sort::BOOL));
        let formula = t.and(&[t.sym(n), t.forall(&[n], t.or(&[t.sym(n), t.sym(x)]))]);
        let put_in = t.substitute(formula, [(n, t.tt())]);
        for value in [true, false] {
            let store = FxHashMap::from_iter([(x, Value::Bool(value))]);
            assert_eq!(holds(&t, put_in, &store), Ok(value), "{}", t.show(put_in));
        }
        assert_eq!(t.substitute(formula, [(x, t.sym(x))]), formula, "where nothing is captured nothing is renamed");
    }
}
