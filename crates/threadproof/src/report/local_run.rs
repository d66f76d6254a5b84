//! A local counterexample for a reader: what the others left in the shared store, what the thread did, and which
//! machine states could still stand for it.
//!
//! In: a program, its sources and a `LocalRun` run. Out: lines of text. The run is replayed by the checker's rule for local runs.

use base::Sources;
use evidence::{CallReading, LocalRun};
use logic::Value;
use program::semantics::{Instance, Semantics, State, StepOutcome, TraceStep};
use program::{Program, VarId};

pub fn describe_local_run(program: &Program, sources: &Sources, local: &LocalRun) -> Vec<String> {
    let mut out = described(program, sources, local);
    if let Some(code) = &local.also {
        out.push("nor does it follow the machine by the code of what it calls:".into());
        out.extend(described(program, sources, code).into_iter().skip(1));
    }
    out
}

fn described(whole: &Program, sources: &Sources, local: &LocalRun) -> Vec<String> {
    let Ok(program) = &local.reading.of(whole) else { return Vec::new() };
    let candidates = checker::rules::local_run::alone(program, local).unwrap_or_default();
    let thread = &program.threads[local.thread];
    let machine = thread.follows.map(|(m, _)| &program.machines[m]);
    let shared: Vec<VarId> = program.shared().collect();
    let states = |i: usize| -> String {
        let list = candidates.get(i).map(Vec::as_slice).unwrap_or_default();
        let names =
            list.iter().filter_map(|c| machine.and_then(|m| m.states.get(*c as usize)).map(|s| s.name.as_str()));
        format!("{{{}}}", names.collect::<Vec<_>>().join(", "))
    };
    let calls = match local.reading {
        CallReading::Code => "",
        CallReading::Specified => ", its calls as specified",
    };
    let name = &thread.name;
    let mut out =
        vec![format!("thread {name} alone{calls}; the other threads may change the shared store between its steps")];
    let given: Vec<String> = thread
        .locals
        .iter()
        .zip(&local.locals)
        .filter(|(v, _)| program.vars[**v].initial.is_none())
        .map(|(v, x)| shown(program, *v, x))
        .collect();
    if !given.is_empty() {
        out.push(format!("start: {}", given.join(", ")));
    }
    let sem = Semantics::new(program);
    let mut instance = Instance { thread: local.thread, tid: 1, at: thread.code.entry, locals: local.locals.clone() };
    for (i, step) in local.steps.iter().enumerate() {
        let action = &thread.code.actions[step.action];
        let origin = &program.origins[action.origin];
        let place = origin.span.map_or(String::new(), |s| format!("{}  ", sources.place(s)));
        let store: Vec<String> = shared.iter().zip(&step.store).map(|(v, x)| shown(program, *v, x)).collect();
        out.push(format!("{:>3}  machine in {}; store: {}", i + 1, states(i), store.join(", ")));
        let mut changes = String::new();
        let state = State { shared: step.store.clone(), instances: vec![instance.clone()], entered: None };
        let own = TraceStep {
            instance: 0,
            thread: local.thread,
            action: step.action,
            inputs: step.inputs.clone(),
            choices: vec![],
        };
        if let Ok(StepOutcome::Moved { state: after, .. }) = sem.execute(&state, &own) {
            let before = shared.iter().chain(&thread.locals).zip(step.store.iter().chain(&instance.locals));
            let changed = before.zip(after.shared.iter().chain(&after.instances[0].locals));
            let list: Vec<String> = changed
                .filter(|((_, old), new)| old != new)
                .map(|((v, old), new)| {
                    let show = |x: &Value| x.show(&program.terms, program.vars[*v].sort);
                    format!("{}: {} -> {}", program.vars[*v].name, show(old), show(new))
                })
                .collect();
            changes = if list.is_empty() { changes } else { format!("   {}", list.join(", ")) };
            instance = after.instances[0].clone();
        }
        out.push(format!("     {place}{}{changes}", origin.text));
    }
    let last = local.steps.len();
    out.push(if candidates.len() > last {
        format!("no step of the machine from {} makes this change of the shared store", states(last - 1))
    } else {
        format!("the step goes wrong, and no assertion of {} fails there", states(last.saturating_sub(1)))
    });
    out
}

fn shown(program: &Program, v: VarId, value: &Value) -> String {
    format!("{} = {}", program.vars[v].name, value.show(&program.terms, program.vars[v].sort))
}
