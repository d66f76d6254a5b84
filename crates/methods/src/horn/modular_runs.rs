//! A violation that no modular proof can exclude, with values: thread-modular search of concrete states.
//!
//! In: a program and wanted properties. Out: whether the least modular annotation already violates one of them. Every
//! instance has its own set of states (location, shared store, locals); a step of an instance changes the store of
//! every state of the others that has the same shared store, whatever their locals. What is reached so is in every
//! modular annotation, so a violation says that there is no modular proof (Threader, section 4: R_i and E_i of modular proofs).
//! At most two instances of a thread are looked at, and of values that a step chooses a few; both only make the
//! sets smaller. Nothing found is no answer.

use super::system::System;
use base::Budget;
use logic::{EvalError, Sort, SortKind, Symbol, Term, Terms, Value, eval};
use program::{Copies, Program, PropertyId, PropertyKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::rc::Rc;

const MOST_STATES: usize = 12_000;
/// Combinations of chosen values tried for one action.
const MOST_CHOICES: usize = 8;

type Values = Rc<[Value]>;
type Env = FxHashMap<Symbol, Value>;

/// Whether some wanted property is violated in every modular annotation.
pub fn violate(program: &Program, terms: &Terms, wanted: &[PropertyId], budget: &Budget) -> bool {
    let few = |c: Copies| match c {
        Copies::One => 1,
        Copies::Exactly(n) => n.min(2),
        Copies::Any => 2,
    };
    let counts: Vec<u32> = program.threads.iter().map(|t| few(t.copies)).collect();
    let system = System::of_instances(program, terms, &counts);
    let invariants = wanted
        .iter()
        .filter_map(|w| match program.properties[*w].kind {
            PropertyKind::Invariant(f) => Some(f),
            _ => None,
        })
        .collect();
    let n = system.parties.len();
    let mut search = Search {
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
struct State {
    party: usize,
    at: usize,
    store: u32,
    locals: Values,
}

struct Search<'a> {
    system: System<'a>,
    wanted: &'a [PropertyId],
    invariants: Vec<Term>,
    stores: Vec<Values>,
    of: FxHashMap<Values, u32>,
    seen: FxHashSet<State>,
    /// By party and store: its states there.
    here: Vec<FxHashMap<u32, Vec<(usize, Values)>>>,
    /// By party and store: the stores after its steps.
    steps: Vec<FxHashMap<u32, Vec<u32>>>,
    queue: VecDeque<State>,
}

/// Something the search found out.
enum Found {
    Violation,
    Nothing,
}

impl Search<'_> {
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
            Some(x) => eval(t, x, env).ok(),
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
        for party in 0..self.system.parties.len() {
            env.insert(p.tid, Value::Int(party as i128 + 1));
            let thread = &p.threads[self.system.parties[party].thread];
            let locals = thread.locals.iter().map(|v| first(p.vars[*v].initial, p.vars[*v].sort, &env));
            let locals: Values = locals.collect::<Option<Vec<_>>>()?.into();
            self.add(State { party, at: self.system.parties[party].entry, store, locals });
        }
        Some(())
    }
    fn add(&mut self, s: State) {
        if self.seen.insert(s.clone()) {
            self.here[s.party].entry(s.store).or_default().push((s.at, s.locals.clone()));
            self.queue.push_back(s);
        }
    }
    /// Whether a violation is found before everything, or too much, is seen.
    fn run(&mut self, budget: &Budget) -> bool {
        while let Some(s) = self.queue.pop_front() {
            if self.seen.len() > MOST_STATES || budget.check().is_err() {
                return false;
            }
            if let Found::Violation = self.step(&s) {
                return true;
            }
            if self.system.parties[s.party].inside[s.at] {
                continue;
            }
            for other in (0..self.steps.len()).filter(|o| *o != s.party) {
                for store in self.steps[other].get(&s.store).cloned().unwrap_or_default() {
                    self.add(State { store, ..s.clone() });
                }
            }
        }
        false
    }
    fn step(&mut self, s: &State) -> Found {
        let t = self.system.terms;
        let mut env = Env::default();
        env.extend(self.system.shared.iter().copied().zip(self.stores[s.store as usize].iter().cloned()));
        env.extend(self.system.parties[s.party].locals.iter().copied().zip(s.locals.iter().cloned()));
        if self.invariants.iter().any(|f| holds(t, *f, &env) == Ok(false)) {
            return Found::Violation;
        }
        for act in self.system.parties[s.party].out[s.at].clone() {
            for choice in choices(t, &self.system.parties[s.party].acts[act].inputs) {
                env.extend(choice);
                if let Found::Violation = self.act(s, act, &env) {
                    return Found::Violation;
                }
            }
        }
        Found::Nothing
    }
    fn act(&mut self, s: &State, act: usize, env: &Env) -> Found {
        let t = self.system.terms;
        let party = &self.system.parties[s.party];
        let a = &party.acts[act];
        if holds(t, a.guard, env) != Ok(true) {
            return Found::Nothing;
        }
        for (property, gate) in &a.gates {
            match holds(t, *gate, env) {
                Ok(true) => {}
                Ok(false) if self.wanted.contains(property) => return Found::Violation,
                _ => return Found::Nothing,
            }
        }
        let mut after: Vec<(Symbol, Value)> = Vec::new();
        for (x, value) in &a.updates {
            let Ok(value) = eval(t, *value, env) else { return Found::Nothing };
            after.push((*x, value));
        }
        let now = |symbols: &[Symbol]| -> Values {
            let value =
                |x: &Symbol| after.iter().find(|(y, _)| y == x).map_or_else(|| env[x].clone(), |(_, v)| v.clone());
            symbols.iter().map(value).collect()
        };
        let (shared, locals, at) = (now(&self.system.shared), now(&party.locals), a.to);
        let store = self.store(shared);
        self.add(State { party: s.party, at, store, locals });
        if store != s.store {
            self.disturb(s.party, s.store, store);
        }
        Found::Nothing
    }
    /// A step of one instance, seen by the others.
    fn disturb(&mut self, by: usize, before: u32, after: u32) {
        let steps = self.steps[by].entry(before).or_default();
        if steps.contains(&after) {
            return;
        }
        steps.push(after);
        for party in (0..self.here.len()).filter(|p| *p != by) {
            for (at, locals) in self.here[party].get(&before).cloned().unwrap_or_default() {
                if !self.system.parties[party].inside[at] {
                    self.add(State { party, at, store: after, locals });
                }
            }
        }
    }
}

fn holds(t: &Terms, f: Term, env: &Env) -> Result<bool, EvalError> {
    eval(t, f, env).map(|v| v == Value::Bool(true))
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
            .take(MOST_CHOICES)
            .collect();
    }
    out
}
