//! A search for a run that the specification of a procedure does not explain, with small values and few steps of others.
//!
//! In: a procedure that was not shown to perform its specification. Out: a run with which the checker agrees by evaluation
//! (`evidence::stray`), or nothing: a search like this never shows that there is none. First without other threads,
//! then with one and two of their steps between those of the procedure. Likewise for a run that breaks an access predicate.

use crate::method::Run;
use evidence::Guard;
use evidence::stray::{Event, Stage, Stray, Write};
use logic::{Node, Sort, SortKind, Term, Value};
use program::semantics::{Outcome, Sampling, Semantics, State, Successors};
use program::{ProcId, Program, PropertyId, Scope, VarId, VarKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Steps that are tried with each number of steps of others: loops are turned in many ways.
const MOST_TRIED: usize = 20_000;
const MOST_STEPS: usize = 120;
const MOST_STARTS: usize = 150;

/// What a run must come to.
#[derive(Clone, Copy)]
enum Goal {
    /// The end of the procedure, in a way that its specification does not explain.
    Unexplained,
    /// A step that breaks this access predicate.
    Touches(PropertyId),
}

/// A run from an initial store in which a procedure of a file without threads breaks an access predicate.
pub fn find_access(program: &Program, procedure: ProcId, violates: PropertyId, run: &Run) -> Option<Stray> {
    if !program.threads.is_empty() {
        return None;
    }
    let stage = Stage::new(program, procedure).ok()?;
    let sem = Semantics::new(&stage.program);
    let starts = starts(&stage, From::Initial);
    for others in 0..=3 {
        let mut left = MOST_TRIED;
        for (store, own) in &starts {
            if run.budget.check().is_err() || left == 0 {
                break;
            }
            let Ok(begin) = stage.start(store, own) else { continue };
            let mut search = Search {
                stage: &stage,
                sem: &sem,
                run,
                guards: &[],
                begin: &begin,
                left: &mut left,
                events: Vec::new(),
                seen: Vec::new(),
                goal: Goal::Touches(violates),
            };
            if search.from(&begin, others) {
                let stray =
                    Stray { violates, procedure, store: store.clone(), own: own.clone(), events: search.events };
                if evidence::stray::replay(program, &stray).is_ok() {
                    return Some(stray);
                }
            }
        }
    }
    None
}

/// `guards`: locks that seem to guard variables without an access predicate; the others keep to them here, so that nothing
/// is called broken for want of a predicate that could not be shown.
pub fn find(program: &Program, procedure: ProcId, run: &Run, guards: &[Guard]) -> Option<Stray> {
    let (_, violates) = program.procedures[procedure].performs.as_ref()?;
    let stage = Stage::new(program, procedure).ok()?;
    let sem = Semantics::new(&stage.program);
    let starts = starts(&stage, From::Any);
    for others in 0..=2 {
        let mut left = MOST_TRIED;
        for (store, own) in &starts {
            if run.budget.check().is_err() || left == 0 {
                break;
            }
            let Ok(begin) = stage.begin(store, own) else { continue };
            let mut search = Search {
                stage: &stage,
                sem: &sem,
                run,
                guards,
                begin: &begin,
                left: &mut left,
                events: Vec::new(),
                seen: Vec::new(),
                goal: Goal::Unexplained,
            };
            if search.from(&begin, others) {
                let events = search.events;
                return Some(Stray { violates: *violates, procedure, store: store.clone(), own: own.clone(), events });
            }
        }
    }
    None
}

struct Search<'a> {
    stage: &'a Stage,
    sem: &'a Semantics<'a>,
    run: &'a Run,
    guards: &'a [Guard],
    begin: &'a State,
    left: &'a mut usize,
    events: Vec<Event>,
    seen: Vec<(Vec<Write>, Vec<Value>)>,
    goal: Goal,
}

