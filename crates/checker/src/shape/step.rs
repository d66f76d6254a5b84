//! Steps on fragments: an action of the program, the specification's operation at a linearization point, the end of a call.
//!
//! Comes in: a fragment and an action. Goes out: every fragment after it, with what the step touched. A step is run from the start; what it
//! needs to know is decided in the fragment before the step, in every possible way, and it is run again. Publication is computed when the
//! step is over, from who refers to what.

use super::fragment::{Candidate, Fragment, Item, Progress, Side, Slot, Successor, V, Who};
use super::spine::inside;
use super::terms::{Bound, Choices, Eval, Halt, T, fail, same};
use evidence::views::{Fires, Status};
use logic::{Node, Op, SortKind, Symbol, Term};
use program::{Action, Code, LocId, Program, PropertyId, Scope, SpecOp, VarId, VarKind};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// An action to run, and what stands around it.
pub struct Step<'p> {
    pub program: &'p Program,
    pub names: &'p FxHashMap<Symbol, VarId>,
    pub action: &'p Action,
    pub fires: Option<Fires>,
    pub call: Option<Call<'p>>,
    /// Variables whose cells the thread gets for itself, if the step changes something shared.
    pub takes: Vec<VarId>,
    /// For each location of the code, the thread's variables that nobody reads from there on.
    pub dead: &'p [Vec<VarId>],
    pub code: &'p Code,
    /// Views say who refers to what.
    pub tracked: bool,
}

/// The operation that the thread is in.
#[derive(Clone, Copy)]
pub struct Call<'p> {
    pub params: &'p [VarId],
    pub results: &'p [VarId],
    pub spec: &'p SpecOp,
    /// The specification's state.
    pub state: VarId,
    /// The user marked points in it: outcomes that change nothing then need one too.
    pub marked: bool,
}

pub struct After<'a> {
    pub at: Fragment<'a>,
    pub touched: bool,
    pub visible: bool,
    /// A gate that fails: the run ends there.
    pub wrong: Option<PropertyId>,
}

/// Every outcome of `act` over every way to decide what it asks for.
pub fn outcomes<'a, X>(
    start: &Fragment<'a>,
    act: impl Fn(&Fragment<'a>, &Choices) -> Result<X, Halt>,
) -> Result<Vec<X>, String> {
    let mut todo: Vec<(Cow<'_, Fragment<'a>>, Choices)> = vec![(Cow::Borrowed(start), Vec::new())];
    let mut out = Vec::new();
    while let Some((at, choices)) = todo.pop() {
        match act(&at, &choices) {
            Ok(x) => out.push(x),
            Err(Halt::Impossible) => {}
            Err(Halt::Fail(why)) => return Err(why),
            Err(Halt::Decide(item, field)) => {
                todo.extend(at.decide(item, field).into_iter().map(|f| (Cow::Owned(f), choices.clone())));
            }
            Err(Halt::Choose(key, options)) => {
                todo.extend(options.into_iter().map(|v| {
                    let mut more = choices.clone();
                    more.push((key, v));
                    (at.clone(), more)
                }));
            }
        }
    }
    Ok(out)
}

/// Every outcome of the action; those that go wrong are among them.
pub fn run<'a>(start: &Fragment<'a>, step: &Step<'_>) -> Result<Vec<After<'a>>, String> {
    outcomes(start, |at, choices| once(at, step, choices))
}

fn choice(choices: &Choices, key: (u32, Term, Term), options: &[V]) -> Result<V, Halt> {
    match choices.iter().find(|(k, _)| *k == key) {
        Some((_, v)) => Ok(v.clone()),
        None => Err(Halt::Choose(key, options.to_vec())),
    }
}

/// Inputs that become live objects in this step.
fn made(program: &Program, action: &Action) -> Vec<Symbol> {
    let mut out = Vec::new();
    for u in &action.updates {
        if matches!(program.vars[u.var].kind, VarKind::Live(_)) {
            let mut at = u.value;
            while let Some((op, args)) = program.terms.app(at) {
                match op {
                    Op::Insert => {
                        out.extend(program.terms.as_symbol(args[0]));
                        at = args[1];
                    }
                    Op::Union => {
                        if let Some((Op::Insert, one)) = program.terms.app(args[1]) {
                            out.extend(program.terms.as_symbol(one[0]));
                        }
                        at = args[0];
                    }
                    _ => break,
                }
            }
        }
    }
    out.retain(|s| action.inputs.contains(s));
    out
}

