//! One file for each subcommand; each gives an exit code.

pub mod audit;
pub mod fmt;
pub mod show;
pub mod simulate;
pub mod verify;
