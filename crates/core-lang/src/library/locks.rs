//! Rows of locks: mutexes of every kind, condition variables, read-write locks, spin locks, barriers, semaphores (POSIX.1-2017, C11 7.26).
//!
//! In: calls on objects in memory. Out: new states, error codes, waits. What POSIX leaves undefined is a violation: unlocking a
//! normal mutex that another thread holds, using what was never initialised or was destroyed, destroying what is held or waited for.
//! Every row orders threads by clocks exactly as its standard promises. Deliberately absent: priority ceilings and inheritance.

use super::errno::*;
use super::{AccessMode, Answer, CallSite, LibraryRow, Reply, int};
use crate::interpreter::memory::{AccessPurpose, MemoryRange};
use crate::interpreter::race::{AccessDirection, VectorClock};
use crate::interpreter::sync::*;
use crate::interpreter::{CallPhase, ExecutionStop, Interpreter, Patience, ViolationKind, Wait};
use crate::value::{CoreValue, IntType, ScalarType};

macro_rules! row {
    ($name:literal, $run:expr, $effect:literal) => {
        LibraryRow { name: $name, effect: $effect, run: $run }
    };
}

pub(super) const ROWS: &[LibraryRow] = &[
    row!("pthread_mutexattr_init", attribute_init, "writes the attribute *a1; 0"),
    row!("pthread_mutexattr_destroy", attribute_destroy, "writes the attribute *a1; 0"),
    row!("pthread_mutexattr_settype", attribute_type, "writes the kind a2 to *a1; 0, EINVAL"),
    row!("pthread_mutexattr_setrobust", attribute_robust, "writes the robustness a2 to *a1; 0, EINVAL"),
    row!("pthread_mutexattr_setpshared", accept, "reads *a1; 0"),
    row!("pthread_mutexattr_setprotocol", accept, "reads *a1; 0"),
    row!("pthread_mutex_init", mutex_init, "writes the mutex *a1; reads the attribute *a2; 0"),
    row!("pthread_mutex_destroy", destroy, "writes the mutex *a1; 0, EBUSY"),
    row!("pthread_mutex_lock", mutex_lock, "blocks until *a1 is free; 0, EDEADLK, EOWNERDEAD, ENOTRECOVERABLE"),
    row!("pthread_mutex_trylock", mutex_trylock, "locks *a1 if it is free; 0, EBUSY, EOWNERDEAD, ENOTRECOVERABLE"),
    row!("pthread_mutex_timedlock", mutex_timedlock, "blocks until *a1 is free or the time *a2 has come; 0, ETIMEDOUT"),
    row!("pthread_mutex_unlock", mutex_unlock, "frees *a1; 0, EPERM"),
    row!("pthread_mutex_consistent", mutex_consistent, "*a1, whose owner died, is consistent again; 0, EINVAL"),
    row!("mtx_init", mtx_init, "writes the mutex *a1 of kind a2; thrd_success"),
    row!("mtx_destroy", destroy, "writes the mutex *a1"),
    row!("mtx_lock", mutex_lock, "blocks until *a1 is free; thrd_success"),
    row!("mtx_trylock", mutex_trylock, "locks *a1 if it is free; thrd_success, thrd_busy"),
    row!(
        "mtx_timedlock",
        mutex_timedlock,
        "blocks until *a1 is free or the time has come; thrd_success, thrd_timedout"
    ),
    row!("mtx_unlock", mutex_unlock, "frees *a1; thrd_success"),
    row!("pthread_cond_init", cond_init, "writes the condition variable *a1; reads *a2; 0"),
    row!("cnd_init", cond_init, "writes the condition variable *a1; thrd_success"),
    row!("pthread_cond_destroy", destroy, "writes *a1; 0, EBUSY"),
    row!("cnd_destroy", destroy, "writes *a1"),
    row!(
        "pthread_cond_wait",
        cond_wait,
        "frees *a2 and blocks until *a1 is signalled (or for no reason), then locks *a2 again; 0, EPERM"
    ),
    row!(
        "cnd_wait",
        cond_wait,
        "frees *a2 and blocks until *a1 is signalled (or for no reason), then locks *a2 again; thrd_success"
    ),
    row!("pthread_cond_timedwait", cond_timedwait, "as pthread_cond_wait, or until the time *a3; 0, ETIMEDOUT"),
    row!("cnd_timedwait", cond_timedwait, "as cnd_wait, or until the time *a3; thrd_success, thrd_timedout"),
    row!("pthread_cond_signal", cond_signal, "wakes one thread that waits for *a1; 0"),
    row!("cnd_signal", cond_signal, "wakes one thread that waits for *a1; thrd_success"),
    row!("pthread_cond_broadcast", cond_broadcast, "wakes all threads that wait for *a1; 0"),
    row!("cnd_broadcast", cond_broadcast, "wakes all threads that wait for *a1; thrd_success"),
    row!("pthread_condattr_init", accept, "writes the attribute *a1; 0"),
    row!("pthread_condattr_destroy", accept, "writes the attribute *a1; 0"),
    row!("pthread_condattr_setclock", accept, "writes the attribute *a1; 0"),
    row!("pthread_condattr_setpshared", accept, "writes the attribute *a1; 0"),
    row!("pthread_rwlock_init", rwlock_init, "writes the lock *a1; reads *a2; 0"),
    row!("pthread_rwlock_destroy", destroy, "writes *a1; 0, EBUSY"),
    row!("pthread_rwlock_rdlock", read_lock, "blocks until no thread has *a1 for writing; 0, EDEADLK"),
    row!("pthread_rwlock_tryrdlock", try_read_lock, "takes *a1 for reading if it can; 0, EBUSY"),
    row!(
        "pthread_rwlock_timedrdlock",
        timed_read_lock,
        "as pthread_rwlock_rdlock, or until the time *a2; 0, ETIMEDOUT"
    ),
    row!(
        "pthread_rwlock_timedwrlock",
        timed_write_lock,
        "as pthread_rwlock_wrlock, or until the time *a2; 0, ETIMEDOUT"
    ),
    row!("pthread_rwlock_wrlock", write_lock, "blocks until no thread has *a1; 0, EDEADLK"),
    row!("pthread_rwlock_trywrlock", try_write_lock, "takes *a1 for writing if it can; 0, EBUSY"),
    row!("pthread_rwlock_unlock", rwlock_unlock, "gives up *a1; 0"),
    row!("pthread_rwlockattr_init", accept, "writes the attribute *a1; 0"),
    row!("pthread_rwlockattr_destroy", accept, "writes the attribute *a1; 0"),
    row!("pthread_spin_init", spin_init, "writes the lock *a1; a2 is evaluated; 0"),
    row!("pthread_spin_destroy", destroy, "writes *a1; 0"),
    row!("pthread_spin_lock", spin_lock, "waits until *a1 is free; 0"),
    row!("pthread_spin_trylock", spin_trylock, "locks *a1 if it is free; 0, EBUSY"),
    row!("pthread_spin_unlock", spin_unlock, "frees *a1; 0"),
    row!("pthread_barrier_init", barrier_init, "writes the barrier *a1 for a3 threads; reads *a2; 0, EINVAL"),
    row!("pthread_barrier_destroy", destroy, "writes *a1; 0, EBUSY"),
    row!(
        "pthread_barrier_wait",
        barrier_wait,
        "blocks until as many threads wait as *a1 says; -1 for one of them, 0 for the others"
    ),
    row!("pthread_barrierattr_init", accept, "writes the attribute *a1; 0"),
    row!("pthread_barrierattr_destroy", accept, "writes the attribute *a1; 0"),
    row!("sem_init", sem_init, "writes the semaphore *a1 with the value a3; 0, or -1 and EINVAL"),
    row!("sem_destroy", destroy, "writes *a1; 0"),
    row!("sem_wait", sem_wait, "blocks until *a1 is positive, then takes one; 0"),
    row!("sem_trywait", sem_trywait, "takes one of *a1 if it is positive; 0, or -1 and EAGAIN"),
    row!("sem_timedwait", sem_timedwait, "as sem_wait, or until the time *a2; 0, or -1 and ETIMEDOUT"),
    row!("sem_post", sem_post, "adds one to *a1; 0, or -1 and EOVERFLOW"),
    row!("sem_getvalue", sem_getvalue, "writes the value of *a1 to *a2; 0"),
];

