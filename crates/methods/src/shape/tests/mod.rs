//! Tests of the shape method on programs built by hand.

mod broken;
mod build;
mod corpus;
mod differential;
mod figure;
mod free;
mod ids;
mod objects;

use super::build::{Question, build as build_model};
use super::domain::Domain;
use super::eval::Alarm;
use super::quantified::{OnAlarm, fixpoint};
use base::Budget;
use objects::{Variant, doherty, michael_scott, treiber, two_lock};
use program::{ObjectId, Program};

fn analyse(p: &Program) -> (usize, Vec<Alarm>) {
    let question = Question { object: Some(ObjectId(0)), points: vec![], ..Question::default() };
    let model = build_model(p, &question).unwrap();
    let domain = Domain { model: &model };
    let start = std::time::Instant::now();
    let Ok(result) = fixpoint(&domain, &Budget::unlimited(), 100_000, OnAlarm::Stop) else { panic!("limits") };
    println!(
        "{}: {} views, {:?}, alarms {:?}, {:?}",
        p.name,
        result.entries.len(),
        result.figures,
        result.alarms.iter().map(|a| &a.0).collect::<Vec<_>>(),
        start.elapsed()
    );
    (result.entries.len(), result.alarms.into_iter().map(|a| a.0).collect())
}

#[test]
fn check_treiber_has_no_alarm() {
    let (views, alarms) = analyse(&treiber(Variant::Right));
    assert!(alarms.is_empty(), "{alarms:?}");
    assert!(views > 5);
}

#[test]
fn check_two_lock_queue_has_no_alarm() {
    assert!(analyse(&two_lock(Variant::Right)).1.is_empty());
}

#[test]
fn check_doherty_queue_has_no_alarm() {
    assert!(analyse(&doherty(Variant::Right)).1.is_empty());
}

#[test]
fn check_michael_scott_queue_has_no_alarm() {
    assert!(analyse(&michael_scott(Variant::Right)).1.is_empty());
}

#[test]
fn check_broken_variants_raise_alarms() {
    for (name, p) in [
        ("push store", treiber(Variant::PushStore)),
        ("pop store", treiber(Variant::PopStore)),
        ("stack as queue", treiber(Variant::WrongOrder)),
        ("no head lock", two_lock(Variant::NoHeadLock)),
        ("no tail lock", two_lock(Variant::NoTailLock)),
        ("link store", doherty(Variant::LinkStore)),
        ("head store", doherty(Variant::HeadStore)),
        ("ms link store", michael_scott(Variant::LinkStore)),
        ("ms head store", michael_scott(Variant::HeadStore)),
        ("ms tail store", michael_scott(Variant::TailStore)),
    ] {
        assert!(!analyse(&p).1.is_empty(), "{name}");
    }
}
