//! The counted system as Horn clauses, one relation for each combination of the singles' locations.
//!
//! In: the system and the properties to show. Out: an invariant for each combination that is reached, or why there is
//! none. Parameters of the relations are the shared scalars, the singles' scalar locals and thread ids, and the counters;
//! maps, sets, sequences and fields are left unconstrained, which only makes more runs possible. Lemmas are conjoined to
//! every body, and to the result.

use super::system::System;
use base::Budget;
use evidence::Reason;
use logic::{SortKind, Symbol, Term};
use program::{LocId, PropertyId, PropertyKind, VarId};
use solver::{Atom, Horn, HornAnswer, Relation, Rule, Settings};
use std::collections::BTreeMap;

const MOST_COMBINATIONS: usize = 3_000;

pub type Invariant = Vec<(Vec<LocId>, Term)>;

/// Facts by combination of the singles' locations.
pub type Facts = BTreeMap<Vec<LocId>, Vec<Term>>;

/// Tries with the counters that matter most, then with all: a counter left out may be anything.
pub fn solve(
    system: &System<'_>,
    wanted: &[PropertyId],
    guessed: &Facts,
    settings: &Settings,
    budget: &Budget,
) -> Result<Invariant, Reason> {
    let all: Vec<usize> = (0..system.groups.len()).collect();
    let few: Vec<usize> = all.iter().copied().filter(|g| matters(system, *g)).collect();
    if few.len() < all.len() {
        // Most of what can be shown with few counters is shown soon.
        let short = Settings { limit: settings.limit / 4, ..*settings };
        if let Ok(found) = attempt(system, wanted, &few, guessed, &short, budget) {
            return Ok(found);
        }
    }
    attempt(system, wanted, &all, guessed, settings, budget)
}

/// The number at the entry of `T[*]` is arbitrary anyway, and nothing follows from how many have ended.
fn matters(system: &System<'_>, g: usize) -> bool {
    let p = system.program;
    let group = &system.groups[g];
    let thread = &p.threads[group.thread];
    let entry = group.cells.iter().any(|c| system.cells[*c].location == thread.code.entry);
    let left = system.moves.iter().any(|m| system.group_of[m.from] == g && system.group_of[m.to] != g);
    thread.copies != program::Copies::Any || (left && !entry)
}

fn attempt(
    system: &System<'_>,
    wanted: &[PropertyId],
    kept: &[usize],
    guessed: &Facts,
    settings: &Settings,
    budget: &Budget,
) -> Result<Invariant, Reason> {
    let (t, p) = (system.terms, system.program);
    let params = parameters(system, kept);
    let combinations = combinations(system)?;
    let mut horn = Horn::new(t, *settings, budget);
    let relations: BTreeMap<Vec<LocId>, Relation> =
        combinations.iter().enumerate().map(|(i, at)| (at.clone(), horn.relation(format!("at{i}"), &params))).collect();
    let now: Vec<Term> = params.iter().map(|s| t.sym(*s)).collect();
    let facts = system.facts();
    let at_now = |relation: Relation| Atom { relation, args: now.clone() };
    let after = |effect: &[(Symbol, Term)]| -> Vec<Term> {
        now.iter().map(|x| t.substitute(*x, effect.iter().copied())).collect()
    };

    let start = initial(system);
    let entries: Vec<LocId> = system.singles.iter().map(|(s, _)| p.threads[*s].code.entry).collect();
    horn.rule(Rule { body: vec![], constraint: t.and(&start), head: Some(at_now(relations[&entries])) });

    let mut bad: Vec<(Relation, Term)> = Vec::new();
    for (at, relation) in &relations {
        system.lemmas_at(at).into_iter().for_each(|l| horn.lemma(*relation, l));
        guessed.get(at).into_iter().flatten().for_each(|l| horn.lemma(*relation, *l));
        let known = facts.clone();
        for w in wanted {
            if let PropertyKind::Invariant(formula) = p.properties[*w].kind {
                bad.push((*relation, t.and(&[t.and(&known), t.not(formula)])));
            }
        }
        for step in steps(system, at) {
            if let Some(to) = relations.get(&step.to) {
                let head = Atom { relation: *to, args: after(&step.effect) };
                horn.rule(Rule { body: vec![at_now(*relation)], constraint: t.and(&step.pre), head: Some(head) });
            }
        }
        for (k, (thread, tid)) in system.singles.iter().enumerate() {
            let tid = t.sym(*tid);
            for a in p.threads[*thread].code.actions.iter().filter(|a| a.from == at[k]) {
                let guard = t.substitute(a.guard, [(p.tid, tid)]);
                let gates: Vec<(PropertyId, Term)> =
                    a.gates.iter().map(|g| (g.property, t.substitute(g.formula, [(p.tid, tid)]))).collect();
                failures(system, *relation, &known, &[guard], &gates, wanted, &mut bad);
            }
        }
        // Every action of every cell may fail, also one whose gates never let it pass.
        for (c, cell) in system.cells.iter().enumerate() {
            let here = t.le(t.int(1), t.sym(system.groups[system.group_of[c]].symbol));
            for action in p.threads[cell.thread].code.actions.iter().filter(|a| a.from == cell.location) {
                let tid = t.sym(p.tid);
                let mut pre = vec![here, t.lt(t.int(0), tid), cell.formula, system.holds[c], action.guard];
                pre.extend(system.singles.iter().map(|(_, s)| t.ne(tid, t.sym(*s))));
                let gates: Vec<(PropertyId, Term)> = action.gates.iter().map(|g| (g.property, g.formula)).collect();
                failures(system, *relation, &known, &pre, &gates, wanted, &mut bad);
            }
        }
    }
    for (relation, constraint) in bad {
        horn.rule(Rule { body: vec![at_now(relation)], constraint, head: None });
    }
    match horn.solve() {
        HornAnswer::Safe(solution) => {
            Ok(relations.into_iter().map(|(at, r)| (at, system.ungrouped(solution[r.0 as usize]))).collect())
        }
        HornAnswer::Unsafe(_) => Err(Reason::Alarm("the counted program reaches a violation".into())),
        HornAnswer::Unknown(why) => Err(Reason::Solver {
            reason: why.to_string(),
            obligation: "an inductive invariant over the counters".into(),
        }),
    }
}

