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
                let (wide, quoted) = prefix(text);
                let inner = quoted.strip_prefix('\'').unwrap_or(quoted);
                let units = unescape(inner.strip_suffix('\'').unwrap_or(inner), wide);
                if let Some(int) = wide {
                    let value = int.wrap(units.last().copied().map_or(0, i128::from), self.types.model);
                    return Expr::constant(value, self.types.int(int), span);
                }
                // A plain character is signed; several characters pack as gcc packs them.
                let value = units.iter().fold(0i128, |acc, unit| (acc << 8) | i128::from(*unit));
                let int = if units.len() == 1 { Int::Char } else { Int::Int };
                let value = int.wrap(value, self.types.model);
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

    pub(super) fn string(&mut self, node: &Node<c::StringLiteral>) -> TextLiteral {
        let pieces: Vec<_> = node.node.iter().map(|piece| prefix(piece)).collect();
        // One wide piece makes all of them wide (C11 6.4.5p5).
        let wide = pieces.iter().find_map(|(wide, _)| *wide);
        let mut units = Vec::new();
        for (_, quoted) in pieces {
            let inner = quoted.strip_prefix('"').unwrap_or(quoted);
            units.extend(unescape(inner.strip_suffix('"').unwrap_or(inner), wide));
        }
        units.push(0);
        TextLiteral { units, wide }
    }
}

/// A string: its characters with the last zero, and their type where it is not `char`.
pub(super) struct TextLiteral {
    pub units: Vec<u32>,
    pub wide: Option<Int>,
}

impl TextLiteral {
    /// The bytes of a string of `char`.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        self.wide.is_none().then(|| self.units.iter().map(|unit| *unit as u8).collect())
    }
}

/// The type that a literal's prefix asks for, and the literal from its quote on.
fn prefix(text: &str) -> (Option<Int>, &str) {
    for (mark, int) in [("u8", None), ("L", Some(Int::Int)), ("u", Some(Int::UShort)), ("U", Some(Int::UInt))] {
        if let Some(rest) = text.strip_prefix(mark) {
            return (int, rest);
        }
    }
    (None, text)
}

/// The characters of a literal's inside: bytes, or code points where it is wide (in 16 bits, pairs where one does not fit).
fn unescape(text: &str, wide: Option<Int>) -> Vec<u32> {
    let mut out = Vec::new();
    let character = |c: char, out: &mut Vec<u32>| match wide {
        None => out.extend(c.encode_utf8(&mut [0; 4]).bytes().map(u32::from)),
        Some(Int::UShort) => out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| u32::from(*unit))),
        Some(_) => out.push(u32::from(c)),
    };
    let mut rest = text.chars().peekable();
    let number = |rest: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize| {
        let mut value = 0u32;
        for _ in 0..most {
            let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            rest.next();
        }
        value
    };
    while let Some(c) = rest.next() {
        if c != '\\' {
            character(c, &mut out);
            continue;
        }
        let Some(escape) = rest.peek().copied() else {
            out.push(u32::from(c));
            break;
        };
        if escape.is_digit(8) {
            let value = number(&mut rest, 8, 3);
            out.push(if wide.is_none() { value & 0xff } else { value });
            continue;
        }
        rest.next();
        match escape {
            'n' => out.push(10),
            't' => out.push(9),
            'r' => out.push(13),
            'a' => out.push(7),
            'b' => out.push(8),
            'f' => out.push(12),
            'v' => out.push(11),
            'e' => out.push(27),
            'x' => {
                let value = number(&mut rest, 16, usize::MAX);
                out.push(if wide.is_none() { value & 0xff } else { value });
            }
            'u' | 'U' => {
                let value = number(&mut rest, 16, if escape == 'u' { 4 } else { 8 });
                character(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER), &mut out);
            }
            other => character(other, &mut out),
        }
    }
    out
}

/// A number as a floating type of so many bytes holds it.
pub(super) fn rounded(number: f64, bytes: u64) -> f64 {
    if bytes == 4 { f64::from(number as f32) } else { number }
}
