//! Conformance with the set of candidate states as booleans (Abstract Threads, section 3.1): polynomial in the machine.
//!
//! In: a thread and its machine. Out: a simulation by formulas, a local run, or undecided. A thread without loops is one question to the SMT
//! solver: all its paths, the shared store new before each step. A thread with loops is Horn clauses, one relation for each location over the
//! locals and a boolean for each machine state, with one clause for each action: the text is linear in the thread and in the edges.
//! Deliberately absent: sets one by one (`check`), which is better where few of them occur in a thread with loops.

use super::outcome::Conformance;
use super::path::own_symbols;
use super::pointwise::pointwise;
use crate::infer::clauses::HornClauseBuilder;
use base::Budget;
use evidence::{CallReading, LocalRun, LocalStep, Reason, Simulation, SymbolicSimulation};
use logic::{Sort, Symbol, Term, Terms, Value};
use program::machine_step::{MachineWay, StateReached, edge_way, idle_way, reached};
use program::{ActionId, LocId, Machine, Program, PropertyId, ThreadId};
use solver::{Atom, Horn, HornAnswer, Satisfiability, Smt, SolverSettings, Z3};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) struct Symbolic<'a> {
    program: &'a Program,
    terms: &'a Terms,
    thread: ThreadId,
    machine: &'a Machine,
    settings: SolverSettings,
    budget: &'a Budget,
    /// Symbols in the text of the clauses or of the question.
    pub text: Vec<Term>,
}

/// A way in which a step is wrong, and the check that it fails; none where no machine state follows.
type WrongStep = (Term, Option<PropertyId>);

/// What one action does to the locals and the set of candidates, over given terms for everything before it.
struct SetStep {
    /// It can be taken, passes its gates, and some machine state follows.
    passes: Term,
    wrong: Vec<WrongStep>,
    next: Vec<Term>,
    locals: Vec<Term>,
    /// By state: the values of the machine's variables.
    own: Vec<Vec<Term>>,
    /// Nothing is left out by following one value of each.
    certain: Term,
}

/// Terms for the locals, the set of candidates, and the machine's variables in each state.
struct SetPoint<'a> {
    locals: &'a [Term],
    candidates: &'a [Term],
    own: &'a [Vec<Term>],
}

/// A location of the paths of a thread without loops.
struct PathPoint {
    here: Term,
    locals: Vec<Term>,
    candidates: Vec<Term>,
    own: Vec<Vec<Term>>,
}

impl PathPoint {
    fn view(&self) -> SetPoint<'_> {
        SetPoint { locals: &self.locals, candidates: &self.candidates, own: &self.own }
    }
}

impl<'a> Symbolic<'a> {
    pub(crate) fn new(
        program: &'a Program,
        terms: &'a Terms,
        thread: ThreadId,
        machine: &'a Machine,
        settings: SolverSettings,
        budget: &'a Budget,
    ) -> Self {
        Self { program, terms, thread, machine, settings, budget, text: Vec::new() }
    }

    /// The locations, each after all that lead to it; none if there is a loop.
    pub(crate) fn loop_free(&self) -> Option<Vec<LocId>> {
        let code = &self.program.threads[self.thread].code;
        let mut incoming = vec![0usize; code.locations.len()];
        let mut reached = BTreeSet::from([code.entry]);
        let mut todo = vec![code.entry];
        while let Some(l) = todo.pop() {
            todo.extend(code.from(l).map(|(_, a)| a.to).filter(|to| reached.insert(*to)));
        }
        code.actions.iter().filter(|a| reached.contains(&a.from)).for_each(|a| incoming[a.to.index()] += 1);
        let mut out = Vec::new();
        let mut ready: Vec<LocId> = (incoming[code.entry.index()] == 0).then_some(code.entry).into_iter().collect();
        while let Some(l) = ready.pop() {
            out.push(l);
            for (_, a) in code.from(l) {
                incoming[a.to.index()] -= 1;
                if incoming[a.to.index()] == 0 {
                    ready.push(a.to);
                }
            }
        }
        (out.len() == reached.len()).then_some(out)
    }

    fn locals(&self) -> Vec<Symbol> {
        self.program.threads[self.thread].locals.iter().map(|v| self.program.vars[*v].symbol).collect()
    }

