//! logic: to be filled.
