//! What single programs mean: the lowered program is searched by the reference semantics and every property has the verdict that
//! `docs/language.md` gives it. One test for each class of constructs; the verdicts are argued from the document.

use super::*;
use crate::lang::lower::{LoweringSettings, lower_file};
use program::semantics::{InstanceCounts, ReachLimits, reachable_states, replay_trace};
use program::{Program, Property, PropertyKind};

/// The names of the violated properties of a program, `deadlock` and (where it frees objects) `leak` among them.
fn violated(text: &str) -> Vec<String> {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, "test.tp", text.as_bytes());
    let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
    let messages = render_all(&lowered.diagnostics, &sources, Colour::Plain);
    let mut program: Program = lowered.program.unwrap_or_else(|| panic!("{messages}\nin\n{text}"));
    let origin = program.add_origin(None, "asked for by the test");
    program.properties.push(Property { kind: PropertyKind::Deadlock, name: "deadlock".into(), origin });
    if program::memory::by_hand(&program) {
        program.properties.push(Property { kind: PropertyKind::Leak, name: "leak".into(), origin });
    }
    let faults = program::wellformed::wellformed(&program);
    assert!(faults.is_empty(), "{faults:?}\nin\n{text}");
    let found = reachable_states(&program, &InstanceCounts::of(&program, 2), &ReachLimits::default());
    assert_eq!(found.incomplete, None, "in\n{text}");
    for trace in found.violations.values() {
        replay_trace(&program, trace).unwrap_or_else(|m| panic!("{m:?}\nin\n{text}"));
    }
    let mut names: Vec<String> = found.violations.keys().map(|p| program.properties[*p].name.clone()).collect();
    names.sort();
    names
}

fn means(text: &str, expected: &[&str]) {
    assert_eq!(violated(text), expected, "in\n{text}");
}

#[test]
fn check_the_place_of_a_result_is_found_where_the_result_is_handed_over() {
    // The procedure makes the object go away, or makes the index wrong, before the result is written.
    let null = "class C { v: int; } var c: C = null;
        proc f() returns (r: int) { c := null; return 1; }
        thread T { c := new C; c.v := f(); }";
    means(null, &["null:3"]);
    let there = "class C { v: int; } var c: C = null;
        proc f() returns (r: int) { c := new C; return 1; }
        thread T { c.v := f(); assert c.v == 1; }";
    means(there, &[]);
    let freed = "class C { v: int; }
        proc f(o: C) returns (r: int) { free o; return 1; }
        thread T { var c: C := new C; c.v := f(c); }";
    means(freed, &["freed:3"]);
    let division = "var z: int = 1; var m: [int]int;
        proc f() returns (r: int) { z := 0; return 1; }
        thread T { m[5 / z] := f(); }";
    means(division, &["division:3"]);
    let bounds = "var q: seq<int>;
        proc f() returns (r: int) { q := []; return 1; }
        thread T { q := [7]; q[0] := f(); }";
    means(bounds, &["bounds:3"]);
    let access = "var l: lock; var i: int = 0 guarded_by l; var m: [int]int;
        proc f() returns (r: int) { release l; return 1; }
        thread T { acquire l; m[i] := f(); }
        thread U { acquire l; i := 1; release l; }";
    means(access, &["access:i"]);
    let written = "var l: lock; var x: int = 0 guarded_by l;
        proc f() returns (r: int) { acquire l; return 1; }
        thread T { x := f(); release l; }
        thread U { acquire l; release l; }";
    means(written, &[]);
}

#[test]
fn check_an_index_is_read_before_any_result_is_handed_over() {
    let text = "var i: int = 0; var m: [int]int; init forall k: int :: m[k] == 0;
        proc f() returns (a: int, b: int) ensures a == 5; { return 5, 6; }
        thread T { i, m[i] := f(); assert m[0] == 6 && m[5] == 0 && i == 5; }";
    means(text, &[]);
    means(&text.replace("i, m[i]", "m[i], i").replace("m[0] == 6 && m[5] == 0 && i == 5", "m[0] == 5 && i == 6"), &[]);
}

#[test]
fn check_a_join_of_any_thread_returns_when_that_thread_has_ended() {
    means("var x: int = 0; thread A { x := 1; } thread B { join 1; assert x == 1; }", &[]);
    means("var x: int = 0; thread A { x := 1; } thread B { join 2; assert x == 2; }", &["deadlock"]);
    means("thread A { join tid; }", &["deadlock"]);
    means("thread A { join 9; assert false; }", &["deadlock"]);
    means("var t: int = 1; thread A { skip; } thread B { join (t); join int(t); join if t == 1 then t else 2; }", &[]);
    let spawned = "var x: int = 0; thread A { var t: int := spawn J(); join t; assert x == 1; } thread J() { x := 1; }";
    means(spawned, &[]);
    means("var done: bool = false; proc join(t: int) { done := t == 7; } thread A { join (7); assert done; }", &[]);
}

