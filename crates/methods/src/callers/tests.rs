//! From source text to checked verdicts, for programs without threads; and certificates that must be refused.

use super::Callers;
use crate::method::{Method, MethodOptions, Run, Task};
use crate::{count, rely};
use base::{Budget, Sources};
use checker::{CheckLimits, Checker, Outcome};
use evidence::{Certificate, Claim, Claims, Counterexample, Proof};
use frontend::lang::{LoweringSettings, lower_file, parse_file};
use program::callers::{LinearizationPoint, PointEffect, callers};
use program::client::Effort;
use program::semantics::{InstanceCounts, reachable_states};
use program::{ActionId, Program, PropertyId, PropertyKind};
use std::sync::Arc;
use std::time::Duration;
use testkit::oracle::Again;

fn lowered(name: &str, text: &[u8]) -> Program {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, name, text);
    let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
    lowered.program.unwrap_or_else(|| panic!("{name}: {:?}", lowered.diagnostics))
}

fn corpus(file: &str) -> Program {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file);
    lowered(file, &std::fs::read(path).unwrap())
}

fn run(p: &Program) -> Claims {
    let method = Callers { provers: vec![Arc::new(rely::RelyMethod), Arc::new(count::Count)] };
    let properties: Vec<PropertyId> = p.properties.ids().collect();
    let task = Task { program: p.clone(), properties, threads: Default::default(), options: MethodOptions::default() };
    method.admits(&task).expect("the program is one for callers");
    method.run(&task, &Run::quiet(Budget::unlimited().with_time(Duration::from_secs(120))))
}

fn judged(p: &Program, property: PropertyId, claim: &Claim) -> Outcome {
    Checker::new(p, &mut Again, CheckLimits::default()).check(property, "callers", claim).outcome()
}

fn outcome(p: &Program, claims: &Claims, name: &str) -> Outcome {
    let (id, _) = p.properties.iter_enumerated().find(|(_, q)| q.name.starts_with(name)).unwrap();
    judged(p, id, &claims.claims[&id])
}

#[test]
fn check_objects_without_a_heap_are_linearizable_for_any_callers() {
    for file in ["lockfree/counter_object.tp", "lockfree/register_object.tp"] {
        let p = corpus(file);
        assert_eq!(outcome(&p, &run(&p), "linearizable"), Outcome::Safe, "{file}");
    }
}

#[test]
fn check_objects_that_are_not_linearizable_show_a_history() {
    for file in ["lockfree/counter_object_split.tp", "lockfree/register_object_torn.tp"] {
        let p = corpus(file);
        assert_eq!(outcome(&p, &run(&p), "linearizable"), Outcome::Unsafe, "{file}");
    }
}

#[test]
fn check_procedures_are_checked_for_any_callers() {
    let p = corpus("locks/procedures_only.tp");
    let claims = run(&p);
    for name in ["invariant", "assert", "release"] {
        assert_eq!(outcome(&p, &claims, name), Outcome::Safe, "{name}");
    }
    let access = p.properties.iter_enumerated().find(|(_, q)| matches!(q.kind, PropertyKind::Access(_))).unwrap().0;
    assert!(!matches!(claims.claims.get(&access), Some(Claim::Proved(_))), "a caller may hold the lock itself");
    let p = corpus("locks/procedures_only_race.tp");
    assert_eq!(outcome(&p, &run(&p), "invariant"), Outcome::Unsafe);
}

