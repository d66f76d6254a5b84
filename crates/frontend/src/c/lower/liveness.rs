//! Liveness: which slots are still read, and the assignments that are never read.
//!
//! In: a flow. Out: for each place the slots whose value there may still matter, and the flow without assignments of
//! others. What a value is made of matters only if the value does; what guards and gates speak of always does.

use super::flow::*;
use super::phases::{Phases, spawned};
use super::*;

/// Liveness of shared slots is looked at up to so many pairs of a slot and a place.
const MAX_LIVENESS: usize = 2_000_000;

/// By place, the slots that are live there.
type Live = Vec<BTreeSet<SlotId>>;

/// What a step reads of the slots looked at.
struct StepReads {
    always: Vec<SlotId>,
    /// By update, its target and what its value is made of.
    each: Vec<(SlotId, Vec<SlotId>)>,
}

impl Lower<'_> {
    /// The slots among `counted` that are live at each place, of which some may be known beforehand. `after`: what others may
    /// read from a step on.
    pub(super) fn live(
        &self,
        flow: &Flow,
        known: Live,
        counted: impl Fn(&SlotId) -> bool,
        after: impl Fn(&FlowStep) -> Vec<SlotId>,
    ) -> Live {
        let mut live = known;
        live.resize(flow.places.len(), BTreeSet::new());
        let of = |t: Term| -> Vec<SlotId> { self.slots_in(t).iter().copied().filter(&counted).collect() };
        let needs: Vec<StepReads> = flow
            .steps
            .iter()
            .map(|step| StepReads {
                always: step.gates.iter().map(|(_, g)| *g).chain([step.guard]).flat_map(of).collect(),
                each: step.updates.iter().map(|(s, v)| (*s, of(*v))).collect(),
            })
            .collect();
        let (ins, outs) = (flow.ins(), flow.outs());
        let mut agenda = Worklist::backward(flow);
        while let Some(at) = agenda.next() {
            let mut new: Vec<SlotId> = Vec::new();
            for i in &outs[at.index()] {
                let step = &flow.steps[*i];
                let StepReads { always, each } = &needs[*i];
                let (later, others) = (&live[step.to.index()], after(step));
                new.extend(always);
                let written = |slot: &SlotId| each.iter().any(|(s, _)| s == slot);
                new.extend(later.iter().chain(&others).filter(|slot| !written(slot)));
                for (slot, reads) in each {
                    if !counted(slot) || later.contains(slot) || others.contains(slot) {
                        new.extend(reads);
                    }
                }
            }
            looks_at(1 + new.len());
            let here = &mut live[at.index()];
            let before = here.len();
            here.extend(new);
            if here.len() != before {
                ins[at.index()].iter().for_each(|i| agenda.add(flow.steps[*i].from));
            }
        }
        live
    }

    /// Drops assignments that are not read afterwards: of private slots, and in the first thread of shared ones that no
    /// thread who runs or is started later can still see.
    pub(super) fn drop_dead_updates(&self, flow: &mut Flow, task: TaskId, phases: &Phases) -> bool {
        let count = flow.places.len();
        let mut known: Live = vec![BTreeSet::new(); count];
        let mut candidates: BTreeSet<SlotId> = BTreeSet::new();
        if task == TaskId(0) {
            candidates.extend(flow.steps.iter().flat_map(|s| &s.updates).map(|(s, _)| *s).filter(|s| {
                self.slots[*s].owner == SlotOwner::Shared && !phases.pinned(*s) && !phases.starts().contains_key(s)
            }));
            if candidates.len() * count > MAX_LIVENESS {
                candidates.clear();
            }
        }
        for slot in &candidates {
            for at in flow.places.ids().filter(|at| phases.read_meanwhile(*slot, task, *at)) {
                known[at.index()].insert(*slot);
            }
        }
        let private = |s: &SlotId| self.slots[*s].owner != SlotOwner::Shared || candidates.contains(s);
        // What a new thread, or one it starts, may read is read after the step that starts it.
        let handed = |step: &FlowStep| -> Vec<SlotId> {
            if candidates.is_empty() {
                return Vec::new();
            }
            let children: Vec<TaskId> = spawned(step, phases.starts()).filter(|c| *c != task).collect();
            let reads = |s: &SlotId| children.iter().any(|c| phases.read_by_family(*s, *c));
            if children.is_empty() { Vec::new() } else { candidates.iter().copied().filter(reads).collect() }
        };
        let live = self.live(flow, known, private, handed);
        let mut removed = false;
        for step in &mut flow.steps {
            let after = &live[step.to.index()];
            let old = step.updates.len();
            let handed = handed(step);
            step.updates.retain(|(s, v)| {
                let same = self.terms.as_symbol(*v) == Some(self.slots[*s].symbol);
                (!private(s) || after.contains(s) || handed.contains(s)) && !same
            });
            removed |= step.updates.len() != old;
            if step.inputs.is_empty() {
                continue;
            }
            let mut used: Vec<Symbol> = self.terms.free_symbols(step.guard);
            step.updates.iter().for_each(|(_, v)| used.extend(self.terms.free_symbols(*v)));
            step.gates.iter().for_each(|(_, g)| used.extend(self.terms.free_symbols(*g)));
            // A range is never empty, so a value that is never used can go with it.
            step.inputs.retain(|i| used.contains(&i.symbol));
        }
        removed
    }
}
