//! The specification beside the code: its operation at a linearization point, outcomes that change nothing, and the results at the end of a call.
//!
//! In: a fragment in the middle of a step, or after one. Out: the fragment with the specification's state after its operation, what is remembered of it,
//! the outcomes that were possible; whether the results of a call agree. The specification's sequence is a chain of cells (decision 010), its set is looked
//! at for one key (decision 060). It runs on the arguments of the call (decision 095).

use super::fragment::{FieldSlot, Fragment, FragmentProgress, KeyOrder, Successor, V};
use super::terms::{Bound, Choices, FragmentEval, Halt, T, halt_with, initial, same};
use evidence::views::Status;
use logic::{Node, Symbol};
use program::{Code, LocId, Program, SpecOp, VarId};
use rustc_hash::FxHashMap;

const SPEC_PHASE: u32 = 16;

/// The operation that the thread is in.
#[derive(Clone, Copy)]
pub(crate) struct OperationCall<'p> {
    /// For each parameter, the variable that holds the argument of the call: the parameter, or, where the code assigns that, the specification's own.
    pub arguments: &'p [VarId],
    pub results: &'p [VarId],
    pub spec: &'p SpecOp,
    /// The specification's state.
    pub state: VarId,
    /// The user marked points in it: outcomes that change nothing then need one too.
    pub marked: bool,
}

/// Whether the call's keys are the one key of the proof (always, where the specification is no set).
pub(crate) fn about_the_key(at: &Fragment<'_>, call: &OperationCall<'_>) -> bool {
    at.member.is_none()
        || call.arguments.iter().all(|p| !matches!(at.vars[p.index()], V::Key(KeyOrder::Below | KeyOrder::Above)))
}

/// Values of the specification's own variables, from the call.
fn bind(program: &Program, at: &Fragment<'_>, call: &OperationCall<'_>) -> Result<Bound, Halt> {
    let mut bound = Bound::default();
    for (p, s) in call.arguments.iter().zip(&call.spec.params) {
        bound.insert(program.vars[*s].symbol, at.vars[p.index()].clone());
    }
    for r in &call.spec.results {
        bound.insert(program.vars[*r].symbol, initial(program, *r)?);
    }
    Ok(bound)
}

/// Runs the specification's operation from entry to exit.
pub(crate) fn specify(
    at: &mut Fragment<'_>,
    names: &FxHashMap<Symbol, VarId>,
    call: &OperationCall<'_>,
    choices: &Choices,
    visible: &mut bool,
) -> Result<(), Halt> {
    let program = at.world.program;
    if matches!(at.done[0], FragmentProgress::Changed(_)) {
        return halt_with("an operation takes effect twice");
    }
    let SpecExecution { results, changes, path } = simulate(at, names, call, choices)?;
    *visible |= changes;
    let watched =
        !call.marked && (at.member.is_some() || pure_paths(program, call.spec, call.state).iter().any(|p| p.0 == path));
    if changes {
        at.done[0] = FragmentProgress::Changed(results);
    } else if !watched {
        at.done[0] = FragmentProgress::Pure(results);
    }
    Ok(())
}

/// A run of the specification's operation.
struct SpecExecution {
    results: Vec<V>,
    /// The state is another one now.
    changes: bool,
    path: Vec<program::ActionId>,
}

/// Runs the specification's operation for the thread that moves.
fn simulate(
    at: &mut Fragment<'_>,
    names: &FxHashMap<Symbol, VarId>,
    call: &OperationCall<'_>,
    choices: &Choices,
) -> Result<SpecExecution, Halt> {
    let program = at.world.program;
    let code = &call.spec.code;
    let mut bound = bind(program, at, call)?;
    let state = program.vars[call.state].symbol;
    let (mut here, mut changes, mut count) = (code.entry, false, 0);
    let mut path = Vec::new();
    while Some(here) != code.exit {
        count += 1;
        if count > code.actions.len() + 1 {
            return halt_with("a specification with a loop");
        }
        let mut taken = None;
        for (id, a) in code.from(here) {
            let mut eval = FragmentEval::new(at, names, &bound, choices, SPEC_PHASE + id.0, Some(state));
            if !a.inputs.is_empty() {
                return halt_with("a specification that chooses a value");
            }
            if !eval.holds(a.guard)? {
                continue;
            }
            for g in &a.gates {
                if !eval.holds(g.formula)? {
                    return halt_with("the specification goes wrong");
                }
            }
            let values =
                a.updates.iter().map(|u| Ok((u.var, eval.term(u.value)?))).collect::<Result<Vec<_>, Halt>>()?;
            taken = Some((id, a.to, values));
            break;
        }
        let Some((id, to, values)) = taken else { return halt_with("the specification waits") };
        path.push(id);
        for (var, value) in values {
            match value {
                T::V(v) if call.spec.results.contains(&var) => {
                    bound.insert(program.vars[var].symbol, v);
                }
                value if var == call.state => {
                    changes |= change(at, value)?;
                }
                _ => return halt_with("what the specification assigns"),
            }
        }
        here = to;
    }
    let results: Vec<V> = call.spec.results.iter().map(|r| bound[&program.vars[*r].symbol].clone()).collect();
    Ok(SpecExecution { results, changes, path })
}

