//! Rows of `string.h`, `strings.h` and the heap: which bytes are read and written, and nothing else.
//!
//! In: calls. Out: bytes with what is known of them. Overlap is a violation where C forbids it. `malloc` succeeds; a size of zero
//! gives an address of its own that may be freed and not used. Deliberately absent: locales other than C.

use super::errno::EINVAL;
use super::{AccessMode, Answer, CallSite, LibraryRow, Reply, int, nothing};
use crate::interpreter::memory::{AccessPurpose, AllocationOrigin, AllocationState, Initialised, MemoryRange};
use crate::interpreter::race::AccessDirection;
use crate::interpreter::{ExecutionStop, Interpreter, Violation, ViolationKind};
use crate::value::{CoreValue, ScalarType};

macro_rules! row {
    ($name:literal, $run:expr, $effect:literal) => {
        LibraryRow { name: $name, effect: $effect, run: $run }
    };
}

pub(super) const ROWS: &[LibraryRow] = &[
    row!("malloc", malloc, "a new object of a1 bytes, never set"),
    row!("__builtin_malloc", malloc, "a new object of a1 bytes, never set"),
    row!("calloc", calloc, "a new object of a1 * a2 bytes, all zero"),
    row!("realloc", realloc, "a new object of a2 bytes with the content of *a1, which ends"),
    row!("reallocarray", reallocarray, "a new object of a2 * a3 bytes with the content of *a1, which ends"),
    row!("aligned_alloc", aligned_alloc, "a new object of a2 bytes at a multiple of a1, never set"),
    row!("memalign", aligned_alloc, "a new object of a2 bytes at a multiple of a1, never set"),
    row!("posix_memalign", posix_memalign, "writes to *a1 a new object of a3 bytes at a multiple of a2; 0, EINVAL"),
    row!("alloca", alloca, "a new object of a1 bytes, never set"),
    row!("__builtin_alloca", alloca, "a new object of a1 bytes, never set"),
    row!("free", free, "ends the object *a1, a write of all its bytes; nothing if a1 is null"),
    row!("cfree", free, "ends the object *a1, a write of all its bytes"),
    row!("malloc_usable_size", usable_size, "the size of *a1"),
    row!("memcpy", memcpy, "reads a3 bytes at a2, writes them at a1, which may not overlap; a1"),
    row!("__builtin_memcpy", memcpy, "reads a3 bytes at a2, writes them at a1, which may not overlap; a1"),
    row!("mempcpy", memcpy, "reads a3 bytes at a2, writes them at a1, which may not overlap; a1 + a3"),
    row!("memmove", memcpy, "reads a3 bytes at a2, writes them at a1; a1"),
    row!("__builtin_memmove", memcpy, "reads a3 bytes at a2, writes them at a1; a1"),
    row!("memset", memset, "writes a3 bytes a2 at a1; a1"),
    row!("__builtin_memset", memset, "writes a3 bytes a2 at a1; a1"),
    row!("bzero", bzero, "writes a2 zero bytes at a1"),
    row!("explicit_bzero", bzero, "writes a2 zero bytes at a1"),
    row!("memcmp", memcmp, "reads a3 bytes at a1 and a2; the sign of the first difference"),
    row!("bcmp", memcmp, "reads a3 bytes at a1 and a2; the sign of the first difference"),
    row!("memchr", memchr, "reads at most a3 bytes at a1; where a2 is first, or null"),
    row!("strlen", strlen, "reads the text a1; its length"),
    row!("__builtin_strlen", strlen, "reads the text a1; its length"),
    row!("strnlen", strnlen, "reads at most a2 bytes of the text a1; its length"),
    row!("strcpy", strcpy, "reads the text a2, writes it at a1; a1"),
    row!("stpcpy", strcpy, "reads the text a2, writes it at a1; its end"),
    row!("strncpy", strncpy, "reads at most a3 bytes of the text a2, writes a3 bytes at a1; a1"),
    row!("strlcpy", strlcpy, "reads the text a2, writes at most a3 bytes at a1; the length of a2"),
    row!("strcat", strcat, "reads the texts a1 and a2, writes a2 at the end of a1; a1"),
    row!("strncat", strcat, "reads the text a1 and at most a3 bytes of a2, writes them at the end of a1; a1"),
    row!("strcmp", strcmp, "reads the texts a1 and a2 up to their first difference; its sign"),
    row!("strncmp", strcmp, "reads the texts a1 and a2 up to a3 bytes; the sign of the first difference"),
    row!("strcoll", strcmp, "reads the texts a1 and a2; the sign of the first difference"),
    row!("strcasecmp", strcmp, "as strcmp, without case"),
    row!("strncasecmp", strcmp, "as strncmp, without case"),
    row!("strchr", strchr, "reads the text a1; where a2 is first, or null"),
    row!("index", strchr, "reads the text a1; where a2 is first, or null"),
    row!("strchrnul", strchr, "reads the text a1; where a2 is first, or its end"),
    row!("strrchr", strrchr, "reads the text a1; where a2 is last, or null"),
    row!("rindex", strrchr, "reads the text a1; where a2 is last, or null"),
    row!("strstr", strstr, "reads the texts a1 and a2; where a2 is first in a1, or null"),
    row!("strcasestr", strstr, "as strstr, without case"),
    row!("strspn", strspn, "reads the texts a1 and a2; how many bytes of a1 are in a2"),
    row!("strcspn", strspn, "reads the texts a1 and a2; how many bytes of a1 are not in a2"),
    row!("strpbrk", strspn, "reads the texts a1 and a2; the first byte of a1 that is in a2, or null"),
    row!("strdup", strdup, "reads the text a1; a new object with it"),
    row!("strndup", strdup, "reads at most a2 bytes of the text a1; a new object with it"),
    row!("strtok", strtok, "reads and writes the text a1 or what is left of the last one; the next token, or null"),
    row!("strtok_r", strtok, "reads and writes the text a1 or *a3, writes *a3; the next token, or null"),
    row!("__strtok_r", strtok, "reads and writes the text a1 or *a3, writes *a3; the next token, or null"),
    row!("strsep", strsep, "reads and writes the text *a1, writes *a1; the next part, or null"),
    row!("strerror", strerror, "a text for the error a1"),
    row!("strsignal", strerror, "a text for the signal a1"),
    row!("strerror_r", strerror_r, "writes a text for the error a1 to a2 or not; a text"),
    row!("__xpg_strerror_r", strerror_posix, "writes a text for the error a1 to a2, a3 bytes; 0"),
];

