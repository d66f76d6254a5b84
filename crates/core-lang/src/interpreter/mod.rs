//! The interpreter: one run of a module under one schedule, with everything that goes wrong on the way.
//!
//! In: a module, options (seed, schedule, limits), the library table. Out: an `Execution`: how the run ended, which
//! lines it took, what it printed. Every run it makes is a possible run of the program; it makes one of many, so it can
//! find what is wrong and never show that nothing is. One step of the schedule makes at most one access that another thread can
//! see. `memory` holds objects, `race` orders accesses, `execute` runs instructions, `calls` enters and leaves functions and threads,
//! `sync` holds locks and their like, `schedule` chooses who moves. Deliberately absent: weaker orders of values than
//! sequential consistency.

mod calls;
pub(crate) mod environment;
mod execute;
pub(crate) mod external;
pub mod guide;
pub(crate) mod jumps;
pub(crate) mod memory;
mod names;
pub(crate) mod race;
pub(crate) mod schedule;
pub(crate) mod signals;
pub(crate) mod sync;

use crate::module::*;
use crate::value::CoreValue;
use base::ids::Id;
use base::{IdVec, Random, Span};
use environment::Environment;
use external::{LibraryRow, LibraryTable};
use jumps::{Cancellation, JumpMark};
use memory::{AllocationOrigin, Initialised, Memory, Permission};
use race::{AccessSite, Shadow, VectorClock};
use rustc_hash::FxHashMap;
use schedule::Scheduler;
pub(crate) use schedule::Scheduling;
use signals::SignalState;
use std::collections::BTreeMap;
use sync::SyncObjects;

pub(crate) use calls::PassedArgument;
pub(crate) use execute::AccessMode as ModeOfAccess;

/// What went wrong, by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViolationKind {
    /// An assertion failed or an error function was called.
    Assertion,
    DataRace,
    Deadlock,
    Overflow,
    DivisionByZero,
    Shift,
    FloatConversion,
    NullDereference,
    OutOfBounds,
    UseAfterFree,
    UseAfterScope,
    InvalidFree,
    Uninitialised,
    Misaligned,
    WriteToConstant,
    /// A mutex is unlocked by a thread that does not hold it.
    Unlock,
    /// Any other use of the thread library that is undefined.
    Synchronisation,
    /// A call that does not fit the function, or arguments that a library function forbids.
    BadCall,
    Leak,
    Unreachable,
}

impl ViolationKind {
    /// The class in plain English.
    pub fn title(self) -> &'static str {
        match self {
            ViolationKind::Assertion => "an assertion fails",
            ViolationKind::DataRace => "a data race",
            ViolationKind::Deadlock => "a deadlock",
            ViolationKind::Overflow => "a signed overflow",
            ViolationKind::DivisionByZero => "a division by zero",
            ViolationKind::Shift => "an undefined shift",
            ViolationKind::FloatConversion => "a floating number that does not fit",
            ViolationKind::NullDereference => "a null pointer is used",
            ViolationKind::OutOfBounds => "an access out of bounds",
            ViolationKind::UseAfterFree => "a use of freed memory",
            ViolationKind::UseAfterScope => "a use of a variable after its lifetime",
            ViolationKind::InvalidFree => "an invalid free",
            ViolationKind::Uninitialised => "a use of a value that was never set",
            ViolationKind::Misaligned => "a misaligned access",
            ViolationKind::WriteToConstant => "a write to constant memory",
            ViolationKind::Unlock => "an unlock of a mutex that is not held",
            ViolationKind::Synchronisation => "an undefined use of the thread library",
            ViolationKind::BadCall => "a call with arguments that the function forbids",
            ViolationKind::Leak => "memory is lost",
            ViolationKind::Unreachable => "code that must not be reached",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    pub kind: ViolationKind,
    /// What the thread does, with values: "reads 4 bytes at offset 8 of ...".
    pub message: String,
    pub thread: String,
    pub span: Option<Span>,
    /// Other places that belong to it.
    pub notes: Vec<(Span, String)>,
}

impl Violation {
    pub fn new(kind: ViolationKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), thread: String::new(), span: None, notes: Vec::new() }
    }
}

