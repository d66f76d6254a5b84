//! An oracle for the checker in tests: the solver that is built in, asked again for each formula on its own.

use base::Budget;
use checker::{Answer, Leaves};
use logic::{Term, Terms};
use solver::{Backend, Settings, Z3InProcess};

pub struct Again;

impl Leaves for Again {
    fn name(&self) -> String {
        "z3 again".into()
    }
    fn independent(&self) -> bool {
        false
    }
    fn valid(&mut self, terms: &Terms, formula: Term) -> Answer {
        let mut smt = Z3InProcess.open(terms, Settings::default(), &Budget::unlimited());
        smt.assert(terms.not(formula));
        match smt.check() {
            solver::Answer::Unsat => Answer::Valid,
            solver::Answer::Sat => Answer::Invalid(String::new()),
            solver::Answer::Unknown(why) => Answer::Unknown(why.to_string()),
        }
    }
}
