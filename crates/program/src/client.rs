//! The most general client: a thread that calls any procedure or operation, any number of times, with any arguments.
//!
//! Comes in: a program with procedures or objects. Goes out: the same program with one more thread, so that methods
//! for whole programs can check assertions, access predicates and contracts of code that nobody calls. All ids of the
//! old program stay; gates keep their properties, so a verdict about the client's gate is one about the property.
//! A call assumes the procedure's `requires` (it is what callers owe); calls inside are inlined, their `requires` and
//! `ensures` become gates. Each call and return is a step of its own, listed in `Calls`, so that a history of calls
//! with arguments and results can be read off a run.
//! Absent: recursion (refused), and judging histories, which belongs to a search.

use crate::code::{Action, ActionId, Call, Code, Gate, LocId, Location, Mark, Update, What};
use crate::model::{Copies, Fact, OriginId, Program, Scope, Start, Thread, ThreadId, VarId, VarKind};
use crate::property::PropertyKind;
use crate::spec::{ObjectId, Place, ProcId, TwoStore};
use logic::{Sort, Symbol, Term};
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
pub struct Calls {
    pub callee: Callee,
    pub call: ActionId,
    /// `None` where the code never ends.
    pub ret: Option<ActionId>,
    /// The client's locals that hold arguments from the call on, and results at the return.
    pub params: Vec<VarId>,
    pub results: Vec<VarId>,
}

#[derive(Clone, Debug)]
pub struct Client {
    pub program: Program,
    pub thread: ThreadId,
    pub calls: Vec<Calls>,
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
        Effort::Bounded { clients, .. } => Copies::Exactly(clients.max(1)),
    };
    p.threads.push(Thread {
        name: "Client".into(),
        copies,
        start: Start::AtOnce,
        params: vec![],
        locals: vec![],
        code: Code::new(),
        outline: None,
        follows: None,
        origin,
    });
    let mut m = Maker { old: program, p, thread, code: Code::new(), origin, effort, count: None };
    let hub = m.location("idle", Inside::No, origin);
    m.code.entry = hub;
    if let Effort::Bounded { calls, .. } = effort {
        let (zero, limit) = (m.p.terms.int(0), m.p.terms.int(calls.into()));
        let count = m.local("calls", Sort::INT, VarKind::Plain, Some(zero));
        m.count = Some(count);
        let done = m.location("done", Inside::No, origin);
        m.code.exit = Some(done);
        let full = m.p.terms.eq(m.p.now(count), limit);
        m.step(hub, done, full, vec![], What::Skip, origin);
    }
    let mut calls = Vec::new();
    for callee in callees {
        calls.push(m.call_from(hub, *callee)?);
    }
    let Maker { mut p, code, .. } = m;
    p.threads[thread].code = code;
    Ok(Client { program: p, thread, calls })
}

/// Whether a location is inside an atomic block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Yes,
    No,
}

struct Maker<'p> {
    old: &'p Program,
    p: Program,
    thread: ThreadId,
    code: Code,
    origin: OriginId,
    effort: Effort,
    count: Option<VarId>,
}

/// What a client needs to know of a callee.
struct Called<'p> {
    name: &'p str,
    params: &'p [VarId],
    results: &'p [VarId],
    locals: &'p [VarId],
    code: &'p Code,
    origin: OriginId,
    requires: &'p [Fact],
    ensures: &'p [Fact],
}

fn called(p: &Program, callee: Callee) -> Called<'_> {
    match callee {
        Callee::Procedure(id) => {
            let q = &p.procedures[id];
            Called {
                name: &q.name,
                params: &q.params,
                results: &q.results,
                locals: &q.locals,
                code: &q.code,
                origin: q.origin,
                requires: &q.requires,
                ensures: &q.ensures,
            }
        }
        Callee::Operation(id, k) => {
            let o = &p.objects[id].ops[k as usize];
            Called {
                name: &o.name,
                params: &o.params,
                results: &o.results,
                locals: &o.locals,
                code: &o.code,
                origin: o.origin,
                requires: &[],
                ensures: &[],
            }
        }
    }
}

