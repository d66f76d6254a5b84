//! Trees and predicates for people, as text: one line for each abstract state, below the state it came from.

use super::trees::{Forest, Mode};
use logic::Term;

/// Trees as text, one line for each node, and the predicates they are built from.
pub struct Picture {
    pub text: Vec<String>,
}

pub fn picture(forest: &Forest<'_>) -> Picture {
    let t = forest.system.terms;
    let mut text = Vec::new();
    let say = |list: &[Term]| -> String {
        if list.is_empty() {
            return "true".into();
        }
        list.iter().map(|f| t.show(t.simplify(*f))).collect::<Vec<_>>().join(" && ")
    };
    let names = |party: usize| &forest.system.program.threads[forest.system.parties[party].thread].code.locations;
    for (i, p) in forest.system.parties.iter().enumerate() {
        text.push(format!("tree of {}", p.name));
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); forest.trees.states.len()];
        let mut roots = Vec::new();
        for (s, state) in forest.trees.states.iter().enumerate().filter(|(_, s)| s.party == i) {
            match state.parent {
                None => roots.push(s),
                Some((p, _)) => children[p].push(s),
            }
        }
        let mut todo: Vec<(usize, usize)> = roots.into_iter().map(|s| (s, 1)).collect();
        while let Some((s, depth)) = todo.pop() {
            let state = &forest.trees.states[s];
            let mut known: Vec<String> = Vec::new();
            for (k, c) in state.control.iter().enumerate().filter(|(k, _)| *k != i) {
                known.extend(c.map(|l| format!("{} at L{l}", forest.system.parties[k].name)));
            }
            let cube = forest.abs.parts(state.cube);
            if !cube.is_empty() || known.is_empty() {
                known.push(say(&cube));
            }
            let by = match state.parent {
                None => "start".to_string(),
                Some((_, via)) => {
                    let act = &forest.system.parties[via.party].acts[via.act];
                    match via.edge {
                        Some(e) => format!("e{e} ({}: {})", forest.system.parties[via.party].name, act.text),
                        None if via.party != i => format!("{}: {}", forest.system.parties[via.party].name, act.text),
                        None => act.text.clone(),
                    }
                }
            };
            let at = &names(i)[program::LocId(state.at as u32)].name;
            text.push(format!(
                "{}m{s} at L{} ({at}): {}   [by {by}]",
                "  ".repeat(depth),
                state.at,
                known.join(" && ")
            ));
            for c in children[s].iter().rev() {
                todo.push((*c, depth + 1));
            }
        }
    }
    if forest.mode == Mode::Modular {
        for (e, edge) in forest.trees.edges.iter().enumerate() {
            let p = &forest.system.parties[edge.party];
            let mut parts = forest.plain[edge.party][edge.act].clone();
            parts.extend(forest.abs.parts(edge.cube).iter());
            text.push(format!(
                "e{e} = {}   [{} from m{}: {}]",
                say(&parts),
                p.name,
                edge.origin,
                p.acts[edge.act].text
            ));
        }
    }
    Picture { text }
}

/// The predicates found, by thread and location, and by action.
pub fn predicates(forest: &Forest<'_>) -> Vec<String> {
    let t = forest.system.terms;
    let say = |list: &[Term]| list.iter().map(|f| t.show(t.simplify(*f))).collect::<Vec<_>>().join(", ");
    let mut out = Vec::new();
    for (i, p) in forest.system.parties.iter().enumerate() {
        for (at, list) in forest.at[i].iter().enumerate().filter(|(_, l)| !l.is_empty()) {
            out.push(format!("predicates of {} at L{at}: {}", p.name, say(list)));
        }
        for (a, list) in forest.on[i].iter().enumerate().filter(|(_, l)| !l.is_empty()) {
            out.push(format!("predicates of a step of {}, `{}`: {}", p.name, p.acts[a].text, say(list)));
        }
    }
    out
}
