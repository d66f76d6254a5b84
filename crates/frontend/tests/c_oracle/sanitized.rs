//! Random programs with threads against gcc's sanitizers and against runs of the compiled program.
//!
//! In: a seed. Out: a program (`scenes`, `mixed`) for one property, compiled with the sanitizer of that property and run several times with pauses drawn by each run, executed by the
//! interpreter, and searched by the reference semantics as the model has it. Demanded: what a run saw is neither "safe" in the model, where its search is complete, nor impossible
//! in the interpreter, where all schedules were made; what every execution of the interpreter violates, some run sees; what the model calls violated is not impossible in
//! the interpreter. A fair share of the programs must be violated, and a fair share not, or the comparison says nothing.
//! `THREADPROOF_DIFFERENTIAL=N` tries N, from `THREADPROOF_SEED` on. Deliberately absent: waiting for ever, which a run cannot tell from being slow.

use super::hostile::{Choices, Hostile, Model, compiles, model, violated_in};
use super::{mixed, scenes};
use base::random::Random;
use base::{Sources, differential};
use core_lang::replay::{GuidedReplay, Replayed};
use core_lang::{Campaign, ExecutionLimits};
use frontend::c::{CCheck, DataModel, core, parse_c};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// States that a search of the model may have.
const MAX_STATES: usize = 8_000;
/// Runs of the interpreter.
const EXECUTIONS: u32 = 40;
/// Runs of the compiled program.
const RUNS: usize = 4;
/// Runs of the compiled program where every execution violates the property.
const MORE_RUNS: usize = 12;
/// Schedules that are enumerated.
const SCHEDULES: u32 = 300;

/// Calls that the thread sanitizer does not watch: what they read and write is seen by the interpreter alone.
const UNWATCHED: [&str; 3] = ["atoi(", "strtok_r(", "qsort("];
/// Sums that no sanitizer looks at: the operators of atomics, which gcc makes of functions that wrap.
const UNWATCHED_SUMS: [&str; 1] = ["atomic_int x"];
/// What the thread sanitizer does not understand, and reports races for: it has no fences.
const MISUNDERSTOOD: &str = "atomic_thread_fence(";

/// The properties, in turn.
const CHECKS: [&str; 8] = [
    "no-data-race",
    "unreach-call",
    "no-data-race",
    "memory-safety",
    "no-data-race",
    "unreach-call",
    "no-overflow",
    "no-data-race",
];

/// What the interpreter says of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Executed {
    /// Every execution that was made violates the property.
    Always,
    Sometimes,
    NotSeen,
    /// Every schedule was made, nothing else was open, and none violates.
    Impossible,
    /// No execution came to its end.
    Stopped,
}

fn executed(text: &str, check: &str, seed: u64) -> (Executed, String) {
    let mut sources = Sources::new();
    let parsed = parse_c(&mut sources, Path::new("sanitized.c"), text, DataModel::Lp64);
    let parsed = parsed.unwrap_or_else(|e| panic!("{}\n{text}", e[0].message));
    let module = core::lower_to_core(&parsed.unit);
    let wanted: Vec<_> = CCheck::parse(check).into_iter().flat_map(core::violations_of).collect();
    let campaign = |number: u64, runs| Campaign {
        seed: seed.wrapping_mul(977).wrapping_add(number),
        wanted: wanted.clone(),
        known_places: Vec::new(),
        runs,
        time: Duration::from_secs(5),
        limits: ExecutionLimits { instructions: 40_000, ..ExecutionLimits::default() },
        arguments: Vec::new(),
        input: Vec::new(),
    };
    let report = campaign(0, EXECUTIONS).run(&module);
    let other = report.other_violations.first().map(|v| format!("{} {}", v.kind.title(), v.message));
    let stopped = report.stopped.first().map(|s| s.0.clone()).or(other).unwrap_or_default();
    if report.found.is_some() {
        let every = (0..u64::from(EXECUTIONS)).all(|n| campaign(n, 1).run(&module).found.is_some());
        return (if every { Executed::Always } else { Executed::Sometimes }, stopped);
    }
    if report.finished == 0 {
        return (Executed::Stopped, stopped);
    }
    let replay = GuidedReplay {
        plan: Arc::default(),
        wanted: wanted.clone(),
        seed,
        attempts: 0,
        instructions: 40_000,
        all_instructions: 3_000_000,
        schedules: SCHEDULES,
        deadline: None,
    };
    match replay.run(&module) {
        Replayed::Seen(..) => (Executed::Sometimes, stopped),
        Replayed::Impossible { .. } => (Executed::Impossible, stopped),
        Replayed::NotSeen { .. } => (Executed::NotSeen, stopped),
    }
}

