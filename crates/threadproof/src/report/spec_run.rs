//! A run that a procedure's specification does not explain, as a story: own steps, steps of others, and the step that no action explains.
//!
//! In: a program, its sources and a `SpecRun` run. Out: a `Story`. The run is replayed again to have the values; each part of an action is evaluated
//! for each own step that changes something. Parts that speak of locks are left out: inside a critical section they do not hold yet, which a reduction is for.
//! Deliberately absent: any judgement; the checker has tried every order.

use super::names::{Describer, short_place};
use super::reading::conjuncts;
use super::story::{Relevance, StartValue, Story, StoryStep};
use base::Sources;
use evidence::SpecRun;
use logic::Term;
use program::order::PerformsOrder;
use program::semantics::{Semantics, State, StateView, TraceStep};
use program::stage::{ProcedureStage, StageEvent};
use program::{Program, PropertyKind, VarId};

pub fn describe_spec_run(program: &Program, sources: &Sources, run: &SpecRun) -> Story {
    let Ok(states) = checker::rules::spec_run::replay_spec_run(program, run) else { return Story::default() };
    let Ok(stage) = ProcedureStage::new(program, run.procedure) else { return Story::default() };
    let sem = Semantics::new(&stage.program);
    let describer = Describer::new(&sem, sources);
    let told = SpecStory { stage: &stage, describer: &describer, run, states: &states };
    told.story(sources)
}

struct SpecStory<'a> {
    stage: &'a ProcedureStage,
    describer: &'a Describer<'a>,
    run: &'a SpecRun,
    states: &'a [State],
}