/// Why a run does not go on.
#[derive(Clone, Debug)]
pub enum ExecutionStop {
    Violation(Box<Violation>),
    /// Outside of what is executed here: nothing is known of how the run would go on.
    Unsupported(String),
    Exit(i32),
    Abort,
    /// An assumption of the program does not hold: this is no run of it.
    Pruned,
}

impl ExecutionStop {
    pub(crate) fn violation(kind: ViolationKind, message: impl Into<String>) -> ExecutionStop {
        ExecutionStop::Violation(Box::new(Violation::new(kind, message)))
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecutionEnd {
    /// `main` returned or `exit` was called.
    Exited(i32),
    Aborted,
    Violation(Violation),
    Unsupported {
        reason: String,
        span: Option<Span>,
    },
    Pruned,
    /// As many steps as were allowed.
    OutOfSteps,
}

#[derive(Clone, Copy, Debug)]
pub struct ExecutionLimits {
    /// Instructions of one run.
    pub instructions: u64,
    pub frames: usize,
    pub threads: usize,
}

impl Default for ExecutionLimits {
    fn default() -> Self {
        Self { instructions: 5_000_000, frames: 10_000, threads: 500 }
    }
}

/// What happens at a data race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtRace {
    Stop,
    /// It is noted and the run goes on.
    GoOn,
}

/// Whether a wait on a condition variable may end without a signal, as POSIX allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpuriousWakeups {
    Allowed,
    Never,
}

/// Whether steps are kept to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    Nothing,
    Steps,
}

#[derive(Clone, Debug)]
pub struct RunOptions {
    pub seed: u64,
    pub scheduling: Scheduling,
    pub limits: ExecutionLimits,
    pub at_race: AtRace,
    pub spurious: SpuriousWakeups,
    pub recording: Recording,
    /// Whether heap memory that is lost at the end is a violation.
    pub leaks: LeakCheck,
    /// The program's arguments after its name.
    pub arguments: Vec<String>,
    /// What it reads from standard input.
    pub input: Vec<u8>,
    /// Files that are there.
    pub files: Vec<(String, Vec<u8>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeakCheck {
    Off,
    AtExit,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            scheduling: Scheduling::Random,
            limits: ExecutionLimits::default(),
            at_race: AtRace::Stop,
            spurious: SpuriousWakeups::Allowed,
            recording: Recording::Nothing,
            leaks: LeakCheck::Off,
            arguments: Vec::new(),
            input: Vec::new(),
            files: Vec::new(),
        }
    }
}

/// A step that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedStep {
    pub thread: u32,
    pub span: Span,
    pub text: String,
}

#[derive(Clone, Debug)]
pub struct Execution {
    pub ending: ExecutionEnd,
    /// The names of the threads, by number.
    pub threads: Vec<String>,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
    pub events: Vec<RecordedStep>,
    /// Which thread moved at each choice: enough, with the seed, to repeat the run.
    pub(crate) schedule: Vec<u32>,
    /// How many threads could move at each choice, where schedules are enumerated.
    pub alternatives: Vec<u32>,
    /// Whether something besides the schedule was drawn by the seed, so that another seed could give another run.
    pub drawn: bool,
    pub switches: u32,
    pub instructions: u64,
    pub races: Vec<Violation>,
    /// What the run took for granted of library functions.
    pub assumptions: Vec<String>,
    /// Which instructions were executed, by function.
    pub covered: Vec<Vec<bool>>,
}

pub(crate) struct CallFrame {
    pub function: FunctionId,
    pub position: Position,
    pub registers: Vec<CoreValue>,
    pub locals: Vec<Option<u32>>,
    /// Arguments beyond the parameters.
    pub more: Vec<(CoreValue, crate::value::ScalarType)>,
    pub after: AfterCall,
    /// Which of all frames it is: no other has the number.
    pub(crate) serial: u64,
    pub(crate) destination: Destination,
    /// How many bytes of the copy at hand are done: objects are copied part by part.
    pub copied: u64,
    /// The bytes around the bit-field that is being stored, as they were when the store began.
    pub(crate) around: Option<Vec<u8>>,
}

