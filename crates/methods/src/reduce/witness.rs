//! Where the steps are that perform the actions of a specification: a `witness` for each that is not written.
//!
//! In: a finished search, in which every run is idle or an action. Out: statements after which (or `return`s before which) a
//! `witness` may be written: every run that has the step is that action and cannot be read otherwise. A step that changes what
//! is shared comes first, then the later one. Deliberately absent: tests and calls, which have no place after them in the text; runs whose steps
//! all occur in runs of another kind too.

use super::search::{MoverSearch, Node, WitnessPosition, written};
use evidence::{MoverPhase, Reason};
use program::call_summaries::CodeUnit;
use program::symbolic::{CodePiece, PiecePoint};
use program::{Action, ActionId, LocId, OriginId, ProcId, What};
use std::collections::{BTreeMap, BTreeSet};

impl<'a> MoverSearch<'_, 'a> {
    pub(super) fn spots(&mut self) -> Result<Vec<(WitnessPosition, String)>, Reason> {
        let CodeUnit::Procedure(q) = self.unit else { return Ok(Vec::new()) };
        if self.order.is_none() {
            return Ok(Vec::new());
        }
        let own: Vec<ActionId> = self.code.actions.ids().filter(|a| self.in_text(q, *a)).collect();
        let written_labels: BTreeSet<&str> = written(self.s, self.unit).into_iter().map(|(_, l)| l).collect();
        let nodes: Vec<Node> = self.nodes.keys().copied().collect();
        let mut pieces: Vec<(Node, CodePiece)> = Vec::new();
        for node in &nodes {
            pieces.push((*node, self.piece(node.0)?));
        }
        let mut out = BTreeSet::new();
        let mut known: BTreeMap<(ActionId, &'a str), bool> = BTreeMap::new();
        for (node, piece) in &pieces {
            for (at, end) in &piece.ends {
                if self.cuts[at] != MoverPhase::Between {
                    continue;
                }
                for position in self.live(*node, *at, end) {
                    let Some(order) = &self.order else { continue };
                    let label = order.label(position as usize);
                    if written_labels.contains(label) {
                        continue;
                    }
                    let mine = piece.steps.iter().map(|s| s.action).filter(|a| own.contains(a));
                    let mut steps: Vec<ActionId> = mine.collect();
                    let writes = |a: &ActionId| {
                        let updates = &self.code.actions[*a].updates;
                        updates.iter().any(|u| self.s.p.vars[u.var].scope == program::Scope::Shared)
                    };
                    steps.reverse();
                    steps.sort_by_key(|a| !writes(a));
                    for a in steps {
                        self.budget()?;
                        let action = &self.code.actions[a];
                        let (spot, marked) = match action.what {
                            What::Test | What::Choose => continue,
                            What::Return if self.code.exit == Some(action.to) => {
                                (WitnessPosition::Before(a), self.leading(a))
                            }
                            _ => (WitnessPosition::After(a), self.alongside(a)),
                        };
                        let fine = marked.iter().all(|m| {
                            let fine = known.get(&(*m, label)).copied();
                            let fine = fine.unwrap_or_else(|| self.always(&pieces, *m, label));
                            known.insert((*m, label), fine);
                            fine
                        });
                        if fine {
                            out.insert((spot, label.to_string()));
                            break;
                        }
                    }
                }
            }
        }
        Ok(out.into_iter().collect())
    }

    /// The steps that a mark before this one would be put on.
    fn leading(&self, a: ActionId) -> Vec<ActionId> {
        let from = self.code.actions[a].from;
        let list: Vec<ActionId> =
            self.code.actions.iter_enumerated().filter(|(_, x)| x.to == from).map(|(id, _)| id).collect();
        if list.is_empty() { vec![a] } else { list }
    }

    /// The steps that a mark after this one would be put on: those of the same statement.
    fn alongside(&self, a: ActionId) -> Vec<ActionId> {
        let this = &self.code.actions[a];
        let same = |x: &Action| x.to == this.to && x.origin == this.origin;
        self.code.actions.iter_enumerated().filter(|(_, x)| same(x)).map(|(id, _)| id).collect()
    }

    /// Whether the step is a statement in the text of the procedure itself, and not in that of another one that was inlined.
    fn in_text(&self, q: ProcId, a: ActionId) -> bool {
        let p = self.s.p;
        if a.index() >= self.s.own.get(q.index()).copied().unwrap_or(0) {
            return false;
        }
        let start = |o: OriginId| p.origins[o].span.map(|s| (s.file, s.start));
        let (begin, at) = (start(p.procedures[q].origin), start(self.code.actions[a].origin));
        let items = p.procedures.iter().map(|x| x.origin).chain(p.threads.iter().map(|x| x.origin));
        let next = items.map(start).filter(|s| *s > begin).min();
        at >= begin && next.is_none_or(|next| at < next)
    }

    /// The actions that some run from the node to the end performs.
    fn live(&self, node: Node, at: LocId, end: &PiecePoint) -> Vec<u32> {
        let ways = self.arrivals(node, at, end, &[]);
        ways.iter().filter(|w| w.node.1 != node.1 && self.nodes.contains_key(&w.node)).map(|w| w.node.1).collect()
    }

    /// Whether every run that takes the step performs the action, as a witness there would ask.
    fn always(&mut self, pieces: &[(Node, CodePiece)], a: ActionId, label: &'a str) -> bool {
        let t = self.s.terms;
        self.labels.push(label);
        let said = self.labels.len() as u32;
        let mut fine = false;
        for (node, piece) in pieces {
            let Some(step) = piece.steps.iter().find(|s| s.action == a) else { continue };
            let known = self.known(*node);
            fine = piece.ends.iter().all(|(at, end)| {
                let ways = match self.cuts[at] {
                    MoverPhase::Between => self.arrivals(*node, *at, end, &[(said, step.taken)]),
                    // What the run will be is not known yet.
                    _ => Vec::new(),
                };
                let ways: Vec<_> = ways.iter().filter(|w| self.nodes.contains_key(&w.node)).map(|w| w.when).collect();
                self.valid(&[known, step.taken, end.reached], t.or(&ways))
            });
            if !fine {
                break;
            }
        }
        self.labels.pop();
        fine
    }
}
