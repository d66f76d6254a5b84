//! The conjuncts of annotations, found by the shared variables they speak of: what a step can break, and what it cannot.
//!
//! In: formulas of one store (an invariant) or two (what a thread relies on). Out: `Parts`, and for an action the parts
//! that it could break. A part that mentions nothing the action writes is as it was; so is one that becomes plainly true
//! once everything else is said to stay (`m == tid ==> x' == x`, for a step that writes only `m`). With them the conditions of
//! a region speak of the variables it touches and of no others, so that their size follows the region, not the program.
//! Deliberately absent: any solver; who may rely on what.

use crate::code::Action;
use crate::model::{Program, Scope, ThreadId};
use crate::transition::may_coexist;
use logic::subst::Substitution;
use logic::{Node, Op, Quantifier, Symbol, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};

/// The shared variables that symbols stand for, before or after a step.
#[derive(Clone, Debug)]
pub struct StoreSymbols {
    plain: FxHashMap<Symbol, Symbol>,
    primed: FxHashMap<Symbol, Symbol>,
    order: Vec<Symbol>,
}

impl StoreSymbols {
    pub fn new(program: &Program) -> Self {
        let mut out = Self { plain: FxHashMap::default(), primed: FxHashMap::default(), order: Vec::new() };
        for v in program.shared() {
            let var = &program.vars[v];
            out.plain.insert(var.symbol, var.symbol);
            out.plain.insert(var.primed, var.symbol);
            out.primed.insert(var.symbol, var.primed);
            out.order.push(var.symbol);
        }
        out
    }

