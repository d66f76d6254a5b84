//! Rules `replay`, `client-run` and `history`: runs that are accepted, and for each side condition one that lacks it.
//!
//! The runs come from the reference semantics' plain search, which says where they go wrong; what is changed is changed by hand.

use crate::case::Case;
use evidence::{Choice, ClientRun, History, InstanceCounts, Trace};
use logic::{ReadPlace, Value};
use program::client::Effort;
use program::clients::{Against, ClientCall, Clients};
use program::semantics::{ReachLimits, reachable_states};
use program::{ActionId, ObjectId, Program, PropertyId, ThreadId};

/// Two threads lose one of two increments; each also notes a number that it chose.
pub(crate) const LOST: &str = "var x: int = 0;\nvar n: int;\ninvariant n != 1 || x <= 0;\nrely x' <= x + 1;\n\
    thread T[2] { var k: int; k := x; havoc n; x := k + 1; assert x == k + 1 && (x != 2 || n != 2); }\n\
    thread L { assume x == 2; assert n == 0; }\n";

/// A shortest run of the program to the violation, with so many instances of each thread of any number.
pub(crate) fn shortest_run(p: &Program, property: PropertyId, any: u32) -> Trace {
    let limits = ReachLimits { states: 20_000, ..ReachLimits::default() };
    let reached = reachable_states(p, &InstanceCounts::of(p, any), &limits);
    let name = &p.properties[property].name;
    reached.violations.get(&property).unwrap_or_else(|| panic!("no run violates {name}")).clone()
}

pub(crate) fn run_of(case: &Case, property: &str) -> Trace {
    shortest_run(&case.program, case.property(property), 2)
}

#[test]
fn check_a_run_to_a_violation_is_accepted() {
    let case = Case::new(LOST);
    for property in ["assert:5", "assert:6", "invariant:3"] {
        case.refuted(run_of(&case, property).into(), property);
    }
    let falls = Case::new(&LOST.replace("x := k + 1", "x := k + 2"));
    falls.refuted(run_of(&falls, "rely:4").into(), "rely:4");
    let any = Case::new(&LOST.replace("T[2]", "T[*]"));
    any.refuted(run_of(&any, "assert:5").into(), "assert:5");
}

#[test]
fn check_a_run_of_other_instances_is_rejected() {
    let case = Case::new(LOST);
    for instances in [&[1, 1][..], &[3, 1], &[2, 0], &[2], &[2, 1, 1], &[]] {
        let run = Trace { instances: InstanceCounts(instances.to_vec()), ..run_of(&case, "assert:5") };
        case.not_refuted(run.into(), "assert:5", "numbers of threads");
    }
}

#[test]
fn check_a_run_that_is_not_executed_as_written_is_rejected() {
    let case = Case::new(LOST);
    let rejected = |because: &str, change: &dyn Fn(&mut Trace)| {
        let mut run = run_of(&case, "assert:5");
        change(&mut run);
        case.not_refuted(run.into(), "assert:5", because);
    };
    let last = run_of(&case, "assert:5").steps.len() - 1;
    rejected("after 0 steps", &|r| r.steps[0].instance = 9);
    rejected("after 0 steps", &|r| r.steps[0].thread = ThreadId(1));
    rejected("after 0 steps", &|r| r.steps[0].action = ActionId(99));
    rejected("after 0 steps", &|r| {
        r.steps.remove(0);
    });
    rejected("after 0 steps", &|r| r.steps[0].inputs.push(Value::Int(0)));
    rejected("after", &|r| {
        r.steps.iter_mut().for_each(|s| s.inputs.clear());
    });
    rejected("after", &|r| {
        r.steps.iter_mut().filter(|s| !s.inputs.is_empty()).for_each(|s| s.inputs = vec![Value::Bool(true)]);
    });
    rejected("does not violate", &|r| {
        r.steps.pop();
    });
    rejected("goes wrong", &|r| r.steps.push(r.steps[last].clone()));
    // The two that interleave take their steps one after the other: nothing is lost.
    rejected("after", &|r| r.steps.sort_by_key(|s| s.instance));
    // A value is decided where there is no such place.
    let nowhere = Choice {
        instance: Some(7),
        place: ReadPlace { symbol: case.known("x"), keys: Vec::new() },
        value: Value::Int(1),
    };
    rejected("after 0 steps", &|r| r.initial.push(nowhere.clone()));
    rejected("after 0 steps", &|r| r.steps[0].choices.push(nowhere.clone()));
}

#[test]
fn check_a_run_that_violates_something_else_or_nothing_is_rejected() {
    let case = Case::new(LOST);
    let run = run_of(&case, "assert:5");
    case.not_refuted(run.clone().into(), "assert:6", "another property");
    let other = Trace { violates: case.property("assert:6"), ..run.clone() };
    case.not_refuted(other.into(), "assert:6", "after");
    let invariant = Trace { violates: case.property("invariant:3"), steps: Vec::new(), ..run.clone() };
    case.not_refuted(invariant.into(), "invariant:3", "invariant");
    let rely = Trace { violates: case.property("rely:4"), ..run.clone() };
    case.not_refuted(rely.into(), "rely:4", "");
    let still = Trace { violates: case.property("rely:4"), steps: Vec::new(), ..run };
    case.not_refuted(still.into(), "rely:4", "no step was taken");
}

/// Whoever calls `down` often enough.
pub(crate) const DOWN: &str =
    "var x: int = 2;\ninvariant x > 0;\nproc down(by: int) requires by >= 0; { x := x - by; assert x > 0; }\n";

