//! Sums of multiples of atoms, over mathematical integers: the light linear normal form.
//!
//! In: an arithmetic term or a comparison. Out: the same in normal form. A sum with more atoms than `MAX_ATOMS`, or with
//! numbers beyond 128 bits, is left alone, so that each step is of bounded cost.

use super::number;
use crate::sort::Sort;
use crate::term::{Op, Term, Terms};

const MAX_ATOMS: usize = 24;

/// `constant + sum of factor * atom`; atoms in the order in which they were met, no factor is 0.
#[derive(Clone, Debug, Default)]
pub(super) struct LinearSum {
    atoms: Vec<(Term, i128)>,
    constant: i128,
}

impl LinearSum {
    /// The value, where there are no atoms.
    pub(super) fn constant(&self) -> Option<i128> {
        self.atoms.is_empty().then_some(self.constant)
    }

    /// Adds a number.
    pub(super) fn shift(&mut self, by: i128) -> Option<()> {
        self.constant = self.constant.checked_add(by)?;
        Some(())
    }

    fn add(&mut self, atom: Term, factor: i128) -> Option<()> {
        if let Some(at) = self.atoms.iter().position(|(a, _)| *a == atom) {
            self.atoms[at].1 = self.atoms[at].1.checked_add(factor)?;
            if self.atoms[at].1 == 0 {
                self.atoms.remove(at);
            }
        } else if factor != 0 {
            if self.atoms.len() >= MAX_ATOMS {
                return None;
            }
            self.atoms.push((atom, factor));
        }
        Some(())
    }

    /// Adds `factor * term`. `fuel` bounds how many nodes are looked at.
    fn take(&mut self, t: &Terms, term: Term, factor: i128, fuel: &mut usize) -> Option<()> {
        *fuel = fuel.checked_sub(1)?;
        if let Some(n) = number(t, term) {
            self.constant = self.constant.checked_add(n.checked_mul(factor)?)?;
            return Some(());
        }
        match t.app(term) {
            Some((Op::Add, args)) => {
                self.take(t, args[0], factor, fuel)?;
                self.take(t, args[1], factor, fuel)
            }
            Some((Op::Sub, args)) => {
                self.take(t, args[0], factor, fuel)?;
                self.take(t, args[1], factor.checked_neg()?, fuel)
            }
            Some((Op::Neg, args)) => self.take(t, args[0], factor.checked_neg()?, fuel),
            Some((Op::Mul, args)) => match (number(t, args[0]), number(t, args[1])) {
                (Some(n), _) => self.take(t, args[1], factor.checked_mul(n)?, fuel),
                (_, Some(n)) => self.take(t, args[0], factor.checked_mul(n)?, fuel),
                _ => self.add(term, factor),
            },
            _ => self.add(term, factor),
        }
    }

    pub(super) fn of(t: &Terms, term: Term) -> Option<Self> {
        debug_assert_eq!(t.sort_of(term), Sort::INT, "only mathematical integers are linear here");
        let mut out = Self::default();
        out.take(t, term, 1, &mut (4 * MAX_ATOMS))?;
        Some(out)
    }

    fn divisor(&self) -> u128 {
        self.atoms.iter().fold(0, |g, (_, f)| gcd(g, f.unsigned_abs()))
    }

    fn side(&self, t: &Terms, wanted: impl Fn(i128) -> bool, constant: i128) -> Option<Term> {
        let mut out: Option<Term> = None;
        for (atom, factor) in self.atoms.iter().filter(|(_, f)| wanted(*f)) {
            let part = multiple(t, factor.checked_abs()?, *atom);
            out = Some(out.map_or(part, |s| t.add(s, part)));
        }
        Some(match (out, constant) {
            (None, c) => t.int(c),
            (Some(s), 0) => s,
            (Some(s), c) if c > 0 => t.add(s, t.int(c)),
            (Some(s), c) => t.sub(s, t.int(c.checked_neg()?)),
        })
    }

