//! Figure 1 of Thread Quantification, by Boolean heaps under the domain constructor.

use super::corpus::load;
use crate::shape::boolean::{BooleanHeap, BooleanHeaps};
use crate::shape::quantified::{OnAlarm, fixpoint};
use base::Budget;
use program::{Program, ThreadId, What};
use std::collections::BTreeSet;

fn heaps(p: &Program) -> (Vec<BooleanHeap>, usize) {
    let domain = BooleanHeaps::new(p, ThreadId(0)).unwrap();
    let Ok(found) = fixpoint(&domain, &Budget::unlimited(), 10_000, OnAlarm::GoOn) else { panic!("limits") };
    for e in &found.entries {
        println!("{}", domain.show(&e.view));
    }
    (found.entries.iter().map(|e| e.view.clone()).collect(), found.alarms.len())
}

#[test]
fn check_figure_1_has_exactly_its_two_invariants() {
    let p = load("seeds/thread-quantification/figure1.tp");
    let (found, alarms) = heaps(&p);
    assert_eq!(alarms, 0, "both assertions hold");
    let domain = BooleanHeaps::new(&p, ThreadId(0)).unwrap();
    let code = &p.threads[ThreadId(0)].code;
    let var = |name: &str| p.vars.ids().find(|v| p.vars[*v].name == name).map(|v| p.now(v)).unwrap();
    let (x, y, g, t) = (var("x"), var("y"), var("g"), &p.terms);
    let null = t.null(logic::ClassId(0));
    // The places of the two assertions.
    let at: Vec<_> = code.actions.iter().filter(|a| a.what == What::Assert).map(|a| a.from).collect();
    let holds = |at, formula| {
        let here: Vec<_> = found.iter().filter(|h: &&BooleanHeap| h.at == at).collect();
        assert!(!here.is_empty());
        here.iter().all(|h| domain.holds(&h.words, formula) == Some(true))
    };
    assert!(holds(at[0], t.eq(x, y)), "x == y where it is asserted");
    assert!(holds(at[1], t.ne(g, null)), "g is not null where it is asserted");
    assert!(!holds(at[0], t.ne(g, null)), "before the assignment g may be null");
    assert!(!holds(at[1], t.eq(g, x)), "another thread may have set g");
    // Table 2: at 4 the thread's object is not null, and g is it or another object that is not null.
    let words: BTreeSet<_> = found.iter().filter(|h| h.at == at[1]).map(|h| h.words.clone()).collect();
    assert_eq!(words.len(), 2, "g refers to the thread's own object, or to another one");
}

#[test]
fn check_the_stronger_assertion_of_figure_1_raises_an_alarm() {
    let (_, alarms) = heaps(&load("seeds/thread-quantification/figure1_too_strong.tp"));
    assert!(alarms > 0);
}
