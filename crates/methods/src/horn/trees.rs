//! Abstract reachability and environment trees (Threader, section 5: AbstReachEnv).
//!
//! In: the processes, and for each of their locations and actions the predicates found so far. Out: for each process a tree
//! of abstract states and, in the modular case, of environment transitions, each with its parent; or the first abstract
//! state from which a wanted property may fail. Control is explicit: a state is at a location of its process, and,
//! in the global case, knows the locations of others where these are tracked. An environment transition always says
//! which shared variables stay and what the action's own text says of the shared store; predicates add what the
//! thread knew before it. Trees are built anew after a refinement, but every abstract post is remembered: only
//! what a new predicate touches is asked again.

use super::abstraction::{Abstraction, Cube, NoAnswer};
use super::couples::{Disturbance, Expanded, Role, ThirdStep};
use super::system::{HornSystem, Transition};
use base::Budget;
use logic::{Sort, Symbol, Term};
use program::{PropertyId, PropertyKind, VarKind};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeMode {
    /// States over the shared store and one thread's locals; transitions over the shared store.
    Modular,
    /// States over the shared store and two instances; steps of a third as the trees know of it with either.
    Pairs,
    /// States over everything; the others' actions as they are.
    Global,
}

/// How a state came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Via {
    pub process: usize,
    pub act: usize,
    /// The environment transition, if it is one of the modular case.
    pub edge: Option<usize>,
    /// The step of a third instance, if it is one (the case of pairs).
    pub third: Option<ThirdStep>,
}

impl Via {
    /// An action as it is.
    pub(crate) fn act(process: usize, act: usize) -> Self {
        Self { process, act, edge: None, third: None }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct TreeState {
    pub process: usize,
    pub at: usize,
    /// Known locations of all processes (the global case).
    pub control: Vec<Option<u32>>,
    pub(crate) cube: Cube,
    pub parent: Option<(usize, Via)>,
}

#[derive(Clone, Debug)]
pub(crate) struct EnvironmentTransition {
    pub process: usize,
    pub act: usize,
    pub(crate) cube: Cube,
    pub origin: usize,
}

#[derive(Default)]
pub(crate) struct Trees {
    pub states: Vec<TreeState>,
    pub edges: Vec<EnvironmentTransition>,
    /// Whether more locations of others are distinguished now than when they were built.
    pub(crate) stale: bool,
}

/// Where a property may fail.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TreeFailure {
    /// The state, the act, and which of its gates.
    Gate(usize, usize, usize),
    /// The state and the invariant.
    Invariant(usize, PropertyId),
}

pub(crate) enum Built {
    Closed,
    /// The first few found.
    Fails(Vec<TreeFailure>),
}

pub(crate) enum Trouble {
    Time,
    /// As much as was allowed for now.
    Work,
    Solver(String),
    Size,
}

impl From<NoAnswer> for Trouble {
    fn from(n: NoAnswer) -> Self {
        Trouble::Solver(n.0)
    }
}

/// Predicates of one place, in the order found.
pub(crate) type Predicates = Vec<Term>;

pub(crate) struct Forest<'a> {
    pub system: HornSystem<'a>,
    pub mode: TreeMode,
    pub abs: Abstraction<'a>,
    wanted: Vec<PropertyId>,
    invariants: Vec<(PropertyId, Term)>,
    /// By process and location.
    pub at: Vec<Vec<Predicates>>,
    /// By process and act: two-store predicates, `tid` the thread that moves.
    pub on: Vec<Vec<Predicates>>,
    /// By process and act: what an environment transition says from the start.
    pub plain: Vec<Vec<Vec<Term>>>,
    /// By process and location: which locations of which other process are distinguished.
    pub tracked: Vec<Vec<Vec<BTreeSet<u32>>>>,
    pub trees: Trees,
    /// Whether predicates were taken from the program's text.
    pub(crate) seeded: bool,
    pub other: Symbol,
    /// For each sort of a variable, a symbol that occurs nowhere else.
    pub(crate) stand_ins: FxHashMap<Sort, Symbol>,
    posts: FxHashMap<(usize, Cube, usize, usize, usize, usize), Option<Cube>>,
    moved: FxHashMap<(usize, Cube, usize, usize, Cube, usize, usize), Option<Cube>>,
    made: FxHashMap<(usize, Cube, usize, usize), Option<Cube>>,
    fine: FxHashMap<(usize, Cube, usize), Option<usize>>,
    pub(super) thirds: FxHashMap<Disturbance, Option<Cube>>,
    /// Abstract posts that were looked up, and more for those that were computed, in all trees together; and how many may be.
    pub(super) work: usize,
    pub(super) most_work: usize,
}

