//! Threadproof verifies multithreaded programs: it proves their properties for every interleaving, or shows a run that goes wrong.
//! This crate is the program `threadproof` (command line, strategy, reports, language server) and a library for tests and tools that
//! want its verdicts without a process of their own.
//!
//! In: the path of a program in the modelling language, C or Java. Out: a [`Report`]. Verdicts come from the crate `checker` alone.
//!
//! ```
//! use threadproof::{Outcome, VerifyOptions, verify};
//! use std::time::Duration;
//!
//! let file = std::env::temp_dir().join(format!("threadproof-doc-{}.tp", std::process::id()));
//! std::fs::write(&file, "var x: int = 0;\nthread Add[2] { x := x + 1; }\ninvariant x < 2;\n")?;
//! let options = VerifyOptions { time: Duration::from_secs(20), ..VerifyOptions::default() };
//! let report = verify(&file, &options);
//! std::fs::remove_file(&file)?;
//!
//! assert_eq!(report.outcome(), Outcome::Unsafe);
//! let broken = &report.properties()[0];
//! assert_eq!((broken.name.as_str(), broken.line, broken.outcome), ("invariant:3", Some(3), Outcome::Unsafe));
//! assert!(broken.explanation.join(" ").contains("x = 2"), "{report}");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! In tests, [`assert_safe`] fails with the whole report, and the macro [`verified_programs!`] makes a `#[test]` for each of many files:
//!
//! ```
//! threadproof::verified_programs! {
//!     // Paths are relative to the folder of the crate's Cargo.toml.
//!     peterson_excludes: safe "../../corpus/seeds/threader/peterson.tp";
//!     the_handle_is_read_too_early: unsafe "../../corpus/seeds/threader/fig2_cex.tp";
//! }
//! # fn main() { threadproof::assert_safe(concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/seeds/threader/fig2_fixed.tp")); }
//! ```

#![allow(
    unreachable_pub,
    reason = "inside this crate `pub` says what other modules use; its interface is what stands at the end"
)]

mod baseline;
mod board;
mod cache;
mod cli;
mod command_line;
mod commands;
mod contradiction;
mod coverage;
mod hosts;
mod inputs;
mod jobs;
mod judge;
mod library;
mod linking;
mod load;
mod lsp;
mod manual;
mod members;
mod oracle;
mod outcome;
mod output;
mod place;
mod progress;
mod reached_lines;
mod replay;
mod report;
mod second_opinion;
mod several;
mod simulate;
mod strategy;
mod vacuous;
mod verifying;
mod watch;

pub use command_line::run_and_exit;
pub use library::verify_program as verify;
pub use library::{Outcome, PropertyReport, Report, VerifyOptions, assert_safe, assert_unsafe};
