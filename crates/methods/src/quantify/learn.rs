//! Learning an inductive set of clauses from what breaks it.
//!
//! In: goals (clauses that are to be shown), rows of reachable states. Out: for each goal whether it is shown, and the clauses with what each rests
//! on. Where a step breaks a clause, the situation before the step is excluded by a clause that no row contradicts; if there is none, the
//! situation after the step may be reachable as far as the atoms can tell: its rows are added, and what they contradict is dropped. Rows are finite
//! many, so this ends: with an inductive set, or with a goal that no set of clauses over these atoms shows.
//! Deliberately absent: where the goals come from (`mod`); the certificate (`certify`).

use super::atoms::{Row, has};
use super::clauses::{Clause, Rows};
use super::contexts::{Answer, Context, Setting, Situation, Step, has_copies};
use base::Budget;
use evidence::Reason;
use logic::{Sort, Term};
use program::{ActionId, LocId, Scope, ThreadId};
use rustc_hash::FxHashMap;
use solver::SolverSettings;
use std::collections::BTreeSet;

/// A step that a clause has to survive: of one of its instances, or of another.
struct Duty {
    thread: ThreadId,
    action: ActionId,
    /// The instance of the clause that moves; none: another does.
    who: Option<usize>,
    /// What it rests on, once it is known to hold.
    rests_on: Option<Vec<usize>>,
}

pub(super) struct Learner<'a, 's> {
    s: &'s Setting<'a>,
    pub clauses: Vec<(Clause, Term)>,
    duties: Vec<Vec<Duty>>,
    alive: Vec<bool>,
    rows: Vec<Rows>,
    contexts: FxHashMap<Vec<ThreadId>, Context<'a>>,
    /// The same without clauses.
    bare: FxHashMap<Vec<ThreadId>, Context<'a>>,
    settings: SolverSettings,
    budget: Budget,
    random: base::Random,
    goals: usize,
    pub questions: u64,
}

/// More clauses than this are not looked at.
const MAX_CLAUSES: usize = 1_500;
/// A clause over what the step did not need is worse than one over what it needed.
const BESIDE_THE_POINT: u64 = 150;

impl<'a, 's> Learner<'a, 's> {
    pub(super) fn new(s: &'s Setting<'a>, rows: Vec<Rows>, settings: SolverSettings, budget: Budget) -> Self {
        Self {
            s,
            clauses: Vec::new(),
            duties: Vec::new(),
            alive: Vec::new(),
            rows,
            contexts: FxHashMap::default(),
            bare: FxHashMap::default(),
            settings,
            budget,
            random: base::Random::new(7),
            goals: 0,
            questions: 0,
        }
    }

    /// The clauses that are shown, of these; by position whether each is.
    pub(super) fn show(&mut self, goals: Vec<Clause>, progress: &dyn Fn(String)) -> Result<Vec<bool>, Reason> {
        self.goals = goals.len();
        for goal in goals {
            let cast = &self.rows[goal.cast];
            let fine = !cast.contradicts(&goal);
            self.push(goal);
            if let Some(alive) = self.alive.last_mut() {
                *alive = fine;
            }
        }
        for k in 0..self.goals {
            if self.alive[k] && !self.starts(k)? {
                self.alive[k] = false;
            }
        }
        while let Some((k, d)) = self.open() {
            self.budget.check().map_err(Reason::Exhausted)?;
            if self.clauses.len() > MAX_CLAUSES {
                return Err(Reason::Incomplete(format!("more than {MAX_CLAUSES} clauses were tried")));
            }
            if self.questions.is_multiple_of(50) {
                let alive = self.alive.iter().filter(|a| **a).count();
                let rows: usize = self.rows.iter().map(Rows::len).sum();
                progress(format!("{alive} clauses, {rows} rows, {} questions", self.questions));
            }
            match self.ask(k, d)? {
                Answer::Kept(core) => self.duties[k][d].rests_on = Some(core),
                Answer::Unknown(why) => {
                    return Err(Reason::Solver { reason: why, obligation: "a step keeps a clause".into() });
                }
                Answer::Broken(situation) => {
                    let enough = self.lifted(k, d, &situation)?;
                    self.learn(&situation, enough.as_deref())?;
                }
            }
        }
        Ok(self.alive[..self.goals].to_vec())
    }

    /// What a clause rests on.
    pub(super) fn rests_on(&self, k: usize) -> BTreeSet<usize> {
        let all = self.duties[k].iter().flat_map(|d| d.rests_on.iter().flatten().copied());
        all.collect()
    }

    /// The clauses that goals rest on, and those.
    pub(super) fn needed(&self) -> BTreeSet<usize> {
        let mut out = BTreeSet::new();
        let mut todo: Vec<usize> = (0..self.goals).filter(|k| self.alive[*k]).collect();
        while let Some(k) = todo.pop() {
            if out.insert(k) {
                todo.extend(self.rests_on(k));
            }
        }
        out
    }

    /// A duty of a needed clause that is not known to be met.
    fn open(&self) -> Option<(usize, usize)> {
        self.needed().into_iter().find_map(|k| Some((k, self.duties[k].iter().position(|d| d.rests_on.is_none())?)))
    }

