//! testkit: to be filled.
