//! Cells: the finitely many local situations that instances of a counted thread are counted by.
//!
//! In: a program and a thread of several instances. Out: its reachable cells (a location and a class of values for each
//! local) and the moves between them. A local of a small finite sort is split by value; an integer by the numbers that
//! the thread's code compares it with or sets it to (x < 1, x == 1, x > 1), which loses nothing where it is only
//! compared with those; any other local is forgotten, and the caller says so. Which moves are possible is asked of the
//! solver, with unknown answers taken as possible.

use crate::infer::vocabulary::{conditions_of, terms_of};
use logic::{Node, Op, Sort, SortKind, Symbol, Term, Terms};
use program::{ActionId, Code, LocId, Program, ThreadId, VarId};
use solver::Smt;
use std::collections::{BTreeMap, BTreeSet};

/// More cells than this and counting is hopeless.
const MAX_CELLS: usize = 400;

#[derive(Clone, Debug)]
pub(crate) struct CountedCell {
    pub thread: ThreadId,
    pub location: LocId,
    /// Over the thread's locals.
    pub formula: Term,
    pub symbol: Symbol,
}

/// An instance in `from` takes `action` and is then in `to`; cells by index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub from: usize,
    pub action: ActionId,
    pub to: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Cells {
    pub cells: Vec<CountedCell>,
    pub moves: Vec<Move>,
    /// Locals whose values are not kept apart at all.
    pub(crate) forgotten: Vec<VarId>,
}

/// Why a thread cannot be counted.
#[derive(Clone, Debug)]
pub(crate) struct TooMany;

impl Cells {
    /// Adds the cells of one thread.
    pub(crate) fn add(
        &mut self,
        program: &Program,
        terms: &Terms,
        thread: ThreadId,
        smt: &mut dyn Smt,
    ) -> Result<(), TooMany> {
        let code = &program.threads[thread].code;
        let mut classes: Vec<Vec<Term>> = Vec::new();
        for v in &program.threads[thread].locals {
            let of = classes_of(program, terms, code, *v);
            if of.len() == 1 && is_read(terms, code, program.vars[*v].symbol) {
                self.forgotten.push(*v);
            }
            classes.push(of);
        }
        let live = live_locals(program, thread);
        let mut index: BTreeMap<(LocId, Vec<usize>), usize> = BTreeMap::new();
        let mut todo: Vec<(LocId, Vec<usize>)> = Vec::new();
        let initial: Vec<Term> = program.threads[thread]
            .locals
            .iter()
            .filter_map(|v| program.vars[*v].initial.map(|value| terms.eq(terms.sym(program.vars[*v].symbol), value)))
            .collect();
        // A dead local's class is not kept: class `usize::MAX` stands for all of them.
        let known = initial.clone();
        for class in self.possible(terms, &classes, &live[code.entry.index()], &known, &[], smt)? {
            todo.push((code.entry, class));
        }
        let mut fresh = Vec::new();
        for key in &todo {
            self.place(program, terms, thread, key, &classes, &mut index);
            fresh.push(key.clone());
        }
        while let Some(key) = todo.pop() {
            let from = index[&key];
            for (id, action) in code.actions.iter_enumerated().filter(|(_, a)| a.from == key.0) {
                let mut known = vec![self.cells[from].formula, action.guard];
                known.extend(action.gates.iter().map(|g| g.formula));
                let mut effect: Vec<(Symbol, Term)> =
                    action.updates.iter().map(|u| (program.vars[u.var].symbol, u.value)).collect();
                // The id of a thread that is started: not known.
                let new = action.spawn.iter().filter_map(|s| s.into).map(|v| program.vars[v].symbol);
                effect.extend(new.map(|x| (x, terms.sym(terms.symbol("started", terms.symbol_sort(x))))));
                for class in self.possible(terms, &classes, &live[action.to.index()], &known, &effect, smt)? {
                    let next = (action.to, class);
                    if !index.contains_key(&next) {
                        self.place(program, terms, thread, &next, &classes, &mut index);
                        todo.push(next.clone());
                    }
                    self.moves.push(Move { from, action: id, to: index[&next] });
                }
            }
        }
        Ok(())
    }

