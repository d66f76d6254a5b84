//! Programs that differ from a given one in few places and have the same variables, threads, locations, actions and properties, so that
//! evidence about the one can be put to the other.
//!
//! In: a program. Out: the program without the checks of some properties (what a method proves of it is what it would prove with its own
//! checks switched off), or with steps, checks, specifications and numbers of threads changed at random.

use base::Random;
use base::ids::Id;
use logic::{Node, Term, Terms};
use program::{Code, Copies, Performs, Program, PropertyId, PropertyKind, Start};

/// All code of the program: of threads (also with calls kept), procedures, operations and their specifications.
fn codes(p: &mut Program) -> Vec<&mut Code> {
    let Program { threads, procedures, objects, .. } = p;
    let threads = threads.iter_mut().flat_map(|t| [Some(&mut t.code), t.outline.as_mut()]).flatten();
    let procedures = procedures.iter_mut().map(|q| &mut q.code);
    let objects = objects.iter_mut().flat_map(|o| {
        let specified = o.spec.ops.iter_mut().map(|op| &mut op.code);
        o.ops.iter_mut().map(|op| &mut op.code).chain(specified)
    });
    threads.chain(procedures).chain(objects).collect()
}

/// The program in which nothing can violate these properties.
pub(super) fn without_checks(program: &Program, of: &[PropertyId]) -> Program {
    let mut p = program.clone();
    let yes = p.terms.tt();
    let gates = codes(&mut p).into_iter().flat_map(|c| c.actions.iter_mut()).flat_map(|a| a.gates.iter_mut());
    gates.filter(|g| of.contains(&g.property)).for_each(|g| g.formula = yes);
    for id in of {
        match p.properties[*id].kind {
            PropertyKind::Invariant(_) => p.properties[*id].kind = PropertyKind::Invariant(yes),
            PropertyKind::Follows(thread) => {
                // A machine that may do anything in every state is followed by everybody.
                let (machine, _) = p.threads[thread].follows.expect("it follows one");
                let frame: Vec<_> = p.shared().map(|var| program::StorePlace { var, keys: Vec::new() }).collect();
                for e in &mut p.machines[machine].edges {
                    e.action = program::TwoStore { frame: frame.clone(), relation: yes };
                }
            }
            _ => {}
        }
    }
    p.invariants.iter_mut().filter(|f| f.property.is_some_and(|q| of.contains(&q))).for_each(|f| f.formula = Some(yes));
    p.relies.iter_mut().filter(|r| of.contains(&r.property)).for_each(|r| r.formula = Some(yes));
    let performs = p.procedures.iter_mut().filter_map(|q| q.performs.as_mut());
    performs.filter(|(_, id)| of.contains(id)).for_each(|(spec, _)| loosen(spec, yes));
    p
}

/// Every action of the specification may do anything within its frame.
fn loosen(spec: &mut Performs, yes: Term) {
    match spec {
        Performs::Action { action, .. } => action.relation = yes,
        Performs::Then(parts) | Performs::Or(parts) => parts.iter_mut().for_each(|s| loosen(s, yes)),
        Performs::Star(inner) => loosen(inner, yes),
    }
}

/// The program with one to three changes.
pub(super) fn edited(program: &Program, random: &mut Random) -> Program {
    let mut p = program.clone();
    for _ in 0..1 + random.below(3) {
        // Terms can be made while the program is changed, and are its own afterwards.
        let terms = p.terms.clone();
        if random.chance(80) {
            edit_code(&mut p, &terms, random)
        } else {
            edit_around(&mut p, &terms, random)
        }
        p.terms = terms;
    }
    p
}

/// Changes one step.
fn edit_code(p: &mut Program, t: &Terms, random: &mut Random) {
    let mut all = codes(p);
    all.retain(|c| !c.actions.is_empty());
    if all.is_empty() {
        return;
    }
    let which = random.below(all.len());
    let code = &mut all[which];
    let at = program::ActionId::from_index(random.below(code.actions.len()));
    let choice = random.below(9);
    if choice == 8 {
        let location = code.actions[at].to;
        let leads_on = code.exit != Some(location);
        code.locations[location].in_atomic_block ^= leads_on;
        return;
    }
    let a = &mut code.actions[at];
    match choice {
        // It waits where it would go wrong.
        0 | 1 => a.guard = t.and(&[&[a.guard][..], &a.gates.iter().map(|g| g.formula).collect::<Vec<_>>()].concat()),
        2 => a.guard = t.ff(),
        3 => a.gates.iter_mut().for_each(|g| g.formula = t.tt()),
        4 => {
            if !a.updates.is_empty() {
                let update = random.below(a.updates.len());
                a.updates.remove(update);
            }
        }
        5 => a.updates.iter_mut().for_each(|u| u.value = other_number(t, u.value, random)),
        6 => a.guard = other_number(t, a.guard, random),
        _ => a.gates.iter_mut().for_each(|g| g.formula = other_number(t, g.formula, random)),
    }
}

/// Changes what stands around the code: numbers of threads, the start, machines, contracts.
fn edit_around(p: &mut Program, t: &Terms, random: &mut Random) {
    match random.below(5) {
        0 => {
            let many = |t: &&mut program::Thread| t.start == Start::Initial && t.copies == Copies::Any;
            if let Some(thread) = p.threads.iter_mut().find(many) {
                thread.copies = Copies::One;
            }
        }
        1 => {
            let place = random.below(p.vars.len().max(1));
            if let Some(var) = p.vars.iter_mut().nth(place) {
                var.initial = var.initial.map(|value| other_number(t, value, random));
            }
        }
        2 => {
            for state in p.machines.iter_mut().flat_map(|m| m.states.iter_mut()) {
                if random.chance(30) {
                    state.assertion = if random.chance(50) { Some(Some(t.ff())) } else { None };
                }
            }
        }
        3 => {
            for edge in p.machines.iter_mut().flat_map(|m| m.edges.iter_mut()) {
                if random.chance(30) {
                    edge.action.relation = t.tt();
                }
            }
        }
        _ => {
            for fact in p.procedures.iter_mut().flat_map(|q| q.requires.iter_mut()) {
                fact.formula = Some(t.ff());
            }
        }
    }
}

/// The term with one of its numbers one more or one less, or with a truth value turned.
fn other_number(t: &Terms, term: Term, random: &mut Random) -> Term {
    match t.node(term) {
        Node::Num(n, sort) if sort == logic::Sort::INT => t.int(if random.chance(50) { n + 1 } else { n - 1 }),
        Node::Bool(b) => {
            if b {
                t.ff()
            } else {
                t.tt()
            }
        }
        Node::App(op, args) if !args.is_empty() => {
            let chosen = random.below(args.len());
            let mut args = args.to_vec();
            args[chosen] = other_number(t, args[chosen], random);
            t.mk(op, &args)
        }
        _ => term,
    }
}
