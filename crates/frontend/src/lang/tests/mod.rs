//! Tests of the front of the language: everything in the contract parses, printing round-trips, nothing crashes.

mod broken;
mod contract;
mod document;
mod generate;
mod lower_robust;
mod lowering;
mod meaning;
mod robust;

use super::*;
use base::Random;
use base::render::{Colour, render_all};
use generate::Generator;

/// Everything the language document shows, in one file.
const ALL: &str = include_str!("all.tp");

fn parse_str(text: &str) -> (Parsed, Sources) {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, "test.tp", text.as_bytes());
    (parsed, sources)
}

fn must_parse(text: &str) -> (Parsed, Sources) {
    let (parsed, sources) = parse_str(text);
    let messages = render_all(&parsed.diagnostics, &sources, Colour::Plain);
    assert!(parsed.diagnostics.is_empty(), "{messages}\nin\n{text}");
    (parsed, sources)
}

fn formatted(text: &str) -> String {
    let (parsed, sources) = must_parse(text);
    format_file(&parsed, &sources).expect("a file without errors is printed")
}

#[test]
fn check_everything_in_the_language_document_parses() {
    let (parsed, _) = must_parse(ALL);
    assert!(parsed.tree.items.len() > 30);
}

#[test]
fn check_the_language_document_survives_printing() {
    let once = formatted(ALL);
    assert_eq!(must_parse(ALL).0.tree, must_parse(&once).0.tree);
    assert_eq!(once, formatted(&once));
    assert_eq!(must_parse(ALL).0.comments.len(), must_parse(&once).0.comments.len());
}

#[test]
fn check_random_trees_survive_printing() {
    for seed in 0..1500 {
        let tree = Generator { random: Random::new(seed) }.tree();
        let text = print::print_tree(&tree, &[], "");
        let (parsed, _) = must_parse(&text);
        assert_eq!(parsed.tree, tree, "seed {seed}:\n{text}");
        let again = formatted(&text);
        assert_eq!(again, formatted(&again), "seed {seed}");
    }
}

/// The same tokens with other blanks between them, and comments.
fn scattered(text: &str, random: &mut Random) -> (String, Vec<String>) {
    let lexed = token::lex_text(base::ids::Id::from_index(0), text);
    let mut out = String::new();
    let mut comments = Vec::new();
    for token in &lexed.tokens {
        match random.below(12) {
            0 => {
                comments.push(std::format!("// c{}", comments.len()));
                out.push_str(&std::format!(" {}\n", comments[comments.len() - 1]));
            }
            1 => {
                comments.push(std::format!("/* c{}{} */", comments.len(), random.one_of(&["", "\n  {x"])));
                out.push_str(&std::format!(" {}", comments[comments.len() - 1]));
            }
            2 => out.push('\n'),
            3 => out.push_str("\n\n\n"),
            4 => out.push('\t'),
            _ => {}
        }
        // Two tokens may only touch where the text had them touching.
        let touching = token.start > 0 && !text.as_bytes()[token.start as usize - 1].is_ascii_whitespace();
        if !touching {
            out.push(' ');
        }
        out.push_str(&text[token.start as usize..token.end as usize]);
    }
    (out, comments)
}

#[test]
fn check_comments_survive_printing_wherever_they_stand() {
    for seed in 0..1500 {
        let mut random = Random::new(seed ^ 0xc0ffee);
        let tree = Generator { random: Random::new(seed) }.tree();
        let (text, comments) = scattered(&print::print_tree(&tree, &[], ""), &mut random);
        let (parsed, sources) = must_parse(&text);
        assert_eq!(parsed.tree, tree, "seed {seed}:\n{text}");
        let once = format_file(&parsed, &sources).expect("a file without errors is printed");
        let (again, again_sources) = must_parse(&once);
        assert_eq!(again.tree, tree, "seed {seed}:\n{text}\n=======\n{once}");
        let kept: Vec<&str> = again.comments.iter().map(|c| again_sources.text(*c)).collect();
        let mut sorted: Vec<&str> = kept.clone();
        let mut wanted: Vec<&str> = comments.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(sorted, wanted, "seed {seed}:\n{text}\n=======\n{once}");
        let twice = format_file(&again, &again_sources).expect("a file without errors is printed");
        assert_eq!(once, twice, "seed {seed}:\n{text}");
    }
}

#[test]
fn check_the_printed_form_is_as_expected() {
    let text = "// head\nvar x:int=0; // shared\n\n\n/* about a */ thread A[ 3 ]{var i:int:=x+1;// first\nif i<(2) {x:=i;}else if *{skip;} while true invariant i>=0; {}\n// last\n}\nproc p(a:int)returns(r:int) requires a>0; {return a;}";
    let expected = "\
// head
var x: int = 0; // shared

/* about a */
thread A[3] {
  var i: int := x + 1; // first
  if i < 2 {
    x := i;
  } else if * {
    skip;
  }
  while true
    invariant i >= 0;
  {}
  // last
}

proc p(a: int) returns (r: int)
  requires a > 0;
{
  return a;
}
";
    assert_eq!(formatted(text), expected);
}

#[test]
fn check_precedence_is_as_documented() {
    let pairs = [
        ("a ==> b ==> c", "a ==> (b ==> c)"),
        ("a <==> b ==> c", "(a <==> b) ==> c"),
        ("a || b <==> c && d", "(a || b) <==> (c && d)"),
        ("a == b && c in d || !e", "((a == b) && (c in d)) || (!e)"),
        ("a + b * c - d % e", "(a + (b * c)) - (d % e)"),
        ("-a * b", "(-a) * b"),
        ("forall i: int :: a ==> b", "forall i: int :: (a ==> b)"),
        ("a ==> forall i: int :: b ==> c", "a ==> (forall i: int :: (b ==> c))"),
        ("if a then b else c == d", "if a then b else (c == d)"),
        ("!m'[i].next == x", "(!((m'[i]).next)) == x"),
    ];
    for (plain, explicit) in pairs {
        let tree = |e: &str| must_parse(&std::format!("invariant {e};")).0.tree;
        assert_eq!(tree(plain), tree(explicit), "{plain}");
    }
}

#[test]
fn check_twenty_thousand_lines_parse_quickly() {
    let body = "  acquire m;\n  var j: int := count + m[3].next.val * 2;\n  if j < 10 && (x == y || z) { x := j; }\n  release m;\n";
    let mut text = String::new();
    for index in 0..3333 {
        text.push_str(&std::format!("thread T{index} {{\n{body}}}\n"));
    }
    let start = std::time::Instant::now();
    must_parse(&text);
    // Generous, for the unoptimised build on a busy machine; the release build is far below.
    assert!(start.elapsed().as_millis() < 3000, "{:?}", start.elapsed());
}
