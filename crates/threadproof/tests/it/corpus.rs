//! The corpus through the whole tool: no verdict of any method contradicts a truth that a person decided.
//!
//! Little time for each program, so that many stay unknown: abilities are not tested here, only soundness.

use crate::root;
use crate::schema::violations;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::corpus::{Entry, Truth};

/// Programs handed to one process, and processes at once.
const BATCH: usize = 12;
const AT_ONCE: usize = 2;

/// What the header of a C program says is to be checked.
fn wanted_check(entry: &Entry) -> Option<String> {
    let text = String::from_utf8_lossy(&entry.bytes);
    text.lines().find_map(|l| l.strip_prefix("// check: ").map(|c| c.trim().to_string()))
}

fn run(batch: &[&Entry], check: Option<&String>) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadproof"));
    command.current_dir(root()).args(["verify", "--json", "--time", "1s", "--memory", "2G", "--workers", "1"]);
    if let Some(check) = check {
        command.args(["--check", check, "--data-model", "lp64"]);
    }
    let output = command.args(batch.iter().map(|e| &e.path)).output().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|e| {
        let names: Vec<&str> = batch.iter().map(|e| e.name.as_str()).collect();
        panic!("{e} after {:?}: {names:?}: {text} {}", output.status, String::from_utf8_lossy(&output.stderr))
    });
    assert_eq!(violations(&document), Vec::<String>::new());
    document
}

fn word(truth: Truth) -> &'static str {
    match truth {
        Truth::Safe => "safe",
        Truth::Unsafe => "unsafe",
    }
}

/// Where the tool's answer cannot be true.
fn contradictions(entry: &Entry, file: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for error in file["internal_errors"].as_array().into_iter().flatten() {
        wrong.push(format!("{}: internal error: {error}", entry.name));
    }
    if file["stage"] == "rejected" {
        wrong.push(format!("{}: rejected: {}", entry.name, file["diagnostics"]));
    }
    for method in file["methods"].as_array().into_iter().flatten() {
        if method["state"] == "failed" {
            wrong.push(format!("{}: {} failed: {}", entry.name, method["name"], method["reason"]));
        }
    }
    let truth = entry.truth.expect("only programs with a truth are run");
    let decided = |v: &Value| v == "safe" || v == "unsafe";
    if decided(&file["verdict"]) && file["verdict"] != word(truth) {
        wrong.push(format!("{}: {} where the truth is {}", entry.name, file["verdict"], word(truth)));
    }
    for property in file["properties"].as_array().into_iter().flatten() {
        let line = property["place"]["line"].as_u64().map(|l| l as usize);
        let told = line.and_then(|l| entry.lines.get(&l)).copied();
        // In a safe program every property holds; a line of its own says more of an unsafe one.
        let truth = told.or((truth == Truth::Safe).then_some(Truth::Safe));
        // Several properties on one line share the truth only if it is safe.
        let several = file["properties"]
            .as_array()
            .is_some_and(|all| all.iter().filter(|p| p["place"]["line"] == property["place"]["line"]).count() > 1);
        if let Some(truth) = truth
            && decided(&property["verdict"])
            && property["verdict"] != word(truth)
            && !(several && truth == Truth::Unsafe)
        {
            let (name, verdict, method) = (&property["name"], &property["verdict"], &property["method"]);
            wrong.push(format!("{}: {name} is {verdict} by {method}, and the truth is {}", entry.name, word(truth)));
        }
    }
    wrong
}

#[test]
fn check_no_verdict_contradicts_the_truth() {
    let all = testkit::corpus::read(&testkit::corpus::root(), &["tp", "c", "i"]).expect("the corpus can be read");
    let mut groups: BTreeMap<Option<String>, Vec<&Entry>> = BTreeMap::new();
    for entry in all.iter().filter(|e| e.truth.is_some()) {
        groups.entry(wanted_check(entry)).or_default().push(entry);
    }
    let batches: Vec<(Option<String>, &[&Entry])> =
        groups.iter().flat_map(|(check, entries)| entries.chunks(BATCH).map(|b| (check.clone(), b))).collect();
    let (next, wrong, decided) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((check, batch)) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let document = run(batch, check.as_ref());
                    for (entry, file) in batch.iter().zip(document["files"].as_array().into_iter().flatten()) {
                        if file["verdict"] != "unknown" {
                            decided.fetch_add(1, Ordering::Relaxed);
                        }
                        wrong.lock().expect("no thread panics here").extend(contradictions(entry, file));
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("no thread panics here");
    wrong.sort();
    assert!(wrong.is_empty(), "{} contradictions:\n{}", wrong.len(), wrong.join("\n"));
    let (decided, all) = (decided.into_inner(), groups.values().map(Vec::len).sum::<usize>());
    assert!(decided * 3 > all, "only {decided} of {all} programs were decided");
    println!("{decided} of {all} programs decided within a second each");
}
