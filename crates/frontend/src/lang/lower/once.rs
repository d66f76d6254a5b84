//! Threads that are spawned at most once become ordinary threads.
//!
//! In: a lowered program, in which threads without parameters come before those with parameters. Out: the same
//! program, in which a thread with parameters is replaced by one ordinary thread for each of its spawn sites, if each site can
//! execute at most once: it stands in a thread of one instance and on no cycle. Such a thread waits at its entry for a flag
//! (`VarKind::Started`) that the spawn sets, and takes its parameters from shared variables that the spawn writes. Then methods
//! that know no `spawn` apply.
//! The meaning is that of `spawn`: until the flag is set the instance is not there (deadlock and relies pass over it); a
//! parameter's variable is empty again once it is taken, and is not written at all where the thread never reads it, so that it
//! keeps no object alive; and the instances have the ids that spawning gives, those after the ones that are there from the
//! start, in the order of spawning. Where that order is not certain and ids can be seen, threads stay as they are; so they do
//! where a procedure, an operation or a kept outline spawns them.

use logic::{Sort, Symbol, Term};
use program::{
    Action, ActionId, Code, Copies, Gate, Location, Mark, Program, PropertyKind, Scope, Start, StorePlace, Thread,
    ThreadId, TwoStore, Update, VarId, VarKind, What,
};
use rustc_hash::FxHashSet;

/// Spawn sites of one thread that are turned into threads at most.
const MAX_SITES: usize = 8;

/// Where a thread is spawned.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SpawnSite {
    spawned: ThreadId,
    owner: ThreadId,
    action: ActionId,
}

/// Turns each spawn site that can execute at most once into an ordinary thread that waits for a flag.
pub(super) fn at_most_once(program: &mut Program) {
    let mut sites = convertible(program);
    let converted: FxHashSet<ThreadId> = sites.iter().map(|s| s.spawned).collect();
    if sites.is_empty() {
        return;
    }
    if ids_are_seen(program, &sites) {
        let others = program.threads.iter_enumerated().any(|(id, t)| {
            let open = t.start == Start::Initial && t.copies == Copies::Any;
            open || (t.start == Start::Spawned && !converted.contains(&id) && is_spawned(program, id))
        });
        let in_order = in_order(program, &sites);
        match in_order.filter(|_| !others) {
            Some(ordered) => sites = ordered,
            None => return,
        }
    }
    // Each site but the first of a thread gets a copy, made from the thread as it is.
    let mut made: Vec<ThreadId> = Vec::new();
    for (at, site) in sites.iter().enumerate() {
        let number = 1 + sites[..at].iter().filter(|s| s.spawned == site.spawned).count();
        if number == 1 {
            made.push(site.spawned);
        } else {
            let copy = copied(program, site.spawned, number);
            made.push(program.threads.push(copy));
        }
    }
    let mut order: Vec<ThreadId> = program.threads.ids().filter(|t| !made.contains(t)).collect();
    order.extend(&made);
    let renamed = reorder(program, &order);
    let mut numbers: Vec<(SpawnSite, VarId, ThreadId)> = Vec::new();
    for (site, thread) in sites.into_iter().zip(made) {
        let site = SpawnSite { owner: renamed(site.owner), ..site };
        if let Some(into) = connect(program, site, renamed(thread)) {
            numbers.push((site, into, renamed(thread)));
        }
    }
    for (site, into, thread) in numbers {
        let value = program.terms.int(first_tid(program, thread));
        program.threads[site.owner].code.actions[site.action].updates.push(Update { var: into, value });
    }
}

/// The id of the first instance of a thread; instances are numbered in order.
fn first_tid(program: &Program, thread: ThreadId) -> i128 {
    let before = program.threads.iter_enumerated().take_while(|(id, _)| *id != thread);
    let count = |t: &Thread| match (t.start, t.copies) {
        (Start::Initial, Copies::One) => 1,
        (Start::Initial, Copies::Exactly(n)) => i128::from(n),
        _ => 0,
    };
    1 + before.map(|(_, t)| count(t)).sum::<i128>()
}

fn spawns(code: &Code, thread: ThreadId) -> impl Iterator<Item = ActionId> + '_ {
    let is = move |a: &Action| a.spawn.as_ref().is_some_and(|s| s.thread == thread);
    code.actions.iter_enumerated().filter(move |(_, a)| is(a)).map(|(id, _)| id)
}

