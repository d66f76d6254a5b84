//! Rule `search`: what is accepted, and for each premise and side condition one certificate that lacks it.

use crate::case::{Case, program};
use checker::Trust;
use evidence::{ExhaustiveSearch, Proof};
use program::{Property, PropertyKind};

const COUNTER: &str = "var x: int = 0;\nvar m: lock;\ninvariant x <= 2;\nrely x' >= x;\n\
    thread A[2] { acquire m; x := x + 1; release m; assert x >= 1; }\n\
    thread B { assume x >= 2; assert x == 2; }\n";

fn search(instances: &[u32], states: u64) -> Proof {
    Proof::Search(ExhaustiveSearch { instances: instances.to_vec(), states })
}

/// The program with one more property that a search looks at its states for.
fn with(text: &str, name: &str, kind: PropertyKind) -> Case {
    let mut p = program(text);
    let origin = p.add_origin(None, name);
    p.properties.push(Property { kind, name: name.into(), origin });
    Case::of(p)
}

#[test]
fn check_a_search_with_all_premises_is_accepted_and_made_again() {
    let case = with(COUNTER, "deadlock", PropertyKind::Deadlock);
    for property in ["invariant:3", "rely:4", "release:5", "assert:5", "assert:6", "deadlock"] {
        let trust = case.checked(search(&[2, 1], 30), property);
        assert!(matches!(trust, Ok(Trust::Searched { states }) if states > 10), "{property}: {trust:?}");
    }
    // How many states the method counted is not what the verdict rests on.
    let trust = case.checked(search(&[2, 1], 0), "assert:6");
    assert!(matches!(trust, Ok(Trust::Searched { states }) if states > 10), "{trust:?}");
}

#[test]
fn check_a_search_of_other_instances_is_rejected() {
    let case = Case::new(COUNTER);
    for instances in [&[1, 1][..], &[2, 0], &[3, 1], &[2], &[2, 1, 1], &[]] {
        case.rejected(search(instances, 30), "assert:5", "SE1");
    }
    let any = Case::new(&COUNTER.replace("A[2]", "A[*]"));
    any.rejected(search(&[2, 1], 30), "assert:5", "fixed number of threads");
}

#[test]
fn check_a_search_that_overlooked_a_violation_is_rejected() {
    let broken = |from: &str, to: &str, property: &str| {
        let changed = COUNTER.replace(from, to);
        assert_ne!(changed, COUNTER, "{from} stands in the program");
        Case::new(&changed).rejected(search(&[2, 1], 30), property, "SE2");
    };
    broken("x <= 2", "x <= 1", "invariant:3");
    broken("x' >= x", "x' == x", "rely:4");
    broken("release m;", "release m;\nrelease m;", "release:6");
    broken("assert x >= 1", "assert x == 1", "assert:5");
    broken("assert x == 2", "assert x == 3", "assert:6");
    // A second thread waits for ever for the lock that the first one keeps.
    let stuck = with(&COUNTER.replace("release m; ", ""), "deadlock", PropertyKind::Deadlock);
    stuck.rejected(search(&[2, 1], 30), "deadlock", "SE2");
    let lost = "class N { v: int; }\nvar g: N = null;\nthread A { g := new N; g := null; }\nthread B { var n: N; n := new N; free n; }\n";
    let leak = with(lost, "leak", PropertyKind::Leak);
    leak.rejected(search(&[1, 1], 9), "leak", "SE2");
}

#[test]
fn check_a_search_claims_nothing_that_no_run_of_threads_can_violate() {
    let performs = "var m: lock;\nvar c: int = 0 guarded_by m;\n\
        proc inc() performs Inc: <c> m == 0 && c' == c + 1; { acquire m; c := c + 1; release m; }\n";
    let open = Case::new(performs);
    open.rejected(search(&[], 1), "performs:inc", "");
    let beside = Case::new(&format!("{performs}thread T {{ inc(); }}\n"));
    assert!(beside.checked(search(&[1], 9), "performs:inc").is_err(), "a search of threads shows no specification");
    let follows = Case::new(crate::simulation::ONCE);
    assert!(follows.checked(search(&[1], 9), "follows:T").is_err(), "a search of threads shows no machine");
}

#[test]
fn check_a_search_too_large_to_be_made_again_says_so() {
    let case = Case::new(COUNTER);
    let trust = case.checked(search(&[2, 1], 1_000_001), "assert:5");
    assert_eq!(trust, Ok(Trust::SearchedOnce { states: 1_000_001 }), "and `audit` accepts no such trust");
}
