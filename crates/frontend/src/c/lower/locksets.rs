//! Sets of mutexes. In: what `locks` finds. Out: which mutexes a thread surely holds at a place, and what each of them is good for.
//! Deliberately absent: how they are found (`locks`).

use super::flow::*;
use super::*;

/// A set of mutexes, by their number in `CLocksets::numbers`.
pub(super) type Held = u64;

#[derive(Clone, Debug, Default)]
pub(super) struct CLocksets {
    pub numbers: FxHashMap<SlotId, u32>,
    /// By thread and place.
    pub held: Vec<Vec<Held>>,
    pub(crate) trusted: Held,
    /// Trusted, and no step depends on them otherwise than by waiting.
    pub plain: Held,
    /// Plain, and spoken of by no specification.
    pub simple: Held,
}

impl CLocksets {
    pub(super) fn bit(&self, slot: SlotId) -> Held {
        self.numbers.get(&slot).map_or(0, |n| 1 << n)
    }
    pub(super) fn at(&self, task: TaskId, place: Loc) -> Held {
        self.held.get(task.index()).and_then(|h| h.get(place.index())).copied().unwrap_or(0) & self.trusted
    }
    pub(super) fn is_plain(&self, slot: SlotId) -> bool {
        self.bit(slot) & self.plain != 0
    }
    pub(super) fn is_simple(&self, slot: SlotId) -> bool {
        self.bit(slot) & self.simple != 0
    }
    pub(super) fn holds(&self, task: TaskId, place: Loc, slot: SlotId) -> bool {
        self.bit(slot) & self.at(task, place) != 0
    }
}
