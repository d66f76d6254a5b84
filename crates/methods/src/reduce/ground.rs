//! Questions without quantifiers: what is quantified is asked of the keys at hand.
//!
//! In: premises and goals. Out: weaker premises and stronger goals in which a universal premise is its instances at the keys that maps are read and
//! written at, and a universal goal is about a new symbol. What follows then follows; what does not may still. Quantifiers where neither can be
//! done (under `<==>`, or in a condition) stay. Deliberately absent: more than one round of instances, and bound maps.

use logic::{Node, Op, Quantifier, Sort, Symbol, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many keys of a sort are tried, and of a pair of bound symbols so many for each.
const MAX_KEYS: usize = 14;
const MAX_KEYS_OF_PAIRS: usize = 6;

/// Which formulas have quantifiers, remembered.
#[derive(Default)]
pub(super) struct Quantified(FxHashMap<Term, bool>);

impl Quantified {
    pub(super) fn has(&mut self, t: &Terms, f: Term) -> bool {
        if let Some(known) = self.0.get(&f) {
            return *known;
        }
        let found = match t.node(f) {
            Node::Quant(..) => true,
            Node::App(_, args) => args.iter().any(|a| self.has(t, *a)),
            _ => false,
        };
        self.0.insert(f, found);
        found
    }
}

/// A question without quantifiers.
pub(super) struct Grounded {
    pub premises: Vec<Term>,
    pub goals: Vec<Term>,
}

/// `None`: nothing is quantified.
pub(super) fn grounded(t: &Terms, premises: &[Term], goals: &[Term], known: &mut Quantified) -> Option<Grounded> {
    let mut any = false;
    for f in premises.iter().chain(goals) {
        any |= known.has(t, *f);
    }
    if !any {
        return None;
    }
    let mut g = Grounding { t, known, keys: FxHashMap::default() };
    let premises: Vec<Term> = premises.iter().map(|f| g.witnessed(*f, Side::Premise)).collect();
    let goals: Vec<Term> = goals.iter().map(|f| g.witnessed(*f, Side::Goal)).collect();
    let mut seen = FxHashSet::default();
    goals.iter().chain(&premises).for_each(|f| g.collect(*f, &mut seen));
    let premises = premises.iter().map(|f| g.instances(*f, Side::Premise)).collect();
    let goals = goals.iter().map(|f| g.instances(*f, Side::Goal)).collect();
    Some(Grounded { premises, goals })
}

/// Where a formula stands: it is assumed, or to be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Premise,
    Goal,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Premise => Side::Goal,
            Side::Goal => Side::Premise,
        }
    }
}

struct Grounding<'a> {
    t: &'a Terms,
    known: &'a mut Quantified,
    keys: FxHashMap<Sort, Vec<Term>>,
}

