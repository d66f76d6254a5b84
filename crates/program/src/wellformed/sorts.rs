//! Sorts inside terms: the number of arguments and the sorts that each operator takes.
//!
//! `Terms` checks these only by debug assertions, and terms may come from files, so they are checked here again.

use logic::{Node, Op, Sort, SortKind, Term, Terms};
use rustc_hash::FxHashSet;

/// What is wrong with the sorts of a term and its parts. Terms in `seen` are known to be right and are added to.
pub fn sort_faults(t: &Terms, term: Term, seen: &mut FxHashSet<Term>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut todo = vec![term];
    while let Some(term) = todo.pop() {
        if !seen.insert(term) {
            continue;
        }
        match t.node(term) {
            Node::App(op, args) => {
                let sorts: Vec<Sort> = args.iter().map(|a| t.sort_of(*a)).collect();
                if !fits(t, op, &sorts) {
                    let names: Vec<String> = sorts.iter().map(|s| t.sort_name(*s)).collect();
                    faults.push(format!("{op:?} is applied to ({})", names.join(", ")));
                }
                todo.extend(args.iter());
            }
            Node::Quant(_, _, body) => {
                if t.sort_of(body) != Sort::BOOL {
                    faults.push("the body of a quantifier is a formula".into());
                }
                todo.push(body);
            }
            Node::Num(n, sort) => {
                let fine = sort == Sort::INT || sort.as_machine().is_some_and(|m| (m.min()..=m.max()).contains(&n));
                if !fine {
                    faults.push(format!("{n} is no value of sort {}", t.sort_name(sort)));
                }
            }
            Node::Variant(e, v) if v as usize >= t.enum_size(e) => {
                faults.push(format!("the enum {} has no variant {v}", t.enum_decl(e).name));
            }
            _ => {}
        }
    }
    faults
}

/// Whether an operator takes arguments of these sorts.
pub fn fits(t: &Terms, op: Op, sorts: &[Sort]) -> bool {
    let all = |s: Sort| sorts.iter().all(|x| *x == s);
    let machine = |s: Sort| s.as_machine().is_some();
    let set_of = |s: Sort| match t.kind(s) {
        SortKind::Set(e) => Some(e),
        _ => None,
    };
    let is_seq = |s: Sort| matches!(t.kind(s), SortKind::Seq(_));
    match (op, sorts) {
        (Op::Not, [_]) | (Op::Implies, [_, _]) => all(Sort::BOOL),
        (Op::And | Op::Or, _) => all(Sort::BOOL),
        (Op::Ite, [c, a, b]) => *c == Sort::BOOL && a == b,
        (Op::Eq, [a, b]) => a == b,
        (Op::Lt | Op::Le | Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Mod, [a, b]) => a == b && a.is_integer(),
        (Op::Neg, [a]) => a.is_integer(),
        (Op::BitAnd | Op::BitOr | Op::BitXor | Op::Shl | Op::Shr, [a, b]) => a == b && machine(*a),
        (Op::BitNot, [a]) => machine(*a),
        (Op::Cast(to), [a]) => to.is_integer() && a.is_integer(),
        (Op::Select, [m, k]) => matches!(t.kind(*m), SortKind::Map(key, _) if key == *k),
        (Op::Store, [m, k, v]) => t.kind(*m) == SortKind::Map(*k, *v),
        (Op::ConstMap(s), [v]) => matches!(t.kind(s), SortKind::Map(_, value) if value == *v),
        (Op::EmptySet(s), []) => set_of(s).is_some(),
        (Op::Member | Op::Insert, [e, s]) => set_of(*s) == Some(*e),
        (Op::Union | Op::Minus | Op::Subset, [a, b]) => a == b && set_of(*a).is_some(),
        (Op::EmptySeq(s), []) => is_seq(s),
        (Op::Unit, [_]) => true,
        (Op::Concat, [a, b]) => a == b && is_seq(*a),
        (Op::Len, [a]) => is_seq(*a),
        (Op::At, [a, i]) => is_seq(*a) && *i == Sort::INT,
        (Op::Slice, [a, i, j]) => is_seq(*a) && *i == Sort::INT && *j == Sort::INT,
        _ => false,
    }
}