    /// The shared variables a formula speaks of, by the symbols of their values before a step; increasing.
    pub fn about(&self, terms: &Terms, formula: Term) -> Vec<Symbol> {
        let mut out: Vec<Symbol> =
            terms.free_symbols(formula).into_iter().filter_map(|s| self.plain.get(&s).copied()).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The symbol for the value after a step.
    pub fn after(&self, symbol: Symbol) -> Symbol {
        self.primed[&symbol]
    }

    pub(crate) fn is_shared(&self, symbol: Symbol) -> bool {
        self.primed.contains_key(&symbol)
    }

    /// Every shared variable, in the order of the program.
    pub fn all(&self) -> &[Symbol] {
        &self.order
    }

    /// What an action writes, increasing.
    pub fn written(&self, program: &Program, action: &Action) -> Vec<Symbol> {
        let spawned = action.spawn.iter().filter_map(|s| s.into);
        let vars = action.updates.iter().map(|u| u.var).chain(spawned);
        let shared = vars.filter(|v| program.vars[*v].scope == Scope::Shared);
        let mut out: Vec<Symbol> = shared.map(|v| program.vars[v].symbol).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// What an action reads or writes, increasing.
    pub fn touched(&self, program: &Program, terms: &Terms, action: &Action) -> Vec<Symbol> {
        let mut out = self.written(program, action);
        let formulas = action.gates.iter().map(|g| g.formula).chain(action.updates.iter().map(|u| u.value));
        let args = action.spawn.iter().flat_map(|s| s.args.iter().copied());
        for f in formulas.chain(args).chain([action.guard]) {
            out.extend(self.about(terms, f));
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// The conjuncts of a formula; the conjuncts of what an implication concludes are distinguished.
pub fn split_conjuncts(terms: &Terms, formula: Term) -> Vec<Term> {
    let mut out = Vec::new();
    for c in terms.conjuncts(formula) {
        match terms.app(c) {
            Some((Op::Implies, args)) if matches!(terms.app(args[1]), Some((Op::And | Op::Implies, _))) => {
                out.extend(split_conjuncts(terms, args[1]).into_iter().map(|f| terms.implies(args[0], f)));
            }
            _ if terms.is_true(c) => {}
            _ => out.push(c),
        }
    }
    out
}

/// Which shared variables conditions speak of.
#[derive(Clone, Debug)]
pub enum Within {
    All,
    These(FxHashSet<Symbol>),
}

impl Within {
    pub fn has(&self, symbol: Symbol) -> bool {
        match self {
            Within::All => true,
            Within::These(set) => set.contains(&symbol),
        }
    }
    pub fn covers(&self, about: &[Symbol]) -> bool {
        about.iter().all(|s| self.has(*s))
    }
}

#[derive(Clone, Debug)]
pub struct FormulaPart {
    pub formula: Term,
    /// Increasing.
    pub about: Vec<Symbol>,
}

/// A list of conjuncts.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    pub list: Vec<FormulaPart>,
    by_variable: FxHashMap<Symbol, Vec<usize>>,
    /// Those that speak of no shared variable.
    rest: Vec<usize>,
}

impl Parts {
    pub fn new(names: &StoreSymbols, terms: &Terms, formulas: impl IntoIterator<Item = Term>) -> Self {
        let mut out = Self::default();
        formulas.into_iter().for_each(|f| out.push(names, terms, f));
        out
    }

    pub fn push(&mut self, names: &StoreSymbols, terms: &Terms, formula: Term) {
        let (at, about) = (self.list.len(), names.about(terms, formula));
        if about.is_empty() {
            self.rest.push(at);
        }
        for s in &about {
            self.by_variable.entry(*s).or_default().push(at);
        }
        self.list.push(FormulaPart { formula, about });
    }

    /// The parts that speak of nothing else, in order.
    pub fn within(&self, within: &Within) -> Vec<usize> {
        let Within::These(set) = within else { return (0..self.list.len()).collect() };
        let mut out: Vec<usize> = self.rest.clone();
        for s in set {
            // Each part is found by its first variable alone.
            let found = self.by_variable.get(s).into_iter().flatten().copied();
            out.extend(
                found.filter(|at| self.list[*at].about.first() == Some(s) && within.covers(&self.list[*at].about)),
            );
        }
        out.sort_unstable();
        out
    }

    /// The conjunction of those parts.
    pub fn formula(&self, terms: &Terms, within: &Within) -> Term {
        terms.and(&self.within(within).into_iter().map(|at| self.list[at].formula).collect::<Vec<_>>())
    }

    /// The parts that speak of any of the variables, in order.
    pub fn mentioning(&self, symbols: &[Symbol]) -> Vec<usize> {
        let mut out: Vec<usize> = symbols.iter().filter_map(|s| self.by_variable.get(s)).flatten().copied().collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Parts that speak of the same variables, together.
    pub fn groups(&self) -> Vec<(&[Symbol], Vec<usize>)> {
        let mut at: FxHashMap<&[Symbol], usize> = FxHashMap::default();
        let mut out: Vec<(&[Symbol], Vec<usize>)> = Vec::new();
        for (i, part) in self.list.iter().enumerate() {
            let group = *at.entry(&part.about).or_insert_with(|| {
                out.push((&part.about, Vec::new()));
                out.len() - 1
            });
            out[group].1.push(i);
        }
        out
    }
}

/// What every step is judged by: an invariant, and what threads rely on.
pub struct StabilityIndex {
    pub names: StoreSymbols,
    pub invariant: Parts,
    pub relies: Parts,
    /// For each part of `relies`, the threads that rely on it.
    pub of: Vec<Vec<ThreadId>>,
}

/// What a step could break, by position.
#[derive(Clone, Debug, Default)]
pub struct BreakableParts {
    pub invariant: Vec<usize>,
    pub relies: Vec<usize>,
}

impl StabilityIndex {
    /// The parts that a step of `thread` could break; `leaves_block`: the step ends an atomic block, in which the invariant
    /// need not have held.
    pub fn broken(
        &self,
        terms: &Terms,
        program: &Program,
        thread: ThreadId,
        action: &Action,
        leaves_block: bool,
    ) -> BreakableParts {
        let writes = self.names.written(program, action);
        let invariant =
            if leaves_block { (0..self.invariant.list.len()).collect() } else { self.invariant.mentioning(&writes) };
        let mut out = BreakableParts { invariant, relies: Vec::new() };
        for at in self.relies.mentioning(&writes) {
            let watched = self.of[at].iter().any(|u| may_coexist(program, thread, *u));
            if watched && !trivially_preserved(terms, &self.names, &self.relies.list[at], &writes) {
                out.relies.push(at);
            }
        }
        out
    }

    /// The variables that those parts speak of.
    pub fn about<'a>(&'a self, broken: &'a BreakableParts) -> impl Iterator<Item = Symbol> + 'a {
        let invariant = broken.invariant.iter().map(|at| &self.invariant.list[*at]);
        let relies = broken.relies.iter().map(|at| &self.relies.list[*at]);
        invariant.chain(relies).flat_map(|p| p.about.iter().copied())
    }
}

/// Renamings for two steps in a row, of a two-store formula about some variables.
pub struct TwoSteps {
    last: FxHashMap<Symbol, Term>,
}

impl TwoSteps {
    pub fn new(terms: &Terms, names: &StoreSymbols) -> Self {
        let last = |s: &Symbol| terms.sym(terms.symbol(format!("{}''", terms.symbol_name(*s)), terms.symbol_sort(*s)));
        Self { last: names.all().iter().map(|s| (*s, last(s))).collect() }
    }
    /// A step that changes nothing.
    pub fn idle<'t>(&self, terms: &'t Terms, names: &StoreSymbols, about: &[Symbol]) -> Substitution<'t> {
        Substitution::new(terms, about.iter().map(|s| (names.after(*s), terms.sym(*s))))
    }
    /// The second of the two steps.
    pub fn second<'t>(&self, terms: &'t Terms, names: &StoreSymbols, about: &[Symbol]) -> Substitution<'t> {
        let pairs = |s: &Symbol| [(*s, terms.sym(names.after(*s))), (names.after(*s), self.last[s])];
        Substitution::new(terms, about.iter().flat_map(pairs))
    }
    /// Both as one.
    pub fn whole<'t>(&self, terms: &'t Terms, names: &StoreSymbols, about: &[Symbol]) -> Substitution<'t> {
        Substitution::new(terms, about.iter().map(|s| (names.after(*s), self.last[s])))
    }
}

