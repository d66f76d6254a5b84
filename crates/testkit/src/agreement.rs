//! Two opinions on what a program means: the interpreter of the syntax tree, and the reference semantics over the lowered program.
//!
//! In: the text of a program. Out: a property on which they differ, with both opinions. Verdicts are compared for each property, also
//! deadlock and (in files that free objects) leaks. Where one opinion is incomplete, what it found still counts and what it did not find
//! says nothing. Where a step has several failing checks, the one that the model reports must be among them.
//! A program on which the two differ is made smaller line by line as long as they do.

use crate::interpreter::{Found, interpret};
use base::{Budget, Sources};
use frontend::lang::{self, LoweringSettings};
use program::semantics::{InstanceCounts, ReachLimits, Sampling, reachable_states};
use program::{Program, Property, PropertyKind};
use std::collections::BTreeSet;

/// States of either search at most.
const MAX_STATES: usize = 4_000;

/// What the comparison of one program came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both looked at everything, and agree.
    Agree,
    /// They do not contradict each other, but not everything was looked at; why.
    Partly(String),
    Differ(String),
}

/// The lowered program with deadlock and leaks asked for.
pub fn lowered(text: &str) -> Result<(Program, lang::Parsed, Sources), String> {
    let mut sources = Sources::new();
    let parsed = lang::parse_file(&mut sources, "small.tp", text.as_bytes());
    let lowered = lang::lower_file(&parsed, &sources, &LoweringSettings::default());
    let errors = || {
        lowered
            .diagnostics
            .iter()
            .map(|d| base::render_diagnostic(d, &sources, base::Colour::Plain))
            .collect::<String>()
    };
    let Some(mut program) = lowered.program.clone() else { return Err(errors()) };
    let origin = program.add_origin(None, "asked for by the comparison");
    program.properties.push(Property { kind: PropertyKind::Deadlock, name: "deadlock".into(), origin });
    if program::memory::by_hand(&program) {
        program.properties.push(Property { kind: PropertyKind::Leak, name: "leak".into(), origin });
    }
    Ok((program, parsed, sources))
}

/// The word and the line of a property's name: two checks of a kind on one line count as one.
pub fn key(name: &str) -> String {
    let parts: Vec<&str> = name.split(':').collect();
    let count = if matches!(parts[0], "requires" | "ensures") { 3 } else { 2 };
    parts[..parts.len().min(count)].join(":")
}

/// Compares the two opinions on a program.
pub fn compare(text: &str) -> Outcome {
    let (program, parsed, sources) = match lowered(text) {
        Ok(made) => made,
        Err(errors) => return Outcome::Differ(format!("the program is rejected\n{errors}")),
    };
    let faults = program::wellformed(&program);
    if !faults.is_empty() {
        return Outcome::Differ(format!("the model is not well formed: {faults:?}"));
    }
    let second = interpret(&parsed.tree, &sources, 2, MAX_STATES);
    let limits = ReachLimits {
        states: MAX_STATES * 4,
        depth: usize::MAX,
        sampling: Sampling::default(),
        budget: Budget::unlimited(),
    };
    let first = reachable_states(&program, &InstanceCounts::of(&program, 2), &limits);
    for trace in first.violations.values() {
        if let Err(mismatch) = program::semantics::replay_trace(&program, trace) {
            return Outcome::Differ(format!("a run of the model does not replay: {mismatch}"));
        }
    }
    let violated: BTreeSet<String> = first
        .violations
        .keys()
        .map(|p| key(&program.properties[*p].name))
        .filter(|k| !k.starts_with("unmodelled"))
        .collect();
    verdict(&violated, first.incomplete.as_deref(), &second)
}

/// Compares what one search found with what the interpreter found.
pub fn verdict(violated: &BTreeSet<String>, incomplete: Option<&str>, second: &Found) -> Outcome {
    if second.incomplete.is_none() {
        let possible = second.possible();
        if let Some(property) = violated.iter().find(|p| !possible.contains(*p)) {
            return Outcome::Differ(format!("only the model violates {property}"));
        }
    }
    if incomplete.is_none() {
        let missing = |properties: &&BTreeSet<String>| !properties.iter().any(|p| violated.contains(p));
        if let Some(properties) = second.violated.iter().find(missing) {
            return Outcome::Differ(format!("only the interpreter violates {properties:?}"));
        }
    }
    match (incomplete, &second.incomplete) {
        (None, None) => Outcome::Agree,
        (Some(why), _) => Outcome::Partly(format!("the model: {why}")),
        (_, Some(why)) => Outcome::Partly(format!("the interpreter: {why}")),
    }
}

/// A smaller program with the property, by leaving out lines and blocks.
pub fn shrink(text: &str, fails: &dyn Fn(&str) -> bool) -> String {
    let mut best: Vec<String> = text.lines().map(str::to_owned).collect();
    loop {
        let before = best.len();
        let mut at = 0;
        while at < best.len() {
            let candidates = without(&best, at);
            match candidates.into_iter().find(|lines| fails(&lines.join("\n"))) {
                Some(smaller) => best = smaller,
                None => at += 1,
            }
        }
        if best.len() == before {
            return best.join("\n");
        }
    }
}

/// The program without a line, without the block it opens, or with the block's content alone.
fn without(lines: &[String], at: usize) -> Vec<Vec<String>> {
    let drop = |gone: &dyn Fn(usize) -> bool| -> Vec<String> {
        lines.iter().enumerate().filter(|(i, _)| !gone(*i)).map(|(_, l)| l.clone()).collect()
    };
    if !lines[at].trim_end().ends_with('{') {
        return vec![drop(&|i| i == at)];
    }
    let mut depth = 0i32;
    let mut end = at;
    for (i, line) in lines.iter().enumerate().skip(at) {
        depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
        if depth == 0 {
            end = i;
            break;
        }
    }
    // The head of a thread or procedure may take more lines than the brace.
    let head =
        (0..at).rev().take(4).find(|i| lines[*i].contains("thread ") || lines[*i].contains("proc ")).unwrap_or(at);
    let head = if lines[at].trim() == "{" { head } else { at };
    vec![drop(&|i| head <= i && i <= end), drop(&|i| i == at || i == end)]
}
