//! Which locks a thread surely holds where, by its code alone: a must-analysis over the control flow.
//!
//! In: code. Out: for each location what every path to it took and did not give back. `must_sets` is the analysis for any kind
//! of element and effect; `must_locksets` the one for plain locks. That others leave a lock with its holder is not
//! known here: who uses the answer may leave something out because of it, or offer it as a candidate, never conclude from it.

use crate::code::{Action, Code, LocId};
use crate::model::{Program, Scope, VarId, VarKind};
use base::IdVec;
use logic::{Sort, Terms};
use std::collections::BTreeSet;

/// What is surely in the set at each location, from `entry` on; `after` changes the set as an action does. `None`: no path.
pub fn must_sets<T: Ord + Clone>(
    code: &Code,
    entry: BTreeSet<T>,
    after: impl Fn(&Action, &mut BTreeSet<T>),
) -> IdVec<LocId, Option<BTreeSet<T>>> {
    let outgoing = code.outgoing();
    let mut at: IdVec<LocId, Option<BTreeSet<T>>> = code.locations.iter().map(|_| None).collect();
    at[code.entry] = Some(entry);
    let mut todo = vec![code.entry];
    while let Some(from) = todo.pop() {
        let Some(here) = at[from].clone() else { continue };
        for a in &outgoing[from] {
            let action = &code.actions[*a];
            let mut arriving = here.clone();
            after(action, &mut arriving);
            let to = &mut at[action.to];
            let met = match to {
                Some(old) => old.intersection(&arriving).cloned().collect(),
                None => arriving,
            };
            if to.as_ref() != Some(&met) {
                *to = Some(met);
                todo.push(action.to);
            }
        }
    }
    at
}

/// The locks that the thread surely holds at each location; maps of locks are left out. `None`: not reached.
pub fn must_locksets(p: &Program, terms: &Terms, code: &Code) -> IdVec<LocId, Option<BTreeSet<VarId>>> {
    let lock = |v: VarId| {
        let var = &p.vars[v];
        var.scope == Scope::Shared && var.kind == VarKind::Lock && var.sort == Sort::INT
    };
    // In the method's own terms: those of the program must not grow.
    let tid = terms.sym(p.tid);
    must_sets(code, BTreeSet::new(), |action, held| {
        for u in action.updates.iter().filter(|u| lock(u.var)) {
            if u.value == tid {
                held.insert(u.var);
            } else {
                held.remove(&u.var);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Copies;
    use crate::semantics::tests::Build;

    #[test]
    fn check_a_lock_is_held_only_where_every_path_took_it() {
        let mut b = Build::new();
        let m = b.shared("m", Sort::INT, None);
        b.p.vars[m].kind = VarKind::Lock;
        let t = b.thread("T", Copies::Any, 5);
        let (tt, tid, zero) = (b.p.terms.tt(), b.p.terms.sym(b.p.tid), b.p.terms.int(0));
        b.act(t, 0, 1, tt, &[(m, tid)]);
        b.act(t, 1, 2, tt, &[]);
        b.act(t, 0, 2, tt, &[]);
        b.act(t, 1, 3, tt, &[(m, zero)]);
        let held = must_locksets(&b.p, &b.p.terms, &b.p.threads[t].code);
        let at = |n: u32| held[LocId(n)].as_ref().map(|s| s.contains(&m));
        assert_eq!([at(0), at(1), at(2), at(3)], [Some(false), Some(true), Some(false), Some(false)]);
        assert_eq!(at(4), None, "no path leads there");
    }
}
