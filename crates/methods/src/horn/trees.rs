//! Abstract reachability and environment trees (Threader, section 5: AbstReachEnv).
//!
//! In: the parties, and for each of their locations and actions the predicates found so far. Out: for each party a tree
//! of abstract states and, in the modular case, of environment transitions, each with its parent; or the first abstract
//! state from which a wanted property may fail. Control is explicit: a state is at a location of its party, and,
//! in the global case, knows the locations of others where these are tracked. An environment transition always says
//! which shared variables stay and what the action's own text says of the shared store; predicates add what the
//! thread knew before it. Trees are built anew after a refinement, but every abstract post is remembered: only
//! what a new predicate touches is asked again.

use super::abstraction::{Abstraction, Cube, NoAnswer};
use super::system::{Act, System};
use base::Budget;
use logic::{Sort, Symbol, Term};
use program::{PropertyId, PropertyKind, VarKind};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// States over the shared store and one thread's locals; transitions over the shared store.
    Modular,
    /// States over everything; the others' actions as they are.
    Global,
}

/// How a state came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Via {
    pub party: usize,
    pub act: usize,
    /// The environment transition, if it is one of the modular case.
    pub edge: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct State {
    pub party: usize,
    pub at: usize,
    /// Known locations of all parties (the global case).
    pub control: Vec<Option<u32>>,
    pub cube: Cube,
    pub parent: Option<(usize, Via)>,
}

#[derive(Clone, Debug)]
pub struct Edge {
    pub party: usize,
    pub act: usize,
    pub cube: Cube,
    pub origin: usize,
}

#[derive(Default)]
pub struct Trees {
    pub states: Vec<State>,
    pub edges: Vec<Edge>,
    /// Whether more locations of others are told apart now than when they were built.
    pub stale: bool,
}

/// Where a property may fail.
#[derive(Clone, Copy, Debug)]
pub enum Failure {
    /// The state, the act, and which of its gates.
    Gate(usize, usize, usize),
    /// The state and the invariant.
    Invariant(usize, PropertyId),
}

pub enum Built {
    Closed,
    /// The first few found.
    Fails(Vec<Failure>),
}

pub enum Trouble {
    Time,
    Solver(String),
    Size,
}

impl From<NoAnswer> for Trouble {
    fn from(n: NoAnswer) -> Self {
        Trouble::Solver(n.0)
    }
}

/// Predicates of one place, in the order found.
pub type Predicates = Vec<Term>;

pub struct Forest<'a> {
    pub system: System<'a>,
    pub mode: Mode,
    pub abs: Abstraction<'a>,
    wanted: Vec<PropertyId>,
    invariants: Vec<(PropertyId, Term)>,
    /// By party and location.
    pub at: Vec<Vec<Predicates>>,
    /// By party and act: two-store predicates, `tid` the thread that moves.
    pub on: Vec<Vec<Predicates>>,
    /// By party and act: what an environment transition says from the start.
    pub plain: Vec<Vec<Vec<Term>>>,
    /// By party and location: which locations of which other party are told apart.
    pub tracked: Vec<Vec<Vec<BTreeSet<u32>>>>,
    pub trees: Trees,
    /// Whether predicates were taken from the program's text.
    pub seeded: bool,
    pub other: Symbol,
    /// For each sort of a variable, a symbol that occurs nowhere else.
    pub stand_ins: FxHashMap<Sort, Symbol>,
    posts: FxHashMap<(usize, Cube, usize, usize, usize, usize), Option<Cube>>,
    moved: FxHashMap<(usize, Cube, usize, usize, Cube, usize, usize), Option<Cube>>,
    made: FxHashMap<(usize, Cube, usize, usize), Option<Cube>>,
    fine: FxHashMap<(usize, Cube, usize), Option<usize>>,
}

const MOST_STATES: usize = 60_000;
/// Violations refined together.
const FAILURES: usize = 4;

