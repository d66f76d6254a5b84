//! Shows what a C file becomes: `c_model [--lp64] [--check NAME] [--search N] FILE...`.
//!
//! With `--search`, every interleaving is looked at by the reference semantics, N instances for threads of any number.

use base::{Budget, Sources};
use frontend::c::{CCheck, COptions, DataModel};
use program::semantics::{InstanceCounts, reachable_states};
use std::path::Path;
use std::time::{Duration, Instant};

fn main() {
    let mut options = COptions::default();
    let (mut search, mut quiet) = (None, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--lp64" => options.model = DataModel::Lp64,
            "--quiet" => quiet = true,
            "--check" => options.checks = args.next().map_or_else(Vec::new, |n| CCheck::parse(&n)),
            "--search" => search = args.next().and_then(|n| n.parse::<u32>().ok()),
            file => one(file, &options, search, quiet),
        }
    }
}

fn one(file: &str, options: &COptions, search: Option<u32>, quiet: bool) {
    let mut sources = Sources::new();
    let text = String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
    let start = Instant::now();
    let (program, diagnostics) = frontend::c::load_c(&mut sources, Path::new(file), &text, options);
    let took = start.elapsed();
    for d in &diagnostics {
        println!("{file}: {} {} {}", sources.place(d.span), d.message, d.label);
    }
    let Some(p) = program else { return };
    let faults = program::wellformed(&p);
    for fault in faults.iter().take(3) {
        println!("{file}: FAULT {fault}");
    }
    if !quiet {
        show(&p, &sources);
    }
    let actions: usize = p.threads.iter().map(|t| t.code.actions.len()).sum();
    let unmodelled: Vec<String> = p
        .properties
        .iter()
        .filter_map(|q| match &q.kind {
            program::PropertyKind::Unmodelled(why) => Some(format!("{} {why}", q.name)),
            _ => None,
        })
        .collect();
    print!("{file}: {} threads, {actions} actions, {} shared, {took:?}", p.threads.len(), p.shared().count());
    if let Some(any) = search {
        let limits = program::semantics::ReachLimits {
            states: 300_000,
            budget: Budget::unlimited().with_time(Duration::from_secs(10)),
            ..Default::default()
        };
        let found = reachable_states(&p, &InstanceCounts::of(&p, any), &limits);
        print!(" | {} states", found.states);
        if let Some(why) = &found.incomplete {
            print!(" ({why})");
        }
        for (id, trace) in &found.violations {
            print!(" | {} after {} steps", p.properties[*id].name, trace.steps.len());
        }
    }
    println!(" | {}", unmodelled.join("; "));
}

fn show(p: &program::Program, sources: &Sources) {
    for v in p.vars.iter() {
        let initial = v.initial.map_or("any".into(), |t| p.terms.show(t));
        println!("{:?} {}: {} = {initial}", v.scope, v.name, p.terms.sort_name(v.sort));
    }
    for t in p.threads.iter() {
        println!("thread {} {:?} entry {} exit {:?}", t.name, t.copies, t.code.entry, t.code.exit);
        for a in t.code.actions.iter() {
            let inside = if t.code.locations[a.from].in_atomic_block { "!" } else { "" };
            let line = p.origins[a.origin].span.map_or(0, |s| sources.line_of(s));
            let gates: Vec<String> = a
                .gates
                .iter()
                .map(|g| format!("{}: {}", p.properties[g.property].name, p.terms.show(g.formula)))
                .collect();
            let updates: Vec<String> =
                a.updates.iter().map(|u| format!("{} := {}", p.vars[u.var].name, p.terms.show(u.value))).collect();
            println!(
                "  {}{inside} -> {} [{:?} :{line} {}] {} / {} / {}",
                a.from,
                a.to,
                a.what,
                p.origins[a.origin].text,
                p.terms.show(a.guard),
                gates.join(", "),
                updates.join(", ")
            );
        }
    }
}
