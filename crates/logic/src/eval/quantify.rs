//! Evaluation of quantifiers, by finding finitely many values that decide them.
//!
//! In: a quantifier, its bound symbols, its body and the values of the free symbols. Out: true, false or `Unbounded`.
//! For an `int` the candidates come from a bounding conjunct (of the body of an `exists`, of the hypothesis of a
//! `forall`); without one, if the bound symbol occurs only as a map key and directly under comparisons, then every
//! value outside the keys and compared numbers behaves like one of its neighbours, so those and their neighbours
//! suffice. Anything else is `Unbounded`.

use super::{BoundEnv, Env, EvalError, domain, eval_term, holds};
use crate::sort::SortKind;
use crate::term::{Node, Op, Quantifier, Symbol, Term, Terms};
use crate::value::Value;
use std::collections::BTreeSet;

const MAX_VALUES: usize = 70_000;

pub(crate) fn eval(t: &Terms, q: Quantifier, bound: &[Symbol], body: Term, env: &dyn Env) -> Result<bool, EvalError> {
    let Some((&first, rest)) = bound.split_first() else { return holds(t, body, env) };
    let sort = t.symbol_sort(first);
    let whole = match t.kind(sort) {
        // All references: those in use, and one that stands for every other.
        SortKind::Ref(c) => Some((0..=env.objects(c).saturating_add(1)).map(Value::Ref).collect()),
        _ => domain(t, sort, env, MAX_VALUES),
    };
    let candidates = match whole {
        Some(values) => values,
        None if sort.is_integer() => match range(t, q, first, rest, body, env)? {
            Some(values) => values,
            None => relevant(t, first, rest, body, env)?,
        },
        None => return Err(EvalError::Unbounded),
    };
    let unit = q == Quantifier::Forall;
    let mut error = None;
    for value in candidates {
        let inner = BoundEnv { under: env, symbol: first, value };
        match eval(t, q, rest, body, &inner) {
            Ok(b) if b != unit => return Ok(b),
            Ok(_) => {}
            Err(e) => {
                error.get_or_insert(e);
            }
        }
    }
    error.map_or(Ok(unit), Err)
}

/// Conjuncts that every interesting instance satisfies: of the body for `exists`, of the hypotheses for `forall`.
fn restrictions(t: &Terms, q: Quantifier, body: Term) -> Vec<Term> {
    match (q, t.app(body)) {
        (Quantifier::Exists, _) => t.conjuncts(body),
        (Quantifier::Forall, Some((Op::Implies, args))) => {
            let mut out = t.conjuncts(args[0]);
            out.extend(restrictions(t, q, args[1]));
            out
        }
        _ => Vec::new(),
    }
}

fn range(
    t: &Terms,
    q: Quantifier,
    x: Symbol,
    rest: &[Symbol],
    body: Term,
    env: &dyn Env,
) -> Result<Option<Vec<Value>>, EvalError> {
    let (mut low, mut high): (Option<i128>, Option<i128>) = (None, None);
    let xt = t.sym(x);
    // A bound that itself mentions a bound symbol says nothing yet.
    let closed = |e: Term| !t.free_symbols(e).iter().any(|s| *s == x || rest.contains(s));
    let number = |e: Term| match eval_term(t, e, env) {
        Ok(Value::Int(n)) => Ok(n),
        Ok(_) => Err(EvalError::Unbounded),
        Err(e) => Err(e),
    };
    for c in restrictions(t, q, body) {
        let (op, args, negated) = match t.app(c) {
            Some((Op::Not, inner)) => match t.app(inner[0]) {
                Some((op, args)) => (op, args, true),
                None => continue,
            },
            Some((op, args)) => (op, args, false),
            None => continue,
        };
        match (op, negated) {
            (Op::Eq, false) if args[0] == xt && closed(args[1]) => return Ok(Some(vec![Value::Int(number(args[1])?)])),
            (Op::Eq, false) if args[1] == xt && closed(args[0]) => return Ok(Some(vec![Value::Int(number(args[0])?)])),
            (Op::Member, false) if args[0] == xt && closed(args[1]) => {
                if let Value::Set(s) = eval_term(t, args[1], env)? {
                    return Ok(Some(s.into_iter().collect()));
                }
            }
            (Op::Lt | Op::Le, _) => {
                let strict = (op == Op::Lt) != negated;
                let (small, large) = if negated { (args[1], args[0]) } else { (args[0], args[1]) };
                if large == xt && closed(small) {
                    let n = number(small)?.saturating_add(i128::from(strict));
                    low = Some(low.map_or(n, |l| l.max(n)));
                } else if small == xt && closed(large) {
                    let n = number(large)?.saturating_sub(i128::from(strict));
                    high = Some(high.map_or(n, |h| h.min(n)));
                }
            }
            _ => {}
        }
    }
    Ok(match (low, high) {
        (Some(l), Some(h)) if h.saturating_sub(l) < MAX_VALUES as i128 => Some((l..=h).map(Value::Int).collect()),
        _ => None,
    })
}

