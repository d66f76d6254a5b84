//! Rule `callers`: a file without threads, for any callers.
//!
//! In: a certificate about the program with its most general client, which is built again here. Properties keep their ids in it.
//!   CL1  the certificate inside establishes what each claimed property stands for in the program with its client.
//! With an object, only its linearizability follows: the specification beside it is there for nothing else.
//! Out: the claimed properties hold for any callers that meet `requires`. Deliberately absent: an access predicate of a variable that procedures
//! touch (a caller may hold the lock itself), leaks where callers have objects in their hands.

use super::wrong_form;
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{Certificate, Proof};
use program::callers::{WithCallers, callers, keep_objects, touched_by_callers};
use program::client::Effort;
use program::transition::gated_properties;
use program::{ObjectId, Program, PropertyId, PropertyKind};

pub(crate) fn check_callers(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Callers(proof) = &c.proof else { return Err(wrong_form()) };
    let program = session.program;
    let client =
        callers(program, proof.object, &proof.linearization_points, Effort::Any).map_err(Rejection::outside)?;
    let mut stands_for = Vec::new();
    for q in &c.properties {
        let shown = counterpart(program, &client, proof.object, *q).ok_or_else(|| Rejection::not_about(program, *q))?;
        if !proof.proof.properties.contains(&shown) {
            return Err(Rejection::missing("CL1: the proof inside does not claim what it stands for"));
        }
        stands_for.push((*q, shown));
    }
    let found = session.check_inner(&client.program, &proof.proof)?;
    Ok(Established {
        trust: found.trust.clone(),
        properties: stands_for.into_iter().map(|(q, shown)| (q, found.shows(shown))).collect(),
    })
}

/// The property of the program with its callers that stands for a property of the file; none: callers do not decide it.
pub(crate) fn counterpart(
    program: &Program,
    client: &WithCallers,
    object: Option<ObjectId>,
    q: PropertyId,
) -> Option<PropertyId> {
    match (&program.properties[q].kind, object) {
        (PropertyKind::Linearizable(o), Some(object)) if *o == object => client.history,
        (PropertyKind::Linearizable(_), _) | (_, Some(_)) => None,
        (PropertyKind::Invariant(_) | PropertyKind::Rely(_), None) => Some(q),
        (PropertyKind::Leak, None) => keep_objects(program).then_some(q),
        (PropertyKind::Access(_), None) if touched_by_callers(program, q) => None,
        (_, None) => gated_properties(&client.program).contains(&q).then_some(q),
    }
}
