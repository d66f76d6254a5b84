//! Proposes a machine for a thread.
//!
//! In: a thread. Out: a machine that the thread was checked to conform to, and its text in the language. The smallest is tried first (`merged`); a
//! machine whose composition with the other threads goes wrong in a short search is passed over for a finer one. The finest has the thread's local
//! situations as states, merged where only unconditional local steps separate them, and the thread's steps as the shared store sees them, locals
//! projected away; a state asserts what the gates of its steps need. What does not conform is not given out.
//! Deliberately absent: threads that spawn; whether the text reads back (the caller reads it).

use super::check;
use super::merged::{Merging, following, merged_machine};
use super::outcome::Conformance;
use crate::cells::{Cells, folded};
use crate::explore::Explore;
use crate::method::{Method, Run, Task};
use evidence::{Claim, Reason};
use logic::{Quantifier, Symbol, Term, Terms};
use program::compose::compose_machines;
use program::transition::gated_properties;
use program::{
    Action, Machine, MachineEdge, MachineId, MachineState, OriginId, Program, StorePlace, ThreadId, TwoStore, Update,
    VarId,
};
use solver::{SolverSettings, Z3};
use std::time::Duration;

pub struct Proposal {
    /// The program with the thread following the machine.
    pub program: Program,
    pub machine: MachineId,
    /// `machine NAME { .. }`, to be pasted into the file.
    pub text: String,
}

/// How long a composition is searched for something that goes wrong.
const GLANCE_EFFORT: Duration = Duration::from_secs(1);

/// How the steps of a thread are seen from the shared store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Projection {
    /// Locals are quantified away.
    Exact,
    /// What is said with a quantifier is left out.
    Plain,
}

pub fn propose_machine(program: &Program, thread: ThreadId, run: &Run) -> Result<Proposal, Reason> {
    let terms = program.terms.clone();
    if program.threads[thread].code.actions.iter().any(|a| a.spawn.is_some()) {
        return Err(Reason::NotAdmitted("the thread spawns threads, which no machine can".into()));
    }
    let plain = format!("{}Machine", program.threads[thread].name);
    let names = std::iter::once(plain.clone()).chain((2..).map(|k| format!("{plain}{k}")));
    let name = names.into_iter().find(|n| !program.machines.iter().any(|m| m.name == *n)).unwrap_or(plain);
    let mut first: Option<Proposal> = None;
    let mut why = Reason::Alarm("no machine was found that the thread conforms to".into());
    for level in 0..4 {
        let machine = match level {
            0 => merged_machine(program, &terms, thread, Merging::AllLocalSteps, &name, run),
            1 => merged_machine(program, &terms, thread, Merging::UnguardedSteps, &name, run),
            _ => {
                let projection = if level == 2 { Projection::Exact } else { Projection::Plain };
                match situations(program, &terms, thread, projection, &name, run) {
                    Ok(machine) => Some(machine),
                    Err(reason) => {
                        why = reason;
                        None
                    }
                }
            }
        };
        let Some(machine) = machine else { continue };
        let p = following(program, &terms, thread, machine);
        match check::check_conformance(&p, &terms, thread, run).outcome {
            Conformance::Conforms(_) => {}
            Conformance::Refuted(..) => continue,
            Conformance::Undecided(reason) => {
                why = reason;
                continue;
            }
        }
        let machine = p.threads[thread].follows.expect("it follows the proposal").0;
        let plausible = is_plausible(&p, run);
        let proposal = Proposal { text: print(&p, &p.machines[machine]), program: p, machine };
        if plausible {
            return Ok(proposal);
        }
        first = first.or(Some(proposal));
    }
    first.ok_or(why)
}

/// Whether the thread conforms to a machine of the program, and nothing else is asked.
pub fn conforms_to(program: &Program, thread: ThreadId, machine: MachineId, run: &Run) -> bool {
    let p = following(program, &program.terms, thread, program.machines[machine].clone());
    matches!(check::check_conformance(&p, &p.terms.clone(), thread, run).outcome, Conformance::Conforms(_))
}

/// Whether a short search finds nothing that goes wrong in the composition.
fn is_plausible(p: &Program, run: &Run) -> bool {
    let Ok(composed) = compose_machines(p) else { return true };
    let properties = gated_properties(&composed);
    let task = Task { program: composed, properties, threads: Default::default(), options: Default::default() };
    if Explore.admits(&task).is_err() {
        return true;
    }
    let found = Explore.run(&task, &Run { budget: run.budget.share(GLANCE_EFFORT), ..run.inner() });
    !found.claims.values().any(|c| matches!(c, Claim::Refuted(_)))
}

