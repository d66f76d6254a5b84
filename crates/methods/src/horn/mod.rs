//! `horn`: environment transitions and reachable states as Horn clauses (Threader).
//!
//! In: a program with a fixed number of instances (or any number, for modular proofs). Out: proofs. With the modular bias
//! (`--bias modular`, the default) thread-modular relations are tried first (rule `rely-guarantee`; such a proof holds for
//! every number of instances); if there is no such proof, or with `--bias none`, the relations speak of all instances
//! at once (rule `product`). Control is explicit: one relation for each location, or combination of locations.
//! Absent: Threader's own abstract reachability trees and its linear solver; the clauses are solved by Spacer.

mod abstraction;
mod certify;
mod formula;
mod interpolate;
mod product;
mod rational;
mod refine;
mod show;
mod simplex;
mod system;
mod threader;
mod trees;

use crate::method::{About, Method, Refusal, Run, Task};
use crate::modular;
use evidence::{Certificate, Claim, Claims, Proof, Reason};
use program::{PropertyId, PropertyKind};
use solver::Settings;
use std::sync::Arc;
use threader::{Answer, Attempt};

pub struct HornClauses;

impl Method for HornClauses {
    fn about(&self) -> About {
        About {
            name: "horn",
            summary: "reachable states and environment steps as Horn clauses, thread-modular first",
            paper: "Threader: Predicate Abstraction and Refinement for Verifying Multi-Threaded Programs",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        modular::admits(&task.program).map_err(Refusal)?;
        if modular::wanted(&task.program, &task.properties).is_empty() {
            return Err(Refusal("no property that reachable states decide".into()));
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let p = &task.program;
        let wanted = modular::wanted(p, &task.properties);
        let mut claims = Claims::default();
        let bias = task.options.0.get("bias").map_or("modular", String::as_str);
        let mut groups = vec![wanted.clone()];
        if wanted.len() > 1 {
            groups.extend(wanted.iter().map(|w| vec![*w]));
        }
        for group in groups {
            let done = |w: &PropertyId| matches!(claims.claims.get(w), Some(Claim::Proved(_)));
            if group.iter().all(done) {
                continue;
            }
            let claim = self.group(task, run, &group, bias, &mut claims.notes);
            for w in &group {
                if !matches!(claims.claims.get(w), Some(Claim::Proved(_))) {
                    claims.set(*w, claim.clone());
                }
            }
            if run.budget.check().is_err() {
                break;
            }
        }
        claims
    }
}

impl HornClauses {
    fn group(&self, task: &Task, run: &Run, group: &[PropertyId], bias: &str, notes: &mut Vec<String>) -> Claim {
        let p = &task.program;
        let terms = p.terms.clone();
        let settings = Settings { seed: run.seed as u32, ..Settings::default() };
        let certify = |proof: Proof| {
            let properties = group.to_vec();
            Claim::Proved(Arc::new(Certificate { method: "horn".into(), terms: terms.clone(), properties, proof }))
        };
        let show = task.options.0.get("show-trees").is_some_and(|s| s == "on");
        // A step as a rely sees it is not a predicate of a state: relies are left to the clauses of whole threads.
        let plain = !group.iter().any(|w| matches!(p.properties[*w].kind, PropertyKind::Rely(_)));
        let attempt = Attempt {
            program: p,
            terms: &terms,
            wanted: group,
            settings,
            budget: &run.budget,
            most_refinements: 4_000,
            show,
        };
        let mut reason = Reason::NotAdmitted("no thread-modular proof, and the number of threads is not fixed".into());
        if bias == "modular" {
            run.progress(format!("horn: thread-modular, {}", p.properties[group[0]].name));
            let mut exists = true;
            if plain {
                let (answer, account) = attempt.modular();
                account.tell(notes);
                match answer {
                    Answer::Proved(proof) => {
                        notes.push("a modular proof: no fact relates two threads' locals".into());
                        return certify(proof);
                    }
                    Answer::None => {
                        exists = false;
                        reason = Reason::Alarm("no thread-modular proof exists".into());
                    }
                    Answer::GaveUp(why) => {
                        notes.push(format!("the modular trees were given up: {why}"));
                    }
                    Answer::Refuted(_) => {}
                }
            }
            if exists {
                // A modular proof is either found soon or not at all: most of the effort goes to the other attempt.
                let short = Settings { limit: 100_000_000, ..settings };
                match modular::solve(p, &terms, group, short, &run.budget) {
                    Ok(proof) => {
                        notes.push("a modular proof: no fact relates two threads' locals".into());
                        return certify(Proof::RelyGuarantee(proof));
                    }
                    Err(why) => reason = why,
                }
            }
        }
        if task.is_parametric() {
            return Claim::Undecided(reason);
        }
        run.progress(format!("horn: all instances at once, {}", p.properties[group[0]].name));
        let counts = task.instances(0);
        if plain {
            let (answer, account) = attempt.global(&counts);
            account.tell(notes);
            match answer {
                Answer::Proved(proof) => return certify(proof),
                Answer::Refuted(trace) => return Claim::Refuted(*trace),
                Answer::GaveUp(why) => notes.push(format!("the trees of all instances were given up: {why}")),
                Answer::None => {}
            }
        }
        let long = Settings { limit: 2_000_000_000, ..settings };
        match product::solve(p, &terms, &counts.0, group, long, &run.budget) {
            Ok(proof) => certify(Proof::Product(proof)),
            Err(reason) => Claim::Undecided(reason),
        }
    }
}
