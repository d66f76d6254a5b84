//! A thread's code between cut points, in passive form: one set of facts for all its paths.
//!
//! In: the code of a thread, a set of cut locations that breaks every loop, and what one step of the others may do. Out: for
//! each region (the code from one cut to the next ones) facts over symbols that are never assigned: what holds in every run
//! through the region, the steps with their stores before and after, and the stores with which cuts are reached. At every
//! location where others can be scheduled and the thread then looks at the shared store, one environment step stands for
//! any number (Calvin's i-abstraction, section 4; the caller shows that the relation is reflexive and transitive). The
//! facts grow linearly with the code: paths are joined by new symbols (Flanagan and Saxe's compact conditions).
//! What is known while a lock is free is left out where the thread has it: it would say nothing there, at every step.
//! A region may be looked at with some of the shared variables alone (`Within`): those it touches have to be among them, others
//! have no value in it, and only the conjuncts that speak of no others are used.
//! Deliberately absent: what is to be shown of steps and cuts; the checker and the methods each say it for themselves.

use crate::code::{ActionId, Code, LocId};
use crate::model::{Program, ThreadId, VarId};
use crate::parts::{Parts, StoreSymbols, Within};
use crate::transition::{Cycle, must_locksets, topological_order};
use logic::subst::Substitution;
use logic::{Op, Sort, Symbol, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The values of shared variables and of the thread's locals, by the variable's symbol. What is not listed has the value
/// it had when the region began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionStore(FxHashMap<Symbol, Term>);

impl RegionStore {
    pub fn value(&self, terms: &Terms, symbol: Symbol) -> Term {
        self.0.get(&symbol).copied().unwrap_or_else(|| terms.sym(symbol))
    }
    pub fn reader<'t>(&self, terms: &'t Terms) -> Substitution<'t> {
        Substitution::new(terms, self.0.iter().map(|(s, v)| (*s, *v)))
    }
    /// A formula of one store, of this one.
    pub fn read(&self, terms: &Terms, formula: Term) -> Term {
        self.reader(terms).apply(formula)
    }
}

/// What others may do, and what always holds.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentFacts<'a> {
    /// Of a two-store formula over the shared store and `tid`, reflexive and transitive.
    pub rely: &'a Parts,
    /// Over the shared store; holds whenever no thread is inside an atomic block.
    pub invariant: &'a Parts,
}

/// How a region begins.
#[derive(Clone, Copy, Debug)]
pub enum RegionStart {
    /// At a cut where this formula holds of the shared store, the locals and `tid`.
    At(LocId, Term),
    /// At the entry, with a store that satisfies the formula; others have moved since.
    Entry(Term),
}

#[derive(Clone, Debug)]
pub struct Region {
    pub start: LocId,
    /// The shared variables that have values in it: formulas about others have none.
    pub within: Within,
    /// What holds in every run through the region.
    pub facts: Vec<Term>,
    pub steps: Vec<RegionStep>,
    pub ends: Vec<End>,
    /// For every location on the way: whether the run comes by, and the store others may have left.
    pub points: Vec<RegionPoint>,
}

#[derive(Clone, Debug)]
pub struct RegionPoint {
    pub at: LocId,
    pub reached: Term,
    /// The store when the thread arrived, before others moved.
    pub arrived: RegionStore,
    pub store: RegionStore,
}

/// One action of the region.
#[derive(Clone, Debug)]
pub struct RegionStep {
    pub action: ActionId,
    /// For each gate, in order: the run is at the step, its guard and the gates before hold.
    pub before_gate: Vec<Term>,
    /// Each gate's formula in the store before.
    pub gates: Vec<Term>,
    /// The run takes the step.
    pub taken: Term,
    pub before: RegionStore,
    pub after: RegionStore,
    /// The id of the thread that the step starts.
    pub spawned: Option<Symbol>,
}

/// A cut that the region reaches, others having moved.
#[derive(Clone, Debug)]
pub struct End {
    pub at: LocId,
    pub reached: Term,
    pub store: RegionStore,
}

impl Region {
    fn shared<'n>(&'n self, names: &'n StoreSymbols) -> Box<dyn Iterator<Item = Symbol> + 'n> {
        match &self.within {
            Within::All => Box::new(names.all().iter().copied()),
            Within::These(set) => Box::new(set.iter().copied()),
        }
    }

