//! Breadth-first search over packed states, level by level, the work split over workers.
//!
//! In: a system, a way to expand, limits. Out: every state within the limits, and for each violated property
//! the least distance with the least state it is seen from, so that the result does not depend on the number of workers.
//! Each worker owns the states whose hash falls to it. A round is: expand part of one's own level, hand the successors
//! to their owners, take in what one was handed. A successor more than one step away waits in `later` until its level.
//! Deliberately absent: parents. `trace` finds the way back by expanding levels again.

use super::guess::Escape;
use super::system::CompiledSystem;
use super::table::{Shard, hash};
use super::worker::{Expansion, FoldingMode, StateExpander, words};
use base::{Budget, Exhausted};
use program::semantics::Semantics;
use program::{Program, PropertyId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

pub(crate) struct SearchSettings<'a> {
    pub mode: FoldingMode,
    pub workers: usize,
    /// Runs of more steps are not looked at.
    pub depth: usize,
    pub budget: Budget,
    pub progress: &'a (dyn Fn(&SearchProgress) + Sync),
    pub sampling: program::semantics::Sampling,
    /// Keep hashes instead of states; see `table`.
    pub compact: bool,
    /// Note which locations are reached.
    pub mark: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct SearchProgress {
    pub states: u64,
    pub(crate) per_second: f64,
    pub queue: u64,
    pub depth: usize,
    pub bytes: u64,
    /// States still to come, where the levels shrink; `None` while they grow, when nothing can be said.
    pub(crate) to_come: Option<u64>,
}

/// States still to come if each level shrinks by the same factor as the last ones did: a geometric series.
pub(crate) fn to_come(levels: &[u64]) -> Option<u64> {
    let [.., a, b, c] = *levels else { return None };
    if a <= b || b <= c || c == 0 {
        return None;
    }
    let ratio = (c as f64 / a as f64).sqrt();
    Some((c as f64 * ratio / (1.0 - ratio)) as u64)
}

/// The nearest violation of a property.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NearestViolation<const W: usize> {
    /// Steps (in eager mode: folded steps) from the start.
    pub distance: usize,
    /// Seen in this state, or on a step from it.
    pub source: [u64; W],
    /// The level of that state.
    pub level: usize,
}

