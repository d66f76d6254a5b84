//! What all owners of the states of a search agree on: who owns a state, which of several answers counts, why a search stopped.
//!
//! In: hashes, violations, reasons. Out: choices that do not depend on who met what first.
//! Deliberately absent: the meetings of the owners (`exchange`).

use base::Exhausted;

/// The nearest violation of a property.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NearestViolation<const W: usize> {
    /// Steps (in eager mode: folded steps) from the start.
    pub distance: usize,
    /// Seen in this state, or on a step from it.
    pub source: [u64; W],
    /// The level of that state.
    pub level: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchStop {
    Exhausted(Exhausted),
    /// The greatest depth allowed was reached.
    Depth,
    /// Every wanted property is violated.
    AllFound,
}

/// The owner of a hash: by its low bits, which the table does not use.
pub(crate) fn owner_of(hash: u64, owners: usize) -> usize {
    (((hash & 0xffff) as usize) * owners) >> 16
}

/// Of several values the least is taken, so that it does not matter who met which first.
pub(crate) fn keep_least<T: Ord>(slot: &mut Option<T>, new: T) {
    match slot {
        Some(old) if *old <= new => {}
        _ => *slot = Some(new),
    }
}