    fn place(
        &mut self,
        program: &Program,
        terms: &Terms,
        thread: ThreadId,
        key: &(LocId, Vec<usize>),
        classes: &[Vec<Term>],
        index: &mut BTreeMap<(LocId, Vec<usize>), usize>,
    ) {
        let parts: Vec<Term> = key
            .1
            .iter()
            .zip(classes)
            .filter(|(c, of)| **c != usize::MAX && of.len() > 1)
            .map(|(c, of)| of[*c])
            .collect();
        let at = self.cells.len();
        let symbol = terms.symbol(format!("#{}.{}.{at}", program.threads[thread].name, key.0), Sort::INT);
        self.cells.push(CountedCell { thread, location: key.0, formula: terms.and(&parts), symbol });
        index.insert(key.clone(), at);
    }

    /// The class vectors that values after `effect` can have, given what is known before it.
    fn possible(
        &self,
        terms: &Terms,
        classes: &[Vec<Term>],
        live: &BTreeSet<usize>,
        known: &[Term],
        effect: &[(Symbol, Term)],
        smt: &mut dyn Smt,
    ) -> Result<Vec<Vec<usize>>, TooMany> {
        if self.cells.len() > MAX_CELLS {
            return Err(TooMany);
        }
        smt.push();
        known.iter().for_each(|k| smt.assert(*k));
        let partial = vec![usize::MAX; classes.len()];
        let mut split = ClassSplit { terms, classes, live, effect, smt, partial, out: Vec::new() };
        if !split.smt.check().is_unsat() {
            split.split_from(0);
        }
        split.smt.pop();
        Ok(split.out)
    }
}

/// Groups of cells that only unconditional local steps separate: the group of each cell, numbered in order. A cell joins the
/// only cell it can go to, if that step reads and writes nothing shared and passes no gate.
pub(crate) fn folded(program: &Program, terms: &Terms, cells: &[CountedCell], moves: &[Move]) -> Vec<usize> {
    let shared: BTreeSet<Symbol> = program.shared().map(|v| program.vars[v].symbol).collect();
    let mut leader: Vec<usize> = (0..cells.len()).collect();
    fn find(leader: &[usize], mut x: usize) -> usize {
        while leader[x] != x {
            x = leader[x];
        }
        x
    }
    for c in 0..cells.len() {
        let mut out = moves.iter().filter(|m| m.from == c);
        let (Some(m), None) = (out.next(), out.next()) else { continue };
        let action = &program.threads[cells[c].thread].code.actions[m.action];
        let reads = |f: Term| terms.free_symbols(f).iter().any(|s| shared.contains(s));
        let local = action.gates.is_empty()
            && action.spawn.is_none()
            && !reads(action.guard)
            && action.updates.iter().all(|u| !shared.contains(&program.vars[u.var].symbol) && !reads(u.value));
        if local {
            let (a, b) = (find(&leader, c), find(&leader, m.to));
            leader[a] = b;
        }
    }
    let mut number: BTreeMap<usize, usize> = BTreeMap::new();
    (0..cells.len())
        .map(|c| {
            let next = number.len();
            *number.entry(find(&leader, c)).or_insert(next)
        })
        .collect()
}

/// The search for class vectors that are possible after a step: one variable after the other.
struct ClassSplit<'a> {
    terms: &'a Terms,
    classes: &'a [Vec<Term>],
    live: &'a BTreeSet<usize>,
    effect: &'a [(Symbol, Term)],
    smt: &'a mut dyn Smt,
    /// The classes that are chosen so far; the largest number where none is kept.
    partial: Vec<usize>,
    out: Vec<Vec<usize>>,
}

