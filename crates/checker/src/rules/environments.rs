//! Rule `environments`: Threader's CS1 to CS5 for a fixed list of instances, with explicit control.
//!
//! In: for each instance i what it reaches, `R_i[l]` for each of its locations l, and what its environment does, E_i. The
//! formulas may speak of every instance's locals and of the other instances' control. Out: the obligations
//!   CS1  the initial store satisfies `R_i[entry]`;
//!   CS2  R_i is closed under the actions of i;
//!   CS3  R_i is closed under E_i;
//!   CS4  each action of another instance j from R_j is a step of E_i;
//!   CS5  with all R together, no action fails a claimed gate, every claimed invariant holds, and steps satisfy claimed relies.
//! While an instance is inside an atomic block only it moves: so of a step it may be assumed that no other instance is inside one (CS2, CS4, CS5), a
//! location inside a block need not be stable (CS3), and an invariant is claimed of stores outside blocks (CS5).
//! Deliberately absent: spawning; any number of threads (see `rely_guarantee`).

use super::{claimable, fixed_counts, written_rely, wrong_form};
use crate::obligation::{self, AllowedSymbols, Obligation, Premise};
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{Certificate, Environments, InstanceSymbols, Proof};
use logic::{Sort, Symbol, Term, Terms};
use program::{Action, LocId, Program, PropertyId, PropertyKind, ThreadId};

const CS1: Premise = Premise::new("environments", "CS1");
const CS2: Premise = Premise::new("environments", "CS2");
const CS3: Premise = Premise::new("environments", "CS3");
const CS4: Premise = Premise::new("environments", "CS4");
const CS5: Premise = Premise::new("environments", "CS5");

pub(crate) fn check_environments(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Environments(proof) = &c.proof else { return Err(wrong_form()) };
    let counts = fixed_counts(session.program)?;
    let list = obligations(session.program, &c.terms, proof, &counts.0, &c.properties)?;
    session.discharge(c, list)
}

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &Environments,
    counts: &[u32],
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Rejection> {
    vet_instances(program, terms, &proof.instances, counts)?;
    vet(program, terms, proof)?;
    claimable(program, claimed)?;
    let n = proof.instances.len();
    let sight = (0..n).map(|i| InstanceRenaming::new(program, terms, &proof.instances, i)).collect();
    let mut rule = Threader { program, terms, proof, claimed, sight, out: Vec::new() };
    for i in 0..n {
        rule.initial(i);
        for action in program.threads[proof.instances[i].thread].code.actions.iter() {
            rule.action(i, action)?;
        }
        rule.stability(i);
    }
    rule.claimed_invariants();
    Ok(rule.out)
}

struct Threader<'a> {
    program: &'a Program,
    terms: &'a Terms,
    proof: &'a Environments,
    claimed: &'a [PropertyId],
    sight: Vec<InstanceRenaming<'a>>,
    out: Vec<Obligation>,
}