/// One client that calls twice with 0 or 1.
pub(crate) fn client_run(case: &Case, property: &str) -> ClientRun {
    let effort = Effort::Bounded { clients: 1, calls: 2, values: 2 };
    let client = program::callers::callers(&case.program, None, &[], effort).expect("the file has callers").program;
    ClientRun { effort, trace: shortest_run(&client, case.property(property), 1) }
}

#[test]
fn check_a_run_of_callers_is_accepted() {
    let case = Case::new(DOWN);
    for property in ["invariant:2", "assert:3"] {
        case.refuted(client_run(&case, property).into(), property);
    }
}

#[test]
fn check_a_run_of_other_callers_or_of_what_they_do_not_decide_is_rejected() {
    let case = Case::new(DOWN);
    let rejected = |because: &str, change: &dyn Fn(&mut ClientRun)| {
        let mut run = client_run(&case, "assert:3");
        change(&mut run);
        case.not_refuted(run.into(), "assert:3", because);
    };
    // The client is built from these numbers: of another one it is no run.
    rejected("after", &|r| r.effort = Effort::Bounded { clients: 1, calls: 1, values: 2 });
    rejected("after", &|r| r.effort = Effort::Bounded { clients: 1, calls: 2, values: 1 });
    rejected("instances", &|r| r.trace.instances = InstanceCounts(vec![2]));
    rejected("instances", &|r| r.trace.instances = InstanceCounts(Vec::new()));
    rejected("after", &|r| {
        r.trace.steps.pop();
    });
    rejected("another property", &|r| r.trace.violates = case.property("invariant:2"));
    // The same run where there are threads: only they call.
    let run = client_run(&case, "assert:3");
    let closed = Case::new(&format!("{DOWN}thread T {{ down(1); }}\n"));
    let violates = closed.property("assert:3");
    let moved = ClientRun { trace: Trace { violates, ..run.trace.clone() }, ..run.clone() };
    closed.not_refuted(moved.into(), "assert:3", "threads");
    // Callers that meet what is required do not break it.
    let careful = Case::new(&DOWN.replace("by >= 0", "by == 0"));
    careful.not_refuted(run.into(), "assert:3", "after");
    // That a caller meets it is no property of the file.
    let requires = case.program.properties.iter().find(|p| p.name.starts_with("requires"));
    assert!(requires.is_none(), "nothing is asked of callers that are not there: {requires:?}");
}

/// A register whose `read` is late: it gives what was written before it was called, or nothing.
pub(crate) const REGISTER: &str = "object Register {\n  spec {\n    var s: seq<int> := [];\n    \
    put(v: int) { s := s + [v]; }\n    empty() returns (e: bool) { e := s == []; }\n  }\n  \
    var n: int = 0;\n  op put(v: int) { n := n + 1; return; }\n  op empty() returns (e: bool) { var k: int; k := n; e := k == 1; assert k <= 1; return; }\n}\n";

/// One client puts, then both ask.
pub(crate) fn history(case: &Case, property: &str) -> History {
    let put = ClientCall { operation: 0, arguments: vec![Value::Int(7)] };
    let ask = ClientCall { operation: 1, arguments: Vec::new() };
    let clients = Clients(vec![vec![put.clone(), ask.clone()], vec![put]]);
    let object = ObjectId(0);
    let (program, explained) = program::clients::client_program(&case.program, object, &clients, Against::Orders)
        .expect("the object has clients");
    let property = case.property(property);
    let gate = matches!(case.program.properties[property].kind, program::PropertyKind::Assertion).then_some(property);
    let trace = shortest_run(&program, gate.unwrap_or(explained), 1);
    History { object, clients, against: Against::Orders, gate, trace }
}

#[test]
fn check_a_history_that_nothing_explains_is_accepted() {
    let case = Case::new(REGISTER);
    case.refuted(history(&case, "linearizable:Register").into(), "linearizable:Register");
    let gate = case.property_beginning("assert:");
    case.refuted(history(&case, &gate).into(), &gate);
}

#[test]
fn check_a_history_of_other_clients_or_with_an_explanation_is_rejected() {
    let case = Case::new(REGISTER);
    let rejected = |because: &str, change: &dyn Fn(&mut History)| {
        let mut h = history(&case, "linearizable:Register");
        change(&mut h);
        case.not_refuted(h.into(), "linearizable:Register", because);
    };
    rejected("not one of the clients", &|h| h.clients.0.clear());
    rejected("", &|h| {
        h.clients.0[0].remove(1);
    });
    rejected("", &|h| h.clients.0.swap(0, 1));
    rejected("there is no such operation", &|h| h.clients.0[0][0].operation = 9);
    rejected("parameters", &|h| h.clients.0[0][0].arguments.clear());
    rejected("another property", &|h| h.object = ObjectId(9));
    rejected("not one of the clients", &|h| h.gate = Some(case.property("linearizable:Register")));
    rejected("not one of the clients", &|h| h.trace.instances = InstanceCounts(vec![2, 1]));
    rejected("not one of the clients", &|h| h.trace.violates = case.property("linearizable:Register"));
    rejected("", &|h| h.against = Against::Marks);
    rejected("after", &|h| {
        h.trace.steps.pop();
    });
    // An object that does what its specification says: the same steps give another result, which an order explains.
    let right = Case::new(&REGISTER.replace("k == 1", "k == 0"));
    right.not_refuted(history(&case, "linearizable:Register").into(), "linearizable:Register", "after");
    // A gate inside an operation counts in files without threads alone.
    let gate = case.property_beginning("assert:");
    let closed = Case::new(&format!("{REGISTER}thread T {{ Register.put(1); }}\n"));
    let there = closed.property_beginning("assert:");
    let mut moved = history(&case, &gate);
    moved.gate = Some(closed.property(&there));
    moved.trace.violates = closed.property(&there);
    closed.not_refuted(moved.into(), &there, "another property");
}
