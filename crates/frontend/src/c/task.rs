//! Verification tasks: property files (`.prp`), task definitions (`.yml`), and the texts of a result.
//!
//! In: the text of such a file. Out: which C file to read, with which data model, and which properties to show
//! with what the task's author expects. Absent: keys that are not known, which are errors.

use super::{CCheck, DataModel};
use crate::lang::resolve::nearest;
use yaml_rust2::{Yaml, YamlLoader};

/// One property of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskProperty {
    /// The property file, as the task names it.
    pub file: String,
    /// Empty: a property that is not modelled (termination, coverage).
    pub checks: Vec<CCheck>,
    /// What the author says, if anything.
    pub expected: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFile {
    pub inputs: Vec<String>,
    pub properties: Vec<TaskProperty>,
    pub model: DataModel,
}

/// The properties a `.prp` text asks for; `None` if one of them is none we know.
pub fn property(text: &str) -> Option<Vec<CCheck>> {
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
    let mut out = Vec::new();
    for line in lines {
        let bare: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        let known = [
            ("LTL(G!call(reach_error()))", CCheck::Reach),
            ("LTL(G!call(__VERIFIER_error()))", CCheck::Reach),
            ("LTL(G!data-race)", CCheck::Race),
            ("LTL(G!overflow)", CCheck::Overflow),
            ("LTL(Gvalid-deref)", CCheck::Memory),
            ("LTL(Gvalid-free)", CCheck::Free),
            ("LTL(Gvalid-memtrack)", CCheck::Leak),
            ("LTL(G!deadlock)", CCheck::Deadlock),
        ];
        out.push(known.iter().find(|(words, _)| bare.contains(words)).map(|(_, check)| *check)?);
    }
    out.sort();
    out.dedup();
    (!out.is_empty()).then_some(out)
}

/// The properties that the name of a property file suggests, where the file itself is not at hand.
fn property_by_name(file: &str) -> Vec<CCheck> {
    let name = file.rsplit('/').next().unwrap_or(file);
    CCheck::parse(name.strip_suffix(".prp").unwrap_or(name))
}

/// Reads a task definition; a sentence where it is none. A key that is not known may change what is asked, so it is an error.
pub fn task(text: &str) -> Result<TaskFile, String> {
    let documents = YamlLoader::load_from_str(text).map_err(|e| format!("this is no YAML: {e}"))?;
    let [document] = &documents[..] else { return Err("a task is one YAML document".into()) };
    let fields = mapping(document, "a task")?;
    let mut task = TaskFile { inputs: Vec::new(), properties: Vec::new(), model: DataModel::Lp64 };
    for (key, value) in fields {
        match key {
            "format_version" => {
                scalar(value, key)?;
            }
            "input_files" => task.inputs = one_or_more(value, key)?,
            "required_files" => {
                one_or_more(value, key)?;
            }
            "properties" => task.properties = list(value, key)?.iter().map(wanted).collect::<Result<_, _>>()?,
            "options" => {
                for (key, value) in mapping(value, "`options`")? {
                    let said = scalar(value, key)?;
                    match key {
                        "language" if said == "C" => {}
                        "language" => return Err(format!("a task in {said} is not read")),
                        "data_model" => {
                            task.model = DataModel::parse(&said).ok_or_else(|| format!("`{said}` is no data model"))?;
                        }
                        _ => return Err(unknown(key, "`options`", &["language", "data_model"])),
                    }
                }
            }
            // What a person wrote for people.
            "additional_information" | "tags" => {}
            _ => {
                let known = ["format_version", "input_files", "required_files", "properties", "options"];
                return Err(unknown(key, "a task", &known));
            }
        }
    }
    if task.inputs.is_empty() {
        return Err("the task names no input file".into());
    }
    Ok(task)
}

/// One property, with what the author expects.
fn wanted(value: &Yaml) -> Result<TaskProperty, String> {
    let (mut file, mut expected) = (None, None);
    for (key, value) in mapping(value, "a property")? {
        match key {
            "property_file" => file = Some(scalar(value, key)?),
            "expected_verdict" => {
                expected = match scalar(value, key)?.as_str() {
                    "true" => Some(true),
                    "false" => Some(false),
                    other => return Err(format!("`{other}` is no verdict")),
                };
            }
            // Which of several properties is violated.
            "subproperty" => {
                scalar(value, key)?;
            }
            _ => return Err(unknown(key, "a property", &["property_file", "expected_verdict", "subproperty"])),
        }
    }
    let file = file.ok_or("a property without a property file")?;
    Ok(TaskProperty { checks: property_by_name(&file), file, expected })
}