/// What follows when a frame's function returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AfterCall {
    /// The caller goes on.
    Caller,
    /// The thread ends.
    Thread,
    /// A start-up function of the program.
    Startup,
    /// `pthread_once` is done; its result is delivered.
    Once((u32, u64)),
    /// A destructor of a thread's keys.
    Destructor,
    /// A library row that called back goes on.
    Library,
    /// A function of `atexit`; the program ends with this code after the last of them.
    AtExit(i32),
    /// A handler of this signal: the thread goes on where it was.
    Signal(u32),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Life {
    Running,
    /// Its function has returned; its keys' destructors run, so many rounds so far.
    Finishing(u32),
    Ended,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Mutex((u32, u64)),
    ReadLock((u32, u64)),
    WriteLock((u32, u64)),
    Spin((u32, u64)),
    Semaphore((u32, u64)),
    Barrier((u32, u64), u64),
    Once((u32, u64)),
    /// A signal of a condition variable.
    Signal((u32, u64)),
    Thread(u32),
    /// Nothing will ever wake it (`pause`).
    Forever,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    Unlimited,
    /// The wait may end by time.
    Timed,
}

/// Where a call of several steps stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CallPhase {
    Start,
    /// Waits for the signal of a condition variable.
    Signal,
    /// Has been woken with this result and wants the mutex again.
    Relock(i128),
    /// In a barrier of this generation.
    Barrier(u64),
    /// Was blocked with a time limit at least once.
    Timed,
    /// Has created this thread and not yet stored its handle.
    Created(u32),
}

pub(crate) struct RunningThread {
    pub name: String,
    pub frames: Vec<CallFrame>,
    pub(crate) life: Life,
    pub clock: VectorClock,
    /// What relaxed loads have seen, for a later acquire fence.
    pub seen: VectorClock,
    /// The clock of the last release fence.
    pub(crate) fenced: Option<VectorClock>,
    pub(crate) own_objects: BTreeMap<u32, u32>,
    pub(crate) errno: Option<u32>,
    pub keys: BTreeMap<u32, CoreValue>,
    pub wait: Option<(Wait, Patience)>,
    pub(crate) signalled: bool,
    pub phase: CallPhase,
    pub detached: bool,
    pub joined: bool,
    pub result: CoreValue,
    pub handle: u64,
    /// The buffers of the cleanup handlers that are pushed, the last one last.
    pub(crate) cleanup: Vec<(u32, u64)>,
    /// By buffer, the places that `setjmp` has marked.
    pub(crate) marks: BTreeMap<(u32, u64), JumpMark>,
    pub(crate) cancellation: Cancellation,
    /// The signals that it has blocked, a bit for each.
    pub(crate) blocked_signals: u64,
    /// The call that created it; `None` for the first thread.
    pub created: Option<Span>,
    /// The function that it was started with.
    pub function: Option<FunctionId>,
}

pub struct Interpreter<'m> {
    pub(crate) module: &'m Module,
    pub(crate) options: RunOptions,
    pub(crate) memory: Memory,
    pub(crate) shadow: Shadow,
    pub(crate) threads: Vec<RunningThread>,
    pub(crate) current: u32,
    /// For what the environment decides: `draw` gives it out.
    random: Random,
    pub(crate) drawn: bool,
    /// An assertion in a comment is being looked at; whether something was exclusive before.
    pub(crate) ghost: Option<bool>,
    pub(crate) scheduler: Scheduler,
    pub(crate) sync: SyncObjects,
    pub(crate) environment: Environment,
    pub(crate) signals: SignalState,
    objects: IdVec<ObjectId, u32>,
    function_objects: FxHashMap<FunctionId, u32>,
    external_objects: FxHashMap<ExternalId, u32>,
    library: &'static LibraryTable,
    rows: IdVec<ExternalId, Option<LibraryRow>>,
    /// The thread that excludes the others, how deep, and the clock that such stretches hand on.
    pub(crate) exclusive: Option<(u32, u32)>,
    pub(crate) exclusive_clock: VectorClock,
    pub(crate) instructions: u64,
    pub(crate) events: Vec<RecordedStep>,
    pub(crate) races: Vec<Violation>,
    pub(crate) assumptions: Vec<String>,
    pub(crate) covered: Vec<Vec<bool>>,
    pub(crate) argument_lists: Vec<(Vec<(CoreValue, crate::value::ScalarType)>, usize)>,
}

