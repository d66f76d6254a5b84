//! Small machines for a thread: locations that only local steps separate are one state.
//!
//! In: a program and a thread. Out: a machine that the thread was checked to conform to, or nothing. What a step writes is said exactly where it is a matter of
//! the shared store alone. Otherwise the new values satisfy what the program's own checks, invariants and initial facts say of the store, as far as
//! the thread keeps it; and states assert what is needed for that, and no more. What is not kept is found by runs that no step of the machine
//! follows (candidates are dropped until there is none). Deliberately absent: facts that the program does not state; `propose` has finer machines.

use super::check;
use super::outcome::Conformance;
use crate::infer::vocabulary::conditions_of;
use crate::method::Run;
use evidence::LocalRun;
use logic::{Symbol, Term, Terms, Value};
use program::semantics::{Instance, Semantics, State, StepOutcome, TraceStep};
use program::{
    Action, ActionId, Machine, MachineEdge, MachineState, Program, PropertyKind, StorePlace, ThreadId, TwoStore, VarId,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Which local steps keep two states apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merging {
    /// None does.
    AllLocalSteps,
    /// Those that wait for something shared, or choose by it.
    UnguardedSteps,
}

/// More facts than this are not tried.
const MAX_FACTS: usize = 24;
/// Candidates are dropped at most so often, and so many assertions are tried without.
const MAX_ROUNDS: usize = 60;
const MAX_WITHOUT: usize = 40;

struct Merged<'a> {
    program: &'a Program,
    terms: &'a Terms,
    thread: ThreadId,
    run: &'a Run,
    group_of: Vec<usize>,
    /// By state: what it asserts.
    asserts: Vec<Vec<Term>>,
    /// By action that writes something shared: what is said exactly, and what is still believed of the values after it.
    edges: Vec<(ActionId, Vec<Term>, Vec<Term>)>,
}

/// A machine that the thread conforms to, with its edges and states named as `propose` does.
pub(crate) fn merged_machine(
    program: &Program,
    terms: &Terms,
    thread: ThreadId,
    merging: Merging,
    name: &str,
    run: &Run,
) -> Option<Machine> {
    let facts = facts(program, terms);
    let group_of = groups(program, terms, thread, merging);
    let states = group_of.iter().max().map_or(0, |g| g + 1);
    let mut m =
        Merged { program, terms, thread, run, group_of, asserts: vec![facts.clone(); states], edges: Vec::new() };
    m.say(&facts);
    let mut rounds = 0;
    loop {
        match m.check(name) {
            Conformance::Conforms(_) => break,
            Conformance::Refuted(local, None) if rounds < MAX_ROUNDS && m.drop_what_fails(&local) => rounds += 1,
            _ => return None,
        }
    }
    m.without_needless_assertions(name);
    Some(m.machine(name))
}

/// The program in which the thread follows this machine instead.
pub(super) fn following(program: &Program, terms: &Terms, thread: ThreadId, machine: Machine) -> Program {
    let mut p = program.clone();
    p.terms = terms.clone();
    let id = p.machines.push(machine);
    let property = p.properties.push(program::Property {
        kind: PropertyKind::Follows(thread),
        name: format!("follows:{}:proposed", p.threads[thread].name),
        origin: p.threads[thread].origin,
    });
    p.threads[thread].follows = Some((id, property));
    p
}

/// What the program itself says of its shared store: conjuncts of checks, invariants and initial facts.
fn facts(p: &Program, t: &Terms) -> Vec<Term> {
    let shared: BTreeSet<Symbol> = p.shared().map(|v| p.vars[v].symbol).collect();
    let gates = p.threads.iter().flat_map(|x| x.code.actions.iter().flat_map(|a| a.gates.iter()));
    let checks = gates.filter(|g| p.properties[g.property].kind == PropertyKind::Assertion).map(|g| g.formula);
    let invariants = p.properties.iter().filter_map(|q| match q.kind {
        PropertyKind::Invariant(f) => Some(f),
        _ => None,
    });
    let initially = p.init.iter().filter_map(|f| f.formula);
    let mut out: Vec<Term> = Vec::new();
    for f in checks.chain(invariants).chain(initially).flat_map(|f| t.conjuncts(t.simplify(f))) {
        let free = t.free_symbols(f);
        let plain = !free.is_empty() && free.iter().all(|s| shared.contains(s)) && !t.has_quantifier(f);
        if plain && !out.contains(&f) && !out.contains(&t.simplify(t.not(f))) && out.len() < MAX_FACTS {
            out.push(f);
        }
    }
    out
}

