//! Data races: a plain access of a location while another thread is about to write it.
//!
//! Under sequential consistency a race exists exactly if some reachable state has two conflicting accesses enabled. A plain
//! write becomes two steps, "about to write" and the write; every access asserts that no other thread is about to write
//! the same location. Where atomic code writes a location, its plain reads are made of two steps as well, because
//! atomic code is never "about to".

use super::flow::*;
use super::*;

#[derive(Clone, Copy, Default)]
struct Uses {
    written: bool,
    /// Written by a step that is itself atomic.
    written_atomically: bool,
    plain: bool,
}

impl Lower<'_> {
    /// Adds the gates of the race property to all flows; call when privacy is known.
    pub(super) fn instrument_races(&mut self) {
        let mut uses: FxHashMap<SlotId, Uses> = FxHashMap::default();
        for flow in &self.flows {
            for step in &flow.steps {
                let touch = self.touch(step);
                let atomic = self.is_atomic(flow, step);
                for slot in touch.reads.iter().chain(&touch.writes) {
                    let entry = uses.entry(*slot).or_default();
                    entry.plain |= !atomic;
                    if touch.writes.contains(slot) {
                        entry.written = true;
                        entry.written_atomically |= atomic;
                    }
                }
            }
        }
        for i in 0..self.flows.len() {
            let mut flow = std::mem::take(&mut self.flows[i]);
            let old = std::mem::take(&mut flow.steps);
            for step in old {
                self.guard_step(&mut flow, step, &uses);
            }
            self.flows[i] = flow;
        }
    }

    fn is_atomic(&self, flow: &Flow, step: &Step) -> bool {
        flow.places[step.from].inside || flow.places[step.to].inside || step.what == What::Cas
    }

    fn guard_step(&mut self, flow: &mut Flow, step: Step, uses: &FxHashMap<SlotId, Uses>) {
        let touch = self.touch(&step);
        let atomic = self.is_atomic(flow, &step);
        let slots: Vec<SlotId> = {
            let mut all: Vec<SlotId> = touch.reads.iter().chain(&touch.writes).copied().collect();
            all.sort();
            all.dedup();
            all.retain(|s| {
                let slot = &self.slots[*s];
                let used = uses.get(s).copied().unwrap_or_default();
                slot.owner == Owner::Shared && !slot.synchronising && used.written && used.plain
            });
            all
        };
        let Some(slot) = slots.first().copied() else {
            flow.steps.push(step);
            return;
        };
        if slots.len() > 1 || matches!(self.terms.kind(self.slots[slot].sort), logic::SortKind::Map(..)) {
            let ff = self.terms.ff();
            let why = format!("races on elements of `{}`", self.slots[slot].shown);
            flow.steps.push(Step { gates: vec![(Failure::Unmodelled(why), ff)], what: What::Unmodelled, ..step });
            return;
        }
        let writes = touch.writes.contains(&slot);
        let name = self.slots[slot].shown.clone();
        let (key, span) = (self.slots[slot].key.clone(), self.slots[slot].span);
        let writing = self.flag(&format!("<writing {key}>"), &format!("writing_{name}"), span);
        let counts_readers = uses.get(&slot).is_some_and(|u| u.written_atomically);
        let zero = self.terms.int(0);
        let reading =
            self.internal(&format!("<reading {key}>"), &format!("reading_{name}"), Sort::INT, Some(zero), span);
        let mut free = self.b().not(self.slot_term(writing));
        if counts_readers && writes {
            free = self.b().and(free, self.b().eq(self.slot_term(reading), zero));
        }
        let gate = (Failure::Race(name), free);
        if atomic || (!writes && !counts_readers) {
            let mut gates = step.gates.clone();
            gates.insert(0, gate);
            flow.steps.push(Step { gates, ..step });
            return;
        }
        let middle = flow.places.push(flow::Place { span: step.span, inside: false });
        let (begin, end) = if writes {
            let (tt, ff) = (self.terms.tt(), self.terms.ff());
            ((writing, tt), (writing, ff))
        } else {
            let (now, b) = (self.slot_term(reading), self.b());
            ((reading, b.add(now, b.num(1))), (reading, b.sub(now, b.num(1))))
        };
        flow.steps.push(Step {
            from: step.from,
            to: middle,
            inputs: Vec::new(),
            guard: step.guard,
            blocking: step.blocking,
            gates: vec![gate],
            updates: vec![begin],
            what: step.what,
            span: step.span,
            joins: Vec::new(),
        });
        let mut updates = step.updates.clone();
        updates.push(end);
        flow.steps.push(Step { from: middle, updates, ..step });
    }
}
