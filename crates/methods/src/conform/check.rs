//! The conformance checker C(T, T#) of Abstract Threads, section 3, as Horn clauses.
//!
//! In: a thread and its machine. Out: a simulation, a local run that breaks conformance, or undecided. A relation for
//! each pair of a location and a set of candidate states, over the thread's locals; shared variables are free in every
//! clause, for the environment may change them at will between two steps. The sets that a step can lead to are
//! enumerated by the solver. Each clause mentions each edge from a candidate once: the text is linear in the thread and
//! at most quadratic in the machine. A thread without loops, or with too many sets, is looked at with the set as booleans (`symbolic`).

use super::outcome::Conformance;
use super::path::{self, ProductRun, ProductStep, own_symbols};
use super::pointwise::pointwise;
use super::symbolic::Symbolic;
use crate::infer::clauses::HornClauseBuilder;
use crate::method::Run;
use base::Budget;
use evidence::{Reason, Simulation, SimulationPair};
use logic::{Node, SortKind, Symbol, Term, Terms, Value};
use program::machine_step::{MachineWay, StateReached, edge_way, idle_way, reached};
use program::{ActionId, LocId, Machine, Program, PropertyId, ThreadId};
use solver::{Atom, Horn, HornAnswer, Relation, Satisfiability, Smt, SolverSettings, Z3};
use std::collections::BTreeMap;

/// Beyond this many the set of candidates is followed as booleans.
const MAX_PAIRS: usize = 600;

pub(crate) struct ConformanceResult {
    pub outcome: Conformance,
    pub pairs: usize,
    pub clauses: usize,
    /// Symbols in the text of all clauses.
    pub text: u64,
}

/// What each Horn clause is.
enum Clause {
    Start,
    Step(ProductStep),
    /// With the check that fails.
    Goal(ProductStep, Option<PropertyId>),
}

/// The same with the set of candidates as booleans alone.
pub(crate) fn check_by_formulas(program: &Program, terms: &Terms, thread: ThreadId, run: &Run) -> ConformanceResult {
    let settings = SolverSettings { seed: run.seed as u32, ..SolverSettings::default() };
    let (machine, _) = program.threads[thread].follows.expect("asked only of threads that follow a machine");
    let mut symbolic = Symbolic::new(program, terms, thread, &program.machines[machine], settings, &run.budget);
    let outcome = match symbolic.loop_free() {
        Some(order) => symbolic.paths(&order),
        None => symbolic.clauses(),
    };
    let actions = program.threads[thread].code.actions.len();
    ConformanceResult { outcome, pairs: actions, clauses: actions, text: text_of(terms, &symbolic.text) }
}

pub(crate) fn check_conformance(program: &Program, terms: &Terms, thread: ThreadId, run: &Run) -> ConformanceResult {
    let settings = SolverSettings { seed: run.seed as u32, ..SolverSettings::default() };
    let (machine, _) = program.threads[thread].follows.expect("asked only of threads that follow a machine");
    let machine = &program.machines[machine];
    if let Some(s) = machine.states.iter().find(|s| s.assertion == Some(None)) {
        let why = Reason::NotAdmitted(format!("the assertion of state {} is asked for, not given", s.name));
        return ConformanceResult { outcome: Conformance::Undecided(why), pairs: 0, clauses: 0, text: 0 };
    }
    let mut symbolic = Symbolic::new(program, terms, thread, machine, settings, &run.budget);
    let order = symbolic.loop_free();
    if let Some(order) = &order {
        let outcome = symbolic.paths(order);
        if !matches!(outcome, Conformance::Undecided(_)) {
            return ConformanceResult { outcome, pairs: order.len(), clauses: 1, text: text_of(terms, &symbolic.text) };
        }
    }
    let mut product = match MachineProduct::new(program, terms, thread, settings, &run.budget) {
        Ok(product) => product,
        Err(reason) => {
            return ConformanceResult { outcome: Conformance::Undecided(reason), pairs: 0, clauses: 0, text: 0 };
        }
    };
    let built = product.build();
    let (pairs, clauses, text) = (product.pairs.len(), product.clauses.len(), product.text());
    let outcome = match built {
        Err(reason) => Conformance::Undecided(reason),
        Ok(()) => product.solve(settings, &run.budget),
    };
    if order.is_none() && matches!(outcome, Conformance::Undecided(_)) && run.budget.check().is_ok() {
        symbolic.text.clear();
        let found = symbolic.clauses();
        if !matches!(found, Conformance::Undecided(_)) {
            let actions = program.threads[thread].code.actions.len();
            let text = text_of(terms, &symbolic.text);
            return ConformanceResult { outcome: found, pairs: actions, clauses: actions, text };
        }
    }
    ConformanceResult { outcome, pairs, clauses, text }
}

