//! Random terms and values for the tests of this crate: every operator, every sort, small and edge numbers.

use logic::{ClassId, EnumId, Machine, Op, Sort, SortKind, Symbol, Term, Terms, Value};

/// A small generator of numbers; the seed fixes everything.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// A table with a few sorts and symbols of each.
pub(crate) struct World {
    pub terms: Terms,
    pub sorts: Vec<Sort>,
    pub symbols: Vec<Symbol>,
    pub seqs: bool,
}

impl World {
    pub(crate) fn new() -> Self {
        let terms = Terms::new();
        let e: EnumId = terms.declare_enum("Phase", vec!["Idle".into(), "Busy".into(), "Done".into()]);
        let c: ClassId = terms.declare_class("Node");
        let machine = |bits, signed| Sort::machine(Machine { bits, signed });
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

    fn number(&self, dice: &mut Dice, sort: Sort) -> Term {
        let n = match sort.as_machine() {
            Some(m) => dice.pick(&[0, 1, -1, 2, 3, 5, 7, 8, m.min(), m.max(), m.max() - 1, m.min() + 1, 15]),
            None => dice.pick(&[0, 1, -1, 2, -2, 3, 5, -7, 10, 100]),
        };
        self.terms.num(n, sort)
    }

    pub(crate) fn term(&self, dice: &mut Dice, sort: Sort, depth: usize) -> Term {
        let t = &self.terms;
        if depth == 0 || dice.below(6) == 0 {
            return self.leaf(dice, sort);
        }
        let d = depth - 1;
        if dice.below(8) == 0 {
            let (c, a, b) = (self.term(dice, Sort::BOOL, d), self.term(dice, sort, d), self.term(dice, sort, d));
            return t.ite(c, a, b);
        }
        match t.kind(sort) {
            SortKind::Bool => self.formula(dice, d),
            SortKind::Int | SortKind::Machine(_) => self.integer(dice, sort, d),
            SortKind::Enum(_) | SortKind::Ref(_) => self.read(dice, sort, d),
            SortKind::Map(k, v) => {
                if dice.below(4) == 0 {
                    return t.const_map(sort, self.term(dice, v, d));
                }
                t.store(self.term(dice, sort, d), self.term(dice, k, d), self.term(dice, v, d))
            }
            SortKind::Set(e) => match dice.below(4) {
                0 | 1 => t.mk(Op::Insert, &[self.term(dice, e, d), self.term(dice, sort, d)]),
                2 => t.mk(Op::Union, &[self.term(dice, sort, d), self.term(dice, sort, d)]),
                _ => t.mk(Op::Minus, &[self.term(dice, sort, d), self.term(dice, sort, d)]),
            },
            SortKind::Seq(e) => match dice.below(3) {
                0 => t.mk(Op::Unit, &[self.term(dice, e, d)]),
                1 => t.mk(Op::Concat, &[self.term(dice, sort, d), self.term(dice, sort, d)]),
                _ => {
                    let q = self.term(dice, sort, d);
                    t.mk(Op::Slice, &[q, self.leaf(dice, Sort::INT), self.leaf(dice, Sort::INT)])
                }
            },
        }
    }

    pub(crate) fn leaf(&self, dice: &mut Dice, sort: Sort) -> Term {
        let t = &self.terms;
        if dice.below(3) > 0 {
            let mine: Vec<Symbol> = self.symbols.iter().copied().filter(|s| t.symbol_sort(*s) == sort).collect();
            if !mine.is_empty() {
                return t.sym(dice.pick(&mine));
            }
        }
        match t.kind(sort) {
            SortKind::Bool => t.bool(dice.below(2) == 0),
            SortKind::Int | SortKind::Machine(_) => self.number(dice, sort),
            SortKind::Enum(e) => t.variant(e, dice.below(3) as u32),
            SortKind::Ref(c) => t.reference(c, dice.below(3) as u32),
            _ => t.default_of(sort),
        }
    }

    fn read(&self, dice: &mut Dice, sort: Sort, d: usize) -> Term {
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
            return self.leaf(dice, sort);
        }
        let (map, key) = dice.pick(&maps);
        t.select(self.term(dice, map, d), self.term(dice, key, d))
    }

