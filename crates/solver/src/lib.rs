//! solver: to be filled.
