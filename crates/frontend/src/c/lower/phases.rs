//! Which threads can run at the same time, and so which accesses can meet.
//!
//! In: flows, with the steps that start threads and the steps that have waited for their end. Out: for each place
//! of each thread the threads that may be running while it stands there, and for each slot who can meet an access of it.
//! A thread that is not started yet, or has surely ended, meets no other thread. This is what makes the initialisation before the first
//! creation, the argument block of a thread and the result read after a join private, though other threads touch them too.
//! Accesses under a common mutex do not meet either (`locks.rs`). Deliberately absent: order by flags or barriers.

use super::flow::*;
use super::locksets::{CLocksets, Held};
use super::*;

/// A set of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set(Vec<u64>);

impl Set {
    fn of(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }
    fn has(&self, task: TaskId) -> bool {
        self.0.get(task.index() / 64).is_some_and(|w| w >> (task.index() % 64) & 1 == 1)
    }
    fn insert(&mut self, task: TaskId) {
        self.0[task.index() / 64] |= 1 << (task.index() % 64);
    }
    fn remove(&mut self, task: TaskId) {
        self.0[task.index() / 64] &= !(1 << (task.index() % 64));
    }
    fn meet(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }
    fn covers(&self, other: &Set) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & b == *b)
    }
    fn meets(&self, other: &Set) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
    fn join(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

/// What one thread surely knows of its children at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Know {
    /// Not started yet.
    fresh: Set,
    /// Started once and ended.
    ended: Set,
    /// One of the two.
    idle: Set,
}

impl Know {
    fn meet(&mut self, other: &Know) {
        self.fresh.meet(&other.fresh);
        self.ended.meet(&other.ended);
        self.idle.meet(&other.idle);
    }
}

/// Accesses of a slot by one thread under the same mutexes: whom they can meet.
struct AccessMeeting {
    task: TaskId,
    under: Held,
    met: Set,
}

pub(super) struct Phases {
    /// By thread and place: who may be running while it stands there.
    running: Vec<Vec<Set>>,
    /// By slot and thread: whom its reads can meet, and whom its writes can meet.
    reads: FxHashMap<SlotId, Vec<AccessMeeting>>,
    writes: FxHashMap<SlotId, Vec<AccessMeeting>>,
    /// By slot, the threads that read it.
    readers: FxHashMap<SlotId, Set>,
    pub(super) locks: CLocksets,
    /// Slots that say that a thread may start: always seen by others.
    starts: FxHashMap<SlotId, TaskId>,
    /// Slots of which every access is a question of its own.
    pinned: BTreeSet<SlotId>,
    /// By thread: it and everyone it starts, and whom they start.
    family: Vec<Set>,
}

