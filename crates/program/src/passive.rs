//! A thread's code between cut points, in passive form: one set of facts for all its paths.
//!
//! In: the code of a thread, a set of cut locations that breaks every loop, and what one step of the others may do. Out: for
//! each region (the code from one cut to the next ones) facts over symbols that are never assigned: what holds in every run
//! through the region, the steps with their stores before and after, and the stores with which cuts are reached. At every
//! location where others can be scheduled and the thread then looks at the shared store, one environment step stands for
//! any number (Calvin's i-abstraction, section 4; the caller shows that the relation is reflexive and transitive). The
//! facts grow linearly with the code: paths are joined by new symbols (Flanagan and Saxe's compact conditions).
//! Absent: what is to be shown of steps and cuts; the checker and the methods each say it for themselves.

use crate::code::{Action, ActionId, Code, LocId};
use crate::model::{Program, Scope, ThreadId};
use base::ids::Id;
use logic::{Op, Sort, Symbol, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};

/// The value of every shared variable and every local of the thread, by the variable's symbol.
pub type Store = FxHashMap<Symbol, Term>;

/// What others may do, and what always holds.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// Two-store formula over the shared store and `tid`, reflexive and transitive.
    pub rely: Term,
    /// Over the shared store; holds whenever no thread is inside an atomic block.
    pub invariant: Term,
}

/// How a region begins.
#[derive(Clone, Copy, Debug)]
pub enum Begin {
    /// At a cut where this formula holds of the shared store, the locals and `tid`.
    At(LocId, Term),
    /// At the entry, with a store that satisfies the formula; others have moved since.
    Entry(Term),
}

#[derive(Clone, Debug)]
pub struct Region {
    pub start: LocId,
    /// What holds in every run through the region.
    pub facts: Vec<Term>,
    pub steps: Vec<Step>,
    pub ends: Vec<End>,
    /// For every location on the way: whether the run comes by, and the store others may have left.
    pub points: Vec<Point>,
}

#[derive(Clone, Debug)]
pub struct Point {
    pub at: LocId,
    pub reached: Term,
    /// The store when the thread arrived, before others moved.
    pub arrived: Store,
    pub store: Store,
}

/// One action of the region.
#[derive(Clone, Debug)]
pub struct Step {
    pub action: ActionId,
    /// For each gate, in order: the run is at the step, its guard and the gates before hold.
    pub before_gate: Vec<Term>,
    /// Each gate's formula in the store before.
    pub gates: Vec<Term>,
    /// The run takes the step.
    pub taken: Term,
    pub before: Store,
    pub after: Store,
    /// The id of the thread that the step starts.
    pub spawned: Option<Symbol>,
}

/// A cut that the region reaches, others having moved.
#[derive(Clone, Debug)]
pub struct End {
    pub at: LocId,
    pub reached: Term,
    pub store: Store,
}

/// Locations that break every loop of the code: the targets of edges back to a location on the way.
pub fn loop_heads(code: &Code) -> Vec<LocId> {
    let outgoing = code.outgoing();
    let (mut seen, mut open) = (vec![false; code.locations.len()], vec![false; code.locations.len()]);
    let mut heads = vec![false; code.locations.len()];
    let mut stack = vec![(code.entry, 0)];
    seen[code.entry.index()] = true;
    open[code.entry.index()] = true;
    while let Some((at, next)) = stack.pop() {
        match outgoing[at].get(next) {
            None => open[at.index()] = false,
            Some(a) => {
                stack.push((at, next + 1));
                let to = code.actions[*a].to;
                if open[to.index()] {
                    heads[to.index()] = true;
                } else if !seen[to.index()] {
                    seen[to.index()] = true;
                    open[to.index()] = true;
                    stack.push((to, 0));
                }
            }
        }
    }
    code.locations.ids().filter(|l| heads[l.index()]).collect()
}

/// The locations of the region from `start`, each after those it is reached from; `None` if a loop has no cut.
fn order(code: &Code, outgoing: &base::IdVec<LocId, Vec<ActionId>>, start: LocId, cut: &[bool]) -> Option<Vec<LocId>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks: FxHashMap<LocId, Mark> = FxHashMap::default();
    let mut out = Vec::new();
    let mut stack = vec![(start, 0)];
    marks.insert(start, Mark::Open);
    while let Some((at, next)) = stack.pop() {
        match outgoing[at].get(next) {
            None => {
                marks.insert(at, Mark::Done);
                out.push(at);
            }
            Some(a) => {
                stack.push((at, next + 1));
                let to = code.actions[*a].to;
                if cut[to.index()] {
                    continue;
                }
                match marks.get(&to).copied().unwrap_or(Mark::New) {
                    Mark::Open => return None,
                    Mark::Done => {}
                    Mark::New => {
                        marks.insert(to, Mark::Open);
                        stack.push((to, 0));
                    }
                }
            }
        }
    }
    out.reverse();
    Some(out)
}

