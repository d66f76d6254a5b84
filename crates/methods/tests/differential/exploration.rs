//! The corpus under every reduction: neither a verdict nor the length of a shortest trace depends on what is switched on
//! or on the number of workers.
//!
//! Each program gets little work without reductions; those that are not done by then are left out. With
//! `THREADPROOF_DIFFERENTIAL=N` it is as much as N milliseconds of an ordinary processor.

use base::Sources;
use base::differential::{limited_work, programs_to_try};
use logic::Sort;
use methods::SearchStop;
use methods::Switches;
use methods::{Exploration, ExplorePlan, explore_states};
use program::semantics::InstanceCounts;
use program::{Copies, Program, Property, PropertyId, PropertyKind, Scope, Start, Update, VarKind};
use std::path::Path;
use std::time::Duration;
use testkit::corpus::{self, Entry};

fn load(e: &Entry) -> Option<Program> {
    let mut sources = Sources::new();
    if e.name.ends_with(".tp") {
        let parsed = frontend::lang::parse_file(&mut sources, e.name.clone(), &e.bytes);
        return frontend::lang::lower_file(&parsed, &sources, &Default::default()).program;
    }
    let text = String::from_utf8_lossy(&e.bytes);
    let (program, diagnostics) = frontend::c::load_c(&mut sources, Path::new(&e.name), &text, &Default::default());
    program.filter(|_| !diagnostics.iter().any(base::Diagnostic::is_error))
}

fn run(p: &Program, counts: &InstanceCounts, switches: Switches, workers: usize, time: Duration) -> Exploration {
    let spoken = |k: &PropertyKind| {
        !matches!(k, PropertyKind::Performs(_) | PropertyKind::Follows(_) | PropertyKind::Linearizable(_))
    };
    explore_states(&ExplorePlan {
        program: p,
        counts: counts.clone(),
        wanted: p.properties.iter_enumerated().filter(|(_, x)| spoken(&x.kind)).map(|(id, _)| id).collect(),
        switches,
        workers,
        depth: usize::MAX,
        budget: limited_work(time).with_memory(base::budget::resident_bytes() + (4 << 30)),
        progress: &|_| {},
        compact: false,
        unreachable: false,
        means: Default::default(),
    })
}

fn is_done(a: &Exploration) -> bool {
    a.incomplete.is_none() || a.stopped == Some(SearchStop::AllFound)
}

fn lengths(a: &Exploration) -> Vec<(PropertyId, usize)> {
    a.traces.iter().map(|(p, t)| (*p, t.steps.len())).collect()
}

/// Compares one program; whether it was small enough.
fn compare(name: &str, p: &Program, counts: &InstanceCounts, time: Duration, wrong: &mut Vec<String>) -> bool {
    let plain = run(p, counts, Switches::NONE, 1, time);
    if !is_done(&plain) {
        return false;
    }
    let some = |por, symmetry, dead, heap| Switches { por, symmetry, dead, heap };
    let ways = [
        (some(true, true, true, false), 2),
        (some(false, true, false, false), 1),
        (some(true, false, true, false), 3),
        (some(true, true, true, true), 1),
    ];
    for (switches, workers) in ways {
        let reduced = run(p, counts, switches, workers, Duration::from_secs(20));
        if lengths(&plain) != lengths(&reduced) || !is_done(&reduced) || !reduced.untraced.is_empty() {
            let (a, b) = (lengths(&plain), lengths(&reduced));
            let why = (&reduced.incomplete, &reduced.untraced);
            wrong.push(format!("{name} {:?} {switches:?} {workers}: {a:?} {b:?} {why:?}", counts.0));
        }
    }
    true
}

/// The program with two more locals in each thread, so wide that an instance takes several words of a packed state. Nothing reads them.
fn widened(mut p: Program) -> Program {
    let origin = p.add_origin(None, "a wide local");
    let (zero, wide) = (p.terms.int(0), p.terms.int(1 << 40));
    for t in p.threads.ids().collect::<Vec<_>>() {
        for name in ["wide_a", "wide_b"] {
            let var = p.add_var(name, Sort::INT, Scope::Thread(t), VarKind::Plain, Some(zero), origin);
            p.threads[t].locals.push(var);
            for a in p.threads[t].code.actions.iter_mut() {
                a.updates.push(Update { var, value: wide });
            }
        }
    }
    p
}

#[test]
fn check_no_verdict_or_length_of_a_trace_in_the_corpus_depends_on_reductions() {
    let time = Duration::from_millis(programs_to_try(20));
    let all = corpus::read(&corpus::root(), &["tp", "c", "i"]).expect("the corpus can be read");
    let (mut wrong, mut done, mut wide) = (Vec::new(), 0, 0);
    for e in all.iter().filter(|e| e.errors.is_empty()) {
        let Some(mut p) = load(e) else { continue };
        let origin = p.add_origin(None, "no thread waits for ever");
        p.properties.push(Property { kind: PropertyKind::Deadlock, name: "deadlock".into(), origin });
        if program::memory::by_hand(&p) {
            p.properties.push(Property { kind: PropertyKind::Leak, name: "leak".into(), origin });
        }
        let counts = InstanceCounts::of(&p, 2);
        if counts.0.iter().all(|n| *n == 0) {
            continue;
        }
        done += usize::from(compare(&e.name, &p, &counts, time, &mut wrong));
        // Two of each thread: groups that the program does not have.
        let mut twice = counts;
        for (n, t) in twice.0.iter_mut().zip(p.threads.iter_mut()).filter(|(_, t)| t.start == Start::Initial) {
            t.copies = Copies::Any;
            *n = (*n).max(2);
        }
        done += usize::from(compare(&e.name, &p, &twice, time, &mut wrong));
        let name = format!("{} with wide locals", e.name);
        wide += usize::from(compare(&name, &widened(p), &twice, time, &mut wrong));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(done > 100 && wide > 50, "only {done} were small enough, {wide} of them with wide locals");
}

/// Twenty instances that choose one of four ways before they touch anything: folded, the choices multiply to 4^20 first states.
#[test]
fn check_choices_of_many_threads_at_the_start_do_not_multiply() {
    let ways: Vec<String> = (0..4).map(|i| format!("{{ k := {i}; }}")).collect();
    let text = format!(
        "var x: int = 0; thread T[20] {{ var k: int; choose {} x := x + k; assert x < 3; }}",
        ways.join(" or ")
    );
    let mut sources = Sources::new();
    let parsed = frontend::lang::parse_file(&mut sources, "test.tp", text.as_bytes());
    let p = frontend::lang::lower_file(&parsed, &sources, &Default::default()).program.expect("it is a program");
    let a =
        run(&p, &InstanceCounts::of(&p, 0), Switches { symmetry: false, ..Switches::ALL }, 1, Duration::from_secs(20));
    assert_eq!(a.traces.len(), 1, "a violation is one thread away: {:?}", a.incomplete);
}
