//! Integer operations, on mathematical integers and on machine integers in either encoding.
//!
//! In: encoded arguments and their terms (for sorts and literals). Out: expressions that agree with `logic::eval` on
//! every value in range: Euclidean division with `x / 0 = 0` and `x % 0 = x`, wrapping machine operations, shift
//! amounts modulo the width. Deliberately absent: bit operations on mathematical integers, except low masks; they
//! are refused.

use super::{Encoder, EncodingRefusal, EncodingTarget, Head};
use crate::answer::Machines;
use logic::{MachineIntSort, Node, Op, Sort, Term};

pub(super) fn literal<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    n: i128,
    sort: Sort,
) -> Result<T::Expr, EncodingRefusal> {
    match sort.as_machine() {
        Some(m) if en.machines == Machines::BitVectors => {
            en.target.bits(n.rem_euclid(1i128 << m.bits) as u128, u32::from(m.bits))
        }
        _ => en.target.int(n),
    }
}

pub(super) fn operation<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    op: Op,
    args: &[Term],
    e: &[T::Expr],
) -> Result<T::Expr, EncodingRefusal> {
    let sort = en.terms.sort_of(args[0]);
    if let Op::Cast(to) = op {
        return cast(en, sort, to, e[0]);
    }
    let last = number(en, args[args.len() - 1]);
    match (sort.as_machine(), en.machines) {
        (None, _) => unbounded(en, op, e, last),
        (Some(m), Machines::Integers) => ranged(en, m, op, e, last, number(en, args[0])),
        (Some(m), Machines::BitVectors) => vector(en, m, op, e),
    }
}

/// The value of a literal.
fn number<T: EncodingTarget>(en: &Encoder<'_, T>, term: Term) -> Option<i128> {
    en.terms.with_node(term, |node| if let Node::Num(n, _) = node { Some(*n) } else { None })
}

/// `k` where `n` is 2^k - 1.
fn low_mask(n: i128) -> Option<i128> {
    (n >= 0 && (n + 1) & n == 0).then_some(n + 1)
}

fn unbounded<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    op: Op,
    e: &[T::Expr],
    last: Option<i128>,
) -> Result<T::Expr, EncodingRefusal> {
    match op {
        Op::Lt => en.apply(Head::Lt, e),
        Op::Le => en.apply(Head::Le, e),
        Op::Add => en.apply(Head::Add, e),
        Op::Sub => en.apply(Head::Sub, e),
        Op::Mul => en.apply(Head::Mul, e),
        Op::Neg => en.apply(Head::Neg, e),
        Op::Div => divide(en, e, last),
        Op::Mod => modulo(en, e, last),
        Op::BitAnd if last.and_then(low_mask).is_some() => {
            let power = en.target.int(last.and_then(low_mask).unwrap_or(1))?;
            en.apply(Head::Mod, &[e[0], power])
        }
        _ => Err(EncodingRefusal::new("a bit operation on mathematical integers")),
    }
}

/// Euclidean division made total: SMT-LIB's division agrees except at zero.
fn divide<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    e: &[T::Expr],
    divisor: Option<i128>,
) -> Result<T::Expr, EncodingRefusal> {
    let zero = en.target.int(0)?;
    match divisor {
        Some(0) => Ok(zero),
        Some(_) => en.apply(Head::Div, e),
        None => {
            let by_zero = en.apply(Head::Eq, &[e[1], zero])?;
            let quotient = en.apply(Head::Div, e)?;
            en.apply(Head::Ite, &[by_zero, zero, quotient])
        }
    }
}

fn modulo<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    e: &[T::Expr],
    divisor: Option<i128>,
) -> Result<T::Expr, EncodingRefusal> {
    match divisor {
        Some(0) => Ok(e[0]),
        Some(_) => en.apply(Head::Mod, e),
        None => {
            let zero = en.target.int(0)?;
            let by_zero = en.apply(Head::Eq, &[e[1], zero])?;
            let rest = en.apply(Head::Mod, e)?;
            en.apply(Head::Ite, &[by_zero, e[0], rest])
        }
    }
}

/// On which sides of its range a result may lie, by less than 2^bits.
struct RangeOverflow {
    above: bool,
    below: bool,
}

