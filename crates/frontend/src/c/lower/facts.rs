//! Facts: what one pass of the lowering learns for the next, and all that it may hand over.
//!
//! In: what a pass finds. Out: sets that only grow, so that each is a statement that only gets weaker ("points to nothing
//! else", "is never written", "is a constant"). `absorb` is the join; the lowering ends with a pass that finds nothing new
//! (docs/decisions/120-facts-between-passes.md). Absent: anything that a later pass could take back.

use super::flow::SlotId;
use super::memory::ObjId;
use crate::c::types::CType;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// What one pass learns for the next.
#[derive(Clone, Debug, Default)]
pub(super) struct PassFacts {
    /// By slot, the objects its value may point to.
    pub(crate) points_to: FxHashMap<SlotId, BTreeSet<ObjId>>,
    /// Slots that some step writes.
    pub written: FxHashSet<SlotId>,
    /// Slots of texts whose characters are not followed, because a format made them.
    pub formatted: FxHashSet<SlotId>,
    /// By key, the functions that destroy what threads keep under it.
    pub(crate) destructors: BTreeMap<String, BTreeSet<ObjId>>,
    /// Creation sites of many threads whose handles are joined.
    pub joined: BTreeSet<String>,
    /// Threads that may be detached.
    pub detached: BTreeSet<String>,
    /// Mutexes that may be of another kind than the default.
    pub kinds: BTreeSet<String>,
    /// By condition variable, the threads that wait for it.
    pub(crate) waiters: BTreeMap<String, BTreeSet<String>>,
    /// By allocation without a type, the types its address is given.
    pub(crate) made_of: BTreeMap<String, BTreeSet<CType>>,
    /// Slots whose value was taken for a constant where a later way to the same place has another one.
    pub(crate) unsteady: FxHashSet<SlotId>,
}

impl PassFacts {
    pub(super) fn points(&mut self, slot: SlotId, objects: impl IntoIterator<Item = ObjId>) {
        let mut objects = objects.into_iter().peekable();
        if objects.peek().is_some() {
            self.points_to.entry(slot).or_default().extend(objects);
        }
    }

    /// What there is to learn from.
    fn count(&self) -> usize {
        let sets = self.destructors.values().map(BTreeSet::len).chain(self.waiters.values().map(BTreeSet::len));
        let pointed = self.points_to.values().map(BTreeSet::len);
        let made = self.made_of.values().map(BTreeSet::len);
        let flags = self.written.len()
            + self.formatted.len()
            + self.joined.len()
            + self.kinds.len()
            + self.detached.len()
            + self.unsteady.len();
        flags + sets.chain(pointed).chain(made).sum::<usize>() + self.destructors.len()
    }

    /// Takes in what another pass has found; whether something of it is new.
    pub(crate) fn absorb(&mut self, other: PassFacts) -> bool {
        let before = self.count();
        for (slot, objects) in other.points_to {
            self.points_to.entry(slot).or_default().extend(objects);
        }
        self.written.extend(other.written);
        self.formatted.extend(other.formatted);
        self.joined.extend(other.joined);
        self.kinds.extend(other.kinds);
        self.detached.extend(other.detached);
        self.unsteady.extend(other.unsteady);
        for (key, functions) in other.destructors {
            self.destructors.entry(key).or_default().extend(functions);
        }
        for (key, names) in other.waiters {
            self.waiters.entry(key).or_default().extend(names);
        }
        for (key, types) in other.made_of {
            self.made_of.entry(key).or_default().extend(types);
        }
        self.count() != before
    }
}