    fn formula(&self, dice: &mut Dice, d: usize) -> Term {
        let t = &self.terms;
        let any = dice.pick(&self.sorts);
        let number = dice.pick(&[Sort::INT, self.sorts[2], self.sorts[3], self.sorts[4]]);
        match dice.below(11) {
            0 => t.not(self.term(dice, Sort::BOOL, d)),
            1 => t.and(&[self.term(dice, Sort::BOOL, d), self.term(dice, Sort::BOOL, d)]),
            2 => t.or(&[self.term(dice, Sort::BOOL, d), self.term(dice, Sort::BOOL, d)]),
            3 => t.implies(self.term(dice, Sort::BOOL, d), self.term(dice, Sort::BOOL, d)),
            4 | 5 => t.eq(self.term(dice, any, d), self.term(dice, any, d)),
            6 => t.lt(self.term(dice, number, d), self.term(dice, number, d)),
            7 => t.le(self.term(dice, number, d), self.term(dice, number, d)),
            8 | 9 => {
                let sets: Vec<Sort> =
                    self.sorts.iter().copied().filter(|s| matches!(t.kind(*s), SortKind::Set(_))).collect();
                let set = dice.pick(&sets);
                let SortKind::Set(e) = t.kind(set) else { return t.tt() };
                if dice.below(2) == 0 {
                    t.member(self.term(dice, e, d), self.term(dice, set, d))
                } else {
                    t.mk(Op::Subset, &[self.term(dice, set, d), self.term(dice, set, d)])
                }
            }
            _ => self.read(dice, Sort::BOOL, d),
        }
    }

    fn integer(&self, dice: &mut Dice, sort: Sort, d: usize) -> Term {
        let t = &self.terms;
        let wide = sort.as_machine().is_some();
        match dice.below(if wide { 14 } else { 10 }) {
            0 | 1 => t.add(self.term(dice, sort, d), self.term(dice, sort, d)),
            2 => t.sub(self.term(dice, sort, d), self.term(dice, sort, d)),
            3 => t.mul(self.term(dice, sort, d), self.number(dice, sort)),
            4 => t.mk(Op::Neg, &[self.term(dice, sort, d)]),
            5 => t.mk(Op::Div, &[self.term(dice, sort, d), self.leaf(dice, sort)]),
            6 => t.mk(Op::Mod, &[self.term(dice, sort, d), self.leaf(dice, sort)]),
            7 => self.read(dice, sort, d),
            8 => {
                let from = dice.pick(&[Sort::INT, self.sorts[2], self.sorts[3], self.sorts[4]]);
                t.cast(self.term(dice, from, d), sort)
            }
            9 if self.seqs && sort == Sort::INT => {
                let seq = t.sort(SortKind::Seq(Sort::INT));
                let q = self.term(dice, seq, d);
                if dice.below(2) == 0 { t.mk(Op::Len, &[q]) } else { t.mk(Op::At, &[q, self.leaf(dice, Sort::INT)]) }
            }
            9 => self.leaf(dice, sort),
            10 => {
                let op = dice.pick(&[Op::BitAnd, Op::BitOr, Op::BitXor]);
                t.mk(op, &[self.term(dice, sort, d), self.term(dice, sort, d)])
            }
            11 => t.mk(Op::BitNot, &[self.term(dice, sort, d)]),
            12 => t.mk(Op::Shl, &[self.term(dice, sort, d), self.leaf(dice, sort)]),
            _ => t.mk(Op::Shr, &[self.term(dice, sort, d), self.leaf(dice, sort)]),
        }
    }

    /// A random value of a sort, in the canonical form that evaluation gives.
    pub(crate) fn value(&self, dice: &mut Dice, sort: Sort) -> Value {
        let t = &self.terms;
        match t.kind(sort) {
            SortKind::Bool => Value::Bool(dice.below(2) == 0),
            SortKind::Int => Value::Int(dice.pick(&[0, 1, -1, 2, -2, 3, 5, -7, 10, 100])),
            SortKind::Machine(m) => {
                Value::Int(dice.pick(&[0, 1, 2, 3, 5, 7, m.min(), m.max(), m.max() - 1, m.min() + 1, 15]))
            }
            SortKind::Enum(_) => Value::Variant(dice.below(3) as u32),
            SortKind::Ref(_) => Value::Ref(dice.below(4) as u32),
            SortKind::Map(k, v) => {
                let entries = (0..dice.below(3)).map(|_| (self.value(dice, k), self.value(dice, v))).collect();
                let other = self.value(dice, v);
                crate::z3::value::finite_map(t, sort, entries, other)
            }
            SortKind::Set(e) => Value::Set((0..dice.below(4)).map(|_| self.value(dice, e)).collect()),
            SortKind::Seq(e) => Value::Seq((0..dice.below(4)).map(|_| self.value(dice, e)).collect()),
        }
    }
}
