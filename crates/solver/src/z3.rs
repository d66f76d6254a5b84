//! Z3 in process: raw terms, sessions, values of models, and formulas back into terms.
//!
//! The only folder with `unsafe`: every call into the library is wrapped in `context` or stands beside its reason.

pub(crate) mod context;
pub(crate) mod decode;
pub(crate) mod meter;
pub(crate) mod session;
pub(crate) mod value;
