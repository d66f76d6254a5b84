//! `quantify`: any number of threads, by an inductive invariant quantified over them.
//!
//! In: a program some thread of which comes in several copies. Out: proofs for every number of instances (rule `quantified`): facts of
//! the form "for every two different instances, wherever they are in these places: a clause over the store, what both know, and the maps at their
//! ids". Candidates come from states of few instances (invisible invariants, Pnueli, Ruah, Zuck 2001) and are learnt clause by clause from what breaks
//! an induction (`learn`). A scan over all threads needs no quantifier over a prefix: "the other's id is below my `j`" is a clause's atom.
//! Deliberately absent: bugs (`explore` looks for them); facts about three instances; threads that are started by `spawn`.

mod atoms;
mod certify;
mod clauses;
mod contexts;
mod learn;
mod samples;
#[cfg(test)]
mod tests;
mod vocabulary;

use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use atoms::{AtomReach, BaseValues, Bits, Cast, Roles, as_number, set};
use clauses::{Clause, Rows};
use contexts::{Count, Setting, has_copies};
use evidence::{Certificate, Claim, Claims, NAMED_INSTANCES, Proof, Reason};
use learn::Learner;
use logic::{Node, Op, Sort, Term, Terms, eval_term};
use program::semantics::{Instance, State};
use program::{Action, Program, PropertyId, PropertyKind, Start, ThreadId, VarId};
use rustc_hash::FxHashMap;
use solver::SolverSettings;
use std::sync::Arc;
use vocabulary::{BaseTerm, Vocabulary};

pub struct Quantify;

/// What one question may cost, in the solver's units.
const QUESTION_LIMIT: u32 = 4_000_000;
/// More pairs of threads than this are not looked at.
const MAX_CASTS: usize = 40;

