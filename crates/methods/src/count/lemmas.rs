//! Candidates for facts about the counted system: what short random runs suggest, and weighted sums.
//!
//! In: the counted system. Out: formulas over the shared store, the groups and the unique threads' control that may be true in
//! every state: variables that never are negative; variables that are positive, or of one value, while some instance is at a
//! location; small implications; the written invariants; what entries of maps are inside and outside sets of keys; linear equations and bounds over groups, integer variables, booleans and held locks (as 0 or 1), "variable is
//! zero" and the unique threads' control. Equations come from the null space of the changes that steps make (place invariants), bounds
//! (a weighted sum that no step increases) from the solver; both are computed as it is and once more with the guesses taken
//! for granted. Nothing here is trusted: `houdini` drops what is not inductive, so a wrong guess costs time and nothing else.

use super::places::null_space;
use super::system::{CountedStep, CountedSystem, StepEndpoint};
use crate::infer::vocabulary::{conditions_of, terms_of};
use logic::{Node, Op, Sort, SortKind, Symbol, Term, Value};
use program::{LocId, Start, ThreadId, VarId, VarKind};
use solver::Smt;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundKind {
    Equal,
    AtMost,
}

/// Something that is counted or measured.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Quantity {
    /// The number of instances in a group, or 1 where a single is in its cell.
    At(StepEndpoint),
    /// An integer over the shared store.
    Measure(Term),
    /// An integer of a single, by position; 0 until it is set.
    Local(usize, VarId),
}

/// Whether guesses are taken for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taking {
    Nothing,
    Guesses,
}

struct LemmaGuesser<'s, 'a> {
    system: &'s CountedSystem<'a>,
    numbers: Vec<VarId>,
    /// Booleans and enums.
    words: Vec<VarId>,
    /// What was true whenever some instance was at a location.
    hints: BTreeMap<(ThreadId, LocId), BTreeSet<Hint>>,
    /// For each local of a single: where it may not have been set.
    unset: BTreeMap<VarId, BTreeSet<LocId>>,
}

/// Something that was seen of a shared variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hint {
    Positive(VarId),
    Is(VarId, Value),
}

/// How many pairs of numbers are put in order.
const MAX_PAIRS: usize = 16;
/// For how many numbers a sum is looked for that they never fall below, and the greatest weight in it.
const MAX_FLOORS: usize = 8;
const MAX_FLOOR_WEIGHT: i128 = 3;
/// Maps of booleans whose entries are related to those of each other.
const MAX_MARKS: usize = 3;
/// How many constants numbers are compared with.
const MAX_CEILINGS: usize = 6;

/// Candidates, none of them checked.
pub(crate) fn candidates(system: &CountedSystem<'_>, smt: &mut dyn Smt) -> Vec<Term> {
    let (t, p) = (system.terms, system.program);
    let number = |v: &VarId| t.kind(p.vars[*v].sort) == SortKind::Int && p.vars[*v].kind != VarKind::Lock;
    let word = |v: &VarId| matches!(t.kind(p.vars[*v].sort), SortKind::Bool | SortKind::Enum(_));
    let (numbers, words) = (p.shared().filter(number).collect(), p.shared().filter(word).collect());
    let mut guess = LemmaGuesser { system, numbers, words, hints: BTreeMap::new(), unset: unset(system) };
    let negative = guess.sample();
    guess.numbers.retain(|v| !negative.contains(v));
    let mut out: Vec<Term> = guess.numbers.iter().map(|v| t.le(t.int(0), t.sym(p.vars[*v].symbol))).collect();
    for group in &system.groups {
        let of = |c: &usize| guess.hinted(group.thread, system.cells[*c].location);
        for hint in group.cells.iter().map(of).reduce(|a, b| &a & &b).unwrap_or_default() {
            let someone = t.le(t.int(1), t.sym(group.symbol));
            out.push(t.implies(someone, guess.says(&hint)));
        }
    }
    out.extend(guess.ceilings());
    out.extend(related(system).into_iter().map(|(v, w)| t.le(t.sym(p.vars[v].symbol), t.sym(p.vars[w].symbol))));
    out.extend(guess.small());
    out.extend(ordered(system));
    out.extend(p.invariants.iter().filter_map(|f| f.formula));
    out.extend(entries(system));
    let steps = system.steps();
    out.extend(guess.sums(&steps, Taking::Nothing, smt));
    out.extend(guess.sums(&steps, Taking::Guesses, smt));
    out
}