#[test]
fn check_a_thread_that_is_spawned_later_is_not_there_before() {
    // Never spawned: it waits for nothing.
    means("var x: int = 0; thread A { if x == 1 { spawn J(); } } thread J() { x := 2; }", &[]);
    // It waits in vain once it is there.
    means("var x: int = 0; thread A { if * { spawn J(); } } thread J() { assume x == 1; }", &["deadlock"]);
    // Its rely is broken by steps before it is there, which do not concern it; a later one does.
    let rely = "var x: int = 0; thread A { x := 1; spawn J(); SECOND } thread J() rely x' == x; { skip; }";
    means(&rely.replace("SECOND", ""), &[]);
    means(&rely.replace("SECOND", "x := 2;"), &["rely:1"]);
    let of_all = "var x: int = 0; rely tid == 2 ==> x' == x; thread A { x := 1; spawn J(); } thread J() { skip; }";
    means(of_all, &[]);
}

#[test]
fn check_a_spawned_thread_holds_its_argument_as_long_as_it_reads_it() {
    let kept = "class C { v: int; } thread A { var o: C := new C; spawn J(o); } thread J(p: C) { p.v := 1; free p; }";
    means(kept, &[]);
    let dropped = "class C { v: int; } thread A { var o: C := new C; spawn J(o); } thread J(p: C) { if * { p.v := 1; } else { free p; } }";
    means(dropped, &["leak"]);
    let never_read = "class C { v: int; } var c: C = null;
        thread A { var o: C := new C; spawn J(o); } thread J(p: C) { c := new C; free c; c := null; }";
    means(never_read, &["leak"]);
}

#[test]
fn check_spawned_threads_have_the_ids_of_the_order_of_spawning() {
    // Ids go on after the threads that are there from the start, wherever these are declared.
    let text = "var a: int = 0; var b: int = 0;
        thread Main { a := spawn J(); b := spawn K(); assert a == 3 && b == 4; }
        thread K() { skip; } thread J() { assert tid == 3; } thread Other { assert tid == 2; }";
    means(text, &[]);
    let repeated = "var n: int = 0;
        thread Main { while n < 2 { var t: int := spawn J(); assert t == 3 + n; n := n + 1; } }
        thread J() { assert tid >= 3; } thread Other { assert tid == 2; }";
    means(repeated, &[]);
    // The order of the spawns is not certain: both orders are looked at.
    let either = "var a: int = 0;
        thread Main { if * { a := spawn J(); } a := spawn K(); assert a == 2; }
        thread J() { skip; } thread K() { skip; }";
    means(either, &["assert:2"]);
}

/// An atomic block that branches so often before it waits.
fn branches(number: usize) -> String {
    let ifs = "if * { y := y + 1; }".repeat(number);
    format!("var x: int = 0; var y: int = 0; thread A {{ atomic {{ {ifs} assume x == 1; y := 0; }} }} ")
}

#[test]
fn check_an_atomic_block_waits_as_a_whole_whatever_its_size() {
    for number in [1, 6, 8, 9] {
        means(&format!("{} thread B {{ x := 1; }}", branches(number)), &[]);
        means(&branches(number), &["deadlock"]);
        means(&format!("{} thread B {{ assert y == 0; }}", branches(number)), &["deadlock"]);
    }
    let looped = "var x: int = 0; thread A { atomic { var i: int := 0; while i < 3 { i := i + 1; } assume x == 1; } }";
    means(&format!("{looped} thread B {{ x := 1; }}"), &[]);
    means(looped, &["deadlock"]);
    let endless = "var x: int = 0; thread A { atomic { while true { x := 1 - x; } } } thread B { assume x == 2; }";
    means(endless, &[]);
    let spawning =
        "var x: int = 0; thread A { atomic { spawn J(); assume x == 1; } } thread B { x := 1; } thread J() { skip; }";
    means(spawning, &[]);
    means(&spawning.replace("thread B { x := 1; }", ""), &["deadlock"]);
}

#[test]
fn check_a_step_waits_until_there_is_a_store_to_go_to_and_only_then_asserts() {
    means("var x: int = 0; thread A { step <x> x' > x && x' < x asserting x == 1; }", &["deadlock"]);
    means("var x: int = 0; thread A { step <x> x' == x + 1 asserting x == 1; }", &["assert:1"]);
    means("var x: int = 0; thread A { step <x> x' == x + 1 asserting x == 0; }", &[]);
    let waits = "var x: int = 0; thread A { step <x> x == 1 && x' == 2 asserting x == 0; } thread B { x := 1; }";
    means(waits, &["assert:1"]);
}

