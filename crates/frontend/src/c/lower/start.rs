//! The beginning of a program: what surely happens first becomes part of the initial state.
//!
//! In: flows in which the first thread's private steps are merged. Out: flows without the steps that every run
//! begins with, and threads that are there from the start. Each rule keeps the set of reachable failures:
//! - The first step of the first thread, if it waits for nothing, cannot fail, writes constants only, and no running thread
//!   can meet its accesses, happens before everything else in some order of the same run.
//! - A loop that does nothing but start threads of one kind can start as many as are ever needed as soon as it is
//!   reached; from then on such threads are there in any number.
//! - A program in which nothing can fail has no step that matters.

use super::flow::*;
use super::phases::SlotAccess;
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
            if flow.steps.iter().any(|s| s.to == entry) || flow.places[entry].in_atomic_block {
                return changed;
            }
            let mut outs = flow.steps.iter().enumerate().filter(|(_, s)| s.from == entry);
            let (Some((at, step)), None) = (outs.next(), outs.next()) else { return changed };
            let b = self.b();
            let plain = b.as_bool(step.guard) == Some(true)
                && step.gates.is_empty()
                && step.joins.is_empty()
                && !flow.places[step.to].in_atomic_block
                && Some(step.to) != flow.exit;
            if !plain {
                return changed;
            }
            let mut values: Vec<(SlotId, Option<Term>)> = Vec::new();
            for (slot, value) in &step.updates {
                let shared = self.slots[*slot].owner == SlotOwner::Shared;
                let is_start = phases.starts().contains_key(slot);
                // A start is met by the new thread alone, which does nothing before it.
                if shared && !is_start && phases.contended(*slot, main, entry, 0, SlotAccess::Write) {
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

    /// Loops that only start threads: the threads are there in any number once the loop is reached. More threads than are
    /// needed do no harm, for a thread need not take a step.
    pub(super) fn open_creation(&mut self) -> bool {
        let mut changed = false;
        let many: Vec<(SlotId, TaskId)> =
            self.tasks.iter_enumerated().filter(|(_, t)| t.many).filter_map(|(id, t)| Some((t.started?, id))).collect();
        for (slot, task) in &many {
            if self.opened.contains(slot) {
                continue;
            }
            let mut loops: Vec<(usize, Loc)> = Vec::new();
            // Starts that are no part of a loop: they must lead into one that starts the same thread.
            let mut single: Vec<(usize, Loc, bool)> = Vec::new();
            let mut other = false;
            for (i, flow) in self.flows.iter().enumerate() {
                for step in &flow.steps {
                    let touch = self.touch(step);
                    if !touch.reads.contains(slot) && !touch.writes.contains(slot) {
                        continue;
                    }
                    if i == task.index() {
                        // Only the start itself may know of it.
                        other |= Some(step.from) != flow.entry || flow.steps.iter().any(|s| Some(s.to) == flow.entry);
                        continue;
                    }
                    let turns = self.only_starts(step, flow, &many) && self.comes_back(flow, step.to, step.from, &many);
                    if turns && !self.tasks[TaskId(i as u32)].many {
                        loops.push((i, step.from));
                    } else {
                        single.push((i, step.to, self.starts_once(step, *slot)));
                    }
                }
            }
            loops.sort_unstable();
            loops.dedup();
            other |= single.iter().any(|(i, to, fine)| {
                !fine || !loops.iter().any(|(j, at)| i == j && self.comes_back(&self.flows[*i], *to, *at, &many))
            });
            if !other && !loops.is_empty() {
                self.open(*slot, *task, &loops, &many);
                changed = true;
            }
        }
        changed
    }

    /// A step that hands a thread its start, and looks at that only to see that it is free.
    fn starts_once(&self, step: &FlowStep, slot: SlotId) -> bool {
        let free = self.b().not(self.slot_term(slot));
        let mentions = |t: Term| self.terms.free_symbols(t).contains(&self.slots[slot].symbol);
        step.updates.iter().any(|(s, v)| *s == slot && self.b().as_bool(*v) == Some(true))
            && !self.terms.conjuncts(step.guard).into_iter().any(|c| mentions(c) && c != free)
            && !step.gates.iter().any(|(_, g)| mentions(*g))
            && !step.updates.iter().any(|(_, v)| mentions(*v))
    }

    /// A step that does nothing, or nothing but hand a repeated thread its start.
    fn only_starts(&self, step: &FlowStep, flow: &Flow, many: &[(SlotId, TaskId)]) -> bool {
        let b = self.b();
        let free = match step.updates[..] {
            [] => b.tt(),
            [(slot, _)] if many.iter().any(|(s, _)| *s == slot) => b.not(self.slot_term(slot)),
            _ => return false,
        };
        step.gates.is_empty()
            && (step.guard == free || b.as_bool(step.guard) == Some(true))
            && !flow.places[step.from].in_atomic_block
            && !flow.places[step.to].in_atomic_block
    }

    /// Whether steps that only start threads lead from one place to another.
    fn comes_back(&self, flow: &Flow, from: Loc, to: Loc, many: &[(SlotId, TaskId)]) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut todo = vec![from];
        while let Some(at) = todo.pop() {
            if at == to {
                return true;
            }
            for step in flow.steps.iter().filter(|s| s.from == at && self.only_starts(s, flow, many)) {
                if seen.insert(step.to) {
                    todo.push(step.to);
                }
            }
        }
        false
    }

    fn open(&mut self, slot: SlotId, task: TaskId, loops: &[(usize, Loc)], many: &[(SlotId, TaskId)]) {
        self.opened.insert(slot);
        let yes = self.terms.tt();
        for (i, at) in loops {
            // The steps into the loop, as opposed to those of the loop itself.
            let inner: BTreeSet<Loc> = {
                let flow = &self.flows[*i];
                let from = flow
                    .steps
                    .iter()
                    .map(|s| s.from)
                    .filter(|l| self.comes_back(flow, *at, *l, many) && self.comes_back(flow, *l, *at, many));
                from.chain([*at]).collect()
            };
            let flow = &mut self.flows[*i];
            if flow.entry == Some(*at) && *i == 0 {
                self.slots[slot].initial = Some(yes);
            } else {
                if flow.entry.is_some_and(|e| inner.contains(&e)) {
                    // Somewhere to stand before the loop is reached.
                    let span = flow.places[*at].span;
                    let before = flow.places.push(flow::FlowPlace { span, in_atomic_block: false });
                    let to = flow.entry.unwrap_or(*at);
                    flow.entry = Some(before);
                    flow.steps.push(FlowStep {
                        from: before,
                        to,
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
                let enters = |s: &FlowStep| inner.contains(&s.to) && !inner.contains(&s.from);
                for step in flow.steps.iter_mut().filter(|s| enters(s)) {
                    step.updates.retain(|(s, _)| *s != slot);
                    step.updates.push((slot, yes));
                }
            }
            for step in flow.steps.iter_mut().filter(|s| s.from == *at && inner.contains(&s.to)) {
                if step.updates.iter().any(|(u, _)| *u == slot) {
                    step.updates.clear();
                    step.guard = yes;
                    step.blocking = false;
                    step.what = What::Skip;
                }
            }
            flow.steps.retain(|s| !(s.from == s.to && s.updates.is_empty() && s.gates.is_empty()));
        }
        for step in &mut self.flows[task.index()].steps {
            step.updates.retain(|(s, _)| *s != slot);
        }
        // No thread waits any more until the last one has gone.
        let mut flows = std::mem::take(&mut self.flows);
        let free = self.b().not(self.slot_term(slot));
        for step in flows.iter_mut().flat_map(|f| &mut f.steps) {
            let conjuncts = self.terms.conjuncts(step.guard);
            if conjuncts.contains(&free) {
                step.guard = self.b().all(conjuncts.into_iter().filter(|c| *c != free));
            }
        }
        self.flows = flows;
    }

    /// An undecided initial value that is never read may as well be decided.
    pub(super) fn settle_locals(&mut self) {
        let mut settled = Vec::new();
        for (i, flow) in self.flows.iter().enumerate() {
            let owner = SlotOwner::Task(TaskId(i as u32));
            let own = |slot: &SlotId| self.slots[*slot].owner == owner;
            let Some(entry) = flow.entry else { continue };
            let live = self.live(flow, Vec::new(), own, |_| Vec::new());
            let touched: BTreeSet<SlotId> =
                flow.steps.iter().map(|s| self.touch(s)).flat_map(|t| t.reads.into_iter().chain(t.writes)).collect();
            let undecided = |slot: &SlotId| own(slot) && self.slots[*slot].initial.is_none();
            settled.extend(touched.into_iter().filter(|s| undecided(s) && !live[entry.index()].contains(s)));
        }
        for slot in settled {
            self.slots[slot].initial = Some(self.terms.default_of(self.slots[slot].sort));
        }
    }

    /// A value on its way, which the program has no name for, is forgotten by the step that uses it last: else states differ in
    /// what is never looked at, and a search of a program of few threads sees each of them. Named variables keep their values,
    /// for traces tell them; so do the threads of programs in which some come in any number, which are not searched.
    pub(super) fn forget_temps(&mut self) {
        if self.tasks.iter().any(|t| t.many) || !self.routines.is_empty() {
            return;
        }
        for i in 0..self.flows.len() {
            let mut flow = std::mem::take(&mut self.flows[i]);
            let owner = SlotOwner::Task(TaskId(i as u32));
            let temp = |s: &SlotId| self.slots[*s].owner == owner && self.slots[*s].key.starts_with("<temp ");
            let touches: Vec<compress::SlotTouch> = flow.steps.iter().map(|s| self.touch(s)).collect();
            let mut live: Vec<BTreeSet<SlotId>> = vec![BTreeSet::new(); flow.places.len()];
            let mut changed = true;
            while changed {
                changed = false;
                for (step, touch) in flow.steps.iter().zip(&touches).rev() {
                    let mut before: BTreeSet<SlotId> = touch.reads.iter().copied().filter(temp).collect();
                    let after = &live[step.to.index()];
                    before.extend(after.iter().filter(|s| !step.updates.iter().any(|(t, _)| t == *s)));
                    let at = &mut live[step.from.index()];
                    let known = at.len();
                    at.extend(before);
                    changed |= at.len() > known;
                }
            }
            for step in &mut flow.steps {
                let (before, after) = (&live[step.from.index()], &live[step.to.index()]);
                for slot in before.difference(after) {
                    let Some(initial) = self.slots[*slot].initial else { continue };
                    match step.updates.iter_mut().find(|(s, _)| s == slot) {
                        Some(update) => update.1 = initial,
                        None => step.updates.push((*slot, initial)),
                    }
                }
            }
            self.flows[i] = flow;
        }
    }

    /// Without a gate there is nothing to reach.
    pub(super) fn drop_all_if_nothing_can_fail(&mut self) {
        let guarded = self.pinned_slots();
        let asked = self.checks(CCheck::Deadlock)
            || !self.machines.is_empty()
            || !self.routines.is_empty()
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
