//! Literals: integers with the type their value and suffix give them, characters, strings (C11 6.4.4, 6.4.5).
//!
//! In: a constant or string of the parser's tree. Out: a typed expression, or the bytes of a string.

use super::*;

impl Converter<'_> {
    pub(super) fn constant(&mut self, node: &Node<c::Constant>) -> Expr {
        let span = self.span(node);
        match &node.node {
            c::Constant::Integer(i) => self.integer(i, span),
            c::Constant::Float(f) => {
                let bytes = match f.suffix.format {
                    c::FloatFormat::Float => 4,
                    c::FloatFormat::LongDouble if self.types.model == DataModel::Ilp32 => 12,
                    c::FloatFormat::LongDouble => 16,
                    _ => 8,
                };
                let plain = f.base == c::FloatBase::Decimal && !f.suffix.imaginary;
                let number = f.number.parse().ok().filter(|_| plain).map(|n| rounded(n, bytes));
                let ty = self.types.intern(CTypeKind::Float(bytes));
                Expr::float(number, Made::Literal, Vec::new(), ty, span)
            }
            c::Constant::Character(text) => {
                let inner = text.trim_start_matches(['L', 'u', 'U']).trim_matches('\'');
                let bytes = unescape(inner);
                // A plain character is signed; several characters pack as gcc packs them.
                let value = bytes.iter().fold(0i128, |acc, b| (acc << 8) | i128::from(*b));
                let value = if bytes.len() == 1 { Int::Char.wrap(value, self.types.model) } else { value };
                let ty = self.types.int(Int::Int);
                Expr::constant(value, ty, span)
            }
        }
    }

    fn integer(&mut self, i: &c::Integer, span: Span) -> Expr {
        let radix = match i.base {
            c::IntegerBase::Decimal => 10,
            c::IntegerBase::Octal => 8,
            c::IntegerBase::Hexadecimal => 16,
            c::IntegerBase::Binary => 2,
        };
        let parsed = if i.number.is_empty() { Ok(0) } else { i128::from_str_radix(&i.number, radix) };
        let Ok(value) = parsed else {
            self.error(TYPE_ERROR, span, "this integer is too large");
            let ty = self.types.int(Int::Int);
            return Expr::constant(0, ty, span);
        };
        let ladder = match i.suffix.size {
            c::IntegerSize::Int => [Int::Int, Int::Long, Int::LongLong],
            c::IntegerSize::Long => [Int::Long, Int::Long, Int::LongLong],
            c::IntegerSize::LongLong => [Int::LongLong; 3],
        };
        let decimal = i.base == c::IntegerBase::Decimal;
        let mut candidates = Vec::new();
        for int in ladder {
            if !i.suffix.unsigned {
                candidates.push(int);
            }
            // Only a decimal literal without `u` never becomes unsigned.
            if i.suffix.unsigned || !decimal {
                candidates.push(int.to_unsigned());
            }
        }
        let fits = |int: &Int| {
            let (low, high) = int.range(self.types.model);
            (low..=high).contains(&value)
        };
        let int = candidates.into_iter().find(fits).unwrap_or(Int::ULongLong);
        let ty = self.types.int(int);
        Expr::constant(value, ty, span)
    }

    pub(super) fn string(&mut self, node: &Node<c::StringLiteral>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in &node.node {
            let inner = piece.trim_start_matches(['L', 'u', 'U', '8']);
            let inner = inner.strip_prefix('"').unwrap_or(inner);
            let inner = inner.strip_suffix('"').unwrap_or(inner);
            bytes.extend(unescape(inner));
        }
        bytes.push(0);
        bytes
    }
}

/// The bytes of a literal's inside.
fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' || at + 1 >= bytes.len() {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let escape = bytes[at + 1];
        at += 2;
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'v' => out.push(11),
            b'e' => out.push(27),
            b'x' => {
                let digits = bytes[at..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
                out.push(u32::from_str_radix(&text[at..at + digits], 16).unwrap_or(0) as u8);
                at += digits;
            }
            b'0'..=b'7' => {
                let digits = bytes[at - 1..].iter().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
                out.push(u32::from_str_radix(&text[at - 1..at - 1 + digits], 8).unwrap_or(0) as u8);
                at += digits - 1;
            }
            other => out.push(other),
        }
    }
    out
}

/// A number as a floating type of so many bytes holds it.
pub(super) fn rounded(number: f64, bytes: u64) -> f64 {
    if bytes == 4 { f64::from(number as f32) } else { number }
}
