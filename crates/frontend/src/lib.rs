//! Source text in, `Program` and origins out: one folder per source language.
//!
//! Every front end collects its errors as diagnostics and never panics on any bytes.

pub mod c;
pub mod java;
pub mod lang;
