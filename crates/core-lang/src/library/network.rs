//! Rows of sockets, pipes, `poll` and mapped files.
//!
//! In: calls. Out: descriptors. Who connects and what peers send is drawn by the run: a few peers, lines of text made of words that the program itself mentions; what is sent to them is dropped.
//! A socket that waits for more peers waits for ever. What is written into a pipe happens before what reads it. Deliberately absent: datagrams with senders, names of
//! machines that can be found, non-blocking descriptors, `fork`.

use super::errno::*;
use super::strings::constant_text;
use super::{Answer, CallSite, LibraryRow, Reply, int, nothing, stdio};
use crate::interpreter::environment::{DescriptorKind, OpenMode};
use crate::interpreter::memory::Initialised;
use crate::interpreter::{ExecutionStop, Interpreter, Patience, Wait};
use crate::outside;
use crate::value::{CoreValue, IntType, ScalarType};

/// Peers of one run.
const MOST_PEERS: usize = 4;
const SHORT: ScalarType = ScalarType::Int(IntType { bits: 16, ..IntType::I32 });
const INT: ScalarType = ScalarType::Int(IntType::I32);
/// Bytes of the address of an internet socket.
const ADDRESS_BYTES: u64 = 16;
/// Flags of `poll`.
const CAN_READ: i128 = 1;
const CAN_WRITE: i128 = 4;

macro_rules! row {
    ($name:literal, $run:expr, $effect:literal) => {
        LibraryRow { name: $name, effect: $effect, run: $run }
    };
}

pub(super) const ROWS: &[LibraryRow] = &[
    row!("socket", socket, "a descriptor"),
    row!("bind", bind, "reads the address of a3 bytes at a2; 0, or -1 and ENOTSOCK"),
    row!("listen", listen, "0, or -1 and ENOTSOCK"),
    row!("setsockopt", set_option, "reads a5 bytes at a4; 0, or -1 and ENOTSOCK"),
    row!("accept", accept, "blocks until a peer comes; writes its address to *a2; a descriptor, or -1 and ENOTSOCK"),
    row!("connect", connect, "reads the address of a3 bytes at a2; the socket a1 has a peer; 0, or -1 and ENOTSOCK"),
    row!("getsockname", own_address, "writes an address to *a2 and its length to *a3; 0"),
    row!("getpeername", own_address, "writes an address to *a2 and its length to *a3; 0"),
    row!("shutdown", listen, "0, or -1 and ENOTSOCK"),
    row!("send", send, "reads a3 bytes at a2; a3, or -1 and EBADF"),
    row!("recv", receive, "writes at most a3 bytes at a2 from the socket a1; how many, or -1 and EBADF"),
    row!("inet_addr", address_of_text, "reads the text a1; the address it stands for"),
    row!("inet_ntoa", text_of_address, "the text \"127.0.0.1\""),
    row!("pipe", pipe, "writes two descriptors to *a1; 0"),
    row!("poll", poll, "reads and writes the a2 entries at a1; blocks until one is ready, or for a3; how many are"),
    row!("mmap", mmap, "new memory of a2 bytes, with the bytes of the descriptor a5 if it has one"),
    row!("fstat", file_status, "writes the status of the descriptor a1 to *a2: its kind and size; 0, or -1 and EBADF"),
    row!(
        "fstat64",
        file_status,
        "writes the status of the descriptor a1 to *a2: its kind and size; 0, or -1 and EBADF"
    ),
    row!("stat", path_status, "reads the text a1; writes the status of that file to *a2; 0, or -1 and ENOENT"),
    row!("lstat", path_status, "reads the text a1; writes the status of that file to *a2; 0, or -1 and ENOENT"),
    row!("lseek", seek, "the descriptor a1 stands at a2 from its start, place or end by a3; where, or -1"),
    row!("munmap", munmap, "ends the memory at a1; 0"),
];

fn descriptor_of(i: &Interpreter<'_>, c: &CallSite<'_>) -> Result<Option<usize>, ExecutionStop> {
    let number = usize::try_from(c.int(0)?).ok();
    let found = number.filter(|n| {
        let kind = i.environment.descriptors.get(*n).filter(|d| d.open).map(|d| d.kind);
        matches!(kind, Some(DescriptorKind::Socket | DescriptorKind::Connection))
    });
    Ok(found)
}

const BOTH_WAYS: OpenMode = OpenMode { readable: true, writable: true, create: true, truncate: false, append: true };

