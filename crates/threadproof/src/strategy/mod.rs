//! Runs the methods that admit a program side by side and keeps the first checked verdict of each property.
//! The registry says in which order they start: some wait until there is room for them or until others have ended, but never for long.
//!
//! In: a task, the methods to try, limits. Out: rows of the board filled in. Each method runs in its own thread with
//! its own clone of the program and its own budget; the same thread then has each claim checked. A panic becomes a
//! reason; a thread that hangs is left behind when time is up. A claim that contradicts a finding is checked too: if
//! it holds as well, the tool contradicts itself, which is an internal error and no verdict.
//! Deliberately absent: any knowledge of what a method does.

pub mod registry;
mod scout;

use crate::board::{Board, MethodState, Outcome};
use crate::cache::Cache;
use crate::judge::{Finding, Judge, Judged};
use crate::leaves::Oracle;
use base::{Budget, Exhausted, Sources};
use evidence::{Claim, Claims, Reason};
use methods::{Event, Method, Run, Task};
use program::PropertyId;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Deep terms are walked by recursion; the pages of a stack that are not touched cost nothing.
pub const STACK: usize = 1 << 29;

/// How long methods may take to tell what they have found after an interruption.
const COMPOSURE: Duration = Duration::from_secs(1);

/// Methods that start together, once there is room or time for them.
pub struct Stage {
    pub who: Vec<usize>,
    pub when: When,
    /// After this time, counted from the beginning, they start in any case.
    pub patience: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A processor is free.
    Room,
    /// Everything before has ended.
    Ended,
}

