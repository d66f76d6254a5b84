//! Rule `quantified`: an inductive invariant that is a conjunction of facts about every choice of different instances.
//!
//! In: facts about none, one or two instances at sets of locations, each with the facts it rests on; counts (a variable is the number of
//! instances at some locations). Out: the obligations
//!   QU1  facts hold of initial stores and instances at their entries;
//!   QU2  a step of an instance that a fact speaks of makes it true where it leads into the fact's locations;
//!   QU3  a step of another keeps it;
//!   QU4  steps pass their claimed gates, and claimed invariants follow;
//!   QU5  counts begin at 0 and change as instances enter and leave.
//! What does not move is outside atomic blocks. Each obligation is about instances with symbols of their own, whatever their number; a count adds a
//! witness. Deliberately absent: spawning; relies; facts about three instances.

use super::{claimable, wrong_form};
use crate::obligation::{self, AllowedSymbols, Obligation, Premise, Renaming};
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{Certificate, InstanceCount, NAMED_INSTANCES, Placed, Proof, QuantifiedFact, QuantifiedProof};
use logic::{Sort, Symbol, Term, Terms};
use program::{Action, Copies, LocId, Program, PropertyId, PropertyKind, Scope, Start, ThreadId};

const QU1: Premise = Premise::new("quantified", "QU1");
const QU2: Premise = Premise::new("quantified", "QU2");
const QU3: Premise = Premise::new("quantified", "QU3");
const QU4: Premise = Premise::new("quantified", "QU4");
const QU5: Premise = Premise::new("quantified", "QU5");

pub(crate) fn check_quantified(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Quantified(proof) = &c.proof else { return Err(wrong_form()) };
    let list = obligations(session.program, &c.terms, proof, &c.properties)?;
    session.discharge(c, list)
}

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &QuantifiedProof,
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Rejection> {
    claimable(program, claimed)?;
    if claimed.iter().any(|p| matches!(program.properties[*p].kind, PropertyKind::Rely(_))) {
        return Err(Rejection::outside("relies are outside this rule"));
    }
    let outside = |thread: ThreadId| {
        let t = &program.threads[thread];
        let foreign = |a: &Action| {
            a.updates.iter().any(|u| ![Scope::Shared, Scope::Thread(thread)].contains(&program.vars[u.var].scope))
        };
        t.start == Start::Spawned
            || !t.code.calls.is_empty()
            || t.code.actions.iter().any(|a| a.spawn.is_some() || foreign(a))
    };
    if program.threads.ids().any(outside) {
        return Err(Rejection::outside("threads that spawn, are spawned or call are outside this rule"));
    }
    vet(program, terms, proof)?;
    let mut rule = QuantifiedRule { program, terms, proof, out: Vec::new() };
    for fact in &proof.facts {
        rule.initial(fact);
        rule.steps_of_its_own(fact);
        rule.steps_of_others(fact);
    }
    for count in &proof.counts {
        rule.count(count)?;
    }
    for property in claimed {
        rule.claim(*property)?;
    }
    Ok(rule.out)
}

/// Different instances of these threads, one for each mention, can exist at once.
fn has_copies(program: &Program, threads: &[ThreadId]) -> bool {
    threads.iter().all(|t| {
        let needed = threads.iter().filter(|x| *x == t).count();
        match program.threads[*t].copies {
            Copies::One => needed <= 1,
            Copies::Exactly(n) => needed <= n as usize,
            Copies::Any => true,
        }
    })
}

/// What is known of where an instance is.
#[derive(Clone, Debug)]
enum Whereabouts {
    At(LocId),
    Among(Vec<LocId>),
}

/// An instance that is spoken of: by which symbols (0: the thread's own), of which thread, and where it is.
#[derive(Clone, Debug)]
struct Member {
    role: usize,
    thread: ThreadId,
    at: Whereabouts,
}

struct QuantifiedRule<'a> {
    program: &'a Program,
    terms: &'a Terms,
    proof: &'a QuantifiedProof,
    out: Vec<Obligation>,
}

