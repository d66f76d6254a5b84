//! Threads that are spawned at most once become ordinary threads.
//!
//! Comes in: a lowered program. Goes out: the same program, in which a thread with parameters is replaced by one
//! ordinary thread for each of its spawn sites, if each site can execute at most once: it stands in a thread of one
//! instance and on no cycle. Such a thread waits for a flag that the spawn sets, and takes its parameters from shared
//! variables that the spawn writes. Then methods that know no `spawn` apply. A thread stays as it is where a
//! procedure, an operation or a kept outline spawns it, or where its number could not be told beforehand.

use logic::{Sort, Symbol, Term};
use program::{
    Action, ActionId, Code, Copies, Gate, Location, Mark, Place, Program, Scope, Start, Thread, ThreadId, TwoStore,
    Update, VarId, VarKind, What,
};

/// Spawn sites of one thread that are turned into threads at most.
const MOST_SITES: usize = 8;

/// Where a thread is spawned.
#[derive(Clone, Copy)]
struct Site {
    owner: ThreadId,
    action: ActionId,
}

/// Turns each spawn site that can execute at most once into an ordinary thread that waits for a flag.
pub(super) fn at_most_once(program: &mut Program) {
    let mut numbers: Vec<(Site, VarId, ThreadId)> = Vec::new();
    for thread in program.threads.ids() {
        if program.threads[thread].start == Start::AtOnce {
            continue;
        }
        let Some(sites) = convertible(program, thread) else { continue };
        // The copies come first: each is made from the thread as it is.
        let mut made = vec![thread];
        for number in 2..=sites.len() {
            let copy = copied(program, thread, number);
            made.push(program.threads.push(copy));
        }
        for (site, thread) in sites.into_iter().zip(made) {
            if let Some(into) = connect(program, site, thread) {
                numbers.push((site, into, thread));
            }
        }
    }
    // Only now is it known which threads are there from the start, and so which ids they have.
    for (site, into, thread) in numbers {
        let value = program.terms.int(first_tid(program, thread));
        program.threads[site.owner].code.actions[site.action].updates.push(Update { var: into, value });
    }
}

/// The id of the first instance of a thread; instances are numbered in order.
fn first_tid(program: &Program, thread: ThreadId) -> i128 {
    let before = program.threads.iter_enumerated().take_while(|(id, _)| *id != thread);
    let count = |t: &Thread| match (t.start, t.copies) {
        (Start::AtOnce, Copies::One) => 1,
        (Start::AtOnce, Copies::Exactly(n)) => i128::from(n),
        _ => 0,
    };
    1 + before.map(|(_, t)| count(t)).sum::<i128>()
}

fn spawns(code: &Code, thread: ThreadId) -> impl Iterator<Item = ActionId> + '_ {
    let is = move |a: &Action| a.spawn.as_ref().is_some_and(|s| s.thread == thread);
    code.actions.iter_enumerated().filter(move |(_, a)| is(a)).map(|(id, _)| id)
}

/// The spawn sites of a thread, if all of them execute at most once and nothing else stands in the way.
fn convertible(program: &Program, thread: ThreadId) -> Option<Vec<Site>> {
    let elsewhere = program.procedures.iter().map(|p| &p.code);
    let elsewhere = elsewhere.chain(program.objects.iter().flat_map(|o| o.ops.iter().map(|op| &op.code)));
    let elsewhere = elsewhere.chain(program.threads.iter().filter_map(|t| t.outline.as_ref()));
    if elsewhere.into_iter().any(|code| spawns(code, thread).next().is_some()) {
        return None;
    }
    let mut sites = Vec::new();
    for (owner, t) in program.threads.iter_enumerated() {
        for action in spawns(&t.code, thread) {
            // A machine that the spawner follows knows nothing of the flag.
            let once = t.start == Start::AtOnce && t.copies == Copies::One && !on_cycle(&t.code, action);
            if !once || t.follows.is_some() {
                return None;
            }
            sites.push(Site { owner, action });
        }
    }
    let special = program.threads[thread].follows.is_some() || program.relies.iter().any(|r| r.thread == Some(thread));
    if sites.is_empty() || sites.len() > MOST_SITES || (special && sites.len() > 1) {
        return None;
    }
    let open = program.threads.iter().any(|t| t.start == Start::AtOnce && t.copies == Copies::Any);
    let told = |site: &Site| {
        let spawn = program.threads[site.owner].code.actions[site.action].spawn.as_ref();
        spawn.is_some_and(|s| s.into.is_some())
    };
    if open && sites.iter().any(told) {
        return None;
    }
    Some(sites)
}

fn on_cycle(code: &Code, action: ActionId) -> bool {
    let outgoing = code.outgoing();
    let (from, mut todo) = (code.actions[action].from, vec![code.actions[action].to]);
    let mut seen = rustc_hash::FxHashSet::default();
    while let Some(at) = todo.pop() {
        if at == from {
            return true;
        }
        if seen.insert(at) {
            todo.extend(outgoing[at].iter().map(|a| code.actions[*a].to));
        }
    }
    false
}

