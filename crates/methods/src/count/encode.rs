//! The counted system as Horn clauses, one relation for each combination of the singles' locations.
//!
//! In: the system and the properties to show. Out: an invariant for each combination that is reached, or why there is
//! none. Parameters of the relations are the shared scalars, the singles' scalar locals and thread ids, and the counters;
//! maps, sets, sequences and fields are left unconstrained, which only makes more runs possible. Lemmas are conjoined to
//! every body, and to the result.

use super::system::{Place, Single, System};
use crate::combinations::Inside;
use base::Budget;
use evidence::Reason;
use logic::{SortKind, Symbol, Term};
use program::{Copies, LocId, PropertyId, Start, VarId};
use solver::{Atom, Horn, HornAnswer, Relation, Rule, Settings};
use std::collections::BTreeMap;

const MOST_COMBINATIONS: usize = 3_000;

pub type Invariant = Vec<(Vec<LocId>, Term)>;

/// Tries with the counters that matter most, then with all: a counter left out may be anything.
pub fn solve(
    system: &System<'_>,
    wanted: &[PropertyId],
    lemmas: &[Term],
    combinations: &[Vec<LocId>],
    settings: &Settings,
    budget: &Budget,
) -> Result<Invariant, Reason> {
    let all: Vec<usize> = (0..system.groups.len()).collect();
    let few: Vec<usize> = all.iter().copied().filter(|g| matters(system, *g)).collect();
    if few.len() < all.len() {
        // Most of what can be shown with few counters is shown soon.
        let short = Settings { limit: settings.limit / 4, ..*settings };
        if let Ok(found) = attempt(system, wanted, &few, lemmas, combinations, &short, budget) {
            return Ok(found);
        }
    }
    attempt(system, wanted, &all, lemmas, combinations, settings, budget)
}

/// The number at the entry of `T[*]` is arbitrary anyway unless each is started, and nothing follows from how many have ended.
fn matters(system: &System<'_>, g: usize) -> bool {
    let p = system.program;
    let group = &system.groups[g];
    let thread = &p.threads[group.thread];
    let entry = group.cells.iter().any(|c| system.cells[*c].location == thread.code.entry);
    let left = system.moves.iter().any(|m| system.group_of[m.from] == g && system.group_of[m.to] != g);
    let given = thread.copies != Copies::Any || thread.start == Start::BySpawn;
    given || (left && !entry)
}

fn attempt(
    system: &System<'_>,
    wanted: &[PropertyId],
    kept: &[usize],
    lemmas: &[Term],
    combinations: &[Vec<LocId>],
    settings: &Settings,
    budget: &Budget,
) -> Result<Invariant, Reason> {
    let (t, p) = (system.terms, system.program);
    let params = parameters(system, kept);
    let mut horn = Horn::new(t, *settings, budget);
    let relations: BTreeMap<Vec<LocId>, Relation> =
        combinations.iter().enumerate().map(|(i, at)| (at.clone(), horn.relation(format!("at{i}"), &params))).collect();
    let now: Vec<Term> = params.iter().map(|s| t.sym(*s)).collect();
    let facts = t.and(&system.facts());
    let at_now = |relation: Relation| Atom { relation, args: now.clone() };
    let after = |effect: &[(Symbol, Term)]| -> Vec<Term> {
        now.iter().map(|x| t.substitute(*x, effect.iter().copied())).collect()
    };

    let entries: Vec<LocId> = system.singles.iter().map(|s| p.threads[s.thread].code.entry).collect();
    let start = system.at(t.and(&system.initial()), &entries);
    horn.rule(Rule { body: vec![], constraint: start, head: Some(at_now(relations[&entries])) });

    let (steps, ways) = (system.steps(), system.bad(wanted));
    let mut bad: Vec<(Relation, Term)> = Vec::new();
    for (at, relation) in &relations {
        lemmas.iter().for_each(|l| horn.lemma(*relation, system.at(*l, at)));
        system.in_cells(at).into_iter().for_each(|l| horn.lemma(*relation, l));
        for step in &steps {
            let mut to = at.clone();
            if let (Place::Cell(k, a), Place::Cell(_, b)) = (step.from, step.to) {
                if system.singles[k].cells[a].location != at[k] {
                    continue;
                }
                to[k] = system.singles[k].cells[b].location;
            }
            let Some(head) = relations.get(&to) else { continue };
            let head = Atom { relation: *head, args: after(&step.effect) };
            let constraint = t.and(&[facts, system.at(t.and(&step.pre), at)]);
            horn.rule(Rule { body: vec![at_now(*relation)], constraint, head: Some(head) });
        }
        for way in &ways {
            let constraint = t.and(&[facts, system.at(t.and(&way.formula), at)]);
            if !t.is_false(constraint) {
                bad.push((*relation, constraint));
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

/// The invariant that facts make, which are inductive.
pub fn of_facts(system: &System<'_>, facts: &[Term], combinations: &[Vec<LocId>]) -> Invariant {
    let t = system.terms;
    let there = |at: &Vec<LocId>| {
        let mut parts: Vec<Term> = facts.iter().map(|f| system.at(*f, at)).collect();
        parts.extend(system.in_cells(at));
        system.ungrouped(t.simplify(t.and(&parts)))
    };
    combinations.iter().map(|at| (at.clone(), there(at))).collect()
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
    for Single { thread, tid, .. } in &system.singles {
        out.extend(p.threads[*thread].locals.iter().filter(|v| scalar(v)).map(|v| p.vars[*v].symbol));
        out.push(*tid);
    }
    out.extend(kept.iter().map(|g| system.groups[*g].symbol));
    out
}

/// The combinations of the singles' locations that control alone allows. Counted threads may move at any time, so nobody
/// is alone inside an atomic block here.
pub fn combinations(system: &System<'_>) -> Result<Vec<Vec<LocId>>, Reason> {
    let codes: Vec<_> = system.singles.iter().map(|s| &system.program.threads[s.thread].code).collect();
    crate::combinations::combinations(&codes, Inside::Anyone, MOST_COMBINATIONS)
        .ok_or_else(|| Reason::NotAdmitted("too many combinations of single threads' locations".into()))
}
