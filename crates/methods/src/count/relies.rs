//! What an instance may rely on, and what two may rely on of each other's locals.
//!
//! In: the counted system. Out: candidates, and the system with the part of them that holds (`joint`). Candidates come from the program's text: "this lock is
//! mine" (`m == tid`), comparisons of a local with a shared variable that the code compares it with (`mine < next`,
//! `mine == serving`), membership of a local, or of the thread itself, in a shared set, and that such a local differs between two instances.
//! Deliberately absent: what is kept of them; a wrong candidate costs time and nothing else.

use super::joint::{self, MAX_PAIRS};
use super::system::{CellFacts, CountedSystem};
use super::wide::Wide;
use crate::infer::vocabulary::{conditions_of, terms_of};
use logic::{Node, Op, Sort, SortKind, Symbol, Term};
use program::{Scope, ThreadId, VarId};
use solver::Smt;
use std::collections::{BTreeMap, BTreeSet};

/// `known` are facts that are inductive with what instances rely on already.
pub(crate) fn find_cell_facts(system: &mut CountedSystem<'_>, known: &[Term], wide: Option<&Wide>, smt: &mut dyn Smt) {
    let candidates = candidates(system, wide, smt);
    let premises = match known {
        [] => Vec::new(),
        known => system.facts().into_iter().chain(system.control()).chain(known.iter().copied()).collect(),
    };
    joint::find(system, premises, &[], candidates, smt);
}

/// What instances may rely on, nothing of it checked.
pub(super) fn candidates(system: &CountedSystem<'_>, wide: Option<&Wide>, smt: &mut dyn Smt) -> CellFacts {
    let mut c = usual(system);
    let Some(wide) = wide else { return c };
    let p = system.program;
    let marked = super::marked::MarkedEntries::of(system, keys(system));
    for cell in 0..system.cells.len() {
        let new: Vec<Term> = marked.holds(system, cell, smt);
        c.holds[cell].extend(new);
    }
    for (key, more) in marked.apart(system, MAX_PAIRS) {
        c.pairwise.entry(key).or_default().extend(more);
    }
    for (cell, holds) in c.holds.iter_mut().enumerate() {
        // At the entry everything has to be true of every store that a thread may start with.
        if system.cells[cell].location != p.threads[system.cells[cell].thread].code.entry {
            let more = wide.holds(system, cell);
            let new: Vec<Term> = more.into_iter().filter(|f| !holds.contains(f)).collect();
            holds.extend(new);
        }
    }
    c
}

fn usual(system: &CountedSystem<'_>) -> CellFacts {
    let (t, p) = (system.terms, system.program);
    let (compared, keys) = (compared(system), keys(system));
    let sets: Vec<(Sort, Term)> = p
        .shared()
        .filter_map(|v| match t.kind(p.vars[v].sort) {
            SortKind::Set(of) => Some((of, t.sym(p.vars[v].symbol))),
            _ => None,
        })
        .collect();
    let naming = || p.shared().filter(|v| names_a_thread(system, *v));
    let owners: Vec<VarId> = naming().filter(|v| p.vars[*v].sort == Sort::INT).collect();
    let of_threads = |v: &VarId| matches!(t.kind(p.vars[*v].sort), SortKind::Set(of) if of == Sort::INT);
    let listing: Vec<Term> =
        naming().filter(of_threads).map(|v| t.member(t.sym(p.tid), t.sym(p.vars[v].symbol))).collect();
    let threads: BTreeSet<ThreadId> = system.cells.iter().map(|c| c.thread).collect();
    let atoms: BTreeMap<ThreadId, Vec<Term>> = threads.into_iter().map(|x| (x, atoms(system, x))).collect();
    let mut holds = Vec::new();
    let mut differing: Vec<BTreeSet<Symbol>> = Vec::new();
    for c in &system.cells {
        let (mut here, mut own) = (Vec::new(), BTreeSet::new());
        if c.location != p.threads[c.thread].code.entry {
            here.extend(owners.iter().map(|v| t.eq(t.sym(p.vars[*v].symbol), t.sym(p.tid))));
            here.extend(listing.iter().flat_map(|f| [*f, t.not(*f)]));
            for (x, v) in compared.iter().filter(|(x, _)| p.vars[*x].scope == Scope::Thread(c.thread)) {
                let (a, b) = (t.sym(p.vars[*x].symbol), t.sym(p.vars[*v].symbol));
                here.extend([t.eq(a, b), t.lt(a, b), t.le(a, b), t.lt(b, a), t.le(b, a)]);
                own.insert(p.vars[*x].symbol);
            }
            for x in keys.iter().filter(|x| p.vars[**x].scope == Scope::Thread(c.thread)) {
                let key = t.sym(p.vars[*x].symbol);
                let members = sets.iter().filter(|(of, _)| *of == p.vars[*x].sort).map(|(_, s)| t.member(key, *s));
                here.extend(members.flat_map(|f| [f, t.not(f)]));
                own.insert(p.vars[*x].symbol);
            }
            here.extend(atoms[&c.thread].iter().filter(|a| !here.contains(a)).copied().collect::<Vec<_>>());
        }
        holds.push(here);
        differing.push(own);
    }
    let mut apart = BTreeMap::new();
    let n = system.cells.len();
    if n * n / 2 <= MAX_PAIRS {
        let second: BTreeMap<Symbol, Symbol> = system.peer_copy.iter().copied().collect();
        for a in 0..n {
            for b in a..n {
                let mut list = Vec::new();
                for x in &differing[a] {
                    let same = |y: &&Symbol| t.symbol_sort(**y) == t.symbol_sort(*x);
                    list.extend(differing[b].iter().filter(same).map(|y| t.ne(t.sym(*x), t.sym(second[y]))));
                }
                if !list.is_empty() {
                    apart.insert((a, b), list);
                }
            }
        }
    }
    CellFacts { holds, pairwise: apart, exclusive: BTreeSet::new() }
}