    /// For two-store formulas of another instance: the store before and after a step, as `other` sees it.
    pub fn seen<'t>(
        &self,
        program: &Program,
        terms: &'t Terms,
        names: &StoreSymbols,
        step: &RegionStep,
        other: Symbol,
    ) -> Substitution<'t> {
        let mut pairs = vec![(program.tid, terms.sym(other))];
        for s in self.shared(names) {
            pairs.push((s, step.before.value(terms, s)));
            pairs.push((names.after(s), step.after.value(terms, s)));
        }
        Substitution::new(terms, pairs)
    }

    /// For formulas of one store: the shared store after a step.
    pub fn after<'t>(&self, terms: &'t Terms, names: &StoreSymbols, step: &RegionStep) -> Substitution<'t> {
        Substitution::new(terms, self.shared(names).map(|s| (s, step.after.value(terms, s))))
    }

    /// For formulas about the entry of a thread: the instance that a step starts, with its locals.
    pub fn started<'t>(
        &self,
        program: &Program,
        terms: &'t Terms,
        names: &StoreSymbols,
        step: &RegionStep,
        (spawn, new): (&crate::code::Spawn, Symbol),
    ) -> Substitution<'t> {
        let mut pairs = vec![(program.tid, terms.sym(new))];
        pairs.extend(self.shared(names).map(|s| (s, step.after.value(terms, s))));
        let target = &program.threads[spawn.thread];
        for v in &target.locals {
            let var = &program.vars[*v];
            let value = match (target.params.iter().position(|x| x == v), var.initial) {
                (Some(i), _) => step.before.read(terms, spawn.args[i]),
                (None, Some(value)) => value,
                (None, None) => terms.sym(terms.symbol(format!("{}.new", var.name), var.sort)),
            };
            pairs.push((var.symbol, value));
        }
        Substitution::new(terms, pairs)
    }
}

/// Whether the cuts break every loop that the thread can come to.
pub fn breaks_loops(code: &Code, cuts: &[LocId]) -> bool {
    let mut cut = vec![false; code.locations.len()];
    cuts.iter().for_each(|l| cut[l.index()] = true);
    let outgoing = code.outgoing();
    let starts = cuts.iter().copied().chain([code.entry]);
    starts.into_iter().all(|s| topological_order(code, &outgoing, s, &|l| cut[l.index()]).is_ok())
}

/// Builds regions of one thread.
pub struct Passive<'a> {
    program: &'a Program,
    terms: &'a Terms,
    names: &'a StoreSymbols,
    code: &'a Code,
    env: EnvironmentFacts<'a>,
    cut: Vec<bool>,
    outgoing: base::IdVec<LocId, Vec<ActionId>>,
    /// For every action: the shared variables that it reads or writes.
    touched: Vec<Vec<Symbol>>,
    /// For every location: the locks that the thread holds there, by its code.
    must_locksets: Vec<Vec<Symbol>>,
}

/// A region while it is built.
struct DraftRegion {
    region: Region,
    rely: Term,
    /// What always holds, by the locks that are held: see `knows`.
    invariant: Vec<(Option<Symbol>, Term)>,
    known: FxHashMap<Vec<Symbol>, Term>,
    /// The shared variables with values, and which of them the environment leaves alone, read off from the relation.
    shared: Vec<Symbol>,
    kept: FxHashSet<Symbol>,
    /// What comes into each location: whether, and with which store.
    into: FxHashMap<LocId, Vec<(Term, RegionStore)>>,
}

impl<'a> Passive<'a> {
    pub fn new(
        program: &'a Program,
        terms: &'a Terms,
        names: &'a StoreSymbols,
        thread: ThreadId,
        cuts: &[LocId],
        env: EnvironmentFacts<'a>,
    ) -> Self {
        let code = &program.threads[thread].code;
        let mut cut = vec![false; code.locations.len()];
        cuts.iter().for_each(|l| cut[l.index()] = true);
        let touched = code.actions.iter().map(|a| names.touched(program, terms, a)).collect();
        let symbols = |locks: Option<BTreeSet<VarId>>| -> Vec<Symbol> {
            locks.into_iter().flatten().map(|v| program.vars[v].symbol).collect()
        };
        let held = must_locksets(program, terms, code).iter().cloned().map(symbols).collect();
        Self { program, terms, names, code, env, cut, outgoing: code.outgoing(), touched, must_locksets: held }
    }

    fn order(&self, start: LocId) -> Result<Vec<LocId>, Cycle> {
        topological_order(self.code, &self.outgoing, start, &|l| self.cut[l.index()])
    }

    /// The actions of the region from `start`, each with the shared variables it touches; `None` if some loop has no cut.
    pub fn actions(&self, start: LocId) -> Option<Vec<(ActionId, &[Symbol])>> {
        let order = self.order(start).ok()?;
        let all = order.into_iter().flat_map(|l| self.outgoing[l].iter());
        Some(all.map(|a| (*a, &self.touched[a.index()][..])).collect())
    }

