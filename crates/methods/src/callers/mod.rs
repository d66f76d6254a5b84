//! `callers`: procedures and objects in a file without threads, for any callers.
//!
//! In: a program without threads. Out: claims about the checks inside its code, its invariants, and the linearizability
//! of its objects. The program is given its most general client (`program::callers`): any number of threads that call
//! anything in any order. That is a program with threads, which the methods given at the start prove or not; their
//! certificate becomes part of one of the form `callers`. Runs that go wrong are looked for with few clients and few calls.
//! An object is linearizable if its operations take effect at some linearization points; the linearization points are marked, or guessed. A guess
//! that a small search refutes is not tried further.
//! Deliberately absent: objects over a heap (see `shape`), `performs` (see `reduce`), programs with threads of their own.

mod linearization_points;

use crate::explore::linear;
use crate::explore::system::Switches;
use crate::explore::{Exploration, ExplorePlan, explore_states};
use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use evidence::{CallersProof, Certificate, Claim, Claims, ClientRun, History, Reason};
use program::callers::{LinearizationPoint, PointEffect, callers, keep_objects, touched_by_callers};
use program::client::Effort;
use program::clients::Against;
use program::semantics::InstanceCounts;
use program::{ObjectId, Program, PropertyId, PropertyKind};
use std::sync::Arc;
use std::time::Duration;

pub struct Callers {
    /// What proves programs with threads.
    pub provers: Vec<Arc<dyn Method>>,
}

/// The small clients in which runs are looked for.
const SMALL: [Effort; 2] =
    [Effort::Bounded { clients: 2, calls: 1, values: 3 }, Effort::Bounded { clients: 2, calls: 2, values: 3 }];

/// How long one small search may take, and one attempt at a proof.
const SMALL_SEARCH_TIME: Duration = Duration::from_secs(5);
const PROOF_ATTEMPT_TIME: Duration = Duration::from_secs(20);
const LARGE_ATTEMPT: Duration = Duration::from_secs(150);
/// How long a small search may take in a large file, of which it sees little.
const LARGE_GLANCE: Duration = Duration::from_secs(1);

