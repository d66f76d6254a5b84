//! The checker's oracle: is one formula valid? Second opinions of solvers, all of which must say so.
//!
//! In: `solver::SecondOpinion`s. Out: `checker::Leaves`. The word is independent only if every formula so far was found
//! valid by another solver than the one that finds proofs. With a cache, what a solver found valid in an earlier run is not asked
//! again, and the name of the oracle says how often that was. Deliberately absent: any solver of its own.

use crate::cache::Cache;
use base::Budget;
use checker::{Answer, Leaves};
use logic::{Term, Terms};
use solver::{PipeSolver, SecondOpinion, Settings, Validity, Word};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub struct Oracle {
    opinions: Vec<SecondOpinion>,
    /// The same opinions again, each with processes of its own, for questions asked side by side.
    others: Vec<Vec<SecondOpinion>>,
    /// For each opinion, whose word was given so far.
    words: Vec<BTreeSet<Word>>,
    cache: Option<Arc<Cache>>,
    /// How many formulas were not asked for.
    remembered: usize,
}

impl Oracle {
    /// A formula is valid if every one of the opinions says so.
    pub fn new(opinions: Vec<SecondOpinion>) -> Self {
        let words = opinions.iter().map(|_| BTreeSet::new()).collect();
        Self { opinions, others: Vec::new(), words, cache: None, remembered: 0 }
    }

    /// cvc5 where there is one, and Z3 where that does not know; their earlier answers are in the cache.
    pub fn standard(budget: &Budget, cache: Option<Arc<Cache>>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST);
        let one = || vec![SecondOpinion::standard(Settings::default(), budget)];
        Self { others: (1..cores).map(|_| one()).collect(), cache, ..Self::new(one()) }
    }

    /// Takes note of whose word it was.
    fn noted(&mut self, terms: &Terms, formula: Term, said: Said) -> Answer {
        match said {
            Said::Valid(given) => {
                if let (Some(cache), [word]) = (&self.cache, &given[..]) {
                    // A conjunction is valid if and only if its parts are.
                    terms.conjuncts(formula).into_iter().for_each(|part| cache.learn(terms, part, word));
                }
                for (words, word) in self.words.iter_mut().zip(given) {
                    words.insert(word);
                }
                Answer::Valid
            }
            Said::Not(answer) => answer,
        }
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
        let names = if names.is_empty() { "no solver".into() } else { Vec::from_iter(names).join(" and ") };
        match self.remembered {
            0 => names,
            n => format!("{names} ({n} answers of an earlier run, from the cache)"),
        }
    }

    fn independent(&self) -> bool {
        self.words.iter().any(|words| words.iter().all(|w| matches!(w, Word::OtherSolver(_))))
    }

    fn valid(&mut self, terms: &Terms, formula: Term) -> Answer {
        let said = ask(&self.opinions, terms, formula);
        self.noted(terms, formula, said)
    }

    fn recalled(&self) -> usize {
        self.remembered
    }

    fn remembers(&mut self, terms: &Terms, formula: Term) -> bool {
        let (Some(cache), [words]) = (&self.cache, &mut self.words[..]) else { return false };
        let known: Option<Vec<Word>> =
            terms.conjuncts(formula).into_iter().map(|part| cache.knows(terms, part)).collect();
        let Some(known) = known else { return false };
        words.extend(known);
        self.remembered += 1;
        true
    }

    fn valid_each(&mut self, terms: &Terms, formulas: &[Term]) -> Vec<Answer> {
        let crew: Vec<&[SecondOpinion]> =
            std::iter::once(&self.opinions).chain(&self.others).map(|o| &o[..]).take(formulas.len() / 2).collect();
        if crew.len() < 2 {
            return formulas.iter().map(|f| self.valid(terms, *f)).collect();
        }
        // A question goes to whoever is free; whose turn it is does not change an answer.
        let next = AtomicUsize::new(0);
        let mut said: Vec<(usize, Said)> = std::thread::scope(|scope| {
            let mut started = Vec::new();
            for opinions in crew {
                let (own, next) = (terms.clone(), &next);
                let builder = std::thread::Builder::new().name("checker".into()).stack_size(crate::strategy::STACK);
                let work = move || {
                    let mut out = Vec::new();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(formula) = formulas.get(at) else { return out };
                        out.push((at, ask(opinions, &own, *formula)));
                    }
                };
                started.extend(builder.spawn_scoped(scope, work).ok());
            }
            // A worker that panics has answered nothing; what is missing then is unknown.
            started.into_iter().flat_map(|h| h.join().unwrap_or_default()).collect()
        });
        said.sort_by_key(|(at, _)| *at);
        let mut said = said.into_iter().peekable();
        (0..formulas.len())
            .map(|at| match said.next_if(|(i, _)| *i == at) {
                Some((_, one)) => self.noted(terms, formulas[at], one),
                None => Answer::Unknown("the question was not answered".into()),
            })
            .collect()
    }
}

/// At most so many questions are asked side by side.
const MOST: usize = 8;

enum Said {
    /// Whose word it was, for each opinion.
    Valid(Vec<Word>),
    Not(Answer),
}

fn ask(opinions: &[SecondOpinion], terms: &Terms, formula: Term) -> Said {
    if opinions.is_empty() {
        return Said::Not(Answer::Unknown("there is no solver to ask".into()));
    }
    let mut words = Vec::new();
    for opinion in opinions {
        match opinion.valid(terms, formula) {
            Validity::Valid(word) => words.push(word),
            Validity::NotValid => return Said::Not(Answer::Invalid(String::new())),
            Validity::Unknown(reason) => return Said::Not(Answer::Unknown(reason.to_string())),
        }
    }
    Said::Valid(words)
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
