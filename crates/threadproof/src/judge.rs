//! From claims to findings: the one place of the binary that asks the checker.
//!
//! In: a program and the claims of one method. Out: `Finding`s, each the checker's verdict as plain data that can
//! cross threads and be printed. Nothing else in the binary can make a finding.

use crate::board::Outcome;
use crate::leaves::Oracle;
use crate::report::{local, story, stray, width};
use base::{Budget, Sources};
use checker::{Checked, Checker, Limits, Trust, Verdict};
use evidence::file::Entry;
use evidence::{Certificate, Claim, Reason};
use program::{Assumption, Program, PropertyId};
use std::sync::Arc;

/// What the checker said about one property.
#[derive(Clone, Debug)]
pub struct Finding {
    outcome: Outcome,
    trust: Trust,
    assumptions: Vec<Assumption>,
    evidence: Evidence,
    reason: String,
    method: String,
}

/// What can be written to a file or shown step by step. Entries are kept on the board, one for each certificate.
#[derive(Clone, Debug)]
pub enum Evidence {
    None,
    Certificate { form: &'static str },
    Trace { steps: usize, shown: Vec<String> },
}

impl Finding {
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
    pub fn trust(&self) -> &Trust {
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
    pub fn method(&self) -> &str {
        &self.method
    }
}

/// The stable word for a level of trust, as the JSON prints it.
pub fn trust_level(trust: &Trust) -> &'static str {
    match trust {
        Trust::Replayed => "replayed",
        Trust::Certified { independent: true, .. } => "certified",
        Trust::Certified { independent: false, .. } => "certified-by-finder",
        Trust::Searched { .. } => "searched",
        Trust::SearchedOnce { .. } => "searched-once",
        // The weaker of the two is what can be relied on.
        Trust::Both(a, b) => {
            let order = ["none", "argued", "searched-once", "searched", "certified-by-finder", "certified", "replayed"];
            let rank = |t: &Trust| order.iter().position(|o| *o == trust_level(t)).unwrap_or(0);
            if rank(a) <= rank(b) { trust_level(a) } else { trust_level(b) }
        }
        Trust::Argued { .. } => "argued",
        Trust::Nothing => "none",
    }
}

/// One method's claims about one program, checked one by one.
pub struct Judge<'a> {
    program: &'a Program,
    sources: &'a Sources,
    method: &'static str,
    checker: Checker<'a>,
    /// What is known about constructs outside the model: every other verdict is capped by it.
    constructs: Vec<Checked>,
    written: Vec<Arc<Certificate>>,
}

/// A finding, and the evidence that is new with it.
pub struct Judged {
    pub finding: Finding,
    pub entry: Option<Entry>,
}

impl<'a> Judge<'a> {
    pub fn new(
        program: &'a Program,
        sources: &'a Sources,
        method: &'static str,
        oracle: &'a mut Oracle,
        budget: &Budget,
    ) -> Self {
        let limits = Limits { budget: budget.clone(), ..Limits::default() };
        let checker = Checker::new(program, oracle, limits);
        Self { program, sources, method, checker, constructs: Vec::new(), written: Vec::new() }
    }

    /// Has the claims about constructs outside the model checked: they cap each other and everything after them.
    pub fn constructs(&mut self, claims: &[(PropertyId, Claim)]) -> Vec<(PropertyId, Judged)> {
        for (property, claim) in claims {
            let checked = self.checker.check(*property, self.method, claim);
            self.constructs.push(checked);
        }
        let verdicts = self.checker.conclude(self.constructs.clone());
        verdicts.iter().map(|v| (v.property(), self.judged(v))).collect()
    }

    /// Has a claim about another property checked.
    pub fn judge(&mut self, property: PropertyId, claim: &Claim) -> Judged {
        let checked = self.checker.check(property, self.method, claim);
        let mut all = self.constructs.clone();
        all.push(checked);
        let verdict = self.checker.conclude(all).pop().expect("there is a verdict for each claim checked");
        self.judged(&verdict)
    }

    fn judged(&mut self, verdict: &Verdict) -> Judged {
        let entry = self.entry(verdict);
        Judged { finding: self.finding(verdict), entry }
    }

