//! Breadth-first search over packed states, level by level, the work split over workers.
//!
//! In: a system, a way to expand, limits. Out: every state within the limits, and for each violated property
//! the least distance with the least state it is seen from, so that the result does not depend on the number of workers.
//! Each owner has the states whose hash falls to it. A round is: expand part of one's own level, hand the successors
//! to their owners, take in what one was handed (`exchange`). A successor more than one step away waits in `later` until its level.
//! Deliberately absent: parents. `trace` finds the way back by expanding levels again.

use super::checkpoint::{CommittedLevel, LevelLog, SearchCheckpoint};
use super::exchange::{
    Decision, Exchange, Handing, MeetingPlace, OwnerReport, OwnerSizes, Reached, Together, keep_nearest,
};
use super::guess::Escape;
use super::segment::LoggedSegment;
use super::shared::{NearestViolation, SearchStop, keep_least, owner_of};
use super::system::CompiledSystem;
use super::table::{Shard, hash};
use super::wire::WordWriter;
use super::worker::{Expansion, FoldingMode, StateExpander, words};
use base::{Budget, Exhausted};
use program::semantics::Semantics;
use program::{Program, PropertyId};
use std::collections::{BTreeMap, VecDeque};
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
    /// Where levels are logged.
    pub checkpoint: Option<&'a SearchCheckpoint>,
}

#[derive(Clone, Copy, Debug)]
pub struct SearchProgress {
    pub states: u64,
    pub(crate) per_second: f64,
    pub queue: u64,
    pub depth: usize,
    pub bytes: u64,
    /// Bytes sent between processes.
    pub(crate) sent: u64,
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

pub(crate) struct Searched<const W: usize> {
    /// A value that the layout has no room for ended the search.
    pub(crate) escape: Option<Escape>,
    pub(crate) shards: Vec<Shard<W>>,
    pub violations: BTreeMap<PropertyId, NearestViolation<W>>,
    pub states: u64,
    pub(crate) transitions: u64,
    /// Memory of the states and the tables.
    pub(crate) bytes: u64,
    pub depth: usize,
    pub seconds: f64,
    /// Why not every state was seen.
    pub stopped: Option<SearchStop>,
    pub incomplete: Option<String>,
    /// For each instance, which codes of its pc occur; empty unless asked for.
    pub reached: Vec<Vec<bool>>,
}

struct ShardOwner<'a, 's, const W: usize> {
    settings: &'a SearchSettings<'a>,
    owners: usize,
    worker: StateExpander<'s>,
    shard: Shard<W>,
    /// States for the next level and those after it; front: the next.
    later: VecDeque<Vec<[u64; W]>>,
    level: usize,
    /// Where the states of this level end; those after belong to the next.
    level_end: usize,
    cursor: usize,
    broken: Vec<PropertyId>,
    /// What is said at the next meeting.
    report: OwnerReport<W>,
    log: Option<LevelLog>,
}

/// What the first owner keeps beside its own states: what is known of the whole search.
pub(super) struct SearchLeader<'a, const W: usize> {
    settings: &'a SearchSettings<'a>,
    wanted: &'a [PropertyId],
    slow: bool,
    /// Places of a state.
    places: usize,
    level: usize,
    /// How many states each level has, of all owners.
    sizes: Vec<u64>,
    /// All reports so far, with the sizes of the last.
    known: OwnerReport<W>,
    /// Levels whose logs are complete.
    logged: usize,
    /// States that were read from logs and have to be there at the first meeting.
    restored: Option<u64>,
    start: Instant,
    reported: Instant,
}

/// The effort of expanding one state: with compiled actions only, and where some are left to the reference semantics.
const STATE_EFFORT: u64 = 2;
const SLOW_STATE: u64 = 20;
/// Of each place of a state that the reference semantics copies.
const SLOW_PLACE: u64 = 3;
/// What a level costs beside its states: the workers meet at its end. Where each level is one state, this is nearly all.
const LEVEL_EFFORT: u64 = 20;