fn misuse<T>(text: impl Into<String>) -> Result<T, ExecutionStop> {
    Err(ExecutionStop::violation(ViolationKind::Synchronisation, text))
}

/// C11 functions number their results otherwise.
fn is_c11(c: &CallSite<'_>) -> bool {
    c.name.starts_with("mtx_") || c.name.starts_with("cnd_")
}

fn busy(c: &CallSite<'_>) -> i128 {
    if is_c11(c) { 1 } else { EBUSY }
}

fn timed_out(c: &CallSite<'_>) -> i128 {
    if is_c11(c) { 4 } else { ETIMEDOUT }
}

fn accept(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if !c.is_null(0)? {
        i.memory.locate(c.value(0)?, 1, AccessPurpose::Write)?;
    }
    int(0)
}

/// The bytes of a lock that are looked at.
fn sizes(i: &Interpreter<'_>, object: &SyncObject) -> u64 {
    let wide = i.module.pointer_bytes == 8;
    match object {
        SyncObject::Mutex(_) => {
            if wide {
                40
            } else {
                24
            }
        }
        SyncObject::ReadWriteLock(_) => {
            if wide {
                56
            } else {
                32
            }
        }
        SyncObject::Semaphore(_) => {
            if wide {
                32
            } else {
                16
            }
        }
        SyncObject::Barrier(_) => {
            if wide {
                32
            } else {
                20
            }
        }
        SyncObject::Condition(_) => 48,
        _ => 4,
    }
}

