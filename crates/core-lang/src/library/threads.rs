//! Rows of threads: POSIX `pthread_*` and C11 `thrd_*`, thread-specific keys, once.
//!
//! In: calls. Out: threads made, joined and ended, with the orders between them (POSIX.1-2017, C11 7.26). A handle is stored after the new thread
//! exists, so the new thread may run before its creator has the handle: POSIX promises no more. Deliberately absent: scheduling policies, stack attributes beyond being accepted.

use super::errno::*;
use super::{AccessMode, AfterCall, Answer, CallSite, LibraryRow, Reply, int, nothing};
use crate::interpreter::memory::AccessPurpose;
use crate::interpreter::sync::{Once, SyncObject};
use crate::interpreter::{CallPhase, ExecutionStop, Interpreter, Life, Patience, ViolationKind, Wait};
use crate::value::{CoreValue, IntType, ScalarType};

pub(super) const ROWS: &[LibraryRow] = &[
    LibraryRow {
        name: "pthread_create",
        effect: "starts a thread at a3(a4); writes its handle to *a1; reads the attribute *a2; 0",
        run: create,
    },
    LibraryRow {
        name: "thrd_create",
        effect: "starts a thread at a2(a3); writes its handle to *a1; thrd_success",
        run: thrd_create,
    },
    LibraryRow {
        name: "pthread_join",
        effect: "blocks until the thread a1 has ended; writes its result to *a2; 0, ESRCH, EINVAL, EDEADLK",
        run: join,
    },
    LibraryRow {
        name: "thrd_join",
        effect: "blocks until the thread a1 has ended; writes its int result to *a2; thrd_success",
        run: join,
    },
    LibraryRow { name: "pthread_detach", effect: "the thread a1 is not joined; 0, ESRCH, EINVAL", run: detach },
    LibraryRow { name: "thrd_detach", effect: "the thread a1 is not joined; thrd_success", run: detach },
    LibraryRow { name: "pthread_exit", effect: "ends the thread with the result a1; does not return", run: exit },
    LibraryRow { name: "thrd_exit", effect: "ends the thread with the result a1; does not return", run: exit },
    LibraryRow { name: "pthread_self", effect: "the handle of this thread", run: this },
    LibraryRow { name: "thrd_current", effect: "the handle of this thread", run: this },
    LibraryRow { name: "pthread_equal", effect: "1 if a1 and a2 are one handle, else 0", run: equal },
    LibraryRow { name: "thrd_equal", effect: "1 if a1 and a2 are one handle, else 0", run: equal },
    LibraryRow {
        name: "pthread_once",
        effect: "calls a2() once for each flag *a1; others block until it has returned; 0",
        run: once,
    },
    LibraryRow {
        name: "call_once",
        effect: "calls a2() once for each flag *a1; others block until it has returned",
        run: once,
    },
    LibraryRow {
        name: "pthread_key_create",
        effect: "writes a new key to *a1, with the destructor a2; 0",
        run: key_create,
    },
    LibraryRow {
        name: "tss_create",
        effect: "writes a new key to *a1, with the destructor a2; thrd_success",
        run: key_create,
    },
    LibraryRow { name: "pthread_key_delete", effect: "forgets the key a1; 0", run: key_delete },
    LibraryRow { name: "tss_delete", effect: "forgets the key a1", run: key_delete },
    LibraryRow {
        name: "pthread_setspecific",
        effect: "the thread's value of key a1 is a2; 0, EINVAL",
        run: set_specific,
    },
    LibraryRow { name: "tss_set", effect: "the thread's value of key a1 is a2; thrd_success", run: set_specific },
    LibraryRow {
        name: "pthread_getspecific",
        effect: "the thread's value of key a1, null at first",
        run: get_specific,
    },
    LibraryRow { name: "tss_get", effect: "the thread's value of key a1, null at first", run: get_specific },
    LibraryRow { name: "sched_yield", effect: "others may move; 0", run: yield_now },
    LibraryRow { name: "pthread_yield", effect: "others may move; 0", run: yield_now },
    LibraryRow { name: "thrd_yield", effect: "others may move", run: yield_now },
    LibraryRow { name: "__VERIFIER_yield", effect: "others may move", run: yield_now },
    LibraryRow { name: "pthread_attr_init", effect: "writes the attribute *a1; 0", run: attribute_write },
    LibraryRow { name: "pthread_attr_destroy", effect: "writes the attribute *a1; 0", run: attribute_write },
    LibraryRow {
        name: "pthread_attr_setdetachstate",
        effect: "writes the attribute *a1: threads made with it are detached if a2 is 1; 0",
        run: attribute_detach,
    },
    LibraryRow { name: "pthread_attr_setstacksize", effect: "writes the attribute *a1; 0", run: attribute_write },
    LibraryRow { name: "pthread_attr_setscope", effect: "writes the attribute *a1; 0", run: attribute_write },
    LibraryRow { name: "pthread_attr_setschedpolicy", effect: "writes the attribute *a1; 0", run: attribute_write },
    LibraryRow { name: "pthread_attr_setinheritsched", effect: "writes the attribute *a1; 0", run: attribute_write },
    LibraryRow { name: "pthread_attr_setguardsize", effect: "writes the attribute *a1; 0", run: attribute_write },
    LibraryRow { name: "pthread_attr_getstacksize", effect: "writes a size to *a2; 0", run: stack_size },
    LibraryRow { name: "pthread_setname_np", effect: "reads the text a2; 0", run: set_name },
    LibraryRow { name: "pthread_setconcurrency", effect: "0", run: zero },
    LibraryRow {
        name: "pthread_setcancelstate",
        effect: "writes the old state, enabled, to *a2 if it is not null; 0",
        run: cancel_state,
    },
    LibraryRow {
        name: "pthread_setcanceltype",
        effect: "writes the old type, deferred, to *a2 if it is not null; 0",
        run: cancel_state,
    },
    LibraryRow { name: "pthread_testcancel", effect: "ends the thread if it is cancelled", run: zero },
    LibraryRow {
        name: "pthread_cancel",
        effect: "asks the thread a1 to end, at its next cancellation point; 0, ESRCH",
        run: cancel,
    },
    LibraryRow {
        name: "__pthread_register_cancel",
        effect: "the cleanup handler of the buffer *a1 is pushed",
        run: cleanup_push,
    },
    LibraryRow { name: "__pthread_unregister_cancel", effect: "a cleanup handler is popped", run: cleanup_pop },
    LibraryRow {
        name: "__pthread_unwind_next",
        effect: "goes on with the end of the thread; does not return",
        run: unwind_next,
    },
    LibraryRow { name: "__sigsetjmp", effect: "marks the place in *a1; 0, or what a jump gives", run: set_jump },
    LibraryRow { name: "__sigsetjmp_cancel", effect: "marks the place in *a1; 0, or what a jump gives", run: set_jump },
    LibraryRow { name: "_setjmp", effect: "marks the place in *a1; 0, or what a jump gives", run: set_jump },
    LibraryRow { name: "setjmp", effect: "marks the place in *a1; 0, or what a jump gives", run: set_jump },
    LibraryRow { name: "longjmp", effect: "goes on at the place marked in *a1; does not return", run: long_jump },
    LibraryRow { name: "_longjmp", effect: "goes on at the place marked in *a1; does not return", run: long_jump },
    LibraryRow { name: "siglongjmp", effect: "goes on at the place marked in *a1; does not return", run: long_jump },
];

