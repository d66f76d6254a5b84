//! Guessed lemmas: facts that short random runs suggest, kept only if they are inductive together.
//!
//! In: the counted system. Out: facts over the shared store, the groups and the singles' control that hold initially and
//! that every step keeps, given all of them: variables that never are negative; variables that are positive while
//! some instance is at a location; linear equations and bounds over groups, variables, "variable is zero" and the
//! singles' cells. Equations come from the null space of the changes, bounds (a weighted sum that no step increases) from
//! the solver; both are computed under the guessed facts. Whatever is not inductive is dropped (Houdini), so a wrong guess
//! costs time and nothing else.

use super::places::null_space;
use super::system::System;
use crate::cells::Cells;
use logic::{Sort, SortKind, Symbol, Term, Value};
use program::semantics::{Instances, Outcome, Sampling, Semantics};
use program::{Action, LocId, Start, ThreadId, VarId, VarKind};
use solver::Smt;
use std::collections::{BTreeMap, BTreeSet};

/// A fact whose text depends on where the singles are.
#[derive(Clone, Debug)]
pub enum Fact {
    /// The same wherever they are.
    Plain(Term),
    /// While the single (by position) is in its cell.
    There(usize, usize, Term),
    /// `sum == constant` or `sum <= constant`.
    Sum { weights: Vec<(Quantity, i128)>, bound: Bound, constant: i128 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Equal,
    AtMost,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    Group(usize),
    /// An integer over the shared store.
    Measure(Term),
    /// 1 where the single (by position) is in its cell.
    Cell(usize, usize),
}

struct Step {
    pre: Vec<Term>,
    effect: Vec<(Symbol, Term)>,
    /// Change of control: group or cell left, and entered.
    from: Quantity,
    to: Quantity,
}

pub struct Guess<'s, 'a> {
    system: &'s System<'a>,
    /// The cells of each single.
    cells: Vec<Cells>,
    numbers: Vec<VarId>,
    hints: BTreeMap<(ThreadId, LocId), BTreeSet<VarId>>,
}

/// Steps of each random run, and how many runs.
const STEPS: usize = 80;
const RUNS: usize = 100;

impl<'s, 'a> Guess<'s, 'a> {
    /// Facts by combination of the singles' locations.
    pub fn facts(
        system: &'s System<'a>,
        combinations: &[Vec<LocId>],
        smt: &mut dyn Smt,
    ) -> Option<BTreeMap<Vec<LocId>, Vec<Term>>> {
        let (t, p) = (system.terms, system.program);
        let mut cells = Vec::new();
        for (thread, _) in &system.singles {
            let mut own = Cells::default();
            own.add(p, t, *thread, smt).ok()?;
            cells.push(own);
        }
        let numbers: Vec<VarId> = p
            .shared()
            .filter(|v| t.kind(p.vars[*v].sort) == SortKind::Int && p.vars[*v].kind != VarKind::Lock)
            .collect();
        let mut guess = Self { system, cells, numbers, hints: BTreeMap::new() };
        let negative = guess.sample();
        guess.numbers.retain(|v| !negative.contains(v));
        let mut candidates: Vec<Fact> = Vec::new();
        for v in &guess.numbers {
            candidates.push(Fact::Plain(t.le(t.int(0), t.sym(p.vars[*v].symbol))));
        }
        for (g, group) in system.groups.iter().enumerate() {
            let hinted = group
                .cells
                .iter()
                .map(|c| guess.hinted(group.thread, system.cells[*c].location))
                .reduce(|a, b| &a & &b);
            for v in hinted.unwrap_or_default() {
                let someone = t.le(t.int(1), t.sym(system.groups[g].symbol));
                candidates.push(Fact::Plain(t.implies(someone, t.le(t.int(1), t.sym(p.vars[v].symbol)))));
            }
        }
        candidates.extend(guess.small());
        candidates.extend(guess.sums(smt));
        guess.houdini(candidates, combinations, smt)
    }

    fn hinted(&self, thread: ThreadId, at: LocId) -> BTreeSet<VarId> {
        // Where no run went, everything is guessed; what is wrong is dropped later.
        self.hints.get(&(thread, at)).cloned().unwrap_or_else(|| self.numbers.iter().copied().collect())
    }

