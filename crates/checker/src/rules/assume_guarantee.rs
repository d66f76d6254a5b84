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
//! Inside atomic blocks no other thread moves and I is not looked at; each step there still has to be one of A_U, so AG2 is then
//! asked for without I. A step that fails a gate ends the run, so later obligations assume all gates, claimed or not.
//! A rely that is asked for with `?` is answered by A_T itself.
//! Conjuncts are judged one by one. A step is asked for those that it could break (`program::parts`): the others are as they were,
//! and a part of A_U about variables that a step leaves alone holds of it because A_U is reflexive. With `Reach::Near` an obligation
//! assumes only the conjuncts about the variables that the code at hand touches or its own conclusions speak of: fewer premises.
//! Deliberately absent: `Performs`, `Follows`, `Linearizable`, `Deadlock`; calls by contract.

use super::{claimable, wrong_form};
use crate::obligation::{self, AllowedSymbols, Obligation, Premise};
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{AssumeGuarantee, Assumes, Certificate, Premises, Proof};
use logic::{Sort, Symbol, Term, Terms};
use program::parts::{
    FormulaPart, Parts, StabilityIndex, StoreSymbols, TwoSteps, Within, split_conjuncts, trivially_preserved,
};
use program::passive::{EnvironmentFacts, Passive, Region, RegionStart, breaks_loops};
use program::transition::may_coexist;
use program::{Action, LocId, Program, PropertyId, PropertyKind, Start, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const AG1: Premise = Premise::new("assume-guarantee", "AG1");
const AG2: Premise = Premise::new("assume-guarantee", "AG2");
const AG3: Premise = Premise::new("assume-guarantee", "AG3");
const AG4: Premise = Premise::new("assume-guarantee", "AG4");
const AG5: Premise = Premise::new("assume-guarantee", "AG5");

pub(crate) fn check_assume_guarantee(
    session: &mut CheckSession<'_>,
    c: &Certificate,
) -> Result<Established, Rejection> {
    let Proof::AssumeGuarantee(proof) = &c.proof else { return Err(wrong_form()) };
    let list = obligations(session.program, &c.terms, proof, &c.properties)?;
    session.discharge(c, list)
}

/// Regions with more claimed properties than this, and certificates with many more, show those of a region together.
const MAX_ASKED_APART: usize = 6;

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &AssumeGuarantee,
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Rejection> {
    let all = vet(program, terms, proof, claimed)?;
    let mut out = Vec::new();
    let init = obligation::initial_store(program, terms);
    out.push(Obligation::common(AG1, "the invariant holds initially", terms.implies(init, proof.invariant)));
    let rule = AssumeGuaranteeRule::new(program, terms, proof, &all, claimed)?;
    for at in 0..all.len() {
        rule.closed(at, &mut out);
        rule.thread(at, &mut out)?;
    }
    for p in claimed {
        if let PropertyKind::Invariant(formula) = program.properties[*p].kind {
            let what = format!("the invariant implies {}", program.properties[*p].name);
            let known = rule.invariant_about(&rule.watch.names.about(terms, formula));
            out.push(Obligation::of(*p, AG5, what, terms.implies(known, formula)));
        }
    }
    Ok(out)
}

/// Something that a step must satisfy.
struct Conclusion {
    what: ObligationSubject,
    formula: Term,
    /// The shared variables it speaks of.
    about: Vec<Symbol>,
}

#[derive(Clone, Copy)]
enum ObligationSubject {
    /// A part of I, of the store after the step.
    Invariant,
    /// A part of what another instance relies on, of the stores before and after.
    Rely,
    /// A part of a written rely that is claimed.
    Written(PropertyId),
    /// The formula at the entry of a thread that the step starts.
    Started,
}

impl Conclusion {
    fn new(what: ObligationSubject, part: &FormulaPart) -> Self {
        Self { what, formula: part.formula, about: part.about.clone() }
    }
}

struct AssumeGuaranteeRule<'a> {
    program: &'a Program,
    terms: &'a Terms,
    premises: Premises,
    all: &'a [&'a Assumes],
    claimed: BTreeSet<PropertyId>,
    /// The claimed written relies, in parts, each with the thread that relies on it (or all).
    written: Vec<(PropertyId, Option<ThreadId>, Vec<FormulaPart>)>,
    watch: StabilityIndex,
    /// What each thread relies on.
    relies: Vec<Parts>,
    twice: TwoSteps,
    /// The id of another instance.
    other: Symbol,
}

