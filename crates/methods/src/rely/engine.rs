//! Which of many candidate annotations hold together: Houdini's elimination over Calvin's conditions, on several cores.
//!
//! In: a program, its cuts, and candidates (conjuncts of the invariant, of what a thread relies on, of what holds at a cut).
//! Out: the largest set of candidates that supports itself under rule `assume-guarantee`; which properties follow; and a
//! small set that suffices. Every candidate stands behind a switch of its own, so the conditions are built once: a model
//! of a failing condition drops all candidates that it violates, an unsatisfiable core names those that were used.
//! The conditions are shared out to workers (`zones`), each with its own copy of the terms. They work in rounds:
//! what one of them drops the others learn in the next, so the outcome does not depend on who is faster.
//! Absent: where candidates come from; words for people.

use super::explain::Told;
use super::zones::Zones;
use crate::instances::{at_keys, universal};
use base::Budget;
use evidence::{Reach, Reason};
use logic::{Sort, Symbol, Term, Terms};
use program::{LocId, Program, PropertyId, Start, ThreadId};
use rustc_hash::FxHashSet;
use solver::Settings;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Where a candidate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    Invariant,
    Rely(ThreadId),
    Cut(ThreadId, LocId),
}

#[derive(Clone, Debug)]
pub struct Candidate {
    pub place: Place,
    pub formula: Term,
    /// What it is in the text: a written annotation, by the property or the origin it belongs to.
    pub written: Option<Written>,
    /// The boolean that switches it on.
    pub switch: Symbol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Property(PropertyId),
    /// A loop invariant of the location.
    Loop(program::OriginId),
}

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    Candidate(usize),
    Property(PropertyId),
}

/// How quantified candidates are put to the solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifiers {
    /// At the keys at hand (`crate::instances`): it answers, and some proofs are not seen.
    Instances,
    /// As they are: it may give up.
    Whole,
}

/// Whether it is told why a condition does not hold: words take models, and are wasted where another attempt follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    Told,
    Spared,
}

/// What is fixed for one attempt. Every worker has its own copy: terms are not shared between threads.
#[derive(Clone)]
pub struct Setting {
    pub program: Program,
    pub terms: Terms,
    pub candidates: Vec<Candidate>,
    /// For each thread.
    pub cuts: Vec<Vec<LocId>>,
    /// Increasing.
    pub wanted: Vec<PropertyId>,
    /// The id of another instance.
    pub other: Symbol,
    pub reach: Reach,
    pub quantifiers: Quantifiers,
    pub words: Words,
    pub settings: Settings,
    pub budget: Budget,
}

impl Setting {
    pub fn switch(&self, k: usize) -> Term {
        self.terms.sym(self.candidates[k].switch)
    }

    /// A candidate behind its switch; a quantified one also for the ids at hand.
    pub fn guarded(&self, k: usize) -> Term {
        let t = &self.terms;
        let f = self.candidates[k].formula;
        let mut parts = vec![t.implies(self.switch(k), f)];
        if let Some((bound, body)) =
            universal(t, f).filter(|(bound, _)| self.quantifiers == Quantifiers::Whole && bound.len() == 1)
            && t.symbol_sort(bound[0]) == Sort::INT
        {
            let ids = |_| vec![t.sym(self.program.tid), t.sym(self.other)];
            parts.extend(at_keys(t, &bound, body, &ids).into_iter().map(|known| t.implies(self.switch(k), known)));
        }
        t.and(&parts)
    }
}

/// A piece of the conditions, for one worker.
#[derive(Clone, Debug)]
pub enum Job {
    /// Invariants among these candidates hold at first.
    Initial(Range<usize>),
    Closed(ThreadId),
    Stable(ThreadId),
    /// Regions from these cuts, `None`: from the entry.
    Thread(ThreadId, Vec<Option<LocId>>),
}

/// Which conditions are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Properties, and written invariants and loop invariants.
    Judged,
    Properties,
    /// That written relies are reflexive and transitive.
    Open,
    Everything,
}

/// What the engine asks of every worker.
pub enum Ask {
    Sift { alive: Arc<Vec<bool>>, gone: Arc<Vec<usize>>, again: bool, hold_written: bool },
    Failures { alive: Arc<Vec<bool>>, which: Which },
    Needed { alive: Arc<Vec<bool>>, need: Arc<Vec<bool>>, properties: Arc<FxHashSet<PropertyId>> },
}

pub enum Said {
    Dropped(Vec<usize>),
    /// The position of the job, and what is to be told.
    Failed(Vec<(usize, Told)>),
    Used(Vec<usize>),
}

struct Worker {
    asks: Sender<Arc<Ask>>,
    says: Receiver<(u64, Result<Said, Reason>)>,
    questions: u64,
}

pub struct Engine<'a> {
    pub setting: &'a Setting,
    pub alive: Vec<bool>,
    workers: Vec<Worker>,
}

/// Regions of one thread in one job: code that is long is shared out.
const TOGETHER: usize = 4;
const INITIAL: usize = 200;
/// Fewer jobs than this are not worth a second worker.
const WORTH: usize = 6;
/// Deep terms are walked by recursion.
const STACK: usize = 1 << 28;