impl Method for Quantify {
    fn about(&self) -> MethodDescription {
        MethodDescription {
            name: "quantify",
            summary: "any number of threads, by facts about every two of them",
            paper: "beyond the papers: invisible invariants (Pnueli, Ruah, Zuck), learnt clause by clause",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        let p = &task.program;
        let refuse = |why: &str| Err(Refusal(why.into()));
        if !p.threads.ids().any(|t| has_copies(p, &[t, t])) {
            return refuse("no thread comes in several copies");
        }
        if p.threads.iter().any(|t| {
            t.start == Start::Spawned || !t.code.calls.is_empty() || t.code.actions.iter().any(|a| a.spawn.is_some())
        }) {
            return refuse("threads that are started by `spawn`, or call by specification");
        }
        if goals(p, &p.terms.clone(), &task.properties).is_empty() {
            return refuse("no property that facts about instances can show");
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        // Looking at runs adds terms to the table of a program: certificates extend the table as it was.
        let task = &task.clone();
        let p = &task.program;
        let terms = p.terms.clone();
        let goals = goals(p, &terms, &task.properties);
        let mut claims = Claims::default();
        let wanted: Vec<PropertyId> = {
            let mut list: Vec<PropertyId> = goals.iter().map(|g| g.property).collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        match learnt(task, run, &terms, &goals, &mut claims) {
            Ok(()) => {}
            Err(reason) => {
                let open: Vec<PropertyId> = wanted.iter().copied().filter(|q| !claims.claims.contains_key(q)).collect();
                open.into_iter().for_each(|q| claims.set(q, Claim::Undecided(reason.clone())));
            }
        }
        claims
    }
}

/// A formula to be shown, of an instance of a thread at a location or of the store.
struct Goal {
    property: PropertyId,
    at: Option<(ThreadId, program::LocId)>,
    formula: Term,
}

/// What is to be shown for the properties of which facts about instances can speak.
fn goals(p: &Program, t: &Terms, wanted: &[PropertyId]) -> Vec<Goal> {
    let mut out = Vec::new();
    for property in wanted {
        if let PropertyKind::Invariant(formula) = p.properties[*property].kind {
            out.push(Goal { property: *property, at: None, formula });
            continue;
        }
        let gates_of = |a: &Action| a.gates.iter().any(|g| g.property == *property);
        let mut found = Vec::new();
        let mut plain = true;
        for (thread, a) in p.threads.iter_enumerated().flat_map(|(id, t)| t.code.actions.iter().map(move |a| (id, a))) {
            if !gates_of(a) {
                continue;
            }
            let mut known = vec![a.guard];
            for g in &a.gates {
                if g.property == *property {
                    let formula = t.implies(t.and(&known), g.formula);
                    plain &= !t.free_symbols(formula).iter().any(|s| a.inputs.contains(s));
                    found.push(Goal { property: *property, at: Some((thread, a.from)), formula });
                }
                known.push(g.formula);
            }
        }
        if plain {
            out.extend(found);
        }
    }
    out
}

fn learnt(task: &Task, run: &Run, terms: &Terms, goals: &[Goal], claims: &mut Claims) -> Result<(), Reason> {
    let p = &task.program;
    let stated: Vec<(Option<ThreadId>, Term)> = goals.iter().map(|g| (g.at.map(|(t, _)| t), g.formula)).collect();
    let words = Vocabulary::of(p, terms, &stated);
    let counts = counts(p);
    let roles = Roles::new(p, terms, NAMED_INSTANCES + counts.len());
    let mut casts: Vec<Vec<ThreadId>> = vec![Vec::new()];
    casts.extend(p.threads.ids().map(|t| vec![t]));
    for t in p.threads.ids() {
        let others = p.threads.ids().filter(|u| t <= *u && has_copies(p, &[t, *u]));
        casts.extend(others.map(|u| vec![t, u]));
    }
    if casts.len() > MAX_CASTS {
        return Err(Reason::NotAdmitted("too many pairs of threads".into()));
    }
    let mut open: Vec<&Goal> = goals.iter().collect();
    for reach in [AtomReach::Narrow, AtomReach::Wide] {
        let casts: Vec<Cast> =
            casts.iter().map(|threads| Cast::new(p, terms, &words, threads.clone(), reach)).collect();
        let setting = Setting { p, terms, words: words.clone(), roles: roles.clone(), casts, counts: counts.clone() };
        // The second try has the time that the first leaves.
        let budget = match run.budget.time_left() {
            Some(left) if reach == AtomReach::Narrow => run.budget.child().with_time(left * 2 / 3),
            _ => run.budget.clone(),
        };
        let outcome = learnt_over(&setting, &Run { budget, ..run.clone() }, &open, claims);
        let is_open = |g: &&Goal| !matches!(claims.claims.get(&g.property), Some(Claim::Proved(_)));
        open.retain(is_open);
        if open.is_empty() || reach == AtomReach::Wide {
            return outcome;
        }
        run.budget.check().map_err(Reason::Exhausted)?;
    }
    Ok(())
}

/// Learns over some atoms.
fn learnt_over(setting: &Setting<'_>, run: &Run, goals: &[&Goal], claims: &mut Claims) -> Result<(), Reason> {
    let terms = setting.terms;
    run.progress("quantify: runs of few instances");
    let rows = seen_rows(setting, run);
    claims.statistics.insert("rows".into(), rows.iter().map(Rows::len).sum::<usize>() as u64);
    let settings = SolverSettings { seed: run.seed as u32, limit: QUESTION_LIMIT, ..SolverSettings::default() };
    let mut learner = Learner::new(setting, rows, settings, run.budget.clone());
    // A goal that the text already says is shown by no clause.
    let mut clauses: Vec<Clause> = Vec::new();
    let mut of: Vec<(PropertyId, Option<usize>)> = Vec::new();
    for g in goals {
        if terms.is_true(g.formula) {
            of.push((g.property, None));
            continue;
        }
        let clause = goal_clause(setting, g).ok_or_else(|| Reason::Incomplete("a goal that is no atom".into()))?;
        of.push((g.property, Some(clauses.len())));
        clauses.push(clause);
    }
    let shown = learner.show(clauses, &|line| run.progress(format!("quantify: {line}")));
    claims.statistics.insert("questions".into(), learner.questions);
    let shown = shown?;
    let mut proved: Vec<(PropertyId, Vec<usize>)> = Vec::new();
    let mut properties: Vec<PropertyId> = of.iter().map(|(q, _)| *q).collect();
    properties.sort_unstable();
    properties.dedup();
    for property in properties {
        let mine: Vec<usize> = of.iter().filter(|(q, _)| *q == property).filter_map(|(_, k)| *k).collect();
        if mine.iter().all(|k| shown[*k]) {
            proved.push((property, mine));
        } else {
            let why = "facts about every two instances, over what the text compares, do not show it".to_string();
            claims.set(property, Claim::Undecided(Reason::Alarm(why)));
        }
    }
    if proved.is_empty() {
        return Ok(());
    }
    let proof = certify::certificate(setting, &learner, &proved);
    claims.statistics.insert("facts".into(), proof.facts.len() as u64);
    let certificate = Arc::new(Certificate {
        method: "quantify".into(),
        terms: terms.clone(),
        properties: proved.iter().map(|(q, _)| *q).collect(),
        proof: Proof::Quantified(Box::new(proof)),
    });
    proved.iter().for_each(|(q, _)| claims.set(*q, Claim::Proved(certificate.clone())));
    Ok(())
}

/// The clause that says that a goal holds where it is asked for.
fn goal_clause(s: &Setting<'_>, goal: &Goal) -> Option<Clause> {
    let threads: Vec<ThreadId> = goal.at.iter().map(|(t, _)| *t).collect();
    let cast = s.casts.iter().position(|c| c.threads == threads)?;
    let atom = s.casts[cast].goal(&s.words, goal.formula)?;
    let mut clause = Clause { cast, at: Vec::new(), mask: Bits::default(), value: Bits::default() };
    set(&mut clause.mask, atom);
    if let Some((thread, at)) = goal.at {
        let mut flags = vec![false; s.p.threads[thread].code.locations.len()];
        flags[at.index()] = true;
        clause.at.push(flags);
    }
    Some(clause)
}

/// What is true in the states that runs of few instances visit.
fn seen_rows(s: &Setting<'_>, run: &Run) -> Vec<Rows> {
    let mut rows: Vec<Rows> = s.casts.iter().map(|_| Rows::default()).collect();
    let values = |bases: &[BaseTerm], env: &FxHashMap<logic::Symbol, logic::Value>| -> BaseValues {
        bases.iter().map(|b| eval_term(s.terms, b.term, env).ok().as_ref().and_then(as_number)).collect()
    };
    samples::visit(s.p, run.seed, &run.budget, |state: &State| {
        let store: FxHashMap<logic::Symbol, logic::Value> =
            s.p.shared().zip(&state.shared).map(|(v, value)| (s.p.vars[v].symbol, value.clone())).collect();
        let shared = values(&s.words.shared, &store);
        let own = |x: &Instance| {
            let mut env = store.clone();
            let locals = s.p.threads[x.thread].locals.iter().zip(&x.locals);
            env.extend(locals.map(|(v, value)| (s.p.vars[*v].symbol, value.clone())));
            env.insert(s.p.tid, logic::Value::Int(x.tid.into()));
            values(&s.words.own[x.thread.index()], &env)
        };
        let instances: Vec<BaseValues> = state.instances.iter().map(own).collect();
        for (k, cast) in s.casts.iter().enumerate() {
            match cast.threads[..] {
                [] => {
                    rows[k].add(&[], cast.row(&shared, &[]));
                }
                [a] => {
                    for (x, own) in state.instances.iter().zip(&instances).filter(|(x, _)| x.thread == a) {
                        rows[k].add(&[x.at], cast.row(&shared, &[own]));
                    }
                }
                [a, b] => {
                    for (i, x) in state.instances.iter().enumerate().filter(|(_, x)| x.thread == a) {
                        for (j, y) in state.instances.iter().enumerate().filter(|(j, y)| *j != i && y.thread == b) {
                            rows[k].add(&[x.at, y.at], cast.row(&shared, &[&instances[i], &instances[j]]));
                        }
                    }
                }
                _ => {}
            }
        }
    });
    rows
}

/// Shared integers that are the number of instances at some locations of one thread: each step adds to them what it adds there.
fn counts(p: &Program) -> Vec<Count> {
    p.shared().filter(|v| p.vars[*v].sort == Sort::INT).filter_map(|v| count_of(p, v)).collect()
}

fn count_of(p: &Program, v: VarId) -> Option<Count> {
    let t = &p.terms;
    if t.node(p.vars[v].initial?) != Node::Num(0, Sort::INT) {
        return None;
    }
    // The program's own terms stay as they are: certificates extend them.
    let is_it = |term: Term| t.as_symbol(term) == Some(p.vars[v].symbol);
    let change = |a: &Action| match a.updates.iter().find(|u| u.var == v) {
        None => Some(0),
        Some(u) => match t.app(u.value)? {
            (Op::Add, args) if is_it(args[0]) => number(t, args[1]),
            (Op::Add, args) if is_it(args[1]) => number(t, args[0]),
            (Op::Sub, args) if is_it(args[0]) => number(t, args[1]).map(|n| -n),
            _ => None,
        },
    };
    let mut found: Option<Count> = None;
    for (id, thread) in p.threads.iter_enumerated() {
        let code = &thread.code;
        let mut level: Vec<Option<i128>> = vec![None; code.locations.len()];
        level[code.entry.index()] = Some(0);
        let mut todo = vec![code.entry];
        while let Some(l) = todo.pop() {
            for (_, a) in code.from(l) {
                let next = level[l.index()]? + change(a)?;
                match level[a.to.index()] {
                    None => {
                        level[a.to.index()] = Some(next);
                        todo.push(a.to);
                    }
                    Some(old) if old != next => return None,
                    Some(_) => {}
                }
            }
        }
        if level.iter().flatten().any(|n| ![0, 1].contains(n)) {
            return None;
        }
        // Code that is not reached must not cross the border either.
        let at: Vec<bool> = level.iter().map(|n| *n == Some(1)).collect();
        let unreached = code.actions.iter().filter(|a| level[a.from.index()].is_none());
        if unreached.into_iter().any(|a| change(a) != Some(i128::from(at[a.to.index()]))) {
            return None;
        }
        if at.iter().any(|x| *x) {
            if found.is_some() {
                return None;
            }
            found = Some(Count { variable: v, thread: id, at });
        }
    }
    found
}

fn number(t: &Terms, term: Term) -> Option<i128> {
    if let Node::Num(n, _) = t.node(term) { Some(n) } else { None }
}
