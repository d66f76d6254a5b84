//! Which private variables a proof hides (`program::hidden`).
//!
//! In: a program, and the procedures that are used by specification. Out: what the certificate lists. Deliberately absent: whether monitors are given back (`monitors`).

use evidence::Guard;
use logic::{Sort, Symbol, Term, Terms};
use program::call_summaries::CodeUnit;
use program::hidden::Hidden;
use program::{ProcId, Program, VarId, VarKind};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// What a certificate hides.
#[derive(Clone, Default)]
pub(crate) struct Hiding {
    /// Increasing.
    pub(crate) hidden: Vec<VarId>,
    pub(crate) owners: BTreeSet<ProcId>,
    pub(crate) monitors: Vec<VarId>,
    /// What each owner names.
    pub(crate) named: BTreeMap<ProcId, BTreeSet<VarId>>,
}

impl Hiding {
    /// All that may be hidden where these procedures are used by specification, and variables get these guards.
    pub(crate) fn of(p: &Program, guards: &[Guard], by_performs: &[ProcId], monitors: bool) -> Self {
        let may = Hidden::of(p);
        let lost = may.named.iter().filter(|(q, _)| !by_performs.contains(q)).flat_map(|(_, vars)| vars);
        let lost: BTreeSet<VarId> = lost.copied().collect();
        let mut hidden: BTreeSet<VarId> = may.vars.difference(&lost).copied().collect();
        // What says who may access a variable that is seen is seen.
        loop {
            let symbol = |s: &Symbol| hidden.iter().copied().find(|v| p.vars[*v].symbol == *s);
            let of_access = |v: VarId| {
                let access = p.vars[v].access.iter().flat_map(|a| a.formula.into_iter().chain(a.writing));
                access.flat_map(|f| p.terms.free_symbols(f)).find_map(|s| symbol(&s))
            };
            let seen = p.shared().filter(|v| !hidden.contains(v)).find_map(of_access);
            let guard = guards.iter().find(|g| hidden.contains(&g.lock) && !hidden.contains(&g.var));
            match seen.or(guard.map(|g| g.lock)) {
                Some(v) => hidden.remove(&v),
                None => break,
            };
        }
        let owners = may.named.iter().filter(|(_, vars)| vars.iter().any(|v| hidden.contains(v)));
        let owners = owners.map(|(q, _)| *q).collect();
        let lock = |v: &VarId| {
            let var = &p.vars[*v];
            monitors && var.kind == VarKind::Lock && var.sort == Sort::INT && var.initial == Some(p.terms.int(0))
        };
        let monitors = hidden.iter().copied().filter(lock).collect();
        Self { monitors, owners, hidden: hidden.into_iter().collect(), named: may.named }
    }

    /// The monitors that an owner names.
    pub(crate) fn monitors_of(&self, unit: CodeUnit) -> Vec<VarId> {
        let CodeUnit::Procedure(q) = unit else { return Vec::new() };
        let Some(named) = self.named.get(&q).filter(|_| self.owners.contains(&q)) else { return Vec::new() };
        self.monitors.iter().copied().filter(|l| named.contains(l)).collect()
    }

    pub(crate) fn is_owner(&self, unit: CodeUnit) -> bool {
        matches!(unit, CodeUnit::Procedure(q) if self.owners.contains(&q))
    }

    /// The symbols that no formula about the unit may mention.
    pub(crate) fn unseen(&self, p: &Program, unit: CodeUnit) -> FxHashSet<Symbol> {
        let vars = if self.is_owner(unit) { &[][..] } else { &self.hidden };
        vars.iter().flat_map(|v| [p.vars[*v].symbol, p.vars[*v].primed]).collect()
    }
}

/// Whether a formula mentions one of the symbols.
pub(crate) fn mentions(t: &Terms, f: Term, symbols: &FxHashSet<Symbol>) -> bool {
    !symbols.is_empty() && t.free_symbols(f).iter().any(|s| symbols.contains(s))
}
