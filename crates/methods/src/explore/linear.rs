//! A search for histories of an object that are not linearizable: few clients, few operations, every interleaving.
//!
//! In: a program with an object. Out: a history with the least number of operations among those tried that
//! has no explanation, as a trace of a client program (`program::clients`), or the violation of a gate inside an
//! operation; or how far was searched. Clients are tried by the number of their operations: two threads with one
//! operation each first. Which arguments they pass: `arguments`.
//! Finding nothing proves nothing.

use super::arguments::{ArgumentLists, Arguments, FEW_OPERATIONS};
use super::run::{Exploration, ExplorePlan, explore_states};
use super::system::Switches;
use super::walk::{Turns, WalkLength, walks};
use crate::method::{Run, Task};
use base::random::Random;
use evidence::{Claim, History};
use program::clients::{Against, ClientCall, Clients, client_program};
use program::semantics::{InstanceCounts, Trace};
use program::{ObjectId, Program, PropertyId, PropertyKind};
use rustc_hash::FxHashSet;
use std::time::Duration;

/// How far to look.
#[derive(Clone, Copy, Debug)]
pub struct ClientBounds {
    /// The least number of operations of all clients together.
    pub from: usize,
    /// The least number of clients, and the largest.
    pub least: usize,
    pub threads: usize,
    /// Operations of one client.
    pub each: usize,
    /// Operations of all clients together.
    pub total: usize,
    /// Clients with at most so many operations are also tried with independent values for every parameter.
    pub independent: usize,
}

impl Default for ClientBounds {
    fn default() -> Self {
        Self { from: 2, least: 2, threads: 3, each: 3, total: 4, independent: 3 }
    }
}

impl ClientBounds {
    /// The default in parts, and what it leaves out, the likely ones first: two clients, then one slow client beside a long run of
    /// another, then a third one that looks at what is left.
    pub const RANGES: [ClientBounds; 6] = [
        ClientBounds { from: 2, least: 2, threads: 2, each: 3, total: 4, independent: 3 },
        ClientBounds { from: 3, least: 3, threads: 3, each: 1, total: 3, independent: 0 },
        ClientBounds { from: 5, least: 2, threads: 2, each: 5, total: 6, independent: 0 },
        ClientBounds { from: 4, least: 3, threads: 3, each: 2, total: 4, independent: 0 },
        ClientBounds { from: 5, least: 3, threads: 3, each: 3, total: 5, independent: 0 },
        ClientBounds { from: 6, least: 3, threads: 3, each: 5, total: 7, independent: 0 },
    ];
}

/// How long one client program of many operations may take: the next may be the one.
const CLIENT_PROGRAM_TIME: Duration = Duration::from_secs(2);

/// A run of clients that goes wrong.
#[derive(Clone, Debug)]
pub struct ClientViolation {
    pub clients: Clients,
    pub against: Against,
    /// The program the trace is of; rebuilt by `client_program` from the clients.
    pub program: Program,
    /// `None`: the history is not linearizable; else the property of the original program that a step violates.
    pub gate: Option<PropertyId>,
    pub trace: Trace,
}

impl ClientViolation {
    /// As evidence about the object.
    pub fn history(self, object: ObjectId) -> History {
        History { object, clients: self.clients, against: self.against, gate: self.gate, trace: self.trace }
    }
}

#[derive(Clone, Debug, Default)]
pub struct LinearSearch {
    pub found: Option<ClientViolation>,
    /// Client programs searched in full.
    pub searched: usize,
    pub states: u64,
    /// Why some client program was not searched in full.
    pub incomplete: Option<String>,
}

