//! What one attempt is about: candidates, the conditions they are judged by, and what the engine and its workers say to each other.
//!
//! In: a program, its cuts, candidate facts. Out: data that every worker has its own copy of. Deliberately absent: how conditions are
//! built (`conditions`), solved (`groups`) and shared out (`engine`).

use crate::instances::{at_keys, universal};
use base::Budget;
use evidence::{Premises, Reason};
use logic::{Sort, Symbol, Term, Terms};
use program::{LocId, Program, PropertyId, ThreadId};
use rustc_hash::FxHashSet;
use solver::SolverSettings;
use std::ops::Range;
use std::sync::Arc;

/// Where a candidate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AnnotationSite {
    Invariant,
    Rely(ThreadId),
    Cut(ThreadId, LocId),
}

#[derive(Clone, Debug)]
pub(crate) struct CandidateFact {
    pub place: AnnotationSite,
    pub formula: Term,
    /// What it is in the text: a written annotation, by the property or the origin it belongs to.
    pub written: Option<WrittenFact>,
    /// The boolean that switches it on.
    pub switch: Symbol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenFact {
    Property(PropertyId),
    /// A loop invariant of the location.
    Loop(program::OriginId),
}

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ConditionSubject {
    Candidate(usize),
    Property(PropertyId),
}

/// How quantified candidates are put to the solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifiers {
    /// At the keys at hand (`crate::instances`): it answers, and some proofs are not seen.
    Instances,
    /// As they are: it may give up.
    Whole,
}

/// Whether a report says why a condition does not hold: explanations take models, and are wasted where another attempt follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explain {
    Failures,
    Nothing,
}

/// What is fixed for one attempt. Every worker has its own copy: terms are not shared between threads.
#[derive(Clone)]
pub(crate) struct ProofSetting {
    pub program: Program,
    pub terms: Terms,
    pub candidates: Vec<CandidateFact>,
    /// For each thread.
    pub cuts: Vec<Vec<LocId>>,
    /// Increasing.
    pub wanted: Vec<PropertyId>,
    /// The id of another instance.
    pub other: Symbol,
    pub premises: Premises,
    pub(crate) quantifiers: Quantifiers,
    pub explain: Explain,
    pub settings: SolverSettings,
    pub budget: Budget,
}

impl ProofSetting {
    pub(super) fn switch(&self, k: usize) -> Term {
        self.terms.sym(self.candidates[k].switch)
    }

    /// A candidate behind its switch; a quantified one also for the ids at hand.
    pub(super) fn guarded(&self, k: usize) -> Term {
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
pub(crate) enum ConditionJob {
    /// Invariants among these candidates hold at first.
    Initial(Range<usize>),
    Closed(ThreadId),
    Stable(ThreadId),
    /// Regions from these cuts, `None`: from the entry.
    Thread(ThreadId, Vec<Option<LocId>>),
}

/// Which conditions are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Properties, and written invariants and loop invariants.
    Judged,
    Properties,
    /// That written relies are reflexive and transitive.
    Open,
    Everything,
}

/// What the engine asks of every worker.
pub(crate) enum WorkerRequest {
    Eliminate { alive: Arc<Vec<bool>>, gone: Arc<Vec<usize>>, again: bool, hold_written: bool },
    Failures { alive: Arc<Vec<bool>>, which: Which },
    Needed { alive: Arc<Vec<bool>>, need: Arc<Vec<bool>>, properties: Arc<FxHashSet<PropertyId>> },
}

pub(crate) enum WorkerResponse {
    Dropped(Vec<usize>),
    /// The position of the job, and what is to be reported.
    Failed(Vec<(usize, Explanation)>),
    Used(Vec<usize>),
}

pub(crate) fn solver_reason(why: solver::UnknownReason) -> Reason {
    Reason::Solver { reason: why.to_string(), obligation: "a verification condition".into() }
}

pub(crate) fn bool_switch(terms: &Terms) -> Symbol {
    terms.symbol("on", Sort::BOOL)
}

/// What the condition was about, for telling causes apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    pub about: ConditionSubject,
    pub lines: Vec<String>,
}

impl Explanation {
    /// That it does not hold, without an explanation.
    pub(crate) fn unsaid(about: ConditionSubject) -> Self {
        Self { about, lines: Vec::new() }
    }
}
