//! Proposes a machine for a thread.
//!
//! In: a thread. Out: a machine, its text in the language, and the result of checking that the thread conforms to it. Its
//! states are the thread's local situations, merged where only local steps separate them; its edges are the thread's
//! steps as the shared store sees them, locals projected away; a state asserts what the gates of its steps need.
//! Conforming by construction, and checked all the same. Deliberately absent: threads that spawn; assertions that speak of locals.

use super::check::{self, Conformance};
use crate::cells::{Cells, folded};
use crate::method::Run;
use evidence::Reason;
use logic::{Quantifier, Symbol, Term, Terms};
use program::{
    Action, Machine, MachineEdge, MachineId, MachineState, OriginId, Program, PropertyKind, StorePlace, ThreadId,
    TwoStore, Update, VarId,
};
use solver::{SolverSettings, Z3};

pub struct Proposal {
    /// The program with the thread following the machine.
    pub program: Program,
    pub machine: MachineId,
    /// `machine NAME { .. }`, to be pasted into the file.
    pub text: String,
    /// Nothing: it conforms. Otherwise why that could not be shown.
    pub doubt: Option<Reason>,
}

pub fn propose_machine(program: &Program, thread: ThreadId, run: &Run) -> Result<Proposal, Reason> {
    let mut p = program.clone();
    let terms = p.terms.clone();
    if p.threads[thread].code.actions.iter().any(|a| a.spawn.is_some()) {
        return Err(Reason::NotAdmitted("the thread spawns threads, which no machine can".into()));
    }
    let settings = SolverSettings { seed: run.seed as u32, ..SolverSettings::default() };
    let mut smt = Z3::new(&terms, settings, &run.budget).map_err(|r| Reason::Internal(r.to_string()))?;
    let mut cells = Cells::default();
    cells
        .add(&p, &terms, thread, &mut smt)
        .map_err(|_| Reason::NotAdmitted("the thread has too many local situations".into()))?;
    let group_of = folded(&p, &terms, &cells.cells, &cells.moves);
    let groups = group_of.iter().max().map_or(0, |g| g + 1);
    let origin: OriginId = p.threads[thread].origin;
    let name = format!("{}Machine", p.threads[thread].name);

    let mut states: Vec<MachineState> = Vec::new();
    for g in 0..groups {
        let mut needs: Vec<Term> = Vec::new();
        for m in cells.moves.iter().filter(|m| group_of[m.from] == g) {
            let action = &p.threads[thread].code.actions[m.action];
            let mut passed = vec![cells.cells[m.from].formula, action.guard];
            for gate in &action.gates {
                let need = closed(
                    &p,
                    &terms,
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
        let assertion = if needs.is_empty() { None } else { Some(Some(tidy(&terms, terms.and(&needs)))) };
        states.push(MachineState { name: format!("S{g}"), assertion, origin });
    }
    let entry = p.threads[thread].code.entry;
    let starts: Vec<usize> =
        (0..cells.cells.len()).filter(|c| cells.cells[*c].location == entry).map(|c| group_of[c]).collect();
    let Some(start) = starts.first().copied() else {
        return Err(Reason::Internal("the thread has no entry".into()));
    };
    if starts.iter().any(|s| *s != start) {
        return Err(Reason::NotAdmitted("the thread may start in several local situations".into()));
    }
    let mut edges: Vec<MachineEdge> = Vec::new();
    for m in &cells.moves {
        let (from, to) = (group_of[m.from], group_of[m.to]);
        let action = &p.threads[thread].code.actions[m.action];
        let effect = action.updates.iter().map(|u| (p.vars[u.var].symbol, u.value));
        let known = [cells.cells[m.from].formula, action.guard, terms.substitute(cells.cells[m.to].formula, effect)];
        let step = projected(&p, &terms, thread, action, &known);
        let idle = step.frame.is_empty();
        if from == to && idle {
            continue;
        }
        if !edges.iter().any(|e| e.from == from && e.to == to && e.action.relation == step.relation) {
            edges.push(MachineEdge { from, to, action: step, origin: action.origin });
        }
    }
    let machine = Machine { name: name.clone(), strict: false, states, start, edges, origin };
    p.terms = terms.clone();
    let text = print(&p, &machine);
    let id = p.machines.push(machine);
    let property = p.properties.push(program::Property {
        kind: PropertyKind::Follows(thread),
        name: format!("follows:{}:proposed", p.threads[thread].name),
        origin,
    });
    p.threads[thread].follows = Some((id, property));
    let doubt = match check::check_conformance(&p, &terms, thread, run).outcome {
        Conformance::Conforms(_) => None,
        Conformance::Refuted(..) => Some(Reason::Alarm("some step of the thread is not a step of the proposal".into())),
        Conformance::Undecided(reason) => Some(reason),
    };
    Ok(Proposal { program: p, machine: id, text, doubt })
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
        let word = if i == machine.start { "start" } else { "state" };
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
