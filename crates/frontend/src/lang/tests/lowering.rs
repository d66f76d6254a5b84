//! Lowering: the corpus against its truth, and what single constructs become.

use super::*;
use crate::lang::lower::{Lowered, Settings, lower};
use program::Program;
use std::path::{Path, PathBuf};

fn lowered_with(text: &str, settings: &Settings) -> (Lowered, Sources) {
    let mut sources = Sources::new();
    let parsed = parse(&mut sources, "test.tp", text.as_bytes());
    (lower(&parsed, &sources, settings), sources)
}

fn program(text: &str) -> Program {
    let (lowered, sources) = lowered_with(text, &Settings::default());
    let messages = render_all(&lowered.diagnostics, &sources, Colour::Plain);
    lowered.program.unwrap_or_else(|| panic!("{messages}\nin\n{text}"))
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "tp") {
            out.push(path);
        }
    }
}

#[test]
fn check_every_program_of_the_corpus_lowers() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths = Vec::new();
    files(&corpus, &mut paths);
    paths.sort();
    assert!(paths.len() > 100, "the corpus is found");
    let mut failures = String::new();
    for path in paths.iter().filter(|p| !p.components().any(|c| c.as_os_str() == "malformed")) {
        let mut sources = Sources::new();
        let bytes = std::fs::read(path).unwrap();
        let parsed = parse(&mut sources, path.file_name().unwrap().to_string_lossy(), &bytes);
        let lowered = lower(&parsed, &sources, &Settings::default());
        if lowered.program.is_none() || !lowered.diagnostics.is_empty() {
            failures.push_str(&render_all(&lowered.diagnostics, &sources, Colour::Plain));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn check_every_program_of_the_corpus_is_well_formed_and_has_a_text_form() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths = Vec::new();
    files(&corpus, &mut paths);
    paths.sort();
    for path in paths.iter().filter(|p| !p.components().any(|c| c.as_os_str() == "malformed")) {
        let program = program(&std::fs::read_to_string(path).unwrap());
        well_formed(&program, &path.display().to_string());
    }
}

fn well_formed(program: &Program, what: &str) {
    let faults: Vec<String> = program::wellformed::wellformed(program).iter().map(|f| f.to_string()).collect();
    assert!(faults.is_empty(), "{what}:\n{}", faults.join("\n"));
    let text = program::text::print(program);
    let again = program::text::read(&text).unwrap_or_else(|e| panic!("{what}: {e:?}\n{text}"));
    assert_eq!(program::text::print(&again), text, "{what}");
}

#[test]
fn check_malformed_programs_give_the_errors_they_name() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/malformed");
    let mut paths = Vec::new();
    files(&corpus, &mut paths);
    paths.sort();
    let mut failures = String::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let wanted: Vec<String> =
            text.lines().filter_map(|l| l.strip_prefix("// error: ")).map(str::trim).map(str::to_owned).collect();
        let (lowered, sources) = lowered_with(&text, &Settings::default());
        let found: Vec<String> =
            lowered.diagnostics.iter().map(|d| std::format!("{} line {}", d.code.0, sources.line_of(d.span))).collect();
        if wanted != found {
            let pictures = render_all(&lowered.diagnostics, &sources, Colour::Plain);
            failures.push_str(&std::format!("{}: wanted {wanted:?}\n{pictures}\n", path.display()));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Instances and settings that a file's header names.
fn instance(text: &str, constants: &[String]) -> Settings {
    let line = text.lines().find_map(|l| l.strip_prefix("// instance: ")).unwrap_or("");
    let mut settings = Settings::default();
    for part in line.split_whitespace() {
        let Some((name, value)) = part.split_once('=') else { continue };
        if constants.iter().any(|c| c == name) {
            settings.constants.push((name.to_owned(), value.to_owned()));
        } else if text.contains(&std::format!("thread {name}[")) {
            // Other names speak of the clients of objects, which no search here makes.
            settings.copies.extend(value.parse().ok().map(|n| (name.to_owned(), n)));
        }
    }
    settings
}

#[test]
fn check_small_searches_agree_with_the_truth_of_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths = Vec::new();
    files(&corpus, &mut paths);
    paths.sort();
    let mut failures = String::new();
    let (mut decided, mut all) = (0, 0);
    for path in paths.iter().filter(|p| !p.components().any(|c| c.as_os_str() == "malformed")) {
        let text = std::fs::read_to_string(path).unwrap();
        let constants: Vec<String> = text
            .lines()
            .filter_map(|l| l.strip_prefix("const "))
            .filter_map(|l| l.split(':').next())
            .map(str::to_owned)
            .collect();
        let settings = instance(&text, &constants);
        let (lowered, sources) = lowered_with(&text, &settings);
        let Some(program) = lowered.program else {
            failures.push_str(&render_all(&lowered.diagnostics, &sources, Colour::Plain));
            continue;
        };
        if program.threads.is_empty()
            || program.threads.iter().any(|t| t.copies == program::Copies::Any && t.start == program::Start::AtOnce)
        {
            continue;
        }
        all += 1;
        let instances = program::semantics::Instances::of(&program, 0);
        let limits = program::semantics::Limits { states: 2_500, depth: 200, ..Default::default() };
        let reached = program::semantics::reach(&program, &instances, &limits);
        let safe = text.contains("// truth: safe\n") && text.starts_with("// truth: safe");
        let bad: Vec<String> = reached.violations.keys().map(|p| program.properties[*p].name.clone()).collect();
        if safe && !bad.is_empty() {
            failures.push_str(&std::format!("{} is safe, but {bad:?}\n", path.display()));
        }
        let others = !program.machines.is_empty()
            || !program.objects.is_empty()
            || program.procedures.iter().any(|p| p.performs.is_some());
        if !safe && bad.is_empty() && reached.complete() && !others {
            failures.push_str(&std::format!("{} is unsafe, but nothing was found\n", path.display()));
        }
        decided += usize::from(!bad.is_empty() || reached.complete());
    }
    assert!(decided * 3 > all * 2, "only {decided} of {all} are decided");
    assert!(failures.is_empty(), "{failures}");
}
