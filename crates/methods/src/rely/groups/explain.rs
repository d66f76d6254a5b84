//! What stands in the way of a proof, as text: the step, the thread, the conjunct it breaks and whose it is, values
//! before and after, and what others did on the way.
//!
//! In: a condition that does not hold, with the solver's values for it. Out: lines for people. A place in the text is
//! written as `@o12@` (an origin of the program); the report, which has the text, puts file and line there.
//! The values are those of one thread's view: the run up to the step is the thread's own, the steps of others are
//! any that its annotations allow. So it is a reason for "unknown", never a refutation.

use super::{ConditionFailure, GroupSolver};
use crate::rely::conditions::ConditionOf;
use crate::rely::setting::{ConditionSubject, Explanation, WrittenFact};
use logic::{Symbol, Term, Value};
use program::passive::{Region, RegionStore};
use program::{OriginId, PropertyKind, ThreadId};

pub(crate) fn explain_failure(engine: &mut GroupSolver<'_>, failure: &ConditionFailure) -> Explanation {
    let (group, batch) = (&engine.groups[failure.group], &engine.groups[failure.group].batches[failure.batch]);
    let about = batch.goals[failure.goal].about;
    let (of, step) = (group.of.clone(), batch.step);
    let broken = breaks(engine, about, failure);
    let mut lines = Vec::new();
    match of {
        ConditionOf::Initial => {
            lines.push(format!("the first store need not satisfy {broken}"));
            lines.extend(shared(engine, failure, &RegionStore::default()).map(|s| format!("for example {s}")));
        }
        ConditionOf::Closed(thread) => {
            let name = &engine.program.threads[thread].name;
            lines.push(format!("{broken} is not kept by two steps in a row, so {name} cannot rely on it at once"));
        }
        ConditionOf::Region(thread, region) => in_region(engine, failure, thread, &region, step, &broken, &mut lines),
    }
    if let Some(why) = &failure.unknown {
        lines.push(format!("the solver did not decide this ({why})"));
    }
    Explanation { about, lines }
}

/// The conjunct and whose it is.
fn breaks(engine: &GroupSolver<'_>, about: ConditionSubject, failure: &ConditionFailure) -> String {
    let (p, t) = (engine.program, engine.terms);
    match about {
        ConditionSubject::Candidate(k) => {
            let c = &engine.setting.candidates[k];
            let text = t.show(c.formula);
            match c.written {
                Some(WrittenFact::Property(w)) => format!("`{text}` ({})", p.properties[w].name),
                Some(WrittenFact::Loop(_)) => format!("the loop invariant `{text}`"),
                None => format!("`{text}`"),
            }
        }
        ConditionSubject::Property(w) => {
            let property = &p.properties[w];
            match property.kind {
                PropertyKind::Rely(r) => {
                    let rely = &p.relies[r as usize];
                    let whose = rely.thread.map_or_else(
                        || "every other thread relies on".to_string(),
                        |x| format!("thread {} relies on", p.threads[x].name),
                    );
                    let part = engine.groups[failure.group].batches[failure.batch].goals[failure.goal].part;
                    let text = part.map_or_else(String::new, |f| t.show(f));
                    format!("what {whose}: `{text}` ({})", property.name)
                }
                _ => format!("{} `{}`", property.name, p.origins[property.origin].text),
            }
        }
    }
}

fn place(origin: OriginId) -> String {
    format!("@{origin}@")
}

fn in_region(
    engine: &mut GroupSolver<'_>,
    failure: &ConditionFailure,
    thread: ThreadId,
    region: &Region,
    step: Option<usize>,
    broken: &str,
    lines: &mut Vec<String>,
) {
    let p = engine.program;
    let name = p.threads[thread].name.clone();
    let code = &p.threads[thread].code;
    match step {
        Some(at) => {
            let s = &region.steps[at];
            let action = &code.actions[s.action];
            let text = &p.origins[action.origin].text;
            lines.push(format!("thread {name}, `{text}` at {}: breaks {broken}", place(action.origin)));
            let ids = [engine.terms.sym(p.tid), engine.terms.sym(engine.setting.other)];
            let ids = engine.values(failure, &ids);
            let rely = matches!(
                engine.groups[failure.group].batches[failure.batch].goals[failure.goal].about,
                ConditionSubject::Property(w) if matches!(p.properties[w].kind, PropertyKind::Rely(_))
            );
            if let (true, [Some(Value::Int(mine)), Some(Value::Int(other))]) = (rely, &ids[..]) {
                lines.push(format!("  the thread that moves has tid {mine}, the one that relies {other}"));
            } else if let Some(Some(Value::Int(mine))) = ids.first() {
                lines.push(format!("  tid {mine}"));
            }
            lines.extend(everything(engine, failure, thread, &s.before).map(|v| format!("  before: {v}")));
            let changed = differences(engine, failure, thread, &s.before, &s.after);
            if !changed.is_empty() {
                lines.push(format!("  after:  {changed}"));
            }
        }
        None => {
            let head = &code.locations[region.start];
            lines.push(format!("thread {name}: a way from `{}` breaks {broken}", head.name));
            if let Some(end) = region.ends.first() {
                let end = end.store.clone();
                lines.extend(everything(engine, failure, thread, &end).map(|v| format!("  with {v}")));
            }
        }
    }
    lines.extend(way(engine, failure, thread, region, step));
}

