//! Conditions of rule `assume-guarantee` with every candidate behind a switch: one worker's share of them.
//!
//! In: a `Setting` and some of its jobs. Out: zones (conditions with common facts, a solver session each), and answers to
//! what the engine asks of all workers: which candidates do not hold, which conditions fail and why, which candidates an
//! unsatisfiable core names. A zone is asked as a whole first, and condition by condition only where that does not decide.
//! Absent: the order of rounds and what is concluded (`engine`); words for people (`explain`).

use super::engine::{About, Ask, Job, Place, Quantifiers, Said, Setting, Which, Words};
use super::explain::{self, Told};
use crate::instances::{Ground, Keys, quantified};
use evidence::{Reach, Reason};
use logic::subst::Substitution;
use logic::{Symbol, Term, Terms, Value};
use program::parts::{Names, Parts, Twice, Watch, Within, meet, split, stays};
use program::passive::{Begin, Environment, Passive, Region};
use program::{Action, LocId, Program, PropertyId, PropertyKind, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use solver::{Answer, Smt, Z3};

/// So many zones have a solver session each. More share one, in which the facts of one zone at a time stand: to open a session
/// takes longer than most questions.
const APART: usize = 4;
/// After so many changes of zone a shared session is opened anew: what it has seen stays in its memory.
const CHANGES: usize = 600;

/// How many failing conditions one worker explains.
const TOLD: usize = 40;

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
    /// The position of its job.
    job: usize,
    pub of: Of,
    facts: Vec<Term>,
    pub batches: Vec<Batch>,
    /// Switches that its facts mention.
    uses: Vec<usize>,
    /// The candidate that says that its start is never reached.
    dead: Option<usize>,
    dirty: bool,
    /// The conditions of properties that were found to hold, and the candidates that they rest on.
    shown: Option<(FxHashSet<(usize, usize)>, Vec<usize>)>,
    /// Goals that are known to be supported by what is needed so far.
    done: FxHashSet<(usize, usize)>,
}

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

/// The threads whose code was looked at, once for all of their regions.
type Codes<'i> = FxHashMap<ThreadId, Passive<'i>>;

/// The candidates by place, for building zones.
struct Index<'a> {
    s: &'a Setting,
    watch: Watch,
    /// The candidates that the parts of `watch` are.
    invariants: Vec<usize>,
    relies: Vec<usize>,
    /// The invariants, and what each thread relies on, each behind its switch.
    always: Parts,
    env: Vec<(Vec<usize>, Parts)>,
    at: FxHashMap<(ThreadId, LocId), Vec<usize>>,
    /// Written relies that are asked for, in parts.
    written: Vec<(PropertyId, Option<ThreadId>, Parts)>,
    loose: bool,
}

impl<'a> Index<'a> {
    fn new(s: &'a Setting) -> Self {
        let (p, t) = (&s.program, &s.terms);
        let names = Names::new(p);
        let (mut invariant, mut relies, mut always) = (Parts::default(), Parts::default(), Parts::default());
        let (mut invariants, mut rely_ids, mut of) = (Vec::new(), Vec::new(), Vec::new());
        let mut env: Vec<(Vec<usize>, Parts)> = p.threads.iter().map(|_| Default::default()).collect();
        let mut at: FxHashMap<(ThreadId, LocId), Vec<usize>> = FxHashMap::default();
        for (k, c) in s.candidates.iter().enumerate() {
            match c.place {
                Place::Invariant => {
                    invariant.push(&names, t, c.formula);
                    always.push(&names, t, s.guarded(k));
                    invariants.push(k);
                }
                Place::Rely(thread) => {
                    relies.push(&names, t, c.formula);
                    rely_ids.push(k);
                    of.push(vec![thread]);
                    let (ids, parts) = &mut env[thread.0 as usize];
                    ids.push(k);
                    parts.push(&names, t, s.guarded(k));
                }
                Place::Cut(thread, l) => at.entry((thread, l)).or_default().push(k),
            }
        }
        let mut written = Vec::new();
        for w in &s.wanted {
            let PropertyKind::Rely(r) = p.properties[*w].kind else { continue };
            let Some(rely) = p.relies.get(r as usize) else { continue };
            if let Some(formula) = rely.formula {
                written.push((*w, rely.thread, Parts::new(&names, t, split(t, formula))));
            }
        }
        let watch = Watch { names, invariant, relies, of };
        let loose = p.threads.iter().any(|x| x.code.locations.iter().any(|l| l.inside));
        Self { s, watch, invariants, relies: rely_ids, always, env, at, written, loose }
    }

    fn within(&self, about: &[Symbol]) -> Within {
        match self.s.reach {
            Reach::All => Within::All,
            Reach::Near => Within::These(about.iter().copied().collect()),
        }
    }

