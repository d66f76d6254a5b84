//! What shows that a property is violated: one type, whatever kind of run it is. The checker replays each without a solver.
//!
//! In: a run of the program, of one thread, of a procedure, of callers, or of an object's clients. Out: the property it
//! violates.

use crate::client_run::ClientRun;
use crate::history::History;
use crate::local_run::LocalRun;
use crate::spec_run::SpecRun;
use crate::trace::Trace;
use program::PropertyId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counterexample {
    /// A run of the program's own threads.
    Run(Trace),
    /// One thread's own steps: it does not follow its machine.
    LocalRun(LocalRun),
    /// A run of a procedure that its specification does not explain, or that breaks an access predicate.
    SpecRun(SpecRun),
    /// A run of callers of a program without threads.
    ClientRun(ClientRun),
    /// A run of clients of an object that no order of the calls explains, or that goes wrong inside an operation.
    History(History),
}

impl Counterexample {
    /// The property it says is violated; `None`: that an object is linearizable (the history says which).
    pub fn violates(&self) -> Option<PropertyId> {
        match self {
            Counterexample::Run(trace) => Some(trace.violates),
            Counterexample::LocalRun(run) => Some(run.violates),
            Counterexample::SpecRun(run) => Some(run.violates),
            Counterexample::ClientRun(run) => Some(run.trace.violates),
            Counterexample::History(history) => history.gate,
        }
    }
}

impl From<Trace> for Counterexample {
    fn from(trace: Trace) -> Self {
        Self::Run(trace)
    }
}

impl From<LocalRun> for Counterexample {
    fn from(run: LocalRun) -> Self {
        Self::LocalRun(run)
    }
}

impl From<SpecRun> for Counterexample {
    fn from(run: SpecRun) -> Self {
        Self::SpecRun(run)
    }
}

impl From<ClientRun> for Counterexample {
    fn from(run: ClientRun) -> Self {
        Self::ClientRun(run)
    }
}

impl From<History> for Counterexample {
    fn from(history: History) -> Self {
        Self::History(history)
    }
}
