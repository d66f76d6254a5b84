//! program: to be filled.