/// Looks for a history that is not linearizable.
pub fn search_histories(
    program: &Program,
    object: ObjectId,
    bounds: ClientBounds,
    against: Against,
    run: &Run,
) -> LinearSearch {
    let mut out = LinearSearch::default();
    for clients in plans(program, object, bounds) {
        if let Err(e) = run.budget.check() {
            out.incomplete.get_or_insert(e.to_string());
            return out;
        }
        let (p, history) = match client_program(program, object, &clients, against) {
            Ok(made) => made,
            Err(why) => {
                out.incomplete.get_or_insert(why);
                return out;
            }
        };
        let calls: usize = clients.0.iter().map(Vec::len).sum();
        let budget = if calls > FEW_OPERATIONS { run.budget.share(CLIENT_PROGRAM_TIME) } else { run.budget.clone() };
        let answer = explore_clients(&p, history, &Run { budget, ..run.inner() });
        out.states += answer.states;
        match &answer.incomplete {
            None => out.searched += 1,
            Some(why) => {
                out.incomplete.get_or_insert_with(|| why.clone());
            }
        }
        run.progress(format!("explore: {} client programs, {} states", out.searched, out.states));
        let worst = answer.traces.into_iter().min_by_key(|(p, t)| (*p != history, t.steps.len()));
        if let Some((property, trace)) = worst {
            let gate = (property != history).then_some(property);
            out.found = Some(ClientViolation { clients, against, program: p, gate, trace });
            return out;
        }
    }
    out
}

/// How many client programs are run at random, and how long each.
const RANDOM_CLIENT_PROGRAMS: usize = 2_400;
/// Operations of one client program, with room for one of every client.
const MAX_CLIENT_OPERATIONS: usize = 5;
const STROLL: WalkLength = WalkLength { runs: 40, steps: 4_000, turns: Turns::Few };

/// Single runs of random clients with few changes of thread: a long history that goes wrong is found soon where there are many, long before every interleaving of
/// all smaller ones has been looked at.
pub(crate) fn sample_histories(program: &Program, object: ObjectId, run: &Run) -> Option<ClientViolation> {
    let o = program.objects.get(object)?;
    let values = Arguments::of(program, object)?;
    let mut dice = Random::new(run.seed);
    for round in 0..RANDOM_CLIENT_PROGRAMS {
        run.budget.check().ok()?;
        let mut threads = 2 + dice.below(3).min(1);
        let keys = if values.of_set { 1 + dice.below(3) as u32 } else { 7 };
        // One call beside a long run of another client: what is compared may have its old value again.
        let slow = !values.of_set && round % 4 == 1;
        let independent = slow || round % 4 == 3;
        if slow {
            threads = 2;
        }
        let (mut number, mut taken) = (0, 0);
        let mut client = |dice: &mut Random| -> Vec<ClientCall> {
            let calls = match (slow, taken) {
                (true, 0) => 1,
                (true, _) => 3 + dice.below(3),
                _ => 1 + dice.below(if threads == 2 { 4 } else { 3 }).min(MAX_CLIENT_OPERATIONS.saturating_sub(taken)),
            };
            taken += calls;
            let mut call = |_| {
                let operation = dice.below(o.ops.len());
                number += 1;
                let arguments = if independent {
                    values.random(operation, dice)
                } else {
                    let n = if values.of_set { 1 + dice.below(keys as usize) as u32 } else { number };
                    values.same_number(operation, n)
                };
                ClientCall { operation, arguments }
            };
            (0..calls).map(&mut call).collect()
        };
        let clients = Clients((0..threads).map(|_| client(&mut dice)).collect());
        let (p, history) = client_program(program, object, &clients, Against::Orders).ok()?;
        let task = Task {
            properties: wanted(&p, history),
            program: p,
            threads: Default::default(),
            options: Default::default(),
        };
        let seed = run.seed.wrapping_add(round as u64);
        let turns = if round % 2 == 0 { Turns::Few } else { Turns::Many };
        let claims = walks(&task, &Run { seed, ..run.inner() }, WalkLength { turns, ..STROLL });
        let found = claims.claims.into_iter().find_map(|(id, c)| match c {
            Claim::Refuted(evidence::Counterexample::Run(trace)) => Some((id, trace)),
            _ => None,
        });
        if let Some((id, trace)) = found {
            let gate = (id != history).then_some(id);
            return Some(ClientViolation { clients, against: Against::Orders, program: task.program, gate, trace });
        }
    }
    None
}

