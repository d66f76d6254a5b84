//! Happens-before by vector clocks, and data races: C11 5.1.2.4, with each access's own atomicity and memory order.
//!
//! In: accesses of threads, and what synchronises. Out: the earlier access that a new one races with. Two accesses
//! race if they conflict, are not both atomic, and neither happens before the other. For each word of eight bytes the accesses
//! that still matter are kept, with the bytes they touch; one is dropped when a later access that it happens before conflicts with
//! everything it would conflict with. Release sequences are those of C11: a relaxed store of another thread ends one, a
//! read-modify-write continues it. Deliberately absent: `consume` is `acquire`; values are sequentially consistent, so races that only a weaker
//! order of values can show are not found.

use crate::module::{FunctionId, Position};
use rustc_hash::FxHashMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VectorClock(Vec<u32>);

impl VectorClock {
    pub(crate) fn get(&self, thread: u32) -> u32 {
        self.0.get(thread as usize).copied().unwrap_or(0)
    }
    pub(crate) fn tick(&mut self, thread: u32) {
        self.grow(thread as usize + 1);
        self.0[thread as usize] += 1;
    }
    pub(crate) fn join(&mut self, other: &VectorClock) {
        self.grow(other.0.len());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
    fn grow(&mut self, length: usize) {
        if self.0.len() < length {
            self.0.resize(length, 0);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessDirection {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomicity {
    Atomic,
    NotAtomic,
}

/// Where an access stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessSite {
    pub function: FunctionId,
    pub position: Position,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessRecord {
    pub thread: u32,
    clock: u32,
    pub direction: AccessDirection,
    pub(crate) atomicity: Atomicity,
    bytes: u8,
    pub site: AccessSite,
}

/// The clock that a release operation left at an atomic object.
#[derive(Clone, Debug)]
struct Published {
    clock: VectorClock,
    by: u32,
}

#[derive(Default)]
pub(crate) struct Shadow {
    words: FxHashMap<u64, Vec<AccessRecord>>,
    published: FxHashMap<(u32, u64), Published>,
}

/// The memory orders, numbered as C11 and gcc number them.
pub(crate) mod order {
    pub(crate) const RELAXED: i128 = 0;
    pub(crate) const RELEASE: i128 = 3;
    pub(crate) fn acquires(order: i128) -> bool {
        // Everything but relaxed and release; consume counts as acquire.
        order & 7 != RELAXED && order & 7 != RELEASE
    }
    pub(crate) fn releases(order: i128) -> bool {
        matches!(order & 7, 3..)
    }
}

impl Shadow {
    /// Notes an access and gives the earlier one it races with.
    #[allow(clippy::too_many_arguments)] // An access is all of these; a record of them would be built for one call.
    pub(crate) fn access(
        &mut self,
        allocation: u32,
        offset: u64,
        size: u64,
        thread: u32,
        clock: &VectorClock,
        direction: AccessDirection,
        atomicity: Atomicity,
        site: AccessSite,
    ) -> Option<AccessRecord> {
        let mut race = None;
        let (mut at, end) = (offset, offset + size);
        while at < end {
            let word = at / 8;
            let until = ((word + 1) * 8).min(end);
            let bytes = (at..until).fold(0u8, |mask, b| mask | 1 << (b % 8));
            let new = AccessRecord { thread, clock: clock.get(thread), direction, atomicity, bytes, site };
            let found = self.word(u64::from(allocation) << 32 | word, new, clock);
            race = race.or(found);
            at = until;
        }
        race
    }

    fn word(&mut self, key: u64, new: AccessRecord, clock: &VectorClock) -> Option<AccessRecord> {
        let records = self.words.entry(key).or_default();
        let mut race = None;
        records.retain(|old| {
            let before = old.thread == new.thread || old.clock <= clock.get(old.thread);
            let overlap = old.bytes & new.bytes != 0;
            let both_atomic = old.atomicity == Atomicity::Atomic && new.atomicity == Atomicity::Atomic;
            let conflict = old.direction == AccessDirection::Write || new.direction == AccessDirection::Write;
            if !before && overlap && conflict && !both_atomic {
                race = race.or(Some(*old));
            }
            let covered = old.bytes & !new.bytes == 0;
            let as_strong = (new.direction == AccessDirection::Write || old.direction == AccessDirection::Read)
                && (new.atomicity == Atomicity::NotAtomic || old.atomicity == Atomicity::Atomic);
            !(before && covered && as_strong)
        });
        records.push(new);
        race
    }

    /// An atomic store: what its release order, or an earlier release fence of the thread, publishes.
    pub(crate) fn store(&mut self, at: (u32, u64), thread: u32, clock: Option<&VectorClock>, update: AtomicUpdate) {
        match clock {
            Some(clock) => {
                let mut clock = clock.clone();
                if update == AtomicUpdate::ReadModifyWrite
                    && let Some(old) = self.published.get(&at)
                {
                    clock.join(&old.clock);
                }
                self.published.insert(at, Published { clock, by: thread });
            }
            None => {
                let continues =
                    update == AtomicUpdate::ReadModifyWrite || self.published.get(&at).is_some_and(|p| p.by == thread);
                if !continues {
                    self.published.remove(&at);
                }
            }
        }
    }

    /// What an atomic load of acquire order synchronises with.
    pub(crate) fn published(&self, at: (u32, u64)) -> Option<&VectorClock> {
        self.published.get(&at).map(|p| &p.clock)
    }

    pub(crate) fn forget_object(&mut self, allocation: u32, size: u64) {
        for word in 0..size.div_ceil(8) {
            self.words.remove(&(u64::from(allocation) << 32 | word));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicUpdate {
    Store,
    ReadModifyWrite,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> AccessSite {
        AccessSite { function: FunctionId(0), position: 0 }
    }
    fn clocks() -> (VectorClock, VectorClock) {
        let (mut a, mut b) = (VectorClock::default(), VectorClock::default());
        a.tick(0);
        b.tick(1);
        (a, b)
    }

    #[test]
    fn check_atomicity_is_of_the_access_and_not_of_the_place() {
        let (a, b) = clocks();
        let mut shadow = Shadow::default();
        let atomic = |s: &mut Shadow, t, c: &VectorClock| {
            s.access(0, 0, 4, t, c, AccessDirection::Write, Atomicity::Atomic, site()).is_some()
        };
        assert!(!atomic(&mut shadow, 0, &a));
        assert!(!atomic(&mut shadow, 1, &b));
        assert!(shadow.access(0, 2, 1, 1, &b, AccessDirection::Read, Atomicity::NotAtomic, site()).is_some());
        assert!(shadow.access(0, 4, 4, 1, &b, AccessDirection::Write, Atomicity::NotAtomic, site()).is_none());
    }

    #[test]
    fn check_a_relaxed_store_of_another_thread_ends_a_release_sequence_and_an_update_does_not() {
        let (a, _) = clocks();
        let mut shadow = Shadow::default();
        shadow.store((0, 0), 0, Some(&a), AtomicUpdate::Store);
        shadow.store((0, 0), 1, None, AtomicUpdate::ReadModifyWrite);
        assert!(shadow.published((0, 0)).is_some());
        shadow.store((0, 0), 0, None, AtomicUpdate::Store);
        assert!(shadow.published((0, 0)).is_some(), "the thread's own store continues it");
        shadow.store((0, 0), 1, None, AtomicUpdate::Store);
        assert!(shadow.published((0, 0)).is_none());
    }
}
