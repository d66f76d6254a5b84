//! Lowering: the corpus, and what single constructs become.

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
