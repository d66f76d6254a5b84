//! Equalities of maps and sets that differ at few places, said at these places.
//!
//! In: a formula about what a step changes. Out: an equivalent one, in which `m[i := x] == m[j := y]` is said of the entries at `i` and `j`, and that a set stays by
//! whether it holds the element. Frames over fields of objects become conditions about objects, which Horn solvers know how to deal with.
//! Deliberately absent: equalities of maps that have nothing in common; what stands below quantifiers.

use logic::{Node, Op, Term, Terms};
use std::collections::HashMap;

pub(super) fn pointwise(t: &Terms, formula: Term) -> Term {
    rewritten(t, formula, &mut HashMap::new())
}

fn rewritten(t: &Terms, x: Term, known: &mut HashMap<Term, Term>) -> Term {
    if let Some(done) = known.get(&x) {
        return *done;
    }
    let done = match t.node(x) {
        Node::App(Op::Eq, args) => {
            let (a, b) = (args[0], args[1]);
            said_of_entries(t, a, b)
                .or_else(|| said_of_element(t, a, b))
                .or_else(|| said_of_element(t, b, a))
                .unwrap_or(x)
        }
        Node::App(op, args) => {
            let args = args.to_vec();
            let inner: Vec<Term> = args.iter().map(|a| rewritten(t, *a, known)).collect();
            if inner == args { x } else { t.mk(op, &inner) }
        }
        _ => x,
    };
    known.insert(x, done);
    done
}

/// A map as what is written into another: the innermost map, and the entries, the last written last.
fn writes(t: &Terms, mut map: Term) -> (Term, Vec<(Term, Term)>) {
    let mut out = Vec::new();
    while let Some((Op::Store, args)) = t.app(map) {
        out.push((args[1], args[2]));
        map = args[0];
    }
    out.reverse();
    (map, out)
}

/// Both sides are the same map with entries written: it is enough to look at these.
fn said_of_entries(t: &Terms, a: Term, b: Term) -> Option<Term> {
    let ((base, left), (other, right)) = (writes(t, a), writes(t, b));
    if base != other || left.is_empty() && right.is_empty() {
        return None;
    }
    let read = |entries: &[(Term, Term)], key: Term| {
        entries
            .iter()
            .fold(t.select(base, key), |rest, (k, x)| if *k == key { *x } else { t.ite(t.eq(*k, key), *x, rest) })
    };
    let mut keys: Vec<Term> = Vec::new();
    for (k, _) in left.iter().chain(&right) {
        if !keys.contains(k) {
            keys.push(*k);
        }
    }
    let same: Vec<Term> = keys
        .iter()
        .map(|k| {
            let (x, y) = (t.simplify(read(&left, *k)), t.simplify(read(&right, *k)));
            said_of_entries(t, x, y).unwrap_or_else(|| t.eq(x, y))
        })
        .collect();
    Some(t.and(&same))
}

/// A set with one element more is the set itself.
fn said_of_element(t: &Terms, a: Term, b: Term) -> Option<Term> {
    match t.app(a) {
        Some((Op::Insert, args)) if args[1] == b => Some(t.member(args[0], b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logic::{Sort, SortKind, Value};

    #[test]
    fn check_maps_that_differ_at_few_places_are_compared_there() {
        let t = Terms::new();
        let map = t.sort(SortKind::Map(Sort::INT, Sort::INT));
        let m = t.sym(t.symbol("m", map));
        let names = ["i", "j", "x", "y"].map(|n| t.symbol(n, Sort::INT));
        let [i, j, x, y] = names.map(|s| t.sym(s));
        let pairs = [
            (t.store(m, i, x), t.store(m, j, y)),
            (t.store(m, i, x), m),
            (t.store(t.store(m, i, x), j, y), t.store(m, j, x)),
            (t.store(m, i, x), t.store(m, j, t.select(t.store(m, i, x), j))),
        ];
        for (a, b) in pairs {
            let (plain, said) = (t.eq(a, b), pointwise(&t, t.eq(a, b)));
            assert_ne!(plain, said);
            for bits in 0..81 {
                let digit = |k: u32| Value::Int(i128::from(bits / 3_i64.pow(k) % 3));
                let mut env: rustc_hash::FxHashMap<_, _> =
                    names.iter().enumerate().map(|(k, s)| (*s, digit(k as u32))).collect();
                env.insert(t.as_symbol(m).expect("it is one"), Value::default_of(&t, map));
                assert_eq!(logic::eval::holds(&t, plain, &env), logic::eval::holds(&t, said, &env), "{bits}");
            }
        }
    }
}
