//! Methods that lie, crash, hang and contradict each other: none of it may become a verdict.

use super::*;
use crate::board::{exit, rows};
use crate::place::Place;
use evidence::certificate::ExhaustiveSearch;
use evidence::{Certificate, Claim, Claims, Proof, Trace, TraceStep};
use methods::{MethodDescription, MethodOptions, Refusal};
use program::semantics::InstanceCounts;
use program::{
    Action, ActionId, Code, Copies, Gate, LocId, Location, Program, Property, PropertyId, PropertyKind, Start, Thread,
    ThreadId, VarId, What,
};
use std::path::PathBuf;

/// One thread with one step and one property of this kind, which the step satisfies or not.
fn program(kind: PropertyKind, holds: bool) -> Program {
    let mut p = Program::new("test");
    let origin = p.add_origin(None, "the step");
    let property = p.properties.push(Property { kind, name: "assert:1".into(), origin });
    let mut code = Code::new();
    for name in ["before", "after"] {
        code.locations.push(Location { name: name.into(), in_atomic_block: false, invariants: Vec::new(), origin });
    }
    code.exit = Some(LocId(1));
    code.actions.push(Action {
        gates: vec![Gate { property, formula: p.terms.bool(holds) }],
        ..Action::plain(LocId(0), LocId(1), p.terms.bool(true), What::Assert, origin)
    });
    p.threads.push(Thread {
        name: "T".into(),
        copies: Copies::One,
        start: Start::Initial,
        params: Vec::new(),
        locals: Vec::new(),
        code,
        outline: None,
        follows: None,
        origin,
    });
    p
}

fn proved(program: &Program) -> Claim {
    Claim::Proved(Arc::new(Certificate {
        method: "test".into(),
        terms: program.terms.clone(),
        properties: program.properties.ids().collect(),
        proof: Proof::Search(ExhaustiveSearch { instances: vec![1], states: 2 }),
    }))
}

fn refuted() -> Claim {
    let step = TraceStep { instance: 0, thread: ThreadId(0), action: ActionId(0), inputs: vec![], choices: vec![] };
    let trace = Trace {
        instances: InstanceCounts(vec![1]),
        initial: Vec::new(),
        steps: vec![step],
        finally: Vec::new(),
        violates: PropertyId(0),
    };
    Claim::Refuted(trace.into())
}

