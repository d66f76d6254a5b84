//! The soundness hunts: whatever a method claims on random programs must agree with the reference semantics.
//!
//! A few hundred programs here; `THREADPROOF_HUNT=20000` makes it a long run. One binary, so that it links once.

mod assume;
mod calls;
mod conformance;
mod exploration;
mod integers;
mod paste;
mod proofs;
mod reduction;
mod threader;

/// How many random programs to look at.
pub fn rounds(usual: u64) -> u64 {
    std::env::var("THREADPROOF_HUNT").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}
