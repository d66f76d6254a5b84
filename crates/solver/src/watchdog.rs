//! Stops questions in Z3 when the budget of the work ends.
//!
//! In: a context that is busy and the budget it works for. Out: `Z3_interrupt`, repeated until the question returns,
//! because an interrupt that arrives before Z3 has begun is lost. One thread for the whole process looks at all
//! busy contexts every few milliseconds; it sleeps when there is none. A question thus costs two short locks.

use base::Budget;
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::Duration;
use z3_sys::{Z3_context, Z3_interrupt};

struct Busy {
    context: Z3_context,
    budget: Budget,
    ticket: u64,
}

// SAFETY: another thread uses the pointer only for `Z3_interrupt`, which Z3 allows from any thread, and only under
// the lock that `Watched::drop` takes before the context can be deleted.
unsafe impl Send for Busy {}

#[derive(Default)]
struct Watch {
    busy: Mutex<(Vec<Busy>, u64)>,
    arrived: Condvar,
}

/// While this lives, the context is interrupted as soon as the budget ends.
pub(crate) struct Watched {
    ticket: u64,
}

const EVERY: Duration = Duration::from_millis(5);

fn watch() -> &'static Watch {
    static WATCH: OnceLock<&'static Watch> = OnceLock::new();
    WATCH.get_or_init(|| {
        let watch: &'static Watch = Box::leak(Box::default());
        // Without the thread, questions end by their resource limit only: slower to stop, never wrong.
        let _ = std::thread::Builder::new().name("solver-watchdog".into()).spawn(move || look(watch));
        watch
    })
}

fn lock(watch: &Watch) -> std::sync::MutexGuard<'_, (Vec<Busy>, u64)> {
    watch.busy.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn look(watch: &'static Watch) {
    let mut busy = lock(watch);
    loop {
        if busy.0.is_empty() {
            busy = watch.arrived.wait(busy).unwrap_or_else(std::sync::PoisonError::into_inner);
            continue;
        }
        for one in &busy.0 {
            if one.budget.check().is_err() {
                // SAFETY: the context is alive while it is listed.
                unsafe { Z3_interrupt(one.context) };
            }
        }
        drop(busy);
        std::thread::sleep(EVERY);
        busy = lock(watch);
    }
}

pub(crate) fn guard(context: Z3_context, budget: &Budget) -> Watched {
    let watch = watch();
    let mut busy = lock(watch);
    busy.1 += 1;
    let ticket = busy.1;
    let first = busy.0.is_empty();
    busy.0.push(Busy { context, budget: budget.clone(), ticket });
    drop(busy);
    if first {
        watch.arrived.notify_one();
    }
    Watched { ticket }
}

impl Drop for Watched {
    fn drop(&mut self) {
        lock(watch()).0.retain(|one| one.ticket != self.ticket);
    }
}
