//! Threads that are spawned at most once become ordinary threads.

use program::Program;

/// Turns each spawn site that can execute at most once into an ordinary thread that waits for a flag.
pub(super) fn at_most_once(_program: &mut Program) {}