impl<'m> Interpreter<'m> {
    /// Runs a module once, with the library for what has no body.
    pub(crate) fn run_with(module: &'m Module, library: &'static LibraryTable, options: RunOptions) -> Execution {
        let mut interpreter = Interpreter::new(module, library, options);
        let stop = interpreter.execute_all();
        interpreter.finish(stop)
    }

    fn new(module: &'m Module, library: &'static LibraryTable, options: RunOptions) -> Self {
        let rows = module.externals.iter().map(|e| library.rows.get(e.name.as_str()).copied()).fold(
            IdVec::new(),
            |mut rows, row| {
                rows.push(row);
                rows
            },
        );
        let seed = options.seed;
        Interpreter {
            module,
            memory: Memory::new(module.pointer_bytes, seed),
            shadow: Shadow::default(),
            threads: Vec::new(),
            current: 0,
            random: Random::new(seed ^ 0x7661_6c75_6573),
            drawn: false,
            ghost: None,
            scheduler: Scheduler::new(&options.scheduling, seed),
            sync: SyncObjects::default(),
            environment: Environment::new(&options),
            signals: SignalState::default(),
            objects: IdVec::new(),
            function_objects: FxHashMap::default(),
            external_objects: FxHashMap::default(),
            library,
            rows,
            exclusive: None,
            exclusive_clock: VectorClock::default(),
            instructions: 0,
            events: Vec::new(),
            races: Vec::new(),
            assumptions: Vec::new(),
            covered: module.functions.iter().map(|f| vec![false; f.code.len()]).collect(),
            argument_lists: Vec::new(),
            options,
        }
    }

    /// From start-up to the end of the program.
    fn execute_all(&mut self) -> ExecutionStop {
        match self.start().and_then(|()| self.schedule_all()) {
            Ok(()) => ExecutionStop::Exit(0),
            Err(stop) => stop,
        }
    }

    fn start(&mut self) -> Result<(), ExecutionStop> {
        for (id, object) in self.module.objects.iter_enumerated() {
            let allocation = self.memory.allocate(
                object.size,
                object.align,
                AllocationOrigin::Object(id),
                Initialised::Set,
                object.span,
            )?;
            let bytes = &mut self.memory.allocations[allocation as usize].bytes;
            let length = object.image.len().min(bytes.len());
            bytes[..length].copy_from_slice(&object.image[..length]);
            self.objects.push(allocation);
        }
        self.environment_objects()?;
        let Some(entry) = self.module.entry else {
            return Err(ExecutionStop::Unsupported("there is no function `main`".into()));
        };
        self.new_thread("main".into(), None);
        let startup = self.module.initialiser.into_iter().chain(self.module.constructors.iter().copied());
        for function in startup.collect::<Vec<_>>() {
            self.push_frame(0, function, &[], Destination::Nowhere, AfterCall::Startup)?;
            while !self.threads[0].frames.is_empty() {
                self.instruction()?;
            }
        }
        for (id, object) in self.module.objects.iter_enumerated() {
            if object.class == StorageClass::Constant {
                self.memory.allocations[self.objects[id] as usize].permission = Permission::ReadOnly;
            }
        }
        // The program's arguments are given from outside.
        self.drawn |= !self.module.functions[entry].parameters.is_empty();
        let arguments = self.main_arguments(entry)?;
        self.push_frame(0, entry, &arguments, Destination::Nowhere, AfterCall::Thread)
    }

