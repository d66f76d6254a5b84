//! What a person reads: the reason of a failure first, only what matters of a run, two lines for an "unknown", commands that work.

use crate::{Scratch, code, root, stderr, stdout, threadproof};
use std::process::Command;

/// Two threads that lose an update, and one that has nothing to do with it.
const LOST: &str = "var count: int = 0;
var done: int = 0;
var other: int = 0;
thread Add[2] {
  var c: int;
  c := count;
  count := c + 1;
  atomic { done := done + 1; }
}
thread Stroll { other := 1; other := 2; }
thread Check { assume done == 2; assume other == 2 || other == 0 || other == 1; assert count == 2; }
";

/// Undecided within its time by this method.
const ENDLESS: &str = "var a: int = 0;
var b: int = 0;
thread Count[3] { while true { choose { a := a * 3 + b; } or { b := b + a * 2 + 1; } } }
thread Check { assert a * a + b * b + 1 > 0; }
";

fn verify(arguments: &[&str]) -> String {
    stdout(&threadproof(&[&["verify"], arguments].concat()))
}

#[test]
fn check_a_lost_update_is_explained_by_the_value_that_was_read_too_early() {
    let scratch = Scratch::new("lost");
    let path = scratch.file("lost.tp", LOST);
    let text = verify(&[&path, "--method", "explore"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains("assertion `count == 2` fails at lost.tp:11 in thread 4 Check (count = 1)"), "{text}");
    let why = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(why.contains("read count = 0 at line 6 (step "), "{text}");
    assert!(why.contains("and went on with the old value at line 7"), "{text}");
}

#[test]
fn check_steps_and_variables_without_a_part_in_it_are_left_out_unless_asked_for() {
    let scratch = Scratch::new("slice");
    // A run that must take the step that does not matter: `late` waits for it.
    let text = "var x: int = 0;\nvar noise: int = 0;\nthread A { noise := 1; x := 1; }\nthread B { assert x == 0; }\n";
    let path = scratch.file("slice.tp", text);
    let brief = verify(&[&path, "--method", "explore"]);
    assert!(!brief.contains("noise"), "{brief}");
    assert!(brief.contains("(1 step that has no part in it left out; -v shows all)"), "{brief}");
    let full = verify(&[&path, "--method", "explore", "-v"]);
    assert!(full.contains("noise := 1") && full.contains("noise: 0 -> 1"), "{full}");
    assert!(!full.contains("left out"), "{full}");
}

#[test]
fn check_an_overwritten_write_of_another_thread_is_part_of_the_story() {
    let text = verify(&["corpus/c/counter_lost_update.c"]);
    assert!(text.contains("x stays 1") && text.contains("x: 0 -> 1"), "{text}");
    // The threads' ends alone have no part in it.
    assert!(text.contains("(2 steps that have no part in it left out"), "{text}");
    assert!(text.contains("assertion `x == 2` fails at counter_lost_update.c:23 in thread 1 main (x = 1)"), "{text}");
}

#[test]
fn check_a_race_names_both_accesses_and_the_locks() {
    let text = verify(&["corpus/c/array_race.c", "--check", "no-data-race"]);
    let line = text.lines().skip(1).take(2).collect::<Vec<_>>().join(" ");
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains("(no common lock held) races with"), "{text}");
    assert_eq!(line.matches("at array_race.c:").count(), 2, "{text}");
}

