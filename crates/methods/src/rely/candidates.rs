//! Candidate annotations, from the program's own vocabulary: guards, tests, locks, sets, assignments and what is written.
//!
//! In: a program. Out: conjuncts for the invariant, for what each thread relies on, and for its cuts. Shapes: what a thread
//! owns (`m == tid`, `tid in r`, `flag[tid]`, `forall i :: l[i] == tid`) stays its own and protects variables, perhaps only
//! under another condition (Calvin 6.3); flags that stay up; counters that only grow; clauses of two atoms of the shared
//! store; all entries of a map (`entries`); bounds and sums of integers, always or while a lock is free; at cuts also atoms over the locals.
//! A candidate costs time and nothing else: whether it holds is decided by elimination.
//! Deliberately absent: any knowledge of particular programs.

use super::clusters::{self, Cluster};
use super::entries::{self, SharedMap};
use super::setting::{AnnotationSite, CandidateFact, WrittenFact, bool_switch};
use crate::infer::vocabulary::{FactSet, arithmetic};
use base::IdVec;
use logic::{Node, Op, Quantifier, Sort, SortKind, Symbol, Term, Terms};
use program::parts::{StoreSymbols, split_conjuncts};
use program::transition::may_coexist;
use program::{LocId, Program, Scope, ThreadId, VarId, VarKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Limits on how many of a kind are made: beyond them a candidate is not worth its time.
const MAX_ATOMS: usize = 18;
const MAX_OWNED: usize = 8;
const MAX_CONDITIONS: usize = 10;
const MAX_NUMBERS: usize = 7;
const MAX_STAMPS: usize = 3;
const CUT_ATOMS: usize = 26;

pub(crate) struct FactGuesser<'a> {
    program: &'a Program,
    terms: &'a Terms,
    shared: FxHashSet<Symbol>,
    out: Vec<CandidateFact>,
    seen: FxHashSet<(AnnotationSite, Term)>,
    /// For each variable, the threads that write it.
    writers: IdVec<VarId, Vec<ThreadId>>,
    /// For each thread and location, the locals that are still read.
    live: FxHashMap<ThreadId, IdVec<LocId, FxHashSet<VarId>>>,
    /// Bound symbols, one for each use, so that equal guesses are equal terms.
    who: Symbol,
    keys: FxHashMap<VarId, Symbol>,
    /// For each lock, what was guessed to hold while it is free.
    while_free: FxHashMap<VarId, (Vec<Term>, FxHashSet<Term>)>,
    vocabulary: Vocabulary,
}

/// The vocabulary of one piece of the program.
#[derive(Clone, Debug, Default)]
struct Vocabulary {
    /// Shared variables.
    vars: Vec<VarId>,
    /// Atoms over the shared store alone.
    atoms: Vec<Term>,
    /// What a thread owns: over the shared store and `tid`.
    owned: Vec<Term>,
    /// Owned entries of maps: a bound key and the formula.
    entries: Vec<(Symbol, Term)>,
    /// Values that entries of maps are compared with.
    entry_values: Vec<(VarId, Term)>,
    /// Integer terms over the shared store.
    numbers: Vec<Term>,
    constants: Vec<Term>,
    /// Atoms that mention the locals of a thread.
    local: Vec<(ThreadId, Term)>,
    /// Locals that are read from a shared variable, and that variable.
    copies: Vec<(VarId, VarId)>,
    /// Shared variables of which what was read is compared with what is there later: sequence numbers, versions.
    stamps: Vec<VarId>,
}

