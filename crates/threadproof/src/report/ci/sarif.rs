//! Findings in SARIF 2.1.0, the format of static analysis that code hosts and editors read.
//!
//! In: the board's record. Out: JSON. A run that goes wrong is a code flow; what a baseline knows is marked `unchanged`. Deliberately absent: absolute addresses of
//! files: a path is as it was given.

use super::{CiFinding, Severity, findings};
use crate::board::RunRecord;
use crate::place::Place;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

pub fn sarif_log(record: &RunRecord) -> String {
    let findings = findings(record);
    let rules: BTreeSet<&str> = findings.iter().map(|f| f.rule.as_str()).collect();
    let rules: Vec<&str> = rules.into_iter().collect();
    log_of(&rules, findings.iter().map(|f| result(f, &rules, record.baseline.is_some())).collect())
}

/// The logs of several runs as that of one.
pub fn merged_logs(logs: &[Value]) -> String {
    let all = || logs.iter().filter_map(|log| log["runs"][0]["results"].as_array()).flatten();
    let rules: BTreeSet<&str> = all().filter_map(|r| r["ruleId"].as_str()).collect();
    let rules: Vec<&str> = rules.into_iter().collect();
    let mut results: Vec<Value> = all().cloned().collect();
    for result in &mut results {
        result["ruleIndex"] = json!(rules.iter().position(|r| result["ruleId"] == **r));
    }
    log_of(&rules, results)
}

fn log_of(rules: &[&str], results: Vec<Value>) -> String {
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "threadproof",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|r| json!({ "id": r, "shortDescription": { "text": described(r) } })).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&document).map_or_else(|e| e.to_string(), |text| text + "\n")
}

/// What a rule looks for.
fn described(rule: &str) -> String {
    match rule {
        "assertion" => "an assertion holds whenever it is reached".into(),
        "race" => "no two threads access a location at once, one of them writing".into(),
        "deadlock" => "some thread can always move until all have ended".into(),
        "linearizable" => "every history of the object is explained by an order of its calls".into(),
        "rejected" => "the input can be read".into(),
        "unmodelled" => "no construct outside the model is reached".into(),
        other => format!("threadproof {other}"),
    }
}

fn result(finding: &CiFinding, rules: &[&str], compared: bool) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut out = json!({
        "ruleId": finding.rule,
        "ruleIndex": rules.iter().position(|r| *r == finding.rule),
        "level": level,
        "message": { "text": finding.message },
        "locations": [location(&finding.place, None)],
    });
    if let Some(key) = &finding.key {
        let text = format!("{}\n{}\n{}\n{}", key.file, key.kind, key.text, key.occurrence);
        let digest: String = Sha256::digest(text.as_bytes()).iter().take(16).map(|b| format!("{b:02x}")).collect();
        out["partialFingerprints"] = json!({ "threadproof/v1": digest });
        if compared {
            out["baselineState"] = json!(if finding.is_known { "unchanged" } else { "new" });
        }
    }
    if !finding.steps.is_empty() {
        let steps: Vec<Value> =
            finding.steps.iter().map(|(place, text)| json!({ "location": location(place, Some(text)) })).collect();
        out["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    out
}

fn location(place: &Place, text: Option<&str>) -> Value {
    let mut out = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&place.file) },
            "region": { "startLine": place.line, "startColumn": place.column },
        },
    });
    if let Some(text) = text {
        out["message"] = json!({ "text": text });
    }
    out
}

/// A path as a reference: what has a meaning there is escaped.
fn uri(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~/".contains(&b);
    path.bytes().map(|b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_paths_are_references() {
        assert_eq!(uri("src/a b#1.tp"), "src/a%20b%231.tp");
    }
}
