//! Rule `simulation`, with sets of candidates one by one: what is accepted, and for each premise and side condition one that lacks it.
//!
//! The same rule by formulas is in `simulation_cuts`.

use crate::case::Case;
use evidence::{Proof, Simulation, SimulationPair, SymbolicSimulation};
use logic::Sort;
use program::LocId;

/// A thread of one step that its machine takes with it.
pub(crate) const ONCE: &str = "var x: int = 0;\nmachine M { start s asserts x >= 0; state e asserts x >= 0; s -> e : <x> x' == x + 1; }\nthread T follows M { x := x + 1; assert x >= 0; }\n";

/// At its entry the thread is where its machine starts; after its step the machine is in its last state.
pub(crate) fn simulation_of(case: &Case) -> Simulation {
    let thread = case.thread("T");
    let code = &case.program.threads[thread].code;
    let last = case.program.machines[program::MachineId(0)].states.len() as u32 - 1;
    let pair = |location| {
        let candidates = if location == code.entry { vec![0] } else { vec![last] };
        SimulationPair { location, candidates, formula: case.term("true") }
    };
    Simulation { thread, own: Vec::new(), pairs: code.locations.ids().map(pair).collect(), symbolic: None }
}

#[test]
fn check_a_simulation_with_all_premises_is_accepted() {
    let case = Case::new(ONCE);
    case.accepted(Proof::Simulation(simulation_of(&case)), "follows:T");
    // It says that the thread follows, and nothing of what the thread checks.
    case.rejected(Proof::Simulation(simulation_of(&case)), "assert:3", "says nothing about assert:3");
    // A machine may have more states than the thread needs, and more start states than it is followed from.
    let more = ONCE.replace("state e asserts", "start other; other -> other : <x> x' == x; state e asserts");
    let case = Case::new(&more);
    case.accepted(Proof::Simulation(simulation_of(&case)), "follows:T");
}

#[test]
fn check_a_simulation_that_lacks_a_premise_is_rejected() {
    let case = Case::new(ONCE);
    let simulation = simulation_of(&case);
    let lacks = |premise: &str, change: &dyn Fn(&mut Simulation)| {
        let mut changed = simulation.clone();
        change(&mut changed);
        case.lacks(Proof::Simulation(changed), "follows:T", premise);
    };
    lacks("SM1", &|s| s.pairs[0].candidates = vec![1]);
    lacks("SM3", &|s| s.pairs[2].candidates = vec![0, 1]);
    lacks("SM3", &|s| {
        s.pairs.remove(2);
    });
    let bare = Case::new(&ONCE.replace("state e asserts x >= 0", "state e"));
    let simulation = simulation_of(&bare);
    bare.lacks(Proof::Simulation(simulation.clone()), "follows:T", "SM2");
    let rejected = |because: &str, change: &dyn Fn(&mut Simulation)| {
        let mut changed = simulation.clone();
        change(&mut changed);
        bare.rejected(Proof::Simulation(changed), "follows:T", because);
    };
    rejected("no such candidates", &|s| s.pairs[0].candidates.clear());
    rejected("no such candidates", &|s| s.pairs[0].candidates = vec![0, 0]);
    rejected("no such candidates", &|s| s.pairs[0].candidates = vec![2]);
    rejected("`x`", &|s| s.pairs[0].formula = bare.term("(<= 0 x)"));
    let strict = Case::new(&ONCE.replace("machine M", "strict machine M"));
    let simulation = simulation_of(&strict);
    strict.lacks(Proof::Simulation(simulation), "follows:T", "SM3");
    let asked = Case::new(&ONCE.replace("state e asserts x >= 0", "state e asserts ?"));
    let simulation = simulation_of(&asked);
    asked.rejected(Proof::Simulation(simulation), "follows:T", "asked for, not given");
}

/// The machine keeps the store after its own last step, and goes wrong where others have made it smaller.
const KEPT: &str = "var x: int = 0;\nstrict machine M { var h: int = 0; start s asserts x >= h; s -> s : <h> h' == x'; }\nthread T follows M { var i: int; i := x; assert x >= i; }\n";

/// What the thread read is what the machine keeps; at the entry and at the end nothing is known but these.
fn keeping(case: &mut Case, entry: &str, between: &str) -> Simulation {
    let thread = case.thread("T");
    let own = vec![vec![case.symbol("h0", Sort::INT)]];
    let code = &case.program.threads[thread].code;
    let middle = code.from(code.entry).map(|(_, a)| a.to).next().expect("it has a step");
    let formula = |l: LocId| {
        case.term(if l == code.entry {
            entry
        } else if l == middle {
            between
        } else {
            "true"
        })
    };
    let pair = |location: LocId| SimulationPair { location, candidates: vec![0], formula: formula(location) };
    Simulation { thread, own, pairs: code.locations.ids().map(pair).collect(), symbolic: None }
}

