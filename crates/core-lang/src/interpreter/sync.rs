//! Synchronisation objects of the thread libraries, by the address of the object in memory.
//!
//! In: requests of library rows. Out: new states and the clocks that order threads. What is in a lock's
//! bytes is only its kind, as static initialisers put it there; who holds it is known here. Which errors and which undefined
//! behaviour a call has is decided by the rows (`library::locks`).

use super::Wait;
use super::race::VectorClock;
use rustc_hash::FxHashMap;

/// Allocation and offset.
pub(crate) type Key = (u32, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MutexKind {
    Normal,
    Recursive,
    ErrorChecking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Robustness {
    Stalled,
    Robust,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consistency {
    Consistent,
    /// The holder ended; the next one to lock learns it by its result.
    OwnerDied,
    /// It was unlocked without being made consistent.
    NotRecoverable,
}

#[derive(Clone, Debug)]
pub(crate) struct Mutex {
    pub kind: MutexKind,
    pub(crate) robustness: Robustness,
    pub(crate) consistency: Consistency,
    pub owner: Option<u32>,
    pub depth: u32,
    pub clock: VectorClock,
}

impl Mutex {
    pub(crate) fn new(kind: MutexKind, robustness: Robustness) -> Self {
        let consistency = Consistency::Consistent;
        Self { kind, robustness, consistency, owner: None, depth: 0, clock: VectorClock::default() }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ReadWriteLock {
    pub writer: Option<u32>,
    /// Each holder, as often as it holds it.
    pub readers: Vec<u32>,
    pub written: VectorClock,
    pub read: VectorClock,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Semaphore {
    pub value: i128,
    pub clock: VectorClock,
}

#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    pub needed: u32,
    pub arrived: u32,
    pub generation: u64,
    pub clock: VectorClock,
}

#[derive(Clone, Debug)]
pub(crate) enum Once {
    Running,
    Done(VectorClock),
}

/// Any object of the thread library.
#[derive(Clone, Debug)]
pub(crate) enum SyncObject {
    Mutex(Mutex),
    ReadWriteLock(ReadWriteLock),
    /// Held by a thread or free.
    Spin(Option<u32>, VectorClock),
    Semaphore(Semaphore),
    Barrier(Barrier),
    Once(Once),
    /// The threads that wait, in the order of their coming.
    Condition(Vec<u32>),
    /// An attribute object for mutexes.
    MutexAttribute(MutexKind, Robustness),
    /// It was destroyed and not initialised again.
    Destroyed,
}

impl SyncObject {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            SyncObject::Mutex(_) => "a mutex",
            SyncObject::ReadWriteLock(_) => "a read-write lock",
            SyncObject::Spin(..) => "a spin lock",
            SyncObject::Semaphore(_) => "a semaphore",
            SyncObject::Barrier(_) => "a barrier",
            SyncObject::Once(_) => "a once-flag",
            SyncObject::Condition(_) => "a condition variable",
            SyncObject::MutexAttribute(..) => "a mutex attribute",
            SyncObject::Destroyed => "a destroyed object",
        }
    }
}

#[derive(Default)]
pub(crate) struct SyncObjects {
    pub objects: FxHashMap<Key, SyncObject>,
    /// Offsets by allocation, so that an object's end is cheap.
    by_allocation: FxHashMap<u32, Vec<u64>>,
}

impl SyncObjects {
    pub(crate) fn insert(&mut self, key: Key, object: SyncObject) {
        if self.objects.insert(key, object).is_none() {
            self.by_allocation.entry(key.0).or_default().push(key.1);
        }
    }

    pub(crate) fn forget_object(&mut self, allocation: u32) {
        for offset in self.by_allocation.remove(&allocation).unwrap_or_default() {
            self.objects.remove(&(allocation, offset));
        }
    }

    pub(crate) fn owner(&self, key: Key) -> Option<u32> {
        match self.objects.get(&key) {
            Some(SyncObject::Mutex(mutex)) => mutex.owner,
            Some(SyncObject::Spin(owner, _)) => *owner,
            _ => None,
        }
    }

    /// Whether a thread that waits may try again. An object that is gone wakes its waiters, whose next try reports it.
    pub(crate) fn satisfied(&self, wait: Wait) -> bool {
        match wait {
            Wait::Mutex(key) => match self.objects.get(&key) {
                Some(SyncObject::Mutex(mutex)) => {
                    mutex.owner.is_none() || mutex.consistency == Consistency::NotRecoverable
                }
                _ => true,
            },
            Wait::ReadLock(key) => match self.objects.get(&key) {
                Some(SyncObject::ReadWriteLock(lock)) => lock.writer.is_none(),
                _ => true,
            },
            Wait::WriteLock(key) => match self.objects.get(&key) {
                Some(SyncObject::ReadWriteLock(lock)) => lock.writer.is_none() && lock.readers.is_empty(),
                _ => true,
            },
            Wait::Spin(key) => match self.objects.get(&key) {
                Some(SyncObject::Spin(owner, _)) => owner.is_none(),
                _ => true,
            },
            Wait::Semaphore(key) => match self.objects.get(&key) {
                Some(SyncObject::Semaphore(semaphore)) => semaphore.value > 0,
                _ => true,
            },
            Wait::Barrier(key, generation) => match self.objects.get(&key) {
                Some(SyncObject::Barrier(barrier)) => barrier.generation != generation,
                _ => true,
            },
            Wait::Once(key) => !matches!(self.objects.get(&key), Some(SyncObject::Once(Once::Running))),
            Wait::Signal(_) | Wait::Thread(_) | Wait::Forever => false,
        }
    }

    pub(crate) fn once_done(&mut self, key: Key, clock: VectorClock) {
        self.insert(key, SyncObject::Once(Once::Done(clock)));
    }

    /// Robust mutexes learn that their holder is gone; the others stay locked for ever.
    pub(crate) fn thread_ends(&mut self, thread: u32) {
        for object in self.objects.values_mut() {
            if let SyncObject::Mutex(mutex) = object
                && mutex.owner == Some(thread)
                && mutex.robustness == Robustness::Robust
            {
                mutex.owner = None;
                mutex.depth = 0;
                mutex.consistency = Consistency::OwnerDied;
            }
        }
    }
}
