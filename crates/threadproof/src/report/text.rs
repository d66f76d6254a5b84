//! The report for people: the verdict first, then why, then what to do next.
//!
//! In: the board's record. Out: text. One property gets a paragraph; several get a table, and paragraphs for what
//! is unsafe or unknown. Deliberately absent: times and memory, so that equal runs give equal bytes.

use super::MEMORY_MODEL;
use super::paint::Paint;
use crate::board::{FileRows, MethodState, Outcome, Record, Row, Stage};
use crate::judge::Evidence;
use evidence::file::Entry;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Paragraphs for single properties of one file, at most.
const PARAGRAPHS: usize = 12;

pub fn report(record: &Record, paint: Paint) -> String {
    let mut out = String::new();
    for (index, file) in record.files.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        file_report(file, paint, &mut out);
    }
    if record.files.len() > 1 {
        summary(record, paint, &mut out);
    }
    out
}

fn summary(record: &Record, paint: Paint, out: &mut String) {
    let of = |o: Outcome| {
        record.files.iter().filter(|f| f.stage != Stage::Rejected && f.internal.is_empty() && f.outcome() == o).count()
    };
    let rejected = record.files.iter().filter(|f| f.stage == Stage::Rejected).count();
    let mut parts = Vec::new();
    for outcome in [Outcome::Unsafe, Outcome::Unknown, Outcome::Safe] {
        if of(outcome) > 0 {
            parts.push(paint.outcome(outcome, &format!("{} {}", of(outcome), outcome.word())));
        }
    }
    if rejected > 0 {
        parts.push(paint.alarm(&format!("{rejected} rejected")));
    }
    let _ = writeln!(out, "\n{} files: {}", record.files.len(), parts.join(", "));
}

fn file_report(file: &FileRows, paint: Paint, out: &mut String) {
    let path = file.path.display();
    for sentence in &file.internal {
        let _ = writeln!(out, "{} {sentence}", paint.alarm(&format!("{path}: internal error:")));
        let _ = writeln!(out, "  Please report this, with the program: a verdict of this run is not to be trusted.");
    }
    if file.stage == Stage::Rejected {
        let _ = writeln!(out, "{}", paint.alarm(&format!("{path}: rejected")));
        for text in &file.diagnostics {
            out.push_str(text);
        }
        return;
    }
    let outcome = file.outcome();
    let shown: Vec<&Row> = file.shown().collect();
    let verdict = paint.outcome(outcome, outcome.word());
    match shown.as_slice() {
        [] if file.rows.is_empty() && file.stopped.is_none() => {
            let _ =
                writeln!(out, "{} nothing to verify: the program states no property", paint.bold(&format!("{path}:")));
        }
        [] if file.rows.is_empty() => {
            // Ended before there were any properties.
            let why = file.stopped.as_deref().unwrap_or_default();
            let title = paint.bold(&format!("{path}:"));
            let _ = writeln!(out, "{title} {verdict}: {why} while the program was read and translated");
        }
        [one] => {
            let _ = writeln!(out, "{} {verdict}: {}{}", paint.bold(&format!("{path}:")), title(one), at(one));
            paragraph(file, one, paint, out);
        }
        _ => {
            let counts: Vec<String> = [Outcome::Unsafe, Outcome::Unknown, Outcome::Safe]
                .iter()
                .filter(|o| file.count(**o) > 0)
                .map(|o| format!("{} {}", file.count(*o), o.word()))
                .collect();
            let _ = writeln!(out, "{} {verdict} ({})", paint.bold(&format!("{path}:")), counts.join(", "));
            table(file, &shown, paint, out);
            paragraphs(file, &shown, paint, out);
        }
    }
    if let Some(result) = file.result() {
        let _ = writeln!(out, "  result: {result}");
    }
    for text in &file.diagnostics {
        out.push_str(text);
    }
    for method in &file.methods {
        // What a method found on the way matters where its claim is the verdict.
        let used = shown.iter().any(|r| r.finding.as_ref().is_some_and(|f| f.method() == method.name));
        if used && !method.notes.is_empty() {
            let _ = writeln!(out, "  {} found:", method.name);
            for line in method.notes.iter().flat_map(|n| n.lines()) {
                let _ = writeln!(out, "    {line}");
            }
        }
    }
    taken_for_granted(file, &shown, paint, out);
    if outcome == Outcome::Unknown {
        method_states(file, paint, out);
    }
    next(file, outcome, paint, out);
}

