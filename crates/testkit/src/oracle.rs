//! An oracle for the checker in tests: the solver that is built in, asked again for each formula on its own.

use base::Budget;
use checker::{OracleAnswer, ValidityOracle};
use logic::{Term, Terms};
use solver::{Backend, SolverSettings, Z3InProcess};

pub struct Again;

impl ValidityOracle for Again {
    fn name(&self) -> String {
        "z3 again".into()
    }
    fn independent(&self) -> bool {
        false
    }
    fn valid(&mut self, terms: &Terms, formula: Term) -> OracleAnswer {
        let mut smt = Z3InProcess.open(terms, SolverSettings::default(), &Budget::unlimited());
        smt.assert(terms.not(formula));
        match smt.check() {
            solver::Satisfiability::Unsat => OracleAnswer::Valid,
            solver::Satisfiability::Sat => OracleAnswer::Invalid(String::new()),
            solver::Satisfiability::Unknown(why) => OracleAnswer::Unknown(why.to_string()),
        }
    }
}
