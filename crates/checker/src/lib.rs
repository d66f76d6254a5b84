//! The checker: a claim against a program gives a verdict. The only place where verdicts are made.
//!
//! In: a `Program`, claims (certificates and traces), and an oracle for the validity of formulas (`Leaves`). Out:
//! `Verdict`s. It rebuilds every obligation of a proof from the program and the certificate; it replays every trace by
//! the reference semantics with no solver. It uses neither the solver crate nor the methods, the front ends or the
//! simplifier: an error there can lose a proof and cannot make one. One file per rule, see `docs/rules.md`.

mod again;
mod conclude;
pub mod leaves;
pub mod obligation;
pub mod rules;
pub mod shape;
pub mod verdict;

pub use conclude::{Checked, Checker, Limits};
pub use leaves::{Answer, Leaves};
pub use obligation::Obligation;
pub use verdict::{Evidence, Outcome, Trust, Verdict};