/// Searches, until the layout turns out too small, too.
pub(crate) fn search_states<const W: usize>(
    program: &Program,
    system: &CompiledSystem,
    settings: &SearchSettings<'_>,
) -> Searched<W> {
    let workers = settings.workers.max(1);
    let place: MeetingPlace<W> = MeetingPlace::new(workers);
    let one =
        |me: usize, program: &Program| search_as_owner(program, system, settings, &mut Together { me, place: &place });
    if workers == 1 {
        return one(0, program);
    }
    let results: Vec<Searched<W>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|me| {
                let program = program.clone();
                let one = &one;
                scope.spawn(move || one(me, &program))
            })
            .collect();
        handles.into_iter().map(|h| h.join().expect("a worker does not panic")).collect()
    });
    let mut all = results.into_iter();
    let mut out = all.next().expect("there is a worker");
    for other in all {
        out.shards.extend(other.shards);
        out.merge_reached(&other.reached);
    }
    out
}

/// The part of one owner. That of the first has the results of all, but for the states of the others and the places they reached.
pub(crate) fn search_as_owner<const W: usize>(
    program: &Program,
    system: &CompiledSystem,
    settings: &SearchSettings<'_>,
    exchange: &mut dyn Exchange<W>,
) -> Searched<W> {
    let sem = Semantics::new(program);
    let mut worker = StateExpander::new(system, &sem);
    worker.sampling = settings.sampling;
    if settings.mark {
        worker.reached = system.places.iter().map(|p| vec![false; p.len()]).collect();
    }
    let mut owner = ShardOwner {
        settings,
        owners: exchange.owners(),
        worker,
        shard: Shard::new(settings.compact),
        later: VecDeque::new(),
        level: 0,
        level_end: 0,
        cursor: 0,
        broken: Vec::new(),
        report: OwnerReport::default(),
        log: None,
    };
    let mut leader = SearchLeader::new(settings, system);
    let stopped = owner.run(exchange, &mut leader).unwrap_or_else(|lost| {
        leader.known.escape = Some(Escape::Stuck(lost));
        None
    });
    leader.result(vec![owner.shard], stopped, owner.level, owner.worker.reached)
}

