//! The certificate of rule `quantified`, from the clauses that are needed.
//!
//! In: a learner that has ended, and which goals show which property. Out: facts with what they rest on, in the symbols of the setting.
//! Deliberately absent: clauses that nothing rests on.

use super::contexts::Setting;
use super::learn::Learner;
use evidence::{InstanceCount, Placed, QuantifiedFact, QuantifiedProof};
use logic::Term;
use program::{LocId, PropertyId, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// `shown`: for each property its goals, by their position among the clauses.
pub(super) fn certificate(
    s: &Setting<'_>,
    learner: &Learner<'_, '_>,
    shown: &[(PropertyId, Vec<usize>)],
) -> QuantifiedProof {
    let mut needed: BTreeSet<usize> = BTreeSet::new();
    let mut todo: Vec<usize> = shown.iter().flat_map(|(_, goals)| goals.iter().copied()).collect();
    while let Some(k) = todo.pop() {
        if needed.insert(k) {
            todo.extend(learner.rests_on(k));
        }
    }
    let position: BTreeMap<usize, usize> = needed.iter().enumerate().map(|(at, k)| (*k, at)).collect();
    let facts = needed.iter().map(|k| {
        let clause = &learner.clauses[*k].0;
        let threads = &s.casts[clause.cast].threads;
        let of: Vec<Placed> = threads.iter().zip(&clause.at).map(|(t, flags)| placed(*t, flags)).collect();
        let mut rests_on: BTreeSet<usize> = learner.rests_on(*k);
        rests_on.insert(*k);
        let formula: Term = s.body(clause, &[0, 1][..threads.len()]);
        QuantifiedFact { of, formula, rests_on: rests_on.iter().map(|k| position[k]).collect() }
    });
    let facts = facts.collect();
    let symbol = |at: usize| s.roles.further.iter().map(|list| list[at]).collect();
    QuantifiedProof {
        symbols: s.roles.own.iter().enumerate().map(|(at, own)| (*own, symbol(at))).collect(),
        control: s.roles.control.clone(),
        facts,
        counts: s
            .counts
            .iter()
            .map(|c| InstanceCount { variable: c.variable, places: vec![placed(c.thread, &c.at)] })
            .collect(),
        shown: shown.iter().map(|(p, goals)| (*p, goals.iter().map(|k| position[k]).collect())).collect(),
    }
}

fn placed(thread: ThreadId, flags: &[bool]) -> Placed {
    (thread, (0..flags.len()).filter(|l| flags[*l]).map(|l| LocId(l as u32)).collect())
}
