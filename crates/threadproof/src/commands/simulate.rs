//! `simulate`: runs a program by the reference semantics: at random with a seed, along a trace, or step by step.
//!
//! In: a program and how to choose the next step. Out: the run as text, one column for each instance. Exit codes: 0
//! the run went well, 1 something went wrong in it, 65 the program or the trace was rejected.
//! Deliberately absent: any search; what a random run does not show is not said.

use crate::board::exit;
use crate::cli::Simulate;
use crate::load::{self, Loaded};
use crate::report::columns;
use crate::report::paint::Paint;
use program::PropertyId;
use program::semantics::{Instances, Outcome, Sampling, Semantics, State, Step};
use std::io::{BufRead, Write};

pub fn run(request: Simulate, paint: Paint) -> i32 {
    let loaded = match load::load(&request.file, &request.reading, paint) {
        Ok(loaded) => loaded,
        Err(rejected) => {
            rejected.0.iter().for_each(|m| eprint!("{m}"));
            return exit::REJECTED;
        }
    };
    loaded.warnings.iter().for_each(|w| eprint!("{w}"));
    let result = match &request.trace {
        Some(path) => along(&loaded, path),
        None => free(&loaded, &request),
    };
    match result {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("error: {}: {sentence}", request.file.display());
            exit::REJECTED
        }
    }
}

