//! A run as text: one column for each instance, and beside each step the values it changed.
//!
//! In: states and steps of the reference semantics. Out: lines. With many instances the columns give way to names in
//! front of each step. Deliberately absent: colours, and any search.

use program::semantics::{Semantics, State, Step};
use program::{Program, ThreadId};

/// More instances than this share one column.
const MOST_COLUMNS: usize = 4;
const WIDEST: usize = 34;

/// The name of an instance: `One`, or `Add#3` where the thread has several.
pub fn instance_name(program: &Program, state: &State, at: usize) -> String {
    let Some(instance) = state.instances.get(at) else { return format!("#{}", at + 1) };
    let same = |t: ThreadId| state.instances.iter().filter(|i| i.thread == t).count();
    let name = &program.threads[instance.thread].name;
    if same(instance.thread) > 1 { format!("{name}#{}", instance.tid) } else { name.clone() }
}

/// The words of a step, with its line in the source.
pub fn words(program: &Program, sources: Option<&base::Sources>, step: &Step) -> String {
    let action = &program.threads[step.thread].code.actions[step.action];
    let origin = &program.origins[action.origin];
    let text = origin.text.trim_matches('`');
    let text = if text.is_empty() { format!("{:?}", action.what).to_lowercase() } else { text.to_string() };
    match (sources, origin.span) {
        (Some(sources), Some(span)) => format!("{}: {text}", sources.line_of(span)),
        _ => text,
    }
}

/// What differs between two states: shared variables, then locals of the instance that moved, then new instances.
pub fn changes(sem: &Semantics<'_>, before: &State, after: &State, moved: usize) -> Vec<String> {
    let p = sem.program;
    let mut out = Vec::new();
    for (i, var) in sem.shared.iter().enumerate() {
        if before.shared.get(i) != after.shared.get(i) {
            let v = &p.vars[*var];
            out.push(format!("{} = {}", v.name, after.shared[i].show(&p.terms, v.sort)));
        }
    }
    if let (Some(old), Some(new)) = (before.instances.get(moved), after.instances.get(moved)) {
        for (k, var) in p.threads[new.thread].locals.iter().enumerate() {
            if old.locals.get(k) != new.locals.get(k) {
                let v = &p.vars[*var];
                out.push(format!("{} = {}", v.name, new.locals[k].show(&p.terms, v.sort)));
            }
        }
    }
    for at in before.instances.len()..after.instances.len() {
        out.push(format!("{} starts", instance_name(p, after, at)));
    }
    out
}

/// The values of a state: shared variables on one line.
pub fn store(sem: &Semantics<'_>, state: &State) -> String {
    let p = sem.program;
    let parts: Vec<String> = sem
        .shared
        .iter()
        .zip(&state.shared)
        .map(|(var, value)| format!("{} = {}", p.vars[*var].name, value.show(&p.terms, p.vars[*var].sort)))
        .collect();
    parts.join(", ")
}

/// The whole run. `states` has the state before the first step and after each step; the last may be missing where
/// the last step went wrong. `ending` is said of the last step.
pub fn run(
    sem: &Semantics<'_>,
    sources: Option<&base::Sources>,
    states: &[State],
    steps: &[Step],
    ending: &str,
) -> Vec<String> {
    let p = sem.program;
    let Some(widest) = states.iter().max_by_key(|s| s.instances.len()) else { return Vec::new() };
    let names: Vec<String> = (0..widest.instances.len()).map(|i| instance_name(p, widest, i)).collect();
    let columns = names.len() <= MOST_COLUMNS;
    let told: Vec<(usize, String)> =
        steps.iter().map(|s| (s.instance as usize, clip(&words(p, sources, s), WIDEST))).collect();
    let width_of = |i: usize| {
        let texts = told.iter().filter(|(at, _)| *at == i).map(|(_, t)| t.chars().count());
        texts.chain([names[i].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = if columns {
        (0..names.len()).map(width_of).collect()
    } else {
        let longest = told.iter().map(|(at, t)| names[*at].chars().count() + 2 + t.chars().count()).max();
        vec![longest.unwrap_or(0)]
    };
    let number = steps.len().to_string().len().max(1);
    let mut out = vec![format!("{:number$}  start: {}", "", store(sem, &states[0]))];
    if columns {
        let heads: Vec<String> = names.iter().zip(&widths).map(|(n, w)| pad(n, *w)).collect();
        out.push(format!("{:number$}  {}", "", heads.join("  ")).trim_end().to_string());
    }
    for (i, (at, text)) in told.iter().enumerate() {
        let cells: Vec<String> = if columns {
            widths.iter().enumerate().map(|(c, w)| pad(if c == *at { text } else { "" }, *w)).collect()
        } else {
            vec![pad(&format!("{}: {text}", names[*at]), widths[0])]
        };
        let last = i + 1 == told.len();
        let mut beside = match (states.get(i), states.get(i + 1)) {
            (Some(before), Some(after)) => changes(sem, before, after, *at),
            _ => Vec::new(),
        };
        if last && !ending.is_empty() {
            beside.push(ending.to_string());
        }
        let line = format!("{:>number$}  {}  {}", i + 1, cells.join("  "), beside.join(", "));
        out.push(line.trim_end().to_string());
    }
    if told.is_empty() && !ending.is_empty() {
        out.push(ending.to_string());
    }
    out
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.chars().count())))
}

/// Source text on one line, not too long.
fn clip(text: &str, width: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= width {
        return flat;
    }
    let cut: String = flat.chars().take(width.saturating_sub(2)).collect();
    format!("{cut}..")
}
