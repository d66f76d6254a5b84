//! The refutations: rules `replay`, `client-run` and `history`, and the table of all five. No solver.
//!
//! In: a counterexample and the property it is said to violate. Out: nothing, if the reference semantics agrees step by step; else why
//! the run shows nothing. The program that a run of callers or clients is one of is built again here, from the program alone.

use super::{callers, local_run, spec_run};
use crate::rejection::Rejection;
use evidence::{ClientRun, Counterexample, History, Trace};
use program::semantics::{InstanceCounts, replay_trace};
use program::{Program, PropertyId, PropertyKind};

/// Whether the counterexample shows that the property is violated, by the rule for runs of its kind.
pub(crate) fn check_counterexample(
    program: &Program,
    property: PropertyId,
    run: &Counterexample,
) -> Result<(), Rejection> {
    if program.properties.get(property).is_none() {
        return Err(crate::rejection::SideCondition::NoSuchProperty.into());
    }
    if run.violates().is_some_and(|violates| violates != property) {
        return Err(Rejection::replay("it is about another property"));
    }
    match run {
        Counterexample::Run(trace) => whole_run(program, trace),
        Counterexample::ClientRun(run) => client_run(program, property, run),
        Counterexample::History(run) => history(program, property, run),
        Counterexample::LocalRun(run) => {
            local_run::replay_local_run(program, run).map(|_| ()).map_err(Rejection::Replay)
        }
        Counterexample::SpecRun(run) => spec_run::replay_spec_run(program, run).map(|_| ()).map_err(Rejection::Replay),
    }
}

/// Rule `replay`: the numbers of instances are those the program allows, and the run is replayed to the violation.
fn whole_run(program: &Program, trace: &Trace) -> Result<(), Rejection> {
    if !trace.instances.allowed(program) {
        return Err(Rejection::replay("its numbers of threads are not those of the program"));
    }
    replayed(program, trace)
}

/// Rule `client-run`: the bounded client is built again from the program and the effort. What callers do not decide, they do not refute.
fn client_run(program: &Program, property: PropertyId, run: &ClientRun) -> Result<(), Rejection> {
    let client = program::callers::callers(program, None, &[], run.effort).map_err(Rejection::Replay)?;
    // A proof about callers says nothing of access predicates, since a caller may hold the lock itself; a run of callers that hold
    // nothing is a violation all the same.
    let is_access = matches!(program.properties[property].kind, PropertyKind::Access(_));
    if !is_access && callers::counterpart(program, &client, None, property) != Some(property) {
        return Err(Rejection::not_about(program, property));
    }
    if !run.trace.instances.allowed(&client.program) {
        return Err(Rejection::replay("its instances are not those of the callers"));
    }
    replayed(&client.program, &run.trace)
}

/// Rule `history`: the client program is built again from the program and the clients.
fn history(program: &Program, property: PropertyId, h: &History) -> Result<(), Rejection> {
    let about = match h.gate {
        // Where there are threads, what goes wrong inside an operation is a matter of their calls alone.
        Some(gate) => gate == property && program.threads.is_empty(),
        None => program.properties[property].kind == PropertyKind::Linearizable(h.object),
    };
    if !about {
        return Err(Rejection::replay("it is about another property"));
    }
    let (clients, explained) = h.program(program).map_err(Rejection::Replay)?;
    let one_of_each = InstanceCounts(vec![1; clients.threads.len()]);
    if h.trace.violates != h.gate.unwrap_or(explained) || h.trace.instances != one_of_each {
        return Err(Rejection::replay("its trace is not one of the clients to the violation"));
    }
    replayed(&clients, &h.trace)
}

fn replayed(program: &Program, trace: &Trace) -> Result<(), Rejection> {
    replay_trace(program, trace).map(|_| ()).map_err(|mismatch| Rejection::replay(mismatch.to_string()))
}
