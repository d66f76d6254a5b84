//! The soundness hunt: random small heap programs; what is proved for any number of threads is confirmed for two and three.

use super::corpus::{load_text, verify};
use base::random::Random;
use checker::Outcome;
use program::semantics::{Instances, Limits, reach};

/// A random program over two shared references, two locals, a link, a flag and a lock.
pub fn random_program(seed: u64) -> String {
    let mut r = Random::new(seed);
    let mut body = String::new();
    let count = 3 + r.below(4);
    let mut held = false;
    for _ in 0..count {
        body.push_str(&statement(&mut r, &mut held, 0));
    }
    if held {
        body.push_str("  release m;\n");
    }
    format!(
        "class Node {{ next: Node; flag: bool; }}\nvar g: Node = null;\nvar h: Node = null;\nvar m: lock;\n\
         thread T[*] {{\n  var x: Node := null;\n  var y: Node := null;\n  var b: bool := false;\n{body}}}\n"
    )
}

fn reference(r: &mut Random) -> &'static str {
    ["x", "y", "g", "h"][r.below(4)]
}

fn statement(r: &mut Random, held: &mut bool, depth: usize) -> String {
    let local = ["x", "y"][r.below(2)];
    let a = reference(r);
    let c = reference(r);
    match r.below(14) {
        0 | 1 => format!(
            "  {local} := new Node;\n  {local}.next := null;\n  {local}.flag := {};\n",
            ["true", "false", "b"][r.below(3)]
        ),
        2 | 3 => format!("  {local} := {a};\n"),
        4 | 5 => format!("  {} := {local};\n", ["g", "h"][r.below(2)]),
        6 => format!("  if {local} != null {{\n    {local}.next := {};\n  }}\n", ["x", "y", "null"][r.below(3)]),
        7 => format!("  if {local} != null {{\n    {local} := {local}.next;\n  }}\n"),
        8 => format!("  b := cas({}, {local}, {});\n", ["g", "h"][r.below(2)], ["x", "y", "null"][r.below(3)]),
        9 => format!("  if {local} != null {{\n    b := {local}.flag;\n  }}\n"),
        10 if depth < 1 => {
            let inner = statement(r, held, depth + 1);
            format!("  if {a} == {c} {{\n  {inner}  }}\n")
        }
        11 => format!("  assert {};\n", assertion(r)),
        12 if depth == 0 => {
            *held = !*held;
            if *held { "  acquire m;\n".into() } else { "  release m;\n".into() }
        }
        _ => format!("  assert {};\n", assertion(r)),
    }
}

fn assertion(r: &mut Random) -> String {
    let (a, c) = (reference(r), reference(r));
    match r.below(5) {
        0 => format!("{a} != null"),
        1 => format!("{a} == {c}"),
        2 => format!("{a} == null || {a} != {c}"),
        3 => format!("{a} == null || {a}.flag"),
        _ => format!("{a} == null || {a}.next == null || {a}.next != {c}"),
    }
}

pub fn hunt(seeds: std::ops::Range<u64>) -> (usize, usize) {
    let (mut proved, mut confirmed) = (0, 0);
    for seed in seeds {
        let text = random_program(seed);
        let p = load_text("random.tp", text.as_bytes());
        let answer = verify(&p);
        let safe: Vec<_> = answer.outcomes.iter().filter(|(_, (o, _))| *o == Outcome::Safe).map(|(n, _)| n).collect();
        if safe.is_empty() {
            continue;
        }
        proved += safe.len();
        for copies in [2, 3] {
            let limits = Limits { states: 3_000, ..Limits::default() };
            let found = reach(&p, &Instances::of(&p, copies), &limits);
            for id in found.violations.keys() {
                let name = &p.properties[*id].name;
                assert!(!safe.contains(&name), "seed {seed}: {name} is proved and fails with {copies} threads\n{text}");
            }
            confirmed += usize::from(found.complete());
        }
    }
    (proved, confirmed)
}

#[test]
fn check_what_is_proved_of_random_heap_programs_holds_for_two_and_three_threads() {
    // `THREADPROOF_HUNT=20000` makes it a long run.
    let rounds = std::env::var("THREADPROOF_HUNT").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let (proved, confirmed) = hunt(0..rounds);
    assert!(proved > 10, "the hunt proves enough to mean something: {proved}");
    assert!(confirmed > 0, "some searches are complete: {confirmed}");
}
