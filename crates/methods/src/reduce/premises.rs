//! Which written invariants and relies every step of the program keeps, whoever takes it: the premises of the rest (RD7, RD9).
//!
//! In: the program without calls. Out: the largest set of written invariants that initial stores satisfy and that each step of
//! all its code keeps, given its guard and gates and nothing of where it stands; the written relies that each such step is one of; those of
//! them that hold of many steps together. What needs more than that is left to the methods that prove invariants and relies, and is no
//! premise here. Deliberately absent: what holds at single locations.

use super::found;
use super::hiding::{Hiding, mentions};
use crate::infer::houdini::{CandidateGoal, Elimination, QuestionOrder, eliminate, refuted_goals, remove_refuted};
use crate::infer::vocabulary::conditions_of;
use crate::method::Run;
use evidence::Reason;
use logic::{Sort, Symbol, Term, Terms};
use program::call_summaries::{CallSummaries, CodeUnit};
use program::transition::{after_action, initial_store};
use program::{Action, Code, Copies, Program, PropertyId, PropertyKind, Rely, ThreadId, VarId};
use rustc_hash::FxHashSet;
use solver::{Smt, SolverSettings, Z3};

/// What all that is shown may rest on.
#[derive(Clone, Default)]
pub(crate) struct Premises {
    invariants: Vec<PropertyId>,
    relies: Vec<PropertyId>,
    /// Those of the relies that hold of any number of steps together.
    pub(crate) lasting: Vec<PropertyId>,
    /// Invariants that nobody wrote.
    pub(crate) found: Vec<Term>,
}

impl Premises {
    pub(crate) fn all(&self) -> Vec<PropertyId> {
        let mut out: Vec<PropertyId> = self.invariants.iter().chain(&self.relies).copied().collect();
        out.sort_unstable();
        out
    }

    pub(crate) fn invariants(&self, p: &Program) -> Vec<Term> {
        self.invariants.iter().filter_map(|q| invariant(p, *q)).chain(self.found.iter().copied()).collect()
    }

    /// The found ones, in the language.
    pub(crate) fn shown(&self, p: &Program) -> Vec<String> {
        self.found.iter().map(|f| format!("invariant {}", p.terms.show(*f))).collect()
    }

    /// What who runs the unit may rely on.
    pub(crate) fn relies(&self, p: &Program, unit: CodeUnit) -> Vec<Term> {
        self.relies.iter().filter_map(|q| relied_in(p, *q, unit)).collect()
    }

    pub(crate) fn lasting_relies(&self, p: &Program, unit: CodeUnit) -> Vec<Term> {
        self.lasting.iter().filter_map(|q| relied_in(p, *q, unit)).collect()
    }
}

fn invariant(p: &Program, q: PropertyId) -> Option<Term> {
    match p.properties[q].kind {
        PropertyKind::Invariant(formula) => Some(formula),
        _ => None,
    }
}

fn rely(p: &Program, q: PropertyId) -> Option<&Rely> {
    match p.properties[q].kind {
        PropertyKind::Rely(at) => p.relies.get(at as usize),
        _ => None,
    }
}

fn relied_in(p: &Program, q: PropertyId, unit: CodeUnit) -> Option<Term> {
    let rely = rely(p, q)?;
    rely.formula.filter(|_| rely.thread.is_none_or(|t| unit == CodeUnit::Thread(t)))
}

/// Something that every step may keep, or be.
#[derive(Clone, Copy)]
enum Premise {
    Written(PropertyId, Term),
    Found(Term),
    Rely(PropertyId, Term, Option<ThreadId>),
}

impl Premise {
    fn formula(&self) -> Term {
        match self {
            Premise::Written(_, f) | Premise::Found(f) | Premise::Rely(_, f, _) => *f,
        }
    }
    fn is_rely(&self) -> bool {
        matches!(self, Premise::Rely(..))
    }
}