/// Comparisons in the thread's conditions that relate its locals, or its id, with the shared store; and for locals whose
/// values the cells forget, also with each other, and what they are assigned or others are assigned from them.
fn atoms(system: &CountedSystem<'_>, thread: ThreadId) -> Vec<Term> {
    let (t, p) = (system.terms, system.program);
    let scope: BTreeMap<Symbol, Scope> = p.vars.iter().map(|v| (v.symbol, v.scope)).collect();
    let forgotten: BTreeSet<Symbol> = system.forgotten.iter().map(|v| p.vars[*v].symbol).collect();
    let relates = |f: Term| {
        let free = t.free_symbols(f);
        let own = |s: &Symbol| *s == p.tid || scope.get(s) == Some(&Scope::Thread(thread));
        let shared = |s: &Symbol| scope.get(s) == Some(&Scope::Shared);
        let lost = free.iter().any(|s| forgotten.contains(s));
        free.iter().any(own) && (lost || free.iter().any(shared)) && free.iter().all(|s| own(s) || shared(s))
    };
    let assigned = p.threads[thread].code.actions.iter().flat_map(|a| &a.updates).filter_map(|u| {
        let x = p.vars[u.var].symbol;
        let free = t.free_symbols(u.value);
        let lost = forgotten.contains(&x) || free.iter().any(|s| forgotten.contains(s));
        match t.app(u.value) {
            // An entry is stored.
            Some((Op::Store, args)) if args[0] == t.sym(x) && lost => Some(t.eq(t.select(args[0], args[1]), args[2])),
            _ => (lost && !free.contains(&x)).then(|| t.eq(t.sym(x), u.value)),
        }
    });
    let assigned: BTreeSet<Term> = assigned.filter(|f| relates(*f)).collect();
    let mut todo: Vec<Term> = p.threads[thread].code.actions.iter().flat_map(conditions_of).collect();
    let (mut out, mut seen) = (assigned.iter().copied().collect::<Vec<_>>(), assigned);
    while let Some(f) = todo.pop() {
        match t.node(f) {
            Node::App(Op::Eq | Op::Lt | Op::Le, _) if relates(f) && seen.insert(f) => out.push(f),
            Node::App(Op::And | Op::Or | Op::Not | Op::Implies, args) if seen.insert(f) => todo.extend(args.iter()),
            _ => {}
        }
    }
    out.sort();
    out
}

