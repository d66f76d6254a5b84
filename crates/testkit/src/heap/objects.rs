//! Random objects with a specification: stacks, queues and sets in the heap, with locks or compare-and-swap, whose operations are changed at random: parameters
//! that are overwritten, results that come from somewhere else, ids that are left behind and looked at, statements that are missing.

use base::random::Random;

fn one(r: &mut Random, of: &[&'static str]) -> &'static str {
    of[r.below(of.len())]
}

pub fn program(seed: u64) -> String {
    let mut r = Random::new(seed);
    let text = match r.below(4) {
        0 => stack(&mut r),
        1 => locked_stack(&mut r),
        2 => queue(&mut r),
        _ => set(&mut r),
    };
    // Without one statement now and then.
    let lines: Vec<&str> = text.lines().collect();
    let plain: Vec<usize> =
        (0..lines.len()).filter(|i| lines[*i].starts_with("    ") && lines[*i].ends_with(";")).collect();
    let plain: Vec<usize> =
        plain.into_iter().filter(|i| !lines[*i].contains("var ") && !lines[*i].contains('{')).collect();
    let out = (r.below(3) == 0 && !plain.is_empty()).then(|| plain[r.below(plain.len())]);
    lines.iter().enumerate().filter(|(i, _)| Some(*i) != out).fold(String::new(), |all, (_, l)| all + l + "\n")
}

/// What is done with an id on the way; it does not concern the results, unless they are made of it.
fn by_the_way(r: &mut Random, node: &str) -> String {
    match r.below(7) {
        0 => "    Last := tid;\n".into(),
        1 => "    w := Last;\n    Last := w;\n".into(),
        2 => format!("    if {node} != null {{ {node}.who := tid; }}\n"),
        3 => format!("    if {node} != null {{ w := {node}.who; Last := w; }}\n"),
        _ => String::new(),
    }
}

/// What becomes of a parameter after it was used, or before.
fn overwritten(r: &mut Random, node: &str, field: &str) -> String {
    match r.below(6) {
        0 => format!("    if {node} != null {{ v := {node}.{field}; }}\n"),
        1 => "    v := 0;\n".into(),
        2 => "    havoc v;\n".into(),
        _ => String::new(),
    }
}

const STACK: &str = "  spec {
    var s: seq<int> := [];
    push(v: int) { s := [v] + s; }
    pop() returns (v: int, ok: bool) { if len(s) == 0 { v, ok := 0, false; } else { v, s, ok := s[0], s[1..len(s)], true; } }
  }
";

fn stack(r: &mut Random) -> String {
    let cas = one(r, &["done := cas(Top, t, x);", "done := cas(Top, t, x);", "done := cas(Top, x.next, x);"]);
    let (a, b, c) = (by_the_way(r, "x"), by_the_way(r, "t"), overwritten(r, "t", "val"));
    let (early, late) = if r.below(3) == 0 { (c, String::new()) } else { (String::new(), c) };
    format!(
        "class Node {{ val: int; next: Node; who: int; }}\nobject Stack {{\n{STACK}  var Top: Node = null;\n  var Last: int = 0;
  op push(v: int) {{
    var x: Node;
    var t: Node := null;
    var w: int;
    var done: bool := false;
    x := new Node;
{early}    x.val := v;
{a}    while !done {{
    t := Top;
    x.next := t;
    {cas}
    }}
{late}    return;
  }}
  op pop() returns (v: int, ok: bool) {{
    var t: Node;
    var n: Node;
    var w: int;
    var done: bool := false;
    while !done {{
    t := Top;
    if t == null {{ return {}; }}
    n := t.next;
    done := cas(Top, t, n);
    }}
{b}    v := {};
    return v, true;
  }}
}}
",
        one(r, &["0, false", "0, false", "0, false", "1, false", "w, false"]),
        one(r, &["t.val", "t.val", "t.val", "t.val", "t.who", "0"])
    )
}

