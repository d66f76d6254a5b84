//! Rule `simulation`: a thread conforms to its machine (Abstract Threads, section 3, Theorem 2).
//!
//! In: for locations of the thread, sets of candidate machine states and a formula over the thread's locals. Out: the
//! obligations, a function for each, in which the shared store before each step is arbitrary (the environment may have done anything), but
//! satisfies every candidate's assertion (else the machine goes wrong here, and need not follow any further):
//!   SM1  with initial locals, some pair of the entry and start states of the machine holds;
//!   SM2  no action fails a gate;
//!   SM3  each action leads to some pair of its target, all of whose candidates are reached by a step of the machine (or its
//!        idle step) from a candidate before, with the same change of the shared store.
//! SM1 and SM3 ask for a subset of the candidates that Theorem 2 computes; fewer candidates are only harder to follow with.
//! Where the machine has variables, a formula also speaks of their values in each candidate; SM3 takes those of the first step that fits. The machine goes wrong by an assertion about
//! these values, too.
//! A certificate may also speak of the set of candidates by formulas (`simulation_cuts`, SM4 to SM6).
//! Steps inside atomic blocks are steps of their own here, so a block with a loop must be followed step by step.

use super::{simulation_cuts, wrong_form};
use crate::obligation::{self, AllowedSymbols, Obligation, Premise};
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{Certificate, Proof, Simulation, SimulationPair};
use logic::{Sort, Symbol};
use logic::{Term, Terms};
use program::machine_step::{MachineWay, StateReached, edge_way, idle_way, reached};
use program::{Action, Machine, Program, PropertyKind, Thread};
use std::collections::BTreeSet;

const SM1: Premise = Premise::new("simulation", "SM1");
const SM2: Premise = Premise::new("simulation", "SM2");
const SM3: Premise = Premise::new("simulation", "SM3");

pub(crate) fn check_simulation(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Simulation(proof) = &c.proof else { return Err(wrong_form()) };
    // It shows that its thread follows its machine, and nothing else.
    let follows = PropertyKind::Follows(proof.thread);
    if let Some(q) = c.properties.iter().find(|q| session.program.properties[**q].kind != follows) {
        return Err(Rejection::not_about(session.program, *q));
    }
    let list = obligations(session.program, &c.terms, proof)?;
    session.discharge(c, list)
}

pub fn obligations(program: &Program, terms: &Terms, proof: &Simulation) -> Result<Vec<Obligation>, Rejection> {
    let machine = vet(program, terms, proof)?;
    if let Some(symbolic) = &proof.symbolic {
        return simulation_cuts::obligations(program, terms, proof, machine, symbolic);
    }
    let thread = &program.threads[proof.thread];
    let mut rule = Simulates { program, terms, proof, machine, thread, out: Vec::new() };
    rule.start();
    for pair in &proof.pairs {
        for action in thread.code.actions.iter().filter(|a| a.from == pair.location) {
            let passed = rule.gates(pair, action);
            rule.followed(pair, action, passed);
        }
    }
    Ok(rule.out)
}

struct Simulates<'a> {
    program: &'a Program,
    terms: &'a Terms,
    proof: &'a Simulation,
    machine: &'a Machine,
    thread: &'a Thread,
    out: Vec<Obligation>,
}

