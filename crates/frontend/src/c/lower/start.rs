//! The beginning of a program: what surely happens first becomes part of the initial state.
//!
//! Comes in: flows in which the first thread's private steps are merged. Goes out: flows without the steps that every run
//! begins with, and threads that are there from the start. Each rule keeps the set of reachable failures:
//! - The first step of the first thread, if it waits for nothing, cannot fail, writes constants only, and nobody who runs
//!   can meet its accesses, happens before everything else in some order of the same run.
//! - A loop that does nothing but start threads of one kind can start as many as are ever needed as soon as it is
//!   reached; from then on such threads are there in any number.
//! - A program in which nothing can fail has no step that matters.

use super::flow::*;
use super::phases::{Access, spawned};
use super::*;

impl Lower<'_> {
    /// Folds the first steps of the first thread into the initial values.
    pub(super) fn fold_start(&mut self) -> bool {
        let mut changed = false;
        loop {
            let phases = self.phases();
            let main = TaskId(0);
            let Some(flow) = self.flows.first() else { return changed };
            let Some(entry) = flow.entry else { return changed };
            if flow.steps.iter().any(|s| s.to == entry) || flow.places[entry].inside {
                return changed;
            }
            let mut outs = flow.steps.iter().enumerate().filter(|(_, s)| s.from == entry);
            let (Some((at, step)), None) = (outs.next(), outs.next()) else { return changed };
            let b = self.b();
            let plain = b.as_bool(step.guard) == Some(true)
                && step.gates.is_empty()
                && step.joins.is_empty()
                && !flow.places[step.to].inside
                && Some(step.to) != flow.exit;
            if !plain {
                return changed;
            }
            let mut values: Vec<(SlotId, Option<Term>)> = Vec::new();
            for (slot, value) in &step.updates {
                let shared = self.slots[*slot].owner == Owner::Shared;
                let is_start = phases.starts().contains_key(slot);
                // A start is met by the new thread alone, which does nothing before it.
                if shared && !is_start && phases.contended(*slot, main, entry, Access::Write) {
                    return changed;
                }
                if b.as_num(*value).is_some() || b.as_bool(*value).is_some() {
                    values.push((*slot, Some(*value)));
                    continue;
                }
                // Any value at all, which an initial value can be as well.
                let whole = self.terms.as_symbol(*value).is_some_and(|s| {
                    step.inputs.iter().any(|i| i.symbol == s && i.range == self.slots[*slot].range)
                        && step.updates.iter().filter(|(_, v)| self.terms.free_symbols(*v).contains(&s)).count() == 1
                });
                if !(whole && shared && self.slots[*slot].sort == Sort::INT && self.slots[*slot].range.is_some()) {
                    return changed;
                }
                values.push((*slot, None));
            }
            // A repeated thread that takes its start back must not have it taken from it twice.
            let to = step.to;
            for (slot, value) in values {
                self.slots[slot].initial = value;
                self.slots[slot].external |= value.is_none();
            }
            if let Some(flow) = self.flows.first_mut() {
                flow.steps.remove(at);
                flow.entry = Some(to);
            }
            changed = true;
        }
    }

    /// Loops that only start threads: the threads are there in any number once the loop is reached.
    pub(super) fn open_creation(&mut self) -> bool {
        let mut changed = false;
        let starts: FxHashMap<SlotId, TaskId> = self.phases().starts().clone();
        let many: Vec<(SlotId, TaskId)> =
            self.tasks.iter_enumerated().filter(|(_, t)| t.many).filter_map(|(id, t)| Some((t.started?, id))).collect();
        for (slot, task) in many {
            if self.opened.contains(&slot) {
                continue;
            }
            let free = self.b().not(self.slot_term(slot));
            let mut loops: Vec<(usize, Loc)> = Vec::new();
            let mut other = false;
            for (i, flow) in self.flows.iter().enumerate() {
                for step in &flow.steps {
                    let touch = self.touch(step);
                    if !touch.reads.contains(&slot) && !touch.writes.contains(&slot) {
                        continue;
                    }
                    if i == task.0 as usize {
                        // Only the start itself may know of it.
                        other |= Some(step.from) != flow.entry || flow.steps.iter().any(|s| Some(s.to) == flow.entry);
                        continue;
                    }
                    let only = step.from == step.to
                        && step.guard == free
                        && step.gates.is_empty()
                        && step.updates.len() == 1
                        && spawned(step, &starts).eq([task])
                        && !self.tasks[TaskId(i as u32)].many
                        && !flow.places[step.from].inside;
                    other |= !only;
                    loops.push((i, step.from));
                }
            }
            loops.sort_unstable();
            loops.dedup();
            if other || loops.is_empty() {
                continue;
            }
            self.open(slot, task, &loops);
            changed = true;
        }
        changed
    }

    fn open(&mut self, slot: SlotId, task: TaskId, loops: &[(usize, Loc)]) {
        self.opened.insert(slot);
        let yes = self.terms.tt();
        for (i, at) in loops {
            let flow = &mut self.flows[*i];
            flow.steps.retain(|s| !(s.from == *at && s.updates.iter().any(|(u, _)| *u == slot)));
            if flow.entry == Some(*at) && *i == 0 {
                self.slots[slot].initial = Some(yes);
                continue;
            }
            if flow.entry == Some(*at) {
                // Somewhere to stand before the loop is reached.
                let span = flow.places[*at].span;
                let before = flow.places.push(flow::Place { span, inside: false });
                flow.entry = Some(before);
                flow.steps.push(Step {
                    from: before,
                    to: *at,
                    inputs: Vec::new(),
                    guard: yes,
                    blocking: false,
                    gates: Vec::new(),
                    updates: Vec::new(),
                    what: What::Skip,
                    span,
                    joins: Vec::new(),
                });
            }
            for step in flow.steps.iter_mut().filter(|s| s.to == *at) {
                step.updates.push((slot, yes));
            }
        }
        for step in &mut self.flows[task.0 as usize].steps {
            step.updates.retain(|(s, _)| *s != slot);
        }
    }

    /// Without a gate there is nothing to reach.
    pub(super) fn drop_all_if_nothing_can_fail(&mut self) {
        let guarded = self.guarded_slots();
        let asked = self.checks(Check::Deadlock)
            || self.flows.iter().flat_map(|f| &f.steps).any(|s| {
                !s.gates.is_empty() || {
                    let touch = self.touch(s);
                    touch.reads.iter().chain(&touch.writes).any(|s| guarded.contains(s))
                }
            });
        if !asked {
            self.flows.iter_mut().for_each(|f| f.steps.clear());
        }
    }
}