fn zero(_: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    nothing()
}

fn store_handle(i: &mut Interpreter<'_>, target: CoreValue, thread: u32) -> Result<(), ExecutionStop> {
    let handle = i.threads[thread as usize].handle;
    let scalar = i.long();
    i.write_scalar(target, scalar, CoreValue::Int(i128::from(handle)))
}

fn create(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let mut state = JoinState::Joinable;
    if !c.is_null(1)? {
        let attribute = c.value(1)?;
        if i.read_scalar(attribute, ScalarType::Int(IntType::I32))?.as_int() == Some(1) {
            state = JoinState::Detached;
        }
    }
    begin(i, c.value(0)?, c.value(2)?, c.value(3)?, state)
}

fn thrd_create(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    begin(i, c.value(0)?, c.value(1)?, c.value(2)?, JoinState::Joinable)
}

/// Whether a thread may be joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JoinState {
    Joinable,
    Detached,
}

/// Two steps: the new thread may run before its handle is stored.
fn begin(
    i: &mut Interpreter<'_>,
    handle: CoreValue,
    function: CoreValue,
    argument: CoreValue,
    state: JoinState,
) -> Answer {
    let CallPhase::Created(thread) = i.thread().phase else {
        let thread = i.start_thread(function, argument)?;
        i.threads[thread as usize].detached = state == JoinState::Detached;
        i.thread().phase = CallPhase::Created(thread);
        return Ok(Reply::Again);
    };
    i.thread().phase = CallPhase::Start;
    // A null handle stands for a thread that no thread will join (asynchronous statements of another tool).
    if handle.is_zero() != Some(true) {
        store_handle(i, handle, thread)?;
    }
    int(0)
}