fn moved(i: &Interpreter<'_>, pointer: CoreValue, by: usize) -> Result<CoreValue, ExecutionStop> {
    i.offset(pointer, CoreValue::Int(by as i128), 1)
}

fn malloc(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let size = c.size(0)?;
    Ok(Reply::Value(i.heap(size, Initialised::Unset)?))
}

/// Lives until the run ends: longer than promised, so nothing is reported that is right.
fn alloca(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (size, span) = (c.size(0)?, i.span());
    let id =
        i.memory.allocate(size, 16, AllocationOrigin::Environment("memory of alloca"), Initialised::Unset, span)?;
    Ok(Reply::Value(i.memory.pointer(id)))
}

fn calloc(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let Some(size) = c.size(0)?.checked_mul(c.size(1)?) else { return Ok(Reply::Value(CoreValue::NULL)) };
    Ok(Reply::Value(i.heap(size, Initialised::Set)?))
}

fn aligned_alloc(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (align, size) = (c.size(0)?, c.size(1)?);
    let span = i.span();
    let id = i.memory.allocate(size, align.max(16), AllocationOrigin::Heap, Initialised::Unset, span)?;
    Ok(Reply::Value(i.memory.pointer(id)))
}

fn posix_memalign(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (align, size) = (c.size(1)?, c.size(2)?);
    if !align.is_power_of_two() || align % i.module.pointer_bytes != 0 {
        return int(EINVAL);
    }
    let span = i.span();
    let id = i.memory.allocate(size, align, AllocationOrigin::Heap, Initialised::Unset, span)?;
    let pointer = i.memory.pointer(id);
    i.write_scalar(c.value(0)?, ScalarType::Pointer, pointer)?;
    int(0)
}

