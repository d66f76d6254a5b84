//! Which of many candidate annotations hold together: Houdini's elimination over Calvin's conditions.
//!
//! In: a program, its cuts, and candidates (conjuncts of the invariant, of what a thread relies on, of what holds at a cut).
//! Out: the largest set of candidates that supports itself under rule `assume-guarantee`; which properties follow; and a
//! small set that suffices. Every candidate stands behind a switch of its own, so the conditions are built once: a model
//! of a failing condition drops all candidates that it violates, an unsatisfiable core names those that were used.
//! Absent: where candidates come from; words for people.

use base::Budget;
use evidence::Reason;
use logic::subst::Substitution;
use logic::{Sort, Symbol, Term, Terms};
use program::passive::{Begin, Environment, Passive, Region, Step};
use program::{Copies, LocId, Program, PropertyId, PropertyKind, Scope, Start, ThreadId};
use solver::{Answer, Settings, Smt, Z3};

/// How many solver sessions are kept open.
const SESSIONS: usize = 40;

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
    pub alive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Property(PropertyId),
    /// A loop invariant of the location.
    Loop(program::OriginId),
}

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Candidate(usize),
    Property(PropertyId),
}

#[derive(Clone, Debug)]
pub struct Goal {
    pub formula: Term,
    pub about: About,
    /// The conjunct of the text that it is an instance of, where the property has several.
    pub part: Option<Term>,
}

/// Conditions with one premise.
#[derive(Clone, Debug)]
pub struct Batch {
    pub when: Term,
    /// The step of the zone's region, where it is about one.
    pub step: Option<usize>,
    pub goals: Vec<Goal>,
}

#[derive(Clone, Debug)]
pub enum Of {
    Initial,
    /// Reflexive and transitive.
    Closed(ThreadId),
    Region(ThreadId, Box<Region>),
}

pub struct Zone {
    pub of: Of,
    facts: Vec<Term>,
    pub batches: Vec<Batch>,
    /// Switches that its facts mention.
    uses: Vec<usize>,
    dirty: bool,
}

pub struct Engine<'a> {
    pub program: &'a Program,
    pub terms: &'a Terms,
    pub candidates: Vec<Candidate>,
    pub zones: Vec<Zone>,
    pub other: Symbol,
    sessions: Vec<Option<Z3<'a>>>,
    settings: Settings,
    budget: Budget,
    pub questions: u64,
}

/// What is asked of a program.
#[derive(Clone, Copy)]
pub struct Question<'q> {
    /// For each thread.
    pub cuts: &'q [Vec<LocId>],
    pub wanted: &'q [PropertyId],
    /// The id of another instance.
    pub other: Symbol,
}

/// A condition that does not hold: where, and whether the solver had values for it.
pub struct Failure {
    pub zone: usize,
    pub batch: usize,
    pub goal: usize,
    pub unknown: Option<String>,
}

impl<'a> Engine<'a> {
    pub fn new(
        program: &'a Program,
        terms: &'a Terms,
        candidates: Vec<Candidate>,
        question: Question<'_>,
        settings: Settings,
        budget: &Budget,
    ) -> Result<Self, Reason> {
        let Question { cuts, wanted, other } = question;
        let mut engine = Self {
            program,
            terms,
            candidates,
            zones: Vec::new(),
            other,
            sessions: Vec::new(),
            settings,
            budget: budget.clone(),
            questions: 0,
        };
        engine.initial();
        for t in program.threads.ids() {
            engine.closed(t);
            engine.regions(t, &cuts[t.0 as usize], wanted)?;
        }
        engine.sessions = engine.zones.iter().map(|_| None).collect();
        Ok(engine)
    }

    pub fn switch(&self, k: usize) -> Term {
        self.terms.sym(self.candidates[k].switch)
    }

    fn at(&self, place: Place) -> Vec<usize> {
        (0..self.candidates.len()).filter(|k| self.candidates[*k].place == place).collect()
    }

