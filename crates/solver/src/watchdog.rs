//! Stops questions in Z3 when the budget of the work ends.
//!
//! In: a context that is busy and the budget it works for. Out: `Z3_interrupt`, repeated until the question returns,
//! because an interrupt that arrives before Z3 has begun is lost. One thread for the whole process looks at all
//! busy contexts every few milliseconds, and parks when there was none for a while. A question thus costs two short
//! locks, and no wake-up in a row of questions.

use base::Budget;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use z3_provider::library::{Z3_context, Z3_interrupt};

struct Busy {
    context: Z3_context,
    budget: Budget,
    ticket: u64,
}

// SAFETY: another thread uses the pointer only for `Z3_interrupt`, which Z3 allows from any thread, and only under
// the lock that `Watched::drop` takes before the context can be deleted.
unsafe impl Send for Busy {}

#[derive(Default)]
struct BusyList {
    busy: Vec<Busy>,
    tickets: u64,
    /// Whether the thread must be woken.
    parked: bool,
}

#[derive(Default)]
struct Watchdog {
    list: Mutex<BusyList>,
    arrived: Condvar,
}

/// While this lives, the context is interrupted as soon as the budget ends.
pub(crate) struct Watched {
    ticket: u64,
}

const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Looks without any work before the thread parks: about a second.
const IDLE_POLLS_BEFORE_PARKING: u32 = 200;

fn watch() -> &'static Watchdog {
    static WATCH: OnceLock<&'static Watchdog> = OnceLock::new();
    WATCH.get_or_init(|| {
        let watch: &'static Watchdog = Box::leak(Box::default());
        // Without the thread, questions end by their resource limit only: slower to stop, never wrong.
        let _ = std::thread::Builder::new().name("solver-watchdog".into()).spawn(move || look(watch));
        watch
    })
}

fn lock(watch: &Watchdog) -> MutexGuard<'_, BusyList> {
    watch.list.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look(watch: &'static Watchdog) {
    let mut list = lock(watch);
    let (mut quiet, mut seen) = (0, 0);
    loop {
        quiet = if list.busy.is_empty() && list.tickets == seen { quiet + 1 } else { 0 };
        seen = list.tickets;
        if quiet > IDLE_POLLS_BEFORE_PARKING {
            list.parked = true;
            list = watch.arrived.wait(list).unwrap_or_else(PoisonError::into_inner);
            list.parked = false;
            quiet = 0;
            continue;
        }
        for one in &list.busy {
            // Effort is counted between questions, so that where it ends does not depend on the moment.
            if one.budget.check_limits().is_err() {
                // SAFETY: the context is alive while it is listed.
                unsafe { Z3_interrupt(one.context) };
            }
        }
        drop(list);
        std::thread::sleep(POLL_INTERVAL);
        list = lock(watch);
    }
}

pub(crate) fn guard(context: Z3_context, budget: &Budget) -> Watched {
    let watch = watch();
    let mut list = lock(watch);
    list.tickets += 1;
    let ticket = list.tickets;
    list.busy.push(Busy { context, budget: budget.clone(), ticket });
    if list.parked {
        watch.arrived.notify_one();
    }
    Watched { ticket }
}

impl Drop for Watched {
    fn drop(&mut self) {
        lock(watch()).busy.retain(|one| one.ticket != self.ticket);
    }
}
