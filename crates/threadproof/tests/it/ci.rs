//! Reports for continuous integration: SARIF, JUnit, annotations, a baseline, folders and the quiet summary.

use crate::{Scratch, code, stderr, stdout, threadproof};
use serde_json::Value;

const SAFE: &str = "var x: int = 0;\nthread T { x := 1; assert x == 1; }\n";
const UNSAFE: &str = "var x: int = 0;\nthread A { x := 7; }\nthread B {\n  assert x == 0;\n}\n";

fn folder(scratch: &Scratch) -> String {
    std::fs::create_dir_all(scratch.path("programs/inner/.hidden")).expect("folders can be made");
    scratch.file("programs/good.tp", SAFE);
    scratch.file("programs/inner/bad.tp", UNSAFE);
    scratch.file("programs/inner/.hidden/passed_over.tp", "nonsense");
    scratch.file("programs/notes.txt", "nothing");
    scratch.path("programs")
}

#[test]
fn check_a_folder_is_every_program_in_it_with_one_summary() {
    let scratch = Scratch::new("ci-folder");
    let folder = folder(&scratch);
    let output = threadproof(&["verify", &folder, "--method", "explore"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 1, "{text}");
    assert!(text.contains("good.tp: safe") && text.contains("bad.tp: unsafe"), "{text}");
    assert!(text.contains("2 files: 1 unsafe, 1 safe") && !text.contains("passed_over"), "{text}");
    std::fs::create_dir_all(scratch.path("empty")).expect("a folder can be made");
    let output = threadproof(&["verify", &scratch.path("empty")]);
    assert_eq!(code(&output), 65);
    let text = stderr(&output);
    assert!(text.contains("this folder holds no program (files ending in .tp, .c, .i and .java)"), "{text}");
}

#[test]
fn check_quiet_is_a_line_for_each_finding_and_a_summary() {
    let scratch = Scratch::new("ci-quiet");
    let folder = folder(&scratch);
    let text = stdout(&threadproof(&["verify", &folder, "-q", "--method", "explore"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].contains("bad.tp:4:3: unsafe: `assert x == 0`: assertion `x == 0` fails at bad.tp:4"), "{text}");
    assert_eq!(lines[2], "2 files: 1 unsafe, 1 safe");
    let good = scratch.path("programs/good.tp");
    assert_eq!(stdout(&threadproof(&["verify", &good, "-q"])), "", "what is safe is silent");
}

#[test]
fn check_sarif_has_each_finding_at_its_line_with_its_run() {
    let scratch = Scratch::new("ci-sarif");
    let bad = scratch.file("bad.tp", UNSAFE);
    let broken = scratch.file("broken.tp", "var x: int = 0;\nthread T { y := 1; }\n");
    let path = scratch.path("out.sarif");
    assert_eq!(code(&threadproof(&["verify", &bad, &broken, "--sarif", &path, "--method", "explore"])), 65);
    let log: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("it was written")).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 2, "{log}");
    let region = |i: usize| &results[i]["locations"][0]["physicalLocation"]["region"]["startLine"];
    assert_eq!((results[0]["ruleId"].as_str(), region(0)), (Some("assertion"), &Value::from(4)));
    assert_eq!((results[1]["ruleId"].as_str(), region(1)), (Some("rejected"), &Value::from(2)));
    let flow = results[0]["codeFlows"][0]["threadFlows"][0]["locations"].as_array().expect("a flow");
    assert_eq!(flow.len(), 2);
    let first = flow[0]["location"]["message"]["text"].as_str().unwrap_or_default();
    assert!(first.contains("1. thread 1 A: x := 7 (x: 0 -> 7)"), "{first}");
    for result in results {
        let rule = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
    }
}

#[test]
fn check_junit_has_a_case_for_each_property() {
    let scratch = Scratch::new("ci-junit");
    let (good, bad) = (scratch.file("good.tp", SAFE), scratch.file("bad<&>.tp", UNSAFE));
    let path = scratch.path("out.xml");
    threadproof(&["verify", &good, &bad, "--junit", &path, "--method", "explore"]);
    let xml = std::fs::read_to_string(path).expect("it was written");
    assert!(xml.contains("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\""), "{xml}");
    assert!(xml.contains("tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{xml}");
    assert!(xml.contains("bad&lt;&amp;&gt;.tp") && xml.contains("name=\"assert:4\"><failure message=\""), "{xml}");
}

#[test]
fn check_annotations_name_file_line_and_reason() {
    let scratch = Scratch::new("ci-github");
    let bad = scratch.file("bad.tp", UNSAFE);
    let text = stdout(&threadproof(&["verify", &bad, "--github", "-q", "--method", "explore"]));
    let line = text.lines().find(|l| l.starts_with("::error ")).unwrap_or_else(|| panic!("{text}"));
    let expected = "bad.tp,line=4,col=3,title=threadproof assertion::unsafe: `assert x == 0`: assertion";
    assert!(line.contains(expected), "{line}");
}

#[test]
fn check_only_findings_that_are_not_in_the_baseline_fail() {
    let scratch = Scratch::new("ci-baseline");
    let bad = scratch.file("bad.tp", UNSAFE);
    let known = scratch.path("known.json");
    let verify = |flags: &[&str]| threadproof(&[&["verify", &bad, "--method", "explore"], flags].concat());
    assert_eq!(code(&verify(&["--write-baseline", &known])), 1);
    let output = verify(&["--baseline", &known]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    // The verdict stays what it is.
    assert!(stdout(&output).contains("bad.tp: unsafe"), "{}", stdout(&output));
    assert!(stdout(&output).contains("baseline: 1 finding known, 0 findings new"), "{}", stdout(&output));
    // Lines move; what is violated is the same.
    scratch.file("bad.tp", format!("// a comment\n\n{UNSAFE}"));
    assert_eq!(code(&verify(&["--baseline", &known])), 0);
    // Another violation is new, and so is a second one of the same text.
    scratch.file("bad.tp", UNSAFE.replace("assert x == 0;", "assert x == 0;\n  assert x != 7;"));
    assert_eq!(code(&verify(&["--baseline", &known])), 1);
    scratch.file("bad.tp", format!("{UNSAFE}thread C {{ assert x == 0; }}\n"));
    assert_eq!(code(&verify(&["--baseline", &known])), 1);
    let wrong = scratch.file("wrong.json", "{\"format\": \"other\", \"known\": []}");
    assert_eq!(code(&verify(&["--baseline", &wrong])), 64);
}
