//! The checker's oracle: is one formula valid? Second opinions of solvers, all of which must say so.
//!
//! In: `solver::SecondOpinion`s. Out: `checker::ValidityOracle`. The word is independent only if every formula so far was found
//! valid by another solver than the one that finds proofs. With a cache, what a solver found valid in an earlier run is not asked
//! again, and the name of the oracle says how often that was. Deliberately absent: any solver of its own.

use crate::cache::Cache;
use base::Budget;
use checker::{OracleAnswer, ValidityOracle};
use logic::{Term, Terms};
use solver::{AnsweredBy, PipeSolver, SecondOpinion, SolverSettings, Validity};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Deep terms are walked by recursion; the pages of a stack that are not touched cost nothing.
pub const STACK_BYTES: usize = 1 << 29;

pub struct Oracle {
    opinions: Vec<SecondOpinion>,
    /// The same opinions again, each with processes of its own, for questions asked side by side.
    others: Vec<Vec<SecondOpinion>>,
    /// For each opinion, whose word was given so far.
    answered_by: Vec<BTreeSet<AnsweredBy>>,
    cache: Option<Arc<Cache>>,
    /// How many formulas were not asked for.
    remembered: usize,
}

impl Oracle {
    /// A formula is valid if every one of the opinions says so.
    pub fn new(opinions: Vec<SecondOpinion>) -> Self {
        let answered_by = opinions.iter().map(|_| BTreeSet::new()).collect();
        Self { opinions, others: Vec::new(), answered_by, cache: None, remembered: 0 }
    }

    /// cvc5 where there is one, and Z3 where that does not know; their earlier answers are in the cache.
    pub fn standard(budget: &Budget, cache: Option<Arc<Cache>>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_QUESTIONS_AT_ONCE);
        let one = || vec![SecondOpinion::standard(SolverSettings::default(), budget)];
        Self { others: (1..cores).map(|_| one()).collect(), cache, ..Self::new(one()) }
    }

    /// Takes note of whose word it was.
    fn noted(&mut self, terms: &Terms, formula: Term, said: SolverReply) -> OracleAnswer {
        match said {
            SolverReply::Valid(given) => {
                if let (Some(cache), [word]) = (&self.cache, &given[..]) {
                    // A conjunction is valid if and only if its parts are.
                    terms.conjuncts(formula).into_iter().for_each(|part| cache.learn(terms, part, word));
                }
                for (answered_by, word) in self.answered_by.iter_mut().zip(given) {
                    answered_by.insert(word);
                }
                OracleAnswer::Valid
            }
            SolverReply::Not(answer) => answer,
        }
    }
}

/// cvc5 and nothing else, if it is on this machine.
pub fn cvc5(budget: &Budget) -> Option<SecondOpinion> {
    let backend = PipeSolver::cvc5()?;
    let word = AnsweredBy::OtherSolver(solver::Backend::name(&backend));
    Some(SecondOpinion::of(Arc::new(backend), word, SolverSettings::default(), budget))
}

impl ValidityOracle for Oracle {
    fn name(&self) -> String {
        let names: BTreeSet<&str> = self
            .answered_by
            .iter()
            .flatten()
            .map(|word| match word {
                AnsweredBy::SameSolver(name) | AnsweredBy::OtherSolver(name) => name.as_str(),
            })
            .collect();
        let names = if names.is_empty() { "no solver".into() } else { Vec::from_iter(names).join(" and ") };
        match self.remembered {
            0 => names,
            n => format!("{names} ({n} answers of an earlier run, from the cache)"),
        }
    }

    fn independent(&self) -> bool {
        self.answered_by.iter().any(|answered_by| answered_by.iter().all(|w| matches!(w, AnsweredBy::OtherSolver(_))))
    }

    fn valid(&mut self, terms: &Terms, formula: Term) -> OracleAnswer {
        let said = ask(&self.opinions, terms, formula);
        self.noted(terms, formula, said)
    }

    fn recalled(&self) -> usize {
        self.remembered
    }

    fn remembers(&mut self, terms: &Terms, formula: Term) -> bool {
        let (Some(cache), [answered_by]) = (&self.cache, &mut self.answered_by[..]) else { return false };
        let known: Option<Vec<AnsweredBy>> =
            terms.conjuncts(formula).into_iter().map(|part| cache.knows(terms, part)).collect();
        let Some(known) = known else { return false };
        answered_by.extend(known);
        self.remembered += 1;
        true
    }