/// Sets up an object: a plain write of its bytes, in a race with every use that is not ordered.
fn initialise(i: &mut Interpreter<'_>, pointer: CoreValue, object: SyncObject) -> Result<Key, ExecutionStop> {
    let size = sizes(i, &object);
    let spot = i.touch(pointer, size, 1, AccessPurpose::Write, AccessMode::Plain)?;
    i.memory.write_bytes(spot, &vec![0; size as usize]);
    let key = (spot.allocation, spot.offset);
    match i.sync.objects.get(&key) {
        Some(SyncObject::Mutex(m)) if m.owner.is_some() => return misuse("initialises a mutex that is held"),
        Some(SyncObject::Condition(waiting)) if !waiting.is_empty() => {
            return misuse("initialises a condition variable that threads wait for");
        }
        _ => {}
    }
    i.sync.insert(key, object);
    Ok(key)
}

/// The object at an address for an operation; `fresh` is what statically initialised bytes stand for.
fn object(i: &mut Interpreter<'_>, pointer: CoreValue, fresh: SyncObject) -> Result<Key, ExecutionStop> {
    let size = sizes(i, &fresh);
    let spot = i.memory.locate(pointer, size, AccessPurpose::Write)?;
    i.note_access(spot, size, AccessDirection::Write, AccessMode::Library)?;
    let key = (spot.allocation, spot.offset);
    let name = i.object_name(spot.allocation, spot.offset);
    match i.sync.objects.get(&key) {
        Some(SyncObject::Destroyed) => misuse(format!("uses {name} after it was destroyed")),
        Some(known) if std::mem::discriminant(known) == std::mem::discriminant(&fresh) => Ok(key),
        Some(known) => misuse(format!("uses {name} as {}, but it is {}", fresh.name(), known.name())),
        None => {
            let allocation = &i.memory.allocations[spot.allocation as usize];
            if (spot.offset..spot.offset + size).any(|at| !allocation.is_set(at)) {
                return misuse(format!("uses {name} as {}, which was never initialised", fresh.name()));
            }
            let bytes = &allocation.bytes[spot.offset as usize..(spot.offset + size) as usize];
            let fresh = match fresh {
                SyncObject::Mutex(_) => {
                    let at = mutex_kind_offset(i) as usize;
                    let others = bytes.iter().enumerate().any(|(n, b)| n != at && *b != 0);
                    match (others, bytes[at]) {
                        (false, 0 | 3) => SyncObject::Mutex(Mutex::new(MutexKind::Normal, Robustness::Stalled)),
                        (false, 1) => SyncObject::Mutex(Mutex::new(MutexKind::Recursive, Robustness::Stalled)),
                        (false, 2) => SyncObject::Mutex(Mutex::new(MutexKind::ErrorChecking, Robustness::Stalled)),
                        _ => return misuse(format!("uses {name} as a mutex, whose bytes are those of something else")),
                    }
                }
                SyncObject::Semaphore(_) | SyncObject::Barrier(_) | SyncObject::Spin(..)
                    if bytes.iter().all(|b| *b == 0) =>
                {
                    return misuse(format!("uses {name} as {}, which was never initialised", fresh.name()));
                }
                other if bytes.iter().all(|b| *b == 0) => other,
                other => {
                    return misuse(format!("uses {name} as {}, whose bytes are those of something else", other.name()));
                }
            };
            i.sync.insert(key, fresh);
            Ok(key)
        }
    }
}

