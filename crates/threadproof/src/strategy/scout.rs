//! A short search for bugs before the long work: an ordinary method, run with little time and few instances.
//!
//! In: a method that searches. Out: the same method under the name `scout`, which keeps only what it refuted or proved
//! in that time. A bug that is near is then told at once, while the long search goes on. Deliberately absent: any
//! search of its own.

use evidence::{Claim, Claims};
use methods::{About, Method, Refusal, Run, Task};
use std::sync::Arc;
use std::time::Duration;

const LONGEST: Duration = Duration::from_secs(5);
/// It may take so many bytes: where states are so large that this is little, it ends early and leaves the machine to the others.
const SHARE: u64 = 768 << 20;

pub struct Scout(pub Arc<dyn Method>);

impl Method for Scout {
    fn about(&self) -> About {
        About { name: "scout", summary: "a short search for bugs", ..self.0.about() }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        self.0.admits(task)
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let time = run.budget.time_left().map_or(LONGEST, |left| (left / 5).min(LONGEST));
        let mut task = task.clone();
        task.options.0.entry("instances".into()).or_insert_with(|| "3".into());
        // The proof for every number of threads runs beside it.
        let workers = if task.is_parametric() { (run.workers / 2).max(1) } else { run.workers };
        let budget = run.budget.child().with_time(time).with_memory(base::budget::resident_bytes() + SHARE);
        let short = Run { budget, workers, ..run.clone() };
        let mut claims = self.0.run(&task, &short);
        claims.claims.retain(|_, claim| !matches!(claim, Claim::Undecided(_)));
        claims.notes.clear();
        claims
    }
}
