//! Written invariants and relies that a proof of rule `reduction` rests on.
//!
//! In: the program without calls, the properties that a certificate names as premises, and those of its relies that last. Out:
//! their formulas for each unit. What must hold of them is shown in `premises_hold`.
//! Deliberately absent: programs that spawn; what holds only where a thread stands.

use crate::rejection::Rejection;
use evidence::Reduction;
use logic::{Term, Terms};
use program::call_summaries::CodeUnit;
use program::movers::{LastingPromise, Others};
use program::{Code, Program, PropertyId, PropertyKind, ThreadId};

/// A written rely: over a store and the one after a step (primed); `tid` is who relies on it.
#[derive(Clone, Copy)]
pub(super) struct WrittenRely {
    /// Who may: one thread's instances, or everybody.
    pub(super) of: Option<ThreadId>,
    pub(super) formula: Term,
    /// Whether it holds of any number of steps of others together.
    pub(super) lasts: bool,
}

pub(super) struct WrittenPremises {
    /// Holds of every store.
    pub(super) invariant: Term,
    pub(super) relies: Vec<WrittenRely>,
}

impl WrittenPremises {
    pub(super) fn of(p: &Program, terms: &Terms, proof: &Reduction) -> Result<Self, Rejection> {
        let spawns = |code: &Code| code.actions.iter().any(|a| a.spawn.is_some());
        if !proof.premises.is_empty() && p.threads.iter().any(|t| spawns(&t.code)) {
            return Err(Rejection::outside("premises are for programs that spawn nothing"));
        }
        let no_premise = || Rejection::shape("a premise is neither an invariant nor a rely of the program");
        let (mut invariants, mut relies) = (Vec::new(), Vec::new());
        for q in &proof.premises {
            match p.properties.get(*q).map(|x| &x.kind).ok_or_else(no_premise)? {
                PropertyKind::Invariant(formula) => invariants.push(*formula),
                PropertyKind::Rely(at) => {
                    let rely = p.relies.get(*at as usize).ok_or_else(no_premise)?;
                    let formula = rely.formula.ok_or_else(no_premise)?;
                    relies.push(WrittenRely { of: rely.thread, formula, lasts: proof.lasting.contains(q) });
                }
                _ => return Err(no_premise()),
            }
        }
        let is_rely = |q: &PropertyId| matches!(p.properties[*q].kind, PropertyKind::Rely(_));
        if proof.lasting.iter().any(|q| !proof.premises.contains(q) || !is_rely(q)) {
            return Err(Rejection::shape("what lasts is no rely among the premises"));
        }
        Ok(Self { invariant: terms.and(&invariants), relies })
    }

    pub(super) fn together(&self, terms: &Terms, which: impl Fn(&WrittenRely) -> bool) -> Term {
        terms.and(&self.relies.iter().filter(|r| which(r)).map(|r| r.formula).collect::<Vec<_>>())
    }

    /// What an instance of the unit may rely on of one step of another thread.
    pub(super) fn of_a_step(&self, terms: &Terms, unit: CodeUnit) -> Term {
        self.together(terms, |r| concerns(r.of, unit))
    }

    /// The other threads, as the unit may rely on them.
    pub(super) fn others<'a>(&self, p: &'a Program, terms: &'a Terms, unit: CodeUnit) -> Others<'a> {
        let rely = self.together(terms, |r| r.lasts && concerns(r.of, unit));
        Others::new(p, terms).relying(LastingPromise { rely, invariant: self.invariant })
    }
}

/// Whether who runs the unit is among those that rely.
fn concerns(of: Option<ThreadId>, unit: CodeUnit) -> bool {
    of.is_none_or(|t| unit == CodeUnit::Thread(t))
}
