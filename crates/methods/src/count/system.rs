//! The counted system: singles with explicit control, cells, what instances in a cell may rely on, and lemmas.
//!
//! In: a program some of whose threads come in several instances. Out: everything the Horn encoding and the certificate
//! are made of. `holds` comes from candidates "this lock is mine" (`m == tid`), the greatest set that every move
//! establishes and nobody else's step breaks. Lemmas are place invariants: linear equations over counters, integer
//! variables, booleans (as 0 or 1), held locks (as 0 or 1) and the singles' control.

use super::places::{Row, null_space};
use crate::cells::{Cell, Cells, Move, TooMany, folded};
use logic::{Node, Sort, SortKind, Symbol, Term, Terms, Value};
use program::{Action, Copies, LocId, Program, Start, ThreadId, VarId, VarKind};
use solver::Smt;
use std::collections::BTreeSet;

pub struct System<'a> {
    pub program: &'a Program,
    pub terms: &'a Terms,
    pub singles: Vec<(ThreadId, Symbol)>,
    pub cells: Vec<Cell>,
    pub moves: Vec<Move>,
    /// For each cell.
    pub holds: Vec<Term>,
    pub forgotten: Vec<VarId>,
    /// Cells that only unconditional local steps separate are counted together: the group of each cell.
    pub group_of: Vec<usize>,
    pub groups: Vec<Group>,
    lemmas: Vec<Lemma>,
}

/// Cells counted together.
pub struct Group {
    pub thread: ThreadId,
    /// How many instances are in its cells: a symbol of the Horn clauses.
    pub symbol: Symbol,
    pub cells: Vec<usize>,
}

/// Something that is counted or measured.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Quantity {
    /// The number of instances in a group.
    Counter(usize),
    /// An integer over the shared store.
    Measure(Term),
    /// 1 where the single (by position) is at the location.
    At(usize, LocId),
}

/// A weighted sum of quantities that stays what it was initially.
struct Lemma {
    weights: Vec<(Quantity, i128)>,
    constant: i128,
}

pub fn is_counted(program: &Program, thread: ThreadId) -> bool {
    let t = &program.threads[thread];
    t.start == Start::BySpawn || !matches!(t.copies, Copies::One | Copies::Exactly(1))
}

impl<'a> System<'a> {
    pub fn new(program: &'a Program, terms: &'a Terms, smt: &mut dyn Smt) -> Result<Self, TooMany> {
        let mut cells = Cells::default();
        let mut singles = Vec::new();
        for t in program.threads.ids() {
            if is_counted(program, t) {
                cells.add(program, terms, t, smt)?;
            } else {
                singles.push((t, terms.symbol(format!("tid.{}", program.threads[t].name), Sort::INT)));
            }
        }
        let holds = vec![terms.tt(); cells.cells.len()];
        let mut system = Self {
            program,
            terms,
            singles,
            cells: cells.cells,
            moves: cells.moves,
            holds,
            forgotten: cells.forgotten,
            group_of: Vec::new(),
            groups: Vec::new(),
            lemmas: Vec::new(),
        };
        system.fold();
        system.find_holds(smt);
        system.find_lemmas(smt);
        Ok(system)
    }