/// The values that can make a difference where the symbol is only a key or compared; `Unbounded` otherwise.
fn relevant(t: &Terms, x: Symbol, rest: &[Symbol], body: Term, env: &dyn Env) -> Result<Vec<Value>, EvalError> {
    let mut marks = BTreeSet::from([0]);
    collect(t, x, rest, body, env, &mut marks)?;
    let mut values = BTreeSet::new();
    for m in marks {
        values.extend([m.saturating_sub(1), m, m.saturating_add(1)]);
    }
    if let Some(m) = t.symbol_sort(x).as_machine() {
        values.retain(|v| (m.min()..=m.max()).contains(v));
        values.extend([m.min(), m.max()]);
    }
    Ok(values.into_iter().map(Value::Int).collect())
}

fn collect(
    t: &Terms,
    x: Symbol,
    rest: &[Symbol],
    term: Term,
    env: &dyn Env,
    marks: &mut BTreeSet<i128>,
) -> Result<(), EvalError> {
    let xt = t.sym(x);
    let mentions = |e: Term| t.free_symbols(e).contains(&x);
    if !mentions(term) {
        return Ok(());
    }
    match t.node(term) {
        Node::App(Op::Eq | Op::Lt | Op::Le, args) if args.contains(&xt) => {
            let other = if args[0] == xt { args[1] } else { args[0] };
            // Two bound integers compared with each other, or with an expression of theirs, are beyond this argument.
            if t.free_symbols(other).iter().any(|s| *s == x || rest.contains(s)) {
                return Err(EvalError::Unbounded);
            }
            if let Value::Int(n) = eval_term(t, other, env)? {
                marks.insert(n);
            }
            Ok(())
        }
        Node::App(Op::Select, args) if args[1] == xt && !mentions(args[0]) => {
            if t.free_symbols(args[0]).iter().any(|s| rest.contains(s)) {
                return Err(EvalError::Unbounded);
            }
            if let Value::Map(m) = eval_term(t, args[0], env)? {
                // Undecided entries may all differ: no finite number of them stands for the rest.
                if m.default.is_open() {
                    return Err(EvalError::Unbounded);
                }
                marks.extend(m.entries.keys().filter_map(|k| if let Value::Int(n) = k { Some(*n) } else { None }));
            }
            Ok(())
        }
        Node::App(Op::Member, args) if args[0] == xt && !mentions(args[1]) => {
            if t.free_symbols(args[1]).iter().any(|s| rest.contains(s)) {
                return Err(EvalError::Unbounded);
            }
            if let Value::Set(s) = eval_term(t, args[1], env)? {
                marks.extend(s.iter().filter_map(|k| if let Value::Int(n) = k { Some(*n) } else { None }));
            }
            Ok(())
        }
        Node::App(_, args) => {
            // The symbol itself under arithmetic, or as the key of a stored map, is beyond this argument.
            if args.contains(&xt) {
                return Err(EvalError::Unbounded);
            }
            args.iter().try_for_each(|a| collect(t, x, rest, *a, env, marks))
        }
        Node::Quant(_, bound, inner) => {
            let mut all = rest.to_vec();
            all.extend(bound.iter());
            collect(t, x, &all, inner, env, marks)
        }
        _ => Ok(()),
    }
}