/// Adds or subtracts 2^bits where a result is at most one step out of the range.
fn correct<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    m: MachineIntSort,
    e: T::Expr,
    overflow: RangeOverflow,
) -> Result<T::Expr, EncodingRefusal> {
    let step = en.target.int(1i128 << m.bits)?;
    let mut out = e;
    if overflow.below {
        let min = en.target.int(m.min())?;
        let under = en.apply(Head::Lt, &[e, min])?;
        let up = en.apply(Head::Add, &[e, step])?;
        out = en.apply(Head::Ite, &[under, up, out])?;
    }
    if overflow.above {
        let max = en.target.int(m.max())?;
        let over = en.apply(Head::Lt, &[max, e])?;
        let down = en.apply(Head::Sub, &[e, step])?;
        out = en.apply(Head::Ite, &[over, down, out])?;
    }
    Ok(out)
}

/// The value of the range equal to `e` modulo 2^bits.
fn wrap<T: EncodingTarget>(en: &mut Encoder<'_, T>, m: MachineIntSort, e: T::Expr) -> Result<T::Expr, EncodingRefusal> {
    let size = en.target.int(1i128 << m.bits)?;
    if !m.signed {
        return en.apply(Head::Mod, &[e, size]);
    }
    let half = en.target.int(1i128 << (m.bits - 1))?;
    let shifted = en.apply(Head::Add, &[e, half])?;
    let rest = en.apply(Head::Mod, &[shifted, size])?;
    en.apply(Head::Sub, &[rest, half])
}

/// Machine integers as integers in their range.
fn ranged<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    m: MachineIntSort,
    op: Op,
    e: &[T::Expr],
    last: Option<i128>,
    first: Option<i128>,
) -> Result<T::Expr, EncodingRefusal> {
    match op {
        Op::Lt => en.apply(Head::Lt, e),
        Op::Le => en.apply(Head::Le, e),
        Op::Add => {
            let sum = en.apply(Head::Add, e)?;
            // The sign of a literal shows on which side the sum can leave the range.
            let sign = last.or(first);
            let above = sign.is_none_or(|n| n > 0);
            let below = m.signed && sign.is_none_or(|n| n < 0);
            correct(en, m, sum, RangeOverflow { above, below })
        }
        Op::Sub => {
            let difference = en.apply(Head::Sub, e)?;
            let above = m.signed && last.is_none_or(|n| n < 0);
            let below = last.is_none_or(|n| n > 0);
            correct(en, m, difference, RangeOverflow { above, below })
        }
        Op::Neg => {
            let negative = en.apply(Head::Neg, e)?;
            correct(en, m, negative, RangeOverflow { above: m.signed, below: !m.signed })
        }
        Op::Mul => {
            let product = en.apply(Head::Mul, e)?;
            match last.or(first) {
                Some(0 | 1) => Ok(product),
                _ => wrap(en, m, product),
            }
        }
        Op::Div => {
            let quotient = divide(en, e, last)?;
            // Only the smallest value divided by -1 leaves the range.
            let above = m.signed && last.is_none_or(|n| n == -1);
            correct(en, m, quotient, RangeOverflow { above, below: false })
        }
        Op::Mod => modulo(en, e, last),
        Op::BitNot => {
            let ones = en.target.int(if m.signed { -1 } else { m.max() })?;
            en.apply(Head::Sub, &[ones, e[0]])
        }
        Op::BitAnd if last.and_then(low_mask).is_some() => unbounded(en, op, e, last),
        Op::Shl if last.is_some() => {
            let amount = last.unwrap_or(0).rem_euclid(i128::from(m.bits));
            let factor = en.target.int(1i128 << amount)?;
            let product = en.apply(Head::Mul, &[e[0], factor])?;
            wrap(en, m, product)
        }
        Op::Shr if last.is_some() => {
            let amount = last.unwrap_or(0).rem_euclid(i128::from(m.bits));
            let factor = en.target.int(1i128 << amount)?;
            en.apply(Head::Div, &[e[0], factor])
        }
        _ => {
            let width = u32::from(m.bits);
            let vectors = e.iter().map(|x| en.apply(Head::IntToBits(width), &[*x])).collect::<Result<Vec<_>, _>>()?;
            let out = vector(en, m, op, &vectors)?;
            en.apply(if m.signed { Head::BitsToInt } else { Head::BitsToNat }, &[out])
        }
    }
}

