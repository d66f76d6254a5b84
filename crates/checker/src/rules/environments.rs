//! Rule `environments`: Threader's CS1 to CS5 for a fixed list of instances, with explicit control.
//!
//! In: for each instance i what it reaches, R_i[l] for each of its locations l, and what its environment does, E_i. The
//! formulas may speak of every instance's locals and of the other instances' control. Out: the obligations
//!   CS1  the initial store satisfies R_i[entry];
//!   CS2  R_i is closed under the actions of i;
//!   CS3  R_i is closed under E_i;
//!   CS4  each action of another instance j from R_j is a step of E_i;
//!   CS5  with all R together, no action fails a claimed gate, and every claimed invariant holds.
//! Absent: spawning; any number of threads (see `rely_guarantee`). Steps inside atomic blocks count as steps.

use super::{Malformed, claimable};
use crate::obligation::{self, Obligation, Vocabulary};
use evidence::{Environments, InstanceSymbols};
use logic::{Sort, Symbol, Term, Terms};
use program::{Action, Program, PropertyId, PropertyKind, ThreadId};

const RULE: &str = "environments";

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &Environments,
    counts: &[u32],
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Malformed> {
    vet_instances(program, terms, &proof.instances, counts)?;
    vet(program, terms, proof)?;
    claimable(program, claimed)?;
    let n = proof.instances.len();
    let sight: Vec<Sight> = (0..n).map(|i| Sight::new(program, terms, &proof.instances, i)).collect();
    let mut out = Vec::new();

    let mut init = vec![obligation::initial_store(program, terms)];
    for (i, instance) in proof.instances.iter().enumerate() {
        init.push(sight[i].own(obligation::initial_locals(program, terms, instance.thread)));
        let entry = program.threads[instance.thread].code.entry;
        init.push(terms.eq(terms.sym(instance.pc.0), terms.int(i128::from(entry.0))));
    }
    let init = terms.and(&init);
    let everywhere = terms.and(&(0..n).map(|i| somewhere(program, terms, proof, i)).collect::<Vec<_>>());

    for i in 0..n {
        let thread = proof.instances[i].thread;
        let code = &program.threads[thread].code;
        let name = format!("{} (tid {})", program.threads[thread].name, i + 1);
        out.push(Obligation::common(
            RULE,
            format!("CS1: {name} starts as annotated"),
            terms.implies(init, proof.reach[i][code.entry.0 as usize]),
        ));
        for action in code.actions.iter() {
            let step = Step::new(program, terms, &proof.instances, &sight, i, action);
            let at = terms.eq(terms.sym(proof.instances[i].pc.0), terms.int(i128::from(action.from.0)));
            let mut pre = vec![at, proof.reach[i][action.from.0 as usize], step.guard];
            for (gate, formula) in &step.gates {
                if claimed.contains(gate) {
                    let all = terms.and(&[everywhere, terms.and(&pre)]);
                    out.push(Obligation::of(
                        *gate,
                        RULE,
                        format!(
                            "CS5: {name}: `{}` does not violate {}",
                            program.origins[action.origin].text, program.properties[*gate].name
                        ),
                        terms.implies(all, *formula),
                    ));
                }
                pre.push(*formula);
            }
            let pre = terms.and(&pre);
            out.push(Obligation::common(
                RULE,
                format!("CS2: {name}: `{}` leads to the annotation after it", program.origins[action.origin].text),
                terms.implies(pre, step.after(proof.reach[i][action.to.0 as usize])),
            ));
            for j in (0..n).filter(|j| *j != i) {
                out.push(Obligation::common(
                    RULE,
                    format!(
                        "CS4: {name}: `{}` is a step of the environment of tid {}",
                        program.origins[action.origin].text,
                        j + 1
                    ),
                    terms.implies(pre, step.two_store(proof.environment[j])),
                ));
            }
            for p in claimed {
                let PropertyKind::Rely(at) = program.properties[*p].kind else { continue };
                let rely = program.relies.get(at as usize).ok_or_else(|| Malformed("no such rely".into()))?;
                let formula =
                    rely.formula.ok_or_else(|| Malformed("a rely that is asked for cannot be claimed".into()))?;
                for j in (0..n).filter(|j| *j != i && rely.thread.is_none_or(|t| t == proof.instances[*j].thread)) {
                    let seen = terms.substitute(formula, [(program.tid, terms.int(j as i128 + 1))]);
                    out.push(Obligation::of(
                        *p,
                        RULE,
                        format!(
                            "{name}: `{}` satisfies the rely of tid {}",
                            program.origins[action.origin].text,
                            j + 1
                        ),
                        terms.implies(pre, step.two_store(seen)),
                    ));
                }
            }
        }
        for at in code.locations.ids() {
            let here = proof.reach[i][at.0 as usize];
            let there = terms.eq(terms.sym(proof.instances[i].pc.0), terms.int(i128::from(at.0)));
            out.push(Obligation::common(
                RULE,
                format!("CS3: {name} at {at} is stable"),
                terms.implies(
                    terms.and(&[there, here, proof.environment[i]]),
                    moved_by_others(program, terms, proof, i, here),
                ),
            ));
        }
    }
    for p in claimed {
        if let PropertyKind::Invariant(formula) = program.properties[*p].kind {
            out.push(Obligation::of(
                *p,
                RULE,
                format!("CS5: {} holds everywhere", program.properties[*p].name),
                terms.implies(everywhere, formula),
            ));
        }
    }
    Ok(out)
}

/// How the thread's own symbols (locals, tid) are read for one instance.
pub(super) struct Sight<'a> {
    terms: &'a Terms,
    renaming: Vec<(Symbol, Term)>,
}

