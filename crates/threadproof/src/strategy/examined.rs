//! Proofs that are false and that a lying oracle lets pass: the search of limited size contradicts them, every time.
//!
//! In: small programs, a method that claims too much, an oracle that agrees with it. Out: tests: none of it is reported
//! as safe.

use super::*;
use crate::board::{SearchExtent, exit, rows};
use evidence::certificate::ThreadAnnotation;
use evidence::file::EvidenceEntry;
use evidence::{Certificate, Claim, Claims, Proof, RelyGuarantee};
use methods::{MethodDescription, MethodOptions, Refusal};
use program::callers::callers;
use program::client::Effort;
use solver::{AnsweredBy, SecondOpinion};
use std::path::PathBuf;
use testkit::solvers::{Fault, Faulty};

/// Wrong with two instances.
const UNSAFE: &str = "var x: int = 0;\nthread T[*] { x := x + 1; assert x <= 1; x := x - 1; }\n";
/// Right with any number.
const SAFE: &str =
    "var m: lock;\nvar x: int = 0;\nthread T[*] { acquire m; x := x + 1; assert x == 1; x := x - 1; release m; }\n";

/// Says that everything is proved, by annotations that say nothing.
struct Liar;

impl Method for Liar {
    fn about(&self) -> MethodDescription {
        // In the place of the method that is preferred to all others: else the search may be reported before the lie is heard.
        MethodDescription { name: "recall", summary: "", paper: "" }
    }
    fn admits(&self, _: &Task) -> Result<(), Refusal> {
        Ok(())
    }
    #[allow(clippy::arc_with_non_send_sync)]
    fn run(&self, task: &Task, _: &Run) -> Claims {
        // Of a file without threads the proof is about its callers.
        let client = task
            .program
            .threads
            .is_empty()
            .then(|| callers(&task.program, None, &[], Effort::Any).expect("there is something to call").program);
        let p = client.as_ref().unwrap_or(&task.program);
        let tt = p.terms.tt();
        let annotation = |(thread, t): (program::ThreadId, &program::Thread)| ThreadAnnotation {
            thread,
            at: vec![tt; t.code.locations.len()],
            guarantee: tt,
            rely: None,
        };
        let threads = p.threads.iter_enumerated().map(annotation).collect();
        let lie = |proof: Proof| Certificate {
            method: "liar".into(),
            terms: p.terms.clone(),
            properties: task.properties.clone(),
            proof,
        };
        let mut certificate = lie(Proof::RelyGuarantee(RelyGuarantee { invariant: tt, threads }));
        if client.is_some() {
            let proof = Box::new(certificate);
            certificate =
                lie(Proof::Callers(evidence::CallersProof { object: None, linearization_points: Vec::new(), proof }));
        }
        let certificate = Arc::new(certificate);
        let mut claims = Claims::default();
        task.properties.iter().for_each(|q| claims.set(*q, Claim::Proved(certificate.clone())));
        claims
    }
}

/// Everything is valid.
fn believes_all(budget: &Budget, _: Option<Arc<Cache>>) -> Oracle {
    let backend = Arc::new(Faulty(Fault::AlwaysUnsat));
    let word = AnsweredBy::OtherSolver("a liar".into());
    Oracle::new(vec![SecondOpinion::of(backend, word, solver::SolverSettings::default(), budget)])
}

fn run(text: &str, methods: Vec<Arc<dyn Method>>, oracle: OracleMaker, workers: usize) -> (Task, Arc<Board>) {
    let mut sources = Sources::new();
    let parsed = frontend::lang::parse_file(&mut sources, "test.tp", text.as_bytes());
    let settings = frontend::lang::LoweringSettings { constants: Vec::new(), copies: Vec::new() };
    let program = frontend::lang::lower_file(&parsed, &sources, &settings).program.expect("it is a program");
    let board = Arc::new(Board::new(&[PathBuf::from("test.tp")]));
    board.with_file(0, |f| f.rows = rows(&program, &sources, &|_| true));
    let properties = program.properties.ids().collect();
    let task = Task { program, properties, threads: Default::default(), options: MethodOptions::default() };
    let settings = StrategySettings {
        budget: Budget::unlimited(),
        time: Duration::from_secs(60),
        seed: 0,
        workers,
        listen: Arc::new(|_, _| {}),
        sources: Arc::new(sources),
        cache: None,
        oracle,
    };
    run_strategy(&task, methods, &settings, &board, 0);
    board.with_file(0, |f| f.stage = crate::board::MethodStage::Done);
    (task, board)
}

fn with_a_liar() -> Vec<Arc<dyn Method>> {
    let mut methods = registry::portfolio();
    methods.retain(|m| matches!(m.about().name, "scout" | "explore"));
    methods.insert(0, Arc::new(Liar));
    methods
}