struct MachineProduct<'a> {
    program: &'a Program,
    terms: &'a Terms,
    thread: ThreadId,
    machine: &'a Machine,
    smt: Z3<'a>,
    horn: HornClauseBuilder<'a>,
    params: Vec<Symbol>,
    /// By state: symbols for the values of the machine's variables there.
    own: Vec<Vec<Symbol>>,
    pairs: BTreeMap<(LocId, Vec<u32>), Relation>,
    todo: Vec<(LocId, Vec<u32>)>,
    clauses: Vec<Clause>,
}

/// Spacer knows no sets and no sequences: nothing is kept of such values.
fn is_kept(terms: &Terms, s: Symbol) -> bool {
    !matches!(terms.kind(terms.symbol_sort(s)), SortKind::Set(_) | SortKind::Seq(_))
}

impl<'a> MachineProduct<'a> {
    fn new(
        program: &'a Program,
        terms: &'a Terms,
        thread: ThreadId,
        settings: SolverSettings,
        budget: &Budget,
    ) -> Result<Self, Reason> {
        let (machine, _) = program.threads[thread].follows.expect("asked only of threads that follow a machine");
        let machine = &program.machines[machine];
        let smt = Z3::new(terms, settings, budget).map_err(|r| Reason::Internal(r.to_string()))?;
        let locals = program.threads[thread].locals.iter().map(|v| program.vars[*v].symbol);
        let mut params: Vec<Symbol> = locals.filter(|s| is_kept(terms, *s)).collect();
        params.push(program.tid);
        Ok(Self {
            program,
            terms,
            thread,
            machine,
            smt,
            horn: HornClauseBuilder { horn: Horn::new(terms, settings, budget), terms, wanted: Vec::new() },
            params,
            own: own_symbols(program, terms, machine),
            pairs: BTreeMap::new(),
            todo: Vec::new(),
            clauses: Vec::new(),
        })
    }

    fn relation(&mut self, at: LocId, candidates: &[u32]) -> Relation {
        if let Some(r) = self.pairs.get(&(at, candidates.to_vec())) {
            return *r;
        }
        let mut params = self.params.clone();
        params.extend(self.own_of(candidates));
        let relation = self.horn.relation(format!("{at}"), &params);
        self.pairs.insert((at, candidates.to_vec()), relation);
        self.todo.push((at, candidates.to_vec()));
        relation
    }

    /// The symbols of the machine's variables in these states that relations speak of.
    fn own_of(&self, candidates: &[u32]) -> Vec<Symbol> {
        let own = candidates.iter().flat_map(|c| &self.own[*c as usize]).copied();
        own.filter(|s| is_kept(self.terms, *s)).collect()
    }

    fn now(&self, candidates: &[u32]) -> Vec<Term> {
        self.params.iter().copied().chain(self.own_of(candidates)).map(|s| self.terms.sym(s)).collect()
    }

    /// The values of the machine's variables at the start, in every state.
    fn initial_own(&self) -> Vec<(Symbol, Term)> {
        let values = self.machine.initial_values(self.program);
        self.own.iter().flat_map(|own| own.iter().copied().zip(values.iter().copied())).collect()
    }

    fn build(&mut self) -> Result<(), Reason> {
        let (t, p) = (self.terms, self.program);
        let positive = t.lt(t.int(0), t.sym(p.tid));
        let mut initial = vec![positive];
        for v in &p.threads[self.thread].locals {
            initial.extend(p.vars[*v].initial.map(|value| t.eq(t.sym(p.vars[*v].symbol), value)));
        }
        let entry = p.threads[self.thread].code.entry;
        let starts: Vec<u32> = self.machine.starts.iter().map(|s| *s as u32).collect();
        let start = self.relation(entry, &starts);
        let own = self.initial_own();
        let args = self.now(&starts).into_iter().map(|x| t.substitute(x, own.iter().copied())).collect();
        let head = Atom { relation: start, args };
        self.horn.initial(t.and(&initial), head);
        self.clauses.push(Clause::Start);
        while let Some((at, candidates)) = self.todo.pop() {
            if self.pairs.len() > MAX_PAIRS {
                return Err(Reason::NotAdmitted(format!(
                    "more than {MAX_PAIRS} pairs of a location and a set of machine states"
                )));
            }
            let ids: Vec<ActionId> = p.threads[self.thread]
                .code
                .actions
                .iter_enumerated()
                .filter(|(_, a)| a.from == at)
                .map(|(id, _)| id)
                .collect();
            for id in ids {
                self.action(at, &candidates, id)?;
            }
        }
        Ok(())
    }

