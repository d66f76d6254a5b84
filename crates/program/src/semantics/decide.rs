//! Deciding undecided values: which values a place can take, and writing one there.
//!
//! Where a formula must hold for the choice to matter (a guard, an `init`), `allowed` reads a finite set of values off
//! it; else a finite sort is enumerated; else a few values are tried and the choice is not exhaustive.
//! In: a state with open values, the place of one, the formula at hand. Out: values to try there, and whether they are
//! all.

use super::{Semantics, State, StateView, SymbolSlot};
use crate::semantics::Choice;
use logic::{EvalError, Node, Op, Quantifier, ReadPlace, Sort, SortKind, Term, Value};
use std::collections::BTreeSet;

/// How undecided values are enumerated.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Finite sorts and ranges with at most this many values are enumerated whole.
    pub whole: usize,
    /// How many values of other sorts are tried.
    pub few: usize,
    /// How many ways to decide values are looked at for one action, formula or `init`.
    pub ways: usize,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { whole: 300, few: 12, ways: 20_000 }
    }
}

/// The values to try, and whether there are others that matter.
#[derive(Clone, Debug)]
pub(crate) struct CandidateValues {
    pub values: Vec<Value>,
    pub(crate) exhaustive: bool,
}

/// Whether `new` is `old` with some undecided parts decided.
pub(crate) fn refines(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Any, _) => true,
        (Value::Map(a), Value::Map(b)) => {
            refines(&a.default, &b.default)
                && a.entries.keys().chain(b.entries.keys()).all(|k| refines(a.get(k), b.get(k)))
        }
        _ => old == new,
    }
}

/// Puts a value at the keys inside `root`, if what is there is undecided and the value refines it.
fn put(root: &mut Value, keys: &[Value], value: &Value) -> bool {
    match keys.split_first() {
        None => {
            let fine = root.is_open() && refines(root, value) && root != value;
            if fine {
                *root = value.clone();
            }
            fine
        }
        Some((key, rest)) => {
            let Value::Map(m) = root else { return false };
            let mut inner = m.get(key).clone();
            let done = put(&mut inner, rest, value);
            if done {
                m.set(key.clone(), inner);
            }
            done
        }
    }
}

/// Decides an undecided place of a value.
pub(crate) fn put_in(root: &mut Value, keys: &[Value], value: &Value) -> bool {
    put(root, keys, value)
}

