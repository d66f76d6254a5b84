//! Rule `assume-guarantee`: Calvin's theorems 1 and 2, for any number of instances.
//!
//! In: an invariant I of the shared store; for each thread T what it assumes of the others' steps, A_T (two-store), and
//! cut locations with a formula each. Out: the obligations
//!   AG1  every initial store satisfies I;
//!   AG2  A_T is reflexive and transitive between stores that satisfy I, so that one step of it stands for any number;
//!   AG3  from each cut (and from the entry with an initial store), along every path to the next cuts with steps of A_T
//!        between the thread's own: gates of claimed properties hold, each step leaves I and is a step of A_U for every other
//!        instance of every thread U, and satisfies the claimed written relies; a cut is reached with its formula;
//!   AG4  a spawned instance begins with the formula of its entry, which is stable under A;
//!   AG5  I implies each claimed invariant.
//! Inside atomic blocks nobody else moves and I is not looked at; each step there still has to be one of A_U, so AG2 is then
//! asked for without I. A step that fails a gate ends the run, so later obligations assume all gates, claimed or not.
//! A rely that is asked for with `?` is answered by A_T itself.
//! Conjuncts are judged one by one. A step is asked for those that it could break (`program::parts`): the others are as they were,
//! and a part of A_U about variables that a step leaves alone holds of it because A_U is reflexive. With `Reach::Near` an obligation
//! assumes only the conjuncts about the variables that the code at hand touches or its own conclusions speak of: fewer premises.
//! Absent: `Performs`, `Follows`, `Linearizable`, `Deadlock`; calls by contract.

use super::{Malformed, claimable};
use crate::obligation::{self, Obligation, Vocabulary};
use evidence::{AssumeGuarantee, Assumes, Reach};
use logic::{Sort, Symbol, Term, Terms};
use program::parts::{Names, Part, Parts, Twice, Watch, Within, meet, split, stays};
use program::passive::{Begin, Environment, Passive, Region, breaks_loops};
use program::{LocId, Program, PropertyId, PropertyKind, Start, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const RULE: &str = "assume-guarantee";

/// Regions with more claimed properties than this, and certificates with many more, show those of a region together.
const APART: usize = 6;

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &AssumeGuarantee,
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Malformed> {
    let all = vet(program, terms, proof, claimed)?;
    let mut out = Vec::new();
    let init = obligation::initial_store(program, terms);
    out.push(Obligation::common(RULE, "the invariant holds initially", terms.implies(init, proof.invariant)));
    let rule = Rule::new(program, terms, proof, &all, claimed)?;
    for at in 0..all.len() {
        rule.closed(at, &mut out);
        rule.thread(at, &mut out)?;
    }
    for p in claimed {
        if let PropertyKind::Invariant(formula) = program.properties[*p].kind {
            let what = format!("the invariant implies {}", program.properties[*p].name);
            let known = rule.invariant_about(&rule.watch.names.about(terms, formula));
            out.push(Obligation::of(*p, RULE, what, terms.implies(known, formula)));
        }
    }
    Ok(out)
}

struct Rule<'a> {
    program: &'a Program,
    terms: &'a Terms,
    reach: Reach,
    all: &'a [&'a Assumes],
    claimed: BTreeSet<PropertyId>,
    /// The claimed written relies, in parts, each with the thread that relies on it (or all).
    written: Vec<(PropertyId, Option<ThreadId>, Vec<Part>)>,
    watch: Watch,
    /// What each thread relies on.
    relies: Vec<Parts>,
    twice: Twice,
    /// The id of another instance.
    other: Symbol,
}

