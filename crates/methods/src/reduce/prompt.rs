//! Whether a procedure never waits and comes to its end (RD8): then a call of it may stand after the commit of its caller's run.
//!
//! In: a search that has come to its end. Out: yes or no, and ranks for the loops. Deliberately absent: procedures that call
//! themselves; loops that end because of what is shared.

use super::search::{MoverSearch, Node};
use evidence::Reason;
use logic::{Symbol, Term};
use program::symbolic::PiecePoint;
use program::{Action, Code, LocId};
use rustc_hash::FxHashSet;

impl MoverSearch<'_, '_> {
    /// At this point the unit can go on by itself: by a step of its own, or inside a call of a procedure that never waits.
    pub(super) fn goes_on(&self, at: LocId, point: &PiecePoint) -> Term {
        let (p, t) = (self.s.p, self.s.terms);
        if let Some(q) = self.s.basis.under_way(self.unit, at) {
            return t.bool(self.s.prompt.contains(&q));
        }
        let way = |a: &Action| {
            let gates = a.gates.iter().map(|g| g.formula);
            let can = t.and(&gates.chain([a.guard]).collect::<Vec<_>>());
            let used = t.free_symbols(can);
            let inputs: Vec<Symbol> = a.inputs.iter().copied().filter(|s| used.contains(s)).collect();
            let fresh: Vec<Symbol> = inputs.iter().map(|s| t.symbol(t.symbol_name(*s), t.symbol_sort(*s))).collect();
            let can = t.substitute(can, inputs.into_iter().zip(fresh.iter().map(|s| t.sym(*s))));
            t.exists(&fresh, point.store.read(p, t, can))
        };
        t.or(&self.code.actions.iter().filter(|a| a.from == at).map(way).collect::<Vec<_>>())
    }

    pub(super) fn is_prompt(&mut self) -> Result<bool, Reason> {
        let called = self.s.basis.unit(self.unit).map(|u| u.called.clone()).unwrap_or_default();
        if self.order.is_none() || called.iter().any(|q| !self.s.prompt.contains(q)) {
            return Ok(false);
        }
        let t = self.s.terms;
        let nodes: Vec<Node> = self.nodes.keys().copied().collect();
        for node in &nodes {
            let (known, piece) = (self.known(*node), self.piece(node.0)?);
            for (at, point) in piece.points.iter().filter(|(at, _)| self.code.exit != Some(*at)) {
                self.budget()?;
                let mut goes_on = self.goes_on(*at, point);
                if self.has_monitors() {
                    goes_on = t.or(&[goes_on, self.goes_on_when_free(*at, point)]);
                }
                if !self.valid(&[known, point.reached], goes_on) {
                    return Ok(false);
                }
            }
        }
        let mut found = Vec::new();
        let looping: Vec<LocId> =
            self.cuts.keys().copied().filter(|at| reachable(self.code, *at).contains(at)).collect();
        for head in &looping {
            // One cut for each loop: several would need ranks that go together.
            let own = reachable(self.code, *head);
            if looping.iter().any(|at| at != head && own.contains(at) && reachable(self.code, *at).contains(head)) {
                return Ok(false);
            }
            let mut fits = None;
            for rank in self.guesses.ranks(self.s, self.code, *head) {
                self.budget()?;
                if self.comes_down(*head, rank, t.int(0))? {
                    fits = Some(rank);
                    break;
                }
            }
            match fits {
                Some(rank) => found.push((*head, rank)),
                None => return Ok(false),
            }
        }
        let all: Vec<LocId> = self.cuts.keys().copied().collect();
        for at in all {
            let rank = found.iter().find(|(l, _)| *l == at).map_or(t.int(0), |(_, r)| *r);
            self.ranks.insert(at, rank);
        }
        Ok(true)
    }

    /// The rank is over the unit's own variables, not negative, and smaller after every turn.
    fn comes_down(&mut self, head: LocId, rank: Term, zero: Term) -> Result<bool, Reason> {
        let (p, t) = (self.s.p, self.s.terms);
        let constants = program::access::constants(p).into_iter().map(|v| p.vars[v].symbol);
        let own = self.s.basis.locals(self.unit).into_iter().map(|v| p.vars[v].symbol);
        let steady: FxHashSet<Symbol> = own.chain(constants).chain([p.tid]).collect();
        if t.free_symbols(rank).iter().any(|s| !steady.contains(s)) {
            return Ok(false);
        }
        let nodes: Vec<Node> = self.nodes.keys().copied().filter(|n| n.0 == head).collect();
        for node in nodes {
            let known = self.known(node);
            if !self.valid(&[known], t.le(zero, rank)) {
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
