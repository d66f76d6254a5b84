//! Standard output that cannot be written: a reader that went away is no failure, a full disk is.
//!
//! In: the result of writing. Out: an exit code where something was lost, and a sentence on standard error.

use crate::board::exit;
use std::io::{ErrorKind, Write};

/// What was written is there, or no reader wants it; else the exit code that says so.
pub fn checked(written: std::io::Result<()>) -> Result<(), i32> {
    match written {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(e) => {
            eprintln!("error: the output could not be written: {e}");
            Err(exit::OUTPUT_LOST)
        }
    }
}

/// Writes a whole text; the exit code where that fails.
pub fn write_all(bytes: &[u8]) -> Result<(), i32> {
    let mut out = std::io::stdout().lock();
    checked(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes a file of the report; the exit code where that fails.
pub fn write_file(path: &std::path::Path, text: &str) -> Result<(), i32> {
    std::fs::write(path, text).map_err(|e| {
        eprintln!("error: {} could not be written: {e}", path.display());
        exit::OUTPUT_LOST
    })
}

/// What `println!` says in a panic where standard output cannot be written: the exit code that belongs to it.
pub fn of_panic(message: &str) -> Option<i32> {
    let why = message.strip_prefix("failed printing to stdout: ")?;
    if why.contains("Broken pipe") {
        return Some(exit::SAFE);
    }
    eprintln!("error: the output could not be written: {why}");
    Some(exit::OUTPUT_LOST)
}
