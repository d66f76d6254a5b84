//! Calls by specification in threads that follow a machine: the rule's accepted and rejected proofs, and random programs whose
//! proofs are compared with the reference semantics.

use super::reduction::{Writer, program};
use base::Random;
use base::differential::{limited_work, programs_to_try, report_agreement, seeds};
use checker::{CheckLimits, Checker, Outcome};
use evidence::file::EvidenceEntry;
use evidence::{CallReading, Certificate, Claim, Counterexample, PerformedProof, Proof};
use methods::Conform;
use methods::Explore;
use methods::Reduce;
use methods::{Method, MethodOptions, Run, Task};
use program::semantics::{self, InstanceCounts};
use program::{Program, PropertyId, PropertyKind};
use std::collections::BTreeMap;
use std::sync::Arc;
use testkit::oracle::Again;

fn claims(p: &Program) -> BTreeMap<PropertyId, Claim> {
    let task = Task {
        program: p.clone(),
        properties: p.properties.ids().collect(),
        threads: Default::default(),
        options: MethodOptions::default(),
    };
    let conform = Conform { composition: vec![Arc::new(Explore)], calls: Some(Arc::new(Reduce)), facts: Vec::new() };
    let budget = limited_work(std::time::Duration::from_secs(20));
    conform.run(&task, &Run::quiet(budget)).claims
}

fn outcome(p: &Program, property: PropertyId, claim: &Claim) -> Outcome {
    let mut leaves = Again;
    Checker::new(p, &mut leaves, CheckLimits::default()).check(property, "conform", claim).outcome()
}

fn named(p: &Program, name: &str) -> PropertyId {
    let found = p.properties.iter_enumerated().find(|(_, q)| q.name.starts_with(name));
    found.unwrap_or_else(|| panic!("no property {name}")).0
}

const COUNTER: &str = "var m: lock;\nvar count: int = 0 guarded_by m;\nvar other: int = 0;\ninvariant m == 0 || m != 0;\n\
    proc increment()\n  performs Inc: <count> m == 0 && count' == count + 1;\n\
    { acquire m; var j: int := count; count := j + 1; release m; }\n\
    machine Counts { start Before; state After asserts count > 0; Before -> After : <count> count' == count + 1; }\n\
    thread T[2] follows Counts { increment(); }\n\
    thread U { acquire m; assert count >= 0; release m; assert other == 0; }\n";

/// The proof of the last assertion, with what stands inside.
fn proof(p: &Program) -> (PropertyId, Certificate, PerformedProof) {
    let last = p.properties.iter_enumerated().rfind(|(_, q)| q.kind == PropertyKind::Assertion);
    let (property, _) = last.expect("there is an assertion");
    let Claim::Proved(c) = claims(p).remove(&property).expect("it is claimed") else { panic!("not proved") };
    let c = Certificate::clone(&c);
    let Proof::Performed(inner) = c.proof.clone() else { panic!("calls are by specification: {}", c.proof.form()) };
    (property, c, inner)
}

#[test]
fn check_a_thread_follows_its_machine_by_what_its_callees_perform() {
    let p = program(COUNTER);
    let found = claims(&p);
    let follows = named(&p, "follows");
    assert_eq!(outcome(&p, follows, &found[&follows]), Outcome::Safe);
    let (property, c, _) = proof(&p);
    assert_eq!(outcome(&p, property, &Claim::Proved(Arc::new(c.clone()))), Outcome::Safe);
    // Also from its file.
    let text = evidence::file::write_evidence(&p, &[EvidenceEntry::Certificate(c)]);
    let read = evidence::file::read_evidence(&p, text.as_bytes()).expect("it reads");
    assert_eq!(text, evidence::file::write_evidence(&p, &read));
    let [EvidenceEntry::Certificate(again)] = &read[..] else { panic!("one certificate") };
    assert_eq!(outcome(&p, property, &Claim::Proved(Arc::new(again.clone()))), Outcome::Safe);
}

