//! The corpus programs: from source text to checked verdicts.

use crate::method::{Method, MethodOptions, Run, Task};
use crate::shape::Shape;
use crate::shape::model::Precision;
use base::{Budget, Sources};
use checker::{CheckLimits, Checker, OracleAnswer, Outcome, ValidityOracle};
use evidence::Claim;
use frontend::lang::{LoweringSettings, lower_file, parse_file};
use logic::{Term, Terms};
use program::{Program, PropertyId};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) fn corpus(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file)
}

pub(crate) fn load(file: &str) -> Program {
    let bytes = std::fs::read(corpus(file)).unwrap();
    load_text(file, &bytes)
}

pub(crate) fn load_text(name: &str, bytes: &[u8]) -> Program {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, name, bytes);
    let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
    match lowered.program {
        Some(p) => p,
        None => panic!("{name}: {:?}", lowered.diagnostics),
    }
}

/// No formula is ever asked for: the check of views uses no solver.
pub(crate) struct NoOracle;

impl ValidityOracle for NoOracle {
    fn name(&self) -> String {
        "no oracle".into()
    }
    fn independent(&self) -> bool {
        true
    }
    fn valid(&mut self, _: &Terms, _: Term) -> OracleAnswer {
        OracleAnswer::Unknown("there is no oracle".into())
    }
}

pub(crate) struct Answered {
    pub(crate) outcomes: BTreeMap<String, (Outcome, String)>,
}

pub(crate) fn verify(p: &Program) -> Answered {
    verify_by(&Shape, p)
}

pub(crate) fn verify_by(method: &dyn Method, p: &Program) -> Answered {
    let properties: Vec<PropertyId> = p.properties.ids().collect();
    let task = Task { program: p.clone(), properties, threads: BTreeMap::new(), options: MethodOptions::default() };
    if method.admits(&task).is_err() {
        return Answered { outcomes: BTreeMap::new() };
    }
    let run = Run::quiet(Budget::unlimited().with_time(std::time::Duration::from_secs(60)));
    let start = std::time::Instant::now();
    let claims = method.run(&task, &run);
    let found = start.elapsed();
    let mut oracle = NoOracle;
    let mut checker = Checker::new(p, &mut oracle, CheckLimits::default());
    let checked: Vec<_> = claims.claims.iter().map(|(id, c)| checker.check(*id, method.about().name, c)).collect();
    let verdicts = checker.conclude(checked);
    let text = |id: PropertyId, v: &checker::Verdict| match (&claims.claims[&id], v.evidence()) {
        (Claim::Undecided(r), _) => r.to_string(),
        (_, checker::Evidence::Reason(r)) => format!("CHECKER: {r}"),
        _ => v.trust().to_string(),
    };
    println!(
        "{}: {:?} {:?} found {found:?} checked {:?}",
        p.name,
        claims.statistics,
        claims.notes,
        start.elapsed() - found
    );
    let outcomes = verdicts
        .iter()
        .map(|v| (p.properties[v.property()].name.clone(), (v.outcome(), text(v.property(), v))))
        .collect();
    Answered { outcomes }
}

/// The certificate of an object's linearizability, if there is one.
pub(crate) fn certificate(p: &Program) -> Option<(evidence::views::Views, Vec<PropertyId>)> {
    certificate_within(p, 60)
}

/// The same in so many seconds.
pub(crate) fn certificate_within(p: &Program, seconds: u64) -> Option<(evidence::views::Views, Vec<PropertyId>)> {
    certificate_of(p, p.properties.ids().collect(), seconds)
}

/// The same, of these properties.
pub(crate) fn certificate_of(
    p: &Program,
    properties: Vec<PropertyId>,
    seconds: u64,
) -> Option<(evidence::views::Views, Vec<PropertyId>)> {
    let task = Task { program: p.clone(), properties, threads: BTreeMap::new(), options: MethodOptions::default() };
    let run = Run::quiet(Budget::unlimited().with_time(std::time::Duration::from_secs(seconds)));
    let claims = Shape.run(&task, &run);
    claims.claims.values().find_map(|c| match c {
        Claim::Proved(c) => match &c.proof {
            evidence::Proof::Views(v) => Some((v.clone(), c.properties.clone())),
            _ => None,
        },
        _ => None,
    })
}

