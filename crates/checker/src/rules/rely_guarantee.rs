//! Rule `rely-guarantee`: assume-guarantee reasoning for any number of instances (Calvin, sections 4 and 5; Threader's
//! CS1 to CS5 in the thread-modular, symmetric case).
//!
//! In: an invariant I of the shared store; for each thread T a formula at_T[l] for each location, a guarantee G_T and a
//! rely A_T (two-store formulas). Out: the obligations
//!   RG1  every initial store satisfies I, and with initial locals at_T[entry];
//!   RG2  each action of T from I and at_T[from], with its guard, passes its gates of the properties claimed, and leads to
//!        I and at_T[to];
//!   RG3  each action of T satisfies G_T;
//!   RG4  G_U implies A_T for every other instance (different tid), also of the same thread unless it has one copy;
//!   RG5  at_T[l] is stable under A_T (between stores that satisfy I); where no rely is given, under each other's G_U;
//!   RG6  I implies each invariant claimed; G_U implies each written rely claimed;
//!   RG7  a spawned instance starts with at_T[entry].
//! Steps inside atomic blocks are treated like any other: more interleavings than there are, never fewer.
//! A step that fails a gate ends the run, so later obligations may assume all gates, claimed or not.
//! Absent: `Performs`, `Follows`, `Linearizable`, `Deadlock`: this rule cannot speak of them.

use super::{Malformed, claimable};
use crate::obligation::{self, Obligation, Vocabulary};
use evidence::{Annotation, RelyGuarantee};
use logic::{Term, Terms};
use program::{Copies, Program, PropertyId, PropertyKind, Start, ThreadId};

const RULE: &str = "rely-guarantee";

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &RelyGuarantee,
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Malformed> {
    let annotations = vet(program, terms, proof, claimed)?;
    let mut out = Vec::new();
    let tid = terms.sym(program.tid);
    let positive = terms.lt(terms.int(0), tid);
    let init = obligation::initial_store(program, terms);
    let inv = proof.invariant;
    out.push(Obligation::common(RULE, "the invariant holds initially", terms.implies(init, inv)));

    for a in &annotations {
        let thread = &program.threads[a.thread];
        let code = &thread.code;
        if thread.start == Start::AtOnce {
            let pre = terms.and(&[init, obligation::initial_locals(program, terms, a.thread), positive]);
            out.push(Obligation::common(
                RULE,
                format!("thread {} starts as annotated", thread.name),
                terms.implies(pre, a.at[code.entry.0 as usize]),
            ));
        }
        for action in code.actions.iter() {
            let who = obligation::words(program, a.thread, action);
            let mut pre = vec![positive, inv, a.at[action.from.0 as usize], action.guard];
            for gate in &action.gates {
                if claimed.contains(&gate.property) {
                    out.push(Obligation::of(
                        gate.property,
                        RULE,
                        format!("{who} does not violate {}", program.properties[gate.property].name),
                        terms.implies(terms.and(&pre), gate.formula),
                    ));
                }
                pre.push(gate.formula);
            }
            let pre = terms.and(&pre);
            let post = terms.and(&[inv, a.at[action.to.0 as usize]]);
            out.push(Obligation::common(
                RULE,
                format!("{who} leads to the annotation after it"),
                terms.implies(pre, obligation::after(program, terms, action, post)),
            ));
            out.push(Obligation::common(
                RULE,
                format!("{who} keeps the guarantee"),
                terms.implies(pre, obligation::two_store(program, terms, action, a.guarantee)),
            ));
            if let Some(spawn) = &action.spawn {
                let target = annotations.iter().find(|b| b.thread == spawn.thread).expect("every thread is annotated");
                let start = program.threads[spawn.thread].code.entry;
                // The new instance's own symbols, renamed: its parameters are the arguments, its other locals as declared.
                let new_tid = terms.symbol("new_tid", logic::Sort::INT);
                let mut renaming = vec![(program.tid, terms.sym(new_tid))];
                let mut given = vec![terms.lt(terms.int(0), terms.sym(new_tid)), terms.ne(terms.sym(new_tid), tid)];
                for v in &program.threads[spawn.thread].locals {
                    let var = &program.vars[*v];
                    let copy = terms.sym(terms.symbol(format!("{}.new", var.name), var.sort));
                    renaming.push((var.symbol, copy));
                    if let Some(i) = program.threads[spawn.thread].params.iter().position(|p| p == v) {
                        given.push(terms.eq(copy, spawn.args[i]));
                    } else if let Some(value) = var.initial {
                        given.push(terms.eq(copy, value));
                    }
                }
                // The shared store is the one after the step; the id may also be stored by the step itself.
                let started = terms.substitute(target.at[start.0 as usize], renaming);
                let formula = terms
                    .implies(terms.and(&[pre, terms.and(&given)]), obligation::after(program, terms, action, started));
                out.push(Obligation::common(RULE, format!("{who} starts the thread as annotated"), formula));
                if spawn.into.is_some() {
                    return Err(Malformed("a spawn that keeps the thread's id is outside this rule".into()));
                }
            }
        }
    }

    let other = terms.symbol("other_tid", logic::Sort::INT);
    let distinct = terms.and(&[positive, terms.lt(terms.int(0), terms.sym(other)), terms.ne(tid, terms.sym(other))]);
    let inv_after = obligation::primed_shared(program, terms, inv);
    for a in &annotations {
        let steps: Vec<(ThreadId, Term)> = annotations
            .iter()
            .filter(|b| a.thread != b.thread || program.threads[a.thread].copies != Copies::One)
            .map(|b| (b.thread, terms.substitute(b.guarantee, [(program.tid, terms.sym(other))])))
            .collect();
        if let Some(rely) = a.rely {
            for (thread, step) in &steps {
                let (theirs, ours) = (&program.threads[*thread].name, &program.threads[a.thread].name);
                let pre = terms.and(&[distinct, inv, inv_after, *step]);
                out.push(Obligation::common(
                    RULE,
                    format!("steps of {theirs} are steps that {ours} relies on"),
                    terms.implies(pre, rely),
                ));
            }
        }
        let moves: Vec<Term> = match a.rely {
            Some(rely) => vec![terms.and(&[positive, rely])],
            None => steps.iter().map(|(_, step)| terms.and(&[distinct, *step])).collect(),
        };
        let code = &program.threads[a.thread].code;
        for at in code.locations.ids().filter(|at| !code.locations[*at].inside) {
            let here = a.at[at.0 as usize];
            let stays = obligation::primed_shared(program, terms, here);
            for step in &moves {
                let pre = terms.and(&[inv, inv_after, here, *step]);
                let what = format!("{} is stable", obligation::location_words(program, code, a.thread, at));
                out.push(Obligation::common(RULE, what, terms.implies(pre, stays)));
            }
        }
    }

    for p in claimed {
        match &program.properties[*p].kind {
            PropertyKind::Invariant(formula) => out.push(Obligation::of(
                *p,
                RULE,
                format!("the invariant implies {}", program.properties[*p].name),
                terms.implies(inv, *formula),
            )),
            PropertyKind::Rely(at) => rely_property(program, terms, inv, &annotations, (*p, *at), &mut out)?,
            _ => {}
        }
    }
    Ok(out)
}

