//! What a method says about one property, before anyone has checked it.
//!
//! In: a property, and what a method has to say of it. Out: `Claims`, at most one claim for each property, with the
//! method's statistics.

use crate::certificate::Certificate;
use crate::counterexample::Counterexample;
use program::PropertyId;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum Claim {
    /// The certificate shows it; one certificate may serve several properties.
    Proved(Arc<Certificate>),
    /// The property is violated, and this shows it.
    Refuted(Counterexample),
    Undecided(Reason),
}

/// Why a method does not decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Out of time, memory, or asked to stop.
    Exhausted(base::Exhausted),
    /// The solver answered "unknown", crashed or ran out of its resource limit; the obligation it was asked.
    Solver { reason: String, obligation: String },
    /// The method does not handle this program; why.
    NotAdmitted(String),
    /// Searched only part: bounded values, bounded depth; what was left out.
    Incomplete(String),
    /// An alarm that could not be made concrete.
    Alarm(String),
    /// An annotation does not hold, or does not suffice: lines for people. `@o12@` is the place of an origin.
    Annotation(String),
    /// The checker did not accept the evidence; the premise or side condition.
    Rejected(String),
    /// An error inside the method, caught; a bug of ours.
    Internal(String),
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::Exhausted(e) => e.fmt(f),
            Reason::Solver { reason, obligation } => write!(f, "the solver did not decide ({reason}): {obligation}"),
            Reason::NotAdmitted(why) => write!(f, "not handled by this method: {why}"),
            Reason::Incomplete(what) => write!(f, "searched only in part: {what}"),
            Reason::Alarm(what) => write!(f, "an alarm that may be false: {what}"),
            Reason::Annotation(what) | Reason::Rejected(what) => f.write_str(what),
            Reason::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

/// Numbers a method reports, by stable name: `states`, `refinements`, `queries`.
pub type Statistics = BTreeMap<String, u64>;

/// A method's answer: at most one claim for each property, and what it learnt on the way.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    pub claims: BTreeMap<PropertyId, Claim>,
    pub statistics: Statistics,
    /// Lines for the user: inferred formulas in the language, the predicates found.
    pub notes: Vec<String>,
    /// Drawings for the user as SVG, where asked for; the last is of the last attempt.
    pub pictures: Vec<String>,
}

impl Claims {
    pub fn undecided(properties: impl IntoIterator<Item = PropertyId>, reason: Reason) -> Self {
        Self {
            claims: properties.into_iter().map(|p| (p, Claim::Undecided(reason.clone()))).collect(),
            ..Self::default()
        }
    }
    pub fn set(&mut self, property: PropertyId, claim: Claim) {
        self.claims.insert(property, claim);
    }
}
