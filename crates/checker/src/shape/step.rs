//! Steps on fragments: an action of the program, with the specification's operation where it is a linearization point (`spec`).
//!
//! In: a fragment and an action. Out: every fragment after it, with what the step touched. A step is run from the start; what it
//! needs to know is decided in the fragment before the step, in every possible way, and it is run again. Publication is computed when the
//! step is over, from who refers to what.

use super::fragment::{FieldCandidate, FieldSlot, Fragment, FragmentCell, Successor, V, Who};
use super::spec::{OperationCall, about_the_key, specify, successor};
use super::spine::inside;
use super::terms::{Bound, Choices, FragmentEval, Halt, T, halt_with, same};
use evidence::views::{Fires, Status};
use logic::{Op, SortKind, Symbol, Term};
use program::{Action, Code, Program, PropertyId, Scope, VarId, VarKind};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// An action to run, and what stands around it.
pub(crate) struct FragmentStep<'p> {
    pub program: &'p Program,
    pub names: &'p FxHashMap<Symbol, VarId>,
    pub action: &'p Action,
    pub fires: Option<Fires>,
    pub call: Option<OperationCall<'p>>,
    /// Variables whose cells the thread gets for itself, if the step changes something shared.
    pub takes: Vec<VarId>,
    /// For each location of the code, the thread's variables that are not read from there on.
    pub dead: &'p [Vec<VarId>],
    pub code: &'p Code,
    /// Views say who refers to what.
    pub tracked: bool,
}

pub(super) struct After<'a> {
    pub at: Fragment<'a>,
    pub touched: bool,
    pub visible: bool,
    /// A gate that fails: the run ends there.
    pub wrong: Option<PropertyId>,
}

/// Every outcome of `act` over every way to decide what it asks for.
pub(crate) fn outcomes<'a, X>(
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
            Err(Halt::DecideVariable(var)) => {
                todo.extend(at.decide_variable(var).into_iter().map(|f| (Cow::Owned(f), choices.clone())));
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
pub(crate) fn run_fragment_step<'a>(start: &Fragment<'a>, step: &FragmentStep<'_>) -> Result<Vec<After<'a>>, String> {
    outcomes(start, |at, choices| once(at, step, choices))
}

/// Whether the action's guard is false because of something that others can change: they may enable it while the thread stays where it is.
pub(crate) fn waits_for_others(start: &Fragment<'_>, step: &FragmentStep<'_>) -> Result<bool, String> {
    let bound: Bound = step.action.inputs.iter().map(|s| (*s, V::Any)).collect();
    let guards = outcomes(start, |at, choices| {
        let mut eval = FragmentEval::new(at, step.names, &bound, choices, PHASE_BEFORE, None);
        Ok(!eval.holds(step.action.guard)? && eval.touched)
    });
    Ok(guards?.into_iter().any(|waits| waits))
}

fn choice(choices: &Choices, key: (u32, Term, Term), options: &[V]) -> Result<V, Halt> {
    match choices.iter().find(|(k, _)| *k == key) {
        Some((_, v)) => Ok(v.clone()),
        None => Err(Halt::Choose(key, options.to_vec())),
    }
}

/// Inputs that are new objects in this step: it makes them live in every case, and its guard says that they were not.
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
    out.retain(|s| action.inputs.contains(s) && was_not_live(program, action.guard, *s));
    out
}

/// Whether a guard says that an object is not among the live ones.
fn was_not_live(program: &Program, guard: Term, object: Symbol) -> bool {
    let t = &program.terms;
    t.conjuncts(guard).into_iter().any(|part| {
        let Some((Op::Not, inner)) = t.app(part) else { return false };
        let Some((Op::Member, args)) = t.app(inner[0]) else { return false };
        let mut set = args[1];
        // Live, or live with more.
        while let Some((op, parts)) = t.app(set) {
            match op {
                Op::Insert => set = parts[1],
                Op::Union => set = parts[0],
                _ => return false,
            }
        }
        let live = |s: Symbol| program.vars.iter().any(|v| v.symbol == s && matches!(v.kind, VarKind::Live(_)));
        t.as_symbol(args[0]) == Some(object) && t.as_symbol(set).is_some_and(live)
    })
}