/// The client's variables for those of the callee.
#[derive(Clone, Default)]
struct Renaming {
    vars: FxHashMap<VarId, VarId>,
    symbols: FxHashMap<Symbol, Term>,
}

impl Maker<'_> {
    fn location(&mut self, name: &str, inside: Inside, origin: OriginId) -> LocId {
        let inside = inside == Inside::Yes;
        self.code.locations.push(Location { name: name.into(), inside, invariants: vec![], origin })
    }

    fn local(&mut self, name: &str, sort: Sort, kind: VarKind, initial: Option<Term>) -> VarId {
        let v = self.p.add_var(name, sort, Scope::Thread(self.thread), kind, initial, self.origin);
        self.p.threads[self.thread].locals.push(v);
        v
    }

    fn step(
        &mut self,
        from: LocId,
        to: LocId,
        guard: Term,
        updates: Vec<Update>,
        what: What,
        origin: OriginId,
    ) -> ActionId {
        self.code.actions.push(Action {
            from,
            to,
            inputs: vec![],
            guard,
            gates: vec![],
            updates,
            spawn: None,
            relation: None,
            marks: vec![],
            what,
            origin,
        })
    }

    /// The client's copies of a callee's variables.
    fn rename(&mut self, name: &str, lists: [&[VarId]; 3], into: &mut Renaming) {
        for v in lists.into_iter().flatten() {
            if into.vars.contains_key(v) {
                continue;
            }
            let var = &self.old.vars[*v];
            let mine = self.local(&format!("{name}.{}", var.name), var.sort, var.kind, None);
            into.vars.insert(*v, mine);
            into.symbols.insert(var.symbol, self.p.now(mine));
            into.symbols.insert(var.primed, self.p.next(mine));
        }
    }

    fn term(&self, t: Term, r: &Renaming) -> Term {
        self.p.terms.substitute(t, r.symbols.iter().map(|(s, t)| (*s, *t)))
    }

    /// A new input, and the update of a variable with it.
    fn any_value(&mut self, var: VarId, inputs: &mut Vec<Symbol>) -> Update {
        let v = &self.p.vars[var];
        let symbol = self.p.terms.symbol(format!("any {}", v.name), v.sort);
        inputs.push(symbol);
        Update { var, value: self.p.terms.sym(symbol) }
    }

    /// Locals and results start anew at each call, with their initial value or any.
    fn fresh(&mut self, vars: &[VarId], r: &Renaming, inputs: &mut Vec<Symbol>, updates: &mut Vec<Update>) {
        for v in vars {
            let mine = r.vars[v];
            match self.old.vars[*v].initial {
                Some(e) => updates.push(Update { var: mine, value: e }),
                None => {
                    let u = self.any_value(mine, inputs);
                    updates.push(u);
                }
            }
        }
    }

    fn call_from(&mut self, hub: LocId, callee: Callee) -> Result<Calls, String> {
        let old = self.old;
        let Called { name, params, results, locals, code, origin, requires, ensures } = called(old, callee);
        let mut r = Renaming::default();
        self.rename(name, [params, results, locals], &mut r);
        let mut inputs = Vec::new();
        let mut updates = Vec::new();
        let mut arguments: FxHashMap<Symbol, Term> = FxHashMap::default();
        let mut guard = Vec::new();
        for v in params {
            let u = self.any_value(r.vars[v], &mut inputs);
            updates.push(u);
            arguments.insert(old.vars[*v].symbol, u.value);
            if let (Effort::Bounded { values, .. }, true) = (self.effort, old.vars[*v].sort.is_integer()) {
                let t = &self.p.terms;
                let sort = old.vars[*v].sort;
                guard.push(t.le(t.num(0, sort), u.value));
                guard.push(t.lt(u.value, t.num(values.into(), sort)));
            }
        }
        for f in requires.iter().filter_map(|f| f.formula) {
            guard.push(self.p.terms.substitute(f, arguments.iter().map(|(s, t)| (*s, *t))));
        }
        self.fresh(results, &r, &mut inputs, &mut updates);
        self.fresh(locals, &r, &mut inputs, &mut updates);
        if let (Some(count), Effort::Bounded { calls, .. }) = (self.count, self.effort) {
            let t = &self.p.terms;
            guard.push(t.lt(self.p.now(count), t.int(calls.into())));
            updates.push(Update { var: count, value: t.add(self.p.now(count), t.int(1)) });
        }
        let mut stack = match callee {
            Callee::Procedure(id) => vec![id],
            Callee::Operation(..) => vec![],
        };
        let (entry, exit) = self.copy(code, &r, name, Inside::No, &mut stack)?;
        let guard = self.p.terms.and(&guard);
        let words = self.p.origins[origin].span;
        let shown: Vec<&str> = params.iter().map(|v| old.vars[*v].name.as_str()).collect();
        let called = self.p.add_origin(words, format!("call {name}({})", shown.join(", ")));
        let call = self.step(hub, entry, guard, updates, What::Choose, called);
        self.code.actions[call].inputs = inputs;
        let ret = exit.map(|exit| {
            let shown: Vec<&str> = results.iter().map(|v| old.vars[*v].name.as_str()).collect();
            let returned = self.p.add_origin(words, format!("return {} from {name}", shown.join(", ")));
            let tt = self.p.terms.tt();
            let ret = self.step(exit, hub, tt, vec![], What::Return, returned);
            self.code.actions[ret].gates = self.gates(ensures, &r);
            ret
        });
        let mine = |vars: &[VarId]| vars.iter().map(|v| r.vars[v]).collect();
        Ok(Calls { callee, call, ret, params: mine(params), results: mine(results) })
    }

    /// The gates for facts of a contract. A fact that compares two stores is no gate: it is left to methods that
    /// see the call as a whole.
    fn gates(&self, facts: &[Fact], r: &Renaming) -> Vec<Gate> {
        let one_store = |f: &Term| {
            let symbols = self.old.terms.free_symbols(*f);
            !self.old.vars.iter().any(|v| symbols.contains(&v.primed))
        };
        let gate = |f: &Fact| {
            let formula = f.formula.filter(one_store)?;
            Some(Gate { property: f.property?, formula: self.term(formula, r) })
        };
        facts.iter().filter_map(gate).collect()
    }

    /// Copies code into the client's; its entry and its exit there.
    fn copy(
        &mut self,
        code: &Code,
        r: &Renaming,
        name: &str,
        inside: Inside,
        stack: &mut Vec<ProcId>,
    ) -> Result<(LocId, Option<LocId>), String> {
        let mut places: FxHashMap<LocId, LocId> = FxHashMap::default();
        for (id, l) in code.locations.iter_enumerated() {
            let within = if l.inside { Inside::Yes } else { inside };
            let mine = self.location(&format!("{name}: {}", l.name), within, l.origin);
            self.code.locations[mine].invariants = l.invariants.iter().map(|f| f.map(|f| self.term(f, r))).collect();
            places.insert(id, mine);
        }
        for a in code.actions.iter() {
            let copy = self.copy_action(a, r, &places);
            self.code.actions.push(copy);
        }
        for c in &code.calls {
            self.inline(c, r, &places, stack)?;
        }
        Ok((places[&code.entry], code.exit.map(|e| places[&e])))
    }

    fn copy_action(&mut self, a: &Action, r: &Renaming, places: &FxHashMap<LocId, LocId>) -> Action {
        let mut r = r.clone();
        let mut inputs = Vec::new();
        for s in &a.inputs {
            let mine = self.p.terms.symbol(self.old.terms.symbol_name(*s), self.old.terms.symbol_sort(*s));
            r.symbols.insert(*s, self.p.terms.sym(mine));
            inputs.push(mine);
        }
        let var = |v: VarId| r.vars.get(&v).copied().unwrap_or(v);
        let term = |t: Term| self.term(t, &r);
        let place = |f: &Place| Place { var: var(f.var), keys: f.keys.iter().map(|k| term(*k)).collect() };
        Action {
            from: places[&a.from],
            to: places[&a.to],
            inputs,
            guard: term(a.guard),
            gates: a.gates.iter().map(|g| Gate { property: g.property, formula: term(g.formula) }).collect(),
            updates: a.updates.iter().map(|u| Update { var: var(u.var), value: term(u.value) }).collect(),
            spawn: a.spawn.as_ref().map(|s| crate::code::Spawn {
                thread: s.thread,
                args: s.args.iter().map(|x| term(*x)).collect(),
                into: s.into.map(var),
            }),
            relation: a
                .relation
                .as_ref()
                .map(|x| TwoStore { frame: x.frame.iter().map(place).collect(), relation: term(x.relation) }),
            marks: a
                .marks
                .iter()
                .map(|m| match m {
                    Mark::Linearize(f) => Mark::Linearize(f.map(term)),
                    Mark::Witness(l) => Mark::Witness(l.clone()),
                })
                .collect(),
            what: a.what,
            origin: a.origin,
        }
    }

    /// A call inside: a step that passes the arguments, the callee's code, a step that takes the results.
    fn inline(
        &mut self,
        c: &Call,
        caller: &Renaming,
        places: &FxHashMap<LocId, LocId>,
        stack: &mut Vec<ProcId>,
    ) -> Result<(), String> {
        let old = self.old;
        let q = &old.procedures[c.procedure];
        if stack.contains(&c.procedure) {
            return Err(format!("{} calls itself", q.name));
        }
        stack.push(c.procedure);
        let mut r = Renaming::default();
        self.rename(&q.name, [&q.params, &q.results, &q.locals], &mut r);
        let (from, to) = (places[&c.from], places[&c.to]);
        let inside = if self.code.locations[from].inside { Inside::Yes } else { Inside::No };
        let (entry, exit) = self.copy(&q.code, &r, &q.name, inside, stack)?;
        let args: Vec<Term> = c.args.iter().map(|a| self.term(*a, caller)).collect();
        let passed: Vec<(Symbol, Term)> = q.params.iter().zip(&args).map(|(v, a)| (old.vars[*v].symbol, *a)).collect();
        let mut inputs = Vec::new();
        let mut updates: Vec<Update> =
            q.params.iter().zip(&args).map(|(v, a)| Update { var: r.vars[v], value: *a }).collect();
        self.fresh(&q.results, &r, &mut inputs, &mut updates);
        self.fresh(&q.locals, &r, &mut inputs, &mut updates);
        let tt = self.p.terms.tt();
        let call = self.step(from, entry, tt, updates, What::Skip, c.origin);
        let mut gates = Vec::new();
        for f in &q.requires {
            let property = c.requires.or(f.property);
            if let (Some(formula), Some(property)) = (f.formula, property) {
                debug_assert_eq!(old.properties[property].kind, PropertyKind::Requires(c.procedure));
                gates.push(Gate { property, formula: self.p.terms.substitute(formula, passed.iter().copied()) });
            }
        }
        self.code.actions[call].gates = gates;
        self.code.actions[call].inputs = inputs;
        if let Some(exit) = exit {
            let taken = c.results.iter().zip(&q.results);
            let var = |v: &VarId| caller.vars.get(v).copied().unwrap_or(*v);
            let updates = taken.map(|(v, x)| Update { var: var(v), value: self.p.now(r.vars[x]) }).collect();
            let ret = self.step(exit, to, tt, updates, What::Return, c.origin);
            self.code.actions[ret].gates = self.gates(&q.ensures, &r);
        }
        stack.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::tests::Build;
    use crate::semantics::{Instances, Limits, reach, replay};
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
                code.calls.push(Call {
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
                requires: vec![Fact { formula: Some(formula), property: Some(property), origin: b.o }],
                ensures: vec![],
                performs: None,
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
        let r = reach(&c.program, &Instances::of(&c.program, 0), &Limits::default());
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
        let r = reach(&c.program, &Instances::of(&c.program, 0), &Limits::default());
        let trace = &r.violations[&crate::PropertyId(0)];
        replay(&c.program, trace).expect("the run replays");
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