/// Applies a new state of the specification; whether it is one that may differ.
fn change(at: &mut Fragment<'_>, value: T) -> Result<bool, Halt> {
    match value {
        T::State => Ok(false),
        T::Front(v) => {
            let (first, last) = at.ends.clone().ok_or_else(|| Halt::Fail("no sequence".into()))?;
            let d = enter(at, &v)?;
            set_successor(at, d, as_object(&first))?;
            at.ends = Some((v.clone(), if first == V::Null { v } else { last }));
            Ok(true)
        }
        T::Back(v) => {
            let (first, last) = at.ends.clone().ok_or_else(|| Halt::Fail("no sequence".into()))?;
            let d = enter(at, &v)?;
            set_successor(at, d, V::Null)?;
            if let V::Datum(l) = last {
                set_successor(at, l, V::Object(d))?;
            }
            at.ends = Some((if first == V::Null { v.clone() } else { first }, v));
            Ok(true)
        }
        T::Rest => {
            let (first, last) = at.ends.clone().ok_or_else(|| Halt::Fail("no sequence".into()))?;
            let V::Datum(f) = first else { return Ok(true) };
            let next = if first == last {
                V::Null
            } else {
                let link = at.world.links[at.items[f].class.index()];
                let next = successor(at, f, link.unwrap_or(usize::MAX))?;
                // The sequence goes on to another of its cells, never back to its first.
                match next {
                    V::Object(d) if d != f && at.items[d].status == Status::In => V::Datum(d),
                    V::Any => return halt_with("the successor of a cell in the sequence is unknown"),
                    _ => return Err(Halt::Impossible),
                }
            };
            at.items[f].status = Status::Past;
            at.items[f].successor = Successor::AsLink;
            let last = if first == last { V::Null } else { last };
            at.ends = Some((next, last));
            Ok(true)
        }
        T::With(V::Key(KeyOrder::Equal)) => Ok(at.member.replace(true) != Some(true)),
        T::Without(V::Key(KeyOrder::Equal)) => Ok(at.member.replace(false) != Some(false)),
        _ => halt_with("what the specification does to its state"),
    }
}

fn as_object(v: &V) -> V {
    if let V::Datum(d) = v { V::Object(*d) } else { v.clone() }
}

fn enter(at: &mut Fragment<'_>, v: &V) -> Result<usize, Halt> {
    let V::Datum(d) = v else { return halt_with("a value that no cell stands for enters the specification") };
    if at.items[*d].status != Status::Never {
        return halt_with("a value enters the specification twice");
    }
    at.items[*d].status = Status::In;
    Ok(*d)
}