fn outcome(file: &str) -> Outcome {
    let a = verify(&load(file));
    a.outcomes.iter().find(|(n, _)| n.starts_with("linearizable")).map(|(_, (o, _))| *o).unwrap()
}

#[test]
fn check_the_objects_of_the_paper_are_linearizable_for_any_number_of_threads() {
    for file in ["treiber", "treiber_unmarked", "two_lock_queue", "two_lock_queue_unmarked", "doherty_queue"] {
        let file = format!("seeds/thread-quantification/{file}.tp");
        assert_eq!(outcome(&file), Outcome::Safe, "{file}");
    }
}

#[test]
fn check_sets_with_lock_coupling_and_with_one_lock_are_linearizable_for_any_number_of_threads() {
    for file in ["hand_over_hand_set", "locked_list_set"] {
        let a = verify(&load(&format!("lockfree/{file}.tp")));
        assert!(!a.outcomes.is_empty() && a.outcomes.values().all(|(o, _)| *o == Outcome::Safe), "{:?}", a.outcomes);
    }
}

#[test]
fn check_programs_of_all_kinds_over_a_heap_are_proved() {
    for file in
        ["heap/one_producer_one_consumer", "heap/pipeline_two_slots", "heap/lock_in_node", "lockfree/treiber_peek"]
    {
        let a = verify(&load(&format!("{file}.tp")));
        assert!(
            !a.outcomes.is_empty() && a.outcomes.values().all(|(o, _)| *o == Outcome::Safe),
            "{file}: {:?}",
            a.outcomes
        );
    }
}

#[test]
fn check_broken_sets_raise_alarms() {
    // `THREADPROOF_DIFFERENTIAL=1`: not only with the likely points, but with all, and a set whose views are many.
    let all = base::differential::is_long_run();
    let files = ["hand_over_hand_set_one_lock", "optimistic_set_no_check", "lazy_set_no_mark_check"];
    for file in &files[..if all { 3 } else { 2 }] {
        let p = load(&format!("lockfree/{file}.tp"));
        let object = Some(program::ObjectId(0));
        let tries = crate::shape::analysis::tries(&p, object);
        let count = if all { tries.len() } else { 1 };
        for points in tries.into_iter().take(count) {
            let run = Run::quiet(Budget::unlimited());
            let analysis = crate::shape::analysis::attempt(&p, object, points, Precision::FewNames, &run).unwrap();
            assert!(!analysis.alarms.is_empty(), "{file}");
        }
    }
}

#[test]
#[ignore = "a minute of one core"]
fn check_the_optimistic_set_is_linearizable_for_any_number_of_threads() {
    let p = load("lockfree/optimistic_set.tp");
    let a = verify(&p);
    assert!(!a.outcomes.is_empty() && a.outcomes.values().all(|(o, _)| *o == Outcome::Safe), "{:?}", a.outcomes);
}

/// A set of one operation each: small enough for every forgery.
const CONTAINS: &str = "class Node { key: int; next: Node; m: lock; }
object Set {
  spec {
    var s: set<int> := {};
    add(k: int) returns (ok: bool) { ok := !(k in s); s := s + {k}; }
    contains(k: int) returns (ok: bool) { ok := k in s; }
  }
  var Head: Node;
  var m: lock;
  init Head != null && Head.next == null;
  op add(k: int) returns (ok: bool) {
    var p: Node;
    var c: Node;
    var x: Node;
    acquire m;
    p := Head;
    c := p.next;
    while c != null && c.key < k { p := c; c := p.next; }
    if c != null && c.key == k { ok := false; } else {
      x := new Node;
      x.key := k;
      x.next := c;
      p.next := x;
      ok := true;
    }
    release m;
    return;
  }
  op contains(k: int) returns (ok: bool) {
    var c: Node;
    acquire m;
    c := Head.next;
    while c != null && c.key < k { c := c.next; }
    ok := c != null && c.key == k;
    release m;
    return;
  }
}
";

