//! The method `shape`: from a task to claims.
//!
//! In: a program with objects, or with threads over a heap. Out: for each object "linearizable" with the views as evidence, for
//! every check inside the code "never fails" with the same evidence; or the alarm. An alarm is first tried on small numbers
//! of threads by search; what stays abstract is "unknown".

use super::build::{Hold, Question, build};
use super::certify;
use super::domain::{Domain, StepId};
use super::eval::Alarm;
use super::model::{LockPrecision, Model};
use super::points::assignments;
use super::quantified::{Figures, OnAlarm, Quantified, ViewParent, fixpoint};
use super::takes::candidates;
use crate::explore::linear;
use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use evidence::views::SpecPoint;
use evidence::{Certificate, Claim, Claims, History, Proof, Reason};
use logic::SortKind;
use program::clients::Against;
use program::{Code, ObjectId, Program, PropertyId, PropertyKind, VarId, VarKind};
use std::collections::BTreeSet;
use std::sync::Arc;

pub struct Shape;

/// How long an alarm is tried on small numbers of clients, for each range of them.
const CONCRETE: std::time::Duration = std::time::Duration::from_secs(20);

/// How long the smallest clients are tried before single runs are.
const SOON: std::time::Duration = std::time::Duration::from_secs(4);

/// How long points are tried before an alarm is tried on small numbers of clients.
const QUICK: std::time::Duration = std::time::Duration::from_secs(30);

/// How many choices of roots are tried.
const MAX_ROOT_CHOICES: usize = 9;

/// More views than this and the domain is not the right one for the program.
const MAX_VIEWS: usize = 60_000;

impl Method for Shape {
    fn about(&self) -> MethodDescription {
        MethodDescription {
            name: "shape",
            summary: "heaps and linearizable objects, for any number of threads",
            paper: "Thread Quantification for Concurrent Shape Analysis",
        }
    }
    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        let p = &task.program;
        if p.classes.is_empty() && p.objects.is_empty() {
            return Err(Refusal("the program has no heap".into()));
        }
        if !task.threads.is_empty() {
            return Err(Refusal("a fixed number of threads was asked for".into()));
        }
        let mut why = String::from("none of the properties is about an object or about a check in thread code");
        let subjects = subjects(p, &task.properties);
        for s in subjects {
            // An object that the domain cannot represent can still be run: a history may show that it is wrong.
            if s.is_some() {
                return Ok(());
            }
            match build(p, &Question::default()) {
                Ok(_) => return Ok(()),
                Err(e) => why = e,
            }
        }
        Err(Refusal(why))
    }
    fn run(&self, task: &Task, run: &Run) -> Claims {
        let mut claims = Claims::default();
        for subject in subjects(&task.program, &task.properties) {
            analyse(task, run, subject, &mut claims);
            run.publish(&claims);
        }
        claims
    }
}

/// The objects and the threads that wanted properties are about.
fn subjects(p: &Program, wanted: &[PropertyId]) -> Vec<Option<ObjectId>> {
    let mut out = Vec::new();
    for id in p.objects.ids() {
        if !about(p, Some(id), wanted).is_empty() {
            out.push(Some(id));
        }
    }
    if !p.threads.is_empty() && !about(p, None, wanted).is_empty() {
        out.push(None);
    }
    out
}

/// The wanted properties that an analysis of the object (or of the threads) speaks of.
fn about(p: &Program, subject: Option<ObjectId>, wanted: &[PropertyId]) -> Vec<PropertyId> {
    let codes: Vec<&Code> = match subject {
        Some(o) => p.objects[o].ops.iter().map(|op| &op.code).collect(),
        None => p.threads.iter().map(|t| &t.code).collect(),
    };
    // Where there are threads, checks inside operations are about their calls.
    let asked = subject.is_none() || p.threads.is_empty();
    let gated = |id: PropertyId| {
        asked && codes.iter().any(|c| c.actions.iter().any(|a| a.gates.iter().any(|g| g.property == id)))
    };
    wanted
        .iter()
        .copied()
        .filter(|id| match &p.properties[*id].kind {
            PropertyKind::Linearizable(o) => Some(*o) == subject,
            PropertyKind::Assertion
            | PropertyKind::Division
            | PropertyKind::Null
            | PropertyKind::Freed
            | PropertyKind::Release
            | PropertyKind::Bounds
            | PropertyKind::Overflow
            | PropertyKind::Access(_)
            | PropertyKind::Unmodelled(_) => gated(*id),
            PropertyKind::Leak => subject.is_none(),
            _ => false,
        })
        .collect()
}