#[test]
fn check_the_invariant_of_a_thread_is_a_property_at_every_point_of_it() {
    means("var x: int = 0; thread A invariant x == 0; { skip; } thread B { x := 1; }", &["invariant:1"]);
    means("var x: int = 0; thread A invariant x >= 0; { skip; } thread B { x := 1; }", &[]);
    // Broken while it waits, and at no other time.
    let waits = "var x: int = 0; thread A invariant x != 1; { assume x == 2; } thread B { x := 1; x := 2; }";
    means(waits, &["invariant:1"]);
    // It speaks of the thread's parameters and of its id; it ends with the thread.
    means("var x: int = 0; thread A { spawn J(3); } thread J(a: int) invariant a == 3 && tid == 2; { skip; }", &[]);
    means("var x: int = 0; thread A { spawn J(3); } thread J(a: int) invariant a == 3; { a := 4; }", &[]);
    means(
        "var x: int = 0; thread A { spawn J(3); } thread J(a: int) invariant a == 3; { a := 4; skip; }",
        &["invariant:1"],
    );
    means("thread A invariant tid != 1; { } thread B { if * { join 1; } }", &[]);
    means("var x: int = 0; thread A invariant x == 0; { atomic { x := 1; while x > 0 { x := x - 1; } } }", &[]);
}

#[test]
fn check_a_step_that_goes_wrong_early_needs_no_later_input() {
    let text = "class N { v: int; } var top: N = null;
        thread T { atomic { assert top != null; top := new N; assert top.v == 0; } }";
    means(text, &["assert:2"]);
}

#[test]
fn check_large_products_of_machine_integers_wrap() {
    let text = "var h: u64 = 18446744073709551615; var i: i64 = -9223372036854775808;
        thread T { h := h * h; assert h == 1; i := i * i; assert i == 0; }";
    means(text, &[]);
}

#[test]
fn check_callers_hand_over_null_or_live_objects() {
    let violated = |text: &str| -> Vec<String> {
        let mut sources = Sources::new();
        let parsed = parse_file(&mut sources, "test.tp", text.as_bytes());
        let program =
            lower_file(&parsed, &sources, &LoweringSettings::default()).program.expect("the program is accepted");
        let effort = program::client::Effort::Bounded { clients: 1, calls: 2, values: 2 };
        let called = program::callers::callers(&program, None, &[], effort).expect("it can be called").program;
        let faults = program::wellformed::wellformed(&called);
        assert!(faults.is_empty(), "{faults:?}\nin\n{text}");
        let found = reachable_states(&called, &InstanceCounts::of(&called, 1), &ReachLimits::default());
        let mut names: Vec<String> = found.violations.keys().map(|p| called.properties[*p].name.clone()).collect();
        names.sort();
        names
    };
    // A quantifier passes over objects that are not live, so the object of an argument must be live.
    let breaks = "class Cell { v: int; } invariant forall c: Cell :: c != null ==> c.v >= 0;
        proc p(x: Cell) requires x != null; { x.v := -1; }";
    assert_eq!(violated(breaks), ["invariant:1"]);
    let keeps = breaks.replace("x.v := -1", "assert x.v >= 0; x.v := 1");
    assert_eq!(violated(&keeps), Vec::<String>::new());
    // Its locks are free, and what it refers to is there.
    let fresh = "class Node { own: lock; next: Node; } class Other { } var o: Other = null;
        proc p(x: Node) requires x != null; { assert x.own == 0; assert x.next == null || x.next != null; }";
    assert_eq!(violated(fresh), Vec::<String>::new());
    assert_eq!(violated(&breaks.replace("requires x != null;", "")), ["invariant:1", "null:2"]);
}

