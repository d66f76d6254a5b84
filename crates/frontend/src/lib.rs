//! frontend: to be filled.
