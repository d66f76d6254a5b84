//! All instances at once: one relation for each combination of locations, over the shared store and everybody's locals.
//!
//! In: a fixed list of instances. Out: an inductive invariant for each combination (rule `product`). While an instance is
//! inside an atomic block, only it moves.

use crate::combinations::{Inside, combinations};
use crate::infer::clauses::HornClauseBuilder;
use base::Budget;
use evidence::{InstanceSymbols, ProductProof, Reason};
use logic::{Sort, SortKind, Symbol, Term, Terms};
use program::transition::{initial_locals_facts, initial_store_facts};
use program::{LocId, Program, PropertyId, PropertyKind, ThreadId};
use solver::{Atom, Horn, Relation, SolverSettings};
use std::collections::BTreeMap;

const MAX_COMBINATIONS: usize = 4_000;

pub(crate) fn solve_product(
    p: &Program,
    t: &Terms,
    counts: &[u32],
    wanted: &[PropertyId],
    settings: SolverSettings,
    budget: &Budget,
) -> Result<ProductProof, Reason> {
    let instances = instances(p, t, counts);
    let views: Vec<Vec<(Symbol, Term)>> = instances
        .iter()
        .enumerate()
        .map(|(i, x)| {
            let locals = p.threads[x.thread].locals.iter().zip(&x.locals);
            let mut view: Vec<(Symbol, Term)> = locals.map(|(v, (now, _))| (p.vars[*v].symbol, t.sym(*now))).collect();
            view.push((p.tid, t.int(i as i128 + 1)));
            view
        })
        .collect();
    let see = |i: usize, f: Term| t.substitute(f, views[i].iter().copied());
    let kept = |s: &Symbol| !matches!(t.kind(t.symbol_sort(*s)), SortKind::Seq(_));
    let mut params: Vec<Symbol> = p.shared().map(|v| p.vars[v].symbol).filter(kept).collect();
    params.extend(instances.iter().flat_map(|x| x.locals.iter().map(|l| l.0)).filter(kept));
    let now: Vec<Term> = params.iter().map(|s| t.sym(*s)).collect();
    let code = |i: usize| &p.threads[instances[i].thread].code;
    let codes: Vec<_> = (0..instances.len()).map(code).collect();
    let combinations = combinations(&codes, Inside::Alone, MAX_COMBINATIONS)
        .ok_or_else(|| Reason::NotAdmitted(format!("more than {MAX_COMBINATIONS} combinations of locations")))?;
    let mut horn = HornClauseBuilder { horn: Horn::new(t, settings, budget), terms: t, wanted: wanted.to_vec() };
    let relations: BTreeMap<Vec<LocId>, Relation> =
        combinations.iter().enumerate().map(|(i, at)| (at.clone(), horn.relation(format!("at{i}"), &params))).collect();

    let mut start = initial_store_facts(p, t);
    for (i, x) in instances.iter().enumerate() {
        start.extend(initial_locals_facts(p, t, x.thread).into_iter().map(|f| see(i, f)));
    }
    let entries: Vec<LocId> = (0..instances.len()).map(|i| code(i).entry).collect();
    let head = Atom { relation: relations[&entries], args: now.clone() };
    horn.initial(t.and(&start), head);

    for (at, relation) in &relations {
        let here = Atom { relation: *relation, args: now.clone() };
        let inside = (0..instances.len()).find(|i| code(*i).locations[at[*i]].in_atomic_block);
        for w in wanted.iter().filter(|_| inside.is_none()) {
            if let PropertyKind::Invariant(formula) = p.properties[*w].kind {
                horn.never(&here, t.not(formula));
            }
        }
        for i in (0..instances.len()).filter(|i| inside.is_none_or(|only| only == *i)) {
            for a in code(i).actions.iter().filter(|a| a.from == at[i]) {
                let gates = a.gates.iter().map(|g| (g.property, see(i, g.formula)));
                let constraint = horn.gates(&here, vec![see(i, a.guard)], gates);
                let mut effect: Vec<(Symbol, Term)> = Vec::new();
                for u in &a.updates {
                    let own = p.threads[instances[i].thread].locals.iter().position(|v| *v == u.var);
                    let symbol = own.map_or(p.vars[u.var].symbol, |k| instances[i].locals[k].0);
                    effect.push((symbol, see(i, u.value)));
                }
                let mut next = at.clone();
                next[i] = a.to;
                let args = now.iter().map(|x| t.substitute(*x, effect.iter().copied())).collect();
                let head = Atom { relation: relations[&next], args };
                horn.leads(vec![here.clone()], constraint, head);
                for w in wanted {
                    let PropertyKind::Rely(r) = p.properties[*w].kind else { continue };
                    let rely = &p.relies[r as usize];
                    let Some(formula) = rely.formula else { continue };
                    let value = |s: Symbol| effect.iter().find(|(x, _)| *x == s).map_or_else(|| t.sym(s), |(_, v)| *v);
                    let primed: Vec<(Symbol, Term)> =
                        p.shared().map(|v| (p.vars[v].primed, value(p.vars[v].symbol))).collect();
                    let others = (0..instances.len())
                        .filter(|j| *j != i && rely.thread.is_none_or(|x| x == instances[*j].thread));
                    for j in others {
                        let seen = t.substitute(formula, [(p.tid, t.int(j as i128 + 1))]);
                        let seen = t.substitute(seen, primed.iter().copied());
                        horn.never(&here, t.and(&[constraint, t.not(seen)]));
                    }
                }
            }
        }
    }
    let sought = "an inductive invariant of all instances";
    let solution = horn.solve("a violation is reachable in the Horn clauses", sought)?;
    let invariant = relations.into_iter().map(|(at, r)| (at, solution[r.index()])).collect();
    Ok(ProductProof { instances, invariant })
}

pub(super) fn instances(p: &Program, t: &Terms, counts: &[u32]) -> Vec<InstanceSymbols> {
    let list: Vec<ThreadId> =
        p.threads.ids().flat_map(|x| std::iter::repeat_n(x, counts[x.index()] as usize)).collect();
    list.iter()
        .enumerate()
        .map(|(i, thread)| {
            let n = i + 1;
            let pair = |name: &str, sort: Sort| {
                (t.symbol(format!("{name}.{n}"), sort), t.symbol(format!("{name}.{n}'"), sort))
            };
            InstanceSymbols {
                thread: *thread,
                locals: p.threads[*thread].locals.iter().map(|v| pair(&p.vars[*v].name, p.vars[*v].sort)).collect(),
                pc: pair("pc", Sort::INT),
            }
        })
        .collect()
}
