//! One question decided: a proof, or a history that shows that there is none.
//!
//! In: what an analysis is about. Out: the analysis, without alarms where it is a proof, and a run of a few clients that goes wrong, if one was found. Most proofs take milliseconds and are
//! tried first. What is left is looked at from both sides at once: the search for a proof goes on, with more precise views where an alarm stops it, and beside
//! it few clients are run for a history that no order of their calls explains. Whichever ends with an answer stops the other.
//! Where the work is counted and not timed, the two are done one after the other, so that the same is found every time.
//! Deliberately absent: what a claim is made of (`method`).

use super::analysis::{Analysis, Subject, search_fixpoint};
use super::model::Precision;
use crate::explore::linear::{self, ClientBounds};
use crate::method::Run;
use evidence::{History, Reason};
use program::clients::Against;
use program::{ObjectId, Program};
use std::time::Duration;

/// How long an alarm is tried on small numbers of clients, for each range of them.
const CONCRETE_TIME: Duration = Duration::from_secs(20);

/// How long the smallest clients are tried before single runs are.
const SOON_TIME: Duration = Duration::from_secs(4);

/// How long a proof is looked for before clients are run beside it.
const QUICK_TIME: Duration = Duration::from_secs(2);

type Found = Result<(Analysis, usize), Reason>;

fn failed(found: &Found) -> bool {
    found.as_ref().map_or(true, |(a, _)| !a.alarms.is_empty())
}

/// Proves what can be proved, or finds a history that no order of the calls explains.
pub(super) fn decide(p: &Program, subject: &Subject, run: &Run) -> (Found, Option<History>) {
    let quick = Run { budget: run.budget.share(QUICK_TIME), ..run.inner() };
    let found = search_fixpoint(p, subject.clone(), Precision::OwnLocks, &quick);
    if !failed(&found) {
        return (found, None);
    }
    let unfinished = quick.budget.check().is_err();
    let Some(object) = subject.object else { return (go_on(p, subject, found, unfinished, run), None) };
    if run.budget.effort_left().is_some() {
        let history = concrete(p, object, run);
        return if history.is_some() { (found, history) } else { (go_on(p, subject, found, unfinished, run), None) };
    }
    let clients = Run { budget: run.budget.child(), ..run.inner() };
    let proof = Run { budget: run.budget.child(), ..run.inner() };
    let program = p.clone();
    std::thread::scope(|scope| {
        let searching = scope.spawn(|| {
            let program = program;
            let history = concrete(&program, object, &clients);
            if history.is_some() {
                proof.budget.cancel();
            }
            history
        });
        let found = go_on(p, subject, found, unfinished, &proof);
        if !failed(&found) {
            clients.budget.cancel();
        }
        let history = searching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (found, history)
    })
}

/// Goes on looking for a proof: with few names where the views were too many; then with more of names and locks, of which too little may have been kept.
fn go_on(p: &Program, subject: &Subject, found: Found, unfinished: bool, run: &Run) -> Found {
    let mut found = if unfinished { search_fixpoint(p, subject.clone(), Precision::FewNames, run) } else { found };
    for more in [Precision::OwnLocks, Precision::Exact] {
        let kept = found.as_ref().map_or(Precision::Exact, |(a, _)| a.model.precision);
        if failed(&found) && kept != Precision::Exact && kept != more {
            let again = search_fixpoint(p, subject.clone(), more, run);
            if !failed(&again) {
                found = again;
            }
        }
    }
    found
}

/// Tries to make an alarm concrete: two clients with up to four operations, every interleaving, for a short while; then single runs of random clients; then two clients
/// again, also with the points that are marked in the code; then more clients and operations.
fn concrete(p: &Program, object: ObjectId, run: &Run) -> Option<History> {
    let [near, far @ ..] = ClientBounds::RANGES;
    let slice = |time| Run { budget: run.budget.share(time), ..run.inner() };
    let ranges = [(near, Against::Orders), (near, Against::Marks)];
    let ranges = ranges.into_iter().chain(far.map(|far| (far, Against::Orders)));
    let search = |bounds, against, time| linear::search_histories(p, object, bounds, against, &slice(time)).found;
    let found = search(near, Against::Orders, SOON_TIME)
        .or_else(|| linear::sample_histories(p, object, &slice(CONCRETE_TIME)))
        .or_else(|| ranges.into_iter().find_map(|(bounds, against)| search(bounds, against, CONCRETE_TIME)))?;
    Some(found.history(object))
}