    /// The conjunction of all candidates of a place, each behind its switch; quantified ones also for the ids at hand.
    fn guarded(&self, place: Place) -> Term {
        let t = self.terms;
        let mut parts = Vec::new();
        for k in self.at(place) {
            let f = self.candidates[k].formula;
            parts.push(t.implies(self.switch(k), f));
            for known in super::instances(t, f, &[t.sym(self.program.tid), t.sym(self.other)]) {
                parts.push(t.implies(self.switch(k), known));
            }
        }
        t.and(&parts)
    }

    fn initial(&mut self) {
        let t = self.terms;
        let init = initial_store(self.program, t);
        let goals = self.at(Place::Invariant);
        let goals = goals.into_iter().map(|k| Goal {
            formula: self.candidates[k].formula,
            about: About::Candidate(k),
            part: None,
        });
        let batch = Batch { when: t.tt(), step: None, goals: goals.collect() };
        self.zones.push(Zone { of: Of::Initial, facts: vec![init], batches: vec![batch], uses: vec![], dirty: true });
    }

    fn distinct(&self) -> Vec<Term> {
        let t = self.terms;
        let (tid, other) = (t.sym(self.program.tid), t.sym(self.other));
        vec![t.lt(t.int(0), tid), t.lt(t.int(0), other), t.ne(tid, other)]
    }

