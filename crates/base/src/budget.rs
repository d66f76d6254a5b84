//! What a piece of work may use, and how it learns that it has to stop.
//!
//! In: limits of time, memory and effort, cancellation. Out: a `Budget`, shared and cheap to clone: one flag, one deadline, one
//! memory ceiling. Work calls `check` often enough to stop within a fraction of a second.
//! Beside the clock there is *effort*: a count of what was done (states expanded, resources of a solver), which is the same in every
//! run on every machine. Work that must give the same answer under any load is bounded by effort, never by a share of the clock;
//! a unit is about a microsecond of an ordinary processor.
//! Deliberately absent: the bound of a single question to a solver, which has a resource counter of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Why work had to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// Asked to stop: by the user, or because another method answered first.
    Cancelled,
    Time,
    Memory,
    /// The share of the effort that this part of the work was given.
    Effort,
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Exhausted::Cancelled => "it was interrupted",
            Exhausted::Time => "the time limit was reached",
            Exhausted::Memory => "the memory limit was reached",
            Exhausted::Effort => "its share of the work was done",
        })
    }
}

#[derive(Debug)]
struct BudgetState {
    cancelled: AtomicBool,
    /// Resident bytes last seen, refreshed at most every few milliseconds.
    resident: AtomicU64,
    /// Microseconds since `start` of the last refresh.
    refreshed: AtomicU64,
    /// Units of effort spent here and in all children.
    spent: AtomicU64,
}

/// So much may be spent, by this counter.
#[derive(Clone, Debug)]
struct Allowance {
    counter: Arc<BudgetState>,
    most: u64,
}

/// How much was done by the time certain amounts of effort were spent: of work that is stopped at some moment after that, the same is known in every run.
#[derive(Debug)]
pub struct EffortMarks {
    counter: Arc<BudgetState>,
    /// An amount of effort, and the most that was done when no more was spent.
    marks: Vec<(u64, AtomicU64)>,
}

impl EffortMarks {
    /// What was done within this much effort, one of the amounts that were asked for.
    pub fn done_within(&self, effort: u64) -> Option<u64> {
        self.marks.iter().find(|(most, _)| *most == effort).map(|(_, done)| done.load(Ordering::Relaxed))
    }
}

/// Limits shared by everything that works on one request.
#[derive(Clone, Debug)]
pub struct Budget {
    shared: Arc<BudgetState>,
    parents: Vec<Arc<BudgetState>>,
    start: Instant,
    deadline: Option<Instant>,
    memory: Option<u64>,
    allowances: Vec<Allowance>,
    marks: Option<Arc<EffortMarks>>,
}

