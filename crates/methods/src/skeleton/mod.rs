//! `skeleton`: a method as small as a method can be, to be copied. See "Recipe: a method" in CONTRIBUTING.md.
//!
//! In: a program with fixed numbers of instances. Out: for properties that the very first step of some instance violates, the
//! run of that one step; for the others a reason. It is a real method: what it says is checked like anything
//! else. It is not in the registry, because `explore` finds the same runs.
//! Deliberately absent: proofs, and runs of more than one step.

use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use evidence::{Claim, Claims, Reason};
use program::PropertyId;
use program::semantics::{Sampling, Semantics, StepOutcome, Successors, Trace};

pub struct FirstStep;

impl Method for FirstStep {
    fn about(&self) -> MethodDescription {
        MethodDescription { name: "first-step", summary: "violations by the first step of an instance", paper: "none" }
    }

    /// "Partly supported" is a refusal: say in a sentence what stands in the way.
    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        if task.program.threads.is_empty() || task.is_parametric() {
            return Err(Refusal("the numbers of instances are not fixed".into()));
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let sem = Semantics::new(&task.program);
        let instances = task.instances(0);
        let mut claims = Claims::default();
        for (state, initial) in sem.initial(&instances, Sampling::default()).states {
            // Often enough to stop within a fraction of a second.
            if let Err(why) = run.budget.check() {
                return undecided(claims, task, &Reason::Exhausted(why));
            }
            run.progress("first-step: one more initial state");
            let mut moves = Successors::default();
            (0..state.instances.len()).for_each(|i| sem.moves(&state, i, Sampling::default(), &mut moves));
            for outcome in moves.outcomes {
                let StepOutcome::Wrong { step, property, .. } = outcome else { continue };
                if !task.properties.contains(&property) || claims.claims.contains_key(&property) {
                    continue;
                }
                let (initial, steps) = (initial.clone(), vec![step]);
                let trace =
                    Trace { instances: instances.clone(), initial, steps, finally: Vec::new(), violates: property };
                claims.set(property, Claim::Refuted(trace.into()));
                // What is certain is handed over at once: nothing that happens later takes it back.
                run.publish(&claims);
            }
        }
        undecided(claims, task, &Reason::Incomplete("only the first step of each instance was tried".into()))
    }
}

/// A reason for every wanted property without a claim.
fn undecided(mut claims: Claims, task: &Task, reason: &Reason) -> Claims {
    let open: Vec<PropertyId> = task.properties.iter().copied().filter(|q| !claims.claims.contains_key(q)).collect();
    open.into_iter().for_each(|q| claims.set(q, Claim::Undecided(reason.clone())));
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::parsed;
    use base::Budget;
    use checker::{CheckLimits, Checker, Outcome as Verdict};
    use std::sync::{Arc, Mutex};

    #[test]
    fn check_the_skeleton_refutes_by_one_step_publishes_it_and_says_why_it_does_not_decide_the_rest() {
        let p = parsed("var x: int = 0; thread A { assert x > 0; } thread B { x := 1; assert x == 1; }");
        let task = Task {
            properties: p.properties.ids().collect(),
            program: p.clone(),
            threads: Default::default(),
            options: Default::default(),
        };
        assert!(FirstStep.admits(&task).is_ok());
        let published = Arc::new(Mutex::new(0));
        let count = published.clone();
        let publisher: crate::method::Publisher =
            Arc::new(move |c: &Claims| *count.lock().expect("a count") = c.claims.len());
        let run = Run { publisher, ..Run::quiet(Budget::unlimited()) };
        let claims = FirstStep.run(&task, &run);
        assert_eq!(*published.lock().expect("a count"), 1);
        let mut oracle = testkit::oracle::Again;
        let mut checker = Checker::new(&p, &mut oracle, CheckLimits::default());
        let verdicts: Vec<Verdict> =
            claims.claims.iter().map(|(q, c)| checker.check(*q, "first-step", c).outcome()).collect();
        assert_eq!(verdicts, [Verdict::Unsafe, Verdict::Unknown]);
    }

    #[test]
    fn check_the_skeleton_refuses_programs_for_any_number_of_threads() {
        let p = parsed("var x: int = 0; thread A[*] { assert x > 0; }");
        let task =
            Task { properties: Vec::new(), program: p, threads: Default::default(), options: Default::default() };
        assert!(FirstStep.admits(&task).is_err());
    }
}
