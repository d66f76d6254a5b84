//! A search for a run that the specification of a procedure does not explain, with small values and few steps of others.
//!
//! In: a procedure that was not shown to perform its specification. Out: a run with which the checker agrees by evaluation
//! (`program::stage`), or nothing: a search like this never shows that there is none. A run starts in an initial store; steps
//! of others and of the caller lead to the store at the call (`prepare`). First no other thread moves after the call,
//! then they take one and two steps between those of the procedure. Every step keeps invariants and relies.
//! Likewise for a run that breaks an access predicate.

mod prepare;

use crate::infer::vocabulary::conditions_of;
use crate::method::Run;
use evidence::{Guard, SpecRun};
use logic::{Node, Sort, SortKind, Symbol, Term, Value};
use program::semantics::{Sampling, Semantics, State, StepOutcome, Successors};
use program::stage::{ProcedureStage, StageEvent, Write};
use program::{ProcId, Program, PropertyId, Scope, VarId, VarKind, What};
use std::collections::BTreeSet;

/// Steps that are tried with each number of steps of others: loops are turned in many ways.
const MAX_TRIED: usize = 20_000;
const MAX_STEPS: usize = 120;
const MAX_STARTS: usize = 150;
/// Values that are tried for an input that may be any.
const MAX_INPUT_VALUES: usize = 3;

/// What a run must come to.
#[derive(Clone, Copy)]
enum BreachGoal {
    /// The end of the procedure, in a way that its specification does not explain.
    Unexplained,
    /// A step that breaks this access predicate.
    Touches(PropertyId),
}

/// A run from an initial store in which a procedure of a file without threads breaks an access predicate.
pub(crate) fn find_access(program: &Program, procedure: ProcId, violates: PropertyId, run: &Run) -> Option<SpecRun> {
    if !program.threads.is_empty() {
        return None;
    }
    let stage = ProcedureStage::new(program, procedure).ok()?;
    let sem = Semantics::new(&stage.program);
    let seek = Seek { stage: &stage, sem: &sem, run, guards: &[], goal: BreachGoal::Touches(violates) };
    let starts = starts(&stage, &sem, From::Initial).into_iter().map(|(store, own)| BreachStart {
        prefix: Vec::new(),
        store,
        own,
    });
    seek.from(violates, starts.collect(), 3)
}

/// `guards`: locks that seem to guard variables without an access predicate; the others keep to them here, so that nothing
/// is called broken for want of a predicate that could not be shown.
pub(crate) fn find_breach(program: &Program, procedure: ProcId, run: &Run, guards: &[Guard]) -> Option<SpecRun> {
    let (_, violates) = program.procedures[procedure].performs.as_ref()?;
    let stage = ProcedureStage::new(program, procedure).ok()?;
    let sem = Semantics::new(&stage.program);
    let seek = Seek { stage: &stage, sem: &sem, run, guards, goal: BreachGoal::Unexplained };
    let wanted = starts(&stage, &sem, From::Any).into_iter();
    let starts = wanted.filter_map(|(store, own)| prepare::prepared(&stage, &sem, guards, &store, own)).collect();
    seek.from(*violates, starts, 2)
}

/// An initial store, and the steps of others (and of the caller) that lead to the store at the call.
struct BreachStart {
    store: Vec<Value>,
    own: Vec<Value>,
    prefix: Vec<StageEvent>,
}

struct Seek<'a> {
    stage: &'a ProcedureStage,
    sem: &'a Semantics<'a>,
    run: &'a Run,
    guards: &'a [Guard],
    goal: BreachGoal,
}

impl Seek<'_> {
    /// The first run that is found with none, then one, and at most so many steps of others besides those before the call.
    fn from(&self, violates: PropertyId, starts: Vec<BreachStart>, most_others: usize) -> Option<SpecRun> {
        for others in 0..=most_others {
            let mut left = MAX_TRIED;
            for start in &starts {
                if self.run.budget.check().is_err() || left == 0 {
                    break;
                }
                let Some(begin) = self.begin(start) else { continue };
                let mut search =
                    BreachSearch { seek: self, begin: &begin, left: &mut left, events: Vec::new(), seen: Vec::new() };
                if search.from(&begin, &begin.shared, others) {
                    let events = start.prefix.iter().cloned().chain(search.events).collect();
                    let (store, own) = (start.store.clone(), start.own.clone());
                    let stray = SpecRun { violates, procedure: self.stage.procedure, store, own, events };
                    return Some(stray);
                }
            }
        }
        None
    }

    /// The state after what comes before the call.
    fn begin(&self, start: &BreachStart) -> Option<State> {
        let mut state = self.stage.start(&start.store, &start.own).ok()?;
        for event in &start.prefix {
            let (StepOutcome::Moved { state: next, .. }, _) = self.stage.execute(self.sem, &state, event).ok()? else {
                return None;
            };
            state = next;
        }
        Some(state)
    }
}

