//! Violation witnesses in the YAML format 2 of verification tasks.
//!
//! In: a program of the C front end, a trace of it, and what the format wants to know of the task. Out: the text
//! of the witness: one segment for each step with a place, the last of which is the target; of a race the last segment has
//! both accesses, in no order. `main` is thread 0; a thread is
//! entered where it is created, and numbered in that order; the field `thread_id` belongs to version 2.2 of the format.

use super::CCheck;
use super::types::DataModel;
use base::{Sources, Span};
use program::semantics::{Trace, TraceStep};
use program::{Program, ThreadId, What};
use std::fmt::Write;

/// What a witness says besides the run. Times and identities come from the caller, so that output stays reproducible.
#[derive(Clone, Debug)]
pub struct WitnessMetadata {
    pub uuid: String,
    /// ISO 8601.
    pub creation_time: String,
    pub version: String,
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub hash: String,
    pub model: DataModel,
    pub check: CCheck,
}

/// The specification line of a property.
pub(crate) fn specification(check: CCheck) -> &'static str {
    match check {
        CCheck::Reach => "CHECK( init(main()), LTL(G ! call(reach_error())) )",
        CCheck::Race => "CHECK( init(main()), LTL(G ! data-race) )",
        CCheck::Overflow => "CHECK( init(main()), LTL(G ! overflow) )",
        CCheck::Deadlock => "CHECK( init(main()), LTL(G ! deadlock) )",
        CCheck::Memory => "CHECK( init(main()), LTL(G valid-deref) )",
        CCheck::Free => "CHECK( init(main()), LTL(G valid-free) )",
        CCheck::Leak => "CHECK( init(main()), LTL(G valid-memtrack) )",
        CCheck::Division => "CHECK( init(main()), LTL(G ! division-by-zero) )",
        CCheck::Unlock => "CHECK( init(main()), LTL(G valid-unlock) )",
        CCheck::Shift => "CHECK( init(main()), LTL(G valid-shift) )",
    }
}

/// The witness of a violation.
pub fn violation(program: &Program, trace: &Trace, sources: &Sources, about: &WitnessMetadata) -> String {
    let mut out = header("violation_sequence", about);
    out.push_str("  content:\n");
    let action = |step: &TraceStep| &program.threads[step.thread].code.actions[step.action];
    // The target is the last step that has a place. The start and the end of a thread, reported where it is created, are none
    // of its own places; and a statement that is several steps is passed once.
    let mut placed: Vec<(&TraceStep, Span)> = Vec::new();
    for (i, step) in trace.steps.iter().enumerate() {
        let Some(span) = program.origins[action(step).origin].span else { continue };
        let created = program.origins[program.threads[step.thread].origin].span;
        let again =
            placed.iter().rev().find(|(s, _)| s.instance == step.instance).is_some_and(|(_, last)| *last == span);
        let ends = action(step).what == What::Return && step.thread != ThreadId(0);
        if i + 1 == trace.steps.len() || !(again || ends || created == Some(span)) {
            placed.push((step, span));
        }
    }
    let other = placed.pop().map(|target| (rival(program, &placed, target.0), target));
    let (rival, target) = match (about.check, other) {
        (CCheck::Race, Some((rival, target))) => (rival.map(|at| placed.remove(at)), Some(target)),
        (_, other) => (None, other.map(|(_, target)| target)),
    };
    let ends = || rival.iter().chain(target.iter());
    let creations: Vec<Span> =
        placed.iter().filter(|(s, _)| action(s).what == What::Spawn).map(|(_, span)| *span).collect();
    let mut numbers = ThreadNumbers::new(program, placed.iter().chain(ends()).map(|(s, _)| *s));
    // What was created before the first step of the run is created first of all.
    for span in numbers.waiting.iter().map(|(span, _)| *span).filter(|s| !creations.contains(s)).collect::<Vec<_>>() {
        numbers.register(span);
        out.push_str(SEGMENT);
        waypoint(&mut out, "function_enter", closing(sources, span), sources, 0);
    }
    for (step, span) in placed {
        let thread = numbers.of(step);
        out.push_str(SEGMENT);
        if action(step).what == What::Spawn {
            numbers.register(span);
            waypoint(&mut out, "function_enter", closing(sources, span), sources, thread);
        } else {
            waypoint(&mut out, "assumption", span, sources, thread);
            out.push_str("        constraint:\n          value: \"1\"\n          format: c_expression\n");
        }
    }
    out.push_str(if target.is_some() { SEGMENT } else { "" });
    for (step, span) in ends() {
        waypoint(&mut out, "target", *span, sources, numbers.of(step));
    }
    out
}

