//! The checker's oracle: is one formula valid? Asked of solvers, best first; what one cannot decide goes to the next.
//!
//! In: solver back ends in order. Out: `checker::Leaves`. The answer is independent of the solver that finds proofs
//! only as long as every formula so far was decided by a back end that is. Sessions are opened for each table of
//! terms and each question, so that no question can spoil another.

use base::Budget;
use checker::{Answer, Leaves};
use logic::{Term, Terms};
use solver::{Backend, Settings};
use std::sync::Arc;

/// Whether a back end is the solver that finds proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Independent,
    FindsProofs,
}

/// How several back ends come to one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voting {
    /// The first that decides.
    First,
    /// A formula is valid only if every one says so.
    All,
}

pub struct Oracle {
    backends: Vec<(Arc<dyn Backend>, Standing)>,
    voting: Voting,
    budget: Budget,
    /// Which back ends have decided something.
    used: Vec<usize>,
}

impl Oracle {
    pub fn new(backends: Vec<(Arc<dyn Backend>, Standing)>, voting: Voting, budget: Budget) -> Self {
        Self { backends, voting, budget, used: Vec::new() }
    }

    /// cvc5 where there is one, then Z3.
    pub fn standard(budget: &Budget) -> Self {
        let mut backends: Vec<(Arc<dyn Backend>, Standing)> = Vec::new();
        backends.extend(second_solver().map(|b| (b, Standing::Independent)));
        backends.push((Arc::new(solver::Z3InProcess), Standing::FindsProofs));
        Self::new(backends, Voting::First, budget.clone())
    }

    fn ask(&self, backend: &dyn Backend, terms: &Terms, formula: Term) -> Answer {
        let mut session = backend.open(terms, Settings::default(), &self.budget);
        session.assert(terms.not(formula));
        match session.check() {
            solver::Answer::Unsat => Answer::Valid,
            solver::Answer::Sat => Answer::Invalid(String::new()),
            solver::Answer::Unknown(reason) => Answer::Unknown(reason.to_string()),
        }
    }
}

/// The solver that did not find the proof, if it is on this machine.
pub fn second_solver() -> Option<Arc<dyn Backend>> {
    None
}

impl Leaves for Oracle {
    fn name(&self) -> String {
        let names: Vec<String> = self.used.iter().map(|i| self.backends[*i].0.name()).collect();
        if names.is_empty() { "no solver".into() } else { names.join(" and ") }
    }

    fn independent(&self) -> bool {
        let independent = |i: &usize| self.backends[*i].1 == Standing::Independent;
        match self.voting {
            Voting::First => self.used.iter().all(independent),
            Voting::All => self.used.iter().any(independent),
        }
    }

    fn valid(&mut self, terms: &Terms, formula: Term) -> Answer {
        let mut why = Vec::new();
        for i in 0..self.backends.len() {
            let backend = self.backends[i].0.clone();
            let answer = self.ask(&*backend, terms, formula);
            if let Answer::Unknown(reason) = answer {
                why.push(format!("{}: {reason}", backend.name()));
                continue;
            }
            if !self.used.contains(&i) {
                self.used.push(i);
            }
            match (self.voting, answer) {
                (Voting::All, Answer::Valid) => {}
                (_, decided) => return decided,
            }
        }
        if self.voting == Voting::All && why.is_empty() && !self.backends.is_empty() {
            return Answer::Valid;
        }
        Answer::Unknown(why.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logic::{Sort, Value};
    use solver::{Reason, Smt};

    /// A back end that gives the same answer to everything.
    struct Fixed(solver::Answer);
    struct Session(solver::Answer);

    impl Smt for Session {
        fn push(&mut self) {}
        fn pop(&mut self) {}
        fn assert(&mut self, _: Term) {}
        fn check_assuming(&mut self, _: &[Term]) -> solver::Answer {
            self.0.clone()
        }
        fn value(&mut self, _: Term) -> Option<Value> {
            None
        }
        fn core(&mut self) -> Vec<Term> {
            Vec::new()
        }
        fn set_limit(&mut self, _: u32) {}
        fn questions(&self) -> u64 {
            0
        }
    }

    impl Backend for Fixed {
        fn name(&self) -> String {
            format!("{:?}", self.0)
        }
        fn open<'t>(&self, _: &'t Terms, _: Settings, _: &Budget) -> Box<dyn Smt + 't> {
            Box::new(Session(self.0.clone()))
        }
    }

    fn decide(voting: Voting, answers: &[solver::Answer]) -> (Answer, bool) {
        let terms = Terms::new();
        let formula = terms.sym(terms.symbol("b", Sort::BOOL));
        let backends = answers.iter().enumerate().map(|(i, a)| {
            let standing = if i == 0 { Standing::Independent } else { Standing::FindsProofs };
            (Arc::new(Fixed(a.clone())) as Arc<dyn Backend>, standing)
        });
        let mut oracle = Oracle::new(backends.collect(), voting, Budget::unlimited());
        (oracle.valid(&terms, formula), oracle.independent())
    }

    #[test]
    fn check_only_a_solver_that_says_unsat_makes_a_formula_valid() {
        use solver::Answer::{Sat, Unknown, Unsat};
        let lost = || Unknown(Reason::Limit);
        assert_eq!(decide(Voting::First, &[Unsat, Sat]), (Answer::Valid, true));
        assert_eq!(decide(Voting::First, &[lost(), Unsat]), (Answer::Valid, false));
        assert!(matches!(decide(Voting::First, &[Sat, Unsat]).0, Answer::Invalid(_)));
        assert!(matches!(decide(Voting::First, &[lost(), lost()]).0, Answer::Unknown(_)));
        assert!(matches!(decide(Voting::First, &[]).0, Answer::Unknown(_)));
        assert_eq!(decide(Voting::All, &[Unsat, Unsat]), (Answer::Valid, true));
        assert!(matches!(decide(Voting::All, &[Unsat, Sat]).0, Answer::Invalid(_)));
        assert!(matches!(decide(Voting::All, &[Unsat, lost()]).0, Answer::Unknown(_)));
        assert!(matches!(decide(Voting::All, &[]).0, Answer::Unknown(_)));
    }
}
