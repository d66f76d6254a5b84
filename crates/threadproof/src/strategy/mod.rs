//! Runs the methods that admit a program side by side and chooses for each property the answer that is reported.
//! The registry says in which order they start: some wait until there is room for them or until others have ended, but never for long.
//!
//! In: a task, the methods to try, limits. Out: rows of the board filled in. Each method runs in its own thread with
//! its own clone of the program and its own budget; the same thread then has each claim checked (`worker`). A panic becomes a
//! reason; a thread that hangs is left behind when time is up. Which of several answers is reported does not depend on who was
//! first (`race`), and what was proved is put to a search of limited size before it is reported (`second`).
//! Deliberately absent: any knowledge of what a method does.

mod processor;
pub mod race;
pub mod registry;
mod repeat;
mod scout;
mod second;
mod small_callers;
mod worker;

use crate::board::{Board, CheckedAnswer, MethodRow, MethodState, PropertyRow, RowOutcome};
use crate::cache::Cache;
use crate::oracle::Oracle;
pub use crate::oracle::STACK_BYTES;
use base::{Budget, Exhausted, Sources};
use methods::{Method, MethodEvent, Run, Task};
use processor::processor_time;
use race::Race;
use repeat::FIRST_SEARCH_EFFORT;
use scout::Scouted;
use std::collections::{BTreeSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use worker::MethodWorker;

/// How long methods may take to report what they have found after an interruption.
const GRACE_AFTER_INTERRUPT: Duration = Duration::from_secs(1);

/// A method whose clock does not move while it has so much of the processors, and half of what all answers took, is not waited for.
const LEAST_SILENCE: Duration = Duration::from_millis(300);

/// Where one assertion of a C program fails, the others get as long as that took, and this.
const LEAST_FOR_SIBLINGS: Duration = Duration::from_secs(2);

/// Methods that start together, once there is room or time for them.
pub struct StartWave {
    pub who: Vec<usize>,
    pub when: When,
    /// After so much processor time, counted from the beginning, they start in any case: a busy machine makes nobody start sooner.
    pub patience: Duration,
}

/// Where methods wait for other processes and not for a processor, it is so many times the patience by the clock on the wall that counts.
const CLOCK_PER_PATIENCE: u32 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A processor is free.
    Room,
    /// Everything before has ended.
    Ended,
}

