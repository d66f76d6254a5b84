//! Which mutexes a thread surely holds, and what that means for the steps in between.
//!
//! In: flows and who can run with whom. Out: for each place the mutexes held there. A mutex is trusted if every step
//! that takes it waits until it is free and every step that frees it is one of its holder: then two places that hold it are
//! never reached at once, so accesses under a common mutex cannot meet. A trusted mutex that is not looked at otherwise is
//! simple: taking it can be put off until the thread's next step, and freeing it can be moved up to the thread's last step
//! (Lipton's right and left movers). Neither is used for the question of deadlocks, where who waits for whom is the point.
//! Deliberately absent: read-write locks, locks in arrays that are maps, locks that programs make themselves.

use super::flow::*;
pub(super) use super::locksets::{CLocksets, Held};
use super::phases::{Phases, SlotAccess};
use super::*;

/// What is known at a place of the mutexes a thread holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LockKnowledge {
    held: Held,
    /// Held if this slot of the thread is zero: what trying to lock gave.
    if_zero: BTreeSet<(Held, SlotId)>,
    /// Slots of the thread that are not zero.
    nonzero: BTreeSet<SlotId>,
}

impl LockKnowledge {
    fn implies(&self, (bit, slot): (Held, SlotId)) -> bool {
        self.held & bit != 0 || self.nonzero.contains(&slot) || self.if_zero.contains(&(bit, slot))
    }

    fn meet(&self, other: &Self) -> Self {
        let bits = |held: Held| (0..Held::BITS).map(|n| 1 << n).filter(move |b| held & b != 0);
        let one_way = |a: &Self, b: &Self| -> Vec<(Held, SlotId)> {
            let tried = bits(a.held & !b.held).flat_map(|bit| b.nonzero.iter().map(move |s| (bit, *s)));
            a.if_zero.iter().copied().chain(tried).collect()
        };
        let mut all = one_way(self, other);
        all.extend(one_way(other, self));
        let both = |pair: &(Held, SlotId)| self.implies(*pair) && other.implies(*pair);
        Self {
            held: self.held & other.held,
            if_zero: all.into_iter().filter(both).collect(),
            nonzero: self.nonzero.intersection(&other.nonzero).copied().collect(),
        }
    }
}

