//! What is the same for every unit that is reduced. In: the program with its calls summarised, premises, and a unit that may rely on some of them. Out: facts that hold
//! everywhere, and what others may touch. Deliberately absent: the search itself (`search`).

use super::hiding::{Hiding, mentions};
use super::premises::Premises;
use crate::method::Run;
use logic::{Symbol, Term, Terms};
use program::access::{Touches, constant_facts};
use program::call_summaries::{CallSummaries, CodeUnit};
use program::movers::{LastingPromise, Others};
use program::{ProcId, Program};
use rustc_hash::FxHashSet;

/// What is the same for every unit.
pub(crate) struct ReductionSetting<'a> {
    /// For each procedure, how many actions are its own: those of calls follow them.
    pub own: &'a [usize],
    pub basis: &'a CallSummaries,
    pub p: &'a Program,
    pub terms: &'a Terms,
    pub others: Others<'a>,
    pub touches: Touches<'a>,
    pub facts: Term,
    /// The part of it that is shown of every step: invariants that the program keeps.
    pub invariant: Term,
    /// What the unit may rely on of each step of another thread.
    pub rely: Term,
    /// Procedures that were found never to wait: a call of one goes on by itself.
    pub prompt: &'a [ProcId],
    /// The variables that calls are seen without.
    pub hiding: &'a Hiding,
    /// The symbols of those that the unit does not see.
    pub unseen: FxHashSet<Symbol>,
    pub run: &'a Run,
}

impl<'a> ReductionSetting<'a> {
    pub(super) fn new(
        own: &'a [usize],
        basis: &'a CallSummaries,
        (unit, premises): (CodeUnit, &Premises),
        (prompt, hiding): (&'a [ProcId], &'a Hiding),
        terms: &'a Terms,
        run: &'a Run,
    ) -> Self {
        let p = &basis.program;
        let mut facts = vec![terms.lt(terms.int(0), terms.sym(p.tid))];
        facts.extend(constant_facts(p, terms));
        let unseen = hiding.unseen(p, unit);
        let seen = premises.invariants(p).into_iter().filter(|f| !mentions(terms, *f, &unseen));
        let invariant = terms.and(&seen.collect::<Vec<_>>());
        facts.push(invariant);
        let lasting = LastingPromise { rely: terms.and(&premises.lasting_relies(p, unit)), invariant };
        Self {
            own,
            basis,
            p,
            terms,
            others: Others::new(p, terms).relying(lasting),
            touches: Touches::new(p, terms),
            facts: terms.and(&facts),
            invariant,
            rely: terms.and(&premises.relies(p, unit)),
            prompt,
            hiding,
            unseen,
            run,
        }
    }
}
