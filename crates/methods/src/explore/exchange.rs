//! How the owners of the states of one search hand successors to each other and agree on what comes next.
//!
//! In: successors by owner; what each owner has to report. Out: what is for oneself; the decision of the leader (owner 0), the same for all.
//! Here stands the form for threads of one process, `Together`; `apart` has the one for several processes. Neither knows what a search does: the
//! order of what is handed over changes no result, because owners take in sets of states and the leader decides by sums and least elements.

use super::guess::Escape;
use super::segment::LoggedSegment;
use super::shared::{NearestViolation, SearchStop, keep_least};
use base::Exhausted;
use program::PropertyId;
use std::collections::BTreeMap;
use std::sync::{Barrier, Mutex};

/// A packed state and how many steps from the level at hand it is.
pub(crate) type Reached<const W: usize> = ([u64; W], u32);

/// Successors by owner.
pub(crate) type Handing<const W: usize> = Vec<Vec<Reached<W>>>;

/// What all owners do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Expand so many parts of the level, with an exchange after each.
    Rounds(u32),
    Level,
    Stop(Option<SearchStop>),
}

/// How far an owner is at a meeting, or all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnerSizes {
    /// States of this level that are still to be expanded: of all, and of the owner with the most.
    pub left: u64,
    pub most_left: u64,
    pub coming: u64,
    pub states: u64,
    pub bytes: u64,
    /// Bytes sent to other processes so far.
    pub sent: u64,
}

/// What an owner says at a meeting, or what several have said together; what is found since the last one.
#[derive(Clone, Debug)]
pub(crate) struct OwnerReport<const W: usize> {
    pub sizes: OwnerSizes,
    pub transitions: u64,
    /// Effort that the number of states does not tell: what steps of the reference semantics copied, first steps from initial states.
    pub more_effort: u64,
    pub found: BTreeMap<PropertyId, NearestViolation<W>>,
    /// The least value of the level that has no room.
    pub escape: Option<Escape>,
    pub exhausted: Option<Exhausted>,
    /// Something that cannot wait for the end of the level.
    pub failed: bool,
    /// Why some outcomes are missing.
    pub incomplete: Option<String>,
    pub segments: Vec<LoggedSegment>,
}

impl<const W: usize> Default for OwnerReport<W> {
    fn default() -> Self {
        Self {
            sizes: OwnerSizes::default(),
            transitions: 0,
            more_effort: 0,
            found: BTreeMap::new(),
            escape: None,
            exhausted: None,
            failed: false,
            incomplete: None,
            segments: Vec::new(),
        }
    }
}

impl<const W: usize> OwnerReport<W> {
    pub(crate) fn merge(&mut self, other: OwnerReport<W>) {
        let (all, one) = (&mut self.sizes, other.sizes);
        all.left += one.left;
        all.most_left = all.most_left.max(one.most_left);
        all.coming += one.coming;
        all.states += one.states;
        all.bytes += one.bytes;
        all.sent += one.sent;
        self.transitions += other.transitions;
        self.more_effort += other.more_effort;
        other.found.into_iter().for_each(|(p, found)| keep_nearest(&mut self.found, p, found));
        other.escape.into_iter().for_each(|e| keep_least(&mut self.escape, e));
        other.incomplete.into_iter().for_each(|why| keep_least(&mut self.incomplete, why));
        self.exhausted = self.exhausted.or(other.exhausted);
        self.failed |= other.failed;
        self.segments.extend(other.segments);
    }
}

pub(crate) fn keep_nearest<const W: usize>(
    all: &mut BTreeMap<PropertyId, NearestViolation<W>>,
    property: PropertyId,
    found: NearestViolation<W>,
) {
    match all.get_mut(&property) {
        Some(old) if *old <= found => {}
        Some(old) => *old = found,
        None => {
            all.insert(property, found);
        }
    }
}

