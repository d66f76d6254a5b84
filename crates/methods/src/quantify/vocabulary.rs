//! What may be said of an instance and of the store: the terms that atoms compare.
//!
//! In: a program, and formulas that are to be shown at locations of its threads. Out: *bases*: scalar terms over the shared store, and for each
//! thread over its locals and `tid` too, by kind: terms that the text compares or assigns to each other are of one kind, and so are the keys of a
//! map, and its entries. Deliberately absent: which bases are compared (`atoms`).

use logic::{Node, Op, Sort, SortKind, Symbol, Term, Terms};
use program::{Program, Scope, ThreadId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// A scalar term that atoms speak of.
#[derive(Clone, Debug)]
pub(super) struct BaseTerm {
    /// Over the shared store, and a thread's locals and `tid`.
    pub term: Term,
    pub kind: usize,
    /// What it costs to speak of it: facts over cheap terms are tried first.
    pub cost: u32,
    /// The locals that it speaks of.
    pub locals: Vec<VarId>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary {
    /// Over the shared store alone.
    pub shared: Vec<BaseTerm>,
    /// By thread: of an instance.
    pub own: Vec<Vec<BaseTerm>>,
    /// By kind, the numbers that the text compares with or assigns.
    pub numbers: BTreeMap<usize, BTreeSet<i128>>,
    /// Shared variables that some step writes; the others are parameters.
    pub written: BTreeSet<Term>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Slot {
    Tid,
    Var(VarId),
    Key(VarId),
    Value(VarId),
    Input(Symbol),
    Other(Term),
}

/// Terms of one kind.
struct Kinds<'p> {
    p: &'p Program,
    t: &'p Terms,
    vars: FxHashMap<Symbol, VarId>,
    slots: FxHashMap<Slot, usize>,
    parent: Vec<usize>,
    numbers: Vec<(usize, i128)>,
}

/// More compound terms of one thread, and more numbers of one kind, are left out.
const MAX_COMPOUND: usize = 10;
const MAX_NUMBERS: usize = 9;
pub(super) const COMPOUND_COST: u32 = 4;

impl<'p> Kinds<'p> {
    fn slot(&mut self, slot: Slot) -> usize {
        if let Some(at) = self.slots.get(&slot) {
            return *at;
        }
        let at = self.parent.len();
        self.parent.push(at);
        self.slots.insert(slot, at);
        at
    }
    fn root(&self, mut at: usize) -> usize {
        while self.parent[at] != at {
            at = self.parent[at];
        }
        at
    }
    fn unify(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }
    fn map_of(&self, term: Term) -> Option<VarId> {
        match self.t.node(term) {
            Node::Sym(s) => self.vars.get(&s).copied(),
            Node::App(Op::Store, args) => self.map_of(args[0]),
            Node::App(Op::Ite, args) => self.map_of(args[1]).or_else(|| self.map_of(args[2])),
            _ => None,
        }
    }
    /// The kind of a scalar, having read what the term says of kinds; none for a number.
    fn read(&mut self, term: Term) -> Option<usize> {
        let t = self.t;
        match t.node(term) {
            Node::Sym(s) if s == self.p.tid => Some(self.slot(Slot::Tid)),
            Node::Sym(s) => {
                let slot = self.vars.get(&s).map_or(Slot::Input(s), |v| Slot::Var(*v));
                Some(self.slot(slot))
            }
            Node::App(Op::Select, args) => {
                let key = self.read(args[1]);
                self.read(args[0]);
                let Some(v) = self.map_of(args[0]) else { return Some(self.slot(Slot::Other(term))) };
                let keys = self.slot(Slot::Key(v));
                self.note(keys, key, args[1]);
                Some(self.slot(Slot::Value(v)))
            }
            Node::App(Op::Store, args) => {
                let (key, value) = (self.read(args[1]), self.read(args[2]));
                self.read(args[0]);
                if let Some(v) = self.map_of(args[0]) {
                    let (keys, values) = (self.slot(Slot::Key(v)), self.slot(Slot::Value(v)));
                    self.note(keys, key, args[1]);
                    self.note(values, value, args[2]);
                }
                None
            }
            Node::App(Op::Eq | Op::Lt | Op::Le, args) => {
                let (a, b) = (self.read(args[0]), self.read(args[1]));
                if let Some(a) = a {
                    self.note(a, b, args[1]);
                } else if let Some(b) = b {
                    self.note(b, a, args[0]);
                }
                None
            }
            Node::App(Op::Add | Op::Sub, args) => {
                let kinds: Vec<Option<usize>> = args.iter().map(|a| self.read(*a)).collect();
                kinds.into_iter().flatten().next()
            }
            Node::App(Op::Ite, args) => {
                self.read(args[0]);
                let (a, b) = (self.read(args[1]), self.read(args[2]));
                if let (Some(a), Some(b)) = (a, b) {
                    self.unify(a, b);
                }
                a.or(b)
            }
            Node::App(_, args) => {
                args.iter().for_each(|a| {
                    self.read(*a);
                });
                Some(self.slot(Slot::Other(term)))
            }
            Node::Quant(_, _, body) => {
                self.read(body);
                None
            }
            _ => None,
        }
    }
    /// Something of this kind is compared with, or given, the value of a term.
    fn note(&mut self, kind: usize, other: Option<usize>, term: Term) {
        let t = self.t;
        match t.node(term) {
            Node::Num(n, _) => self.numbers.push((kind, n)),
            Node::App(Op::Ite, args) => {
                self.note(kind, None, args[1]);
                self.note(kind, None, args[2]);
            }
            _ => {}
        }
        if let Some(other) = other {
            self.unify(kind, other);
        }
    }
}

fn is_scalar(t: &Terms, sort: Sort) -> bool {
    sort == Sort::BOOL || sort.is_integer() || matches!(t.kind(sort), SortKind::Enum(_) | SortKind::Ref(_))
}

impl Vocabulary {
    /// `goals`: formulas to be shown of an instance of a thread, or of the store.
    pub(super) fn of<'p>(p: &'p Program, terms: &'p Terms, goals: &[(Option<ThreadId>, Term)]) -> Self {
        let vars: FxHashMap<Symbol, VarId> = p.vars.iter_enumerated().map(|(v, x)| (x.symbol, v)).collect();
        let mut kinds =
            Kinds { p, t: terms, vars, slots: FxHashMap::default(), parent: Vec::new(), numbers: Vec::new() };
        let mut texts: Vec<Vec<Term>> = Vec::new();
        for thread in p.threads.iter() {
            let mut text = Vec::new();
            for a in thread.code.actions.iter() {
                text.extend([a.guard]);
                text.extend(a.gates.iter().map(|g| g.formula));
                text.extend(a.updates.iter().map(|u| u.value));
                for u in &a.updates {
                    let value = kinds.read(u.value);
                    if is_scalar(terms, p.vars[u.var].sort) {
                        let slot = kinds.slot(Slot::Var(u.var));
                        kinds.note(slot, value, u.value);
                    } else if let (Some(from), SortKind::Map(..)) =
                        (kinds.map_of(u.value), p.terms.kind(p.vars[u.var].sort))
                    {
                        for make in [Slot::Key, Slot::Value] {
                            let (a, b) = (kinds.slot(make(u.var)), kinds.slot(make(from)));
                            kinds.unify(a, b);
                        }
                    }
                }
            }
            text.iter().for_each(|x| {
                kinds.read(*x);
            });
            texts.push(text);
        }
        for (v, var) in p.vars.iter_enumerated().filter(|(_, v)| v.initial.is_some() && is_scalar(terms, v.sort)) {
            let slot = kinds.slot(Slot::Var(v));
            let initial = var.initial.expect("filtered");
            let value = kinds.read(initial);
            kinds.note(slot, value, initial);
        }
        p.init.iter().chain(&p.invariants).filter_map(|f| f.formula).for_each(|f| {
            kinds.read(f);
        });
        let mut out = Self { own: vec![Vec::new(); p.threads.len()], ..Self::default() };
        let mut seen: Vec<FxHashSet<Term>> = vec![FxHashSet::default(); p.threads.len() + 1];
        let mut add = |kinds: &mut Kinds<'_>, thread: Option<ThreadId>, term: Term, cost: u32| {
            let t = terms;
            if !is_scalar(t, t.sort_of(term)) || is_constant(t, term) {
                return;
            }
            let free = t.free_symbols(term);
            let mut locals = Vec::new();
            let mut is_own = free.contains(&p.tid);
            for s in free.iter().filter(|s| **s != p.tid) {
                let Some(v) = kinds.vars.get(s).copied() else { return };
                match p.vars[v].scope {
                    Scope::Shared => {}
                    Scope::Thread(x) if Some(x) == thread => locals.push(v),
                    _ => return,
                }
            }
            is_own |= !locals.is_empty();
            let kind = match kinds.read(term) {
                Some(k) => k,
                None => kinds.slot(Slot::Other(term)),
            };
            let base = BaseTerm { term, kind, cost, locals };
            let (first, list) = match thread {
                Some(x) if is_own => (seen[x.index()].insert(term), &mut out.own[x.index()]),
                _ if !is_own => (seen[p.threads.len()].insert(term), &mut out.shared),
                _ => return,
            };
            if first {
                list.push(base);
            }
        };
        for v in p.shared() {
            add(&mut kinds, None, terms.sym(p.vars[v].symbol), 1);
        }
        for (id, thread) in p.threads.iter_enumerated() {
            let t = terms;
            add(&mut kinds, Some(id), t.sym(p.tid), 1);
            for v in &thread.locals {
                add(&mut kinds, Some(id), t.sym(p.vars[*v].symbol), 2);
            }
            let mut keys: Vec<(Term, Term, u32)> = Vec::new();
            let mut compound: Vec<Term> = Vec::new();
            p.terms.each_subterm(texts[id.index()].iter().copied(), |x| match p.terms.node(x) {
                Node::App(Op::Select | Op::Store, args) => {
                    let base = root_map(&p.terms, args[0]);
                    if let Some(m) = base {
                        let cost = if p.terms.as_symbol(args[1]) == Some(p.tid) { 1 } else { 3 };
                        keys.push((m, args[1], cost));
                    }
                }
                Node::App(Op::Member, args) if p.terms.as_symbol(args[1]).is_some() => compound.push(x),
                Node::App(Op::Add | Op::Sub | Op::Mod | Op::Div | Op::Len | Op::Mul | Op::At, _) => compound.push(x),
                _ => {}
            });
            for (m, key, cost) in keys {
                add(&mut kinds, Some(id), t.select(m, key), cost);
                // What is written with one key may be looked at with one's own id.
                let own = (kinds.slot(Slot::Tid), kinds.map_of(m).map(|v| kinds.slot(Slot::Key(v))));
                if own.1.is_some_and(|k| kinds.root(k) == kinds.root(own.0)) {
                    add(&mut kinds, Some(id), t.select(m, t.sym(p.tid)), 1);
                }
            }
            compound.retain(|x| is_small(&p.terms, *x));
            compound.sort_unstable();
            compound.dedup();
            for x in compound.into_iter().take(MAX_COMPOUND) {
                add(&mut kinds, Some(id), x, COMPOUND_COST);
            }
        }
        for (thread, goal) in goals {
            add(&mut kinds, *thread, *goal, 1);
        }
        for a in p.threads.iter().flat_map(|t| t.code.actions.iter()) {
            out.written.extend(a.updates.iter().map(|u| terms.sym(p.vars[u.var].symbol)));
        }
        for base in out.shared.iter_mut().chain(out.own.iter_mut().flatten()) {
            base.kind = kinds.root(base.kind);
        }
        for (kind, n) in &kinds.numbers {
            let list = out.numbers.entry(kinds.root(*kind)).or_default();
            if list.len() < MAX_NUMBERS {
                list.insert(*n);
            }
        }
        out
    }
}

fn root_map(t: &Terms, term: Term) -> Option<Term> {
    match t.node(term) {
        Node::Sym(_) => Some(term),
        Node::App(Op::Store, args) => root_map(t, args[0]),
        Node::App(Op::Ite, args) => root_map(t, args[1]),
        _ => None,
    }
}

fn is_constant(t: &Terms, term: Term) -> bool {
    t.free_symbols(term).is_empty()
}

const MAX_COMPOUND_TERMS: usize = 7;

fn is_small(t: &Terms, term: Term) -> bool {
    let mut size = 0;
    t.each_subterm([term], |_| size += 1);
    size <= MAX_COMPOUND_TERMS && !t.has_quantifier(term)
}