impl Threader<'_> {
    fn name(&self, i: usize) -> String {
        format!("{} (tid {})", self.program.threads[self.proof.instances[i].thread].name, i + 1)
    }
    fn reach(&self, i: usize, at: LocId) -> Term {
        self.proof.reach[i][at.index()]
    }
    /// Instance i is at a location.
    fn is_at(&self, i: usize, at: LocId) -> Term {
        self.terms.eq(self.terms.sym(self.proof.instances[i].pc.0), self.terms.int(i128::from(at.0)))
    }
    /// Every instance is at some location, and what it reaches there holds.
    fn all_reach(&self) -> Term {
        let t = self.terms;
        let somewhere = |i: usize| {
            let locations = &self.program.threads[self.proof.instances[i].thread].code.locations;
            t.or(&locations.ids().map(|at| t.and(&[self.is_at(i, at), self.reach(i, at)])).collect::<Vec<_>>())
        };
        t.and(&(0..self.sight.len()).map(somewhere).collect::<Vec<_>>())
    }

    /// Instance i is at no location inside an atomic block.
    fn is_outside(&self, i: usize) -> Term {
        let locations = &self.program.threads[self.proof.instances[i].thread].code.locations;
        let inside = locations.iter_enumerated().filter(|(_, l)| l.in_atomic_block);
        let not_there: Vec<Term> = inside.map(|(at, _)| self.terms.not(self.is_at(i, at))).collect();
        self.terms.and(&not_there)
    }

    /// CS1.
    fn initial(&mut self, i: usize) {
        let (p, t) = (self.program, self.terms);
        let mut init = vec![obligation::initial_store(p, t)];
        for (k, instance) in self.proof.instances.iter().enumerate() {
            init.push(self.sight[k].own(obligation::initial_locals(p, t, instance.thread)));
            init.push(self.is_at(k, p.threads[instance.thread].code.entry));
        }
        let entry = p.threads[self.proof.instances[i].thread].code.entry;
        let what = format!("{} starts as annotated", self.name(i));
        self.out.push(Obligation::common(CS1, what, t.implies(t.and(&init), self.reach(i, entry))));
    }

    /// CS5 for gates, CS2, CS4, and CS5 for relies: one action of instance `i`.
    fn action(&mut self, i: usize, action: &Action) -> Result<(), Rejection> {
        let (p, t) = (self.program, self.terms);
        let step = InstanceStep::new(p, t, &self.proof.instances, &self.sight, i, action);
        let who = format!("{}: `{}`", self.name(i), p.origins[action.origin].text);
        let mut known = vec![self.is_at(i, action.from), self.reach(i, action.from), step.guard];
        known.extend((0..self.sight.len()).filter(|k| *k != i).map(|k| self.is_outside(k)));
        for (property, gate) in &step.gates {
            if self.claimed.contains(property) {
                let all = t.and(&[self.all_reach(), t.and(&known)]);
                let what = format!("{who} does not violate {}", p.properties[*property].name);
                self.out.push(Obligation::of(*property, CS5, what, t.implies(all, *gate)));
            }
            known.push(*gate);
        }
        let known = t.and(&known);
        let after = t.implies(known, step.after(self.reach(i, action.to)));
        self.out.push(Obligation::common(CS2, format!("{who} leads to the annotation after it"), after));
        for j in (0..self.sight.len()).filter(|j| *j != i) {
            let what = format!("{who} is a step of the environment of tid {}", j + 1);
            let formula = t.implies(known, step.two_store(self.proof.environment[j]));
            self.out.push(Obligation::common(CS4, what, formula));
        }
        for property in self.claimed {
            let Some((of, rely)) = written_rely(p, *property)? else { continue };
            let relies = |j: &usize| *j != i && of.is_none_or(|t| t == self.proof.instances[*j].thread);
            for j in (0..self.sight.len()).filter(relies) {
                let seen = t.substitute(rely, [(p.tid, t.int(j as i128 + 1))]);
                let what = format!("{who} satisfies the rely of tid {}", j + 1);
                self.out.push(Obligation::of(*property, CS5, what, t.implies(known, step.two_store(seen))));
            }
        }
        Ok(())
    }

    /// CS3.
    fn stability(&mut self, i: usize) {
        let t = self.terms;
        let locations = &self.program.threads[self.proof.instances[i].thread].code.locations;
        for (at, _) in locations.iter_enumerated().filter(|(_, l)| !l.in_atomic_block) {
            let here = self.reach(i, at);
            let known = t.and(&[self.is_at(i, at), here, self.proof.environment[i]]);
            let formula = t.implies(known, self.moved_by_others(i, here));
            self.out.push(Obligation::common(CS3, format!("{} at {at} is stable", self.name(i)), formula));
        }
    }

    /// CS5.
    fn claimed_invariants(&mut self) {
        for property in self.claimed {
            if let PropertyKind::Invariant(formula) = self.program.properties[*property].kind {
                let what = format!("{} holds everywhere", self.program.properties[*property].name);
                let outside = self.terms.and(&(0..self.sight.len()).map(|i| self.is_outside(i)).collect::<Vec<_>>());
                let formula = self.terms.implies(self.terms.and(&[outside, self.all_reach()]), formula);
                self.out.push(Obligation::of(*property, CS5, what, formula));
            }
        }
    }

    /// A formula of instance i after a step of another: everything but its own locals is as after the step.
    fn moved_by_others(&self, i: usize, formula: Term) -> Term {
        let (p, t) = (self.program, self.terms);
        let mut pairs: Vec<(Symbol, Term)> = p.shared().map(|v| (p.vars[v].symbol, t.sym(p.vars[v].primed))).collect();
        for other in self.proof.instances.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, other)| other) {
            pairs.extend(other.locals.iter().chain([&other.pc]).map(|(now, next)| (*now, t.sym(*next))));
        }
        t.substitute(formula, pairs)
    }
}