    fn cut(&self, thread: ThreadId, at: LocId) -> &[usize] {
        self.at.get(&(thread, at)).map_or(&[], |v| &v[..])
    }

    fn guarded_cut(&self, thread: ThreadId, at: LocId) -> Term {
        self.s.terms.and(&self.cut(thread, at).iter().map(|k| self.s.guarded(*k)).collect::<Vec<_>>())
    }

    fn watched(&self, thread: ThreadId, by: Option<ThreadId>) -> bool {
        let p = &self.s.program;
        p.threads.ids().any(|x| by.is_none_or(|y| y == x) && meet(p, thread, x))
    }

    fn leaves_block(&self, thread: ThreadId, action: &Action) -> bool {
        let locations = &self.s.program.threads[thread].code.locations;
        locations[action.from].inside && !locations[action.to].inside
    }

    /// The candidates that facts within these variables mention.
    fn uses(&self, thread: ThreadId, within: &Within) -> Vec<usize> {
        let (ids, parts) = &self.env[thread.0 as usize];
        let mut out: Vec<usize> = self.always.within(within).into_iter().map(|i| self.invariants[i]).collect();
        out.extend(parts.within(within).into_iter().map(|i| ids[i]));
        out
    }

    fn distinct(&self) -> Vec<Term> {
        let t = &self.s.terms;
        let (tid, other) = (t.sym(self.s.program.tid), t.sym(self.s.other));
        vec![t.lt(t.int(0), tid), t.lt(t.int(0), other), t.ne(tid, other)]
    }

    fn zone(&self, job: usize, of: Of, facts: Vec<Term>, batches: Vec<Batch>, mut uses: Vec<usize>) -> Zone {
        uses.sort_unstable();
        uses.dedup();
        Zone { job, of, facts, batches, uses, dead: None, dirty: true, shown: None, done: FxHashSet::default() }
    }