impl<'a> Forest<'a> {
    pub fn new(system: System<'a>, mode: Mode, wanted: &[PropertyId], abs: Abstraction<'a>) -> Self {
        let t = system.terms;
        let n = system.parties.len();
        let invariants = wanted
            .iter()
            .filter_map(|w| match system.program.properties[*w].kind {
                PropertyKind::Invariant(f) => Some((*w, f)),
                _ => None,
            })
            .collect();
        // Who holds a lock matters almost always: it is told from the start, in the modular case.
        let locks: Vec<Symbol> = system
            .program
            .vars
            .iter()
            .filter(|v| mode == Mode::Modular && v.kind == VarKind::Lock && v.sort == Sort::INT)
            .map(|v| v.symbol)
            .collect();
        let held: Vec<Term> = locks.iter().map(|m| t.eq(t.sym(*m), t.sym(system.program.tid))).collect();
        let known = |settled: &Vec<Term>| held.iter().chain(settled).copied().collect();
        let at = system.parties.iter().map(|p| p.settled.iter().map(known).collect()).collect();
        let on = system
            .parties
            .iter()
            .map(|p| p.acts.iter().map(|a| if a.writes.is_empty() { Vec::new() } else { held.clone() }).collect())
            .collect();
        let tracked = system.parties.iter().map(|p| vec![vec![BTreeSet::new(); n]; p.out.len()]).collect();
        let mut heard: Vec<Symbol> = system.shared.clone();
        heard.push(system.program.tid);
        let plain = system
            .parties
            .iter()
            .map(|p| {
                p.acts
                    .iter()
                    .map(|a| {
                        let shared = |f: &Term| t.free_symbols(*f).iter().all(|s| heard.contains(s));
                        let mut known: Vec<Term> = a.enabled.iter().copied().filter(shared).collect();
                        for (now, next) in &a.writes {
                            let value = a.updates.iter().find(|(s, _)| s == now).expect("it is written").1;
                            if shared(&value) {
                                known.push(t.eq(t.sym(*next), value));
                            }
                        }
                        known
                    })
                    .collect()
            })
            .collect();
        let other = t.symbol("other", Sort::INT);
        let mut stand_ins = FxHashMap::default();
        for s in system.shared.iter().chain(system.parties.iter().flat_map(|p| p.locals.iter())) {
            let sort = t.symbol_sort(*s);
            stand_ins.entry(sort).or_insert_with(|| t.symbol("after", sort));
        }
        let mut out = Self {
            system,
            mode,
            abs,
            wanted: wanted.to_vec(),
            invariants,
            at,
            on,
            plain,
            tracked,
            trees: Trees::default(),
            seeded: false,
            other,
            stand_ins,
            posts: FxHashMap::default(),
            moved: FxHashMap::default(),
            made: FxHashMap::default(),
            fine: FxHashMap::default(),
        };
        out.seed_remainders();
        out
    }
    pub fn invariants(&self) -> &[(PropertyId, Term)] {
        &self.invariants
    }
    pub fn is_wanted(&self, property: PropertyId) -> bool {
        self.wanted.contains(&property)
    }
    /// Facts that hold of a party's symbols always.
    fn always(&self) -> Vec<Term> {
        let t = self.system.terms;
        match self.mode {
            Mode::Modular => vec![t.lt(t.int(0), t.sym(self.system.program.tid))],
            Mode::Global => Vec::new(),
        }
    }
    fn known(&self, cube: Cube) -> Vec<Term> {
        let mut out = self.always();
        out.extend(self.abs.parts(cube).iter());
        out
    }
    fn kept(list: &[Term], follows: &[bool]) -> Vec<Term> {
        list.iter().zip(follows).filter(|(_, f)| **f).map(|(p, _)| *p).collect()
    }
    /// The abstract post of an act of any party, in the tree of `party`, at location `to` of it.
    fn post(&mut self, party: usize, cube: Cube, mover: usize, act: usize, to: usize) -> Result<Option<Cube>, Trouble> {
        let version = self.at[party][to].len();
        let key = (party, cube, mover, act, to, version);
        if let Some(c) = self.posts.get(&key) {
            return Ok(*c);
        }
        let t = self.system.terms;
        let a: &Act = &self.system.parties[mover].acts[act];
        let goals: Vec<Term> = self.at[party][to].iter().map(|p| t.substitute(*p, a.updates.iter().copied())).collect();
        let fresh = a.enabled.clone();
        let found = self.abs.follows(&self.known(cube), &fresh, &goals)?;
        let found = found.map(|f| Self::kept(&self.at[party][to], &f));
        let found = found.map(|list| self.abs.cube(list));
        self.posts.insert(key, found);
        Ok(found)
    }
    /// The abstract post of an environment transition.
    fn disturbed(&mut self, party: usize, cube: Cube, edge: usize, at: usize) -> Result<Option<Cube>, Trouble> {
        let e = self.trees.edges[edge].clone();
        let version = self.at[party][at].len();
        let key = (party, cube, e.party, e.act, e.cube, at, version);
        if let Some(c) = self.moved.get(&key) {
            return Ok(*c);
        }
        let t = self.system.terms;
        let tid = self.system.program.tid;
        let other = t.sym(self.other);
        let mut fresh = vec![t.lt(t.int(0), other), t.ne(other, t.sym(tid))];
        let step: Vec<Term> =
            self.plain[e.party][e.act].iter().copied().chain(self.abs.parts(e.cube).iter().copied()).collect();
        fresh.extend(step.into_iter().map(|f| t.substitute(f, [(tid, other)])));
        let after: Vec<(Symbol, Term)> =
            self.system.parties[e.party].acts[e.act].writes.iter().map(|(x, y)| (*x, t.sym(*y))).collect();
        let goals: Vec<Term> = self.at[party][at].iter().map(|p| t.substitute(*p, after.iter().copied())).collect();
        let found = self.abs.follows(&self.known(cube), &fresh, &goals)?;
        let found = found.map(|f| Self::kept(&self.at[party][at], &f));
        let found = found.map(|list| self.abs.cube(list));
        self.moved.insert(key, found);
        Ok(found)
    }
    /// What others see of an act from a state.
    fn seen(&mut self, party: usize, cube: Cube, act: usize) -> Result<Option<Cube>, Trouble> {
        let version = self.on[party][act].len();
        let key = (party, cube, act, version);
        if let Some(c) = self.made.get(&key) {
            return Ok(*c);
        }
        let t = self.system.terms;
        let a = &self.system.parties[party].acts[act];
        let mut after: Vec<(Symbol, Term)> = Vec::new();
        for (now, next) in &a.writes {
            after.push((*next, a.updates.iter().find(|(s, _)| s == now).expect("it is written").1));
        }
        let fresh = a.enabled.clone();
        let goals: Vec<Term> = self.on[party][act].iter().map(|p| t.substitute(*p, after.iter().copied())).collect();
        let found = self.abs.follows(&self.known(cube), &fresh, &goals)?;
        let found = found.map(|f| Self::kept(&self.on[party][act], &f));
        let found = found.map(|list| self.abs.cube(list));
        self.made.insert(key, found);
        Ok(found)
    }
    /// Whether a state may fail something; remembered by cube.
    fn failure(&mut self, s: usize) -> Result<Option<Failure>, Trouble> {
        let (party, at, cube) = (self.trees.states[s].party, self.trees.states[s].at, self.trees.states[s].cube);
        for act in self.system.parties[party].out[at].clone() {
            let found = match self.fine.get(&(party, cube, act)) {
                Some(found) => *found,
                None => {
                    let found = self.bad_gate(party, cube, act)?;
                    self.fine.insert((party, cube, act), found);
                    found
                }
            };
            if let Some(gate) = found {
                return Ok(Some(Failure::Gate(s, act, gate)));
            }
        }
        let looked_at = self.mode == Mode::Modular || !self.system.parties[party].inside[at];
        if looked_at && !self.invariants.is_empty() {
            let goals: Vec<Term> = self.invariants.iter().map(|(_, f)| *f).collect();
            let known = self.known(cube);
            if let Some(found) = self.abs.follows(&known, &[], &goals)?
                && let Some(bad) = found.iter().position(|x| !x)
            {
                return Ok(Some(Failure::Invariant(s, self.invariants[bad].0)));
            }
        }
        Ok(None)
    }
    fn bad_gate(&mut self, party: usize, cube: Cube, act: usize) -> Result<Option<usize>, Trouble> {
        let a = &self.system.parties[party].acts[act];
        let mut fresh = vec![a.guard];
        for (n, (property, gate)) in a.gates.clone().into_iter().enumerate() {
            if self.wanted.contains(&property) {
                let known = self.known(cube);
                match self.abs.follows(&known, &fresh, &[gate])? {
                    None => return Ok(None),
                    Some(f) if !f[0] => return Ok(Some(n)),
                    Some(_) => {}
                }
            }
            fresh.push(gate);
        }
        Ok(None)
    }
    fn covered(&self, new: &State, index: &[Vec<Vec<usize>>]) -> bool {
        index[new.party][new.at].iter().any(|s| {
            let old = &self.trees.states[*s];
            self.abs.within(new.cube, old.cube)
                && old.control.iter().zip(&new.control).all(|(o, n)| o.is_none() || o == n)
        })
    }
    /// Builds the trees until they are closed or something may fail.
    pub fn build(&mut self, budget: &Budget) -> Result<Built, Trouble> {
        self.trees = Trees::default();
        let n = self.system.parties.len();
        let mut index: Vec<Vec<Vec<usize>>> =
            self.system.parties.iter().map(|p| vec![Vec::new(); p.out.len()]).collect();
        let mut queue: VecDeque<Item> = VecDeque::new();
        for party in 0..n {
            if self.mode == Mode::Global && !self.has_duties(party) {
                continue;
            }
            let entry = self.system.parties[party].entry;
            let mut fresh = self.system.init.clone();
            match self.mode {
                Mode::Modular => fresh.extend(self.system.parties[party].init.iter()),
                Mode::Global => fresh.extend(self.system.parties.iter().flat_map(|p| p.init.iter())),
            }
            let goals = self.at[party][entry].clone();
            let Some(f) = self.abs.follows(&[], &fresh, &goals)? else { continue };
            let cube = Self::kept(&goals, &f);
            let cube = self.abs.cube(cube);
            let control = self.start_control(party);
            self.add(State { party, at: entry, control, cube, parent: None }, &mut index, &mut queue);
        }
        let (mut done, mut used): (Vec<Vec<usize>>, Vec<usize>) = (vec![Vec::new(); n], Vec::new());
        let (mut found, mut enough) = (Vec::new(), usize::MAX);
        while let Some(item) = queue.pop_front() {
            if self.trees.states.len() > enough {
                break;
            }
            if budget.check().is_err() {
                return Err(Trouble::Time);
            }
            if self.trees.states.len() > MOST_STATES {
                return Err(Trouble::Size);
            }
            match item {
                Item::State(s) => {
                    if let Some(f) = self.failure(s)? {
                        found.push(f);
                        // A few at once, as long as they come cheaply: one refinement each, one new tree for all.
                        enough = enough.min(self.trees.states.len() + self.trees.states.len() / 4);
                        if found.len() == FAILURES {
                            return Ok(Built::Fails(found));
                        }
                        continue;
                    }
                    self.step(s, &mut index, &mut queue)?;
                    let party = self.trees.states[s].party;
                    done[party].push(s);
                    for e in used.clone() {
                        self.disturb(s, e, &mut index, &mut queue)?;
                    }
                }
                Item::Edge(e) => {
                    used.push(e);
                    for list in done.clone() {
                        for s in list {
                            self.disturb(s, e, &mut index, &mut queue)?;
                        }
                    }
                }
            }
        }
        Ok(if found.is_empty() { Built::Closed } else { Built::Fails(found) })
    }
    /// A party with a wanted gate, or the first where an invariant is wanted, has a tree in the global case.
    pub fn has_duties(&self, party: usize) -> bool {
        let gated =
            self.system.parties[party].acts.iter().any(|a| a.gates.iter().any(|(p, _)| self.wanted.contains(p)));
        gated || (party == 0 && !self.invariants.is_empty())
    }
    fn start_control(&self, party: usize) -> Vec<Option<u32>> {
        let all = self.system.parties.iter().map(|p| Some(p.entry as u32)).collect();
        self.forget(party, self.system.parties[party].entry, all)
    }
    /// Keeps what is tracked at a location.
    fn forget(&self, party: usize, at: usize, mut control: Vec<Option<u32>>) -> Vec<Option<u32>> {
        if self.mode == Mode::Modular {
            return Vec::new();
        }
        for (k, c) in control.iter_mut().enumerate() {
            if k != party && c.is_some_and(|l| !self.tracked[party][at][k].contains(&l)) {
                *c = None;
            }
        }
        control
    }
    fn add(&mut self, s: State, index: &mut [Vec<Vec<usize>>], queue: &mut VecDeque<Item>) {
        if !self.covered(&s, index) {
            index[s.party][s.at].push(self.trees.states.len());
            queue.push_back(Item::State(self.trees.states.len()));
            self.trees.states.push(s);
        }
    }
    fn is_inside(&self, party: usize, at: Option<u32>) -> bool {
        at.is_some_and(|l| self.system.parties[party].inside[l as usize])
    }
    fn step(&mut self, s: usize, index: &mut [Vec<Vec<usize>>], queue: &mut VecDeque<Item>) -> Result<(), Trouble> {
        let State { party, at, control, cube, .. } = self.trees.states[s].clone();
        // While another is known to be inside an atomic block, only it moves.
        let only = (0..control.len()).find(|k| self.is_inside(*k, control[*k]));
        if only.is_none_or(|k| k == party) {
            for act in self.system.parties[party].out[at].clone() {
                let to = self.system.parties[party].acts[act].to;
                if let Some(next) = self.post(party, cube, party, act, to)? {
                    let mut control = control.clone();
                    if self.mode == Mode::Global {
                        control[party] = Some(to as u32);
                    }
                    let control = self.forget(party, to, control);
                    let via = Via { party, act, edge: None };
                    self.add(State { party, at: to, control, cube: next, parent: Some((s, via)) }, index, queue);
                }
                let writes = !self.system.parties[party].acts[act].writes.is_empty();
                if self.mode == Mode::Modular
                    && writes
                    && let Some(seen) = self.seen(party, cube, act)?
                {
                    let edges = &self.trees.edges;
                    let old = edges.iter().any(|e| e.party == party && e.act == act && self.abs.within(seen, e.cube));
                    if !old {
                        queue.push_back(Item::Edge(edges.len()));
                        self.trees.edges.push(Edge { party, act, cube: seen, origin: s });
                    }
                }
            }
        }
        if self.mode == Mode::Modular {
            return Ok(());
        }
        for mover in (0..control.len()).filter(|k| *k != party && only.is_none_or(|o| o == *k)) {
            for act in 0..self.system.parties[mover].acts.len() {
                let (from, to) = {
                    let a = &self.system.parties[mover].acts[act];
                    (a.from as u32, a.to as u32)
                };
                if control[mover].is_some_and(|l| l != from) {
                    continue;
                }
                let Some(next) = self.post(party, cube, mover, act, at)? else { continue };
                let mut control = control.clone();
                control[mover] = Some(to);
                let control = self.forget(party, at, control);
                let via = Via { party: mover, act, edge: None };
                self.add(State { party, at, control, cube: next, parent: Some((s, via)) }, index, queue);
            }
        }
        Ok(())
    }
    fn disturb(
        &mut self,
        s: usize,
        e: usize,
        index: &mut [Vec<Vec<usize>>],
        queue: &mut VecDeque<Item>,
    ) -> Result<(), Trouble> {
        let (party, at, cube) = (self.trees.states[s].party, self.trees.states[s].at, self.trees.states[s].cube);
        let (by, act) = (self.trees.edges[e].party, self.trees.edges[e].act);
        if !self.system.meet(party, by) || self.system.parties[party].inside[at] {
            return Ok(());
        }
        if let Some(next) = self.disturbed(party, cube, e, at)? {
            let via = Via { party: by, act, edge: Some(e) };
            let new = State { party, at, control: Vec::new(), cube: next, parent: Some((s, via)) };
            self.add(new, index, queue);
        }
        Ok(())
    }
}

enum Item {
    State(usize),
    Edge(usize),
}
