//! Random well-typed source text through the front end: accepted, well formed, unchanged by the formatter, executable; and what small
//! programs mean, by the model and by an interpreter of the syntax tree that knows nothing of it.

use base::Sources;
use base::differential::{first_seed, programs_to_try, report_agreement};
use frontend::lang::{self, LoweringSettings};
use program::Program;
use program::semantics::{InstanceCounts, ReachLimits, reachable_states, replay_trace};
use std::collections::BTreeSet;
use testkit::agreement::{Outcome, compare, shrink, verdict};

fn lower(text: &str) -> Result<Program, String> {
    let mut sources = Sources::new();
    let parsed = lang::parse_file(&mut sources, "random.tp", text.as_bytes());
    let lowered = lang::lower_file(&parsed, &sources, &LoweringSettings::default());
    lowered.program.ok_or_else(|| {
        lowered
            .diagnostics
            .iter()
            .map(|d| base::render_diagnostic(d, &sources, base::Colour::Plain))
            .collect::<String>()
    })
}

fn format(text: &str) -> String {
    let mut sources = Sources::new();
    let parsed = lang::parse_file(&mut sources, "random.tp", text.as_bytes());
    lang::format_file(&parsed, &sources).expect("correct text is printed")
}

/// The model without the places it comes from.
fn model(mut p: Program) -> String {
    p.origins.iter_mut().for_each(|o| o.span = None);
    p.origins.iter_mut().for_each(|o| o.text.clear());
    p.properties.iter_mut().enumerate().for_each(|(i, x)| x.name = format!("p{i}"));
    for t in p.threads.iter_mut() {
        t.code.locations.iter_mut().for_each(|l| l.name.clear());
        t.outline.iter_mut().for_each(|c| c.locations.iter_mut().for_each(|l| l.name.clear()));
    }
    for q in p.procedures.iter_mut() {
        q.code.locations.iter_mut().for_each(|l| l.name.clear());
    }
    for o in p.objects.iter_mut() {
        o.ops.iter_mut().for_each(|x| x.code.locations.iter_mut().for_each(|l| l.name.clear()));
        o.spec.ops.iter_mut().for_each(|x| x.code.locations.iter_mut().for_each(|l| l.name.clear()));
    }
    program::text::print_program(&p)
}

#[test]
fn check_random_text_is_accepted_and_means_the_same_when_formatted() {
    let mut ran = 0;
    for seed in 0..600 {
        let text = testkit::source::source(seed);
        let p = lower(&text).unwrap_or_else(|e| panic!("seed {seed}\n{e}\n{text}"));
        assert_eq!(program::wellformed(&p), vec![], "seed {seed}\n{text}");
        let tidy = format(&text);
        assert_eq!(format(&tidy), tidy, "seed {seed}: formatting again changes the text");
        let q = lower(&tidy).unwrap_or_else(|e| panic!("seed {seed} formatted\n{e}\n{tidy}"));
        assert_eq!(model(p.clone()), model(q), "seed {seed}\n{text}");
        let found =
            reachable_states(&p, &InstanceCounts::of(&p, 1), &ReachLimits { states: 60, ..ReachLimits::default() });
        for trace in found.violations.values() {
            replay_trace(&p, trace).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        }
        ran += usize::from(found.states > 3);
    }
    assert!(ran > 400, "{ran} programs run");
}

#[test]
fn check_the_model_means_what_an_interpreter_of_the_tree_says() {
    let (mut agree, mut wrong) = (0, Vec::new());
    let count = programs_to_try(400);
    for seed in first_seed()..first_seed() + count {
        let text = testkit::small::program(seed);
        match compare(&text) {
            Outcome::Agree => agree += 1,
            Outcome::Partly(_) => {}
            Outcome::Differ(why) => {
                let differs = |t: &str| matches!(compare(t), Outcome::Differ(w) if !w.contains("rejected"));
                let small = if why.contains("rejected") { text } else { shrink(&text, &differs) };
                wrong.push(format!("seed {seed}: {why}\n{small}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    report_agreement("source", count, &format!("{agree} wholly compared by the reference semantics"));
    assert!(agree * 2 > count, "only {agree} of {count} programs are wholly compared");
}

#[test]
fn check_the_comparison_notices_a_verdict_that_one_side_lacks() {
    let text = "var x: int = 0;\nthread T {\n  x := 1;\n  if * {\n    assert x == 0;\n  }\n}\nthread U {\n  assume x == 2;\n}\n";
    assert_eq!(compare(text), Outcome::Agree);
    let (_, parsed, sources) = testkit::agreement::lowered(text).expect("the program is accepted");
    let found = testkit::interpreter::interpret(&parsed.tree, &sources, 2, 1000);
    let names = |all: &[&str]| -> BTreeSet<String> { all.iter().map(|n| (*n).to_owned()).collect() };
    assert_eq!(found.possible(), names(&["assert:5", "deadlock"]));
    assert!(matches!(verdict(&names(&["assert:5"]), None, &found), Outcome::Differ(_)));
    assert!(matches!(verdict(&names(&["assert:5", "deadlock", "null:3"]), None, &found), Outcome::Differ(_)));
    assert!(matches!(verdict(&names(&["assert:5"]), Some("cut"), &found), Outcome::Partly(_)));
    assert_eq!(verdict(&names(&["assert:5", "deadlock"]), None, &found), Outcome::Agree);
}

#[test]
fn check_the_corpus_means_to_the_model_what_the_interpreter_says() {
    let all = testkit::corpus::read(&testkit::corpus::root(), &["tp"]).expect("the corpus can be read");
    let (mut agree, mut wrong) = (0, Vec::new());
    for entry in all.iter().filter(|e| e.errors.is_empty()) {
        match compare(&String::from_utf8_lossy(&entry.bytes)) {
            Outcome::Agree => agree += 1,
            Outcome::Partly(_) => {}
            Outcome::Differ(why) => wrong.push(format!("{}: {why}", entry.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(agree > 60, "only {agree} programs are wholly compared");
}