/// The checks in the clients' code, and the one of their history.
fn wanted(p: &Program, history: PropertyId) -> Vec<PropertyId> {
    let in_gates = |id: &PropertyId| {
        p.threads.iter().any(|t| t.code.actions.iter().any(|a| a.gates.iter().any(|g| g.property == *id)))
    };
    let counted = |id: &PropertyId| !matches!(p.properties[*id].kind, PropertyKind::Unmodelled(_));
    let mut wanted: Vec<PropertyId> = p.properties.ids().filter(in_gates).filter(counted).collect();
    if !wanted.contains(&history) {
        wanted.push(history);
    }
    wanted
}

fn explore_clients(p: &Program, history: PropertyId, run: &Run) -> Exploration {
    explore_states(&ExplorePlan {
        program: p,
        counts: InstanceCounts(vec![1; p.threads.len()]),
        wanted: wanted(p, history),
        switches: Switches::ALL,
        // Most of these programs are small: more workers would wait for each other.
        workers: 1,
        depth: usize::MAX,
        budget: run.budget.clone(),
        progress: &|_| {},
        compact: false,
        unreachable: false,
        means: Default::default(),
    })
}

/// Client programs, the smallest first. Clients are interchangeable, so their lists of operations are in order.
fn plans(program: &Program, object: ObjectId, bounds: ClientBounds) -> Vec<Clients> {
    let Some(o) = program.objects.get(object) else { return Vec::new() };
    let ops = o.ops.len();
    let mut lists: Vec<Vec<usize>> = (0..ops).map(|op| vec![op]).collect();
    let mut from = 0;
    for _ in 1..bounds.each {
        let end = lists.len();
        for l in from..end {
            for op in 0..ops {
                let mut longer = lists[l].clone();
                longer.push(op);
                lists.push(longer);
            }
        }
        from = end;
    }
    let mut plans: Vec<Vec<usize>> = Vec::new();
    let mut todo: Vec<Vec<usize>> = (0..lists.len()).map(|l| vec![l]).collect();
    while let Some(plan) = todo.pop() {
        let size: usize = plan.iter().map(|l| lists[*l].len()).sum();
        if size > bounds.total {
            continue;
        }
        if plan.len() >= bounds.least && size >= bounds.from {
            plans.push(plan.clone());
        }
        if plan.len() < bounds.threads {
            let last = plan[plan.len() - 1];
            todo.extend((last..lists.len()).map(|l| plan.iter().copied().chain([l]).collect::<Vec<_>>()));
        }
    }
    let Some(values) = Arguments::of(program, object) else { return Vec::new() };
    let size = |plan: &Vec<usize>| plan.iter().map(|l| lists[*l].len()).sum::<usize>();
    plans.sort_by_key(|plan| (size(plan), plan.len(), plan.clone()));
    let called = |plan: &Vec<usize>| plan.iter().flat_map(|l| lists[*l].iter().copied()).collect::<Vec<usize>>();
    let clients = |plan: &Vec<usize>, arguments: ArgumentLists| {
        let call = |(operation, arguments)| ClientCall { operation, arguments };
        let mut calls = called(plan).into_iter().zip(arguments).map(call);
        Clients(plan.iter().map(|l| calls.by_ref().take(lists[*l].len()).collect()).collect())
    };
    let first = plans.iter().flat_map(|plan| values.by_call(&called(plan)).into_iter().map(|a| clients(plan, a)));
    let few = plans.iter().filter(|plan| size(plan) <= bounds.independent);
    let then = few.flat_map(|plan| values.by_parameter(&called(plan)).into_iter().map(|a| clients(plan, a)));
    let mut tried: FxHashSet<Clients> = FxHashSet::default();
    first.chain(then).filter(|c| tried.insert(c.clone())).collect()
}
