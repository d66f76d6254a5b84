//! The composition of machines: the program in which each thread that follows a machine is replaced by it.
//!
//! In: a program with `follows`. Out: a program with the same variables and properties in which those threads' code is
//! their machine: a location for each state, an action for each edge, and at each state with an assertion an action
//! that goes wrong where it is false. Of several start states one is chosen by a first step that changes nothing. Threads without a machine stay as they are. The idle step of a state changes
//! nothing, so it is left out. The machine's variables are the thread's locals. By Theorem 1 of Abstract Threads, if each thread conforms to its machine and the
//! composition does not go wrong, then the program does not.

use crate::code::{Action, Code, Gate, Location, Update, What};
use crate::machine_step::{is_new, live_objects, with_new_object};
use crate::model::{Program, Scope, ThreadId, VarId, VarKind};
use crate::property::{Property, PropertyId, PropertyKind};
use crate::relation::executable;
use crate::spec::{Machine, MachineEdge, MachineId, StorePlace, TwoStore};
use base::ids::Id;
use logic::{Symbol, Term};

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
        let machine = &program.machines[m];
        let own: Vec<VarId> = machine.vars.iter().map(|v| local_copy(&mut out, t, *v)).collect();
        let code = machine_code(&mut out, t, machine, &own)?;
        let thread = &mut out.threads[t];
        thread.code = code;
        thread.outline = None;
        // Parameters are given by `spawn`; nothing else of the thread's own is left.
        thread.locals = thread.params.clone();
        thread.locals.extend(own);
    }
    Ok(out)
}

/// A local of the thread for a variable of its machine.
fn local_copy(out: &mut Program, t: ThreadId, var: VarId) -> VarId {
    let (var, thread) = (out.vars[var].clone(), out.threads[t].name.clone());
    let initial = var.initial.unwrap_or_else(|| out.terms.default_of(var.sort));
    let name = format!("{thread}.{}", var.name);
    out.add_var(&name, var.sort, Scope::Thread(t), VarKind::Plain, Some(initial), var.origin)
}

/// An edge as an action: the machine's variables are these locals.
fn edge_action(out: &mut Program, machine: &Machine, own: &[VarId], e: &MachineEdge, mut action: Action) -> Action {
    let copies: Vec<(Symbol, Term)> =
        machine.vars.iter().zip(own).map(|(v, copy)| (out.vars[*v].symbol, out.now(*copy))).collect();
    let made = e.makes.and_then(|v| {
        let object = out.terms.symbol(format!("new_{}", out.vars[v].name), out.vars[v].sort);
        Some((v, object, live_objects(out, &out.terms, v)?))
    });
    let t = &out.terms;
    let mut step = made.map_or_else(|| e.action.clone(), |(_, o, live)| with_new_object(out, e, t.sym(o), live));
    let mut pairs = copies.clone();
    if let Some((v, object, live)) = made {
        pairs.push((out.vars[v].primed, t.sym(object)));
        let there = t.mk(logic::Op::Insert, &[t.sym(object), out.now(live)]);
        step.relation = t.and(&[t.eq(out.next(live), there), is_new(out, t, t.sym(object), live), step.relation]);
    }
    let over = |f: Term| t.substitute(f, pairs.iter().copied());
    let place = |f: StorePlace| StorePlace { var: f.var, keys: f.keys.into_iter().map(over).collect() };
    let step = TwoStore { frame: step.frame.into_iter().map(place).collect(), relation: over(step.relation) };
    let run = executable(out, t, &step);
    let new = |v: VarId| run.updates.iter().find(|u| u.var == v).map_or_else(|| out.now(v), |u| u.value);
    let after: Vec<(Symbol, Term)> = out.shared().map(|v| (out.vars[v].primed, new(v))).collect();
    let becomes = |v: VarId| match (made, e.sets.iter().find(|u| u.var == v)) {
        (Some((var, object, _)), _) if var == v => Some(t.sym(object)),
        (_, Some(set)) => Some(t.substitute(over(set.value), after.iter().copied())),
        _ => None,
    };
    let sets = machine.vars.iter().zip(own).filter_map(|(v, copy)| Some(Update { var: *copy, value: becomes(*v)? }));
    action.updates = run.updates.iter().cloned().chain(sets).collect();
    action.inputs = run.inputs;
    action.inputs.extend(made.map(|(_, object, _)| object));
    action.guard = run.guard;
    // With values of its own the step is no relation of two stores alone.
    action.relation = (e.sets.is_empty() && made.is_none()).then_some(step);
    action
}

fn machine_code(out: &mut Program, t: ThreadId, machine: &Machine, own: &[VarId]) -> Result<Code, String> {
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
        let action = plain(e.from, e.to, e.origin);
        actions.push(edge_action(out, machine, own, e, action));
    }
    let mut asserted: Vec<(usize, logic::Term)> = Vec::new();
    for (i, s) in machine.states.iter().enumerate() {
        match s.assertion {
            None => {}
            Some(None) => return Err(format!("the assertion of state {} is asked for, not given", s.name)),
            Some(Some(formula)) => {
                let copies = machine.vars.iter().zip(own).map(|(v, copy)| (out.vars[*v].symbol, out.now(*copy)));
                asserted.push((i, out.terms.substitute(formula, copies)));
            }
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