const BEFORE: u32 = 0;
const AFTER: u32 = 1;
const INPUT: u32 = 2;
const SPEC: u32 = 16;

fn once<'a>(start: &Fragment<'a>, step: &Step<'_>, choices: &Choices) -> Result<After<'a>, Halt> {
    let (program, action) = (step.program, step.action);
    if action.spawn.is_some() {
        return fail("spawn");
    }
    // Most steps make no objects: what was before them need not be copied.
    let mut before = Cow::Borrowed(start);
    let mut bound = Bound::default();
    let fresh = made(program, action);
    for (i, s) in action.inputs.iter().enumerate() {
        let key = (INPUT, Term(i as u32), Term(0));
        let v = match program.terms.kind(program.terms.symbol_sort(*s)) {
            SortKind::Ref(class) if fresh.contains(s) => {
                let count = before.world.fields[class.0 as usize].len();
                before.to_mut().items.push(Item {
                    class,
                    owner: Some(Who::Own),
                    status: Status::Never,
                    fields: vec![Slot::Is(V::Any); count],
                    successor: Successor::AsLink,
                    image: [None, None],
                    lone: false,
                    sole: [true, true],
                    left: [false, false],
                    new: true,
                    linked: None,
                });
                V::Object(before.items.len() - 1)
            }
            SortKind::Bool => choice(choices, key, &[V::Bool(false), V::Bool(true)])?,
            _ => V::Any,
        };
        bound.insert(*s, v);
    }
    let mut eval = Eval::new(&before, step.names, &bound, choices, BEFORE, None);
    if !eval.holds(action.guard)? {
        return Err(Halt::Impossible);
    }
    for gate in &action.gates {
        if !eval.holds(gate.formula)? {
            let touched = eval.touched;
            return Ok(After { at: before.into_owned(), touched, visible: false, wrong: Some(gate.property) });
        }
    }
    let mut values = Vec::new();
    for u in &action.updates {
        values.push((u.var, eval.term(u.value)?));
    }
    let mut touched = eval.touched;
    let mut visible = false;
    let mut changed = false;
    let mut after = before.as_ref().clone();
    let mut freed = Vec::new();
    for (var, value) in &values {
        let shared = program.vars[*var].scope == Scope::Shared;
        match value {
            T::V(v) => {
                let old = std::mem::replace(&mut after.vars[var.0 as usize], v.clone());
                if shared {
                    if matches!(v, V::Argument(_)) {
                        return fail("an argument is stored in a shared variable before any cell");
                    }
                    // Written is touched, also where the value is the same: others may write in between.
                    touched = true;
                    let differs = same(&old, v) != Some(true);
                    visible |= differs;
                    changed |= differs;
                }
            }
            T::Live(_, more, less) => {
                let new = |v: &V| matches!(v, V::Object(d) if after.items[*d].new);
                if !more.iter().all(new) {
                    return fail("an object made live that is not new");
                }
                if !less.is_empty() && !fresh.is_empty() {
                    return fail("`free` and `new` in one step");
                }
                freed.extend(less.iter().cloned());
            }
            T::Field(field, writes) if field == var => {
                for (k, v, from) in writes {
                    let kept = from.filter(|f| step.call.is_none() && !action.updates.iter().any(|u| u.var == *f));
                    let v = kept.map_or_else(|| v.clone(), |f| name_value(&mut after, *field, k, v, f));
                    touched |= !matches!(k, V::Object(d) if after.items[*d].owner.is_some());
                    changed |= write(&mut after, *field, k, v, &mut visible)?;
                }
            }
            _ => return fail(format!("an update of {}", program.vars[*var].name)),
        }
    }
    let takes = !step.takes.is_empty() && (changed || publishes(&after));
    if let (Some(fires), Some(call)) = (step.fires, step.call) {
        touched = true;
        let now = match fires {
            Fires::Always => true,
            Fires::Change => changed || publishes(&after),
            Fires::When(e) => Eval::new(&after, step.names, &bound, choices, AFTER, None).holds(e)?,
        };
        if now && about_the_key(&after, &call) {
            specify(&mut after, step, &call, choices, &mut visible)?;
        }
    }
    if after.world.spine.as_ref().is_some_and(|l| l.looks(program, action)) {
        after.looked[0] = true;
        after.items.iter_mut().for_each(|x| x.left[0] = false);
    }
    visible |= publish(&mut after, Nameless::Stay)?;
    if takes {
        for var in &step.takes {
            let value = after.vars[var.0 as usize].clone();
            after.take(&value)?;
        }
        visible = true;
        // A link that this step made says nothing of what was there before.
        for (x, then) in after.items.iter_mut().zip(&before.items).filter(|(x, _)| x.linked.is_some()) {
            let link = before.world.links[x.class.0 as usize].map(|l| &then.fields[l]);
            x.linked = x.linked.filter(|c| then.owner.is_none() && link == Some(&Slot::Is(V::Object(*c))));
        }
    }
    for v in &freed {
        after.free(v)?;
    }
    let dead = unread(&after, step);
    after.forget_dead(&dead)?;
    // What everyone can reach is published already, unless something was taken or freed since.
    if takes || !freed.is_empty() || !nameless(&after)?.is_empty() {
        visible |= publish(&mut after, Nameless::Publish)?;
    }
    new_edges(&before, &mut after)?;
    if let (Some(leak), None) = (after.world.leak, &after.sides[1])
        && after.loses(&before, &freed, &dead)?
    {
        return Ok(After { at: after, touched: touched || visible, visible, wrong: Some(leak) });
    }
    if step.tracked {
        // What the thread refers to is something that others know.
        let published = (0..after.items.len()).filter(|d| after.items[*d].owner.is_none());
        visible |= published.into_iter().any(|d| before.held(0, d) != after.held(0, d));
    }
    Ok(After { at: after, touched: touched || visible, visible, wrong: None })
}