impl Lower<'_> {
    pub(super) fn phases(&self) -> Phases {
        let count = self.flows.len();
        let starts: FxHashMap<SlotId, TaskId> =
            self.tasks.iter_enumerated().filter_map(|(id, t)| t.started.map(|s| (s, id))).collect();
        let mut parents: Vec<Option<TaskId>> = vec![None; count];
        for (i, flow) in self.flows.iter().enumerate() {
            for child in flow.steps.iter().flat_map(|s| spawned(s, &starts)) {
                // A repeated thread takes its own start back; that is no creation.
                if child.index() != i {
                    parents[child.index()] = Some(TaskId(i as u32));
                }
            }
        }
        // A thread whose start is folded into the initial values is the first thread's.
        for (id, task) in self.tasks.iter_enumerated() {
            let at_once = task.started.is_some_and(|s| self.begins_true(s));
            if at_once && parents[id.index()].is_none() && id.index() > 0 {
                parents[id.index()] = Some(TaskId(0));
            }
        }
        let mut family: Vec<Set> = (0..count)
            .map(|i| {
                let mut set = Set::of(count);
                set.insert(TaskId(i as u32));
                set
            })
            .collect();
        for i in (1..count).rev() {
            // Creators come before those they create.
            if let Some(parent) = parents[i] {
                let own = family[i].clone();
                family[parent.index()].join(&own);
            }
        }
        let knows: Vec<Vec<Option<Know>>> =
            (0..count).map(|i| self.know(TaskId(i as u32), &starts, &parents)).collect();
        // Who has surely ended whenever another thread is started.
        let mut ended_before: Vec<Option<Set>> = vec![None; count];
        for (i, flow) in self.flows.iter().enumerate() {
            for step in &flow.steps {
                for child in spawned(step, &starts).filter(|c| c.index() != i) {
                    let Some(know) = &knows[i][step.from.index()] else { continue };
                    match &mut ended_before[child.index()] {
                        Some(set) => set.meet(&know.ended),
                        none => *none = Some(know.ended.clone()),
                    }
                }
            }
        }
        for (id, task) in self.tasks.iter_enumerated() {
            if task.started.is_some_and(|s| self.begins_true(s)) {
                // There from the beginning: no thread has ended before.
                ended_before[id.index()] = None;
            }
        }
        let never = |a: TaskId, b: TaskId| -> bool {
            // Some thread above `b`, or `b` itself, is started only when `a` has ended.
            let mut at = Some(b);
            while let Some(t) = at {
                if ended_before[t.index()].as_ref().is_some_and(|s| s.has(a)) {
                    return true;
                }
                at = parents[t.index()];
            }
            false
        };
        let mut running: Vec<Vec<Set>> = Vec::new();
        for (i, flow) in self.flows.iter().enumerate() {
            let me = TaskId(i as u32);
            let mut always = Set::of(count);
            for j in 0..count {
                let other = TaskId(j as u32);
                let itself = i == j && self.tasks[me].many;
                if itself || (!family[i].has(other) && !never(me, other) && !never(other, me)) {
                    always.insert(other);
                }
            }
            let mut places: Vec<Set> = Vec::with_capacity(flow.places.len());
            for know in &knows[i] {
                let mut set = always.clone();
                for j in 0..count {
                    let child = TaskId(j as u32);
                    if i == j || !family[i].has(child) {
                        continue;
                    }
                    let mut top = child;
                    while parents[top.index()].is_some_and(|p| p != me) {
                        top = parents[top.index()].unwrap_or(top);
                    }
                    let idle =
                        know.as_ref().is_some_and(|k| if top == child { k.idle.has(child) } else { k.fresh.has(top) });
                    if !idle {
                        set.insert(child);
                    }
                }
                places.push(set);
            }
            running.push(places);
        }
        let pinned = self.pinned_slots();
        let (reads, writes, readers) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        let locks = CLocksets::default();
        let mut phases = Phases { running, reads, writes, readers, locks, starts, pinned, family };
        self.note_accesses(&mut phases);
        phases.locks = self.locks(&phases);
        if phases.locks.trusted != 0 {
            self.note_accesses(&mut phases);
        }
        phases
    }

    fn note_accesses(&self, phases: &mut Phases) {
        let (mut reads, mut writes) = (FxHashMap::default(), FxHashMap::default());
        for (i, flow) in self.flows.iter().enumerate() {
            let task = TaskId(i as u32);
            for step in &flow.steps {
                let touch = self.touch(step);
                let met = &phases.running[i][step.from.index()];
                let under = self.excludes(step, task, &phases.locks);
                // A mutex does not guard the steps that take it from each other.
                let of = |slot: &SlotId| match phases.locks.numbers.contains_key(slot) {
                    true => phases.locks.at(task, step.from),
                    false => under,
                };
                for slot in &touch.reads {
                    note(&mut reads, *slot, task, of(slot), met);
                }
                for slot in &touch.writes {
                    note(&mut writes, *slot, task, of(slot), met);
                }
            }
        }
        let count = self.flows.len();
        phases.readers.clear();
        for (slot, list) in &reads {
            let readers = phases.readers.entry(*slot).or_insert_with(|| Set::of(count));
            list.iter().for_each(|m: &AccessMeeting| readers.insert(m.task));
        }
        reads.values_mut().chain(writes.values_mut()).for_each(strongest);
        (phases.reads, phases.writes) = (reads, writes);
    }

    /// Slots that specifications speak of: every access of them is as it stands in the program.
    pub(super) fn pinned_slots(&self) -> BTreeSet<SlotId> {
        let mut out: BTreeSet<SlotId> = self.written.iter().flat_map(|w| w.slots.iter().copied()).collect();
        out.extend(self.machines.iter().flat_map(|m| m.slots.iter().copied()));
        out.extend(self.routine_touches());
        // A mutex that is seen by nobody else would not be seen held.
        out.extend(self.guards.iter().flat_map(|(slot, mutex, _)| [*slot, *mutex]));
        out
    }

    pub(super) fn begins_true(&self, slot: SlotId) -> bool {
        self.slots[slot].initial.and_then(|t| self.b().as_bool(t)) == Some(true)
    }

    /// What a thread knows of the threads it starts, at each of its places; `None` where it never comes.
    fn know(&self, me: TaskId, starts: &FxHashMap<SlotId, TaskId>, parents: &[Option<TaskId>]) -> Vec<Option<Know>> {
        let flow = &self.flows[me.index()];
        let count = self.flows.len();
        let mut out: Vec<Option<Know>> = vec![None; flow.places.len()];
        let Some(entry) = flow.entry else { return out };
        let mut first = Know { fresh: Set::of(count), ended: Set::of(count), idle: Set::of(count) };
        // Of a repeated thread, another copy may have started them.
        if !self.tasks[me].many {
            for (id, parent) in parents.iter().enumerate() {
                let child = TaskId(id as u32);
                let at_once = self.tasks[child].started.is_some_and(|s| self.begins_true(s));
                if *parent == Some(me) && !at_once {
                    first.fresh.insert(child);
                    first.idle.insert(child);
                }
            }
        }
        out[entry.index()] = Some(first);
        let outs = flow.outs();
        let mut agenda = Worklist::forward(flow);
        while let Some(at) = agenda.next() {
            let Some(know) = out[at.index()].clone() else { continue };
            for i in &outs[at.index()] {
                let step = &flow.steps[*i];
                let mut after = know.clone();
                for child in spawned(step, starts).filter(|c| *c != me) {
                    after.fresh.remove(child);
                    after.ended.remove(child);
                    after.idle.remove(child);
                }
                for child in step.joins.iter().filter(|c| parents[c.index()] == Some(me) && !self.tasks[**c].many) {
                    after.ended.insert(*child);
                    after.idle.insert(*child);
                }
                let target = &mut out[step.to.index()];
                let changed = match target {
                    None => {
                        *target = Some(after);
                        true
                    }
                    Some(old) if *old == after => false,
                    Some(old) => {
                        let before = old.clone();
                        old.meet(&after);
                        *old != before
                    }
                };
                if changed {
                    agenda.add(step.to);
                }
            }
        }
        out
    }
}