    /// Random runs with three instances of each counted thread: which variables get negative, and which are
    /// positive whenever some instance is at a location.
    fn sample(&mut self) -> BTreeSet<VarId> {
        let p = self.system.program;
        let sem = Semantics::new(p);
        let instances = Instances::of(p, 3);
        let mut negative = BTreeSet::new();
        let mut seed: u64 = 1;
        for _ in 0..RUNS {
            let Some((mut state, _)) = sem.initial(&instances, Sampling::default()).states.into_iter().next() else {
                break;
            };
            for _ in 0..STEPS {
                let mut positive: BTreeSet<VarId> = BTreeSet::new();
                for v in &self.numbers {
                    match sem.shared_index(*v).and_then(|i| state.shared.get(i)) {
                        Some(Value::Int(n)) if *n < 0 => {
                            negative.insert(*v);
                        }
                        Some(Value::Int(n)) if *n > 0 => {
                            positive.insert(*v);
                        }
                        _ => {}
                    }
                }
                for i in &state.instances {
                    let known = self.hints.entry((i.thread, i.at)).or_insert_with(|| positive.clone());
                    known.retain(|v| positive.contains(v));
                }
                let mut next: Vec<_> = sem
                    .successors(&state, Sampling::default())
                    .outcomes
                    .into_iter()
                    .filter_map(|o| if let Outcome::Moved { state, .. } = o { Some(state) } else { None })
                    .collect();
                if next.is_empty() {
                    break;
                }
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let pick = (seed >> 33) as usize % next.len();
                state = next.swap_remove(pick);
            }
        }
        negative
    }

    /// Every step, with what is guessed to be true before and after it.
    fn steps(&self) -> Vec<Step> {
        let (s, t, p) = (self.system, self.system.terms, self.system.program);
        let natural = |effect: &[(Symbol, Term)]| -> Vec<Term> {
            let now: Vec<Term> = self.numbers.iter().map(|v| t.le(t.int(0), t.sym(p.vars[*v].symbol))).collect();
            let after: Vec<Term> = now.iter().map(|f| t.substitute(*f, effect.iter().copied())).collect();
            now.into_iter().chain(after).collect()
        };
        let hints = |thread: ThreadId, at: LocId| -> Vec<Term> {
            self.hinted(thread, at).iter().map(|v| t.le(t.int(1), t.sym(p.vars[*v].symbol))).collect()
        };
        let mut out = Vec::new();
        for m in &s.moves {
            let effect = s.effect(s.action(m), t.sym(p.tid));
            let mut pre = s.before(m);
            pre.extend(natural(&effect));
            pre.extend(hints(s.cells[m.from].thread, s.cells[m.from].location));
            let (from, to) = (Quantity::Group(s.group_of[m.from]), Quantity::Group(s.group_of[m.to]));
            out.push(Step { pre, effect, from, to });
        }
        for (k, (thread, tid)) in s.singles.iter().enumerate() {
            for m in &self.cells[k].moves {
                let action: &Action = &p.threads[*thread].code.actions[m.action];
                let tid = t.sym(*tid);
                let effect = s.effect(action, tid);
                let (a, b) = (&self.cells[k].cells[m.from], &self.cells[k].cells[m.to]);
                let mut pre = s.taken(action, tid);
                pre.extend([t.lt(t.int(0), tid), a.formula, t.substitute(b.formula, effect.iter().copied())]);
                pre.extend(natural(&effect));
                pre.extend(hints(*thread, a.location));
                out.push(Step { pre, effect, from: Quantity::Cell(k, m.from), to: Quantity::Cell(k, m.to) });
            }
        }
        out
    }

