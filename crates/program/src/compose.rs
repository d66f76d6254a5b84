//! The composition of machines: the program in which each thread that follows a machine is replaced by it.
//!
//! In: a program with `follows`. Out: a program with the same variables and properties in which those threads' code is
//! their machine: a location for each state, an action for each edge, and at each state with an assertion an action
//! that goes wrong where it is false. Of several start states one is chosen by a first step that changes nothing. Threads without a machine stay as they are. The idle step of a state changes
//! nothing, so it is left out. By Theorem 1 of Abstract Threads, if each thread conforms to its machine and the
//! composition does not go wrong, then the program does not.

use crate::code::{Action, Code, Gate, Location, What};
use crate::model::{Program, ThreadId};
use crate::property::{Property, PropertyId, PropertyKind};
use crate::relation::executable;
use crate::spec::{Machine, MachineId};
use base::ids::Id;

/// The composed program, or why there is none. Property ids of the program stay valid; new ones are appended.
pub fn compose_machines(program: &Program) -> Result<Program, String> {
    let mut out = program.clone();
    let following: Vec<(ThreadId, MachineId)> =
        program.threads.iter_enumerated().filter_map(|(t, thread)| thread.follows.map(|(m, _)| (t, m))).collect();
    if following.is_empty() {
        return Err("no thread follows a machine".into());
    }
    for (t, m) in following {
        if program.threads[t].code.actions.iter().any(|a| a.spawn.is_some()) {
            return Err(format!("thread {} spawns threads, which its machine cannot", program.threads[t].name));
        }
        let code = machine_code(&mut out, t, &program.machines[m])?;
        let thread = &mut out.threads[t];
        thread.code = code;
        thread.outline = None;
        // Parameters are given by `spawn`; nothing else of the thread's own is left.
        thread.locals = thread.params.clone();
    }
    Ok(out)
}

fn machine_code(out: &mut Program, t: ThreadId, machine: &Machine) -> Result<Code, String> {
    let mut code = Code::new();
    for s in &machine.states {
        let location =
            Location { name: s.name.clone(), in_atomic_block: false, invariants: Vec::new(), origin: s.origin };
        code.locations.push(location);
    }
    let at = |i: usize| crate::code::LocId::from_index(i);
    let several = machine.starts.len() > 1;
    code.entry = at(machine.starts[0]);
    let yes = out.terms.tt();
    let plain = |from: usize, to: usize, origin| Action::plain(at(from), at(to), yes, What::Relation, origin);
    let mut actions = Vec::new();
    if several {
        // Where it starts is chosen by a step that changes nothing.
        let name = "start".into();
        code.entry = code.locations.push(Location {
            name,
            in_atomic_block: false,
            invariants: Vec::new(),
            origin: machine.origin,
        });
        let entry = machine.states.len();
        actions.extend(machine.starts.iter().map(|s| plain(entry, *s, machine.origin)));
    }
    for e in &machine.edges {
        let step = executable(out, &out.terms, &e.action);
        let mut action = plain(e.from, e.to, e.origin);
        action.inputs = step.inputs;
        action.guard = step.guard;
        action.updates = step.updates;
        action.relation = Some(e.action.clone());
        actions.push(action);
    }
    let mut asserted: Vec<(usize, logic::Term)> = Vec::new();
    for (i, s) in machine.states.iter().enumerate() {
        match s.assertion {
            None => {}
            Some(None) => return Err(format!("the assertion of state {} is asked for, not given", s.name)),
            Some(Some(formula)) => asserted.push((i, formula)),
        }
    }
    let asserts: Vec<(usize, logic::Term, Action)> =
        asserted.into_iter().map(|(i, f)| (i, f, plain(i, i, machine.states[i].origin))).collect();
    for (i, formula, mut action) in asserts {
        let name = format!("machine:{}:{}:{}", out.threads[t].name, machine.name, machine.states[i].name);
        let property: PropertyId =
            out.properties.push(Property { kind: PropertyKind::Assertion, name, origin: machine.states[i].origin });
        action.gates = vec![Gate { property, formula }];
        action.what = What::Assert;
        actions.push(action);
    }
    actions.into_iter().for_each(|a| {
        code.actions.push(a);
    });
    Ok(code)
}