impl<'a> Rule<'a> {
    fn new(
        program: &'a Program,
        terms: &'a Terms,
        proof: &AssumeGuarantee,
        all: &'a [&'a Assumes],
        claimed: &[PropertyId],
    ) -> Result<Self, Malformed> {
        let names = Names::new(program);
        let invariant = Parts::new(&names, terms, split(terms, proof.invariant));
        let (mut relies, mut of): (Parts, Vec<Vec<ThreadId>>) = (Parts::default(), Vec::new());
        let mut known: FxHashMap<Term, usize> = FxHashMap::default();
        let mut each = Vec::new();
        for a in all {
            let parts = split(terms, a.rely);
            for f in &parts {
                let at = *known.entry(*f).or_insert_with(|| {
                    relies.push(&names, terms, *f);
                    of.push(Vec::new());
                    of.len() - 1
                });
                of[at].push(a.thread);
            }
            each.push(Parts::new(&names, terms, parts));
        }
        let mut written = Vec::new();
        for c in claimed {
            let PropertyKind::Rely(r) = program.properties[*c].kind else { continue };
            let rely = program.relies.get(r as usize).ok_or_else(|| Malformed("no such rely".into()))?;
            if let Some(formula) = rely.formula {
                let parts = Parts::new(&names, terms, split(terms, formula)).list;
                written.push((*c, rely.thread, parts));
            }
        }
        let twice = Twice::new(terms, &names);
        Ok(Self {
            program,
            terms,
            reach: proof.reach,
            all,
            claimed: claimed.iter().copied().collect(),
            written,
            watch: Watch { names, invariant, relies, of },
            relies: each,
            twice,
            other: terms.symbol("other_tid", Sort::INT),
        })
    }

    /// What an obligation about these variables looks at.
    fn within(&self, about: &[Symbol]) -> Within {
        match self.reach {
            Reach::All => Within::All,
            Reach::Near => Within::These(about.iter().copied().collect()),
        }
    }

    fn invariant_about(&self, about: &[Symbol]) -> Term {
        self.watch.invariant.formula(self.terms, &self.within(about))
    }

    /// AG2.
    fn closed(&self, at: usize, out: &mut Vec<Obligation>) {
        let (p, t, names) = (self.program, self.terms, &self.watch.names);
        let name = &p.threads[self.all[at].thread].name;
        let positive = t.lt(t.int(0), t.sym(p.tid));
        // Others' steps inside atomic blocks are single steps of the relation, between stores of which I says nothing.
        let loose = p.threads.iter().any(|x| x.code.locations.iter().any(|l| l.inside));
        let groups = match self.reach {
            Reach::All => vec![(names.all(), (0..self.relies[at].list.len()).collect::<Vec<usize>>())],
            Reach::Near => self.relies[at].groups(),
        };
        for (about, group) in groups {
            let goal = t.and(&group.iter().map(|g| self.relies[at].list[*g].formula).collect::<Vec<_>>());
            let invariant = if loose { t.tt() } else { self.invariant_about(about) };
            let rely = self.relies[at].formula(t, &self.within(about));
            out.push(Obligation::common(
                RULE,
                format!("what {name} relies on allows a step that changes nothing"),
                t.implies(t.and(&[positive, invariant]), self.twice.idle(t, names, about).apply(goal)),
            ));
            let mut second = self.twice.second(t, names, about);
            let pre = [positive, invariant, second.apply(invariant), rely, second.apply(rely)];
            out.push(Obligation::common(
                RULE,
                format!("what {name} relies on allows two steps as one"),
                t.implies(t.and(&pre), self.twice.whole(t, names, about).apply(goal)),
            ));
        }
    }

    fn thread(&self, index: usize, out: &mut Vec<Obligation>) -> Result<(), Malformed> {
        let (p, t, names) = (self.program, self.terms, &self.watch.names);
        let a = self.all[index];
        let thread = &p.threads[a.thread];
        let cuts: Vec<LocId> = a.cuts.iter().map(|(l, _)| *l).collect();
        let env = Environment { rely: &self.relies[index], invariant: &self.watch.invariant };
        let passive = Passive::new(p, t, names, a.thread, &cuts, env);
        let mut begins: Vec<(LocId, Begin)> = a.cuts.iter().map(|(l, f)| (*l, Begin::At(*l, *f))).collect();
        if thread.start == Start::AtOnce {
            let init = [obligation::initial_store(p, t), obligation::initial_locals(p, t, a.thread)];
            begins.push((thread.code.entry, Begin::Entry(t.and(&init))));
        } else {
            // The thread starts at any time after it was spawned.
            let entry = self.entry(a)?;
            let about = names.about(t, entry);
            let invariant = self.invariant_about(&about);
            let pre = t.and(&[
                t.lt(t.int(0), t.sym(p.tid)),
                invariant,
                obligation::primed_shared(p, t, invariant),
                entry,
                self.relies[index].formula(t, &self.within(&about)),
            ]);
            let what = format!("the start of {} is stable", thread.name);
            out.push(Obligation::common(RULE, what, t.implies(pre, obligation::primed_shared(p, t, entry))));
        }
        for (start, begin) in begins {
            let within = match self.reach {
                Reach::All => Within::All,
                Reach::Near => Within::These(self.near(a, &passive, start)?),
            };
            let region = passive.region(begin, within)?;
            self.region(a, &region, out)?;
        }
        Ok(())
    }

    /// The variables that the obligations of a region speak of.
    fn near(&self, a: &Assumes, passive: &Passive<'_>, start: LocId) -> Result<FxHashSet<Symbol>, Malformed> {
        let (p, t, names) = (self.program, self.terms, &self.watch.names);
        let code = &p.threads[a.thread].code;
        let mut out: FxHashSet<Symbol> = FxHashSet::default();
        let cut = |l: LocId| a.cuts.iter().find(|(at, _)| *at == l).map(|(_, f)| *f);
        out.extend(cut(start).into_iter().flat_map(|f| names.about(t, f)));
        for (id, touched) in passive.actions(start).ok_or_else(|| Malformed("a loop has no cut".into()))? {
            let action = &code.actions[id];
            out.extend(touched);
            let broken = self.watch.broken(t, p, a.thread, action, self.leaves_block(a.thread, action));
            out.extend(self.watch.about(&broken));
            let writes = names.written(p, action);
            for (_, _, parts) in self.written.iter().filter(|w| self.watched(a.thread, w.1)) {
                let open = parts.iter().filter(|part| !stays(t, names, part, &writes));
                out.extend(open.flat_map(|part| part.about.iter().copied()));
            }
            if let Some(spawn) = &action.spawn {
                out.extend(names.about(t, self.entry(self.of(spawn.thread)?)?));
            }
            out.extend(cut(action.to).into_iter().flat_map(|f| names.about(t, f)));
        }
        Ok(out)
    }

    fn leaves_block(&self, thread: ThreadId, action: &program::Action) -> bool {
        let locations = &self.program.threads[thread].code.locations;
        locations[action.from].inside && !locations[action.to].inside
    }

    /// Some instance other than one of `thread` relies on it.
    fn watched(&self, thread: ThreadId, by: Option<ThreadId>) -> bool {
        self.program.threads.ids().any(|x| by.is_none_or(|y| y == x) && meet(self.program, thread, x))
    }

    fn of(&self, thread: ThreadId) -> Result<&Assumes, Malformed> {
        let found = self.all.iter().find(|b| b.thread == thread).copied();
        found.ok_or_else(|| Malformed("a thread without annotation is spawned".into()))
    }

    fn entry(&self, a: &Assumes) -> Result<Term, Malformed> {
        let thread = &self.program.threads[a.thread];
        let found = a.cuts.iter().find(|(l, _)| *l == thread.code.entry).map(|(_, f)| *f);
        found.ok_or_else(|| Malformed(format!("thread {} is spawned: its entry has to be a cut", thread.name)))
    }

    /// AG3 and AG4 for one region.
    fn region(&self, a: &Assumes, region: &Region, out: &mut Vec<Obligation>) -> Result<(), Malformed> {
        let (p, t, names) = (self.program, self.terms, &self.watch.names);
        let code = &p.threads[a.thread].code;
        let tid = t.sym(p.tid);
        let other = t.sym(self.other);
        let mut facts = region.facts.clone();
        facts.extend([t.lt(t.int(0), other), t.ne(other, tid)]);
        let facts = t.and(&facts);
        // A formula about a variable without a value here would be read of another moment.
        let speaks = |about: &[Symbol]| {
            let fine = region.within.covers(about);
            fine.then_some(()).ok_or_else(|| Malformed("a conclusion is about a variable left out".into()))
        };
        let mut common = Vec::new();
        let mut own: BTreeMap<PropertyId, Vec<Term>> = BTreeMap::new();
        for step in &region.steps {
            let action = &code.actions[step.action];
            for (i, gate) in action.gates.iter().enumerate() {
                if self.claimed.contains(&gate.property) {
                    own.entry(gate.property).or_default().push(t.implies(step.before_gate[i], step.gates[i]));
                }
            }
            let broken = self.watch.broken(t, p, a.thread, action, self.leaves_block(a.thread, action));
            if !code.locations[action.to].inside {
                let mut after = region.after(t, names, step);
                for at in &broken.invariant {
                    let part = &self.watch.invariant.list[*at];
                    speaks(&part.about)?;
                    common.push(t.implies(step.taken, after.apply(part.formula)));
                }
            }
            let mut seen = region.seen(p, t, names, step, self.other);
            for at in &broken.relies {
                let part = &self.watch.relies.list[*at];
                speaks(&part.about)?;
                common.push(t.implies(step.taken, seen.apply(part.formula)));
            }
            let writes = names.written(p, action);
            for (c, _, parts) in self.written.iter().filter(|w| self.watched(a.thread, w.1)) {
                // Also for a step that touches nothing of it: a written rely need not allow idling.
                for part in parts.iter().filter(|part| !stays(t, names, part, &writes)) {
                    speaks(&part.about)?;
                    own.entry(*c).or_default().push(t.implies(step.taken, seen.apply(part.formula)));
                }
            }
            if let (Some(new), Some(spawn)) = (step.spawned, &action.spawn) {
                let entry = self.entry(self.of(spawn.thread)?)?;
                speaks(&names.about(t, entry))?;
                let mut started = region.started(p, t, names, step, (spawn, new));
                common.push(t.implies(step.taken, started.apply(entry)));
            }
        }
        for end in &region.ends {
            let formula = a.cuts.iter().find(|(l, _)| *l == end.at).map(|(_, f)| *f);
            let formula = formula.ok_or_else(|| Malformed("a region ends at no cut".into()))?;
            speaks(&names.about(t, formula))?;
            common.push(t.implies(end.reached, end.store.read(t, formula)));
        }
        let words = |what: &str| format!("{}: {what}", obligation::location_words(p, code, a.thread, region.start));
        if !common.is_empty() {
            out.push(Obligation::common(
                RULE,
                words("the steps from here satisfy what the others rely on and keep the invariants"),
                t.implies(facts, t.and(&common)),
            ));
        }
        if own.len() > APART || (own.len() > 1 && self.claimed.len() > 4 * APART) {
            let properties: Arc<[PropertyId]> = own.keys().copied().collect();
            let goals: Vec<Term> = own.into_values().flatten().collect();
            let what = words("the steps from here do not go wrong");
            out.push(Obligation::these(&properties, RULE, what, t.implies(facts, t.and(&goals))));
        } else {
            for (property, goals) in own {
                let what = words(&format!("the steps from here do not violate {}", p.properties[property].name));
                out.push(Obligation::of(property, RULE, what, t.implies(facts, t.and(&goals))));
            }
        }
        Ok(())
    }
}

