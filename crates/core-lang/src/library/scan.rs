//! Rows of `scanf` and its like (C11 7.21.6.2).
//!
//! In: a format, an input and the addresses to store to. Out: exactly the stores that the format names. Deliberately absent:
//! sets of characters beyond plain ranges, `%p`, wide characters, allocation by `m`.

use super::numbers::parse_float;
use super::stdio::descriptor;
use super::{Answer, CallSite, LibraryRow, int};
use crate::interpreter::{ExecutionStop, Interpreter};
use crate::value::{CoreValue, FloatWidth, IntType, ScalarType, Signedness};

pub(super) const ROWS: &[LibraryRow] = &[
    LibraryRow {
        name: "scanf",
        effect: "reads the format a1 and standard input; writes where the further arguments point; how many",
        run: scanf,
    },
    LibraryRow {
        name: "fscanf",
        effect: "reads the format a2 and the stream a1; writes where the further arguments point; how many",
        run: scanf,
    },
    LibraryRow {
        name: "sscanf",
        effect: "reads the format a2 and the text a1; writes where the further arguments point; how many",
        run: scanf,
    },
    LibraryRow { name: "__isoc99_scanf", effect: "as scanf", run: scanf },
    LibraryRow { name: "__isoc99_fscanf", effect: "as fscanf", run: scanf },
    LibraryRow { name: "__isoc99_sscanf", effect: "as sscanf", run: scanf },
];

fn scanf(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let name = c.name.strip_prefix("__isoc99_").unwrap_or(c.name);
    let (text, stream, at) = match name {
        "sscanf" => (i.read_text(c.value(0)?)?, None, 1),
        "fscanf" => (Vec::new(), Some(descriptor(i, c.value(0)?)?), 1),
        _ => (Vec::new(), Some(0), 0),
    };
    let format = i.read_text(c.value(at)?)?;
    let text = match stream {
        None => text,
        // All that is left; what is not used goes back.
        Some(number) => i.environment.read(number, usize::MAX >> 1).unwrap_or_default(),
    };
    let mut scan = Scan { text: &text, at: 0, next: at + 1, stored: 0, call: c };
    let ended = scan.run(i, &format)?;
    let (used, stored) = (scan.at, scan.stored);
    if let Some(number) = stream {
        let rest: Vec<u8> = text[used..].iter().rev().copied().collect();
        let file = &mut i.environment.descriptors[number];
        file.pushed_back.extend(rest);
        file.at_end = used == text.len();
    }
    int(if ended && stored == 0 { -1 } else { stored })
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    next: usize,
    stored: i128,
    call: &'a CallSite<'a>,
}

