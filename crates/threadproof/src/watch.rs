//! Keeps the promises about time, memory and Ctrl-C whatever the methods do.
//!
//! In: the board, the limits, and a way to print the report. Work that behaves stops by its budget; this thread is
//! the last resort for work that does not: it closes what is open with the reason, prints the report and ends the
//! process. Resident memory is read every few milliseconds, because a search can take a gigabyte in a second.
//! Deliberately absent: process limits of the system, which end in a crash instead of a report.

use crate::board::{Board, RunRecord};
use base::Budget;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Prints the final report of a record, or gives the exit code for output that is lost.
pub type Print = Arc<dyn Fn(&RunRecord) -> Result<(), i32> + Send + Sync>;

const LOOK_EVERY: Duration = Duration::from_millis(3);
/// How long work may stay over the memory limit, as long as it is over by little.
const MEMORY_GRACE_PERIOD: Duration = Duration::from_millis(1500);
/// How long work may take to report what it has found after Ctrl-C; a second Ctrl-C ends at once.
const GRACE_AFTER_INTERRUPT: Duration = Duration::from_millis(1500);
pub const INTERRUPTED: &str = "it was interrupted";
/// How far beyond its deadline a file may go before the process is ended.
const DEADLINE_GRACE_PERIOD: Duration = Duration::from_millis(300);

pub struct LimitWatchdog {
    pub board: Arc<Board>,
    pub budget: Budget,
    pub memory: Option<u64>,
    pub print: Print,
}

impl LimitWatchdog {
    /// Starts the watching thread, and takes over Ctrl-C.
    pub fn start(self) {
        let watch = Arc::new(self);
        let at_interrupt = watch.clone();
        // A failure to install it (a second handler in one process) leaves the default: the process ends at once.
        let again = AtomicBool::new(false);
        let _ = ctrlc::set_handler(move || {
            at_interrupt.budget.cancel();
            if again.swap(true, Ordering::Relaxed) {
                at_interrupt.end(INTERRUPTED);
            }
            // What a search has found so far is made a trace and replayed; then the main thread reports and leaves.
            let last = at_interrupt.clone();
            let _ = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
                std::thread::sleep(GRACE_AFTER_INTERRUPT);
                last.end(INTERRUPTED)
            });
        });
        let _ = std::thread::Builder::new().name("watch".into()).spawn(move || watch.look());
    }

    fn look(&self) -> ! {
        let mut over_since: Option<Instant> = None;
        loop {
            std::thread::sleep(LOOK_EVERY);
            if let Some(limit) = self.memory {
                let resident = base::budget::resident_bytes();
                if resident > limit {
                    let since = *over_since.get_or_insert_with(Instant::now);
                    if resident > limit + limit / 20 || since.elapsed() > MEMORY_GRACE_PERIOD {
                        self.budget.cancel();
                        self.end("the memory limit was reached");
                    }
                } else {
                    over_since = None;
                }
            }
            let late = self.board.lock().deadline.is_some_and(|d| Instant::now() > d + DEADLINE_GRACE_PERIOD);
            if late {
                self.budget.cancel();
                self.end("the time limit was reached");
            }
        }
    }

    /// Closes what is open, reports, and ends the process.
    fn end(&self, reason: &str) -> ! {
        let mut record = self.board.lock();
        record.stop_all(reason);
        let printed = (self.print)(&record);
        exit_process(printed.map_or_else(|lost| lost, |()| record.exit_code()))
    }
}

/// Ends the process without running destructors: abandoned work may still be inside the solver.
pub fn exit_process(code: i32) -> ! {
    unsafe extern "C" {
        fn _exit(code: std::ffi::c_int) -> !;
    }
    let _ = std::io::stdout().flush();
    let _ = std::io::stderr().flush();
    crate::members::dismiss_members();
    solver::end_solver_processes();
    // SAFETY: `_exit` is always there on Unix, takes any number and does not return.
    unsafe { _exit(code) }
}

/// The memory limit where the user gave none: nine tenths of what the machine has to spare now.
pub fn spare_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    let mut bytes = kilobytes * 1024;
    for file in ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"] {
        if let Some(limit) = std::fs::read_to_string(file).ok().and_then(|t| t.trim().parse::<u64>().ok()) {
            bytes = bytes.min(limit);
        }
    }
    Some(bytes / 10 * 9)
}