/// What every step keeps. What speaks of hidden variables comes second, and the rest does not rest on it.
pub(crate) fn kept(basis: &CallSummaries, hiding: &Hiding, run: &Run) -> Result<Premises, Reason> {
    let p = &basis.program;
    let written = p.properties.ids().filter_map(|q| Some(Premise::Written(q, invariant(p, q)?)));
    let relies = p.properties.ids().filter_map(|q| {
        let rely = rely(p, q)?;
        Some(Premise::Rely(q, rely.formula?, rely.thread))
    });
    let found = found::candidates(p).into_iter().map(Premise::Found);
    let list: Vec<Premise> = written.chain(relies).chain(found).collect();
    let spawns = |code: &Code| code.actions.iter().any(|a| a.spawn.is_some());
    if list.is_empty() || p.threads.iter().any(|t| spawns(&t.code)) {
        return Ok(Premises::default());
    }
    let terms = p.terms.clone();
    let settings = SolverSettings { seed: run.seed as u32, limit: 1_000_000, ..SolverSettings::default() };
    let mut smt = Z3::new(&terms, settings, &run.budget).map_err(|r| Reason::Internal(r.to_string()))?;
    // What initial stores satisfy, then what every step keeps, given all that is left.
    let (relies, mut list): (Vec<Premise>, Vec<Premise>) = list.into_iter().partition(Premise::is_rely);
    smt.push();
    smt.assert(initial_store(p, &terms));
    let formulas: Vec<Term> = list.iter().map(Premise::formula).collect();
    let refuted = refuted_goals(&terms, &formulas, &mut smt);
    remove_refuted(&mut list, &refuted);
    smt.pop();
    let mut facts = vec![terms.lt(terms.int(0), terms.sym(p.tid))];
    facts.extend(program::access::constant_facts(p, &terms));
    facts.iter().for_each(|f| smt.assert(*f));
    // Who relies on the step is any other thread.
    let watcher = terms.sym(terms.symbol("watcher", Sort::INT));
    smt.assert(terms.and(&[terms.lt(terms.int(0), watcher), terms.ne(watcher, terms.sym(p.tid))]));
    let hidden: FxHashSet<Symbol> = hiding.hidden.iter().flat_map(|v| [p.vars[*v].symbol, p.vars[*v].primed]).collect();
    let (of_hidden, seen): (Vec<Premise>, Vec<Premise>) =
        list.into_iter().chain(relies).partition(|x| mentions(&terms, x.formula(), &hidden));
    let own = steps(basis);
    let with_owners = own.iter().copied().chain(steps_of_owners(basis, hiding)).collect();
    let mut list = survivors(seen, with_owners, p, &terms, watcher, run, &mut smt)?;
    list.iter().filter(|x| !x.is_rely()).for_each(|x| smt.assert(x.formula()));
    let of_hidden = of_hidden.into_iter().filter(|x| !x.is_rely()).collect();
    list.extend(survivors(of_hidden, own, p, &terms, watcher, run, &mut smt)?);
    let mut out = Premises::default();
    for x in list {
        match x {
            Premise::Written(q, _) => out.invariants.push(q),
            Premise::Found(f) => out.found.push(f),
            Premise::Rely(q, ..) => out.relies.push(q),
        }
    }
    let seen: Vec<PropertyId> = out
        .invariants
        .iter()
        .copied()
        .filter(|q| invariant(p, *q).is_some_and(|f| !mentions(&terms, f, &hidden)))
        .collect();
    out.lasting = lasting(p, run, &seen, &out.relies)?;
    Ok(out)
}

/// The largest part of a list that every step keeps, given all of it.
fn survivors(
    mut list: Vec<Premise>,
    steps: Vec<AnyStep<'_>>,
    p: &Program,
    terms: &Terms,
    watcher: Term,
    run: &Run,
    smt: &mut Z3<'_>,
) -> Result<Vec<Premise>, Reason> {
    if list.is_empty() {
        return Ok(list);
    }
    list.sort_by_key(Premise::is_rely);
    let mut candidates: Vec<Promised> = Vec::new();
    let mut literals: Vec<Symbol> = Vec::new();
    smt.push();
    for x in &list {
        match x {
            Premise::Rely(_, f, thread) => {
                let formula = terms.substitute(*f, [(p.tid, watcher)]);
                candidates.push(Promised { formula, rely: Some(*thread) });
            }
            _ => {
                let literal = terms.symbol("kept", Sort::BOOL);
                smt.assert(terms.implies(terms.sym(literal), x.formula()));
                literals.push(literal);
                candidates.push(Promised { formula: x.formula(), rely: None });
            }
        }
    }
    let mut open = vec![true; steps.len()];
    let alive = vec![true; list.len()];
    let mut question = StepQuestions { p, terms, run, steps, candidates, literals, alive, inside: false, smt };
    let dropped = eliminate(&mut question, terms, &mut open, QuestionOrder::Rounds);
    smt.pop();
    remove_refuted(&mut list, &dropped?.into_iter().collect());
    Ok(list)
}

