//! Candidate annotations, from the program's own words: guards, tests, locks, sets, assignments and what is written.
//!
//! In: a program. Out: conjuncts for the invariant, for what each thread relies on, and for its cuts. Shapes: what a thread
//! owns (`m == tid`, `tid in r`, `flag[tid]`, `forall i :: l[i] == tid`) stays its own and protects variables, perhaps only
//! under another condition (Calvin 6.3); flags that stay up; counters that only grow; clauses of two atoms of the shared
//! store; bounds and sums of integers, always or while a lock is free; at cuts also atoms over the locals.
//! A candidate costs time and nothing else: whether it holds is decided by elimination.
//! Absent: any knowledge of particular programs.

use super::engine::{Candidate, Place, Written, bool_switch};
use logic::{Node, Op, Quantifier, Sort, SortKind, Symbol, Term, Terms};
use program::{Copies, LocId, Program, Scope, ThreadId, VarId, VarKind};
use rustc_hash::FxHashSet;

/// Limits on how many of a kind are made: beyond them a candidate is not worth its time.
const ATOMS: usize = 18;
const OWNED: usize = 8;
const CONDITIONS: usize = 10;
const NUMBERS: usize = 7;
const CUT_ATOMS: usize = 26;

pub struct Candidates<'a> {
    program: &'a Program,
    terms: &'a Terms,
    shared: FxHashSet<Symbol>,
    out: Vec<Candidate>,
    seen: FxHashSet<(Place, Term)>,
    /// Atoms over the shared store alone.
    atoms: Vec<Term>,
    /// What a thread owns: over the shared store and `tid`.
    owned: Vec<Term>,
    /// Owned entries of maps: a bound key and the formula.
    entries: Vec<(Symbol, Term)>,
    /// Integer terms over the shared store.
    numbers: Vec<Term>,
    constants: Vec<Term>,
    /// For each thread, atoms that mention its locals.
    local: Vec<Vec<Term>>,
}

/// What is written in the text, conjunct by conjunct.
pub fn written<'a>(program: &'a Program, terms: &'a Terms, cuts: &[Vec<LocId>]) -> Candidates<'a> {
    let mut c = Candidates {
        program,
        terms,
        shared: program.shared().map(|v| program.vars[v].symbol).collect(),
        out: Vec::new(),
        seen: FxHashSet::default(),
        atoms: Vec::new(),
        owned: Vec::new(),
        entries: Vec::new(),
        numbers: Vec::new(),
        constants: Vec::new(),
        local: program.threads.iter().map(|_| Vec::new()).collect(),
    };
    for fact in &program.invariants {
        for part in fact.formula.map(|f| terms.conjuncts(f)).unwrap_or_default() {
            c.push(Place::Invariant, part, fact.property.map(Written::Property));
        }
    }
    for rely in &program.relies {
        for part in rely.formula.map(|f| terms.conjuncts(f)).unwrap_or_default() {
            for t in program.threads.ids().filter(|t| rely.thread.is_none_or(|x| x == *t)) {
                c.push(Place::Rely(t), part, Some(Written::Property(rely.property)));
            }
        }
    }
    for (t, thread) in program.threads.iter_enumerated() {
        for at in &cuts[t.0 as usize] {
            let location = &thread.code.locations[*at];
            for part in location.invariants.iter().flatten().flat_map(|f| terms.conjuncts(*f)) {
                c.push(Place::Cut(t, *at), part, Some(Written::Loop(location.origin)));
            }
        }
    }
    // What no other thread ever writes stays: it need not be written, and is true by the text alone.
    for t in program.threads.ids() {
        let touched = c.touched(t);
        for v in program.shared().filter(|v| !touched.contains(v)) {
            let same = c.kept(v);
            c.push(Place::Rely(t), same, None);
        }
    }
    c
}

impl<'a> Candidates<'a> {
    pub fn list(self) -> Vec<Candidate> {
        self.out
    }

    fn push(&mut self, place: Place, formula: Term, written: Option<Written>) {
        if self.terms.is_true(formula) || !self.seen.insert((place, formula)) {
            return;
        }
        let switch = bool_switch(self.terms);
        self.out.push(Candidate { place, formula, written, switch, alive: true });
    }

