//! Well-formedness of procedures, machines and objects.
//!
//! In: a program. Out: a fault for each thing that is out of place.

use super::{May, WellformedCheck};
use crate::model::{InitialFact, OriginId, Scope, VarId};
use crate::property::PropertyKind;
use crate::spec::{MachineEdge, MachineId, Performs};
use logic::SortKind;

impl WellformedCheck<'_> {
    fn own_vars(&mut self, place: &str, lists: [&[VarId]; 3], scope: Scope, origin: OriginId) {
        let mut seen: Vec<VarId> = Vec::new();
        for v in lists.into_iter().flatten() {
            if self.var_exists(place, *v) && self.p.vars[*v].scope != scope {
                self.fault(place, format!("{v} is not its own variable"), Some(origin));
            }
            if seen.contains(v) {
                self.fault(place, format!("{v} is listed twice"), Some(origin));
            }
            seen.push(*v);
        }
    }

    fn contract(&mut self, place: &str, what: &str, facts: &[InitialFact], may: &May) {
        for f in facts {
            self.origin(place, f.origin);
            if let Some(formula) = f.formula {
                self.formula(place, what, formula, may, f.origin);
            }
            if let Some(property) = f.property {
                self.property_exists(place, property);
            }
        }
    }

    pub(super) fn procedures(&mut self) {
        let p = self.p;
        for (id, q) in p.procedures.iter_enumerated() {
            let place = format!("procedure {id} `{}`", q.name);
            let scope = Scope::Procedure(id);
            self.origin(&place, q.origin);
            self.own_vars(&place, [&q.params, &q.results, &q.locals], scope, q.origin);
            for (v, copy) in &q.olds {
                let fits = match (p.vars.get(*v), p.vars.get(*copy)) {
                    (Some(a), Some(b)) => {
                        a.sort == b.sort
                            && (a.scope == Scope::Shared || q.params.contains(v))
                            && q.locals.contains(copy)
                    }
                    _ => false,
                };
                if !fits {
                    self.fault(&place, "what `old` speaks of is not remembered in a local of its sort", Some(q.origin));
                }
            }
            let may = May { shared: true, tid: true, scopes: vec![scope], ..May::default() };
            let both = May { shared_next: true, scopes_next: vec![scope], ..may.clone() };
            self.contract(&place, "requires", &q.requires, &may);
            self.contract(&place, "ensures", &q.ensures, &both);
            if let Some((performs, property)) = &q.performs {
                self.performs(&place, performs, &may, &both);
                if self.property_exists(&place, *property) && p.properties[*property].kind != PropertyKind::Performs(id)
                {
                    self.fault(&place, "its property is another", Some(q.origin));
                }
            }
            self.code(&place, &q.code, scope, &[]);
        }
    }

    fn performs(&mut self, place: &str, performs: &Performs, may: &May, both: &May) {
        match performs {
            Performs::Action { label, action, origin } => {
                let place = format!("{place}, action `{label}`");
                self.origin(&place, *origin);
                self.two_store(&place, action, may, both, *origin);
            }
            Performs::Then(parts) | Performs::Or(parts) => {
                if parts.is_empty() {
                    self.fault(place, "an empty sequence or choice of actions", None);
                }
                parts.iter().for_each(|x| self.performs(place, x, may, both));
            }
            Performs::Star(inner) => self.performs(place, inner, may, both),
        }
    }

    pub(super) fn machines(&mut self) {
        let p = self.p;
        for (id, m) in p.machines.iter_enumerated() {
            let place = format!("machine {id} `{}`", m.name);
            self.origin(&place, m.origin);
            if m.starts.is_empty() || m.starts.iter().any(|s| *s >= m.states.len()) {
                self.fault(&place, "its start state does not exist", Some(m.origin));
            }
            if m.starts.windows(2).any(|w| w[0] >= w[1]) {
                self.fault(&place, "its start states are not in order", Some(m.origin));
            }
            let scope = Scope::Machine(id);
            self.own_vars(&place, [&m.vars, &[], &[]], scope, m.origin);
            if m.vars.iter().any(|v| p.vars.get(*v).is_some_and(|v| v.initial.is_none())) {
                self.fault(&place, "a variable of it has no initial value", Some(m.origin));
            }
            let may = May { shared: true, tid: true, scopes: vec![scope], ..May::default() };
            let both = May { shared_next: true, ..may.clone() };
            for s in &m.states {
                let at = format!("{place}, state `{}`", s.name);
                self.origin(&at, s.origin);
                if let Some(Some(f)) = s.assertion {
                    self.formula(&at, "the assertion", f, &may, s.origin);
                }
            }
            for (i, e) in m.edges.iter().enumerate() {
                let at = format!("{place}, edge {i}");
                self.origin(&at, e.origin);
                if e.from >= m.states.len() || e.to >= m.states.len() {
                    self.fault(&at, "it joins states that do not exist", Some(e.origin));
                }
                self.machine_edge(&at, id, e, (&may, &both));
            }
        }
    }

    /// What an edge changes of the store and of the machine's variables.
    fn machine_edge(&mut self, at: &str, id: MachineId, e: &MachineEdge, (may, both): (&May, &May)) {
        let p = self.p;
        let own = |v: VarId| p.vars.get(v).is_some_and(|v| v.scope == Scope::Machine(id));
        let mut both = both.clone();
        if let Some(v) = e.makes {
            match p.vars.get(v).filter(|w| own(v) && matches!(p.terms.kind(w.sort), SortKind::Ref(_))) {
                Some(w) => both.also.push(w.primed),
                None => self.fault(at, "it makes an object for no variable of the machine", Some(e.origin)),
            }
        }
        self.two_store(at, &e.action, may, &both, e.origin);
        if e.action.frame.iter().any(|f| p.vars.get(f.var).is_some_and(|v| v.scope != Scope::Shared)) {
            self.fault(at, "its frame holds shared variables only", Some(e.origin));
        }
        for (i, u) in e.sets.iter().enumerate() {
            if !own(u.var) || e.makes == Some(u.var) || e.sets[..i].iter().any(|w| w.var == u.var) {
                self.fault(at, "it sets what is no variable of the machine, or one twice", Some(e.origin));
                continue;
            }
            self.term(at, "what a variable becomes", u.value, p.vars[u.var].sort, &both, e.origin);
        }
    }

    pub(super) fn objects(&mut self) {
        let p = self.p;
        for (id, o) in p.objects.iter_enumerated() {
            let place = format!("object {id} `{}`", o.name);
            self.origin(&place, o.origin);
            if self.property_exists(&place, o.property)
                && p.properties[o.property].kind != PropertyKind::Linearizable(id)
            {
                self.fault(&place, "its property is another", Some(o.origin));
            }
            let spec = Scope::Spec(id);
            self.own_vars(&place, [&o.spec.vars, &[], &[]], spec, o.origin);
            for v in &o.spec.vars {
                if p.vars.get(*v).is_some_and(|v| v.initial.is_none()) {
                    self.fault(&place, format!("the abstract variable {v} has no initial value"), Some(o.origin));
                }
            }
            if o.spec.ops.len() != o.ops.len() {
                self.fault(&place, "its specification has one operation for each of its own", Some(o.origin));
            }
            for (k, op) in o.ops.iter().enumerate() {
                let at = format!("{place}, operation `{}`", op.name);
                let scope = Scope::Operation(id, k as u32);
                self.origin(&at, op.origin);
                self.own_vars(&at, [&op.params, &op.results, &op.locals], scope, op.origin);
                if !op.code.calls.is_empty() {
                    self.fault(&at, "every call is inlined", Some(op.origin));
                }
                self.code(&at, &op.code, scope, &[]);
                let Some(s) = o.spec.ops.get(k) else { continue };
                self.own_vars(&at, [&s.params, &s.results, &s.locals], spec, op.origin);
                self.code(&format!("{at}, specification"), &s.code, spec, &[]);
                let sorts =
                    |vars: &[VarId]| -> Vec<_> { vars.iter().filter_map(|v| p.vars.get(*v)).map(|v| v.sort).collect() };
                if sorts(&op.params) != sorts(&s.params) || sorts(&op.results) != sorts(&s.results) {
                    self.fault(&at, "its specification has other parameters or results", Some(op.origin));
                }
            }
        }
    }
}
