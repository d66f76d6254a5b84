//! What makes a step a mover, and what the other threads may do, as formulas (Calvin-R, sections 2 and 3).
//!
//! In: a step between two stores (terms over one start), the places it touches, the access predicates. Out: formulas about the
//! other thread `other`, a symbol: any thread but this one. A step moves to the right of the others' steps if after it no thread
//! else may touch what it touched (write what it read; read or write what it wrote); to the left, if before it no other thread may. Moving past a step must not make that step
//! one which its access predicates forbid: the second part of each formula, which the paper leaves to its global
//! argument. Goals are universal, so their quantifiers are symbols; hypotheses about the entries of maps are given for the entries
//! a goal names. Where the predicates do not say it, what others promise of their steps (`LastingPromise`) may: that nobody comes to touch
//! a place, or that its value stays.

use crate::access::{TouchedPlace, Touches, constants, predicate};
use crate::model::{Program, Scope, TouchMode, VarId};
use crate::spec::StorePlace;
use crate::symbolic::{SymbolicStore, Taken};
use logic::{Node, Op, Sort, SortKind, Symbol, Term, Terms};
use rustc_hash::FxHashSet;

/// Another thread, and what is common to all questions about it.
pub struct Others<'a> {
    program: &'a Program,
    terms: &'a Terms,
    /// The id of the other thread.
    pub other: Symbol,
    constants: FxHashSet<VarId>,
    touches: Touches<'a>,
    promise: Option<LastingPromise>,
}

/// What this thread may rely on of any number of steps of others together.
#[derive(Clone, Copy, Debug)]
pub struct LastingPromise {
    /// Over a store, a later one (primed) and `tid`: holds of a store and itself, and of two such steps together.
    pub rely: Term,
    /// Holds of every store.
    pub invariant: Term,
}

/// How many predicates may stand behind each other before a place counts as anybody's.
const MAX_PREDICATE_CHAIN: usize = 8;

impl<'a> Others<'a> {
    pub fn new(program: &'a Program, terms: &'a Terms) -> Self {
        let other = terms.symbol("other", Sort::INT);
        Self {
            program,
            terms,
            other,
            constants: constants(program),
            touches: Touches::new(program, terms),
            promise: None,
        }
    }

    /// With what this thread may rely on.
    pub fn relying(mut self, promise: LastingPromise) -> Self {
        self.promise = Some(promise).filter(|x| !self.terms.is_true(x.rely));
        self
    }

    /// `other` is a thread, and not this one.
    pub fn apart(&self) -> Term {
        let (t, other) = (self.terms, self.terms.sym(self.other));
        t.and(&[t.lt(t.int(0), other), t.ne(other, t.sym(self.program.tid))])
    }

    /// No other thread may touch any of the places in the store `there`, now or after steps of others: what decides that is
    /// out of the others' reach too. Conditions and keys are read in `here`.
    pub fn excluded(
        &self,
        touches: &[TouchedPlace],
        here: &SymbolicStore,
        there: &SymbolicStore,
    ) -> Vec<(StorePlace, Term)> {
        let (p, t) = (self.program, self.terms);
        let mut out = Vec::new();
        for touch in touches.iter().filter(|x| !self.constants.contains(&x.place.var)) {
            let keys = touch.place.keys.iter().map(|k| here.read(p, t, *k)).collect();
            let place = StorePlace { var: touch.place.var, keys };
            let when = here.read(p, t, touch.when);
            let never = self.reserved(&place, against(touch.mode), self.other, there, &mut Vec::new());
            out.push((touch.place.clone(), if t.is_true(when) { never } else { t.implies(when, never) }));
        }
        out
    }

    /// `who`, any other thread, may not read or write the place in the store; and whatever its predicate reads to say so, no
    /// other thread may write. Without the second part another thread could first change who may touch the place.
    fn reserved(
        &self,
        place: &StorePlace,
        mode: TouchMode,
        who: Symbol,
        store: &SymbolicStore,
        behind: &mut Vec<StorePlace>,
    ) -> Term {
        let t = self.terms;
        if behind.contains(place) || self.constants.contains(&place.var) {
            return t.tt();
        }
        let now = self.closed(place, mode, who, store, behind);
        match self.promised(place, mode, who, store) {
            Some(later) if !t.is_true(now) => t.or(&[now, later]),
            _ => now,
        }
    }

