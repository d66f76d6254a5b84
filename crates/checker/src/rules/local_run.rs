//! Rule `local-run` (a refutation): one thread's own steps show that it does not conform to its machine.
//!
//! In: initial locals and, for each step, the shared store before it, the action and its inputs. Each step is executed by the
//! reference semantics; the set of candidate machine states is computed by evaluation, exactly as Theorem 2 of Abstract
//! Threads defines it. Accepted if before every step all assertions of the candidates hold, and the last step either
//! goes wrong, or leaves no candidate. No solver.

use evidence::{CallReading, LocalRun};
use logic::{Symbol, Value};
use program::call_summaries::{performing, unmodelled};
use program::relation::{is_idle, is_step};
use program::semantics::{Instance, Semantics, State, StepOutcome, TraceStep};
use program::{Machine, Program, PropertyKind, Update, VarId};
use rustc_hash::FxHashMap;

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
    let mut candidates: Vec<u32> = machine.starts.iter().map(|s| *s as u32).collect();
    let mut seen = vec![candidates.clone()];
    for (i, step) in local.steps.iter().enumerate() {
        fits(program, &shared, &step.store)?;
        let last = i + 1 == local.steps.len();
        if let Some(c) = candidates.iter().find(|c| !asserted(program, machine, **c, &shared, &step.store)) {
            return Err(format!(
                "before step {}, the machine goes wrong in state {}",
                i + 1,
                machine.states[*c as usize].name
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
                candidates = follow(program, machine, &candidates, &shared, &step.store, &next.shared)?;
                seen.push(candidates.clone());
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
fn asserted(program: &Program, machine: &Machine, state: u32, shared: &[VarId], store: &[Value]) -> bool {
    let env = environment(program, shared, store, store);
    match machine.states[state as usize].assertion {
        None => true,
        Some(None) => false,
        Some(Some(f)) => logic::eval::holds(&program.terms, f, &env) == Ok(true),
    }
}

/// All states the machine can be in after the change of the store, from one of the candidates.
fn follow(
    program: &Program,
    machine: &Machine,
    from: &[u32],
    shared: &[VarId],
    before: &[Value],
    after: &[Value],
) -> Result<Vec<u32>, String> {
    let terms = program.terms.clone();
    let env = environment(program, shared, before, after);
    let change: Vec<Update> =
        shared.iter().map(|v| Update { var: *v, value: terms.sym(program.vars[*v].primed) }).collect();
    let holds = |f| {
        logic::eval::holds(&terms, f, &env).map_err(|e| format!("the machine's step could not be evaluated ({e:?})"))
    };
    let mut out = std::collections::BTreeSet::new();
    for e in machine.edges.iter().filter(|e| from.contains(&(e.from as u32))) {
        if holds(is_step(program, &terms, &e.action, &change))? {
            out.insert(e.to as u32);
        }
    }
    if !machine.strict && holds(is_idle(program, &terms, &change))? {
        out.extend(from);
    }
    Ok(out.into_iter().collect())
}
