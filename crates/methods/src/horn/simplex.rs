//! Linear inequalities over the rationals: a solution, or the weights of a contradiction (Farkas).
//!
//! In: inequalities one by one, each with a number; they can be taken back in reverse order. Out: a value for each
//! variable, or positive weights for some of the inequalities under which their sum is `1 <= 0`. The tableau method with
//! bounds on the variables and on sums of them; the first fitting variable is pivoted, so it ends. Inequalities
//! are over integers and tightened as such (`2 x <= 3` is `x <= 1`); a solution need not be of integers.

use super::rational::{Rational, gcd};
use rustc_hash::FxHashMap;

/// `sum of coefficient * variable + constant <= 0`; variables increasing, no coefficient 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct LinearInequality {
    pub parts: Vec<(u32, i128)>,
    pub constant: i128,
}

/// A number does not fit 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberOverflow;

impl LinearInequality {
    pub(super) fn constant(n: i128) -> Self {
        Self { parts: Vec::new(), constant: n }
    }
    pub(super) fn variable(v: u32) -> Self {
        Self { parts: vec![(v, 1)], constant: 0 }
    }
    pub(super) fn scale(&self, by: i128) -> Option<Self> {
        if by == 0 {
            return Some(Self::default());
        }
        let parts = self.parts.iter().map(|(v, c)| Some((*v, c.checked_mul(by)?))).collect::<Option<_>>()?;
        Some(Self { parts, constant: self.constant.checked_mul(by)? })
    }
    pub(super) fn plus(&self, other: &Self) -> Option<Self> {
        let mut parts = Vec::with_capacity(self.parts.len() + other.parts.len());
        let (mut a, mut b) = (self.parts.iter().peekable(), other.parts.iter().peekable());
        loop {
            match (a.peek(), b.peek()) {
                (Some((v, c)), Some((w, d))) if v == w => {
                    let sum = c.checked_add(*d)?;
                    if sum != 0 {
                        parts.push((*v, sum));
                    }
                    a.next();
                    b.next();
                }
                (Some((v, _)), Some((w, _))) if v > w => parts.extend(b.next()),
                (Some(_), _) => parts.extend(a.next()),
                (None, Some(_)) => parts.extend(b.next()),
                (None, None) => break,
            }
        }
        Some(Self { parts, constant: self.constant.checked_add(other.constant)? })
    }
    pub(super) fn minus(&self, other: &Self) -> Option<Self> {
        self.plus(&other.scale(-1)?)
    }
    /// As an inequality over integers: divided by the common factor of the coefficients, the constant rounded up.
    pub(crate) fn tighten(mut self) -> Self {
        let g = self.parts.iter().fold(0, |g, (_, c)| gcd(g, *c));
        if g > 1 {
            for (_, c) in &mut self.parts {
                *c /= g;
            }
            // c + k/g <= 0 for integer c: c <= floor(-k/g).
            self.constant = -(-self.constant).div_euclid(g);
        } else if self.parts.is_empty() {
            self.constant = self.constant.signum();
        }
        self
    }
    /// `not (self <= 0)` over integers.
    pub(crate) fn negated(&self) -> Option<Self> {
        let mut out = self.scale(-1)?;
        out.constant = out.constant.checked_add(1)?;
        Some(out)
    }
}

/// Weights of inequalities, by their numbers.
pub(crate) type Weights = Vec<(usize, Rational)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BoundSide {
    Upper,
    Lower,
}

type Bound = Option<(Rational, usize)>;

