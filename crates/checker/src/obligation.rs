//! Obligations: closed formulas, each with the premise of the rule that asks for it and a line for people; and the few ways of
//! building them that all rules share (an action's effect, the symbols that a formula of a certificate may use).
//!
//! In: a program, the terms of a certificate, an action, a formula. Out: the obligations of a premise, and formulas
//! after a step. Deliberately absent: simplification; what is asked is what was built.

use crate::rejection::{Rejection, SideCondition};
use logic::{Node, Sort, Symbol, Term, Terms};
use program::{Action, Code, LocId, Program, PropertyId, ThreadId, VarId};
use rustc_hash::FxHashSet;
use std::sync::Arc;

pub use crate::premise::Premise;

#[derive(Clone, Debug)]
pub struct Obligation {
    pub premise: Premise,
    /// What it says, for people: "`count := j` keeps the invariant".
    pub what: String,
    pub formula: Term,
    pub(crate) serves: Serves,
}

/// Which properties of the certificate need an obligation.
#[derive(Clone, Debug)]
pub(crate) enum Serves {
    All,
    These(Arc<[PropertyId]>),
}

impl Obligation {
    pub(crate) fn common(premise: Premise, what: impl Into<String>, formula: Term) -> Self {
        Self { premise, what: what.into(), formula, serves: Serves::All }
    }
    pub(crate) fn of(property: PropertyId, premise: Premise, what: impl Into<String>, formula: Term) -> Self {
        Self { premise, what: what.into(), formula, serves: Serves::These([property].into()) }
    }
    pub(crate) fn these(
        properties: &Arc<[PropertyId]>,
        premise: Premise,
        what: impl Into<String>,
        formula: Term,
    ) -> Self {
        Self { premise, what: what.into(), formula, serves: Serves::These(properties.clone()) }
    }
}

/// A renaming of symbols to terms.
pub(crate) type Renaming = Vec<(Symbol, Term)>;

/// The values of all shared variables after an action, as terms over the store before and the inputs.
pub(crate) fn shared_after(program: &Program, terms: &Terms, action: &Action) -> Vec<(VarId, Term)> {
    program
        .shared()
        .map(|v| {
            let value = action
                .updates
                .iter()
                .find(|u| u.var == v)
                .map_or_else(|| terms.sym(program.vars[v].symbol), |u| u.value);
            (v, value)
        })
        .collect()
}

/// Replaces every updated variable's unprimed symbol by its value after the action: turns a formula about the store
/// after it into one about the store before (and the inputs).
pub(crate) fn after(program: &Program, terms: &Terms, action: &Action, formula: Term) -> Term {
    terms.substitute(formula, action.updates.iter().map(|u| (program.vars[u.var].symbol, u.value)))
}

/// The same, with further symbols and what they become.
pub(crate) fn after_with(
    program: &Program,
    terms: &Terms,
    action: &Action,
    formula: Term,
    also: &[(Symbol, Term)],
) -> Term {
    let updates = action.updates.iter().map(|u| (program.vars[u.var].symbol, u.value));
    terms.substitute(formula, updates.chain(also.iter().copied()))
}

/// Replaces primed shared symbols by the values after the action, in a two-store formula.
pub(crate) fn two_store(program: &Program, terms: &Terms, action: &Action, formula: Term) -> Term {
    terms
        .substitute(formula, shared_after(program, terms, action).into_iter().map(|(v, t)| (program.vars[v].primed, t)))
}

/// Replaces unprimed shared symbols by primed ones: a formula about the store after an unknown step.
pub(crate) fn primed_shared(program: &Program, terms: &Terms, formula: Term) -> Term {
    terms.substitute(formula, program.shared().map(|v| (program.vars[v].symbol, terms.sym(program.vars[v].primed))))
}

/// All gates of an action.
pub(crate) fn gates(terms: &Terms, action: &Action) -> Term {
    terms.and(&action.gates.iter().map(|g| g.formula).collect::<Vec<_>>())
}

/// Facts about every initial store: initial values and `init` formulas. A `?` says nothing.
pub(crate) fn initial_store(program: &Program, terms: &Terms) -> Term {
    let mut facts = Vec::new();
    for v in program.shared() {
        if let Some(value) = program.vars[v].initial {
            facts.push(terms.eq(terms.sym(program.vars[v].symbol), value));
        }
    }
    facts.extend(program.init.iter().filter_map(|f| f.formula));
    terms.and(&facts)
}

