//! A short search for bugs before the long work: an ordinary method, run with little effort and few instances.
//!
//! In: a method that searches. Out: the same method under the name `scout`, which keeps only what it refuted or proved
//! within that effort. A bug that is near is then reported at once, while the long search goes on; and a proof for any number of threads is
//! reported only after this search has not contradicted it as far as it goes; where the numbers of threads are fixed, as far as it comes while the proof is found. Its limit is effort and not time, so that what it finds is the same in
//! every run. Deliberately absent: any search of its own.

use super::race::ends_of_rounds;
use base::Budget;
use base::budget::EffortMarks;
use evidence::{Claim, Claims};
use methods::{Method, MethodDescription, Refusal, Run, Task};
use std::sync::Arc;
use std::time::Duration;

pub const NAME: &str = "scout";
/// As many instances of each thread of any number.
pub const SCOUTED_INSTANCES: u64 = 3;
/// Where all numbers are fixed, the search may well be the proof; for any number, and over a heap, the proof runs beside it.
const FIXED_EFFORT: Duration = Duration::from_secs(4);
const SHORT_EFFORT: Duration = Duration::from_millis(400);
/// It may take so many bytes: where states are so large that this is little, it ends early and leaves the machine to the others.
const MAX_BYTES: u64 = 768 << 20;

pub struct Scout {
    pub search: Arc<dyn Method>,
    pub effort: Option<Duration>,
    pub reductions: Reductions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reductions {
    /// As the user says.
    Usual,
    Off,
}

/// How far the search has come that is not waited for to its end: that of fixed numbers of threads, which may be endless.
pub struct Scouted {
    clock: Budget,
    marks: Arc<EffortMarks>,
}

impl Scouted {
    /// Has the clock of the scout, if there is one, note what it has seen by the end of each round. Nothing where the search is short.
    pub fn new(task: &Task, names: &[&str], clocks: &mut [Budget]) -> Option<Self> {
        let at = names.iter().position(|n| *n == NAME).filter(|_| !is_beside_a_proof(task))?;
        let (clock, marks) = clocks[at].clone().with_marks(&ends_of_rounds());
        clocks[at] = clock.clone();
        Some(Self { clock, marks })
    }

    /// Whether it has spent more than this.
    pub fn has_passed(&self, effort: u64) -> bool {
        self.clock.spent() > effort
    }

    /// States that it had seen by the end of a round.
    pub fn states_within(&self, effort: u64) -> u64 {
        self.marks.done_within(effort).unwrap_or(0)
    }
}

/// Whether the search is a short one beside a proof for any number of threads, or about a heap; else it may well be the proof.
fn is_beside_a_proof(task: &Task) -> bool {
    task.is_parametric() || !task.program.classes.is_empty()
}

impl Scout {
    pub fn new(search: Arc<dyn Method>) -> Self {
        Self { search, effort: None, reductions: Reductions::Usual }
    }
}

impl Method for Scout {
    fn about(&self) -> MethodDescription {
        MethodDescription { name: NAME, summary: "a short search for bugs", ..self.search.about() }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        self.search.admits(task)
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let beside_a_proof = is_beside_a_proof(task);
        let usual = if beside_a_proof { SHORT_EFFORT } else { FIXED_EFFORT };
        let mut task = task.clone();
        task.options.0.entry("instances".into()).or_insert_with(|| SCOUTED_INSTANCES.to_string());
        if self.reductions == Reductions::Off {
            for name in ["por", "symmetry", "dead", "heap"] {
                task.options.0.insert(name.into(), "off".into());
            }
        }
        let workers = if beside_a_proof { (run.workers / 2).max(1) } else { run.workers };
        let share = run.budget.share(self.effort.unwrap_or(usual));
        let budget = share.with_memory(base::budget::resident_bytes() + MAX_BYTES);
        let short = Run { budget, workers, ..run.clone() };
        let mut claims = self.search.run(&task, &short);
        claims.claims.retain(|_, claim| !matches!(claim, Claim::Undecided(_)));
        claims.notes.clear();
        claims
    }
}
