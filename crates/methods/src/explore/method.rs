//! `explore` as a method: reads the options, chooses numbers of instances, makes claims of answers.
//!
//! In: a task. Out: claims: a trace for what was reached, an exhaustive search where nothing was cut off, else a
//! reason.

use super::run::{Exploration, ExplorePlan, SearchMeans, explore_states};
use super::search::SearchProgress;
use super::shared::SearchStop;
use super::spread::Members;
use super::system::Switches;
use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use base::Exhausted;
use evidence::certificate::{Certificate, ExhaustiveSearch, Proof};
use evidence::{Claim, Claims, Reason};
use program::semantics::{InstanceCounts, Trace};
use program::transition::claimable_of_threads;
use program::{LocId, Program, PropertyId, PropertyKind, ThreadId};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Every interleaving of finitely many instances.
pub struct Explore;

/// The same, with other processes or a folder for logs.
pub struct ExploreWith {
    pub members: Option<Arc<Members>>,
    pub checkpoint: Option<PathBuf>,
    pub disk: Option<PathBuf>,
}

impl Method for ExploreWith {
    fn about(&self) -> MethodDescription {
        Explore.about()
    }
    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        Explore.admits(task)
    }
    fn run(&self, task: &Task, run: &Run) -> Claims {
        let means = SearchMeans {
            members: self.members.as_deref(),
            checkpoint: self.checkpoint.as_deref(),
            disk: self.disk.as_deref(),
        };
        explore_task(task, run, means)
    }
}

/// Properties that single runs violate.
pub(crate) fn speaks_of(kind: &PropertyKind) -> bool {
    !matches!(kind, PropertyKind::Performs(_) | PropertyKind::Follows(_) | PropertyKind::Linearizable(_))
}

/// How far the search for bugs of any number of instances goes, unless told otherwise.
const MAX_INSTANCES: u32 = 6;

#[derive(Clone, Copy)]
struct ExploreOptions<'a> {
    switches: Switches,
    workers: usize,
    depth: usize,
    most: u32,
    compact: bool,
    unreachable: bool,
    means: SearchMeans<'a>,
}

fn read<'a>(task: &Task, run: &Run, means: SearchMeans<'a>) -> Result<ExploreOptions<'a>, String> {
    let mut out = ExploreOptions {
        switches: Switches::ALL,
        workers: run.workers.max(1),
        depth: usize::MAX,
        most: MAX_INSTANCES,
        compact: false,
        unreachable: false,
        means,
    };
    for (name, value) in &task.options.0 {
        let number = || value.parse::<usize>().map_err(|_| format!("`{name}` is a number, not `{value}`"));
        let switch = || match value.as_str() {
            "on" => Ok(true),
            "off" => Ok(false),
            other => Err(format!("`{name}` is `on` or `off`, not `{other}`")),
        };
        match name.as_str() {
            "por" => out.switches.por = switch()?,
            "symmetry" => out.switches.symmetry = switch()?,
            "dead" => out.switches.dead = switch()?,
            "heap" => out.switches.heap = switch()?,
            "compact" => out.compact = switch()?,
            "unreachable" => out.unreachable = switch()?,
            "workers" => out.workers = number()?.clamp(1, 256),
            "depth" => out.depth = number()?,
            "instances" => out.most = number()? as u32,
            _ => {}
        }
    }
    Ok(out)
}

impl Method for Explore {
    fn about(&self) -> MethodDescription {
        MethodDescription {
            name: "explore",
            summary: "every interleaving of finitely many instances, with the shortest trace",
            paper: "explicit-state search, as SPIN's in Abstract Threads",
        }
    }
    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        if task.program.threads.is_empty() {
            return Err(Refusal("there is no thread to run".into()));
        }
        if !task.properties.iter().any(|p| speaks_of(&task.program.properties[*p].kind)) {
            return Err(Refusal("no property is a matter of single runs".into()));
        }
        Ok(())
    }
    fn run(&self, task: &Task, run: &Run) -> Claims {
        explore_task(task, run, SearchMeans::default())
    }
}