    fn positive(&self) -> Term {
        self.terms.lt(self.terms.int(0), self.terms.sym(self.program.tid))
    }

    fn starts(&self, k: usize) -> Term {
        if self.machine.starts.contains(&k) { self.terms.tt() } else { self.terms.ff() }
    }

    /// The values that the machine's variables start with, in every state.
    fn own_initially(&self) -> Vec<Vec<Term>> {
        let values = self.machine.initial_values(self.program);
        self.machine.states.iter().map(|_| values.clone()).collect()
    }

    /// New symbols for the machine's variables in each state.
    fn own_symbols(&self) -> Vec<Vec<Symbol>> {
        own_symbols(self.program, self.terms, self.machine)
    }

    fn own_fresh(&self) -> Vec<Vec<Term>> {
        let t = self.terms;
        self.own_symbols().into_iter().map(|own| own.into_iter().map(|s| t.sym(s)).collect()).collect()
    }

    /// One action, with the symbols of the program for the store and the inputs, from these locals and candidates.
    fn step(&self, id: ActionId, at: &SetPoint<'_>) -> SetStep {
        let SetPoint { locals, candidates, own: values } = *at;
        let (t, p) = (self.terms, self.program);
        let action = &p.threads[self.thread].code.actions[id];
        let own: Vec<(Symbol, Term)> = self.locals().into_iter().zip(locals.iter().copied()).collect();
        let seen = |f: Term| t.substitute(f, own.iter().copied());
        let mut known = vec![self.positive(), seen(action.guard)];
        let vars = || self.machine.vars.iter().map(|v| p.vars[*v].symbol);
        for (k, (c, s)) in candidates.iter().zip(&self.machine.states).enumerate() {
            let of_machine = |f: Term| t.substitute(f, vars().zip(values[k].iter().copied()));
            known.extend(s.assertion.flatten().filter(|_| !t.is_false(*c)).map(|f| t.implies(*c, of_machine(f))));
        }
        let mut wrong = Vec::new();
        for gate in &action.gates {
            wrong.push((t.and(&[t.and(&known), t.not(seen(gate.formula))]), Some(gate.property)));
            known.push(seen(gate.formula));
        }
        let passes = t.and(&known);
        let taken = |k: usize, way: MachineWay| MachineWay {
            fits: t.and(&[candidates[k], t.simplify(pointwise(t, t.simplify(seen(way.fits))))]),
            values: way.values.into_iter().map(seen).collect(),
        };
        let after: Vec<StateReached> = (0..self.machine.states.len())
            .map(|y| {
                let from = |e: &&program::MachineEdge| e.to == y && !t.is_false(candidates[e.from]);
                let edges = self.machine.edges.iter().filter(from);
                let way = |e: &program::MachineEdge| edge_way(p, t, self.machine, e, &action.updates, &values[e.from]);
                let mut ways: Vec<MachineWay> = edges.map(|e| taken(e.from, way(e))).collect();
                if !self.machine.strict {
                    ways.push(taken(y, idle_way(p, t, &action.updates, &values[y])));
                }
                reached(t, &ways)
            })
            .collect();
        let next: Vec<Term> = after.iter().map(|r| t.simplify(r.reached)).collect();
        let certain: Vec<Term> = after.iter().map(|r| r.unambiguous).collect();
        let own = after
            .into_iter()
            .zip(values)
            .map(|(r, old)| if r.values.is_empty() { old.clone() } else { r.values })
            .collect();
        wrong.push((t.and(&[passes, t.not(t.or(&next))]), None));
        // A run ends where the machine is left behind.
        let passes = t.and(&[passes, t.or(&next)]);
        let after = |(v, old): (&program::VarId, &Term)| {
            action.updates.iter().find(|u| u.var == *v).map_or(*old, |u| seen(u.value))
        };
        let locals = p.threads[self.thread].locals.iter().zip(locals).map(after).collect();
        SetStep { passes, wrong, next, locals, own, certain: t.and(&certain) }
    }

