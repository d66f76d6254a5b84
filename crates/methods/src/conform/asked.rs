//! Assertions that machines ask for with `?`: found, before the threads are looked at.
//!
//! In: a program some of whose machines' states ask for an assertion. Out: a formula for each. Candidates are the conditions that the text makes of
//! the shared store; what counts is what the composition of the machines keeps, which a method for facts (Calvin's) shows of all of them at once:
//! that is the strongest assertion these candidates give, and a stronger one only makes a machine easier to follow. What no thread needs is
//! left out again. Abstract Threads, section 3: the assertions are what a thread may take for granted of the others.
//! Deliberately absent: candidates with quantifiers, or over the machine's variables; trust (the composition is shown and checked like one with written assertions).

use super::check;
use super::outcome::Conformance;
use crate::infer::vocabulary::{FactSet, conditions_of};
use crate::method::{Method, Run, Task};
use base::ids::Id;
use evidence::{Claim, Reason};
use logic::{Sort, SortKind, Symbol, Term, Terms};
use program::compose::compose_machines;
use program::machine_assertions::{FoundAssertion, asked_assertions, with_assertions};
use program::{Action, Gate, LocId, MachineId, Program, Property, PropertyId, PropertyKind, Thread, ThreadId, What};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// More conditions than this of one machine are not tried.
const MAX_CANDIDATES: usize = 96;
/// What one method may take to find out which candidates hold.
const FINDING_EFFORT: Duration = Duration::from_secs(5);
/// What leaving out may take.
const MINIMISING_EFFORT: Duration = Duration::from_secs(2);

/// A formula for each assertion that is asked for, over the symbols of the program.
pub(super) fn find_assertions(
    task: &Task,
    facts: &[Arc<dyn Method>],
    run: &Run,
) -> Result<Vec<FoundAssertion>, Reason> {
    let (p, terms) = (&task.program, &task.program.terms);
    let asked = asked_assertions(p);
    let mut candidates: BTreeMap<MachineId, Vec<Term>> = BTreeMap::new();
    for (m, _) in &asked {
        candidates.entry(*m).or_insert_with(|| candidates_of(p, *m));
    }
    run.progress("conform: what holds while a machine is in a state");
    let kept = kept_by_composition(task, &asked, &candidates, facts, run)?;
    let found = |kept: &[Vec<Term>]| -> Vec<FoundAssertion> {
        let of = |((machine, state), kept): (&(MachineId, usize), &Vec<Term>)| FoundAssertion {
            machine: *machine,
            state: *state,
            formula: terms.and(kept),
        };
        asked.iter().zip(kept).map(of).collect()
    };
    let needed = without_needless(p, kept, &found, run);
    Ok(found(&needed))
}

/// The conditions of the text about the shared store, as they may hold while the machine is in some state.
fn candidates_of(p: &Program, m: MachineId) -> Vec<Term> {
    let t = &p.terms;
    let mut out = FactSet::default();
    let unprimed: Vec<(Symbol, Term)> = p.shared().map(|v| (p.vars[v].primed, t.sym(p.vars[v].symbol))).collect();
    let following = |t: &&Thread| t.follows.is_some_and(|(own, _)| own == m);
    for thread in p.threads.iter().filter(following) {
        for action in thread.code.actions.iter() {
            conditions_of(action).for_each(|f| over_shared(p, thread, f).into_iter().for_each(|f| add(t, &mut out, f)));
        }
    }
    for machine in p.machines.iter() {
        for e in &machine.edges {
            for f in t.conjuncts(e.action.relation) {
                // What a step leaves behind, and what it starts from.
                add(t, &mut out, f);
                add(t, &mut out, t.substitute(f, unprimed.iter().copied()));
            }
        }
        machine.states.iter().filter_map(|s| s.assertion.flatten()).for_each(|f| add(t, &mut out, f));
    }
    p.invariants.iter().chain(&p.init).filter_map(|i| i.formula).for_each(|f| add(t, &mut out, f));
    for v in p.shared() {
        let now = p.now(v);
        match t.kind(p.vars[v].sort) {
            SortKind::Bool => add(t, &mut out, now),
            _ => p.vars[v]
                .initial
                .into_iter()
                .filter(|_| is_plain(t, p.vars[v].sort))
                .for_each(|x| add(t, &mut out, t.eq(now, x))),
        }
    }
    for thread in p.threads.iter().filter(|t| !following(t)) {
        thread.code.actions.iter().flat_map(conditions_of).for_each(|f| add(t, &mut out, f));
    }
    let may: FxHashSet<Symbol> = p.shared().map(|v| p.vars[v].symbol).chain([p.tid]).collect();
    let fits = |f: &Term| !t.has_quantifier(*f) && !t.is_true(*f) && t.free_symbols(*f).iter().all(|s| may.contains(s));
    let mut all: Vec<Term> = out.all.into_iter().filter(fits).collect();
    all.truncate(MAX_CANDIDATES);
    all
}