impl Semantics<'_> {
    /// Decides a place of the shared store or of an instance's locals; false where it is not undecided.
    pub fn decide(&self, state: &mut State, choice: &Choice) -> bool {
        let root = match (self.slot(choice.place.symbol), choice.instance) {
            (SymbolSlot::Shared(i), None) => state.shared.get_mut(i),
            (SymbolSlot::Local(t, i), Some(at)) => {
                state.instances.get_mut(at as usize).filter(|x| x.thread == t).and_then(|x| x.locals.get_mut(i))
            }
            _ => None,
        };
        root.is_some_and(|r| put(r, &choice.place.keys, &choice.value))
    }

    /// The sort of the value at a place; `None` if the keys do not fit.
    pub fn sort_at(&self, place: &ReadPlace) -> Option<Sort> {
        let t = &self.program.terms;
        let mut sort = t.symbol_sort(place.symbol);
        for key in &place.keys {
            let SortKind::Map(k, v) = t.kind(sort) else { return None };
            if key.is_open() || !super::fits(self.program, key, k) {
                return None;
            }
            sort = v;
        }
        Some(sort)
    }

    /// Whether a place belongs to an object that nothing refers to: a quantifier reached it, and there is no end of such
    /// objects to decide.
    pub(crate) fn beyond(&self, view: &StateView<'_>, place: &ReadPlace) -> bool {
        let t = &self.program.terms;
        let mut sort = t.symbol_sort(place.symbol);
        for key in &place.keys {
            let SortKind::Map(k, v) = t.kind(sort) else { return false };
            if let (Value::Ref(n), SortKind::Ref(c)) = (key, t.kind(k))
                && *n != 0
                && !self.used_by(view, c).contains(n)
            {
                return true;
            }
            sort = v;
        }
        false
    }

    /// Values for an undecided place. Only values with which `wanted` can still hold matter.
    pub(crate) fn candidates(
        &self,
        view: &StateView<'_>,
        place: &ReadPlace,
        sort: Sort,
        wanted: &[Term],
        sampling: Sampling,
    ) -> Result<CandidateValues, EvalError> {
        let mut conjuncts = Vec::new();
        for w in wanted {
            conjuncts.extend(self.program.terms.conjuncts(*w));
        }
        if let Some(values) = self.allowed_by_all(view, place, sort, &conjuncts, sampling)? {
            return Ok(CandidateValues { values: values.into_iter().collect(), exhaustive: true });
        }
        Ok(self.any_value(view, sort, sampling))
    }

    /// Values of a sort: all, or a few.
    pub(crate) fn any_value(&self, view: &StateView<'_>, sort: Sort, sampling: Sampling) -> CandidateValues {
        let t = &self.program.terms;
        if let SortKind::Ref(class) = t.kind(sort) {
            // References are only compared for equality: those in use and one that is not stand for all.
            let used = self.used_by(view, class);
            let unused = (1..).find(|n| !used.contains(n)).expect("finitely many numbers are in use");
            let mut values: Vec<Value> = std::iter::once(0).chain(used).map(Value::Ref).collect();
            values.push(Value::Ref(unused));
            return CandidateValues { values, exhaustive: true };
        }
        if let Some(values) = logic::eval::domain(t, sort, view, sampling.whole) {
            return CandidateValues { values, exhaustive: true };
        }
        CandidateValues { values: self.few_values(view, sort, sampling.few), exhaustive: false }
    }

    /// Objects in use in the state, and in the inputs chosen so far.
    fn used_by(&self, view: &StateView<'_>, class: logic::ClassId) -> BTreeSet<u32> {
        let mut used = self.used(view.state, class);
        for value in view.inputs.iter().flatten() {
            // An input's sort is not at hand; a number that is no object of this class only makes the set larger.
            if let Value::Ref(n) = value
                && *n != 0
            {
                used.insert(*n);
            }
        }
        if let Some(after) = view.after {
            for (v, value) in self.shared.iter().zip(after) {
                self.collect_refs(value, self.program.vars[*v].sort, class, &mut used);
            }
        }
        used
    }

    fn few_values(&self, view: &StateView<'_>, sort: Sort, few: usize) -> Vec<Value> {
        let t = &self.program.terms;
        match t.kind(sort) {
            SortKind::Int => {
                let tids = 1..=view.state.instances.len() as i128;
                let mut out: Vec<i128> = self.numbers.clone();
                out.extend(tids.filter(|n| !self.numbers.contains(n)));
                out.into_iter().take(few).map(Value::Int).collect()
            }
            SortKind::Machine(m) => {
                let mut out: Vec<i128> =
                    self.numbers.iter().copied().filter(|n| (m.min()..=m.max()).contains(n)).take(few).collect();
                out.extend([m.min(), m.max()].into_iter().filter(|n| !self.numbers.contains(n)));
                out.into_iter().map(Value::Int).collect()
            }
            SortKind::Map(_, v) => self.few_values(view, v, few).into_iter().map(Value::map).collect(),
            SortKind::Set(e) => {
                let mut out = vec![Value::Set(BTreeSet::new())];
                let one = self.few_values(view, e, few.saturating_sub(1));
                out.extend(one.into_iter().map(|x| Value::Set(BTreeSet::from([x]))));
                out
            }
            SortKind::Seq(e) => {
                let mut out = vec![Value::Seq(Vec::new())];
                out.extend(self.few_values(view, e, few.saturating_sub(1)).into_iter().map(|x| Value::Seq(vec![x])));
                out
            }
            _ => logic::eval::domain(t, sort, view, usize::MAX).unwrap_or_default(),
        }
    }

    /// A finite set that contains every value of the place with which all formulas can hold, if one can be read off.
    fn allowed_by_all(
        &self,
        view: &StateView<'_>,
        place: &ReadPlace,
        sort: Sort,
        conjuncts: &[Term],
        sampling: Sampling,
    ) -> Result<Option<BTreeSet<Value>>, EvalError> {
        let mut best: Option<BTreeSet<Value>> = None;
        let (mut low, mut high): (Option<i128>, Option<i128>) = (None, None);
        for c in conjuncts {
            if let Some(set) = self.allowed(view, place, sort, *c, sampling)?
                && best.as_ref().is_none_or(|b| set.len() < b.len())
            {
                best = Some(set);
            }
            if let Some((small, large, strict)) = self.comparison(*c) {
                let is_place = |term: Term| self.reads(view, term, place);
                if is_place(large)? {
                    if let Some(Value::Int(n)) = self.known(view, small)? {
                        let n = n.saturating_add(strict.into());
                        low = Some(low.map_or(n, |l| l.max(n)));
                    }
                } else if is_place(small)?
                    && let Some(Value::Int(n)) = self.known(view, large)?
                {
                    let n = n.saturating_sub(strict.into());
                    high = Some(high.map_or(n, |h| h.min(n)));
                }
            }
        }
        if let Some(m) = sort.as_machine() {
            low = Some(low.map_or(m.min(), |l| l.max(m.min())));
            high = Some(high.map_or(m.max(), |h| h.min(m.max())));
        }
        if best.is_none()
            && let (Some(l), Some(h)) = (low, high)
            && h.saturating_sub(l) < sampling.whole as i128
        {
            best = Some((l..=h).map(Value::Int).collect());
        }
        Ok(best)
    }

    /// `small < large` or `small <= large`, also as the negation of one.
    fn comparison(&self, formula: Term) -> Option<(Term, Term, bool)> {
        let t = &self.program.terms;
        match t.app(formula)? {
            (Op::Lt, a) => Some((a[0], a[1], true)),
            (Op::Le, a) => Some((a[0], a[1], false)),
            (Op::Not, inner) => match t.app(inner[0])? {
                (Op::Lt, a) => Some((a[1], a[0], false)),
                (Op::Le, a) => Some((a[1], a[0], true)),
                _ => None,
            },
            _ => None,
        }
    }

    fn allowed(
        &self,
        view: &StateView<'_>,
        place: &ReadPlace,
        sort: Sort,
        formula: Term,
        sampling: Sampling,
    ) -> Result<Option<BTreeSet<Value>>, EvalError> {
        let t = &self.program.terms;
        match view.holds(formula) {
            // It excludes everything, or says nothing about the place.
            Ok(false) => return Ok(Some(BTreeSet::new())),
            Ok(true) => return Ok(None),
            Err(_) => {}
        }
        let again = |f: Term| self.allowed(view, place, sort, f, sampling);
        match t.node(formula) {
            Node::App(Op::And, args) => self.allowed_by_all(view, place, sort, &args, sampling),
            Node::App(Op::Or, args) => {
                let mut all = BTreeSet::new();
                for a in args.iter() {
                    match self.allowed_by_all(view, place, sort, &t.conjuncts(*a), sampling)? {
                        Some(set) => all.extend(set),
                        None => return Ok(None),
                    }
                }
                Ok(Some(all))
            }
            Node::App(Op::Implies, args) => match view.holds(args[0]) {
                Ok(true) => again(args[1]),
                _ => Ok(None),
            },
            Node::App(Op::Ite, args) => match view.holds(args[0]) {
                Ok(c) => again(args[if c { 1 } else { 2 }]),
                Err(_) => match (again(args[1])?, again(args[2])?) {
                    (Some(mut a), Some(b)) => {
                        a.extend(b);
                        Ok(Some(a))
                    }
                    _ => Ok(None),
                },
            },
            Node::App(Op::Eq, args) => {
                for (x, e) in [(args[0], args[1]), (args[1], args[0])] {
                    if let Some(value) = self.solve(view, place, x, e)? {
                        return Ok(Some(BTreeSet::from([value])));
                    }
                }
                Ok(None)
            }
            Node::App(Op::Member, args) if self.reads(view, args[0], place)? => {
                Ok(match self.known(view, args[1])? {
                    Some(Value::Set(s)) => Some(s),
                    _ => None,
                })
            }
            Node::App(Op::Not, args) if self.reads(view, args[0], place)? => {
                Ok(Some(BTreeSet::from([Value::Bool(false)])))
            }
            Node::App(Op::Select, _) | Node::Sym(_) if self.reads(view, formula, place)? => {
                Ok(Some(BTreeSet::from([Value::Bool(true)])))
            }
            Node::Quant(Quantifier::Forall, bound, body) => {
                // The instances that read the place itself constrain it.
                let Some(pairs) = self.instance_at(body, &bound, place) else { return Ok(None) };
                again(t.substitute(body, pairs))
            }
            _ => Ok(None),
        }
    }

    /// The substitution under which a `forall` speaks of the place, found from a read `m[i][j]` in its body.
    fn instance_at(
        &self,
        body: Term,
        bound: &[logic::Symbol],
        place: &ReadPlace,
    ) -> Option<Vec<(logic::Symbol, Term)>> {
        let t = &self.program.terms;
        let mut todo = vec![body];
        while let Some(term) = todo.pop() {
            let Some((op, args)) = t.app(term) else { continue };
            if op == Op::Select
                && let Some((symbol, keys)) = self.chain(term)
                && symbol == place.symbol
                && keys.len() == place.keys.len()
            {
                let mut pairs = Vec::new();
                for (key, value) in keys.iter().zip(&place.keys) {
                    let s = t.as_symbol(*key).filter(|s| bound.contains(s))?;
                    pairs.push((s, value.to_term(t, t.symbol_sort(s))?));
                }
                return (pairs.len() == bound.len()).then_some(pairs);
            }
            todo.extend(args.iter());
        }
        None
    }

    fn chain(&self, term: Term) -> Option<(logic::Symbol, Vec<Term>)> {
        let t = &self.program.terms;
        match t.node(term) {
            Node::Sym(s) => Some((s, vec![])),
            Node::App(Op::Select, args) => {
                let (s, mut keys) = self.chain(args[0])?;
                keys.push(args[1]);
                Some((s, keys))
            }
            _ => None,
        }
    }

    /// The value of the place for which `x == e`, where `x` is the place, or a sum or difference with it.
    fn solve(&self, view: &StateView<'_>, place: &ReadPlace, x: Term, e: Term) -> Result<Option<Value>, EvalError> {
        if self.reads(view, x, place)? {
            return self.known(view, e);
        }
        let Some((op @ (Op::Add | Op::Sub), args)) = self.program.terms.app(x) else { return Ok(None) };
        let wrap = |n: Option<i128>| -> Option<Value> {
            let n = n?;
            Some(Value::Int(self.program.terms.sort_of(x).as_machine().map_or(n, |m| m.wrap(n))))
        };
        let Some(Value::Int(total)) = self.known(view, e)? else { return Ok(None) };
        if self.reads(view, args[0], place)?
            && let Some(Value::Int(n)) = self.known(view, args[1])?
        {
            return Ok(wrap(if op == Op::Add { total.checked_sub(n) } else { total.checked_add(n) }));
        }
        if self.reads(view, args[1], place)?
            && let Some(Value::Int(n)) = self.known(view, args[0])?
        {
            return Ok(wrap(if op == Op::Add { total.checked_sub(n) } else { n.checked_sub(total) }));
        }
        Ok(None)
    }

    /// Whether the term is a plain read of the place.
    fn reads(&self, view: &StateView<'_>, term: Term, place: &ReadPlace) -> Result<bool, EvalError> {
        let Some((symbol, keys)) = self.chain(term) else { return Ok(false) };
        if symbol != place.symbol || keys.len() != place.keys.len() {
            return Ok(false);
        }
        for (key, value) in keys.iter().zip(&place.keys) {
            if self.known(view, *key)?.as_ref() != Some(value) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The value of a term where nothing is missing for it.
    fn known(&self, view: &StateView<'_>, term: Term) -> Result<Option<Value>, EvalError> {
        match view.eval(term) {
            Ok(v) if !v.is_open() => Ok(Some(v)),
            _ => Ok(None),
        }
    }
}
