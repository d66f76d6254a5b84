//! RD10 of rule `reduction`: whoever has a monitor gives it back without waiting, and nobody has one outside of its owners.
//!
//! In: hidden locks that a certificate lists as monitors, and the cuts of their owners. Out: what must hold there: at the entry and the exit the thread has none; at every point
//! where it has one, it can go on by a step of its own; a turn of a loop in which it keeps one comes down in rank. So a thread that waits for a monitor will find it free, if those
//! that have it go on; a call that only waits so counts as one that does not wait (`prompt`).
//! Deliberately absent: monitors that callers see; owners that call each other.

use super::prompt::reachable;
use super::{CutStart, RD10, ReductionRule};
use crate::obligation::{self, Obligation};
use logic::Term;
use program::VarId;
use program::call_summaries::CodeUnit;
use program::hidden::named_in_code;
use program::movers::Others;
use program::symbolic::PiecePoint;

impl ReductionRule<'_> {
    /// They begin free, and a thread takes one for itself or gives it back.
    pub(super) fn monitors_are_locks(&self, out: &mut Vec<Obligation>) {
        let (p, t) = (self.p, self.terms);
        if self.monitors.is_empty() {
            return;
        }
        let locks = self.monitors.iter().map(|l| (t.sym(p.vars[*l].symbol), t.sym(p.vars[*l].primed)));
        let kept: Vec<Term> = locks
            .clone()
            .map(|(now, then)| t.or(&[t.eq(then, now), t.eq(then, t.int(0)), t.eq(then, t.sym(p.tid))]))
            .collect();
        let free: Vec<Term> = locks.map(|(now, _)| t.eq(now, t.int(0))).collect();
        let begin = t.implies(obligation::initial_store(p, t), t.and(&free));
        out.push(Obligation::common(RD10, "monitors begin free", begin));
        for code in self.all_code() {
            let goals: Vec<Term> = code
                .steps
                .iter()
                .map(|a| {
                    let may = t.and(&[self.all_facts, a.guard, obligation::gates(t, a)]);
                    t.implies(may, obligation::two_store(p, t, a, t.and(&kept)))
                })
                .collect();
            let what = format!("every step of {} takes a monitor for itself or gives it back", code.whose);
            out.push(Obligation::common(RD10, what, t.and(&goals)));
        }
    }

    /// So does another thread (`monitors_are_locks`).
    pub(super) fn taken_for_themselves(&self, others: &Others<'_>) -> Term {
        let (p, t) = (self.p, self.terms);
        let other = t.sym(others.other);
        let step = |l: &VarId| {
            let (now, then) = (t.sym(p.vars[*l].symbol), t.sym(p.vars[*l].primed));
            t.or(&[t.eq(then, now), t.eq(then, t.int(0)), t.eq(then, other)])
        };
        t.and(&self.monitors.iter().map(step).collect::<Vec<_>>())
    }

    /// The monitors that an owner names: it cannot have others.
    pub(super) fn monitors_of(&self, unit: CodeUnit) -> Vec<VarId> {
        let named = named_in_code(self.p, self.basis.code(unit));
        self.monitors.iter().copied().filter(|l| named.contains(l)).collect()
    }

    /// At a point of a piece the thread has a monitor.
    pub(super) fn held(&self, unit: CodeUnit, point: &PiecePoint) -> Term {
        let (p, t) = (self.p, self.terms);
        let mine = self.monitors_of(unit).into_iter().map(|l| t.eq(point.store.value(p, t, l), t.sym(p.tid)));
        t.or(&mine.collect::<Vec<_>>())
    }

    /// The same point, with all monitors free.
    pub(super) fn freed(&self, point: &PiecePoint) -> PiecePoint {
        let mut out = point.clone();
        for l in self.monitors {
            out.store.set(*l, self.terms.int(0));
        }
        out
    }

    /// What must hold from a cut of an owner.
    pub(super) fn given_back(&self, start: &CutStart<'_>) -> Vec<Term> {
        let (p, t) = (self.p, self.terms);
        let mut out = Vec::new();
        for (at, point) in start.piece.points.iter().filter(|(at, _)| start.code.exit != Some(*at)) {
            let has = t.and(&[point.reached, self.held(start.unit.unit, point)]);
            out.push(t.implies(has, self.goes_on(start, *at, point, self.prompt)));
        }
        let own = self.monitors_of(start.unit.unit);
        let mine = own.iter().map(|l| t.eq(t.sym(p.vars[*l].symbol), t.sym(p.tid)));
        let begins = t.or(&mine.collect::<Vec<_>>());
        let here = start.cut.location;
        if here == start.code.entry || start.code.exit == Some(here) {
            out.push(t.not(begins));
        }
        // On a way from this cut the thread had none for a moment.
        let free = start.piece.points.iter().map(|(_, x)| t.and(&[x.reached, t.not(self.held(start.unit.unit, x))]));
        let released = t.or(&free.collect::<Vec<_>>());
        for (at, end) in &start.piece.ends {
            if !reachable(start.code, *at).contains(&here) {
                continue;
            }
            for to in start.unit.cuts.iter().filter(|c| c.location == *at) {
                let kept = t.and(&[begins, end.reached, self.held(start.unit.unit, end), t.not(released)]);
                let down = match (start.cut.rank, to.rank) {
                    (Some(rank), Some(later)) => {
                        t.and(&[t.le(t.int(0), rank), t.lt(end.store.read(p, t, later), rank)])
                    }
                    _ => t.ff(),
                };
                out.push(t.implies(kept, down));
            }
        }
        out
    }
}
