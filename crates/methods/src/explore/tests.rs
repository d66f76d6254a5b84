//! Tests of the whole search: exact counts, agreement with the reference semantics, reductions on and off.

use super::run::{Answer, Plan, explore};
use super::system::Switches;
use base::Budget;
use logic::{Sort, Term};
use program::semantics::{Instances, Limits, reach, replay};
use program::{
    Action, Code, Copies, Gate, LocId, Location, OriginId, Program, Property, PropertyId, PropertyKind, Scope, Start,
    Thread, ThreadId, Update, VarId, VarKind, What,
};

/// Builds programs by hand.
pub struct Build {
    pub p: Program,
    pub origin: OriginId,
}

impl Build {
    pub fn new() -> Self {
        let mut p = Program::new("test");
        let origin = p.add_origin(None, "here");
        Self { p, origin }
    }
    pub fn shared(&mut self, name: &str, sort: Sort, initial: Option<Term>) -> VarId {
        self.p.add_var(name, sort, Scope::Shared, VarKind::Plain, initial, self.origin)
    }
    pub fn int(&mut self, name: &str, n: i128) -> VarId {
        let t = self.p.terms.int(n);
        self.shared(name, Sort::INT, Some(t))
    }
    pub fn flag(&mut self, name: &str) -> VarId {
        let t = self.p.terms.ff();
        self.shared(name, Sort::BOOL, Some(t))
    }
    pub fn property(&mut self, name: &str, kind: PropertyKind) -> PropertyId {
        self.p.properties.push(Property { kind, name: name.into(), origin: self.origin })
    }
    pub fn thread(&mut self, name: &str, copies: Copies, locations: u32) -> ThreadId {
        let mut code = Code::new();
        for i in 0..locations {
            code.locations.push(Location {
                name: format!("{name}{i}"),
                inside: false,
                invariants: Vec::new(),
                origin: self.origin,
            });
        }
        code.exit = Some(LocId(locations - 1));
        self.p.threads.push(Thread {
            name: name.into(),
            copies,
            start: Start::AtOnce,
            params: Vec::new(),
            locals: Vec::new(),
            code,
            outline: None,
            follows: None,
            origin: self.origin,
        })
    }
    pub fn local(&mut self, thread: ThreadId, name: &str, sort: Sort, initial: Option<Term>) -> VarId {
        let v = self.p.add_var(name, sort, Scope::Thread(thread), VarKind::Plain, initial, self.origin);
        self.p.threads[thread].locals.push(v);
        v
    }
    pub fn step(&mut self, thread: ThreadId, from: u32, to: u32) -> Step<'_> {
        let guard = self.p.terms.tt();
        let action = Action {
            from: LocId(from),
            to: LocId(to),
            inputs: Vec::new(),
            guard,
            gates: Vec::new(),
            updates: Vec::new(),
            spawn: None,
            relation: None,
            marks: Vec::new(),
            what: What::Assign,
            origin: self.origin,
        };
        Step { b: self, thread, action }
    }
}

pub struct Step<'a> {
    b: &'a mut Build,
    thread: ThreadId,
    action: Action,
}

impl Step<'_> {
    pub fn when(mut self, f: impl FnOnce(&Program) -> Term) -> Self {
        self.action.guard = f(&self.b.p);
        self
    }
    pub fn set(mut self, var: VarId, f: impl FnOnce(&Program) -> Term) -> Self {
        let value = f(&self.b.p);
        self.action.updates.push(Update { var, value });
        self
    }
    pub fn gate(mut self, property: PropertyId, f: impl FnOnce(&Program) -> Term) -> Self {
        let formula = f(&self.b.p);
        self.action.gates.push(Gate { property, formula });
        self
    }
    /// The action, to be changed further and added by the caller.
    pub fn take(self) -> &'static mut Action {
        Box::leak(Box::new(self.action))
    }
    pub fn done(self) {
        self.b.p.threads[self.thread].code.actions.push(self.action);
    }
}

