//! Every property as a test case in the XML of JUnit.
//!
//! In: the board's record. Out: XML. A file is a suite; what is unsafe is a failure, what is unknown is skipped with its reason, and an input that was
//! rejected or an internal error is an error. What a baseline knows is skipped, too. Deliberately absent: times, so that equal runs give equal bytes.

use super::message;
use crate::board::{FileRows, MethodStage, RowOutcome, RunRecord};
use std::fmt::Write;

const BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"threadproof\">\n";
const END: &str = "</testsuites>\n";

pub fn test_report(record: &RunRecord) -> String {
    let mut out = String::from(BEGIN);
    for file in &record.files {
        suite(record, file, &mut out);
    }
    out + END
}

/// The reports of several runs as that of one.
pub fn merged_reports<'a>(reports: impl Iterator<Item = &'a str>) -> String {
    let suites = reports.map(|r| r.strip_prefix(BEGIN).and_then(|r| r.strip_suffix(END)).unwrap_or_default());
    format!("{BEGIN}{}{END}", suites.collect::<String>())
}

fn suite(record: &RunRecord, file: &FileRows, out: &mut String) {
    let mut cases: Vec<(String, Option<(&str, String)>)> = Vec::new();
    for sentence in &file.internal {
        cases.push(("internal".into(), Some(("error", sentence.clone()))));
    }
    if file.stage == MethodStage::Rejected {
        cases.push(("read".into(), Some(("error", file.diagnostics.concat()))));
    }
    for row in file.shown() {
        let is_known = record.baseline.as_ref().is_some_and(|b| b.knows(&file.finding_key(row)));
        let result = match file.outcome_of(row) {
            RowOutcome::Safe => None,
            RowOutcome::Unsafe if !is_known => Some(("failure", message(file, row))),
            RowOutcome::Unsafe => Some(("skipped", format!("known: {}", message(file, row)))),
            RowOutcome::Unknown => Some(("skipped", message(file, row))),
        };
        cases.push((row.name.clone(), result));
    }
    let count = |kind: &str| cases.iter().filter(|(_, r)| r.as_ref().is_some_and(|(k, _)| *k == kind)).count();
    let path = escaped(&file.path.display().to_string());
    let _ = writeln!(
        out,
        "  <testsuite name=\"{path}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
        cases.len(),
        count("failure"),
        count("error"),
        count("skipped")
    );
    for (name, result) in &cases {
        let case = format!("    <testcase classname=\"{path}\" name=\"{}\"", escaped(name));
        let _ = match result {
            None => writeln!(out, "{case}/>"),
            Some((kind, text)) => {
                let first = escaped(text.lines().next().unwrap_or_default());
                writeln!(out, "{case}><{kind} message=\"{first}\">{}</{kind}></testcase>", escaped(text))
            }
        };
    }
    out.push_str("  </testsuite>\n");
}

/// Text as XML 1.0 allows it: control characters have no place there.
fn escaped(text: &str) -> String {
    let allowed: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    super::super::html::escaped(&allowed).replace('\n', "&#10;")
}
