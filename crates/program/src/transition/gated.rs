//! Which properties stand in gates, and of which a proof about the threads' code alone may speak.
//!
//! In: a program. Out: sets of properties. The checker decides for itself what may be claimed (`checker::rules::claimable`);
//! methods ask here so that one property that cannot be claimed does not cost them a whole certificate.

use crate::code::Code;
use crate::model::Program;
use crate::property::{PropertyId, PropertyKind};

/// Whether the code has a gate of the property.
pub fn has_gate_of(code: &Code, property: PropertyId) -> bool {
    code.actions.iter().any(|a| a.gates.iter().any(|g| g.property == property))
}

/// The properties whose gates stand in the code of some thread: the ways in which the program can go wrong.
pub fn gated_properties(program: &Program) -> Vec<PropertyId> {
    let mut out: Vec<PropertyId> = program
        .threads
        .iter()
        .flat_map(|t| t.code.actions.iter().flat_map(|a| a.gates.iter().map(|g| g.property)))
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Whether a proof about the runs of the threads says anything about the property: not where its gates stand only in code that
/// no thread runs, nor where it is not about single runs. Deadlock and leaks are not looked at.
pub fn claimable_of_threads(program: &Program, property: PropertyId) -> bool {
    let in_threads = || program.threads.iter().any(|t| has_gate_of(&t.code, property));
    let elsewhere = || {
        program.procedures.iter().any(|q| has_gate_of(&q.code, property))
            || program.objects.iter().any(|o| o.ops.iter().any(|op| has_gate_of(&op.code, property)))
    };
    match program.properties[property].kind {
        PropertyKind::Invariant(_) => true,
        // A rely sees an atomic block with a loop as one step.
        PropertyKind::Rely(_) => !program.threads.iter().any(|t| t.code.locations.iter().any(|l| l.in_atomic_block)),
        PropertyKind::Performs(_) | PropertyKind::Follows(_) | PropertyKind::Linearizable(_) => false,
        PropertyKind::Requires(_) | PropertyKind::Ensures(_) => in_threads(),
        _ => in_threads() || !elsewhere(),
    }
}
