//! evidence: to be filled.