#[derive(Default)]
pub(crate) struct Simplex {
    /// Rows: a basic variable as a sum of others, sorted.
    rows: Vec<(usize, Vec<(usize, Rational)>)>,
    /// For each variable its row, if it is basic.
    row_of: Vec<Option<usize>>,
    value: Vec<Rational>,
    upper: Vec<Bound>,
    lower: Vec<Bound>,
    /// Our variable for each variable of the caller, and for each sum.
    of_variable: FxHashMap<u32, usize>,
    of_sum: FxHashMap<Vec<(u32, i128)>, usize>,
    /// Bounds as they were, to be put back.
    trail: Vec<(usize, BoundSide, Bound)>,
    /// Contradictory by themselves.
    broken: Vec<(usize, Option<Weights>)>,
    asserted: usize,
    /// How many pivots were made in all.
    pub(crate) pivots: u64,
}

/// How far to take back.
#[derive(Clone, Copy)]
pub(crate) struct UndoMark(usize, usize, usize);

impl Simplex {
    fn new_variable(&mut self) -> usize {
        self.row_of.push(None);
        self.value.push(Rational::ZERO);
        self.upper.push(None);
        self.lower.push(None);
        self.value.len() - 1
    }
    fn variable(&mut self, v: u32) -> usize {
        if let Some(x) = self.of_variable.get(&v) {
            return *x;
        }
        let x = self.new_variable();
        self.of_variable.insert(v, x);
        x
    }
    /// The variable that stands for a sum; its row is in terms of non-basic variables.
    fn sum(&mut self, parts: &[(u32, i128)]) -> Option<usize> {
        if let [(v, 1)] = parts {
            return Some(self.variable(*v));
        }
        if let Some(x) = self.of_sum.get(parts) {
            return Some(*x);
        }
        let mut row: Vec<(usize, Rational)> = Vec::new();
        let mut value = Rational::ZERO;
        for (v, c) in parts {
            let x = self.variable(*v);
            let c = Rational::int(*c);
            value = value.add(c.mul(self.value[x])?)?;
            match self.row_of[x] {
                None => row = add(&row, &[(x, Rational::ONE)], c)?,
                Some(r) => row = add(&row, &self.rows[r].1, c)?,
            }
        }
        let x = self.new_variable();
        self.value[x] = value;
        self.row_of[x] = Some(self.rows.len());
        self.rows.push((x, row));
        self.of_sum.insert(parts.to_vec(), x);
        Some(x)
    }
    pub(super) fn mark(&self) -> UndoMark {
        UndoMark(self.trail.len(), self.broken.len(), self.asserted)
    }
    pub(super) fn back(&mut self, to: UndoMark) {
        while self.trail.len() > to.0 {
            let (x, side, bound) = self.trail.pop().expect("longer than the mark");
            match side {
                BoundSide::Upper => self.upper[x] = bound,
                BoundSide::Lower => self.lower[x] = bound,
            }
        }
        self.broken.truncate(to.1);
        self.asserted = to.2;
    }
    /// Adds a tightened inequality under a number of the caller's.
    pub(super) fn assert(&mut self, i: &LinearInequality, number: usize) -> Result<(), NumberOverflow> {
        self.assert_it(i, number).ok_or(NumberOverflow)
    }
    fn assert_it(&mut self, i: &LinearInequality, number: usize) -> Option<()> {
        self.asserted += 1;
        let Some((_, first)) = i.parts.first() else {
            if i.constant > 0 {
                self.broken.push((number, None));
            }
            return Some(());
        };
        let (x, side, bound) = if *first > 0 {
            (self.sum(&i.parts)?, BoundSide::Upper, Rational::int(i.constant.checked_neg()?))
        } else {
            let turned: Vec<(u32, i128)> = i.parts.iter().map(|(v, c)| (*v, -c)).collect();
            (self.sum(&turned)?, BoundSide::Lower, Rational::int(i.constant))
        };
        let (old, other) = match side {
            BoundSide::Upper => (self.upper[x], self.lower[x]),
            BoundSide::Lower => (self.lower[x], self.upper[x]),
        };
        let tighter = |a: Rational, b: Rational| if side == BoundSide::Upper { a.less(b) } else { b.less(a) };
        if let Some((b, _)) = old
            && !tighter(bound, b)?
        {
            return Some(());
        }
        if let Some((b, n)) = other
            && tighter(bound, b)?
        {
            self.broken.push((number, Some(vec![(number, Rational::ONE), (n, Rational::ONE)])));
            return Some(());
        }
        self.trail.push((x, side, old));
        match side {
            BoundSide::Upper => self.upper[x] = Some((bound, number)),
            BoundSide::Lower => self.lower[x] = Some((bound, number)),
        }
        if self.row_of[x].is_none() && tighter(bound, self.value[x])? {
            self.shift(x, bound)?;
        }
        Some(())
    }
    /// Sets a non-basic variable; the basic ones follow.
    fn shift(&mut self, x: usize, to: Rational) -> Option<()> {
        let by = to.sub(self.value[x])?;
        self.value[x] = to;
        for (basic, row) in &self.rows {
            if let Ok(at) = row.binary_search_by_key(&x, |(v, _)| *v) {
                self.value[*basic] = self.value[*basic].add(row[at].1.mul(by)?)?;
            }
        }
        Some(())
    }
    /// Satisfiable over the rationals, or weights of a contradiction.
    pub(super) fn check(&mut self) -> Result<Result<(), Weights>, NumberOverflow> {
        self.check_it().ok_or(NumberOverflow)
    }
    fn check_it(&mut self) -> Option<Result<(), Weights>> {
        if let Some((n, weights)) = self.broken.first() {
            return Some(Err(weights.clone().unwrap_or_else(|| vec![(*n, Rational::ONE)])));
        }
        loop {
            let mut worst: Option<(usize, usize, BoundSide)> = None;
            for (r, (basic, _)) in self.rows.iter().enumerate() {
                let v = self.value[*basic];
                let side = match (self.lower[*basic], self.upper[*basic]) {
                    (Some((b, _)), _) if v.less(b)? => BoundSide::Lower,
                    (_, Some((b, _))) if b.less(v)? => BoundSide::Upper,
                    _ => continue,
                };
                if worst.is_none_or(|(x, _, _)| *basic < x) {
                    worst = Some((*basic, r, side));
                }
            }
            let Some((basic, r, side)) = worst else { return Some(Ok(())) };
            let row = &self.rows[r].1;
            let mut chosen = None;
            for (x, c) in row {
                // To raise the basic variable, raise those with a positive coefficient and lower the others.
                let raise = c.is_positive() == (side == BoundSide::Lower);
                let room = match if raise { self.upper[*x] } else { self.lower[*x] } {
                    None => true,
                    Some((b, _)) if raise => self.value[*x].less(b)?,
                    Some((b, _)) => b.less(self.value[*x])?,
                };
                if room {
                    chosen = Some(*x);
                    break;
                }
            }
            let (bound, number) = match side {
                BoundSide::Lower => self.lower[basic],
                BoundSide::Upper => self.upper[basic],
            }
            .expect("it is violated");
            let Some(x) = chosen else {
                let mut weights = vec![(number, Rational::ONE)];
                for (x, c) in row {
                    let raise = c.is_positive() == (side == BoundSide::Lower);
                    let (_, n) = if raise { self.upper[*x] } else { self.lower[*x] }.expect("there is no room");
                    weights.push((n, c.abs()?));
                }
                return Some(Err(weights));
            };
            self.pivot(r, x, bound)?;
        }
    }
    /// Exchanges the basic variable of a row with a non-basic one, and sets the former to a value.
    fn pivot(&mut self, r: usize, x: usize, to: Rational) -> Option<()> {
        self.pivots += 1;
        let (basic, row) = (self.rows[r].0, std::mem::take(&mut self.rows[r].1));
        let at = row.binary_search_by_key(&x, |(v, _)| *v).expect("it is in the row");
        let c = row[at].1;
        let by = to.sub(self.value[basic])?.div(c)?;
        // x = (basic - the rest) / c
        let inverse = Rational::ONE.div(c)?;
        let mut turned: Vec<(usize, Rational)> = Vec::with_capacity(row.len());
        for (v, d) in row.iter().filter(|(v, _)| *v != x) {
            turned.push((*v, d.mul(inverse)?.neg()?));
        }
        let place = turned.partition_point(|(v, _)| *v < basic);
        turned.insert(place, (basic, inverse));
        self.value[basic] = to;
        self.value[x] = self.value[x].add(by)?;
        for k in 0..self.rows.len() {
            if k == r {
                continue;
            }
            let Ok(at) = self.rows[k].1.binary_search_by_key(&x, |(v, _)| *v) else { continue };
            let d = self.rows[k].1[at].1;
            let b = self.rows[k].0;
            self.value[b] = self.value[b].add(d.mul(by)?)?;
            let mut rest = std::mem::take(&mut self.rows[k].1);
            rest.remove(at);
            self.rows[k].1 = add(&rest, &turned, d)?;
        }
        self.rows[r] = (x, turned);
        self.row_of[basic] = None;
        self.row_of[x] = Some(r);
        Some(())
    }
    /// The value of a caller's variable; 0 if nothing was said of it.
    pub(crate) fn value_of(&self, v: u32) -> Rational {
        self.of_variable.get(&v).map_or(Rational::ZERO, |x| self.value[*x])
    }
}

