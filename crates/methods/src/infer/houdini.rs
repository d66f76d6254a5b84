//! One step of Houdini's elimination: which of many goals do not follow from what is asserted.
//!
//! In: goals and a solver session with premises. Out: the goals that some model breaks, and those that the solver does not decide.
//! All are asked at once and every model drops all goals that it breaks (Flanagan and Leino, Houdini). The
//! loop around it is the method's: it knows which candidates are a premise of which.

use logic::{Term, Terms, Value};
use solver::{Satisfiability, Smt};
use std::collections::BTreeSet;

/// The positions of goals that do not follow. `assumed` are literals for this question alone.
pub(crate) fn refuted_goals(terms: &Terms, goals: &[Term], assumed: &[Term], smt: &mut dyn Smt) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    loop {
        let left: Vec<usize> = (0..goals.len()).filter(|g| !out.contains(g) && !terms.is_true(goals[*g])).collect();
        if left.is_empty() {
            return out;
        }
        smt.push();
        smt.assert(terms.or(&left.iter().map(|g| terms.not(goals[*g])).collect::<Vec<_>>()));
        let answer = smt.check_assuming(assumed);
        let before = out.len();
        if answer == Satisfiability::Sat {
            out.extend(left.iter().filter(|g| smt.value(goals[**g]) == Some(Value::Bool(false))));
        }
        smt.pop();
        match answer {
            Satisfiability::Unsat => return out,
            Satisfiability::Sat if out.len() > before => {}
            // A model that shows nothing, or none: each is asked alone, and what is not known then is given up.
            Satisfiability::Sat | Satisfiability::Unknown(_) => {
                for g in left {
                    smt.push();
                    smt.assert(terms.not(goals[g]));
                    if !smt.check_assuming(assumed).is_unsat() {
                        out.insert(g);
                    }
                    smt.pop();
                }
                return out;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Budget;
    use logic::Sort;
    use solver::{SolverSettings, Z3};

    #[test]
    fn check_goals_that_do_not_follow_are_found_and_the_others_stay() {
        let t = Terms::new();
        let x = t.sym(t.symbol("x", Sort::INT));
        let y = t.sym(t.symbol("y", Sort::INT));
        let mut smt = Z3::new(&t, SolverSettings::default(), &Budget::unlimited()).expect("a session");
        smt.assert(t.lt(x, y));
        let list = vec![t.le(x, y), t.le(y, x), t.ne(x, y), t.le(t.int(0), x), t.tt()];
        assert_eq!(refuted_goals(&t, &list, &[], &mut smt), [1, 3].into());
        assert_eq!(refuted_goals(&t, &list, &[t.le(t.int(5), x)], &mut smt), [1].into(), "with one more premise");
    }
}
