//! `printf` formats: text from a format and arguments (C11 7.21.6.1).
//!
//! In: the bytes of a format and where arguments come from. Out: the text, byte for byte as the C library writes it in the C locale. Deliberately
//! absent: `%a`, wide characters, positional arguments: they stop the run as unknown.

use crate::interpreter::{ExecutionStop, Interpreter, ViolationKind};
use crate::value::{CoreValue, FloatWidth, IntType, ScalarType, Signedness};

/// Where the next argument comes from.
pub(crate) enum Arguments<'a> {
    Slice(&'a [(CoreValue, ScalarType)]),
    /// A `va_list`, by its address.
    List(CoreValue),
}

#[derive(Default)]
struct FormatSpec {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternative: bool,
    width: usize,
    precision: Option<usize>,
    length: Vec<u8>,
}

impl Arguments<'_> {
    fn next(&mut self, i: &mut Interpreter<'_>, wanted: ScalarType) -> Result<CoreValue, ExecutionStop> {
        match self {
            Arguments::List(list) => i.next_argument(*list, wanted),
            Arguments::Slice(values) => {
                let Some(((value, kind), rest)) = values.split_first() else {
                    return Err(ExecutionStop::violation(
                        ViolationKind::BadCall,
                        "a format asks for more arguments than there are",
                    ));
                };
                *values = rest;
                let bytes = i.module.pointer_bytes;
                let fits = match (*kind, wanted) {
                    (ScalarType::Float(_), ScalarType::Float(_)) => true,
                    (ScalarType::Float(_), _) | (_, ScalarType::Float(_)) => false,
                    // A wider number is cut, as every common machine does; a narrower one has bits that are not known.
                    (a, b) => a.bytes(bytes) >= b.bytes(bytes),
                };
                if !fits {
                    let text = "a format asks for another type than its argument has";
                    return Err(ExecutionStop::violation(ViolationKind::BadCall, text));
                }
                Ok(*value)
            }
        }
    }

    fn int(&mut self, i: &mut Interpreter<'_>, int: IntType) -> Result<i128, ExecutionStop> {
        let value = self.next(i, ScalarType::Int(int))?;
        match value.as_int() {
            Some(value) => Ok(int.wrap(value)),
            None => Err(ExecutionStop::violation(ViolationKind::Uninitialised, "prints a value that was never set")),
        }
    }
}

/// The text of a format.
pub(crate) fn format_text(
    i: &mut Interpreter<'_>,
    format: &[u8],
    arguments: &mut Arguments<'_>,
) -> Result<Vec<u8>, ExecutionStop> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < format.len() {
        if format[at] != b'%' {
            out.push(format[at]);
            at += 1;
            continue;
        }
        at += 1;
        let mut spec = FormatSpec::default();
        while let Some(flag) = format.get(at) {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'0' => spec.zero = true,
                b'#' => spec.alternative = true,
                b'\'' => {}
                _ => break,
            }
            at += 1;
        }
        let (width, after) = number(i, format, at, arguments)?;
        at = after;
        if let Some(width) = width {
            spec.left |= width < 0;
            spec.width = width.unsigned_abs() as usize;
        }
        if format.get(at) == Some(&b'.') {
            let (precision, after) = number(i, format, at + 1, arguments)?;
            at = after;
            spec.precision = usize::try_from(precision.unwrap_or(0)).ok();
        }
        while let Some(letter @ (b'h' | b'l' | b'z' | b'j' | b't' | b'L' | b'q')) = format.get(at) {
            spec.length.push(*letter);
            at += 1;
        }
        let Some(conversion) = format.get(at).copied() else {
            return Err(ExecutionStop::violation(ViolationKind::BadCall, "a format that ends in the middle"));
        };
        at += 1;
        if spec.width > 1 << 20 || spec.precision.is_some_and(|p| p > 1 << 20) {
            return Err(ExecutionStop::Unsupported("a format with a width of more than a million".into()));
        }
        convert(i, conversion, &spec, arguments, &mut out)?;
    }
    Ok(out)
}

