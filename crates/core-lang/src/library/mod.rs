//! The library table: one row for each function that is executed here, and what all rows need.
//!
//! In: a call with its evaluated arguments. Out: a reply. A row's `effect` says which bytes it reads and writes as a formula
//! of its arguments (`a1` is the first), what it returns, and whether it blocks; its `run` does just that, through accesses that
//! are checked and noted like any other. A function without a row stops the run as unknown: it could have any effect. Rows are by
//! topic: `threads`, `locks`, `strings`, `numbers`, `stdio` with `format` and `scan`, `system`, `signals`, `network`, `verifier`.

pub(crate) mod format;
mod locks;
mod network;
mod numbers;
mod scan;
mod signals;
mod stdio;
mod streams;
mod strings;
mod system;
mod threads;
mod verifier;

use crate::interpreter::external::LibraryTable;
use crate::interpreter::memory::{AccessPurpose, Initialised, MemoryRange};
use crate::interpreter::race::AccessDirection;
use crate::interpreter::{Execution, ExecutionStop, Interpreter, RunOptions, ViolationKind};
use crate::module::Module;
use crate::value::{CoreValue, IntType, ScalarType};
use std::sync::OnceLock;

pub(crate) use crate::interpreter::external::{Answer, CallSite, LibraryRow, Reply};
pub(crate) use crate::interpreter::{AfterCall, ModeOfAccess as AccessMode, PassedArgument};
pub use verifier::{GHOST_BEGIN, GHOST_END, SPURIOUS_FAILURE};

/// All rows, by topic.
const ROWS: [&[LibraryRow]; 10] = [
    threads::ROWS,
    locks::ROWS,
    strings::ROWS,
    numbers::ROWS,
    stdio::ROWS,
    scan::ROWS,
    system::ROWS,
    signals::ROWS,
    network::ROWS,
    verifier::ROWS,
];

/// All rows by name.
fn table() -> &'static LibraryTable {
    static TABLE: OnceLock<LibraryTable> = OnceLock::new();
    TABLE.get_or_init(|| {
        let rows = ROWS.iter().flat_map(|rows| rows.iter()).map(|row| (row.name, *row)).collect();
        LibraryTable { rows, looks_outside }
    })
}

/// Whether a function without a body is executed here.
pub fn has_row(name: &str) -> bool {
    table().rows.contains_key(name)
}

impl<'m> Interpreter<'m> {
    /// Runs a module once, with this library.
    pub fn run(module: &'m Module, options: RunOptions) -> Execution {
        Interpreter::run_with(module, table(), options)
    }
}

/// Whether what a row does may depend on the world outside the program.
fn looks_outside(name: &str) -> bool {
    const QUIET: [&str; 11] = [
        "printf",
        "puts",
        "putchar",
        "fprintf",
        "fputs",
        "fputc",
        "fflush",
        "sleep",
        "usleep",
        "sched_yield",
        "perror",
    ];
    let listed = |rows: &[LibraryRow]| rows.iter().any(|r| r.name == name);
    (listed(stdio::ROWS) || listed(scan::ROWS) || listed(system::ROWS) || listed(network::ROWS))
        && !QUIET.contains(&name)
}

pub(crate) fn int(value: impl Into<i128>) -> Answer {
    Ok(Reply::Value(CoreValue::Int(value.into())))
}

pub(crate) fn nothing() -> Answer {
    Ok(Reply::Value(CoreValue::Int(0)))
}

/// The longest text that is read.
const MAX_TEXT: u64 = 1 << 24;

