//! The conditions of rule `assume-guarantee` for one job, with every candidate behind a switch.
//!
//! In: a `ProofSetting` and a job. Out: groups: conditions with common facts, about the first store, about what threads rely on, or about
//! a region of a thread's code. Deliberately absent: any question to a solver (`groups`).

use super::setting::{AnnotationSite, ConditionJob, ConditionSubject, ProofSetting, Quantifiers};
use crate::instances::{Ground, KeysAtHand};
use evidence::{Premises, Reason};
use logic::subst::Substitution;
use logic::{Symbol, Term};
use program::parts::{Parts, StabilityIndex, StoreSymbols, TwoSteps, Within, split_conjuncts, trivially_preserved};
use program::passive::{EnvironmentFacts, Passive, Region, RegionStart};
use program::transition::{initial_store, may_coexist};
use program::{Action, LocId, PropertyId, PropertyKind, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Debug)]
pub(crate) struct ConditionGoal {
    pub formula: Term,
    pub about: ConditionSubject,
    /// The conjunct of the text that it is an instance of, where the property has several.
    pub part: Option<Term>,
}

/// Conditions with one premise.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub when: Term,
    /// The step of the group's region, where it is about one.
    pub step: Option<usize>,
    pub goals: Vec<ConditionGoal>,
}

#[derive(Clone, Debug)]
pub(crate) enum ConditionOf {
    Initial,
    /// Reflexive and transitive.
    Closed(ThreadId),
    Region(ThreadId, Box<Region>),
}

pub(crate) struct ConditionGroup {
    /// The position of its job.
    pub job: usize,
    pub of: ConditionOf,
    pub facts: Vec<Term>,
    pub batches: Vec<Batch>,
    /// Switches that its facts mention.
    pub uses: Vec<usize>,
    /// The candidate that says that its start is never reached.
    pub dead: Option<usize>,
    /// The conditions of properties that were found to hold, and the candidates that they rest on.
    pub shown: Option<(FxHashSet<(usize, usize)>, Vec<usize>)>,
    /// Goals that are known to be supported by what is needed so far.
    pub done: FxHashSet<(usize, usize)>,
}

/// The threads whose code was looked at, once for all of their regions.
pub(crate) type Codes<'i> = FxHashMap<ThreadId, Passive<'i>>;

/// The candidates by place, for building groups.
pub(crate) struct CandidateIndex<'a> {
    s: &'a ProofSetting,
    watch: StabilityIndex,
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

impl<'a> CandidateIndex<'a> {
    pub(super) fn new(s: &'a ProofSetting) -> Self {
        let (p, t) = (&s.program, &s.terms);
        let names = StoreSymbols::new(p);
        let (mut invariant, mut relies, mut always) = (Parts::default(), Parts::default(), Parts::default());
        let (mut invariants, mut rely_ids, mut of) = (Vec::new(), Vec::new(), Vec::new());
        let mut env: Vec<(Vec<usize>, Parts)> = p.threads.iter().map(|_| Default::default()).collect();
        let mut at: FxHashMap<(ThreadId, LocId), Vec<usize>> = FxHashMap::default();
        for (k, c) in s.candidates.iter().enumerate() {
            match c.place {
                AnnotationSite::Invariant => {
                    invariant.push(&names, t, c.formula);
                    always.push(&names, t, s.guarded(k));
                    invariants.push(k);
                }
                AnnotationSite::Rely(thread) => {
                    relies.push(&names, t, c.formula);
                    rely_ids.push(k);
                    of.push(vec![thread]);
                    let (ids, parts) = &mut env[thread.index()];
                    ids.push(k);
                    parts.push(&names, t, s.guarded(k));
                }
                AnnotationSite::Cut(thread, l) => at.entry((thread, l)).or_default().push(k),
            }
        }
        let mut written = Vec::new();
        for w in &s.wanted {
            let PropertyKind::Rely(r) = p.properties[*w].kind else { continue };
            let Some(rely) = p.relies.get(r as usize) else { continue };
            if let Some(formula) = rely.formula {
                written.push((*w, rely.thread, Parts::new(&names, t, split_conjuncts(t, formula))));
            }
        }
        let watch = StabilityIndex { names, invariant, relies, of };
        let loose = p.threads.iter().any(|x| x.code.locations.iter().any(|l| l.in_atomic_block));
        Self { s, watch, invariants, relies: rely_ids, always, env, at, written, loose }
    }

