//! What a verdict says that it looked at: warnings about nothing, what was not asked, second opinions; and `--strict`.

use crate::schema::violations;
use crate::{Scratch, code, stdout, threadproof};
use serde_json::Value;

fn report(path: &str, more: &[&str]) -> (i32, Value) {
    let output = threadproof(&[&["verify", path, "--json", "--time", "60s"], more].concat());
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stdout(&output)));
    assert_eq!(violations(&document), Vec::<String>::new());
    (code(&output), document["files"][0].clone())
}

fn codes(file: &Value) -> Vec<(String, u64)> {
    let warnings = file["warnings"].as_array().expect("a list").iter();
    warnings.map(|w| (w["code"].as_str().expect("a code").into(), w["place"]["line"].as_u64().unwrap_or(0))).collect()
}

#[test]
fn check_warnings_have_a_code_and_a_line_and_strict_makes_them_count() {
    let scratch = Scratch::new("meaning-warnings");
    let blocked = scratch.file("blocked.tp", "var x: int = 0;\nthread T {\n  assume x == 5;\n  assert x == 5;\n}\n");
    let (exit, file) = report(&blocked, &[]);
    assert_eq!((exit, codes(&file)), (0, vec![("W0510".into(), 4), ("W0511".into(), 3)]));
    assert_eq!(report(&blocked, &["--strict"]).0, 2);
    let text = stdout(&threadproof(&["verify", &blocked]));
    assert!(text.contains("warning[W0510]") && text.contains("blocked.tp:4"), "{text}");
    let sound = scratch.file("sound.tp", "var x: int = 0;\nthread T { assert x == 0; }\n");
    let (exit, file) = report(&sound, &["--strict"]);
    assert_eq!((exit, codes(&file)), (0, vec![]));
    let nothing = scratch.file("nothing.tp", "var x: int = 0;\nthread T { x := 1; }\n");
    assert_eq!((report(&nothing, &[]).0, report(&nothing, &["--strict"]).0), (0, 2));
}

#[test]
fn check_a_violation_that_was_not_asked_about_is_warned_of() {
    let scratch = Scratch::new("meaning-division");
    let path = scratch.file("zero.tp", "var x: int = 0;\nthread T {\n  x := 1 / x;\n  assert x == 1;\n}\n");
    let (exit, file) = report(&path, &["--property", "assert"]);
    assert_eq!(exit, 0);
    assert!(codes(&file).contains(&("W0509".into(), 3)), "{}", file["warnings"]);
}

#[test]
fn check_what_was_not_asked_is_listed_and_check_all_asks_for_it() {
    let scratch = Scratch::new("meaning-asked");
    let waits =
        scratch.file("waits.tp", "var m: lock;\nvar x: int = 0;\nthread T { acquire m; assert x == 0; acquire m; }\n");
    let (exit, file) = report(&waits, &[]);
    assert_eq!((exit, &file["not_checked"]), (0, &serde_json::json!(["deadlock"])));
    let text = stdout(&threadproof(&["verify", &waits]));
    assert!(text.contains("not checked: deadlock; --check all"), "{text}");
    assert_eq!(report(&waits, &["--check", "all"]).0, 1, "the lock is taken twice");
    assert_eq!(report(&waits, &["--check", "no-data-race"]).0, 65, "not a question about this language");
    let divides =
        scratch.file("divides.c", "#include <assert.h>\nint z;\nint main(void) { assert(z == 0); return 1 / z; }\n");
    let (exit, file) = report(&divides, &[]);
    let missing: Vec<&str> = file["not_checked"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(exit, 0);
    assert_eq!(
        missing,
        ["data races", "overflow", "deadlock", "memory safety", "leaks", "division by zero", "unlocking", "shifts"]
    );
    assert_eq!(report(&divides, &["--check", "all"]).0, 1, "it divides by zero");
}

#[test]
fn check_a_proof_for_any_number_of_threads_has_a_second_opinion() {
    let scratch = Scratch::new("meaning-second");
    let text =
        "var m: lock;\nvar x: int = 0;\nthread T[*] { acquire m; x := x + 1; assert x == 1; x := x - 1; release m; }\n";
    let path = scratch.file("any.tp", text);
    let (exit, file) = report(&path, &[]);
    assert_eq!(exit, 0);
    let second = &file["properties"][0]["second_opinion"];
    assert_eq!((&second["extent"], &second["instances"]), (&Value::from("whole"), &Value::from(3)), "{second}");
    let text = stdout(&threadproof(&["verify", &path]));
    assert!(text.contains("also searched with 3 instances of each thread"), "{text}");
}

#[test]
fn check_commands_that_are_advised_keep_the_options_given() {
    let scratch = Scratch::new("meaning-advice");
    let text = "const N: int = 1;\nvar x: int = 0;\nthread T[*] { x := x + N; assert x < 4; }\n";
    let path = scratch.file("a file.tp", text);
    let text = stdout(&threadproof(&["verify", &path, "--set", "N=2", "--threads", "T=2", "--method", "explore"]));
    let line = text.lines().find(|l| l.contains("next:")).unwrap_or_else(|| panic!("{text}"));
    let options = "--set N=2 --threads T=2 --method explore --trace run.json";
    assert!(line.contains(options) && line.contains(&format!("'{path}'")), "{line}");
    assert!(line.contains("simulate") && line.contains("--threads T=2 --trace run.json"), "{line}");
}

#[test]
fn check_an_unsafe_program_says_first_what_failed_with_which_values_and_why() {
    let scratch = Scratch::new("meaning-headline");
    let path = scratch.file("b.tp", "var x: int = 0;\nthread A { x := 7; }\nthread B {\n  assert x == 0; }\n");
    let text = stdout(&threadproof(&["verify", &path]));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(lines[1], "assertion `x == 0` fails at b.tp:4 in thread 2 B (x = 7)", "{text}");
    assert_eq!(lines[2], "thread 1 A changed x from 0 to 7 at line 2 (step 1)", "{text}");
    let (_, file) = report(&path, &[]);
    assert_eq!(file["properties"][0]["evidence"]["summary"][1], lines[2]);
}

#[test]
fn check_runs_of_c_programs_show_no_variable_that_the_source_does_not_have() {
    let text = stdout(&threadproof(&["verify", "corpus/c/counter_lost_update.c", "--time", "60s"]));
    assert!(text.contains("x: 0 -> 1"), "{text}");
    assert!(!text.contains("t3") && !text.contains("done_work"), "{text}");
}