fn title(row: &Row) -> String {
    if row.text.is_empty() { row.name.clone() } else { format!("{} `{}`", row.name, row.text.trim_matches('`')) }
}

fn place(row: &Row) -> String {
    row.place.as_ref().map_or(String::new(), |p| format!("{}:{}", p.line, p.column))
}

fn table(file: &FileRows, shown: &[&Row], paint: Paint, out: &mut String) {
    let lines: Vec<[String; 5]> = shown
        .iter()
        .map(|row| {
            let found = row.finding.as_ref();
            [
                file.outcome_of(row).word().to_string(),
                row.name.clone(),
                place(row),
                found.map_or(String::new(), |f| f.method().to_string()),
                found.map_or(String::new(), |f| f.trust().to_string()),
            ]
        })
        .collect();
    let heads = ["verdict", "property", "line", "method", "trust"];
    let mut widths = heads.map(str::len);
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let pad = |text: &str, width: usize| format!("{text}{}", " ".repeat(width.saturating_sub(text.chars().count())));
    let head: Vec<String> = heads.iter().zip(widths).map(|(h, w)| pad(h, w)).collect();
    let _ = writeln!(out, "  {}", paint.faint(head.join("  ").trim_end()));
    for (line, row) in lines.iter().zip(shown) {
        let rest: Vec<String> = line[1..].iter().zip(&widths[1..]).map(|(c, w)| pad(c, *w)).collect();
        let word = paint.outcome(file.outcome_of(row), &pad(&line[0], widths[0]));
        let _ = writeln!(out, "  {word}  {}", rest.join("  ").trim_end());
    }
}

fn paragraphs(file: &FileRows, shown: &[&Row], paint: Paint, out: &mut String) {
    // Properties that are unknown for the same reasons are told together.
    let mut told: Vec<(Outcome, Vec<&Row>, String)> = Vec::new();
    for row in shown.iter().filter(|r| file.outcome_of(r) != Outcome::Safe) {
        let mut why = String::new();
        paragraph(file, row, paint, &mut why);
        let outcome = file.outcome_of(row);
        match told.iter_mut().find(|(o, _, w)| *o == Outcome::Unknown && outcome == *o && *w == why) {
            Some((_, rows, _)) => rows.push(row),
            None => told.push((outcome, vec![row], why)),
        }
    }
    for (outcome, rows, why) in told.iter().take(PARAGRAPHS) {
        let word = paint.outcome(*outcome, &format!("{}:", outcome.word()));
        match rows.as_slice() {
            [one] => {
                let _ = writeln!(out, "\n{word} {}{}", title(one), at(one));
            }
            many => {
                let names: Vec<&str> = many.iter().map(|r| r.name.as_str()).collect();
                let _ = writeln!(out, "\n{word} {}", names.join(", "));
            }
        }
        out.push_str(why);
    }
    if told.len() > PARAGRAPHS {
        let _ = writeln!(out, "\n  and {} more; --property NAME shows one of them", told.len() - PARAGRAPHS);
    }
    if !told.is_empty() {
        out.push('\n');
    }
}

fn at(row: &Row) -> String {
    row.place.as_ref().map_or(String::new(), |p| format!(" at {}:{}:{}", p.file, p.line, p.column))
}

/// Why the verdict is what it is.
fn paragraph(file: &FileRows, row: &Row, paint: Paint, out: &mut String) {
    match (file.outcome_of(row), &row.finding) {
        (Outcome::Unknown, Some(found)) if found.outcome() == Outcome::Safe => {
            let blocked = file.open_construct().map_or(String::new(), describe_construct);
            let _ = writeln!(out, "  a proof by {} was checked, but it does not count: {blocked}", found.method());
        }
        (Outcome::Unknown, _) => unknown_reasons(file, row, out),
        (_, Some(found)) => {
            match found.evidence() {
                Evidence::Certificate { form } => {
                    let _ = writeln!(out, "  proved by {}; the certificate ({form}) was checked", found.method());
                }
                Evidence::Trace { steps, shown } => {
                    let count = if *steps == 1 { "1 step".into() } else { format!("{steps} steps") };
                    let _ =
                        writeln!(out, "  {} found a run of {count} that goes wrong; it was replayed:", found.method());
                    for line in shown {
                        let _ = writeln!(out, "    {line}");
                    }
                }
                Evidence::None => {}
            }
            if !found.reason().is_empty() {
                let _ = writeln!(out, "  {}", found.reason());
            }
            let _ = writeln!(out, "  {} {}", paint.faint("trust:"), found.trust());
        }
        (_, None) => {}
    }
}

