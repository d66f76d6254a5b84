//! A run that a procedure's specification does not explain, told to a person: own steps, steps of others, values that change.
//!
//! In: a program, its sources and a `Stray` run. Out: lines of text. The run is replayed again to have the values.

use base::Sources;
use evidence::stray::{Event, Stage, Stray};
use program::order::Order;
use program::{Program, PropertyKind};

pub fn tell(program: &Program, sources: &Sources, stray: &Stray) -> Vec<String> {
    let Ok(states) = evidence::stray::replay(program, stray) else { return Vec::new() };
    let Ok(stage) = Stage::new(program, stray.procedure) else { return Vec::new() };
    let p = &stage.program;
    let name = &p.procedures[stray.procedure].name;
    let show =
        |v: &program::VarId, x: &logic::Value| format!("{} = {}", p.vars[*v].name, x.show(&p.terms, p.vars[*v].sort));
    let start: Vec<String> = stage.shared.iter().zip(&stray.store).map(|(v, x)| show(v, x)).collect();
    let mut out = vec![format!("{name}, called by thread 1, among threads that keep to the access predicates")];
    out.push(format!("start: {}", start.join(", ")));
    for (i, event) in stray.events.iter().enumerate() {
        let before = &states[i];
        // The step that breaks an access predicate leads nowhere.
        let after = states.get(i + 1).unwrap_or(before);
        let mut changes: Vec<String> = Vec::new();
        let shared = stage.shared.iter().zip(before.shared.iter().zip(&after.shared));
        let own = stage.own.iter().zip(before.instances[0].locals.iter().zip(&after.instances[0].locals));
        for (v, (old, new)) in shared.chain(own).filter(|(_, (old, new))| old != new) {
            let sort = p.vars[*v].sort;
            changes.push(format!("{}: {} -> {}", p.vars[*v].name, old.show(&p.terms, sort), new.show(&p.terms, sort)));
        }
        let changes = if changes.is_empty() { String::new() } else { format!("   {}", changes.join(", ")) };
        let words = match event {
            Event::Own { action, .. } => {
                let origin = &p.origins[p.threads[stage.thread].code.actions[*action].origin];
                let place = origin.span.map_or(String::new(), |s| format!("{}  ", sources.place(s)));
                format!("{place}{}", origin.text)
            }
            Event::Other { thread: 1, .. } => "before the call its thread writes".into(),
            Event::Other { thread, .. } => format!("thread {thread} writes"),
        };
        out.push(format!("{:>3}  {words}{changes}", i + 1));
    }
    if let PropertyKind::Access(v) = p.properties[stray.violates].kind {
        let name = &p.vars[v].name;
        out.push(format!("the step touches `{name}` where its access predicate does not hold"));
        return out;
    }
    let procedure = &p.procedures[stray.procedure];
    let results: Vec<String> = procedure
        .results
        .iter()
        .filter_map(|r| {
            let i = stage.own.iter().position(|v| v == r)?;
            Some(show(r, &states.last()?.instances[0].locals[i]))
        })
        .collect();
    let with = if results.is_empty() { String::new() } else { format!(" with {}", results.join(", ")) };
    let labels = p.procedures[stray.procedure].performs.iter().flat_map(|(s, _)| Order::of(s).actions);
    let labels: Vec<&str> = labels.map(|a| a.label).collect();
    out.push(format!("it ends{with}; no order of the actions of its specification ({}) gives this", labels.join(", ")));
    out
}
