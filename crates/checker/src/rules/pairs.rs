//! Rule `pairs`: what is true of every two different instances, whatever their number (Threader's R and E with predicates over two
//! threads).
//!
//! In: for every two threads and every two of their locations a formula `R[T,U][l,m]` over the shared store and both
//! instances (one that is not listed is claimed unreachable). Out: the obligations
//!   PA1  initial stores satisfy R of the entries;
//!   PA2  an action of either of two passes its claimed gates and leads to R of the locations after it;
//!   PA3  an action of a third instance, of which R holds with either, keeps R of the two;
//!   PA4  R implies each claimed invariant.
//! While an instance is inside an atomic block only it moves. Deliberately absent: spawning; relies; a single instance.

use super::{claimable, wrong_form};
use crate::obligation::{self, AllowedSymbols, Obligation, Premise, Renaming};
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{Certificate, PairsProof, Proof};
use logic::{Symbol, Term, Terms};
use program::{Action, Code, Copies, LocId, Program, PropertyId, PropertyKind, Scope, ThreadId};
use std::collections::BTreeMap;

const PA1: Premise = Premise::new("pairs", "PA1");
const PA2: Premise = Premise::new("pairs", "PA2");
const PA3: Premise = Premise::new("pairs", "PA3");
const PA4: Premise = Premise::new("pairs", "PA4");

pub(crate) fn check_pairs(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Pairs(proof) = &c.proof else { return Err(wrong_form()) };
    let list = obligations(session.program, &c.terms, proof, &c.properties)?;
    session.discharge(c, list)
}

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &PairsProof,
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Rejection> {
    claimable(program, claimed)?;
    if claimed.iter().any(|p| matches!(program.properties[*p].kind, PropertyKind::Rely(_))) {
        return Err(Rejection::outside("relies are outside this rule"));
    }
    if program.threads.iter().any(|t| t.code.actions.iter().any(|a| a.spawn.is_some()) || !t.code.calls.is_empty()) {
        return Err(Rejection::outside("threads that spawn or call are outside this rule"));
    }
    let related = vet(program, terms, proof)?;
    let mut rule = Pairs { program, terms, claimed, proof, related, out: Vec::new() };
    let threads: Vec<ThreadId> = program.threads.ids().collect();
    let couples: Vec<(ThreadId, ThreadId)> = threads
        .iter()
        .flat_map(|t| threads.iter().map(move |u| (*t, *u)))
        .filter(|(t, u)| t <= u && has_copies(program, &[*t, *u]))
        .collect();
    if couples.is_empty() {
        return Err(Rejection::outside("it speaks of two instances at least"));
    }
    for (t, u) in couples {
        rule.initial(t, u);
        for l in program.threads[t].code.locations.ids() {
            for m in program.threads[u].code.locations.ids() {
                rule.couple([(t, l), (u, m)]);
            }
        }
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

/// Which of three instances is spoken of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    First,
    Second,
    Third,
}

type Place = (ThreadId, LocId);

struct Pairs<'a> {
    program: &'a Program,
    terms: &'a Terms,
    claimed: &'a [PropertyId],
    proof: &'a PairsProof,
    related: BTreeMap<(Place, Place), Term>,
    out: Vec<Obligation>,
}

