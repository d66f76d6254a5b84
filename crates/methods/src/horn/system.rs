//! The parties of a proof: threads with their actions over symbols of their own.
//!
//! In: a program. Out: for modular proofs one party for each thread, in the program's own symbols and with a symbolic tid,
//! standing for every instance of it; for others one party for each instance, its locals renamed and its tid a number.

use evidence::InstanceSymbols;
use logic::{Symbol, Term, Terms};
use program::{ActionId, Copies, Program, PropertyId, Scope, ThreadId};

pub struct System<'a> {
    pub program: &'a Program,
    pub terms: &'a Terms,
    pub parties: Vec<Party>,
    pub shared: Vec<Symbol>,
    /// Facts about the initial shared store.
    pub init: Vec<Term>,
    /// The symbols of instances, where parties are instances.
    pub instances: Vec<InstanceSymbols>,
}

pub struct Party {
    pub thread: ThreadId,
    pub name: String,
    /// In the order of the thread's locals.
    pub locals: Vec<Symbol>,
    pub acts: Vec<Act>,
    /// Acts that leave each location.
    pub out: Vec<Vec<usize>>,
    pub entry: usize,
    pub inside: Vec<bool>,
    /// Facts about the initial locals.
    pub init: Vec<Term>,
    /// For each location, which locals have a known value there.
    pub settled: Vec<Vec<Term>>,
}

pub struct Act {
    pub action: ActionId,
    pub from: usize,
    pub to: usize,
    pub inputs: Vec<Symbol>,
    pub guard: Term,
    pub gates: Vec<(PropertyId, Term)>,
    /// Guard and gates.
    pub enabled: Vec<Term>,
    pub updates: Vec<(Symbol, Term)>,
    /// Shared variables that it writes: the symbols before and after.
    pub writes: Vec<(Symbol, Symbol)>,
    pub text: String,
}

impl<'a> System<'a> {
    pub fn modular(program: &'a Program, terms: &'a Terms) -> Self {
        let parties = program.threads.ids().map(|t| party(program, terms, t, &[])).collect();
        Self::with(program, terms, parties, Vec::new())
    }
    pub fn of_instances(program: &'a Program, terms: &'a Terms, counts: &[u32]) -> Self {
        let instances = super::product::instances(program, terms, counts);
        let mut parties = Vec::new();
        for (i, x) in instances.iter().enumerate() {
            let locals = program.threads[x.thread].locals.iter().zip(&x.locals);
            let mut renaming: Vec<(Symbol, Term)> =
                locals.map(|(v, (now, _))| (program.vars[*v].symbol, terms.sym(*now))).collect();
            renaming.push((program.tid, terms.int(i as i128 + 1)));
            let mut p = party(program, terms, x.thread, &renaming);
            if counts[x.thread.0 as usize] > 1 {
                p.name = format!("{} (tid {})", p.name, i + 1);
            }
            parties.push(p);
        }
        Self::with(program, terms, parties, instances)
    }
    fn with(program: &'a Program, terms: &'a Terms, parties: Vec<Party>, instances: Vec<InstanceSymbols>) -> Self {
        let shared = program.shared().map(|v| program.vars[v].symbol).collect();
        let mut init: Vec<Term> = program
            .shared()
            .filter_map(|v| program.vars[v].initial.map(|i| terms.eq(terms.sym(program.vars[v].symbol), i)))
            .collect();
        init.extend(program.init.iter().filter_map(|f| f.formula));
        Self { program, terms, parties, shared, init, instances }
    }
    /// Two different instances of these threads can exist.
    pub fn meet(&self, a: usize, b: usize) -> bool {
        a != b || self.program.threads[self.parties[a].thread].copies != Copies::One
    }
}

fn party(program: &Program, terms: &Terms, thread: ThreadId, renaming: &[(Symbol, Term)]) -> Party {
    let own = |f: Term| if renaming.is_empty() { f } else { terms.substitute(f, renaming.iter().copied()) };
    let own_symbol = |s: Symbol| {
        let renamed = renaming.iter().find(|(x, _)| *x == s).and_then(|(_, to)| terms.as_symbol(*to));
        renamed.unwrap_or(s)
    };
    let t = &program.threads[thread];
    let code = &t.code;
    let mut out = vec![Vec::new(); code.locations.len()];
    let mut acts = Vec::new();
    for (id, a) in code.actions.iter_enumerated() {
        out[a.from.0 as usize].push(acts.len());
        let gates: Vec<(PropertyId, Term)> = a.gates.iter().map(|g| (g.property, own(g.formula))).collect();
        let guard = own(a.guard);
        let mut enabled: Vec<Term> = terms.conjuncts(guard);
        enabled.extend(gates.iter().flat_map(|(_, f)| terms.conjuncts(*f)));
        enabled.retain(|f| !terms.is_true(*f));
        let shared = |v: program::VarId| program.vars[v].scope == Scope::Shared;
        acts.push(Act {
            action: id,
            from: a.from.0 as usize,
            to: a.to.0 as usize,
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
    let mut party = Party {
        thread,
        name: t.name.clone(),
        locals: t.locals.iter().map(|v| own_symbol(program.vars[*v].symbol)).collect(),
        acts,
        out,
        entry: code.entry.0 as usize,
        inside: code.locations.iter().map(|l| l.inside).collect(),
        settled: vec![Vec::new(); code.locations.len()],
        init,
    };
    super::constants::settle(terms, program.tid, &mut party);
    party
}
