//! The differential tests: whatever a method claims on random programs must agree with the reference semantics.
//!
//! A few hundred programs here; `THREADPROOF_DIFFERENTIAL=20000` makes it a long run. One binary, so that it links once.

mod assume;
mod callers;
mod calls;
mod conformance;
mod exploration;
mod hidden;
mod integers;
mod paste;
mod proofs;
mod reduced_calls;
mod reduction;
mod refuter;
mod source;
mod threader;
mod whole;