/// The Bluetooth driver of Abstract Threads, figure 4, one line a step; `early`: the flag is tested before the
/// count is raised, which is wrong.
pub fn bluetooth(early: bool) -> (Program, PropertyId) {
    let mut b = Build::new();
    let pio = b.int("pendingIo", 1);
    let (sf, se, st) = (b.flag("stoppingFlag"), b.flag("stoppingEvent"), b.flag("stopped"));
    let safe = b.property("assert:1", PropertyKind::Assertion);
    let stop = b.thread("Stop", Copies::One, 7);
    let tt = |p: &Program| p.terms.tt();
    b.step(stop, 0, 1).set(sf, tt).done();
    b.step(stop, 1, 2).set(pio, |p| p.terms.sub(p.now(pio), p.terms.int(1))).done();
    b.step(stop, 2, 3).when(|p| p.terms.eq(p.now(pio), p.terms.int(0))).done();
    b.step(stop, 2, 4).when(|p| p.terms.ne(p.now(pio), p.terms.int(0))).done();
    b.step(stop, 3, 4).set(se, tt).done();
    b.step(stop, 4, 5).when(|p| p.now(se)).done();
    b.step(stop, 5, 6).set(st, tt).done();
    let add = b.thread("Add", Copies::Any, 10);
    let zero = b.p.terms.int(0);
    let status = b.local(add, "status", Sort::INT, Some(zero));
    let raise = |p: &Program| p.terms.add(p.now(pio), p.terms.int(1));
    if early {
        b.step(add, 0, 2).when(|p| p.now(sf)).done();
        b.step(add, 0, 1).when(|p| p.terms.not(p.now(sf))).done();
        b.step(add, 1, 3).set(pio, raise).set(status, |p| p.terms.int(1)).done();
        b.step(add, 2, 3).set(pio, raise).set(status, |p| p.terms.int(-1)).done();
    } else {
        b.step(add, 0, 1).set(pio, raise).done();
        b.step(add, 1, 2).when(|p| p.now(sf)).done();
        b.step(add, 1, 9).when(|p| p.terms.not(p.now(sf))).done();
        b.step(add, 2, 3).set(status, |p| p.terms.int(-1)).done();
        b.step(add, 9, 3).set(status, |p| p.terms.int(1)).done();
    }
    b.step(add, 3, 4).when(|p| p.terms.lt(p.terms.int(0), p.now(status))).done();
    b.step(add, 3, 5).when(|p| p.terms.le(p.now(status), p.terms.int(0))).done();
    b.step(add, 4, 5).gate(safe, |p| p.terms.not(p.now(st))).done();
    b.step(add, 5, 6).set(pio, |p| p.terms.sub(p.now(pio), p.terms.int(1))).done();
    b.step(add, 6, 7).when(|p| p.terms.eq(p.now(pio), p.terms.int(0))).done();
    b.step(add, 6, 8).when(|p| p.terms.ne(p.now(pio), p.terms.int(0))).done();
    b.step(add, 7, 8).set(se, tt).done();
    b.p.threads[add].code.exit = Some(LocId(8));
    (b.p, safe)
}

pub fn run(program: &Program, counts: &[u32], wanted: &[PropertyId], switches: Switches, workers: usize) -> Answer {
    explore(&Plan {
        program,
        counts: Instances(counts.to_vec()),
        wanted: wanted.to_vec(),
        switches,
        workers,
        depth: usize::MAX,
        budget: Budget::unlimited(),
        progress: &|_| {},
    })
}

fn every_switch() -> Vec<Switches> {
    let on = [false, true];
    on.iter()
        .flat_map(|por| on.iter().map(move |symmetry| (*por, *symmetry)))
        .flat_map(|(por, symmetry)| on.iter().map(move |dead| Switches { por, symmetry, dead: *dead, heap: symmetry }))
        .collect()
}

#[test]
fn check_the_bluetooth_driver_has_its_known_numbers_of_states() {
    let (p, safe) = bluetooth(false);
    let dead = Switches { dead: true, ..Switches::NONE };
    for (n, states) in [7, 72, 676, 6228, 57244].into_iter().enumerate() {
        let a = run(&p, &[1, n as u32], &[safe], dead, 1);
        assert_eq!((a.states, &a.incomplete, a.slow), (states, &None, 0), "{n} workers");
        assert!(a.traces.is_empty());
        assert_eq!(a.words, 1);
    }
    let both = Switches { por: false, ..Switches::ALL };
    for (n, states) in [(5, 4270), (8, 58336)] {
        assert_eq!(run(&p, &[1, n - 1], &[safe], both, 1).states, states, "{n} threads up to symmetry");
    }
    for (n, states) in [(5, 1227), (8, 8176), (11, 32021)] {
        assert_eq!(run(&p, &[1, n - 1], &[safe], Switches::ALL, 1).states, states, "{n} threads, folded");
    }
}

