//! No text that parses makes lowering crash, and what it accepts is well formed.

use super::generate::Generator;
use super::*;
use crate::lang::lower::{LoweringSettings, lower_file};
use base::Random;
use std::path::{Path, PathBuf};

fn survives(text: &str) -> bool {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, "fuzz.tp", text.as_bytes());
    let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
    assert_eq!(lowered.program.is_none(), lowered.diagnostics.iter().any(base::Diagnostic::is_error));
    for diagnostic in &lowered.diagnostics {
        base::render_diagnostic(diagnostic, &sources, Colour::Plain);
    }
    if let Some(program) = &lowered.program {
        let faults: Vec<String> = program::wellformed(program).iter().map(|f| f.to_string()).collect();
        assert!(faults.is_empty(), "{}\nin\n{text}", faults.join("\n"));
    }
    lowered.program.is_some()
}

fn corpus() -> Vec<String> {
    fn go(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                go(&path, out);
            } else if path.extension().is_some_and(|e| e == "tp") {
                out.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    go(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus"), &mut paths);
    paths.sort();
    paths.iter().filter_map(|p| std::fs::read_to_string(p).ok()).collect()
}

#[test]
fn check_meaningless_trees_never_crash_lowering() {
    for seed in 0..600 {
        let tree = Generator { random: Random::new(seed) }.tree();
        survives(&print::print_tree(&tree, &[], ""));
    }
}

/// Exchanges, drops and doubles whole words, mostly of one kind, so that most results still parse.
#[test]
fn check_mutated_programs_never_crash_lowering() {
    let texts = corpus();
    let mut accepted = 0;
    for seed in 0..1500 {
        let mut random = Random::new(seed + 77);
        let text = random.one_of(&texts);
        let lexed = token::lex_text(base::ids::Id::from_index(0), &text);
        let kinds: Vec<token::Token> = lexed.tokens.iter().map(|t| t.token).collect();
        let mut words: Vec<&str> = lexed.tokens.iter().map(|t| &text[t.start as usize..t.end as usize]).collect();
        for _ in 0..1 + random.below(3) {
            let a = random.below(words.len());
            let alike: Vec<usize> = (0..kinds.len()).filter(|i| kinds[*i] == kinds[a.min(kinds.len() - 1)]).collect();
            let b = random.one_of(&alike).min(words.len() - 1);
            match random.below(12) {
                0..9 => words[a] = words[b],
                9 => words.swap(a, b),
                10 => words.insert(a, words[b]),
                _ => drop(words.remove(a)),
            }
        }
        accepted += usize::from(survives(&words.join(" ")));
    }
    assert!(accepted > 50, "only {accepted} mutants are programs");
}

#[test]
fn check_long_chains_of_calls_end() {
    let mut text = String::from("var x: int = 0;\n");
    for index in 0..3000 {
        text.push_str(&std::format!("proc p{index}() {{ p{}(); }}\n", index + 1));
    }
    text.push_str("proc p3000() { x := 1; }\nthread T { p0(); }\n");
    survives(&text);
    // Twice as many statements with every level.
    let mut text = String::from("var x: int = 0;\n");
    for index in 0..40 {
        text.push_str(&std::format!("proc q{index}() {{ q{n}(); q{n}(); }}\n", n = index + 1));
    }
    text.push_str("proc q40() { x := 1; }\nthread T { q0(); }\n");
    assert!(!survives(&text));
}

#[test]
fn check_the_deepest_programs_lower() {
    let depth = parse::MAX_TREE_HEIGHT as usize - 5;
    assert!(survives(&std::format!("var x: int; init x{} == 0;", " + 1".repeat(depth - 10))));
    let open = "if true { ".repeat(depth);
    let close = "}".repeat(depth);
    assert!(survives(&std::format!("var x: int; thread T {{ {open} x := 1; {close} }}")));
    let atomic = "atomic { ".repeat(depth);
    assert!(survives(&std::format!("var x: int; thread T {{ {atomic} x := x + 1; {close} }}")));
    let long = "x := x + 1; ".repeat(3000);
    assert!(survives(&std::format!("var x: int; thread T {{ atomic {{ {long} }} }}")));
}

#[test]
fn check_twenty_thousand_lines_lower_quickly() {
    let mut text = String::from("var m: lock;\nvar count: int guarded_by m;\nvar a: [int]int;\n");
    for index in 0..2500 {
        text.push_str(&std::format!(
            "thread T{index} {{\n  acquire m;\n  var j: int := count + a[{index}] * 2;\n  if j < 10 && j > -5 {{\n    \
             count := j;\n  }}\n  release m;\n}}\n"
        ));
    }
    let start = std::time::Instant::now();
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, "big.tp", text.as_bytes());
    assert!(lower_file(&parsed, &sources, &LoweringSettings::default()).program.is_some());
    // Generous for the unoptimised build on a busy machine.
    assert!(start.elapsed().as_millis() < 5000, "{:?}", start.elapsed());
}
