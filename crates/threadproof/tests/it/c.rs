//! C programs on the command line: properties by name and by file, result strings, runs as C programs, witnesses.

use crate::{Scratch, code, stderr, stdout, threadproof};
use std::process::Command;

#[test]
fn check_properties_are_chosen_by_name_and_by_file() {
    let scratch = Scratch::new("c-properties");
    let race = scratch.file("race.prp", "CHECK( init(main()), LTL(G ! data-race) )\n");
    let end = scratch.file("end.prp", "CHECK( init(main()), LTL(F end) )\n");
    let file = "corpus/c/counter_lost_update.c";
    for (flag, asked, result, exit) in [
        ("--property", "unreach-call", "result: false(unreach-call)", 1),
        ("--property", "no-data-race", "result: false(no-data-race)", 1),
        ("--property", race.as_str(), "result: false(no-data-race)", 1),
        ("--check", race.as_str(), "result: false(no-data-race)", 1),
        ("--property", "no-overflow", "result: true", 0),
        ("--property", "valid-memsafety", "result: true", 0),
        ("--property", "no-division-by-zero", "result: true", 0),
        ("--property", end.as_str(), "not modelled", 65),
    ] {
        let output = threadproof(&["verify", file, "--time", "20s", flag, asked]);
        assert_eq!(code(&output), exit, "{asked}: {}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains(result), "{asked}: {}", stdout(&output));
    }
}

#[test]
fn check_a_task_definition_decides_the_property_and_the_result_string() {
    let scratch = Scratch::new("c-task");
    scratch.file(
        "t.c",
        "#include <pthread.h>\nint x;\nvoid *f(void *a) { x = 1; return 0; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); return 0; }\n",
    );
    let task = scratch.file(
        "t.yml",
        "format_version: '2.0'\ninput_files: 't.c'\nproperties:\n  - property_file: ../properties/no-data-race.prp\n    \
         expected_verdict: false\noptions:\n  language: C\n  data_model: LP64\n",
    );
    let output = threadproof(&["verify", &task, "--time", "20s"]);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(stdout(&output).contains("result: false(no-data-race)"), "{}", stdout(&output));
}

#[test]
fn check_a_run_as_c_compiles_and_goes_wrong_where_it_says() {
    let scratch = Scratch::new("c-harness");
    for name in
        ["counter_lost_update", "fig2", "peterson_late_flag", "trylock_ignored", "ring_spsc_early", "treiber_push"]
    {
        let file = format!("corpus/c/{name}.c");
        let harness = scratch.path(&format!("{name}.run.c"));
        let output = threadproof(&["verify", &file, "--time", "20s", "--trace", &harness, "--as-c"]);
        if name == "treiber_push" {
            assert_eq!(code(&output), 0, "{name}: {}", stdout(&output));
            assert!(!std::path::Path::new(&harness).exists(), "a safe program has no run");
            continue;
        }
        assert_eq!(code(&output), 1, "{name}: {}{}", stdout(&output), stderr(&output));
        let binary = scratch.path(name);
        let built = Command::new("gcc").args(["-Wall", "-Werror", "-pthread", "-o", &binary, &harness]).output();
        let built = built.expect("gcc is there, as the C front end needs it");
        assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(&binary).output().expect("the harness runs");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.code().is_none(), "{name} ends by a signal: {said}");
        assert!(said.contains("breaks unreach-call"), "{name}: {said}");
    }
}

#[test]
fn check_witnesses_say_what_the_verdict_says() {
    let scratch = Scratch::new("c-witness");
    let path = scratch.path("bad.yml");
    let output = threadproof(&["verify", "corpus/c/counter_lost_update.c", "--time", "20s", "--witness", &path]);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    let text = std::fs::read_to_string(&path).expect("a witness was written");
    assert!(text.starts_with("- entry_type: violation_sequence\n"), "{text}");
    assert_eq!(text.matches("type: target").count(), 1, "{text}");
    assert!(text.contains("G ! call(reach_error())") && text.contains("counter_lost_update.c"), "{text}");
    let path = scratch.path("good.yml");
    let output = threadproof(&["verify", "corpus/c/counter_mutex.c", "--time", "20s", "--witness", &path]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    let text = std::fs::read_to_string(&path).expect("a witness was written");
    assert!(text.starts_with("- entry_type: invariant_set\n"), "{text}");
    assert!(!text.contains("type: target"), "{text}");
    let both = threadproof(&["verify", "corpus/c/fig2.c", "corpus/c/fig4.c", "--witness", &path]);
    assert_eq!(code(&both), 64, "{}", stderr(&both));
}
