//! Claims, certificates and traces, and their versioned file format.
//!
//! A claim is what a method says; it is not a verdict. Only the crate `checker` turns claims into verdicts.

pub mod certificate;
mod claim;
mod client_run;
mod counterexample;
pub mod file;
pub mod fingerprint;
mod history;
mod local_run;
pub mod quantified;
pub mod recall;
pub mod reduction;
mod spec_run;
mod trace;
pub mod views;

pub use certificate::{
    AssertedProof, AssumeGuarantee, Assumes, CallersProof, Certificate, ComposedProof, Counter, Counting, Environments,
    ExhaustiveSearch, InstanceSymbols, PairsProof, PerformedProof, Premises, ProductProof, Proof, RelatedPair,
    RelyGuarantee, Simulation, SimulationPair, SymbolicSimulation, ThreadAnnotation, needed_of_calls,
    performed_program, shown_of_calls,
};
pub use claim::{Claim, Claims, Reason, Statistics};
pub use client_run::ClientRun;
pub use counterexample::Counterexample;
pub use history::History;
pub use local_run::{CallReading, LocalRun, LocalStep};
pub use quantified::{InstanceCount, NAMED_INSTANCES, Placed, QuantifiedFact, QuantifiedProof};
pub use reduction::{Basis, CutPoint, Guard, MoverPhase, Reduced, Reduction};
pub use spec_run::SpecRun;
pub use trace::{Choice, InstanceCounts, Trace, TraceStep};
