//! The second opinion: is a formula valid, said by another solver than the one that found the proof?
//!
//! In: a closed question (free symbols are universally read). Out: valid with whose word it is, not valid, or unknown.
//! cvc5 is asked first. Where cvc5 is missing or does not know, Z3 is asked in a process of its own with another
//! arithmetic and seed; that is a weaker opinion, and the answer says so. The checker gets its oracle from here.

use crate::answer::{Backend, Satisfiability, SolverSettings, UnknownReason};
use crate::piped::PipeSolver;
use crate::z3::session::Z3InProcess;
use base::Budget;
use logic::{Term, Terms};
use std::sync::Arc;

/// Whose word a validity is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnsweredBy {
    /// The solver that finds proofs, asked again in another way.
    SameSolver(String),
    /// Another solver.
    OtherSolver(String),
}

impl std::fmt::Display for AnsweredBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AnsweredBy::SameSolver(name) => write!(f, "{name}, the solver that found it, asked again"),
            AnsweredBy::OtherSolver(name) => write!(f, "{name}, another solver than the one that found it"),
        }
    }
}

/// Whether a formula holds for all values of its symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Validity {
    Valid(AnsweredBy),
    /// A solver has a candidate for a counterexample.
    NotValid,
    Unknown(UnknownReason),
}

/// Asks several solvers in order until one decides.
#[derive(Clone)]
pub struct SecondOpinion {
    asked: Vec<(Arc<dyn Backend>, AnsweredBy)>,
    settings: SolverSettings,
    budget: Budget,
}

impl SecondOpinion {
    /// cvc5, then Z3 again: what this machine has of them.
    pub fn standard(settings: SolverSettings, budget: &Budget) -> Self {
        let mut opinion = Self { asked: Vec::new(), settings, budget: budget.clone() };
        if let Some(cvc5) = PipeSolver::cvc5() {
            let word = AnsweredBy::OtherSolver(cvc5.name());
            opinion = opinion.asking(Arc::new(cvc5), word);
        }
        opinion.again()
    }

    /// Only the solver that found the proof, asked again: faster to start, weaker in trust.
    pub fn same_solver(settings: SolverSettings, budget: &Budget) -> Self {
        Self { asked: Vec::new(), settings, budget: budget.clone() }.again()
    }

    /// One solver of the caller's choice.
    pub fn of(backend: Arc<dyn Backend>, word: AnsweredBy, settings: SolverSettings, budget: &Budget) -> Self {
        Self { asked: Vec::new(), settings, budget: budget.clone() }.asking(backend, word)
    }

    fn asking(mut self, backend: Arc<dyn Backend>, word: AnsweredBy) -> Self {
        self.asked.push((backend, word));
        self
    }

    fn again(self) -> Self {
        match PipeSolver::z3() {
            Some(z3) => self.asking(Arc::new(z3), AnsweredBy::SameSolver("z3".into())),
            None => self.asking(Arc::new(Z3InProcess), AnsweredBy::SameSolver("z3".into())),
        }
    }

    /// The strongest word this opinion can give.
    #[cfg(test)]
    pub(crate) fn strongest(&self) -> Option<&AnsweredBy> {
        self.asked.iter().map(|(_, word)| word).max()
    }

    /// Does the formula hold for all values of its free symbols?
    pub fn valid(&self, terms: &Terms, formula: Term) -> Validity {
        let mut reasons = Vec::new();
        for (at, (backend, word)) in self.asked.iter().enumerate() {
            let seed = self.settings.seed + 17 * (at as u32 + 1);
            let mut smt = backend.open(terms, SolverSettings { seed, ..self.settings }, &self.budget);
            smt.assert(terms.not(formula));
            match smt.check() {
                Satisfiability::Unsat => return Validity::Valid(word.clone()),
                Satisfiability::Sat => return Validity::NotValid,
                Satisfiability::Unknown(reason @ UnknownReason::Stopped(_)) => return Validity::Unknown(reason),
                Satisfiability::Unknown(reason) => reasons.push(format!("{}: {reason}", backend.name())),
            }
        }
        match reasons.len() {
            0 => Validity::Unknown(UnknownReason::Broken("there is no solver to ask".into())),
            _ => Validity::Unknown(UnknownReason::GaveUp(reasons.join("; "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logic::Sort;

    #[test]
    fn check_the_second_opinion_is_cvc5s() {
        let t = Terms::new();
        let x = t.sym(t.symbol("x", Sort::INT));
        let opinion = SecondOpinion::standard(SolverSettings::default(), &Budget::unlimited());
        let word = opinion.strongest().cloned().expect("some solver is there");
        assert_eq!(word, AnsweredBy::OtherSolver("cvc5".into()), "the build brought cvc5");
        let valid = t.or(&[t.lt(x, t.int(5)), t.le(t.int(5), x)]);
        assert_eq!(opinion.valid(&t, valid), Validity::Valid(word));
        assert_eq!(opinion.valid(&t, t.lt(x, t.int(5))), Validity::NotValid);
    }

    #[test]
    fn check_a_weaker_word_is_told_apart() {
        let t = Terms::new();
        let opinion = SecondOpinion::same_solver(SolverSettings::default(), &Budget::unlimited());
        assert_eq!(opinion.valid(&t, t.tt()), Validity::Valid(AnsweredBy::SameSolver("z3".into())));
    }

    #[test]
    fn check_a_broken_solver_makes_nothing_valid() {
        let t = Terms::new();
        let broken = PipeSolver::new("fake", vec!["false".into()], crate::smtlib::Dialect::Z3);
        let word = AnsweredBy::OtherSolver("fake".into());
        let opinion = SecondOpinion::of(Arc::new(broken), word, SolverSettings::default(), &Budget::unlimited());
        assert!(matches!(opinion.valid(&t, t.tt()), Validity::Unknown(_)));
    }
}
