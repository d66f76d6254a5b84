//! A guided schedule: the interpreter follows a plan that was made elsewhere, as far as it can be followed.
//!
//! In: a plan (which thread makes an access on which line, in which order; the values that came from outside), and where every thread
//! stands. Out: who moves next. A plan comes from a run of the model, whose steps are coarser and finer than those of C: several accesses may be one
//! step, a step may have no access here. So the plan is followed by lines, threads are recognised by the place that creates them, and what
//! the plan leaves open (does a thread finish its line, is a step that is not met left out) is drawn anew for each attempt. Whatever comes of it is a
//! run of the program: a bad plan loses a replay and cannot invent one. Deliberately absent: any knowledge of the model.

use crate::module::FunctionId;
use base::{Random, Span};
use std::sync::Arc;

/// One thread of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedThread {
    /// The line of the call that creates it; `None` for the first thread of the program.
    pub created: Option<Span>,
    /// The function that it runs, where threads that other calls create may play this part as well.
    pub function: Option<FunctionId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStep {
    /// Which of the plan's threads.
    pub thread: usize,
    /// The line of its access.
    pub line: Span,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulePlan {
    pub threads: Vec<PlannedThread>,
    pub steps: Vec<PlannedStep>,
    /// Values from outside in the order in which the plan's threads take them.
    pub values: Vec<(usize, i128)>,
    /// Numbers that occur in the run: other values from outside are drawn from these first.
    pub numbers: Vec<i128>,
}

/// Where a thread stands, as the guide sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub thread: u32,
    /// The line of its next access, if it stands at one.
    pub access: Option<Span>,
    pub created: Option<Span>,
    pub function: Option<FunctionId>,
    pub(crate) readiness: Readiness,
    /// The thread that it waits for, where that is one.
    pub(crate) waits_for: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    /// It waits, but the wait may end early: by time, or without a signal.
    MayWakeEarly,
    /// Its operation has not taken effect: it will be made again.
    Blocked,
    /// It waits for a signal, or in a barrier.
    Parked,
    Ended,
}

/// After so many accesses that are not the planned one, the planned one is left out.
const MAX_WANDERING: u32 = 2_000;

pub(crate) struct Guidance {
    plan: Arc<SchedulePlan>,
    at: usize,
    bound: Vec<Option<u32>>,
    wandering: u32,
    /// Who took the last planned step, and which one it was.
    last: Option<(u32, usize)>,
    /// A thread goes on while it stands on this line.
    finishing: Option<(u32, Span)>,
    finish_percent: u32,
    leave_out_percent: u32,
    planned_value_percent: u32,
    next_value: Vec<usize>,
    random: Random,
}

/// Whether a place lies on a line.
fn on_line(line: Span, place: Span) -> bool {
    line.file == place.file && line.start <= place.start && place.start <= line.end
}

