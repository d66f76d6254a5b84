//! Invariants that nobody wrote: two variables that steps change together, of which one says what the other does.
//!
//! In: a program. Out: candidates over the shared store: a bit that is set where an owner is there, two numbers that are the same. Those that initial stores satisfy and
//! every step keeps become premises (`premises`), the others are dropped. Deliberately absent: sums and counts over maps.

use logic::{Sort, SortKind, Symbol, Term, Terms};
use program::{Program, VarId, VarKind};
use std::collections::BTreeSet;

/// So many pairs of variables are looked at.
const MAX_PAIRS: usize = 24;

pub(super) fn candidates(p: &Program) -> Vec<Term> {
    let t = &p.terms;
    let plain = |v: &VarId| matches!(p.vars[*v].kind, VarKind::Plain) && p.vars[*v].scope == program::Scope::Shared;
    let mut pairs: BTreeSet<(VarId, VarId)> = BTreeSet::new();
    let codes = p.threads.iter().map(|x| &x.code).chain(p.procedures.iter().map(|x| &x.code));
    for a in codes.flat_map(|c| c.actions.iter()) {
        let updated: Vec<VarId> = a.updates.iter().map(|u| u.var).filter(plain).collect();
        for (i, v) in updated.iter().enumerate() {
            pairs.extend(updated[i + 1..].iter().map(|w| (*v.min(w), *v.max(w))));
        }
    }
    let mut out = Vec::new();
    for (v, w) in pairs.into_iter().take(MAX_PAIRS) {
        let (mut first, mut second) = (t.sym(p.vars[v].symbol), t.sym(p.vars[w].symbol));
        let mut keys: Vec<Symbol> = Vec::new();
        while let (SortKind::Map(k, _), SortKind::Map(l, _)) = (t.kind(t.sort_of(first)), t.kind(t.sort_of(second))) {
            if k != l {
                break;
            }
            let key = t.symbol(["i", "j", "k"][keys.len().min(2)], k);
            first = t.select(first, t.sym(key));
            second = t.select(second, t.sym(key));
            keys.push(key);
        }
        for (a, b) in [(first, second), (second, first)] {
            for fact in tied(t, a, b) {
                out.push(t.forall(&keys, fact));
            }
        }
        if t.sort_of(first) == t.sort_of(second) && t.kind(t.sort_of(first)) == SortKind::Int {
            out.push(t.forall(&keys, t.eq(first, second)));
        }
    }
    out.retain(|f| !t.is_true(*f));
    out
}

/// A bit, or a number that is zero, that says whether the other is there.
fn tied(t: &Terms, a: Term, b: Term) -> Vec<Term> {
    let Some(there) = there(t, b) else { return Vec::new() };
    if t.sort_of(a) == Sort::BOOL {
        return vec![t.eq(a, there), t.eq(a, t.not(there))];
    }
    Vec::new()
}

/// A number is not zero, a reference not null.
fn there(t: &Terms, x: Term) -> Option<Term> {
    match t.kind(t.sort_of(x)) {
        SortKind::Int | SortKind::Machine(_) => Some(t.ne(x, t.num(0, t.sort_of(x)))),
        SortKind::Ref(class) => Some(t.ne(x, t.null(class))),
        _ => None,
    }
}
