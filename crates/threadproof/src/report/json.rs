//! The report for programs, as `docs/verdict.schema.json` describes it.
//!
//! In: the board's record. Out: one JSON document. Keys are stable; a change of their meaning changes `schema`.

use super::memory_model::{MEMORY_MODEL, assumption_under, memory_model_of};
use super::story::{Relevance, StepChange, Story};
use crate::board::{
    CrossExamination, FileRows, MethodStage, MethodState, PropertyRow, RowOutcome, RowWarning, RunRecord, SearchExtent,
    SourceReplay,
};
use crate::judge::{FindingEvidence, trust_level};
use crate::place::Place;
use serde_json::{Value, json};

pub const SCHEMA: &str = "threadproof-verdict/2";

/// The memory that all verdicts are about.
fn memory_of_all(record: &RunRecord) -> &'static str {
    let mut models = record.files.iter().map(memory_model_of);
    let first = models.next().unwrap_or(MEMORY_MODEL);
    if models.all(|m| m == first) { first } else { MEMORY_MODEL }
}

pub fn json_report(record: &RunRecord) -> String {
    let outcome = record.files.iter().map(FileRows::outcome).max().unwrap_or(RowOutcome::Safe);
    let document = json!({
        "schema": SCHEMA,
        "tool": { "name": "threadproof", "version": env!("CARGO_PKG_VERSION") },
        "memory_model": memory_of_all(record),
        "verdict": outcome.word(),
        "exit_code": record.exit_code(),
        "files": record.files.iter().map(file).collect::<Vec<_>>(),
    });
    printed(&document)
}

fn printed(document: &Value) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
    text.push('\n');
    text
}

/// The reports of several runs as that of one.
pub fn merged_reports(reports: &[Value], exit_code: i32) -> String {
    let models: Vec<&Value> = reports.iter().map(|r| &r["memory_model"]).collect();
    let model = models.first().filter(|m| models.iter().all(|other| other == *m));
    let verdicts = [RowOutcome::Unsafe, RowOutcome::Unknown].map(RowOutcome::word);
    let gravest = verdicts.into_iter().find(|word| reports.iter().any(|r| r["verdict"] == *word));
    let files: Vec<&Value> = reports.iter().filter_map(|r| r["files"].as_array()).flatten().collect();
    printed(&json!({
        "schema": SCHEMA,
        "tool": { "name": "threadproof", "version": env!("CARGO_PKG_VERSION") },
        "memory_model": model.map_or_else(|| json!(MEMORY_MODEL), |m| (*m).clone()),
        "verdict": gravest.unwrap_or(RowOutcome::Safe.word()),
        "exit_code": exit_code,
        "files": files,
    }))
}

fn file(file: &FileRows) -> Value {
    let stage = match file.stage {
        MethodStage::Rejected => "rejected",
        MethodStage::Done => "done",
        MethodStage::Waiting | MethodStage::Working => "stopped",
    };
    json!({
        "file": file.path.display().to_string(),
        "stage": stage,
        "verdict": file.outcome().word(),
        "result": file.result(),
        "stopped": file.stopped,
        "internal_errors": file.internal,
        "diagnostics": file.diagnostics,
        "warnings": file.warnings.iter().map(warning).collect::<Vec<_>>(),
        "not_checked": file.not_checked,
        "obstacles": file.obstacles.iter().map(|(at, why)| json!({
            "file": at.file, "line": at.line, "column": at.column, "what": why,
        })).collect::<Vec<_>>(),
        "coverage": file.coverage.as_ref().map(|c| json!({
            "executions": c.executions,
            "lines": c.lines,
            "not_reached": c.missed,
        })),
        "assumptions": file.assumptions.iter().map(assumption).collect::<Vec<_>>(),
        "properties": file.shown().map(|r| property(file, r)).collect::<Vec<_>>(),
        "methods": file.methods.iter().map(|m| {
            let (state, reason) = match &m.state {
                MethodState::Running | MethodState::Stopped => ("stopped", None),
                MethodState::Refused(why) => ("refused", Some(why.clone())),
                MethodState::Failed(why) => ("failed", Some(why.clone())),
                MethodState::Answered => ("answered", None),
                MethodState::NotNeeded => ("not-needed", None),
            };
            json!({ "name": m.name, "state": state, "reason": reason, "statistics": steady(&m.statistics), "notes": m.notes })
        }).collect::<Vec<_>>(),
    })
}

/// The numbers that are the same in every run: speeds are not, nor what depends on the number of workers.
fn steady(statistics: &evidence::Statistics) -> evidence::Statistics {
    let varies =
        |name: &str| name.ends_with("_per_second") || name.ends_with("seconds") || matches!(name, "bytes" | "runs");
    let steady = |name: &str| !varies(name);
    statistics.iter().filter(|(name, _)| steady(name)).map(|(name, n)| (name.clone(), *n)).collect()
}

fn warning(w: &RowWarning) -> Value {
    json!({ "code": w.code, "message": w.message, "place": w.place.as_ref().map(place) })
}

fn place(p: &Place) -> Value {
    json!({ "file": p.file, "line": p.line, "column": p.column })
}