/// Replays a trace file.
fn along(loaded: &Loaded, path: &std::path::Path) -> Result<i32, String> {
    let bytes = load::read(path).map_err(|r| r.0.concat())?;
    let entries = evidence::file::read(&loaded.program, &bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut seen = 0;
    for entry in &entries {
        let evidence::file::Entry::Trace { trace, .. } = entry else { continue };
        seen += 1;
        let replayed = program::semantics::replay(&loaded.program, trace)
            .map_err(|e| format!("the trace is no run of it: {e}"))?;
        let sem = Semantics::new(&loaded.program);
        let name = &loaded.program.properties[trace.violates].name;
        let ending = format!("<- violates {name}");
        let lines = columns::run(&sem, Some(&loaded.sources), &replayed.states, &trace.steps, &ending);
        lines.iter().for_each(|l| println!("{l}"));
    }
    if seen == 0 {
        return Err(format!("{} holds no trace", path.display()));
    }
    Ok(exit::UNSAFE)
}

/// The next number of a small generator (splitmix64): the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

enum Next {
    Take(usize),
    Stop,
}

/// A random or an interactive run.
fn free(loaded: &Loaded, request: &Simulate) -> Result<i32, String> {
    let sem = Semantics::new(&loaded.program);
    let instances = Instances::of(&loaded.program, request.copies);
    let sampling = Sampling::default();
    let mut dice = Dice(request.seed);
    let initial = sem.initial(&instances, sampling);
    if initial.states.is_empty() {
        return Err(initial.incomplete.unwrap_or_else(|| "no store satisfies the initial conditions".into()));
    }
    let at = dice.below(initial.states.len());
    let mut states: Vec<State> = vec![initial.states[at].0.clone()];
    let mut steps: Vec<Step> = Vec::new();
    if request.interactive {
        println!("start: {}", columns::store(&sem, &states[0]));
    }
    let mut wrong: Option<PropertyId> = first_broken(&sem, &states, None);
    let mut ending = None;
    while wrong.is_none() && steps.len() < request.steps {
        let now = states.last().expect("there is a first state").clone();
        let next = sem.successors(&now, sampling);
        if next.outcomes.is_empty() {
            let all_ended = now.instances.iter().all(|i| loaded.program.threads[i.thread].code.exit == Some(i.at));
            ending = Some(if all_ended { "all threads have ended" } else { "no thread can move" }.to_string());
            break;
        }
        let chosen = if request.interactive {
            ask(&sem, loaded, &now, &next.outcomes)
        } else {
            Next::Take(random(&mut dice, &next.outcomes))
        };
        let Next::Take(index) = chosen else { break };
        let outcome = &next.outcomes[index];
        steps.push(outcome.step().clone());
        match outcome {
            Outcome::Moved { step, state } => {
                if request.interactive {
                    let changed = columns::changes(&sem, &now, state, step.instance as usize);
                    println!("  {}", if changed.is_empty() { "nothing changes".into() } else { changed.join(", ") });
                }
                states.push(state.clone());
                wrong = first_broken(&sem, &states, Some(step));
            }
            Outcome::Wrong { property, .. } => wrong = Some(*property),
        }
    }
    let last = match wrong {
        Some(property) => format!("<- violates {}", loaded.program.properties[property].name),
        None => ending.clone().map_or(String::new(), |e| format!("({e})")),
    };
    if !request.interactive {
        let lines = columns::run(&sem, Some(&loaded.sources), &states, &steps, &last);
        lines.iter().for_each(|l| println!("{l}"));
    } else if !last.is_empty() {
        println!("{last}");
    }
    if wrong.is_none() && ending.is_none() {
        println!("stopped after {} steps", steps.len());
    }
    Ok(if wrong.is_some() { exit::UNSAFE } else { exit::SAFE })
}

/// First an instance, then one of its outcomes, so that a thread with many choices does not drown the others.
fn random(dice: &mut Dice, outcomes: &[Outcome]) -> usize {
    let mut movers: Vec<u32> = outcomes.iter().map(|o| o.step().instance).collect();
    movers.dedup();
    let mover = movers[dice.below(movers.len())];
    let mine: Vec<usize> = (0..outcomes.len()).filter(|i| outcomes[*i].step().instance == mover).collect();
    mine[dice.below(mine.len())]
}

/// An invariant or a rely that the newest state or step breaks.
fn first_broken(sem: &Semantics<'_>, states: &[State], step: Option<&Step>) -> Option<PropertyId> {
    let last = states.last()?;
    let (broken, _) = sem.broken_invariants(last, Sampling::default());
    if let Some(breach) = broken.first() {
        return Some(breach.property);
    }
    let step = step?;
    let before = states.get(states.len().checked_sub(2)?)?;
    let before = sem.decide_all(before, &step.choices).ok()?;
    let (broken, _) = sem.broken_relies(&before, step, last, Sampling::default());
    broken.first().map(|b| b.property)
}

/// Lets the user choose. An empty answer takes the first; the end of the input stops.
fn ask(sem: &Semantics<'_>, loaded: &Loaded, now: &State, outcomes: &[Outcome]) -> Next {
    println!();
    for (i, outcome) in outcomes.iter().enumerate() {
        let step = outcome.step();
        let name = columns::instance_name(sem.program, now, step.instance as usize);
        let mut line = format!("{:>3}  {name}: {}", i + 1, columns::words(sem.program, Some(&loaded.sources), step));
        if !step.inputs.is_empty() {
            let action = &sem.program.threads[step.thread].code.actions[step.action];
            let terms = &sem.program.terms;
            let values: Vec<String> =
                action.inputs.iter().zip(&step.inputs).map(|(s, v)| v.show(terms, terms.symbol_sort(*s))).collect();
            line.push_str(&format!("  [{}]", values.join(", ")));
        }
        if let Outcome::Wrong { property, .. } = outcome {
            line.push_str(&format!("  (violates {})", sem.program.properties[*property].name));
        }
        println!("{line}");
    }
    loop {
        print!("step 1-{}, s store, q quit: ", outcomes.len());
        let _ = std::io::stdout().flush();
        let mut answer = String::new();
        match std::io::stdin().lock().read_line(&mut answer) {
            Ok(0) | Err(_) => return Next::Stop,
            Ok(_) => {}
        }
        match answer.trim() {
            "" => return Next::Take(0),
            "q" => return Next::Stop,
            "s" => println!("  {}", columns::store(sem, now)),
            other => match other.parse::<usize>() {
                Ok(n) if (1..=outcomes.len()).contains(&n) => return Next::Take(n - 1),
                _ => println!("  there is no step {other}"),
            },
        }
    }
}
