//! `verify --jobs`: programs side by side, each in a process of its own, and one report.

use crate::{Scratch, code, stderr, stdout, threadproof};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SAFE: &str = "var x: int = 0;\nthread T { x := 1; assert x == 1; }\n";
const UNSAFE: &str = "var x: int = 0;\nthread A { x := 7; }\nthread B {\n  assert x == 0;\n}\n";
const MALFORMED: &str = "var x: int = 0\nthread T { }\n";
/// A search has more states than it can see in any test: it works until its time is over. The numbers stay within 64 bits, where it would give up.
const ENDLESS: &str = "var x: u64 = 0;\nvar y: u64 = 1;\nthread T[2] {\n  while true { x := x + 1; y := y + x; assert x + y != 1234567891234567; }\n}\n";

fn programs(scratch: &Scratch) -> String {
    std::fs::create_dir_all(scratch.path("programs/inner")).expect("folders can be made");
    scratch.file("programs/a_good.tp", SAFE);
    scratch.file("programs/inner/bad.tp", UNSAFE);
    scratch.file("programs/malformed.tp", MALFORMED);
    scratch.file("programs/z_good.tp", SAFE);
    scratch.path("programs")
}

#[test]
fn check_the_report_of_several_processes_is_that_of_one() {
    let scratch = Scratch::new("jobs-same");
    let folder = programs(&scratch);
    let known = scratch.path("known.json");
    threadproof(&["verify", &folder, "--method", "explore", "--write-baseline", &known]);
    let files = |jobs: &str| ["sarif", "junit", "json"].map(|kind| scratch.path(&format!("{jobs}.{kind}")));
    for flags in [&[][..], &["--json"], &["-q"], &["-v"], &["--github"], &["--baseline", &known], &["--strict"]] {
        let run = |jobs: &str| {
            let [sarif, junit, baseline] = files(jobs);
            let asked = ["--sarif", &sarif, "--junit", &junit, "--write-baseline", &baseline, "--jobs", jobs];
            let output = threadproof(&[&["verify", &folder, "--method", "explore"], flags, &asked].concat());
            let written = files(jobs).map(|f| std::fs::read_to_string(f).expect("the file is there"));
            (code(&output), stdout(&output), written)
        };
        let (alone, together) = (run("1"), run("3"));
        assert_eq!(alone.1, together.1, "{flags:?}");
        assert_eq!(alone, together, "{flags:?}");
        assert_eq!(alone.0, 65, "one of them is malformed: {flags:?}");
    }
}

#[test]
fn check_what_is_asked_of_several_processes_may_be_too_much() {
    let scratch = Scratch::new("jobs-refused");
    let folder = programs(&scratch);
    let output = threadproof(&["verify", &folder, "--jobs", "2", "--html", &scratch.path("page.html")]);
    assert_eq!(code(&output), 64);
    assert!(stderr(&output).contains("--jobs"), "{}", stderr(&output));
    let output = threadproof(&["verify", &folder, "--jobs", "2", "--certificate", &scratch.path("proof.json")]);
    assert_eq!(code(&output), 64);
    assert!(stderr(&output).contains("for one program at a time"), "{}", stderr(&output));
    let output = threadproof(&["verify", &folder, "--jobs", "0"]);
    assert_eq!(code(&output), 64);
}

/// The process that has this argument after `--part`, once there is one.
fn process_of_part(parent: u32, place: &str) -> u32 {
    let until = Instant::now() + Duration::from_secs(120);
    while Instant::now() < until {
        for entry in std::fs::read_dir("/proc").expect("processes are listed").flatten() {
            let Ok(id) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let of_parent =
                stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)) == Some(&parent.to_string());
            let words: Vec<&[u8]> = line.split(|b| *b == 0).collect();
            let part = words.iter().position(|w| *w == b"--part").and_then(|at| words.get(at + 1));
            if of_parent && part.is_some_and(|p| p.starts_with(format!("{place}:").as_bytes())) {
                return id;
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no process works on program {place}")
}

#[test]
fn check_a_process_that_crashes_does_not_stop_the_others() {
    let scratch = Scratch::new("jobs-crash");
    let folder = programs(&scratch);
    scratch.file("programs/endless.tp", ENDLESS);
    let started = Command::new(env!("CARGO_BIN_EXE_threadproof"))
        .args(["verify", &folder, "--method", "explore", "--jobs", "2", "--time", "300s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // In the order of the folder: a_good, endless, inner/bad, malformed, z_good.
    let victim = process_of_part(started.id(), "1");
    let killed = Command::new("kill").args(["-9", &victim.to_string()]).status();
    assert!(killed.is_ok_and(|s| s.success()), "it can be ended");
    let output = started.wait_with_output().expect("it ends");
    let text = stdout(&output);
    assert_eq!(code(&output), 70, "{text}");
    assert!(text.contains("endless.tp: internal error: the process that verified it was ended by signal 9"), "{text}");
    assert!(text.contains("a_good.tp: safe") && text.contains("z_good.tp: safe"), "{text}");
    assert!(text.contains("bad.tp: unsafe") && text.contains("malformed.tp: rejected"), "{text}");
    assert!(text.ends_with("5 files: 1 unsafe, 2 safe, 1 rejected\n"), "{text}");
}

#[test]
fn check_processes_end_with_the_one_that_started_them() {
    let scratch = Scratch::new("jobs-orphans");
    let folder = programs(&scratch);
    scratch.file("programs/endless.tp", ENDLESS);
    let mut started = Command::new(env!("CARGO_BIN_EXE_threadproof"))
        .args(["verify", &folder, "--method", "explore", "--jobs", "2", "--time", "300s"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let child = process_of_part(started.id(), "1");
    started.kill().expect("it can be ended");
    started.wait().expect("it ends");
    let until = Instant::now() + Duration::from_secs(20);
    let alive = || std::fs::read_to_string(format!("/proc/{child}/cmdline")).is_ok_and(|line| line.contains("--part"));
    while alive() {
        assert!(Instant::now() < until, "it works on, and nobody wants to know");
        std::thread::sleep(Duration::from_millis(10));
    }
}
