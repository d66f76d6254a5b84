//! Evidence that contradicts itself, kept for whoever looks for our mistake.
//!
//! In: the board after two methods gave opposite answers and the checker accepted both. Out: one evidence file with both pieces, as
//! `audit` reads it, in the working folder or, where that cannot be written, in the folder for temporary files; and a line on the board that
//! says where it is. Deliberately absent: any verdict.

use crate::board::FileRows;
use evidence::file::EvidenceEntry;
use program::Program;
use std::path::{Path, PathBuf};

/// Writes the evidence, if there is a contradiction, and notes its place beside the error.
pub fn keep_contradiction(program: &Program, file: &mut FileRows, folders: &[PathBuf]) {
    let places: Vec<usize> = file.contradictions.iter().flat_map(|(a, b)| [*a, *b]).flatten().collect();
    if places.is_empty() {
        return;
    }
    let mut entries: Vec<EvidenceEntry> = Vec::new();
    let mut seen = Vec::new();
    for place in places {
        if !seen.contains(&place) {
            seen.push(place);
            entries.push(file.evidence[place].clone());
        }
    }
    let text = evidence::file::write_evidence(program, &entries);
    let name = format!("threadproof-contradiction-{}.json", stem(&file.path));
    let mut failures = Vec::new();
    for folder in folders {
        let path = folder.join(&name);
        match std::fs::write(&path, &text) {
            Ok(()) => {
                let (path, program) = (path.display(), file.path.display());
                file.internal.push(format!(
                    "the evidence of both sides is in {path}; `threadproof audit {path} {program}` checks it again"
                ));
                return;
            }
            Err(e) => failures.push(format!("{}: {e}", path.display())),
        }
    }
    file.internal.push(format!("the evidence of both sides could not be kept: {}", failures.join("; ")));
}

fn stem(path: &Path) -> String {
    let name = path.file_stem().map_or_else(|| "program".into(), |s| s.to_string_lossy().into_owned());
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

/// Where such files are put.
pub fn folders() -> Vec<PathBuf> {
    vec![PathBuf::from("."), std::env::temp_dir()]
}