struct BreachSearch<'a> {
    seek: &'a Seek<'a>,
    begin: &'a State,
    left: &'a mut usize,
    events: Vec<StageEvent>,
    seen: Vec<(Vec<Write>, Vec<Value>)>,
}

impl BreachSearch<'_> {
    /// Whether some way from this state ends in a run that is not explained; it is then in `events`. `visible`: the store
    /// where no thread was inside an atomic block last.
    fn from(&mut self, state: &State, visible: &[Value], others: usize) -> bool {
        let Seek { stage, sem, goal, .. } = *self.seek;
        if *self.left == 0 || self.events.len() > MAX_STEPS || self.seek.run.budget.check().is_err() {
            return false;
        }
        *self.left -= 1;
        if stage.ended(state) {
            let steps = self.events.iter().filter(|e| matches!(e, StageEvent::Own { .. })).count();
            let unexplained = || stage.explained(self.begin, &self.seen, state, steps) == Ok(false);
            return others == 0 && matches!(goal, BreachGoal::Unexplained) && unexplained();
        }
        let called = self.events.iter().any(|e| matches!(e, StageEvent::Own { .. }));
        // What comes before the call of a procedure that is to stray is prepared.
        let may_move = called || matches!(goal, BreachGoal::Touches(_));
        if others > 0 && may_move && sem.instance_in_atomic_block(state).is_none() {
            // Before the call the caller may prepare it.
            let first = if matches!(goal, BreachGoal::Touches(_)) && !called { 1 } else { 2 };
            let writes = (first..=2).rev().flat_map(|t| self.writes(state, t).into_iter().map(move |w| (t, w)));
            for (thread, write) in writes.collect::<Vec<_>>() {
                let event = StageEvent::Other { thread, writes: vec![write.clone()] };
                let Ok((StepOutcome::Moved { state: next, .. }, seen)) = stage.execute(sem, state, &event) else {
                    continue;
                };
                if stage.keeps(sem, visible, &next, thread).is_err() {
                    continue;
                }
                self.events.push(event);
                self.seen.push((vec![write], seen));
                if self.from(&next, &next.shared, others - 1) {
                    return true;
                }
                self.events.pop();
                self.seen.pop();
            }
        }
        if !called && stage.meets(state).is_err() {
            return false;
        }
        let mut moves = Successors::default();
        sem.moves(state, 0, Sampling::default(), &mut moves);
        let outcomes = moves.outcomes.into_iter().flat_map(|outcome| self.decided(state, outcome));
        for outcome in outcomes.collect::<Vec<_>>() {
            let (step, next) = match (outcome, goal) {
                (StepOutcome::Moved { step, state }, _) => (step, state),
                (StepOutcome::Wrong { step, property, .. }, BreachGoal::Touches(q)) if property == q && others == 0 => {
                    self.events.push(StageEvent::Own { action: step.action, inputs: step.inputs });
                    return true;
                }
                (StepOutcome::Wrong { .. }, _) => continue,
            };
            if !step.choices.is_empty() || step.inputs.iter().any(Value::is_open) {
                continue;
            }
            if stage.keeps(sem, visible, &next, 1).is_err() {
                continue;
            }
            let visible = if sem.instance_in_atomic_block(&next).is_some() { visible } else { &next.shared };
            self.events.push(StageEvent::Own { action: step.action, inputs: step.inputs });
            if self.from(&next, visible, others) {
                return true;
            }
            self.events.pop();
        }
        false
    }

    /// The step itself, or where it leaves inputs open (what a callee's own variables hold at first, what `havoc` gives), the step with a few
    /// values for them: the first for each, then the next.
    fn decided(&self, state: &State, outcome: StepOutcome) -> Vec<StepOutcome> {
        let Seek { stage, sem, .. } = *self.seek;
        let step = match &outcome {
            StepOutcome::Moved { step, .. } if step.inputs.iter().any(Value::is_open) => step,
            _ => return vec![outcome],
        };
        let p = &stage.program;
        let action = &p.threads[stage.thread].code.actions[step.action];
        let value = |(symbol, given): (&Symbol, &Value), turn: usize| {
            let few = if given.is_open() { few(stage, p.terms.symbol_sort(*symbol)) } else { vec![given.clone()] };
            few[turn.min(few.len() - 1)].clone()
        };
        // The first step of a call only makes room for the callee's variables.
        let turns = if action.what == What::Skip { 1 } else { MAX_INPUT_VALUES };
        let mut tried: Vec<Vec<Value>> = Vec::new();
        for turn in 0..turns {
            let inputs: Vec<Value> = action.inputs.iter().zip(&step.inputs).map(|x| value(x, turn)).collect();
            if !tried.contains(&inputs) {
                tried.push(inputs);
            }
        }
        let made = |inputs| stage.execute(sem, state, &StageEvent::Own { action: step.action, inputs });
        tried.into_iter().filter_map(|inputs| made(inputs).ok()).map(|(outcome, _)| outcome).collect()
    }

    /// Whether the lock that seems to guard the variable is free or the other thread's.
    fn guarded(&self, state: &State, thread: u32, v: VarId) -> bool {
        guarded(self.seek.stage, self.seek.guards, state, thread, v)
    }

    /// What a thread may write now, of a few values.
    fn writes(&self, state: &State, thread: u32) -> Vec<Write> {
        let Seek { stage, goal, .. } = *self.seek;
        let p = &stage.program;
        let mut out = Vec::new();
        for (v, now) in stage.shared.iter().zip(&state.shared) {
            let var = &p.vars[*v];
            // Without a predicate nothing is agreed on with callers.
            if matches!(goal, BreachGoal::Touches(_)) && var.access.is_none() {
                continue;
            }
            let places: Vec<(Vec<Value>, Sort)> = match p.terms.kind(var.sort) {
                SortKind::Map(k, inner) => few(stage, k).into_iter().map(|k| (vec![k], inner)).collect(),
                _ => vec![(Vec::new(), var.sort)],
            };
            for (keys, sort) in places {
                let values = if var.kind == VarKind::Lock {
                    vec![Value::Int(i128::from(thread)), Value::Int(0)]
                } else {
                    // A number that nothing else writes comes first: the reader sees where it was lost.
                    let unlike_others = (sort == Sort::INT).then_some(Value::Int(7));
                    unlike_others.into_iter().chain(few(stage, sort)).collect()
                };
                for value in values {
                    let write = Write { var: *v, keys: keys.clone(), value };
                    let idle = keys.is_empty() && *now == write.value;
                    if !idle && self.guarded(state, thread, *v) && stage.may_write(state, thread, &write).is_ok() {
                        out.push(write);
                    }
                }
            }
        }
        out
    }
}

