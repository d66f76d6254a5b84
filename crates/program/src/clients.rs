//! Clients of an object: a finite program whose assertion is that a history is linearizable.
//!
//! In: a program with an object, and for each client thread the operations it calls, with their arguments.
//! Out: a program of its own in which those threads call the operations, and the last one to return asserts that the
//! finished history is one of the sequential specification: some order of the operations that keeps every "returned
//! before the other was called" gives every result that was returned (Herlihy and Wing's definition, for finished
//! histories). The order of calls and returns is kept in shared variables that nothing else reads. A trace of this
//! program to the violation of that assertion is a history of the object that is not linearizable.
//! Held against the marks instead (`Against::Marks`), the specification runs beside the clients: see `marks`.
//! The specification's code is executed symbolically; it may not loop. Deliberately absent: pending operations, so an operation that
//! never returns shows nothing here.

use crate::code::{Action, Code, Gate, LocId, Location, Update, What};
use crate::marks::SpecStore;
use crate::model::{Copies, OriginId, Program, Scope, Start, Thread, ThreadId, VarId, VarKind};
use crate::property::{Property, PropertyId, PropertyKind};
use crate::sequential;
use crate::spec::ObjectId;
use base::IdVec;
use logic::{Sort, Symbol, Term, Terms, Value, eval_term};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// One operation of the object, by position, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientCall {
    pub operation: usize,
    pub arguments: Vec<Value>,
}

/// For each client thread, what it calls, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Clients(pub Vec<Vec<ClientCall>>);

/// What the results of the calls are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Against {
    /// Every order of the calls that keeps "returned before the other was called".
    #[default]
    Orders,
    /// The one order in which the calls passed the linearization points that are marked in the code.
    Marks,
}

/// A call with the variables made for it; against marks there are none.
struct Ghost {
    client: usize,
    call: ClientCall,
    /// It has returned.
    done: Option<VarId>,
    /// For every call of another client, whether it had returned when this one was called.
    before: Vec<Option<VarId>>,
    results: Vec<VarId>,
}

/// The program of the clients, and the property that their history is linearizable (with its points where they are marked).
pub fn client_program(
    program: &Program,
    object: ObjectId,
    clients: &Clients,
    against: Against,
) -> Result<(Program, PropertyId), String> {
    let object = program.objects.get(object).ok_or("there is no such object")?.clone();
    let origin = object.origin;
    let mut p = program.clone();
    p.name = format!("clients of {}", object.name);
    p.threads = IdVec::new();
    p.relies.clear();
    let word = match against {
        Against::Orders => "history",
        Against::Marks => "marks",
    };
    let name = format!("{word}:{}", object.name);
    let property = p.properties.push(Property { kind: PropertyKind::Assertion, name, origin });
    let marks = match against {
        Against::Orders => None,
        Against::Marks => Some(SpecStore::new(&mut p, program, &object, property)?),
    };
    let calls: Vec<(usize, ClientCall)> =
        clients.0.iter().enumerate().flat_map(|(i, calls)| calls.iter().map(move |c| (i, c.clone()))).collect();
    let mut ghosts: Vec<Ghost> = Vec::new();
    for (n, (client, call)) in calls.iter().enumerate() {
        let op = object.ops.get(call.operation).ok_or("there is no such operation")?;
        if op.params.len() != call.arguments.len() {
            return Err(format!("operation {} has {} parameters", op.name, op.params.len()));
        }
        let mut ghost =
            Ghost { client: *client, call: call.clone(), done: None, before: Vec::new(), results: Vec::new() };
        if against == Against::Marks {
            ghosts.push(ghost);
            continue;
        }
        let no = p.terms.ff();
        let done = p.add_var(&format!("returned{n}"), Sort::BOOL, Scope::Shared, VarKind::Plain, Some(no), origin);
        ghost.done = Some(done);
        for (k, (other, _)) in calls.iter().enumerate() {
            let name = format!("returned{k}_before{n}");
            let mut var = || p.add_var(&name, Sort::BOOL, Scope::Shared, VarKind::Plain, Some(no), origin);
            ghost.before.push((other != client).then(&mut var));
        }
        for (k, r) in op.results.iter().enumerate() {
            let sort = p.vars[*r].sort;
            let zero = p.terms.default_of(sort);
            let name = format!("result{k}_of{n}");
            ghost.results.push(p.add_var(&name, sort, Scope::Shared, VarKind::Plain, Some(zero), origin));
        }
        ghosts.push(ghost);
    }
    for client in 0..clients.0.len() {
        add_thread(&mut p, program, &object, client, &ghosts, marks.as_ref(), property)?;
    }
    Ok((p, property))
}

