//! One worker's share of the conditions of rule `assume-guarantee`, put to the solver.
//!
//! In: a `Setting` and some of its jobs. Out: their zones (`conditions`), each with a solver session, and answers to
//! what the engine asks of all workers: which candidates do not hold, which conditions fail and why, which candidates an
//! unsatisfiable core names. A zone is asked as a whole first, and condition by condition only where that does not decide.
//! Absent: the order of rounds and what is concluded (`engine`); words for people (`explain`).

use super::conditions::{Codes, Index, Of, Zone};
use super::engine::{About, Ask, Job, Place, Said, Setting, Which, Words};
use super::explain::{self, Told};
use evidence::Reason;
use logic::{Term, Terms, Value};
use program::{Program, PropertyId};
use rustc_hash::FxHashSet;
use solver::{Answer, Smt, Z3};

/// So many zones have a solver session each. More share one, in which the facts of one zone at a time stand: to open a session
/// takes longer than most questions.
const APART: usize = 4;
/// After so many changes of zone a shared session is opened anew: what it has seen stays in its memory.
const CHANGES: usize = 600;

/// How many failing conditions one worker explains.
const TOLD: usize = 40;

/// A condition that does not hold: where, and whether the solver had values for it.
pub struct Failure {
    pub zone: usize,
    pub batch: usize,
    pub goal: usize,
    pub unknown: Option<String>,
}

enum Answered {
    Holds(Vec<usize>),
    /// It has a counterexample, or the solver did not decide.
    Fails(Option<String>),
}

pub struct Zones<'a> {
    pub setting: &'a Setting,
    pub program: &'a Program,
    pub terms: &'a Terms,
    pub zones: Vec<Zone>,
    sessions: Vec<Option<Z3<'a>>>,
    /// For each session, the zone whose facts it has now.
    holds: Vec<Option<usize>>,
    changes: usize,
    alive: Vec<bool>,
    /// The zones whose facts mention a candidate.
    used_in: Vec<Vec<usize>>,
    /// Candidates that were dropped and not yet told to the zones that use them.
    fallen: Vec<usize>,
    questions: u64,
}

impl<'a> Zones<'a> {
    pub fn new(setting: &'a Setting, jobs: &[(usize, Job)]) -> Result<Self, Reason> {
        let index = Index::new(setting);
        let (mut zones, mut codes) = (Vec::new(), Codes::default());
        for (at, job) in jobs {
            zones.extend(index.build(*at, job, &mut codes)?);
        }
        let mut used_in: Vec<Vec<usize>> = vec![Vec::new(); setting.candidates.len()];
        for (z, zone) in zones.iter().enumerate() {
            zone.uses.iter().for_each(|k| used_in[*k].push(z));
        }
        Ok(Self {
            setting,
            program: &setting.program,
            terms: &setting.terms,
            sessions: zones.iter().map(|_| None).collect(),
            holds: vec![None; zones.len()],
            changes: 0,
            zones,
            alive: vec![true; setting.candidates.len()],
            used_in,
            fallen: Vec::new(),
            questions: 0,
        })
    }

    pub fn answer(&mut self, ask: &Ask) -> Result<Said, Reason> {
        match ask {
            Ask::Sift { alive, gone, again, hold_written } => {
                self.alive.clone_from(alive);
                if *again {
                    self.zones.iter_mut().for_each(|z| z.dirty = true);
                }
                for k in gone.iter() {
                    self.used_in[*k].iter().for_each(|z| self.zones[*z].dirty = true);
                }
                self.sift(*hold_written)
            }
            Ask::Failures { alive, which } => {
                self.alive.clone_from(alive);
                self.failed(*which)
            }
            Ask::Needed { alive, need, properties } => {
                self.alive.clone_from(alive);
                self.needed(need, properties)
            }
        }
    }

    pub fn questions(&self) -> u64 {
        self.questions
    }

    /// A session with the facts of the zone. They are in a scope of their own where it is shared.
    fn session(&mut self, zone: usize) -> Result<&mut Z3<'a>, Reason> {
        let shared = self.zones.len() > APART;
        let at = if shared { 0 } else { zone };
        if self.holds[at] != Some(zone) {
            if self.changes == CHANGES {
                self.sessions[at] = None;
                self.holds[at] = None;
                self.changes = 0;
            }
            if self.sessions[at].is_none() {
                let s = self.setting;
                let z3 = Z3::new(self.terms, s.settings, &s.budget).map_err(super::engine::solver_reason)?;
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
            for f in &self.zones[zone].facts {
                z3.assert(*f);
            }
            self.holds[at] = Some(zone);
        }
        Ok(self.sessions[at].as_mut().expect("it was opened"))
    }

