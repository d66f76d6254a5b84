//! Rule `views`: a finite set of views of single threads, closed under every step. The rule itself stands in `checker::shape`.

use super::wrong_form;
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use crate::verdict::Trust;
use evidence::{Certificate, Proof};

pub(crate) fn check_views(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Views(proof) = &c.proof else { return Err(wrong_form()) };
    let found = crate::shape::check_shape(session.program, proof, &c.properties, &session.limits.budget);
    let found = found.map_err(Rejection::Views)?;
    let rests_on = format!(
        "{} views closed under every step, checked again by an independent transformer ({} steps, {} pairs), no solver",
        found.views, found.steps, found.pairs
    );
    Ok(Established::all(&c.properties, Trust::Argued { rests_on }))
}
