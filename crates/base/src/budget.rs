//! What a piece of work may use, and how it is told to stop.
//!
//! A `Budget` is shared (cheap to clone): one flag, one deadline, one memory ceiling. Work calls `check` often
//! enough to stop within a fraction of a second. Solver work is bounded by its own resource counter, not here.

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
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Exhausted::Cancelled => "it was interrupted",
            Exhausted::Time => "the time limit was reached",
            Exhausted::Memory => "the memory limit was reached",
        })
    }
}

#[derive(Debug)]
struct Shared {
    cancelled: AtomicBool,
    /// Resident bytes last seen, refreshed at most every few milliseconds.
    resident: AtomicU64,
    /// Microseconds since `start` of the last refresh.
    refreshed: AtomicU64,
}

/// Limits shared by everything that works on one request.
#[derive(Clone, Debug)]
pub struct Budget {
    shared: Arc<Shared>,
    parents: Vec<Arc<Shared>>,
    start: Instant,
    deadline: Option<Instant>,
    memory: Option<u64>,
}

impl Budget {
    pub fn unlimited() -> Self {
        Self {
            shared: Arc::new(Shared {
                cancelled: AtomicBool::new(false),
                resident: AtomicU64::new(0),
                refreshed: AtomicU64::new(0),
            }),
            parents: Vec::new(),
            start: Instant::now(),
            deadline: None,
            memory: None,
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
        Self { parents, ..Self { deadline: self.deadline, memory: self.memory, ..Self::unlimited() } }
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
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|d| d.saturating_duration_since(Instant::now()))
    }
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
    /// Ok while work may go on.
    pub fn check(&self) -> Result<(), Exhausted> {
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

/// Resident memory of this process, or 0 where the system does not tell.
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
    fn check_a_tiny_memory_limit_is_noticed() {
        assert_eq!(Budget::unlimited().with_memory(1).check(), Err(Exhausted::Memory));
    }
}