fn jobs(s: &Setting) -> Vec<Job> {
    let mut out = Vec::new();
    let mut from = 0;
    while from < s.candidates.len() {
        let to = (from + INITIAL).min(s.candidates.len());
        if s.candidates[from..to].iter().any(|c| c.place == Place::Invariant) {
            out.push(Job::Initial(from..to));
        }
        from = to;
    }
    for (id, thread) in s.program.threads.iter_enumerated() {
        out.push(Job::Closed(id));
        let mut starts: Vec<Option<LocId>> = s.cuts[id.0 as usize].iter().map(|l| Some(*l)).collect();
        if thread.start == Start::AtOnce {
            starts.push(None);
        } else {
            out.push(Job::Stable(id));
        }
        out.extend(starts.chunks(TOGETHER).map(|c| Job::Thread(id, c.to_vec())));
    }
    out
}

impl<'a> Engine<'a> {
    /// Builds the conditions with so many workers at most, and does something with them.
    pub fn with<R>(
        setting: &'a Setting,
        most: usize,
        work: impl FnOnce(&mut Engine<'a>) -> Result<R, Reason>,
    ) -> Result<R, Reason> {
        let jobs: Vec<(usize, Job)> = jobs(setting).into_iter().enumerate().collect();
        let count = most.clamp(1, (jobs.len() / WORTH).max(1));
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for w in 0..count {
                let mine: Vec<(usize, Job)> = jobs.iter().filter(|(i, _)| i % count == w).cloned().collect();
                let own = setting.clone();
                let (asks, asked) = channel::<Arc<Ask>>();
                let (say, says) = channel();
                let builder = std::thread::Builder::new().name(format!("rely {w}")).stack_size(STACK);
                let started = builder.spawn_scoped(scope, move || serve(&own, &mine, &asked, &say));
                started.map_err(|e| Reason::Internal(format!("a thread could not be started: {e}")))?;
                workers.push(Worker { asks, says, questions: 0 });
            }
            let mut engine = Engine { setting, alive: vec![true; setting.candidates.len()], workers };
            work(&mut engine)
        })
    }

    pub fn questions(&self) -> u64 {
        self.workers.iter().map(|w| w.questions).sum()
    }

    fn ask(&mut self, ask: Ask) -> Result<Vec<Said>, Reason> {
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
    pub fn eliminate(&mut self, hold_written: bool, mut again: bool) -> Result<(), Reason> {
        let mut gone: Vec<usize> = Vec::new();
        loop {
            let ask = Ask::Sift { alive: self.now(), gone: Arc::new(std::mem::take(&mut gone)), again, hold_written };
            again = false;
            for said in self.ask(ask)? {
                if let Said::Dropped(list) = said {
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
    pub fn give_up_open_relations(&mut self) -> Result<(), Reason> {
        loop {
            let mut gone = Vec::new();
            for told in self.failures(Which::Open)? {
                if let About::Candidate(k) = told.about {
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
    pub fn eliminate_all(&mut self) -> Result<(), Reason> {
        self.eliminate(false, true)
    }

    /// The selected conditions that do not hold.
    pub fn failures(&mut self, which: Which) -> Result<Vec<Told>, Reason> {
        let mut out: Vec<(usize, Told)> = Vec::new();
        for said in self.ask(Ask::Failures { alive: self.now(), which })? {
            if let Said::Failed(list) = said {
                out.extend(list);
            }
        }
        out.sort_by_key(|(job, _)| *job);
        Ok(out.into_iter().map(|(_, told)| told).collect())
    }

    /// A small set of candidates that supports itself and the properties.
    pub fn needed(&mut self, properties: &[PropertyId], also: &[usize]) -> Result<Vec<usize>, Reason> {
        let mut need: Vec<bool> = vec![false; self.alive.len()];
        also.iter().for_each(|k| need[*k] = true);
        let properties: Arc<FxHashSet<PropertyId>> = Arc::new(properties.iter().copied().collect());
        loop {
            let mut grew = false;
            let ask = Ask::Needed { alive: self.now(), need: Arc::new(need.clone()), properties: properties.clone() };
            for said in self.ask(ask)? {
                if let Said::Used(list) = said {
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

/// One worker: builds its zones, then answers until nobody asks any more.
fn serve(
    setting: &Setting,
    jobs: &[(usize, Job)],
    asks: &Receiver<Arc<Ask>>,
    say: &Sender<(u64, Result<Said, Reason>)>,
) {
    let mut zones = Zones::new(setting, jobs);
    while let Ok(ask) = asks.recv() {
        let said = match &mut zones {
            Ok(zones) => {
                let said = zones.answer(&ask);
                (zones.questions(), said)
            }
            Err(reason) => (0, Err(reason.clone())),
        };
        if say.send(said).is_err() {
            return;
        }
    }
}

pub fn initial_store(p: &Program, t: &Terms) -> Term {
    let mut init: Vec<Term> =
        p.shared().filter_map(|v| p.vars[v].initial.map(|i| t.eq(t.sym(p.vars[v].symbol), i))).collect();
    init.extend(p.init.iter().filter_map(|f| f.formula));
    t.and(&init)
}

pub fn solver_reason(why: solver::Reason) -> Reason {
    Reason::Solver { reason: why.to_string(), obligation: "a verification condition".into() }
}

pub fn bool_switch(terms: &Terms) -> Symbol {
    terms.symbol("on", Sort::BOOL)
}