impl Simulates<'_> {
    fn positive(&self) -> Term {
        self.terms.lt(self.terms.int(0), self.terms.sym(self.program.tid))
    }
    fn describe(&self, pair: &SimulationPair, action: &Action) -> String {
        let names: Vec<&str> = pair.candidates.iter().map(|c| self.machine.states[*c as usize].name.as_str()).collect();
        let who = obligation::describe_action(self.program, self.proof.thread, action);
        format!("{who} as {{{}}}", names.join(", "))
    }

    /// The values of the machine's variables in a state.
    fn own(&self, state: u32) -> Vec<Term> {
        self.proof.own.get(state as usize).map_or_else(Vec::new, |own| own.iter().map(|s| self.terms.sym(*s)).collect())
    }

    /// A formula about the machine itself, in a state.
    fn of_machine(&self, formula: Term, state: u32) -> Term {
        let vars = self.machine.vars.iter().map(|v| self.program.vars[*v].symbol);
        self.terms.substitute(formula, vars.zip(self.own(state)))
    }

    /// SM1.
    fn start(&mut self) {
        let t = self.terms;
        let entry = self.thread.code.entry;
        let starts = |p: &&SimulationPair| p.candidates.iter().all(|c| self.machine.starts.contains(&(*c as usize)));
        let first = self.proof.pairs.iter().filter(|p| p.location == entry).filter(starts);
        let values = self.machine.initial_values(self.program);
        let own = |p: &SimulationPair| -> Vec<(Symbol, Term)> {
            let of =
                |c: &u32| self.proof.own.get(*c as usize).into_iter().flatten().copied().zip(values.iter().copied());
            p.candidates.iter().flat_map(of).collect()
        };
        let first: Vec<Term> = first.map(|p| t.substitute(p.formula, own(p))).collect();
        let initial = t.and(&[self.positive(), obligation::initial_locals(self.program, t, self.proof.thread)]);
        let what = format!("{} starts with {}", self.thread.name, self.machine.name);
        self.out.push(Obligation::common(SM1, what, t.implies(initial, t.or(&first))));
    }

    /// SM2; gives what is known once the action has passed every gate. The store before it is arbitrary, but satisfies the assertion of
    /// every candidate: else the machine goes wrong here.
    fn gates(&mut self, pair: &SimulationPair, action: &Action) -> Term {
        let t = self.terms;
        let assertion = |c: &u32| self.machine.states[*c as usize].assertion.flatten().map(|f| self.of_machine(f, *c));
        let asserted = t.and(&pair.candidates.iter().filter_map(assertion).collect::<Vec<_>>());
        let mut known = vec![self.positive(), pair.formula, asserted, action.guard];
        for gate in &action.gates {
            let property = &self.program.properties[gate.property].name;
            let what = format!("{} does not violate {property}", self.describe(pair, action));
            self.out.push(Obligation::common(SM2, what, t.implies(t.and(&known), gate.formula)));
            known.push(gate.formula);
        }
        t.and(&known)
    }

    /// SM3.
    fn followed(&mut self, pair: &SimulationPair, action: &Action, passed: Term) {
        let t = self.terms;
        let targets = self.proof.pairs.iter().filter(|to| to.location == action.to);
        let targets: Vec<Term> = targets
            .map(|to| {
                let after: Vec<StateReached> =
                    to.candidates.iter().map(|state| self.reached(pair, action, *state)).collect();
                let own = to.candidates.iter().zip(&after).flat_map(|(state, r)| {
                    self.proof.own.get(*state as usize).into_iter().flatten().copied().zip(r.values.iter().copied())
                });
                let own: Vec<(Symbol, Term)> = own.collect();
                let mut parts = vec![obligation::after_with(self.program, t, action, to.formula, &own)];
                parts.extend(after.iter().map(|r| r.reached));
                t.and(&parts)
            })
            .collect();
        let what = format!("{} is followed by the machine", self.describe(pair, action));
        self.out.push(Obligation::common(SM3, what, t.implies(passed, t.or(&targets))));
    }

    /// The machine may go from a candidate of the pair to this state, changing the shared store as the action does.
    fn reached(&self, from: &SimulationPair, action: &Action, to: u32) -> StateReached {
        let (p, t) = (self.program, self.terms);
        let leads = |e: &&program::MachineEdge| e.to == to as usize && from.candidates.contains(&(e.from as u32));
        let edges = self.machine.edges.iter().filter(leads);
        let mut ways: Vec<MachineWay> =
            edges.map(|e| edge_way(p, t, self.machine, e, &action.updates, &self.own(e.from as u32))).collect();
        if !self.machine.strict && from.candidates.contains(&to) {
            ways.push(idle_way(p, t, &action.updates, &self.own(to)));
        }
        reached(t, &ways)
    }
}

fn vet<'a>(program: &'a Program, terms: &Terms, proof: &Simulation) -> Result<&'a Machine, Rejection> {
    let thread = program.threads.get(proof.thread).ok_or_else(|| Rejection::shape("there is no such thread"))?;
    let follows =
        thread.follows.ok_or_else(|| Rejection::outside(format!("thread {} follows no machine", thread.name)))?;
    let machine = &program.machines[follows.0];
    if thread.code.actions.iter().any(|a| a.spawn.is_some()) || !thread.code.calls.is_empty() {
        return Err(Rejection::outside("threads that spawn or call are outside this rule"));
    }
    if machine.states.iter().any(|s| s.assertion == Some(None)) {
        return Err(Rejection::outside("an assertion of the machine is asked for, not given"));
    }
    if proof.symbolic.is_some() && !proof.pairs.is_empty() {
        return Err(Rejection::shape("it speaks of sets one by one and by formulas"));
    }
    vet_own(program, terms, proof, machine)?;
    for p in &proof.pairs {
        let increasing = p.candidates.windows(2).all(|w| w[0] < w[1]);
        let fits = !p.candidates.is_empty() && p.candidates.iter().all(|c| (*c as usize) < machine.states.len());
        if thread.code.locations.get(p.location).is_none() || !increasing || !fits {
            return Err(Rejection::shape(format!("a pair at {} has no such candidates", p.location)));
        }
        let own = AllowedSymbols::locals(program, proof.thread).into_iter().chain([program.tid]);
        let values = p.candidates.iter().filter_map(|c| proof.own.get(*c as usize)).flatten().copied();
        let vocabulary = AllowedSymbols::new(program, own.chain(values)).reserving(proof.own.iter().flatten().copied());
        vocabulary.admits(terms, p.formula, &format!("the formula at {}", p.location))?;
    }
    Ok(machine)
}

/// One new symbol for each variable of the machine in each of its states.
fn vet_own(program: &Program, terms: &Terms, proof: &Simulation, machine: &Machine) -> Result<(), Rejection> {
    let sorts: Vec<Sort> = machine.vars.iter().map(|v| program.vars[*v].sort).collect();
    let fits = |own: &Vec<Symbol>| own.iter().map(|s| terms.symbol_sort(*s)).eq(sorts.iter().copied());
    let wanted = if sorts.is_empty() { 0 } else { machine.states.len() };
    let different: BTreeSet<Symbol> = proof.own.iter().flatten().copied().collect();
    let taken = simulation_cuts::symbols_of(program);
    let count: usize = proof.own.iter().map(Vec::len).sum();
    if proof.own.len() != wanted
        || !proof.own.iter().all(fits)
        || different.len() != count
        || !different.is_disjoint(&taken)
    {
        return Err(Rejection::shape("there is not one new symbol for each variable of the machine in each state"));
    }
    Ok(())
}