fn explore_task(task: &Task, run: &Run, means: SearchMeans<'_>) -> Claims {
    let kind = |p: &PropertyId| &task.program.properties[*p].kind;
    let mut wanted: Vec<PropertyId> = task.properties.iter().copied().filter(|p| speaks_of(kind(p))).collect();
    // Whether a construct outside the model is reached decides what else can be said.
    for (id, p) in task.program.properties.iter_enumerated() {
        if matches!(p.kind, PropertyKind::Unmodelled(_)) && !wanted.contains(&id) {
            wanted.push(id);
        }
    }
    let options = match read(task, run, means) {
        Ok(options) => options,
        Err(why) => return Claims::undecided(wanted, Reason::NotAdmitted(why)),
    };
    if task.is_parametric() {
        search_for_bugs(task, run, &wanted, &options)
    } else {
        settle(task, run, wanted, &options)
    }
}

fn answer(
    task: &Task,
    run: &Run,
    wanted: &[PropertyId],
    options: &ExploreOptions<'_>,
    counts: InstanceCounts,
) -> Exploration {
    let processes = options.means.members.map(Members::processes);
    let show = |p: &SearchProgress| {
        run.progress(format!(
            "explore: {} states, {}/s, queue {}, depth {}, {} MB, {} bytes a state, {}{}",
            short(p.states),
            short(p.per_second as u64),
            short(p.queue),
            p.depth,
            p.bytes >> 20,
            p.bytes / p.states.max(1),
            processes.map_or_else(String::new, |n| format!("{n} processes, {} MB sent, ", p.sent >> 20)),
            p.to_come.map_or("still growing".into(), |n| format!("about {} to come", short(n)))
        ));
    };
    explore_states(&ExplorePlan {
        program: &task.program,
        counts,
        wanted: wanted.to_vec(),
        switches: options.switches,
        workers: options.workers,
        depth: options.depth,
        budget: run.budget.clone(),
        progress: &show,
        compact: options.compact,
        unreachable: options.unreachable,
        means: options.means,
    })
}

fn short(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..10_000_000 => format!("{:.1} k", n as f64 / 1e3),
        _ => format!("{:.1} M", n as f64 / 1e6),
    }
}

fn statistics(claims: &mut Claims, a: &Exploration) {
    let s = &mut claims.statistics;
    // Of several searches the largest.
    let largest = s.get("states").copied().unwrap_or(0).max(a.states);
    s.insert("states".into(), largest);
    s.insert("transitions".into(), a.transitions);
    s.insert("depth".into(), a.depth as u64);
    s.insert("bytes".into(), a.bytes);
    s.insert("words".into(), a.words as u64);
    s.insert("restarts".into(), a.restarts as u64);
    s.insert("interpreted_actions".into(), a.slow as u64);
    s.insert("states_per_second".into(), (a.states as f64 / a.seconds.max(1e-6)) as u64);
    claims.notes.extend(a.notes.iter().cloned());
    if let Some(why) = &a.long {
        claims.notes.push(format!("a trace may be longer than needed: {why}"));
    }
}

/// What the user asked to be shown of code that no run reaches.
fn tell_unreached(task: &Task, claims: &mut Claims, a: &Exploration) {
    if let Some(why) = &a.incomplete {
        return claims.notes.push(format!("which code is never reached is not known: {why}"));
    }
    // A location without a way out is an end; one without a way in is not code of its own.
    let written = |(t, at): &&(ThreadId, LocId)| task.program.threads[*t].code.actions.iter().any(|x| x.from == *at);
    let lines: Vec<String> = a
        .unreached
        .iter()
        .filter(written)
        .map(|(t, at)| {
            let thread = &task.program.threads[*t];
            format!("never reached in {}: `{}`", thread.name, thread.code.locations[*at].name)
        })
        .collect();
    match lines.is_empty() {
        true => claims.notes.push("all code is reached".into()),
        false => claims.notes.extend(lines),
    }
}

