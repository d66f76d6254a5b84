//! Logs of the levels of a search, so that a search that was killed goes on where it was.
//!
//! In: the states of each level, by owner; what is known of the whole search, by the leader. Out: files in a folder, and from them the same search again,
//! for any number of owners. Each owner appends the states of a level to a log of its own; when all have, the leader appends a record that names
//! these *segments* with their digests, and only then does the level count. A record that is cut off is the one that was being written; everything
//! else that does not fit is damage and refused.
//! Deliberately absent: states that are on their way. What is lost is at most the level at hand.

use super::exchange::{Exchange, Handing, Reached};
use super::segment::{LoggedSegment, log_path};
use super::shared::{NearestViolation, owner_of};
use super::table::hash;
use super::wire::{PUBLIC_KEY, WordReader, WordWriter, bytes_of, keyed_digest, words_of};
use program::PropertyId;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

/// What the leader knew when a level was complete; `violations` and `sizes` as words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommittedLevel {
    pub level: u64,
    pub transitions: u64,
    pub violations: Vec<u64>,
    pub incomplete: Option<String>,
    pub size: u64,
    pub segments: Vec<LoggedSegment>,
}

/// The logs of one search.
#[derive(Debug)]
pub(crate) struct SearchCheckpoint {
    folder: PathBuf,
    /// Counts the processes' lives: each begins new files.
    pub generation: u64,
    /// The levels that were complete when this life began.
    pub committed: Vec<CommittedLevel>,
    /// What the leader appends to; opened at its first record.
    records: Mutex<Option<File>>,
}

const RECORDS: &str = "levels.log";

impl SearchCheckpoint {
    /// Opens the logs of a search, or begins them.
    pub(crate) fn open(folder: PathBuf) -> Result<Self, String> {
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let path = folder.join(RECORDS);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(format!("{}: {e}", path.display())),
        };
        let (committed, whole) = records_of(&words_of(&bytes))
            .map_err(|why| format!("the checkpoint is damaged: {}: {why}", path.display()))?;
        if (whole * 8) < bytes.len() {
            let file = File::options().write(true).open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            file.set_len(whole as u64 * 8).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let last = committed.iter().flat_map(|c| &c.segments).map(|s| s.generation).max();
        // A life that committed nothing has left files, too.
        let mut generation = last.map_or(0, |g| g + 1);
        while log_path(&folder, generation, 0).exists() {
            generation += 1;
        }
        Ok(Self { folder, generation, committed, records: Mutex::new(None) })
    }
    /// The same logs as the leader opened them, for another process.
    pub(crate) fn follow(folder: PathBuf, generation: u64) -> Result<Self, String> {
        let path = folder.join(RECORDS);
        let bytes = std::fs::read(&path).unwrap_or_default();
        let (committed, _) = records_of(&words_of(&bytes))
            .map_err(|why| format!("the checkpoint is damaged: {}: {why}", path.display()))?;
        Ok(Self { folder, generation, committed, records: Mutex::new(None) })
    }
    /// Makes a level count.
    pub(crate) fn commit(&self, level: &CommittedLevel) -> Result<(), String> {
        let path = self.folder.join(RECORDS);
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut body = WordWriter::default();
        body.put(level.level).put(level.transitions).put(level.size);
        body.list(level.violations.iter(), |w, v| {
            w.put(*v);
        });
        body.option(level.incomplete.as_deref(), |w, t| {
            w.text(t);
        });
        body.list(level.segments.iter(), |w, s| s.put(w));
        let mut bytes = Vec::new();
        bytes_of(&[body.0.len() as u64], &mut bytes);
        bytes_of(&body.0, &mut bytes);
        bytes_of(&[keyed_digest(PUBLIC_KEY, &[body.0.len() as u64], &body.0)], &mut bytes);
        let mut records = self.records.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if records.is_none() {
            *records = Some(File::options().create(true).append(true).open(&path).map_err(failed)?);
        }
        let file = records.as_mut().expect("it was opened above");
        file.write_all(&bytes).map_err(failed)
    }
    /// How many states the levels have.
    pub(crate) fn states<const W: usize>(&self) -> u64 {
        let own = |c: &CommittedLevel| c.segments.iter().filter(|s| s.level == c.level).map(|s| s.length).sum::<u64>();
        self.committed.iter().map(own).sum::<u64>() / W as u64
    }
    pub(crate) fn level_log(&self, owner: usize) -> Result<LevelLog, String> {
        let path = log_path(&self.folder, self.generation, owner as u64);
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(LevelLog { file, path, generation: self.generation, owner: owner as u64, offset: 0, later: BTreeMap::new() })
    }
    /// The violations of the last level.
    pub(crate) fn violations<const W: usize>(&self) -> Result<BTreeMap<PropertyId, NearestViolation<W>>, String> {
        self.committed.last().map_or_else(|| Ok(BTreeMap::new()), |c| WordReader(&c.violations).violations())
    }
    /// Hands states of a level's record to their owners, those of the levels for which `steps` says how far from the one at hand they are. Who cannot
    /// read its part goes on exchanging, so that nobody waits for it, and gives the reason.
    pub(crate) fn hand_out<const W: usize>(
        &self,
        record: &CommittedLevel,
        steps: &dyn Fn(u64) -> Option<u32>,
        exchange: &mut dyn Exchange<W>,
        add: &mut dyn FnMut(&[Reached<W>]),
    ) -> Result<Option<String>, String> {
        let (me, owners) = (exchange.me(), exchange.owners());
        let wanted: Vec<(&LoggedSegment, u32)> =
            record.segments.iter().filter_map(|s| Some((s, steps(s.level)?))).collect();
        let mut out: Handing<W> = (0..owners).map(|_| Vec::new()).collect();
        let mut damage = None;
        // Everybody exchanges as often, whoever has how much to read.
        for turn in wanted.chunks(owners) {
            match turn.get(me).map(|(segment, steps)| (segment.words(&self.folder), *steps)) {
                Some((Ok(words), steps)) => {
                    for state in words.chunks_exact(W) {
                        let mut packed = [0; W];
                        packed.copy_from_slice(state);
                        out[owner_of(hash(&packed), owners)].push((packed, steps));
                    }
                }
                Some((Err(why), _)) => damage = Some(why),
                None => {}
            }
            exchange.swap(&mut out, add)?;
            exchange.rejoin();
        }
        Ok(damage)
    }
}