/// The heap object that a pointer points to the start of.
fn heap_object(i: &Interpreter<'_>, pointer: CoreValue, what: &str) -> Result<u32, ExecutionStop> {
    if pointer == CoreValue::Undefined {
        return Err(ExecutionStop::violation(
            ViolationKind::Uninitialised,
            format!("{what} a pointer that was never set"),
        ));
    }
    let invalid = |text: String| Err(ExecutionStop::violation(ViolationKind::InvalidFree, text));
    let Some((id, offset)) = i.memory.target(pointer) else {
        return invalid(format!("{what} an address where there is no object"));
    };
    let allocation = &i.memory.allocations[id as usize];
    if allocation.origin != AllocationOrigin::Heap {
        return invalid(format!("{what} {}, which was not allocated", i.object_name(id, 0)));
    }
    if let AllocationState::Ended(at) = allocation.lifetime {
        let mut violation = Violation::new(ViolationKind::InvalidFree, format!("{what} memory that was freed already"));
        violation.notes.push((at, "freed here".into()));
        return Err(ExecutionStop::Violation(Box::new(violation)));
    }
    if offset != 0 {
        return invalid(format!("{what} an address {} bytes into an allocated object", offset as i64));
    }
    Ok(id)
}

/// Ends a heap object: for races, a write of all of it.
fn release_object(i: &mut Interpreter<'_>, id: u32) -> Result<(), ExecutionStop> {
    let size = i.memory.allocations[id as usize].size;
    i.note_access(MemoryRange { allocation: id, offset: 0 }, size, AccessDirection::Write, AccessMode::Plain)?;
    let span = i.span();
    i.end_object(id, span);
    Ok(())
}

fn free(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let pointer = c.value(0)?;
    if pointer.is_zero() == Some(true) {
        return nothing();
    }
    let id = heap_object(i, pointer, "frees")?;
    release_object(i, id)?;
    nothing()
}

fn resize(i: &mut Interpreter<'_>, pointer: CoreValue, size: u64) -> Answer {
    if pointer.is_zero() == Some(true) {
        return Ok(Reply::Value(i.heap(size, Initialised::Unset)?));
    }
    let id = heap_object(i, pointer, "reallocates")?;
    if size == 0 {
        // As common libraries do it; C leaves it open.
        release_object(i, id)?;
        return Ok(Reply::Value(CoreValue::NULL));
    }
    let old = i.memory.allocations[id as usize].size;
    let new = i.heap(size, Initialised::Unset)?;
    let from = i.touch(pointer, old.min(size), 1, AccessPurpose::Read, AccessMode::Plain)?;
    if let Some((target, _)) = i.memory.target(new)
        && old.min(size) > 0
    {
        i.memory.copy(MemoryRange { allocation: target, offset: 0 }, from, old.min(size));
    }
    release_object(i, id)?;
    Ok(Reply::Value(new))
}

fn realloc(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (pointer, size) = (c.value(0)?, c.size(1)?);
    resize(i, pointer, size)
}

fn reallocarray(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let Some(size) = c.size(1)?.checked_mul(c.size(2)?) else { return Ok(Reply::Value(CoreValue::NULL)) };
    resize(i, c.value(0)?, size)
}

fn usable_size(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let pointer = c.value(0)?;
    if pointer.is_zero() == Some(true) {
        return int(0);
    }
    let id = heap_object(i, pointer, "asks for the size of")?;
    let size = i.memory.allocations[id as usize].size;
    int(size)
}

fn memcpy(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (to, from, size) = (c.value(0)?, c.value(1)?, c.size(2)?);
    if size > 0 {
        let source = i.touch(from, size, 1, AccessPurpose::Read, AccessMode::Plain)?;
        let target = i.touch(to, size, 1, AccessPurpose::Write, AccessMode::Plain)?;
        let apart = source.allocation != target.allocation
            || source.offset + size <= target.offset
            || target.offset + size <= source.offset;
        if !apart && !c.name.ends_with("memmove") && source != target {
            let text = format!("`{}` of {size} bytes that overlap", c.name);
            return Err(ExecutionStop::violation(ViolationKind::BadCall, text));
        }
        i.memory.copy(target, source, size);
    }
    let end = if c.name == "mempcpy" { size as usize } else { 0 };
    Ok(Reply::Value(moved(i, to, end)?))
}

fn memset(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (to, byte, size) = (c.value(0)?, c.int(1)?, c.size(2)?);
    if size > 0 {
        let target = i.touch(to, size, 1, AccessPurpose::Write, AccessMode::Plain)?;
        i.memory.write_bytes(target, &vec![byte as u8; size as usize]);
    }
    Ok(Reply::Value(to))
}

