//! `conform`: a thread conforms to a machine; then only the machines are composed (Abstract Threads).
//!
//! In: a program some of whose threads follow machines. Out, for each `follows`: a simulation (rule `simulation`) or a
//! local run that no machine step simulates; for the other properties: a proof by composition (rule `composed`), if every
//! thread conforms and some other method shows that the composition cannot go wrong. Loop invariants are found, not
//! written: the conformance checker C(T, T#) of section 3 is put to Spacer as Horn clauses indexed by the location and
//! the set of candidate states. Threads without a machine stay as they are in the composition.
//! Absent: threads that spawn; assertions asked for with `?`.

mod check;
mod path;
pub mod propose;

use crate::method::{About, Method, Refusal, Run, Task};
use check::Conformance;
use evidence::{Certificate, Claim, Claims, Composed, Proof, Reason, Simulation};
use logic::Terms;
use program::compose::{compose, ways_to_go_wrong};
use program::{PropertyId, PropertyKind, ThreadId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The methods that may show the composition safe, tried in order.
pub struct Conform {
    pub composition: Vec<Arc<dyn Method>>,
}

impl Method for Conform {
    fn about(&self) -> About {
        About {
            name: "conform",
            summary: "each thread conforms to its machine; then only the machines are composed",
            paper: "Abstract Threads",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        let p = &task.program;
        if !p.threads.iter().any(|t| t.follows.is_some()) {
            return Err(Refusal("no thread follows a machine".into()));
        }
        let spawning =
            p.threads.iter().find(|t| t.follows.is_some() && t.code.actions.iter().any(|a| a.spawn.is_some()));
        match spawning {
            Some(t) => Err(Refusal(format!("thread {} follows a machine and spawns threads", t.name))),
            None => Ok(()),
        }
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let p = &task.program;
        let terms = p.terms.clone();
        let mut claims = Claims::default();
        let mut simulations: BTreeMap<ThreadId, Simulation> = BTreeMap::new();
        for (t, thread) in p.threads.iter_enumerated() {
            let Some((machine, property)) = thread.follows else { continue };
            run.progress(format!("conform: {} against {}", thread.name, p.machines[machine].name));
            let found = check::check(p, &terms, t, run);
            claims.statistics.insert(format!("pairs {}", thread.name), found.pairs as u64);
            claims.statistics.insert(format!("clauses {}", thread.name), found.clauses as u64);
            claims.statistics.insert(format!("text {}", thread.name), found.text);
            let claim = match found.outcome {
                Conformance::Conforms(simulation) => {
                    simulations.insert(t, simulation.clone());
                    Claim::Proved(Arc::new(Certificate {
                        method: "conform".into(),
                        terms: terms.clone(),
                        properties: vec![property],
                        proof: Proof::Simulation(simulation),
                    }))
                }
                Conformance::Breached(local) => Claim::Breached(local),
                Conformance::Undecided(reason) => Claim::Undecided(reason),
            };
            claims.set(property, claim);
        }
        let rest: Vec<PropertyId> = task.properties.iter().copied().filter(|q| carried(task, *q)).collect();
        if rest.is_empty() {
            return claims;
        }
        let claim = self.compose(task, run, &terms, &simulations, &rest, &mut claims.notes);
        rest.iter().for_each(|q| claims.set(*q, claim.clone()));
        claims
    }
}

/// Properties that a composition can show: gates of threads, and invariants.
fn carried(task: &Task, q: PropertyId) -> bool {
    matches!(task.program.properties[q].kind, PropertyKind::Invariant(_))
        || ways_to_go_wrong(&task.program).contains(&q)
}

impl Conform {
    fn compose(
        &self,
        task: &Task,
        run: &Run,
        terms: &Terms,
        simulations: &BTreeMap<ThreadId, Simulation>,
        rest: &[PropertyId],
        notes: &mut Vec<String>,
    ) -> Claim {
        let p = &task.program;
        let not_conforming =
            p.threads.iter_enumerated().find(|(t, x)| x.follows.is_some() && !simulations.contains_key(t));
        if let Some((_, thread)) = not_conforming {
            let why = format!("thread {} was not shown to conform to its machine", thread.name);
            return Claim::Undecided(Reason::Alarm(why));
        }
        let composed = match compose(p) {
            Ok(composed) => composed,
            Err(why) => return Claim::Undecided(Reason::NotAdmitted(why)),
        };
        let mut wanted = ways_to_go_wrong(&composed);
        wanted.extend(rest.iter().copied().filter(|q| matches!(p.properties[*q].kind, PropertyKind::Invariant(_))));
        let inner = Task {
            program: composed,
            properties: wanted.clone(),
            threads: task.threads.clone(),
            options: task.options.clone(),
        };
        let mut last = Reason::NotAdmitted("no method takes the composition of the machines".into());
        for method in &self.composition {
            if let Err(refusal) = method.admits(&inner) {
                last = Reason::NotAdmitted(format!("the composition: {}", refusal.0));
                continue;
            }
            run.progress(format!("conform: the composition, by {}", method.about().name));
            let found = method.run(&inner, run);
            let whole = found.claims.values().find_map(|c| match c {
                Claim::Proved(c) if wanted.iter().all(|w| c.properties.contains(w)) => Some(c.clone()),
                _ => None,
            });
            if let Some(composition) = whole {
                let names: Vec<String> = simulations.keys().map(|t| p.threads[*t].name.clone()).collect();
                let conform = match &names[..] {
                    [one] => format!("{one} conforms to its machine"),
                    many => format!("each of {} conforms to its machine", many.join(", ")),
                };
                notes.push(format!(
                    "rests on {} checks: {conform}; and the composition of the machines, by {}",
                    simulations.len() + 1,
                    method.about().name
                ));
                return Claim::Proved(Arc::new(Certificate {
                    method: "conform".into(),
                    terms: terms.clone(),
                    properties: rest.to_vec(),
                    proof: Proof::Composed(Composed {
                        simulations: simulations.values().cloned().collect(),
                        composition: Box::new(Certificate::clone(&composition)),
                    }),
                }));
            }
            for (w, claim) in &found.claims {
                match claim {
                    Claim::Refuted(trace) => {
                        let name = &inner.program.properties[*w].name;
                        return Claim::Undecided(Reason::Alarm(format!(
                            "the composition of the machines goes wrong ({name}) after {} steps; the program itself may not",
                            trace.steps.len()
                        )));
                    }
                    Claim::Undecided(reason) => last = reason.clone(),
                    _ => {}
                }
            }
        }
        Claim::Undecided(last)
    }
}