#[test]
fn check_the_invariant_of_a_loop_must_hold_at_every_arrival_at_its_head() {
    let with = |invariant: &str| {
        format!(
            "var x: int = 0;
            thread T {{ while x < 3
              invariant {invariant};
              {{ x := x + 1; if x == 2 {{ continue; }} }} }}"
        )
    };
    means(&with("x == 0"), &["invariant:3"]);
    means(&with("x <= 2"), &["invariant:3"]);
    means(&with("x != 2"), &["invariant:3"]);
    means(&with("0 <= x && x <= 3"), &[]);
    // Not once: the head is not arrived at again after `break`.
    means("var x: int = 0; thread T { while * invariant x == 0; { x := 1; break; } }", &[]);
    means("var x: int = 0; thread T { while true invariant x == 0; { x := 1; } }", &["invariant:1"]);
    means("var x: int = 0; thread T { while * invariant x == 1; { skip; } }", &["invariant:1"]);
    means("var x: int = 0; thread T { while false invariant x == 1; { skip; } }", &["invariant:1"]);
    // Another thread breaks it while this one is at the head, and not while it is elsewhere.
    means("var x: int = 0; thread T { while * invariant x == 0; { skip; } } thread U { x := 1; }", &["invariant:1"]);
    let elsewhere = "var x: int = 0; var m: lock;
        thread T { acquire m; while * invariant x == 0; { skip; } release m; }
        thread U { acquire m; x := 1; x := 0; release m; }";
    means(elsewhere, &[]);
    // It is a formula: what it divides by may be zero, and it accesses nothing.
    let formula = "var m: lock; var x: int = 0 guarded_by m; var z: int = 0;
        thread T { while * invariant x >= 0 && 1 / z == 0; { skip; } }
        thread U { acquire m; x := 1; release m; }";
    means(formula, &[]);
    // Inside an atomic block, and in a procedure that is inlined.
    means("var x: int = 0; thread T { atomic { while x < 2 invariant x == 0; { x := x + 1; } } }", &["invariant:1"]);
    let inlined = "var x: int = 0;
        proc up(n: int) { while x < n
          invariant x < 2; { x := x + 1; } }
        thread T { up(1); up(2); }";
    means(inlined, &["invariant:3"]);
}

#[test]
fn check_old_is_the_store_in_which_the_procedure_was_entered() {
    let text = "var x: int = 3;
        proc add(a: int) returns (r: int)
          ensures x == old(x) + old(a) && r == old(x);
        { var before: int := x; while a > 0 invariant x >= old(x) && a <= old(a); { x := x + 1; a := a - 1; } return before; }
        thread T { var r: int := add(2); assert r == 3 && x == 5; r := add(1); assert r == 5 && x == 6; }";
    means(text, &[]);
    means(&text.replace("r == old(x);", "r == x;"), &["ensures:add:3"]);
    means(&text.replace("invariant x >= old(x)", "invariant x <= old(x)"), &["invariant:4"]);
    // Another thread may change what was there.
    means(&format!("{text} thread U {{ x := x + 1; }}"), &["assert:5", "assert:5:80", "ensures:add:3"]);
}

#[test]
fn check_reading_and_writing_have_conditions_of_their_own() {
    let text = "var w: lock; var readers: [int]bool; init forall t: int :: !readers[t];
        var x: int = 0 readable_if readers[tid] || w == tid writable_if w == tid;
        thread R { readers[tid] := true; var i: int := x; assert i >= 0; readers[tid] := false; }
        thread W { acquire w; x := x + 1; release w; }";
    means(text, &[]);
    means(&text.replace("var i: int := x;", "x := 1; var i: int := x;"), &["access:x"]);
    means(&text.replace("readers[tid] := true;", ""), &["access:x"]);
}

#[test]
fn check_old_and_own_and_modifies_are_refused_where_they_mean_nothing() {
    let codes = |text: &str| -> Vec<String> {
        let mut sources = Sources::new();
        let parsed = parse_file(&mut sources, "test.tp", text.as_bytes());
        let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
        lowered.diagnostics.iter().map(|d| d.code.0.to_owned()).collect()
    };
    assert_eq!(codes("var x: int; proc p() requires old(x) == 1; { skip; }"), ["E0212"]);
    assert_eq!(codes("proc p() returns (r: int) ensures old(r) == 1; { return 1; }"), ["E0212"]);
    assert_eq!(codes("var x: int; proc p() ensures old(x, x) == 1; { skip; }"), ["E0303"]);
    assert_eq!(codes("class C { v: int; } proc p(c: C) requires own(c); { skip; }"), ["E0302"]);
    assert_eq!(codes("var x: int thread_local;"), ["E0409"]);
    assert_eq!(codes("class C { v: int thread_local; } thread T { var c: C := new C; free c; }"), ["E0409"]);
    assert_eq!(codes("proc p(a: int) modifies a; { skip; }"), ["E0408"]);
    assert_eq!(codes("var x: int; var y: int; proc p() modifies x; performs A: <y> true; { skip; }"), ["E0408"]);
    assert_eq!(codes("thread T modifies x; { skip; }"), ["E0409"]);
    assert!(
        codes("class C { v: int thread_local; } proc p(c: C) requires own(c); modifies c.v; { c.v := 1; }").is_empty()
    );
}