/// Where static initialisers put the kind of a mutex.
fn mutex_kind_offset(i: &Interpreter<'_>) -> u64 {
    if i.module.pointer_bytes == 8 { 16 } else { 12 }
}

fn attribute_init(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    initialise(i, c.value(0)?, SyncObject::MutexAttribute(MutexKind::Normal, Robustness::Stalled))?;
    int(0)
}

fn attribute(i: &mut Interpreter<'_>, pointer: CoreValue) -> Result<(Key, MutexKind, Robustness), ExecutionStop> {
    let spot = i.touch(pointer, 4, 1, AccessPurpose::Read, AccessMode::Plain)?;
    let key = (spot.allocation, spot.offset);
    match i.sync.objects.get(&key) {
        Some(SyncObject::MutexAttribute(kind, robustness)) => Ok((key, *kind, *robustness)),
        _ => misuse("uses a mutex attribute that was never initialised"),
    }
}

fn attribute_destroy(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (key, ..) = attribute(i, c.value(0)?)?;
    i.sync.insert(key, SyncObject::Destroyed);
    int(0)
}

fn attribute_type(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (key, _, robustness) = attribute(i, c.value(0)?)?;
    let kind = match c.int(1)? {
        0 | 3 => MutexKind::Normal,
        1 => MutexKind::Recursive,
        2 => MutexKind::ErrorChecking,
        _ => return int(EINVAL),
    };
    i.sync.insert(key, SyncObject::MutexAttribute(kind, robustness));
    int(0)
}

fn attribute_robust(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (key, kind, _) = attribute(i, c.value(0)?)?;
    let robustness = match c.int(1)? {
        0 => Robustness::Stalled,
        1 => Robustness::Robust,
        _ => return int(EINVAL),
    };
    i.sync.insert(key, SyncObject::MutexAttribute(kind, robustness));
    int(0)
}

fn mutex_init(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (kind, robustness) = match c.is_null(1)? {
        true => (MutexKind::Normal, Robustness::Stalled),
        false => {
            let (_, kind, robustness) = attribute(i, c.value(1)?)?;
            (kind, robustness)
        }
    };
    initialise(i, c.value(0)?, SyncObject::Mutex(Mutex::new(kind, robustness)))?;
    int(0)
}

fn mtx_init(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let kind = if c.int(1)? & 1 == 1 { MutexKind::Recursive } else { MutexKind::Normal };
    initialise(i, c.value(0)?, SyncObject::Mutex(Mutex::new(kind, Robustness::Stalled)))?;
    int(0)
}

fn fresh_mutex() -> SyncObject {
    SyncObject::Mutex(Mutex::new(MutexKind::Normal, Robustness::Stalled))
}

fn fresh_of(name: &str) -> SyncObject {
    if name.contains("mutex") || name.starts_with("mtx") {
        fresh_mutex()
    } else if name.contains("cond") || name.starts_with("cnd") {
        SyncObject::Condition(Vec::new())
    } else if name.contains("rwlock") {
        SyncObject::ReadWriteLock(ReadWriteLock::default())
    } else if name.contains("spin") {
        SyncObject::Spin(None, VectorClock::default())
    } else if name.contains("barrier") {
        SyncObject::Barrier(Barrier { needed: 0, arrived: 0, generation: 0, clock: VectorClock::default() })
    } else {
        SyncObject::Semaphore(Semaphore::default())
    }
}

fn destroy(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let fresh = fresh_of(c.name);
    let size = sizes(i, &fresh);
    let key = object(i, c.value(0)?, fresh)?;
    i.note_access(MemoryRange { allocation: key.0, offset: key.1 }, size, AccessDirection::Write, AccessMode::Plain)?;
    let name = i.object_name(key.0, key.1);
    match i.sync.objects.get(&key) {
        Some(SyncObject::Mutex(m)) if m.owner.is_some() => return misuse(format!("destroys {name}, which is held")),
        Some(SyncObject::ReadWriteLock(l)) if l.writer.is_some() || !l.readers.is_empty() => {
            return misuse(format!("destroys {name}, which is held"));
        }
        Some(SyncObject::Spin(Some(_), _)) => return misuse(format!("destroys {name}, which is held")),
        Some(SyncObject::Condition(w)) if !w.is_empty() => {
            return misuse(format!("destroys {name}, for which threads wait"));
        }
        Some(SyncObject::Barrier(b)) if b.arrived > 0 => {
            return misuse(format!("destroys {name}, in which threads wait"));
        }
        _ => {}
    }
    i.sync.insert(key, SyncObject::Destroyed);
    int(0)
}

