//! Programs with any number of threads, from source text to checked verdicts; and certificates that are not quite right.

use super::Count;
use crate::method::{Method, MethodOptions, Run, Task};
use base::{Budget, Sources};
use checker::{CheckLimits, Checker, Outcome};
use evidence::{Certificate, Claim, Counting, Proof};
use frontend::lang::{LoweringSettings, lower_file, parse_file};
use program::{Program, PropertyId};
use std::path::PathBuf;
use std::sync::Arc;
use testkit::oracle::Again;

fn load(file: &str) -> Program {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file);
    load_text(file, &std::fs::read(path).unwrap())
}

fn load_text(name: &str, bytes: &[u8]) -> Program {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, name, bytes);
    let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
    lowered.program.unwrap_or_else(|| panic!("{name}: {:?}", lowered.diagnostics))
}

fn claims(p: &Program) -> Vec<(PropertyId, Claim)> {
    let properties: Vec<PropertyId> = p.properties.ids().collect();
    let task = Task { program: p.clone(), properties, threads: Default::default(), options: MethodOptions::default() };
    Count.admits(&task).expect("count admits the program");
    let run = Run::quiet(Budget::unlimited().with_time(std::time::Duration::from_secs(600)));
    Count.run(&task, &run).claims.into_iter().collect()
}

fn outcome(p: &Program, property: PropertyId, claim: &Claim) -> Outcome {
    let mut leaves = Again;
    Checker::new(p, &mut leaves, CheckLimits::default()).check(property, "count", claim).outcome()
}

/// Every property is proved and the checker agrees.
fn proves(file: &str) {
    let p = load(file);
    let all = claims(&p);
    assert!(!all.is_empty(), "{file} has properties");
    for (property, claim) in &all {
        let name = &p.properties[*property].name;
        assert!(matches!(claim, Claim::Proved(_)), "{file}: {name}: {claim:?}");
        assert_eq!(outcome(&p, *property, claim), Outcome::Safe, "{file}: {name}");
    }
}

#[test]
fn check_semaphores_counts_and_barriers_in_any_number() {
    for file in ["semaphore", "readers_writers", "reference_count", "barrier", "barrier_phases", "spinlock"] {
        proves(&format!("counting/{file}.tp"));
    }
    proves("counting/states_of_a_door.tp");
}

#[test]
fn check_tickets_and_thread_ids_in_any_number() {
    for file in ["locks/ticket_lock.tp", "counting/ticket_lock_loop.tp", "counting/owner_variable.tp"] {
        proves(file);
    }
}

#[test]
fn check_what_is_true_unless_somebody_is_changing_it_in_any_number() {
    for file in ["sequence_lock", "sequence_lock_writers", "readers_in_a_set", "readers_writers_waiting"] {
        proves(&format!("counting/{file}.tp"));
    }
}

#[test]
fn check_threads_that_are_started_in_any_number() {
    proves("counting/started_workers.tp");
}

#[test]
fn check_relies_that_are_true_of_every_run() {
    proves("counting/one_claims_the_phase.tp");
}

#[test]
fn check_the_drivers_in_any_number() {
    proves("seeds/abstract-threads/bluetooth.tp");
    // The check of the larger one by this oracle takes long; the binary's tests have it checked by cvc5.
    let battery = load("seeds/abstract-threads/battery.tp");
    assert!(claims(&battery).iter().all(|(_, c)| matches!(c, Claim::Proved(_))));
}

#[test]
fn check_nothing_is_proved_of_broken_programs() {
    let broken = [
        "counting/semaphore_early_post.tp",
        "counting/readers_writers_unchecked.tp",
        "counting/reference_count_resurrect.tp",
        "counting/barrier_never_closed.tp",
        "counting/ticket_lock_early.tp",
        "counting/owner_variable_no_wait.tp",
        "counting/states_of_a_door_unwatched.tp",
        "counting/sequence_lock_early.tp",
        "counting/readers_in_a_set_late.tp",
        "counting/started_workers_early.tp",
        "counting/one_claims_the_phase_late.tp",
        "counting/phases_hold_many.tp",
    ];
    for file in broken {
        let p = load(file);
        let open = claims(&p).iter().any(|(_, c)| matches!(c, Claim::Undecided(_)));
        assert!(open, "{file} has a property that is violated");
    }
}

/// The certificate of a program with one property.
fn certificate(file: &str) -> (Program, PropertyId, Certificate, Counting) {
    let p = load(file);
    let all = claims(&p);
    let [(property, Claim::Proved(c))] = &all[..] else { panic!("{file} has one property, and it is proved") };
    let Proof::Counting(proof) = &c.proof else { panic!("a proof by counting") };
    let proof = (**proof).clone();
    (p, *property, (**c).clone(), proof)
}

