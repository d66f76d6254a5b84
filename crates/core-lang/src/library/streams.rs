//! What lies behind a descriptor besides a file: how much of it arrives at once, and what it puts in order.
//!
//! In: the numbers of descriptors. Out: sizes, and clocks joined: what is written into a pipe happens before what reads it. Deliberately absent: the rows that read and write (`stdio`, `network`).

use crate::interpreter::Interpreter;
use crate::interpreter::environment::DescriptorKind;

/// How much of what a peer has sent arrives at once: any part, so a line at a time.
pub(super) fn part_of_message(i: &mut Interpreter<'_>, number: i128, size: u64) -> u64 {
    let Some(end) = usize::try_from(number).ok().and_then(|n| i.environment.descriptors.get(n)) else { return size };
    if end.kind != DescriptorKind::Connection {
        return size;
    }
    let content = end.path.as_ref().and_then(|p| i.environment.files.get(p)).map(|f| f.content.as_slice());
    let rest = content.and_then(|c| c.get(end.position..)).unwrap_or_default();
    let line = rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |at| at + 1);
    size.min(line as u64)
}

/// What the current thread has done happens before what reads this pipe afterwards.
pub(super) fn order_before_readers(i: &mut Interpreter<'_>, number: i128) {
    if let Some(path) = pipe_of(i, number) {
        let clock = i.release();
        i.environment.pipe_clocks.entry(path).or_default().join(&clock);
    }
}

pub(super) fn order_after_writers(i: &mut Interpreter<'_>, number: i128) {
    if let Some(path) = pipe_of(i, number)
        && let Some(clock) = i.environment.pipe_clocks.get(&path).cloned()
    {
        i.thread().clock.join(&clock);
    }
}

fn pipe_of(i: &Interpreter<'_>, number: i128) -> Option<String> {
    let end = i.environment.descriptors.get(usize::try_from(number).ok()?)?;
    if end.kind == DescriptorKind::Pipe { end.path.clone() } else { None }
}