fn bzero(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (to, size) = (c.value(0)?, c.size(1)?);
    if size > 0 {
        let target = i.touch(to, size, 1, AccessPurpose::Write, AccessMode::Plain)?;
        i.memory.write_bytes(target, &vec![0; size as usize]);
    }
    nothing()
}

fn memcmp(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let size = c.size(2)?;
    let (a, b) = (i.read_bytes(c.value(0)?, size)?, i.read_bytes(c.value(1)?, size)?);
    int(a.cmp(&b) as i32)
}

fn memchr(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (pointer, byte, size) = (c.value(0)?, c.int(1)? as u8, c.size(2)?);
    for at in 0..size {
        let here = moved(i, pointer, at as usize)?;
        if i.read_bytes(here, 1)?[0] == byte {
            return Ok(Reply::Value(here));
        }
    }
    Ok(Reply::Value(CoreValue::NULL))
}

fn strlen(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    int(i.read_text(c.value(0)?)?.len() as i128)
}

fn strnlen(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    int(i.read_text_most(c.value(0)?, c.size(1)?)?.len() as i128)
}

fn strcpy(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (to, text) = (c.value(0)?, i.read_text(c.value(1)?)?);
    i.write_text(to, &text)?;
    let end = if c.name == "stpcpy" { text.len() } else { 0 };
    Ok(Reply::Value(moved(i, to, end)?))
}

fn strncpy(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (to, size) = (c.value(0)?, c.size(2)?);
    let mut text = i.read_text_most(c.value(1)?, size)?;
    text.resize(size as usize, 0);
    i.write_bytes(to, &text)?;
    Ok(Reply::Value(to))
}

fn strlcpy(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (to, text, size) = (c.value(0)?, i.read_text(c.value(1)?)?, c.size(2)?);
    if size > 0 {
        let kept = text.len().min(size as usize - 1);
        i.write_text(to, &text[..kept])?;
    }
    int(text.len() as i128)
}

fn strcat(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let to = c.value(0)?;
    let length = i.read_text(to)?.len();
    let most = if c.name == "strncat" { c.size(2)? } else { u64::MAX };
    let text = i.read_text_most(c.value(1)?, most)?;
    let end = moved(i, to, length)?;
    i.write_text(end, &text)?;
    Ok(Reply::Value(to))
}

fn strcmp(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (a, b) = (c.value(0)?, c.value(1)?);
    let most = if c.name.starts_with("strnc") { c.size(2)? } else { u64::MAX };
    let fold = |byte: u8| if c.name.ends_with("casecmp") { byte.to_ascii_lowercase() } else { byte };
    let mut at = 0;
    while (at as u64) < most {
        let (x, y) = (moved(i, a, at)?, moved(i, b, at)?);
        let (x, y) = (fold(i.read_bytes(x, 1)?[0]), fold(i.read_bytes(y, 1)?[0]));
        if x != y || x == 0 {
            return int(i32::from(x > y) - i32::from(x < y));
        }
        at += 1;
    }
    int(0)
}

fn strchr(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (pointer, byte) = (c.value(0)?, c.int(1)? as u8);
    let mut at = 0;
    loop {
        let here = moved(i, pointer, at)?;
        let found = i.read_bytes(here, 1)?[0];
        if found == byte || (found == 0 && c.name == "strchrnul") {
            return Ok(Reply::Value(here));
        }
        if found == 0 {
            return Ok(Reply::Value(CoreValue::NULL));
        }
        at += 1;
    }
}

fn strrchr(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (pointer, byte) = (c.value(0)?, c.int(1)? as u8);
    let mut text = i.read_text(pointer)?;
    text.push(0);
    match text.iter().rposition(|b| *b == byte) {
        Some(at) => Ok(Reply::Value(moved(i, pointer, at)?)),
        None => Ok(Reply::Value(CoreValue::NULL)),
    }
}