    /// A renaming of the store and the inputs of an action to new symbols.
    fn fresh_store(&self, id: ActionId) -> Vec<(Symbol, Term)> {
        let (t, p) = (self.terms, self.program);
        let new = |s: Symbol| (s, t.sym(t.symbol(t.symbol_name(s), t.symbol_sort(s))));
        let inputs = p.threads[self.thread].code.actions[id].inputs.iter().map(|s| new(*s));
        p.shared().map(|v| new(p.vars[v].symbol)).chain(inputs).collect()
    }

    fn fresh_locals(&self) -> Vec<Term> {
        let t = self.terms;
        self.locals().iter().map(|s| t.sym(t.symbol(t.symbol_name(*s), t.symbol_sort(*s)))).collect()
    }

    fn initially(&self, locals: &[Term]) -> Vec<Term> {
        let (t, p) = (self.terms, self.program);
        let own = p.threads[self.thread].locals.iter().zip(locals);
        own.filter_map(|(v, x)| p.vars[*v].initial.map(|value| t.eq(*x, value))).collect()
    }

    /// The machine states that may be candidates at each location, whatever the edges say.
    fn possible(&self, order: &[LocId]) -> BTreeMap<LocId, BTreeSet<usize>> {
        let code = &self.program.threads[self.thread].code;
        let mut out: BTreeMap<LocId, BTreeSet<usize>> =
            BTreeMap::from([(code.entry, self.machine.starts.iter().copied().collect())]);
        for l in order {
            let here = out.entry(*l).or_default().clone();
            let mut next: BTreeSet<usize> =
                self.machine.edges.iter().filter(|e| here.contains(&e.from)).map(|e| e.to).collect();
            next.extend(here.iter().filter(|_| !self.machine.strict));
            for (_, a) in code.from(*l) {
                out.entry(a.to).or_default().extend(&next);
            }
        }
        out
    }

    /// All paths of a thread without loops, in one question.
    pub(crate) fn paths(&mut self, order: &[LocId]) -> Conformance {
        let (t, code) = (self.terms, &self.program.threads[self.thread].code);
        let states = self.machine.states.len();
        let locals = self.fresh_locals();
        let mut known = vec![self.positive()];
        known.extend(self.initially(&locals));
        let candidates = (0..states).map(|k| self.starts(k)).collect();
        let mut at: BTreeMap<LocId, PathPoint> =
            BTreeMap::from([(code.entry, PathPoint { here: t.tt(), locals, candidates, own: self.own_initially() })]);
        let possible = self.possible(order);
        let mut ways: BTreeMap<LocId, Vec<Term>> = BTreeMap::new();
        let (mut wrong, mut taken): (Vec<Term>, Vec<(ActionId, Term)>) = (Vec::new(), Vec::new());
        let mut failed: Vec<(ActionId, Term, Option<PropertyId>)> = Vec::new();
        for l in order {
            let Some(point) = at.remove(l) else { continue };
            if let Some(ways) = ways.remove(l) {
                known.push(t.implies(point.here, t.or(&ways)));
            }
            for (id, action) in code.from(*l) {
                let step = self.step(id, &point.view());
                let store = self.fresh_store(id);
                let seen = |f: Term| t.substitute(f, store.iter().copied());
                for (f, fails) in &step.wrong {
                    let bad = t.and(&[point.here, seen(*f)]);
                    if !t.is_false(bad) {
                        let named = t.sym(t.symbol("wrong", Sort::BOOL));
                        known.push(t.implies(named, bad));
                        wrong.push(named);
                        failed.push((id, named, *fails));
                    }
                }
                let next: Vec<Term> = step.next.iter().map(|f| seen(*f)).collect();
                let target = at.entry(action.to).or_insert_with(|| PathPoint {
                    here: t.sym(t.symbol(format!("at {}", action.to), Sort::BOOL)),
                    locals: self.fresh_locals(),
                    candidates: (0..states)
                        .map(|k| match possible[&action.to].contains(&k) {
                            true => t.sym(t.symbol("candidate", Sort::BOOL)),
                            false => t.ff(),
                        })
                        .collect(),
                    own: self.own_fresh(),
                });
                let took = t.sym(t.symbol("took", Sort::BOOL));
                let mut way = vec![took, point.here, seen(step.passes)];
                way.extend(target.locals.iter().zip(&step.locals).map(|(a, b)| t.eq(*a, seen(*b))));
                way.extend(target.candidates.iter().zip(&next).map(|(c, n)| t.eq(*c, *n)));
                let own = target.own.iter().flatten().zip(step.own.iter().flatten());
                way.extend(own.map(|(x, value)| t.eq(*x, seen(*value))));
                ways.entry(action.to).or_default().push(t.and(&way));
                taken.push((id, took));
            }
        }
        let question = t.and(&[t.and(&known), t.or(&wrong)]);
        self.text.push(question);
        let mut smt = match Z3::new(t, self.settings, self.budget) {
            Ok(smt) => smt,
            Err(why) => return Conformance::Undecided(Reason::Internal(why.to_string())),
        };
        smt.assert(question);
        match smt.check() {
            Satisfiability::Unsat => self.conforms(Vec::new()),
            Satisfiability::Unknown(why) => Conformance::Undecided(self.unanswered(why.to_string())),
            Satisfiability::Sat => {
                let is_so = |smt: &mut Z3<'_>, x: Term| smt.value(x) == Some(Value::Bool(true));
                let Some(bad) = failed.iter().find(|(_, named, _)| is_so(&mut smt, *named)) else {
                    return Conformance::Undecided(self.unanswered("a model is not definite".into()));
                };
                let mut path = vec![bad.0];
                let mut l = code.actions[bad.0].from;
                while l != code.entry {
                    let way = taken.iter().find(|(id, took)| code.actions[*id].to == l && is_so(&mut smt, *took));
                    let Some((id, _)) = way else { break };
                    path.push(*id);
                    l = code.actions[*id].from;
                }
                path.reverse();
                self.refuted(&path)
            }
        }
    }

