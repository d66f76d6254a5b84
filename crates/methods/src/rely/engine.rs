//! Which of many candidate annotations hold together: Houdini's elimination over Calvin's conditions, on several cores.
//!
//! In: a program, its cuts, and candidates (conjuncts of the invariant, of what a thread relies on, of what holds at a cut).
//! Out: the largest set of candidates that supports itself under rule `assume-guarantee`; which properties follow; and a
//! small set that suffices. Every candidate stands behind a switch of its own, so the conditions are built once: a model
//! of a failing condition drops all candidates that it violates, an unsatisfiable core names those that were used.
//! The conditions are shared out to workers (`groups`), each with its own copy of the terms. They work in rounds:
//! what one of them drops the others learn in the next, so the outcome does not depend on who is faster.
//! Deliberately absent: where candidates come from; explanations for people.

use super::groups::GroupSolver;
use super::setting::{
    AnnotationSite, ConditionJob, ConditionSubject, Explanation, ProofSetting, Which, WorkerRequest, WorkerResponse,
};
use evidence::Reason;
use program::{LocId, PropertyId, Start};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

struct EliminationWorker {
    asks: Sender<Arc<WorkerRequest>>,
    says: Receiver<(u64, Result<WorkerResponse, Reason>)>,
    questions: u64,
}

pub(crate) struct EliminationEngine<'a> {
    pub(crate) setting: &'a ProofSetting,
    pub alive: Vec<bool>,
    workers: Vec<EliminationWorker>,
}

/// Regions of one thread in one job: code that is long is shared out.
const REGIONS_PER_JOB: usize = 4;
const INITIAL_CANDIDATES_PER_JOB: usize = 200;
/// Fewer jobs than this are not worth a second worker.
const MIN_JOBS_PER_WORKER: usize = 6;
/// Deep terms are walked by recursion.
const STACK_BYTES: usize = 1 << 28;

fn jobs(s: &ProofSetting) -> Vec<ConditionJob> {
    let mut out = Vec::new();
    let mut from = 0;
    while from < s.candidates.len() {
        let to = (from + INITIAL_CANDIDATES_PER_JOB).min(s.candidates.len());
        if s.candidates[from..to].iter().any(|c| c.place == AnnotationSite::Invariant) {
            out.push(ConditionJob::Initial(from..to));
        }
        from = to;
    }
    for (id, thread) in s.program.threads.iter_enumerated() {
        out.push(ConditionJob::Closed(id));
        let mut starts: Vec<Option<LocId>> = s.cuts[id.index()].iter().map(|l| Some(*l)).collect();
        if thread.start == Start::Initial {
            starts.push(None);
        } else {
            out.push(ConditionJob::Stable(id));
        }
        out.extend(starts.chunks(REGIONS_PER_JOB).map(|c| ConditionJob::Thread(id, c.to_vec())));
    }
    out
}