impl Guidance {
    /// The first attempts follow the plan to the letter, once with lines left as soon as the step is done and once with lines finished; later ones vary.
    pub(crate) fn new(plan: Arc<SchedulePlan>, attempt: u32, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x0067_7569_6465);
        let (finish_percent, leave_out_percent, planned_value_percent) = match attempt {
            0 => (0, 0, 100),
            1 => (100, 0, 100),
            2 => (0, 100, 100),
            3 => (100, 100, 100),
            _ => {
                let shares = [0, 20, 50, 80, 100];
                (shares[random.below(5)], shares[random.below(5)], [100, 80, 30][random.below(3)])
            }
        };
        Self {
            bound: vec![None; plan.threads.len()],
            next_value: vec![0; plan.threads.len()],
            plan,
            at: 0,
            wandering: 0,
            last: None,
            finishing: None,
            finish_percent,
            leave_out_percent,
            planned_value_percent,
            random,
        }
    }

    /// Who moves next; `None` where any thread may.
    pub(crate) fn choose(&mut self, standings: &[Standing]) -> Option<u32> {
        let plan = self.plan.clone();
        // A step whose operation had to wait is still to be taken.
        if let Some((thread, step)) = self.last.take()
            && standings.iter().any(|s| s.thread == thread && s.readiness == Readiness::Blocked)
        {
            self.at = step;
            self.finishing = None;
        }
        if let Some((thread, line)) = self.finishing {
            let can = |s: &&Standing| matches!(s.readiness, Readiness::Ready | Readiness::MayWakeEarly);
            let still = standings.iter().filter(can).find(|s| s.thread == thread);
            match still.and_then(|s| s.access) {
                Some(access) if on_line(line, access) => return Some(thread),
                _ => self.finishing = None,
            }
        }
        while let Some(step) = plan.steps.get(self.at) {
            let Some(thread) = self.bind(step.thread, standings) else {
                match self.other(standings, None) {
                    Some(thread) => return Some(thread),
                    None => self.pass(),
                }
                continue;
            };
            let standing = standings.iter().find(|s| s.thread == thread)?;
            match standing.readiness {
                Readiness::Ended => self.pass(),
                Readiness::Blocked | Readiness::Parked => match self.other(standings, Some(standing)) {
                    Some(thread) => return Some(thread),
                    None => self.pass(),
                },
                Readiness::Ready | Readiness::MayWakeEarly => {
                    let Some(access) = standing.access else { return Some(thread) };
                    if on_line(step.line, access) {
                        self.last = Some((thread, self.at));
                        self.pass();
                        let next_of_line =
                            plan.steps.get(self.at).is_some_and(|s| s.thread == step.thread && s.line == step.line);
                        if !next_of_line && self.random.chance(self.finish_percent) {
                            self.finishing = Some((thread, step.line));
                        }
                        return Some(thread);
                    }
                    let later = plan.steps[self.at + 1..].iter().find(|s| s.thread == step.thread);
                    let left_out = later.is_some_and(|s| on_line(s.line, access));
                    self.wandering += 1;
                    if self.wandering > MAX_WANDERING || left_out && self.random.chance(self.leave_out_percent) {
                        self.pass();
                        continue;
                    }
                    return Some(thread);
                }
            }
        }
        None
    }

    /// A value from outside for the thread that moves.
    pub(crate) fn value(&mut self, thread: u32) -> Option<i128> {
        if !self.random.chance(self.planned_value_percent) {
            return None;
        }
        if let Some(planned) = self.bound.iter().position(|b| *b == Some(thread)) {
            let mut own = self.plan.values.iter().filter(|(t, _)| *t == planned).map(|(_, v)| *v);
            if let Some(value) = own.nth(self.next_value[planned]) {
                self.next_value[planned] += 1;
                return Some(value);
            }
        }
        if self.plan.numbers.is_empty() || self.random.chance(30) {
            return None;
        }
        Some(self.plan.numbers[self.random.below(self.plan.numbers.len())])
    }

    fn pass(&mut self) {
        self.at += 1;
        self.wandering = 0;
    }

    /// The thread that plays this part: one created at its line that plays no other.
    fn bind(&mut self, planned: usize, standings: &[Standing]) -> Option<u32> {
        if let Some(thread) = self.bound[planned] {
            return Some(thread);
        }
        let free = |s: &&Standing| !self.bound.contains(&Some(s.thread));
        let found = standings.iter().filter(|s| self.fits(planned, s)).find(free)?.thread;
        self.bound[planned] = Some(found);
        Some(found)
    }

    fn fits(&self, planned: usize, standing: &Standing) -> bool {
        let part = &self.plan.threads[planned];
        match (part.created, standing.created) {
            (None, None) => true,
            (Some(line), Some(place)) => {
                on_line(line, place) || part.function.is_some() && part.function == standing.function
            }
            _ => false,
        }
    }

    /// Another thread that can move without getting ahead of the plan: whom the wanted one waits for, the first thread, threads that have a part, any.
    fn other(&self, standings: &[Standing], wanted: Option<&Standing>) -> Option<u32> {
        let early = |s: &Standing| {
            let part = self.bound.iter().position(|b| *b == Some(s.thread));
            let next = part.and_then(|p| self.plan.steps[self.at..].iter().find(|step| step.thread == p));
            matches!((next, s.access), (Some(step), Some(access)) if on_line(step.line, access))
        };
        // A thread that will play a part, and has not begun, waits for it.
        let unbound = |part: usize| self.bound[part].is_none();
        let steps_left = &self.plan.steps[self.at.min(self.plan.steps.len())..];
        let waits_for_its_part = |s: &Standing| {
            s.created.is_some()
                && !self.bound.contains(&Some(s.thread))
                && steps_left.iter().any(|step| unbound(step.thread) && self.fits(step.thread, s))
        };
        // Whom the wanted thread waits for must move, and so must whoever creates it, also where that is ahead of the plan.
        let awaited = |s: &Standing| wanted.is_some_and(|w| w.waits_for == Some(s.thread));
        let can = |s: &&Standing| {
            let allowed = wanted.is_none_or(|w| w.thread != s.thread && (awaited(s) || !early(s)));
            s.readiness == Readiness::Ready && allowed
        };
        let rank = |s: &&Standing| {
            if awaited(s) {
                0
            } else if waits_for_its_part(s) {
                5
            } else if early(s) {
                4
            } else if s.created.is_none() {
                1
            } else if self.bound.contains(&Some(s.thread)) {
                2
            } else {
                3
            }
        };
        standings.iter().filter(can).min_by_key(rank).map(|s| s.thread)
    }
}
