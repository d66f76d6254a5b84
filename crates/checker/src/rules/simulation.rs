//! Rule `simulation`: a thread conforms to its machine (Abstract Threads, section 3, Theorem 2).
//!
//! In: for locations of the thread, sets of candidate machine states and a formula over the thread's locals. Out: the
//! obligations, in which the shared store before each step is arbitrary (the environment may have done anything), but
//! satisfies every candidate's assertion (else the machine goes wrong here, and need not follow any further):
//!   SM1  with initial locals, the pair of the entry and the machine's start state holds;
//!   SM2  no action fails a gate;
//!   SM3  each action leads to some pair of its target, all of whose candidates are reached by a step of the machine (or its
//!        idle step) from a candidate before, with the same change of the shared store.
//! SM3 asks for a subset of the candidates that Theorem 2 computes; fewer candidates are only harder to follow with.
//! Steps inside atomic blocks are steps of their own here, so a block with a loop must be followed step by step.

use super::Malformed;
use crate::obligation::{self, Obligation, Vocabulary};
use evidence::{Pair, Simulation};
use logic::{Sort, Term, Terms};
use program::relation::{is_idle, is_step};
use program::{Action, LocId, Machine, Program};

const RULE: &str = "simulation";

pub fn obligations(program: &Program, terms: &Terms, proof: &Simulation) -> Result<Vec<Obligation>, Malformed> {
    let machine = vet(program, terms, proof)?;
    let thread = &program.threads[proof.thread];
    let mut out = Vec::new();
    let positive = terms.lt(terms.int(0), terms.sym(program.tid));
    let entry: Vec<Term> = proof
        .pairs
        .iter()
        .filter(|p| p.location == thread.code.entry && p.candidates == [machine.start as u32])
        .map(|p| p.formula)
        .collect();
    let initial = terms.and(&[positive, obligation::initial_locals(program, terms, proof.thread)]);
    out.push(Obligation::common(
        RULE,
        format!("SM1: {} starts with {}", thread.name, machine.name),
        terms.implies(initial, terms.or(&entry)),
    ));
    for pair in &proof.pairs {
        let asserted = terms.and(
            &pair.candidates.iter().filter_map(|c| machine.states[*c as usize].assertion.flatten()).collect::<Vec<_>>(),
        );
        for action in thread.code.actions.iter().filter(|a| a.from == pair.location) {
            let who = format!("{} as {}", obligation::words(program, proof.thread, action), names(machine, pair));
            let mut pre = vec![positive, pair.formula, asserted, action.guard];
            for gate in &action.gates {
                let what = format!("SM2: {who} does not violate {}", program.properties[gate.property].name);
                out.push(Obligation::common(RULE, what, terms.implies(terms.and(&pre), gate.formula)));
                pre.push(gate.formula);
            }
            let targets: Vec<Term> = proof
                .pairs
                .iter()
                .filter(|p| p.location == action.to)
                .map(|p| {
                    let mut parts = vec![obligation::after(program, terms, action, p.formula)];
                    parts.extend(p.candidates.iter().map(|c| reached(program, terms, machine, pair, action, *c)));
                    terms.and(&parts)
                })
                .collect();
            let formula = terms.implies(terms.and(&pre), terms.or(&targets));
            out.push(Obligation::common(RULE, format!("SM3: {who} is followed by the machine"), formula));
        }
    }
    Ok(out)
}

/// The machine may go from a candidate of the pair to this state, changing the shared store as the action does.
fn reached(program: &Program, terms: &Terms, machine: &Machine, from: &Pair, action: &Action, to: u32) -> Term {
    let mut ways: Vec<Term> = machine
        .edges
        .iter()
        .filter(|e| e.to == to as usize && from.candidates.contains(&(e.from as u32)))
        .map(|e| is_step(program, terms, &e.action, &action.updates))
        .collect();
    if !machine.strict && from.candidates.contains(&to) {
        ways.push(is_idle(program, terms, &action.updates));
    }
    terms.or(&ways)
}

fn names(machine: &Machine, pair: &Pair) -> String {
    let list: Vec<&str> = pair.candidates.iter().map(|c| machine.states[*c as usize].name.as_str()).collect();
    format!("{{{}}}", list.join(", "))
}

fn vet<'a>(program: &'a Program, terms: &Terms, proof: &Simulation) -> Result<&'a Machine, Malformed> {
    let thread = program.threads.get(proof.thread).ok_or_else(|| Malformed("no such thread".into()))?;
    let (machine, _) = thread.follows.ok_or_else(|| Malformed(format!("thread {} follows no machine", thread.name)))?;
    let machine = &program.machines[machine];
    if thread.code.actions.iter().any(|a| a.spawn.is_some()) || !thread.code.calls.is_empty() {
        return Err(Malformed("threads that spawn or call are outside this rule".into()));
    }
    if machine.states.iter().any(|s| s.assertion == Some(None)) {
        return Err(Malformed("an assertion of the machine is asked for, not given".into()));
    }
    let mut own = Vocabulary::locals(program, proof.thread);
    own.push(program.tid);
    let vocabulary = Vocabulary::new(program, own);
    for p in &proof.pairs {
        let at: LocId = p.location;
        let increasing = p.candidates.windows(2).all(|w| w[0] < w[1]);
        let fits = !p.candidates.is_empty() && p.candidates.iter().all(|c| (*c as usize) < machine.states.len());
        if thread.code.locations.get(at).is_none() || !increasing || !fits {
            return Err(Malformed(format!("a pair at {at} has no such candidates")));
        }
        if terms.sort_of(p.formula) != Sort::BOOL {
            return Err(Malformed("an annotation is not a formula".into()));
        }
        if let Some(s) = vocabulary.stranger(terms, p.formula) {
            return Err(Malformed(format!(
                "the formula at {at} mentions `{}`, which it may not",
                terms.symbol_name(s)
            )));
        }
    }
    Ok(machine)
}
