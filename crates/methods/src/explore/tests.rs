//! Tests of the whole search: exact counts, agreement with the reference semantics, reductions on and off.

use super::run::{Exploration, ExplorePlan, explore_states};
use super::system::Switches;
use crate::Method;
use base::Budget;
use logic::{Sort, Term};
use program::semantics::{InstanceCounts, ReachLimits, reachable_states, replay_trace};
use program::{
    Action, Code, Copies, Gate, LocId, Location, OriginId, Program, Property, PropertyId, PropertyKind, Scope, Start,
    Thread, ThreadId, Update, VarId, VarKind, What,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Builds programs by hand.
pub(crate) struct Build {
    pub(crate) p: Program,
    pub(crate) origin: OriginId,
}

impl Build {
    pub(crate) fn new() -> Self {
        let mut p = Program::new("test");
        let origin = p.add_origin(None, "here");
        Self { p, origin }
    }
    pub(crate) fn shared(&mut self, name: &str, sort: Sort, initial: Option<Term>) -> VarId {
        self.p.add_var(name, sort, Scope::Shared, VarKind::Plain, initial, self.origin)
    }
    pub(crate) fn int(&mut self, name: &str, n: i128) -> VarId {
        let t = self.p.terms.int(n);
        self.shared(name, Sort::INT, Some(t))
    }
    pub(crate) fn flag(&mut self, name: &str) -> VarId {
        let t = self.p.terms.ff();
        self.shared(name, Sort::BOOL, Some(t))
    }
    pub(crate) fn property(&mut self, name: &str, kind: PropertyKind) -> PropertyId {
        self.p.properties.push(Property { kind, name: name.into(), origin: self.origin })
    }
    pub(crate) fn thread(&mut self, name: &str, copies: Copies, locations: u32) -> ThreadId {
        let mut code = Code::new();
        for i in 0..locations {
            code.locations.push(Location {
                name: format!("{name}{i}"),
                in_atomic_block: false,
                invariants: Vec::new(),
                origin: self.origin,
            });
        }
        code.exit = Some(LocId(locations - 1));
        self.p.threads.push(Thread {
            name: name.into(),
            copies,
            start: Start::Initial,
            params: Vec::new(),
            locals: Vec::new(),
            code,
            outline: None,
            follows: None,
            origin: self.origin,
        })
    }
    pub(crate) fn local(&mut self, thread: ThreadId, name: &str, sort: Sort, initial: Option<Term>) -> VarId {
        let v = self.p.add_var(name, sort, Scope::Thread(thread), VarKind::Plain, initial, self.origin);
        self.p.threads[thread].locals.push(v);
        v
    }
    pub(crate) fn step(&mut self, thread: ThreadId, from: u32, to: u32) -> Step<'_> {
        let guard = self.p.terms.tt();
        let action = Action::plain(LocId(from), LocId(to), guard, What::Assign, self.origin);
        Step { b: self, thread, action }
    }
}

pub(crate) struct Step<'a> {
    b: &'a mut Build,
    thread: ThreadId,
    action: Action,
}

impl Step<'_> {
    pub(crate) fn when(mut self, f: impl FnOnce(&Program) -> Term) -> Self {
        self.action.guard = f(&self.b.p);
        self
    }
    pub(crate) fn set(mut self, var: VarId, f: impl FnOnce(&Program) -> Term) -> Self {
        let value = f(&self.b.p);
        self.action.updates.push(Update { var, value });
        self
    }
    pub(crate) fn gate(mut self, property: PropertyId, f: impl FnOnce(&Program) -> Term) -> Self {
        let formula = f(&self.b.p);
        self.action.gates.push(Gate { property, formula });
        self
    }
    /// The action, to be changed further and added by the caller.
    pub(crate) fn take(self) -> &'static mut Action {
        Box::leak(Box::new(self.action))
    }
    pub(crate) fn done(self) {
        self.b.p.threads[self.thread].code.actions.push(self.action);
    }
}

