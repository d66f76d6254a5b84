//! Rule `composed`, and what a proof of several parts rests on.

use crate::case::Case;
use checker::Trust;
use evidence::{Certificate, ComposedProof, ExhaustiveSearch, Proof, Simulation, SimulationPair, SymbolicSimulation};
use logic::Sort;
use program::LocId;

const FOLLOWS: &str = "var x: int = 0;\nmachine M { start s asserts x >= 0; s -> s : <x> x' == x + 1; }\nthread T follows M { x := x + 1; assert x >= 0; }\n";

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

/// The thread does what its machine does, and the composition is searched.
pub(crate) fn composed(case: &Case, states: u64) -> ComposedProof {
    let composition = program::compose::compose_machines(&case.program).expect("the thread follows a machine");
    let properties = program::transition::gated_properties(&composition);
    ComposedProof {
        simulations: vec![simulation_of(case)],
        composition: Box::new(Certificate {
            method: "by hand".into(),
            terms: composition.terms.clone(),
            properties,
            proof: Proof::Search(ExhaustiveSearch { instances: vec![1], states }),
        }),
    }
}

#[test]
fn check_a_composition_is_trusted_no_more_than_its_weakest_part() {
    let case = Case::new(FOLLOWS);
    // A number of states too large to be searched again, in the file: nothing was looked at.
    let trust =
        case.checked(Proof::Composed(composed(&case, 1_000_001)), "assert:3").expect("it is accepted with this trust");
    assert_eq!(trust.weakest(), &Trust::SearchedOnce { states: 1_000_001 });
    assert!(matches!(trust, Trust::Both(..)), "the threads' conformance was checked");
}

#[test]
fn check_a_composition_with_all_premises_is_accepted() {
    // Both step once in all: a finite composition.
    let case = Case::new(ONCE);
    for property in ["assert:3", "follows:T"] {
        case.accepted(Proof::Composed(composed(&case, 10)), property);
    }
}

pub(crate) const ONCE: &str = "var x: int = 0;\nmachine M { start s asserts x >= 0; state e asserts x >= 0; s -> e : <x> x' == x + 1; }\nthread T follows M { x := x + 1; assert x >= 0; }\n";

#[test]
fn check_a_composition_that_lacks_a_premise_is_rejected() {
    let case = Case::new(ONCE);
    let rejected = |because: &str, change: &dyn Fn(&mut ComposedProof)| {
        let mut changed = composed(&case, 10);
        change(&mut changed);
        case.rejected(Proof::Composed(changed), "assert:3", because);
    };
    // CM1: every thread that follows a machine has one simulation, and it is one.
    rejected("one simulation of thread T", &|p| p.simulations.clear());
    rejected("one simulation of thread T", &|p| p.simulations.push(p.simulations[0].clone()));
    rejected("SM1", &|p| p.simulations[0].pairs[0].formula = case.term("false"));
    rejected("SM3", &|p| p.simulations[0].pairs[2].candidates = vec![0]);
    // CM2: every way in which the composition can go wrong is claimed, and shown.
    rejected("CM2", &|p| {
        p.composition.properties.pop();
    });
    rejected("SE1", &|p| p.composition.proof = Proof::Search(ExhaustiveSearch { instances: vec![2], states: 10 }));
    // A composition that goes wrong: a machine whose assertion fails after its step.
    let wrong = Case::new(&ONCE.replace("state e asserts x >= 0", "state e asserts x >= 2"));
    wrong.rejected(Proof::Composed(composed(&wrong, 10)), "assert:3", "is violated");
    // A machine that does something else than its thread.
    let other = Case::new(&ONCE.replace("x' == x + 1", "x' == x + 2"));
    other.rejected(Proof::Composed(composed(&other, 10)), "assert:3", "SM3");
    // Relies are no gates.
    let rely = Case::new(&format!("{ONCE}rely x' >= x;\n"));
    rely.rejected(Proof::Composed(composed(&rely, 10)), "rely:4", "says nothing about rely:4");
}

#[test]
fn check_a_simulation_that_lacks_a_premise_is_rejected() {
    let case = Case::new(ONCE);
    let simulation = composed(&case, 10).simulations.remove(0);
    case.accepted(Proof::Simulation(simulation.clone()), "follows:T");
    case.rejected(Proof::Simulation(simulation.clone()), "assert:3", "says nothing about assert:3");
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
    let simulation = composed(&bare, 10).simulations.remove(0);
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
    let simulation = composed(&strict, 10).simulations.remove(0);
    strict.lacks(Proof::Simulation(simulation), "follows:T", "SM3");
    let asked = Case::new(&ONCE.replace("state e asserts x >= 0", "state e asserts ?"));
    let simulation = simulation_of(&asked);
    asked.rejected(Proof::Simulation(simulation), "follows:T", "asked for, not given");
}

const ROUNDS: &str = "var x: int = 0;\nmachine M { start s asserts x >= 0; s -> s : <x> x' == x + 1; }\nthread T follows M { var i: int := 0; while i < 3 { x := x + 1; i := i + 1; } assert i == 3; }\n";

