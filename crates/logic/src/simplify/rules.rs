//! The rewriting rules of the simplifier, one function for each family of operators.
//!
//! In: an operator and arguments that are simplified already. Out: an equivalent term that is not larger.

use super::linear::{LinearSum, difference};
use super::{is_literal, number, surely_differ};
use crate::eval::eval_term;
use crate::sort::{Sort, SortKind};
use crate::term::{Node, Op, Symbol, Term, Terms};
use crate::value::Value;
use rustc_hash::{FxHashMap, FxHashSet};

/// How far a read looks through writes.
const MAX_STORES_CROSSED: usize = 64;

/// The simplified application.
pub(super) fn apply(t: &Terms, op: Op, args: &[Term]) -> Term {
    // Literals are folded by the meaning of terms itself.
    if !args.is_empty() && args.iter().all(|a| is_literal(t, *a)) && !matches!(op, Op::Unit | Op::ConstMap(_)) {
        let whole = t.mk(op, args);
        let none: FxHashMap<Symbol, Value> = FxHashMap::default();
        if let Ok(value) = eval_term(t, whole, &none)
            && let Some(folded) = value.to_term(t, t.sort_of(whole))
        {
            return folded;
        }
        return whole;
    }
    match op {
        Op::Not => not(t, args[0]),
        Op::And => junction(t, Op::And, args),
        Op::Or => junction(t, Op::Or, args),
        Op::Implies => implies(t, args[0], args[1]),
        Op::Ite => ite(t, args[0], args[1], args[2]),
        Op::Eq => equal(t, args[0], args[1]),
        Op::Lt | Op::Le => compare(t, op, args[0], args[1]),
        Op::Add | Op::Sub | Op::Mul | Op::Neg => arithmetic(t, op, args),
        Op::Div | Op::Mod => divide(t, op, args[0], args[1]),
        Op::BitAnd | Op::BitOr | Op::BitXor => bits(t, op, args[0], args[1]),
        Op::Cast(sort) => cast(t, sort, args[0]),
        Op::Select => select(t, args[0], args[1]),
        Op::Store => store(t, args[0], args[1], args[2]),
        Op::Member => member(t, args[0], args[1]),
        Op::Insert => insert(t, args[0], args[1]),
        Op::Union | Op::Minus | Op::Subset => sets(t, op, args[0], args[1]),
        Op::Concat => match (is_empty_seq(t, args[0]), is_empty_seq(t, args[1])) {
            (true, _) => args[1],
            (_, true) => args[0],
            _ => t.mk(op, args),
        },
        Op::Len => match t.app(args[0]) {
            Some((Op::EmptySeq(_), _)) => t.int(0),
            Some((Op::Unit, _)) => t.int(1),
            _ => t.mk(op, args),
        },
        Op::At => match (t.app(args[0]), number(t, args[1])) {
            (Some((Op::Unit, inner)), Some(0)) => inner[0],
            _ => t.mk(op, args),
        },
        _ => t.mk(op, args),
    }
}

pub(super) fn not(t: &Terms, a: Term) -> Term {
    match t.node(a) {
        Node::Bool(b) => t.bool(!b),
        Node::App(Op::Not, args) => args[0],
        Node::App(Op::Lt, args) => t.le(args[1], args[0]),
        Node::App(Op::Le, args) => t.lt(args[1], args[0]),
        _ => t.not(a),
    }
}

/// Flattened, without repetitions; decided where a part and its negation occur.
fn junction(t: &Terms, op: Op, args: &[Term]) -> Term {
    let unit = op == Op::And;
    let mut out: Vec<Term> = Vec::new();
    let mut seen: FxHashSet<Term> = FxHashSet::default();
    for a in args {
        // Arguments are simplified, so a nested junction is flat already.
        let parts: Vec<Term> = match t.app(*a) {
            Some((inner, parts)) if inner == op => parts.to_vec(),
            _ => vec![*a],
        };
        for p in parts {
            match t.node(p) {
                Node::Bool(b) if b == unit => continue,
                Node::Bool(b) => return t.bool(b),
                _ => {}
            }
            if seen.contains(&not(t, p)) {
                return t.bool(!unit);
            }
            if seen.insert(p) {
                out.push(p);
            }
        }
    }
    if unit { t.and(&out) } else { t.or(&out) }
}