impl<'a> Sight<'a> {
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
pub(super) struct Step<'a> {
    terms: &'a Terms,
    pub(super) guard: Term,
    pub(super) gates: Vec<(PropertyId, Term)>,
    /// Unprimed symbols to values after.
    effect: Vec<(Symbol, Term)>,
    /// Primed symbols to values after, of all instances.
    both: Vec<(Symbol, Term)>,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        program: &Program,
        terms: &'a Terms,
        instances: &[InstanceSymbols],
        sight: &[Sight<'a>],
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

/// Instance i is at some location, and what is reached there holds.
fn somewhere(program: &Program, terms: &Terms, proof: &Environments, i: usize) -> Term {
    let code = &program.threads[proof.instances[i].thread].code;
    let cases: Vec<Term> = code
        .locations
        .ids()
        .map(|at| {
            let here = terms.eq(terms.sym(proof.instances[i].pc.0), terms.int(i128::from(at.0)));
            terms.and(&[here, proof.reach[i][at.0 as usize]])
        })
        .collect();
    terms.or(&cases)
}

/// A formula of instance i after a step of another: everything but its own locals is as after the step.
fn moved_by_others(program: &Program, terms: &Terms, proof: &Environments, i: usize, formula: Term) -> Term {
    let mut pairs: Vec<(Symbol, Term)> =
        program.shared().map(|v| (program.vars[v].symbol, terms.sym(program.vars[v].primed))).collect();
    for (k, other) in proof.instances.iter().enumerate() {
        if k != i {
            pairs.extend(other.locals.iter().map(|(now, next)| (*now, terms.sym(*next))));
            pairs.push((other.pc.0, terms.sym(other.pc.1)));
        }
    }
    terms.substitute(formula, pairs)
}

/// The instances are those of the program, and their symbols are new, different, and of the right sorts.
pub(super) fn vet_instances(
    program: &Program,
    terms: &Terms,
    instances: &[InstanceSymbols],
    counts: &[u32],
) -> Result<(), Malformed> {
    let expected: Vec<ThreadId> = program
        .threads
        .ids()
        .flat_map(|t| std::iter::repeat_n(t, counts.get(t.0 as usize).copied().unwrap_or(0) as usize))
        .collect();
    if instances.iter().map(|i| i.thread).collect::<Vec<_>>() != expected {
        return Err(Malformed("the instances are not those of the program".into()));
    }
    if program.threads.iter().any(|t| t.code.actions.iter().any(|a| a.spawn.is_some()) || !t.code.calls.is_empty()) {
        return Err(Malformed("threads that spawn or call are outside this rule".into()));
    }
    // The instances' symbols must be new and all different, of the right sorts: else two things would share a name.
    let mut seen: Vec<Symbol> = program.vars.iter().flat_map(|v| [v.symbol, v.primed]).collect();
    seen.push(program.tid);
    let inputs = program.threads.iter().flat_map(|t| t.code.actions.iter().flat_map(|a| a.inputs.iter().copied()));
    seen.extend(inputs);
    for instance in instances {
        let locals = &program.threads[instance.thread].locals;
        if instance.locals.len() != locals.len() {
            return Err(Malformed("one pair of symbols for each local is needed".into()));
        }
        for (v, (now, next)) in locals.iter().zip(&instance.locals) {
            if [now, next].iter().any(|s| terms.symbol_sort(**s) != program.vars[*v].sort) {
                return Err(Malformed("a symbol of a local has another sort".into()));
            }
        }
        let pcs = [instance.pc.0, instance.pc.1];
        if pcs.iter().any(|s| terms.symbol_sort(*s) != Sort::INT) {
            return Err(Malformed("a control symbol is not an integer".into()));
        }
        for s in instance.locals.iter().flat_map(|(a, b)| [*a, *b]).chain(pcs) {
            if seen.contains(&s) {
                return Err(Malformed(format!("the symbol `{}` is used twice", terms.symbol_name(s))));
            }
            seen.push(s);
        }
    }
    Ok(())
}

fn vet(program: &Program, terms: &Terms, proof: &Environments) -> Result<(), Malformed> {
    if proof.reach.len() != proof.instances.len() || proof.environment.len() != proof.instances.len() {
        return Err(Malformed("one annotation and one environment for each instance are needed".into()));
    }
    let shared = Vocabulary::shared(program);
    for (i, instance) in proof.instances.iter().enumerate() {
        if proof.reach[i].len() != program.threads[instance.thread].code.locations.len() {
            return Err(Malformed("one formula for each location is needed".into()));
        }
        let mut now = shared.clone();
        let mut two = shared.clone();
        two.extend(Vocabulary::shared_primed(program));
        for (k, other) in proof.instances.iter().enumerate() {
            now.extend(other.locals.iter().map(|l| l.0));
            two.extend(other.locals.iter().flat_map(|l| [l.0, l.1]));
            two.extend([other.pc.0, other.pc.1]);
            if k != i {
                now.push(other.pc.0);
            }
        }
        let (now, two) = (Vocabulary::new(program, now), Vocabulary::new(program, two));
        let strangers = proof.reach[i]
            .iter()
            .filter_map(|f| now.stranger(terms, *f))
            .chain(two.stranger(terms, proof.environment[i]));
        if let Some(s) = strangers.into_iter().next() {
            return Err(Malformed(format!(
                "a formula of tid {} mentions `{}`, which it may not",
                i + 1,
                terms.symbol_name(s)
            )));
        }
        if proof.reach[i].iter().chain([&proof.environment[i]]).any(|f| terms.sort_of(*f) != Sort::BOOL) {
            return Err(Malformed("an annotation is not a formula".into()));
        }
    }
    Ok(())
}
