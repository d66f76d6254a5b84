//! Two-store formulas as executable steps, and as formulas about what an action does.
//!
//! In: `<frame> relation`. Out: inputs, guard and updates of an action that does the same; or the formula that says of
//! given values after a step that the step is one of the relation's.

use crate::code::Update;
use crate::model::{Program, Scope, VarId};
use crate::spec::{StorePlace, TwoStore};
use logic::{Op, Symbol, Term, Terms};

/// A relation in the form of an action.
#[derive(Clone, Debug)]
pub(crate) struct Executable {
    pub inputs: Vec<Symbol>,
    pub guard: Term,
    pub updates: Vec<Update>,
}

/// A conjunct `place' == e` gives the value directly; every other place of the frame becomes an input.
pub(crate) fn executable(program: &Program, terms: &Terms, step: &TwoStore) -> Executable {
    let mut conjuncts = terms.conjuncts(step.relation);
    let (mut inputs, mut updates) = (Vec::new(), Vec::new());
    for var in framed(step) {
        let entries = entries(step, var);
        let mut value = terms.sym(program.vars[var].symbol);
        for keys in &entries {
            let after = read(terms, terms.sym(program.vars[var].primed), keys);
            // With two entries of one map the second may be the first again: then nothing is read off.
            let stated = if entries.len() == 1 { stated_value(program, terms, &mut conjuncts, after) } else { None };
            let new = stated.unwrap_or_else(|| {
                let input = terms.symbol(format!("{}'", program.vars[var].name), terms.sort_of(after));
                inputs.push(input);
                terms.sym(input)
            });
            value = written(terms, value, keys, new);
        }
        updates.push(Update { var, value });
    }
    let after = |v: VarId| updates.iter().find(|u: &&Update| u.var == v).map(|u| u.value);
    let pairs: Vec<(Symbol, Term)> = program
        .vars
        .iter_enumerated()
        .map(|(v, var)| (var.primed, after(v).unwrap_or_else(|| terms.sym(var.symbol))))
        .collect();
    let guard: Vec<Term> = conjuncts.iter().map(|c| terms.substitute(*c, pairs.iter().copied())).collect();
    updates.retain(|u| u.value != terms.sym(program.vars[u.var].symbol));
    Executable { inputs, guard: terms.and(&guard), updates }
}

/// The formula that a step with these values after it (for each shared variable; missing ones stay) is a step of the relation.
pub fn is_step(program: &Program, terms: &Terms, step: &TwoStore, after: &[Update]) -> Term {
    let old = |v: VarId| terms.sym(program.vars[v].symbol);
    let new = |v: VarId| after.iter().find(|u| u.var == v).map_or_else(|| old(v), |u| u.value);
    relates(program, terms, step, &Ends { old: &old, new: &new, given: &[] })
}

/// Two stores, as terms, and terms for further symbols of a relation (parameters, results).
pub struct Ends<'a> {
    pub old: &'a dyn Fn(VarId) -> Term,
    pub new: &'a dyn Fn(VarId) -> Term,
    pub given: &'a [(Symbol, Term)],
}

/// The formula that the relation leads from one store to the other.
pub fn relates(program: &Program, terms: &Terms, step: &TwoStore, ends: &Ends<'_>) -> Term {
    let mut pairs: Vec<(Symbol, Term)> = ends.given.to_vec();
    for (v, var) in program.vars.iter_enumerated() {
        if var.scope == Scope::Shared {
            pairs.push((var.symbol, (ends.old)(v)));
        }
        pairs.push((var.primed, (ends.new)(v)));
    }
    let over = |t: Term| terms.substitute(t, pairs.iter().copied());
    let mut parts = vec![over(step.relation)];
    let framed = framed(step);
    for v in program.shared() {
        let (old, new) = ((ends.old)(v), (ends.new)(v));
        if old == new {
            continue;
        }
        if !framed.contains(&v) {
            parts.push(terms.eq(new, old));
            continue;
        }
        // Only the framed entries of a map may differ.
        let mut expected = old;
        for keys in entries(step, v) {
            let keys: Vec<Term> = keys.into_iter().map(over).collect();
            expected = written(terms, expected, &keys, read(terms, new, &keys));
        }
        if expected != new {
            parts.push(terms.eq(new, expected));
        }
    }
    terms.and(&parts)
}

/// The formula that nothing shared changes.
pub fn is_idle(program: &Program, terms: &Terms, after: &[Update]) -> Term {
    let shared: Vec<VarId> = program.shared().collect();
    let parts: Vec<Term> = after
        .iter()
        .filter(|u| shared.contains(&u.var))
        .map(|u| terms.eq(u.value, terms.sym(program.vars[u.var].symbol)))
        .collect();
    terms.and(&parts)
}

/// The variables of the frame, each once.
fn framed(step: &TwoStore) -> Vec<VarId> {
    let mut out: Vec<VarId> = Vec::new();
    for place in &step.frame {
        if !out.contains(&place.var) {
            out.push(place.var);
        }
    }
    out
}

/// The framed entries of a variable: one empty list of keys where the whole variable is framed.
fn entries(step: &TwoStore, var: VarId) -> Vec<Vec<Term>> {
    let places: Vec<&StorePlace> = step.frame.iter().filter(|p| p.var == var).collect();
    if places.iter().any(|p| p.keys.is_empty()) {
        vec![Vec::new()]
    } else {
        places.iter().map(|p| p.keys.clone()).collect()
    }
}

fn read(terms: &Terms, value: Term, keys: &[Term]) -> Term {
    keys.iter().fold(value, |m, k| terms.select(m, *k))
}

fn written(terms: &Terms, old: Term, keys: &[Term], new: Term) -> Term {
    match keys.split_first() {
        None => new,
        Some((k, rest)) => terms.store(old, *k, written(terms, terms.select(old, *k), rest, new)),
    }
}

/// Takes the conjunct that says what the primed value is, in terms of the store before.
fn stated_value(program: &Program, terms: &Terms, conjuncts: &mut Vec<Term>, after: Term) -> Option<Term> {
    let closed = |t: Term| {
        let free = terms.free_symbols(t);
        !program.vars.iter().any(|v| free.contains(&v.primed))
    };
    let stated = |conjunct: Term| match terms.app(conjunct) {
        _ if conjunct == after => Some(terms.tt()),
        Some((Op::Not, args)) if args[0] == after => Some(terms.ff()),
        Some((Op::Eq, args)) if args[0] == after && closed(args[1]) => Some(args[1]),
        Some((Op::Eq, args)) if args[1] == after && closed(args[0]) => Some(args[0]),
        _ => None,
    };
    let at = conjuncts.iter().position(|c| stated(*c).is_some())?;
    stated(conjuncts.remove(at))
}