impl<const W: usize> ShardOwner<'_, '_, W> {
    /// Works until the leader ends the search; an error says which other process is gone.
    fn run(
        &mut self,
        exchange: &mut dyn Exchange<W>,
        leader: &mut SearchLeader<'_, W>,
    ) -> Result<Option<SearchStop>, String> {
        let mut out = (0..self.owners).map(|_| Vec::new()).collect();
        if let Some(checkpoint) = self.settings.checkpoint {
            self.resume(checkpoint, exchange, leader, &mut out)?;
        } else {
            self.begin(exchange, &mut out)?;
        }
        let mut expansion = Expansion::default();
        loop {
            match self.meet(exchange, leader)? {
                Decision::Stop(why) => {
                    self.shard.levels.push(self.level_end);
                    return Ok(why);
                }
                Decision::Rounds(rounds) => {
                    for _ in 0..rounds {
                        let most = exchange.states_per_round();
                        self.tolerate(|s| s.expand_some(most, &mut expansion, &mut out));
                        exchange.swap(&mut out, &mut |states| self.take_in(states))?;
                    }
                }
                Decision::Level => {
                    self.level += 1;
                    self.cursor = self.level_end;
                    self.shard.levels.push(self.level_end);
                    self.tolerate(Self::wake);
                    self.level_end = self.shard.len();
                    self.write_level();
                    self.shard.forget_before(self.cursor);
                }
            }
        }
    }
    /// The states of the levels that a search before this one has logged; without any, the initial states.
    fn resume(
        &mut self,
        checkpoint: &SearchCheckpoint,
        exchange: &mut dyn Exchange<W>,
        leader: &mut SearchLeader<'_, W>,
        out: &mut Handing<W>,
    ) -> Result<(), String> {
        let log = self.untroubled(checkpoint.level_log(exchange.me()));
        let Some(last) = checkpoint.committed.last() else {
            self.log = log;
            self.begin(exchange, out)?;
            self.write_level();
            return Ok(());
        };
        for record in &checkpoint.committed {
            self.level = record.level as usize;
            self.cursor = self.shard.len();
            self.shard.levels.push(self.cursor);
            let here = |level: u64| (level == record.level).then_some(0);
            let damage = checkpoint.hand_out(record, &here, exchange, &mut |states| self.take_in(states))?;
            self.untroubled(damage.map_or(Ok(()), Err));
        }
        self.level_end = self.shard.len();
        self.log = log;
        for record in &checkpoint.committed {
            let waiting = |level: u64| level.checked_sub(last.level).filter(|n| *n > 0).map(|n| n as u32);
            let damage = checkpoint.hand_out(record, &waiting, exchange, &mut |states| self.take_in(states))?;
            self.untroubled(damage.map_or(Ok(()), Err));
        }
        leader.level = self.level;
        leader.logged = self.level + 1;
        // Where states wait for levels further on, some of them may be there already.
        leader.restored = (self.settings.mode != FoldingMode::Lazy).then(|| checkpoint.states::<W>());
        leader.sizes = checkpoint.committed.iter().skip(1).map(|c| c.size).collect();
        leader.sizes.iter().for_each(|n| self.settings.budget.spend(leader.cost(*n)));
        leader.known.transitions = last.transitions;
        leader.known.incomplete = last.incomplete.clone();
        leader.known.found = checkpoint.violations()?;
        Ok(())
    }
    /// Writes the states of the level at hand.
    fn write_level(&mut self) {
        let Some(log) = &mut self.log else { return };
        let states = (self.cursor..self.level_end).flat_map(|at| *self.shard.get(at)).collect();
        let written = log.write(self.level as u64, states);
        self.report.segments = self.untroubled(written).unwrap_or_default();
    }
    /// Trouble with files ends the search at the next meeting, where nobody waits for this owner in vain.
    fn untroubled<T>(&mut self, done: Result<T, String>) -> Option<T> {
        match done {
            Ok(value) => Some(value),
            Err(why) => {
                keep_least(&mut self.report.escape, Escape::Stuck(why));
                self.report.failed = true;
                None
            }
        }
    }
    /// The initial states, by the first owner.
    fn begin(&mut self, exchange: &mut dyn Exchange<W>, out: &mut Handing<W>) -> Result<(), String> {
        self.shard.levels.push(0);
        if exchange.me() == 0 {
            self.tolerate(|s| s.initial(out));
            let each = if self.worker.system.slow > 0 { SLOW_STATE } else { STATE_EFFORT };
            self.report.more_effort += std::mem::take(&mut self.worker.settled).saturating_mul(each);
        }
        exchange.swap(out, &mut |states| self.take_in(states))?;
        self.level_end = self.shard.len();
        Ok(())
    }
    /// Remembers a failure; everyone stops at the next meeting.
    fn tolerate(&mut self, work: impl FnOnce(&mut Self) -> Result<(), SearchFailure>) {
        // A worker that is gone would leave the others waiting: a panic is a failure like any other.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(self)));
        let panicked = || Err(SearchFailure::Escape(Escape::Stuck("a worker met an error of ours".into())));
        match done.unwrap_or_else(|_| panicked()) {
            Ok(()) => return,
            Err(SearchFailure::Escape(e)) => keep_least(&mut self.report.escape, e),
            Err(SearchFailure::Exhausted(e)) => {
                self.report.exhausted.get_or_insert(e);
            }
        }
        self.report.failed = true;
    }
    /// A value that has no room ends the search, but only at the end of the level: so of all those of the level the least is taken, and the
    /// next layout is the same for any number of workers.
    fn postpone(&mut self, done: Result<(), SearchFailure>) -> Result<(), SearchFailure> {
        match done {
            Err(SearchFailure::Escape(e)) if !matches!(e, Escape::Stuck(_)) => {
                keep_least(&mut self.report.escape, e);
                Ok(())
            }
            other => other,
        }
    }
    /// Everyone says what is left to do; the leader decides what happens next.
    fn meet(&mut self, exchange: &mut dyn Exchange<W>, leader: &mut SearchLeader<'_, W>) -> Result<Decision, String> {
        let waiting: usize = self.later.iter().map(Vec::len).sum();
        let mut report = std::mem::take(&mut self.report);
        let left = (self.level_end - self.cursor) as u64;
        report.sizes = OwnerSizes {
            left,
            most_left: left,
            coming: (self.shard.len() - self.level_end + waiting) as u64,
            states: self.shard.len() as u64,
            bytes: self.shard.bytes() as u64,
            sent: exchange.sent(),
        };
        report.incomplete = self.worker.incomplete.clone();
        if let Err(e) = self.settings.budget.check_limits() {
            report.exhausted.get_or_insert(e);
            report.failed = true;
        }
        let (most, most_rounds) = (exchange.states_per_round() as u64, exchange.most_rounds());
        exchange.meet(report, &mut |all| {
            let rounds = all.sizes.most_left.div_ceil(most).clamp(1, most_rounds) as u32;
            leader.decide(all, rounds)
        })
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
            if self.settings.mode == FoldingMode::Eager {
                starts = self.worker.settle_all(packed)?;
            }
            for (p, _) in starts.wrong {
                self.found(p, 1, 0, packed);
            }
            for (mut s, _) in starts.states {
                system.canonical(&mut s);
                self.address(s, 0, out);
            }
        }
        Ok(())
    }
    fn address(&self, state: [u64; W], steps: u32, out: &mut Handing<W>) {
        let owner = owner_of(hash(&state), self.owners);
        out[owner].push((state, steps));
    }
    /// Adds the states this owner was handed.
    fn take_in(&mut self, states: &[Reached<W>]) {
        self.tolerate(|s| s.add_all(states));
    }
    fn add_all(&mut self, states: &[Reached<W>]) -> Result<(), SearchFailure> {
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
                    self.keep_for_later(*s, *steps as usize);
                }
            }
        }
        Ok(())
    }
    fn keep_for_later(&mut self, state: [u64; W], steps: usize) {
        while self.later.len() < steps {
            self.later.push_back(Vec::new());
        }
        self.later[steps - 1].push(state);
        if let Some(log) = &mut self.log {
            log.note_later(self.level + steps, &state);
        }
    }
    #[inline]
    fn add(&mut self, state: &[u64; W], hash: u64, distance: usize) -> Result<(), SearchFailure> {
        if self.shard.insert(state, hash, &self.settings.budget)? && !self.worker.system.invariants.is_empty() {
            let mut broken = std::mem::take(&mut self.broken);
            broken.clear();
            let done = self.worker.broken(state, &mut broken).map_err(SearchFailure::from);
            self.postpone(done)?;
            for p in &broken {
                self.found(*p, distance, distance, *state);
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
    fn found(&mut self, property: PropertyId, distance: usize, level: usize, source: [u64; W]) {
        keep_nearest(&mut self.report.found, property, NearestViolation { distance, source, level });
    }
    /// Expands some states of the level.
    fn expand_some(
        &mut self,
        most: usize,
        expansion: &mut Expansion<W>,
        out: &mut Handing<W>,
    ) -> Result<(), SearchFailure> {
        let start = Instant::now();
        let end = self.level_end.min(self.cursor + most);
        let mode = self.settings.mode;
        let mut transitions = 0;
        while self.cursor < end {
            let state = *self.shard.get(self.cursor);
            self.cursor += 1;
            expansion.clear();
            self.report.more_effort += self.worker.effort_of_copying(&state);
            if !self.worker.reached.is_empty() {
                self.worker.mark(&state);
            }
            let expanded = self.worker.expand(&state, mode, expansion);
            self.report.more_effort += self.worker.effort_of_opening();
            match expanded {
                Ok(()) => {}
                Err(escape) => {
                    self.postpone(Err(SearchFailure::Escape(escape)))?;
                    continue;
                }
            }
            transitions += expansion.states.len() as u64;
            for (p, steps) in &expansion.wrong {
                self.found(*p, self.level + *steps as usize, self.level, state);
            }
            if expansion.stuck {
                for p in &self.worker.system.deadlock {
                    self.found(*p, self.level, self.level, state);
                }
            }
            if self.owners == 1 {
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
        self.report.transitions += transitions;
        Ok(())
    }
}

impl<'a, const W: usize> SearchLeader<'a, W> {
    pub(super) fn new(settings: &'a SearchSettings<'a>, system: &'a CompiledSystem) -> Self {
        Self {
            settings,
            wanted: &system.wanted,
            slow: system.slow > 0,
            places: system.layout.slots.len(),
            level: 0,
            sizes: Vec::new(),
            known: OwnerReport::default(),
            logged: 0,
            restored: None,
            start: Instant::now(),
            reported: Instant::now(),
        }
    }
    pub(super) fn result(
        self,
        shards: Vec<Shard<W>>,
        stopped: Option<SearchStop>,
        depth: usize,
        reached: Vec<Vec<bool>>,
    ) -> Searched<W> {
        Searched {
            escape: self.known.escape,
            shards,
            violations: self.known.found,
            states: self.known.sizes.states,
            transitions: self.known.transitions,
            bytes: self.known.sizes.bytes,
            depth,
            seconds: self.start.elapsed().as_secs_f64(),
            stopped,
            incomplete: self.known.incomplete,
            reached,
        }
    }
    /// Makes a level count once the states of all owners are in their logs.
    fn commit(&mut self, segments: Vec<LoggedSegment>) -> Result<(), String> {
        let Some(checkpoint) = self.settings.checkpoint.filter(|_| self.logged <= self.level) else { return Ok(()) };
        let mut violations = WordWriter::default();
        violations.violations(&self.known.found);
        checkpoint.commit(&CommittedLevel {
            level: self.level as u64,
            transitions: self.known.transitions,
            violations: violations.0,
            incomplete: self.known.incomplete.clone(),
            size: self.sizes.last().copied().unwrap_or(0),
            segments,
        })?;
        self.logged = self.level + 1;
        Ok(())
    }
    /// The effort of a level of so many states.
    fn cost(&self, states: u64) -> u64 {
        let each = if self.slow { SLOW_STATE + SLOW_PLACE * self.places as u64 } else { STATE_EFFORT };
        states.saturating_mul(each).saturating_add(LEVEL_EFFORT)
    }
    pub(super) fn decide(&mut self, mut report: OwnerReport<W>, rounds: u32) -> Decision {
        let sizes = report.sizes;
        let segments = std::mem::take(&mut report.segments);
        self.settings.budget.spend(report.more_effort);
        self.known.merge(report);
        self.known.sizes = sizes;
        // Where a log could not be read, that is the reason.
        if let Some(restored) = self.restored.take().filter(|n| *n != sizes.states && !self.known.failed) {
            let why = format!("the checkpoint has {restored} states, of which {} came to their owners", sizes.states);
            self.known.escape = Some(Escape::Stuck(why));
            return Decision::Stop(None);
        }
        if let Err(why) = self.commit(segments) {
            self.known.escape = Some(Escape::Stuck(why));
            return Decision::Stop(None);
        }
        if self.reported.elapsed() > Duration::from_millis(250) {
            self.reported = Instant::now();
            (self.settings.progress)(&SearchProgress {
                states: sizes.states,
                per_second: sizes.states as f64 / self.start.elapsed().as_secs_f64().max(1e-3),
                queue: sizes.left + sizes.coming,
                depth: self.level,
                bytes: sizes.bytes,
                sent: sizes.sent,
                to_come: to_come(&self.sizes),
            });
        }
        if self.known.failed {
            return Decision::Stop(self.known.exhausted.map(SearchStop::Exhausted));
        }
        if sizes.left > 0 {
            return Decision::Rounds(rounds);
        }
        if self.known.escape.is_some() {
            return Decision::Stop(None);
        }
        let nearest = |p: &PropertyId| self.known.found.get(p).is_some_and(|f| f.distance <= self.level + 1);
        if !self.wanted.is_empty() && self.wanted.iter().all(nearest) {
            return Decision::Stop(Some(SearchStop::AllFound));
        }
        let coming = sizes.coming;
        let budget = &self.settings.budget;
        match coming {
            0 => Decision::Stop(None),
            _ if self.level >= self.settings.depth => Decision::Stop(Some(SearchStop::Depth)),
            // Effort ends a search between two levels only, and before a level that it does not suffice for: so what was seen
            // is the same for any number of workers.
            _ if budget.effort_left().is_some_and(|left| left < self.cost(coming)) => {
                Decision::Stop(Some(SearchStop::Exhausted(Exhausted::Effort)))
            }
            _ => {
                budget.mark(sizes.states);
                budget.spend(self.cost(coming));
                self.sizes.push(coming);
                self.level += 1;
                Decision::Level
            }
        }
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

impl<const W: usize> Searched<W> {
    /// Another owner came so deep.
    pub(crate) fn add_depth(&mut self, depth: usize) {
        self.depth = self.depth.max(depth);
    }
    /// Adds the places that another owner has seen.
    pub(crate) fn merge_reached(&mut self, reached: &[Vec<bool>]) {
        let pairs = self.reached.iter_mut().flatten().zip(reached.iter().flatten());
        pairs.for_each(|(all, one)| *all |= one);
    }
}
