//! The combinations of several threads' locations that control alone allows.
//!
//! In: the code of each thread that is kept apart. Out: every vector of locations reachable from the entries when guards are
//! ignored, in a fixed order, the entries first. Used where a relation of Horn clauses stands for each combination.

use program::{Code, LocId};
use std::collections::BTreeSet;

/// Who may move while someone is inside an atomic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Only whoever is inside.
    Alone,
    /// Anybody: fewer facts, and threads that are not listed may move as well.
    Anyone,
}

/// Nothing if there are more than `most`.
pub(crate) fn combinations(codes: &[&Code], rule: Inside, most: usize) -> Option<Vec<Vec<LocId>>> {
    let mut out: Vec<Vec<LocId>> = vec![codes.iter().map(|c| c.entry).collect()];
    let mut seen: BTreeSet<Vec<LocId>> = out.iter().cloned().collect();
    let mut next = 0;
    while next < out.len() {
        if out.len() > most {
            return None;
        }
        let at = out[next].clone();
        let inside = (0..codes.len()).find(|i| rule == Inside::Alone && codes[*i].locations[at[*i]].in_atomic_block);
        for i in (0..codes.len()).filter(|i| inside.is_none_or(|only| only == *i)) {
            for a in codes[i].actions.iter().filter(|a| a.from == at[i]) {
                let mut to = at.clone();
                to[i] = a.to;
                if seen.insert(to.clone()) {
                    out.push(to);
                }
            }
        }
        next += 1;
    }
    Some(out)
}