impl Budget {
    pub fn unlimited() -> Self {
        Self {
            shared: Arc::new(BudgetState {
                cancelled: AtomicBool::new(false),
                resident: AtomicU64::new(0),
                refreshed: AtomicU64::new(0),
                spent: AtomicU64::new(0),
            }),
            parents: Vec::new(),
            start: Instant::now(),
            deadline: None,
            memory: None,
            allowances: Vec::new(),
            marks: None,
        }
    }
    /// Notes what is done by certain amounts of effort, of this budget and its children together.
    pub fn with_marks(mut self, amounts: &[u64]) -> (Self, Arc<EffortMarks>) {
        let marks = amounts.iter().map(|most| (*most, AtomicU64::new(0))).collect();
        let marks = Arc::new(EffortMarks { counter: self.shared.clone(), marks });
        self.marks = Some(marks.clone());
        (self, marks)
    }
    /// So much is done now, by some measure of the work's own.
    pub fn mark(&self, done: u64) {
        let Some(marks) = &self.marks else { return };
        let spent = marks.counter.spent.load(Ordering::Relaxed);
        for (_, known) in marks.marks.iter().filter(|(most, _)| spent <= *most) {
            known.fetch_max(done, Ordering::Relaxed);
        }
    }
    pub fn with_time(mut self, limit: Duration) -> Self {
        let at = Instant::now() + limit;
        self.deadline = Some(self.deadline.map_or(at, |d| d.min(at)));
        self
    }
    /// A ceiling on the resident memory of the whole process, in bytes.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = Some(self.memory.map_or(bytes, |m| m.min(bytes)));
        self
    }
    /// A budget that can be cancelled alone, and that is cancelled with its parent.
    pub fn child(&self) -> Self {
        let mut parents = self.parents.clone();
        parents.push(self.shared.clone());
        let (allowances, marks) = (self.allowances.clone(), self.marks.clone());
        Self { parents, allowances, marks, deadline: self.deadline, memory: self.memory, ..Self::unlimited() }
    }
    /// From now on so much effort, said as the time it takes on an ordinary processor. Meant for a child of a budget: what
    /// the parent spends elsewhere does not count.
    pub(crate) fn with_effort(mut self, amount: Duration) -> Self {
        let most = self.spent().saturating_add(u64::try_from(amount.as_micros()).unwrap_or(u64::MAX));
        self.allowances.push(Allowance { counter: self.shared.clone(), most });
        self
    }
    /// A child with so much effort. The clock ends it, too, but only where a machine is so slow or so busy that waiting is pointless.
    pub fn share(&self, amount: Duration) -> Self {
        self.child().with_effort(amount).with_time(amount.saturating_mul(MAX_CLOCK_FACTOR))
    }
    /// Counts work done.
    pub fn spend(&self, units: u64) {
        self.shared.spent.fetch_add(units, Ordering::Relaxed);
        self.parents.iter().for_each(|p| {
            p.spent.fetch_add(units, Ordering::Relaxed);
        });
    }
    /// Units spent so far, by children too.
    pub fn spent(&self) -> u64 {
        self.shared.spent.load(Ordering::Relaxed)
    }
    /// Units that may still be spent, where that is limited.
    pub fn effort_left(&self) -> Option<u64> {
        self.allowances.iter().map(|a| a.most.saturating_sub(a.counter.spent.load(Ordering::Relaxed))).min()
    }
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Relaxed)
            || self.parents.iter().any(|p| p.cancelled.load(Ordering::Relaxed))
    }
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory
    }
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
    /// How much of the time limit is left, where there is one.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|d| d.saturating_duration_since(Instant::now()))
    }
    /// Ok while work may go on.
    pub fn check(&self) -> Result<(), Exhausted> {
        self.check_limits()?;
        if self.effort_left() == Some(0) { Err(Exhausted::Effort) } else { Ok(()) }
    }
    /// The same without effort: for work that ends by itself once its effort is used, at a place that is always the same.
    pub fn check_limits(&self) -> Result<(), Exhausted> {
        if self.is_cancelled() {
            return Err(Exhausted::Cancelled);
        }
        if self.deadline.is_some_and(|d| Instant::now() >= d) {
            return Err(Exhausted::Time);
        }
        if let Some(limit) = self.memory {
            let now = self.start.elapsed().as_micros() as u64 + 1;
            let last = self.shared.refreshed.load(Ordering::Relaxed);
            if last == 0 || now - last.min(now) > 5_000 {
                self.shared.refreshed.store(now, Ordering::Relaxed);
                self.shared.resident.store(resident_bytes(), Ordering::Relaxed);
            }
            if self.shared.resident.load(Ordering::Relaxed) > limit {
                return Err(Exhausted::Memory);
            }
        }
        Ok(())
    }
}

/// How many times slower than an ordinary, idle processor a machine may be before the clock ends what effort should have ended.
const MAX_CLOCK_FACTOR: u32 = 30;

/// Resident memory of this process, or 0 where the system does not say.
pub fn resident_bytes() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/statm") else { return 0 };
    text.split_whitespace().nth(1).and_then(|p| p.parse::<u64>().ok()).map_or(0, |pages| pages * 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_a_child_stops_with_its_parent_but_not_the_other_way() {
        let parent = Budget::unlimited();
        let child = parent.child();
        child.cancel();
        assert_eq!(parent.check(), Ok(()));
        assert_eq!(child.check(), Err(Exhausted::Cancelled));
        let other = parent.child();
        parent.cancel();
        assert_eq!(other.check(), Err(Exhausted::Cancelled));
    }

    #[test]
    fn check_effort_ends_the_part_it_was_given_to_and_counts_for_the_whole() {
        let whole = Budget::unlimited();
        whole.spend(7);
        let part = whole.share(Duration::from_micros(100));
        let piece = part.child();
        piece.spend(60);
        assert_eq!((part.check(), part.effort_left(), whole.spent()), (Ok(()), Some(40), 67));
        piece.spend(50);
        assert_eq!((part.check(), piece.check()), (Err(Exhausted::Effort), Err(Exhausted::Effort)));
        assert_eq!((part.check_limits(), whole.check(), whole.spent()), (Ok(()), Ok(()), 117));
        whole.spend(1000);
        assert_eq!((part.spent(), whole.effort_left()), (110, None));
    }

    #[test]
    fn check_marks_know_what_was_done_by_an_amount_of_effort_and_no_more() {
        let (whole, marks) = Budget::unlimited().with_marks(&[10, 100]);
        let part = whole.share(Duration::from_secs(1));
        part.mark(3);
        part.spend(10);
        part.mark(5);
        part.mark(4);
        part.spend(1);
        whole.child().mark(9);
        whole.spend(500);
        part.mark(77);
        assert_eq!((marks.done_within(10), marks.done_within(100), marks.done_within(11)), (Some(5), Some(9), None));
    }

    #[test]
    fn check_a_tiny_memory_limit_is_noticed() {
        assert_eq!(Budget::unlimited().with_memory(1).check(), Err(Exhausted::Memory));
    }
}