fn implies(t: &Terms, a: Term, b: Term) -> Term {
    match (t.node(a), t.node(b)) {
        (Node::Bool(true), _) => b,
        (Node::Bool(false), _) | (_, Node::Bool(true)) => t.tt(),
        (_, Node::Bool(false)) => not(t, a),
        _ if a == b || t.conjuncts(a).contains(&b) => t.tt(),
        _ if not(t, a) == b => b,
        _ => t.implies(a, b),
    }
}

fn ite(t: &Terms, c: Term, a: Term, b: Term) -> Term {
    match t.node(c) {
        Node::Bool(true) => return a,
        Node::Bool(false) => return b,
        Node::App(Op::Not, inner) => return ite(t, inner[0], b, a),
        _ => {}
    }
    if a == b {
        return a;
    }
    match (t.node(a), t.node(b)) {
        (Node::Bool(true), _) => return junction(t, Op::Or, &[c, b]),
        (Node::Bool(false), _) => return junction(t, Op::And, &[not(t, c), b]),
        (_, Node::Bool(true)) => return junction(t, Op::Or, &[not(t, c), a]),
        (_, Node::Bool(false)) => return junction(t, Op::And, &[c, a]),
        _ => {}
    }
    // The same test again inside a branch is decided there.
    let inner = |x: Term, at: usize| match t.app(x) {
        Some((Op::Ite, args)) if args[0] == c => args[at],
        _ => x,
    };
    let (a2, b2) = (inner(a, 1), inner(b, 2));
    if (a2, b2) != (a, b) {
        return ite(t, c, a2, b2);
    }
    t.ite(c, a, b)
}

fn equal(t: &Terms, a: Term, b: Term) -> Term {
    if a == b {
        return t.tt();
    }
    if surely_differ(t, a, b) {
        return t.ff();
    }
    let sort = t.sort_of(a);
    if sort == Sort::BOOL {
        return match (t.node(a), t.node(b)) {
            (Node::Bool(true), _) => b,
            (_, Node::Bool(true)) => a,
            (Node::Bool(false), _) => not(t, b),
            (_, Node::Bool(false)) => not(t, a),
            _ if not(t, a) == b => t.ff(),
            _ => t.eq(a, b),
        };
    }
    // A choice between literals compared with a literal is its test.
    for (x, l) in [(a, b), (b, a)] {
        if let Some((Op::Ite, args)) = t.app(x)
            && [args[1], args[2], l].iter().all(|y| is_literal(t, *y))
        {
            return match (args[1] == l, args[2] == l) {
                (true, true) => t.tt(),
                (true, false) => args[0],
                (false, true) => not(t, args[0]),
                (false, false) => t.ff(),
            };
        }
    }
    if apart(t, a, b) {
        return t.ff();
    }
    if sort == Sort::INT
        && let Some(d) = difference(t, a, b)
        && let Some(f) = d.equals_zero(t)
    {
        return f;
    }
    t.eq(a, b)
}

/// Whether the ranges of two integers have nothing in common.
fn apart(t: &Terms, a: Term, b: Term) -> bool {
    if !t.sort_of(a).is_integer() {
        return false;
    }
    let ((low_a, high_a), (low_b, high_b)) = (range(t, a, 4), range(t, b, 4));
    let below = |high: Option<i128>, low: Option<i128>| matches!((high, low), (Some(h), Some(l)) if h < l);
    below(high_a, low_b) || below(high_b, low_a)
}

fn compare(t: &Terms, op: Op, a: Term, b: Term) -> Term {
    if a == b {
        return t.bool(op == Op::Le);
    }
    let ((low_a, high_a), (low_b, high_b)) = (range(t, a, 4), range(t, b, 4));
    let strict = op == Op::Lt;
    if let (Some(h), Some(l)) = (high_a, low_b)
        && (h < l || (h == l && !strict))
    {
        return t.tt();
    }
    if let (Some(l), Some(h)) = (low_a, high_b)
        && (l > h || (l == h && strict))
    {
        return t.ff();
    }
    if t.sort_of(a) == Sort::INT
        && let Some(mut d) = difference(t, a, b)
        && let Some(()) = if strict { d.shift(1) } else { Some(()) }
        && let Some(f) = d.at_most_zero(t)
    {
        return f;
    }
    t.mk(op, &[a, b])
}

