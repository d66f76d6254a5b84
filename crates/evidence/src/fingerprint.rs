//! A digest of a formula by which it is known again in another run, and in a program that was edited since.
//!
//! In: a formula. Out: SHA-256 of its graph: operators, values, and sorts by their structure. Symbols, enums and classes are
//! numbered in the order in which they come up, so two formulas with one fingerprint are the same up to a renaming of what they
//! speak of: one is valid if the other is. What is written can be read back in one way only, so that two formulas
//! that differ in anything else differ in what is hashed. Deliberately absent: any equality by meaning.

use crate::file::op_name;
use logic::{ClassId, EnumId, Node, Op, Quantifier, Sort, SortKind, Symbol, Term, Terms};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

pub(crate) type Fingerprint = [u8; 32];

pub fn fingerprint(terms: &Terms, formula: Term) -> Fingerprint {
    Sha256::digest(written(terms, formula)).into()
}

/// What is hashed.
fn written(terms: &Terms, formula: Term) -> Vec<u8> {
    let mut w = DigestWriter::new(terms);
    w.out.extend_from_slice(b"threadproof formula 1\n");
    w.whole(formula);
    w.out
}

/// Formulas that are the same up to a renaming of what they speak of, together; each group in the order of the list, groups in the
/// order of their first. Nothing rests on the digest: what is put together is written in the same bytes.
pub fn alike(terms: &Terms, formulas: &[Term]) -> Vec<Vec<Term>> {
    let mut at: FxHashMap<Fingerprint, Vec<usize>> = FxHashMap::default();
    let mut out: Vec<Vec<Term>> = Vec::new();
    for f in formulas {
        let own = written(terms, *f);
        let near = at.entry(Sha256::digest(&own).into()).or_default();
        match near.iter().find(|group| written(terms, out[**group][0]) == own) {
            Some(group) => out[*group].push(*f),
            None => {
                near.push(out.len());
                out.push(vec![*f]);
            }
        }
    }
    out
}

struct DigestWriter<'a> {
    terms: &'a Terms,
    out: Vec<u8>,
    at: FxHashMap<Term, u32>,
    symbols: FxHashMap<Symbol, u32>,
    sorts: FxHashMap<Sort, u32>,
    enums: FxHashMap<EnumId, u32>,
    classes: FxHashMap<ClassId, u32>,
}

impl<'a> DigestWriter<'a> {
    fn new(terms: &'a Terms) -> Self {
        Self {
            terms,
            out: Vec::new(),
            at: FxHashMap::default(),
            symbols: FxHashMap::default(),
            sorts: FxHashMap::default(),
            enums: FxHashMap::default(),
            classes: FxHashMap::default(),
        }
    }

    fn number(&mut self, n: u32) {
        self.out.extend_from_slice(&n.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u32);
        self.out.extend_from_slice(text.as_bytes());
    }

    /// The number of a sort; what it is made of is written where it first comes up.
    fn sort(&mut self, sort: Sort) -> u32 {
        if let Some(n) = self.sorts.get(&sort) {
            return *n;
        }
        let kind = self.terms.kind(sort);
        match kind {
            SortKind::Bool => self.out.push(b'b'),
            SortKind::Int => self.out.push(b'i'),
            SortKind::Machine(m) => {
                self.out.push(b'm');
                self.text(&format!("{m:?}"));
            }
            SortKind::Enum(e) => {
                let size = self.terms.enum_size(e) as u32;
                let known = self.enums.len() as u32;
                let own = *self.enums.entry(e).or_insert(known);
                self.out.push(b'e');
                self.number(own);
                self.number(size);
            }
            SortKind::Ref(c) => {
                let known = self.classes.len() as u32;
                let own = *self.classes.entry(c).or_insert(known);
                self.out.push(b'r');
                self.number(own);
            }
            SortKind::Map(k, v) => {
                let (k, v) = (self.sort(k), self.sort(v));
                self.out.push(b'a');
                self.number(k);
                self.number(v);
            }
            SortKind::Set(e) | SortKind::Seq(e) => {
                let e = self.sort(e);
                self.out.push(if matches!(kind, SortKind::Set(_)) { b's' } else { b'q' });
                self.number(e);
            }
        }
        let n = self.sorts.len() as u32;
        self.sorts.insert(sort, n);
        n
    }

    fn symbol(&mut self, symbol: Symbol) -> u32 {
        if let Some(n) = self.symbols.get(&symbol) {
            return *n;
        }
        let sort = self.sort(self.terms.symbol_sort(symbol));
        self.out.push(b'x');
        self.number(sort);
        let n = self.symbols.len() as u32;
        self.symbols.insert(symbol, n);
        n
    }

