//! From a derivation of non-conformance to a concrete local run.
//!
//! In: the steps of the product along the derivation. Out: initial locals, and for each step the shared store before it and
//! the inputs, with values from a model of the unrolled path: locals are threaded through, the shared store is new
//! before each step. `None` where the path has no model that can be read.

use base::Budget;
use evidence::{CallReading, LocalRun, LocalStep};
use logic::{Symbol, Term, Terms, Value};
use program::{ActionId, Machine, Program, ThreadId, VarId};
use solver::{Smt, SolverSettings, Z3};

/// One step of the product: enough to unroll it again.
#[derive(Clone, Debug)]
pub(crate) struct ProductStep {
    pub action: ActionId,
    /// What is true of the store and locals before it, and of the candidates after it.
    pub constraint: Term,
    /// What the machine's variables are after it, in each state.
    pub own: Vec<(Symbol, Term)>,
    /// Nothing is left out by following one value of each of them.
    pub certain: Term,
}

impl ProductStep {
    /// A step that is wrong, after which nothing is followed.
    pub(crate) fn last(terms: &Terms, action: ActionId, constraint: Term) -> Self {
        Self { action, constraint, own: Vec::new(), certain: terms.tt() }
    }
}

/// Steps of a thread that may break conformance, and the first values of the machine's variables in each state.
pub(crate) struct ProductRun {
    pub thread: ThreadId,
    pub own: Vec<(Symbol, Term)>,
    pub steps: Vec<ProductStep>,
}

/// New symbols for the values of the machine's variables in each of its states.
pub(super) fn own_symbols(program: &Program, terms: &Terms, machine: &Machine) -> Vec<Vec<Symbol>> {
    let new = |v: &VarId| terms.symbol(program.vars[*v].name.clone(), program.vars[*v].sort);
    machine.states.iter().map(|_| machine.vars.iter().map(new).collect()).collect()
}

pub(crate) fn concrete(
    program: &Program,
    terms: &Terms,
    run: &ProductRun,
    settings: SolverSettings,
    budget: &Budget,
) -> Option<LocalRun> {
    let (thread, steps) = (run.thread, &run.steps);
    let th = &program.threads[thread];
    let (_, violates) = th.follows?;
    let shared: Vec<VarId> = program.shared().collect();
    let fresh =
        |v: VarId, i: usize| terms.sym(terms.symbol(format!("{}@{i}", program.vars[v].name), program.vars[v].sort));
    let initial: Vec<Term> = th.locals.iter().map(|v| fresh(*v, 0)).collect();
    let mut locals = initial.clone();
    let mut formulas: Vec<Term> = Vec::new();
    for (v, x) in th.locals.iter().zip(&initial) {
        formulas.extend(program.vars[*v].initial.map(|value| terms.eq(*x, value)));
    }
    let mut own = run.own.clone();
    let mut read: Vec<(Vec<Term>, Vec<Term>)> = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let action = &th.code.actions[step.action];
        let store: Vec<Term> = shared.iter().map(|v| fresh(*v, i)).collect();
        let inputs: Vec<Term> =
            action.inputs.iter().map(|s| terms.sym(terms.symbol(format!("in@{i}"), terms.symbol_sort(*s)))).collect();
        let mut view: Vec<(Symbol, Term)> = vec![(program.tid, terms.int(1))];
        view.extend(shared.iter().zip(&store).map(|(v, x)| (program.vars[*v].symbol, *x)));
        view.extend(th.locals.iter().zip(&locals).map(|(v, x)| (program.vars[*v].symbol, *x)));
        view.extend(action.inputs.iter().zip(&inputs).map(|(s, x)| (*s, *x)));
        view.extend(own.iter().copied());
        formulas.push(terms.substitute(step.constraint, view.iter().copied()));
        formulas.push(terms.substitute(step.certain, view.iter().copied()));
        for (s, x) in &mut own {
            let set = step.own.iter().find(|(of, _)| of == s);
            *x = set.map_or(*x, |(_, value)| terms.substitute(*value, view.iter().copied()));
        }
        let next = th
            .locals
            .iter()
            .zip(&locals)
            .map(|(v, old)| {
                let update = action.updates.iter().find(|u| u.var == *v);
                update.map_or(*old, |u| terms.substitute(u.value, view.iter().copied()))
            })
            .collect();
        locals = next;
        read.push((store, inputs));
    }
    let mut smt = Z3::new(terms, settings, budget).ok()?;
    formulas.iter().for_each(|f| smt.assert(*f));
    if !smt.check().is_sat() {
        return None;
    }
    // A value that was not asked about may be any; maps without a finite table are given up.
    let mut value = |x: &Term| smt.value(*x).unwrap_or_else(|| Value::default_of(terms, terms.sort_of(*x)));
    let locals = initial.iter().map(&mut value).collect();
    let steps = steps
        .iter()
        .zip(&read)
        .map(|(s, (store, inputs))| LocalStep {
            store: store.iter().map(&mut value).collect(),
            action: s.action,
            inputs: inputs.iter().map(&mut value).collect(),
        })
        .collect();
    Some(LocalRun { violates, thread, reading: CallReading::Code, locals, steps, also: None })
}
