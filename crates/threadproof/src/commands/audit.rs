//! `audit`: checks an evidence file against a program again, with a chosen solver and without any method.
//!
//! In: a file written by `verify --certificate` or `--trace`, and the program. Out: what each entry establishes, and
//! an exit code: 0 every entry holds and is a proof, 1 it holds and shows something unsafe, 2 some entry was not
//! accepted, 65 the file is no evidence about this program. The reading, the rules and the reference semantics are
//! all that has to be trusted, besides the solver.

use crate::board::{RowOutcome, exit};
use crate::cli::{Audit, LeafSolver};
use crate::judge::{Judge, trust_level};
use crate::load;
use crate::oracle::{self, Oracle};
use crate::report::memory_model::MEMORY_MODEL;
use crate::report::paint::Paint;
use crate::strategy;
use crate::watch;
use base::Budget;
use evidence::Claim;
use evidence::file::EvidenceEntry;
use program::{PropertyId, PropertyKind};
use serde_json::json;
use solver::{SecondOpinion, SolverSettings};
use std::io::Write;
use std::sync::Arc;

pub fn run_audit(request: Audit, paint: Paint) -> i32 {
    let thread = std::thread::Builder::new().name("audit".into()).stack_size(strategy::STACK_BYTES);
    let (sender, done) = std::sync::mpsc::channel();
    let limit = request.limits.time;
    let started = thread.spawn(move || {
        let code = strategy::guarded(|| audit(&request, paint)).unwrap_or_else(|panic| {
            eprintln!("error: the evidence was not accepted: the checker ended in a panic: {panic}");
            exit::INTERNAL
        });
        let _ = sender.send(code);
    });
    if let Err(error) = started {
        eprintln!("error: {error}");
        return exit::INTERNAL;
    }
    // The work stops by its budget; whatever does not is left behind.
    match done.recv_timeout(limit + std::time::Duration::from_millis(500)) {
        Ok(code) => code,
        Err(_) => {
            println!("unknown: the time limit was reached");
            exit::UNKNOWN
        }
    }
}

fn oracle(solver: LeafSolver, budget: &Budget) -> Result<Oracle, String> {
    let mut opinions = Vec::new();
    if solver != LeafSolver::Z3 {
        let missing = || match solver::named_cvc5() {
            Some(Err(why)) => why,
            _ => "there is no cvc5 on this machine; --solver z3 uses the other solver".into(),
        };
        opinions.push(oracle::cvc5(budget).ok_or_else(missing)?);
    }
    if solver != LeafSolver::Cvc5 {
        opinions.push(SecondOpinion::same_solver(SolverSettings::default(), budget));
    }
    Ok(Oracle::new(opinions))
}

struct Line {
    property: String,
    outcome: RowOutcome,
    kind: &'static str,
    level: &'static str,
    trust: String,
    reason: String,
}

