//! `verify`, `audit` and `simulate` through the whole pipe: verdicts, evidence, limits, interruption.

use crate::schema::violations;
use crate::{Scratch, code, root, stderr, stdout, threadproof};
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Two threads that add to a counter under a lock.
const LOCKED: &str = "
var m: lock;
var count: int = 0;
var done: int = 0;
thread Add[2] { acquire m; count := count + 1; done := done + 1; release m; }
thread Check { assume done == 2; assert count == 2; }
";
/// The same without the lock.
const RACY: &str = "
var count: int = 0;
var done: int = 0;
thread Add[2] { var c: int; c := count; count := c + 1; atomic { done := done + 1; } }
thread Check { assume done == 2; assert count == 2; }
";
/// Never finished by a search, and nothing is wrong in it.
const ENDLESS: &str = "
var a: int = 0;
var b: int = 0;
var c: int = 0;
thread Count[3] { while true { choose { a := a * 3 + b; } or { b := b + a * 2 + 1; } or { c := c + a * b + 1; } } }
thread Check { assert a * a + b * b + c * c + 1 > 0; }
";

fn json(output: &std::process::Output) -> Value {
    let document: Value = serde_json::from_str(&stdout(output)).unwrap_or_else(|e| panic!("{e}: {}", stdout(output)));
    assert_eq!(violations(&document), Vec::<String>::new());
    document
}

