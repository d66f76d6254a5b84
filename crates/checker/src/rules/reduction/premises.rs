//! Written invariants and relies that a proof of rule `reduction` rests on.
//!
//! In: the program without calls, the properties that a certificate names as premises, and those of its relies that last. Out:
//! their formulas for each unit; those that speak of hidden variables apart. What must hold of them is shown in `premises_hold`.
//! Deliberately absent: programs that spawn; what holds only where a thread stands.

use crate::obligation::AllowedSymbols;
use crate::rejection::Rejection;
use evidence::Reduction;
use logic::{Symbol, Term, Terms};
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
    /// Holds of every store, and speaks of no hidden variable.
    pub(super) invariant: Term,
    /// Holds of every store of the program itself: it speaks of hidden variables, which only their owners see.
    pub(super) of_hidden: Term,
    pub(super) relies: Vec<WrittenRely>,
}

impl WrittenPremises {
    pub(super) fn of(p: &Program, terms: &Terms, proof: &Reduction) -> Result<Self, Rejection> {
        let hidden: Vec<Symbol> = proof.hidden.iter().flat_map(|v| [p.vars[*v].symbol, p.vars[*v].primed]).collect();
        let names_hidden = |f: Term| terms.free_symbols(f).iter().any(|s| hidden.contains(s));
        let spawns = |code: &Code| code.actions.iter().any(|a| a.spawn.is_some());
        if !(proof.premises.is_empty() && proof.found.is_empty()) && p.threads.iter().any(|t| spawns(&t.code)) {
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
        if relies.iter().any(|r| names_hidden(r.formula)) {
            return Err(Rejection::shape("a rely among the premises speaks of a hidden variable"));
        }
        // Steps put other terms in the place of what an invariant mentions.
        let codes = p.threads.iter().map(|t| &t.code).chain(p.procedures.iter().map(|q| &q.code));
        let codes = codes.chain(p.objects.iter().flat_map(|o| o.ops.iter().map(|op| &op.code)));
        let chosen: Vec<Symbol> = codes.flat_map(|c| c.actions.iter()).flat_map(|a| a.inputs.iter().copied()).collect();
        let before = proof.units.iter().flat_map(|u| u.before.iter().copied());
        let vocabulary = AllowedSymbols::new(p, AllowedSymbols::shared(p)).reserving(chosen.into_iter().chain(before));
        for f in &proof.found {
            vocabulary.admits(terms, *f, "a found invariant")?;
            invariants.push(*f);
        }
        let (of_hidden, invariants): (Vec<Term>, Vec<Term>) = invariants.into_iter().partition(|f| names_hidden(*f));
        Ok(Self { invariant: terms.and(&invariants), of_hidden: terms.and(&of_hidden), relies })
    }

    pub(super) fn together(&self, terms: &Terms, which: impl Fn(&WrittenRely) -> bool) -> Term {
        terms.and(&self.relies.iter().filter(|r| which(r)).map(|r| r.formula).collect::<Vec<_>>())
    }

    /// What an instance of the unit may rely on of one step of another thread.
    pub(super) fn of_a_step(&self, terms: &Terms, unit: CodeUnit) -> Term {
        self.together(terms, |r| concerns(r.of, unit))
    }

    /// The other threads, as the unit may rely on them. `invariant`: what holds of the stores that it sees.
    pub(super) fn others<'a>(&self, p: &'a Program, terms: &'a Terms, unit: CodeUnit, invariant: Term) -> Others<'a> {
        let rely = self.together(terms, |r| r.lasts && concerns(r.of, unit));
        Others::new(p, terms).relying(LastingPromise { rely, invariant })
    }
}

/// Whether who runs the unit is among those that rely.
fn concerns(of: Option<ThreadId>, unit: CodeUnit) -> bool {
    of.is_none_or(|t| unit == CodeUnit::Thread(t))
}
