//! Random terms and values for the tests of this crate.
//!
//! In: a seeded generator of numbers. Out: terms over every operator and sort, with small and edge numbers.

use base::Random;
use logic::{ClassId, EnumId, MachineIntSort, Op, Sort, SortKind, Symbol, Term, Terms, Value};

/// A table with a few sorts and symbols of each.
pub(crate) struct RandomTerms {
    pub terms: Terms,
    pub sorts: Vec<Sort>,
    pub symbols: Vec<Symbol>,
    pub seqs: bool,
}

impl RandomTerms {
    pub(crate) fn new() -> Self {
        let terms = Terms::new();
        let e: EnumId = terms.declare_enum("Phase", vec!["Idle".into(), "Busy".into(), "Done".into()]);
        let c: ClassId = terms.declare_class("Node");
        let machine = |bits, signed| Sort::machine(MachineIntSort { bits, signed });
        let (e, c) = (terms.sort(SortKind::Enum(e)), terms.sort(SortKind::Ref(c)));
        let mut sorts = vec![Sort::BOOL, Sort::INT, machine(8, true), machine(8, false), machine(32, true), e, c];
        sorts.push(terms.map_sort(Sort::INT, Sort::INT));
        sorts.push(terms.map_sort(e, machine(8, false)));
        sorts.push(terms.map_sort(c, Sort::BOOL));
        sorts.push(terms.map_sort(Sort::BOOL, e));
        sorts.push(terms.sort(SortKind::Set(Sort::INT)));
        sorts.push(terms.sort(SortKind::Set(e)));
        let mut symbols = Vec::new();
        for s in &sorts {
            for name in ["a", "b"] {
                symbols.push(terms.symbol(format!("{name} {}", terms.sort_name(*s)), *s));
            }
        }
        Self { terms, sorts, symbols, seqs: false }
    }

    pub(crate) fn with_seqs(mut self) -> Self {
        let seq = self.terms.sort(SortKind::Seq(Sort::INT));
        self.sorts.push(seq);
        for name in ["p", "q"] {
            self.symbols.push(self.terms.symbol(name, seq));
        }
        self.seqs = true;
        self
    }

    fn number(&self, random: &mut Random, sort: Sort) -> Term {
        let n = match sort.as_machine() {
            Some(m) => random.one_of(&[0, 1, -1, 2, 3, 5, 7, 8, m.min(), m.max(), m.max() - 1, m.min() + 1, 15]),
            None => random.one_of(&[0, 1, -1, 2, -2, 3, 5, -7, 10, 100]),
        };
        self.terms.num(n, sort)
    }

    pub(crate) fn term(&self, random: &mut Random, sort: Sort, depth: usize) -> Term {
        let t = &self.terms;
        if depth == 0 || random.below(6) == 0 {
            return self.leaf(random, sort);
        }
        let d = depth - 1;
        if random.below(8) == 0 {
            let (c, a, b) = (self.term(random, Sort::BOOL, d), self.term(random, sort, d), self.term(random, sort, d));
            return t.ite(c, a, b);
        }
        match t.kind(sort) {
            SortKind::Bool => self.formula(random, d),
            SortKind::Int | SortKind::Machine(_) => self.integer(random, sort, d),
            SortKind::Enum(_) | SortKind::Ref(_) => self.read(random, sort, d),
            SortKind::Map(k, v) => {
                if random.below(4) == 0 {
                    return t.const_map(sort, self.term(random, v, d));
                }
                t.store(self.term(random, sort, d), self.term(random, k, d), self.term(random, v, d))
            }
            SortKind::Set(e) => match random.below(4) {
                0 | 1 => t.mk(Op::Insert, &[self.term(random, e, d), self.term(random, sort, d)]),
                2 => t.mk(Op::Union, &[self.term(random, sort, d), self.term(random, sort, d)]),
                _ => t.mk(Op::Minus, &[self.term(random, sort, d), self.term(random, sort, d)]),
            },
            SortKind::Seq(e) => match random.below(3) {
                0 => t.mk(Op::Unit, &[self.term(random, e, d)]),
                1 => t.mk(Op::Concat, &[self.term(random, sort, d), self.term(random, sort, d)]),
                _ => {
                    let q = self.term(random, sort, d);
                    t.mk(Op::Slice, &[q, self.leaf(random, Sort::INT), self.leaf(random, Sort::INT)])
                }
            },
        }
    }

    pub(crate) fn leaf(&self, random: &mut Random, sort: Sort) -> Term {
        let t = &self.terms;
        if random.below(3) > 0 {
            let mine: Vec<Symbol> = self.symbols.iter().copied().filter(|s| t.symbol_sort(*s) == sort).collect();
            if !mine.is_empty() {
                return t.sym(random.one_of(&mine));
            }
        }
        match t.kind(sort) {
            SortKind::Bool => t.bool(random.below(2) == 0),
            SortKind::Int | SortKind::Machine(_) => self.number(random, sort),
            SortKind::Enum(e) => t.variant(e, random.below(3) as u32),
            SortKind::Ref(c) => t.reference(c, random.below(3) as u32),
            _ => t.default_of(sort),
        }
    }

