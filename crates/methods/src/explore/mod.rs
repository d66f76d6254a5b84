//! Explicit-state search of finite instances: every interleaving of n threads, with the shortest trace to a violation.
//!
//! In: a task. Out: for each property that is a matter of single runs (assertions and the other gates,
//! invariants, relies, access predicates, deadlock) a claim: proved, with a certificate that says how many states
//! there are and that the checker searches again; refuted, with a trace; undecided. For threads in any number the
//! search is a search for bugs with more and more instances, and never proves.
//!
//! Reductions, each of which can be switched off: `por` folds steps that are invisible to other threads into a step of the
//! same instance; `symmetry` keeps one of the states that differ in which identical instance is which; `dead` resets
//! locals that are not read again. None changes a verdict. `symmetry` and `dead` keep distances. Folding does not: it
//! takes steps that a shortest trace may leave out. So the first search folds steps eagerly, into the step before,
//! which gives the fewest states; when it finds violations, a second search, for these alone and no longer than the
//! traces known, folds steps lazily, into the step after, and counts every step: any run can be changed into such a run
//! of the same length or less by moving each invisible step to the instance's next step that is not invisible, and leaving out
//! those after the last. Its distances are therefore those of the search without folding.

mod arguments;
mod checkpoint;
pub(crate) mod code;
pub(crate) mod compile;
mod compiled;
mod disk;
mod exchange;
pub(crate) mod facts;
mod footprint;
pub(crate) mod guess;
pub(crate) mod heap;
pub(crate) mod layout;
pub mod linear;
pub(crate) mod locks;
pub(crate) mod machine;
pub(crate) mod memo;
mod method;
mod run;
pub(crate) mod search;
mod segment;
pub(crate) mod shared;
mod shorten;
pub mod spread;
pub(crate) mod symmetry;
pub(crate) mod system;
pub(crate) mod table;
pub(crate) mod tids;
mod trace;
pub(crate) mod update;
mod walk;
mod wire;
pub(crate) mod worker;

#[cfg(test)]
mod checked;
#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::parsed;

pub use method::{Explore, ExploreWith};
pub use run::{Exploration, ExplorePlan, SearchMeans, explore_states};
pub use walk::Walk;
