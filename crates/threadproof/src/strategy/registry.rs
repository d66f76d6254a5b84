//! Every method, one line each: the order is the order of reports and of preference between equal answers.

use super::scout::Scout;
use methods::{Method, Task};
use std::sync::Arc;

/// All methods of this build.
pub fn methods() -> Vec<Arc<dyn Method>> {
    let explore: Arc<dyn Method> = Arc::new(methods::explore::Explore);
    let count: Arc<dyn Method> = Arc::new(methods::count::Count);
    let rely: Arc<dyn Method> = Arc::new(methods::rely::Rely);
    let horn: Arc<dyn Method> = Arc::new(methods::horn::HornClauses);
    let composition = vec![count.clone(), explore.clone(), horn.clone()];
    let reduce = Arc::new(methods::reduce::Reduce);
    let conform = methods::conform::Conform { composition, calls: Some(reduce.clone()) };
    let shape: Arc<dyn Method> = Arc::new(methods::shape::Shape);
    let callers = methods::callers::Callers { provers: vec![shape.clone(), rely.clone(), count.clone()] };
    let walk = Arc::new(methods::explore::Walk);
    vec![explore, rely, reduce, count, horn, Arc::new(conform), shape, Arc::new(callers), walk]
}

/// What runs when the user names no method: all of them, and a short search for bugs in front.
pub fn portfolio() -> Vec<Arc<dyn Method>> {
    let mut all = methods();
    if let Some(search) = all.iter().find(|m| m.about().name == "explore").cloned() {
        all.insert(0, Arc::new(Scout(search)));
    }
    all
}

/// Who may wait, in the order in which they start: long runs until the short search has had its time; and where threads come in any
/// number and nothing is written about them that a method could use, counting them is the way to a proof.
pub fn later(task: &Task, names: &[&str], workers: usize) -> Vec<usize> {
    let p = &task.program;
    // A lock has its access predicate by itself.
    let said = |v: &program::Var| v.access.is_some() && v.kind != program::VarKind::Lock;
    let annotated = !p.relies.is_empty() || !p.invariants.is_empty() || p.vars.iter().any(said);
    if workers >= names.len() || !names.contains(&"scout") {
        return Vec::new();
    }
    let late: &[&str] =
        if !task.is_parametric() || annotated { &["walk"] } else { &["walk", "rely", "horn", "explore"] };
    late.iter().filter_map(|late| names.iter().position(|n| n == late)).collect()
}

/// Who goes alone at first: an object over a heap is for one method, and what the others would do meanwhile costs more than it does.
pub fn alone(task: &Task, names: &[&str]) -> Option<usize> {
    let p = &task.program;
    let objects = p.threads.is_empty() && !p.objects.is_empty() && !p.classes.is_empty();
    names.iter().position(|n| *n == "shape").filter(|_| objects)
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Words(&'static [&'static str]),
    Number,
}

const SWITCH: Takes = Takes::Words(&["on", "off"]);

/// The options that methods read, for `--option NAME=VALUE`.
pub const OPTIONS: &[(&str, Takes)] = &[
    ("bias", Takes::Words(&["modular", "none"])),
    ("clauses", Takes::Words(&["trees", "spacer"])),
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
