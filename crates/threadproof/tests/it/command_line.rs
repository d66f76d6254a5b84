//! The command line as a user meets it: exit codes, wrong usage, rejected input, reports.

use crate::{Scratch, code, stderr, stdout, threadproof};

#[test]
fn check_help_and_version_are_not_errors() {
    for arguments in [&["--help"][..], &["--version"], &["verify", "--help"], &["completions", "bash"]] {
        let output = threadproof(arguments);
        assert_eq!(code(&output), 0, "{arguments:?}: {}", stderr(&output));
        assert!(!output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn check_wrong_usage_is_64() {
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["verify"],
        &["verify", "--no-such-flag", "x.tp"],
        &["verify", "--time", "soon", "x.tp"],
        &["verify", "--memory", "1", "x.tp"],
        &["verify", "--set", "N", "x.tp"],
        &["verify", "--method", "wishful", "x.tp"],
        &["verify", "--option", "wish=on", "x.tp"],
        &["verify", "--option", "por=perhaps", "x.tp"],
        &["completions", "no-such-shell"],
    ] {
        let output = threadproof(arguments);
        assert_eq!(code(&output), 64, "{arguments:?}: {}", stderr(&output));
        assert!(!stderr(&output).is_empty(), "{arguments:?} says what is wrong");
    }
}

#[test]
fn check_a_missing_solver_is_one_sentence_and_70() {
    let scratch = Scratch::new("no-solver");
    let file = scratch.file("a.tp", "var x: int = 0;\nthread T { x := 1; assert x == 1; }\n");
    let run = |arguments: &[&str]| {
        std::process::Command::new(env!("CARGO_BIN_EXE_threadproof"))
            .args(arguments)
            .env("THREADPROOF_Z3_DIR", scratch.path("nowhere"))
            .output()
            .expect("the binary starts")
    };
    let output = run(&["verify", &file]);
    assert_eq!(code(&output), 70, "{}", stdout(&output));
    let text = stderr(&output);
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
    assert!(text.contains("the solver Z3 is missing: there is no libz3") && text.contains("nowhere"), "{text}");
    assert!(text.contains("to mend it: ") && stdout(&output).is_empty(), "{text}");
    assert_eq!(code(&run(&["fmt", "--check", &file])), 1, "what needs no solver works without one");
}

#[test]
fn check_a_number_that_does_not_fit_is_warned_of() {
    let scratch = Scratch::new("wraps");
    let file = scratch.file("a.tp", "var x: u8 = 300;\nthread T { x := u8(257); assert x != 7; }\n");
    let text = stdout(&threadproof(&["verify", &file]));
    assert!(text.contains("warning[W0301]: 300 does not fit `u8`, and wraps to 44"), "{text}");
    assert_eq!(text.matches("W0301").count(), 1, "a conversion that is written is meant: {text}");
}

#[test]
fn check_input_that_cannot_be_read_is_65() {
    let scratch = Scratch::new("unreadable");
    for path in ["no/such/file.tp", &scratch.file("x.rs", "fn main() {}"), &scratch.file("bare", "")] {
        let output = threadproof(&["verify", path]);
        assert_eq!(code(&output), 65, "{path}: {}", stdout(&output));
        assert!(stdout(&output).contains("rejected"), "{path}: {}", stdout(&output));
    }
}

#[test]
fn check_broken_programs_are_rejected_and_never_crash() {
    let scratch = Scratch::new("broken");
    let deep = format!("var x: int = {}1{};", "(".repeat(100_000), ")".repeat(100_000));
    let long = format!("var x: int = {};", "1 + ".repeat(500_000) + "1");
    let cases: [(&str, &[u8]); 8] = [
        ("words.tp", b"this is not a program"),
        ("cut.tp", b"thread T { x := "),
        ("nul.tp", b"var x: int = 0;\0\0\0 thread"),
        ("latin.tp", b"var x: int = 0; // caf\xe9\nthread T { y := 1; }"),
        ("deep.tp", deep.as_bytes()),
        ("long.tp", long.as_bytes()),
        ("random.tp", &[0x80, 0xff, 0x00, 0x7b, 0x7d, 0xc3, 0x28]),
        ("types.tp", b"var x: int = true;\nthread T { assert x; z := 1; }"),
    ];
    for (name, bytes) in cases {
        let path = scratch.file(name, bytes);
        let output = threadproof(&["verify", &path, "--time", "20s"]);
        let expected: &[i32] = if name == "long.tp" { &[0, 2, 65] } else { &[65] };
        assert!(expected.contains(&code(&output)), "{name}: {:?} {}", output.status, stdout(&output));
    }
}

#[test]
fn check_fmt_checks_writes_and_rejects() {
    let scratch = Scratch::new("fmt");
    let path = scratch.file("a.tp", "var   x:int=0;\nthread T{x:=1;}\n");
    assert_eq!(code(&threadproof(&["fmt", "--check", &path])), 1);
    assert_eq!(code(&threadproof(&["fmt", &path])), 0);
    assert_eq!(code(&threadproof(&["fmt", "--check", &path])), 0);
    let text = std::fs::read_to_string(&path).expect("it is still there");
    assert!(text.contains("var x: int = 0;"), "{text}");
    let broken = scratch.file("b.tp", "thread {");
    let output = threadproof(&["fmt", &broken]);
    assert_eq!(code(&output), 65);
    assert!(stderr(&output).contains("b.tp:1"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&broken).expect("it is still there"), "thread {");
}

/// What a shell command does with the binary as `$0`.
fn shell(script: &str) -> std::process::Output {
    let mut command = std::process::Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_threadproof")]).current_dir(crate::root());
    command.output().expect("bash runs")
}

#[test]
fn check_a_reader_that_goes_away_is_no_failure_and_a_full_device_is_one() {
    let output = shell("\"$0\" completions bash | head -1; echo ${PIPESTATUS[0]}");
    assert!(stdout(&output).ends_with("\n0\n"), "{}", stdout(&output));
    assert_eq!(stderr(&output), "");
    let scratch = Scratch::new("full-device");
    let path = scratch.file("a.tp", "var x: int = 0;\nthread T { assert x == 0; }\n");
    for arguments in ["verify", "verify --json", "show", "simulate"] {
        let output = shell(&format!("\"$0\" {arguments} {path} > /dev/full"));
        assert_eq!(code(&output), 74, "{arguments}: {}", stderr(&output));
        assert!(stderr(&output).contains("could not be written"), "{arguments}: {}", stderr(&output));
    }
    let output = shell("\"$0\" completions bash > /dev/full");
    assert_eq!(code(&output), 74, "{}", stderr(&output));
}

#[test]
fn check_a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let scratch = Scratch::new("pipes");
    let path = scratch.file("a.tp", "var x: int = 0;\nthread T[*] { x := 0; assert x == 0; }\n");
    let (pipe, cache) = (scratch.path("pipe.tp"), scratch.path("cache"));
    let made = shell(&format!("mkfifo {pipe} && mkdir {cache} && mkfifo {cache}/answers"));
    assert_eq!(code(&made), 0);
    let start = std::time::Instant::now();
    let output = threadproof(&["verify", &pipe, "--time", "5s"]);
    assert_eq!(code(&output), 65, "{}", stdout(&output));
    let output = threadproof(&["verify", &path, "--time", "30s", "--cache", &cache]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(stderr(&output).contains("cannot be read; it was not used"), "{}", stderr(&output));
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn check_a_simulation_ends_in_time() {
    let scratch = Scratch::new("long-simulation");
    let path = scratch.file("a.tp", "var x: int = 0;\nthread T { while true { x := x + 1; } }\n");
    let start = std::time::Instant::now();
    let output = threadproof(&["simulate", &path, "--steps", "1000000000", "--time", "1s"]);
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("the time limit was reached"), "{}", stderr(&output));
}

#[test]
fn check_a_program_that_is_not_cvc5_is_not_called_cvc5() {
    let scratch = Scratch::new("imposter");
    let path = scratch.file(
        "a.tp",
        "var m: lock;\nvar x: int = 0;\nthread T[*] { acquire m; x := 1; x := 0; assert x == 0; release m; }\n",
    );
    let fake = scratch.file("fake", "#!/bin/sh\nwhile read line; do case \"$line\" in *get-info*name*) echo '(:name \"Yes\")';; *check-sat*) echo unsat;; esac; done\n");
    let script = format!("chmod +x {fake}; THREADPROOF_CVC5={fake} \"$0\" verify {path} --method rely --time 60s");
    let text = stdout(&shell(&script));
    assert!(text.contains(": safe"), "{text}");
    assert!(!text.contains("cvc5"), "{text}");
    let audit = format!(
        "\"$0\" verify {path} --method rely --certificate {0}; THREADPROOF_CVC5={fake} \"$0\" audit {0} {path}",
        scratch.path("proof.json")
    );
    let output = shell(&audit);
    assert_ne!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
}
