//! One file per proof rule. A rule turns a program and a certificate into obligations, or says what is wrong with the certificate.

pub mod assume_guarantee;
pub mod counting;
pub mod environments;
pub mod local;
pub mod performed;
pub mod product;
pub mod reduction;
pub mod rely_guarantee;
pub mod search;
pub mod simulation;

use program::{Code, Program, PropertyId, PropertyKind};
use std::collections::BTreeSet;

/// Rules over thread code speak of gates in that code, of invariants and of relies. A property whose gates stand only in
/// code that no thread runs is not theirs to claim: the program must be closed by a client first.
pub fn claimable(program: &Program, claimed: &[PropertyId]) -> Result<(), Malformed> {
    let gates = |codes: &mut dyn Iterator<Item = &Code>| -> BTreeSet<PropertyId> {
        codes.flat_map(|c| c.actions.iter().flat_map(|a| a.gates.iter().map(|g| g.property))).collect()
    };
    let of_threads = gates(&mut program.threads.iter().map(|t| &t.code));
    let procedures = program.procedures.iter().map(|c| &c.code);
    let of_others = gates(&mut procedures.chain(program.objects.iter().flat_map(|o| o.ops.iter().map(|op| &op.code))));
    for p in claimed {
        let Some(property) = program.properties.get(*p) else { return Err(Malformed(format!("no property {p}"))) };
        let (in_threads, elsewhere) = (of_threads.contains(p), of_others.contains(p));
        let fine = match property.kind {
            PropertyKind::Invariant(_) => true,
            // A rely sees an atomic block as one step; rules that look at its steps one by one cannot speak of it.
            PropertyKind::Rely(_) => !program.threads.iter().any(|t| t.code.locations.iter().any(|l| l.inside)),
            PropertyKind::Performs(_)
            | PropertyKind::Follows(_)
            | PropertyKind::Linearizable(_)
            | PropertyKind::Deadlock
            | PropertyKind::Leak => false,
            PropertyKind::Requires(_) | PropertyKind::Ensures(_) => in_threads,
            _ => in_threads || !elsewhere,
        };
        if !fine {
            return Err(Malformed(format!("this rule says nothing about {}", property.name)));
        }
    }
    Ok(())
}

/// What is wrong with a certificate before any formula is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl From<String> for Malformed {
    fn from(s: String) -> Self {
        Malformed(s)
    }
}