    /// Clauses for a thread with loops.
    pub(crate) fn clauses(&mut self) -> Conformance {
        let (t, code) = (self.terms, &self.program.threads[self.thread].code);
        let sets: Vec<Symbol> = self.machine.states.iter().map(|s| t.symbol(s.name.clone(), Sort::BOOL)).collect();
        let mut params = self.locals();
        params.push(self.program.tid);
        params.extend(&sets);
        let own = self.own_symbols();
        params.extend(own.iter().flatten());
        let horn = Horn::new(t, self.settings, self.budget);
        let mut horn = HornClauseBuilder { horn, terms: t, wanted: Vec::new() };
        let relations: Vec<_> = code.locations.ids().map(|l| horn.relation(format!("{l}"), &params)).collect();
        let now: Vec<Term> = params.iter().map(|s| t.sym(*s)).collect();
        let (locals, candidates) = (&now[..self.locals().len()], &now[self.locals().len() + 1..][..sets.len()]);
        let values: Vec<Vec<Term>> = own.iter().map(|own| own.iter().map(|s| t.sym(*s)).collect()).collect();
        let at = SetPoint { locals, candidates, own: &values };
        let mut initial = self.initially(locals);
        initial.push(self.positive());
        let mut first: Vec<Term> = now[..self.locals().len() + 1].to_vec();
        first.extend((0..sets.len()).map(|k| self.starts(k)));
        first.extend(self.own_initially().into_iter().flatten());
        let head = Atom { relation: relations[code.entry.index()], args: first };
        horn.initial(t.and(&initial), head);
        let mut meaning: Vec<Option<ActionId>> = vec![None];
        for (id, action) in code.actions.iter_enumerated() {
            let step = self.step(id, &at);
            let from = Atom { relation: relations[action.from.index()], args: now.clone() };
            for (wrong, _) in &step.wrong {
                self.text.push(*wrong);
                horn.never(&from, *wrong);
                meaning.push(Some(id));
            }
            let mut args = step.locals.clone();
            args.push(t.sym(self.program.tid));
            args.extend(&step.next);
            args.extend(step.own.iter().flatten());
            self.text.extend(&args);
            let to = Atom { relation: relations[action.to.index()], args };
            horn.leads(vec![from], step.passes, to);
            meaning.push(Some(id));
        }
        match horn.horn.solve() {
            HornAnswer::Safe(solution) => {
                let cuts = code.locations.ids().zip(solution).collect();
                let mut found = self.conforms(cuts);
                if let Conformance::Conforms(Simulation { symbolic: Some(s), own: symbols, .. }) = &mut found {
                    s.candidates = sets;
                    *symbols = if self.machine.vars.is_empty() { Vec::new() } else { own };
                }
                found
            }
            HornAnswer::Unsafe(rules) => {
                let path: Vec<ActionId> =
                    rules.iter().rev().filter_map(|r| meaning.get(*r).copied().flatten()).collect();
                self.refuted(&path)
            }
            HornAnswer::Unknown(why) => Conformance::Undecided(self.unanswered(why.to_string())),
        }
    }