/// The variables that nobody reads after the step. Where views say who refers to what, an action whose guard is false by the thread's own variables is not taken next.
fn unread<'p>(after: &Fragment<'_>, step: &Step<'p>) -> Cow<'p, [VarId]> {
    let to = step.action.to;
    let Some(dead) = step.dead.get(to.0 as usize) else { return Cow::Borrowed(&[]) };
    let mut next: Vec<&Action> = step.code.from(to).map(|(_, a)| a).collect();
    if !step.tracked || next.is_empty() {
        return Cow::Borrowed(dead);
    }
    next.retain(|a| {
        let none = (Bound::default(), Choices::new());
        let mut eval = Eval::new(after, step.names, &none.0, &none.1, BEFORE, None);
        !matches!(eval.holds(a.guard), Ok(false)) || eval.touched
    });
    let program = step.program;
    let mut all: Vec<VarId> = step.dead.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|v| {
        dead.contains(v)
            || next.iter().all(|a| {
                !super::takes::reads(program, a).contains(&program.vars[*v].symbol)
                    && (step.dead[a.to.0 as usize].contains(v) || a.updates.iter().any(|u| u.var == *v))
            })
    });
    Cow::Owned(all)
}

/// A cell that a published cell links to since this step may no longer be taken for lone.
fn new_edges(before: &Fragment<'_>, after: &mut Fragment<'_>) -> Result<(), Halt> {
    for p in 0..after.items.len() {
        let Some(link) = after.world.links[after.items[p].class.0 as usize] else { continue };
        if after.items[p].owner.is_some() {
            continue;
        }
        let known = before.items[p].owner.is_none();
        match &after.items[p].fields[link] {
            Slot::Open if known => {}
            Slot::Open => return Err(Halt::Decide(p, Some(link))),
            now if known && *now == before.items[p].fields[link] => {}
            Slot::Is(V::Object(d)) => {
                let d = *d;
                after.items[d].lone = false;
            }
            Slot::Is(_) => {}
        }
    }
    Ok(())
}

