//! Broken objects of the corpus: each has a history, or a run to a check that fails, that the checker replays.

use super::corpus::{NoOracle, corpus, load, load_text, verify_by};
use crate::explore::linear::{ClientBounds, sample_histories, search_histories};
use crate::method::Run;
use base::Budget;
use checker::{CheckLimits, Checker, Outcome};
use evidence::Claim;
use program::clients::Against;
use program::{Program, PropertyId};

/// The corpus files with an object over a heap that are marked unsafe, with the lines that carry a truth of their own.
fn broken() -> Vec<(String, Vec<usize>)> {
    let mut out = Vec::new();
    for folder in ["lockfree", "seeds/thread-quantification"] {
        let mut files: Vec<_> = std::fs::read_dir(corpus(folder)).unwrap().map(|f| f.unwrap().file_name()).collect();
        files.sort();
        for file in files {
            let name = format!("{folder}/{}", file.to_string_lossy());
            let text = std::fs::read_to_string(corpus(&name)).unwrap();
            if text.starts_with("// truth: unsafe") && text.contains("\nobject ") && text.contains("\nclass ") {
                let lines = text.lines().enumerate().skip(1);
                let marked = lines.filter(|(_, l)| l.contains("// truth: unsafe")).map(|(i, _)| i + 1);
                out.push((name, marked.collect()));
            }
        }
    }
    out
}

/// A range that holds a history of the file: `// instance: clients=3 ops=1,1,3`, or two clients with up to four operations.
fn range(text: &str) -> ClientBounds {
    let hint = |key: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix("// instance: "))?;
        let word = line.split(' ').find_map(|w| w.strip_prefix(key)?.strip_prefix('='))?;
        Some(word.split(',').map(|n| n.parse().unwrap()).collect::<Vec<usize>>())
    };
    let Some(each) = hint("ops").filter(|ops| ops.len() > 1) else { return ClientBounds::RANGES[0] };
    let total = each.iter().sum();
    ClientBounds {
        from: total,
        least: each.len(),
        threads: each.len(),
        each: each.iter().copied().max().unwrap(),
        total,
        independent: 0,
    }
}

#[test]
fn check_every_broken_object_of_the_corpus_has_a_history_that_is_replayed() {
    let all = broken();
    assert!(all.len() >= 20, "{all:?}");
    for (file, lines) in all {
        let p = load(&file);
        let text = std::fs::read_to_string(corpus(&file)).unwrap();
        let run = Run::quiet(Budget::unlimited().with_time(std::time::Duration::from_secs(300)));
        let ranges = [(range(&text), Against::Orders), (ClientBounds::RANGES[0], Against::Marks)];
        let object = program::ObjectId(0);
        let found =
            ranges.into_iter().find_map(|(bounds, against)| search_histories(&p, object, bounds, against, &run).found);
        let found = found.unwrap_or_else(|| panic!("{file}: no history"));
        let property = found.gate.unwrap_or(p.objects[object].property);
        let history = found.history(object);
        assert_eq!(judged(&p, property, history.clone()), Outcome::Unsafe, "{file}");
        println!("{file}: {} by {:?}, truth at {lines:?}", p.properties[property].name, history.against);
        // A run that ends before, or that is held against something else, shows nothing.
        let mut short = history.clone();
        short.trace.steps.pop();
        assert_eq!(judged(&p, property, short), Outcome::Unknown, "{file}");
        let against = match history.against {
            Against::Orders => Against::Marks,
            Against::Marks => Against::Orders,
        };
        assert_eq!(judged(&p, property, evidence::History { against, ..history }), Outcome::Unknown, "{file}");
    }
}

fn judged(p: &Program, property: PropertyId, history: evidence::History) -> Outcome {
    let mut oracle = NoOracle;
    let mut checker = Checker::new(p, &mut oracle, CheckLimits::default());
    let checked = checker.check(property, "shape", &Claim::Refuted(history.into()));
    checker.conclude(vec![checked])[0].outcome()
}

