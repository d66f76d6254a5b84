//! Any callers of an object: the most general client, with the specification run beside it.
//!
//! In: a program without threads; for an object, the linearization points at which its operations take effect. Out: the
//! program with its client (`client`), in which the specification's variables are shared variables, every such moment
//! also runs the operation of the specification, and every return goes wrong unless the operation has
//! taken effect with just the results that are returned. If that never goes wrong, the object is linearizable: each call takes effect once,
//! between its call and its return, and the specification explains all results (Herlihy and Wing).
//! An operation takes effect once and for all at a step that is marked, or that writes the shared store at a moment of
//! kind `Writes`. Until then, a moment of kind `Reads` notes an outcome that leaves the specification as it is; the
//! last one noted counts. An outcome is noted at the moment it is possible, so nothing is foretold.
//! Deliberately absent: effects in another thread's step (helping); objects beside threads that are not clients.

use crate::client::{CallPositions, Callee, Client, Effort, callees, client};
use crate::code::{ActionId, Gate, Mark, Update};
use crate::model::{OriginId, Program, Scope, ThreadId, VarId, VarKind};
use crate::property::{Property, PropertyId, PropertyKind};
use crate::sequential::{OperationPath, paths};
use crate::spec::{ObjectId, Procedure};
use logic::{Op, Sort, Symbol, Term, Terms};

/// A step of an operation at which it may take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinearizationPoint {
    pub operation: u32,
    pub action: ActionId,
    pub effect: PointEffect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PointEffect {
    /// Takes effect where the step writes a shared variable: always, or where its condition holds.
    Writes,
    /// Takes effect where the specification's operation would leave the specification as it is.
    Reads,
}

/// The program with its callers.
#[derive(Clone, Debug)]
pub struct WithCallers {
    pub program: Program,
    /// With an object: that no return goes wrong. It stands for the object's own property.
    pub history: Option<PropertyId>,
}

/// Whether an access predicate is about code of procedures. Callers may touch such a variable themselves, as far as the
/// predicate allows (they may hold its lock), so that what the procedures do to each other does not decide it. The
/// variables of an object are its own.
pub fn touched_by_callers(program: &Program, access: PropertyId) -> bool {
    let gated = |q: &Procedure| q.code.actions.iter().any(|a| a.gates.iter().any(|g| g.property == access));
    program.procedures.iter().any(gated)
}

/// Whether callers never have objects in their hands: no argument and no result refers to one. Then what the code loses no thread has.
pub fn keep_objects(program: &Program) -> bool {
    let plain = |v: &VarId| !crate::memory::holds_references(program, program.vars[*v].sort);
    let procedures = program.procedures.iter().filter(|q| !q.inline).map(|q| (&q.params, &q.results));
    let operations = program.objects.iter().flat_map(|o| o.ops.iter().map(|op| (&op.params, &op.results)));
    procedures.chain(operations).all(|(params, results)| params.iter().chain(results).all(plain))
}

/// The program with all its callers; with an object, its specification runs beside it. The reason, where there can be none.
pub fn callers(
    program: &Program,
    object: Option<ObjectId>,
    linearization_points: &[LinearizationPoint],
    effort: Effort,
) -> Result<WithCallers, String> {
    if !program.threads.is_empty() {
        return Err("the program has threads of its own".into());
    }
    let mut client = client(program, &callees(program), effort)?;
    let history = match object {
        Some(o) => Some(beside(&mut client, program, o, linearization_points)?),
        None if linearization_points.is_empty() => None,
        None => return Err("moments of effect belong to an object".into()),
    };
    Ok(WithCallers { program: client.program, history })
}

/// The ghost variables of one operation of the client.
struct Ghosts {
    /// The arguments it was called with.
    asked: Vec<VarId>,
    /// It has taken effect.
    took: VarId,
    /// An outcome that changes nothing was possible, with the results in `meant`.
    could: VarId,
    meant: Vec<VarId>,
}

