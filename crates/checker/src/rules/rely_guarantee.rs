//! Rule `rely-guarantee`: assume-guarantee reasoning for any number of instances (Calvin, sections 4 and 5; Threader's
//! CS1 to CS5 in the thread-modular, symmetric case).
//!
//! In: an invariant I of the shared store; for each thread T a formula `at_T[l]` for each location, a guarantee G_T and a
//! rely A_T (two-store formulas). Out: the obligations RG1 to RG7, a function for each:
//!   RG1  every initial store satisfies I, and with initial locals `at_T[entry]`;
//!   RG2  each action of T from I and `at_T[from]`, with its guard, passes its gates of the properties claimed, and leads to
//!        I and `at_T[to]`;
//!   RG3  each action of T satisfies G_T;
//!   RG4  G_U implies A_T for every other instance (different tid), also of the same thread unless it has one copy;
//!   RG5  `at_T[l]` is stable under A_T (between stores that satisfy I); where no rely is given, under each other's G_U;
//!   RG6  I implies each invariant claimed; G_U implies each written rely claimed;
//!   RG7  a spawned instance starts with `at_T[entry]`.
//! Steps inside atomic blocks are treated like any other: more interleavings than there are, never fewer.
//! A step that fails a gate ends the run, so later obligations may assume all gates, claimed or not.
//! Deliberately absent: `Performs`, `Follows`, `Linearizable`, `Deadlock`, a spawn that keeps the new thread's id.

use super::{claimable, written_rely, wrong_form};
use crate::obligation::{self, AllowedSymbols, Obligation, Premise};
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{Certificate, Proof, RelyGuarantee, ThreadAnnotation};
use logic::{Sort, Symbol, Term, Terms};
use program::{Action, Copies, LocId, Program, PropertyId, PropertyKind, Spawn, Start, ThreadId};

const RG1: Premise = Premise::new("rely-guarantee", "RG1");
const RG2: Premise = Premise::new("rely-guarantee", "RG2");
const RG3: Premise = Premise::new("rely-guarantee", "RG3");
const RG4: Premise = Premise::new("rely-guarantee", "RG4");
const RG5: Premise = Premise::new("rely-guarantee", "RG5");
const RG6: Premise = Premise::new("rely-guarantee", "RG6");
const RG7: Premise = Premise::new("rely-guarantee", "RG7");

pub(crate) fn check_rely_guarantee(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::RelyGuarantee(proof) = &c.proof else { return Err(wrong_form()) };
    let list = obligations(session.program, &c.terms, proof, &c.properties)?;
    session.discharge(c, list)
}

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &RelyGuarantee,
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Rejection> {
    let annotations = vet(program, terms, proof, claimed)?;
    let other = terms.symbol("other_tid", Sort::INT);
    let mut rule =
        RelyGuaranteeRule { program, terms, claimed, invariant: proof.invariant, annotations, other, out: Vec::new() };
    rule.initial_store();
    for a in rule.annotations.clone() {
        rule.initial_locals(a);
        for action in program.threads[a.thread].code.actions.iter() {
            let before = rule.gates(a, action);
            rule.successor(a, action, before);
            rule.guarantee(a, action, before);
            if let Some(spawn) = &action.spawn {
                rule.spawned(a, action, spawn, before)?;
            }
        }
        rule.relies_implied(a);
        rule.stability(a);
    }
    for property in claimed {
        rule.claims(*property)?;
    }
    Ok(rule.out)
}

struct RelyGuaranteeRule<'a> {
    program: &'a Program,
    terms: &'a Terms,
    claimed: &'a [PropertyId],
    invariant: Term,
    /// One for each thread, in the program's order.
    annotations: Vec<&'a ThreadAnnotation>,
    /// The id of another instance than the one at hand.
    other: Symbol,
    out: Vec<Obligation>,
}