    fn conforms(&self, cuts: Vec<(LocId, Term)>) -> Conformance {
        let t = self.terms;
        let candidates = self.machine.states.iter().map(|s| t.symbol(s.name.clone(), Sort::BOOL)).collect();
        let symbolic = Some(SymbolicSimulation { candidates, cuts });
        let own = if self.machine.vars.is_empty() { Vec::new() } else { self.own_symbols() };
        Conformance::Conforms(Simulation { thread: self.thread, own, pairs: Vec::new(), symbolic })
    }

    fn unanswered(&self, reason: String) -> Reason {
        let name = &self.program.threads[self.thread].name;
        Reason::Solver { reason, obligation: format!("whether {name} follows {}", self.machine.name) }
    }

    /// Values along a path whose last action is wrong.
    fn refuted(&self, path: &[ActionId]) -> Conformance {
        match self.along(path) {
            Some((run, fails)) => Conformance::Refuted(run, fails),
            None => Conformance::Undecided(Reason::Alarm(
                "a step that no machine state follows seems possible, but no concrete run was found".into(),
            )),
        }
    }

    fn along(&self, path: &[ActionId]) -> Option<(LocalRun, Option<PropertyId>)> {
        let (t, p) = (self.terms, self.program);
        let (_, violates) = p.threads[self.thread].follows?;
        let initial = self.fresh_locals();
        let mut smt = Z3::new(t, self.settings, self.budget).ok()?;
        let asserted = |smt: &mut Z3<'_>, f: Term| smt.assert(t.substitute(f, [(p.tid, t.int(1))]));
        self.initially(&initial).into_iter().for_each(|f| asserted(&mut smt, f));
        let mut locals = initial.clone();
        let mut candidates: Vec<Term> = (0..self.machine.states.len()).map(|k| self.starts(k)).collect();
        let mut own = self.own_initially();
        let mut stores = Vec::new();
        let mut last = Vec::new();
        for (i, id) in path.iter().enumerate() {
            let store = self.fresh_store(*id);
            let step = self.step(*id, &SetPoint { locals: &locals, candidates: &candidates, own: &own });
            let seen = |f: &Term| t.substitute(*f, store.iter().copied());
            asserted(&mut smt, seen(&step.certain));
            if i + 1 == path.len() {
                last = step.wrong.iter().map(|(f, fails)| (seen(f), *fails)).collect();
                let any: Vec<Term> = last.iter().map(|(f, _)| *f).collect();
                asserted(&mut smt, t.or(&any));
            } else {
                asserted(&mut smt, seen(&step.passes));
                locals = step.locals.iter().map(seen).collect();
                candidates = step.next.iter().map(seen).collect();
                own = step.own.iter().map(|own| own.iter().map(seen).collect()).collect();
            }
            stores.push(store);
        }
        if !smt.check().is_sat() {
            return None;
        }
        let mut value = |x: Term| smt.value(x).unwrap_or_else(|| Value::default_of(t, t.sort_of(x)));
        let start: Vec<Value> = initial.iter().map(|x| value(*x)).collect();
        let shared = p.shared().count();
        let steps = path
            .iter()
            .zip(&stores)
            .map(|(id, store)| LocalStep {
                store: store[..shared].iter().map(|(_, x)| value(*x)).collect(),
                action: *id,
                inputs: store[shared..].iter().map(|(_, x)| value(*x)).collect(),
            })
            .collect();
        let one = |f: Term| t.substitute(f, [(p.tid, t.int(1))]);
        let fails = last.iter().find(|(f, _)| value(one(*f)) == Value::Bool(true)).and_then(|(_, fails)| *fails);
        let run =
            LocalRun { violates, thread: self.thread, reading: CallReading::Code, locals: start, steps, also: None };
        Some((run, fails))
    }
}
