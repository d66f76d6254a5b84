//! The oracle for the validity of one formula: the leaves of every proof.
//!
//! By default it is another solver than the one that found the proof. An oracle that cannot decide says so; the
//! property is then unknown.

use logic::{Term, Terms};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OracleAnswer {
    Valid,
    /// Not valid; values that show it, for people, if the oracle has them.
    Invalid(String),
    Unknown(String),
}

pub trait ValidityOracle {
    /// The name and version of what answers: "cvc5 1.4.2".
    fn name(&self) -> String;
    /// Whether it is independent of the solver that finds proofs.
    fn independent(&self) -> bool;
    /// Whether the formula holds for all values of its free symbols. References are non-negative, enum values and
    /// machine integers in range; division and indexing have the total meaning of `logic::eval`.
    fn valid(&mut self, terms: &Terms, formula: Term) -> OracleAnswer;
    /// Whether the formula was found valid in an earlier run, and that is on record. An oracle without records remembers nothing.
    fn remembers(&mut self, _terms: &Terms, _formula: Term) -> bool {
        false
    }
    /// How many formulas were taken from records so far.
    fn recalled(&self) -> usize {
        0
    }
    /// As `valid`, of several formulas in their order. An oracle may ask on several cores.
    fn valid_each(&mut self, terms: &Terms, formulas: &[Term]) -> Vec<OracleAnswer> {
        formulas.iter().map(|f| self.valid(terms, *f)).collect()
    }
}
