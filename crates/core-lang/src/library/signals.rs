//! Rows of signals: handlers, masks, sending and waiting (POSIX.1-2017, 2.4; C11 7.14).
//!
//! In: calls. Out: actions, masks and signals on their way; handlers run between the steps of threads (`interpreter::signals`). Sets are 64 bits at the beginning of a `sigset_t`, as Linux
//! has them, and so is the layout of `struct sigaction`. Deliberately absent: `sigsuspend`, signals to other processes, real-time signals with values.

use super::errno::*;
use super::{Answer, CallSite, LibraryRow, Reply, int, nothing};
use crate::interpreter::signals::{MAX_SIGNAL, SignalAction, bit};
use crate::interpreter::{AfterCall, ExecutionStop, Interpreter, PassedArgument, Patience, Wait};
use crate::value::{CoreValue, IntType, ScalarType};

const INT: ScalarType = ScalarType::Int(IntType::I32);
const WORD: ScalarType = ScalarType::Int(IntType { bits: 64, ..IntType::U64 });
/// Bytes of a `sigset_t`.
const SET_BYTES: usize = 128;
/// Where the flags of a `struct sigaction` lie behind its handler, for 64 bits.
const FLAGS_OFFSET: i128 = 136;
const INFORMATION_FLAG: i128 = 4;
const ONCE_FLAG: i128 = 0x8000_0000;

macro_rules! row {
    ($name:literal, $run:expr, $effect:literal) => {
        LibraryRow { name: $name, effect: $effect, run: $run }
    };
}

pub(super) const ROWS: &[LibraryRow] = &[
    row!("signal", signal, "a2 is called at the signal a1; what was called before, or SIG_ERR and EINVAL"),
    row!("__sysv_signal", signal, "a2 is called once at the signal a1; what was called before, or SIG_ERR"),
    row!("bsd_signal", signal, "a2 is called at the signal a1; what was called before, or SIG_ERR"),
    row!("sigaction", sigaction, "reads the action *a2 of the signal a1; writes the old one to *a3; 0, EINVAL"),
    row!("raise", raise, "the signal a1 comes to this thread; 0"),
    row!("kill", kill, "the signal a2 comes to this program if a1 is its number; 0, ESRCH"),
    row!("pthread_kill", thread_kill, "the signal a2 comes to the thread a1; 0, ESRCH, EINVAL"),
    row!("sigwait", sigwait, "blocks until a signal of the set *a1 comes; writes its number to *a2; 0"),
    row!("sigemptyset", sigset, "writes the set *a1; 0"),
    row!("sigfillset", sigset, "writes the set *a1; 0"),
    row!("sigaddset", sigset_change, "writes the set *a1: a2 is in it; 0, EINVAL"),
    row!("sigdelset", sigset_change, "writes the set *a1: a2 is not in it; 0, EINVAL"),
    row!("sigismember", sigset_member, "reads the set *a1: whether a2 is in it"),
    row!("pthread_sigmask", mask, "reads the set *a2 of signals to block; writes the old one to *a3; 0, EINVAL"),
    row!("sigprocmask", mask, "reads the set *a2 of signals to block; writes the old one to *a3; 0, EINVAL"),
];

fn number(value: i128) -> Option<u32> {
    (1..=MAX_SIGNAL).contains(&value).then_some(value as u32)
}

/// The number of a signal that may have a handler: not SIGKILL nor SIGSTOP.
fn handled_number(value: i128) -> Option<u32> {
    number(value).filter(|n| !matches!(n, 9 | 19))
}

fn old_handler(i: &Interpreter<'_>, signal: u32) -> CoreValue {
    i.signals.actions.get(&signal).map_or(CoreValue::NULL, |a| a.handler)
}

fn signal(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let handler = c.value(1)?;
    let Some(signal) = handled_number(c.int(0)?) else {
        i.set_errno(EINVAL)?;
        return Ok(Reply::Value(i.cancelled_value()));
    };
    let old = old_handler(i, signal);
    let once = c.name == "__sysv_signal";
    i.signals.actions.insert(signal, SignalAction { handler, with_information: false, once });
    Ok(Reply::Value(old))
}

fn sigaction(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if i.module.pointer_bytes != 8 {
        return c.unsupported("in a program for 32 bits");
    }
    let Some(signal) = handled_number(c.int(0)?) else { return i.fails(EINVAL, -1) };
    let old = i.signals.actions.get(&signal).copied();
    if !c.is_null(1)? {
        let place = c.value(1)?;
        let handler = i.read_scalar(place, ScalarType::Pointer)?;
        let flags_at = i.offset(place, CoreValue::Int(FLAGS_OFFSET), 1)?;
        let flags = i.read_scalar(flags_at, INT)?;
        let flags = i.decided(flags, "the flags of an action")?;
        let (with_information, once) = (flags & INFORMATION_FLAG != 0, flags & ONCE_FLAG != 0);
        i.signals.actions.insert(signal, SignalAction { handler, with_information, once });
    }
    if !c.is_null(2)? {
        let place = c.value(2)?;
        i.write_bytes(place, &[0; 152])?;
        let handler = old.map_or(CoreValue::NULL, |a| a.handler);
        i.write_scalar(place, ScalarType::Pointer, handler)?;
    }
    int(0)
}

