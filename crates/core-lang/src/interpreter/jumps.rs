//! Jumps out of functions: `setjmp` and `longjmp`, and what rests on them: cleanup handlers and the cancellation of threads.
//!
//! In: marks, jumps, requests to cancel. Out: frames left, with the objects that end there. A mark is a frame and a position in it; a jump to a frame that has been left is a
//! violation. A thread that ends by `pthread_exit` or by cancellation jumps to the handlers that are pushed, the last one first (POSIX `pthread_cleanup_push`, as glibc's header spells it).
//! A request to cancel takes effect where POSIX says so, at the next of these points. Deliberately absent: asynchronous cancellation, and cancellation while waiting for a
//! condition (both end the run as unknown); restoring of signal masks.

use super::{AfterCall, CallPhase, ExecutionStop, Interpreter, ViolationKind};
use crate::module::{Destination, Position};
use crate::value::{CoreValue, Provenance};

/// A place that `setjmp` has marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JumpMark {
    /// How many frames there are, and which one is the last.
    depth: usize,
    serial: u64,
    position: Position,
    destination: Destination,
}

/// What a thread knows of being cancelled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cancellation {
    pub requested: bool,
    pub disabled: bool,
    pub asynchronous: bool,
}

/// Functions where a request to cancel takes effect (POSIX.1-2017, 2.9.5), of those that POSIX asks it of.
const POINTS: [&str; 15] = [
    "pthread_testcancel",
    "pthread_join",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "sem_wait",
    "sem_timedwait",
    "sleep",
    "usleep",
    "nanosleep",
    "clock_nanosleep",
    "read",
    "write",
    "open",
    "close",
    "fsync",
];

impl Interpreter<'_> {
    /// Whether the thread ends at this call because another has asked for it.
    pub(super) fn is_cancelled_at(&mut self, name: &str) -> Result<bool, ExecutionStop> {
        let thread = &self.threads[self.current as usize];
        let Cancellation { requested, disabled, asynchronous } = thread.cancellation;
        if !requested || disabled {
            return Ok(false);
        }
        let unsupported = |text: &str| Err(ExecutionStop::Unsupported(text.into()));
        if asynchronous {
            return unsupported("a thread that is cancelled at any moment");
        }
        if !POINTS.contains(&name) {
            return Ok(false);
        }
        Ok(true)
    }

    /// What a cancelled thread gives to whoever joins it.
    pub(crate) fn cancelled_value(&self) -> CoreValue {
        let all = if self.module.pointer_bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        CoreValue::Pointer(all, Provenance::Any)
    }

    /// Asks a thread to end; where it waits, it looks again.
    pub(crate) fn cancel(&mut self, thread: u32) -> Result<(), ExecutionStop> {
        let thread = &mut self.threads[thread as usize];
        thread.cancellation.requested = true;
        match thread.phase {
            CallPhase::Start => thread.wait = None,
            CallPhase::Created(_) | CallPhase::Barrier(_) => {}
            CallPhase::Signal | CallPhase::Relock(_) | CallPhase::Timed => {
                return Err(ExecutionStop::Unsupported("cancelling a thread that waits in several steps".into()));
            }
        }
        Ok(())
    }

    /// The thread ends: first the handlers that are pushed run.
    pub(super) fn unwind(&mut self, value: CoreValue) -> Result<(), ExecutionStop> {
        self.thread().cancellation.disabled = true;
        match self.thread().cleanup.pop() {
            Some(buffer) => {
                self.thread().result = value;
                self.jump(buffer, CoreValue::Int(1))
            }
            None => {
                self.end_frames(value);
                Ok(())
            }
        }
    }

    pub(super) fn mark(&mut self, buffer: (u32, u64), position: Position, destination: Destination) {
        let thread = self.thread();
        let (depth, serial) = (thread.frames.len(), thread.frames.last().map_or(0, |f| f.serial));
        thread.marks.insert(buffer, JumpMark { depth, serial, position, destination });
    }

    pub(super) fn jump(&mut self, buffer: (u32, u64), value: CoreValue) -> Result<(), ExecutionStop> {
        let bad = |text: &str| Err(ExecutionStop::violation(ViolationKind::BadCall, text));
        let Some(mark) = self.thread().marks.get(&buffer).copied() else {
            return bad("jumps to a place that this thread has not marked");
        };
        let frame = self.thread().frames.get(mark.depth.wrapping_sub(1)).map(|f| f.serial);
        if frame != Some(mark.serial) {
            return bad("jumps into a function that has returned");
        }
        let span = self.span();
        let left: Vec<_> = self.thread().frames.drain(mark.depth..).collect();
        if left.iter().any(|f| f.after != AfterCall::Caller) {
            return Err(ExecutionStop::Unsupported("a jump out of a function that the library has called".into()));
        }
        for id in left.into_iter().flat_map(|f| f.locals.into_iter().flatten()) {
            self.end_object(id, span);
        }
        self.thread().phase = CallPhase::Start;
        self.deliver(mark.destination, value)?;
        if let Some(frame) = self.thread().frames.last_mut() {
            frame.position = mark.position;
            frame.copied = 0;
        }
        Ok(())
    }
}
