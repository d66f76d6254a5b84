//! Whether an owner of hidden locks gives them back without waiting (RD10).
//!
//! In: a search that has come to its end. Out: yes or no, and ranks for the loops inside runs. Deliberately absent: two such loops inside each other.

use super::prompt::reachable;
use super::search::MoverSearch;
use evidence::{MoverPhase, Reason};
use logic::Term;
use program::LocId;
use program::symbolic::PiecePoint;

impl MoverSearch<'_, '_> {
    pub(super) fn has_monitors(&self) -> bool {
        self.s.hiding.is_owner(self.unit) && !self.s.hiding.monitors.is_empty()
    }

    /// The unit has a monitor at this point.
    pub(super) fn held(&self, point: &PiecePoint) -> Term {
        let (p, t) = (self.s.p, self.s.terms);
        let mine = self.s.hiding.monitors.iter().map(|l| t.eq(point.store.value(p, t, *l), t.sym(p.tid)));
        t.or(&mine.collect::<Vec<_>>())
    }

    /// The unit goes on where all monitors are free, if it has none.
    pub(super) fn goes_on_when_free(&self, at: LocId, point: &PiecePoint) -> Term {
        let t = self.s.terms;
        let mut free = point.clone();
        self.s.hiding.monitors.iter().for_each(|l| free.store.set(*l, t.int(0)));
        t.and(&[t.not(self.held(point)), self.goes_on(at, &free)])
    }

    /// Whoever has a monitor gives it back without waiting; the loops inside runs get ranks.
    pub(super) fn gives_back(&mut self) -> Result<bool, Reason> {
        let (p, t) = (self.s.p, self.s.terms);
        let none: Vec<Term> =
            self.s.hiding.monitors.iter().map(|l| t.ne(t.sym(p.vars[*l].symbol), t.sym(p.tid))).collect();
        let none = t.and(&none);
        let nodes: Vec<_> = self.nodes.keys().copied().collect();
        for node in &nodes {
            let (known, piece) = (self.known(*node), self.piece(node.0)?);
            if self.cuts[&node.0] == MoverPhase::Between && !self.valid(&[known], none) {
                return Ok(false);
            }
            for (at, point) in piece.points.iter().filter(|(at, _)| self.code.exit != Some(*at)) {
                self.budget()?;
                let (held, goes_on) = (self.held(point), self.goes_on(*at, point));
                if !self.valid(&[known, point.reached, held], goes_on) {
                    return Ok(false);
                }
            }
        }
        let inner = |at: &LocId| self.cuts[at] != MoverPhase::Between && reachable(self.code, *at).contains(at);
        let heads: Vec<LocId> = self.cuts.keys().copied().filter(inner).collect();
        for head in &heads {
            let around = reachable(self.code, *head);
            if heads.iter().any(|at| at != head && around.contains(at) && reachable(self.code, *at).contains(head)) {
                return Ok(false);
            }
            if self.ranks.contains_key(head) {
                continue;
            }
            let ranks = self.guesses.ranks(self.s, self.code, *head);
            let mut fits = None;
            for rank in ranks {
                self.budget()?;
                if self.turns(*head, rank)? {
                    fits = Some(rank);
                    break;
                }
            }
            match fits {
                Some(rank) => self.ranks.insert(*head, rank),
                None => return Ok(false),
            };
        }
        for at in self.cuts.iter().filter(|(_, phase)| **phase != MoverPhase::Between).map(|(at, _)| *at) {
            self.ranks.entry(at).or_insert(t.int(0));
        }
        Ok(true)
    }

    /// The rank is not negative, and smaller after every turn.
    fn turns(&mut self, head: LocId, rank: Term) -> Result<bool, Reason> {
        let (p, t) = (self.s.p, self.s.terms);
        let nodes: Vec<_> = self.nodes.keys().copied().filter(|n| n.0 == head).collect();
        for node in nodes {
            let known = self.known(node);
            if !self.valid(&[known], t.le(t.int(0), rank)) {
                return Ok(false);
            }
            let piece = self.piece(head)?;
            for (_, end) in piece.ends.iter().filter(|(at, _)| *at == head) {
                if !self.valid(&[known, end.reached], t.lt(end.store.read(p, t, rank), rank)) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
