//! Quantified facts without quantifiers: at the keys that matter.
//!
//! In: formulas with quantifiers over keys of maps, elements of sets and indices of sequences. Out, as a premise: a universal fact at
//! the keys that are at hand; as a goal: at a key that may be any. A proof from these premises is a proof from the facts, and the
//! solver need not look for models of quantified formulas: it answers where it would give up.
//! Deliberately absent: keys that come up only in an instance; quantifiers under equivalences and choices, which are left as they are.

use logic::{Node, Op, Quantifier, Sort, Symbol, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// So many keys of a sort are used at most, and so many instances are made of one fact.
const MAX_KEYS: usize = 24;
const MAX_INSTANCES_PER_FACT: usize = 150;

/// A universal fact: its bound symbols and what is said of them.
pub(crate) fn universal(t: &Terms, fact: Term) -> Option<(Vec<Symbol>, Term)> {
    match t.node(fact) {
        Node::Quant(Quantifier::Forall, bound, body) => Some((bound.to_vec(), body)),
        _ => None,
    }
}

/// The body at every choice of keys for the bound symbols.
pub(crate) fn at_keys(t: &Terms, bound: &[Symbol], body: Term, keys: &dyn Fn(Sort) -> Vec<Term>) -> Vec<Term> {
    let mut out = vec![body];
    for k in bound {
        let values = keys(t.symbol_sort(*k));
        out = out.iter().flat_map(|f| values.iter().map(move |x| t.substitute(*f, [(*k, *x)]))).collect();
    }
    out
}

/// The keys at hand, by sort.
#[derive(Default)]
pub(crate) struct KeysAtHand {
    by: BTreeMap<Sort, Vec<Term>>,
}

impl KeysAtHand {
    pub(crate) fn add(&mut self, t: &Terms, key: Term) {
        let list = self.by.entry(t.sort_of(key)).or_default();
        if !list.contains(&key) && list.len() < MAX_KEYS {
            list.push(key);
        }
    }

    /// Adds what the formulas use as a key, an element or an index.
    pub(crate) fn gather(&mut self, t: &Terms, formulas: impl IntoIterator<Item = Term>) {
        let mut todo: Vec<Term> = formulas.into_iter().collect();
        todo.reverse();
        let (mut seen, mut found, mut bound) = (FxHashSet::default(), Vec::new(), FxHashSet::default());
        while let Some(f) = todo.pop() {
            if !seen.insert(f) {
                continue;
            }
            match t.node(f) {
                Node::App(op, args) => {
                    match op {
                        Op::Select | Op::Store | Op::At => found.push(args[1]),
                        Op::Member | Op::Insert => found.push(args[0]),
                        _ => {}
                    }
                    todo.extend(args.iter());
                }
                Node::Quant(_, symbols, body) => {
                    bound.extend(symbols.iter().copied());
                    todo.push(body);
                }
                _ => {}
            }
        }
        let free = |f: &Term| !t.free_symbols(*f).iter().any(|s| bound.contains(s));
        found.into_iter().filter(free).for_each(|key| self.add(t, key));
    }

    fn of(&self, sort: Sort) -> Vec<Term> {
        self.by.get(&sort).cloned().unwrap_or_default()
    }
}

/// On which side of what is to be shown a formula stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FormulaSide {
    Premise,
    Goal,
}