/// Called with the name of a method and what it says.
pub type Listen = Arc<dyn Fn(&'static str, MethodEvent) + Send + Sync>;

pub struct StrategySettings {
    pub budget: Budget,
    pub time: Duration,
    pub seed: u64,
    pub workers: usize,
    pub listen: Listen,
    pub sources: Arc<Sources>,
    pub cache: Option<Arc<Cache>>,
    /// Makes the checker's oracle of formulas.
    pub oracle: OracleMaker,
}

/// Makes an oracle that keeps to a budget and may use the cache.
pub type OracleMaker = fn(&Budget, Option<Arc<Cache>>) -> Oracle;

/// Works on one file until every row has its final answer, no method is left, or a limit is reached.
pub fn run_strategy(
    task: &Task,
    methods: Vec<Arc<dyn Method>>,
    settings: &StrategySettings,
    board: &Arc<Board>,
    file: usize,
) {
    // A method stops a little before the end, so that what it knows by then can still be checked and reported.
    let reserve = (settings.time / 20).min(Duration::from_secs(2));
    let budget = settings.budget.child().with_time(settings.time - reserve);
    let checking = settings.budget.child().with_time(settings.time);
    let names: Vec<&'static str> = methods.iter().map(|m| m.about().name).collect();
    let mut clocks: Vec<Budget> = methods.iter().map(|_| budget.child()).collect();
    let scouted = Scouted::new(task, &names, &mut clocks);
    let places = registry::places(task, &names);
    let race = Race::new(clocks.iter().cloned().zip(places)).with_head_starts(registry::head_starts(task, &names));
    let race = Arc::new(race);
    let states: Vec<MethodState> = methods.iter().map(|m| admission(m.as_ref(), task)).collect();
    (0..methods.len()).filter(|i| states[*i] != MethodState::Running).for_each(|i| race.end(i));
    board.with_file(file, |f| {
        let row = |(name, state): (&&'static str, &MethodState)| MethodRow {
            name,
            state: state.clone(),
            statistics: Default::default(),
            notes: Vec::new(),
            pictures: Vec::new(),
        };
        f.methods = names.iter().zip(&states).map(row).collect();
    });
    let worker = |index: usize, method: Arc<dyn Method>, clock: Budget| MethodWorker {
        index,
        method,
        board: board.clone(),
        file,
        sources: settings.sources.clone(),
        cache: settings.cache.clone(),
        oracle: settings.oracle,
        run: Run { seed: settings.seed, workers: settings.workers, ..Run::quiet(clock) },
        race: race.clone(),
        checking: checking.child(),
        search_effort: (methods.len() > 1).then_some(FIRST_SEARCH_EFFORT),
    };
    let (sender, done) = channel::<()>();
    let start = |index: usize| {
        let worker = worker(index, methods[index].clone(), clocks[index].clone());
        let started = worker.start(task.clone(), settings.listen.clone(), sender.clone());
        if let Err(error) = &started {
            race.end(index);
            board.with_file(file, |f| {
                f.methods[index].state = MethodState::Failed(format!("its thread could not be started: {error}"));
            });
        }
        usize::from(started.is_ok())
    };
    let mut waiting: VecDeque<StartWave> = registry::stages(task, &names, settings).into();
    for stage in &mut waiting {
        stage.who.retain(|i| states[*i] == MethodState::Running);
    }
    let begin = Instant::now();
    let before = processor_time(begin);
    let mut end = begin + settings.time;
    let mut running = 0;
    let (mut stopped, mut interrupted, mut decided) = (None, None, None);
    let mut siblings: Option<Instant> = None;
    let mut silence: Vec<Silence> = names.iter().map(|_| Silence::default()).collect();
    while (running > 0 || !waiting.is_empty()) && !is_settled(board, file, &race, scouted.as_ref()) {
        let used = if waiting.is_empty() { Duration::ZERO } else { processor_time(begin).saturating_sub(before) };
        while let Some(stage) = waiting.front() {
            let room = match stage.when {
                When::Room => running < settings.workers.max(2),
                When::Ended => running == 0,
            };
            let is_patient = used < stage.patience && begin.elapsed() < stage.patience * CLOCK_PER_PATIENCE;
            if !room && is_patient {
                break;
            }
            running += stage.who.iter().map(|i| start(*i)).sum::<usize>();
            waiting.pop_front();
        }
        if done.recv_timeout(Duration::from_millis(if decided.is_some() { 2 } else { 20 })).is_ok() {
            running -= 1;
        }
        stopped = stopped.or_else(|| budget.check().err());
        if settings.budget.is_cancelled() {
            // What was found so far is still reported.
            end = end.min(*interrupted.get_or_insert_with(Instant::now) + GRACE_AFTER_INTERRUPT);
        }
        if let Some(mut ahead) = ahead_of_answers(board, file, &race, scouted.as_ref()) {
            // Everything has an answer: only those go on, or start now, whose answer would be preferred.
            let now = processor_time(begin);
            let at = *decided.get_or_insert(now - before);
            // Those that still run share the processors.
            let patience = (LEAST_SILENCE + at / 2) * (running.max(1) as u32);
            ahead.retain(|i| names[*i] == scout::NAME || !silence[*i].is_long(clocks[*i].spent(), now, patience));
            for stage in &mut waiting {
                running += stage.who.extract_if(.., |i| ahead.contains(i)).map(start).sum::<usize>();
                stage.who.clear();
            }
            waiting.clear();
            (0..clocks.len()).filter(|i| !ahead.contains(i)).for_each(|i| clocks[i].cancel());
            if ahead.is_empty() {
                break;
            }
        }
        if only_siblings_open(board, file) {
            // The question is answered: what is left of it gets as long again, and a little more.
            let more = LEAST_FOR_SIBLINGS + begin.elapsed();
            if Instant::now() >= *siblings.get_or_insert_with(|| Instant::now() + more) {
                break;
            }
        }
        if Instant::now() >= end {
            stopped = stopped.or(Some(Exhausted::Time));
            break;
        }
    }
    if stopped.is_none() && interrupted.is_none() {
        // Nobody is waited for any more, so that nobody takes processors from what follows.
        clocks.iter().for_each(Budget::cancel);
        repeat::repeat_searches(task, board, file, settings, &checking.child());
        second::ask_second_opinions(task, &methods, board, file, &race, &clocks, &budget, scouted.as_ref(), &worker);
    }
    if budget.check().is_err() {
        second::note_cut(task, &methods, board, file, &clocks);
    }
    budget.cancel();
    checking.cancel();
    conclude(board, file, stopped);
}

/// Whether an assertion of a C program fails, and nothing is open but others of them, and constructs outside the model.
fn only_siblings_open(board: &Board, file: usize) -> bool {
    let reach = frontend::c::CCheck::Reach;
    board.with_file(file, |f| {
        let answered = |r: &PropertyRow| f.chosen(r).map(|c| c.finding.outcome());
        let assertions = || f.rows.iter().filter(|r| reach.owns(&r.name));
        f.asked.contains(&reach)
            && assertions().any(|r| answered(r) == Some(RowOutcome::Unsafe))
            && f.rows.iter().all(|r| answered(r).is_some() || r.unmodelled.is_some() || reach.owns(&r.name))
    })
}

/// Whether a method takes the program at all.
fn admission(method: &dyn Method, task: &Task) -> MethodState {
    match guarded(|| method.admits(task)) {
        Ok(Ok(())) => MethodState::Running,
        Ok(Err(refusal)) => MethodState::Refused(refusal.0),
        Err(panic) => MethodState::Failed(panic),
    }
}

/// Whether every row has an answer that nothing that still runs can change for the better.
fn is_settled(board: &Board, file: usize, race: &Race, scouted: Option<&Scouted>) -> bool {
    ahead_of_answers(board, file, race, scouted).is_some_and(|ahead| ahead.is_empty())
}

/// Where every row has an answer: the methods that are still waited for, because their answer would be preferred, or because they search
/// for a violation of what others have proved.
fn ahead_of_answers(board: &Board, file: usize, race: &Race, scouted: Option<&Scouted>) -> Option<BTreeSet<usize>> {
    board.with_file(file, |f| {
        let closed = f.open_construct().is_none();
        let mut ahead = BTreeSet::new();
        for row in f.rows.iter().filter(|r| !r.disputed) {
            let chosen = f.chosen(row)?;
            match chosen.finding.outcome() {
                RowOutcome::Unsafe => {}
                RowOutcome::Safe if closed => {
                    let scout = f.methods.iter().position(|m| m.name == scout::NAME);
                    let is_behind = |s: &usize| {
                        !race.has_ended(*s)
                            && scouted.is_none_or(|x| !x.has_passed(race.effort_beside(*s, &chosen.rank)))
                    };
                    ahead.extend(scout.filter(|s| *s != chosen.method && is_behind(s)));
                }
                RowOutcome::Safe | RowOutcome::Unknown => return None,
            }
            ahead.extend(race.ahead_of(&chosen.rank));
        }
        Some(ahead)
    })
}

/// How much processor time has gone by without a move of a method's clock, once everything has an answer. A method that is ahead is waited for
/// as long as it moves: it has less work to do than a multiple of what was done already. One that sits in a single question for long would come
/// out of it in a later round, and no longer be ahead. The time is that of the processors and not of the wall: a busy machine takes nobody's turn.
#[derive(Default)]
struct Silence(Option<(u64, Duration)>);

impl Silence {
    fn is_long(&mut self, spent: u64, now: Duration, patience: Duration) -> bool {
        match &mut self.0 {
            Some((known, since)) if *known == spent => now.saturating_sub(*since) > patience,
            other => {
                *other = Some((spent, now));
                false
            }
        }
    }
}

/// Leaves on the board what is reported: of each row the chosen answer, of each method what belongs to its answers. What a method did
/// beyond that depends on the moment at which it was stopped, and is left out where everything is decided.
fn conclude(board: &Board, file: usize, stopped: Option<Exhausted>) {
    board.with_file(file, |f| {
        f.concluded = true;
        let is_open = f.rows.iter().any(|r| f.outcome_of(r) == RowOutcome::Unknown);
        let chosen: Vec<CheckedAnswer> = f.rows.iter().filter_map(|r| f.chosen(r)).cloned().collect();
        for (index, method) in f.methods.iter_mut().enumerate() {
            let last = chosen.iter().filter(|c| c.method == index).max_by_key(|c| c.rank);
            match (&method.state, last) {
                (MethodState::Refused(_) | MethodState::Failed(_), _) => {}
                (_, Some(last)) if !is_open => {
                    method.state = MethodState::Answered;
                    method.statistics = last.statistics.clone();
                    method.notes = last.notes.clone();
                }
                (_, None) if !is_open => {
                    method.state = MethodState::NotNeeded;
                    method.statistics.clear();
                    method.notes.clear();
                }
                (MethodState::Running, _) => method.state = MethodState::Stopped,
                _ => {}
            }
        }
        let decided: Vec<bool> = f.rows.iter().map(|r| f.outcome_of(r) != RowOutcome::Unknown).collect();
        f.rows.iter_mut().zip(decided).filter(|(_, decided)| *decided).for_each(|(row, _)| row.reasons.clear());
        if let Some(reason) = stopped.filter(|_| is_open) {
            f.stopped = Some(reason.to_string());
        }
    });
}

/// Runs something of ours that may panic; the message comes back instead.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_string()))
            .unwrap_or_else(|| "a panic without a message".into())
    })
}

#[cfg(test)]
mod examined;
#[cfg(test)]
mod tests;
