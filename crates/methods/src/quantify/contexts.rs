//! Solver sessions about a few instances, and what they answer.
//!
//! In: clauses, each behind a literal, and a step of one of the instances. Out: that the step keeps a formula, with the clauses that it took; or
//! instances, a store and a step that break it. Every instance has symbols of its own; a count adds a witness: one more instance at its locations.
//! Deliberately absent: what to do about an answer (`learn`).

use super::atoms::{BaseValues, Cast, Roles, as_number};
use super::clauses::Clause;
use super::vocabulary::{BaseTerm, Vocabulary};
use base::Budget;
use evidence::NAMED_INSTANCES;
use logic::{Symbol, Term, Terms};
use program::{Action, Copies, LocId, Program, Scope, ThreadId, VarId};
use solver::{Smt, SolverSettings, Z3};

/// What is fixed during the work.
pub(super) struct Setting<'a> {
    pub p: &'a Program,
    pub terms: &'a Terms,
    pub words: Vocabulary,
    pub roles: Roles,
    pub casts: Vec<Cast>,
    pub counts: Vec<Count>,
}

/// The variable is the number of instances of the thread at these locations.
#[derive(Clone, Debug)]
pub(super) struct Count {
    pub variable: VarId,
    pub thread: ThreadId,
    pub at: Vec<bool>,
}

/// Different instances of these threads, one for each mention, can exist at once.
pub(super) fn has_copies(p: &Program, threads: &[ThreadId]) -> bool {
    threads.iter().all(|t| {
        let needed = threads.iter().filter(|x| *x == t).count();
        match p.threads[*t].copies {
            Copies::One => needed <= 1,
            Copies::Exactly(n) => needed <= n as usize,
            Copies::Any => true,
        }
    })
}

/// An instance in a model, before and after the step.
pub(super) struct Seen {
    pub role: usize,
    pub thread: ThreadId,
    pub at: [LocId; 2],
    pub values: [BaseValues; 2],
}

/// A model: the instances, and the shared bases, before and after.
pub(super) struct Situation {
    pub shared: [BaseValues; 2],
    pub instances: Vec<Seen>,
    /// What the step chose.
    inputs: Vec<Term>,
}

pub(super) enum Answer {
    /// With the clauses it rests on.
    Kept(Vec<usize>),
    Broken(Box<Situation>),
    Unknown(String),
}

/// A step, by the instance in a role of the session.
#[derive(Clone, Copy)]
pub(super) struct Step<'s> {
    pub mover: usize,
    pub action: &'s Action,
}

/// How often a core is asked for again, to be smaller.
const CORE_ROUNDS: usize = 2;

pub(super) struct Context<'t> {
    threads: Vec<ThreadId>,
    /// Members with their role in the symbols, and what says that they are there, where that is open.
    members: Vec<(usize, ThreadId, Option<Symbol>)>,
    smt: Z3<'t>,
    /// Clauses before this one are asserted.
    loaded: usize,
}

impl Setting<'_> {
    pub(super) fn is_at(&self, role: usize, flags: &[bool]) -> Term {
        let t = self.terms;
        if flags.iter().all(|x| *x) {
            return t.tt();
        }
        let here = t.sym(self.roles.control[role]);
        let listed = (0..flags.len()).filter(|l| flags[*l]).map(|l| t.eq(here, t.int(l as i128)));
        t.or(&listed.collect::<Vec<_>>())
    }
    fn tid(&self, role: usize) -> Term {
        self.terms.sym(self.roles.symbol(role, self.p.tid))
    }
    /// The clause's formula without its locations, its instances in these roles.
    pub(super) fn body(&self, clause: &Clause, roles: &[usize]) -> Term {
        let t = self.terms;
        let cast = &self.casts[clause.cast];
        let parts: Vec<Term> = clause
            .literals()
            .into_iter()
            .map(|(k, value)| {
                let atom = cast.formula(t, &self.words, &self.roles, k, roles);
                if value { t.not(atom) } else { atom }
            })
            .collect();
        t.or(&parts)
    }
    /// What becomes of symbols in a step.
    pub(super) fn effect(&self, role: usize, action: &Action) -> Vec<(Symbol, Term)> {
        let effect = action.updates.iter().map(|u| {
            let var = &self.p.vars[u.var];
            let symbol = if var.scope == Scope::Shared { var.symbol } else { self.roles.symbol(role, var.symbol) };
            (symbol, self.roles.recast(self.terms, role, u.value))
        });
        effect.collect()
    }
    fn taken(&self, role: usize, action: &Action) -> Term {
        let t = self.terms;
        let mut parts = vec![self.roles.recast(t, role, action.guard)];
        parts.extend(action.gates.iter().map(|g| self.roles.recast(t, role, g.formula)));
        t.and(&parts)
    }
}