/// Rewrites goals, then premises. Goals are shown one by one, so they share the symbols for keys that may be any.
pub(crate) struct Ground<'a> {
    t: &'a Terms,
    keys: KeysAtHand,
    any: BTreeMap<Sort, Vec<Symbol>>,
    /// How many of them the goal at hand uses.
    used: BTreeMap<Sort, usize>,
    memo: FxHashMap<(Term, FormulaSide), Term>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(t: &'a Terms, keys: KeysAtHand) -> Self {
        Self { t, keys, any: BTreeMap::new(), used: BTreeMap::new(), memo: FxHashMap::default() }
    }

    /// What the formula follows from, without quantifiers.
    pub(crate) fn goal(&mut self, goal: Term) -> Term {
        self.used.clear();
        self.memo.clear();
        let out = self.read(goal, FormulaSide::Goal);
        self.memo.clear();
        out
    }

    /// What follows from the fact, at the keys at hand and at those that goals ask for: so goals come first.
    pub(crate) fn premise(&mut self, fact: Term) -> Term {
        // A key that a fact says there is must be none that a goal may choose.
        self.used = self.any.iter().map(|(sort, list)| (*sort, list.len())).collect();
        self.read(fact, FormulaSide::Premise)
    }

    fn at_hand(&self, sort: Sort) -> Vec<Term> {
        let any = self.any.get(&sort).into_iter().flatten().map(|s| self.t.sym(*s));
        any.chain(self.keys.of(sort)).collect()
    }

    fn fresh(&mut self, bound: Symbol) -> Symbol {
        let sort = self.t.symbol_sort(bound);
        let list = self.any.entry(sort).or_default();
        let used = self.used.entry(sort).or_default();
        if *used == list.len() {
            list.push(self.t.symbol(format!("any {}", self.t.symbol_name(bound)), sort));
        }
        *used += 1;
        list[*used - 1]
    }

    fn read(&mut self, f: Term, side: FormulaSide) -> Term {
        if let Some(known) = self.memo.get(&(f, side)) {
            return *known;
        }
        let t = self.t;
        let other = if side == FormulaSide::Premise { FormulaSide::Goal } else { FormulaSide::Premise };
        let out = match t.node(f) {
            Node::App(op @ (Op::And | Op::Or), args) => {
                let new: Vec<Term> = args.iter().map(|a| self.read(*a, side)).collect();
                if new[..] == args[..] { f } else { t.mk(op, &new) }
            }
            Node::App(Op::Not, args) => t.not(self.read(args[0], other)),
            Node::App(Op::Implies, args) => {
                let (a, b) = (self.read(args[0], other), self.read(args[1], side));
                t.implies(a, b)
            }
            Node::Quant(q, bound, body) if (q == Quantifier::Forall) == (side == FormulaSide::Premise) => {
                let count: usize = bound.iter().map(|k| self.at_hand(t.symbol_sort(*k)).len()).product();
                // A premise may be left out, and of a choice any part will do.
                let made = match count {
                    0..=MAX_INSTANCES_PER_FACT => at_keys(t, &bound, body, &|sort| self.at_hand(sort)),
                    _ => Vec::new(),
                };
                let made: Vec<Term> = made.into_iter().map(|x| self.read(x, side)).collect();
                if q == Quantifier::Forall { t.and(&made) } else { t.or(&made) }
            }
            Node::Quant(_, bound, body) => {
                let fresh: Vec<Symbol> = bound.iter().map(|s| self.fresh(*s)).collect();
                let body = t.substitute(body, bound.iter().copied().zip(fresh.iter().map(|s| t.sym(*s))));
                self.read(body, side)
            }
            _ => f,
        };
        self.memo.insert((f, side), out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `forall k :: m[k] ==> n[k]`, with maps from integers to booleans.
    fn fact(t: &Terms) -> (Symbol, Symbol, Term) {
        let sort = t.map_sort(Sort::INT, Sort::BOOL);
        let (m, n, k) = (t.symbol("m", sort), t.symbol("n", sort), t.symbol("k", Sort::INT));
        let at = |x: Symbol| t.select(t.sym(x), t.sym(k));
        (m, n, t.forall(&[k], t.implies(at(m), at(n))))
    }

    #[test]
    fn check_a_premise_is_taken_at_the_keys_at_hand_and_a_goal_at_any() {
        let t = Terms::new();
        let (m, _, all) = fact(&t);
        let i = t.symbol("i", Sort::INT);
        let mut keys = KeysAtHand::default();
        keys.gather(&t, [all, t.select(t.sym(m), t.sym(i))]);
        let mut ground = Ground::new(&t, keys);
        assert_eq!(t.show(ground.premise(all)), "m[i] ==> n[i]");
        let goal = ground.goal(all);
        assert!(!t.has_quantifier(goal), "{}", t.show(goal));
        // The next goal may have the same key, but two in one goal are two.
        assert_eq!(ground.goal(all), goal);
        let (_, _, more) = fact(&t);
        let both = ground.goal(t.or(&[all, more]));
        let keys = t.free_symbols(both).into_iter().filter(|s| t.symbol_name(*s).starts_with("any")).count();
        assert_eq!(keys, 2, "{}", t.show(both));
    }

    #[test]
    fn check_a_premise_comes_at_the_keys_of_goals_and_its_own_are_others() {
        let t = Terms::new();
        let (_, _, all) = fact(&t);
        let mut ground = Ground::new(&t, KeysAtHand::default());
        let goal = ground.goal(all);
        // The fact at the goal's key is the goal.
        assert_eq!(ground.premise(all), goal);
        let denied = ground.premise(t.not(all));
        assert_ne!(denied, t.not(goal), "that it fails somewhere is not that it fails there");
    }

    #[test]
    fn check_a_premise_without_keys_says_nothing_and_such_a_choice_is_never_met() {
        let t = Terms::new();
        let (_, _, all) = fact(&t);
        let mut ground = Ground::new(&t, KeysAtHand::default());
        assert!(t.is_true(ground.premise(all)));
        let some = t.exists(&[t.symbol("k", Sort::INT)], t.tt());
        assert!(t.is_false(ground.goal(some)));
    }
}
