//! One search by several processes: the same answer for any number of them, nobody let in who does not belong, nothing lost when they are killed.

use crate::{Scratch, code, root, stderr, stdout, threadproof};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

#[test]
fn check_little_memory_is_enough_where_states_are_on_disk() {
    let scratch = Scratch::new("spread-room");
    let file = scratch.file("long.tp", LONG);
    let flags = [&["verify", &file, "--json"], &UNREDUCED[..]].concat();
    let alone = stdout(&threadproof(&flags));
    assert!(total(&alone) > 500_000, "{alone}");
    let folder = scratch.path("states");
    let stored = threadproof(&[&flags[..], &["--disk", &folder, "--memory", "64M"]].concat());
    assert_eq!(stdout(&stored), alone, "{}", stderr(&stored));
    assert_eq!(std::fs::read_dir(&folder).expect("it was made").count(), 0, "nothing is left");
}

/// Started in the root of the repository; not waited for.
fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_threadproof"))
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

fn end(child: Child) -> Output {
    child.wait_with_output().expect("it was started")
}

/// Ports that were free a moment ago.
fn free_addresses(many: usize) -> Vec<String> {
    let doors: Vec<TcpListener> =
        (0..many).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port is free")).collect();
    doors.iter().map(|d| d.local_addr().expect("it is bound").to_string()).collect()
}

fn same_for_all_numbers(file: &str, more: &[&str], expected: i32) {
    let flags = [&["verify", file, "--method", "explore"], more].concat();
    let json = |output: &Output| {
        assert_eq!(code(output), expected, "{file}: {}{}", stdout(output), stderr(output));
        stdout(output)
    };
    let alone = json(&threadproof(&[&flags[..], &["--json"]].concat()));
    let text = stdout(&threadproof(&flags));
    let scratch = Scratch::new("spread-disk");
    let folder = scratch.path("states");
    let on_disk = [&flags[..], &["--disk", &folder]].concat();
    assert_eq!(json(&threadproof(&[&on_disk[..], &["--json"]].concat())), alone, "{file}: on disk");
    for processes in ["1", "2", "3", "5"] {
        let several = [&flags[..], &["--processes", processes]].concat();
        assert_eq!(json(&threadproof(&[&several[..], &["--json"]].concat())), alone, "{file}: {processes}");
        if processes == "3" {
            assert_eq!(stdout(&threadproof(&several)), text, "{file}");
        }
    }
}

#[test]
fn check_safe_programs_are_the_same_for_any_number_of_processes() {
    same_for_all_numbers("corpus/seeds/threader/peterson.tp", &[], 0);
    same_for_all_numbers("corpus/seeds/threader/peterson.tp", &["--deadlock", "--option", "por=off"], 0);
}

#[test]
fn check_traces_are_the_same_for_any_number_of_processes() {
    same_for_all_numbers("corpus/seeds/threader/fig2_cex.tp", &[], 1);
    same_for_all_numbers("corpus/larger/barrier_one_short.tp", &["--option", "symmetry=off"], 1);
}

/// Ranges have to be widened several times, and by several variables in one level.
const WIDENING: &str = "var x: int = 0;\nvar y: int = 0;\nthread T[3] {\n  var i: int := 0;\n  while i < 9 {\n    i := i + 1;\n    \
                        atomic { x := x + 7; y := y - 5; }\n  }\n  assert x - y <= LIMIT;\n}\n";

#[test]
fn check_widened_ranges_and_deadlocks_are_the_same_for_any_number_of_processes() {
    let scratch = Scratch::new("spread-widening");
    let safe = scratch.file("safe.tp", WIDENING.replace("LIMIT", "324"));
    let restarts = stdout(&threadproof(&["verify", &safe, "--method", "explore", "--json"]));
    let restarts: serde_json::Value = serde_json::from_str(&restarts).expect("it is JSON");
    let number = restarts["files"][0]["methods"][0]["statistics"]["restarts"].as_u64();
    assert!(number.is_some_and(|n| n >= 2), "{restarts}");
    same_for_all_numbers(&safe, &[], 0);
    same_for_all_numbers(&scratch.file("unsafe.tp", WIDENING.replace("LIMIT", "300")), &[], 1);
    let stuck = "var m: lock; var n: lock;\nthread A { acquire m; acquire n; release n; release m; }\n\
                 thread B { acquire n; acquire m; release m; release n; }";
    same_for_all_numbers(&scratch.file("stuck.tp", stuck), &["--deadlock"], 1);
}