/// A finished analysis of one subject.
pub(crate) struct Analysis {
    pub model: Model,
    pub views: Vec<super::view::PackedView>,
    pub(crate) figures: Figures,
    pub(crate) alarms: Vec<(Alarm, Vec<String>)>,
}

/// What an analysis is about: an object or the threads of the program, and whether these lose nothing.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub object: Option<ObjectId>,
    pub hold: Option<Hold>,
}

impl From<Option<ObjectId>> for Subject {
    fn from(object: Option<ObjectId>) -> Self {
        Self { object, hold: None }
    }
}

/// Runs the fixpoint, trying candidates for linearization points until one has no alarm. `locks`: what is kept of locks inside
/// objects where there are many.
pub(crate) fn search_fixpoint(
    program: &Program,
    subject: impl Into<Subject>,
    locks: LockPrecision,
    run: &Run,
) -> Result<(Analysis, usize), Reason> {
    let subject = subject.into();
    let mut first: Option<Analysis> = None;
    let mut count = 0;
    for points in tries(program, subject.object) {
        count += 1;
        let analysis = match attempt(program, subject.clone(), points, locks, run) {
            Ok(analysis) => analysis,
            Err(Reason::Exhausted(_)) if first.is_some() => break,
            Err(reason) => return Err(reason),
        };
        run.progress(format!(
            "shape: {} views, {} pairs, points tried: {count}",
            analysis.views.len(),
            analysis.figures.pairs
        ));
        // An alarm of a check in the code does not depend on the points.
        let points_matter = analysis.alarms.iter().all(|(a, _)| matches!(a, Alarm::Results(_) | Alarm::Lost(_)));
        if analysis.alarms.is_empty() || !points_matter {
            return Ok((analysis, count));
        }
        first.get_or_insert(analysis);
    }
    first.map(|a| (a, count)).ok_or_else(|| Reason::Incomplete("no linearization point to try".into()))
}

/// The candidates for points, the likely ones first.
pub(crate) fn tries(program: &Program, subject: Option<ObjectId>) -> Vec<Vec<SpecPoint>> {
    subject.map_or_else(|| vec![Vec::new()], |o| assignments(program, o))
}

/// Runs the fixpoint with these points.
pub(crate) fn attempt(
    program: &Program,
    subject: impl Into<Subject>,
    points: Vec<SpecPoint>,
    locks: LockPrecision,
    run: &Run,
) -> Result<Analysis, Reason> {
    let Subject { object, hold } = subject.into();
    let mut takes = candidates(program, object);
    if !takes.is_empty() {
        let question = Question { object, points: points.clone(), takes, hold: hold.clone() };
        takes = build(program, &question).map_err(Reason::NotAdmitted)?.used_takes();
    }
    loop {
        let question = Question { object, points: points.clone(), takes: takes.clone(), hold: hold.clone() };
        let analysis = close(program, &question, locks, run)?;
        // A cell that cannot be shown to be the thread's alone is not taken there.
        let kept = |i: usize| analysis.alarms.iter().any(|(a, _)| *a == Alarm::Kept(i));
        let left: Vec<_> = takes.iter().enumerate().filter(|(i, _)| !kept(*i)).map(|(_, t)| *t).collect();
        if left.len() == takes.len() {
            return Ok(analysis);
        }
        takes = left;
    }
}

/// The fixpoint for one question.
fn close(program: &Program, question: &Question, locks: LockPrecision, run: &Run) -> Result<Analysis, Reason> {
    let subject = question.object;
    let mut model = build(program, question).map_err(Reason::NotAdmitted)?;
    if model.many_locks() {
        model.locks = locks;
    }
    let on_alarm = if subject.is_some() { OnAlarm::Stop } else { OnAlarm::GoOn };
    let domain = Domain { model: &model };
    if let Err(a) = domain.starts() {
        return Err(Reason::Alarm(describe_alarm(program, &a)));
    }
    let found = fixpoint(&domain, &run.budget, MAX_VIEWS, on_alarm).map_err(|(e, _)| Reason::Exhausted(e))?;
    let alarms = found.alarms.iter().map(|(a, at, step)| (a.clone(), trace(program, &model, &found, *at, *step)));
    let alarms = alarms.collect();
    let figures = found.figures;
    let views = found.entries.into_iter().map(|e| e.view).collect();
    Ok(Analysis { model, views, figures, alarms })
}