#[test]
fn check_a_deadlock_says_who_holds_what() {
    let text = verify(&["corpus/c/deadlock.c", "--check", "no-deadlock"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("waits for b, which thread 3 two holds, at deadlock.c:14"), "{text}");
    assert!(text.contains("waits for a, which thread 2 one holds, at deadlock.c:23"), "{text}");
}

#[test]
fn check_a_broken_object_shows_its_calls_and_why_no_order_explains_them() {
    let text = verify(&["corpus/lockfree/counter_object_split.tp"]);
    assert!(
        text.lines().nth(1).is_some_and(|l| l.contains("no order of the calls explains what they returned")),
        "{text}"
    );
    assert!(text.contains("A  1 Client1  inc() = 0  steps 1 to "), "{text}");
    assert!(
        text.contains("B after A: inc() must return 1") && text.contains("A after B: inc() must return 1"),
        "{text}"
    );
    for ours in ["returned0", "before1", "result0"] {
        assert!(!text.contains(ours), "{ours} is no variable of the program: {text}");
    }
}

#[test]
fn check_an_unknown_is_two_lines_and_the_rest_is_behind_v() {
    let scratch = Scratch::new("two-lines");
    let path = scratch.file("endless.tp", ENDLESS);
    let flags = [&path, "--method", "explore", "--method", "conform", "--time", "700ms"];
    let text = verify(&flags);
    let own: Vec<&str> = text.lines().skip(1).filter(|l| !l.contains("memory model")).collect();
    assert_eq!(own.len(), 2, "{text}");
    assert!(own[0].contains("tried explore; the time limit was reached"), "{text}");
    assert!(own[1].starts_with("  next: give it more time: threadproof verify "), "{text}");
    // The flags are repeated, and the limit is there once.
    assert!(own[1].ends_with("--method explore --method conform --time 30m"), "{text}");
    let full = verify(&[&flags[..], &["-v"]].concat());
    assert!(full.contains("conform does not take this program"), "{full}");
}

#[test]
fn check_the_command_that_is_advised_can_be_typed_with_all_flags() {
    let scratch = Scratch::new("typed");
    let path = scratch.file("it's here.tp", LOST);
    let flags = [
        "--method",
        "explore",
        "--threads",
        "Add=3",
        "--seed",
        "7",
        "--workers",
        "1",
        "--property",
        "assert",
        "--time",
        "20s",
    ];
    let text = verify(&[&[path.as_str()], &flags[..]].concat());
    let line =
        text.lines().find_map(|l| l.trim().strip_prefix("next: walk through it: ")).unwrap_or_else(|| panic!("{text}"));
    let binary = env!("CARGO_BIN_EXE_threadproof");
    let script = line
        .replace("threadproof verify", &format!("{binary} verify"))
        .replace("threadproof simulate", &format!("{binary} simulate"));
    let folder = scratch.path("");
    let output = Command::new("sh").args(["-c", &script]).current_dir(&folder).output().expect("a shell runs");
    // `simulate` along a violation ends in 1.
    assert_eq!(code(&output), 1, "{script}\n{}", stderr(&output));
    assert!(stdout(&output).contains("assert count == 2"), "{}", stdout(&output));
}

#[test]
fn check_lines_keep_to_a_narrow_page() {
    let scratch = Scratch::new("narrow");
    let path = scratch.file("n.tp", LOST);
    for width in [44, 60, 80, 140] {
        let output = Command::new(env!("CARGO_BIN_EXE_threadproof"))
            .args(["verify", &path, "--method", "explore"])
            .env("COLUMNS", width.to_string())
            .env("NO_COLOR", "1")
            .current_dir(root())
            .output()
            .expect("the binary starts");
        let text = stdout(&output);
        // The title and the commands are for copying, and are not broken.
        for line in text.lines().skip(1).filter(|l| !l.contains("next:")) {
            assert!(line.chars().count() <= width, "{width}: {line}\n{text}");
        }
        assert!(text.contains("c := count"), "{width}: no statement is torn apart: {text}");
    }
}

#[test]
fn check_safe_properties_of_one_reason_share_a_line_of_a_long_table() {
    let scratch = Scratch::new("table");
    let checks: String = (0..20).map(|i| format!("assert x >= {};\n", -i)).collect();
    let path = scratch.file("t.tp", format!("var x: int = 0;\nthread A {{ x := x + 1; }}\nthread B {{\n{checks}}}\n"));
    let brief = verify(&[&path, "--method", "explore"]);
    assert!(brief.contains("assert:4 and 19 more"), "{brief}");
    let full = verify(&[&path, "--method", "explore", "-v"]);
    assert!(full.contains("assert:23") && !full.contains("more"), "{full}");
}
