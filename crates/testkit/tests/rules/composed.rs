//! Rule `composed`, and what a proof of several parts rests on.

use crate::case::Case;
use checker::Trust;
use evidence::{Certificate, ComposedProof, ExhaustiveSearch, Proof, Simulation, SimulationPair};

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
    Simulation { thread, pairs: code.locations.ids().map(pair).collect() }
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
