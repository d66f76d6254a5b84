//! A session that could not be opened: it takes everything and answers "unknown" with the reason.

use crate::answer::{Satisfiability, Smt, UnknownReason};
use logic::{Term, Value};

pub(crate) struct Closed {
    reason: UnknownReason,
    questions: u64,
}

impl Closed {
    pub(crate) fn new(reason: UnknownReason) -> Self {
        Self { reason, questions: 0 }
    }
}

impl Smt for Closed {
    fn push(&mut self) {}
    fn pop(&mut self) {}
    fn assert(&mut self, _formula: Term) {}
    fn check_assuming(&mut self, _assumptions: &[Term]) -> Satisfiability {
        self.questions += 1;
        Satisfiability::Unknown(self.reason.clone())
    }
    fn value(&mut self, _term: Term) -> Option<Value> {
        None
    }
    fn core(&mut self) -> Vec<Term> {
        Vec::new()
    }
    fn set_limit(&mut self, _limit: u32) {}
    fn questions(&self) -> u64 {
        self.questions
    }
}
