//! Random programs over pointers, a flag and one lock.

use base::random::Random;

/// A random program over two shared references, two locals, a link, a flag and a lock.
pub fn program(seed: u64) -> String {
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
