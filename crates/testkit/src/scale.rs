//! Large programs with locks, made by rule: any number of procedures of about 25 lines each.
//!
//! In: how many procedures, and who calls them. Out: source text. Every program is safe: the low mark of an account is never
//! above its high mark and its use never negative, each account under a lock of its own. `spoil` makes one procedure wrong,
//! `edit` changes a number in one of them and nothing else.

use std::fmt::Write;

/// Who calls the procedures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// A thread, in any number, for every four of them.
    Threads,
    /// One thread, in any number, calls any of them.
    One,
    /// None: the file has procedures only.
    None,
}

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub procedures: usize,
    pub callers: Callers,
    /// Procedures for each lock.
    pub per_lock: usize,
    /// The procedure whose second assertion is wrong.
    pub spoil: Option<usize>,
    /// The procedure in which a number is changed.
    pub edit: Option<usize>,
}

impl Shape {
    pub fn new(procedures: usize, callers: Callers) -> Self {
        Self { procedures, callers, per_lock: 2, spoil: None, edit: None }
    }
}

pub fn program(shape: &Shape) -> String {
    let locks = (shape.procedures / shape.per_lock).max(1);
    let mut out = String::new();
    for k in 0..locks {
        let _ = writeln!(out, "var m{k}: lock;\nvar low{k}: int = 0;\nvar high{k}: int = 0;\nvar used{k}: int = 0;");
    }
    for i in 0..shape.procedures {
        let _ = writeln!(out, "\nproc p{i}(a: int) {{");
        let step = if shape.edit == Some(i) { 3 } else { 1 };
        for line in body(i, i % locks, locks, step) {
            let _ = writeln!(out, "  {line}");
        }
        if shape.spoil == Some(i) {
            let _ = writeln!(out, "  acquire m{k};\n  assert used{k} < 2;\n  release m{k};", k = i % locks);
        }
        out.push_str("}\n");
    }
    let calls = |some: std::ops::Range<usize>| {
        let each: Vec<String> = some.map(|i| format!("{{ p{i}({i}); }}")).collect();
        format!("choose {}", each.join(" or "))
    };
    let n = shape.procedures;
    match shape.callers {
        Callers::None => {}
        Callers::One => {
            let _ = writeln!(out, "\nthread W[*] {{\n  while true {{\n    {}\n  }}\n}}", calls(0..n));
        }
        Callers::Threads => {
            for t in (0..n).step_by(4) {
                let some = t..n.min(t + 4);
                let what = if some.len() == 1 { format!("p{t}({t});") } else { calls(some) };
                let _ = writeln!(out, "\nthread W{t}[*] {{\n  while true {{\n    {what}\n  }}\n}}");
            }
        }
    }
    out
}

fn body(i: usize, k: usize, locks: usize, step: usize) -> Vec<String> {
    let other = (k + 1) % locks;
    let (first, second) = (k.min(other), k.max(other));
    let text = match i % 4 {
        0 => format!(
            "acquire m{k};
var x: int := low{k};
var y: int := high{k};
assert x <= y;
if a > 0 {{
  y := y + a;
}} else {{
  y := y + {step};
}}
high{k} := y;
if x + 1 <= y {{
  x := x + 1;
  low{k} := x;
}}
used{k} := used{k} + 1;
assert low{k} <= high{k};
assert used{k} >= 1;
var z: int := y - x;
assert z >= 0;
release m{k};"
        ),
        1 => format!(
            "var s: int := 0;
acquire m{k};
var w: int := high{k};
assert low{k} <= w;
while s < a {{
  s := s + {step};
  w := w + {step};
  high{k} := w;
}}
assert low{k} <= high{k};
release m{k};
skip;
acquire m{k};
if used{k} > 0 {{
  used{k} := used{k} - 1;
}}
assert used{k} >= 0;
release m{k};"
        ),
        2 if first != second => format!(
            "acquire m{first};
acquire m{second};
var d: int := high{k} - low{k};
assert d >= 0;
if d > {step} {{
  low{k} := low{k} + 1;
}} else {{
  high{k} := high{k} + 2;
}}
assert low{k} <= high{k};
used{k} := used{k} + d;
assert used{k} >= 0;
used{other} := used{other} + d;
assert used{other} >= d;
release m{second};
release m{first};"
        ),
        _ => format!(
            "var r: int;
choose {{
  r := {step};
}} or {{
  r := 2;
}}
acquire m{k};
var old: int := used{k};
used{k} := old + r;
assert used{k} == old + r;
assert used{k} > 0;
low{k}, high{k} := 0, r;
assert low{k} < high{k};
used{k} := old;
assert used{k} == old;
release m{k};"
        ),
    };
    text.lines().map(str::to_owned).collect()
}
