//! The methods, one folder each, behind `Method`. A method makes claims; it never makes verdicts.
//!
//! A method's one door to the world is `Run`: budget, progress, randomness. Methods are run side by side, each on its
//! own clone of the program (`Program` is `Send`, not `Sync`). One folder never uses another's internals.

mod adopt;
pub mod callers;
mod cells;
mod combinations;
pub mod conform;
pub mod count;
pub mod explore;
pub mod horn;
mod infer;
mod instances;
pub mod method;
pub mod modular;
pub mod reduce;
pub mod registry;
pub mod rely;
pub mod shape;
pub mod skeleton;

pub use method::{Method, MethodDescription, MethodEvent, MethodOptions, Publisher, Refusal, Run, Task};
