//! Rule `asserted`: assertions of machines that the program asks for with `?`.
//!
//! In: a formula for each such assertion, and a composition of the program with these assertions, which is built again here. Out: what the
//! composition establishes.
//!   AS1  each formula is over the shared store, the variables of its machine and `tid`; there is one for each assertion that is asked for;
//!   AS2  with them, every thread conforms to its machine and the composition cannot go wrong (rule `composed`, perhaps inside `performed`).
//! A program that asks for assertions promises that there are some with which its threads follow their machines and which the composition keeps:
//! these are. Without the composition nothing would follow: whatever asserts `false` is followed by everything.
//! Deliberately absent: simulations alone.

use super::wrong_form;
use crate::obligation::AllowedSymbols;
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{AssertedProof, Certificate, Proof};
use program::machine_assertions::with_assertions;

pub(crate) fn check_asserted(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Asserted(proof) = &c.proof else { return Err(wrong_form()) };
    formulas_are_of_their_machines(session, c, proof)?;
    let program = with_assertions(session.program, &c.terms, &proof.assertions).map_err(Rejection::missing)?;
    if !is_composition(&proof.proof) {
        return Err(Rejection::missing("AS2: inside is no composition"));
    }
    let found = session.check_inner(&program, &proof.proof)?;
    let properties = c.properties.iter().map(|q| (*q, found.shows(*q))).collect();
    Ok(Established { trust: found.trust, properties })
}

/// AS1.
fn formulas_are_of_their_machines(
    session: &CheckSession<'_>,
    c: &Certificate,
    proof: &AssertedProof,
) -> Result<(), Rejection> {
    let p = session.program;
    for f in &proof.assertions {
        let machine = p.machines.get(f.machine).ok_or_else(|| Rejection::shape("there is no such machine"))?;
        let own = machine.vars.iter().map(|v| p.vars[*v].symbol);
        let symbols = AllowedSymbols::shared(p).into_iter().chain(own).chain([p.tid]);
        let what = format!("AS1: an assertion of machine {}", machine.name);
        AllowedSymbols::new(p, symbols).admits(&c.terms, f.formula, &what)?;
    }
    Ok(())
}

/// AS2, by its form: the certificate inside looks at every gate of the composition.
fn is_composition(inside: &Certificate) -> bool {
    match &inside.proof {
        Proof::Composed(_) => true,
        Proof::Performed(p) => matches!(p.proof.proof, Proof::Composed(_)),
        _ => false,
    }
}
