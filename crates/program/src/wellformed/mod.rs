//! Well-formedness of a `Program`: every rule of the model, all violations at once.
//!
//! In: a program, from a front end, a transformation or a text file. Out: the faults, each with a place.
//! Run after every lowering; a fault is a bug of the maker, never of the user. A well-formed program can be executed
//! and encoded without a panic. Deliberately absent: anything about what the program does.

mod code;
mod sorts;
mod specs;

pub(crate) use sorts::sort_faults;

use crate::model::{OriginId, Program, Scope, Start, ThreadId, VarId, VarKind};
use crate::property::{PropertyId, PropertyKind};
use crate::{Copies, ProcId};
use logic::{Sort, SortKind, Symbol, Term};
use rustc_hash::{FxHashMap, FxHashSet};

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WellformedFault {
    /// What is at fault: `thread A, action a3`.
    pub place: String,
    pub message: String,
    pub origin: Option<OriginId>,
}

impl std::fmt::Display for WellformedFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// What a symbol of the program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SymbolRole {
    Tid,
    Now(VarId),
    Next(VarId),
    /// An input of the action with this number, counted over the whole program.
    Input(usize),
}

/// Which symbols may be free in a term.
#[derive(Clone, Default)]
struct May {
    shared: bool,
    shared_next: bool,
    tid: bool,
    /// Scopes whose variables may occur.
    scopes: Vec<Scope>,
    /// Scopes whose variables may occur primed.
    scopes_next: Vec<Scope>,
    input: Option<usize>,
    also: Vec<Symbol>,
}

struct WellformedCheck<'p> {
    p: &'p Program,
    roles: FxHashMap<Symbol, SymbolRole>,
    sorted: FxHashSet<Term>,
    faults: Vec<WellformedFault>,
    /// Actions seen so far, over all codes: the owner of inputs.
    actions: usize,
}

/// Every violation of the model's rules.
pub fn wellformed(program: &Program) -> Vec<WellformedFault> {
    let mut c = WellformedCheck {
        p: program,
        roles: FxHashMap::default(),
        sorted: FxHashSet::default(),
        faults: Vec::new(),
        actions: 0,
    };
    c.roles.insert(program.tid, SymbolRole::Tid);
    if program.terms.symbol_sort(program.tid) != Sort::INT {
        c.fault("tid", "the thread id is an integer", None);
    }
    c.vars();
    c.classes();
    c.properties();
    c.facts();
    c.threads();
    c.procedures();
    c.machines();
    c.objects();
    c.faults
}

