//! `free`: objects that come back to one thread before they are freed, for any number of threads.

use super::corpus::{certificate, certificate_of, load, load_text, verify};
use base::Budget;
use checker::Outcome;
use evidence::views::{CellOwner, Take, Views};
use program::{ActionId, Program, PropertyId};

const SAFE: [&str; 7] = [
    "free_once",
    "free_unlinked",
    "locked_stack_free",
    "handover",
    "stack_object_free",
    "queue_object_free",
    "queue_object_no_dummy_free",
];

#[test]
fn check_objects_that_one_thread_took_out_are_freed_safely_by_any_number_of_threads() {
    for file in SAFE {
        let a = verify(&load(&format!("heap/{file}.tp")));
        let safe = !a.outcomes.is_empty() && a.outcomes.values().all(|(o, _)| *o == Outcome::Safe);
        assert!(safe, "{file}: {:?}", a.outcomes);
    }
}

#[test]
fn check_nothing_is_proved_where_an_object_is_freed_that_others_use() {
    let files = [
        "heap/free_twice",
        "heap/free_while_used",
        "heap/free_before_unlink",
        "heap/locked_stack_read_after_free",
        "heap/mailbox_one_by_one",
        "heap/handover_two_steps",
        "lockfree/treiber_free",
    ];
    for file in files {
        let p = load(&format!("{file}.tp"));
        let a = certificate(&p).map_or_else(Vec::new, |(_, claimed)| claimed);
        let freed = a.iter().find(|id| p.properties[**id].name.starts_with("freed"));
        assert_eq!(freed.map(|id| &p.properties[*id].name), None, "{file}");
    }
}

fn check(p: &Program, views: &Views, claimed: &[PropertyId]) -> bool {
    checker::shape::check_shape(p, views, claimed, &Budget::unlimited()).is_ok()
}

#[test]
fn check_a_cell_is_taken_only_where_nobody_else_refers_to_it() {
    let p = load("heap/locked_stack_free.tp");
    let (views, claimed) = certificate(&p).unwrap();
    assert!(check(&p, &views, &claimed));
    let count = p.threads.iter().next().unwrap().code.actions.len() as u32;
    for action in (0..count).map(ActionId).filter(|a| views.takes.iter().all(|t| t.action != *a)) {
        let mut other = views.clone();
        other.takes = vec![Take { action, ..views.takes[0] }];
        assert!(!check(&p, &other, &claimed), "taken at {action:?}");
    }
    let mut none = views.clone();
    none.takes.clear();
    assert!(!check(&p, &none, &claimed), "what is freed is taken before");
}

#[test]
fn check_that_nobody_else_refers_to_a_cell_must_be_true() {
    let p = load("heap/locked_stack_free.tp");
    let (views, claimed) = certificate(&p).unwrap();
    let mut forged = 0;
    for i in 0..views.views.len() {
        for c in 0..views.views[i].cells.len() {
            if views.views[i].cells[c].owner == CellOwner::Published && !views.views[i].cells[c].unshared {
                let mut more = views.clone();
                more.views[i].cells[c].unshared = true;
                assert!(!check(&p, &more, &claimed), "view {i} cell {c}");
                forged += 1;
            }
        }
    }
    assert!(forged > 3, "{forged}");
}

#[test]
fn check_every_small_state_is_in_the_views_of_programs_that_free() {
    let bounds = checker::shape::CoverageLimits { cells: 3, states: 4_000 };
    for file in SAFE {
        let p = load(&format!("heap/{file}.tp"));
        let (views, claimed) = certificate(&p).unwrap();
        let seen = checker::shape::coverage(&p, &views, &claimed, bounds).unwrap_or_else(|why| panic!("{file}: {why}"));
        assert!(seen.compared > 5, "{file}: {seen:?}");
    }
}

#[test]
fn check_an_address_that_is_given_out_again_may_be_any_old_reference() {
    // After `free x` a new object may be where x was: the assertion fails, and so does the use of x.
    let text = "class Node { next: Node; }
thread T[*] { var x: Node; var y: Node; x := new Node; free x; y := new Node; assert x != y; }
thread U[*] { var x: Node; x := new Node; free x; x.next := null; }
thread V[*] { var x: Node; x := new Node; free x; free x; }
";
    let a = verify(&load_text("again.tp", text.as_bytes()));
    for name in ["assert:2", "freed:3", "freed:4:"] {
        let found: Vec<_> = a.outcomes.iter().filter(|(n, _)| n.starts_with(name)).collect();
        assert!(found.iter().any(|(_, (o, _))| *o != Outcome::Safe), "{name}: {:?}", a.outcomes);
    }
}

#[test]
fn check_two_failing_checks_of_one_step_are_both_alarms() {
    // Whether the first assertion holds is not known; where it does, the second fails.
    let text = "class Node { val: int; }
var g: Node;
init g != null;
thread T[*] { var x: Node; x := g; atomic { assert x == null || x.val == 0; assert x == null || x != g; } }
";
    let p = load_text("both.tp", text.as_bytes());
    let claimed = certificate(&p).map_or_else(Vec::new, |(_, claimed)| claimed);
    let assertion = |id: &&PropertyId| p.properties[**id].name.starts_with("assert");
    assert_eq!(claimed.iter().filter(assertion).count(), 0);
}