    /// The predicates say that `who` may not touch the place, and that no other thread changes what they read to say so.
    fn closed(
        &self,
        place: &StorePlace,
        mode: TouchMode,
        who: Symbol,
        store: &SymbolicStore,
        behind: &mut Vec<StorePlace>,
    ) -> Term {
        let (p, t) = (self.program, self.terms);
        let Some(access) = &p.vars[place.var].access else { return t.ff() };
        let (Some(formula), Some(never)) = (access.of(mode), predicate(p, t, place, mode, t.sym(who), store)) else {
            return t.ff();
        };
        if behind.len() >= MAX_PREDICATE_CHAIN {
            return t.ff();
        }
        behind.push(place.clone());
        let mut parts = vec![t.not(never.formula)];
        // The same symbols as in the predicate: keys that the place does not give, any entry's.
        let given = place.keys.iter().copied().chain(never.any.iter().map(|s| t.sym(*s)));
        let view: Vec<(Symbol, Term)> =
            access.binders.iter().copied().zip(given).chain([(p.tid, t.sym(who))]).collect();
        // The keys may mention variables, which are read already: the formula's own are read first.
        let names: Vec<(Symbol, Symbol)> =
            view.iter().map(|(s, _)| (*s, t.symbol(t.symbol_name(*s), t.symbol_sort(*s)))).collect();
        let formula = t.substitute(formula, names.iter().map(|(s, fresh)| (*s, t.sym(*fresh))));
        let read = |x: Term| {
            let here = store.read(p, t, x);
            t.substitute(here, names.iter().zip(&view).map(|((_, fresh), (_, value))| (*fresh, *value)))
        };
        for touch in self.touches.of_term(formula) {
            let deeper = StorePlace { var: touch.place.var, keys: touch.place.keys.iter().map(|k| read(*k)).collect() };
            if deeper == *place {
                continue;
            }
            let third = t.symbol("third", Sort::INT);
            let apart = t.and(&[t.lt(t.int(0), t.sym(third)), t.ne(t.sym(third), t.sym(p.tid))]);
            let when = t.and(&[read(touch.when), apart]);
            parts.push(t.implies(when, self.reserved(&deeper, TouchMode::Write, third, store, behind)));
        }
        behind.pop();
        t.and(&parts)
    }

    /// By what others promise: in no store that their steps lead to from this one may `who` touch the place; or, where only those that
    /// write do harm, in each of them it has the value that it has now. One of the two for all of these stores, not the one here and the other
    /// there: the last step that may touch a place can change it.
    fn promised(&self, place: &StorePlace, mode: TouchMode, who: Symbol, store: &SymbolicStore) -> Option<Term> {
        let (p, t) = (self.program, self.terms);
        let promise = self.promise?;
        let may = |there: &SymbolicStore| predicate(p, t, place, mode, t.sym(who), there);
        let never = self.later(promise, store, |there| Some(t.not(may(there)?.formula)));
        let value = |s: &SymbolicStore| place.keys.iter().fold(s.value(p, t, place.var), |m, k| entry(t, m, *k));
        let same = |there: &SymbolicStore| (mode == TouchMode::Write).then(|| t.eq(value(there), value(store)));
        let ways: Vec<Term> = never.into_iter().chain(self.later(promise, store, same)).collect();
        (!ways.is_empty()).then(|| t.or(&ways))
    }