impl WellformedCheck<'_> {
    fn fault(&mut self, place: impl Into<String>, message: impl Into<String>, origin: Option<OriginId>) {
        self.faults.push(WellformedFault { place: place.into(), message: message.into(), origin });
    }

    fn origin(&mut self, place: &str, origin: OriginId) {
        if self.p.origins.get(origin).is_none() {
            self.fault(place, format!("its origin {origin} does not exist"), None);
        }
    }

    /// Whether the term exists, is well sorted, has the sort, and speaks only of what it may.
    fn term(&mut self, place: &str, what: &str, term: Term, sort: Sort, may: &May, origin: OriginId) {
        let t = &self.p.terms;
        if term.index() >= t.len() {
            return self.fault(place, format!("{what} is no term of the program"), Some(origin));
        }
        let bad = sort_faults(t, term, &mut self.sorted);
        for b in bad {
            self.fault(place, format!("{what}: {b}"), Some(origin));
        }
        let t = &self.p.terms;
        let found = t.sort_of(term);
        if found != sort {
            let message = format!("{what} has sort {}, not {}", t.sort_name(found), t.sort_name(sort));
            self.fault(place, message, Some(origin));
        }
        for s in t.free_symbols(term) {
            let fine = may.also.contains(&s)
                || match self.roles.get(&s) {
                    Some(SymbolRole::Tid) => may.tid,
                    Some(SymbolRole::Now(v)) => match self.p.vars[*v].scope {
                        Scope::Shared => may.shared,
                        scope => may.scopes.contains(&scope),
                    },
                    Some(SymbolRole::Next(v)) => match self.p.vars[*v].scope {
                        Scope::Shared => may.shared_next,
                        scope => may.scopes_next.contains(&scope),
                    },
                    Some(SymbolRole::Input(owner)) => may.input == Some(*owner),
                    None => false,
                };
            if !fine {
                let name = self.p.terms.symbol_name(s);
                self.fault(place, format!("{what} mentions `{name}` ({s}), which it may not"), Some(origin));
            }
        }
    }

    fn formula(&mut self, place: &str, what: &str, term: Term, may: &May, origin: OriginId) {
        self.term(place, what, term, Sort::BOOL, may, origin);
    }

    fn var_exists(&mut self, place: &str, var: VarId) -> bool {
        let fine = self.p.vars.get(var).is_some();
        if !fine {
            self.fault(place, format!("the variable {var} does not exist"), None);
        }
        fine
    }

    fn property_exists(&mut self, place: &str, property: PropertyId) -> bool {
        let fine = self.p.properties.get(property).is_some();
        if !fine {
            self.fault(place, format!("the property {property} does not exist"), None);
        }
        fine
    }

    fn vars(&mut self) {
        let p = self.p;
        for (id, v) in p.vars.iter_enumerated() {
            let place = format!("variable {id} `{}`", v.name);
            self.origin(&place, v.origin);
            for (symbol, role) in [(v.symbol, SymbolRole::Now(id)), (v.primed, SymbolRole::Next(id))] {
                if symbol.index() >= p.terms.symbol_count() {
                    self.fault(&place, format!("the symbol {symbol} does not exist"), Some(v.origin));
                    continue;
                }
                if p.terms.symbol_sort(symbol) != v.sort {
                    self.fault(&place, "its symbols have its sort", Some(v.origin));
                }
                if self.roles.insert(symbol, role).is_some() {
                    self.fault(&place, format!("the symbol {symbol} belongs to something else too"), Some(v.origin));
                }
            }
            let scoped = match v.scope {
                Scope::Shared => true,
                Scope::Thread(t) => p.threads.get(t).is_some(),
                Scope::Procedure(q) => p.procedures.get(q).is_some(),
                Scope::Operation(o, k) => p.objects.get(o).is_some_and(|o| (k as usize) < o.ops.len()),
                Scope::Spec(o) => p.objects.get(o).is_some(),
                Scope::Machine(m) => p.machines.get(m).is_some_and(|m| m.vars.contains(&id)),
            };
            if !scoped {
                self.fault(&place, format!("its scope {:?} does not exist", v.scope), Some(v.origin));
            }
        }
        for (id, v) in p.vars.iter_enumerated() {
            let place = format!("variable {id} `{}`", v.name);
            if let Some(e) = v.initial {
                self.term(&place, "the initial value", e, v.sort, &May::default(), v.origin);
            }
            self.kind(&place, id);
            if let Some(access) = &v.access {
                self.origin(&place, access.origin);
                let mut sort = v.sort;
                for b in &access.binders {
                    match p.terms.kind(sort) {
                        SortKind::Map(k, inner) if p.terms.symbol_sort(*b) == k => sort = inner,
                        // Which objects there are, one by one.
                        SortKind::Set(k) if p.terms.symbol_sort(*b) == k && matches!(v.kind, VarKind::Live(_)) => {
                            sort = Sort::BOOL;
                        }
                        _ => {
                            self.fault(&place, "a binder of its access predicate fits no index", Some(access.origin));
                            break;
                        }
                    }
                }
                for f in access.formula.into_iter().chain(access.writing) {
                    let may = May { shared: true, tid: true, also: access.binders.clone(), ..May::default() };
                    self.formula(&place, "the access predicate", f, &may, access.origin);
                }
                if v.scope != Scope::Shared {
                    self.fault(&place, "only shared variables have access predicates", Some(access.origin));
                }
            }
        }
    }

    fn kind(&mut self, place: &str, id: VarId) {
        let p = self.p;
        let v = &p.vars[id];
        let shared = v.scope == Scope::Shared;
        let message = match v.kind {
            VarKind::Plain => None,
            VarKind::Lock => {
                let mut sort = v.sort;
                while let SortKind::Map(_, inner) = p.terms.kind(sort) {
                    sort = inner;
                }
                (sort != Sort::INT).then_some("a lock is an integer, or a map to integers")
            }
            VarKind::Field(c) => {
                let fine = shared
                    && matches!(p.terms.kind(v.sort), SortKind::Map(k, _) if p.terms.kind(k) == SortKind::Ref(c))
                    && p.classes.get(c).is_some_and(|c| c.fields.contains(&id));
                (!fine).then_some("a field is a shared map from its class, and listed there")
            }
            VarKind::Live(c) => {
                let set = SortKind::Set(p.terms.sort(SortKind::Ref(c)));
                let fine = shared && p.terms.kind(v.sort) == set && p.classes.get(c).is_some_and(|c| c.live == id);
                (!fine).then_some("live objects are a shared set of the class, and listed there")
            }
            VarKind::Ended => {
                let fine =
                    shared && p.terms.kind(v.sort) == SortKind::Map(Sort::INT, Sort::BOOL) && v.initial.is_some();
                (!fine).then_some("`ended` is a shared map from thread ids to booleans, with an initial value")
            }
            VarKind::Started(t) => {
                let waits = p.threads.get(t).is_some_and(|t| {
                    let mut first = t.code.from(t.code.entry).peekable();
                    let single = t.start == Start::Initial && t.copies == Copies::One;
                    single && first.peek().is_some() && first.all(|(_, a)| a.guard == p.now(id) && a.gates.is_empty())
                });
                let off = v.initial.is_some_and(|e| p.terms.is_false(e));
                let alone = p.started(t) == Some(id);
                let fine = shared && v.sort == Sort::BOOL && off && waits && alone;
                (!fine).then_some("a thread that is started by a flag is one instance that waits for it at its entry")
            }
        };
        if let Some(m) = message {
            self.fault(place, m, Some(v.origin));
        }
    }

    fn classes(&mut self) {
        let p = self.p;
        if p.classes.len() != p.terms.class_count() {
            self.fault("classes", "the program and its terms have the same classes", None);
        }
        for (id, c) in p.classes.iter_enumerated() {
            let place = format!("class {id} `{}`", c.name);
            self.origin(&place, c.origin);
            if self.var_exists(&place, c.live) && p.vars[c.live].kind != VarKind::Live(id) {
                self.fault(&place, format!("{} is not its set of live objects", c.live), Some(c.origin));
            }
            for f in &c.fields {
                if self.var_exists(&place, *f) && p.vars[*f].kind != VarKind::Field(id) {
                    self.fault(&place, format!("{f} is not one of its fields"), Some(c.origin));
                }
            }
        }
    }

    fn properties(&mut self) {
        let p = self.p;
        let mut names = FxHashSet::default();
        for (id, property) in p.properties.iter_enumerated() {
            let place = format!("property {id} `{}`", property.name);
            self.origin(&place, property.origin);
            if !names.insert(property.name.as_str()) {
                self.fault(&place, "another property has this name", Some(property.origin));
            }
            let fine = match &property.kind {
                PropertyKind::Invariant(f) => {
                    let may = May { shared: true, ..May::default() };
                    self.formula(&place, "the invariant", *f, &may, property.origin);
                    true
                }
                PropertyKind::Rely(r) => p.relies.get(*r as usize).is_some_and(|r| r.property == id),
                PropertyKind::Access(v) => p.vars.get(*v).is_some_and(|v| v.access.is_some()),
                PropertyKind::Requires(q) | PropertyKind::Ensures(q) => p.procedures.get(*q).is_some(),
                PropertyKind::Performs(q) => {
                    p.procedures.get(*q).is_some_and(|q| q.performs.as_ref().is_some_and(|(_, x)| *x == id))
                }
                PropertyKind::Follows(t) => p.threads.get(*t).is_some_and(|t| t.follows.is_some_and(|(_, x)| x == id)),
                PropertyKind::Linearizable(o) => p.objects.get(*o).is_some_and(|o| o.property == id),
                _ => true,
            };
            if !fine {
                self.fault(&place, "what it speaks of does not speak of it", Some(property.origin));
            }
        }
    }

    fn facts(&mut self) {
        let p = self.p;
        let store = May { shared: true, ..May::default() };
        for (i, f) in p.init.iter().enumerate() {
            let place = format!("init {i}");
            self.origin(&place, f.origin);
            if let Some(formula) = f.formula {
                self.formula(&place, "the formula", formula, &store, f.origin);
            }
        }
        for (i, f) in p.invariants.iter().enumerate() {
            let place = format!("invariant {i}");
            self.origin(&place, f.origin);
            if let Some(formula) = f.formula {
                self.formula(&place, "the formula", formula, &store, f.origin);
                let same = f
                    .property
                    .is_none_or(|x| p.properties.get(x).is_some_and(|x| x.kind == PropertyKind::Invariant(formula)));
                if !same {
                    self.fault(&place, "its property is another formula", Some(f.origin));
                }
            }
        }
        for (i, r) in p.relies.iter().enumerate() {
            let place = format!("rely {i}");
            self.origin(&place, r.origin);
            if let Some(formula) = r.formula {
                let may = May { shared: true, shared_next: true, tid: true, ..May::default() };
                self.formula(&place, "the formula", formula, &may, r.origin);
            }
            if self.property_exists(&place, r.property) && p.properties[r.property].kind != PropertyKind::Rely(i as u32)
            {
                self.fault(&place, "its property is another", Some(r.origin));
            }
            if r.thread.is_some_and(|t| p.threads.get(t).is_none()) {
                self.fault(&place, "its thread does not exist", Some(r.origin));
            }
        }
    }

    fn threads(&mut self) {
        let p = self.p;
        for (id, t) in p.threads.iter_enumerated() {
            let place = format!("thread {id} `{}`", t.name);
            self.origin(&place, t.origin);
            self.locals(&place, id);
            if t.start == Start::Spawned && t.copies != Copies::Any {
                self.fault(&place, "a spawned thread has any number of copies", Some(t.origin));
            }
            if t.start == Start::Initial && !t.params.is_empty() {
                self.fault(&place, "only spawned threads have parameters", Some(t.origin));
            }
            if t.copies == Copies::Exactly(0) {
                self.fault(&place, "a thread has at least one copy", Some(t.origin));
            }
            if t.copies == Copies::Exactly(1) {
                self.fault(&place, "a single copy is written `one`", Some(t.origin));
            }
            for v in &t.params {
                if !t.locals.contains(v) {
                    self.fault(&place, format!("the parameter {v} is not a local"), Some(t.origin));
                }
            }
            if !t.code.calls.is_empty() {
                self.fault(&place, "a thread's code has every call inlined", Some(t.origin));
            }
            self.code(&place, &t.code, Scope::Thread(id), &[]);
            if let Some(outline) = &t.outline {
                self.code(&format!("{place} outline"), outline, Scope::Thread(id), &[]);
            }
            if let Some((machine, property)) = t.follows {
                if p.machines.get(machine).is_none() {
                    self.fault(&place, format!("the machine {machine} does not exist"), Some(t.origin));
                }
                if self.property_exists(&place, property) && p.properties[property].kind != PropertyKind::Follows(id) {
                    self.fault(&place, "its property is another", Some(t.origin));
                }
            }
        }
        for (id, v) in p.vars.iter_enumerated() {
            if let Scope::Thread(t) = v.scope
                && p.threads.get(t).is_some_and(|t| !t.locals.contains(&id))
            {
                self.fault(format!("variable {id} `{}`", v.name), "its thread does not list it", Some(v.origin));
            }
        }
    }

    fn locals(&mut self, place: &str, thread: ThreadId) {
        let t = &self.p.threads[thread];
        for (i, v) in t.locals.iter().enumerate() {
            if self.var_exists(place, *v) && self.p.vars[*v].scope != Scope::Thread(thread) {
                self.fault(place, format!("the local {v} is not of this thread"), Some(t.origin));
            }
            if t.locals[..i].contains(v) {
                self.fault(place, format!("the local {v} is listed twice"), Some(t.origin));
            }
        }
    }

    fn procedure_exists(&mut self, place: &str, procedure: ProcId) -> bool {
        let fine = self.p.procedures.get(procedure).is_some();
        if !fine {
            self.fault(place, format!("the procedure {procedure} does not exist"), None);
        }
        fine
    }
}

#[cfg(test)]
mod tests;