fn is_plain(t: &Terms, sort: Sort) -> bool {
    matches!(t.kind(sort), SortKind::Int | SortKind::Machine(_) | SortKind::Enum(_) | SortKind::Ref(_))
}

fn add(t: &Terms, out: &mut FactSet, f: Term) {
    let mut conditions = FactSet::default();
    conditions.add_conditions(t, f);
    conditions.all.into_iter().for_each(|c| out.add_neighbours(t, c));
}

/// A condition of a thread; where it is about locals, about what they are copies of.
fn over_shared(p: &Program, thread: &Thread, f: Term) -> Vec<Term> {
    let t = &p.terms;
    let locals: FxHashSet<Symbol> = thread.locals.iter().map(|v| p.vars[*v].symbol).collect();
    let free = t.free_symbols(f);
    let read: Vec<Symbol> = free.into_iter().filter(|s| locals.contains(s)).collect();
    let [local] = read[..] else { return if read.is_empty() { vec![f] } else { Vec::new() } };
    let sets = |a: &Action| a.updates.iter().find(|u| p.vars[u.var].symbol == local).map(|u| u.value);
    let values = thread.code.actions.iter().filter_map(sets);
    let shared = |x: &Term| t.free_symbols(*x).iter().all(|s| !locals.contains(s));
    values.filter(shared).map(|x| t.substitute(f, [(local, x)])).collect()
}

/// For each asked assertion, the candidates that hold whenever a machine is in the state, in the composition.
fn kept_by_composition(
    task: &Task,
    asked: &[(MachineId, usize)],
    candidates: &BTreeMap<MachineId, Vec<Term>>,
    facts: &[Arc<dyn Method>],
    run: &Run,
) -> Result<Vec<Vec<Term>>, Reason> {
    let p = &task.program;
    let nothing: Vec<FoundAssertion> =
        asked.iter().map(|(m, s)| FoundAssertion { machine: *m, state: *s, formula: p.terms.tt() }).collect();
    let plain = with_assertions(p, &p.terms, &nothing).map_err(Reason::Internal)?;
    let mut composed = compose_machines(&plain).map_err(Reason::NotAdmitted)?;
    // One property for each candidate in each thread that follows the machine.
    let mut stands_for: Vec<(PropertyId, usize, usize)> = Vec::new();
    for t in p.threads.ids() {
        for (a, (m, state)) in asked.iter().enumerate() {
            if p.threads[t].follows.is_none_or(|(own, _)| own != *m) {
                continue;
            }
            for (k, formula) in candidates[m].iter().enumerate() {
                stands_for.push((watched(&mut composed, t, *state, *formula, &format!("{a}:{k}")), a, k));
            }
        }
    }
    let mut inner = Task {
        program: composed,
        properties: Vec::new(),
        threads: task.threads.clone(),
        options: task.options.clone(),
    };
    // What a method refutes the next one is not asked for; what none of them shows is lost.
    let mut lost: FxHashSet<(usize, usize)> = FxHashSet::default();
    let mut open = stands_for;
    for method in facts {
        inner.properties = open.iter().filter(|(_, a, k)| !lost.contains(&(*a, *k))).map(|(q, ..)| *q).collect();
        if inner.properties.is_empty() || method.admits(&inner).is_err() {
            continue;
        }
        let found = method.run(&inner, &Run { budget: run.budget.share(FINDING_EFFORT), ..run.inner() });
        run.budget.check().map_err(Reason::Exhausted)?;
        lost.extend(
            open.iter()
                .filter_map(|(q, a, k)| matches!(found.claims.get(q), Some(Claim::Refuted(_))).then_some((*a, *k))),
        );
        open.retain(|(q, ..)| !matches!(found.claims.get(q), Some(Claim::Proved(_))));
    }
    lost.extend(open.into_iter().map(|(_, a, k)| (a, k)));
    let kept = |(a, (m, _)): (usize, &(MachineId, usize))| {
        let all = candidates[m].iter().enumerate();
        all.filter(|(k, _)| !lost.contains(&(a, *k))).map(|(_, f)| *f).collect()
    };
    Ok(asked.iter().enumerate().map(kept).collect())
}