fn unknown(key: &str, of: &str, known: &[&str]) -> String {
    let near = nearest(key, known.iter().copied()).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
    format!("`{key}` is no part of {of}{near}")
}

fn mapping<'y>(value: &'y Yaml, what: &str) -> Result<Vec<(&'y str, &'y Yaml)>, String> {
    let Yaml::Hash(fields) = value else { return Err(format!("{what} is written as `key: value`")) };
    let key = |k: &'y Yaml| k.as_str().ok_or_else(|| format!("a key of {what} is no word"));
    fields.iter().map(|(k, v)| Ok((key(k)?, v))).collect()
}

fn list<'y>(value: &'y Yaml, key: &str) -> Result<&'y [Yaml], String> {
    match value {
        Yaml::Array(items) => Ok(items),
        _ => Err(format!("`{key}` is a list")),
    }
}

fn one_or_more(value: &Yaml, key: &str) -> Result<Vec<String>, String> {
    match value {
        Yaml::Array(items) => items.iter().map(|i| scalar(i, key)).collect(),
        _ => Ok(vec![scalar(value, key)?]),
    }
}

fn scalar(value: &Yaml, key: &str) -> Result<String, String> {
    match value {
        Yaml::String(text) | Yaml::Real(text) => Ok(text.clone()),
        Yaml::Boolean(b) => Ok(b.to_string()),
        Yaml::Integer(n) => Ok(n.to_string()),
        _ => Err(format!("`{key}` needs one value")),
    }
}

/// The result string of a verdict: `true`, `false(PROPERTY)`, `unknown`.
pub fn result_word(check: CCheck, holds: Option<bool>) -> String {
    match (holds, check) {
        (None, _) => "unknown".into(),
        (Some(true), _) => "true".into(),
        (Some(false), CCheck::Memory) => "false(valid-deref)".into(),
        (Some(false), check) => format!("false({})", check.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_property_files_are_understood() {
        let one = |text: &str| property(text).map(|checks| checks[0]);
        assert_eq!(one("CHECK( init(main()), LTL(G ! call(reach_error())) )"), Some(CCheck::Reach));
        assert_eq!(one("CHECK( init(main()), LTL(G ! call(__VERIFIER_error())) )\n"), Some(CCheck::Reach));
        assert_eq!(one("CHECK( init(main()), LTL(G ! data-race) )"), Some(CCheck::Race));
        assert_eq!(one("CHECK( init(main()), LTL(G ! overflow) )"), Some(CCheck::Overflow));
        assert_eq!(one("CHECK( init(main()), LTL(F end) )"), None);
        let safety = "CHECK( init(main()), LTL(G valid-free) )\nCHECK( init(main()), LTL(G valid-deref) )\n\
                      CHECK( init(main()), LTL(G valid-memtrack) )\n";
        assert_eq!(property(safety), Some(vec![CCheck::Memory, CCheck::Free, CCheck::Leak]));
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
        assert_eq!(task.properties[0].checks, [CCheck::Reach]);
        assert_eq!(task.properties[0].expected, Some(false));
        assert!(task.properties[1].checks.is_empty() && task.properties[1].expected.is_none());
    }

    #[test]
    fn check_flow_style_says_the_same_as_block_style() {
        let text = "{format_version: '2.0', input_files: [a.c], properties: [{property_file: no-data-race.prp, \
                    expected_verdict: false}], options: {language: C, data_model: ILP32}}";
        let task = task(text).expect("a task");
        assert_eq!((task.inputs, task.model), (vec!["a.c".to_string()], DataModel::Ilp32));
        assert_eq!((&task.properties[0].checks[..], task.properties[0].expected), (&[CCheck::Race][..], Some(false)));
    }

    #[test]
    fn check_a_key_that_is_not_known_is_an_error() {
        let said = task("input_files: a.c\noptions:\n  data_modell: LP64\n").expect_err("a slip");
        assert!(said.contains("did you mean `data_model`?"), "{said}");
        assert!(task("input_files: a.c\nproperty: x\n").is_err());
        assert!(task("input_files: a.c\ninput_files: b.c\n").is_err());
    }

    #[test]
    fn check_what_is_no_task_is_refused() {
        assert!(task("properties:\n  - property_file: x.prp\n").is_err());
        assert!(task("input_files: a.c\noptions:\n  data_model: ILP64\n").is_err());
    }
}
