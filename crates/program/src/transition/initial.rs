//! What holds at the start: initial values and `init` formulas of the shared store, initial values of locals.
//!
//! In: a program and the terms to build in. Out: facts, one for each variable with a value and one for each formula, or their
//! conjunction. A `?` says nothing. The checker does not use these: its own stand in `checker::obligation`.

use crate::model::{Program, ThreadId, VarId};
use logic::{Term, Terms};

/// Facts about every initial shared store.
pub fn initial_store_facts(program: &Program, terms: &Terms) -> Vec<Term> {
    let mut facts = values(program, terms, program.shared());
    facts.extend(program.init.iter().filter_map(|f| f.formula));
    facts
}

/// What every initial shared store satisfies.
pub fn initial_store(program: &Program, terms: &Terms) -> Term {
    terms.and(&initial_store_facts(program, terms))
}

/// Facts about the locals of a thread's instance where it begins.
pub fn initial_locals_facts(program: &Program, terms: &Terms, thread: ThreadId) -> Vec<Term> {
    values(program, terms, program.threads[thread].locals.iter().copied())
}

/// What the locals of a thread's instance satisfy where it begins.
pub fn initial_locals(program: &Program, terms: &Terms, thread: ThreadId) -> Term {
    terms.and(&initial_locals_facts(program, terms, thread))
}

fn values(program: &Program, terms: &Terms, vars: impl Iterator<Item = VarId>) -> Vec<Term> {
    let value = |v: VarId| program.vars[v].initial.map(|x| terms.eq(terms.sym(program.vars[v].symbol), x));
    vars.filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Copies, InitialFact};
    use crate::semantics::tests::Build;
    use logic::Sort;

    #[test]
    fn check_what_holds_at_the_start_is_values_and_formulas_and_nothing_that_is_asked_for() {
        let mut b = Build::new();
        let x = b.shared("x", Sort::INT, None);
        let y = b.shared("y", Sort::INT, None);
        let t = b.thread("T", Copies::One, 1);
        b.p.vars[x].initial = Some(b.p.terms.int(3));
        let less = b.p.terms.lt(b.p.now(x), b.p.now(y));
        let origin = b.p.vars[x].origin;
        b.p.init.push(InitialFact { formula: Some(less), property: None, origin });
        b.p.init.push(InitialFact { formula: None, property: None, origin });
        let three = b.p.terms.eq(b.p.now(x), b.p.terms.int(3));
        let terms = b.p.terms.clone();
        assert_eq!(initial_store_facts(&b.p, &terms), [three, less]);
        assert!(terms.is_true(initial_locals(&b.p, &terms, t)));
    }
}
