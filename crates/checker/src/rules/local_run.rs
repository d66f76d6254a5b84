//! Rule `local-run` (a refutation): one thread's own steps show that it does not conform to its machine.
//!
//! In: initial locals and, for each step, the shared store before it, the action and its inputs. Each step is executed by the
//! reference semantics; the set of candidate machine states is computed by evaluation, exactly as Theorem 2 of Abstract
//! Threads defines it; where the machine has variables, each candidate has values of them. Accepted if before every step all assertions of the candidates hold, and the last step either
//! goes wrong, or leaves no candidate. No solver.

use evidence::{CallReading, LocalRun, LocalStep};
use logic::{Symbol, Value};
use program::call_summaries::{performing, unmodelled};
use program::machine_step::{edge_way, idle_way};
use program::semantics::{Instance, Semantics, State, StepOutcome, TraceStep};
use program::{Action, Machine, Program, PropertyKind, Update, VarId, VarKind};
use rustc_hash::FxHashMap;

/// A machine's variables may have many values: a run with more candidates than this shows nothing.
const MAX_CANDIDATES: usize = 10_000;

/// A state of the machine, and the values of its variables.
type CandidateState = (u32, Vec<Value>);

/// The candidate states before each step and after the last, or why the run shows nothing. Where the thread may be read in
/// two ways, it must fail in both: a run of each.
pub fn replay_local_run(program: &Program, local: &LocalRun) -> Result<Vec<Vec<u32>>, String> {
    let thread = program.threads.get(local.thread).ok_or("no such thread")?;
    let runs: Vec<&LocalRun> = [Some(local), local.also.as_deref()].into_iter().flatten().collect();
    let mut wanted = Vec::new();
    // A call that could not be inlined has only one reading.
    if !unmodelled(program, &thread.code) {
        wanted.push(CallReading::Code);
    }
    if !performing(program).is_empty() {
        wanted.push(CallReading::Specified);
    }
    let mut seen = Vec::new();
    for reading in &wanted {
        let run = runs.iter().find(|r| r.reading == *reading);
        let run = run.ok_or_else(|| format!("calls read by {}: there is no run", reading.word()))?;
        if run.thread != local.thread || run.violates != local.violates {
            return Err("the runs are about different things".into());
        }
        let candidates = alone(&reading.of(program)?, run)?;
        if run.reading == local.reading {
            seen = candidates;
        }
    }
    if wanted.contains(&local.reading) { Ok(seen) } else { Err("the thread cannot be read so".into()) }
}

/// One run, of the program as it reads it.
pub fn alone(program: &Program, local: &LocalRun) -> Result<Vec<Vec<u32>>, String> {
    let property = program.properties.get(local.violates).ok_or("no such property")?;
    if property.kind != PropertyKind::Follows(local.thread) {
        return Err(format!("a local run says nothing about {}", property.name));
    }
    let thread = &program.threads[local.thread];
    let (machine, _) = thread.follows.ok_or("the thread follows no machine")?;
    let machine = &program.machines[machine];
    let shared: Vec<VarId> = program.shared().collect();
    fits(program, &thread.locals, &local.locals)?;
    for (v, value) in thread.locals.iter().zip(&local.locals) {
        if let Some(initial) = program.vars[*v].initial {
            let none = FxHashMap::default();
            if logic::eval_term(&program.terms, initial, &none).ok().as_ref() != Some(value) {
                return Err(format!("local `{}` does not start with that value", program.vars[*v].name));
            }
        }
    }
    let sem = Semantics::new(program);
    let mut instance = Instance { thread: local.thread, tid: 1, at: thread.code.entry, locals: local.locals.clone() };
    let none = FxHashMap::default();
    let initial = machine.initial_values(program).into_iter().map(|x| logic::eval_term(&program.terms, x, &none));
    let initial: Vec<Value> = initial
        .collect::<Result<_, _>>()
        .map_err(|e| format!("the machine's variables have no first values ({e:?})"))?;
    let mut candidates: Vec<CandidateState> = machine.starts.iter().map(|s| (*s as u32, initial.clone())).collect();
    let mut seen = vec![states_of(&candidates)];
    for (i, step) in local.steps.iter().enumerate() {
        fits(program, &shared, &step.store)?;
        let last = i + 1 == local.steps.len();
        if let Some(c) = candidates.iter().find(|c| !asserted(program, machine, c, &shared, &step.store)) {
            return Err(format!(
                "before step {}, the machine goes wrong in state {}",
                i + 1,
                machine.states[c.0 as usize].name
            ));
        }
        let state = State { shared: step.store.clone(), instances: vec![instance.clone()], entered: None };
        let own = TraceStep {
            instance: 0,
            thread: local.thread,
            action: step.action,
            inputs: step.inputs.clone(),
            choices: Vec::new(),
        };
        match sem.execute(&state, &own)? {
            StepOutcome::Wrong { property, .. }
                if matches!(program.properties[property].kind, PropertyKind::Unmodelled(_)) =>
            {
                return Err(format!("step {} is outside the model", i + 1));
            }
            StepOutcome::Wrong { property, .. }
                if local.reading == CallReading::Specified
                    && program.properties[property].kind != PropertyKind::Assertion =>
            {
                return Err(format!("step {} may be shown not to fail by other means", i + 1));
            }
            StepOutcome::Wrong { .. } if last => return Ok(seen),
            StepOutcome::Wrong { .. } => return Err(format!("step {} goes wrong, and is not the last", i + 1)),
            StepOutcome::Moved { state: next, .. } => {
                let action = &thread.code.actions[step.action];
                let env = step_environment(program, &shared, &instance, action, (step, &next.shared));
                candidates = follow(program, machine, &candidates, action, env)?;
                seen.push(states_of(&candidates));
                if candidates.is_empty() {
                    return if last { Ok(seen) } else { Err("steps go on after the machine was left behind".into()) };
                }
                instance = next.instances[0].clone();
            }
        }
    }
    Err("the machine follows every step".into())
}

