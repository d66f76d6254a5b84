//! Which locks a thread surely holds where, by its code alone.
//!
//! In: code. Out: for each location the locks that every path to it took and did not give back. That others leave a lock with its
//! holder is not known here: who uses the answer may leave something out because of it, never conclude from it.
//! Absent: maps of locks.

use crate::code::Code;
use crate::model::{Program, Scope, VarId, VarKind};
use logic::{Sort, Terms};
use std::collections::BTreeSet;

/// For each location, the locks that the thread surely holds there; `None`: not reached.
pub fn held(p: &Program, terms: &Terms, code: &Code) -> Vec<Option<BTreeSet<VarId>>> {
    let lock = |v: VarId| {
        let var = &p.vars[v];
        var.scope == Scope::Shared && var.kind == VarKind::Lock && var.sort == Sort::INT
    };
    // In the method's own terms: those of the program must not grow.
    let tid = terms.sym(p.tid);
    let outgoing = code.outgoing();
    let mut at: Vec<Option<BTreeSet<VarId>>> = vec![None; code.locations.len()];
    at[code.entry.0 as usize] = Some(BTreeSet::new());
    let mut todo = vec![code.entry];
    while let Some(from) = todo.pop() {
        let here = at[from.0 as usize].clone().unwrap_or_default();
        for a in &outgoing[from] {
            let action = &code.actions[*a];
            let mut after = here.clone();
            for u in action.updates.iter().filter(|u| lock(u.var)) {
                if u.value == tid {
                    after.insert(u.var);
                } else {
                    after.remove(&u.var);
                }
            }
            let to = &mut at[action.to.0 as usize];
            let met = to.as_ref().map_or_else(|| after.clone(), |old| old & &after);
            if to.as_ref() != Some(&met) {
                *to = Some(met);
                todo.push(action.to);
            }
        }
    }
    at
}