/// A check of a formula that the thread, which is a machine here, may make whenever it is in the state.
fn watched(composed: &mut Program, t: ThreadId, state: usize, formula: Term, name: &str) -> PropertyId {
    let origin = composed.threads[t].origin;
    let name = format!("asked:{}:{name}", composed.threads[t].name);
    let property = composed.properties.push(Property { kind: PropertyKind::Assertion, name, origin });
    let at = LocId::from_index(state);
    let mut action = Action::plain(at, at, composed.terms.tt(), What::Assert, origin);
    action.gates = vec![Gate { property, formula }];
    composed.threads[t].code.actions.push(action);
    property
}

/// Leaves out what no thread needs to follow its machine, the last first: what the text says itself stands first.
fn without_needless(
    p: &Program,
    mut kept: Vec<Vec<Term>>,
    found: &dyn Fn(&[Vec<Term>]) -> Vec<FoundAssertion>,
    run: &Run,
) -> Vec<Vec<Term>> {
    let budget = run.budget.share(MINIMISING_EFFORT);
    let inner = Run { budget: budget.clone(), ..run.inner() };
    let conforms = |kept: &[Vec<Term>]| {
        let Ok(with) = with_assertions(p, &p.terms, &found(kept)) else { return false };
        let following = with.threads.iter_enumerated().filter(|(_, t)| t.follows.is_some());
        following.into_iter().all(|(t, _)| {
            let outcome = check::check_conformance(&with, &with.terms.clone(), t, &inner).outcome;
            matches!(outcome, Conformance::Conforms(_))
        })
    };
    if !conforms(&kept) {
        return kept;
    }
    for a in 0..kept.len() {
        // All at once, then one by one.
        let all = std::mem::take(&mut kept[a]);
        if conforms(&kept) {
            continue;
        }
        kept[a] = all;
        for k in (0..kept[a].len()).rev() {
            if budget.check().is_err() {
                return kept;
            }
            let one = kept[a].remove(k);
            if !conforms(&kept) {
                kept[a].insert(k, one);
            }
        }
    }
    kept
}

/// What was found, as it may be written in the file.
pub(super) fn shown(p: &Program, found: &[FoundAssertion]) -> Vec<String> {
    let line = |f: &FoundAssertion| {
        let machine = &p.machines[f.machine];
        let word = if machine.starts.contains(&f.state) { "start" } else { "state" };
        let name = &machine.states[f.state].name;
        match p.terms.is_true(f.formula) {
            true => format!("{word} {name}; // of machine {}: nothing has to be asserted", machine.name),
            false => format!("{word} {name} asserts {}; // of machine {}", p.terms.show(f.formula), machine.name),
        }
    };
    found.iter().map(line).collect()
}
