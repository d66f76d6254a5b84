//! Rows of numbers: `stdlib.h` and `ctype.h`, bits, `math.h`, pseudo-random numbers, sorting.
//!
//! In: calls. Out: values as the C library computes them in the C locale. Pseudo-random numbers are drawn by the run's seed: any
//! sequence is a possible one. `qsort` and `bsearch` call the program's comparison with no other thread in between. Deliberately absent:
//! functions of `math.h` whose last digit differs between libraries.

use super::errno::ERANGE;
use super::{AccessMode, Answer, CallSite, LibraryRow, PassedArgument, Reply, int};
use crate::interpreter::memory::{AccessPurpose, Initialised};
use crate::interpreter::{ExecutionStop, Interpreter, ViolationKind};
use crate::value::{CoreValue, IntType, ScalarType, Signedness};

macro_rules! row {
    ($name:literal, $run:expr, $effect:literal) => {
        LibraryRow { name: $name, effect: $effect, run: $run }
    };
}
macro_rules! class {
    ($name:literal) => {
        LibraryRow { name: $name, effect: "whether a1 is a character of this class", run: class }
    };
}
macro_rules! bits {
    ($name:literal) => {
        LibraryRow { name: $name, effect: "a number computed from the bits of a1", run: bits }
    };
}
macro_rules! real {
    ($name:literal) => {
        LibraryRow { name: $name, effect: "the function of a1 (and a2)", run: real }
    };
}

pub(super) const ROWS: &[LibraryRow] = &[
    row!("atoi", atoi, "reads the text a1; its number"),
    row!("atol", atoi, "reads the text a1; its number"),
    row!("atoll", atoi, "reads the text a1; its number"),
    row!("strtol", strtol, "reads the text a1; its number in base a3; writes its end to *a2; ERANGE"),
    row!("strtoll", strtol, "reads the text a1; its number in base a3; writes its end to *a2; ERANGE"),
    row!("strtoimax", strtol, "reads the text a1; its number in base a3; writes its end to *a2; ERANGE"),
    row!("strtoul", strtol, "reads the text a1; its number in base a3; writes its end to *a2; ERANGE"),
    row!("strtoull", strtol, "reads the text a1; its number in base a3; writes its end to *a2; ERANGE"),
    row!("strtoumax", strtol, "reads the text a1; its number in base a3; writes its end to *a2; ERANGE"),
    row!("__isoc23_strtol", strtol, "reads the text a1; its number in base a3; writes its end to *a2; ERANGE"),
    row!("__isoc23_strtoul", strtol, "reads the text a1; its number in base a3; writes its end to *a2; ERANGE"),
    row!("__isoc23_strtoull", strtol, "reads the text a1; its number in base a3; writes its end to *a2; ERANGE"),
    row!("atof", strtod, "reads the text a1; its number"),
    row!("strtod", strtod, "reads the text a1; its number; writes its end to *a2"),
    row!("abs", absolute, "the absolute value of a1"),
    row!("labs", absolute, "the absolute value of a1"),
    row!("llabs", absolute, "the absolute value of a1"),
    row!("__builtin_expect", first, "a1"),
    row!("__builtin_expect_with_probability", first, "a1"),
    row!("__builtin_object_size", unknown_size, "the greatest size: it is not known"),
    row!("htons", swap16, "a1 with its two bytes swapped"),
    row!("ntohs", swap16, "a1 with its two bytes swapped"),
    row!("__builtin_bswap16", swap16, "a1 with its two bytes swapped"),
    row!("htonl", swap32, "a1 with its four bytes swapped"),
    row!("ntohl", swap32, "a1 with its four bytes swapped"),
    row!("__builtin_bswap32", swap32, "a1 with its four bytes swapped"),
    row!("__builtin_bswap64", swap64, "a1 with its eight bytes swapped"),
    row!("rand", rand, "any number from 0 to 2^31 - 1"),
    row!("random", rand, "any number from 0 to 2^31 - 1"),
    row!("lrand48", rand, "any number from 0 to 2^31 - 1"),
    row!("rand_r", rand_r, "reads and writes *a1; any number from 0 to 2^31 - 1"),
    row!("drand48", drand48, "any number from 0 to 1"),
    row!("srand", seed, "a1 is evaluated"),
    row!("srandom", seed, "a1 is evaluated"),
    row!("srand48", seed, "a1 is evaluated"),
    row!("qsort", qsort, "reads and writes a2 elements of a3 bytes at a1; calls a4 on pairs of them"),
    row!("bsearch", bsearch, "reads elements of a4 bytes at a2; calls a5 on a1 and some of them; where it is, or null"),
    class!("isalpha"),
    class!("isdigit"),
    class!("isalnum"),
    class!("isspace"),
    class!("isupper"),
    class!("islower"),
    class!("ispunct"),
    class!("isprint"),
    class!("isgraph"),
    class!("iscntrl"),
    class!("isxdigit"),
    class!("isblank"),
    class!("isascii"),
    row!("toupper", case, "a1 as a capital letter"),
    row!("tolower", case, "a1 as a small letter"),
    bits!("__builtin_clz"),
    bits!("__builtin_clzl"),
    bits!("__builtin_clzll"),
    bits!("__builtin_ctz"),
    bits!("__builtin_ctzl"),
    bits!("__builtin_ctzll"),
    bits!("__builtin_popcount"),
    bits!("__builtin_popcountl"),
    bits!("__builtin_popcountll"),
    bits!("__builtin_parity"),
    bits!("__builtin_parityl"),
    bits!("__builtin_parityll"),
    bits!("__builtin_ffs"),
    bits!("__builtin_ffsl"),
    bits!("__builtin_ffsll"),
    bits!("ffs"),
    bits!("ffsl"),
    bits!("ffsll"),
    real!("sqrt"),
    real!("sqrtf"),
    real!("fabs"),
    real!("fabsf"),
    real!("floor"),
    real!("floorf"),
    real!("ceil"),
    real!("ceilf"),
    real!("trunc"),
    real!("round"),
    real!("fmod"),
    real!("fmin"),
    real!("fmax"),
    real!("sin"),
    real!("cos"),
    real!("tan"),
    real!("atan"),
    real!("atan2"),
    real!("exp"),
    real!("log"),
    real!("log2"),
    real!("log10"),
    real!("pow"),
];

