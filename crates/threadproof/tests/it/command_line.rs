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
fn check_input_that_cannot_be_read_is_65() {
    let scratch = Scratch::new("unreadable");
    let folder = scratch.path("");
    for path in ["no/such/file.tp", &folder, &scratch.file("x.rs", "fn main() {}"), &scratch.file("bare", "")] {
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
