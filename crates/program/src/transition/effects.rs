//! What an action does to the store, as substitutions for formulas about the store after it.
//!
//! In: an action. Out: pairs for `Terms::substitute`. A spawned instance and the variable that keeps its id are not part of it:
//! who handles spawns adds them.

use crate::code::Action;
use crate::model::{Program, Scope, VarId};
use logic::{Symbol, Term, Terms};

/// The symbols of variables that the action writes, with the values after it.
pub fn after_action(program: &Program, action: &Action) -> Vec<(Symbol, Term)> {
    action.updates.iter().map(|u| (program.vars[u.var].symbol, u.value)).collect()
}

/// The primed symbol of every shared variable, with the value after the action.
pub fn primed_after_action(program: &Program, terms: &Terms, action: &Action) -> Vec<(Symbol, Term)> {
    let value = |v: VarId| match action.updates.iter().find(|u| u.var == v) {
        Some(u) => u.value,
        None => terms.sym(program.vars[v].symbol),
    };
    program.shared().map(|v| (program.vars[v].primed, value(v))).collect()
}

/// Whether the action writes a shared variable.
pub fn writes_shared(program: &Program, action: &Action) -> bool {
    action.updates.iter().any(|u| program.vars[u.var].scope == Scope::Shared)
}
