//! Rows of `stdio.h` and of descriptors: text goes to a buffer, files live in the run.
//!
//! In: calls. Out: bytes written and read, exactly those that the arguments name. Deliberately absent: buffering (a text is
//! there at once), wide characters, temporary files.

use super::errno::*;
use super::format::{Arguments, format_text};
use super::{Answer, CallSite, LibraryRow, Reply, int};
use crate::interpreter::Interpreter;
use crate::interpreter::environment::OpenMode;
use crate::interpreter::memory::{AllocationOrigin, Initialised};
use crate::interpreter::{ExecutionStop, ViolationKind};
use crate::value::{CoreValue, ScalarType};

macro_rules! row {
    ($name:literal, $run:expr, $effect:literal) => {
        LibraryRow { name: $name, effect: $effect, run: $run }
    };
}

pub(super) const ROWS: &[LibraryRow] = &[
    row!("printf", printf, "reads the format a1 and what it names; writes standard output; the length"),
    row!("fprintf", printf, "reads the format a2 and what it names; writes the stream a1; the length"),
    row!("dprintf", printf, "reads the format a2 and what it names; writes the descriptor a1; the length"),
    row!("vprintf", printf, "reads the format a1 and what it names; writes standard output; the length"),
    row!("vfprintf", printf, "reads the format a2 and what it names; writes the stream a1; the length"),
    row!("sprintf", sprintf, "reads the format a2 and what it names; writes the text to a1; its length"),
    row!("vsprintf", sprintf, "reads the format a2 and what it names; writes the text to a1; its length"),
    row!("snprintf", sprintf, "reads the format a3 and what it names; writes at most a2 bytes to a1; the length"),
    row!("vsnprintf", sprintf, "reads the format a3 and what it names; writes at most a2 bytes to a1; the length"),
    row!("asprintf", asprintf, "reads the format a2 and what it names; writes a new text to *a1; its length"),
    row!("puts", puts, "reads the text a1; writes standard output"),
    row!("fputs", fputs, "reads the text a1; writes the stream a2"),
    row!("putchar", putchar, "writes a1 to standard output; a1"),
    row!("putc", putchar, "writes a1 to the stream a2; a1"),
    row!("fputc", putchar, "writes a1 to the stream a2; a1"),
    row!("perror", perror, "reads the text a1; writes standard error"),
    row!("fwrite", fwrite, "reads a2 * a3 bytes at a1; writes the stream a4; a3"),
    row!("fread", fread, "writes at most a2 * a3 bytes at a1 from the stream a4; the number of whole elements"),
    row!("fflush", accept, "0"),
    row!("setvbuf", accept, "0"),
    row!("setbuf", accept, "nothing"),
    row!("fopen", fopen, "reads the texts a1 and a2; a stream, or null and ENOENT"),
    row!("fclose", fclose, "ends the stream a1; 0"),
    row!("feof", feof, "whether the stream a1 is at its end"),
    row!("ferror", accept, "0"),
    row!("clearerr", accept, "nothing"),
    row!("fileno", fileno, "the descriptor of the stream a1"),
    row!("fgetc", getc, "the next byte of the stream a1, or -1"),
    row!("getc", getc, "the next byte of the stream a1, or -1"),
    row!("getchar", getc, "the next byte of standard input, or -1"),
    row!("ungetc", ungetc, "a1 is the next byte of the stream a2; a1"),
    row!("fgets", fgets, "writes a line of at most a2 - 1 bytes from the stream a3 to a1; a1, or null at the end"),
    row!(
        "getline",
        getline,
        "writes a line of the stream a3 to *a1, made larger if need be, and its room to *a2; the length, or -1"
    ),
    row!("write", write, "reads a3 bytes at a2; writes the descriptor a1; a3, or -1 and EBADF"),
    row!("read", read, "writes at most a3 bytes at a2 from the descriptor a1; how many, or -1 and EBADF"),
    row!("open", open, "reads the text a1; a descriptor, or -1 and ENOENT"),
    row!("close", close, "ends the descriptor a1; 0, or -1 and EBADF"),
    row!("fseek", fseek, "the stream a1 stands at a2 from its start, place or end by a3; 0"),
    row!("ftell", ftell, "where the stream a1 stands"),
    row!("rewind", fseek, "the stream a1 stands at its start"),
    row!("remove", remove, "reads the text a1; 0, or -1 and ENOENT"),
    row!("unlink", remove, "reads the text a1; 0, or -1 and ENOENT"),
    row!("isatty", isatty, "0"),
];

fn accept(_: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    int(0)
}

/// The descriptor of a stream.
pub(super) fn descriptor(i: &Interpreter<'_>, stream: CoreValue) -> Result<usize, ExecutionStop> {
    if stream.is_zero() == Some(true) {
        return Err(ExecutionStop::violation(ViolationKind::NullDereference, "uses a null stream"));
    }
    let found = i.memory.target(stream).filter(|(id, offset)| *offset == 0 && i.is_live(*id));
    found.and_then(|(id, _)| i.environment.stream(id)).ok_or_else(|| {
        ExecutionStop::violation(ViolationKind::BadCall, "uses something as a stream that is none or was closed")
    })
}

