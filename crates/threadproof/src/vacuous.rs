//! Whether a program has any first store: if not, everything is true of it and nothing is meant.
//!
//! In: a program. Out: a warning at its first `init` formula, where the reference semantics finds no first store and the
//! solver finds the formulas and the initial values contradictory. Deliberately absent: any effect on a verdict.

use base::{Budget, Code, Diagnostic};
use program::Program;
use program::semantics::{Instances, Sampling, Semantics};
use solver::{Settings, Smt, Z3};
use std::time::Duration;

const NO_START: Code = Code("W0501");

/// Longer than this is not worth a warning.
const LONGEST: Duration = Duration::from_secs(1);

pub fn warning(program: &Program) -> Option<Diagnostic> {
    let first = program.init.first()?;
    // Most programs show a first store at once; only the others are worth a solver.
    let starts = Semantics::new(program).initial(&Instances::of(program, 1), Sampling::default());
    if !starts.states.is_empty() {
        return None;
    }
    let t = &program.terms;
    let settings = Settings { limit: 1_000_000, ..Settings::default() };
    let mut smt = Z3::new(t, settings, &Budget::unlimited().with_time(LONGEST)).ok()?;
    for v in program.shared() {
        if let Some(value) = program.vars[v].initial {
            smt.assert(t.eq(t.sym(program.vars[v].symbol), value));
        }
    }
    program.init.iter().filter_map(|f| f.formula).for_each(|f| smt.assert(f));
    if !smt.check().is_unsat() {
        return None;
    }
    let span = program.origins[first.origin].span?;
    let message = "no store satisfies every `init` and the initial values of the variables";
    let told = Diagnostic::warning(NO_START, span, message).label("the program has no run, so every property holds");
    Some(told.hint("a lock starts free and a set starts empty, unless it is declared with another value"))
}