#[test]
fn check_each_premise_of_calls_by_specification_is_needed() {
    let p = program(COUNTER);
    let (property, c, inner) = proof(&p);
    let judged = |properties: Vec<PropertyId>, changed: PerformedProof| {
        let about = properties[0];
        let c = Certificate { properties, proof: Proof::Performed(changed), ..c.clone() };
        outcome(&p, about, &Claim::Proved(Arc::new(c)))
    };
    assert_eq!(judged(vec![property], inner.clone()), Outcome::Safe);
    let rejected = |what: &str, properties: Vec<PropertyId>, change: &dyn Fn(&mut PerformedProof)| {
        let mut forged = inner.clone();
        change(&mut forged);
        assert_eq!(judged(properties, forged), Outcome::Unknown, "accepted although {what}");
    };
    let without = |name: &'static str| {
        let q = named(&p, name);
        move |x: &mut PerformedProof| x.calls.properties.retain(|r| *r != q)
    };
    rejected("no proof shows what the callee performs", vec![property], &without("performs:increment"));
    rejected("no proof shows the access predicates", vec![property], &without("access:count"));
    rejected("a check inside the callee is not shown", vec![property], &without("release"));
    rejected("the callee is not called by specification", vec![property], &|x| {
        let Proof::Reduction(r) = &mut x.calls.proof else { panic!("a reduction") };
        r.specified.clear();
    });
    rejected("the reduction has no unit", vec![property], &|x| {
        let Proof::Reduction(r) = &mut x.calls.proof else { panic!("a reduction") };
        r.units.clear();
    });
    rejected("no thread conforms", vec![property], &|x| {
        let Proof::Composed(inside) = &mut x.proof.proof else { panic!("a composition") };
        inside.simulations.clear();
    });
    rejected("what stands inside is about nothing", vec![property], &|x| x.proof.properties.clear());
    rejected("the calls are shown by no reduction", vec![property], &|x| x.calls = x.proof.clone());
    rejected("inside is neither a simulation nor a composition", vec![property], &|x| x.proof = x.calls.clone());
    let invariant = named(&p, "invariant");
    rejected("an invariant may fail inside a call", vec![invariant], &|x| x.proof.properties = vec![invariant]);
}

#[test]
fn check_what_goes_wrong_in_a_call_is_not_lost() {
    let unsafe_of = |text: &str, what: &str| {
        let p = program(text);
        let reached = semantics::reachable_states(&p, &InstanceCounts::of(&p, 0), &Default::default());
        assert!(!reached.violations.is_empty(), "{what}: the program goes wrong");
        let found = claims(&p);
        for q in reached.violations.keys() {
            let safe = found.get(q).is_some_and(|c| outcome(&p, *q, c) == Outcome::Safe);
            assert!(!safe, "{what}: {} is said to hold", p.properties[*q].name);
        }
    };
    let looks = "thread U { acquire m; assert count < 2; release m; }";
    let whole = COUNTER.find("thread U").expect("the last thread");
    unsafe_of(&format!("{}{looks}\n", &COUNTER[..whole]), "two increments");
    unsafe_of(&COUNTER.replace("count := j + 1;", "assert j == 0; count := j + 1;"), "a check inside the callee");
    unsafe_of(&COUNTER.replace("acquire m; assert count >= 0; release m;", "assert count >= 0;"), "an access");
    // A check that looks at what it may not touch: `requires` reads the counter without the lock.
    let hasty = COUNTER.replace("proc increment()\n", "proc increment()\n  requires count >= 0 && m == 0;\n");
    unsafe_of(&hasty, "a `requires` that others break");
}

