//! A concrete run, step by step: enough for the reference semantics to replay it with no search and no solver.
//!
//! The types are those of `program::semantics`, which replays them; here they have the names that evidence uses.

pub use program::semantics::{Choice, InstanceCounts, Trace, TraceStep};
