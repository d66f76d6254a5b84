//! Verdicts of a saved file: `verify` runs as a process of its own, and what it says becomes diagnostics.
//!
//! In: a path and the text that was saved. Out: `SavedVerdicts`: diagnostics at lines, a text for each line, and facts that can be inserted. A newer save ends the
//! process of the older. Deliberately absent: any verdict that `verify --json` does not give.

use super::protocol::{Mark, MarkedText};
use super::text::range_at;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// How long one save may take.
const TIME_LIMIT: &str = "60s";

/// What is known of a file as it was saved.
#[derive(Clone, Debug, Default)]
pub struct SavedVerdicts {
    pub diagnostics: Vec<MarkedText>,
    /// For a line (from 1), what is to be said of it.
    pub notes: Vec<(usize, String)>,
    /// `invariant` and `rely` declarations that a proof found.
    pub inferred: Vec<String>,
}

/// The process at work, so that a newer save can end it.
#[derive(Clone, Default)]
pub struct VerifierSlot(Arc<Mutex<Option<Child>>>);

/// Where what was found is kept for the next time a file is saved.
fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    Some(set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("threadproof"))
}

impl VerifierSlot {
    /// Ends the process that is at work, if there is one.
    pub fn stop(&self) {
        if let Some(mut child) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Verifies a file; `None` where the work was ended or gave no report.
    pub fn verify(&self, path: &Path, text: &str) -> Option<SavedVerdicts> {
        let program = std::env::current_exe().ok()?;
        let mut child = Command::new(program)
            .arg("verify")
            .arg(path)
            .args(["--json", "--time", TIME_LIMIT])
            .args(cache_folder().iter().flat_map(|folder| [OsString::from("--cache"), folder.into()]))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut out = child.stdout.take()?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        let mut report = Vec::new();
        std::io::Read::read_to_end(&mut out, &mut report).ok()?;
        if let Some(mut child) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = child.wait();
        }
        let report: Value = serde_json::from_slice(&report).ok()?;
        Some(read_report(&report, text))
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// What a report says of its first file.
pub fn read_report(report: &Value, text: &str) -> SavedVerdicts {
    let mut out = SavedVerdicts::default();
    let file = &report["files"][0];
    let own = string(&file["file"]);
    let line_of = |place: &Value| {
        place["line"].as_u64().map_or((1, 1), |l| (l as usize, place["column"].as_u64().unwrap_or(1) as usize))
    };
    let lists = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for property in lists(&file["properties"]) {
        let verdict = string(&property["verdict"]);
        let steps = lists(&property["evidence"]["run"]["steps"]);
        let ending = steps.last().map_or(Value::Null, |s| s["place"].clone());
        let place = if property["place"].is_null() { ending } else { property["place"].clone() };
        if place["file"].as_str().is_some_and(|f| f != own) {
            continue;
        }
        let (line, column) = line_of(&place);
        let summary: Vec<String> = lists(&property["evidence"]["summary"]).iter().map(string).collect();
        let reasons: Vec<String> = lists(&property["reasons"]).iter().map(string).collect();
        let name = string(&property["name"]);
        let trust = string(&property["trust"]["text"]);
        let method = string(&property["method"]);
        let more = match verdict.as_str() {
            "unsafe" => summary.join("\n"),
            "unknown" => reasons.first().cloned().unwrap_or_default(),
            _ => format!("by {method}; {trust}"),
        };
        let said = if more.is_empty() { format!("{name}: {verdict}") } else { format!("{name}: {verdict}: {more}") };
        out.notes.push((line, said.clone()));
        let severity = match verdict.as_str() {
            "unsafe" => Mark::Error,
            "unknown" => Mark::Warning,
            _ => continue,
        };
        out.diagnostics.push(diagnostic(text, (line, column), severity, string(&property["kind"]), said));
    }
    for warning in lists(&file["warnings"]) {
        let said = string(&warning["message"]);
        let severity = Mark::Information;
        out.diagnostics.push(diagnostic(text, line_of(&warning["place"]), severity, string(&warning["code"]), said));
    }
    if file["stage"] == "rejected" {
        for picture in lists(&file["diagnostics"]).iter().map(string) {
            let title = picture.lines().next().unwrap_or_default().to_string();
            let place = crate::report::ci::pictured_place(&picture).map_or((1, 1), |p| (p.line, p.column));
            out.diagnostics.push(diagnostic(text, place, Mark::Error, "rejected".into(), title));
        }
    }
    for note in lists(&file["methods"]).iter().flat_map(|m| lists(&m["notes"])).map(|n| string(&n)) {
        let lines = note
            .lines()
            .map(str::trim)
            .filter(|l| (l.starts_with("invariant ") || l.starts_with("rely ")) && l.ends_with(';'));
        out.inferred.extend(lines.map(str::to_string).filter(|l| !text.contains(l.as_str())).collect::<Vec<_>>());
    }
    out.inferred.dedup();
    out
}

fn diagnostic(text: &str, (line, column): (usize, usize), severity: Mark, code: String, message: String) -> MarkedText {
    MarkedText { range: range_at(text, line, column), severity, code, source: "threadproof", message }
}

#[cfg(test)]
mod tests {
    use super::read_report;
    use serde_json::json;

    #[test]
    fn check_what_a_proof_found_is_offered_unless_it_is_written_already() {
        let report = json!({ "files": [{
            "file": "a.tp", "stage": "done", "warnings": [], "diagnostics": [],
            "properties": [{ "name": "assert:2", "verdict": "safe", "place": { "file": "a.tp", "line": 2, "column": 3 }, "method": "rely",
                             "trust": { "text": "certificate checked" }, "evidence": {}, "reasons": [] }],
            "methods": [{ "name": "rely", "notes": ["invariant x >= 0;\nrely m == tid ==> x' == x;\nsomething else"] }],
        }] });
        let found = read_report(&report, "invariant x >= 0;\nthread T { assert true; }\n");
        assert_eq!(found.inferred, ["rely m == tid ==> x' == x;"]);
        assert_eq!(found.notes, [(2, "assert:2: safe: by rely; certificate checked".to_string())]);
        assert!(found.diagnostics.is_empty());
    }
}