/// Code outside the threads' own: procedures, operations, outlines.
fn elsewhere(program: &Program) -> impl Iterator<Item = &Code> {
    let procedures = program.procedures.iter().map(|p| &p.code);
    let operations = program.objects.iter().flat_map(|o| o.ops.iter().map(|op| &op.code));
    procedures.chain(operations).chain(program.threads.iter().filter_map(|t| t.outline.as_ref()))
}

fn is_spawned(program: &Program, thread: ThreadId) -> bool {
    let codes = elsewhere(program).chain(program.threads.iter().map(|t| &t.code));
    codes.into_iter().any(|code| spawns(code, thread).next().is_some())
}

/// The sites of all threads whose every site executes at most once; a spawner may itself be such a thread with one site.
fn convertible(program: &Program) -> Vec<SpawnSite> {
    let mut sites: Vec<SpawnSite> = Vec::new();
    loop {
        let before = sites.len();
        for thread in program.threads.ids() {
            let known = sites.iter().any(|s| s.spawned == thread);
            if program.threads[thread].start == Start::Spawned && !known {
                sites.extend(sites_of(program, thread, &sites).unwrap_or_default());
            }
        }
        if sites.len() == before {
            return sites;
        }
    }
}

/// The spawn sites of a thread, if all of them execute at most once and nothing else stands in the way.
fn sites_of(program: &Program, thread: ThreadId, known: &[SpawnSite]) -> Option<Vec<SpawnSite>> {
    if elsewhere(program).any(|code| spawns(code, thread).next().is_some()) {
        return None;
    }
    let mut sites = Vec::new();
    for (owner, t) in program.threads.iter_enumerated() {
        let single = match t.start {
            Start::Initial => t.copies == Copies::One,
            Start::Spawned => known.iter().filter(|s| s.spawned == owner).count() == 1,
        };
        for action in spawns(&t.code, thread) {
            // A machine that the spawner follows knows nothing of the flag.
            if !single || on_cycle(&t.code, action) || t.follows.is_some() {
                return None;
            }
            sites.push(SpawnSite { spawned: thread, owner, action });
        }
    }
    let special = program.threads[thread].follows.is_some() || program.relies.iter().any(|r| r.thread == Some(thread));
    if sites.is_empty() || sites.len() > MAX_SITES || (special && sites.len() > 1) {
        return None;
    }
    Some(sites)
}

/// Whether a run can depend on which ids the spawned instances have.
fn ids_are_seen(program: &Program, sites: &[SpawnSite]) -> bool {
    let returns_id = |site: &SpawnSite| {
        let spawn = program.threads[site.owner].code.actions[site.action].spawn.as_ref();
        spawn.is_some_and(|s| s.into.is_some())
    };
    let terms = &program.terms;
    let names = |t: Term| terms.free_symbols(t).contains(&program.tid);
    let uses = |code: &Code| {
        code.actions.iter().any(|a| {
            let values = a.updates.iter().map(|u| u.value).chain(a.gates.iter().map(|g| g.formula));
            let args = a.spawn.iter().flat_map(|s| s.args.iter().copied());
            values.chain(args).chain([a.guard]).any(names)
        })
    };
    let relied = program.relies.iter().filter_map(|r| r.formula).any(names);
    relied || sites.iter().any(|s| returns_id(s) || uses(&program.threads[s.spawned].code))
}

/// The sites in the order in which every run comes to them, where there is one: no run comes to a site that has not
/// been at the one before it.
fn in_order(program: &Program, sites: &[SpawnSite]) -> Option<Vec<SpawnSite>> {
    let mut ordered: Vec<SpawnSite> = Vec::new();
    while ordered.len() < sites.len() {
        let left = || sites.iter().filter(|s| !ordered.contains(s));
        let first = left().find(|s| left().all(|other| *s == other || precedes(program, sites, s, other)))?;
        ordered.push(*first);
    }
    Some(ordered)
}

/// Whether no run comes to the second site without having been at the first.
fn precedes(program: &Program, sites: &[SpawnSite], first: &SpawnSite, second: &SpawnSite) -> bool {
    if first.owner == second.owner {
        let code = &program.threads[first.owner].code;
        return !reached_without(code, first.action).contains(&code.actions[second.action].from);
    }
    // The second one's owner is itself spawned, at the first site or after it.
    let mut of_owner = sites.iter().filter(|s| s.spawned == second.owner);
    of_owner.next().is_some_and(|s| s == first || precedes(program, sites, first, s))
}