impl Method for Callers {
    fn about(&self) -> MethodDescription {
        MethodDescription {
            name: "callers",
            summary: "procedures and objects without threads, for any callers",
            paper: "Linearizability (Herlihy and Wing)",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        let client = callers(&task.program, None, &[], Effort::Any).map_err(Refusal)?;
        if code_properties(&task.program, &client.program, &task.properties).is_empty()
            && objects(&task.program, &task.properties).is_empty()
        {
            return Err(Refusal("no property is about what callers can observe".into()));
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let mut claims = Claims::default();
        self.code(task, run, &mut claims);
        run.publish(&claims);
        for (object, property) in objects(&task.program, &task.properties) {
            self.object(task, run, object, property, &mut claims);
            run.publish(&claims);
        }
        claims
    }
}

/// The wanted properties of the code itself: in gates of the client, and invariants.
fn code_properties(program: &Program, client: &Program, wanted: &[PropertyId]) -> Vec<PropertyId> {
    let gated = program::transition::gated_properties(client);
    let kind = |p: &PropertyId| match program.properties[*p].kind {
        PropertyKind::Invariant(_) | PropertyKind::Rely(_) => true,
        PropertyKind::Leak => keep_objects(program),
        _ => gated.contains(p),
    };
    wanted.iter().copied().filter(kind).collect()
}

/// The objects without a heap whose linearizability is wanted.
fn objects(program: &Program, wanted: &[PropertyId]) -> Vec<(ObjectId, PropertyId)> {
    if !program.classes.is_empty() {
        return Vec::new();
    }
    let all = program.objects.iter_enumerated().map(|(id, o)| (id, o.property));
    all.filter(|(_, p)| wanted.contains(p)).collect()
}

impl Callers {
    fn code(&self, task: &Task, run: &Run, claims: &mut Claims) {
        let program = &task.program;
        let client = match callers(program, None, &[], Effort::Any) {
            Ok(client) => client.program,
            Err(why) => {
                let all = task.properties.iter().copied();
                *claims = Claims::undecided(all, Reason::NotAdmitted(why));
                return;
            }
        };
        let mut open = code_properties(program, &client, &task.properties);
        // A heap is soon proved safe or not; a search of one takes long.
        let (first, rest) = self.provers.split_at(usize::from(!program.classes.is_empty()).min(self.provers.len()));
        self.proofs(task, run, &client, first, &mut open, claims);
        // Of a large file a small search sees little, and its states are large: it is for what the proofs leave.
        let large = crate::rely::needs_clustering(&client);
        if large {
            self.proofs(task, run, &client, rest, &mut open, claims);
        }
        for effort in SMALL {
            if open.is_empty() {
                return;
            }
            let Ok(small) = callers(program, None, &[], effort) else { break };
            for (property, trace) in glance(&small.program, &open, run).traces {
                open.retain(|p| *p != property);
                claims.set(property, Claim::Refuted(ClientRun { effort, trace }.into()));
            }
            run.publish(claims);
        }
        if !large {
            self.proofs(task, run, &client, rest, &mut open, claims);
        }
    }

    /// Claims what these provers show of the client; what they prove is no longer open.
    fn proofs(
        &self,
        task: &Task,
        run: &Run,
        client: &Program,
        provers: &[Arc<dyn Method>],
        open: &mut Vec<PropertyId>,
        claims: &mut Claims,
    ) {
        let program = &task.program;
        let access = |p: &PropertyId| matches!(program.properties[*p].kind, PropertyKind::Access(_));
        let wanted: Vec<PropertyId> =
            open.iter().copied().filter(|p| !(access(p) && touched_by_callers(program, *p))).collect();
        let shown = shown(provers, task, run, client, &wanted);
        claims.notes.extend(shown.notes);
        let mut wrapped: Vec<(Arc<Certificate>, Arc<Certificate>)> = Vec::new();
        for (property, claim) in shown.claims {
            let Claim::Proved(c) = claim else {
                claims.set(property, claim);
                continue;
            };
            let known = wrapped.iter().find(|(old, _)| Arc::ptr_eq(old, &c)).map(|(_, new)| new.clone());
            let certificate = known.unwrap_or_else(|| {
                let about = c.properties.iter().copied().filter(|p| wanted.contains(p)).collect();
                let new = Arc::new(wrap(about, None, &[], &c));
                wrapped.push((c, new.clone()));
                new
            });
            claims.set(property, Claim::Proved(certificate));
            open.retain(|p| *p != property);
        }
        run.publish(claims);
    }

    fn object(&self, task: &Task, run: &Run, object: ObjectId, property: PropertyId, claims: &mut Claims) {
        let program = &task.program;
        let search = Run { budget: run.budget.share(PROOF_ATTEMPT_TIME), ..run.inner() };
        let small = linear::ClientBounds { from: 2, least: 2, threads: 2, each: 2, total: 3, independent: 2 };
        let disproved = |bounds: linear::ClientBounds, claims: &mut Claims| {
            let found = linear::search_histories(program, object, bounds, Against::Orders, &search)
                .found
                .filter(|f| f.gate.is_none());
            let history =
                found.map(|f| History { object, clients: f.clients, against: f.against, gate: None, trace: f.trace });
            history.map(|h| claims.set(property, Claim::Refuted(h.into()))).is_some()
        };
        // Where there is no quick counterexample, a proof comes before a longer search.
        if !disproved(small, claims) && !self.linearizable(task, run, object, property, claims) {
            disproved(linear::ClientBounds::default(), claims);
        }
    }

    fn linearizable(
        &self,
        task: &Task,
        run: &Run,
        object: ObjectId,
        property: PropertyId,
        claims: &mut Claims,
    ) -> bool {
        let program = &task.program;
        let mut tried = 0u64;
        for linearization_points in linearization_points::guesses(program, object) {
            if run.budget.check().is_err() {
                break;
            }
            tried += 1;
            let refuted = SMALL.into_iter().any(|effort| {
                let small = callers(program, Some(object), &linearization_points, effort);
                small.is_ok_and(|c| !glance(&c.program, &Vec::from_iter(c.history), run).traces.is_empty())
            });
            if refuted {
                continue;
            }
            let with = match callers(program, Some(object), &linearization_points, Effort::Any) {
                Ok(with) => with,
                Err(why) => {
                    claims.set(property, Claim::Undecided(Reason::NotAdmitted(why)));
                    return true;
                }
            };
            let shown = shown(&self.provers, task, run, &with.program, &Vec::from_iter(with.history));
            match shown.claims.into_values().next() {
                Some(Claim::Proved(c)) => {
                    let certificate = Arc::new(wrap(vec![property], Some(object), &linearization_points, &c));
                    claims.set(property, Claim::Proved(certificate));
                    claims.notes.extend(shown.notes);
                    claims.notes.extend(
                        linearization_points.iter().filter_map(|m| describe_linearization_point(program, object, m)),
                    );
                    claims.statistics.insert("moments tried".into(), tried);
                    return true;
                }
                Some(why) => {
                    claims.claims.entry(property).or_insert(why);
                }
                None => {}
            }
        }
        claims.claims.entry(property).or_insert_with(|| {
            Claim::Undecided(Reason::Incomplete(format!("{tried} guesses of where the operations take effect")))
        });
        false
    }
}

/// What the provers show of a program with callers: proofs, or why there is none.
fn shown(provers: &[Arc<dyn Method>], task: &Task, run: &Run, client: &Program, wanted: &[PropertyId]) -> Claims {
    let mut out = Claims::default();
    let mut open = wanted.to_vec();
    for prover in provers {
        if open.is_empty() || run.budget.check().is_err() {
            break;
        }
        let inner = Task {
            program: client.clone(),
            properties: open.clone(),
            threads: Default::default(),
            options: task.options.clone(),
        };
        if prover.admits(&inner).is_err() {
            continue;
        }
        run.progress(format!("callers: any callers, by {}", prover.about().name));
        let amount = if crate::rely::needs_clustering(client) { LARGE_ATTEMPT } else { PROOF_ATTEMPT_TIME };
        let attempt = Run { budget: run.budget.share(amount), ..run.inner() };
        let found = prover.run(&inner, &attempt);
        let mut proves = false;
        for (property, claim) in found.claims.into_iter().filter(|(p, _)| open.contains(p)) {
            match claim {
                Claim::Proved(_) => {
                    proves = true;
                    out.set(property, claim);
                }
                Claim::Undecided(_) => {
                    out.claims.entry(property).or_insert(claim);
                }
                // A run of callers without bounds is not evidence; the small searches look for runs.
                _ => {}
            }
        }
        open.retain(|p| !matches!(out.claims.get(p), Some(Claim::Proved(_))));
        if proves {
            out.notes.extend(found.notes);
        }
    }
    out
}

fn wrap(
    properties: Vec<PropertyId>,
    object: Option<ObjectId>,
    linearization_points: &[LinearizationPoint],
    inner: &Arc<Certificate>,
) -> Certificate {
    let proof = CallersProof {
        object,
        linearization_points: linearization_points.to_vec(),
        proof: Box::new((**inner).clone()),
    };
    Certificate {
        method: "callers".into(),
        terms: inner.terms.clone(),
        properties,
        proof: evidence::Proof::Callers(proof),
    }
}

/// A short search of a small client.
fn glance(program: &Program, wanted: &[PropertyId], run: &Run) -> Exploration {
    explore_states(&ExplorePlan {
        program,
        counts: InstanceCounts::of(program, 0),
        wanted: wanted.to_vec(),
        switches: Switches::ALL,
        workers: run.workers.max(1),
        depth: usize::MAX,
        budget: run.budget.share(if crate::rely::needs_clustering(program) { LARGE_GLANCE } else { SMALL_SEARCH_TIME }),
        progress: &|_| {},
        compact: false,
        unreachable: false,
        means: Default::default(),
    })
}

fn describe_linearization_point(program: &Program, object: ObjectId, m: &LinearizationPoint) -> Option<String> {
    let op = &program.objects[object].ops[m.operation as usize];
    let text = &program.origins[op.code.actions[m.action].origin].text;
    match m.effect {
        PointEffect::Writes => Some(format!("{} takes effect at `{text}`", op.name)),
        PointEffect::Reads => None,
    }
}

#[cfg(test)]
mod tests;