/// Makes a spawn set a flag and write the arguments, and the thread wait for it. Gives where its id is wanted.
fn connect(program: &mut Program, site: Site, thread: ThreadId) -> Option<VarId> {
    let name = program.threads[thread].name.clone();
    let origin = program.threads[thread].origin;
    let spawn = program.threads[site.owner].code.actions[site.action].spawn.take()?;
    let shared = |program: &mut Program, name: String, sort: Sort| {
        let start = program.terms.default_of(sort);
        program.add_var(&name, sort, Scope::Shared, VarKind::Plain, Some(start), origin)
    };
    let flag = shared(program, format!("{name}.started"), Sort::BOOL);
    let params = std::mem::take(&mut program.threads[thread].params);
    let mut written = vec![Update { var: flag, value: program.terms.tt() }];
    let mut taken = Vec::new();
    for (param, arg) in params.iter().zip(&spawn.args) {
        let var = &program.vars[*param];
        let (title, sort) = (format!("{name}.given.{}", var.name), var.sort);
        let given = shared(program, title, sort);
        written.push(Update { var: given, value: *arg });
        taken.push(Update { var: *param, value: program.now(given) });
    }
    program.threads[site.owner].code.actions[site.action].updates.extend(written);
    let guard = program.now(flag);
    let entry = &mut program.threads[thread];
    entry.start = Start::AtOnce;
    entry.copies = Copies::One;
    for code in std::iter::once(&mut entry.code).chain(entry.outline.as_mut()) {
        let location = Location { name: "not started".to_owned(), inside: false, invariants: Vec::new(), origin };
        let first = code.locations.push(location);
        let taken = taken.clone();
        code.actions.push(Action { updates: taken, ..Action::plain(first, code.entry, guard, What::Assume, origin) });
        code.entry = first;
    }
    spawn.into
}

/// The same thread with variables of its own.
fn copied(program: &mut Program, thread: ThreadId, number: usize) -> Thread {
    let original = program.threads[thread].clone();
    let id = ThreadId(program.threads.len() as u32);
    let mut renamed: Vec<(VarId, VarId)> = Vec::new();
    let mut symbols: Vec<(Symbol, Term)> = Vec::new();
    for var in &original.locals {
        let old = program.vars[*var].clone();
        let name = format!("{}#{number}", old.name);
        let new = program.add_var(&name, old.sort, Scope::Thread(id), old.kind, old.initial, old.origin);
        renamed.push((*var, new));
        symbols.push((old.symbol, program.now(new)));
        symbols.push((old.primed, program.next(new)));
    }
    let var = |v: VarId| renamed.iter().find(|(old, _)| *old == v).map_or(v, |(_, new)| *new);
    Thread {
        name: format!("{}#{number}", original.name),
        params: original.params.iter().map(|p| var(*p)).collect(),
        locals: original.locals.iter().map(|p| var(*p)).collect(),
        code: copied_code(program, &original.code, &var, &symbols),
        outline: original.outline.as_ref().map(|o| copied_code(program, o, &var, &symbols)),
        ..original
    }
}

fn copied_code(program: &Program, code: &Code, var: &dyn Fn(VarId) -> VarId, symbols: &[(Symbol, Term)]) -> Code {
    let terms = &program.terms;
    let mut copy = code.clone();
    for location in copy.locations.iter_mut() {
        for invariant in location.invariants.iter_mut().flatten() {
            *invariant = terms.substitute(*invariant, symbols.iter().copied());
        }
    }
    for action in copy.actions.iter_mut() {
        let mut pairs = symbols.to_vec();
        for input in &mut action.inputs {
            let fresh = terms.symbol(terms.symbol_name(*input), terms.symbol_sort(*input));
            pairs.push((*input, terms.sym(fresh)));
            *input = fresh;
        }
        let term = |t: Term| terms.substitute(t, pairs.iter().copied());
        action.guard = term(action.guard);
        for Gate { formula, .. } in &mut action.gates {
            *formula = term(*formula);
        }
        for update in &mut action.updates {
            *update = Update { var: var(update.var), value: term(update.value) };
        }
        if let Some(spawn) = &mut action.spawn {
            spawn.args.iter_mut().for_each(|a| *a = term(*a));
            spawn.into = spawn.into.map(var);
        }
        if let Some(TwoStore { frame, relation }) = &mut action.relation {
            *relation = term(*relation);
            for Place { var: v, keys } in frame {
                *v = var(*v);
                keys.iter_mut().for_each(|k| *k = term(*k));
            }
        }
        for mark in &mut action.marks {
            if let Mark::Linearize(Some(condition)) = mark {
                *condition = term(*condition);
            }
        }
    }
    for call in &mut copy.calls {
        call.args.iter_mut().for_each(|a| *a = terms.substitute(*a, symbols.iter().copied()));
        call.results.iter_mut().for_each(|r| *r = var(*r));
    }
    copy
}