impl QuantifiedRule<'_> {
    fn is_inside(&self, thread: ThreadId, at: LocId) -> bool {
        self.program.threads[thread].code.locations[at].in_atomic_block
    }
    /// The symbol of an instance for `tid` or a local of its thread.
    fn symbol(&self, role: usize, own: Symbol) -> Symbol {
        let (_, further) = self.proof.symbols.iter().find(|(x, _)| *x == own).expect("vetted: all have symbols");
        if role == 0 { own } else { further[role - 1] }
    }
    fn tid(&self, role: usize) -> Term {
        self.terms.sym(self.symbol(role, self.program.tid))
    }
    /// A thread's own formula as one about an instance of it.
    fn own(&self, role: usize, formula: Term) -> Term {
        let renaming = self.proof.symbols.iter().map(|(own, _)| (*own, self.terms.sym(self.symbol(role, *own))));
        self.terms.substitute(formula, renaming)
    }
    /// The formula of a fact, its instances in these roles.
    fn stated(&self, formula: Term, roles: &[usize]) -> Term {
        let mut renaming = Renaming::new();
        for (own, further) in &self.proof.symbols {
            for (symbol, role) in [*own, further[0]].into_iter().zip(roles) {
                renaming.push((symbol, self.terms.sym(self.symbol(*role, *own))));
            }
        }
        self.terms.substitute(formula, renaming)
    }
    fn is_at(&self, role: usize, locations: &[LocId]) -> Term {
        let t = self.terms;
        let here = t.sym(self.proof.control[role]);
        t.or(&locations.iter().map(|l| t.eq(here, t.int(i128::from(l.0)))).collect::<Vec<_>>())
    }
    /// That a member is at one of these locations: nothing if it surely is not, no formula if it surely is.
    fn within(&self, member: &Member, locations: &[LocId]) -> Option<Vec<Term>> {
        match &member.at {
            Whereabouts::At(l) => locations.contains(l).then(Vec::new),
            Whereabouts::Among(all) => {
                let both: Vec<LocId> = all.iter().copied().filter(|l| locations.contains(l)).collect();
                match both.len() {
                    0 => None,
                    n if n == all.len() => Some(Vec::new()),
                    _ => Some(vec![self.is_at(member.role, &both)]),
                }
            }
        }
    }
    /// The members are different instances at their locations.
    fn there(&self, members: &[Member]) -> Term {
        let t = self.terms;
        let mut parts = Vec::new();
        for (n, m) in members.iter().enumerate() {
            parts.push(t.lt(t.int(0), self.tid(m.role)));
            parts.extend(members[..n].iter().map(|before| t.ne(self.tid(before.role), self.tid(m.role))));
            if let Whereabouts::Among(list) = &m.at {
                parts.push(self.is_at(m.role, list));
            }
        }
        t.and(&parts)
    }
    /// A listed fact, of every choice among the members that has the last one, or of any.
    fn instances_of(&self, fact: &QuantifiedFact, members: &[Member], with_last: bool) -> Vec<Term> {
        let t = self.terms;
        let count = members.len();
        let choices: Vec<Vec<usize>> = match fact.of.len() {
            0 => vec![Vec::new()],
            1 => (0..count).map(|i| vec![i]).collect(),
            _ => (0..count).flat_map(|i| (0..count).filter(move |j| *j != i).map(move |j| vec![i, j])).collect(),
        };
        let mut out = Vec::new();
        'choices: for choice in choices {
            if with_last && !choice.contains(&(count - 1)) {
                continue;
            }
            let mut conditions = Vec::new();
            for (at, (thread, locations)) in choice.iter().zip(&fact.of) {
                let member = &members[*at];
                if member.thread != *thread {
                    continue 'choices;
                }
                match self.within(member, locations) {
                    Some(more) => conditions.extend(more),
                    None => continue 'choices,
                }
            }
            let roles: Vec<usize> = choice.iter().map(|at| members[*at].role).collect();
            let stated = self.stated(fact.formula, &roles);
            out.push(if conditions.is_empty() { stated } else { t.implies(t.and(&conditions), stated) });
        }
        out
    }
    /// The facts at hand of these members, and what counts say of them; `moving` says that somebody is about to move.
    fn at_hand(&self, members: &[Member], rests_on: &[usize], moving: bool) -> Term {
        let mut parts = vec![self.there(members)];
        for k in rests_on {
            parts.extend(self.instances_of(&self.proof.facts[*k], members, false));
        }
        for (k, count) in self.proof.counts.iter().enumerate() {
            parts.push(self.witness(k, count, members, rests_on, moving));
        }
        self.terms.and(&parts)
    }
    /// The variable of a count is the number of the members there, or greater, and there is one more.
    fn witness(&self, at: usize, count: &InstanceCount, members: &[Member], rests_on: &[usize], moving: bool) -> Term {
        let t = self.terms;
        let variable = t.sym(self.program.vars[count.variable].symbol);
        let mut sum = t.int(0);
        for m in members {
            let Some((_, places)) = count.places.iter().find(|(thread, _)| *thread == m.thread) else { continue };
            let one = match self.within(m, places) {
                None => continue,
                Some(conditions) if conditions.is_empty() => t.int(1),
                Some(conditions) => t.ite(t.and(&conditions), t.int(1), t.int(0)),
            };
            sum = t.add(sum, one);
        }
        let mut ways = vec![t.eq(variable, sum)];
        for (thread, places) in &count.places {
            let threads: Vec<ThreadId> = members.iter().map(|m| m.thread).chain([*thread]).collect();
            let free: Vec<LocId> = places.iter().copied().filter(|l| !moving || !self.is_inside(*thread, *l)).collect();
            if free.is_empty() || !has_copies(self.program, &threads) {
                continue;
            }
            let role = NAMED_INSTANCES + at;
            let mut all = members.to_vec();
            all.push(Member { role, thread: *thread, at: Whereabouts::Among(free.clone()) });
            let mut parts = vec![t.lt(sum, variable), t.lt(t.int(0), self.tid(role)), self.is_at(role, &free)];
            parts.extend(members.iter().map(|m| t.ne(self.tid(m.role), self.tid(role))));
            for k in rests_on {
                parts.extend(self.instances_of(&self.proof.facts[*k], &all, true));
            }
            ways.push(t.and(&parts));
        }
        t.or(&ways)
    }
    /// A formula about the store after an action of an instance, as one about the store before.
    fn after(&self, role: usize, action: &Action, formula: Term) -> Term {
        let program = self.program;
        let effect = action.updates.iter().map(|u| {
            let var = &program.vars[u.var];
            let symbol = if var.scope == Scope::Shared { var.symbol } else { self.symbol(role, var.symbol) };
            (symbol, self.own(role, u.value))
        });
        self.terms.substitute(formula, effect.collect::<Vec<_>>())
    }
    /// The guard of an action and all its gates.
    fn taken(&self, role: usize, action: &Action) -> Term {
        let t = self.terms;
        t.and(&[self.own(role, action.guard), self.own(role, obligation::gates(t, action))])
    }
    /// The instances of a fact, outside atomic blocks, but for the one that moves.
    fn members(&self, fact: &QuantifiedFact, mover: Option<(usize, LocId)>) -> Vec<Member> {
        let one = |(role, (thread, locations)): (usize, &Placed)| {
            let at = match mover {
                Some((who, from)) if who == role => Whereabouts::At(from),
                _ => Whereabouts::Among(locations.iter().copied().filter(|l| !self.is_inside(*thread, *l)).collect()),
            };
            Member { role, thread: *thread, at }
        };
        fact.of.iter().enumerate().map(one).collect()
    }
    fn describe(&self, fact: &QuantifiedFact) -> String {
        let of: Vec<&str> = fact.of.iter().map(|(t, _)| self.program.threads[*t].name.as_str()).collect();
        format!("{} of [{}]", self.terms.show(fact.formula), of.join(", "))
    }

    /// QU1.
    fn initial(&mut self, fact: &QuantifiedFact) {
        let (p, t) = (self.program, self.terms);
        if fact.of.iter().any(|(thread, places)| !places.contains(&p.threads[*thread].code.entry)) {
            return;
        }
        let mut known = vec![obligation::initial_store(p, t)];
        let at = |(role, (thread, _)): (usize, &Placed)| Member {
            role,
            thread: *thread,
            at: Whereabouts::At(p.threads[*thread].code.entry),
        };
        let members: Vec<Member> = fact.of.iter().enumerate().map(at).collect();
        known.push(self.there(&members));
        known.extend(members.iter().map(|m| self.own(m.role, obligation::initial_locals(p, t, m.thread))));
        let what = format!("{} holds at the start", self.describe(fact));
        self.out.push(Obligation::common(QU1, what, t.implies(t.and(&known), fact.formula)));
    }

    /// QU2: actions of the instances that the fact speaks of.
    fn steps_of_its_own(&mut self, fact: &QuantifiedFact) {
        let (p, t) = (self.program, self.terms);
        let mentioned = t.free_symbols(fact.formula);
        for (role, (thread, places)) in fact.of.iter().enumerate() {
            for action in p.threads[*thread].code.actions.iter().filter(|a| places.contains(&a.to)) {
                let touches = action.updates.iter().any(|u| {
                    let var = &p.vars[u.var];
                    let own = var.scope != Scope::Shared;
                    mentioned.contains(&if own { self.symbol(role, var.symbol) } else { var.symbol })
                });
                if !touches && places.contains(&action.from) {
                    continue;
                }
                let members = self.members(fact, Some((role, action.from)));
                let known = [self.at_hand(&members, &fact.rests_on, true), self.taken(role, action)];
                let goal = self.after(role, action, fact.formula);
                let who = obligation::describe_action(p, *thread, action);
                let what = format!("{who} leads to {}", self.describe(fact));
                self.out.push(Obligation::common(QU2, what, t.implies(t.and(&known), goal)));
            }
        }
    }

    /// QU3: actions of one more instance.
    fn steps_of_others(&mut self, fact: &QuantifiedFact) {
        let (p, t) = (self.program, self.terms);
        let mentioned = t.free_symbols(fact.formula);
        for thread in p.threads.ids() {
            let all: Vec<ThreadId> = fact.of.iter().map(|(t, _)| *t).chain([thread]).collect();
            if !has_copies(p, &all) {
                continue;
            }
            for action in p.threads[thread].code.actions.iter() {
                let touches = |var: &program::Var| var.scope == Scope::Shared && mentioned.contains(&var.symbol);
                if !action.updates.iter().any(|u| touches(&p.vars[u.var])) {
                    continue;
                }
                let role = fact.of.len();
                let mut members = self.members(fact, None);
                members.push(Member { role, thread, at: Whereabouts::At(action.from) });
                let mut known = vec![self.at_hand(&members, &fact.rests_on, true), self.taken(role, action)];
                // The fact itself, before the step.
                known.push(fact.formula);
                let goal = self.after(role, action, fact.formula);
                let who = obligation::describe_action(p, thread, action);
                let what = format!("{who}, by another, keeps {}", self.describe(fact));
                self.out.push(Obligation::common(QU3, what, t.implies(t.and(&known), goal)));
            }
        }
    }

    /// QU4.
    fn claim(&mut self, property: PropertyId) -> Result<(), Rejection> {
        let (p, t) = (self.program, self.terms);
        let shown = self.proof.shown.iter().find(|(q, _)| *q == property).map(|(_, list)| list.clone());
        let rests_on = shown.ok_or_else(|| Rejection::missing("what a claim rests on is missing"))?;
        if let PropertyKind::Invariant(formula) = p.properties[property].kind {
            let known = self.at_hand(&[], &rests_on, false);
            let what = format!("{} follows", p.properties[property].name);
            self.out.push(Obligation::of(property, QU4, what, t.implies(known, formula)));
        }
        for thread in p.threads.ids() {
            for action in p.threads[thread].code.actions.iter() {
                let gates = action.gates.iter().map(|g| (g.property, g.formula));
                if !gates.clone().any(|(q, _)| q == property) {
                    continue;
                }
                let member = Member { role: 0, thread, at: Whereabouts::At(action.from) };
                let mut known = vec![self.at_hand(&[member], &rests_on, true), action.guard];
                for (q, formula) in gates {
                    if q == property {
                        let who = obligation::describe_action(p, thread, action);
                        let what = format!("{who} does not violate {}", p.properties[q].name);
                        self.out.push(Obligation::of(q, QU4, what, t.implies(t.and(&known), formula)));
                    }
                    known.push(formula);
                }
            }
        }
        Ok(())
    }

    /// QU5.
    fn count(&mut self, count: &InstanceCount) -> Result<(), Rejection> {
        let (p, t) = (self.program, self.terms);
        let var = &p.vars[count.variable];
        let start = t.implies(obligation::initial_store(p, t), t.eq(t.sym(var.symbol), t.int(0)));
        self.out.push(Obligation::common(QU5, format!("{} is 0 at the start", var.name), start));
        for thread in p.threads.ids() {
            let code = &p.threads[thread].code;
            let none = Vec::new();
            let places = count.places.iter().find(|(x, _)| *x == thread).map_or(&none, |(_, list)| list);
            if places.contains(&code.entry) {
                return Err(Rejection::shape("an entry is among the places of a count"));
            }
            for action in code.actions.iter() {
                let change = i128::from(places.contains(&action.to)) - i128::from(places.contains(&action.from));
                let who = obligation::describe_action(p, thread, action);
                match action.updates.iter().find(|u| u.var == count.variable) {
                    None if change == 0 => {}
                    None => {
                        let why = format!("{who} crosses the border of a count and leaves {} as it is", var.name);
                        return Err(Rejection::shape(why));
                    }
                    Some(u) => {
                        let goal = t.eq(u.value, t.add(t.sym(var.symbol), t.int(change)));
                        let formula = t.implies(self.taken(0, action), goal);
                        self.out.push(Obligation::common(QU5, format!("{who} keeps the count"), formula));
                    }
                }
            }
        }
        Ok(())
    }
}

