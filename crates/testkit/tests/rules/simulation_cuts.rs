//! Rule `simulation`, with the set of candidates as formulas where loops are cut: premises SM4 to SM6 and the side conditions.

use crate::case::Case;
use crate::simulation::{ONCE, simulation_of};
use evidence::{Proof, Simulation, SimulationPair, SymbolicSimulation};
use logic::Sort;
use program::LocId;

const ROUNDS: &str = "var x: int = 0;\nmachine M { start s asserts x >= 0; s -> s : <x> x' == x + 1; }\nthread T follows M { var i: int := 0; while i < 3 { x := x + 1; i := i + 1; } assert i == 3; }\n";

/// A simulation by formulas, with a boolean `c0`, `c1`, .. for each state, and a formula at the head of the loop if there is one.
pub(crate) fn symbolic(case: &mut Case, at_head: Option<&str>) -> Simulation {
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
fn check_a_simulation_by_formulas_is_of_a_thread_that_follows_a_machine() {
    let mut case = Case::new(&format!("{ROUNDS}thread B {{ x := x + 1; }}\n"));
    let good = symbolic(&mut case, Some("(and (<= i 3) c0)"));
    case.accepted(Proof::Simulation(good.clone()), "follows:T");
    let other = Simulation { thread: case.thread("B"), ..good.clone() };
    assert!(case.checked(Proof::Simulation(other), "follows:T").is_err(), "it is about another thread");
    let none = Simulation { thread: program::ThreadId(9), ..good };
    assert!(case.checked(Proof::Simulation(none), "follows:T").is_err(), "there is no such thread");
    assert!(
        case.checked(Proof::Simulation(simulation_of(&case)), "follows:T").is_err(),
        "neither form without a formula at the loop"
    );
}