/// The thread's local situations as states.
fn situations(
    p: &Program,
    terms: &Terms,
    thread: ThreadId,
    projection: Projection,
    name: &str,
    run: &Run,
) -> Result<Machine, Reason> {
    let settings = SolverSettings { seed: run.seed as u32, ..SolverSettings::default() };
    let mut smt = Z3::new(terms, settings, &run.budget).map_err(|r| Reason::Internal(r.to_string()))?;
    let mut cells = Cells::default();
    cells
        .add(p, terms, thread, &mut smt)
        .map_err(|_| Reason::NotAdmitted("the thread has too many local situations".into()))?;
    let group_of = folded(p, terms, &cells.cells, &cells.moves);
    let groups = group_of.iter().max().map_or(0, |g| g + 1);
    let origin: OriginId = p.threads[thread].origin;
    let mut states: Vec<MachineState> = Vec::new();
    for g in 0..groups {
        let mut needs: Vec<Term> = Vec::new();
        for m in cells.moves.iter().filter(|m| group_of[m.from] == g) {
            let action = &p.threads[thread].code.actions[m.action];
            let mut passed = vec![cells.cells[m.from].formula, action.guard];
            for gate in &action.gates {
                let need = closed(
                    p,
                    terms,
                    thread,
                    action,
                    terms.implies(terms.and(&passed), gate.formula),
                    Quantifier::Forall,
                );
                if !needs.contains(&need) {
                    needs.push(need);
                }
                passed.push(gate.formula);
            }
        }
        let assertion = if needs.is_empty() { None } else { Some(Some(tidy(terms, terms.and(&needs)))) };
        states.push(MachineState { name: format!("S{g}"), assertion, origin });
    }
    let entry = p.threads[thread].code.entry;
    let mut starts: Vec<usize> =
        (0..cells.cells.len()).filter(|c| cells.cells[*c].location == entry).map(|c| group_of[c]).collect();
    starts.sort_unstable();
    starts.dedup();
    if starts.is_empty() {
        return Err(Reason::Internal("the thread has no entry".into()));
    }
    let mut edges: Vec<MachineEdge> = Vec::new();
    for m in &cells.moves {
        let (from, to) = (group_of[m.from], group_of[m.to]);
        let action = &p.threads[thread].code.actions[m.action];
        let effect = action.updates.iter().map(|u| (p.vars[u.var].symbol, u.value));
        let known = [cells.cells[m.from].formula, action.guard, terms.substitute(cells.cells[m.to].formula, effect)];
        let mut step = projected(p, terms, thread, action, &known);
        if projection == Projection::Plain {
            let plain: Vec<Term> =
                terms.conjuncts(step.relation).into_iter().filter(|f| !terms.has_quantifier(*f)).collect();
            step.relation = terms.and(&plain);
        }
        let idle = step.frame.is_empty();
        if from == to && idle {
            continue;
        }
        if !edges.iter().any(|e| e.from == from && e.to == to && e.action.relation == step.relation) {
            edges.push(MachineEdge { from, to, action: step, sets: Vec::new(), makes: None, origin: action.origin });
        }
    }
    Ok(Machine { name: name.into(), strict: false, vars: Vec::new(), states, starts, edges, origin })
}

/// A formula with the thread's locals and the action's inputs quantified away where they occur.
fn closed(
    p: &Program,
    terms: &Terms,
    thread: ThreadId,
    action: &Action,
    formula: Term,
    quantifier: Quantifier,
) -> Term {
    let formula = tidy(terms, formula);
    let free = terms.free_symbols(formula);
    let own: Vec<Symbol> =
        p.threads[thread].locals.iter().map(|v| p.vars[*v].symbol).chain(action.inputs.iter().copied()).collect();
    let (mut pairs, mut bound) = (Vec::new(), Vec::new());
    for s in own.into_iter().filter(|s| free.contains(s)) {
        let copy = terms.symbol(terms.symbol_name(s).replace(['.', '\''], "_"), terms.symbol_sort(s));
        pairs.push((s, terms.sym(copy)));
        bound.push(copy);
    }
    let body = terms.substitute(formula, pairs);
    match quantifier {
        Quantifier::Forall => terms.forall(&bound, body),
        Quantifier::Exists => terms.exists(&bound, body),
    }
}

/// The action as the shared store sees it: `<frame> exists locals :: guard && x' == e`.
fn projected(p: &Program, terms: &Terms, thread: ThreadId, action: &Action, known: &[Term]) -> TwoStore {
    let shared: Vec<VarId> = p.shared().collect();
    let written: Vec<&Update> = action.updates.iter().filter(|u| shared.contains(&u.var)).collect();
    let mut parts: Vec<Term> = known.to_vec();
    parts.extend(action.gates.iter().map(|g| g.formula));
    for u in &written {
        parts.push(terms.eq(terms.sym(p.vars[u.var].primed), u.value));
    }
    // Conjuncts about locals alone say nothing to the store: whether the thread is there is the state's business.
    let speaks_of_store = |f: &Term| {
        let free = terms.free_symbols(*f);
        shared.iter().any(|v| free.contains(&p.vars[*v].symbol) || free.contains(&p.vars[*v].primed))
    };
    let parts: Vec<Term> =
        parts.iter().flat_map(|f| terms.conjuncts(*f)).map(|f| tidy(terms, f)).filter(speaks_of_store).collect();
    let relation = closed(p, terms, thread, action, terms.and(&parts), Quantifier::Exists);
    TwoStore { frame: written.iter().map(|u| StorePlace { var: u.var, keys: Vec::new() }).collect(), relation }
}

fn tidy(terms: &Terms, formula: Term) -> Term {
    terms.simplify(formula)
}

/// The machine in the language.
fn print(p: &Program, machine: &Machine) -> String {
    let t = &p.terms;
    let mut out = format!("machine {} {{\n", machine.name);
    for (i, s) in machine.states.iter().enumerate() {
        let word = if machine.starts.contains(&i) { "start" } else { "state" };
        match s.assertion.flatten() {
            Some(f) if !t.is_true(f) => out.push_str(&format!("  {word} {} asserts {};\n", s.name, t.show(f))),
            _ => out.push_str(&format!("  {word} {};\n", s.name)),
        }
    }
    for e in &machine.edges {
        let frame: Vec<&str> = e.action.frame.iter().map(|f| p.vars[f.var].name.as_str()).collect();
        let (from, to) = (&machine.states[e.from].name, &machine.states[e.to].name);
        out.push_str(&format!("  {from} -> {to} : <{}> {};\n", frame.join(", "), t.show(e.action.relation)));
    }
    out.push_str("}\n");
    out
}
