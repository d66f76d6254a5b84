//! Every C program of the corpus: it lowers to a well-formed program, and small searches agree with its truth.

use base::Sources;
use frontend::c::{CCheck, COptions, DataModel, load_c};
use program::PropertyKind;
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/c")
}

fn mark<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|l| l.strip_prefix("// ")?.strip_prefix(key)?.strip_prefix(": "))
}

fn in_any_number(program: &program::Program) -> bool {
    program.threads.iter().any(|t| t.copies == program::Copies::Any)
}

#[test]
fn check_the_corpus_has_its_truth() {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some()).collect();
    files.sort();
    assert!(files.len() >= 60, "only {} programs", files.len());
    let (mut safe, mut broken, mut wrong) = (0, 0, Vec::new());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let truth = mark(&text, "truth").expect("every program says its truth");
        let checks = mark(&text, "check").map(CCheck::parse).filter(|c| !c.is_empty());
        let checks = checks.expect("every program says its property");
        let mut sources = Sources::new();
        let options = COptions { model: DataModel::Lp64, checks };
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (program, diagnostics) = load_c(&mut sources, &path, &text, &options);
        if diagnostics.iter().any(|d| d.code.0 == "C0001") {
            println!("there is no preprocessor here: the corpus is not read");
            return;
        }
        let Some(program) = program else { panic!("{name}: {}", diagnostics[0].message) };
        let faults = program::wellformed(&program);
        assert!(faults.is_empty(), "{name}: {}", faults[0]);
        let limits = ReachLimits { states: 30_000, ..ReachLimits::default() };
        let found = reachable_states(&program, &InstanceCounts::of(&program, 2), &limits);
        let unmodelled = |p: &program::PropertyId| matches!(program.properties[*p].kind, PropertyKind::Unmodelled(_));
        // What no model here covers is said so, and must be.
        let (refused, reached) = (mark(&text, "unmodelled").is_some(), found.violations.keys().any(unmodelled));
        if refused || reached {
            match (refused, reached) {
                (true, false) => wrong.push(format!("{name}: nothing in it is unmodelled, though it says so")),
                (false, true) => wrong.push(format!("{name}: reaches something that is not modelled")),
                _ => {}
            }
            continue;
        }
        match (truth, found.violations.is_empty()) {
            ("safe", true) => safe += 1,
            ("unsafe", false) => broken += 1,
            // A search that was cut off is no answer, nor is one of two copies where there may be more.
            ("unsafe", true) if !found.complete() || in_any_number(&program) => {}
            (truth, _) => wrong.push(format!("{name}: said to be {truth}, the search disagrees")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{safe} safe, {broken} broken");
    assert!(safe >= 30 && broken >= 25, "{safe} safe and {broken} broken programs were decided");
}