/// The text of a format call: the format is argument `at`, what follows are its arguments or a list of them.
fn text_of(i: &mut Interpreter<'_>, c: &CallSite<'_>, at: usize) -> Result<Vec<u8>, ExecutionStop> {
    let bytes = i.read_text(c.value(at)?)?;
    let mut arguments = match c.name.starts_with('v') {
        true => Arguments::List(c.value(at + 1)?),
        false => Arguments::Slice(&c.arguments[at + 1..]),
    };
    format_text(i, &bytes, &mut arguments)
}

fn printf(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (target, at) = match c.name {
        "printf" | "vprintf" => (1, 0),
        "dprintf" => (c.size(0)? as usize, 1),
        _ => (descriptor(i, c.value(0)?)?, 1),
    };
    let text = text_of(i, c, at)?;
    if !i.environment.write(target, &text) {
        return i.fails(EBADF, -1);
    }
    int(text.len() as i128)
}

fn sprintf(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let limited = c.name.contains("snprintf");
    let text = text_of(i, c, if limited { 2 } else { 1 })?;
    let room = if limited { c.size(1)? as usize } else { usize::MAX };
    if room > 0 {
        let kept = text.len().min(room - 1);
        i.write_text(c.value(0)?, &text[..kept])?;
    }
    int(text.len() as i128)
}

fn asprintf(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let text = text_of(i, c, 1)?;
    let new = i.heap(text.len() as u64 + 1, Initialised::Unset)?;
    i.write_text(new, &text)?;
    i.write_scalar(c.value(0)?, ScalarType::Pointer, new)?;
    int(text.len() as i128)
}

fn puts(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let mut text = i.read_text(c.value(0)?)?;
    text.push(b'\n');
    i.environment.write(1, &text);
    int(text.len() as i128)
}

fn fputs(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let text = i.read_text(c.value(0)?)?;
    let target = descriptor(i, c.value(1)?)?;
    let written = i.environment.write(target, &text);
    int(if written { 1 } else { -1 })
}

fn putchar(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let byte = c.int(0)? as u8;
    let target = if c.name == "putchar" { 1 } else { descriptor(i, c.value(1)?)? };
    i.environment.write(target, &[byte]);
    int(byte)
}

fn perror(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if !c.is_null(0)? {
        let mut text = i.read_text(c.value(0)?)?;
        text.extend_from_slice(b": an error\n");
        i.environment.write(2, &text);
    }
    int(0)
}

fn fwrite(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (size, count) = (c.size(1)?, c.size(2)?);
    let Some(total) = size.checked_mul(count) else { return c.unsupported("of more bytes than there are") };
    let bytes = i.read_bytes(c.value(0)?, total)?;
    let target = descriptor(i, c.value(3)?)?;
    let written = i.environment.write(target, &bytes);
    int(if written && size > 0 { i128::from(count) } else { 0 })
}

fn fread(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (size, count) = (c.size(1)?, c.size(2)?);
    let Some(total) = size.checked_mul(count) else { return c.unsupported("of more bytes than there are") };
    let from = descriptor(i, c.value(3)?)?;
    let bytes = i.environment.read(from, total as usize).unwrap_or_default();
    i.write_bytes(c.value(0)?, &bytes)?;
    int(if size == 0 { 0 } else { bytes.len() as i128 / i128::from(size) })
}

fn fopen(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (path, mode) = (i.read_text(c.value(0)?)?, i.read_text(c.value(1)?)?);
    let path = String::from_utf8_lossy(&path).into_owned();
    let (first, plus) = (mode.first().copied().unwrap_or(b'r'), mode.contains(&b'+'));
    let (readable, writable) = (first == b'r' || plus, first != b'r' || plus);
    let (create, truncate, append) = (first != b'r', first == b'w', first == b'a');
    let opened = i.environment.open(&path, OpenMode { readable, writable, create, truncate, append });
    i.assume("files that the program has not written are not there");
    let Some(number) = opened else {
        i.set_errno(ENOENT)?;
        return Ok(Reply::Value(CoreValue::NULL));
    };
    let span = i.span();
    let id = i.memory.allocate(16, 16, AllocationOrigin::Environment("a stream"), Initialised::Set, span)?;
    i.environment.add_stream(id, number);
    Ok(Reply::Value(i.memory.pointer(id)))
}

fn fclose(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let number = descriptor(i, c.value(0)?)?;
    i.environment.descriptors[number].open = false;
    let span = i.span();
    if let Some((id, _)) = i.memory.target(c.value(0)?) {
        i.end_object(id, span);
    }
    int(0)
}

fn feof(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let number = descriptor(i, c.value(0)?)?;
    int(i.environment.descriptors[number].at_end)
}

fn fileno(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    int(descriptor(i, c.value(0)?)? as i128)
}

fn getc(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let number = if c.name == "getchar" { 0 } else { descriptor(i, c.value(0)?)? };
    let bytes = i.environment.read(number, 1).unwrap_or_default();
    int(bytes.first().map_or(-1, |b| i128::from(*b)))
}

