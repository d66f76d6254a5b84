//! Coverage: every state of a small instance, step by step, must be in the views.
//!
//! In: a program, a certificate, a bound on cells and states. Out: how many states were compared, or a state that no view covers.
//! Two threads run with all their steps, none merged, on one concrete heap with the specification beside it; cells are never
//! guessed from views. This is no proof: it guards the definition that the method and the check share. A thread whose next steps
//! are all private is between two scheduling points and is not compared there.

use super::cover::without_unmentioned_names;
use super::fragment::{FieldSlot, Fragment, FragmentCell, FragmentProgress, KeyOrder, Successor, V, Who};
use super::spec::{results_agree, witness};
use super::step::{self, run_fragment_step};
use super::terms;
use super::{Malformed, ViewsRule};
use evidence::views::{Control, Views};
use logic::SortKind;
use program::{Program, PropertyId, Scope};
use rustc_hash::FxHashSet;

#[derive(Clone, Copy, Debug)]
pub struct CoverageLimits {
    /// Cells that may exist.
    pub cells: usize,
    pub states: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Coverage {
    pub states: usize,
    /// Threads in states that were compared with the views.
    pub compared: usize,
    /// No state was cut off by the bounds.
    pub complete: bool,
}

pub fn coverage(
    program: &Program,
    views: &Views,
    claimed: &[PropertyId],
    bounds: CoverageLimits,
) -> Result<Coverage, String> {
    // A state knows what the rules of steps have made unknown: whether a view leaves something out cannot be seen from it.
    let claimed: Vec<PropertyId> =
        claimed.iter().copied().filter(|p| Some(*p) != program::semantics::leak(program)).collect();
    let views = super::normal_form(views);
    let rule = ViewsRule::new(program, &views, &claimed).map_err(|Malformed(m)| m)?;
    let world = super::start::world(&rule);
    let mut out = Coverage { complete: true, ..Coverage::default() };
    let mut todo: Vec<PairState<'_>> = Vec::new();
    for f in super::start::states(&rule, &world)?.into_iter().flat_map(decided) {
        for controls in begin(&rule) {
            let mut f = f.clone();
            for (side, control) in controls.iter().enumerate() {
                rule.locals(&mut f, side, *control)?;
            }
            todo.push(PairState { at: f, controls });
        }
    }
    let mut seen: FxHashSet<String> = FxHashSet::default();
    while let Some(state) = todo.pop() {
        if !seen.insert(state.key()) {
            continue;
        }
        out.states += 1;
        if out.states > bounds.states {
            out.complete = false;
            return Ok(out);
        }
        for mut turn in [state.clone(), state.swapped()] {
            if !rule.is_private(&turn.at, turn.controls[0])? {
                out.compared += 1;
                let Some(view) = rule.covering(&turn.at, 0, turn.controls[0]) else {
                    return Err(format!(
                        "no view covers a reachable state at {:?}: {:?}",
                        turn.controls[0], turn.at.items
                    ));
                };
                turn.at = without_unmentioned_names(&turn.at, view);
            }
            for next in rule.successors(&turn)? {
                if next.at.items.len() > bounds.cells {
                    out.complete = false;
                } else {
                    todo.push(next);
                }
            }
        }
    }
    Ok(out)
}

/// All ways to decide the fields that are open.
fn decided(f: Fragment<'_>) -> Vec<Fragment<'_>> {
    let open = f
        .items
        .iter()
        .enumerate()
        .find_map(|(d, i)| i.fields.iter().position(|s| *s == FieldSlot::Open).map(|p| (d, p)));
    match open {
        None => vec![f],
        Some((d, p)) => f.decide(d, Some(p)).into_iter().flat_map(decided).collect(),
    }
}

fn begin(rule: &ViewsRule<'_>) -> Vec<[Control; 2]> {
    if rule.views.object.is_some() {
        return vec![[Control::Idle, Control::Idle]];
    }
    let threads: Vec<_> = rule.program.threads.iter_enumerated().collect();
    let mut out = Vec::new();
    for (a, x) in &threads {
        for (b, y) in &threads {
            let pair = [Control::Thread(*a, x.code.entry), Control::Thread(*b, y.code.entry)];
            if a <= b && !rule.alone(pair[0], pair[1]) {
                out.push(pair);
            }
        }
    }
    out
}

/// Two threads on one heap; the first is the one whose turn it is.
#[derive(Clone)]
struct PairState<'a> {
    at: Fragment<'a>,
    controls: [Control; 2],
}

impl PairState<'_> {
    fn key(&self) -> String {
        let f = &self.at;
        let items: Vec<_> =
            f.items.iter().map(|i| (i.class, i.owner, i.status, i.left, &i.fields, &i.successor)).collect();
        format!("{:?}", (self.controls, items, &f.vars, &f.peer, &f.ends, f.member, &f.crossing, &f.done, f.witnessed))
    }
    fn swapped(&self) -> Self {
        let mut out = self.clone();
        out.controls.swap(0, 1);
        let f = &mut out.at;
        for (id, v) in f.world.program.vars.iter_enumerated() {
            if v.scope != Scope::Shared {
                std::mem::swap(&mut f.vars[id.index()], &mut f.peer[id.index()]);
            }
        }
        f.done.swap(0, 1);
        f.witnessed.swap(0, 1);
        let other = |w: Who| match w {
            Who::Own => Who::Peer,
            Who::Peer => Who::Own,
            Who::Third => Who::Third,
        };
        let turn = |v: &mut V| match v {
            V::Id(w) | V::Argument(w) => *w = other(*w),
            _ => {}
        };
        f.vars.iter_mut().chain(f.peer.iter_mut()).for_each(turn);
        for done in &mut f.done {
            if let FragmentProgress::Pure(results) | FragmentProgress::Changed(results) = done {
                results.iter_mut().for_each(turn);
            }
        }
        for item in &mut f.items {
            item.owner = item.owner.map(other);
            item.left.swap(0, 1);
            for s in &mut item.fields {
                if let FieldSlot::Is(v) = s {
                    turn(v);
                }
            }
        }
        out
    }
}

