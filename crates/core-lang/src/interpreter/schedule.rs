//! Schedulers: who takes the next step.
//!
//! In: the threads that can move. Out: one of them. Five ways: at random with a stickiness drawn for the run; by priorities with
//! few changes (Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010: random priorities, `d-1` change
//! points); along a list; along a plan (`guide`); every choice in turn, by numbers. A thread that spins without yielding is put last after a while, so that runs go on.

use super::guide::{Guidance, Readiness, SchedulePlan, Standing};
use super::memory::AllocationOrigin;
use super::{
    AfterCall, ExecutionStop, Interpreter, Life, OUT_OF_STEPS, Patience, SpuriousWakeups, Violation, ViolationKind,
    Wait,
};
use crate::module::{AccessStep, CallTarget, Instruction};
use base::Random;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// At each step the running thread goes on with a probability drawn for the run, or any thread is picked.
    Random,
    /// Priorities with this many change points among about so many steps.
    FewSwitches { changes: u32, steps: u32 },
    /// The threads of the list, one for each step; then the running thread goes on while it can.
    Forced(Vec<u32>),
    /// Along a plan; attempts with different numbers follow it differently.
    Guided { plan: Arc<SchedulePlan>, attempt: u32 },
    /// At each choice the thread of this number among those that can move; then the first.
    Enumerated(Vec<u32>),
}

pub(crate) struct Scheduler {
    random: Random,
    policy: Policy,
    last: Option<u32>,
    run_length: u32,
    pub switches: u32,
    pub taken: Vec<u32>,
    /// How many threads could move at each choice, where schedules are enumerated.
    pub alternatives: Vec<u32>,
}

enum Policy {
    Random { stay_percent: u32 },
    Priorities { of_thread: Vec<u64>, changes: Vec<u32>, lowest: u64, steps: u32 },
    Forced { list: Vec<u32>, at: usize },
    Guided(Box<Guidance>),
    Enumerated { numbers: Vec<u32>, at: usize },
}

/// After so many steps in a row, while others can move, a thread is taken to spin.
const SPINNING_STEPS: u32 = 3_000;
/// Longer schedules are not kept; the seed repeats the run anyhow.
const MAX_KEPT_SCHEDULE: usize = 2_000_000;

impl Scheduler {
    pub(crate) fn new(scheduling: &Scheduling, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x0073_6368_6564);
        let policy = match scheduling {
            Scheduling::Random => {
                let stay_percent = [0, 50, 80, 95, 99][random.below(5)];
                Policy::Random { stay_percent }
            }
            Scheduling::FewSwitches { changes, steps } => {
                let mut points: Vec<u32> =
                    (0..*changes).map(|_| 1 + random.below((*steps).max(1) as usize) as u32).collect();
                points.sort_unstable();
                Policy::Priorities { of_thread: Vec::new(), changes: points, lowest: u64::from(u32::MAX), steps: 0 }
            }
            Scheduling::Forced(list) => Policy::Forced { list: list.clone(), at: 0 },
            Scheduling::Guided { plan, attempt } => {
                Policy::Guided(Box::new(Guidance::new(plan.clone(), *attempt, seed)))
            }
            Scheduling::Enumerated(numbers) => Policy::Enumerated { numbers: numbers.clone(), at: 0 },
        };
        Self { random, policy, last: None, run_length: 0, switches: 0, taken: Vec::new(), alternatives: Vec::new() }
    }

    pub(crate) fn choose(&mut self, enabled: &[u32]) -> u32 {
        let spinning = self.run_length > SPINNING_STEPS && enabled.len() > 1;
        let last = self.last.filter(|l| enabled.contains(l));
        let chosen = match &mut self.policy {
            Policy::Random { stay_percent } => match last {
                Some(last) if !spinning && self.random.chance(*stay_percent) => last,
                _ => enabled[self.random.below(enabled.len())],
            },
            Policy::Priorities { of_thread, changes, lowest, steps } => {
                let most = enabled.iter().max().copied().unwrap_or(0) as usize;
                while of_thread.len() <= most {
                    of_thread.push(u64::from(u32::MAX) + 1 + (self.random.word() >> 33));
                }
                *steps += 1;
                let change = changes.first().is_some_and(|at| at <= steps);
                if change {
                    changes.remove(0);
                }
                if (change || spinning)
                    && let Some(last) = last
                {
                    *lowest -= 1;
                    of_thread[last as usize] = *lowest;
                }
                let highest = enabled.iter().max_by_key(|t| of_thread[**t as usize]);
                *highest.unwrap_or(&enabled[0])
            }
            Policy::Guided(_) => match last {
                // What the plan leaves open: the running thread goes on.
                Some(last) if !spinning => last,
                _ => enabled[self.random.below(enabled.len())],
            },
            Policy::Enumerated { numbers, at } => {
                let number = numbers.get(*at).copied().unwrap_or(0);
                *at += 1;
                self.alternatives.push(enabled.len() as u32);
                enabled[(number as usize).min(enabled.len() - 1)]
            }
            Policy::Forced { list, at } => {
                let wanted = list.get(*at).copied();
                *at += 1;
                match wanted.filter(|w| enabled.contains(w)).or(last.filter(|_| !spinning)) {
                    Some(thread) => thread,
                    None => enabled[self.random.below(enabled.len())],
                }
            }
        };
        self.note(chosen);
        chosen
    }

    /// Keeps who moves.
    fn note(&mut self, chosen: u32) {
        if self.last == Some(chosen) {
            self.run_length += 1;
        } else {
            self.run_length = 0;
            self.switches += u32::from(self.last.is_some());
        }
        self.last = Some(chosen);
        if self.taken.len() < MAX_KEPT_SCHEDULE {
            self.taken.push(chosen);
        }
    }

    /// Whether every access is a step, also while there is one thread.
    pub(super) fn stops_at_each_access(&self) -> bool {
        matches!(self.policy, Policy::Guided(_))
    }

    fn along_the_plan(&mut self, standings: &[Standing]) -> Option<u32> {
        let Policy::Guided(guidance) = &mut self.policy else { return None };
        let chosen = guidance.choose(standings)?;
        self.note(chosen);
        Some(chosen)
    }

    /// A value from outside that the plan has for a thread.
    pub(crate) fn planned_value(&mut self, thread: u32) -> Option<i128> {
        match &mut self.policy {
            Policy::Guided(guidance) => guidance.value(thread),
            _ => None,
        }
    }

    /// The running thread says that others should move.
    pub(crate) fn yield_now(&mut self) {
        self.run_length = SPINNING_STEPS + 1;
        if let (Policy::Priorities { of_thread, lowest, .. }, Some(last)) = (&mut self.policy, self.last)
            && let Some(priority) = of_thread.get_mut(last as usize)
        {
            *lowest -= 1;
            *priority = *lowest;
        }
    }
}