    /// The region that begins so, looked at with these shared variables; what is touched has to be among them.
    pub fn region(&self, begin: RegionStart, within: Within) -> Result<Region, String> {
        let t = self.terms;
        let (start, given) = match begin {
            RegionStart::At(l, formula) => (l, formula),
            RegionStart::Entry(formula) => (self.code.entry, formula),
        };
        let order = self.order(start).map_err(|_| "a loop has no cut")?;
        let actions = order.iter().flat_map(|l| self.outgoing[*l].iter());
        if !actions.into_iter().all(|a| within.covers(&self.touched[a.index()])) {
            return Err("a region touches a variable that it is not to speak of".into());
        }
        let rely = self.env.rely.formula(t, &within);
        let parts = self.env.invariant.within(&within).into_iter().map(|i| self.env.invariant.list[i].formula);
        let invariant = parts.map(|f| (self.free_lock(f), f)).collect();
        let shared: Vec<Symbol> = self.names.all().iter().copied().filter(|s| within.has(*s)).collect();
        let mut region =
            Region { start, within, facts: Vec::new(), steps: Vec::new(), ends: Vec::new(), points: Vec::new() };
        region.facts.push(t.lt(t.int(0), t.sym(self.program.tid)));
        let covered = |f: &Term| region.within.covers(&self.names.about(t, *f));
        let given: Vec<Term> = t.conjuncts(given).into_iter().filter(covered).collect();
        region.facts.push(t.and(&given));
        let kept = self.kept(rely);
        let known = FxHashMap::default();
        let mut draft = DraftRegion { region, rely, invariant, known, shared, kept, into: FxHashMap::default() };
        if !self.code.locations[start].in_atomic_block {
            let known = self.knows(start, &mut draft);
            draft.region.facts.push(known);
        }
        let arrived = RegionStore::default();
        let mut store = arrived.clone();
        if let RegionStart::Entry(_) = begin {
            store = self.moved(start, t.tt(), &store, &mut draft);
        }
        draft.region.points.push(RegionPoint { at: start, reached: t.tt(), arrived, store: store.clone() });
        if let RegionStart::Entry(_) = begin
            && self.cut[start.index()]
        {
            // A loop begins where the thread does: its annotation has to hold at first.
            draft.region.ends.push(End { at: start, reached: t.tt(), store });
            return Ok(draft.region);
        }
        self.leave(start, t.tt(), &store, &mut draft);
        for at in order.into_iter().skip(1) {
            self.arrive(at, &mut draft);
        }
        let mut cuts: Vec<LocId> = draft.into.keys().copied().filter(|l| self.cut[l.index()]).collect();
        cuts.sort_unstable();
        for at in cuts {
            let (reached, arrived) = self.join(at, &mut draft);
            let store = if self.code.locations[at].in_atomic_block {
                arrived
            } else {
                self.moved(at, reached, &arrived, &mut draft)
            };
            draft.region.ends.push(End { at, reached, store });
        }
        Ok(draft.region)
    }

    /// Shared variables that the relation says stay as they are.
    fn kept(&self, rely: Term) -> FxHashSet<Symbol> {
        let t = self.terms;
        let same = |a: Term, b: Term| {
            let symbol = t.as_symbol(a).filter(|s| self.names.is_shared(*s))?;
            (t.sym(self.names.after(symbol)) == b).then_some(symbol)
        };
        let mut kept = FxHashSet::default();
        for c in t.conjuncts(rely) {
            if let Some((Op::Eq, args)) = t.app(c) {
                kept.extend(same(args[0], args[1]).or_else(|| same(args[1], args[0])));
            }
        }
        kept
    }

    fn arrive(&self, at: LocId, draft: &mut DraftRegion) {
        let (reached, arrived) = self.join(at, draft);
        // A step of others may be put off until the thread looks at the shared store, or goes where they cannot move.
        let looks = self.outgoing[at].iter().any(|a| {
            let action = &self.code.actions[*a];
            !self.touched[a.index()].is_empty()
                || action.spawn.is_some()
                || self.code.locations[action.to].in_atomic_block
        });
        let store = if looks && !self.code.locations[at].in_atomic_block {
            self.moved(at, reached, &arrived, draft)
        } else {
            arrived.clone()
        };
        draft.region.points.push(RegionPoint { at, reached, arrived, store: store.clone() });
        self.leave(at, reached, &store, draft);
    }

