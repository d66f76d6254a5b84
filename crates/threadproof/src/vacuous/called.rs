//! Procedures that no caller can call: what they require holds in no store that callers can make.
//!
//! In: a program without threads, of which something was found safe. Out: a warning for each `requires` that is never met, at its line.
//! The most general client (`program::client`) is asked, for one procedure after the other, whether its call can happen. A small search that
//! comes to the call answers yes; else `rely` tries to prove that no client of any number of clients comes to it, and the checker has to
//! accept the proof. All have little effort, and where none answers, nothing is said, nor of a procedure that other code of the file calls.
//! Deliberately absent: a verdict.

use super::{NO_SUCH_CALL, VacuityWarning};
use crate::judge::is_proved;
use base::Budget;
use methods::Switches;
use methods::{ExplorePlan, explore_states};
use methods::{Method, Run, Task};
use program::client::{Callee, Effort, callees, client};
use program::semantics::InstanceCounts;
use program::{Code, Gate, ProcId, Program, Property, PropertyId, PropertyKind};
use std::time::Duration;

/// The small client that is searched, and the most effort of the search and of the proof.
const SMALL: Effort = Effort::Bounded { clients: 2, calls: 2, values: 3 };
const SEARCH_EFFORT: Duration = Duration::from_millis(200);
const PROOF_EFFORT: Duration = Duration::from_secs(1);
/// In a file with more such procedures nothing is said.
const MAX_PROCEDURES: usize = 16;

pub fn warnings(task: &Task, safe: &[PropertyId], budget: &Budget) -> Vec<VacuityWarning> {
    let p = &task.program;
    let restricted: Vec<ProcId> = p
        .procedures
        .iter_enumerated()
        .filter(|(id, q)| !q.inline && q.requires.iter().any(|f| f.formula.is_some()) && !is_called_inside(p, *id))
        .map(|(id, _)| id)
        .collect();
    if !p.threads.is_empty() || safe.is_empty() || restricted.len() > MAX_PROCEDURES {
        return Vec::new();
    }
    // Those that contradict themselves are warned of without any search.
    let known: Vec<VacuityWarning> = {
        let p = &p.clone();
        super::no_such_call(p, &mut super::Contradictions::new(p))
    };
    let found = restricted.into_iter().filter(|id| is_never_called(p, *id, budget)).filter_map(|id| warning(p, id));
    found.filter(|w| known.iter().all(|k| k.span != w.span)).collect()
}

/// Whether other code of the file calls the procedure: then what it requires may be met in the middle of that code, where no client calls.
fn is_called_inside(p: &Program, id: ProcId) -> bool {
    let calls = |code: &Code| {
        let asks = |g: &Gate| matches!(p.properties[g.property].kind, PropertyKind::Requires(callee) if callee == id);
        code.calls.iter().any(|c| c.procedure == id) || code.actions.iter().any(|a| a.gates.iter().any(asks))
    };
    let operations = p.objects.iter().flat_map(|o| o.ops.iter()).map(|op| &op.code);
    let others = p.procedures.iter_enumerated().filter(|(caller, _)| *caller != id).map(|(_, q)| &q.code);
    others.chain(operations).any(calls)
}

fn warning(p: &Program, id: ProcId) -> Option<VacuityWarning> {
    let q = &p.procedures[id];
    let first = q.requires.first()?;
    let message = format!("no caller can satisfy what {} requires: it holds in no store that calls lead to", q.name);
    let warning = VacuityWarning::at(p, NO_SUCH_CALL, first.origin, message);
    Some(warning.label("everything behind it holds for want of a call"))
}

/// Whether no client ever comes to a call of the procedure; false where that is not known.
fn is_never_called(p: &Program, id: ProcId, budget: &Budget) -> bool {
    let Some((small, call)) = calling(p, id, SMALL) else { return false };
    let answer = explore_states(&ExplorePlan {
        program: &small,
        counts: InstanceCounts::of(&small, 0),
        wanted: vec![call],
        switches: Switches::ALL,
        workers: 1,
        depth: usize::MAX,
        budget: budget.share(super::effort_of_search(budget, SEARCH_EFFORT)),
        progress: &|_| {},
        compact: false,
        unreachable: false,
        means: Default::default(),
    });
    if answer.traces.contains_key(&call) || answer.untraced.contains_key(&call) {
        return false;
    }
    let Some((program, call)) = calling(p, id, Effort::Any) else { return false };
    let inner = Task { program, properties: vec![call], threads: Default::default(), options: Default::default() };
    let rely = methods::RelyMethod;
    if rely.admits(&inner).is_err() {
        return false;
    }
    let claims = rely.run(&inner, &Run::quiet(budget.share(PROOF_EFFORT)));
    claims.claims.get(&call).is_some_and(|c| is_proved(&inner.program, call, c, budget))
}

/// The program with its client, in which a call of this procedure goes wrong.
fn calling(p: &Program, id: ProcId, effort: Effort) -> Option<(Program, PropertyId)> {
    let mut client = client(p, &callees(p), effort).ok()?;
    let call = client.calls.iter().find(|c| c.callee == Callee::Procedure(id))?.call;
    let kind = PropertyKind::Assertion;
    let name = format!("called:{}", p.procedures[id].name);
    let property = client.program.properties.push(Property { kind, name, origin: p.procedures[id].origin });
    let formula = client.program.terms.ff();
    client.program.threads[client.thread].code.actions[call].gates.insert(0, Gate { property, formula });
    Some((client.program, property))
}
