//! Thread-modular Horn clauses: what a thread reaches and what its steps do, found by Spacer.
//!
//! In: a program and the properties to show. Out: an annotation of each thread for the rule `rely-guarantee`, which holds
//! for every number of instances, or why there is none. Relations: `at_T[l]` over the shared store, T's locals and tid; step_T
//! over the shared store before and after and the tid of the mover (Threader's R and E for the symmetric, modular
//! case; Calvin's annotations with the guarantees unknown). Locals that are not read again are left out of `at_T[l]`. Every instance of a thread is checked once, for an
//! arbitrary tid against an arbitrary other tid, so the cost does not depend on their number.
//! Used by `rely` and by `horn`. Deliberately absent: spawning; facts that relate two threads' locals.

use crate::infer::clauses::HornClauseBuilder;
use base::Budget;
use evidence::{Reason, RelyGuarantee, ThreadAnnotation};
use logic::{Sort, SortKind, Symbol, Term, Terms};
use program::transition::{
    after_action, claimable_of_threads, has_gate_of, initial_locals_facts, initial_store_facts, may_coexist,
    primed_after_action, writes_shared,
};
use program::{LocId, Program, PropertyId, PropertyKind, ThreadId, VarId};
use solver::{Atom, Horn, Relation, SolverSettings};

/// Whether the clauses can be built for this program.
pub(crate) fn admits(program: &Program) -> Result<(), String> {
    if program.threads.is_empty() {
        return Err("there is no thread".into());
    }
    if program.threads.iter().any(|t| t.code.actions.iter().any(|a| a.spawn.is_some())) {
        return Err("threads are spawned".into());
    }
    Ok(())
}

/// The properties that live in gates of threads, invariants, and written relies.
pub(crate) fn wanted(program: &Program, among: &[PropertyId]) -> Vec<PropertyId> {
    let gated = |w: PropertyId| program.threads.iter().any(|t| has_gate_of(&t.code, w));
    let inside = program.threads.iter().any(|t| t.code.locations.iter().any(|l| l.in_atomic_block));
    among
        .iter()
        .copied()
        .filter(|w| match program.properties[*w].kind {
            PropertyKind::Invariant(_) => true,
            PropertyKind::Rely(r) => !inside && program.relies.get(r as usize).is_some_and(|r| r.formula.is_some()),
            // With no gate left there is nothing that can go wrong; gates of code that no thread runs are not ours.
            PropertyKind::Assertion => claimable_of_threads(program, *w),
            _ => gated(*w),
        })
        .collect()
}

pub(crate) fn solve_modular(
    program: &Program,
    terms: &Terms,
    wanted: &[PropertyId],
    settings: SolverSettings,
    budget: &Budget,
) -> Result<RelyGuarantee, Reason> {
    let mut m = ModularClauses::new(program, terms, wanted, settings, budget);
    m.clauses(wanted);
    let solution = m.horn.solve(
        "no thread-modular proof exists for this abstraction",
        "what each thread reaches, and what its steps do",
    )?;
    Ok(m.annotation(wanted, &solution))
}

struct ModularClauses<'a> {
    program: &'a Program,
    terms: &'a Terms,
    horn: HornClauseBuilder<'a>,
    /// Shared variables whose values the relations keep.
    shared: Vec<VarId>,
    /// For each thread: for each location its kept locals and a relation; and one relation for its steps.
    at: Vec<Vec<Relation>>,
    locals: Vec<Vec<Vec<VarId>>>,
    steps: Vec<Relation>,
    other: Symbol,
}