    fn within(&self, about: &[Symbol]) -> Within {
        match self.s.premises {
            Premises::All => Within::All,
            Premises::Relevant => Within::These(about.iter().copied().collect()),
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
        p.threads.ids().any(|x| by.is_none_or(|y| y == x) && may_coexist(p, thread, x))
    }

    fn leaves_block(&self, thread: ThreadId, action: &Action) -> bool {
        let locations = &self.s.program.threads[thread].code.locations;
        locations[action.from].in_atomic_block && !locations[action.to].in_atomic_block
    }

    /// The candidates that facts within these variables mention.
    fn uses(&self, thread: ThreadId, within: &Within) -> Vec<usize> {
        let (ids, parts) = &self.env[thread.index()];
        let mut out: Vec<usize> = self.always.within(within).into_iter().map(|i| self.invariants[i]).collect();
        out.extend(parts.within(within).into_iter().map(|i| ids[i]));
        out
    }

    fn distinct(&self) -> Vec<Term> {
        let t = &self.s.terms;
        let (tid, other) = (t.sym(self.s.program.tid), t.sym(self.s.other));
        vec![t.lt(t.int(0), tid), t.lt(t.int(0), other), t.ne(tid, other)]
    }

    fn group(
        &self,
        job: usize,
        of: ConditionOf,
        facts: Vec<Term>,
        batches: Vec<Batch>,
        mut uses: Vec<usize>,
    ) -> ConditionGroup {
        uses.sort_unstable();
        uses.dedup();
        ConditionGroup { job, of, facts, batches, uses, dead: None, shown: None, done: FxHashSet::default() }
    }

    pub(super) fn build<'i>(
        &'i self,
        at: usize,
        job: &ConditionJob,
        codes: &mut Codes<'i>,
    ) -> Result<Vec<ConditionGroup>, Reason> {
        self.s.budget.check().map_err(Reason::Exhausted)?;
        let mut groups = match job {
            ConditionJob::Initial(range) => vec![self.initial(at, range.clone())],
            ConditionJob::Closed(thread) => self.closed(at, *thread),
            ConditionJob::Stable(thread) => vec![self.stable(at, *thread)],
            ConditionJob::Thread(thread, starts) => {
                let passive = codes.entry(*thread).or_insert_with(|| self.passive(*thread));
                self.regions(at, *thread, starts, passive)?
            }
        };
        if self.s.quantifiers == Quantifiers::Instances {
            groups.iter_mut().for_each(|z| self.ground(z));
        }
        Ok(groups)
    }

    /// Puts instances in the place of quantified facts, and keys that may be any in that of quantified goals.
    fn ground(&self, group: &mut ConditionGroup) {
        let t = &self.s.terms;
        let goals = group.batches.iter().flat_map(|b| b.goals.iter().map(|g| g.formula).chain([b.when]));
        if !group.facts.iter().copied().chain(goals).any(|f| t.has_quantifier(f)) {
            return;
        }
        let mut keys = KeysAtHand::default();
        [self.s.program.tid, self.s.other].into_iter().for_each(|id| keys.add(t, t.sym(id)));
        let formulas = group.batches.iter().flat_map(|b| b.goals.iter().map(|g| g.formula).chain([b.when]));
        keys.gather(t, formulas.chain(group.facts.iter().copied()).collect::<Vec<_>>());
        let mut ground = Ground::new(t, keys);
        let goals = group.batches.iter_mut().flat_map(|b| &mut b.goals);
        goals.for_each(|g| g.formula = ground.goal(g.formula));
        group.facts.iter_mut().for_each(|f| *f = ground.premise(*f));
        group.batches.iter_mut().for_each(|b| b.when = ground.premise(b.when));
    }