impl Lower<'_> {
    pub(super) fn locks(&self, phases: &Phases) -> CLocksets {
        let mut locks = CLocksets::default();
        for (id, slot) in self.slots.iter_enumerated() {
            if slot.lock && slot.sort == Sort::INT && slot.owner == SlotOwner::Shared && locks.numbers.len() < 64 {
                locks.numbers.insert(id, locks.numbers.len() as u32);
            }
        }
        if locks.numbers.is_empty() {
            return locks;
        }
        locks.held = (0..self.flows.len()).map(|i| self.held(&self.flows[i], &locks)).collect();
        let all: Held = locks.numbers.values().fold(0, |a, n| a | 1 << n);
        let (mut bad, mut looked) = (0, 0);
        for (i, flow) in self.flows.iter().enumerate() {
            let task = TaskId(i as u32);
            for step in &flow.steps {
                let here = locks.held[i][step.from.index()];
                let touch = self.touch(step);
                let touched = touch.reads.iter().chain(&touch.writes).copied();
                for (slot, bit) in touched.map(|s| (s, locks.bit(s))).filter(|(_, bit)| *bit != 0) {
                    let update = step.updates.iter().find(|(s, _)| *s == slot);
                    let takes = self.takes(step, slot);
                    if let Some((_, value)) = update {
                        let alone = !phases.contended(slot, task, step.from, 0, SlotAccess::Write);
                        let fine = if *value == self.terms.sym(self.tid) {
                            takes || alone
                        } else {
                            self.b().as_num(*value) == Some(0) && (here & bit != 0 || takes || alone)
                        };
                        bad |= if fine { 0 } else { bit };
                    }
                    looked |= if self.looks_at(step, slot, update.is_some() && takes) { bit } else { 0 };
                }
            }
        }
        locks.trusted = all & !bad;
        // A specification looks at its mutexes in every state.
        let pinned = self.pinned_slots().into_iter().fold(0, |a, s| a | locks.bit(s));
        locks.plain = if self.checks(CCheck::Deadlock) { 0 } else { locks.trusted & !looked };
        locks.simple = locks.plain & !pinned;
        locks
    }

    /// The step waits until the mutex is free.
    fn takes(&self, step: &FlowStep, slot: SlotId) -> bool {
        let free = self.b().eq(self.slot_term(slot), self.terms.int(0));
        self.terms.conjuncts(step.guard).contains(&free)
    }

    /// Whether a step depends on the mutex otherwise than by taking it.
    fn looks_at(&self, step: &FlowStep, slot: SlotId, takes: bool) -> bool {
        let symbol = self.slots[slot].symbol;
        let mentions = |t: Term| self.terms.free_symbols(t).contains(&symbol);
        let free = self.b().eq(self.slot_term(slot), self.terms.int(0));
        let guard = self.terms.conjuncts(step.guard).into_iter().any(|c| mentions(c) && !(takes && c == free));
        guard || step.gates.iter().any(|(_, g)| mentions(*g)) || step.updates.iter().any(|(_, v)| mentions(*v))
    }

    /// The mutexes surely held at each place of a flow.
    fn held(&self, flow: &Flow, locks: &CLocksets) -> Vec<Held> {
        let mut out: Vec<Option<LockKnowledge>> = vec![None; flow.places.len()];
        let outs = flow.outs();
        let Some(entry) = flow.entry else { return vec![0; flow.places.len()] };
        out[entry.index()] = Some(LockKnowledge::default());
        let mut agenda = Worklist::forward(flow);
        while let Some(at) = agenda.next() {
            let Some(here) = out[at.index()].clone() else { continue };
            for i in &outs[at.index()] {
                let step = &flow.steps[*i];
                let after = self.lock_knowledge_after(&here, step, locks);
                let target = &mut out[step.to.index()];
                let new = target.as_ref().map_or_else(|| after.clone(), |old| old.meet(&after));
                if target.as_ref() != Some(&new) {
                    *target = Some(new);
                    agenda.add(step.to);
                }
            }
        }
        out.into_iter().map(|h| h.map_or(0, |h| h.held)).collect()
    }

    fn lock_knowledge_after(&self, before: &LockKnowledge, step: &FlowStep, locks: &CLocksets) -> LockKnowledge {
        let (me, zero) = (self.terms.sym(self.tid), self.terms.int(0));
        let own = |slot: SlotId| matches!(self.slots[slot].owner, SlotOwner::Task(_));
        let mut now = before.clone();
        // What a try gave is looked at.
        let conjuncts = self.terms.conjuncts(step.guard);
        for (bit, slot) in &before.if_zero {
            if conjuncts.contains(&self.b().eq(self.slot_term(*slot), zero)) {
                now.held |= bit;
            }
        }
        let known = now.clone();
        for (slot, value) in &step.updates {
            let bit = locks.bit(*slot);
            now.held = if *value == me { now.held | bit } else { now.held & !bit };
            now.if_zero.retain(|(b, s)| (*b != bit || *value == me) && s != slot);
            now.nonzero.remove(slot);
        }
        for (slot, value) in step.updates.iter().filter(|(s, _)| own(*s)) {
            let copied = self.terms.as_symbol(*value).and_then(|s| self.by_symbol.get(&s)).copied().filter(|s| own(*s));
            if self.b().as_num(*value).is_some_and(|n| n != 0) || copied.is_some_and(|c| known.nonzero.contains(&c)) {
                now.nonzero.insert(*slot);
            }
            let freed = |bit: Held| step.updates.iter().any(|(s, v)| locks.bit(*s) == bit && *v != me);
            let same = known.if_zero.iter().filter(|(b, s)| Some(*s) == copied && !freed(*b));
            now.if_zero.extend(same.map(|(b, _)| (*b, *slot)));
        }
        now
    }

    /// The mutexes that exclude others while the step happens: those held, and those it takes and keeps. A step that takes one
    /// and frees it again is not covered by it: two such steps can be about to happen at once. (It does wait for a holder.)
    pub(super) fn covers(&self, step: &FlowStep, task: TaskId, locks: &CLocksets) -> Held {
        let me = self.terms.sym(self.tid);
        let kept = step.updates.iter().filter(|(s, v)| *v == me && self.takes(step, *s));
        kept.fold(locks.at(task, step.from), |out, (s, _)| out | (locks.bit(*s) & locks.trusted))
    }

    /// The mutexes of which a thread that holds one can be sure that this step of another does not happen meanwhile.
    pub(super) fn excludes(&self, step: &FlowStep, task: TaskId, locks: &CLocksets) -> Held {
        let taken = step.updates.iter().filter(|(s, _)| locks.bit(*s) != 0 && self.takes(step, *s));
        taken.fold(locks.at(task, step.from), |out, (s, _)| out | (locks.bit(*s) & locks.trusted))
    }

    /// Writes that say again what was never anything else.
    pub(super) fn drop_constant_writes(&mut self) -> bool {
        let pinned = self.pinned_slots();
        let mut constant: BTreeSet<SlotId> = BTreeSet::new();
        let mut varies: BTreeSet<SlotId> = pinned;
        for (slot, value) in self.flows.iter().flat_map(|f| &f.steps).flat_map(|s| &s.updates) {
            if self.slots[*slot].initial == Some(*value) {
                constant.insert(*slot);
            } else {
                varies.insert(*slot);
            }
        }
        let gone: BTreeSet<SlotId> = constant.difference(&varies).copied().collect();
        for step in self.flows.iter_mut().flat_map(|f| &mut f.steps) {
            step.updates.retain(|(s, _)| !gone.contains(s));
        }
        !gone.is_empty()
    }
}
