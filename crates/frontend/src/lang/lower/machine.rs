//! Variables of machines, what machines assume of others, and what their edges do to either.
//!
//! In: the parts of a machine, as written. Out: variables of scope `Machine`; a formula and values that say what is assumed; edges as a step of the shared store and
//! a value for each variable that changes. An edge says what each variable of the machine in its frame becomes (`h' == e`), so that nothing is chosen but the
//! edge. What a machine assumes (`rely`) is said with variables that hold the store after its own last step: Abstract Threads, appendix A.
//! Deliberately absent: the closure of what is assumed; it speaks of all steps of others together.

use super::Lowering;
use super::relation::stated_value;
use crate::lang::ast::{ActionDecl, MachineDecl, MachinePartKind};
use crate::lang::codes;
use crate::lang::resolve::{Allowed, NameView};
use base::Diagnostic;
use logic::{Symbol, Term};
use program::{MachineId, Scope, TwoStore, Update, VarId, VarKind};

/// An edge, without its ends.
pub(super) struct MachineAction {
    pub action: TwoStore,
    pub sets: Vec<Update>,
    pub makes: Option<VarId>,
}

/// What a machine assumes of all that others did since its own last step.
pub(super) struct AssumedOfOthers {
    pub holds: Term,
    /// What each own step remembers for that.
    pub sets: Vec<Update>,
}

