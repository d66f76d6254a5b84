//! What a function performs, written in a comment: `//@ performs Inc: <count> count' == count + 1`.
//!
//! In: the text before a function. Out: a procedure of the model with the function's own steps, any values of its
//! parameters, and its specification, a property `performs:F` of its own. The function is lowered as one that any number of callers
//! run at any time beside the program's threads; so its steps are merged only where neither they nor other callers can tell. A failure inside
//! ends the run: what is performed is said of runs up to the first failure. The vocabulary is that of invariants in comments, with the function's
//! parameters (their values at the call) and `result`. Absent: functions with pointers as parameters, whose targets no
//! caller is there to tell; calls by specification.

use super::annotate::{SpecReader, tokens};
use super::flow::*;
use super::locks::Held;
use super::phases::Phases;
use super::*;

/// What is performed, before it is one of the model.
#[derive(Clone, Debug)]
pub(super) enum CPerformed {
    Action { label: String, frame: Vec<(SlotId, Option<Term>)>, relation: Term },
    Then(Vec<CPerformed>),
    Or(Vec<CPerformed>),
    Star(Box<CPerformed>),
}

/// A function with a specification.
#[derive(Clone, Debug)]
pub(super) struct SpecifiedFunction {
    pub task: TaskId,
    pub performed: CPerformed,
    pub params: Vec<SlotId>,
    pub result: Option<SlotId>,
    pub slots: BTreeSet<SlotId>,
    /// Placeholders for values after a step, as of other specifications.
    pub primed: Vec<(Symbol, SlotId)>,
    pub text: String,
    pub span: Span,
}