/// `a + by * b`, both sorted.
fn add(a: &[(usize, Rational)], b: &[(usize, Rational)], by: Rational) -> Option<Vec<(usize, Rational)>> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if j == b.len() || (i < a.len() && a[i].0 < b[j].0) {
            out.push(a[i]);
            i += 1;
        } else if i == a.len() || b[j].0 < a[i].0 {
            out.push((b[j].0, b[j].1.mul(by)?));
            j += 1;
        } else {
            let sum = a[i].1.add(b[j].1.mul(by)?)?;
            if !sum.is_zero() {
                out.push((a[i].0, sum));
            }
            i += 1;
            j += 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(parts: &[(u32, i128)], constant: i128) -> LinearInequality {
        LinearInequality { parts: parts.to_vec(), constant }.tighten()
    }

    #[test]
    fn check_weights_of_a_contradiction_sum_to_it() {
        // x + y <= 2, x - y >= 1, y >= 1
        let all = [linear(&[(0, 1), (1, 1)], -2), linear(&[(0, -1), (1, 1)], 1), linear(&[(1, -1)], 1)];
        let mut s = Simplex::default();
        for (n, i) in all.iter().enumerate() {
            s.assert(i, n).expect("small numbers");
        }
        let weights = s.check().expect("small numbers").expect_err("it is contradictory");
        let mut sum = [Rational::ZERO; 3];
        for (n, w) in weights {
            assert!(w.is_positive(), "weights are positive");
            for (v, c) in &all[n].parts {
                let at = *v as usize;
                sum[at] = sum[at].add(w.mul(Rational::int(*c)).expect("small")).expect("small");
            }
            sum[2] = sum[2].add(w.mul(Rational::int(all[n].constant)).expect("small")).expect("small");
        }
        assert!(sum[0].is_zero() && sum[1].is_zero() && sum[2].is_positive(), "the sum is a positive number <= 0");
    }

    #[test]
    fn check_taking_back_makes_it_satisfiable_again() {
        let mut s = Simplex::default();
        s.assert(&linear(&[(0, 1)], -3), 0).expect("small");
        let mark = s.mark();
        s.assert(&linear(&[(0, -1)], 4), 1).expect("small");
        assert!(s.check().expect("small").is_err());
        s.back(mark);
        assert!(s.check().expect("small").is_ok());
    }

    #[test]
    fn check_inequalities_are_tightened_over_integers() {
        assert_eq!(linear(&[(0, 2)], -3), linear(&[(0, 1)], -1));
        assert_eq!(linear(&[(0, -2)], 3), linear(&[(0, -1)], 2));
    }
}