impl<'a> ModularClauses<'a> {
    fn new(
        program: &'a Program,
        terms: &'a Terms,
        wanted: &[PropertyId],
        settings: SolverSettings,
        budget: &Budget,
    ) -> Self {
        let kept = |v: &VarId| !matches!(terms.kind(program.vars[*v].sort), SortKind::Seq(_));
        let shared: Vec<VarId> = program.shared().filter(kept).collect();
        let mut horn = HornClauseBuilder { horn: Horn::new(terms, settings, budget), terms, wanted: wanted.to_vec() };
        let (mut at, mut locals, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for thread in program.threads.iter() {
            let live = program::live::live(program, &thread.code);
            let mut own: Vec<Vec<VarId>> = Vec::new();
            let mut here = Vec::new();
            for l in thread.code.locations.ids() {
                let mine = thread.locals.iter().copied().filter(|v| live[l].contains(v)).filter(kept);
                own.push(mine.collect());
                let mut params: Vec<Symbol> =
                    shared.iter().chain(&own[own.len() - 1]).map(|v| program.vars[*v].symbol).collect();
                params.push(program.tid);
                here.push(horn.relation(format!("{}.{l}", thread.name), &params));
            }
            at.push(here);
            let mut both: Vec<Symbol> = shared.iter().map(|v| program.vars[*v].symbol).collect();
            both.extend(shared.iter().map(|v| program.vars[*v].primed));
            both.push(program.tid);
            steps.push(horn.relation(format!("{}.step", thread.name), &both));
            locals.push(own);
        }
        let other = terms.symbol("other", Sort::INT);
        Self { program, terms, horn, shared, at, locals, steps, other }
    }

    fn now(&self, t: ThreadId, at: LocId) -> Vec<Term> {
        let vars = self.shared.iter().chain(&self.locals[t.index()][at.index()]);
        vars.map(|v| self.terms.sym(self.program.vars[*v].symbol)).chain([self.terms.sym(self.program.tid)]).collect()
    }

    fn clauses(&mut self, wanted: &[PropertyId]) {
        let (t, p) = (self.terms, self.program);
        let tid = t.sym(p.tid);
        let positive = t.lt(t.int(0), tid);
        let init = initial_store_facts(p, t);
        for (id, thread) in p.threads.iter_enumerated() {
            let i = id.index();
            let mut start = init.clone();
            start.push(positive);
            start.extend(initial_locals_facts(p, t, id));
            let entry = thread.code.entry;
            let head = Atom { relation: self.at[i][entry.index()], args: self.now(id, entry) };
            self.horn.initial(t.and(&start), head);
            for action in thread.code.actions.iter() {
                let here = Atom { relation: self.at[i][action.from.index()], args: self.now(id, action.from) };
                let gates = action.gates.iter().map(|g| (g.property, g.formula));
                let constraint = self.horn.gates(&here, vec![positive, action.guard], gates);
                let effect = after_action(p, action);
                let then = self.now(id, action.to);
                let after: Vec<Term> = then.iter().map(|x| t.substitute(*x, effect.iter().copied())).collect();
                let to = Atom { relation: self.at[i][action.to.index()], args: after };
                self.horn.leads(vec![here.clone()], constraint, to);
                let shared = &self.shared;
                let writes = writes_shared(p, action);
                let primed = primed_after_action(p, t, action);
                if writes {
                    let mut args: Vec<Term> = shared.iter().map(|v| t.sym(p.vars[*v].symbol)).collect();
                    args.extend(shared.iter().map(|v| t.substitute(t.sym(p.vars[*v].primed), primed.iter().copied())));
                    args.push(tid);
                    let head = Atom { relation: self.steps[i], args };
                    self.horn.leads(vec![here.clone()], constraint, head);
                }
                for w in wanted {
                    let PropertyKind::Rely(r) = p.properties[*w].kind else { continue };
                    let rely = &p.relies[r as usize];
                    let Some(formula) = rely.formula else { continue };
                    let other = t.sym(self.other);
                    let seen = t.substitute(formula, [(p.tid, other)]);
                    let seen = t.substitute(seen, primed.iter().copied());
                    let watched = p.threads.ids().any(|x| rely.thread.is_none_or(|y| y == x) && may_coexist(p, x, id));
                    if watched {
                        let parts = [constraint, t.lt(t.int(0), other), t.ne(other, tid), t.not(seen)];
                        self.horn.never(&here, t.and(&parts));
                    }
                }
            }
            for at in thread.code.locations.ids() {
                let here = Atom { relation: self.at[i][at.index()], args: self.now(id, at) };
                for w in wanted {
                    if let PropertyKind::Invariant(formula) = p.properties[*w].kind {
                        self.horn.never(&here, t.not(formula));
                    }
                }
                if !thread.code.locations[at].in_atomic_block {
                    self.environment(id, &here);
                }
            }
        }
    }

    /// What a thread knows survives every step of every other instance.
    fn environment(&mut self, id: ThreadId, here: &Atom) {
        let (t, p) = (self.terms, self.program);
        let other = t.sym(self.other);
        let after: Vec<(Symbol, Term)> =
            self.shared.iter().map(|v| (p.vars[*v].symbol, t.sym(p.vars[*v].primed))).collect();
        for u in p.threads.ids().filter(|u| may_coexist(p, id, *u)).collect::<Vec<_>>() {
            let mut args: Vec<Term> = self.shared.iter().map(|v| t.sym(p.vars[*v].symbol)).collect();
            args.extend(self.shared.iter().map(|v| t.sym(p.vars[*v].primed)));
            args.push(other);
            let step = Atom { relation: self.steps[u.index()], args };
            let moved: Vec<Term> = here.args.iter().map(|x| t.substitute(*x, after.iter().copied())).collect();
            let constraint = t.and(&[t.lt(t.int(0), other), t.ne(other, t.sym(p.tid))]);
            let head = Atom { relation: here.relation, args: moved };
            self.horn.leads(vec![here.clone(), step], constraint, head);
        }
    }

    fn annotation(&self, wanted: &[PropertyId], solution: &[Term]) -> RelyGuarantee {
        let (t, p) = (self.terms, self.program);
        let invariants: Vec<Term> = wanted
            .iter()
            .filter_map(|w| if let PropertyKind::Invariant(f) = p.properties[*w].kind { Some(f) } else { None })
            .collect();
        // Steps that write nothing shared are steps too; they were left out of the clauses because they change nothing.
        let idle =
            t.and(&p.shared().map(|v| t.eq(t.sym(p.vars[v].primed), t.sym(p.vars[v].symbol))).collect::<Vec<_>>());
        // A relation that is not kept in the clauses is unconstrained in them; nothing is said of it here either.
        let threads = p
            .threads
            .ids()
            .map(|id| ThreadAnnotation {
                thread: id,
                at: self.at[id.index()].iter().map(|r| solution[r.index()]).collect(),
                guarantee: t.or(&[solution[self.steps[id.index()].index()], idle]),
                rely: None,
            })
            .collect();
        RelyGuarantee { invariant: t.and(&invariants), threads }
    }
}