    fn build<'i>(&'i self, at: usize, job: &Job, codes: &mut Codes<'i>) -> Result<Vec<Zone>, Reason> {
        self.s.budget.check().map_err(Reason::Exhausted)?;
        let mut zones = match job {
            Job::Initial(range) => vec![self.initial(at, range.clone())],
            Job::Closed(thread) => self.closed(at, *thread),
            Job::Stable(thread) => vec![self.stable(at, *thread)],
            Job::Thread(thread, starts) => {
                let passive = codes.entry(*thread).or_insert_with(|| self.passive(*thread));
                self.regions(at, *thread, starts, passive)?
            }
        };
        if self.s.quantifiers == Quantifiers::Instances {
            zones.iter_mut().for_each(|z| self.ground(z));
        }
        Ok(zones)
    }

    /// Puts instances in the place of quantified facts, and keys that may be any in that of quantified goals.
    fn ground(&self, zone: &mut Zone) {
        let t = &self.s.terms;
        let goals = zone.batches.iter().flat_map(|b| b.goals.iter().map(|g| g.formula).chain([b.when]));
        if !zone.facts.iter().copied().chain(goals).any(|f| quantified(t, f)) {
            return;
        }
        let mut keys = Keys::default();
        [self.s.program.tid, self.s.other].into_iter().for_each(|id| keys.add(t, t.sym(id)));
        let formulas = zone.batches.iter().flat_map(|b| b.goals.iter().map(|g| g.formula).chain([b.when]));
        keys.gather(t, formulas.chain(zone.facts.iter().copied()).collect::<Vec<_>>());
        let mut ground = Ground::new(t, keys);
        let goals = zone.batches.iter_mut().flat_map(|b| &mut b.goals);
        goals.for_each(|g| g.formula = ground.goal(g.formula));
        zone.facts.iter_mut().for_each(|f| *f = ground.premise(*f));
        zone.batches.iter_mut().for_each(|b| b.when = ground.premise(b.when));
    }

    fn initial(&self, job: usize, range: std::ops::Range<usize>) -> Zone {
        let (s, t) = (self.s, &self.s.terms);
        let ids: Vec<usize> = self.invariants.iter().copied().filter(|k| range.contains(k)).collect();
        let about: Vec<Symbol> = ids.iter().flat_map(|k| self.watch.names.about(t, s.candidates[*k].formula)).collect();
        let within = self.within(&about);
        let init = t.conjuncts(super::engine::initial_store(&s.program, t));
        let facts = init.into_iter().filter(|f| within.covers(&self.watch.names.about(t, *f))).collect();
        let goal = |k: usize| Goal { formula: s.candidates[k].formula, about: About::Candidate(k), part: None };
        let batch = Batch { when: t.tt(), step: None, goals: ids.into_iter().map(goal).collect() };
        self.zone(job, Of::Initial, facts, vec![batch], Vec::new())
    }

    fn closed(&self, job: usize, thread: ThreadId) -> Vec<Zone> {
        let (s, t, names) = (self.s, &self.s.terms, &self.watch.names);
        let (ids, parts) = &self.env[thread.0 as usize];
        let twice = Twice::new(t, names);
        let groups = match s.reach {
            Reach::All => vec![(names.all(), (0..ids.len()).collect::<Vec<usize>>())],
            Reach::Near => parts.groups(),
        };
        let mut out: Vec<Zone> = Vec::new();
        let mut size = 0;
        for (about, group) in groups {
            let within = self.within(about);
            let rely = parts.formula(t, &within);
            let mut premise = vec![rely];
            let mut second = twice.second(t, names, about);
            premise.push(second.apply(rely));
            let mut idle = t.tt();
            if !self.loose {
                idle = self.always.formula(t, &within);
                premise.extend([idle, second.apply(idle)]);
            }
            let goals = |s: &mut Substitution<'_>| -> Vec<Goal> {
                let goal = |i: &usize| (ids[*i], s.apply(self.s.candidates[ids[*i]].formula));
                let all = group.iter().map(goal);
                all.map(|(k, formula)| Goal { formula, about: About::Candidate(k), part: None }).collect()
            };
            let reflexive = Batch { when: idle, step: None, goals: goals(&mut twice.idle(t, names, about)) };
            let when = t.and(&premise);
            let transitive = Batch { when, step: None, goals: goals(&mut twice.whole(t, names, about)) };
            // Groups share a session, but not too many of them.
            if out.is_empty() || size > 150 {
                out.push(self.zone(job, Of::Closed(thread), self.distinct(), Vec::new(), Vec::new()));
                size = 0;
            }
            size += group.len();
            let zone = out.last_mut().expect("there is one");
            zone.batches.extend([reflexive, transitive]);
            zone.uses.extend(self.uses(thread, &within));
            zone.uses.sort_unstable();
            zone.uses.dedup();
        }
        out
    }

    /// What holds at the start of a spawned thread still holds when it takes its first step.
    fn stable(&self, job: usize, thread: ThreadId) -> Zone {
        let (s, t, names) = (self.s, &self.s.terms, &self.watch.names);
        let entry = s.program.threads[thread].code.entry;
        let here = self.guarded_cut(thread, entry);
        let about = names.about(t, here);
        let within = self.within(&about);
        let mut moved =
            Substitution::new(t, names.all().iter().filter(|x| within.has(**x)).map(|x| (*x, t.sym(names.after(*x)))));
        let invariant = self.always.formula(t, &within);
        let mut facts = self.distinct();
        facts.extend([invariant, moved.apply(invariant), here, self.env[thread.0 as usize].1.formula(t, &within)]);
        let ids = self.cut(thread, entry);
        let goal = |k: &usize| (*k, moved.apply(s.candidates[*k].formula));
        let all = ids.iter().map(goal);
        let goals = all.map(|(k, formula)| Goal { formula, about: About::Candidate(k), part: None }).collect();
        let mut uses = self.uses(thread, &within);
        uses.extend(ids);
        self.zone(job, Of::Closed(thread), facts, vec![Batch { when: t.tt(), step: None, goals }], uses)
    }

    fn passive(&self, thread: ThreadId) -> Passive<'_> {
        let (s, p, t) = (self.s, &self.s.program, &self.s.terms);
        let env = Environment { rely: &self.env[thread.0 as usize].1, invariant: &self.always };
        Passive::new(p, t, &self.watch.names, thread, &s.cuts[thread.0 as usize], env)
    }

    fn regions(
        &self,
        job: usize,
        thread: ThreadId,
        starts: &[Option<LocId>],
        passive: &Passive<'_>,
    ) -> Result<Vec<Zone>, Reason> {
        let (s, p, t) = (self.s, &self.s.program, &self.s.terms);
        let code = &p.threads[thread].code;
        let wrong = |why: String| Reason::Internal(why);
        let mut out = Vec::new();
        for start in starts {
            s.budget.check().map_err(Reason::Exhausted)?;
            let (at, begin) = match start {
                Some(l) => (*l, Begin::At(*l, self.guarded_cut(thread, *l))),
                None => {
                    let mut init = vec![super::engine::initial_store(p, t)];
                    let locals = p.threads[thread].locals.iter();
                    init.extend(locals.filter_map(|v| p.vars[*v].initial.map(|x| t.eq(t.sym(p.vars[*v].symbol), x))));
                    (code.entry, Begin::Entry(t.and(&init)))
                }
            };
            let within = match s.reach {
                Reach::All => Within::All,
                Reach::Near => Within::These(self.near(thread, passive, at)?),
            };
            let mut uses = self.uses(thread, &within);
            if start.is_some() {
                uses.extend(self.cut(thread, at));
            }
            let region = passive.region(begin, within).map_err(wrong)?;
            let batches = self.batches(thread, &region)?;
            let mut facts = self.distinct();
            facts.extend(&region.facts);
            let mut zone = self.zone(job, Of::Region(thread, Box::new(region)), facts, batches, uses);
            let never = |k: &&usize| t.is_false(s.candidates[**k].formula);
            zone.dead = start.and_then(|l| self.cut(thread, l).iter().find(never).copied());
            out.push(zone);
        }
        Ok(out)
    }

    /// The variables that the conditions of a region speak of.
    fn near(&self, thread: ThreadId, passive: &Passive<'_>, start: LocId) -> Result<FxHashSet<Symbol>, Reason> {
        let (s, p, t, names) = (self.s, &self.s.program, &self.s.terms, &self.watch.names);
        let code = &p.threads[thread].code;
        let mut out: FxHashSet<Symbol> = FxHashSet::default();
        let cut = |l: LocId, of: ThreadId, out: &mut FxHashSet<Symbol>| {
            for k in self.cut(of, l) {
                out.extend(names.about(t, s.candidates[*k].formula));
            }
        };
        cut(start, thread, &mut out);
        let actions = passive.actions(start).ok_or_else(|| Reason::Internal("a loop has no cut".into()))?;
        for (id, touched) in actions {
            let action = &code.actions[id];
            out.extend(touched);
            let broken = self.watch.broken(t, p, thread, action, self.leaves_block(thread, action));
            out.extend(self.watch.about(&broken));
            let writes = names.written(p, action);
            for (_, by, parts) in &self.written {
                if self.watched(thread, *by) {
                    let open = parts.list.iter().filter(|part| !stays(t, names, part, &writes));
                    out.extend(open.flat_map(|part| part.about.iter().copied()));
                }
            }
            if let Some(spawn) = &action.spawn {
                cut(p.threads[spawn.thread].code.entry, spawn.thread, &mut out);
            }
            cut(action.to, thread, &mut out);
        }
        Ok(out)
    }

    fn batches(&self, thread: ThreadId, region: &Region) -> Result<Vec<Batch>, Reason> {
        let (s, p, t, names) = (self.s, &self.s.program, &self.s.terms, &self.watch.names);
        let code = &p.threads[thread].code;
        let candidate = |k: usize, by: &mut Substitution<'_>| Goal {
            formula: by.apply(s.candidates[k].formula),
            about: About::Candidate(k),
            part: None,
        };
        let mut out = Vec::new();
        for (at, step) in region.steps.iter().enumerate() {
            s.budget.check().map_err(Reason::Exhausted)?;
            let action = &code.actions[step.action];
            for (i, gate) in action.gates.iter().enumerate() {
                if s.wanted.binary_search(&gate.property).is_ok() {
                    let goals =
                        vec![Goal { formula: step.gates[i], about: About::Property(gate.property), part: None }];
                    out.push(Batch { when: step.before_gate[i], step: Some(at), goals });
                }
            }
            let mut goals = Vec::new();
            let broken = self.watch.broken(t, p, thread, action, self.leaves_block(thread, action));
            if !code.locations[action.to].inside {
                let mut after = region.after(t, names, step);
                goals.extend(broken.invariant.iter().map(|i| candidate(self.invariants[*i], &mut after)));
            }
            let mut seen = region.seen(p, t, names, step, s.other);
            goals.extend(broken.relies.iter().map(|i| candidate(self.relies[*i], &mut seen)));
            let writes = names.written(p, action);
            for (w, by, parts) in &self.written {
                if !self.watched(thread, *by) {
                    continue;
                }
                // Also for a step that touches nothing of it: a written rely need not allow idling.
                for part in parts.list.iter().filter(|part| !stays(t, names, part, &writes)) {
                    let formula = seen.apply(part.formula);
                    goals.push(Goal { formula, about: About::Property(*w), part: Some(part.formula) });
                }
            }
            if let (Some(new), Some(spawn)) = (step.spawned, &action.spawn) {
                let mut started = region.started(p, t, names, step, (spawn, new));
                let entry = p.threads[spawn.thread].code.entry;
                goals.extend(self.cut(spawn.thread, entry).iter().map(|k| candidate(*k, &mut started)));
            }
            if !goals.is_empty() {
                out.push(Batch { when: step.taken, step: Some(at), goals });
            }
        }
        for end in &region.ends {
            let mut here = end.store.reader(t);
            let goals = self.cut(thread, end.at).iter().map(|k| candidate(*k, &mut here)).collect();
            out.push(Batch { when: end.reached, step: None, goals });
        }
        Ok(out)
    }
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