/// For each location the number of its state.
fn groups(p: &Program, t: &Terms, thread: ThreadId, merging: Merging) -> Vec<usize> {
    let code = &p.threads[thread].code;
    let shared: BTreeSet<Symbol> = p.shared().map(|v| p.vars[v].symbol).collect();
    let reads = |f: Term| t.free_symbols(f).iter().any(|s| shared.contains(s));
    let mut group: Vec<usize> = (0..code.locations.len()).collect();
    fn root(group: &[usize], mut l: usize) -> usize {
        while group[l] != l {
            l = group[l];
        }
        l
    }
    for a in code.actions.iter().filter(|a| written(p, a).is_empty()) {
        if merging == Merging::AllLocalSteps || !reads(a.guard) && a.gates.iter().all(|g| !reads(g.formula)) {
            let (x, y) = (root(&group, a.from.index()), root(&group, a.to.index()));
            group[x.max(y)] = x.min(y);
        }
    }
    let roots: Vec<usize> = (0..group.len()).map(|l| root(&group, l)).collect();
    // Numbered as they come from the entry.
    let mut order: Vec<usize> = vec![roots[code.entry.index()]];
    let mut next = 0;
    while next < order.len() {
        let here = order[next];
        next += 1;
        for a in code.actions.iter().filter(|a| roots[a.from.index()] == here) {
            let to = roots[a.to.index()];
            if !order.contains(&to) {
                order.push(to);
            }
        }
    }
    roots.iter().map(|r| order.iter().position(|o| o == r).unwrap_or(0)).collect()
}

fn written(p: &Program, a: &Action) -> Vec<VarId> {
    let shared: Vec<VarId> = p.shared().collect();
    a.updates.iter().map(|u| u.var).filter(|v| shared.contains(v)).collect()
}

