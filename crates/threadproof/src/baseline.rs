//! A list of findings that are known: only new ones make a run fail.
//!
//! In: a file written by `--write-baseline`. Out: whether a finding is in it. A finding is known by its file, the kind and the text of what is violated, and its
//! verdict, so that it is found again when lines move, and a property that was unknown and is now unsafe is new. Deliberately absent: any
//! influence on verdicts; a baseline changes the exit code and nothing else.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

const FORMAT: &str = "threadproof-baseline/1";

/// What a finding is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FindingKey {
    pub file: String,
    pub kind: String,
    pub text: String,
    /// Which of several with the same text in one file, from 1.
    pub occurrence: usize,
    pub verdict: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Baseline {
    format: String,
    known: BTreeSet<FindingKey>,
}

impl Baseline {
    pub fn of_keys(keys: impl IntoIterator<Item = FindingKey>) -> Self {
        Self { format: FORMAT.into(), known: keys.into_iter().collect() }
    }

    pub fn knows(&self, key: &FindingKey) -> bool {
        self.known.contains(key)
    }

    pub fn read_from(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let found: Self =
            serde_json::from_str(&text).map_err(|e| format!("{}: this is no baseline: {e}", path.display()))?;
        if found.format != FORMAT {
            return Err(format!("{}: the format is {}, and {FORMAT} is read", path.display(), found.format));
        }
        Ok(found)
    }

    /// As it is written to a file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).map_or_else(|e| e.to_string(), |text| text + "\n")
    }
}