fn reason(a: &Exploration) -> Reason {
    match (&a.stopped, &a.incomplete) {
        (Some(SearchStop::Exhausted(Exhausted::Cancelled)), _) => Reason::Exhausted(Exhausted::Cancelled),
        (_, Some(why)) => Reason::Incomplete(why.clone()),
        _ => Reason::Internal("a search ended for no reason".into()),
    }
}

/// Whether a violation of the property counts against the program.
fn is_unmodelled(task: &Task, p: PropertyId) -> bool {
    matches!(task.program.properties[p].kind, PropertyKind::Unmodelled(_))
}

fn refute(task: &Task, a: &Exploration, claims: &mut Claims) {
    for (p, trace) in &a.traces {
        let claim = match &task.program.properties[*p].kind {
            PropertyKind::Unmodelled(what) => {
                Claim::Undecided(Reason::Incomplete(format!("a run reaches a construct outside the model: {what}")))
            }
            _ => Claim::Refuted(trace.clone().into()),
        };
        claims.set(*p, claim);
    }
    for (p, why) in &a.untraced {
        claims.set(*p, Claim::Undecided(Reason::Internal(why.clone())));
    }
}

/// Whether a finished search shows the property: deadlocks and leaks are looked for in its states.
fn is_claimable(program: &Program, p: PropertyId) -> bool {
    matches!(program.properties[p].kind, PropertyKind::Deadlock | PropertyKind::Leak)
        || claimable_of_threads(program, p)
}

/// Fixed numbers of instances: every property is decided if every state was seen.
fn settle(task: &Task, run: &Run, wanted: Vec<PropertyId>, options: &ExploreOptions<'_>) -> Claims {
    let mut a = answer(task, run, &wanted, options, task.instances(0));
    let mut claims = Claims::default();
    // All properties violated is a complete answer for them.
    if a.stopped == Some(SearchStop::AllFound) {
        a.stopped = None;
    }
    statistics(&mut claims, &a);
    claims.statistics.insert("complete".into(), a.incomplete.is_none().into());
    if options.unreachable {
        tell_unreached(task, &mut claims, &a);
    }
    refute(task, &a, &mut claims);
    let rest: Vec<PropertyId> = wanted.iter().copied().filter(|p| !claims.claims.contains_key(p)).collect();
    let outside = wanted.iter().any(|p| is_unmodelled(task, *p) && claims.claims.contains_key(p));
    if a.incomplete.is_some() {
        for p in rest {
            claims.set(p, Claim::Undecided(reason(&a)));
        }
    } else if outside {
        for p in rest {
            claims.set(p, Claim::Undecided(Reason::Incomplete("a run reaches a construct outside the model".into())));
        }
    } else {
        // One property of which a search says nothing would cost the whole certificate.
        let (rest, others): (Vec<PropertyId>, Vec<PropertyId>) =
            rest.into_iter().partition(|p| is_claimable(&task.program, *p));
        for p in others {
            claims.set(
                p,
                Claim::Undecided(Reason::NotAdmitted("a search of the threads' runs says nothing about it".into())),
            );
        }
        if rest.is_empty() {
            return claims;
        }
        // Terms are not `Sync`; a claim stays with the thread that reads it.
        #[allow(clippy::arc_with_non_send_sync)]
        let certificate = Arc::new(Certificate {
            method: "explore".into(),
            terms: task.program.terms.clone(),
            properties: rest.clone(),
            proof: Proof::Search(ExhaustiveSearch { instances: task.instances(0).0, states: a.states }),
        });
        for p in rest {
            claims.set(p, Claim::Proved(certificate.clone()));
        }
    }
    claims
}

