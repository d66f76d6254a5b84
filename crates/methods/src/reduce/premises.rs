//! Which written invariants every step of the program keeps, whoever takes it: the premises of the rest (RD7).
//!
//! In: the program without calls. Out: the largest set of written invariants that initial stores satisfy and that each step of
//! all its code keeps, given its guard and gates and nothing of where it stands. An invariant that needs more than that is left
//! to the methods that prove invariants, and is no premise here.
//! Deliberately absent: relies; what holds at single locations.

use crate::infer::houdini::refuted_goals;
use crate::method::Run;
use evidence::Reason;
use logic::Term;
use program::call_summaries::CallSummaries;
use program::transition::{after_action, initial_store};
use program::{Code, Program, PropertyId, PropertyKind};
use solver::{Smt, SolverSettings, Z3};
use std::collections::BTreeSet;

/// The formulas of these invariants.
pub(crate) fn formulas(p: &Program, premises: &[PropertyId]) -> Vec<Term> {
    let formula = |q: &PropertyId| match p.properties[*q].kind {
        PropertyKind::Invariant(formula) => Some(formula),
        _ => None,
    };
    premises.iter().filter_map(formula).collect()
}

/// The invariants that every step keeps.
pub(crate) fn kept(basis: &CallSummaries, run: &Run) -> Result<Vec<PropertyId>, Reason> {
    let p = &basis.program;
    let invariant = |kind: &PropertyKind| matches!(kind, PropertyKind::Invariant(_));
    let mut list: Vec<PropertyId> =
        p.properties.iter_enumerated().filter(|(_, x)| invariant(&x.kind)).map(|(q, _)| q).collect();
    let spawns = |code: &Code| code.actions.iter().any(|a| a.spawn.is_some());
    if list.is_empty() || p.threads.iter().any(|t| spawns(&t.code)) {
        return Ok(Vec::new());
    }
    let terms = p.terms.clone();
    let settings = SolverSettings { seed: run.seed as u32, limit: 1_000_000, ..SolverSettings::default() };
    let mut smt = Z3::new(&terms, settings, &run.budget).map_err(|r| Reason::Internal(r.to_string()))?;
    // What initial stores satisfy, then what every step keeps, given all that is left.
    smt.push();
    smt.assert(initial_store(p, &terms));
    let goals = |list: &[PropertyId]| -> Vec<Term> { list.iter().map(|q| terms.and(&formulas(p, &[*q]))).collect() };
    let refuted = refuted_goals(&terms, &goals(&list), &[], &mut smt);
    drop_refuted(&mut list, &refuted);
    smt.pop();
    let ops = p.objects.iter().flat_map(|o| o.ops.iter().map(|op| (&op.code, None)));
    let units: Vec<_> = basis.units.iter().map(|u| (basis.code(u.unit), Some(u))).chain(ops).collect();
    let mut facts = vec![terms.lt(terms.int(0), terms.sym(p.tid))];
    facts.extend(program::access::constant_facts(p, &terms));
    loop {
        let before = list.len();
        for (code, unit) in &units {
            for (id, a) in code.actions.iter_enumerated() {
                run.budget.check().map_err(Reason::Exhausted)?;
                // What a callee performs is not a step of any thread: its code's steps are looked at instead.
                if a.relation.is_some() && unit.is_some_and(|u| u.of_calls.contains(&id)) {
                    continue;
                }
                let (now, effect) = (goals(&list), after_action(p, a));
                let after = |f: &Term| {
                    let after = terms.substitute(*f, effect.iter().copied());
                    if after == *f { terms.tt() } else { after }
                };
                let after: Vec<Term> = now.iter().map(after).collect();
                smt.push();
                facts.iter().chain(&now).for_each(|f| smt.assert(*f));
                a.gates.iter().map(|g| g.formula).chain([a.guard]).for_each(|f| smt.assert(f));
                drop_refuted(&mut list, &refuted_goals(&terms, &after, &[], &mut smt));
                smt.pop();
            }
        }
        if list.len() == before {
            return Ok(list);
        }
    }
}

fn drop_refuted(list: &mut Vec<PropertyId>, refuted: &BTreeSet<usize>) {
    let kept = list.iter().enumerate().filter(|(i, _)| !refuted.contains(i)).map(|(_, q)| *q);
    *list = kept.collect();
}
