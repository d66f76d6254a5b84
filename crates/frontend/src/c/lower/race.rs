//! Data races: a plain access of a location while another thread is about to write it.
//!
//! Under sequential consistency a race exists exactly if some reachable state has two conflicting accesses enabled. A plain
//! write becomes two steps, "about to write" and the write; every access asserts that no other thread is about to write
//! the same location. Where atomic code writes a location, its plain reads are made of two steps as well, because
//! atomic code is never "about to". That reasoning rests on every operation being ordered after what it learns of; where one is not
//! ([`Unordered`]), an access counts as free of races only if phases and locks alone keep it apart from the others.
//! In: the flows of all tasks. Out: the same with the steps and gates that find races.

use super::flow::*;
use super::phases::{Phases, SlotAccess};
use super::*;

/// Operations that can learn of another thread's step and are not ordered after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unordered {
    /// An atomic operation of an order that does not synchronise.
    Weak,
    /// A lock or semaphore that is tried: whoever finds it taken synchronises with no one (C11 7.26.4.5, POSIX 4.12).
    Tried,
    /// The value of a semaphore is looked at.
    Looked,
}

impl Unordered {
    fn shown(self) -> &'static str {
        match self {
            Unordered::Weak => "an atomic operation weaker than needed",
            Unordered::Tried => "a lock found taken, which orders nothing,",
            Unordered::Looked => "the value of a semaphore, which orders nothing,",
        }
    }

    fn of_call(name: &str) -> Option<Unordered> {
        match name {
            "sem_getvalue" => Some(Unordered::Looked),
            "pthread_mutex_trylock"
            | "pthread_mutex_timedlock"
            | "pthread_spin_trylock"
            | "mtx_trylock"
            | "mtx_timedlock"
            | "pthread_rwlock_tryrdlock"
            | "pthread_rwlock_trywrlock"
            | "pthread_rwlock_timedrdlock"
            | "pthread_rwlock_timedwrlock"
            | "sem_trywait"
            | "sem_timedwait" => Some(Unordered::Tried),
            _ => None,
        }
    }
}

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
                for slot in touch.reads.iter().chain(&touch.writes) {
                    let atomic = self.is_atomic(flow, step, *slot);
                    let entry = uses.entry(self.location(*slot)).or_default();
                    entry.plain |= !atomic;
                    if touch.writes.contains(slot) {
                        entry.written = true;
                        entry.written_atomically |= atomic;
                    }
                }
            }
        }
        let phases = self.phases();
        for i in 0..self.flows.len() {
            let mut flow = std::mem::take(&mut self.flows[i]);
            let old = std::mem::take(&mut flow.steps);
            for step in old {
                self.guard_step(&mut flow, step, TaskId(i as u32), &uses, &phases);
            }
            self.flows[i] = flow;
        }
    }

    /// A store of a bit-field reads what else is in its bytes and writes it back: where another thread may store a neighbour meanwhile,
    /// one of the two may be lost, which steps that write one field alone do not show.
    pub(super) fn refuse_torn_bit_fields(&mut self) {
        let phases = self.phases();
        for i in 0..self.flows.len() {
            let mut flow = std::mem::take(&mut self.flows[i]);
            for step in &mut flow.steps {
                let (touch, under) = (self.touch(step), self.covers(step, TaskId(i as u32), &phases.locks));
                let torn = touch.writes.iter().filter(|s| self.units.contains_key(s)).any(|written| {
                    let shared = |s: &SlotId| s != written && self.slots[*s].owner == SlotOwner::Shared;
                    self.neighbours(*written)
                        .filter(shared)
                        .any(|s| phases.contended(s, TaskId(i as u32), step.from, under, SlotAccess::Read))
                });
                if torn {
                    let why = "bit-fields in the same bytes, stored by two threads at once";
                    step.gates.push((GateFailure::Unmodelled(why.into(), step.span), self.terms.ff()));
                    step.what = What::Unmodelled;
                }
            }
            self.flows[i] = flow;
        }
    }

    /// Notes a call of the thread library that can learn of another thread's step without being ordered after it.
    pub(super) fn note_unordered_call(&mut self, name: &str, span: Span) {
        if let Some(unordered) = Unordered::of_call(name)
            && self.cur.at.is_some()
        {
            let span = self.blamed(span);
            self.unordered.get_or_insert((span, unordered));
        }
    }

    /// What stands for the memory location of a slot: bit-fields in the same bytes are one location (C11 3.14).
    pub(super) fn location(&self, slot: SlotId) -> SlotId {
        self.units.get(&slot).copied().unwrap_or(slot)
    }

    fn neighbours(&self, slot: SlotId) -> impl Iterator<Item = SlotId> + '_ {
        let first = self.location(slot);
        let others = self.units.iter().filter(move |(_, f)| **f == first).map(|(s, _)| *s);
        others.chain([first])
    }

    /// Whether a step accesses a slot atomically: a property of the access, not of the place. The thread library's own steps
    /// on its objects are; copying, clearing or freeing such an object is not.
    fn is_atomic(&self, flow: &Flow, step: &FlowStep, slot: SlotId) -> bool {
        let plain = matches!(step.what, What::Assign | What::Havoc | What::New);
        let library = self.slots[slot].role == SlotRole::Library && !plain;
        flow.places[step.from].in_atomic_block
            || flow.places[step.to].in_atomic_block
            || step.what == What::Cas
            || library
    }

    fn guard_step(
        &mut self,
        flow: &mut Flow,
        step: FlowStep,
        task: TaskId,
        uses: &FxHashMap<SlotId, Uses>,
        phases: &Phases,
    ) {
        let touch = self.touch(&step);
        let under = self.covers(&step, task, &phases.locks);
        let slots: Vec<SlotId> = {
            let mut all: Vec<SlotId> = touch.reads.iter().chain(&touch.writes).copied().collect();
            all.sort();
            all.dedup();
            all.retain(|s| {
                let slot = &self.slots[*s];
                let used = uses.get(&self.location(*s)).copied().unwrap_or_default();
                let access = if touch.writes.contains(s) { SlotAccess::Write } else { SlotAccess::Read };
                slot.owner == SlotOwner::Shared
                    && slot.role != SlotRole::Internal
                    && used.written
                    && used.plain
                    // No thread that can run now touches it, or another bit-field in the same bytes.
                    && (self.merging == Merging::None
                        || self.neighbours(*s).any(|s| phases.contended(s, task, step.from, under, access)))
            });
            all
        };
        let mut locations: Vec<SlotId> = slots.iter().map(|s| self.location(*s)).collect();
        locations.dedup();
        let Some(slot) = locations.first().copied() else {
            flow.steps.push(step);
            return;
        };
        let atomic = slots.iter().all(|s| self.is_atomic(flow, &step, *s));
        let map = matches!(self.terms.kind(self.slots[slot].sort), logic::SortKind::Map(..));
        let key = if map { self.one_key(&step, slot) } else { None };
        if locations.len() > 1 || (map && key.is_none()) {
            let ff = self.terms.ff();
            let why = format!("races on elements of `{}`", self.slots[slot].shown);
            let gates = vec![(GateFailure::Unmodelled(why, step.span), ff)];
            flow.steps.push(FlowStep { gates, what: What::Unmodelled, ..step });
            return;
        }
        let writes = touch.writes.iter().any(|w| self.location(*w) == slot);
        let name = self.slots[slot].shown.clone();
        let writing = self.marker(slot, "writing", Sort::BOOL);
        let counts_readers = uses.get(&slot).is_some_and(|u| u.written_atomically);
        let reading = self.marker(slot, "reading", Sort::INT);
        let now = |l: &Self, marker: SlotId| match key {
            Some(k) => l.b().select(l.slot_term(marker), k),
            None => l.slot_term(marker),
        };
        let set = |l: &Self, marker: SlotId, value: Term| match key {
            Some(k) => (marker, l.terms.store(l.slot_term(marker), k, value)),
            None => (marker, value),
        };
        let zero = self.terms.int(0);
        let mut free = self.b().not(now(self, writing));
        if counts_readers && writes {
            free = self.b().and(free, self.b().eq(now(self, reading), zero));
        }
        let gate = (GateFailure::Race(name), free);
        let mut more = Vec::new();
        if let (false, Some((place, unordered))) = (atomic, self.unordered) {
            // That no two accesses meet may be due to an order that is none (C11 5.1.2.4).
            let line = self.sources.line_of(place);
            let why = format!("a race that only {} may exclude (line {line})", unordered.shown());
            more.push((GateFailure::Unmodelled(why, step.span), self.terms.ff()));
        }
        if atomic || (!writes && !counts_readers) {
            let mut gates = step.gates.clone();
            gates.insert(0, gate);
            gates.splice(1..1, more);
            flow.steps.push(FlowStep { gates, ..step });
            return;
        }
        let middle = flow.places.push(flow::FlowPlace { span: step.span, in_atomic_block: false });
        let (begin, end) = if writes {
            let (tt, ff) = (self.terms.tt(), self.terms.ff());
            (set(self, writing, tt), set(self, writing, ff))
        } else {
            let (now, b) = (now(self, reading), self.b());
            let (more, less) = (b.add(now, b.num(1)), b.sub(now, b.num(1)));
            (set(self, reading, more), set(self, reading, less))
        };
        flow.steps.push(FlowStep {
            from: step.from,
            to: middle,
            inputs: Vec::new(),
            guard: step.guard,
            blocking: step.blocking,
            gates: [gate].into_iter().chain(more).collect(),
            updates: vec![begin],
            what: step.what,
            span: step.span,
            joins: Vec::new(),
        });
        let mut updates = step.updates.clone();
        updates.push(end);
        flow.steps.push(FlowStep { from: middle, updates, ..step });
    }

    /// A slot of our own beside a slot, of the same shape.
    fn marker(&mut self, slot: SlotId, word: &str, of: Sort) -> SlotId {
        let FlowSlot { key, shown, span, sort, .. } = self.slots[slot].clone();
        let none = self.terms.default_of(of);
        let (sort, initial) = match self.terms.kind(sort) {
            logic::SortKind::Map(from, _) => {
                let map = self.terms.map_sort(from, of);
                (map, self.terms.const_map(map, none))
            }
            _ => (of, none),
        };
        self.internal(&format!("<{word} {key}>"), &format!("{word}_{shown}"), sort, Some(initial), span)
    }

    /// The one element of a map that a step touches, named by a term over private slots.
    fn one_key(&self, step: &FlowStep, slot: SlotId) -> Option<Term> {
        let map = self.slot_term(slot);
        let mut keys: Vec<Term> = Vec::new();
        let terms = step.updates.iter().map(|(_, v)| *v).chain(step.gates.iter().map(|(_, g)| *g));
        for term in terms.chain([step.guard]) {
            if !self.keys_of(term, map, &mut keys) {
                return None;
            }
        }
        keys.dedup();
        let [key] = keys[..] else { return None };
        let private =
            |s: &Symbol| self.by_symbol.get(s).is_none_or(|slot| matches!(self.slots[*slot].owner, SlotOwner::Task(_)));
        self.terms.free_symbols(key).iter().all(private).then_some(key)
    }

    /// Collects the keys with which a map is read and written in a term; false if it is used in any other way.
    fn keys_of(&self, term: Term, map: Term, out: &mut Vec<Term>) -> bool {
        if term == map {
            return false;
        }
        match self.terms.app(term) {
            Some((logic::Op::Select, args)) if args[0] == map => {
                out.push(args[1]);
                self.keys_of(args[1], map, out)
            }
            Some((logic::Op::Store, args)) if args[0] == map => {
                out.push(args[1]);
                self.keys_of(args[1], map, out) && self.keys_of(args[2], map, out)
            }
            Some((_, args)) => args.iter().all(|a| self.keys_of(*a, map, out)),
            None => true,
        }
    }
}