fn judged(p: &Program, property: PropertyId, whole: &Certificate, proof: Counting) -> Outcome {
    let changed = Certificate { proof: Proof::Counting(Box::new(proof)), ..whole.clone() };
    outcome(p, property, &Claim::Proved(Arc::new(changed)))
}

#[test]
fn check_each_part_of_a_certificate_about_tickets_is_needed() {
    let (p, property, whole, proof) = certificate("locks/ticket_lock.tp");
    assert_eq!(judged(&p, property, &whole, proof.clone()), Outcome::Safe);
    let t = &whole.terms;
    // Without knowing that tickets differ, nothing is exclusive.
    let without_apart = Counting { pairwise: Vec::new(), ..proof.clone() };
    assert_eq!(judged(&p, property, &whole, without_apart), Outcome::Unknown);
    // Nor without what the holder relies on.
    let mut alone = proof.clone();
    alone.counters.iter_mut().for_each(|c| c.holds = t.tt());
    assert_eq!(judged(&p, property, &whole, alone), Outcome::Unknown);
    // Without exclusion, the invariant about the counter is not inductive.
    let mut free = proof.clone();
    free.exclusive.clear();
    assert_eq!(judged(&p, property, &whole, free), Outcome::Unknown);
    // Cells that do not exclude each other: everybody may wait at once.
    let mut more = proof.clone();
    more.exclusive = (0..proof.counters.len()).map(|c| (c, c)).collect();
    assert_eq!(judged(&p, property, &whole, more), Outcome::Unknown);
    // That two instances contradict each other where nothing says so.
    let mut bold = proof.clone();
    let n = bold.counters.len();
    bold.pairwise = (0..n).flat_map(|a| (a..n).map(move |b| (a, b, t.ff()))).collect();
    assert_eq!(judged(&p, property, &whole, bold), Outcome::Unknown);
    // The invariant must be there.
    let weak = Counting { invariant: proof.invariant.iter().map(|(at, _)| (at.clone(), t.tt())).collect(), ..proof };
    assert_eq!(judged(&p, property, &whole, weak), Outcome::Unknown);
}

/// The proof of everything in a program as a proof of one property.
fn proof_of(p: &Program, property: &str) -> (PropertyId, Certificate, Counting) {
    let id = p.properties.ids().find(|q| p.properties[*q].name == property).expect("there is such a property");
    let claims = claims(p);
    let proved = claims.iter().find_map(|(_, c)| if let Claim::Proved(c) = c { Some(c) } else { None });
    let whole = Certificate { properties: vec![id], ..(**proved.expect("something is proved")).clone() };
    let Proof::Counting(proof) = &whole.proof else { panic!("a proof by counting") };
    let proof = (**proof).clone();
    (id, whole, proof)
}

#[test]
fn check_a_thread_that_is_started_is_counted() {
    let p = load("counting/started_workers.tp");
    let (property, whole, proof) = proof_of(&p, "assert:19");
    assert_eq!(judged(&p, property, &whole, proof.clone()), Outcome::Safe);
    let t = &whole.terms;
    // That no instance is ever there does not survive the first start.
    let mut empty = proof.clone();
    let none = t.and(&proof.counters.iter().map(|c| t.eq(t.sym(c.symbol), t.int(0))).collect::<Vec<_>>());
    empty.invariant.iter_mut().for_each(|(_, f)| *f = t.and(&[*f, none]));
    assert_eq!(judged(&p, property, &whole, empty), Outcome::Unknown);
    // What an instance relies on at its entry must be true when it is started.
    let entry = |c: &evidence::Counter| c.location == p.threads[c.thread].code.entry;
    let total = p.shared().find(|v| p.vars[*v].name == "total").expect("there is a total");
    let mut bold = proof.clone();
    let early = t.eq(t.sym(p.vars[total].symbol), t.int(0));
    bold.counters.iter_mut().filter(|c| entry(c)).for_each(|c| c.holds = early);
    assert_eq!(judged(&p, property, &whole, bold), Outcome::Unknown);
    // It must be in a cell, whatever it is started with.
    let step = p.vars.iter().find(|v| v.name == "step").expect("there is a parameter");
    let mut narrow = proof.clone();
    narrow.counters.iter_mut().filter(|c| entry(c)).for_each(|c| c.cell = t.eq(t.sym(step.symbol), t.int(2)));
    assert_eq!(judged(&p, property, &whole, narrow), Outcome::Unknown);
    // Two of them may be started alike.
    let mut apart = proof;
    let (k, _) = apart.counters.iter().enumerate().find(|(_, c)| entry(c)).expect("there is an entry");
    apart.pairwise.push((k, k, t.ff()));
    assert_eq!(judged(&p, property, &whole, apart), Outcome::Unknown);
}

