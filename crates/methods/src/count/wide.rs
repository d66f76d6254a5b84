//! Wider candidates, for what the usual ones leave open.
//!
//! In: the counted system and what is known of it. Out: formulas that the text of the program suggests. Its conditions over the
//! shared store are candidates for what is true while somebody is at a place, and for what is true unless
//! somebody is in the middle of changing it (`F` fails only while someone is at one of these places; the places
//! are found by following the steps that break `F` or leave it broken); of two over different variables, one may imply the other. A condition over locals is read of what they were copied from
//! as well: `x == y` after `x := a; y := b` suggests `a == b`. An instance may rely on conditions over its locals, on
//! copies being what they were copied from, and on both while another of its copies is still current (`s == seq ==> x == a`, as a
//! reader of a sequence lock does). Nothing here is trusted: what is not inductive is dropped.

use super::system::{CountedSystem, StepEndpoint};
use crate::infer::vocabulary::terms_of;
use logic::{Node, Op, Sort, SortKind, Symbol, Term};
use program::{Action, Scope, ThreadId};
use rustc_hash::FxHashSet;
use solver::Smt;
use std::collections::{BTreeMap, BTreeSet};

/// More conditions than this over the shared store, or copies that are tested, are not looked at.
const MAX_SHARED: usize = 16;
const MAX_TESTED: usize = 3;
/// Pairs of more conditions than this are not looked at.
const MAX_RELATED: usize = 10;
/// And not more candidates times moves.
const MAX_QUESTIONS: usize = 60_000;

pub(crate) struct Wide {
    /// Over the shared store alone.
    shared: Vec<Term>,
    own: BTreeMap<ThreadId, LocalHints>,
}

/// What the text of a thread suggests about its locals.
#[derive(Default)]
struct LocalHints {
    /// Over its locals and id, and perhaps the shared store.
    conditions: BTreeSet<Term>,
    /// A local is what it was copied from.
    copies: BTreeSet<Term>,
    /// Conditions that a copy is still what it was copied from.
    tested: BTreeSet<Term>,
}

impl Wide {
    pub(super) fn of(system: &CountedSystem<'_>) -> Self {
        let (t, p) = (system.terms, system.program);
        let mut shared = BTreeSet::new();
        let mut own: BTreeMap<ThreadId, LocalHints> = BTreeMap::new();
        for thread in p.threads.ids() {
            let of = own.entry(thread).or_default();
            let mut sources: BTreeMap<Symbol, BTreeSet<Term>> = BTreeMap::new();
            let actions = &p.threads[thread].code.actions;
            for u in actions.iter().flat_map(|a| &a.updates).filter(|u| p.vars[u.var].scope != Scope::Shared) {
                if is_shared(system, u.value) && !t.free_symbols(u.value).is_empty() {
                    let x = p.vars[u.var].symbol;
                    sources.entry(x).or_default().insert(u.value);
                    of.copies.insert(t.eq(t.sym(x), u.value));
                }
            }
            for a in actions.iter().flat_map(|a| atoms(system, a)) {
                if is_shared(system, a) {
                    shared.insert(a);
                    continue;
                }
                of.conditions.insert(a);
                if of.copies.contains(&a) || of.copies.contains(&swapped(system, a)) {
                    of.tested.insert(a);
                }
                shared.extend(read_of_sources(system, a, &sources).into_iter().filter(|f| !t.is_true(*f)));
            }
        }
        let written: Vec<Term> = p.invariants.iter().filter_map(|f| f.formula).collect();
        shared.extend(conditions(system, written).into_iter().filter(|f| is_shared(system, *f)));
        for v in p.shared() {
            if matches!(t.kind(p.vars[v].sort), SortKind::Set(_)) {
                shared.insert(t.eq(t.sym(p.vars[v].symbol), t.default_of(p.vars[v].sort)));
            }
        }
        let shared = shared.into_iter().filter(|f| !t.is_false(*f)).take(MAX_SHARED).collect();
        Self { shared, own }
    }

    /// Whether the candidates are few enough to be asked about.
    pub(crate) fn is_small(&self, system: &CountedSystem<'_>) -> bool {
        let all: usize = (0..system.cells.len()).map(|c| self.holds(system, c).len()).sum();
        all * system.moves.len() <= MAX_QUESTIONS
    }

    /// What may be true while somebody is at a place, or unless somebody is.
    pub(super) fn facts(&self, system: &CountedSystem<'_>, known: &[Term], smt: &mut dyn Smt) -> Vec<Term> {
        let t = system.terms;
        let mut out = Vec::new();
        for f in self.shared.iter().flat_map(|f| [*f, t.not(*f)]) {
            out.push(f);
            let groups = system.groups.iter().map(|g| t.le(t.int(1), t.sym(g.symbol)));
            let there = system.unique_threads.iter().flat_map(|s| s.there.iter().map(|x| t.sym(*x)));
            out.extend(groups.chain(there).map(|someone| t.implies(someone, f)));
            out.push(unless_changing(system, f, known, smt));
        }
        if self.shared.len() <= MAX_RELATED {
            out.extend(self.related(system));
        }
        out
    }

    /// Of two conditions over different variables, one implies the other.
    fn related(&self, system: &CountedSystem<'_>) -> Vec<Term> {
        let t = system.terms;
        let mut out = Vec::new();
        for (i, a) in self.shared.iter().enumerate() {
            let over = t.free_symbols(*a);
            let others = self.shared[i + 1..].iter().filter(|b| t.free_symbols(**b).iter().all(|s| !over.contains(s)));
            for b in others {
                let ways = [(*a, *b), (*a, t.not(*b)), (t.not(*a), *b), (t.not(*a), t.not(*b))];
                out.extend(ways.map(|(a, b)| t.implies(a, b)));
            }
        }
        out
    }