#[test]
fn check_views_of_a_set_that_say_too_much_are_rejected() {
    let p = load_text("set.tp", CONTAINS.as_bytes());
    let (views, claimed) = certificate(&p).expect("the set is proved");
    let check = |v: &evidence::views::Views| checker::shape::check_shape(&p, v, &claimed, &Budget::unlimited());
    assert!(check(&views).is_ok());
    // A view that another one covers is not needed; nearly all are.
    let needed = (0..views.views.len()).filter(|i| {
        let mut less = views.clone();
        less.views.remove(*i);
        check(&less).is_err()
    });
    assert!(needed.count() * 4 > views.views.len() * 3);
    // Another list, another order, another place of the crossing: all are lies.
    let mut other = views.clone();
    other.spine.as_mut().unwrap().root = evidence::views::Spine::clone(&views.spine.unwrap()).key;
    assert!(check(&other).is_err());
    let mut other = views.clone();
    other.spine = None;
    assert!(check(&other).is_err());
    let mut other = views.clone();
    other.views.iter_mut().for_each(|v| v.member = v.member.map(|m| !m));
    assert!(check(&other).is_err());
    let mut other = views.clone();
    other.views.iter_mut().for_each(|v| v.crossing = v.crossing.map(|(a, _)| (a, a)));
    assert!(check(&other).is_err());
}

#[test]
fn check_taking_a_lock_is_nothing_to_others_only_where_no_view_tells() {
    let text = "class Node { m: lock; }
var g: Node;
init g != null && g.m == 0;
thread T[*] { acquire g.m; release g.m; }
";
    let p = load_text("lock.tp", text.as_bytes());
    let (views, claimed) = certificate(&p).expect("a lock that is held is released");
    let check = |v: &evidence::views::Views| checker::shape::check_shape(&p, v, &claimed, &Budget::unlimited());
    assert_eq!(check(&views).unwrap().pairs, 0);
    // A view that tells a free lock from one that another thread holds is left when another thread takes it.
    let lock = |c: &evidence::views::ViewCell| c.fields[0].contains(&evidence::views::Val::Other);
    let mut forged = 0;
    for i in (0..views.views.len()).filter(|i| views.views[*i].cells.iter().any(lock)) {
        for gone in [evidence::views::Val::Other, evidence::views::Val::Free] {
            let mut less = views.clone();
            less.views[i].cells.iter_mut().for_each(|c| c.fields[0].retain(|v| *v != gone));
            assert!(check(&less).is_err(), "view {i} without {gone:?}");
            forged += 1;
        }
    }
    assert!(forged > 1);
}

#[test]
fn check_every_small_state_of_a_set_is_in_the_views() {
    let p = load_text("set.tp", CONTAINS.as_bytes());
    let (views, claimed) = certificate(&p).expect("the set is proved");
    let bounds = checker::shape::CoverageLimits { cells: 4, states: 3_000 };
    let seen = checker::shape::coverage(&p, &views, &claimed, bounds).unwrap();
    assert!(seen.compared > 500, "{seen:?}");
}

#[test]
fn check_broken_objects_raise_alarms() {
    for file in [
        "treiber_push_store",
        "treiber_pop_store",
        "treiber_lifo_as_queue",
        "treiber_early_point",
        "two_lock_queue_no_head_lock",
        "two_lock_queue_no_tail_lock",
        "two_lock_queue_tail_first",
        "doherty_queue_head_store",
        "doherty_queue_link_store",
        "michael_scott_queue_head_store",
        "michael_scott_queue_link_store",
        "michael_scott_queue_tail_store",
    ] {
        let p = load(&format!("seeds/thread-quantification/{file}.tp"));
        let run = Run::quiet(Budget::unlimited().with_time(std::time::Duration::from_secs(60)));
        let (analysis, _) =
            crate::shape::analysis::search_fixpoint(&p, Some(program::ObjectId(0)), Precision::FewNames, &run).unwrap();
        assert!(!analysis.alarms.is_empty(), "{file}");
    }
}

