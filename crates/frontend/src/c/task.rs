//! Verification tasks: property files (`.prp`), task definitions (`.yml`), and the words of a result.
//!
//! Comes in: the text of such a file. Goes out: which C file to read, with which data model, and which properties to show
//! with what the task's author expects. Only the part of YAML that task definitions use is read: block mappings and
//! sequences of plain or quoted scalars. Absent on purpose: anchors, flow style except a list on one line, folding.

use super::{Check, DataModel};

/// One property of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The property file, as the task names it.
    pub file: String,
    /// Empty: a property that is not modelled (termination, coverage).
    pub checks: Vec<Check>,
    /// What the author says, if anything.
    pub expected: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub inputs: Vec<String>,
    pub properties: Vec<Wanted>,
    pub model: DataModel,
}

/// The properties a `.prp` text asks for; `None` if one of them is none we know.
pub fn property(text: &str) -> Option<Vec<Check>> {
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
    let mut out = Vec::new();
    for line in lines {
        let bare: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        let known = [
            ("LTL(G!call(reach_error()))", Check::Reach),
            ("LTL(G!call(__VERIFIER_error()))", Check::Reach),
            ("LTL(G!data-race)", Check::Race),
            ("LTL(G!overflow)", Check::Overflow),
            ("LTL(Gvalid-deref)", Check::Memory),
            ("LTL(Gvalid-free)", Check::Free),
            ("LTL(Gvalid-memtrack)", Check::Leak),
            ("LTL(G!deadlock)", Check::Deadlock),
        ];
        out.push(known.iter().find(|(words, _)| bare.contains(words)).map(|(_, check)| *check)?);
    }
    out.sort();
    out.dedup();
    (!out.is_empty()).then_some(out)
}

/// The properties that the name of a property file suggests, where the file itself is not at hand.
fn property_by_name(file: &str) -> Vec<Check> {
    let name = file.rsplit('/').next().unwrap_or(file);
    Check::parse(name.strip_suffix(".prp").unwrap_or(name))
}

/// Reads a task definition; a sentence where it is none.
pub fn task(text: &str) -> Result<Task, String> {
    let mut task = Task { inputs: Vec::new(), properties: Vec::new(), model: DataModel::Ilp32 };
    let mut section = String::new();
    for (number, raw) in text.lines().enumerate() {
        let line = strip_comment(raw);
        if line.trim().is_empty() || line.trim() == "---" {
            continue;
        }
        let indented = line.starts_with([' ', '\t']) || line.starts_with('-');
        let item = line.trim();
        let (item, is_entry) = match item.strip_prefix('-') {
            Some(rest) => (rest.trim(), true),
            None => (item, false),
        };
        if !indented {
            let (key, value) = split(item).ok_or_else(|| format!("line {}: expected `key: value`", number + 1))?;
            section = key.to_string();
            if key == "input_files" {
                task.inputs.extend(scalars(value));
            }
            continue;
        }
        match (section.as_str(), split(item)) {
            ("input_files", None) => task.inputs.push(unquote(item)),
            ("input_files", Some(_)) => return Err(format!("line {}: a file name was expected", number + 1)),
            ("properties", Some(("property_file", value))) => {
                let file = unquote(value);
                task.properties.push(Wanted { checks: property_by_name(&file), file, expected: None });
            }
            ("properties", Some(("expected_verdict", value))) => {
                // A verdict without a property file before it belongs to nothing.
                let Some(last) = task.properties.last_mut() else {
                    return Err(format!("line {}: a verdict without a property", number + 1));
                };
                last.expected = match unquote(value).as_str() {
                    "true" => Some(true),
                    "false" => Some(false),
                    other => return Err(format!("line {}: `{other}` is no verdict", number + 1)),
                };
            }
            ("options", Some(("data_model", value))) => {
                let name = unquote(value);
                task.model =
                    DataModel::parse(&name).ok_or_else(|| format!("line {}: `{name}` is no data model", number + 1))?;
            }
            _ => {
                let _ = is_entry;
            }
        }
    }
    if task.inputs.is_empty() {
        return Err("the task names no input file".into());
    }
    Ok(task)
}

fn split(item: &str) -> Option<(&str, &str)> {
    let (key, value) = item.split_once(':')?;
    (value.is_empty() || value.starts_with(' ')).then_some((key.trim(), value.trim()))
}

fn scalars(value: &str) -> Vec<String> {
    match value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
        Some(list) => list.split(',').map(|v| unquote(v.trim())).filter(|v| !v.is_empty()).collect(),
        None if value.is_empty() => Vec::new(),
        None => vec![unquote(value)],
    }
}

fn unquote(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|v| v.strip_suffix(quote)) {
            return inner.to_string();
        }
    }
    value.to_string()
}

fn strip_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if at == 0 || line[..at].ends_with([' ', '\t']) => return &line[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            _ => {}
        }
    }
    line
}

/// The result string of a verdict: `true`, `false(PROPERTY)`, `unknown`.
pub fn result_word(check: Check, holds: Option<bool>) -> String {
    match (holds, check) {
        (None, _) => "unknown".into(),
        (Some(true), _) => "true".into(),
        (Some(false), Check::Memory) => "false(valid-deref)".into(),
        (Some(false), check) => format!("false({})", check.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_property_files_are_understood() {
        let one = |text: &str| property(text).map(|checks| checks[0]);
        assert_eq!(one("CHECK( init(main()), LTL(G ! call(reach_error())) )"), Some(Check::Reach));
        assert_eq!(one("CHECK( init(main()), LTL(G ! call(__VERIFIER_error())) )\n"), Some(Check::Reach));
        assert_eq!(one("CHECK( init(main()), LTL(G ! data-race) )"), Some(Check::Race));
        assert_eq!(one("CHECK( init(main()), LTL(G ! overflow) )"), Some(Check::Overflow));
        assert_eq!(one("CHECK( init(main()), LTL(F end) )"), None);
        let safety = "CHECK( init(main()), LTL(G valid-free) )\nCHECK( init(main()), LTL(G valid-deref) )\n\
                      CHECK( init(main()), LTL(G valid-memtrack) )\n";
        assert_eq!(property(safety), Some(vec![Check::Memory, Check::Free, Check::Leak]));
        assert_eq!(property("CHECK( init(main()), LTL(G valid-memcleanup) )"), None);
    }

    #[test]
    fn check_task_definitions_are_understood() {
        let text = "format_version: '2.0'\n# a comment\ninput_files: 'a # b.i'\nproperties:\n  \
                    - property_file: ../properties/unreach-call.prp\n    expected_verdict: false\n  \
                    - property_file: ../properties/termination.prp\noptions:\n  language: C\n  data_model: LP64\n";
        let task = task(text).expect("a task");
        assert_eq!(task.inputs, ["a # b.i"]);
        assert_eq!(task.model, DataModel::Lp64);
        assert_eq!(task.properties[0].checks, [Check::Reach]);
        assert_eq!(task.properties[0].expected, Some(false));
        assert!(task.properties[1].checks.is_empty() && task.properties[1].expected.is_none());
    }

    #[test]
    fn check_what_is_no_task_is_refused() {
        assert!(task("properties:\n  - property_file: x.prp\n").is_err());
        assert!(task("input_files: a.c\noptions:\n  data_model: ILP64\n").is_err());
    }
}