/// A method made of one function.
struct Made(&'static str, fn(&Task, &Run) -> Claims);

impl Method for Made {
    fn about(&self) -> MethodDescription {
        MethodDescription { name: self.0, summary: "", paper: "" }
    }
    fn admits(&self, _: &Task) -> Result<(), Refusal> {
        if self.0 == "refuses" { Err(Refusal("not today".into())) } else { Ok(()) }
    }
    fn run(&self, task: &Task, run: &Run) -> Claims {
        (self.1)(task, run)
    }
}

fn claims(claim: Claim) -> Claims {
    let mut claims = Claims::default();
    claims.set(PropertyId(0), claim);
    claims
}

fn says_safe(task: &Task, _: &Run) -> Claims {
    claims(proved(&task.program))
}

fn says_unsafe(_: &Task, _: &Run) -> Claims {
    claims(refuted())
}

fn panics(_: &Task, _: &Run) -> Claims {
    panic!("this method is broken")
}

fn hangs(_: &Task, _: &Run) -> Claims {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn settings(time: Duration, workers: usize) -> StrategySettings {
    let (budget, sources) = (Budget::unlimited(), Arc::new(Sources::new()));
    let oracle = Oracle::standard;
    StrategySettings { budget, time, seed: 0, workers, listen: Arc::new(|_, _| {}), sources, cache: None, oracle }
}

fn runs_on(board: &Arc<Board>, p: &Program, made: Vec<Made>, time: Duration) {
    let task = Task {
        program: p.clone(),
        properties: p.properties.ids().collect(),
        threads: Default::default(),
        options: MethodOptions::default(),
    };
    let settings = settings(time, 1);
    let methods = made.into_iter().map(|m| Arc::new(m) as Arc<dyn Method>).collect();
    run_strategy(&task, methods, &settings, board, 0);
    board.with_file(0, |f| f.stage = crate::board::MethodStage::Done);
}

fn board_of(p: &Program) -> Arc<Board> {
    let board = Arc::new(Board::new(&[PathBuf::from("test.tp")]));
    board.with_file(0, |f| f.rows = rows(p, &Sources::new(), &|_| true));
    board
}

fn outcome(p: &Program, made: Vec<Made>) -> (RowOutcome, Vec<String>, i32) {
    let board = board_of(p);
    runs_on(&board, p, made, Duration::from_secs(20));
    let record = board.lock();
    let file = &record.files[0];
    let reasons = file.rows[0].reasons.iter().map(|(_, r)| r.clone()).collect();
    (file.outcome_of(&file.rows[0]), reasons, record.exit_code())
}

#[test]
fn check_a_right_proof_and_a_right_trace_are_accepted() {
    let good = program(PropertyKind::Assertion, true);
    assert_eq!(outcome(&good, vec![Made("m", says_safe)]), (RowOutcome::Safe, vec![], exit::SAFE));
    let bad = program(PropertyKind::Assertion, false);
    assert_eq!(outcome(&bad, vec![Made("m", says_unsafe)]), (RowOutcome::Unsafe, vec![], exit::UNSAFE));
}

#[test]
fn check_a_false_proof_and_a_false_trace_are_not_accepted() {
    let good = program(PropertyKind::Assertion, true);
    let (found, reasons, code) = outcome(&good, vec![Made("liar", says_unsafe)]);
    assert_eq!((found, code), (RowOutcome::Unknown, exit::UNKNOWN));
    assert!(reasons[0].contains("rejected"), "{reasons:?}");
    let bad = program(PropertyKind::Assertion, false);
    let (found, reasons, code) = outcome(&bad, vec![Made("liar", says_safe)]);
    assert_eq!((found, code), (RowOutcome::Unknown, exit::UNKNOWN));
    assert!(reasons[0].contains("violated"), "{reasons:?}");
}

#[test]
fn check_a_liar_does_not_hide_the_truth() {
    let bad = program(PropertyKind::Assertion, false);
    let made = vec![Made("liar", says_safe), Made("honest", says_unsafe)];
    assert_eq!(outcome(&bad, made).0, RowOutcome::Unsafe);
}

#[test]
fn check_a_panic_is_a_reason_and_others_go_on() {
    let good = program(PropertyKind::Assertion, true);
    let (found, reasons, code) = outcome(&good, vec![Made("broken", panics)]);
    assert_eq!((found, code), (RowOutcome::Unknown, exit::UNKNOWN));
    assert!(reasons[0].contains("this method is broken"), "{reasons:?}");
    assert_eq!(outcome(&good, vec![Made("broken", panics), Made("m", says_safe)]).0, RowOutcome::Safe);
}

fn proves_then_panics(task: &Task, run: &Run) -> Claims {
    run.publish_one(PropertyId(0), proved(&task.program));
    panic!("this method is broken")
}

fn proves_then_hangs(task: &Task, run: &Run) -> Claims {
    run.publish(&says_safe(task, run));
    hangs(task, run)
}

fn publishes_a_lie(_: &Task, run: &Run) -> Claims {
    run.publish_one(PropertyId(0), refuted());
    Claims::default()
}

fn publishes_for_another_program(task: &Task, run: &Run) -> Claims {
    run.inner().publish(&says_safe(task, run));
    Claims::default()
}

#[test]
fn check_what_was_published_is_checked_and_survives_the_method() {
    let good = program(PropertyKind::Assertion, true);
    assert_eq!(outcome(&good, vec![Made("m", proves_then_panics)]).0, RowOutcome::Safe);
    let start = Instant::now();
    assert_eq!(outcome(&good, vec![Made("m", proves_then_hangs)]).0, RowOutcome::Safe);
    assert!(start.elapsed() < Duration::from_secs(10), "what is decided is not waited for");
    assert_eq!(outcome(&good, vec![Made("liar", publishes_a_lie)]).0, RowOutcome::Unknown);
    assert_eq!(outcome(&good, vec![Made("m", publishes_for_another_program)]).0, RowOutcome::Unknown);
}

#[test]
fn check_a_refusal_is_no_answer() {
    let good = program(PropertyKind::Assertion, true);
    assert_eq!(outcome(&good, vec![Made("refuses", says_safe)]), (RowOutcome::Unknown, vec![], exit::UNKNOWN));
}

#[test]
fn check_a_method_that_hangs_is_left_behind() {
    let good = program(PropertyKind::Assertion, true);
    assert_eq!(outcome(&good, vec![Made("hangs", hangs), Made("m", says_safe)]).0, RowOutcome::Safe);
    let board = board_of(&good);
    let start = Instant::now();
    runs_on(&board, &good, vec![Made("hangs", hangs)], Duration::from_millis(300));
    assert!(start.elapsed() < Duration::from_secs(5));
    let record = board.lock();
    assert_eq!(record.files[0].outcome(), RowOutcome::Unknown);
    assert_eq!(record.files[0].stopped.as_deref(), Some("the time limit was reached"));
    assert_eq!(record.files[0].methods[0].state, MethodState::Stopped);
}

#[test]
fn check_two_accepted_answers_that_differ_are_an_internal_error() {
    // A sound checker never accepts both, so each is accepted for a program of its own and told about one row.
    let good = program(PropertyKind::Assertion, true);
    let bad = program(PropertyKind::Assertion, false);
    let board = board_of(&good);
    let seconds = Duration::from_secs(20);
    runs_on(&board, &good, vec![Made("one", says_safe)], seconds);
    board.with_file(0, |f| f.concluded = false);
    let task = Task {
        program: bad.clone(),
        properties: bad.properties.ids().collect(),
        threads: Default::default(),
        options: MethodOptions::default(),
    };
    let mut worker = MethodWorker {
        index: 0,
        method: Arc::new(Made("two", says_unsafe)),
        board: board.clone(),
        file: 0,
        sources: Arc::new(Sources::new()),
        cache: None,
        oracle: Oracle::standard,
        run: Run::quiet(Budget::unlimited()),
        race: Arc::new(Race::new([(Budget::unlimited(), 0)])),
        checking: Budget::unlimited(),
        search_effort: None,
    };
    worker.work(&task);
    let record = board.lock();
    assert_eq!(record.exit_code(), exit::INTERNAL);
    assert!(
        record.files[0].internal[0].contains("one says safe and two says unsafe"),
        "{:?}",
        record.files[0].internal
    );
    assert_eq!(record.files[0].outcome_of(&record.files[0].rows[0]), RowOutcome::Unknown);
}

#[test]
fn check_a_construct_outside_the_model_is_never_unsafe_and_blocks_safe() {
    let kind = || PropertyKind::Unmodelled("a longjmp".into());
    let reached = program(kind(), false);
    assert_eq!(outcome(&reached, vec![Made("m", says_unsafe)]).0, RowOutcome::Unknown);
    // Two properties: the assertion is proved, the construct is not.
    let mut both = program(PropertyKind::Assertion, true);
    let origin = both.properties[PropertyId(0)].origin;
    both.properties.push(Property { kind: kind(), name: "unmodelled:1".into(), origin });
    fn only_the_first(task: &Task, _: &Run) -> Claims {
        let mut certificate = match proved(&task.program) {
            Claim::Proved(c) => (*c).clone(),
            _ => unreachable!("it is a proof"),
        };
        certificate.properties = vec![PropertyId(0)];
        claims(Claim::Proved(Arc::new(certificate)))
    }
    assert_eq!(outcome(&both, vec![Made("m", only_the_first)]).0, RowOutcome::Unknown);
    fn both_of_them(task: &Task, _: &Run) -> Claims {
        let claim = proved(&task.program);
        let mut claims = claims(claim.clone());
        claims.set(PropertyId(1), claim);
        claims
    }
    assert_eq!(outcome(&both, vec![Made("m", both_of_them)]).0, RowOutcome::Safe);
}

#[test]
fn check_places_are_told_with_the_row() {
    let p = program(PropertyKind::Assertion, true);
    let row = &rows(&p, &Sources::new(), &|_| true)[0];
    assert_eq!((row.kind, row.place.clone()), ("assertion", None::<Place>));
    assert_eq!(rows(&p, &Sources::new(), &|name| name == "other").len(), 0);
}

#[test]
fn check_long_methods_wait_only_for_threads_in_any_number_and_few_processors() {
    let names: Vec<&str> = registry::portfolio().iter().map(|m| m.about().name).collect();
    let task = |copies: Copies| {
        let mut program = program(PropertyKind::Assertion, true);
        program.threads[ThreadId(0)].copies = copies;
        let properties = program.properties.ids().collect();
        Task { program, properties, threads: Default::default(), options: MethodOptions::default() }
    };
    let waves = |task: &Task, names: &[&'static str], workers: usize| {
        let settings = settings(Duration::from_secs(20), workers);
        let stages = registry::stages(task, names, &settings).into_iter();
        stages.map(|s| s.who.iter().map(|i| names[*i]).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let small = waves(&task(Copies::Any), &names, 2);
    assert_eq!(small[0], ["scout", "count"], "the likely one begins, with the search for bugs");
    assert_eq!(small[1], ["rely"], "what counting does not decide often follows from relies");
    assert_eq!(small[2], ["horn"]);
    assert_eq!(small[4..], [["walk"], ["explore"]]);
    assert_eq!(waves(&task(Copies::Any), &names, 64).len(), 4);
    // Fixed numbers: the search is alone at first, and a second one waits for its end.
    let fixed = waves(&task(Copies::Exactly(3)), &names, 2);
    assert_eq!(fixed[..3], [["scout"], ["horn"], ["rely"]]);
    assert_eq!(fixed[4..], [["explore"], ["walk"]]);
    let mut annotated = task(Copies::Any);
    let formula = Some(annotated.program.terms.tt());
    let origin = annotated.program.threads[ThreadId(0)].origin;
    annotated.program.invariants.push(program::InitialFact { formula, property: None, origin });
    assert_eq!(waves(&annotated, &names, 2)[0], ["scout", "rely"]);
    assert_eq!(waves(&annotated, &names, 2)[1], ["count"]);
    assert_eq!(waves(&annotated, &names, 2)[3..], [["walk"], ["horn"], ["explore"]]);
    // A heap is for one method, whether the numbers are fixed or not.
    let mut heap = task(Copies::One);
    heap.program.classes.push(program::Class { name: "Node".into(), fields: Vec::new(), live: VarId(0), origin });
    assert_eq!(waves(&heap, &names, 2)[0], ["scout", "shape"]);
    // A user who names methods gets them at once.
    assert_eq!(waves(&task(Copies::Any), &["explore", "count"], 2), [["explore", "count"]]);
    // What is known from an earlier run comes before everything else.
    let known: Vec<&str> = names.iter().copied().chain(["recall"]).collect();
    let with = waves(&task(Copies::Any), &known, 2);
    assert_eq!((&with[0][..], &with[1..]), (&["recall"][..], &small[..]));
    // A large program is first looked at piece by piece; one that can be searched is not.
    let large = |copies: Copies| {
        let mut task = task(copies);
        let code = &mut task.program.threads[ThreadId(0)].code;
        let action = code.actions.iter().next().expect("it has a step").clone();
        (0..500).for_each(|_| {
            code.actions.push(action.clone());
        });
        waves(&task, &names, 2)
    };
    assert_eq!(large(Copies::Any)[0], ["scout", "rely", "callers"]);
    assert_eq!(large(Copies::Any).len(), 2);
    assert_eq!(large(Copies::Exactly(3)), fixed);
}

#[test]
fn check_a_proof_that_an_execution_contradicts_is_withdrawn_as_an_internal_error() {
    use crate::second_opinion::{Opinion, ViolatingExecution, enter};
    let good = program(PropertyKind::Assertion, true);
    let board = board_of(&good);
    runs_on(&board, &good, vec![Made("one", says_safe)], Duration::from_secs(20));
    let mut record = board.lock();
    let file = &mut record.files[0];
    assert_eq!(file.outcome_of(&file.rows[0]), RowOutcome::Safe);
    file.rows[0].name = "unreach-call".into();
    let execution = ViolatingExecution {
        check: frontend::c::CCheck::Reach,
        place: None,
        sentence: "an assertion fails".into(),
        shown: vec!["main writes x = 1".into()],
        story: Default::default(),
        steps: 1,
        seed: 3,
        assumptions: Vec::new(),
    };
    enter(Opinion { violations: vec![execution], ..Opinion::default() }, file);
    assert!(file.internal[0].contains("(seed 3): an assertion fails"), "{:?}", file.internal);
    assert_eq!(file.outcome_of(&file.rows[0]), RowOutcome::Unknown);
    assert_eq!(record.exit_code(), exit::INTERNAL);
}
