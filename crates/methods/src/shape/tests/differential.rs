//! Differential tests: random programs with pointers, data, marks, locks inside objects, compare-and-swap on variables and fields,
//! allocation, `free`, atomic blocks, loops and choices; with ids of threads (`testkit::heap::ids`); objects with a specification (`testkit::heap::objects`).
//! What the method proves for any number of threads and the checker accepts is confirmed by the reference semantics for two and
//! three, and every small state's view by each thread is in the certificate. `THREADPROOF_DIFFERENTIAL=20000` makes them long runs, from
//! another place where `THREADPROOF_SEED` says so.

use super::corpus::{certificate_within, load_text};
use crate::explore::linear;
use crate::method::Run;
use base::Budget;
use base::differential::{is_long_run, limited_work, report_agreement, seeds};
use base::random::Random;
use program::clients::Against;
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use program::{ObjectId, PropertyKind};
use std::fmt::Write;
use std::time::Duration;
use testkit::heap::{ids, objects, pointers};

/// Threads over a shared heap; what varies is their number, the start, and every statement.
fn program(seed: u64) -> String {
    let mut r = Random::new(seed);
    let start = ["= null;", ";", ";"][r.below(3)];
    let init = match r.below(4) {
        0 if start == ";" => "init g != null && h != null;\n",
        1 if start == ";" => "init g != null && g.next == null && !g.mark && g.m == 0 && h == null;\n",
        2 if start == ";" => "init g != null && g.val == 1 && h == g;\n",
        _ => "",
    };
    let mut text = format!(
        "class Node {{ next: Node; val: int; mark: bool; m: lock; }}\nvar g: Node {start}\nvar h: Node {start}\n\
         var n: int = 0;\nvar f: bool = false;\nvar m: lock;\n{init}"
    );
    let threads: &[&str] = [&["T[*]"][..], &["T[*]", "U"], &["T[*]", "U[*]"], &["T[2]"]][r.below(4)];
    for thread in threads {
        let _ = write!(
            text,
            "thread {thread} {{\n  var x: Node := null;\n  var y: Node := null;\n  var v: int := 0;\n  var b: bool := false;\n"
        );
        for _ in 0..2 + r.below(5) {
            text.push_str(&statement(&mut r, 0));
        }
        text.push_str("}\n");
    }
    text
}

fn local(r: &mut Random) -> &'static str {
    ["x", "y"][r.below(2)]
}

fn global(r: &mut Random) -> &'static str {
    ["g", "h"][r.below(2)]
}

fn reference(r: &mut Random) -> &'static str {
    ["x", "y", "g", "h"][r.below(4)]
}

fn datum(r: &mut Random) -> &'static str {
    ["v", "n", "0", "1", "v + 1"][r.below(5)]
}

/// A statement that never goes wrong by itself, unless another thread is in the way.
fn statement(r: &mut Random, depth: usize) -> String {
    let (x, y, g, a) = (local(r), local(r), global(r), reference(r));
    let mark = ["true", "false", "b"][r.below(3)];
    match r.below(if depth < 2 { 24 } else { 16 }) {
        0 | 1 => format!("{x} := new Node;\n{x}.next := null;\n{x}.val := {};\n{x}.mark := {mark};\n", datum(r)),
        2 => format!("{x} := new Node;\n{x}.next := {y};\n"),
        3 | 4 => format!("{x} := {a};\n"),
        5 => format!("{g} := {x};\n"),
        6 => format!("if {x} != null {{ {x}.next := {}; }}\n", ["x", "y", "null"][r.below(3)]),
        7 => format!("if {x} != null {{ {y} := {x}.next; }}\n"),
        8 => format!("b := cas({g}, {x}, {});\n", ["x", "y", "null"][r.below(3)]),
        9 => format!("if {x} != null {{ b := cas({x}.next, {}, {y}); }}\n", ["null", "y", "x"][r.below(3)]),
        10 => format!("if {x} != null {{ b := cas({x}.mark, false, true); }}\n"),
        11 => format!("if {x} != null {{ {x}.val := {}; }}\n", datum(r)),
        12 => format!("if {x} != null {{ v := {x}.val; }}\n"),
        13 => ["n := v;\n", "v := n;\n", "f := b;\n", "b := f;\n", "n := n + 1;\n"][r.below(5)].into(),
        14 | 15 => format!("assert {};\n", assertion(r)),
        16 => format!("if {} {{\n{}}}\n", condition(r), statement(r, depth + 1)),
        17 => format!("while * {{\n{}}}\n", statement(r, depth + 1)),
        18 => format!("choose {{\n{}}} or {{\n{}}}\n", statement(r, depth + 1), statement(r, depth + 1)),
        19 => format!("atomic {{\n{}{}}}\n", statement(r, 2), statement(r, 2)),
        20 => format!("acquire m;\n{}{}release m;\n", statement(r, depth + 1), statement(r, depth + 1)),
        21 | 22 => {
            // The lock that is released is the one that was taken, unless the reference changes in between.
            let body = statement(r, 2);
            format!("if {x} != null {{\nacquire {x}.m;\n{body}if {x} != null {{ release {x}.m; }}\n}}\n")
        }
        _ => format!("{}{}", statement(r, depth + 1), statement(r, depth + 1)),
    }
}