    /// Something holds of any store that others' steps lead to, by what they promise. The store has symbols of its own.
    fn later(
        &self,
        promise: LastingPromise,
        store: &SymbolicStore,
        holds: impl FnOnce(&SymbolicStore) -> Option<Term>,
    ) -> Option<Term> {
        let (p, t) = (self.program, self.terms);
        let value = |v: VarId| match self.constants.contains(&v) {
            true => store.value(p, t, v),
            false => t.sym(t.symbol(format!("{} later", p.vars[v].name), p.vars[v].sort)),
        };
        let later: Vec<(VarId, Term)> = p.shared().map(|v| (v, value(v))).collect();
        let there = SymbolicStore::of(later.iter().copied());
        let goal = holds(&there)?;
        // The new symbols are no variables: reading the store before does not touch them.
        let rely = t.substitute(promise.rely, later.iter().map(|(v, x)| (p.vars[*v].primed, *x)));
        let known = t.and(&[store.read(p, t, rely), there.read(p, t, promise.invariant)]);
        Some(t.implies(known, goal))
    }

    /// Whatever `other` may touch in the first store it may touch in the second, as far as the step could change that.
    fn kept(&self, step: &Taken, first: &SymbolicStore, second: &SymbolicStore) -> Vec<Term> {
        let (p, t) = (self.program, self.terms);
        let changed: FxHashSet<Symbol> = step
            .after
            .changed()
            .filter(|(v, x)| p.vars[*v].scope == Scope::Shared && step.before.value(p, t, *v) != *x)
            .map(|(v, _)| p.vars[v].symbol)
            .collect();
        let mut out = Vec::new();
        for v in p.shared() {
            let Some(access) = &p.vars[v].access else { continue };
            let formulas: Vec<Term> = access.formula.into_iter().chain(access.writing).collect();
            if !formulas.iter().any(|f| t.free_symbols(*f).iter().any(|s| changed.contains(s))) {
                continue;
            }
            let keys: Vec<Term> =
                access.binders.iter().map(|b| t.sym(t.symbol(t.symbol_name(*b), t.symbol_sort(*b)))).collect();
            let place = StorePlace { var: v, keys };
            let modes: &[TouchMode] =
                if access.writing.is_some() { &[TouchMode::Read, TouchMode::Write] } else { &[TouchMode::Read] };
            for mode in modes {
                let at = |store: &SymbolicStore| predicate(p, t, &place, *mode, t.sym(self.other), store);
                if let (Some(a), Some(b)) = (at(first), at(second)) {
                    out.push(t.implies(a.formula, b.formula));
                }
            }
        }
        out
    }

    /// The step moves to the right of any step of `other`.
    pub fn right(&self, touches: &[TouchedPlace], step: &Taken) -> Vec<Term> {
        let mut out: Vec<Term> =
            self.excluded(touches, &step.before, &step.after).into_iter().map(|(_, f)| f).collect();
        out.extend(self.kept(step, &step.after, &step.before));
        out
    }

    /// The step moves to the left of any step of `other`.
    pub fn left(&self, touches: &[TouchedPlace], step: &Taken) -> Vec<Term> {
        let mut out: Vec<Term> =
            self.excluded(touches, &step.before, &step.before).into_iter().map(|(_, f)| f).collect();
        out.extend(self.kept(step, &step.before, &step.after));
        out
    }

    /// What one step of `other` may do, between the unprimed and the primed store, as far as the formula asks: a place
    /// stays as it is unless `other` may write it.
    pub fn step(&self, formula: Term) -> Term {
        let (p, t) = (self.program, self.terms);
        let here = SymbolicStore::default();
        let used = uses(p, t, formula);
        let mut parts = vec![self.apart()];
        for u in &used {
            let var = &p.vars[u.var];
            let (old, new) = (t.sym(var.symbol), t.sym(var.primed));
            if self.constants.contains(&u.var) {
                parts.push(t.eq(new, old));
                continue;
            }
            let deep = var.access.as_ref().map_or(0, |a| a.binders.len());
            let stays = |keys: &[Term]| {
                let place = StorePlace { var: u.var, keys: keys.to_vec() };
                let a = predicate(p, t, &place, TouchMode::Write, t.sym(self.other), &here)?;
                let read = |m: Term| keys.iter().fold(m, |m, k| entry(t, m, *k));
                Some((a.any, t.or(&[t.eq(read(new), read(old)), a.formula])))
            };
            if u.keys.len() >= deep && !u.bound {
                // A key may itself be read in either store.
                let keys = &u.keys[..deep];
                let primed: Vec<Term> = keys.iter().map(|k| primed(p, t, *k)).collect();
                parts.extend(stays(keys).map(|(_, f)| f));
                if primed != keys {
                    parts.extend(stays(&primed).map(|(_, f)| f));
                }
            } else if var.access.is_some() {
                let keys: Vec<Symbol> = var
                    .access
                    .iter()
                    .flat_map(|a| &a.binders)
                    .map(|b| t.symbol(t.symbol_name(*b), t.symbol_sort(*b)))
                    .collect();
                let at: Vec<Term> = keys.iter().map(|k| t.sym(*k)).collect();
                parts.extend(stays(&at).map(|(_, f)| t.forall(&keys, f)));
            }
        }
        t.and(&parts)
    }
}