impl Lower<'_> {
    /// Threads of the lowering that stand for callers of functions with a specification.
    pub(super) fn place_routines(&mut self) {
        // Other questions are asked of the program alone.
        if self.checks != [CCheck::Reach] {
            return;
        }
        for (f, _, span) in &self.unit.performs {
            let key = routine_key(&self.unit.functions[*f].name);
            let name = self.unit.functions[*f].name.clone();
            let id = self.task(&key, &name, *f, Multiplicity::Many, ThreadArgument::None, *span);
            self.tasks[id].started = None;
        }
    }

    pub(super) fn is_routine(&self, task: TaskId) -> bool {
        self.tasks[task].key.starts_with(ROUTINE)
    }

    /// The slots of a function's parameters and of its result.
    fn routine_slots(&mut self, task: TaskId) -> (Vec<SlotId>, Option<SlotId>) {
        let CThread { key, function, span, .. } = self.tasks[task].clone();
        let function = &self.unit.functions[function];
        let mut params = Vec::new();
        for (i, v) in function.params.iter().enumerate() {
            let variable = &self.unit.variables[*v];
            let range = self.unit.types.as_int(variable.ty).map(|t| t.range(self.unit.types.model));
            let new = NewSlot {
                key: format!("<parameter {i} {key}>"),
                shown: variable.name.clone(),
                sort: Sort::INT,
                owner: SlotOwner::Task(task),
                initial: None,
                range,
                lock: false,
                role: SlotRole::Internal,
                span,
            };
            params.push(self.slot(new));
        }
        let result = (!self.unit.types.is_void(function.result)).then(|| {
            let zero = Some(self.terms.int(0));
            self.internal(&format!("<result of {key}>"), "result", Sort::INT, zero, span)
        });
        (params, result)
    }

    /// The function's code, from its call to its return.
    pub(super) fn routine_body(&mut self, task: TaskId) {
        let (params, result) = self.routine_slots(task);
        let CThread { function, span, .. } = self.tasks[task].clone();
        let values = params.iter().map(|p| self.slot_term(*p)).collect();
        let value = self.inline(function, values, span);
        if let (Some(slot), Some(value), true) = (result, value, self.cur.at.is_some()) {
            self.update(vec![(slot, value)], What::Return, span);
        }
        if let (Some(exit), true) = (self.cur.flow.exit, self.cur.at.is_some()) {
            self.goto(exit, span);
        }
    }

    /// What happens after a failure is not spoken of.
    pub(super) fn routines_stop_at_failures(&mut self) {
        for i in (0..self.flows.len()).filter(|i| self.is_routine(TaskId(*i as u32))).collect::<Vec<_>>() {
            let mut flow = std::mem::take(&mut self.flows[i]);
            for step in &mut flow.steps {
                let (kept, failing) = std::mem::take(&mut step.gates)
                    .into_iter()
                    .partition(|(f, _)| matches!(f, GateFailure::Unmodelled(..)));
                step.gates = kept;
                let failing: Vec<(GateFailure, Term)> = failing;
                step.guard = self.b().all(failing.into_iter().map(|(_, g)| g).chain([step.guard]));
            }
            flow.steps.retain(|s| self.b().as_bool(s.guard) != Some(false));
            self.flows[i] = flow;
        }
    }

    /// After merging: results belong to the functions again, and which mutexes everybody keeps to is noted.
    pub(super) fn settle_routines(&mut self) {
        if self.routines.is_empty() {
            return;
        }
        for routine in &self.routines {
            if let Some(result) = routine.result {
                self.slots[result].owner = SlotOwner::Task(routine.task);
            }
        }
        let phases = self.phases();
        let locks = &phases.locks;
        self.plain_mutexes = locks.numbers.keys().copied().filter(|s| locks.is_plain(*s)).collect();
        self.plain_mutexes.sort();
        self.guards_found = self.find_guards(&phases);
    }

    /// Variables with the mutex that every access holds, but for those of `main` while no other thread runs: the first thread
    /// sets up and reads the result without it. Where really every access holds it, that is found without our help.
    fn find_guards(&self, phases: &Phases) -> Vec<(SlotId, SlotId)> {
        let main = TaskId(0);
        let threads: Vec<TaskId> = self.tasks.ids().filter(|t| *t != main && !self.is_routine(*t)).collect();
        // A step that waits for the end of a thread is taken when it has ended.
        let alone = |s: &FlowStep| threads.iter().all(|t| s.joins.contains(t) || !phases.may_run(main, s.from, *t));
        let mut out = Vec::new();
        for slot in self.routine_touches() {
            let written = |v: &crate::c::ast::Variable| v.guarded_by.is_some() && v.name == self.slots[slot].shown;
            if self.slots[slot].role != SlotRole::Data
                || self.slots[slot].lock
                || self.unit.variables.iter().any(written)
            {
                continue;
            }
            let mut accesses: Vec<(bool, Held)> = Vec::new();
            for (i, flow) in self.flows.iter().enumerate() {
                let task = TaskId(i as u32);
                for step in &flow.steps {
                    let touch = self.touch(step);
                    if !touch.reads.contains(&slot) && !touch.writes.contains(&slot) {
                        continue;
                    }
                    accesses.push((task == main && alone(step), self.excludes(step, task, &phases.locks)));
                }
            }
            let guards = |m: &&SlotId| {
                let held = |under: &Held| phases.locks.numbers.get(*m).is_some_and(|n| under >> n & 1 == 1);
                accesses.iter().all(|(alone, under)| *alone || held(under))
                    && accesses.iter().any(|(_, under)| !held(under))
                    && threads.iter().all(|t| self.ends_without(&self.flows[t.index()], **m))
            };
            if let Some(mutex) = self.plain_mutexes.iter().find(guards) {
                out.push((slot, *mutex));
            }
        }
        out
    }

    /// Whether a thread surely does not hold a mutex when it ends.
    fn ends_without(&self, flow: &Flow, mutex: SlotId) -> bool {
        let mut may = vec![false; flow.places.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for step in &flow.steps {
                let holds = match step.updates.iter().find(|(s, _)| *s == mutex) {
                    Some((_, value)) => self.b().as_num(*value) != Some(0),
                    None => may[step.from.index()],
                };
                changed |= holds && !std::mem::replace(&mut may[step.to.index()], true);
            }
        }
        flow.exit.is_none_or(|e| !may[e.index()])
    }

    /// The specifications of functions, and what is wrong with those that cannot be read.
    pub(super) fn read_routines(&mut self) -> (Vec<SpecifiedFunction>, Vec<(Span, String)>) {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for (f, text, span) in &self.unit.performs {
            let function = &self.unit.functions[*f];
            let number = |v: &VarId| self.unit.types.as_int(self.unit.variables[*v].ty).is_some();
            let plain = self.unit.types.is_void(function.result) || self.unit.types.as_int(function.result).is_some();
            if !function.params.iter().all(number) || !plain {
                bad.push((
                    *span,
                    "what a function performs is read where its parameters and result are integers".into(),
                ));
                continue;
            }
            let Some(task) = self.task_keys.get(&routine_key(&function.name)).copied() else { continue };
            match self.read_routine(task, text, *span) {
                Ok(routine) => good.push(routine),
                Err(why) => bad.push((*span, why)),
            }
        }
        (good, bad)
    }

    fn read_routine(&mut self, task: TaskId, text: &str, span: Span) -> Result<SpecifiedFunction, String> {
        let (params, result) = self.routine_slots(task);
        let names = params.iter().chain(&result).map(|s| (self.slots[*s].shown.clone(), *s)).collect();
        let mut reader = SpecReader::new(self, tokens(text)?);
        reader.names = names;
        reader.primes = true;
        let performed = choice(&mut reader)?;
        reader.end()?;
        let (slots, primed) = reader.seen();
        Ok(SpecifiedFunction { task, performed, params, result, slots, primed, text: text.to_string(), span })
    }

    /// Everything shared that a function with a specification touches: what it changes is what is asked.
    pub(super) fn routine_touches(&self) -> BTreeSet<SlotId> {
        let mut out: BTreeSet<SlotId> = self.routines.iter().flat_map(|r| r.slots.iter().copied()).collect();
        for (_, flow) in self.flows.iter().enumerate().filter(|(i, _)| self.is_routine(TaskId(*i as u32))) {
            let written = flow.steps.iter().flat_map(|s| &s.updates).map(|(slot, _)| *slot);
            out.extend(written.filter(|s| self.slots[*s].owner == SlotOwner::Shared));
        }
        out
    }
}