fn condition(r: &mut Random) -> String {
    let (a, c) = (reference(r), reference(r));
    match r.below(6) {
        0 => format!("{a} == {c}"),
        1 => format!("{a} == null"),
        2 => "b".into(),
        3 => "v == n".into(),
        4 => "!f".into(),
        _ => "v == 0".into(),
    }
}

fn assertion(r: &mut Random) -> String {
    let (a, c) = (reference(r), reference(r));
    match r.below(9) {
        0 => format!("{a} != null"),
        1 => format!("{a} == null || {a} != {c}"),
        2 => format!("{a} == null || {a}.mark"),
        3 => format!("{a} == null || !{a}.mark"),
        4 => format!("{a} == null || {a}.val == {}", ["v", "n", "0", "1"][r.below(4)]),
        5 => format!("{a} == null || {a}.next == null || {a}.next != {c}"),
        6 => format!("{a} == null || {a}.m == 0 || {a}.m == tid"),
        7 => format!("{a} == {c}"),
        _ => ["v == n", "b || !f", "v == 0", "n == 0 || f"][r.below(4)].into(),
    }
}

#[derive(Default, Debug)]
struct Tally {
    programs: usize,
    proved: usize,
    refused: usize,
    /// Searches of a proved program in which something else, which was not proved, fails.
    violated: usize,
    complete: usize,
    compared: usize,
    /// Programs that were proved to lose nothing, and that were seen to lose something.
    kept: usize,
    lost: usize,
}

