//! The largest part of a set of candidates that nothing breaks, and the part of it that a proof needs.
//!
//! In: candidates, and questions whose answer breaks some of them. Out: those that are left. `InductiveFacts` is a set of facts, inductive
//! together, each behind a literal, so that a core names the facts that a proof used.

use super::system::{Bad, CountedStep, CountedSystem};
use crate::infer::houdini::refuted_goals;
use logic::{Sort, Symbol, Term};
use solver::Smt;
use std::collections::BTreeSet;

/// The candidates that hold initially, each once.
pub(crate) fn initially(system: &CountedSystem<'_>, candidates: Vec<Term>, smt: &mut dyn Smt) -> Vec<Term> {
    let t = system.terms;
    let mut seen = BTreeSet::new();
    let candidates: Vec<Term> = candidates.into_iter().filter(|c| !t.is_true(*c) && seen.insert(*c)).collect();
    smt.push();
    system.facts().into_iter().chain(system.control()).for_each(|f| smt.assert(f));
    system.initial().into_iter().for_each(|f| smt.assert(system.instances.premise(t, f)));
    let goals: Vec<Term> = candidates.iter().map(|f| system.instances.goal(t, *f)).collect();
    let gone = refuted_goals(t, &goals, &[], smt);
    smt.pop();
    candidates.into_iter().enumerate().filter(|(n, _)| !gone.contains(n)).map(|(_, f)| f).collect()
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
        loop {
            let before = kept.facts.len();
            for s in std::mem::take(&mut kept.steps) {
                kept.drop_broken(&s, smt);
                kept.steps.push(s);
            }
            if kept.facts.len() == before {
                return kept;
            }
        }
    }

    pub(super) fn all(&self) -> Vec<Term> {
        self.facts.iter().map(|f| f.formula).collect()
    }

    /// Leaves the scope that `new` opened.
    pub(super) fn close(self, smt: &mut dyn Smt) -> Vec<Term> {
        smt.pop();
        self.all()
    }

    /// Drops the facts that a step can break.
    fn drop_broken(&mut self, step: &CountedStep, smt: &mut dyn Smt) {
        let t = self.system.terms;
        let after = |f: &HoudiniFact| if f.touched(step) { self.after(f, step) } else { t.tt() };
        let goals: Vec<Term> = self.facts.iter().map(after).collect();
        let literals: Vec<Term> = self.facts.iter().map(|f| t.sym(f.literal)).collect();
        smt.push();
        step.pre.iter().for_each(|f| smt.assert(*f));
        // Without the facts that turn out to be broken, others may break too.
        let gone = refuted_goals(t, &goals, &literals, smt);
        smt.pop();
        let mut at = 0;
        self.facts.retain(|_| {
            at += 1;
            !gone.contains(&(at - 1))
        });
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

    /// Facts, inductive together, that are enough to rule out these ways to go wrong, each of which all facts rule out.
    pub(super) fn needed(&self, bad: &[Bad], smt: &mut dyn Smt) -> Vec<Term> {
        let t = self.system.terms;
        let mut needed: BTreeSet<usize> = BTreeSet::new();
        for b in bad {
            smt.push();
            b.formula.iter().for_each(|f| smt.assert(*f));
            self.add_core(&mut needed, smt);
            smt.pop();
        }
        loop {
            let before = needed.len();
            for s in &self.steps {
                let goals: Vec<Term> = needed
                    .iter()
                    .map(|n| &self.facts[*n])
                    .filter(|f| f.touched(s))
                    .map(|f| t.not(self.after(f, s)))
                    .collect();
                if goals.is_empty() {
                    continue;
                }
                smt.push();
                s.pre.iter().for_each(|f| smt.assert(*f));
                smt.assert(t.or(&goals));
                self.add_core(&mut needed, smt);
                smt.pop();
            }
            if needed.len() == before {
                return needed.into_iter().map(|n| self.facts[n].formula).collect();
            }
        }
    }

    /// Adds facts that contradict what is asserted, if those that are there do not.
    fn add_core(&self, needed: &mut BTreeSet<usize>, smt: &mut dyn Smt) {
        let t = self.system.terms;
        let literal = |n: usize| t.sym(self.facts[n].literal);
        let mine: Vec<Term> = needed.iter().map(|n| literal(*n)).collect();
        if smt.check_assuming(&mine).is_unsat() {
            return;
        }
        let all: Vec<Term> = (0..self.facts.len()).map(literal).collect();
        if !smt.check_assuming(&all).is_unsat() {
            needed.extend(0..all.len());
            return;
        }
        let core: BTreeSet<Term> = smt.core().into_iter().collect();
        let mut new: Vec<usize> = (0..all.len()).filter(|n| core.contains(&all[*n]) && !needed.contains(n)).collect();
        // A core need not be small: each fact that is new must be worth its obligations.
        for n in new.clone() {
            let without: Vec<Term> =
                needed.iter().chain(new.iter().filter(|m| **m != n)).map(|m| literal(*m)).collect();
            if smt.check_assuming(&without).is_unsat() {
                new.retain(|m| *m != n);
            }
        }
        needed.extend(new);
    }
}
