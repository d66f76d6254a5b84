//! Floating-point values, where they are exact.
//!
//! In: floating expressions. Out: terms. A value that is a whole number of 256ths, and not too large, is that
//! number; any other is one mark, `UNFOLLOWED_VALUE`, from which nothing but the mark comes. A sum, difference, product or
//! quotient is followed where it is again such a number and fits the type's mantissa: then IEEE 754 rounds nothing,
//! whatever the mode and the precision between operations. Constants are computed before, by the same arithmetic as the
//! machine's. Where a test or an integer comes of a mark, that is unmodelled. Deliberately absent: rounding, infinities,
//! NaN, the sign of zero (nothing that is followed tells it).

use super::memory::Ref;
use super::*;
use crate::c::ast::*;
use crate::c::types::Int;

/// Values are kept as numbers of this part of one.
const UNITS_PER_ONE: i128 = 256;
/// The mark of a value that is not followed; larger than any that is.
const UNFOLLOWED_VALUE: i128 = 1 << 41;

impl Lower<'_> {
    pub(super) fn unfollowed(&self) -> Term {
        self.terms.int(UNFOLLOWED_VALUE)
    }

    /// A constant.
    pub(super) fn literal(&self, number: Option<f64>) -> Term {
        let kept =
            number.map(|n| n * UNITS_PER_ONE as f64).filter(|n| n.fract() == 0.0 && n.abs() <= MAX_DOUBLE as f64);
        self.terms.int(kept.map_or(UNFOLLOWED_VALUE, |n| n as i128))
    }

    /// The numbers of parts that every value of the type below this has room for.
    fn most(&self, ty: CType) -> i128 {
        if self.unit.types.size(ty) == Some(4) { MAX_FLOAT } else { MAX_DOUBLE }
    }

    /// The value if it is exact in the type and the condition holds, else the mark.
    fn exact(&self, holds: Term, value: Term, most: i128) -> Term {
        let b = self.b();
        let fits = match self.bounds(value) {
            Some((low, high)) if -most <= low && high <= most => b.tt(),
            _ => b.and(b.le(b.num(-most), value), b.le(value, b.num(most))),
        };
        b.ite(b.and(holds, fits), value, self.unfollowed())
    }

    fn known(&self, value: Term) -> Term {
        self.b().ne(value, self.unfollowed())
    }

    pub(super) fn floating(&mut self, number: Option<f64>, made: Made, parts: &[Expr], ty: CType) -> Term {
        let from = parts.first().map(|p| p.ty);
        let values: Vec<Term> = parts.iter().map(|p| self.value(p)).collect();
        if number.is_some() {
            return self.literal(number);
        }
        let (b, most) = (self.b(), self.most(ty));
        match (made, &values[..]) {
            (Made::Converted, [x]) => match from.map(|f| self.unit.types.kind(f).clone()) {
                Some(CTypeKind::Float(_)) => self.exact(self.known(*x), *x, most),
                Some(CTypeKind::Int(_)) => self.exact(b.tt(), b.mul(*x, b.num(UNITS_PER_ONE)), most),
                _ => self.unfollowed(),
            },
            (Made::Negated, [x]) => b.ite(self.known(*x), b.sub(b.num(0), *x), self.unfollowed()),
            (Made::Joined(op), [x, y]) => self.join_floats(op, *x, *y, ty),
            _ => self.unfollowed(),
        }
    }

    fn join_floats(&self, op: CBinaryOp, x: Term, y: Term, ty: CType) -> Term {
        let (b, most) = (self.b(), self.most(ty));
        let known = b.and(self.known(x), self.known(y));
        let whole = |t: Term, by: i128| b.eq(b.modulo(t, b.num(by)), b.num(0));
        match op {
            CBinaryOp::Add => self.exact(known, b.add(x, y), most),
            CBinaryOp::Sub => self.exact(known, b.sub(x, y), most),
            CBinaryOp::Mul => {
                // A whole factor keeps the parts whole.
                let (x, y) = if b.as_num(x).is_some() { (y, x) } else { (x, y) };
                match b.as_num(y) {
                    Some(k) if k % UNITS_PER_ONE == 0 => self.exact(known, b.mul(x, b.num(k / UNITS_PER_ONE)), most),
                    _ => {
                        let product = b.mul(x, y);
                        self.exact(
                            b.and(known, whole(product, UNITS_PER_ONE)),
                            b.div(product, b.num(UNITS_PER_ONE)),
                            most,
                        )
                    }
                }
            }
            CBinaryOp::Div => match b.as_num(y) {
                Some(k) if 0 < k && k < UNFOLLOWED_VALUE => {
                    let dividend = b.mul(x, b.num(UNITS_PER_ONE));
                    self.exact(b.and(known, whole(dividend, k)), b.div(dividend, b.num(k)), most)
                }
                _ => self.unfollowed(),
            },
            _ => self.unfollowed(),
        }
    }

    /// What depends on values that are not followed is unmodelled.
    pub(super) fn must_follow(&mut self, values: &[Term], what: &str, span: Span) {
        let known = self.b().all(values.iter().map(|v| self.known(*v)));
        self.only_modelled(known, &format!("{what} of floating-point values that are not exact"), span);
    }

    /// Goes on where the formula holds; elsewhere nothing is known.
    pub(super) fn only_modelled(&mut self, formula: Term, why: &str, span: Span) {
        match self.b().as_bool(formula) {
            Some(true) => return,
            Some(false) => return self.unmodelled(why, span),
            None => {}
        }
        if self.cur.at.is_none() {
            return;
        }
        let failure = GateFailure::Unmodelled(why.to_string(), self.blamed(span));
        self.check(failure, formula, span);
    }

    /// An integer of a floating value: towards zero, and undefined where it does not fit.
    pub(super) fn number_of(&mut self, inner: &Expr, int: Int, span: Span) -> Term {
        let value = self.value(inner);
        if self.cur.at.is_none() {
            return value;
        }
        self.must_follow(&[value], "an integer", span);
        let b = self.b();
        if int == Int::Bool {
            return b.bit(b.ne(value, b.num(0)));
        }
        let down = |t: Term| b.div(t, b.num(UNITS_PER_ONE));
        let number = b.ite(b.le(b.num(0), value), down(value), b.sub(b.num(0), down(b.sub(b.num(0), value))));
        let (low, high) = int.range(self.unit.types.model);
        let fits = b.and(b.le(b.num(low), number), b.le(number, b.num(high)));
        self.only_modelled(fits, "an integer of a floating-point value that does not fit", span);
        number
    }

    /// `x op= y` for a floating `x`, where `y` has the type in which it is computed.
    pub(super) fn assign_float(
        &mut self,
        at: Ref,
        ty: CType,
        op: CBinaryOp,
        y: Term,
        compute: CType,
        span: Span,
    ) -> Term {
        let most = self.most(ty);
        let new = |lower: &Self, old: Term| {
            let joined = lower.join_floats(op, old, y, compute);
            lower.exact(lower.known(joined), joined, most)
        };
        if ty.quals.atomic {
            let old = self.exchange(at, ty, span, What::Cas, |lower, old| new(lower, old));
            return new(self, old);
        }
        let old = self.read(at, ty, span);
        if self.cur.at.is_none() {
            return old;
        }
        let value = new(self, old);
        self.write(at, ty, value, span);
        self.written(at, ty, value, span)
    }
}

/// Every whole number of parts up to this is a value of `float`.
const MAX_FLOAT: i128 = 1 << 24;
/// Far fewer than `double` and wider types have room for: every 32-bit integer.
const MAX_DOUBLE: i128 = 1 << 40;