/// Called with the name of a method and what it says.
pub type Listen = Arc<dyn Fn(&'static str, Event) + Send + Sync>;

pub struct Settings {
    pub budget: Budget,
    pub time: Duration,
    pub seed: u64,
    pub workers: usize,
    pub listen: Listen,
    pub sources: Arc<Sources>,
    pub cache: Option<Arc<Cache>>,
}

/// Works on one file until every row is decided, no method is left, or a limit is reached.
pub fn pursue(task: &Task, methods: Vec<Arc<dyn Method>>, settings: &Settings, board: &Arc<Board>, file: usize) {
    let mut end = Instant::now() + settings.time;
    // A method stops a little before the end, so that what it knows by then can still be checked and told.
    let reserve = (settings.time / 20).min(Duration::from_secs(2));
    let budget = settings.budget.child().with_time(settings.time - reserve);
    board.with_file(file, |f| {
        f.methods = methods
            .iter()
            .map(|m| crate::board::MethodRow {
                name: m.about().name,
                state: MethodState::Running,
                statistics: Default::default(),
                notes: Vec::new(),
                pictures: Vec::new(),
            })
            .collect();
    });
    let (sender, done) = channel::<()>();
    let start = |index: usize| {
        let worker = Worker {
            index,
            method: methods[index].clone(),
            board: board.clone(),
            file,
            sources: settings.sources.clone(),
            cache: settings.cache.clone(),
            run: Run {
                budget: budget.child(),
                seed: settings.seed,
                workers: settings.workers,
                events: Arc::new(|_| {}),
            },
        };
        let started = worker.start(task.clone(), settings.listen.clone(), sender.clone());
        if let Err(error) = &started {
            board.with_file(file, |f| {
                f.methods[index].state = MethodState::Failed(format!("its thread could not be started: {error}"));
            });
        }
        usize::from(started.is_ok())
    };
    let names: Vec<&str> = methods.iter().map(|m| m.about().name).collect();
    let stages = registry::stages(task, &names, settings);
    let begin = Instant::now();
    let (mut running, mut next) = (0, 0);
    let (mut stopped, mut interrupted) = (None, None);
    while (running > 0 || next < stages.len()) && !settled(board, file) {
        while let Some(stage) = stages.get(next) {
            let room = match stage.when {
                When::Room => running < settings.workers.max(2),
                When::Ended => running == 0,
            };
            if !room && begin.elapsed() < stage.patience {
                break;
            }
            running += stage.who.iter().map(|i| start(*i)).sum::<usize>();
            next += 1;
        }
        if done.recv_timeout(Duration::from_millis(20)).is_ok() {
            running -= 1;
        }
        stopped = stopped.or_else(|| budget.check().err());
        if settings.budget.is_cancelled() {
            // What was found so far is still told.
            end = end.min(*interrupted.get_or_insert_with(Instant::now) + COMPOSURE);
        }
        if Instant::now() >= end {
            stopped = stopped.or(Some(Exhausted::Time));
            break;
        }
    }
    budget.cancel();
    board.with_file(file, |f| {
        for method in f.methods.iter_mut().filter(|m| m.state == MethodState::Running) {
            method.state = MethodState::Stopped;
        }
        let open = f.rows.iter().any(|r| f.outcome_of(r) == Outcome::Unknown);
        if let Some(reason) = stopped.filter(|_| open) {
            f.stopped = Some(reason.to_string());
        }
    });
}

/// Whether nothing that still runs could change the answer for the better.
fn settled(board: &Board, file: usize) -> bool {
    board.with_file(file, |f| {
        let closed = f.open_construct().is_none();
        f.rows.iter().all(|r| match r.finding.as_ref().map(Finding::outcome) {
            Some(Outcome::Unsafe) => true,
            Some(Outcome::Safe) => closed,
            _ => false,
        })
    })
}

struct Worker {
    index: usize,
    method: Arc<dyn Method>,
    board: Arc<Board>,
    file: usize,
    sources: Arc<Sources>,
    cache: Option<Arc<Cache>>,
    run: Run,
}

/// Says that a thread has ended, however it ends.
struct Told(Sender<()>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

impl Worker {
    fn start(mut self, task: Task, listen: Listen, done: Sender<()>) -> std::io::Result<()> {
        let name = self.method.about().name;
        self.run.events = Arc::new(move |event| listen(name, event));
        let thread = std::thread::Builder::new().name(name.into()).stack_size(STACK);
        thread.spawn(move || {
            let _told = Told(done);
            self.work(&task);
        })?;
        Ok(())
    }

    fn work(&self, task: &Task) {
        let answer = guarded(|| match self.method.admits(task) {
            Err(refusal) => Err(refusal),
            // A panic of the checker on the way loses nothing: the claims come again.
            Ok(()) => Ok(self.method.run_telling(task, &self.run, &|claims| drop(self.judged(task, claims)))),
        });
        match answer {
            Err(panic) => {
                let reason = Reason::Internal(panic.clone());
                self.note_reasons(task.properties.iter().map(|p| (*p, reason.to_string())));
                self.set_state(MethodState::Failed(panic));
            }
            Ok(Err(refusal)) => {
                self.set_state(MethodState::Refused(refusal.0));
            }
            Ok(Ok(claims)) => self.have_checked(task, claims),
        }
    }

    fn set_state(&self, state: MethodState) {
        self.board.with_file(self.file, |f| f.methods[self.index].state = state);
    }

    fn note_reasons(&self, reasons: impl Iterator<Item = (PropertyId, String)>) {
        let reasons: Vec<_> = reasons.collect();
        self.board.with_file(self.file, |f| {
            for (property, reason) in reasons {
                if let Some(row) = f.rows.iter_mut().find(|r| r.id == property) {
                    row.reasons.push((self.index, reason));
                    row.reasons.sort();
                }
            }
        });
    }

    fn have_checked(&self, task: &Task, claims: Claims) {
        let placed = |line: &String| crate::judge::placed(&task.program, &self.sources, line);
        for (property, claim) in claims.claims.iter().filter(|(p, _)| task.properties.contains(p)) {
            if let Claim::Undecided(reason) = claim {
                self.note_reasons(std::iter::once((*property, placed(&reason.to_string()))));
            }
        }
        let checked = self.judged(task, &claims);
        self.board.with_file(self.file, |f| {
            f.methods[self.index].statistics = claims.statistics;
            f.methods[self.index].pictures = claims.pictures;
        });
        self.set_state(match checked {
            Ok(()) => MethodState::Answered,
            Err(panic) => MethodState::Failed(format!("the checker ended in a panic: {panic}")),
        });
    }

    /// Has the claims checked, and puts what the checker says on the board.
    fn judged(&self, task: &Task, claims: &Claims) -> Result<(), String> {
        let placed = |line: &String| crate::judge::placed(&task.program, &self.sources, line);
        let notes = claims.notes.iter().map(placed).collect();
        self.board.with_file(self.file, |f| f.methods[self.index].notes = notes);
        let is_construct =
            |p: PropertyId| matches!(task.program.properties[p].kind, program::PropertyKind::Unmodelled(_));
        let mine = claims.claims.iter().filter(|(p, _)| task.properties.contains(p));
        let (constructs, others): (Vec<_>, Vec<_>) =
            mine.map(|(p, c)| (*p, c.clone())).partition(|(p, _)| is_construct(*p));
        let mut oracle = Oracle::standard(&self.run.budget, self.cache.clone());
        guarded(|| {
            let mut judge =
                Judge::new(&task.program, &self.sources, self.method.about().name, &mut oracle, &self.run.budget);
            let constructs: Vec<_> = constructs.into_iter().filter(|(_, c)| claimed(c).is_some()).collect();
            for (property, judged) in judge.constructs(&constructs) {
                self.post(property, judged);
            }
            for (property, claim) in &others {
                if claimed(claim).is_some_and(|outcome| self.known(*property) != Some(outcome)) {
                    let judged = judge.judge(*property, claim);
                    self.post(*property, judged);
                }
            }
        })
    }

    fn known(&self, property: PropertyId) -> Option<Outcome> {
        self.board.with_file(self.file, |f| {
            let row = f.rows.iter().find(|r| r.id == property)?;
            row.finding.as_ref().map(Finding::outcome)
        })
    }

    /// Puts a finding on the board, unless an equal one is there; two that contradict each other end in an error.
    fn post(&self, property: PropertyId, judged: Judged) {
        let Judged { finding, entry } = judged;
        self.board.with_file(self.file, |f| {
            let Some(row) = f.rows.iter_mut().find(|r| r.id == property) else { return };
            let outcome = finding.outcome();
            if outcome == Outcome::Unknown {
                row.reasons.push((self.index, finding.reason().to_string()));
                row.reasons.sort();
                row.reasons.dedup();
                return;
            }
            match &row.finding {
                None => {
                    row.finding = Some(finding);
                    f.entries.extend(entry);
                }
                Some(old) if old.outcome() == outcome => {}
                Some(old) => {
                    let sentence = format!(
                        "{}: {} says {} and {} says {}, and the checker accepted both",
                        row.name,
                        old.method(),
                        old.outcome().word(),
                        finding.method(),
                        outcome.word()
                    );
                    row.finding = None;
                    f.internal.push(sentence);
                }
            }
        });
    }
}

/// What a claim says, if it says anything.
fn claimed(claim: &Claim) -> Option<Outcome> {
    match claim {
        Claim::Undecided(_) => None,
        Claim::Proved(_) => Some(Outcome::Safe),
        Claim::Refuted(_) | Claim::Breached(_) | Claim::Disproved(_) | Claim::Called(_) | Claim::Strayed(_) => {
            Some(Outcome::Unsafe)
        }
    }
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
mod tests;
