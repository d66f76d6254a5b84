//! Neighbourhoods: pieces of a program whose vocabulary is put together to guess annotations.
//!
//! In: a program and its cuts. Out: one piece with everything for a small program; for a large one a piece for each region
//! between cuts, with the shared variables it touches and the locks that are surely held where it touches them. A guess then
//! speaks of few variables that are used together, and the number of guesses follows the size of the program.
//! Deliberately absent: the guesses (`candidates`).

use logic::Terms;
use program::parts::StoreSymbols;
use program::transition::must_locksets;
use program::{ActionId, Code, LocId, Program, ThreadId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(crate) struct Cluster {
    /// Shared variables, increasing.
    pub vars: Vec<VarId>,
    /// What is read off.
    pub code: Vec<(ThreadId, Vec<ActionId>)>,
    pub cuts: Vec<(ThreadId, LocId)>,
    /// For each lock, what is touched while it is held.
    pub under: BTreeMap<VarId, BTreeSet<VarId>>,
}

/// From so many shared variables or actions on, a program is looked at in pieces.
const MIN_CLUSTERED_VARIABLES: usize = 28;
const MIN_CLUSTERED_ACTIONS: usize = 320;

pub(crate) fn needs_clustering(p: &Program) -> bool {
    let actions: usize = p.threads.iter().map(|t| t.code.actions.len()).sum();
    p.shared().count() > MIN_CLUSTERED_VARIABLES || actions > MIN_CLUSTERED_ACTIONS
}

/// Whether a large program can still be looked at as a whole.
pub(crate) fn fits_globally(p: &Program) -> bool {
    let actions: usize = p.threads.iter().map(|t| t.code.actions.len()).sum();
    p.shared().count() <= 2 * MIN_CLUSTERED_VARIABLES && actions <= 3 * MIN_CLUSTERED_ACTIONS
}

/// Everything at once.
pub(crate) fn whole(p: &Program, cuts: &[Vec<LocId>]) -> Cluster {
    Cluster {
        vars: p.shared().collect(),
        code: p.threads.iter_enumerated().map(|(id, t)| (id, t.code.actions.ids().collect())).collect(),
        cuts: p.threads.ids().flat_map(|id| cuts[id.index()].iter().map(move |l| (id, *l))).collect(),
        under: BTreeMap::new(),
    }
}

/// A piece for each region; regions that touch the same variables are one piece.
pub(crate) fn pieces(p: &Program, terms: &Terms, cuts: &[Vec<LocId>]) -> Vec<Cluster> {
    let names = StoreSymbols::new(p);
    let of: FxHashMap<logic::Symbol, VarId> = p.shared().map(|v| (p.vars[v].symbol, v)).collect();
    let mut out: Vec<Cluster> = Vec::new();
    let mut known: FxHashMap<Vec<VarId>, usize> = FxHashMap::default();
    for (id, thread) in p.threads.iter_enumerated() {
        let code = &thread.code;
        let held = must_locksets(p, terms, code);
        let touched: Vec<Vec<VarId>> =
            code.actions.iter().map(|a| names.touched(p, terms, a).into_iter().map(|s| of[&s]).collect()).collect();
        let outgoing = code.outgoing();
        let cut: FxHashSet<LocId> = cuts[id.index()].iter().copied().collect();
        for start in cuts[id.index()].iter().copied().chain([code.entry]) {
            let actions = between(code, &outgoing, &cut, start);
            let mut vars: Vec<VarId> = actions.iter().flat_map(|a| touched[a.index()].iter().copied()).collect();
            vars.sort_unstable();
            vars.dedup();
            // What is held at the start is part of the piece: the region may never touch the lock itself.
            vars.extend(held[start].iter().flatten());
            vars.sort_unstable();
            vars.dedup();
            let at = *known.entry(vars.clone()).or_insert_with(|| {
                out.push(Cluster { vars, ..Cluster::default() });
                out.len() - 1
            });
            let cluster = &mut out[at];
            for a in &actions {
                for m in held[code.actions[*a].from].iter().flatten() {
                    let under = cluster.under.entry(*m).or_default();
                    under.extend(touched[a.index()].iter().filter(|v| *v != m));
                }
            }
            if cut.contains(&start) {
                cluster.cuts.push((id, start));
            }
            cluster.code.push((id, actions));
        }
    }
    out
}

/// The actions from a location up to the next cuts.
fn between(
    code: &Code,
    outgoing: &base::IdVec<LocId, Vec<ActionId>>,
    cut: &FxHashSet<LocId>,
    start: LocId,
) -> Vec<ActionId> {
    let (mut out, mut seen, mut todo) = (Vec::new(), FxHashSet::default(), vec![start]);
    seen.insert(start);
    while let Some(at) = todo.pop() {
        for a in &outgoing[at] {
            out.push(*a);
            let to = code.actions[*a].to;
            if !cut.contains(&to) && seen.insert(to) {
                todo.push(to);
            }
        }
    }
    out.sort_unstable();
    out
}