/// Machine integers as bit vectors.
fn vector<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    m: MachineIntSort,
    op: Op,
    e: &[T::Expr],
) -> Result<T::Expr, EncodingRefusal> {
    let width = u32::from(m.bits);
    let head = match op {
        Op::Lt if m.signed => Head::BvSlt,
        Op::Lt => Head::BvUlt,
        Op::Le if m.signed => Head::BvSle,
        Op::Le => Head::BvUle,
        Op::Add => Head::BvAdd,
        Op::Sub => Head::BvSub,
        Op::Mul => Head::BvMul,
        Op::Neg => Head::BvNeg,
        Op::BitAnd => Head::BvAnd,
        Op::BitOr => Head::BvOr,
        Op::BitXor => Head::BvXor,
        Op::BitNot => Head::BvNot,
        Op::Shl | Op::Shr => {
            // All widths are powers of two, so the amount modulo the width is its low bits (also of a negative one).
            let mask = en.target.bits(u128::from(width) - 1, width)?;
            let amount = en.apply(Head::BvAnd, &[e[1], mask])?;
            let head = match (op, m.signed) {
                (Op::Shl, _) => Head::BvShl,
                (_, true) => Head::BvAshr,
                (_, false) => Head::BvLshr,
            };
            return en.apply(head, &[e[0], amount]);
        }
        Op::Div | Op::Mod => return vector_division(en, m, op, e),
        other => return Err(EncodingRefusal::new(format!("{other:?} on machine integers"))),
    };
    en.apply(head, e)
}

fn vector_division<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    m: MachineIntSort,
    op: Op,
    e: &[T::Expr],
) -> Result<T::Expr, EncodingRefusal> {
    let width = u32::from(m.bits);
    let zero = en.target.bits(0, width)?;
    let by_zero = en.apply(Head::Eq, &[e[1], zero])?;
    let at_zero = if op == Op::Div { zero } else { e[0] };
    if !m.signed {
        let plain = en.apply(if op == Op::Div { Head::BvUdiv } else { Head::BvUrem }, e)?;
        return en.apply(Head::Ite, &[by_zero, at_zero, plain]);
    }
    // The machine's division truncates; a negative remainder is moved up by one divisor.
    let rest = en.apply(Head::BvSrem, e)?;
    let low = en.apply(Head::BvSlt, &[rest, zero])?;
    let negative = en.apply(Head::BvSlt, &[e[1], zero])?;
    let (plain, moved) = if op == Op::Div {
        let one = en.target.bits(1, width)?;
        let quotient = en.apply(Head::BvSdiv, e)?;
        let (up, down) = (en.apply(Head::BvAdd, &[quotient, one])?, en.apply(Head::BvSub, &[quotient, one])?);
        (quotient, en.apply(Head::Ite, &[negative, up, down])?)
    } else {
        let (minus, plus) = (en.apply(Head::BvSub, &[rest, e[1]])?, en.apply(Head::BvAdd, &[rest, e[1]])?);
        (rest, en.apply(Head::Ite, &[negative, minus, plus])?)
    };
    let out = en.apply(Head::Ite, &[low, moved, plain])?;
    en.apply(Head::Ite, &[by_zero, at_zero, out])
}

fn cast<T: EncodingTarget>(
    en: &mut Encoder<'_, T>,
    from: Sort,
    to: Sort,
    e: T::Expr,
) -> Result<T::Expr, EncodingRefusal> {
    let vectors = en.machines == Machines::BitVectors;
    match (from.as_machine(), to.as_machine()) {
        (None, None) => Ok(e),
        (Some(f), None) if vectors => en.apply(if f.signed { Head::BitsToInt } else { Head::BitsToNat }, &[e]),
        (None, Some(t)) if vectors => en.apply(Head::IntToBits(u32::from(t.bits)), &[e]),
        (Some(f), Some(t)) if vectors => {
            let (have, want) = (u32::from(f.bits), u32::from(t.bits));
            match want.cmp(&have) {
                std::cmp::Ordering::Equal => Ok(e),
                std::cmp::Ordering::Less => en.apply(Head::BvExtract(want - 1, 0), &[e]),
                std::cmp::Ordering::Greater if f.signed => en.apply(Head::SignExtend(want - have), &[e]),
                std::cmp::Ordering::Greater => en.apply(Head::ZeroExtend(want - have), &[e]),
            }
        }
        (Some(_), None) => Ok(e),
        (None, Some(t)) => wrap(en, t, e),
        (Some(f), Some(t)) if t.min() <= f.min() && f.max() <= t.max() => Ok(e),
        (Some(f), Some(t)) if f.bits <= t.bits => {
            // At most one step out: the other sign of the same width, or a negative number to a wider unsigned type.
            correct(en, t, e, RangeOverflow { above: f.max() > t.max(), below: f.min() < t.min() })
        }
        (Some(_), Some(t)) => wrap(en, t, e),
    }
}
