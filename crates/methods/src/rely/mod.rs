//! `rely`: assume-guarantee, each thread alone against what the others' steps can do (Calvin).
//!
//! In: a program with or without `rely` and `invariant`. Out: thread-modular proofs (rule `rely-guarantee`) for every number
//! of instances. What each thread knows at each location, and what its steps do, is found by Horn clauses; written
//! relies and invariants are properties to be shown. What was found is printed in the language.
//! Absent: procedures by contract, loop invariants taken from the text, annotations of spawned threads.

use crate::method::{About, Method, Refusal, Run, Task};
use crate::modular;
use evidence::{Certificate, Claim, Claims, Proof, Reason, RelyGuarantee};
use program::{Program, PropertyId};
use solver::Settings;
use std::sync::Arc;

pub struct Rely;

impl Method for Rely {
    fn about(&self) -> About {
        About {
            name: "rely",
            summary: "each thread alone, against what the steps of the others can do",
            paper: "Calvin",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        modular::admits(&task.program).map_err(Refusal)?;
        if modular::wanted(&task.program, &task.properties).is_empty() {
            return Err(Refusal("no property of a kind that thread-modular reasoning shows".into()));
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let p = &task.program;
        let wanted = modular::wanted(p, &task.properties);
        let terms = p.terms.clone();
        let settings = Settings { seed: run.seed as u32, limit: 1_000_000_000, ..Settings::default() };
        let mut claims = Claims::default();
        let mut groups = vec![wanted.clone()];
        if wanted.len() > 1 {
            groups.extend(wanted.iter().map(|w| vec![*w]));
        }
        for group in groups {
            if group.iter().all(|w| matches!(claims.claims.get(w), Some(Claim::Proved(_)))) {
                continue;
            }
            run.progress(format!("rely: {}", p.properties[group[0]].name));
            let claim = match modular::solve(p, &terms, &group, settings, &run.budget) {
                Ok(proof) => {
                    claims.notes.extend(shown(p, &terms, &proof, &group));
                    Claim::Proved(Arc::new(Certificate {
                        method: "rely".into(),
                        terms: terms.clone(),
                        properties: group.clone(),
                        proof: Proof::RelyGuarantee(proof),
                    }))
                }
                Err(reason) => Claim::Undecided(reason),
            };
            let stop = matches!(&claim, Claim::Undecided(Reason::Exhausted(_)));
            group.iter().for_each(|w| claims.set(*w, claim.clone()));
            if stop {
                break;
            }
        }
        claims
    }
}

/// The guarantees found, in the language, where they are short.
fn shown(p: &Program, terms: &logic::Terms, proof: &RelyGuarantee, group: &[PropertyId]) -> Vec<String> {
    let mut out = Vec::new();
    for a in &proof.threads {
        let text = terms.show(a.guarantee);
        if text.len() < 300 {
            out.push(format!("steps of {} (for {}): {text}", p.threads[a.thread].name, p.properties[group[0]].name));
        }
    }
    out
}