/// Paths of the specification's operation that change nothing and give constant results, in the order of their actions.
pub(crate) fn pure_paths(program: &Program, spec: &SpecOp, state: VarId) -> Vec<(Vec<program::ActionId>, Vec<V>)> {
    let code: &Code = &spec.code;
    let start: Vec<V> = spec.results.iter().map(|r| initial(program, *r).unwrap_or(V::Any)).collect();
    let mut todo: Vec<(LocId, Vec<program::ActionId>, Vec<V>)> = vec![(code.entry, Vec::new(), start)];
    let mut out = Vec::new();
    while let Some((at, path, results)) = todo.pop() {
        if Some(at) == code.exit {
            out.push((path, results));
            continue;
        }
        // A view has a bit for each path. Where there are more, none is taken for granted.
        if path.len() > code.actions.len() || out.len() > u32::BITS as usize {
            return Vec::new();
        }
        'actions: for (id, a) in code.from(at) {
            let mut next = results.clone();
            for u in &a.updates {
                if u.var == state {
                    continue 'actions;
                }
                let Some(i) = spec.results.iter().position(|r| *r == u.var) else { continue 'actions };
                next[i] = match program.terms.node(u.value) {
                    Node::Bool(b) => V::Bool(b),
                    Node::Num(n, _) => V::Number(n),
                    Node::Variant(_, v) => V::Variant(v),
                    Node::Ref(_, 0) => V::Null,
                    Node::Sym(s) => match spec.results.iter().position(|r| program.vars[*r].symbol == s) {
                        Some(j) => results[j].clone(),
                        None => continue 'actions,
                    },
                    _ => continue 'actions,
                };
            }
            let mut path = path.clone();
            path.push(id);
            todo.push((a.to, path, next));
        }
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    if out.len() > u32::BITS as usize { Vec::new() } else { out }
}

/// Adds to a thread's witnesses the pure paths that are possible now.
pub(super) fn witness(
    at: &mut Fragment<'_>,
    names: &FxHashMap<Symbol, VarId>,
    call: &OperationCall<'_>,
    side: usize,
) -> Result<(), Halt> {
    if call.marked || at.done[side] != FragmentProgress::No {
        return Ok(());
    }
    let program = at.world.program;
    let vars = if side == 0 { &at.vars } else { &at.peer };
    if at.member.is_some()
        && call.arguments.iter().any(|p| matches!(vars[p.index()], V::Key(KeyOrder::Below | KeyOrder::Above)))
    {
        return Ok(());
    }
    if let Some(member) = at.member {
        // Of a set: the key was out, was in, at some moment of the call.
        at.witnessed[side] |= if member { 2 } else { 1 };
        return Ok(());
    }
    let mut bound = Bound::default();
    for (p, s) in call.arguments.iter().zip(&call.spec.params) {
        bound.insert(program.vars[*s].symbol, vars[p.index()].clone());
    }
    let state = program.vars[call.state].symbol;
    for (i, (path, _)) in pure_paths(program, call.spec, call.state).iter().enumerate() {
        let none = Choices::new();
        let possible = path.iter().all(|id| {
            let a = &call.spec.code.actions[*id];
            let mut eval = FragmentEval::new(at, names, &bound, &none, 0, Some(state));
            matches!(eval.holds(a.guard), Ok(true)) && a.gates.iter().all(|g| matches!(eval.holds(g.formula), Ok(true)))
        });
        if possible {
            at.witnessed[side] |= 1 << i;
        }
    }
    Ok(())
}

/// Whether the results of a call that ends are the specification's.
pub(crate) fn results_agree(at: &Fragment<'_>, names: &FxHashMap<Symbol, VarId>, call: &OperationCall<'_>) -> bool {
    if !about_the_key(at, call) {
        return true;
    }
    let have: Vec<&V> = call.results.iter().map(|r| &at.vars[r.index()]).collect();
    let agree = |want: &[V], open: &[bool]| {
        have.iter().zip(want).zip(open).all(|((h, w), o)| (*o && *w == V::Any) || same(h, w) == Some(true))
    };
    // A result that the specification never sets is open: any value will do.
    let program = at.world.program;
    let unset: Vec<bool> = call
        .spec
        .results
        .iter()
        .map(|r| {
            program.vars[*r].initial.is_none()
                && !call.spec.code.actions.iter().any(|a| a.updates.iter().any(|u| u.var == *r))
        })
        .collect();
    if let Some(v) = super::terms::remembered(&at.done[0])
        && agree(v, &unset)
    {
        return true;
    }
    if matches!(at.done[0], FragmentProgress::Changed(_)) || call.marked {
        return false;
    }
    if at.member.is_some() {
        // The operation was possible at such a moment, and changed nothing.
        return [false, true].into_iter().any(|member| {
            let mut then = at.clone();
            then.member = Some(member);
            at.witnessed[0] >> u32::from(member) & 1 == 1
                && simulate(&mut then, names, call, &Choices::new())
                    .is_ok_and(|r| !r.changes && agree(&r.results, &unset))
        });
    }
    pure_paths(program, call.spec, call.state)
        .iter()
        .enumerate()
        .any(|(i, (_, r))| at.witnessed[0] >> i & 1 == 1 && agree(r, &vec![true; r.len()]))
}
fn set_successor(at: &mut Fragment<'_>, d: usize, to: V) -> Result<(), Halt> {
    let Some(link) = at.world.links[at.items[d].class.index()] else {
        at.items[d].successor = Successor::Is(to);
        return Ok(());
    };
    match &at.items[d].fields[link] {
        FieldSlot::Open => Err(Halt::Decide(d, Some(link))),
        FieldSlot::Is(v) => match same(v, &to) {
            Some(true) => {
                at.items[d].successor = Successor::AsLink;
                Ok(())
            }
            Some(false) => {
                at.items[d].successor = Successor::Is(to);
                Ok(())
            }
            None => halt_with("a cell enters the sequence with an unknown link"),
        },
    }
}

/// The successor as an object or null, decided.
pub(crate) fn successor(at: &Fragment<'_>, d: usize, link: usize) -> Result<V, Halt> {
    match &at.items[d].successor {
        Successor::Open => Err(Halt::Decide(d, None)),
        Successor::Is(v) => Ok(v.clone()),
        Successor::AsLink => match &at.items[d].fields[link] {
            FieldSlot::Open => Err(Halt::Decide(d, Some(link))),
            FieldSlot::Is(v) => Ok(v.clone()),
        },
    }
}