/// What calls of owners of hidden variables perform.
fn steps_of_owners<'a>(basis: &'a CallSummaries, hiding: &Hiding) -> Vec<AnyStep<'a>> {
    let mut out = Vec::new();
    for unit in &basis.units {
        let code = basis.code(unit.unit);
        for id in &unit.of_calls {
            let action = &code.actions[*id];
            let callee = basis.under_way(unit.unit, action.from);
            if action.relation.is_some() && callee.is_some_and(|q| hiding.owners.contains(&q)) {
                let thread = match unit.unit {
                    CodeUnit::Thread(t) => Some(t),
                    CodeUnit::Procedure(_) => None,
                };
                out.push(AnyStep { action, thread });
            }
        }
    }
    out
}

/// The relies that hold of no step and of two steps together: the largest set of which all of it does.
fn lasting(
    p: &Program,
    run: &Run,
    invariants: &[PropertyId],
    relies: &[PropertyId],
) -> Result<Vec<PropertyId>, Reason> {
    // A thread's own relies are not those of others: what lasts with all of them might not without.
    let everybody = |q: &PropertyId| rely(p, *q).is_some_and(|r| r.thread.is_none());
    let mut out: Vec<PropertyId> = relies.iter().copied().filter(everybody).collect();
    let guarded = p.shared().any(|v| p.vars[v].access.as_ref().is_some_and(|a| a.formula.is_some()));
    if out.is_empty() || !guarded {
        return Ok(Vec::new());
    }
    let t = p.terms.clone();
    let settings = SolverSettings { seed: run.seed as u32, limit: 1_000_000, ..SolverSettings::default() };
    let mut smt = Z3::new(&t, settings, &run.budget).map_err(|r| Reason::Internal(r.to_string()))?;
    smt.assert(t.lt(t.int(0), t.sym(p.tid)));
    program::access::constant_facts(p, &t).iter().for_each(|f| smt.assert(*f));
    let shared: Vec<_> = p.shared().map(|v| (p.vars[v].symbol, p.vars[v].primed, p.vars[v].sort)).collect();
    let middle: Vec<Term> = shared.iter().map(|(s, _, sort)| t.sym(t.symbol(t.symbol_name(*s), *sort))).collect();
    let invariant = t.and(&invariants.iter().filter_map(|q| invariant(p, *q)).collect::<Vec<_>>());
    smt.assert(invariant);
    smt.assert(t.substitute(invariant, shared.iter().map(|(s, primed, _)| (*s, t.sym(*primed)))));
    smt.assert(t.substitute(invariant, shared.iter().zip(&middle).map(|((s, ..), m)| (*s, *m))));
    loop {
        run.budget.check().map_err(Reason::Exhausted)?;
        let formulas: Vec<Term> = out.iter().filter_map(|q| rely(p, *q)?.formula).collect();
        let none = |f: &Term| t.substitute(*f, shared.iter().map(|(s, primed, _)| (*primed, t.sym(*s))));
        let mut refuted = refuted_goals(&t, &formulas.iter().map(none).collect::<Vec<_>>(), &mut smt);
        smt.push();
        for f in &formulas {
            smt.assert(t.substitute(*f, shared.iter().zip(&middle).map(|((_, primed, _), m)| (*primed, *m))));
            smt.assert(t.substitute(*f, shared.iter().zip(&middle).map(|((s, ..), m)| (*s, *m))));
        }
        refuted.extend(refuted_goals(&t, &formulas, &mut smt));
        smt.pop();
        if !remove_refuted(&mut out, &refuted) {
            return Ok(out);
        }
    }
}