fn first(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    Ok(Reply::Value(c.value(0)?))
}

fn unknown_size(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let kind = c.int(1)?;
    int(if kind & 2 == 0 { -1 } else { 0 })
}

/// The type of a row's result.
fn result_type(c: &CallSite<'_>) -> IntType {
    match c.result {
        crate::module::ResultKind::Scalar(ScalarType::Int(int)) => int,
        _ => IntType::I64,
    }
}

/// The number at the start of a text: value, bytes taken, whether it had digits.
fn parse(text: &[u8], base: i128) -> (i128, usize, bool) {
    let mut at = text.iter().take_while(|b| b.is_ascii_whitespace() || **b == 11).count();
    let negative = text.get(at) == Some(&b'-');
    if matches!(text.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let hex =
        matches!(text.get(at..at + 2), Some(b"0x" | b"0X")) && text.get(at + 2).is_some_and(u8::is_ascii_hexdigit);
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
    (if negative { -value } else { value }, at, at > start)
}

fn atoi(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let text = i.read_text(c.value(0)?)?;
    let (value, ..) = parse(&text, 10);
    let kind = result_type(c);
    if !kind.holds(value) {
        return Err(ExecutionStop::violation(
            ViolationKind::BadCall,
            format!("`{}` of {value}, which does not fit", c.name),
        ));
    }
    int(value)
}

fn strtol(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (pointer, end, base) = (c.value(0)?, c.value(1)?, c.int(2)?);
    let text = i.read_text(pointer)?;
    let (value, taken, digits) = parse(&text, base);
    if end.is_zero() != Some(true) {
        let at = i.offset(pointer, CoreValue::Int(if digits { taken as i128 } else { 0 }), 1)?;
        i.write_scalar(end, ScalarType::Pointer, at)?;
    }
    let kind = result_type(c);
    let (low, high) = kind.range();
    let fits = match kind.sign {
        Signedness::Signed => kind.holds(value),
        // A minus sign negates in the unsigned type.
        Signedness::Unsigned => (-high..=high).contains(&value),
    };
    if !fits {
        i.set_errno(ERANGE)?;
        return int(if value < 0 && kind.is_signed() { low } else { high });
    }
    int(kind.wrap(value))
}

/// The floating number at the start of a text and the bytes it takes.
pub(super) fn parse_float(text: &[u8]) -> (f64, usize) {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut end = start;
    let mut best = (0.0, 0);
    // The longest start of the text that is a number.
    while end < text.len() && end - start < 400 {
        end += 1;
        let piece = &text[start..end];
        let plain = piece.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'+' | b'-' | b'e' | b'E'));
        if !plain {
            break;
        }
        if let Some(value) = std::str::from_utf8(piece).ok().and_then(|t| t.parse::<f64>().ok()) {
            best = (value, end);
        }
    }
    best
}

