//! What a step of a machine is, for given values of the machine's own variables.
//!
//! In: a machine, the values of its variables in each state it may be in, and what an action changes. Out: when an edge follows the action, and what the
//! machine's variables are after it. An edge says what each variable that it changes becomes, so that there is one value for each way into a state.
//! Abstract Threads, section 2: a local state of the abstract thread is a state of the machine together with these values; appendix A keeps the store after the
//! thread's last step in them. Deliberately absent: which states the machine may be in (`checker::rules::simulation`).

use crate::code::Update;
use crate::ids::VarId;
use crate::model::{Program, VarKind};
use crate::relation::{Ends, is_idle, relates};
use crate::spec::{Machine, MachineEdge};
use crate::two_store::{StorePlace, TwoStore};
use logic::{Op, SortKind, Symbol, Term, Terms};

/// One way in which a machine follows an action.
#[derive(Clone, Debug)]
pub struct MachineWay {
    /// It does follow, over the store before the action and what the action's values speak of.
    pub fits: Term,
    /// Of the machine's variables, after it.
    pub values: Vec<Term>,
}

/// All ways into one state.
#[derive(Clone, Debug)]
pub struct StateReached {
    pub reached: Term,
    /// Of the machine's variables: by the first way that fits.
    pub values: Vec<Term>,
    /// No two ways that fit give different values: then nothing is left out by taking the first.
    pub unambiguous: Term,
}

/// A step of the machine along an edge that changes the shared store as the action does.
pub fn edge_way(
    program: &Program,
    terms: &Terms,
    machine: &Machine,
    edge: &MachineEdge,
    after: &[Update],
    values: &[Term],
) -> MachineWay {
    let Some(made) = edge.makes.map(|v| (v, made_object(program, terms, v, after))) else {
        return way(program, terms, machine, (edge, &edge.action, None), after, values);
    };
    let (var, Some((object, live))) = made else {
        return MachineWay { fits: terms.ff(), values: values.to_vec() };
    };
    let action = with_new_object(program, edge, object, live);
    let mut out = way(program, terms, machine, (edge, &action, Some((var, object))), after, values);
    out.fits = terms.and(&[is_new(program, terms, object, live), out.fits]);
    out
}

/// The state stays and so do the machine's variables; nothing shared changes.
pub fn idle_way(program: &Program, terms: &Terms, after: &[Update], values: &[Term]) -> MachineWay {
    MachineWay { fits: is_idle(program, terms, after), values: values.to_vec() }
}

/// The ways put together.
pub fn reached(terms: &Terms, ways: &[MachineWay]) -> StateReached {
    let fits: Vec<Term> = ways.iter().map(|w| w.fits).collect();
    let width = ways.first().map_or(0, |w| w.values.len());
    let first = |i: usize| {
        let (last, before) = ways.split_last().expect("a value is asked for only where there is a way");
        before.iter().rev().fold(last.values[i], |rest, w| terms.ite(w.fits, w.values[i], rest))
    };
    let mut alike = Vec::new();
    for (k, a) in ways.iter().enumerate() {
        for b in &ways[k + 1..] {
            let same: Vec<Term> =
                a.values.iter().zip(&b.values).filter(|(x, y)| x != y).map(|(x, y)| terms.eq(*x, *y)).collect();
            if !same.is_empty() {
                alike.push(terms.implies(terms.and(&[a.fits, b.fits]), terms.and(&same)));
            }
        }
    }
    StateReached { reached: terms.or(&fits), values: (0..width).map(first).collect(), unambiguous: terms.and(&alike) }
}

/// The edge's relation and frame over the store, with an object that it makes. In: the machine's symbol for it stands for the object after the step.
pub(crate) fn with_new_object(program: &Program, edge: &MachineEdge, object: Term, live: VarId) -> TwoStore {
    let mut action = edge.action.clone();
    action.frame.push(StorePlace { var: live, keys: Vec::new() });
    if let VarKind::Live(class) = program.vars[live].kind {
        let fields = program.classes[class].fields.iter();
        action.frame.extend(fields.map(|f| StorePlace { var: *f, keys: vec![object] }));
    }
    action
}

/// An object that is there for the first time.
pub(crate) fn is_new(program: &Program, terms: &Terms, object: Term, live: VarId) -> Term {
    let VarKind::Live(class) = program.vars[live].kind else { return terms.ff() };
    let there = terms.member(object, terms.sym(program.vars[live].symbol));
    terms.and(&[terms.ne(object, terms.null(class)), terms.not(there)])
}

/// The set of objects of the class that a variable refers to.
pub(crate) fn live_objects(program: &Program, terms: &Terms, var: VarId) -> Option<VarId> {
    let SortKind::Ref(class) = terms.kind(program.vars[var].sort) else { return None };
    Some(program.classes.get(class)?.live)
}

/// The object that an action makes, of the class that the variable refers to; none where it makes none.
fn made_object(program: &Program, terms: &Terms, var: VarId, after: &[Update]) -> Option<(Term, VarId)> {
    let live = live_objects(program, terms, var)?;
    let update = after.iter().find(|u| u.var == live)?;
    match terms.app(update.value) {
        Some((Op::Insert, args)) if args[1] == terms.sym(program.vars[live].symbol) => Some((args[0], live)),
        _ => None,
    }
}

fn way(
    program: &Program,
    terms: &Terms,
    machine: &Machine,
    (edge, action, made): (&MachineEdge, &TwoStore, Option<(VarId, Term)>),
    after: &[Update],
    values: &[Term],
) -> MachineWay {
    let own: Vec<(Symbol, Term)> =
        machine.vars.iter().zip(values).map(|(v, x)| (program.vars[*v].symbol, *x)).collect();
    let old = |v: VarId| terms.sym(program.vars[v].symbol);
    let new = |v: VarId| match made {
        Some((var, object)) if var == v => object,
        _ => after.iter().find(|u| u.var == v).map_or_else(|| old(v), |u| u.value),
    };
    let fits = relates(program, terms, action, &Ends { old: &old, new: &new, given: &own });
    let mut pairs = own.clone();
    pairs.extend(program.vars.iter_enumerated().map(|(v, var)| (var.primed, new(v))));
    let value = |(v, old): (&VarId, &Term)| match (made, edge.sets.iter().find(|u| u.var == *v)) {
        (Some((var, object)), _) if var == *v => object,
        (_, Some(set)) => terms.substitute(set.value, pairs.iter().copied()),
        _ => *old,
    };
    MachineWay { fits, values: machine.vars.iter().zip(values).map(value).collect() }
}

impl Machine {
    /// The values its variables start with.
    pub fn initial_values(&self, program: &Program) -> Vec<Term> {
        let t = &program.terms;
        self.vars
            .iter()
            .map(|v| program.vars[*v].initial.unwrap_or_else(|| t.default_of(program.vars[*v].sort)))
            .collect()
    }
}
