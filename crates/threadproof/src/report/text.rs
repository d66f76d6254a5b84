//! The report for people: the verdict first, then why, then what to do next.
//!
//! In: the board's record. Out: text. One property gets a paragraph; several get a table, and paragraphs for what
//! is unsafe or unknown. Deliberately absent: times and memory, so that equal runs give equal bytes.

use super::ci::Severity;
use super::layout::wrap_text;
use super::memory_model::{assumption_under, memory_model_of};
use super::paint::Paint;
use super::story::Detail;
use super::undecided;
use crate::board::{
    FileRows, MethodStage, MethodState, PropertyRow, RowOutcome, RunRecord, SearchExtent, SourceReplay,
};
use crate::judge::FindingEvidence;
use evidence::Counterexample;
use evidence::file::EvidenceEntry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How a page is printed.
#[derive(Clone, Copy)]
struct Page {
    paint: Paint,
    detail: Detail,
    width: usize,
}

/// Rows of a table that are shown one by one; where there are more, those that are safe for the same reason share a line.
const MAX_TABLE_ROWS: usize = 12;
/// Columns that a text about trust needs beside the others, and where it begins below them.
const MIN_TRUST_WIDTH: usize = 24;
const TRUST_INDENT: usize = 6;

/// Paragraphs for single properties of one file, at most.
const MAX_PARAGRAPHS: usize = 12;

pub fn text_report(record: &RunRecord, paint: Paint, detail: Detail) -> String {
    let page = Page { paint, detail, width: super::width() };
    let mut out = String::new();
    for (index, file) in record.files.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        file_report(file, page, &mut out);
    }
    if record.files.len() > 1 {
        out.push_str(&RunCounts::of(record).summary(paint));
    }
    out.push_str(&RunCounts::of(record).of_baseline());
    out
}

/// How many files ended how, and how many findings a baseline knows: the last lines of a report.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct RunCounts {
    files: u64,
    unsafe_files: u64,
    unknown: u64,
    safe: u64,
    rejected: u64,
    /// Findings that a baseline knows, and those that are new; `None` where there is none.
    known_and_new: Option<(u64, u64)>,
}

impl RunCounts {
    pub fn of(record: &RunRecord) -> Self {
        let of = |o: RowOutcome| {
            let counts = |f: &&FileRows| f.stage != MethodStage::Rejected && f.internal.is_empty() && f.outcome() == o;
            record.files.iter().filter(counts).count() as u64
        };
        let known_and_new = record.baseline.is_some().then(|| {
            let findings = super::ci::findings(record);
            let counted =
                |known: bool| findings.iter().filter(|f| f.key.is_some() && f.is_known == known).count() as u64;
            (counted(true), counted(false))
        });
        Self {
            files: record.files.len() as u64,
            unsafe_files: of(RowOutcome::Unsafe),
            unknown: of(RowOutcome::Unknown),
            safe: of(RowOutcome::Safe),
            rejected: record.files.iter().filter(|f| f.stage == MethodStage::Rejected).count() as u64,
            known_and_new,
        }
    }

    /// Of both runs together.
    pub fn and(self, other: Self) -> Self {
        let pairs = self.known_and_new.into_iter().chain(other.known_and_new);
        Self {
            files: self.files + other.files,
            unsafe_files: self.unsafe_files + other.unsafe_files,
            unknown: self.unknown + other.unknown,
            safe: self.safe + other.safe,
            rejected: self.rejected + other.rejected,
            known_and_new: pairs.reduce(|a, b| (a.0 + b.0, a.1 + b.1)),
        }
    }

    pub fn summary(&self, paint: Paint) -> String {
        let outcomes = [
            (RowOutcome::Unsafe, self.unsafe_files),
            (RowOutcome::Unknown, self.unknown),
            (RowOutcome::Safe, self.safe),
        ];
        let counted = outcomes.into_iter().filter(|(_, n)| *n > 0);
        let mut parts: Vec<String> = counted.map(|(o, n)| paint.outcome(o, &format!("{n} {}", o.word()))).collect();
        if self.rejected > 0 {
            parts.push(paint.alarm(&format!("{} rejected", self.rejected)));
        }
        format!("\n{} files: {}\n", self.files, parts.join(", "))
    }