impl<'p> ViewsRule<'p> {
    /// Sets the locals of a thread at the start of its code.
    fn locals(&self, f: &mut Fragment<'_>, side: usize, control: Control) -> Result<(), String> {
        if let Control::Thread(t, _) = control {
            for v in &self.program.threads[t].locals {
                let value = terms::initial(self.program, *v).map_err(|h| format!("{h:?}"))?;
                let store = if side == 0 { &mut f.vars } else { &mut f.peer };
                store[v.index()] = value;
            }
        }
        Ok(())
    }
    /// All next steps look at nothing shared, and there is one.
    fn is_private(&self, at: &Fragment<'_>, control: Control) -> Result<bool, String> {
        let Some((code, here)) = self.code(control) else { return Ok(false) };
        let mut any = false;
        for (id, _) in code.from(here) {
            if step::waits_for_others(at, &self.step(control, code, id))? {
                return Ok(false);
            }
            for a in run_fragment_step(at, &self.step(control, code, id))? {
                any = true;
                if a.touched {
                    return Ok(false);
                }
            }
        }
        Ok(any)
    }
    /// All states after a step of the first thread.
    fn successors<'a>(&self, state: &PairState<'a>) -> Result<Vec<PairState<'a>>, String> {
        let [own, peer] = state.controls;
        let mut after: Vec<(Fragment<'a>, Control)> = Vec::new();
        match self.code(own) {
            Some((code, here)) => {
                for (id, action) in code.from(here) {
                    for a in run_fragment_step(&state.at, &self.step(own, code, id))? {
                        match a.wrong {
                            Some(p) if self.claimed.contains(&p) => {
                                return Err(format!("{} fails in a reachable state", self.program.properties[p].name));
                            }
                            Some(_) => {}
                            None => after.push((a.at, self.moved(own, action.to))),
                        }
                    }
                }
            }
            None => after = self.calls(&state.at)?,
        }
        let mut out = Vec::new();
        for (mut at, mut control) in after {
            at.items.iter_mut().for_each(|i: &mut FragmentCell| {
                i.new = false;
                i.linked = None;
            });
            // What left the list counts from the last look, and never between two calls.
            at.looked = [false, false];
            for (side, idle) in [own == Control::Idle, peer == Control::Idle].into_iter().enumerate() {
                at.items.iter_mut().for_each(|i| i.left[side] &= !idle);
            }
            for (side, c) in [control, peer].into_iter().enumerate() {
                if let Some(call) = self.call(c) {
                    witness(&mut at, &self.names, &call, side).map_err(|h| format!("{h:?}"))?;
                }
            }
            let ends = self.code(control).is_some_and(|(code, here)| code.exit == Some(here));
            if let (Some(call), true) = (self.call(control), ends) {
                if !results_agree(&at, &self.names, &call) {
                    return Err("a call ends with other results than the specification in a reachable state".into());
                }
                self.forget(&mut at, control);
                control = Control::Idle;
                at.looked = [false, false];
                at.items.iter_mut().for_each(|i| i.left[0] = false);
                drop_unreachable(&mut at);
            }
            out.push(PairState { at, controls: [control, peer] });
        }
        Ok(out)
    }
    /// The beginnings of all operations, with all arguments.
    fn calls<'a>(&self, at: &Fragment<'a>) -> Result<Vec<(Fragment<'a>, Control)>, String> {
        let Some((_, object)) = self.object() else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        for (i, op) in object.ops.iter().enumerate() {
            let mut starts = vec![at.clone()];
            let mut named = false;
            for v in op.params.iter().chain(&op.results).chain(&op.locals) {
                let options = match self.program.terms.kind(self.program.vars[*v].sort) {
                    _ if !op.params.contains(v) => {
                        vec![terms::initial(self.program, *v).map_err(|h| format!("{h:?}"))?]
                    }
                    SortKind::Bool => vec![V::Bool(false), V::Bool(true)],
                    SortKind::Int if at.member.is_some() => {
                        vec![V::Key(KeyOrder::Below), V::Key(KeyOrder::Equal), V::Key(KeyOrder::Above)]
                    }
                    SortKind::Int | SortKind::Machine(_) if !named => {
                        named = true;
                        vec![V::Argument(Who::Own)]
                    }
                    _ => vec![V::Any],
                };
                let mut next = Vec::new();
                for f in starts {
                    for o in &options {
                        let mut f = f.clone();
                        f.vars[v.index()] = o.clone();
                        next.push(f);
                    }
                }
                starts = next;
            }
            let control = Control::Operation(i as u32, op.code.entry);
            starts.iter_mut().for_each(|f| self.remember_arguments(f, i));
            out.extend(starts.into_iter().map(|f| (f, control)));
        }
        Ok(out)
    }
}

/// Cells that were never published and that no thread refers to any more take no room; they are at the end of the list or stay.
fn drop_unreachable(at: &mut Fragment<'_>) {
    while let Some(last) = at.items.len().checked_sub(1) {
        let named = |v: &V| *v == V::Object(last) || *v == V::Datum(last);
        let held = at.vars.iter().chain(&at.peer).any(named)
            || at.ends.iter().chain(&at.crossing).any(|(a, b)| named(a) || named(b))
            || at.done.iter().any(|d| step_results(d).iter().any(named))
            || at.items[..last].iter().any(|i| {
                i.fields.iter().any(|s| matches!(s, FieldSlot::Is(v) if named(v)))
                    || matches!(&i.successor, Successor::Is(v) if named(v))
            });
        if held || at.items[last].owner.is_none() {
            return;
        }
        at.items.pop();
    }
}

fn step_results(p: &super::fragment::FragmentProgress) -> Vec<V> {
    super::terms::remembered(p).map(<[V]>::to_vec).unwrap_or_default()
}