    fn valid_each(&mut self, terms: &Terms, formulas: &[Term]) -> Vec<OracleAnswer> {
        let crew: Vec<&[SecondOpinion]> =
            std::iter::once(&self.opinions).chain(&self.others).map(|o| &o[..]).take(formulas.len() / 2).collect();
        if crew.len() < 2 {
            return formulas.iter().map(|f| self.valid(terms, *f)).collect();
        }
        // A question goes to whoever is free; whose turn it is does not change an answer.
        let next = AtomicUsize::new(0);
        let mut said: Vec<(usize, SolverReply)> = std::thread::scope(|scope| {
            let mut started = Vec::new();
            for opinions in crew {
                let (own, next) = (terms.clone(), &next);
                let builder = std::thread::Builder::new().name("checker".into()).stack_size(STACK_BYTES);
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
                None => OracleAnswer::Unknown("the question was not answered".into()),
            })
            .collect()
    }
}

/// At most so many questions are asked side by side.
const MAX_QUESTIONS_AT_ONCE: usize = 8;

enum SolverReply {
    /// Whose word it was, for each opinion.
    Valid(Vec<AnsweredBy>),
    Not(OracleAnswer),
}

fn ask(opinions: &[SecondOpinion], terms: &Terms, formula: Term) -> SolverReply {
    if opinions.is_empty() {
        return SolverReply::Not(OracleAnswer::Unknown("there is no solver to ask".into()));
    }
    let mut answered_by = Vec::new();
    for opinion in opinions {
        match opinion.valid(terms, formula) {
            Validity::Valid(word) => answered_by.push(word),
            Validity::NotValid => return SolverReply::Not(OracleAnswer::Invalid(String::new())),
            Validity::Unknown(reason) => return SolverReply::Not(OracleAnswer::Unknown(reason.to_string())),
        }
    }
    SolverReply::Valid(answered_by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use logic::{Sort, Value};
    use solver::{Backend, Smt, UnknownReason};

    /// A back end that gives the same answer to everything.
    struct Fixed(solver::Satisfiability);
    struct Session(solver::Satisfiability);

    impl Smt for Session {
        fn push(&mut self) {}
        fn pop(&mut self) {}
        fn assert(&mut self, _: Term) {}
        fn check_assuming(&mut self, _: &[Term]) -> solver::Satisfiability {
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
        fn open<'t>(&self, _: &'t Terms, _: SolverSettings, _: &Budget) -> Box<dyn Smt + 't> {
            Box::new(Session(self.0.clone()))
        }
    }

    fn decide(answers: &[solver::Satisfiability]) -> (OracleAnswer, bool) {
        let terms = Terms::new();
        let formula = terms.sym(terms.symbol("b", Sort::BOOL));
        let opinions = answers.iter().enumerate().map(|(i, a)| {
            let name = format!("solver {i}");
            let word = if i == 0 { AnsweredBy::SameSolver(name) } else { AnsweredBy::OtherSolver(name) };
            SecondOpinion::of(Arc::new(Fixed(a.clone())), word, SolverSettings::default(), &Budget::unlimited())
        });
        let mut oracle = Oracle::new(opinions.collect());
        (oracle.valid(&terms, formula), oracle.independent())
    }

    #[test]
    fn check_a_formula_is_valid_only_if_every_solver_says_so() {
        use solver::Satisfiability::{Sat, Unknown, Unsat};
        let lost = || Unknown(UnknownReason::Limit);
        assert_eq!(decide(&[Unsat]), (OracleAnswer::Valid, false));
        assert_eq!(decide(&[Unsat, Unsat]), (OracleAnswer::Valid, true));
        assert!(matches!(decide(&[Sat]).0, OracleAnswer::Invalid(_)));
        assert!(matches!(decide(&[Unsat, Sat]).0, OracleAnswer::Invalid(_)));
        assert!(matches!(decide(&[lost(), Unsat]).0, OracleAnswer::Unknown(_)));
        assert!(matches!(decide(&[Unsat, lost()]).0, OracleAnswer::Unknown(_)));
        assert!(matches!(decide(&[]).0, OracleAnswer::Unknown(_)));
    }
}