/// What is written in the text, conjunct by conjunct.
pub(super) fn written<'a>(program: &'a Program, terms: &'a Terms, cuts: &[Vec<LocId>]) -> FactGuesser<'a> {
    let mut c = FactGuesser {
        program,
        terms,
        shared: program.shared().map(|v| program.vars[v].symbol).collect(),
        out: Vec::new(),
        seen: FxHashSet::default(),
        writers: writers(program),
        live: FxHashMap::default(),
        who: terms.symbol("t", Sort::INT),
        keys: FxHashMap::default(),
        while_free: FxHashMap::default(),
        vocabulary: Vocabulary::default(),
    };
    for fact in &program.invariants {
        for part in fact.formula.map(|f| split_conjuncts(terms, f)).unwrap_or_default() {
            c.push(AnnotationSite::Invariant, part, fact.property.map(WrittenFact::Property));
        }
    }
    for rely in &program.relies {
        for part in rely.formula.map(|f| split_conjuncts(terms, f)).unwrap_or_default() {
            for t in program.threads.ids().filter(|t| rely.thread.is_none_or(|x| x == *t)) {
                c.push(AnnotationSite::Rely(t), part, Some(WrittenFact::Property(rely.property)));
            }
        }
    }
    for (t, thread) in program.threads.iter_enumerated() {
        for at in &cuts[t.index()] {
            let location = &thread.code.locations[*at];
            for part in location.invariants.iter().flatten().flat_map(|f| terms.conjuncts(*f)) {
                c.push(AnnotationSite::Cut(t, *at), part, Some(WrittenFact::Loop(location.origin)));
            }
        }
    }
    // What no other thread ever writes stays: it need not be written, and is true by the text alone.
    let of = if clusters::needs_clustering(program) { touched_by(program, terms) } else { Vec::new() };
    for t in program.threads.ids() {
        for v in program.shared().filter(|v| of.get(t.index()).is_none_or(|of| of.contains(v))) {
            if !c.touched(t, v) {
                let same = c.kept(v);
                c.push(AnnotationSite::Rely(t), same, None);
            }
        }
    }
    c
}

fn writers(p: &Program) -> IdVec<VarId, Vec<ThreadId>> {
    let mut out: IdVec<VarId, Vec<ThreadId>> = p.vars.iter().map(|_| Vec::new()).collect();
    for (t, thread) in p.threads.iter_enumerated() {
        for a in thread.code.actions.iter() {
            for v in a.updates.iter().map(|u| u.var).chain(a.spawn.iter().filter_map(|s| s.into)) {
                if out[v].last() != Some(&t) {
                    out[v].push(t);
                }
            }
        }
    }
    out
}

/// For each thread, the shared variables that its code or its annotations touch.
fn touched_by(p: &Program, terms: &Terms) -> Vec<FxHashSet<VarId>> {
    let names = StoreSymbols::new(p);
    let of: FxHashMap<Symbol, VarId> = p.shared().map(|v| (p.vars[v].symbol, v)).collect();
    let mut out = Vec::new();
    for (id, t) in p.threads.iter_enumerated() {
        let mut mine: FxHashSet<VarId> =
            t.code.actions.iter().flat_map(|a| names.touched(p, terms, a)).map(|s| of[&s]).collect();
        let relies = p.relies.iter().filter(|r| r.thread.is_none_or(|x| x == id)).filter_map(|r| r.formula);
        let loops = t.code.locations.iter().flat_map(|l| l.invariants.iter().flatten().copied());
        mine.extend(relies.chain(loops).flat_map(|f| names.about(terms, f)).map(|s| of[&s]));
        out.push(mine);
    }
    out
}

impl<'a> FactGuesser<'a> {
    pub(super) fn list(self) -> Vec<CandidateFact> {
        self.out
    }