/// Writes a field; whether a published cell changed.
fn write(at: &mut Fragment<'_>, field: VarId, key: &V, value: V, visible: &mut bool) -> Result<bool, Halt> {
    let d = match key {
        V::Null => return Ok(false),
        V::Object(d) => *d,
        _ => return fail("a field of an unknown object is written"),
    };
    let class = at.items[d].class;
    let Some(f) = at.world.position(class, field) else { return fail("a field of another class") };
    let mut value = value;
    if value == V::Argument(Who::Own) {
        stand_for(at, d)?;
        value = V::Datum(d);
    }
    let published = at.items[d].owner.is_none();
    if at.world.links[class.0 as usize] == Some(f) {
        at.respine(d, &value)?;
    }
    let keyed = at.world.spine.as_ref().is_some_and(|l| l.class == class && l.key == f);
    if keyed && inside(at.items[d].status) {
        return fail("the key of a cell in the list changes");
    }
    if at.world.links[class.0 as usize] == Some(f) && at.items[d].status == Status::In {
        relink(at, d, f, &value)?;
    }
    let differs = match &at.items[d].fields[f] {
        Slot::Is(old) => same(old, &value) != Some(true),
        // Whether it changes matters for points that fire on a change: it must be known.
        Slot::Open if published => return Err(Halt::Decide(d, Some(f))),
        Slot::Open => true,
    };
    // Nobody's view tells a free lock from one that another thread holds.
    let quiet = at.world.quiet.contains(&field)
        && matches!(
            (&at.items[d].fields[f], &value),
            (Slot::Is(V::Number(0)), V::Id(Who::Own)) | (Slot::Is(V::Id(Who::Own)), V::Number(0))
        );
    at.items[d].fields[f] = Slot::Is(value);
    *visible |= published && differs && !quiet;
    Ok(published && differs)
}

/// A number that a thread stores in a cell of its own is named by the cell, where that stands for nothing yet. What is to be stored then.
fn name_value(at: &mut Fragment<'_>, field: VarId, key: &V, value: &V, from: VarId) -> V {
    let program = at.world.program;
    let local = program.vars[from].scope != Scope::Shared && program.vars[from].sort.is_integer();
    let V::Object(d) = *key else { return value.clone() };
    if *value != V::Any || !local || at.world.position(at.items[d].class, field).is_none() {
        return value.clone();
    }
    if at.vars[from.0 as usize] != V::Any {
        return at.vars[from.0 as usize].clone();
    }
    let item = &at.items[d];
    let named = |v: &V| *v == V::Datum(d);
    let used = at.items.iter().enumerate().any(|(q, x)| {
        x.fields.iter().enumerate().any(|(f, s)| match s {
            Slot::Is(v) => named(v),
            Slot::Open => at.candidates(Some(q), x.image, x.class, f).contains(&Candidate::Value(V::Datum(d))),
        })
    });
    if used || item.owner != Some(Who::Own) || item.status != Status::Never || at.vars.iter().any(named) {
        return V::Any;
    }
    at.vars[from.0 as usize] = V::Datum(d);
    V::Datum(d)
}

/// The argument is named by the cell it is stored in, which must not stand for a value yet.
fn stand_for(at: &mut Fragment<'_>, d: usize) -> Result<(), Halt> {
    let item = &at.items[d];
    let named = |v: &V| *v == V::Datum(d);
    let in_cells = at.items.iter().any(|x| x.fields.iter().any(|s| matches!(s, Slot::Is(v) if named(v))));
    // An open field of an owned cell may hold its own value.
    let open = item.fields.iter().position(|s| *s == Slot::Open);
    if let Some(f) = open {
        return Err(Halt::Decide(d, Some(f)));
    }
    if item.owner != Some(Who::Own) || item.status != Status::Never || in_cells || at.vars.iter().any(named) {
        return fail("an argument is stored in a cell that already stands for a value");
    }
    for v in &mut at.vars {
        if *v == V::Argument(Who::Own) {
            *v = V::Datum(d);
        }
    }
    Ok(())
}

/// The link of a cell in the sequence changes: its successor stays what it was.
fn relink(at: &mut Fragment<'_>, d: usize, link: usize, value: &V) -> Result<(), Halt> {
    let successor = successor(at, d, link)?;
    match same(&successor, value) {
        Some(true) => at.items[d].successor = Successor::AsLink,
        Some(false) => at.items[d].successor = Successor::Is(successor),
        None => return fail("the link of a cell in the sequence becomes unknown"),
    }
    Ok(())
}

/// The successor as an object or null, decided.
fn successor(at: &Fragment<'_>, d: usize, link: usize) -> Result<V, Halt> {
    match &at.items[d].successor {
        Successor::Open => Err(Halt::Decide(d, None)),
        Successor::Is(v) => Ok(v.clone()),
        Successor::AsLink => match &at.items[d].fields[link] {
            Slot::Open => Err(Halt::Decide(d, Some(link))),
            Slot::Is(v) => Ok(v.clone()),
        },
    }
}

