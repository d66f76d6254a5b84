//! The reference semantics: what a program does, step by step, with concrete values and no solver.
//!
//! In: a `Program` and a number of instances of each thread. Out: initial states, the outcomes of a state,
//! the properties a store or a step violates, the exact replay of a trace, and a plain breadth-first search.
//! It is the oracle of every differential test, so it is written to be obviously right rather than fast.
//! Values that no step has looked at stay `Value::Any`; they are decided when an evaluation stops at them. Where a value
//! comes from an infinite sort and no formula pins it down, a few values are tried and the result says `incomplete`:
//! such an enumeration can refute and can never prove.
//! Deliberately absent: symmetry, partial order reduction, state compression; `performs`, `follows` and linearizability, whose
//! violations are not single runs.

mod checks;
mod decide;
mod initial;
mod inputs;
mod leaks;
mod reach;
mod replay;
mod step;
mod trace;
mod view;

#[cfg(test)]
pub(crate) mod tests;

pub use checks::Breach;
pub use decide::Sampling;
pub use leaks::{Object, leak};
pub use reach::{ReachLimits, Reached, SearchLimit, Violation, reachable_states};
pub use replay::{Mismatch, Replay, replay_trace};
pub use step::{StepOutcome, Successors};
pub use trace::{Choice, InstanceCounts, Trace, TraceStep};
pub use view::StateView;

use crate::code::{ActionId, LocId};
use crate::model::{Program, Scope, ThreadId, VarId};
use base::IdVec;
use base::ids::Id;
use logic::{Node, Sort, SortKind, Symbol, Term, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The store and where every instance is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The shared variables, in the order of `Semantics::shared`.
    pub shared: Vec<Value>,
    /// Instance `i` has tid `i + 1`.
    pub instances: Vec<Instance>,
    /// The shared store when the instance now inside an atomic block entered it; kept only in programs with relies,
    /// which see the block as one step.
    pub entered: Option<Box<Vec<Value>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance {
    pub thread: ThreadId,
    pub tid: u32,
    pub at: LocId,
    /// In the order of `Thread::locals`.
    pub locals: Vec<Value>,
}

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolSlot {
    Unknown,
    Tid,
    Shared(usize),
    After(usize),
    Local(ThreadId, usize),
    Input(usize),
}

/// A program with the tables that make it executable.
pub struct Semantics<'p> {
    pub program: &'p Program,
    /// The shared variables, in the order of `State::shared`.
    pub shared: Vec<VarId>,
    slots: Vec<SymbolSlot>,
    outgoing: IdVec<ThreadId, IdVec<LocId, Vec<ActionId>>>,
    /// For each action, which inputs flow into one place of the store and nowhere else: these may stay undecided.
    open_inputs: IdVec<ThreadId, IdVec<ActionId, Vec<bool>>>,
    /// Sorts that contain references.
    with_refs: FxHashSet<Sort>,
    /// Numbers of the program's text and their neighbours: what undecided integers are tried with.
    numbers: Vec<i128>,
    has_relies: bool,
    /// For each thread, the position in the shared store of the flag that says whether its instance is there.
    started: IdVec<ThreadId, Option<usize>>,
    /// Where leaks are asked for: what holds objects.
    holding: Option<leaks::Holding>,
}