/// Whether the cuts break every loop that the thread can come to.
pub fn breaks_loops(code: &Code, cuts: &[LocId]) -> bool {
    let mut cut = vec![false; code.locations.len()];
    cuts.iter().for_each(|l| cut[l.index()] = true);
    let outgoing = code.outgoing();
    let starts = cuts.iter().copied().chain([code.entry]);
    starts.into_iter().all(|s| order(code, &outgoing, s, &cut).is_some())
}

/// Builds regions of one thread.
pub struct Passive<'a> {
    program: &'a Program,
    terms: &'a Terms,
    code: &'a Code,
    env: Environment,
    cut: Vec<bool>,
    outgoing: base::IdVec<LocId, Vec<ActionId>>,
    /// For every action: whether it reads or writes the shared store.
    shares: Vec<bool>,
    shared: Vec<(Symbol, Symbol)>,
    locals: Vec<Symbol>,
    /// Shared variables that the environment does not change, read off from the relation.
    kept: FxHashSet<Symbol>,
}

impl<'a> Passive<'a> {
    pub fn new(
        program: &'a Program,
        terms: &'a Terms,
        thread: ThreadId,
        code: &'a Code,
        cuts: &[LocId],
        env: Environment,
    ) -> Self {
        let mut cut = vec![false; code.locations.len()];
        cuts.iter().for_each(|l| cut[l.index()] = true);
        let shared: Vec<(Symbol, Symbol)> =
            program.shared().map(|v| (program.vars[v].symbol, program.vars[v].primed)).collect();
        let names: FxHashSet<Symbol> = shared.iter().map(|(s, _)| *s).collect();
        let shares = code.actions.iter().map(|a| shares(program, terms, a, &names)).collect();
        let mut kept = FxHashSet::default();
        for c in terms.conjuncts(env.rely) {
            if let Some((Op::Eq, args)) = terms.app(c) {
                let same = |a: Term, b: Term| {
                    shared.iter().find(|(s, p)| terms.sym(*s) == a && terms.sym(*p) == b).map(|(s, _)| *s)
                };
                kept.extend(same(args[0], args[1]).or_else(|| same(args[1], args[0])));
            }
        }
        let locals = program.threads[thread].locals.iter().map(|v| program.vars[*v].symbol).collect();
        Self { program, terms, code, env, cut, outgoing: code.outgoing(), shares, shared, locals, kept }
    }

    /// The region that begins so; `None` if some loop has no cut.
    pub fn region(&self, begin: Begin) -> Option<Region> {
        let t = self.terms;
        let (start, given) = match begin {
            Begin::At(l, formula) => (l, formula),
            Begin::Entry(formula) => (self.code.entry, formula),
        };
        let order = order(self.code, &self.outgoing, start, &self.cut)?;
        let mut region = Region { start, facts: Vec::new(), steps: Vec::new(), ends: Vec::new(), points: Vec::new() };
        region.facts.push(t.lt(t.int(0), t.sym(self.program.tid)));
        let mut store: Store =
            self.shared.iter().map(|(s, _)| *s).chain(self.locals.iter().copied()).map(|s| (s, t.sym(s))).collect();
        region.facts.push(given);
        if !self.code.locations[start].inside {
            region.facts.push(self.env.invariant);
        }
        let arrived = store.clone();
        if let Begin::Entry(_) = begin {
            store = self.moved(t.tt(), &store, &mut region.facts);
        }
        // What comes into each location: whether, and with which store.
        let mut into: FxHashMap<LocId, Vec<(Term, Store)>> = FxHashMap::default();
        region.points.push(Point { at: start, reached: t.tt(), arrived, store: store.clone() });
        if let Begin::Entry(_) = begin
            && self.cut[start.index()]
        {
            // A loop begins where the thread does: its annotation has to hold at first.
            region.ends.push(End { at: start, reached: t.tt(), store });
            return Some(region);
        }
        self.leave(start, t.tt(), &store, &mut region, &mut into);
        let mut cuts: Vec<LocId> = Vec::new();
        for at in order.into_iter().skip(1) {
            self.arrive(at, &mut region, &mut into);
        }
        cuts.extend(into.keys().copied().filter(|l| self.cut[l.index()]));
        cuts.sort_unstable();
        for at in cuts {
            let (reached, arrived) = self.join(at, &mut region.facts, &mut into);
            let store =
                if self.code.locations[at].inside { arrived } else { self.moved(reached, &arrived, &mut region.facts) };
            region.ends.push(End { at, reached, store });
        }
        Some(region)
    }

    fn arrive(&self, at: LocId, region: &mut Region, into: &mut FxHashMap<LocId, Vec<(Term, Store)>>) {
        let (reached, arrived) = self.join(at, &mut region.facts, into);
        // A step of others may be put off until the thread looks at the shared store, or goes where they cannot move.
        let looks = self.outgoing[at]
            .iter()
            .any(|a| self.shares[a.index()] || self.code.locations[self.code.actions[*a].to].inside);
        let store = if looks && !self.code.locations[at].inside {
            self.moved(reached, &arrived, &mut region.facts)
        } else {
            arrived.clone()
        };
        region.points.push(Point { at, reached, arrived, store: store.clone() });
        self.leave(at, reached, &store, region, into);
    }