/// For each local of a single: the locations that some way reaches without setting it.
fn unset(system: &CountedSystem<'_>) -> BTreeMap<VarId, BTreeSet<LocId>> {
    let mut out = BTreeMap::new();
    for single in &system.unique_threads {
        let thread = &system.program.threads[single.thread];
        for x in &thread.locals {
            let sets = |a: &program::Action| {
                a.updates.iter().any(|u| u.var == *x) || a.spawn.as_ref().is_some_and(|s| s.into == Some(*x))
            };
            let (mut here, mut todo) = (BTreeSet::new(), vec![thread.code.entry]);
            while let Some(at) = todo.pop() {
                if here.insert(at) {
                    let on = thread.code.actions.iter().filter(|a| a.from == at && !sets(a));
                    todo.extend(on.map(|a| a.to));
                }
            }
            out.insert(*x, here);
        }
    }
    out
}

/// Pairs of shared numbers that some condition of the text compares, in both orders.
pub(super) fn related(system: &CountedSystem<'_>) -> BTreeSet<(VarId, VarId)> {
    let (t, p) = (system.terms, system.program);
    let number = |v: &VarId| t.kind(p.vars[*v].sort) == SortKind::Int && p.vars[*v].kind != VarKind::Lock;
    let numbers: BTreeMap<Symbol, VarId> = p.shared().filter(number).map(|v| (p.vars[v].symbol, v)).collect();
    let mut todo: Vec<Term> = p.threads.iter().flat_map(|x| x.code.actions.iter()).flat_map(conditions_of).collect();
    let (mut out, mut seen) = (BTreeSet::new(), BTreeSet::new());
    while let Some(f) = todo.pop() {
        let Some((op, args)) = t.app(f).filter(|_| seen.insert(f)) else { continue };
        match op {
            Op::Eq | Op::Lt | Op::Le => {
                let of = |x: Term| t.free_symbols(x).into_iter().filter_map(|s| numbers.get(&s).copied());
                for (v, w) in of(args[0]).flat_map(|v| of(args[1]).map(move |w| (v, w))).filter(|(v, w)| v != w) {
                    out.extend([(v, w), (w, v)]);
                }
            }
            _ => todo.extend(args.iter()),
        }
        if out.len() > MAX_PAIRS {
            break;
        }
    }
    out
}

/// How the numbers of a single are ordered in each of its cells, where its code compares them: as they are compared, and unless
/// the smaller one is still what it was set to.
fn ordered(system: &CountedSystem<'_>) -> Vec<Term> {
    let (t, p) = (system.terms, system.program);
    let mut out = Vec::new();
    for single in &system.unique_threads {
        let thread = &p.threads[single.thread];
        let number = |v: &VarId| t.kind(p.vars[*v].sort) == SortKind::Int && p.vars[*v].kind != VarKind::Lock;
        let own: BTreeSet<Symbol> = thread.locals.iter().filter(|v| number(v)).map(|v| p.vars[*v].symbol).collect();
        let shared: BTreeSet<Symbol> = p.shared().filter(number).map(|v| p.vars[v].symbol).collect();
        let set = |x: Symbol| {
            let to = thread.code.actions.iter().flat_map(|a| &a.updates).filter(move |u| p.vars[u.var].symbol == x);
            to.map(|u| u.value).filter(|v| matches!(t.node(*v), Node::Num(..))).collect::<BTreeSet<Term>>()
        };
        let mut pairs: BTreeSet<(Term, Term)> = BTreeSet::new();
        let conditions = thread.code.actions.iter().flat_map(conditions_of);
        let (mut todo, mut seen) = (conditions.collect::<Vec<Term>>(), BTreeSet::new());
        while let Some(f) = todo.pop() {
            let Some((op, args)) = t.app(f).filter(|_| seen.insert(f)) else { continue };
            if !matches!(op, Op::Eq | Op::Lt | Op::Le) || t.sort_of(args[0]) != Sort::INT {
                todo.extend(args.iter());
                continue;
            }
            let sides = (t.free_symbols(args[0]), t.free_symbols(args[1]));
            if let ([x], [y]) = (&sides.0[..], &sides.1[..]) {
                let fits = |s: &Symbol| own.contains(s) || shared.contains(s);
                if fits(x) && fits(y) && (own.contains(x) || own.contains(y)) {
                    pairs.extend([(args[0], args[1]), (args[1], args[0])]);
                }
            }
        }
        for (x, y) in pairs.into_iter().take(MAX_PAIRS) {
            let below = t.le(x, y);
            let first = t.free_symbols(x).into_iter().next();
            let still = first.into_iter().flat_map(|s| set(s).into_iter().map(move |c| t.le(t.sym(s), c)));
            let still: Vec<Term> = still.map(|f| t.or(&[below, f])).collect();
            let here: Vec<Term> = [below, t.lt(x, y)].into_iter().chain(still).collect();
            for there in &single.there {
                out.extend(here.iter().map(|f| t.implies(t.sym(*there), *f)));
            }
        }
    }
    out
}