impl Grounding<'_> {
    fn each(&mut self, f: Term, side: Side, then: &mut dyn FnMut(&mut Self, Term, Side) -> Term) -> Term {
        let t = self.t;
        match t.node(f) {
            Node::App(op @ (Op::And | Op::Or), args) => {
                let parts: Vec<Term> = args.iter().map(|a| then(self, *a, side)).collect();
                t.mk(op, &parts)
            }
            Node::App(Op::Not, args) => {
                let inner = then(self, args[0], side.other());
                t.not(inner)
            }
            Node::App(Op::Implies, args) => {
                let (a, b) = (then(self, args[0], side.other()), then(self, args[1], side));
                t.implies(a, b)
            }
            Node::App(Op::Ite, args) if t.sort_of(f) == Sort::BOOL && !self.known.has(t, args[0]) => {
                let (a, b) = (then(self, args[1], side), then(self, args[2], side));
                t.ite(args[0], a, b)
            }
            _ => f,
        }
    }

    /// Names for what there is (premises), for any (goals).
    fn witnessed(&mut self, f: Term, side: Side) -> Term {
        let t = self.t;
        if !self.known.has(t, f) {
            return f;
        }
        if let Node::Quant(q, bound, body) = t.node(f) {
            if (q == Quantifier::Exists) != (side == Side::Premise) {
                return f;
            }
            let mut pairs = Vec::new();
            for s in bound.iter() {
                let (name, sort) = (t.symbol_name(*s), t.symbol_sort(*s));
                let fresh = t.symbol(format!("{name} at hand"), sort);
                self.keys.entry(sort).or_default().push(t.sym(fresh));
                pairs.push((*s, t.sym(fresh)));
            }
            let body = t.substitute(body, pairs);
            return self.witnessed(body, side);
        }
        self.each(f, side, &mut |g, x, s| g.witnessed(x, s))
    }

    /// The keys of maps, outside quantifiers.
    fn collect(&mut self, f: Term, seen: &mut FxHashSet<Term>) {
        if !seen.insert(f) {
            return;
        }
        let Some((op, args)) = self.t.app(f) else { return };
        if matches!(op, Op::Select | Op::Store) {
            let list = self.keys.entry(self.t.sort_of(args[1])).or_default();
            if !list.contains(&args[1]) && !self.known.has(self.t, args[1]) {
                list.push(args[1]);
            }
        }
        args.iter().for_each(|a| self.collect(*a, seen));
    }

    fn instances(&mut self, f: Term, side: Side) -> Term {
        let t = self.t;
        if !self.known.has(t, f) {
            return f;
        }
        if let Node::Quant(_, bound, body) = t.node(f) {
            let limit = if bound.len() == 1 { MAX_KEYS } else { MAX_KEYS_OF_PAIRS };
            let mut all: Vec<Vec<(Symbol, Term)>> = vec![Vec::new()];
            for s in bound.iter() {
                let keys = self.keys.get(&t.symbol_sort(*s)).cloned().unwrap_or_default();
                let longer = |pairs: &Vec<(Symbol, Term)>| {
                    let with = |k: &Term| pairs.iter().copied().chain([(*s, *k)]).collect::<Vec<_>>();
                    keys.iter().take(limit).map(with).collect::<Vec<_>>()
                };
                all = all.iter().flat_map(longer).collect();
            }
            let mut parts = Vec::new();
            for pairs in all {
                let body = t.substitute(body, pairs);
                parts.push(self.instances(body, side));
            }
            return if side == Side::Premise { t.and(&parts) } else { t.or(&parts) };
        }
        self.each(f, side, &mut |g, x, s| g.instances(x, s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Budget;
    use solver::{Smt, SolverSettings, Z3};

    #[test]
    fn check_a_passed_part_that_grows_follows_from_its_instances() {
        let t = Terms::new();
        let map = t.map_sort(Sort::INT, Sort::INT);
        let (m, i, q) = (t.sym(t.symbol("m", map)), t.sym(t.symbol("i", Sort::INT)), t.symbol("q", Sort::INT));
        let passed = |m: Term, i: Term| {
            let any = t.sym(q);
            let inside = t.and(&[t.le(t.int(0), any), t.lt(any, i)]);
            t.forall(&[q], t.implies(inside, t.eq(t.select(m, any), t.int(0))))
        };
        let (next, wrong) = (t.store(m, i, t.int(0)), t.store(m, i, t.int(1)));
        let shows = |after: Term| {
            let more = t.add(i, t.int(1));
            let premises = [passed(m, i), t.le(t.int(0), i)];
            let g = grounded(&t, &premises, &[passed(after, more)], &mut Quantified::default()).expect("quantified");
            let mut known = Quantified::default();
            assert!(!g.premises.iter().chain(&g.goals).any(|f| known.has(&t, *f)), "no quantifier is left");
            let mut smt = Z3::new(&t, SolverSettings::default(), &Budget::unlimited()).expect("a session");
            g.premises.iter().for_each(|f| smt.assert(*f));
            smt.assert(t.not(g.goals[0]));
            smt.check().is_unsat()
        };
        assert!(shows(next));
        assert!(!shows(wrong));
    }
}
