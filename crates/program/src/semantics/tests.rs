//! Tests of the reference semantics on programs built by hand.

use super::*;
use crate::code::{Action, Code, Gate, Location, Update, What};
use crate::model::{Copies, InitialFact, OriginId, Rely, Start, Thread, VarKind};
use crate::property::{Property, PropertyId, PropertyKind};
use logic::{ReadPlace, Symbol};

/// A program under construction, with one thread at a time.
pub(crate) struct Build {
    pub p: Program,
    pub o: OriginId,
}

impl Build {
    pub(crate) fn new() -> Self {
        let mut p = Program::new("test");
        let o = p.add_origin(None, "");
        Self { p, o }
    }
    pub(crate) fn shared(&mut self, name: &str, sort: Sort, initial: Option<Term>) -> VarId {
        self.p.add_var(name, sort, Scope::Shared, VarKind::Plain, initial, self.o)
    }
    pub(crate) fn thread(&mut self, name: &str, copies: Copies, locations: usize) -> ThreadId {
        let mut code = Code::new();
        for i in 0..locations {
            code.locations.push(Location {
                name: format!("{name}{i}"),
                in_atomic_block: false,
                invariants: vec![],
                origin: self.o,
            });
        }
        code.exit = Some(LocId(locations as u32 - 1));
        self.p.threads.push(Thread {
            name: name.into(),
            copies,
            start: Start::Initial,
            params: vec![],
            locals: vec![],
            code,
            outline: None,
            follows: None,
            origin: self.o,
        })
    }
    pub(crate) fn local(&mut self, thread: ThreadId, name: &str, sort: Sort, initial: Option<Term>) -> VarId {
        let v = self.p.add_var(name, sort, Scope::Thread(thread), VarKind::Plain, initial, self.o);
        self.p.threads[thread].locals.push(v);
        v
    }
    pub(crate) fn property(&mut self, kind: PropertyKind) -> PropertyId {
        let name = format!("p{}", self.p.properties.len());
        self.p.properties.push(Property { kind, name, origin: self.o })
    }
    pub(crate) fn invariant(&mut self, formula: Term) -> PropertyId {
        let property = self.property(PropertyKind::Invariant(formula));
        self.p.invariants.push(InitialFact { formula: Some(formula), property: Some(property), origin: self.o });
        property
    }
    pub(crate) fn rely(&mut self, formula: Term) -> PropertyId {
        let property = self.property(PropertyKind::Rely(self.p.relies.len() as u32));
        self.p.relies.push(Rely { thread: None, formula: Some(formula), property, origin: self.o });
        property
    }
    pub(crate) fn init(&mut self, formula: Term) {
        self.p.init.push(InitialFact { formula: Some(formula), property: None, origin: self.o });
    }
    pub(crate) fn act(
        &mut self,
        thread: ThreadId,
        from: u32,
        to: u32,
        guard: Term,
        updates: &[(VarId, Term)],
    ) -> ActionId {
        self.act_with(thread, from, to, vec![], guard, updates)
    }
    pub(crate) fn act_with(
        &mut self,
        thread: ThreadId,
        from: u32,
        to: u32,
        inputs: Vec<Symbol>,
        guard: Term,
        updates: &[(VarId, Term)],
    ) -> ActionId {
        let origin = self.o;
        self.p.threads[thread].code.actions.push(Action {
            inputs,
            updates: updates.iter().map(|(var, value)| Update { var: *var, value: *value }).collect(),
            ..Action::plain(LocId(from), LocId(to), guard, What::Assign, origin)
        })
    }
    pub(crate) fn gate(&mut self, thread: ThreadId, from: u32, to: u32, formula: Term) -> PropertyId {
        let property = self.property(PropertyKind::Assertion);
        let tt = self.p.terms.tt();
        let a = self.act(thread, from, to, tt, &[]);
        self.p.threads[thread].code.actions[a].gates.push(Gate { property, formula });
        property
    }
}

