//! Assertions of machines that a program asks for with `?`, and the program in which formulas stand for them.
//!
//! In: a program, and one formula for each state whose assertion is asked for. Out: the program with these assertions; nothing else differs.
//! Abstract Threads: a thread follows its machine for some assertions that the composition keeps.
//! Deliberately absent: where the formulas come from, and whether they are kept.

use crate::model::Program;
use crate::spec::MachineId;
use logic::{Term, Terms};

/// What a state asserts, found for an assertion that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundAssertion {
    pub machine: MachineId,
    /// By position in the machine.
    pub state: usize,
    /// Over the shared store, the machine's variables and `tid`.
    pub formula: Term,
}

/// The states whose assertions are asked for, of machines that some thread follows.
pub fn asked_assertions(program: &Program) -> Vec<(MachineId, usize)> {
    let followed = |m: &MachineId| program.threads.iter().any(|t| t.follows.is_some_and(|(own, _)| own == *m));
    let states = |m: MachineId| {
        let asked = move |s: &usize| program.machines[m].states[*s].assertion == Some(None);
        (0..program.machines[m].states.len()).filter(asked).map(move |s| (m, s))
    };
    program.machines.ids().filter(followed).flat_map(states).collect()
}

/// The program in which the formulas, which are terms of `terms`, are what the states assert; or what is wrong with the list. No symbol
/// is new, so that what is built from the result has the same symbols wherever it is built.
pub fn with_assertions(program: &Program, terms: &Terms, found: &[FoundAssertion]) -> Result<Program, String> {
    let asked = asked_assertions(program);
    let places: Vec<(MachineId, usize)> = found.iter().map(|f| (f.machine, f.state)).collect();
    if places != asked {
        return Err("there is not one formula for each assertion that is asked for".into());
    }
    if (terms.symbol_count(), terms.sort_count()) != (program.terms.symbol_count(), program.terms.sort_count()) {
        return Err("the formulas for assertions name symbols that are not the program's".into());
    }
    let mut out = Program { terms: terms.clone(), ..program.clone() };
    for f in found {
        out.machines[f.machine].states[f.state].assertion = Some(Some(f.formula));
    }
    Ok(out)
}