impl<'t> Context<'t> {
    pub(super) fn new(
        s: &Setting<'t>,
        threads: Vec<ThreadId>,
        settings: SolverSettings,
        budget: &Budget,
    ) -> Result<Self, String> {
        let t = s.terms;
        let mut smt = Z3::new(s.terms, settings, budget).map_err(|why| why.to_string())?;
        let mut members: Vec<(usize, ThreadId, Option<Symbol>)> =
            threads.iter().enumerate().map(|(role, thread)| (role, *thread, None)).collect();
        for (n, (role, thread, _)) in members.iter().enumerate() {
            smt.assert(t.lt(t.int(0), s.tid(*role)));
            members[..n].iter().for_each(|m| smt.assert(t.ne(s.tid(m.0), s.tid(*role))));
            let all = s.p.threads[*thread].code.locations.len();
            let here = t.sym(s.roles.control[*role]);
            smt.assert(t.and(&[t.le(t.int(0), here), t.lt(here, t.int(all as i128))]));
        }
        for (k, count) in s.counts.iter().enumerate() {
            let variable = t.sym(s.p.vars[count.variable].symbol);
            let named = members.iter().filter(|m| m.2.is_none() && m.1 == count.thread);
            let one = |m: &(usize, ThreadId, Option<Symbol>)| t.ite(s.is_at(m.0, &count.at), t.int(1), t.int(0));
            let sum = named.fold(t.int(0), |sum, m| t.add(sum, one(m)));
            let all: Vec<ThreadId> = threads.iter().copied().chain([count.thread]).collect();
            if !has_copies(s.p, &all) {
                smt.assert(t.eq(variable, sum));
                continue;
            }
            let role = NAMED_INSTANCES + k;
            let there = t.symbol(format!("witness {k}"), logic::Sort::BOOL);
            let mut says = vec![t.lt(sum, variable), t.lt(t.int(0), s.tid(role)), s.is_at(role, &count.at)];
            says.extend((0..threads.len()).map(|r| t.ne(s.tid(r), s.tid(role))));
            let inside = s.p.threads[count.thread].code.locations.iter().any(|l| l.in_atomic_block);
            if inside {
                let outside: Vec<bool> =
                    s.p.threads[count.thread].code.locations.iter().map(|l| !l.in_atomic_block).collect();
                says.push(s.is_at(role, &outside));
            }
            smt.assert(t.or(&[t.eq(variable, sum), t.sym(there)]));
            smt.assert(t.implies(t.sym(there), t.and(&says)));
            members.push((role, count.thread, Some(there)));
        }
        Ok(Self { threads, members, smt, loaded: 0 })
    }

    /// Asserts what the clauses say of the members, each behind its literal.
    fn load(&mut self, s: &Setting<'t>, clauses: &[(Clause, Term)]) {
        let t = s.terms;
        for (clause, literal) in &clauses[self.loaded..] {
            let threads = &s.casts[clause.cast].threads;
            let count = self.members.len();
            let choices: Vec<Vec<usize>> = match threads.len() {
                0 => vec![Vec::new()],
                1 => (0..count).map(|i| vec![i]).collect(),
                _ => (0..count).flat_map(|i| (0..count).filter(move |j| *j != i).map(move |j| vec![i, j])).collect(),
            };
            for choice in choices {
                let fits = choice.iter().zip(threads).all(|(m, thread)| self.members[*m].1 == *thread);
                // Nothing is said of one witness with another.
                let witnesses: Vec<Term> = choice.iter().filter_map(|m| self.members[*m].2).map(|w| t.sym(w)).collect();
                if !fits || witnesses.len() > 1 {
                    continue;
                }
                let roles: Vec<usize> = choice.iter().map(|m| self.members[*m].0).collect();
                let mut when = vec![*literal];
                when.extend(witnesses);
                when.extend(roles.iter().zip(&clause.at).map(|(r, flags)| s.is_at(*r, flags)));
                self.smt.assert(t.implies(t.and(&when), s.body(clause, &roles)));
            }
        }
        self.loaded = clauses.len();
    }

