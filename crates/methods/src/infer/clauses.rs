//! One builder of Horn clauses: the rules of an action with its gates, and what an answer of the Horn solver means.
//!
//! In: atoms for "here" and "there", guards and gates as the method sees them. Out: rules in a `Horn` session; a solution or a
//! reason. Which relations there are, and what their parameters are, is the method's abstraction.

use evidence::Reason;
use logic::{Term, Terms};
use program::PropertyId;
use solver::{Atom, Horn, HornAnswer, HornClause, Relation};

/// A Horn session, with the properties that must not be violated.
pub(crate) struct HornClauseBuilder<'a> {
    pub horn: Horn<'a>,
    pub terms: &'a Terms,
    pub wanted: Vec<PropertyId>,
}

impl HornClauseBuilder<'_> {
    pub(crate) fn relation(&mut self, name: String, params: &[logic::Symbol]) -> Relation {
        self.horn.relation(name, params)
    }

    /// What holds at the start.
    pub(crate) fn initial(&mut self, constraint: Term, head: Atom) {
        self.horn.rule(HornClause { body: vec![], constraint, head: Some(head) });
    }

    /// From these atoms, where the constraint holds, to another.
    pub(crate) fn leads(&mut self, body: Vec<Atom>, constraint: Term, head: Atom) {
        self.horn.rule(HornClause { body, constraint, head: Some(head) });
    }

    /// The constraint never holds here.
    pub(crate) fn never(&mut self, here: &Atom, constraint: Term) {
        self.horn.rule(HornClause { body: vec![here.clone()], constraint, head: None });
    }

    /// The gates of a step are tried in order: a wanted one must hold where those before it do. What is known once all are passed.
    pub(crate) fn gates(
        &mut self,
        here: &Atom,
        tried: Vec<Term>,
        gates: impl IntoIterator<Item = (PropertyId, Term)>,
    ) -> Term {
        let t = self.terms;
        let mut tried = tried;
        for (property, formula) in gates {
            if self.wanted.contains(&property) {
                self.never(here, t.and(&[t.and(&tried), t.not(formula)]));
            }
            tried.push(formula);
        }
        t.and(&tried)
    }

    /// A formula for each relation; `alarm` where a violation follows from the clauses, `sought` where the solver gives up.
    pub(crate) fn solve(&mut self, alarm: &str, sought: &str) -> Result<Vec<Term>, Reason> {
        match self.horn.solve() {
            HornAnswer::Safe(solution) => Ok(solution),
            HornAnswer::Unsafe(_) => Err(Reason::Alarm(alarm.into())),
            HornAnswer::Unknown(why) => Err(Reason::Solver { reason: why.to_string(), obligation: sought.into() }),
        }
    }
}
