//! The second opinion about a file without threads: few callers that make few calls, in every interleaving.
//!
//! In: a program without threads. Out: runs of callers (or histories of an object) that contradict what was proved for any callers, and how far was looked:
//! `states`, `complete` for the checks and invariants of the code, `histories` for how many small clients of objects were searched in full.
//! The proof and this search share the program and nothing else. All limits are effort, which counts how large the states of many callers are.
//! Deliberately absent: `performs`, which no single run of callers decides.

use super::scout::NAME;
use evidence::{Claim, Claims, ClientRun};
use methods::Switches;
use methods::linear::{ClientBounds, search_histories};
use methods::{ExplorePlan, SearchMeans, explore_states};
use methods::{Method, MethodDescription, Refusal, Run, Task};
use program::callers::callers;
use program::client::Effort;
use program::clients::Against;
use program::semantics::InstanceCounts;
use program::transition::gated_properties;
use program::{Program, PropertyId, PropertyKind};
use std::time::Duration;

/// Two callers of two calls each; integers that are passed are below three.
const SMALL: Effort = Effort::Bounded { clients: 2, calls: 2, values: 3 };
/// Clients of an object: with up to three operations together.
const SMALL_HISTORIES: ClientBounds = ClientBounds { from: 2, least: 2, threads: 2, each: 2, total: 3, independent: 2 };

pub struct SmallCallers {
    pub effort: Duration,
}

impl Method for SmallCallers {
    fn about(&self) -> MethodDescription {
        MethodDescription { name: NAME, summary: "few callers that make few calls", paper: "" }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        callers(&task.program, None, &[], SMALL).map(|_| ()).map_err(Refusal)
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let mut claims = Claims::default();
        code(task, &Run { budget: run.budget.share(self.effort), ..run.inner() }, &mut claims);
        histories(task, &Run { budget: run.budget.share(self.effort), ..run.inner() }, &mut claims);
        claims
    }
}

/// What a run of callers can violate.
fn wanted(program: &Program, client: &Program, asked: &[PropertyId]) -> Vec<PropertyId> {
    let gated = gated_properties(client);
    let is_wanted = |p: &&PropertyId| match program.properties[**p].kind {
        PropertyKind::Invariant(_) | PropertyKind::Rely(_) => true,
        _ => gated.contains(p),
    };
    asked.iter().filter(is_wanted).copied().collect()
}

fn code(task: &Task, run: &Run, claims: &mut Claims) {
    let Ok(client) = callers(&task.program, None, &[], SMALL) else { return };
    let wanted = wanted(&task.program, &client.program, &task.properties);
    if wanted.is_empty() {
        return;
    }
    let answer = explore_states(&ExplorePlan {
        program: &client.program,
        counts: InstanceCounts::of(&client.program, 0),
        wanted,
        switches: Switches::ALL,
        workers: run.workers.max(1),
        depth: usize::MAX,
        budget: run.budget.clone(),
        progress: &|_| {},
        compact: false,
        unreachable: false,
        means: SearchMeans::default(),
    });
    claims.statistics.insert("states".into(), answer.states);
    claims.statistics.insert("complete".into(), answer.incomplete.is_none().into());
    for (property, trace) in answer.traces {
        claims.set(property, Claim::Refuted(ClientRun { effort: SMALL, trace }.into()));
    }
}

fn histories(task: &Task, run: &Run, claims: &mut Claims) {
    let (mut searched, mut complete) = (0, true);
    for (id, object) in task.program.objects.iter_enumerated() {
        if !task.properties.contains(&object.property) {
            continue;
        }
        let found = search_histories(&task.program, id, SMALL_HISTORIES, Against::Orders, run);
        searched += found.searched as u64;
        complete &= found.incomplete.is_none();
        if let Some(violation) = found.found.filter(|f| f.gate.is_none()) {
            claims.set(object.property, Claim::Refuted(violation.history(id).into()));
        }
    }
    claims.statistics.insert("histories".into(), searched);
    claims.statistics.insert("all_histories".into(), complete.into());
}