fn locked_stack(r: &mut Random) -> String {
    let (a, b, c) = (by_the_way(r, "x"), by_the_way(r, "t"), overwritten(r, "x", "val"));
    format!(
        "class Node {{ val: int; next: Node; who: int; }}\nobject Stack {{\n{STACK}  var Top: Node = null;\n  var Last: int = 0;\n  var m: lock;
  op push(v: int) {{
    var x: Node;
    var w: int;
    x := new Node;
    x.val := v;
{c}    acquire m;
    x.next := Top;
    Top := x;
{a}    release m;
    return;
  }}
  op pop() returns (v: int, ok: bool) {{
    var t: Node;
    var w: int;
    acquire m;
    t := Top;
    if t == null {{
    release m;
    return 0, false;
    }}
    Top := {};
{b}    release m;
    v := t.val;
    return v, true;
  }}
}}
",
        one(r, &["t.next", "t.next", "t.next", "t", "null"])
    )
}

fn queue(r: &mut Random) -> String {
    let (a, b, c) = (by_the_way(r, "x"), by_the_way(r, "h"), overwritten(r, "x", "val"));
    format!(
        "class Node {{ val: int; next: Node; who: int; }}\nobject Queue {{
  spec {{
    var s: seq<int> := [];
    put(v: int) {{ s := s + [v]; }}
    take() returns (v: int, ok: bool) {{ if len(s) == 0 {{ v, ok := 0, false; }} else {{ v, s, ok := s[0], s[1..len(s)], true; }} }}
  }}
  var Head: Node;
  var Tail: Node;
  var Last: int = 0;
  var m: lock;
  var n: lock;
  init Head != null && Head == Tail && Head.next == null;
  op put(v: int) {{
    var x: Node;
    var w: int;
    x := new Node;
    x.val := v;
{c}    x.next := null;
    acquire n;
    Tail.next := x;
    Tail := x;
{a}    release n;
    return;
  }}
  op take() returns (v: int, ok: bool) {{
    var h: Node;
    var x: Node;
    var w: int;
    acquire m;
    h := Head;
    x := h.next;
    if x == null {{
    release m;
    return 0, false;
    }}
    v := {};
    Head := x;
{b}    release m;
    return v, true;
  }}
}}
",
        one(r, &["x.val", "x.val", "x.val", "h.val"])
    )
}

fn set(r: &mut Random) -> String {
    let found = match r.below(4) {
        0 => "    if c != null { v := c.key; }\n    ok := c != null;\n",
        1 => "    ok := c != null && c.key == v;\n    if c != null { v := c.key; }\n",
        2 => "    if c != null && c.key == v { v := c.key; ok := true; } else { ok := false; }\n",
        _ => "    ok := c != null && c.key == v;\n",
    };
    let after = one(r, &["", "", "    if c != null { v := c.key; }\n", "    if p != Head { v := p.key; }\n"]);
    format!(
        "class Node {{ key: int; next: Node; }}\nobject Set {{
  spec {{
    var s: set<int> := {{}};
    add(v: int) returns (ok: bool) {{ ok := !(v in s); s := s + {{v}}; }}
    contains(v: int) returns (ok: bool) {{ ok := v in s; }}
  }}
  var Head: Node;
  var m: lock;
  init Head != null && Head.next == null;
  op add(v: int) returns (ok: bool) {{
    var p: Node;
    var c: Node;
    var x: Node;
    acquire m;
    p := Head;
    c := p.next;
    while c != null && c.key {} v {{ p := c; c := p.next; }}
    if c != null && c.key == v {{ ok := false; }} else {{
    x := new Node;
    x.key := v;
    x.next := c;
    p.next := x;
    ok := true;
    }}
{after}    release m;
    return;
  }}
  op contains(v: int) returns (ok: bool) {{
    var c: Node;
    acquire m;
    c := Head.next;
    while c != null && c.key < v {{ c := c.next; }}
{found}    release m;
    return;
  }}
}}
",
        one(r, &["<", "<", "<", "<="])
    )
}