fn all(p: &Program, any: u32) -> Reached {
    reachable_states(p, &InstanceCounts::of(p, any), &ReachLimits::default())
}

/// Two threads read a counter and write it back plus one; the assertion says no update is lost.
fn lost_update(locked: Option<()>) -> (Program, PropertyId) {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let x = b.shared("x", Sort::INT, Some(zero));
    let m = b.shared("m", Sort::INT, Some(zero));
    let n = b.shared("n", Sort::INT, Some(zero));
    let t = b.thread("Add", Copies::Exactly(2), 6);
    let j = b.local(t, "j", Sort::INT, None);
    let (tt, one) = (b.p.terms.tt(), b.p.terms.int(1));
    let me = b.p.terms.sym(b.p.tid);
    let (xs, js, ms, ns) = (b.p.now(x), b.p.now(j), b.p.now(m), b.p.now(n));
    let free = b.p.terms.eq(ms, zero);
    if locked.is_some() {
        b.act(t, 0, 1, free, &[(m, me)]);
    } else {
        b.act(t, 0, 1, tt, &[]);
    }
    b.act(t, 1, 2, tt, &[(j, xs)]);
    let (sum, count) = (b.p.terms.add(js, one), b.p.terms.add(ns, one));
    b.act(t, 2, 3, tt, &[(x, sum), (n, count)]);
    b.act(t, 3, 4, tt, &[(m, zero)]);
    let good = {
        let two = b.p.terms.int(2);
        let done = b.p.terms.eq(b.p.now(n), two);
        let right = b.p.terms.eq(xs, two);
        b.p.terms.implies(done, right)
    };
    let property = b.gate(t, 4, 5, good);
    (b.p, property)
}

#[test]
fn check_a_lost_update_is_found_and_replayed() {
    let (p, property) = lost_update(None);
    let r = all(&p, 0);
    assert!(r.complete(), "{:?}", r.incomplete);
    let trace = &r.violations[&property];
    let replayed = replay_trace(&p, trace).expect("the trace is a run");
    assert_eq!(replayed.states.len(), trace.steps.len());
}

#[test]
fn check_a_lock_prevents_the_lost_update() {
    let (p, _) = lost_update(Some(()));
    let r = all(&p, 0);
    assert!(r.complete() && r.violations.is_empty());
}

#[test]
fn check_a_changed_trace_is_rejected() {
    let (p, property) = lost_update(None);
    let trace = all(&p, 0).violations[&property].clone();
    let mut shorter = trace.clone();
    shorter.steps.pop();
    assert!(replay_trace(&p, &shorter).is_err());
    let mut other = trace.clone();
    other.steps[0].instance = 7;
    assert!(replay_trace(&p, &other).is_err());
    let mut more = trace.clone();
    more.instances = InstanceCounts(vec![3]);
    assert!(replay_trace(&p, &more).is_err());
    let mut input = trace;
    input.steps[0].inputs.push(Value::Int(1));
    assert!(replay_trace(&p, &input).is_err());
}

#[test]
fn check_init_defines_maps_and_pins_values() {
    let mut b = Build::new();
    let map = b.p.terms.map_sort(Sort::INT, Sort::INT);
    let m = b.shared("m", map, None);
    let y = b.shared("y", Sort::INT, None);
    let z = b.shared("z", Sort::INT, None);
    let t = &b.p.terms;
    let i = t.symbol("i", Sort::INT);
    let all_y = t.forall(&[i], t.eq(t.select(b.p.now(m), t.sym(i)), b.p.now(y)));
    let three = t.eq(b.p.now(y), t.int(3));
    let range = t.and(&[t.lt(t.int(0), b.p.now(z)), t.le(b.p.now(z), b.p.now(y))]);
    b.init(all_y);
    b.init(three);
    b.init(range);
    let sem = Semantics::new(&b.p);
    let initial = sem.initial(&InstanceCounts(vec![]), Sampling::default());
    assert_eq!(initial.incomplete, None);
    let zs: Vec<Value> = initial.states.iter().map(|(s, _)| s.shared[2].clone()).collect();
    assert_eq!(zs, vec![Value::Int(1), Value::Int(2), Value::Int(3)]);
    assert!(initial.states.iter().all(|(s, _)| s.shared[0] == Value::map(Value::Int(3))));
}

