//! The programs of the language's `contract.txt` that hold specifications or no thread: the binary says of each what a person argued from the document.

use super::{Scratch, root, stdout, threadproof};

#[test]
fn check_specifications_and_code_without_threads_mean_what_the_document_says() {
    let text =
        std::fs::read_to_string(root().join("crates/frontend/src/lang/tests/contract.txt")).expect("it is there");
    let scratch = Scratch::new("contract");
    let mut expected = Vec::new();
    for part in text.split("\n=== ").skip(1) {
        let (head, program) = part.split_once('\n').expect("a head and a program");
        let words: Vec<&str> = head.split_whitespace().collect();
        let specified = ["performs ", "follows ", "object "].iter().any(|word| program.contains(word));
        let has_threads = program.lines().any(|line| line.starts_with("thread ") || line.contains(" thread "));
        // What may stay undecided would be worked on until the time is up.
        let is_decided = !["error", "not-unsafe"].contains(&words[1]);
        if words.len() == 2 && is_decided && (specified || !has_threads) {
            expected.push((scratch.file(&format!("{}.tp", words[0]), program), words[1].to_owned()));
        }
    }
    assert!(expected.len() > 40, "{}", expected.len());
    let mut arguments = vec!["verify", "--json", "--time", "300"];
    arguments.extend(expected.iter().map(|(path, _)| path.as_str()));
    let report: serde_json::Value = serde_json::from_str(&stdout(&threadproof(&arguments))).expect("a JSON document");
    let files = report["files"].as_array().expect("a list of files");
    assert_eq!(files.len(), expected.len());
    for (file, (path, expected)) in files.iter().zip(&expected) {
        let properties = file["properties"].as_array().expect("a list of properties");
        let named = |verdict: &str| -> Vec<&str> {
            let those = properties.iter().filter(|p| p["verdict"] == verdict);
            those.filter_map(|p| p["name"].as_str()).collect()
        };
        let (violated, open) = (named("unsafe"), named("unknown"));
        let is_right = match expected.split_once(':') {
            None if expected == "unsafe" => !violated.is_empty(),
            None => violated.is_empty() && open.is_empty(),
            Some((_, wanted)) => violated.iter().any(|n| n.starts_with(wanted)),
        };
        assert!(is_right, "{path} is {expected}, and not: unsafe {violated:?}, unknown {open:?}");
    }
}