const PHASE_BEFORE: u32 = 0;
const PHASE_AFTER: u32 = 1;
const PHASE_INPUT: u32 = 2;

fn once<'a>(start: &Fragment<'a>, step: &FragmentStep<'_>, choices: &Choices) -> Result<After<'a>, Halt> {
    let (program, action) = (step.program, step.action);
    if action.spawn.is_some() {
        return halt_with("spawn");
    }
    // Most steps make no objects: what was before them need not be copied.
    let mut before = Cow::Borrowed(start);
    let mut bound = Bound::default();
    let fresh = made(program, action);
    for (i, s) in action.inputs.iter().enumerate() {
        let key = (PHASE_INPUT, Term(i as u32), Term(0));
        let v = match program.terms.kind(program.terms.symbol_sort(*s)) {
            SortKind::Ref(class) if fresh.contains(s) => {
                let count = before.world.fields[class.index()].len();
                before.to_mut().items.push(FragmentCell {
                    class,
                    owner: Some(Who::Own),
                    status: Status::Never,
                    fields: vec![FieldSlot::Is(V::Any); count],
                    successor: Successor::AsLink,
                    image: [None, None],
                    single_predecessor: false,
                    unshared: [true, true],
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
    let mut eval = FragmentEval::new(&before, step.names, &bound, choices, PHASE_BEFORE, None);
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
    let mut changed = Visibility::No;
    let mut after = before.as_ref().clone();
    let mut freed = Vec::new();
    for (var, value) in &values {
        let shared = program.vars[*var].scope == Scope::Shared;
        match value {
            T::V(v) => {
                let old = std::mem::replace(&mut after.vars[var.index()], v.clone());
                if shared {
                    if matches!(v, V::Argument(_)) {
                        return halt_with("an argument is stored in a shared variable before any cell");
                    }
                    // Written is touched, also where the value is the same: others may write in between.
                    touched = true;
                    let change = change_of(&old, v);
                    visible |= change != Visibility::No;
                    changed = changed.max(change);
                }
            }
            T::Live(_, more, less) => {
                let new = |v: &V| matches!(v, V::Object(d) if after.items[*d].new);
                if !more.iter().all(new) {
                    return halt_with("an object made live that is not new");
                }
                if !less.is_empty() && !fresh.is_empty() {
                    return halt_with("`free` and `new` in one step");
                }
                freed.extend(less.iter().cloned());
            }
            T::Field(field, writes) if field == var => {
                for (k, v, from) in writes {
                    let kept = from.filter(|f| step.call.is_none() && !action.updates.iter().any(|u| u.var == *f));
                    let v = kept.map_or_else(|| v.clone(), |f| name_value(&mut after, *field, k, v, f));
                    touched |= !matches!(k, V::Object(d) if after.items[*d].owner.is_some());
                    changed = changed.max(write(&mut after, *field, k, v, &mut visible)?);
                }
            }
            _ => return halt_with(format!("an update of {}", program.vars[*var].name)),
        }
    }
    remember_links(&before, &mut after);
    let depends = !step.takes.is_empty() || step.fires == Some(Fires::Change);
    let changes = depends && (changed == Visibility::Certain || publishes(&after));
    if depends && !changes && changed == Visibility::Possible {
        return halt_with("a point or a take depends on whether a step changes anything, which is not known");
    }
    let takes = !step.takes.is_empty() && changes;
    if let (Some(fires), Some(call)) = (step.fires, step.call) {
        touched = true;
        let now = match fires {
            Fires::Always => true,
            Fires::Change => changes,
            Fires::When(e) => FragmentEval::new(&after, step.names, &bound, choices, PHASE_AFTER, None).holds(e)?,
        };
        if now && about_the_key(&after, &call) {
            specify(&mut after, step.names, &call, choices, &mut visible)?;
        }
    }
    if after.world.spine.as_ref().is_some_and(|l| l.looks(program, action)) {
        after.looked[0] = true;
        after.items.iter_mut().for_each(|x| x.left[0] = false);
    }
    visible |= publish(&mut after, Nameless::Stay)?;
    if takes {
        for var in &step.takes {
            let value = after.vars[var.index()].clone();
            after.take(&value)?;
        }
        visible = true;
        remember_links(&before, &mut after);
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

/// The variables that are not read after the step. Where views say who refers to what, an action whose guard is false by the thread's own variables is not taken next.
fn unread<'p>(after: &Fragment<'_>, step: &FragmentStep<'p>) -> Cow<'p, [VarId]> {
    let to = step.action.to;
    let Some(dead) = step.dead.get(to.index()) else { return Cow::Borrowed(&[]) };
    let mut next: Vec<&Action> = step.code.from(to).map(|(_, a)| a).collect();
    if !step.tracked || next.is_empty() {
        return Cow::Borrowed(dead);
    }
    next.retain(|a| {
        let none = (Bound::default(), Choices::new());
        let mut eval = FragmentEval::new(after, step.names, &none.0, &none.1, PHASE_BEFORE, None);
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
                    && (step.dead[a.to.index()].contains(v) || a.updates.iter().any(|u| u.var == *v))
            })
    });
    Cow::Owned(all)
}

/// Notes where published cells led by links that the step has cut.
fn remember_links(before: &Fragment<'_>, after: &mut Fragment<'_>) {
    for (q, then) in before.items.iter().enumerate().filter(|(_, then)| then.owner.is_none()) {
        let Some(link) = before.world.links[then.class.index()] else { continue };
        let FieldSlot::Is(V::Object(c)) = &then.fields[link] else { continue };
        if after.items[q].fields[link] != then.fields[link]
            && before.items[*c].single_predecessor
            && before.items[*c].owner.is_none()
        {
            after.items[q].linked = Some(*c);
        }
    }
}

/// A cell that a published cell links to since this step may no longer be taken to have a single predecessor.
fn new_edges(before: &Fragment<'_>, after: &mut Fragment<'_>) -> Result<(), Halt> {
    for p in 0..after.items.len() {
        let Some(link) = after.world.links[after.items[p].class.index()] else { continue };
        if after.items[p].owner.is_some() {
            continue;
        }
        let known = before.items[p].owner.is_none();
        match &after.items[p].fields[link] {
            FieldSlot::Open if known => {}
            FieldSlot::Open => return Err(Halt::Decide(p, Some(link))),
            now if known && *now == before.items[p].fields[link] => {}
            FieldSlot::Is(V::Object(d)) => {
                let d = *d;
                after.items[d].single_predecessor = false;
            }
            FieldSlot::Is(_) => {}
        }
    }
    Ok(())
}

/// Whether something that others can see is another value after a step. The thread that moves and the one that looks on must not answer differently:
/// what is certain to one may be unknown to the other, never the opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Visibility {
    No,
    Possible,
    Certain,
}

fn change_of(old: &V, new: &V) -> Visibility {
    match (old, new) {
        (V::Any, _) | (_, V::Any) | (V::Id(Who::Third), V::Id(Who::Third)) => Visibility::Possible,
        // Values of different names may be one number; that they have different names is known to all.
        _ if same(old, new) == Some(true) => Visibility::No,
        _ => Visibility::Certain,
    }
}

/// Writes a field; whether a published cell changed.
fn write(at: &mut Fragment<'_>, field: VarId, key: &V, value: V, visible: &mut bool) -> Result<Visibility, Halt> {
    let d = match key {
        V::Null => return Ok(Visibility::No),
        V::Object(d) => *d,
        _ => return halt_with("a field of an unknown object is written"),
    };
    let class = at.items[d].class;
    let Some(f) = at.world.position(class, field) else { return halt_with("a field of another class") };
    let mut value = value;
    if value == V::Argument(Who::Own) {
        stand_for(at, d)?;
        value = V::Datum(d);
    }
    let published = at.items[d].owner.is_none();
    if at.world.links[class.index()] == Some(f) {
        at.respine(d, &value)?;
    }
    let keyed = at.world.spine.as_ref().is_some_and(|l| l.class == class && l.key == f);
    if keyed && inside(at.items[d].status) {
        return halt_with("the key of a cell in the list changes");
    }
    if at.world.links[class.index()] == Some(f) && at.items[d].status == Status::In {
        relink(at, d, f, &value)?;
    }
    let change = match &at.items[d].fields[f] {
        _ if !published => Visibility::No,
        FieldSlot::Is(old) => change_of(old, &value),
        // Whether it changes matters for points that fire on a change: it must be known.
        FieldSlot::Open => return Err(Halt::Decide(d, Some(f))),
    };
    // No view tells a free lock from one that another thread holds.
    let invisible = at.world.invisible.contains(&field)
        && matches!(
            (&at.items[d].fields[f], &value),
            (FieldSlot::Is(V::Number(0)), V::Id(Who::Own)) | (FieldSlot::Is(V::Id(Who::Own)), V::Number(0))
        );
    at.items[d].fields[f] = FieldSlot::Is(value);
    *visible |= change != Visibility::No && !invisible;
    Ok(change)
}

/// A number that a thread stores in a cell of its own is named by the cell, where that stands for nothing yet. What is to be stored then.
fn name_value(at: &mut Fragment<'_>, field: VarId, key: &V, value: &V, from: VarId) -> V {
    let program = at.world.program;
    let local = program.vars[from].scope != Scope::Shared && program.vars[from].sort.is_integer();
    let V::Object(d) = *key else { return value.clone() };
    if *value != V::Any || !local || at.world.position(at.items[d].class, field).is_none() {
        return value.clone();
    }
    if at.vars[from.index()] != V::Any {
        return at.vars[from.index()].clone();
    }
    let item = &at.items[d];
    let named = |v: &V| *v == V::Datum(d);
    let used = at.items.iter().enumerate().any(|(q, x)| {
        x.fields.iter().enumerate().any(|(f, s)| match s {
            FieldSlot::Is(v) => named(v),
            FieldSlot::Open => {
                at.candidates(Some(q), x.image, x.class, f).contains(&FieldCandidate::Value(V::Datum(d)))
            }
        })
    });
    if used || item.owner != Some(Who::Own) || item.status != Status::Never || at.vars.iter().any(named) {
        return V::Any;
    }
    at.vars[from.index()] = V::Datum(d);
    V::Datum(d)
}

/// The argument is named by the cell it is stored in, which must not stand for a value yet.
fn stand_for(at: &mut Fragment<'_>, d: usize) -> Result<(), Halt> {
    let item = &at.items[d];
    let named = |v: &V| *v == V::Datum(d);
    let in_cells = at.items.iter().any(|x| x.fields.iter().any(|s| matches!(s, FieldSlot::Is(v) if named(v))));
    // An open field of an owned cell may hold its own value.
    let open = item.fields.iter().position(|s| *s == FieldSlot::Open);
    if let Some(f) = open {
        return Err(Halt::Decide(d, Some(f)));
    }
    if item.owner != Some(Who::Own) || item.status != Status::Never || in_cells || at.vars.iter().any(named) {
        return halt_with("an argument is stored in a cell that already stands for a value");
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
        None => return halt_with("the link of a cell in the sequence becomes unknown"),
    }
    Ok(())
}

/// Owned cells that everyone can reach now.
fn reachable(at: &Fragment<'_>) -> Vec<usize> {
    let mut todo: Vec<usize> = Vec::new();
    let cell = |v: &V| if let V::Object(d) | V::Datum(d) = v { Some(*d) } else { None };
    for (id, v) in at.world.program.vars.iter_enumerated() {
        if v.scope == Scope::Shared {
            todo.extend(cell(&at.vars[id.index()]));
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
                FieldSlot::Is(v) => todo.extend(cell(v)),
                // An open field of an owned cell may lead to any cell its view allows.
                FieldSlot::Open if at.items[d].owner.is_some() => {
                    for c in at.candidates(Some(d), at.items[d].image, at.items[d].class, f) {
                        if let FieldCandidate::Value(v) = c {
                            todo.extend(cell(&v));
                        }
                    }
                }
                FieldSlot::Open => {}
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
            at.items[*d].single_predecessor = false;
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
                FieldSlot::Is(v) => todo.extend(cell(v)),
                FieldSlot::Open => return Err(Halt::Decide(d, Some(f))),
            }
        }
    }
    Ok((0..at.items.len()).filter(|d| seen[*d] && !named[*d]).collect())
}