fn vet(program: &Program, terms: &Terms, proof: &QuantifiedProof) -> Result<(), Rejection> {
    let mut own = vec![program.tid];
    own.extend(program.threads.ids().flat_map(|t| AllowedSymbols::locals(program, t)));
    if proof.symbols.iter().map(|(x, _)| *x).collect::<Vec<_>>() != own {
        return Err(Rejection::shape("further instances need symbols for `tid` and each local, in order"));
    }
    let roles = NAMED_INSTANCES + proof.counts.len();
    if proof.control.len() != roles || proof.symbols.iter().any(|(_, further)| further.len() + 1 != roles) {
        return Err(Rejection::shape("it takes symbols for three instances, and one more for each count"));
    }
    let mut seen: Vec<Symbol> = program.vars.iter().flat_map(|v| [v.symbol, v.primed]).collect();
    seen.push(program.tid);
    let codes = program.threads.iter().map(|t| &t.code);
    seen.extend(codes.flat_map(|c| c.actions.iter().flat_map(|a| a.inputs.iter().copied())));
    let further = proof.symbols.iter().flat_map(|(x, list)| list.iter().map(|s| (*s, terms.symbol_sort(*x))));
    let new: Vec<(Symbol, Sort)> = further.chain(proof.control.iter().map(|s| (*s, Sort::INT))).collect();
    for (s, sort) in &new {
        if seen.contains(s) || terms.symbol_sort(*s) != *sort {
            return Err(Rejection::not_new(terms, *s));
        }
        seen.push(*s);
    }
    let second = |x: Symbol| proof.symbols.iter().find(|(own, _)| *own == x).map(|(_, further)| further[0]);
    for fact in &proof.facts {
        let threads: Vec<ThreadId> = fact.of.iter().map(|(t, _)| *t).collect();
        places_exist(program, &fact.of)?;
        if threads.len() + 1 > NAMED_INSTANCES || !threads.is_sorted() || !has_copies(program, &threads) {
            return Err(Rejection::shape("a fact is about no instance, one, or two that can exist, in order"));
        }
        let mut allowed = AllowedSymbols::shared(program);
        if let Some(first) = threads.first() {
            allowed.push(program.tid);
            allowed.extend(AllowedSymbols::locals(program, *first));
        }
        if let Some(other) = threads.get(1) {
            let locals = AllowedSymbols::locals(program, *other).into_iter();
            allowed.extend(locals.chain([program.tid]).filter_map(second));
        }
        let vocabulary = AllowedSymbols::new(program, allowed).reserving(new.iter().map(|(s, _)| *s));
        vocabulary.admits(terms, fact.formula, "a fact about instances")?;
    }
    let listed = proof.facts.iter().map(|f| &f.rests_on).chain(proof.shown.iter().map(|(_, list)| list));
    if listed.flatten().any(|k| *k >= proof.facts.len()) {
        return Err(Rejection::shape("it rests on a fact that is not there"));
    }
    for count in &proof.counts {
        places_exist(program, &count.places)?;
        let threads: Vec<ThreadId> = count.places.iter().map(|(t, _)| *t).collect();
        let var = program.vars.get(count.variable);
        if !var.is_some_and(|v| v.scope == Scope::Shared && v.sort == Sort::INT) || !threads.is_sorted_by(|a, b| a < b)
        {
            return Err(Rejection::shape("a count is of a shared integer, with each thread once"));
        }
    }
    Ok(())
}

fn places_exist(program: &Program, places: &[Placed]) -> Result<(), Rejection> {
    let exists = |(thread, locations): &Placed| {
        let there = |l: &LocId| program.threads[*thread].code.locations.get(*l).is_some();
        program.threads.get(*thread).is_some() && locations.iter().all(there) && locations.is_sorted_by(|a, b| a < b)
    };
    if places.iter().all(exists) {
        Ok(())
    } else {
        Err(Rejection::shape("a location that is not there, or not in order"))
    }
}
