//! The corpus: programs with their truth in comments, as `corpus/README.md` describes them.
//!
//! In: the folder. Out: one `Entry` for each program, in the order of their paths. Deliberately absent: any writing; a truth is
//! decided by a person.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    Safe,
    Unsafe,
}

impl Truth {
    fn read(word: &str) -> Option<Self> {
        match word.split_whitespace().next()?.trim_end_matches(['.', ',', ';']) {
            "safe" => Some(Truth::Safe),
            "unsafe" => Some(Truth::Unsafe),
            _ => None,
        }
    }
}

/// One program of the corpus.
#[derive(Clone, Debug)]
pub struct Entry {
    pub path: PathBuf,
    /// The path below the corpus folder: `locks/spin.tp`.
    pub name: String,
    pub bytes: Vec<u8>,
    pub truth: Option<Truth>,
    pub why: String,
    pub source: String,
    /// Values under which an explicit search is finite: constants, copies of threads, clients of objects.
    pub instance: Vec<(String, String)>,
    /// Whether the instance can deadlock, where it is said.
    pub deadlock: Option<bool>,
    /// Whether the instance can lose an object, where it is said.
    pub leaks: Option<bool>,
    /// The methods that decide the program in little time, each alone; `portfolio` is all of them side by side.
    pub finds: Vec<String>,
    /// The methods that decide it, but not in the time of the usual tests.
    pub finds_slowly: Vec<String>,
    pub misses: Vec<String>,
    /// Codes and lines of the errors of a malformed program.
    pub errors: Vec<(String, usize)>,
    /// Truths of the properties on single lines.
    pub lines: BTreeMap<usize, Truth>,
}

/// The corpus of this workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Every program under a folder whose name has one of the endings.
pub fn read(folder: &Path, endings: &[&str]) -> std::io::Result<Vec<Entry>> {
    let mut files = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for item in std::fs::read_dir(&dir)? {
            let path = item?.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| endings.contains(&e)) {
                files.push(path);
            }
        }
    }
    files.sort();
    files.into_iter().map(|p| Ok(entry(folder, &p, std::fs::read(&p)?))).collect()
}

fn entry(folder: &Path, path: &Path, bytes: Vec<u8>) -> Entry {
    let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let mut e = Entry {
        path: path.to_path_buf(),
        name,
        bytes: Vec::new(),
        truth: None,
        why: String::new(),
        source: String::new(),
        instance: Vec::new(),
        deadlock: None,
        leaks: None,
        finds: Vec::new(),
        finds_slowly: Vec::new(),
        misses: Vec::new(),
        errors: Vec::new(),
        lines: BTreeMap::new(),
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut header = true;
    for (i, line) in text.lines().enumerate() {
        match line.trim_start().strip_prefix("//") {
            Some(comment) if header => {
                if let Some((key, value)) = comment.split_once(':') {
                    e.header(key.trim(), value.trim());
                }
            }
            _ => {
                header = false;
                if let Some((key @ ("finds" | "finds slowly" | "misses"), value)) = ability(line) {
                    e.header(key, value);
                }
                if let Some((_, mark)) = line.rsplit_once("// truth:")
                    && let Some(truth) = Truth::read(mark)
                {
                    e.lines.insert(i + 1, truth);
                }
            }
        }
    }
    e.bytes = bytes;
    e
}

/// A line of its own about abilities: at the end of a file, so that recording one moves no other line.
fn ability(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("// ")?.split_once(':')?;
    Some((key, value.trim()))
}

impl Entry {
    fn header(&mut self, key: &str, value: &str) {
        let words = || value.split_whitespace().map(str::to_owned);
        match key {
            "truth" => self.truth = Truth::read(value),
            "why" => self.why = value.to_owned(),
            "source" => self.source = value.to_owned(),
            "instance" => {
                let pairs = words().filter_map(|w| w.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())));
                self.instance.extend(pairs);
            }
            "leaks" => self.leaks = Some(value.starts_with("yes")),
            "deadlock" => self.deadlock = Some(value.starts_with("yes")),
            "finds" => self.finds.extend(words()),
            "finds slowly" => self.finds_slowly.extend(words()),
            "misses" => self.misses.extend(words()),
            "error" => {
                let parts: Vec<&str> = value.split_whitespace().collect();
                if let [code, "line", line, ..] = parts[..]
                    && let Ok(line) = line.parse()
                {
                    self.errors.push((code.to_owned(), line));
                }
            }
            _ => {}
        }
    }
    /// The number an `instance` line gives to a name.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.instance.iter().find(|(n, _)| n == name)?.1.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_headers_and_marks_are_read() {
        let text = "// truth: unsafe\n// why: because.\n// instance: N=3 Add=2\n// deadlock: no\n// finds: explore count\n\
                    // error: E0301 line 6\n\nvar x: int; // truth: safe\nassert x == 1; // truth: unsafe\n// truth: safe\n\
                    // finds: rely\n// finds slowly: horn\n// misses: shape\n";
        let e = entry(Path::new("/c"), Path::new("/c/a/b.tp"), text.as_bytes().to_vec());
        assert_eq!((e.name.as_str(), e.truth, e.deadlock), ("a/b.tp", Some(Truth::Unsafe), Some(false)));
        assert_eq!((e.number("N"), e.number("Add"), e.number("M")), (Some(3), Some(2), None));
        assert_eq!(e.finds, ["explore", "count", "rely"]);
        assert_eq!((e.finds_slowly, e.misses), (vec!["horn".to_owned()], vec!["shape".to_owned()]));
        assert_eq!(e.errors, [("E0301".to_owned(), 6)]);
        assert_eq!(e.lines.get(&8), Some(&Truth::Safe));
        assert_eq!(e.lines.get(&9), Some(&Truth::Unsafe));
    }

    #[test]
    fn check_every_program_of_the_corpus_has_a_truth_or_an_error_and_a_reason() {
        let all = read(&root(), &["tp"]).expect("the corpus can be read");
        assert!(all.len() > 50);
        for e in &all {
            let decided = e.truth.is_some() || !e.errors.is_empty();
            assert!(decided && !e.why.is_empty(), "{} lacks its truth or its reason", e.name);
        }
    }
}
