//! Ids of threads that go through integers, arguments that are overwritten, and views that are written to be believed.

use super::corpus::{certificate, load_text, verify};
use base::Budget;
use checker::Outcome;
use evidence::views::{Val, Views};
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use program::{ObjectId, Program};

fn safe(p: &Program, name: &str) -> bool {
    verify(p).outcomes.iter().any(|(n, (o, _))| n.starts_with(name) && *o == Outcome::Safe)
}

/// The assertion fails with two or three threads by the reference semantics, and is not called safe.
fn fails_and_is_not_proved(text: &str, name: &str) {
    let p = load_text("ids.tp", text.as_bytes());
    let fails = [2, 3].into_iter().any(|copies| {
        let found = reachable_states(
            &p,
            &InstanceCounts::of(&p, copies),
            &ReachLimits { states: 200_000, ..ReachLimits::default() },
        );
        found.violations.keys().any(|id| p.properties[*id].name.starts_with(name))
    });
    assert!(fails, "the program is meant to fail at {name}:\n{text}");
    assert!(!safe(&p, name), "{name} is called safe:\n{text}");
}

#[test]
fn check_an_id_that_another_thread_copied_may_be_my_own() {
    fails_and_is_not_proved(
        "class C { }
var g: C = null;
var owner: int = 0;
var y: int = 0;
thread Copier[*] { var x: int := owner; y := x; }
thread Owner[*] { owner := tid;
  assert y != tid; }
",
        "assert:7",
    );
}

#[test]
fn check_a_hand_over_by_id_wakes_the_one_who_waits() {
    fails_and_is_not_proved(
        "class Request { who: int; }
var posted: Request = null;
var holder: int = 0;
thread Waiter[*] {
  var r: Request := new Request;
  r.who := tid;
  posted := r;
  assume holder == tid;
  assert false;
}
thread Server[*] {
  var r: Request := posted;
  var w: int;
  if r != null { w := r.who; holder := w; }
}
",
        "assert:9",
    );
}

#[test]
fn check_an_id_in_place_of_another_id_is_a_change() {
    // `last` holds some other thread's id before and after; to the one whose id comes there it is a change.
    fails_and_is_not_proved(
        "class C { }
var g: C = null;
var first: int = 0;
var last: int = 0;
thread Mover[*] { var x: int := first; last := x; }
thread Poster[*] { last := tid; first := tid; assume last != tid; assume last == tid;
  assert false; }
",
        "assert:7",
    );
}

#[test]
fn check_an_id_in_a_field_in_place_of_another_id_is_a_change() {
    fails_and_is_not_proved(
        "class C { first: int; last: int; }
var g: C;
init g != null && g.first == 0 && g.last == 0;
thread Mover[*] { var x: int := g.first; g.last := x; }
thread Poster[*] { g.last := tid; g.first := tid; assume g.last != tid; assume g.last == tid;
  assert false; }
",
        "assert:6",
    );
}

#[test]
fn check_an_integer_without_an_initial_value_may_be_an_id() {
    let text = "class C { }
var g: C = null;
var owner: int;
thread T[*] { assert owner != tid; assert owner == 0; }
";
    let p = load_text("open.tp", text.as_bytes());
    assert!(!safe(&p, "assert:4"), "{:?}", verify(&p).outcomes);
}

#[test]
fn check_what_a_thread_alone_writes_with_its_id_is_still_proved() {
    let text = "class C { who: int; }
var g: C;
var m: lock;
var owner: int = 0;
init g != null && g.who == 0;
thread T[*] {
  acquire m;
  owner := tid;
  g.who := owner;
  assert owner == tid;
  assert g.who == tid;
  owner := 0;
  g.who := 0;
  release m;
}
";
    let answer = verify(&load_text("owner.tp", text.as_bytes()));
    assert!(
        answer.outcomes.len() > 2 && answer.outcomes.values().all(|(o, _)| *o == Outcome::Safe),
        "{:?}",
        answer.outcomes
    );
}

const SET: &str = "class Node { key: int; next: Node; }
object Set {
  spec {
    var s: set<int> := {};
    add(k: int) returns (ok: bool) { ok := !(k in s); s := s + {k}; }
    contains(k: int) returns (ok: bool) { ok := k in s; }
  }
  var Head: Node;
  var m: lock;
  init Head != null && Head.next == null;
  op add(k: int) returns (ok: bool) {
    var p: Node;
    var c: Node;
    var x: Node;
    acquire m;
    p := Head;
    c := p.next;
    while c != null && c.key < k { p := c; c := p.next; }
    if c != null && c.key == k { ok := false; } else {
      x := new Node;
      x.key := k;
      x.next := c;
      p.next := x;
      ok := true;
    }
    release m;
    return;
  }
  op contains(k: int) returns (ok: bool) {
    var c: Node;
    acquire m;
    c := Head.next;
    while c != null && c.key < k { c := c.next; }
    CONTAINS
    release m;
    return;
  }
}
";

#[test]
fn check_the_specification_runs_on_the_argument_and_not_on_what_the_parameter_has_become() {
    let wrong = SET.replace("CONTAINS", "if c != null { k := c.key; }\n    ok := c != null;");
    let p = load_text("overwritten.tp", wrong.as_bytes());
    let run = crate::method::Run::quiet(Budget::unlimited());
    let (analysis, _) =
        crate::shape::analysis::search_fixpoint(&p, Some(ObjectId(0)), crate::shape::model::Precision::FewNames, &run)
            .unwrap();
    assert!(!analysis.alarms.is_empty(), "another key that is found is no reason to say yes");
    let right = SET.replace("CONTAINS", "ok := c != null && c.key == k;\n    if c != null { k := c.key; }");
    let p = load_text("right.tp", right.as_bytes());
    let (views, claimed) = certificate(&p).expect("the parameter is not used after it was overwritten");
    assert!(checker::shape::check_shape(&p, &views, &claimed, &Budget::unlimited()).is_ok());
}

