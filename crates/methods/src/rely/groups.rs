//! One worker's share of the conditions of rule `assume-guarantee`, put to the solver.
//!
//! In: a `ProofSetting` and some of its jobs. Out: their groups (`conditions`), each with a solver session, and answers to
//! what the engine asks of all workers: which candidates do not hold, which conditions fail and why, which candidates an
//! unsatisfiable core names. A group is asked as a whole first, and condition by condition only where that does not decide.
//! Deliberately absent: the order of rounds and what is concluded (`engine`); explanations for people (`explain`).

mod explain;

use super::conditions::{CandidateIndex, Codes, ConditionGroup, ConditionOf};
use super::setting::Explanation;
use super::setting::{
    AnnotationSite, ConditionJob, ConditionSubject, Explain, ProofSetting, Which, WorkerRequest, WorkerResponse,
};
use crate::infer::houdini::{CandidateGoal, Elimination, QuestionOrder, denied, eliminate};
use evidence::Reason;
use logic::{Term, Terms, Value};
use program::{Program, PropertyId};
use rustc_hash::FxHashSet;
use solver::{Satisfiability, Smt, Z3};

/// So many groups have a solver session each. More share one, in which the facts of one group at a time stand: to open a session
/// takes longer than most questions.
const MAX_OWN_SESSIONS: usize = 4;
/// After so many changes of group a shared session is opened anew: what it has seen stays in its memory.
const CHANGES_PER_SESSION: usize = 600;

/// How many failing conditions one worker explains.
const MAX_EXPLAINED: usize = 40;

/// A condition that does not hold: where, and whether the solver had values for it.
pub(crate) struct ConditionFailure {
    pub group: usize,
    pub batch: usize,
    pub goal: usize,
    pub unknown: Option<String>,
}

enum Answered {
    Holds(Vec<usize>),
    /// It has a counterexample, or the solver did not decide.
    Fails(Option<String>),
}

pub(crate) struct GroupSolver<'a> {
    pub(crate) setting: &'a ProofSetting,
    pub program: &'a Program,
    pub terms: &'a Terms,
    pub groups: Vec<ConditionGroup>,
    sessions: Vec<Option<Z3<'a>>>,
    /// For each session, the group whose facts it has now.
    holds: Vec<Option<usize>>,
    changes: usize,
    alive: Vec<bool>,
    /// The groups whose facts mention a candidate.
    used_in: Vec<Vec<usize>>,
    /// The groups that have to be asked again.
    open: Vec<bool>,
    /// Written candidates are not judged now.
    hold_written: bool,
    questions: u64,
}

impl<'a> GroupSolver<'a> {
    pub(super) fn new(setting: &'a ProofSetting, jobs: &[(usize, ConditionJob)]) -> Result<Self, Reason> {
        let index = CandidateIndex::new(setting);
        let (mut groups, mut codes) = (Vec::new(), Codes::default());
        for (at, job) in jobs {
            groups.extend(index.build(*at, job, &mut codes)?);
        }
        let mut used_in: Vec<Vec<usize>> = vec![Vec::new(); setting.candidates.len()];
        for (z, group) in groups.iter().enumerate() {
            group.uses.iter().for_each(|k| used_in[*k].push(z));
        }
        Ok(Self {
            setting,
            program: &setting.program,
            terms: &setting.terms,
            sessions: groups.iter().map(|_| None).collect(),
            holds: vec![None; groups.len()],
            changes: 0,
            open: vec![true; groups.len()],
            groups,
            alive: vec![true; setting.candidates.len()],
            used_in,
            hold_written: false,
            questions: 0,
        })
    }

    pub(super) fn answer(&mut self, ask: &WorkerRequest) -> Result<WorkerResponse, Reason> {
        match ask {
            WorkerRequest::Eliminate { alive, gone, again, hold_written } => {
                self.alive.clone_from(alive);
                if *again {
                    self.open.fill(true);
                }
                for k in gone.iter() {
                    self.used_in[*k].iter().for_each(|z| self.open[*z] = true);
                }
                self.hold_written = *hold_written;
                self.drop_refuted()
            }
            WorkerRequest::Failures { alive, which } => {
                self.alive.clone_from(alive);
                self.failed(*which)
            }
            WorkerRequest::Needed { alive, need, properties } => {
                self.alive.clone_from(alive);
                self.needed(need, properties)
            }
        }
    }

