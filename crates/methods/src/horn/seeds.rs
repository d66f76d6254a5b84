//! Predicates from the program's own text, for violations that linear inequalities cannot explain.
//!
//! In: trees. Out: whether there are new predicates. From the start, the remainders that are asked for: no inequality says them.
//! Where refinement is stuck, once, what wanted gates, invariants and guards say, at every place where it can be said; the
//! solver decides what of it is kept, so products and maps are as good as sums.

use super::couples::Role;
use super::formula::number;
use super::threader::ModularPredicate;
use super::trees::{Forest, TreeMode};
use logic::{Node, Op, Symbol, Term};
use std::collections::BTreeSet;

/// How many formulas are taken.
const MAX_FORMULAS: usize = 40;
/// The largest divisor whose remainders are all predicates.
const MAX_DIVISOR: i128 = 8;

impl Forest<'_> {
    /// The possible remainders of what wanted formulas and guards divide.
    pub(crate) fn seed_remainders(&mut self) {
        let t = self.system.terms;
        let mut found = BTreeSet::new();
        t.each_subterm(self.said(), |x| {
            if let Node::App(Op::Mod, args) = t.node(x)
                && let Some(by) = number(t, args[1]).filter(|n| (2..=MAX_DIVISOR).contains(n))
            {
                let sort = t.sort_of(x);
                found.extend((0..by).map(|r| t.eq(x, t.num(r, sort))));
            }
        });
        self.scatter(found.into_iter().take(MAX_FORMULAS).collect());
    }
    /// Whether there were new predicates in the text.
    pub(super) fn seed(&mut self) -> bool {
        if std::mem::replace(&mut self.seeded, true) {
            return false;
        }
        let t = self.system.terms;
        let mut known = BTreeSet::new();
        let mut parts: Vec<Term> = self.said().iter().flat_map(|f| t.conjuncts(*f)).collect();
        parts.retain(|f| !t.is_true(*f) && !t.is_false(*f) && known.insert(*f));
        parts.truncate(MAX_FORMULAS);
        self.scatter(parts)
    }
    /// Invariants, wanted gates, guards.
    fn said(&self) -> Vec<Term> {
        let mut out: Vec<Term> = self.invariants().iter().map(|(_, f)| *f).collect();
        let transitions = || self.system.processes.iter().flat_map(|p| &p.transitions);
        out.extend(transitions().flat_map(|a| a.gates.iter()).filter(|(p, _)| self.is_wanted(*p)).map(|(_, f)| *f));
        out.extend(transitions().map(|a| a.guard));
        out
    }
    /// The predicates of modular trees.
    pub(super) fn found(&self) -> Vec<ModularPredicate> {
        let of = |(i, lists): (usize, &Vec<Vec<Term>>)| {
            let thread = self.system.processes[i].thread;
            let each = lists.iter().enumerate().flat_map(move |(l, list)| list.iter().map(move |f| (thread, l, *f)));
            each.collect::<Vec<_>>()
        };
        self.at.iter().enumerate().flat_map(of).collect()
    }
    /// Goes on with predicates of modular trees, each for every instance of its thread.
    pub(super) fn begin_with(&mut self, known: &[ModularPredicate]) {
        let (t, program) = (self.system.terms, self.system.program);
        for (i, process) in self.system.processes.iter().enumerate() {
            let own = program.threads[process.thread].locals.iter().zip(&process.locals);
            let mut renaming: Vec<(Symbol, Term)> = own.map(|(v, s)| (program.vars[*v].symbol, t.sym(*s))).collect();
            renaming.push((program.tid, t.int(i128::from(self.system.numbers[i]) + 1)));
            for (_, l, f) in known.iter().filter(|(thread, ..)| *thread == process.thread) {
                let f = t.simplify(t.substitute(*f, renaming.iter().copied()));
                let known =
                    t.free_symbols(f).iter().all(|s| self.system.shared.contains(s) || process.locals.contains(s));
                if known && !t.is_true(f) && !t.is_false(f) && !self.at[i][*l].contains(&f) {
                    self.at[i][*l].push(f);
                }
            }
        }
    }
    /// The same for trees of pairs: what modular trees say of a thread is said of either instance.
    pub(super) fn learn_of_instances(&mut self, known: &[ModularPredicate]) {
        let t = self.system.terms;
        for (process, at) in self.places() {
            let places = self.couples().places(process, at);
            for (role, place) in [Role::First, Role::Second].into_iter().zip(places) {
                let renaming = self.couples().renaming(t, (role, Role::Third));
                for (_, _, f) in known.iter().filter(|(thread, l, _)| (*thread, *l) == place) {
                    let f = t.substitute(*f, renaming.iter().copied());
                    if !self.at[process][at].contains(&f) {
                        self.at[process][at].push(f);
                    }
                }
            }
        }
    }
    fn places(&self) -> Vec<(usize, usize)> {
        let processes = self.system.processes.iter().enumerate();
        processes.flat_map(|(i, p)| (0..p.out.len()).map(move |at| (i, at))).collect()
    }
    /// Makes formulas predicates of every place where they can be said.
    fn scatter(&mut self, parts: Vec<Term>) -> bool {
        let (t, program) = (self.system.terms, self.system.program);
        let mut common: Vec<Symbol> = self.system.shared.clone();
        common.push(program.tid);
        let within =
            |f: Term, more: &[Symbol]| t.free_symbols(f).iter().all(|s| common.contains(s) || more.contains(s));
        let mut new = false;
        for (i, process) in self.system.processes.iter().enumerate() {
            let own: Vec<Symbol> = match self.mode {
                TreeMode::Modular | TreeMode::Pairs => process.locals.clone(),
                TreeMode::Global => self.system.processes.iter().flat_map(|p| p.locals.iter().copied()).collect(),
            };
            for f in parts.iter().copied().filter(|f| within(*f, &own)) {
                for list in self.at[i].iter_mut().filter(|l| !l.contains(&f)) {
                    list.push(f);
                    new = true;
                }
            }
            if self.mode != TreeMode::Modular {
                continue;
            }
            for (a, act) in process.transitions.iter().enumerate().filter(|(_, a)| !a.writes.is_empty()) {
                for f in parts.iter().copied().filter(|f| within(*f, &[])) {
                    let after = t.substitute(f, act.writes.iter().map(|(now, next)| (*now, t.sym(*next))));
                    for f in [f, after] {
                        if !self.on[i][a].contains(&f) {
                            self.on[i][a].push(f);
                            new = true;
                        }
                    }
                }
            }
        }
        new
    }
}
