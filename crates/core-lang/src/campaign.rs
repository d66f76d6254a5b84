//! Many runs of one module under many schedules, and what they saw together.
//!
//! In: a module, which violations count, a budget. Out: the first run that violates, as short in switches as a few more tries make it,
//! or how many runs saw nothing; which instructions no run reached. Schedules alternate between few switches (bugs of small depth) and random
//! ones. A violation is always confirmed: the run is made again from its seed and must end the same way.

use crate::interpreter::{
    AtRace, Execution, ExecutionEnd, ExecutionLimits, Interpreter, LeakCheck, Recording, RunOptions, Scheduling,
    SpuriousWakeups, Violation, ViolationKind,
};
use crate::module::Module;
use crate::outside;
use base::Random;
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub struct Campaign {
    pub seed: u64,
    /// The violations that are looked for; others end a run without a word.
    pub wanted: Vec<ViolationKind>,
    /// Where violations are known already: another one is looked for.
    pub known_places: Vec<base::Span>,
    pub runs: u32,
    pub time: Duration,
    pub limits: ExecutionLimits,
    /// The arguments of `main`; where there are none, runs draw some.
    pub arguments: Vec<String>,
    /// Standard input; where there is none, runs draw some.
    pub input: Vec<u8>,
}

/// A run that can be made again.
#[derive(Clone, Debug)]
pub struct FoundViolation {
    pub options: RunOptions,
    pub execution: Execution,
    pub violation: Violation,
}

#[derive(Clone, Debug, Default)]
pub struct CampaignReport {
    pub runs: u32,
    pub found: Option<Box<FoundViolation>>,
    /// Why runs stopped without an answer, with how many.
    pub stopped: Vec<(String, Option<base::Span>, u32)>,
    /// Undefined behaviour that was not asked for, once for each place.
    pub other_violations: Vec<Violation>,
    pub finished: u32,
    pub out_of_steps: u32,
    /// Which instructions some run executed, by function.
    pub covered: Vec<Vec<bool>>,
    pub assumptions: Vec<String>,
    pub instructions: u64,
    pub most_threads: usize,
}

impl Campaign {
    pub fn run(&self, module: &Module) -> CampaignReport {
        let start = Instant::now();
        let mut report = CampaignReport {
            covered: module.functions.iter().map(|f| vec![false; f.code.len()]).collect(),
            ..CampaignReport::default()
        };
        let mut random = Random::new(self.seed);
        let words = outside::words(module);
        let mut steps = 100u32;
        while report.runs < self.runs && (report.runs == 0 || start.elapsed() < self.time) {
            let options = self.options(random.word(), report.runs, steps);
            let options = self.with_outside(module, options, report.runs, &words);
            let execution = Interpreter::run(module, options.clone());
            report.runs += 1;
            steps = steps.max(execution.schedule.len() as u32).min(1 << 20);
            self.note(&mut report, &execution);
            if let Some(violation) = self.wanted_violation(&execution) {
                let found = FoundViolation { options, execution, violation };
                report.found = self.confirm(module, found).map(Box::new);
                if report.found.is_some() {
                    break;
                }
            }
        }
        report
    }

    /// How the run of this number is made.
    fn options(&self, seed: u64, number: u32, steps: u32) -> RunOptions {
        let scheduling = match number % 3 {
            0 => Scheduling::Random,
            1 => Scheduling::FewSwitches { changes: number / 3 % 4, steps },
            _ => Scheduling::FewSwitches { changes: 2 + number / 3 % 6, steps },
        };
        let wants = |kind| self.wanted.contains(&kind);
        let deadlock_only = wants(ViolationKind::Deadlock);
        RunOptions {
            seed,
            scheduling,
            limits: self.limits,
            at_race: if wants(ViolationKind::DataRace) { AtRace::Stop } else { AtRace::GoOn },
            spurious: if deadlock_only { SpuriousWakeups::Never } else { SpuriousWakeups::Allowed },
            recording: Recording::Nothing,
            leaks: if wants(ViolationKind::Leak) { LeakCheck::AtExit } else { LeakCheck::Off },
            arguments: self.arguments.clone(),
            input: self.input.clone(),
            files: Vec::new(),
        }
    }

