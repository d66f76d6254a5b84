//! Leaks: memory that was allocated, was not freed, and that nothing points to any more when the program ends.
//!
//! In: the objects of allocations that run once, with a flag each that says that they were made, and their lifetimes. Out: where
//! `main` returns, a gate that every such object was freed, or that a variable of static storage or an object that is itself still
//! pointed to holds an address in it. The locals of `main` are gone then. Runs that do not end, and those that end by `abort`,
//! are not looked at, and the verdict says so. What cannot be decided is unmodelled: allocations in loops, addresses in
//! long arrays or thread-local variables, objects that are not kept so where the program ends by `exit`, whose callers' variables are
//! still there, or that a thread may hold which runs when `main` returns, an end by `pthread_exit` in `main`, a program without an end.

use super::flow::*;
use super::memory::{Content, ObjId};
use super::*;

/// More objects than this are not followed.
const MAX_OBJECTS: usize = 12;

impl Lower<'_> {
    /// The flag that an allocation was made.
    fn made_slot(&mut self, object: ObjId, span: Span) -> SlotId {
        let key = format!("<made {}>", self.objects[object].key);
        let shown = format!("made_{}", self.sources.line_of(span));
        self.flag(&key, &shown, span)
    }

    /// An object of an allocation that runs once comes to be.
    pub(super) fn note_made(&mut self, object: ObjId, span: Span) {
        if self.checks(CCheck::Leak) {
            let made = self.made_slot(object, span);
            let yes = self.terms.tt();
            self.update(vec![(made, yes)], What::New, span);
        }
    }

    /// Whether there is something to be lost and nowhere to look for it.
    pub(super) fn never_ends(&self) -> bool {
        self.checks(CCheck::Leak) && !self.looked_for_leaks && !self.heap().is_empty()
    }

    /// Objects of allocations that run once.
    fn heap(&self) -> Vec<ObjId> {
        let once = |o: &ObjId| self.objects[*o].lifetime.is_some_and(|l| l.heap && l.each.is_none());
        self.objects.ids().filter(once).collect()
    }

    /// The program ends: nothing may be lost.
    pub(super) fn check_leaks(&mut self, leave: Leave, span: Span) {
        if !self.checks(CCheck::Leak) || self.cur.at.is_none() {
            return;
        }
        self.looked_for_leaks = true;
        let heap = self.heap();
        if self.allocates_untyped() {
            return self.unmodelled("leaks of memory that is used as no type", span);
        }
        if heap.is_empty() {
            return;
        }
        self.assume("c-leaks-at-the-end", "leaks are looked for where main returns or exit is called, and only there");
        if heap.len() > MAX_OBJECTS {
            return self.unmodelled("leaks of so many allocations", span);
        }
        let reached = match self.reached(&heap) {
            Ok(reached) => reached,
            Err(why) => return self.unmodelled(&why, span),
        };
        let (mut lost, mut held) = (self.terms.ff(), self.terms.ff());
        for (object, reached) in heap.iter().zip(reached) {
            let made = self.made_slot(*object, span);
            let b = self.b();
            let gone = b.all([self.slot_term(made), self.alive(*object, None), b.not(reached)]);
            // The variables of whoever calls `exit`, and of its callers, are still there.
            let running = if leave == Leave::Stop { b.tt() } else { self.may_be_held(*object) };
            lost = b.or(lost, b.and(gone, b.not(running)));
            held = b.or(held, b.and(gone, running));
        }
        let to = self.fresh(span);
        let (unsure, fine) = (
            GateFailure::Unmodelled("memory that a variable of a thread may still point to".into(), span),
            self.b().not(held),
        );
        let gates = vec![(GateFailure::Leak, self.b().not(lost)), (unsure, fine)];
        let gates: Vec<(GateFailure, Term)> =
            gates.into_iter().filter(|(_, g)| self.b().as_bool(*g) != Some(true)).collect();
        let yes = self.terms.tt();
        self.emit_step(to, yes, gates, Vec::new(), What::Assert, span, access::Waits::No);
        self.enter(to);
    }

    /// Whether some allocation has not one type, and is followed as nothing at all.
    fn allocates_untyped(&self) -> bool {
        let untyped = |key: &String| {
            let used = self.facts.made_of.get(key).into_iter().flatten();
            used.filter(|ty| !self.is_character(**ty)).count() != 1
        };
        let asked = |key: &&String| key.ends_with('?') && key.contains("<heap ");
        self.object_keys.keys().filter(asked).any(untyped)
    }

    /// For each object, that a variable of static storage leads to it.
    fn reached(&self, heap: &[ObjId]) -> Result<Vec<Term>, String> {
        let b = self.b();
        // Who holds an address of which object, and in which object.
        let mut edges: Vec<(Option<usize>, usize, Term)> = Vec::new();
        let unit = self.unit;
        let own: Vec<String> = unit
            .variables
            .iter_enumerated()
            .filter(|(_, v)| v.storage == Storage::ThreadLocal)
            .map(|(id, v)| format!("{}#{}!", v.name, id.0))
            .chain(["<specific ".to_string()])
            .collect();
        let local = |slot: &FlowSlot| own.iter().any(|prefix| slot.key.starts_with(prefix));
        let kept = |(id, slot): (SlotId, &FlowSlot)| local(slot) && heap.iter().any(|h| self.may_point(id, *h));
        if self.slots.iter_enumerated().any(kept) {
            return Err("leaks where addresses are kept in thread-local variables".into());
        }
        for (from, object) in self.objects.iter_enumerated() {
            let at = heap.iter().position(|h| *h == from);
            // Keys of locals and of what allocations make name their thread.
            let root = at.is_none() && !object.key.contains('!') && !object.key.starts_with('<');
            let Content::Leaves(leaves) = &object.content else { continue };
            for leaf in leaves.iter().filter(|_| root || at.is_some()) {
                for (to, target) in heap.iter().enumerate().filter(|(_, t)| self.may_point(leaf.slot, **t)) {
                    if leaf.repeat.is_some() || leaf.bytes > 0 {
                        return Err("leaks where addresses are kept in a long array or a union".into());
                    }
                    let (low, size) = (self.objects[*target].base, self.objects[*target].size);
                    let value = self.slot_term(leaf.slot);
                    edges.push((at, to, b.and(b.le(b.num(low), value), b.le(value, b.num(low + size)))));
                }
            }
        }
        let mut reached = vec![b.ff(); heap.len()];
        for _ in 0..=heap.len() {
            let before = reached.clone();
            for (from, to, points) in &edges {
                let from = match from {
                    None => b.tt(),
                    Some(h) if h == to => continue,
                    Some(h) => b.and(before[*h], self.alive(heap[*h], None)),
                };
                reached[*to] = b.or(reached[*to], b.and(from, *points));
            }
            if reached == before {
                break;
            }
        }
        Ok(reached)
    }

    fn may_point(&self, slot: SlotId, object: ObjId) -> bool {
        let held = |facts: &PassFacts| facts.points_to.get(&slot).is_some_and(|objects| objects.contains(&object));
        held(&self.facts) || held(&self.found)
    }

    /// That another thread may be running that may hold the object's address in a variable of its own.
    fn may_be_held(&self, object: ObjId) -> Term {
        let b = self.b();
        let mut running = b.ff();
        for (id, task) in self.tasks.iter_enumerated().skip(1) {
            let prefix = format!("{}!", task.key);
            let own = |s: &FlowSlot| s.owner == SlotOwner::Task(id) || s.key.starts_with(&prefix);
            if !self.slots.iter_enumerated().any(|(s, slot)| own(slot) && self.may_point(s, object)) {
                continue;
            }
            let runs = match task.started.filter(|_| !task.many) {
                Some(started) => b.and(self.slot_term(started), b.not(self.slot_term(task.done))),
                None => b.tt(),
            };
            running = b.or(running, runs);
        }
        running
    }
}
