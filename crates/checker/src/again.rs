//! The second search of rule `search`: every state of a finite instance once more, by the reference semantics alone.
//!
//! In: a program, numbers of instances, the claimed properties. Out: how the search ended. It shares no code
//! with the methods. Three things let it go further than `semantics::reach`: no traces are kept; a state seen is kept as
//! its bytes, by an encoding from which it could be read back; and what the actions of one location do is asked of the
//! reference semantics once for each value of the variables that occur in them. Instances of one thread are put in order
//! where no formula of the program mentions a thread id, so that exchanging two of them changes nothing.
//! A step that has to decide an open value is asked of the reference semantics each time.
//! Where an instance can do nothing but steps of its own (no shared variable, no gate), it goes first and alone: such steps commute with
//! everything others do, no property sees them, and there is no cycle of them (an ample set; docs/soundness.md).
//! Deliberately absent: programs with relies or spawned threads, and claims about deadlock where values are open (`Ended::NotSuited`):
//! `semantics::reach` takes those.

use base::{Budget, Exhausted};
use logic::{Symbol, Term, Value};
use program::semantics::{Instance, InstanceCounts, Sampling, Semantics, State, StepOutcome, Successors};
use program::{Action, LocId, Program, PropertyId, PropertyKind, Start, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// How a second search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Every state was seen and none violates a claimed property.
    All {
        states: u64,
    },
    Violated(PropertyId),
    /// There are more states than were allowed.
    TooMany,
    Exhausted(Exhausted),
    /// Something could not be evaluated or was only sampled.
    Incomplete(String),
    /// The program has something this search does not handle.
    NotSuited,
}

/// Searches at most `most` states.
pub(crate) fn again(
    program: &Program,
    counts: &InstanceCounts,
    claimed: &[PropertyId],
    most: u64,
    budget: &Budget,
) -> Ended {
    if !program.relies.is_empty() || program.threads.iter().any(|t| t.start == Start::Spawned) {
        return Ended::NotSuited;
    }
    let sem = Semantics::new(program);
    let mut search = SecondSearch {
        program,
        sem: &sem,
        claimed,
        sampling: Sampling::default(),
        sites: sites(program),
        groups: groups(program, counts),
        own: own_steps(program, claimed),
        seen: FxHashSet::default(),
        queue: VecDeque::new(),
        known: FxHashMap::default(),
    };
    search.run(counts, most, budget).unwrap_or_else(|ended| ended)
}

/// A move of one instance, apart from the state it is made in.
#[derive(Clone, Debug)]
enum StoreChange {
    Wrong(PropertyId),
    Moved { at: LocId, locals: Vec<Value>, shared: Vec<(usize, Value)> },
}

/// For a location whose actions depend on nothing but named variables: which shared ones these are.
type Site = Option<Vec<usize>>;

struct SecondSearch<'s> {
    program: &'s Program,
    sem: &'s Semantics<'s>,
    claimed: &'s [PropertyId],
    sampling: Sampling,
    sites: Vec<Vec<Site>>,
    /// Ranges of instances that are interchangeable.
    groups: Vec<std::ops::Range<usize>>,
    /// By thread and location: an instance there goes first and alone.
    own: Vec<Vec<bool>>,
    seen: FxHashSet<Box<[u8]>>,
    queue: VecDeque<State>,
    known: FxHashMap<Box<[u8]>, Vec<StoreChange>>,
}

/// More remembered moves than this are forgotten.
const MAX_KNOWN: usize = 1 << 18;
/// Units of effort for each state: what it takes on an ordinary processor, in microseconds.
const STATE_UNITS: u64 = 8;