impl RelyGuaranteeRule<'_> {
    fn at(&self, a: &ThreadAnnotation, location: LocId) -> Term {
        a.at[location.index()]
    }
    fn positive(&self) -> Term {
        self.terms.lt(self.terms.int(0), self.terms.sym(self.program.tid))
    }
    /// Two instances: `tid` and another.
    fn distinct(&self) -> Term {
        let (t, tid, other) = (self.terms, self.terms.sym(self.program.tid), self.terms.sym(self.other));
        t.and(&[self.positive(), t.lt(t.int(0), other), t.ne(tid, other)])
    }
    fn invariant_after(&self) -> Term {
        obligation::primed_shared(self.program, self.terms, self.invariant)
    }
    fn of_other(&self, formula: Term) -> Term {
        self.terms.substitute(formula, [(self.program.tid, self.terms.sym(self.other))])
    }
    /// Whether an instance of `b` may exist beside one of `a`.
    fn coexist(&self, a: ThreadId, b: ThreadId) -> bool {
        a != b || self.program.threads[a].copies != Copies::One
    }

    fn initial_store(&mut self) {
        let init = obligation::initial_store(self.program, self.terms);
        let formula = self.terms.implies(init, self.invariant);
        self.out.push(Obligation::common(RG1, "the invariant holds initially", formula));
    }

    fn initial_locals(&mut self, a: &ThreadAnnotation) {
        let (t, thread) = (self.terms, &self.program.threads[a.thread]);
        if thread.start != Start::Initial {
            return;
        }
        let store = obligation::initial_store(self.program, t);
        let locals = obligation::initial_locals(self.program, t, a.thread);
        let formula = t.implies(t.and(&[store, locals, self.positive()]), self.at(a, thread.code.entry));
        self.out.push(Obligation::common(RG1, format!("thread {} starts as annotated", thread.name), formula));
    }

    /// RG2, the gates; gives what is known before the step takes effect: it can be taken and passes every gate.
    fn gates(&mut self, a: &ThreadAnnotation, action: &Action) -> Term {
        let t = self.terms;
        let who = obligation::describe_action(self.program, a.thread, action);
        let mut known = vec![self.positive(), self.invariant, self.at(a, action.from), action.guard];
        for gate in &action.gates {
            if self.claimed.contains(&gate.property) {
                let what = format!("{who} does not violate {}", self.program.properties[gate.property].name);
                let formula = t.implies(t.and(&known), gate.formula);
                self.out.push(Obligation::of(gate.property, RG2, what, formula));
            }
            known.push(gate.formula);
        }
        t.and(&known)
    }

    /// RG2, the successor.
    fn successor(&mut self, a: &ThreadAnnotation, action: &Action, before: Term) {
        let (p, t) = (self.program, self.terms);
        let what = format!("{} leads to the annotation after it", obligation::describe_action(p, a.thread, action));
        let post = t.and(&[self.invariant, self.at(a, action.to)]);
        let formula = t.implies(before, obligation::after(p, t, action, post));
        self.out.push(Obligation::common(RG2, what, formula));
    }

    fn guarantee(&mut self, a: &ThreadAnnotation, action: &Action, before: Term) {
        let (p, t) = (self.program, self.terms);
        let what = format!("{} keeps the guarantee", obligation::describe_action(p, a.thread, action));
        let formula = t.implies(before, obligation::two_store(p, t, action, a.guarantee));
        self.out.push(Obligation::common(RG3, what, formula));
    }

    /// RG7: the new instance has symbols of its own; its parameters are the arguments, its other locals as declared, and the shared store is
    /// the one after the step.
    fn spawned(&mut self, a: &ThreadAnnotation, action: &Action, spawn: &Spawn, before: Term) -> Result<(), Rejection> {
        let (p, t) = (self.program, self.terms);
        if spawn.into.is_some() {
            return Err(Rejection::outside("a spawn that keeps the thread's id is outside this rule"));
        }
        let thread = &p.threads[spawn.thread];
        let started = self.annotations.iter().find(|b| b.thread == spawn.thread);
        let started = started.ok_or_else(|| Rejection::shape("a thread that is spawned has no annotation"))?;
        let new_tid = t.sym(t.symbol("new_tid", Sort::INT));
        let mut renaming = vec![(p.tid, new_tid)];
        let mut known = vec![before, t.lt(t.int(0), new_tid), t.ne(new_tid, t.sym(p.tid))];
        for v in &thread.locals {
            let var = &p.vars[*v];
            let copy = t.sym(t.symbol(format!("{}.new", var.name), var.sort));
            renaming.push((var.symbol, copy));
            let argument = thread.params.iter().position(|q| q == v).map(|i| spawn.args[i]);
            known.extend(argument.or(var.initial).map(|value| t.eq(copy, value)));
        }
        let entry = t.substitute(self.at(started, thread.code.entry), renaming);
        let what = format!("{} starts the thread as annotated", obligation::describe_action(p, a.thread, action));
        let formula = t.implies(t.and(&known), obligation::after(p, t, action, entry));
        self.out.push(Obligation::common(RG7, what, formula));
        Ok(())
    }

    /// The guarantees of those that may step beside an instance of `a`, with the id of another instance.
    fn steps_of_others(&self, a: &ThreadAnnotation) -> Vec<(ThreadId, Term)> {
        let others = self.annotations.iter().filter(|b| self.coexist(a.thread, b.thread));
        others.map(|b| (b.thread, self.of_other(b.guarantee))).collect()
    }

    fn relies_implied(&mut self, a: &ThreadAnnotation) {
        let (p, t) = (self.program, self.terms);
        let Some(rely) = a.rely else { return };
        for (thread, step) in self.steps_of_others(a) {
            let (theirs, ours) = (&p.threads[thread].name, &p.threads[a.thread].name);
            let known = t.and(&[self.distinct(), self.invariant, self.invariant_after(), step]);
            let what = format!("steps of {theirs} are steps that {ours} relies on");
            self.out.push(Obligation::common(RG4, what, t.implies(known, rely)));
        }
    }

    /// RG5. Inside an atomic block no other thread moves.
    fn stability(&mut self, a: &ThreadAnnotation) {
        let (p, t) = (self.program, self.terms);
        let moves: Vec<Term> = match a.rely {
            Some(rely) => vec![t.and(&[self.positive(), rely])],
            None => self.steps_of_others(a).into_iter().map(|(_, step)| t.and(&[self.distinct(), step])).collect(),
        };
        let code = &p.threads[a.thread].code;
        for at in code.locations.ids().filter(|at| !code.locations[*at].in_atomic_block) {
            let here = self.at(a, at);
            for step in &moves {
                let known = t.and(&[self.invariant, self.invariant_after(), here, *step]);
                let what = format!("{} is stable", obligation::describe_location(p, code, a.thread, at));
                let formula = t.implies(known, obligation::primed_shared(p, t, here));
                self.out.push(Obligation::common(RG5, what, formula));
            }
        }
    }

    /// RG6.
    fn claims(&mut self, property: PropertyId) -> Result<(), Rejection> {
        let (p, t) = (self.program, self.terms);
        if let PropertyKind::Invariant(formula) = p.properties[property].kind {
            let what = format!("the invariant implies {}", p.properties[property].name);
            self.out.push(Obligation::of(property, RG6, what, t.implies(self.invariant, formula)));
        }
        let Some((of, formula)) = written_rely(p, property)? else { return Ok(()) };
        // A rely mentions shared variables and `tid` alone: the locals of who relies do not occur.
        let seen = self.of_other(formula);
        for watcher in p.threads.ids().filter(|w| of.is_none_or(|of| of == *w)) {
            for b in self
                .annotations
                .clone()
                .into_iter()
                .filter(|b| self.program.threads[b.thread].copies != Copies::One || b.thread != watcher)
            {
                let known = t.and(&[self.distinct(), self.invariant, b.guarantee]);
                let (theirs, ours) = (&p.threads[b.thread].name, &p.threads[watcher].name);
                let what = format!("steps of {theirs} satisfy the rely of {ours}");
                self.out.push(Obligation::of(property, RG6, what, t.implies(known, seen)));
            }
        }
        Ok(())
    }
}

