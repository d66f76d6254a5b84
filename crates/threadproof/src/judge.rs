//! From a claim to a finding: the one place of the binary that asks the checker.
//!
//! In: a program, a property and the claim a method made about it. Out: a `Finding`, which is the checker's verdict
//! as plain data that can cross threads and be printed. Nothing else in the binary can make a finding.

use crate::board::Outcome;
use base::Budget;
use evidence::{Certificate, Claim, Trace};
use program::{Assumption, Program, PropertyId};
use std::sync::Arc;

/// What the checker said about one property.
#[derive(Clone, Debug)]
pub struct Finding {
    outcome: Outcome,
    trust: String,
    assumptions: Vec<Assumption>,
    evidence: Evidence,
    reason: String,
    /// Who made the claim; for people, never for trust.
    method: &'static str,
}

/// Which evidence is written out as the text of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    pub certificates: Written,
    pub traces: Written,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Written {
    Yes,
    #[default]
    No,
}

/// What can be written to a file or shown step by step.
#[derive(Clone, Debug)]
pub enum Evidence {
    None,
    Certificate { form: &'static str, file: Option<Arc<str>> },
    Trace { steps: usize, shown: Vec<String>, file: Option<Arc<str>> },
}

impl Finding {
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
    pub fn trust(&self) -> &str {
        &self.trust
    }
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }
    pub fn reason(&self) -> &str {
        &self.reason
    }
    pub fn method(&self) -> &'static str {
        self.method
    }
    pub fn set_method(&mut self, method: &'static str) {
        self.method = method;
    }
}

/// The name of a proof's form, as reports print it.
pub fn form(certificate: &Certificate) -> &'static str {
    certificate.proof.form()
}

/// Hands the claim to the checker.
pub fn judge(_program: &Program, _property: PropertyId, claim: &Claim, _keep: Keep, _budget: &Budget) -> Finding {
    let unknown = |reason: String, evidence: Evidence| Finding {
        outcome: Outcome::Unknown,
        trust: "none".into(),
        assumptions: Vec::new(),
        evidence,
        reason,
        method: "",
    };
    match claim {
        Claim::Undecided(reason) => unknown(reason.to_string(), Evidence::None),
        Claim::Proved(certificate) => unknown(
            "there is a certificate, and no checker to check it".into(),
            Evidence::Certificate { form: form(certificate), file: None },
        ),
        Claim::Refuted(Trace { steps, .. }) => unknown(
            "there is a trace, and no checker to replay it".into(),
            Evidence::Trace { steps: steps.len(), shown: Vec::new(), file: None },
        ),
    }
}
