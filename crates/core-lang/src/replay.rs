//! Replays: a run that was found elsewhere is made again by the interpreter, or is shown to be none.
//!
//! In: a module, the violations that count, a plan. Out: a run of the module that violates (confirmed: made twice from its seed), or how
//! far the search went. First the plan is followed, a number of times in slightly different ways, with runs by free schedules in between; then schedules are enumerated one by one, as long as they are few:
//! where all of them were made to their end, and nothing but the schedule was left open in any, there is no such run, and whoever said so is
//! wrong. Bounded by runs and instructions, not by time, so that equal input gives equal answers. Deliberately absent: partial-order reduction.

use crate::campaign::FoundViolation;
use crate::interpreter::guide::SchedulePlan;
use crate::interpreter::{
    AtRace, Execution, ExecutionEnd, ExecutionLimits, Interpreter, LeakCheck, Recording, RunOptions, Scheduling,
    SpuriousWakeups, ViolationKind,
};
use crate::module::Module;
use base::Random;
use std::sync::Arc;
use std::time::Instant;

#[derive(Clone, Debug)]
pub struct GuidedReplay {
    pub plan: Arc<SchedulePlan>,
    pub wanted: Vec<ViolationKind>,
    pub seed: u64,
    /// Runs along the plan.
    pub attempts: u32,
    /// Instructions of one run.
    pub instructions: u64,
    /// Instructions of all runs together.
    pub all_instructions: u64,
    /// Schedules that are enumerated at most.
    pub schedules: u32,
    /// No attempt begins later.
    pub deadline: Option<Instant>,
}

/// What became of a replay.
#[derive(Clone, Debug)]
pub enum Replayed {
    /// The run, and how many attempts it took.
    Seen(Box<FoundViolation>, u32),
    /// Every schedule was run to its end, and none violates.
    Impossible { schedules: u32 },
    /// Neither; with the reason why runs stopped, if they did not come to their end.
    NotSeen { attempts: u32, stopped: Option<(String, Option<base::Span>)> },
}

impl GuidedReplay {
    pub fn run(&self, module: &Module) -> Replayed {
        let mut random = Random::new(self.seed);
        let (mut attempts, mut spent) = (0, 0);
        let (mut stopped, mut longest) = (None, 20);
        while attempts < self.attempts && spent < self.all_instructions && !self.is_late() {
            let scheduling = match attempts {
                0..6 => Scheduling::Guided { plan: self.plan.clone(), attempt: attempts },
                n if n % 4 == 2 => Scheduling::Random,
                n if n % 4 == 3 => Scheduling::FewSwitches { changes: n / 4 % 5, steps: longest },
                _ => Scheduling::Guided { plan: self.plan.clone(), attempt: attempts },
            };
            // Values from outside may be read as text.
            let mut input: String = self.plan.values.iter().map(|(_, value)| format!("{value}\n")).collect();
            for _ in 0..attempts.min(MAX_DRAWN_INPUTS) {
                input.push_str(&format!("{}\n", random.between(-1, 10)));
            }
            let options = RunOptions { input: input.into_bytes(), ..self.options(random.word(), scheduling) };
            attempts += 1;
            let execution = Interpreter::run(module, options.clone());
            spent += execution.instructions + 100;
            longest = longest.max(execution.schedule.len() as u32);
            if let Some(found) = self.confirmed(module, &options, &execution) {
                return Replayed::Seen(Box::new(found), attempts);
            }
            match execution.ending {
                ExecutionEnd::Unsupported { reason, span } => stopped = stopped.or(Some((reason, span))),
                ExecutionEnd::Violation(v) if !self.wanted.contains(&v.kind) => {
                    stopped = stopped.or(Some((format!("{}: {} {}", v.kind.title(), v.thread, v.message), v.span)));
                }
                _ => {}
            }
        }
        match self.enumerate(module) {
            Enumeration::Seen(found) => Replayed::Seen(found, attempts + 1),
            Enumeration::NoneViolates(schedules) => Replayed::Impossible { schedules },
            Enumeration::Open => Replayed::NotSeen { attempts, stopped },
        }
    }

    /// Every schedule in turn: the choices of the last one, with the last choice that had another alternative moved on.
    fn enumerate(&self, module: &Module) -> Enumeration {
        let mut numbers: Vec<u32> = Vec::new();
        let mut spent = 0;
        let mut undetermined = false;
        for made in 1..=self.schedules {
            let options = self.options(self.seed, Scheduling::Enumerated(numbers.clone()));
            let execution = Interpreter::run(module, options.clone());
            if let Some(found) = self.confirmed(module, &options, &execution) {
                return Enumeration::Seen(Box::new(found));
            }
            spent += execution.instructions + 100;
            // A run that a violation of another kind cuts short says nothing about what would come after it.
            let ended =
                matches!(execution.ending, ExecutionEnd::Exited(_) | ExecutionEnd::Aborted | ExecutionEnd::Pruned);
            undetermined |= !ended || execution.drawn || !execution.assumptions.is_empty();
            if undetermined || spent > self.all_instructions || self.is_late() {
                return Enumeration::Open;
            }
            let width = execution.alternatives;
            numbers.resize(width.len(), 0);
            let Some(at) = (0..width.len()).rev().find(|at| numbers[*at] + 1 < width[*at]) else {
                return Enumeration::NoneViolates(made);
            };
            numbers.truncate(at + 1);
            numbers[at] += 1;
        }
        Enumeration::Open
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|end| Instant::now() >= end)
    }

    fn options(&self, seed: u64, scheduling: Scheduling) -> RunOptions {
        let wants = |kind| self.wanted.contains(&kind);
        RunOptions {
            seed,
            scheduling,
            limits: ExecutionLimits { instructions: self.instructions, ..ExecutionLimits::default() },
            at_race: if wants(ViolationKind::DataRace) { AtRace::Stop } else { AtRace::GoOn },
            spurious: if wants(ViolationKind::Deadlock) { SpuriousWakeups::Never } else { SpuriousWakeups::Allowed },
            leaks: if wants(ViolationKind::Leak) { LeakCheck::AtExit } else { LeakCheck::Off },
            ..RunOptions::default()
        }
    }

    /// The run again, with its steps kept, if it violates.
    fn confirmed(&self, module: &Module, options: &RunOptions, execution: &Execution) -> Option<FoundViolation> {
        let kind = match &execution.ending {
            ExecutionEnd::Violation(v) if self.wanted.contains(&v.kind) => v.kind,
            _ => return None,
        };
        let options = RunOptions { recording: Recording::Steps, ..options.clone() };
        let execution = Interpreter::run(module, options.clone());
        match &execution.ending {
            ExecutionEnd::Violation(v) if v.kind == kind => {
                let violation = v.clone();
                Some(FoundViolation { options, execution, violation })
            }
            _ => None,
        }
    }
}

/// Numbers that follow the planned ones on standard input.
const MAX_DRAWN_INPUTS: u32 = 8;

enum Enumeration {
    Seen(Box<FoundViolation>),
    NoneViolates(u32),
    Open,
}
