//! A search whose states lie on disk: levels as sorted runs, duplicates found when a level is complete.
//!
//! In: a system, settings, a folder, room for candidates in memory. Out: what `search_states` gives for one worker: the same states, violations and
//! numbers. Successors are gathered in a table of bounded size, which finds repetitions within it; when it is full they are sorted and written as a run.
//! At the end of a level all runs are merged with all that was seen (*delayed duplicate detection*, after Korf): what is new is the next level. A
//! run with few candidates to find is not read through but searched. Files have no name, so nothing is left of them, however the process ends.
//! Deliberately absent: logs to go on from (`checkpoint`), other processes (`spread`), hashes instead of states.

use super::exchange::{Decision, OwnerReport, OwnerSizes, keep_nearest};
use super::guess::Escape;
use super::search::{SearchLeader, SearchSettings, Searched};
use super::shared::{NearestViolation, SearchStop, keep_least};
use super::system::CompiledSystem;
use super::table::{Shard, hash};
use super::trace::{PastLevels, WayBackStep, describe_escape};
use super::wire::{bytes_of, words_of};
use super::worker::{Expansion, FoldingMode, StateExpander, words};
use base::Budget;
use program::semantics::Semantics;
use program::{Program, PropertyId};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is read or written at once, for each run.
const BUFFER_BYTES: usize = 1 << 17;
/// The least and the most room for candidates; the part of the memory limit it may take is one in `CANDIDATES_SHARE`.
const LEAST_CANDIDATES: u64 = 1 << 14;
const MOST_CANDIDATES: u64 = 1 << 27;
const CANDIDATES_SHARE: u64 = 2;
/// A run with this many times more states than there are candidates is searched, not read.
const SEARCHED_RUN_FACTOR: u64 = 256;
/// States between two looks at the limits.
const STATES_PER_LOOK: u64 = 4096;

/// Sorted states in a file, each once.
#[derive(Clone, Debug)]
struct SortedRun {
    file: Arc<File>,
    /// In bytes.
    offset: u64,
    states: u64,
}

impl SortedRun {
    fn at<const W: usize>(&self, index: u64) -> Result<[u64; W], String> {
        let mut bytes = vec![0; W * 8];
        let at = self.offset + index * (W as u64 * 8);
        self.file.read_exact_at(&mut bytes, at).map_err(|e| format!("the folder for states: {e}"))?;
        Ok(words(&words_of(&bytes)))
    }
    fn has<const W: usize>(&self, state: &[u64; W]) -> Result<bool, String> {
        let (mut low, mut high) = (0, self.states);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.at::<W>(middle)?.cmp(state) {
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }
    fn read<const W: usize>(&self) -> Result<RunReader<W>, String> {
        let mut reader = RunReader { run: self.clone(), next: 0, block: Vec::new(), place: 0, head: None };
        reader.advance()?;
        Ok(reader)
    }
}

/// The states of a run, one after the other.
struct RunReader<const W: usize> {
    run: SortedRun,
    /// The first state that is not in the block.
    next: u64,
    block: Vec<u64>,
    place: usize,
    head: Option<[u64; W]>,
}

impl<const W: usize> RunReader<W> {
    fn advance(&mut self) -> Result<(), String> {
        if self.place == self.block.len() {
            let many = (self.run.states - self.next).min((BUFFER_BYTES / (W * 8)) as u64);
            let mut bytes = vec![0; many as usize * W * 8];
            let at = self.run.offset + self.next * (W as u64 * 8);
            self.run.file.read_exact_at(&mut bytes, at).map_err(|e| format!("the folder for states: {e}"))?;
            self.block = words_of(&bytes);
            self.place = 0;
            self.next += many;
        }
        self.head = self.block.get(self.place..self.place + W).map(words);
        self.place += if self.head.is_some() { W } else { 0 };
        Ok(())
    }
    /// Whether the state is in the run; asked for states in order.
    fn passes(&mut self, state: &[u64; W]) -> Result<bool, String> {
        while self.head.is_some_and(|h| h < *state) {
            self.advance()?;
        }
        Ok(self.head == Some(*state))
    }
}

/// Writes a run at the end of a file.
struct RunWriter {
    run: SortedRun,
    at: u64,
    words: Vec<u64>,
}

impl RunWriter {
    fn new(file: Arc<File>, offset: u64) -> Self {
        Self { run: SortedRun { file, offset, states: 0 }, at: offset, words: Vec::new() }
    }
    fn push<const W: usize>(&mut self, state: &[u64; W]) -> Result<(), String> {
        self.words.extend(state);
        self.run.states += 1;
        if self.words.len() * 8 >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }
    fn flush(&mut self) -> Result<(), String> {
        let mut bytes = Vec::new();
        bytes_of(&self.words, &mut bytes);
        self.run.file.write_all_at(&bytes, self.at).map_err(|e| format!("the folder for states: {e}"))?;
        self.at += bytes.len() as u64;
        self.words.clear();
        Ok(())
    }
    fn finish(mut self) -> Result<SortedRun, String> {
        self.flush()?;
        Ok(self.run)
    }
}

/// A file without a name.
fn unnamed(folder: &Path) -> Result<Arc<File>, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let path = folder.join(format!("states-{}.tmp", std::process::id()));
    let file = File::options().create_new(true).read(true).write(true).open(&path).map_err(failed)?;
    std::fs::remove_file(&path).map_err(failed)?;
    Ok(Arc::new(file))
}