fn set_successor(at: &mut Fragment<'_>, d: usize, to: V) -> Result<(), Halt> {
    let Some(link) = at.world.links[at.items[d].class.0 as usize] else {
        at.items[d].successor = Successor::Is(to);
        return Ok(());
    };
    match &at.items[d].fields[link] {
        Slot::Open => Err(Halt::Decide(d, Some(link))),
        Slot::Is(v) => match same(v, &to) {
            Some(true) => {
                at.items[d].successor = Successor::AsLink;
                Ok(())
            }
            Some(false) => {
                at.items[d].successor = Successor::Is(to);
                Ok(())
            }
            None => fail("a cell enters the sequence with an unknown link"),
        },
    }
}

/// Whether the call's keys are the one key of the proof (always, where the specification is no set).
pub fn about_the_key(at: &Fragment<'_>, call: &Call<'_>) -> bool {
    at.member.is_none()
        || call.params.iter().all(|p| !matches!(at.vars[p.0 as usize], V::Key(Side::Below | Side::Above)))
}

/// Values of the specification's own variables, from the call.
fn bind(program: &Program, at: &Fragment<'_>, call: &Call<'_>) -> Result<Bound, Halt> {
    let mut bound = Bound::default();
    for (p, s) in call.params.iter().zip(&call.spec.params) {
        bound.insert(program.vars[*s].symbol, at.vars[p.0 as usize].clone());
    }
    for r in &call.spec.results {
        bound.insert(program.vars[*r].symbol, initial(program, *r)?);
    }
    Ok(bound)
}

pub fn initial(program: &Program, var: VarId) -> Result<V, Halt> {
    Ok(match program.vars[var].initial.map(|t| program.terms.node(t)) {
        None => V::Any,
        Some(Node::Bool(b)) => V::Bool(b),
        Some(Node::Num(n, _)) => V::Number(n),
        Some(Node::Variant(_, v)) => V::Variant(v),
        Some(Node::Ref(_, 0)) => V::Null,
        Some(_) => V::Any,
    })
}

/// Runs the specification's operation from entry to exit.
fn specify(
    at: &mut Fragment<'_>,
    step: &Step<'_>,
    call: &Call<'_>,
    choices: &Choices,
    visible: &mut bool,
) -> Result<(), Halt> {
    let program = step.program;
    if matches!(at.done[0], Progress::Changed(_)) {
        return fail("an operation takes effect twice");
    }
    let Ran { results, changes, path } = simulate(at, step.names, call, choices)?;
    *visible |= changes;
    let watched =
        !call.marked && (at.member.is_some() || pure_paths(program, call.spec, call.state).iter().any(|p| p.0 == path));
    if changes {
        at.done[0] = Progress::Changed(results);
    } else if !watched {
        at.done[0] = Progress::Pure(results);
    }
    Ok(())
}

/// A run of the specification's operation.
struct Ran {
    results: Vec<V>,
    /// The state is another one now.
    changes: bool,
    path: Vec<program::ActionId>,
}

