//! `horn`: environment transitions and reachable states as Horn clauses (Threader).
//!
//! In: a program with a fixed number of instances (or any number, for modular proofs). Out: proofs and runs. With the modular
//! bias (`--bias modular`, the default) thread-modular trees are built first (rule `rely-guarantee`; such a proof holds for
//! every number of instances); if there is no such proof, or with `--bias none`, trees over all instances (rule
//! `environments`). Where trees are given up, Spacer solves the clauses of whole threads, then of all instances
//! at once (rule `product`). Control is explicit throughout. `--option clauses=spacer` leaves the trees out.

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
        let relies = group.iter().any(|w| matches!(p.properties[*w].kind, PropertyKind::Rely(_)));
        let trees = !relies && task.options.0.get("clauses").is_none_or(|c| c == "trees");
        // The rule of several instances knows no atomic blocks of several steps.
        let blocks = p.threads.iter().any(|t| t.code.locations.iter().any(|l| l.inside));
        let attempt = Attempt {
            program: p,
            terms: &terms,
            wanted: group,
            settings,
            budget: &run.budget,
            most_work: usize::MAX,
            show,
        };
        let counts = task.instances(0);
        let fixed = !task.is_parametric();
        let global = |attempt: &Attempt<'_>, notes: &mut Vec<String>| {
            if !trees || !fixed || blocks {
                return None;
            }
            run.progress(format!("horn: all instances at once, {}", p.properties[group[0]].name));
            let (answer, account) = attempt.global(&counts);
            account.tell(notes);
            match answer {
                Answer::Proved(proof) => Some(certify(proof)),
                Answer::Refuted(trace) => Some(Claim::Refuted(*trace)),
                Answer::None => None,
                Answer::GaveUp(why) => {
                    notes.push(format!("the trees of all instances were given up: {why}"));
                    None
                }
            }
        };
        // Without a bias the global trees come first, but not for ever: some programs need a thread's own facts.
        if bias != "modular"
            && let Some(claim) = global(&Attempt { most_work: 150_000, ..attempt }, notes)
        {
            return claim;
        }
        let mut reason = Reason::NotAdmitted("no thread-modular proof, and the number of threads is not fixed".into());
        let mut exists = bias == "modular";
        if trees {
            run.progress(format!("horn: thread-modular, {}", p.properties[group[0]].name));
            let (answer, account) = attempt.modular();
            account.tell(notes);
            match answer {
                Answer::Proved(proof) => {
                    notes.push(MODULAR.into());
                    return certify(proof);
                }
                Answer::None => {
                    exists = false;
                    reason = Reason::Alarm("no thread-modular proof exists".into());
                }
                Answer::GaveUp(why) => notes.push(format!("the modular trees were given up: {why}")),
                Answer::Refuted(_) => {}
            }
        }
        if exists {
            // A modular proof is either found soon or not at all: most of the effort goes to the other attempt.
            let short = Settings { limit: 100_000_000, ..settings };
            match modular::solve(p, &terms, group, short, &run.budget) {
                Ok(proof) => {
                    notes.push(MODULAR.into());
                    return certify(Proof::RelyGuarantee(proof));
                }
                Err(why) => reason = why,
            }
        }
        if !fixed {
            return Claim::Undecided(reason);
        }
        if let Some(claim) = global(&attempt, notes) {
            return claim;
        }
        let long = Settings { limit: 2_000_000_000, ..settings };
        match product::solve(p, &terms, &counts.0, group, long, &run.budget) {
            Ok(proof) => certify(Proof::Product(proof)),
            Err(reason) => Claim::Undecided(reason),
        }
    }
}

const MODULAR: &str =
    "a modular proof: no fact relates two threads' locals, and it holds for every number of instances";
