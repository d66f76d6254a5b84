//! Compositions with formulas for the assertions that machines ask for, in a file.
//!
//! In: an `AssertedProof` with the pool of its terms, or the JSON of one. Out: the other. What stands inside speaks of the program with these
//! assertions. Deliberately absent: whether they are those that the program asks for, which the checker looks at.

use super::FileError;
use super::read::JsonReader;
use super::terms::{Pool, TermsFromFile};
use crate::certificate::AssertedProof;
use program::Program;
use program::machine_assertions::{FoundAssertion, with_assertions};
use serde_json::{Value as Json, json};

pub(crate) fn write_asserted(program: &Program, p: &AssertedProof, pool: &mut Pool<'_>) -> Json {
    let assertions: Vec<Json> = p
        .assertions
        .iter()
        .map(|f| {
            let machine = &program.machines[f.machine];
            let state = machine.states.get(f.state).map(|s| &s.name);
            json!({ "machine": machine.name, "state": state, "formula": pool.formula(f.formula) })
        })
        .collect();
    let inner = match with_assertions(program, pool.terms(), &p.assertions) {
        Ok(with) => super::certificate(&with, &p.proof),
        Err(why) => json!({ "missing": why }),
    };
    json!({ "form": "asserted", "assertions": assertions, "proof": inner })
}

pub(crate) fn read_asserted(
    program: &Program,
    r: &JsonReader<'_>,
    pool: &TermsFromFile,
    depth: usize,
) -> Result<AssertedProof, FileError> {
    let mut assertions = Vec::new();
    for a in r.field("assertions")?.list()? {
        let (of, at) = (a.field("machine")?, a.field("state")?);
        let name = of.string()?;
        let machine = program.machines.iter_enumerated().find(|(_, m)| m.name == name).map(|(id, _)| id);
        let machine = machine.ok_or_else(|| of.error(format!("no machine is called `{name}`")))?;
        let name = at.string()?;
        let state = program.machines[machine].states.iter().position(|s| s.name == name);
        let state = state.ok_or_else(|| at.error(format!("the machine has no state `{name}`")))?;
        assertions.push(FoundAssertion { machine, state, formula: pool.formula(&a.field("formula")?)? });
    }
    let with = with_assertions(program, &pool.terms, &assertions).map_err(|why| r.error(why))?;
    let proof = Box::new(super::read_certificate(&with, &r.field("proof")?, depth + 1)?);
    Ok(AssertedProof { assertions, proof })
}