    fn push(&mut self, place: AnnotationSite, formula: Term, written: Option<WrittenFact>) {
        if self.terms.is_true(formula) || !self.seen.insert((place, formula)) {
            return;
        }
        let switch = bool_switch(self.terms);
        self.out.push(CandidateFact { place, formula, written, switch });
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

    /// Whether some instance other than one of `thread` may write the variable.
    fn touched(&self, thread: ThreadId, v: VarId) -> bool {
        self.writers[v].iter().any(|u| may_coexist(self.program, thread, *u))
    }

    /// Adds everything guessed from the vocabulary of one piece.
    pub(crate) fn guess(&mut self, cluster: &Cluster) {
        self.gather(cluster);
        self.invariants();
        for t in threads(cluster) {
            self.relies(t);
            self.accesses(t);
        }
        for (t, at) in &cluster.cuts {
            self.cut(*t, *at);
        }
    }

    /// Adds what locks mean: they stay with their holder and protect what is touched while they are held; and what may
    /// hold of that while they are free.
    pub(super) fn locks(&mut self, cluster: &Cluster) {
        self.gather(cluster);
        let (p, t) = (self.program, self.terms);
        let tid = t.sym(p.tid);
        for (m, under) in &cluster.under {
            let (held, after) = (t.eq(self.now(*m), tid), t.eq(self.next(*m), tid));
            for id in threads(cluster) {
                self.push(AnnotationSite::Rely(id), t.implies(held, after), None);
                self.push(AnnotationSite::Rely(id), t.implies(after, held), None);
                for v in under.iter().filter(|v| self.touched(id, **v)).copied().collect::<Vec<_>>() {
                    let kept = self.kept(v);
                    self.push(AnnotationSite::Rely(id), t.implies(held, kept), None);
                }
            }
            let free = t.eq(self.now(*m), t.int(0));
            let guarded: FxHashSet<Symbol> = under.iter().map(|v| p.vars[*v].symbol).collect();
            let inside = |f: &Term| t.free_symbols(*f).iter().all(|s| guarded.contains(s));
            let mut some = self.vocabulary.clone();
            some.numbers.retain(inside);
            some.numbers.truncate(MAX_NUMBERS);
            let atoms: Vec<Term> = self.vocabulary.atoms.iter().copied().filter(inside).take(MAX_ATOMS).collect();
            for n in arithmetic(t, &some.numbers, &some.constants)
                .into_iter()
                .chain(atoms.iter().flat_map(|a| [*a, t.not(*a)]))
            {
                self.push(AnnotationSite::Invariant, t.implies(free, n), None);
                let known = self.while_free.entry(*m).or_default();
                if known.1.insert(n) {
                    known.0.push(n);
                }
            }
        }
        for id in threads(cluster) {
            self.accesses(id);
        }
        for (id, at) in &cluster.cuts {
            let locals = self.locals(*id, *at);
            self.local_atoms(*id, *at, &locals);
        }
    }

    /// Adds what access predicates mean: what somebody may touch because of what he has, others leave alone, and what he has
    /// they neither take nor give.
    fn accesses(&mut self, id: ThreadId) {
        let (p, t) = (self.program, self.terms);
        for v in self.vocabulary.vars.clone() {
            let Some(access) = &p.vars[v].access else { continue };
            if p.vars[v].kind == VarKind::Lock && access.binders.is_empty() {
                continue;
            }
            let (mut now, mut next) = (self.now(v), self.next(v));
            for key in &access.binders {
                (now, next) = (t.select(now, t.sym(*key)), t.select(next, t.sym(*key)));
            }
            let all = |body: Term| {
                if access.binders.is_empty() { body } else { t.quant(Quantifier::Forall, &access.binders, body) }
            };
            let mut ways = Vec::from_iter(access.formula);
            while let Some(way) = ways.pop() {
                match t.app(way) {
                    Some((Op::Or, args)) => ways.extend(args.iter()),
                    _ if t.free_symbols(way).contains(&p.tid) => {
                        let after = self.primed(way);
                        for body in [t.implies(way, t.eq(next, now)), t.implies(way, after), t.implies(after, way)] {
                            self.push(AnnotationSite::Rely(id), all(body), None);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Adds, at every cut, which locks are surely held there, what may hold while they are free, and what the step there
    /// says of the values that it chooses.
    pub(super) fn held(&mut self, cuts: &[Vec<LocId>]) {
        let (p, t) = (self.program, self.terms);
        let tid = t.sym(p.tid);
        for (id, thread) in p.threads.iter_enumerated() {
            let at: FxHashSet<LocId> = cuts[id.index()].iter().copied().collect();
            for a in thread.code.actions.iter().filter(|a| !a.inputs.is_empty() && at.contains(&a.to)) {
                let values: Vec<(Symbol, Term)> = super::chosen(p, a).map(|(v, s)| (s, self.now(v))).collect();
                for part in t.conjuncts(t.substitute(a.guard, values)) {
                    if !t.free_symbols(part).iter().any(|s| a.inputs.contains(s)) {
                        self.push(AnnotationSite::Cut(id, a.to), part, None);
                    }
                }
            }
            let held = program::transition::must_locksets(p, t, &thread.code);
            for at in &cuts[id.index()] {
                // That no thread comes there. Where it holds, nothing else has to be found of the place.
                self.push(AnnotationSite::Cut(id, *at), t.ff(), None);
                for m in held[*at].iter().flatten() {
                    let place = AnnotationSite::Cut(id, *at);
                    self.push(place, t.eq(self.now(*m), tid), None);
                    for n in self.while_free.get(m).map(|known| known.0.clone()).unwrap_or_default() {
                        self.push(place, n, None);
                    }
                }
            }
        }
    }

    /// The locals that matter at a cut.
    fn locals(&mut self, id: ThreadId, at: LocId) -> Vec<VarId> {
        let (p, t) = (self.program, self.terms);
        let live = self.live.entry(id).or_insert_with(|| program::live::live(p, &p.threads[id].code));
        let mut locals: Vec<VarId> = live[at].iter().copied().collect();
        let mentioned = p.threads[id].code.locations[at].invariants.iter().flatten();
        let mentioned: FxHashSet<Symbol> = mentioned.flat_map(|f| t.free_symbols(*f)).collect();
        locals.extend(p.threads[id].locals.iter().filter(|v| mentioned.contains(&p.vars[**v].symbol)));
        locals.sort_unstable();
        locals.dedup();
        locals
    }

    /// Adds what the code itself says of the locals that matter at a cut, and their bounds.
    fn local_atoms(&mut self, id: ThreadId, at: LocId, locals: &[VarId]) {
        let (p, t) = (self.program, self.terms);
        let place = AnnotationSite::Cut(id, at);
        for v in locals {
            let now = self.now(*v);
            match t.kind(p.vars[*v].sort) {
                SortKind::Bool => {
                    self.push(place, now, None);
                    self.push(place, t.not(now), None);
                }
                SortKind::Int => {
                    for c in self.vocabulary.constants.clone().into_iter().filter(|c| t.sort_of(*c) == Sort::INT) {
                        self.push(place, t.le(c, now), None);
                        self.push(place, t.le(now, c), None);
                    }
                }
                _ => {}
            }
        }
        let symbols: FxHashSet<Symbol> = locals.iter().map(|v| p.vars[*v].symbol).collect();
        let known = |s: &Symbol| symbols.contains(s) || self.shared.contains(s) || *s == p.tid;
        let mine = self.vocabulary.local.iter().filter(|(x, a)| *x == id && t.free_symbols(*a).iter().all(known));
        for a in mine.map(|(_, a)| *a).take(CUT_ATOMS).collect::<Vec<_>>() {
            self.push(place, a, None);
            self.push(place, t.not(a), None);
        }
    }

    /// Adds a candidate that was made before.
    pub(super) fn keep(&mut self, c: &CandidateFact) {
        self.push(c.place, c.formula, c.written);
    }

    /// Reads the vocabulary off the code.
    fn gather(&mut self, cluster: &Cluster) {
        let (p, t) = (self.program, self.terms);
        let tid = t.sym(p.tid);
        self.vocabulary = Vocabulary { vars: cluster.vars.clone(), ..Vocabulary::default() };
        for v in &cluster.vars {
            let (var, now) = (&p.vars[*v], self.now(*v));
            match (var.kind, t.kind(var.sort)) {
                (VarKind::Lock, SortKind::Int) => {
                    add(&mut self.vocabulary.owned, t.eq(now, tid));
                    add(&mut self.vocabulary.atoms, t.eq(now, t.int(0)));
                }
                (VarKind::Lock, SortKind::Map(k, e)) if e == Sort::INT => self.entry(*v, k, tid),
                (_, SortKind::Bool) => add(&mut self.vocabulary.atoms, now),
                _ => {}
            }
        }
        let mut formulas: Vec<(Option<ThreadId>, Term)> = Vec::new();
        let mut tests = FactSet::default();
        let all: FxHashSet<Symbol> = cluster.vars.iter().map(|v| p.vars[*v].symbol).collect();
        let inside = |f: &Term| t.free_symbols(*f).iter().all(|s| all.contains(s) || !self.shared.contains(s));
        formulas.extend(p.invariants.iter().filter_map(|f| f.formula).filter(inside).map(|f| (None, f)));
        for (id, actions) in &cluster.code {
            let code = &p.threads[*id].code;
            let mut here: Vec<LocId> = actions.iter().map(|a| code.actions[*a].from).collect();
            here.sort_unstable();
            here.dedup();
            let written = here.iter().flat_map(|l| code.locations[*l].invariants.iter().flatten());
            formulas.extend(written.map(|f| (Some(*id), *f)));
            for a in actions.iter().map(|a| &code.actions[*a]) {
                tests.add_conditions(t, a.guard);
                formulas.push((Some(*id), a.guard));
                formulas.extend(a.gates.iter().map(|g| (Some(*id), g.formula)));
                for u in &a.updates {
                    self.assigned(*id, u.var, u.value, &mut formulas);
                }
            }
        }
        // What is tested of a copy may hold of the variable itself.
        let read: Vec<(Symbol, Term)> =
            self.vocabulary.copies.iter().map(|(local, shared)| (p.vars[*local].symbol, self.now(*shared))).collect();
        for test in tests.all.into_iter().filter(|test| reflexive(t, t.substitute(*test, read.iter().copied()))) {
            self.stamp(test);
        }
        for (thread, f) in formulas {
            let mut found = FactSet::default();
            found.add_conditions(t, f);
            for atom in found.all {
                self.classify(thread, atom);
                let of_the_copied = t.substitute(atom, read.iter().copied());
                if !reflexive(t, of_the_copied) {
                    self.classify(thread, of_the_copied);
                }
            }
        }
        for v in &cluster.vars {
            let (var, now) = (&p.vars[*v], self.now(*v));
            match t.kind(var.sort) {
                SortKind::Int | SortKind::Machine(_) if var.kind == VarKind::Plain => {
                    add(&mut self.vocabulary.numbers, now);
                }
                SortKind::Seq(_) => add(&mut self.vocabulary.numbers, t.mk(Op::Len, &[now])),
                _ => {}
            }
            if let Some(i) = var.initial
                && matches!(t.node(i), Node::Num(_, s) if s == Sort::INT)
            {
                add(&mut self.vocabulary.constants, i);
            }
        }
        add(&mut self.vocabulary.constants, t.int(0));
        add(&mut self.vocabulary.constants, t.int(1));
        self.vocabulary.constants.truncate(6);
    }

    /// The bound key of a map.
    fn key(&mut self, v: VarId, key: Sort) -> Symbol {
        let name = self.program.vars[v].name.replace('.', "_");
        *self.keys.entry(v).or_insert_with(|| self.terms.symbol(format!("k_{name}"), key))
    }

    /// A shared map with what its entries are compared with.
    fn table(&mut self, v: VarId) -> Option<SharedMap> {
        let SortKind::Map(k, _) = self.terms.kind(self.program.vars[v].sort) else { return None };
        let values = self.vocabulary.entry_values.iter().filter(|(x, _)| *x == v).map(|(_, value)| *value).collect();
        let lock = self.program.vars[v].kind == VarKind::Lock;
        Some(SharedMap { map: self.now(v), lock, values, key: self.key(v, k) })
    }

    /// `m == tid` of a lock.
    fn is_lock(&self, owned: Term) -> bool {
        let (p, t) = (self.program, self.terms);
        let lock = |x: Term| self.vocabulary.vars.iter().any(|v| p.vars[*v].kind == VarKind::Lock && self.now(*v) == x);
        matches!(t.app(owned), Some((Op::Eq, args)) if args[1] == t.sym(p.tid) && lock(args[0]))
    }

    /// `forall k :: map[k] == tid` is owned.
    fn entry(&mut self, v: VarId, key: Sort, tid: Term) {
        let t = self.terms;
        let bound = self.key(v, key);
        let formula = t.eq(t.select(self.now(v), t.sym(bound)), tid);
        if !self.vocabulary.entries.contains(&(bound, formula)) {
            self.vocabulary.entries.push((bound, formula));
        }
    }

    fn assigned(&mut self, thread: ThreadId, v: VarId, value: Term, formulas: &mut Vec<(Option<ThreadId>, Term)>) {
        let (p, t) = (self.program, self.terms);
        let tid = t.sym(p.tid);
        let var = &p.vars[v];
        let now = self.now(v);
        if var.scope != Scope::Shared
            && let Some(read) = self.vocabulary.vars.iter().find(|x| self.now(**x) == value).copied()
        {
            add(&mut self.vocabulary.copies, (v, read));
        }
        if value == tid && var.scope == Scope::Shared {
            add(&mut self.vocabulary.owned, t.eq(now, tid));
            add(&mut self.vocabulary.atoms, t.eq(now, t.int(0)));
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
                    _ if new == tid => Some(t.eq(entry, new)),
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

    /// A copy is compared with another one, or with the variable as it is now.
    fn stamp(&mut self, equation: Term) {
        let (p, t) = (self.program, self.terms);
        let free = t.free_symbols(equation);
        let copied = self.vocabulary.copies.iter().filter(|(local, _)| free.contains(&p.vars[*local].symbol));
        for (_, shared) in copied.copied().collect::<Vec<_>>() {
            add(&mut self.vocabulary.stamps, shared);
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
                    add(&mut self.vocabulary.constants, *a);
                }
            }
        }
        if let Node::App(Op::Eq, args) = t.node(atom) {
            for (side, value) in [(args[0], args[1]), (args[1], args[0])] {
                if let Some((Op::Select, of)) = t.app(side)
                    && t.free_symbols(value).is_empty()
                    && let Some(v) = self.vocabulary.vars.iter().find(|v| self.now(**v) == of[0])
                    && !self.vocabulary.entry_values.contains(&(*v, value))
                {
                    self.vocabulary.entry_values.push((*v, value));
                }
            }
        }
        let mine = |s: &Symbol| thread.is_some_and(|id| p.threads[id].locals.iter().any(|v| p.vars[*v].symbol == *s));
        if free.iter().all(|s| self.shared.contains(s)) {
            add(&mut self.vocabulary.atoms, atom);
        } else if free.iter().all(|s| self.shared.contains(s) || *s == p.tid) {
            if free.len() > 1 {
                add(&mut self.vocabulary.owned, atom);
            }
        } else if free.iter().all(|s| self.shared.contains(s) || *s == p.tid || mine(s))
            && let Some(id) = thread
            && !self.vocabulary.local.contains(&(id, atom))
        {
            self.vocabulary.local.push((id, atom));
        }
    }

    fn literals(&self) -> Vec<Term> {
        self.vocabulary.atoms.iter().flat_map(|a| [*a, self.terms.not(*a)]).collect()
    }

    fn invariants(&mut self) {
        let t = self.terms;
        self.vocabulary.atoms.truncate(MAX_ATOMS);
        self.vocabulary.owned.truncate(MAX_OWNED);
        self.vocabulary.numbers.truncate(MAX_NUMBERS);
        let literals = self.literals();
        let numeric = arithmetic(t, &self.vocabulary.numbers, &self.vocabulary.constants);
        for l in literals.iter().chain(&numeric) {
            self.push(AnnotationSite::Invariant, *l, None);
        }
        for (i, a) in literals.iter().enumerate() {
            for b in &literals[i + 1..] {
                if *b != t.not(*a) {
                    self.push(AnnotationSite::Invariant, t.or(&[*a, *b]), None);
                }
            }
        }
        let p = self.program;
        let vars = self.vocabulary.vars.clone();
        let tables: Vec<SharedMap> = vars.into_iter().filter_map(|v| self.table(v)).collect();
        let ints: Vec<Term> = self.vocabulary.numbers.iter().copied().filter(|n| t.sort_of(*n) == Sort::INT).collect();
        for f in entries::candidates(t, &tables, &self.vocabulary.constants, &ints) {
            self.push(AnnotationSite::Invariant, f, None);
        }
        // While a lock is free.
        for v in self.vocabulary.vars.clone() {
            let free = t.eq(self.now(v), if p.vars[v].sort == Sort::INT { t.int(0) } else { continue });
            if p.vars[v].kind == VarKind::Lock || self.vocabulary.owned.contains(&t.eq(self.now(v), t.sym(p.tid))) {
                for n in &numeric {
                    self.push(AnnotationSite::Invariant, t.implies(free, *n), None);
                }
            }
        }
        // Of every thread: what it owns by a set or an entry of a map says something of the store.
        let who = self.who;
        let of = |f: Term| t.substitute(f, [(p.tid, t.sym(who))]);
        for o in self.vocabulary.owned.clone() {
            if matches!(t.app(o), Some((Op::Eq, args)) if t.as_symbol(args[0]).is_some() && args[1] == t.sym(p.tid)) {
                continue;
            }
            for l in &literals {
                let body = t.implies(of(o), *l);
                self.push(AnnotationSite::Invariant, t.quant(Quantifier::Forall, &[who], body), None);
            }
            for q in self.vocabulary.owned.clone() {
                if q != o {
                    for q in [q, t.not(q)] {
                        let body = t.implies(of(o), of(q));
                        self.push(AnnotationSite::Invariant, t.quant(Quantifier::Forall, &[who], body), None);
                    }
                }
            }
        }
    }

    fn relies(&mut self, id: ThreadId) {
        let (p, t) = (self.program, self.terms);
        let place = AnnotationSite::Rely(id);
        let touched: Vec<VarId> = self.vocabulary.vars.iter().copied().filter(|v| self.touched(id, *v)).collect();
        let tid = t.sym(p.tid);
        let owned = self.vocabulary.owned.clone();
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
        for l in literals.iter().take(2 * MAX_CONDITIONS) {
            for o in owned.iter().take(4) {
                for v in &touched {
                    let kept = self.kept(*v);
                    self.push(place, t.implies(t.and(&[*l, *o]), kept), None);
                }
            }
        }
        // While a sequence number stays, perhaps only an even one, what it stands for stays.
        for stamp in self.vocabulary.stamps.iter().copied().take(MAX_STAMPS).collect::<Vec<_>>() {
            let of_it = literals.iter().copied().filter(|l| t.free_symbols(*l) == [p.vars[stamp].symbol]);
            let when: Vec<Term> = [t.bool(true)].into_iter().chain(of_it).collect();
            for v in touched.iter().filter(|v| **v != stamp) {
                for w in &when {
                    let same = t.and(&[*w, self.kept(stamp)]);
                    self.push(place, t.implies(same, self.kept(*v)), None);
                }
            }
        }
        // While one has a lock, others leave entries of a certain value as they are: free ones are taken under the lock.
        let locks: Vec<Term> = owned.iter().copied().filter(|o| self.is_lock(*o)).collect();
        for (v, value) in self.vocabulary.entry_values.clone().into_iter().filter(|(v, _)| touched.contains(v)) {
            let SortKind::Map(k, _) = t.kind(p.vars[v].sort) else { continue };
            let key = self.key(v, k);
            let is = |map: Term| t.eq(t.select(map, t.sym(key)), value);
            for lock in &locks {
                let body = t.implies(t.and(&[*lock, is(self.now(v))]), is(self.next(v)));
                self.push(place, t.quant(Quantifier::Forall, &[key], body), None);
            }
        }
        // Entries of maps that are owned protect entries of maps with the same keys.
        for (key, entry) in self.vocabulary.entries.clone() {
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
        let place = AnnotationSite::Cut(id, at);
        let mut atoms: Vec<Term> = self.vocabulary.owned.clone();
        let mut strong: Vec<Term> = self.vocabulary.owned.clone();
        let locals = self.locals(id, at);
        for v in &locals {
            let var = &p.vars[*v];
            let now = self.now(*v);
            match t.kind(var.sort) {
                SortKind::Bool => {
                    add(&mut atoms, now);
                    add(&mut strong, now);
                }
                SortKind::Int => {
                    let bounds: Vec<Term> =
                        self.vocabulary.constants.iter().chain(&self.vocabulary.numbers).copied().collect();
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
        let symbols: FxHashSet<Symbol> = locals.iter().map(|v| p.vars[*v].symbol).collect();
        let known = |s: &Symbol| symbols.contains(s) || self.shared.contains(s) || *s == p.tid;
        for (_, a) in self.vocabulary.local.iter().filter(|(x, _)| *x == id) {
            if t.free_symbols(*a).iter().all(known) {
                add(&mut atoms, *a);
            }
        }
        for a in self.vocabulary.atoms.clone() {
            add(&mut atoms, a);
        }
        atoms.truncate(CUT_ATOMS);
        for a in &atoms {
            self.push(place, *a, None);
            self.push(place, t.not(*a), None);
        }
        strong.truncate(MAX_OWNED);
        for s in &strong {
            for a in atoms.iter().filter(|a| *a != s) {
                for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
                    let sign = |f: Term, yes: bool| if yes { f } else { t.not(f) };
                    self.push(place, t.or(&[sign(*s, x), sign(*a, y)]), None);
                }
            }
        }
        for (key, entry) in self.vocabulary.entries.clone() {
            let none = t.quant(Quantifier::Forall, &[key], t.not(entry));
            self.push(place, none, None);
        }
    }
}

fn threads(cluster: &Cluster) -> BTreeSet<ThreadId> {
    cluster.code.iter().map(|(t, _)| *t).collect()
}

/// An equation of a term with itself.
fn reflexive(t: &Terms, f: Term) -> bool {
    matches!(t.app(f), Some((Op::Eq, args)) if args[0] == args[1])
}

fn add<T: PartialEq>(list: &mut Vec<T>, one: T) {
    if !list.contains(&one) {
        list.push(one);
    }
}