    /// One symbol and one store for all that comes into a location.
    fn join(&self, at: LocId, draft: &mut DraftRegion) -> (Term, RegionStore) {
        let t = self.terms;
        let mut all = draft.into.remove(&at).unwrap_or_default();
        if all.len() == 1 {
            return all.pop().expect("there is one");
        }
        let Some((_, first)) = all.first() else { return (t.ff(), RegionStore::default()) };
        let reached = t.sym(t.symbol(format!("at {at}"), Sort::BOOL));
        let facts = &mut draft.region.facts;
        facts.push(t.implies(reached, t.or(&all.iter().map(|(r, _)| *r).collect::<Vec<_>>())));
        let mut store = first.clone();
        let mut symbols: Vec<Symbol> = all.iter().flat_map(|(_, s)| s.0.keys().copied()).collect();
        symbols.sort_unstable();
        symbols.dedup();
        for symbol in symbols {
            let value = first.value(t, symbol);
            if all.iter().any(|(_, s)| s.value(t, symbol) != value) {
                let value = t.sym(t.symbol(format!("{}@{at}", t.symbol_name(symbol)), t.symbol_sort(symbol)));
                // Of two ways that a model takes at once both values would have to be equal; a run takes one.
                facts.extend(all.iter().map(|(r, s)| t.implies(*r, t.eq(value, s.value(t, symbol)))));
                store.0.insert(symbol, value);
            }
        }
        (reached, store)
    }

    /// The lock of a formula that speaks of stores in which it is free.
    fn free_lock(&self, formula: Term) -> Option<Symbol> {
        let t = self.terms;
        let Some((Op::Implies, args)) = t.app(formula) else { return None };
        match t.app(args[0]) {
            Some((Op::Eq, sides)) if sides[1] == t.int(0) => t.as_symbol(sides[0]).filter(|s| self.names.is_shared(*s)),
            None if t.as_symbol(args[0]).is_some() => self.free_lock(args[1]),
            _ => None,
        }
    }

    /// What of the invariant is stated at a location.
    fn knows(&self, at: LocId, draft: &mut DraftRegion) -> Term {
        let held = &self.must_locksets[at.index()];
        if let Some(known) = draft.known.get(held) {
            return *known;
        }
        let stated = draft.invariant.iter().filter(|(lock, _)| lock.is_none_or(|m| !held.contains(&m)));
        let known = self.terms.and(&stated.map(|(_, f)| *f).collect::<Vec<_>>());
        draft.known.insert(held.clone(), known);
        known
    }

    /// The store after any number of steps of others.
    fn moved(&self, at: LocId, reached: Term, from: &RegionStore, draft: &mut DraftRegion) -> RegionStore {
        let t = self.terms;
        let mut to = from.clone();
        let mut pairs: Vec<(Symbol, Term)> = Vec::new();
        for symbol in &draft.shared {
            if !draft.kept.contains(symbol) {
                to.0.insert(*symbol, t.sym(t.symbol(t.symbol_name(*symbol), t.symbol_sort(*symbol))));
            }
            pairs.push((*symbol, from.value(t, *symbol)));
            pairs.push((self.names.after(*symbol), to.value(t, *symbol)));
        }
        if to == *from {
            return to;
        }
        let known = self.knows(at, draft);
        let facts = &mut draft.region.facts;
        facts.push(t.implies(reached, t.substitute(draft.rely, pairs)));
        let now = draft.shared.iter().map(|s| (*s, to.value(t, *s)));
        facts.push(t.implies(reached, t.substitute(known, now)));
        to
    }

    fn leave(&self, at: LocId, reached: Term, store: &RegionStore, draft: &mut DraftRegion) {
        let t = self.terms;
        let DraftRegion { region, into, .. } = draft;
        for id in &self.outgoing[at] {
            let action = &self.code.actions[*id];
            let mut here = store.reader(t);
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
                after.0.insert(name.symbol, new);
            }
            let spawned = action.spawn.as_ref().map(|_| t.symbol("started", Sort::INT));
            if let (Some(new), Some(spawn)) = (spawned, &action.spawn) {
                let new = t.sym(new);
                let fresh = t.and(&[t.lt(t.int(0), new), t.ne(new, t.sym(self.program.tid))]);
                region.facts.push(fresh);
                if let Some(v) = spawn.into {
                    after.0.insert(self.program.vars[v].symbol, new);
                }
            }
            // A symbol of its own for what comes after: what is known there (that others can move on, that the invariant
            // holds) must not be known when the step itself is judged.
            let passed = t.sym(t.symbol(format!("after {id}"), Sort::BOOL));
            region.facts.push(t.implies(passed, taken));
            into.entry(action.to).or_default().push((passed, after.clone()));
            let step = RegionStep { action: *id, before_gate, gates, taken, before: store.clone(), after, spawned };
            region.steps.push(step);
        }
    }
}