#[test]
fn check_any_number_of_threads_is_searched_by_processes_too() {
    let scratch = Scratch::new("spread-any");
    let text = "var x: int = 0;\nthread T[*] {\n  var t: int;\n  t := x;\n  x := t + 1;\n  assert x != 3;\n}\n";
    same_for_all_numbers(&scratch.file("any.tp", text), &[], 1);
}

#[test]
fn check_the_methods_together_say_the_same() {
    let file = "corpus/seeds/threader/peterson.tp";
    let alone = threadproof(&["verify", file]);
    let several = threadproof(&["verify", file, "--processes", "2"]);
    assert_eq!((code(&several), stdout(&several)), (code(&alone), stdout(&alone)));
}

#[test]
fn check_values_numbered_as_they_are_met_are_refused_with_the_name_of_the_variable() {
    let scratch = Scratch::new("spread-numbered");
    let text = "var m: [int]seq<int>;\nvar x: int = 0;\nthread T[2] {\n  m[0] := m[0] + [1];\n  assert x == 0;\n}\n";
    let file = scratch.file("numbered.tp", text);
    let flags = ["verify", &file, "--method", "explore"];
    let alone = threadproof(&flags);
    assert_ne!(code(&alone), 65, "{}{}", stdout(&alone), stderr(&alone));
    let several = threadproof(&[&flags[..], &["--processes", "2"]].concat());
    assert_eq!(code(&several), 2);
    assert!(stdout(&several).contains("the values of m are numbered as they are met"), "{}", stdout(&several));
}

pub(crate) struct Machines {
    pub(crate) scratch: Scratch,
    hosts: String,
    secret: String,
    addresses: Vec<String>,
}

impl Machines {
    pub(crate) fn new(name: &str, many: usize) -> Self {
        let scratch = Scratch::new(name);
        let addresses = free_addresses(many);
        let hosts = scratch.file("hosts.txt", format!("# one line for each\n{}\n", addresses.join("\n")));
        let secret = scratch.file("secret", "a secret of more than sixteen bytes\n");
        Self { scratch, hosts, secret, addresses }
    }
    pub(crate) fn start(&self, rank: usize, file: &str, more: &[&str]) -> Child {
        self.start_with(rank, file, &self.secret, more)
    }
    fn start_with(&self, rank: usize, file: &str, secret: &str, more: &[&str]) -> Child {
        let rank = rank.to_string();
        let flags = ["verify", file, "--hosts", &self.hosts, "--rank", &rank, "--secret", secret];
        start(&[&flags[..], more].concat())
    }
}

const EXPLORE: [&str; 2] = ["--method", "explore"];
const PETERSON: &str = "corpus/seeds/threader/peterson.tp";

#[test]
fn check_machines_named_in_a_file_say_the_same_as_one() {
    let machines = Machines::new("spread-hosts", 3);
    let others: Vec<Child> = [2, 1].map(|rank| machines.start(rank, PETERSON, &EXPLORE)).into();
    let first = end(machines.start(0, PETERSON, &EXPLORE));
    let alone = threadproof(&["verify", PETERSON, "--method", "explore"]);
    assert_eq!((code(&first), stdout(&first)), (0, stdout(&alone)), "{}", stderr(&first));
    for other in others {
        let other = end(other);
        assert_eq!((code(&other), stdout(&other)), (0, String::new()), "{}", stderr(&other));
    }
}

