//! C's integer arithmetic on mathematical integers: wrapping where C wraps, checks where C leaves it undefined.
//!
//! Signed results outside their type are undefined (a gate or an assumption, never a wrapped value); unsigned results
//! and conversions are reduced modulo the width. Division truncates toward zero. Bit operations with a constant mask or
//! amount are arithmetic; others go through machine integers.
//! In: an operator, terms, and C's integer type. Out: one term, and the gates that its evaluation needs.

use super::access::Undefined;
use super::*;
use crate::c::ast::{CBinaryOp, CUnaryOp};
use crate::c::types::Int;
use logic::{MachineIntSort, Node, Op};

impl Lower<'_> {
    /// Bounds of a term that hold in every reachable state, as far as they are easily seen.
    pub(super) fn bounds(&self, term: Term) -> Option<(i128, i128)> {
        if let Some(known) = self.wrapped.get(&term) {
            return Some(*known);
        }
        match self.terms.node(term) {
            Node::Num(n, _) => Some((n, n)),
            Node::Sym(s) => self.by_symbol.get(&s).and_then(|slot| self.slots[*slot].range),
            Node::App(Op::Ite, args) => {
                let (a, b) = (self.bounds(args[1])?, self.bounds(args[2])?);
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            Node::App(Op::Add, args) => {
                let (a, b) = (self.bounds(args[0])?, self.bounds(args[1])?);
                Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?))
            }
            Node::App(Op::Sub, args) => {
                let (a, b) = (self.bounds(args[0])?, self.bounds(args[1])?);
                Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?))
            }
            Node::App(Op::Mul, args) => {
                let (a, b) = (self.bounds(args[0])?, self.bounds(args[1])?);
                let corners =
                    [a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?, a.1.checked_mul(b.0)?, a.1.checked_mul(b.1)?];
                Some((*corners.iter().min()?, *corners.iter().max()?))
            }
            Node::App(Op::Mod, args) => {
                let k = self.b().as_num(args[1])?;
                (k > 0).then_some((0, k - 1))
            }
            Node::App(Op::Div, args) => {
                let (a, k) = (self.bounds(args[0])?, self.b().as_num(args[1])?);
                (k > 0).then(|| (a.0.div_euclid(k), a.1.div_euclid(k)))
            }
            Node::App(Op::Cast(_), args) => {
                let m = self.terms.sort_of(args[0]).as_machine()?;
                Some((m.min(), m.max()))
            }
            Node::App(Op::Select, args) => {
                let map = self.terms.as_symbol(args[0])?;
                self.by_symbol.get(&map).and_then(|slot| self.slots[*slot].range)
            }
            _ => None,
        }
    }

    fn within(&self, term: Term, (low, high): (i128, i128)) -> bool {
        self.bounds(term).is_some_and(|(a, b)| low <= a && b <= high)
    }

    /// The value reduced into the type.
    pub(super) fn wrap(&mut self, term: Term, int: Int) -> Term {
        if int == Int::Bool {
            return self.b().bit(self.b().truth(term));
        }
        self.wrap_into(term, int.range(self.unit.types.model))
    }

    /// The value reduced into a range that is as long as a power of two.
    pub(super) fn wrap_into(&mut self, term: Term, (low, high): (i128, i128)) -> Term {
        if self.within(term, (low, high)) || high == i128::MAX {
            return term;
        }
        let b = self.b();
        if (low, high) == (0, 1) {
            return b.bit(b.truth(term));
        }
        let modulus = high - low + 1;
        if let Some(n) = b.as_num(term) {
            return b.num((n - low).rem_euclid(modulus) + low);
        }
        let out = match self.bounds(term) {
            // At most one turn off: a choice is easier to reason about than a remainder.
            Some((a, z)) if a >= low - modulus && z <= high + modulus => {
                let mut out = term;
                if z > high {
                    out = b.ite(b.lt(b.num(high), term), b.sub(term, b.num(modulus)), out);
                }
                if a < low {
                    out = b.ite(b.lt(term, b.num(low)), b.add(term, b.num(modulus)), out);
                }
                out
            }
            _ => {
                let rest = b.modulo(term, b.num(modulus));
                if low == 0 { rest } else { b.ite(b.lt(b.num(high), rest), b.sub(rest, b.num(modulus)), rest) }
            }
        };
        self.wrapped.insert(out, (low, high));
        out
    }

    /// A result of signed arithmetic must fit; one of unsigned arithmetic wraps.
    pub(super) fn fit(&mut self, raw: Term, int: Int, span: Span) -> Term {
        if int == Int::UInt128 && !self.within(raw, int.range(self.unit.types.model)) {
            self.unmodelled("arithmetic of 128 bits", span);
            return raw;
        }
        if !int.signed() {
            return self.wrap(raw, int);
        }
        let (low, high) = int.range(self.unit.types.model);
        if self.within(raw, (low, high)) {
            return raw;
        }
        if matches!(int, Int::Int128) {
            self.unmodelled("arithmetic of 128 bits", span);
            return raw;
        }
        let (above, below) = match self.bounds(raw) {
            Some((a, z)) => (z > high, a < low),
            None => (true, true),
        };
        let b = self.b();
        let mut fits = b.tt();
        if above {
            fits = b.and(fits, b.le(raw, b.num(high)));
        }
        if below {
            fits = b.and(fits, b.le(b.num(low), raw));
        }
        self.require(Undefined::Overflow, fits, span);
        // From here on it is known to fit; a slot of its own carries that.
        let keep = self.temp(span);
        self.slots[keep].range = Some((low, high));
        self.update(vec![(keep, raw)], What::Assign, span);
        self.slot_term(keep)
    }

    pub(super) fn unary_op(&mut self, op: CUnaryOp, a: Term, int: Int, span: Span) -> Term {
        self.unary_on_address(a, span);
        let b = self.b();
        match op {
            CUnaryOp::Minus => {
                let raw = b.sub(b.num(0), a);
                self.fit(raw, int, span)
            }
            // ~x is -x - 1 in two's complement; for an unsigned type it is max - x.
            CUnaryOp::Complement if int.signed() => b.sub(b.num(-1), a),
            CUnaryOp::Complement => {
                let high = int.range(self.unit.types.model).1;
                b.sub(b.num(high), a)
            }
        }
    }

    /// `a op b` in a type; for shifts the type of the left operand.
    pub(super) fn binary_op(&mut self, op: CBinaryOp, x: Term, y: Term, int: Int, span: Span) -> Term {
        if let Some(result) = self.address_arithmetic(op, x, y, int, span) {
            return result;
        }
        let b = self.b();
        match op {
            CBinaryOp::Add => {
                let raw = b.add(x, y);
                self.fit(raw, int, span)
            }
            CBinaryOp::Sub => {
                let raw = b.sub(x, y);
                self.fit(raw, int, span)
            }
            CBinaryOp::Mul => {
                let bits = int.bits(self.unit.types.model);
                if let (Some(p), Some(q), false) = (b.as_num(x), b.as_num(y), int.signed() || bits > 64) {
                    // The low bits of a product do not depend on those that are lost.
                    return b.num(p.wrapping_mul(q).rem_euclid(1i128 << bits));
                }
                let raw = b.mul(x, y);
                self.fit(raw, int, span)
            }
            CBinaryOp::Div | CBinaryOp::Rem => self.divide(op, x, y, int, span),
            CBinaryOp::Shl | CBinaryOp::Shr => self.shift(op, x, y, int, span),
            CBinaryOp::And | CBinaryOp::Or | CBinaryOp::Xor => self.bits(op, x, y, int),
        }
    }

    /// Division toward zero; the logic's is Euclidean.
    fn divide(&mut self, op: CBinaryOp, x: Term, y: Term, int: Int, span: Span) -> Term {
        let nonzero = self.b().ne(y, self.b().num(0));
        self.require(Undefined::Division, nonzero, span);
        let positive = self.bounds(x).is_some_and(|(low, _)| low >= 0);
        let b = self.b();
        let make = |a: Term| if op == CBinaryOp::Div { b.div(a, y) } else { b.modulo(a, y) };
        let plain = make(x);
        let raw = if positive {
            plain
        } else {
            let minus = |t: Term| b.sub(b.num(0), t);
            b.ite(b.le(b.num(0), x), plain, minus(make(minus(x))))
        };
        if op == CBinaryOp::Div {
            return self.fit(raw, int, span);
        }
        // The remainder is undefined where the quotient does not fit (C11 6.5.5p6).
        let (low, _) = int.range(self.unit.types.model);
        let may_be = |t: Term, n: i128| self.bounds(t).is_none_or(|(a, z)| a <= n && n <= z);
        if int.signed() && may_be(x, low) && may_be(y, -1) {
            let b = self.b();
            let fits = b.not(b.and(b.eq(x, b.num(low)), b.eq(y, b.num(-1))));
            self.require(Undefined::Overflow, fits, span);
        }
        raw
    }

    fn shift(&mut self, op: CBinaryOp, x: Term, y: Term, int: Int, span: Span) -> Term {
        let width = i128::from(int.bits(self.unit.types.model));
        let b = self.b();
        let mut valid = b.and(b.le(b.num(0), y), b.lt(y, b.num(width)));
        if op == CBinaryOp::Shl && int.signed() && self.checks(CCheck::Shift) {
            valid = b.and(valid, b.le(b.num(0), x));
        }
        self.require(Undefined::Shift, valid, span);
        let b = self.b();
        if let Some(k) = b.as_num(y) {
            if !(0..width).contains(&k) || k > 100 {
                return b.num(0);
            }
            let power = b.num(1i128 << k);
            return match op {
                // Floor division by a power of two is the arithmetic shift.
                CBinaryOp::Shr => b.div(x, power),
                _ => {
                    let raw = b.mul(x, power);
                    self.fit(raw, int, span)
                }
            };
        }
        // A variable amount: one of the few possible ones.
        let mut out = b.num(0);
        for k in (0..width.min(64)).rev() {
            let power = b.num(1i128 << k);
            let value = if op == CBinaryOp::Shr { b.div(x, power) } else { b.mul(x, power) };
            out = b.ite(b.eq(y, b.num(k)), value, out);
        }
        if op == CBinaryOp::Shr { out } else { self.fit(out, int, span) }
    }

    pub(super) fn bits(&mut self, op: CBinaryOp, x: Term, y: Term, int: Int) -> Term {
        let b = self.b();
        let (x, y) = if b.as_num(x).is_some() { (y, x) } else { (x, y) };
        if let (Some(p), Some(q)) = (b.as_num(x), b.as_num(y)) {
            return b.num(match op {
                CBinaryOp::And => p & q,
                CBinaryOp::Or => p | q,
                _ => p ^ q,
            });
        }
        // Truth values: C programs join them with `&` and `|` as often as with `&&`.
        if self.within(x, (0, 1)) && self.within(y, (0, 1)) {
            let (p, q) = (b.truth(x), b.truth(y));
            return b.bit(match op {
                CBinaryOp::And => b.and(p, q),
                CBinaryOp::Or => b.or(p, q),
                _ => b.not(b.eq(p, q)),
            });
        }
        if let Some(mask) = b.as_num(y)
            && mask >= 0
        {
            let bit = |k: u32| b.modulo(b.div(x, b.num(1i128 << k)), b.num(2));
            if op == CBinaryOp::And && (mask + 1).count_ones() == 1 {
                return b.modulo(x, b.num(mask + 1));
            }
            if mask.count_ones() == 1 {
                let k = mask.trailing_zeros();
                let set = b.eq(bit(k), b.num(1));
                return match op {
                    CBinaryOp::And => b.ite(set, b.num(mask), b.num(0)),
                    CBinaryOp::Or => b.ite(set, x, b.add(x, b.num(mask))),
                    _ => b.ite(set, b.sub(x, b.num(mask)), b.add(x, b.num(mask))),
                };
            }
            if mask == 0 {
                return if op == CBinaryOp::And { b.num(0) } else { x };
            }
        }
        let machine = MachineIntSort { bits: int.bits(self.unit.types.model).clamp(8, 64) as u8, signed: int.signed() };
        let sort = Sort::machine(machine);
        let (p, q) = (self.terms.cast(x, sort), self.terms.cast(y, sort));
        let op = match op {
            CBinaryOp::And => Op::BitAnd,
            CBinaryOp::Or => Op::BitOr,
            _ => Op::BitXor,
        };
        self.terms.cast(self.terms.mk(op, &[p, q]), Sort::INT)
    }
}