/// The access that another one races with: the last step of another thread that changes what the check of the target looks at.
fn rival(program: &Program, before: &[(&TraceStep, Span)], target: &TraceStep) -> Option<usize> {
    let action = |s: &TraceStep| &program.threads[s.thread].code.actions[s.action];
    let looked: Vec<_> = action(target).gates.iter().flat_map(|g| program.terms.free_symbols(g.formula)).collect();
    let changes = |s: &TraceStep| action(s).updates.iter().any(|u| looked.contains(&program.vars[u.var].symbol));
    before.iter().rposition(|(s, _)| s.instance != target.instance && action(s).what != What::Spawn && changes(s))
}

const SEGMENT: &str = "  - segment:\n";

fn waypoint(out: &mut String, kind: &str, span: Span, sources: &Sources, thread: usize) {
    let (line, column) = sources.file(span.file).position(span.start);
    let _ = write!(
        out,
        "    - waypoint:\n        type: {kind}\n        action: follow\n        location:\n          \
         file_name: {}\n          line: {line}\n          column: {column}\n        thread_id: {thread}\n",
        quoted(&sources.file(span.file).name)
    );
}

/// The closing parenthesis of a call, where it is entered.
fn closing(sources: &Sources, span: Span) -> Span {
    match sources.text(span).rfind(')') {
        Some(at) => {
            let start = span.start as usize + at;
            Span::new(span.file, start, start + 1)
        }
        None => span,
    }
}

/// The numbers of threads: `main` is 0, the others count in the order of their creation.
struct ThreadNumbers {
    /// Instances with the place that creates them, in the order of the text.
    waiting: Vec<(Span, u32)>,
    known: Vec<(u32, usize)>,
    next: usize,
}

impl ThreadNumbers {
    fn new<'t>(program: &Program, steps: impl Iterator<Item = &'t TraceStep>) -> Self {
        let mut numbers = Self { waiting: Vec::new(), known: Vec::new(), next: 1 };
        for step in steps {
            let created = program.origins[program.threads[step.thread].origin].span;
            match created {
                Some(span) if step.thread != ThreadId(0) => numbers.waiting.push((span, step.instance)),
                _ => numbers.known.push((step.instance, 0)),
            }
        }
        numbers.waiting.sort_by_key(|(span, instance)| (span.start, *instance));
        numbers.waiting.dedup();
        numbers
    }

    /// A thread is created at a place.
    fn register(&mut self, span: Span) {
        if let Some(at) = self.waiting.iter().position(|(place, _)| *place == span) {
            let (_, instance) = self.waiting.remove(at);
            self.known.push((instance, self.next));
        }
        self.next += 1;
    }

    fn of(&self, step: &TraceStep) -> usize {
        self.known.iter().find(|(instance, _)| *instance == step.instance).map_or(self.next, |(_, number)| *number)
    }
}

