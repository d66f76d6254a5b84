//! Rule `simulation`, with the set of candidate states as booleans: the instrumentation of Abstract Threads, section 3.1, between cuts.
//!
//! In: a boolean for each machine state and, where loops are cut, a formula over the thread's locals and these booleans. Out: the obligations.
//! A region is the code from the entry or from a cut along all paths to the next cuts. In it the locals and the set are followed exactly, the shared
//! store is new before each step (the environment may have done anything) and satisfies the assertion of every candidate:
//!   SM4  the cuts break every loop;
//!   SM5  in no region an action fails a gate, or leaves the set of candidates empty: the entry's region begins with initial locals and the
//!        machine's start states, a cut's with what its formula allows;
//!   SM6  every cut is reached with its formula.
//! Where the machine has variables, their values in each state are followed like the locals, each by the first step that fits.
//! The entry may be a cut as well; then it is reached at the start. Deliberately absent: fewer candidates than Theorem 2 computes.

use crate::obligation::{self, AllowedSymbols, Obligation, Premise};
use crate::rejection::Rejection;
use evidence::{Simulation, SymbolicSimulation};
use logic::{Sort, Symbol, Term, Terms};
use program::machine_step::{MachineWay, StateReached, edge_way, idle_way, reached};
use program::{Action, LocId, Machine, Program, Thread, ThreadId, VarId};
use std::collections::{BTreeMap, BTreeSet};

const SM4: Premise = Premise::new("simulation", "SM4");
const SM5: Premise = Premise::new("simulation", "SM5");
const SM6: Premise = Premise::new("simulation", "SM6");

pub(crate) fn obligations(
    program: &Program,
    terms: &Terms,
    simulation: &Simulation,
    machine: &Machine,
    proof: &SymbolicSimulation,
) -> Result<Vec<Obligation>, Rejection> {
    let id = simulation.thread;
    let thread = &program.threads[id];
    vet(program, terms, simulation, machine, proof)?;
    let cuts: BTreeMap<LocId, Term> = proof.cuts.iter().copied().collect();
    let mut out = Vec::new();
    let starts = std::iter::once(None).chain(cuts.keys().copied().map(Some));
    for start in starts {
        let mut region = CandidateRegion {
            program,
            terms,
            thread,
            machine,
            proof,
            own: &simulation.own,
            cuts: &cuts,
            at: BTreeMap::new(),
            ways: BTreeMap::new(),
            known: vec![terms.lt(terms.int(0), terms.sym(program.tid))],
            wrong: Vec::new(),
            missed: Vec::new(),
        };
        let name = match start {
            None => format!("{} from its entry", thread.name),
            Some(l) => format!("{} from the cut at {l}", thread.name),
        };
        region.follow(id, start)?;
        let known = terms.and(&region.known);
        let step = format!("{name}: every step passes its gates and is followed by the machine {}", machine.name);
        out.push(Obligation::common(SM5, step, terms.implies(known, terms.not(terms.or(&region.wrong)))));
        let cut = format!("{name}: the next cuts are reached with their formulas");
        out.push(Obligation::common(SM6, cut, terms.implies(known, terms.not(terms.or(&region.missed)))));
    }
    Ok(out)
}

/// What is known at a location of a region.
#[derive(Clone)]
struct RegionPoint {
    /// A run of the region is here.
    here: Term,
    locals: Vec<(Symbol, Term)>,
    candidates: Vec<Term>,
    /// By state: the values of the machine's variables.
    own: Vec<Vec<Term>>,
}

/// The values of an instance and of its machine where a formula is asked for.
struct Values<'a> {
    locals: &'a [(Symbol, Term)],
    candidates: &'a [Term],
    own: &'a [Vec<Term>],
}

impl RegionPoint {
    fn values(&self) -> Values<'_> {
        Values { locals: &self.locals, candidates: &self.candidates, own: &self.own }
    }
}

struct CandidateRegion<'a> {
    program: &'a Program,
    terms: &'a Terms,
    thread: &'a Thread,
    machine: &'a Machine,
    proof: &'a SymbolicSimulation,
    /// By state: the certificate's symbols for the values of the machine's variables.
    own: &'a [Vec<Symbol>],
    cuts: &'a BTreeMap<LocId, Term>,
    at: BTreeMap<LocId, RegionPoint>,
    /// How a location is come to.
    ways: BTreeMap<LocId, Vec<Term>>,
    known: Vec<Term>,
    /// Ways in which a step is wrong.
    wrong: Vec<Term>,
    /// Ways in which a cut is reached without its formula.
    missed: Vec<Term>,
}

