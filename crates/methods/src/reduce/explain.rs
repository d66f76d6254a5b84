//! What went wrong, as text: a gate that may fail, a run that is no action of the specification; and which runs perform what.
//!
//! In: the program without calls and a failed obligation. Out: sentences with lines of the source. Deliberately absent:
//! deciding anything.

use super::search::{ReductionFailure, WitnessPosition};
use logic::Value;
use program::call_summaries::{CallSummaries, CodeUnit};
use program::order::PerformsOrder;
use program::{ActionId, ProcId, Program, PropertyId, Scope, StorePlace, VarId};

/// A run of a procedure that is neither idle nor an action that may come next.
pub(crate) fn stray(basis: &CallSummaries, q: ProcId, f: &ReductionFailure) -> String {
    let p = &basis.program;
    let unit = CodeUnit::Procedure(q);
    let procedure = &p.procedures[q];
    let Some(order) = procedure.performs.as_ref().map(|(s, _)| PerformsOrder::of(s)) else { return String::new() };
    if let Some(why) = &f.undecided {
        return format!("the solver did not decide whether a run of {} is one of its actions: {why}", procedure.name);
    }
    let code = basis.code(unit);
    if let Some((step, label)) = &f.witness {
        let after = format!("`{}` at @{}@", step_text(basis, unit, *step), code.actions[*step].origin);
        return format!(
            "the witness of {label} after {after} is wrong: the run {} of {} is not {label}; {}",
            steps(basis, unit, &f.steps),
            procedure.name,
            values(p, f)
        );
    }
    let at_end = code.exit == Some(f.to);
    let mut next: Vec<&str> = order.next[f.position as usize].iter().map(|n| order.label(*n)).collect();
    if !at_end || order.ends[f.position as usize] {
        next.insert(0, "nothing");
    }
    let mut out = format!(
        "the run {} of {} is not {}",
        steps(basis, unit, &f.steps),
        procedure.name,
        if next.is_empty() { "allowed: the specification has ended".to_string() } else { next.join(", nor ") }
    );
    if f.position > 0 {
        out += &format!(" (after {})", order.label(f.position as usize));
    }
    if let Some(b) = &f.broken_by {
        out += &format!("; it ends before `{}`, {}", step_text(basis, unit, b.action), because(p, b.place.as_ref()));
    }
    out + &format!("; {}", values(p, f))
}

fn because(p: &Program, place: Option<&StorePlace>) -> String {
    match place {
        Some(place) => {
            format!("which is not a left mover: another thread may touch `{}` there", show_place(p, place))
        }
        None => "which may have to wait, or changes what others may touch: no left mover".into(),
    }
}

fn show_place(p: &Program, place: &StorePlace) -> String {
    let keys: Vec<String> = place.keys.iter().map(|k| format!("[{}]", p.terms.show(*k))).collect();
    format!("{}{}", p.vars[place.var].name, keys.concat())
}

/// A gate that may fail.
pub(crate) fn gate(basis: &CallSummaries, unit: CodeUnit, property: PropertyId, f: &ReductionFailure) -> String {
    let p = &basis.program;
    let name = &p.properties[property].name;
    if let Some(why) = &f.undecided {
        return format!("the solver did not decide {name} in {}: {why}", basis.name(unit));
    }
    let step = f.action.map_or("the end".to_string(), |a| step_text(basis, unit, a));
    let shown = basis.code(unit).actions.iter().flat_map(|a| &a.gates).find(|g| g.property == property);
    let shown = shown.map(|g| p.terms.show(g.formula)).filter(|s| s.len() < 120);
    let formula = shown.map(|s| format!(" ({s})")).unwrap_or_default();
    format!(
        "`{step}` of {} may break {name}{formula}, whatever the others do within their access predicates; {}",
        basis.name(unit),
        values(p, f)
    )
}

fn step_text(basis: &CallSummaries, unit: CodeUnit, a: ActionId) -> String {
    let p = &basis.program;
    p.origins[basis.code(unit).actions[a].origin].text.clone()
}

fn steps(basis: &CallSummaries, unit: CodeUnit, list: &[ActionId]) -> String {
    let mut shown: Vec<String> = list.iter().map(|a| format!("`{}`", step_text(basis, unit, *a))).collect();
    shown.dedup();
    if shown.len() > 8 {
        let last = shown.split_off(shown.len() - 4);
        shown.truncate(3);
        shown.push("..".into());
        shown.extend(last);
    }
    if shown.is_empty() { "of no steps".into() } else { shown.join("; ") }
}

/// What changed, and what stayed: `count: 4 -> 5`.
fn values(p: &Program, f: &ReductionFailure) -> String {
    let after = |v: VarId| f.after.iter().find(|(x, _)| *x == v).map(|(_, x)| x);
    let show = |v: VarId, x: &Value| x.show(&p.terms, p.vars[v].sort);
    let mut parts = Vec::new();
    for (v, old) in &f.before {
        let var = &p.vars[*v];
        match after(*v) {
            Some(new) if new != old => parts.push(format!("{}: {} -> {}", var.name, show(*v, old), show(*v, new))),
            _ if var.scope == Scope::Shared => parts.push(format!("{}: {}", var.name, show(*v, old))),
            _ => {}
        }
    }
    if parts.is_empty() { "no values".into() } else { parts.join(", ") }
}

/// A `witness` for each step that performs an action, to be pasted into the file.
pub(crate) fn witnesses(basis: &CallSummaries, q: ProcId, performed: &[(WitnessPosition, String)]) -> Vec<String> {
    let p = &basis.program;
    let code = basis.code(CodeUnit::Procedure(q));
    let name = &p.procedures[q].name;
    let line = |(spot, label): &(WitnessPosition, String)| {
        let (word, a) = match spot {
            WitnessPosition::After(a) => ("after", a),
            WitnessPosition::Before(a) => ("before", a),
        };
        let origin = code.actions[*a].origin;
        format!("witness {label}; // in {name}, {word} `{}` at @{origin}@", p.origins[origin].text)
    };
    performed.iter().map(line).collect()
}