/// Runs the specification's operation for the thread that moves.
fn simulate(
    at: &mut Fragment<'_>,
    names: &FxHashMap<Symbol, VarId>,
    call: &Call<'_>,
    choices: &Choices,
) -> Result<Ran, Halt> {
    let program = at.world.program;
    let code = &call.spec.code;
    let mut bound = bind(program, at, call)?;
    let state = program.vars[call.state].symbol;
    let (mut here, mut changes, mut count) = (code.entry, false, 0);
    let mut path = Vec::new();
    while Some(here) != code.exit {
        count += 1;
        if count > code.actions.len() + 1 {
            return fail("a specification with a loop");
        }
        let mut taken = None;
        for (id, a) in code.from(here) {
            let mut eval = Eval::new(at, names, &bound, choices, SPEC + id.0, Some(state));
            if !a.inputs.is_empty() {
                return fail("a specification that chooses a value");
            }
            if !eval.holds(a.guard)? {
                continue;
            }
            for g in &a.gates {
                if !eval.holds(g.formula)? {
                    return fail("the specification goes wrong");
                }
            }
            let values =
                a.updates.iter().map(|u| Ok((u.var, eval.term(u.value)?))).collect::<Result<Vec<_>, Halt>>()?;
            taken = Some((id, a.to, values));
            break;
        }
        let Some((id, to, values)) = taken else { return fail("the specification waits") };
        path.push(id);
        for (var, value) in values {
            match value {
                T::V(v) if call.spec.results.contains(&var) => {
                    bound.insert(program.vars[var].symbol, v);
                }
                value if var == call.state => {
                    changes |= change(at, value)?;
                }
                _ => return fail("what the specification assigns"),
            }
        }
        here = to;
    }
    let results: Vec<V> = call.spec.results.iter().map(|r| bound[&program.vars[*r].symbol].clone()).collect();
    Ok(Ran { results, changes, path })
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
                let link = at.world.links[at.items[f].class.0 as usize];
                let next = successor(at, f, link.unwrap_or(usize::MAX))?;
                // The sequence goes on to another of its cells, never back to its first.
                match next {
                    V::Object(d) if d != f && at.items[d].status == Status::In => V::Datum(d),
                    V::Any => return fail("the successor of a cell in the sequence is unknown"),
                    _ => return Err(Halt::Impossible),
                }
            };
            at.items[f].status = Status::Past;
            at.items[f].successor = Successor::AsLink;
            let last = if first == last { V::Null } else { last };
            at.ends = Some((next, last));
            Ok(true)
        }
        T::With(V::Key(Side::Equal)) => Ok(at.member.replace(true) != Some(true)),
        T::Without(V::Key(Side::Equal)) => Ok(at.member.replace(false) != Some(false)),
        _ => fail("what the specification does to its state"),
    }
}

fn as_object(v: &V) -> V {
    if let V::Datum(d) = v { V::Object(*d) } else { v.clone() }
}

fn enter(at: &mut Fragment<'_>, v: &V) -> Result<usize, Halt> {
    let V::Datum(d) = v else { return fail("a value that no cell stands for enters the specification") };
    if at.items[*d].status != Status::Never {
        return fail("a value enters the specification twice");
    }
    at.items[*d].status = Status::In;
    Ok(*d)
}

/// Owned cells that everyone can reach now.
fn reachable(at: &Fragment<'_>) -> Vec<usize> {
    let mut todo: Vec<usize> = Vec::new();
    let cell = |v: &V| if let V::Object(d) | V::Datum(d) = v { Some(*d) } else { None };
    for (id, v) in at.world.program.vars.iter_enumerated() {
        if v.scope == Scope::Shared {
            todo.extend(cell(&at.vars[id.0 as usize]));
        }
    }
    if let Some((a, b)) = &at.ends {
        todo.extend(cell(a));
        todo.extend(cell(b));
    }
    todo.extend((0..at.items.len()).filter(|d| at.items[*d].owner.is_none()));
    let mut seen = vec![false; at.items.len()];
    while let Some(d) = todo.pop() {
        if std::mem::replace(&mut seen[d], true) {
            continue;
        }
        for (f, s) in at.items[d].fields.iter().enumerate() {
            match s {
                Slot::Is(v) => todo.extend(cell(v)),
                // An open field of an owned cell may lead to any cell its view allows.
                Slot::Open if at.items[d].owner.is_some() => {
                    for c in at.candidates(Some(d), at.items[d].image, at.items[d].class, f) {
                        if let Candidate::Value(v) = c {
                            todo.extend(cell(&v));
                        }
                    }
                }
                Slot::Open => {}
            }
        }
    }
    (0..at.items.len()).filter(|d| seen[*d] && at.items[*d].owner.is_some()).collect()
}

fn publishes(at: &Fragment<'_>) -> bool {
    !reachable(at).is_empty()
}

/// What becomes of cells of the thread's own that have no name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nameless {
    Stay,
    Publish,
}

/// Publishes what everyone can reach now, and cells of the thread's own that none of its variables refers to but that another cell of its own
/// leads to: a view has no names for these. Whether there was anything.
fn publish(at: &mut Fragment<'_>, rest: Nameless) -> Result<bool, Halt> {
    let mut any = false;
    loop {
        let mut found = reachable(at);
        if found.is_empty() && rest == Nameless::Publish {
            found = nameless(at)?;
        }
        if found.is_empty() {
            return Ok(any);
        }
        any = true;
        for d in &found {
            at.items[*d].owner = None;
            at.items[*d].lone = false;
        }
    }
}

