//! The rules of the house that a compiler does not check: which crate may use which, file headers, file sizes, names.

use crate::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const LONGEST_FILE: usize = 900;

/// The table of ARCHITECTURE.md: each crate and the crates it may use.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let section = text.split("## The crates").nth(1).expect("it has the section of crates");
    let section = section.split("\n## ").next().expect("a section ends");
    let rows = section.lines().filter(|l| l.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim().trim_matches('|').split('|').map(str::trim).collect();
        let uses = cells[2].split(',').map(str::trim).filter(|c| !c.is_empty()).map(str::to_string).collect();
        (cells[0].trim_matches('`').to_string(), uses)
    })
    .collect()
}

/// What the manifests say: each crate and the crates of the workspace that it uses outside of tests.
fn actual() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages are a list");
    let names: BTreeSet<String> = packages.iter().filter_map(|p| p["name"].as_str().map(str::to_string)).collect();
    packages
        .iter()
        .map(|p| {
            let uses = p["dependencies"].as_array().expect("dependencies are a list").iter();
            // A crate's tests may use what they like: only `testkit` exists for them.
            let uses = uses.filter(|d| d["kind"].as_str() != Some("dev"));
            let uses = uses.filter_map(|d| d["name"].as_str()).filter(|d| names.contains(*d)).map(str::to_string);
            (p["name"].as_str().expect("a package has a name").to_string(), uses.collect())
        })
        .collect()
}

#[test]
fn check_crates_use_only_what_the_architecture_allows() {
    let allowed = allowed();
    let actual = actual();
    assert_eq!(
        allowed.keys().collect::<Vec<_>>(),
        actual.keys().collect::<Vec<_>>(),
        "the table of ARCHITECTURE.md lists every crate of the workspace and no other"
    );
    for (name, uses) in &actual {
        let wrong: Vec<&String> = uses.difference(&allowed[name]).collect();
        assert!(wrong.is_empty(), "{name} uses {wrong:?}, which ARCHITECTURE.md does not allow");
    }
}

#[test]
fn check_the_checker_stands_alone() {
    let uses = &actual()["checker"];
    for forbidden in ["solver", "methods", "frontend", "z3-provider"] {
        assert!(!uses.contains(forbidden), "the checker uses {forbidden}");
        assert!(!allowed()["checker"].contains(forbidden), "ARCHITECTURE.md lets the checker use {forbidden}");
    }
    for file in sources(&root().join("crates/checker")) {
        let text = std::fs::read_to_string(&file).expect("a source file can be read");
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
        for line in code {
            assert!(!line.contains("simplif"), "{} uses the simplifier: {line}", file.display());
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder can be read").flatten() {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_some_and(|n| n != "target") {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn check_every_file_opens_with_a_header_and_is_not_too_long() {
    let mut wrong = Vec::new();
    for file in sources(&root().join("crates")) {
        let text = std::fs::read_to_string(&file).expect("a source file can be read");
        if !text.starts_with("//!") {
            wrong.push(format!("{} does not start with `//!`", file.display()));
        }
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            wrong.push(format!("{} has {lines} lines; {LONGEST_FILE} is the most", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn check_nothing_is_left_open_in_the_code() {
    // Spelt in two parts, so that this file does not find itself. A long test may be left out of the daily tests, but it
    // must say why.
    let words = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME"), concat!("#[", "ignore]")];
    for file in sources(&root().join("crates")) {
        let text = std::fs::read_to_string(&file).expect("a source file can be read");
        for word in words {
            assert!(!text.contains(word), "{} contains {word}", file.display());
        }
    }
}

#[test]
fn check_every_assumption_is_listed() {
    let listed = std::fs::read_to_string(root().join("docs/assumptions.md")).expect("the list is there");
    let mut codes = BTreeSet::new();
    for file in sources(&root().join("crates")) {
        let text = std::fs::read_to_string(&file).expect("a source file can be read");
        let starts = ["Assumption { code: \"", "\n            code: \"", ".assume(\"", "=> (\"c-", "\"c-"];
        for (start, part) in starts.iter().flat_map(|s| text.split(s).skip(1).map(move |p| (*s, p))) {
            let code = part.split('"').next().unwrap_or_default();
            let code = if start.ends_with("c-") { format!("c-{code}") } else { code.to_string() };
            let fits = code.len() > 3 && code.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if fits && file.components().any(|c| c.as_os_str() == "src") {
                codes.insert(code);
            }
        }
    }
    assert!(codes.contains("sequential-consistency") && codes.contains("instances"), "{codes:?}");
    let missing: Vec<&String> = codes.iter().filter(|c| !listed.contains(&format!("| `{c}` |"))).collect();
    assert!(missing.is_empty(), "docs/assumptions.md does not list {missing:?}");
}

/// A debt is tolerated by a line that is the same; names of types may also have become rarer, and cycles smaller.
fn is_tolerated(debt: &str, listed: &[&str]) -> bool {
    let parts: Vec<&str> = debt.split(' ').collect();
    listed.iter().any(|line| {
        let other: Vec<&str> = line.split(' ').collect();
        match (parts.as_slice(), other.as_slice()) {
            (["type", name, now], ["type", known, then]) => {
                name == known && now.parse::<usize>().ok() <= then.parse::<usize>().ok()
            }
            (["cycle", now @ ..], ["cycle", then @ ..]) => now.iter().all(|module| then.contains(module)),
            _ => debt == *line,
        }
    })
}

#[test]
fn check_the_debts_of_the_house_only_shrink() {
    let output = Command::new("python3").arg(root().join("scripts/figures")).arg("--debts").output();
    let output = output.expect("python3 runs: the build needs it, too");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = String::from_utf8_lossy(&output.stdout);
    let listed = include_str!("debts.txt");
    let listed: Vec<&str> = listed.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).collect();
    let new: Vec<&str> = found.lines().filter(|debt| !is_tolerated(debt, &listed)).collect();
    assert!(
        new.is_empty(),
        "the rules of the house (see the head of scripts/figures) do not allow:\n{}\nGive it a name of its own, or the \
         header its `In:` and `Out:`; the list in tests/it/debts.txt takes no new lines",
        new.join("\n")
    );
    let paid = listed.iter().filter(|line| !found.lines().any(|debt| is_tolerated(debt, &[line])));
    println!("paid, to be taken out of tests/it/debts.txt: {:?}", paid.collect::<Vec<_>>());
}

#[test]
fn check_debts_of_names_are_paid() {
    let listed = include_str!("debts.txt");
    let open = listed.lines().filter(|l| ["type ", "verb ", "constant "].iter().any(|kind| l.starts_with(kind)));
    assert_eq!(open.collect::<Vec<_>>(), Vec::<&str>::new(), "every name says what it is: see CONTRIBUTING.md");
}

#[test]
fn check_a_new_debt_is_not_tolerated() {
    let listed = ["type Place 3", "cycle a::x a::y a::z", "verb a.rs read"];
    for (debt, is) in [
        ("type Place 3", true),
        ("type Place 2", true),
        ("type Place 4", false),
        ("type Step 3", false),
        ("cycle a::y a::x", true),
        ("cycle a::x a::w", false),
        ("verb a.rs read", true),
        ("verb b.rs read", false),
    ] {
        assert_eq!(is_tolerated(debt, &listed), is, "{debt}");
    }
}
