//! Which locals a thread may still read.
//!
//! Comes in: code. Goes out: for each location the thread-local variables that some path from there reads before it
//! writes them. What is not in the list may be forgotten at the location: no step depends on it. Values that an
//! invariant of the text or another thread looks at are not known here; the caller adds them.

use crate::code::{Action, Code};
use crate::model::{Program, Scope, VarId};
use base::IdVec;
use rustc_hash::FxHashSet;

pub fn live(program: &Program, code: &Code) -> IdVec<crate::code::LocId, FxHashSet<VarId>> {
    let mut out: IdVec<_, FxHashSet<VarId>> = code.locations.iter().map(|_| FxHashSet::default()).collect();
    let reads: Vec<FxHashSet<VarId>> = code.actions.iter().map(|a| reads(program, a)).collect();
    loop {
        let mut grew = false;
        for (a, read) in code.actions.iter().zip(&reads) {
            let passed = out[a.to].iter().filter(|v| !a.updates.iter().any(|u| u.var == **v)).copied();
            let wanted: Vec<VarId> = passed.chain(read.iter().copied()).collect();
            let at = &mut out[a.from];
            let before = at.len();
            at.extend(wanted);
            grew |= at.len() > before;
        }
        if !grew {
            return out;
        }
    }
}

/// The locals a step looks at. An entry of a map is written by reading the whole map, so writing it keeps it live.
fn reads(program: &Program, a: &Action) -> FxHashSet<VarId> {
    let terms = a.gates.iter().map(|g| g.formula).chain(a.updates.iter().map(|u| u.value)).chain([a.guard]);
    let args = a.spawn.iter().flat_map(|s| s.args.iter().copied());
    let symbols = terms.chain(args).flat_map(|t| program.terms.free_symbols(t));
    let vars = symbols.filter_map(|s| program.var_of(s)).map(|(v, _)| v);
    vars.filter(|v| program.vars[*v].scope != Scope::Shared).collect()
}