    pub fn of_baseline(&self) -> String {
        let Some((known, new)) = self.known_and_new else { return String::new() };
        format!("\nbaseline: {} known, {} new\n", super::counted(known, "finding"), super::counted(new, "finding"))
    }
}

/// A line for each file that is not safe, with the first of its reasons, and a summary.
pub fn quiet_report(record: &RunRecord, paint: Paint) -> String {
    let mut out = String::new();
    for finding in super::ci::findings(record).iter().filter(|f| !f.is_known && f.severity != Severity::Note) {
        let place = &finding.place;
        let _ = writeln!(out, "{}:{}:{}: {}", place.file, place.line, place.column, finding.message);
    }
    if record.files.len() > 1 {
        out.push_str(&RunCounts::of(record).summary(paint));
    }
    out.trim_start().to_string()
}

fn file_report(file: &FileRows, page: Page, out: &mut String) {
    let path = file.path.display();
    for sentence in &file.internal {
        let _ = writeln!(out, "{} {sentence}", page.paint.alarm(&format!("{path}: internal error:")));
        let _ = writeln!(out, "  Please report this, with the program: a verdict of this run is not to be trusted.");
    }
    if file.stage == MethodStage::Rejected {
        let _ = writeln!(out, "{}", page.paint.alarm(&format!("{path}: rejected")));
        for text in &file.diagnostics {
            out.push_str(text);
        }
        return;
    }
    let outcome = file.outcome();
    let shown: Vec<&PropertyRow> = file.shown().collect();
    let verdict = page.paint.outcome(outcome, outcome.word());
    match shown.as_slice() {
        [] if file.rows.is_empty() && file.stopped.is_none() => {
            let _ = writeln!(
                out,
                "{} nothing to verify: the program states no property",
                page.paint.bold(&format!("{path}:"))
            );
        }
        [] if file.rows.is_empty() => {
            // Ended before there were any properties.
            let why = file.stopped.as_deref().unwrap_or_default();
            let title = page.paint.bold(&format!("{path}:"));
            let _ = writeln!(out, "{title} {verdict}: {why} while the program was read and translated");
        }
        [one] => {
            let _ = writeln!(out, "{} {verdict}: {}{}", page.paint.bold(&format!("{path}:")), title(one), at(one));
            paragraph(file, one, page, out);
        }
        _ => {
            let counts: Vec<String> = [RowOutcome::Unsafe, RowOutcome::Unknown, RowOutcome::Safe]
                .iter()
                .filter(|o| file.count(**o) > 0)
                .map(|o| format!("{} {}", file.count(*o), o.word()))
                .collect();
            let _ = writeln!(out, "{} {verdict} ({})", page.paint.bold(&format!("{path}:")), counts.join(", "));
            // What failed comes first.
            if outcome == RowOutcome::Unsafe {
                paragraphs(file, &shown, page, out);
            }
            table(file, &shown, page, out);
            second_opinions(file, &shown, page, out);
            if outcome != RowOutcome::Unsafe {
                paragraphs(file, &shown, page, out);
            }
        }
    }
    if outcome == RowOutcome::Unknown
        && let Some(why) = &file.stopped
        && !shown.is_empty()
        && shown.iter().all(|r| file.outcome_of(r) != RowOutcome::Unknown)
    {
        let _ = writeln!(out, "  {why} before the work on this file was finished, so its verdict is left open");
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
    if let (Detail::Full, Some(parts)) = (page.detail, &file.page) {
        if !parts.views.is_empty() {
            out.push_str("  invariant of the proof:\n");
        }
        for line in &parts.views {
            let _ = writeln!(out, "    {line}");
        }
    }
    if outcome == RowOutcome::Safe && !file.not_checked.is_empty() {
        let list = file.not_checked.join(", ");
        let _ = writeln!(out, "  {} {list}; --check all asks for everything", page.paint.faint("not checked:"));
    }
    if let (false, RowOutcome::Unknown) = (file.obstacles.is_empty(), outcome) {
        let _ = writeln!(out, "  {}", page.paint.faint("further constructs outside the model:"));
        for (at, why) in &file.obstacles {
            let _ = writeln!(out, "    {}:{}:{}: {why}", at.file, at.line, at.column);
        }
    }
    if let Some(coverage) = file.coverage.as_ref().filter(|_| outcome != RowOutcome::Unsafe) {
        let (title, executions) = (page.paint.faint("not reached:"), coverage.executions);
        let _ = writeln!(out, "  {title} by any of {executions} executions: {}", coverage.text());
    }
    taken_for_granted(file, &shown, page, out);
    if outcome == RowOutcome::Unknown && page.detail == Detail::Full {
        method_states(file, page, out);
    }
    next(file, outcome, page, out);
}

fn title(row: &PropertyRow) -> String {
    if row.text.is_empty() || row.text == row.name {
        row.name.clone()
    } else {
        format!("{} `{}`", row.name, row.text.trim_matches('`'))
    }
}

fn place(row: &PropertyRow) -> String {
    row.place.as_ref().map_or(String::new(), |p| format!("{}:{}", p.line, p.column))
}

fn table(file: &FileRows, shown: &[&PropertyRow], page: Page, out: &mut String) {
    let mut lines: Vec<(RowOutcome, [String; 5], Vec<&str>)> = Vec::new();
    for row in shown {
        let (outcome, found) = (file.outcome_of(row), row.finding.as_ref());
        let method = found.map_or(String::new(), |f| f.method().to_string());
        let trust = found.map_or(String::new(), |f| f.trust().to_string());
        let joins = page.detail == Detail::Brief && shown.len() > MAX_TABLE_ROWS && outcome == RowOutcome::Safe;
        match lines.iter_mut().find(|(o, cells, _)| joins && *o == outcome && cells[3] == method && cells[4] == trust) {
            Some((_, _, names)) => names.push(&row.name),
            None => {
                let cells = [outcome.word().to_string(), row.name.clone(), place(row), method, trust];
                lines.push((outcome, cells, vec![&row.name]));
            }
        }
    }
    for (_, cells, names) in lines.iter_mut().filter(|(_, _, names)| names.len() > 1) {
        cells[1] = format!("{} and {} more", names[0], names.len() - 1);
    }
    let heads = ["verdict", "property", "line", "method", "trust"];
    let mut widths = heads.map(str::len);
    for (_, cells, _) in &lines {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let pad = |text: &str, width: usize| format!("{text}{}", " ".repeat(width.saturating_sub(text.chars().count())));
    let head: Vec<String> = heads.iter().zip(widths).map(|(h, w)| pad(h, w)).collect();
    let _ = writeln!(out, "  {}", page.paint.faint(head.join("  ").trim_end()));
    let indent = 2 + widths[..4].iter().map(|w| w + 2).sum::<usize>();
    for (outcome, cells, _) in &lines {
        let word = page.paint.outcome(*outcome, &pad(&cells[0], widths[0]));
        let rest: Vec<String> = cells[1..4].iter().zip(&widths[1..4]).map(|(c, w)| pad(c, *w)).collect();
        // Where there is no room beside the other columns, what a verdict rests on stands below them.
        let (room, below) = match page.width.saturating_sub(indent) {
            room if room >= MIN_TRUST_WIDTH => (room, indent),
            _ => (page.width.saturating_sub(TRUST_INDENT), TRUST_INDENT),
        };
        let trust = wrap_text(&cells[4], room);
        let beside = if below == indent { trust.first().map_or("", String::as_str) } else { "" };
        let _ = writeln!(out, "{}", format!("  {word}  {}  {beside}", rest.join("  ")).trim_end());
        for line in trust.iter().skip(usize::from(below == indent)) {
            let _ = writeln!(out, "{}{line}", " ".repeat(below));
        }
    }
    if lines.len() < shown.len() {
        let _ = writeln!(out, "  {}", page.paint.faint("(-v shows each property in a line of its own)"));
    }
}

/// What an independent search says about the safe ones, each sentence once.
fn second_opinions(file: &FileRows, shown: &[&PropertyRow], page: Page, out: &mut String) {
    let mut sentences: Vec<(String, Vec<&str>)> = Vec::new();
    let safe = |r: &&&PropertyRow| file.outcome_of(r) == RowOutcome::Safe;
    // That there was no time for one says nothing about an answer that is open anyway.
    let told = |r: &&&PropertyRow| {
        file.outcome() == RowOutcome::Safe || r.second.as_ref().is_some_and(|s| s.extent != SearchExtent::Cut)
    };
    let rows = shown.iter().filter(safe).filter(told);
    for (row, second) in rows.filter_map(|r| Some((r, r.second.as_ref()?.to_string()))) {
        match sentences.iter_mut().find(|(known, _)| *known == second) {
            Some((_, names)) => names.push(&row.name),
            None => sentences.push((second, vec![&row.name])),
        }
    }
    let proved = shown.iter().filter(safe).count();
    // Beside a run that goes wrong, what else holds is an aside.
    if file.outcome() == RowOutcome::Unsafe && page.detail == Detail::Brief {
        return;
    }
    for (sentence, names) in sentences {
        let about = match (names.len() == proved, file.outcome()) {
            (true, RowOutcome::Unsafe) => " of what is safe".to_string(),
            (true, _) => String::new(),
            (false, _) => format!(" of {}", names.join(", ")),
        };
        paragraph_of(&format!("{} {sentence}{about}", page.paint.faint("second opinion:")), page, out);
    }
}

fn paragraphs(file: &FileRows, shown: &[&PropertyRow], page: Page, out: &mut String) {
    // Properties that are unknown for the same reasons are reported together.
    let mut groups: Vec<(RowOutcome, Vec<&PropertyRow>, String)> = Vec::new();
    for row in shown.iter().filter(|r| file.outcome_of(r) != RowOutcome::Safe) {
        let mut why = String::new();
        paragraph(file, row, page, &mut why);
        let outcome = file.outcome_of(row);
        match groups.iter_mut().find(|(o, _, w)| *o == RowOutcome::Unknown && outcome == *o && *w == why) {
            Some((_, rows, _)) => rows.push(row),
            None => groups.push((outcome, vec![row], why)),
        }
    }
    // What fails before what is not known.
    groups.sort_by_key(|(outcome, _, _)| *outcome != RowOutcome::Unsafe);
    for (outcome, rows, why) in groups.iter().take(MAX_PARAGRAPHS) {
        let word = page.paint.outcome(*outcome, &format!("{}:", outcome.word()));
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
    if groups.len() > MAX_PARAGRAPHS {
        let _ = writeln!(out, "\n  and {} more; --property NAME shows one of them", groups.len() - MAX_PARAGRAPHS);
    }
    if !groups.is_empty() {
        out.push('\n');
    }
}

fn at(row: &PropertyRow) -> String {
    row.place.as_ref().map_or(String::new(), |p| format!(" at {}:{}:{}", p.file, p.line, p.column))
}

/// Why the verdict is what it is.
fn paragraph(file: &FileRows, row: &PropertyRow, page: Page, out: &mut String) {
    if let Some(execution) = &row.execution {
        let _ = writeln!(
            out,
            "  an execution of the C program goes wrong; the interpreter made it twice (seed {}):",
            execution.seed
        );
        for line in &execution.shown {
            let _ = writeln!(out, "    {line}");
        }
        for assumption in &execution.assumptions {
            let _ = writeln!(out, "    it takes for granted that {assumption}");
        }
        return;
    }
    match (file.outcome_of(row), &row.finding) {
        (RowOutcome::Unknown, _) => {
            paragraph_of(&undecided::why(file, row), page, out);
            if page.detail == Detail::Full {
                all_reasons(file, row, out);
            }
        }
        (_, Some(found)) => {
            match found.evidence() {
                FindingEvidence::Certificate { form } => {
                    let _ = writeln!(out, "  proved by {}; the certificate ({form}) was checked", found.method());
                }
                FindingEvidence::Trace { steps, shown } => {
                    let lines = shown.lines(page.width.saturating_sub(4), page.detail);
                    shown.summary.iter().for_each(|line| paragraph_of(line, page, out));
                    let count = super::counted(*steps as u64, "step");
                    let found = format!("{} found a run of {count} that goes wrong; it was replayed:", found.method());
                    paragraph_of(&found, page, out);
                    for line in lines {
                        let _ = writeln!(out, "    {line}");
                    }
                }
                FindingEvidence::None => {}
            }
            if !found.reason().is_empty() {
                let _ = writeln!(out, "  {}", found.reason());
            }
            let again = match &row.replay {
                Some(SourceReplay::Seen { .. }) if page.detail == Detail::Brief => {
                    ", and at the level of C by its interpreter"
                }
                Some(replay) => {
                    paragraph_of(&replay.to_string(), page, out);
                    ""
                }
                None => "",
            };
            paragraph_of(&format!("{} {}{again}", page.paint.faint("trust:"), found.trust()), page, out);
            // Beside a run that was replayed a search that found none says nothing.
            if let Some(second) = row.second.as_ref().filter(|_| file.outcome_of(row) == RowOutcome::Safe) {
                paragraph_of(&format!("{} {second}", page.paint.faint("second opinion:")), page, out);
            }
        }
        (_, None) => {}
    }
}

/// A sentence, broken where the page ends.
fn paragraph_of(sentence: &str, page: Page, out: &mut String) {
    for (i, line) in wrap_text(sentence, page.width.saturating_sub(6)).iter().enumerate() {
        let _ = writeln!(out, "{}{line}", if i == 0 { "  " } else { "      " });
    }
}

/// What each method said, for those who want to know.
fn all_reasons(file: &FileRows, row: &PropertyRow, out: &mut String) {
    for (method, reason) in &row.reasons {
        let name = file.methods.get(*method).map_or("?", |m| m.name);
        let mut lines = reason.lines();
        let _ = writeln!(out, "    {name}: {}", lines.next().unwrap_or_default());
        lines.for_each(|line| {
            let _ = writeln!(out, "      {line}");
        });
    }
}

fn method_states(file: &FileRows, page: Page, out: &mut String) {
    for method in &file.methods {
        let line = match &method.state {
            MethodState::Refused(why) => format!("{} does not take this program: {why}", method.name),
            MethodState::Failed(why) => format!("{} failed: {why}", method.name),
            MethodState::Stopped => format!("{} was still working", method.name),
            MethodState::Running | MethodState::Answered | MethodState::NotNeeded => continue,
        };
        let _ = writeln!(out, "  {}", page.paint.faint(&line));
    }
}

/// The memory model and the assumptions of all verdicts of the file.
fn taken_for_granted(file: &FileRows, shown: &[&PropertyRow], page: Page, out: &mut String) {
    let mut lines: BTreeSet<(String, String)> = BTreeSet::new();
    let model = memory_model_of(file);
    for row in shown.iter().filter(|r| file.outcome_of(r) != RowOutcome::Unknown) {
        if let Some(found) = &row.finding {
            let all = found.assumptions().iter().map(|a| assumption_under(model, a));
            lines.extend(all.map(|a| (a.code, a.text)));
        }
    }
    lines.extend(file.assumptions.iter().map(|a| assumption_under(model, a)).map(|a| (a.code, a.text)));
    lines.retain(|(code, _)| code != "sequential-consistency");
    let _ = writeln!(out, "  {} {model}", page.paint.faint("memory model:"));
    for (code, text) in lines {
        paragraph_of(&format!("{} {text} [{code}]", page.paint.faint("assumes:")), page, out);
    }
}

fn next(file: &FileRows, outcome: RowOutcome, page: Page, out: &mut String) {
    let verify = |more: &[(&str, &str)]| file.given.verify(&file.path, more);
    let path = crate::outcome::quoted(&file.path.display().to_string());
    let reading = &file.given.reading;
    let advice = match outcome {
        RowOutcome::Safe if file.rows.iter().any(|r| r.finding.is_some()) => {
            Some(format!("keep the proof: {}", verify(&[("--certificate", "proof.json")])))
        }
        RowOutcome::Safe => None,
        RowOutcome::Unsafe => {
            let keep = verify(&[("--trace", "run.json")]);
            let run = file.entries().into_iter().find_map(|e| match e {
                EvidenceEntry::Counterexample { run, .. } => Some(run),
                EvidenceEntry::Certificate(_) => None,
            });
            match run {
                Some(Counterexample::Run(_) | Counterexample::History(_) | Counterexample::ClientRun(_)) => {
                    Some(format!("walk through it: {keep}; threadproof simulate {path}{reading} --trace run.json"))
                }
                // A run of one thread or procedure alone.
                Some(Counterexample::LocalRun(_) | Counterexample::SpecRun(_)) => {
                    Some(format!("keep it: {keep}; threadproof audit run.json {path}{reading} replays it"))
                }
                None => None,
            }
        }
        RowOutcome::Unknown => Some(undecided::next(file)),
    };
    if let Some(line) = advice {
        // One line, however long: a command that is broken cannot be copied.
        let _ = writeln!(out, "  {} {line}", page.paint.faint("next:"));
    }
}