/// Bounds of an integer that its form alone gives, looking `depth` levels deep.
fn range(t: &Terms, a: Term, depth: usize) -> (Option<i128>, Option<i128>) {
    if let Some(n) = number(t, a) {
        return (Some(n), Some(n));
    }
    if let Some(m) = t.sort_of(a).as_machine() {
        return (Some(m.min()), Some(m.max()));
    }
    let Some((op, args)) = t.app(a) else { return (None, None) };
    if depth == 0 {
        return (None, None);
    }
    let of = |i: usize| range(t, args[i], depth - 1);
    let both = |x: Option<i128>, y: Option<i128>, f: &dyn Fn(i128, i128) -> Option<i128>| f(x?, y?);
    match op {
        Op::Cast(_) => of(0),
        Op::Len => (Some(0), None),
        Op::Mod => match number(t, args[1]) {
            Some(n) if n != 0 => (Some(0), n.checked_abs().and_then(|n| n.checked_sub(1))),
            _ => (None, None),
        },
        Op::Ite => {
            let (a, b) = (of(1), of(2));
            (both(a.0, b.0, &|x, y| Some(x.min(y))), both(a.1, b.1, &|x, y| Some(x.max(y))))
        }
        Op::Add => {
            let (a, b) = (of(0), of(1));
            (both(a.0, b.0, &i128::checked_add), both(a.1, b.1, &i128::checked_add))
        }
        Op::Sub => {
            let (a, b) = (of(0), of(1));
            (both(a.0, b.1, &i128::checked_sub), both(a.1, b.0, &i128::checked_sub))
        }
        _ => (None, None),
    }
}

fn arithmetic(t: &Terms, op: Op, args: &[Term]) -> Term {
    let whole = t.mk(op, args);
    let sort = t.sort_of(whole);
    if sort == Sort::INT {
        return LinearSum::of(t, whole).and_then(|l| l.term(t)).unwrap_or(whole);
    }
    // Machine integers wrap: only what holds modulo every power of two.
    let zero = |x: Term| number(t, x) == Some(0);
    let one = |x: Term| number(t, x) == Some(1);
    match op {
        Op::Add if zero(args[0]) => args[1],
        Op::Add | Op::Sub if zero(args[1]) => args[0],
        Op::Sub if args[0] == args[1] => t.num(0, sort),
        Op::Mul if zero(args[0]) || zero(args[1]) => t.num(0, sort),
        Op::Mul if one(args[0]) => args[1],
        Op::Mul if one(args[1]) => args[0],
        Op::Add | Op::Sub => {
            // (x + c) + d, and the three forms like it.
            let Some(d) = number(t, args[1]) else { return whole };
            let Some((inner @ (Op::Add | Op::Sub), parts)) = t.app(args[0]) else { return whole };
            let Some(c) = number(t, parts[1]) else { return whole };
            let sign = |o: Op, n: i128| if o == Op::Add { n } else { -n };
            let sum = t.num(sign(inner, c) + sign(op, d), sort);
            if zero(sum) { parts[0] } else { t.add(parts[0], sum) }
        }
        _ => whole,
    }
}

fn divide(t: &Terms, op: Op, a: Term, b: Term) -> Term {
    let sort = t.sort_of(a);
    match (op, number(t, b)) {
        (Op::Div, Some(0)) => return t.num(0, sort),
        (Op::Mod, Some(0)) | (Op::Div, Some(1)) => return a,
        (Op::Mod, Some(1)) => return t.num(0, sort),
        (Op::Mod, Some(n)) if n > 0 => {
            if let (Some(l), Some(h)) = range(t, a, 4)
                && l >= 0
                && h < n
            {
                return a;
            }
        }
        _ => {}
    }
    t.mk(op, &[a, b])
}

