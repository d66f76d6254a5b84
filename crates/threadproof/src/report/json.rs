//! The report for programs, as `docs/verdict.schema.json` describes it.
//!
//! In: the board's record. Out: one JSON document. Keys are stable; a change of their meaning changes `schema`.

use super::MEMORY_MODEL;
use crate::board::{FileRows, MethodState, Outcome, Record, Row, Stage};
use crate::judge::{Evidence, trust_level};
use serde_json::{Value, json};

pub const SCHEMA: &str = "threadproof-verdict/1";

pub fn report(record: &Record) -> String {
    let outcome = record.files.iter().map(FileRows::outcome).max().unwrap_or(Outcome::Safe);
    let document = json!({
        "schema": SCHEMA,
        "tool": { "name": "threadproof", "version": env!("CARGO_PKG_VERSION") },
        "memory_model": MEMORY_MODEL,
        "verdict": outcome.word(),
        "exit_code": record.exit_code(),
        "files": record.files.iter().map(file).collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
    text.push('\n');
    text
}

fn file(file: &FileRows) -> Value {
    let stage = match file.stage {
        Stage::Rejected => "rejected",
        Stage::Done => "done",
        Stage::Waiting | Stage::Working => "stopped",
    };
    json!({
        "file": file.path.display().to_string(),
        "stage": stage,
        "verdict": file.outcome().word(),
        "result": file.result(),
        "stopped": file.stopped,
        "internal_errors": file.internal,
        "diagnostics": file.diagnostics,
        "assumptions": file.assumptions.iter().map(assumption).collect::<Vec<_>>(),
        "properties": file.shown().map(|r| property(file, r)).collect::<Vec<_>>(),
        "methods": file.methods.iter().map(|m| {
            let (state, reason) = match &m.state {
                MethodState::Running | MethodState::Stopped => ("stopped", None),
                MethodState::Refused(why) => ("refused", Some(why.clone())),
                MethodState::Failed(why) => ("failed", Some(why.clone())),
                MethodState::Answered => ("answered", None),
            };
            json!({ "name": m.name, "state": state, "reason": reason, "statistics": steady(&m.statistics), "notes": m.notes })
        }).collect::<Vec<_>>(),
    })
}

/// The numbers that are the same in every run: speeds are not.
fn steady(statistics: &evidence::Statistics) -> evidence::Statistics {
    let steady = |name: &str| !name.ends_with("_per_second") && !name.ends_with("seconds");
    statistics.iter().filter(|(name, _)| steady(name)).map(|(name, n)| (name.clone(), *n)).collect()
}

fn assumption(a: &program::Assumption) -> Value {
    json!({ "code": a.code, "text": a.text })
}

fn property(file: &FileRows, row: &Row) -> Value {
    let found = row.finding.as_ref();
    let outcome = file.outcome_of(row);
    let method = found.map(|f| f.method());
    let statistics = file.methods.iter().find(|m| Some(m.name) == method).map(|m| m.statistics.clone());
    let mut reasons: Vec<String> =
        row.reasons.iter().map(|(m, r)| format!("{}: {r}", file.methods.get(*m).map_or("?", |m| m.name))).collect();
    match (outcome, found) {
        (Outcome::Unknown, Some(f)) if f.outcome() == Outcome::Safe => {
            reasons.push("a construct outside the model may be reached".into());
        }
        (Outcome::Unknown, _) => reasons.extend(file.stopped.clone()),
        (_, Some(f)) if !f.reason().is_empty() => reasons.push(f.reason().to_string()),
        _ => {}
    }
    let mut assumptions: Vec<program::Assumption> = found.map_or(Vec::new(), |f| f.assumptions().to_vec());
    assumptions.extend(file.assumptions.iter().cloned());
    assumptions.sort();
    assumptions.dedup();
    json!({
        "name": row.name,
        "kind": row.kind,
        "text": row.text,
        "place": row.place.as_ref().map(|p| json!({ "file": p.file, "line": p.line, "column": p.column })),
        "verdict": outcome.word(),
        "method": method,
        "trust": found.map(|f| json!({ "level": trust_level(f.trust()), "text": f.trust().to_string() })),
        "memory_model": MEMORY_MODEL,
        "assumptions": assumptions.iter().map(assumption).collect::<Vec<_>>(),
        "evidence": found.map_or(json!({ "kind": "none" }), |f| evidence(f.evidence())),
        "statistics": statistics.map(|s| steady(&s)).unwrap_or_default(),
        "reasons": reasons,
    })
}

fn evidence(evidence: &Evidence) -> Value {
    match evidence {
        Evidence::None => json!({ "kind": "none" }),
        Evidence::Certificate { form } => json!({ "kind": "certificate", "form": form }),
        Evidence::Trace { steps, shown } => json!({ "kind": "trace", "steps": steps, "shown": shown }),
    }
}
