//! Rule `performed`: calls in threads that follow a machine are what the callees perform.
//!
//! In: a reduction of the program each step of which is asked for access first, and a simulation or a composition of the program in
//! which threads that follow a machine call by specification; both programs are built again here. Out: what they establish together.
//!   PC1  every check of a thread that the reduction does not show looks only at what the access checks of its step, and the
//!        guard, allow the thread to touch.
//!   PC2  the reduction shows that every procedure so called performs its specification, that no check inside one fails, and that
//!        no thread breaks an access predicate; and everything that the program inside leaves out because the reduction shows it;
//!   PC3  the proof inside establishes the claim of the program that calls by specification.
//! Why the whole is sound (Calvin-R after Lipton, then Abstract Threads). Take a run of the program to the first step that
//! goes wrong. The reduction shows that no access check fails in it, nor a check inside a callee that is called by
//! specification. So a check in the own code of some thread `u` fails, all steps before kept to the access predicates, and by
//! PC1 the failing check looks only at places that `u` may touch. Now the runs inside each call of each thread that follows a
//! machine are made contiguous, one thread after the other. A last run that has not committed is left out: no other thread
//! may touch what its right movers touched, so the others' steps and the failing check see the same. A last run that has
//! committed is ended before the failing step: RD6 says that it can be, and its left movers touch nothing that `u` may touch.
//! Every call is then a sequence of actions that its specification allows, and the same check fails: in the program that
//! calls by specification. That program's threads follow their machines, so the composition goes wrong too (Theorem 1).
//! Deliberately absent: invariants, which may fail inside a call where the composition has no store.

use super::wrong_form;
use crate::obligation::{self, Obligation, Premise};
use crate::rejection::{Rejection, SideCondition};
use crate::session::{CheckSession, Established};
use evidence::{Certificate, PerformedProof, Proof, Reduction};
use logic::{Term, Terms};
use program::access::{Touches, constant_facts, predicate};
use program::call_summaries::{access_first, of_inlining};
use program::symbolic::SymbolicStore;
use program::transition::gated_properties;
use program::{Gate, Program, PropertyId, PropertyKind};

const PC1: Premise = Premise::new("performed", "PC1");

pub(crate) fn check_performed(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Performed(proof) = &c.proof else { return Err(wrong_form()) };
    if !matches!(proof.proof.proof, Proof::Simulation(_) | Proof::Composed(_)) {
        return Err(Rejection::missing("inside is neither a simulation nor a composition"));
    }
    let Proof::Reduction(reduction) = &proof.calls.proof else {
        return Err(Rejection::missing("calls are shown by a reduction"));
    };
    let program = session.program;
    let by_specification = proof.program(program).map_err(Rejection::outside)?;
    speaks_of_all(program, &by_specification, proof, &c.properties)?;
    let calls = session.check_inner(&access_first(program), &proof.calls)?;
    calls_are_shown(program, proof, &calls)?;
    let shown: Vec<PropertyId> = calls.properties.iter().filter(|(_, r)| r.is_ok()).map(|(q, _)| *q).collect();
    let touched = session.discharge(&proof.calls, obligations(program, &proof.calls.terms, reduction, &shown)?)?;
    let found = session.check_inner(&by_specification, &proof.proof)?;
    let of = |q: &PropertyId| match found.properties.get(q) {
        None if of_inlining(program, *q) => Ok(()),
        _ => found.shows(*q),
    };
    let trust = calls.trust.and(touched.trust).and(found.trust.clone());
    Ok(Established { trust, properties: c.properties.iter().map(|q| (*q, of(q))).collect() })
}

/// The rule says something about each property, and the proof inside claims it. What stands only where a recursive call was inlined is
/// met by neither part.
fn speaks_of_all(
    program: &Program,
    by_specification: &Program,
    proof: &PerformedProof,
    claimed: &[PropertyId],
) -> Result<(), Rejection> {
    let gated = gated_properties(by_specification);
    for q in claimed {
        let said = match program.properties[*q].kind {
            PropertyKind::Unmodelled(_) if of_inlining(program, *q) => continue,
            PropertyKind::Follows(_) => true,
            PropertyKind::Invariant(_) | PropertyKind::Access(_) | PropertyKind::Unmodelled(_) => false,
            _ => gated.contains(q),
        };
        if !said || !proof.proof.properties.contains(q) {
            return Err(Rejection::not_about(program, *q));
        }
    }
    Ok(())
}

/// PC2.
fn calls_are_shown(program: &Program, proof: &PerformedProof, calls: &Established) -> Result<(), Rejection> {
    let needed = evidence::needed_of_calls(program, &proof.calls).map_err(Rejection::missing)?;
    for q in needed.into_iter().chain(evidence::shown_of_calls(program, &proof.calls)) {
        match calls.properties.get(&q) {
            Some(Ok(())) => {}
            Some(Err(rejection)) => return Err(rejection.clone()),
            None => {
                let name = &program.properties[q].name;
                return Err(Rejection::missing(format!("PC2: {name} is not shown of the calls")));
            }
        }
    }
    Ok(())
}

/// PC1. The terms are the reduction's: they extend those of its program without calls.
pub(crate) fn obligations(
    program: &Program,
    terms: &Terms,
    calls: &Reduction,
    shown: &[PropertyId],
) -> Result<Vec<Obligation>, Rejection> {
    let basis = calls.basis(&access_first(program)).map_err(Rejection::outside)?.specified;
    if !terms.extends(&basis.program.terms) {
        return Err(SideCondition::AnotherProgram.into());
    }
    let (p, t) = (&basis.program, terms);
    let touches = Touches::new(p, t);
    let mut facts = vec![t.lt(t.int(0), t.sym(p.tid))];
    facts.extend(constant_facts(p, t));
    let access = |q| matches!(p.properties[q].kind, PropertyKind::Access(_));
    let mut out = Vec::new();
    for (id, thread) in p.threads.iter_enumerated() {
        for action in thread.code.actions.iter() {
            let mut passed = facts.clone();
            passed.push(action.guard);
            passed.extend(action.gates.iter().filter(|g| access(g.property)).map(|g| g.formula));
            let open = |g: &&Gate| !access(g.property) && !shown.contains(&g.property);
            let checks = action.gates.iter().filter(open).map(|g| g.formula);
            let needed: Vec<Term> = [action.guard]
                .into_iter()
                .chain(checks)
                .flat_map(|f| touches.of_term(f))
                .filter_map(|x| {
                    let may = predicate(p, t, &x.place, x.mode, t.sym(p.tid), &SymbolicStore::default())?;
                    Some(t.implies(x.when, may.formula))
                })
                .collect();
            if !needed.is_empty() && action.gates.iter().any(|g| open(&g)) {
                let what = format!("the checks of {}", obligation::describe_action(p, id, action));
                out.push(Obligation::common(PC1, what, t.implies(t.and(&passed), t.and(&needed))));
            }
        }
    }
    Ok(out)
}
