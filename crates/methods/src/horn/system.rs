//! The processes of a proof: threads with their actions over symbols of their own.
//!
//! In: a program. Out: for modular proofs one process for each thread, in the program's own symbols and with a symbolic tid,
//! standing for every instance of it; for others one process for each instance, its locals renamed and its tid a number.

use super::constants::settle_constants;
use super::couples::Couples;
pub(crate) use super::process::{Process, Transition};
use evidence::InstanceSymbols;
use logic::{Node, Op, Symbol, Term, Terms};
use program::transition::{initial_store_facts, is_unique};
use program::{Program, PropertyId, Scope, ThreadId};

pub(crate) struct HornSystem<'a> {
    pub program: &'a Program,
    pub terms: &'a Terms,
    pub(crate) processes: Vec<Process>,
    pub shared: Vec<Symbol>,
    /// Facts about the initial shared store.
    pub init: Vec<Term>,
    /// The symbols of instances, where processes are instances.
    pub instances: Vec<InstanceSymbols>,
    /// The number of each instance among all of the program, where processes are instances.
    pub(super) numbers: Vec<u32>,
    /// Where processes are two instances each.
    pub(crate) couples: Option<Couples>,
}

impl<'a> HornSystem<'a> {
    pub(super) fn modular(program: &'a Program, terms: &'a Terms) -> Self {
        let processes = program.threads.ids().map(|t| process(program, terms, t, &[])).collect();
        Self::with(program, terms, processes, Vec::new())
    }
    pub(crate) fn of_instances(program: &'a Program, terms: &'a Terms, counts: &[u32]) -> Self {
        Self::of_some(program, terms, counts, counts)
    }
    /// The first few instances of each thread, with the numbers that they have among all of them.
    pub(crate) fn of_some(program: &'a Program, terms: &'a Terms, counts: &[u32], few: &[u32]) -> Self {
        let mut numbers: Vec<u32> = Vec::new();
        let mut first = 0;
        for (all, some) in counts.iter().zip(few) {
            numbers.extend(first..first + some);
            first += all;
        }
        let instances = super::product::instances(program, terms, few);
        let mut processes = Vec::new();
        for (x, i) in instances.iter().zip(&numbers) {
            let locals = program.threads[x.thread].locals.iter().zip(&x.locals);
            let mut renaming: Vec<(Symbol, Term)> =
                locals.map(|(v, (now, _))| (program.vars[*v].symbol, terms.sym(*now))).collect();
            renaming.push((program.tid, terms.int(i128::from(*i) + 1)));
            let mut p = process(program, terms, x.thread, &renaming);
            if counts[x.thread.index()] > 1 {
                p.name = format!("{} (tid {})", p.name, i + 1);
            }
            processes.push(p);
        }
        let mut out = Self::with(program, terms, processes, instances);
        out.numbers = numbers;
        out
    }
    pub(super) fn with(
        program: &'a Program,
        terms: &'a Terms,
        processes: Vec<Process>,
        instances: Vec<InstanceSymbols>,
    ) -> Self {
        let shared = program.shared().map(|v| program.vars[v].symbol).collect();
        let init = initial_store_facts(program, terms);
        Self { program, terms, processes, shared, init, instances, numbers: Vec::new(), couples: None }
    }
    /// Two different instances of these threads can exist.
    pub(super) fn may_coexist(&self, a: usize, b: usize) -> bool {
        a != b || !is_unique(self.program, self.processes[a].thread)
    }
}

/// Whether an element of a map is looked at or changed.
fn has_indices(terms: &Terms, f: Term) -> bool {
    let mut found = false;
    terms.each_subterm([f], |x| found |= matches!(terms.node(x), Node::App(Op::Select | Op::Store, _)));
    found
}

pub(super) fn process(program: &Program, terms: &Terms, thread: ThreadId, renaming: &[(Symbol, Term)]) -> Process {
    let own = |f: Term| {
        if renaming.is_empty() {
            return f;
        }
        let renamed = terms.substitute(f, renaming.iter().copied());
        // With the number of the instance an index may be a number (`flag[3 - tid]`).
        if renamed != f && has_indices(terms, f) { terms.simplify(renamed) } else { renamed }
    };
    let own_symbol = |s: Symbol| {
        let renamed = renaming.iter().find(|(x, _)| *x == s).and_then(|(_, to)| terms.as_symbol(*to));
        renamed.unwrap_or(s)
    };
    let t = &program.threads[thread];
    let code = &t.code;
    let mut out = vec![Vec::new(); code.locations.len()];
    let mut transitions = Vec::new();
    for (id, a) in code.actions.iter_enumerated() {
        out[a.from.index()].push(transitions.len());
        let gates: Vec<(PropertyId, Term)> = a.gates.iter().map(|g| (g.property, own(g.formula))).collect();
        let guard = own(a.guard);
        let mut enabled: Vec<Term> = terms.conjuncts(guard);
        enabled.extend(gates.iter().flat_map(|(_, f)| terms.conjuncts(*f)));
        enabled.retain(|f| !terms.is_true(*f));
        let shared = |v: program::VarId| program.vars[v].scope == Scope::Shared;
        transitions.push(Transition {
            action: id,
            from: a.from.index(),
            to: a.to.index(),
            inputs: a.inputs.clone(),
            guard,
            gates,
            enabled,
            updates: a.updates.iter().map(|u| (own_symbol(program.vars[u.var].symbol), own(u.value))).collect(),
            writes: a
                .updates
                .iter()
                .filter(|u| shared(u.var))
                .map(|u| (program.vars[u.var].symbol, program.vars[u.var].primed))
                .collect(),
            text: program.origins[a.origin].text.clone(),
        });
    }
    let mut init: Vec<Term> = t
        .locals
        .iter()
        .filter_map(|v| program.vars[*v].initial.map(|x| own(terms.eq(terms.sym(program.vars[*v].symbol), x))))
        .collect();
    if renaming.is_empty() {
        init.push(terms.lt(terms.int(0), terms.sym(program.tid)));
    }
    let mut process = Process {
        thread,
        name: t.name.clone(),
        locals: t.locals.iter().map(|v| own_symbol(program.vars[*v].symbol)).collect(),
        transitions,
        out,
        entry: code.entry.index(),
        in_atomic_block: code.locations.iter().map(|l| l.in_atomic_block).collect(),
        settled: vec![Vec::new(); code.locations.len()],
        init,
    };
    settle_constants(terms, own_symbol(program.tid), &mut process);
    process
}