#[test]
fn check_a_false_proof_that_was_accepted_is_contradicted_every_time() {
    for workers in [1, 2, 1, 2] {
        let (task, board) = run(UNSAFE, with_a_liar(), believes_all, workers);
        let folder = std::env::temp_dir().join(format!("threadproof-examined-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let places = [PathBuf::from("/no/such/folder"), folder.clone()];
        board.with_file(0, |f| crate::contradiction::keep_contradiction(&task.program, f, &places));
        let record = board.lock();
        let file = &record.files[0];
        assert_eq!(record.exit_code(), exit::INTERNAL, "{:?}", file.internal);
        assert!(file.internal[0].contains("recall says"), "{:?}", file.internal);
        assert!(file.rows.iter().all(|r| file.outcome_of(r) == RowOutcome::Unknown));
        let kept = folder.join("threadproof-contradiction-test.json");
        let bytes = std::fs::read(&kept).expect("the evidence was kept");
        let entries = evidence::file::read_evidence(&task.program, &bytes).expect("it can be read again");
        assert!(entries.iter().any(|e| matches!(e, EvidenceEntry::Certificate(_))), "the proof is there");
        assert!(entries.iter().any(|e| matches!(e, EvidenceEntry::Counterexample { .. })), "the run is there");
        assert!(file.internal.last().is_some_and(|line| line.contains(&kept.display().to_string())));
        std::fs::remove_dir_all(&folder).expect("the test's own folder");
    }
}

#[test]
fn check_a_proof_for_any_number_says_how_far_it_was_searched() {
    let (_, board) = run(SAFE, registry::portfolio(), Oracle::standard, 2);
    let record = board.lock();
    let file = &record.files[0];
    assert_eq!(file.outcome(), RowOutcome::Safe);
    let second = file.rows.iter().find_map(|r| r.second.clone()).expect("it was searched, too");
    assert_eq!((second.instances, second.extent), (Some(3), SearchExtent::Whole));
    assert!(second.to_string().contains("also searched with 3 instances of each thread"), "{second}");
    // The same search does not contradict a proof of what is true.
    let (_, board) = run(SAFE, with_a_liar(), believes_all, 2);
    assert_eq!(board.lock().files[0].outcome(), RowOutcome::Safe, "nothing contradicts what is true");
}

/// Wrong with two callers: the assertion holds for one alone.
const UNSAFE_CALLED: &str = "var x: int = 0;\nproc p() { x := x + 1; assert x <= 1; x := x - 1; }\n";
const SAFE_CALLED: &str = "var x: int = 0;\ninvariant x >= 0;\nproc up() { if x < 5 { x := 1; } }\n";
const SAFE_OBJECT: &str =
    "object Counter { spec { var n: int := 0; inc() { n := n + 1; } get() returns (v: int) { v := n; } }
  var c: int = 0; op inc() { c := c + 1; } op get() returns (v: int) { v := c; } }\n";

#[test]
fn check_a_false_proof_about_any_callers_is_contradicted_every_time() {
    for workers in [1, 2] {
        let (_, board) = run(UNSAFE_CALLED, with_a_liar(), believes_all, workers);
        let record = board.lock();
        let file = &record.files[0];
        assert_eq!(record.exit_code(), exit::INTERNAL, "{:?}", file.internal);
        assert!(file.internal[0].contains("recall says"), "{:?}", file.internal);
    }
    let (_, board) = run(SAFE_CALLED, with_a_liar(), believes_all, 1);
    assert_eq!(board.lock().files[0].outcome(), RowOutcome::Safe, "nothing contradicts what is true");
}

#[test]
fn check_a_proof_about_any_callers_says_how_far_it_was_searched() {
    for (text, extent, words) in [
        (SAFE_CALLED, SearchExtent::Callers, "also searched with two callers of two calls each"),
        (SAFE_OBJECT, SearchExtent::Histories, "also searched with two clients of up to three calls"),
    ] {
        let (_, board) = run(text, registry::portfolio(), Oracle::standard, 1);
        let record = board.lock();
        let file = &record.files[0];
        assert_eq!(file.outcome(), RowOutcome::Safe, "{text}");
        let second = file.rows.iter().find_map(|r| r.second.clone()).expect("it was searched, too");
        assert_eq!(second.extent, extent);
        assert!(second.to_string().contains(words), "{second}");
    }
}

/// Says that it has searched more states than the checker repeats. Asked again, without reductions, it does search.
struct Boaster;

impl Method for Boaster {
    fn about(&self) -> MethodDescription {
        MethodDescription { name: "explore", summary: "", paper: "" }
    }
    fn admits(&self, _: &Task) -> Result<(), Refusal> {
        Ok(())
    }
    #[allow(clippy::arc_with_non_send_sync)]
    fn run(&self, task: &Task, run: &Run) -> Claims {
        if task.options.0.get("por").is_some_and(|v| v == "off") {
            return methods::Explore.run(task, run);
        }
        let certificate = Arc::new(Certificate {
            method: "boaster".into(),
            terms: task.program.terms.clone(),
            properties: task.properties.clone(),
            proof: Proof::Search(evidence::ExhaustiveSearch { instances: task.instances(0).0, states: 1_000_001 }),
        });
        let mut claims = Claims::default();
        task.properties.iter().for_each(|q| claims.set(*q, Claim::Proved(certificate.clone())));
        claims
    }
}

#[test]
fn check_a_search_that_was_not_repeated_is_followed_by_one_without_reductions() {
    let boasters =
        || -> Vec<Arc<dyn Method>> { vec![Arc::new(scout::Scout::new(Arc::new(Boaster))), Arc::new(Boaster)] };
    let program = |bound: &str| format!("var x: int = 0;\nthread T[3] {{ x := x + 1; assert x <= {bound}; }}\n");
    let (_, board) = run(&program("3"), boasters(), Oracle::standard, 1);
    let record = board.lock();
    let file = &record.files[0];
    assert_eq!(file.outcome(), RowOutcome::Safe);
    let second = file.rows[0].second.clone().expect("it was searched, too");
    assert_eq!(second.extent, SearchExtent::WholeUnreduced);
    // Three instances at one of three places each, without symmetry.
    assert_eq!(second.states, 27, "{second}");
    assert!(second.to_string().contains("wholly without reductions (27 states)"), "{second}");
    // What the first search should have seen is seen by the second.
    let (_, board) = run(&program("2"), boasters(), Oracle::standard, 1);
    let record = board.lock();
    assert_eq!(record.exit_code(), exit::INTERNAL, "{:?}", record.files[0].internal);
}