fn fits(program: &Program, vars: &[VarId], values: &[Value]) -> Result<(), String> {
    let fine = vars.len() == values.len()
        && vars
            .iter()
            .zip(values)
            .all(|(v, x)| !x.is_open() && program::semantics::fits(program, x, program.vars[*v].sort));
    if fine { Ok(()) } else { Err("a store does not fit the program's variables".into()) }
}

fn environment(program: &Program, shared: &[VarId], before: &[Value], after: &[Value]) -> FxHashMap<Symbol, Value> {
    let mut out: FxHashMap<Symbol, Value> = FxHashMap::default();
    for ((v, b), a) in shared.iter().zip(before).zip(after) {
        out.insert(program.vars[*v].symbol, b.clone());
        out.insert(program.vars[*v].primed, a.clone());
    }
    out.insert(program.tid, Value::Int(1));
    out
}

/// An assertion that cannot be evaluated counts as failing: the run then shows nothing.
fn asserted(
    program: &Program,
    machine: &Machine,
    (state, own): &CandidateState,
    shared: &[VarId],
    store: &[Value],
) -> bool {
    let mut env = environment(program, shared, store, store);
    env.extend(machine.vars.iter().zip(own).map(|(v, x)| (program.vars[*v].symbol, x.clone())));
    match machine.states[*state as usize].assertion {
        None => true,
        Some(None) => false,
        Some(Some(f)) => logic::eval::holds(&program.terms, f, &env) == Ok(true),
    }
}

fn states_of(candidates: &[CandidateState]) -> Vec<u32> {
    let mut out: Vec<u32> = candidates.iter().map(|c| c.0).collect();
    out.dedup();
    out
}

/// The stores before and after a step, the instance's locals before it and the inputs of the action.
fn step_environment(
    program: &Program,
    shared: &[VarId],
    instance: &Instance,
    action: &Action,
    (step, after): (&LocalStep, &[Value]),
) -> FxHashMap<Symbol, Value> {
    let mut env = environment(program, shared, &step.store, after);
    let locals = program.threads[instance.thread].locals.iter().zip(&instance.locals);
    env.extend(locals.map(|(v, x)| (program.vars[*v].symbol, x.clone())));
    env.extend(action.inputs.iter().copied().zip(step.inputs.iter().cloned()));
    env
}

/// All states the machine can be in after the change of the store, from one of the candidates.
fn follow(
    program: &Program,
    machine: &Machine,
    from: &[CandidateState],
    action: &Action,
    mut env: FxHashMap<Symbol, Value>,
) -> Result<Vec<CandidateState>, String> {
    let terms = program.terms.clone();
    // The store after the step is known; which object is new, the action says.
    let change: Vec<Update> = program
        .shared()
        .map(|v| {
            let made = matches!(program.vars[v].kind, VarKind::Live(_));
            let own = action.updates.iter().find(|u| u.var == v && made);
            Update { var: v, value: own.map_or_else(|| terms.sym(program.vars[v].primed), |u| u.value) }
        })
        .collect();
    let symbols: Vec<_> = machine.vars.iter().map(|v| terms.sym(program.vars[*v].symbol)).collect();
    let wrong = |e| format!("the machine's step could not be evaluated ({e:?})");
    let mut out = std::collections::BTreeSet::new();
    for (state, own) in from {
        env.extend(machine.vars.iter().zip(own).map(|(v, x)| (program.vars[*v].symbol, x.clone())));
        let edges = machine.edges.iter().filter(|e| e.from == *state as usize);
        let mut ways: Vec<_> =
            edges.map(|e| (e.to as u32, edge_way(program, &terms, machine, e, &change, &symbols))).collect();
        if !machine.strict {
            ways.push((*state, idle_way(program, &terms, &change, &symbols)));
        }
        for (to, way) in ways {
            if logic::eval::holds(&terms, way.fits, &env).map_err(wrong)? {
                let values = way.values.iter().map(|x| logic::eval_term(&terms, *x, &env));
                out.insert((to, values.collect::<Result<Vec<Value>, _>>().map_err(wrong)?));
            }
        }
        if out.len() > MAX_CANDIDATES {
            return Err(format!("the machine may be in more than {MAX_CANDIDATES} states"));
        }
    }
    Ok(out.into_iter().collect())
}
