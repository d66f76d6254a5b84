//! Claims, certificates and traces, and their versioned file format.
//!
//! A claim is what a method says; it is not a verdict. Only the crate `checker` turns claims into verdicts.

pub mod called;
pub mod certificate;
pub mod claim;
pub mod file;
pub mod fingerprint;
pub mod history;
pub mod local;
pub mod recall;
pub mod reduction;
pub mod stray;
pub mod trace;
pub mod views;

pub use called::Called;
pub use certificate::{
    Annotation, AssumeGuarantee, Assumes, Callers, Certificate, Composed, Counter, Counting, Environments,
    InstanceSymbols, Layer, Pair, Performed, Product, Proof, Reach, RelyGuarantee, Search, Simulation, needed_of_calls,
    performed_program, shown_of_calls,
};
pub use claim::{Claim, Claims, Reason, Statistics};
pub use history::History;
pub use local::{Local, LocalStep, Reading};
pub use reduction::{Basis, Cut, Guard, Phase, Reduced, Reduction};
pub use trace::{Choice, Instances, Trace, TraceStep};