#[test]
fn check_workers_do_not_change_what_is_found() {
    let (p, safe) = bluetooth(false);
    for switches in every_switch() {
        let one = run(&p, &[1, 3], &[safe], switches, 1);
        let three = run(&p, &[1, 3], &[safe], switches, 3);
        assert_eq!((one.states, one.transitions, one.depth), (three.states, three.transitions, three.depth));
        assert_eq!(one.traces, three.traces);
    }
    let (p, safe) = bluetooth(true);
    for switches in every_switch() {
        let one = run(&p, &[1, 2], &[safe], switches, 1);
        let three = run(&p, &[1, 2], &[safe], switches, 3);
        assert_eq!(one.traces, three.traces);
        assert!(!one.traces.is_empty());
    }
}

#[test]
fn check_the_broken_driver_has_the_shortest_trace_with_every_switch() {
    let (p, safe) = bluetooth(true);
    for n in [1, 2] {
        let oracle = reach(&p, &Instances(vec![1, n]), &Limits::default());
        let length = oracle.violations[&safe].steps.len();
        for switches in every_switch() {
            let a = run(&p, &[1, n], &[safe], switches, 1);
            let trace = a.traces.get(&safe).unwrap_or_else(|| panic!("{switches:?}: {:?}", a.untraced));
            assert_eq!(trace.steps.len(), length, "{switches:?}");
            replay(&p, trace).unwrap();
        }
    }
}

/// Identical threads that take a lock and mark themselves in a map: ids are stored and are keys.
fn lockers() -> (Program, PropertyId) {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let sort = b.p.terms.map_sort(Sort::INT, Sort::BOOL);
    let nowhere = b.p.terms.const_map(sort, b.p.terms.ff());
    let lock = b.p.add_var("m", Sort::INT, Scope::Shared, VarKind::Lock, Some(zero), b.origin);
    let inside = b.shared("inside", sort, Some(nowhere));
    let safe = b.property("assert:1", PropertyKind::Assertion);
    let t = b.thread("T", Copies::Any, 5);
    let me = |p: &Program| p.terms.sym(p.tid);
    b.step(t, 0, 1).when(move |p| p.terms.eq(p.now(lock), zero)).set(lock, me).done();
    b.step(t, 1, 2).set(inside, |p| p.terms.store(p.now(inside), p.terms.sym(p.tid), p.terms.tt())).done();
    b.step(t, 2, 3).gate(safe, |p| p.terms.eq(p.now(lock), p.terms.sym(p.tid))).done();
    b.step(t, 3, 4).set(lock, move |_| zero).done();
    (b.p, safe)
}

#[test]
fn check_stored_thread_ids_are_renamed() {
    let (p, safe) = lockers();
    let on = Switches { symmetry: true, ..Switches::NONE };
    let all = run(&p, &[4], &[safe], Switches::NONE, 1);
    let up_to = run(&p, &[4], &[safe], on, 1);
    // In turn 0 to 4 instances are done, and nobody or one is at one of three places; 4!/(4-k)! orders become one.
    assert_eq!(up_to.states, 5 + 4 * 3, "{:?}", up_to.notes);
    assert_eq!(all.states, 16 + 32 * 3);
}

#[test]
#[ignore = "a measurement, for release builds"]
fn check_the_speed_on_the_bluetooth_driver() {
    let (p, safe) = bluetooth(false);
    for (n, switches) in [
        (6, Switches::NONE),
        (7, Switches::NONE),
        (7, Switches::ALL),
        (16, Switches { por: false, ..Switches::ALL }),
        (16, Switches::ALL),
        (24, Switches::ALL),
    ] {
        let a = run(&p, &[1, n - 1], &[safe], switches, 1);
        println!(
            "{n} threads, {switches:?}: {} states, {} transitions, {:.2} s, {:.0} states/s, {:.1} bytes/state",
            a.states,
            a.transitions,
            a.seconds,
            a.states as f64 / a.seconds,
            a.bytes as f64 / a.states as f64
        );
    }
}
