//! Runs C programs by the reference interpreter under many schedules and prints what was seen.
//!
//! `cargo run --release -p frontend --example c_run -- FILE.c [CHECK] [RUNS] [--core] [-- ARGUMENTS]`

use base::Sources;
use core_lang::{Campaign, ExecutionLimits};
use frontend::c::core::{violations_of, without_body};
use frontend::c::{CCheck, DataModel, parse_c};
use std::path::Path;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let own = match arguments.iter().position(|a| a == "--") {
        Some(at) => arguments.split_off(at).into_iter().skip(1).collect(),
        None => Vec::new(),
    };
    let core = arguments.iter().any(|a| a == "--core");
    arguments.retain(|a| a != "--core");
    let Some(path) = arguments.first() else { return eprintln!("c_run FILE.c [CHECK] [RUNS]") };
    let checks = match arguments.get(1) {
        Some(name) => CCheck::parse(name),
        None => CCheck::ALL.to_vec(),
    };
    let runs = arguments.get(2).and_then(|n| n.parse().ok()).unwrap_or(100);
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return eprintln!("{path}: {error}"),
    };
    let mut sources = Sources::new();
    let start = Instant::now();
    let parsed = match parse_c(&mut sources, Path::new(path), &text, DataModel::Lp64) {
        Ok(parsed) => parsed,
        Err(diagnostics) => return eprintln!("{path}: {}", diagnostics[0].message),
    };
    if let Some(error) = parsed.diagnostics.iter().find(|d| d.is_error()) {
        return eprintln!("{}: {}", sources.place(error.span), error.message);
    }
    let module = frontend::c::core::lower_to_core(&parsed.unit);
    if core {
        print!("{}", core_lang::text::print_module(&module));
        return;
    }
    println!("lowered in {:.3} s; no row: {}", start.elapsed().as_secs_f64(), without_body(&module).join(", "));
    let campaign = Campaign {
        known_places: Vec::new(),
        seed: 1,
        wanted: checks.iter().flat_map(|c| violations_of(*c)).collect(),
        runs,
        time: Duration::from_secs(60),
        limits: ExecutionLimits::default(),
        arguments: own,
        input: Vec::new(),
    };
    let start = Instant::now();
    let report = campaign.run(&module);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} runs, {} to their end, {} cut off, {} instructions, {} threads at most, {:.1} runs/s, {:.2} M instructions/s",
        report.runs,
        report.finished,
        report.out_of_steps,
        report.instructions,
        report.most_threads,
        f64::from(report.runs) / seconds,
        report.instructions as f64 / seconds / 1e6
    );
    for (reason, span, count) in &report.stopped {
        println!("stopped {count} times: {reason} at {}", span.map_or("?".into(), |s| sources.place(s)));
    }
    for violation in &report.other_violations {
        let place = violation.span.map_or("?".into(), |s| sources.place(s));
        println!("not asked: {} at {place}: {} {}", violation.kind.title(), violation.thread, violation.message);
    }
    if let Some(found) = &report.found {
        let violation = &found.violation;
        let place = violation.span.map_or("?".into(), |s| sources.place(s));
        println!("VIOLATION: {} at {place}: {} {}", violation.kind.title(), violation.thread, violation.message);
        for (span, note) in &violation.notes {
            println!("    {}: {note}", sources.place(*span));
        }
        println!("    {} switches, {} steps", found.execution.switches, found.execution.events.len());
    }
}