/// Numbers of a comparison.
#[derive(Default)]
struct Tally {
    seen: usize,
    unseen: usize,
    safe: usize,
    refuted: usize,
    open: usize,
    executed: usize,
    impossible: usize,
    stopped: usize,
    missed: Vec<String>,
    wrong: Vec<String>,
}

impl Tally {
    fn compare(&mut self, seed: u64, hostile: &Hostile) {
        let said = model(hostile, MAX_STATES);
        let (execution, stopped) = executed(&hostile.text, hostile.check, seed);
        let name = format!("sanitized{seed}");
        let race = hostile.check == "no-data-race";
        let believed = !(race && hostile.text.contains(MISUNDERSTOOD));
        let unwatched = if race { &UNWATCHED[..] } else { &UNWATCHED_SUMS[..] };
        let watched = believed && !unwatched.iter().any(|call| hostile.text.contains(call));
        let mut seen = believed && violated_in(hostile, &name, RUNS);
        if !seen && watched && execution == Executed::Always {
            seen = violated_in(hostile, &name, MORE_RUNS);
        }
        self.seen += usize::from(seen);
        self.unseen += usize::from(!seen);
        match said {
            Model::Safe => self.safe += 1,
            Model::Unsafe => self.refuted += 1,
            Model::Open => self.open += 1,
        }
        match execution {
            Executed::Always | Executed::Sometimes => self.executed += 1,
            Executed::Impossible => self.impossible += 1,
            Executed::Stopped => self.stopped += 1,
            Executed::NotSeen => {}
        }
        let violates = matches!(execution, Executed::Always | Executed::Sometimes);
        let why = match (said, execution, seen) {
            (Model::Safe, _, true) => Some("a run sees it, and the model is safe"),
            (Model::Safe, ..) if violates => Some("the interpreter sees it, and the model is safe"),
            (_, Executed::Impossible, true) => Some("a run sees what is impossible in the interpreter"),
            (Model::Unsafe, Executed::Impossible, _) => {
                Some("the model is unsafe by what is impossible in the interpreter")
            }
            (_, Executed::Always, false) if watched => {
                Some("every execution of the interpreter violates it, and no run")
            }
            _ => None,
        };
        if let Some(why) = why {
            let text = format!("seed {seed}, {}: {why}\n{}", hostile.check, hostile.text);
            println!("{text}");
            self.wrong.push(text);
        } else if !violates && (seen || said == Model::Unsafe) {
            let from = hostile.text.find("#endif").unwrap_or(0);
            let body = &hostile.text[from..];
            let text = format!(
                "seed {seed}, {}: a run {seen}, the model {said:?}, the interpreter {execution:?} ({stopped})\n{body}",
                hostile.check
            );
            if differential::is_long_run() {
                println!("not seen: {text}");
            }
            self.missed.push(text);
        }
    }
}

#[test]
fn check_what_sanitizers_and_runs_see_is_neither_safe_nor_impossible() {
    let sane = Hostile { class: "", check: "no-data-race", text: "int main(void) { return 0; }\n".into() };
    if !super::compiler() || !compiles(&sane, "sanitized_probe") {
        println!("there is no gcc with sanitizers here");
        return;
    }
    let mut tally = Tally::default();
    let seeds = differential::seeds(36);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let mut choices = Choices(Random::new(seed ^ 0x5ce7e));
        let check = CHECKS[seed as usize % CHECKS.len()];
        let text = match seed as usize % CHECKS.len() + 1 == CHECKS.len() {
            true => mixed::program(&mut choices),
            false => scenes::program(&mut choices, check),
        };
        tally.compare(seed, &Hostile { class: "scenes", check, text });
    }
    let Tally { seen, unseen, safe, refuted, open, executed, impossible, stopped, missed, wrong } = tally;
    let numbers = format!(
        "{seen} violated by a run and {unseen} not; {safe} safe, {refuted} unsafe and {open} open in the model; {executed} violated by the interpreter, {impossible} impossible there, {stopped} not executed"
    );
    println!("{numbers}");
    assert!(wrong.is_empty(), "{} wrong of {count}:\n{}", wrong.len(), wrong.join("\n"));
    differential::report_agreement("sanitizers", count, &numbers);
    let fair = |part: usize, percent: usize| part * 100 >= count as usize * percent;
    assert!(fair(seen, 20) && fair(unseen, 20), "the programs are too much alike: {numbers}");
    assert!(fair(safe + refuted, 40) && fair(safe, 8), "the model decides too few: {numbers}");
    // Violations that runs see and the interpreter does not are few, or it is no second opinion.
    assert!(
        missed.len() * 8 <= count as usize,
        "{} are not seen by the interpreter: {}",
        missed.len(),
        missed.join("\n")
    );
}
