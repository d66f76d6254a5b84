//! The source with the status of each line, and what is known to hold there.
//!
//! In: a file of the board. Out: HTML. A line is violated, undecided or proved by the properties that stand on it (the gravest leads), outside the
//! model, or not reached where a warning says so. Other lines with code are reached or not, as far as runs were tried; a line without a sign holds no
//! step. Deliberately absent: colours of the language.

use super::escaped;
use crate::board::{FileRows, RowOutcome};
use crate::coverage::LineReach;
use crate::place::Place;
use std::collections::BTreeMap;
use std::fmt::Write;

/// From the gravest to the mildest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LineStatus {
    Violated,
    Unmodelled,
    Open,
    Unreached,
    NotSeen,
    Proved,
    Reached,
}

impl LineStatus {
    fn class(self) -> &'static str {
        match self {
            LineStatus::Violated => "violated",
            LineStatus::Unmodelled => "unmodelled",
            LineStatus::Open => "open",
            LineStatus::Unreached | LineStatus::NotSeen => "unreached",
            LineStatus::Proved => "proved",
            LineStatus::Reached => "reached",
        }
    }
    /// A sign and what it means: colour alone says nothing to some readers.
    fn sign(self) -> (&'static str, &'static str) {
        match self {
            LineStatus::Violated => ("✗", "violated"),
            LineStatus::Unmodelled => ("∅", "not modelled"),
            LineStatus::Open => ("?", "undecided"),
            LineStatus::Unreached => ("–", "not reached"),
            LineStatus::NotSeen => ("–", "not reached by any run that was tried"),
            LineStatus::Proved => ("✓", "proved"),
            LineStatus::Reached => ("·", "reached, nothing is checked here"),
        }
    }
}

const ALL: [LineStatus; 6] = [
    LineStatus::Proved,
    LineStatus::Violated,
    LineStatus::Open,
    LineStatus::Unmodelled,
    LineStatus::Unreached,
    LineStatus::Reached,
];

/// Warnings that say that a line is not reached.
const UNREACHED: [&str; 3] = ["W0502", "W0505", "W0510"];

/// The id of a line on the page, where its file is listed.
pub fn anchor(index: usize, file: &FileRows, place: &Place) -> Option<String> {
    let n = file.page.as_ref()?.sources.iter().position(|(name, _)| *name == place.file)?;
    Some(format!("f{index}s{n}l{}", place.line))
}

fn statuses(file: &FileRows, name: &str) -> BTreeMap<usize, LineStatus> {
    let mut out: BTreeMap<usize, LineStatus> = BTreeMap::new();
    let mut add = |place: Option<&Place>, status: LineStatus| {
        if let Some(place) = place.filter(|p| p.file == name) {
            let entry = out.entry(place.line).or_insert(status);
            *entry = (*entry).min(status);
        }
    };
    for row in file.shown() {
        let status = match (&row.unmodelled, file.outcome_of(row)) {
            (Some(_), _) => LineStatus::Unmodelled,
            (None, RowOutcome::Unsafe) => LineStatus::Violated,
            (None, RowOutcome::Unknown) => LineStatus::Open,
            (None, RowOutcome::Safe) => LineStatus::Proved,
        };
        add(row.place.as_ref(), status);
        if let Some(place) = failing_place(row).filter(|_| status == LineStatus::Violated) {
            add(Some(place), LineStatus::Violated);
        }
    }
    for warning in file.warnings.iter().filter(|w| UNREACHED.contains(&w.code.as_str())) {
        add(warning.place.as_ref(), LineStatus::Unreached);
    }
    // Where something is checked, its verdict says more.
    for ((_, line), reach) in file.page.iter().flat_map(|p| &p.reached).filter(|((at, _), _)| at == name) {
        let status = match reach {
            LineReach::Seen => LineStatus::Reached,
            LineReach::NotSeen => LineStatus::NotSeen,
            LineReach::Never => LineStatus::Unreached,
        };
        out.entry(*line).or_insert(status);
    }
    out
}

/// Where the last step of the run is: a property of a whole C program has no place of its own.
fn failing_place(row: &crate::board::PropertyRow) -> Option<&Place> {
    match row.finding.as_ref()?.evidence() {
        crate::judge::FindingEvidence::Trace { shown, .. } => shown.events.last()?.at.as_ref(),
        _ => None,
    }
}

pub fn listing(index: usize, file: &FileRows, out: &mut String) {
    let Some(page) = &file.page else { return };
    out.push_str("<h2>Source</h2>\n<p class=\"legend\">");
    for status in ALL {
        let (sign, meaning) = status.sign();
        let _ = write!(out, "<span><b class=\"{}\">{sign}</b>{meaning}</span>", status.class());
    }
    out.push_str(
        "<span><i>italic</i> known to hold there</span> <span>a line without a sign holds no step</span></p>\n",
    );
    for (n, (name, text)) in page.sources.iter().enumerate() {
        let statuses = statuses(file, name);
        if page.sources.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escaped(name));
        }
        out.push_str("<div class=\"source\">\n");
        for (i, line) in text.lines().enumerate() {
            let number = i + 1;
            for fact in page.facts.iter().filter(|(place, _)| place.file == *name && place.line == number) {
                let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
                let _ = writeln!(
                    out,
                    "<div class=\"line\"><span></span><span></span><span class=\"fact\">{indent}{}</span></div>",
                    escaped(&fact.1)
                );
            }
            let status = statuses.get(&number);
            let (class, sign, title) = match status {
                Some(s) => (s.class(), s.sign().0, s.sign().1),
                None => ("", "", ""),
            };
            let _ = writeln!(
                out,
                "<div class=\"line {class}\" id=\"f{index}s{n}l{number}\"><span class=\"number\">{number}</span><span class=\"status\" title=\"{title}\">{sign}</span><span>{}</span></div>",
                escaped(line)
            );
        }
        out.push_str("</div>\n");
    }
}
