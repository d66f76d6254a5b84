//! Rule `simulation`, with sets of candidates one by one: what is accepted, and for each premise and side condition one that lacks it.
//!
//! The same rule by formulas is in `simulation_cuts`.

use crate::case::Case;
use evidence::{Proof, Simulation, SimulationPair};

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
    Simulation { thread, pairs: code.locations.ids().map(pair).collect(), symbolic: None }
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