/// How the thread's own symbols (locals, tid) are read for one instance.
pub(super) struct InstanceRenaming<'a> {
    terms: &'a Terms,
    renaming: Vec<(Symbol, Term)>,
}

impl<'a> InstanceRenaming<'a> {
    pub(super) fn new(program: &Program, terms: &'a Terms, instances: &[InstanceSymbols], i: usize) -> Self {
        let instance = &instances[i];
        let mut renaming: Vec<(Symbol, Term)> = program.threads[instance.thread]
            .locals
            .iter()
            .zip(&instance.locals)
            .map(|(v, (now, _))| (program.vars[*v].symbol, terms.sym(*now)))
            .collect();
        renaming.push((program.tid, terms.int(i as i128 + 1)));
        Self { terms, renaming }
    }
    pub(super) fn own(&self, formula: Term) -> Term {
        self.terms.substitute(formula, self.renaming.iter().copied())
    }
}

/// One action of one instance, in the certificate's symbols.
pub(super) struct InstanceStep<'a> {
    terms: &'a Terms,
    pub(super) guard: Term,
    pub(super) gates: Vec<(PropertyId, Term)>,
    /// Unprimed symbols to values after.
    effect: Vec<(Symbol, Term)>,
    /// Primed symbols to values after, of all instances.
    both: Vec<(Symbol, Term)>,
}