    fn read(&self, random: &mut Random, sort: Sort, d: usize) -> Term {
        let t = &self.terms;
        let maps: Vec<(Sort, Sort)> = self
            .sorts
            .iter()
            .filter_map(|s| match t.kind(*s) {
                SortKind::Map(k, v) if v == sort => Some((*s, k)),
                _ => None,
            })
            .collect();
        if maps.is_empty() {
            return self.leaf(random, sort);
        }
        let (map, key) = random.one_of(&maps);
        t.select(self.term(random, map, d), self.term(random, key, d))
    }

    fn formula(&self, random: &mut Random, d: usize) -> Term {
        let t = &self.terms;
        let any = random.one_of(&self.sorts);
        let number = random.one_of(&[Sort::INT, self.sorts[2], self.sorts[3], self.sorts[4]]);
        match random.below(11) {
            0 => t.not(self.term(random, Sort::BOOL, d)),
            1 => t.and(&[self.term(random, Sort::BOOL, d), self.term(random, Sort::BOOL, d)]),
            2 => t.or(&[self.term(random, Sort::BOOL, d), self.term(random, Sort::BOOL, d)]),
            3 => t.implies(self.term(random, Sort::BOOL, d), self.term(random, Sort::BOOL, d)),
            4 | 5 => t.eq(self.term(random, any, d), self.term(random, any, d)),
            6 => t.lt(self.term(random, number, d), self.term(random, number, d)),
            7 => t.le(self.term(random, number, d), self.term(random, number, d)),
            8 | 9 => {
                let sets: Vec<Sort> =
                    self.sorts.iter().copied().filter(|s| matches!(t.kind(*s), SortKind::Set(_))).collect();
                let set = random.one_of(&sets);
                let SortKind::Set(e) = t.kind(set) else { return t.tt() };
                if random.below(2) == 0 {
                    t.member(self.term(random, e, d), self.term(random, set, d))
                } else {
                    t.mk(Op::Subset, &[self.term(random, set, d), self.term(random, set, d)])
                }
            }
            _ => self.read(random, Sort::BOOL, d),
        }
    }

    fn integer(&self, random: &mut Random, sort: Sort, d: usize) -> Term {
        let t = &self.terms;
        let wide = sort.as_machine().is_some();
        match random.below(if wide { 14 } else { 10 }) {
            0 | 1 => t.add(self.term(random, sort, d), self.term(random, sort, d)),
            2 => t.sub(self.term(random, sort, d), self.term(random, sort, d)),
            3 => t.mul(self.term(random, sort, d), self.number(random, sort)),
            4 => t.mk(Op::Neg, &[self.term(random, sort, d)]),
            5 => t.mk(Op::Div, &[self.term(random, sort, d), self.leaf(random, sort)]),
            6 => t.mk(Op::Mod, &[self.term(random, sort, d), self.leaf(random, sort)]),
            7 => self.read(random, sort, d),
            8 => {
                let from = random.one_of(&[Sort::INT, self.sorts[2], self.sorts[3], self.sorts[4]]);
                t.cast(self.term(random, from, d), sort)
            }
            9 if self.seqs && sort == Sort::INT => {
                let seq = t.sort(SortKind::Seq(Sort::INT));
                let q = self.term(random, seq, d);
                if random.below(2) == 0 {
                    t.mk(Op::Len, &[q])
                } else {
                    t.mk(Op::At, &[q, self.leaf(random, Sort::INT)])
                }
            }
            9 => self.leaf(random, sort),
            10 => {
                let op = random.one_of(&[Op::BitAnd, Op::BitOr, Op::BitXor]);
                t.mk(op, &[self.term(random, sort, d), self.term(random, sort, d)])
            }
            11 => t.mk(Op::BitNot, &[self.term(random, sort, d)]),
            12 => t.mk(Op::Shl, &[self.term(random, sort, d), self.leaf(random, sort)]),
            _ => t.mk(Op::Shr, &[self.term(random, sort, d), self.leaf(random, sort)]),
        }
    }

    /// A random value of a sort, in the canonical form that evaluation gives.
    pub(crate) fn value(&self, random: &mut Random, sort: Sort) -> Value {
        let t = &self.terms;
        match t.kind(sort) {
            SortKind::Bool => Value::Bool(random.below(2) == 0),
            SortKind::Int => Value::Int(random.one_of(&[0, 1, -1, 2, -2, 3, 5, -7, 10, 100])),
            SortKind::Machine(m) => {
                Value::Int(random.one_of(&[0, 1, 2, 3, 5, 7, m.min(), m.max(), m.max() - 1, m.min() + 1, 15]))
            }
            SortKind::Enum(_) => Value::Variant(random.below(3) as u32),
            SortKind::Ref(_) => Value::Ref(random.below(4) as u32),
            SortKind::Map(k, v) => {
                let entries = (0..random.below(3)).map(|_| (self.value(random, k), self.value(random, v))).collect();
                let other = self.value(random, v);
                crate::z3::value::finite_map(t, sort, entries, other)
            }
            SortKind::Set(e) => Value::Set((0..random.below(4)).map(|_| self.value(random, e)).collect()),
            SortKind::Seq(e) => Value::Seq((0..random.below(4)).map(|_| self.value(random, e)).collect()),
        }
    }
}
