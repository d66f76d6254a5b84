//! Which files a command line means: files as they are named, and of a folder every program in it.
//!
//! In: paths. Out: paths of programs, each once, those of a folder in the order of their names. Hidden folders, `target` and `node_modules` are passed over. A
//! folder with a `compile_commands.json` is a program of its own, and stays as it is. The Java files of a folder belong together: the folder itself stands
//! for them, after its programs in other languages. Deliberately absent: reading any file.

use std::path::{Path, PathBuf};

/// Endings of programs that are looked for in folders.
const PROGRAM_ENDINGS: [&str; 3] = ["tp", "c", "i"];
/// The ending of files that are one program together.
pub const JAVA: &str = "java";

/// The programs that are meant, or a sentence about a folder that holds none.
pub fn programs_in(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut out: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !path.is_dir() || path.join("compile_commands.json").is_file() {
            out.push(path.clone());
            continue;
        }
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let found = files_in(path, &PROGRAM_ENDINGS).map_err(failed)?;
        let together = files_in(path, &[JAVA]).map_err(failed)?;
        if found.is_empty() && together.is_empty() {
            let endings: Vec<String> = PROGRAM_ENDINGS.iter().chain(&[JAVA]).map(|e| format!(".{e}")).collect();
            let endings = crate::report::listed(&endings);
            return Err(format!("{}: this folder holds no program (files ending in {endings})", path.display()));
        }
        out.extend(found);
        if !together.is_empty() {
            out.push(path.clone());
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    out.retain(|path| seen.insert(path.clone()));
    Ok(out)
}

/// The files with such endings in a folder and the folders in it, in the order of their names.
pub fn files_in(folder: &Path, endings: &[&str]) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, endings, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, endings: &[&str], out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        // A link to a folder may lead back to it.
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && !matches!(name.as_str(), "target" | "node_modules") {
                collect(&path, endings, out)?;
            }
        } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| endings.contains(&e)) && path.is_file() {
            out.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::programs_in;

    #[test]
    fn check_a_folder_of_java_files_is_one_program() {
        let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        let java = corpus.join("java");
        assert_eq!(programs_in(std::slice::from_ref(&java)), Ok(vec![java]));
        // Beside programs of other languages it is one more.
        let mixed = programs_in(std::slice::from_ref(&corpus)).expect("there are programs");
        assert!(mixed.len() > 1 && mixed.last() == Some(&corpus));
        let all = programs_in(&[corpus.join("heap")]).expect("there are programs");
        assert!(all.iter().all(|p| p.is_file()) && all.len() > 1);
    }
}
