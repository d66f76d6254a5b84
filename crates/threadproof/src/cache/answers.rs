//! Formulas that a solver found valid, as a set of digests.
//!
//! In: the bytes of a file, and a stamp of what answers depend on. Out: whether a formula was found valid by a solver. A record
//! is the digest of stamp, solver and formula, and nothing else: there is no answer beside it that could be changed. A record
//! of another version, another solver or with a wrong bit is the record of no question that is ever asked.
//! The file ends with the digest of all that is before it. Deliberately absent: formulas found not valid, and "unknown".

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

type Record = [u8; 32];

pub struct Answers {
    stamp: Record,
    /// Each with whether this run used it.
    records: BTreeMap<Record, bool>,
    /// In the order of the file: what was used last comes first.
    old: Vec<Record>,
    new: bool,
}

const HEAD: &[u8] = b"threadproof answers 1\n";
/// More records than this are not kept.
const MAX_RECORDS: usize = 200_000;

impl Answers {
    /// A file that is missing, damaged or of another version gives no answers; the last two are reported.
    pub fn read(file: &Path, stamp: Record) -> (Self, Option<String>) {
        let empty = Self { stamp, records: BTreeMap::new(), old: Vec::new(), new: false };
        if !file.exists() {
            return (empty, None);
        }
        let bytes = super::read_regular(file).map_err(|_| "this file of the cache cannot be read");
        match bytes.and_then(|bytes| parse(&bytes, stamp)) {
            Ok(old) => {
                let records = old.iter().map(|r| (*r, false)).collect();
                (Self { records, old, ..empty }, None)
            }
            Err(why) => (empty, Some(format!("{}: {why}; it was not used", file.display()))),
        }
    }

    fn record(&self, formula: &Record, word: &str) -> Record {
        let mut h = Sha256::new();
        h.update(self.stamp);
        h.update((word.len() as u64).to_le_bytes());
        h.update(word);
        h.update(formula);
        h.finalize().into()
    }

    pub fn has(&mut self, formula: &Record, word: &str) -> bool {
        let record = self.record(formula, word);
        self.records.get_mut(&record).map(|used| *used = true).is_some()
    }

    pub fn add(&mut self, formula: &Record, word: &str) {
        let record = self.record(formula, word);
        self.new |= self.records.insert(record, true).is_none();
    }

    /// Whether there is something that the file does not have.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Records that another run has written.
    pub fn add_records_of(&mut self, other: Self) {
        for record in other.old {
            if let std::collections::btree_map::Entry::Vacant(place) = self.records.entry(record) {
                place.insert(false);
                self.old.push(record);
            }
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut used: Vec<&Record> = self.records.iter().filter(|(_, used)| **used).map(|(r, _)| r).collect();
        used.sort_unstable();
        let rest = self.old.iter().filter(|r| self.records.get(*r) == Some(&false));
        let mut out = HEAD.to_vec();
        out.extend_from_slice(&self.stamp);
        used.into_iter().chain(rest).take(MAX_RECORDS).for_each(|r| out.extend_from_slice(r));
        let sum: Record = Sha256::digest(&out).into();
        out.extend_from_slice(&sum);
        out
    }
}

fn parse(bytes: &[u8], stamp: Record) -> Result<Vec<Record>, &'static str> {
    const DAMAGED: &str = "this file of the cache is damaged";
    const OTHER: &str = "this file of the cache is of another version of the tool or of a solver";
    let body = bytes.strip_prefix(HEAD).ok_or(DAMAGED)?;
    let (body, sum) = body.split_last_chunk::<32>().ok_or(DAMAGED)?;
    let whole: Record = Sha256::digest(&bytes[..bytes.len() - 32]).into();
    if whole != *sum {
        return Err(DAMAGED);
    }
    let (found, records) = body.split_first_chunk::<32>().ok_or(DAMAGED)?;
    if *found != stamp {
        return Err(OTHER);
    }
    let (records, rest) = records.as_chunks::<32>();
    if rest.is_empty() { Ok(records.to_vec()) } else { Err(DAMAGED) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn of(n: u8) -> Record {
        [n; 32]
    }

    fn read(bytes: &[u8], stamp: Record) -> (Answers, Option<String>) {
        // Tests run beside each other.
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("threadproof-answers-{}-{number}", std::process::id()));
        std::fs::write(&file, bytes).expect("a file can be written");
        let out = Answers::read(&file, stamp);
        std::fs::remove_file(&file).expect("the file is ours");
        out
    }

    #[test]
    fn check_only_the_same_question_to_the_same_solver_by_the_same_tool_is_known() {
        let (mut a, _) = Answers::read(Path::new("/nowhere/at/all"), of(1));
        assert!(!a.is_new());
        a.add(&of(7), "cvc5");
        assert!(a.is_new() && a.has(&of(7), "cvc5") && !a.has(&of(8), "cvc5") && !a.has(&of(7), "z3"));
        let bytes = a.bytes();
        let (mut again, note) = read(&bytes, of(1));
        assert!(note.is_none() && again.has(&of(7), "cvc5") && !again.has(&of(7), "z3") && !again.is_new());
        let (mut other, note) = read(&bytes, of(2));
        assert!(note.is_some_and(|n| n.contains("another version")) && !other.has(&of(7), "cvc5"));
    }

    #[test]
    fn check_a_wrong_byte_anywhere_is_noticed() {
        let (mut a, _) = Answers::read(Path::new("/nowhere/at/all"), of(1));
        a.add(&of(7), "cvc5");
        let bytes = a.bytes();
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            let (mut read, note) = read(&wrong, of(1));
            assert!(note.is_some() && !read.has(&of(7), "cvc5"), "byte {at}");
        }
        for length in 0..bytes.len() {
            let (mut read, note) = read(&bytes[..length], of(1));
            assert!(note.is_some() && !read.has(&of(7), "cvc5"), "cut to {length}");
        }
    }
}
