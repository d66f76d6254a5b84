//! The checker's oracle: is one formula valid? Second opinions of solvers, all of which must say so.
//!
//! In: `solver::SecondOpinion`s. Out: `checker::Leaves`. The word is independent only if every formula so far was found
//! valid by another solver than the one that finds proofs. Deliberately absent: any solver of its own.

use base::Budget;
use checker::{Answer, Leaves};
use logic::{Term, Terms};
use solver::{PipeSolver, SecondOpinion, Settings, Validity, Word};
use std::collections::BTreeSet;
use std::sync::Arc;

pub struct Oracle {
    opinions: Vec<SecondOpinion>,
    /// For each opinion, whose word was given so far.
    words: Vec<BTreeSet<Word>>,
}

impl Oracle {
    /// A formula is valid if every one of the opinions says so.
    pub fn new(opinions: Vec<SecondOpinion>) -> Self {
        let words = opinions.iter().map(|_| BTreeSet::new()).collect();
        Self { opinions, words }
    }

    /// cvc5 where there is one, and Z3 where that does not know.
    pub fn standard(budget: &Budget) -> Self {
        Self::new(vec![SecondOpinion::standard(Settings::default(), budget)])
    }
}

/// cvc5 and nothing else, if it is on this machine.
pub fn cvc5(budget: &Budget) -> Option<SecondOpinion> {
    let backend = PipeSolver::cvc5()?;
    Some(SecondOpinion::of(Arc::new(backend), Word::OtherSolver("cvc5".into()), Settings::default(), budget))
}

impl Leaves for Oracle {
    fn name(&self) -> String {
        let names: BTreeSet<&str> = self
            .words
            .iter()
            .flatten()
            .map(|word| match word {
                Word::SameSolver(name) | Word::OtherSolver(name) => name.as_str(),
            })
            .collect();
        if names.is_empty() { "no solver".into() } else { names.into_iter().collect::<Vec<_>>().join(" and ") }
    }

    fn independent(&self) -> bool {
        self.words.iter().any(|words| words.iter().all(|w| matches!(w, Word::OtherSolver(_))))
    }

    fn valid(&mut self, terms: &Terms, formula: Term) -> Answer {
        if self.opinions.is_empty() {
            return Answer::Unknown("there is no solver to ask".into());
        }
        for (opinion, words) in self.opinions.iter().zip(&mut self.words) {
            match opinion.valid(terms, formula) {
                Validity::Valid(word) => {
                    words.insert(word);
                }
                Validity::NotValid => return Answer::Invalid(String::new()),
                Validity::Unknown(reason) => return Answer::Unknown(reason.to_string()),
            }
        }
        Answer::Valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logic::{Sort, Value};
    use solver::{Backend, Reason, Smt};

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

    fn decide(answers: &[solver::Answer]) -> (Answer, bool) {
        let terms = Terms::new();
        let formula = terms.sym(terms.symbol("b", Sort::BOOL));
        let opinions = answers.iter().enumerate().map(|(i, a)| {
            let name = format!("solver {i}");
            let word = if i == 0 { Word::SameSolver(name) } else { Word::OtherSolver(name) };
            SecondOpinion::of(Arc::new(Fixed(a.clone())), word, Settings::default(), &Budget::unlimited())
        });
        let mut oracle = Oracle::new(opinions.collect());
        (oracle.valid(&terms, formula), oracle.independent())
    }

    #[test]
    fn check_a_formula_is_valid_only_if_every_solver_says_so() {
        use solver::Answer::{Sat, Unknown, Unsat};
        let lost = || Unknown(Reason::Limit);
        assert_eq!(decide(&[Unsat]), (Answer::Valid, false));
        assert_eq!(decide(&[Unsat, Unsat]), (Answer::Valid, true));
        assert!(matches!(decide(&[Sat]).0, Answer::Invalid(_)));
        assert!(matches!(decide(&[Unsat, Sat]).0, Answer::Invalid(_)));
        assert!(matches!(decide(&[lost(), Unsat]).0, Answer::Unknown(_)));
        assert!(matches!(decide(&[Unsat, lost()]).0, Answer::Unknown(_)));
        assert!(matches!(decide(&[]).0, Answer::Unknown(_)));
    }
}