/// The thread's steps before, and what others changed between them.
fn way(
    engine: &mut GroupSolver<'_>,
    failure: &ConditionFailure,
    thread: ThreadId,
    region: &Region,
    step: Option<usize>,
) -> Vec<String> {
    let p = engine.program;
    let code = &p.threads[thread].code;
    let taken: Vec<Term> = region.steps.iter().map(|s| s.taken).collect();
    let taken = engine.values(failure, &taken);
    let mut out = Vec::new();
    let mut at = region.start;
    let target = step.map(|s| code.actions[region.steps[s].action].from);
    // The model may take two ways at once; the first is shown.
    for _ in 0..region.points.len() {
        if let Some(point) = region.points.iter().find(|x| x.at == at) {
            let moved = differences(engine, failure, thread, &point.arrived, &point.store);
            if !moved.is_empty() {
                out.push(format!("    others: {moved}"));
            }
        }
        if Some(at) == target {
            break;
        }
        let next = region
            .steps
            .iter()
            .zip(&taken)
            .find(|(s, v)| code.actions[s.action].from == at && **v == Some(Value::Bool(true)));
        let Some((s, _)) = next else { break };
        let action = &code.actions[s.action];
        out.push(format!("    {}  `{}`", place(action.origin), p.origins[action.origin].text));
        at = action.to;
    }
    if !out.is_empty() {
        out.insert(0, "  on the way:".into());
    }
    out
}

/// Whether a shared variable has a value in the condition's region; locals have.
fn known(engine: &GroupSolver<'_>, failure: &ConditionFailure, symbol: Symbol) -> bool {
    match &engine.groups[failure.group].of {
        ConditionOf::Region(_, region) => {
            let shared = engine.program.shared().any(|v| engine.program.vars[v].symbol == symbol);
            !shared || region.within.has(symbol)
        }
        _ => true,
    }
}

fn pairs(
    engine: &GroupSolver<'_>,
    failure: &ConditionFailure,
    thread: ThreadId,
    store: &RegionStore,
) -> Vec<(String, Symbol, Term)> {
    let p = engine.program;
    let vars = p.shared().chain(p.threads[thread].locals.iter().copied());
    vars.filter_map(|v| {
        let var = &p.vars[v];
        known(engine, failure, var.symbol)
            .then(|| (var.name.clone(), var.symbol, store.value(engine.terms, var.symbol)))
    })
    .collect()
}

fn listed(
    engine: &mut GroupSolver<'_>,
    failure: &ConditionFailure,
    pairs: &[(String, Symbol, Term)],
) -> Option<String> {
    let terms: Vec<Term> = pairs.iter().map(|(_, _, v)| *v).collect();
    let values = engine.values(failure, &terms);
    let t = engine.terms;
    let parts: Vec<String> = pairs
        .iter()
        .zip(values)
        .filter_map(|((name, symbol, _), value)| {
            value.map(|v| format!("{name} = {}", v.show(t, t.symbol_sort(*symbol))))
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn everything(
    engine: &mut GroupSolver<'_>,
    failure: &ConditionFailure,
    thread: ThreadId,
    store: &RegionStore,
) -> Option<String> {
    let pairs = pairs(engine, failure, thread, store);
    listed(engine, failure, &pairs)
}

fn shared(engine: &mut GroupSolver<'_>, failure: &ConditionFailure, store: &RegionStore) -> Option<String> {
    let p = engine.program;
    let pairs: Vec<(String, Symbol, Term)> = p
        .shared()
        .map(|v| (p.vars[v].name.clone(), p.vars[v].symbol, store.value(engine.terms, p.vars[v].symbol)))
        .collect();
    listed(engine, failure, &pairs)
}

/// The variables that differ between two stores, with their values.
fn differences(
    engine: &mut GroupSolver<'_>,
    failure: &ConditionFailure,
    thread: ThreadId,
    before: &RegionStore,
    after: &RegionStore,
) -> String {
    let changed: Vec<(String, Symbol, Term)> = pairs(engine, failure, thread, after)
        .into_iter()
        .filter(|(_, s, v)| before.value(engine.terms, *s) != *v)
        .collect();
    let mut asked: Vec<Term> = changed.iter().map(|(_, _, v)| *v).collect();
    asked.extend(changed.iter().map(|(_, s, _)| before.value(engine.terms, *s)));
    let values = engine.values(failure, &asked);
    let t = engine.terms;
    let mut out = Vec::new();
    for (i, (name, symbol, _)) in changed.iter().enumerate() {
        if let (Some(new), Some(old)) = (&values[i], &values[i + changed.len()])
            && new != old
        {
            let sort = t.symbol_sort(*symbol);
            out.push(format!("{name} = {} (was {})", new.show(t, sort), old.show(t, sort)));
        }
    }
    out.join(", ")
}