/// The thread of one client.
fn add_thread(
    p: &mut Program,
    source: &Program,
    object: &crate::spec::Object,
    client: usize,
    ghosts: &[Ghost],
    marks: Option<&SpecStore>,
    property: PropertyId,
) -> Result<(), String> {
    let origin = object.origin;
    let id = ThreadId(p.threads.len() as u32);
    let mut code = Code::new();
    let mut locals = Vec::new();
    let place = |code: &mut Code, name: String| {
        code.locations.push(Location { name, in_atomic_block: false, invariants: Vec::new(), origin })
    };
    let mut at = place(&mut code, format!("client {client}"));
    code.entry = at;
    for (n, ghost) in ghosts.iter().enumerate().filter(|(_, g)| g.client == client) {
        let op = &object.ops[ghost.call.operation];
        let exit = op.code.exit.ok_or_else(|| format!("operation {} never returns", op.name))?;
        // Every call has its own copies of the operation's variables and inputs.
        let mut renamed: Vec<(Symbol, Term)> = Vec::new();
        let mut vars: Vec<(VarId, VarId)> = Vec::new();
        for v in op.params.iter().chain(&op.results).chain(&op.locals) {
            let old = source.vars[*v].clone();
            let new = p.add_var(&old.name, old.sort, Scope::Thread(id), old.kind, old.initial, old.origin);
            renamed.push((old.symbol, p.now(new)));
            vars.push((*v, new));
            locals.push(new);
        }
        let own = |v: VarId| vars.iter().find(|(old, _)| *old == v).map_or(v, |(_, new)| *new);
        let first = code.locations.len() as u32;
        for l in op.code.locations.iter() {
            code.locations.push(Location { invariants: Vec::new(), ..l.clone() });
        }
        let here = |l: LocId| LocId(first + l.0);
        let mut arguments = Vec::new();
        for (v, value) in op.params.iter().zip(&ghost.call.arguments) {
            let value = value.to_term(&p.terms, source.vars[*v].sort).ok_or("an argument has another sort")?;
            arguments.push(Update { var: own(*v), value });
        }
        let asked: Vec<Term> = arguments.iter().map(|u| u.value).collect();
        let marked = match marks {
            Some(m) => Some(m.call(p, (source, object), (id, ghost.call.operation), &asked)?),
            None => None,
        };
        locals.extend(marked.iter().flat_map(|m| m.locals()));
        for (var, other) in ghost.before.iter().zip(ghosts) {
            if let (Some(var), Some(done)) = (var, other.done) {
                arguments.push(Update { var: *var, value: p.now(done) });
            }
        }
        let call = format!("call {}", op.name);
        let step = Action::plain(at, here(op.code.entry), p.terms.tt(), What::Skip, origin);
        code.actions.push(named(p, Action { updates: arguments, ..step }, &call, origin));
        for a in op.code.actions.iter() {
            let mut names = renamed.clone();
            let mut inputs = Vec::new();
            for s in &a.inputs {
                let new = p.terms.symbol(p.terms.symbol_name(*s), p.terms.symbol_sort(*s));
                names.push((*s, p.terms.sym(new)));
                inputs.push(new);
            }
            if a.spawn.is_some() {
                return Err("an operation starts a thread".into());
            }
            let t = &p.terms;
            let again = |f: Term| t.substitute(f, names.iter().copied());
            let mut action = Action {
                inputs,
                gates: a.gates.iter().map(|g| Gate { property: g.property, formula: again(g.formula) }).collect(),
                updates: a.updates.iter().map(|u| Update { var: own(u.var), value: again(u.value) }).collect(),
                ..Action::plain(here(a.from), here(a.to), again(a.guard), a.what, a.origin)
            };
            if let Some(m) = &marked {
                m.pass(p, a, again, &mut action);
            }
            code.actions.push(action);
        }
        let returned: Vec<Term> = op.results.iter().map(|r| p.now(own(*r))).collect();
        let formula = match &marked {
            Some(m) => m.explained(p, &returned),
            None => history(p, object, ghosts, n, &returned)?,
        };
        let mut updates: Vec<Update> =
            ghost.results.iter().zip(&returned).map(|(var, value)| Update { var: *var, value: *value }).collect();
        updates.extend(ghost.done.map(|var| Update { var, value: p.terms.tt() }));
        let next = place(&mut code, format!("client {client}, after {}", op.name));
        let text = format!("{} returns", op.name);
        let gates = vec![Gate { property, formula }];
        let step = Action::plain(here(exit), next, p.terms.tt(), What::Return, origin);
        code.actions.push(named(p, Action { gates, updates, ..step }, &text, origin));
        at = next;
    }
    code.exit = Some(at);
    p.threads.push(Thread {
        name: format!("Client{}", client + 1),
        copies: Copies::One,
        start: Start::Initial,
        params: Vec::new(),
        locals,
        code,
        outline: None,
        follows: None,
        origin,
    });
    Ok(())
}