impl SecondSearch<'_> {
    fn run(&mut self, counts: &InstanceCounts, most: u64, budget: &Budget) -> Result<Ended, Ended> {
        let initial = self.sem.initial(counts, self.sampling);
        if let Some(why) = initial.incomplete {
            return Err(Ended::Incomplete(why));
        }
        for (state, _) in initial.states {
            self.add(state)?;
        }
        let mut done = 0u64;
        while let Some(state) = self.queue.pop_front() {
            done += 1;
            if done.is_multiple_of(256) {
                budget.spend(256 * STATE_UNITS);
                budget.check().map_err(Ended::Exhausted)?;
            }
            if self.seen.len() as u64 > most {
                return Err(Ended::TooMany);
            }
            self.expand(&state)?;
        }
        Ok(Ended::All { states: self.seen.len() as u64 })
    }

    fn add(&mut self, mut state: State) -> Result<(), Ended> {
        for g in &self.groups {
            let part = &mut state.instances[g.clone()];
            part.sort_by(|a, b| (a.at, &a.locals).cmp(&(b.at, &b.locals)));
            part.iter_mut().enumerate().for_each(|(k, i)| i.tid = (g.start + k) as u32 + 1);
        }
        let mut bytes = Vec::with_capacity(64);
        state.shared.iter().for_each(|v| encode(v, &mut bytes));
        for i in &state.instances {
            number(i.at.0.into(), &mut bytes);
            i.locals.iter().for_each(|v| encode(v, &mut bytes));
        }
        if !self.seen.insert(bytes.into_boxed_slice()) {
            return Ok(());
        }
        if !self.program.invariants.is_empty() {
            let (broken, incomplete) = self.sem.broken_invariants(&state, self.sampling);
            if let Some(why) = incomplete {
                return Err(Ended::Incomplete(why));
            }
            if let Some(b) = broken.iter().find(|b| self.claimed.contains(&b.property)) {
                return Err(Ended::Violated(b.property));
            }
        }
        self.queue.push_back(state);
        Ok(())
    }

    fn expand(&mut self, state: &State) -> Result<(), Ended> {
        let only = self.sem.instance_in_atomic_block(state);
        let mut any = false;
        if only.is_none() {
            let goes_first = |i: &Instance| self.own[i.thread.index()][i.at.index()];
            for i in (0..state.instances.len()).filter(|i| goes_first(&state.instances[*i])).collect::<Vec<_>>() {
                let moves = self.moves(state, i)?;
                // One that can do nothing here can do nothing later either: the others are looked at.
                if !moves.is_empty() {
                    return self.take(state, i, moves);
                }
            }
        }
        // An atomic block is one step: a move into one may be the beginning of none.
        let mut completed = false;
        for i in 0..state.instances.len() {
            if only.is_some_and(|o| o != i) {
                continue;
            }
            for change in self.moves(state, i)? {
                any = true;
                match change {
                    StoreChange::Wrong(p) if self.claimed.contains(&p) => return Err(Ended::Violated(p)),
                    StoreChange::Wrong(_) => completed = true,
                    StoreChange::Moved { at, locals, shared } => {
                        completed |=
                            !self.program.threads[state.instances[i].thread].code.locations[at].in_atomic_block;
                        let mut next = state.clone();
                        next.instances[i].at = at;
                        next.instances[i].locals = locals;
                        shared.into_iter().for_each(|(k, v)| next.shared[k] = v);
                        if let Some(p) = self.sem.leaks(state, &next).filter(|p| self.claimed.contains(p)) {
                            return Err(Ended::Violated(p));
                        }
                        self.add(next)?;
                    }
                }
            }
        }
        if !completed && only.is_none() && self.asks_for_deadlock() {
            let next = if any { self.sem.successors(state, self.sampling) } else { Successors::default() };
            let (stuck, unsure) = self.sem.deadlocked(state, &next);
            if let Some(why) = unsure {
                return Err(Ended::Incomplete(why));
            }
            if let Some(p) = stuck.into_iter().find(|p| self.claimed.contains(p)) {
                return Err(Ended::Violated(p));
            }
        }
        Ok(())
    }

    /// Adds what the steps of an instance lead to, where none of them can go wrong.
    fn take(&mut self, state: &State, i: usize, moves: Vec<StoreChange>) -> Result<(), Ended> {
        for change in moves {
            let StoreChange::Moved { at, locals, shared } = change else { return Err(Ended::NotSuited) };
            let mut next = state.clone();
            next.instances[i].at = at;
            next.instances[i].locals = locals;
            shared.into_iter().for_each(|(k, v)| next.shared[k] = v);
            self.add(next)?;
        }
        Ok(())
    }

    fn moves(&mut self, state: &State, i: usize) -> Result<Vec<StoreChange>, Ended> {
        let here = &state.instances[i];
        let Some(read) = &self.sites[here.thread.index()][here.at.index()] else {
            return self.ask(state, i).map(|(made, _)| made);
        };
        let mut key = Vec::with_capacity(32);
        number(here.thread.0.into(), &mut key);
        number(here.at.0.into(), &mut key);
        number(here.tid.into(), &mut key);
        here.locals.iter().for_each(|v| encode(v, &mut key));
        read.iter().for_each(|k| encode(&state.shared[*k], &mut key));
        if let Some(known) = self.known.get(key.as_slice()) {
            return Ok(known.clone());
        }
        let (made, decided) = self.ask(state, i)?;
        if !decided {
            if self.known.len() >= MAX_KNOWN {
                self.known.clear();
            }
            self.known.insert(key.into_boxed_slice(), made.clone());
        }
        Ok(made)
    }

    fn asks_for_deadlock(&self) -> bool {
        self.claimed.iter().any(|p| self.program.properties[*p].kind == PropertyKind::Deadlock)
    }

    /// Asks the reference semantics; also says whether a value had to be decided.
    fn ask(&self, state: &State, i: usize) -> Result<(Vec<StoreChange>, bool), Ended> {
        let mut found = Successors::default();
        self.sem.moves(state, i, self.sampling, &mut found);
        if let Some(why) = found.incomplete {
            return Err(Ended::Incomplete(why));
        }
        // For other values the state may be stuck.
        if found.decided && self.asks_for_deadlock() {
            return Err(Ended::NotSuited);
        }
        let decided = found.decided;
        let change = |o: StepOutcome| match o {
            StepOutcome::Wrong { property, .. } => StoreChange::Wrong(property),
            StepOutcome::Moved { state: mut next, .. } => {
                let moved = next.instances.swap_remove(i);
                let changed = |(k, (new, old)): (usize, (Value, &Value))| (new != *old).then_some((k, new));
                let shared = next.shared.into_iter().zip(&state.shared).enumerate().filter_map(changed).collect();
                StoreChange::Moved { at: moved.at, locals: moved.locals, shared }
            }
        };
        Ok((found.outcomes.into_iter().map(change).collect(), decided))
    }
}

