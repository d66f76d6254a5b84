//! Java programs on the command line: runs as Java programs.

use crate::{Scratch, code, stderr, stdout, threadproof};
use std::process::Command;

/// Programs with what breaks in them; the tests of the front end have more.
const BROKEN: &[(&str, &str)] = &[("PlainCounter", ""), ("ForksInOppositeOrder", "deadlock")];

#[test]
fn check_a_run_as_java_compiles_and_goes_wrong_where_it_says() {
    if Command::new("javac").arg("-version").output().is_err() {
        println!("skipped: there is no `javac` on this machine");
        return;
    }
    let scratch = Scratch::new("java-harness");
    for (name, kind) in BROKEN {
        let file = format!("corpus/java/{name}.java");
        let harness = scratch.path(&format!("{name}.run.java"));
        let output = threadproof(&["verify", &file, "--time", "60s", "--trace", &harness, "--as-java"]);
        assert_eq!(code(&output), 1, "{name}: {}{}", stdout(&output), stderr(&output));
        let folder = scratch.path(name);
        let built = Command::new("javac").args(["-Xlint:all", "-Werror", "-d", &folder, &harness]).output();
        let built = built.expect("it was asked above");
        assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new("java").args(["-cp", &folder, "Run"]).output().expect("the harness runs");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(ran.status.code(), Some(1), "{name}: {said}{}", String::from_utf8_lossy(&ran.stderr));
        assert!(said.contains(&format!("breaks {kind}")), "{name}: {said}");
    }
}

#[test]
fn check_a_correct_program_has_no_run_as_java() {
    let scratch = Scratch::new("java-no-harness");
    let harness = scratch.path("none.java");
    let file = "corpus/java/MapPutIfAbsent.java";
    let output = threadproof(&["verify", file, "--time", "60s", "--trace", &harness, "--as-java"]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    assert!(!std::path::Path::new(&harness).exists(), "a safe program has no run");
}
