//! Rule `search`: a finite instance whose reachable states are all looked at.
//!
//! In: the numbers of instances and of states the method saw. The checker searches again by the reference semantics,
//! which shares no code with the methods, and trusts nothing else where that is affordable. A larger search is not
//! repeated, and the verdict says so. Only properties that a single run can violate.

use crate::conclude::Limits;
use crate::rules::claimable;
use crate::verdict::Trust;
use evidence::{Reason, Search};
use program::semantics::{self, Instances};
use program::{Program, PropertyId, PropertyKind};

pub fn check(
    program: &Program,
    proof: &Search,
    counts: &Instances,
    claimed: &[PropertyId],
    limits: &Limits,
) -> Result<Trust, Reason> {
    let rejected = |why: String| Reason::Internal(format!("the certificate was rejected: {why}"));
    let runs: Vec<PropertyId> =
        claimed.iter().copied().filter(|p| !matches!(program.properties[*p].kind, PropertyKind::Deadlock)).collect();
    claimable(program, &runs).map_err(|m| rejected(m.0))?;
    if proof.instances != counts.0 {
        return Err(rejected("its numbers of threads are not those of the program".into()));
    }
    if proof.states > limits.search {
        return Ok(Trust::SearchedOnce { states: proof.states });
    }
    let bounds = semantics::Limits {
        // The method may have merged symmetric states or folded local steps; the reference semantics does neither.
        states: limits.search.saturating_mul(8) as usize,
        budget: limits.budget.clone(),
        ..semantics::Limits::default()
    };
    let found = semantics::reach(program, counts, &bounds);
    if let Some(p) = claimed.iter().find(|p| found.violations.contains_key(p)) {
        return Err(rejected(format!("{} is violated", program.properties[*p].name)));
    }
    match found.incomplete {
        None => Ok(Trust::Searched { states: found.states as u64 }),
        Some(why) if limits.budget.check().is_ok() && why.starts_with("more than") => {
            Ok(Trust::SearchedOnce { states: proof.states })
        }
        Some(why) => Err(Reason::Incomplete(why)),
    }
}