pub(crate) struct Searched<const W: usize> {
    /// A value that the layout has no room for ended the search.
    pub(crate) escape: Option<Escape>,
    pub(crate) shards: Vec<Shard<W>>,
    pub violations: BTreeMap<PropertyId, NearestViolation<W>>,
    pub states: u64,
    pub(crate) transitions: u64,
    pub depth: usize,
    pub seconds: f64,
    /// Why not every state was seen.
    pub stopped: Option<SearchStop>,
    pub incomplete: Option<String>,
    /// For each instance, which codes of its pc occur; empty unless asked for.
    pub reached: Vec<Vec<bool>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchStop {
    Exhausted(Exhausted),
    /// The greatest depth allowed was reached.
    Depth,
    /// Every wanted property is violated.
    AllFound,
}

type Handed<const W: usize> = Mutex<Vec<([u64; W], u32)>>;

struct SharedSearch<'a, const W: usize> {
    settings: &'a SearchSettings<'a>,
    workers: usize,
    /// From worker to worker.
    handed: Vec<Handed<W>>,
    barrier: Barrier,
    violations: Mutex<BTreeMap<PropertyId, NearestViolation<W>>>,
    escape: Mutex<Option<Escape>>,
    exhausted: Mutex<Option<Exhausted>>,
    failed: AtomicBool,
    left: AtomicUsize,
    coming: AtomicUsize,
    states: AtomicU64,
    total: AtomicU64,
    transitions: AtomicU64,
    bytes: AtomicU64,
    decision: Mutex<Decision>,
    start: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Decision {
    Round,
    Level,
    Stop(Option<SearchStop>),
}

struct ShardOwner<'a, 's, const W: usize> {
    me: usize,
    shared: &'a SharedSearch<'a, W>,
    worker: StateExpander<'s>,
    shard: Shard<W>,
    /// States for the next level and those after it; front: the next.
    later: VecDeque<Vec<[u64; W]>>,
    level: usize,
    /// Where the states of this level end; those after belong to the next.
    level_end: usize,
    cursor: usize,
    broken: Vec<PropertyId>,
    /// How many states each level has, of all workers; kept by the first.
    sizes: Vec<u64>,
}

/// The effort of expanding one state: with compiled actions only, and where some are left to the reference semantics.
const STATE_EFFORT: u64 = 2;
const SLOW_STATE: u64 = 10;
/// What a level costs beside its states: the workers meet at its end. Where each level is one state, this is nearly all.
const LEVEL_EFFORT: u64 = 20;
/// How many states are expanded before successors are handed over.
const STATES_PER_BATCH: usize = 4096;

/// Searches, until the layout turns out too small, too.
pub(crate) fn search_states<const W: usize>(
    program: &Program,
    system: &CompiledSystem,
    settings: &SearchSettings<'_>,
) -> Searched<W> {
    let workers = settings.workers.max(1);
    let shared: SharedSearch<'_, W> = SharedSearch {
        settings,
        workers,
        handed: (0..workers * workers).map(|_| Mutex::new(Vec::new())).collect(),
        barrier: Barrier::new(workers),
        violations: Mutex::new(BTreeMap::new()),
        escape: Mutex::new(None),
        exhausted: Mutex::new(None),
        failed: AtomicBool::new(false),
        left: AtomicUsize::new(0),
        coming: AtomicUsize::new(0),
        states: AtomicU64::new(0),
        total: AtomicU64::new(0),
        transitions: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        decision: Mutex::new(Decision::Round),
        start: Instant::now(),
    };
    let one = |me: usize, program: &Program| {
        let sem = Semantics::new(program);
        let mut worker = StateExpander::new(system, &sem);
        worker.sampling = settings.sampling;
        if settings.mark {
            worker.reached = system.places.iter().map(|p| vec![false; p.len()]).collect();
        }
        let mut owner = ShardOwner {
            me,
            shared: &shared,
            worker,
            shard: Shard::new(settings.compact),
            sizes: Vec::new(),
            later: VecDeque::new(),
            level: 0,
            level_end: 0,
            cursor: 0,
            broken: Vec::new(),
        };
        let stopped = owner.run();
        (owner.shard, owner.worker.incomplete, owner.worker.reached, stopped, owner.level)
    };
    let results: Vec<_> = if workers == 1 {
        vec![one(0, program)]
    } else {
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..workers)
                .map(|me| {
                    let program = program.clone();
                    let one = &one;
                    scope.spawn(move || one(me, &program))
                })
                .collect();
            handles.into_iter().map(|h| h.join().expect("a worker does not panic")).collect()
        })
    };
    let mut out = Searched {
        escape: shared.escape.into_inner().expect("no worker panics while it holds the lock"),
        shards: Vec::new(),
        violations: shared.violations.into_inner().expect("no worker panics while it holds the lock"),
        states: shared.total.into_inner(),
        transitions: shared.transitions.into_inner(),
        depth: 0,
        seconds: shared.start.elapsed().as_secs_f64(),
        stopped: None,
        incomplete: None,
        reached: Vec::new(),
    };
    for (shard, incomplete, reached, stopped, level) in results {
        out.shards.push(shard);
        if out.reached.is_empty() {
            out.reached = reached;
        } else {
            let pairs = out.reached.iter_mut().flatten().zip(reached.iter().flatten());
            pairs.for_each(|(all, one)| *all |= one);
        }
        out.incomplete = out.incomplete.or(incomplete);
        out.stopped = out.stopped.or(stopped);
        out.depth = out.depth.max(level);
    }
    out
}

