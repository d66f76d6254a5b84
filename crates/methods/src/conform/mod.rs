//! `conform`: a thread conforms to a machine; then only the machines are composed (Abstract Threads).
//!
//! In: a program some of whose threads follow machines. Out, for each `follows`: a simulation (rule `simulation`) or a
//! local run that no machine step simulates; for the other properties: a proof by composition (rule `composed`), if every
//! thread conforms and some other method shows that the composition cannot go wrong. Loop invariants are found, not
//! written: the conformance checker C(T, T#) of section 3 is put to Spacer as Horn clauses indexed by the location and
//! the set of candidate states. Threads without a machine stay as they are in the composition.
//! A call of a procedure with a specification is first its code; where the thread does not follow its machine so, it is what the
//! callee performs, with a reduction that shows it (rule `performed`). Assertions that machines ask for with `?` are found first (`asked`).
//! Deliberately absent: threads that spawn.

mod asked;
mod check;
mod merged;
mod outcome;
mod path;
mod pointwise;
pub(crate) mod propose;
mod symbolic;
#[cfg(test)]
mod tests;

use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use evidence::{
    AssertedProof, CallReading, Certificate, Claim, Claims, ComposedProof, Counterexample, ExhaustiveSearch, LocalRun,
    PerformedProof, Proof, Reason, Simulation, needed_of_calls, performed_program,
};
use logic::Terms;
use outcome::Conformance;
use program::call_summaries::{access_first, of_inlining, performing, unmodelled};
use program::compose::compose_machines;
use program::machine_assertions::{asked_assertions, with_assertions};
use program::transition::gated_properties;
use program::{Program, PropertyId, PropertyKind, ThreadId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub struct Conform {
    /// The methods that may show the composition safe, tried in order.
    pub composition: Vec<Arc<dyn Method>>,
    /// The method that may show that procedures perform their specifications.
    pub calls: Option<Arc<dyn Method>>,
    /// The methods that find out which facts hold while a machine is in a state, one after the other.
    pub facts: Vec<Arc<dyn Method>>,
}

impl Method for Conform {
    fn about(&self) -> MethodDescription {
        MethodDescription {
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
        if asked_assertions(&task.program).is_empty() {
            self.follow(task, run, carried)
        } else {
            self.find_and_follow(task, run)
        }
    }
}

impl Conform {
    /// Where machines assert what is written.
    fn follow(&self, task: &Task, run: &Run, by_composition: fn(&Task, PropertyId) -> bool) -> Claims {
        let p = &task.program;
        let mut claims = Claims::default();
        let by_formulas = task.options.0.get("candidates").is_some_and(|c| c == "formulas");
        let by_code = Followed::find(p, CallReading::Code, by_formulas, run, &mut claims);
        let rest: Vec<PropertyId> = task.properties.iter().copied().filter(|q| by_composition(task, *q)).collect();
        if by_code.simulations().is_some() || performing(p).is_empty() {
            for t in by_code.threads.keys() {
                claims.set(property_of(p, *t), by_code.claim(p, *t, None));
            }
            run.publish(&claims);
            if !rest.is_empty() {
                let found = self.compose(task, run, &by_code, None, &rest, &mut claims.notes);
                found.into_iter().for_each(|(q, claim)| claims.set(q, claim));
            }
            return claims;
        }
        // A call is what the callee performs, if that is shown.
        let calls = self.calls(task, run);
        let read = match &calls {
            Ok(calls) => performed_program(p, calls),
            Err(_) => CallReading::Specified.of(p),
        };
        let read = match read {
            Ok(read) => read,
            Err(why) => return Claims::undecided(task.properties.iter().copied(), Reason::NotAdmitted(why)),
        };
        let specified = Followed::find(&read, CallReading::Specified, by_formulas, run, &mut claims);
        for t in specified.threads.keys() {
            claims.set(property_of(p, *t), either(p, *t, &by_code, &specified, &calls));
        }
        run.publish(&claims);
        let (invariants, rest): (Vec<PropertyId>, Vec<PropertyId>) =
            rest.into_iter().partition(|q| matches!(p.properties[*q].kind, PropertyKind::Invariant(_)));
        let inside = Reason::NotAdmitted("inside a call by specification an invariant may fail".into());
        invariants.iter().for_each(|q| claims.set(*q, Claim::Undecided(inside.clone())));
        if !rest.is_empty() {
            let found = match &calls {
                Ok(calls) => {
                    let inner = Task { program: read, ..task.clone() };
                    let own = |q: &PropertyId| by_composition(&inner, *q) || of_inlining(p, *q);
                    let open: Vec<PropertyId> = rest.iter().copied().filter(own).collect();
                    self.compose(&inner, run, &specified, Some((p, calls)), &open, &mut claims.notes)
                }
                Err(why) => rest.iter().map(|q| (*q, Claim::Undecided(why.clone()))).collect(),
            };
            for (q, claim) in found {
                // What the reduction shows is its claim.
                match &calls {
                    Ok(calls) if calls.properties.contains(&q) => {}
                    _ => claims.set(q, claim),
                }
            }
        }
        claims
    }

    /// Where machines ask for assertions: with those that were found, each claim rests on the composition that keeps them.
    fn find_and_follow(&self, task: &Task, run: &Run) -> Claims {
        let all = |reason: Reason| Claims::undecided(task.properties.iter().copied(), reason);
        let p = &task.program;
        let found = match asked::find_assertions(task, &self.facts, run) {
            Ok(found) => found,
            Err(reason) => return all(reason),
        };
        let with = match with_assertions(p, &p.terms, &found) {
            Ok(with) => with,
            Err(why) => return all(Reason::Internal(why)),
        };
        let inner = Task { program: with, ..task.clone() };
        // As they are now: what is proved with more of them extends these.
        let terms = inner.program.terms.clone();
        let mut claims = self.follow(&inner, &run.inner(), carried_or_followed);
        for claim in claims.claims.values_mut() {
            *claim = match claim {
                Claim::Proved(c) => Claim::Proved(Arc::new(Certificate {
                    method: "conform".into(),
                    terms: terms.clone(),
                    properties: c.properties.clone(),
                    proof: Proof::Asserted(AssertedProof {
                        assertions: found.clone(),
                        proof: Box::new(Certificate::clone(c)),
                    }),
                })),
                // Other assertions might do.
                Claim::Refuted(_) => Claim::Undecided(Reason::Alarm(
                    "with the assertions that were found for its machine, the thread does not follow it".into(),
                )),
                Claim::Undecided(Reason::Alarm(why)) => {
                    Claim::Undecided(Reason::Alarm(format!("{why}, with the assertions that were found")))
                }
                Claim::Undecided(reason) => Claim::Undecided(reason.clone()),
            };
        }
        claims.notes.extend(asked::shown(p, &found));
        claims
    }
}

fn property_of(p: &Program, t: ThreadId) -> PropertyId {
    p.threads[t].follows.expect("only threads that follow a machine are looked at").1
}

/// Every thread that follows a machine, against it, in one reading.
struct Followed {
    /// Of the program so read, and of what was found.
    terms: Terms,
    threads: BTreeMap<ThreadId, Conformance>,
}

impl Followed {
    /// `by_formulas`: the sets of candidates are never taken one by one.
    fn find(p: &Program, reading: CallReading, by_formulas: bool, run: &Run, claims: &mut Claims) -> Self {
        let mut out = Self { terms: p.terms.clone(), threads: BTreeMap::new() };
        let mut short = Vec::new();
        for (t, thread) in p.threads.iter_enumerated() {
            if thread.follows.is_none() {
                continue;
            }
            if reading == CallReading::Code && unmodelled(p, &thread.code) {
                let why = format!("a procedure that thread {} calls calls itself", thread.name);
                out.threads.insert(t, Conformance::Undecided(Reason::NotAdmitted(why)));
                continue;
            }
            out.threads.insert(t, Conformance::Undecided(Reason::Alarm("it was not looked at".into())));
        }
        // A thread that is hard to decide keeps no other waiting.
        for effort in [Some(THREAD_SHARE), None] {
            for t in out.threads.keys().copied().collect::<Vec<_>>() {
                let thread = &p.threads[t];
                let open = reading != CallReading::Code || !unmodelled(p, &thread.code);
                if !open || !matches!(out.threads[&t], Conformance::Undecided(_)) || run.budget.check().is_err() {
                    continue;
                }
                let budget = effort.map_or_else(|| run.budget.clone(), |effort| run.budget.share(effort));
                if effort.is_none() && !short.contains(&t) {
                    continue;
                }
                let machine = thread.follows.expect("only such threads are here").0;
                run.progress(format!("conform: {} against {}", thread.name, p.machines[machine].name));
                let check = if by_formulas { check::check_by_formulas } else { check::check_conformance };
                let found = check(p, &out.terms, t, &Run { budget: budget.clone(), ..run.clone() });
                if budget.check().is_err() {
                    short.push(t);
                }
                claims.statistics.insert(format!("pairs {}", thread.name), found.pairs as u64);
                claims.statistics.insert(format!("clauses {}", thread.name), found.clauses as u64);
                claims.statistics.insert(format!("text {}", thread.name), found.text);
                let outcome = match found.outcome {
                    Conformance::Refuted(local, fails) => Conformance::Refuted(LocalRun { reading, ..local }, fails),
                    other => other,
                };
                out.threads.insert(t, outcome);
                // Certain whatever becomes of the rest: by its code a thread follows its machine, or does not and there is no other reading.
                let certain = matches!(out.threads[&t], Conformance::Conforms(_)) || performing(p).is_empty();
                if reading == CallReading::Code && certain {
                    claims.set(property_of(p, t), out.claim(p, t, None));
                    run.publish(claims);
                }
            }
        }
        out
    }

    /// One simulation for each thread, if there is one.
    fn simulations(&self) -> Option<Vec<Simulation>> {
        let one = |c: &Conformance| if let Conformance::Conforms(s) = c { Some(s.clone()) } else { None };
        self.threads.values().map(one).collect()
    }

    /// What is said of a thread; with the calls, where they are by specification.
    fn claim(&self, p: &Program, t: ThreadId, calls: Option<&Certificate>) -> Claim {
        match &self.threads[&t] {
            Conformance::Conforms(simulation) => {
                let proof = Proof::Simulation(simulation.clone());
                Claim::Proved(Arc::new(self.certified(p, vec![property_of(p, t)], proof, calls)))
            }
            Conformance::Refuted(local, _) => Claim::Refuted(local.clone().into()),
            Conformance::Undecided(reason) => Claim::Undecided(reason.clone()),
        }
    }

    /// A certificate of the program; where calls are by specification, one of the program so read stands inside.
    fn certified(
        &self,
        p: &Program,
        properties: Vec<PropertyId>,
        proof: Proof,
        calls: Option<&Certificate>,
    ) -> Certificate {
        let certificate = |terms: &Terms, properties, proof| Certificate {
            method: "conform".into(),
            terms: terms.clone(),
            properties,
            proof,
        };
        let Some(calls) = calls else { return certificate(&self.terms, properties, proof) };
        let inside = properties.iter().copied().filter(|q| !of_inlining(p, *q)).collect();
        let proof = Box::new(certificate(&self.terms, inside, proof));
        certificate(&p.terms, properties, Proof::Performed(PerformedProof { calls: Box::new(calls.clone()), proof }))
    }
}

/// A thread that calls procedures with a specification follows its machine by their code or by what they perform; it does not
/// if it does in neither way.
fn either(
    p: &Program,
    t: ThreadId,
    by_code: &Followed,
    specified: &Followed,
    calls: &Result<Certificate, Reason>,
) -> Claim {
    match (&by_code.threads[&t], &specified.threads[&t]) {
        (Conformance::Conforms(_), _) => by_code.claim(p, t, None),
        (_, Conformance::Conforms(_)) => match calls {
            Ok(calls) => specified.claim(p, t, Some(calls)),
            Err(Reason::Alarm(why)) => {
                Claim::Undecided(Reason::Alarm(format!("with calls as specified it follows its machine, but {why}")))
            }
            Err(reason) => Claim::Undecided(reason.clone()),
        },
        (_, Conformance::Refuted(_, Some(q))) if p.properties[*q].kind != PropertyKind::Assertion => {
            let name = &p.properties[*q].name;
            Claim::Undecided(Reason::Alarm(format!("{name} may fail where no assertion of the machine does")))
        }
        (Conformance::Refuted(code, _), Conformance::Refuted(run, _)) => {
            Claim::Refuted(LocalRun { also: Some(Box::new(code.clone())), ..run.clone() }.into())
        }
        (Conformance::Undecided(_), Conformance::Refuted(run, _)) if unmodelled(p, &p.threads[t].code) => {
            Claim::Refuted(run.clone().into())
        }
        (Conformance::Undecided(reason), _) | (_, Conformance::Undecided(reason)) => Claim::Undecided(reason.clone()),
    }
}

/// Properties that a composition can show: gates of threads, and invariants.
fn carried(task: &Task, q: PropertyId) -> bool {
    matches!(task.program.properties[q].kind, PropertyKind::Invariant(_))
        || gated_properties(&task.program).contains(&q)
}

/// Where the machine's assertions were found, that a thread follows it rests on the composition, too.
fn carried_or_followed(task: &Task, q: PropertyId) -> bool {
    carried(task, q) || matches!(task.program.properties[q].kind, PropertyKind::Follows(_))
}

impl Conform {
    /// A reduction that shows what calls by specification need.
    fn calls(&self, task: &Task, run: &Run) -> Result<Certificate, Reason> {
        let p = &task.program;
        let Some(method) = &self.calls else {
            return Err(Reason::NotAdmitted("no method shows what procedures perform".into()));
        };
        let inner = Task { program: access_first(p), properties: p.properties.ids().collect(), ..task.clone() };
        method.admits(&inner).map_err(|r| Reason::NotAdmitted(r.0))?;
        run.progress("conform: what the callees perform");
        let found = method.run(&inner, &run.inner());
        let mut missing = None;
        for q in performing(p) {
            let (_, own) = p.procedures[q].performs.as_ref().expect("only such procedures are called so");
            match found.claims.get(own) {
                Some(Claim::Proved(c)) => match needed_of_calls(p, c) {
                    Ok(needed) => match needed.into_iter().find(|n| !c.properties.contains(n)) {
                        None => return Ok(Certificate::clone(c)),
                        Some(n) => missing = missing.or(Some(n)),
                    },
                    Err(why) => return Err(Reason::Alarm(why)),
                },
                _ => missing = Some(*own),
            }
        }
        let name = missing.map_or("a call", |q| p.properties[q].name.as_str());
        let why = match missing.and_then(|q| found.claims.get(&q)) {
            Some(Claim::Undecided(Reason::Exhausted(e))) => return Err(Reason::Exhausted(*e)),
            Some(Claim::Undecided(reason)) => format!("{name} is not shown: {reason}"),
            _ => format!("{name} is not shown"),
        };
        Err(Reason::Alarm(why))
    }

    fn compose(
        &self,
        task: &Task,
        run: &Run,
        followed: &Followed,
        calls: Option<(&Program, &Certificate)>,
        rest: &[PropertyId],
        notes: &mut Vec<String>,
    ) -> BTreeMap<PropertyId, Claim> {
        let p = &task.program;
        let all = |reason: Reason| rest.iter().map(|q| (*q, Claim::Undecided(reason.clone()))).collect();
        let Some(simulations) = followed.simulations() else {
            let not = followed.threads.iter().find(|(_, c)| !matches!(c, Conformance::Conforms(_))).map(|(t, _)| *t);
            let name = not.map_or("", |t| p.threads[t].name.as_str());
            return all(Reason::Alarm(format!("thread {name} was not shown to conform to its machine")));
        };
        let composed = match compose_machines(p) {
            Ok(composed) => composed,
            Err(why) => return all(Reason::NotAdmitted(why)),
        };
        let gates = gated_properties(&composed);
        let is_invariant = |q: &PropertyId| matches!(p.properties[*q].kind, PropertyKind::Invariant(_));
        let mut out: BTreeMap<PropertyId, Claim> = BTreeMap::new();
        let mut prove = |out: &mut BTreeMap<PropertyId, Claim>, composition: &Certificate, by: &str| {
            let shown = |q: &PropertyId| !is_invariant(q) || composition.properties.contains(q);
            let new: Vec<PropertyId> = rest.iter().copied().filter(|q| shown(q) && !out.contains_key(q)).collect();
            if new.is_empty() {
                return;
            }
            let names: Vec<String> = simulations.iter().map(|s| p.threads[s.thread].name.clone()).collect();
            let conform = match &names[..] {
                [one] => format!("{one} conforms to its machine"),
                many => format!("each of {} conforms to its machine", many.join(", ")),
            };
            let also = if calls.is_some() { ", with calls that perform what they say, by reduce" } else { "" };
            let note = format!(
                "rests on {} checks: {conform}{also}; and the composition of the machines, {by}",
                simulations.len() + 1
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
            let composition = Box::new(composition.clone());
            let proof = Proof::Composed(ComposedProof { simulations: simulations.clone(), composition });
            let (whole, calls) = calls.map_or((p, None), |(whole, calls)| (whole, Some(calls)));
            let claim = Claim::Proved(Arc::new(followed.certified(whole, new.clone(), proof, calls)));
            new.into_iter().for_each(|q| {
                out.insert(q, claim.clone());
            });
        };
        if gates.is_empty() {
            // Nothing asserts anything: it cannot go wrong, by Theorem 1.
            let nothing = Certificate {
                method: "conform".into(),
                terms: composed.terms.clone(),
                properties: Vec::new(),
                proof: Proof::Search(ExhaustiveSearch { instances: Vec::new(), states: 0 }),
            };
            prove(&mut out, &nothing, "in which nothing can go wrong");
        }
        let mut last = Reason::NotAdmitted("no method takes the composition of the machines".into());
        let mut methods: Vec<&Arc<dyn Method>> = self.composition.iter().collect();
        methods.extend(self.facts.iter().filter(|f| self.composition.iter().all(|m| !Arc::ptr_eq(m, f))));
        for effort in COMPOSITION_SHARES.iter().copied().map(Some).chain([None]) {
            for method in std::mem::take(&mut methods) {
                let open: Vec<PropertyId> = rest.iter().copied().filter(|q| !out.contains_key(q)).collect();
                if open.is_empty() || run.budget.check().is_err() {
                    break;
                }
                let mut properties = gates.clone();
                properties.extend(open.iter().copied().filter(is_invariant));
                let inner = Task {
                    program: composed.clone(),
                    properties,
                    threads: task.threads.clone(),
                    options: task.options.clone(),
                };
                if let Err(refusal) = method.admits(&inner) {
                    last = Reason::NotAdmitted(format!("the composition: {}", refusal.0));
                    continue;
                }
                let name = method.about().name;
                run.progress(format!("conform: the composition, by {name}"));
                let budget = effort.map_or_else(|| run.budget.clone(), |effort| run.budget.share(effort));
                let found = method.run(&inner, &Run { budget: budget.clone(), ..run.inner() });
                if budget.check().is_err() {
                    methods.push(method);
                }
                for claim in found.claims.values() {
                    match claim {
                        Claim::Proved(c) if gates.iter().all(|w| c.properties.contains(w)) => {
                            prove(&mut out, c, &format!("by {name}"));
                        }
                        Claim::Undecided(reason) => last = reason.clone(),
                        _ => {}
                    }
                }
                let refuted = found.claims.iter().find_map(|(w, claim)| match claim {
                    Claim::Refuted(Counterexample::Run(trace)) => Some((*w, trace.steps.len())),
                    _ => None,
                });
                if let Some((w, steps)) = refuted {
                    let name = &inner.program.properties[w].name;
                    last = Reason::Alarm(format!(
                        "the composition of the machines goes wrong ({name}) after {steps} steps; the program itself may not"
                    ));
                    // If a gate of it can fail, nothing carries over.
                    if gates.contains(&w) {
                        methods.clear();
                        break;
                    }
                }
            }
        }
        rest.iter().for_each(|q| {
            out.entry(*q).or_insert_with(|| Claim::Undecided(last.clone()));
        });
        out
    }
}

/// What a thread may take before the others are looked at.
const THREAD_SHARE: Duration = Duration::from_secs(5);
/// What a method may take for the composition before the next one is tried; in the end it is all that is left.
const COMPOSITION_SHARES: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(15)];
