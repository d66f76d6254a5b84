//! Claims, certificates and traces, and their versioned file format.
//!
//! A claim is what a method says; it is not a verdict. Only the crate `checker` turns claims into verdicts.

pub mod certificate;
pub mod claim;
pub mod file;
pub mod trace;
pub mod views;

pub use certificate::{
    Annotation, Certificate, Counter, Counting, Environments, InstanceSymbols, Layer, Proof, RelyGuarantee, Search,
};
pub use claim::{Claim, Claims, Reason, Statistics};
pub use trace::{Choice, Instances, Trace, TraceStep};