    pub(super) fn questions(&self) -> u64 {
        self.questions
    }

    /// A session with the facts of the group. They are in a scope of their own where it is shared.
    fn session_of(&mut self, group: usize) -> Result<&mut Z3<'a>, Reason> {
        let shared = self.groups.len() > MAX_OWN_SESSIONS;
        let at = if shared { 0 } else { group };
        if self.holds[at] != Some(group) {
            if self.changes == CHANGES_PER_SESSION {
                self.sessions[at] = None;
                self.holds[at] = None;
                self.changes = 0;
            }
            if self.sessions[at].is_none() {
                let s = self.setting;
                let z3 = Z3::new(self.terms, s.settings, &s.budget).map_err(super::setting::solver_reason)?;
                self.sessions[at] = Some(z3);
            }
            let z3 = self.sessions[at].as_mut().expect("it was opened");
            if shared {
                self.changes += 1;
                if self.holds[at].is_some() {
                    z3.pop();
                }
                z3.push();
            }
            for f in &self.groups[group].facts {
                z3.assert(*f);
            }
            self.holds[at] = Some(group);
        }
        Ok(self.sessions[at].as_mut().expect("it was opened"))
    }

    /// The switches that are on and matter in a group.
    fn on(&self, group: usize) -> Vec<Term> {
        self.groups[group].uses.iter().filter(|k| self.alive[**k]).map(|k| self.setting.switch(*k)).collect()
    }

    fn budget(&self) -> Result<(), Reason> {
        self.setting.budget.check().map_err(Reason::Exhausted)
    }

    /// Drops candidates until the rest hold in every group of this worker. What is dropped here is known here at once; other workers learn it
    /// in the next round.
    fn drop_refuted(&mut self) -> Result<WorkerResponse, Reason> {
        let mut open = std::mem::take(&mut self.open);
        let dropped = eliminate(self, self.terms, &mut open, QuestionOrder::First);
        self.open = open;
        let mut dropped = dropped?;
        dropped.sort_unstable();
        Ok(WorkerResponse::Dropped(dropped))
    }

    /// Whether nothing has to be shown of a group, since its start is not reached.
    fn is_dead(&self, group: usize) -> bool {
        self.groups[group].dead.is_some_and(|k| self.alive[k])
    }

    /// While the facts of a group stand in the session, its properties cost little; what holds is not asked again as long as what it
    /// rests on stays.
    fn show_properties(&mut self, group: usize) -> Result<(), Reason> {
        if self.shown(group).is_some() {
            return Ok(());
        }
        let goals = self.selected(group, Which::Properties);
        if !goals.is_empty() {
            let answer = self.ask(group, &goals)?;
            let held = |used| (goals.into_iter().collect(), used);
            self.groups[group].shown = if let Answered::Holds(used) = answer { Some(held(used)) } else { None };
        }
        Ok(())
    }

    /// What is known to hold of a group, and on which candidates it rests.
    fn shown(&self, group: usize) -> Option<&(FxHashSet<(usize, usize)>, Vec<usize>)> {
        self.groups[group].shown.as_ref().filter(|(_, used)| used.iter().all(|k| self.alive[*k]))
    }

    /// Asks conditions of a group, by batch and goal, at once.
    fn ask(&mut self, group: usize, goals: &[(usize, usize)]) -> Result<Answered, Reason> {
        self.budget()?;
        if goals.is_empty() {
            return Ok(Answered::Holds(Vec::new()));
        }
        let formula = |(b, g): &(usize, usize)| (*b, self.groups[group].batches[*b].goals[*g].formula);
        let denied = denied(self.terms, &self.batches(group), goals.iter().map(formula));
        let on = self.on(group);
        self.questions += 1;
        let session = self.session_of(group)?;
        session.push();
        session.assert(denied);
        let answer = session.check_assuming(&on);
        let core = session.core();
        session.pop();
        Ok(match answer {
            Satisfiability::Unsat => {
                let core: FxHashSet<Term> = core.into_iter().collect();
                let named = |k: &usize| core.contains(&self.setting.switch(*k));
                Answered::Holds(self.groups[group].uses.iter().copied().filter(named).collect())
            }
            Satisfiability::Sat => Answered::Fails(None),
            Satisfiability::Unknown(why) => Answered::Fails(Some(why.to_string())),
        })
    }

    /// Values of terms in a model of a failing condition.
    pub(super) fn values(&mut self, failure: &ConditionFailure, wanted: &[Term]) -> Vec<Option<Value>> {
        let t = self.terms;
        let batch = &self.groups[failure.group].batches[failure.batch];
        let (when, formula) = (batch.when, batch.goals[failure.goal].formula);
        let on = self.on(failure.group);
        let Ok(session) = self.session_of(failure.group) else { return vec![None; wanted.len()] };
        session.push();
        session.assert(when);
        session.assert(t.not(formula));
        let sat = session.check_assuming(&on).is_sat();
        let out = wanted.iter().map(|w| if sat { session.value(*w) } else { None }).collect();
        session.pop();
        out
    }

    fn selected(&self, group: usize, which: Which) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let closed = matches!(self.groups[group].of, ConditionOf::Closed(_));
        for (b, batch) in self.groups[group].batches.iter().enumerate() {
            for (g, goal) in batch.goals.iter().enumerate() {
                let wanted = match (goal.about, which) {
                    (ConditionSubject::Property(_), Which::Open) => false,
                    (ConditionSubject::Property(_), _) => true,
                    (ConditionSubject::Candidate(k), _) if !self.alive[k] => false,
                    (ConditionSubject::Candidate(k), Which::Judged) => {
                        let c = &self.setting.candidates[k];
                        // A written rely is a property.
                        c.written.is_some() && !matches!(c.place, AnnotationSite::Rely(_))
                    }
                    (ConditionSubject::Candidate(k), Which::Open) => {
                        closed && self.setting.candidates[k].written.is_some()
                    }
                    (ConditionSubject::Candidate(_), Which::Properties) => false,
                    (ConditionSubject::Candidate(_), Which::Everything) => true,
                };
                if wanted {
                    out.push((b, g));
                }
            }
        }
        out
    }

    /// The selected conditions that do not hold, with an explanation.
    fn failed(&mut self, which: Which) -> Result<WorkerResponse, Reason> {
        let mut out: Vec<(usize, Explanation)> = Vec::new();
        for group in 0..self.groups.len() {
            if self.is_dead(group) {
                continue;
            }
            let mut all = self.selected(group, which);
            if let Some((shown, _)) = self.shown(group) {
                all.retain(|goal| !shown.contains(goal));
            }
            if !matches!(self.ask(group, &all)?, Answered::Holds(_)) {
                // Batch by batch, then one by one.
                for b in 0..self.groups[group].batches.len() {
                    let some: Vec<(usize, usize)> = all.iter().copied().filter(|(x, _)| *x == b).collect();
                    if some.is_empty() || matches!(self.ask(group, &some)?, Answered::Holds(_)) {
                        continue;
                    }
                    for (batch, goal) in some {
                        if let Answered::Fails(unknown) = self.ask(group, &[(batch, goal)])? {
                            let failure = ConditionFailure { group, batch, goal, unknown };
                            let about = self.groups[group].batches[batch].goals[goal].about;
                            let spared = self.setting.explain == Explain::Nothing || out.len() >= MAX_EXPLAINED;
                            let quiet = matches!(which, Which::Open | Which::Everything) || spared;
                            let explanation = if quiet {
                                Explanation::unsaid(about)
                            } else {
                                explain::explain_failure(self, &failure)
                            };
                            out.push((self.groups[group].job, explanation));
                        }
                    }
                }
            }
        }
        Ok(WorkerResponse::Failed(out))
    }

    /// The candidates that what is needed so far rests on, with what those rest on in their turn as far as it is known here.
    fn needed(&mut self, need: &[bool], properties: &FxHashSet<PropertyId>) -> Result<WorkerResponse, Reason> {
        let mut need = need.to_vec();
        let mut out = Vec::new();
        let mut grew = true;
        while std::mem::take(&mut grew) {
            // Needs go against the code: from a cut to what leads there, from a region to what it relies on.
            for z in (0..self.groups.len()).rev() {
                loop {
                    let used = self.rests_on(z, &need, properties)?;
                    let new: Vec<usize> = used.into_iter().filter(|k| !need[*k]).collect();
                    if new.is_empty() {
                        break;
                    }
                    new.iter().for_each(|k| need[*k] = true);
                    out.extend(new);
                    grew = true;
                }
            }
        }
        out.sort_unstable();
        Ok(WorkerResponse::Used(out))
    }

    /// What the needed conditions of a group rest on that were not looked at before.
    fn rests_on(
        &mut self,
        group: usize,
        need: &[bool],
        properties: &FxHashSet<PropertyId>,
    ) -> Result<Vec<usize>, Reason> {
        let mut list = Vec::new();
        for (b, batch) in self.groups[group].batches.iter().enumerate() {
            for (g, goal) in batch.goals.iter().enumerate() {
                let wanted = match goal.about {
                    ConditionSubject::Property(p) => properties.contains(&p),
                    ConditionSubject::Candidate(k) => need[k],
                };
                if wanted && !self.groups[group].done.contains(&(b, g)) {
                    list.push((b, g));
                }
            }
        }
        if list.is_empty() {
            return Ok(Vec::new());
        }
        self.groups[group].done.extend(list.iter().copied());
        if self.is_dead(group) {
            return Ok(Vec::from_iter(self.groups[group].dead));
        }
        let mut used = Vec::new();
        if let Some((shown, rests)) = self.shown(group) {
            let before = list.len();
            list.retain(|goal| !shown.contains(goal));
            if list.len() < before {
                used.clone_from(rests);
            }
        }
        match self.ask(group, &list)? {
            Answered::Holds(more) => used.extend(more),
            Answered::Fails(_) => {
                for one in &list {
                    match self.ask(group, &[*one])? {
                        Answered::Holds(more) => used.extend(more),
                        Answered::Fails(why) => {
                            return Err(Reason::Solver {
                                reason: why.unwrap_or_else(|| "it has a counterexample now".into()),
                                obligation: "a condition that held before".into(),
                            });
                        }
                    }
                }
            }
        }
        Ok(used)
    }
}

