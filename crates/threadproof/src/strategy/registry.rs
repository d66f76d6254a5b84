//! Every method, one line each: the order is the order of reports and of preference between equal answers.
//!
//! In: a task and the names the user gave. Out: the methods to start, in waves, and the place of each in the order.
//! Deliberately absent: what a method does; `methods::all_methods` has the list.

use super::scout::Scout;
use super::{StartWave, StrategySettings, When};
use methods::{Method, Task};
use std::sync::Arc;
use std::time::Duration;

/// All methods of this build.
pub fn methods() -> Vec<Arc<dyn Method>> {
    methods::all_methods()
}

/// What runs when the user names no method: all of them, and a short search for bugs in front.
pub fn portfolio() -> Vec<Arc<dyn Method>> {
    let mut all = methods();
    if let Some(search) = all.iter().find(|m| m.about().name == "explore").cloned() {
        all.insert(0, Arc::new(Scout::new(search)));
    }
    all
}

/// After this time nothing waits for a free processor any more. All times here are of the processors, not of the clock on the wall.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// How long the others wait for the method that is likely to decide.
const MAX_HEAD_START: Duration = Duration::from_millis(1200);
/// When those start, one after the other, that often decide what the likely one does not.
const NEXT_STARTS: [Duration; 2] = [Duration::from_millis(150), Duration::from_millis(250)];
/// When others start beside a search of fixed numbers of threads: where states are few it decides alone, with its check.
const BESIDE_SEARCH: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(600)];
/// From so many actions on, a program with any number of threads is first looked at piece by piece, for a time that follows its size.
const LARGE_PROGRAM_ACTIONS: usize = 400;
const TIME_PER_ACTION: Duration = Duration::from_millis(25);

/// Who starts when. What was found in an earlier run comes first and alone: it takes no time where it still holds. A large program is
/// left to what looks at it piece by piece, with all processors, before anything else is tried. Of a small one,
/// the methods that may wait do so until there is room for them.
pub fn stages(task: &Task, names: &[&str], settings: &StrategySettings) -> Vec<StartWave> {
    let recall = names.iter().position(|n| *n == "recall");
    let soon = settings.time / 4;
    let mut out = Vec::new();
    out.extend(recall.map(|i| StartWave { who: vec![i], when: When::Room, patience: Duration::ZERO }));
    let mut rest: Vec<usize> = (0..names.len()).filter(|i| Some(*i) != recall).collect();
    let actions = size(task);
    if actions >= LARGE_PROGRAM_ACTIONS && names.contains(&"scout") {
        let specified = |q: &program::PropertyId| {
            use program::PropertyKind::{Access, Performs};
            matches!(task.program.properties[*q].kind, Access(_) | Performs(_))
        };
        let mut piecewise = vec!["scout", "rely", "callers"];
        piecewise.extend(task.properties.iter().any(specified).then_some("reduce"));
        let first = |i: &usize| piecewise.contains(&names[*i]);
        let (first, others) = rest.into_iter().partition(first);
        let patience = (TIME_PER_ACTION * actions as u32).min(settings.time / 2);
        out.push(StartWave { who: first, when: When::Ended, patience: soon });
        out.push(StartWave { who: others, when: When::Ended, patience });
        return out;
    }
    if let Some(first) = alone(task, names) {
        rest.retain(|i| *i != first);
        out.push(StartWave { who: vec![first], when: When::Ended, patience: soon });
        out.push(StartWave { who: rest, when: When::Ended, patience: MAX_WAIT });
        return out;
    }
    let mut late = later(task, names, settings.workers);
    rest.retain(|i| !late.contains(i));
    let mut patience = soon;
    if let Some(likely) = likely(task, names) {
        let first = |i: &usize| *i == likely || names[*i] == "scout";
        let (first, others) = rest.into_iter().chain(late.iter().copied().filter(|i| *i == likely)).partition(first);
        out.push(StartWave { who: first, when: When::Ended, patience: soon });
        rest = others;
        patience = MAX_HEAD_START;
        for (next, patience) in next_likely(names[likely]).iter().zip(NEXT_STARTS) {
            let Some(next) = names.iter().position(|n| n == next) else { continue };
            rest.retain(|i| *i != next);
            late.retain(|i| *i != next);
            out.push(StartWave { who: vec![next], when: When::Ended, patience });
        }
        late.retain(|i| *i != likely);
    } else if let Some(scout) = names.iter().position(|n| *n == "scout") {
        // The search is likely to decide it; beside it come those that states without end do not stop. A second search helps nobody before the first has ended.
        rest.retain(|i| *i != scout);
        out.push(StartWave { who: vec![scout], when: When::Ended, patience: soon });
        let next: [&str; 2] = if is_annotated(task) { ["rely", "horn"] } else { ["horn", "rely"] };
        for (next, patience) in next.iter().zip(BESIDE_SEARCH) {
            let Some(next) = names.iter().position(|n| n == next) else { continue };
            rest.retain(|i| *i != next);
            out.push(StartWave { who: vec![next], when: When::Ended, patience });
        }
        patience = MAX_HEAD_START;
    }
    out.push(StartWave { who: rest, when: When::Ended, patience });
    out.extend(late.into_iter().map(|i| StartWave { who: vec![i], when: When::Room, patience: MAX_WAIT }));
    out
}

