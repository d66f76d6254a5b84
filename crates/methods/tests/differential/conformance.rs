//! Conformance of random threads to random machines over two booleans, against the definition of abstraction evaluated by
//! brute force (Abstract Threads, sections 2 and 3): the answer must be the same, both ways.

use base::Budget;
use base::differential::{report_agreement, seeds};
use base::ids::Id;
use evidence::Claim;
use logic::{Sort, Term, Value};
use methods::Conform;
use methods::{Method, MethodOptions, Run, Task};
use program::relation::{is_idle, is_step};
use program::{
    Action, Code, Copies, Gate, LocId, Location, Machine, MachineEdge, MachineState, Program, Property, PropertyKind,
    Scope, Start, StorePlace, Thread, ThreadId, TwoStore, Update, VarId, VarKind, What,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Small and seeded: the same programs every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

fn literal(p: &Program, d: &mut Dice, terms: &[Term]) -> Term {
    let t = terms[d.roll(terms.len() as u64) as usize];
    match d.roll(4) {
        0 => p.terms.tt(),
        1 => p.terms.not(t),
        _ => t,
    }
}

/// One thread over two shared booleans and one local, and a machine for it.
pub(crate) fn pair(seed: u64) -> (Program, [VarId; 2], VarId) {
    let d = &mut Dice(seed);
    let mut p = Program::new(format!("pair {seed}"));
    let o = p.add_origin(None, "random");
    let shared = ["a", "b"].map(|n| p.add_var(n, Sort::BOOL, Scope::Shared, VarKind::Plain, None, o));
    let thread = ThreadId::from_index(0);
    let start = p.terms.ff();
    let x = p.add_var("x", Sort::BOOL, Scope::Thread(thread), VarKind::Plain, Some(start), o);
    let now = [p.now(shared[0]), p.now(shared[1])];
    let next = [p.next(shared[0]), p.next(shared[1])];
    let assertion = p.properties.push(Property { kind: PropertyKind::Assertion, name: "assert".into(), origin: o });
    let follows =
        p.properties.push(Property { kind: PropertyKind::Follows(thread), name: "follows".into(), origin: o });
    let locations = 2 + d.roll(3);
    let mut code = Code::new();
    for i in 0..locations {
        code.locations.push(Location {
            name: format!("l{i}"),
            in_atomic_block: false,
            invariants: Vec::new(),
            origin: o,
        });
    }
    let own = [now[0], now[1], p.now(x)];
    for _ in 0..2 + d.roll(5) {
        let place = |d: &mut Dice| LocId::from_index(d.roll(locations) as usize);
        let (from, to) = (place(d), place(d));
        let guard = literal(&p, d, &own);
        let gates =
            if d.roll(4) == 0 { vec![Gate { property: assertion, formula: literal(&p, d, &own) }] } else { vec![] };
        let mut updates = Vec::new();
        for v in [shared[0], shared[1], x] {
            if d.roll(3) == 0 {
                updates.push(Update { var: v, value: literal(&p, d, &own) });
            }
        }
        code.actions.push(Action { gates, updates, ..Action::plain(from, to, guard, What::Assign, o) });
    }
    let states = 1 + d.roll(3);
    // Every second machine has a variable of its own.
    let scope = Scope::Machine(program::MachineId::from_index(0));
    let own = (seed % 2 == 1).then(|| p.add_var("h", Sort::BOOL, scope, VarKind::Plain, Some(start), o));
    let known: Vec<Term> = now.iter().copied().chain(own.map(|h| p.now(h))).collect();
    let set = |p: &Program, d: &mut Dice| -> Vec<Update> {
        let values: Vec<Term> = known.iter().copied().chain(next).collect();
        let one = |h: VarId, d: &mut Dice| (d.roll(3) > 0).then(|| Update { var: h, value: literal(p, d, &values) });
        own.and_then(|h| one(h, d)).into_iter().collect()
    };
    let machine = Machine {
        name: "M".into(),
        strict: d.roll(3) == 0,
        vars: own.into_iter().collect(),
        states: (0..states)
            .map(|i| MachineState {
                name: format!("s{i}"),
                assertion: if d.roll(2) == 0 { None } else { Some(Some(literal(&p, d, &known))) },
                origin: o,
            })
            .collect(),
        starts: if states > 1 && d.roll(3) == 0 { vec![0, 1] } else { vec![0] },
        edges: (0..d.roll(7))
            .map(|_| {
                let frame = shared
                    .iter()
                    .filter(|_| d.roll(2) == 0)
                    .map(|v| StorePlace { var: *v, keys: Vec::new() })
                    .collect();
                let parts = [literal(&p, d, &known), literal(&p, d, &next)];
                let action = TwoStore { frame, relation: p.terms.and(&parts) };
                let (from, to) = (d.roll(states) as usize, d.roll(states) as usize);
                MachineEdge { from, to, action, sets: set(&p, d), makes: None, origin: o }
            })
            .collect(),
        origin: o,
    };
    let machine = p.machines.push(machine);
    p.threads.push(Thread {
        name: "T".into(),
        copies: Copies::One,
        start: Start::Initial,
        params: Vec::new(),
        locals: vec![x],
        code,
        outline: None,
        follows: Some((machine, follows)),
        origin: o,
    });
    (p, shared, x)
}

/// Whether the conformance checker C(T, T#) is correct, by enumeration of its states.
fn conforms(p: &Program, shared: [VarId; 2], x: VarId) -> bool {
    let thread = &p.threads[ThreadId::from_index(0)];
    let machine = &p.machines[thread.follows.expect("it follows one").0];
    let holds =
        |f: Term, env: &FxHashMap<logic::Symbol, Value>| logic::eval::holds(&p.terms, f, env).expect("all is decided");
    // A state of the machine, and the value of its variable.
    let starts: BTreeSet<(usize, bool)> = machine.starts.iter().map(|s| (*s, false)).collect();
    let own = machine.vars.first().copied();
    let with = |env: &FxHashMap<logic::Symbol, Value>, h: bool| {
        let mut env = env.clone();
        env.extend(own.map(|v| (p.vars[v].symbol, Value::Bool(h))));
        env
    };
    let mut todo = vec![(thread.code.entry, false, starts)];
    let mut seen: BTreeSet<(LocId, bool, BTreeSet<(usize, bool)>)> = todo.iter().cloned().collect();
    while let Some((at, local, candidates)) = todo.pop() {
        for bits in 0..4u8 {
            let mut env: FxHashMap<logic::Symbol, Value> = FxHashMap::default();
            env.insert(p.vars[shared[0]].symbol, Value::Bool(bits & 1 != 0));
            env.insert(p.vars[shared[1]].symbol, Value::Bool(bits & 2 != 0));
            env.insert(p.vars[x].symbol, Value::Bool(local));
            env.insert(p.tid, Value::Int(1));
            // Where some candidate's assertion fails the machine goes wrong, and need not follow.
            let fails = |(c, h): &(usize, bool)| {
                machine.states[*c].assertion.flatten().is_some_and(|f| !holds(f, &with(&env, *h)))
            };
            if candidates.iter().any(fails) {
                continue;
            }
            for a in thread.code.actions.iter().filter(|a| a.from == at) {
                if !holds(a.guard, &env) {
                    continue;
                }
                if a.gates.iter().any(|g| !holds(g.formula, &env)) {
                    return false;
                }
                let mut next = BTreeSet::new();
                let mut after = env.clone();
                for v in shared {
                    let update = a.updates.iter().find(|u| u.var == v);
                    let value = update.map_or_else(|| holds(p.now(v), &env), |u| holds(u.value, &env));
                    after.insert(p.vars[v].primed, Value::Bool(value));
                }
                for (from, h) in &candidates {
                    for e in machine.edges.iter().filter(|e| e.from == *from) {
                        if holds(is_step(p, &p.terms, &e.action, &a.updates), &with(&env, *h)) {
                            let set = e.sets.first().map_or(*h, |u| holds(u.value, &with(&after, *h)));
                            next.insert((e.to, set));
                        }
                    }
                }
                if !machine.strict && holds(is_idle(p, &p.terms, &a.updates), &env) {
                    next.extend(candidates.iter().copied());
                }
                if next.is_empty() {
                    return false;
                }
                let update = a.updates.iter().find(|u| u.var == x);
                let local = update.map_or(local, |u| holds(u.value, &env));
                let state = (a.to, local, next);
                if seen.insert(state.clone()) {
                    todo.push(state);
                }
            }
        }
    }
    true
}

/// Whether the thread of a pair follows its machine, by the definition.
pub(crate) fn is_followed(p: &Program) -> bool {
    let named = |name: &str| p.vars.iter_enumerated().find(|(_, v)| v.name == name).expect("a variable of a pair").0;
    conforms(p, [named("a"), named("b")], named("x"))
}

/// Of so many pairs one has its proofs put to the checker.
const CHECKED_PAIRS: u64 = 4;

#[test]
fn check_conformance_is_the_definition_both_ways() {
    let (mut yes, mut no, mut open, mut unclear) = (0, 0, 0, 0);
    for seed in seeds(200) {
        let (p, shared, x) = pair(seed);
        assert!(program::wellformed(&p).is_empty(), "pair {seed} is a program");
        let expected = conforms(&p, shared, x);
        let (_, follows) = p.threads[ThreadId::from_index(0)].follows.expect("it follows one");
        for candidates in ["sets", "formulas"] {
            let task = Task {
                program: p.clone(),
                properties: vec![follows],
                threads: Default::default(),
                options: MethodOptions([("candidates".to_string(), candidates.to_string())].into()),
            };
            let claims = Conform { composition: Vec::new(), calls: None, facts: Vec::new() }
                .run(&task, &Run::quiet(Budget::unlimited()));
            match &claims.claims[&follows] {
                claim @ Claim::Proved(_) => {
                    assert!(expected, "pair {seed} was proved by {candidates} and does not conform");
                    if seed % CHECKED_PAIRS == 0 {
                        let mut oracle = testkit::oracle::Again;
                        let mut checker = checker::Checker::new(&p, &mut oracle, checker::CheckLimits::default());
                        let outcome = checker.check(follows, "conform", claim).outcome();
                        assert_eq!(outcome, checker::Outcome::Safe, "the proof of pair {seed} by {candidates}");
                    }
                }
                Claim::Refuted(evidence::Counterexample::LocalRun(local)) => {
                    assert!(!expected, "pair {seed} was refuted by {candidates} and conforms");
                    assert!(
                        checker::rules::local_run::replay_local_run(&p, local).is_ok(),
                        "the run of pair {seed} does not replay"
                    );
                }
                // Of formulas Spacer may find none; what it says is never wrong.
                Claim::Undecided(_) if candidates == "formulas" => open += 1,
                // Of several values that a machine's variable may have one is followed: that decides less.
                Claim::Undecided(_) if seed % 2 == 1 => unclear += 1,
                other => panic!("pair {seed} is finite and was not decided by {candidates}: {other:?}"),
            }
        }
        if expected { yes += 1 } else { no += 1 }
    }
    report_agreement(
        "conform",
        yes + no,
        &format!("{yes} follow, {no} do not; {open} left open by formulas, {unclear} with several values"),
    );
    assert!(unclear * 10 < yes + no, "one value is nearly always enough: {unclear}");
    assert!(open < yes + no, "formulas decide something");
    assert!(yes > 10 && no > 10, "both answers occur: {yes} and {no}");
}