    fn quantities(&self) -> Vec<Quantity> {
        let (s, t, p) = (self.system, self.system.terms, self.system.program);
        let one_if = |c: Term| t.ite(c, t.int(1), t.int(0));
        let mut out: Vec<Quantity> = (0..s.groups.len()).map(Quantity::Group).collect();
        for v in p.shared() {
            let x = t.sym(p.vars[v].symbol);
            match t.kind(p.vars[v].sort) {
                SortKind::Bool => out.push(Quantity::Measure(one_if(x))),
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
        for (k, own) in self.cells.iter().enumerate() {
            out.extend((0..own.cells.len()).map(|c| Quantity::Cell(k, c)));
        }
        out
    }

    /// Equations and bounds.
    fn sums(&self, smt: &mut dyn Smt) -> Vec<Fact> {
        let quantities = self.quantities();
        let mut rows: Vec<Vec<Option<i128>>> = Vec::new();
        for step in self.steps() {
            let control = |q: &Quantity| i128::from(*q == step.to) - i128::from(*q == step.from);
            let measures: Vec<Option<Term>> =
                quantities.iter().map(|q| if let Quantity::Measure(m) = q { Some(*m) } else { None }).collect();
            let Some(changes) = self.system.changes(&measures, &step.pre, &step.effect, smt) else { continue };
            rows.push(
                quantities
                    .iter()
                    .zip(changes)
                    .map(|(q, c)| if matches!(q, Quantity::Measure(_)) { c } else { Some(control(q)) })
                    .collect(),
            );
        }
        let constant: Vec<usize> = (0..quantities.len()).filter(|q| rows.iter().all(|r| r[*q].is_some())).collect();
        let exact: Vec<Vec<i128>> =
            rows.iter().map(|r| constant.iter().map(|q| r[*q].unwrap_or(0)).collect()).collect();
        let kept: Vec<Quantity> = constant.iter().map(|q| quantities[*q].clone()).collect();
        let mut out = Vec::new();
        for v in null_space(&exact, kept.len()).unwrap_or_default() {
            let weights: Vec<(Quantity, i128)> = kept.iter().cloned().zip(v).collect();
            out.extend(self.fact(self.without_entries(weights), Bound::Equal));
        }
        out.extend(self.bounds(&kept, &exact, smt));
        out
    }

    /// Weighted sums with weights 0 and 1 that no step increases and that are at most 1 initially, each with as many
    /// quantities as possible.
    fn bounds(&self, kept: &[Quantity], rows: &[Vec<i128>], smt: &mut dyn Smt) -> Vec<Fact> {
        let t = self.system.terms;
        let y: Vec<Term> = (0..kept.len()).map(|i| t.sym(t.symbol(format!("w{i}"), Sort::INT))).collect();
        let (zero, one) = (t.int(0), t.int(1));
        let sum = |list: Vec<Term>| list.into_iter().reduce(|a, b| t.add(a, b)).unwrap_or(zero);
        let mut out: Vec<Fact> = Vec::new();
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
        for g in (0..kept.len()).filter(|i| matches!(kept[*i], Quantity::Group(_))) {
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
                out.extend(self.fact(weights, Bound::AtMost));
            }
            smt.pop();
        }
        smt.pop();
        out
    }

    /// The initial value of a quantity; `None` where it is not known (the number of instances at an entry).
    fn initial(&self, q: &Quantity) -> Option<i128> {
        let (s, t, p) = (self.system, self.system.terms, self.system.program);
        match q {
            Quantity::Measure(m) => {
                let initial = p.shared().filter_map(|v| p.vars[v].initial.map(|i| (p.vars[v].symbol, i)));
                let none = rustc_hash::FxHashMap::default();
                match logic::eval(t, t.substitute(*m, initial), &none) {
                    Ok(Value::Int(n)) => Some(n),
                    _ => None,
                }
            }
            Quantity::Cell(k, c) => {
                let thread = s.singles[*k].0;
                let entry = p.threads[thread].code.entry;
                let here = self.cells[*k].cells.iter().filter(|c| c.location == entry).count();
                let cell = &self.cells[*k].cells[*c];
                match (cell.location == entry, here) {
                    (false, _) => Some(0),
                    (true, 1) => Some(1),
                    (true, _) => None,
                }
            }
            Quantity::Group(g) => {
                let thread = &p.threads[s.groups[*g].thread];
                let entered = s.groups[*g].cells.iter().any(|c| s.cells[*c].location == thread.code.entry);
                (!entered || thread.start == Start::BySpawn).then_some(0)
            }
        }
    }

    /// Takes the weight of a thread's entry off all its groups: their sum is the number of instances, which stays.
    fn without_entries(&self, mut weights: Vec<(Quantity, i128)>) -> Vec<(Quantity, i128)> {
        let s = self.system;
        for thread in s.program.threads.ids() {
            let of_thread = |q: &Quantity| matches!(q, Quantity::Group(g) if s.groups[*g].thread == thread);
            let entry = weights.iter().find(|(q, _)| of_thread(q) && self.initial(q).is_none()).map_or(0, |(_, w)| *w);
            weights.iter_mut().filter(|(q, _)| of_thread(q)).for_each(|(_, w)| *w -= entry);
        }
        weights.retain(|(_, w)| *w != 0);
        weights
    }

    /// Small facts under a condition: a boolean, its negation, or a single in one of its cells.
    fn small(&self) -> Vec<Fact> {
        let (s, t, p) = (self.system, self.system.terms, self.system.program);
        let zero = t.int(0);
        let bools: Vec<Term> = p
            .shared()
            .filter(|v| p.vars[*v].sort == Sort::BOOL)
            .map(|v| t.sym(p.vars[v].symbol))
            .flat_map(|b| [b, t.not(b)])
            .collect();
        let mut small: Vec<Term> = s.groups.iter().map(|g| t.eq(t.sym(g.symbol), zero)).collect();
        for v in &self.numbers {
            let x = t.sym(p.vars[*v].symbol);
            small.extend([t.eq(x, zero), t.lt(zero, x)]);
        }
        let mut out: Vec<Fact> = Vec::new();
        for b in &bools {
            out.extend(small.iter().chain(bools.iter().filter(|c| *c != b)).map(|f| Fact::Plain(t.implies(*b, *f))));
        }
        for (k, own) in self.cells.iter().enumerate() {
            for c in 0..own.cells.len() {
                out.extend(small.iter().chain(&bools).map(|f| Fact::There(k, c, *f)));
            }
        }
        out
    }

    fn fact(&self, weights: Vec<(Quantity, i128)>, bound: Bound) -> Option<Fact> {
        let mut constant: i128 = 0;
        for (q, w) in &weights {
            constant = constant.checked_add(self.initial(q)?.checked_mul(*w)?)?;
        }
        (weights.len() > 1).then_some(Fact::Sum { weights, bound, constant })
    }

    /// A fact where the singles are at these locations.
    fn at(&self, fact: &Fact, at: &[LocId]) -> Term {
        let (s, t) = (self.system, self.system.terms);
        match fact {
            Fact::Plain(f) => *f,
            Fact::There(k, c, f) => {
                let cell = &self.cells[*k].cells[*c];
                if cell.location == at[*k] { t.implies(cell.formula, *f) } else { t.tt() }
            }
            Fact::Sum { weights, bound, constant } => {
                let mut left = Vec::new();
                for (q, w) in weights {
                    let x = match q {
                        Quantity::Group(g) => t.sym(s.groups[*g].symbol),
                        Quantity::Measure(m) => *m,
                        Quantity::Cell(k, c) => {
                            let cell = &self.cells[*k].cells[*c];
                            if cell.location != at[*k] {
                                continue;
                            }
                            if t.is_true(cell.formula) { t.int(1) } else { t.ite(cell.formula, t.int(1), t.int(0)) }
                        }
                    };
                    left.push(if *w == 1 { x } else { t.mul(t.int(*w), x) });
                }
                let left = left.into_iter().reduce(|a, b| t.add(a, b)).unwrap_or_else(|| t.int(0));
                match bound {
                    Bound::Equal => t.eq(left, t.int(*constant)),
                    Bound::AtMost => t.le(left, t.int(*constant)),
                }
            }
        }
    }

    /// The largest set of candidates that is inductive.
    fn houdini(
        &self,
        mut candidates: Vec<Fact>,
        combinations: &[Vec<LocId>],
        smt: &mut dyn Smt,
    ) -> Option<BTreeMap<Vec<LocId>, Vec<Term>>> {
        let s = self.system;
        let start = super::encode::initial(s);
        let entries: Vec<LocId> = s.singles.iter().map(|(x, _)| s.program.threads[*x].code.entry).collect();
        self.drop_broken(&mut candidates, &start, &entries, &[], smt)?;
        loop {
            let before = candidates.len();
            for at in combinations {
                for step in super::encode::steps(s, at) {
                    let mut pre = step.pre;
                    pre.extend(candidates.iter().map(|c| self.at(c, at)));
                    self.drop_broken(&mut candidates, &pre, &step.to, &step.effect, smt)?;
                }
            }
            if candidates.len() == before {
                break;
            }
        }
        let there = |at: &[LocId]| candidates.iter().map(|c| self.at(c, at)).filter(|f| !s.terms.is_true(*f)).collect();
        Some(combinations.iter().map(|at| (at.clone(), there(at))).collect())
    }

    /// Drops the candidates that a step from `pre` can break; gives up where the solver does.
    fn drop_broken(
        &self,
        candidates: &mut Vec<Fact>,
        pre: &[Term],
        to: &[LocId],
        effect: &[(Symbol, Term)],
        smt: &mut dyn Smt,
    ) -> Option<()> {
        let t = self.system.terms;
        smt.push();
        pre.iter().for_each(|f| smt.assert(*f));
        let result = loop {
            let after: Vec<Term> =
                candidates.iter().map(|c| t.substitute(self.at(c, to), effect.iter().copied())).collect();
            let broken: Vec<Term> = after.iter().map(|f| t.not(*f)).collect();
            let some = t.or(&broken);
            match smt.check_assuming(&[some]) {
                solver::Answer::Unsat => break Some(()),
                solver::Answer::Unknown(_) => break None,
                solver::Answer::Sat => {}
            }
            let kept: Vec<bool> = after.iter().map(|f| smt.value(*f) == Some(Value::Bool(true))).collect();
            let mut keep = kept.iter();
            candidates.retain(|_| *keep.next().unwrap_or(&true));
        };
        smt.pop();
        result
    }
}
