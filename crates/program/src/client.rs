//! The most general client: a thread that calls any procedure or operation, any number of times, with any arguments.
//!
//! In: a program with procedures or objects. Out: the same program with one more thread, so that methods
//! for whole programs can check assertions, access predicates and contracts of code that no thread calls. All ids of the
//! old program stay; gates keep their properties, so a verdict about the client's gate is one about the property.
//! A call assumes the procedure's `requires` (it is what callers owe); calls inside are inlined, their `requires` and
//! `ensures` become gates. An argument that refers to an object is null or refers to a live one: a reference that is not live is taken as that of
//! an object that the caller has just made, so the call makes it live, its fields arbitrary as far as the invariants allow (which callers
//! keep too), its locks free, and what it refers to live as well. Each call and return is a step of its own, listed in `CallPositions`, so that a history of calls
//! with arguments and results can be read off a run.
//! Deliberately absent: recursion (refused), and judging histories, which belongs to a search.

use crate::code::{ActionId, Code, LocId, Update, What};
use crate::inline::{AtomicBlock, InlinedCode, Renaming};
use crate::model::{Copies, InitialFact, OriginId, Program, Scope, Start, Thread, ThreadId, VarId, VarKind};
use crate::spec::{ObjectId, ProcId};
use logic::{ClassId, Op, Sort, SortKind, Symbol, Term};
use rustc_hash::FxHashMap;

/// How often, and with what, the client calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Any number of clients, calls and arguments.
    Any,
    /// For bug search alone: a proof about a bounded client says nothing about others.
    Bounded {
        clients: u32,
        /// Calls of each client.
        calls: u32,
        /// Integer arguments are 0 up to this, excluded.
        values: u32,
    },
}

/// What can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Callee {
    Procedure(ProcId),
    Operation(ObjectId, u32),
}

/// Where a client calls one thing: after `call` it runs, with `ret` it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPositions {
    pub callee: Callee,
    pub call: ActionId,
    /// The copy of the callee's first action; the others follow it in order.
    pub body: ActionId,
    /// `None` where the code never ends.
    pub(crate) ret: Option<ActionId>,
    /// The client's locals that hold arguments from the call on, and results at the return.
    pub params: Vec<VarId>,
    pub results: Vec<VarId>,
}

#[derive(Clone, Debug)]
pub struct Client {
    pub program: Program,
    pub thread: ThreadId,
    pub calls: Vec<CallPositions>,
}

/// What a client of the whole program calls: every procedure that is not `inline`, and every operation.
pub fn callees(program: &Program) -> Vec<Callee> {
    let procedures = program.procedures.iter_enumerated().filter(|(_, q)| !q.inline);
    let mut out: Vec<Callee> = procedures.map(|(id, _)| Callee::Procedure(id)).collect();
    for (id, o) in program.objects.iter_enumerated() {
        out.extend((0..o.ops.len()).map(|k| Callee::Operation(id, k as u32)));
    }
    out
}

/// The program with a client of the callees; the reason, where there can be none.
pub fn client(program: &Program, callees: &[Callee], effort: Effort) -> Result<Client, String> {
    if callees.is_empty() {
        return Err("there is nothing to call".into());
    }
    let mut p = program.clone();
    let origin = p.add_origin(None, "any caller");
    let thread = p.threads.next_id();
    let copies = match effort {
        Effort::Any => Copies::Any,
        Effort::Bounded { clients, .. } => Copies::number(clients.max(1)),
    };
    p.threads.push(Thread {
        name: "Client".into(),
        copies,
        start: Start::Initial,
        params: vec![],
        locals: vec![],
        code: Code::new(),
        outline: None,
        follows: None,
        origin,
    });
    let g = InlinedCode {
        old: program,
        p,
        scope: Scope::Thread(thread),
        code: Code::new(),
        origin,
        locals: Vec::new(),
        specified: Vec::new(),
        of_calls: Vec::new(),
        called: Vec::new(),
        inside: Vec::new(),
    };
    let mut m = ClientBuilder { g, effort, count: None };
    let hub = m.g.location("idle", AtomicBlock::No, origin);
    m.g.code.entry = hub;
    if let Effort::Bounded { calls, .. } = effort {
        let (zero, limit) = (m.g.p.terms.int(0), m.g.p.terms.int(calls.into()));
        let count = m.g.local("calls", Sort::INT, VarKind::Plain, Some(zero));
        m.count = Some(count);
        let done = m.g.location("done", AtomicBlock::No, origin);
        m.g.code.exit = Some(done);
        let full = m.g.p.terms.eq(m.g.p.now(count), limit);
        m.g.step(hub, done, full, vec![], What::Skip, origin);
    }
    let mut calls = Vec::new();
    for callee in callees {
        calls.push(m.call_from(hub, *callee)?);
    }
    let InlinedCode { mut p, code, locals, .. } = m.g;
    p.threads[thread].code = code;
    p.threads[thread].locals = locals;
    Ok(Client { program: p, thread, calls })
}