/// The locations that runs come to without taking an action.
fn reached_without(code: &Code, action: ActionId) -> FxHashSet<program::LocId> {
    let mut todo = vec![code.entry];
    let mut seen = FxHashSet::default();
    while let Some(at) = todo.pop() {
        if seen.insert(at) {
            todo.extend(code.from(at).filter(|(id, _)| *id != action).map(|(_, a)| a.to));
        }
    }
    seen
}

fn on_cycle(code: &Code, action: ActionId) -> bool {
    let outgoing = code.outgoing();
    let (from, mut todo) = (code.actions[action].from, vec![code.actions[action].to]);
    let mut seen = FxHashSet::default();
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

/// Puts the threads into another order; gives the new id of each.
fn reorder(program: &mut Program, order: &[ThreadId]) -> impl Fn(ThreadId) -> ThreadId + use<> {
    let mut places = vec![ThreadId(0); order.len()];
    for (at, old) in order.iter().enumerate() {
        places[old.index()] = ThreadId(at as u32);
    }
    let renamed = move |old: ThreadId| places[old.index()];
    program.threads = order.iter().map(|old| program.threads[*old].clone()).collect();
    for var in program.vars.iter_mut() {
        if let Scope::Thread(t) = &mut var.scope {
            *t = renamed(*t);
        }
    }
    program.relies.iter_mut().for_each(|r| r.thread = r.thread.map(&renamed));
    for property in program.properties.iter_mut() {
        if let PropertyKind::Follows(t) = &mut property.kind {
            *t = renamed(*t);
        }
    }
    let threads = program.threads.iter_mut().flat_map(|t| std::iter::once(&mut t.code).chain(t.outline.as_mut()));
    let procedures = program.procedures.iter_mut().map(|p| &mut p.code);
    let operations = program.objects.iter_mut().flat_map(|o| o.ops.iter_mut().map(|op| &mut op.code));
    for code in threads.chain(procedures).chain(operations) {
        for spawn in code.actions.iter_mut().filter_map(|a| a.spawn.as_mut()) {
            spawn.thread = renamed(spawn.thread);
        }
    }
    renamed
}

/// Makes a spawn set a flag and write the arguments, and the thread wait for it. Gives where its id is wanted.
fn connect(program: &mut Program, site: SpawnSite, thread: ThreadId) -> Option<VarId> {
    let name = program.threads[thread].name.clone();
    let origin = program.threads[thread].origin;
    let spawn = program.threads[site.owner].code.actions[site.action].spawn.take()?;
    let shared = |program: &mut Program, name: String, sort: Sort, kind: VarKind| {
        let start = program.terms.default_of(sort);
        program.add_var(&name, sort, Scope::Shared, kind, Some(start), origin)
    };
    let flag = shared(program, format!("{name}.started"), Sort::BOOL, VarKind::Started(thread));
    let params = std::mem::take(&mut program.threads[thread].params);
    let mut written = vec![Update { var: flag, value: program.terms.tt() }];
    let mut taken = Vec::new();
    let read = program::live::live(program, &program.threads[thread].code);
    let entry = program.threads[thread].code.entry;
    for (param, arg) in params.iter().zip(&spawn.args) {
        let var = &program.vars[*param];
        let (title, sort) = (format!("{name}.given.{}", var.name), var.sort);
        let refers = program::memory::holds_references(program, sort);
        if refers && !read[entry].contains(param) {
            continue;
        }
        let given = shared(program, title, sort, VarKind::Plain);
        written.push(Update { var: given, value: *arg });
        taken.push(Update { var: *param, value: program.now(given) });
        if refers {
            taken.push(Update { var: given, value: program.terms.default_of(sort) });
        }
    }
    program.threads[site.owner].code.actions[site.action].updates.extend(written);
    let guard = program.now(flag);
    let entry = &mut program.threads[thread];
    entry.start = Start::Initial;
    entry.copies = Copies::One;
    for code in std::iter::once(&mut entry.code).chain(entry.outline.as_mut()) {
        let location =
            Location { name: "not started".to_owned(), in_atomic_block: false, invariants: Vec::new(), origin };
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
            for StorePlace { var: v, keys } in frame {
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
