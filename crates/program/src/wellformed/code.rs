//! Well-formedness of code: locations, actions, calls.
//!
//! In: the code of a thread or procedure, and which variables it may use. Out: a fault for each thing that is out of
//! place.

use super::{May, SymbolRole, WellformedCheck};
use crate::code::{Action, Code, LocId, Mark};
use crate::model::{OriginId, Scope, Start, VarId};
use crate::property::PropertyKind;
use crate::spec::TwoStore;
use logic::{Sort, SortKind, Term};

impl WellformedCheck<'_> {
    /// Checks code whose own variables are those of `scope`; `more` are further scopes it may use.
    pub(super) fn code(&mut self, place: &str, code: &Code, scope: Scope, more: &[Scope]) {
        let mut scopes = vec![scope];
        scopes.extend(more);
        let shared = !matches!(scope, Scope::Spec(_));
        let may = May { shared, tid: shared, scopes, ..May::default() };
        if code.locations.get(code.entry).is_none() {
            self.fault(place, "its entry does not exist", None);
        } else if code.locations[code.entry].in_atomic_block {
            self.fault(place, "its entry is inside an atomic block", None);
        }
        if let Some(exit) = code.exit {
            match code.locations.get(exit) {
                None => self.fault(place, "its exit does not exist", None),
                Some(l) if l.in_atomic_block => self.fault(place, "its exit is inside an atomic block", None),
                Some(_) => {}
            }
        }
        for (id, l) in code.locations.iter_enumerated() {
            let at = format!("{place}, location {id}");
            self.origin(&at, l.origin);
            for f in l.invariants.iter().flatten() {
                self.formula(&at, "the loop invariant", *f, &may, l.origin);
            }
        }
        for (id, a) in code.actions.iter_enumerated() {
            let at = format!("{place}, action {id}");
            self.ends(&at, code, a.from, a.to, a.origin);
            self.action(&at, a, &may);
        }
        for (i, c) in code.calls.iter().enumerate() {
            let at = format!("{place}, call {i}");
            self.ends(&at, code, c.from, c.to, c.origin);
            if !self.procedure_exists(&at, c.procedure) {
                continue;
            }
            let p = self.p;
            let callee = &p.procedures[c.procedure];
            if c.args.len() != callee.params.len() {
                self.fault(&at, "it has one argument for each parameter", Some(c.origin));
            }
            for (a, v) in c.args.iter().zip(&callee.params) {
                if self.var_exists(&at, *v) {
                    self.term(&at, "an argument", *a, p.vars[*v].sort, &may, c.origin);
                }
            }
            if c.results.len() > callee.results.len() {
                self.fault(&at, "it takes more results than the procedure gives", Some(c.origin));
            }
            for (i, (v, r)) in c.results.iter().zip(&callee.results).enumerate() {
                if self.may_write(&at, *v, &may, c.origin) && p.vars.get(*r).is_some_and(|r| r.sort != p.vars[*v].sort)
                {
                    self.fault(&at, format!("the result {v} has another sort"), Some(c.origin));
                }
                if c.results[..i].contains(v) {
                    self.fault(&at, format!("the result {v} is taken twice"), Some(c.origin));
                }
            }
            if let Some(property) = c.requires
                && self.property_exists(&at, property)
                && p.properties[property].kind != PropertyKind::Requires(c.procedure)
            {
                self.fault(&at, "its property is another", Some(c.origin));
            }
        }
    }

    fn ends(&mut self, place: &str, code: &Code, from: LocId, to: LocId, origin: OriginId) {
        self.origin(place, origin);
        for at in [from, to] {
            if code.locations.get(at).is_none() {
                self.fault(place, format!("the location {at} does not exist"), Some(origin));
            }
        }
        if code.exit == Some(from) {
            self.fault(place, "nothing leaves the exit", Some(origin));
        }
    }

    fn may_write(&mut self, place: &str, var: VarId, may: &May, origin: OriginId) -> bool {
        if !self.var_exists(place, var) {
            return false;
        }
        let scope = self.p.vars[var].scope;
        let fine = if scope == Scope::Shared { may.shared } else { may.scopes.contains(&scope) };
        if !fine {
            self.fault(
                place,
                format!("it writes {var} `{}`, which is not its own", self.p.vars[var].name),
                Some(origin),
            );
        }
        fine
    }

    fn action(&mut self, place: &str, a: &Action, may: &May) {
        let p = self.p;
        let number = self.actions;
        self.actions += 1;
        for s in &a.inputs {
            if s.index() >= p.terms.symbol_count() {
                self.fault(place, format!("the input {s} does not exist"), Some(a.origin));
            } else if self.roles.insert(*s, SymbolRole::Input(number)).is_some() {
                let name = p.terms.symbol_name(*s);
                self.fault(place, format!("the input `{name}` ({s}) is used elsewhere too"), Some(a.origin));
            }
        }
        let may = May { input: Some(number), ..may.clone() };
        self.formula(place, "the guard", a.guard, &may, a.origin);
        for g in &a.gates {
            self.formula(place, "a gate", g.formula, &may, a.origin);
            if self.property_exists(place, g.property) && !lives_in_gates(&p.properties[g.property].kind) {
                let name = &p.properties[g.property].name;
                self.fault(place, format!("the property `{name}` cannot be a gate's"), Some(a.origin));
            }
        }
        for (i, u) in a.updates.iter().enumerate() {
            if self.may_write(place, u.var, &may, a.origin) {
                self.term(place, "an update", u.value, p.vars[u.var].sort, &may, a.origin);
            }
            if a.updates[..i].iter().any(|x| x.var == u.var) {
                self.fault(place, format!("{} is updated twice", u.var), Some(a.origin));
            }
        }
        if let Some(spawn) = &a.spawn {
            match p.threads.get(spawn.thread) {
                Some(t) if t.start == Start::Spawned => {
                    if t.params.len() != spawn.args.len() {
                        self.fault(place, "spawn gives one value for each parameter", Some(a.origin));
                    }
                    for (arg, v) in spawn.args.iter().zip(&t.params) {
                        if self.var_exists(place, *v) {
                            self.term(place, "an argument of spawn", *arg, p.vars[*v].sort, &may, a.origin);
                        }
                    }
                }
                _ => self.fault(place, "it spawns a thread that is not started by spawn", Some(a.origin)),
            }
            if let Some(into) = spawn.into
                && self.may_write(place, into, &may, a.origin)
            {
                if p.vars[into].sort != Sort::INT {
                    self.fault(place, "the spawned thread's id goes to an integer", Some(a.origin));
                }
                if a.updates.iter().any(|u| u.var == into) {
                    self.fault(place, format!("{into} is updated twice"), Some(a.origin));
                }
            }
        }
        if let Some(r) = &a.relation {
            let next = May { shared_next: may.shared, scopes_next: may.scopes.clone(), ..may.clone() };
            self.two_store(place, r, &may, &next, a.origin);
        }
        for m in &a.marks {
            if let Mark::Linearize(Some(f)) = m {
                // Read in the store after the step, where the step's inputs are gone.
                self.formula(place, "the condition of linearize", *f, &May { input: None, ..may.clone() }, a.origin);
            }
        }
    }

    /// A two-store action: keys speak of the store before, the relation of both.
    pub(super) fn two_store(&mut self, place: &str, r: &TwoStore, now: &May, both: &May, origin: OriginId) {
        let p = self.p;
        for f in &r.frame {
            if !self.var_exists(place, f.var) {
                continue;
            }
            let mut sort = p.vars[f.var].sort;
            for k in &f.keys {
                let SortKind::Map(key, value) = p.terms.kind(sort) else {
                    self.fault(place, "a place of the frame has more keys than the map", Some(origin));
                    break;
                };
                self.term(place, "a key of the frame", *k, key, now, origin);
                sort = value;
            }
        }
        self.relation(place, r.relation, both, origin);
    }

    fn relation(&mut self, place: &str, relation: Term, both: &May, origin: OriginId) {
        self.formula(place, "the relation", relation, both, origin);
    }
}

fn lives_in_gates(kind: &PropertyKind) -> bool {
    match kind {
        PropertyKind::Assertion
        | PropertyKind::Division
        | PropertyKind::Null
        | PropertyKind::Freed
        | PropertyKind::Release
        | PropertyKind::Bounds
        | PropertyKind::Overflow
        | PropertyKind::Access(_)
        | PropertyKind::Requires(_)
        | PropertyKind::Ensures(_)
        | PropertyKind::Race
        | PropertyKind::Unmodelled(_) => true,
        PropertyKind::Invariant(_)
        | PropertyKind::Rely(_)
        | PropertyKind::Performs(_)
        | PropertyKind::Follows(_)
        | PropertyKind::Linearizable(_)
        | PropertyKind::Deadlock
        | PropertyKind::Leak => false,
    }
}