impl Interpreter<'_> {
    /// Runs threads until the program ends.
    pub(super) fn schedule_all(&mut self) -> Result<(), ExecutionStop> {
        loop {
            let enabled = self.enabled();
            let Some(first) = enabled.first().copied() else { return self.stuck() };
            let chosen = match self.exclusive {
                Some((owner, _)) if enabled.contains(&owner) => owner,
                // Inside an exclusive stretch the thread waits for what no other can give it: this is no run to look at.
                Some(_) => return Err(ExecutionStop::Pruned),
                None => match self.planned() {
                    Some(thread) => thread,
                    None if enabled.len() == 1 && self.threads.len() == 1 => first,
                    None => self.scheduler.choose(&enabled),
                },
            };
            self.current = chosen;
            self.deliver_signal()?;
            self.take_step()?;
        }
    }

    /// Executes the access at hand and goes on to the next one that others could see.
    fn take_step(&mut self) -> Result<(), ExecutionStop> {
        self.instruction()?;
        loop {
            let thread = &self.threads[self.current as usize];
            if thread.wait.is_some() || thread.life == Life::Ended || (thread.frames.is_empty()) {
                return Ok(());
            }
            let steps = self.threads.len() > 1 || self.scheduler.stops_at_each_access() || self.signals.watches();
            if steps && self.at_visible_instruction(self.current) {
                return Ok(());
            }
            self.instruction()?;
            if self.instructions > self.options.limits.instructions {
                return Err(ExecutionStop::Unsupported(OUT_OF_STEPS.into()));
            }
        }
    }

    /// Who moves by the plan, if there is one and it says.
    fn planned(&mut self) -> Option<u32> {
        if !self.scheduler.stops_at_each_access() {
            return None;
        }
        let standings: Vec<Standing> = (0..self.threads.len() as u32).map(|t| self.standing(t)).collect();
        self.scheduler.along_the_plan(&standings)
    }

    fn standing(&self, number: u32) -> Standing {
        let thread = &self.threads[number as usize];
        let visible = thread.wait.is_some() || self.at_visible_instruction(number);
        let span = |frame: &super::CallFrame| {
            self.module.functions[frame.function].spans.get(frame.position as usize).copied()
        };
        let readiness = match thread.wait {
            _ if thread.life == Life::Ended => Readiness::Ended,
            None => Readiness::Ready,
            Some((wait, _)) if self.satisfied(number, wait) => Readiness::Ready,
            Some((_, Patience::Timed)) => Readiness::MayWakeEarly,
            Some((Wait::Signal(_), _)) if self.options.spurious == SpuriousWakeups::Allowed => Readiness::MayWakeEarly,
            Some((Wait::Signal(_) | Wait::Barrier(..) | Wait::Forever, _)) => Readiness::Parked,
            Some(_) => Readiness::Blocked,
        };
        let waits_for = match thread.wait {
            Some((Wait::Mutex(at), _)) => self.sync.owner(at),
            Some((Wait::Thread(other), _)) => Some(other),
            _ => None,
        };
        let access = thread.frames.last().filter(|_| visible).and_then(span);
        let (created, function) = (thread.created, thread.function);
        Standing { thread: number, access, created, function, readiness, waits_for }
    }

    fn at_visible_instruction(&self, thread: u32) -> bool {
        let Some(frame) = self.threads[thread as usize].frames.last() else { return true };
        match self.module.functions[frame.function].code.get(frame.position as usize) {
            Some(Instruction::Load { access, address, .. } | Instruction::Store { access, address, .. }) => {
                access.step != AccessStep::UpdateWrite && self.may_be_shared(*address, frame)
            }
            Some(Instruction::Copy { .. } | Instruction::Fence { .. } | Instruction::ExclusiveBegin) => true,
            Some(Instruction::Call { target, .. }) => !matches!(target, CallTarget::Function(_)),
            // The end of `main` ends the others.
            Some(Instruction::Return(_)) | None => frame.after == AfterCall::Thread && thread == 0,
            _ => false,
        }
    }

    /// Constants are the same for all; everything else may be reached by others.
    fn may_be_shared(&self, address: crate::module::Operand, frame: &super::CallFrame) -> bool {
        let value = match address {
            crate::module::Operand::Register(register) => frame.registers[register.index()],
            crate::module::Operand::Constant(value) => value,
        };
        let crate::value::CoreValue::Pointer(_, crate::value::Provenance::Object(id)) = value else { return true };
        let allocation = &self.memory.allocations[id as usize];
        match allocation.origin {
            AllocationOrigin::Object(object) => {
                self.module.objects[object].class != crate::module::StorageClass::Constant
            }
            _ => true,
        }
    }

    fn enabled(&mut self) -> Vec<u32> {
        let mut ready = Vec::new();
        let mut by_time = Vec::new();
        let mut spurious = Vec::new();
        for number in 0..self.threads.len() as u32 {
            let thread = &self.threads[number as usize];
            if thread.life == Life::Ended {
                continue;
            }
            match thread.wait {
                None => ready.push(number),
                Some((wait, patience)) => {
                    if self.satisfied(number, wait) {
                        ready.push(number);
                    } else if patience == Patience::Timed {
                        by_time.push(number);
                    } else if matches!(wait, Wait::Signal(_)) && self.options.spurious == SpuriousWakeups::Allowed {
                        spurious.push(number);
                    }
                }
            }
        }
        if !by_time.is_empty() || !spurious.is_empty() {
            self.drawn = true;
        }
        // A time limit passes when it must, and sometimes early: how long a step takes is unknown.
        if !by_time.is_empty() && (ready.is_empty() || self.random.chance(3)) {
            ready.extend(by_time);
        }
        if !spurious.is_empty() && !ready.is_empty() && self.random.below(1000) < 2 {
            ready.extend(spurious);
        }
        ready.sort_unstable();
        ready
    }

    fn satisfied(&self, thread: u32, wait: Wait) -> bool {
        match wait {
            Wait::Thread(other) => self.threads[other as usize].life == Life::Ended,
            Wait::Signal(_) => self.threads[thread as usize].signalled,
            Wait::Forever => false,
            other => self.sync.satisfied(other),
        }
    }

    /// No thread can move.
    fn stuck(&mut self) -> Result<(), ExecutionStop> {
        let alive: Vec<u32> =
            (0..self.threads.len() as u32).filter(|t| self.threads[*t as usize].life != Life::Ended).collect();
        let Some(first) = alive.first().copied() else { return Ok(()) };
        // A thread that waits for the outside world for ever (`pause`) is no deadlock by itself.
        if alive.iter().any(|t| matches!(self.threads[*t as usize].wait, Some((Wait::Forever, _)))) {
            return Err(ExecutionStop::Exit(0));
        }
        self.current = first;
        let mut violation =
            Violation::new(ViolationKind::Deadlock, format!("can never go on: {}", self.waiting_text().join("; ")));
        for thread in alive {
            self.current = thread;
            if let Some(span) = self.current_span() {
                violation.notes.push((span, format!("{} waits here", self.thread_name(thread))));
            }
        }
        self.current = first;
        Err(ExecutionStop::Violation(Box::new(violation)))
    }
}
