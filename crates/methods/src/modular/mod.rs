//! Thread-modular Horn clauses: what a thread reaches and what its steps do, found by Spacer.
//!
//! In: a program and the properties to show. Out: an annotation of each thread for the rule `rely-guarantee`, which holds
//! for every number of instances, or why there is none. Relations: at_T[l] over the shared store, T's locals and tid; step_T
//! over the shared store before and after and the tid of the mover (Threader's R and E for the symmetric, modular
//! case; Calvin's annotations with the guarantees unknown). Locals that are not read again are left out of at_T[l]. Every instance of a thread is checked once, for an
//! arbitrary tid against an arbitrary other tid, so the cost does not depend on their number.
//! Used by `rely` and by `horn`. Absent: spawning; facts that relate two threads' locals.

use base::Budget;
use evidence::{Annotation, Reason, RelyGuarantee};
use logic::{Sort, SortKind, Symbol, Term, Terms};
use program::{Action, Copies, LocId, Program, PropertyId, PropertyKind, ThreadId, VarId};
use solver::{Atom, Horn, HornAnswer, Relation, Rule, Settings};

/// Whether the clauses can be built for this program.
pub fn admits(program: &Program) -> Result<(), String> {
    if program.threads.is_empty() {
        return Err("there is no thread".into());
    }
    if program.threads.iter().any(|t| t.code.actions.iter().any(|a| a.spawn.is_some())) {
        return Err("threads are spawned".into());
    }
    Ok(())
}

/// The properties that live in gates of threads, invariants, and written relies.
pub fn wanted(program: &Program, among: &[PropertyId]) -> Vec<PropertyId> {
    let gated = |w: PropertyId| {
        program.threads.iter().any(|t| t.code.actions.iter().any(|a| a.gates.iter().any(|g| g.property == w)))
    };
    let inside = program.threads.iter().any(|t| t.code.locations.iter().any(|l| l.inside));
    among
        .iter()
        .copied()
        .filter(|w| match program.properties[*w].kind {
            PropertyKind::Invariant(_) => true,
            PropertyKind::Rely(r) => !inside && program.relies.get(r as usize).is_some_and(|r| r.formula.is_some()),
            // With no gate left there is nothing that can go wrong.
            PropertyKind::Assertion => true,
            _ => gated(*w),
        })
        .collect()
}

pub fn solve(
    program: &Program,
    terms: &Terms,
    wanted: &[PropertyId],
    settings: Settings,
    budget: &Budget,
) -> Result<RelyGuarantee, Reason> {
    let mut m = Modular::new(program, terms, settings, budget);
    m.clauses(wanted)?;
    match m.horn.solve() {
        HornAnswer::Safe(solution) => Ok(m.annotation(wanted, &solution)),
        HornAnswer::Unsafe(_) => Err(Reason::Alarm("no thread-modular proof exists for this abstraction".into())),
        HornAnswer::Unknown(why) => Err(Reason::Solver {
            reason: why.to_string(),
            obligation: "what each thread reaches, and what its steps do".into(),
        }),
    }
}

struct Modular<'a> {
    program: &'a Program,
    terms: &'a Terms,
    horn: Horn<'a>,
    /// Shared variables whose values the relations keep.
    shared: Vec<VarId>,
    /// For each thread: for each location its kept locals and a relation; and one relation for its steps.
    at: Vec<Vec<Relation>>,
    locals: Vec<Vec<Vec<VarId>>>,
    steps: Vec<Relation>,
    other: Symbol,
}

impl<'a> Modular<'a> {
    fn new(program: &'a Program, terms: &'a Terms, settings: Settings, budget: &Budget) -> Self {
        let kept = |v: &VarId| !matches!(terms.kind(program.vars[*v].sort), SortKind::Seq(_));
        let shared: Vec<VarId> = program.shared().filter(kept).collect();
        let mut horn = Horn::new(terms, settings, budget);
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
        let vars = self.shared.iter().chain(&self.locals[t.0 as usize][at.0 as usize]);
        vars.map(|v| self.terms.sym(self.program.vars[*v].symbol)).chain([self.terms.sym(self.program.tid)]).collect()
    }

    fn effect(&self, action: &Action) -> Vec<(Symbol, Term)> {
        action.updates.iter().map(|u| (self.program.vars[u.var].symbol, u.value)).collect()
    }

    /// Primed shared symbols to their values after the action.
    fn primed(&self, action: &Action) -> Vec<(Symbol, Term)> {
        let (t, p) = (self.terms, self.program);
        let value =
            |v: VarId| action.updates.iter().find(|u| u.var == v).map_or_else(|| t.sym(p.vars[v].symbol), |u| u.value);
        p.shared().map(|v| (p.vars[v].primed, value(v))).collect()
    }