    /// Whether a step, with the clauses, keeps a formula about the store after it, where these members are at these locations before it.
    pub(super) fn asks(
        &mut self,
        s: &Setting<'t>,
        clauses: &[(Clause, Term)],
        alive: &[Term],
        step: Step<'_>,
        places: &[(usize, Vec<bool>)],
        formula: Term,
    ) -> Answer {
        let t = s.terms;
        self.load(s, clauses);
        self.smt.push();
        let here = t.sym(s.roles.control[step.mover]);
        self.smt.assert(t.eq(here, t.int(i128::from(step.action.from.0))));
        for (role, thread) in self.threads.iter().enumerate().filter(|(role, _)| *role != step.mover) {
            let outside: Vec<bool> = s.p.threads[*thread].code.locations.iter().map(|l| !l.in_atomic_block).collect();
            self.smt.assert(s.is_at(role, &outside));
        }
        for (role, flags) in places {
            self.smt.assert(s.is_at(*role, flags));
        }
        self.smt.assert(s.taken(step.mover, step.action));
        let effect = s.effect(step.mover, step.action);
        self.smt.assert(t.not(t.substitute(formula, effect.iter().copied())));
        let answer = self.smt.check_assuming(alive);
        let out = if answer.is_unsat() {
            let core = self.smt.core();
            Answer::Kept(clauses.iter().enumerate().filter(|(_, c)| core.contains(&c.1)).map(|(k, _)| k).collect())
        } else if answer.is_sat() {
            match self.situation(s, &effect, Some(step)) {
                Some(situation) => Answer::Broken(Box::new(situation)),
                None => Answer::Unknown("a model without values".into()),
            }
        } else {
            Answer::Unknown(format!("{answer:?}"))
        };
        self.smt.pop();
        out
    }

    /// Which of the literals, all true before a step that breaks a formula, are enough for it to break it; none where they are not.
    pub(super) fn lifted(
        &mut self,
        s: &Setting<'t>,
        step: Step<'_>,
        situation: &Situation,
        formula: Term,
        literals: &[Term],
    ) -> Option<Vec<Term>> {
        let t = s.terms;
        self.smt.push();
        situation.inputs.iter().for_each(|i| self.smt.assert(*i));
        let effect = s.effect(step.mover, step.action);
        let after = t.substitute(formula, effect.iter().copied());
        self.smt.assert(t.implies(s.taken(step.mover, step.action), after));
        let mut enough = None;
        let mut left = literals.to_vec();
        for _ in 0..CORE_ROUNDS {
            if !self.smt.check_assuming(&left).is_unsat() {
                break;
            }
            left = self.smt.core();
            enough = Some(left.clone());
        }
        self.smt.pop();
        enough
    }

    /// Whether a formula holds at the start, of instances at their entries.
    pub(super) fn starts(&mut self, s: &Setting<'t>, formula: Term) -> Answer {
        let t = s.terms;
        self.smt.push();
        self.smt.assert(program::transition::initial_store(s.p, t));
        for (role, thread) in self.threads.iter().enumerate() {
            let locals = program::transition::initial_locals(s.p, t, *thread);
            self.smt.assert(s.roles.recast(t, role, locals));
            let entry = s.p.threads[*thread].code.entry;
            self.smt.assert(t.eq(t.sym(s.roles.control[role]), t.int(i128::from(entry.0))));
        }
        self.smt.assert(t.not(formula));
        let answer = self.smt.check();
        let out = if answer.is_unsat() {
            Answer::Kept(Vec::new())
        } else if answer.is_sat() {
            match self.situation(s, &[], None) {
                Some(situation) => Answer::Broken(Box::new(situation)),
                None => Answer::Unknown("a model without values".into()),
            }
        } else {
            Answer::Unknown(format!("{answer:?}"))
        };
        self.smt.pop();
        out
    }

    fn situation(&mut self, s: &Setting<'t>, effect: &[(Symbol, Term)], step: Option<Step<'_>>) -> Option<Situation> {
        let t = s.terms;
        let value = |smt: &mut Z3<'t>, term: Term| smt.value(term).as_ref().and_then(as_number);
        let both = |smt: &mut Z3<'t>, bases: &[BaseTerm], role: usize| {
            let mut out = [BaseValues::new(), BaseValues::new()];
            for b in bases {
                let before = s.roles.recast(t, role, b.term);
                let after = t.substitute(before, effect.iter().copied());
                let now = value(smt, before);
                out[1].push(if after == before { now } else { value(smt, after) });
                out[0].push(now);
            }
            out
        };
        let shared = both(&mut self.smt, &s.words.shared, 0);
        let mut instances = Vec::new();
        for (role, thread, there) in self.members.clone() {
            if there.is_some_and(|w| self.smt.value(t.sym(w)) != Some(logic::Value::Bool(true))) {
                continue;
            }
            let at = value(&mut self.smt, t.sym(s.roles.control[role]))?;
            let at = LocId(u32::try_from(at).ok()?);
            let to = step.filter(|x| x.mover == role).map_or(at, |x| x.action.to);
            instances.push(Seen {
                role,
                thread,
                at: [at, to],
                values: both(&mut self.smt, &s.words.own[thread.index()], role),
            });
        }
        let mut inputs = Vec::new();
        for input in step.iter().flat_map(|x| &x.action.inputs) {
            let chosen = self.smt.value(t.sym(*input)).and_then(|v| v.to_term(t, t.symbol_sort(*input)));
            inputs.extend(chosen.map(|v| t.eq(t.sym(*input), v)));
        }
        Some(Situation { shared, instances, inputs })
    }
}
