//! The report as one web page: verdicts, the source with the status of each line, runs to step through, proofs.
//!
//! In: the board's record, with what `annotate` keeps of each program. Out: one HTML text that needs nothing else: no network, no other file. It is
//! readable without scripts (every run is a table), with a keyboard and in print. Deliberately absent: times, so that equal runs give equal pages.

pub mod annotate;
mod run;
mod source;

use super::memory_model::MEMORY_MODEL;
use super::story::Story;
use super::undecided;
use crate::board::{FileRows, MethodStage, PropertyRow, RowOutcome, RunRecord};
use crate::judge::FindingEvidence;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Text as HTML shows it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// A sentence in which pieces of code stand between backticks.
fn prose(sentence: &str) -> String {
    let pieces = sentence.split('`').count();
    let piece = |(i, text): (usize, &str)| match i % 2 == 1 && i + 1 < pieces {
        true => format!("<code>{}</code>", escaped(text)),
        false => escaped(text),
    };
    sentence.split('`').enumerate().map(piece).collect()
}

/// The whole page.
pub fn web_page(record: &RunRecord) -> String {
    let outcome = record.files.iter().map(FileRows::outcome).max().unwrap_or(RowOutcome::Safe);
    let names: Vec<String> = record.files.iter().map(|f| f.path.display().to_string()).collect();
    let title = format!("{}: {}", super::listed(&names), outcome.word());
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escaped(&title)
    );
    if record.files.len() > 1 {
        contents(record, &mut out);
    }
    for (index, file) in record.files.iter().enumerate() {
        file_section(index, file, &mut out);
    }
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(
        out,
        "<footer class=\"faint\"><p>threadproof {version}; memory model: {MEMORY_MODEL}</p></footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>"
    );
    out
}

fn contents(record: &RunRecord, out: &mut String) {
    let count = super::counted(record.files.len() as u64, "file");
    let _ = writeln!(out, "<nav aria-label=\"files\"><h1>{count}</h1><table><tbody>");
    for (index, file) in record.files.iter().enumerate() {
        let outcome = file.outcome();
        let word = if file.stage == MethodStage::Rejected { "rejected" } else { outcome.word() };
        let _ = writeln!(
            out,
            "<tr><td class=\"verdict {}\">{word}</td><td><a href=\"#f{index}\">{}</a></td></tr>",
            outcome.word(),
            escaped(&file.path.display().to_string())
        );
    }
    out.push_str("</tbody></table></nav>\n");
}

fn file_section(index: usize, file: &FileRows, out: &mut String) {
    let outcome = file.outcome();
    let _ = writeln!(
        out,
        "<main id=\"f{index}\">\n<h1>{}: <span class=\"verdict {word}\">{word}</span></h1>",
        escaped(&file.path.display().to_string()),
        word = outcome.word()
    );
    for sentence in &file.internal {
        let _ = writeln!(out, "<p class=\"why\">internal error: {}</p>", escaped(sentence));
    }
    for text in &file.diagnostics {
        let _ = writeln!(out, "<pre class=\"diagnostic\">{}</pre>", escaped(text));
    }
    let shown: Vec<&PropertyRow> = file.shown().collect();
    if !shown.is_empty() {
        verdicts(index, file, &shown, out);
    }
    for (n, row) in shown.iter().enumerate() {
        if file.outcome_of(row) != RowOutcome::Safe {
            finding(index, n, file, row, out);
        }
    }
    source::listing(index, file, out);
    proof(file, &shown, out);
    pictures(file, out);
    out.push_str("</main>\n");
}

fn verdicts(index: usize, file: &FileRows, shown: &[&PropertyRow], out: &mut String) {
    out.push_str("<h2>Verdicts</h2>\n<table class=\"verdicts\"><thead><tr><th>verdict</th><th>property</th><th>line</th><th>method</th><th>rests on</th></tr></thead><tbody>\n");
    for (n, row) in shown.iter().enumerate() {
        let outcome = file.outcome_of(row);
        let found = row.finding.as_ref();
        let name = match outcome {
            RowOutcome::Safe => format!("<code>{}</code>", escaped(&row.name)),
            _ => format!("<a href=\"#f{index}p{n}\"><code>{}</code></a>", escaped(&row.name)),
        };
        let line = row.place.as_ref().map_or_else(String::new, |p| match source::anchor(index, file, p) {
            Some(anchor) => format!("<a href=\"#{anchor}\">{}</a>", p.line),
            None => p.line.to_string(),
        });
        let _ = writeln!(
            out,
            "<tr><td class=\"verdict {word}\">{word}</td><td>{name}</td><td>{line}</td><td>{}</td><td>{}</td></tr>",
            found.map_or_else(String::new, |f| escaped(f.method())),
            found.map_or_else(String::new, |f| escaped(&f.trust().to_string())),
            word = outcome.word()
        );
    }
    out.push_str("</tbody></table>\n");
}

