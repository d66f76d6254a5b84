//! Reports: text and a web page for people, JSON for programs.
//!
//! In: the board alone, at any moment of a run. Out: texts; each kind has a file of its own. Deliberately absent: any judgement.

use crate::board::FileRows;
use crate::outcome::RowOutcome;
use frontend::c::{CCheck, EVALUATION_ORDER, RACE_FREE};

pub mod ci;
mod describe;
mod headline;
pub mod heap;
pub mod history;
pub mod html;
pub mod json;
pub mod layout;
pub mod local_run;
pub mod names;
pub mod paint;
mod reading;
pub mod replayed;
mod slice;
pub mod spec_run;
pub mod story;
pub mod text;
pub mod undecided;
mod why;
pub mod witness;

/// Said with every verdict that nothing lets say more.
pub const MEMORY_MODEL: &str = "sequential consistency";
/// What verdicts on C hold for where the program has no race and all its atomics are sequentially consistent.
const C11_MODEL: &str = "C11";

/// The memory that the verdicts of a file are about.
pub(crate) fn memory_model_of(file: &FileRows) -> &'static str {
    let assumes = |code: &str| {
        let found = file.rows.iter().filter_map(|r| r.finding.as_ref());
        found.flat_map(|f| f.assumptions()).any(|a| a.code == code)
    };
    let race_free = || file.rows.iter().any(|r| CCheck::Race.owns(&r.name) && file.outcome_of(r) == RowOutcome::Safe);
    match assumes(EVALUATION_ORDER) || (assumes(RACE_FREE) && race_free()) {
        true => C11_MODEL,
        false => MEMORY_MODEL,
    }
}

/// An assumption as it stands under a memory model: of what C11 promises then, only the rest.
pub(crate) fn assumption_under(model: &str, assumption: &program::Assumption) -> program::Assumption {
    let text = "operands are evaluated left to right".to_string();
    match model == C11_MODEL && assumption.code == RACE_FREE {
        true => program::Assumption { code: EVALUATION_ORDER.into(), text },
        false => assumption.clone(),
    }
}

/// The widths that a page can have; beyond them lines are hard to read.
const PAGE_WIDTHS: std::ops::RangeInclusive<usize> = 40..=300;
/// What fits a page where there is no terminal.
const PRINTED_WIDTH: usize = 110;

/// The width of the page: what `COLUMNS` says, else the terminal's, else that of a printed page.
pub fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|c| c.parse::<usize>().ok());
    let terminal = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    match asked.or_else(terminal) {
        Some(width) => width.clamp(*PAGE_WIDTHS.start(), *PAGE_WIDTHS.end()),
        None => PRINTED_WIDTH,
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[impl AsRef<str>]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_string(),
        [most @ .., last] => {
            let most: Vec<&str> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// A number with its noun: `1 step`, `2,400 steps`.
pub fn counted(n: u64, noun: &str) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{out} {noun}{}", if n == 1 { "" } else { "s" })
}