#[test]
fn check_a_store_of_the_same_value_is_no_private_step() {
    // Nothing changes where Top is x already; but another push may come in between.
    let text = std::fs::read_to_string(corpus("seeds/thread-quantification/treiber_unmarked.tp")).unwrap();
    let cas = "      done := cas(Top, t, x);\n    }\n";
    assert!(text.contains(cas));
    let p = load_text("twice.tp", text.replace(cas, &format!("{cas}    Top := x;\n")).as_bytes());
    let run = Run::quiet(Budget::unlimited());
    let (analysis, _) =
        crate::shape::analysis::search_fixpoint(&p, Some(program::ObjectId(0)), Precision::FewNames, &run).unwrap();
    assert!(!analysis.alarms.is_empty());
}

#[test]
fn check_the_place_before_a_store_of_the_same_value_is_not_left_out() {
    let text = "class Node { next: Node; }
var g: Node = null;
thread T[*] { var x: Node; x := new Node; g := x; g := x; assert g != null; }
";
    let p = load_text("twice.tp", text.as_bytes());
    let (views, claimed) = certificate(&p).expect("g is never null again");
    let check = |v: &evidence::views::Views| checker::shape::check_shape(&p, v, &claimed, &Budget::unlimited());
    assert!(check(&views).is_ok());
    let places: std::collections::BTreeSet<String> = views.views.iter().map(|v| format!("{:?}", v.control)).collect();
    assert!(places.len() > 3, "{places:?}");
    for place in places {
        let mut less = views.clone();
        less.views.retain(|v| format!("{:?}", v.control) != place);
        assert!(check(&less).is_err(), "without the views at {place}");
    }
}

#[test]
fn check_arithmetic_looks_at_what_it_reads() {
    // The sum is unknown, but reading `o.v` is a step that others come before.
    let text = "class Snap { v: int; }
var cur: Snap;
init cur != null;
thread Writer[*] {
  while true { var o: Snap := cur; var s: Snap := new Snap; s.v := o.v + 1; cur := s; }
}
";
    let answer = verify(&load_text("snap.tp", text.as_bytes()));
    assert!(answer.outcomes.len() == 2 && answer.outcomes.values().all(|(o, _)| *o == Outcome::Safe));
}

#[test]
fn check_locks_in_objects_that_are_there_from_the_start_are_free_and_marks_may_be_anything() {
    let text = "class Node { next: Node; mark: bool; m: lock; }
var g: Node;
init g != null;
thread T[*] { acquire g.m; g.mark := true; assert g.mark; release g.m; }
thread U { assert !g.mark; }
thread V { assert g.m != 0 || g.m != tid; }
";
    let answer = verify(&load_text("start.tp", text.as_bytes()));
    let safe: Vec<_> = answer.outcomes.iter().filter(|(_, (o, _))| *o == Outcome::Safe).map(|(n, _)| n).collect();
    let named = |n: &str| safe.iter().any(|s| s.starts_with(n));
    assert!(
        named("assert:4") && named("release:4") && named("assert:6") && !named("assert:5"),
        "{:?}",
        answer.outcomes
    );
    let free = "class Node { m: lock; }\nvar g: Node;\ninit g != null;\nthread T { assert g.m == 0; }\n";
    assert!(verify(&load_text("free.tp", free.as_bytes())).outcomes.values().all(|(o, _)| *o == Outcome::Safe));
}

#[test]
fn check_fields_that_hold_one_value_when_an_object_is_published_stay_equal() {
    let text = |second: &str| {
        format!(
            "class Cell {{ v: int; w: int; }}
var p: Cell = null;
thread Writer[*] {{ var x: Cell; var k: int; havoc k; x := new Cell; x.v := k; x.w := {second}; p := x; }}
thread Reader[*] {{ var c: Cell; var x: int; c := p; if c != null {{ x := c.v; assert x == c.w; }} }}
"
        )
    };
    let outcome = |second: &str| verify(&load_text("cow.tp", text(second).as_bytes())).outcomes["assert:4"].clone();
    assert_eq!(outcome("k").0, Outcome::Safe, "{:?}", outcome("k"));
    assert_ne!(outcome("k + 1").0, Outcome::Safe);
}