/// Facts about the initial locals of a thread.
pub(crate) fn initial_locals(program: &Program, terms: &Terms, thread: ThreadId) -> Term {
    let facts: Vec<Term> = program.threads[thread]
        .locals
        .iter()
        .filter_map(|v| program.vars[*v].initial.map(|value| terms.eq(terms.sym(program.vars[*v].symbol), value)))
        .collect();
    terms.and(&facts)
}

/// Which symbols a certificate's formula may mention; anything else would be a free variable that no obligation binds.
pub(crate) struct AllowedSymbols {
    allowed: FxHashSet<Symbol>,
    /// Symbols that obligations substitute: no formula may bind one of them.
    reserved: FxHashSet<Symbol>,
}

impl AllowedSymbols {
    pub(crate) fn new(program: &Program, symbols: impl IntoIterator<Item = Symbol>) -> Self {
        let allowed: FxHashSet<Symbol> = symbols.into_iter().collect();
        let mut reserved = allowed.clone();
        reserved.insert(program.tid);
        reserved.extend(program.vars.iter().flat_map(|v| [v.symbol, v.primed]));
        for t in program.threads.iter() {
            reserved.extend(t.code.actions.iter().flat_map(|a| a.inputs.iter().copied()));
        }
        Self { allowed, reserved }
    }
    /// Further symbols that obligations substitute, or put in the place of others.
    pub(crate) fn reserving(mut self, symbols: impl IntoIterator<Item = Symbol>) -> Self {
        self.reserved.extend(symbols);
        self
    }
    pub(crate) fn shared(program: &Program) -> Vec<Symbol> {
        program.shared().map(|v| program.vars[v].symbol).collect()
    }
    pub(crate) fn shared_primed(program: &Program) -> Vec<Symbol> {
        program.shared().map(|v| program.vars[v].primed).collect()
    }
    pub(crate) fn locals(program: &Program, thread: ThreadId) -> Vec<Symbol> {
        program.threads[thread].locals.iter().map(|v| program.vars[*v].symbol).collect()
    }
    /// That a part of a certificate is a formula over the symbols it may mention; `what` it is, for the rejection.
    pub(crate) fn admits(&self, terms: &Terms, formula: Term, what: &str) -> Result<(), Rejection> {
        if terms.sort_of(formula) != Sort::BOOL {
            return Err(SideCondition::NotAFormula(what.into()).into());
        }
        match self.stranger(terms, formula) {
            None => Ok(()),
            Some(s) => Err(SideCondition::Vocabulary { what: what.into(), symbol: terms.symbol_name(s) }.into()),
        }
    }
    /// The first symbol of the formula that is used in a way that is not allowed.
    pub(crate) fn stranger(&self, terms: &Terms, formula: Term) -> Option<Symbol> {
        let free = terms.free_symbols(formula).into_iter().find(|s| !self.allowed.contains(s));
        free.or_else(|| bound_symbols(terms, formula).into_iter().find(|s| self.reserved.contains(s)))
    }
}

/// Every symbol that a quantifier of the formula binds.
fn bound_symbols(terms: &Terms, formula: Term) -> Vec<Symbol> {
    let (mut out, mut todo, mut seen) = (Vec::new(), vec![formula], FxHashSet::default());
    while let Some(t) = todo.pop() {
        if !seen.insert(t) {
            continue;
        }
        match terms.node(t) {
            Node::App(_, args) => todo.extend(args.iter()),
            Node::Quant(_, bound, body) => {
                out.extend(bound.iter());
                todo.push(body);
            }
            _ => {}
        }
    }
    out
}

/// A line for people about an action.
pub(crate) fn describe_action(program: &Program, thread: ThreadId, action: &Action) -> String {
    format!("thread {}: `{}`", program.threads[thread].name, program.origins[action.origin].text)
}

/// A line for people about a location.
pub(crate) fn describe_location(program: &Program, code: &Code, thread: ThreadId, at: LocId) -> String {
    format!("thread {} at {} ({})", program.threads[thread].name, at, code.locations[at].name)
}
