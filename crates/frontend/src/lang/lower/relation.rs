//! Two-store formulas with frames, and steps made of them.
//!
//! In: a written action (`modifies` with a formula over two stores). Out: a `TwoStore`, or inputs, guard and updates of
//! a step that may do just that.

use super::Lowering;
use crate::lang::ast;
use crate::lang::codes;
use crate::lang::resolve::Allowed;
use crate::lang::types::{AssignTarget, PathIndex};
use base::Diagnostic;
use logic::{Op, SortKind, Symbol, Term};
use program::{Gate, StorePlace, TwoStore, Update, VarId};

impl Lowering<'_> {
    /// `<frame> formula`. In code, what it reads and writes is noted.
    pub(super) fn two_store(&mut self, action: &ast::ActionDecl) -> Option<TwoStore> {
        let targets: Vec<Option<AssignTarget>> = action.frame.iter().map(|p| self.place(p)).collect();
        let made = self.made_variable(action)?;
        let primes = std::mem::replace(&mut self.view.primes, Allowed::Yes);
        self.view.framed = targets.iter().flatten().map(|t| t.var).chain(made).collect();
        let relation = self.formula(&action.formula);
        self.view.primes = primes;
        self.view.framed.clear();
        let mut frame = Vec::new();
        for target in targets {
            let target = target?;
            self.note_write(&target);
            let keys = target.keys();
            if keys.len() != target.path.len() {
                let message = "an element of a sequence cannot stand in a frame";
                let diagnostic = Diagnostic::error(codes::NOT_ASSIGNABLE, target.span, message);
                self.report(diagnostic.label("expected a variable, a field or an entry of a map"));
                return None;
            }
            frame.push(StorePlace { var: target.var, keys });
        }
        Some(TwoStore { frame, relation: relation? })
    }

    /// The variable that `<new n>` speaks of: one of the machine at hand, for references. The outer `None`: there is no such variable.
    pub(super) fn made_variable(&mut self, action: &ast::ActionDecl) -> Option<Option<VarId>> {
        let Some(name) = &action.makes else { return Some(None) };
        let found = self.view.locals.iter().rev().find(|(n, _)| **n == *name.kind).map(|(_, v)| *v);
        let fits = |v: &VarId| {
            let var = &self.program.vars[*v];
            let refers = matches!(self.program.terms.kind(var.sort), SortKind::Ref(_));
            matches!(var.scope, program::Scope::Machine(_)) && refers
        };
        let found = found.filter(fits);
        if found.is_none() {
            let message = "an edge of a machine makes an object for a variable of the machine that refers to objects";
            let diagnostic = Diagnostic::error(codes::BAD_MACHINE, name.span, message);
            self.report(diagnostic.label("no such variable").hint("declare `var n: C = null;` in the machine"));
            return None;
        }
        Some(found)
    }

    /// An action of a specification: its frame holds shared variables only.
    pub(super) fn shared_two_store(&mut self, action: &ast::ActionDecl) -> Option<TwoStore> {
        let step = self.two_store(action)?;
        for (place, written) in step.frame.iter().zip(&action.frame) {
            if self.program.vars[place.var].scope != program::Scope::Shared {
                let message = "the frame of a specified action holds shared variables";
                let diagnostic = Diagnostic::error(codes::BAD_SPEC, written.span, message);
                self.report(diagnostic.label("not shared").hint("a result is named plainly, and needs no frame"));
                return None;
            }
        }
        Some(step)
    }

    /// A relation as inputs, guard and updates. A conjunct that says what a place of the frame becomes gives the update.
    pub(super) fn executable(&self, step: &TwoStore, gates: &mut [Gate]) -> (Vec<Symbol>, Term, Vec<Update>) {
        let terms = &self.program.terms;
        let mut conjuncts = terms.conjuncts(step.relation);
        let mut inputs = Vec::new();
        let mut updates: Vec<Update> = Vec::new();
        let mut vars: Vec<VarId> = Vec::new();
        for place in &step.frame {
            if !vars.contains(&place.var) {
                vars.push(place.var);
            }
        }
        let primed: rustc_hash::FxHashSet<Symbol> = self.program.vars.iter().map(|v| v.primed).collect();
        for var in vars {
            let places: Vec<&StorePlace> = step.frame.iter().filter(|p| p.var == var).collect();
            let whole = places.iter().any(|p| p.keys.is_empty());
            let entries: Vec<Vec<PathIndex>> = if whole {
                vec![Vec::new()]
            } else {
                places.iter().map(|p| p.keys.iter().map(|k| PathIndex::Key(*k)).collect()).collect()
            };
            let mut value = self.program.now(var);
            for entry in &entries {
                let after = self.read_in(self.program.next(var), entry);
                // With two entries of one map, the second may be the first again: then nothing is read off.
                let stated =
                    if entries.len() == 1 { stated_value(terms, &mut conjuncts, after, &primed) } else { None };
                let new = stated.unwrap_or_else(|| {
                    let name = format!("{}'", self.program.vars[var].name);
                    let input = terms.symbol(name, terms.sort_of(after));
                    inputs.push(input);
                    terms.sym(input)
                });
                value = self.written(value, entry, new);
            }
            updates.push(Update { var, value });
        }
        let symbols = terms.free_symbols(step.relation);
        let mut in_gates: Vec<Symbol> = gates.iter().flat_map(|g| terms.free_symbols(g.formula)).collect();
        in_gates.extend(symbols);
        let mut pairs = Vec::new();
        for (var, entry) in self.program.vars.iter_enumerated() {
            if in_gates.contains(&entry.primed) {
                let update = updates.iter().find(|u| u.var == var);
                pairs.push((entry.primed, update.map_or_else(|| terms.sym(entry.symbol), |u| u.value)));
            }
        }
        for gate in gates {
            gate.formula = terms.substitute(gate.formula, pairs.iter().copied());
        }
        let guard: Vec<Term> = conjuncts.iter().map(|c| terms.substitute(*c, pairs.iter().copied())).collect();
        updates.retain(|u| u.value != self.program.now(u.var));
        (inputs, terms.and(&guard), updates)
    }
}

/// Takes the conjunct that says what a primed value is, in terms of the store before.
pub(super) fn stated_value(
    terms: &logic::Terms,
    conjuncts: &mut Vec<Term>,
    after: Term,
    primed: &rustc_hash::FxHashSet<Symbol>,
) -> Option<Term> {
    let closed = |t: Term| !terms.free_symbols(t).iter().any(|s| primed.contains(s));
    let stated = |conjunct: Term| -> Option<Term> {
        if conjunct == after {
            return Some(terms.tt());
        }
        match terms.app(conjunct)? {
            (Op::Not, args) if args[0] == after => Some(terms.ff()),
            (Op::Eq, args) if args[0] == after && closed(args[1]) => Some(args[1]),
            (Op::Eq, args) if args[1] == after && closed(args[0]) => Some(args[0]),
            _ => None,
        }
    };
    let at = conjuncts.iter().position(|c| stated(*c).is_some())?;
    let value = stated(conjuncts[at]);
    conjuncts.remove(at);
    value
}