/// What the entries of a map are inside or outside a set of its keys.
fn entries(system: &CountedSystem<'_>) -> Vec<Term> {
    let (t, p) = (system.terms, system.program);
    let mut out = Vec::new();
    for m in p.shared() {
        let SortKind::Map(key, _) = t.kind(p.vars[m].sort) else { continue };
        let map = t.sym(p.vars[m].symbol);
        let sets = p.shared().filter(|s| t.kind(p.vars[*s].sort) == SortKind::Set(key));
        let sets: Vec<Term> = sets.map(|s| t.sym(p.vars[s].symbol)).collect();
        // Entries of a map of booleans that are set are a set of keys, too.
        let marks = p.shared().filter(|s| *s != m && t.kind(p.vars[*s].sort) == SortKind::Map(key, Sort::BOOL));
        let marks: Vec<Term> = marks.map(|s| t.sym(p.vars[s].symbol)).take(MAX_MARKS).collect();
        if sets.is_empty() && marks.is_empty() {
            continue;
        }
        let k = t.symbol("k", key);
        for value in stored(system, map) {
            let is = t.eq(t.select(map, t.sym(k)), value);
            let inside = sets.iter().map(|set| t.member(t.sym(k), *set));
            for inside in inside.chain(marks.iter().map(|m| t.select(*m, t.sym(k)))) {
                out.extend([t.implies(inside, is), t.implies(t.not(inside), is)].map(|f| t.forall(&[k], f)));
                out.extend([t.implies(is, inside), t.implies(is, t.not(inside))].map(|f| t.forall(&[k], f)));
            }
        }
    }
    out
}