/// What others must not do to a place that a step reads, or writes: others that read what it reads do no harm.
fn against(mode: TouchMode) -> TouchMode {
    match mode {
        TouchMode::Read => TouchMode::Write,
        TouchMode::Write => TouchMode::Read,
    }
}

/// An entry of a map; of a set, whether it has the element.
fn entry(terms: &Terms, whole: Term, key: Term) -> Term {
    match terms.kind(terms.sort_of(whole)) {
        SortKind::Set(_) => terms.member(key, whole),
        _ => terms.select(whole, key),
    }
}

/// A formula about the store after a step of others.
pub fn primed(program: &Program, terms: &Terms, formula: Term) -> Term {
    terms.substitute(formula, program.shared().map(|v| (program.vars[v].symbol, terms.sym(program.vars[v].primed))))
}

/// A use of a shared variable in a formula, with the keys it is read at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct VariableUse {
    var: VarId,
    keys: Vec<Term>,
    /// A key mentions a bound symbol.
    bound: bool,
}

fn uses(program: &Program, terms: &Terms, formula: Term) -> Vec<VariableUse> {
    let mut out: Vec<VariableUse> = Vec::new();
    let mut seen: FxHashSet<Term> = FxHashSet::default();
    let mut bound: FxHashSet<Symbol> = FxHashSet::default();
    let mut todo = vec![formula];
    let shared = |s: Symbol| program.shared().find(|v| program.vars[*v].symbol == s);
    while let Some(term) = todo.pop() {
        if !seen.insert(term) {
            continue;
        }
        match terms.node(term) {
            Node::Sym(s) => out.extend(shared(s).map(|var| VariableUse { var, keys: Vec::new(), bound: false })),
            Node::App(Op::Select, _) => {
                let (mut base, mut keys) = (term, Vec::new());
                while let Some((Op::Select, args)) = terms.app(base) {
                    keys.push(args[1]);
                    base = args[0];
                }
                keys.reverse();
                todo.extend(&keys);
                match terms.as_symbol(base).and_then(shared) {
                    Some(var) => out.push(VariableUse { var, keys, bound: false }),
                    None => todo.push(base),
                }
            }
            Node::App(Op::Member, args) if terms.as_symbol(args[1]).and_then(shared).is_some() => {
                todo.push(args[0]);
                // Without a predicate of its entries it counts as a whole.
                let var = terms.as_symbol(args[1]).and_then(shared);
                out.extend(var.map(|var| VariableUse { var, keys: vec![args[0]], bound: false }));
            }
            Node::App(_, args) => todo.extend(args.iter()),
            Node::Quant(_, symbols, body) => {
                bound.extend(symbols.iter());
                todo.push(body);
            }
            Node::Bool(_) | Node::Num(..) | Node::Variant(..) | Node::Ref(..) => {}
        }
    }
    for u in &mut out {
        u.bound = u.keys.iter().any(|k| terms.free_symbols(*k).iter().any(|s| bound.contains(s)));
        if u.bound {
            u.keys.clear();
        }
    }
    let mut known = FxHashSet::default();
    out.retain(|u| known.insert(u.clone()));
    out
}
