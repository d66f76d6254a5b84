//! Which private variables a proof hides (`program::hidden`), and whether their locks are given back without waiting (RD10).
//!
//! In: a program, and the procedures that are used by specification. Out: what the certificate lists, and for one owner whether it gives monitors back, with ranks
//! for the loops inside its runs. Deliberately absent: two such loops inside each other.

use super::prompt::reachable;
use super::search::MoverSearch;
use evidence::{Guard, MoverPhase, Reason};
use logic::{Sort, Symbol, Term, Terms};
use program::call_summaries::CodeUnit;
use program::hidden::Hidden;
use program::symbolic::PiecePoint;
use program::{LocId, ProcId, Program, VarId, VarKind};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// What a certificate hides.
#[derive(Clone, Default)]
pub(crate) struct Hiding {
    /// Increasing.
    pub(crate) hidden: Vec<VarId>,
    pub(crate) owners: BTreeSet<ProcId>,
    pub(crate) monitors: Vec<VarId>,
}

impl Hiding {
    /// All that may be hidden where these procedures are used by specification, and variables get these guards.
    pub(crate) fn of(p: &Program, guards: &[Guard], by_performs: &[ProcId], monitors: bool) -> Self {
        let may = Hidden::of(p);
        let lost = may.named.iter().filter(|(q, _)| !by_performs.contains(q)).flat_map(|(_, vars)| vars);
        let lost: BTreeSet<VarId> = lost.copied().collect();
        let mut hidden: BTreeSet<VarId> = may.vars.difference(&lost).copied().collect();
        // What says who may access a variable that is seen is seen.
        loop {
            let symbol = |s: &Symbol| hidden.iter().copied().find(|v| p.vars[*v].symbol == *s);
            let of_access = |v: VarId| {
                let access = p.vars[v].access.iter().flat_map(|a| a.formula.into_iter().chain(a.writing));
                access.flat_map(|f| p.terms.free_symbols(f)).find_map(|s| symbol(&s))
            };
            let seen = p.shared().filter(|v| !hidden.contains(v)).find_map(of_access);
            let guard = guards.iter().find(|g| hidden.contains(&g.lock) && !hidden.contains(&g.var));
            match seen.or(guard.map(|g| g.lock)) {
                Some(v) => hidden.remove(&v),
                None => break,
            };
        }
        let owners = may.named.iter().filter(|(_, vars)| vars.iter().any(|v| hidden.contains(v)));
        let owners = owners.map(|(q, _)| *q).collect();
        let lock = |v: &VarId| {
            let var = &p.vars[*v];
            monitors && var.kind == VarKind::Lock && var.sort == Sort::INT && var.initial == Some(p.terms.int(0))
        };
        Self { monitors: hidden.iter().copied().filter(lock).collect(), owners, hidden: hidden.into_iter().collect() }
    }

    pub(crate) fn is_owner(&self, unit: CodeUnit) -> bool {
        matches!(unit, CodeUnit::Procedure(q) if self.owners.contains(&q))
    }

    /// The symbols that no formula about the unit may mention.
    pub(crate) fn unseen(&self, p: &Program, unit: CodeUnit) -> FxHashSet<Symbol> {
        let vars = if self.is_owner(unit) { &[][..] } else { &self.hidden };
        vars.iter().flat_map(|v| [p.vars[*v].symbol, p.vars[*v].primed]).collect()
    }
}

/// Whether a formula mentions one of the symbols.
pub(crate) fn mentions(t: &Terms, f: Term, symbols: &FxHashSet<Symbol>) -> bool {
    !symbols.is_empty() && t.free_symbols(f).iter().any(|s| symbols.contains(s))
}

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