    fn finish(mut self, stop: ExecutionStop) -> Execution {
        let span = self.current_span();
        let thread = self.thread_name(self.current);
        let ending = match stop {
            ExecutionStop::Exit(code) => match self.leak_at_exit() {
                Some(leak) => ExecutionEnd::Violation(leak),
                None => ExecutionEnd::Exited(code),
            },
            ExecutionStop::Abort => ExecutionEnd::Aborted,
            ExecutionStop::Pruned => ExecutionEnd::Pruned,
            ExecutionStop::Unsupported(reason) if reason == OUT_OF_STEPS => ExecutionEnd::OutOfSteps,
            ExecutionStop::Unsupported(reason) => ExecutionEnd::Unsupported { reason, span },
            ExecutionStop::Violation(mut violation) => {
                violation.thread = thread;
                violation.span = violation.span.or(span);
                if violation.span == span {
                    violation.notes.extend(self.callers());
                }
                ExecutionEnd::Violation(*violation)
            }
        };
        let threads = (0..self.threads.len() as u32).map(|t| self.thread_name(t)).collect();
        let (output, errors) = self.environment.take_output();
        Execution {
            ending,
            threads,
            output,
            errors,
            events: std::mem::take(&mut self.events),
            switches: self.scheduler.switches,
            schedule: std::mem::take(&mut self.scheduler.taken),
            alternatives: std::mem::take(&mut self.scheduler.alternatives),
            drawn: self.drawn,
            instructions: self.instructions,
            races: std::mem::take(&mut self.races),
            assumptions: std::mem::take(&mut self.assumptions),
            covered: std::mem::take(&mut self.covered),
        }
    }

    pub(crate) fn current_span(&self) -> Option<Span> {
        let frame = self.threads.get(self.current as usize)?.frames.last()?;
        self.module.functions[frame.function].spans.get(frame.position as usize).copied()
    }

    pub(crate) fn span(&self) -> Span {
        self.current_span().unwrap_or_else(|| Span::new(base::SourceId(0), 0, 0))
    }

    /// The places of the calls that led here, innermost first.
    fn callers(&self) -> Vec<(Span, String)> {
        let Some(thread) = self.threads.get(self.current as usize) else { return Vec::new() };
        let frames = thread.frames.iter().rev().skip(1).take(4);
        frames
            .filter_map(|frame| {
                let function = &self.module.functions[frame.function];
                let span = function.spans.get(frame.position as usize)?;
                Some((*span, format!("called from `{}`", function.name)))
            })
            .collect()
    }

    pub(crate) fn site(&self) -> AccessSite {
        match self.threads[self.current as usize].frames.last() {
            Some(frame) => AccessSite { function: frame.function, position: frame.position },
            None => AccessSite { function: FunctionId::from_index(0), position: 0 },
        }
    }

    /// The source of what the environment decides; a run that asks for it is one of several with the same schedule.
    pub(crate) fn draw(&mut self) -> &mut Random {
        self.drawn = true;
        &mut self.random
    }

    /// The same for pseudo-random numbers that the program asks for.
    pub(crate) fn environment_draw(&mut self) -> &mut Random {
        self.drawn = true;
        &mut self.environment.random_state
    }

    /// The time of day, which is later at each look.
    pub(crate) fn look_at_the_clock(&mut self) -> u64 {
        self.drawn = true;
        self.environment.now()
    }

    pub(crate) fn thread(&mut self) -> &mut RunningThread {
        &mut self.threads[self.current as usize]
    }

    pub(crate) fn assume(&mut self, text: &str) {
        if !self.assumptions.iter().any(|a| a == text) {
            self.assumptions.push(text.to_string());
        }
    }

    fn leak_at_exit(&self) -> Option<Violation> {
        // Where `exit` is called inside functions, their variables still hold what they hold.
        let alone = self.threads.iter().skip(1).all(|t| t.life == Life::Ended);
        let returned = self.threads.iter().all(|t| t.frames.is_empty());
        if self.options.leaks == LeakCheck::Off || !alone || !returned {
            return None;
        }
        let roots: Vec<u32> = (0..self.memory.allocations.len() as u32)
            .filter(|id| {
                let allocation = &self.memory.allocations[*id as usize];
                let kept = !matches!(allocation.origin, AllocationOrigin::Heap | AllocationOrigin::Local(..));
                kept && allocation.lifetime == memory::AllocationState::Live
            })
            .collect();
        let lost = self.memory.lost(&roots);
        let first = &self.memory.allocations[*lost.first()? as usize];
        let mut violation = Violation::new(
            ViolationKind::Leak,
            format!("{} bytes are neither freed nor reachable when the program ends", first.size),
        );
        violation.thread = self.thread_name(0);
        violation.span = Some(first.made_at);
        Some(violation)
    }
}

/// The reason that stands for "as many steps as were allowed".
pub(crate) const OUT_OF_STEPS: &str = "the run has as many steps as were allowed";
