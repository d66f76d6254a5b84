//! Rule `search`: a finite instance whose reachable states are all looked at.
//!
//! In: the numbers of instances and of states the method saw. The checker searches again by the reference semantics
//! (`again`), which shares no code with the methods, and trusts nothing else where that is affordable. A larger search is
//! not repeated, nor is one to its end that takes more than its share of the time, and the verdict says so. Only properties that a single run can violate.
//!   SE1  the numbers of instances are fixed, and are the certificate's;
//!   SE2  a search by the reference semantics sees every state and none that violates a claimed property.

use super::{claimable, closed, fixed_counts, wrong_form};
use crate::again::{Ended, again};
use crate::rejection::Rejection;
use crate::session::CheckLimits;
use crate::session::{CheckSession, Established};
use crate::verdict::Trust;
use base::{Budget, Exhausted};
use evidence::{Certificate, ExhaustiveSearch, Proof};
use program::semantics::{self, InstanceCounts, SearchLimit};
use program::{Program, PropertyId, PropertyKind};

pub(crate) fn check_search(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Search(proof) = &c.proof else { return Err(wrong_form()) };
    let counts = fixed_counts(session.program)?;
    let trust = searched_again(session.program, proof, &counts, &c.properties, &session.limits)?;
    Ok(Established::all(&c.properties, trust))
}

/// SE1 and SE2; what the claim rests on.
pub fn searched_again(
    program: &Program,
    proof: &ExhaustiveSearch,
    counts: &InstanceCounts,
    claimed: &[PropertyId],
    limits: &CheckLimits,
) -> Result<Trust, Rejection> {
    let of_runs: Vec<PropertyId> =
        claimed.iter().copied().filter(|p| !seen_in_states(&program.properties[*p].kind)).collect();
    claimable(program, &of_runs)?;
    closed(program)?;
    if proof.instances != counts.0 {
        return Err(Rejection::shape("SE1: its numbers of threads are not those of the program"));
    }
    if proof.states > limits.search {
        return Ok(Trust::SearchedOnce { states: proof.states });
    }
    // The method may have merged symmetric states or folded local steps; the second search does less of both.
    let most = limits.search.saturating_mul(4);
    let share = share_of(limits);
    match again(program, counts, claimed, most, &share) {
        Ended::All { states } => Ok(Trust::Searched { states }),
        Ended::Violated(p) => Err(violated(program, p)),
        Ended::TooMany => Ok(Trust::SearchedOnce { states: proof.states }),
        Ended::Exhausted(e) => unfinished(proof, e),
        Ended::Incomplete(why) => Err(Rejection::Incomplete(why)),
        Ended::NotSuited => plainly(program, proof, counts, claimed, limits),
    }
}

/// The part of the time that is left that a second search may take.
const TIME_DIVISOR: u32 = 2;

fn share_of(limits: &CheckLimits) -> Budget {
    let share = limits.budget.share(limits.search_effort);
    match limits.budget.time_left() {
        Some(left) => share.with_time(left / TIME_DIVISOR),
        None => share,
    }
}

/// A second search that has to stop has found nothing wrong; what the method searched stands, searched once. One that is told to stop is no answer.
fn unfinished(proof: &ExhaustiveSearch, why: Exhausted) -> Result<Trust, Rejection> {
    match why {
        Exhausted::Effort | Exhausted::Time | Exhausted::Memory => Ok(Trust::SearchedOnce { states: proof.states }),
        Exhausted::Cancelled => Err(Rejection::Exhausted(why)),
    }
}

fn violated(program: &Program, property: PropertyId) -> Rejection {
    Rejection::replay(format!("the certificate was rejected: SE2: {} is violated", program.properties[property].name))
}

/// Properties that live neither in gates nor in formulas: the search looks at its states for them.
fn seen_in_states(kind: &PropertyKind) -> bool {
    matches!(kind, PropertyKind::Deadlock | PropertyKind::Leak)
}

/// The same by the plain search of the reference semantics, which handles every program.
fn plainly(
    program: &Program,
    proof: &ExhaustiveSearch,
    counts: &InstanceCounts,
    claimed: &[PropertyId],
    limits: &CheckLimits,
) -> Result<Trust, Rejection> {
    let bounds = semantics::ReachLimits {
        states: usize::try_from(limits.search.saturating_mul(4)).unwrap_or(usize::MAX).min(MAX_PLAIN_STATES),
        budget: share_of(limits),
        ..semantics::ReachLimits::default()
    };
    let found = semantics::reachable_states(program, counts, &bounds);
    if let Some(p) = claimed.iter().find(|p| found.violations.contains_key(p)) {
        return Err(violated(program, *p));
    }
    match (found.cut, found.incomplete) {
        (_, None) => Ok(Trust::Searched { states: found.states as u64 }),
        (Some(SearchLimit::States), _) => Ok(Trust::SearchedOnce { states: proof.states }),
        (Some(SearchLimit::Budget(e)), _) => unfinished(proof, e),
        (_, Some(why)) => Err(Rejection::Incomplete(why)),
    }
}

/// The plain search keeps whole states and a way to each: above this it would not fit.
const MAX_PLAIN_STATES: usize = 1_600_000;