/// Locals whose values the cells forget and that choose an entry of a map or an element of a set.
fn keys(system: &CountedSystem<'_>) -> BTreeSet<VarId> {
    let (t, p) = (system.terms, system.program);
    let mut out = BTreeSet::new();
    for x in &system.forgotten {
        let (key, Scope::Thread(thread)) = (t.sym(p.vars[*x].symbol), p.vars[*x].scope) else { continue };
        let mut todo: Vec<Term> = p.threads[thread].code.actions.iter().flat_map(terms_of).collect();
        let mut seen = BTreeSet::new();
        while let Some(f) = todo.pop().filter(|_| !out.contains(x)) {
            if !seen.insert(f) {
                continue;
            }
            match t.node(f) {
                Node::App(op, args) => {
                    let chosen = match op {
                        Op::Select | Op::Store => args.get(1),
                        Op::Member | Op::Insert => args.first(),
                        _ => None,
                    };
                    if chosen == Some(&key) {
                        out.insert(*x);
                    }
                    todo.extend(args.iter());
                }
                Node::Quant(_, _, body) => todo.push(body),
                _ => {}
            }
        }
    }
    out
}

/// Numeric locals of counted threads and the shared variables that some condition compares them with, directly.
fn compared(system: &CountedSystem<'_>) -> BTreeSet<(VarId, VarId)> {
    let (t, p) = (system.terms, system.program);
    let number = |v: VarId| matches!(t.kind(p.vars[v].sort), SortKind::Int | SortKind::Machine(_));
    let by_symbol: BTreeMap<Symbol, VarId> =
        p.vars.ids().filter(|v| number(*v)).map(|v| (p.vars[v].symbol, v)).collect();
    let mut out = BTreeSet::new();
    let threads: BTreeSet<ThreadId> = system.cells.iter().map(|c| c.thread).collect();
    for thread in threads {
        t.each_subterm(p.threads[thread].code.actions.iter().flat_map(terms_of), |f| {
            let Some((Op::Eq | Op::Lt | Op::Le, args)) = t.app(f) else { return };
            let sides: BTreeSet<VarId> =
                args.iter().flat_map(|a| t.free_symbols(*a)).filter_map(|s| by_symbol.get(&s).copied()).collect();
            for x in sides.iter().filter(|x| p.vars[**x].scope == Scope::Thread(thread)) {
                let shared = sides.iter().filter(|v| p.vars[**v].scope == Scope::Shared);
                out.extend(shared.filter(|v| p.vars[**v].sort == p.vars[*x].sort).map(|v| (*x, *v)));
            }
        });
    }
    // A local that is computed from a shared variable is bounded by what that one is compared with: `end := next + 10`.
    let related = super::lemmas::related(system);
    for x in system.forgotten.iter().filter(|x| number(**x)) {
        let Scope::Thread(thread) = p.vars[*x].scope else { continue };
        for u in p.threads[thread].code.actions.iter().flat_map(|a| &a.updates).filter(|u| u.var == *x) {
            let read: Vec<VarId> =
                t.free_symbols(u.value).into_iter().filter_map(|s| by_symbol.get(&s).copied()).collect();
            let bounds = related.iter().filter(|(v, _)| read.contains(v)).map(|(_, w)| (*x, *w));
            out.extend(bounds.filter(|(_, w)| p.vars[*w].sort == p.vars[*x].sort));
        }
    }
    // A local that is compared with one shared variable often is a copy of another: `mine := next`.
    let locals: BTreeSet<VarId> = out.iter().map(|(x, _)| *x).collect();
    for x in &locals {
        let Scope::Thread(thread) = p.vars[*x].scope else { continue };
        for u in p.threads[thread].code.actions.iter().flat_map(|a| &a.updates).filter(|u| u.var == *x) {
            let read = t.free_symbols(u.value).into_iter().filter_map(|s| by_symbol.get(&s).copied());
            out.extend(
                read.filter(|v| p.vars[*v].scope == Scope::Shared && p.vars[*v].sort == p.vars[*x].sort)
                    .map(|v| (*x, v)),
            );
        }
    }
    out
}

/// Whether some thread writes its id into the variable.
fn names_a_thread(system: &CountedSystem<'_>, v: VarId) -> bool {
    let (t, p) = (system.terms, system.program);
    let writes = |u: &program::Update| u.var == v && t.free_symbols(u.value).contains(&p.tid);
    p.threads.iter().any(|x| x.code.actions.iter().any(|a| a.updates.iter().any(writes)))
}
