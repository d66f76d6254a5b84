//! A search for a run that the specification of a procedure does not explain, with small values and few steps of others.
//!
//! In: a procedure that was not shown to perform its specification. Out: a run with which the checker agrees by evaluation
//! (`evidence::stray`), or nothing: a search like this never shows that there is none. First without other threads,
//! then with one and two of their steps between those of the procedure.

use crate::method::Run;
use evidence::Guard;
use evidence::stray::{Event, Stage, Stray, Write};
use logic::{Sort, SortKind, Value};
use program::semantics::{Outcome, Sampling, Semantics, State, Successors};
use program::{ProcId, Program, Scope, VarId, VarKind};

/// Steps that are tried with each number of steps of others: loops are turned in many ways.
const MOST_TRIED: usize = 20_000;
const MOST_STEPS: usize = 40;
const MOST_STARTS: usize = 150;

/// `guards`: locks that seem to guard variables without an access predicate; the others keep to them here, so that nothing
/// is called broken for want of a predicate that could not be shown.
pub fn find(program: &Program, procedure: ProcId, run: &Run, guards: &[Guard]) -> Option<Stray> {
    let (_, violates) = program.procedures[procedure].performs.as_ref()?;
    let stage = Stage::new(program, procedure).ok()?;
    let sem = Semantics::new(&stage.program);
    let starts = starts(&stage);
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
}

impl Search<'_> {
    /// Whether some way from this state ends in a run that is not explained; it is then in `events`.
    fn from(&mut self, state: &State, others: usize) -> bool {
        if *self.left == 0 || self.events.len() > MOST_STEPS || self.run.budget.check().is_err() {
            return false;
        }
        *self.left -= 1;
        if self.stage.ended(state) {
            return others == 0 && self.stage.explained(self.begin, &self.seen, state) == Ok(false);
        }
        if others > 0 && self.sem.inside(state).is_none() {
            for write in self.writes(state) {
                let event = Event::Other { thread: 2, writes: vec![write.clone()] };
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
        let mut moves = Successors::default();
        self.sem.moves(state, 0, Sampling::default(), &mut moves);
        for outcome in moves.outcomes {
            let Outcome::Moved { step, state: next } = outcome else { continue };
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

    /// What another thread may write now, of a few values.
    fn writes(&self, state: &State) -> Vec<Write> {
        let p = &self.stage.program;
        let mut out = Vec::new();
        for (v, now) in self.stage.shared.iter().zip(&state.shared) {
            let var = &p.vars[*v];
            let places: Vec<(Vec<Value>, Sort)> = match p.terms.kind(var.sort) {
                SortKind::Map(k, inner) => few(p, k).into_iter().map(|k| (vec![k], inner)).collect(),
                _ => vec![(Vec::new(), var.sort)],
            };
            for (keys, sort) in places {
                let values = if var.kind == VarKind::Lock {
                    vec![Value::Int(0), Value::Int(2)]
                } else {
                    let mut values = few(p, sort);
                    values.extend((sort == Sort::INT).then_some(Value::Int(7)));
                    values
                };
                for value in values {
                    let write = Write { var: *v, keys: keys.clone(), value };
                    let idle = keys.is_empty() && *now == write.value;
                    if !idle && self.guarded(state, *v) && self.stage.may_write(state, 2, &write).is_ok() {
                        out.push(write);
                    }
                }
            }
        }
        out
    }
}

/// A few values of a sort.
fn few(p: &Program, sort: Sort) -> Vec<Value> {
    match p.terms.kind(sort) {
        SortKind::Bool => vec![Value::Bool(false), Value::Bool(true)],
        SortKind::Int | SortKind::Machine(_) => vec![Value::Int(0), Value::Int(1), Value::Int(2)],
        SortKind::Enum(e) => (0..p.terms.enum_size(e).min(3) as u32).map(Value::Variant).collect(),
        SortKind::Map(_, inner) => {
            few(p, inner).into_iter().take(2).map(|x| Value::everywhere(&p.terms, sort, x)).collect()
        }
        _ => vec![Value::default_of(&p.terms, sort)],
    }
}

/// Stores and own variables to start from.
fn starts(stage: &Stage) -> Vec<(Vec<Value>, Vec<Value>)> {
    let p = &stage.program;
    let params = &p.procedures[stage.procedure].params;
    let values = |v: &VarId| -> Vec<Value> {
        let var = &p.vars[*v];
        let shared = var.scope == Scope::Shared;
        match (var.kind, p.terms.kind(var.sort)) {
            (VarKind::Lock, SortKind::Map(..)) => {
                [0, 1].into_iter().map(|n| Value::everywhere(&p.terms, var.sort, Value::Int(n))).collect()
            }
            (VarKind::Lock, _) if shared => vec![Value::Int(0), Value::Int(1)],
            _ if shared || params.contains(v) => few(p, var.sort),
            _ => vec![few(p, var.sort).into_iter().next().unwrap_or(Value::default_of(&p.terms, var.sort))],
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