    /// What an instance at a place may rely on.
    pub(super) fn holds(&self, system: &CountedSystem<'_>, cell: usize) -> Vec<Term> {
        let (t, p) = (system.terms, system.program);
        let c = &system.cells[cell];
        let mut out: Vec<Term> = self.shared.iter().flat_map(|f| [*f, t.not(*f)]).collect();
        let Some(own) = self.own.get(&c.thread) else { return out };
        let live = &program::live::live(p, &p.threads[c.thread].code)[c.location];
        let local = |s: Symbol| p.vars.iter_enumerated().find(|(_, v)| v.symbol == s && v.scope != Scope::Shared);
        let lives = |f: &&Term| t.free_symbols(**f).iter().all(|s| local(*s).is_none_or(|(v, _)| live.contains(&v)));
        out.extend(own.conditions.iter().filter(lives).flat_map(|f| [*f, t.not(*f)]));
        out.extend(own.copies.iter().filter(lives));
        let then: Vec<Term> = own.copies.iter().filter(lives).copied().chain(self.shared.iter().copied()).collect();
        for test in own.tested.iter().filter(lives).take(MAX_TESTED) {
            out.extend(then.iter().filter(|f| *f != test).map(|f| t.implies(*test, *f)));
        }
        out
    }
}

/// Whether a term is over the shared store alone.
fn is_shared(system: &CountedSystem<'_>, term: Term) -> bool {
    let p = system.program;
    let shared: FxHashSet<Symbol> = p.shared().map(|v| p.vars[v].symbol).collect();
    system.terms.free_symbols(term).iter().all(|s| shared.contains(s))
}

/// An equation with its sides exchanged; any other term as it is.
fn swapped(system: &CountedSystem<'_>, term: Term) -> Term {
    match system.terms.node(term) {
        Node::App(Op::Eq, args) => system.terms.eq(args[1], args[0]),
        _ => term,
    }
}

/// The conditions an action is made of, without those over values that it chooses.
fn atoms(system: &CountedSystem<'_>, action: &Action) -> Vec<Term> {
    let t = system.terms;
    let mut out = conditions(system, terms_of(action).collect());
    let chosen = |f: &Term| t.free_symbols(*f).iter().any(|s| action.inputs.contains(s));
    out.retain(|f| !chosen(f));
    out
}

/// The conditions that terms are made of.
fn conditions(system: &CountedSystem<'_>, mut todo: Vec<Term>) -> Vec<Term> {
    let t = system.terms;
    let (mut out, mut seen) = (Vec::new(), FxHashSet::default());
    while let Some(f) = todo.pop() {
        if !seen.insert(f) {
            continue;
        }
        let is_bool = t.sort_of(f) == Sort::BOOL;
        match t.node(f) {
            Node::App(Op::And | Op::Or | Op::Not | Op::Implies | Op::Ite, args) => todo.extend(args.iter()),
            Node::App(_, args) if !is_bool => todo.extend(args.iter()),
            _ if is_bool && !t.free_symbols(f).is_empty() => out.push(f),
            _ => {}
        }
    }
    out
}

/// The condition, of what its locals were copied from; nothing where one of them is no copy.
fn read_of_sources(system: &CountedSystem<'_>, f: Term, sources: &BTreeMap<Symbol, BTreeSet<Term>>) -> Vec<Term> {
    let t = system.terms;
    let mut out = vec![f];
    for s in t.free_symbols(f) {
        if let Some(from) = sources.get(&s).filter(|from| from.len() <= 2) {
            out =
                out.iter().flat_map(|f| from.iter().map(|e| t.substitute(*f, [(s, *e)])).collect::<Vec<_>>()).collect();
        }
    }
    out.retain(|f| is_shared(system, *f) && !t.free_symbols(*f).is_empty());
    out.truncate(8);
    out
}

/// `f`, unless somebody is at a place where it may be broken.
fn unless_changing(system: &CountedSystem<'_>, f: Term, known: &[Term], smt: &mut dyn Smt) -> Term {
    let t = system.terms;
    let mut places: Vec<StepEndpoint> = Vec::new();
    smt.push();
    system.facts().into_iter().chain(system.control()).chain(known.iter().copied()).for_each(|k| smt.assert(k));
    let steps = system.steps();
    loop {
        let before = places.len();
        for s in &steps {
            let touched = t.free_symbols(f).iter().any(|x| s.effect.iter().any(|(y, _)| x == y));
            let changing = places.contains(&s.from);
            if places.contains(&s.to) || !(touched || changing) {
                continue;
            }
            smt.push();
            s.pre.iter().for_each(|x| smt.assert(*x));
            if !changing {
                smt.assert(f);
            }
            smt.assert(t.not(t.substitute(f, s.effect.iter().copied())));
            if !smt.check().is_unsat() {
                places.push(s.to);
            }
            smt.pop();
        }
        if places.len() == before {
            break;
        }
    }
    smt.pop();
    let someone = |place: &StepEndpoint| match place {
        StepEndpoint::Group(g) => t.le(t.int(1), t.sym(system.groups[*g].symbol)),
        StepEndpoint::Cell(k, c) => t.sym(system.unique_threads[*k].there[*c]),
    };
    t.or(&places.iter().map(someone).chain([f]).collect::<Vec<_>>())
}