#[test]
fn check_one_forall_defines_two_maps() {
    let mut b = Build::new();
    let numbers = b.p.terms.map_sort(Sort::INT, Sort::INT);
    let flags = b.p.terms.map_sort(Sort::INT, Sort::BOOL);
    let m = b.shared("m", numbers, None);
    let f = b.shared("f", flags, None);
    let t = &b.p.terms;
    let i = t.symbol("i", Sort::INT);
    let zero = t.eq(t.select(b.p.now(m), t.sym(i)), t.int(0));
    let down = t.not(t.select(b.p.now(f), t.sym(i)));
    let both = t.forall(&[i], t.and(&[zero, down]));
    b.init(both);
    let sem = Semantics::new(&b.p);
    let initial = sem.initial(&InstanceCounts(vec![]), Sampling::default());
    assert_eq!((initial.incomplete, initial.states.len()), (None, 1));
    let shared = &initial.states[0].0.shared;
    assert_eq!(shared, &vec![Value::map(Value::Int(0)), Value::map(Value::Bool(false))]);
}

#[test]
fn check_nested_foralls_define_maps_as_one_forall_does() {
    let mut b = Build::new();
    let a = b.shared("a", grid_of(&b.p.terms), None);
    let m = b.shared("m", b.p.terms.map_sort(Sort::INT, Sort::INT), None);
    let t = &b.p.terms;
    let (i, j) = (t.symbol("i", Sort::INT), t.symbol("j", Sort::INT));
    let cell = t.eq(t.select(t.select(b.p.now(a), t.sym(i)), t.sym(j)), t.int(0));
    let line = t.eq(t.select(b.p.now(m), t.sym(i)), t.int(4));
    b.init(t.forall(&[i], t.and(&[line, t.forall(&[j], cell)])));
    let sem = Semantics::new(&b.p);
    let initial = sem.initial(&InstanceCounts(vec![]), Sampling::default());
    assert_eq!((initial.incomplete, initial.states.len()), (None, 1));
    let zeros = Value::map(Value::map(Value::Int(0)));
    assert_eq!(initial.states[0].0.shared, vec![zeros, Value::map(Value::Int(4))]);
    // A symbol that is bound twice is the inner one: nothing is said of the outer map's diagonal alone.
    let mut b = Build::new();
    let a = b.shared("a", grid_of(&b.p.terms), None);
    let t = &b.p.terms;
    let i = t.symbol("i", Sort::INT);
    let diagonal = t.eq(t.select(t.select(b.p.now(a), t.sym(i)), t.sym(i)), t.int(0));
    b.init(t.forall(&[i], t.forall(&[i], diagonal)));
    let sem = Semantics::new(&b.p);
    let initial = sem.initial(&InstanceCounts(vec![]), Sampling::default());
    assert!(initial.states.iter().all(|(s, _)| s.shared[0] != Value::map(Value::map(Value::Int(0)))));
}

fn grid_of(t: &logic::Terms) -> Sort {
    t.map_sort(Sort::INT, t.map_sort(Sort::INT, Sort::INT))
}

#[test]
fn check_init_over_a_range_decides_entries_exactly() {
    let mut b = Build::new();
    let map = b.p.terms.map_sort(Sort::INT, Sort::INT);
    let m = b.shared("m", map, None);
    let t = &b.p.terms;
    let i = t.symbol("i", Sort::INT);
    let inside = t.and(&[t.le(t.int(0), t.sym(i)), t.lt(t.sym(i), t.int(4))]);
    let f = t.forall(&[i], t.implies(inside, t.eq(t.select(b.p.now(m), t.sym(i)), t.int(7))));
    b.init(f);
    let sem = Semantics::new(&b.p);
    let initial = sem.initial(&InstanceCounts(vec![]), Sampling::default());
    assert_eq!((initial.incomplete, initial.states.len()), (None, 1));
}

