//! Searches that the checker has not repeated to their end, once nothing better was found: they are repeated with all the effort that the checker has.
//!
//! In: the board once everything has its answer, and nothing else is at work. Out: the same answers with more trust, where the second search comes to its end;
//! none where it finds a violation. A claim of a search is checked with little effort at first, for where states are many without the method's reductions
//! another method may have a proof that costs a fraction; only where none has it in time, the rest is spent.
//! Deliberately absent: searches larger than what the checker repeats at all.

use super::StrategySettings;
use crate::board::{Board, RowOutcome};
use crate::judge::{Judge, trust_level};
use base::Budget;
use evidence::file::EvidenceEntry;
use evidence::{Certificate, Claim, Proof};
use methods::Task;
use program::PropertyId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How much the checker spends on repeating a search at first.
pub const FIRST_SEARCH_EFFORT: Duration = Duration::from_millis(500);

pub fn repeat_searches(task: &Task, board: &Board, file: usize, settings: &StrategySettings, budget: &Budget) {
    for (certificate, method, properties) in cut_searches(board, file) {
        // Terms are not `Sync`; the claim stays here.
        #[allow(clippy::arc_with_non_send_sync)]
        let claim = Claim::Proved(Arc::new(certificate));
        let mut oracle = (settings.oracle)(budget, settings.cache.clone());
        let mut judge = Judge::new(&task.program, &settings.sources, method, &mut oracle, budget, None);
        for property in properties {
            let judged = judge.judge(property, &claim).finding;
            board.with_file(file, |f| {
                let index = f.methods.iter().position(|m| m.name == method);
                let Some(row) = f.rows.iter_mut().find(|r| r.id == property && !r.disputed) else { return };
                let is_it = |outcome: RowOutcome, of: usize| outcome == RowOutcome::Safe && Some(of) == index;
                match judged.outcome() {
                    RowOutcome::Safe => {
                        let same = row.candidates.iter_mut().filter(|c| is_it(c.finding.outcome(), c.method));
                        same.for_each(|c| c.finding = judged.clone());
                    }
                    // What it was told to stop it has not contradicted.
                    _ if budget.is_cancelled() => {}
                    _ => {
                        row.candidates.retain(|c| !is_it(c.finding.outcome(), c.method));
                        row.reasons.extend(index.map(|i| (i, judged.reason().to_string())));
                    }
                }
                row.finding = row.candidates.iter().min_by_key(|c| c.rank).map(|c| c.finding.clone());
            });
        }
    }
}

/// The certificates of searches that answers rest on and that were not repeated to their end, with their methods and properties.
fn cut_searches(board: &Board, file: usize) -> Vec<(Certificate, &'static str, Vec<PropertyId>)> {
    board.with_file(file, |f| {
        let mut found: BTreeMap<usize, (usize, Vec<PropertyId>)> = BTreeMap::new();
        for row in f.rows.iter().filter(|r| !r.disputed && f.outcome_of(r) == RowOutcome::Safe) {
            let Some(chosen) = f.chosen(row) else { continue };
            if trust_level(chosen.finding.trust()) == "searched-once"
                && let Some(entry) = chosen.entry
            {
                found.entry(entry).or_insert((chosen.method, Vec::new())).1.push(row.id);
            }
        }
        let certificate = |(entry, (method, properties)): (usize, (usize, Vec<PropertyId>))| match &f.evidence[entry] {
            EvidenceEntry::Certificate(c) if is_repeatable(c) => Some((c.clone(), f.methods[method].name, properties)),
            _ => None,
        };
        found.into_iter().filter_map(certificate).collect()
    })
}

/// What has more states than the checker searches again is not tried a second time.
fn is_repeatable(c: &Certificate) -> bool {
    matches!(&c.proof, Proof::Search(s) if s.states <= checker::CheckLimits::default().search)
}