impl Elimination for GroupSolver<'_> {
    type Stop = Reason;

    fn goals(&mut self, group: usize) -> Vec<CandidateGoal> {
        let mut out = Vec::new();
        for (batch, b) in self.groups[group].batches.iter().enumerate() {
            for g in &b.goals {
                if let ConditionSubject::Candidate(candidate) = g.about
                    && self.alive[candidate]
                    && !(self.hold_written && self.setting.candidates[candidate].written.is_some())
                {
                    out.push(CandidateGoal { candidate, batch, formula: g.formula });
                }
            }
        }
        out
    }
    fn batches(&self, group: usize) -> Vec<Term> {
        self.groups[group].batches.iter().map(|b| b.when).collect()
    }
    fn premises(&self, group: usize) -> Vec<Term> {
        self.on(group)
    }
    fn session(&mut self, group: usize) -> Result<&mut dyn Smt, Reason> {
        self.questions += 1;
        Ok(self.session_of(group)?)
    }
    fn lose(&mut self, candidate: usize) {
        self.alive[candidate] = false;
    }
    fn users(&self, candidate: usize) -> Vec<usize> {
        self.used_in[candidate].clone()
    }
    fn is_vacuous(&self, group: usize) -> bool {
        self.is_dead(group)
    }
    fn check_budget(&mut self) -> Result<(), Reason> {
        self.budget()
    }
    fn settled(&mut self, group: usize) -> Result<(), Reason> {
        self.show_properties(group)
    }
}