impl Pairs<'_> {
    fn code(&self, thread: ThreadId) -> &Code {
        &self.program.threads[thread].code
    }
    fn is_inside(&self, place: Place) -> bool {
        self.code(place.0).locations[place.1].in_atomic_block
    }
    /// The symbol of an instance for `tid` or a local of its thread.
    fn symbol(&self, role: Role, own: Symbol) -> Symbol {
        let (_, second, third) =
            *self.proof.symbols.iter().find(|(x, ..)| *x == own).expect("vetted: all have symbols");
        match role {
            Role::First => own,
            Role::Second => second,
            Role::Third => third,
        }
    }
    fn tid(&self, role: Role) -> Term {
        self.terms.sym(self.symbol(role, self.program.tid))
    }
    /// A thread's own formula as one about an instance of it.
    fn own(&self, role: Role, formula: Term) -> Term {
        let renaming = self.proof.symbols.iter().map(|(own, ..)| (*own, self.terms.sym(self.symbol(role, *own))));
        self.terms.substitute(formula, renaming)
    }
    /// One formula of the certificate, its first and second instance in these roles.
    fn stated(&self, (a, x): (Role, Place), (b, y): (Role, Place)) -> Term {
        let Some(formula) = self.related.get(&(x, y)).copied() else { return self.terms.ff() };
        let mut renaming = Renaming::new();
        for (own, second, _) in &self.proof.symbols {
            renaming.push((*own, self.terms.sym(self.symbol(a, *own))));
            renaming.push((*second, self.terms.sym(self.symbol(b, *own))));
        }
        self.terms.substitute(formula, renaming)
    }
    /// R of two instances: in the order of their threads, in both orders if they are of one.
    fn related(&self, a: (Role, Place), b: (Role, Place)) -> Term {
        let mut parts = Vec::new();
        if a.1.0 <= b.1.0 {
            parts.push(self.stated(a, b));
        }
        if b.1.0 <= a.1.0 {
            parts.push(self.stated(b, a));
        }
        self.terms.and(&parts)
    }
    /// These instances are different threads.
    fn differ(&self, roles: &[Role]) -> Term {
        let t = self.terms;
        let mut parts = Vec::new();
        for (n, role) in roles.iter().enumerate() {
            parts.push(t.lt(t.int(0), self.tid(*role)));
            parts.extend(roles[..n].iter().map(|before| t.ne(self.tid(*before), self.tid(*role))));
        }
        t.and(&parts)
    }
    /// What is after an action of an instance.
    fn after(&self, role: Role, action: &Action, formula: Term) -> Term {
        let program = self.program;
        let effect = action.updates.iter().map(|u| {
            let var = &program.vars[u.var];
            let symbol = if var.scope == Scope::Shared { var.symbol } else { self.symbol(role, var.symbol) };
            (symbol, self.own(role, u.value))
        });
        self.terms.substitute(formula, effect.collect::<Vec<_>>())
    }
    fn describe(&self, [(t, l), (u, m)]: [Place; 2]) -> String {
        format!("{} at {l} and {} at {m}", self.program.threads[t].name, self.program.threads[u].name)
    }

    /// PA1.
    fn initial(&mut self, t: ThreadId, u: ThreadId) {
        let p = self.program;
        let locals = |role: Role, x: ThreadId| self.own(role, obligation::initial_locals(p, self.terms, x));
        let known = [
            obligation::initial_store(p, self.terms),
            locals(Role::First, t),
            locals(Role::Second, u),
            self.differ(&[Role::First, Role::Second]),
        ];
        let places = [(t, self.code(t).entry), (u, self.code(u).entry)];
        let goal = self.related((Role::First, places[0]), (Role::Second, places[1]));
        let what = format!("{} start as annotated", self.describe(places));
        self.out.push(Obligation::common(PA1, what, self.terms.implies(self.terms.and(&known), goal)));
    }

    /// PA2, PA3, PA4 for two instances at two locations.
    fn couple(&mut self, places: [Place; 2]) {
        let program = self.program;
        let (first, second) = ((Role::First, places[0]), (Role::Second, places[1]));
        let (t, u) = (places[0].0, places[1].0);
        let here = self.related(first, second);
        let inside = places.map(|x| self.is_inside(x));
        // Where both are of one thread, a step of the second is a step of the first of the couple the other way round.
        let movers = if t == u { 1 } else { 2 };
        for mover in (0..movers).filter(|i| !inside[1 - i]) {
            for action in program.threads[places[mover].0].code.actions.iter().filter(|a| a.from == places[mover].1) {
                self.step(places, here, mover, action);
            }
        }
        if inside[0] || inside[1] {
            return;
        }
        for v in program.threads.ids().filter(|v| has_copies(program, &[t, u, *v])) {
            let writes = |a: &&Action| a.updates.iter().any(|x| program.vars[x.var].scope == Scope::Shared);
            for action in program.threads[v].code.actions.iter().filter(writes) {
                self.third(places, here, v, action);
            }
        }
        for property in self.claimed {
            if let PropertyKind::Invariant(formula) = program.properties[*property].kind {
                let what = format!("{} holds with {}", program.properties[*property].name, self.describe(places));
                let known = self.terms.and(&[here, self.differ(&[Role::First, Role::Second])]);
                self.out.push(Obligation::of(*property, PA4, what, self.terms.implies(known, formula)));
            }
        }
    }

    /// PA2: one action of the first (0) or the second (1).
    fn step(&mut self, places: [Place; 2], here: Term, mover: usize, action: &Action) {
        let (p, t) = (self.program, self.terms);
        let roles = [Role::First, Role::Second];
        let role = roles[mover];
        let who = format!("{} with {}", obligation::describe_action(p, places[mover].0, action), self.describe(places));
        let mut known = vec![here, self.differ(&roles), self.own(role, action.guard)];
        for gate in &action.gates {
            let formula = self.own(role, gate.formula);
            if self.claimed.contains(&gate.property) {
                let what = format!("{who} does not violate {}", p.properties[gate.property].name);
                self.out.push(Obligation::of(gate.property, PA2, what, t.implies(t.and(&known), formula)));
            }
            known.push(formula);
        }
        let mut next = places;
        next[mover].1 = action.to;
        let goal = self.related((Role::First, next[0]), (Role::Second, next[1]));
        let formula = t.implies(t.and(&known), self.after(role, action, goal));
        self.out.push(Obligation::common(PA2, format!("{who} leads to the annotation after it"), formula));
    }

    /// PA3: one action of a third instance.
    fn third(&mut self, places: [Place; 2], here: Term, v: ThreadId, action: &Action) {
        let t = self.terms;
        let (first, second) = ((Role::First, places[0]), (Role::Second, places[1]));
        let third = (Role::Third, (v, action.from));
        let mut known = vec![here, self.related(first, third), self.related(second, third)];
        known.push(self.differ(&[Role::First, Role::Second, Role::Third]));
        known.push(self.own(Role::Third, action.guard));
        known.push(self.own(Role::Third, obligation::gates(t, action)));
        let goal = self.after(Role::Third, action, self.stated(first, second));
        let who = obligation::describe_action(self.program, v, action);
        let what = format!("{who}, by a third, keeps the annotation of {}", self.describe(places));
        self.out.push(Obligation::common(PA3, what, t.implies(t.and(&known), goal)));
    }
}

