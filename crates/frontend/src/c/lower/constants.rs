//! Constants: slots whose value is the same wherever a step is reached are replaced by it.
//!
//! In: a flow, who can run with whom, and what its creators know. Out: the same flow with known values in place of slots,
//! without the steps that can then never be taken. A shared slot stays known only while no other thread can change it. What is known
//! of the thread's own slots is kept as long as they are still read, so that the work grows with the text and not
//! with its square.

use super::flow::*;
use super::phases::{Phases, SlotAccess, spawned};
use super::terms::Build;
use super::*;
use std::rc::Rc;

/// What is known of slots at a place.
pub(super) type Env = FxHashMap<Symbol, Term>;

impl Lower<'_> {
    /// Replaces slots by their value where it is the same constant on every way to a step and no other thread can change it
    /// meanwhile. A new thread knows what its creator knows. `read` are the slots that some step reads.
    pub(super) fn fold_constants(
        &self,
        flow: &mut Flow,
        task: TaskId,
        phases: &Phases,
        read: &FxHashSet<SlotId>,
        entries: &mut [Option<Env>],
    ) {
        let build = Build(&self.terms);
        let Some(entry) = flow.entry else { return };
        // Whether what is known of a shared slot stays true while the thread stands at a place.
        let steady = |symbol: Symbol, at: Loc| -> bool {
            self.by_symbol.get(&symbol).is_some_and(|slot| {
                self.slots[*slot].owner == SlotOwner::Task(task)
                    || !phases.contended(*slot, task, at, phases.locks.at(task, at), SlotAccess::Read)
            })
        };
        let own = |slot: &SlotId| self.slots[*slot].owner == SlotOwner::Task(task);
        let live = self.live(flow, Vec::new(), own, |_| Vec::new());
        let mut start: Env = entries[task.index()].take().unwrap_or_default();
        start.retain(|symbol, _| steady(*symbol, entry));
        for (id, slot) in self.slots.iter_enumerated().filter(|(id, _)| read.contains(id)) {
            let is_known = match slot.owner {
                // A temporary is written before it is read.
                SlotOwner::Task(of) => {
                    of == task && live[entry.index()].contains(&id) && !slot.key.starts_with("<temp ")
                }
                SlotOwner::Shared => task == TaskId(0) && steady(slot.symbol, entry),
            };
            if is_known && let Some(initial) = slot.initial.filter(|t| self.is_constant(*t)) {
                start.insert(slot.symbol, initial);
            }
        }
        let mut envs: Vec<Option<Rc<Env>>> = vec![None; flow.places.len()];
        envs[entry.index()] = Some(Rc::new(start));
        let outs = flow.outs();
        let mut agenda = Worklist::forward(flow);
        let mut given: Vec<(TaskId, usize)> = Vec::new();
        while let Some(at) = agenda.next() {
            let Some(env) = envs[at.index()].clone() else { continue };
            for i in &outs[at.index()] {
                let step = &flow.steps[*i];
                if build.as_bool(build.substitute(step.guard, &env)) == Some(false) {
                    continue;
                }
                given.extend(spawned(step, phases.starts()).filter(|c| *c != task).map(|child| (child, *i)));
                let mut after = self.env_after(step, &env, |slot| match self.slots[slot].owner {
                    SlotOwner::Task(of) => of == task && live[step.to.index()].contains(&slot),
                    SlotOwner::Shared => read.contains(&slot) && steady(self.slots[slot].symbol, step.to),
                });
                looks_at(1 + live[at.index()].len() + if Rc::ptr_eq(&after, &env) { 0 } else { after.len() });
                let ended: Vec<Symbol> = live[at.index()]
                    .difference(&live[step.to.index()])
                    .map(|slot| self.slots[*slot].symbol)
                    .filter(|symbol| after.contains_key(symbol))
                    .collect();
                if !ended.is_empty() {
                    let after = Rc::make_mut(&mut after);
                    ended.iter().for_each(|symbol| {
                        after.remove(symbol);
                    });
                }
                // With the same company, what was steady stays so.
                let leaves = !phases.same_company(task, at, step.to);
                looks_at(if leaves { after.len() } else { 0 });
                if leaves && after.keys().any(|s| !steady(*s, step.to)) {
                    Rc::make_mut(&mut after).retain(|s, _| steady(*s, step.to));
                }
                let changed = match &mut envs[step.to.index()] {
                    none @ None => {
                        *none = Some(after);
                        true
                    }
                    Some(old) if Rc::ptr_eq(old, &after) => false,
                    Some(old) => {
                        looks_at(old.len());
                        let differs = old.iter().any(|(s, v)| after.get(s) != Some(v));
                        if differs {
                            Rc::make_mut(old).retain(|s, v| after.get(s) == Some(v));
                        }
                        differs
                    }
                };
                if changed {
                    agenda.add(step.to);
                }
            }
        }
        given.sort_unstable();
        given.dedup();
        for (child, i) in given {
            let step = &flow.steps[i];
            let Some(env) = &envs[step.from.index()] else { continue };
            let shared = |slot: SlotId| self.slots[slot].owner == SlotOwner::Shared;
            let known: Env = self
                .env_after(step, env, |slot| matches!(self.slots[slot].owner, SlotOwner::Shared))
                .iter()
                .filter(|(s, _)| self.by_symbol.get(s).is_some_and(|slot| shared(*slot)))
                .map(|(s, v)| (*s, *v))
                .collect();
            agree(&mut entries[child.index()], known);
        }
        if task == TaskId(0) {
            self.know_initial(read, entries);
        }
        let old = std::mem::take(&mut flow.steps);
        for mut step in old {
            let Some(env) = &envs[step.from.index()] else { continue };
            step.guard = build.substitute(step.guard, env);
            if build.as_bool(step.guard) == Some(false) {
                continue;
            }
            for (_, gate) in &mut step.gates {
                *gate = build.substitute(*gate, env);
            }
            step.gates.retain(|(_, g)| build.as_bool(*g) != Some(true));
            for (_, value) in &mut step.updates {
                *value = build.substitute(*value, env);
            }
            flow.steps.push(step);
        }
    }

    fn is_constant(&self, term: Term) -> bool {
        self.b().as_num(term).is_some() || self.b().as_bool(term).is_some()
    }

    /// Threads that run from the beginning know the initial values.
    fn know_initial(&self, read: &FxHashSet<SlotId>, entries: &mut [Option<Env>]) {
        for (id, task) in self.tasks.iter_enumerated() {
            if !task.started.is_some_and(|s| self.begins_true(s)) {
                continue;
            }
            let known: Env = self
                .slots
                .iter_enumerated()
                .filter(|(id, s)| s.owner == SlotOwner::Shared && read.contains(id))
                .filter_map(|(_, s)| Some((s.symbol, s.initial?)))
                .filter(|(_, t)| self.is_constant(*t))
                .collect();
            agree(&mut entries[id.index()], known);
        }
    }

    /// What is known after a step, if it was known before or the step writes it and it is one of those kept.
    fn env_after(&self, step: &FlowStep, env: &Rc<Env>, keeps: impl Fn(SlotId) -> bool) -> Rc<Env> {
        let build = Build(&self.terms);
        let mut after = env.clone();
        for (slot, value) in &step.updates {
            let symbol = self.slots[*slot].symbol;
            let value = build.substitute(*value, env);
            if self.is_constant(value) && keeps(*slot) {
                if after.get(&symbol) != Some(&value) {
                    Rc::make_mut(&mut after).insert(symbol, value);
                }
            } else if after.contains_key(&symbol) {
                Rc::make_mut(&mut after).remove(&symbol);
            }
        }
        after
    }
}

/// What several creators know.
fn agree(entry: &mut Option<Env>, known: Env) {
    match entry {
        none @ None => *none = Some(known),
        Some(old) => old.retain(|s, v| known.get(s) == Some(v)),
    }
}