impl<'a> InstanceStep<'a> {
    pub(super) fn new(
        program: &Program,
        terms: &'a Terms,
        instances: &[InstanceSymbols],
        sight: &[InstanceRenaming<'a>],
        i: usize,
        action: &Action,
    ) -> Self {
        let mine = &sight[i];
        let (mut effect, mut both) = (Vec::new(), Vec::new());
        for v in program.shared() {
            let var = &program.vars[v];
            let update = action.updates.iter().find(|u| u.var == v).map(|u| mine.own(u.value));
            effect.extend(update.map(|value| (var.symbol, value)));
            both.push((var.primed, update.unwrap_or_else(|| terms.sym(var.symbol))));
        }
        for (k, other) in instances.iter().enumerate() {
            for (v, (now, next)) in program.threads[other.thread].locals.iter().zip(&other.locals) {
                let update =
                    if k == i { action.updates.iter().find(|u| u.var == *v).map(|u| mine.own(u.value)) } else { None };
                effect.extend(update.map(|value| (*now, value)));
                both.push((*next, update.unwrap_or_else(|| terms.sym(*now))));
            }
            let to = if k == i { terms.int(i128::from(action.to.0)) } else { terms.sym(other.pc.0) };
            both.push((other.pc.1, to));
        }
        Self {
            terms,
            guard: mine.own(action.guard),
            gates: action.gates.iter().map(|g| (g.property, mine.own(g.formula))).collect(),
            effect,
            both,
        }
    }
    pub(super) fn after(&self, formula: Term) -> Term {
        self.terms.substitute(formula, self.effect.iter().copied())
    }
    pub(super) fn two_store(&self, formula: Term) -> Term {
        self.terms.substitute(formula, self.both.iter().copied())
    }
}

/// The instances are those of the program, and their symbols are new, different, and of the right sorts.
pub(super) fn vet_instances(
    program: &Program,
    terms: &Terms,
    instances: &[InstanceSymbols],
    counts: &[u32],
) -> Result<(), Rejection> {
    let expected: Vec<ThreadId> = program
        .threads
        .ids()
        .flat_map(|t| std::iter::repeat_n(t, counts.get(t.index()).copied().unwrap_or(0) as usize))
        .collect();
    if instances.iter().map(|i| i.thread).collect::<Vec<_>>() != expected {
        return Err(Rejection::shape("the instances are not those of the program"));
    }
    if program.threads.iter().any(|t| t.code.actions.iter().any(|a| a.spawn.is_some()) || !t.code.calls.is_empty()) {
        return Err(Rejection::outside("threads that spawn or call are outside this rule"));
    }
    // The instances' symbols must be new and all different, of the right sorts: else two things would share a name.
    let mut seen: Vec<Symbol> = program.vars.iter().flat_map(|v| [v.symbol, v.primed]).collect();
    seen.push(program.tid);
    let inputs = program.threads.iter().flat_map(|t| t.code.actions.iter().flat_map(|a| a.inputs.iter().copied()));
    seen.extend(inputs);
    for instance in instances {
        let locals = &program.threads[instance.thread].locals;
        if instance.locals.len() != locals.len() {
            return Err(Rejection::shape("one pair of symbols for each local is needed"));
        }
        for (v, (now, next)) in locals.iter().zip(&instance.locals) {
            let other_sort = [now, next].into_iter().find(|s| terms.symbol_sort(**s) != program.vars[*v].sort);
            if let Some(symbol) = other_sort {
                return Err(Rejection::not_new(terms, *symbol));
            }
        }
        let pcs = [instance.pc.0, instance.pc.1];
        if let Some(symbol) = pcs.iter().find(|s| terms.symbol_sort(**s) != Sort::INT) {
            return Err(Rejection::not_new(terms, *symbol));
        }
        for s in instance.locals.iter().flat_map(|(a, b)| [*a, *b]).chain(pcs) {
            if seen.contains(&s) {
                return Err(Rejection::not_new(terms, s));
            }
            seen.push(s);
        }
    }
    Ok(())
}

fn vet(program: &Program, terms: &Terms, proof: &Environments) -> Result<(), Rejection> {
    if proof.reach.len() != proof.instances.len() || proof.environment.len() != proof.instances.len() {
        return Err(Rejection::shape("one annotation and one environment for each instance are needed"));
    }
    let shared = AllowedSymbols::shared(program);
    for (i, instance) in proof.instances.iter().enumerate() {
        if proof.reach[i].len() != program.threads[instance.thread].code.locations.len() {
            return Err(Rejection::shape("one formula for each location is needed"));
        }
        let mut now = shared.clone();
        let mut two = shared.clone();
        two.extend(AllowedSymbols::shared_primed(program));
        for (k, other) in proof.instances.iter().enumerate() {
            now.extend(other.locals.iter().map(|l| l.0));
            two.extend(other.locals.iter().flat_map(|l| [l.0, l.1]));
            two.extend([other.pc.0, other.pc.1]);
            if k != i {
                now.push(other.pc.0);
            }
        }
        // The symbols after a step are put in the place of those before it, so no formula may bind them.
        let (now, two) = (
            AllowedSymbols::new(program, now).reserving(two.iter().copied()),
            AllowedSymbols::new(program, two.clone()),
        );
        for formula in &proof.reach[i] {
            now.admits(terms, *formula, &format!("what tid {} reaches", i + 1))?;
        }
        two.admits(terms, proof.environment[i], &format!("the environment of tid {}", i + 1))?;
    }
    Ok(())
}