/// A violation was found with `n` instances of each thread of any number, and none with fewer of each: the run with the
/// fewest instances in all, where not all of them are needed.
fn with_fewer(task: &Task, run: &Run, options: &ExploreOptions<'_>, property: PropertyId, n: u32) -> Option<Trace> {
    // That everybody waits may well need that no other thread is there.
    if task.program.properties[property].kind == PropertyKind::Deadlock {
        return None;
    }
    let budget = run.budget.share(FEWER_INSTANCES_EFFORT);
    let run = Run { budget, ..run.clone() };
    let all = task.instances(n);
    let none = task.instances(0);
    let any: Vec<usize> = (0..all.0.len()).filter(|t| all.0[*t] != none.0[*t]).collect();
    let mut choices: Vec<InstanceCounts> = vec![none];
    for t in any {
        let with = |c: &InstanceCounts, k: u32| {
            let mut c = c.clone();
            c.0[t] = k;
            c
        };
        choices = choices.iter().flat_map(|c| (0..=n).map(|k| with(c, k)).collect::<Vec<_>>()).collect();
        if choices.len() > MAX_CHOICES {
            return None;
        }
    }
    // With fewer of each there is none, unless none was asked for before.
    choices.retain(|c| {
        *c != all && (n == 1 || c.0.iter().zip(&all.0).zip(&task.instances(0).0).any(|((c, a), z)| c == a && a != z))
    });
    choices.sort_by_key(|c| c.0.iter().sum::<u32>());
    for counts in choices {
        let found = answer(task, &run, &[property], options, counts).traces.remove(&property);
        if found.is_some() || run.budget.check().is_err() {
            return found;
        }
    }
    None
}

/// How much effort, and among how many numbers of instances, fewer ones are looked for.
const FEWER_INSTANCES_EFFORT: Duration = Duration::from_millis(500);
const MAX_CHOICES: usize = 400;

/// How deep the rounds of a search for bugs go, and how much effort each number of instances gets; the last has no limit.
/// A few instances may have endlessly many states while two more steps of others would show the bug.
const ROUNDS: [(usize, Option<Duration>); 5] = [
    (64, Some(Duration::from_millis(250))),
    (512, Some(Duration::from_secs(1))),
    (usize::MAX, Some(Duration::from_secs(4))),
    (usize::MAX, Some(Duration::from_secs(30))),
    (usize::MAX, None),
];

/// Any number of instances: more and more of them, deeper and deeper, until every property is violated or the budget ends.
fn search_for_bugs(task: &Task, run: &Run, wanted: &[PropertyId], options: &ExploreOptions<'_>) -> Claims {
    let mut claims = Claims::default();
    let mut left = wanted.to_vec();
    let mut last = None;
    let mut complete = BTreeSet::new();
    'rounds: for (depth, share) in ROUNDS {
        let options = ExploreOptions { depth: depth.min(options.depth), ..*options };
        for n in 1..=options.most {
            if complete.contains(&n) {
                continue;
            }
            let slice = share.map_or_else(|| run.budget.clone(), |effort| run.budget.share(effort));
            let slice = Run { budget: slice, ..run.clone() };
            let mut a = answer(task, &slice, &left, &options, task.instances(n));
            for (p, trace) in &mut a.traces {
                if let Some(smaller) = with_fewer(task, run, &options, *p, n) {
                    *trace = smaller;
                }
            }
            refute(task, &a, &mut claims);
            run.publish(&claims);
            left.retain(|p| !claims.claims.contains_key(p));
            statistics(&mut claims, &a);
            if a.incomplete.is_none() {
                complete.insert(n);
            }
            let full = a.stopped == Some(SearchStop::Exhausted(Exhausted::Memory));
            last = Some(a);
            if left.is_empty() || full || run.budget.check().is_err() {
                break 'rounds;
            }
        }
    }
    let done = (1..).take_while(|n| complete.contains(n)).last().unwrap_or(0);
    claims.statistics.insert("instances".into(), done.into());
    for p in left {
        let why = match &last {
            Some(a) if done == 0 => reason(a),
            _ => Reason::Incomplete(format!("no violation with up to {done} instances of each thread of any number")),
        };
        claims.set(p, Claim::Undecided(why));
    }
    claims
}
