//! Rule `counting`.

use crate::case::Case;
use evidence::{Counter, Counting, Proof};
use logic::Sort;

/// Cells for every location of the one thread, in the order of its code, without anything that an instance relies on; and one more cell,
/// in which no instance can be.
fn with_dummy(case: &mut Case) -> Counting {
    let thread = case.thread("T");
    let path = case.path(thread);
    let mut counters: Vec<Counter> = path
        .iter()
        .enumerate()
        .map(|(i, at)| Counter {
            thread,
            location: *at,
            cell: case.term("true"),
            holds: case.term("true"),
            symbol: case.symbol(&format!("c{i}"), Sort::INT),
        })
        .collect();
    let dummy = case.symbol("dummy", Sort::INT);
    counters.push(Counter {
        thread,
        location: path[0],
        cell: case.term("false"),
        holds: case.term("true"),
        symbol: dummy,
    });
    let mut second = vec![(case.program.tid, case.symbol("tid.2", Sort::INT))];
    for v in case.program.threads[thread].locals.clone() {
        let var = case.program.vars[v].clone();
        second.push((var.symbol, case.symbol(&format!("{}.2", var.name), var.sort)));
    }
    Counting {
        unique_threads: Vec::new(),
        counters,
        peer_copy: second,
        pairwise: Vec::new(),
        exclusive: Vec::new(),
        invariant: vec![(Vec::new(), case.term("true"))],
    }
}

fn proof(c: &Counting) -> Proof {
    Proof::Counting(Box::new(c.clone()))
}

#[test]
fn check_cells_that_exclude_an_empty_one_may_hold_many_instances() {
    // Three instances can be between the two steps at once.
    let mut case = Case::new("var n: int = 0;\nthread T[*] { n := n + 1; assert n <= 2; n := n - 1; }\n");
    let mut c = with_dummy(&mut case);
    c.invariant[0].1 = case.term("(= n (+ c1 c2))");
    // Each excludes the empty cell. That says nothing of how many are in the other.
    c.exclusive = vec![(1, 4), (2, 4)];
    case.rejected(proof(&c), "assert:2", "assert:2");
    // The same with the assertion that is true.
    let mut case = Case::new("var n: int = 0;\nthread T[*] { n := n + 1; assert n >= 1; n := n - 1; }\n");
    let mut c = with_dummy(&mut case);
    c.invariant[0].1 = case.term("(= n (+ c1 c2))");
    c.exclusive = vec![(1, 4), (2, 4)];
    case.accepted(proof(&c), "assert:2");
}

/// All may be in the first phase: never one in each, but three in the first.
pub(crate) const PHASES: &str = "var phase: int = 1;\nvar n: int = 0;\nthread T[*] { var k: int;\n  k := 1; assume k == phase; n := n + 1; assert n >= 1; n := n - 1; }\n";

/// Instances whose `k` is 1, and in the same two places instances whose `k` is 2: with one phase, no two instances are in one of each.
pub(crate) fn two_phases(case: &mut Case) -> Counting {
    let mut c = with_dummy(case);
    let (inside, one, two) = (case.term("(= k phase)"), case.term("(= k 1)"), case.term("(= k 2)"));
    c.counters[1].cell = one;
    for cell in [2, 3, 4] {
        c.counters[cell].cell = one;
        c.counters[cell].holds = inside;
    }
    for cell in [3, 4] {
        let symbol = case.symbol(&format!("other{cell}"), Sort::INT);
        c.counters.push(Counter { cell: two, symbol, ..c.counters[cell].clone() });
    }
    c.exclusive = vec![(3, 7), (3, 8), (4, 7), (4, 8)];
    c.invariant[0].1 = case.term("(= n (+ (+ c3 c4) (+ other3 other4)))");
    c
}