/// The Bluetooth driver of Abstract Threads, figure 4, one line a step; `early`: the flag is tested before the
/// count is raised, which is wrong.
pub(crate) fn bluetooth(early: bool) -> (Program, PropertyId) {
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

pub(crate) fn run(
    program: &Program,
    counts: &[u32],
    wanted: &[PropertyId],
    switches: Switches,
    workers: usize,
) -> Exploration {
    run_with(program, counts, wanted, switches, workers, false)
}

pub(crate) fn run_with(
    program: &Program,
    counts: &[u32],
    wanted: &[PropertyId],
    switches: Switches,
    workers: usize,
    compact: bool,
) -> Exploration {
    explore_states(&ExplorePlan {
        program,
        counts: InstanceCounts(counts.to_vec()),
        wanted: wanted.to_vec(),
        switches,
        workers,
        depth: usize::MAX,
        budget: Budget::unlimited(),
        progress: &|_| {},
        compact,
        unreachable: false,
        means: Default::default(),
    })
}

/// A program of the language.
pub(crate) fn parsed(text: &str) -> Program {
    let mut sources = base::Sources::new();
    let parsed = frontend::lang::parse_file(&mut sources, "t.tp", text.as_bytes());
    let lowered = frontend::lang::lower_file(&parsed, &sources, &Default::default());
    lowered.program.unwrap_or_else(|| panic!("{:?}", lowered.diagnostics))
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
        let oracle = reachable_states(&p, &InstanceCounts(vec![1, n]), &ReachLimits::default());
        let length = oracle.violations[&safe].steps.len();
        for switches in every_switch() {
            let a = run(&p, &[1, n], &[safe], switches, 1);
            let trace = a.traces.get(&safe).unwrap_or_else(|| panic!("{switches:?}: {:?}", a.untraced));
            assert_eq!(trace.steps.len(), length, "{switches:?}");
            replay_trace(&p, trace).unwrap();
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
    // In turn 0 to 4 instances are done, and none or one is at one of three places; 4!/(4-k)! orders become one.
    assert_eq!(up_to.states, 5 + 4 * 3, "{:?}", up_to.notes);
    assert_eq!(all.states, 16 + 32 * 3);
}

#[test]
fn check_a_trace_is_found_though_an_orbit_has_several_representatives() {
    // Who came before whom is kept in a map from ids to ids: instances look alike that are not, and are not sorted.
    let p = parsed(
        "var next: [int]int;
         var last: int = 0;
         init forall i: int :: next[i] == 0;
         thread T[4] {
           var p: int;
           atomic { next[tid] := last; last := tid; }
           p := next[tid];
           p := next[p];
           p := next[p];
           assert p == 0;
         }",
    );
    let wanted: Vec<PropertyId> = p.properties.ids().collect();
    for switches in every_switch() {
        let a = run(&p, &[4], &wanted, switches, 1);
        let lengths: Vec<usize> = a.traces.values().map(|t| t.steps.len()).collect();
        assert_eq!(lengths, [8], "{switches:?} {:?}", a.untraced);
        assert!(a.notes.iter().all(|n| !n.contains("fewer reductions")), "{switches:?} {:?}", a.notes);
    }
}

/// Both threads count under one lock; the step between taking and giving back is the holder's own.
fn counters(careless: bool) -> (Program, PropertyId) {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let lock = b.p.add_var("m", Sort::INT, Scope::Shared, VarKind::Lock, Some(zero), b.origin);
    let x = b.int("x", 0);
    let safe = b.property("assert:1", PropertyKind::Assertion);
    let t = b.thread("T", Copies::Any, 5);
    b.step(t, 0, 1).when(move |p| p.terms.eq(p.now(lock), zero)).set(lock, |p| p.terms.sym(p.tid)).done();
    b.step(t, 1, 2).set(x, |p| p.terms.add(p.now(x), p.terms.int(1))).done();
    b.step(t, 2, 3).gate(safe, |p| p.terms.le(p.now(x), p.terms.int(3))).done();
    b.step(t, 3, 4).set(lock, move |_| zero).done();
    if careless {
        let u = b.thread("U", Copies::One, 2);
        b.step(u, 0, 1).set(x, |p| p.terms.int(0)).done();
    }
    (b.p, safe)
}

#[test]
fn check_steps_on_what_a_held_lock_guards_are_folded_and_others_are_not() {
    let fold = Switches { por: true, ..Switches::NONE };
    let (p, safe) = counters(false);
    let a = run(&p, &[3], &[safe], fold, 1);
    // k of three are done, and none or one of the others has the lock and is about to give it back.
    assert_eq!((a.states, a.incomplete), (8 + 12, None));
    assert_eq!(run(&p, &[3], &[safe], Switches::NONE, 1).states, 8 + 12 * 3);
    // One more counts too far; the trace is the shortest all the same.
    let (lazy, plain) = (run(&p, &[4], &[safe], fold, 1), run(&p, &[4], &[safe], Switches::NONE, 1));
    assert_eq!(lazy.traces[&safe].steps.len(), plain.traces[&safe].steps.len());
    // Someone writes it without the lock: nothing is the holder's own any more.
    let (p, safe) = counters(true);
    assert_eq!(run(&p, &[3, 1], &[safe], fold, 1).states, run(&p, &[3, 1], &[safe], Switches::NONE, 1).states);
}

#[test]
fn check_code_that_is_never_reached_is_told() {
    let mut b = Build::new();
    let x = b.int("x", 0);
    let t = b.thread("T", Copies::One, 4);
    b.step(t, 0, 1).when(|p| p.terms.eq(p.now(x), p.terms.int(0))).done();
    b.step(t, 0, 2).when(|p| p.terms.ne(p.now(x), p.terms.int(0))).done();
    b.step(t, 1, 3).done();
    b.step(t, 2, 3).done();
    let plan = |compact| ExplorePlan {
        program: &b.p,
        counts: InstanceCounts(vec![1]),
        wanted: Vec::new(),
        switches: Switches::ALL,
        workers: 1,
        depth: usize::MAX,
        budget: Budget::unlimited(),
        progress: &|_| {},
        compact,
        unreachable: true,
        means: Default::default(),
    };
    assert_eq!(explore_states(&plan(false)).unreached, vec![(t, LocId(2))]);
}

#[test]
fn check_the_estimate_says_nothing_while_levels_grow() {
    use super::search::to_come;
    assert_eq!(to_come(&[10, 20, 40]), None);
    assert_eq!(to_come(&[40, 20]), None);
    // Halves from here on: 10, 5, 2, ...
    assert_eq!(to_come(&[100, 40, 20, 10]), Some(10));
}

#[test]
fn check_a_long_search_tells_how_far_it_is() {
    let program = parsed(
        "var x: int = 0;\nvar y: int = 0;\nthread A { while true { x := x + 1; } }\n\
         thread B { while true { y := y + 1; assert x + y != -1; } }\n",
    );
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = lines.clone();
    let events = Arc::new(move |e| {
        if let crate::MethodEvent::Progress(line) = e {
            sink.lock().expect("no thread panics").push(line);
        }
    });
    let properties = program.properties.ids().collect();
    let task = crate::Task { program, properties, threads: Default::default(), options: Default::default() };
    let budget = Budget::unlimited().with_time(Duration::from_millis(1500));
    let claims = super::Explore.run(&task, &crate::Run { events, ..crate::Run::quiet(budget) });
    assert!(claims.claims.values().all(|c| matches!(c, evidence::Claim::Undecided(_))));
    let lines = lines.lock().expect("no thread panics");
    let words = ["states", "/s", "queue", "depth", "MB", "still growing"];
    assert!(lines.iter().any(|l| words.iter().all(|w| l.contains(w))), "{lines:?}");
    assert!(claims.statistics["states"] > 1000 && claims.statistics["depth"] > 10, "{:?}", claims.statistics);
}

#[test]
fn check_a_search_out_of_memory_says_how_deep_it_came() {
    let (p, safe) = bluetooth(false);
    let a = explore_states(&ExplorePlan {
        program: &p,
        counts: InstanceCounts(vec![1, 6]),
        wanted: vec![safe],
        switches: Switches::NONE,
        workers: 1,
        depth: usize::MAX,
        budget: Budget::unlimited().with_memory(1 << 20),
        progress: &|_| {},
        compact: false,
        unreachable: false,
        means: Default::default(),
    });
    let why = a.incomplete.expect("a megabyte is not enough for this process");
    assert!(why.starts_with("the memory limit was reached at depth"), "{why}");
}

#[test]
fn check_a_list_that_grows_costs_as_much_effort_as_is_copied() {
    let list = "class Node { next: Node; }\nvar top: Node;\n\
                thread Grows { var x: Node; while * { x := new Node; x.next := top; top := x; } }\n\
                thread Looks { while * { assert top == null || top.next != top; } }\n";
    let searched = |effort: u64| {
        let program = parsed(list);
        let properties = program.properties.ids().collect();
        let options = crate::MethodOptions([("heap".to_string(), "off".to_string())].into());
        let task = crate::Task { program, properties, threads: Default::default(), options };
        let budget = base::differential::limited_work(Duration::from_millis(effort));
        super::Explore.run(&task, &crate::Run::quiet(budget)).statistics["states"]
    };
    // Each level makes the list longer, and wider layouts copy more: a hundred and twenty-eight times the effort is far from so many times the states.
    let (little, more) = (searched(20), searched(2560));
    assert!(more > little && more < 10 * little, "{little} and {more} states");
}

#[test]
fn check_heaps_maps_sets_sequences_and_spawned_threads_are_searched_as_the_reference_semantics_does() {
    let texts = [
        "class Node { val: int; next: Node; }
         var head: Node = null;
         invariant head == null || head.val > 0;
         thread Push[2] { var n: Node; var b: bool; n := new Node; n.val := tid; b := false; while !b { n.next := head; b := cas(head, n.next, n); } }",
        "var r: set<int>;
         thread T[3] { r := r + {tid}; assert tid in r; r := r - {tid}; assert !(tid in r); }",
        "var l: [int]lock;
         thread T[2] { var i: int := 0; while i < 2 { acquire l[i]; i := i + 1; } release l[0]; release l[1]; }",
        "var q: seq<int>;
         init q == [];
         thread P[2] { q := q + [tid]; }
         thread C { var x: int; assume len(q) > 0; x := q[0]; q := q[1..len(q)]; assert x > 0 && x <= 2; }",
        "var b: u8 = 250;
         thread T[2] { var k: int := 0; while k < 4 { b := b + 1; k := k + 1; } assert b != 1; }",
        "var x: int = 0;
         thread Job(a: int) { x := x + a; }
         thread Main { var t: int; var u: int; t := spawn Job(1); u := spawn Job(2); join t; join u; assert x == 3; }",
        "var a: [int]int;
         init forall i: int :: a[i] == 7;
         thread T[2] { a[tid] := a[tid] + 1; assert a[tid] == 8; assert a[5] == 7; }",
        "var x: int = 0;
         thread T[2] { var k: int := 0; while k < 2 { step <x> x' > x && x' < x + 3 asserting x < 6; k := k + 1; } }",
        "var m: lock;
         var n: lock;
         var x: int = 0;
         thread A[2] { acquire m; acquire n; x := x + 1; x := x - 1; release n; release m; }
         thread B { acquire n; assert x == 0; release n; }",
    ];
    for text in texts {
        is_searched_as_by_the_reference_semantics(text);
    }
}

fn is_searched_as_by_the_reference_semantics(text: &str) {
    let p = parsed(text);
    let counts = InstanceCounts::of(&p, 0);
    let wanted: Vec<PropertyId> = p.properties.ids().collect();
    let oracle = reachable_states(&p, &counts, &ReachLimits::default());
    assert!(oracle.complete(), "{text}");
    let expected: Vec<_> = oracle.violations.iter().map(|(p, t)| (*p, t.steps.len())).collect();
    for switches in every_switch() {
        let a = run(&p, &counts.0, &wanted, switches, 1 + expected.len());
        let found: Vec<_> = a.traces.iter().map(|(p, t)| (*p, t.steps.len())).collect();
        assert_eq!(found, expected, "{switches:?} {text}");
        let all = wanted.len() == found.len();
        assert!(all || a.incomplete.is_none(), "{switches:?} {:?} {text}", a.incomplete);
    }
}

#[test]
fn check_numbers_at_the_bounds_of_words_are_searched_as_the_reference_semantics_does() {
    let words = [i64::MIN.into(), i64::MAX.into(), u64::MAX.into(), 1i128 << 64];
    for n in words.iter().flat_map(|w: &i128| [w - 2, w - 1, *w, w + 1]) {
        for (sort, least, most) in
            [("int", i128::MIN, i128::MAX), ("i64", i64::MIN.into(), i64::MAX.into()), ("u64", 0, u64::MAX.into())]
        {
            if n <= least || n >= most {
                continue;
            }
            // What the number would be if its lowest 64 bits were all of it, with and without a sign.
            let (signed, unsigned) = (i128::from(n as i64), i128::from(n as u64));
            is_searched_as_by_the_reference_semantics(&format!(
                "var x: {sort} = 0; var m: [{sort}]bool; var w: [int]{sort}; init (forall k: {sort} :: !m[k]) && forall k: int :: w[k] == 0;
                 thread A {{ x := {before}; x := x + 1; m[x] := true; w[0] := x; }}
                 thread B {{ assert x >= 0; }}
                 thread C {{ assert x <= 0; }}
                 thread D {{ assert x != {n}; }}
                 thread E {{ var y: {sort} := w[0]; assert y == 0 || y == {n}; assert y != {n}; }}
                 thread F {{ assert !m[{n}]; }}
                 thread G {{ assert !({signed} != {n} && x == {signed}) && !({unsigned} != {n} && x == {unsigned}); }}",
                before = n - 1
            ));
        }
    }
}

#[test]
fn check_a_map_that_init_decides_is_packed_and_compiled() {
    let p =
        parsed("var a: [int]int; init forall i: int :: a[i] == 7; thread T[3] { a[0] := a[0] + 1; assert a[5] == 7; }");
    let wanted: Vec<PropertyId> = p.properties.ids().collect();
    let a = run(&p, &[3], &wanted, Switches::ALL, 1);
    assert_eq!((a.slow, a.words, a.incomplete), (0, 1, None), "{:?}", a.notes);
}

/// What the method says about a program of the corpus with threads in any number: instances and length of each trace.
fn reported(text: &str) -> Vec<(Vec<u32>, usize)> {
    use crate::method::{Method, MethodOptions, Run, Task};
    let program = parsed(text);
    let properties = program.properties.ids().collect();
    let task = Task { program, properties, threads: Default::default(), options: MethodOptions::default() };
    let claims = super::Explore.run(&task, &Run::quiet(Budget::unlimited()));
    let traces = claims.claims.into_values().filter_map(|c| match c {
        evidence::Claim::Refuted(evidence::Counterexample::Run(trace)) => Some(trace),
        _ => None,
    });
    traces.map(|t| (t.instances.0.clone(), t.steps.len())).collect()
}

/// The fewest instances of the last thread with which the reference semantics finds a violation, and its least length.
fn least(text: &str) -> (u32, usize) {
    let p = parsed(text);
    for n in 0..4 {
        let counts = InstanceCounts::of(&p, n);
        let found = reachable_states(&p, &counts, &ReachLimits::default());
        if let Some(least) = found.violations.values().map(|t| t.steps.len()).min() {
            return (n, least);
        }
    }
    panic!("there is a violation")
}

#[test]
fn check_broken_drivers_have_a_trace_with_the_fewest_threads_and_steps() {
    let texts = [
        include_str!("../../../../corpus/seeds/abstract-threads/bluetooth_test_first.tp"),
        include_str!("../../../../corpus/seeds/abstract-threads/bluetooth_early_decrement.tp"),
        include_str!("../../../../corpus/seeds/abstract-threads/bluetooth_split_increment.tp"),
        include_str!("../../../../corpus/seeds/abstract-threads/bluetooth_no_reference.tp"),
    ];
    for text in texts {
        let (n, steps) = least(text);
        let found = reported(text);
        assert!(!found.is_empty(), "{text}");
        let nearest = found.iter().min_by_key(|(_, steps)| *steps).expect("there is one");
        assert_eq!((nearest.0.iter().max(), nearest.1), (Some(&n.max(1)), steps), "{text}");
    }
}

#[test]
fn check_threads_that_a_violation_does_not_need_are_left_out() {
    // Two writers are needed and no reader; with one of each there is no violation.
    let text = "var w: int = 0; var r: int = 0;
        thread Reader[*] { r := r + 1; r := r - 1; }
        thread Writer[*] { w := w + 1; assert w < 2; w := w - 1; }
        thread Watch { assert w >= 0; }";
    assert_eq!(reported(text), [(vec![0, 2, 1], 3)]);
    // No instance at all is needed.
    let text = "var x: int = 0; thread T[*] { x := 0; } thread Main { assert x > 0; }";
    assert_eq!(reported(text), [(vec![0, 1], 1)]);
}

#[test]
fn check_a_run_is_cut_down_to_what_it_needs() {
    let p = parsed(
        "var x: int = 0; var y: int = 0; thread T[2] { y := y + 1; y := y + 1; } thread U { x := 1; assert x == 0; }",
    );
    let wanted: Vec<PropertyId> = p.properties.ids().collect();
    let found = run(&p, &[2, 1], &wanted, Switches::NONE, 1).traces.into_values().next().expect("it is violated");
    let mut long = found.clone();
    // Both instances of T go first.
    let other = |instance: u32, action: u32| program::semantics::TraceStep {
        instance,
        thread: ThreadId(0),
        action: program::ActionId(action),
        ..found.steps[0].clone()
    };
    let idle = [other(0, 0), other(1, 0), other(0, 1)];
    long.steps.splice(0..0, idle);
    replay_trace(&p, &long).expect("it is a run");
    assert_eq!(super::trace::shorten_trace(&p, &long).steps, found.steps);
}
