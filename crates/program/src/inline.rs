//! Code put into other code: copied with variables of its own, calls inlined or replaced by what the callee performs.
//!
//! In: a program, and whose code is being built. Out: locations and actions appended to that code. A call by
//! specification is: a step that passes the arguments, meets `requires` and chooses the results; a location for each
//! position of the callee's `performs`, with a step for each action that may come next; a step that hands over the results.
//! Used for clients (`client`) and for code without calls (`specified`).

use crate::access;
use crate::code::{Action, ActionId, Code, Gate, LocId, Location, Mark, ProcedureCall, Spawn, Update, What};
use crate::model::{InitialFact, OriginId, Program, Scope, VarId, VarKind};
use crate::order::PerformsOrder;
use crate::property::PropertyKind;
use crate::relation::executable;
use crate::spec::{ProcId, StorePlace, TwoStore};
use crate::symbolic::SymbolicStore;
use logic::{Sort, Symbol, Term};
use rustc_hash::FxHashMap;

/// Whether a location is inside an atomic block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomicBlock {
    Yes,
    No,
}

/// Code under construction, in a program that grows with it.
pub(crate) struct InlinedCode<'p> {
    pub old: &'p Program,
    pub p: Program,
    pub scope: Scope,
    pub code: Code,
    pub origin: OriginId,
    /// The variables made for it.
    pub locals: Vec<VarId>,
    /// The procedures whose calls are replaced by what they perform; all others are inlined.
    pub specified: Vec<ProcId>,
    /// The steps that stand for a call by specification, in order.
    pub of_calls: Vec<ActionId>,
    /// The procedures so called.
    pub called: Vec<ProcId>,
    /// The locations inside such calls.
    pub inside: Vec<(LocId, ProcId)>,
}

/// The new code's variables for those of the copied code.
#[derive(Clone, Default)]
pub(crate) struct Renaming {
    pub vars: FxHashMap<VarId, VarId>,
    pub symbols: FxHashMap<Symbol, Term>,
}

