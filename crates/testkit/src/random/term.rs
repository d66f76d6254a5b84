//! Random terms of a sort, made of given leaves.

use super::{Generator, Integers};
use base::Random;
use logic::{EnumId, Op, Sort, SortKind, Term, Terms};

impl Generator {
    pub(super) fn constant(&mut self, sort: Sort) -> Term {
        constant(&self.p.terms, &mut self.random, sort)
    }

    pub(super) fn formula(&mut self, leaves: &[Term], depth: usize) -> Term {
        term(&self.p.terms, &mut self.random, leaves, Sort::BOOL, depth)
    }

    pub(super) fn term(&mut self, leaves: &[Term], sort: Sort, depth: usize) -> Term {
        term(&self.p.terms, &mut self.random, leaves, sort, depth)
    }

    /// A value to be stored in a variable: kept in range where integers are bounded.
    pub(super) fn stored(&mut self, leaves: &[Term], sort: Sort, depth: usize) -> Term {
        let value = self.term(leaves, sort, depth);
        self.bounded(value)
    }

    pub(super) fn bounded(&mut self, value: Term) -> Term {
        let Integers::Below(k) = self.knobs.integers else { return value };
        let t = &self.p.terms;
        let sort = t.sort_of(value);
        match t.kind(sort) {
            SortKind::Int => t.mk(Op::Mod, &[value, t.int(k)]),
            // Sets and sequences would grow without end in a loop.
            SortKind::Seq(_) => t.mk(Op::Slice, &[value, t.int(0), t.int(k)]),
            SortKind::Set(_) => {
                let mut range = t.mk(Op::EmptySet(sort), &[]);
                for i in 0..k {
                    range = t.mk(Op::Insert, &[t.int(i), range]);
                }
                // What is common to both.
                t.mk(Op::Minus, &[range, t.mk(Op::Minus, &[range, value])])
            }
            _ => value,
        }
    }
}

/// A constant of a sort.
pub fn constant(t: &Terms, r: &mut Random, sort: Sort) -> Term {
    match t.kind(sort) {
        SortKind::Bool => t.bool(r.chance(50)),
        SortKind::Int => t.int(r.between(-1, 3)),
        SortKind::Machine(m) => {
            let n = *r.pick(&[0, 1, 2, 3, m.max(), m.min()]).expect("not empty");
            t.num(n, sort)
        }
        SortKind::Enum(e) => variant(t, r, e),
        SortKind::Ref(c) => t.null(c),
        SortKind::Map(_, v) => {
            let inner = constant(t, r, v);
            t.const_map(sort, inner)
        }
        SortKind::Set(e) => {
            let mut out = t.mk(Op::EmptySet(sort), &[]);
            if r.chance(30) {
                let x = constant(t, r, e);
                out = t.mk(Op::Insert, &[x, out]);
            }
            out
        }
        SortKind::Seq(_) => t.mk(Op::EmptySeq(sort), &[]),
    }
}

fn variant(t: &Terms, r: &mut Random, e: EnumId) -> Term {
    t.variant(e, r.below(t.enum_size(e)) as u32)
}