impl Tally {
    fn report(&self) {
        report_agreement("shape", self.programs as u64, &format!("{self:?}"));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaks {
    Asked,
    NotAsked,
}

fn compare(program: fn(u64) -> String, leaks: Leaks, seeds: std::ops::Range<u64>) -> Tally {
    compare_with(&|p| certificate_within(p, 1), program, leaks, seeds)
}

/// Finds a certificate, and the properties it is of.
type Prover<'a> = &'a dyn Fn(&program::Program) -> Option<(evidence::views::Views, Vec<program::PropertyId>)>;

fn compare_with(prove: Prover<'_>, program: fn(u64) -> String, leaks: Leaks, seeds: std::ops::Range<u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        tally.programs += 1;
        let text = program(seed);
        if std::env::var_os("THREADPROOF_SHOW").is_some() {
            println!("seed {seed}:\n{text}");
        }
        let mut p = load_text("random.tp", text.as_bytes());
        if leaks == Leaks::Asked {
            super::free::ask(&mut p);
        }
        let leak = program::semantics::leak(&p);
        let Some((views, claimed)) = prove(&p) else { continue };
        if let Err(why) = checker::shape::check_shape(&p, &views, &claimed, &Budget::unlimited()) {
            // A proof is lost; nothing is wrong.
            println!("seed {seed}: {why}\n{text}");
            tally.refused += 1;
            continue;
        }
        tally.proved += claimed.len();
        for copies in [2, 3] {
            let limits = ReachLimits { states: if is_long_run() { 3_000 } else { 500 }, ..ReachLimits::default() };
            let found = reachable_states(&p, &InstanceCounts::of(&p, copies), &limits);
            for id in found.violations.keys() {
                let name = &p.properties[*id].name;
                assert!(!claimed.contains(id), "seed {seed}: {name} is proved and fails with {copies} threads\n{text}");
            }
            tally.violated += usize::from(!found.violations.is_empty());
            tally.complete += usize::from(found.complete());
            tally.lost += usize::from(leak.is_some_and(|l| found.violations.contains_key(&l)));
        }
        tally.kept += usize::from(leak.is_some_and(|l| claimed.contains(&l)));
        let bounds = checker::shape::CoverageLimits { cells: 4, states: 300 };
        match checker::shape::coverage(&p, &views, &claimed, bounds) {
            Ok(seen) => tally.compared += seen.compared,
            Err(why) => panic!("seed {seed}: {why}\n{text}"),
        }
    }
    tally
}

#[test]
fn check_what_is_proved_of_random_heap_programs_holds_for_two_and_three_threads() {
    let tally = compare(pointers::program, Leaks::NotAsked, seeds(60));
    tally.report();
    assert!(tally.proved > 10 && tally.complete > 0, "too little to mean anything: {tally:?}");
}

/// A certificate in which references have several values instead of names wherever they may.
fn with_few_names(p: &program::Program) -> Option<(evidence::views::Views, Vec<program::PropertyId>)> {
    use crate::shape::eval::Alarm;
    let run = Run::quiet(limited_work(Duration::from_secs(1)));
    let few = crate::shape::model::Precision::FewNamesAnywhere;
    let (analysis, _) = crate::shape::analysis::search_fixpoint(p, None, few, &run).ok()?;
    if analysis.alarms.iter().any(|(a, _)| !matches!(a, Alarm::Gate(_))) {
        return None;
    }
    let fails = |id: program::PropertyId| analysis.alarms.iter().any(|(a, _)| *a == Alarm::Gate(id));
    let gates = p.threads.iter().flat_map(|t| t.code.actions.iter()).flat_map(|a| &a.gates).map(|g| g.property);
    let claimed: std::collections::BTreeSet<_> = gates.filter(|id| !fails(*id)).collect();
    let views = crate::shape::certify::views(&analysis.model, analysis.views.iter());
    (!claimed.is_empty()).then(|| (views, claimed.into_iter().collect()))
}

#[test]
fn check_what_is_proved_with_few_names_holds_for_two_and_three_threads() {
    for random in [pointers::program as fn(u64) -> String, program] {
        let open = std::cell::Cell::new(0);
        let prove = |p: &program::Program| {
            let found = with_few_names(p);
            let some = found.iter().any(|(v, _)| v.views.iter().any(|v| !v.open.is_empty()));
            open.set(open.get() + usize::from(some));
            found
        };
        let tally = compare_with(&prove, random, Leaks::NotAsked, seeds(50));
        tally.report();
        assert!(tally.refused * 10 < tally.programs, "proofs are lost between the method and the checker: {tally:?}");
        assert!(open.get() > 5 && tally.proved > 5 && tally.compared > 100, "too little: {} {tally:?}", open.get());
    }
}

#[test]
fn check_what_is_proved_of_programs_with_ids_holds_for_two_and_three_threads() {
    let tally = compare(ids::program, Leaks::NotAsked, seeds(100));
    tally.report();
    assert!(tally.refused * 10 < tally.programs, "proofs are lost between the method and the checker: {tally:?}");
    assert!(
        tally.proved > 60 && tally.violated > 3 && tally.compared > 1_000,
        "too little to mean anything: {tally:?}"
    );
}

#[test]
fn check_objects_that_are_proved_have_no_history_that_no_order_explains() {
    let (mut programs, mut proved, mut refuted, mut refused) = (0, 0, 0, 0);
    let time = Duration::from_millis(300);
    for seed in seeds(12) {
        programs += 1;
        let text = objects::program(seed);
        if std::env::var_os("THREADPROOF_SHOW").is_some() {
            println!("seed {seed}:\n{text}");
        }
        let p = load_text("random.tp", text.as_bytes());
        let run = Run::quiet(limited_work(Duration::from_millis(if is_long_run() { 700 } else { 5_000 })));
        let found = crate::shape::analysis::search_fixpoint(
            &p,
            Some(ObjectId(0)),
            crate::shape::model::Precision::FewNames,
            &run,
        );
        let views = match &found {
            Ok((analysis, _)) if analysis.alarms.is_empty() => {
                Some(crate::shape::certify::views(&analysis.model, analysis.views.iter()))
            }
            _ => None,
        };
        let claimed: Vec<_> =
            p.properties.ids().filter(|id| p.properties[*id].kind == PropertyKind::Linearizable(ObjectId(0))).collect();
        let accepted = match views.map(|v| checker::shape::check_shape(&p, &v, &claimed, &Budget::unlimited())) {
            None => false,
            Some(Ok(_)) => true,
            Some(Err(why)) => {
                println!("seed {seed}: {why}\n{text}");
                refused += 1;
                false
            }
        };
        let run = Run::quiet(limited_work(time));
        let history =
            linear::search_histories(&p, ObjectId(0), linear::ClientBounds::RANGES[0], Against::Orders, &run).found;
        let wrong = history.is_some_and(|h| h.gate.is_none());
        assert!(!(accepted && wrong), "seed {seed}: proved, and a history has no order\n{text}");
        proved += usize::from(accepted);
        refuted += usize::from(wrong);
    }
    let decided = format!("{proved} objects proved, {refuted} refuted, {refused} certificates refused");
    report_agreement("shape", programs, &decided);
    assert!(proved > 1 && refuted > 1, "too little to mean anything: {proved} proved, {refuted} refuted");
}

#[test]
fn check_what_is_proved_of_programs_with_data_marks_and_locks_holds_for_two_and_three_threads() {
    let tally = compare(program, Leaks::NotAsked, seeds(100));
    tally.report();
    assert!(tally.refused * 10 < tally.programs, "proofs are lost between the method and the checker: {tally:?}");
    assert!(
        tally.proved > 100 && tally.complete > 10 && tally.compared > 1_000,
        "too little to mean anything: {tally:?}"
    );
}

/// Threads that take objects out of shared variables and free them: what varies is how, and what stands between.
fn freeing(seed: u64) -> String {
    let mut r = Random::new(seed);
    let mut text = String::from(
        "class Node { next: Node; val: int; }\nvar g: Node = null;\nvar h: Node = null;\nvar n: int = 0;\nvar m: lock;\n",
    );
    for thread in [&["T[*]"][..], &["T[*]", "U[*]"], &["T[*]", "U"]][r.below(3)] {
        let _ = write!(
            text,
            "thread {thread} {{\n  var x: Node := null;\n  var y: Node := null;\n  var b: bool := false;\n"
        );
        for _ in 0..2 + r.below(4) {
            text.push_str(&release(&mut r, 0));
        }
        text.push_str("}\n");
    }
    text
}

fn release(r: &mut Random, depth: usize) -> String {
    let (x, y, g) = (local(r), local(r), global(r));
    match r.below(if depth < 2 { 16 } else { 12 }) {
        0 | 1 => format!("{x} := new Node;\n{x}.next := {};\n{x}.val := 1;\n", ["null", "x", "y", "g"][r.below(4)]),
        2 => format!("{g} := {x};\n"),
        3 | 4 => format!("atomic {{ {x} := {g}; {g} := {}; }}\n", ["null", "y", "h"][r.below(3)]),
        5 | 6 => format!("if {x} != null {{ free {x}; }}\n"),
        7 => format!("{x} := {};\n", ["null", "y", "g", "h"][r.below(4)]),
        8 => format!("b := cas({g}, {y}, {});\n", ["x", "null", "y"][r.below(3)]),
        9 => format!("if {x} != null {{ {y} := {x}.next; }}\n"),
        10 => format!("if {x} != null {{ assert {x}.val == 1 || {x} != {y}; }}\n"),
        11 => format!("if {x} != null {{ {x}.next := {}; }}\n", ["x", "y", "null"][r.below(3)]),
        12 => format!("if b {{\n{}}}\n", release(r, depth + 1)),
        13 => format!("while * {{\n{}}}\n", release(r, depth + 1)),
        14 => format!(
            "acquire m;\n{x} := {g};\nif {x} != null {{ {g} := {x}.next; }}\nrelease m;\nif {x} != null {{ free {x}; }}\n"
        ),
        _ => format!("acquire m;\n{}{}release m;\n", release(r, depth + 1), release(r, depth + 1)),
    }
}

#[test]
fn check_what_is_proved_of_programs_that_free_holds_for_two_and_three_threads() {
    let tally = compare(freeing, Leaks::NotAsked, seeds(150));
    tally.report();
    assert!(tally.refused * 10 < tally.programs, "proofs are lost between the method and the checker: {tally:?}");
    assert!(tally.proved > 20 && tally.compared > 500, "too little to mean anything: {tally:?}");
}

/// Threads that mostly keep hold of what they make: what is handed over, taken out and freed, now and then with a statement that is missing or random.
fn keeping(seed: u64) -> String {
    let mut r = Random::new(seed);
    let mut text = String::from(
        "class Node { next: Node; val: int; }\nvar g: Node = null;\nvar h: Node = null;\nvar n: int = 0;\nvar m: lock;\n",
    );
    for thread in [&["T[*]"][..], &["T[*]", "U[*]"], &["T[*]", "U"]][r.below(3)] {
        let _ = write!(
            text,
            "thread {thread} {{\n  var x: Node := null;\n  var y: Node := null;\n  var b: bool := false;\n"
        );
        for _ in 0..1 + r.below(3) {
            text.push_str(&keep(&mut r));
        }
        text.push_str("}\n");
    }
    text
}

fn keep(r: &mut Random) -> String {
    let g = global(r);
    let o = if g == "g" { "h" } else { "g" };
    let new = |next: &str| format!("x := new Node;\nx.next := {next};\n");
    let whole = match r.below(14) {
        0 => format!("{}acquire m;\nx.next := {g};\n{g} := x;\nrelease m;\n", new("null")),
        1 => format!(
            "acquire m;\nx := {g};\nif x != null {{ {g} := x.next; }}\nrelease m;\nif x != null {{ free x; }}\n"
        ),
        2 => format!("{}atomic {{ y := {g}; {g} := x; }}\nif y != null {{ free y; }}\n", new("null")),
        3 => format!("{}b := cas({g}, null, x);\nif !b {{ free x; }}\n", new("null")),
        4 => format!(
            "atomic {{ x := {g}; {g} := null; }}\nif x != null {{ b := cas({o}, null, x);\nif !b {{ free x; }} }}\n"
        ),
        5 => format!("{}y := x;\n{}free x;\nfree y;\n", new("null"), new("y")),
        6 => format!("{}y := x;\n{}acquire m;\n{g} := x;\nrelease m;\n", new("null"), new("y")),
        7 => format!(
            "acquire m;\nx := {g};\nif x != null {{\ny := x.next;\nif y != null {{ x.next := y.next;\nfree y; }}\n}}\nrelease m;\n"
        ),
        8 => format!(
            "{}y := x;\nacquire m;\nx := {g};\nif x == null {{ {g} := y; }} else {{\nwhile x.next != null {{ x := x.next; }}\nx.next := y;\n}}\nrelease m;\n",
            new("null")
        ),
        9 => "acquire m;\natomic { x := g; g := h; h := x; }\nrelease m;\n".into(),
        10 => format!("acquire m;\nif {g} == null {{\n{}{g} := x;\n}}\nrelease m;\n", new("null")),
        11 => {
            format!("acquire m;\nx := {g};\nwhile x != null {{\n{g} := x.next;\nfree x;\nx := {g};\n}}\nrelease m;\n")
        }
        12 => format!("{}acquire m;\nx.next := {g};\n{g} := x;\n{o} := x;\nrelease m;\n", new("null")),
        _ => release(r, 1),
    };
    if r.below(5) > 0 {
        return whole;
    }
    // Without one statement that stands alone on its line.
    let lines: Vec<&str> = whole.lines().collect();
    let plain: Vec<usize> =
        (0..lines.len()).filter(|i| lines[*i].ends_with(';') && !lines[*i].contains(['{', '}'])).collect();
    let out = plain.get(r.below(plain.len().max(1)));
    lines.iter().enumerate().filter(|(i, _)| Some(i) != out).fold(String::new(), |all, (_, l)| all + l + "\n")
}

#[test]
fn check_what_is_proved_to_lose_nothing_loses_nothing_with_two_and_three_threads() {
    let tally = compare(keeping, Leaks::Asked, seeds(80));
    tally.report();
    assert!(tally.refused * 10 < tally.programs, "proofs are lost between the method and the checker: {tally:?}");
    assert!(tally.kept > 20 && tally.lost > 3, "too little to mean anything: {tally:?}");
}
