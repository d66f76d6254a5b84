//! What an action reads and writes. In: an action. Out: its footprint, by variables. Deliberately absent: entries of maps.

use logic::{Symbol, Term};
use program::{Action, Program, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The variables an action reads and writes.
pub(crate) struct ActionFootprint {
    pub reads: FxHashSet<VarId>,
    pub writes: FxHashSet<VarId>,
}

pub(crate) fn action_footprint(program: &Program, vars: &FxHashMap<Symbol, VarId>, action: &Action) -> ActionFootprint {
    let mut reads = FxHashSet::default();
    let mut look = |t: Term| reads.extend(program.terms.free_symbols(t).iter().filter_map(|s| vars.get(s)));
    look(action.guard);
    action.gates.iter().for_each(|g| look(g.formula));
    action.updates.iter().for_each(|u| look(u.value));
    action.spawn.iter().flat_map(|s| &s.args).for_each(|t| look(*t));
    let mut writes: FxHashSet<VarId> = action.updates.iter().map(|u| u.var).collect();
    writes.extend(action.spawn.iter().filter_map(|s| s.into));
    ActionFootprint { reads, writes }
}
