//! One method at work: its claims are checked as they come, and what the checker accepts goes on the board.
//!
//! In: a method, a task, the board. Out: candidates and reasons in the rows, the state of the method. Claims are taken while the method
//! works (`Run::publish`) and when it ends, so that a time limit or a crash loses nothing that was shown before. A claim that contradicts
//! a candidate is checked too: if it holds as well, the tool contradicts itself, which is an internal error and no verdict.
//! Of each method the first accepted answer about a property counts. Deliberately absent: any choice between methods.

use super::race::Race;
use super::{Listen, OracleMaker, STACK_BYTES, guarded};
use crate::board::{Board, CheckedAnswer, FileRows, MethodState, RowOutcome};
use crate::cache::Cache;
use crate::judge::{Judge, Judged, KeptEvidence};
use base::{Budget, Sources};
use evidence::{Claim, Claims, Reason};
use methods::{Method, Run, Task};
use program::PropertyId;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone)]
pub struct MethodWorker {
    pub index: usize,
    pub method: Arc<dyn Method>,
    pub board: Arc<Board>,
    pub file: usize,
    pub sources: Arc<Sources>,
    pub cache: Option<Arc<Cache>>,
    pub oracle: OracleMaker,
    pub run: Run,
    pub race: Arc<Race>,
    /// For checking claims, which is no work of the method.
    pub checking: Budget,
    /// How much the checker may spend on repeating a search, where that is less than usual.
    pub search_effort: Option<Duration>,
}

/// Says that a thread has ended, however it ends.
struct DoneSignal {
    race: Arc<Race>,
    index: usize,
    to: Sender<()>,
}

impl Drop for DoneSignal {
    fn drop(&mut self) {
        self.race.end(self.index);
        let _ = self.to.send(());
    }
}

impl MethodWorker {
    pub fn start(mut self, task: Task, listen: Listen, done: Sender<()>) -> std::io::Result<()> {
        let name = self.method.about().name;
        self.run.events = Arc::new(move |event| listen(name, event));
        let thread = std::thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
        thread.spawn(move || {
            let _done = DoneSignal { race: self.race.clone(), index: self.index, to: done };
            self.work(&task);
        })?;
        Ok(())
    }

    /// Claims that the method publishes while it works are checked at once, and stay whatever becomes of the method. A panic of
    /// the checker on the way loses nothing: the claims come again with the answer.
    fn open_for_claims(&mut self, task: &Task) {
        let own = Mutex::new((self.clone(), task.clone()));
        self.run.publisher = Arc::new(move |claims| {
            let own = own.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (worker, task) = &*own;
            drop(worker.have_checked(task, claims));
        });
    }

    pub fn work(&mut self, task: &Task) {
        self.open_for_claims(task);
        match guarded(|| self.method.run(task, &self.run)) {
            Err(panic) => {
                let reason = Reason::Internal(panic.clone());
                self.note_reasons(task.properties.iter().map(|p| (*p, reason.to_string())));
                self.set_state(MethodState::Failed(panic));
            }
            Ok(claims) => self.take_answer(task, claims),
        }
    }

    /// Changes the board, unless what is reported is decided already.
    fn change(&self, change: impl FnOnce(&mut FileRows)) {
        self.board.with_file(self.file, |f| {
            if !f.concluded {
                change(f);
            }
        });
    }

    fn set_state(&self, state: MethodState) {
        self.change(|f| f.methods[self.index].state = state);
    }

    fn note_reasons(&self, reasons: impl Iterator<Item = (PropertyId, String)>) {
        let reasons: Vec<_> = reasons.collect();
        self.change(|f| {
            for (property, reason) in reasons {
                if let Some(row) = f.rows.iter_mut().find(|r| r.id == property) {
                    row.reasons.push((self.index, reason));
                    row.reasons.sort();
                    row.reasons.dedup();
                }
            }
        });
    }

    fn take_answer(&self, task: &Task, claims: Claims) {
        let placed = |line: &String| crate::judge::placed(&task.program, &self.sources, line);
        for (property, claim) in claims.claims.iter().filter(|(p, _)| task.properties.contains(p)) {
            if let Claim::Undecided(reason) = claim {
                self.note_reasons(std::iter::once((*property, placed(&reason.to_string()))));
            }
        }
        let checked = self.have_checked(task, &claims);
        self.change(|f| {
            let method = &mut f.methods[self.index];
            method.statistics = claims.statistics;
            method.notes = claims.notes.iter().map(placed).collect();
            method.pictures = claims.pictures;
        });
        self.set_state(match checked {
            Ok(()) => MethodState::Answered,
            Err(panic) => MethodState::Failed(format!("the checker ended in a panic: {panic}")),
        });
    }