/// The states of several runs in order, each once.
struct RunMerger<const W: usize>(Vec<RunReader<W>>);

impl<const W: usize> RunMerger<W> {
    fn new(runs: &[SortedRun]) -> Result<Self, String> {
        runs.iter().map(SortedRun::read).collect::<Result<_, _>>().map(Self)
    }
    fn next(&mut self) -> Result<Option<[u64; W]>, String> {
        let Some(least) = self.0.iter().filter_map(|r| r.head).min() else { return Ok(None) };
        for reader in self.0.iter_mut().filter(|r| r.head == Some(least)) {
            reader.advance()?;
        }
        Ok(Some(least))
    }
}

/// What was seen, in runs of which each is more than twice as long as the next.
#[derive(Default)]
struct SeenRuns(Vec<SortedRun>);

impl SeenRuns {
    fn add<const W: usize>(&mut self, run: SortedRun, folder: &Path) -> Result<(), String> {
        self.0.push(run);
        while let [.., a, b] = self.0.as_slice() {
            if a.states > 2 * b.states {
                break;
            }
            let mut merged = RunWriter::new(unnamed(folder)?, 0);
            let mut both: RunMerger<W> = RunMerger::new(&[a.clone(), b.clone()])?;
            while let Some(state) = both.next()? {
                merged.push(&state)?;
            }
            self.0.truncate(self.0.len() - 2);
            self.0.push(merged.finish()?);
        }
        Ok(())
    }
}

/// How a run is asked for candidates.
enum SeenTest<const W: usize> {
    Read(RunReader<W>),
    Search(SortedRun),
}

impl<const W: usize> SeenTest<W> {
    fn of(run: &SortedRun, candidates: u64) -> Result<Self, String> {
        Ok(match run.states / SEARCHED_RUN_FACTOR > candidates {
            true => SeenTest::Search(run.clone()),
            false => SeenTest::Read(run.read()?),
        })
    }
    fn has(&mut self, state: &[u64; W]) -> Result<bool, String> {
        match self {
            SeenTest::Read(reader) => reader.passes(state),
            SeenTest::Search(run) => run.has(state),
        }
    }
}

/// A search that is over, with its levels on disk.
pub(super) struct DiskSearched<const W: usize> {
    pub searched: Searched<W>,
    levels: Vec<SortedRun>,
}

impl<const W: usize> PastLevels<W> for DiskSearched<W> {
    fn least_predecessor(
        &self,
        step: &WayBackStep<W>,
        expander: &mut StateExpander<'_>,
    ) -> Result<Option<[u64; W]>, String> {
        let Some(level) = self.levels.get(step.level) else { return Ok(None) };
        let mut expansion = Expansion::default();
        let mut states: RunReader<W> = level.read()?;
        // They are in order: the first is the least.
        while let Some(state) = states.head {
            expansion.clear();
            expander.expand(&state, step.mode, &mut expansion).map_err(describe_escape)?;
            if expansion.states.iter().any(|(s, n)| *s == step.target && *n as usize == step.steps) {
                return Ok(Some(state));
            }
            states.advance()?;
        }
        Ok(None)
    }
}

struct DiskSearch<'a, 's, const W: usize> {
    settings: &'a SearchSettings<'a>,
    worker: StateExpander<'s>,
    folder: PathBuf,
    /// Candidates for the next level, as many as there is room for, and those that were written.
    candidates: Shard<W>,
    room: usize,
    written: Vec<SortedRun>,
    /// States more than one level away, by level.
    later: BTreeMap<usize, Vec<[u64; W]>>,
    levels: Vec<SortedRun>,
    seen: SeenRuns,
    report: OwnerReport<W>,
    unlimited: Budget,
}