impl CandidateRegion<'_> {
    fn follow(&mut self, id: ThreadId, start: Option<LocId>) -> Result<(), Rejection> {
        let (t, entry) = (self.terms, self.thread.code.entry);
        let from = start.unwrap_or(entry);
        let first = self.point(t.tt());
        match start {
            None => {
                let initial = obligation::initial_locals(self.program, t, id);
                self.known.push(t.substitute(initial, first.locals.iter().copied()));
                for (k, c) in first.candidates.iter().enumerate() {
                    self.known.push(if self.machine.starts.contains(&k) { *c } else { t.not(*c) });
                }
                let values = self.machine.initial_values(self.program);
                for own in &first.own {
                    self.known.extend(own.iter().zip(&values).map(|(x, value)| t.eq(*x, *value)));
                }
                if let Some(formula) = self.cuts.get(&entry) {
                    // The entry is a cut: what starts there is what the cut's own region begins with.
                    let reached = self.of_cut(*formula, first.values());
                    self.missed.push(t.not(reached));
                    return Ok(());
                }
            }
            Some(_) => {
                let assumed = self.of_cut(self.cuts[&from], first.values());
                self.known.push(assumed);
            }
        }
        self.at.insert(from, first);
        for l in self.order(from)? {
            self.steps(l);
        }
        Ok(())
    }

    /// The locations of the region whose steps belong to it, each after all that lead to it inside the region.
    fn order(&self, from: LocId) -> Result<Vec<LocId>, Rejection> {
        let code = &self.thread.code;
        let inside = |l: LocId| l == from || !self.cuts.contains_key(&l);
        let (mut out, mut open, mut done) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let mut todo = vec![(from, false)];
        while let Some((l, left)) = todo.pop() {
            if left {
                open.remove(&l);
                done.insert(l);
                out.push(l);
                continue;
            }
            if done.contains(&l) {
                continue;
            }
            open.insert(l);
            todo.push((l, true));
            for (_, a) in code.from(l) {
                // Back at its own beginning, a region ends if that is a cut.
                if a.to == from && self.cuts.contains_key(&from) || !inside(a.to) {
                    continue;
                }
                if open.contains(&a.to) {
                    return Err(Rejection::shape(format!("{}: the loop through {} is not cut", SM4.name, a.to)));
                }
                todo.push((a.to, false));
            }
        }
        out.reverse();
        Ok(out)
    }

    /// New symbols for the locals and the candidates.
    fn point(&self, here: Term) -> RegionPoint {
        let (t, p) = (self.terms, self.program);
        let local = |v: &VarId| (p.vars[*v].symbol, t.sym(t.symbol(p.vars[*v].name.clone(), p.vars[*v].sort)));
        RegionPoint {
            here,
            locals: self.thread.locals.iter().map(local).collect(),
            candidates: self.machine.states.iter().map(|s| t.sym(t.symbol(s.name.clone(), Sort::BOOL))).collect(),
            own: self.machine.states.iter().map(|_| self.machine.vars.iter().map(|v| local(v).1).collect()).collect(),
        }
    }

    fn of_cut(&self, formula: Term, values: Values<'_>) -> Term {
        let set = self.proof.candidates.iter().copied().zip(values.candidates.iter().copied());
        let own = self.own.iter().flatten().copied().zip(values.own.iter().flatten().copied());
        self.terms.substitute(formula, values.locals.iter().copied().chain(set).chain(own))
    }

    /// The actions of a location. Whoever is here has come by one of the ways into it: all of them are known by now.
    fn steps(&mut self, l: LocId) {
        let t = self.terms;
        let point = self.at[&l].clone();
        if let Some(ways) = self.ways.remove(&l) {
            self.known.push(t.implies(point.here, t.or(&ways)));
        }
        let thread = self.thread;
        for (_, action) in thread.code.from(l) {
            self.step(&point, action);
        }
    }

    /// One action: in which ways it is wrong, and what is known where it leads.
    fn step(&mut self, point: &RegionPoint, action: &Action) {
        let (t, p) = (self.terms, self.program);
        let fresh = |s: Symbol| (s, t.sym(t.symbol(t.symbol_name(s), t.symbol_sort(s))));
        let mut view: Vec<(Symbol, Term)> = p.shared().map(|v| fresh(p.vars[v].symbol)).collect();
        view.extend(action.inputs.iter().map(|s| fresh(*s)));
        view.extend(point.locals.iter().copied());
        let seen = |f: Term| t.substitute(f, view.iter().copied());
        let vars = || self.machine.vars.iter().map(|v| p.vars[*v].symbol);
        let mut known = vec![point.here, seen(action.guard)];
        for (k, s) in self.machine.states.iter().enumerate() {
            let of_machine = |f: Term| t.substitute(f, vars().zip(point.own[k].iter().copied()));
            known.extend(s.assertion.flatten().map(|f| t.implies(point.candidates[k], seen(of_machine(f)))));
        }
        for gate in &action.gates {
            let gate = seen(gate.formula);
            self.wrong.push(t.and(&[t.and(&known), t.not(gate)]));
            known.push(gate);
        }
        let known = t.and(&known);
        let from = |k: usize, way: MachineWay| MachineWay {
            fits: t.and(&[point.candidates[k], seen(way.fits)]),
            values: way.values.into_iter().map(seen).collect(),
        };
        let after: Vec<StateReached> = (0..self.machine.states.len())
            .map(|y| {
                let edges = self.machine.edges.iter().filter(|e| e.to == y);
                let way =
                    |e: &program::MachineEdge| edge_way(p, t, self.machine, e, &action.updates, &point.own[e.from]);
                let mut ways: Vec<MachineWay> = edges.map(|e| from(e.from, way(e))).collect();
                if !self.machine.strict {
                    ways.push(from(y, idle_way(p, t, &action.updates, &point.own[y])));
                }
                reached(t, &ways)
            })
            .collect();
        let next: Vec<Term> = after.iter().map(|r| r.reached).collect();
        // A state that nothing leads to has no values that matter.
        let own: Vec<Vec<Term>> = after
            .iter()
            .zip(&point.own)
            .map(|(r, old)| if r.values.is_empty() { old.clone() } else { r.values.clone() })
            .collect();
        self.wrong.push(t.and(&[known, t.not(t.or(&next))]));
        let value = |(s, old): &(Symbol, Term)| {
            let update = action.updates.iter().find(|u| p.vars[u.var].symbol == *s);
            (*s, update.map_or(*old, |u| seen(u.value)))
        };
        let locals: Vec<(Symbol, Term)> = point.locals.iter().map(value).collect();
        if let Some(formula) = self.cuts.get(&action.to) {
            let reached = self.of_cut(*formula, Values { locals: &locals, candidates: &next, own: &own });
            self.missed.push(t.and(&[known, t.not(reached)]));
            return;
        }
        if !self.at.contains_key(&action.to) {
            let here = t.sym(t.symbol(format!("at {}", action.to), Sort::BOOL));
            let new = self.point(here);
            self.at.insert(action.to, new);
        }
        let target = &self.at[&action.to];
        let mut way = vec![known];
        way.extend(target.locals.iter().zip(&locals).map(|((_, a), (_, b))| t.eq(*a, *b)));
        way.extend(target.candidates.iter().zip(&next).map(|(a, b)| t.eq(*a, *b)));
        way.extend(target.own.iter().flatten().zip(own.iter().flatten()).map(|(a, b)| t.eq(*a, *b)));
        self.ways.entry(action.to).or_default().push(t.and(&way));
    }
}