fn assumption(a: &program::Assumption) -> Value {
    json!({ "code": a.code, "text": a.text })
}

fn property(file: &FileRows, row: &PropertyRow) -> Value {
    let found = row.finding.as_ref();
    let outcome = file.outcome_of(row);
    let method = found.map(|f| f.method());
    let statistics = file.methods.iter().find(|m| Some(m.name) == method).map(|m| m.statistics.clone());
    let mut reasons: Vec<String> =
        row.reasons.iter().map(|(m, r)| format!("{}: {r}", file.methods.get(*m).map_or("?", |m| m.name))).collect();
    match (outcome, found) {
        (RowOutcome::Unknown, Some(f)) if f.outcome() == RowOutcome::Safe => {
            reasons.push("a construct outside the model may be reached".into());
        }
        (RowOutcome::Unknown, _) => reasons.extend(file.stopped.clone()),
        (_, Some(f)) if !f.reason().is_empty() => reasons.push(f.reason().to_string()),
        _ => {}
    }
    let model = memory_model_of(file);
    let of_verdict = found.into_iter().flat_map(|f| f.assumptions());
    let mut assumptions: Vec<program::Assumption> = of_verdict.map(|a| assumption_under(model, a)).collect();
    assumptions.extend(file.assumptions.iter().map(|a| assumption_under(model, a)));
    assumptions.sort();
    assumptions.dedup();
    json!({
        "name": row.name,
        "kind": row.kind,
        "text": row.text,
        "place": row.place.as_ref().map(place),
        "verdict": outcome.word(),
        "method": method,
        "trust": found.map(|f| json!({ "level": trust_level(f.trust()), "text": f.trust().to_string() })),
        "memory_model": model,
        "assumptions": assumptions.iter().map(assumption).collect::<Vec<_>>(),
        "second_opinion": row.second.as_ref().map(second),
        "replay": row.replay.as_ref().map(replay),
        "evidence": match (&row.execution, found) {
            (Some(e), found) if found.is_none_or(|f| f.outcome() != RowOutcome::Unsafe) => {
                json!({
                    "kind": "execution", "seed": e.seed, "steps": e.steps, "summary": [e.sentence], "shown": e.shown, "run": run(&e.story),
                })
            }
            (_, Some(found)) => evidence(found.evidence()),
            (_, None) => json!({ "kind": "none" }),
        },
        "statistics": statistics.map(|s| steady(&s)).unwrap_or_default(),
        "reasons": reasons,
    })
}

fn second(opinion: &CrossExamination) -> Value {
    let extent = match opinion.extent {
        SearchExtent::Whole => "whole",
        SearchExtent::Part => "part",
        SearchExtent::PartUnreduced => "part-unreduced",
        SearchExtent::WholeUnreduced => "whole-unreduced",
        SearchExtent::Callers => "callers",
        SearchExtent::CallersPart => "callers-part",
        SearchExtent::Histories => "histories",
        SearchExtent::Cut => "cut",
    };
    json!({ "extent": extent, "instances": opinion.instances, "states": opinion.reproducible_states(), "text": opinion.to_string() })
}

fn replay(replay: &SourceReplay) -> Value {
    let seed = match replay {
        SourceReplay::Seen { seed, .. } => Some(*seed),
        SourceReplay::NotSeen { .. } => None,
    };
    json!({ "level": "C", "seen": seed.is_some(), "seed": seed, "text": replay.to_string() })
}

fn evidence(evidence: &FindingEvidence) -> Value {
    match evidence {
        FindingEvidence::None => json!({ "kind": "none" }),
        FindingEvidence::Certificate { form } => json!({ "kind": "certificate", "form": form }),
        FindingEvidence::Trace { steps, shown } => {
            json!({ "kind": "trace", "steps": steps, "summary": shown.summary, "run": run(shown) })
        }
    }
}

/// A run with everything that is known of each step.
fn run(story: &Story) -> Value {
    let matters = |r: &Relevance| *r == Relevance::Matters;
    let change = |(c, relevance): &(StepChange, Relevance)| {
        let mut out = match c {
            StepChange::Value { name, before, after } => {
                json!({ "kind": "value", "name": name, "before": before, "after": after })
            }
            StepChange::Decided { name, value } => json!({ "kind": "decided", "name": name, "after": value }),
            StepChange::Reads { name, value } => json!({ "kind": "reads", "name": name, "after": value }),
            StepChange::Note(text) => json!({ "kind": "note", "text": text }),
        };
        out["matters"] = matters(relevance).into();
        out
    };
    json!({
        "threads": story.columns,
        "start": story.start.iter().map(|v| json!({
            "name": v.name, "value": v.value, "matters": matters(&v.matters)
        })).collect::<Vec<_>>(),
        "steps": story.events.iter().enumerate().map(|(i, e)| json!({
            "number": i + 1,
            "thread": e.instance,
            "place": e.at.as_ref().map(place),
            "text": e.text,
            "changes": e.changes.iter().map(change).collect::<Vec<_>>(),
            "heap": e.heap.as_ref().map(|(_, after)| after.lines()),
            "matters": matters(&e.matters),
        })).collect::<Vec<_>>(),
        "end": story.end,
    })
}
