//! Which written invariants every step of the program keeps, whoever takes it: the premises of the rest (RD7).
//!
//! In: the program without calls. Out: the largest set of written invariants that initial stores satisfy and that each step of
//! all its code keeps, given its guard and gates and nothing of where it stands. An invariant that needs more than that is left
//! to the methods that prove invariants, and is no premise here.
//! Deliberately absent: relies; what holds at single locations.

use crate::infer::houdini::{CandidateGoal, Elimination, QuestionOrder, eliminate, refuted_goals, remove_refuted};
use crate::infer::vocabulary::conditions_of;
use crate::method::Run;
use evidence::Reason;
use logic::{Sort, Symbol, Term, Terms};
use program::call_summaries::CallSummaries;
use program::transition::{after_action, initial_store};
use program::{Action, Code, Program, PropertyId, PropertyKind};
use solver::{Smt, SolverSettings, Z3};

/// The formulas of these invariants.
pub(crate) fn formulas(p: &Program, premises: &[PropertyId]) -> Vec<Term> {
    let formula = |q: &PropertyId| match p.properties[*q].kind {
        PropertyKind::Invariant(formula) => Some(formula),
        _ => None,
    };
    premises.iter().filter_map(formula).collect()
}

/// The invariants that every step keeps.
pub(crate) fn kept(basis: &CallSummaries, run: &Run) -> Result<Vec<PropertyId>, Reason> {
    let p = &basis.program;
    let invariant = |kind: &PropertyKind| matches!(kind, PropertyKind::Invariant(_));
    let mut list: Vec<PropertyId> =
        p.properties.iter_enumerated().filter(|(_, x)| invariant(&x.kind)).map(|(q, _)| q).collect();
    let spawns = |code: &Code| code.actions.iter().any(|a| a.spawn.is_some());
    if list.is_empty() || p.threads.iter().any(|t| spawns(&t.code)) {
        return Ok(Vec::new());
    }
    let terms = p.terms.clone();
    let settings = SolverSettings { seed: run.seed as u32, limit: 1_000_000, ..SolverSettings::default() };
    let mut smt = Z3::new(&terms, settings, &run.budget).map_err(|r| Reason::Internal(r.to_string()))?;
    // What initial stores satisfy, then what every step keeps, given all that is left.
    smt.push();
    smt.assert(initial_store(p, &terms));
    let mut formulas: Vec<Term> = list.iter().map(|q| terms.and(&formulas(p, &[*q]))).collect();
    let refuted = refuted_goals(&terms, &formulas, &mut smt);
    remove_refuted(&mut list, &refuted);
    remove_refuted(&mut formulas, &refuted);
    smt.pop();
    let mut facts = vec![terms.lt(terms.int(0), terms.sym(p.tid))];
    facts.extend(program::access::constant_facts(p, &terms));
    facts.iter().for_each(|f| smt.assert(*f));
    let literal = |f: &Term| {
        let literal = terms.symbol("kept", Sort::BOOL);
        (literal, terms.implies(terms.sym(literal), *f))
    };
    let (literals, guarded): (Vec<Symbol>, Vec<Term>) = formulas.iter().map(literal).unzip();
    guarded.iter().for_each(|f| smt.assert(*f));
    let steps = steps(basis);
    let mut open = vec![true; steps.len()];
    let alive = vec![true; list.len()];
    let mut question =
        StepQuestions { p, terms: &terms, run, steps, formulas, literals, alive, inside: false, smt: &mut smt };
    let dropped = eliminate(&mut question, &terms, &mut open, QuestionOrder::Rounds)?;
    remove_refuted(&mut list, &dropped.into_iter().collect());
    Ok(list)
}

/// The steps of all code. What a callee performs is not a step of any thread: its code's steps are looked at instead.
fn steps(basis: &CallSummaries) -> Vec<&Action> {
    let ops = basis.program.objects.iter().flat_map(|o| o.ops.iter().map(|op| (&op.code, None)));
    let mut out = Vec::new();
    for (code, unit) in basis.units.iter().map(|u| (basis.code(u.unit), Some(u))).chain(ops) {
        let performed = |id| unit.is_some_and(|u| u.of_calls.contains(&id));
        out.extend(
            code.actions.iter_enumerated().filter(|(id, a)| a.relation.is_none() || !performed(*id)).map(|(_, a)| a),
        );
    }
    out
}

/// Whether each step keeps the invariants that are left, given all of them.
struct StepQuestions<'k, 't> {
    p: &'k Program,
    terms: &'k Terms,
    run: &'k Run,
    steps: Vec<&'k Action>,
    formulas: Vec<Term>,
    /// Each implies its formula.
    literals: Vec<Symbol>,
    alive: Vec<bool>,
    /// The guard and gates of the step at hand stand in the session.
    inside: bool,
    smt: &'k mut Z3<'t>,
}

impl Elimination for StepQuestions<'_, '_> {
    type Stop = Reason;

    fn goals(&mut self, group: usize) -> Vec<CandidateGoal> {
        let effect = after_action(self.p, self.steps[group]);
        let touched = self.formulas.iter().enumerate().filter(|(k, _)| self.alive[*k]).filter_map(|(candidate, f)| {
            let formula = self.terms.substitute(*f, effect.iter().copied());
            (formula != *f).then_some(CandidateGoal { candidate, batch: 0, formula })
        });
        touched.collect()
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
            conditions_of(self.steps[group]).for_each(|f| self.smt.assert(f));
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