/// Each step of each instance satisfies the written rely of every other instance it is written for.
fn rely_property(
    program: &Program,
    terms: &Terms,
    inv: Term,
    annotations: &[&Annotation],
    (property, at): (PropertyId, u32),
    out: &mut Vec<Obligation>,
) -> Result<(), Malformed> {
    let rely = program.relies.get(at as usize).ok_or_else(|| Malformed("no such rely".into()))?;
    let formula = rely.formula.ok_or_else(|| Malformed("a rely that is asked for cannot be claimed".into()))?;
    let (tid, watcher) = (terms.sym(program.tid), terms.symbol("watching_tid", logic::Sort::INT));
    let seen = terms.substitute(formula, [(program.tid, terms.sym(watcher))]);
    for t in watchers(program, rely.thread) {
        // A rely of one thread may mention only shared variables and tid, so the watcher's locals do not occur.
        for b in annotations {
            if b.thread == t && program.threads[t].copies == Copies::One {
                continue;
            }
            let pre = terms.and(&[
                terms.lt(terms.int(0), tid),
                terms.lt(terms.int(0), terms.sym(watcher)),
                terms.ne(tid, terms.sym(watcher)),
                inv,
                b.guarantee,
            ]);
            out.push(Obligation::of(
                property,
                RULE,
                format!("steps of {} satisfy the rely of {}", program.threads[b.thread].name, program.threads[t].name),
                terms.implies(pre, seen),
            ));
        }
    }
    Ok(())
}

fn watchers(program: &Program, only: Option<ThreadId>) -> Vec<ThreadId> {
    program.threads.ids().filter(|t| only.is_none_or(|o| o == *t)).collect()
}

/// The certificate fits the program: every thread annotated once, every formula over the symbols it may mention, every
/// property of a kind this rule speaks of.
fn vet<'a>(
    program: &Program,
    terms: &Terms,
    proof: &'a RelyGuarantee,
    claimed: &[PropertyId],
) -> Result<Vec<&'a Annotation>, Malformed> {
    let shared = Vocabulary::shared(program);
    let primed = Vocabulary::shared_primed(program);
    let see = |v: &Vocabulary, formula: Term, what: &str| match v.stranger(terms, formula) {
        None if terms.sort_of(formula) == logic::Sort::BOOL => Ok(()),
        None => Err(Malformed(format!("{what} is not a formula"))),
        Some(s) => Err(Malformed(format!("{what} mentions `{}`, which it may not", terms.symbol_name(s)))),
    };
    see(&Vocabulary::new(program, shared.clone()), proof.invariant, "the invariant")?;
    let mut found = Vec::new();
    for t in program.threads.ids() {
        let mut of = proof.threads.iter().filter(|a| a.thread == t);
        let (Some(a), None) = (of.next(), of.next()) else {
            return Err(Malformed(format!("thread {} needs exactly one annotation", program.threads[t].name)));
        };
        if a.at.len() != program.threads[t].code.locations.len() {
            return Err(Malformed(format!(
                "thread {} has {} locations, annotated are {}",
                program.threads[t].name,
                program.threads[t].code.locations.len(),
                a.at.len()
            )));
        }
        if !program.threads[t].code.calls.is_empty() {
            return Err(Malformed("the code of a thread has a call in it".into()));
        }
        let mut at_symbols = shared.clone();
        at_symbols.push(program.tid);
        at_symbols.extend(Vocabulary::locals(program, t));
        let at_vocabulary = Vocabulary::new(program, at_symbols.iter().copied());
        for (i, formula) in a.at.iter().enumerate() {
            see(&at_vocabulary, *formula, &format!("the annotation of {} at L{i}", program.threads[t].name))?;
        }
        let two = Vocabulary::new(program, shared.iter().chain(&primed).copied().chain([program.tid]));
        see(&two, a.guarantee, "a guarantee")?;
        if let Some(rely) = a.rely {
            see(&two, rely, "a rely")?;
        }
        found.push(a);
    }
    if found.len() != proof.threads.len() {
        return Err(Malformed("an annotation of a thread that is not there".into()));
    }
    claimable(program, claimed)?;
    Ok(found)
}