/// The handler runs before the call returns; without one, what the signal does by itself.
fn raise(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let current = i.current;
    let Some(signal) = number(c.int(0)?) else { return i.fails(EINVAL, -1) };
    to_thread(i, current, signal)
}

fn to_thread(i: &mut Interpreter<'_>, thread: u32, signal: u32) -> Answer {
    let action = i.signals.actions.get(&signal).copied().filter(SignalAction::has_handler);
    let open = i.blocked_now(thread) & bit(signal) == 0;
    match action {
        Some(action) if thread == i.current && open && !action.with_information => {
            if action.once {
                i.signals.actions.remove(&signal);
            }
            let function = i.function_of(action.handler)?;
            let arguments = vec![PassedArgument::Scalar(CoreValue::Int(i128::from(signal)), INT)];
            Ok(Reply::Call { function, arguments, after: AfterCall::Signal(signal), value: CoreValue::Int(0) })
        }
        _ => {
            i.send_signal(Some(thread), signal)?;
            int(0)
        }
    }
}

fn kill(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (process, signal) = (c.int(0)?, c.int(1)?);
    if process != super::system::PROCESS_NUMBER {
        return c.unsupported("sends a signal to another process");
    }
    if signal == 0 {
        return int(0);
    }
    let Some(signal) = number(signal) else { return i.fails(EINVAL, -1) };
    if i.threads.len() == 1 {
        return to_thread(i, 0, signal);
    }
    i.send_signal(None, signal)?;
    int(0)
}

fn thread_kill(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (handle, signal) = (c.int(0)?, c.int(1)?);
    let Some(thread) = super::threads::thread_of(i, handle) else { return int(ESRCH) };
    if i.threads[thread as usize].life == crate::interpreter::Life::Ended {
        return int(ESRCH);
    }
    if signal == 0 {
        return int(0);
    }
    match number(signal) {
        Some(signal) => to_thread(i, thread, signal),
        None => int(EINVAL),
    }
}

fn set_at(i: &mut Interpreter<'_>, place: CoreValue) -> Result<u64, ExecutionStop> {
    let value = i.read_scalar(place, WORD)?;
    Ok(i.decided(value, "a set of signals")? as u64)
}

fn sigset(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let byte = if c.name == "sigfillset" { 0xff } else { 0 };
    i.write_bytes(c.value(0)?, &[byte; SET_BYTES])?;
    nothing()
}

fn sigset_change(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let Some(signal) = number(c.int(1)?) else { return i.fails(EINVAL, -1) };
    let set = set_at(i, c.value(0)?)?;
    let set = if c.name == "sigaddset" { set | bit(signal) } else { set & !bit(signal) };
    i.write_scalar(c.value(0)?, WORD, CoreValue::Int(i128::from(set)))?;
    int(0)
}

fn sigset_member(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let Some(signal) = number(c.int(1)?) else { return i.fails(EINVAL, -1) };
    let set = set_at(i, c.value(0)?)?;
    int(i128::from(set & bit(signal) != 0))
}

fn mask(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let old = i.thread().blocked_signals;
    if !c.is_null(1)? {
        let set = set_at(i, c.value(1)?)?;
        i.thread().blocked_signals = match c.int(0)? {
            0 => old | set,
            1 => old & !set,
            2 => set,
            _ => return if c.name == "sigprocmask" { i.fails(EINVAL, -1) } else { int(EINVAL) },
        };
    }
    if !c.is_null(2)? {
        i.write_bytes(c.value(2)?, &[0; SET_BYTES])?;
        i.write_scalar(c.value(2)?, WORD, CoreValue::Int(i128::from(old)))?;
    }
    int(0)
}

/// A signal that the program has sent, or one from outside, or none for ever.
fn sigwait(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let set = set_at(i, c.value(0)?)?;
    let signal = match i.take_pending(set) {
        Some(signal) => signal,
        None => {
            let open: Vec<u32> = (1..=31).filter(|n| set & bit(*n) != 0).collect();
            // SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM and SIGTERM come from outside.
            let usual: Vec<u32> = open.into_iter().filter(|n| matches!(n, 1 | 2 | 3 | 10 | 12 | 14 | 15)).collect();
            if usual.is_empty() || i.draw().chance(34) {
                return Ok(Reply::Block(Wait::Forever, Patience::Unlimited));
            }
            i.assume("a signal that is waited for may come at any time");
            let at = i.draw().below(usual.len());
            usual[at]
        }
    };
    i.write_scalar(c.value(1)?, INT, CoreValue::Int(i128::from(signal)))?;
    int(0)
}