impl<const W: usize> ShardOwner<'_, '_, W> {
    fn run(&mut self) -> Option<SearchStop> {
        self.shard.levels.push(0);
        let mut out = (0..self.shared.workers).map(|_| Vec::new()).collect();
        if self.me == 0 {
            self.tolerate(|s| s.initial(&mut out));
            self.hand_over(&mut out);
        }
        self.shared.barrier.wait();
        self.tolerate(Self::take_in);
        self.level_end = self.shard.len();
        let mut expansion = Expansion::default();
        let mut reported = Instant::now();
        loop {
            match self.meet(&mut reported) {
                Decision::Stop(why) => {
                    self.shard.levels.push(self.level_end);
                    return why;
                }
                Decision::Round => {
                    self.tolerate(|s| s.expand_some(&mut expansion, &mut out));
                    self.hand_over(&mut out);
                    self.shared.barrier.wait();
                    self.tolerate(Self::take_in);
                }
                Decision::Level => {
                    self.level += 1;
                    self.cursor = self.level_end;
                    self.shard.levels.push(self.level_end);
                    self.tolerate(Self::wake);
                    self.level_end = self.shard.len();
                    self.shard.forget_before(self.cursor);
                }
            }
        }
    }
    /// Remembers a failure; everyone stops at the next meeting.
    fn tolerate(&mut self, work: impl FnOnce(&mut Self) -> Result<(), SearchFailure>) {
        // A worker that is gone would leave the others waiting: a panic is a failure like any other.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(self)));
        let panicked = || Err(SearchFailure::Escape(Escape::Stuck("a worker met an error of ours".into())));
        match done.unwrap_or_else(|_| panicked()) {
            Ok(()) => return,
            Err(SearchFailure::Escape(e)) => {
                self.shared.escape.lock().expect("no worker panics while it holds the lock").get_or_insert(e);
            }
            Err(SearchFailure::Exhausted(e)) => {
                self.shared.exhausted.lock().expect("no worker panics while it holds the lock").get_or_insert(e);
            }
        }
        self.shared.failed.store(true, Ordering::SeqCst);
    }
    /// Everyone says what is left to do; the first worker decides what happens next.
    fn meet(&mut self, reported: &mut Instant) -> Decision {
        let s = self.shared;
        s.left.fetch_add(self.level_end - self.cursor, Ordering::SeqCst);
        let waiting: usize = self.later.iter().map(Vec::len).sum();
        s.coming.fetch_add(self.shard.len() - self.level_end + waiting, Ordering::SeqCst);
        s.states.fetch_add(self.shard.len() as u64, Ordering::SeqCst);
        s.bytes.fetch_add(self.shard.bytes() as u64, Ordering::SeqCst);
        s.barrier.wait();
        if self.me == 0 {
            let (left, coming) = (s.left.swap(0, Ordering::SeqCst), s.coming.swap(0, Ordering::SeqCst));
            let states = s.states.swap(0, Ordering::SeqCst);
            let bytes = s.bytes.swap(0, Ordering::SeqCst);
            s.total.store(states, Ordering::SeqCst);
            if reported.elapsed() > Duration::from_millis(250) {
                *reported = Instant::now();
                (s.settings.progress)(&SearchProgress {
                    states,
                    per_second: states as f64 / s.start.elapsed().as_secs_f64().max(1e-3),
                    queue: (left + coming) as u64,
                    depth: self.level,
                    bytes,
                    to_come: to_come(&self.sizes),
                });
            }
            *s.decision.lock().expect("no worker panics while it holds the lock") = self.decide(left, coming);
        }
        s.barrier.wait();
        s.decision.lock().expect("no worker panics while it holds the lock").clone()
    }
    /// The effort of a level of so many states.
    fn cost(&self, states: usize) -> u64 {
        let each = if self.worker.system.slow > 0 { SLOW_STATE } else { STATE_EFFORT };
        (states as u64).saturating_mul(each).saturating_add(LEVEL_EFFORT)
    }
    fn decide(&mut self, left: usize, coming: usize) -> Decision {
        let s = self.shared;
        if let Err(e) = s.settings.budget.check_limits() {
            s.exhausted.lock().expect("no worker panics while it holds the lock").get_or_insert(e);
            s.failed.store(true, Ordering::SeqCst);
        }
        if s.failed.load(Ordering::SeqCst) {
            return Decision::Stop(
                s.exhausted.lock().expect("no worker panics while it holds the lock").map(SearchStop::Exhausted),
            );
        }
        if left > 0 {
            return Decision::Round;
        }
        let found = s.violations.lock().expect("no worker panics while it holds the lock");
        let nearest = |p: &PropertyId| found.get(p).is_some_and(|f| f.distance <= self.level + 1);
        let wanted = &self.worker.system.wanted;
        if !wanted.is_empty() && wanted.iter().all(nearest) {
            return Decision::Stop(Some(SearchStop::AllFound));
        }
        match coming {
            0 => Decision::Stop(None),
            _ if self.level >= s.settings.depth => Decision::Stop(Some(SearchStop::Depth)),
            // Effort ends a search between two levels only, and before a level that it does not suffice for: so what was seen
            // is the same for any number of workers.
            _ if s.settings.budget.effort_left().is_some_and(|left| left < self.cost(coming)) => {
                Decision::Stop(Some(SearchStop::Exhausted(Exhausted::Effort)))
            }
            _ => {
                s.settings.budget.spend(self.cost(coming));
                self.sizes.push(coming as u64);
                Decision::Level
            }
        }
    }
    fn initial(&mut self, out: &mut Handing<W>) -> Result<(), SearchFailure> {
        let system = self.worker.system;
        let initial = self.worker.sem.initial(&system.counts, self.worker.sampling);
        if let Some(why) = initial.incomplete {
            self.worker.incomplete.get_or_insert(why);
        }
        for (state, _) in initial.states {
            let packed: [u64; W] = words(&system.layout.pack(self.worker.sem, &state)?);
            let mut starts = Expansion { states: vec![(packed, 0)], ..Expansion::default() };
            if self.shared.settings.mode == FoldingMode::Eager {
                starts = self.worker.settle_all(packed)?;
            }
            for (p, _) in starts.wrong {
                self.report(p, 1, 0, packed);
            }
            for (mut s, _) in starts.states {
                system.canonical(&mut s);
                self.address(s, 0, out);
            }
        }
        Ok(())
    }
    fn address(&self, state: [u64; W], steps: u32, out: &mut Handing<W>) {
        let owner = owner_of(hash(&state), self.shared.workers);
        out[owner].push((state, steps));
    }
    fn hand_over(&mut self, out: &mut Handing<W>) {
        for (to, states) in out.iter_mut().enumerate() {
            let mut box_ = self.shared.handed[self.me * self.shared.workers + to]
                .lock()
                .expect("no worker panics while it holds the lock");
            if box_.is_empty() {
                std::mem::swap(&mut *box_, states);
            } else {
                box_.append(states);
            }
        }
    }
    /// Adds the states this worker was handed.
    fn take_in(&mut self) -> Result<(), SearchFailure> {
        for from in 0..self.shared.workers {
            let at = from * self.shared.workers + self.me;
            let mut states =
                std::mem::take(&mut *self.shared.handed[at].lock().expect("no worker panics while it holds the lock"));
            let done = self.add_all(&states);
            states.clear();
            *self.shared.handed[at].lock().expect("no worker panics while it holds the lock") = states;
            done?;
        }
        Ok(())
    }
    fn add_all(&mut self, states: &[([u64; W], u32)]) -> Result<(), SearchFailure> {
        for block in states.chunks(256) {
            let mut hashes = [0u64; 256];
            for (h, (s, _)) in hashes.iter_mut().zip(block) {
                *h = hash(s);
                self.shard.prefetch(*h);
            }
            if W > 1 {
                hashes.iter().take(block.len()).for_each(|h| self.shard.prefetch_state(*h));
            }
            for (h, (s, steps)) in hashes.iter().zip(block) {
                if *steps <= 1 {
                    self.add(s, *h, self.level + *steps as usize)?;
                } else if !self.shard.contains(s) {
                    let at = *steps as usize - 1;
                    while self.later.len() <= at {
                        self.later.push_back(Vec::new());
                    }
                    self.later[at].push(*s);
                }
            }
        }
        Ok(())
    }
    #[inline]
    fn add(&mut self, state: &[u64; W], hash: u64, distance: usize) -> Result<(), SearchFailure> {
        if self.shard.insert(state, hash, &self.shared.settings.budget)? && !self.worker.system.invariants.is_empty() {
            let mut broken = std::mem::take(&mut self.broken);
            broken.clear();
            self.worker.broken(state, &mut broken)?;
            for p in &broken {
                self.report(*p, distance, distance, *state);
            }
            self.broken = broken;
        }
        Ok(())
    }
    /// Adds the states that have waited for this level.
    fn wake(&mut self) -> Result<(), SearchFailure> {
        for s in self.later.pop_front().unwrap_or_default() {
            self.add(&s, hash(&s), self.level)?;
        }
        Ok(())
    }
    fn report(&self, property: PropertyId, distance: usize, level: usize, source: [u64; W]) {
        let found = NearestViolation { distance, source, level };
        let mut all = self.shared.violations.lock().expect("no worker panics while it holds the lock");
        match all.get_mut(&property) {
            Some(old) if *old <= found => {}
            Some(old) => *old = found,
            None => {
                all.insert(property, found);
            }
        }
    }
    /// Expands some states of the level.
    fn expand_some(&mut self, expansion: &mut Expansion<W>, out: &mut Handing<W>) -> Result<(), SearchFailure> {
        let start = Instant::now();
        let end = self.level_end.min(self.cursor + STATES_PER_BATCH);
        let mode = self.shared.settings.mode;
        let mut transitions = 0;
        while self.cursor < end {
            let state = *self.shard.get(self.cursor);
            self.cursor += 1;
            expansion.clear();
            if !self.worker.reached.is_empty() {
                self.worker.mark(&state);
            }
            self.worker.expand(&state, mode, expansion)?;
            transitions += expansion.states.len() as u64;
            for (p, steps) in &expansion.wrong {
                self.report(*p, self.level + *steps as usize, self.level, state);
            }
            if expansion.stuck {
                for p in &self.worker.system.deadlock {
                    self.report(*p, self.level, self.level, state);
                }
            }
            if self.shared.workers == 1 {
                out[0].extend_from_slice(&expansion.states);
            } else {
                for (s, steps) in &expansion.states {
                    self.address(*s, *steps, out);
                }
            }
            if self.cursor.is_multiple_of(64) && start.elapsed() > Duration::from_millis(60) {
                break;
            }
        }
        self.shared.transitions.fetch_add(transitions, Ordering::Relaxed);
        Ok(())
    }
}

enum SearchFailure {
    Escape(Escape),
    Exhausted(Exhausted),
}

impl From<Escape> for SearchFailure {
    fn from(e: Escape) -> Self {
        SearchFailure::Escape(e)
    }
}

impl From<Exhausted> for SearchFailure {
    fn from(e: Exhausted) -> Self {
        SearchFailure::Exhausted(e)
    }
}

/// Successors by owner.
type Handing<const W: usize> = Vec<Vec<([u64; W], u32)>>;

/// The worker that owns a hash: by its low bits, which the table does not use.
fn owner_of(hash: u64, workers: usize) -> usize {
    (((hash & 0xffff) as usize) * workers) >> 16
}

impl<const W: usize> Searched<W> {
    /// Memory of the states and the table.
    pub(crate) fn bytes(&self) -> usize {
        self.shards.iter().map(Shard::bytes).sum()
    }
}
