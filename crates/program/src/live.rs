//! Which locals a thread may still read.
//!
//! In: code. Out: for each location the thread-local variables that some path from there reads before it
//! writes them. What is not in the list may be forgotten at the location: no step depends on it. Values that an
//! invariant of the text or another thread looks at are not known here; the caller adds them.

use crate::code::{Action, Code};
use crate::model::{Program, Scope, VarId};
use base::IdVec;
use logic::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};

pub fn live(program: &Program, code: &Code) -> IdVec<crate::code::LocId, FxHashSet<VarId>> {
    let mut out: IdVec<_, FxHashSet<VarId>> = code.locations.iter().map(|_| FxHashSet::default()).collect();
    let vars: FxHashMap<Symbol, VarId> =
        program.vars.iter_enumerated().flat_map(|(v, var)| [(var.symbol, v), (var.primed, v)]).collect();
    let reads: Vec<FxHashSet<VarId>> = code.actions.iter().map(|a| reads(program, &vars, a)).collect();
    loop {
        let mut grew = false;
        // Code is mostly numbered in the order it runs: backwards, most of it is done in one pass.
        for (a, read) in code.actions.iter().zip(&reads).rev() {
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
fn reads(program: &Program, of: &FxHashMap<Symbol, VarId>, a: &Action) -> FxHashSet<VarId> {
    let terms = a.gates.iter().map(|g| g.formula).chain(a.updates.iter().map(|u| u.value)).chain([a.guard]);
    let args = a.spawn.iter().flat_map(|s| s.args.iter().copied());
    let symbols = terms.chain(args).flat_map(|t| program.terms.free_symbols(t));
    let vars = symbols.filter_map(|s| of.get(&s).copied());
    vars.filter(|v| program.vars[*v].scope != Scope::Shared).collect()
}