    fn finding(&self, verdict: &Verdict) -> Finding {
        let mut reason = String::new();
        let evidence = match verdict.evidence() {
            checker::Evidence::Certificate(c) => Evidence::Certificate { form: c.proof.form() },
            checker::Evidence::Trace(trace) => {
                let told = story::tell(self.program, self.sources, trace);
                let shown = told.map_or(Vec::new(), |story| story.lines(width() - 4));
                Evidence::Trace { steps: trace.steps.len(), shown }
            }
            checker::Evidence::History(h) => {
                // The run is one of the client program, which the checker has built and replayed already.
                let clients = h.program(self.program).ok();
                let told = clients.and_then(|(p, _)| story::tell(&p, self.sources, &h.trace).ok());
                let shown = told.map_or(Vec::new(), |story| story.lines(width() - 4));
                Evidence::Trace { steps: h.trace.steps.len(), shown }
            }
            checker::Evidence::Called(c) => {
                let client = program::callers::callers(self.program, None, &[], c.effort).ok();
                let told = client.and_then(|x| story::tell(&x.program, self.sources, &c.trace).ok());
                let shown = told.map_or(Vec::new(), |story| story.lines(width() - 4));
                Evidence::Trace { steps: c.trace.steps.len(), shown }
            }
            checker::Evidence::Local(run) => {
                Evidence::Trace { steps: run.steps.len(), shown: local::tell(self.program, self.sources, run) }
            }
            checker::Evidence::Stray(run) => {
                Evidence::Trace { steps: run.events.len(), shown: stray::tell(self.program, self.sources, run) }
            }
            checker::Evidence::Reason(why) => {
                reason = match why {
                    // Said of the checker's own refusal here, not of a method that crashed.
                    Reason::Internal(what) => what.clone(),
                    other => other.to_string(),
                };
                Evidence::None
            }
        };
        Finding {
            outcome: match verdict.outcome() {
                checker::Outcome::Safe => Outcome::Safe,
                checker::Outcome::Unsafe => Outcome::Unsafe,
                checker::Outcome::Unknown => Outcome::Unknown,
            },
            trust: verdict.trust().clone(),
            assumptions: verdict.assumptions().to_vec(),
            evidence,
            reason,
            method: verdict.method().to_string(),
        }
    }

    fn entry(&mut self, verdict: &Verdict) -> Option<Entry> {
        match verdict.evidence() {
            checker::Evidence::Certificate(c) => {
                if self.written.iter().any(|w| Arc::ptr_eq(w, c)) {
                    return None;
                }
                self.written.push(c.clone());
                Some(Entry::Certificate((**c).clone()))
            }
            checker::Evidence::Trace(trace) => {
                Some(Entry::Trace { method: self.method.to_string(), trace: trace.clone() })
            }
            checker::Evidence::Local(run) => Some(Entry::Local { method: self.method.to_string(), local: run.clone() }),
            checker::Evidence::Called(c) => Some(Entry::Called { method: self.method.to_string(), called: c.clone() }),
            checker::Evidence::History(h) => Some(Entry::History {
                method: self.method.to_string(),
                property: verdict.property(),
                history: h.clone(),
            }),
            checker::Evidence::Stray(run) => Some(Entry::Stray { method: self.method.to_string(), stray: run.clone() }),
            checker::Evidence::Reason(_) => None,
        }
    }
}

/// Puts line and column where a reason names an origin (`@o12@`).
pub fn placed(program: &Program, sources: &Sources, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("@o") {
        let digits = rest[at + 2..].chars().take_while(char::is_ascii_digit).count();
        let end = at + 2 + digits;
        let origin = rest[at + 2..end].parse::<u32>().ok().filter(|_| rest[end..].starts_with('@'));
        out.push_str(&rest[..at]);
        match origin {
            Some(n) => {
                match program.origins.get(program::OriginId(n)).and_then(|o| o.span) {
                    Some(span) => {
                        let (line, column) = sources.file(span.file).position(span.start);
                        out.push_str(&format!("{line}:{column}"));
                    }
                    None => out.push_str("somewhere"),
                }
                rest = &rest[end + 1..];
            }
            // Not one of ours: an `@` in a name.
            None => {
                out.push_str(&rest[at..end]);
                rest = &rest[end..];
            }
        }
    }
    out.push_str(rest);
    out
}
