//! What `explore` reports on request, and what it gives up: deadlocks, code that is never reached, hashes instead of states.

use crate::{Scratch, code, stdout, threadproof};

fn explored(file: &str, more: &[&str]) -> (i32, String) {
    let output = threadproof(&[&["verify", file, "--method", "explore"], more].concat());
    (code(&output), stdout(&output))
}

#[test]
fn check_deadlocks_are_told_on_request_alone() {
    let scratch = Scratch::new("stuck");
    let text = "var m: lock; var n: lock;
        thread A { acquire m; acquire n; release n; release m; }
        thread B { acquire n; acquire m; release m; release n; }";
    let file = scratch.file("stuck.tp", text);
    let (asked, report) = explored(&file, &["--deadlock"]);
    assert!(asked == 1 && report.contains("unsafe: deadlock"), "{report}");
    assert_eq!(explored(&file, &[]).0, 0);
    let ordered = scratch.file("ordered.tp", text.replace("acquire n; acquire m;", "acquire m; acquire n;"));
    assert_eq!(explored(&ordered, &["--deadlock"]).0, 0);
}

#[test]
fn check_leaks_are_told_on_request_alone() {
    let scratch = Scratch::new("leaks");
    let text = "class Node { next: Node; }\nvar slot: Node = null;\nthread Put[2] {\n  var x: Node := new Node;\n  var old: Node;\n  \
        atomic { old := slot; slot := x; }\n  if old != null {\n    free old;\n  }\n}\n";
    let file = scratch.file("kept.tp", text);
    assert_eq!(explored(&file, &["--leaks"]).0, 0);
    let lossy = scratch.file("lossy.tp", text.replace("old != null", "old != null && old.next == null"));
    let (asked, report) = explored(&lossy, &["--leaks"]);
    assert!(asked == 1 && report.contains("unsafe: leak"), "{report}");
    assert!(report.contains("nothing that is still read leads to Node#2, and it was not freed"), "{report}");
    assert_eq!(explored(&lossy, &[]).0, 0);
    // Memory that is never freed is collected.
    let collected = scratch.file("collected.tp", text.replace("free old", "skip"));
    let (nothing, report) = explored(&collected, &["--leaks"]);
    assert!(nothing == 0 && report.contains("nothing is freed here"), "{report}");
}

#[test]
fn check_code_that_no_run_reaches_is_told_on_request_alone() {
    let scratch = Scratch::new("unreached");
    let text = "var x: int = 0;\nthread T[2] { x := 1; if x == 2 { x := 3; } assert x == 1; }\n";
    let file = scratch.file("unreached.tp", text);
    let (safe, report) = explored(&file, &["--option", "unreachable=on"]);
    assert!(safe == 0 && report.contains("never reached in T: `x := 3`"), "{report}");
    assert!(!explored(&file, &[]).1.contains("never reached"));
    let all = scratch.file("reached.tp", text.replace("x == 2", "x == 1").replace("x := 3", "x := 1"));
    assert!(explored(&all, &["--option", "unreachable=on"]).1.contains("all code is reached"));
}

#[test]
fn check_hashes_instead_of_states_are_never_a_proof_and_say_so() {
    let scratch = Scratch::new("compact");
    let text = "var x: int = 0;\nthread T[2] { x := 1; assert x == 1; }\n";
    let file = scratch.file("compact.tp", text);
    let (unknown, report) = explored(&file, &["--option", "compact=on"]);
    assert!(unknown == 2 && report.contains("distinguished by hashes of 64 bits"), "{report}");
    assert_eq!(explored(&file, &[]).0, 0);
    // A violation that hashes show is a violation, with its run.
    let wrong = scratch.file("wrong.tp", text.replace("x == 1", "x == 0"));
    let (found, report) = explored(&wrong, &["--option", "compact=on"]);
    assert!(found == 1 && report.contains("it was replayed"), "{report}");
}
