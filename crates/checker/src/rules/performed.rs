//! Rule `performed`: calls in threads that follow a machine are what the callees perform.
//!
//! In: the program without calls of a reduction, each step of which is asked for access first; `checker::conclude` establishes
//! the parts. Out: the obligations that no other rule has.
//!   PC1  every check of a thread that the reduction does not show looks only at what the access checks of its step, and the
//!        guard, allow the thread to touch.
//! Why the whole is sound (Calvin-R after Lipton, then Abstract Threads). Take a run of the program to the first step that
//! goes wrong. The reduction shows that no access check fails in it, nor a check inside a callee that is called by
//! specification. So a check in the own code of some thread `u` fails, all steps before kept to the access predicates, and by
//! PC1 the failing check looks only at places that `u` may touch. Now the runs inside each call of each thread that follows a
//! machine are made contiguous, one thread after the other. A last run that has not committed is left out: nobody else
//! may touch what its right movers touched, so the others' steps and the failing check see the same. A last run that has
//! committed is ended before the failing step: RD6 says that it can be, and its left movers touch nothing that `u` may touch.
//! Every call is then a sequence of actions that its specification allows, and the same check fails: in the program that
//! calls by specification. That program's threads follow their machines, so the composition goes wrong too (Theorem 1).
//! Deliberately absent: invariants, which may fail inside a call where the composition has no store.

use super::Malformed;
use crate::obligation::{self, Obligation};
use evidence::Reduction;
use logic::{Term, Terms};
use program::access::{Touches, constant_facts, predicate};
use program::specified::access_first;
use program::symbolic::Store;
use program::{Gate, Program, PropertyId, PropertyKind};

const RULE: &str = "performed";

/// The terms are the reduction's: they extend those of its program without calls.
pub fn obligations(
    program: &Program,
    terms: &Terms,
    calls: &Reduction,
    shown: &[PropertyId],
) -> Result<Vec<Obligation>, Malformed> {
    let basis = calls.basis(&access_first(program)).map_err(Malformed)?.specified;
    if !terms.extends(&basis.program.terms) {
        return Err(Malformed("it speaks of another program".into()));
    }
    let (p, t) = (&basis.program, terms);
    let touches = Touches::new(p, t);
    let mut facts = vec![t.lt(t.int(0), t.sym(p.tid))];
    facts.extend(constant_facts(p, t));
    let access = |q| matches!(p.properties[q].kind, PropertyKind::Access(_));
    let mut out = Vec::new();
    for (id, thread) in p.threads.iter_enumerated() {
        for action in thread.code.actions.iter() {
            let mut passed = facts.clone();
            passed.push(action.guard);
            passed.extend(action.gates.iter().filter(|g| access(g.property)).map(|g| g.formula));
            let open = |g: &&Gate| !access(g.property) && !shown.contains(&g.property);
            let checks = action.gates.iter().filter(open).map(|g| g.formula);
            let needed: Vec<Term> = [action.guard]
                .into_iter()
                .chain(checks)
                .flat_map(|f| touches.of_term(f))
                .filter_map(|x| {
                    let may = predicate(p, t, &x.place, t.sym(p.tid), &Store::default())?;
                    Some(t.implies(x.when, may.formula))
                })
                .collect();
            if !needed.is_empty() && action.gates.iter().any(|g| open(&g)) {
                let what = format!("PC1: the checks of {}", obligation::words(p, id, action));
                out.push(Obligation::common(RULE, what, t.implies(t.and(&passed), t.and(&needed))));
            }
        }
    }
    Ok(out)
}
