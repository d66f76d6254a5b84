//! Random programs over the whole language: what each method says of them, against an interpreter of the syntax tree, the reference
//! semantics and the checker.
//!
//! In: the text of a seed (`testkit::small`): operations of objects with parameters and results, maps of maps, threads in any number,
//! machines, contracts, heap, locks, spawn. A proof that the checker accepts must not be contradicted by a run with two instances of each
//! thread of any number, neither by the model nor by the interpreter, which knows nothing of it. A run that the checker accepts must be
//! one of the interpreter's, where that has seen all of them.
//! Deliberately absent: `performs`, `follows` and linearizability as properties of their own, which runs do not show.

use base::differential::{is_long_run, limited_work, report_agreement, seeds};
use checker::{CheckLimits, Checker, Outcome};
use evidence::Claim;
use methods::{Method, MethodOptions, Run, Task};
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use program::{Copies, Program, PropertyId, PropertyKind};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use testkit::agreement::{key, lowered};
use testkit::interpreter::{Found, interpret};
use testkit::oracle::Again;

/// States that either search looks at.
const MAX_STATES: usize = 2_000;
/// Work of a method on one program: most take a fraction of it.
const METHOD_WORK: Duration = Duration::from_millis(60);
const METHOD_WORK_OF_MANY: Duration = Duration::from_millis(20);

/// What runs say of a program.
struct Truth {
    by_model: BTreeSet<PropertyId>,
    by_tree: Found,
    /// All numbers of threads are fixed, so that a refutation is one with these numbers.
    is_closed: bool,
}

fn truth_of(text: &str, seed: u64) -> (Program, Truth) {
    let (program, parsed, sources) = lowered(text).unwrap_or_else(|e| panic!("seed {seed}\n{e}\n{text}"));
    let by_tree = interpret(&parsed.tree, &sources, 2, MAX_STATES);
    let limits = ReachLimits { states: MAX_STATES, ..ReachLimits::default() };
    let model = reachable_states(&program, &InstanceCounts::of(&program, 2), &limits);
    let is_closed = program.threads.iter().all(|t| t.copies != Copies::Any);
    let by_model = model.violations.into_keys().collect();
    (program, Truth { by_model, by_tree, is_closed })
}

/// Whether runs show if the property holds.
fn is_of_runs(kind: &PropertyKind) -> bool {
    let other = |k: &PropertyKind| {
        matches!(
            k,
            PropertyKind::Performs(_)
                | PropertyKind::Follows(_)
                | PropertyKind::Linearizable(_)
                | PropertyKind::Unmodelled(_)
        )
    };
    !other(kind)
}

/// Why a checked answer is wrong, if it is.
fn contradiction(program: &Program, truth: &Truth, property: PropertyId, outcome: Outcome) -> Option<String> {
    let name = &program.properties[property].name;
    let own = key(name);
    // Two checks of a kind on one line have one name in the interpreter.
    let alone = program.properties.iter().filter(|p| key(&p.name) == own).count() == 1;
    match outcome {
        Outcome::Safe if truth.by_model.contains(&property) => Some(format!("{name} is proved, and a run violates it")),
        Outcome::Safe if alone && truth.by_tree.violated.contains(&BTreeSet::from([own.clone()])) => {
            Some(format!("{name} is proved, and the interpreter violates it"))
        }
        Outcome::Unsafe if truth.is_closed && truth.by_tree.incomplete.is_none() => {
            (!truth.by_tree.possible().contains(&own))
                .then(|| format!("{name} is refuted, and no run of the interpreter violates it"))
        }
        _ => None,
    }
}