/// What trying to lock came to.
enum Tried {
    Locked(i128),
    Refused(i128),
    Held,
}

/// Tries to lock for the current thread.
fn try_lock(i: &mut Interpreter<'_>, key: Key) -> Tried {
    let me = i.current;
    let Some(SyncObject::Mutex(mutex)) = i.sync.objects.get_mut(&key) else { return Tried::Held };
    if mutex.consistency == Consistency::NotRecoverable {
        return Tried::Refused(ENOTRECOVERABLE);
    }
    match mutex.owner {
        None => {
            mutex.owner = Some(me);
            mutex.depth = 1;
            let clock = mutex.clock.clone();
            let result = if mutex.consistency == Consistency::OwnerDied { EOWNERDEAD } else { 0 };
            i.thread().clock.join(&clock);
            Tried::Locked(result)
        }
        Some(owner) if owner == me && mutex.kind == MutexKind::Recursive => {
            mutex.depth += 1;
            Tried::Locked(0)
        }
        Some(owner) if owner == me && mutex.kind == MutexKind::ErrorChecking => Tried::Refused(EDEADLK),
        Some(_) => Tried::Held,
    }
}

fn mutex_lock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = object(i, c.value(0)?, fresh_mutex())?;
    match try_lock(i, key) {
        Tried::Locked(code) | Tried::Refused(code) => int(code),
        Tried::Held => Ok(Reply::Block(Wait::Mutex(key), Patience::Unlimited)),
    }
}

fn mutex_trylock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = object(i, c.value(0)?, fresh_mutex())?;
    match try_lock(i, key) {
        Tried::Locked(code) => int(code),
        Tried::Refused(EDEADLK) | Tried::Held => int(busy(c)),
        Tried::Refused(code) => int(code),
    }
}

fn mutex_timedlock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let time = c.value(1)?;
    i.read_bytes(time, 2 * i.module.long_bytes)?;
    let key = object(i, c.value(0)?, fresh_mutex())?;
    match try_lock(i, key) {
        Tried::Locked(code) | Tried::Refused(code) => {
            i.thread().phase = CallPhase::Start;
            int(code)
        }
        Tried::Held if i.thread().phase == CallPhase::Timed => {
            i.thread().phase = CallPhase::Start;
            int(timed_out(c))
        }
        Tried::Held => {
            i.thread().phase = CallPhase::Timed;
            Ok(Reply::Block(Wait::Mutex(key), Patience::Timed))
        }
    }
}

/// Frees a mutex; an error code or why it is undefined.
fn unlock(i: &mut Interpreter<'_>, key: Key) -> Result<i128, ExecutionStop> {
    let me = i.current;
    let name = i.object_name(key.0, key.1);
    let clock = i.release();
    let Some(SyncObject::Mutex(mutex)) = i.sync.objects.get_mut(&key) else { return Ok(EINVAL) };
    if mutex.owner != Some(me) {
        if mutex.kind != MutexKind::Normal || mutex.robustness == Robustness::Robust {
            return Ok(EPERM);
        }
        let owner = mutex.owner;
        let text = match owner {
            Some(owner) => format!("unlocks {name}, which {} holds", i.thread_name(owner)),
            None => format!("unlocks {name}, which no thread holds"),
        };
        return Err(ExecutionStop::violation(ViolationKind::Unlock, text));
    }
    mutex.depth -= 1;
    if mutex.depth == 0 {
        mutex.owner = None;
        mutex.clock = clock;
        if mutex.consistency == Consistency::OwnerDied {
            mutex.consistency = Consistency::NotRecoverable;
        }
    }
    Ok(0)
}

fn mutex_unlock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = object(i, c.value(0)?, fresh_mutex())?;
    let code = unlock(i, key)?;
    int(code)
}

fn mutex_consistent(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = object(i, c.value(0)?, fresh_mutex())?;
    match i.sync.objects.get_mut(&key) {
        Some(SyncObject::Mutex(mutex)) if mutex.consistency == Consistency::OwnerDied => {
            mutex.consistency = Consistency::Consistent;
            int(0)
        }
        _ => int(EINVAL),
    }
}

fn cond_init(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    initialise(i, c.value(0)?, SyncObject::Condition(Vec::new()))?;
    int(0)
}

fn cond_wait(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    wait_for_signal(i, c, Patience::Unlimited)
}

