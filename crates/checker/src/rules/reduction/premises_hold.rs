//! RD7 and RD9 of rule `reduction`: the invariants and relies that a proof rests on hold.
//!
//! In: the written premises, and all code of the program. Out: obligations: an invariant holds of initial stores, and every step of
//! the program, given its guard and gates and the invariants before it, keeps it (RD7); every such step is one that any other
//! thread may rely on, and relies that last hold of a store and itself and of two steps together (RD9). A step inside an atomic
//! block counts, too.
//! Deliberately absent: which of them are used where (`premises`).

use super::{AnyCode, ReductionRule};
use crate::obligation::{self, Obligation, Premise};
use logic::{Sort, Term};
use program::call_summaries::CodeUnit;
use program::{Action, Copies, ThreadId};
use std::collections::BTreeSet;

const RD7: Premise = Premise::new("reduction", "RD7");
const RD9: Premise = Premise::new("reduction", "RD9");

impl ReductionRule<'_> {
    pub(super) fn premises_hold(&self, out: &mut Vec<Obligation>) {
        self.kept(out);
        self.relied_upon(out);
        self.lasting(out);
    }

    /// RD7, for all code of the program.
    fn kept(&self, out: &mut Vec<Obligation>) {
        let (p, t) = (self.p, self.terms);
        let (invariant, of_hidden) = (self.premises.invariant, self.premises.of_hidden);
        let all = t.and(&[invariant, of_hidden]);
        if t.is_true(all) {
            return;
        }
        let initial = t.implies(obligation::initial_store(p, t), all);
        out.push(Obligation::common(RD7, "the invariants hold of initial stores", initial));
        for AnyCode { whose, steps, of_owners, .. } in self.all_code() {
            let mut goals = Vec::new();
            let may = |a: &Action, facts: Term| t.and(&[facts, a.guard, obligation::gates(t, a)]);
            // What calls of owners perform is a step of the runs that their callers are shown to have.
            for a in steps.iter().chain(&of_owners) {
                goals.push(t.implies(may(a, self.facts), obligation::after(p, t, a, invariant)));
            }
            for a in &steps {
                let known = t.and(&[self.facts, of_hidden]);
                goals.push(t.implies(may(a, known), obligation::after(p, t, a, of_hidden)));
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
        for AnyCode { unit, whose, steps, of_owners, .. } in self.all_code() {
            // The only instance of a thread is no other to itself.
            let alone = |of: ThreadId| p.threads[of].copies == Copies::One && unit == Some(CodeUnit::Thread(of));
            let seen = self.premises.relies.iter().filter(|r| !r.of.is_some_and(alone));
            // A rely speaks of shared variables and `tid` alone.
            let seen: Vec<Term> = seen.map(|r| t.substitute(r.formula, [(p.tid, watcher)])).collect();
            let mut goals = Vec::new();
            for a in steps.into_iter().chain(of_owners) {
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
