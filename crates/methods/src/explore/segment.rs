//! A part of a log: where the states of one level lie that one owner had.
//!
//! In: files of a checkpoint. Out: the states, if they are those that were written.
//! Deliberately absent: which parts make a search (`checkpoint`).

use super::wire::{PUBLIC_KEY, WordReader, WordWriter, keyed_digest, words_of};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A part of a log: states of one level that one owner had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoggedSegment {
    /// The level of the states; after the one at hand where they wait.
    pub level: u64,
    pub generation: u64,
    pub owner: u64,
    /// Both in words.
    pub offset: u64,
    pub length: u64,
    pub digest: u64,
}

impl LoggedSegment {
    pub(crate) fn put(&self, w: &mut WordWriter) {
        w.put(self.level).put(self.generation).put(self.owner).put(self.offset).put(self.length).put(self.digest);
    }
    pub(crate) fn read(r: &mut WordReader<'_>) -> Result<Self, String> {
        Ok(Self {
            level: r.take()?,
            generation: r.take()?,
            owner: r.take()?,
            offset: r.take()?,
            length: r.take()?,
            digest: r.take()?,
        })
    }
    fn path(&self, folder: &Path) -> PathBuf {
        log_path(folder, self.generation, self.owner)
    }
    /// The words of the segment, if they are what was written.
    pub(super) fn words(&self, folder: &Path) -> Result<Vec<u64>, String> {
        let path = self.path(folder);
        let damaged = |why: String| format!("the checkpoint is damaged: {}: {why}", path.display());
        let mut file = File::open(&path).map_err(|e| damaged(e.to_string()))?;
        file.seek(SeekFrom::Start(self.offset * 8)).map_err(|e| damaged(e.to_string()))?;
        let known = file.metadata().map_err(|e| damaged(e.to_string()))?.len();
        if (self.offset.saturating_add(self.length)).saturating_mul(8) > known {
            return Err(damaged("it is too short".into()));
        }
        let mut bytes = vec![0; self.length as usize * 8];
        file.read_exact(&mut bytes).map_err(|e| damaged(e.to_string()))?;
        let words = words_of(&bytes);
        match keyed_digest(PUBLIC_KEY, &[self.level], &words) == self.digest {
            true => Ok(words),
            false => Err(damaged(format!("the states of level {} are not those that were written", self.level))),
        }
    }
}

pub(super) fn log_path(folder: &Path, generation: u64, owner: u64) -> PathBuf {
    folder.join(format!("states-{generation}-{owner}.log"))
}
