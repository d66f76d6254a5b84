//! The programs of Threader's Table 1, in both modes: the verdict, whether the proof is modular, and the checker's word.
//!
//! "Modular" is asked for exactly where the paper says that a modular proof exists. Violations are runs, which the
//! checker replays. The same rows as C, and the paper's walk through its three small examples.

use base::Sources;
use base::differential::limited_work;
use checker::{CheckLimits, Checker, Outcome};
use evidence::{Claim, Proof};
use methods::HornClauses;
use methods::{Method, MethodOptions, Task};
use program::Program;
use std::collections::BTreeMap;
use std::time::Duration;
use testkit::oracle::Again;

fn load(name: &str) -> Program {
    let path = testkit::corpus::root().join("seeds/threader").join(format!("{name}.tp"));
    let bytes = std::fs::read(path).expect("the corpus is there");
    let mut sources = Sources::new();
    let parsed = frontend::lang::parse_file(&mut sources, name, &bytes);
    let lowered = frontend::lang::lower_file(&parsed, &sources, &frontend::lang::LoweringSettings::default());
    lowered.program.expect("it is a program")
}

/// The C program of a row; `None` where there is no preprocessor.
fn load_c(name: &str) -> Option<Program> {
    let path = testkit::corpus::root().join("c").join(format!("{name}.c"));
    let text = std::fs::read_to_string(&path).expect("the corpus is there");
    let options = frontend::c::COptions {
        model: frontend::c::DataModel::Lp64,
        checks: frontend::c::CCheck::parse("unreach-call"),
    };
    let (program, diagnostics) = frontend::c::load_c(&mut Sources::new(), &path, &text, &options);
    if diagnostics.iter().any(|d| d.code.0 == "C0001") {
        return None;
    }
    Some(program.expect("it is a program"))
}

struct Run {
    worst: Outcome,
    /// Whether every proof is modular.
    modular: bool,
    notes: Vec<String>,
    pictures: Vec<String>,
}

/// Runs `horn` on a program and has its claims checked.
fn run(name: &str, program: &Program, bias: &str) -> Run {
    let switch = |n: &str, v: &str| (n.to_string(), v.to_string());
    let options = MethodOptions(BTreeMap::from([switch("bias", bias), switch("show-trees", "on")]));
    let properties = program.properties.ids().collect();
    let task = Task { program: program.clone(), properties, threads: BTreeMap::new(), options };
    let budget = limited_work(Duration::from_secs(120));
    let claims = HornClauses.run(&task, &methods::Run::quiet(budget));
    let mut leaves = Again;
    let mut checker = Checker::new(program, &mut leaves, CheckLimits::default());
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
    Run { worst, modular, notes: claims.notes, pictures: claims.pictures }
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
    ("qrcu", Outcome::Safe, true),
];

#[test]
fn check_threaders_table_with_the_modular_bias() {
    for (name, outcome, modular) in TABLE {
        let found = run(name, &load(name), "modular");
        assert_eq!(found.worst, *outcome, "{name}");
        if *outcome == Outcome::Safe {
            assert_eq!(found.modular, *modular, "{name}: modular");
        }
        assert!(found.notes.iter().any(|n| n.contains("refinements")), "{name}: refinements are counted");
    }
}

#[test]
fn check_threaders_table_without_a_bias() {
    for (name, outcome, _) in TABLE.iter().filter(|(n, _, _)| !["lamport", "scull"].contains(n)) {
        assert_eq!(run(name, &load(name), "none").worst, *outcome, "{name}");
    }
}

#[test]
fn check_threaders_table_as_c() {
    for (name, outcome, modular) in TABLE {
        let file = match *name {
            "fig2_cex" => "fig2",
            "fig4_cex" => "fig4",
            "lamport" => "lamport_fast",
            name => name,
        };
        let Some(program) = load_c(file) else {
            println!("there is no preprocessor here: the corpus is not read");
            return;
        };
        let found = run(name, &program, "modular");
        assert_eq!(found.worst, *outcome, "{name} as C");
        if *outcome == Outcome::Safe {
            assert_eq!(found.modular, *modular, "{name} as C: modular");
        }
    }
}

/// Section 2.2 and figure 4: facts about the lock and the own location only; transitions say that the lock was free.
#[test]
fn check_lock_id_is_proved_as_the_paper_does() {
    let found = run("lock_id", &load("lock_id"), "modular");
    assert_eq!((found.worst, found.modular), (Outcome::Safe, true));
    let has = |text: &str| found.notes.iter().any(|n| n.contains(text));
    assert!(has("predicates of One at L2: owner == 1"), "m2 = (pc1 = b, lock = 1): {:#?}", found.notes);
    assert!(has("predicates of Two at L2: 2 <= owner"), "n2 = (pc2 = q, lock = 2): {:#?}", found.notes);
    assert!(has("= owner == 0 && owner' == 1"), "e1: {:#?}", found.notes);
    let states = found.notes.iter().filter(|n| n.contains("[by "));
    assert!(states.clone().count() > 4);
    assert!(
        states.clone().all(|n| !n.contains(": One at") && !n.contains(": Two at")),
        "no thread knows where the other is"
    );
}

/// Section 2.1 and figure 2 (c): each thread knows where the other is, and that the lock is taken once one is inside.
#[test]
fn check_lock_bit_is_proved_as_the_paper_does() {
    let found = run("lock_bit", &load("lock_bit"), "modular");
    assert_eq!((found.worst, found.modular), (Outcome::Safe, false));
    let has = |text: &str| found.notes.iter().any(|n| n.contains(text));
    assert!(has("no modular proof exists"), "{:#?}", found.notes);
    assert!(has("at L2 (x := 1): Two at L0 && 1 <= taken"), "m2: {:#?}", found.notes);
    assert!(has("at L0 (atomic): Two at L2 && 1 <= taken"), "m3: {:#?}", found.notes);
    assert!(!has("at L2 (x := 1): Two at L2"), "both inside is no state");
    let svg = found.pictures.last().expect("the trees were asked for");
    assert!(svg.starts_with("<svg") && svg.contains("Two at L0") && svg.contains("1 &lt;= taken"));
}

/// Section 6 and figure 13: the counter of the first thread is in no predicate.
#[test]
fn check_lock_bit_cnt_ignores_the_counter_as_the_paper_does() {
    let found = run("lock_bit_cnt", &load("lock_bit_cnt"), "modular");
    assert_eq!((found.worst, found.modular), (Outcome::Safe, false));
    let predicates: Vec<&String> = found.notes.iter().filter(|n| n.starts_with("predicates of")).collect();
    assert!(!predicates.is_empty());
    assert!(predicates.iter().all(|n| !n.contains("cnt")), "{predicates:#?}");
}
