//! What is said about broken programs: the code, the place, and that later errors are still found.

use super::*;

/// Codes and places of all diagnostics.
fn errors(text: &str) -> Vec<(&'static str, String)> {
    let (parsed, sources) = parse_str(text);
    parsed.diagnostics.iter().map(|d| (d.code.0, sources.place(d.span).replace("test.tp:", ""))).collect()
}

fn code_at(code: base::DiagnosticCode, place: &str) -> (&'static str, String) {
    (code.0, place.to_owned())
}

#[test]
fn check_a_missing_semicolon_is_shown_where_it_belongs() {
    let text = "thread A {\n  x := 1\n  y := 2;\n}\nvar z: int\nvar w: int;\n";
    assert_eq!(errors(text), [code_at(codes::UNEXPECTED, "2:9"), code_at(codes::UNEXPECTED, "5:11")]);
    let (parsed, _) = parse_str(text);
    assert_eq!(parsed.tree.items.len(), 3);
}

#[test]
fn check_several_errors_are_found_in_one_run() {
    let text = "\
var x int;
thread A { x := ; y := 1 +; assert (a; x = 3; }
enum E { A B }
proc p( { skip; }
thread B { assume x == ; skip; }
";
    let lines: Vec<String> = errors(text).into_iter().map(|(_, p)| p.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["1", "2", "2", "2", "2", "3", "4", "5"]);
}

#[test]
fn check_an_unclosed_block_does_not_swallow_the_next_item() {
    let text = "thread A {\n  while true {\n    x := 1;\n\nthread B { y := ; }\n";
    assert_eq!(errors(text), [code_at(codes::UNCLOSED, "5:1"), code_at(codes::UNEXPECTED, "5:17")]);
    let (parsed, _) = parse_str(text);
    assert_eq!(parsed.tree.items.len(), 2);
    let inside_object = "object S { op f() { x := 1; op g() { } }\nthread T { }\n";
    assert_eq!(errors(inside_object), [code_at(codes::UNCLOSED, "1:29")]);
}

#[test]
fn check_common_slips_get_a_hint() {
    for (text, hint) in [
        ("var count: int; thread T { count += 1; }", "write `count := count + ...;`"),
        ("var count: int; thread T { count++; }", "write `count := count + 1;`"),
        ("var a: [int]int; thread T { a[3] -= 2; }", "write `a[3] := a[3] - ...;`"),
        ("var x: int; thread T { assert x = 1; }", "equality is written `==`"),
        ("thread A { x = 1; }", "`:=`"),
        ("thread A { if x = 1 { } }", "`==`"),
        ("invariant 0 <= x < n;", "&&"),
        ("thread A { var x := 1; }", "var x: int"),
        ("thread A { x := 1 & 2; }", "`&&`"),
        ("thread A { while x { } invariant y; }", "while"),
        ("var while: int;", "keyword"),
        ("thread A { x' := 1; }", "`'`"),
        ("init 12ab;", "0x2a"),
        ("op f() { }", "object"),
        ("thread A { x := f(1) + new Node; }", "new"),
        ("thread A { ; }", "skip"),
        ("thread A { asert x == 1; }", "did you mean `assert`?"),
        ("thread A { relaese m; }", "did you mean `release`?"),
        ("thred A { skip; }", "did you mean `thread`?"),
    ] {
        let (parsed, _) = parse_str(text);
        let hints: Vec<&String> = parsed.diagnostics.iter().flat_map(|d| &d.hints).collect();
        assert!(hints.iter().any(|h| h.contains(hint)), "{text}: {:?}", parsed.diagnostics);
    }
}

#[test]
fn check_each_code_of_parsing_is_given() {
    for (text, code) in [
        ("var x: int; }", codes::UNCLOSED),
        ("init (a;", codes::UNCLOSED),
        ("init @;", codes::STRANGE_CHARACTER),
        ("/* open", codes::OPEN_COMMENT),
        ("init 99999999999999999999999999999999999999999;", codes::BAD_NUMBER),
        ("init a < b < c;", codes::CHAINED_COMPARISON),
        ("thread A { x + 1 := 2; }", codes::NOT_ASSIGNABLE),
        ("thread A { f(x)[1] := 2; }", codes::NOT_ASSIGNABLE),
        ("thread A { step <x'> true; }", codes::NOT_ASSIGNABLE),
        ("object S { spec { } spec { } }", codes::TWO_SPECS),
        ("choose", codes::UNEXPECTED),
        ("thread A { choose { } }", codes::UNEXPECTED),
    ] {
        assert!(errors(text).iter().any(|e| e.0 == code.0), "{text}: {:?}", errors(text));
    }
    let many = "thread A { x := ; }\n".repeat(300);
    assert_eq!(errors(&many).last().map(|e| e.0), Some(codes::TOO_MANY.0));
}

#[test]
fn check_the_picture_shows_what_was_expected() {
    let (parsed, sources) = parse_str("thread A {\n  assert (x == 1;\n}\n");
    let expected = "\
error[E0106]: expected `)`, found `;`
 --> test.tp:2:17
  |
2 |   assert (x == 1;
  |          -      ^ expected `)`
  |          |
  |          to close this
";
    assert_eq!(render_all(&parsed.diagnostics, &sources, Colour::Plain), expected);
}
