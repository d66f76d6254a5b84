//! `verify --jobs`: programs side by side, each in a process of its own, and one report.

use crate::spread::Machines;
use crate::{Scratch, code, stderr, stdout, threadproof};
use std::process::{Child, Command, Output, Stdio};
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

fn ended(child: Child) -> Output {
    child.wait_with_output().expect("it was started")
}

#[test]
fn check_programs_on_several_machines_are_reported_as_by_one() {
    let machines = Machines::new("jobs-hosts", 3);
    let folder = programs(&machines.scratch);
    for flags in [&["--method", "explore"][..], &["--method", "explore", "--jobs", "2", "--json"]] {
        let others: Vec<Child> = [1, 2].map(|rank| machines.start(rank, &folder, flags)).into();
        let first = ended(machines.start(0, &folder, flags));
        let alone = threadproof(&[&["verify", &folder], flags].concat());
        assert_eq!((code(&first), stdout(&first)), (code(&alone), stdout(&alone)), "{}", stderr(&first));
        for other in others {
            let other = ended(other);
            assert_eq!((code(&other), stdout(&other)), (0, String::new()), "{}", stderr(&other));
        }
    }
}

#[test]
fn check_a_machine_with_other_files_is_turned_away() {
    let machines = Machines::new("jobs-other-files", 2);
    let folder = programs(&machines.scratch);
    let first = machines.start(0, &folder, &["--method", "explore"]);
    let changed = Scratch::new("jobs-changed");
    let other_folder = programs(&changed);
    changed.file("programs/z_good.tp", UNSAFE);
    let stranger = ended(machines.start(1, &other_folder, &["--method", "explore"]));
    assert_eq!((code(&stranger), stdout(&stranger)), (69, String::new()));
    assert!(stderr(&stranger).contains("it has another program"), "{}", stderr(&stranger));
    let other_options = ended(machines.start(1, &folder, &["--method", "explore", "--seed", "7"]));
    assert_eq!(code(&other_options), 69, "{}", stderr(&other_options));
    let second = machines.start(1, &folder, &["--method", "explore"]);
    assert_eq!((code(&ended(first)), code(&ended(second))), (65, 0));
}

#[test]
fn check_what_a_lost_machine_had_is_verified_by_the_others() {
    let machines = Machines::new("jobs-lost", 2);
    let folder = programs(&machines.scratch);
    // Four programs, of which the first process takes one that lasts; so the other gets some, and is ended while it has them.
    let endless = ENDLESS.replace("1234567", "7654321");
    machines.scratch.file("programs/a_endless.tp", ENDLESS);
    machines.scratch.file("programs/b_endless.tp", endless);
    let flags = ["--method", "explore", "--time", "4s"];
    let first = machines.start(0, &folder, &flags);
    let mut other = machines.start(1, &folder, &flags);
    let until = Instant::now() + Duration::from_secs(120);
    while first_part_of(other.id()).is_none() {
        assert!(Instant::now() < until, "it was given nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    other.kill().expect("it can be ended");
    other.wait().expect("it ends");
    let first = ended(first);
    let text = stdout(&first);
    assert_eq!(code(&first), 65, "{text}{}", stderr(&first));
    assert!(stderr(&first).contains("what it was verifying is given to others"), "{}", stderr(&first));
    assert!(text.ends_with("6 files: 1 unsafe, 2 unknown, 2 safe, 1 rejected\n"), "{text}");
}

#[test]
fn check_machines_end_with_the_first() {
    let machines = Machines::new("jobs-first-lost", 2);
    let folder = programs(&machines.scratch);
    machines.scratch.file("programs/a_endless.tp", ENDLESS);
    machines.scratch.file("programs/b_endless.tp", ENDLESS.replace("1234567", "7654321"));
    let flags = ["--method", "explore", "--time", "300s"];
    let mut first = machines.start(0, &folder, &flags);
    let other = machines.start(1, &folder, &flags);
    let until = Instant::now() + Duration::from_secs(120);
    while first_part_of(other.id()).is_none() {
        assert!(Instant::now() < until, "it was given nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    first.kill().expect("it can be ended");
    first.wait().expect("it ends");
    let other = ended(other);
    assert_eq!(code(&other), 69, "{}", stderr(&other));
    assert!(stderr(&other).contains("was lost"), "{}", stderr(&other));
}

/// A process that this one has started for a part of the report, if there is one.
fn first_part_of(parent: u32) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").expect("processes are listed").flatten();
    processes.filter_map(|e| e.file_name().to_string_lossy().parse::<u32>().ok()).find(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let is_child =
            stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)) == Some(&parent.to_string());
        is_child && line.split(|b| *b == 0).any(|w| w == b"--part")
    })
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
