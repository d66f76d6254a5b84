//! A run of callers of a program without threads, to the violation of a property.
//!
//! The trace is one of the program with a bounded client, which `program::client` builds from the program and the
//! effort alone: the checker builds it again and replays the trace there.

use crate::trace::Trace;
use program::client::Effort;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRun {
    pub effort: Effort,
    pub trace: Trace,
}
