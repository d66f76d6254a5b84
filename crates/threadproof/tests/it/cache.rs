//! `verify --cache`: what is used again, and what never is.

use crate::{Scratch, code, stderr, stdout, threadproof};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// Accounts under a lock each, with a loop whose invariant is found.
fn accounts(step: &str, extra: &str) -> String {
    let mut text = String::new();
    for k in 0..2 {
        text += &format!(
            "var m{k}: lock;\nvar low{k}: int = 0;\nvar high{k}: int = 0;\n
proc move{k}(n: int) {{
  var s: int := 0;
  acquire m{k};
  var w: int := high{k};
  while s < n {{ s := s + 1; w := w + {step}; high{k} := w; }}
  {extra}
  assert low{k} <= high{k};
  if low{k} < high{k} {{ low{k} := low{k} + 1; }}
  release m{k};
}}
thread T{k}[*] {{ while true {{ move{k}(5); }} }}\n"
        );
    }
    text
}

struct Place {
    scratch: Scratch,
    folder: String,
}

impl Place {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let folder = scratch.path("cache");
        Self { scratch, folder }
    }

    /// Exit code, report and messages.
    fn verify(&self, text: &str, more: &[&str]) -> (i32, String, String) {
        let file = self.scratch.file("accounts.tp", text);
        let mut arguments = vec!["verify", &file, "--cache", &self.folder];
        arguments.extend(more);
        let output = threadproof(&arguments);
        (code(&output), stdout(&output), stderr(&output))
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut out: Vec<PathBuf> =
            std::fs::read_dir(&self.folder).expect("the folder is there").map(|e| e.expect("a file").path()).collect();
        out.sort();
        out
    }
}

const RELY: &[&str] = &["--method", "rely"];

#[test]
fn check_what_was_found_is_used_again_also_after_an_edit() {
    let place = Place::new("cache-hit");
    let (code, report, notes) = place.verify(&accounts("1", "skip;"), RELY);
    assert_eq!((code, &notes[..]), (0, ""), "{report}");
    assert!(report.contains(" rely ") && !report.contains("from the cache"), "{report}");
    assert_eq!(place.files().len(), 2);

    let (code, report, notes) = place.verify(&accounts("1", "skip;"), RELY);
    assert_eq!((code, &notes[..]), (0, ""), "{report}");
    let unwrapped = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        unwrapped.contains(" recall ") && unwrapped.contains("answers of an earlier run, from the cache)"),
        "{report}"
    );

    // Other lines, other numbers of locations and properties: the annotations are found by name.
    for edited in [accounts("2", "skip;"), accounts("1", "skip;\n  var u: int := w;\n  w := u;")] {
        let (code, report, _) = place.verify(&edited, RELY);
        assert_eq!(code, 0, "{report}");
        assert!(report.contains(" recall "), "{report}");
    }
    // A variable of another name: nothing about it is remembered, and all is found again.
    let (code, report, _) = place.verify(&accounts("1", "skip;").replace("high", "top"), RELY);
    assert_eq!(code, 0, "{report}");
    assert!(report.contains(" rely "), "{report}");
}

#[test]
fn check_an_edit_that_goes_wrong_is_unsafe_whatever_was_remembered() {
    let place = Place::new("cache-wrong");
    assert_eq!(place.verify(&accounts("1", "skip;"), RELY).0, 0);
    let wrong = accounts("1", "high1 := high1 - 9;");
    let (code, report, _) = place.verify(&wrong, &[]);
    assert_eq!(code, 1, "{report}");
    assert!(report.contains("unsafe") && report.contains("replayed"), "{report}");
}

#[test]
fn check_a_damaged_cache_is_told_and_not_used() {
    let place = Place::new("cache-damaged");
    let text = accounts("1", "skip;");
    assert_eq!(place.verify(&text, RELY).0, 0);
    for file in place.files() {
        let mut bytes = std::fs::read(&file).expect("it can be read");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&file, bytes).expect("it can be written");
    }
    let (code, report, notes) = place.verify(&text, RELY);
    assert_eq!(code, 0, "{report}");
    assert!(report.contains(" rely ") && !report.contains("from the cache"), "{report}");
    assert_eq!(notes.matches("is damaged; it was not used").count(), 2, "{notes}");
    // It was written anew.
    assert!(place.verify(&text, RELY).1.contains(" recall "));
}

#[test]
fn check_forged_annotations_prove_nothing() {
    let place = Place::new("cache-forged");
    assert_eq!(place.verify(&accounts("1", "skip;"), RELY).0, 0);
    let file = place.files().into_iter().find(|f| f.extension().is_some_and(|e| e == "json")).expect("annotations");
    let threads: Vec<_> = (0..2)
        .map(|k| json!({ "name": format!("T{k}"), "nodes": [["bool", false]], "rely": [0], "cuts": {} }))
        .collect();
    let never = json!({ "nodes": [["bool", false]], "holds": [0] });
    let lie = json!([{ "invariant": never, "threads": threads, "near": false }]);
    let body = lie.to_string();
    let sum: String = Sha256::digest(&body).iter().map(|b| format!("{b:02x}")).collect();
    let forged = json!({ "format": "threadproof-annotations", "version": 1, "sum": sum, "body": body });
    for (text, expected) in [(accounts("1", "skip;"), 0), (accounts("1", "high1 := 0 - 1;"), 1)] {
        std::fs::write(&file, forged.to_string()).expect("it can be written");
        let (code, report, _) = place.verify(&text, &[]);
        assert_eq!(code, expected, "{report}");
        assert!(!report.contains(" recall "), "{report}");
    }
}
