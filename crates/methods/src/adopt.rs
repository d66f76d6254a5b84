//! Terms that were made apart, brought together in one table.
//!
//! In: a table that was cloned for work on its own, and grew there. Out: the same terms in the table it was cloned from. What
//! both had when they parted has the same id in both; symbols and sorts that are new are made anew.
//! Deliberately absent: enums and classes that are new; nothing declares one while it works.

use logic::{Node, Op, Sort, SortKind, Symbol, Term, Terms};
use rustc_hash::FxHashMap;

pub(crate) struct Adopt<'a> {
    from: &'a Terms,
    to: &'a Terms,
    /// What both had when they parted.
    sorts: usize,
    symbols: usize,
    terms: usize,
    new_symbols: FxHashMap<Symbol, Symbol>,
    memo: FxHashMap<Term, Term>,
}

impl<'a> Adopt<'a> {
    /// `parted`: the table as it was when `from` was cloned; `to` has grown from it too.
    pub(crate) fn new(parted: &Terms, from: &'a Terms, to: &'a Terms) -> Self {
        Self {
            from,
            to,
            sorts: parted.sort_count(),
            symbols: parted.symbol_count(),
            terms: parted.len(),
            new_symbols: FxHashMap::default(),
            memo: FxHashMap::default(),
        }
    }

    fn sort(&self, sort: Sort) -> Sort {
        if sort.index() < self.sorts {
            return sort;
        }
        let kind = match self.from.kind(sort) {
            SortKind::Map(k, v) => SortKind::Map(self.sort(k), self.sort(v)),
            SortKind::Set(e) => SortKind::Set(self.sort(e)),
            SortKind::Seq(e) => SortKind::Seq(self.sort(e)),
            other => other,
        };
        self.to.sort(kind)
    }

    pub(crate) fn symbol(&mut self, symbol: Symbol) -> Symbol {
        if symbol.index() < self.symbols {
            return symbol;
        }
        if let Some(known) = self.new_symbols.get(&symbol) {
            return *known;
        }
        let made = self.to.symbol(self.from.symbol_name(symbol), self.sort(self.from.symbol_sort(symbol)));
        self.new_symbols.insert(symbol, made);
        made
    }

    pub(crate) fn term(&mut self, term: Term) -> Term {
        if term.index() < self.terms {
            return term;
        }
        if let Some(known) = self.memo.get(&term) {
            return *known;
        }
        let made = match self.from.node(term) {
            Node::Bool(b) => self.to.bool(b),
            Node::Num(n, sort) => self.to.num(n, self.sort(sort)),
            Node::Variant(e, at) => self.to.variant(e, at),
            Node::Ref(c, n) => self.to.reference(c, n),
            Node::Sym(s) => {
                let s = self.symbol(s);
                self.to.sym(s)
            }
            Node::App(op, args) => {
                let args: Vec<Term> = args.iter().map(|a| self.term(*a)).collect();
                let op = match op {
                    Op::Cast(s) => Op::Cast(self.sort(s)),
                    Op::ConstMap(s) => Op::ConstMap(self.sort(s)),
                    Op::EmptySet(s) => Op::EmptySet(self.sort(s)),
                    Op::EmptySeq(s) => Op::EmptySeq(self.sort(s)),
                    other => other,
                };
                self.to.mk(op, &args)
            }
            Node::Quant(q, bound, body) => {
                let bound: Vec<Symbol> = bound.iter().map(|s| self.symbol(*s)).collect();
                let body = self.term(body);
                self.to.quant(q, &bound, body)
            }
        };
        self.memo.insert(term, made);
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_what_two_tables_made_apart_means_the_same_in_one() {
        let base = Terms::new();
        let x = base.symbol("x", Sort::INT);
        let (one, two) = (base.clone(), base.clone());
        // Each gives the next id to a symbol of its own.
        let a = one.symbol("a", Sort::INT);
        let sort = two.map_sort(Sort::INT, Sort::BOOL);
        let b = two.symbol("b", sort);
        let first = one.lt(one.sym(x), one.sym(a));
        let k = two.symbol("k", Sort::INT);
        let second = two.forall(&[k], two.select(two.sym(b), two.sym(k)));
        let whole = base.clone();
        let shown: Vec<String> = [(&one, first), (&two, second)]
            .into_iter()
            .map(|(from, f)| whole.show(Adopt::new(&base, from, &whole).term(f)))
            .collect();
        assert_eq!(shown, vec![one.show(first), two.show(second)]);
        assert!(whole.extends(&base));
    }
}
