//! The language document: every program in it lowers, every error in it is given, every code is in its list.

use super::*;
use crate::lang::lower::{LoweringSettings, lower_file};

const DOCUMENT: &str = include_str!("../../../../../docs/language.md");

/// Fenced blocks: the line of the fence, what is written behind it, the text.
fn blocks() -> Vec<(usize, String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for (index, line) in DOCUMENT.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(mark), None) => open = Some((index + 1, mark.trim().to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, _, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "every block is closed");
    blocks
}

#[test]
fn check_the_programs_of_the_document_do_what_it_says() {
    let (mut programs, mut errors) = (0, 0);
    for (line, mark, text) in blocks() {
        let mut sources = Sources::new();
        let parsed = parse_file(&mut sources, std::format!("block at line {line}"), text.as_bytes());
        let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
        let pictures = render_all(&lowered.diagnostics, &sources, Colour::Plain);
        if mark == "tp" {
            assert!(lowered.diagnostics.is_empty(), "{pictures}");
            let program = lowered.program.expect("a file without errors gives a program");
            let faults: Vec<String> = program::wellformed(&program).iter().map(|f| f.to_string()).collect();
            assert!(faults.is_empty(), "block at line {line}: {faults:?}");
            let printed = format_file(&parsed, &sources).expect("a file without errors is printed");
            assert_eq!(must_parse(&printed).0.tree, parsed.tree);
            programs += 1;
        } else if let Some(code) = mark.strip_prefix("tp-error ") {
            let found: Vec<&str> = lowered.diagnostics.iter().map(|d| d.code.0).collect();
            assert_eq!(found, [code], "block at line {line}:\n{pictures}");
            errors += 1;
        }
    }
    assert!(programs >= 8 && errors >= 25, "{programs} programs, {errors} errors");
}

#[test]
fn check_the_document_lists_every_code() {
    let source = include_str!("../codes.rs");
    for piece in source.split("Code(\"").skip(1) {
        let code = piece.split('"').next().unwrap();
        assert!(DOCUMENT.contains(&std::format!("| {code} |")), "{code} is not in the list");
    }
}

#[test]
fn check_the_programs_of_the_document_run_without_failure() {
    for (line, mark, text) in blocks().into_iter().filter(|(_, mark, _)| mark == "tp") {
        let mut sources = Sources::new();
        let parsed = parse_file(&mut sources, "block", text.as_bytes());
        let program = lower_file(&parsed, &sources, &LoweringSettings::default()).program.expect("tested above");
        assert_eq!(mark, "tp");
        let instances = program::semantics::InstanceCounts::of(&program, 1);
        let limits = program::semantics::ReachLimits { states: 2_000, depth: 60, ..Default::default() };
        let reached = program::semantics::reachable_states(&program, &instances, &limits);
        let bad: Vec<&str> = reached.violations.keys().map(|p| &*program.properties[*p].name).collect();
        // The section on statements asserts what an arbitrary step may break.
        let allowed = ["assert:14"];
        assert!(bad.iter().all(|b| allowed.contains(b)), "block at line {line}: {bad:?}");
    }
}
