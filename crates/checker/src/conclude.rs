//! From claims to verdicts.
//!
//! `check` looks at one claim: a certificate by the rule of its form (`rules::RULES`), a counterexample by replay (`rules::runs`).
//! `conclude` turns what was checked into verdicts, and caps them: while some construct outside the model may be reached, nothing is
//! safe (rule `unmodelled`). A certificate that serves several properties is checked once.
//! In: a program, an oracle, limits, and the claims of methods. Out: verdicts, the only ones there are.

use crate::oracle::ValidityOracle;
use crate::rejection::Rejection;
use crate::rules;
use crate::session::{CheckLimits, CheckSession, Established};
use crate::verdict::{Evidence, Outcome, Trust, Verdict};
use evidence::{Certificate, Claim, Counterexample, Proof, Reason};
use program::call_summaries::of_inlining;
use program::{Assumption, Program, PropertyId, PropertyKind};
use std::sync::Arc;

/// A claim that has been looked at. Not yet a verdict: see `Checker::conclude`.
#[derive(Clone, Debug)]
pub struct CheckedClaim(Verdict);

impl CheckedClaim {
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }
    pub fn property(&self) -> PropertyId {
        self.0.property
    }
    /// Whether it is a proof over code with calls, which never meets what stands only where they were inlined.
    fn is_over_calls(&self) -> bool {
        match &self.0.evidence {
            Evidence::Certificate(c) => is_over_calls(&c.proof),
            _ => false,
        }
    }
}

fn is_over_calls(proof: &Proof) -> bool {
    match proof {
        Proof::Reduction(_) | Proof::Performed(_) => true,
        Proof::Asserted(p) => is_over_calls(&p.proof.proof),
        _ => false,
    }
}

pub struct Checker<'a> {
    session: CheckSession<'a>,
    /// Certificates that were looked at, and what they establish.
    seen: Vec<(Arc<Certificate>, Result<Established, Rejection>)>,
}

impl<'a> Checker<'a> {
    pub fn new(program: &'a Program, oracle: &'a mut dyn ValidityOracle, limits: CheckLimits) -> Self {
        Self { session: CheckSession { program, oracle, limits, rule: rules::rule }, seen: Vec::new() }
    }

    /// Looks at a claim about a property.
    pub fn check(&mut self, property: PropertyId, method: &str, claim: &Claim) -> CheckedClaim {
        match claim {
            Claim::Undecided(reason) => self.unknown(property, method, reason.clone()),
            Claim::Refuted(run) => self.refuted(property, method, run),
            Claim::Proved(certificate) => self.proved(property, method, certificate),
        }
    }

    /// Verdicts for all that was checked. A construct outside the model that is not proved unreachable makes every
    /// "safe" unknown; and whoever reaches one is not unsafe.
    pub fn conclude(&self, checked: Vec<CheckedClaim>) -> Vec<Verdict> {
        let open = self.may_be_reached(&checked);
        checked.into_iter().map(|c| self.capped(c, &open)).collect()
    }

    /// The constructs outside the model that no proof over the code of threads shows to be unreachable.
    fn may_be_reached(&self, checked: &[CheckedClaim]) -> Vec<PropertyId> {
        let unreachable = |q: PropertyId| {
            checked.iter().any(|c| c.0.property == q && c.0.outcome == Outcome::Safe && !c.is_over_calls())
        };
        let properties = self.session.program.properties.iter_enumerated();
        let constructs = properties.filter(|(_, p)| matches!(p.kind, PropertyKind::Unmodelled(_)));
        constructs.map(|(id, _)| id).filter(|id| !unreachable(*id)).collect()
    }

    fn capped(&self, c: CheckedClaim, open: &[PropertyId]) -> Verdict {
        let program = self.session.program;
        let met = |q: &&PropertyId| !(c.is_over_calls() && of_inlining(program, **q));
        let Some(q) = open.iter().find(met).filter(|_| c.0.outcome == Outcome::Safe) else { return c.0 };
        let p = &program.properties[*q];
        let what = if let PropertyKind::Unmodelled(what) = &p.kind { what.as_str() } else { "" };
        let why = format!("a construct outside the model may be reached: {what} ({})", p.name);
        let evidence = Evidence::Reason(Reason::Incomplete(why));
        Verdict { outcome: Outcome::Unknown, trust: Trust::Nothing, evidence, ..c.0 }
    }

    fn verdict(
        &self,
        property: PropertyId,
        method: &str,
        outcome: Outcome,
        trust: Trust,
        evidence: Evidence,
    ) -> CheckedClaim {
        let mut assumptions = vec![Assumption {
            code: "sequential-consistency".into(),
            text: "memory is sequentially consistent".into(),
        }];
        assumptions.extend(self.session.program.assumptions.iter().cloned());
        CheckedClaim(Verdict { property, outcome, method: method.into(), trust, assumptions, evidence })
    }

    fn unknown(&self, property: PropertyId, method: &str, reason: Reason) -> CheckedClaim {
        self.verdict(property, method, Outcome::Unknown, Trust::Nothing, Evidence::Reason(reason))
    }

    /// A run that was replayed: the property is violated, unless it only marks a construct outside the model.
    fn refuted(&self, property: PropertyId, method: &str, run: &Counterexample) -> CheckedClaim {
        let program = self.session.program;
        if let Err(why) = rules::runs::check_counterexample(program, property, run) {
            let reason = Reason::Rejected(format!("the run of {method} was rejected: {why}"));
            return self.unknown(property, method, reason);
        }
        match &program.properties[property].kind {
            PropertyKind::Unmodelled(what) => {
                let reason = Reason::Incomplete(format!("a construct outside the model is reached: {what}"));
                self.unknown(property, method, reason)
            }
            _ => {
                let evidence = Evidence::Counterexample(run.clone());
                self.verdict(property, method, Outcome::Unsafe, Trust::Replayed, evidence)
            }
        }
    }

    fn proved(&mut self, property: PropertyId, method: &str, certificate: &Arc<Certificate>) -> CheckedClaim {
        let known = self.seen.iter().position(|(c, _)| Arc::ptr_eq(c, certificate));
        let at = known.unwrap_or_else(|| {
            let result = self.session.establish(certificate);
            self.seen.push((certificate.clone(), result));
            self.seen.len() - 1
        });
        let found = self.seen[at].1.as_ref();
        let shown = found.map_err(Clone::clone).and_then(|found| found.shows(property).map(|()| found.trust.clone()));
        let trust = match shown {
            Ok(trust) => trust,
            Err(rejection) => return self.unknown(property, method, rejection.into()),
        };
        let evidence = Evidence::Certificate(certificate.clone());
        let mut checked = self.verdict(property, method, Outcome::Safe, trust, evidence);
        let premises = matches!(&certificate.proof, Proof::Reduction(r) if !r.premises.is_empty());
        if matches!(certificate.proof, Proof::Callers(_)) || premises && self.session.program.threads.is_empty() {
            checked.0.assumptions.push(Assumption {
                code: "callers-only-call".into(),
                text: "callers touch the variables of the file only by calling what is in it".into(),
            });
        }
        if self.session.oracle.recalled() > 0 {
            checked.0.assumptions.push(Assumption {
                code: "cache".into(),
                text: "the answers in the cache are those that this tool and its solvers gave".into(),
            });
        }
        checked
    }
}
