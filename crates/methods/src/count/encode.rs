//! The counted system as Horn clauses, one relation for each combination of the unique threads' locations.
//!
//! In: the system and the properties to show. Out: an invariant for each combination that is reached, or why there is
//! none. Parameters of the relations are the shared scalars, the unique threads' scalar locals and thread ids, and the counters;
//! maps, sets, sequences and fields are left unconstrained, which only makes more runs possible. Lemmas are conjoined to
//! every body, and to the result.

use super::system::{CountedSystem, StepEndpoint, UniqueThread};
use crate::combinations::Inside;
use crate::infer::clauses::HornClauseBuilder;
use base::Budget;
use evidence::Reason;
use logic::{SortKind, Symbol, Term};
use program::{Copies, LocId, PropertyId, Start, VarId};
use solver::{Atom, Horn, Relation, SolverSettings};
use std::collections::BTreeMap;

const MAX_COMBINATIONS: usize = 3_000;

pub(super) type Invariant = Vec<(Vec<LocId>, Term)>;

/// Tries with the counters that matter most, then with all: a counter left out may be anything.
pub(crate) fn solve_counted(
    system: &CountedSystem<'_>,
    wanted: &[PropertyId],
    lemmas: &[Term],
    combinations: &[Vec<LocId>],
    settings: &SolverSettings,
    budget: &Budget,
) -> Result<Invariant, Reason> {
    let all: Vec<usize> = (0..system.groups.len()).collect();
    let few: Vec<usize> = all.iter().copied().filter(|g| matters(system, *g)).collect();
    if few.len() < all.len() {
        // Most of what can be shown with few counters is shown soon.
        let short = SolverSettings { limit: settings.limit / 4, ..*settings };
        if let Ok(found) = attempt(system, wanted, &few, lemmas, combinations, &short, budget) {
            return Ok(found);
        }
    }
    attempt(system, wanted, &all, lemmas, combinations, settings, budget)
}

/// The number at the entry of `T[*]` is arbitrary anyway unless each is started, and nothing follows from how many have ended.
fn matters(system: &CountedSystem<'_>, g: usize) -> bool {
    let p = system.program;
    let group = &system.groups[g];
    let thread = &p.threads[group.thread];
    let entry = group.cells.iter().any(|c| system.cells[*c].location == thread.code.entry);
    let left = system.moves.iter().any(|m| system.group_of[m.from] == g && system.group_of[m.to] != g);
    let given = thread.copies != Copies::Any || thread.start == Start::Spawned;
    given || (left && !entry)
}

fn attempt(
    system: &CountedSystem<'_>,
    wanted: &[PropertyId],
    kept: &[usize],
    lemmas: &[Term],
    combinations: &[Vec<LocId>],
    settings: &SolverSettings,
    budget: &Budget,
) -> Result<Invariant, Reason> {
    let (t, p) = (system.terms, system.program);
    let params = parameters(system, kept);
    let mut horn = HornClauseBuilder { horn: Horn::new(t, *settings, budget), terms: t, wanted: wanted.to_vec() };
    let relations: BTreeMap<Vec<LocId>, Relation> =
        combinations.iter().enumerate().map(|(i, at)| (at.clone(), horn.relation(format!("at{i}"), &params))).collect();
    let now: Vec<Term> = params.iter().map(|s| t.sym(*s)).collect();
    let facts = t.and(&system.facts());
    let at_now = |relation: Relation| Atom { relation, args: now.clone() };
    let after = |effect: &[(Symbol, Term)]| -> Vec<Term> {
        now.iter().map(|x| t.substitute(*x, effect.iter().copied())).collect()
    };

    let entries: Vec<LocId> = system.unique_threads.iter().map(|s| p.threads[s.thread].code.entry).collect();
    let start = system.at(t.and(&system.initial()), &entries);
    horn.initial(start, at_now(relations[&entries]));

    let (steps, ways) = (system.steps(), system.bad(wanted));
    let mut bad: Vec<(Relation, Term)> = Vec::new();
    for (at, relation) in &relations {
        lemmas.iter().for_each(|l| horn.horn.lemma(*relation, system.at(*l, at)));
        system.in_cells(at).into_iter().for_each(|l| horn.horn.lemma(*relation, l));
        for step in &steps {
            let mut to = at.clone();
            if let (StepEndpoint::Cell(k, a), StepEndpoint::Cell(_, b)) = (step.from, step.to) {
                if system.unique_threads[k].cells[a].location != at[k] {
                    continue;
                }
                to[k] = system.unique_threads[k].cells[b].location;
            }
            let Some(head) = relations.get(&to) else { continue };
            let head = Atom { relation: *head, args: after(&step.effect) };
            let constraint = t.and(&[facts, system.at(t.and(&step.pre), at)]);
            horn.leads(vec![at_now(*relation)], constraint, head);
        }
        for way in &ways {
            let constraint = t.and(&[facts, system.at(t.and(&way.formula), at)]);
            if !t.is_false(constraint) {
                bad.push((*relation, constraint));
            }
        }
    }
    for (relation, constraint) in bad {
        horn.never(&at_now(relation), constraint);
    }
    let solution = horn.solve("the counted program reaches a violation", "an inductive invariant over the counters")?;
    Ok(relations.into_iter().map(|(at, r)| (at, system.ungrouped(solution[r.index()]))).collect())
}

/// The invariant that facts make, which are inductive.
pub(crate) fn of_facts(system: &CountedSystem<'_>, facts: &[Term], combinations: &[Vec<LocId>]) -> Invariant {
    let t = system.terms;
    let there = |at: &Vec<LocId>| {
        let mut parts: Vec<Term> = facts.iter().map(|f| system.at(*f, at)).collect();
        parts.extend(system.in_cells(at));
        system.ungrouped(t.simplify(t.and(&parts)))
    };
    combinations.iter().map(|at| (at.clone(), there(at))).collect()
}

/// Symbols whose values the relations keep.
fn parameters(system: &CountedSystem<'_>, kept: &[usize]) -> Vec<Symbol> {
    let (t, p) = (system.terms, system.program);
    let scalar = |v: &VarId| {
        matches!(
            t.kind(p.vars[*v].sort),
            SortKind::Bool | SortKind::Int | SortKind::Machine(_) | SortKind::Enum(_) | SortKind::Ref(_)
        )
    };
    let mut out: Vec<Symbol> = p.shared().filter(|v| scalar(v)).map(|v| p.vars[v].symbol).collect();
    for UniqueThread { thread, tid, .. } in &system.unique_threads {
        out.extend(p.threads[*thread].locals.iter().filter(|v| scalar(v)).map(|v| p.vars[*v].symbol));
        out.push(*tid);
    }
    out.extend(kept.iter().map(|g| system.groups[*g].symbol));
    out
}

/// The combinations of the unique threads' locations that control alone allows. Counted threads may move at any time, so no thread
/// is alone inside an atomic block here.
pub(crate) fn combinations(system: &CountedSystem<'_>) -> Result<Vec<Vec<LocId>>, Reason> {
    let codes: Vec<_> = system.unique_threads.iter().map(|s| &system.program.threads[s.thread].code).collect();
    crate::combinations::combinations(&codes, Inside::Anyone, MAX_COMBINATIONS)
        .ok_or_else(|| Reason::NotAdmitted("too many combinations of single threads' locations".into()))
}