impl<'a> AssumeGuaranteeRule<'a> {
    fn new(
        program: &'a Program,
        terms: &'a Terms,
        proof: &AssumeGuarantee,
        all: &'a [&'a Assumes],
        claimed: &[PropertyId],
    ) -> Result<Self, Rejection> {
        let names = StoreSymbols::new(program);
        let invariant = Parts::new(&names, terms, split_conjuncts(terms, proof.invariant));
        let (mut relies, mut of): (Parts, Vec<Vec<ThreadId>>) = (Parts::default(), Vec::new());
        let mut known: FxHashMap<Term, usize> = FxHashMap::default();
        let mut each = Vec::new();
        for a in all {
            let parts = split_conjuncts(terms, a.rely);
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
            let rely = program.relies.get(r as usize).ok_or_else(|| Rejection::shape("there is no such rely"))?;
            if let Some(formula) = rely.formula {
                let parts = Parts::new(&names, terms, split_conjuncts(terms, formula)).list;
                written.push((*c, rely.thread, parts));
            }
        }
        let twice = TwoSteps::new(terms, &names);
        Ok(Self {
            program,
            terms,
            premises: proof.premises,
            all,
            claimed: claimed.iter().copied().collect(),
            written,
            watch: StabilityIndex { names, invariant, relies, of },
            relies: each,
            twice,
            other: terms.symbol("other_tid", Sort::INT),
        })
    }

    /// What an obligation about these variables looks at.
    fn within(&self, about: &[Symbol]) -> Within {
        match self.premises {
            Premises::All => Within::All,
            Premises::Relevant => Within::These(about.iter().copied().collect()),
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
        let loose = p.threads.iter().any(|x| x.code.locations.iter().any(|l| l.in_atomic_block));
        let groups = match self.premises {
            Premises::All => vec![(names.all(), (0..self.relies[at].list.len()).collect::<Vec<usize>>())],
            Premises::Relevant => self.relies[at].groups(),
        };
        for (about, group) in groups {
            let goal = t.and(&group.iter().map(|g| self.relies[at].list[*g].formula).collect::<Vec<_>>());
            let invariant = if loose { t.tt() } else { self.invariant_about(about) };
            let rely = self.relies[at].formula(t, &self.within(about));
            out.push(Obligation::common(
                AG2,
                format!("what {name} relies on allows a step that changes nothing"),
                t.implies(t.and(&[positive, invariant]), self.twice.idle(t, names, about).apply(goal)),
            ));
            let mut second = self.twice.second(t, names, about);
            let pre = [positive, invariant, second.apply(invariant), rely, second.apply(rely)];
            out.push(Obligation::common(
                AG2,
                format!("what {name} relies on allows two steps as one"),
                t.implies(t.and(&pre), self.twice.whole(t, names, about).apply(goal)),
            ));
        }
    }

    fn thread(&self, index: usize, out: &mut Vec<Obligation>) -> Result<(), Rejection> {
        let (p, t, names) = (self.program, self.terms, &self.watch.names);
        let a = self.all[index];
        let thread = &p.threads[a.thread];
        let cuts: Vec<LocId> = a.cuts.iter().map(|(l, _)| *l).collect();
        let env = EnvironmentFacts { rely: &self.relies[index], invariant: &self.watch.invariant };
        let passive = Passive::new(p, t, names, a.thread, &cuts, env);
        let mut begins: Vec<(LocId, RegionStart)> = a.cuts.iter().map(|(l, f)| (*l, RegionStart::At(*l, *f))).collect();
        if thread.start == Start::Initial {
            let init = [obligation::initial_store(p, t), obligation::initial_locals(p, t, a.thread)];
            begins.push((thread.code.entry, RegionStart::Entry(t.and(&init))));
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
            out.push(Obligation::common(AG4, what, t.implies(pre, obligation::primed_shared(p, t, entry))));
        }
        for (start, begin) in begins {
            let within = match self.premises {
                Premises::All => Within::All,
                Premises::Relevant => Within::These(self.near(a, &passive, start)?),
            };
            let region = passive.region(begin, within).map_err(Rejection::outside)?;
            self.region(a, &region, out)?;
        }
        Ok(())
    }

    /// The variables that the obligations of a region speak of: what its code touches, what its conclusions are about, and the cuts it goes
    /// from and comes to.
    fn near(&self, a: &Assumes, passive: &Passive<'_>, start: LocId) -> Result<FxHashSet<Symbol>, Rejection> {
        let (t, names) = (self.terms, &self.watch.names);
        let code = &self.program.threads[a.thread].code;
        let mut out: FxHashSet<Symbol> = FxHashSet::default();
        let cut = |l: LocId| a.cuts.iter().filter(move |(at, _)| *at == l).flat_map(|(_, f)| names.about(t, *f));
        out.extend(cut(start));
        for (id, touched) in passive.actions(start).ok_or_else(|| Rejection::shape("a loop has no cut"))? {
            out.extend(touched);
            out.extend(self.conclusions(a.thread, &code.actions[id])?.iter().flat_map(|c| c.about.iter().copied()));
            out.extend(cut(code.actions[id].to));
        }
        Ok(out)
    }

    /// What AG3 and AG4 ask of a step of a thread, whatever region it is looked at in.
    fn conclusions(&self, thread: ThreadId, action: &Action) -> Result<Vec<Conclusion>, Rejection> {
        let (p, t, names) = (self.program, self.terms, &self.watch.names);
        let locations = &p.threads[thread].code.locations;
        let writes = names.written(p, action);
        let mut out = Vec::new();
        // I is asked for where the step leaves the thread outside atomic blocks. It held before a step that begins outside one, so that only
        // parts about what is written can fail; inside a block it need not have held.
        let asked: Vec<usize> = match (locations[action.from].in_atomic_block, locations[action.to].in_atomic_block) {
            (_, true) => Vec::new(),
            (true, false) => (0..self.watch.invariant.list.len()).collect(),
            (false, false) => self.watch.invariant.mentioning(&writes),
        };
        out.extend(
            asked.into_iter().map(|i| Conclusion::new(ObligationSubject::Invariant, &self.watch.invariant.list[i])),
        );
        // A part of A_U about variables that the step leaves alone holds because A_U is reflexive (AG2).
        for i in self.watch.relies.mentioning(&writes) {
            let part = &self.watch.relies.list[i];
            let relied_on = self.watch.of[i].iter().any(|u| may_coexist(p, thread, *u));
            if relied_on && !trivially_preserved(t, names, part, &writes) {
                out.push(Conclusion::new(ObligationSubject::Rely, part));
            }
        }
        // A written rely need not allow idling: it is asked of every step, unless it is plainly true of it.
        for (property, of, parts) in &self.written {
            let relied_on = p.threads.ids().any(|u| of.is_none_or(|of| of == u) && may_coexist(p, thread, u));
            let open = parts.iter().filter(|part| relied_on && !trivially_preserved(t, names, part, &writes));
            out.extend(open.map(|part| Conclusion::new(ObligationSubject::Written(*property), part)));
        }
        if let Some(spawn) = &action.spawn {
            let formula = self.entry(self.of(spawn.thread)?)?;
            out.push(Conclusion { what: ObligationSubject::Started, formula, about: names.about(t, formula) });
        }
        Ok(out)
    }

    fn of(&self, thread: ThreadId) -> Result<&Assumes, Rejection> {
        let found = self.all.iter().find(|b| b.thread == thread).copied();
        found.ok_or_else(|| Rejection::shape("a thread without annotation is spawned"))
    }

    fn entry(&self, a: &Assumes) -> Result<Term, Rejection> {
        let thread = &self.program.threads[a.thread];
        let found = a.cuts.iter().find(|(l, _)| *l == thread.code.entry).map(|(_, f)| *f);
        found.ok_or_else(|| Rejection::shape(format!("thread {} is spawned: its entry has to be a cut", thread.name)))
    }

    /// AG3 and AG4 for one region.
    fn region(&self, a: &Assumes, region: &Region, out: &mut Vec<Obligation>) -> Result<(), Rejection> {
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
            fine.then_some(()).ok_or_else(|| Rejection::outside("a conclusion is about a variable left out"))
        };
        let (mut common, mut started) = (Vec::new(), Vec::new());
        let mut own: BTreeMap<PropertyId, Vec<Term>> = BTreeMap::new();
        for step in &region.steps {
            let action = &code.actions[step.action];
            for (i, gate) in action.gates.iter().enumerate() {
                if self.claimed.contains(&gate.property) {
                    own.entry(gate.property).or_default().push(t.implies(step.before_gate[i], step.gates[i]));
                }
            }
            let mut after = region.after(t, names, step);
            let mut seen = region.seen(p, t, names, step, self.other);
            for c in self.conclusions(a.thread, action)? {
                speaks(&c.about)?;
                let shown = match (c.what, step.spawned, &action.spawn) {
                    (ObligationSubject::Invariant, _, _) => after.apply(c.formula),
                    (ObligationSubject::Rely | ObligationSubject::Written(_), _, _) => seen.apply(c.formula),
                    (ObligationSubject::Started, Some(new), Some(spawn)) => {
                        region.started(p, t, names, step, (spawn, new)).apply(c.formula)
                    }
                    (ObligationSubject::Started, _, _) => {
                        return Err(Rejection::shape("a step starts a thread without an id"));
                    }
                };
                let goal = t.implies(step.taken, shown);
                match c.what {
                    ObligationSubject::Written(property) => own.entry(property).or_default().push(goal),
                    ObligationSubject::Started => started.push(goal),
                    ObligationSubject::Invariant | ObligationSubject::Rely => common.push(goal),
                }
            }
        }
        for end in &region.ends {
            let formula = a.cuts.iter().find(|(l, _)| *l == end.at).map(|(_, f)| *f);
            let formula = formula.ok_or_else(|| Rejection::shape("a region ends at no cut"))?;
            speaks(&names.about(t, formula))?;
            common.push(t.implies(end.reached, end.store.read(t, formula)));
        }
        let describe =
            |what: &str| format!("{}: {what}", obligation::describe_location(p, code, a.thread, region.start));
        if !common.is_empty() {
            out.push(Obligation::common(
                AG3,
                describe("the steps from here satisfy what the others rely on and keep the invariants"),
                t.implies(facts, t.and(&common)),
            ));
        }
        if !started.is_empty() {
            let what = describe("the threads that are started from here begin as annotated");
            out.push(Obligation::common(AG4, what, t.implies(facts, t.and(&started))));
        }
        if own.len() > MAX_ASKED_APART || (own.len() > 1 && self.claimed.len() > 4 * MAX_ASKED_APART) {
            let properties: Arc<[PropertyId]> = own.keys().copied().collect();
            let goals: Vec<Term> = own.into_values().flatten().collect();
            let what = describe("the steps from here do not go wrong");
            out.push(Obligation::these(&properties, AG3, what, t.implies(facts, t.and(&goals))));
        } else {
            for (property, goals) in own {
                let what = describe(&format!("the steps from here do not violate {}", p.properties[property].name));
                out.push(Obligation::of(property, AG3, what, t.implies(facts, t.and(&goals))));
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
) -> Result<Vec<&'a Assumes>, Rejection> {
    let shared = AllowedSymbols::shared(program);
    let primed = AllowedSymbols::shared_primed(program);
    let see = |v: &AllowedSymbols, formula: Term, what: &str| v.admits(terms, formula, what);
    see(&AllowedSymbols::new(program, shared.clone()), proof.invariant, "the invariant")?;
    let two = AllowedSymbols::new(program, shared.iter().chain(&primed).copied().chain([program.tid]));
    let mut found = Vec::new();
    for (id, thread) in program.threads.iter_enumerated() {
        let mut of = proof.threads.iter().filter(|a| a.thread == id);
        let (Some(a), None) = (of.next(), of.next()) else {
            return Err(Rejection::shape(format!("thread {} needs exactly one annotation", thread.name)));
        };
        if !thread.code.calls.is_empty() {
            return Err(Rejection::outside("the code of a thread has a call in it"));
        }
        see(&two, a.rely, "a rely")?;
        let symbols = shared.iter().copied().chain([program.tid]).chain(AllowedSymbols::locals(program, id));
        let vocabulary = AllowedSymbols::new(program, symbols);
        for (at, formula) in &a.cuts {
            see(&vocabulary, *formula, &format!("the annotation of {} at {at}", thread.name))?;
        }
        let cuts: Vec<LocId> = a.cuts.iter().map(|(l, _)| *l).collect();
        if !cuts.is_sorted_by(|a, b| a < b) || cuts.iter().any(|l| l.index() >= thread.code.locations.len()) {
            return Err(Rejection::shape(format!("the cuts of {} are not locations in order", thread.name)));
        }
        if !breaks_loops(&thread.code, &cuts) {
            return Err(Rejection::shape(format!("a loop of {} has no cut", thread.name)));
        }
        found.push(a);
    }
    if found.len() != proof.threads.len() {
        return Err(Rejection::shape("an annotation of a thread that is not there"));
    }
    claimable(program, claimed)?;
    Ok(found)
}
