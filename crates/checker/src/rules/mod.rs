//! The proof rules: one table, one file for each. `docs/rules.md` states them, `docs/soundness.md` argues that they are sound.
//!
//! A rule takes a certificate of its form and gives what it establishes, or a typed `Rejection`. It rebuilds every obligation from the
//! program and the certificate; the session puts them to the oracle. What rules share is here: which properties a rule over thread code
//! may speak of. No rule uses a method, a solver or the simplifier.
//! In: a certificate and the session that has the oracle. Out: what it establishes, or why not.

pub(crate) mod asserted;
pub mod assume_guarantee;
pub(crate) mod callers;
pub(crate) mod composed;
pub mod counting;
pub mod environments;
pub mod local_run;
pub mod pairs;
pub(crate) mod performed;
pub mod product;
pub mod quantified;
pub(crate) mod reduction;
pub mod rely_guarantee;
pub(crate) mod runs;
pub mod search;
pub mod simulation;
mod simulation_cuts;
pub mod spec_run;
pub(crate) mod views;

use crate::rejection::{Rejection, SideCondition};
pub(crate) use crate::session::Rule;
use program::semantics::InstanceCounts;
use program::{Code, Copies, Program, PropertyId, PropertyKind, Start};
use std::collections::BTreeSet;

/// Every rule by which something is proved, by the form of its certificates (`Proof::form`).
pub const RULES: [(&str, Rule); 15] = [
    ("rely-guarantee", rely_guarantee::check_rely_guarantee),
    ("assume-guarantee", assume_guarantee::check_assume_guarantee),
    ("environments", environments::check_environments),
    ("product", product::check_product),
    ("pairs", pairs::check_pairs),
    ("quantified", quantified::check_quantified),
    ("counting", counting::check_counting),
    ("search", search::check_search),
    ("views", views::check_views),
    ("simulation", simulation::check_simulation),
    ("composed", composed::check_composed),
    ("asserted", asserted::check_asserted),
    ("reduction", reduction::check_reduction),
    ("performed", performed::check_performed),
    ("callers", callers::check_callers),
];

/// The rule for certificates of a form.
pub(crate) fn rule(form: &str) -> Result<Rule, Rejection> {
    let found = RULES.iter().find(|(name, _)| *name == form);
    found.map(|(_, rule)| *rule).ok_or_else(|| Rejection::missing(format!("no rule is called {form}")))
}

/// A certificate that came to the rule of another form: the table above is wrong.
pub(crate) fn wrong_form() -> Rejection {
    Rejection::missing("the proof is not of the form that its rule reads")
}

/// Rules over thread code speak of gates in that code, of invariants and of relies. A property whose gates stand only in
/// code that no thread runs is not theirs to claim, nor is anything about a file whose code only callers run: the program must be closed
/// by a client first.
pub(crate) fn claimable(program: &Program, claimed: &[PropertyId]) -> Result<(), Rejection> {
    let gates = |codes: &mut dyn Iterator<Item = &Code>| -> BTreeSet<PropertyId> {
        codes.flat_map(|c| c.actions.iter().flat_map(|a| a.gates.iter().map(|g| g.property))).collect()
    };
    let of_threads = gates(&mut program.threads.iter().map(|t| &t.code));
    let procedures = program.procedures.iter().map(|c| &c.code);
    let of_others = gates(&mut procedures.chain(program.objects.iter().flat_map(|o| o.ops.iter().map(|op| &op.code))));
    if !claimed.is_empty() {
        closed(program)?;
    }
    for p in claimed {
        let property = program.properties.get(*p).ok_or(SideCondition::NoSuchProperty)?;
        let (in_threads, elsewhere) = (of_threads.contains(p), of_others.contains(p));
        let fine = match property.kind {
            PropertyKind::Invariant(_) => true,
            // A rely sees an atomic block as one step; rules that look at its steps one by one cannot speak of it.
            PropertyKind::Rely(_) => {
                !program.threads.iter().any(|t| t.code.locations.iter().any(|l| l.in_atomic_block))
            }
            PropertyKind::Performs(_)
            | PropertyKind::Follows(_)
            | PropertyKind::Linearizable(_)
            | PropertyKind::Deadlock
            | PropertyKind::Leak => false,
            PropertyKind::Requires(_) | PropertyKind::Ensures(_) => in_threads,
            _ => in_threads || !elsewhere,
        };
        if !fine {
            return Err(Rejection::not_about(program, *p));
        }
    }
    Ok(())
}

/// The program's runs are its own: it has threads, or no code that callers could run.
pub fn closed(program: &Program) -> Result<(), Rejection> {
    let open = program.threads.is_empty() && !(program.procedures.is_empty() && program.objects.is_empty());
    if open { Err(SideCondition::OpenFile.into()) } else { Ok(()) }
}

/// The formula of a written rely that is claimed, and whose it is.
pub(crate) fn written_rely(
    program: &Program,
    property: PropertyId,
) -> Result<Option<(Option<program::ThreadId>, logic::Term)>, Rejection> {
    let PropertyKind::Rely(at) = program.properties[property].kind else { return Ok(None) };
    let rely = program.relies.get(at as usize).ok_or_else(|| Rejection::shape("there is no such rely"))?;
    match rely.formula {
        Some(formula) => Ok(Some((rely.thread, formula))),
        None => Err(Rejection::outside("a rely that is asked for cannot be claimed")),
    }
}

/// The numbers of instances, where the program fixes them all.
pub(crate) fn fixed_counts(program: &Program) -> Result<InstanceCounts, Rejection> {
    let parametric = program.threads.iter().any(|t| t.start == Start::Initial && t.copies == Copies::Any);
    if parametric {
        return Err(Rejection::outside("it speaks of a fixed number of threads"));
    }
    Ok(InstanceCounts::of(program, 0))
}

/// What is wrong with a certificate of rule `views` before any view is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub String);

impl From<String> for Malformed {
    fn from(s: String) -> Self {
        Malformed(s)
    }
}

impl From<Rejection> for Malformed {
    fn from(rejection: Rejection) -> Self {
        Malformed(rejection.to_string())
    }
}