    /// What comes from outside in the run of this number: at first nothing, and in one run in two something.
    fn with_outside(&self, module: &Module, options: RunOptions, number: u32, words: &[String]) -> RunOptions {
        if number.is_multiple_of(2) {
            return options;
        }
        let mut random = Random::new(options.seed ^ 0x6f75_7473_6964);
        let takes = module.entry.is_some_and(|entry| !module.functions[entry].parameters.is_empty());
        let arguments = match takes && self.arguments.is_empty() {
            true => outside::draw_arguments(&mut random, words),
            false => options.arguments,
        };
        let files = outside::files_for(&mut random, words, &arguments);
        let input = if self.input.is_empty() { outside::draw_text(&mut random, words) } else { options.input };
        RunOptions { arguments, files, input, ..options }
    }

    fn wanted_violation(&self, execution: &Execution) -> Option<Violation> {
        match &execution.ending {
            ExecutionEnd::Violation(violation)
                if self.wanted.contains(&violation.kind)
                    && !violation.span.is_some_and(|s| self.known_places.contains(&s)) =>
            {
                Some(violation.clone())
            }
            _ => None,
        }
    }

    fn note(&self, report: &mut CampaignReport, execution: &Execution) {
        for (all, seen) in report.covered.iter_mut().zip(&execution.covered) {
            for (a, s) in all.iter_mut().zip(seen) {
                *a |= *s;
            }
        }
        for assumption in &execution.assumptions {
            if !report.assumptions.contains(assumption) {
                report.assumptions.push(assumption.clone());
            }
        }
        report.instructions += execution.instructions;
        report.most_threads = report.most_threads.max(execution.threads.len());
        match &execution.ending {
            ExecutionEnd::Exited(_) | ExecutionEnd::Aborted | ExecutionEnd::Pruned => report.finished += 1,
            ExecutionEnd::OutOfSteps => report.out_of_steps += 1,
            ExecutionEnd::Unsupported { reason, span } => {
                match report.stopped.iter_mut().find(|(r, s, _)| r == reason && s == span) {
                    Some((_, _, count)) => *count += 1,
                    None => report.stopped.push((reason.clone(), *span, 1)),
                }
            }
            ExecutionEnd::Violation(violation) => {
                let known = |v: &Violation| v.kind == violation.kind && v.span == violation.span;
                if !self.wanted.contains(&violation.kind) && !report.other_violations.iter().any(known) {
                    report.other_violations.push(violation.clone());
                }
            }
        }
    }

    /// Makes the run again with its steps kept; then tries to find one with fewer switches.
    fn confirm(&self, module: &Module, found: FoundViolation) -> Option<FoundViolation> {
        let again = |options: &RunOptions| -> Option<FoundViolation> {
            let options = RunOptions { recording: Recording::Steps, ..options.clone() };
            let execution = Interpreter::run(module, options.clone());
            let violation = self.wanted_violation(&execution)?;
            (violation.kind == found.violation.kind).then_some(FoundViolation { options, execution, violation })
        };
        let mut best = again(&found.options)?;
        // The same choices with one stretch of another thread left out, as long as the violation stays. Bounded by steps, not by
        // time, so that the same run is shown each time.
        let mut schedule = best.execution.schedule.clone();
        let (mut at, mut spent) = (0, 0);
        while spent < MAX_SHRINKING && schedule.len() < 20_000 && at < schedule.len() {
            spent += best.execution.instructions + 1_000;
            let end = (at..schedule.len()).find(|n| schedule[*n] != schedule[at]).unwrap_or(schedule.len());
            let mut shorter = schedule.clone();
            shorter.drain(at..end);
            let options = RunOptions { scheduling: Scheduling::Forced(shorter), ..best.options.clone() };
            match again(&options) {
                Some(better) if better.execution.switches < best.execution.switches => {
                    schedule = better.execution.schedule.clone();
                    best = better;
                }
                _ => at = end,
            }
        }
        Some(best)
    }
}

/// Instructions that are spent on making a run shorter.
const MAX_SHRINKING: u64 = 5_000_000;
