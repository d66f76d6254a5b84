//! `horn`: environment transitions and reachable states as Horn clauses (Threader).
//!
//! In: a program with a fixed number of instances (or any number, for modular proofs). Out: proofs and runs. With the modular
//! bias (`--bias modular`, the default) thread-modular trees are built first (rule `rely-guarantee`; such a proof holds for
//! every number of instances); if there is no such proof, or with `--bias none`, trees over all instances (rule
//! `environments`). Where trees are given up, Spacer solves the clauses of whole threads, then of all instances
//! at once (rule `product`). Control is explicit throughout. `--option clauses=spacer` leaves the trees out.

mod abstraction;
mod certify;
mod constants;
mod formula;
mod indices;
mod interpolate;
mod modular_runs;
mod picture;
mod product;
mod rational;
mod refine;
mod seeds;
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
use trees::Mode;

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
            let done = |w: &PropertyId| matches!(claims.claims.get(w), Some(Claim::Proved(_) | Claim::Refuted(_)));
            if group.iter().all(done) {
                continue;
            }
            let claim = self.group(task, run, &group, bias, &mut claims);
            // A run shows one property violated; the others are looked at alone.
            let shown = |w: &PropertyId| !matches!(&claim, Claim::Refuted(t) if t.violates != *w);
            for w in group.iter().filter(|w| shown(w)) {
                if !matches!(claims.claims.get(w), Some(Claim::Proved(_) | Claim::Refuted(_))) {
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
    fn group(&self, task: &Task, run: &Run, group: &[PropertyId], bias: &str, told: &mut Claims) -> Claim {
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
        let name = &p.properties[group[0]].name;
        let mut reason = Reason::NotAdmitted("no thread-modular proof, and the number of threads is not fixed".into());
        let modular_by_spacer = |told: &mut Claims| {
            // A modular proof is either found soon or not at all: most of the effort goes to the other attempt.
            let short = Settings { limit: 100_000_000, ..settings };
            let proof = modular::solve(p, &terms, group, short, &run.budget)?;
            told.notes.push(MODULAR.into());
            Ok(certify(Proof::RelyGuarantee(proof)))
        };
        // Which kinds of trees are worth trying (again); whether a modular proof may exist; whether Spacer may be asked for it.
        let (mut single, mut everyone, mut exists) = (trees, trees && fixed && !blocks, true);
        let mut ask_spacer = bias == "modular";
        let kinds = if bias == "modular" { [Mode::Modular, Mode::Global] } else { [Mode::Global, Mode::Modular] };
        for (round, limit) in [SHORT, usize::MAX].into_iter().enumerate() {
            for kind in kinds {
                let most_work = if single && everyone { limit } else { usize::MAX };
                let attempt = Attempt { most_work, ..attempt };
                if kind == Mode::Global && everyone {
                    run.progress(format!("horn: all instances at once, {name}"));
                    let (answer, account) = attempt.global(&counts);
                    account.tell(told);
                    match answer {
                        Answer::Proved(proof) => return certify(proof),
                        Answer::Refuted(trace) => return Claim::Refuted(*trace),
                        Answer::None => everyone = false,
                        Answer::Unfinished(why) => told.notes.push(format!("the trees of all instances: {why}")),
                        Answer::GaveUp(why) => {
                            everyone = false;
                            told.notes.push(format!("the trees of all instances were given up: {why}"));
                        }
                    }
                }
                if kind == Mode::Global || !single {
                    continue;
                }
                run.progress(format!("horn: thread-modular, {name}"));
                let answer = if round == 0 && modular_runs::violate(p, &terms, group, &run.budget) {
                    told.notes
                        .push("no modular proof exists: steps of others, without their locals, violate it".into());
                    Answer::None
                } else {
                    let (answer, account) = attempt.modular();
                    account.tell(told);
                    answer
                };
                match answer {
                    Answer::Proved(proof) => {
                        told.notes.push(MODULAR.into());
                        return certify(proof);
                    }
                    Answer::None | Answer::Refuted(_) => {
                        (single, exists, ask_spacer) = (false, false, false);
                        reason = Reason::Alarm("no thread-modular proof exists".into());
                    }
                    Answer::Unfinished(why) => told.notes.push(format!("the modular trees: {why}")),
                    Answer::GaveUp(why) => {
                        single = false;
                        told.notes.push(format!("the modular trees were given up: {why}"));
                        if std::mem::take(&mut ask_spacer) {
                            match modular_by_spacer(told) {
                                Ok(claim) => return claim,
                                Err(why) => reason = why,
                            }
                        }
                    }
                }
            }
        }
        if exists && ask_spacer {
            match modular_by_spacer(told) {
                Ok(claim) => return claim,
                Err(why) => reason = why,
            }
        }
        if !fixed {
            return Claim::Undecided(reason);
        }
        let long = Settings { limit: 2_000_000_000, ..settings };
        match product::solve(p, &terms, &counts.0, group, long, &run.budget) {
            Ok(proof) => certify(Proof::Product(proof)),
            Err(reason) => Claim::Undecided(reason),
        }
    }
}

/// How many abstract states an attempt may make before the other kind of trees is tried.
const SHORT: usize = 150_000;

const MODULAR: &str =
    "a modular proof: no fact relates two threads' locals, and it holds for every number of instances";