fn number(
    i: &mut Interpreter<'_>,
    format: &[u8],
    mut at: usize,
    arguments: &mut Arguments<'_>,
) -> Result<(Option<i64>, usize), ExecutionStop> {
    if format.get(at) == Some(&b'*') {
        return Ok((Some(arguments.int(i, IntType::I32)? as i64), at + 1));
    }
    let mut value = None;
    while let Some(digit @ b'0'..=b'9') = format.get(at) {
        value = Some(value.unwrap_or(0i64).saturating_mul(10).saturating_add(i64::from(digit - b'0')));
        at += 1;
    }
    if format.get(at) == Some(&b'$') {
        return Err(ExecutionStop::Unsupported("a format with positions of arguments".into()));
    }
    Ok((value, at))
}

fn int_type(i: &Interpreter<'_>, length: &[u8], sign: Signedness) -> IntType {
    let long = i.module.long_bytes as u32 * 8;
    let bits = match length {
        b"hh" => 8,
        b"h" => 16,
        b"l" | b"z" | b"t" => long,
        b"ll" | b"q" | b"j" | b"L" => 64,
        _ => 32,
    };
    IntType { sign, bits }
}

fn convert(
    i: &mut Interpreter<'_>,
    conversion: u8,
    spec: &FormatSpec,
    arguments: &mut Arguments<'_>,
    out: &mut Vec<u8>,
) -> Result<(), ExecutionStop> {
    match conversion {
        b'%' => out.push(b'%'),
        b'd' | b'i' => {
            let int = int_type(i, &spec.length, Signedness::Signed);
            let value = narrow(arguments, i, int)?;
            let sign = match (value < 0, spec.plus, spec.space) {
                (true, ..) => "-",
                (_, true, _) => "+",
                (_, _, true) => " ",
                _ => "",
            };
            integer(out, spec, sign, value.unsigned_abs().to_string());
        }
        b'u' | b'x' | b'X' | b'o' => {
            let int = int_type(i, &spec.length, Signedness::Unsigned);
            let value = narrow(arguments, i, int)? as u128;
            let (prefix, digits) = match conversion {
                b'u' => ("", value.to_string()),
                b'x' => (if spec.alternative && value != 0 { "0x" } else { "" }, format!("{value:x}")),
                b'X' => (if spec.alternative && value != 0 { "0X" } else { "" }, format!("{value:X}")),
                _ => (if spec.alternative && value != 0 { "0" } else { "" }, format!("{value:o}")),
            };
            integer(out, spec, prefix, digits);
        }
        b'c' if spec.length.is_empty() => {
            let value = arguments.int(i, IntType::I32)?;
            pad(out, spec, &[value as u8]);
        }
        b's' if spec.length.is_empty() => {
            let pointer = arguments.next(i, ScalarType::Pointer)?;
            let text = match (pointer.is_zero(), spec.precision) {
                // What the common libraries print; the standard leaves it undefined.
                (Some(true), _) => {
                    return Err(ExecutionStop::violation(
                        ViolationKind::NullDereference,
                        "prints the text at a null pointer",
                    ));
                }
                (_, Some(most)) => i.read_text_most(pointer, most as u64)?,
                (_, None) => i.read_text(pointer)?,
            };
            pad(out, spec, &text);
        }
        b'p' => {
            let pointer = arguments.next(i, ScalarType::Pointer)?;
            let Some(address) = pointer.as_int() else {
                return Err(ExecutionStop::violation(
                    ViolationKind::Uninitialised,
                    "prints a pointer that was never set",
                ));
            };
            let text = if address == 0 { "(nil)".to_string() } else { format!("{address:#x}") };
            pad(out, spec, text.as_bytes());
        }
        b'n' => {
            let pointer = arguments.next(i, ScalarType::Pointer)?;
            let int = int_type(i, &spec.length, Signedness::Signed);
            i.write_scalar(pointer, ScalarType::Int(int), CoreValue::Int(out.len() as i128))?;
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' => {
            if spec.length == b"L" {
                return Err(ExecutionStop::Unsupported("a `long double` in a format".into()));
            }
            let value = match arguments.next(i, ScalarType::Float(FloatWidth::Double))? {
                CoreValue::Float(value) => value,
                _ => {
                    return Err(ExecutionStop::violation(
                        ViolationKind::Uninitialised,
                        "prints a value that was never set",
                    ));
                }
            };
            float(out, spec, conversion, value);
        }
        b'm' => pad(out, spec, b"Success"),
        other => return Err(ExecutionStop::Unsupported(format!("the conversion `%{}` of a format", other as char))),
    }
    Ok(())
}

