//! Rule `product`: an inductive invariant of a fixed list of instances, for each combination of their locations.
//!
//! In: symbols for each instance's locals, and for each combination of locations that can be reached a formula over the
//! shared store and all locals (one that is not listed is claimed unreachable). Out: the obligations
//!   PR1  initial stores satisfy the invariant of the entries;
//!   PR2  each action, from each combination, passes its claimed gates and leads to the invariant of the combination after it;
//!   PR3  every invariant implies each claimed invariant, and every step satisfies each claimed rely of the others.
//! While an instance is inside an atomic block only it moves. Absent: spawning; any number of threads.

use super::environments::{Sight, Step, vet_instances};
use super::{Malformed, claimable};
use crate::obligation::{self, Obligation, Vocabulary};
use evidence::Product;
use logic::{Sort, Term, Terms};
use program::{LocId, Program, PropertyId, PropertyKind};
use std::collections::BTreeMap;

const RULE: &str = "product";

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &Product,
    counts: &[u32],
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Malformed> {
    vet_instances(program, terms, &proof.instances, counts)?;
    claimable(program, claimed)?;
    let invariant = vet(program, terms, proof)?;
    let n = proof.instances.len();
    let code = |i: usize| &program.threads[proof.instances[i].thread].code;
    let sight: Vec<Sight<'_>> = (0..n).map(|i| Sight::new(program, terms, &proof.instances, i)).collect();
    let goal = |at: &[LocId]| invariant.get(at).copied().unwrap_or_else(|| terms.ff());
    let mut init = vec![obligation::initial_store(program, terms)];
    init.extend((0..n).map(|i| sight[i].own(obligation::initial_locals(program, terms, proof.instances[i].thread))));
    let entries: Vec<LocId> = (0..n).map(|i| code(i).entry).collect();
    let mut out = vec![Obligation::common(
        RULE,
        "PR1: the invariant holds initially",
        terms.implies(terms.and(&init), goal(&entries)),
    )];
    for (at, here) in &invariant {
        let inside = (0..n).find(|i| code(*i).locations[at[*i]].inside);
        for i in (0..n).filter(|i| inside.is_none_or(|only| only == *i)) {
            for action in code(i).actions.iter().filter(|a| a.from == at[i]) {
                let step = Step::new(program, terms, &proof.instances, &sight, i, action);
                let words = format!(
                    "{} (tid {}) at {}",
                    obligation::words(program, proof.instances[i].thread, action),
                    i + 1,
                    show(at)
                );
                let mut pre = vec![*here, step.guard];
                for (property, gate) in &step.gates {
                    if claimed.contains(property) {
                        let what = format!("PR2: {words} does not violate {}", program.properties[*property].name);
                        out.push(Obligation::of(*property, RULE, what, terms.implies(terms.and(&pre), *gate)));
                    }
                    pre.push(*gate);
                }
                let pre = terms.and(&pre);
                let mut next = at.clone();
                next[i] = action.to;
                let formula = terms.implies(pre, step.after(goal(&next)));
                out.push(Obligation::common(RULE, format!("PR2: {words} keeps the invariant"), formula));
                for p in claimed {
                    let PropertyKind::Rely(r) = program.properties[*p].kind else { continue };
                    let rely = program.relies.get(r as usize).ok_or_else(|| Malformed("no such rely".into()))?;
                    let formula =
                        rely.formula.ok_or_else(|| Malformed("a rely that is asked for cannot be claimed".into()))?;
                    for j in (0..n).filter(|j| *j != i && rely.thread.is_none_or(|t| t == proof.instances[*j].thread)) {
                        let seen = terms.substitute(formula, [(program.tid, terms.int(j as i128 + 1))]);
                        let what = format!("PR3: {words} satisfies the rely of tid {}", j + 1);
                        out.push(Obligation::of(*p, RULE, what, terms.implies(pre, step.two_store(seen))));
                    }
                }
            }
        }
        // Invariants are not looked at inside atomic blocks.
        for p in claimed.iter().filter(|_| inside.is_none()) {
            if let PropertyKind::Invariant(formula) = program.properties[*p].kind {
                let what = format!("PR3: {} follows at {}", program.properties[*p].name, show(at));
                out.push(Obligation::of(*p, RULE, what, terms.implies(*here, formula)));
            }
        }
    }
    Ok(out)
}

fn show(at: &[LocId]) -> String {
    at.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn vet(program: &Program, terms: &Terms, proof: &Product) -> Result<BTreeMap<Vec<LocId>, Term>, Malformed> {
    let mut symbols = Vocabulary::shared(program);
    symbols.extend(proof.instances.iter().flat_map(|i| i.locals.iter().map(|l| l.0)));
    let vocabulary = Vocabulary::new(program, symbols);
    let mut out = BTreeMap::new();
    for (at, formula) in &proof.invariant {
        let fits = at.len() == proof.instances.len()
            && at.iter().zip(&proof.instances).all(|(l, i)| program.threads[i.thread].code.locations.get(*l).is_some());
        if !fits || terms.sort_of(*formula) != Sort::BOOL {
            return Err(Malformed(
                "a combination of locations does not exist, or its annotation is not a formula".into(),
            ));
        }
        if let Some(s) = vocabulary.stranger(terms, *formula) {
            return Err(Malformed(format!("the invariant mentions `{}`, which it may not", terms.symbol_name(s))));
        }
        if out.insert(at.clone(), *formula).is_some() {
            return Err(Malformed("a combination of locations is listed twice".into()));
        }
    }
    Ok(out)
}