/// Whether the lock that seems to guard the variable is free or the thread's.
fn guarded(stage: &ProcedureStage, guards: &[Guard], state: &State, thread: u32, v: VarId) -> bool {
    let Some(g) = guards.iter().find(|g| g.var == v) else { return true };
    let lock = stage.shared.iter().position(|x| *x == g.lock).map(|i| &state.shared[i]);
    matches!(lock, Some(Value::Int(n)) if *n == 0 || *n == i128::from(thread))
}

/// Numbers that the procedure, its specification or an invariant compares something with, and their neighbours: where what it
/// does, or may do, changes.
fn compared(stage: &ProcedureStage) -> Vec<i128> {
    const MAX_NUMBERS: usize = 6;
    let p = &stage.program;
    let procedure = &p.procedures[stage.procedure];
    let actions = p.threads[stage.thread].code.actions.iter();
    let mut roots: Vec<Term> = actions.flat_map(conditions_of).collect();
    roots.extend(procedure.performs.iter().flat_map(|(s, _)| s.actions()).map(|(_, a)| a.relation));
    roots.extend(procedure.requires.iter().chain(&p.invariants).filter_map(|f| f.formula));
    let mut out = BTreeSet::new();
    p.terms.each_subterm(roots, |t| {
        if let Node::Num(n, _) = p.terms.node(t)
            && (-2..1_000).contains(&n)
        {
            out.extend([n, n + 1].into_iter().filter(|n| !(0..=2).contains(n)));
        }
    });
    out.into_iter().take(MAX_NUMBERS).collect()
}