impl<'p> Semantics<'p> {
    pub fn new(program: &'p Program) -> Self {
        let shared: Vec<VarId> = program.shared().collect();
        let mut slots = vec![SymbolSlot::Unknown; program.terms.symbol_count()];
        slots[program.tid.index()] = SymbolSlot::Tid;
        for (i, v) in shared.iter().enumerate() {
            slots[program.vars[*v].symbol.index()] = SymbolSlot::Shared(i);
            slots[program.vars[*v].primed.index()] = SymbolSlot::After(i);
        }
        for (id, thread) in program.threads.iter_enumerated() {
            for (i, v) in thread.locals.iter().enumerate() {
                slots[program.vars[*v].symbol.index()] = SymbolSlot::Local(id, i);
            }
            for action in thread.code.actions.iter() {
                for (i, s) in action.inputs.iter().enumerate() {
                    slots[s.index()] = SymbolSlot::Input(i);
                }
            }
        }
        let outgoing = program.threads.iter().map(|t| t.code.outgoing()).collect();
        let open_inputs = program
            .threads
            .iter()
            .map(|t| t.code.actions.iter().map(|a| inputs::may_stay_open(program, a)).collect())
            .collect();
        let with_refs = (0..program.vars.len())
            .map(VarId::from_index)
            .flat_map(|v| parts(program, program.vars[v].sort))
            .filter(|s| crate::memory::holds_references(program, *s))
            .collect();
        let has_relies = program.relies.iter().any(|r| r.formula.is_some());
        let position = |t: ThreadId| program.started(t).and_then(|flag| shared.iter().position(|v| *v == flag));
        let started = program.threads.ids().map(position).collect();
        Self {
            program,
            shared,
            slots,
            outgoing,
            open_inputs,
            with_refs,
            numbers: numbers(program),
            has_relies,
            started,
            holding: leaks::holding(program),
        }
    }
    /// The position of a shared variable in `State::shared`.
    pub fn shared_index(&self, var: VarId) -> Option<usize> {
        match self.slot(self.program.vars[var].symbol) {
            SymbolSlot::Shared(i) => Some(i),
            _ => None,
        }
    }
    /// The position of a local in `Instance::locals`, with its thread.
    pub(crate) fn local_index(&self, var: VarId) -> Option<(ThreadId, usize)> {
        match self.slot(self.program.vars[var].symbol) {
            SymbolSlot::Local(t, i) => Some((t, i)),
            _ => None,
        }
    }
    /// The value of a variable, as instance `at` sees it.
    pub fn value<'s>(&self, state: &'s State, at: usize, var: VarId) -> Option<&'s Value> {
        match self.slot(self.program.vars[var].symbol) {
            SymbolSlot::Shared(i) => state.shared.get(i),
            SymbolSlot::Local(t, i) => state.instances.get(at).filter(|x| x.thread == t).and_then(|x| x.locals.get(i)),
            _ => None,
        }
    }
    /// The instance inside an atomic block, if one is: no other thread moves then.
    pub fn instance_in_atomic_block(&self, state: &State) -> Option<usize> {
        state.instances.iter().position(|i| self.program.threads[i.thread].code.locations[i.at].in_atomic_block)
    }
    /// Whether an instance is there: one that a `spawn` starts is not before its flag is set.
    pub fn is_there(&self, state: &State, at: usize) -> bool {
        let flag = state.instances.get(at).and_then(|i| self.started[i.thread]);
        flag.is_none_or(|k| state.shared[k] == Value::Bool(true))
    }
    /// For each input of an action, whether it may stay undecided.
    pub fn open_inputs(&self, thread: ThreadId, action: ActionId) -> &[bool] {
        &self.open_inputs[thread][action]
    }
    pub(crate) fn slot(&self, symbol: Symbol) -> SymbolSlot {
        self.slots.get(symbol.index()).copied().unwrap_or(SymbolSlot::Unknown)
    }
    /// The numbers of objects of a class that occur in the state: held, listed as live, or keys of a map.
    pub fn used(&self, state: &State, class: logic::ClassId) -> std::collections::BTreeSet<u32> {
        let mut out = std::collections::BTreeSet::new();
        let p = self.program;
        for (v, value) in self.shared.iter().zip(&state.shared) {
            self.collect_refs(value, p.vars[*v].sort, class, &mut out);
        }
        for i in &state.instances {
            for (v, value) in p.threads[i.thread].locals.iter().zip(&i.locals) {
                self.collect_refs(value, p.vars[*v].sort, class, &mut out);
            }
        }
        out
    }
    pub(crate) fn collect_refs(
        &self,
        value: &Value,
        sort: Sort,
        class: logic::ClassId,
        out: &mut std::collections::BTreeSet<u32>,
    ) {
        if !self.with_refs.contains(&sort) {
            return;
        }
        match (value, self.program.terms.kind(sort)) {
            (Value::Ref(n), SortKind::Ref(c)) if c == class && *n != 0 => {
                out.insert(*n);
            }
            (Value::Map(m), SortKind::Map(k, v)) => {
                self.collect_refs(&m.default, v, class, out);
                for (key, value) in &m.entries {
                    self.collect_refs(key, k, class, out);
                    self.collect_refs(value, v, class, out);
                }
            }
            (Value::Set(s), SortKind::Set(e)) => s.iter().for_each(|x| self.collect_refs(x, e, class, out)),
            (Value::Seq(s), SortKind::Seq(e)) => s.iter().for_each(|x| self.collect_refs(x, e, class, out)),
            _ => {}
        }
    }
}

