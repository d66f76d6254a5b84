//! `count`: any number of threads, by counting how many are in each local situation.
//!
//! In: a program with threads `T[*]` (or `T[n]`). Out: proofs for every number of instances, as an inductive invariant
//! over the shared store and the counters (rule `counting`). Horn clauses indexed by the control of the single threads
//! are solved by Spacer; place invariants found by exact elimination are given to it as lemmas. Locals of infinite range are
//! split by the numbers they are compared with, and what else is forgotten is said; then a proof is still a proof and
//! the lack of one means nothing. Deliberately absent: bugs (`explore` looks for them with growing numbers of threads).

mod encode;
mod houdini;
mod instances;
mod joint;
mod lemmas;
mod marked;
mod places;
mod relies;
mod samples;
mod seen;
mod system;
#[cfg(test)]
mod tests;
mod wide;

use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use evidence::{Certificate, Claim, Claims, Counter, Counting, Proof, Reason};
use houdini::InductiveFacts;
use logic::Term;
use program::{PropertyId, PropertyKind};
use solver::{Smt, SolverSettings, Z3};
use std::collections::BTreeSet;
use std::sync::Arc;
use system::CountedSystem;
use wide::Wide;

pub struct Count;

impl Method for Count {
    fn about(&self) -> MethodDescription {
        MethodDescription {
            name: "count",
            summary: "any number of threads, by counting the threads at each location",
            paper: "beyond the papers: counting abstraction, with place invariants as lemmas",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        let p = &task.program;
        let refuse = |why: &str| Err(Refusal(why.into()));
        if !p.threads.ids().any(|t| system::is_counted(p, t)) {
            return refuse("no thread comes in several copies");
        }
        if wanted(task).is_empty() {
            return refuse("no property that a count of threads can show");
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let wanted = wanted(task);
        let p = &task.program;
        let terms = p.terms.clone();
        let settings = SolverSettings { seed: run.seed as u32, ..SolverSettings::default() };
        // Spacer's work is one long question.
        let patient = SolverSettings { limit: 1_000_000_000, ..settings };
        let mut smt = match Z3::new(&terms, settings, &run.budget) {
            Ok(smt) => smt,
            Err(why) => return Claims::undecided(wanted, Reason::Internal(why.to_string())),
        };
        run.progress("count: finding the local situations");
        let mut system = match CountedSystem::new(p, &terms, &mut smt) {
            Ok(system) => system,
            Err(_) => return Claims::undecided(wanted, Reason::NotAdmitted("too many local situations".into())),
        };
        relies::find_cell_facts(&mut system, &[], None, &mut smt);
        run.progress(format!("count: {} cells, {} moves; Horn clauses", system.cells.len(), system.moves.len()));
        let mut claims = Claims::default();
        claims.statistics.insert("cells".into(), system.cells.len() as u64);
        claims.statistics.insert("moves".into(), system.moves.len() as u64);
        let combinations = match encode::combinations(&system) {
            Ok(combinations) => combinations,
            Err(reason) => return Claims::undecided(wanted, reason),
        };
        run.progress("count: facts that no step breaks");
        let prove = |system: &CountedSystem<'_>, properties: Vec<PropertyId>, invariant: encode::Invariant| {
            Claim::Proved(Arc::new(Certificate {
                method: "count".into(),
                terms: terms.clone(),
                properties,
                proof: Proof::Counting(Box::new(certificate(system, invariant))),
            }))
        };
        // What follows from inductive facts alone needs no search for an invariant.
        let (mut open, mut facts) = (wanted.clone(), Vec::new());
        for round in [CountRound::First, CountRound::Second, CountRound::Third, CountRound::Fourth] {
            let mut guesses = Vec::new();
            match round {
                CountRound::First => {}
                // With the facts, instances may rely on more, and with that more facts may hold.
                CountRound::Second => {
                    let known = premises(&system, &facts);
                    relies::find_cell_facts(&mut system, &known, None, &mut smt);
                }
                CountRound::Third => {
                    run.progress("count: Horn clauses");
                    let short = SolverSettings { limit: FIRST_SPACER_RESOURCES, ..settings };
                    if let Ok(found) =
                        encode::solve_counted(&system, &wanted, &facts, &combinations, &short, &run.budget)
                    {
                        let claim = prove(&system, wanted.clone(), found);
                        wanted.iter().for_each(|w| claims.set(*w, claim.clone()));
                        return claims;
                    }
                    run.progress("count: more that instances may rely on");
                    let wide = Wide::of(&system);
                    if !wide.is_small(&system) {
                        break;
                    }
                    facts.extend(wide.facts(&system, &premises(&system, &facts), &mut smt));
                    facts = InductiveFacts::new(&system, facts, &mut smt).close(&mut smt);
                    let known = premises(&system, &facts);
                    relies::find_cell_facts(&mut system, &known, Some(&wide), &mut smt);
                    guesses = wide.facts(&system, &known, &mut smt);
                }
                CountRound::Fourth => {
                    run.progress("count: facts and what instances may rely on, together");
                    facts = together(&mut system, facts, &mut smt);
                }
            }
            guesses.extend(lemmas::candidates(&system, &mut smt));
            guesses.append(&mut facts);
            let kept = InductiveFacts::new(&system, guesses, &mut smt);
            // Whoever composes proofs needs one certificate for everything, so all properties are asked for again.
            let bad = system.bad(&wanted);
            let excluded = kept.exclude(&bad, &mut smt);
            let failing: BTreeSet<PropertyId> =
                bad.iter().zip(&excluded).filter(|(_, fine)| !**fine).map(|(b, _)| b.property).collect();
            let shown: Vec<PropertyId> = wanted.iter().copied().filter(|w| !failing.contains(w)).collect();
            facts = kept.close(&mut smt);
            if shown.iter().any(|w| open.contains(w)) {
                let (needed, relied) = joint::needed(&system, &facts, &shown, &mut smt);
                let mut small = system.clone();
                joint::rely_on(&mut small, &relied);
                claims.statistics.insert("facts".into(), needed.len() as u64);
                let claim = prove(&small, shown.clone(), encode::of_facts(&small, &needed, &combinations));
                shown.iter().for_each(|w| claims.set(*w, claim.clone()));
                run.publish(&claims);
            }
            open.retain(|w| failing.contains(w));
            if open.is_empty() {
                return claims;
            }
        }
        run.progress("count: Horn clauses");
        // All together first: one invariant usually shows everything. Else one by one.
        let mut groups: Vec<Vec<PropertyId>> = vec![wanted.clone()];
        if open.len() > 1 {
            groups.extend(open.iter().map(|w| vec![*w]));
        }
        let mut waiting = groups.len() as u32;
        for group in groups {
            waiting -= 1;
            if group.iter().all(|w| matches!(claims.claims.get(w), Some(Claim::Proved(_)))) {
                continue;
            }
            // Nobody takes the time of those that come after.
            let budget = match run.budget.time_left() {
                Some(left) if waiting > 0 => run.budget.child().with_time(left / 2),
                _ => run.budget.clone(),
            };
            let claim = match encode::solve_counted(&system, &group, &facts, &combinations, &patient, &budget) {
                Ok(invariant) => prove(&system, group.clone(), invariant),
                Err(reason) => Claim::Undecided(forgetful(&system, reason)),
            };
            let proved = matches!(claim, Claim::Proved(_));
            group.iter().filter(|w| proved || open.contains(w)).for_each(|w| claims.set(*w, claim.clone()));
            run.publish(&claims);
        }
        claims
    }
}

/// Facts as they may be assumed.
fn premises(system: &CountedSystem<'_>, facts: &[Term]) -> Vec<Term> {
    facts.iter().map(|f| system.instances.premise(system.terms, *f)).collect()
}

/// Facts that rest on what instances rely on, which rests on the facts: all candidates of both kinds, without those that do not
/// hold given the rest. What is known, and what instances rely on already, hold given each other.
fn together(system: &mut CountedSystem<'_>, mut known: Vec<Term>, smt: &mut dyn Smt) -> Vec<Term> {
    let wide = Wide::of(system);
    let mut always = premises(system, &known);
    let mut facts = wide.facts(system, &always, smt);
    facts.extend(lemmas::candidates(system, smt));
    facts.retain(|f| !known.contains(f));
    facts = houdini::initially(system, facts, smt);
    always.extend(system.facts().into_iter().chain(system.control()));
    let candidates = relies::candidates(system, Some(&wide), smt);
    known.extend(joint::find(system, always, &facts, candidates, smt));
    known
}

/// What Spacer may spend before more candidates are tried.
const FIRST_SPACER_RESOURCES: u32 = 10_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CountRound {
    First,
    Second,
    /// With more candidates.
    Third,
    /// With all candidates at once.
    Fourth,
}

fn certificate(system: &CountedSystem<'_>, invariant: encode::Invariant) -> Counting {
    let counters = system.cells.iter().zip(&system.holds).map(|(c, holds)| Counter {
        thread: c.thread,
        location: c.location,
        cell: c.formula,
        holds: *holds,
        symbol: c.symbol,
    });
    Counting {
        unique_threads: system.unique_threads.iter().map(|s| (s.thread, s.tid)).collect(),
        counters: counters.collect(),
        peer_copy: system.peer_copy.clone(),
        pairwise: system.pairwise.iter().map(|((a, b), f)| (*a, *b, *f)).collect(),
        exclusive: system.exclusive.iter().copied().collect(),
        invariant,
    }
}

/// Says what the abstraction forgot, where that may be why nothing was found.
fn forgetful(system: &CountedSystem<'_>, reason: Reason) -> Reason {
    let names: Vec<&str> = system.forgotten.iter().map(|v| system.program.vars[*v].name.as_str()).collect();
    match reason {
        Reason::Alarm(what) if !names.is_empty() => {
            Reason::Alarm(format!("{what}; the values of {} were forgotten", names.join(", ")))
        }
        other => other,
    }
}

/// The properties that live in gates of threads, invariants, and relies where every step is one that others see.
fn wanted(task: &Task) -> Vec<PropertyId> {
    let p = &task.program;
    let gated = |w: PropertyId| {
        p.threads.iter().any(|t| t.code.actions.iter().any(|a| a.gates.iter().any(|g| g.property == w)))
    };
    let inside = p.threads.iter().any(|t| t.code.locations.iter().any(|l| l.in_atomic_block));
    let shown = |w: &PropertyId| match p.properties[*w].kind {
        PropertyKind::Invariant(_) => true,
        PropertyKind::Rely(r) => !inside && p.relies[r as usize].formula.is_some(),
        _ => gated(*w),
    };
    task.properties.iter().copied().filter(shown).collect()
}