    fn action(&mut self, at: LocId, candidates: &[u32], id: ActionId) -> Result<(), Reason> {
        let (t, p) = (self.terms, self.program);
        let action = &p.threads[self.thread].code.actions[id];
        let from = self.pairs[&(at, candidates.to_vec())];
        let vars = || self.machine.vars.iter().map(|v| p.vars[*v].symbol);
        let asserted = |c: &u32| {
            let own = self.own[*c as usize].iter().map(|s| t.sym(*s));
            self.machine.states[*c as usize].assertion.flatten().map(|f| t.substitute(f, vars().zip(own)))
        };
        let asserted: Vec<Term> = candidates.iter().filter_map(asserted).collect();
        let mut pre = vec![t.lt(t.int(0), t.sym(p.tid)), t.and(&asserted), action.guard];
        for gate in &action.gates {
            let constraint = t.and(&[t.and(&pre), t.not(gate.formula)]);
            let fails = Some(gate.property);
            self.goal((from, candidates), ProductStep::last(t, id, constraint), fails);
            pre.push(gate.formula);
        }
        let ways: Vec<StateReached> =
            (0..self.machine.states.len() as u32).map(|c| self.reached(candidates, id, c)).collect();
        let reached: Vec<Term> = ways.iter().map(|w| w.reached).collect();
        let own = |k: usize| self.own[k].iter().copied().zip(ways[k].values.iter().copied());
        let mut effect: Vec<(Symbol, Term)> = action.updates.iter().map(|u| (p.vars[u.var].symbol, u.value)).collect();
        effect.extend((0..ways.len()).flat_map(own));
        let own: Vec<(Symbol, Term)> = (0..ways.len()).flat_map(own).collect();
        let certain = t.and(&ways.iter().map(|w| w.unambiguous).collect::<Vec<_>>());
        self.smt.push();
        self.smt.assert(t.and(&pre));
        // What a model says of a formula with a quantifier is read off a name for it.
        let named: Vec<Term> = reached.iter().map(|_| t.sym(t.symbol("reached", logic::Sort::BOOL))).collect();
        named.iter().zip(&reached).for_each(|(n, r)| self.smt.assert(t.eq(*n, *r)));
        let mut sets: Vec<(Vec<u32>, Term)> = Vec::new();
        let answer = loop {
            match self.smt.check() {
                Satisfiability::Sat => {}
                other => break other,
            }
            let values: Vec<bool> = named.iter().map(|r| self.smt.value(*r) == Some(Value::Bool(true))).collect();
            let exactly: Vec<Term> =
                reached.iter().zip(&values).map(|(r, v)| if *v { *r } else { t.not(*r) }).collect();
            let exactly = t.and(&exactly);
            // A model value that the solver could not give would loop for ever; such a set is asked for again below.
            if sets.iter().any(|(_, e)| *e == exactly) {
                break Satisfiability::Unknown(solver::UnknownReason::GaveUp("a model is not definite".into()));
            }
            let set: Vec<u32> = (0..values.len() as u32).filter(|i| values[*i as usize]).collect();
            self.smt.assert(t.not(exactly));
            sets.push((set, exactly));
        };
        self.smt.pop();
        if let Satisfiability::Unknown(reason) = answer {
            let obligation = format!("which machine states follow `{}`", p.origins[action.origin].text);
            return Err(Reason::Solver { reason: reason.to_string(), obligation });
        }
        // What is so in every model need not be said again.
        let always =
            |k: &usize| sets.iter().all(|(set, _)| set.contains(&(*k as u32)) == sets[0].0.contains(&(*k as u32)));
        let open: Vec<usize> = (0..reached.len()).filter(|k| !always(k)).collect();
        for (set, _) in &sets {
            let exactly = open.iter().map(|k| match set.contains(&(*k as u32)) {
                true => reached[*k],
                false => t.not(reached[*k]),
            });
            let constraint = t.and(&pre.iter().copied().chain(exactly).collect::<Vec<_>>());
            if set.is_empty() {
                let last = ProductStep { certain, ..ProductStep::last(t, id, constraint) };
                self.goal((from, candidates), last, None);
                continue;
            }
            let to = self.relation(action.to, set);
            let body = vec![Atom { relation: from, args: self.now(candidates) }];
            let after = self.now(set).into_iter().map(|x| t.substitute(x, effect.iter().copied())).collect();
            self.horn.leads(body, constraint, Atom { relation: to, args: after });
            self.clauses.push(Clause::Step(ProductStep { action: id, constraint, own: own.clone(), certain }));
        }
        Ok(())
    }

