//! The analysis of one question: the fixpoint for a choice of points and takes, and the choices one after the other.
//!
//! In: a program, what is asked of it, how much a view says. Out: the closed set of views, or the alarms with the abstract runs that led to them.
//! Deliberately absent: what is done about an alarm (`decide`), what is claimed (`method`).

use super::build::{Hold, Question, build};
use super::domain::{Domain, StepId};
use super::eval::Alarm;
use super::model::{Model, Precision};
use super::points::assignments;
use super::quantified::{Figures, OnAlarm, Quantified, ViewParent, fixpoint};
use super::takes::candidates;
use crate::method::Run;
use evidence::Reason;
use evidence::views::SpecPoint;
use program::{ObjectId, Program};

/// More views than this and the domain is not the right one for the program.
const MAX_VIEWS: usize = 60_000;

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

/// Runs the fixpoint, trying candidates for linearization points until one has no alarm.
pub(crate) fn search_fixpoint(
    program: &Program,
    subject: impl Into<Subject>,
    precision: Precision,
    run: &Run,
) -> Result<(Analysis, usize), Reason> {
    let subject = subject.into();
    let mut first: Option<Analysis> = None;
    let mut count = 0;
    for points in tries(program, subject.object) {
        count += 1;
        let analysis = match attempt(program, subject.clone(), points, precision, run) {
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
    precision: Precision,
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
        let analysis = close(program, &question, precision, run)?;
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
fn close(program: &Program, question: &Question, precision: Precision, run: &Run) -> Result<Analysis, Reason> {
    let subject = question.object;
    let mut model = build(program, question).map_err(Reason::NotAdmitted)?;
    model.settle_precision(precision);
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