/// Constants that the code compares entries of the map with, or stores into it.
fn stored(system: &CountedSystem<'_>, map: Term) -> BTreeSet<Term> {
    let (t, p) = (system.terms, system.program);
    let mut todo: Vec<Term> = p.threads.iter().flat_map(|x| x.code.actions.iter()).flat_map(terms_of).collect();
    let (mut out, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let entry = |x: Term| matches!(t.app(x), Some((Op::Select, args)) if args[0] == map);
    while let Some(f) = todo.pop() {
        let Some((op, args)) = t.app(f).filter(|_| seen.insert(f)) else { continue };
        match op {
            Op::Eq if entry(args[0]) => out.insert(args[1]),
            Op::Eq if entry(args[1]) => out.insert(args[0]),
            Op::Store if args[0] == map => out.insert(args[2]),
            _ => false,
        };
        todo.extend(args.iter());
    }
    out.retain(|x| t.free_symbols(*x).is_empty());
    out
}

impl LemmaGuesser<'_, '_> {
    fn hinted(&self, thread: ThreadId, at: LocId) -> BTreeSet<Hint> {
        // Where no run went, every number is guessed to be positive; what is wrong is dropped later.
        let all = || self.numbers.iter().map(|v| Hint::Positive(*v)).collect();
        self.hints.get(&(thread, at)).cloned().unwrap_or_else(all)
    }

    fn says(&self, hint: &Hint) -> Term {
        let (t, p) = (self.system.terms, self.system.program);
        let x = |v: &VarId| t.sym(p.vars[*v].symbol);
        match hint {
            Hint::Positive(v) => t.le(t.int(1), x(v)),
            Hint::Is(v, value) => match (value, t.kind(p.vars[*v].sort)) {
                (Value::Bool(true), _) => x(v),
                (Value::Bool(false), _) => t.not(x(v)),
                (Value::Variant(i), SortKind::Enum(e)) => t.eq(x(v), t.variant(e, *i)),
                _ => t.tt(),
            },
        }
    }

    /// What random runs have seen: which variables get negative, and what is true whenever some instance is at a location.
    fn sample(&mut self) -> BTreeSet<VarId> {
        let p = self.system.program;
        let index: BTreeMap<VarId, usize> = p.shared().enumerate().map(|(i, v)| (v, i)).collect();
        let mut negative = BTreeSet::new();
        for state in &self.system.samples.visited {
            let value = |v: &VarId| index.get(v).and_then(|i| state.shared.get(*i));
            let is = |v: &VarId| Some(Hint::Is(*v, value(v)?.clone()));
            let mut seen: BTreeSet<Hint> = self.words.iter().filter_map(is).collect();
            for v in &self.numbers {
                match value(v) {
                    Some(Value::Int(n)) if *n < 0 => {
                        negative.insert(*v);
                    }
                    Some(Value::Int(n)) if *n > 0 => {
                        seen.insert(Hint::Positive(*v));
                    }
                    _ => {}
                }
            }
            for i in &state.instances {
                let known = self.hints.entry((i.thread, i.at)).or_insert_with(|| seen.clone());
                known.retain(|h| seen.contains(h));
            }
        }
        negative
    }

    /// What is guessed to be true before and after a step.
    fn guessed(&self, step: &CountedStep) -> Vec<Term> {
        let (t, p) = (self.system.terms, self.system.program);
        let mut out: Vec<Term> = self.numbers.iter().map(|v| t.le(t.int(0), t.sym(p.vars[*v].symbol))).collect();
        let after: Vec<Term> = out.iter().map(|f| t.substitute(*f, step.effect.iter().copied())).collect();
        out.extend(after);
        let (thread, at) = step.at;
        out.extend(self.hinted(thread, at).iter().map(|h| self.says(h)));
        out
    }

    fn quantities(&self) -> Vec<Quantity> {
        let (s, t, p) = (self.system, self.system.terms, self.system.program);
        let one_if = |c: Term| t.ite(c, t.int(1), t.int(0));
        let mut out: Vec<Quantity> = (0..s.groups.len()).map(|g| Quantity::At(StepEndpoint::Group(g))).collect();
        for v in p.shared() {
            let x = t.sym(p.vars[v].symbol);
            match t.kind(p.vars[v].sort) {
                SortKind::Bool => out.push(Quantity::Measure(one_if(x))),
                SortKind::Enum(e) => {
                    let values = (0..t.enum_size(e) as u32).map(|i| one_if(t.eq(x, t.variant(e, i))));
                    out.extend(values.map(Quantity::Measure));
                }
                SortKind::Int if p.vars[v].kind == VarKind::Lock => {
                    out.push(Quantity::Measure(one_if(t.ne(x, t.int(0)))))
                }
                SortKind::Int => {
                    out.push(Quantity::Measure(x));
                    if self.numbers.contains(&v) {
                        out.push(Quantity::Measure(one_if(t.eq(x, t.int(0)))));
                    }
                }
                _ => {}
            }
        }
        for (k, single) in s.unique_threads.iter().enumerate() {
            out.extend((0..single.cells.len()).map(|c| Quantity::At(StepEndpoint::Cell(k, c))));
            let numbers = p.threads[single.thread].locals.iter().filter(|x| t.kind(p.vars[**x].sort) == SortKind::Int);
            out.extend(numbers.map(|x| Quantity::Local(k, *x)));
        }
        out
    }

    /// Whether a local of a single was set on every way to a cell.
    fn is_set(&self, k: usize, x: VarId, cell: usize) -> bool {
        let single = &self.system.unique_threads[k];
        self.unset.get(&x).is_some_and(|unset| !unset.contains(&single.cells[cell].location))
    }

    /// Equations and bounds.
    fn sums(&self, steps: &[CountedStep], taking: Taking, smt: &mut dyn Smt) -> Vec<Term> {
        let t = self.system.terms;
        let quantities = self.quantities();
        let mut rows: Vec<(&CountedStep, Vec<Option<i128>>)> = Vec::new();
        for step in steps {
            let mut pre = step.pre.clone();
            if taking == Taking::Guesses {
                pre.extend(self.guessed(step));
            }
            rows.extend(self.changes(&quantities, &pre, step, smt).map(|row| (step, row)));
        }
        let own = |q: &usize| matches!(quantities[*q], Quantity::Local(..));
        let of = |q: &usize| quantities[*q].clone();
        let constant: Vec<usize> =
            (0..quantities.len()).filter(|q| !own(q) && rows.iter().all(|(_, r)| r[*q].is_some())).collect();
        let picked = |r: &[Option<i128>], which: &[usize]| which.iter().map(|q| r[*q].unwrap_or(0)).collect::<Vec<_>>();
        let exact: Vec<Vec<i128>> = rows.iter().map(|(_, r)| picked(r, &constant)).collect();
        let kept: Vec<Quantity> = constant.iter().map(of).collect();
        let mut out = Vec::new();
        for v in null_space(&exact, kept.len()).unwrap_or_default() {
            let weights: Vec<(Quantity, i128)> = kept.iter().cloned().zip(v).collect();
            out.extend(self.sum(self.without_entries(weights), BoundKind::Equal));
        }
        out.extend(self.bounds(&kept, &exact, smt));
        out.extend(self.floors(&kept, &exact, smt));
        // Locals of a single that are set in the same part of its code: equations that need not hold once it is left.
        let mut parts: BTreeMap<(usize, Vec<usize>), Vec<usize>> = BTreeMap::new();
        for q in 0..quantities.len() {
            if let Quantity::Local(k, x) = quantities[q] {
                parts.entry((k, self.behind(k, x))).or_default().push(q);
            }
        }
        for ((k, behind), locals) in parts {
            let leaves =
                |s: &CountedStep| matches!(s.to, StepEndpoint::Cell(mover, c) if mover == k && behind.contains(&c));
            let rows: Vec<&Vec<Option<i128>>> = rows.iter().filter(|(s, _)| !leaves(s)).map(|(_, r)| r).collect();
            let locals = locals.into_iter().filter(|q| rows.iter().all(|r| r[*q].is_some()));
            let which: Vec<usize> = constant.iter().copied().chain(locals).collect();
            if which.len() == constant.len() {
                continue;
            }
            let exact: Vec<Vec<i128>> = rows.iter().map(|r| picked(r, &which)).collect();
            let elsewhere =
                t.or(&behind.iter().map(|c| t.sym(self.system.unique_threads[k].there[*c])).collect::<Vec<_>>());
            for v in null_space(&exact, which.len()).unwrap_or_default() {
                if v[constant.len()..].iter().any(|w| *w != 0) {
                    let weights = which.iter().map(of).zip(v).collect();
                    let sum = self.sum(self.without_entries(weights), BoundKind::Equal);
                    out.extend(sum.map(|f| t.or(&[elsewhere, f])));
                }
            }
        }
        out
    }

    /// The cells of a single behind those where its local was set on every way, in which it need not have been.
    fn behind(&self, k: usize, x: VarId) -> Vec<usize> {
        let single = &self.system.unique_threads[k];
        let mut out: BTreeSet<usize> = BTreeSet::new();
        loop {
            let before = out.len();
            for m in single.moves.iter().filter(|m| !self.is_set(k, x, m.to)) {
                if self.is_set(k, x, m.from) || out.contains(&m.from) {
                    out.insert(m.to);
                }
            }
            if out.len() == before {
                return out.into_iter().collect();
            }
        }
    }

    /// By how much each quantity changes in a step, where that is constant; nothing if the step cannot happen.
    fn changes(
        &self,
        quantities: &[Quantity],
        pre: &[Term],
        step: &CountedStep,
        smt: &mut dyn Smt,
    ) -> Option<Vec<Option<i128>>> {
        let (t, p) = (self.system.terms, self.system.program);
        smt.push();
        pre.iter().for_each(|f| smt.assert(*f));
        let possible = !smt.check().is_unsat();
        let row = possible.then(|| {
            let change = |q: &Quantity| match q {
                Quantity::At(place) => {
                    let starts = step.starts.map(StepEndpoint::Group) == Some(*place);
                    Some(i128::from(*place == step.to) - i128::from(*place == step.from) + i128::from(starts))
                }
                Quantity::Local(k, x) => match (step.from, step.to) {
                    (StepEndpoint::Cell(mover, a), StepEndpoint::Cell(_, b)) if mover == *k => {
                        let value =
                            |cell: usize| if self.is_set(*k, *x, cell) { t.sym(p.vars[*x].symbol) } else { t.int(0) };
                        self.constant(t.sub(t.substitute(value(b), step.effect.iter().copied()), value(a)), smt)
                    }
                    _ => Some(0),
                },
                Quantity::Measure(m) => {
                    let touched = t.free_symbols(*m).iter().any(|s| step.effect.iter().any(|(x, _)| x == s));
                    if touched { self.constant_change(*m, &step.effect, smt) } else { Some(0) }
                }
            };
            quantities.iter().map(change).collect()
        });
        smt.pop();
        row
    }

    fn constant_change(&self, measure: Term, effect: &[(Symbol, Term)], smt: &mut dyn Smt) -> Option<i128> {
        let t = self.system.terms;
        self.constant(t.sub(t.substitute(measure, effect.iter().copied()), measure), smt)
    }

    /// The one value that a number can have.
    fn constant(&self, number: Term, smt: &mut dyn Smt) -> Option<i128> {
        let t = self.system.terms;
        if !smt.check().is_sat() {
            return None;
        }
        let Some(Value::Int(d)) = smt.value(number) else { return None };
        let differs = t.ne(number, t.int(d));
        smt.check_assuming(&[differs]).is_unsat().then_some(d)
    }

    /// Weighted sums with weights 0 and 1 that no step increases and that are at most 1 initially, each with as many
    /// quantities as possible.
    fn bounds(&self, kept: &[Quantity], rows: &[Vec<i128>], smt: &mut dyn Smt) -> Vec<Term> {
        let t = self.system.terms;
        let y: Vec<Term> = (0..kept.len()).map(|i| t.sym(t.symbol(format!("w{i}"), Sort::INT))).collect();
        let (zero, one) = (t.int(0), t.int(1));
        let sum = |list: Vec<Term>| list.into_iter().reduce(|a, b| t.add(a, b)).unwrap_or(zero);
        let mut out: Vec<Term> = Vec::new();
        smt.push();
        let mut initial = Vec::new();
        for (q, w) in kept.iter().zip(&y) {
            smt.assert(t.and(&[t.le(zero, *w), t.le(*w, one)]));
            match self.initial(q) {
                Some(n) => initial.push(t.mul(t.int(n), *w)),
                None => smt.assert(t.eq(*w, zero)),
            }
        }
        smt.assert(t.le(sum(initial), one));
        let mut distinct: BTreeSet<&Vec<i128>> = BTreeSet::new();
        for r in rows.iter().filter(|r| distinct.insert(*r)) {
            let parts = r.iter().zip(&y).filter(|(d, _)| **d != 0).map(|(d, w)| t.mul(t.int(*d), *w)).collect();
            smt.assert(t.le(sum(parts), zero));
        }
        let mut covered: BTreeSet<usize> = BTreeSet::new();
        for g in (0..kept.len()).filter(|i| matches!(kept[*i], Quantity::At(StepEndpoint::Group(_)))) {
            if covered.contains(&g) {
                continue;
            }
            smt.push();
            smt.assert(t.eq(y[g], one));
            if smt.check().is_sat() {
                let mut support = vec![g];
                for i in (0..kept.len()).filter(|i| *i != g) {
                    if smt.check_assuming(&[t.eq(y[i], one)]).is_sat() {
                        smt.assert(t.eq(y[i], one));
                        support.push(i);
                    }
                }
                covered.extend(&support);
                let weights = support.iter().map(|i| (kept[*i].clone(), 1)).collect();
                out.extend(self.sum(weights, BoundKind::AtMost));
            }
            smt.pop();
        }
        smt.pop();
        out
    }

    /// For each shared number a weighted sum that it never falls below (`ref >= holders`): the number less the sum falls in no step. As many places as
    /// possible are in the sum, each with weight 1 if it can be, else with what the solver says.
    fn floors(&self, kept: &[Quantity], rows: &[Vec<i128>], smt: &mut dyn Smt) -> Vec<Term> {
        let t = self.system.terms;
        let (zero, one) = (t.int(0), t.int(1));
        let total = |list: Vec<Term>| list.into_iter().reduce(|a, b| t.add(a, b)).unwrap_or(zero);
        let is_number = |q: &Quantity| matches!(q, Quantity::Measure(m) if t.as_symbol(*m).is_some());
        let distinct: BTreeSet<&Vec<i128>> = rows.iter().collect();
        let mut out = Vec::new();
        for number in (0..kept.len()).filter(|i| is_number(&kept[*i])).take(MAX_FLOORS) {
            // Nothing ever lowers it, or nothing says where it starts: there is no sum to look for.
            if self.initial(&kept[number]).is_none() || !rows.iter().any(|r| r[number] < 0) {
                continue;
            }
            let w: Vec<Term> = (0..kept.len()).map(|i| t.sym(t.symbol(format!("w{i}"), Sort::INT))).collect();
            smt.push();
            for (i, q) in kept.iter().enumerate() {
                let (low, high) = match q {
                    _ if i == number => (-1, -1),
                    _ if self.initial(q).is_none() => (0, 0),
                    Quantity::At(_) => (0, MAX_FLOOR_WEIGHT),
                    _ => (-1, 1),
                };
                smt.assert(t.and(&[t.le(t.int(low), w[i]), t.le(w[i], t.int(high))]));
            }
            for r in &distinct {
                let parts = r.iter().zip(&w).filter(|(d, _)| **d != 0).map(|(d, w)| t.mul(t.int(*d), *w)).collect();
                smt.assert(t.le(total(parts), zero));
            }
            if smt.check().is_sat() {
                let place = |i: &usize| matches!(kept[*i], Quantity::At(_));
                let (places, rest): (Vec<usize>, Vec<usize>) = (0..kept.len()).partition(place);
                let wishes = places.iter().map(|i| (*i, one)).chain(rest.iter().map(|i| (*i, zero)));
                for wish in wishes.map(|(i, value)| t.eq(w[i], value)) {
                    if smt.check_assuming(&[wish]).is_sat() {
                        smt.assert(wish);
                    }
                }
                let mut weights = Vec::new();
                if smt.check().is_sat() {
                    for (q, x) in kept.iter().zip(&w) {
                        if let Some(Value::Int(n)) = smt.value(*x).filter(|v| *v != Value::Int(0)) {
                            weights.push((q.clone(), n));
                        }
                    }
                }
                out.extend(self.sum(weights, BoundKind::AtMost));
            }
            smt.pop();
        }
        out
    }

    /// The initial value of a quantity; `None` where it is not known (the number of instances at an entry).
    fn initial(&self, q: &Quantity) -> Option<i128> {
        let (s, t, p) = (self.system, self.system.terms, self.system.program);
        match q {
            Quantity::Measure(m) => {
                let initial = p.shared().filter_map(|v| p.vars[v].initial.map(|i| (p.vars[v].symbol, i)));
                let none = rustc_hash::FxHashMap::default();
                match logic::eval_term(t, t.substitute(*m, initial), &none) {
                    Ok(Value::Int(n)) => Some(n),
                    _ => None,
                }
            }
            Quantity::Local(..) => Some(0),
            Quantity::At(StepEndpoint::Cell(k, c)) => {
                let single = &s.unique_threads[*k];
                let entry = p.threads[single.thread].code.entry;
                let here = single.cells.iter().filter(|c| c.location == entry).count();
                match (single.cells[*c].location == entry, here) {
                    (false, _) => Some(0),
                    (true, 1) => Some(1),
                    (true, _) => None,
                }
            }
            Quantity::At(StepEndpoint::Group(g)) => {
                let thread = &p.threads[s.groups[*g].thread];
                let entered = s.groups[*g].cells.iter().any(|c| s.cells[*c].location == thread.code.entry);
                (!entered || thread.start == Start::Spawned).then_some(0)
            }
        }
    }

    /// Takes the weight of a thread's entry off all its groups: their sum is the number of instances, which stays.
    fn without_entries(&self, mut weights: Vec<(Quantity, i128)>) -> Vec<(Quantity, i128)> {
        let s = self.system;
        for thread in s.program.threads.ids() {
            let of_thread =
                |q: &Quantity| matches!(q, Quantity::At(StepEndpoint::Group(g)) if s.groups[*g].thread == thread);
            let entry = weights.iter().find(|(q, _)| of_thread(q) && self.initial(q).is_none()).map_or(0, |(_, w)| *w);
            weights.iter_mut().filter(|(q, _)| of_thread(q)).for_each(|(_, w)| *w -= entry);
        }
        weights.retain(|(_, w)| *w != 0);
        weights
    }

    /// No number exceeds a constant that the code compares something with: an unsigned number its type, an index its array.
    fn ceilings(&self) -> Vec<Term> {
        let (t, p) = (self.system.terms, self.system.program);
        let mut todo: Vec<Term> = p.threads.iter().flat_map(|x| x.code.actions.iter()).flat_map(terms_of).collect();
        let (mut constants, mut seen) = (BTreeSet::new(), BTreeSet::new());
        while let Some(f) = todo.pop() {
            let Some((op, args)) = t.app(f).filter(|_| seen.insert(f)) else { continue };
            if matches!(op, Op::Eq | Op::Lt | Op::Le) {
                let number = |a: &Term| if let Node::Num(n, _) = t.node(*a) { Some(n) } else { None };
                constants.extend(args.iter().filter_map(number).filter(|n| *n > 0));
            }
            todo.extend(args.iter());
        }
        // The greatest is the most likely to hold.
        let constants: Vec<i128> = constants.into_iter().rev().take(MAX_CEILINGS).collect();
        let below = |v: &VarId| constants.iter().map(|n| t.le(t.sym(p.vars[*v].symbol), t.int(*n))).collect::<Vec<_>>();
        self.numbers.iter().flat_map(below).collect()
    }

    /// Small facts under a condition: a boolean, its negation, or a single in one of its cells.
    fn small(&self) -> Vec<Term> {
        let (s, t, p) = (self.system, self.system.terms, self.system.program);
        let zero = t.int(0);
        let mut bools: Vec<Term> = Vec::new();
        for v in p.shared() {
            let x = t.sym(p.vars[v].symbol);
            match t.kind(p.vars[v].sort) {
                SortKind::Bool => bools.extend([x, t.not(x)]),
                SortKind::Enum(e) => {
                    let is = |i: u32| t.eq(x, t.variant(e, i));
                    bools.extend((0..t.enum_size(e) as u32).flat_map(|i| [is(i), t.not(is(i))]));
                }
                _ => {}
            }
        }
        let mut small: Vec<Term> = s.groups.iter().map(|g| t.eq(t.sym(g.symbol), zero)).collect();
        for v in &self.numbers {
            let x = t.sym(p.vars[*v].symbol);
            small.extend([t.eq(x, zero), t.lt(zero, x)]);
        }
        let mut out = Vec::new();
        for b in &bools {
            out.extend(small.iter().chain(bools.iter().filter(|c| *c != b)).map(|f| t.implies(*b, *f)));
        }
        for there in s.unique_threads.iter().flat_map(|x| &x.there) {
            out.extend(small.iter().chain(&bools).map(|f| t.implies(t.sym(*there), *f)));
        }
        out
    }

    /// The sum stays what it is initially, or gets no larger.
    fn sum(&self, weights: Vec<(Quantity, i128)>, bound: BoundKind) -> Option<Term> {
        let (s, t) = (self.system, self.system.terms);
        let (mut constant, mut left): (i128, Option<Term>) = (0, None);
        for (q, w) in &weights {
            constant = constant.checked_add(self.initial(q)?.checked_mul(*w)?)?;
            let x = match q {
                Quantity::At(StepEndpoint::Group(g)) => t.sym(s.groups[*g].symbol),
                Quantity::Measure(m) => *m,
                Quantity::Local(k, x) => {
                    let there = &s.unique_threads[*k].there;
                    let set = (0..there.len()).filter(|c| self.is_set(*k, *x, *c)).map(|c| t.sym(there[c]));
                    t.ite(t.or(&set.collect::<Vec<_>>()), t.sym(s.program.vars[*x].symbol), t.int(0))
                }
                Quantity::At(StepEndpoint::Cell(k, c)) => {
                    t.ite(t.sym(s.unique_threads[*k].there[*c]), t.int(1), t.int(0))
                }
            };
            let part = if *w == 1 { x } else { t.mul(t.int(*w), x) };
            left = Some(left.map_or(part, |l| t.add(l, part)));
        }
        let left = left.filter(|_| weights.len() > 1)?;
        Some(match bound {
            BoundKind::Equal => t.eq(left, t.int(constant)),
            BoundKind::AtMost => t.le(left, t.int(constant)),
        })
    }
}