#[test]
fn check_an_own_object_that_only_own_objects_lead_to_keeps_its_name_or_is_published() {
    let text = "class Node { next: Node; val: int; }
var g: Node = null;
thread Two[*] { var x: Node; var y: Node; y := new Node; y.next := null; x := new Node; x.next := y; assert x.next != null; g := x; }
thread Many[*] { var x: Node; var y: Node; y := null; while * { x := new Node; x.next := y; y := x; } assert x == null || x == y || y == null || true; g := y; }
";
    let a = verify(&load_text("own.tp", text.as_bytes()));
    let lost: Vec<_> = a.outcomes.iter().filter(|(_, (o, _))| *o != Outcome::Safe).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// Asks that nothing leaks.
pub(crate) fn ask(p: &mut Program) -> PropertyId {
    let origin = p.add_origin(None, "nothing is lost");
    p.properties.push(program::Property { kind: program::PropertyKind::Leak, name: "leak".into(), origin })
}

#[test]
fn check_what_the_corpus_says_of_leaks_is_proved_or_not() {
    let all = testkit::corpus::read(&testkit::corpus::root().join("heap"), &["tp"]).unwrap();
    let said: Vec<_> = all.iter().filter(|e| e.leaks.is_some()).collect();
    assert!(said.len() > 10, "{}", said.len());
    for e in said {
        let mut p = load(&format!("heap/{}", e.name));
        if p.threads.is_empty() {
            p = program::callers::callers(&p, None, &[], program::client::Effort::Any).unwrap().program;
        }
        let leak = ask(&mut p);
        let found = certificate_of(&p, vec![leak], 60).filter(|(_, claimed)| claimed.contains(&leak));
        assert_eq!(found.is_some(), e.leaks == Some(false), "{}", e.name);
        if let Some((views, claimed)) = found {
            assert!(check(&p, &views, &claimed), "{}", e.name);
        }
    }
}

#[test]
fn check_a_proof_that_nothing_leaks_must_be_about_this_program() {
    // The certificate of a program that keeps its objects says nothing of one that does not, though the views are closed.
    let lossy = |file: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(testkit::corpus::root().join(format!("heap/{file}.tp"))).unwrap();
        assert!(text.contains(from), "{file}");
        let mut p = load_text("lossy.tp", text.replace(from, to).as_bytes());
        let plain = certificate(&p);
        let leak = ask(&mut p);
        let Some((mut views, mut claimed)) = plain else { panic!("{file}: nothing is proved at all") };
        assert!(check(&p, &views, &claimed), "{file}");
        claimed.push(leak);
        views.roots = p.shared().filter(|v| matches!(p.terms.kind(p.vars[*v].sort), logic::SortKind::Ref(_))).collect();
        assert!(!check(&p, &views, &claimed), "{file}: {from}");
        views.roots.clear();
        assert!(!check(&p, &views, &claimed), "{file}: {from}, without roots");
    };
    lossy("locked_stack_free", "free x;", "if * { free x; }");
    lossy("leak_replaced_slot", "free old;", "skip;");
    lossy("leak_failed_cas_freed", "free c;", "c := null;");
    lossy("leak_drained_list", "free x;", "if * {\n      free x;\n    }");
    lossy("leak_drained_list", "x.next := top;", "x.next := null;");
    lossy("handover", "while !done {\n    done := cas(slot, null, x);\n  }", "done := cas(slot, null, x);");
}

#[test]
fn check_no_reference_is_left_out_of_a_proof_that_nothing_leaks() {
    // A view that does not know what a variable refers to covers the same states and could not tell that it is lost.
    let mut p = load("heap/locked_stack_free.tp");
    let leak = ask(&mut p);
    let (views, claimed) = certificate(&p).unwrap();
    assert!(claimed.contains(&leak) && check(&p, &views, &claimed));
    let mut forged = 0;
    for i in 0..views.views.len() {
        let refers = |(v, _): &(program::VarId, _)| matches!(p.terms.kind(p.vars[*v].sort), logic::SortKind::Ref(_));
        let Some(at) =
            views.views[i].vars.iter().position(|x| refers(x) && matches!(x.1, evidence::views::Val::Cell(_)))
        else {
            continue;
        };
        let mut less = views.clone();
        let gone = less.views[i].vars.remove(at);
        if !less.views[i].vars.iter().any(|x| x.1 == gone.1) {
            continue;
        }
        assert!(!check(&p, &less, &claimed), "view {i}: {:?}", gone.0);
        forged += 1;
    }
    assert!(forged > 0, "{forged}");
    let mut rootless = views.clone();
    rootless.roots.clear();
    assert!(!check(&p, &rootless, &claimed));
}
