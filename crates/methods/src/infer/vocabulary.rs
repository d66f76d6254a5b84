//! The vocabulary of candidate facts: the conditions a program's formulas are made of, and shapes built from them.
//!
//! In: formulas and steps of the program. Out: the terms of a step; lists of formulas without repetition, in the order in which they were found, so that a limit
//! keeps the same ones everywhere.

use logic::{Node, Op, Sort, Term, Terms};
use program::Action;
use rustc_hash::FxHashSet;

/// Formulas in the order in which they were added, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct FactSet {
    pub all: Vec<Term>,
    seen: FxHashSet<Term>,
}

impl FactSet {
    pub(crate) fn add(&mut self, f: Term) {
        if self.seen.insert(f) {
            self.all.push(f);
        }
    }

    /// Adds the conditions a formula is made of: boolean terms without boolean structure. Quantified ones are left out.
    pub(crate) fn add_conditions(&mut self, t: &Terms, f: Term) {
        match t.node(f) {
            Node::Bool(_) | Node::Quant(..) => {}
            Node::App(Op::And | Op::Or | Op::Not | Op::Implies, args) => {
                args.iter().for_each(|a| self.add_conditions(t, *a));
            }
            Node::App(Op::Ite, args) if t.sort_of(f) == Sort::BOOL => {
                args.iter().for_each(|a| self.add_conditions(t, *a));
            }
            Node::App(Op::Eq, args) if t.sort_of(args[0]) == Sort::BOOL => {
                args.iter().for_each(|a| self.add_conditions(t, *a));
            }
            _ => self.add(f),
        }
    }

    /// Adds a condition, its negation, and for comparisons the weaker ones next to it.
    pub(crate) fn add_neighbours(&mut self, t: &Terms, f: Term) {
        self.add(f);
        self.add(t.not(f));
        if let Some((Op::Lt | Op::Le, args)) = t.app(f) {
            let (x, y) = (args[0], args[1]);
            if t.sort_of(x) == Sort::INT {
                self.add(t.le(x, y));
                self.add(t.le(y, x));
                self.add(t.le(x, t.add(y, t.int(1))));
                for z in [x, y] {
                    self.add(t.le(t.int(0), z));
                }
            }
        }
    }
}

/// What a step asks of the store before it: its guard and its gates.
pub(crate) fn conditions_of(action: &Action) -> impl Iterator<Item = Term> {
    std::iter::once(action.guard).chain(action.gates.iter().map(|g| g.formula))
}

/// Everything that a step reads: its conditions, and the values that it writes.
pub(crate) fn terms_of(action: &Action) -> impl Iterator<Item = Term> {
    conditions_of(action).chain(action.updates.iter().map(|u| u.value))
}

/// Bounds, orders and, of few numbers, sums of integers.
pub(crate) fn arithmetic(t: &Terms, numbers: &[Term], constants: &[Term]) -> Vec<Term> {
    const MAX_IN_SUMS: usize = 5;
    let ints: Vec<Term> = numbers.iter().copied().filter(|n| t.sort_of(*n) == Sort::INT).collect();
    let mut out = Vec::new();
    for n in &ints {
        for c in constants {
            out.extend([t.le(*c, *n), t.le(*n, *c)]);
        }
    }
    for a in &ints {
        for b in &ints {
            if a < b {
                out.extend([t.eq(*a, *b), t.le(*a, *b), t.le(*b, *a)]);
            }
        }
    }
    if ints.len() <= MAX_IN_SUMS {
        for a in &ints {
            for (i, b) in ints.iter().enumerate() {
                for c in &ints[i + 1..] {
                    if a != b && a != c {
                        out.push(t.eq(*a, t.add(*b, *c)));
                    }
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_conditions_are_found_under_boolean_structure_and_not_under_quantifiers() {
        let t = Terms::new();
        let (x, k) = (t.symbol("x", Sort::INT), t.symbol("k", Sort::INT));
        let flag = t.sym(t.symbol("flag", Sort::BOOL));
        let positive = t.lt(t.int(0), t.sym(x));
        let hidden = t.quant(logic::Quantifier::Forall, &[k], t.lt(t.sym(k), t.sym(x)));
        let mut facts = FactSet::default();
        facts.add_conditions(&t, t.implies(t.not(positive), t.and(&[flag, hidden, t.eq(flag, positive)])));
        assert_eq!(facts.all, [positive, flag]);
        facts.add_neighbours(&t, positive);
        assert!(facts.all.contains(&t.not(positive)) && facts.all.contains(&t.le(t.sym(x), t.int(0))));
    }
}