impl Scan<'_> {
    fn blanks(&mut self) {
        self.at += self.text[self.at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    }

    /// Whether the input ended before the first conversion was done.
    fn run(&mut self, i: &mut Interpreter<'_>, format: &[u8]) -> Result<bool, ExecutionStop> {
        let mut f = 0;
        while f < format.len() {
            let byte = format[f];
            f += 1;
            if byte.is_ascii_whitespace() {
                self.blanks();
                continue;
            }
            if byte != b'%' || format.get(f) == Some(&b'%') {
                f += usize::from(byte == b'%');
                if byte == b'%' {
                    self.blanks();
                }
                match self.text.get(self.at) {
                    Some(found) if *found == byte => self.at += 1,
                    found => return Ok(found.is_none()),
                }
                continue;
            }
            let skip = format.get(f) == Some(&b'*');
            f += usize::from(skip);
            let mut width = None;
            while let Some(digit @ b'0'..=b'9') = format.get(f) {
                width = Some(width.unwrap_or(0usize) * 10 + usize::from(digit - b'0'));
                f += 1;
            }
            let from = f;
            while matches!(format.get(f), Some(b'h' | b'l' | b'z' | b'j' | b't' | b'q')) {
                f += 1;
            }
            let length = &format[from..f];
            let Some(conversion) = format.get(f).copied() else { return Ok(false) };
            f += 1;
            let mut set = Vec::new();
            let mut inverted = false;
            if conversion == b'[' {
                inverted = format.get(f) == Some(&b'^');
                f += usize::from(inverted);
                let start = f;
                while format.get(f).is_some_and(|b| *b != b']' || f == start) {
                    set.push(format[f]);
                    f += 1;
                }
                f += 1;
                set = ranges(&set);
            }
            if !matches!(conversion, b'c' | b'[' | b'n') {
                self.blanks();
            }
            if self.at >= self.text.len() && conversion != b'n' {
                return Ok(true);
            }
            let belongs = |b: u8| set.contains(&b) != inverted;
            if !self.convert(i, conversion, length, width, skip, &belongs)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    fn target(&mut self) -> Result<CoreValue, ExecutionStop> {
        self.next += 1;
        self.call.value(self.next - 1)
    }

    fn convert(
        &mut self,
        i: &mut Interpreter<'_>,
        conversion: u8,
        length: &[u8],
        width: Option<usize>,
        skip: bool,
        belongs: &dyn Fn(u8) -> bool,
    ) -> Result<bool, ExecutionStop> {
        let text = self.text;
        let rest = &text[self.at..];
        let rest = &rest[..rest.len().min(width.unwrap_or(usize::MAX))];
        match conversion {
            b'd' | b'i' | b'u' | b'x' | b'X' | b'o' => {
                let base = match conversion {
                    b'i' => 0,
                    b'x' | b'X' => 16,
                    b'o' => 8,
                    _ => 10,
                };
                let Some((value, taken)) = integer(rest, base) else { return Ok(false) };
                self.at += taken;
                if !skip {
                    let sign =
                        if matches!(conversion, b'd' | b'i') { Signedness::Signed } else { Signedness::Unsigned };
                    let long = i.module.long_bytes as u32 * 8;
                    let bits = match length {
                        b"hh" => 8,
                        b"h" => 16,
                        b"l" | b"z" | b"t" => long,
                        b"ll" | b"j" | b"q" => 64,
                        _ => 32,
                    };
                    let kind = IntType { sign, bits };
                    let target = self.target()?;
                    i.write_scalar(target, ScalarType::Int(kind), CoreValue::Int(kind.wrap(value)))?;
                    self.stored += 1;
                }
            }
            b'f' | b'e' | b'g' | b'E' | b'G' => {
                let (value, taken) = parse_float(rest);
                if taken == 0 {
                    return Ok(false);
                }
                self.at += taken;
                if !skip {
                    let scalar =
                        ScalarType::Float(if length == b"l" { FloatWidth::Double } else { FloatWidth::Single });
                    let target = self.target()?;
                    i.write_scalar(target, scalar, CoreValue::Float(value))?;
                    self.stored += 1;
                }
            }
            b's' | b'[' => {
                let fits = |b: &u8| if conversion == b's' { !b.is_ascii_whitespace() } else { belongs(*b) };
                let word: Vec<u8> = rest.iter().copied().take_while(fits).collect();
                if word.is_empty() {
                    return Ok(false);
                }
                self.at += word.len();
                if !skip {
                    let target = self.target()?;
                    i.write_text(target, &word)?;
                    self.stored += 1;
                }
            }
            b'c' => {
                let count = width.unwrap_or(1);
                if rest.len() < count {
                    return Ok(false);
                }
                self.at += count;
                if !skip {
                    let target = self.target()?;
                    i.write_bytes(target, &rest[..count])?;
                    self.stored += 1;
                }
            }
            b'n' => {
                let target = self.target()?;
                i.write_scalar(target, ScalarType::Int(IntType::I32), CoreValue::Int(self.at as i128))?;
            }
            other => {
                return Err(ExecutionStop::Unsupported(format!(
                    "the conversion `%{}` of a scanned format",
                    other as char
                )));
            }
        }
        Ok(true)
    }
}

fn ranges(set: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < set.len() {
        if at + 2 < set.len() && set[at + 1] == b'-' {
            out.extend(set[at]..=set[at + 2]);
            at += 3;
        } else {
            out.push(set[at]);
            at += 1;
        }
    }
    out
}

fn integer(text: &[u8], base: i128) -> Option<(i128, usize)> {
    let mut at = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let negative = text.first() == Some(&b'-');
    let hex = matches!(text.get(at..at + 2), Some(b"0x" | b"0X"));
    let base = match base {
        0 if hex => 16,
        0 if text.get(at) == Some(&b'0') => 8,
        0 => 10,
        other => other,
    };
    if base == 16 && hex {
        at += 2;
    }
    let start = at;
    let mut value = 0i128;
    while let Some(digit) = text.get(at).and_then(|b| (*b as char).to_digit(36)).filter(|d| i128::from(*d) < base) {
        value = (value * base + i128::from(digit)).min(1 << 100);
        at += 1;
    }
    (at > start).then_some((if negative { -value } else { value }, at))
}