/// The certificate found for the counter.
fn certificate(p: &Program) -> (PropertyId, Certificate) {
    let (id, _) =
        p.properties.iter_enumerated().find(|(_, q)| matches!(q.kind, PropertyKind::Linearizable(_))).unwrap();
    match &run(p).claims[&id] {
        Claim::Proved(c) => (id, (**c).clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn check_a_proof_of_other_moments_or_of_nothing_is_refused() {
    let p = corpus("lockfree/counter_object.tp");
    let (id, good) = certificate(&p);
    assert_eq!(judged(&p, id, &Claim::Proved(Arc::new(good.clone()))), Outcome::Safe);
    let Proof::Callers(inner) = &good.proof else { panic!("the form is callers") };
    let with = |change: &dyn Fn(&mut evidence::CallersProof)| {
        let mut proof = inner.clone();
        change(&mut proof);
        judged(&p, id, &Claim::Proved(Arc::new(Certificate { proof: Proof::Callers(proof), ..good.clone() })))
    };
    assert_eq!(with(&|c| c.linearization_points.clear()), Outcome::Unknown, "an operation that never takes effect");
    assert_eq!(with(&|c| c.object = None), Outcome::Unknown, "the code alone says nothing about histories");
    let nowhere = LinearizationPoint { operation: 9, action: ActionId(0), effect: PointEffect::Reads };
    assert_eq!(with(&|c| c.linearization_points.push(nowhere)), Outcome::Unknown, "an operation that does not exist");
    assert_eq!(with(&|c| c.proof.properties.clear()), Outcome::Unknown, "the proof inside claims nothing");
    // The same certificate for the broken counter.
    let split = corpus("lockfree/counter_object_split.tp");
    let other = split.properties.ids().next().unwrap();
    assert_eq!(judged(&split, other, &Claim::Proved(Arc::new(good.clone()))), Outcome::Unknown);
}

#[test]
fn check_a_run_of_callers_is_replayed() {
    let p = corpus("locks/procedures_only_race.tp");
    let claims = run(&p);
    let (id, called) = claims
        .claims
        .iter()
        .find_map(
            |(id, c)| if let Claim::Refuted(Counterexample::ClientRun(c)) = c { Some((*id, c.clone())) } else { None },
        )
        .unwrap();
    assert_eq!(judged(&p, id, &Claim::Refuted(called.clone().into())), Outcome::Unsafe);
    let mut shorter = called.clone();
    shorter.trace.steps.pop();
    assert_eq!(judged(&p, id, &Claim::Refuted(shorter.into())), Outcome::Unknown);
    let mut fewer = called;
    fewer.effort = Effort::Bounded { clients: 1, calls: 2, values: 3 };
    assert_eq!(judged(&p, id, &Claim::Refuted(fewer.into())), Outcome::Unknown);
}

#[test]
fn check_the_specification_beside_agrees_with_the_reference_semantics() {
    let text = |body: &str| {
        format!(
            "object C {{ spec {{ var n: int := 0; inc() returns (v: int) {{ v := n; n := n + 1; }} }}\n\
             var k: int = 0;\n op inc() returns (v: int) {{ {body} }} }}"
        )
    };
    let effort = Effort::Bounded { clients: 2, calls: 1, values: 2 };
    let wrong = |body: &str, linearization_points: &[LinearizationPoint]| {
        let p = lowered("c.tp", text(body).as_bytes());
        let c = callers(&p, Some(program::ObjectId(0)), linearization_points, effort).unwrap();
        assert_eq!(program::wellformed(&c.program), vec![]);
        let found = reachable_states(&c.program, &InstanceCounts::of(&c.program, 0), &Default::default());
        found.violations.contains_key(&c.history.unwrap())
    };
    assert!(!wrong("v, k := k, k + 1; linearize; return;", &[]));
    assert!(!wrong(
        "v, k := k, k + 1; return;",
        &[LinearizationPoint { operation: 0, action: ActionId(0), effect: PointEffect::Writes }]
    ));
    assert!(wrong("v, k := k, k + 1; return;", &[]), "it never takes effect");
    assert!(wrong(
        "v := k; k := v + 1; return;",
        &[LinearizationPoint { operation: 0, action: ActionId(1), effect: PointEffect::Writes }]
    ));
    assert!(wrong(
        "v, k := k + 1, k + 1; return;",
        &[LinearizationPoint { operation: 0, action: ActionId(0), effect: PointEffect::Writes }]
    ));
}

/// An argument is null, or live, or new: who takes it for new proves that it is not null and that two of them differ.
#[test]
fn check_an_argument_of_a_class_is_not_taken_for_a_new_object() {
    let class = "class Cell { v: int; }\n";
    let null = format!("{class}proc p(x: Cell) {{ x.v := 1; }}\n");
    let same = "proc p(x: Cell, y: Cell) requires x != null && y != null; { x.v := 1; y.v := 2; assert x.v == 1; }\n";
    for (text, name) in [(null, "null"), (format!("{class}{same}"), "assert")] {
        let p = lowered("argument.tp", text.as_bytes());
        let provers: Vec<Arc<dyn Method>> = vec![Arc::new(crate::shape::Shape), Arc::new(rely::RelyMethod)];
        let properties = p.properties.ids().collect();
        let task =
            Task { program: p.clone(), properties, threads: Default::default(), options: MethodOptions::default() };
        let claims = Callers { provers }.run(&task, &Run::quiet(Budget::unlimited().share(Duration::from_secs(20))));
        assert_eq!(outcome(&p, &claims, name), Outcome::Unsafe, "{text}");
    }
}
