//! SMT and Horn back ends: the only crate that knows z3, cvc5 and SMT-LIB.
//!
//! In: interned terms of `logic`. Out: answers, models, cores, Horn solutions, and text.

pub mod version;