    /// Every node after what it is made of. A loop: facts of long code are nested deeply.
    fn whole(&mut self, formula: Term) {
        let mut todo = vec![(formula, false)];
        while let Some((term, ready)) = todo.pop() {
            if self.at.contains_key(&term) {
                continue;
            }
            let node = self.terms.node(term);
            if !ready {
                todo.push((term, true));
                match &node {
                    Node::App(_, args) => todo.extend(args.iter().rev().map(|a| (*a, false))),
                    Node::Quant(_, _, body) => todo.push((*body, false)),
                    _ => {}
                }
                continue;
            }
            self.node(term, node);
            let n = self.at.len() as u32;
            self.at.insert(term, n);
        }
    }

    fn node(&mut self, term: Term, node: Node) {
        match node {
            Node::Bool(value) => self.out.extend_from_slice(&[b'B', u8::from(value)]),
            Node::Num(value, sort) => {
                let sort = self.sort(sort);
                self.out.push(b'N');
                self.number(sort);
                self.out.extend_from_slice(&value.to_le_bytes());
            }
            Node::Variant(_, at) | Node::Ref(_, at) => {
                let sort = self.sort(self.terms.sort_of(term));
                self.out.push(if matches!(node, Node::Ref(..)) { b'R' } else { b'V' });
                self.number(sort);
                self.number(at);
            }
            Node::Sym(symbol) => {
                let n = self.symbol(symbol);
                self.out.push(b'S');
                self.number(n);
            }
            Node::App(op, args) => {
                let of = match op {
                    Op::Cast(s) | Op::ConstMap(s) | Op::EmptySet(s) | Op::EmptySeq(s) => self.sort(s),
                    _ => u32::MAX,
                };
                self.out.push(b'A');
                self.text(op_name(op));
                self.number(of);
                self.number(args.len() as u32);
                for a in args.iter() {
                    let n = self.at[a];
                    self.number(n);
                }
            }
            Node::Quant(q, bound, body) => {
                let bound: Vec<u32> = bound.iter().map(|s| self.symbol(*s)).collect();
                self.out.push(if q == Quantifier::Forall { b'F' } else { b'E' });
                self.number(bound.len() as u32);
                bound.into_iter().for_each(|n| self.number(n));
                let n = self.at[&body];
                self.number(n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logic::MachineIntSort;

    #[test]
    fn check_formulas_are_put_together_only_if_they_differ_in_names_alone() {
        let t = Terms::new();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| t.sym(t.symbol(n, Sort::INT)));
        let less = |x, y| t.implies(t.lt(x, y), t.lt(x, t.add(y, t.int(1))));
        let list = [less(a, b), less(a, a), less(c, d), t.lt(a, b), less(d, c), less(b, b)];
        assert_eq!(alike(&t, &list), vec![vec![list[0], list[2], list[4]], vec![list[1], list[5]], vec![list[3]]]);
        let e = t.sym(t.symbol("e", Sort::machine(MachineIntSort::ALL[0])));
        assert_eq!(alike(&t, &[t.eq(a, b), t.eq(e, e)]).len(), 2, "a sort is not a name");
    }

    #[test]
    fn check_what_a_formula_speaks_of_may_be_renamed_and_nothing_else_may_change() {
        let (one, two) = (Terms::new(), Terms::new());
        // Other symbols first: numbers and names differ.
        two.symbol("first", Sort::BOOL);
        let build = |t: &Terms, names: [&str; 2], sort: Sort, bound: i128| {
            let [x, y] = names.map(|n| t.sym(t.symbol(n, sort)));
            t.implies(t.lt(x, y), t.le(t.add(x, t.num(bound, sort)), y))
        };
        let of = |t: &Terms, f: Term| fingerprint(t, f);
        let a = of(&one, build(&one, ["x", "y"], Sort::INT, 1));
        assert_eq!(a, of(&two, build(&two, ["low", "high"], Sort::INT, 1)));
        assert_ne!(a, of(&two, build(&two, ["low", "high"], Sort::INT, 2)), "a number");
        for sort in MachineIntSort::ALL.map(Sort::machine) {
            assert_ne!(a, of(&two, build(&two, ["low", "high"], sort, 1)), "a sort");
        }
        let t = &one;
        let [x, y] = ["x", "y"].map(|n| t.sym(t.symbol(n, Sort::INT)));
        assert_ne!(of(t, t.lt(x, y)), of(t, t.lt(x, x)), "which symbols are the same");
        assert_eq!(of(t, t.lt(x, y)), of(t, t.lt(y, x)), "alone, the two say the same");
        let both = |p: Term, q: Term| of(t, t.and(&[p, q]));
        assert_ne!(both(t.lt(x, y), t.lt(y, x)), both(t.lt(x, y), t.lt(x, y)));
        let k = t.symbol("k", Sort::INT);
        let all = |q| of(t, t.quant(q, &[k], t.lt(t.sym(k), x)));
        assert_ne!(all(Quantifier::Forall), all(Quantifier::Exists));
        assert_ne!(all(Quantifier::Forall), of(t, t.lt(t.sym(k), x)));
    }
}