/// The records, and how many words they take; what is cut off at the end was being written.
fn records_of(words: &[u64]) -> Result<(Vec<CommittedLevel>, usize), String> {
    let mut out: Vec<CommittedLevel> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let Some(length) = usize::try_from(words[at]).ok() else { return Err("a record has no length".into()) };
        let Some(end) = length.checked_add(2).and_then(|n| at.checked_add(n)).filter(|e| *e <= words.len()) else {
            break;
        };
        let body = &words[at + 1..end - 1];
        if keyed_digest(PUBLIC_KEY, &[length as u64], body) != words[end - 1] {
            return Err(format!("record {} is not what was written", out.len() + 1));
        }
        let mut r = WordReader(body);
        let record = CommittedLevel {
            level: r.take()?,
            transitions: r.take()?,
            size: r.take()?,
            violations: r.list(WordReader::take)?,
            incomplete: r.option(WordReader::text)?,
            segments: r.list(LoggedSegment::read)?,
        };
        if record.level != out.len() as u64 {
            return Err(format!("the record of level {} is missing", out.len()));
        }
        out.push(record);
        at = end;
    }
    Ok((out, at))
}

/// The log of one owner.
#[derive(Debug)]
pub(crate) struct LevelLog {
    file: File,
    path: PathBuf,
    generation: u64,
    owner: u64,
    /// In words.
    offset: u64,
    /// States that wait for a level further on, as words.
    later: BTreeMap<u64, Vec<u64>>,
}

impl LevelLog {
    pub(crate) fn note_later<const W: usize>(&mut self, level: usize, state: &[u64; W]) {
        self.later.entry(level as u64).or_default().extend(state);
    }
    /// Writes the states of a level, and those that have begun to wait.
    pub(crate) fn write(&mut self, level: u64, states: Vec<u64>) -> Result<Vec<LoggedSegment>, String> {
        let mut out = Vec::new();
        let later = std::mem::take(&mut self.later);
        for (level, words) in std::iter::once((level, states)).chain(later) {
            if words.is_empty() {
                continue;
            }
            let mut bytes = Vec::new();
            bytes_of(&words, &mut bytes);
            self.file.write_all(&bytes).map_err(|e| format!("{}: {e}", self.path.display()))?;
            out.push(LoggedSegment {
                level,
                generation: self.generation,
                owner: self.owner,
                offset: self.offset,
                length: words.len() as u64,
                digest: keyed_digest(PUBLIC_KEY, &[level], &words),
            });
            self.offset += words.len() as u64;
        }
        Ok(out)
    }
}