#[test]
fn check_a_thread_that_follows_in_neither_way_is_refuted_by_two_runs() {
    let text = COUNTER.replace("{ increment(); }", "{ increment(); increment(); }");
    let p = program(&text);
    let follows = named(&p, "follows");
    let claim = claims(&p).remove(&follows).expect("it is claimed");
    let Claim::Refuted(Counterexample::LocalRun(local)) = &claim else { panic!("a run was expected: {claim:?}") };
    assert_eq!(local.reading, CallReading::Specified);
    assert_eq!(outcome(&p, follows, &claim), Outcome::Unsafe);
    let entry =
        EvidenceEntry::Counterexample { method: "conform".into(), property: follows, run: local.clone().into() };
    let text = evidence::file::write_evidence(&p, &[entry]);
    let read = evidence::file::read_evidence(&p, text.as_bytes()).expect("it reads");
    let [EvidenceEntry::Counterexample { run: Counterexample::LocalRun(again), .. }] = &read[..] else {
        panic!("one run")
    };
    assert_eq!(again, local);
    let mut one = local.clone();
    one.also = None;
    assert_eq!(outcome(&p, follows, &Claim::Refuted(one.into())), Outcome::Unknown, "the code might follow");
    let code = local.also.as_deref().expect("a run of the code").clone();
    assert_eq!(outcome(&p, follows, &Claim::Refuted(code.into())), Outcome::Unknown, "the specification might");
}

/// A thread that calls a random procedure and follows a machine with the steps of its specification, beside one that looks.
pub(crate) fn random(seed: u64) -> String {
    let mut w = Writer { dice: Random::new(311_000 + seed), predicates: ["", ""] };
    w.choose_predicates();
    let action = w.action("A").replace("&& r == !x", "").replace("&& r == x", "").replace("&& r == y", "");
    let action = action.replace("&& !r", "").replace("&& r", "");
    let body = w.body();
    let spec = if w.roll(3) == 0 { format!("({action})*") } else { action.clone() };
    let edge = action.trim_start_matches("A: ");
    let looks = w.pick(&["assert x == y;", "assert !x;", "assert x || !y;", "assert x ==> y;"]);
    let (before, after) =
        w.pick(&[("acquire m; acquire k;", "release k; release m;"), ("acquire m;", "release m;"), ("", "")]);
    let (to, last) = w.pick(&[("S", "S"), ("E", "E")]);
    format!(
        "var m: lock;\nvar k: lock;\nvar z: bool = false;\n\
         var x: bool = false accessible_if {};\nvar y: bool = false accessible_if {};\n\
         proc P() returns (r: bool)\n  performs {spec};\n\
         {{\nvar a: bool := false;\nvar b: bool := false;\nr := false;\n{body}return;\n}}\n\
         machine M {{ start S; state E; S -> {to} : {edge}; E -> {last} : {edge}; }}\n\
         thread T[2] follows M {{ var r: bool := false; r := P(); }}\n\
         thread U {{ {before} {looks} {after} }}\n",
        w.predicates[0], w.predicates[1]
    )
}

#[test]
fn check_what_calls_by_specification_prove_of_random_programs_holds() {
    let (mut follow, mut shown) = (0, 0);
    for seed in seeds(24) {
        let text = random(seed);
        let p = program(&text);
        let by_calls = |c: &Claim| matches!(c, Claim::Proved(c) if matches!(c.proof, Proof::Performed(_)));
        let found: Vec<(PropertyId, Claim)> = claims(&p).into_iter().filter(|(_, c)| by_calls(c)).collect();
        if found.is_empty() {
            continue;
        }
        let limits = semantics::ReachLimits { states: 60_000, ..Default::default() };
        let reached = semantics::reachable_states(&p, &InstanceCounts::of(&p, 0), &limits);
        for (q, claim) in found.into_iter().filter(|(q, c)| outcome(&p, *q, c) == Outcome::Safe) {
            match p.properties[q].kind {
                PropertyKind::Follows(_) => follow += 1,
                _ => shown += 1,
            }
            drop(claim);
            let name = &p.properties[q].name;
            assert!(!reached.violations.contains_key(&q), "program {seed}: {name} is violated\n{text}");
        }
    }
    let decided = format!("{follow} follow by what they call, {shown} checks shown so");
    report_agreement("conform with calls", programs_to_try(24), &decided);
    assert!(follow > 0 && shown > 0, "too little is proved to mean anything: {follow}, {shown}");
}
