//! Scalars of the core: integers by width and sign, floats, pointers with provenance; conversions and exact arithmetic.
//!
//! In: values and operations. Out: results, or which undefined behaviour it is (C11 6.3.1, 6.5). Integers are
//! mathematical numbers within the range of their type, so that an overflow is one comparison. A pointer is an address and the
//! object it was made from; integers have no provenance, and a pointer made of an integer may reach whichever object has the
//! address when it is used. Deliberately absent: `long double`, complex and decimal numbers.

use crate::operator::{BinaryOp, CompareOp, UnaryOp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signedness {
    Signed,
    Unsigned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntType {
    pub sign: Signedness,
    /// Value bits: 1 for a truth value, which takes a byte in memory.
    pub bits: u32,
}

impl IntType {
    pub const I32: IntType = IntType { sign: Signedness::Signed, bits: 32 };
    pub const I64: IntType = IntType { sign: Signedness::Signed, bits: 64 };
    pub const U8: IntType = IntType { sign: Signedness::Unsigned, bits: 8 };
    pub const U64: IntType = IntType { sign: Signedness::Unsigned, bits: 64 };
    pub const BOOL: IntType = IntType { sign: Signedness::Unsigned, bits: 1 };

    pub fn is_signed(self) -> bool {
        self.sign == Signedness::Signed
    }
    pub fn bytes(self) -> u64 {
        u64::from(self.bits.div_ceil(8))
    }
    pub fn range(self) -> (i128, i128) {
        match (self.sign, self.bits) {
            (Signedness::Signed, 128) => (i128::MIN, i128::MAX),
            // Unsigned 128-bit values above are `Fault::Unrepresentable`.
            (Signedness::Unsigned, 128) => (0, i128::MAX),
            (Signedness::Signed, bits) => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            (Signedness::Unsigned, bits) => (0, (1i128 << bits) - 1),
        }
    }
    pub fn holds(self, value: i128) -> bool {
        let (low, high) = self.range();
        (low..=high).contains(&value)
    }
    /// The value reduced into the type (C11 6.3.1.3; to a truth value 6.3.1.2).
    pub fn wrap(self, value: i128) -> i128 {
        if self.bits == 1 {
            return i128::from(value != 0);
        }
        if self.bits >= 128 {
            return value;
        }
        let modulus = 1i128 << self.bits;
        let low = value & (modulus - 1);
        if self.is_signed() && low >= modulus >> 1 { low - modulus } else { low }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatWidth {
    Single,
    Double,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    Int(IntType),
    Float(FloatWidth),
    Pointer,
}

impl ScalarType {
    pub fn bytes(self, pointer_bytes: u64) -> u64 {
        match self {
            ScalarType::Int(int) => int.bytes(),
            ScalarType::Float(FloatWidth::Single) => 4,
            ScalarType::Float(FloatWidth::Double) => 8,
            ScalarType::Pointer => pointer_bytes,
        }
    }
}

/// Which object a pointer may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Made of an integer: whichever object has the address.
    Any,
    /// The object of this number in the memory of the run.
    Object(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoreValue {
    /// Never set. It may be moved and stored; to decide by it, compute an address or print it is undefined.
    Undefined,
    Int(i128),
    Float(f64),
    Pointer(u64, Provenance),
}

impl CoreValue {
    pub const NULL: CoreValue = CoreValue::Pointer(0, Provenance::Any);
    pub fn as_int(self) -> Option<i128> {
        match self {
            CoreValue::Int(value) => Some(value),
            CoreValue::Pointer(address, _) => Some(i128::from(address)),
            _ => None,
        }
    }
    pub fn is_zero(self) -> Option<bool> {
        match self {
            CoreValue::Undefined => None,
            CoreValue::Int(value) => Some(value == 0),
            CoreValue::Float(value) => Some(value == 0.0),
            CoreValue::Pointer(address, _) => Some(address == 0),
        }
    }
}

/// Why an operation has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueFault {
    Overflow(String),
    DivisionByZero,
    Shift(String),
    FloatConversion(String),
    /// Right in C, outside what this interpreter computes.
    Unrepresentable(&'static str),
}

fn sign_of(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
    }
}

/// The exact result before it is fitted into the type; `None` where not even 128 bits hold it.
fn exact(op: BinaryOp, int: IntType, a: i128, b: i128) -> Result<Option<i128>, ValueFault> {
    Ok(match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Divide | BinaryOp::Remainder if b == 0 => return Err(ValueFault::DivisionByZero),
        BinaryOp::Divide => a.checked_div(b),
        BinaryOp::Remainder => {
            // `INT_MIN % -1` is undefined because the quotient is (C11 6.5.5p6).
            if int.is_signed() && a.checked_div(b).is_none_or(|q| !int.holds(q)) {
                return Err(ValueFault::Overflow(format!(
                    "{a} % {b} is undefined, since the quotient does not fit {} bits",
                    int.bits
                )));
            }
            a.checked_rem(b)
        }
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight if !(0..i128::from(int.bits)).contains(&b) => {
            return Err(ValueFault::Shift(format!("a shift by {b} of a number of {} bits", int.bits)));
        }
        BinaryOp::ShiftLeft => {
            if int.is_signed() && a < 0 {
                return Err(ValueFault::Shift(format!("a left shift of the negative number {a}")));
            }
            if b < 126 { a.checked_mul(1i128 << b) } else { None }
        }
        BinaryOp::ShiftRight => Some(a >> b),
        BinaryOp::And => Some(a & b),
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
    })
}

/// Integer arithmetic in a type.
pub(crate) fn integer(op: BinaryOp, int: IntType, a: i128, b: i128) -> Result<i128, ValueFault> {
    let result = exact(op, int, a, b)?;
    if int.is_signed() {
        return match result {
            Some(r) if int.holds(r) => Ok(r),
            // Also a left shift whose result does not fit (C11 6.5.7p4): what is computed leaves the type.
            _ if op == BinaryOp::ShiftLeft => {
                Err(ValueFault::Overflow(format!("{a} << {b} does not fit {} bits", int.bits)))
            }
            _ => Err(ValueFault::Overflow(format!(
                "{a} {} {b} does not fit a signed number of {} bits",
                sign_of(op),
                int.bits
            ))),
        };
    }
    match result {
        Some(r) if int.bits < 128 => Ok(int.wrap(r)),
        Some(r) if r >= 0 => Ok(r),
        // A product of two 64-bit numbers may leave 127 bits.
        None if int.bits <= 64 && op == BinaryOp::Multiply => Ok(int.wrap(a.wrapping_mul(b))),
        None if int.bits <= 64 && op == BinaryOp::ShiftLeft => Ok(int.wrap(a.wrapping_mul(1i128 << (b % 127)))),
        _ => Err(ValueFault::Unrepresentable("an unsigned 128-bit number above 2^127")),
    }
}

/// Wrapped result of arithmetic in a type and whether it left the type (`__builtin_add_overflow` and its like). Operands
/// are mathematical numbers.
pub(crate) fn checked(op: BinaryOp, int: IntType, a: i128, b: i128) -> (i128, bool) {
    let (wrapped, exact) = match op {
        BinaryOp::Add => (a.wrapping_add(b), a.checked_add(b)),
        BinaryOp::Subtract => (a.wrapping_sub(b), a.checked_sub(b)),
        _ => (a.wrapping_mul(b), a.checked_mul(b)),
    };
    (int.wrap(wrapped), !exact.is_some_and(|r| int.holds(r)))
}

pub(crate) fn round(value: f64, width: FloatWidth) -> f64 {
    match width {
        FloatWidth::Single => f64::from(value as f32),
        FloatWidth::Double => value,
    }
}

/// Binary arithmetic. An undefined operand gives an undefined result: who decides by it goes wrong.
pub(crate) fn binary(
    op: BinaryOp,
    scalar: ScalarType,
    left: CoreValue,
    right: CoreValue,
) -> Result<CoreValue, ValueFault> {
    match scalar {
        ScalarType::Float(width) => {
            let (CoreValue::Float(a), CoreValue::Float(b)) = (left, right) else { return Ok(CoreValue::Undefined) };
            let result = match op {
                BinaryOp::Add => a + b,
                BinaryOp::Subtract => a - b,
                BinaryOp::Multiply => a * b,
                BinaryOp::Divide => a / b,
                _ => return Err(ValueFault::Unrepresentable("this operator on floating numbers")),
            };
            Ok(CoreValue::Float(round(result, width)))
        }
        ScalarType::Int(int) => {
            let (Some(a), Some(b)) = (left.as_int(), right.as_int()) else {
                // A divisor that is zero goes wrong whatever the other operand is.
                if matches!(op, BinaryOp::Divide | BinaryOp::Remainder) && right.as_int() == Some(0) {
                    return Err(ValueFault::DivisionByZero);
                }
                return Ok(CoreValue::Undefined);
            };
            integer(op, int, a, b).map(CoreValue::Int)
        }
        ScalarType::Pointer => Err(ValueFault::Unrepresentable("arithmetic on addresses as such")),
    }
}

pub(crate) fn unary(op: UnaryOp, scalar: ScalarType, operand: CoreValue) -> Result<CoreValue, ValueFault> {
    match (scalar, operand, op) {
        (_, CoreValue::Undefined, _) => Ok(CoreValue::Undefined),
        (ScalarType::Float(_), CoreValue::Float(a), UnaryOp::Negate) => Ok(CoreValue::Float(-a)),
        (ScalarType::Int(int), a, UnaryOp::Negate) => match a.as_int() {
            Some(a) => integer(BinaryOp::Subtract, int, 0, a).map(CoreValue::Int),
            None => Ok(CoreValue::Undefined),
        },
        (ScalarType::Int(int), a, UnaryOp::Complement) => {
            Ok(a.as_int().map_or(CoreValue::Undefined, |a| CoreValue::Int(int.wrap(!a))))
        }
        _ => Err(ValueFault::Unrepresentable("this operator on these operands")),
    }
}

pub(crate) fn holds<T: PartialOrd>(op: CompareOp, a: T, b: T) -> bool {
    match op {
        CompareOp::Equal => a == b,
        CompareOp::NotEqual => a != b,
        CompareOp::Less => a < b,
        CompareOp::LessOrEqual => a <= b,
        CompareOp::Greater => a > b,
        CompareOp::GreaterOrEqual => a >= b,
    }
}

pub(crate) fn compare_values(op: CompareOp, left: CoreValue, right: CoreValue) -> CoreValue {
    match (left, right) {
        (CoreValue::Undefined, _) | (_, CoreValue::Undefined) => CoreValue::Undefined,
        (CoreValue::Float(a), CoreValue::Float(b)) => CoreValue::Int(i128::from(holds(op, a, b))),
        _ => match (left.as_int(), right.as_int()) {
            (Some(a), Some(b)) => CoreValue::Int(i128::from(holds(op, a, b))),
            _ => CoreValue::Undefined,
        },
    }
}

/// A conversion (C11 6.3).
pub(crate) fn convert(
    value: CoreValue,
    from: ScalarType,
    to: ScalarType,
    pointer_bytes: u64,
) -> Result<CoreValue, ValueFault> {
    Ok(match (value, to) {
        (CoreValue::Undefined, _) => CoreValue::Undefined,
        (CoreValue::Float(f), ScalarType::Int(int)) if int.bits == 1 => CoreValue::Int(i128::from(f != 0.0)),
        (CoreValue::Float(f), ScalarType::Int(int)) => {
            let whole = f.trunc();
            // 2^127 is above every type that is computed here.
            if !whole.is_finite() || whole.abs() >= 1.7e38 || !int.holds(whole as i128) {
                return Err(ValueFault::FloatConversion(format!("{f} does not fit a number of {} bits", int.bits)));
            }
            CoreValue::Int(whole as i128)
        }
        (CoreValue::Float(f), ScalarType::Float(width)) => CoreValue::Float(round(f, width)),
        (CoreValue::Float(_), ScalarType::Pointer) => {
            return Err(ValueFault::Unrepresentable("a pointer made of a floating number"));
        }
        (v, ScalarType::Float(width)) => {
            let int = v.as_int().unwrap_or(0);
            // One rounding, from the exact number.
            CoreValue::Float(match width {
                FloatWidth::Single => f64::from(int as f32),
                FloatWidth::Double => int as f64,
            })
        }
        (v, ScalarType::Int(int)) => {
            let exact = v.as_int().unwrap_or(0);
            if int.bits == 128 && !int.is_signed() && exact < 0 {
                return Err(ValueFault::Unrepresentable("an unsigned 128-bit number above 2^127"));
            }
            CoreValue::Int(int.wrap(exact))
        }
        (CoreValue::Pointer(..), ScalarType::Pointer) => value,
        (CoreValue::Int(int), ScalarType::Pointer) => {
            let _ = from;
            let mask = if pointer_bytes >= 8 { u64::MAX } else { (1u64 << (8 * pointer_bytes)) - 1 };
            CoreValue::Pointer(int as u64 & mask, Provenance::Any)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_the_remainder_of_the_least_number_by_minus_one_is_undefined() {
        let least = i128::from(i32::MIN);
        assert!(matches!(integer(BinaryOp::Remainder, IntType::I32, least, -1), Err(ValueFault::Overflow(_))));
        assert_eq!(integer(BinaryOp::Remainder, IntType::I32, -7, 2), Ok(-1));
        assert_eq!(integer(BinaryOp::Divide, IntType::I32, -7, 2), Ok(-3));
    }

    #[test]
    fn check_unsigned_arithmetic_wraps_and_signed_does_not() {
        assert_eq!(integer(BinaryOp::Multiply, IntType::U64, (1 << 64) - 1, (1 << 64) - 1), Ok(1));
        assert_eq!(integer(BinaryOp::Subtract, IntType::U8, 0, 1), Ok(255));
        assert!(matches!(integer(BinaryOp::Add, IntType::I32, i128::from(i32::MAX), 1), Err(ValueFault::Overflow(_))));
        assert!(matches!(integer(BinaryOp::ShiftLeft, IntType::I32, 1, 31), Err(ValueFault::Overflow(_))));
        assert!(matches!(integer(BinaryOp::ShiftLeft, IntType::I32, -1, 1), Err(ValueFault::Shift(_))));
        assert!(matches!(integer(BinaryOp::ShiftRight, IntType::I32, 1, 32), Err(ValueFault::Shift(_))));
    }

    #[test]
    fn check_a_float_that_does_not_fit_is_undefined_as_an_integer() {
        let double = ScalarType::Float(FloatWidth::Double);
        assert_eq!(convert(CoreValue::Float(-3.9), double, ScalarType::Int(IntType::I32), 8), Ok(CoreValue::Int(-3)));
        assert!(convert(CoreValue::Float(3e9), double, ScalarType::Int(IntType::I32), 8).is_err());
        assert_eq!(convert(CoreValue::Float(0.5), double, ScalarType::Int(IntType::BOOL), 8), Ok(CoreValue::Int(1)));
    }
}
