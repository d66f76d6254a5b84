//! z3-provider: to be filled.
