//! What reachable states contradict is no fact.
//!
//! In: the counted system with its samples, and candidates. Out: the candidates that no sample contradicts. A candidate that is false in a reachable state is in no
//! inductive set, so none that could be kept is lost, and what the solver is not asked about costs nothing.
//! Deliberately absent: the runs (`samples`); what the samples do not contradict is asked of the solver (`joint`).

use super::system::{CellFacts, CountedSystem};
use logic::{Symbol, Term, Value, eval_term};
use program::semantics::{Instance, State};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Drops what some state contradicts.
pub(super) fn refute(system: &CountedSystem<'_>, facts: &mut Vec<Term>, cells: &mut CellFacts) {
    let t = system.terms;
    let stays = |f: Term, env: &FxHashMap<Symbol, Value>| eval_term(t, f, env) != Ok(Value::Bool(false));
    for state in system.samples.tried() {
        let seen = SeenState::of(system, state);
        if let Some(env) = seen.with_counts(system) {
            facts.retain(|f| stays(*f, &env));
        }
        for (a, x) in &seen.placed {
            let own = seen.with_instance(system, x);
            cells.holds[*a].retain(|f| stays(*f, &own));
            for (b, y) in seen.placed.iter().filter(|(b, y)| a <= b && y.tid != x.tid) {
                if let Some(list) = cells.pairwise.get_mut(&(*a, *b)).filter(|list| !list.is_empty()) {
                    let both = seen.with_second(system, &own, y);
                    list.retain(|f| stays(*f, &both));
                }
            }
        }
    }
    cells.pairwise.retain(|_, list| !list.is_empty());
}

/// Drops pairs of cells that two instances were seen in.
pub(super) fn refute_exclusion(system: &CountedSystem<'_>, exclusive: &mut BTreeSet<(usize, usize)>) {
    for state in system.samples.tried() {
        let placed = SeenState::of(system, state).placed;
        for (a, x) in &placed {
            let others = placed.iter().filter(|(b, y)| a <= b && y.tid != x.tid);
            others.for_each(|(b, _)| {
                exclusive.remove(&(*a, *b));
            });
        }
    }
}

/// A state, with the cells that its counted instances are in.
struct SeenState<'s> {
    state: &'s State,
    store: FxHashMap<Symbol, Value>,
    placed: Vec<(usize, &'s Instance)>,
}

impl<'s> SeenState<'s> {
    fn of(system: &CountedSystem<'_>, state: &'s State) -> Self {
        let p = system.program;
        let values = p.shared().zip(&state.shared).map(|(v, value)| (p.vars[v].symbol, value.clone()));
        let mut out = Self { state, store: values.collect(), placed: Vec::new() };
        for x in &state.instances {
            let env = out.with_instance(system, x);
            let here = system.cells.iter().enumerate().filter(|(_, c)| c.thread == x.thread && c.location == x.at);
            let inside = here.filter(|(_, c)| eval_term(system.terms, c.formula, &env) == Ok(Value::Bool(true)));
            out.placed.extend(inside.map(|(c, _)| (c, x)));
        }
        out
    }

    /// The store as an instance sees it, with its locals and id.
    fn with_instance(&self, system: &CountedSystem<'_>, x: &Instance) -> FxHashMap<Symbol, Value> {
        let p = system.program;
        let mut env = self.store.clone();
        env.extend(
            p.threads[x.thread].locals.iter().zip(&x.locals).map(|(v, value)| (p.vars[*v].symbol, value.clone())),
        );
        env.insert(p.tid, Value::Int(x.tid.into()));
        env
    }

    /// The same with a second instance.
    fn with_second(
        &self,
        system: &CountedSystem<'_>,
        own: &FxHashMap<Symbol, Value>,
        y: &Instance,
    ) -> FxHashMap<Symbol, Value> {
        let other = self.with_instance(system, y);
        let of_second = system.peer_copy.iter().filter_map(|(x, copy)| Some((*copy, other.get(x)?.clone())));
        own.iter().map(|(s, value)| (*s, value.clone())).chain(of_second).collect()
    }

    /// The store with what is counted and where the singles are; nothing where an instance is in no cell or in two.
    fn with_counts(&self, system: &CountedSystem<'_>) -> Option<FxHashMap<Symbol, Value>> {
        let p = system.program;
        let mut env = self.store.clone();
        let mut counts = vec![0; system.groups.len()];
        self.placed.iter().for_each(|(c, _)| counts[system.group_of[*c]] += 1);
        env.extend(system.groups.iter().zip(&counts).map(|(g, n)| (g.symbol, Value::Int(*n))));
        let mut singles = 0;
        for x in &self.state.instances {
            let Some(single) = system.unique_threads.iter().find(|s| s.thread == x.thread) else { continue };
            singles += 1;
            let own = self.with_instance(system, x);
            let inside = |c: &crate::cells::CountedCell| {
                c.location == x.at && eval_term(system.terms, c.formula, &own) == Ok(Value::Bool(true))
            };
            let there: Vec<bool> = single.cells.iter().map(inside).collect();
            if there.iter().filter(|x| **x).count() != 1 {
                return None;
            }
            env.extend(single.there.iter().zip(there).map(|(s, there)| (*s, Value::Bool(there))));
            env.extend(
                p.threads[x.thread].locals.iter().zip(&x.locals).map(|(v, value)| (p.vars[*v].symbol, value.clone())),
            );
            env.insert(single.tid, Value::Int(x.tid.into()));
        }
        (singles + self.placed.len() == self.state.instances.len()).then_some(env)
    }
}