#[test]
fn check_two_cells_that_exclude_each_other_need_not_be_alone() {
    let mut case = Case::new(&PHASES.replace("n >= 1", "n <= 2"));
    let c = two_phases(&mut case);
    case.lacks(proof(&c), "assert:4", "CT3");
    // With an assertion that is true the same certificate is a proof: what rejected it was how many can be in one cell.
    let mut case = Case::new(PHASES);
    let c = two_phases(&mut case);
    case.accepted(proof(&c), "assert:4");
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    let mut case = Case::new(PHASES);
    let good = two_phases(&mut case);
    let lacks = |premise: &str, change: &dyn Fn(&mut Counting)| {
        let mut changed = good.clone();
        change(&mut changed);
        case.lacks(proof(&changed), "assert:4", premise);
    };
    // Cells in the order of the code: 0 the entry, 1 the wait, 2 the step up, 3 the assertion, 4 the step down, 5 the end.
    lacks("CT1", &|c| c.invariant[0].1 = case.term("(= n 1)"));
    lacks("CT1", &|c| c.counters[0].cell = case.term("(= k 1)"));
    lacks("CT1", &|c| c.counters[0].holds = case.term("(= phase 2)"));
    lacks("CT3", &|c| c.counters[1].cell = case.term("(= k 2)"));
    lacks("CT3", &|c| c.counters[2].holds = case.term("(= phase 3)"));
    lacks("CT3", &|c| c.invariant[0].1 = case.term("true"));
    lacks("CT3", &|c| c.invariant[0].1 = case.term("(= n c3)"));
    // Others change n.
    lacks("CT4", &|c| c.counters[3].holds = case.term("(= n 1)"));
    lacks("CT6", &|c| c.pairwise = vec![(3, 3, case.term("(!= k k.2)"))]);
    lacks("CT7", &|c| c.exclusive.push((3, 4)));
    lacks("CT7", &|c| c.exclusive.push((3, 3)));
    let claimed = Case::new(&PHASES.replace("thread T", "invariant n <= 1; rely n' == n; thread T"));
    let mut claimed = claimed;
    let good = two_phases(&mut claimed);
    claimed.lacks(proof(&good), "invariant:3", "CT5");
    claimed.lacks(proof(&good), "rely:3", "CT8");
}

#[test]
fn check_a_single_thread_and_started_ones_are_counted() {
    let text =
        "var n: int = 0;\nthread T(k: int) { assert n >= 1; }\nthread Main { n := 1; while true { spawn T(1); } }\n";
    let mut case = Case::new(text);
    let (thread, main) = (case.thread("T"), case.thread("Main"));
    let (own, path) = (case.path(thread), case.path(main));
    let symbols = [case.symbol("c0", Sort::INT), case.symbol("c1", Sort::INT), case.symbol("main", Sort::INT)];
    let second_instance = [case.symbol("tid.2", Sort::INT), case.symbol("k.2", Sort::INT)];
    let second = vec![(case.program.tid, second_instance[0]), (case.known("k"), second_instance[1])];
    let holds = case.term("(<= 1 n)");
    let cell =
        |i: usize, holds| Counter { thread, location: own[i], cell: case.term("true"), holds, symbol: symbols[i] };
    let counters = vec![cell(0, holds), cell(1, case.term("true"))];
    let invariant = path
        .iter()
        .enumerate()
        .map(|(i, at)| {
            let formula = if i == 0 { "(and (= n 0) (= c0 0) (= c1 0))" } else { "(= n 1)" };
            (vec![*at], case.term(formula))
        })
        .collect();
    let good = Counting {
        unique_threads: vec![(main, symbols[2])],
        counters,
        peer_copy: second,
        pairwise: vec![],
        exclusive: vec![],
        invariant,
    };
    case.accepted(proof(&good), "assert:2");
    let but = |change: &dyn Fn(&mut Counting)| {
        let mut changed = good.clone();
        change(&mut changed);
        proof(&changed)
    };
    case.lacks(but(&|c| c.invariant[1].1 = case.term("(= n 2)")), "assert:2", "CT2");
    case.lacks(
        but(&|c| c.invariant.iter_mut().skip(1).for_each(|(_, f)| *f = case.term("(and (= n 1) (= (+ c0 c1) 0))"))),
        "assert:2",
        "CT2",
    );
    case.lacks(but(&|c| c.counters[0].cell = case.term("(= k 2)")), "assert:2", "CT9");
    case.lacks(but(&|c| c.counters[0].holds = case.term("(<= 2 n)")), "assert:2", "CT2");
    case.rejected(but(&|c| c.pairwise = vec![(0, 1, case.term("true"))]), "assert:2", "was just started");
    case.rejected(but(&|c| c.unique_threads.clear()), "assert:2", "single threads are not those");
    case.rejected(but(&|c| c.invariant.push(c.invariant[0].clone())), "assert:2", "listed twice");
    case.rejected(but(&|c| c.exclusive = vec![(0, 7)]), "assert:2", "does not exist");
    case.rejected(but(&|c| c.counters[0].symbol = c.counters[1].symbol), "assert:2", "not a new one");
    case.rejected(but(&|c| c.counters[0].cell = case.term("(= n 1)")), "assert:2", "`n`");
}
