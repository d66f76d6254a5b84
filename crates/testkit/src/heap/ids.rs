//! Random programs in which ids of threads and numbers go through shared variables, locals, fields of two classes, procedures and marks: copied, compared,
//! swapped, handed over, and compared again by the thread that they are the id of.

use base::random::Random;
use std::fmt::Write;

/// What varies: the start, the number of threads, whether there is a second class, whether objects are freed, and every statement.
pub fn program(seed: u64) -> String {
    let mut r = Random::new(seed);
    let style = Style { boxes: r.below(3) == 0, frees: r.below(4) == 0 };
    let start = if style.frees { "= null;" } else { ["= null;", ";"][r.below(2)] };
    let init = match r.below(3) {
        0 if start == ";" => "init g != null && g.who == 0 && g.next == null;\n",
        1 if start == ";" => "init g != null && h == g && !g.mark;\n",
        _ => "",
    };
    let mut text = format!(
        "class Node {{ next: Node; val: int; who: int; mark: bool; m: lock; }}\n\
         var g: Node {start}\nvar h: Node {start}\nvar i: int = 0;\nvar j: int {};\nvar f: bool = false;\nvar m: lock;\n{init}\
         proc pass(a: int) returns (r: int) {{ r := a; a := i; j := a; }}\n",
        ["= 0", "= 0", "= 0", ""][r.below(4)]
    );
    if style.boxes {
        text.push_str("class Box { item: Node; owner: int; full: bool; }\nvar k: Box = null;\n");
    }
    let threads: &[&str] = [&["T[*]"][..], &["T[*]", "U"], &["T[*]", "U[*]"], &["T[*]", "U[*]", "V"]][r.below(4)];
    for thread in threads {
        let _ = write!(
            text,
            "thread {thread} {{\n  var x: Node := null;\n  var y: Node := null;\n  var w: int := 0;\n  var v: int := 0;\n  var b: bool := false;\n"
        );
        if style.boxes {
            text.push_str("  var q: Box := null;\n");
        }
        for _ in 0..2 + r.below(5) {
            text.push_str(&statement(&mut r, style, 0));
        }
        text.push_str("}\n");
    }
    text
}

#[derive(Clone, Copy)]
struct Style {
    boxes: bool,
    frees: bool,
}

fn one(r: &mut Random, of: &[&'static str]) -> &'static str {
    of[r.below(of.len())]
}

/// An id, or something that may be one.
fn id(r: &mut Random) -> &'static str {
    one(r, &["tid", "tid", "w", "w", "v", "i", "j", "0"])
}

/// The same, without a shared variable.
fn own_id(r: &mut Random) -> &'static str {
    one(r, &["tid", "tid", "w", "w", "v", "0"])
}

fn statement(r: &mut Random, style: Style, depth: usize) -> String {
    let (x, y) = (one(r, &["x", "y"]), one(r, &["x", "y"]));
    let (s, g, l) = (one(r, &["i", "j"]), one(r, &["g", "h"]), one(r, &["w", "w", "v"]));
    let mark = one(r, &["true", "false", "b"]);
    match r.below(if depth < 2 { 32 } else { 24 }) {
        0 | 1 => format!("{s} := {};\n", own_id(r)),
        2 | 3 => format!("{l} := {s};\n"),
        4 | 5 => format!("{s} := {l};\n"),
        6 => format!("{l} := {};\n", own_id(r)),
        7 => format!("if {x} != null {{ {x}.who := {}; }}\n", own_id(r)),
        8 => format!("if {x} != null {{ {l} := {x}.who; }}\n"),
        9 => format!("b := cas({s}, {}, {});\n", own_id(r), own_id(r)),
        10 => format!("if {x} != null {{ b := cas({x}.who, {}, {}); }}\n", own_id(r), own_id(r)),
        11 => format!("b := {} == {};\n", id(r), id(r)),
        12 => format!("assume {} {} {};\n", s, one(r, &["==", "!="]), own_id(r)),
        13 | 14 => format!("{x} := new Node;\n{x}.next := {y};\n{x}.who := {};\n{x}.mark := {mark};\n", own_id(r)),
        15 => format!("{g} := {x};\n"),
        16 => format!("{x} := {g};\n"),
        17 => format!("if {x} != null {{ {y} := {x}.next; }}\n"),
        18 => one(r, &["f := b;\n", "b := f;\n", "w := pass(w);\n", "w := pass(tid);\n", "v := pass(w);\n"]).into(),
        19 => format!("if {x} != null {{ {x}.mark := {mark}; {x}.val := {l}; }}\n"),
        20 if style.boxes => {
            format!("q := new Box;\nq.item := {x};\nq.owner := {};\nq.full := {mark};\nk := q;\n", own_id(r))
        }
        21 if style.boxes => format!("q := k;\nif q != null {{ {l} := q.owner; {x} := q.item; }}\n"),
        20 | 21 if style.frees => {
            format!("atomic {{ {x} := {g}; {g} := null; }}\nif {x} != null {{ {l} := {x}.who; free {x}; }}\n")
        }
        20..=23 => format!("assert {};\n", assertion(r)),
        24 => format!("if {} {{\n{}}}\n", condition(r), statement(r, style, depth + 1)),
        25 => format!("while * {{\n{}}}\n", statement(r, style, depth + 1)),
        26 => format!("choose {{\n{}}} or {{\n{}}}\n", statement(r, style, depth + 1), statement(r, style, depth + 1)),
        27 => format!("atomic {{ {l} := {s}; {s} := {}; }}\n", one(r, &["tid", "v", "0"])),
        28 => format!("acquire m;\n{}{}release m;\n", statement(r, style, depth + 1), statement(r, style, depth + 1)),
        29 => format!("if {x} != null {{\nacquire {x}.m;\n{l} := {x}.who;\n{x}.who := tid;\nrelease {x}.m;\n}}\n"),
        30 => format!("atomic {{\n{}{}}}\n", statement(r, style, 2), statement(r, style, 2)),
        _ => format!("{}{}", statement(r, style, depth + 1), statement(r, style, depth + 1)),
    }
}

fn condition(r: &mut Random) -> String {
    match r.below(5) {
        0 => "b".into(),
        1 => format!("{} == {}", one(r, &["x", "g"]), one(r, &["y", "h", "null"])),
        2 => "!f".into(),
        _ => format!("{} {} {}", id(r), one(r, &["==", "!="]), id(r)),
    }
}

fn assertion(r: &mut Random) -> String {
    let x = one(r, &["x", "y", "g"]);
    match r.below(10) {
        0 | 1 => format!("{} != tid", one(r, &["i", "j", "w", "v"])),
        2 => format!("{} == tid", one(r, &["i", "j", "w"])),
        3 => format!("{s} == 0 || {s} == tid", s = one(r, &["i", "j", "w"])),
        4 => format!("{} == {}", id(r), id(r)),
        5 => format!("i != j || i {} 0", one(r, &["==", "!="])),
        6 => format!("{x} == null || {x}.who {} {}", one(r, &["==", "!="]), id(r)),
        7 => format!("{x} == null || {}{x}.mark", one(r, &["", "!"])),
        8 => format!("b || {} != {}", id(r), id(r)),
        _ => one(r, &["b || !f", "!b || i == tid", "x != y || x == null", "v == 0"]).into(),
    }
}
