//! RD8 of rule `reduction`: a procedure that is listed as prompt never waits, and comes to its end.
//!
//! In: one cut of a procedure, with the piece of code from it. Out: what must hold there. At every location that is reached the
//! thread alone can go on, an owner also where monitors that it waits for are free; a cut that can be reached from itself has a rank, which is not negative, is over variables that no other
//! thread changes, and is smaller at every arrival at a cut of the same loop. Between cuts the code has no loop.
//! Deliberately absent: recursion (a prompt procedure calls by specification only those listed before it: `vet`).

use super::{CutStart, ReductionRule};
use crate::rejection::Rejection;
use logic::Term;
use program::call_summaries::CodeUnit;
use program::{Code, LocId};
use rustc_hash::FxHashSet;

impl ReductionRule<'_> {
    /// `None`: the unit is not listed as prompt.
    pub(super) fn never_waits(&self, start: &CutStart<'_>) -> Result<Option<Vec<Term>>, Rejection> {
        let (p, t) = (self.p, self.terms);
        let CodeUnit::Procedure(q) = start.unit.unit else { return Ok(None) };
        let Some(place) = self.prompt.iter().position(|x| *x == q) else { return Ok(None) };
        let earlier = &self.prompt[..place];
        let mut out = Vec::new();
        for (at, point) in start.piece.points.iter().filter(|(at, _)| start.code.exit != Some(*at)) {
            let mut ways = vec![self.goes_on(start, *at, point, earlier)];
            if self.owners.contains(&q) && !self.monitors.is_empty() {
                // Whoever has a monitor gives it back without waiting (RD10): it comes to be free.
                ways.push(t.and(&[
                    t.not(self.held(start.unit.unit, point)),
                    self.goes_on(start, *at, &self.freed(point), earlier),
                ]));
            }
            out.push(t.implies(point.reached, t.or(&ways)));
        }
        let here = start.cut.location;
        if !reachable(start.code, here).contains(&here) {
            return Ok(Some(out));
        }
        let no_rank = || Rejection::shape(format!("a loop of the prompt {} has no rank", p.procedures[q].name));
        let rank = start.cut.rank.ok_or_else(no_rank)?;
        out.push(t.le(t.int(0), rank));
        for (at, end) in &start.piece.ends {
            if !reachable(start.code, *at).contains(&here) {
                continue;
            }
            for to in start.unit.cuts.iter().filter(|c| c.location == *at) {
                // Whichever of the cuts there it is that the run arrives at.
                let later = end.store.read(p, t, to.rank.ok_or_else(no_rank)?);
                out.push(t.implies(end.reached, t.lt(later, rank)));
            }
        }
        Ok(Some(out))
    }
}

/// The locations that some steps lead to.
pub(super) fn reachable(code: &Code, from: LocId) -> FxHashSet<LocId> {
    let mut out = FxHashSet::default();
    let mut todo = vec![from];
    while let Some(at) = todo.pop() {
        for a in code.actions.iter().filter(|a| a.from == at) {
            if out.insert(a.to) {
                todo.push(a.to);
            }
        }
    }
    out
}
