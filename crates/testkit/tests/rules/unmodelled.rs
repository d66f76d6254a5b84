//! Rules `unmodelled` and `search`: what a construct outside the model takes away, and searches that are made again.

use crate::case::Case;
use checker::{CheckLimits, Checker, Outcome};
use evidence::{Claim, ExhaustiveSearch, Proof};
use program::{PropertyId, PropertyKind};
use std::sync::Arc;
use testkit::oracle::Again;

/// The second assertion stands for a construct outside the model.
fn with_construct(text: &str, line: &str) -> (Case, PropertyId) {
    let mut program = crate::case::program(text);
    let found = program.properties.iter_enumerated().find(|(_, p)| p.name == line).map(|(id, _)| id);
    let construct = found.expect("there is such a property");
    program.properties[construct].kind = PropertyKind::Unmodelled("a construct".into());
    (Case::of(program), construct)
}

fn outcomes(case: &Case, claims: &[(PropertyId, Claim)]) -> Vec<Outcome> {
    let mut oracle = Again;
    let mut checker = Checker::new(&case.program, &mut oracle, CheckLimits::default());
    let checked = claims.iter().map(|(p, c)| checker.check(*p, "by hand", c)).collect();
    checker.conclude(checked).iter().map(|v| v.outcome()).collect()
}

fn searched(case: &Case, properties: &[&str]) -> Claim {
    Claim::Proved(Arc::new(
        case.certificate(Proof::Search(ExhaustiveSearch { instances: vec![1], states: 5 }), properties),
    ))
}

#[test]
fn check_nothing_is_safe_while_a_construct_outside_the_model_may_be_reached() {
    let text = "var x: int = 0;\nthread T { assert x == 0;\n  if x == 1 {\n    assert x == 0; } }\n";
    let (case, construct) = with_construct(text, "assert:4");
    let own = case.property("assert:2");
    assert_eq!(outcomes(&case, &[(own, searched(&case, &["assert:2"]))]), [Outcome::Unknown]);
    // Both are shown: the construct is not reached.
    let both = searched(&case, &["assert:2", "assert:4"]);
    assert_eq!(outcomes(&case, &[(construct, both.clone()), (own, both)]), [Outcome::Safe, Outcome::Safe]);
}

#[test]
fn check_a_construct_that_is_reached_is_neither_safe_nor_unsafe() {
    let (case, construct) = with_construct("var x: int = 0;\nthread T { assert x == 1; }\n", "assert:2");
    let limits = program::semantics::ReachLimits::default();
    let instances = program::semantics::InstanceCounts::of(&case.program, 0);
    let found = program::semantics::reachable_states(&case.program, &instances, &limits);
    let trace = found.violations[&construct].clone();
    assert_eq!(outcomes(&case, &[(construct, Claim::Refuted(trace.into()))]), [Outcome::Unknown]);
    assert_eq!(outcomes(&case, &[(construct, searched(&case, &["assert:2"]))]), [Outcome::Unknown]);
}

#[test]
fn check_a_search_is_made_again() {
    let case = Case::new("var x: int = 0;\nthread T { x := 1; assert x == 1; }\n");
    let search = |instances: &[u32], states| Proof::Search(ExhaustiveSearch { instances: instances.into(), states });
    case.accepted(search(&[1], 3), "assert:2");
    case.rejected(search(&[2], 3), "assert:2", "SE1");
    case.rejected(search(&[], 3), "assert:2", "SE1");
    let wrong = Case::new("var x: int = 0;\nthread T { x := 1; assert x == 0; }\n");
    wrong.rejected(search(&[1], 3), "assert:2", "SE2");
    let any = Case::new("var x: int = 0;\nthread T[*] { x := 1; assert x == 1; }\n");
    any.rejected(search(&[2], 3), "assert:2", "fixed number of threads");
}