impl Interpreter<'_> {
    /// Bytes that a library function reads. One that was never set has any value (C11 6.2.6.1, 3.19.3), here the one that is there.
    pub(crate) fn read_bytes(&mut self, pointer: CoreValue, size: u64) -> Result<Vec<u8>, ExecutionStop> {
        if size == 0 {
            return Ok(Vec::new());
        }
        let spot = self.touch(pointer, size, 1, AccessPurpose::Read, AccessMode::Plain)?;
        let allocation = &self.memory.allocations[spot.allocation as usize];
        let all_set = (spot.offset..spot.offset + size).all(|at| allocation.is_set(at));
        let bytes = allocation.bytes[spot.offset as usize..(spot.offset + size) as usize].to_vec();
        if !all_set {
            self.drawn = true;
            self.assume("bytes that were never set may have any value where a library function reads them");
        }
        Ok(bytes)
    }

    /// The bytes before the first zero, or so many.
    pub(crate) fn read_text_most(&mut self, pointer: CoreValue, most: u64) -> Result<Vec<u8>, ExecutionStop> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let first = self.memory.locate(pointer, 1, AccessPurpose::Read)?;
        let allocation = &self.memory.allocations[first.allocation as usize];
        let left = allocation.size - first.offset;
        let mut length = 0;
        while length < most.min(MAX_TEXT) {
            if length >= left {
                // One byte beyond the object: the same access that C would make reports it.
                let beyond = self.offset(pointer, CoreValue::Int(i128::from(length)), 1)?;
                self.memory.locate(beyond, 1, AccessPurpose::Read)?;
                break;
            }
            let at = first.offset + length;
            if !allocation.is_set(at) {
                let text = format!("reads byte {at} of {}, which was never set", self.object_name(first.allocation, 0));
                return Err(ExecutionStop::violation(ViolationKind::Uninitialised, text));
            }
            if allocation.bytes[at as usize] == 0 {
                break;
            }
            length += 1;
        }
        let text = allocation.bytes[first.offset as usize..(first.offset + length) as usize].to_vec();
        let read = (length + 1).min(most).min(left);
        self.note_access(first, read, AccessDirection::Read, AccessMode::Plain)?;
        Ok(text)
    }

    pub(crate) fn read_text(&mut self, pointer: CoreValue) -> Result<Vec<u8>, ExecutionStop> {
        self.read_text_most(pointer, u64::MAX)
    }

    pub(crate) fn write_bytes(&mut self, pointer: CoreValue, bytes: &[u8]) -> Result<(), ExecutionStop> {
        if bytes.is_empty() {
            return Ok(());
        }
        let spot = self.touch(pointer, bytes.len() as u64, 1, AccessPurpose::Write, AccessMode::Plain)?;
        self.memory.write_bytes(spot, bytes);
        Ok(())
    }

    pub(crate) fn write_text(&mut self, pointer: CoreValue, text: &[u8]) -> Result<(), ExecutionStop> {
        let mut bytes = text.to_vec();
        bytes.push(0);
        self.write_bytes(pointer, &bytes)
    }

    pub(crate) fn read_scalar(&mut self, pointer: CoreValue, scalar: ScalarType) -> Result<CoreValue, ExecutionStop> {
        let size = scalar.bytes(self.module.pointer_bytes);
        let spot = self.touch(pointer, size, 1, AccessPurpose::Read, AccessMode::Plain)?;
        Ok(self.memory.load(spot, scalar))
    }

    pub(crate) fn write_scalar(
        &mut self,
        pointer: CoreValue,
        scalar: ScalarType,
        value: CoreValue,
    ) -> Result<(), ExecutionStop> {
        let size = scalar.bytes(self.module.pointer_bytes);
        let spot = self.touch(pointer, size, 1, AccessPurpose::Write, AccessMode::Plain)?;
        self.memory.store(spot, scalar, value);
        Ok(())
    }

    pub(crate) fn long(&self) -> ScalarType {
        ScalarType::Int(IntType { bits: self.module.long_bytes as u32 * 8, ..IntType::I64 })
    }

    pub(crate) fn heap(&mut self, size: u64, content: Initialised) -> Result<CoreValue, ExecutionStop> {
        let span = self.span();
        let id = self.memory.allocate(size, 16, crate::interpreter::memory::AllocationOrigin::Heap, content, span)?;
        Ok(self.memory.pointer(id))
    }

    /// The thread's `errno`.
    pub(crate) fn errno_object(&mut self) -> Result<CoreValue, ExecutionStop> {
        if let Some(id) = self.thread().errno {
            return Ok(self.memory.pointer(id));
        }
        let span = self.span();
        let origin = crate::interpreter::memory::AllocationOrigin::Environment("errno");
        let id = self.memory.allocate(4, 4, origin, Initialised::Set, span)?;
        self.thread().errno = Some(id);
        Ok(self.memory.pointer(id))
    }

    pub(crate) fn set_errno(&mut self, code: i128) -> Result<(), ExecutionStop> {
        let pointer = self.errno_object()?;
        if let Some((allocation, offset)) = self.memory.target(pointer) {
            self.memory.store(MemoryRange { allocation, offset }, ScalarType::Int(IntType::I32), CoreValue::Int(code));
        }
        Ok(())
    }

    /// Fails with a code in `errno`.
    pub(crate) fn fails(&mut self, code: i128, result: i128) -> Answer {
        self.set_errno(code)?;
        int(result)
    }
}

/// Numbers of `errno.h` as Linux has them.
pub(crate) mod errno {
    pub(crate) const EPERM: i128 = 1;
    pub(crate) const ENOENT: i128 = 2;
    pub(crate) const EBADF: i128 = 9;
    pub(crate) const ENOTSOCK: i128 = 88;
    pub(crate) const EAGAIN: i128 = 11;
    pub(crate) const EBUSY: i128 = 16;
    pub(crate) const EINVAL: i128 = 22;
    pub(crate) const ESRCH: i128 = 3;
    pub(crate) const ERANGE: i128 = 34;
    pub(crate) const EDEADLK: i128 = 35;
    pub(crate) const EOVERFLOW: i128 = 75;
    pub(crate) const ETIMEDOUT: i128 = 110;
    pub(crate) const EOWNERDEAD: i128 = 130;
    pub(crate) const ENOTRECOVERABLE: i128 = 131;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_every_row_says_its_effect_and_no_name_has_two_rows() {
        let count: usize = ROWS.iter().map(|r| r.len()).sum();
        assert_eq!(count, table().rows.len(), "a name has two rows");
        assert!(table().rows.values().all(|r| !r.effect.is_empty()));
    }
}