/// A sort and the sorts inside it.
fn parts(program: &Program, sort: Sort) -> Vec<Sort> {
    let mut out = vec![sort];
    match program.terms.kind(sort) {
        SortKind::Map(k, v) => {
            out.extend(parts(program, k));
            out.extend(parts(program, v));
        }
        SortKind::Set(e) | SortKind::Seq(e) => out.extend(parts(program, e)),
        _ => {}
    }
    out
}

/// The numbers that occur in threads, properties and initial values, with their neighbours; 0, 1 and -1 always.
fn numbers(program: &Program) -> Vec<i128> {
    let mut roots: Vec<Term> = Vec::new();
    for t in program.threads.iter() {
        for a in t.code.actions.iter() {
            roots.push(a.guard);
            roots.extend(a.gates.iter().map(|g| g.formula));
            roots.extend(a.updates.iter().map(|u| u.value));
            roots.extend(a.spawn.iter().flat_map(|s| s.args.iter().copied()));
        }
    }
    roots.extend(program.vars.iter().filter_map(|v| v.initial));
    roots.extend(program.init.iter().chain(&program.invariants).filter_map(|f| f.formula));
    roots.extend(program.relies.iter().filter_map(|r| r.formula));
    let mut seen: FxHashMap<Term, ()> = FxHashMap::default();
    let mut found = std::collections::BTreeSet::from([-1, 0, 1]);
    while let Some(t) = roots.pop() {
        if seen.insert(t, ()).is_some() {
            continue;
        }
        match program.terms.node(t) {
            Node::Num(n, _) => found.extend([n.saturating_sub(1), n, n.saturating_add(1)]),
            Node::App(_, args) => roots.extend(args.iter()),
            Node::Quant(_, _, body) => roots.push(body),
            _ => {}
        }
    }
    // Small numbers first: they make the shortest and most readable traces.
    let mut out: Vec<i128> = found.into_iter().collect();
    out.sort_by_key(|n| (n.unsigned_abs(), *n < 0));
    out
}

/// Whether a value is one of the sort; `Any` is of every sort.
pub fn fits(program: &Program, value: &Value, sort: Sort) -> bool {
    match (value, program.terms.kind(sort)) {
        (Value::Any, k) => !matches!(k, SortKind::Map(..)),
        (Value::Bool(_), SortKind::Bool) | (Value::Int(_), SortKind::Int) | (Value::Ref(_), SortKind::Ref(_)) => true,
        (Value::Int(n), SortKind::Machine(m)) => (m.min()..=m.max()).contains(n),
        (Value::Variant(v), SortKind::Enum(e)) => (*v as usize) < program.terms.enum_size(e),
        (Value::Map(m), SortKind::Map(k, v)) => {
            fits(program, &m.default, v)
                && m.entries.iter().all(|(key, value)| {
                    !key.is_open() && fits(program, key, k) && fits(program, value, v) && *value != m.default
                })
        }
        (Value::Set(s), SortKind::Set(e)) => s.iter().all(|x| !x.is_open() && fits(program, x, e)),
        (Value::Seq(s), SortKind::Seq(e)) => s.iter().all(|x| !x.is_open() && fits(program, x, e)),
        _ => false,
    }
}

/// Whether a variable belongs to the store of a running program.
pub fn is_run_time(scope: Scope) -> bool {
    matches!(scope, Scope::Shared | Scope::Thread(_))
}