fn cond_timedwait(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if i.thread().phase == CallPhase::Start {
        i.read_bytes(c.value(2)?, 2 * i.module.long_bytes)?;
    }
    wait_for_signal(i, c, Patience::Timed)
}

fn wait_for_signal(i: &mut Interpreter<'_>, c: &CallSite<'_>, patience: Patience) -> Answer {
    let me = i.current;
    match i.thread().phase {
        CallPhase::Relock(result) => {
            let key = object(i, c.value(1)?, fresh_mutex())?;
            match try_lock(i, key) {
                Tried::Locked(0) => {
                    i.thread().phase = CallPhase::Start;
                    int(result)
                }
                Tried::Locked(code) | Tried::Refused(code) => {
                    i.thread().phase = CallPhase::Start;
                    int(code)
                }
                Tried::Held => Ok(Reply::Block(Wait::Mutex(key), Patience::Unlimited)),
            }
        }
        CallPhase::Signal => {
            let condition = object(i, c.value(0)?, SyncObject::Condition(Vec::new()))?;
            if let Some(SyncObject::Condition(waiting)) = i.sync.objects.get_mut(&condition) {
                waiting.retain(|t| *t != me);
            }
            let result = if i.thread().signalled || patience == Patience::Unlimited { 0 } else { timed_out(c) };
            i.thread().signalled = false;
            i.thread().phase = CallPhase::Relock(result);
            wait_for_signal(i, c, patience)
        }
        _ => {
            let condition = object(i, c.value(0)?, SyncObject::Condition(Vec::new()))?;
            let mutex = object(i, c.value(1)?, fresh_mutex())?;
            if i.sync.owner(mutex) != Some(me) {
                let kind = match i.sync.objects.get(&mutex) {
                    Some(SyncObject::Mutex(m)) => m.kind,
                    _ => MutexKind::Normal,
                };
                if kind == MutexKind::Normal {
                    return misuse("waits for a condition variable with a mutex that it does not hold");
                }
                return int(EPERM);
            }
            if let Some(SyncObject::Mutex(m)) = i.sync.objects.get(&mutex)
                && m.depth > 1
            {
                // The mutex stays locked, once less: POSIX leaves the behaviour undefined.
                return misuse("waits for a condition variable with a mutex that it has locked more than once");
            }
            unlock(i, mutex)?;
            if let Some(SyncObject::Condition(waiting)) = i.sync.objects.get_mut(&condition) {
                waiting.push(me);
            }
            i.thread().signalled = false;
            i.thread().phase = CallPhase::Signal;
            Ok(Reply::Block(Wait::Signal(condition), patience))
        }
    }
}

fn cond_signal(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = object(i, c.value(0)?, SyncObject::Condition(Vec::new()))?;
    // Which of them is woken is not promised.
    let mut pick = None;
    if let Some(SyncObject::Condition(waiting)) = i.sync.objects.get(&key)
        && !waiting.is_empty()
    {
        let number = waiting.len();
        pick = Some(i.draw().below(number));
    }
    if let (Some(number), Some(SyncObject::Condition(waiting))) = (pick, i.sync.objects.get_mut(&key)) {
        let woken = waiting.remove(number);
        wake(i, woken);
    }
    int(0)
}

fn cond_broadcast(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = object(i, c.value(0)?, SyncObject::Condition(Vec::new()))?;
    let woken = match i.sync.objects.get_mut(&key) {
        Some(SyncObject::Condition(waiting)) => std::mem::take(waiting),
        _ => Vec::new(),
    };
    for thread in woken {
        wake(i, thread);
    }
    int(0)
}

/// A signal synchronises memory with the thread it wakes (POSIX.1-2017 4.12).
fn wake(i: &mut Interpreter<'_>, thread: u32) {
    let clock = i.release();
    let woken = &mut i.threads[thread as usize];
    woken.signalled = true;
    woken.clock.join(&clock);
}

fn rwlock_init(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    initialise(i, c.value(0)?, SyncObject::ReadWriteLock(ReadWriteLock::default()))?;
    int(0)
}

fn rwlock<'i>(i: &'i mut Interpreter<'_>, c: &CallSite<'_>) -> Result<(Key, &'i mut ReadWriteLock), ExecutionStop> {
    let key = object(i, c.value(0)?, SyncObject::ReadWriteLock(ReadWriteLock::default()))?;
    match i.sync.objects.get_mut(&key) {
        Some(SyncObject::ReadWriteLock(lock)) => Ok((key, lock)),
        _ => misuse("uses something else as a read-write lock"),
    }
}