impl Lowering<'_> {
    /// The machine's variables, which its formulas may name from now on.
    pub(super) fn machine_vars(&mut self, machine: &MachineDecl) -> Vec<VarId> {
        let id = MachineId(self.program.machines.len() as u32);
        let mut own = Vec::new();
        let mut locals: Vec<(String, VarId)> = Vec::new();
        for part in &machine.parts {
            let MachinePartKind::Var(var) = &part.kind else { continue };
            let Some(sort) = self.sort(&var.ty) else { continue };
            let origin = self.origin(part.span);
            let name = self.unique_name(&format!("{}.{}", machine.name.kind, var.name.kind));
            self.view = NameView::default();
            let initial = match &var.value {
                Some(value) => self.expr(value, sort).and_then(|t| self.evaluated(t, sort, value.span)),
                None => self.natural_start(&var.ty, sort),
            };
            if initial.is_none() && var.value.is_none() {
                let message = format!("the machine's variable `{}` needs an initial value", var.name.kind);
                let diagnostic = Diagnostic::error(codes::BAD_MACHINE, var.name.span, message);
                self.report(diagnostic.label("expected `= e`"));
            }
            if !var.access.is_empty() {
                let message = "a machine's variable is its own: nobody else accesses it";
                self.report(Diagnostic::error(codes::BAD_MACHINE, var.name.span, message));
            }
            if let Some((_, first)) = locals.iter().find(|(n, _)| **n == *var.name.kind) {
                let first = self.program.vars[*first].origin;
                let span = self.program.origins[first].span;
                self.declared_twice(&var.name, span.unwrap_or(var.name.span));
            }
            let initial = Some(initial.unwrap_or_else(|| self.program.terms.default_of(sort)));
            let variable = self.program.add_var(&name, sort, Scope::Machine(id), VarKind::Plain, initial, origin);
            own.push(variable);
            locals.push((var.name.kind.to_string(), variable));
        }
        self.view = NameView { tid: Allowed::Yes, locals, ..NameView::default() };
        own
    }

    /// What the machine assumes, with further variables of it that remember the store after its own last step.
    pub(super) fn machine_rely(&mut self, machine: &MachineDecl, own: &mut Vec<VarId>) -> Option<AssumedOfOthers> {
        let mut parts: Vec<Term> = Vec::new();
        let mut at = None;
        for part in &machine.parts {
            let MachinePartKind::Rely(e) = &part.kind else { continue };
            let primes = std::mem::replace(&mut self.view.primes, Allowed::Yes);
            parts.extend(self.formula(e));
            self.view.primes = primes;
            at = at.or(Some(part.span));
        }
        let origin = self.origin(at?);
        let id = MachineId(self.program.machines.len() as u32);
        let relation = self.program.terms.and(&parts);
        let free = self.program.terms.free_symbols(relation);
        let mut pairs: Vec<(Symbol, Term)> = Vec::new();
        let mut sets = Vec::new();
        for v in self.program.shared().collect::<Vec<_>>() {
            let (symbol, primed, sort) =
                (self.program.vars[v].symbol, self.program.vars[v].primed, self.program.vars[v].sort);
            pairs.push((primed, self.program.now(v)));
            if free.contains(&symbol) {
                let name = format!("{}.was_{}", machine.name.kind, self.program.vars[v].name);
                let name = self.unique_name(&name);
                let initial = Some(self.program.terms.default_of(sort));
                let was = self.program.add_var(&name, sort, Scope::Machine(id), VarKind::Plain, initial, origin);
                own.push(was);
                pairs.push((symbol, self.program.now(was)));
                sets.push(Update { var: was, value: self.program.next(v) });
            }
        }
        // Before its first step it has assumed nothing.
        let name = self.unique_name(&format!("{}.begun", machine.name.kind));
        let no = Some(self.program.terms.ff());
        let begun = self.program.add_var(&name, logic::Sort::BOOL, Scope::Machine(id), VarKind::Plain, no, origin);
        own.push(begun);
        let terms = &self.program.terms;
        sets.push(Update { var: begun, value: terms.tt() });
        let holds = terms.implies(self.program.now(begun), terms.substitute(relation, pairs));
        Some(AssumedOfOthers { holds, sets })
    }

    /// `<frame> relation` of an edge: what the store does, and what the machine's variables become.
    pub(super) fn machine_action(&mut self, action: &ActionDecl) -> Option<MachineAction> {
        let makes = self.made_variable(action)?;
        let step = self.two_store(action)?;
        let (mut frame, mut sets) = (Vec::new(), Vec::new());
        let mut conjuncts = self.program.terms.conjuncts(step.relation);
        let chosen = self.own_primed(makes);
        for (place, written) in step.frame.into_iter().zip(&action.frame) {
            match self.program.vars[place.var].scope {
                Scope::Machine(_) if place.keys.is_empty() && makes != Some(place.var) => {
                    let after = self.program.next(place.var);
                    let Some(value) = stated_value(&self.program.terms, &mut conjuncts, after, &chosen) else {
                        self.not_said(&self.program.vars[place.var].name.clone(), written.span);
                        return None;
                    };
                    sets.push(Update { var: place.var, value });
                }
                Scope::Machine(_) => {
                    self.not_said(&self.program.vars[place.var].name.clone(), written.span);
                    return None;
                }
                _ => frame.push(place),
            }
        }
        let relation = self.program.terms.and(&conjuncts);
        let free = self.program.terms.free_symbols(relation);
        if let Some(v) = sets.iter().map(|u| u.var).find(|v| free.contains(&self.program.vars[*v].primed)) {
            self.not_said(&self.program.vars[v].name.clone(), action.formula.span);
            return None;
        }
        Some(MachineAction { action: TwoStore { frame, relation }, sets, makes })
    }

    /// The machine's variables after a step, without an object that the step makes.
    fn own_primed(&self, makes: Option<VarId>) -> rustc_hash::FxHashSet<Symbol> {
        let vars = self.program.vars.iter_enumerated();
        let own = vars.filter(|(v, var)| matches!(var.scope, Scope::Machine(_)) && Some(*v) != makes);
        own.map(|(_, var)| var.primed).collect()
    }

    fn not_said(&mut self, name: &str, span: base::Span) {
        let short = name.rsplit('.').next().unwrap_or(name).to_owned();
        let message = format!("the edge does not say what the machine's variable `{short}` becomes");
        let diagnostic = Diagnostic::error(codes::BAD_MACHINE, span, message);
        self.report(diagnostic.hint(format!("write `{short}' == e`, with no other `{short}'` beside it")));
    }
}