/// Searches with states in files of this folder.
pub(super) fn search_on_disk<const W: usize>(
    program: &Program,
    system: &CompiledSystem,
    settings: &SearchSettings<'_>,
    folder: &Path,
) -> Result<DiskSearched<W>, String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let sem = Semantics::new(program);
    let mut worker = StateExpander::new(system, &sem);
    worker.sampling = settings.sampling;
    if settings.mark {
        worker.reached = system.places.iter().map(|p| vec![false; p.len()]).collect();
    }
    // A candidate lies in the table and, while it is sorted, in a list.
    let each = 2 * W as u64 * 8 + 24;
    let limit = settings.budget.memory_limit().unwrap_or(1 << 30);
    let limit = limit.saturating_sub(base::budget::resident_bytes());
    let mut search = DiskSearch {
        settings,
        worker,
        folder: folder.to_path_buf(),
        candidates: Shard::new(false),
        room: (limit / CANDIDATES_SHARE / each).clamp(LEAST_CANDIDATES, MOST_CANDIDATES) as usize,
        written: Vec::new(),
        later: BTreeMap::new(),
        levels: Vec::new(),
        seen: SeenRuns::default(),
        report: OwnerReport::default(),
        unlimited: Budget::unlimited(),
    };
    let mut leader = SearchLeader::new(settings, system);
    let stopped = search.run(&mut leader)?;
    let (levels, reached) = (search.levels, search.worker.reached);
    let depth = levels.len().saturating_sub(1);
    Ok(DiskSearched { searched: leader.result(Vec::new(), stopped, depth, reached), levels })
}

