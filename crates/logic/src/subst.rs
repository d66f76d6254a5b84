//! Simultaneous substitution of terms for symbols.
//!
//! Bound symbols are unique (`Terms::symbol` never repeats one), so a substitution cannot capture unless the caller
//! substitutes a term in which the very same binder's symbol is free; that is a bug of the caller.

use crate::term::{Node, Symbol, Term, Terms};
use rustc_hash::FxHashMap;

/// A finite map from symbols to terms, applied with a memo so that shared subterms are rewritten once.
pub struct Substitution<'a> {
    terms: &'a Terms,
    map: FxHashMap<Symbol, Term>,
    memo: FxHashMap<Term, Term>,
}

impl<'a> Substitution<'a> {
    pub fn new(terms: &'a Terms, pairs: impl IntoIterator<Item = (Symbol, Term)>) -> Self {
        Self { terms, map: pairs.into_iter().collect(), memo: FxHashMap::default() }
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
                let new = self.apply(body);
                if new == body { term } else { self.terms.quant(q, &bound, new) }
            }
            _ => term,
        };
        self.memo.insert(term, out);
        out
    }
}

impl Terms {
    pub fn substitute(&self, term: Term, pairs: impl IntoIterator<Item = (Symbol, Term)>) -> Term {
        Substitution::new(self, pairs).apply(term)
    }
}
