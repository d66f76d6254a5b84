//! The documents and the checker speak of the same rules and premises.
//!
//! In: the sources of the checker, `docs/rules.md` and `docs/soundness.md`. What the checker asks is stated in the first and argued in
//! the second; a premise that is added to one of them alone makes a test fail.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn texts(folder: &Path, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the checker's sources are there") {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            texts(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(std::fs::read_to_string(&path).expect("a source file is text"));
        }
    }
}

/// The rule and the name of each premise that an obligation may carry.
fn premises_of_the_code() -> BTreeSet<(String, String)> {
    let mut sources = Vec::new();
    texts(&root().join("crates/checker/src/rules"), &mut sources);
    let mut out = BTreeSet::new();
    for text in &sources {
        for call in text.split("Premise::new(").skip(1) {
            let mut quoted = call.split('"').skip(1).step_by(2);
            if let (Some(rule), Some(name)) = (quoted.next(), quoted.next()) {
                out.insert((rule.to_owned(), name.to_owned()));
            }
        }
    }
    out
}

/// The part of a document under a rule's heading.
fn section(document: &str, rule: &str) -> String {
    let after = document.split(&format!("\n## {rule}\n")).nth(1).unwrap_or_else(|| panic!("no section on {rule}"));
    after.split("\n## ").next().unwrap_or(after).to_owned()
}

/// The files of the checker that hold a rule each, by name; a rule in a folder is one.
fn rule_files() -> BTreeSet<String> {
    let folder = root().join("crates/checker/src/rules");
    let entries = std::fs::read_dir(folder).expect("the checker's rules are there");
    let name = |e: std::fs::DirEntry| e.path().file_stem().map(|s| s.to_string_lossy().into_owned());
    let names = entries.map(|e| e.expect("an entry of a folder")).filter_map(name);
    names.filter(|name| name != "mod").collect()
}

/// How often one of the words is called.
fn calls(text: &str, words: &[&str]) -> usize {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(code).map(|l| words.iter().map(|w| l.matches(w).count()).sum::<usize>()).sum()
}

#[test]
fn check_every_rule_has_a_file_of_tests_with_as_many_rejected_as_accepted() {
    let here = root().join("crates/testkit/tests/rules");
    let listed = std::fs::read_to_string(here.join("main.rs")).expect("the list of test files");
    let rules = rule_files();
    assert!(rules.len() >= 17 && rules.contains("reduction"), "the rules are found: {rules:?}");
    for rule in &rules {
        let text = std::fs::read_to_string(here.join(format!("{rule}.rs")));
        let text = text.unwrap_or_else(|_| panic!("rule file {rule}.rs has no file of tests in testkit/tests/rules"));
        assert!(listed.contains(&format!("mod {rule};\n")), "the tests of {rule} are in no test binary");
        let accepted = calls(&text, &[".accepted(", ".refuted(", ".is_ok()", "Ok(Trust", "expect(\"it is accepted"]);
        let rejected = calls(&text, &[".rejected(", " rejected(", ".lacks(", " lacks(", ".not_refuted(", ".is_err()"]);
        assert!(accepted > 0, "{rule}: nothing is accepted");
        assert!(rejected >= accepted, "{rule}: {accepted} accepted, {rejected} rejected");
    }
    // Every form of proof and every kind of run is checked in one of these files.
    for (form, _) in checker::rules::RULES {
        assert!(rules.contains(&form.replace('-', "_")), "no file is named after rule {form}");
    }
}

#[test]
fn check_every_rule_and_premise_of_the_checker_is_stated_and_argued() {
    let read = |name: &str| std::fs::read_to_string(root().join("docs").join(name)).expect("a document");
    let documents = [read("rules.md"), read("soundness.md")];
    for (rule, _) in checker::rules::RULES {
        documents.iter().for_each(|d| assert!(!section(d, rule).trim().is_empty(), "nothing about {rule}"));
    }
    let premises = premises_of_the_code();
    assert!(premises.len() > 35, "the sources are read: {premises:?}");
    for (rule, name) in &premises {
        // `RD2 to RD5` is asked at once.
        for name in name.split(" to ") {
            for (document, d) in ["rules.md", "soundness.md"].iter().zip(&documents) {
                assert!(section(d, rule).contains(name), "{document} does not speak of {name} under {rule}");
            }
        }
    }
}
