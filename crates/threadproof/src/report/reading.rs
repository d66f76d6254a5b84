//! What a formula reads in a state: variables, elements and fields that the source names, each with its value.
//!
//! In: a formula, a state, the thread whose formula it is. Out: `Reading`s in the order in which the formula has them: `x = 3`,
//! `eating[1] = true`, `Node#2.next = null`. Of a choice between two values only the one that is taken is read. Deliberately absent: whole maps
//! and what a quantifier binds, which no sentence has room for.

use super::names::Describer;
use logic::{Node, Op, SortKind, Term, Value};
use program::semantics::{Semantics, State, StateView};
use program::{Scope, VarId, VarKind};

/// One place that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub var: VarId,
    /// Of an element of a map, outermost first.
    pub keys: Vec<Value>,
    pub name: String,
    pub value: String,
}

impl Reading {
    /// What the place holds in a state, as an instance sees it.
    pub fn value_in<'s>(&self, sem: &Semantics<'_>, state: &'s State, at: usize) -> Option<&'s Value> {
        let mut value = sem.value(state, at, self.var)?;
        for key in &self.keys {
            let Value::Map(map) = value else { return None };
            value = map.get(key);
        }
        Some(value)
    }
}

impl std::fmt::Display for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.name, self.value)
    }
}

/// The parts of a conjunction.
pub fn conjuncts(describer: &Describer<'_>, formula: Term) -> Vec<Term> {
    let t = &describer.program().terms;
    match t.node(formula) {
        Node::App(Op::And, parts) => parts.iter().flat_map(|p| conjuncts(describer, *p)).collect(),
        Node::Bool(true) => Vec::new(),
        _ => vec![formula],
    }
}

impl Describer<'_> {
    /// The places of the source that a formula reads, shared ones and locals.
    pub fn readings(&self, state: &State, at: usize, term: Term) -> Vec<Reading> {
        let mut out = Vec::new();
        let view = StateView::of_instance(self.semantics(), state, at);
        self.collect(&view, term, &mut out);
        out
    }

    /// Those of them that other threads can change; locks are not among them.
    pub fn shared_readings(&self, state: &State, at: usize, term: Term) -> Vec<Reading> {
        let vars = &self.program().vars;
        let mut out = self.readings(state, at, term);
        out.retain(|r| vars[r.var].scope == Scope::Shared && !self.is_lock(r.var));
        out
    }

    fn collect(&self, view: &StateView<'_>, term: Term, out: &mut Vec<Reading>) {
        let t = &self.program().terms;
        match t.node(term) {
            Node::Sym(_) => self.push(view, term, term, Vec::new(), out),
            Node::App(Op::Ite, parts) if parts.len() == 3 => {
                self.collect(view, parts[0], out);
                match view.holds(parts[0]) {
                    Ok(true) => self.collect(view, parts[1], out),
                    Ok(false) => self.collect(view, parts[2], out),
                    Err(_) => {}
                }
            }
            Node::App(Op::Select, _) => {
                let (mut base, mut keys) = (term, Vec::new());
                while let Node::App(Op::Select, parts) = t.node(base) {
                    keys.push(parts[1]);
                    base = parts[0];
                }
                keys.reverse();
                keys.iter().for_each(|key| self.collect(view, *key, out));
                match t.node(base) {
                    Node::Sym(_) => {
                        let values: Option<Vec<Value>> = keys.iter().map(|k| view.eval(*k).ok()).collect();
                        if let Some(values) = values {
                            self.push(view, term, base, values, out);
                        }
                    }
                    _ => self.collect(view, base, out),
                }
            }
            Node::App(_, parts) => parts.iter().for_each(|part| self.collect(view, *part, out)),
            Node::Quant(_, _, body) => self.collect(view, body, out),
            _ => {}
        }
    }

    fn push(&self, view: &StateView<'_>, term: Term, base: Term, keys: Vec<Value>, out: &mut Vec<Reading>) {
        let p = self.program();
        let Node::Sym(symbol) = p.terms.node(base) else { return };
        let Some((var, _)) = p.var_of(symbol).filter(|(v, _)| p.vars[*v].symbol == symbol && self.is_named(*v)) else {
            return;
        };
        let sort = p.terms.sort_of(term);
        let whole = matches!(p.terms.kind(sort), SortKind::Map(..)) || matches!(p.vars[var].kind, VarKind::Live(_));
        if whole || out.iter().any(|r| r.var == var && r.keys == keys) {
            return;
        }
        let Ok(value) = view.eval(term) else { return };
        let (name, value) = (self.element_name(var, &keys), self.shown_value(var, sort, &value));
        out.push(Reading { var, keys, name, value });
    }

    /// `eating[1]`, `Node#2.next`.
    pub fn element_name(&self, var: VarId, keys: &[Value]) -> String {
        let p = self.program();
        let mut name = self.name(var);
        let mut sort = p.vars[var].sort;
        for (i, key) in keys.iter().enumerate() {
            let SortKind::Map(of, value) = p.terms.kind(sort) else { break };
            let shown = key.show(&p.terms, of);
            name = match p.vars[var].kind {
                VarKind::Field(_) if i == 0 && self.is_lock(var) => format!("the monitor of {shown}"),
                VarKind::Field(_) if i == 0 => format!("{shown}.{}", name.rsplit('.').next().unwrap_or(&name)),
                _ => format!("{name}[{shown}]"),
            };
            sort = value;
        }
        name
    }
}
