//! The largest part of a set of candidate facts that nothing breaks.
//!
//! In: candidates, and questions whose answer breaks some of them. Out: those that are left. `InductiveFacts` is a set of facts, inductive
//! together, each behind a literal, so that a core names the facts that a proof used.

use super::system::{Bad, CountedStep, CountedSystem};
use crate::infer::houdini::{CandidateGoal, Elimination, QuestionOrder, eliminate, refuted_goals, remove_refuted};
use logic::{Sort, Symbol, Term};
use solver::Smt;
use std::collections::BTreeSet;
use std::convert::Infallible;

/// The candidates that hold initially, each once.
pub(crate) fn initially(system: &CountedSystem<'_>, mut candidates: Vec<Term>, smt: &mut dyn Smt) -> Vec<Term> {
    let t = system.terms;
    let mut seen = BTreeSet::new();
    candidates.retain(|c| !t.is_true(*c) && seen.insert(*c));
    smt.push();
    system.facts().into_iter().chain(system.control()).for_each(|f| smt.assert(f));
    system.initial().into_iter().for_each(|f| smt.assert(system.instances.premise(t, f)));
    let goals: Vec<Term> = candidates.iter().map(|f| system.instances.goal(t, *f)).collect();
    remove_refuted(&mut candidates, &refuted_goals(t, &goals, smt));
    smt.pop();
    candidates
}

/// Facts that hold initially and that every step keeps, given all of them.
pub(crate) struct InductiveFacts<'s, 'a> {
    system: &'s CountedSystem<'a>,
    steps: Vec<CountedStep>,
    facts: Vec<HoudiniFact>,
}

struct HoudiniFact {
    formula: Term,
    mentions: Vec<Symbol>,
    /// Implies the formula.
    literal: Symbol,
}

impl HoudiniFact {
    fn touched(&self, step: &CountedStep) -> bool {
        step.effect.iter().any(|(x, _)| self.mentions.contains(x))
    }
}

/// Whether each step keeps the facts that are left, given all of them: one group for each step.
struct StepQuestions<'k, 's, 'a> {
    kept: &'k InductiveFacts<'s, 'a>,
    alive: Vec<bool>,
    /// The step whose premises stand in the session, with what is to be shown of each fact after it.
    here: Option<Vec<Term>>,
    smt: &'k mut dyn Smt,
}

impl StepQuestions<'_, '_, '_> {
    fn enter(&mut self, group: usize) {
        if self.here.is_none() {
            let step = &self.kept.steps[group];
            self.smt.push();
            step.pre.iter().for_each(|f| self.smt.assert(*f));
            let t = self.kept.system.terms;
            let after = |f: &HoudiniFact| if f.touched(step) { self.kept.after(f, step) } else { t.tt() };
            self.here = Some(self.kept.facts.iter().map(after).collect());
        }
    }
}

impl Elimination for StepQuestions<'_, '_, '_> {
    type Stop = Infallible;

    fn goals(&mut self, group: usize) -> Vec<CandidateGoal> {
        self.enter(group);
        let after = self.here.iter().flatten().enumerate();
        let left = after.filter(|(k, _)| self.alive[*k]);
        left.map(|(candidate, formula)| CandidateGoal { candidate, batch: 0, formula: *formula }).collect()
    }
    fn batches(&self, _: usize) -> Vec<Term> {
        Vec::new()
    }
    fn premises(&self, _: usize) -> Vec<Term> {
        let left = self.kept.facts.iter().zip(&self.alive).filter(|(_, alive)| **alive);
        left.map(|(f, _)| self.kept.system.terms.sym(f.literal)).collect()
    }
    fn session(&mut self, group: usize) -> Result<&mut dyn Smt, Infallible> {
        self.enter(group);
        Ok(&mut *self.smt)
    }
    fn lose(&mut self, candidate: usize) {
        self.alive[candidate] = false;
    }
    fn users(&self, _: usize) -> Vec<usize> {
        (0..self.kept.steps.len()).collect()
    }
    fn settled(&mut self, _: usize) -> Result<(), Infallible> {
        self.here = None;
        self.smt.pop();
        Ok(())
    }
}

impl<'s, 'a> InductiveFacts<'s, 'a> {
    /// Asserts what is true in every state and leaves the scope open: the session belongs to this set until it is closed.
    pub(super) fn new(system: &'s CountedSystem<'a>, candidates: Vec<Term>, smt: &mut dyn Smt) -> Self {
        let t = system.terms;
        let fact = |formula: Term| HoudiniFact {
            formula,
            mentions: t.free_symbols(formula),
            literal: t.symbol("fact", Sort::BOOL),
        };
        let facts = initially(system, candidates, smt).into_iter().map(fact).collect();
        let mut kept = Self { system, steps: system.steps(), facts };
        smt.push();
        system.facts().into_iter().chain(system.control()).for_each(|f| smt.assert(f));
        for f in &kept.facts {
            smt.assert(t.implies(t.sym(f.literal), system.instances.premise(t, f.formula)));
        }
        let mut open = vec![true; kept.steps.len()];
        let alive = vec![true; kept.facts.len()];
        let mut question = StepQuestions { kept: &kept, alive, here: None, smt };
        let Ok(dropped) = eliminate(&mut question, t, &mut open, QuestionOrder::Rounds);
        remove_refuted(&mut kept.facts, &dropped.into_iter().collect());
        kept
    }

    pub(super) fn all(&self) -> Vec<Term> {
        self.facts.iter().map(|f| f.formula).collect()
    }

    /// Leaves the scope that `new` opened.
    pub(super) fn close(self, smt: &mut dyn Smt) -> Vec<Term> {
        smt.pop();
        self.all()
    }

    /// What is to be shown of a fact after a step.
    fn after(&self, fact: &HoudiniFact, step: &CountedStep) -> Term {
        let t = self.system.terms;
        t.substitute(self.system.instances.goal(t, fact.formula), step.effect.iter().copied())
    }

    /// Whether the facts rule out each of these ways to go wrong.
    pub(crate) fn exclude(&self, bad: &[Bad], smt: &mut dyn Smt) -> Vec<bool> {
        let all: Vec<Term> = self.facts.iter().map(|f| self.system.terms.sym(f.literal)).collect();
        let mut out = Vec::new();
        for b in bad {
            smt.push();
            b.formula.iter().for_each(|f| smt.assert(*f));
            out.push(smt.check_assuming(&all).is_unsat());
            smt.pop();
        }
        out
    }
}