impl Search<'_> {
    /// Whether some way from this state ends in a run that is not explained; it is then in `events`.
    fn from(&mut self, state: &State, others: usize) -> bool {
        if *self.left == 0 || self.events.len() > MOST_STEPS || self.run.budget.check().is_err() {
            return false;
        }
        *self.left -= 1;
        if self.stage.ended(state) {
            let steps = self.events.iter().filter(|e| matches!(e, Event::Own { .. })).count();
            let unexplained = || self.stage.explained(self.begin, &self.seen, state, steps) == Ok(false);
            return others == 0 && matches!(self.goal, Goal::Unexplained) && unexplained();
        }
        let called = self.events.iter().any(|e| matches!(e, Event::Own { .. }));
        if others > 0 && self.sem.inside(state).is_none() {
            // Before the call the caller may prepare it.
            let first = if matches!(self.goal, Goal::Touches(_)) && !called { 1 } else { 2 };
            let writes = (first..=2).rev().flat_map(|t| self.writes(state, t).into_iter().map(move |w| (t, w)));
            for (thread, write) in writes.collect::<Vec<_>>() {
                let event = Event::Other { thread, writes: vec![write.clone()] };
                let Ok((Outcome::Moved { state: next, .. }, seen)) = self.stage.execute(self.sem, state, &event) else {
                    continue;
                };
                self.events.push(event);
                self.seen.push((vec![write], seen));
                if self.from(&next, others - 1) {
                    return true;
                }
                self.events.pop();
                self.seen.pop();
            }
        }
        if !called && self.stage.meets(state).is_err() {
            return false;
        }
        let mut moves = Successors::default();
        self.sem.moves(state, 0, Sampling::default(), &mut moves);
        for outcome in moves.outcomes {
            let (step, next) = match (outcome, self.goal) {
                (Outcome::Moved { step, state }, _) => (step, state),
                (Outcome::Wrong { step, property, .. }, Goal::Touches(q)) if property == q && others == 0 => {
                    self.events.push(Event::Own { action: step.action, inputs: step.inputs });
                    return true;
                }
                (Outcome::Wrong { .. }, _) => continue,
            };
            if !step.choices.is_empty() || step.inputs.iter().any(Value::is_open) {
                continue;
            }
            self.events.push(Event::Own { action: step.action, inputs: step.inputs });
            if self.from(&next, others) {
                return true;
            }
            self.events.pop();
        }
        false
    }

    /// Whether the lock that seems to guard the variable is free or the other thread's.
    fn guarded(&self, state: &State, v: VarId) -> bool {
        let Some(g) = self.guards.iter().find(|g| g.var == v) else { return true };
        let lock = self.stage.shared.iter().position(|x| *x == g.lock).map(|i| &state.shared[i]);
        matches!(lock, Some(Value::Int(0 | 2)))
    }

    /// What a thread may write now, of a few values.
    fn writes(&self, state: &State, thread: u32) -> Vec<Write> {
        let p = &self.stage.program;
        let mut out = Vec::new();
        for (v, now) in self.stage.shared.iter().zip(&state.shared) {
            let var = &p.vars[*v];
            // Without a predicate nothing is agreed on with callers.
            if matches!(self.goal, Goal::Touches(_)) && var.access.is_none() {
                continue;
            }
            let places: Vec<(Vec<Value>, Sort)> = match p.terms.kind(var.sort) {
                SortKind::Map(k, inner) => few(self.stage, k).into_iter().map(|k| (vec![k], inner)).collect(),
                _ => vec![(Vec::new(), var.sort)],
            };
            for (keys, sort) in places {
                let values = if var.kind == VarKind::Lock {
                    vec![Value::Int(i128::from(thread)), Value::Int(0)]
                } else {
                    let mut values = few(self.stage, sort);
                    values.extend((sort == Sort::INT).then_some(Value::Int(7)));
                    values
                };
                for value in values {
                    let write = Write { var: *v, keys: keys.clone(), value };
                    let idle = keys.is_empty() && *now == write.value;
                    if !idle && self.guarded(state, *v) && self.stage.may_write(state, thread, &write).is_ok() {
                        out.push(write);
                    }
                }
            }
        }
        out
    }
}

