//! Runs as Java programs, compiled and run: each must break what the model says that it breaks.
//!
//! In: broken programs of several kinds and the runs that the reference semantics finds. Out: for each property that some run violates, a Java program
//! that `javac` takes without a warning and that ends with code 1. Where there is no JDK the test prints so and passes.

use super::harness::harness;
use super::{JavaText, load_files};
use crate::lang::LoweringSettings;
use base::Sources;
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use std::process::Command;

/// Programs of the corpus: with numbers, objects, maps, lists, sets of waiting threads, started threads, any values.
const BROKEN: &[&str] = &[
    "PlainCounter",
    "ForksInOppositeOrder",
    "BufferWithoutNotify",
    "NullAfterRemoval",
    "TreiberPopWithSet",
    "MapGetThenPut",
    "CopyTooFar",
    "VectorCheckThenAdd",
    "SwallowsInterrupt",
];

#[test]
fn check_runs_as_java_break_what_they_say() {
    if Command::new("javac").arg("-version").output().is_err() {
        println!("skipped: there is no `javac` on this machine");
        return;
    }
    let place = std::env::temp_dir().join(format!("threadproof-java-harness-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a folder for a test can be made");
    let mut tried = 0;
    for name in BROKEN {
        let path = format!("{}/../../corpus/java/{name}.java", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("a program of the corpus can be read");
        let mut sources = Sources::new();
        let files = vec![JavaText { name: format!("{name}.java"), text }];
        let (program, _) = load_files(&mut sources, files, &LoweringSettings::default());
        let program = program.expect("there is a main");
        let limits = ReachLimits { states: 60_000, ..ReachLimits::default() };
        let found = reachable_states(&program, &InstanceCounts::of(&program, 3), &limits);
        assert!(!found.violations.is_empty(), "{name} is broken");
        for (property, trace) in found.violations.iter().take(2) {
            let said = &program.properties[*property].name;
            let text = harness(&program, trace, &sources).unwrap_or_else(|why| panic!("{name}, {said}: {why}"));
            let file = place.join("Run.java");
            std::fs::write(&file, &text).expect("a file for a test can be written");
            let built = Command::new("javac").args(["-Xlint:all", "-Werror", "-d"]).arg(&place).arg(&file).output();
            let built = built.expect("it was asked above");
            assert!(built.status.success(), "{name}, {said}: {}\n{text}", String::from_utf8_lossy(&built.stderr));
            let ran = Command::new("java").arg("-cp").arg(&place).arg("Run").output().expect("there is java, too");
            let shown = String::from_utf8_lossy(&ran.stdout);
            assert_eq!(ran.status.code(), Some(1), "{name}, {said}: {shown}\n{text}");
            assert!(shown.contains(&format!("breaks {said}")), "{name}: {shown}");
            tried += 1;
        }
    }
    assert!(tried >= BROKEN.len());
    std::fs::remove_dir_all(&place).expect("the folder of a test can be removed");
}
