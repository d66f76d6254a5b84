//! What a witness file says besides the run: about the task, and for a proof the invariants that C can say.
//!
//! In: the text of a C file and certificates. Out: `witness::About`, and pairs of a place and a C expression. A formula is written
//! only if it holds at every moment and speaks of global variables of the source alone; what else a proof rests on (locks,
//! threads that have started, locals) the format has no words for, and is left out. Deliberately absent: reading witnesses.

use evidence::file::EvidenceEntry;
use evidence::{Certificate, Proof};
use frontend::c::witness::WitnessMetadata;
use frontend::c::{CCheck, DataModel};
use logic::{Node, Op, Sort, Term, Terms};
use program::{Program, Scope};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// About a task; the identity follows from the text and the question, the time is the clock's or `SOURCE_DATE_EPOCH`.
pub fn about(file: &str, text: &[u8], model: DataModel, check: CCheck) -> WitnessMetadata {
    let hash = hex(&Sha256::digest(text));
    let mut identity = Sha256::new();
    identity.update(text);
    identity.update(check.name());
    identity.update(model.name());
    let id = hex(&identity.finalize());
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|s| s.parse::<u64>().ok());
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    WitnessMetadata {
        uuid: format!("{}-{}-8{}-a{}-{}", &id[..8], &id[8..12], &id[12..15], &id[15..18], &id[18..30]),
        creation_time: iso(given.unwrap_or_else(now)),
        version: env!("CARGO_PKG_VERSION").into(),
        file: file.into(),
        hash,
        model,
        check,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Seconds since 1970 as ISO 8601.
fn iso(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let leap = |y: u64| y.is_multiple_of(4) && !y.is_multiple_of(100) || y.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}T{:02}:{:02}:{:02}Z", month + 1, days + 1, rest / 3600, rest / 60 % 60, rest % 60)
}

/// The invariants of the certificates that C can say, at the places where threads begin.
pub fn invariants(program: &Program, entries: &[EvidenceEntry]) -> Vec<(base::Span, String)> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for entry in entries {
        if let EvidenceEntry::Certificate(certificate) = entry {
            found.extend(always(program, certificate));
        }
    }
    let mut out = Vec::new();
    for thread in program.threads.iter() {
        let entry = &thread.code.locations[thread.code.entry];
        if let Some(span) = program.origins[entry.origin].span {
            out.extend(found.iter().map(|text| (span, text.clone())));
        }
    }
    out.sort_by(|a, b| (a.0.start, &a.1).cmp(&(b.0.start, &b.1)));
    out.dedup();
    out
}

/// What holds at every moment: the invariant, and conjuncts that all locations of a thread have in common.
fn always(program: &Program, certificate: &Certificate) -> Vec<String> {
    let terms = &certificate.terms;
    let mut conjuncts: Vec<Term> = Vec::new();
    match &certificate.proof {
        Proof::RelyGuarantee(proof) => {
            conjuncts.extend(terms.conjuncts(proof.invariant));
            if let Some(thread) = proof.threads.first() {
                let mut common: Option<Vec<Term>> = None;
                for formula in &thread.at {
                    let here = terms.conjuncts(*formula);
                    common = Some(match common {
                        None => here,
                        Some(old) => old.into_iter().filter(|c| here.contains(c)).collect(),
                    });
                }
                // Instances that start late say nothing about the time before.
                if program.threads[thread.thread].copies == program::Copies::One {
                    conjuncts.extend(common.unwrap_or_default());
                }
            }
        }
        Proof::Product(proof) => {
            let mut common: Option<Vec<Term>> = None;
            for (_, formula) in &proof.invariant {
                let here = terms.conjuncts(*formula);
                common = Some(match common {
                    None => here,
                    Some(old) => old.into_iter().filter(|c| here.contains(c)).collect(),
                });
            }
            conjuncts.extend(common.unwrap_or_default());
        }
        _ => {}
    }
    conjuncts.into_iter().filter_map(|c| expression(program, terms, c)).filter(|text| text != "1").collect()
}

/// A formula as a C expression over global variables.
fn expression(program: &Program, terms: &Terms, term: Term) -> Option<String> {
    Some(match terms.node(term) {
        Node::Bool(b) => i32::from(b).to_string(),
        Node::Num(n, _) => i32::try_from(n).ok()?.to_string(),
        Node::Sym(symbol) => {
            let (_, var) = program.vars.iter_enumerated().find(|(_, v)| v.symbol == symbol)?;
            let declared = program.origins[var.origin].text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let whole = var.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let in_source = declared.into_iter().any(|word| word == var.name);
            let plain = var.kind == program::VarKind::Plain && var.scope == Scope::Shared;
            let sort = var.sort == Sort::INT || var.sort == Sort::BOOL;
            (whole && in_source && plain && sort).then(|| var.name.clone())?
        }
        Node::App(op, args) => {
            let part = |i: usize| expression(program, terms, args[i]);
            let all = |word: &str| -> Option<String> {
                let parts: Option<Vec<String>> = args.iter().map(|a| expression(program, terms, *a)).collect();
                Some(format!("({})", parts?.join(word)))
            };
            match op {
                Op::Not => format!("!{}", part(0)?),
                Op::And => all(" && ")?,
                Op::Or => all(" || ")?,
                Op::Implies => format!("(!{} || {})", part(0)?, part(1)?),
                Op::Eq => format!("({} == {})", part(0)?, part(1)?),
                Op::Lt => format!("({} < {})", part(0)?, part(1)?),
                Op::Le => format!("({} <= {})", part(0)?, part(1)?),
                // Sums in mathematical integers need room that `int` may not have.
                Op::Add => format!("((long long){} + {})", part(0)?, part(1)?),
                Op::Sub => format!("((long long){} - {})", part(0)?, part(1)?),
                Op::Neg => format!("(-(long long){})", part(0)?),
                _ => return None,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_times_are_dates() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(iso(1_709_164_800), "2024-02-29T00:00:00Z");
    }

    #[test]
    fn check_the_identity_is_that_of_the_text_and_the_question() {
        let make = |text: &[u8], check| about("a.c", text, DataModel::Ilp32, check).uuid;
        assert_eq!(make(b"x", CCheck::Reach), make(b"x", CCheck::Reach));
        assert_ne!(make(b"x", CCheck::Reach), make(b"y", CCheck::Reach));
        assert_ne!(make(b"x", CCheck::Reach), make(b"x", CCheck::Race));
        assert_eq!(make(b"x", CCheck::Reach).len(), 36);
    }
}