/// The same with the set of candidates as a boolean; the location between is a cut.
fn keeping_by_formulas(case: &mut Case, between: &str) -> Simulation {
    let candidates = vec![case.symbol("c0", Sort::BOOL)];
    let mut out = keeping(case, "true", between);
    let code = &case.program.threads[out.thread].code;
    let middle = code.from(code.entry).map(|(_, a)| a.to).next().expect("it has a step");
    let formula = case.terms.and(&[case.term("c0"), case.term(between)]);
    out.pairs.clear();
    out.symbolic = Some(SymbolicSimulation { candidates, cuts: vec![(middle, formula)] });
    out
}

#[test]
fn check_a_simulation_speaks_of_the_machines_variables() {
    let mut case = Case::new(KEPT);
    let good = keeping(&mut case, "true", "(<= i h0)");
    case.accepted(Proof::Simulation(good.clone()), "follows:T");
    let good_by_formulas = keeping_by_formulas(&mut case, "(<= i h0)");
    case.accepted(Proof::Simulation(good_by_formulas.clone()), "follows:T");
    // SM1: it starts with another value. SM2: what the machine keeps does not cover the check. SM3: its variable becomes something else.
    for (entry, between, premise) in
        [("(= h0 1)", "(<= i h0)", "SM1"), ("true", "true", "SM2"), ("true", "(< i h0)", "SM3")]
    {
        let mut case = Case::new(KEPT);
        let proof = keeping(&mut case, entry, between);
        case.lacks(Proof::Simulation(proof), "follows:T", premise);
    }
    for (between, premise) in [("true", "SM5"), ("(< i h0)", "SM6")] {
        let mut case = Case::new(KEPT);
        let proof = keeping_by_formulas(&mut case, between);
        case.lacks(Proof::Simulation(proof), "follows:T", premise);
    }
    for (text, other) in
        [("h' == x'", "h' == x' - 1"), ("<h> h' == x'", "<> true"), ("<h> h' == x'", "<h> x' > 0 && h' == x'")]
    {
        let mut case = Case::new(&KEPT.replace(text, other));
        let proof = keeping(&mut case, "true", "(<= i h0)");
        case.lacks(Proof::Simulation(proof), "follows:T", "SM3");
    }
    // Without its assertion the machine does not go wrong where the check fails.
    let mut bare = Case::new(&KEPT.replace(" asserts x >= h", ""));
    let proof = keeping(&mut bare, "true", "(<= i h0)");
    bare.lacks(Proof::Simulation(proof), "follows:T", "SM2");
    // One new symbol of its sort for each variable in each state.
    let rejected = |change: &dyn Fn(&mut Simulation)| {
        for good in [&good, &good_by_formulas] {
            let mut changed = good.clone();
            change(&mut changed);
            case.rejected(Proof::Simulation(changed), "follows:T", "one new symbol for each variable");
        }
    };
    let other = case.program.tid;
    rejected(&|s| s.own.clear());
    rejected(&|s| s.own[0].clear());
    rejected(&|s| s.own[0].push(other));
    rejected(&|s| s.own[0][0] = other);
    rejected(&|s| s.own[0][0] = case.known("i"));
    let wrong = case.terms.symbol("h1", Sort::BOOL);
    rejected(&|s| s.own[0][0] = wrong);
}

const MADE: &str = "class Node { val: int; }\nvar top: Node = null;\nmachine M { var n: Node = null; start s; s -> s : <new n> true; s -> s : <n.val> n.val' > 0; s -> s : <top> top' == n; }\nthread T follows M { var o: Node; o := new Node; o.val := 1; top := o; }\n";

#[test]
fn check_an_object_that_a_machine_makes_is_the_one_that_its_thread_makes() {
    // At the entry the machine's variable refers to nothing; later to the thread's object.
    let simulation = |case: &mut Case| {
        let thread = case.thread("T");
        let n = case.symbol("n0", case.terms.symbol_sort(case.known("o")));
        let code = &case.program.threads[thread].code;
        let same = case.terms.eq(case.terms.sym(n), case.terms.sym(case.known("o")));
        let pair = |location: LocId| {
            let there = if location == code.entry { case.terms.tt() } else { same };
            let not_null = case.program.terms.ne(case.terms.sym(case.known("o")), case.terms.null(logic::ClassId(0)));
            let formula = if location == code.entry { there } else { case.terms.and(&[there, not_null]) };
            SimulationPair { location, candidates: vec![0], formula }
        };
        Simulation { thread, own: vec![vec![n]], pairs: code.locations.ids().map(pair).collect(), symbolic: None }
    };
    let mut case = Case::new(MADE);
    let proof = simulation(&mut case);
    case.accepted(Proof::Simulation(proof), "follows:T");
    // A step that makes none; a field of another object; another object in the end; nothing is made at all.
    for (text, other) in [
        ("<new n> true", "<n> n' == null"),
        ("<n.val> n.val' > 0", "<top.val> true"),
        ("top := o", "top := top"),
        ("o.val := 1", "o.val := 0"),
        ("top' == n;", "top' == null;"),
    ] {
        let mut case = Case::new(&MADE.replace(text, other));
        let proof = simulation(&mut case);
        if text == "top := o" {
            // Nothing changes: the machine may idle.
            case.accepted(Proof::Simulation(proof), "follows:T");
        } else {
            case.lacks(Proof::Simulation(proof), "follows:T", "SM3");
        }
    }
}