    fn push(&mut self, clause: Clause) {
        let t = self.s.terms;
        let literal = t.sym(t.symbol(format!("clause {}", self.clauses.len()), Sort::BOOL));
        self.duties.push(self.duties_of(&clause));
        self.clauses.push((clause, literal));
        self.alive.push(true);
    }

    fn duties_of(&self, clause: &Clause) -> Vec<Duty> {
        let (s, p) = (self.s, self.s.p);
        let threads = &s.casts[clause.cast].threads;
        let mentioned = s.terms.free_symbols(s.body(clause, &[0, 1][..threads.len()]));
        let mut out = Vec::new();
        for (who, thread) in threads.iter().enumerate() {
            let flags = &clause.at[who];
            for (id, a) in p.threads[*thread].code.actions.iter_enumerated().filter(|(_, a)| flags[a.to.index()]) {
                let touches = a.updates.iter().any(|u| {
                    let var = &p.vars[u.var];
                    let own = var.scope != Scope::Shared;
                    mentioned.contains(&if own { s.roles.symbol(who, var.symbol) } else { var.symbol })
                });
                if touches || !flags[a.from.index()] {
                    out.push(Duty { thread: *thread, action: id, who: Some(who), rests_on: None });
                }
            }
        }
        for thread in p.threads.ids() {
            let all: Vec<ThreadId> = threads.iter().copied().chain([thread]).collect();
            if !has_copies(p, &all) {
                continue;
            }
            for (id, a) in p.threads[thread].code.actions.iter_enumerated() {
                let touches = |v: &program::Var| v.scope == Scope::Shared && mentioned.contains(&v.symbol);
                if a.updates.iter().any(|u| touches(&p.vars[u.var])) {
                    out.push(Duty { thread, action: id, who: None, rests_on: None });
                }
            }
        }
        out
    }