/// The action, shown by a text of its own at the place of `origin`.
fn named(p: &mut Program, action: Action, text: &str, origin: OriginId) -> Action {
    let span = p.origins[origin].span;
    Action { origin: p.add_origin(span, text), ..action }
}

/// When call `last` returns: if all others have returned, some allowed order explains all results.
fn history(
    p: &Program,
    object: &crate::spec::Object,
    ghosts: &[Ghost],
    last: usize,
    returned: &[Term],
) -> Result<Term, String> {
    let t = &p.terms;
    let others = ghosts.iter().enumerate().filter(|(k, _)| *k != last);
    let others: Vec<Term> = others.filter_map(|(_, g)| g.done.map(|v| p.now(v))).collect();
    let results: Vec<Vec<Term>> = ghosts
        .iter()
        .enumerate()
        .map(|(k, g)| if k == last { returned.to_vec() } else { g.results.iter().map(|r| p.now(*r)).collect() })
        .collect();
    let mut store = Vec::new();
    for v in &object.spec.vars {
        let initial = p.vars[*v].initial.ok_or("a variable of the specification has no initial value")?;
        store.push((p.vars[*v].symbol, constant(t, initial)));
    }
    let order = ClientOrder { p, object, ghosts, results: &results, known: RefCell::default() };
    let explained = order.explain((1u32 << ghosts.len()) - 1, &store)?;
    Ok(t.implies(t.and(&others), explained))
}

/// The value of a term without symbols, written plainly; any other term as it is. Arguments and the start of a specification are
/// constants, and so is then everything it computes: what cannot happen is left out, and equal stores are one.
fn constant(t: &Terms, term: Term) -> Term {
    let none: FxHashMap<Symbol, Value> = FxHashMap::default();
    eval_term(t, term, &none).ok().and_then(|v| v.to_term(t, t.sort_of(term))).unwrap_or(term)
}

struct ClientOrder<'a> {
    p: &'a Program,
    object: &'a crate::spec::Object,
    ghosts: &'a [Ghost],
    results: &'a [Vec<Term>],
    /// What was explained already: the calls that were left, and the store.
    known: RefCell<FxHashMap<(u32, Vec<Term>), Term>>,
}

impl ClientOrder<'_> {
    /// The arguments of a call, as terms.
    fn arguments(&self, n: usize) -> Result<Vec<Term>, String> {
        let call = &self.ghosts[n].call;
        let params = &self.object.spec.ops[call.operation].params;
        let term = |(v, value): (&VarId, &Value)| {
            value.to_term(&self.p.terms, self.p.vars[*v].sort).ok_or_else(|| "an argument has another sort".to_string())
        };
        params.iter().zip(&call.arguments).map(term).collect()
    }

    /// Some order of the calls in `left` explains their results from this store of the specification.
    fn explain(&self, left: u32, store: &[(Symbol, Term)]) -> Result<Term, String> {
        let t = &self.p.terms;
        if left == 0 {
            return Ok(t.tt());
        }
        let key = (left, store.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(*known);
        }
        let mut ways = Vec::new();
        for n in (0..self.ghosts.len()).filter(|n| left & (1 << n) != 0) {
            let ghost = &self.ghosts[n];
            let still = |k: &usize| *k != n && left & (1 << k) != 0;
            // A client's calls come one after the other: no check is needed.
            if (0..n).filter(still).any(|k| self.ghosts[k].client == ghost.client) {
                continue;
            }
            // No call left had returned before this one was called.
            let first: Vec<Term> = (0..self.ghosts.len())
                .filter(still)
                .filter_map(|k| ghost.before[k].map(|v| t.not(self.p.now(v))))
                .collect();
            let op = &self.object.spec.ops[ghost.call.operation];
            for path in sequential::paths(self.p, op, &self.arguments(n)?, store)? {
                let condition = constant(t, path.condition);
                if t.is_false(condition) {
                    continue;
                }
                let mut all = first.clone();
                all.push(condition);
                for ((returned, meant), set) in self.results[n].iter().zip(&path.results).zip(&path.set) {
                    if *set {
                        all.push(t.eq(*returned, constant(t, *meant)));
                    }
                }
                let after: Vec<_> = path.store.iter().map(|(s, value)| (*s, constant(t, *value))).collect();
                all.push(self.explain(left & !(1 << n), &after)?);
                all.retain(|f| !t.is_true(*f));
                ways.push(t.and(&all));
            }
        }
        let explained = t.or(&ways);
        self.known.borrow_mut().insert(key, explained);
        Ok(explained)
    }
}