/// Whether a part of a two-store formula is plainly true of every step that writes nothing but `writes`.
pub fn trivially_preserved(terms: &Terms, names: &StoreSymbols, part: &FormulaPart, writes: &[Symbol]) -> bool {
    let kept = part.about.iter().filter(|s| !writes.contains(s));
    let same = terms.substitute(part.formula, kept.map(|s| (names.after(*s), terms.sym(*s))));
    plainly_true(terms, same)
}

/// True by its shape alone. Says no too often, never yes wrongly.
pub(crate) fn plainly_true(terms: &Terms, formula: Term) -> bool {
    match terms.node(formula) {
        Node::Bool(b) => b,
        Node::App(Op::Eq | Op::Le | Op::Subset, args) => args[0] == args[1],
        Node::App(Op::And, args) => args.iter().all(|a| plainly_true(terms, *a)),
        Node::App(Op::Or, args) => args.iter().any(|a| plainly_true(terms, *a)),
        Node::App(Op::Implies, args) => args[0] == args[1] || plainly_true(terms, args[1]),
        Node::Quant(Quantifier::Forall, _, body) => plainly_true(terms, body),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::ActionId;
    use crate::model::Copies;
    use crate::semantics::tests::Build;
    use logic::Sort;

    #[test]
    fn check_a_step_is_judged_by_the_parts_it_could_break_and_by_no_others() {
        let mut b = Build::new();
        let [m, x, y] = ["m", "x", "y"].map(|n| b.shared(n, Sort::INT, None));
        let t = b.thread("T", Copies::Any, 2);
        let (tt, tid) = (b.p.terms.tt(), b.p.terms.sym(b.p.tid));
        b.act(t, 0, 1, tt, &[(m, tid)]);
        b.act(t, 0, 1, tt, &[(x, tid)]);
        let (p, terms) = (&b.p, b.p.terms.clone());
        let held = terms.eq(terms.sym(p.vars[m].symbol), tid);
        let same = |v| terms.eq(terms.sym(p.vars[v].primed), terms.sym(p.vars[v].symbol));
        let held_after = terms.eq(terms.sym(p.vars[m].primed), tid);
        let whole = terms.implies(held, terms.and(&[held_after, same(x), terms.implies(same(m), same(y))]));
        let parts = split_conjuncts(&terms, whole);
        assert_eq!(parts.len(), 3);
        let names = StoreSymbols::new(p);
        let relies = Parts::new(&names, &terms, parts);
        let positive = [m, y].map(|v| terms.le(terms.int(0), terms.sym(p.vars[v].symbol)));
        let invariant = Parts::new(&names, &terms, positive);
        let watch = StabilityIndex { names, invariant, relies, of: vec![vec![t]; 3] };
        let action = |n: u32| &p.threads[t].code.actions[ActionId(n)];
        let lock = watch.broken(&terms, p, t, action(0), false);
        assert_eq!(
            (lock.invariant, lock.relies),
            (vec![0], vec![0]),
            "`x' == x` and `y' == y` stay whoever has the lock"
        );
        let write = watch.broken(&terms, p, t, action(1), false);
        assert_eq!((write.invariant, write.relies), (vec![], vec![1]));
        assert_eq!(
            watch.broken(&terms, p, t, action(1), true).invariant,
            vec![0, 1],
            "nothing is known inside a block"
        );
        let near = Within::These([p.vars[m].symbol, p.vars[x].symbol].into_iter().collect());
        assert_eq!(watch.relies.within(&near), vec![0, 1]);
        assert_eq!(watch.relies.within(&Within::All), vec![0, 1, 2]);
    }

    #[test]
    fn check_only_what_is_true_by_its_shape_is_called_so() {
        let t = Terms::new();
        let (x, y) = (t.sym(t.symbol("x", Sort::INT)), t.sym(t.symbol("y", Sort::INT)));
        assert!(plainly_true(&t, t.implies(t.lt(x, y), t.and(&[t.eq(x, x), t.le(y, y)]))));
        assert!(!plainly_true(&t, t.implies(t.lt(x, y), t.le(x, y))), "true, but not by its shape");
        assert!(!plainly_true(&t, t.lt(x, x)));
        assert!(!plainly_true(&t, t.not(t.eq(x, x))));
    }
}
