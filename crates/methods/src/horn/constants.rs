//! Locals that index maps and have one value at a location, whatever way led there.
//!
//! In: a process. Out: its actions with such locals replaced by their values (numbers, or the thread's own `tid`), and for
//! each location the equations, which are predicates from the start: so an index of a map is a number where the text says so in
//! a roundabout way. Deliberately absent: shared variables, and values that depend on anything else.

use super::process::Process;
use logic::{Node, Op, Symbol, Term, Terms};
use std::collections::{BTreeMap, BTreeSet};

type Known = BTreeMap<Symbol, Term>;

pub(crate) fn settle_constants(terms: &Terms, tid: Symbol, process: &mut Process) {
    let subjects = subjects(terms, process);
    if subjects.is_empty() {
        return;
    }
    let is_value = |x: Term| super::formula::number(terms, x).is_some() || terms.as_symbol(x) == Some(tid);
    let mut start = Known::new();
    for f in &process.init {
        if let Node::App(Op::Eq, args) = terms.node(*f) {
            for (a, b) in [(args[0], args[1]), (args[1], args[0])] {
                if let Some(s) = terms.as_symbol(a).filter(|s| subjects.contains(s) && is_value(b)) {
                    start.insert(s, b);
                }
            }
        }
    }
    let mut at: Vec<Option<Known>> = vec![None; process.out.len()];
    at[process.entry] = Some(start);
    let mut todo = vec![process.entry];
    while let Some(here) = todo.pop() {
        let Some(known) = at[here].clone() else { continue };
        for act in &process.out[here] {
            let act = &process.transitions[*act];
            let mut after = known.clone();
            for (x, value) in act.updates.iter().filter(|(x, _)| subjects.contains(x)) {
                let value = terms.simplify(terms.substitute(*value, known.iter().map(|(s, v)| (*s, *v))));
                if is_value(value) {
                    after.insert(*x, value);
                } else {
                    after.remove(x);
                }
            }
            let joined = match &at[act.to] {
                None => after,
                Some(old) => old.iter().filter(|(s, v)| after.get(s) == Some(v)).map(|(s, v)| (*s, *v)).collect(),
            };
            if at[act.to].as_ref() != Some(&joined) {
                at[act.to] = Some(joined);
                todo.push(act.to);
            }
        }
    }
    for (here, known) in at.into_iter().enumerate() {
        let Some(known) = known.filter(|k| !k.is_empty()) else { continue };
        let own = |f: Term| terms.simplify(terms.substitute(f, known.iter().map(|(s, v)| (*s, *v))));
        for act in &process.out[here] {
            let act = &mut process.transitions[*act];
            act.guard = own(act.guard);
            act.gates.iter_mut().for_each(|(_, f)| *f = own(*f));
            act.enabled.iter_mut().for_each(|f| *f = own(*f));
            act.enabled.retain(|f| !terms.is_true(*f));
            act.updates.iter_mut().for_each(|(_, v)| *v = own(*v));
        }
        process.settled[here] = known.iter().map(|(s, v)| terms.eq(terms.sym(*s), *v)).collect();
    }
}

/// Locals that an index of a map depends on, also by way of other locals.
fn subjects(terms: &Terms, process: &Process) -> BTreeSet<Symbol> {
    let mut out = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut todo: Vec<Term> = Vec::new();
    for a in &process.transitions {
        todo.extend(a.enabled.iter().copied().chain(a.updates.iter().map(|(_, v)| *v)));
    }
    while let Some(x) = todo.pop() {
        if !seen.insert(x) {
            continue;
        }
        if let Node::App(op, args) = terms.node(x) {
            if matches!(op, Op::Select | Op::Store) {
                out.extend(terms.free_symbols(args[1]).iter().filter(|s| process.locals.contains(s)));
            }
            todo.extend(args.iter());
        }
    }
    loop {
        let sources = process.transitions.iter().flat_map(|a| &a.updates).filter(|(x, _)| out.contains(x));
        let more: Vec<Symbol> = sources
            .flat_map(|(_, v)| terms.free_symbols(*v))
            .filter(|s| process.locals.contains(s) && !out.contains(s))
            .collect();
        if more.is_empty() {
            return out;
        }
        out.extend(more);
    }
}