fn beside(
    c: &mut Client,
    program: &Program,
    o: ObjectId,
    linearization_points: &[LinearizationPoint],
) -> Result<PropertyId, String> {
    let object = program.objects.get(o).ok_or("there is no such object")?;
    for m in linearization_points {
        let op = object.ops.get(m.operation as usize).ok_or("there is no such operation")?;
        op.code.actions.get(m.action).ok_or("there is no such step")?;
    }
    let history = c.program.properties.push(Property {
        kind: PropertyKind::Assertion,
        name: format!("history:{}", object.name),
        origin: object.origin,
    });
    let mut store = Vec::new();
    for v in &object.spec.vars {
        let var = &program.vars[*v];
        let initial = var.initial.ok_or("a variable of the specification has no initial value")?;
        let name = var.name.clone();
        store.push(c.program.add_var(&name, var.sort, Scope::Shared, VarKind::Plain, Some(initial), object.origin));
    }
    for calls in c.calls.clone() {
        if let Callee::Operation(of, k) = calls.callee
            && of == o
        {
            let own: Vec<LinearizationPoint> =
                linearization_points.iter().copied().filter(|m| m.operation == k).collect();
            operation(c, program, (o, history), k, &calls, &own, &store)?;
        }
    }
    Ok(history)
}

fn operation(
    c: &mut Client,
    program: &Program,
    (o, history): (ObjectId, PropertyId),
    k: u32,
    calls: &CallPositions,
    linearization_points: &[LinearizationPoint],
    store: &[VarId],
) -> Result<(), String> {
    let object = &program.objects[o];
    let (op, spec) = (&object.ops[k as usize], &object.spec.ops[k as usize]);
    let (p, thread) = (&mut c.program, c.thread);
    let sorts = |p: &Program, vars: &[VarId]| -> Vec<(String, Sort)> {
        vars.iter().map(|v| (p.vars[*v].name.clone(), p.vars[*v].sort)).collect()
    };
    let (params, results) = (sorts(p, &calls.params), sorts(p, &calls.results));
    let mut local = |name: String, sort: Sort| own(p, thread, name, sort, op.origin);
    let ghosts = Ghosts {
        asked: params.iter().map(|(n, s)| local(format!("{n} asked"), *s)).collect(),
        took: local(format!("{} took effect", op.name), Sort::BOOL),
        could: local(format!("{} could", op.name), Sort::BOOL),
        meant: results.iter().map(|(n, s)| local(format!("{n} meant"), *s)).collect(),
    };
    // The call notes its arguments and that nothing has happened yet.
    let no = p.terms.ff();
    let call = &mut p.threads[thread].code.actions[calls.call];
    for (asked, param) in ghosts.asked.iter().zip(&calls.params) {
        let passed = call.updates.iter().find(|u| u.var == *param).ok_or("a call passes every argument")?.value;
        call.updates.push(Update { var: *asked, value: passed });
    }
    call.updates.extend([Update { var: ghosts.took, value: no }, Update { var: ghosts.could, value: no }]);
    // What the specification's operation does, from the store at the moment.
    let t = &p.terms;
    let asked: Vec<Term> = ghosts.asked.iter().map(|v| p.now(*v)).collect();
    let before: Vec<(Symbol, Term)> =
        object.spec.vars.iter().zip(store).map(|(s, v)| (program.vars[*s].symbol, p.now(*v))).collect();
    let runs = paths(p, spec, &asked, &before)?;
    let changed: Vec<(ActionId, Vec<Update>, Option<Gate>)> = op
        .code
        .actions
        .ids()
        .filter_map(|a| {
            let at = ActionId(calls.body.0 + a.0);
            let action = &p.threads[thread].code.actions[at];
            let after: Vec<(Symbol, Term)> = action.updates.iter().map(|u| (p.vars[u.var].symbol, u.value)).collect();
            let mut fires: Vec<Term> = Vec::new();
            for mark in &action.marks {
                if let Mark::Linearize(when) = mark {
                    fires.push(when.map_or(t.tt(), |f| t.substitute(f, after.iter().copied())));
                }
            }
            if linearization_points.contains(&LinearizationPoint {
                operation: k,
                action: a,
                effect: PointEffect::Writes,
            }) {
                let shared = action.updates.iter().filter(|u| p.vars[u.var].scope == Scope::Shared);
                fires.extend(shared.map(|u| writes(t, p.now(u.var), u.value)));
            }
            let reads = linearization_points.contains(&LinearizationPoint {
                operation: k,
                action: a,
                effect: PointEffect::Reads,
            });
            if fires.is_empty() && !reads {
                return None;
            }
            let open = t.not(p.now(ghosts.took));
            let takes = t.and(&[open, t.or(&fires)]);
            let notes = if reads { t.and(&[open, t.not(takes)]) } else { t.ff() };
            let (updates, gate) = effect(p, &ghosts, &runs, &before, store, takes, notes);
            Some((at, updates, gate.map(|formula| Gate { property: history, formula })))
        })
        .collect();
    let explained = {
        let returned = calls.results.iter().zip(&ghosts.meant).map(|(r, m)| t.eq(p.now(*r), p.now(*m)));
        let mut all: Vec<Term> = returned.collect();
        all.push(t.or(&[p.now(ghosts.took), p.now(ghosts.could)]));
        t.and(&all)
    };
    let code = &mut p.threads[thread].code;
    for (at, updates, gate) in changed {
        let action = &mut code.actions[at];
        action.updates.extend(updates);
        action.gates.extend(gate);
        action.relation = None;
    }
    if let Some(ret) = calls.ret {
        code.actions[ret].gates.push(Gate { property: history, formula: explained });
    }
    Ok(())
}

