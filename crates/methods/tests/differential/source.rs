//! Random small source programs: `explore` against an interpreter of the syntax tree, which shares nothing with it: neither the front
//! end's lowering nor the model. With and without reductions; also deadlock and leaks.

use base::differential::{limited_work, programs_to_try, report_agreement, seeds};
use methods::Switches;
use methods::{ExplorePlan, explore_states};
use program::semantics::InstanceCounts;
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::agreement::{Outcome, key, lowered, verdict};
use testkit::interpreter::interpret;

/// States that the interpreter looks at.
const MAX_STATES: usize = 3_000;

#[test]
fn check_a_search_finds_what_an_interpreter_of_the_tree_finds() {
    let count = programs_to_try(150);
    let (mut agree, mut wrong) = (0, Vec::new());
    for seed in seeds(150) {
        let text = testkit::small::program(seed);
        let (p, parsed, sources) = lowered(&text).unwrap_or_else(|e| panic!("seed {seed}\n{e}\n{text}"));
        let second = interpret(&parsed.tree, &sources, 2, MAX_STATES);
        let all = Switches { por: true, symmetry: true, dead: true, heap: true };
        for switches in [Switches::NONE, all] {
            let answer = explore_states(&ExplorePlan {
                program: &p,
                counts: InstanceCounts::of(&p, 2),
                wanted: p.properties.ids().collect(),
                switches,
                workers: 1,
                depth: usize::MAX,
                budget: limited_work(Duration::from_secs(5)),
                progress: &|_| {},
                compact: false,
                unreachable: false,
                means: Default::default(),
            });
            let violated: BTreeSet<String> = answer.traces.keys().map(|p2| key(&p.properties[*p2].name)).collect();
            match verdict(&violated, answer.incomplete.as_deref(), &second) {
                Outcome::Agree => agree += 1,
                Outcome::Partly(_) => {}
                Outcome::Differ(why) => wrong.push(format!("seed {seed} {switches:?}: {why}\n{text}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    report_agreement("source", count, &format!("{agree} of {} searches wholly compared", 2 * count));
    assert!(agree > count, "only {agree} of {} searches are wholly compared", 2 * count);
}

/// Random program 6338, made small: with `s` false at the start the thread waits for ever, and its first step is folded into the start.
#[test]
fn check_a_folded_first_step_that_decides_a_value_does_not_hide_a_deadlock() {
    let text = "var s: bool;\nthread T { assume s; s := false; }\n";
    let (p, ..) = lowered(text).expect("it is a program");
    for por in [false, true] {
        let answer = explore_states(&ExplorePlan {
            program: &p,
            counts: InstanceCounts::of(&p, 0),
            wanted: p.properties.ids().collect(),
            switches: Switches { por, ..Switches::NONE },
            workers: 1,
            depth: usize::MAX,
            budget: limited_work(Duration::from_secs(5)),
            progress: &|_| {},
            compact: false,
            unreachable: false,
            means: Default::default(),
        });
        let found = !answer.traces.is_empty();
        assert!(found || answer.incomplete.is_some(), "with folding {por}: the search calls itself whole");
    }
}
