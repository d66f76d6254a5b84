//! The interface of a method: what it is about, which programs it takes, how it runs.
//!
//! In: a `Task` (program, properties, options) and a `Run` (budget, seed, workers, where events go). Out: `Claims`; a
//! `Refusal` where the program is not wholly handled.

use base::Budget;
use evidence::{Claim, Claims, InstanceCounts};
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
    pub options: MethodOptions,
}

/// Switches a user may set for a method, by name: `bias`, `por`, `symmetry`. Unknown names are refused by the command line.
#[derive(Clone, Debug, Default)]
pub struct MethodOptions(pub BTreeMap<String, String>);

/// What a method is called and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct MethodDescription {
    pub name: &'static str,
    pub summary: &'static str,
    pub paper: &'static str,
}

/// Why a method does not take a program at all. "Partly supported" is a refusal too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

pub trait Method: Send + Sync {
    fn about(&self) -> MethodDescription;
    /// Whether the method can handle every construct of the program that matters for at least one wanted property.
    fn admits(&self, task: &Task) -> Result<(), Refusal>;
    /// At most one claim for each property; a property it does not speak of is left out. A claim that is certain before the work
    /// for the other properties has ended is published through `run` at once, and is part of the answer as well.
    fn run(&self, task: &Task, run: &Run) -> Claims;
}

/// Progress of long work.
#[derive(Clone, Debug)]
pub enum MethodEvent {
    /// A line that replaces the one before it: "explore: 1.2 M states, 3.1 M/s, depth 41, 312 MB".
    Progress(String),
    /// A line that stays.
    Note(String),
}

/// Takes claims of a method that is still at work; they are checked before it goes on.
pub(crate) type Publisher = Arc<dyn Fn(&Claims) + Send + Sync>;

/// A method's door to the world.
#[derive(Clone)]
pub struct Run {
    pub budget: Budget,
    pub seed: u64,
    /// How many worker threads a method may use.
    pub workers: usize,
    pub events: Arc<dyn Fn(MethodEvent) + Send + Sync>,
    /// Where claims go before the method has ended; used through `publish`.
    pub publisher: Publisher,
}

impl Run {
    pub fn quiet(budget: Budget) -> Self {
        Self { budget, seed: 0, workers: 1, events: Arc::new(|_| {}), publisher: Arc::new(|_| {}) }
    }
    /// Hands over what is certain now: whatever happens to the method afterwards (a time limit, a crash), it is not lost.
    /// Undecided properties may be among the claims; nothing is taken from them. Publishing a claim twice costs little.
    pub fn publish(&self, claims: &Claims) {
        if claims.claims.values().any(|c| !matches!(c, Claim::Undecided(_))) {
            (self.publisher)(claims);
        }
    }
    /// Hands over one claim.
    pub fn publish_one(&self, property: PropertyId, claim: Claim) {
        let mut claims = Claims::default();
        claims.set(property, claim);
        self.publish(&claims);
    }
    /// A run whose claims are about another program, or are only parts of an argument: they are for the caller alone.
    pub fn inner(&self) -> Self {
        Self { publisher: Arc::new(|_| {}), ..self.clone() }
    }
    pub fn progress(&self, line: impl Into<String>) {
        (self.events)(MethodEvent::Progress(line.into()));
    }
    pub fn note(&self, line: impl Into<String>) {
        (self.events)(MethodEvent::Note(line.into()));
    }
}

impl Task {
    /// The numbers of instances this task asks for: fixed ones, `One`, `Exactly`; `any` where the program says any number.
    pub fn instances(&self, any: u32) -> InstanceCounts {
        InstanceCounts(
            self.program
                .threads
                .iter_enumerated()
                .map(|(id, t)| match (self.threads.get(&id), t.start, t.copies) {
                    (_, program::Start::Spawned, _) => 0,
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
            t.start == program::Start::Initial && t.copies == program::Copies::Any && !self.threads.contains_key(&id)
        })
    }
}
