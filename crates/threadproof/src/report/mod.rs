//! Reports: text and a web page for people, JSON for programs.
//!
//! In: the board alone, at any moment of a run. Out: texts; each kind has a file of its own. Deliberately absent: any judgement.

pub mod ci;
mod describe;
mod headline;
pub mod heap;
pub mod history;
pub mod html;
pub mod json;
pub mod layout;
pub mod local_run;
pub mod memory_model;
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
