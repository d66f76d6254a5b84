//! What every solver session can do and what it may answer, whatever stands behind it.
//!
//! In: formulas as `logic` terms. Out: `Satisfiability`, values, cores. Every failure of a solver (crash, garbled text, hang,
//! exception, a formula it cannot express) ends in `Unknown` with a typed reason. Deliberately absent: proofs of
//! the solver; certificates are checked by asking again, not by reading a solver's proof format.

use base::{Budget, Exhausted};
use logic::{Term, Terms, Value};

/// The answer to "is there a model of what is asserted?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Satisfiability {
    Sat,
    Unsat,
    Unknown(UnknownReason),
}

impl Satisfiability {
    pub fn is_sat(&self) -> bool {
        *self == Satisfiability::Sat
    }
    pub fn is_unsat(&self) -> bool {
        *self == Satisfiability::Unsat
    }
}

/// Why a solver did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownReason {
    /// The deterministic resource limit of one question was used up.
    Limit,
    /// The budget of the whole work ended.
    Stopped(Exhausted),
    /// Something asserted cannot be said to this solver; what.
    Refused(String),
    /// The solver gave up; its own explanation.
    GaveUp(String),
    /// The solver crashed, hung, or said something that is no answer.
    Broken(String),
}

impl std::fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UnknownReason::Limit => f.write_str("the resource limit of the question was used up"),
            UnknownReason::Stopped(why) => why.fmt(f),
            UnknownReason::Refused(what) => write!(f, "the solver cannot be asked this: {what}"),
            UnknownReason::GaveUp(explanation) => write!(f, "the solver gave up: {explanation}"),
            UnknownReason::Broken(what) => write!(f, "the solver failed: {what}"),
        }
    }
}

/// How machine integers are encoded for the solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machines {
    /// As integers in a range, sums and differences corrected once, products by modulo. Good with plain arithmetic.
    Integers,
    /// As bit vectors. Good with masks, shifts and products.
    BitVectors,
}

/// Settings of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolverSettings {
    /// The resource limit of each question, in the solver's own deterministic units; 0 is none.
    pub limit: u32,
    pub machines: Machines,
    pub seed: u32,
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self { limit: 20_000_000, machines: Machines::Integers, seed: 0 }
    }
}

/// An incremental solver session over one table of terms. A session belongs to one thread.
pub trait Smt {
    fn push(&mut self);
    /// Leaves the innermost scope; what was asserted in it is forgotten.
    fn pop(&mut self);
    fn assert(&mut self, formula: Term);
    /// Is what is asserted satisfiable?
    fn check(&mut self) -> Satisfiability {
        self.check_assuming(&[])
    }
    /// The same, with these formulas assumed for this question only.
    fn check_assuming(&mut self, assumptions: &[Term]) -> Satisfiability;
    /// The value of a term in the model, after `Sat` and before anything else is asserted. `None` where the solver's
    /// value is no `Value` (an infinite set, a function without a finite table, a number beyond 128 bits).
    fn value(&mut self, term: Term) -> Option<Value>;
    /// After `Unsat` of `check_assuming`: some of the assumptions, in their order, that are enough.
    fn core(&mut self) -> Vec<Term>;
    /// Changes the resource limit of the questions to come.
    fn set_limit(&mut self, limit: u32);
    /// How many questions were asked.
    fn questions(&self) -> u64;
}

/// Something that opens sessions: the seam where tests put solvers that lie, crash and hang.
pub trait Backend: Send + Sync {
    /// Name and version, for people and for the trust of a verdict.
    fn name(&self) -> String;
    fn open<'t>(&self, terms: &'t Terms, settings: SolverSettings, budget: &Budget) -> Box<dyn Smt + 't>;
}