/// The steps of all code. What a callee performs is not a step of any thread: its code's steps are looked at instead.
fn steps(basis: &CallSummaries) -> Vec<AnyStep<'_>> {
    let ops = basis.program.objects.iter().flat_map(|o| o.ops.iter().map(|op| (&op.code, None)));
    let mut out = Vec::new();
    for (code, unit) in basis.units.iter().map(|u| (basis.code(u.unit), Some(u))).chain(ops) {
        let performed = |id| unit.is_some_and(|u| u.of_calls.contains(&id));
        let thread = match unit.map(|u| u.unit) {
            Some(CodeUnit::Thread(t)) => Some(t),
            _ => None,
        };
        let own = code.actions.iter_enumerated().filter(|(id, a)| a.relation.is_none() || !performed(*id));
        out.extend(own.map(|(_, action)| AnyStep { action, thread }));
    }
    out
}

/// An invariant, or a rely as another thread sees it.
struct Promised {
    formula: Term,
    /// Of a rely: whose it is, if one thread's.
    rely: Option<Option<ThreadId>>,
}

/// A step, and the thread in whose own code it stands.
#[derive(Clone, Copy)]
struct AnyStep<'a> {
    action: &'a Action,
    thread: Option<ThreadId>,
}

/// Whether each step keeps the invariants that are left, given all of them, and is one of the relies.
struct StepQuestions<'k, 't> {
    p: &'k Program,
    terms: &'k Terms,
    run: &'k Run,
    steps: Vec<AnyStep<'k>>,
    /// Invariants first.
    candidates: Vec<Promised>,
    /// Of the invariants: each implies its formula.
    literals: Vec<Symbol>,
    alive: Vec<bool>,
    /// The guard and gates of the step at hand stand in the session.
    inside: bool,
    smt: &'k mut Z3<'t>,
}

impl Elimination for StepQuestions<'_, '_> {
    type Stop = Reason;

    fn goals(&mut self, group: usize) -> Vec<CandidateGoal> {
        let (p, t, step) = (self.p, self.terms, &self.steps[group]);
        let effect = after_action(p, step.action);
        let value = |v: VarId| effect.iter().find(|(s, _)| *s == p.vars[v].symbol).map(|(_, x)| *x);
        let whole: Vec<(Symbol, Term)> =
            p.shared().map(|v| (p.vars[v].primed, value(v).unwrap_or_else(|| t.sym(p.vars[v].symbol)))).collect();
        let alive = self.candidates.iter().enumerate().filter(|(k, _)| self.alive[*k]);
        let asked = alive.filter_map(|(candidate, x)| {
            let formula = match x.rely {
                None => Some(t.substitute(x.formula, effect.iter().copied())).filter(|f| *f != x.formula)?,
                // The only instance of a thread is no other to itself.
                Some(Some(of)) if step.thread == Some(of) && p.threads[of].copies == Copies::One => return None,
                Some(_) => t.substitute(x.formula, whole.iter().copied()),
            };
            Some(CandidateGoal { candidate, batch: 0, formula })
        });
        asked.collect()
    }
    fn batches(&self, _: usize) -> Vec<Term> {
        Vec::new()
    }
    fn premises(&self, _: usize) -> Vec<Term> {
        let left = self.literals.iter().zip(&self.alive).filter(|(_, alive)| **alive);
        left.map(|(literal, _)| self.terms.sym(*literal)).collect()
    }
    fn session(&mut self, group: usize) -> Result<&mut dyn Smt, Reason> {
        if !std::mem::replace(&mut self.inside, true) {
            self.smt.push();
            conditions_of(self.steps[group].action).for_each(|f| self.smt.assert(f));
        }
        Ok(&mut *self.smt)
    }
    fn lose(&mut self, candidate: usize) {
        self.alive[candidate] = false;
    }
    fn users(&self, _: usize) -> Vec<usize> {
        (0..self.steps.len()).collect()
    }
    fn check_budget(&mut self) -> Result<(), Reason> {
        self.run.budget.check().map_err(Reason::Exhausted)
    }
    fn settled(&mut self, _: usize) -> Result<(), Reason> {
        if std::mem::take(&mut self.inside) {
            self.smt.pop();
        }
        Ok(())
    }
}
