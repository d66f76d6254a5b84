//! Entries of shared maps of booleans that an instance may rely on: requests in a queue, marked by thread or by key.
//!
//! In: the counted system. Out: candidates. `m[tid]` and `m[key]`, for a local that chooses an entry, or their negations, are candidates for what an instance relies on, as membership in
//! a set is. At the entry of a thread that is there from the start they are so where the initial facts say it. Of two instances: that what one chooses is not the id of the other.
//! Nothing here is trusted: what some step does not keep is dropped. Deliberately absent: maps of maps.

use super::system::CountedSystem;
use logic::{Op, Sort, SortKind, Symbol, Term};
use program::transition::initial_store_facts;
use program::{Scope, Start, ThreadId, VarId};
use solver::Smt;
use std::collections::{BTreeMap, BTreeSet};

/// More maps than this are not looked at.
const MAX_MAPS: usize = 4;

pub(super) struct MarkedEntries {
    /// Shared maps of booleans, with the sort of their keys.
    maps: Vec<(Sort, Term)>,
    /// Locals that choose an entry or an element.
    keys: BTreeSet<VarId>,
    /// Threads that choose an entry of one of the maps by their own id.
    by_id: BTreeSet<ThreadId>,
}

impl MarkedEntries {
    /// `keys` are locals that choose an entry or an element.
    pub(super) fn of(system: &CountedSystem<'_>, keys: BTreeSet<VarId>) -> Self {
        let (t, p) = (system.terms, system.program);
        let mut maps: Vec<(Sort, Term)> = p
            .shared()
            .filter_map(|v| match t.kind(p.vars[v].sort) {
                SortKind::Map(key, of) if of == Sort::BOOL => Some((key, t.sym(p.vars[v].symbol))),
                _ => None,
            })
            .collect();
        maps.truncate(MAX_MAPS);
        let tid = t.sym(p.tid);
        let mut by_id = BTreeSet::new();
        for (id, thread) in p.threads.iter_enumerated() {
            let values = thread.code.actions.iter().flat_map(|a| a.updates.iter().map(|u| u.value).chain([a.guard]));
            t.each_subterm(values.collect::<Vec<_>>(), |f| {
                if let Some((Op::Store | Op::Select, args)) = t.app(f)
                    && args[1] == tid
                    && maps.iter().any(|(_, m)| *m == args[0])
                {
                    by_id.insert(id);
                }
            });
        }
        Self { maps, keys, by_id }
    }

    /// The locals, and the id, by which a thread chooses entries.
    fn chosen_by(&self, system: &CountedSystem<'_>, thread: ThreadId) -> Vec<Symbol> {
        let p = system.program;
        let own = self.keys.iter().filter(|v| p.vars[**v].scope == Scope::Thread(thread)).map(|v| p.vars[*v].symbol);
        own.chain(self.by_id.contains(&thread).then_some(p.tid)).collect()
    }

    pub(super) fn holds(&self, system: &CountedSystem<'_>, cell: usize, smt: &mut dyn Smt) -> Vec<Term> {
        let (t, p) = (system.terms, system.program);
        let thread = system.cells[cell].thread;
        let entries = self.chosen_by(system, thread).into_iter().flat_map(|s| {
            let of = self.maps.iter().filter(move |(key, _)| *key == t.symbol_sort(s));
            of.map(move |(_, m)| t.select(*m, t.sym(s)))
        });
        let all: Vec<Term> = entries.flat_map(|f| [f, t.not(f)]).collect();
        if system.cells[cell].location != p.threads[thread].code.entry {
            return all;
        }
        if p.threads[thread].start != Start::Initial || all.is_empty() {
            return Vec::new();
        }
        smt.push();
        initial_store_facts(p, t).into_iter().for_each(|f| smt.assert(f));
        let mut out = Vec::new();
        for f in all {
            smt.push();
            smt.assert(t.not(f));
            out.extend(smt.check().is_unsat().then_some(f));
            smt.pop();
        }
        smt.pop();
        out
    }

    /// For pairs of cells, that what the one chooses is not the other's id; at entries nothing is chosen yet.
    pub(super) fn apart(&self, system: &CountedSystem<'_>, most: usize) -> BTreeMap<(usize, usize), Vec<Term>> {
        let (t, p) = (system.terms, system.program);
        let second: BTreeMap<Symbol, Symbol> = system.peer_copy.iter().copied().collect();
        let n = system.cells.len();
        let mut out: BTreeMap<(usize, usize), Vec<Term>> = BTreeMap::new();
        if self.maps.is_empty() || n * n / 2 > most {
            return out;
        }
        let at = |c: usize| {
            let cell = &system.cells[c];
            let entry = cell.location == p.threads[cell.thread].code.entry;
            let mut chosen = self.chosen_by(system, cell.thread);
            chosen.retain(|s| !entry || *s == p.tid);
            chosen
        };
        for a in 0..n {
            for b in a..n {
                for x in at(a) {
                    let others = at(b).into_iter().filter(|y| (x == p.tid) != (*y == p.tid));
                    let like = others.filter(|y| t.symbol_sort(x) == t.symbol_sort(*y));
                    let list = like.filter_map(|y| Some(t.ne(t.sym(x), t.sym(*second.get(&y)?))));
                    out.entry((a, b)).or_default().extend(list);
                }
            }
        }
        out.retain(|_, list| !list.is_empty());
        out
    }
}