    fn goal(&mut self, (from, candidates): (Relation, &[u32]), step: ProductStep, fails: Option<PropertyId>) {
        self.horn.never(&Atom { relation: from, args: self.now(candidates) }, step.constraint);
        self.clauses.push(Clause::Goal(step, fails));
    }

    /// The machine can go from a candidate to this state, changing the shared store as the action does.
    fn reached(&self, candidates: &[u32], id: ActionId, to: u32) -> StateReached {
        let (t, p) = (self.terms, self.program);
        let updates = &p.threads[self.thread].code.actions[id].updates;
        let own = |k: usize| -> Vec<Term> { self.own[k].iter().map(|s| t.sym(*s)).collect() };
        let mut ways: Vec<MachineWay> = self
            .machine
            .edges
            .iter()
            .filter(|e| e.to == to as usize && candidates.contains(&(e.from as u32)))
            .map(|e| edge_way(p, t, self.machine, e, updates, &own(e.from)))
            .collect();
        if !self.machine.strict && candidates.contains(&to) {
            ways.push(idle_way(p, t, updates, &own(to as usize)));
        }
        ways.iter_mut().for_each(|w| w.fits = t.simplify(pointwise(t, t.simplify(w.fits))));
        reached(t, &ways)
    }

    /// How much would be written if the clauses were printed, with each constraint written out.
    fn text(&self) -> u64 {
        let mut sizes: BTreeMap<Term, u64> = BTreeMap::new();
        let step = |c: &Clause| if let Clause::Step(s) | Clause::Goal(s, _) = c { Some(s.constraint) } else { None };
        self.clauses.iter().map(|c| 1 + step(c).map_or(0, |f| size(self.terms, f, &mut sizes))).sum()
    }

    fn solve(mut self, settings: SolverSettings, budget: &Budget) -> Conformance {
        match self.horn.horn.solve() {
            HornAnswer::Safe(solution) => {
                let pairs = self
                    .pairs
                    .iter()
                    .map(|((at, set), r)| SimulationPair {
                        location: *at,
                        candidates: set.clone(),
                        formula: solution[r.index()],
                    })
                    .filter(|p| !self.terms.is_false(p.formula))
                    .collect();
                let own = if self.machine.vars.is_empty() { Vec::new() } else { self.own.clone() };
                Conformance::Conforms(Simulation { thread: self.thread, own, pairs, symbolic: None })
            }
            HornAnswer::Unsafe(rules) => {
                let steps: Option<Vec<ProductStep>> = rules
                    .iter()
                    .rev()
                    .filter(|r| !matches!(self.clauses.get(**r), Some(Clause::Start)))
                    .map(|r| match self.clauses.get(*r) {
                        Some(Clause::Step(s) | Clause::Goal(s, _)) => Some(s.clone()),
                        _ => None,
                    })
                    .collect();
                let local = steps.map(|steps| ProductRun { thread: self.thread, own: self.initial_own(), steps });
                let local = local.and_then(|run| path::concrete(self.program, self.terms, &run, settings, budget));
                let fails = rules.iter().find_map(|r| match self.clauses.get(*r) {
                    Some(Clause::Goal(_, fails)) => *fails,
                    _ => None,
                });
                match local {
                    Some(local) => Conformance::Refuted(local, fails),
                    None => Conformance::Undecided(Reason::Alarm(
                        "a step that no machine state follows seems possible, but no concrete run was found".into(),
                    )),
                }
            }
            HornAnswer::Unknown(reason) => Conformance::Undecided(Reason::Solver {
                reason: reason.to_string(),
                obligation: format!(
                    "loop invariants of {} against {}",
                    self.program.threads[self.thread].name, self.machine.name
                ),
            }),
        }
    }
}

fn text_of(terms: &Terms, formulas: &[Term]) -> u64 {
    let mut sizes = BTreeMap::new();
    formulas.iter().map(|f| size(terms, *f, &mut sizes)).sum()
}

/// The number of symbols of a term, written out.
fn size(terms: &Terms, term: Term, known: &mut BTreeMap<Term, u64>) -> u64 {
    if let Some(n) = known.get(&term) {
        return *n;
    }
    let n = match terms.node(term) {
        Node::App(_, args) => args.iter().fold(1, |n: u64, a| n.saturating_add(size(terms, *a, known))),
        Node::Quant(_, bound, body) => size(terms, body, known).saturating_add(1 + bound.len() as u64),
        _ => 1,
    };
    known.insert(term, n);
    n
}