    /// What is true of groups and thread ids in every state.
    pub fn facts(&self) -> Vec<Term> {
        let t = self.terms;
        let zero = t.int(0);
        let mut facts: Vec<Term> = self.groups.iter().map(|g| t.le(zero, t.sym(g.symbol))).collect();
        for thread in self.program.threads.ids().filter(|x| is_counted(self.program, *x)) {
            if let Copies::Exactly(n) = self.program.threads[thread].copies {
                facts.push(t.eq(self.all_of(thread), t.int(i128::from(n))));
            }
        }
        for (i, (_, tid)) in self.singles.iter().enumerate() {
            facts.push(t.lt(zero, t.sym(*tid)));
            facts.extend(self.singles[..i].iter().map(|(_, other)| t.ne(t.sym(*tid), t.sym(*other))));
        }
        facts
    }
    /// The number of instances of a thread.
    pub fn all_of(&self, thread: ThreadId) -> Term {
        let t = self.terms;
        let of = self.groups.iter().filter(|g| g.thread == thread).map(|g| t.sym(g.symbol));
        of.reduce(|a, b| t.add(a, b)).unwrap_or_else(|| t.int(0))
    }
    pub fn action(&self, m: &Move) -> &'a Action {
        &self.program.threads[self.cells[m.from].thread].code.actions[m.action]
    }
    /// Guard and gates of an action with the mover's tid read as `tid`.
    pub fn taken(&self, action: &Action, tid: Term) -> Vec<Term> {
        let t = self.terms;
        let mut out = vec![action.guard];
        out.extend(action.gates.iter().map(|g| g.formula));
        out.iter().map(|f| t.substitute(*f, [(self.program.tid, tid)])).collect()
    }
    pub fn effect(&self, action: &Action, tid: Term) -> Vec<(Symbol, Term)> {
        let t = self.terms;
        let value = |v: Term| t.substitute(v, [(self.program.tid, tid)]);
        action.updates.iter().map(|u| (self.program.vars[u.var].symbol, value(u.value))).collect()
    }
    /// What is known when an instance makes the move, besides the counters.
    pub fn before(&self, m: &Move) -> Vec<Term> {
        let t = self.terms;
        let tid = t.sym(self.program.tid);
        let mut out = vec![t.lt(t.int(0), tid), self.cells[m.from].formula, self.holds[m.from]];
        out.extend(self.singles.iter().map(|(_, s)| t.ne(tid, t.sym(*s))));
        out.extend(self.taken(self.action(m), tid));
        let effect = self.effect(self.action(m), tid);
        out.push(t.substitute(self.cells[m.to].formula, effect));
        out
    }

    /// Counts folded cells together: an invariant over the sums is inductive for the single cells too.
    fn fold(&mut self) {
        self.group_of = folded(self.program, self.terms, &self.cells, &self.moves);
        for (c, g) in self.group_of.iter().enumerate() {
            if *g == self.groups.len() {
                let thread = self.cells[c].thread;
                let name = format!("#{}.{}", self.program.threads[thread].name, self.cells[c].location);
                self.groups.push(Group { thread, symbol: self.terms.symbol(name, Sort::INT), cells: Vec::new() });
            }
            self.groups[*g].cells.push(c);
        }
    }

    /// A formula over groups as one over cells.
    pub fn ungrouped(&self, formula: Term) -> Term {
        let t = self.terms;
        let sum = |g: &Group| {
            g.cells.iter().map(|c| t.sym(self.cells[*c].symbol)).reduce(|a, b| t.add(a, b)).unwrap_or_else(|| t.int(0))
        };
        t.substitute(formula, self.groups.iter().map(|g| (g.symbol, sum(g))))
    }

    fn find_holds(&mut self, smt: &mut dyn Smt) {
        let (t, p) = (self.terms, self.program);
        let locks: Vec<VarId> =
            p.shared().filter(|v| p.vars[*v].kind == VarKind::Lock && p.vars[*v].sort == Sort::INT).collect();
        let mine = |v: VarId| t.eq(t.sym(p.vars[v].symbol), t.sym(p.tid));
        let mut kept: Vec<BTreeSet<VarId>> = self
            .cells
            .iter()
            .map(|c| {
                if c.location == p.threads[c.thread].code.entry {
                    BTreeSet::new()
                } else {
                    locks.iter().copied().collect()
                }
            })
            .collect();
        let other = t.symbol("other", Sort::INT);
        let tid = t.sym(p.tid);
        loop {
            for (i, k) in kept.iter().enumerate() {
                self.holds[i] = t.and(&k.iter().map(|v| mine(*v)).collect::<Vec<_>>());
            }
            let mut changed = false;
            for m in self.moves.clone() {
                let effect = self.effect(self.action(&m), tid);
                smt.push();
                self.before(&m).iter().for_each(|f| smt.assert(*f));
                for v in kept[m.to].clone() {
                    let goal = t.substitute(mine(v), effect.iter().copied());
                    if !smt.check_assuming(&[t.not(goal)]).is_unsat() {
                        kept[m.to].remove(&v);
                        changed = true;
                    }
                }
                smt.pop();
            }
            // Nobody else's step may take a lock away that an instance relies on holding.
            let mut steps: Vec<(Vec<Term>, Vec<(Symbol, Term)>)> =
                self.moves.iter().map(|m| (self.before(m), self.effect(self.action(m), tid))).collect();
            for (thread, own) in &self.singles {
                for a in p.threads[*thread].code.actions.iter() {
                    let mut pre = self.taken(a, t.sym(*own));
                    pre.push(t.lt(t.int(0), t.sym(*own)));
                    pre.push(t.ne(t.sym(*own), t.sym(other)));
                    steps.push((pre, self.effect(a, t.sym(*own))));
                }
            }
            for (pre, effect) in steps {
                for v in &locks {
                    let x = p.vars[*v].symbol;
                    if !effect.iter().any(|(s, _)| *s == x) || !kept.iter().any(|k| k.contains(v)) {
                        continue;
                    }
                    smt.push();
                    pre.iter().for_each(|f| smt.assert(*f));
                    let theirs = t.eq(t.sym(x), t.sym(other));
                    smt.assert(t.ne(tid, t.sym(other)));
                    smt.assert(t.lt(t.int(0), t.sym(other)));
                    smt.assert(theirs);
                    let after = t.substitute(theirs, effect.iter().copied());
                    if !smt.check_assuming(&[t.not(after)]).is_unsat() {
                        kept.iter_mut().for_each(|k| {
                            k.remove(v);
                        });
                        changed = true;
                    }
                    smt.pop();
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn find_lemmas(&mut self, smt: &mut dyn Smt) {
        let (t, p) = (self.terms, self.program);
        let mut quantities: Vec<Quantity> = (0..self.groups.len()).map(Quantity::Counter).collect();
        let one_if = |c: Term| t.ite(c, t.int(1), t.int(0));
        for v in p.shared() {
            let x = t.sym(p.vars[v].symbol);
            match t.kind(p.vars[v].sort) {
                SortKind::Bool => quantities.push(Quantity::Measure(one_if(x))),
                SortKind::Int if p.vars[v].kind == VarKind::Lock => {
                    quantities.push(Quantity::Measure(one_if(t.ne(x, t.int(0)))));
                }
                SortKind::Int => quantities.push(Quantity::Measure(x)),
                _ => {}
            }
        }
        for (k, (thread, _)) in self.singles.iter().enumerate() {
            quantities.extend(p.threads[*thread].code.locations.ids().map(|l| Quantity::At(k, l)));
        }
        let mut rows: Vec<Vec<Option<i128>>> = Vec::new();
        for m in &self.moves {
            let effect = self.effect(self.action(m), t.sym(p.tid));
            let control = |q: &Quantity| match q {
                Quantity::Counter(g) => i128::from(*g == self.group_of[m.to]) - i128::from(*g == self.group_of[m.from]),
                _ => 0,
            };
            rows.extend(self.row(&quantities, &self.before(m), &effect, control, smt));
        }
        for (k, (thread, tid)) in self.singles.iter().enumerate() {
            for a in p.threads[*thread].code.actions.iter() {
                let tid = t.sym(*tid);
                let mut pre = self.taken(a, tid);
                pre.push(t.lt(t.int(0), tid));
                let control = |q: &Quantity| match q {
                    Quantity::At(j, l) if *j == k => i128::from(*l == a.to) - i128::from(*l == a.from),
                    _ => 0,
                };
                rows.extend(self.row(&quantities, &pre, &self.effect(a, tid), control, smt));
            }
        }
        let constant: Vec<usize> = (0..quantities.len()).filter(|q| rows.iter().all(|r| r[*q].is_some())).collect();
        let exact: Vec<Row> = rows
            .iter()
            .map(|r| constant.iter().map(|q| r[*q].expect("only constant changes are kept")).collect())
            .collect();
        let Some(basis) = null_space(&exact, constant.len()) else { return };
        for v in basis {
            let weights: Vec<(Quantity, i128)> =
                v.iter().zip(&constant).filter(|(w, _)| **w != 0).map(|(w, q)| (quantities[*q].clone(), *w)).collect();
            self.lemmas.extend(self.lemma(weights));
        }
    }

    /// By how much each quantity changes; nothing if the step cannot happen.
    fn row(
        &self,
        quantities: &[Quantity],
        pre: &[Term],
        effect: &[(Symbol, Term)],
        control: impl Fn(&Quantity) -> i128,
        smt: &mut dyn Smt,
    ) -> Option<Vec<Option<i128>>> {
        let measures: Vec<Option<Term>> =
            quantities.iter().map(|q| if let Quantity::Measure(m) = q { Some(*m) } else { None }).collect();
        let changes = self.changes(&measures, pre, effect, smt)?;
        let change =
            |(q, c): (&Quantity, Option<i128>)| if matches!(q, Quantity::Measure(_)) { c } else { Some(control(q)) };
        Some(quantities.iter().zip(changes).map(change).collect())
    }

    /// By how much each measure changes in a step, where that is constant; nothing if the step cannot happen.
    pub fn changes(
        &self,
        measures: &[Option<Term>],
        pre: &[Term],
        effect: &[(Symbol, Term)],
        smt: &mut dyn Smt,
    ) -> Option<Vec<Option<i128>>> {
        let t = self.terms;
        smt.push();
        pre.iter().for_each(|f| smt.assert(*f));
        let possible = !smt.check().is_unsat();
        let row = possible.then(|| {
            measures
                .iter()
                .map(|m| {
                    let m = (*m)?;
                    let touched = t.free_symbols(m).iter().any(|s| effect.iter().any(|(x, _)| x == s));
                    if touched { self.constant_change(m, effect, smt) } else { Some(0) }
                })
                .collect()
        });
        smt.pop();
        row
    }

    fn constant_change(&self, measure: Term, effect: &[(Symbol, Term)], smt: &mut dyn Smt) -> Option<i128> {
        let t = self.terms;
        let change = t.sub(t.substitute(measure, effect.iter().copied()), measure);
        if !smt.check().is_sat() {
            return None;
        }
        let Some(Value::Int(d)) = smt.value(change) else { return None };
        let differs = t.ne(change, t.int(d));
        smt.check_assuming(&[differs]).is_unsat().then_some(d)
    }

    /// The equation, if the initial value of the weighted sum is known.
    fn lemma(&self, weights: Vec<(Quantity, i128)>) -> Option<Lemma> {
        let (t, p) = (self.terms, self.program);
        let mut constant: i128 = 0;
        for (q, w) in &weights {
            match q {
                Quantity::Measure(m) => {
                    let initial = p.shared().filter_map(|v| p.vars[v].initial.map(|i| (p.vars[v].symbol, i)));
                    let value = t.substitute(*m, initial);
                    let none = rustc_hash::FxHashMap::default();
                    let Ok(Value::Int(n)) = logic::eval(t, value, &none) else { return None };
                    constant = constant.checked_add(w.checked_mul(n)?)?;
                }
                Quantity::At(k, l) => {
                    if p.threads[self.singles[*k].0].code.entry == *l {
                        constant = constant.checked_add(*w)?;
                    }
                }
                Quantity::Counter(_) => {}
            }
        }
        // Initially all instances of a thread are at its entry, in whatever number: take the entry's weight off every
        // group of the thread, which changes both sides by that weight times the number of instances.
        let weight_of = |g: usize| weights.iter().find(|(q, _)| *q == Quantity::Counter(g)).map_or(0, |(_, w)| *w);
        let mut out: Vec<(Quantity, i128)> =
            weights.iter().filter(|(q, _)| !matches!(q, Quantity::Counter(_))).cloned().collect();
        for thread in p.threads.ids().filter(|x| is_counted(p, *x)) {
            let entry = p.threads[thread].code.entry;
            let at_entry: BTreeSet<i128> = (0..self.cells.len())
                .filter(|c| self.cells[*c].thread == thread && self.cells[*c].location == entry)
                .map(|c| weight_of(self.group_of[c]))
                .collect();
            let base = match (at_entry.len(), p.threads[thread].start) {
                (_, Start::BySpawn) | (0, _) => 0,
                (1, _) => at_entry.into_iter().next().unwrap_or(0),
                _ => return None,
            };
            for (g, group) in self.groups.iter().enumerate().filter(|(_, g)| g.thread == thread) {
                debug_assert_eq!(group.thread, thread, "a group is of one thread");
                let w = weight_of(g).checked_sub(base)?;
                if w != 0 {
                    out.push((Quantity::Counter(g), w));
                }
            }
        }
        (!out.is_empty()).then_some(Lemma { weights: out, constant })
    }

    /// The lemmas where the singles are at these locations.
    pub fn lemmas_at(&self, at: &[LocId]) -> Vec<Term> {
        let t = self.terms;
        let mut out = Vec::new();
        for l in &self.lemmas {
            let mut constant = l.constant;
            let mut left: Vec<Term> = Vec::new();
            let times = |w: i128, x: Term| if w == 1 { x } else { t.mul(t.int(w), x) };
            for (q, w) in &l.weights {
                match q {
                    Quantity::Counter(g) => left.push(times(*w, t.sym(self.groups[*g].symbol))),
                    Quantity::Measure(m) => left.push(times(*w, *m)),
                    Quantity::At(k, loc) => constant -= if at[*k] == *loc { *w } else { 0 },
                }
            }
            let right = t.int(constant);
            let left = left.into_iter().reduce(|a, b| t.add(a, b)).unwrap_or_else(|| t.int(0));
            let equation = t.eq(left, right);
            if !matches!((t.node(left), t.node(right)), (Node::Num(a, _), Node::Num(b, _)) if a == b) {
                out.push(equation);
            }
        }
        out
    }
}