impl Merged<'_> {
    fn speaks_of_store_alone(&self, f: Term) -> bool {
        let p = self.program;
        let free = self.terms.free_symbols(f);
        free.iter().all(|s| *s == p.tid || p.shared().any(|v| p.vars[v].symbol == *s))
    }

    /// What is exactly known of each step, and what is believed of it.
    fn say(&mut self, facts: &[Term]) {
        let (t, p) = (self.terms, self.program);
        let prime: Vec<(Symbol, Term)> = p.shared().map(|v| (p.vars[v].symbol, t.sym(p.vars[v].primed))).collect();
        for (id, a) in p.threads[self.thread].code.actions.iter_enumerated() {
            let frame = written(p, a);
            if frame.is_empty() {
                continue;
            }
            let mut exact: Vec<Term> = conditions_of(a)
                .flat_map(|f| t.conjuncts(t.simplify(f)))
                .filter(|f| !t.is_true(*f) && self.speaks_of_store_alone(*f))
                .collect();
            let mut open = Vec::new();
            for u in a.updates.iter().filter(|u| frame.contains(&u.var)) {
                let value = t.simplify(u.value);
                if self.speaks_of_store_alone(value) {
                    exact.push(t.eq(t.sym(p.vars[u.var].primed), value));
                } else {
                    open.push(p.vars[u.var].symbol);
                }
            }
            let about = |f: &&Term| t.free_symbols(**f).iter().any(|s| open.contains(s));
            let believed = facts.iter().filter(about).map(|f| t.substitute(*f, prime.iter().copied())).collect();
            self.edges.push((id, exact, believed));
        }
    }

    fn machine(&self, name: &str) -> Machine {
        let (t, p) = (self.terms, self.program);
        let thread = &p.threads[self.thread];
        let origin = thread.origin;
        let state = |(g, needs): (usize, &Vec<Term>)| MachineState {
            name: format!("S{g}"),
            assertion: (!needs.is_empty()).then(|| Some(t.and(needs))),
            origin,
        };
        let mut edges: Vec<MachineEdge> = Vec::new();
        for (id, exact, believed) in &self.edges {
            let a = &thread.code.actions[*id];
            let (from, to) = (self.group_of[a.from.index()], self.group_of[a.to.index()]);
            let relation = t.and(&exact.iter().chain(believed).copied().collect::<Vec<_>>());
            let frame = written(p, a).into_iter().map(|var| StorePlace { var, keys: Vec::new() }).collect();
            let new = MachineEdge {
                from,
                to,
                action: TwoStore { frame, relation },
                sets: Vec::new(),
                makes: None,
                origin: a.origin,
            };
            if !edges.iter().any(|e| (e.from, e.to) == (from, to) && e.action.relation == relation) {
                edges.push(new);
            }
        }
        // A local step that keeps two states apart is an edge that changes nothing.
        for a in thread.code.actions.iter().filter(|a| written(p, a).is_empty()) {
            let (from, to) = (self.group_of[a.from.index()], self.group_of[a.to.index()]);
            let known: Vec<Term> =
                conditions_of(a).map(|f| t.simplify(f)).filter(|f| self.speaks_of_store_alone(*f)).collect();
            let relation = t.and(&known);
            if from != to && !edges.iter().any(|e| (e.from, e.to) == (from, to) && e.action.relation == relation) {
                let action = TwoStore { frame: Vec::new(), relation };
                edges.push(MachineEdge { from, to, action, sets: Vec::new(), makes: None, origin: a.origin });
            }
        }
        let starts = vec![self.group_of[thread.code.entry.index()]];
        let states = self.asserts.iter().enumerate().map(state).collect();
        Machine { name: name.into(), strict: false, vars: Vec::new(), states, starts, edges, origin }
    }

    fn check(&self, name: &str) -> Conformance {
        let p = following(self.program, self.terms, self.thread, self.machine(name));
        check::check_conformance(&p, self.terms, self.thread, self.run).outcome
    }

    /// Drops what the last step of a run does not keep. False if that changes nothing.
    fn drop_what_fails(&mut self, local: &LocalRun) -> bool {
        let Some((action, env)) = last_step(self.program, local) else { return false };
        let t = self.terms;
        let Some((_, _, believed)) = self.edges.iter_mut().find(|(id, ..)| *id == action) else { return false };
        let before = believed.len();
        believed.retain(|f| logic::eval::holds(t, *f, &env) == Ok(true));
        believed.len() < before
    }

    /// Leaves out assertions as long as the thread conforms without.
    fn without_needless_assertions(&mut self, name: &str) {
        let mut tried = 0;
        for g in 0..self.asserts.len() {
            let all = std::mem::take(&mut self.asserts[g]);
            tried += 1;
            if tried > MAX_WITHOUT || matches!(self.check(name), Conformance::Conforms(_)) {
                if tried > MAX_WITHOUT {
                    self.asserts[g] = all;
                }
                continue;
            }
            let mut kept = all;
            let mut k = 0;
            while k < kept.len() && kept.len() > 1 && tried < MAX_WITHOUT {
                let one = kept.remove(k);
                self.asserts[g] = kept.clone();
                tried += 1;
                if !matches!(self.check(name), Conformance::Conforms(_)) {
                    kept.insert(k, one);
                    k += 1;
                }
            }
            self.asserts[g] = kept;
        }
    }
}

/// The last action of a run, with the stores before and after it.
fn last_step(p: &Program, local: &LocalRun) -> Option<(ActionId, FxHashMap<Symbol, Value>)> {
    let thread = &p.threads[local.thread];
    let semantics = Semantics::new(p);
    let mut instance = Instance { thread: local.thread, tid: 1, at: thread.code.entry, locals: local.locals.clone() };
    for (i, step) in local.steps.iter().enumerate() {
        let state = State { shared: step.store.clone(), instances: vec![instance.clone()], entered: None };
        let inputs = step.inputs.clone();
        let own = TraceStep { instance: 0, thread: local.thread, action: step.action, inputs, choices: Vec::new() };
        let StepOutcome::Moved { state: next, .. } = semantics.execute(&state, &own).ok()? else { return None };
        if i + 1 == local.steps.len() {
            let mut env: FxHashMap<Symbol, Value> = FxHashMap::default();
            for ((v, before), after) in p.shared().zip(&step.store).zip(&next.shared) {
                env.insert(p.vars[v].symbol, before.clone());
                env.insert(p.vars[v].primed, after.clone());
            }
            env.insert(p.tid, Value::Int(1));
            return Some((step.action, env));
        }
        instance = next.instances[0].clone();
    }
    None
}
