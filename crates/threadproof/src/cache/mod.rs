//! What earlier runs found, in a folder: answers of the second solver, and annotations of programs.
//!
//! In: a folder that the user names (`--cache`). Out: whether a formula was found valid before (`answers`), and what was
//! found about the program of a path before (`recall`). Answers are known by everything they depend on, and a record
//! that is damaged is the record of no question: it costs time and nothing else. Annotations are candidates: the checker looks at
//! them as at those of any method. Both files carry a digest of themselves; one that does not fit is reported and not used.
//! See docs/decisions/041-cache.md. Deliberately absent: verdicts.

mod answers;
pub mod recall;

use answers::Answers;
use evidence::fingerprint::fingerprint;
use logic::{Term, Terms};
use sha2::{Digest, Sha256};
use solver::AnsweredBy;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

pub struct Cache {
    folder: PathBuf,
    answers: Mutex<Answers>,
    /// What is wrong with what was found, for people.
    notes: Mutex<Vec<String>>,
}

impl Cache {
    /// Opens a folder, which is made if it is not there.
    pub fn open(folder: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|e| format!("the cache {}: {e}", folder.display()))?;
        let (answers, note) = Answers::read(&folder.join(ANSWERS), stamp());
        Ok(Self { folder: folder.to_path_buf(), answers: Mutex::new(answers), notes: Mutex::new(Vec::from_iter(note)) })
    }

    /// Who found the formula valid before.
    pub fn knows(&self, terms: &Terms, formula: Term) -> Option<AnsweredBy> {
        let formula = fingerprint(terms, formula);
        let mut answers = lock(&self.answers);
        answerers().into_iter().find(|word| answers.has(&formula, &word.to_string()))
    }

    /// Somebody found the formula valid.
    pub fn learn(&self, terms: &Terms, formula: Term, word: &AnsweredBy) {
        if answerers().contains(word) {
            lock(&self.answers).add(&fingerprint(terms, formula), &word.to_string());
        }
    }

    /// The annotations of the program that was read from this path before.
    pub fn recall(&self, path: &Path) -> Option<serde_json::Value> {
        let file = self.place(path);
        if !file.exists() {
            return None;
        }
        let bytes = read_regular(&file).map_err(|_| "this file of the cache cannot be read");
        let read = bytes.and_then(|bytes| recall::unseal_annotations(&bytes));
        if let Err(why) = &read {
            lock(&self.notes).push(format!("{}: {why}; it was not used", file.display()));
        }
        read.ok()
    }

    /// Keeps annotations for the next time.
    pub fn keep(&self, path: &Path, annotations: &serde_json::Value) -> Result<(), String> {
        write(&self.place(path), recall::seal_annotations(annotations).as_bytes())
    }

    /// Writes what was learnt.
    pub fn save(&self) -> Result<(), String> {
        let mut answers = lock(&self.answers);
        if !answers.is_new() {
            return Ok(());
        }
        // Other processes may have learnt something meanwhile.
        let file = self.folder.join(ANSWERS);
        answers.add_records_of(Answers::read(&file, stamp()).0);
        write(&file, &answers.bytes())
    }

    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.notes))
    }

    fn place(&self, path: &Path) -> PathBuf {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let digest = Sha256::digest(whole.as_os_str().as_encoded_bytes());
        self.folder.join(format!("annotations-{}.json", hex(&digest[..12])))
    }
}

const ANSWERS: &str = "answers";

/// Whose answers are kept.
fn answerers() -> [AnsweredBy; 2] {
    let cvc5 = solver::named_cvc5().and_then(Result::ok).unwrap_or_else(|| "cvc5".into());
    [AnsweredBy::OtherSolver(cvc5), AnsweredBy::SameSolver("z3".into())]
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The bytes of an ordinary file: a pipe in its place could be waited for for ever.
fn read_regular(file: &Path) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(file)?.is_file() {
        std::fs::read(file)
    } else {
        Err(std::io::Error::other("it is no ordinary file"))
    }
}

/// A file is there whole or not at all.
fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&beside, bytes)
        .and_then(|()| std::fs::rename(&beside, file))
        .map_err(|e| format!("the cache {}: {e}", file.display()))
}

/// What an answer depends on besides the formula: this tool, which writes the question, and the solvers.
fn stamp() -> [u8; 32] {
    let mut h = Sha256::new();
    let mut feed = |text: String| {
        h.update((text.len() as u64).to_le_bytes());
        h.update(text);
    };
    feed(env!("CARGO_PKG_VERSION").into());
    feed(format!("{:?}", z3_provider::Z3_VERSION));
    let own = std::env::current_exe().ok();
    let solvers = [z3_provider::cvc5_command(), z3_provider::z3_command()];
    let named = solvers.iter().flatten().flatten().map(PathBuf::from);
    for file in own.into_iter().chain(named) {
        let about = std::fs::metadata(&file).map(|m| format!("{} {:?}", m.len(), m.modified().ok()));
        feed(format!("{} {}", file.display(), about.unwrap_or_default()));
    }
    h.finalize().into()
}