struct ClientBuilder<'p> {
    g: InlinedCode<'p>,
    effort: Effort,
    count: Option<VarId>,
}

/// What a client needs to know of a callee.
struct CalleeParts<'p> {
    name: &'p str,
    params: &'p [VarId],
    results: &'p [VarId],
    locals: &'p [VarId],
    code: &'p Code,
    origin: OriginId,
    requires: &'p [InitialFact],
    ensures: &'p [InitialFact],
    olds: &'p [(VarId, VarId)],
}

fn called(p: &Program, callee: Callee) -> CalleeParts<'_> {
    match callee {
        Callee::Procedure(id) => {
            let q = &p.procedures[id];
            CalleeParts {
                name: &q.name,
                params: &q.params,
                results: &q.results,
                locals: &q.locals,
                code: &q.code,
                origin: q.origin,
                requires: &q.requires,
                ensures: &q.ensures,
                olds: &q.olds,
            }
        }
        Callee::Operation(id, k) => {
            let o = &p.objects[id].ops[k as usize];
            CalleeParts {
                name: &o.name,
                params: &o.params,
                results: &o.results,
                locals: &o.locals,
                code: &o.code,
                origin: o.origin,
                requires: &[],
                ensures: &[],
                olds: &[],
            }
        }
    }
}

impl ClientBuilder<'_> {
    fn call_from(&mut self, hub: LocId, callee: Callee) -> Result<CallPositions, String> {
        let old = self.g.old;
        let CalleeParts { name, params, results, locals, code, origin, requires, ensures, olds } = called(old, callee);
        let mut r = Renaming::default();
        self.g.rename(name, [params, results, locals], &mut r);
        let mut inputs = Vec::new();
        let mut updates = Vec::new();
        let mut arguments: FxHashMap<Symbol, Term> = FxHashMap::default();
        let mut guard = Vec::new();
        for v in params {
            let u = self.g.any_value(r.vars[v], &mut inputs);
            updates.push(u);
            arguments.insert(old.vars[*v].symbol, u.value);
            if let (Effort::Bounded { values, .. }, true) = (self.effort, old.vars[*v].sort.is_integer()) {
                let t = &self.g.p.terms;
                let sort = old.vars[*v].sort;
                guard.push(t.le(t.num(0, sort), u.value));
                guard.push(t.lt(u.value, t.num(values.into(), sort)));
            }
        }
        let referred: Vec<(VarId, Term)> = params.iter().zip(&updates).map(|(v, u)| (*v, u.value)).collect();
        for (v, argument) in referred {
            if crate::memory::holds_references(old, old.vars[v].sort) {
                let SortKind::Ref(class) = old.terms.kind(old.vars[v].sort) else {
                    return Err(format!("an argument of {name} has objects inside a map, a set or a sequence"));
                };
                guard.extend(self.made_live(class, argument, &mut inputs, &mut updates));
            }
        }
        guard.extend(self.kept_invariants(&updates));
        for f in requires.iter().filter_map(|f| f.formula) {
            guard.push(self.g.p.terms.substitute(f, arguments.iter().map(|(s, t)| (*s, *t))));
        }
        self.g.fresh(results, &r, &mut inputs, &mut updates);
        self.g.fresh(locals, &r, &mut inputs, &mut updates);
        self.g.remember(olds, &r, &mut updates);
        if let (Some(count), Effort::Bounded { calls, .. }) = (self.count, self.effort) {
            let t = &self.g.p.terms;
            guard.push(t.lt(self.g.p.now(count), t.int(calls.into())));
            updates.push(Update { var: count, value: t.add(self.g.p.now(count), t.int(1)) });
        }
        let mut stack = match callee {
            Callee::Procedure(id) => vec![id],
            Callee::Operation(..) => vec![],
        };
        let body = self.g.code.actions.next_id();
        let (entry, exit) = self.g.copy(code, &r, name, AtomicBlock::No, &mut stack)?;
        let guard = self.g.p.terms.and(&guard);
        let called_span = self.g.p.origins[origin].span;
        let shown: Vec<&str> = params.iter().map(|v| old.vars[*v].name.as_str()).collect();
        let called = self.g.p.add_origin(called_span, format!("call {name}({})", shown.join(", ")));
        let call = self.g.step(hub, entry, guard, updates, What::Choose, called);
        self.g.code.actions[call].inputs = inputs;
        let ret = exit.map(|exit| {
            let shown: Vec<&str> = results.iter().map(|v| old.vars[*v].name.as_str()).collect();
            let returned = self.g.p.add_origin(called_span, format!("return {} from {name}", shown.join(", ")));
            let tt = self.g.p.terms.tt();
            let ret = self.g.step(exit, hub, tt, vec![], What::Return, returned);
            self.g.code.actions[ret].gates = self.g.gates(ensures, &r);
            ret
        });
        let mine = |vars: &[VarId]| vars.iter().map(|v| r.vars[v]).collect();
        Ok(CallPositions { callee, call, body, ret, params: mine(params), results: mine(results) })
    }
}

