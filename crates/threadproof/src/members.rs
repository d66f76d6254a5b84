//! The other processes of a search, for whoever ends this one.
//!
//! In: connections and children, from `several`. Out: they are dismissed when this process ends.
//! Deliberately absent: how they are found and started (`several`).

use methods::spread::Members;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Those who are told when this process ends well.
pub static MEMBERS: Mutex<Option<Arc<Members>>> = Mutex::new(None);

/// The processes that this one has started.
pub static CHILDREN: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// How long those who were dismissed are waited for.
const MAX_WAIT_FOR_CHILDREN: Duration = Duration::from_secs(2);

/// Tells the other processes, if any, that the work is over, and sees those off that were started here.
pub fn dismiss_members() {
    let members = MEMBERS.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(members) = members else { return };
    members.dismiss();
    let until = Instant::now() + MAX_WAIT_FOR_CHILDREN;
    for child in CHILDREN.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
        while child.try_wait().is_ok_and(|e| e.is_none()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
