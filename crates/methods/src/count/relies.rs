//! What an instance may rely on, what two may rely on of each other's locals, and which cells exclude each other.
//!
//! In: the counted system. Out: its `holds`, `pairwise` and `exclusive`. Candidates come from the program's text: "this lock is
//! mine" (`m == tid`), comparisons of a local with a shared variable that the code compares it with (`mine < next`,
//! `mine == serving`), membership of a local, or of the thread itself, in a shared set, and that such a local differs between two instances. The largest part is kept that every step
//! establishes for the mover and no other step breaks, given facts about the counters that are known. Two cells exclude each other where what their instances
//! rely on is contradictory (two holders of one lock, two owners of the ticket that is served).

use super::system::CountedSystem;
use super::wide::Wide;
use crate::infer::houdini::{refuted_goals, remove_refuted};
use crate::infer::vocabulary::{conditions_of, terms_of};
use logic::{Node, Op, Sort, SortKind, Symbol, Term, Terms};
use program::{Scope, ThreadId, VarId};
use solver::Smt;
use std::collections::{BTreeMap, BTreeSet};

/// More pairs of cells than this and nothing is asked about two instances.
const MAX_PAIRS: usize = 1_500;

struct CellCandidates {
    /// For each cell.
    holds: Vec<Vec<Term>>,
    pairwise: BTreeMap<(usize, usize), Vec<Term>>,
}

/// `known` are facts that are inductive with what instances rely on already.
pub(crate) fn find_cell_facts(system: &mut CountedSystem<'_>, known: &[Term], wide: Option<&Wide>, smt: &mut dyn Smt) {
    let mut c = candidates(system);
    if let Some(wide) = wide {
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
    }
    smt.push();
    if !known.is_empty() {
        let facts = system.facts().into_iter().chain(system.control());
        facts.chain(known.iter().copied()).for_each(|f| smt.assert(f));
    }
    keep(system, &mut c, smt);
    find_exclusive(system, smt);
    // Where nothing excludes anything, facts about two instances are worth their obligations only if others rest on them.
    if system.exclusive.is_empty() && !system.pairwise.is_empty() {
        let (holds, apart) = (system.holds.clone(), std::mem::take(&mut system.pairwise));
        c.pairwise.clear();
        keep(system, &mut c, smt);
        if system.holds != holds {
            (system.holds, system.pairwise) = (holds, apart);
        }
    }
    smt.pop();
}

/// The largest part of the candidates that every step keeps.
fn keep(system: &mut CountedSystem<'_>, c: &mut CellCandidates, smt: &mut dyn Smt) {
    let t = system.terms;
    loop {
        system.holds = c.holds.iter().map(|h| t.and(h)).collect();
        let apart = c.pairwise.iter().map(|(k, f)| (*k, t.and(f)));
        system.pairwise = apart.filter(|(_, f)| !t.is_true(*f)).collect();
        if !refute(system, c, smt) {
            return;
        }
    }
}