const ROUTINE: &str = "<performs ";

fn routine_key(name: &str) -> String {
    format!("{ROUTINE}{name}>")
}

/// `a [] b`: either.
fn choice(r: &mut SpecReader<'_, '_>) -> Result<CPerformed, String> {
    let mut parts = vec![sequence(r)?];
    while r.take("[") {
        r.expect("]")?;
        parts.push(sequence(r)?);
    }
    Ok(single(parts, CPerformed::Or))
}

/// `a; b`: one after the other.
fn sequence(r: &mut SpecReader<'_, '_>) -> Result<CPerformed, String> {
    let mut parts = vec![repetition(r)?];
    while r.take(";") {
        parts.push(repetition(r)?);
    }
    Ok(single(parts, CPerformed::Then))
}

fn single(mut parts: Vec<CPerformed>, many: fn(Vec<CPerformed>) -> CPerformed) -> CPerformed {
    match parts.len() {
        1 => parts.remove(0),
        _ => many(parts),
    }
}

/// `(a)*`, `(a)`, or a labelled action.
fn repetition(r: &mut SpecReader<'_, '_>) -> Result<CPerformed, String> {
    if r.take("(") {
        let inner = choice(r)?;
        r.expect(")")?;
        return Ok(if r.take("*") { CPerformed::Star(Box::new(inner)) } else { inner });
    }
    let label = r.word()?;
    r.expect(":")?;
    let frame = r.frame()?;
    let relation = r.formula()?;
    Ok(CPerformed::Action { label, frame, relation })
}