/// For each method its place in the order of preference among answers of equal effort and trust. It depends on the program alone.
pub fn places(task: &Task, names: &[&str]) -> Vec<usize> {
    let mut order: Vec<&str> = vec!["recall"];
    order.extend(alone(task, names).map(|i| names[i]));
    order.push("scout");
    order.extend(likely(task, names).map(|i| names[i]));
    order.extend(match (size(task) >= LARGE_PROGRAM_ACTIONS, task.is_parametric(), is_annotated(task)) {
        (true, ..) => &["rely", "callers", "reduce"][..],
        (false, true, false) => {
            &["reduce", "count", "quantify", "conform", "shape", "callers", "rely", "horn", "explore"]
        }
        (false, true, true) => {
            &["rely", "reduce", "conform", "shape", "callers", "count", "quantify", "horn", "explore"]
        }
        (false, false, false) => &["explore", "horn"],
        (false, false, true) => &["explore"],
    });
    let place = |i: usize| order.iter().position(|n| *n == names[i]).unwrap_or(order.len() + i);
    (0..names.len()).map(place).collect()
}

/// Actions of a program for any number of threads or callers; nothing where the numbers are fixed, for it can be searched.
fn size(task: &Task) -> usize {
    let p = &task.program;
    if !p.threads.is_empty() && !task.is_parametric() {
        return 0;
    }
    let procedures = p.procedures.iter().map(|x| &x.code).filter(|_| p.threads.is_empty());
    p.threads.iter().map(|t| &t.code).chain(procedures).map(|c| c.actions.len()).sum()
}

/// Who may wait, in the order in which they start: long runs until the short search has had its time. Where threads come in any
/// number and nothing is written about them that a method could use, counting them is the way to a proof; where something is,
/// it is for the methods that look at one thread at a time.
fn later(task: &Task, names: &[&str], workers: usize) -> Vec<usize> {
    let annotated = is_annotated(task);
    if !names.contains(&"scout") || workers >= names.len() && task.is_parametric() {
        return Vec::new();
    }
    let late: &[&str] = match (task.is_parametric(), annotated) {
        (false, _) => &["explore", "walk"],
        (true, false) => &["walk", "rely", "horn", "explore"],
        (true, true) => &["walk", "count", "horn", "explore"],
    };
    late.iter().filter_map(|late| names.iter().position(|n| n == late)).collect()
}

/// Whether something is written about the threads that a method could use.
fn is_annotated(task: &Task) -> bool {
    let p = &task.program;
    // A lock has its access predicate by itself.
    let said = |v: &program::Var| v.access.is_some() && v.kind != program::VarKind::Lock;
    !p.relies.is_empty() || !p.invariants.is_empty() || p.vars.iter().any(said)
}

/// Who goes alone at first: an object over a heap is for one method, and what the others would do meanwhile costs more than it does.
fn alone(task: &Task, names: &[&str]) -> Option<usize> {
    let p = &task.program;
    let objects = p.threads.is_empty() && !p.objects.is_empty() && !p.classes.is_empty();
    names.iter().position(|n| *n == "shape").filter(|_| objects)
}

/// Who is likely to decide the program, by what is in it: it begins with the short search for bugs, and the others wait for a moment. Where the
/// numbers of threads are fixed and there is no heap, the short search is that method.
fn likely(task: &Task, names: &[&str]) -> Option<usize> {
    let p = &task.program;
    if !names.contains(&"scout") || alone(task, names).is_some() {
        return None;
    }
    let performs = p.procedures.iter().any(|x| x.performs.is_some());
    let (parametric, heap) = (task.is_parametric(), !p.classes.is_empty());
    let name = match () {
        () if p.threads.iter().any(|t| t.follows.is_some()) => "conform",
        () if performs && (parametric || p.threads.is_empty()) => "reduce",
        () if heap => "shape",
        () if !parametric => return None,
        () if is_annotated(task) || has_lock(task) => "rely",
        () if has_entries_of_threads(task) => "quantify",
        () => "count",
    };
    names.iter().position(|n| *n == name)
}

/// Whether a thread writes the entry of a map that its own id names: then what holds of two threads is a matter of their entries.
fn has_entries_of_threads(task: &Task) -> bool {
    let p = &task.program;
    let own = |term: logic::Term| matches!(p.terms.app(term), Some((logic::Op::Store, args)) if p.terms.as_symbol(args[1]) == Some(p.tid));
    p.threads.iter().flat_map(|t| t.code.actions.iter()).flat_map(|a| &a.updates).any(|u| own(u.value))
}

/// Whether threads keep each other out by locks that are declared as such: then it is their holders that others rely on. Where numbers and flags do it, it is
/// how many threads are where.
fn has_lock(task: &Task) -> bool {
    task.program.vars.iter().any(|v| v.kind == program::VarKind::Lock)
}

/// Threads in any number that follow from counting and those that follow from what each relies on look alike in the text; modular trees are
/// built in no time where there is a modular proof.
fn next_likely(likely: &str) -> &'static [&'static str] {
    match likely {
        "count" => &["rely", "horn"],
        "rely" | "quantify" => &["count"],
        _ => &[],
    }
}

/// Which methods have a head start: what they answer with little effort is not compared with what others might.
pub fn head_starts(task: &Task, names: &[&str]) -> Vec<bool> {
    let likely = likely(task, names);
    (0..names.len()).map(|i| likely.is_some() && (Some(i) == likely || names[i] == "scout")).collect()
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    OneOf(&'static [&'static str]),
    Number,
}

const SWITCH: Takes = Takes::OneOf(&["on", "off"]);

/// The options that methods read, for `--option NAME=VALUE`.
pub const OPTIONS: &[(&str, Takes)] = &[
    ("bias", Takes::OneOf(&["modular", "none"])),
    ("candidates", Takes::OneOf(&["sets", "formulas"])),
    ("clauses", Takes::OneOf(&["trees", "spacer"])),
    ("dead", SWITCH),
    ("depth", Takes::Number),
    ("instances", Takes::Number),
    ("por", SWITCH),
    ("show-trees", SWITCH),
    ("heap", SWITCH),
    ("compact", SWITCH),
    ("unreachable", SWITCH),
    ("symmetry", SWITCH),
];