fn strstr(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let pointer = c.value(0)?;
    let (mut text, mut wanted) = (i.read_text(pointer)?, i.read_text(c.value(1)?)?);
    if c.name == "strcasestr" {
        text.make_ascii_lowercase();
        wanted.make_ascii_lowercase();
    }
    let at = if wanted.is_empty() { Some(0) } else { text.windows(wanted.len()).position(|w| w == wanted) };
    match at {
        Some(at) => Ok(Reply::Value(moved(i, pointer, at)?)),
        None => Ok(Reply::Value(CoreValue::NULL)),
    }
}

fn strspn(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let pointer = c.value(0)?;
    let (text, set) = (i.read_text(pointer)?, i.read_text(c.value(1)?)?);
    let wanted = c.name == "strspn";
    let length = text.iter().position(|b| set.contains(b) != wanted).unwrap_or(text.len());
    match c.name {
        "strpbrk" if length == text.len() => Ok(Reply::Value(CoreValue::NULL)),
        "strpbrk" => Ok(Reply::Value(moved(i, pointer, length)?)),
        _ => int(length as i128),
    }
}

fn strdup(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let most = if c.name == "strndup" { c.size(1)? } else { u64::MAX };
    let text = i.read_text_most(c.value(0)?, most)?;
    let new = i.heap(text.len() as u64 + 1, Initialised::Unset)?;
    i.write_text(new, &text)?;
    Ok(Reply::Value(new))
}

fn strtok(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let own = c.name == "strtok";
    let mut from = c.value(0)?;
    if from.is_zero() == Some(true) {
        from = if own { i.environment.token_rest } else { i.read_scalar(c.value(2)?, ScalarType::Pointer)? };
    }
    if own {
        i.assume("`strtok` keeps its place for all threads together");
    }
    if from.is_zero() == Some(true) {
        return Ok(Reply::Value(CoreValue::NULL));
    }
    let set = i.read_text(c.value(1)?)?;
    let text = i.read_text(from)?;
    let start = text.iter().position(|b| !set.contains(b));
    let (token, rest) = match start {
        None => (CoreValue::NULL, moved(i, from, text.len())?),
        Some(start) => {
            let token = moved(i, from, start)?;
            match text[start..].iter().position(|b| set.contains(b)) {
                None => (token, moved(i, from, text.len())?),
                Some(length) => {
                    let end = moved(i, from, start + length)?;
                    i.write_bytes(end, &[0])?;
                    (token, moved(i, from, start + length + 1)?)
                }
            }
        }
    };
    if own {
        i.environment.token_rest = rest;
    } else {
        i.write_scalar(c.value(2)?, ScalarType::Pointer, rest)?;
    }
    Ok(Reply::Value(token))
}

fn strsep(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let from = i.read_scalar(c.value(0)?, ScalarType::Pointer)?;
    if from.is_zero() == Some(true) {
        return Ok(Reply::Value(CoreValue::NULL));
    }
    let (text, set) = (i.read_text(from)?, i.read_text(c.value(1)?)?);
    let rest = match text.iter().position(|b| set.contains(b)) {
        None => CoreValue::NULL,
        Some(at) => {
            let end = moved(i, from, at)?;
            i.write_bytes(end, &[0])?;
            moved(i, from, at + 1)?
        }
    };
    i.write_scalar(c.value(0)?, ScalarType::Pointer, rest)?;
    Ok(Reply::Value(from))
}

/// A text of the environment, the same object each time.
pub(super) fn constant_text(
    i: &mut Interpreter<'_>,
    name: &'static str,
    text: &str,
) -> Result<CoreValue, ExecutionStop> {
    if let Some(known) = i.environment.texts.get(name) {
        return Ok(*known);
    }
    let span = i.span();
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    let id = i.memory.allocate(bytes.len() as u64, 1, AllocationOrigin::Environment(name), Initialised::Set, span)?;
    i.memory.write_bytes(MemoryRange { allocation: id, offset: 0 }, &bytes);
    let pointer = i.memory.pointer(id);
    i.environment.texts.insert(name, pointer);
    Ok(pointer)
}

fn strerror(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    c.int(0)?;
    Ok(Reply::Value(constant_text(i, "the text of an error", "an error")?))
}

fn strerror_r(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    strerror(i, c)
}

fn strerror_posix(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let size = c.size(2)? as usize;
    let text = b"an error";
    if size > 0 {
        i.write_text(c.value(1)?, &text[..text.len().min(size - 1)])?;
    }
    int(0)
}