#[test]
fn check_long_histories_of_broken_objects_are_met_by_single_runs() {
    for file in ["hand_over_hand_set_one_lock", "lazy_set_no_mark_check"] {
        let p = load(&format!("lockfree/{file}.tp"));
        let run = Run::quiet(Budget::unlimited());
        let object = program::ObjectId(0);
        let start = std::time::Instant::now();
        let found = sample_histories(&p, object, &run)
            .unwrap_or_else(|| panic!("{file}: no history after {:?}", start.elapsed()));
        println!("{file}: {:?}", start.elapsed());
        let property = found.gate.unwrap_or(p.objects[object].property);
        let history = found.history(object);
        assert_eq!(judged(&p, property, history), Outcome::Unsafe, "{file}");
    }
    // A right one has none.
    let p = load("seeds/thread-quantification/treiber.tp");
    let run = Run::quiet(Budget::unlimited().with_time(std::time::Duration::from_secs(2)));
    assert!(sample_histories(&p, program::ObjectId(0), &run).is_none());
}

#[test]
fn check_wrong_marks_of_a_linearizable_object_are_told_from_a_wrong_object() {
    let p = load("seeds/thread-quantification/treiber_early_point.tp");
    let run = Run::quiet(Budget::unlimited());
    let small = ClientBounds { total: 3, ..ClientBounds::RANGES[0] };
    let object = program::ObjectId(0);
    assert!(search_histories(&p, object, small, Against::Orders, &run).found.is_none());
    assert!(search_histories(&p, object, small, Against::Marks, &run).found.is_some());
    // Right marks explain every run, also where an outcome that changes nothing is passed more than once.
    let p = load("seeds/thread-quantification/doherty_queue.tp");
    assert!(search_histories(&p, object, small, Against::Marks, &run).found.is_none());
}

#[test]
fn check_wherever_a_history_shows_a_broken_object_its_checks_are_settled() {
    for file in ["treiber_pop_store", "two_lock_queue_no_tail_lock"] {
        let p = load(&format!("seeds/thread-quantification/{file}.tp"));
        let callers = crate::callers::Callers { provers: vec![std::sync::Arc::new(crate::shape::Shape)] };
        let answer = verify_by(&callers, &p);
        let checks = answer.outcomes.iter().filter(|(n, _)| !n.starts_with("linearizable"));
        let checks: Vec<_> = checks.collect();
        assert!(checks.len() > 3 && checks.iter().all(|(_, (o, _))| *o == Outcome::Safe), "{checks:?}");
    }
}

#[test]
fn check_values_that_are_compared_are_chosen_for_each_parameter() {
    let run = Run::quiet(Budget::unlimited());
    let pair = ClientBounds { total: 2, ..ClientBounds::RANGES[0] };
    let found =
        |file: &str, bounds| search_histories(&load(file), program::ObjectId(0), bounds, Against::Orders, &run).found;
    let history = found("lockfree/cas_register_split.tp", pair).expect("two successful swaps of the same value");
    let expected = |calls: &Vec<program::clients::ClientCall>| calls[0].arguments[0].clone();
    assert!(history.clients.0.iter().map(expected).all(|v| v == logic::Value::Int(0)), "{:?}", history.clients);
    // The same number for all parameters of a call shows nothing.
    assert!(found("lockfree/cas_register_split.tp", ClientBounds { independent: 0, ..pair }).is_none());
    assert!(found("lockfree/cas_register_object.tp", ClientBounds { total: 3, ..pair }).is_none());
}

/// A cell for one value; `MARK` is replaced. What a failing `take` gives as `v` is not said, neither by the specification nor by the code.
const CELL: &str = "object Cell {
  spec {
    var s: seq<int> := [];
    put(v: int) { s := [v]; }
    take() returns (v: int, ok: bool) { if len(s) == 0 { ok := false; } else { v, s, ok := s[0], [], true; } }
  }
  var full: bool = false;
  var value: int = 0;
  op put(v: int) { atomic { full, value := true, v; MARK } }
  op take() returns (v: int, ok: bool) { atomic { ok := full; if full { v := value; full := false; } MARK } return; }
}
";

#[test]
fn check_a_result_that_the_specification_leaves_open_may_be_anything() {
    let run = Run::quiet(Budget::unlimited());
    let small = ClientBounds { total: 3, ..ClientBounds::RANGES[0] };
    let found = |text: &str, mark: &str, against: Against| {
        let p = load_text("cell.tp", text.replace("MARK", mark).as_bytes());
        search_histories(&p, program::ObjectId(0), small, against, &run).found.is_some()
    };
    assert!(!found(CELL, "", Against::Orders));
    assert!(!found(CELL, "linearize;", Against::Marks));
    // What it does say is compared.
    let wrong = CELL.replace("ok := full;", "ok := true;");
    assert!(found(&wrong, "", Against::Orders));
    assert!(found(&wrong, "linearize;", Against::Marks));
}
