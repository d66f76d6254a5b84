//! The programs of Threader's Table 1, in both modes: the verdict, whether the proof is modular, and the checker's word.
//!
//! "Modular" is asked for exactly where the paper says that a modular proof exists. Violations are runs, which the
//! checker replays. QRCU is left to the bench.

use base::{Budget, Sources};
use checker::{Checker, Limits, Outcome};
use evidence::{Claim, Proof};
use methods::horn::HornClauses;
use methods::{Method, Options, Run, Task};
use program::Program;
use std::collections::BTreeMap;
use std::time::Duration;
use testkit::oracle::Again;

fn load(name: &str) -> Program {
    let path = testkit::corpus::root().join("seeds/threader").join(format!("{name}.tp"));
    let bytes = std::fs::read(path).expect("the corpus is there");
    let mut sources = Sources::new();
    let parsed = frontend::lang::parse(&mut sources, name, &bytes);
    let lowered = frontend::lang::lower(&parsed, &sources, &frontend::lang::Settings::default());
    lowered.program.expect("it is a program")
}

/// Runs `horn` on a program; gives the worst outcome and whether some proof is modular.
fn run(name: &str, bias: &str) -> (Outcome, bool) {
    let program = load(name);
    let options = Options(BTreeMap::from([("bias".to_string(), bias.to_string())]));
    let properties = program.properties.ids().collect();
    let task = Task { program: program.clone(), properties, threads: BTreeMap::new(), options };
    let budget = Budget::unlimited().with_time(Duration::from_secs(60));
    let claims = HornClauses.run(&task, &Run::quiet(budget));
    let mut leaves = Again;
    let mut checker = Checker::new(&program, &mut leaves, Limits::default());
    let (mut worst, mut modular) = (Outcome::Safe, true);
    for (property, claim) in &claims.claims {
        if let Claim::Proved(c) = claim {
            modular &= matches!(c.proof, Proof::RelyGuarantee(_));
        }
        match checker.check(*property, "horn", claim).outcome() {
            Outcome::Safe => {}
            other if worst == Outcome::Unsafe => assert_ne!(other, Outcome::Unknown, "{name}: undecided"),
            other => worst = other,
        }
    }
    (worst, modular)
}

/// Name, safe, modular.
const TABLE: &[(&str, Outcome, bool)] = &[
    ("fig2_cex", Outcome::Unsafe, false),
    ("fig2_fixed", Outcome::Safe, true),
    ("fig4_cex", Outcome::Unsafe, false),
    ("fig4_fixed", Outcome::Safe, true),
    ("bluetooth2", Outcome::Unsafe, false),
    ("bluetooth2_fixed", Outcome::Safe, false),
    ("bluetooth3_fixed", Outcome::Safe, false),
    ("scull", Outcome::Safe, true),
    ("dekker", Outcome::Safe, false),
    ("peterson", Outcome::Safe, false),
    ("readers_writer_lock", Outcome::Safe, true),
    ("time_varying_mutex", Outcome::Safe, false),
    ("szymanski", Outcome::Safe, false),
    ("naive_bakery", Outcome::Safe, true),
    ("bakery", Outcome::Safe, false),
    ("lamport", Outcome::Safe, false),
];

#[test]
fn check_threaders_table_with_the_modular_bias() {
    for (name, outcome, modular) in TABLE {
        let (found, is_modular) = run(name, "modular");
        assert_eq!(found, *outcome, "{name}");
        if *outcome == Outcome::Safe {
            assert_eq!(is_modular, *modular, "{name}: modular");
        }
    }
}

#[test]
fn check_threaders_table_without_a_bias() {
    for (name, outcome, _) in TABLE.iter().filter(|(n, _, _)| !["lamport", "scull"].contains(n)) {
        assert_eq!(run(name, "none").0, *outcome, "{name}");
    }
}

#[test]
fn check_the_papers_examples_are_modular_or_not() {
    assert_eq!(run("lock_id", "modular"), (Outcome::Safe, true));
    assert_eq!(run("lock_bit", "modular"), (Outcome::Safe, false));
    assert_eq!(run("lock_bit_cnt", "modular"), (Outcome::Safe, false));
}
