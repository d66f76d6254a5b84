//! The checker: a claim against a program gives a verdict. The only place where verdicts are made.
//!
//! In: a `Program`, claims (certificates and counterexamples), and an oracle for the validity of formulas (`ValidityOracle`). Out:
//! `Verdict`s. It rebuilds every obligation of a proof from the program and the certificate; it replays every counterexample by
//! the reference semantics with no solver. It uses neither the solver crate nor the methods, the front ends or the
//! simplifier: an error there can lose a proof and cannot make one. One file per rule, listed in `rules::RULES`; see `docs/rules.md`
//! for what they ask and `docs/soundness.md` for why that is enough.

mod again;
mod conclude;
mod obligation;
mod oracle;
mod premise;
mod rejection;
pub mod rules;
mod session;
pub mod shape;
mod verdict;

pub use conclude::{CheckedClaim, Checker};
pub use obligation::Premise;
pub use oracle::{OracleAnswer, ValidityOracle};
pub use rejection::Rejection;
pub use session::CheckLimits;
pub use verdict::{Evidence, Outcome, Trust, Verdict};
