//! The interface of a method: what it is about, which programs it takes, how it runs.

use base::Budget;
use evidence::{Claims, Instances};
use program::{Program, PropertyId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program and the properties wanted.
#[derive(Clone, Debug)]
pub struct Task {
    pub program: Program,
    pub properties: Vec<PropertyId>,
    /// Numbers of instances the user fixed (`--threads T=3`), by thread; `None`: as the program says.
    pub threads: BTreeMap<program::ThreadId, u32>,
    pub options: Options,
}

/// Switches a user may set for a method, by name: `bias`, `por`, `symmetry`. Unknown names are refused by the command line.
#[derive(Clone, Debug, Default)]
pub struct Options(pub BTreeMap<String, String>);

/// What a method is called and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct About {
    pub name: &'static str,
    pub summary: &'static str,
    pub paper: &'static str,
}

/// Why a method does not take a program at all. "Partly supported" is a refusal too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

pub trait Method: Send + Sync {
    fn about(&self) -> About;
    /// Whether the method can handle every construct of the program that matters for at least one wanted property.
    fn admits(&self, task: &Task) -> Result<(), Refusal>;
    /// At most one claim for each property; a property it does not speak of is left out.
    fn run(&self, task: &Task, run: &Run) -> Claims;
    /// The same, and claims that are certain are told before the long work for the others.
    fn run_telling(&self, task: &Task, run: &Run, _tell: &dyn Fn(&Claims)) -> Claims {
        self.run(task, run)
    }
}

/// Progress of long work.
#[derive(Clone, Debug)]
pub enum Event {
    /// A line that replaces the one before it: "explore: 1.2 M states, 3.1 M/s, depth 41, 312 MB".
    Progress(String),
    /// A line that stays.
    Note(String),
}

/// A method's door to the world.
#[derive(Clone)]
pub struct Run {
    pub budget: Budget,
    pub seed: u64,
    /// How many worker threads a method may use.
    pub workers: usize,
    pub events: Arc<dyn Fn(Event) + Send + Sync>,
}

impl Run {
    pub fn quiet(budget: Budget) -> Self {
        Self { budget, seed: 0, workers: 1, events: Arc::new(|_| {}) }
    }
    pub fn progress(&self, line: impl Into<String>) {
        (self.events)(Event::Progress(line.into()));
    }
    pub fn note(&self, line: impl Into<String>) {
        (self.events)(Event::Note(line.into()));
    }
}

impl Task {
    /// The numbers of instances this task asks for: fixed ones, `One`, `Exactly`; `any` where the program says any number.
    pub fn instances(&self, any: u32) -> Instances {
        Instances(
            self.program
                .threads
                .iter_enumerated()
                .map(|(id, t)| match (self.threads.get(&id), t.start, t.copies) {
                    (_, program::Start::BySpawn, _) => 0,
                    (Some(n), _, _) => *n,
                    (None, _, program::Copies::One) => 1,
                    (None, _, program::Copies::Exactly(n)) => n,
                    (None, _, program::Copies::Any) => any,
                })
                .collect(),
        )
    }
    /// Whether some thread comes in any number and the user has not fixed it.
    pub fn is_parametric(&self) -> bool {
        self.program.threads.iter_enumerated().any(|(id, t)| {
            t.start == program::Start::AtOnce && t.copies == program::Copies::Any && !self.threads.contains_key(&id)
        })
    }
}