/// A correctness witness: invariants at places, each a C expression.
pub fn invariants(found: &[(base::Span, String)], sources: &Sources, about: &WitnessMetadata) -> String {
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

fn header(entry: &str, about: &WitnessMetadata) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::{COptions, load_c};
    use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
    use std::collections::BTreeMap;
    use std::path::Path;

    /// The part of YAML that witnesses are written in: maps and lists by indentation, plain and quoted scalars.
    #[derive(Debug, PartialEq)]
    enum Yaml {
        Scalar(String),
        List(Vec<Yaml>),
        Map(BTreeMap<String, Yaml>),
    }

    impl Yaml {
        fn read(text: &str) -> Yaml {
            let lines: Vec<(usize, String)> =
                text.lines().map(|l| (l.len() - l.trim_start().len(), l.trim_start().to_string())).collect();
            let mut at = 0;
            let all = Yaml::block(&lines, &mut at, 0);
            assert_eq!(at, lines.len(), "everything is read: {:?}", lines.get(at));
            all
        }
        /// What stands at one indentation. The items of a list may stand where the key of the list does.
        fn block(lines: &[(usize, String)], at: &mut usize, indent: usize) -> Yaml {
            let mut lines: Vec<(usize, String)> = lines.to_vec();
            if lines[*at].1.starts_with("- ") {
                let mut items = Vec::new();
                while *at < lines.len() && lines[*at].0 == indent && lines[*at].1.starts_with("- ") {
                    let rest = lines[*at].1[2..].to_string();
                    if rest.starts_with('"') {
                        items.push(Yaml::Scalar(scalar(&rest)));
                        *at += 1;
                        continue;
                    }
                    lines[*at] = (indent + 2, rest);
                    items.push(Yaml::block(&lines, at, indent + 2));
                }
                return Yaml::List(items);
            }
            let mut map = BTreeMap::new();
            while *at < lines.len() && lines[*at].0 == indent && !lines[*at].1.starts_with("- ") {
                let line = lines[*at].1.clone();
                let colon = match line.strip_prefix('"') {
                    Some(rest) => rest.find("\":").map(|i| i + 2),
                    None => line.find(':'),
                };
                let (key, value) = line.split_at(colon.expect("a key ends with a colon"));
                let value = value[1..].trim();
                *at += 1;
                let value = match value {
                    "" => {
                        let (deeper, first) = lines.get(*at).cloned().expect("a key without a value has a block");
                        assert!(deeper > indent || (deeper == indent && first.starts_with("- ")), "`{key}` is empty");
                        Yaml::block(&lines, at, deeper)
                    }
                    "[]" => Yaml::List(Vec::new()),
                    value => Yaml::Scalar(scalar(value)),
                };
                assert!(map.insert(scalar(key), value).is_none(), "`{key}` occurs twice");
            }
            Yaml::Map(map)
        }
        fn keys(&self) -> Vec<&str> {
            let Yaml::Map(map) = self else { panic!("a map is expected, not {self:?}") };
            map.keys().map(String::as_str).collect()
        }
        fn get(&self, key: &str) -> &Yaml {
            let Yaml::Map(map) = self else { panic!("a map is expected, not {self:?}") };
            map.get(key).unwrap_or_else(|| panic!("`{key}` is missing in {map:?}"))
        }
        fn list(&self) -> &[Yaml] {
            let Yaml::List(items) = self else { panic!("a list is expected, not {self:?}") };
            items
        }
        fn text(&self) -> &str {
            let Yaml::Scalar(text) = self else { panic!("a scalar is expected, not {self:?}") };
            text
        }
    }

    fn scalar(text: &str) -> String {
        text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text).replace("\\\"", "\"")
    }

    fn about() -> WitnessMetadata {
        WitnessMetadata {
            uuid: "31de399d-364c-86e9-a915-1d19d91b87f9".into(),
            creation_time: "2020-01-01T00:00:00Z".into(),
            version: "0.1.0".into(),
            file: "a \"b\".c".into(),
            hash: "00".repeat(32),
            model: DataModel::Lp64,
            check: CCheck::Reach,
        }
    }

    fn check_metadata(entry: &Yaml, kind: &str) {
        assert_eq!(entry.keys(), ["content", "entry_type", "metadata"]);
        assert_eq!(entry.get("entry_type").text(), kind);
        let metadata = entry.get("metadata");
        assert_eq!(metadata.keys(), ["creation_time", "format_version", "producer", "task", "uuid"]);
        assert_eq!(metadata.get("producer").keys(), ["name", "version"]);
        let task = metadata.get("task");
        let expected = ["data_model", "input_file_hashes", "input_files", "language", "specification"];
        assert_eq!(task.keys(), expected);
        assert_eq!((task.get("language").text(), task.get("data_model").text()), ("C", "LP64"));
        let files: Vec<&str> = task.get("input_files").list().iter().map(Yaml::text).collect();
        assert_eq!(files, task.get("input_file_hashes").keys(), "each file has its hash");
    }

    #[test]
    fn check_a_violation_has_the_form_that_the_format_asks_for() {
        let text =
            "typedef unsigned long pthread_t; int pthread_create(pthread_t *, void *, void *(*)(void *), void *);
          void reach_error(void); int x; void *f(void *p) { x = 1; return 0; }
          int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); if (x) reach_error(); return 0; }";
        let mut sources = Sources::new();
        let (program, _) = load_c(&mut sources, Path::new("a.i"), text, &COptions::default());
        let program = program.expect("a program");
        let found = reachable_states(&program, &InstanceCounts::of(&program, 1), &ReachLimits::default());
        let trace = found.violations.values().next().expect("the error is reached");
        let witness = Yaml::read(&violation(&program, trace, &sources, &about()));
        let [entry] = witness.list() else { panic!("one entry") };
        check_metadata(entry, "violation_sequence");
        let segments = entry.get("content").list();
        // The creation, and the steps.
        let [created] = segments[0].get("segment").list() else { panic!("one waypoint") };
        let created = created.get("waypoint");
        assert_eq!((created.get("type").text(), created.get("thread_id").text()), ("function_enter", "0"));
        let line = text.lines().nth(2).expect("the line of `main`");
        let column: usize = created.get("location").get("column").text().parse().expect("a number");
        assert_eq!(&line[..column], &line[..line.find("f, 0)").expect("the call") + 5]);
        let segments = &segments[1..];
        assert_eq!(segments.len(), trace.steps.len());
        let threads: Vec<&str> =
            segments.iter().map(|s| s.get("segment").list()[0].get("waypoint").get("thread_id").text()).collect();
        assert_eq!(threads, ["1", "0"]);
        for (i, segment) in segments.iter().enumerate() {
            let [waypoint] = segment.get("segment").list() else { panic!("one waypoint") };
            let waypoint = waypoint.get("waypoint");
            assert_eq!(waypoint.get("action").text(), "follow");
            assert_eq!(waypoint.get("location").keys(), ["column", "file_name", "line"]);
            assert!(waypoint.get("location").get("line").text().parse::<usize>().is_ok_and(|n| n > 0));
            if i + 1 == segments.len() {
                assert_eq!(waypoint.get("type").text(), "target");
                assert_eq!(waypoint.keys(), ["action", "location", "thread_id", "type"]);
            } else {
                assert_eq!(waypoint.get("type").text(), "assumption");
                assert_eq!(waypoint.get("constraint").keys(), ["format", "value"]);
            }
        }
    }

    #[test]
    fn check_a_race_ends_with_both_accesses() {
        let text =
            "typedef unsigned long pthread_t; int pthread_create(pthread_t *, void *, void *(*)(void *), void *);
          int x; void *f(void *p) { x = 1; return 0; }
          int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; return 0; }";
        let mut sources = Sources::new();
        let options = COptions { checks: vec![CCheck::Race], ..COptions::default() };
        let (program, _) = load_c(&mut sources, Path::new("a.i"), text, &options);
        let program = program.expect("a program");
        let found = reachable_states(&program, &InstanceCounts::of(&program, 1), &ReachLimits::default());
        let trace = found.violations.values().next().expect("there is a race");
        let about = WitnessMetadata { check: CCheck::Race, ..about() };
        let witness = Yaml::read(&violation(&program, trace, &sources, &about));
        let content = witness.list()[0].get("content").list();
        let last = content.last().expect("there are segments").get("segment").list();
        let seen: Vec<(&str, &str)> = last
            .iter()
            .map(|w| (w.get("waypoint").get("type").text(), w.get("waypoint").get("location").get("line").text()))
            .collect();
        assert!(seen == [("target", "2"), ("target", "3")] || seen == [("target", "3"), ("target", "2")], "{seen:?}");
        let mut threads: Vec<&str> = last.iter().map(|w| w.get("waypoint").get("thread_id").text()).collect();
        threads.sort_unstable();
        assert_eq!(threads, ["0", "1"]);
    }

    #[test]
    fn check_invariants_have_the_form_that_the_format_asks_for() {
        let mut sources = Sources::new();
        let file = sources.add("a.c", "int x;\nint main(void) { return x; }\n");
        let found = [(base::Span::new(file, 7, 10), "x == 0 && \"a\"[0]".to_string())];
        for found in [&found[..], &[]] {
            let witness = Yaml::read(&invariants(found, &sources, &about()));
            let [entry] = witness.list() else { panic!("one entry") };
            check_metadata(entry, "invariant_set");
            let content = entry.get("content").list();
            assert_eq!(content.len(), found.len());
            for item in content {
                let invariant = item.get("invariant");
                assert_eq!(invariant.keys(), ["format", "location", "type", "value"]);
                assert_eq!(invariant.get("location").keys(), ["column", "file_name", "line"]);
                assert_eq!(invariant.get("value").text(), "x == 0 && \"a\"[0]");
            }
        }
    }
}