fn try_read(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Result<(Key, bool, bool), ExecutionStop> {
    let me = i.current;
    let (key, lock) = rwlock(i, c)?;
    if lock.writer.is_some() {
        return Ok((key, false, lock.writer == Some(me)));
    }
    lock.readers.push(me);
    let clock = lock.written.clone();
    i.thread().clock.join(&clock);
    Ok((key, true, false))
}

fn read_lock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    match try_read(i, c)? {
        (_, true, _) => int(0),
        (_, false, true) => int(EDEADLK),
        (key, ..) => Ok(Reply::Block(Wait::ReadLock(key), Patience::Unlimited)),
    }
}

fn try_read_lock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (_, taken, _) = try_read(i, c)?;
    int(if taken { 0 } else { EBUSY })
}

fn try_write(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Result<(Key, bool, bool), ExecutionStop> {
    let me = i.current;
    let (key, lock) = rwlock(i, c)?;
    if lock.writer.is_some() || !lock.readers.is_empty() {
        return Ok((key, false, lock.writer == Some(me)));
    }
    lock.writer = Some(me);
    let mut clock = lock.written.clone();
    clock.join(&lock.read);
    i.thread().clock.join(&clock);
    Ok((key, true, false))
}

fn write_lock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    match try_write(i, c)? {
        (_, true, _) => int(0),
        (_, false, true) => int(EDEADLK),
        (key, ..) => Ok(Reply::Block(Wait::WriteLock(key), Patience::Unlimited)),
    }
}

/// A wait with a time limit: the first time it blocks, the second time its time is over.
fn timed(i: &mut Interpreter<'_>, c: &CallSite<'_>, tried: (Key, bool, bool), wait: fn(Key) -> Wait) -> Answer {
    let size = 2 * i.module.long_bytes;
    i.read_bytes(c.value(1)?, size)?;
    let first = i.thread().phase != CallPhase::Timed;
    i.thread().phase = CallPhase::Start;
    match tried {
        (_, true, _) => int(0),
        (_, false, true) => int(EDEADLK),
        (key, ..) if first => {
            i.thread().phase = CallPhase::Timed;
            Ok(Reply::Block(wait(key), Patience::Timed))
        }
        _ => int(ETIMEDOUT),
    }
}

fn timed_read_lock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let tried = try_read(i, c)?;
    timed(i, c, tried, Wait::ReadLock)
}

fn timed_write_lock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let tried = try_write(i, c)?;
    timed(i, c, tried, Wait::WriteLock)
}

fn try_write_lock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (_, taken, _) = try_write(i, c)?;
    int(if taken { 0 } else { EBUSY })
}

fn rwlock_unlock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let me = i.current;
    let clock = i.release();
    let (_, lock) = rwlock(i, c)?;
    if lock.writer == Some(me) {
        lock.writer = None;
        lock.written.join(&clock);
    } else if let Some(at) = lock.readers.iter().position(|r| *r == me) {
        lock.readers.remove(at);
        lock.read.join(&clock);
    } else {
        return misuse("unlocks a read-write lock that it does not hold");
    }
    int(0)
}

fn spin_init(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    c.int(1)?;
    initialise(i, c.value(0)?, SyncObject::Spin(None, VectorClock::default()))?;
    int(0)
}

fn spin_try(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Result<(Key, bool, bool), ExecutionStop> {
    let me = i.current;
    let key = object(i, c.value(0)?, SyncObject::Spin(None, VectorClock::default()))?;
    let Some(SyncObject::Spin(owner, clock)) = i.sync.objects.get_mut(&key) else { return Ok((key, false, false)) };
    if owner.is_some() {
        return Ok((key, false, *owner == Some(me)));
    }
    *owner = Some(me);
    let clock = clock.clone();
    i.thread().clock.join(&clock);
    Ok((key, true, false))
}

fn spin_lock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    match spin_try(i, c)? {
        (_, true, _) => int(0),
        (key, ..) => Ok(Reply::Block(Wait::Spin(key), Patience::Unlimited)),
    }
}

fn spin_trylock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let (_, taken, _) = spin_try(i, c)?;
    int(if taken { 0 } else { EBUSY })
}

