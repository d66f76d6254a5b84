//! From claims to findings: the one place of the binary that asks the checker.
//!
//! In: a program and the claims of one method. Out: `Finding`s, each the checker's verdict as plain data that can
//! cross threads and be printed. Nothing else in the binary can make a finding.

use crate::oracle::Oracle;
use crate::outcome::RowOutcome;
use crate::report::story::Story;
use crate::report::{history, local_run, replayed, spec_run};
use base::{Budget, Sources};
use checker::{CheckLimits, CheckedClaim, Checker, Trust, Verdict};
use evidence::Counterexample;
use evidence::file::EvidenceEntry;
use evidence::{Certificate, Claim, Reason};
use program::{Assumption, Program, PropertyId};
use std::sync::Arc;
use std::time::Duration;

/// What the checker said about one property.
#[derive(Clone, Debug)]
pub struct Finding {
    outcome: RowOutcome,
    trust: Trust,
    assumptions: Vec<Assumption>,
    evidence: FindingEvidence,
    reason: String,
    method: String,
}

/// What can be written to a file or shown step by step. Entries are kept on the board, one for each certificate.
#[derive(Clone, Debug)]
pub enum FindingEvidence {
    None,
    Certificate { form: &'static str },
    Trace { steps: usize, shown: Arc<Story> },
}

impl Finding {
    pub fn outcome(&self) -> RowOutcome {
        self.outcome
    }
    pub fn trust(&self) -> &Trust {
        &self.trust
    }
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }
    pub fn evidence(&self) -> &FindingEvidence {
        &self.evidence
    }
    pub fn reason(&self) -> &str {
        &self.reason
    }
    pub fn method(&self) -> &str {
        &self.method
    }
}

/// The stable word for a level of trust, as the JSON prints it: that of the weakest part.
pub fn trust_level(trust: &Trust) -> &'static str {
    match trust.weakest() {
        Trust::Replayed => "replayed",
        Trust::Certified { independent: true, .. } => "certified",
        Trust::Certified { independent: false, .. } => "certified-by-finder",
        Trust::Searched { .. } => "searched",
        Trust::SearchedOnce { .. } => "searched-once",
        Trust::Argued { .. } => "argued",
        Trust::Nothing | Trust::Both(..) => "none",
    }
}

/// Whether the checker accepts a claim as a proof; for what is said beside verdicts and must be as certain as they are.
pub fn is_proved(program: &Program, property: PropertyId, claim: &Claim, budget: &Budget) -> bool {
    let mut oracle = Oracle::standard(budget, None);
    let limits = CheckLimits { budget: budget.clone(), ..CheckLimits::default() };
    let verdict = Checker::new(program, &mut oracle, limits).check(property, "a warning", claim);
    matches!(claim, Claim::Proved(_)) && verdict.outcome() == checker::Outcome::Safe
}

/// One method's claims about one program, checked one by one.
pub struct Judge<'a> {
    program: &'a Program,
    sources: &'a Sources,
    method: &'static str,
    checker: Checker<'a>,
    /// What is known about constructs outside the model: every other verdict is capped by it.
    constructs: Vec<CheckedClaim>,
    written: Vec<Arc<Certificate>>,
}

/// A finding, and its evidence.
pub struct Judged {
    pub finding: Finding,
    pub entry: KeptEvidence,
}

/// Evidence of a finding; one certificate may serve several.
pub enum KeptEvidence {
    None,
    New(EvidenceEntry),
    /// The certificate that this judge gave out as its n-th.
    Certificate(usize, Option<EvidenceEntry>),
}

impl<'a> Judge<'a> {
    /// `search_effort`: how much a search may cost that is repeated, where that is less than usual.
    pub fn new(
        program: &'a Program,
        sources: &'a Sources,
        method: &'static str,
        oracle: &'a mut Oracle,
        budget: &Budget,
        search_effort: Option<Duration>,
    ) -> Self {
        let usual = CheckLimits::default();
        let search_effort = search_effort.unwrap_or(usual.search_effort);
        let limits = CheckLimits { budget: budget.clone(), search_effort, ..usual };
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
            checker::Evidence::Certificate(c) => FindingEvidence::Certificate { form: c.proof.form() },
            checker::Evidence::Counterexample(run) => self.shown(run),
            checker::Evidence::Reason(why) => {
                reason = match why {
                    // Said of the checker's own refusal here, not of a method that crashed.
                    Reason::Internal(what) | Reason::Rejected(what) => what.clone(),
                    other => other.to_string(),
                };
                FindingEvidence::None
            }
        };
        Finding {
            outcome: match verdict.outcome() {
                checker::Outcome::Safe => RowOutcome::Safe,
                checker::Outcome::Unsafe => RowOutcome::Unsafe,
                checker::Outcome::Unknown => RowOutcome::Unknown,
            },
            trust: verdict.trust().clone(),
            assumptions: verdict.assumptions().to_vec(),
            evidence,
            reason,
            method: verdict.method().to_string(),
        }
    }

    /// A counterexample as lines for a reader. The checker has replayed it already.
    fn shown(&self, run: &Counterexample) -> FindingEvidence {
        let story = |program: Option<&Program>, trace: &evidence::Trace| {
            program.and_then(|p| replayed::describe_run(p, self.sources, trace).ok()).unwrap_or_default()
        };
        match run {
            Counterexample::Run(trace) => shown_run(trace.steps.len(), story(Some(self.program), trace)),
            Counterexample::History(h) => {
                let clients = h.program(self.program).ok().map(|(p, _)| p);
                let mut story = story(clients.as_ref(), &h.trace);
                // What is wrong is that no order explains the results, not the last step.
                if h.gate.is_none() {
                    story.summary.clear();
                    // The results of all calls are compared: every step has a part in it.
                    story.everything_matters();
                    let explained = clients.and_then(|c| history::explain_history(self.program, &c, self.sources, h));
                    if let Some(explained) = explained {
                        story.summary = explained.summary;
                        story.end = explained.lines;
                    }
                }
                shown_run(h.trace.steps.len(), story)
            }
            Counterexample::ClientRun(c) => {
                let client = program::callers::callers(self.program, None, &[], c.effort).ok();
                shown_run(c.trace.steps.len(), story(client.map(|x| x.program).as_ref(), &c.trace))
            }
            Counterexample::LocalRun(run) => {
                shown_run(run.steps.len(), local_run::describe_local_run(self.program, self.sources, run))
            }
            Counterexample::SpecRun(run) => {
                shown_run(run.events.len(), spec_run::describe_spec_run(self.program, self.sources, run))
            }
        }
    }

    fn entry(&mut self, verdict: &Verdict) -> KeptEvidence {
        let method = self.method.to_string();
        KeptEvidence::New(match verdict.evidence() {
            checker::Evidence::Certificate(c) => {
                if let Some(n) = self.written.iter().position(|w| Arc::ptr_eq(w, c)) {
                    return KeptEvidence::Certificate(n, None);
                }
                self.written.push(c.clone());
                return KeptEvidence::Certificate(
                    self.written.len() - 1,
                    Some(EvidenceEntry::Certificate((**c).clone())),
                );
            }
            checker::Evidence::Counterexample(run) => {
                EvidenceEntry::Counterexample { method, property: verdict.property(), run: run.clone() }
            }
            checker::Evidence::Reason(_) => return KeptEvidence::None,
        })
    }
}

/// A run as a report shows it.
fn shown_run(steps: usize, story: Story) -> FindingEvidence {
    FindingEvidence::Trace { steps, shown: Arc::new(story) }
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