/// The certificate fits the program.
fn vet<'a>(
    program: &Program,
    terms: &Terms,
    proof: &'a AssumeGuarantee,
    claimed: &[PropertyId],
) -> Result<Vec<&'a Assumes>, Malformed> {
    let shared = Vocabulary::shared(program);
    let primed = Vocabulary::shared_primed(program);
    let see = |v: &Vocabulary, formula: Term, what: &str| match v.stranger(terms, formula) {
        None if terms.sort_of(formula) == Sort::BOOL => Ok(()),
        None => Err(Malformed(format!("{what} is not a formula"))),
        Some(s) => Err(Malformed(format!("{what} mentions `{}`, which it may not", terms.symbol_name(s)))),
    };
    see(&Vocabulary::new(program, shared.clone()), proof.invariant, "the invariant")?;
    let two = Vocabulary::new(program, shared.iter().chain(&primed).copied().chain([program.tid]));
    let mut found = Vec::new();
    for (id, thread) in program.threads.iter_enumerated() {
        let mut of = proof.threads.iter().filter(|a| a.thread == id);
        let (Some(a), None) = (of.next(), of.next()) else {
            return Err(Malformed(format!("thread {} needs exactly one annotation", thread.name)));
        };
        if !thread.code.calls.is_empty() {
            return Err(Malformed("the code of a thread has a call in it".into()));
        }
        see(&two, a.rely, "a rely")?;
        let symbols = shared.iter().copied().chain([program.tid]).chain(Vocabulary::locals(program, id));
        let vocabulary = Vocabulary::new(program, symbols);
        for (at, formula) in &a.cuts {
            see(&vocabulary, *formula, &format!("the annotation of {} at {at}", thread.name))?;
        }
        let cuts: Vec<LocId> = a.cuts.iter().map(|(l, _)| *l).collect();
        if !cuts.is_sorted_by(|a, b| a < b) || cuts.iter().any(|l| l.0 as usize >= thread.code.locations.len()) {
            return Err(Malformed(format!("the cuts of {} are not locations in order", thread.name)));
        }
        if !breaks_loops(&thread.code, &cuts) {
            return Err(Malformed(format!("a loop of {} has no cut", thread.name)));
        }
        found.push(a);
    }
    if found.len() != proof.threads.len() {
        return Err(Malformed("an annotation of a thread that is not there".into()));
    }
    claimable(program, claimed)?;
    Ok(found)
}
