//! The corpus through the whole tool: no verdict of any method contradicts a truth that a person decided, and every
//! method still finds what the programs' `finds` lines record.
//!
//! Soundness is tested with all methods side by side and little time for each program, so that many stay unknown.
//! Abilities are tested with each method alone. `THREADPROOF_SLOW_ABILITIES=1` tests the lines `finds slowly`, too.

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

/// Seconds for a program in which every recorded ability must show, and those of the second try on a busy machine.
/// `scripts/abilities` records what takes less than one second of processor time in a release build.
const ABILITY_SECONDS: u32 = 10;
const SECOND_TRY_SECONDS: u32 = 90;
const SLOW_ABILITY_SECONDS: u32 = 600;

/// What the header of a C program says is to be checked.
fn wanted_check(entry: &Entry) -> Option<String> {
    let text = String::from_utf8_lossy(&entry.bytes);
    text.lines().find_map(|l| l.strip_prefix("// check: ").map(|c| c.trim().to_string()))
}

fn run(batch: &[&Entry], check: Option<&String>, method: Option<&str>, seconds: u32) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadproof"));
    command.current_dir(root()).args(["verify", "--json", "--memory", "2G", "--workers", "1"]);
    command.arg("--time").arg(format!("{seconds}s"));
    if let Some(method) = method {
        command.args(["--method", method]);
    }
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

fn verdict_name(truth: Truth) -> &'static str {
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
    if decided(&file["verdict"]) && file["verdict"] != verdict_name(truth) {
        wrong.push(format!("{}: {} where the truth is {}", entry.name, file["verdict"], verdict_name(truth)));
    }
    for property in file["properties"].as_array().into_iter().flatten() {
        let line = property["place"]["line"].as_u64().map(|l| l as usize);
        let of_this_line = line.and_then(|l| entry.lines.get(&l)).copied();
        // In a safe program every property holds; a line of its own says more of an unsafe one.
        let truth = of_this_line.or((truth == Truth::Safe).then_some(Truth::Safe));
        // Several properties on one line share the truth only if it is safe.
        let several = file["properties"]
            .as_array()
            .is_some_and(|all| all.iter().filter(|p| p["place"]["line"] == property["place"]["line"]).count() > 1);
        if let Some(truth) = truth
            && decided(&property["verdict"])
            && property["verdict"] != verdict_name(truth)
            && !(several && truth == Truth::Unsafe)
        {
            let (name, verdict, method) = (&property["name"], &property["verdict"], &property["method"]);
            wrong.push(format!(
                "{}: {name} is {verdict} by {method}, and the truth is {}",
                entry.name,
                verdict_name(truth)
            ));
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
                    let document = run(batch, check.as_ref(), None, 1);
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

/// One run of the tool: programs that a method decides, each in at most so many seconds.
struct Abilities<'c> {
    method: &'c str,
    check: Option<String>,
    seconds: u32,
    programs: Vec<&'c Entry>,
}

impl Abilities<'_> {
    fn answers(&self, programs: &[&Entry], seconds: u32) -> Vec<Value> {
        let method = (self.method != "portfolio").then_some(self.method);
        let document = run(programs, self.check.as_ref(), method, seconds);
        let files = document["files"].as_array().expect("a report lists its files").clone();
        assert_eq!(files.len(), programs.len(), "a report for each file");
        files
    }
    /// The programs that the method does not decide any more, with what it says now.
    fn lost(&self) -> Vec<String> {
        let mut lost = Vec::new();
        for (entry, answer) in self.programs.iter().zip(self.answers(&self.programs, self.seconds)) {
            let wanted = verdict_name(entry.truth.expect("only programs with a truth have abilities"));
            if answer["verdict"] == wanted {
                continue;
            }
            let second = self.answers(&[entry], self.seconds.max(SECOND_TRY_SECONDS)).remove(0);
            if second["verdict"] != wanted {
                let (method, said) = (self.method, &second["verdict"]);
                let reasons: Vec<String> = ["methods", "properties"]
                    .iter()
                    .flat_map(|part| second[*part].as_array().into_iter().flatten())
                    .flat_map(|item| [&item["reason"], &item["reasons"]])
                    .filter(|reason| !reason.is_null() && reason.as_array().is_none_or(|all| !all.is_empty()))
                    .map(Value::to_string)
                    .collect();
                let reasons: String = reasons.join("; ").chars().take(300).collect();
                lost.push(format!("{}: {method} decided {wanted} and now says {said}: {reasons}", entry.name));
            }
        }
        lost
    }
}

/// What the corpus records, in runs of few programs.
fn recorded_abilities<'c>(all: &'c [Entry], names: fn(&Entry) -> &Vec<String>, seconds: u32) -> Vec<Abilities<'c>> {
    let mut groups: BTreeMap<(&str, Option<String>), Vec<&Entry>> = BTreeMap::new();
    for entry in all.iter().filter(|e| e.truth.is_some()) {
        for method in names(entry).iter().filter(|m| *m != "none") {
            groups.entry((method, wanted_check(entry))).or_default().push(entry);
        }
    }
    let runs = groups.into_iter().flat_map(|((method, check), programs)| {
        let parts: Vec<Vec<&Entry>> = programs.chunks(BATCH).map(<[&Entry]>::to_vec).collect();
        parts.into_iter().map(move |programs| Abilities { method, check: check.clone(), seconds, programs })
    });
    runs.collect()
}

/// New programs may wait for the next quiet run of `scripts/abilities`; the record as a whole may not fall behind.
#[test]
fn check_nearly_every_program_with_a_truth_records_who_decides_it() {
    let all = testkit::corpus::read(&testkit::corpus::root(), &["tp", "c", "i"]).expect("the corpus can be read");
    let with_truth: Vec<&Entry> = all.iter().filter(|e| e.truth.is_some()).collect();
    let silent = with_truth.iter().filter(|e| e.finds.is_empty() && e.finds_slowly.is_empty());
    let silent: Vec<&str> = silent.map(|e| e.name.as_str()).collect();
    assert!(silent.len() * 10 <= with_truth.len(), "run scripts/abilities and read what it writes for {silent:?}");
}

#[test]
fn check_every_recorded_ability_is_still_there() {
    let all = testkit::corpus::read(&testkit::corpus::root(), &["tp", "c", "i"]).expect("the corpus can be read");
    let mut runs = recorded_abilities(&all, |e| &e.finds, ABILITY_SECONDS);
    if std::env::var_os("THREADPROOF_SLOW_ABILITIES").is_some() {
        runs.extend(recorded_abilities(&all, |e| &e.finds_slowly, SLOW_ABILITY_SECONDS));
    }
    let recorded: usize = runs.iter().map(|r| r.programs.len()).sum();
    assert!(recorded > 500, "the corpus records abilities: only {recorded}");
    let (next, lost) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    lost.lock().expect("no thread panics here").extend(run.lost());
                }
            });
        }
    });
    let mut lost = lost.into_inner().expect("no thread panics here");
    lost.sort();
    assert!(
        lost.is_empty(),
        "{} of {recorded} abilities are lost (where that is right, because the proof was wrong or the program changed, \
         take the method out of the program's `finds` line and say why in the commit):\n{}",
        lost.len(),
        lost.join("\n")
    );
    println!("{recorded} recorded abilities are there");
}
