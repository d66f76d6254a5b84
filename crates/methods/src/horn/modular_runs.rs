//! A violation that no modular proof can exclude, with values: thread-modular search of concrete states.
//!
//! In: a program and wanted properties. Out: whether the least modular annotation already violates one of them. Every
//! instance has its own set of states (location, shared store, locals); a step of an instance changes the store of
//! every state of the others that has the same shared store, whatever their locals. What is reached so is in every
//! modular annotation, so a violation says that there is no modular proof (Threader, section 4: R_i and E_i of modular proofs).
//! At most two instances of a thread are looked at, and of values that a step chooses a few; both only make the
//! sets smaller. Nothing found is no answer.

use super::system::HornSystem;
use base::Budget;
use logic::{EvalError, Sort, SortKind, Symbol, Term, Terms, Value, eval_term};
use program::{Copies, Program, PropertyId, PropertyKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::rc::Rc;

const MAX_STATES: usize = 12_000;
/// Combinations of chosen values tried for one action.
const MAX_CHOICES: usize = 8;

type Values = Rc<[Value]>;
/// Units of effort for each state.
const STATE_UNITS: u64 = 10;

type Env = FxHashMap<Symbol, Value>;

/// Whether some wanted property is violated in every modular annotation.
pub(crate) fn has_modular_violation(program: &Program, terms: &Terms, wanted: &[PropertyId], budget: &Budget) -> bool {
    let few = |c: Copies| match c {
        Copies::One => 1,
        Copies::Exactly(n) => n.min(2),
        Copies::Any => 2,
    };
    let counts: Vec<u32> = program.threads.iter().map(|t| few(t.copies)).collect();
    let system = HornSystem::of_instances(program, terms, &counts);
    let invariants = wanted
        .iter()
        .filter_map(|w| match program.properties[*w].kind {
            PropertyKind::Invariant(f) => Some(f),
            _ => None,
        })
        .collect();
    let n = system.processes.len();
    let mut search = ModularSearch {
        system,
        wanted,
        invariants,
        stores: Vec::new(),
        of: FxHashMap::default(),
        seen: FxHashSet::default(),
        here: vec![FxHashMap::default(); n],
        steps: vec![FxHashMap::default(); n],
        queue: VecDeque::new(),
    };
    search.start().is_some() && search.run(budget)
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ModularState {
    process: usize,
    at: usize,
    store: u32,
    locals: Values,
}

struct ModularSearch<'a> {
    system: HornSystem<'a>,
    wanted: &'a [PropertyId],
    invariants: Vec<Term>,
    stores: Vec<Values>,
    of: FxHashMap<Values, u32>,
    seen: FxHashSet<ModularState>,
    /// By process and store: its states there.
    here: Vec<FxHashMap<u32, Vec<(usize, Values)>>>,
    /// By process and store: the stores after its steps.
    steps: Vec<FxHashMap<u32, Vec<u32>>>,
    queue: VecDeque<ModularState>,
}

/// Something the search found out.
enum ModularFinding {
    Violation,
    Nothing,
}

impl ModularSearch<'_> {
    fn store(&mut self, values: Values) -> u32 {
        let next = self.stores.len() as u32;
        let id = *self.of.entry(values.clone()).or_insert(next);
        if id == next {
            self.stores.push(values);
        }
        id
    }
    /// The start; nothing if the values tried are no start.
    fn start(&mut self) -> Option<()> {
        let (t, p) = (self.system.terms, self.system.program);
        let first = |initial: Option<Term>, sort: Sort, env: &Env| match initial {
            Some(x) => eval_term(t, x, env).ok(),
            None => Some(Value::default_of(t, sort)),
        };
        let mut env = Env::default();
        for v in p.shared() {
            let value = first(p.vars[v].initial, p.vars[v].sort, &env)?;
            env.insert(p.vars[v].symbol, value);
        }
        if !p.init.iter().filter_map(|f| f.formula).all(|f| holds(t, f, &env) == Ok(true)) {
            return None;
        }
        let shared: Values = self.system.shared.iter().map(|s| env[s].clone()).collect();
        let store = self.store(shared);
        for process in 0..self.system.processes.len() {
            env.insert(p.tid, Value::Int(process as i128 + 1));
            let thread = &p.threads[self.system.processes[process].thread];
            let locals = thread.locals.iter().map(|v| first(p.vars[*v].initial, p.vars[*v].sort, &env));
            let locals: Values = locals.collect::<Option<Vec<_>>>()?.into();
            self.add(ModularState { process, at: self.system.processes[process].entry, store, locals });
        }
        Some(())
    }
    fn add(&mut self, s: ModularState) {
        if self.seen.insert(s.clone()) {
            self.here[s.process].entry(s.store).or_default().push((s.at, s.locals.clone()));
            self.queue.push_back(s);
        }
    }
    /// Whether a violation is found before everything, or too much, is seen.
    fn run(&mut self, budget: &Budget) -> bool {
        while let Some(s) = self.queue.pop_front() {
            budget.spend(STATE_UNITS);
            if self.seen.len() > MAX_STATES || budget.check().is_err() {
                return false;
            }
            if let ModularFinding::Violation = self.step(&s) {
                return true;
            }
            if self.system.processes[s.process].in_atomic_block[s.at] {
                continue;
            }
            for other in (0..self.steps.len()).filter(|o| *o != s.process) {
                for store in self.steps[other].get(&s.store).cloned().unwrap_or_default() {
                    self.add(ModularState { store, ..s.clone() });
                }
            }
        }
        false
    }
    fn step(&mut self, s: &ModularState) -> ModularFinding {
        let t = self.system.terms;
        let mut env = Env::default();
        env.extend(self.system.shared.iter().copied().zip(self.stores[s.store as usize].iter().cloned()));
        env.extend(self.system.processes[s.process].locals.iter().copied().zip(s.locals.iter().cloned()));
        if self.invariants.iter().any(|f| holds(t, *f, &env) == Ok(false)) {
            return ModularFinding::Violation;
        }
        for act in self.system.processes[s.process].out[s.at].clone() {
            for choice in choices(t, &self.system.processes[s.process].transitions[act].inputs) {
                env.extend(choice);
                if let ModularFinding::Violation = self.act(s, act, &env) {
                    return ModularFinding::Violation;
                }
            }
        }
        ModularFinding::Nothing
    }
    fn act(&mut self, s: &ModularState, act: usize, env: &Env) -> ModularFinding {
        let t = self.system.terms;
        let process = &self.system.processes[s.process];
        let a = &process.transitions[act];
        if holds(t, a.guard, env) != Ok(true) {
            return ModularFinding::Nothing;
        }
        for (property, gate) in &a.gates {
            match holds(t, *gate, env) {
                Ok(true) => {}
                Ok(false) if self.wanted.contains(property) => return ModularFinding::Violation,
                _ => return ModularFinding::Nothing,
            }
        }
        let mut after: Vec<(Symbol, Value)> = Vec::new();
        for (x, value) in &a.updates {
            let Ok(value) = eval_term(t, *value, env) else { return ModularFinding::Nothing };
            after.push((*x, value));
        }
        let now = |symbols: &[Symbol]| -> Values {
            let value =
                |x: &Symbol| after.iter().find(|(y, _)| y == x).map_or_else(|| env[x].clone(), |(_, v)| v.clone());
            symbols.iter().map(value).collect()
        };
        let (shared, locals, at) = (now(&self.system.shared), now(&process.locals), a.to);
        let store = self.store(shared);
        self.add(ModularState { process: s.process, at, store, locals });
        if store != s.store {
            self.disturb(s.process, s.store, store);
        }
        ModularFinding::Nothing
    }
    /// A step of one instance, seen by the others.
    fn disturb(&mut self, by: usize, before: u32, after: u32) {
        let steps = self.steps[by].entry(before).or_default();
        if steps.contains(&after) {
            return;
        }
        steps.push(after);
        for process in (0..self.here.len()).filter(|p| *p != by) {
            for (at, locals) in self.here[process].get(&before).cloned().unwrap_or_default() {
                if !self.system.processes[process].in_atomic_block[at] {
                    self.add(ModularState { process, at, store: after, locals });
                }
            }
        }
    }
}

fn holds(t: &Terms, f: Term, env: &Env) -> Result<bool, EvalError> {
    eval_term(t, f, env).map(|v| v == Value::Bool(true))
}

/// Some values for what a step chooses.
fn choices(t: &Terms, inputs: &[Symbol]) -> Vec<Vec<(Symbol, Value)>> {
    let mut out = vec![Vec::new()];
    for s in inputs {
        let sort = t.symbol_sort(*s);
        let values: Vec<Value> = match t.kind(sort) {
            SortKind::Bool => vec![Value::Bool(false), Value::Bool(true)],
            SortKind::Int | SortKind::Machine(_) => vec![Value::Int(0), Value::Int(1)],
            SortKind::Enum(e) => (0..t.enum_size(e).min(4) as u32).map(Value::Variant).collect(),
            _ => vec![Value::default_of(t, sort)],
        };
        out = out
            .iter()
            .flat_map(|c: &Vec<(Symbol, Value)>| {
                values.iter().map(move |v| c.iter().cloned().chain([(*s, v.clone())]).collect())
            })
            .take(MAX_CHOICES)
            .collect();
    }
    out
}