    /// The sum as a term, positive parts first.
    pub(super) fn term(&self, t: &Terms) -> Option<Term> {
        let mut order: Vec<&(Term, i128)> = self.atoms.iter().filter(|(_, f)| *f > 0).collect();
        order.extend(self.atoms.iter().filter(|(_, f)| *f < 0));
        let mut out: Option<Term> = None;
        for (atom, factor) in order {
            let part = multiple(t, factor.checked_abs()?, *atom);
            out = Some(match out {
                Some(s) if *factor > 0 => t.add(s, part),
                Some(s) => t.sub(s, part),
                None if *factor > 0 => part,
                None if *factor == -1 => t.mk(Op::Neg, &[*atom]),
                None => t.mul(t.int(*factor), *atom),
            });
        }
        Some(match (out, self.constant) {
            (None, c) => t.int(c),
            (Some(s), 0) => s,
            (Some(s), c) if c > 0 => t.add(s, t.int(c)),
            (Some(s), c) => t.sub(s, t.int(c.checked_neg()?)),
        })
    }

    /// `self == 0` as a formula.
    pub(crate) fn equals_zero(mut self, t: &Terms) -> Option<Term> {
        if let Some(c) = self.constant() {
            return Some(t.bool(c == 0));
        }
        let g = i128::try_from(self.divisor()).ok()?;
        if self.constant % g != 0 {
            return Some(t.ff());
        }
        self.scale_down(g, self.constant / g);
        // The first atom is on the left, so that `x == 3` stays as it is.
        if self.atoms[0].1 < 0 {
            for (_, f) in &mut self.atoms {
                *f = f.checked_neg()?;
            }
            self.constant = self.constant.checked_neg()?;
        }
        let (left, right) = self.sides(t)?;
        Some(t.eq(left, right))
    }

    /// `self <= 0` as a formula.
    pub(crate) fn at_most_zero(mut self, t: &Terms) -> Option<Term> {
        if let Some(c) = self.constant() {
            return Some(t.bool(c <= 0));
        }
        let g = i128::try_from(self.divisor()).ok()?;
        // g * s + c <= 0 is s <= floor(-c / g), for integers.
        let bound = self.constant.checked_neg()?.div_euclid(g);
        self.scale_down(g, bound.checked_neg()?);
        if self.constant == 1 && self.atoms.iter().any(|(_, f)| *f > 0) && self.atoms.iter().any(|(_, f)| *f < 0) {
            self.constant = 0;
            let (left, right) = self.sides(t)?;
            return Some(t.lt(left, right));
        }
        let (left, right) = self.sides(t)?;
        Some(t.le(left, right))
    }

    fn scale_down(&mut self, g: i128, constant: i128) {
        for (_, f) in &mut self.atoms {
            *f /= g;
        }
        self.constant = constant;
    }

    /// Positive parts left, negative right, the constant where it is positive, or right if that side is otherwise empty.
    fn sides(&self, t: &Terms) -> Option<(Term, Term)> {
        let has_negative = self.atoms.iter().any(|(_, f)| *f < 0);
        let has_positive = self.atoms.iter().any(|(_, f)| *f > 0);
        let (left, right) = match (has_positive, has_negative) {
            (true, false) => (0, self.constant.checked_neg()?),
            (false, true) => (self.constant, 0),
            _ if self.constant > 0 => (self.constant, 0),
            _ => (0, self.constant.checked_neg()?),
        };
        Some((self.side(t, |f| f > 0, left)?, self.side(t, |f| f < 0, right)?))
    }
}

fn multiple(t: &Terms, factor: i128, atom: Term) -> Term {
    if factor == 1 { atom } else { t.mul(t.int(factor), atom) }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `a - b` as a sum.
pub(super) fn difference(t: &Terms, a: Term, b: Term) -> Option<LinearSum> {
    let mut out = LinearSum::default();
    let mut fuel = 4 * MAX_ATOMS;
    out.take(t, a, 1, &mut fuel)?;
    out.take(t, b, -1, &mut fuel)?;
    Some(out)
}
