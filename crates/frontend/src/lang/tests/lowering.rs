//! Lowering: the corpus against its truth, and what single constructs become.

use super::*;
use crate::lang::lower::{Lowered, LoweringSettings, lower_file};
use program::Program;
use std::path::{Path, PathBuf};

fn lowered_with(text: &str, settings: &LoweringSettings) -> (Lowered, Sources) {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, "test.tp", text.as_bytes());
    (lower_file(&parsed, &sources, settings), sources)
}

fn program(text: &str) -> Program {
    let (lowered, sources) = lowered_with(text, &LoweringSettings::default());
    let messages = render_all(&lowered.diagnostics, &sources, Colour::Plain);
    lowered.program.unwrap_or_else(|| panic!("{messages}\nin\n{text}"))
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "tp") {
            out.push(path);
        }
    }
}

#[test]
fn check_every_program_of_the_corpus_lowers() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths = Vec::new();
    files(&corpus, &mut paths);
    paths.sort();
    assert!(paths.len() > 100, "the corpus is found");
    let mut failures = String::new();
    for path in paths.iter().filter(|p| !p.components().any(|c| c.as_os_str() == "malformed")) {
        let mut sources = Sources::new();
        let bytes = std::fs::read(path).unwrap();
        let parsed = parse_file(&mut sources, path.file_name().unwrap().to_string_lossy(), &bytes);
        let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
        if lowered.program.is_none() || !lowered.diagnostics.is_empty() {
            failures.push_str(&render_all(&lowered.diagnostics, &sources, Colour::Plain));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn check_every_program_of_the_corpus_is_well_formed_and_has_a_text_form() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths = Vec::new();
    files(&corpus, &mut paths);
    paths.sort();
    for path in paths.iter().filter(|p| !p.components().any(|c| c.as_os_str() == "malformed")) {
        let program = program(&std::fs::read_to_string(path).unwrap());
        well_formed(&program, &path.display().to_string());
    }
}

fn well_formed(program: &Program, what: &str) {
    let faults: Vec<String> = program::wellformed::wellformed(program).iter().map(|f| f.to_string()).collect();
    assert!(faults.is_empty(), "{what}:\n{}", faults.join("\n"));
    let text = program::text::print_program(program);
    let again = program::text::read_program(&text).unwrap_or_else(|e| panic!("{what}: {e:?}\n{text}"));
    assert_eq!(program::text::print_program(&again), text, "{what}");
}

#[test]
fn check_malformed_programs_give_the_errors_they_name() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/malformed");
    let mut paths = Vec::new();
    files(&corpus, &mut paths);
    paths.sort();
    let mut failures = String::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let wanted: Vec<String> =
            text.lines().filter_map(|l| l.strip_prefix("// error: ")).map(str::trim).map(str::to_owned).collect();
        let (lowered, sources) = lowered_with(&text, &LoweringSettings::default());
        let found: Vec<String> =
            lowered.diagnostics.iter().map(|d| std::format!("{} line {}", d.code.0, sources.line_of(d.span))).collect();
        if wanted != found {
            let pictures = render_all(&lowered.diagnostics, &sources, Colour::Plain);
            failures.push_str(&std::format!("{}: wanted {wanted:?}\n{pictures}\n", path.display()));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Instances and settings that a file's header names.
fn instance(text: &str, constants: &[String]) -> LoweringSettings {
    let line = text.lines().find_map(|l| l.strip_prefix("// instance: ")).unwrap_or("");
    let mut settings = LoweringSettings::default();
    for part in line.split_whitespace() {
        let Some((name, value)) = part.split_once('=') else { continue };
        if constants.iter().any(|c| c == name) {
            settings.constants.push((name.to_owned(), value.to_owned()));
        } else if text.contains(&std::format!("thread {name}[")) {
            // Other names speak of the clients of objects, which no search here makes.
            settings.copies.extend(value.parse().ok().map(|n| (name.to_owned(), n)));
        }
    }
    settings
}

#[test]
fn check_small_searches_agree_with_the_truth_of_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths = Vec::new();
    files(&corpus, &mut paths);
    paths.sort();
    let mut failures = String::new();
    let (mut decided, mut all) = (0, 0);
    for path in paths.iter().filter(|p| !p.components().any(|c| c.as_os_str() == "malformed")) {
        let text = std::fs::read_to_string(path).unwrap();
        let constants: Vec<String> = text
            .lines()
            .filter_map(|l| l.strip_prefix("const "))
            .filter_map(|l| l.split(':').next())
            .map(str::to_owned)
            .collect();
        let settings = instance(&text, &constants);
        let (lowered, sources) = lowered_with(&text, &settings);
        let Some(program) = lowered.program else {
            failures.push_str(&render_all(&lowered.diagnostics, &sources, Colour::Plain));
            continue;
        };
        if program.threads.is_empty()
            || program.threads.iter().any(|t| t.copies == program::Copies::Any && t.start == program::Start::Initial)
        {
            continue;
        }
        all += 1;
        let instances = program::semantics::InstanceCounts::of(&program, 0);
        let limits = program::semantics::ReachLimits { states: 2_500, depth: 200, ..Default::default() };
        let reached = program::semantics::reachable_states(&program, &instances, &limits);
        let safe = text.contains("// truth: safe\n") && text.starts_with("// truth: safe");
        let bad: Vec<String> = reached.violations.keys().map(|p| program.properties[*p].name.clone()).collect();
        if safe && !bad.is_empty() {
            failures.push_str(&std::format!("{} is safe, but {bad:?}\n", path.display()));
        }
        let others = !program.machines.is_empty()
            || !program.objects.is_empty()
            || program.procedures.iter().any(|p| p.performs.is_some());
        if !safe && bad.is_empty() && reached.complete() && !others {
            failures.push_str(&std::format!("{} is unsafe, but nothing was found\n", path.display()));
        }
        decided += usize::from(!bad.is_empty() || reached.complete());
    }
    assert!(decided * 3 > all * 2, "only {decided} of {all} are decided");
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn check_odd_but_legal_programs_are_well_formed() {
    for text in [
        "thread J(a: int) rely tid == tid; invariant a >= 0 || tid > 0; { skip; } thread M { spawn J(1); }",
        "var x: int; thread T[2] rely x' >= x; invariant x == x; { x := x; }",
        "var m: [int]int; thread T { var i: int; m[i], m[i + 1] := m[i + 1], m[i]; }",
        "var m: [int]int; thread T { var i: int; step <m[i], m[i + 1]> m'[i] == m[i + 1] && m'[i + 1] > m[i]; }",
        "var x: int; thread T { var i: int; step <x, i> x' == i && i' == x; step <i> i' > i; }",
        "class C { f: C; g: [int]seq<int>; l: lock; } var c: C; thread T { c.f := new C; c.f.g[3] := [1]; c.g[1][0] := 4; \
         acquire c.l; release c.l; atomic { c := new C; c.f := c; } }",
        "class C { f: int accessible_if g == tid; g: int; h: [int]int accessible_if[i] g == i; } var c: C; \
         thread T { c.f := c.h[2]; }",
        "var t: [int]int; thread J(a: int) { skip; } thread M { t[0] := spawn J(1); join t[0]; }",
        "proc p(a: int) returns (r: int) requires a > 0; ensures r > a; { if a > 5 { return a + 1; } r := p(a); } \
         thread T { var x: int := p(1); p(2); }",
        "var x: u8; proc p() returns (a: i16, b: bool) { a, b := 3, true; } thread T { var b: bool; while * { x, b := p(); } }",
        "var x: int; thread T { while * { var i: int; if i > 0 { x := i; } } }",
        "var x: int; thread T { atomic { while x > 0 { x := x - 1; if * { break; } } } atomic { } atomic { skip; } }",
        "var x: int; thread T { while true { atomic { if x > 0 { break; } else { continue; } } } x := 1; }",
        "var x: int; var y: int; thread T { atomic { assert x / y > 0; assume y > x; havoc x; x := x / y; } }",
        "const A: int; const B: int = 3; init A > B; var x: [int]set<int>; var y: seq<seq<bool>> = [[true], []]; thread T { skip; }",
        "enum E { P, Q } var e: [E]E; init e[P] == Q && (forall a: E :: e[a] != a); thread T { e[e[P]] := Q; }",
        "strict machine M { start A; A -> A : <> true; } thread T[*] follows M { skip; }",
        "object O { var x: int = 0; inline proc add(n: int) { x := x + n; } op a(n: int) { add(n); } } thread T { O.a(2); O.x := 3; }",
        "thread T { return; skip; } thread U { while true { skip; } skip; } thread V { }",
        "var x: int; proc p() performs (A: <x> x' == x + 1)*; B: <> true [] <x> x' == 0; { x := 0; witness A; } thread T { p(); }",
    ] {
        well_formed(&program(text), text);
    }
}

/// Names of the properties that a small search violates, if the search was complete.
fn violated(text: &str) -> Option<Vec<String>> {
    let program = program(text);
    let instances = program::semantics::InstanceCounts::of(&program, 2);
    let limits = program::semantics::ReachLimits { states: 3_000, ..Default::default() };
    let reached = program::semantics::reachable_states(&program, &instances, &limits);
    let mut names: Vec<String> = reached.violations.keys().map(|p| program.properties[*p].name.clone()).collect();
    names.sort();
    Some(names).filter(|_| reached.complete())
}

#[test]
fn check_composed_blocks_mean_what_blocks_with_inner_locations_mean() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths = Vec::new();
    files(&corpus, &mut paths);
    paths.sort();
    let mut texts: Vec<String> = paths
        .iter()
        .filter(|p| !p.components().any(|c| c.as_os_str() == "malformed"))
        .filter_map(|p| std::fs::read_to_string(p).ok())
        .filter(|t| t.contains("atomic {"))
        .collect();
    for block in [
        "assert y != 0; assume x > 5; x := 1;",
        "x := x + 1; assert x < 2; assume y == 0; y := x;",
        "choose { x := 1; } or { y := 2; assert x == 0; } assume y < 2; x := x + y;",
        "if x == 0 { x := 1; } else { assume y == 1; } assert x < 2; y := y + 1; assert y < 3;",
        "var i: int := x; x := y; y := i + 1; if y > 3 { assert false; }",
        "acquire m; x := x + 1; release m; assert x != 2;",
        "b := cas(x, 0, 3); if b { assert y == 0; } else { y := 1; }",
        "step <x, y> x' == y && y' == x + 1 asserting x >= 0; assert y < 2;",
        "x := 4 / y; assume false;",
        "assume x == 0; x := 1 / y;",
    ] {
        texts.push(std::format!(
            "var x: int = 0;\nvar y: int = 0;\nvar m: lock;\nthread A[2] {{\n  var b: bool;\n  atomic {{ {block} }}\n}}\n\
             thread B {{ y := y + 1; x := x + 1; }}\n"
        ));
    }
    let mut compared = 0;
    for text in &texts {
        // A loop that is never taken keeps the inner locations.
        let slow = text.replace("atomic {", "atomic { while false { }");
        if let (Some(a), Some(b)) = (violated(text), violated(&slow)) {
            // The loop moves the columns.
            let line = |name: &String| name.split(':').take(2).collect::<Vec<_>>().join(":");
            let lines = |names: &[String]| names.iter().map(line).collect::<Vec<_>>();
            assert_eq!(lines(&a), lines(&b), "{text}");
            compared += 1;
        }
    }
    assert!(compared > 15, "only {compared} were compared");
}

#[test]
fn check_threads_that_are_spawned_once_become_ordinary_threads() {
    let text = "var x: int = 0;\nthread Job(a: int) { x := x + a; }\nthread Main {\n  var s: int := spawn Job(1);\n  \
                var t: int := spawn Job(2);\n  join s;\n  join t;\n  assert x == 3;\n  assert s != t && s != tid;\n}\n";
    let ordinary = program(text);
    well_formed(&ordinary, text);
    assert!(ordinary.threads.iter().all(|t| t.start == program::Start::Initial && t.params.is_empty()));
    assert_eq!(ordinary.threads.len(), 3);
    assert_eq!(violated(text), Some(Vec::new()));
    let wrong = text.replace("x == 3", "x == 2");
    assert_eq!(violated(&wrong), Some(vec!["assert:8".to_owned()]));
    let early = text.replace("join s;", "");
    assert_eq!(violated(&early), Some(vec!["assert:8".to_owned()]));
    // In a loop, or by several instances, the number of instances is open.
    for many in [
        text.replace("join s;", "while * { spawn Job(3); }"),
        text.replace("thread Main", "thread Main[2]"),
        text.replace("thread Main {", "proc go() { spawn Job(1); }\nthread Main { go();"),
    ] {
        let program = program(&many);
        well_formed(&program, &many);
        assert!(program.threads.iter().any(|t| t.start == program::Start::Spawned), "{many}");
    }
}

#[test]
fn check_a_quantified_reference_is_null_or_an_object_that_is_there() {
    let text = "class Node { val: int; }\nvar x: int = 0;\ninvariant exists n: Node :: n != null;\n\
                rely forall n: Node :: n.val' == n.val;\nthread T { x := 1; }\n";
    let program = program(text);
    let show = |t: Option<logic::Term>| t.map(|t| program.terms.show(t)).unwrap_or_default();
    assert_eq!(
        show(program.invariants[0].formula),
        "exists n: Node :: (n == null || n in live_Node) && n != null",
        "without the guard a solver finds an object in an empty heap"
    );
    assert!(show(program.relies[0].formula).contains("n in live_Node || n in live_Node'"));
}

#[test]
fn check_settings_change_constants_and_copies() {
    let text = "const N: int = 2; const B: bool = false; thread T[N] { assert B; } thread U[*] { skip; }";
    let settings = LoweringSettings {
        constants: vec![("N".to_owned(), "5".to_owned()), ("B".to_owned(), "true".to_owned())],
        copies: vec![("U".to_owned(), 3)],
    };
    let (lowered, _) = lowered_with(text, &settings);
    let program = lowered.program.unwrap();
    let copies: Vec<_> = program.threads.iter().map(|t| t.copies).collect();
    assert_eq!(copies, [program::Copies::Exactly(5), program::Copies::Exactly(3)]);
    for (constants, copies) in [
        (vec![("M", "1")], vec![]),
        (vec![("N", "true")], vec![]),
        (vec![], vec![("V", 2)]),
        (vec![("B", "7")], vec![("W", 1)]),
    ] {
        let constants: Vec<_> = constants.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        let copies: Vec<_> = copies.into_iter().map(|(n, c)| (n.to_owned(), c)).collect();
        let (lowered, _) = lowered_with(text, &LoweringSettings { constants, copies });
        assert!(lowered.diagnostics.iter().all(|d| d.code == codes::BAD_SETTING) && lowered.program.is_none());
    }
}

#[test]
fn check_a_local_without_a_value_is_arbitrary_again_in_every_round() {
    let stale =
        "var x: int = 0; thread T { while x < 2 { var b: bool; if x == 1 { assert b; } b := true; x := x + 1; } }";
    assert_eq!(violated(stale), Some(vec!["assert:1".to_owned()]));
    let set = "var x: int = 0; thread T { while x < 2 { var i: int; if x == 0 { i := 1; } else { i := 2; } assert i > 0; \
               x := x + 1; } }";
    // No value is chosen here, so the search is complete.
    assert_eq!(violated(set), Some(Vec::new()));
    let result = "var x: int = 0; proc p() returns (b: bool) { if x == 0 { b := true; } } \
                  thread T { var c: bool; while x < 2 { c := p(); assert c; x := x + 1; } }";
    assert_eq!(violated(result), Some(vec!["assert:1".to_owned()]));
}

#[test]
fn check_the_corpus_survives_printing() {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus"), &mut paths);
    for path in paths.iter().filter(|p| !p.components().any(|c| c.as_os_str() == "malformed")) {
        let text = std::fs::read_to_string(path).unwrap();
        let once = formatted(&text);
        assert_eq!(must_parse(&text).0.tree, must_parse(&once).0.tree, "{}", path.display());
        assert_eq!(once, formatted(&once), "{}", path.display());
        assert_eq!(must_parse(&text).0.comments.len(), must_parse(&once).0.comments.len(), "{}", path.display());
    }
}
