//! Rule `spec-run` (a refutation): a procedure does not perform its specification, or breaks an access predicate of a file without threads.
//!
//! In: an initial store (for a specification the heap may be any); steps of other threads and of the caller that lead to the call; the
//! procedure's own steps with their inputs, and between them steps of other threads with the places they write. Out: the states of the
//! run, or why it shows nothing. Every event is executed by `program::stage`; every step keeps the program's invariants and what
//! other threads rely on. For a specification: the procedure comes to its end, no step goes wrong, and no order of the same
//! steps explains the run. For an access predicate: the last step and no other touches a variable where it may not. No solver.

use evidence::SpecRun;
use logic::Value;
use program::semantics::{Semantics, State, StepOutcome};
use program::stage::{ProcedureStage, StageEvent, StageHeap, Write};
use program::{Program, PropertyId, PropertyKind};

/// Replays a run: the states before each event and after the last. An error where it shows nothing.
pub fn replay_spec_run(program: &Program, run: &SpecRun) -> Result<Vec<State>, String> {
    let property = program.properties.get(run.violates).ok_or("no such property")?;
    let stage = ProcedureStage::new(program, run.procedure)?;
    match property.kind {
        PropertyKind::Performs(q) if q == run.procedure => unexplained(&stage, run),
        // Where there are threads, only they call.
        PropertyKind::Access(_) if program.threads.is_empty() => touches(&stage, run),
        _ => Err(format!("such a run says nothing about {}", property.name)),
    }
}

/// A run as far as it was replayed.
struct SpecReplay<'a> {
    stage: &'a ProcedureStage,
    sem: Semantics<'a>,
    states: Vec<State>,
    /// The shared store where no thread was inside an atomic block last.
    seen: Vec<Value>,
    /// The number of the state in which the procedure took its first step.
    called: Option<usize>,
}

impl<'a> SpecReplay<'a> {
    fn new(stage: &'a ProcedureStage, run: &SpecRun, heap: StageHeap) -> Result<Self, String> {
        let sem = Semantics::new(&stage.program);
        let start = stage.start(&run.store, &run.own)?;
        stage.initial(&sem, &start, heap)?;
        Ok(Self { stage, sem, states: vec![start], seen: run.store.clone(), called: None })
    }

    fn state(&self) -> &State {
        self.states.last().expect("there is a first state")
    }

    /// The procedure is called in this state.
    fn call(&mut self) -> Result<usize, String> {
        match self.called {
            Some(at) => Ok(at),
            None => {
                self.stage.meets(self.state())?;
                Ok(*self.called.insert(self.states.len() - 1))
            }
        }
    }

    /// Takes a step; what it saw, where it is one of another thread, or the property for which it goes wrong.
    fn event(&mut self, event: &StageEvent) -> Result<Result<Vec<Value>, PropertyId>, String> {
        let mover = match event {
            StageEvent::Own { .. } => {
                self.call()?;
                1
            }
            StageEvent::Other { thread: 1, .. } if self.called.is_some() => {
                return Err("the caller takes no step of its own during the call".into());
            }
            StageEvent::Other { thread, .. } => *thread,
        };
        let (outcome, saw) = self.stage.execute(&self.sem, self.state(), event)?;
        let next = match outcome {
            StepOutcome::Moved { state, .. } => state,
            StepOutcome::Wrong { property, .. } => return Ok(Err(property)),
        };
        self.stage.keeps(&self.sem, &self.seen, &next, mover)?;
        if self.sem.instance_in_atomic_block(&next).is_none() {
            self.seen.clone_from(&next.shared);
        }
        self.states.push(next);
        Ok(Ok(saw))
    }
}

/// The states of a run that ends and that the specification does not explain.
fn unexplained(stage: &ProcedureStage, run: &SpecRun) -> Result<Vec<State>, String> {
    let mut replay = SpecReplay::new(stage, run, StageHeap::Any)?;
    let mut others = Vec::new();
    for event in &run.events {
        let Ok(saw) = replay.event(event)? else {
            return Err("a step goes wrong: the run ends before the procedure does".into());
        };
        if let StageEvent::Other { writes, .. } = event
            && replay.called.is_some()
        {
            others.push((writes.clone(), saw));
        }
    }
    let called = replay.call()?;
    let (first, last) = (&replay.states[called], replay.state());
    if !stage.ended(last) {
        return Err("the procedure does not come to its end".into());
    }
    let steps = run.events.iter().filter(|e| matches!(e, StageEvent::Own { .. })).count();
    if stage.explained(first, &others, last, steps)? {
        return Err("the specification explains the run".into());
    }
    Ok(replay.states)
}

/// The states before each event of a run whose last step breaks an access predicate.
fn touches(stage: &ProcedureStage, run: &SpecRun) -> Result<Vec<State>, String> {
    let mut replay = SpecReplay::new(stage, run, StageHeap::Initial)?;
    for (i, event) in run.events.iter().enumerate() {
        if let StageEvent::Other { writes, .. } = event {
            let agreed = |w: &Write| stage.program.vars.get(w.var).is_some_and(|v| v.access.is_some());
            if !writes.iter().all(agreed) {
                return Err("callers write only what has an access predicate".into());
            }
        }
        match replay.event(event)? {
            Ok(_) => {}
            Err(property) if property == run.violates && i + 1 == run.events.len() => return Ok(replay.states),
            Err(_) => return Err("a step goes wrong in another way, or too early".into()),
        }
    }
    Err("no step touches what it may not".into())
}