/// Cells of the thread's own that only other cells of its own refer to, where its variables lead there.
fn nameless(at: &Fragment<'_>) -> Result<Vec<usize>, Halt> {
    let cell = |v: &V| if let V::Object(d) | V::Datum(d) = v { Some(*d) } else { None };
    let results = super::terms::remembered(&at.done[0]).unwrap_or_default();
    let mut named = vec![false; at.items.len()];
    at.vars.iter().chain(results).filter_map(cell).for_each(|d| named[d] = true);
    let own = |d: usize| at.items[d].owner == Some(Who::Own);
    if (0..at.items.len()).all(|d| named[d] || !own(d)) {
        return Ok(Vec::new());
    }
    let mut todo: Vec<usize> = (0..at.items.len()).filter(|d| named[*d] && own(*d)).collect();
    let mut seen = vec![false; at.items.len()];
    while let Some(d) = todo.pop() {
        if !own(d) || std::mem::replace(&mut seen[d], true) {
            continue;
        }
        for (f, s) in at.items[d].fields.iter().enumerate() {
            match s {
                Slot::Is(v) => todo.extend(cell(v)),
                Slot::Open => return Err(Halt::Decide(d, Some(f))),
            }
        }
    }
    Ok((0..at.items.len()).filter(|d| seen[*d] && !named[*d]).collect())
}

/// Paths of the specification's operation that change nothing and give constant results, in the order of their actions.
pub fn pure_paths(program: &Program, spec: &SpecOp, state: VarId) -> Vec<(Vec<program::ActionId>, Vec<V>)> {
    let code: &Code = &spec.code;
    let start: Vec<V> = spec.results.iter().map(|r| initial(program, *r).unwrap_or(V::Any)).collect();
    let mut todo: Vec<(LocId, Vec<program::ActionId>, Vec<V>)> = vec![(code.entry, Vec::new(), start)];
    let mut out = Vec::new();
    while let Some((at, path, results)) = todo.pop() {
        if Some(at) == code.exit {
            out.push((path, results));
            continue;
        }
        if path.len() > code.actions.len() {
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
    out
}

/// Adds to a thread's witnesses the pure paths that are possible now.
pub fn witness(
    at: &mut Fragment<'_>,
    names: &FxHashMap<Symbol, VarId>,
    call: &Call<'_>,
    side: usize,
) -> Result<(), Halt> {
    if call.marked || at.done[side] != Progress::No {
        return Ok(());
    }
    let program = at.world.program;
    let vars = if side == 0 { &at.vars } else { &at.peer };
    if at.member.is_some()
        && call.params.iter().any(|p| matches!(vars[p.0 as usize], V::Key(Side::Below | Side::Above)))
    {
        return Ok(());
    }
    if let Some(member) = at.member {
        // Of a set: the key was out, was in, at some moment of the call.
        at.witnessed[side] |= if member { 2 } else { 1 };
        return Ok(());
    }
    let mut bound = Bound::default();
    for (p, s) in call.params.iter().zip(&call.spec.params) {
        bound.insert(program.vars[*s].symbol, vars[p.0 as usize].clone());
    }
    let state = program.vars[call.state].symbol;
    for (i, (path, _)) in pure_paths(program, call.spec, call.state).iter().enumerate() {
        let none = Choices::new();
        let possible = path.iter().all(|id| {
            let a = &call.spec.code.actions[*id];
            let mut eval = Eval::new(at, names, &bound, &none, 0, Some(state));
            matches!(eval.holds(a.guard), Ok(true)) && a.gates.iter().all(|g| matches!(eval.holds(g.formula), Ok(true)))
        });
        if possible {
            at.witnessed[side] |= 1 << i;
        }
    }
    Ok(())
}

/// Whether the results of a call that ends are the specification's.
pub fn results_agree(at: &Fragment<'_>, names: &FxHashMap<Symbol, VarId>, call: &Call<'_>) -> bool {
    if !about_the_key(at, call) {
        return true;
    }
    let have: Vec<&V> = call.results.iter().map(|r| &at.vars[r.0 as usize]).collect();
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
    if matches!(at.done[0], Progress::Changed(_)) || call.marked {
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