fn ungetc(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (byte, number) = (c.int(0)?, descriptor(i, c.value(1)?)?);
    let file = &mut i.environment.descriptors[number];
    file.pushed_back.push(byte as u8);
    file.at_end = false;
    int(byte)
}

fn line(i: &mut Interpreter<'_>, number: usize, most: usize) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < most {
        let Some(byte) = i.environment.read(number, 1).and_then(|b| b.first().copied()) else { break };
        text.push(byte);
        if byte == b'\n' {
            break;
        }
    }
    text
}

fn fgets(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (target, most, number) = (c.value(0)?, c.int(1)?, descriptor(i, c.value(2)?)?);
    let text = line(i, number, usize::try_from(most - 1).unwrap_or(0));
    if text.is_empty() {
        return Ok(Reply::Value(CoreValue::NULL));
    }
    i.write_text(target, &text)?;
    Ok(Reply::Value(target))
}

fn getline(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (target, room, number) = (c.value(0)?, c.value(1)?, descriptor(i, c.value(2)?)?);
    let text = line(i, number, usize::MAX);
    if text.is_empty() {
        return int(-1);
    }
    let old = i.read_scalar(target, ScalarType::Pointer)?;
    let long = i.long();
    let size = i.read_scalar(room, long)?.as_int().unwrap_or(0);
    let mut place = old;
    if old.is_zero() == Some(true) || size < text.len() as i128 + 1 {
        let wanted = (text.len() as u64 + 1).max(120);
        place = i.heap(wanted, Initialised::Unset)?;
        if let Some((id, 0)) = i.memory.target(old).filter(|_| old.is_zero() == Some(false)) {
            let span = i.span();
            i.end_object(id, span);
        }
        i.write_scalar(target, ScalarType::Pointer, place)?;
        i.write_scalar(room, long, CoreValue::Int(i128::from(wanted)))?;
    }
    i.write_text(place, &text)?;
    int(text.len() as i128)
}

pub(super) fn write(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (number, size) = (c.int(0)?, c.size(2)?);
    let bytes = i.read_bytes(c.value(1)?, size)?;
    super::streams::order_before_readers(i, number);
    let fine = usize::try_from(number).is_ok_and(|n| i.environment.write(n, &bytes));
    if fine { int(size) } else { i.fails(EBADF, -1) }
}

pub(super) fn read(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (number, size) = (c.int(0)?, c.size(2)?);
    if usize::try_from(number).is_ok_and(|n| i.environment.must_wait(n)) {
        i.scheduler.yield_now();
        return Ok(Reply::Again);
    }
    super::streams::order_after_writers(i, number);
    let size = super::streams::part_of_message(i, number, size);
    let bytes = usize::try_from(number).ok().and_then(|n| i.environment.read(n, size as usize));
    match bytes {
        Some(bytes) => {
            i.write_bytes(c.value(1)?, &bytes)?;
            int(bytes.len() as i128)
        }
        None => i.fails(EBADF, -1),
    }
}

fn open(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let path = i.read_text(c.value(0)?)?;
    let path = String::from_utf8_lossy(&path).into_owned();
    let flags = c.int(1)?;
    let (readable, writable) = (flags & 3 != 1, flags & 3 != 0);
    i.assume("files that the program has not written are not there");
    let (create, truncate, append) = (flags & 0o100 != 0, flags & 0o1000 != 0, flags & 0o2000 != 0);
    let opened = i.environment.open(&path, OpenMode { readable, writable, create, truncate, append });
    match opened {
        Some(number) => int(number as i128),
        None => i.fails(ENOENT, -1),
    }
}

fn close(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let number = c.int(0)?;
    let file = usize::try_from(number).ok().and_then(|n| i.environment.descriptors.get_mut(n)).filter(|f| f.open);
    match file {
        Some(file) => {
            file.open = false;
            int(0)
        }
        None => i.fails(EBADF, -1),
    }
}

fn fseek(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let number = descriptor(i, c.value(0)?)?;
    let (by, whence) = if c.name == "rewind" { (0, 0) } else { (c.int(1)?, c.int(2)?) };
    let file = &mut i.environment.descriptors[number];
    let length = match &file.path {
        Some(path) => i.environment.files.get(path).map_or(0, |f| f.content.len()),
        None => i.environment.input.len(),
    };
    let start = match whence {
        0 => 0,
        1 => file.position as i128,
        _ => length as i128,
    };
    let Ok(position) = usize::try_from(start + by) else { return i.fails(EINVAL, -1) };
    file.position = position;
    file.at_end = false;
    file.pushed_back.clear();
    int(0)
}

fn ftell(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let number = descriptor(i, c.value(0)?)?;
    let file = &i.environment.descriptors[number];
    int(file.position as i128 - file.pushed_back.len() as i128)
}

fn remove(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let path = i.read_text(c.value(0)?)?;
    match i.environment.files.remove(&*String::from_utf8_lossy(&path)) {
        Some(_) => int(0),
        None => i.fails(ENOENT, -1),
    }
}

fn isatty(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    c.int(0)?;
    int(0)
}
