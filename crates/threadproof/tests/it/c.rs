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

#[test]
fn check_a_program_outside_the_model_gets_an_execution_that_goes_wrong() {
    let scratch = Scratch::new("c-execution");
    // `va_arg` is not modelled, so the model says nothing; an execution shows the lost update.
    let file = scratch.file(
        "t.c",
        "#include <assert.h>\n#include <pthread.h>\n#include <stdarg.h>\nint n;\n\
         int last(int count, ...) { va_list l; va_start(l, count); int v = va_arg(l, int); va_end(l); return v; }\n\
         void *add(void *z) { int x = n; n = x + last(1, 1); return 0; }\n\
         int main(void) { pthread_t a, b; pthread_create(&a, 0, add, 0); pthread_create(&b, 0, add, 0);\n\
         pthread_join(a, 0); pthread_join(b, 0); assert(n == 2); return 0; }\n",
    );
    let output = threadproof(&["verify", &file, "--data-model", "LP64", "--time", "20s"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 1, "{text}{}", stderr(&output));
    assert!(text.contains("an execution of the C program goes wrong"), "{text}");
    assert!(text.contains("the assertion `n == 2` fails"), "{text}");
    assert!(text.contains("result: false(unreach-call)"), "{text}");
    let output = threadproof(&["verify", &file, "--data-model", "LP64", "--time", "20s", "--json"]);
    assert!(stdout(&output).contains("\"kind\": \"execution\""), "{}", stdout(&output));
}

#[test]
fn check_simulate_runs_c_by_its_own_semantics() {
    let scratch = Scratch::new("c-simulate");
    let fine = scratch.file("f.c", "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", 6 * 7); return 3; }\n");
    let output = threadproof(&["simulate", &fine]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("prints: 42"), "{}", stdout(&output));
    assert!(stdout(&output).contains("the program ends with exit code 3"), "{}", stdout(&output));
    let wrong = scratch.file("w.c", "int main(void) { int a[2] = { 1, 2 }, i = 2; return a[i]; }\n");
    let output = threadproof(&["simulate", &wrong]);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(stdout(&output).contains("index 2 of an array of 2 elements"), "{}", stdout(&output));
}

#[test]
fn check_runs_of_the_model_are_replayed_at_the_level_of_c() {
    for (name, check) in [
        ("counter_lost_update", "unreach-call"),
        ("dekker_no_raise", "unreach-call"),
        ("signal_wakes_one", "no-deadlock"),
        ("semaphore_timed", "unreach-call"),
        ("list_freed_twice", "memory-safety"),
        ("scanf_arguments", "unreach-call"),
    ] {
        let file = format!("corpus/c/{name}.c");
        let output = threadproof(&["verify", &file, "--time", "20s", "--check", check, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("the report is JSON");
        let row = &json["files"][0]["properties"][0];
        assert_eq!((code(&output), &row["verdict"]), (1, &"unsafe".into()), "{name}: {row}");
        assert_eq!((&row["replay"]["level"], &row["replay"]["seen"]), (&"C".into(), &true.into()), "{name}: {row}");
    }
}

#[test]
fn check_a_run_that_executions_cannot_follow_says_so() {
    // The reader decides by a member that was never set: an execution stops there.
    let output = threadproof(&["verify", "corpus/c/pointer_swap_early.c", "--time", "20s"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 1, "{text}");
    assert!(
        text.contains("not replayed at the level of C: executions stop at") && text.contains("never set"),
        "{text}"
    );
}

#[test]
fn check_asking_for_deadlocks_hides_no_wait_that_ends_by_itself() {
    // The waiter tests its condition once: a wait that ends without a signal goes wrong, whatever else is asked.
    for asked in ["unreach-call", "all"] {
        let output = threadproof(&["verify", "corpus/c/condvar_if.c", "--time", "30s", "--check", asked]);
        assert_eq!(code(&output), 1, "{asked}: {}", stdout(&output));
    }
    // A signal that comes before its wait is lost, and the waiter may sleep for ever.
    let output = threadproof(&["verify", "corpus/c/lost_signal.c", "--time", "30s", "--check", "all"]);
    let text = stdout(&output);
    assert!(text.lines().any(|l| l.contains("unsafe") && l.contains("deadlock")), "{text}");
}

#[test]
fn check_each_assertion_has_its_line_and_unreached_ones_are_told() {
    let scratch = Scratch::new("c-assertions");
    let text = "#include <assert.h>\n#include <pthread.h>\nint x;\nvoid *f(void *z) { x = 1; return 0; }\nint main(void) {\n  pthread_t t;\n  \
                pthread_create(&t, 0, f, 0);\n  assert(x != 1);\n  pthread_join(t, 0);\n  assert(x == 1);\n  if (x == 2)\n    assert(x == 3);\n  return 0;\n}\n";
    let output = threadproof(&["verify", &scratch.file("three.c", text), "--time", "20s"]);
    let said = stdout(&output);
    assert_eq!(code(&output), 1, "{said}");
    assert!(said.contains("result: false(unreach-call)"), "{said}");
    for (verdict, name) in [("unsafe", "unreach-call:8"), ("safe", "unreach-call:10"), ("safe", "unreach-call:12")] {
        let row = said.lines().find(|l| l.trim_start().starts_with(verdict) && l.contains(name));
        assert!(row.is_some(), "{verdict} {name}: {said}");
    }
    let fine = text.replace("assert(x != 1);", ";");
    let output = threadproof(&["verify", &scratch.file("two.c", &fine), "--time", "20s"]);
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(code(&output), 0, "{said}");
    assert!(said.contains("W0514") && said.contains("not reached: by any of 60 executions: line 12"), "{said}");
}