impl<const W: usize> DiskSearch<'_, '_, W> {
    fn run(&mut self, leader: &mut SearchLeader<'_, W>) -> Result<Option<SearchStop>, String> {
        self.initial()?;
        let file = unnamed(&self.folder)?;
        let mut level = self.next_level(&file, 0)?;
        loop {
            self.levels.push(level.clone());
            if let Some(stop) = self.expand_level(&level, leader)? {
                return Ok(stop);
            }
            let next = self.next_level(&file, self.levels.len())?;
            match self.meet(leader, 0, next.states) {
                Decision::Stop(why) => return Ok(why),
                Decision::Level | Decision::Rounds(_) => level = next,
            }
        }
    }
    fn meet(&mut self, leader: &mut SearchLeader<'_, W>, left: u64, coming: u64) -> Decision {
        let mut report = std::mem::take(&mut self.report);
        let waiting: usize = self.later.values().map(Vec::len).sum();
        report.sizes = OwnerSizes {
            left,
            most_left: left,
            coming: coming + waiting as u64,
            states: self.levels.iter().map(|l| l.states).sum::<u64>() + coming,
            bytes: (self.candidates.bytes() + waiting * W * 8) as u64,
            sent: 0,
        };
        report.incomplete = self.worker.incomplete.clone();
        if let Err(e) = self.settings.budget.check_limits() {
            report.exhausted.get_or_insert(e);
            report.failed = true;
        }
        leader.decide(report, 1)
    }
    fn fail(&mut self, escape: Escape) {
        self.report.failed |= matches!(escape, Escape::Stuck(_));
        keep_least(&mut self.report.escape, escape);
    }
    fn found(&mut self, property: PropertyId, distance: usize, level: usize, source: [u64; W]) {
        keep_nearest(&mut self.report.found, property, NearestViolation { distance, source, level });
    }
    fn initial(&mut self) -> Result<(), String> {
        let system = self.worker.system;
        let initial = self.worker.sem.initial(&system.counts, self.worker.sampling);
        initial.incomplete.into_iter().for_each(|why| keep_least(&mut self.worker.incomplete, why));
        for (state, _) in initial.states {
            let made = system.layout.pack(self.worker.sem, &state).and_then(|packed| {
                let packed: [u64; W] = words(&packed);
                match self.settings.mode {
                    FoldingMode::Eager => self.worker.settle_all(packed).map(|starts| (packed, starts)),
                    _ => Ok((packed, Expansion { states: vec![(packed, 0)], ..Expansion::default() })),
                }
            });
            let (packed, starts) = match made {
                Ok(made) => made,
                Err(escape) => {
                    self.fail(escape);
                    self.report.failed = true;
                    return Ok(());
                }
            };
            starts.wrong.into_iter().for_each(|(p, _)| self.found(p, 1, 0, packed));
            for (mut s, _) in starts.states {
                system.canonical(&mut s);
                self.candidate(s)?;
            }
        }
        Ok(())
    }
    fn candidate(&mut self, state: [u64; W]) -> Result<(), String> {
        // The table never grows beyond the room it was given.
        let new = self.candidates.insert(&state, hash(&state), &self.unlimited).map_err(|e| e.to_string())?;
        if new && self.candidates.len() >= self.room { self.write_candidates() } else { Ok(()) }
    }
    fn write_candidates(&mut self) -> Result<(), String> {
        let table = std::mem::replace(&mut self.candidates, Shard::new(false));
        if table.len() == 0 {
            return Ok(());
        }
        let mut states: Vec<[u64; W]> = (0..table.len()).map(|at| *table.get(at)).collect();
        drop(table);
        states.sort_unstable();
        let mut run = RunWriter::new(unnamed(&self.folder)?, 0);
        states.iter().try_for_each(|s| run.push(s))?;
        self.written.push(run.finish()?);
        Ok(())
    }
    /// Expands a level; a decision to stop comes back.
    fn expand_level(
        &mut self,
        level: &SortedRun,
        leader: &mut SearchLeader<'_, W>,
    ) -> Result<Option<Option<SearchStop>>, String> {
        let at = self.levels.len() - 1;
        let mut expansion = Expansion::default();
        let mut states: RunReader<W> = level.read()?;
        let mut done = 0;
        while let Some(state) = states.head {
            if done % STATES_PER_LOOK == 0
                && let Decision::Stop(why) = self.meet(leader, level.states - done, 0)
            {
                return Ok(Some(why));
            }
            done += 1;
            states.advance()?;
            expansion.clear();
            self.report.more_effort += self.worker.effort_of_copying(&state);
            if !self.worker.reached.is_empty() {
                self.worker.mark(&state);
            }
            let expanded = self.worker.expand(&state, self.settings.mode, &mut expansion);
            self.report.more_effort += self.worker.effort_of_opening();
            if let Err(escape) = expanded {
                self.fail(escape);
                continue;
            }
            self.report.transitions += expansion.states.len() as u64;
            expansion.wrong.iter().for_each(|(p, steps)| self.found(*p, at + *steps as usize, at, state));
            if expansion.stuck {
                let system = self.worker.system;
                system.deadlock.iter().for_each(|p| self.found(*p, at, at, state));
            }
            for (s, steps) in &expansion.states {
                match steps {
                    0 | 1 => self.candidate(*s)?,
                    more => self.later.entry(at + *more as usize).or_default().push(*s),
                }
            }
        }
        Ok(None)
    }
    /// What is new among the candidates is the level of this number.
    fn next_level(&mut self, file: &Arc<File>, number: usize) -> Result<SortedRun, String> {
        for state in self.later.remove(&number).unwrap_or_default() {
            self.candidate(state)?;
        }
        self.write_candidates()?;
        let written = std::mem::take(&mut self.written);
        let many: u64 = written.iter().map(|r| r.states).sum();
        let mut candidates: RunMerger<W> = RunMerger::new(&written)?;
        let mut tests = self.seen.0.iter().map(|run| SeenTest::of(run, many)).collect::<Result<Vec<_>, _>>()?;
        let offset = self.levels.last().map_or(0, |l| l.offset + l.states * (W as u64 * 8));
        let mut level = RunWriter::new(file.clone(), offset);
        let mut broken = Vec::new();
        while let Some(state) = candidates.next()? {
            let mut known = false;
            for test in &mut tests {
                known = known || test.has(&state)?;
            }
            if known {
                continue;
            }
            level.push(&state)?;
            broken.clear();
            if let Err(escape) = self.worker.broken(&state, &mut broken) {
                self.fail(escape);
            }
            broken.drain(..).for_each(|p| self.found(p, number, number, state));
        }
        let level = level.finish()?;
        if level.states > 0 {
            self.seen.add::<W>(level.clone(), &self.folder)?;
        }
        Ok(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_runs_are_merged_read_and_searched_with_every_state_once() {
        let folder = std::env::temp_dir().join(format!("threadproof-runs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let mut seen = SeenRuns::default();
        for part in 0..20u64 {
            let mut run = RunWriter::new(unnamed(&folder).expect("a file"), 0);
            (0..5000).for_each(|n| run.push(&[7, n * 40 + part]).expect("there is room"));
            seen.add::<2>(run.finish().expect("there is room"), &folder).expect("there is room");
        }
        assert!(seen.0.len() <= 6, "{}", seen.0.len());
        assert_eq!(seen.0.iter().map(|r| r.states).sum::<u64>(), 100_000);
        let mut merged: RunMerger<2> = RunMerger::new(&seen.0).expect("they can be read");
        let mut last = None;
        while let Some(state) = merged.next().expect("they can be read") {
            assert!(last < Some(state) && state[1] % 40 < 20, "{last:?} {state:?}");
            last = Some(state);
        }
        let mut tests: Vec<SeenTest<2>> = Vec::new();
        for run in &seen.0 {
            tests.push(SeenTest::of(run, 1).expect("it can be read"));
            tests.push(SeenTest::of(run, u64::MAX).expect("it can be read"));
        }
        for n in (0..200_000).step_by(13) {
            let found = tests.iter_mut().filter_map(|t| t.has(&[7, n]).expect("it can be read").then_some(())).count();
            assert_eq!(found, if n % 40 < 20 { 2 } else { 0 }, "{n}");
        }
        assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 0, "files have no names");
        std::fs::remove_dir_all(&folder).expect("it is empty");
    }
}