fn strtod(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let pointer = c.value(0)?;
    let text = i.read_text(pointer)?;
    let unusual = text.iter().any(|b| b.is_ascii_alphabetic() && !matches!(b, b'e' | b'E'));
    let (value, taken) = parse_float(&text);
    if unusual && taken == 0 {
        return c.unsupported("reads a text that is no plain decimal number");
    }
    if c.name == "strtod" && !c.is_null(1)? {
        let at = i.offset(pointer, CoreValue::Int(taken as i128), 1)?;
        i.write_scalar(c.value(1)?, ScalarType::Pointer, at)?;
    }
    Ok(Reply::Value(CoreValue::Float(value)))
}

fn absolute(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (value, kind) = (c.int(0)?, result_type(c));
    if !kind.holds(value.abs()) {
        return Err(ExecutionStop::violation(
            ViolationKind::Overflow,
            format!("the absolute value of {value} does not fit {} bits", kind.bits),
        ));
    }
    int(value.abs())
}

fn swap16(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    int((c.int(0)? as u16).swap_bytes())
}

fn swap32(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    int((c.int(0)? as u32).swap_bytes())
}

fn swap64(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    int((c.int(0)? as u64).swap_bytes())
}

fn rand(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    int(i.environment_draw().word() >> 33)
}

fn rand_r(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let scalar = ScalarType::Int(IntType { bits: 32, ..IntType::U64 });
    i.read_scalar(c.value(0)?, scalar)?;
    let state = i.environment_draw().word();
    i.write_scalar(c.value(0)?, scalar, CoreValue::Int(i128::from(state as u32)))?;
    int(state >> 33)
}

fn drand48(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    let word = i.environment_draw().word() >> 11;
    Ok(Reply::Value(CoreValue::Float(word as f64 / (1u64 << 53) as f64)))
}

fn seed(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    c.int(0)?;
    int(0)
}

fn class(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let value = c.int(0)?;
    if !(-128..=255).contains(&value) {
        return Err(ExecutionStop::violation(
            ViolationKind::BadCall,
            format!("`{}` of {value}, which is no character", c.name),
        ));
    }
    let Some(byte) = u8::try_from(value).ok().filter(|_| value >= 0) else { return int(0) };
    int(match c.name {
        "isalpha" => byte.is_ascii_alphabetic(),
        "isdigit" => byte.is_ascii_digit(),
        "isalnum" => byte.is_ascii_alphanumeric(),
        "isspace" => byte.is_ascii_whitespace() || byte == 11,
        "isupper" => byte.is_ascii_uppercase(),
        "islower" => byte.is_ascii_lowercase(),
        "ispunct" => byte.is_ascii_punctuation(),
        "isprint" => (32..127).contains(&byte),
        "isgraph" => byte.is_ascii_graphic(),
        "iscntrl" => byte.is_ascii_control(),
        "isxdigit" => byte.is_ascii_hexdigit(),
        "isblank" => matches!(byte, b' ' | b'\t'),
        _ => byte.is_ascii(),
    })
}

fn case(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let value = c.int(0)?;
    match u8::try_from(value) {
        Ok(byte) if c.name == "toupper" => int(byte.to_ascii_uppercase()),
        Ok(byte) => int(byte.to_ascii_lowercase()),
        Err(_) => int(value),
    }
}

fn bits(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let value = c.int(0)?;
    let wide = match c.name.strip_prefix("__builtin_").unwrap_or(c.name) {
        name if name.ends_with("ll") => 64,
        name if name.ends_with('l') => i.module.long_bytes as u32 * 8,
        _ => 32,
    };
    let value = if wide == 64 { value as u64 } else { u64::from(value as u32) };
    let name = c.name.strip_prefix("__builtin_").unwrap_or(c.name);
    if value == 0 && (name.starts_with("clz") || name.starts_with("ctz")) {
        return Err(ExecutionStop::violation(ViolationKind::BadCall, format!("`{}` of zero", c.name)));
    }
    int(if name.starts_with("clz") {
        value.leading_zeros() - (64 - wide)
    } else if name.starts_with("ctz") {
        value.trailing_zeros()
    } else if name.starts_with("popcount") {
        value.count_ones()
    } else if name.starts_with("parity") {
        value.count_ones() % 2
    } else if value == 0 {
        0
    } else {
        value.trailing_zeros() + 1
    })
}

