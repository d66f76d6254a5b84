//! Signals: which handlers there are, what is pending, and when a handler runs.
//!
//! In: what the rows of `signal`, `sigaction` and their like ask for. Out: handlers that run in a thread between two of its steps, on top of whatever it does: a signal that the program
//! sends comes at the next step of a thread that has not blocked it; a signal for which the program has installed a handler may also come from outside, at any time (POSIX.1-2017, 2.4). While
//! its handler runs a signal is blocked. Deliberately absent: signals that interrupt a call that waits, stacks of their own, real-time queues.

use super::{AfterCall, CallPhase, ExecutionStop, Interpreter, Life, PassedArgument};
use crate::interpreter::memory::{AllocationOrigin, Initialised};
use crate::value::{CoreValue, IntType, ScalarType};
use std::collections::BTreeMap;

/// The largest number of a signal that is followed.
pub(crate) const MAX_SIGNAL: i128 = 64;
/// So many signals come from outside in a run.
const MOST_FROM_OUTSIDE: u32 = 3;
/// A signal comes within two to the power of less than this many steps after the last one.
const LONGEST_WAIT_BITS: usize = 12;

/// What is done at a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SignalAction {
    /// 0 is the default, 1 is to ignore it, anything else a function.
    pub handler: CoreValue,
    /// The handler takes three arguments (`SA_SIGINFO`).
    pub with_information: bool,
    /// The handler serves once (`SA_RESETHAND`).
    pub once: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SignalState {
    pub actions: BTreeMap<u32, SignalAction>,
    /// Signals on their way: to a thread, or to any.
    pub pending: Vec<(Option<u32>, u32)>,
    from_outside: u32,
    /// Steps until the next one from outside, once it is drawn.
    until_next: Option<usize>,
}

impl SignalState {
    /// Whether a handler may have to run before a step.
    pub(crate) fn watches(&self) -> bool {
        self.actions.values().any(SignalAction::has_handler)
    }
}

impl SignalAction {
    pub(crate) fn has_handler(&self) -> bool {
        !matches!(self.handler, CoreValue::Int(0 | 1) | CoreValue::Pointer(0 | 1, _))
    }
    fn ignores(&self) -> bool {
        matches!(self.handler, CoreValue::Int(1) | CoreValue::Pointer(1, _))
    }
}

/// A set of one signal, as masks have it.
pub(crate) fn bit(signal: u32) -> u64 {
    1 << (signal.clamp(1, 64) - 1)
}

impl Interpreter<'_> {
    /// Whether a signal does nothing where no handler is installed.
    fn is_quiet(signal: u32) -> bool {
        // SIGCHLD, SIGCONT, SIGURG, SIGWINCH.
        matches!(signal, 17 | 18 | 23 | 28)
    }

    /// The program sends a signal, to one of its threads or to itself.
    pub(crate) fn send_signal(&mut self, thread: Option<u32>, signal: u32) -> Result<(), ExecutionStop> {
        match self.signals.actions.get(&signal) {
            Some(action) if action.ignores() => Ok(()),
            Some(action) if action.has_handler() => {
                self.signals.pending.push((thread, signal));
                Ok(())
            }
            _ if Self::is_quiet(signal) => Ok(()),
            _ if self.threads.iter().all(|t| t.blocked_signals & bit(signal) != 0 || t.life == Life::Ended) => {
                self.signals.pending.push((thread, signal));
                Ok(())
            }
            _ => Err(ExecutionStop::Abort),
        }
    }

    /// The signals that do not come to a thread now: those it has blocked, and those whose handlers it runs.
    pub(crate) fn blocked_now(&self, thread: u32) -> u64 {
        let thread = &self.threads[thread as usize];
        let handled = thread.frames.iter().filter_map(|f| match f.after {
            AfterCall::Signal(signal) => Some(bit(signal)),
            _ => None,
        });
        handled.fold(thread.blocked_signals, |all, one| all | one)
    }

    /// Takes a pending signal of a set away, for `sigwait`.
    pub(crate) fn take_pending(&mut self, set: u64) -> Option<u32> {
        let current = self.current;
        let fits = |(to, signal): &(Option<u32>, u32)| to.is_none_or(|t| t == current) && set & bit(*signal) != 0;
        let at = self.signals.pending.iter().position(fits)?;
        Some(self.signals.pending.remove(at).1)
    }

    /// Runs a handler in the current thread if a signal comes to it now.
    pub(super) fn deliver_signal(&mut self) -> Result<(), ExecutionStop> {
        if !self.signals.watches() || self.exclusive.is_some() {
            return Ok(());
        }
        let current = self.current;
        let thread = &self.threads[current as usize];
        let ready = thread.life == Life::Running
            && thread.wait.is_none()
            && thread.phase == CallPhase::Start
            && thread.frames.last().is_some_and(|f| f.copied == 0);
        if !ready || self.ghost.is_some() {
            return Ok(());
        }
        let blocked = self.blocked_now(current);
        let Some(signal) = self.next_signal(!blocked) else { return Ok(()) };
        let Some(action) = self.signals.actions.get(&signal).copied().filter(SignalAction::has_handler) else {
            return Ok(());
        };
        if action.once {
            self.signals.actions.remove(&signal);
        }
        let int = ScalarType::Int(IntType::I32);
        let mut arguments = vec![PassedArgument::Scalar(CoreValue::Int(i128::from(signal)), int)];
        if action.with_information {
            let span = self.span();
            let origin = AllocationOrigin::Environment("information about a signal");
            let id = self.memory.allocate(128, 8, origin, Initialised::Set, span)?;
            arguments.push(PassedArgument::Scalar(self.memory.pointer(id), ScalarType::Pointer));
            arguments.push(PassedArgument::Scalar(CoreValue::NULL, ScalarType::Pointer));
        }
        let function = self.function_of(action.handler)?;
        self.record(|_| format!("is interrupted by signal {signal}"));
        self.push_frame(current, function, &arguments, crate::module::Destination::Nowhere, AfterCall::Signal(signal))
    }

    /// The signal of a set that comes to the current thread before its next step, if one does.
    fn next_signal(&mut self, open: u64) -> Option<u32> {
        if let Some(signal) = self.take_pending(open) {
            return Some(signal);
        }
        let handled = self.signals.actions.iter().filter(|(n, a)| a.has_handler() && open & bit(**n) != 0);
        let numbers: Vec<u32> = handled.map(|(n, _)| *n).collect();
        if numbers.is_empty() || self.signals.from_outside >= MOST_FROM_OUTSIDE || self.scheduler.stops_at_each_access()
        {
            return None;
        }
        let waits = match self.signals.until_next {
            Some(waits) => waits,
            // Short programs and long ones: every order of magnitude is as likely.
            None => {
                let most = 1 << self.draw().below(LONGEST_WAIT_BITS);
                self.draw().below(most)
            }
        };
        self.signals.until_next = waits.checked_sub(1);
        if waits > 0 {
            return None;
        }
        self.signals.from_outside += 1;
        self.assume("a signal with a handler may come at any time");
        let at = self.draw().below(numbers.len());
        Some(numbers[at])
    }
}