impl InlinedCode<'_> {
    pub(crate) fn location(&mut self, name: &str, inside: AtomicBlock, origin: OriginId) -> LocId {
        let inside = inside == AtomicBlock::Yes;
        self.code.locations.push(Location { name: name.into(), in_atomic_block: inside, invariants: vec![], origin })
    }

    pub(crate) fn local(&mut self, name: &str, sort: Sort, kind: VarKind, initial: Option<Term>) -> VarId {
        let v = self.p.add_var(name, sort, self.scope, kind, initial, self.origin);
        self.locals.push(v);
        v
    }

    pub(crate) fn step(
        &mut self,
        from: LocId,
        to: LocId,
        guard: Term,
        updates: Vec<Update>,
        what: What,
        origin: OriginId,
    ) -> ActionId {
        self.code.actions.push(Action { updates, ..Action::plain(from, to, guard, what, origin) })
    }

    /// The client's copies of a callee's variables.
    pub(crate) fn rename(&mut self, name: &str, lists: [&[VarId]; 3], into: &mut Renaming) {
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

    pub(crate) fn term(&self, t: Term, r: &Renaming) -> Term {
        self.p.terms.substitute(t, r.symbols.iter().map(|(s, t)| (*s, *t)))
    }

    /// A new input, and the update of a variable with it.
    pub(crate) fn any_value(&mut self, var: VarId, inputs: &mut Vec<Symbol>) -> Update {
        let v = &self.p.vars[var];
        let symbol = self.p.terms.symbol(format!("any {}", v.name), v.sort);
        inputs.push(symbol);
        Update { var, value: self.p.terms.sym(symbol) }
    }

    /// Locals and results start anew at each call, with their initial value or any.
    pub(crate) fn fresh(&mut self, vars: &[VarId], r: &Renaming, inputs: &mut Vec<Symbol>, updates: &mut Vec<Update>) {
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

    /// At the entry the locals for `old` are what their variables are then, after the other updates of the call.
    pub(crate) fn remember(&self, olds: &[(VarId, VarId)], r: &Renaming, updates: &mut Vec<Update>) {
        for (v, copy) in olds {
            let (from, mine) = (r.vars.get(v).copied().unwrap_or(*v), r.vars[copy]);
            let value = updates.iter().find(|u| u.var == from).map_or_else(|| self.p.now(from), |u| u.value);
            updates.retain(|u| u.var != mine);
            updates.push(Update { var: mine, value });
        }
    }

    /// The gates for facts of a contract. A fact that compares two stores is no gate: it is left to methods that
    /// see the call as a whole.
    pub(crate) fn gates(&self, facts: &[InitialFact], r: &Renaming) -> Vec<Gate> {
        let one_store = |f: &Term| {
            let symbols = self.old.terms.free_symbols(*f);
            !self.old.vars.iter().any(|v| symbols.contains(&v.primed))
        };
        let gate = |f: &InitialFact| {
            let formula = f.formula.filter(one_store)?;
            Some(Gate { property: f.property?, formula: self.term(formula, r) })
        };
        facts.iter().filter_map(gate).collect()
    }

    /// Copies code into the client's; its entry and its exit there.
    pub(crate) fn copy(
        &mut self,
        code: &Code,
        r: &Renaming,
        name: &str,
        inside: AtomicBlock,
        stack: &mut Vec<ProcId>,
    ) -> Result<(LocId, Option<LocId>), String> {
        let mut places: FxHashMap<LocId, LocId> = FxHashMap::default();
        for (id, l) in code.locations.iter_enumerated() {
            let within = if l.in_atomic_block { AtomicBlock::Yes } else { inside };
            let mine = self.location(&format!("{name}: {}", l.name), within, l.origin);
            self.code.locations[mine].invariants = l.invariants.iter().map(|f| f.map(|f| self.term(f, r))).collect();
            places.insert(id, mine);
        }
        for a in code.actions.iter() {
            let copy = self.copy_action(a, r, &places);
            self.code.actions.push(copy);
        }
        for c in &code.calls {
            if self.specified.contains(&c.procedure) {
                self.specify(c, r, &places)?;
            } else {
                self.inline(c, r, &places, stack)?;
            }
        }
        Ok((places[&code.entry], code.exit.map(|e| places[&e])))
    }

    pub(crate) fn copy_action(&mut self, a: &Action, r: &Renaming, places: &FxHashMap<LocId, LocId>) -> Action {
        let mut r = r.clone();
        let mut inputs = Vec::new();
        for s in &a.inputs {
            let mine = self.p.terms.symbol(self.old.terms.symbol_name(*s), self.old.terms.symbol_sort(*s));
            r.symbols.insert(*s, self.p.terms.sym(mine));
            inputs.push(mine);
        }
        let var = |v: VarId| r.vars.get(&v).copied().unwrap_or(v);
        let term = |t: Term| self.term(t, &r);
        let place = |f: &StorePlace| StorePlace { var: var(f.var), keys: f.keys.iter().map(|k| term(*k)).collect() };
        Action {
            from: places[&a.from],
            to: places[&a.to],
            inputs,
            guard: term(a.guard),
            gates: a.gates.iter().map(|g| Gate { property: g.property, formula: term(g.formula) }).collect(),
            updates: a.updates.iter().map(|u| Update { var: var(u.var), value: term(u.value) }).collect(),
            spawn: a.spawn.as_ref().map(|s| Spawn {
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
    pub(crate) fn inline(
        &mut self,
        c: &ProcedureCall,
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
        let inside = if self.code.locations[from].in_atomic_block { AtomicBlock::Yes } else { AtomicBlock::No };
        let (entry, exit) = self.copy(&q.code, &r, &q.name, inside, stack)?;
        let args: Vec<Term> = c.args.iter().map(|a| self.term(*a, caller)).collect();
        let passed: Vec<(Symbol, Term)> = q.params.iter().zip(&args).map(|(v, a)| (old.vars[*v].symbol, *a)).collect();
        let mut inputs = Vec::new();
        let mut updates: Vec<Update> =
            q.params.iter().zip(&args).map(|(v, a)| Update { var: r.vars[v], value: *a }).collect();
        self.fresh(&q.results, &r, &mut inputs, &mut updates);
        self.fresh(&q.locals, &r, &mut inputs, &mut updates);
        self.remember(&q.olds, &r, &mut updates);
        inputs.retain(|s| updates.iter().any(|u| self.p.terms.free_symbols(u.value).contains(s)));
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

    /// A call by specification.
    pub(crate) fn specify(
        &mut self,
        c: &ProcedureCall,
        caller: &Renaming,
        places: &FxHashMap<LocId, LocId>,
    ) -> Result<(), String> {
        let old = self.old;
        let q = &old.procedures[c.procedure];
        let (performs, _) = q.performs.as_ref().ok_or_else(|| format!("{} has no `performs`", q.name))?;
        let order = PerformsOrder::of(performs);
        self.called.push(c.procedure);
        let mut r = Renaming::default();
        self.rename(&q.name, [&q.params, &q.results, &[]], &mut r);
        let (from, to) = (places[&c.from], places[&c.to]);
        let inside = if self.code.locations[from].in_atomic_block { AtomicBlock::Yes } else { AtomicBlock::No };
        let at: Vec<LocId> = (0..order.next.len())
            .map(|k| self.location(&format!("{}: after {}", q.name, order.label(k)), inside, c.origin))
            .collect();
        self.inside.extend(at.iter().map(|l| (*l, c.procedure)));
        let args: Vec<Term> = c.args.iter().map(|a| self.term(*a, caller)).collect();
        let passed: Vec<(Symbol, Term)> = q.params.iter().zip(&args).map(|(v, a)| (old.vars[*v].symbol, *a)).collect();
        let mut inputs = Vec::new();
        let mut updates: Vec<Update> =
            q.params.iter().zip(&args).map(|(v, a)| Update { var: r.vars[v], value: *a }).collect();
        // Results are chosen first, and the actions say which choices were right.
        for v in &q.results {
            let any = self.any_value(r.vars[v], &mut inputs);
            updates.push(any);
        }
        let mut gates = self.argument_gates(&args)?;
        for f in &q.requires {
            let formula = f.formula.ok_or_else(|| format!("a `requires` of {} is asked for, not given", q.name))?;
            let property =
                c.requires.ok_or_else(|| format!("the call of {} has no property for its `requires`", q.name))?;
            gates.push(Gate { property, formula: self.p.terms.substitute(formula, passed.iter().copied()) });
        }
        let tt = self.p.terms.tt();
        let call = self.step(from, at[0], tt, updates, What::Skip, c.origin);
        self.code.actions[call].gates = gates;
        self.code.actions[call].inputs = inputs;
        self.of_calls.push(call);
        for (k, next) in order.next.iter().enumerate() {
            for n in next {
                let l = &order.actions[n - 1];
                let place = |f: &StorePlace| StorePlace {
                    var: f.var,
                    keys: f.keys.iter().map(|k| self.term(*k, &r)).collect(),
                };
                let action = TwoStore {
                    frame: l.action.frame.iter().map(place).collect(),
                    relation: self.term(l.action.relation, &r),
                };
                let step = executable(&self.p, &self.p.terms, &action);
                let text = format!("{}: {}", q.name, l.label);
                let origin = self.p.add_origin(self.p.origins[c.origin].span, text);
                let id = self.step(at[k], at[*n], step.guard, step.updates, What::Relation, origin);
                self.code.actions[id].inputs = step.inputs;
                self.code.actions[id].relation = Some(action);
                self.of_calls.push(id);
            }
        }
        let var = |v: &VarId| caller.vars.get(v).copied().unwrap_or(*v);
        for (k, _) in order.ends.iter().enumerate().filter(|(_, ends)| **ends) {
            let taken = c.results.iter().zip(&q.results);
            let updates = taken.map(|(v, x)| Update { var: var(v), value: self.p.now(r.vars[x]) }).collect();
            let id = self.step(at[k], to, tt, updates, What::Return, c.origin);
            self.of_calls.push(id);
        }
        Ok(())
    }

    /// What reading the arguments needs, as where the call is inlined.
    fn argument_gates(&self, args: &[Term]) -> Result<Vec<Gate>, String> {
        let (p, terms) = (&self.p, &self.p.terms);
        let touches = access::Touches::new(p, terms);
        let here = SymbolicStore::default();
        let mut out = Vec::new();
        for touch in args.iter().flat_map(|a| touches.of_term(*a)) {
            let Some(a) = access::predicate(p, terms, &touch.place, touch.mode, terms.sym(p.tid), &here) else {
                continue;
            };
            let kind = PropertyKind::Access(touch.place.var);
            let property = p.properties.iter_enumerated().find(|(_, q)| q.kind == kind).map(|(id, _)| id);
            let property = property.ok_or("an argument reads a guarded variable that has no property")?;
            out.push(Gate { property, formula: terms.implies(touch.when, terms.forall(&a.any, a.formula)) });
        }
        Ok(out)
    }
}