#[test]
fn check_strangers_are_turned_away_and_the_others_still_find_each_other() {
    let machines = Machines::new("spread-strangers", 2);
    let first = machines.start(0, PETERSON, &EXPLORE);
    let wrong = machines.scratch.file("wrong", "another secret of many bytes");
    let other_program = "corpus/seeds/threader/fig2_cex.tp";
    let told = |child: Child, why: &str| {
        let output = end(child);
        assert_eq!(code(&output), 69, "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        assert_eq!(stdout(&output), "", "without the others there is no verdict");
    };
    told(machines.start_with(1, PETERSON, &wrong, &EXPLORE), "it has another secret");
    told(machines.start(1, other_program, &EXPLORE), "it has another program");
    told(machines.start(1, PETERSON, &["--method", "explore", "--option", "por=off"]), "it has other options");
    let short = machines.scratch.file("short", "short");
    let output = end(machines.start_with(1, PETERSON, &short, &EXPLORE));
    assert!(
        code(&output) == 65 && stderr(&output).contains("fewer than 16 bytes")
            || stdout(&output).contains("fewer than 16 bytes")
    );
    // Nothing at all, and something that is no introduction.
    let silent = TcpStream::connect(&machines.addresses[0]).expect("it listens");
    let mut noisy = TcpStream::connect(&machines.addresses[0]).expect("it listens");
    noisy.write_all(b"GET / HTTP/1.1\r\nHost: somebody\r\n\r\n and more").expect("it is taken");
    let mut answer = Vec::new();
    noisy.set_read_timeout(Some(Duration::from_secs(20))).expect("a time can be set");
    let _ = noisy.read_to_end(&mut answer);
    assert!(answer.is_empty(), "a stranger is told nothing");
    let second = machines.start(1, PETERSON, &EXPLORE);
    let first = end(first);
    assert_eq!((code(&first), code(&end(second))), (0, 0), "{}", stderr(&first));
    for why in ["another secret", "another program", "other options", "does not speak"] {
        assert!(stderr(&first).contains(why), "{why}: {}", stderr(&first));
    }
    drop(silent);
}

/// Some hundred thousand states without reductions.
const LONG: &str = "var x: int = 0;\nthread A {\n  var i: int := 0;\n  while i < 70 { i := i + 1; x := i; }\n}\nthread B {\n  var i: int := 0;\n  \
                    while i < 70 { i := i + 1; x := i; }\n}\nthread C {\n  var i: int := 0;\n  while i < 9 { i := i + 1; x := i; }\n}\n\
                    thread D { assert x <= 70; }\n";
const UNREDUCED: [&str; 6] = ["--method", "explore", "--option", "por=off", "--option", "symmetry=off"];

/// The processes that a process has started, by any of its threads.
fn children(of: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().filter_map(Result::ok);
    let texts = threads.filter_map(|t| std::fs::read_to_string(t.path().join("children")).ok());
    texts.flat_map(|text| text.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<u32>>()).collect()
}

fn kill(process: u32) {
    let done = Command::new("kill").args(["-9", &process.to_string()]).stderr(Stdio::null()).status();
    done.expect("there is a kill");
}

fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn check_a_lost_process_ends_all_others_without_a_verdict() {
    let scratch = Scratch::new("spread-lost");
    let file = scratch.file("long.tp", LONG.replace("< 70", "< 400").replace("x <= 70", "x <= 400"));
    let mut first = start(&[&["verify", &file, "--processes", "3"], &UNREDUCED[..]].concat());
    let id = first.id();
    wait_until("the others were started", || children(id).len() == 2 || first.try_wait().is_ok_and(|e| e.is_some()));
    if children(id).is_empty() {
        let output = end(first);
        panic!("it ended by itself: {:?} {}{}", output.status, stdout(&output), stderr(&output));
    }
    let others = children(id);
    std::thread::sleep(Duration::from_millis(1500));
    kill(others[1]);
    let killed = Instant::now();
    let output = end(first);
    assert!(killed.elapsed() < Duration::from_secs(15), "{:?}", killed.elapsed());
    assert_eq!((code(&output), stdout(&output)), (69, String::new()));
    assert!(stderr(&output).contains("was lost: the connection was closed"), "{}", stderr(&output));
    wait_until("nobody is left", || others.iter().all(|p| !Path::new(&format!("/proc/{p}/exe")).exists()));
}

fn total(report: &str) -> u64 {
    let report: serde_json::Value = serde_json::from_str(report).expect("it is JSON");
    report["files"][0]["methods"][0]["statistics"]["states"].as_u64().expect("it has states")
}

#[test]
fn check_a_search_that_was_killed_goes_on_with_other_numbers_of_processes() {
    let scratch = Scratch::new("spread-killed");
    let file = scratch.file("long.tp", LONG);
    let flags = [&["verify", &file, "--json"], &UNREDUCED[..]].concat();
    let alone = stdout(&threadproof(&flags));
    assert!(total(&alone) > 100_000, "{alone}");
    let folder = scratch.path("levels");
    let mut random = base::Random::new(u64::from(std::process::id()));
    for (round, processes) in ["2", "3", "1", "2"].into_iter().enumerate() {
        let resume: &[&str] = if round == 0 { &[] } else { &["--resume"] };
        let more = ["--processes", processes, "--checkpoint", &folder];
        let mut first = start(&[&flags[..], &more, resume].concat());
        wait_until("the folder was begun", || Path::new(&folder).join("search.txt").exists());
        std::thread::sleep(Duration::from_millis(200 + random.below(900) as u64));
        let others = children(first.id());
        // Any of them, the first too.
        let victim = [&[first.id()], &others[..]].concat()[random.below(others.len() + 1)];
        kill(victim);
        let output = end_within(&mut first);
        assert!(output != Some(0) || processes == "1" || victim != first.id(), "{output:?}");
        wait_until("nobody is left", || others.iter().all(|p| !Path::new(&format!("/proc/{p}/exe")).exists()));
    }
    for processes in ["3", "1"] {
        let more = ["--processes", processes, "--checkpoint", &folder, "--resume"];
        let output = threadproof(&[&flags[..], &more].concat());
        assert_eq!(stdout(&output), alone, "{}", stderr(&output));
    }
    refused_where_it_does_not_fit(&scratch, &file, &folder);
}

fn end_within(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it was started") {
            return status.code();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn refused_where_it_does_not_fit(scratch: &Scratch, file: &str, folder: &str) {
    let refused = |file: &str, more: &[&str], why: &str| {
        let flags = ["verify", file, "--checkpoint", folder];
        let output = threadproof(&[&flags[..], more].concat());
        let said = stdout(&output) + &stderr(&output);
        assert!(code(&output) != 0 && said.contains(why), "{why}: {} {said}", code(&output));
    };
    let resume = [&UNREDUCED[..], &["--resume"]].concat();
    refused(file, &UNREDUCED, "there is a checkpoint in");
    refused(file, &["--method", "explore", "--resume"], "is of another options");
    let other = scratch.file("other.tp", LONG.replace("< 9", "< 8"));
    refused(&other, &resume, "is of another program");
    let identity = Path::new(folder).join("search.txt");
    let text = std::fs::read_to_string(&identity).expect("it is there");
    std::fs::write(&identity, text.replacen("version ", "version 0", 1)).expect("it can be written");
    refused(file, &resume, "is of another version");
    std::fs::write(&identity, text).expect("it can be written");
    // One bit of the states of some level.
    let searches = std::fs::read_dir(folder).expect("it is there").filter_map(Result::ok).map(|e| e.path());
    let logs = searches.filter(|p| p.is_dir()).flat_map(|p| std::fs::read_dir(p).expect("it is there"));
    let logs: Vec<_> = logs.filter_map(Result::ok).map(|e| e.path()).collect();
    let size = |p: &&std::path::PathBuf| std::fs::metadata(p).map_or(0, |m| m.len());
    let states =
        logs.iter().filter(|p| p.to_string_lossy().contains("states-")).max_by_key(size).expect("there is one");
    let mut bytes = std::fs::read(states).expect("it can be read");
    bytes[100] ^= 4;
    std::fs::write(states, &bytes).expect("it can be written");
    refused(file, &resume, "the checkpoint is damaged");
    bytes[100] ^= 4;
    std::fs::write(states, &bytes).expect("it can be written");
    let records = logs.iter().filter(|p| p.ends_with("levels.log")).max_by_key(size).expect("there is one");
    let mut bytes = std::fs::read(records).expect("it can be read");
    bytes[30] ^= 1;
    std::fs::write(records, &bytes).expect("it can be written");
    refused(file, &resume, "the checkpoint is damaged");
}
