//! Rule `composed`: conformance and composition (Abstract Threads, section 2, Theorem 1).
//!
//! In: a simulation for every thread that follows a machine, and a certificate about the composition of the machines, which is built
//! again here. Out: what the two establish of the program.
//!   CM1  every thread that follows a machine conforms to it (rule `simulation`), one simulation for each;
//!   CM2  the composition cannot go wrong in any way: every gate of it is claimed, and established, by the certificate inside.
//! Then neither can the program; and the stores of its runs are stores of the composition's, so that invariants of it carry over.
//! Deliberately absent: properties that are neither gates nor invariants.

use super::{simulation, wrong_form};
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use crate::verdict::Trust;
use evidence::{Certificate, ComposedProof, Proof};
use program::compose::compose_machines;
use program::transition::gated_properties;
use program::{Program, PropertyId, PropertyKind};

pub(crate) fn check_composed(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Composed(proof) = &c.proof else { return Err(wrong_form()) };
    let program = session.program;
    let composition = compose_machines(program).map_err(Rejection::outside)?;
    covers_every_gate(&composition, proof)?;
    for q in &c.properties {
        if !speaks_of(program, proof, *q) {
            return Err(Rejection::not_about(program, *q));
        }
    }
    let threads = conformance(session, c, proof)?;
    if gated_properties(&composition).is_empty() && proof.composition.properties.is_empty() {
        // CM2 asks for nothing: there is no gate to fail, and the certificate inside claims nothing.
        return Ok(threads);
    }
    let inner = session.check_inner(&composition, &proof.composition)?;
    if let Some(rejection) = inner.properties.into_values().find_map(Result::err) {
        return Err(rejection);
    }
    Ok(Established {
        trust: Trust::Both(Box::new(threads.trust), Box::new(inner.trust)),
        properties: threads.properties,
    })
}

/// CM1.
fn conformance(
    session: &mut CheckSession<'_>,
    c: &Certificate,
    proof: &ComposedProof,
) -> Result<Established, Rejection> {
    let program = session.program;
    let mut list = Vec::new();
    for (t, thread) in program.threads.iter_enumerated().filter(|(_, t)| t.follows.is_some()) {
        let mut of = proof.simulations.iter().filter(|s| s.thread == t);
        let (Some(one), None) = (of.next(), of.next()) else {
            return Err(Rejection::missing(format!("one simulation of thread {} is needed", thread.name)));
        };
        list.extend(simulation::obligations(program, &c.terms, one)?);
    }
    session.discharge(c, list)
}

/// CM2, before the certificate inside is looked at: it claims every gate of the composition.
fn covers_every_gate(composition: &Program, proof: &ComposedProof) -> Result<(), Rejection> {
    for w in gated_properties(composition) {
        if !proof.composition.properties.contains(&w) {
            let name = &composition.properties[w].name;
            return Err(Rejection::missing(format!("CM2: the composition may go wrong by {name}")));
        }
    }
    Ok(())
}

/// Whether the rule says anything about a property.
fn speaks_of(program: &Program, proof: &ComposedProof, q: PropertyId) -> bool {
    match program.properties[q].kind {
        PropertyKind::Invariant(_) => proof.composition.properties.contains(&q),
        PropertyKind::Follows(t) => program.threads[t].follows.is_some_and(|(_, own)| own == q),
        _ => gated_properties(program).contains(&q),
    }
}
