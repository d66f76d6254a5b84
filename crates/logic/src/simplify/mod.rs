//! The one simplifier: equivalent terms that are mostly smaller, in a form where equal things look equal.
//!
//! In: a term. Out: a term of the same sort that has the same value whenever the first has one (in the sense of
//! `eval`; what runs into `Open`, `Unbounded` or `TooLarge` may become decided). Each part is rewritten once, bottom
//! up, with a memo, so the work is linear in the graph; rules look a bounded distance into a term.
//! Deliberately absent: case splits, anything that asks a solver, distribution beyond a bounded sum. The checker does not use it.

mod linear;
mod rules;

use crate::sort::Sort;
use crate::term::{Node, Op, Quantifier, Symbol, Term, Terms};
use rustc_hash::FxHashMap;

/// Keeps what is simplified; use one for many terms of one table.
pub(crate) struct Simplifier<'t> {
    terms: &'t Terms,
    memo: FxHashMap<Term, Term>,
}

impl<'t> Simplifier<'t> {
    pub(crate) fn new(terms: &'t Terms) -> Self {
        Self { terms, memo: FxHashMap::default() }
    }

    pub(crate) fn simplify(&mut self, term: Term) -> Term {
        // An explicit stack: terms may be deeper than the machine's.
        let mut todo = vec![(term, false)];
        while let Some((t, parts_done)) = todo.pop() {
            if self.memo.contains_key(&t) {
                continue;
            }
            let node = self.terms.node(t);
            if !parts_done {
                todo.push((t, true));
                match &node {
                    Node::App(_, args) => todo.extend(args.iter().rev().map(|a| (*a, false))),
                    Node::Quant(_, _, body) => todo.push((*body, false)),
                    _ => {}
                }
                continue;
            }
            let out = match node {
                Node::App(op, args) => {
                    let args: Vec<Term> = args.iter().map(|a| self.memo[a]).collect();
                    rules::apply(self.terms, op, &args)
                }
                Node::Quant(q, bound, body) => self.quantified(q, &bound, self.memo[&body]),
                _ => t,
            };
            debug_assert_eq!(self.terms.sort_of(out), self.terms.sort_of(t), "a simplified term keeps its sort");
            self.memo.insert(t, out);
            // What is simplified stays: asking again costs nothing.
            self.memo.entry(out).or_insert(out);
        }
        self.memo[&term]
    }

    /// Drops symbols that do not occur, and those that an equation fixes.
    fn quantified(&mut self, q: Quantifier, bound: &[Symbol], body: Term) -> Term {
        let t = self.terms;
        let mut body = body;
        let mut left: Vec<Symbol> = bound.to_vec();
        loop {
            let free = t.free_symbols(body);
            left.retain(|s| free.contains(s));
            let found = left.iter().find_map(|x| Some((*x, fixed_by(t, q, body, *x)?)));
            let Some((x, value)) = found else { break };
            left.retain(|s| *s != x);
            // The values of all other parts are simplified already; the memo finds them again.
            let replaced = t.substitute(body, [(x, value)]);
            body = Simplifier::new(t).simplify(replaced);
        }
        t.quant(q, &left, body)
    }
}

/// The term that a symbol must equal where the body of the quantifier matters.
fn fixed_by(t: &Terms, q: Quantifier, body: Term, x: Symbol) -> Option<Term> {
    let facts = match (q, t.app(body)) {
        (Quantifier::Exists, _) => t.conjuncts(body),
        (Quantifier::Forall, Some((Op::Implies, args))) => t.conjuncts(args[0]),
        _ => return None,
    };
    facts.into_iter().find_map(|f| {
        let (Op::Eq, args) = t.app(f)? else { return None };
        let is_x = |a: Term| t.as_symbol(a) == Some(x);
        let other = match (is_x(args[0]), is_x(args[1])) {
            (true, false) => args[1],
            (false, true) => args[0],
            _ => return None,
        };
        // Under a quantifier inside, the same symbol could be bound again; then nothing is said.
        (!t.free_symbols(other).contains(&x) && !t.has_quantifier(body)).then_some(other)
    })
}

impl Terms {
    /// The simplified term. For many terms make one `Simplifier`.
    pub fn simplify(&self, term: Term) -> Term {
        Simplifier::new(self).simplify(term)
    }
}

/// A literal: its value is known without an environment.
fn is_literal(t: &Terms, term: Term) -> bool {
    t.with_node(term, |n| matches!(n, Node::Bool(_) | Node::Num(..) | Node::Variant(..) | Node::Ref(..)))
}

fn number(t: &Terms, term: Term) -> Option<i128> {
    t.with_node(term, |n| if let Node::Num(n, _) = n { Some(*n) } else { None })
}

/// Whether two terms of one sort differ under every assignment; false where that is not plain to see.
fn surely_differ(t: &Terms, a: Term, b: Term) -> bool {
    if a == b {
        return false;
    }
    if is_literal(t, a) && is_literal(t, b) {
        return true;
    }
    if t.sort_of(a) == Sort::INT {
        return linear::difference(t, a, b).and_then(|d| d.constant()).is_some_and(|c| c != 0);
    }
    false
}

#[cfg(test)]
mod tests;