/// What is true initially, of the store, the singles and the groups.
pub fn initial(system: &System<'_>) -> Vec<Term> {
    let (t, p) = (system.terms, system.program);
    let mut start = system.facts();
    for v in p.shared().chain(system.singles.iter().flat_map(|(s, _)| p.threads[*s].locals.iter().copied())) {
        if let Some(value) = p.vars[v].initial {
            start.push(t.eq(t.sym(p.vars[v].symbol), value));
        }
    }
    start.extend(p.init.iter().filter_map(|f| f.formula));
    for g in &system.groups {
        let thread = &p.threads[g.thread];
        let entered = g.cells.iter().any(|c| system.cells[*c].location == thread.code.entry);
        if !entered || thread.start == program::Start::BySpawn {
            start.push(t.eq(t.sym(g.symbol), t.int(0)));
        }
    }
    start
}

/// A step of the counted system from a combination of the singles' locations.
pub struct Step {
    pub pre: Vec<Term>,
    pub to: Vec<LocId>,
    pub effect: Vec<(Symbol, Term)>,
}

/// Every step that can be taken where the singles are at these locations.
pub fn steps(system: &System<'_>, at: &[LocId]) -> Vec<Step> {
    let (t, p) = (system.terms, system.program);
    let facts = system.facts();
    let mut out = Vec::new();
    for (k, (thread, tid)) in system.singles.iter().enumerate() {
        let tid = t.sym(*tid);
        for a in p.threads[*thread].code.actions.iter().filter(|a| a.from == at[k]) {
            let mut to = at.to_vec();
            to[k] = a.to;
            let mut pre = facts.clone();
            pre.extend(system.taken(a, tid));
            out.push(Step { pre, to, effect: system.effect(a, tid) });
        }
    }
    for m in &system.moves {
        let action = system.action(m);
        let (from, to) = (system.groups[system.group_of[m.from]].symbol, system.groups[system.group_of[m.to]].symbol);
        if from == to && action.updates.iter().all(|u| p.vars[u.var].scope != program::Scope::Shared) {
            continue;
        }
        let mut pre = facts.clone();
        pre.push(t.le(t.int(1), t.sym(from)));
        pre.extend(system.before(m));
        let mut effect = system.effect(action, t.sym(p.tid));
        if from != to {
            effect.push((from, t.sub(t.sym(from), t.int(1))));
            effect.push((to, t.add(t.sym(to), t.int(1))));
        }
        out.push(Step { pre, to: at.to_vec(), effect });
    }
    out
}

fn failures(
    system: &System<'_>,
    relation: Relation,
    known: &[Term],
    pre: &[Term],
    gates: &[(PropertyId, Term)],
    wanted: &[PropertyId],
    bad: &mut Vec<(Relation, Term)>,
) {
    let t = system.terms;
    let mut passed: Vec<Term> = known.iter().chain(pre).copied().collect();
    for (property, gate) in gates {
        if wanted.contains(property) {
            bad.push((relation, t.and(&[t.and(&passed), t.not(*gate)])));
        }
        passed.push(*gate);
    }
}

/// Symbols whose values the relations keep.
fn parameters(system: &System<'_>, kept: &[usize]) -> Vec<Symbol> {
    let (t, p) = (system.terms, system.program);
    let scalar = |v: &VarId| {
        matches!(
            t.kind(p.vars[*v].sort),
            SortKind::Bool | SortKind::Int | SortKind::Machine(_) | SortKind::Enum(_) | SortKind::Ref(_)
        )
    };
    let mut out: Vec<Symbol> = p.shared().filter(|v| scalar(v)).map(|v| p.vars[v].symbol).collect();
    for (thread, tid) in &system.singles {
        out.extend(p.threads[*thread].locals.iter().filter(|v| scalar(v)).map(|v| p.vars[*v].symbol));
        out.push(*tid);
    }
    out.extend(kept.iter().map(|g| system.groups[*g].symbol));
    out
}

/// The combinations of the singles' locations that control alone allows.
pub fn combinations(system: &System<'_>) -> Result<Vec<Vec<LocId>>, Reason> {
    let p = system.program;
    let start: Vec<LocId> = system.singles.iter().map(|(s, _)| p.threads[*s].code.entry).collect();
    let mut out = vec![start];
    let mut seen: std::collections::BTreeSet<Vec<LocId>> = out.iter().cloned().collect();
    let mut at = 0;
    while at < out.len() {
        if out.len() > MOST_COMBINATIONS {
            return Err(Reason::NotAdmitted("too many combinations of single threads' locations".into()));
        }
        let here = out[at].clone();
        for (k, (thread, _)) in system.singles.iter().enumerate() {
            for a in p.threads[*thread].code.actions.iter().filter(|a| a.from == here[k]) {
                let mut next = here.clone();
                next[k] = a.to;
                if seen.insert(next.clone()) {
                    out.push(next);
                }
            }
        }
        at += 1;
    }
    Ok(out)
}