/// An integer argument: narrower than `int` it comes as an `int` and is cut.
fn narrow(arguments: &mut Arguments<'_>, i: &mut Interpreter<'_>, int: IntType) -> Result<i128, ExecutionStop> {
    let handed = if int.bits < 32 { IntType { bits: 32, ..int } } else { int };
    Ok(int.wrap(arguments.int(i, handed)?))
}

fn integer(out: &mut Vec<u8>, spec: &FormatSpec, prefix: &str, digits: String) {
    let mut digits = digits;
    if let Some(precision) = spec.precision {
        if precision == 0 && digits == "0" {
            digits.clear();
        }
        if digits.len() < precision {
            digits = "0".repeat(precision - digits.len()) + &digits;
        }
    } else if spec.zero && !spec.left && prefix.len() + digits.len() < spec.width {
        digits = "0".repeat(spec.width - prefix.len() - digits.len()) + &digits;
    }
    let text = format!("{prefix}{digits}");
    fill(out, spec, text.as_bytes());
}

fn pad(out: &mut Vec<u8>, spec: &FormatSpec, text: &[u8]) {
    fill(out, spec, text);
}

fn fill(out: &mut Vec<u8>, spec: &FormatSpec, text: &[u8]) {
    let blanks = spec.width.saturating_sub(text.len());
    if !spec.left {
        out.extend(std::iter::repeat_n(b' ', blanks));
    }
    out.extend_from_slice(text);
    if spec.left {
        out.extend(std::iter::repeat_n(b' ', blanks));
    }
}

fn float(out: &mut Vec<u8>, spec: &FormatSpec, conversion: u8, value: f64) {
    let upper = conversion.is_ascii_uppercase();
    let sign = match (value.is_sign_negative(), spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    let magnitude = value.abs();
    let mut zero = spec.zero && !spec.left;
    let mut body = if !value.is_finite() {
        zero = false;
        if value.is_nan() { "nan".to_string() } else { "inf".to_string() }
    } else {
        let precision = spec.precision.unwrap_or(6);
        match conversion.to_ascii_lowercase() {
            b'f' => fixed(magnitude, precision, spec.alternative),
            b'e' => scientific(magnitude, precision, spec.alternative),
            _ => general(magnitude, precision, spec.alternative),
        }
    };
    if upper {
        body = body.to_uppercase();
    }
    if zero && sign.len() + body.len() < spec.width {
        body = "0".repeat(spec.width - sign.len() - body.len()) + &body;
    }
    fill(out, spec, format!("{sign}{body}").as_bytes());
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let text = format!("{value:.precision$}");
    if point && precision == 0 { text + "." } else { text }
}

fn scientific(value: f64, precision: usize, point: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = if point && precision == 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{point}e{sign}{:02}", exponent.abs())
}

fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let precision = precision.max(1);
    let text = format!("{value:.*e}", precision - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let text = if exponent < -4 || exponent >= precision as i32 {
        scientific(value, precision - 1, keep_zeros)
    } else {
        fixed(value, (precision as i32 - 1 - exponent).max(0) as usize, keep_zeros)
    };
    if keep_zeros {
        return text;
    }
    let (digits, exponent) = match text.split_once('e') {
        Some((digits, exponent)) => (digits.to_string(), format!("e{exponent}")),
        None => (text, String::new()),
    };
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => digits,
    };
    digits + &exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_floats_are_written_as_c_writes_them() {
        assert_eq!(general(100_000.0, 6, false), "100000");
        assert_eq!(general(1_000_000.0, 6, false), "1e+06");
        assert_eq!(general(0.0001, 6, false), "0.0001");
        assert_eq!(general(0.00001234, 3, false), "1.23e-05");
        assert_eq!(general(0.0, 6, false), "0");
        assert_eq!(scientific(12345.678, 2, false), "1.23e+04");
        assert_eq!(fixed(2.5, 0, false), "2");
    }
}
