//! The methods, one folder each, behind `Method`. A method makes claims; it never makes verdicts.
//!
//! A method's one door to the world is `Run`: budget, progress, randomness. Methods are run side by side, each on its
//! own clone of the program (`Program` is `Send`, not `Sync`). One folder never uses another's internals.

mod adopt;
mod callers;
mod cells;
mod combinations;
mod conform;
mod count;
mod explore;
mod horn;
mod infer;
mod instances;
mod method;
mod modular;
mod quantify;
mod reduce;
mod registry;
mod rely;
mod shape;
mod skeleton;

pub use callers::Callers;
pub use conform::Conform;
pub use conform::propose::{conforms_to, propose_machine};
pub use count::Count;
pub use explore::linear;
pub use explore::search::SearchProgress;
pub use explore::shared::SearchStop;
pub use explore::spread;
pub use explore::system::Switches;
pub use explore::{Exploration, Explore, ExplorePlan, ExploreWith, SearchMeans, Walk, explore_states};
pub use horn::HornClauses;
pub use method::{Method, MethodDescription, MethodEvent, MethodOptions, Refusal, Run, Task};
pub use quantify::Quantify;
pub use reduce::Reduce;
pub use registry::all_methods;
pub use rely::RelyMethod;
pub use shape::{Shape, picture, views_in_words};
pub use skeleton::FirstStep;
