//! The method `shape`: from a task to claims.
//!
//! In: a program with objects, or with threads over a heap. Out: for each object "linearizable" with the views as evidence, for
//! every check inside the code "never fails" with the same evidence; or the alarm. An alarm is first tried on small numbers
//! of threads by search; what stays abstract is "unknown".

use super::analysis::{Analysis, Subject, describe_alarm};
use super::build::{Hold, Question, build};
use super::certify;
use super::decide::decide;
use super::eval::Alarm;
use super::model::Model;
use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use evidence::{Certificate, Claim, Claims, History, Proof, Reason};
use logic::SortKind;
use program::{Code, ObjectId, Program, PropertyId, PropertyKind, VarId, VarKind};
use std::collections::BTreeSet;
use std::sync::Arc;

pub struct Shape;

/// How many choices of roots are tried.
const MAX_ROOT_CHOICES: usize = 9;

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

fn note_points(p: &Program, o: ObjectId, model: &Model, claims: &mut Claims) {
    for point in &model.points {
        let op = &p.objects[o].ops[point.operation as usize];
        let origin = op.code.actions[point.action].origin;
        claims.notes.push(format!("{} takes effect at `{}`", op.name, p.origins[origin].text));
    }
}