/// A few values of a sort.
fn few(stage: &ProcedureStage, sort: Sort) -> Vec<Value> {
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

/// Maps that differ from this one in a few entries.
fn changed(map: &Value, keys: &[Value], values: &[Value]) -> Vec<Value> {
    const MAX_NUMBERS: usize = 6;
    let mut out = Vec::new();
    for value in values {
        let mut all = map.clone();
        for key in keys {
            let mut one = map.clone();
            for m in [&mut one, &mut all] {
                if let Value::Map(m) = m {
                    m.set(key.clone(), value.clone());
                }
            }
            out.push(one);
        }
        out.push(all);
    }
    out.retain(|m| m != map);
    out.truncate(MAX_NUMBERS);
    out
}

/// Which stores to start from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Initial,
    Any,
}

/// Stores at the call, or at the start, and own variables. What a variable starts with is tried first.
fn starts(stage: &ProcedureStage, sem: &Semantics<'_>, from: From) -> Vec<(Vec<Value>, Vec<Value>)> {
    let p = &stage.program;
    let params = &p.procedures[stage.procedure].params;
    let initial = prepare::undecided(stage, sem);
    let values = |v: &VarId| -> Vec<Value> {
        let var = &p.vars[*v];
        let shared = var.scope == Scope::Shared;
        let at = stage.shared.iter().position(|x| x == v);
        let given = at.and_then(|i| initial.get(i)).filter(|x| !x.is_open());
        let heap = matches!(var.kind, VarKind::Live(_) | VarKind::Field(_));
        if let Some(x) =
            given.filter(|_| from == From::Initial || (stage.is_constant(*v) && !heap) || var.kind == VarKind::Ended)
        {
            return vec![x.clone()];
        }
        let others = match (var.kind, p.terms.kind(var.sort)) {
            // Objects that there may be: those that `few` refers to, and another.
            (VarKind::Live(_), _) => return vec![Value::Set([Value::Ref(1), Value::Ref(2)].into())],
            (VarKind::Field(_), SortKind::Map(_, inner)) => {
                return vec![Value::everywhere(&p.terms, var.sort, Value::default_of(&p.terms, inner))];
            }
            (kind, SortKind::Map(k, inner)) if given.is_some() => {
                let values = if kind == VarKind::Lock { vec![Value::Int(1)] } else { few(stage, inner) };
                given.map_or(Vec::new(), |x| changed(x, &few(stage, k), &values))
            }
            (VarKind::Lock, SortKind::Map(..)) => {
                [0, 1].into_iter().map(|n| Value::everywhere(&p.terms, var.sort, Value::Int(n))).collect()
            }
            (VarKind::Lock, _) if shared => vec![Value::Int(0), Value::Int(1)],
            _ if shared || params.contains(v) => few(stage, var.sort),
            _ => vec![few(stage, var.sort).into_iter().next().unwrap_or(Value::default_of(&p.terms, var.sort))],
        };
        let mut all: Vec<Value> = given.cloned().into_iter().collect();
        for x in others {
            if !all.contains(&x) {
                all.push(x);
            }
        }
        all
    };
    let vars: Vec<VarId> = stage.shared.iter().chain(&stage.own).copied().collect();
    let mut all: Vec<Vec<Value>> = vec![Vec::new()];
    for v in &vars {
        let choices = values(v);
        let mut next = Vec::new();
        for start in &all {
            for x in &choices {
                if next.len() < MAX_STARTS || x == &choices[0] {
                    let mut longer = start.clone();
                    longer.push(x.clone());
                    next.push(longer);
                }
            }
        }
        next.truncate(MAX_STARTS);
        all = next;
    }
    all.into_iter()
        .map(|mut store| {
            let own = store.split_off(stage.shared.len());
            (store, own)
        })
        .collect()
}