fn socket(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    c.int(0)?;
    let number = i.environment.add_descriptor(DescriptorKind::Socket, "<a socket>", BOTH_WAYS);
    int(number as i128)
}

fn bind(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    // Padding of an address need not be set.
    let size = c.size(2)?;
    i.touch(c.value(1)?, size.max(1), 1, crate::interpreter::memory::AccessPurpose::Read, super::AccessMode::Plain)?;
    listen(i, c)
}

fn listen(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if descriptor_of(i, c)?.is_none() { i.fails(ENOTSOCK, -1) } else { int(0) }
}

fn set_option(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let size = c.size(4)?;
    i.read_bytes(c.value(3)?, size)?;
    listen(i, c)
}

/// A peer with what it will send.
fn new_peer(i: &mut Interpreter<'_>) -> String {
    i.environment.connections += 1;
    let path = format!("<peer {}>", i.environment.connections);
    let words = outside::words(i.module);
    let text = outside::draw_text(i.environment_draw(), &words);
    i.environment.files.insert(path.clone(), crate::interpreter::environment::SimulatedFile { content: text });
    i.assume("peers may connect, and send anything");
    path
}

fn accept(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if descriptor_of(i, c)?.is_none() {
        return i.fails(ENOTSOCK, -1);
    }
    if i.environment.connections >= MOST_PEERS {
        return Ok(Reply::Block(Wait::Forever, Patience::Unlimited));
    }
    let path = new_peer(i);
    if !c.is_null(1)? {
        write_address(i, c)?;
    }
    let number = i.environment.add_descriptor(DescriptorKind::Connection, &path, BOTH_WAYS);
    int(number as i128)
}

fn connect(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let Some(number) = descriptor_of(i, c)? else { return i.fails(ENOTSOCK, -1) };
    let path = new_peer(i);
    let end = &mut i.environment.descriptors[number];
    (end.kind, end.path) = (DescriptorKind::Connection, Some(path));
    int(0)
}