fn describe_construct(row: &Row) -> String {
    let what = row.unmodelled.clone().unwrap_or_default();
    format!("{what}{} is outside the model and may be reached", at(row))
}

fn unknown_reasons(file: &FileRows, row: &Row, out: &mut String) {
    if row.unmodelled.is_some() {
        let _ = writeln!(out, "  {}; nothing is \"safe\" until it is shown not to be reached", describe_construct(row));
    }
    for (method, reason) in &row.reasons {
        let name = file.methods.get(*method).map_or("?", |m| m.name);
        let mut lines = reason.lines();
        let _ = writeln!(out, "  {name}: {}", lines.next().unwrap_or_default());
        lines.for_each(|line| {
            let _ = writeln!(out, "    {line}");
        });
    }
    if let Some(stopped) = file.stopped.as_ref().filter(|s| !row.reasons.iter().any(|(_, r)| r == *s)) {
        let _ = writeln!(out, "  {stopped}");
    } else if row.reasons.is_empty() && row.unmodelled.is_none() {
        let _ = writeln!(out, "  no method decided it");
    }
}

fn method_states(file: &FileRows, paint: Paint, out: &mut String) {
    for method in &file.methods {
        let line = match &method.state {
            MethodState::Refused(why) => format!("{} does not take this program: {why}", method.name),
            MethodState::Failed(why) => format!("{} failed: {why}", method.name),
            MethodState::Stopped => format!("{} was still working", method.name),
            MethodState::Running | MethodState::Answered => continue,
        };
        let _ = writeln!(out, "  {}", paint.faint(&line));
    }
}

/// The memory model and the assumptions of all verdicts of the file.
fn taken_for_granted(file: &FileRows, shown: &[&Row], paint: Paint, out: &mut String) {
    let mut lines: BTreeSet<(String, String)> = BTreeSet::new();
    for row in shown.iter().filter(|r| file.outcome_of(r) != Outcome::Unknown) {
        if let Some(found) = &row.finding {
            lines.extend(found.assumptions().iter().map(|a| (a.code.clone(), a.text.clone())));
        }
    }
    lines.extend(file.assumptions.iter().map(|a| (a.code.clone(), a.text.clone())));
    lines.retain(|(code, _)| code != "sequential-consistency");
    let _ = writeln!(out, "  {} {MEMORY_MODEL}", paint.faint("memory model:"));
    for (code, text) in lines {
        let _ = writeln!(out, "  {} {text} [{code}]", paint.faint("assumes:"));
    }
}

fn next(file: &FileRows, outcome: Outcome, paint: Paint, out: &mut String) {
    let path = file.path.display();
    let mut advice: Vec<String> = Vec::new();
    match outcome {
        Outcome::Safe => {
            if file.rows.iter().any(|r| r.finding.is_some()) {
                advice.push(format!("keep the proof: threadproof verify {path} --certificate proof.json"));
            }
        }
        Outcome::Unsafe => {
            let keep = format!("threadproof verify {path} --trace run.json");
            match file.entries.iter().find(|e| !matches!(e, Entry::Certificate(_))) {
                Some(Entry::Trace { .. } | Entry::History { .. } | Entry::Called { .. }) => {
                    advice.push(format!("walk through it: {keep}; threadproof simulate {path} --trace run.json"));
                }
                // A run of one thread or procedure alone.
                Some(Entry::Local { .. } | Entry::Stray { .. }) => {
                    advice.push(format!("keep it: {keep}; threadproof audit run.json {path} replays it"));
                }
                Some(Entry::Certificate(_)) | None => {}
            }
        }
        Outcome::Unknown => {
            let said = |words: &str| {
                file.stopped.as_deref().is_some_and(|s| s.contains(words))
                    || file.rows.iter().flat_map(|r| &r.reasons).any(|(_, r)| r.contains(words))
            };
            if said("time limit") {
                advice.push("give it more time: --time 30m".into());
            }
            if said("memory limit") {
                advice.push("give it more memory: --memory 8G".into());
            }
            if file.parametric {
                advice.push("look for a bug in a small instance: --threads THREAD=3 (a proof for three says nothing about four)".into());
            }
            if let Some(row) = file.open_construct() {
                advice.push(format!("the construct that is not modelled: {}", describe_construct(row)));
            } else {
                advice.push("help a proof with an `invariant` or a `rely`; see docs/language.md".into());
            }
        }
    }
    for line in advice {
        let _ = writeln!(out, "  {} {line}", paint.faint("next:"));
    }
}