impl SpecStory<'_> {
    fn story(&self, sources: &Sources) -> Story {
        let p = &self.stage.program;
        let name = &p.procedures[self.run.procedure].name;
        let others: Vec<u32> = {
            let mut tids: Vec<u32> = Vec::new();
            for event in &self.run.events {
                if let StageEvent::Other { thread, .. } = event
                    && *thread != 1
                    && !tids.contains(thread)
                {
                    tids.push(*thread);
                }
            }
            tids
        };
        let mut columns = vec![format!("1 {name}")];
        columns.extend(others.iter().map(|tid| format!("{tid} another")));
        let named = |v: &program::VarId| self.describer.is_named(*v);
        let start = self.stage.shared.iter().zip(&self.run.store).filter(|(v, _)| named(v)).map(|(v, x)| StartValue {
            name: self.describer.name(*v),
            value: self.describer.shown_value(*v, p.vars[*v].sort, x),
            matters: Relevance::Matters,
        });
        let mut out = Story { columns, start: start.collect(), ..Story::default() };
        // What it was called with.
        let given = p.procedures[self.run.procedure].params.iter().filter(|v| named(v));
        out.start.extend(given.filter_map(|v| {
            let value = self.describer.semantics().value(self.states.first()?, 0, *v)?;
            let value = self.describer.shown_value(*v, p.vars[*v].sort, value);
            Some(StartValue { name: self.describer.name(*v), value, matters: Relevance::Matters })
        }));
        for (i, event) in self.run.events.iter().enumerate() {
            let before = &self.states[i];
            // The step that breaks an access predicate leads nowhere.
            let after = self.states.get(i + 1).unwrap_or(before);
            if let StageEvent::Own { action, inputs } = event {
                let (thread, inputs) = (self.stage.thread, inputs.clone());
                let step = TraceStep { instance: 0, thread, action: *action, inputs, choices: vec![] };
                out.events.push(self.describer.event(before, &step, Some(after)));
                continue;
            }
            let mut changes = Vec::new();
            self.describer.changes(before, after, 0, &|_, _| Relevance::Matters, &mut changes);
            let (instance, origin, text): (usize, Option<&program::Origin>, String) = match event {
                StageEvent::Own { .. } => continue,
                StageEvent::Other { thread: 1, .. } => (0, None, "writes, before the call".to_string()),
                StageEvent::Other { thread, .. } => {
                    let lane = others.iter().position(|tid| tid == thread).map_or(0, |n| n + 1);
                    (lane, None, "writes".to_string())
                }
            };
            let span = origin.and_then(|o| o.span);
            out.events.push(StoryStep {
                instance,
                at: span.map(|s| crate::place::place_of(sources, s)),
                place: span.map_or_else(String::new, |s| short_place(sources, s)),
                text,
                changes,
                heap: None,
                matters: Relevance::Matters,
            });
        }
        if let PropertyKind::Access(v) = p.properties[self.run.violates].kind {
            let last = out.events.last().map_or_else(String::new, |e| format!("`{}` at {}", e.text, e.place));
            let name = self.describer.name(v);
            out.summary = vec![format!("{last} touches `{name}` where its access predicate does not hold")];
            out.end = vec!["the other threads keep to the access predicates".into()];
            return out;
        }
        out.summary = vec![self.unexplained(&out.events)];
        out.end = vec![self.ending()];
        out
    }

    /// How the procedure ends, and what that is held against.
    fn ending(&self) -> String {
        let p = &self.stage.program;
        let procedure = &p.procedures[self.run.procedure];
        let results: Vec<String> = procedure
            .results
            .iter()
            .filter_map(|r| {
                let i = self.stage.own.iter().position(|v| v == r)?;
                let value = &self.states.last()?.instances[0].locals[i];
                Some(format!("{} = {}", self.describer.name(*r), value.show(&p.terms, p.vars[*r].sort)))
            })
            .collect();
        let with = if results.is_empty() { String::new() } else { format!(" with {}", results.join(", ")) };
        let labels = super::listed(&self.labels());
        format!("it ends{with}; no order of the actions of its specification ({labels}) gives this")
    }

    fn labels(&self) -> Vec<String> {
        let performs = self.stage.program.procedures[self.run.procedure].performs.iter();
        performs.flat_map(|(s, _)| PerformsOrder::of(s).actions).map(|a| a.label.to_string()).collect()
    }

    /// The step that no action explains, with what each action asks for there.
    fn unexplained(&self, events: &[StoryStep]) -> String {
        let p = &self.stage.program;
        let name = &p.procedures[self.run.procedure].name;
        let performs = p.procedures[self.run.procedure].performs.iter();
        let actions: Vec<_> = performs.flat_map(|(s, _)| PerformsOrder::of(s).actions).collect();
        let is_own = |i: usize| matches!(self.run.events[i], StageEvent::Own { .. });
        let agreed = |i: usize| {
            let (before, after) = (&self.states[i].shared, &self.states[i + 1].shared);
            let mut vars = self.stage.shared.iter().zip(before.iter().zip(after));
            vars.any(|(v, (old, new))| old != new && !self.describer.is_lock(*v) && self.describer.is_named(*v))
        };
        let count = self.run.events.len().min(self.states.len().saturating_sub(1));
        let changing: Vec<usize> = (0..count).filter(|i| is_own(*i) && agreed(*i)).collect();
        for i in &changing {
            let asked: Vec<Option<String>> = actions
                .iter()
                .map(|a| {
                    let frame: Vec<VarId> = a.action.frame.iter().map(|place| place.var).collect();
                    let denied = self.denied(a.action.relation, *i).map(|part| format!("{} asks for {part}", a.label));
                    denied.or_else(|| Some(format!("{} does not change {}", a.label, self.outside(&frame, *i)?)))
                })
                .collect();
            if let Some(asked) = asked.into_iter().collect::<Option<Vec<String>>>() {
                let event = &events[*i];
                let changes = event.changes(super::story::Detail::Brief);
                return format!(
                    "no action explains `{}` at {} (step {}; {changes}): {}",
                    event.text,
                    event.place,
                    i + 1,
                    super::listed(&asked)
                );
            }
        }
        let labels = super::listed(&self.labels());
        let verb = if self.labels().len() == 1 { "allows" } else { "allow" };
        match changing.as_slice() {
            [] => format!("{name} changes nothing in this run, and {labels} {verb} that at no moment of it"),
            [one] => {
                let place = &events[*one].place;
                format!(
                    "step {} of {name} at {place} is the only one that changes something, and {labels} {} for more",
                    one + 1,
                    if self.labels().len() == 1 { "asks" } else { "ask" }
                )
            }
            _ => {
                format!("{name} makes its changes in {} steps, and no order of {labels} makes them so", changing.len())
            }
        }
    }

    /// A variable outside a frame that a step changes.
    fn outside(&self, frame: &[VarId], step: usize) -> Option<String> {
        let (before, after) = (&self.states[step].shared, &self.states[step + 1].shared);
        let mut vars = self.stage.shared.iter().zip(before.iter().zip(after));
        let is_outside = |v: VarId| !frame.contains(&v) && !self.describer.is_lock(v) && self.describer.is_named(v);
        let (var, _) = vars.find(|(v, (old, new))| old != new && is_outside(**v))?;
        Some(self.describer.name(*var))
    }

    /// The first part of a relation between two stores that a step does not keep, as it is written in the model.
    fn denied(&self, relation: Term, step: usize) -> Option<String> {
        let p = &self.stage.program;
        let after = &self.states[step + 1];
        // Results are those with which the run ends.
        let mut before = self.states[step].clone();
        for result in &p.procedures[self.run.procedure].results {
            if let (Some(i), Some(last)) = (self.stage.own.iter().position(|v| v == result), self.states.last()) {
                before.instances[0].locals[i].clone_from(&last.instances[0].locals[i]);
            }
        }
        let view =
            StateView { after: Some(&after.shared), ..StateView::of_instance(self.describer.semantics(), &before, 0) };
        let speaks_of_locks = |part: &Term| {
            let symbols = p.terms.free_symbols(*part);
            symbols.iter().filter_map(|s| p.var_of(*s)).any(|(v, _)| self.describer.is_lock(v))
        };
        let parts = conjuncts(self.describer, relation);
        let denied =
            parts.into_iter().filter(|part| !speaks_of_locks(part)).find(|part| view.holds(*part) == Ok(false))?;
        Some(format!("`{}`", p.terms.show(denied)))
    }
}