    /// The switches that are on and matter in a zone.
    fn on(&self, zone: usize) -> Vec<Term> {
        self.zones[zone].uses.iter().filter(|k| self.alive[**k]).map(|k| self.setting.switch(*k)).collect()
    }

    fn budget(&self) -> Result<(), Reason> {
        self.setting.budget.check().map_err(Reason::Exhausted)
    }

    /// Drops candidates until the rest hold in every zone of this worker, taken one by one.
    fn sift(&mut self, hold_written: bool) -> Result<Said, Reason> {
        let given = self.alive.clone();
        // What is dropped here is known here at once; other workers are told in the next round.
        while let Some(zone) = self.zones.iter().position(|z| z.dirty) {
            self.zones[zone].dirty = false;
            if !self.is_dead(zone) {
                self.sift_zone(zone, hold_written)?;
                self.show_properties(zone)?;
            }
            for k in std::mem::take(&mut self.fallen) {
                self.used_in[k].iter().filter(|z| **z != zone).for_each(|z| self.zones[*z].dirty = true);
            }
        }
        Ok(Said::Dropped((0..given.len()).filter(|k| given[*k] && !self.alive[*k]).collect()))
    }

    fn lose(&mut self, k: usize) {
        self.alive[k] = false;
        self.fallen.push(k);
    }

    /// Whether nothing has to be shown of a zone, since its start is not reached.
    fn is_dead(&self, zone: usize) -> bool {
        self.zones[zone].dead.is_some_and(|k| self.alive[k])
    }

    /// While the facts of a zone stand in the session, its properties cost little; what holds is not asked again as long as what it
    /// rests on stays.
    fn show_properties(&mut self, zone: usize) -> Result<(), Reason> {
        if self.shown(zone).is_some() {
            return Ok(());
        }
        let goals = self.selected(zone, Which::Properties);
        if !goals.is_empty() {
            let answer = self.ask(zone, &goals)?;
            let held = |used| (goals.into_iter().collect(), used);
            self.zones[zone].shown = if let Answered::Holds(used) = answer { Some(held(used)) } else { None };
        }
        Ok(())
    }

    /// What is known to hold of a zone, and on which candidates it rests.
    fn shown(&self, zone: usize) -> Option<&(FxHashSet<(usize, usize)>, Vec<usize>)> {
        self.zones[zone].shown.as_ref().filter(|(_, used)| used.iter().all(|k| self.alive[*k]))
    }

    /// Alive candidates that a zone judges: batch, candidate, formula.
    fn open_goals(&self, zone: usize, hold_written: bool) -> Vec<(usize, usize, Term)> {
        let mut out = Vec::new();
        for (b, batch) in self.zones[zone].batches.iter().enumerate() {
            for g in &batch.goals {
                if let About::Candidate(k) = g.about
                    && self.alive[k]
                    && !(hold_written && self.setting.candidates[k].written.is_some())
                {
                    out.push((b, k, g.formula));
                }
            }
        }
        out
    }

    fn sift_zone(&mut self, zone: usize, hold_written: bool) -> Result<(), Reason> {
        loop {
            self.budget()?;
            let goals = self.open_goals(zone, hold_written);
            if goals.is_empty() {
                return Ok(());
            }
            let denied = self.denied(zone, &goals);
            let on = self.on(zone);
            let whens: Vec<Term> = self.zones[zone].batches.iter().map(|b| b.when).collect();
            self.questions += 1;
            let session = self.session(zone)?;
            session.push();
            session.assert(denied);
            let answer = session.check_assuming(&on);
            let mut gone = Vec::new();
            if answer.is_sat() {
                let no = Some(Value::Bool(false));
                let open: Vec<bool> = whens.iter().map(|w| session.value(*w) != no).collect();
                gone.extend(goals.iter().filter(|(b, _, g)| open[*b] && session.value(*g) == no).map(|(_, k, _)| *k));
            }
            session.pop();
            if answer.is_unsat() {
                return Ok(());
            }
            if gone.is_empty() {
                // The solver did not decide all at once, or its model does not say which: batch by batch.
                for b in 0..self.zones[zone].batches.len() {
                    self.sift_batch(zone, b, hold_written)?;
                }
                return Ok(());
            }
            gone.into_iter().for_each(|k| self.lose(k));
        }
    }