#[test]
fn check_a_relational_step_is_solved_not_sampled() {
    // step <x> x' == x + 1 || x' == 2 * x, from x == 5.
    let mut b = Build::new();
    let five = b.p.terms.int(5);
    let x = b.shared("x", Sort::INT, Some(five));
    let t = b.thread("T", Copies::One, 2);
    let input = b.p.terms.symbol("x'", Sort::INT);
    let guard = {
        let t = &b.p.terms;
        let v = t.sym(input);
        t.or(&[t.eq(v, t.add(b.p.now(x), t.int(1))), t.eq(t.mul(t.int(2), b.p.now(x)), v)])
    };
    let v = b.p.terms.sym(input);
    b.act_with(t, 0, 1, vec![input], guard, &[(x, v)]);
    let r = all(&b.p, 0);
    assert!(r.complete());
    assert_eq!(r.states, 3);
}

#[test]
fn check_undecided_values_stay_undecided_until_read() {
    let mut b = Build::new();
    let x = b.shared("x", Sort::BOOL, None);
    let y = b.shared("y", Sort::BOOL, None);
    let t = b.thread("T", Copies::One, 4);
    let input = b.p.terms.symbol("v", Sort::BOOL);
    let (tt, v) = (b.p.terms.tt(), b.p.terms.sym(input));
    b.act_with(t, 0, 1, vec![input], tt, &[(x, v)]);
    // Copying decides, so that the copies are equal.
    let xs = b.p.now(x);
    b.act(t, 1, 2, tt, &[(y, xs)]);
    let same = b.p.terms.eq(b.p.now(x), b.p.now(y));
    let property = b.gate(t, 2, 3, same);
    let r = all(&b.p, 0);
    assert!(r.complete() && !r.violations.contains_key(&property));
    // Start, after havoc, two after the copy, two at the end.
    assert_eq!(r.states, 6);
}

#[test]
fn check_copies_of_an_open_map_are_not_decided_apart() {
    let mut b = Build::new();
    let map = b.p.terms.map_sort(Sort::INT, Sort::BOOL);
    let m = b.shared("m", map, None);
    let n = b.shared("n", map, None);
    let t = b.thread("T", Copies::One, 3);
    let (tt, ms) = (b.p.terms.tt(), b.p.now(m));
    b.act(t, 0, 1, tt, &[(n, ms)]);
    let zero = b.p.terms.int(0);
    let same = b.p.terms.eq(b.p.terms.select(b.p.now(m), zero), b.p.terms.select(b.p.now(n), zero));
    let property = b.gate(t, 1, 2, same);
    let r = all(&b.p, 0);
    assert!(!r.violations.contains_key(&property));
    assert!(!r.complete());
}

#[test]
fn check_invariants_and_relies_are_seen() {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let x = b.shared("x", Sort::INT, Some(zero));
    let t = b.thread("T", Copies::Exactly(2), 3);
    let (tt, less) = (b.p.terms.tt(), b.p.terms.sub(b.p.now(x), b.p.terms.int(1)));
    b.act(t, 0, 1, tt, &[(x, less)]);
    b.act(t, 1, 2, tt, &[(x, zero)]);
    let low = b.p.terms.lt(b.p.terms.int(-2), b.p.now(x));
    let lower = b.invariant(low);
    let grows = b.p.terms.le(b.p.now(x), b.p.next(x));
    let rely = b.rely(grows);
    let r = all(&b.p, 0);
    assert!(r.complete());
    assert_eq!(r.violations[&lower].steps.len(), 2);
    assert_eq!(r.violations[&rely].steps.len(), 1);
    for t in r.violations.values() {
        replay_trace(&b.p, t).expect("each violation replays");
    }
}