fn spin_unlock(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let me = i.current;
    let key = object(i, c.value(0)?, SyncObject::Spin(None, VectorClock::default()))?;
    let released = i.release();
    match i.sync.objects.get_mut(&key) {
        Some(SyncObject::Spin(owner, clock)) if *owner == Some(me) => {
            *owner = None;
            *clock = released;
            int(0)
        }
        _ => misuse("unlocks a spin lock that it does not hold"),
    }
}

fn barrier_init(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let needed = c.int(2)?;
    if needed <= 0 {
        return int(EINVAL);
    }
    let barrier = Barrier { needed: needed as u32, arrived: 0, generation: 0, clock: VectorClock::default() };
    initialise(i, c.value(0)?, SyncObject::Barrier(barrier))?;
    int(0)
}

fn barrier_wait(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = object(i, c.value(0)?, fresh_of("barrier"))?;
    if let CallPhase::Barrier(_) = i.thread().phase {
        // The round is complete: everything before it in any thread happens before what follows.
        i.thread().phase = CallPhase::Start;
        let clock = match i.sync.objects.get(&key) {
            Some(SyncObject::Barrier(barrier)) => barrier.clock.clone(),
            _ => VectorClock::default(),
        };
        i.thread().clock.join(&clock);
        return int(0);
    }
    let released = i.release();
    let Some(SyncObject::Barrier(barrier)) = i.sync.objects.get_mut(&key) else { return int(EINVAL) };
    barrier.clock.join(&released);
    barrier.arrived += 1;
    if barrier.arrived == barrier.needed {
        barrier.arrived = 0;
        barrier.generation += 1;
        let clock = barrier.clock.clone();
        i.thread().clock.join(&clock);
        return int(-1);
    }
    let generation = barrier.generation;
    i.thread().phase = CallPhase::Barrier(generation);
    Ok(Reply::Block(Wait::Barrier(key, generation), Patience::Unlimited))
}

fn sem_init(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    c.int(1)?;
    let value = c.int(2)?;
    if value > i128::from(i32::MAX) {
        return i.fails(EINVAL, -1);
    }
    initialise(i, c.value(0)?, SyncObject::Semaphore(Semaphore { value, clock: VectorClock::default() }))?;
    int(0)
}

fn sem_try(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Result<(Key, bool), ExecutionStop> {
    let key = object(i, c.value(0)?, SyncObject::Semaphore(Semaphore::default()))?;
    let Some(SyncObject::Semaphore(semaphore)) = i.sync.objects.get_mut(&key) else { return Ok((key, false)) };
    if semaphore.value <= 0 {
        return Ok((key, false));
    }
    semaphore.value -= 1;
    let clock = semaphore.clock.clone();
    i.thread().clock.join(&clock);
    Ok((key, true))
}

fn sem_wait(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    match sem_try(i, c)? {
        (_, true) => int(0),
        (key, false) => Ok(Reply::Block(Wait::Semaphore(key), Patience::Unlimited)),
    }
}

fn sem_trywait(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    match sem_try(i, c)? {
        (_, true) => int(0),
        (_, false) => i.fails(EAGAIN, -1),
    }
}

fn sem_timedwait(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    i.read_bytes(c.value(1)?, 2 * i.module.long_bytes)?;
    match sem_try(i, c)? {
        (_, true) => {
            i.thread().phase = CallPhase::Start;
            int(0)
        }
        (_, false) if i.thread().phase == CallPhase::Timed => {
            i.thread().phase = CallPhase::Start;
            i.fails(ETIMEDOUT, -1)
        }
        (key, false) => {
            i.thread().phase = CallPhase::Timed;
            Ok(Reply::Block(Wait::Semaphore(key), Patience::Timed))
        }
    }
}

fn sem_post(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = object(i, c.value(0)?, SyncObject::Semaphore(Semaphore::default()))?;
    let released = i.release();
    let Some(SyncObject::Semaphore(semaphore)) = i.sync.objects.get_mut(&key) else { return int(-1) };
    if semaphore.value >= i128::from(i32::MAX) {
        return i.fails(EOVERFLOW, -1);
    }
    semaphore.value += 1;
    semaphore.clock.join(&released);
    int(0)
}

fn sem_getvalue(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let key = object(i, c.value(0)?, SyncObject::Semaphore(Semaphore::default()))?;
    let value = match i.sync.objects.get(&key) {
        Some(SyncObject::Semaphore(semaphore)) => semaphore.value,
        _ => 0,
    };
    i.write_scalar(c.value(1)?, ScalarType::Int(IntType::I32), CoreValue::Int(value))?;
    int(0)
}
