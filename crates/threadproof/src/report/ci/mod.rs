//! Reports for continuous integration: what is to be mended, as one list, in the formats that such services read.
//!
//! In: the board's record. Out: `CiFinding`s, which `sarif` and `github` print; `junit` prints every property. A finding is known again after an edit by what
//! is violated and not by its line. Deliberately absent: what is safe, except in `junit`.

pub mod github;
pub mod junit;
pub mod sarif;

use super::undecided;
use crate::baseline::{Baseline, FindingKey};
use crate::board::{FileRows, MethodStage, PropertyRow, RowOutcome, RunRecord};
use crate::judge::FindingEvidence;
use crate::place::Place;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// Something that a person should look at.
#[derive(Clone, Debug)]
pub struct CiFinding {
    pub severity: Severity,
    /// The kind of property, or the code of a warning.
    pub rule: String,
    pub message: String,
    pub place: Place,
    /// What it is known by after an edit; `None` where that has no meaning.
    pub key: Option<FindingKey>,
    pub is_known: bool,
    /// The steps of the run that goes wrong.
    pub steps: Vec<(Place, String)>,
}

/// Everything to look at, in the order of the report.
pub fn findings(record: &RunRecord) -> Vec<CiFinding> {
    let mut out = Vec::new();
    for file in &record.files {
        let whole = Place { file: file.path.display().to_string(), line: 1, column: 1 };
        let plain = |severity, rule: &str, message: String, place: Place| CiFinding {
            severity,
            rule: rule.into(),
            message,
            place,
            key: None,
            is_known: false,
            steps: Vec::new(),
        };
        for sentence in &file.internal {
            out.push(plain(Severity::Error, "internal-error", sentence.clone(), whole.clone()));
        }
        if file.stage == MethodStage::Rejected {
            for text in &file.diagnostics {
                let title = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string();
                out.push(plain(
                    Severity::Error,
                    "rejected",
                    title,
                    pictured_place(text).unwrap_or_else(|| whole.clone()),
                ));
            }
            continue;
        }
        for row in file.shown().filter(|r| file.outcome_of(r) != RowOutcome::Safe) {
            let key = file.finding_key(row);
            let is_known = record.baseline.as_ref().is_some_and(|b| b.knows(&key));
            out.push(CiFinding {
                severity: if file.outcome_of(row) == RowOutcome::Unsafe { Severity::Error } else { Severity::Warning },
                rule: row.kind.to_string(),
                message: message(file, row),
                place: row.place.clone().or_else(|| steps(row).pop().map(|(p, _)| p)).unwrap_or_else(|| whole.clone()),
                key: Some(key),
                is_known,
                steps: steps(row),
            });
        }
        for warning in &file.warnings {
            let place = warning.place.clone().unwrap_or_else(|| whole.clone());
            out.push(plain(Severity::Note, &warning.code, warning.message.clone(), place));
        }
    }
    out
}

/// Every finding of a run as a baseline.
pub fn baseline_text(record: &RunRecord) -> String {
    Baseline::of_keys(finding_keys(record)).text()
}

pub fn finding_keys(record: &RunRecord) -> Vec<FindingKey> {
    let rows = record.files.iter().flat_map(|f| f.shown().map(move |r| (f, r)));
    let found = rows.filter(|(f, r)| f.outcome_of(r) != RowOutcome::Safe);
    found.map(|(f, r)| f.finding_key(r)).collect()
}

/// What is said of a row in one text.
pub fn message(file: &FileRows, row: &PropertyRow) -> String {
    let text = if row.text.is_empty() { &row.name } else { &row.text };
    let outcome = file.outcome_of(row);
    let lead = format!("{}: `{}`", outcome.word(), text.trim_matches('`'));
    let more = match (outcome, &row.execution, row.finding.as_ref().map(|f| f.evidence())) {
        (RowOutcome::Unknown, ..) => undecided::why(file, row),
        (RowOutcome::Unsafe, Some(execution), _) => execution.sentence.clone(),
        (RowOutcome::Unsafe, None, Some(FindingEvidence::Trace { shown, .. })) => shown.summary.join("; "),
        _ => String::new(),
    };
    if more.is_empty() { lead } else { format!("{lead}: {more}") }
}

/// The places of a run, each with what happens there.
fn steps(row: &PropertyRow) -> Vec<(Place, String)> {
    let story = match (&row.execution, row.finding.as_ref().map(|f| f.evidence())) {
        (Some(execution), _) => &execution.story,
        (None, Some(FindingEvidence::Trace { shown, .. })) => shown,
        (None, _) => return Vec::new(),
    };
    let step = |(i, e): (usize, &super::story::StoryStep)| {
        let changes = e.changes(super::story::Detail::Full);
        let changes = if changes.is_empty() { changes } else { format!(" ({changes})") };
        Some((e.at.clone()?, format!("{}. thread {}: {}{changes}", i + 1, story.columns.get(e.instance)?, e.text)))
    };
    story.events.iter().enumerate().filter_map(step).collect()
}

/// The place that the picture of a diagnostic shows (` --> file:3:7`).
pub fn pictured_place(text: &str) -> Option<Place> {
    let line = text.lines().find_map(|l| l.trim_start().strip_prefix("--> "))?;
    let (rest, column) = line.trim().rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(Place { file: file.into(), line: line.parse().ok()?, column: column.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_the_place_of_a_picture_is_read_also_in_a_name_with_colons() {
        let text = "error[E0202]: there is no variable `x` here\n --> a:b.tp:3:12\n  |\n";
        assert_eq!(pictured_place(text), Some(Place { file: "a:b.tp".into(), line: 3, column: 12 }));
        assert_eq!(pictured_place("error: a.tp: no such file\n"), None);
    }
}