/// Drops candidates that some step does not keep; whether there were any.
fn refute(system: &CountedSystem<'_>, c: &mut CellCandidates, smt: &mut dyn Smt) -> bool {
    let (t, p) = (system.terms, system.program);
    let tid = t.sym(p.tid);
    let mut changed = false;
    for m in &system.moves {
        let effect = system.effect(system.action(m), tid);
        let seen = system.shared_effect(system.action(m), tid);
        let after = |f: Term| t.substitute(f, effect.iter().copied());
        let group = |cell: usize| t.sym(system.groups[system.group_of[cell]].symbol);
        smt.push();
        smt.assert(t.le(t.int(1), group(m.from)));
        system.before(m).iter().for_each(|f| smt.assert(*f));
        let goals: Vec<Term> = c.holds[m.to].iter().map(|f| after(*f)).collect();
        changed |= remove_refuted(&mut c.holds[m.to], &refuted_goals(t, &goals, smt));
        for r in 0..system.cells.len() {
            let own: Vec<Term> = c.holds[r].iter().map(|f| system.of_peer(*f)).collect();
            let theirs: Vec<Term> = own.iter().map(|f| unless_same(t, *f, &seen)).collect();
            let key = (m.to.min(r), m.to.max(r));
            let both = c.pairwise.get(&key).cloned().unwrap_or_default();
            if both.is_empty() && theirs.iter().all(|f| t.is_true(*f)) {
                continue;
            }
            smt.push();
            system.within_cell(r).iter().for_each(|f| smt.assert(system.of_peer(*f)));
            let least = if system.group_of[r] == system.group_of[m.from] { 2 } else { 1 };
            smt.assert(t.le(t.int(least), group(r)));
            smt.assert(t.ne(tid, system.of_peer(tid)));
            smt.assert(system.pairwise(m.from, r));
            changed |= remove_refuted(&mut c.holds[r], &refuted_goals(t, &theirs, smt));
            let ways: Vec<Term> = both.iter().map(|f| after(facing(system, *f, m.to, r))).collect();
            let gone = refuted_goals(t, &ways, smt);
            if let Some(list) = c.pairwise.get_mut(&key) {
                changed |= remove_refuted(list, &gone);
            }
            smt.pop();
        }
        smt.pop();
    }
    for s in &system.unique_threads {
        for m in &s.moves {
            let a = &p.threads[s.thread].code.actions[m.action];
            let effect = system.shared_effect(a, t.sym(s.tid));
            if effect.is_empty() {
                continue;
            }
            smt.push();
            smt.assert(t.sym(s.there[m.from]));
            smt.assert(s.cells[m.from].formula);
            system.taken(a, t.sym(s.tid)).iter().for_each(|f| smt.assert(*f));
            for r in 0..system.cells.len() {
                let goals: Vec<Term> = c.holds[r].iter().map(|f| unless_same(t, *f, &effect)).collect();
                if goals.iter().all(|f| t.is_true(*f)) {
                    continue;
                }
                smt.push();
                smt.assert(t.le(t.int(1), t.sym(system.groups[system.group_of[r]].symbol)));
                system.within_cell(r).iter().for_each(|f| smt.assert(*f));
                changed |= remove_refuted(&mut c.holds[r], &refuted_goals(t, &goals, smt));
                smt.pop();
            }
            smt.pop();
        }
    }
    changed
}

/// The formula after an effect; true where the effect does not touch it.
fn unless_same(t: &Terms, formula: Term, effect: &[(Symbol, Term)]) -> Term {
    let touched = t.free_symbols(formula).iter().any(|s| effect.iter().any(|(x, _)| x == s));
    if touched { t.substitute(formula, effect.iter().copied()) } else { t.tt() }
}

/// A candidate about two instances, for the first in cell `a` and the second in cell `b`.
fn facing(system: &CountedSystem<'_>, formula: Term, a: usize, b: usize) -> Term {
    if a <= b {
        return formula;
    }
    let t = system.terms;
    t.substitute(formula, system.peer_copy.iter().flat_map(|(x, y)| [(*x, t.sym(*y)), (*y, t.sym(*x))]))
}

fn candidates(system: &CountedSystem<'_>) -> CellCandidates {
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
    CellCandidates { holds, pairwise: apart }
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

fn find_exclusive(system: &mut CountedSystem<'_>, smt: &mut dyn Smt) {
    let t = system.terms;
    let n = system.cells.len();
    let tid = t.sym(system.program.tid);
    let silent = |c: usize| t.is_true(system.holds[c]);
    let mut found = BTreeSet::new();
    if n * n / 2 <= MAX_PAIRS {
        for a in 0..n {
            for b in (a..n).filter(|b| !silent(a) && !silent(*b)) {
                smt.push();
                system.within_cell(a).iter().for_each(|f| smt.assert(*f));
                system.within_cell(b).iter().for_each(|f| smt.assert(system.of_peer(*f)));
                smt.assert(t.ne(tid, system.of_peer(tid)));
                smt.assert(system.pairwise(a, b));
                if smt.check().is_unsat() {
                    found.insert((a, b));
                }
                smt.pop();
            }
        }
    }
    system.exclusive = found;
}