    /// One symbol and one store for all that comes into a location.
    fn join(&self, at: LocId, facts: &mut Vec<Term>, into: &mut FxHashMap<LocId, Vec<(Term, Store)>>) -> (Term, Store) {
        let t = self.terms;
        let mut all = into.remove(&at).unwrap_or_default();
        if all.len() == 1 {
            return all.pop().expect("there is one");
        }
        let Some((_, first)) = all.first() else {
            return (
                t.ff(),
                self.shared
                    .iter()
                    .map(|(s, _)| (*s, t.sym(*s)))
                    .chain(self.locals.iter().map(|s| (*s, t.sym(*s))))
                    .collect(),
            );
        };
        let reached = t.sym(t.symbol(format!("at {at}"), Sort::BOOL));
        facts.push(t.implies(reached, t.or(&all.iter().map(|(r, _)| *r).collect::<Vec<_>>())));
        let mut store = first.clone();
        for symbol in self.shared.iter().map(|(s, _)| *s).chain(self.locals.iter().copied()) {
            if all.iter().any(|(_, s)| s[&symbol] != first[&symbol]) {
                let value = t.sym(t.symbol(format!("{}@{at}", t.symbol_name(symbol)), t.symbol_sort(symbol)));
                // Of two ways that a model takes at once both values would have to be equal; a run takes one.
                facts.extend(all.iter().map(|(r, s)| t.implies(*r, t.eq(value, s[&symbol]))));
                store.insert(symbol, value);
            }
        }
        (reached, store)
    }

    /// The store after any number of steps of others.
    fn moved(&self, reached: Term, from: &Store, facts: &mut Vec<Term>) -> Store {
        let t = self.terms;
        let mut to = from.clone();
        let mut pairs: Vec<(Symbol, Term)> = Vec::new();
        for (symbol, primed) in &self.shared {
            if !self.kept.contains(symbol) {
                to.insert(*symbol, t.sym(t.symbol(t.symbol_name(*symbol), t.symbol_sort(*symbol))));
            }
            pairs.push((*symbol, from[symbol]));
            pairs.push((*primed, to[symbol]));
        }
        if to == *from {
            return to;
        }
        facts.push(t.implies(reached, t.substitute(self.env.rely, pairs)));
        let now = self.shared.iter().map(|(s, _)| (*s, to[s]));
        facts.push(t.implies(reached, t.substitute(self.env.invariant, now)));
        to
    }

    fn leave(
        &self,
        at: LocId,
        reached: Term,
        store: &Store,
        region: &mut Region,
        into: &mut FxHashMap<LocId, Vec<(Term, Store)>>,
    ) {
        let t = self.terms;
        for id in &self.outgoing[at] {
            let action = &self.code.actions[*id];
            let mut here = logic::subst::Substitution::new(t, store.iter().map(|(s, v)| (*s, *v)));
            let mut parts = vec![reached, here.apply(action.guard)];
            parts.retain(|p| !t.is_true(*p));
            let (mut before_gate, mut gates) = (Vec::new(), Vec::new());
            for gate in &action.gates {
                let formula = here.apply(gate.formula);
                before_gate.push(t.and(&parts));
                gates.push(formula);
                parts.push(formula);
            }
            let taken = t.sym(t.symbol(format!("step {id}"), Sort::BOOL));
            region.facts.push(t.implies(taken, t.and(&parts)));
            let mut after = store.clone();
            for u in &action.updates {
                let value = here.apply(u.value);
                let simple = t.app(value).is_none();
                let name = &self.program.vars[u.var];
                let new = if simple {
                    value
                } else {
                    let new = t.sym(t.symbol(name.name.clone(), name.sort));
                    region.facts.push(t.eq(new, value));
                    new
                };
                after.insert(name.symbol, new);
            }
            let spawned = action.spawn.as_ref().map(|_| t.symbol("started", Sort::INT));
            if let (Some(new), Some(spawn)) = (spawned, &action.spawn) {
                let new = t.sym(new);
                let fresh = t.and(&[t.lt(t.int(0), new), t.ne(new, t.sym(self.program.tid))]);
                region.facts.push(fresh);
                if let Some(v) = spawn.into {
                    after.insert(self.program.vars[v].symbol, new);
                }
            }
            // A symbol of its own for what comes after: what is known there (that others can move on, that the invariant
            // holds) must not be known when the step itself is judged.
            let passed = t.sym(t.symbol(format!("after {id}"), Sort::BOOL));
            region.facts.push(t.implies(passed, taken));
            into.entry(action.to).or_default().push((passed, after.clone()));
            let step = Step { action: *id, before_gate, gates, taken, before: store.clone(), after, spawned };
            region.steps.push(step);
        }
    }
}

/// Whether an action reads or writes the shared store, or starts a thread.
fn shares(program: &Program, terms: &Terms, action: &Action, shared: &FxHashSet<Symbol>) -> bool {
    let reads = |f: Term| terms.free_symbols(f).iter().any(|s| shared.contains(s));
    action.spawn.is_some()
        || reads(action.guard)
        || action.gates.iter().any(|g| reads(g.formula))
        || action.updates.iter().any(|u| program.vars[u.var].scope == Scope::Shared || reads(u.value))
}