const MAX_STATES: usize = 60_000;
/// What an abstract post costs that is not remembered, beside one that is.
pub(super) const COMPUTED_POST_WORK: usize = 20;
/// Violations refined together.
const VIOLATIONS_PER_REFINEMENT: usize = 4;

impl<'a> Forest<'a> {
    pub(super) fn new(system: HornSystem<'a>, mode: TreeMode, wanted: &[PropertyId], abs: Abstraction<'a>) -> Self {
        let t = system.terms;
        let n = system.processes.len();
        let invariants = wanted
            .iter()
            .filter_map(|w| match system.program.properties[*w].kind {
                PropertyKind::Invariant(f) => Some((*w, f)),
                _ => None,
            })
            .collect();
        // Who holds a lock matters almost always: it is tracked from the start, in the modular case.
        let locks: Vec<Symbol> = system
            .program
            .vars
            .iter()
            .filter(|v| mode != TreeMode::Global && v.kind == VarKind::Lock && v.sort == Sort::INT)
            .map(|v| v.symbol)
            .collect();
        let mut held: Vec<Term> = locks.iter().map(|m| t.eq(t.sym(*m), t.sym(system.program.tid))).collect();
        if let Some(couples) = &system.couples {
            held.extend(held.clone().iter().map(|f| couples.swapped(t, *f)));
        }
        let known = |settled: &Vec<Term>| held.iter().chain(settled).copied().collect();
        let at = system.processes.iter().map(|p| p.settled.iter().map(known).collect()).collect();
        let on = system
            .processes
            .iter()
            .map(|p| {
                p.transitions.iter().map(|a| if a.writes.is_empty() { Vec::new() } else { held.clone() }).collect()
            })
            .collect();
        let tracked = system.processes.iter().map(|p| vec![vec![BTreeSet::new(); n]; p.out.len()]).collect();
        let mut heard: Vec<Symbol> = system.shared.clone();
        heard.push(system.program.tid);
        let plain = system
            .processes
            .iter()
            .map(|p| {
                p.transitions
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
        for s in system.shared.iter().chain(system.processes.iter().flat_map(|p| p.locals.iter())) {
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
            thirds: FxHashMap::default(),
            work: 0,
            most_work: usize::MAX,
        };
        out.seed_remainders();
        out
    }
    pub(super) fn invariants(&self) -> &[(PropertyId, Term)] {
        &self.invariants
    }
    pub(crate) fn is_wanted(&self, property: PropertyId) -> bool {
        self.wanted.contains(&property)
    }
    /// Facts that hold of a process's symbols always.
    fn always(&self) -> Vec<Term> {
        let t = self.system.terms;
        match self.mode {
            TreeMode::Modular => vec![t.lt(t.int(0), t.sym(self.system.program.tid))],
            TreeMode::Pairs => self.couples().differ(t, &[Role::First, Role::Second]),
            TreeMode::Global => Vec::new(),
        }
    }
    fn known(&self, cube: Cube) -> Vec<Term> {
        let mut out = self.always();
        out.extend(self.abs.parts(cube).iter());
        out
    }
    pub(super) fn kept(list: &[Term], follows: &[bool]) -> Vec<Term> {
        list.iter().zip(follows).filter(|(_, f)| **f).map(|(p, _)| *p).collect()
    }
    /// The abstract post of an act of any process, in the tree of `process`, at location `to` of it.
    fn post(
        &mut self,
        process: usize,
        cube: Cube,
        mover: usize,
        act: usize,
        to: usize,
    ) -> Result<Option<Cube>, Trouble> {
        let version = self.at[process][to].len();
        let key = (process, cube, mover, act, to, version);
        self.work += 1;
        if let Some(c) = self.posts.get(&key) {
            return Ok(*c);
        }
        self.work += COMPUTED_POST_WORK;
        let t = self.system.terms;
        let a: &Transition = &self.system.processes[mover].transitions[act];
        let goals: Vec<Term> =
            self.at[process][to].iter().map(|p| t.substitute(*p, a.updates.iter().copied())).collect();
        let fresh = a.enabled.clone();
        let found = self.abs.follows(&self.known(cube), &fresh, &goals)?;
        let found = found.map(|f| Self::kept(&self.at[process][to], &f));
        let found = found.map(|list| self.abs.cube(list));
        self.posts.insert(key, found);
        Ok(found)
    }
    /// The abstract post of an environment transition.
    fn disturbed(&mut self, process: usize, cube: Cube, edge: usize, at: usize) -> Result<Option<Cube>, Trouble> {
        let e = self.trees.edges[edge].clone();
        let version = self.at[process][at].len();
        let key = (process, cube, e.process, e.act, e.cube, at, version);
        self.work += 1;
        if let Some(c) = self.moved.get(&key) {
            return Ok(*c);
        }
        self.work += COMPUTED_POST_WORK;
        let t = self.system.terms;
        let tid = self.system.program.tid;
        let other = t.sym(self.other);
        let mut fresh = vec![t.lt(t.int(0), other), t.ne(other, t.sym(tid))];
        let step: Vec<Term> =
            self.plain[e.process][e.act].iter().copied().chain(self.abs.parts(e.cube).iter().copied()).collect();
        fresh.extend(step.into_iter().map(|f| t.substitute(f, [(tid, other)])));
        let after: Vec<(Symbol, Term)> =
            self.system.processes[e.process].transitions[e.act].writes.iter().map(|(x, y)| (*x, t.sym(*y))).collect();
        let goals: Vec<Term> = self.at[process][at].iter().map(|p| t.substitute(*p, after.iter().copied())).collect();
        let found = self.abs.follows(&self.known(cube), &fresh, &goals)?;
        let found = found.map(|f| Self::kept(&self.at[process][at], &f));
        let found = found.map(|list| self.abs.cube(list));
        self.moved.insert(key, found);
        Ok(found)
    }
    /// What others see of an act from a state.
    fn seen(&mut self, process: usize, cube: Cube, act: usize) -> Result<Option<Cube>, Trouble> {
        let version = self.on[process][act].len();
        let key = (process, cube, act, version);
        self.work += 1;
        if let Some(c) = self.made.get(&key) {
            return Ok(*c);
        }
        self.work += COMPUTED_POST_WORK;
        let t = self.system.terms;
        let a = &self.system.processes[process].transitions[act];
        let mut after: Vec<(Symbol, Term)> = Vec::new();
        for (now, next) in &a.writes {
            after.push((*next, a.updates.iter().find(|(s, _)| s == now).expect("it is written").1));
        }
        let fresh = a.enabled.clone();
        let goals: Vec<Term> = self.on[process][act].iter().map(|p| t.substitute(*p, after.iter().copied())).collect();
        let found = self.abs.follows(&self.known(cube), &fresh, &goals)?;
        let found = found.map(|f| Self::kept(&self.on[process][act], &f));
        let found = found.map(|list| self.abs.cube(list));
        self.made.insert(key, found);
        Ok(found)
    }
    /// Whether a state may fail something; remembered by cube.
    fn failure(&mut self, s: usize) -> Result<Option<TreeFailure>, Trouble> {
        let (process, at, cube) = (self.trees.states[s].process, self.trees.states[s].at, self.trees.states[s].cube);
        for act in self.system.processes[process].out[at].clone() {
            let found = match self.fine.get(&(process, cube, act)) {
                Some(found) => *found,
                None => {
                    let found = self.bad_gate(process, cube, act)?;
                    self.fine.insert((process, cube, act), found);
                    found
                }
            };
            if let Some(gate) = found {
                return Ok(Some(TreeFailure::Gate(s, act, gate)));
            }
        }
        let looked_at = self.mode == TreeMode::Modular || !self.system.processes[process].in_atomic_block[at];
        if looked_at && !self.invariants.is_empty() {
            let goals: Vec<Term> = self.invariants.iter().map(|(_, f)| *f).collect();
            let known = self.known(cube);
            if let Some(found) = self.abs.follows(&known, &[], &goals)?
                && let Some(bad) = found.iter().position(|x| !x)
            {
                return Ok(Some(TreeFailure::Invariant(s, self.invariants[bad].0)));
            }
        }
        Ok(None)
    }
    fn bad_gate(&mut self, process: usize, cube: Cube, act: usize) -> Result<Option<usize>, Trouble> {
        let a = &self.system.processes[process].transitions[act];
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
    fn covered(&self, new: &TreeState, index: &StateIndex) -> bool {
        let here = &index[new.process][new.at];
        let inside = |list: &Vec<usize>| list.iter().any(|s| self.abs.within(new.cube, self.trees.states[*s].cube));
        let knows_less = |old: &&Vec<Option<u32>>| {
            **old != new.control && old.iter().zip(&new.control).all(|(o, n)| o.is_none() || o == n)
        };
        here.by_control.get(&new.control).is_some_and(inside)
            || here.open.iter().filter(knows_less).any(|c| here.by_control.get(c).is_some_and(inside))
    }
    /// Builds the trees until they are closed or something may fail.
    pub(super) fn build(&mut self, budget: &Budget) -> Result<Built, Trouble> {
        self.trees = Trees::default();
        let n = self.system.processes.len();
        let mut index: StateIndex =
            self.system.processes.iter().map(|p| vec![PlaceIndex::default(); p.out.len()]).collect();
        let mut queue: VecDeque<TreeItem> = VecDeque::new();
        for process in 0..n {
            if self.mode == TreeMode::Global && !self.has_duties(process) {
                continue;
            }
            let entry = self.system.processes[process].entry;
            let mut fresh = self.system.init.clone();
            match self.mode {
                TreeMode::Modular | TreeMode::Pairs => fresh.extend(self.system.processes[process].init.iter()),
                TreeMode::Global => fresh.extend(self.system.processes.iter().flat_map(|p| p.init.iter())),
            }
            let goals = self.at[process][entry].clone();
            let Some(f) = self.abs.follows(&[], &fresh, &goals)? else { continue };
            let cube = Self::kept(&goals, &f);
            let cube = self.abs.cube(cube);
            let control = self.start_control(process);
            self.add(TreeState { process, at: entry, control, cube, parent: None }, &mut index, &mut queue);
        }
        let (mut done, mut used): (Vec<Vec<usize>>, Vec<usize>) = (vec![Vec::new(); n], Vec::new());
        let mut expanded = Expanded::default();
        let (mut found, mut enough) = (Vec::new(), usize::MAX);
        while let Some(item) = queue.pop_front() {
            if self.trees.states.len() > enough {
                break;
            }
            if budget.check().is_err() {
                return Err(Trouble::Time);
            }
            self.check_work()?;
            if self.trees.states.len() > MAX_STATES {
                return Err(Trouble::Size);
            }
            match item {
                TreeItem::State(s) => {
                    if let Some(f) = self.failure(s)? {
                        found.push(f);
                        // A few at once, as long as they come cheaply: one refinement each, one new tree for all.
                        enough = enough.min(self.trees.states.len() + self.trees.states.len() / 4);
                        if found.len() == VIOLATIONS_PER_REFINEMENT {
                            return Ok(Built::Fails(found));
                        }
                        continue;
                    }
                    self.step(s, &mut index, &mut queue)?;
                    let process = self.trees.states[s].process;
                    if self.mode == TreeMode::Pairs {
                        expanded.entry((process, self.trees.states[s].at)).or_default().push(s);
                        self.disturb_by_thirds(s, &expanded, budget, &mut index, &mut queue)?;
                        continue;
                    }
                    done[process].push(s);
                    for e in used.clone() {
                        self.disturb(s, e, &mut index, &mut queue)?;
                    }
                }
                TreeItem::Edge(e) => {
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
    /// A process with a wanted gate, or the first where an invariant is wanted, has a tree in the global case.
    pub(crate) fn has_duties(&self, process: usize) -> bool {
        let gated = self.system.processes[process]
            .transitions
            .iter()
            .any(|a| a.gates.iter().any(|(p, _)| self.wanted.contains(p)));
        gated || (process == 0 && !self.invariants.is_empty())
    }
    fn start_control(&self, process: usize) -> Vec<Option<u32>> {
        let all = self.system.processes.iter().map(|p| Some(p.entry as u32)).collect();
        self.forget(process, self.system.processes[process].entry, all)
    }
    /// Keeps what is tracked at a location.
    fn forget(&self, process: usize, at: usize, mut control: Vec<Option<u32>>) -> Vec<Option<u32>> {
        if self.mode != TreeMode::Global {
            return Vec::new();
        }
        for (k, c) in control.iter_mut().enumerate() {
            if k != process && c.is_some_and(|l| !self.tracked[process][at][k].contains(&l)) {
                *c = None;
            }
        }
        control
    }
    fn add(&mut self, s: TreeState, index: &mut StateIndex, queue: &mut VecDeque<TreeItem>) {
        if !self.covered(&s, index) {
            index[s.process][s.at].add(self.trees.states.len(), &s.control);
            queue.push_back(TreeItem::State(self.trees.states.len()));
            self.trees.states.push(s);
        }
    }
    fn is_inside(&self, process: usize, at: Option<u32>) -> bool {
        at.is_some_and(|l| self.system.processes[process].in_atomic_block[l as usize])
    }
    fn step(&mut self, s: usize, index: &mut StateIndex, queue: &mut VecDeque<TreeItem>) -> Result<(), Trouble> {
        let TreeState { process, at, control, cube, .. } = self.trees.states[s].clone();
        // While another is known to be inside an atomic block, only it moves.
        let only = (0..control.len()).find(|k| self.is_inside(*k, control[*k]));
        if only.is_none_or(|k| k == process) {
            for act in self.system.processes[process].out[at].clone() {
                let to = self.system.processes[process].transitions[act].to;
                if let Some(next) = self.post(process, cube, process, act, to)? {
                    let mut control = control.clone();
                    if self.mode == TreeMode::Global {
                        control[process] = Some(to as u32);
                    }
                    let control = self.forget(process, to, control);
                    let via = Via::act(process, act);
                    self.add(TreeState { process, at: to, control, cube: next, parent: Some((s, via)) }, index, queue);
                }
                let writes = !self.system.processes[process].transitions[act].writes.is_empty();
                if self.mode == TreeMode::Modular
                    && writes
                    && let Some(seen) = self.seen(process, cube, act)?
                {
                    let edges = &self.trees.edges;
                    let old =
                        edges.iter().any(|e| e.process == process && e.act == act && self.abs.within(seen, e.cube));
                    if !old {
                        queue.push_back(TreeItem::Edge(edges.len()));
                        self.trees.edges.push(EnvironmentTransition { process, act, cube: seen, origin: s });
                    }
                }
            }
        }
        if self.mode != TreeMode::Global {
            return Ok(());
        }
        for mover in (0..control.len()).filter(|k| *k != process && only.is_none_or(|o| o == *k)) {
            for act in 0..self.system.processes[mover].transitions.len() {
                let (from, to) = {
                    let a = &self.system.processes[mover].transitions[act];
                    (a.from as u32, a.to as u32)
                };
                if control[mover].is_some_and(|l| l != from) {
                    continue;
                }
                let Some(next) = self.post(process, cube, mover, act, at)? else { continue };
                let mut control = control.clone();
                control[mover] = Some(to);
                let control = self.forget(process, at, control);
                let via = Via::act(mover, act);
                self.add(TreeState { process, at, control, cube: next, parent: Some((s, via)) }, index, queue);
            }
        }
        Ok(())
    }
    fn check_work(&self) -> Result<(), Trouble> {
        if self.work > self.most_work { Err(Trouble::Work) } else { Ok(()) }
    }
    /// What steps of third instances lead to, where this state is one of those that such a step depends on.
    fn disturb_by_thirds(
        &mut self,
        s: usize,
        expanded: &Expanded,
        budget: &Budget,
        index: &mut StateIndex,
        queue: &mut VecDeque<TreeItem>,
    ) -> Result<(), Trouble> {
        let steps = self.steps_of_thirds(s, expanded).ok_or(Trouble::Size)?;
        for (n, (x, by)) in steps.into_iter().enumerate() {
            if n % 64 == 0 && budget.check().is_err() {
                return Err(Trouble::Time);
            }
            self.check_work()?;
            let Some(next) = self.disturbed_by_third(x, by)? else { continue };
            let (process, at) = (self.trees.states[x].process, self.trees.states[x].at);
            let via = Via { third: Some(by), ..Via::act(process, by.act) };
            let new = TreeState { process, at, control: Vec::new(), cube: next, parent: Some((x, via)) };
            self.add(new, index, queue);
        }
        Ok(())
    }
    fn disturb(
        &mut self,
        s: usize,
        e: usize,
        index: &mut StateIndex,
        queue: &mut VecDeque<TreeItem>,
    ) -> Result<(), Trouble> {
        let (process, at, cube) = (self.trees.states[s].process, self.trees.states[s].at, self.trees.states[s].cube);
        let (by, act) = (self.trees.edges[e].process, self.trees.edges[e].act);
        if !self.system.may_coexist(process, by) || self.system.processes[process].in_atomic_block[at] {
            return Ok(());
        }
        if let Some(next) = self.disturbed(process, cube, e, at)? {
            let via = Via { edge: Some(e), ..Via::act(by, act) };
            let new = TreeState { process, at, control: Vec::new(), cube: next, parent: Some((s, via)) };
            self.add(new, index, queue);
        }
        Ok(())
    }
}

enum TreeItem {
    State(usize),
    Edge(usize),
}

/// The states of each location of each process.
type StateIndex = Vec<Vec<PlaceIndex>>;

/// The states of a location, by what they know of where the others are.
#[derive(Clone, Default)]
struct PlaceIndex {
    by_control: FxHashMap<Vec<Option<u32>>, Vec<usize>>,
    /// Where the location of some other is not known.
    open: Vec<Vec<Option<u32>>>,
}

impl PlaceIndex {
    fn add(&mut self, state: usize, control: &[Option<u32>]) {
        if let Some(list) = self.by_control.get_mut(control) {
            list.push(state);
            return;
        }
        if control.iter().any(Option::is_none) {
            self.open.push(control.to_vec());
        }
        self.by_control.insert(control.to_vec(), vec![state]);
    }
}
