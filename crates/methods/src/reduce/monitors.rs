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
        !self.s.hiding.monitors_of(self.unit).is_empty()
    }

    /// Another thread takes a monitor for itself, gives it back, or leaves it.
    pub(super) fn others_take_monitors_for_themselves(&self) -> Term {
        let (p, t) = (self.s.p, self.s.terms);
        let other = t.sym(self.s.others.other);
        let step = |l: &program::VarId| {
            let (now, then) = (t.sym(p.vars[*l].symbol), t.sym(p.vars[*l].primed));
            t.or(&[t.eq(then, now), t.eq(then, t.int(0)), t.eq(then, other)])
        };
        t.and(&self.s.hiding.monitors_of(self.unit).iter().map(step).collect::<Vec<_>>())
    }

    /// The unit has a monitor at this point.
    pub(super) fn held(&self, point: &PiecePoint) -> Term {
        let (p, t) = (self.s.p, self.s.terms);
        let own = self.s.hiding.monitors_of(self.unit);
        let mine = own.iter().map(|l| t.eq(point.store.value(p, t, *l), t.sym(p.tid)));
        t.or(&mine.collect::<Vec<_>>())
    }

    /// The unit goes on where all monitors are free, if it has none.
    pub(super) fn goes_on_when_free(&self, at: LocId, point: &PiecePoint) -> Term {
        let t = self.s.terms;
        let mut free = point.clone();
        self.s.hiding.monitors_of(self.unit).iter().for_each(|l| free.store.set(*l, t.int(0)));
        t.and(&[t.not(self.held(point)), self.goes_on(at, &free)])
    }

    /// Whoever has a monitor gives it back without waiting; the loops inside runs get ranks.
    pub(super) fn gives_back(&mut self) -> Result<bool, Reason> {
        let (p, t) = (self.s.p, self.s.terms);
        let none: Vec<Term> =
            self.s.hiding.monitors_of(self.unit).iter().map(|l| t.ne(t.sym(p.vars[*l].symbol), t.sym(p.tid))).collect();
        let none = t.and(&none);
        let nodes: Vec<_> = self.nodes.keys().copied().collect();
        let mut turning = Vec::new();
        for node in &nodes {
            let (known, piece) = (self.known(*node), self.piece(node.0)?);
            let outside = node.0 == self.code.entry || self.code.exit == Some(node.0);
            if outside && !self.valid(&[known], none) {
                return Ok(false);
            }
            let mut free = Vec::new();
            for (at, point) in &piece.points {
                let held = self.held(point);
                free.push(t.and(&[point.reached, t.not(held)]));
                if self.code.exit == Some(*at) {
                    continue;
                }
                self.budget()?;
                let goes_on = self.goes_on(*at, point);
                if !self.valid(&[known, point.reached, held], goes_on) {
                    return Ok(false);
                }
            }
            for (at, end) in piece.ends.iter().filter(|(at, _)| reachable(self.code, *at).contains(&node.0)) {
                let kept = [known, t.not(none), end.reached, self.held(end), t.not(t.or(&free))];
                if !self.valid(&kept, t.ff()) {
                    // One loop, inside a run: others have ranks that go together.
                    if *at != node.0 || self.cuts[at] == MoverPhase::Between {
                        return Ok(false);
                    }
                    turning.push(*at);
                }
            }
        }
        for head in turning {
            if self.ranks.contains_key(&head) {
                continue;
            }
            let mut fits = None;
            for rank in self.guesses.ranks(self.s, self.code, head) {
                self.budget()?;
                if self.turns(head, rank)? {
                    fits = Some(rank);
                    break;
                }
            }
            match fits {
                Some(rank) => self.ranks.insert(head, rank),
                None => return Ok(false),
            };
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