#[test]
fn check_an_invariant_over_an_undecided_value_is_refuted_with_a_choice() {
    let mut b = Build::new();
    let x = b.shared("x", Sort::BOOL, None);
    let t = b.thread("T", Copies::One, 1);
    let _ = t;
    let xs = b.p.now(x);
    let property = b.invariant(xs);
    let r = all(&b.p, 0);
    let trace = &r.violations[&property];
    assert_eq!(trace.finally.len(), 1);
    replay_trace(&b.p, trace).expect("the choice is part of the trace");
}

#[test]
fn check_nobody_moves_while_one_is_inside_a_block() {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let x = b.shared("x", Sort::INT, Some(zero));
    let t = b.thread("T", Copies::Exactly(2), 3);
    b.p.threads[t].code.locations[LocId(1)].in_atomic_block = true;
    let (tt, one) = (b.p.terms.tt(), b.p.terms.int(1));
    let more = b.p.terms.add(b.p.now(x), one);
    b.act(t, 0, 1, tt, &[(x, more)]);
    b.act(t, 1, 2, tt, &[(x, zero)]);
    let is_zero = b.p.terms.eq(b.p.now(x), zero);
    let inv = b.invariant(is_zero);
    let rely = b.rely(b.p.terms.eq(b.p.next(x), b.p.now(x)));
    let r = all(&b.p, 0);
    assert!(r.complete());
    assert!(!r.violations.contains_key(&inv) && !r.violations.contains_key(&rely));
    assert_eq!(r.states, 9 - 1, "all pairs of locations but both inside");
}

#[test]
fn check_deadlock_is_found() {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let (m, n) = (b.shared("m", Sort::INT, Some(zero)), b.shared("n", Sort::INT, Some(zero)));
    let property = b.property(PropertyKind::Deadlock);
    for (first, second) in [(m, n), (n, m)] {
        let t = b.thread("T", Copies::One, 4);
        let me = b.p.terms.sym(b.p.tid);
        let (f, s) = (b.p.terms.eq(b.p.now(first), zero), b.p.terms.eq(b.p.now(second), zero));
        b.act(t, 0, 1, f, &[(first, me)]);
        b.act(t, 1, 2, s, &[(second, me)]);
        let tt = b.p.terms.tt();
        b.act(t, 2, 3, tt, &[(first, zero), (second, zero)]);
    }
    let r = all(&b.p, 0);
    assert_eq!(r.violations[&property].steps.len(), 2);
    replay_trace(&b.p, &r.violations[&property]).expect("the deadlock replays");
}

#[test]
fn check_new_objects_differ_and_garbage_is_not_reused() {
    let mut b = Build::new();
    let class = b.p.terms.declare_class("Node");
    let node = b.p.terms.sort(SortKind::Ref(class));
    let live_sort = b.p.terms.sort(SortKind::Set(node));
    let empty = b.p.terms.mk(logic::Op::EmptySet(live_sort), &[]);
    let live = b.p.add_var("live", live_sort, Scope::Shared, VarKind::Live(class), Some(empty), b.o);
    b.p.classes.push(crate::model::Class { name: "Node".into(), fields: vec![], live, origin: b.o });
    let t = b.thread("T", Copies::One, 3);
    let null = b.p.terms.null(class);
    let x = b.local(t, "x", node, Some(null));
    let allocate = |b: &mut Build, from: u32, to: u32| {
        let r = b.p.terms.symbol("r", node);
        let t0 = &b.p.terms;
        let rs = t0.sym(r);
        let guard = t0.and(&[t0.ne(rs, null), t0.not(t0.member(rs, b.p.now(live)))]);
        let more = t0.mk(logic::Op::Insert, &[rs, b.p.now(live)]);
        b.act_with(t, from, to, vec![r], guard, &[(x, rs), (live, more)]);
    };
    allocate(&mut b, 0, 1);
    allocate(&mut b, 1, 2);
    let r = all(&b.p, 0);
    assert!(r.complete());
    assert_eq!(r.states, 3);
    let sem = Semantics::new(&b.p);
    let mut state = sem.undecided_start(&InstanceCounts(vec![1])).unwrap();
    for want in 1..=2 {
        let next = sem.successors(&state, Sampling::default());
        let [StepOutcome::Moved { state: after, step }] = &next.outcomes[..] else { panic!("one way to allocate") };
        assert_eq!(step.inputs, vec![Value::Ref(want)]);
        state = after.clone();
    }
}

