//! Rule `search`: a finite instance whose reachable states are all looked at.
//!
//! In: the numbers of instances and of states the method saw. The checker searches again by the reference semantics
//! (`again`), which shares no code with the methods, and trusts nothing else where that is affordable. A larger search is
//! not repeated, and the verdict says so. Only properties that a single run can violate.

use crate::again::{Ended, again};
use crate::conclude::Limits;
use crate::rules::claimable;
use crate::verdict::Trust;
use evidence::{Reason, Search};
use program::semantics::{self, Cut, Instances};
use program::{Program, PropertyId, PropertyKind};

pub fn check(
    program: &Program,
    proof: &Search,
    counts: &Instances,
    claimed: &[PropertyId],
    limits: &Limits,
) -> Result<Trust, Reason> {
    let runs: Vec<PropertyId> =
        claimed.iter().copied().filter(|p| !seen_in_states(&program.properties[*p].kind)).collect();
    claimable(program, &runs).map_err(|m| rejected(m.0))?;
    if proof.instances != counts.0 {
        return Err(rejected("its numbers of threads are not those of the program".into()));
    }
    if proof.states > limits.search {
        return Ok(Trust::SearchedOnce { states: proof.states });
    }
    // The method may have merged symmetric states or folded local steps; the second search does less of both.
    let most = limits.search.saturating_mul(4);
    match again(program, counts, claimed, most, &limits.budget) {
        Ended::All { states } => Ok(Trust::Searched { states }),
        Ended::Violated(p) => Err(rejected(format!("{} is violated", program.properties[p].name))),
        Ended::TooMany => Ok(Trust::SearchedOnce { states: proof.states }),
        Ended::Exhausted(e) => Err(Reason::Exhausted(e)),
        Ended::Incomplete(why) => Err(Reason::Incomplete(why)),
        Ended::NotSuited => plainly(program, proof, counts, claimed, limits),
    }
}

/// Properties that live neither in gates nor in formulas: the search looks at its states for them.
fn seen_in_states(kind: &PropertyKind) -> bool {
    matches!(kind, PropertyKind::Deadlock | PropertyKind::Leak)
}

/// The same by the plain search of the reference semantics, which handles every program.
fn plainly(
    program: &Program,
    proof: &Search,
    counts: &Instances,
    claimed: &[PropertyId],
    limits: &Limits,
) -> Result<Trust, Reason> {
    let bounds = semantics::Limits {
        states: usize::try_from(limits.search.saturating_mul(4)).unwrap_or(usize::MAX).min(MOST_PLAIN),
        budget: limits.budget.clone(),
        ..semantics::Limits::default()
    };
    let found = semantics::reach(program, counts, &bounds);
    if let Some(p) = claimed.iter().find(|p| found.violations.contains_key(p)) {
        return Err(rejected(format!("{} is violated", program.properties[*p].name)));
    }
    match (found.cut, found.incomplete) {
        (_, None) => Ok(Trust::Searched { states: found.states as u64 }),
        (Some(Cut::States), _) => Ok(Trust::SearchedOnce { states: proof.states }),
        (Some(Cut::Budget(e)), _) => Err(Reason::Exhausted(e)),
        (_, Some(why)) => Err(Reason::Incomplete(why)),
    }
}

/// The plain search keeps whole states and a way to each: above this it would not fit.
const MOST_PLAIN: usize = 1_600_000;

fn rejected(why: String) -> Reason {
    Reason::Internal(format!("the certificate was rejected: {why}"))
}