/// The thread of a handle.
pub(super) fn thread_of(i: &Interpreter<'_>, handle: i128) -> Option<u32> {
    i.threads.iter().position(|t| i128::from(t.handle) == handle).map(|n| n as u32)
}

fn join(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let handle = c.int(0)?;
    let Some(other) = thread_of(i, handle) else {
        return Err(ExecutionStop::violation(ViolationKind::Synchronisation, "joins a handle that is no thread"));
    };
    let thread = &i.threads[other as usize];
    if thread.detached {
        return Err(ExecutionStop::violation(ViolationKind::Synchronisation, "joins a detached thread"));
    }
    if thread.joined {
        return Err(ExecutionStop::violation(ViolationKind::Synchronisation, "joins a thread that was already joined"));
    }
    if other == i.current {
        return int(if c.name == "thrd_join" { 2 } else { EDEADLK });
    }
    if thread.life != Life::Ended {
        return Ok(Reply::Block(Wait::Thread(other), Patience::Unlimited));
    }
    let (clock, result) = (thread.clock.clone(), thread.result);
    i.threads[other as usize].joined = true;
    i.thread().clock.join(&clock);
    if !c.is_null(1)? {
        let target = c.value(1)?;
        let scalar = if c.name == "thrd_join" { ScalarType::Int(IntType::I32) } else { ScalarType::Pointer };
        let result = match (scalar, result) {
            (ScalarType::Int(int), value) => {
                value.as_int().map_or(CoreValue::Undefined, |v| CoreValue::Int(int.wrap(v)))
            }
            (_, value) => value,
        };
        i.write_scalar(target, scalar, result)?;
    }
    int(0)
}

fn detach(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let handle = c.int(0)?;
    let Some(other) = thread_of(i, handle) else {
        return Err(ExecutionStop::violation(ViolationKind::Synchronisation, "detaches a handle that is no thread"));
    };
    let thread = &mut i.threads[other as usize];
    if thread.detached || thread.joined {
        return Err(ExecutionStop::violation(
            ViolationKind::Synchronisation,
            "detaches a thread that was detached or joined already",
        ));
    }
    thread.detached = true;
    int(0)
}

fn exit(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let value = match c.value(0)? {
        CoreValue::Int(int) => CoreValue::Pointer(int as u64, crate::value::Provenance::Any),
        other => other,
    };
    Ok(Reply::EndThread(value))
}

fn this(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    let handle = i.thread().handle;
    int(handle)
}

fn equal(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    int(c.int(0)? == c.int(1)?)
}

fn once(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let flag = c.value(0)?;
    let spot = i.touch(flag, 4, 4, AccessPurpose::Write, AccessMode::Library)?;
    let key = (spot.allocation, spot.offset);
    match i.sync.objects.get(&key) {
        Some(SyncObject::Once(Once::Done(clock))) => {
            let clock = clock.clone();
            i.thread().clock.join(&clock);
            int(0)
        }
        Some(SyncObject::Once(Once::Running)) => Ok(Reply::Block(Wait::Once(key), Patience::Unlimited)),
        Some(other) => {
            let text = format!("a once-flag that is {}", other.name());
            Err(ExecutionStop::violation(ViolationKind::Synchronisation, text))
        }
        None => {
            if i.memory.load(spot, ScalarType::Int(IntType::I32)) != CoreValue::Int(0) {
                return Err(ExecutionStop::violation(
                    ViolationKind::Synchronisation,
                    "a once-flag that was never initialised",
                ));
            }
            let function = i.function_of(c.value(1)?)?;
            i.sync.insert(key, SyncObject::Once(Once::Running));
            Ok(Reply::Call { function, arguments: Vec::new(), after: AfterCall::Once(key), value: CoreValue::Int(0) })
        }
    }
}

