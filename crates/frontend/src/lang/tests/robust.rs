//! Nothing crashes, hangs or overflows: mutated bytes, deep nesting, huge lines, no text at all.

use super::generate::Generator;
use super::*;
use base::Random;

fn survives(bytes: &[u8]) -> Parsed {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, "fuzz.tp", bytes);
    let text_length = sources.file(parsed.file).text.len() as u32;
    assert!(parsed.diagnostics.len() <= 130, "{} diagnostics", parsed.diagnostics.len());
    for diagnostic in &parsed.diagnostics {
        assert!(diagnostic.span.start <= diagnostic.span.end && diagnostic.span.end <= text_length, "{diagnostic:?}");
    }
    if let Some(first) = parsed.diagnostics.first() {
        base::render_diagnostic(first, &sources, Colour::Plain);
    } else {
        let text = format_file(&parsed, &sources).expect("a file without errors is printed");
        assert_eq!(must_parse(&text).0.tree, parsed.tree);
    }
    parsed
}

#[test]
fn check_mutated_bytes_never_crash_the_parser() {
    let words = [
        "thread", "proc", "{", "}", "(", ")", "[", "]", "[]", ";", ":=", "performs", "<", ">", "*", "forall", "::",
        "'", "object", "spec", "machine", "->", "if", "else", "while", "\0", "\u{e9}", "/*", "//", "\n", "?", "..",
        "0x",
    ];
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let mut bytes = if random.chance(50) {
            ALL.as_bytes().to_vec()
        } else {
            let tree = Generator { random: Random::new(seed) }.tree();
            print::print_tree(&tree, &[], "").into_bytes()
        };
        let from = random.below(bytes.len().max(1));
        bytes.drain(..from.min(bytes.len().saturating_sub(400)));
        for _ in 0..1 + random.below(8) {
            let at = random.below(bytes.len() + 1);
            let to = (at + random.below(20)).min(bytes.len());
            match random.below(4) {
                0 => drop(bytes.drain(at..to)),
                1 => drop(bytes.splice(at..at, random.one_of(&words).bytes())),
                2 => bytes.insert(at, random.word() as u8),
                _ => {
                    let copy: Vec<u8> = bytes[at..to].to_vec();
                    let target = random.below(bytes.len() + 1);
                    drop(bytes.splice(target..target, copy));
                }
            }
        }
        survives(&bytes);
    }
}

#[test]
fn check_random_bytes_never_crash_the_parser() {
    for seed in 0..500 {
        let mut random = Random::new(seed);
        let bytes: Vec<u8> = (0..random.below(300)).map(|_| random.word() as u8).collect();
        survives(&bytes);
    }
}

#[test]
fn check_deep_nesting_is_an_error_and_not_an_overflow() {
    let deep = 200_000;
    let repeated = [
        ("init ", "(", "x"),
        ("init ", "!", "x"),
        ("init ", "-", "x"),
        ("init ", "[", "x"),
        ("init ", "{", "x"),
        ("init ", "x[", "x"),
        ("init ", "f(", "x"),
        ("init ", "int(", "x"),
        ("init ", "a ==> ", "x"),
        ("init ", "forall i: int :: ", "x"),
        ("init ", "if a then ", "x"),
        ("init ", "if ", "x"),
        ("init a", " + a", ";"),
        ("init a", " - a", ";"),
        ("init a", " <==> a", ";"),
        ("init a", ".a", ";"),
        ("init a", "[a]", ";"),
        ("init a", "[a := a]", ";"),
        ("init a", "[a..]", ";"),
        ("var x: ", "[int]", "int;"),
        ("var x: ", "set<", "int"),
        ("thread T ", "{", ""),
        ("thread T {", "if a {", ""),
        ("thread T {", "atomic {", ""),
        ("thread T {", "while a {", ""),
        ("thread T {", "choose { } or {", ""),
        ("thread T {", "if a { } else {", ""),
        ("proc p() performs ", "(", "<> a"),
        ("object O ", "{", ""),
        ("machine M ", "{", ""),
    ];
    for (before, part, behind) in repeated {
        let text = std::format!("{before}{}{behind}", part.repeat(deep));
        let parsed = survives(text.as_bytes());
        assert!(parsed.has_errors(), "{before}{part}");
        let limited = parsed.diagnostics.iter().any(|d| d.code == codes::TOO_DEEP);
        assert!(limited || part == "{" && before != "thread T ", "{before}{part}: {:?}", parsed.diagnostics);
    }
}

#[test]
fn check_long_lists_are_not_nesting() {
    let long = 100_000;
    for (before, part, behind) in [
        ("init a", " && a", ";"),
        ("init a", " || a", ";"),
        ("init f(a", ", a", ");"),
        ("enum E { A", ", A", "}"),
        ("thread T { if a {}", " else if a {}", "}"),
        ("thread T { choose {} or {}", " or {}", "}"),
        ("thread T {", "skip;", "}"),
        ("proc p() performs <> a", " [] <> a", "; {}"),
        ("proc p() performs <> a", " ; <> a", "; {}"),
        ("", "var x: int;\n", ""),
    ] {
        let parsed = survives(std::format!("{before}{}{behind}", part.repeat(long)).as_bytes());
        assert!(parsed.diagnostics.is_empty(), "{before}{part}: {:?}", parsed.diagnostics);
    }
}

#[test]
fn check_the_deepest_allowed_nesting_can_be_walked() {
    let depth = parse::MAX_TREE_HEIGHT as usize - 3;
    survives(std::format!("init {}x{};", "(".repeat(depth), ")".repeat(depth)).as_bytes());
    survives(std::format!("init x{};", " + x".repeat(depth)).as_bytes());
    survives(std::format!("thread T {}{}", "{".repeat(depth), "}".repeat(depth)).as_bytes());
}

#[test]
fn check_huge_lines_are_read_in_time() {
    let megabytes = 10 << 20;
    let start = std::time::Instant::now();
    survives("x".repeat(megabytes).as_bytes());
    survives(&vec![0u8; megabytes]);
    survives(&vec![0xffu8; megabytes]);
    survives("#".repeat(megabytes).as_bytes());
    survives("'".repeat(megabytes).as_bytes());
    survives("9".repeat(1 << 20).as_bytes());
    survives(std::format!("init {};", "9".repeat(megabytes)).as_bytes());
    survives(std::format!("// {}", "\u{e9}".repeat(megabytes / 2)).as_bytes());
    survives("}".repeat(megabytes).as_bytes());
    survives(";".repeat(megabytes).as_bytes());
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn check_bytes_that_are_not_text_are_reported_with_their_place() {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, "a.tp", b"var x: int;\nvar \xff y: int;\n");
    let first = &parsed.diagnostics[0];
    assert_eq!((first.code, sources.place(first.span)), (codes::NOT_UTF8, "a.tp:2:5".to_owned()));
    let parsed = parse_file(&mut sources, "b.tp", b"var x\0: int;");
    let first = &parsed.diagnostics[0];
    assert_eq!((first.code, sources.place(first.span)), (codes::STRANGE_CHARACTER, "b.tp:1:6".to_owned()));
    assert_eq!(parsed.tree.items.len(), 1);
    assert!(survives(b"").diagnostics.is_empty());
    assert!(survives(b"\xef\xbb\xbfvar x: int;").diagnostics.is_empty());
}