/// A simulation by formulas, with a boolean `c0`, `c1`, .. for each state, and a formula at the head of the loop if there is one.
fn symbolic(case: &mut Case, at_head: Option<&str>) -> Simulation {
    let thread = case.thread("T");
    let states = case.program.machines[program::MachineId(0)].states.len();
    let candidates = (0..states).map(|k| case.symbol(&format!("c{k}"), Sort::BOOL)).collect();
    let cuts = at_head.map(|f| (head(case), case.term(f))).into_iter().collect();
    Simulation { thread, own: Vec::new(), pairs: Vec::new(), symbolic: Some(SymbolicSimulation { candidates, cuts }) }
}

/// The location where the loop is entered or left.
fn head(case: &Case) -> LocId {
    let code = &case.program.threads[case.thread("T")].code;
    code.locations.ids().find(|l| code.from(*l).count() == 2).expect("there is a loop")
}

#[test]
fn check_a_simulation_by_formulas_with_all_premises_is_accepted() {
    let mut once = Case::new(ONCE);
    let proof = symbolic(&mut once, None);
    once.accepted(Proof::Simulation(proof), "follows:T");
    let mut rounds = Case::new(ROUNDS);
    let proof = symbolic(&mut rounds, Some("(and (<= i 3) c0)"));
    rounds.accepted(Proof::Simulation(proof), "follows:T");
}

#[test]
fn check_a_simulation_by_formulas_that_lacks_a_premise_is_rejected() {
    // SM4: the loop is not cut.
    let mut case = Case::new(ROUNDS);
    let proof = symbolic(&mut case, None);
    case.rejected(Proof::Simulation(proof), "follows:T", "SM4");
    // SM5: the formula does not say enough for the check; or lets the set of candidates be empty.
    for weak in ["c0", "(<= i 3)"] {
        let mut case = Case::new(ROUNDS);
        let proof = symbolic(&mut case, Some(weak));
        case.lacks(Proof::Simulation(proof), "follows:T", "SM5");
    }
    // SM6: the cut is reached with other values, at the start or after a round.
    for strong in ["false", "(and (= i 0) c0)"] {
        let mut case = Case::new(ROUNDS);
        let proof = symbolic(&mut case, Some(strong));
        case.lacks(Proof::Simulation(proof), "follows:T", "SM6");
    }
    // A machine that does something else; one that does not idle; one whose assertion does not fail with the thread's check.
    for (text, other) in
        [("x' == x + 1", "x' == x + 2"), ("machine M", "strict machine M"), ("state e asserts x >= 0", "state e")]
    {
        let mut case = Case::new(&ONCE.replace(text, other));
        let proof = symbolic(&mut case, None);
        case.lacks(Proof::Simulation(proof), "follows:T", "SM5");
    }
    // Two start states: either may stand for the thread, and the second follows nothing, but fails where the check does.
    let mut two = Case::new(&ONCE.replace("state e asserts", "start e asserts"));
    let proof = symbolic(&mut two, None);
    two.accepted(Proof::Simulation(proof), "follows:T");
}

#[test]
fn check_a_simulation_by_formulas_speaks_of_new_booleans_and_locals_alone() {
    let mut case = Case::new(ROUNDS);
    let good = symbolic(&mut case, Some("(and (<= i 3) c0)"));
    let rejected = |because: &str, change: &dyn Fn(&mut Simulation, &mut SymbolicSimulation)| {
        let mut changed = good.clone();
        let mut inner = changed.symbolic.take().expect("it is symbolic");
        change(&mut changed, &mut inner);
        changed.symbolic = Some(inner);
        case.rejected(Proof::Simulation(changed), "follows:T", because);
    };
    rejected("one new boolean for each state", &|_, s| s.candidates.clear());
    rejected("one new boolean for each state", &|_, s| s.candidates[0] = case.known("i"));
    rejected("two at one", &|_, s| s.cuts.push(s.cuts[0]));
    rejected("two at one", &|_, s| s.cuts[0].0 = LocId(99));
    rejected("`x`", &|_, s| s.cuts[0].1 = case.term("(<= 0 x)"));
    rejected("one by one and by formulas", &|whole, _| {
        whole.pairs = vec![SimulationPair { location: LocId(0), candidates: vec![0], formula: case.term("true") }];
    });
}

#[test]
fn check_a_composition_in_which_nothing_can_go_wrong_needs_no_proof() {
    let text = "var x: int = 0;\nmachine M { start s; s -> s : <x> x' == x + 1; }\nthread T follows M { var i: int := 1; x := x + 1; assert i > 0; }\n";
    let mut case = Case::new(text);
    let nothing = |case: &Case| {
        Box::new(Certificate {
            method: "by hand".into(),
            terms: case.program.terms.clone(),
            properties: Vec::new(),
            proof: Proof::Search(ExhaustiveSearch { instances: Vec::new(), states: 0 }),
        })
    };
    let simulations = vec![symbolic(&mut case, None)];
    case.accepted(Proof::Composed(ComposedProof { simulations, composition: nothing(&case) }), "assert:3");
    // With an assertion of the machine, or a check of a thread without one, it needs one.
    for more in [text.replace("start s", "start s asserts x >= 0"), format!("{text}thread B {{ assert x >= 0; }}\n")] {
        let mut case = Case::new(&more);
        let simulations = vec![symbolic(&mut case, None)];
        case.rejected(Proof::Composed(ComposedProof { simulations, composition: nothing(&case) }), "assert:3", "CM2");
    }
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