/// Numbers that the procedure compares something with, and their neighbours: where it changes what it does.
fn compared(stage: &Stage) -> Vec<i128> {
    const MOST: usize = 6;
    let p = &stage.program;
    let actions = p.threads[stage.thread].code.actions.iter();
    let mut todo: Vec<Term> = actions.flat_map(|a| a.gates.iter().map(|g| g.formula).chain([a.guard])).collect();
    let (mut seen, mut out) = (FxHashSet::default(), BTreeSet::new());
    while let Some(t) = todo.pop() {
        match p.terms.node(t) {
            Node::Num(n, _) if n > 2 && n < 1_000 => out.extend([n, n + 1]),
            Node::App(_, args) => todo.extend(args.iter().filter(|a| seen.insert(**a))),
            _ => {}
        }
    }
    out.into_iter().take(MOST).collect()
}

/// A few values of a sort.
fn few(stage: &Stage, sort: Sort) -> Vec<Value> {
    let p = &stage.program;
    match p.terms.kind(sort) {
        SortKind::Bool => vec![Value::Bool(false), Value::Bool(true)],
        SortKind::Int => [0, 1, 2].into_iter().chain(compared(stage)).map(Value::Int).collect(),
        SortKind::Machine(_) => vec![Value::Int(0), Value::Int(1), Value::Int(2)],
        SortKind::Enum(e) => (0..p.terms.enum_size(e).min(3) as u32).map(Value::Variant).collect(),
        SortKind::Ref(_) => vec![Value::Ref(1), Value::Ref(0)],
        SortKind::Map(_, inner) => {
            few(stage, inner).into_iter().take(2).map(|x| Value::everywhere(&p.terms, sort, x)).collect()
        }
        _ => vec![Value::default_of(&p.terms, sort)],
    }
}

/// Which stores to start from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Initial,
    Any,
}

/// Stores and own variables to start from.
fn starts(stage: &Stage, from: From) -> Vec<(Vec<Value>, Vec<Value>)> {
    let p = &stage.program;
    let params = &p.procedures[stage.procedure].params;
    let values = |v: &VarId| -> Vec<Value> {
        let var = &p.vars[*v];
        let given = var.initial.filter(|_| from == From::Initial && var.scope == Scope::Shared);
        if let Some(x) = given.and_then(|e| logic::eval(&p.terms, e, &FxHashMap::default()).ok()) {
            return vec![x];
        }
        let shared = var.scope == Scope::Shared;
        match (var.kind, p.terms.kind(var.sort)) {
            (VarKind::Lock, SortKind::Map(..)) => {
                [0, 1].into_iter().map(|n| Value::everywhere(&p.terms, var.sort, Value::Int(n))).collect()
            }
            (VarKind::Lock, _) if shared => vec![Value::Int(0), Value::Int(1)],
            // Objects that there may be: those that `few` refers to, and another.
            (VarKind::Live(_), _) => vec![Value::Set([Value::Ref(1), Value::Ref(2)].into())],
            (VarKind::Field(_), SortKind::Map(_, inner)) => {
                vec![Value::everywhere(&p.terms, var.sort, Value::default_of(&p.terms, inner))]
            }
            _ if shared || params.contains(v) => few(stage, var.sort),
            _ => vec![few(stage, var.sort).into_iter().next().unwrap_or(Value::default_of(&p.terms, var.sort))],
        }
    };
    let vars: Vec<VarId> = stage.shared.iter().chain(&stage.own).copied().collect();
    let mut all: Vec<Vec<Value>> = vec![Vec::new()];
    for v in &vars {
        let choices = values(v);
        let mut next = Vec::new();
        for start in &all {
            for x in &choices {
                if next.len() < MOST_STARTS || x == &choices[0] {
                    let mut longer = start.clone();
                    longer.push(x.clone());
                    next.push(longer);
                }
            }
        }
        next.truncate(MOST_STARTS);
        all = next;
    }
    all.into_iter()
        .map(|mut store| {
            let own = store.split_off(stage.shared.len());
            (store, own)
        })
        .collect()
}