    /// Has the claims checked, and puts what the checker says on the board.
    fn have_checked(&self, task: &Task, claims: &Claims) -> Result<(), String> {
        let is_construct =
            |p: PropertyId| matches!(task.program.properties[p].kind, program::PropertyKind::Unmodelled(_));
        let mine = claims.claims.iter().filter(|(p, _)| task.properties.contains(p));
        let (constructs, others): (Vec<_>, Vec<_>) =
            mine.map(|(p, c)| (*p, c.clone())).partition(|(p, _)| is_construct(*p));
        let mut oracle = (self.oracle)(&self.checking, self.cache.clone());
        let mut post = Post { worker: self, task, claims, certificates: Vec::new() };
        guarded(|| {
            let name = self.method.about().name;
            let mut judge =
                Judge::new(&task.program, &self.sources, name, &mut oracle, &self.checking, self.search_effort);
            let constructs: Vec<_> = constructs.into_iter().filter(|(_, c)| claimed(c).is_some()).collect();
            for (property, judged) in judge.constructs(&constructs) {
                post.post(property, judged);
            }
            for (property, claim) in &others {
                if claimed(claim).is_some_and(|outcome| self.is_worth_checking(*property, outcome)) {
                    let judged = judge.judge(*property, claim);
                    post.post(*property, judged);
                }
            }
        })
    }

    /// Not if this method has answered already, nor if an equal answer is there that is preferred.
    fn is_worth_checking(&self, property: PropertyId, outcome: RowOutcome) -> bool {
        let best = self.race.best(self.index);
        self.board.with_file(self.file, |f| {
            let candidates = f.rows.iter().filter(|r| r.id == property).flat_map(|r| &r.candidates);
            let equal = |c: &&CheckedAnswer| c.finding.outcome() == outcome;
            !candidates.clone().filter(equal).any(|c| c.method == self.index || c.rank < best)
        })
    }
}

/// Puts the findings of one list of claims on the board.
struct Post<'a> {
    worker: &'a MethodWorker,
    task: &'a Task,
    claims: &'a Claims,
    /// Where the certificates of this judge are on the board.
    certificates: Vec<usize>,
}

impl Post<'_> {
    /// Two answers that contradict each other end in an error.
    fn post(&mut self, property: PropertyId, judged: Judged) {
        let worker = self.worker;
        let Judged { finding, entry } = judged;
        let entry = worker.board.with_file(worker.file, |f| keep(f, &mut self.certificates, entry));
        if finding.outcome() == RowOutcome::Unknown {
            return worker.note_reasons(std::iter::once((property, finding.reason().to_string())));
        }
        let placed = |line: &String| crate::judge::placed(&self.task.program, &worker.sources, line);
        let notes = self.claims.notes.iter().map(placed).collect();
        worker.change(|f| {
            let rank = worker.race.rank(worker.index, finding.trust());
            let statistics = self.claims.statistics.clone();
            let new = CheckedAnswer { rank, method: worker.index, finding, entry, statistics, notes };
            let Some(row) = f.rows.iter_mut().find(|r| r.id == property) else { return };
            if row.candidates.iter().any(|c| c.method == new.method && c.finding.outcome() == new.finding.outcome()) {
                return;
            }
            if let Some(old) = row.candidates.iter().find(|c| c.finding.outcome() != new.finding.outcome()) {
                let (a, b) = if new.method < old.method { (&new, old) } else { (old, &new) };
                f.internal.push(format!(
                    "{}: {} says {} and {} says {}, and the checker accepted both",
                    row.name,
                    a.finding.method(),
                    a.finding.outcome().word(),
                    b.finding.method(),
                    b.finding.outcome().word()
                ));
                f.contradictions.push((a.entry, b.entry));
                row.finding = None;
                row.disputed = true;
                return;
            }
            row.candidates.push(new);
            if !row.disputed {
                row.finding = row.candidates.iter().min_by_key(|c| c.rank).map(|c| c.finding.clone());
            }
        });
    }
}

/// Keeps evidence on the board, and says where.
fn keep(f: &mut FileRows, certificates: &mut Vec<usize>, entry: KeptEvidence) -> Option<usize> {
    match entry {
        KeptEvidence::None => None,
        KeptEvidence::New(entry) => {
            f.evidence.push(entry);
            Some(f.evidence.len() - 1)
        }
        KeptEvidence::Certificate(n, entry) => {
            if let Some(entry) = entry {
                f.evidence.push(entry);
                certificates.push(f.evidence.len() - 1);
            }
            certificates.get(n).copied()
        }
    }
}

/// What a claim says, if it says anything.
fn claimed(claim: &Claim) -> Option<RowOutcome> {
    match claim {
        Claim::Undecided(_) => None,
        Claim::Proved(_) => Some(RowOutcome::Safe),
        Claim::Refuted(_) => Some(RowOutcome::Unsafe),
    }
}
