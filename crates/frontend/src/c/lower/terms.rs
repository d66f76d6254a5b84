//! Term building with constant folding: what the lowering composes stays small enough to read and to solve.
//!
//! In: pieces of terms over the symbols of slots. Out: equivalent, smaller terms. Only integers, booleans and
//! maps occur. No rule here depends on a solver; each is an identity of integer arithmetic or of logic.

use logic::term::Node;
use logic::{Op, Sort, Symbol, Term, Terms};
use rustc_hash::FxHashMap;

/// The builder.
#[derive(Clone, Copy)]
pub(super) struct Build<'a>(pub &'a Terms);

impl Build<'_> {
    pub(super) fn num(self, n: i128) -> Term {
        self.0.int(n)
    }
    pub(crate) fn as_num(self, t: Term) -> Option<i128> {
        self.0.with_node(t, |n| if let Node::Num(k, _) = n { Some(*k) } else { None })
    }
    pub(super) fn as_bool(self, t: Term) -> Option<bool> {
        self.0.with_node(t, |n| if let Node::Bool(b) = n { Some(*b) } else { None })
    }
    pub(super) fn tt(self) -> Term {
        self.0.tt()
    }
    pub(super) fn ff(self) -> Term {
        self.0.ff()
    }
    pub(super) fn not(self, a: Term) -> Term {
        if let Some(b) = self.as_bool(a) {
            return self.0.bool(!b);
        }
        match self.0.app(a) {
            Some((Op::Not, args)) => args[0],
            Some((Op::Lt, args)) if self.0.sort_of(args[0]) == Sort::INT => self.le(args[1], args[0]),
            Some((Op::Le, args)) if self.0.sort_of(args[0]) == Sort::INT => self.lt(args[1], args[0]),
            // Conjuncts can be separated later.
            Some((Op::Or, args)) if args.len() <= 8 => self.all(args.iter().map(|x| self.not(*x)).collect::<Vec<_>>()),
            _ => self.0.not(a),
        }
    }
    pub(super) fn all(self, args: impl IntoIterator<Item = Term>) -> Term {
        let mut out: Vec<Term> = Vec::new();
        for a in args {
            for a in self.0.conjuncts(a) {
                match self.as_bool(a) {
                    Some(true) => {}
                    Some(false) => return self.ff(),
                    None if out.contains(&a) => {}
                    None if out.contains(&self.not(a)) => return self.ff(),
                    None => out.push(a),
                }
            }
        }
        self.0.and(&out)
    }
    pub(super) fn and(self, a: Term, b: Term) -> Term {
        self.all([a, b])
    }
    pub(super) fn any(self, args: impl IntoIterator<Item = Term>) -> Term {
        let mut out: Vec<Term> = Vec::new();
        for a in args {
            match self.as_bool(a) {
                Some(false) => {}
                Some(true) => return self.tt(),
                None if out.contains(&a) => {}
                None if out.contains(&self.not(a)) => return self.tt(),
                None => out.push(a),
            }
        }
        self.0.or(&out)
    }
    pub(super) fn or(self, a: Term, b: Term) -> Term {
        self.any([a, b])
    }
    pub(super) fn ite(self, c: Term, a: Term, b: Term) -> Term {
        if a == b {
            return a;
        }
        match self.as_bool(c) {
            Some(true) => return a,
            Some(false) => return b,
            None => {}
        }
        if self.0.sort_of(a) == Sort::BOOL {
            match (self.as_bool(a), self.as_bool(b)) {
                (Some(true), Some(false)) => return c,
                (Some(false), Some(true)) => return self.not(c),
                (Some(true), None) => return self.or(c, b),
                (Some(false), None) => return self.and(self.not(c), b),
                (None, Some(false)) => return self.and(c, a),
                (None, Some(true)) => return self.or(self.not(c), a),
                _ => {}
            }
        }
        match self.0.app(c) {
            Some((Op::Not, args)) => self.0.ite(args[0], b, a),
            _ => self.0.ite(c, a, b),
        }
    }
    /// A comparison pushed into a choice between constants: `(c ? 1 : 0) == 0` is `!c`.
    fn into_choice(self, a: Term, compare: &dyn Fn(Term) -> Term) -> Option<Term> {
        let (Op::Ite, args) = self.0.app(a)? else { return None };
        let simple = |t: Term| {
            self.as_num(t).is_some()
                || matches!(self.0.app(t), Some((Op::Ite, x)) if x[1..].iter().all(|y| self.as_num(*y).is_some()))
        };
        (simple(args[1]) && simple(args[2])).then(|| self.ite(args[0], compare(args[1]), compare(args[2])))
    }
    pub(super) fn eq(self, a: Term, b: Term) -> Term {
        if a == b {
            return self.tt();
        }
        if let (Some(x), Some(y)) = (self.as_num(a), self.as_num(b)) {
            return self.0.bool(x == y);
        }
        if self.0.sort_of(a) == Sort::BOOL {
            match (self.as_bool(a), self.as_bool(b)) {
                (Some(true), _) => return b,
                (Some(false), _) => return self.not(b),
                (_, Some(true)) => return a,
                (_, Some(false)) => return self.not(a),
                _ => return self.0.eq(a, b),
            }
        }
        if self.as_num(b).is_some()
            && let Some(t) = self.into_choice(a, &|x| self.eq(x, b))
        {
            return t;
        }
        if self.as_num(a).is_some() {
            return if self.as_num(b).is_some() { self.0.eq(a, b) } else { self.eq(b, a) };
        }
        // x + c == d
        if let (Some((base, c)), Some(d)) = (self.plus_constant(a), self.as_num(b)) {
            return self.eq(base, self.num(d - c));
        }
        self.0.eq(a, b)
    }
    pub(super) fn ne(self, a: Term, b: Term) -> Term {
        self.not(self.eq(a, b))
    }
    pub(super) fn lt(self, a: Term, b: Term) -> Term {
        if a == b {
            return self.ff();
        }
        match (self.as_num(a), self.as_num(b)) {
            (Some(x), Some(y)) => return self.0.bool(x < y),
            (None, Some(_)) => {
                if let Some(t) = self.into_choice(a, &|x| self.lt(x, b)) {
                    return t;
                }
            }
            (Some(_), None) => {
                if let Some(t) = self.into_choice(b, &|x| self.lt(a, x)) {
                    return t;
                }
            }
            _ => {}
        }
        self.0.lt(a, b)
    }
    pub(super) fn le(self, a: Term, b: Term) -> Term {
        if a == b {
            return self.tt();
        }
        match (self.as_num(a), self.as_num(b)) {
            (Some(x), Some(y)) => return self.0.bool(x <= y),
            (None, Some(_)) => {
                if let Some(t) = self.into_choice(a, &|x| self.le(x, b)) {
                    return t;
                }
            }
            (Some(_), None) => {
                if let Some(t) = self.into_choice(b, &|x| self.le(a, x)) {
                    return t;
                }
            }
            _ => {}
        }
        self.0.le(a, b)
    }
    /// `t` as `base + c` with a constant `c`.
    fn plus_constant(self, t: Term) -> Option<(Term, i128)> {
        match self.0.app(t) {
            Some((Op::Add, args)) => Some((args[0], self.as_num(args[1])?)),
            _ => None,
        }
    }
    pub(super) fn add(self, a: Term, b: Term) -> Term {
        match (self.as_num(a), self.as_num(b)) {
            (Some(x), Some(y)) => return self.num(x + y),
            (Some(0), _) => return b,
            (_, Some(0)) => return a,
            (Some(_), None) => return self.add(b, a),
            (None, Some(y)) => {
                if let Some((base, x)) = self.plus_constant(a) {
                    return self.add(base, self.num(x + y));
                }
            }
            (None, None) => {
                if let Some((base, x)) = self.plus_constant(a) {
                    return self.add(self.add(base, b), self.num(x));
                }
            }
        }
        self.0.add(a, b)
    }
    pub(super) fn sub(self, a: Term, b: Term) -> Term {
        if a == b {
            return self.num(0);
        }
        match self.as_num(b) {
            Some(y) => self.add(a, self.num(-y)),
            None => self.0.sub(a, b),
        }
    }
    pub(super) fn mul(self, a: Term, b: Term) -> Term {
        match (self.as_num(a), self.as_num(b)) {
            // A product beyond 128 bits is left as it is: it has no number here.
            (Some(x), Some(y)) => x.checked_mul(y).map_or_else(|| self.0.mul(a, b), |product| self.num(product)),
            (Some(0), _) | (_, Some(0)) => self.num(0),
            (Some(1), _) => b,
            (_, Some(1)) => a,
            (Some(_), None) => self.0.mul(b, a),
            _ => self.0.mul(a, b),
        }
    }
    /// Euclidean division, as the logic has it.
    pub(super) fn div(self, a: Term, b: Term) -> Term {
        match (self.as_num(a), self.as_num(b)) {
            (Some(x), Some(y)) if y != 0 => self.num(x.div_euclid(y)),
            (_, Some(1)) => a,
            _ => self.0.mk(Op::Div, &[a, b]),
        }
    }
    pub(crate) fn modulo(self, a: Term, b: Term) -> Term {
        match (self.as_num(a), self.as_num(b)) {
            (Some(x), Some(y)) if y != 0 => self.num(x.rem_euclid(y)),
            _ => self.0.mk(Op::Mod, &[a, b]),
        }
    }
    pub(super) fn select(self, m: Term, k: Term) -> Term {
        if let Some((Op::Store, args)) = self.0.app(m) {
            if args[1] == k {
                return args[2];
            }
            if self.as_num(args[1]).is_some() && self.as_num(k).is_some() {
                return self.select(args[0], k);
            }
        }
        if let Some((Op::ConstMap(_), args)) = self.0.app(m) {
            return args[0];
        }
        self.0.select(m, k)
    }
    /// 1 where the formula holds, else 0.
    pub(super) fn bit(self, c: Term) -> Term {
        self.ite(c, self.num(1), self.num(0))
    }
    /// Whether a C integer is true.
    pub(super) fn truth(self, t: Term) -> Term {
        self.ne(t, self.num(0))
    }
    fn rebuild(self, op: Op, args: &[Term]) -> Term {
        match (op, args) {
            (Op::Not, [a]) => self.not(*a),
            (Op::And, _) => self.all(args.iter().copied()),
            (Op::Or, _) => self.any(args.iter().copied()),
            (Op::Implies, [a, b]) => self.or(self.not(*a), *b),
            (Op::Ite, [c, a, b]) => self.ite(*c, *a, *b),
            (Op::Eq, [a, b]) => self.eq(*a, *b),
            (Op::Lt, [a, b]) if self.0.sort_of(*a) == Sort::INT => self.lt(*a, *b),
            (Op::Le, [a, b]) if self.0.sort_of(*a) == Sort::INT => self.le(*a, *b),
            (Op::Add, [a, b]) if self.0.sort_of(*a) == Sort::INT => self.add(*a, *b),
            (Op::Sub, [a, b]) if self.0.sort_of(*a) == Sort::INT => self.sub(*a, *b),
            (Op::Mul, [a, b]) if self.0.sort_of(*a) == Sort::INT => self.mul(*a, *b),
            (Op::Div, [a, b]) if self.0.sort_of(*a) == Sort::INT => self.div(*a, *b),
            (Op::Mod, [a, b]) if self.0.sort_of(*a) == Sort::INT => self.modulo(*a, *b),
            (Op::Select, [m, k]) => self.select(*m, *k),
            _ => self.0.mk(op, args),
        }
    }
    /// Substitution that folds on the way up.
    pub(super) fn substitute(self, term: Term, map: &FxHashMap<Symbol, Term>) -> Term {
        if map.is_empty() {
            return term;
        }
        self.go(term, map, &mut FxHashMap::default())
    }
    fn go(self, term: Term, map: &FxHashMap<Symbol, Term>, memo: &mut FxHashMap<Term, Term>) -> Term {
        if let Some(done) = memo.get(&term) {
            return *done;
        }
        let out = match self.0.node(term) {
            Node::Sym(s) => map.get(&s).copied().unwrap_or(term),
            Node::App(op, args) => {
                let new: Vec<Term> = args.iter().map(|a| self.go(*a, map, memo)).collect();
                if new[..] == args[..] { term } else { self.rebuild(op, &new) }
            }
            _ => term,
        };
        memo.insert(term, out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_folding_keeps_meaning() {
        let terms = Terms::new();
        let b = Build(&terms);
        let x = terms.sym(terms.symbol("x", Sort::INT));
        let c = b.lt(x, b.num(3));
        assert_eq!(b.truth(b.bit(c)), c);
        assert_eq!(b.eq(b.bit(c), b.num(0)), b.le(b.num(3), x));
        assert_eq!(b.eq(b.add(x, b.num(2)), b.num(5)), b.eq(x, b.num(3)));
        assert_eq!(b.and(c, b.not(c)), b.ff());
        assert_eq!(b.add(b.add(x, b.num(2)), b.num(-2)), x);
    }
}
