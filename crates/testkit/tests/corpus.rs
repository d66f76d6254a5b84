//! The corpus against the reference semantics: every program is lowered and well formed; where a small search is
//! complete, what it finds is the truth that a person decided; every violation found replays.

use base::Sources;
use frontend::lang::{self, LoweringSettings};
use program::semantics::{InstanceCounts, ReachLimits, reachable_states, replay_trace};
use program::{Program, Property, PropertyKind};
use testkit::corpus::{self, Entry, Truth};

fn lower(e: &Entry) -> Result<(Program, Sources), String> {
    let mut sources = Sources::new();
    let parsed = lang::parse_file(&mut sources, e.name.clone(), &e.bytes);
    // A name of the instance line is a constant or a thread.
    let text = String::from_utf8_lossy(&e.bytes).into_owned();
    let is_constant = |n: &str| text.lines().any(|l| l.trim_start().starts_with(&format!("const {n}:")));
    let is_thread = |n: &str| text.lines().any(|l| l.trim_start().starts_with(&format!("thread {n}[")));
    let settings = LoweringSettings {
        constants: e.instance.iter().filter(|(n, _)| is_constant(n)).cloned().collect(),
        copies: e
            .instance
            .iter()
            .filter(|(n, _)| is_thread(n))
            .filter_map(|(n, v)| Some((n.clone(), v.parse().ok()?)))
            .collect(),
    };
    let lowered = lang::lower_file(&parsed, &sources, &settings);
    match lowered.program {
        Some(p) => Ok((p, sources)),
        None => {
            Err(lowered.diagnostics.iter().map(|d| base::render_diagnostic(d, &sources, base::Colour::Plain)).collect())
        }
    }
}

fn programs() -> Vec<Entry> {
    let all = corpus::read(&corpus::root(), &["tp"]).expect("the corpus can be read");
    all.into_iter().filter(|e| e.truth.is_some()).collect()
}

#[test]
fn check_every_program_is_lowered_and_well_formed() {
    let mut wrong = Vec::new();
    for e in programs() {
        match lower(&e) {
            Err(why) => wrong.push(format!("{}: {why}", e.name)),
            Ok((p, _)) => {
                let faults = program::wellformed(&p);
                wrong.extend(faults.iter().map(|f| format!("{}: {f}", e.name)));
                let text = program::text::print_program(&p);
                match program::text::read_program(&text) {
                    Ok(q) if program::text::print_program(&q) == text => {}
                    Ok(_) => wrong.push(format!("{}: the text form changes", e.name)),
                    Err(why) => wrong.push(format!("{}: the text form: {why}", e.name)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Properties whose violation is a run of the program.
fn seen_by_runs(kind: &PropertyKind) -> bool {
    !matches!(
        kind,
        PropertyKind::Performs(_)
            | PropertyKind::Follows(_)
            | PropertyKind::Linearizable(_)
            | PropertyKind::Unmodelled(_)
    )
}

/// Properties that the command line asks for.
fn of_states(kind: &PropertyKind) -> bool {
    matches!(kind, PropertyKind::Deadlock | PropertyKind::Leak)
}

fn in_gates(kind: &PropertyKind) -> bool {
    seen_by_runs(kind) && !matches!(kind, PropertyKind::Invariant(_) | PropertyKind::Rely(_)) && !of_states(kind)
}

#[test]
fn check_the_reference_semantics_agrees_with_the_truth() {
    let limits = ReachLimits { states: 2_500, ..ReachLimits::default() };
    let (mut wrong, mut complete, mut refuted) = (Vec::new(), 0, 0);
    for e in programs() {
        let Ok((mut p, sources)) = lower(&e) else { continue };
        if e.deadlock.is_some() {
            let origin = p.add_origin(None, "no thread waits for ever");
            p.properties.push(Property { kind: PropertyKind::Deadlock, name: "deadlock".into(), origin });
        }
        if e.leaks.is_some() {
            let origin = p.add_origin(None, "nothing is lost");
            p.properties.push(Property { kind: PropertyKind::Leak, name: "leak".into(), origin });
        }
        if p.threads.is_empty() || program::wellformed(&p) != vec![] {
            continue;
        }
        let r = reachable_states(&p, &InstanceCounts::of(&p, 2), &limits);
        complete += usize::from(r.complete());
        refuted += usize::from(!r.violations.is_empty());
        for (id, trace) in &r.violations {
            let property = &p.properties[*id];
            // The end of the model (a recursive call that is not looked into) is no failure of the program.
            if matches!(property.kind, PropertyKind::Unmodelled(_)) {
                continue;
            }
            if of_states(&property.kind) {
                let stuck = property.kind == PropertyKind::Deadlock;
                if let Err(why) = replay_trace(&p, trace) {
                    wrong.push(format!("{}: the {} does not replay: {why}", e.name, property.name));
                }
                if (if stuck { e.deadlock } else { e.leaks }) == Some(false) {
                    wrong.push(format!("{}: a {} is reached and should not be", e.name, property.name));
                }
                continue;
            }
            if let Err(why) = replay_trace(&p, trace) {
                wrong.push(format!("{}: the run to {} does not replay: {why}", e.name, property.name));
            }
            let line = p.origins[property.origin].span.map(|s| sources.line_of(s));
            let marked = line.and_then(|l| e.lines.get(&l)).copied();
            // Access predicates and contracts of procedures speak of any caller; a run is still a violation.
            if e.truth == Some(Truth::Safe) || marked == Some(Truth::Safe) {
                wrong.push(format!("{}: {} is violated and should not be", e.name, property.name));
            }
        }
        for (wanted, kind) in [(e.deadlock, PropertyKind::Deadlock), (e.leaks, PropertyKind::Leak)] {
            let found = r.violations.keys().any(|id| p.properties[*id].kind == kind);
            if wanted == Some(true) && r.complete() && !found {
                wrong.push(format!("{}: a {kind:?} should be reached and is not", e.name));
            }
        }
        // A marked property that a complete search does not violate is wrong, if a run can violate it at all.
        if r.complete() {
            for (line, truth) in &e.lines {
                let on_line = |id: program::PropertyId| {
                    let o = p.properties[id].origin;
                    p.origins[o].span.is_some_and(|s| sources.line_of(s) == *line)
                };
                let here: Vec<program::PropertyId> = p.properties.ids().filter(|id| on_line(*id)).collect();
                let by_runs = here.iter().all(|id| seen_by_runs(&p.properties[*id].kind)) && !here.is_empty();
                // A run ends at the first failing gate, which may hide a failure behind it.
                let hidden = r.violations.keys().any(|id| !here.contains(id) && in_gates(&p.properties[*id].kind));
                let found = here.iter().any(|id| r.violations.contains_key(id));
                if *truth == Truth::Unsafe && by_runs && !found && !hidden {
                    wrong.push(format!("{}: line {line} should be violated and is not", e.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{complete} complete, {refuted} refuted\n{}", wrong.join("\n"));
    assert!(complete > 40 && refuted > 20, "{complete} complete, {refuted} refuted");
}