/// Puts a method to random programs: at least so many answers must be checked ones where the usual number is tried.
fn compare(name: &str, usual: u64, first: u64) -> (usize, usize) {
    let method: Arc<dyn Method> =
        methods::all_methods().into_iter().find(|m| m.about().name == name).expect("a method of this build");
    let (mut programs, mut safe, mut refuted, mut wrong) = (0, 0, 0, Vec::new());
    for seed in seeds(usual).map(|s| first + s) {
        programs += 1;
        let text = testkit::small::program(seed);
        let (program, truth) = truth_of(&text, seed);
        let properties = program.properties.ids().collect();
        let task = Task {
            program: program.clone(),
            properties,
            threads: Default::default(),
            options: MethodOptions::default(),
        };
        if method.admits(&task).is_err() {
            continue;
        }
        let work = if is_long_run() { METHOD_WORK_OF_MANY } else { METHOD_WORK };
        let claims = method.run(&task, &Run::quiet(limited_work(work)));
        let mut oracle = Again;
        let mut checker = Checker::new(&program, &mut oracle, CheckLimits { search: 5_000, ..CheckLimits::default() });
        for (property, claim) in &claims.claims {
            if matches!(claim, Claim::Undecided(_)) || !is_of_runs(&program.properties[*property].kind) {
                continue;
            }
            // In a long run a proof is put to the checker where a run contradicts it, and in every eighth program.
            let proved = matches!(claim, Claim::Proved(_));
            if proved
                && is_long_run()
                && !seed.is_multiple_of(8)
                && contradiction(&program, &truth, *property, Outcome::Safe).is_none()
            {
                safe += 1;
                continue;
            }
            let outcome = checker.check(*property, name, claim).outcome();
            safe += usize::from(outcome == Outcome::Safe);
            refuted += usize::from(outcome == Outcome::Unsafe);
            if let Claim::Refuted(_) = claim
                && outcome != Outcome::Unsafe
            {
                wrong.push(format!(
                    "seed {seed}: {} is refuted by a run that is none\n{text}",
                    program.properties[*property].name
                ));
            }
            if let Some(why) = contradiction(&program, &truth, *property, outcome) {
                wrong.push(format!("seed {seed}: {why}\n{text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n\n"));
    report_agreement(
        &format!("{name} over the whole language"),
        programs,
        &format!("{safe} proved, {refuted} refuted"),
    );
    (safe, refuted)
}

#[test]
fn check_what_explore_says_of_source_text_holds() {
    let (safe, refuted) = compare("explore", 20, 0);
    assert!(safe > 20 && refuted > 5, "{safe} proved, {refuted} refuted");
}

#[test]
fn check_what_walk_says_of_source_text_holds() {
    let (safe, refuted) = compare("walk", 20, 100_000);
    assert!(safe == 0 && refuted > 5, "{safe} proved, {refuted} refuted");
}

#[test]
fn check_what_rely_says_of_source_text_holds() {
    let (safe, _) = compare("rely", 12, 200_000);
    assert!(safe > 5, "{safe} proved");
}

#[test]
fn check_what_horn_says_of_source_text_holds() {
    let (safe, _) = compare("horn", 12, 300_000);
    assert!(safe > 0, "{safe} proved");
}

#[test]
fn check_what_count_says_of_source_text_holds() {
    let (safe, _) = compare("count", 12, 400_000);
    assert!(safe > 0, "{safe} proved");
}

#[test]
fn check_what_reduce_says_of_source_text_holds() {
    compare("reduce", 12, 500_000);
}

#[test]
fn check_what_shape_says_of_source_text_holds() {
    compare("shape", 20, 600_000);
}

#[test]
fn check_what_conform_says_of_source_text_holds() {
    compare("conform", 20, 700_000);
}

/// Whatever becomes of a method afterwards, what it has shown is not lost: it is handed over at once.
#[test]
fn check_answers_are_handed_over_before_the_work_for_others_ends() {
    let counted =
        "var n: int = 0; thread T[*] { atomic { assume n < 1; n := n + 1; } assert n <= 1; n := n - 1; assert n > 5; }";
    let stack = |name: &str, top: &str| {
        format!(
            "object {name} {{ spec {{ var s: seq<int> := []; push(v: int) {{ s := [v] + s; }} }} var {top}: N = null; \
             op push(v: int) {{ var n: N; n := new N; n.v := v; atomic {{ n.next := {top}; {top} := n; }} }} }} "
        )
    };
    let objects = format!("class N {{ v: int; next: N; }} {}{}", stack("A", "a"), stack("B", "b"));
    let wrong = "var x: int = 0; thread T { x := 1; if * { assert x == 0; } assert x == 1; }";
    for (name, text) in [("count", counted), ("shape", &objects), ("walk", wrong)] {
        let (program, ..) = lowered(text).unwrap_or_else(|e| panic!("{e}"));
        let method = methods::all_methods().into_iter().find(|m| m.about().name == name).expect("a method");
        let properties = program.properties.ids().collect();
        let task = Task { program, properties, threads: Default::default(), options: MethodOptions::default() };
        let told = Arc::new(std::sync::Mutex::new(0));
        let count = told.clone();
        let publisher = Arc::new(move |_: &evidence::Claims| *count.lock().expect("a number") += 1);
        let run = Run { publisher, ..Run::quiet(limited_work(Duration::from_secs(2))) };
        let decided = method.run(&task, &run).claims.values().filter(|c| !matches!(c, Claim::Undecided(_))).count();
        let told = *told.lock().expect("a number");
        assert!(decided > 0 && told > 0, "{name} decides {decided} properties and hands over {told} times");
    }
}