    fn initial(&self, job: usize, range: std::ops::Range<usize>) -> ConditionGroup {
        let (s, t) = (self.s, &self.s.terms);
        let ids: Vec<usize> = self.invariants.iter().copied().filter(|k| range.contains(k)).collect();
        let about: Vec<Symbol> = ids.iter().flat_map(|k| self.watch.names.about(t, s.candidates[*k].formula)).collect();
        let within = self.within(&about);
        let init = t.conjuncts(initial_store(&s.program, t));
        let facts = init.into_iter().filter(|f| within.covers(&self.watch.names.about(t, *f))).collect();
        let goal = |k: usize| ConditionGoal {
            formula: s.candidates[k].formula,
            about: ConditionSubject::Candidate(k),
            part: None,
        };
        let batch = Batch { when: t.tt(), step: None, goals: ids.into_iter().map(goal).collect() };
        self.group(job, ConditionOf::Initial, facts, vec![batch], Vec::new())
    }

    fn closed(&self, job: usize, thread: ThreadId) -> Vec<ConditionGroup> {
        let (s, t, names) = (self.s, &self.s.terms, &self.watch.names);
        let (ids, parts) = &self.env[thread.index()];
        let twice = TwoSteps::new(t, names);
        let parts_together = match s.premises {
            Premises::All => vec![(names.all(), (0..ids.len()).collect::<Vec<usize>>())],
            Premises::Relevant => parts.groups(),
        };
        let mut out: Vec<ConditionGroup> = Vec::new();
        let mut size = 0;
        for (about, members) in parts_together {
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
            let goals = |s: &mut Substitution<'_>| -> Vec<ConditionGoal> {
                let goal = |i: &usize| (ids[*i], s.apply(self.s.candidates[ids[*i]].formula));
                let all = members.iter().map(goal);
                all.map(|(k, formula)| ConditionGoal { formula, about: ConditionSubject::Candidate(k), part: None })
                    .collect()
            };
            let reflexive = Batch { when: idle, step: None, goals: goals(&mut twice.idle(t, names, about)) };
            let when = t.and(&premise);
            let transitive = Batch { when, step: None, goals: goals(&mut twice.whole(t, names, about)) };
            // Groups share a session, but not too many of them.
            if out.is_empty() || size > 150 {
                out.push(self.group(job, ConditionOf::Closed(thread), self.distinct(), Vec::new(), Vec::new()));
                size = 0;
            }
            size += members.len();
            let group = out.last_mut().expect("there is one");
            group.batches.extend([reflexive, transitive]);
            group.uses.extend(self.uses(thread, &within));
            group.uses.sort_unstable();
            group.uses.dedup();
        }
        out
    }

    /// What holds at the start of a spawned thread still holds when it takes its first step.
    fn stable(&self, job: usize, thread: ThreadId) -> ConditionGroup {
        let (s, t, names) = (self.s, &self.s.terms, &self.watch.names);
        let entry = s.program.threads[thread].code.entry;
        let here = self.guarded_cut(thread, entry);
        let about = names.about(t, here);
        let within = self.within(&about);
        let mut havoc_by_rely =
            Substitution::new(t, names.all().iter().filter(|x| within.has(**x)).map(|x| (*x, t.sym(names.after(*x)))));
        let invariant = self.always.formula(t, &within);
        let mut facts = self.distinct();
        facts.extend([invariant, havoc_by_rely.apply(invariant), here, self.env[thread.index()].1.formula(t, &within)]);
        let ids = self.cut(thread, entry);
        let goal = |k: &usize| (*k, havoc_by_rely.apply(s.candidates[*k].formula));
        let all = ids.iter().map(goal);
        let goals = all
            .map(|(k, formula)| ConditionGoal { formula, about: ConditionSubject::Candidate(k), part: None })
            .collect();
        let mut uses = self.uses(thread, &within);
        uses.extend(ids);
        self.group(job, ConditionOf::Closed(thread), facts, vec![Batch { when: t.tt(), step: None, goals }], uses)
    }

    fn passive(&self, thread: ThreadId) -> Passive<'_> {
        let (s, p, t) = (self.s, &self.s.program, &self.s.terms);
        let env = EnvironmentFacts { rely: &self.env[thread.index()].1, invariant: &self.always };
        Passive::new(p, t, &self.watch.names, thread, &s.cuts[thread.index()], env)
    }

    fn regions(
        &self,
        job: usize,
        thread: ThreadId,
        starts: &[Option<LocId>],
        passive: &Passive<'_>,
    ) -> Result<Vec<ConditionGroup>, Reason> {
        let (s, p, t) = (self.s, &self.s.program, &self.s.terms);
        let code = &p.threads[thread].code;
        let wrong = |why: String| Reason::Internal(why);
        let mut out = Vec::new();
        for start in starts {
            s.budget.check().map_err(Reason::Exhausted)?;
            let (at, begin) = match start {
                Some(l) => (*l, RegionStart::At(*l, self.guarded_cut(thread, *l))),
                None => {
                    let mut init = vec![initial_store(p, t)];
                    let locals = p.threads[thread].locals.iter();
                    init.extend(locals.filter_map(|v| p.vars[*v].initial.map(|x| t.eq(t.sym(p.vars[*v].symbol), x))));
                    (code.entry, RegionStart::Entry(t.and(&init)))
                }
            };
            let within = match s.premises {
                Premises::All => Within::All,
                Premises::Relevant => Within::These(self.near(thread, passive, at)?),
            };
            let mut uses = self.uses(thread, &within);
            if start.is_some() {
                uses.extend(self.cut(thread, at));
            }
            let region = passive.region(begin, within).map_err(wrong)?;
            let batches = self.batches(thread, &region)?;
            let mut facts = self.distinct();
            facts.extend(&region.facts);
            let mut group = self.group(job, ConditionOf::Region(thread, Box::new(region)), facts, batches, uses);
            let never = |k: &&usize| t.is_false(s.candidates[**k].formula);
            group.dead = start.and_then(|l| self.cut(thread, l).iter().find(never).copied());
            out.push(group);
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
                    let open = parts.list.iter().filter(|part| !trivially_preserved(t, names, part, &writes));
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
        let candidate = |k: usize, by: &mut Substitution<'_>| ConditionGoal {
            formula: by.apply(s.candidates[k].formula),
            about: ConditionSubject::Candidate(k),
            part: None,
        };
        let mut out = Vec::new();
        for (at, step) in region.steps.iter().enumerate() {
            s.budget.check().map_err(Reason::Exhausted)?;
            let action = &code.actions[step.action];
            for (i, gate) in action.gates.iter().enumerate() {
                if s.wanted.binary_search(&gate.property).is_ok() {
                    let goals = vec![ConditionGoal {
                        formula: step.gates[i],
                        about: ConditionSubject::Property(gate.property),
                        part: None,
                    }];
                    out.push(Batch { when: step.before_gate[i], step: Some(at), goals });
                }
            }
            let mut goals = Vec::new();
            let broken = self.watch.broken(t, p, thread, action, self.leaves_block(thread, action));
            if !code.locations[action.to].in_atomic_block {
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
                for part in parts.list.iter().filter(|part| !trivially_preserved(t, names, part, &writes)) {
                    let formula = seen.apply(part.formula);
                    goals.push(ConditionGoal {
                        formula,
                        about: ConditionSubject::Property(*w),
                        part: Some(part.formula),
                    });
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