/// Proves what can be proved. A history that no order of the calls explains is looked for before the less likely points have cost much time.
fn decide(p: &Program, subject: &Subject, run: &Run) -> (Result<(Analysis, usize), Reason>, Option<History>) {
    let failed = |f: &Result<(Analysis, usize), Reason>| f.as_ref().map_or(true, |(a, _)| !a.alarms.is_empty());
    let quick = Run { budget: run.budget.share(QUICK), ..run.inner() };
    let mut found = search_fixpoint(p, subject.clone(), LockPrecision::Own, &quick);
    if !failed(&found) {
        return (found, None);
    }
    let stopped = quick.budget.check().is_err();
    let history = subject.object.and_then(|o| concrete(p, o, run));
    if history.is_some() {
        return (found, history);
    }
    if stopped {
        found = search_fixpoint(p, subject.clone(), LockPrecision::Own, run);
    }
    // What was kept of locks may have been too little.
    if matches!(&found, Ok((a, _)) if !a.alarms.is_empty() && a.model.locks == LockPrecision::Own) {
        let more = search_fixpoint(p, subject.clone(), LockPrecision::Exact, run);
        if !failed(&more) {
            found = more;
        }
    }
    (found, None)
}

/// An analysis in which no step loses an object, with the first choice of roots that works; else why there is none. A step that may lose
/// something goes on all the same, so that nothing else is shown by an analysis with such an alarm.
fn holding(p: &Program, subject: Option<ObjectId>, leak: PropertyId, run: &Run) -> Result<(Analysis, usize), Reason> {
    let mut first = None;
    for roots in roots(p) {
        let subject = Subject { object: subject, hold: Some(Hold { leak, roots }) };
        let (found, _) = decide(p, &subject, run);
        let alarm = match found {
            Ok(found) => {
                match found.0.alarms.iter().find(|(a, _)| matches!(a, Alarm::Lost(_)) || *a == Alarm::Gate(leak)) {
                    None => return Ok(found),
                    Some((a, steps)) => {
                        let why = format!("{}; abstract run: {}", describe_alarm(p, a), steps.join("; "));
                        if matches!(a, Alarm::Lost(_)) {
                            return Err(Reason::Alarm(why));
                        }
                        Reason::Alarm(why)
                    }
                }
            }
            Err(why @ Reason::Alarm(_)) => why,
            Err(why) => return Err(first.unwrap_or(why)),
        };
        first.get_or_insert(alarm);
    }
    Err(first.unwrap_or_else(|| Reason::Incomplete("no shared variable to hold objects".into())))
}

/// Choices of the shared variables that lead to all published cells: all, all but one, one.
fn roots(p: &Program) -> Vec<Vec<VarId>> {
    let plain =
        |v: &VarId| p.vars[*v].kind == VarKind::Plain && matches!(p.terms.kind(p.vars[*v].sort), SortKind::Ref(_));
    let all: Vec<VarId> = p.shared().filter(plain).collect();
    let without = |one: VarId| all.iter().copied().filter(|v| *v != one).collect::<Vec<_>>();
    let mut out = vec![all.clone()];
    out.extend(all.iter().map(|v| without(*v)).chain(all.iter().map(|v| vec![*v])).filter(|r| !r.is_empty()));
    let mut seen = BTreeSet::new();
    out.retain(|r| seen.insert(r.clone()));
    out.truncate(MAX_ROOT_CHOICES);
    out
}