impl<'a> EliminationEngine<'a> {
    /// Builds the conditions with so many workers at most, and does something with them.
    pub(super) fn with<R>(
        setting: &'a ProofSetting,
        most: usize,
        work: impl FnOnce(&mut EliminationEngine<'a>) -> Result<R, Reason>,
    ) -> Result<R, Reason> {
        let jobs: Vec<(usize, ConditionJob)> = jobs(setting).into_iter().enumerate().collect();
        let count = most.clamp(1, (jobs.len() / MIN_JOBS_PER_WORKER).max(1));
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for w in 0..count {
                let mine: Vec<(usize, ConditionJob)> = jobs.iter().filter(|(i, _)| i % count == w).cloned().collect();
                let own = setting.clone();
                let (asks, asked) = channel::<Arc<WorkerRequest>>();
                let (say, says) = channel();
                let builder = std::thread::Builder::new().name(format!("rely {w}")).stack_size(STACK_BYTES);
                let started = builder.spawn_scoped(scope, move || serve(&own, &mine, &asked, &say));
                started.map_err(|e| Reason::Internal(format!("a thread could not be started: {e}")))?;
                workers.push(EliminationWorker { asks, says, questions: 0 });
            }
            let mut engine = EliminationEngine { setting, alive: vec![true; setting.candidates.len()], workers };
            work(&mut engine)
        })
    }

    pub(super) fn questions(&self) -> u64 {
        self.workers.iter().map(|w| w.questions).sum()
    }

    fn ask(&mut self, ask: WorkerRequest) -> Result<Vec<WorkerResponse>, Reason> {
        let ask = Arc::new(ask);
        let lost = || Reason::Internal("a worker ended early".into());
        for w in &self.workers {
            w.asks.send(ask.clone()).map_err(|_| lost())?;
        }
        let mut out = Vec::new();
        let mut wrong = None;
        for w in &mut self.workers {
            let (questions, said) = w.says.recv().map_err(|_| lost())?;
            w.questions = questions;
            match said {
                Ok(said) => out.push(said),
                Err(reason) => wrong = wrong.or(Some(reason)),
            }
        }
        wrong.map_or(Ok(out), Err)
    }

    fn now(&self) -> Arc<Vec<bool>> {
        Arc::new(self.alive.clone())
    }

    /// Drops candidates until the rest support each other; `hold_written`: written ones are never dropped.
    pub(crate) fn eliminate(&mut self, hold_written: bool, mut again: bool) -> Result<(), Reason> {
        let mut gone: Vec<usize> = Vec::new();
        loop {
            let ask = WorkerRequest::Eliminate {
                alive: self.now(),
                gone: Arc::new(std::mem::take(&mut gone)),
                again,
                hold_written,
            };
            again = false;
            for said in self.ask(ask)? {
                if let WorkerResponse::Dropped(list) = said {
                    gone.extend(list);
                }
            }
            gone.sort_unstable();
            gone.dedup();
            if gone.is_empty() {
                return Ok(());
            }
            gone.iter().for_each(|k| self.alive[*k] = false);
        }
    }

    /// Written relies that are not reflexive or not transitive cannot stand for any number of steps: they stay properties.
    pub(crate) fn give_up_open_relations(&mut self) -> Result<(), Reason> {
        loop {
            let mut gone = Vec::new();
            for explanation in self.failures(Which::Open)? {
                if let ConditionSubject::Candidate(k) = explanation.about {
                    gone.push(k);
                }
            }
            if gone.is_empty() {
                return Ok(());
            }
            gone.iter().for_each(|k| self.alive[*k] = false);
            self.eliminate(true, true)?;
        }
    }

    /// Drops whatever does not hold, written or not.
    pub(crate) fn eliminate_all(&mut self) -> Result<(), Reason> {
        self.eliminate(false, true)
    }

    /// The selected conditions that do not hold.
    pub(super) fn failures(&mut self, which: Which) -> Result<Vec<Explanation>, Reason> {
        let mut out: Vec<(usize, Explanation)> = Vec::new();
        for said in self.ask(WorkerRequest::Failures { alive: self.now(), which })? {
            if let WorkerResponse::Failed(list) = said {
                out.extend(list);
            }
        }
        out.sort_by_key(|(job, _)| *job);
        Ok(out.into_iter().map(|(_, explanation)| explanation).collect())
    }

    /// A small set of candidates that supports itself and the properties.
    pub(super) fn needed(&mut self, properties: &[PropertyId], also: &[usize]) -> Result<Vec<usize>, Reason> {
        let mut need: Vec<bool> = vec![false; self.alive.len()];
        also.iter().for_each(|k| need[*k] = true);
        let properties: Arc<FxHashSet<PropertyId>> = Arc::new(properties.iter().copied().collect());
        loop {
            let mut grew = false;
            let ask = WorkerRequest::Needed {
                alive: self.now(),
                need: Arc::new(need.clone()),
                properties: properties.clone(),
            };
            for said in self.ask(ask)? {
                if let WorkerResponse::Used(list) = said {
                    for k in list {
                        grew |= !std::mem::replace(&mut need[k], true);
                    }
                }
            }
            if !grew {
                return Ok((0..need.len()).filter(|k| need[*k]).collect());
            }
        }
    }
}

/// One worker: builds its groups, then answers until there are no more requests.
fn serve(
    setting: &ProofSetting,
    jobs: &[(usize, ConditionJob)],
    asks: &Receiver<Arc<WorkerRequest>>,
    say: &Sender<(u64, Result<WorkerResponse, Reason>)>,
) {
    let mut groups = GroupSolver::new(setting, jobs);
    while let Ok(ask) = asks.recv() {
        let said = match &mut groups {
            Ok(groups) => {
                let said = groups.answer(&ask);
                (groups.questions(), said)
            }
            Err(reason) => (0, Err(reason.clone())),
        };
        if say.send(said).is_err() {
            return;
        }
    }
}