fn real(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let x = c.float(0)?;
    let exact = matches!(
        c.name,
        "sqrt"
            | "sqrtf"
            | "fabs"
            | "fabsf"
            | "floor"
            | "floorf"
            | "ceil"
            | "ceilf"
            | "trunc"
            | "round"
            | "fmod"
            | "fmin"
            | "fmax"
    );
    if !exact {
        i.assume("functions of `math.h` may differ from a given C library in the last digit");
    }
    let value = match c.name {
        "sqrt" => x.sqrt(),
        "sqrtf" => f64::from((x as f32).sqrt()),
        "fabs" | "fabsf" => x.abs(),
        "floor" | "floorf" => x.floor(),
        "ceil" | "ceilf" => x.ceil(),
        "trunc" => x.trunc(),
        "round" => x.round(),
        "fmod" => x % c.float(1)?,
        "fmin" => x.min(c.float(1)?),
        "fmax" => x.max(c.float(1)?),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "atan" => x.atan(),
        "atan2" => x.atan2(c.float(1)?),
        "exp" => x.exp(),
        "log" => x.ln(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        _ => x.powf(c.float(1)?),
    };
    Ok(Reply::Value(CoreValue::Float(value)))
}

fn compare(i: &mut Interpreter<'_>, function: CoreValue, a: CoreValue, b: CoreValue) -> Result<i128, ExecutionStop> {
    let function = i.function_of(function)?;
    let arguments = [PassedArgument::Scalar(a, ScalarType::Pointer), PassedArgument::Scalar(b, ScalarType::Pointer)];
    let result = i.call_now(function, &arguments)?;
    i.decided(result, "the result of a comparison")
}

fn qsort(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (base, count, size, function) = (c.value(0)?, c.size(1)?, c.size(2)?, c.value(3)?);
    if count < 2 || size == 0 {
        return int(0);
    }
    let Some(total) = count.checked_mul(size) else { return c.unsupported("of more bytes than there are") };
    let spot = i.touch(base, total, 1, AccessPurpose::Write, AccessMode::Plain)?;
    // Insertion into a copy: a stable order is one of the orders that the standard allows.
    let copy = i.heap(total, Initialised::Unset)?;
    let Some((copy_id, _)) = i.memory.target(copy) else { return c.unsupported("of nothing") };
    let place = crate::interpreter::memory::MemoryRange { allocation: copy_id, offset: 0 };
    i.memory.copy(place, spot, total);
    let mut order: Vec<u64> = Vec::new();
    for element in 0..count {
        let here = i.offset(copy, CoreValue::Int(i128::from(element)), i128::from(size))?;
        let (mut low, mut high) = (0, order.len());
        while low < high {
            let middle = (low + high) / 2;
            let there = i.offset(copy, CoreValue::Int(i128::from(order[middle])), i128::from(size))?;
            if compare(i, function, there, here)? <= 0 { low = middle + 1 } else { high = middle }
        }
        order.insert(low, element);
    }
    for (at, element) in order.into_iter().enumerate() {
        let from = crate::interpreter::memory::MemoryRange { allocation: copy_id, offset: element * size };
        let to = crate::interpreter::memory::MemoryRange {
            allocation: spot.allocation,
            offset: spot.offset + at as u64 * size,
        };
        i.memory.copy(to, from, size);
    }
    let span = i.span();
    i.end_object(copy_id, span);
    int(0)
}

fn bsearch(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (key, base, count, size, function) = (c.value(0)?, c.value(1)?, c.size(2)?, c.size(3)?, c.value(4)?);
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        let here = i.offset(base, CoreValue::Int(i128::from(middle)), i128::from(size))?;
        match compare(i, function, key, here)? {
            0 => return Ok(Reply::Value(here)),
            less if less < 0 => high = middle,
            _ => low = middle + 1,
        }
    }
    Ok(Reply::Value(CoreValue::NULL))
}
