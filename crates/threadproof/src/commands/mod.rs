//! One file for each subcommand; each gives an exit code.

pub mod audit;
pub mod fmt;
pub mod propose;
pub mod show;
pub mod simulate;
pub mod verify;