fn key_create(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let destructor = c.value(1)?;
    let key = i.environment.new_key(destructor);
    i.write_scalar(
        c.value(0)?,
        ScalarType::Int(IntType { bits: 32, ..IntType::U64 }),
        CoreValue::Int(i128::from(key)),
    )?;
    int(0)
}

fn key_delete(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = c.int(0)? as u32;
    int(if i.environment.delete_key(key) { 0 } else { EINVAL })
}

fn set_specific(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (key, value) = (c.int(0)? as u32, c.value(1)?);
    if !i.environment.has_key(key) {
        return int(EINVAL);
    }
    i.thread().keys.insert(key, value);
    int(0)
}

fn get_specific(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = c.int(0)? as u32;
    if !i.environment.has_key(key) {
        return Err(ExecutionStop::violation(
            ViolationKind::Synchronisation,
            "reads a thread-specific key that was not created",
        ));
    }
    let value = i.thread().keys.get(&key).copied().unwrap_or(CoreValue::NULL);
    Ok(Reply::Value(value))
}

fn yield_now(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    i.scheduler.yield_now();
    nothing()
}

fn attribute_write(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if c.name == "pthread_attr_init" {
        i.write_bytes(c.value(0)?, &[0; 8])?;
    }
    int(0)
}

fn attribute_detach(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let state = c.int(1)?;
    if !(0..=1).contains(&state) {
        return int(EINVAL);
    }
    i.write_scalar(c.value(0)?, ScalarType::Int(IntType::I32), CoreValue::Int(state))?;
    int(0)
}

fn stack_size(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let scalar = i.long();
    i.write_scalar(c.value(1)?, scalar, CoreValue::Int(8 << 20))?;
    int(0)
}

fn set_name(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    i.read_text(c.value(1)?)?;
    int(0)
}

/// States and types are numbered alike: 0 is enabled, or deferred.
fn cancel_state(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let asked = c.int(0)?;
    if !(0..=1).contains(&asked) {
        return int(EINVAL);
    }
    let cancellation = &mut i.thread().cancellation;
    let flag = match c.name {
        "pthread_setcanceltype" => &mut cancellation.asynchronous,
        _ => &mut cancellation.disabled,
    };
    let old = std::mem::replace(flag, asked == 1);
    if !c.is_null(1)? {
        i.write_scalar(c.value(1)?, ScalarType::Int(IntType::I32), CoreValue::Int(i128::from(old)))?;
    }
    int(0)
}

fn cancel(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let Some(thread) = thread_of(i, c.int(0)?) else { return int(ESRCH) };
    if i.threads[thread as usize].joined {
        let text = "cancels a thread that was already joined";
        return Err(ExecutionStop::violation(ViolationKind::Synchronisation, text));
    }
    i.cancel(thread)?;
    int(0)
}

/// Where a buffer lies.
fn buffer(i: &Interpreter<'_>, c: &CallSite<'_>) -> Result<(u32, u64), ExecutionStop> {
    let spot = i.memory.locate(c.value(0)?, 1, AccessPurpose::Write)?;
    Ok((spot.allocation, spot.offset))
}

fn set_jump(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    Ok(Reply::Mark(buffer(i, c)?))
}

fn long_jump(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    // Zero is given as one (C11 7.13.2.1).
    let value = c.int(1)?;
    Ok(Reply::Jump(buffer(i, c)?, CoreValue::Int(if value == 0 { 1 } else { value })))
}

fn cleanup_push(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let buffer = buffer(i, c)?;
    i.thread().cleanup.push(buffer);
    nothing()
}

fn cleanup_pop(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    i.thread().cleanup.pop();
    nothing()
}

fn unwind_next(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    let value = i.thread().result;
    Ok(Reply::EndThread(value))
}
