//! A local counterexample as a story: what the others left in the shared store, what the thread did, which machine states could still stand
//! for it, and the step that none of them explains.
//!
//! In: a program, its sources and a `LocalRun` run. Out: a `Story` with two columns, the thread and the others. The run is replayed by the checker's
//! rule for local runs. Deliberately absent: who of the others did it; any of them may.

use super::names::Describer;
use super::story::{Detail, Relevance, StartValue, StepChange, Story, StoryStep};
use base::Sources;
use evidence::{CallReading, LocalRun};
use program::Program;
use program::semantics::{Instance, Semantics, State, StepOutcome, TraceStep};

pub fn describe_local_run(program: &Program, sources: &Sources, local: &LocalRun) -> Story {
    let mut out = described(program, sources, local);
    if let Some(code) = &local.also {
        let also = described(program, sources, code);
        out.end.push("nor does it follow the machine by the code of what it calls:".into());
        out.end.extend(also.lines(super::PRINTED_WIDTH, Detail::Brief));
    }
    out
}

fn described(whole: &Program, sources: &Sources, local: &LocalRun) -> Story {
    let Ok(program) = &local.reading.of(whole) else { return Story::default() };
    let candidates = checker::rules::local_run::alone(program, local).unwrap_or_default();
    let thread = &program.threads[local.thread];
    let machine = thread.follows.map(|(m, _)| &program.machines[m]);
    let states = |i: usize| -> String {
        let list = candidates.get(i).map(Vec::as_slice).unwrap_or_default();
        let names =
            list.iter().filter_map(|c| machine.and_then(|m| m.states.get(*c as usize)).map(|s| s.name.as_str()));
        names.collect::<Vec<_>>().join(" or ")
    };
    let sem = Semantics::new(program);
    let describer = Describer::new(&sem, sources);
    let mut instance = Instance { thread: local.thread, tid: 1, at: thread.code.entry, locals: local.locals.clone() };
    let name = thread.name.split('#').next().unwrap_or(&thread.name);
    let mut out = Story { columns: vec![format!("1 {name}"), "others".into()], ..Story::default() };
    let given = thread.locals.iter().zip(&local.locals).filter(|(v, _)| program.vars[**v].initial.is_none());
    out.start = given
        .filter(|(v, _)| describer.is_named(**v))
        .map(|(v, x)| StartValue {
            name: describer.name(*v),
            value: describer.shown_value(*v, program.vars[*v].sort, x),
            matters: Relevance::Matters,
        })
        .collect();
    let mut left: Option<State> = None;
    for (i, step) in local.steps.iter().enumerate() {
        let state = State { shared: step.store.clone(), instances: vec![instance.clone()], entered: None };
        match &left {
            None => out.start.extend(describer.start_with(&state, &|_, _| Relevance::Matters)),
            Some(before) if before.shared != state.shared => {
                let mut changes = Vec::new();
                describer.changes(before, &state, 0, &|_, _| Relevance::Matters, &mut changes);
                out.events.push(StoryStep {
                    instance: 1,
                    at: None,
                    place: String::new(),
                    text: "change the store".into(),
                    changes,
                    heap: None,
                    matters: Relevance::Matters,
                });
            }
            Some(_) => {}
        }
        let own = TraceStep {
            instance: 0,
            thread: local.thread,
            action: step.action,
            inputs: step.inputs.clone(),
            choices: vec![],
        };
        let after = match sem.execute(&state, &own) {
            Ok(StepOutcome::Moved { state: after, .. }) => Some(after),
            _ => None,
        };
        let mut event = describer.event(&state, &own, after.as_ref());
        event.changes.push((StepChange::Note(format!("machine in {}", states(i))), Relevance::Matters));
        out.events.push(event);
        if let Some(after) = after {
            instance = after.instances[0].clone();
            left = Some(after);
        }
    }
    let last = local.steps.len();
    let which = machine.map_or_else(|| "the machine".to_string(), |m| format!("machine {}", m.name));
    let from = states(last.saturating_sub(1));
    let calls = match local.reading {
        CallReading::Code => "",
        CallReading::Specified => "; its calls do what they perform",
    };
    let ended = out.events.last().map_or_else(String::new, |e| {
        let values: Vec<String> =
            e.changes.iter().filter(|(c, _)| !matches!(c, StepChange::Note(_))).map(|(c, _)| c.to_string()).collect();
        let values = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
        format!("`{}` at {}{values}", e.text, e.place)
    });
    out.summary = vec![if candidates.len() > last {
        format!("no step of {which} from state {from} makes the change of {ended} in thread {name}")
    } else {
        format!("{ended} goes wrong in thread {name}, and no assertion of state {from} of {which} fails there")
    }];
    // What made the step wrong is often what the others left before it.
    let before = out.events.len().checked_sub(2).and_then(|at| out.events.get(at)).filter(|e| e.instance == 1);
    if let Some(others) = before {
        let changes = others.changes(Detail::Brief);
        let rely = if program.relies.is_empty() { "; a `rely` says what they leave alone" } else { "" };
        out.summary.push(format!("before it the other threads have made the store so: {changes}{rely}"));
    }
    out.end = vec![format!("the other threads may change the store between its steps{calls}")];
    out
}