#[test]
fn check_an_alarm_with_a_history_behind_it_is_refuted() {
    assert_eq!(outcome("seeds/thread-quantification/treiber_pop_store.tp"), Outcome::Unsafe);
}

#[test]
fn check_every_view_of_a_certificate_is_needed() {
    let p = load("seeds/thread-quantification/treiber.tp");
    let (views, claimed) = certificate(&p).unwrap();
    let check = |v: &evidence::views::Views| checker::shape::check_shape(&p, v, &claimed, &Budget::unlimited());
    assert!(check(&views).is_ok());
    for i in 0..views.views.len() {
        let mut less = views.clone();
        less.views.remove(i);
        assert!(check(&less).is_err(), "without view {i} the set is not closed");
    }
}

#[test]
fn check_stronger_views_are_rejected() {
    // Claiming less than what can happen: a possible value of a field is left out, or a cell is said to have a single predecessor.
    let p = load("seeds/thread-quantification/treiber.tp");
    let (views, claimed) = certificate(&p).unwrap();
    let check = |v: &evidence::views::Views| checker::shape::check_shape(&p, v, &claimed, &Budget::unlimited());
    let mut forged = 0;
    for i in 0..views.views.len() {
        for g in 0..views.views[i].groups.len() {
            for f in 0..views.views[i].groups[g].fields.len() {
                if views.views[i].groups[g].fields[f].len() > 1 {
                    let mut less = views.clone();
                    less.views[i].groups[g].fields[f].pop();
                    assert!(check(&less).is_err(), "view {i} group {g} field {f}");
                    forged += 1;
                }
            }
        }
    }
    assert!(forged > 10);
}

#[test]
fn check_every_small_state_of_the_objects_is_in_the_views() {
    for (file, cells) in [("treiber", 3), ("treiber_unmarked", 3), ("two_lock_queue", 4), ("doherty_queue", 4)] {
        let p = load(&format!("seeds/thread-quantification/{file}.tp"));
        let (views, claimed) = certificate(&p).unwrap();
        let bounds = checker::shape::CoverageLimits { cells, states: 3_000 };
        let seen = checker::shape::coverage(&p, &views, &claimed, bounds).unwrap();
        println!("{file}: {seen:?}");
        assert!(seen.compared > 500, "{file}: {seen:?}");
    }
}

#[test]
fn check_a_certificate_survives_the_file_and_is_still_accepted() {
    let p = load("seeds/thread-quantification/treiber.tp");
    let (views, properties) = certificate(&p).unwrap();
    let proof = evidence::Proof::Views(views.clone());
    let entry =
        evidence::Certificate { method: "shape".into(), terms: p.terms.clone(), properties: properties.clone(), proof };
    let text = evidence::file::write_evidence(&p, &[evidence::file::EvidenceEntry::Certificate(entry)]);
    let back = evidence::file::read_evidence(&p, text.as_bytes()).unwrap();
    let [evidence::file::EvidenceEntry::Certificate(c)] = &back[..] else { panic!("one certificate") };
    let evidence::Proof::Views(read) = &c.proof else { panic!("views") };
    assert_eq!(*read, views);
    assert!(checker::shape::check_shape(&p, read, &properties, &Budget::unlimited()).is_ok());
}

#[test]
fn check_pictures_tell_cells_from_groups() {
    let p = load("seeds/thread-quantification/treiber.tp");
    let (views, _) = certificate(&p).unwrap();
    let full = views.views.iter().find(|v| v.cells.len() > 1 && !v.groups.is_empty()).unwrap();
    let svg = crate::shape::picture::view(&p, full);
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(
        svg.matches("stroke-dasharray=\"5,3\"").count(),
        2 * full.groups.len(),
        "two dashed boxes for each group"
    );
    assert_eq!(svg.matches("<rect").count(), full.cells.len() + 2 * full.groups.len());
}