    /// That one of the goals does not hold.
    fn denied(&self, zone: usize, goals: &[(usize, usize, Term)]) -> Term {
        let t = self.terms;
        let mut by_batch: Vec<Vec<Term>> = vec![Vec::new(); self.zones[zone].batches.len()];
        goals.iter().for_each(|(b, _, g)| by_batch[*b].push(t.not(*g)));
        let mut any = Vec::new();
        for (batch, denied) in self.zones[zone].batches.iter().zip(by_batch) {
            if !denied.is_empty() {
                any.push(t.and(&[batch.when, t.or(&denied)]));
            }
        }
        t.or(&any)
    }

    fn sift_batch(&mut self, zone: usize, batch: usize, hold_written: bool) -> Result<(), Reason> {
        let t = self.terms;
        let when = self.zones[zone].batches[batch].when;
        let open = |me: &Self| -> Vec<(usize, Term)> {
            let all = me.open_goals(zone, hold_written).into_iter();
            all.filter(|(b, _, _)| *b == batch).map(|(_, k, g)| (k, g)).collect()
        };
        if open(self).is_empty() {
            return Ok(());
        }
        self.session(zone)?.push();
        self.session(zone)?.assert(when);
        let mut result = Ok(());
        loop {
            if let Err(e) = self.budget() {
                result = Err(e);
                break;
            }
            let goals = open(self);
            if goals.is_empty() {
                break;
            }
            let on = self.on(zone);
            let denied: Vec<Term> = goals.iter().map(|(_, g)| t.not(*g)).collect();
            self.questions += 1;
            let session = self.session(zone)?;
            session.push();
            session.assert(t.or(&denied));
            let answer = session.check_assuming(&on);
            let mut gone = Vec::new();
            if answer.is_sat() {
                gone.extend(
                    goals.iter().filter(|(_, g)| session.value(*g) == Some(Value::Bool(false))).map(|(k, _)| *k),
                );
            }
            session.pop();
            if answer.is_unsat() {
                break;
            }
            if gone.is_empty() {
                for (k, g) in goals {
                    if !self.alive[k] {
                        continue;
                    }
                    let on = self.on(zone);
                    let session = self.session(zone)?;
                    session.push();
                    session.assert(t.not(g));
                    let answer = session.check_assuming(&on);
                    session.pop();
                    self.questions += 1;
                    if !answer.is_unsat() {
                        self.lose(k);
                    }
                    self.budget()?;
                }
                break;
            }
            gone.into_iter().for_each(|k| self.lose(k));
        }
        self.session(zone)?.pop();
        result
    }

    /// Asks conditions of a zone, by batch and goal, at once.
    fn ask(&mut self, zone: usize, goals: &[(usize, usize)]) -> Result<Answered, Reason> {
        self.budget()?;
        if goals.is_empty() {
            return Ok(Answered::Holds(Vec::new()));
        }
        let list: Vec<(usize, usize, Term)> =
            goals.iter().map(|(b, g)| (*b, 0, self.zones[zone].batches[*b].goals[*g].formula)).collect();
        let denied = self.denied(zone, &list);
        let on = self.on(zone);
        self.questions += 1;
        let session = self.session(zone)?;
        session.push();
        session.assert(denied);
        let answer = session.check_assuming(&on);
        let core = session.core();
        session.pop();
        Ok(match answer {
            Answer::Unsat => {
                let core: FxHashSet<Term> = core.into_iter().collect();
                let named = |k: &usize| core.contains(&self.setting.switch(*k));
                Answered::Holds(self.zones[zone].uses.iter().copied().filter(named).collect())
            }
            Answer::Sat => Answered::Fails(None),
            Answer::Unknown(why) => Answered::Fails(Some(why.to_string())),
        })
    }

    /// Values of terms in a model of a failing condition.
    pub fn values(&mut self, failure: &Failure, wanted: &[Term]) -> Vec<Option<Value>> {
        let t = self.terms;
        let batch = &self.zones[failure.zone].batches[failure.batch];
        let (when, formula) = (batch.when, batch.goals[failure.goal].formula);
        let on = self.on(failure.zone);
        let Ok(session) = self.session(failure.zone) else { return vec![None; wanted.len()] };
        session.push();
        session.assert(when);
        session.assert(t.not(formula));
        let sat = session.check_assuming(&on).is_sat();
        let out = wanted.iter().map(|w| if sat { session.value(*w) } else { None }).collect();
        session.pop();
        out
    }

