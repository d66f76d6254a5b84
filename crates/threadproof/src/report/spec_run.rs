//! A run that a procedure's specification does not explain, for a reader: own steps, steps of others, values that change.
//!
//! In: a program, its sources and a `SpecRun` run. Out: lines of text. The run is replayed again to have the values.

use super::describe::{short_place, value_changes};
use base::Sources;
use evidence::SpecRun;
use program::order::PerformsOrder;
use program::stage::{ProcedureStage, StageEvent};
use program::{Program, PropertyKind};

pub fn describe_spec_run(program: &Program, sources: &Sources, run: &SpecRun) -> Vec<String> {
    let Ok(states) = checker::rules::spec_run::replay_spec_run(program, run) else { return Vec::new() };
    let Ok(stage) = ProcedureStage::new(program, run.procedure) else { return Vec::new() };
    let p = &stage.program;
    let name = &p.procedures[run.procedure].name;
    let show =
        |v: &program::VarId, x: &logic::Value| format!("{} = {}", p.vars[*v].name, x.show(&p.terms, p.vars[*v].sort));
    let start: Vec<String> = stage.shared.iter().zip(&run.store).map(|(v, x)| show(v, x)).collect();
    let mut out = vec![format!("{name}, called by thread 1, among threads that keep to the access predicates")];
    out.push(format!("start: {}", start.join(", ")));
    for (i, event) in run.events.iter().enumerate() {
        let before = &states[i];
        // The step that breaks an access predicate leads nowhere.
        let after = states.get(i + 1).unwrap_or(before);
        let mut changes: Vec<String> = Vec::new();
        let shared = stage.shared.iter().zip(before.shared.iter().zip(&after.shared));
        let own = stage.own.iter().zip(before.instances[0].locals.iter().zip(&after.instances[0].locals));
        for (v, (old, new)) in shared.chain(own).filter(|(_, (old, new))| old != new) {
            let var = &p.vars[*v];
            changes.extend(value_changes(&p.terms, &var.name, var.sort, old, new));
        }
        let changes = if changes.is_empty() { String::new() } else { format!("   {}", changes.join(", ")) };
        let text = match event {
            StageEvent::Own { action, .. } => {
                let origin = &p.origins[p.threads[stage.thread].code.actions[*action].origin];
                let place = origin.span.map_or(String::new(), |s| format!("{}  ", short_place(sources, s)));
                format!("{place}{}", origin.text)
            }
            StageEvent::Other { thread: 1, .. } => "before the call its thread writes".into(),
            StageEvent::Other { thread, .. } => format!("thread {thread} writes"),
        };
        out.push(format!("{:>3}  {text}{changes}", i + 1));
    }
    if let PropertyKind::Access(v) = p.properties[run.violates].kind {
        let name = &p.vars[v].name;
        out.push(format!("the step touches `{name}` where its access predicate does not hold"));
        return out;
    }
    let procedure = &p.procedures[run.procedure];
    let results: Vec<String> = procedure
        .results
        .iter()
        .filter_map(|r| {
            let i = stage.own.iter().position(|v| v == r)?;
            Some(show(r, &states.last()?.instances[0].locals[i]))
        })
        .collect();
    let with = if results.is_empty() { String::new() } else { format!(" with {}", results.join(", ")) };
    let labels = p.procedures[run.procedure].performs.iter().flat_map(|(s, _)| PerformsOrder::of(s).actions);
    let labels: Vec<&str> = labels.map(|a| a.label).collect();
    out.push(format!("it ends{with}; no order of the actions of its specification ({}) gives this", labels.join(", ")));
    out
}
