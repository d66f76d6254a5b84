//! `fmt`: source files in canonical form.

use crate::board::exit;
use crate::cli::Fmt;

pub fn run(_request: Fmt) -> i32 {
    eprintln!("error: there is no formatter in this build");
    exit::INTERNAL
}
