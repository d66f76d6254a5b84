//! A run of clients of an object whose history no order of the calls explains (or that fails a gate inside an operation).
//!
//! The trace is one of the client program, which `program::clients::client_program` builds from the program and the clients alone:
//! the checker builds it again and replays the trace there.

use crate::trace::Trace;
use program::clients::Clients;
use program::{ObjectId, PropertyId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    pub object: ObjectId,
    pub clients: Clients,
    /// The property of the program that a step of an operation violates; `None`: the finished history is not linearizable.
    pub gate: Option<PropertyId>,
    pub trace: Trace,
}