/// What is unsafe or unknown, with its run.
fn finding(index: usize, n: usize, file: &FileRows, row: &PropertyRow, out: &mut String) {
    let outcome = file.outcome_of(row);
    let word = outcome.word();
    let text = if row.text.is_empty() { &row.name } else { &row.text };
    let _ = writeln!(
        out,
        "<section id=\"f{index}p{n}\" class=\"finding\">\n<h2><span class=\"verdict {word}\">{word}</span>: <code>{}</code></h2>",
        escaped(text)
    );
    let why = |sentence: &str, out: &mut String| {
        let _ = writeln!(out, "<p class=\"why {word}\">{}</p>", prose(sentence));
    };
    if outcome == RowOutcome::Unknown {
        why(&undecided::why(file, row), out);
        why(&format!("next: {}", undecided::next(file)), out);
    }
    if let Some(execution) = &row.execution {
        why(&execution.sentence, out);
        run::section(index, file, &execution.story, out);
        lines(&execution.shown, out);
    } else if let (RowOutcome::Unsafe, Some(FindingEvidence::Trace { shown, .. })) =
        (outcome, row.finding.as_ref().map(|f| f.evidence()))
    {
        shown.summary.iter().for_each(|sentence| why(sentence, out));
        run::section(index, file, shown, out);
        ending(shown, out);
    }
    out.push_str("</section>\n");
}

fn ending(story: &Story, out: &mut String) {
    lines(&story.end, out);
}

fn lines(text: &[String], out: &mut String) {
    let _ = writeln!(out, "<pre>{}</pre>", escaped(&text.join("\n")));
}

/// What the proofs are and rest on.
fn proof(file: &FileRows, shown: &[&PropertyRow], out: &mut String) {
    let safe: Vec<&&PropertyRow> = shown.iter().filter(|r| file.outcome_of(r) == RowOutcome::Safe).collect();
    let mut assumptions: Vec<(String, String)> =
        file.assumptions.iter().map(|a| (a.code.clone(), a.text.clone())).collect();
    for found in shown.iter().filter_map(|r| r.finding.as_ref()) {
        assumptions.extend(found.assumptions().iter().map(|a| (a.code.clone(), a.text.clone())));
    }
    assumptions.sort();
    assumptions.dedup();
    if !safe.is_empty() {
        out.push_str("<h2>Proof</h2>\n<table class=\"proof\"><thead><tr><th>property</th><th>rule</th><th>found by</th><th>checked</th><th>second opinion</th></tr></thead><tbody>\n");
        for row in safe {
            let Some(found) = &row.finding else { continue };
            let rule = match found.evidence() {
                FindingEvidence::Certificate { form } => *form,
                FindingEvidence::Trace { .. } | FindingEvidence::None => "",
            };
            let second = row.second.as_ref().map_or_else(String::new, ToString::to_string);
            let _ = writeln!(
                out,
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escaped(&row.name),
                escaped(rule),
                escaped(found.method()),
                escaped(&found.trust().to_string()),
                escaped(&second)
            );
        }
        out.push_str("</tbody></table>\n");
    }
    for method in file.methods.iter().filter(|m| !m.notes.is_empty()) {
        let used = shown.iter().any(|r| r.finding.as_ref().is_some_and(|f| f.method() == method.name));
        if used {
            let _ = writeln!(out, "<h3>What {} found</h3>", escaped(method.name));
            lines(&method.notes, out);
        }
    }
    for (title, formulas) in file.page.iter().flat_map(|p| &p.formulas) {
        let _ = writeln!(out, "<h3>{}</h3>", escaped(title));
        lines(formulas, out);
    }
    if !assumptions.is_empty() {
        out.push_str("<h3>Taken for granted</h3>\n<ul>\n");
        for (code, text) in assumptions {
            let _ = writeln!(out, "<li>{} <code class=\"faint\">{}</code></li>", escaped(&text), escaped(&code));
        }
        out.push_str("</ul>\n");
    }
}

/// Drawings that belong to a proof: views of heaps, trees.
fn pictures(file: &FileRows, out: &mut String) {
    let drawn = file.page.iter().flat_map(|p| &p.pictures);
    for (title, svg) in drawn {
        let _ = writeln!(
            out,
            "<h2>{}</h2>\n<div class=\"pictures\"><p class=\"zoom\"><button class=\"larger\" type=\"button\" aria-label=\"larger\">+</button> \
             <button class=\"smaller\" type=\"button\" aria-label=\"smaller\">−</button> \
             <button class=\"fitting\" type=\"button\">fit</button></p>\n<div class=\"sheet\">{svg}</div></div>",
            escaped(title)
        );
    }
}