    fn closed(&mut self, thread: ThreadId) {
        let (p, t) = (self.program, self.terms);
        let loose = p.threads.iter().any(|x| x.code.locations.iter().any(|l| l.inside));
        let relies = self.at(Place::Rely(thread));
        let (invariant, rely) = (self.guarded(Place::Invariant), self.guarded(Place::Rely(thread)));
        let (mut next, mut whole) = (Vec::new(), Vec::new());
        for v in p.shared() {
            let var = &p.vars[v];
            let last = t.sym(t.symbol(format!("{}''", var.name), var.sort));
            next.push((var.symbol, t.sym(var.primed)));
            next.push((var.primed, last));
            whole.push((var.primed, last));
        }
        let same: Vec<(Symbol, Term)> = p.shared().map(|v| (p.vars[v].primed, t.sym(p.vars[v].symbol))).collect();
        let mut facts = self.distinct();
        if !loose {
            facts.push(invariant);
        }
        let mut idle = Substitution::new(t, same);
        let goals = |s: &mut Substitution<'_>, list: &[Candidate]| -> Vec<Goal> {
            relies
                .iter()
                .map(|k| Goal { formula: s.apply(list[*k].formula), about: About::Candidate(*k), part: None })
                .collect()
        };
        let reflexive = Batch { when: t.tt(), step: None, goals: goals(&mut idle, &self.candidates) };
        let mut premise = vec![rely, t.substitute(rely, next.iter().copied())];
        if !loose {
            premise.push(t.substitute(invariant, next.iter().copied()));
        }
        let mut twice = Substitution::new(t, whole);
        let transitive = Batch { when: t.and(&premise), step: None, goals: goals(&mut twice, &self.candidates) };
        let mut uses = self.at(Place::Invariant);
        uses.extend(&relies);
        let batches = vec![reflexive, transitive];
        self.zones.push(Zone { of: Of::Closed(thread), facts, batches, uses, dirty: true });
    }

    fn regions(&mut self, id: ThreadId, cuts: &[LocId], wanted: &[PropertyId]) -> Result<(), Reason> {
        let (p, t) = (self.program, self.terms);
        let thread = &p.threads[id];
        // Only what is never switched off may be read off as "kept", so written and guessed relies stay behind switches.
        let env = Environment { rely: self.guarded(Place::Rely(id)), invariant: self.guarded(Place::Invariant) };
        let passive = Passive::new(p, t, id, &thread.code, cuts, env);
        let mut begins: Vec<(Option<LocId>, Begin)> =
            cuts.iter().map(|l| (Some(*l), Begin::At(*l, self.guarded(Place::Cut(id, *l))))).collect();
        if thread.start == Start::AtOnce {
            let mut init = vec![initial_store(p, t)];
            init.extend(
                thread.locals.iter().filter_map(|v| p.vars[*v].initial.map(|x| t.eq(t.sym(p.vars[*v].symbol), x))),
            );
            begins.push((None, Begin::Entry(t.and(&init))));
        }
        for (at, begin) in begins {
            let Some(region) = passive.region(begin) else {
                return Err(Reason::Internal("a loop has no cut".into()));
            };
            let mut facts = self.distinct();
            facts.extend(&region.facts);
            let batches = self.batches(id, &region, wanted)?;
            let mut uses = self.at(Place::Invariant);
            uses.extend(self.at(Place::Rely(id)));
            if let Some(at) = at {
                uses.extend(self.at(Place::Cut(id, at)));
            }
            let of = Of::Region(id, Box::new(region));
            self.zones.push(Zone { of, facts, batches, uses, dirty: true });
        }
        if thread.start == Start::BySpawn {
            self.stable(id);
        }
        Ok(())
    }

    /// What holds at the start of a spawned thread still holds when it takes its first step.
    fn stable(&mut self, id: ThreadId) {
        let (p, t) = (self.program, self.terms);
        let entry = Place::Cut(id, p.threads[id].code.entry);
        let after: Vec<(Symbol, Term)> = p.shared().map(|v| (p.vars[v].symbol, t.sym(p.vars[v].primed))).collect();
        let (invariant, here) = (self.guarded(Place::Invariant), self.guarded(entry));
        let mut facts = self.distinct();
        facts.extend([invariant, t.substitute(invariant, after.iter().copied()), here, self.guarded(Place::Rely(id))]);
        let mut moved = Substitution::new(t, after);
        let mut goals = Vec::new();
        for k in self.at(entry) {
            let formula = moved.apply(self.candidates[k].formula);
            goals.push(Goal { formula, about: About::Candidate(k), part: None });
        }
        let batches = vec![Batch { when: t.tt(), step: None, goals }];
        let uses = [Place::Invariant, Place::Rely(id), entry].into_iter().flat_map(|x| self.at(x)).collect();
        self.zones.push(Zone { of: Of::Closed(id), facts, batches, uses, dirty: true });
    }

    fn batches(&self, id: ThreadId, region: &Region, wanted: &[PropertyId]) -> Result<Vec<Batch>, Reason> {
        let (p, t) = (self.program, self.terms);
        let code = &p.threads[id].code;
        let mut out = Vec::new();
        for (at, step) in region.steps.iter().enumerate() {
            self.budget.check().map_err(Reason::Exhausted)?;
            let action = &code.actions[step.action];
            for (i, gate) in action.gates.iter().enumerate() {
                if wanted.contains(&gate.property) {
                    let goals =
                        vec![Goal { formula: step.gates[i], about: About::Property(gate.property), part: None }];
                    out.push(Batch { when: step.before_gate[i], step: Some(at), goals });
                }
            }
            let mut goals = Vec::new();
            let writes = action.updates.iter().any(|u| p.vars[u.var].scope == Scope::Shared) || step.spawned.is_some();
            let (from, to) = (&code.locations[action.from], &code.locations[action.to]);
            if !to.inside && (writes || from.inside) {
                let pairs = |after: bool| {
                    let store = if after { &step.after } else { &step.before };
                    Substitution::new(t, p.shared().map(|v| (p.vars[v].symbol, store[&p.vars[v].symbol])))
                };
                let (mut before, mut after) = (pairs(false), pairs(true));
                for k in self.at(Place::Invariant) {
                    let goal = after.apply(self.candidates[k].formula);
                    if from.inside || goal != before.apply(self.candidates[k].formula) {
                        goals.push(Goal { formula: goal, about: About::Candidate(k), part: None });
                    }
                }
            }
            if writes {
                let (mut seen, mut same) = (self.seen(step, true), self.seen(step, false));
                for k in 0..self.candidates.len() {
                    let Place::Rely(u) = self.candidates[k].place else { continue };
                    if !self.meet(id, u) {
                        continue;
                    }
                    let goal = seen.apply(self.candidates[k].formula);
                    if goal != same.apply(self.candidates[k].formula) {
                        goals.push(Goal { formula: goal, about: About::Candidate(k), part: None });
                    }
                }
            }
            let mut seen = self.seen(step, true);
            for w in wanted {
                let PropertyKind::Rely(r) = p.properties[*w].kind else { continue };
                let Some(rely) = p.relies.get(r as usize) else { continue };
                let watched = p.threads.ids().any(|x| rely.thread.is_none_or(|y| y == x) && self.meet(id, x));
                if let Some(formula) = rely.formula
                    && watched
                {
                    // Also for a step that touches nothing of it: a written rely need not allow idling.
                    for c in t.conjuncts(formula) {
                        goals.push(Goal { formula: seen.apply(c), about: About::Property(*w), part: Some(c) });
                    }
                }
            }
            if let (Some(new), Some(spawn)) = (step.spawned, &action.spawn) {
                let entry = p.threads[spawn.thread].code.entry;
                let mut started = self.started(spawn, new, step);
                for k in self.at(Place::Cut(spawn.thread, entry)) {
                    let formula = started.apply(self.candidates[k].formula);
                    goals.push(Goal { formula, about: About::Candidate(k), part: None });
                }
            }
            if !goals.is_empty() {
                out.push(Batch { when: step.taken, step: Some(at), goals });
            }
        }
        for end in &region.ends {
            let mut here = Substitution::new(t, end.store.iter().map(|(s, v)| (*s, *v)));
            let goals = self.at(Place::Cut(id, end.at));
            let goals: Vec<Goal> = goals
                .into_iter()
                .map(|k| Goal {
                    formula: here.apply(self.candidates[k].formula),
                    about: About::Candidate(k),
                    part: None,
                })
                .collect();
            out.push(Batch { when: end.reached, step: None, goals });
        }
        Ok(out)
    }

    /// A step as another instance sees it; without effect if `moved` is false.
    fn seen(&self, step: &Step, moved: bool) -> Substitution<'a> {
        let (p, t) = (self.program, self.terms);
        let mut pairs = vec![(p.tid, t.sym(self.other))];
        for v in p.shared() {
            let var = &p.vars[v];
            pairs.push((var.symbol, step.before[&var.symbol]));
            pairs.push((var.primed, if moved { step.after[&var.symbol] } else { step.before[&var.symbol] }));
        }
        Substitution::new(t, pairs)
    }

    fn started(&self, spawn: &program::Spawn, new: Symbol, step: &Step) -> Substitution<'a> {
        let (p, t) = (self.program, self.terms);
        let mut pairs = vec![(p.tid, t.sym(new))];
        pairs.extend(p.shared().map(|v| (p.vars[v].symbol, step.after[&p.vars[v].symbol])));
        let target = &p.threads[spawn.thread];
        for v in &target.locals {
            let var = &p.vars[*v];
            let value = match (target.params.iter().position(|x| x == v), var.initial) {
                (Some(i), _) => t.substitute(spawn.args[i], step.before.iter().map(|(s, v)| (*s, *v))),
                (None, Some(value)) => value,
                (None, None) => t.sym(t.symbol(format!("{}.new", var.name), var.sort)),
            };
            pairs.push((var.symbol, value));
        }
        Substitution::new(t, pairs)
    }

    /// Two different instances of these threads can exist.
    pub fn meet(&self, a: ThreadId, b: ThreadId) -> bool {
        a != b || self.program.threads[a].copies != Copies::One
    }

    fn session(&mut self, zone: usize) -> Result<&mut Z3<'a>, Reason> {
        if self.sessions[zone].is_none() {
            let mut z3 = Z3::new(self.terms, self.settings, &self.budget).map_err(solver_reason)?;
            for f in &self.zones[zone].facts {
                z3.assert(*f);
            }
            self.sessions[zone] = Some(z3);
        }
        Ok(self.sessions[zone].as_mut().expect("it was opened"))
    }

    /// The switches that are on and matter in a zone.
    fn on(&self, zone: usize) -> Vec<Term> {
        self.zones[zone].uses.iter().filter(|k| self.candidates[**k].alive).map(|k| self.switch(*k)).collect()
    }

    fn drop_candidate(&mut self, k: usize) {
        self.candidates[k].alive = false;
        for zone in &mut self.zones {
            if zone.uses.contains(&k) {
                zone.dirty = true;
            }
        }
    }

    /// Drops candidates until the rest support each other. Those for which `fixed` says so are never dropped.
    pub fn eliminate(&mut self, fixed: &dyn Fn(&Candidate) -> bool) -> Result<(), Reason> {
        loop {
            let Some(zone) = self.zones.iter().position(|z| z.dirty) else { return Ok(()) };
            self.zones[zone].dirty = false;
            for batch in 0..self.zones[zone].batches.len() {
                self.sift(zone, batch, fixed)?;
            }
            self.close(zone);
        }
    }

    /// Sessions cost memory: with many zones none is kept that is not in use.
    fn close(&mut self, zone: usize) {
        if self.zones.len() > SESSIONS {
            self.sessions[zone] = None;
        }
    }

    /// Written relies that are not reflexive or not transitive cannot stand for any number of steps: they stay properties.
    pub fn give_up_open_relations(&mut self) -> Result<(), Reason> {
        loop {
            let mut gone = Vec::new();
            for zone in 0..self.zones.len() {
                if !matches!(self.zones[zone].of, Of::Closed(_)) {
                    continue;
                }
                for batch in 0..self.zones[zone].batches.len() {
                    for goal in 0..self.zones[zone].batches[batch].goals.len() {
                        let About::Candidate(k) = self.zones[zone].batches[batch].goals[goal].about else { continue };
                        if self.candidates[k].alive
                            && self.candidates[k].written.is_some()
                            && matches!(self.ask(zone, batch, goal)?, Answered::Fails(_))
                        {
                            gone.push(k);
                        }
                    }
                }
            }
            if gone.is_empty() {
                return Ok(());
            }
            gone.into_iter().for_each(|k| self.drop_candidate(k));
            self.eliminate(&|c| c.written.is_some())?;
        }
    }

    /// Drops whatever does not hold, written or not.
    pub fn eliminate_all(&mut self) -> Result<(), Reason> {
        self.zones.iter_mut().for_each(|z| z.dirty = true);
        self.eliminate(&|_| false)
    }

    fn open_goals(&self, zone: usize, batch: usize, fixed: &dyn Fn(&Candidate) -> bool) -> Vec<(usize, Term)> {
        let goals = &self.zones[zone].batches[batch].goals;
        goals
            .iter()
            .filter_map(|g| match g.about {
                About::Candidate(k) if self.candidates[k].alive && !fixed(&self.candidates[k]) => Some((k, g.formula)),
                _ => None,
            })
            .collect()
    }

    fn sift(&mut self, zone: usize, batch: usize, fixed: &dyn Fn(&Candidate) -> bool) -> Result<(), Reason> {
        let t = self.terms;
        let when = self.zones[zone].batches[batch].when;
        if self.open_goals(zone, batch, fixed).is_empty() {
            return Ok(());
        }
        self.session(zone)?.push();
        self.session(zone)?.assert(when);
        let mut result = Ok(());
        loop {
            if let Err(e) = self.budget.check() {
                result = Err(Reason::Exhausted(e));
                break;
            }
            let goals = self.open_goals(zone, batch, fixed);
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
                for (k, g) in &goals {
                    if session.value(*g) == Some(logic::Value::Bool(false)) {
                        gone.push(*k);
                    }
                }
            }
            session.pop();
            if answer.is_unsat() {
                break;
            }
            if gone.is_empty() {
                // The solver did not decide all at once, or its model does not say which: one by one.
                for (k, g) in goals {
                    if !self.candidates[k].alive {
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
                        self.drop_candidate(k);
                    }
                    self.budget.check().map_err(Reason::Exhausted)?;
                }
                break;
            }
            gone.sort_unstable();
            gone.dedup();
            gone.into_iter().for_each(|k| self.drop_candidate(k));
        }
        self.session(zone)?.pop();
        result
    }

    /// Asks one condition.
    pub fn ask(&mut self, zone: usize, batch: usize, goal: usize) -> Result<Answered, Reason> {
        self.ask_all(zone, batch, &[goal])
    }

    /// Asks several conditions of a batch at once.
    fn ask_all(&mut self, zone: usize, batch: usize, goals: &[usize]) -> Result<Answered, Reason> {
        self.budget.check().map_err(Reason::Exhausted)?;
        if goals.is_empty() {
            return Ok(Answered::Holds(Vec::new()));
        }
        let t = self.terms;
        let when = self.zones[zone].batches[batch].when;
        let formulas: Vec<Term> = goals.iter().map(|g| self.zones[zone].batches[batch].goals[*g].formula).collect();
        let formula = t.and(&formulas);
        let on = self.on(zone);
        self.questions += 1;
        let session = self.session(zone)?;
        session.push();
        session.assert(when);
        session.assert(t.not(formula));
        let answer = session.check_assuming(&on);
        let core = session.core();
        session.pop();
        Ok(match answer {
            Answer::Unsat => {
                let used = self.zones[zone].uses.iter().copied().filter(|k| core.contains(&self.switch(*k))).collect();
                Answered::Holds(used)
            }
            Answer::Sat => Answered::Fails(None),
            Answer::Unknown(why) => Answered::Fails(Some(why.to_string())),
        })
    }

    /// Values of terms in a model of a failing condition.
    pub fn values(&mut self, failure: &Failure, wanted: &[Term]) -> Vec<Option<logic::Value>> {
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

    /// Conditions about what `which` selects that do not hold.
    pub fn failures(&mut self, which: &dyn Fn(&Goal, &[Candidate]) -> bool) -> Result<Vec<Failure>, Reason> {
        let mut out = Vec::new();
        for zone in 0..self.zones.len() {
            for batch in 0..self.zones[zone].batches.len() {
                let list: Vec<usize> = (0..self.zones[zone].batches[batch].goals.len())
                    .filter(|g| which(&self.zones[zone].batches[batch].goals[*g], &self.candidates))
                    .collect();
                if matches!(self.ask_all(zone, batch, &list)?, Answered::Holds(_)) {
                    continue;
                }
                for goal in list {
                    if let Answered::Fails(unknown) = self.ask(zone, batch, goal)? {
                        out.push(Failure { zone, batch, goal, unknown });
                    }
                }
            }
            self.close(zone);
        }
        Ok(out)
    }

    /// A small set of candidates that supports itself and the properties.
    pub fn needed(&mut self, properties: &[PropertyId], also: &[usize]) -> Result<Vec<usize>, Reason> {
        let mut need: Vec<bool> = vec![false; self.candidates.len()];
        also.iter().for_each(|k| need[*k] = true);
        // By zones, again and again until nothing new is needed: a session is opened once in a round.
        let mut done: Vec<Vec<Vec<bool>>> =
            self.zones.iter().map(|z| z.batches.iter().map(|b| vec![false; b.goals.len()]).collect()).collect();
        loop {
            let mut grew = false;
            for z in 0..self.zones.len() {
                for b in 0..self.zones[z].batches.len() {
                    let mut list = Vec::new();
                    for g in 0..self.zones[z].batches[b].goals.len() {
                        let wanted = match self.zones[z].batches[b].goals[g].about {
                            About::Property(p) => properties.contains(&p),
                            About::Candidate(k) => need[k],
                        };
                        if wanted && !std::mem::replace(&mut done[z][b][g], true) {
                            list.push(g);
                        }
                    }
                    match self.ask_all(z, b, &list)? {
                        Answered::Holds(used) => {
                            for k in used {
                                grew |= !std::mem::replace(&mut need[k], true);
                            }
                        }
                        Answered::Fails(why) => {
                            return Err(Reason::Solver {
                                reason: why.unwrap_or_else(|| "it has a counterexample now".into()),
                                obligation: "a condition that held before".into(),
                            });
                        }
                    }
                }
                self.close(z);
            }
            if !grew {
                break;
            }
        }
        Ok((0..need.len()).filter(|k| need[*k]).collect())
    }
}

pub enum Answered {
    Holds(Vec<usize>),
    /// It has a counterexample, or the solver did not decide.
    Fails(Option<String>),
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
