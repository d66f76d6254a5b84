//! Rule `product`: an inductive invariant of a fixed list of instances, for each combination of their locations.
//!
//! In: symbols for each instance's locals, and for each combination of locations that can be reached a formula over the
//! shared store and all locals (one that is not listed is claimed unreachable). Out: the obligations
//!   PR1  initial stores satisfy the invariant of the entries;
//!   PR2  each action, from each combination, passes its claimed gates and leads to the invariant of the combination after it;
//!   PR3  every invariant implies each claimed invariant, and every step satisfies each claimed rely of the others.
//! While an instance is inside an atomic block only it moves, and claimed invariants are not looked at. Deliberately absent: spawning; any number of
//! threads.

use super::environments::{InstanceRenaming, InstanceStep, vet_instances};
use super::{claimable, fixed_counts, written_rely, wrong_form};
use crate::obligation::{self, AllowedSymbols, Obligation, Premise};
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{Certificate, ProductProof, Proof};
use logic::{Term, Terms};
use program::{Action, Code, LocId, Program, PropertyId, PropertyKind};
use std::collections::BTreeMap;

const PR1: Premise = Premise::new("product", "PR1");
const PR2: Premise = Premise::new("product", "PR2");
const PR3: Premise = Premise::new("product", "PR3");

pub(crate) fn check_product(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Product(proof) = &c.proof else { return Err(wrong_form()) };
    let counts = fixed_counts(session.program)?;
    let list = obligations(session.program, &c.terms, proof, &counts.0, &c.properties)?;
    session.discharge(c, list)
}

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &ProductProof,
    counts: &[u32],
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Rejection> {
    vet_instances(program, terms, &proof.instances, counts)?;
    claimable(program, claimed)?;
    let invariant = vet(program, terms, proof)?;
    let sight =
        (0..proof.instances.len()).map(|i| InstanceRenaming::new(program, terms, &proof.instances, i)).collect();
    let mut rule = Combined { program, terms, proof, claimed, invariant, sight, out: Vec::new() };
    rule.initial();
    for (at, here) in rule.invariant.clone() {
        // No other instance moves while one is inside an atomic block.
        let inside = (0..at.len()).find(|i| rule.code(*i).locations[at[*i]].in_atomic_block);
        for i in (0..at.len()).filter(|i| inside.is_none_or(|only| only == *i)) {
            for action in program.threads[proof.instances[i].thread].code.actions.iter().filter(|a| a.from == at[i]) {
                rule.step(&at, here, i, action)?;
            }
        }
        if inside.is_none() {
            rule.claimed_invariants(&at, here);
        }
    }
    Ok(rule.out)
}

struct Combined<'a> {
    program: &'a Program,
    terms: &'a Terms,
    proof: &'a ProductProof,
    claimed: &'a [PropertyId],
    invariant: BTreeMap<Vec<LocId>, Term>,
    sight: Vec<InstanceRenaming<'a>>,
    out: Vec<Obligation>,
}

impl Combined<'_> {
    fn code(&self, i: usize) -> &Code {
        &self.program.threads[self.proof.instances[i].thread].code
    }
    /// A combination that is not listed is claimed unreachable.
    fn goal(&self, at: &[LocId]) -> Term {
        self.invariant.get(at).copied().unwrap_or_else(|| self.terms.ff())
    }

    /// PR1.
    fn initial(&mut self) {
        let (p, t, n) = (self.program, self.terms, self.sight.len());
        let mut init = vec![obligation::initial_store(p, t)];
        let locals = |i: usize| obligation::initial_locals(p, t, self.proof.instances[i].thread);
        init.extend((0..n).map(|i| self.sight[i].own(locals(i))));
        let entries: Vec<LocId> = (0..n).map(|i| self.code(i).entry).collect();
        let formula = t.implies(t.and(&init), self.goal(&entries));
        self.out.push(Obligation::common(PR1, "the invariant holds initially", formula));
    }

    /// PR2, and PR3 for relies: one action of instance `i`.
    fn step(&mut self, at: &[LocId], here: Term, i: usize, action: &Action) -> Result<(), Rejection> {
        let (p, t) = (self.program, self.terms);
        let step = InstanceStep::new(p, t, &self.proof.instances, &self.sight, i, action);
        let thread = self.proof.instances[i].thread;
        let who = format!("{} (tid {}) at {}", obligation::describe_action(p, thread, action), i + 1, show(at));
        let mut known = vec![here, step.guard];
        for (property, gate) in &step.gates {
            if self.claimed.contains(property) {
                let what = format!("{who} does not violate {}", p.properties[*property].name);
                self.out.push(Obligation::of(*property, PR2, what, t.implies(t.and(&known), *gate)));
            }
            known.push(*gate);
        }
        let known = t.and(&known);
        let mut next = at.to_vec();
        next[i] = action.to;
        let formula = t.implies(known, step.after(self.goal(&next)));
        self.out.push(Obligation::common(PR2, format!("{who} keeps the invariant"), formula));
        for property in self.claimed {
            let Some((of, rely)) = written_rely(p, *property)? else { continue };
            let relies = |j: &usize| *j != i && of.is_none_or(|t| t == self.proof.instances[*j].thread);
            for j in (0..self.sight.len()).filter(relies) {
                let seen = t.substitute(rely, [(p.tid, t.int(j as i128 + 1))]);
                let what = format!("{who} satisfies the rely of tid {}", j + 1);
                self.out.push(Obligation::of(*property, PR3, what, t.implies(known, step.two_store(seen))));
            }
        }
        Ok(())
    }

    /// PR3.
    fn claimed_invariants(&mut self, at: &[LocId], here: Term) {
        for property in self.claimed {
            if let PropertyKind::Invariant(formula) = self.program.properties[*property].kind {
                let what = format!("{} follows at {}", self.program.properties[*property].name, show(at));
                self.out.push(Obligation::of(*property, PR3, what, self.terms.implies(here, formula)));
            }
        }
    }
}

fn show(at: &[LocId]) -> String {
    at.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn vet(program: &Program, terms: &Terms, proof: &ProductProof) -> Result<BTreeMap<Vec<LocId>, Term>, Rejection> {
    let of_instances = proof.instances.iter().flat_map(|i| i.locals.iter().map(|l| l.0));
    let vocabulary = AllowedSymbols::new(program, AllowedSymbols::shared(program).into_iter().chain(of_instances));
    let mut out = BTreeMap::new();
    for (at, formula) in &proof.invariant {
        let fits = at.len() == proof.instances.len()
            && at.iter().zip(&proof.instances).all(|(l, i)| program.threads[i.thread].code.locations.get(*l).is_some());
        if !fits {
            return Err(Rejection::shape("a combination of locations does not exist"));
        }
        vocabulary.admits(terms, *formula, "the invariant")?;
        if out.insert(at.clone(), *formula).is_some() {
            return Err(Rejection::shape("a combination of locations is listed twice"));
        }
    }
    Ok(out)
}