/// A term of a sort over the leaves.
pub fn term(t: &Terms, r: &mut Random, leaves: &[Term], sort: Sort, depth: usize) -> Term {
    let own: Vec<Term> = leaves.iter().copied().filter(|x| t.sort_of(*x) == sort).collect();
    if depth == 0 || r.chance(15) {
        return match r.pick(&own) {
            Some(x) if r.chance(75) => *x,
            _ => constant(t, r, sort),
        };
    }
    // Reading an entry of a map.
    if r.chance(20) {
        let maps: Vec<(Term, Sort)> = leaves
            .iter()
            .filter_map(|x| match t.kind(t.sort_of(*x)) {
                SortKind::Map(k, v) if v == sort => Some((*x, k)),
                _ => None,
            })
            .collect();
        if let Some((map, key)) = r.pick(&maps).copied() {
            let key = term(t, r, leaves, key, depth - 1);
            return t.select(map, key);
        }
    }
    if r.chance(10) {
        let c = term(t, r, leaves, Sort::BOOL, depth - 1);
        let (a, b) = (term(t, r, leaves, sort, depth - 1), term(t, r, leaves, sort, depth - 1));
        return t.ite(c, a, b);
    }
    let sub = |r: &mut Random, s: Sort| term(t, r, leaves, s, depth - 1);
    match t.kind(sort) {
        SortKind::Bool => formula(t, r, leaves, depth),
        SortKind::Int => {
            let (a, b) = (sub(r, sort), sub(r, sort));
            match r.below(8) {
                0..=2 => t.add(a, b),
                3..=4 => t.sub(a, b),
                5 => t.mul(t.int(r.between(-2, 3)), a),
                6 => t.mk(if r.chance(50) { Op::Div } else { Op::Mod }, &[a, t.int(r.between(1, 4))]),
                _ => {
                    let seqs: Vec<Term> =
                        leaves.iter().copied().filter(|x| matches!(t.kind(t.sort_of(*x)), SortKind::Seq(_))).collect();
                    match r.pick(&seqs) {
                        Some(q) if r.chance(50) => t.mk(Op::Len, &[*q]),
                        Some(q) if t.kind(t.sort_of(*q)) == SortKind::Seq(Sort::INT) => t.mk(Op::At, &[*q, a]),
                        _ => t.mk(Op::Neg, &[a]),
                    }
                }
            }
        }
        SortKind::Machine(_) => {
            let (a, b) = (sub(r, sort), sub(r, sort));
            let ops =
                [Op::Add, Op::Sub, Op::Mul, Op::BitAnd, Op::BitOr, Op::BitXor, Op::Shl, Op::Shr, Op::Div, Op::Mod];
            match r.below(12) {
                i if i < 10 => t.mk(ops[i], &[a, b]),
                10 => t.mk(Op::BitNot, &[a]),
                _ => {
                    let n = sub(r, Sort::INT);
                    t.cast(n, sort)
                }
            }
        }
        SortKind::Map(k, v) => {
            let (m, key, value) = (sub(r, sort), sub(r, k), sub(r, v));
            t.store(m, key, value)
        }
        SortKind::Set(e) => {
            let (a, b) = (sub(r, sort), sub(r, sort));
            match r.below(3) {
                0 => {
                    let x = sub(r, e);
                    t.mk(Op::Insert, &[x, a])
                }
                1 => t.mk(Op::Union, &[a, b]),
                _ => t.mk(Op::Minus, &[a, b]),
            }
        }
        SortKind::Seq(e) => {
            let a = sub(r, sort);
            match r.below(3) {
                0 => {
                    let x = sub(r, e);
                    t.mk(Op::Concat, &[a, t.mk(Op::Unit, &[x])])
                }
                1 => {
                    let b = sub(r, sort);
                    t.mk(Op::Concat, &[a, b])
                }
                _ => t.mk(Op::Slice, &[a, t.int(r.between(0, 2)), t.int(r.between(0, 3))]),
            }
        }
        SortKind::Enum(_) | SortKind::Ref(_) => match r.pick(&own) {
            Some(x) if r.chance(60) => *x,
            _ => constant(t, r, sort),
        },
    }
}

fn formula(t: &Terms, r: &mut Random, leaves: &[Term], depth: usize) -> Term {
    let sub = |r: &mut Random, s: Sort| term(t, r, leaves, s, depth - 1);
    match r.below(11) {
        0 => {
            let (a, b) = (sub(r, Sort::BOOL), sub(r, Sort::BOOL));
            t.and(&[a, b])
        }
        1 => {
            let (a, b) = (sub(r, Sort::BOOL), sub(r, Sort::BOOL));
            t.or(&[a, b])
        }
        2 => {
            let a = sub(r, Sort::BOOL);
            t.not(a)
        }
        3 => {
            let (a, b) = (sub(r, Sort::BOOL), sub(r, Sort::BOOL));
            t.implies(a, b)
        }
        4..=6 => {
            let (a, b) = (sub(r, Sort::INT), sub(r, Sort::INT));
            if r.chance(50) { t.lt(a, b) } else { t.le(a, b) }
        }
        7 => {
            let sets: Vec<Term> =
                leaves.iter().copied().filter(|x| t.kind(t.sort_of(*x)) == SortKind::Set(Sort::INT)).collect();
            let e = sub(r, Sort::INT);
            match r.pick(&sets) {
                Some(s) => t.member(e, *s),
                None => t.eq(e, t.int(r.between(0, 2))),
            }
        }
        8 if depth > 1 => {
            let maps: Vec<Term> = leaves
                .iter()
                .copied()
                .filter(|x| t.kind(t.sort_of(*x)) == SortKind::Map(Sort::INT, Sort::INT))
                .collect();
            let Some(map) = r.pick(&maps).copied() else { return t.tt() };
            let i = t.symbol("i", Sort::INT);
            let is = t.sym(i);
            let range = t.and(&[t.le(t.int(0), is), t.lt(is, t.int(r.between(1, 3)))]);
            let right = sub(r, Sort::INT);
            let fact = t.le(t.select(map, is), right);
            if r.chance(50) { t.forall(&[i], t.implies(range, fact)) } else { t.exists(&[i], t.and(&[range, fact])) }
        }
        _ => {
            // An equation between values of a sort that occurs; maps with undecided entries are not compared.
            let plain: Vec<Sort> =
                leaves.iter().map(|x| t.sort_of(*x)).filter(|s| !matches!(t.kind(*s), SortKind::Map(..))).collect();
            let sort = r.pick(&plain).copied().unwrap_or(Sort::INT);
            let (a, b) = (sub(r, sort), sub(r, sort));
            t.eq(a, b)
        }
    }
}