    fn now(&self, v: VarId) -> Term {
        self.terms.sym(self.program.vars[v].symbol)
    }

    fn next(&self, v: VarId) -> Term {
        self.terms.sym(self.program.vars[v].primed)
    }

    fn kept(&self, v: VarId) -> Term {
        self.terms.eq(self.next(v), self.now(v))
    }

    /// A formula of one store, of the store after the step.
    fn primed(&self, f: Term) -> Term {
        let p = self.program;
        self.terms.substitute(f, p.shared().map(|v| (p.vars[v].symbol, self.terms.sym(p.vars[v].primed))))
    }

    /// Shared variables that some instance other than one of `thread` may write.
    fn touched(&self, thread: ThreadId) -> Vec<VarId> {
        let p = self.program;
        let mut out = Vec::new();
        for (u, other) in p.threads.iter_enumerated() {
            if u == thread && other.copies == Copies::One {
                continue;
            }
            for a in other.code.actions.iter() {
                out.extend(a.updates.iter().map(|u| u.var).filter(|v| p.vars[*v].scope == Scope::Shared));
                out.extend(a.spawn.iter().filter_map(|s| s.into).filter(|v| p.vars[*v].scope == Scope::Shared));
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Adds, at every cut, that a lock is held there.
    pub fn held(&mut self, cuts: &[Vec<LocId>]) {
        let (p, t) = (self.program, self.terms);
        let locks: Vec<Term> = p
            .shared()
            .filter(|v| p.vars[*v].kind == VarKind::Lock && p.vars[*v].sort == Sort::INT)
            .map(|v| t.eq(self.now(v), t.sym(p.tid)))
            .collect();
        for id in p.threads.ids() {
            for at in &cuts[id.0 as usize] {
                locks.iter().for_each(|l| self.push(Place::Cut(id, *at), *l, None));
            }
        }
    }

    /// Adds everything guessed.
    pub fn guess(&mut self, cuts: &[Vec<LocId>]) {
        self.gather();
        self.invariants();
        for t in self.program.threads.ids() {
            self.relies(t);
            for at in &cuts[t.0 as usize] {
                self.cut(t, *at);
            }
        }
    }

    /// Reads the vocabulary off the code.
    fn gather(&mut self) {
        let (p, t) = (self.program, self.terms);
        let tid = t.sym(p.tid);
        for v in p.shared() {
            let (var, now) = (&p.vars[v], self.now(v));
            match (var.kind, t.kind(var.sort)) {
                (VarKind::Lock, SortKind::Int) => {
                    add(&mut self.owned, t.eq(now, tid));
                    add(&mut self.atoms, t.eq(now, t.int(0)));
                }
                (VarKind::Lock, SortKind::Map(k, e)) if e == Sort::INT => self.entry(v, k, tid),
                (_, SortKind::Bool) => add(&mut self.atoms, now),
                _ => {}
            }
        }
        let mut formulas: Vec<(Option<ThreadId>, Term)> = Vec::new();
        formulas.extend(p.invariants.iter().filter_map(|f| f.formula).map(|f| (None, f)));
        for (id, thread) in p.threads.iter_enumerated() {
            formulas.extend(
                thread.code.locations.iter().flat_map(|l| l.invariants.iter().flatten()).map(|f| (Some(id), *f)),
            );
            for a in thread.code.actions.iter() {
                formulas.push((Some(id), a.guard));
                formulas.extend(a.gates.iter().map(|g| (Some(id), g.formula)));
                for u in &a.updates {
                    self.assigned(id, u.var, u.value, &mut formulas);
                }
            }
        }
        for (thread, f) in formulas {
            let mut found = Vec::new();
            atoms(t, f, &mut found);
            for atom in found {
                self.classify(thread, atom);
            }
        }
        for v in p.shared() {
            let (var, now) = (&p.vars[v], self.now(v));
            match t.kind(var.sort) {
                SortKind::Int | SortKind::Machine(_) if var.kind == VarKind::Plain => add(&mut self.numbers, now),
                SortKind::Seq(_) => add(&mut self.numbers, t.mk(Op::Len, &[now])),
                _ => {}
            }
            if let Some(i) = var.initial
                && matches!(t.node(i), Node::Num(_, s) if s == Sort::INT)
            {
                add(&mut self.constants, i);
            }
        }
        add(&mut self.constants, t.int(0));
        add(&mut self.constants, t.int(1));
        self.atoms.truncate(ATOMS);
        self.owned.truncate(OWNED);
        self.numbers.truncate(NUMBERS);
        self.constants.truncate(6);
    }

    /// `forall k :: map[k] == tid` is owned.
    fn entry(&mut self, v: VarId, key: Sort, tid: Term) {
        let t = self.terms;
        let name = self.program.vars[v].name.clone();
        let same_key = |s: &Symbol| t.symbol_sort(*s) == key;
        if self.entries.iter().any(|(s, f)| same_key(s) && *f == t.eq(t.select(self.now(v), t.sym(*s)), tid)) {
            return;
        }
        let bound = t.symbol(format!("k_{}", name.replace('.', "_")), key);
        let formula = t.eq(t.select(self.now(v), t.sym(bound)), tid);
        self.entries.push((bound, formula));
    }

    fn assigned(&mut self, thread: ThreadId, v: VarId, value: Term, formulas: &mut Vec<(Option<ThreadId>, Term)>) {
        let (p, t) = (self.program, self.terms);
        let tid = t.sym(p.tid);
        let var = &p.vars[v];
        let now = self.now(v);
        if value == tid && var.scope == Scope::Shared {
            add(&mut self.owned, t.eq(now, tid));
            add(&mut self.atoms, t.eq(now, t.int(0)));
            return;
        }
        match t.node(value) {
            Node::Num(..) | Node::Variant(..) | Node::Ref(..) => formulas.push((Some(thread), t.eq(now, value))),
            Node::Sym(_) if t.sort_of(value) != Sort::BOOL => formulas.push((Some(thread), t.eq(now, value))),
            Node::App(Op::Store, args) => {
                let (key, new) = (args[1], args[2]);
                let entry = t.select(now, key);
                let literal = match t.node(new) {
                    Node::Bool(_) => Some(entry),
                    Node::Num(..) | Node::Variant(..) | Node::Ref(..) => Some(t.eq(entry, new)),
                    _ => None,
                };
                formulas.extend(literal.map(|l| (Some(thread), l)));
                if new == tid {
                    let SortKind::Map(k, _) = t.kind(var.sort) else { return };
                    self.entry(v, k, tid);
                }
            }
            Node::App(Op::Insert, args) => formulas.push((Some(thread), t.mk(Op::Member, &[args[0], now]))),
            Node::App(Op::Union | Op::Minus, args) if args[0] == now => {
                if let Some((Op::Insert, inner)) = t.app(args[1]) {
                    formulas.push((Some(thread), t.mk(Op::Member, &[inner[0], now])));
                }
            }
            Node::App(Op::Ite, _) if t.sort_of(value) != Sort::BOOL => {}
            _ if t.sort_of(value) == Sort::BOOL => {
                formulas.push((Some(thread), value));
                formulas.push((Some(thread), now));
            }
            _ => {}
        }
    }

    fn classify(&mut self, thread: Option<ThreadId>, atom: Term) {
        let (p, t) = (self.program, self.terms);
        let free = t.free_symbols(atom);
        if free.is_empty() {
            return;
        }
        if let Node::App(_, args) = t.node(atom) {
            for a in args.iter() {
                if matches!(t.node(*a), Node::Num(_, s) if s == Sort::INT) {
                    add(&mut self.constants, *a);
                }
            }
        }
        let mine = |s: &Symbol| thread.is_some_and(|id| p.threads[id].locals.iter().any(|v| p.vars[*v].symbol == *s));
        if free.iter().all(|s| self.shared.contains(s)) {
            add(&mut self.atoms, atom);
        } else if free.iter().all(|s| self.shared.contains(s) || *s == p.tid) {
            if free.len() > 1 {
                add(&mut self.owned, atom);
            }
        } else if free.iter().all(|s| self.shared.contains(s) || *s == p.tid || mine(s))
            && let Some(id) = thread
        {
            add(&mut self.local[id.0 as usize], atom);
        }
    }

    fn literals(&self) -> Vec<Term> {
        self.atoms.iter().flat_map(|a| [*a, self.terms.not(*a)]).collect()
    }

    /// Bounds, orders and sums of the shared integers.
    fn arithmetic(&self) -> Vec<Term> {
        let t = self.terms;
        let ints: Vec<Term> = self.numbers.iter().copied().filter(|n| t.sort_of(*n) == Sort::INT).collect();
        let mut out = Vec::new();
        for n in &self.numbers {
            for c in &self.constants {
                if t.sort_of(*n) == Sort::INT {
                    out.push(t.le(*c, *n));
                    out.push(t.le(*n, *c));
                }
            }
        }
        for a in &ints {
            for b in &ints {
                if a < b {
                    out.extend([t.eq(*a, *b), t.le(*a, *b), t.le(*b, *a)]);
                }
            }
        }
        if ints.len() <= 5 {
            for a in &ints {
                for (i, b) in ints.iter().enumerate() {
                    for c in &ints[i + 1..] {
                        if a != b && a != c {
                            out.push(t.eq(*a, t.add(*b, *c)));
                        }
                    }
                }
            }
        }
        out
    }

    fn invariants(&mut self) {
        let t = self.terms;
        let literals = self.literals();
        let numeric = self.arithmetic();
        for l in literals.iter().chain(&numeric) {
            self.push(Place::Invariant, *l, None);
        }
        for (i, a) in literals.iter().enumerate() {
            for b in &literals[i + 1..] {
                if *b != t.not(*a) {
                    self.push(Place::Invariant, t.or(&[*a, *b]), None);
                }
            }
        }
        // While a lock is free.
        let p = self.program;
        for v in p.shared() {
            let free = t.eq(self.now(v), if p.vars[v].sort == Sort::INT { t.int(0) } else { continue });
            if p.vars[v].kind == VarKind::Lock || self.owned.contains(&t.eq(self.now(v), t.sym(p.tid))) {
                for n in &numeric {
                    self.push(Place::Invariant, t.implies(free, *n), None);
                }
            }
        }
        // Of every thread: what it owns by a set or an entry of a map says something of the store.
        let who = t.symbol("t", Sort::INT);
        let of = |f: Term| t.substitute(f, [(p.tid, t.sym(who))]);
        for o in self.owned.clone() {
            if matches!(t.app(o), Some((Op::Eq, args)) if t.as_symbol(args[0]).is_some() && args[1] == t.sym(p.tid)) {
                continue;
            }
            for l in &literals {
                let body = t.implies(of(o), *l);
                self.push(Place::Invariant, t.quant(Quantifier::Forall, &[who], body), None);
            }
            for q in self.owned.clone() {
                if q != o {
                    for q in [q, t.not(q)] {
                        let body = t.implies(of(o), of(q));
                        self.push(Place::Invariant, t.quant(Quantifier::Forall, &[who], body), None);
                    }
                }
            }
        }
    }

    fn relies(&mut self, id: ThreadId) {
        let (p, t) = (self.program, self.terms);
        let place = Place::Rely(id);
        let touched = self.touched(id);
        let tid = t.sym(p.tid);
        let owned = self.owned.clone();
        for v in &touched {
            let kept = self.kept(*v);
            self.push(place, kept, None);
            let (now, next) = (self.now(*v), self.next(*v));
            match t.kind(p.vars[*v].sort) {
                SortKind::Int => {
                    self.push(place, t.le(now, next), None);
                    self.push(place, t.le(next, now), None);
                }
                SortKind::Set(_) => {
                    self.push(place, t.mk(Op::Subset, &[now, next]), None);
                    self.push(place, t.mk(Op::Subset, &[next, now]), None);
                }
                SortKind::Map(k, _) if k == Sort::INT => {
                    self.push(place, t.eq(t.select(next, tid), t.select(now, tid)), None);
                }
                _ => {}
            }
        }
        for o in &owned {
            let after = self.primed(*o);
            self.push(place, t.implies(*o, after), None);
            self.push(place, t.implies(after, *o), None);
            for v in &touched {
                let kept = self.kept(*v);
                self.push(place, t.implies(*o, kept), None);
            }
        }
        let literals = self.literals();
        for l in &literals {
            let after = self.primed(*l);
            self.push(place, t.implies(*l, after), None);
            for o in &owned {
                self.push(place, t.implies(t.and(&[*o, *l]), after), None);
            }
        }
        // Protection that depends on the store.
        for l in literals.iter().take(2 * CONDITIONS) {
            for o in owned.iter().take(4) {
                for v in &touched {
                    let kept = self.kept(*v);
                    self.push(place, t.implies(t.and(&[*l, *o]), kept), None);
                }
            }
        }
        // Entries of maps that are owned protect entries of maps with the same keys.
        for (key, entry) in self.entries.clone() {
            let all = |body: Term| t.quant(Quantifier::Forall, &[key], body);
            let after = self.primed(entry);
            self.push(place, all(t.implies(entry, after)), None);
            self.push(place, all(t.implies(after, entry)), None);
            for v in &touched {
                let SortKind::Map(k, _) = t.kind(p.vars[*v].sort) else { continue };
                if k == t.symbol_sort(key) {
                    let same = t.eq(t.select(self.next(*v), t.sym(key)), t.select(self.now(*v), t.sym(key)));
                    self.push(place, all(t.implies(entry, same)), None);
                    if p.vars[*v].sort == t.map_sort(k, Sort::INT) {
                        let own = t.eq(t.select(self.now(*v), t.sym(key)), tid);
                        self.push(place, all(t.implies(own, same)), None);
                    }
                }
            }
        }
    }

    fn cut(&mut self, id: ThreadId, at: LocId) {
        let (p, t) = (self.program, self.terms);
        let place = Place::Cut(id, at);
        let mut atoms: Vec<Term> = self.owned.clone();
        let mut strong: Vec<Term> = self.owned.clone();
        for v in &p.threads[id].locals {
            let var = &p.vars[*v];
            let now = self.now(*v);
            match t.kind(var.sort) {
                SortKind::Bool => {
                    add(&mut atoms, now);
                    add(&mut strong, now);
                }
                SortKind::Int => {
                    let bounds: Vec<Term> = self.constants.iter().chain(&self.numbers).copied().collect();
                    for c in bounds.into_iter().filter(|c| t.sort_of(*c) == Sort::INT) {
                        self.push(place, t.le(c, now), None);
                        self.push(place, t.le(now, c), None);
                    }
                }
                SortKind::Ref(c) => {
                    let null = t.eq(now, t.null(c));
                    add(&mut atoms, null);
                    add(&mut strong, null);
                }
                _ => {}
            }
        }
        for a in self.local[id.0 as usize].clone() {
            add(&mut atoms, a);
        }
        for a in self.atoms.clone() {
            add(&mut atoms, a);
        }
        atoms.truncate(CUT_ATOMS);
        for a in &atoms {
            self.push(place, *a, None);
            self.push(place, t.not(*a), None);
        }
        strong.truncate(OWNED);
        for s in &strong {
            for a in atoms.iter().filter(|a| *a != s) {
                for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
                    let sign = |f: Term, yes: bool| if yes { f } else { t.not(f) };
                    self.push(place, t.or(&[sign(*s, x), sign(*a, y)]), None);
                }
            }
        }
        for (key, entry) in self.entries.clone() {
            let none = t.quant(Quantifier::Forall, &[key], t.not(entry));
            self.push(place, none, None);
        }
    }
}

fn add(list: &mut Vec<Term>, term: Term) {
    if !list.contains(&term) {
        list.push(term);
    }
}

/// The atoms of a formula: boolean terms without boolean structure. Quantified formulas are left out.
pub fn atoms(t: &Terms, f: Term, out: &mut Vec<Term>) {
    match t.node(f) {
        Node::App(Op::Not | Op::And | Op::Or | Op::Implies, args) => args.iter().for_each(|a| atoms(t, *a, out)),
        Node::App(Op::Ite, args) if t.sort_of(args[1]) == Sort::BOOL => args.iter().for_each(|a| atoms(t, *a, out)),
        Node::App(Op::Eq, args) if t.sort_of(args[0]) == Sort::BOOL => args.iter().for_each(|a| atoms(t, *a, out)),
        Node::Bool(_) | Node::Quant(..) => {}
        _ => {
            if !out.contains(&f) {
                out.push(f);
            }
        }
    }
}
