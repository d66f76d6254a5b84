//! Verdicts. Their fields are private and nothing outside this crate can make one.
//!
//! In: a checked claim, from `conclude` alone. Out: property, outcome, method, trust, assumptions and evidence, to be
//! read by anyone.

use evidence::{Certificate, Counterexample, Reason};
use program::{Assumption, PropertyId};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    Safe,
    Unsafe,
    Unknown,
}

/// On what a verdict rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The trace was replayed step by step by the reference semantics.
    Replayed,
    /// Every obligation of the certificate was rebuilt and found valid by `by`.
    Certified { by: String, independent: bool, obligations: usize },
    /// The finite instance was searched again by the reference semantics.
    Searched { states: u64 },
    /// The finite instance was searched by the method alone; too large to be searched again here.
    SearchedOnce { states: u64 },
    /// Rests on both: the threads' conformance, and their composition.
    Both(Box<Trust>, Box<Trust>),
    /// Rests on the named further argument besides what was checked.
    Argued { rests_on: String },
    /// Nothing was established.
    Nothing,
}

impl Trust {
    /// The weakest part of what the verdict rests on: a composition is worth no more than that.
    pub fn weakest(&self) -> &Trust {
        match self {
            Trust::Both(a, b) => {
                let (a, b) = (a.weakest(), b.weakest());
                if a.strength() <= b.strength() { a } else { b }
            }
            one => one,
        }
    }

    /// From nothing upwards. A number of states that was not counted again is a statement of the method alone, and weaker than anything that
    /// was checked here.
    fn strength(&self) -> u8 {
        match self {
            Trust::Nothing => 0,
            Trust::SearchedOnce { .. } => 1,
            Trust::Argued { .. } => 2,
            Trust::Searched { .. } => 3,
            Trust::Certified { independent: false, .. } => 4,
            Trust::Certified { independent: true, .. } => 5,
            Trust::Replayed => 6,
            Trust::Both(a, b) => a.strength().min(b.strength()),
        }
    }

    /// Rests on this too. Obligations put to the same solver are counted together.
    pub(crate) fn and(self, other: Trust) -> Trust {
        match (self, other) {
            (
                Trust::Certified { by, independent, obligations },
                Trust::Certified { by: too, independent: as_well, obligations: more },
            ) if by == too && independent == as_well => {
                Trust::Certified { by, independent, obligations: obligations + more }
            }
            (this, Trust::Both(threads, composition)) => Trust::Both(Box::new(this.and(*threads)), composition),
            (this, other) => Trust::Both(Box::new(this), Box::new(other)),
        }
    }
}

impl std::fmt::Display for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trust::Replayed => write!(f, "replayed by the reference semantics"),
            Trust::Certified { by, independent: true, obligations } => {
                write!(f, "certificate checked: {} by {by}", counted(*obligations as u64, "obligation"))
            }
            Trust::Certified { by, independent: false, obligations } => {
                let obligations = counted(*obligations as u64, "obligation");
                write!(f, "certificate checked: {obligations} by {by}, the solver that also found the proof")
            }
            Trust::Searched { states } => {
                write!(f, "searched again by the reference semantics, {}", counted(*states, "state"))
            }
            Trust::SearchedOnce { states } => {
                write!(f, "searched once, {}, not searched again", counted(*states, "state"))
            }
            Trust::Both(a, b) => write!(f, "{a}; composition: {b}"),
            Trust::Argued { rests_on } => write!(f, "{rests_on}"),
            Trust::Nothing => write!(f, "none"),
        }
    }
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[derive(Clone, Debug)]
pub enum Evidence {
    Certificate(Arc<Certificate>),
    Counterexample(Counterexample),
    /// Why there is no verdict.
    Reason(Reason),
}

/// A checked answer about one property.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub(crate) property: PropertyId,
    pub(crate) outcome: Outcome,
    pub(crate) method: String,
    pub(crate) trust: Trust,
    pub(crate) assumptions: Vec<Assumption>,
    pub(crate) evidence: Evidence,
}

impl Verdict {
    pub fn property(&self) -> PropertyId {
        self.property
    }
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
    /// The method whose claim it was.
    pub fn method(&self) -> &str {
        &self.method
    }
    pub fn trust(&self) -> &Trust {
        &self.trust
    }
    /// What the verdict takes for granted; sequential consistency is always among them.
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }
}
