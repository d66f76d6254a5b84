//! An interpreter of the language's syntax tree: the second opinion on what a `.tp` program means.
//!
//! In: a parsed file. Out: which properties some run violates, or why not everything could be looked at. It is written from
//! `docs/language.md` and `docs/semantics.md` alone and knows nothing of lowering, locations, actions or terms, so that it shares no
//! mistake with them. It explores every interleaving of a small program with explicit states.
//! Deliberately absent: `performs`, `follows` and linearizability; numbers that nothing has decided (a run that looks at one is not compared);
//! whole maps with an access predicate; `else if` (a nested `if` means the same); objects that are there from the start.

mod eval;
mod reads;
mod run;
mod value;
mod world;

use base::Sources;
use eval::{Mode, Place, Stop};
use frontend::lang::ast::SourceTree;
use run::Out;
use std::collections::{BTreeSet, HashSet, VecDeque};
use value::Object;
use world::{Instance, State, Task, Vars};

/// States inside atomic blocks, for each state that may be met outside.
const MAX_INSIDE_FACTOR: usize = 5;

/// What the interpreter found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// For each failing step or store, the properties of which the first one fails: mostly one, several where a step has more than one
    /// failing check and their order is not said.
    pub violated: BTreeSet<BTreeSet<String>>,
    pub states: usize,
    /// Why not every run was followed; `None`: all were.
    pub incomplete: Option<String>,
}

impl Found {
    /// Every property that some run may violate.
    pub fn possible(&self) -> BTreeSet<String> {
        self.violated.iter().flatten().cloned().collect()
    }
}

/// Runs a program with `any` instances of each thread of any number, as far as so many states.
pub fn interpret(tree: &SourceTree, sources: &Sources, any: usize, max_states: usize) -> Found {
    let mut found = Found::default();
    match Vars::of(tree, sources).and_then(|vars| search(&vars, any, max_states, &mut found)) {
        Ok(()) => {}
        Err(why) => found.incomplete = Some(why),
    }
    found
}

fn search<'a>(vars: &Vars<'a>, any: usize, max_states: usize, found: &mut Found) -> Result<(), String> {
    let mut seen: HashSet<State<'a>> = HashSet::new();
    let mut queue = VecDeque::new();
    for mut state in vars.initial(any)? {
        state.instances.iter_mut().for_each(|i| vars.settle(i));
        if seen.insert(state.clone()) {
            queue.push_back(state);
        }
    }
    // What happens inside atomic blocks counts, too: a block of many states may begin in each of many states.
    let mut inside = 0;
    while let Some(state) = queue.pop_front() {
        found.states = seen.len();
        if seen.len() > max_states || inside > MAX_INSIDE_FACTOR * max_states {
            return Err(format!("more than {max_states} states"));
        }
        let mut broken = |property: &str| {
            found.violated.insert(BTreeSet::from([property.to_owned()]));
        };
        // A thread whose own invariant does not hold goes wrong here, which is a way to go on.
        let mut moves = check_store(vars, &state, &mut broken)?;
        let mut next = Vec::new();
        for (i, instance) in state.instances.iter().enumerate() {
            if instance.stack.is_empty() {
                continue;
            }
            let outs = vars.outcomes(&state, i)?;
            inside += outs.inside;
            moves |= outs.endless || !outs.list.is_empty();
            next.extend(outs.list.into_iter().map(|out| (i, out)));
        }
        if !moves && state.instances.iter().any(|i| !i.stack.is_empty()) {
            broken("deadlock");
        }
        for (i, out) in next {
            match out {
                Out::Fails(properties) => {
                    found.violated.insert(properties);
                }
                Out::Next(after) => {
                    let mut broken = |property: &str| {
                        found.violated.insert(BTreeSet::from([property.to_owned()]));
                    };
                    check_step(vars, &state, i, &after, &mut broken)?;
                    if seen.insert(after.clone()) {
                        queue.push_back(after);
                    }
                }
            }
        }
    }
    found.states = seen.len();
    Ok(())
}

fn holds<'a>(mut place: Place<'_, 'a>, formula: &'a frontend::lang::ast::Expr) -> Result<bool, String> {
    place.mode = Mode::Formula;
    place.holds(formula).map_err(|stop| match stop {
        Stop::Fails(why) | Stop::Beyond(why) => why,
    })
}

/// Invariants of the file and of the threads that have not ended; whether one of the latter fails.
fn check_store<'a>(vars: &Vars<'a>, state: &State<'a>, broken: &mut dyn FnMut(&str)) -> Result<bool, String> {
    let mut fails = false;
    for claim in &vars.invariants {
        if !holds(vars.place(state, claim.object, Mode::Formula), claim.formula)? {
            broken(&claim.property);
        }
    }
    for claim in &vars.own_invariants {
        for instance in &state.instances {
            if Some(instance.thread) != claim.thread || instance.has_ended() {
                continue;
            }
            let mut place = vars.place(state, None, Mode::Formula);
            place.tid = instance.tid;
            place.env = outermost(instance).to_vec();
            if !holds(place, claim.formula)? {
                broken(&claim.property);
                fails = true;
            }
        }
    }
    Ok(fails)
}

/// The locals of a thread's own body, under the calls it is in.
fn outermost<'s, 'a>(instance: &'s Instance<'a>) -> &'s [world::Binding<'a>] {
    let frame = instance.stack.iter().find_map(|t| if let Task::Frame(f) = t { Some(f) } else { None });
    frame.map_or(&instance.env, |f| &f.env)
}

/// Relies of the instances that were there before the step, and leaks.
fn check_step<'a>(
    vars: &Vars<'a>,
    before: &State<'a>,
    mover: usize,
    after: &State<'a>,
    broken: &mut dyn FnMut(&str),
) -> Result<(), String> {
    for claim in &vars.relies {
        for (i, instance) in before.instances.iter().enumerate() {
            if i == mover || claim.thread.is_some_and(|t| t != instance.thread) {
                continue;
            }
            let mut place = vars.place(before, claim.object, Mode::Formula);
            place.tid = instance.tid;
            place.after = Some(after);
            if !holds(place, claim.formula)? {
                broken(&claim.property);
            }
        }
    }
    if vars.frees && !lost(vars, after).is_subset(&lost(vars, before)) {
        broken("leak");
    }
    Ok(())
}

/// The live objects that nothing leads to.
fn lost<'a>(vars: &Vars<'a>, state: &State<'a>) -> BTreeSet<Object> {
    let mut lost = state.live.clone();
    if lost.is_empty() {
        return lost;
    }
    let mut todo = Vec::new();
    state.shared.values().for_each(|v| v.objects(&mut todo));
    for instance in &state.instances {
        let frames = instance.stack.iter().filter_map(|t| if let Task::Frame(f) = t { Some(f) } else { None });
        let mut locals: Vec<&world::Binding<'a>> = instance.env.iter().collect();
        for frame in frames {
            locals.extend(&frame.env);
            if !matches!(frame.dest, world::Dest::Nowhere) {
                frame.results.iter().flatten().for_each(|v| v.objects(&mut todo));
            }
        }
        for (name, _, value) in locals {
            let mut held = Vec::new();
            value.objects(&mut held);
            if !held.is_empty() && reads::may_read(vars, instance, name) {
                todo.extend(held);
            }
        }
    }
    while let Some(object) = todo.pop() {
        if lost.remove(&object) {
            let fields = state.fields.iter().filter(|((o, _), _)| *o == object);
            fields.for_each(|(_, v)| v.objects(&mut todo));
        }
    }
    lost
}