/// Two threads that race: nothing holds of them that a contradiction between their views does not give.
const RACE: &str = "class C { }
var g: C = null;
var idle: lock;
var x: int = 0;
thread Writer[*] { x := 1; }
thread Reader[*] { assert x == 0; }
";

#[test]
fn check_a_free_lock_is_the_number_0_however_it_is_written() {
    let p = load_text("race.tp", RACE.as_bytes());
    let calm = load_text("calm.tp", RACE.replace("x := 1", "x := 0").as_bytes());
    let (mut views, _) = certificate(&calm).expect("nothing but 0 is ever written");
    let lock = calm.shared().find(|v| calm.vars[*v].name == "idle").unwrap();
    let reader = |v: &evidence::views::View| matches!(v.control, evidence::views::Control::Thread(t, _) if t.0 == 1);
    for v in &mut views.views {
        let value = if reader(v) { Val::Number(0) } else { Val::Free };
        v.vars.iter_mut().filter(|(var, _)| *var == lock).for_each(|(_, val)| *val = value);
    }
    // The writer's views of the race: x is 0 or 1 there.
    let more: Vec<_> = views.views.iter().filter(|v| !reader(v)).cloned().collect();
    let x = calm.shared().find(|v| calm.vars[*v].name == "x").unwrap();
    for mut v in more {
        v.vars.iter_mut().filter(|(var, _)| *var == x).for_each(|(_, val)| *val = Val::Number(1));
        views.views.push(v);
    }
    let claimed: Vec<_> = p.properties.ids().collect();
    let check = |views: &Views| checker::shape::check_shape(&p, views, &claimed, &Budget::unlimited());
    let why = check(&views).expect_err("the write reaches the reader");
    assert!(why.to_string().contains("another thread"), "{why}");
}

#[test]
fn check_a_sequence_of_which_nothing_is_known_is_not_taken_for_one_with_elements() {
    let p = super::corpus::load("seeds/thread-quantification/treiber.tp");
    let (mut views, claimed) = certificate(&p).unwrap();
    views.views.iter_mut().for_each(|v| v.ends = Some((Val::Any, Val::Any)));
    let why =
        checker::shape::check_shape(&p, &views, &claimed, &Budget::unlimited()).expect_err("the ends are not known");
    assert!(why.to_string().contains("not known"), "{why}");
}

#[test]
fn check_a_value_of_another_type_is_malformed() {
    let p = super::corpus::load("seeds/thread-quantification/treiber.tp");
    let (views, claimed) = certificate(&p).unwrap();
    let top = p.shared().find(|v| p.vars[*v].name.ends_with("Top")).unwrap();
    for wrong in [Val::Bool(true), Val::Number(3), Val::Other, Val::Variant(0), Val::Cell(99)] {
        let mut forged = views.clone();
        forged.views[0].vars.iter_mut().filter(|(v, _)| *v == top).for_each(|(_, val)| *val = wrong);
        assert_ne!(forged, views);
        let why = checker::shape::check_shape(&p, &forged, &claimed, &Budget::unlimited()).expect_err("no such value");
        assert!(why.to_string().contains("type"), "{why}");
    }
}

#[test]
fn check_a_step_that_waits_for_others_is_waited_for() {
    // The block can do something private at once; the other thread may come first all the same, when `f` is set.
    fails_and_is_not_proved(
        "class C { }
var g: C = null;
var f: bool = false;
thread T { var b: bool := false; f := true; atomic { choose { assume g != null; b := true; } or { b := false; } }
  assert !b; }
thread U[*] { var x: C := new C; assume f; g := x; }
",
        "assert:5",
    );
}

#[test]
fn check_the_certificate_for_an_insertion_into_a_ring_is_accepted() {
    let answer = verify(&super::corpus::load("heap/ring_insert_atomic.tp"));
    assert!(answer.outcomes.len() == 6, "{:?}", answer.outcomes);
    assert!(answer.outcomes.values().all(|(o, _)| *o == Outcome::Safe), "{:?}", answer.outcomes);
}

#[test]
fn check_more_references_than_a_view_has_room_for_are_refused() {
    let shared: String = (0..20).map(|i| format!("var s{i}: C = null;\n")).collect();
    let locals: String = (0..20).map(|i| format!("  var l{i}: C := null;\n")).collect();
    let text = format!("class C {{ }}\n{shared}thread T[*] {{\n{locals}  assert s0 == null;\n}}\n");
    let p = load_text("many.tp", text.as_bytes());
    let why = super::super::build::build(&p, &super::super::build::Question::default()).err().expect("40 references");
    assert!(why.contains("40 references"), "{why}");
}

#[test]
fn check_two_threads_with_more_objects_than_fit_end_the_search_with_a_sentence() {
    let make = |i: usize| format!("  var x{i}: C := new C;\n");
    let hold = |i: usize| format!("x{i} != null");
    let all = (0..13).map(hold).collect::<Vec<String>>().join(" && ");
    let text = format!(
        "class C {{ }}\nvar g: C = null;\nthread T[*] {{\n{}  atomic {{ assume {all}; g := x0; }}\n  assert {all};\n}}\n",
        (0..13).map(make).collect::<String>()
    );
    let answer = verify(&load_text("crowd.tp", text.as_bytes()));
    assert!(
        answer
            .outcomes
            .values()
            .any(|(o, why)| *o == Outcome::Unknown && why.contains("more than 24 different objects")),
        "{:?}",
        answer.outcomes
    );
}