/// The terms of an action.
fn terms_of(a: &Action) -> Vec<Term> {
    let gates = a.gates.iter().map(|g| g.formula);
    std::iter::once(a.guard).chain(gates).chain(a.updates.iter().map(|u| u.value)).collect()
}

fn sites(program: &Program) -> Vec<Vec<Site>> {
    let order: FxHashMap<Symbol, usize> =
        program.shared().enumerate().map(|(k, v)| (program.vars[v].symbol, k)).collect();
    let site = |thread: ThreadId, at: LocId| {
        let mut read = FxHashSet::default();
        for (_, a) in program.threads[thread].code.from(at) {
            let plain = a.inputs.is_empty() && a.spawn.is_none() && a.relation.is_none();
            // What a quantifier ranges over may depend on more than the variables named.
            if !plain || terms_of(a).iter().any(|t| program.terms.has_quantifier(*t)) {
                return None;
            }
            let symbols = terms_of(a).into_iter().flat_map(|t| program.terms.free_symbols(t));
            read.extend(symbols.filter_map(|s| order.get(&s).copied()));
            // A write that changes nothing here may change something where the old value is another.
            read.extend(a.updates.iter().filter_map(|u| order.get(&program.vars[u.var].symbol).copied()));
        }
        let mut read: Vec<usize> = read.into_iter().collect();
        read.sort_unstable();
        Some(read)
    };
    program
        .threads
        .iter_enumerated()
        .map(|(t, thread)| (0..thread.code.locations.len()).map(|l| site(t, LocId(l as u32))).collect())
        .collect()
}