#[test]
fn check_a_rely_that_a_step_breaks_is_not_proved() {
    let text = std::fs::read_to_string(
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/counting/one_claims_the_phase.tp"),
    );
    let text = text.expect("the program is there");
    let p = load_text("phase.tp", text.as_bytes());
    let (property, whole, proof) = proof_of(&p, "rely:10");
    assert_eq!(judged(&p, property, &whole, proof), Outcome::Safe);
    // The same facts, and a rely that the last step breaks.
    let p = load_text(
        "phase.tp",
        text.replace(
            "owner' == owner;",
            "owner' == owner && phase' == phase;\nrely phase' == phase || phase' != Done;",
        )
        .as_bytes(),
    );
    let (property, whole, proof) = proof_of(&p, "rely:11");
    assert_eq!(judged(&p, property, &whole, proof), Outcome::Unknown);
}

#[test]
fn check_the_second_instance_has_symbols_of_its_own() {
    let (p, property, whole, proof) = certificate("locks/ticket_lock.tp");
    let mut same = proof.clone();
    same.peer_copy.iter_mut().for_each(|(x, y)| *y = *x);
    assert_eq!(judged(&p, property, &whole, same), Outcome::Unknown);
    let mut one = proof.clone();
    let first = one.peer_copy[0].1;
    one.peer_copy.iter_mut().for_each(|(_, y)| *y = first);
    assert_eq!(judged(&p, property, &whole, one), Outcome::Unknown);
    let mut counter = proof.clone();
    counter.peer_copy[0].1 = counter.counters[0].symbol;
    assert_eq!(judged(&p, property, &whole, counter), Outcome::Unknown);
    let mut missing = proof;
    missing.peer_copy.pop();
    assert_eq!(judged(&p, property, &whole, missing), Outcome::Unknown);
}

#[test]
fn check_what_two_instances_rely_on_is_about_them_alone() {
    // `pairwise` may not mention the shared store: no obligation says that others leave it true.
    let (p, property, whole, mut proof) = certificate("locks/ticket_lock.tp");
    let t = &whole.terms;
    let next = p.shared().next().expect("there is a shared variable");
    let about_the_store = t.le(t.int(0), t.sym(p.vars[next].symbol));
    for (_, _, f) in &mut proof.pairwise {
        *f = t.and(&[*f, about_the_store]);
    }
    assert_eq!(judged(&p, property, &whole, proof), Outcome::Unknown);
}

#[test]
fn check_locals_that_are_forgotten_are_named() {
    let text = "var x: int = 0;\nthread T[*] { var kept: int; kept := x; x := kept + 1; assert x > kept - 1; }\n";
    let p = load_text("forgotten.tp", text.as_bytes());
    for (_, claim) in claims(&p) {
        match claim {
            Claim::Undecided(why) => assert!(why.to_string().contains("the values of kept were forgotten"), "{why}"),
            Claim::Proved(_) => panic!("another thread may write in between"),
            _ => {}
        }
    }
}

#[test]
fn check_a_proof_says_only_what_its_properties_need() {
    let text = b"var m: lock;\nvar n: int = 0;\nvar inside: int = 0;\nthread T[*] {\n  var x: int;\n  x := n;\n  acquire m;\n  \
        inside := inside + 1;\n  if x <= n {\n    n := n + 1;\n  }\n  assert inside == 1;\n  inside := inside - 1;\n  release m;\n}\n";
    let p = load_text("idle.tp", text);
    let n = p.vars.iter().find(|v| v.name == "n").expect("declared").symbol;
    for (property, claim) in claims(&p) {
        assert_eq!(outcome(&p, property, &claim), Outcome::Safe);
        let Claim::Proved(certificate) = claim else { panic!("proved") };
        let Proof::Counting(proof) = &certificate.proof else { panic!("by counting") };
        // That `x <= n` while somebody is between the two is true, and kept by every step.
        assert!(proof.counters.iter().all(|c| !certificate.terms.free_symbols(c.holds).contains(&n)));
    }
}

#[test]
fn check_what_a_short_run_contradicts_is_no_candidate() {
    let p = load("counting/spinlock.tp");
    let mut smt = solver::Z3::new(&p.terms, solver::SolverSettings::default(), &Budget::unlimited()).unwrap();
    let system = super::system::CountedSystem::new(&p, &p.terms, &mut smt).unwrap_or_else(|_| panic!("few cells"));
    let t = &p.terms;
    let somebody = |k: usize| t.le(t.int(1), t.sym(system.groups[k].symbol));
    let mut facts: Vec<logic::Term> = (0..system.groups.len()).map(|k| t.not(somebody(k))).collect();
    facts.push(t.le(t.int(0), t.sym(system.groups[0].symbol)));
    let kept = *facts.last().expect("just added");
    let mut cells = super::system::CellFacts { holds: vec![vec![t.ff()]; system.cells.len()], ..Default::default() };
    super::seen::refute(&system, &mut facts, &mut cells);
    assert_eq!(facts, [kept], "every group is entered in some run");
    assert!(cells.holds.iter().all(Vec::is_empty), "every cell is entered in some run");
}
