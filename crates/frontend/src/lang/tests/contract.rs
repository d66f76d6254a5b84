//! The programs of `contract.txt`, one or two for each sentence of the language's document, searched by the reference semantics.
//!
//! In: programs with the verdict that a person argued from the document. Out: a failure where a search of the lowered program contradicts it.
//! Programs without threads, and specifications that no single run violates, are left to the test of the binary that reads the same file.

use super::*;
use crate::lang::lower::{LoweringSettings, lower_file};
use program::semantics::{InstanceCounts, ReachLimits, reachable_states, replay_trace};
use program::{Program, Property, PropertyKind};

struct ContractProgram<'t> {
    name: &'t str,
    expected: &'t str,
    arguments: Vec<&'t str>,
    text: &'t str,
}

fn programs() -> Vec<ContractProgram<'static>> {
    let all = include_str!("contract.txt").split("\n=== ").skip(1);
    let read = |part: &'static str| {
        let (head, text) = part.split_once('\n').expect("a head and a program");
        let mut words = head.split_whitespace();
        let (name, expected) = words.next().zip(words.next()).expect("a name and a verdict");
        ContractProgram { name, expected, arguments: words.collect(), text }
    };
    all.map(read).collect()
}

fn lowered(one: &ContractProgram<'_>) -> Result<Program, String> {
    let pair = |word: &str| {
        let at = one.arguments.iter().position(|a| *a == word)?;
        one.arguments[at + 1].split_once('=')
    };
    let constants = pair("--set").map(|(n, v)| (n.to_owned(), v.to_owned()));
    let copies = pair("--threads").map(|(n, v)| (n.to_owned(), v.parse().expect("a number of copies")));
    let settings =
        LoweringSettings { constants: constants.into_iter().collect(), copies: copies.into_iter().collect() };
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, one.name, one.text.as_bytes());
    let lowered = lower_file(&parsed, &sources, &settings);
    let mut program = lowered.program.ok_or_else(|| render_all(&lowered.diagnostics, &sources, Colour::Plain))?;
    if one.arguments.contains(&"--deadlock") {
        let origin = program.add_origin(None, "asked for by the test");
        program.properties.push(Property { kind: PropertyKind::Deadlock, name: "deadlock".into(), origin });
    }
    Ok(program)
}

/// Whether single runs of threads decide it.
fn is_of_runs(program: &Program) -> bool {
    use PropertyKind::{Follows, Linearizable, Performs};
    let of_specifications =
        program.properties.iter().any(|q| matches!(q.kind, Performs(_) | Follows(_) | Linearizable(_)));
    !program.threads.is_empty() && !of_specifications
}

#[test]
fn check_every_sentence_of_the_document_means_what_it_says() {
    let mut searched = 0;
    for one in programs() {
        let program = match lowered(&one) {
            Ok(program) => program,
            Err(messages) => {
                assert_eq!(one.expected, "error", "{}: {messages}", one.name);
                continue;
            }
        };
        assert_ne!(one.expected, "error", "{} is accepted", one.name);
        if !is_of_runs(&program) {
            continue;
        }
        searched += 1;
        let limits = ReachLimits { states: 20_000, ..ReachLimits::default() };
        let found = reachable_states(&program, &InstanceCounts::of(&program, 4), &limits);
        for trace in found.violations.values() {
            replay_trace(&program, trace).unwrap_or_else(|m| panic!("{}: {m:?}", one.name));
        }
        let names: Vec<&str> = found.violations.keys().map(|p| program.properties[*p].name.as_str()).collect();
        match one.expected.split_once(':') {
            None => assert!(names.is_empty() || one.expected == "unsafe", "{}: {names:?}", one.name),
            Some((_, wanted)) => assert!(names.iter().any(|n| n.starts_with(wanted)), "{}: {names:?}", one.name),
        }
    }
    assert!(searched > 150, "{searched}");
}
