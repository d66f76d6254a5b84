//! Rule `composed`, and what a proof of several parts rests on.

use crate::case::Case;
use crate::simulation::{ONCE, simulation_of};
use crate::simulation_cuts::symbolic;
use checker::Trust;
use evidence::{Certificate, ComposedProof, ExhaustiveSearch, Proof};

const FOLLOWS: &str = "var x: int = 0;\nmachine M { start s asserts x >= 0; s -> s : <x> x' == x + 1; }\nthread T follows M { x := x + 1; assert x >= 0; }\n";

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