/// The updates of a step that runs the specification's operation where `takes` holds, and notes an outcome that changes
/// nothing where `notes` holds; and, if it may take effect, that the operation is then possible.
fn effect(
    p: &Program,
    ghosts: &Ghosts,
    runs: &[OperationPath],
    before: &[(Symbol, Term)],
    store: &[VarId],
    takes: Term,
    notes: Term,
) -> (Vec<Update>, Option<Term>) {
    let t = &p.terms;
    let mut values: Vec<Term> = before.iter().map(|(_, now)| *now).collect();
    let mut meant: Vec<Term> = ghosts.meant.iter().map(|v| p.now(*v)).collect();
    let (mut possible, mut could) = (Vec::new(), vec![p.now(ghosts.could)]);
    for run in runs {
        let taken = t.and(&[takes, run.condition]);
        let mut same: Vec<Term> = run.store.iter().zip(before).map(|((_, a), (_, b))| t.eq(*a, *b)).collect();
        same.extend([notes, run.condition]);
        let noted = t.and(&same);
        for (value, (_, after)) in values.iter_mut().zip(&run.store) {
            *value = t.ite(taken, *after, *value);
        }
        for (value, result) in meant.iter_mut().zip(&run.results) {
            *value = t.ite(t.or(&[taken, noted]), *result, *value);
        }
        possible.push(run.condition);
        could.push(noted);
    }
    let changes = |var: VarId, value: Term| (value != p.now(var)).then_some(Update { var, value });
    let mut updates: Vec<Update> = store.iter().zip(values).filter_map(|(v, value)| changes(*v, value)).collect();
    updates.extend(ghosts.meant.iter().zip(meant).filter_map(|(v, value)| changes(*v, value)));
    updates.extend(changes(ghosts.took, t.or(&[p.now(ghosts.took), takes])));
    updates.extend(changes(ghosts.could, t.or(&could)));
    let gate = t.implies(takes, t.or(&possible));
    (updates, (!t.is_true(gate)).then_some(gate))
}

/// Where a new value is meant: a compare-and-swap that succeeds writes, also if it writes what was there before.
fn writes(t: &Terms, old: Term, new: Term) -> Term {
    if new == old {
        return t.ff();
    }
    match t.app(new) {
        Some((Op::Ite, args)) => t.ite(args[0], writes(t, old, args[1]), writes(t, old, args[2])),
        Some((Op::Store, args)) if args[0] == old => {
            let (key, value) = (args[1], args[2]);
            writes(t, t.select(old, key), value)
        }
        _ => t.tt(),
    }
}

fn own(p: &mut Program, thread: ThreadId, name: String, sort: Sort, origin: OriginId) -> VarId {
    let v = p.add_var(&name, sort, Scope::Thread(thread), VarKind::Plain, None, origin);
    p.threads[thread].locals.push(v);
    v
}
