//! Predicates from the program's own text, for violations that linear inequalities cannot explain.
//!
//! In: trees whose refinement is stuck. Out: whether there are new predicates. What wanted gates, invariants and guards
//! say is added at every place where it can be said; the solver decides what of it is kept, so products, remainders and maps
//! are as good as sums. Done once.

use super::trees::{Forest, Mode};
use logic::{Symbol, Term};
use std::collections::BTreeSet;

/// How many formulas are taken.
const MOST: usize = 40;

impl Forest<'_> {
    pub fn seed(&mut self) -> bool {
        if std::mem::replace(&mut self.seeded, true) {
            return false;
        }
        let (t, program) = (self.system.terms, self.system.program);
        let mut wanted: Vec<Term> = self.invariants().iter().map(|(_, f)| *f).collect();
        let acts = || self.system.parties.iter().flat_map(|p| &p.acts);
        wanted.extend(acts().flat_map(|a| a.gates.iter()).filter(|(p, _)| self.is_wanted(*p)).map(|(_, f)| *f));
        wanted.extend(acts().map(|a| a.guard));
        let mut said = BTreeSet::new();
        let mut parts: Vec<Term> = wanted.iter().flat_map(|f| t.conjuncts(*f)).collect();
        parts.retain(|f| !t.is_true(*f) && !t.is_false(*f) && said.insert(*f));
        parts.truncate(MOST);
        let mut common: Vec<Symbol> = self.system.shared.clone();
        common.push(program.tid);
        let within =
            |f: Term, more: &[Symbol]| t.free_symbols(f).iter().all(|s| common.contains(s) || more.contains(s));
        let mut new = false;
        for (i, party) in self.system.parties.iter().enumerate() {
            let own: Vec<Symbol> = match self.mode {
                Mode::Modular => party.locals.clone(),
                Mode::Global => self.system.parties.iter().flat_map(|p| p.locals.iter().copied()).collect(),
            };
            for f in parts.iter().copied().filter(|f| within(*f, &own)) {
                for list in self.at[i].iter_mut().filter(|l| !l.contains(&f)) {
                    list.push(f);
                    new = true;
                }
            }
            if self.mode == Mode::Global {
                continue;
            }
            for (a, act) in party.acts.iter().enumerate().filter(|(_, a)| !a.writes.is_empty()) {
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
