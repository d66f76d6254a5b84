//! checker: to be filled.
