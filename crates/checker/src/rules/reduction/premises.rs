//! RD7 and RD9 of rule `reduction`: written invariants and relies that a proof rests on.
//!
//! In: the program without calls, the properties that a certificate names as premises, and those of its relies that last. Out:
//! their formulas for each unit, and what must hold of them: an invariant holds of initial stores, and every step of the program,
//! given its guard and gates and the invariants before it, keeps it (RD7); every such step is one that any other thread may rely on,
//! and relies that last hold of a store and itself and of two steps together (RD9). A step inside an atomic block counts, too.
//! Deliberately absent: programs that spawn; what holds only where a thread stands.

use super::{AnyCode, ReductionRule};
use crate::obligation::{self, Obligation, Premise};
use crate::rejection::Rejection;
use evidence::Reduction;
use logic::{Sort, Term, Terms};
use program::call_summaries::CodeUnit;
use program::movers::{LastingPromise, Others};
use program::{Code, Copies, Program, PropertyId, PropertyKind, ThreadId};
use std::collections::BTreeSet;

const RD7: Premise = Premise::new("reduction", "RD7");
const RD9: Premise = Premise::new("reduction", "RD9");

/// A written rely: over a store and the one after a step (primed); `tid` is who relies on it.
#[derive(Clone, Copy)]
struct WrittenRely {
    /// Who may: one thread's instances, or everybody.
    of: Option<ThreadId>,
    formula: Term,
    /// Whether it holds of any number of steps of others together.
    lasts: bool,
}

pub(super) struct Premises {
    /// Holds of every store.
    pub(super) invariant: Term,
    relies: Vec<WrittenRely>,
}

impl Premises {
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

    fn together(&self, terms: &Terms, which: impl Fn(&WrittenRely) -> bool) -> Term {
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

impl ReductionRule<'_> {
    pub(super) fn premises_hold(&self, out: &mut Vec<Obligation>) {
        self.kept(out);
        self.relied_upon(out);
        self.lasting(out);
    }

    /// RD7, for all code of the program.
    fn kept(&self, out: &mut Vec<Obligation>) {
        let (p, t) = (self.p, self.terms);
        let invariant = self.premises.invariant;
        if t.is_true(invariant) {
            return;
        }
        let initial = t.implies(obligation::initial_store(p, t), invariant);
        out.push(Obligation::common(RD7, "the invariants hold of initial stores", initial));
        for AnyCode { whose, steps, .. } in self.all_code() {
            let mut goals = Vec::new();
            for a in steps {
                let may = t.and(&[self.facts, a.guard, obligation::gates(t, a)]);
                goals.push(t.implies(may, obligation::after(p, t, a, invariant)));
            }
            let what = format!("every step of {whose} keeps the invariants");
            out.push(Obligation::common(RD7, what, t.and(&goals)));
        }
    }

    /// RD9: each step of the program is one that every other thread may rely on.
    fn relied_upon(&self, out: &mut Vec<Obligation>) {
        let (p, t) = (self.p, self.terms);
        if self.premises.relies.is_empty() {
            return;
        }
        let watcher = t.sym(t.symbol("watcher", Sort::INT));
        let apart = t.and(&[t.lt(t.int(0), watcher), t.ne(watcher, t.sym(p.tid))]);
        for AnyCode { unit, whose, steps, .. } in self.all_code() {
            // The only instance of a thread is no other to itself.
            let alone = |of: ThreadId| p.threads[of].copies == Copies::One && unit == Some(CodeUnit::Thread(of));
            let seen = self.premises.relies.iter().filter(|r| !r.of.is_some_and(alone));
            // A rely speaks of shared variables and `tid` alone.
            let seen: Vec<Term> = seen.map(|r| t.substitute(r.formula, [(p.tid, watcher)])).collect();
            let mut goals = Vec::new();
            for a in steps {
                let may = t.and(&[self.facts, apart, a.guard, obligation::gates(t, a)]);
                goals.push(t.implies(may, obligation::two_store(p, t, a, t.and(&seen))));
            }
            let what = format!("every step of {whose} is one that the others rely on");
            out.push(Obligation::common(RD9, what, t.and(&goals)));
        }
    }

    /// RD9: what lasts holds of no step and of two, and so of any number.
    fn lasting(&self, out: &mut Vec<Obligation>) {
        let (p, t) = (self.p, self.terms);
        let own = self.premises.relies.iter().filter(|r| r.lasts).filter_map(|r| r.of);
        let sets: BTreeSet<Option<ThreadId>> = own.map(Some).chain([None]).collect();
        for set in sets {
            let rely = self.premises.together(t, |r| r.lasts && (r.of.is_none() || r.of == set));
            if t.is_true(rely) {
                continue;
            }
            let shared: Vec<_> = p.shared().collect();
            let (here, there) = (|v| t.sym(p.vars[v].symbol), |v| t.sym(p.vars[v].primed));
            let none = t.substitute(rely, shared.iter().map(|v| (p.vars[*v].primed, here(*v))));
            out.push(Obligation::common(RD9, "what lasts holds of no step", t.implies(self.facts, none)));
            // The store in the middle has names of its own.
            let middle: Vec<Term> = shared
                .iter()
                .map(|v| t.sym(t.symbol(format!("{} between", p.vars[*v].name), p.vars[*v].sort)))
                .collect();
            let to_middle = |which: &dyn Fn(program::VarId) -> logic::Symbol, f: Term| {
                t.substitute(f, shared.iter().zip(&middle).map(|(v, m)| (which(*v), *m)))
            };
            let first = to_middle(&|v| p.vars[v].primed, rely);
            let second = to_middle(&|v| p.vars[v].symbol, rely);
            let between = to_middle(&|v| p.vars[v].symbol, self.premises.invariant);
            let finally = t.substitute(self.premises.invariant, shared.iter().map(|v| (p.vars[*v].symbol, there(*v))));
            let known = t.and(&[self.facts, between, finally, first, second]);
            out.push(Obligation::common(RD9, "what lasts holds of two steps together", t.implies(known, rely)));
        }
    }
}
