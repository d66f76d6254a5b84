//! The transition system of a program, read off once for everybody: what several methods and rules need and no paper owns.
//!
//! - `coexistence`: which threads can have two instances at once;
//! - `initial`: what holds of initial stores and locals;
//! - `effects`: what an action does to the store, as substitutions;
//! - `gated`: which properties the code can violate by a failing gate;
//! - `locksets`: which locks are surely held where;
//! - `orders`: loop heads, and locations in topological order.
//!
//! The path encoders are `passive` (regions with interference) and `symbolic` (runs without it).
//! Rightly written twice, because the checker must not share a mistake with what it checks: the checker's formulas about
//! initial stores (`checker::obligation`), its second search (`checker::again`) and its views (`checker::shape`).
//! Deliberately absent: solvers; anything that guesses.

mod coexistence;
mod effects;
mod gated;
mod initial;
mod locksets;
mod orders;

pub use coexistence::{is_unique, may_coexist};
pub use effects::{after_action, primed_after_action, writes_shared};
pub use gated::{claimable_of_threads, gated_properties, has_gate_of};
pub use initial::{initial_locals, initial_locals_facts, initial_store, initial_store_facts};
pub use locksets::{must_locksets, must_sets};
pub use orders::loop_heads;
pub(crate) use orders::{Cycle, topological_order};