impl ClassSplit<'_> {
    fn split_from(&mut self, at: usize) {
        if at == self.classes.len() {
            self.out.push(self.partial.clone());
            return;
        }
        if !self.live.contains(&at) || self.classes[at].len() == 1 {
            self.partial[at] = usize::MAX;
            return self.split_from(at + 1);
        }
        let classes = self.classes;
        for (i, class) in classes[at].iter().enumerate() {
            self.smt.push();
            self.smt.assert(self.terms.substitute(*class, self.effect.iter().copied()));
            // "Unknown" counts as possible: an extra move only makes the abstraction coarser.
            if !self.smt.check().is_unsat() {
                self.partial[at] = i;
                self.split_from(at + 1);
            }
            self.smt.pop();
        }
        self.partial[at] = usize::MAX;
    }
}

/// A partition of the values of a local, as formulas; one formula (true) where its values are not kept apart.
fn classes_of(program: &Program, t: &Terms, code: &Code, v: VarId) -> Vec<Term> {
    let (x, sort) = (t.sym(program.vars[v].symbol), program.vars[v].sort);
    match t.kind(sort) {
        SortKind::Bool => vec![t.not(x), x],
        SortKind::Enum(e) => (0..t.enum_size(e) as u32).map(|i| t.eq(x, t.variant(e, i))).collect(),
        SortKind::Int | SortKind::Machine(_) => {
            let marks = marks(program, t, code, v);
            let mut out = Vec::new();
            let mut below: Option<i128> = None;
            for m in &marks {
                match below {
                    None => out.push(t.lt(x, t.num(*m, sort))),
                    Some(b) if b + 1 < *m => out.push(t.and(&[t.lt(t.num(b, sort), x), t.lt(x, t.num(*m, sort))])),
                    Some(_) => {}
                }
                out.push(t.eq(x, t.num(*m, sort)));
                below = Some(*m);
            }
            out.push(below.map_or(t.tt(), |b| t.lt(t.num(b, sort), x)));
            out
        }
        _ => vec![t.tt()],
    }
}

/// The numbers that the code compares the local with directly, or sets it to, or that it is started with.
fn marks(program: &Program, t: &Terms, code: &Code, v: VarId) -> BTreeSet<i128> {
    let x = t.sym(program.vars[v].symbol);
    let mut out = BTreeSet::new();
    for spawn in program.threads.iter().flat_map(|t| t.code.actions.iter()).filter_map(|a| a.spawn.as_ref()) {
        let params = program.threads[spawn.thread].params.iter();
        params.zip(&spawn.args).filter(|(x, _)| **x == v).for_each(|(_, arg)| constants(t, *arg, &mut out));
    }
    let mut roots = Vec::new();
    for a in code.actions.iter() {
        roots.extend(conditions_of(a));
        for u in &a.updates {
            if u.var == v {
                constants(t, u.value, &mut out);
            }
            roots.push(u.value);
        }
    }
    t.each_subterm(roots, |term| {
        if let Some((Op::Eq | Op::Lt | Op::Le, args)) = t.app(term)
            && args.contains(&x)
        {
            args.iter().for_each(|a| constants(t, *a, &mut out));
        }
    });
    out
}

/// The number a term is, or the numbers it chooses between.
fn constants(t: &Terms, term: Term, out: &mut BTreeSet<i128>) {
    match t.node(term) {
        Node::Num(n, _) => {
            out.insert(n);
        }
        Node::App(Op::Ite, args) => {
            constants(t, args[1], out);
            constants(t, args[2], out);
        }
        Node::App(Op::Neg, args) => {
            if let Node::Num(n, _) = t.node(args[0]) {
                out.insert(-n);
            }
        }
        _ => {}
    }
}

fn is_read(t: &Terms, code: &Code, x: Symbol) -> bool {
    code.actions.iter().flat_map(terms_of).any(|f| t.free_symbols(f).contains(&x))
}

/// For each location, which locals (by position) may still be read before they are written.
fn live_locals(program: &Program, thread: ThreadId) -> Vec<BTreeSet<usize>> {
    let t = &program.threads[thread];
    let position = |v: &VarId| t.locals.iter().position(|x| x == v);
    program::live::live(program, &t.code).iter().map(|here| here.iter().filter_map(position).collect()).collect()
}