/// What the program's formulas speak of: no symbol of a certificate may be one of these.
pub(super) fn symbols_of(program: &Program) -> BTreeSet<Symbol> {
    let mut own: BTreeSet<Symbol> = program.vars.iter().flat_map(|v| [v.symbol, v.primed]).collect();
    own.insert(program.tid);
    own.extend(program.threads.iter().flat_map(|t| t.code.actions.iter().flat_map(|a| a.inputs.iter().copied())));
    own
}

fn vet(
    program: &Program,
    terms: &Terms,
    simulation: &Simulation,
    machine: &Machine,
    proof: &SymbolicSimulation,
) -> Result<(), Rejection> {
    let id = simulation.thread;
    let code = &program.threads[id].code;
    let fits = proof.candidates.len() == machine.states.len()
        && proof.candidates.iter().all(|c| terms.symbol_sort(*c) == Sort::BOOL);
    let different: BTreeSet<Symbol> = proof.candidates.iter().copied().collect();
    let mut own = symbols_of(program);
    own.extend(simulation.own.iter().flatten());
    if !fits || different.len() != proof.candidates.len() || !different.is_disjoint(&own) {
        return Err(Rejection::shape("the candidates are not one new boolean for each state of the machine"));
    }
    let places: BTreeSet<LocId> = proof.cuts.iter().map(|(l, _)| *l).collect();
    if places.len() != proof.cuts.len() || places.iter().any(|l| code.locations.get(*l).is_none()) {
        return Err(Rejection::shape("a cut is at no location of the thread, or there are two at one"));
    }
    let mut allowed = AllowedSymbols::locals(program, id);
    allowed.push(program.tid);
    allowed.extend(&proof.candidates);
    allowed.extend(simulation.own.iter().flatten());
    let vocabulary = AllowedSymbols::new(program, allowed);
    for (l, formula) in &proof.cuts {
        vocabulary.admits(terms, *formula, &format!("the formula at {l}"))?;
    }
    Ok(())
}