    fn clauses(&mut self, wanted: &[PropertyId]) -> Result<(), Reason> {
        let (t, p) = (self.terms, self.program);
        let tid = t.sym(p.tid);
        let positive = t.lt(t.int(0), tid);
        let mut init: Vec<Term> =
            p.shared().filter_map(|v| p.vars[v].initial.map(|i| t.eq(t.sym(p.vars[v].symbol), i))).collect();
        init.extend(p.init.iter().filter_map(|f| f.formula));
        for (id, thread) in p.threads.iter_enumerated() {
            let i = id.0 as usize;
            let mut start = init.clone();
            start.push(positive);
            start.extend(
                thread.locals.iter().filter_map(|v| p.vars[*v].initial.map(|x| t.eq(t.sym(p.vars[*v].symbol), x))),
            );
            let entry = thread.code.entry;
            let head = Atom { relation: self.at[i][entry.0 as usize], args: self.now(id, entry) };
            self.horn.rule(Rule { body: vec![], constraint: t.and(&start), head: Some(head) });
            for action in thread.code.actions.iter() {
                let here = Atom { relation: self.at[i][action.from.0 as usize], args: self.now(id, action.from) };
                let mut taken = vec![positive, action.guard];
                for gate in &action.gates {
                    if wanted.contains(&gate.property) {
                        let constraint = t.and(&[t.and(&taken), t.not(gate.formula)]);
                        self.horn.rule(Rule { body: vec![here.clone()], constraint, head: None });
                    }
                    taken.push(gate.formula);
                }
                let constraint = t.and(&taken);
                let effect = self.effect(action);
                let then = self.now(id, action.to);
                let after: Vec<Term> = then.iter().map(|x| t.substitute(*x, effect.iter().copied())).collect();
                let to = Atom { relation: self.at[i][action.to.0 as usize], args: after };
                self.horn.rule(Rule { body: vec![here.clone()], constraint, head: Some(to) });
                let shared = &self.shared;
                let writes = action.updates.iter().any(|u| p.vars[u.var].scope == program::Scope::Shared);
                let primed = self.primed(action);
                if writes {
                    let mut args: Vec<Term> = shared.iter().map(|v| t.sym(p.vars[*v].symbol)).collect();
                    args.extend(shared.iter().map(|v| t.substitute(t.sym(p.vars[*v].primed), primed.iter().copied())));
                    args.push(tid);
                    let head = Atom { relation: self.steps[i], args };
                    self.horn.rule(Rule { body: vec![here.clone()], constraint, head: Some(head) });
                }
                for w in wanted {
                    let PropertyKind::Rely(r) = p.properties[*w].kind else { continue };
                    let rely = &p.relies[r as usize];
                    let Some(formula) = rely.formula else { continue };
                    let other = t.sym(self.other);
                    let seen = t.substitute(formula, [(p.tid, other)]);
                    let seen = t.substitute(seen, primed.iter().copied());
                    let watched = p.threads.ids().any(|x| rely.thread.is_none_or(|y| y == x) && self.meet(x, id));
                    if watched {
                        let parts = [constraint, t.lt(t.int(0), other), t.ne(other, tid), t.not(seen)];
                        self.horn.rule(Rule { body: vec![here.clone()], constraint: t.and(&parts), head: None });
                    }
                }
            }
            for at in thread.code.locations.ids() {
                let here = Atom { relation: self.at[i][at.0 as usize], args: self.now(id, at) };
                for w in wanted {
                    if let PropertyKind::Invariant(formula) = p.properties[*w].kind {
                        self.horn.rule(Rule { body: vec![here.clone()], constraint: t.not(formula), head: None });
                    }
                }
                if !thread.code.locations[at].inside {
                    self.environment(id, &here);
                }
            }
        }
        Ok(())
    }

    /// Two different instances of these threads can exist.
    fn meet(&self, a: ThreadId, b: ThreadId) -> bool {
        a != b || !matches!(self.program.threads[a].copies, Copies::One | Copies::Exactly(1))
    }

    /// What a thread knows survives every step of every other instance.
    fn environment(&mut self, id: ThreadId, here: &Atom) {
        let (t, p) = (self.terms, self.program);
        let other = t.sym(self.other);
        let after: Vec<(Symbol, Term)> =
            self.shared.iter().map(|v| (p.vars[*v].symbol, t.sym(p.vars[*v].primed))).collect();
        for u in p.threads.ids().filter(|u| self.meet(id, *u)).collect::<Vec<_>>() {
            let mut args: Vec<Term> = self.shared.iter().map(|v| t.sym(p.vars[*v].symbol)).collect();
            args.extend(self.shared.iter().map(|v| t.sym(p.vars[*v].primed)));
            args.push(other);
            let step = Atom { relation: self.steps[u.0 as usize], args };
            let moved: Vec<Term> = here.args.iter().map(|x| t.substitute(*x, after.iter().copied())).collect();
            let constraint = t.and(&[t.lt(t.int(0), other), t.ne(other, t.sym(p.tid))]);
            let head = Atom { relation: here.relation, args: moved };
            self.horn.rule(Rule { body: vec![here.clone(), step], constraint, head: Some(head) });
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
            .map(|id| Annotation {
                thread: id,
                at: self.at[id.0 as usize].iter().map(|r| solution[r.0 as usize]).collect(),
                guarantee: t.or(&[solution[self.steps[id.0 as usize].0 as usize], idle]),
                rely: None,
            })
            .collect();
        RelyGuarantee { invariant: t.and(&invariants), threads }
    }
}