#[test]
fn check_spawned_instances_get_their_arguments_and_run() {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let x = b.shared("x", Sort::INT, Some(zero));
    let main = b.thread("Main", Copies::One, 2);
    let job = b.thread("Job", Copies::Any, 2);
    b.p.threads[job].start = Start::Spawned;
    let a = b.local(job, "a", Sort::INT, None);
    b.p.threads[job].params.push(a);
    let child = b.local(main, "c", Sort::INT, Some(zero));
    let (tt, five) = (b.p.terms.tt(), b.p.terms.int(5));
    let s = b.act(main, 0, 1, tt, &[]);
    b.p.threads[main].code.actions[s].spawn =
        Some(crate::code::Spawn { thread: job, args: vec![five], into: Some(child) });
    let arg = b.p.now(a);
    b.act(job, 0, 1, tt, &[(x, arg)]);
    let not_five = b.p.terms.ne(b.p.now(x), five);
    let property = b.invariant(not_five);
    let r = all(&b.p, 0);
    assert_eq!(r.states, 3);
    let replayed = replay_trace(&b.p, &r.violations[&property]).expect("the run replays");
    let last = replayed.states.last().unwrap();
    assert_eq!(last.instances[0].locals, vec![Value::Int(2)]);
    assert_eq!(last.instances[1].tid, 2);
}

#[test]
fn check_forged_choices_are_rejected() {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let x = b.shared("x", Sort::INT, Some(zero));
    b.thread("T", Copies::One, 1);
    let is_zero = b.p.terms.eq(b.p.now(x), zero);
    let property = b.invariant(is_zero);
    let place = ReadPlace { symbol: b.p.vars[x].symbol, keys: vec![] };
    let choice = |value: Value| Choice { instance: None, place: place.clone(), value };
    for value in [Value::Int(1), Value::Bool(true), Value::Any] {
        let trace = Trace {
            instances: InstanceCounts(vec![1]),
            initial: vec![choice(value)],
            steps: vec![],
            finally: vec![],
            violates: property,
        };
        assert!(replay_trace(&b.p, &trace).is_err());
    }
}

#[test]
fn check_quantifiers_over_a_class_range_over_all_references() {
    let b = Build::new();
    let class = b.p.terms.declare_class("Node");
    let node = b.p.terms.sort(SortKind::Ref(class));
    let sem = Semantics::new(&b.p);
    let state = State { shared: vec![], instances: vec![], entered: None };
    let t = &b.p.terms;
    let names = ["x", "y", "z"];
    let xs: Vec<Symbol> = names.iter().map(|n| t.symbol(*n, node)).collect();
    let terms: Vec<Term> = xs.iter().map(|s| t.sym(*s)).collect();
    let distinct = t.and(&[t.ne(terms[0], terms[1]), t.ne(terms[1], terms[2]), t.ne(terms[0], terms[2])]);
    let not_null = t.and(&terms.iter().map(|x| t.ne(*x, t.null(class))).collect::<Vec<_>>());
    let three = t.exists(&xs, t.and(&[distinct, not_null]));
    assert_eq!(StateView::of_store(&sem, &state).holds(three), Ok(true));
    // One after the other, and in different quantifiers.
    let inner = t.exists(&xs[1..2], t.ne(terms[0], terms[1]));
    assert_eq!(StateView::of_store(&sem, &state).holds(t.forall(&xs[..1], inner)), Ok(true));
}