/// By thread and location: every step from here reads and writes nothing but the instance's own variables, has no gate and starts no thread,
/// and no cycle of such locations goes through here. Nowhere if leaks are claimed: losing a reference is seen.
fn own_steps(program: &Program, claimed: &[PropertyId]) -> Vec<Vec<bool>> {
    let none = |thread: &program::Thread| vec![false; thread.code.locations.len()];
    if claimed.iter().any(|p| program.properties[*p].kind == PropertyKind::Leak) {
        return program.threads.iter().map(none).collect();
    }
    let shared: FxHashSet<Symbol> = program.shared().map(|v| program.vars[v].symbol).collect();
    let is_own = |a: &Action| {
        let reads_shared = |t: &Term| program.terms.free_symbols(*t).iter().any(|s| shared.contains(s));
        a.gates.is_empty()
            && a.spawn.is_none()
            && a.relation.is_none()
            && !terms_of(a).iter().any(|t| reads_shared(t) || program.terms.has_quantifier(*t))
            && !a.updates.iter().any(|u| shared.contains(&program.vars[u.var].symbol))
    };
    let of_thread = |thread: &program::Thread| {
        let code = &thread.code;
        let mut own: Vec<bool> = (0..code.locations.len())
            .map(|l| {
                let mut actions = code.from(LocId(l as u32)).peekable();
                actions.peek().is_some()
                    && !code.locations[LocId(l as u32)].in_atomic_block
                    && actions.all(|(_, a)| is_own(a) && !code.locations[a.to].in_atomic_block)
            })
            .collect();
        // What is left after taking away, again and again, locations that lead to none of the rest lies on a cycle or before one.
        let mut cyclic = own.clone();
        while let Some(l) =
            (0..own.len()).find(|l| cyclic[*l] && !code.from(LocId(*l as u32)).any(|(_, a)| cyclic[a.to.index()]))
        {
            cyclic[l] = false;
        }
        own.iter_mut().zip(cyclic).for_each(|(o, c)| *o &= !c);
        own
    };
    program.threads.iter().map(of_thread).collect()
}

/// Instances that can be exchanged: those of one thread, if no formula speaks of thread ids.
fn groups(program: &Program, counts: &InstanceCounts) -> Vec<std::ops::Range<usize>> {
    let mut all: Vec<Term> = program.threads.iter().flat_map(|t| t.code.actions.iter().flat_map(terms_of)).collect();
    all.extend(program.init.iter().chain(&program.invariants).filter_map(|f| f.formula));
    all.extend(program.vars.iter().filter_map(|v| v.initial));
    if all.iter().any(|t| program.terms.free_symbols(*t).contains(&program.tid)) {
        return Vec::new();
    }
    let mut first = 0;
    let mut out = Vec::new();
    for n in &counts.0 {
        let next = first + *n as usize;
        if *n > 1 {
            out.push(first..next);
        }
        first = next;
    }
    out
}

/// Seven bits a byte, the last without its top bit: no number is the start of another. Never starts with 0.
fn number(n: i128, out: &mut Vec<u8>) {
    let mut z = (((n << 1) ^ (n >> 127)) as u128).wrapping_add(1);
    if z == 0 {
        // The one number whose successor does not fit.
        return out.extend([128; 20]);
    }
    while z > 127 {
        out.push((z & 127) as u8 | 128);
        z >>= 7;
    }
    out.push(z as u8);
}

/// Values of one sort have different bytes, none the start of another's; 0 is an undecided one.
fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Any => out.push(0),
        Value::Bool(b) => out.push(1 + u8::from(*b)),
        Value::Int(n) => number(*n, out),
        Value::Variant(n) | Value::Ref(n) => number((*n).into(), out),
        Value::Map(m) => {
            number(m.entries.len() as i128, out);
            encode(&m.default, out);
            for (k, v) in &m.entries {
                encode(k, out);
                encode(v, out);
            }
        }
        Value::Set(s) => {
            number(s.len() as i128, out);
            s.iter().for_each(|v| encode(v, out));
        }
        Value::Seq(q) => {
            number(q.len() as i128, out);
            q.iter().for_each(|v| encode(v, out));
        }
    }
}