fn audit(request: &Audit, paint: Paint) -> i32 {
    let loaded = match load::or_exit_code(load::load_program(&request.file, &request.reading, paint)) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let program = &loaded.program;
    let bytes = match load::or_exit_code(load::read_bytes(&request.certificate)) {
        Ok(bytes) => bytes,
        Err(code) => return code,
    };
    let entries = match evidence::file::read_evidence(program, &bytes) {
        Ok(entries) => entries,
        Err(error) => {
            eprintln!("error: {}: rejected: {error}", request.certificate.display());
            return exit::REJECTED;
        }
    };
    let mut budget = Budget::unlimited().with_time(request.limits.time);
    if let Some(bytes) = request.limits.memory.or_else(watch::spare_memory) {
        budget = budget.with_memory(bytes);
    }
    let mut oracle = match oracle(request.solver, &budget) {
        Ok(oracle) => oracle,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            return exit::USAGE;
        }
    };
    let mut judge = Judge::new(program, &loaded.sources, "audit", &mut oracle, &budget, None);
    let mut claims: Vec<(PropertyId, Claim)> = Vec::new();
    for entry in entries {
        match entry {
            EvidenceEntry::Certificate(certificate) => {
                let shared = Arc::new(certificate);
                claims.extend(shared.properties.iter().map(|p| (*p, Claim::Proved(shared.clone()))));
            }
            EvidenceEntry::Counterexample { property, run, .. } => claims.push((property, Claim::Refuted(run))),
        }
    }
    let is_construct = |p: &PropertyId| matches!(program.properties[*p].kind, PropertyKind::Unmodelled(_));
    let (constructs, others): (Vec<_>, Vec<_>) = claims.into_iter().partition(|(p, _)| is_construct(p));
    let mut lines: Vec<Line> = Vec::new();
    let mut tell = |property: PropertyId, kind: &'static str, judged: crate::judge::Judged| {
        let finding = judged.finding;
        // A number of states that was not counted again is no evidence for someone who does not trust us, in any part of a proof.
        let not_repeated = matches!(finding.trust().weakest(), checker::Trust::SearchedOnce { .. });
        lines.push(Line {
            property: program.properties[property].name.clone(),
            outcome: if not_repeated { RowOutcome::Unknown } else { finding.outcome() },
            kind,
            level: trust_level(finding.trust()),
            trust: finding.trust().to_string(),
            reason: match not_repeated {
                true => "the search is too large to be repeated here, and nothing else shows it".into(),
                false => finding.reason().to_string(),
            },
        });
    };
    for (property, judged) in judge.constructs(&constructs) {
        tell(property, "certificate", judged);
    }
    for (property, claim) in &others {
        let kind = if matches!(claim, Claim::Proved(_)) { "certificate" } else { "trace" };
        let judged = judge.judge(*property, claim);
        tell(*property, kind, judged);
    }
    report(request, paint, &lines)
}

fn report(request: &Audit, paint: Paint, lines: &[Line]) -> i32 {
    let worst = if lines.is_empty() || lines.iter().any(|l| l.outcome == RowOutcome::Unknown) {
        RowOutcome::Unknown
    } else {
        lines.iter().map(|l| l.outcome).max().unwrap_or(RowOutcome::Unknown)
    };
    // A reader that went away does not change what holds.
    let mut out = std::io::stdout().lock();
    if request.json {
        let entries: Vec<_> = lines
            .iter()
            .map(|l| {
                json!({
                    "property": l.property, "verdict": l.outcome.word(), "evidence": l.kind,
                    "trust": { "level": l.level, "text": l.trust }, "reason": l.reason,
                })
            })
            .collect();
        let document = json!({
            "schema": "threadproof-audit/1",
            "file": request.file.display().to_string(),
            "evidence": request.certificate.display().to_string(),
            "memory_model": MEMORY_MODEL,
            "verdict": worst.word(),
            "entries": entries,
        });
        let _ = writeln!(out, "{document:#}");
    } else {
        let word = match worst {
            RowOutcome::Unknown => paint.outcome(worst, "not accepted"),
            _ => paint.outcome(worst, "accepted"),
        };
        let _ = writeln!(out, "{}: {word}", request.certificate.display());
        for line in lines {
            let word = paint.outcome(line.outcome, line.outcome.word());
            let _ = match line.outcome {
                RowOutcome::Unknown => {
                    writeln!(out, "  {word}  {}: the {} was rejected: {}", line.property, line.kind, line.reason)
                }
                _ => writeln!(out, "  {word}  {}: {}", line.property, line.trust),
            };
        }
        if lines.is_empty() {
            let _ = writeln!(out, "  it holds no evidence");
        }
        let _ = writeln!(out, "  memory model: {MEMORY_MODEL}");
    }
    match worst {
        RowOutcome::Safe => exit::SAFE,
        RowOutcome::Unsafe => exit::UNSAFE,
        RowOutcome::Unknown => exit::UNKNOWN,
    }
}