/// The certificate fits the program: every thread annotated once, every formula over the symbols it may mention, every
/// property of a kind this rule speaks of.
fn vet<'a>(
    program: &Program,
    terms: &Terms,
    proof: &'a RelyGuarantee,
    claimed: &[PropertyId],
) -> Result<Vec<&'a ThreadAnnotation>, Rejection> {
    claimable(program, claimed)?;
    let shared = AllowedSymbols::shared(program);
    AllowedSymbols::new(program, shared.clone()).admits(terms, proof.invariant, "the invariant")?;
    let two_stores = shared.iter().copied().chain(AllowedSymbols::shared_primed(program)).chain([program.tid]);
    let two_stores = AllowedSymbols::new(program, two_stores);
    let mut found = Vec::new();
    for (id, thread) in program.threads.iter_enumerated() {
        let mut of = proof.threads.iter().filter(|a| a.thread == id);
        let (Some(a), None) = (of.next(), of.next()) else {
            return Err(Rejection::shape(format!("thread {} needs exactly one annotation", thread.name)));
        };
        let (locations, annotated) = (thread.code.locations.len(), a.at.len());
        if locations != annotated {
            let what = format!("thread {} has {locations} locations, annotated are {annotated}", thread.name);
            return Err(Rejection::shape(what));
        }
        if !thread.code.calls.is_empty() {
            return Err(Rejection::outside("the code of a thread has a call in it"));
        }
        let own = shared.iter().copied().chain([program.tid]).chain(AllowedSymbols::locals(program, id));
        let own = AllowedSymbols::new(program, own);
        for (i, formula) in a.at.iter().enumerate() {
            own.admits(terms, *formula, &format!("the annotation of {} at L{i}", thread.name))?;
        }
        two_stores.admits(terms, a.guarantee, "a guarantee")?;
        if let Some(rely) = a.rely {
            two_stores.admits(terms, rely, "a rely")?;
        }
        found.push(a);
    }
    if found.len() != proof.threads.len() {
        return Err(Rejection::shape("an annotation of a thread that is not there"));
    }
    Ok(found)
}
