//! A run of clients of an object whose history no order of the calls explains (or not the order of the marked points, or that fails a gate inside an
//! operation).
//!
//! The trace is one of the client program, which `program::clients::client_program` builds from the program and the clients alone:
//! the checker builds it again and replays the trace there.

use crate::trace::Trace;
use program::clients::{Against, Clients, client_program};
use program::{ObjectId, Program, PropertyId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    pub object: ObjectId,
    pub clients: Clients,
    /// What the results are held against.
    pub against: Against,
    /// The property of the program that a step of an operation violates; `None`: the history is not linearizable, or not with the marked points.
    pub gate: Option<PropertyId>,
    pub trace: Trace,
}

impl History {
    /// The program of the clients, and what stands in it for "this history has an explanation".
    pub fn program(&self, program: &Program) -> Result<(Program, PropertyId), String> {
        client_program(program, self.object, &self.clients, self.against)
    }
}