fn bits(t: &Terms, op: Op, a: Term, b: Term) -> Term {
    let sort = t.sort_of(a);
    let zero = |x: Term| number(t, x) == Some(0);
    match op {
        Op::BitAnd if a == b => a,
        Op::BitOr if a == b => a,
        Op::BitXor if a == b => t.num(0, sort),
        Op::BitAnd if zero(a) || zero(b) => t.num(0, sort),
        Op::BitOr | Op::BitXor if zero(a) => b,
        Op::BitOr | Op::BitXor if zero(b) => a,
        _ => t.mk(op, &[a, b]),
    }
}

fn cast(t: &Terms, to: Sort, a: Term) -> Term {
    if t.sort_of(a) == to {
        return a;
    }
    if let Some((Op::Cast(_), inner)) = t.app(a) {
        let from = t.sort_of(inner[0]);
        // Through a wider sort and back nothing is lost: the middle holds every value of the first.
        let middle = t.sort_of(a);
        let holds = |s: Sort| match (from.as_machine(), s.as_machine()) {
            (_, None) => true,
            (Some(f), Some(m)) => m.min() <= f.min() && f.max() <= m.max(),
            (None, Some(_)) => false,
        };
        if holds(middle) {
            return cast(t, to, inner[0]);
        }
    }
    t.cast(a, to)
}

fn select(t: &Terms, map: Term, key: Term) -> Term {
    let mut map = map;
    for _ in 0..MAX_STORES_CROSSED {
        match t.app(map) {
            Some((Op::Store, args)) if args[1] == key => return args[2],
            Some((Op::Store, args)) if surely_differ(t, args[1], key) => map = args[0],
            Some((Op::ConstMap(_), args)) => return args[0],
            _ => break,
        }
    }
    t.select(map, key)
}

fn store(t: &Terms, map: Term, key: Term, value: Term) -> Term {
    if t.app(value).is_some_and(|(op, args)| op == Op::Select && args[0] == map && args[1] == key) {
        return map;
    }
    match t.app(map) {
        Some((Op::Store, args)) if args[1] == key => store(t, args[0], key, value),
        Some((Op::ConstMap(_), args)) if args[0] == value => map,
        _ => t.store(map, key, value),
    }
}

fn is_empty_seq(t: &Terms, a: Term) -> bool {
    matches!(t.app(a), Some((Op::EmptySeq(_), _)))
}

fn is_empty_set(t: &Terms, a: Term) -> bool {
    matches!(t.app(a), Some((Op::EmptySet(_), _)))
}

fn member(t: &Terms, e: Term, set: Term) -> Term {
    let mut set = set;
    for _ in 0..MAX_STORES_CROSSED {
        match t.app(set) {
            Some((Op::EmptySet(_), _)) => return t.ff(),
            Some((Op::Insert, args)) if args[0] == e => return t.tt(),
            Some((Op::Insert, args)) if surely_differ(t, args[0], e) => set = args[1],
            _ => break,
        }
    }
    t.member(e, set)
}

fn insert(t: &Terms, e: Term, set: Term) -> Term {
    let mut inner = set;
    for _ in 0..MAX_STORES_CROSSED {
        match t.app(inner) {
            Some((Op::Insert, args)) if args[0] == e => return set,
            Some((Op::Insert, args)) => inner = args[1],
            _ => break,
        }
    }
    t.mk(Op::Insert, &[e, set])
}

fn sets(t: &Terms, op: Op, a: Term, b: Term) -> Term {
    let sort = t.sort_of(a);
    match op {
        Op::Union if a == b || is_empty_set(t, b) => a,
        Op::Union if is_empty_set(t, a) => b,
        Op::Minus if is_empty_set(t, b) => a,
        Op::Minus if a == b || is_empty_set(t, a) => {
            debug_assert!(matches!(t.kind(sort), SortKind::Set(_)), "a difference is of sets");
            t.mk(Op::EmptySet(sort), &[])
        }
        Op::Subset if a == b || is_empty_set(t, a) => t.tt(),
        _ => t.mk(op, &[a, b]),
    }
}