/// The address of a machine in the same place, as far as there is room for it.
fn write_address(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Result<(), ExecutionStop> {
    let room = i.read_scalar(c.value(2)?, INT)?;
    let room = i.decided(room, "the room for an address")?;
    let port = 1024 + i.environment_draw().below(60_000) as u16;
    let mut bytes = vec![2, 0];
    bytes.extend(port.to_be_bytes());
    bytes.extend([127, 0, 0, 1]);
    bytes.resize(ADDRESS_BYTES as usize, 0);
    bytes.truncate(usize::try_from(room).unwrap_or(0));
    i.write_bytes(c.value(1)?, &bytes)?;
    i.write_scalar(c.value(2)?, INT, CoreValue::Int(i128::from(ADDRESS_BYTES)))
}

fn own_address(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if descriptor_of(i, c)?.is_none() {
        return i.fails(ENOTSOCK, -1);
    }
    write_address(i, c)?;
    int(0)
}

fn send(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    stdio::write(i, c)
}

fn receive(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    stdio::read(i, c)
}

fn pipe(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let path = format!("<pipe {}>", i.environment.descriptors.len());
    i.environment.files.insert(path.clone(), crate::interpreter::environment::SimulatedFile::default());
    let reading = OpenMode { writable: false, append: false, ..BOTH_WAYS };
    let writing = OpenMode { readable: false, ..BOTH_WAYS };
    for (at, mode) in [reading, writing].into_iter().enumerate() {
        let number = i.environment.add_descriptor(DescriptorKind::Pipe, &path, mode);
        let place = i.offset(c.value(0)?, CoreValue::Int(at as i128), 4)?;
        i.write_scalar(place, INT, CoreValue::Int(number as i128))?;
    }
    int(0)
}

fn poll(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (count, time) = (c.size(1)?, c.int(2)?);
    let mut ready = 0;
    for number in 0..count {
        let entry = i.offset(c.value(0)?, CoreValue::Int(i128::from(number)), 8)?;
        let descriptor = i.read_scalar(entry, INT)?.as_int().unwrap_or(-1);
        let asked_at = i.offset(entry, CoreValue::Int(4), 1)?;
        let asked = i.read_scalar(asked_at, SHORT)?.as_int().unwrap_or(0);
        let open =
            usize::try_from(descriptor).ok().filter(|n| i.environment.descriptors.get(*n).is_some_and(|d| d.open));
        let can = match open {
            Some(n) if i.environment.must_wait(n) => 0,
            Some(_) => CAN_READ | CAN_WRITE,
            None => 0,
        };
        let answer_at = i.offset(entry, CoreValue::Int(6), 1)?;
        i.write_scalar(answer_at, SHORT, CoreValue::Int(asked & can))?;
        ready += i128::from(asked & can != 0);
    }
    i.scheduler.yield_now();
    if ready == 0 && time < 0 {
        return Ok(Reply::Again);
    }
    int(ready)
}

fn address_of_text(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let text = i.read_text(c.value(0)?)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let address: Option<std::net::Ipv4Addr> = text.parse().ok();
    int(i128::from(address.map_or(u32::MAX, |a| u32::from_le_bytes(a.octets()))))
}

fn text_of_address(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    Ok(Reply::Value(constant_text(i, "the text of an address", "127.0.0.1")?))
}

/// Memory that is not shared with other processes: what is written to it stays in the run.
fn mmap(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (size, number) = (c.size(1)?, c.int(4)?);
    if c.int(5)? != 0 {
        return c.unsupported("of another part than the beginning of a file");
    }
    let new = i.heap(size, Initialised::Set)?;
    if let Some(end) = usize::try_from(number).ok().and_then(|n| i.environment.descriptors.get(n)) {
        let content = end.path.as_ref().and_then(|p| i.environment.files.get(p)).map(|f| f.content.clone());
        let mut content = content.unwrap_or_default();
        content.truncate(size as usize);
        i.write_bytes(new, &content)?;
    }
    Ok(Reply::Value(new))
}

fn munmap(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let span = i.span();
    match i.memory.target(c.value(0)?) {
        Some((id, 0)) => {
            i.end_object(id, span);
            nothing()
        }
        _ => i.fails(EINVAL, -1),
    }
}

/// Bytes of a `struct stat` on Linux for 64 bits, and where the kind, the size and the size of blocks lie in it.
const STATUS_BYTES: usize = 144;
const KIND_AT: usize = 24;
const SIZE_AT: usize = 48;
const BLOCK_AT: usize = 56;
/// A file that anybody may read and its owner write.
const REGULAR_FILE_BITS: u32 = 0o100_644;

fn write_status(i: &mut Interpreter<'_>, c: &CallSite<'_>, size: usize) -> Answer {
    if i.module.pointer_bytes != 8 {
        return c.unsupported("in a program for 32 bits");
    }
    let mut bytes = [0; STATUS_BYTES];
    bytes[KIND_AT..KIND_AT + 4].copy_from_slice(&REGULAR_FILE_BITS.to_le_bytes());
    bytes[SIZE_AT..SIZE_AT + 8].copy_from_slice(&(size as u64).to_le_bytes());
    bytes[BLOCK_AT..BLOCK_AT + 8].copy_from_slice(&4096u64.to_le_bytes());
    i.write_bytes(c.value(1)?, &bytes)?;
    int(0)
}

/// How long the file behind a descriptor is.
fn length_of(i: &Interpreter<'_>, number: i128) -> Option<usize> {
    let end = i.environment.descriptors.get(usize::try_from(number).ok()?).filter(|d| d.open)?;
    let file = end.path.as_ref().and_then(|p| i.environment.files.get(p));
    Some(file.map_or(i.environment.input.len(), |f| f.content.len()))
}

fn file_status(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    match length_of(i, c.int(0)?) {
        Some(size) => write_status(i, c, size),
        None => i.fails(EBADF, -1),
    }
}

fn path_status(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let path = i.read_text(c.value(0)?)?;
    i.assume("files that the program has not written are not there");
    match i.environment.files.get(&*String::from_utf8_lossy(&path)).map(|f| f.content.len()) {
        Some(size) => write_status(i, c, size),
        None => i.fails(ENOENT, -1),
    }
}

fn seek(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (number, by, whence) = (c.int(0)?, c.int(1)?, c.int(2)?);
    let Some(length) = length_of(i, number) else { return i.fails(EBADF, -1) };
    let file = &mut i.environment.descriptors[number as usize];
    let start = match whence {
        0 => 0,
        1 => file.position as i128,
        _ => length as i128,
    };
    let Ok(position) = usize::try_from(start + by) else { return i.fails(EINVAL, -1) };
    (file.position, file.at_end) = (position, false);
    int(position as i128)
}
