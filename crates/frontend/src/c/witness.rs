//! Violation witnesses in the YAML format 2 of verification tasks.
//!
//! Comes in: a program of the C front end, a trace of it, and what the format wants to know of the task. Goes out: the text
//! of the witness: one segment for each step with a place, the last of which is the target. The threads are numbered
//! in the order in which they take their first step; the field `thread_id` belongs to version 2.2 of the format.

use super::Check;
use super::types::DataModel;
use base::Sources;
use program::Program;
use program::semantics::Trace;
use std::fmt::Write;

/// What a witness says besides the run. Times and identities come from the caller, so that output stays reproducible.
#[derive(Clone, Debug)]
pub struct About {
    pub uuid: String,
    /// ISO 8601.
    pub creation_time: String,
    pub version: String,
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub hash: String,
    pub model: DataModel,
    pub check: Check,
}

/// The specification line of a property.
pub fn specification(check: Check) -> &'static str {
    match check {
        Check::Reach => "CHECK( init(main()), LTL(G ! call(reach_error())) )",
        Check::Race => "CHECK( init(main()), LTL(G ! data-race) )",
        Check::Overflow => "CHECK( init(main()), LTL(G ! overflow) )",
        Check::Deadlock => "CHECK( init(main()), LTL(G ! deadlock) )",
        Check::Memory => "CHECK( init(main()), LTL(G valid-deref) )",
        Check::Free => "CHECK( init(main()), LTL(G valid-free) )",
        Check::Leak => "CHECK( init(main()), LTL(G valid-memtrack) )",
        Check::Division => "CHECK( init(main()), LTL(G ! division-by-zero) )",
        Check::Unlock => "CHECK( init(main()), LTL(G valid-unlock) )",
    }
}

/// The witness of a violation.
pub fn violation(program: &Program, trace: &Trace, sources: &Sources, about: &About) -> String {
    let mut out = header("violation_sequence", about);
    out.push_str("  content:\n");
    let mut order: Vec<u32> = Vec::new();
    let last = trace.steps.len().saturating_sub(1);
    for (i, step) in trace.steps.iter().enumerate() {
        let action = &program.threads[step.thread].code.actions[step.action];
        let Some(span) = program.origins[action.origin].span else { continue };
        let thread = match order.iter().position(|t| *t == step.instance) {
            Some(at) => at,
            None => {
                order.push(step.instance);
                order.len() - 1
            }
        };
        let (line, column) = sources.file(span.file).position(span.start);
        let file = &sources.file(span.file).name;
        let kind = if i == last { "target" } else { "assumption" };
        let _ = write!(
            out,
            "  - segment:\n    - waypoint:\n        type: {kind}\n        action: follow\n        location:\n          \
             file_name: {}\n          line: {line}\n          column: {column}\n        thread_id: {thread}\n",
            quoted(file)
        );
        if i != last {
            out.push_str("        constraint:\n          value: \"1\"\n          format: c_expression\n");
        }
    }
    out
}

/// A correctness witness: invariants at places, each a C expression.
pub fn invariants(found: &[(base::Span, String)], sources: &Sources, about: &About) -> String {
    let mut out = header("invariant_set", about);
    out.push_str(if found.is_empty() { "  content: []\n" } else { "  content:\n" });
    for (span, formula) in found {
        let (line, column) = sources.file(span.file).position(span.start);
        let _ = write!(
            out,
            "  - invariant:\n      type: location_invariant\n      location:\n        file_name: {}\n        line: {line}\n        \
             column: {column}\n      value: {}\n      format: c_expression\n",
            quoted(&sources.file(span.file).name),
            quoted(formula)
        );
    }
    out
}

fn header(entry: &str, about: &About) -> String {
    format!(
        "- entry_type: {entry}\n  metadata:\n    format_version: \"2.2\"\n    uuid: {}\n    creation_time: {}\n    producer:\n      \
         name: Threadproof\n      version: {}\n    task:\n      input_files:\n      - {}\n      input_file_hashes:\n        \
         {}: {}\n      specification: {}\n      data_model: {}\n      language: C\n",
        quoted(&about.uuid),
        quoted(&about.creation_time),
        quoted(&about.version),
        quoted(&about.file),
        quoted(&about.file),
        quoted(&about.hash),
        quoted(specification(about.check)),
        about.model.name()
    )
}

/// A double-quoted YAML scalar.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