#[test]
fn check_a_safe_program_is_safe_and_an_unsafe_one_shows_its_run() {
    let scratch = Scratch::new("verdicts");
    let locked = scratch.file("locked.tp", LOCKED);
    let output = threadproof(&["verify", &locked]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(stdout(&output).starts_with(&format!("{locked}: safe")), "{}", stdout(&output));
    assert!(stdout(&output).contains("memory model: sequential consistency"));

    let racy = scratch.file("racy.tp", RACY);
    let output = threadproof(&["verify", &racy]);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    let text = stdout(&output);
    assert!(text.starts_with(&format!("{racy}: unsafe")), "{text}");
    assert!(text.contains("replayed") && text.contains("racy.tp:5") && text.contains("assert count == 2"), "{text}");
    assert!(text.contains("next: "), "{text}");

    let both = threadproof(&["verify", &locked, &racy]);
    assert_eq!(code(&both), 1);
    assert!(stdout(&both).contains("2 files: 1 unsafe, 1 safe"), "{}", stdout(&both));
}

#[test]
fn check_equal_runs_give_equal_bytes_and_no_colour_in_a_pipe() {
    let scratch = Scratch::new("bytes");
    let racy = scratch.file("racy.tp", RACY);
    let run = || threadproof(&["verify", &racy, "--method", "explore", "--workers", "1", "--json"]).stdout;
    assert_eq!(run(), run());
    let text = stdout(&threadproof(&["verify", &racy]));
    assert!(!text.contains('\x1b'), "{text}");
    assert!(stdout(&threadproof(&["verify", &racy, "--color", "always"])).contains('\x1b'));
}

#[test]
fn check_json_follows_its_schema_for_every_outcome() {
    let scratch = Scratch::new("json");
    let safe = scratch.file("safe.tp", LOCKED);
    let bad = scratch.file("bad.tp", RACY);
    let broken = scratch.file("broken.tp", "thread {");
    let endless = scratch.file("endless.tp", ENDLESS);
    let files = [safe.as_str(), &bad, &broken, &endless, "missing.tp"];
    let output = threadproof(&[&["verify", "--json", "--time", "1s", "--method", "explore"], &files[..]].concat());
    assert_eq!(code(&output), 65);
    let document = json(&output);
    let verdicts: Vec<&str> =
        document["files"].as_array().expect("files").iter().filter_map(|f| f["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["safe", "unsafe", "unknown", "unknown", "unknown"]);
    let property = &document["files"][1]["properties"][0];
    assert_eq!(property["verdict"], "unsafe");
    assert_eq!(property["trust"]["level"], "replayed");
    assert_eq!(property["evidence"]["kind"], "trace");
    assert_eq!(property["place"]["line"], 5);
    let sequential = |a: &Value| a["code"] == "sequential-consistency";
    assert!(property["assumptions"].as_array().expect("a list").iter().any(sequential));
}

#[test]
fn check_constants_threads_and_properties_can_be_chosen() {
    let scratch = Scratch::new("chosen");
    let text =
        "const N: int = 1; var x: int = 0; thread T[*] { x := x + N; } thread C { assert x < 3; assert x >= 0; }";
    let path = scratch.file("x.tp", text);
    let verify =
        |more: &[&str]| threadproof(&[&["verify", &path, "--time", "10s", "--method", "explore"], more].concat());
    assert_eq!(code(&verify(&["--threads", "T=2"])), 0);
    assert_eq!(code(&verify(&["--threads", "T=3"])), 1);
    assert_eq!(code(&verify(&["--threads", "T=2", "--set", "N=2"])), 1);
    let fixed = json(&verify(&["--threads", "T=2", "--json"]));
    assert_eq!(fixed["files"][0]["assumptions"][0]["code"], "instances");
    let names: Vec<String> = fixed["files"][0]["properties"]
        .as_array()
        .expect("properties")
        .iter()
        .map(|p| p["name"].as_str().expect("a name").to_string())
        .collect();
    assert_eq!(names.len(), 2);
    assert_eq!(code(&verify(&["--threads", "T=3", "--property", &names[1]])), 0);
    assert_eq!(code(&verify(&["--threads", "Nobody=3"])), 65);
    assert_eq!(code(&verify(&["--set", "M=3"])), 65);
    assert_eq!(code(&verify(&["--property", "no such"])), 65);
}

#[test]
fn check_audit_reports_the_weakest_trust_of_a_composition() {
    let scratch = Scratch::new("weakest");
    let program = scratch.file(
        "once.tp",
        "var x: int = 0;\nmachine M { start s asserts x >= 0; state e asserts x >= 0; s -> e : <x> x' == x + 1; }\n\
         thread T follows M { x := x + 1; assert x >= 0; }\n",
    );
    let proof = scratch.path("proof.json");
    let output = threadproof(&["verify", &program, "--certificate", &proof, "--method", "conform"]);
    assert_eq!(code(&output), 0, "{} {}", stdout(&output), stderr(&output));
    let text = std::fs::read_to_string(&proof).expect("it was written");
    assert!(text.contains("\"composed\""), "{text}");
    // The entries by property, with verdict, level and reason.
    let audited = |proof: &str| -> (i32, std::collections::BTreeMap<String, [String; 3]>) {
        let output = threadproof(&["audit", "--json", proof, &program]);
        let report: Value = serde_json::from_str(&stdout(&output)).expect("a JSON document");
        let word = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let entries = report["entries"]
            .as_array()
            .expect("a list of entries")
            .iter()
            .map(|e| (word(&e["property"]), [word(&e["verdict"]), word(&e["trust"]["level"]), word(&e["reason"])]));
        (code(&output), entries.collect())
    };
    // The search inside was repeated: the composition has the level of the rest.
    let (exit, entries) = audited(&proof);
    assert_eq!(exit, 0, "{entries:?}");
    assert_eq!(entries["assert:3"][0], "safe");
    assert_ne!(entries["assert:3"][1], "searched-once");
    // A number of states that is not counted again, deep inside: the whole is worth no more, and is not accepted.
    let mut boast: Value = serde_json::from_str(&text).expect("JSON");
    fn replace(value: &mut Value, replaced: &mut usize) {
        match value {
            Value::Object(map) => map.iter_mut().for_each(|(key, inner)| match key.as_str() {
                "states" if inner.is_u64() => {
                    *inner = serde_json::json!(1_000_001);
                    *replaced += 1;
                }
                _ => replace(inner, replaced),
            }),
            Value::Array(list) => list.iter_mut().for_each(|inner| replace(inner, replaced)),
            _ => {}
        }
    }
    let mut replaced = 0;
    replace(&mut boast, &mut replaced);
    assert_eq!(replaced, 1);
    let (exit, entries) = audited(&scratch.file("boast.json", boast.to_string()));
    assert_eq!(exit, 2, "{entries:?}");
    assert_eq!(entries["assert:3"][..2], ["unknown", "searched-once"]);
    assert!(entries["assert:3"][2].contains("too large to be repeated"), "{entries:?}");
    assert_eq!(entries["follows:T"][0], "safe", "what does not rest on the search still holds");
}

#[test]
fn check_a_certificate_is_audited_and_a_forged_one_rejected() {
    let scratch = Scratch::new("audit");
    let program = scratch.file("locked.tp", LOCKED);
    let proof = scratch.path("proof.json");
    let output = threadproof(&["verify", &program, "--certificate", &proof, "--method", "explore"]);
    assert_eq!(code(&output), 0, "{} {}", stdout(&output), stderr(&output));
    let audited = threadproof(&["audit", &proof, &program]);
    assert_eq!(code(&audited), 0, "{} {}", stdout(&audited), stderr(&audited));
    assert!(stdout(&audited).contains("accepted"));

    let text = std::fs::read_to_string(&proof).expect("it was written");
    let other = scratch.file("racy.tp", RACY);
    assert_eq!(code(&threadproof(&["audit", &proof, &other])), 65, "it is about another program");
    let cut = scratch.file("cut.json", &text[..text.len() / 2]);
    assert_eq!(code(&threadproof(&["audit", &cut, &program])), 65);
    let newer = scratch.file("newer.json", text.replace("\"version\": 1", "\"version\": 2"));
    assert_eq!(code(&threadproof(&["audit", &newer, &program])), 65);
    // Another number of instances: read well, not accepted.
    let forged: Value = serde_json::from_str(&text).expect("JSON");
    let mut forged = forged.clone();
    forged["entries"][0]["proof"]["instances"] = serde_json::json!([1, 1]);
    let forged = scratch.file("forged.json", forged.to_string());
    let output = threadproof(&["audit", &forged, &program]);
    assert_ne!(code(&output), 0, "{}", stdout(&output));
    // A number of states that cannot be counted again is no evidence.
    let mut boast: Value = serde_json::from_str(&text).expect("JSON");
    boast["entries"][0]["proof"]["states"] = serde_json::json!(u64::MAX / 4);
    let boast = scratch.file("boast.json", boast.to_string());
    assert_ne!(code(&threadproof(&["audit", &boast, &program])), 0);
    for bytes in [&b""[..], b"{}", b"[]", b"null", b"\xff\xfe", b"{\"format\": 1}"] {
        let path = scratch.file("bytes.json", bytes);
        assert_eq!(code(&threadproof(&["audit", &path, &program])), 65);
    }
}

#[test]
fn check_a_trace_can_be_walked_and_audited() {
    let scratch = Scratch::new("trace");
    let program = scratch.file("racy.tp", RACY);
    let trace = scratch.path("run.json");
    assert_eq!(code(&threadproof(&["verify", &program, "--trace", &trace])), 1);
    let walked = threadproof(&["simulate", &program, "--trace", &trace]);
    assert_eq!(code(&walked), 1, "{}", stderr(&walked));
    assert!(stdout(&walked).contains("assert count == 2"), "{}", stdout(&walked));
    assert_eq!(code(&threadproof(&["audit", &trace, &program])), 1);
    let other = scratch.file("locked.tp", LOCKED);
    assert_eq!(code(&threadproof(&["simulate", &other, "--trace", &trace])), 65);
}

#[test]
fn check_what_is_advised_after_a_violation_works() {
    let scratch = Scratch::new("advice");
    let trace = scratch.path("run.json");
    // Callers of a procedure: a run of a whole program.
    let called = b"var m: lock;\nvar x: int = 0 guarded_by m;\nproc bump() { acquire m; x := x + 1; assert x < 3; release m; }\n";
    let program = scratch.file("called.tp", called);
    let output = threadproof(&["verify", &program, "--trace", &trace]);
    assert!(stdout(&output).contains("threadproof simulate"), "{}", stdout(&output));
    assert_eq!(code(&threadproof(&["simulate", &program, "--trace", &trace])), 1);
    // A thread and its machine: a run of the thread alone.
    let light = b"machine Light { start Red; state Green; Red -> Green: <g> g' == 1; Green -> Red: <g> g' == 0; }\n\
        var g: int = 0;\nthread L follows Light { g := 1; g := 2; }\n";
    let program = scratch.file("light.tp", light);
    let output = threadproof(&["verify", &program, "--trace", &trace]);
    assert!(!stdout(&output).contains("threadproof simulate"), "{}", stdout(&output));
    assert!(stdout(&output).contains("threadproof audit run.json"), "{}", stdout(&output));
    assert_eq!(code(&threadproof(&["audit", &trace, &program])), 1);
}

#[test]
fn check_models_are_printed_and_read_back() {
    let scratch = Scratch::new("model");
    let program = scratch.file("racy.tp", RACY);
    let shown = threadproof(&["show", &program]);
    assert_eq!(code(&shown), 0);
    let model = scratch.file("racy.model", &shown.stdout);
    let again = threadproof(&["show", &model]);
    assert_eq!(code(&again), 0, "{}", stderr(&again));
    assert_eq!(code(&threadproof(&["verify", &model])), 1);
    let dot = stdout(&threadproof(&["show", &program, "--thread", "Add", "--dot"]));
    assert!(dot.starts_with("digraph") && dot.contains("->"), "{dot}");
    assert_eq!(code(&threadproof(&["show", &program, "--thread", "Nobody"])), 64);
    assert!(stdout(&threadproof(&["show", &program, "--properties"])).contains("assert"));
}

#[test]
fn check_the_time_limit_ends_in_unknown() {
    let scratch = Scratch::new("time");
    let path = scratch.file("endless.tp", ENDLESS);
    let start = Instant::now();
    let output = threadproof(&["verify", &path, "--time", "700ms", "--method", "explore"]);
    // Far above the limit, because a test machine may be busy; what is tested is that it ends at all.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(code(&output), 2, "{}", stdout(&output));
    assert!(stdout(&output).contains("the time limit was reached"), "{}", stdout(&output));
}

#[test]
fn check_the_memory_limit_ends_in_unknown() {
    let scratch = Scratch::new("memory");
    let path = scratch.file("endless.tp", ENDLESS);
    let output = threadproof(&["verify", &path, "--memory", "40M", "--time", "60s", "--method", "explore"]);
    assert_eq!(code(&output), 2, "{}", stdout(&output));
    assert!(stdout(&output).contains("memory limit"), "{}", stdout(&output));
}

/// What `verify` says of these files if it is interrupted after a while.
fn interrupted(files: &[&str]) -> Output {
    let child = Command::new(env!("CARGO_BIN_EXE_threadproof"))
        .arg("verify")
        .args(files)
        .args(["--method", "explore"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    std::thread::sleep(Duration::from_millis(1500));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let start = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    output
}

#[test]
fn check_an_interruption_tells_what_is_known() {
    let scratch = Scratch::new("interrupt");
    let path = scratch.file("endless.tp", ENDLESS);
    let safe = scratch.file("safe.tp", LOCKED);
    let output = interrupted(&[&safe, &path]);
    assert_eq!(code(&output), 2, "{}", stdout(&output));
    let text = stdout(&output);
    assert!(text.contains("safe.tp: safe") && text.contains("it was interrupted"), "{text}");
}

#[test]
fn check_an_interruption_keeps_a_violation_found_before() {
    let scratch = Scratch::new("interrupt-violated");
    let text = "var x: int = 0;\nvar y: int = 0;\nthread A { while true { x := x + 1; } }\n\
                thread B { while true { y := y + 1; assert y != 3; assert x + y != -1; } }\n";
    let path = scratch.file("endless.tp", text);
    let output = interrupted(&[&path]);
    let text = stdout(&output);
    assert_eq!(code(&output), 1, "{text}");
    assert!(text.contains("1 unsafe, 1 unknown") && text.contains("it was replayed"), "{text}");
    assert!(text.contains("it was interrupted"), "{text}");
}

#[test]
fn check_a_program_without_a_first_store_is_warned_of() {
    let scratch = Scratch::new("vacuous");
    let none = scratch.file("none.tp", "var s: set<int>;\ninit 1 in s;\nthread T { assert false; }\n");
    let text = stdout(&threadproof(&["verify", &none]));
    assert!(text.contains("warning[W0501]") && text.contains("none.tp:2:1"), "{text}");
    let some = scratch.file("some.tp", "var s: set<int> = {1};\ninit 1 in s;\nthread T { assert 1 in s; }\n");
    let text = stdout(&threadproof(&["verify", &some]));
    assert!(!text.contains("warning"), "{text}");
}