fn note(map: &mut FxHashMap<SlotId, Vec<AccessMeeting>>, slot: SlotId, task: TaskId, under: Held, met: &Set) {
    let list = map.entry(slot).or_default();
    match list.iter_mut().find(|m| m.task == task && m.under == under) {
        Some(known) => known.met.join(met),
        None => list.push(AccessMeeting { task, under, met: met.clone() }),
    }
}

/// Keeps the meetings that tell most: one under fewer mutexes and with more threads stands for another.
fn strongest(list: &mut Vec<AccessMeeting>) {
    let mut kept: Vec<AccessMeeting> = Vec::with_capacity(list.len());
    let tells =
        |a: &AccessMeeting, b: &AccessMeeting| a.task == b.task && a.under & !b.under == 0 && a.met.covers(&b.met);
    for meeting in list.drain(..) {
        if !kept.iter().any(|k| tells(k, &meeting)) {
            kept.retain(|k| !tells(&meeting, k));
            kept.push(meeting);
        }
    }
    *list = kept;
}

/// The threads that a step starts.
pub(super) fn spawned<'a>(
    step: &'a FlowStep,
    starts: &'a FxHashMap<SlotId, TaskId>,
) -> impl Iterator<Item = TaskId> + 'a {
    step.updates.iter().filter_map(|(slot, _)| starts.get(slot).copied())
}

impl Phases {
    /// Whether another thread can make an access of the slot that does not commute with this one, while the thread is at
    /// the place and holds these mutexes.
    pub(super) fn contended(&self, slot: SlotId, me: TaskId, at: Loc, under: Held, access: SlotAccess) -> bool {
        if self.starts.contains_key(&slot) || self.pinned.contains(&slot) {
            return true;
        }
        let Some(running) = self.running[me.index()].get(at.index()) else { return true };
        let under = if self.locks.numbers.contains_key(&slot) { self.locks.at(me, at) } else { under };
        let by = |map: &FxHashMap<SlotId, Vec<AccessMeeting>>| {
            map.get(&slot)
                .is_some_and(|list| list.iter().any(|m| m.under & under == 0 && running.has(m.task) && m.met.has(me)))
        };
        by(&self.writes) || (access == SlotAccess::Write && by(&self.reads))
    }

    pub(super) fn pinned(&self, slot: SlotId) -> bool {
        self.pinned.contains(&slot)
    }

    pub(super) fn may_run(&self, me: TaskId, at: Loc, other: TaskId) -> bool {
        self.running[me.index()].get(at.index()).is_none_or(|s| s.has(other))
    }

    /// Whether another thread may read the slot while the thread stands at the place.
    pub(super) fn read_meanwhile(&self, slot: SlotId, me: TaskId, at: Loc) -> bool {
        let Some(mut readers) = self.readers.get(&slot).cloned() else { return false };
        readers.remove(me);
        self.running[me.index()].get(at.index()).is_none_or(|running| running.meets(&readers))
    }

    /// Whether the thread, or one that it or its children start, reads the slot.
    pub(super) fn read_by_family(&self, slot: SlotId, of: TaskId) -> bool {
        self.readers.get(&slot).is_some_and(|readers| self.family[of.index()].meets(readers))
    }

    /// Whether the same threads may run, and the same mutexes are held, while the thread stands at either place.
    pub(super) fn same_company(&self, me: TaskId, a: Loc, b: Loc) -> bool {
        let running = &self.running[me.index()];
        running.get(a.index()) == running.get(b.index()) && self.locks.at(me, a) == self.locks.at(me, b)
    }

    pub(super) fn starts(&self) -> &FxHashMap<SlotId, TaskId> {
        &self.starts
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotAccess {
    Read,
    Write,
}