/// The bond between the owners of one search. An error says who of them is gone; the search is then worth nothing.
pub(crate) trait Exchange<const W: usize> {
    fn me(&self) -> usize;
    fn owners(&self) -> usize;
    /// How many states are expanded before successors are handed over.
    fn states_per_round(&self) -> usize;
    /// Most rounds between two meetings.
    fn most_rounds(&self) -> u64;
    /// Bytes sent to other processes so far.
    fn sent(&self) -> u64;
    /// Hands over all successors, which leaves the lists empty, and takes what others have for this owner.
    fn swap(&mut self, out: &mut Handing<W>, take: &mut dyn FnMut(&[Reached<W>])) -> Result<(), String>;
    /// Waits until all have taken what they were handed: needed between two calls of `swap` without a meeting.
    fn rejoin(&self);
    /// Everyone reports; the leader alone calls `lead`, with all reports merged.
    fn meet(
        &mut self,
        report: OwnerReport<W>,
        lead: &mut dyn FnMut(OwnerReport<W>) -> Decision,
    ) -> Result<Decision, String>;
}

/// How many states are expanded before successors are handed over to other threads.
const STATES_PER_BATCH: usize = 4096;
const UNPOISONED: &str = "no worker panics while it holds the lock";

/// What the threads of one search share.
pub(crate) struct MeetingPlace<const W: usize> {
    workers: usize,
    /// From worker to worker.
    handed: Vec<Mutex<Vec<Reached<W>>>>,
    barrier: Barrier,
    reports: Mutex<OwnerReport<W>>,
    decision: Mutex<Decision>,
}

impl<const W: usize> MeetingPlace<W> {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers,
            handed: (0..workers * workers).map(|_| Mutex::new(Vec::new())).collect(),
            barrier: Barrier::new(workers),
            reports: Mutex::new(OwnerReport::default()),
            decision: Mutex::new(Decision::Rounds(1)),
        }
    }
}

/// One thread of a search in one process.
pub(crate) struct Together<'a, const W: usize> {
    pub me: usize,
    pub place: &'a MeetingPlace<W>,
}

impl<const W: usize> Exchange<W> for Together<'_, W> {
    fn me(&self) -> usize {
        self.me
    }
    fn owners(&self) -> usize {
        self.place.workers
    }
    fn states_per_round(&self) -> usize {
        STATES_PER_BATCH
    }
    fn most_rounds(&self) -> u64 {
        1
    }
    fn sent(&self) -> u64 {
        0
    }
    fn swap(&mut self, out: &mut Handing<W>, take: &mut dyn FnMut(&[Reached<W>])) -> Result<(), String> {
        let workers = self.place.workers;
        for (to, states) in out.iter_mut().enumerate() {
            let mut box_ = self.place.handed[self.me * workers + to].lock().expect(UNPOISONED);
            if box_.is_empty() {
                std::mem::swap(&mut *box_, states);
            } else {
                box_.append(states);
            }
        }
        self.place.barrier.wait();
        for from in 0..workers {
            let box_ = &self.place.handed[from * workers + self.me];
            let mut states = std::mem::take(&mut *box_.lock().expect(UNPOISONED));
            take(&states);
            states.clear();
            *box_.lock().expect(UNPOISONED) = states;
        }
        Ok(())
    }
    fn rejoin(&self) {
        self.place.barrier.wait();
    }
    fn meet(
        &mut self,
        report: OwnerReport<W>,
        lead: &mut dyn FnMut(OwnerReport<W>) -> Decision,
    ) -> Result<Decision, String> {
        let place = self.place;
        place.reports.lock().expect(UNPOISONED).merge(report);
        place.barrier.wait();
        if self.me == 0 {
            let all = std::mem::take(&mut *place.reports.lock().expect(UNPOISONED));
            *place.decision.lock().expect(UNPOISONED) = lead(all);
        }
        place.barrier.wait();
        Ok(place.decision.lock().expect(UNPOISONED).clone())
    }
}
