//! Trees and predicates for people, as text: one line for each abstract state, below the state it came from.
//!
//! In: the forest of a search. Out: pictures and predicates for `--verbose`. Deliberately absent: anything the proof
//! rests on.

use super::picture::{self, ShownState, ShownTree};
use super::trees::{Forest, TreeMode};
use logic::Term;

/// Trees as text, one line for each node; and as a drawing.
pub(crate) struct TreePicture {
    pub text: Vec<String>,
    pub svg: String,
}

pub(super) fn picture(forest: &Forest<'_>) -> TreePicture {
    let trees: Vec<ShownTree> = (0..forest.system.processes.len()).map(|i| tree(forest, i)).collect();
    let steps = transitions(forest);
    let mut text = Vec::new();
    for t in trees.iter().filter(|t| !t.nodes.is_empty()) {
        text.push(format!("tree of {}", t.name));
        let node = |s: usize| &t.nodes[t.nodes.binary_search_by_key(&s, |n| n.0).expect("children are nodes")].1;
        let roots = t.nodes.iter().filter(|n| n.1.is_root);
        let mut todo: Vec<(usize, usize)> = roots.map(|n| (n.0, 1)).collect();
        while let Some((s, depth)) = todo.pop() {
            let n = node(s);
            text.push(format!(
                "{}{} at {}: {}   [by {}]",
                "  ".repeat(depth),
                n.name,
                n.at,
                n.known.join(" && "),
                n.by
            ));
            todo.extend(n.children.iter().rev().map(|c| (*c, depth + 1)));
        }
    }
    text.extend(steps.iter().cloned());
    TreePicture { text, svg: picture::draw_trees(&trees, &steps) }
}

/// A conjunction as text; `a <= b` and `b <= a` are said as one equality.
fn say(forest: &Forest<'_>, list: &[Term]) -> Vec<String> {
    let t = forest.system.terms;
    if list.is_empty() {
        return vec!["true".into()];
    }
    let turned = |f: Term| match t.node(f) {
        logic::Node::App(logic::Op::Le, args) => list.iter().position(|g| *g == t.le(args[1], args[0])),
        _ => None,
    };
    let mut out = Vec::new();
    for (i, f) in list.iter().enumerate() {
        match (turned(*f), t.node(*f)) {
            (Some(j), _) if j < i => {}
            (Some(j), logic::Node::App(_, args)) if j > i => out.push(t.show(t.simplify(t.eq(args[0], args[1])))),
            _ => out.push(t.show(t.simplify(*f))),
        }
    }
    out
}

fn tree(forest: &Forest<'_>, i: usize) -> ShownTree {
    let processes = &forest.system.processes;
    let locations = &forest.system.program.threads[processes[i].thread].code.locations;
    let mut nodes: Vec<(usize, ShownState)> = Vec::new();
    for (s, state) in forest.trees.states.iter().enumerate().filter(|(_, s)| s.process == i) {
        let mut known: Vec<String> = Vec::new();
        for (k, c) in state.control.iter().enumerate().filter(|(k, _)| *k != i) {
            known.extend(c.map(|l| format!("{} at L{l}", processes[k].name)));
        }
        let cube = forest.abs.parts(state.cube);
        if !cube.is_empty() || known.is_empty() {
            known.extend(say(forest, &cube));
        }
        let (by, foreign) = match state.parent {
            None => ("start".to_string(), false),
            Some((_, via)) => {
                let act = &processes[via.process].transitions[via.act];
                if let Some(by) = via.third {
                    let third = &forest.couples().thirds[by.thread.index()];
                    (format!("a third {}: {}", third.name, third.transitions[by.act].text), true)
                } else {
                    match via.edge {
                        Some(e) => (format!("e{e} ({}: {})", processes[via.process].name, act.text), true),
                        None if via.process != i => (format!("{}: {}", processes[via.process].name, act.text), true),
                        None => (act.text.clone(), false),
                    }
                }
            }
        };
        let at = match &forest.system.couples {
            Some(couples) => couples.describe(i, state.at),
            None => format!("L{} ({})", state.at, locations[program::LocId(state.at as u32)].name),
        };
        let is_root = state.parent.is_none();
        nodes.push((s, ShownState { name: format!("m{s}"), at, known, by, foreign, children: Vec::new(), is_root }));
    }
    for (s, state) in forest.trees.states.iter().enumerate().filter(|(_, s)| s.process == i) {
        if let Some((p, _)) = state.parent
            && let Ok(at) = nodes.binary_search_by_key(&p, |n| n.0)
        {
            nodes[at].1.children.push(s);
        }
    }
    ShownTree { name: processes[i].name.clone(), nodes }
}

/// The environment transitions, one line each (the modular case).
fn transitions(forest: &Forest<'_>) -> Vec<String> {
    if forest.mode != TreeMode::Modular {
        return Vec::new();
    }
    let line = |(e, edge): (usize, &super::trees::EnvironmentTransition)| {
        let p = &forest.system.processes[edge.process];
        let mut parts = forest.plain[edge.process][edge.act].clone();
        parts.extend(forest.abs.parts(edge.cube).iter());
        let formula = say(forest, &parts).join(" && ");
        format!("e{e} = {formula}   [{} from m{}: {}]", p.name, edge.origin, p.transitions[edge.act].text)
    };
    forest.trees.edges.iter().enumerate().map(line).collect()
}

/// The predicates found, by thread and location, and by action.
pub(crate) fn predicates(forest: &Forest<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for (i, p) in forest.system.processes.iter().enumerate() {
        for (at, list) in forest.at[i].iter().enumerate().filter(|(_, l)| !l.is_empty()) {
            out.push(format!("predicates of {} at L{at}: {}", p.name, say(forest, list).join(", ")));
        }
        for (a, list) in forest.on[i].iter().enumerate().filter(|(_, l)| !l.is_empty()) {
            let list = say(forest, list).join(", ");
            out.push(format!("predicates of a step of {}, `{}`: {list}", p.name, p.transitions[a].text));
        }
    }
    out
}
