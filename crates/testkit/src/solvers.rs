//! Solvers that fail on purpose: crash, hang, lie, give up, or give wrong values.
//!
//! Behind the same door as the real ones (`solver::Backend`), with a real one inside where an answer is needed. What a
//! method says with any of these may be "unknown" or a claim that the checker rejects; never a wrong verdict, and
//! never the end of the tool.

use base::Budget;
use logic::{Sort, SortKind, Term, Terms, Value};
use solver::{Backend, Satisfiability, Smt, SolverSettings, UnknownReason, Z3InProcess};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Panics at the first question.
    Crash,
    /// Answers truly this often, then panics.
    CrashAfter(u64),
    /// Answers only when the budget is at its end.
    Hang,
    Unknown,
    AlwaysSat,
    AlwaysUnsat,
    /// Says the opposite of the truth.
    Flipped,
    /// True answers, false values in models.
    WrongValues,
}

impl Fault {
    pub const ALL: [Fault; 8] = [
        Fault::Crash,
        Fault::CrashAfter(2),
        Fault::Hang,
        Fault::Unknown,
        Fault::AlwaysSat,
        Fault::AlwaysUnsat,
        Fault::Flipped,
        Fault::WrongValues,
    ];
}

/// A back end with a fault.
#[derive(Clone, Copy, Debug)]
pub struct Faulty(pub Fault);

impl Backend for Faulty {
    fn name(&self) -> String {
        format!("faulty ({:?})", self.0)
    }
    fn open<'t>(&self, terms: &'t Terms, settings: SolverSettings, budget: &Budget) -> Box<dyn Smt + 't> {
        let inner = Z3InProcess.open(terms, settings, budget);
        Box::new(Session { fault: self.0, inner, terms, budget: budget.clone(), asked: 0 })
    }
}

struct Session<'t> {
    fault: Fault,
    inner: Box<dyn Smt + 't>,
    terms: &'t Terms,
    budget: Budget,
    asked: u64,
}

impl Smt for Session<'_> {
    fn push(&mut self) {
        self.inner.push();
    }
    fn pop(&mut self) {
        self.inner.pop();
    }
    fn assert(&mut self, formula: Term) {
        self.inner.assert(formula);
    }
    fn check_assuming(&mut self, assumptions: &[Term]) -> Satisfiability {
        self.asked += 1;
        match self.fault {
            Fault::Crash => panic!("the solver crashes on purpose"),
            Fault::CrashAfter(n) if self.asked > n => panic!("the solver crashes on purpose, after {n} questions"),
            Fault::Hang => loop {
                if let Err(why) = self.budget.check() {
                    return Satisfiability::Unknown(UnknownReason::Stopped(why));
                }
                std::thread::sleep(Duration::from_millis(2));
            },
            Fault::Unknown => Satisfiability::Unknown(UnknownReason::GaveUp("on purpose".into())),
            Fault::AlwaysSat => Satisfiability::Sat,
            Fault::AlwaysUnsat => Satisfiability::Unsat,
            Fault::Flipped => match self.inner.check_assuming(assumptions) {
                Satisfiability::Sat => Satisfiability::Unsat,
                Satisfiability::Unsat => Satisfiability::Sat,
                unknown => unknown,
            },
            Fault::CrashAfter(_) | Fault::WrongValues => self.inner.check_assuming(assumptions),
        }
    }
    fn value(&mut self, term: Term) -> Option<Value> {
        match self.fault {
            Fault::AlwaysSat | Fault::Flipped => Some(Value::default_of(self.terms, self.terms.sort_of(term))),
            Fault::WrongValues => Some(other_than(self.terms, self.terms.sort_of(term), self.inner.value(term))),
            _ => self.inner.value(term),
        }
    }
    fn core(&mut self) -> Vec<Term> {
        match self.fault {
            // A core that proves nothing.
            Fault::AlwaysUnsat | Fault::Flipped => Vec::new(),
            _ => self.inner.core(),
        }
    }
    fn set_limit(&mut self, limit: u32) {
        self.inner.set_limit(limit);
    }
    fn questions(&self) -> u64 {
        self.asked
    }
}

/// A value of the sort that is not the given one, where the sort has another.
fn other_than(t: &Terms, sort: Sort, value: Option<Value>) -> Value {
    match (value, t.kind(sort)) {
        (Some(Value::Bool(b)), _) => Value::Bool(!b),
        (Some(Value::Int(n)), SortKind::Machine(m)) => Value::Int(m.wrap(n.wrapping_add(1))),
        (Some(Value::Int(n)), _) => Value::Int(n.wrapping_add(1)),
        (Some(Value::Variant(v)), SortKind::Enum(e)) => Value::Variant((v + 1) % t.enum_size(e).max(1) as u32),
        (Some(Value::Ref(n)), _) => Value::Ref(n + 1),
        _ => Value::default_of(t, sort),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solver::{AnsweredBy, SecondOpinion, Validity};
    use std::sync::Arc;

    /// Whether the faulty solver calls `x < x + 1` valid; a panic counts as no answer.
    fn opinion(fault: Fault) -> Option<Validity> {
        std::panic::catch_unwind(|| {
            let t = Terms::new();
            let x = t.symbol("x", Sort::INT);
            let formula = t.lt(t.sym(x), t.add(t.sym(x), t.int(1)));
            let budget = Budget::unlimited().with_time(Duration::from_millis(50));
            let word = AnsweredBy::OtherSolver("faulty".into());
            SecondOpinion::of(Arc::new(Faulty(fault)), word, SolverSettings::default(), &budget).valid(&t, formula)
        })
        .ok()
    }

    #[test]
    fn check_each_fault_is_what_it_says() {
        assert_eq!(opinion(Fault::Crash), None);
        assert!(matches!(opinion(Fault::Hang), Some(Validity::Unknown(_))));
        assert!(matches!(opinion(Fault::Unknown), Some(Validity::Unknown(_))));
        assert!(matches!(opinion(Fault::AlwaysUnsat), Some(Validity::Valid(_))));
        assert_eq!(opinion(Fault::AlwaysSat), Some(Validity::NotValid));
        assert_eq!(opinion(Fault::Flipped), Some(Validity::NotValid));
        assert!(matches!(opinion(Fault::WrongValues), Some(Validity::Valid(_))));
    }
}
