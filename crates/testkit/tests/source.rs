//! Random well-typed source text through the front end: accepted, well formed, unchanged by the formatter, executable.

use base::Sources;
use frontend::lang::{self, Settings};
use program::Program;
use program::semantics::{Instances, Limits, reach, replay};

fn lower(text: &str) -> Result<Program, String> {
    let mut sources = Sources::new();
    let parsed = lang::parse(&mut sources, "random.tp", text.as_bytes());
    let lowered = lang::lower(&parsed, &sources, &Settings::default());
    lowered.program.ok_or_else(|| {
        lowered.diagnostics.iter().map(|d| base::render(d, &sources, base::Colour::Plain)).collect::<String>()
    })
}

fn format(text: &str) -> String {
    let mut sources = Sources::new();
    let parsed = lang::parse(&mut sources, "random.tp", text.as_bytes());
    lang::format(&parsed, &sources).expect("correct text is printed")
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
    program::text::print(&p)
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
        let found = reach(&p, &Instances::of(&p, 1), &Limits { states: 60, ..Limits::default() });
        for trace in found.violations.values() {
            replay(&p, trace).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        }
        ran += usize::from(found.states > 3);
    }
    assert!(ran > 400, "{ran} programs run");
}