impl ClientBuilder<'_> {
    /// Makes the object of an argument live, where it is one and is not; what must hold of it if it is new.
    fn made_live(
        &mut self,
        class: ClassId,
        argument: Term,
        inputs: &mut Vec<Symbol>,
        updates: &mut Vec<Update>,
    ) -> Vec<Term> {
        let p = &self.g.p;
        let t = &p.terms;
        let after = |updates: &[Update], v: VarId| updates.iter().find(|u| u.var == v).map_or(p.now(v), |u| u.value);
        let set = |updates: &mut Vec<Update>, var: VarId, value: Term| match updates.iter_mut().find(|u| u.var == var) {
            Some(u) => u.value = value,
            None => updates.push(Update { var, value }),
        };
        let live = p.classes[class].live;
        let before = after(updates, live);
        let known = t.or(&[t.eq(argument, t.null(class)), t.member(argument, before)]);
        let now_live = t.ite(known, before, t.mk(Op::Insert, &[argument, before]));
        set(updates, live, now_live);
        let mut holds = Vec::new();
        for field in p.classes[class].fields.clone() {
            let SortKind::Map(_, sort) = t.kind(p.vars[field].sort) else { continue };
            let old = after(updates, field);
            let value = match p.vars[field].initial {
                // Locks are free.
                Some(initial) => t.select(initial, argument),
                None => {
                    let input = t.symbol(format!("any_{}", p.vars[field].name), sort);
                    inputs.push(input);
                    t.sym(input)
                }
            };
            if let SortKind::Ref(of) = t.kind(sort) {
                let there = after(updates, p.classes[of].live);
                holds.push(t.or(&[known, t.eq(value, t.null(of)), t.member(value, there)]));
            }
            set(updates, field, t.ite(known, old, t.store(old, argument, value)));
        }
        holds
    }

    /// The invariants that speak of what a call changes, in the store after it.
    fn kept_invariants(&self, updates: &[Update]) -> Vec<Term> {
        let p = &self.g.p;
        let shared: Vec<(Symbol, Term)> = updates
            .iter()
            .filter(|u| p.vars[u.var].scope == Scope::Shared)
            .map(|u| (p.vars[u.var].symbol, u.value))
            .collect();
        let invariants = p.invariants.iter().filter_map(|f| f.formula);
        let changed = |f: &Term| p.terms.free_symbols(*f).iter().any(|s| shared.iter().any(|(x, _)| x == s));
        invariants.filter(changed).map(|f| p.terms.substitute(f, shared.iter().copied())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::ProcedureCall;
    use crate::property::PropertyKind;
    use crate::semantics::tests::Build;
    use crate::semantics::{InstanceCounts, ReachLimits, reachable_states, replay_trace};
    use crate::spec::{Procedure, written};

    /// `put(a) requires a > 0 { x := a; assert x > 0; }` and `twice(a) requires a > 1 { put(a - 1); }`.
    fn procedures() -> Build {
        let mut b = Build::new();
        let zero = b.p.terms.int(0);
        let x = b.shared("x", Sort::INT, Some(zero));
        for (k, name) in ["put", "twice"].iter().enumerate() {
            let id = ProcId(k as u32);
            let a = b.p.add_var("a", Sort::INT, Scope::Procedure(id), VarKind::Plain, None, b.o);
            let least = b.p.terms.int(k as i128);
            let formula = b.p.terms.lt(least, b.p.now(a));
            let property = b.property(PropertyKind::Requires(id));
            // The code is built as a thread's and moved.
            let t = b.thread(name, Copies::One, 3);
            let tt = b.p.terms.tt();
            let arg = b.p.now(a);
            if k == 0 {
                b.act(t, 0, 1, tt, &[(x, arg)]);
                let positive = b.p.terms.lt(zero, b.p.now(x));
                b.gate(t, 1, 2, positive);
            }
            let mut code = b.p.threads[t].code.clone();
            b.p.threads = Default::default();
            if k == 1 {
                let less = b.p.terms.sub(arg, b.p.terms.int(1));
                code.calls.push(ProcedureCall {
                    from: LocId(0),
                    to: LocId(2),
                    procedure: ProcId(0),
                    args: vec![less],
                    results: vec![],
                    requires: Some(crate::PropertyId(0)),
                    origin: b.o,
                });
            }
            b.p.procedures.push(Procedure {
                name: (*name).into(),
                params: vec![a],
                results: vec![],
                locals: vec![],
                requires: vec![InitialFact { formula: Some(formula), property: Some(property), origin: b.o }],
                ensures: vec![],
                performs: None,
                olds: vec![],
                inline: false,
                code,
                origin: b.o,
            });
        }
        b
    }

    #[test]
    fn check_a_client_calls_with_arguments_that_meet_requires() {
        let b = procedures();
        assert_eq!(written(&b.p.procedures[ProcId(1)].requires).len(), 1);
        let effort = Effort::Bounded { clients: 2, calls: 1, values: 3 };
        let c = client(&b.p, &callees(&b.p), effort).unwrap();
        assert_eq!(crate::wellformed(&c.program), vec![]);
        let r = reachable_states(&c.program, &InstanceCounts::of(&c.program, 0), &ReachLimits::default());
        assert!(r.complete(), "{:?}", r.incomplete);
        assert!(r.violations.is_empty());
        let calls = &c.calls[0];
        let code = &c.program.threads[c.thread].code;
        assert_eq!(code.actions[calls.call].inputs.len(), 1);
        assert_eq!(code.actions[calls.ret.unwrap()].what, What::Return);
    }

    #[test]
    fn check_a_broken_contract_of_an_inner_call_is_found() {
        let mut b = procedures();
        b.p.procedures[ProcId(1)].requires.clear();
        let effort = Effort::Bounded { clients: 1, calls: 1, values: 3 };
        let c = client(&b.p, &callees(&b.p), effort).unwrap();
        let r = reachable_states(&c.program, &InstanceCounts::of(&c.program, 0), &ReachLimits::default());
        let trace = &r.violations[&crate::PropertyId(0)];
        replay_trace(&c.program, trace).expect("the run replays");
    }

    #[test]
    fn check_any_number_of_clients_is_well_formed_and_recursion_is_refused() {
        let mut b = procedures();
        let c = client(&b.p, &callees(&b.p), Effort::Any).unwrap();
        assert_eq!(crate::wellformed(&c.program), vec![]);
        assert_eq!(c.program.threads[c.thread].copies, Copies::Any);
        b.p.procedures[ProcId(1)].code.calls[0].procedure = ProcId(1);
        b.p.procedures[ProcId(1)].code.calls[0].requires = None;
        assert!(client(&b.p, &callees(&b.p), Effort::Any).is_err());
    }
}