    fn context(&mut self, threads: &[ThreadId]) -> Result<&mut Context<'a>, Reason> {
        if !self.contexts.contains_key(threads) {
            let new = Context::new(self.s, threads.to_vec(), self.settings, &self.budget).map_err(Reason::Internal)?;
            self.contexts.insert(threads.to_vec(), new);
        }
        Ok(self.contexts.get_mut(threads).expect("just put there"))
    }

    fn ask(&mut self, k: usize, d: usize) -> Result<Answer, Reason> {
        self.questions += 1;
        let s = self.s;
        let clause = self.clauses[k].0.clone();
        let mut threads = s.casts[clause.cast].threads.clone();
        let body = s.body(&clause, &[0, 1][..threads.len()]);
        let duty = &self.duties[k][d];
        let (who, action) = (duty.who, &s.p.threads[duty.thread].code.actions[duty.action]);
        let mover = who.unwrap_or(threads.len());
        let places: Vec<(usize, Vec<bool>)> =
            clause.at.iter().cloned().enumerate().filter(|(role, _)| *role != mover).collect();
        if who.is_none() {
            threads.push(duty.thread);
        }
        let alive: Vec<Term> = self.clauses.iter().zip(&self.alive).filter(|(_, a)| **a).map(|(c, _)| c.1).collect();
        self.context(&threads)?;
        let context = self.contexts.get_mut(&threads).expect("made above");
        Ok(context.asks(s, &self.clauses, &alive, Step { mover, action }, &places, body))
    }

    /// Of what is true in a situation, what is enough for the step to break the clause.
    fn lifted(&mut self, k: usize, d: usize, situation: &Situation) -> Result<Option<Vec<Term>>, Reason> {
        let s = self.s;
        let clause = self.clauses[k].0.clone();
        let mut threads = s.casts[clause.cast].threads.clone();
        let body = s.body(&clause, &[0, 1][..threads.len()]);
        let duty = &self.duties[k][d];
        let action = &s.p.threads[duty.thread].code.actions[duty.action];
        let mover = duty.who.unwrap_or(threads.len());
        if duty.who.is_none() {
            threads.push(duty.thread);
        }
        let mut literals = BTreeSet::new();
        for (cast, who) in self.choices(situation) {
            let (at, row) = self.row(situation, cast, &who, 0);
            let roles: Vec<usize> = who.iter().map(|i| situation.instances[*i].role).collect();
            for (_, formula) in self.true_in(cast, &at, &row, &roles) {
                literals.insert(formula);
            }
        }
        if !self.bare.contains_key(&threads) {
            let new = Context::new(s, threads.clone(), self.settings, &self.budget).map_err(Reason::Internal)?;
            self.bare.insert(threads.clone(), new);
        }
        let bare = self.bare.get_mut(&threads).expect("just put there");
        let literals: Vec<Term> = literals.into_iter().collect();
        Ok(bare.lifted(s, Step { mover, action }, situation, body, &literals))
    }

    /// The live atoms of a row, as formulas that are true where the row is.
    fn true_in(&self, cast: usize, at: &[LocId], row: &Row, roles: &[usize]) -> Vec<(usize, Term)> {
        let s = self.s;
        let of = &s.casts[cast];
        let known = (0..of.atoms.len()).filter(|k| has(&row.known, *k) && of.is_live(*k, at));
        let literal = |k: usize| {
            let atom = of.formula(s.terms, &s.words, &s.roles, k, roles);
            (k, if has(&row.value, k) { atom } else { s.terms.not(atom) })
        };
        known.map(literal).collect()
    }

    /// Whether a clause holds at the start; else its rows are added.
    fn starts(&mut self, k: usize) -> Result<bool, Reason> {
        let s = self.s;
        let clause = self.clauses[k].0.clone();
        let threads = s.casts[clause.cast].threads.clone();
        let entries: Vec<LocId> = threads.iter().map(|t| s.p.threads[*t].code.entry).collect();
        if !clause.is_of(&entries) {
            return Ok(true);
        }
        let body = s.body(&clause, &[0, 1][..threads.len()]);
        let answer = self.context(&threads)?.starts(s, body);
        match answer {
            Answer::Kept(_) => Ok(true),
            Answer::Broken(situation) => {
                self.admit(&situation, 0);
                Ok(false)
            }
            Answer::Unknown(why) => {
                Err(Reason::Solver { reason: why, obligation: "a clause holds at the start".into() })
            }
        }
    }

    /// What breaks a clause is excluded, or what it leads to is admitted. `enough`: what of it is enough to break the clause.
    fn learn(&mut self, situation: &Situation, enough: Option<&[Term]>) -> Result<(), Reason> {
        loop {
            let mut best: Option<(u64, Clause)> = None;
            for (cast, who) in self.choices(situation) {
                // Two of one thread are looked at in one order: the rows have both.
                if let [i, j] = who[..]
                    && i > j
                    && situation.instances[i].thread == situation.instances[j].thread
                {
                    continue;
                }
                let (at, row) = self.row(situation, cast, &who, 0);
                let roles: Vec<usize> = who.iter().map(|i| situation.instances[*i].role).collect();
                let all = self.true_in(cast, &at, &row, &roles);
                let usable = |enough: &dyn Fn(Term) -> bool| -> Vec<usize> {
                    all.iter().filter(|(_, f)| enough(*f)).map(|(k, _)| *k).collect()
                };
                let first = enough.map(|list| usable(&|f| list.contains(&f)));
                let mut found = first.and_then(|first| {
                    self.rows[cast].excluding(&self.s.casts[cast], cast, &at, &row, &first, &mut self.random)
                });
                if found.is_none() {
                    let second = usable(&|_| true);
                    let more =
                        self.rows[cast].excluding(&self.s.casts[cast], cast, &at, &row, &second, &mut self.random);
                    found = more.map(|(rank, clause)| (rank + BESIDE_THE_POINT, clause));
                }
                if let Some((rank, clause)) = found
                    && best.as_ref().is_none_or(|(r, _)| rank < *r)
                {
                    best = Some((rank, clause));
                }
            }
            let Some((_, clause)) = best else {
                self.admit(situation, 1);
                return Ok(());
            };
            self.push(clause);
            let k = self.clauses.len() - 1;
            if self.starts(k)? {
                return Ok(());
            }
            self.alive[k] = false;
        }
    }

    /// Which of the instances fit which cast.
    fn choices(&self, situation: &Situation) -> Vec<(usize, Vec<usize>)> {
        let list = &situation.instances;
        let mut out = Vec::new();
        for (k, cast) in self.s.casts.iter().enumerate() {
            match cast.threads[..] {
                [] => out.push((k, Vec::new())),
                [a] => out.extend((0..list.len()).filter(|i| list[*i].thread == a).map(|i| (k, vec![i]))),
                [a, b] => {
                    for i in (0..list.len()).filter(|i| list[*i].thread == a) {
                        let others = (0..list.len()).filter(|j| *j != i && list[*j].thread == b);
                        out.extend(others.map(|j| (k, vec![i, j])));
                    }
                }
                _ => {}
            }
        }
        out
    }

    fn row(&self, situation: &Situation, cast: usize, who: &[usize], when: usize) -> (Vec<LocId>, Row) {
        let at = who.iter().map(|i| situation.instances[*i].at[when]).collect();
        let own: Vec<_> = who.iter().map(|i| &situation.instances[*i].values[when]).collect();
        (at, self.s.casts[cast].row(&situation.shared[when], &own))
    }

    /// A situation that nothing excludes: what it contradicts is dropped, and so is what rested on that.
    fn admit(&mut self, situation: &Situation, when: usize) {
        let mut dropped = BTreeSet::new();
        for (cast, who) in self.choices(situation) {
            let (at, row) = self.row(situation, cast, &who, when);
            if !self.rows[cast].add(&at, row) {
                continue;
            }
            for (k, (clause, _)) in self.clauses.iter().enumerate() {
                if self.alive[k] && clause.cast == cast && clause.excludes(&at, &row) {
                    dropped.insert(k);
                }
            }
        }
        dropped.iter().for_each(|k| self.alive[*k] = false);
        for duty in self.duties.iter_mut().flatten() {
            if duty.rests_on.as_ref().is_some_and(|core| core.iter().any(|k| dropped.contains(k))) {
                duty.rests_on = None;
            }
        }
    }
}