fn analyse(task: &Task, run: &Run, subject: Option<ObjectId>, claims: &mut Claims) {
    let p = &task.program;
    let mut wanted = about(p, subject, &task.properties);
    let leak = program::semantics::leak(p).filter(|l| wanted.contains(l));
    let (found, history) = match leak.map(|leak| holding(p, subject, leak, run)) {
        Some(Ok(found)) => (Ok(found), None),
        Some(Err(why)) => {
            wanted.retain(|w| Some(*w) != leak);
            claims.set(leak.expect("it was asked for"), Claim::Undecided(why));
            if wanted.is_empty() {
                return;
            }
            decide(p, &subject.into(), run)
        }
        None => decide(p, &subject.into(), run),
    };
    let (analysis, tries) = match found {
        Ok(found) => found,
        Err(reason) => {
            for id in wanted {
                let found = history.as_ref().filter(|h| shows(p, h, id));
                claims.set(
                    id,
                    found.map_or_else(|| Claim::Undecided(reason.clone()), |h| Claim::Refuted(h.clone().into())),
                );
            }
            return;
        }
    };
    for (name, n) in [
        ("views", analysis.views.len() as u64),
        ("visits", analysis.figures.visits),
        ("pairs", analysis.figures.pairs),
        ("points tried", tries as u64),
    ] {
        *claims.statistics.entry(name.into()).or_default() += n;
    }
    let alarm_of = |id: PropertyId| {
        analysis.alarms.iter().find(|(a, _)| match a {
            Alarm::Gate(g) => *g == id,
            Alarm::Results(_) => matches!(p.properties[id].kind, PropertyKind::Linearizable(_)),
            Alarm::Lost(_) | Alarm::Kept(_) => true,
        })
    };
    // Stopped at an alarm, an object's analysis is not finished: nothing else is proved by it.
    let finished = subject.is_none() || analysis.alarms.is_empty();
    let proved: Vec<PropertyId> = wanted.iter().copied().filter(|id| finished && alarm_of(*id).is_none()).collect();
    if !proved.is_empty() {
        let certificate = Arc::new(Certificate {
            method: "shape".into(),
            terms: p.terms.clone(),
            properties: proved.clone(),
            proof: Proof::Views(certify::views(&analysis.model, analysis.views.iter())),
        });
        for id in &proved {
            claims.set(*id, Claim::Proved(certificate.clone()));
        }
        if let Some(o) = subject {
            note_points(p, o, &analysis.model, claims);
        }
    }
    for id in wanted.iter().filter(|id| !proved.contains(id)) {
        if let Some(h) = history.as_ref().filter(|h| shows(p, h, *id)) {
            claims.set(*id, Claim::Refuted(h.clone().into()));
            continue;
        }
        let found = alarm_of(*id).or_else(|| analysis.alarms.first());
        let text = found.map_or_else(String::new, |(a, steps)| {
            format!("{}; abstract run: {}", describe_alarm(p, a), steps.join("; "))
        });
        claims.set(*id, Claim::Undecided(Reason::Alarm(text)));
    }
}

/// Whether the history is about the property.
fn shows(p: &Program, h: &History, id: PropertyId) -> bool {
    (h.gate == Some(id) && p.threads.is_empty())
        || (h.gate.is_none() && p.properties[id].kind == PropertyKind::Linearizable(h.object))
}

/// Tries to make an alarm concrete: two clients with up to four operations, every interleaving, for a short while; then single runs of random clients; then two clients
/// again, also with the points that are marked in the code; then more clients and operations.
fn concrete(p: &Program, object: ObjectId, run: &Run) -> Option<History> {
    let [near, far @ ..] = linear::ClientBounds::RANGES;
    let slice = |time| Run { budget: run.budget.share(time), ..run.inner() };
    let ranges = [(near, Against::Orders), (near, Against::Marks)];
    let ranges = ranges.into_iter().chain(far.map(|far| (far, Against::Orders)));
    let search = |bounds, against, time| linear::search_histories(p, object, bounds, against, &slice(time)).found;
    let found = search(near, Against::Orders, SOON)
        .or_else(|| linear::sample_histories(p, object, &slice(CONCRETE)))
        .or_else(|| ranges.into_iter().find_map(|(bounds, against)| search(bounds, against, CONCRETE)))?;
    Some(found.history(object))
}

fn note_points(p: &Program, o: ObjectId, model: &Model, claims: &mut Claims) {
    for point in &model.points {
        let op = &p.objects[o].ops[point.operation as usize];
        let origin = op.code.actions[point.action].origin;
        claims.notes.push(format!("{} takes effect at `{}`", op.name, p.origins[origin].text));
    }
}

pub(crate) fn describe_alarm(p: &Program, alarm: &Alarm) -> String {
    match alarm {
        Alarm::Gate(id) => format!("{} may fail", p.properties[*id].name),
        Alarm::Results(what) | Alarm::Lost(what) => what.clone(),
        Alarm::Kept(_) => "an object may still be referred to by others".into(),
    }
}

/// The steps of the thread at hand that led to a view, with the others' steps between them.
fn trace(p: &Program, model: &Model, found: &Quantified<Domain<'_>>, at: usize, last: StepId) -> Vec<String> {
    let name = |step: StepId| match step {
        StepId::Invoke(r) => format!("{} begins", model.routines[r as usize].name),
        StepId::Take(r, s) => p.origins[model.routines[r as usize].steps[s as usize].origin].text.clone(),
    };
    let mut out = vec![name(last)];
    let mut at = at;
    for _ in 0..found.entries.len() {
        match found.entries[at].parent {
            ViewParent::Start => break,
            ViewParent::Own(from, step) => {
                out.push(name(step));
                at = from;
            }
            ViewParent::Other(from, step) => {
                out.push(format!("another thread: {}", name(step)));
                at = from;
            }
        }
    }
    out.reverse();
    out
}