    fn selected(&self, zone: usize, which: Which) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let closed = matches!(self.zones[zone].of, Of::Closed(_));
        for (b, batch) in self.zones[zone].batches.iter().enumerate() {
            for (g, goal) in batch.goals.iter().enumerate() {
                let wanted = match (goal.about, which) {
                    (About::Property(_), Which::Open) => false,
                    (About::Property(_), _) => true,
                    (About::Candidate(k), _) if !self.alive[k] => false,
                    (About::Candidate(k), Which::Judged) => {
                        let c = &self.setting.candidates[k];
                        // A written rely is a property.
                        c.written.is_some() && !matches!(c.place, Place::Rely(_))
                    }
                    (About::Candidate(k), Which::Open) => closed && self.setting.candidates[k].written.is_some(),
                    (About::Candidate(_), Which::Properties) => false,
                    (About::Candidate(_), Which::Everything) => true,
                };
                if wanted {
                    out.push((b, g));
                }
            }
        }
        out
    }

    /// The selected conditions that do not hold, with words.
    fn failed(&mut self, which: Which) -> Result<Said, Reason> {
        let mut out: Vec<(usize, Told)> = Vec::new();
        for zone in 0..self.zones.len() {
            if self.is_dead(zone) {
                continue;
            }
            let mut all = self.selected(zone, which);
            if let Some((shown, _)) = self.shown(zone) {
                all.retain(|goal| !shown.contains(goal));
            }
            if !matches!(self.ask(zone, &all)?, Answered::Holds(_)) {
                // Batch by batch, then one by one.
                for b in 0..self.zones[zone].batches.len() {
                    let some: Vec<(usize, usize)> = all.iter().copied().filter(|(x, _)| *x == b).collect();
                    if some.is_empty() || matches!(self.ask(zone, &some)?, Answered::Holds(_)) {
                        continue;
                    }
                    for (batch, goal) in some {
                        if let Answered::Fails(unknown) = self.ask(zone, &[(batch, goal)])? {
                            let failure = Failure { zone, batch, goal, unknown };
                            let about = self.zones[zone].batches[batch].goals[goal].about;
                            let spared = self.setting.words == Words::Spared || out.len() >= TOLD;
                            let quiet = matches!(which, Which::Open | Which::Everything) || spared;
                            let told = if quiet { Told::unsaid(about) } else { explain::tell(self, &failure) };
                            out.push((self.zones[zone].job, told));
                        }
                    }
                }
            }
        }
        Ok(Said::Failed(out))
    }

    /// The candidates that what is needed so far rests on, with what those rest on in their turn as far as it is known here.
    fn needed(&mut self, need: &[bool], properties: &FxHashSet<PropertyId>) -> Result<Said, Reason> {
        let mut need = need.to_vec();
        let mut out = Vec::new();
        let mut grew = true;
        while std::mem::take(&mut grew) {
            // Needs go against the code: from a cut to what leads there, from a region to what it relies on.
            for z in (0..self.zones.len()).rev() {
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
        Ok(Said::Used(out))
    }

    /// What the needed conditions of a zone rest on that were not looked at before.
    fn rests_on(
        &mut self,
        zone: usize,
        need: &[bool],
        properties: &FxHashSet<PropertyId>,
    ) -> Result<Vec<usize>, Reason> {
        let mut list = Vec::new();
        for (b, batch) in self.zones[zone].batches.iter().enumerate() {
            for (g, goal) in batch.goals.iter().enumerate() {
                let wanted = match goal.about {
                    About::Property(p) => properties.contains(&p),
                    About::Candidate(k) => need[k],
                };
                if wanted && !self.zones[zone].done.contains(&(b, g)) {
                    list.push((b, g));
                }
            }
        }
        if list.is_empty() {
            return Ok(Vec::new());
        }
        self.zones[zone].done.extend(list.iter().copied());
        if self.is_dead(zone) {
            return Ok(Vec::from_iter(self.zones[zone].dead));
        }
        let mut used = Vec::new();
        if let Some((shown, rests)) = self.shown(zone) {
            let before = list.len();
            list.retain(|goal| !shown.contains(goal));
            if list.len() < before {
                used.clone_from(rests);
            }
        }
        match self.ask(zone, &list)? {
            Answered::Holds(more) => used.extend(more),
            Answered::Fails(_) => {
                for one in &list {
                    match self.ask(zone, &[*one])? {
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
