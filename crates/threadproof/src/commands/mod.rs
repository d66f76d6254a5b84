//! One file for each subcommand; each gives an exit code.

pub mod fmt;
pub mod verify;