fn vet(program: &Program, terms: &Terms, proof: &PairsProof) -> Result<BTreeMap<(Place, Place), Term>, Rejection> {
    let mut own = vec![program.tid];
    own.extend(program.threads.ids().flat_map(|t| AllowedSymbols::locals(program, t)));
    if proof.symbols.iter().map(|(x, ..)| *x).collect::<Vec<_>>() != own {
        return Err(Rejection::shape("two more instances need symbols for `tid` and each local, in order"));
    }
    let mut seen: Vec<Symbol> = program.vars.iter().flat_map(|v| [v.symbol, v.primed]).collect();
    seen.push(program.tid);
    let codes = program.threads.iter().map(|t| &t.code);
    seen.extend(codes.flat_map(|c| c.actions.iter().flat_map(|a| a.inputs.iter().copied())));
    for (x, second, third) in &proof.symbols {
        for s in [*second, *third] {
            if seen.contains(&s) || terms.symbol_sort(s) != terms.symbol_sort(*x) {
                return Err(Rejection::not_new(terms, s));
            }
            seen.push(s);
        }
    }
    let new: Vec<Symbol> = proof.symbols.iter().flat_map(|(_, second, third)| [*second, *third]).collect();
    let second = |x: Symbol| proof.symbols.iter().find(|(own, ..)| *own == x).map(|(_, second, _)| *second);
    let mut out = BTreeMap::new();
    for r in &proof.related {
        let exists = |t: ThreadId, l: LocId| program.threads.get(t).is_some_and(|t| t.code.locations.get(l).is_some());
        let (t, u) = (r.first.0, r.second.0);
        if !exists(t, r.first.1) || !exists(u, r.second.1) || t > u || !has_copies(program, &[t, u]) {
            return Err(Rejection::shape("two locations that no two instances can be at, or not in order"));
        }
        let mut allowed = AllowedSymbols::shared(program);
        allowed.push(program.tid);
        allowed.extend(AllowedSymbols::locals(program, t));
        allowed.extend(AllowedSymbols::locals(program, u).into_iter().chain([program.tid]).filter_map(second));
        let vocabulary = AllowedSymbols::new(program, allowed).reserving(new.iter().copied());
        vocabulary.admits(terms, r.formula, "what is true of two instances")?;
        if out.insert((r.first, r.second), r.formula).is_some() {
            return Err(Rejection::shape("two locations are listed twice"));
        }
    }
    Ok(out)
}
