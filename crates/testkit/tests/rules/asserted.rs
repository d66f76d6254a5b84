//! Rule `asserted`: assertions that a program asks for, and what is not accepted as such.

use crate::case::Case;
use crate::composed::composed;
use crate::simulation::{ONCE, simulation_of};
use evidence::{AssertedProof, Certificate, Proof};
use program::machine_assertions::{FoundAssertion, asked_assertions, with_assertions};

/// What both states of the machine assert is asked for.
pub(crate) const ASKED: &str = "var x: int = 0;\nmachine M { start s asserts ?; state e asserts ?; s -> e : <x> x' == x + 1; }\nthread T follows M { x := x + 1; assert x >= 0; }\n";

/// The composition of the program with these assertions, one for each state that asks.
pub(crate) fn asserted(case: &Case, formulas: [&str; 2]) -> AssertedProof {
    let asked = asked_assertions(&case.program);
    assert_eq!(asked.len(), formulas.len(), "there is one for each");
    let of = |((machine, state), text): (&_, &str)| FoundAssertion {
        machine: *machine,
        state: *state,
        formula: case.term(text),
    };
    let assertions: Vec<_> = asked.iter().zip(formulas).map(of).collect();
    let with = with_assertions(&case.program, &case.terms, &assertions).expect("they are those that are asked for");
    let inner = Case::of(with);
    let names: Vec<String> = ["assert:3", "follows:T"].map(String::from).into();
    let proof =
        inner.certificate(Proof::Composed(composed(&inner, 10)), &names.iter().map(String::as_str).collect::<Vec<_>>());
    AssertedProof { assertions, proof: Box::new(proof) }
}

const POSITIVE: [&str; 2] = ["(<= 0 x)", "(<= 0 x)"];

#[test]
fn check_assertions_that_the_composition_keeps_are_accepted() {
    let case = Case::new(ASKED);
    for formulas in [POSITIVE, ["(<= 0 x)", "(<= 1 x)"], ["(= x 0)", "(= x 1)"], ["true", "(<= 0 x)"]] {
        // What the thread needs at its check is what its machine asserts there.
        for property in ["assert:3", "follows:T"] {
            case.accepted(Proof::Asserted(asserted(&case, formulas)), property);
        }
    }
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    let case = Case::new(ASKED);
    let after = case.term("(<= 0 x')");
    let good = asserted(&case, POSITIVE);
    let rejected = |because: &str, change: &dyn Fn(&mut AssertedProof)| {
        for property in ["assert:3", "follows:T"] {
            let mut changed = good.clone();
            change(&mut changed);
            case.rejected(Proof::Asserted(changed), property, because);
        }
    };
    // AS1: one for each, over what the machine may name.
    let list = "one formula for each assertion";
    rejected(list, &|p| {
        p.assertions.pop();
    });
    rejected(list, &|p| p.assertions.push(p.assertions[0]));
    rejected(list, &|p| p.assertions.reverse());
    rejected(list, &|p| p.assertions[1].state = 7);
    rejected("no such machine", &|p| p.assertions[0].machine = program::MachineId(3));
    rejected("AS1", &|p| p.assertions[0].formula = after);
    // AS2: a composition, of the program with these assertions.
    rejected("is no composition", &|p| match &p.proof.proof {
        Proof::Composed(c) => p.proof.proof = Proof::Simulation(c.simulations[0].clone()),
        other => panic!("inside is {}", other.form()),
    });
    rejected("is no composition", &|p| match &p.proof.proof {
        Proof::Composed(c) => p.proof = c.composition.clone(),
        other => panic!("inside is {}", other.form()),
    });
    rejected("is no composition", &|p| {
        p.proof.proof = Proof::Asserted(good.clone());
    });
    rejected("does not claim what is needed", &|p| p.proof.properties.clear());
    rejected("CM2", &|p| match &mut p.proof.proof {
        Proof::Composed(c) => c.composition.properties.clear(),
        other => panic!("inside is {}", other.form()),
    });
    // Its terms are those of the program that the checker fills in.
    rejected("another program", &|p| p.proof.terms = logic::Terms::new());
}

#[test]
fn check_assertions_that_the_composition_does_not_keep_are_rejected() {
    let case = Case::new(ASKED);
    for formulas in [["false", "false"], ["(<= 0 x)", "false"], ["(<= 1 x)", "(<= 0 x)"], ["(= x 0)", "(= x 0)"]] {
        case.rejected(Proof::Asserted(asserted(&case, formulas)), "follows:T", "is violated");
    }
    // Too weak for what the thread checks.
    case.rejected(Proof::Asserted(asserted(&case, ["true", "true"])), "assert:3", "SM2");
    // The thread does something else than its machine: then the strongest assertions that are kept are not enough.
    let wrong = Case::new(&ASKED.replace("x := x + 1", "x := x + 2"));
    wrong.rejected(Proof::Asserted(asserted(&wrong, ["(= x 0)", "(= x 1)"])), "follows:T", "SM3");
}

#[test]
fn check_only_assertions_that_are_asked_for_are_filled_in() {
    // The second state asserts something itself: there is one formula for the first, and no other.
    let case = Case::new(&ASKED.replace("state e asserts ?", "state e asserts x >= 0"));
    let asked = asked_assertions(&case.program);
    assert_eq!(asked.len(), 1);
    let of = |state| FoundAssertion { machine: asked[0].0, state, formula: case.term("(<= 0 x)") };
    let with = with_assertions(&case.program, &case.terms, &[of(0)]).expect("it is the one that is asked for");
    let inner = Case::of(with);
    let inside = Box::new(inner.certificate(Proof::Composed(composed(&inner, 10)), &["follows:T"]));
    let proof = |assertions| Proof::Asserted(AssertedProof { assertions, proof: inside.clone() });
    case.accepted(proof(vec![of(0)]), "follows:T");
    for list in [vec![of(0), of(1)], vec![of(1)], vec![]] {
        case.rejected(proof(list), "follows:T", "one formula for each assertion");
    }
    // A program that asks for nothing has no use for the rule, and a machine that asks proves nothing by itself.
    let given = Case::new(ONCE);
    let inner = given.certificate(Proof::Composed(composed(&given, 10)), &["follows:T"]);
    given.accepted(Proof::Asserted(AssertedProof { assertions: Vec::new(), proof: Box::new(inner) }), "follows:T");
    let alone: Certificate = case.certificate(Proof::Simulation(simulation_of(&case)), &["follows:T"]);
    case.rejected(alone.proof, "follows:T", "asked for, not given");
}
