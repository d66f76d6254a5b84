//! Proposed machines and properties of machines, on programs of few lines.

use super::Conform;
use super::propose::{conforms_to, propose_machine};
use crate::explore::parsed;
use crate::method::{Method, Run, Task};
use base::Budget;
use evidence::{Claim, Claims};
use program::{Program, PropertyKind, ThreadId};

const FIGURE2: &str = "var g: int; init g > 0;
    thread A { var x: int := 1; while * { if * { x := g; } else { x := x + 1; } } g := x; }
    thread B { var y: int := 1; while * { y := y + 1; } g := y; assert g > 0; }";

fn quiet() -> Run {
    Run::quiet(Budget::unlimited())
}

/// The proposal for a thread, as it reads back: the program with its text, and the number of its states.
fn read_back(text: &str, thread: u32) -> (Program, usize, String) {
    let p = parsed(text);
    let proposal = propose_machine(&p, ThreadId(thread), &quiet()).unwrap_or_else(|why| panic!("{text}: {why}"));
    let whole = parsed(&format!("{text}\n{}", proposal.text));
    let name = &proposal.program.machines[proposal.machine].name;
    let (id, machine) = whole.machines.iter_enumerated().find(|(_, m)| m.name == *name).expect("it is in the text");
    assert!(conforms_to(&whole, ThreadId(thread), id, &quiet()), "{}", proposal.text);
    let states = machine.states.len();
    (whole, states, proposal.text)
}

#[test]
fn check_the_threads_of_figure_2_get_machines_of_two_states_without_quantifiers() {
    for thread in [0, 1] {
        let (_, states, text) = read_back(FIGURE2, thread);
        assert_eq!(states, 2, "{text}");
        assert!(!text.contains("exists") && !text.contains("forall"), "{text}");
    }
}

#[test]
fn check_what_a_thread_does_not_keep_is_in_no_proposal() {
    let (_, _, text) = read_back(&FIGURE2.replace("var x: int := 1", "var x: int := -1"), 0);
    assert!(!text.contains("g' > 0") && !text.contains("0 < g'"), "{text}");
}

#[test]
fn check_random_threads_get_machines_that_read_back() {
    let (mut shown, many) = (0_usize, if std::env::var_os("THREADPROOF_HUNT").is_some() { 60_usize } else { 12 });
    for seed in 0..many as u64 {
        let text = random_thread(seed);
        let p = parsed(&text);
        let Ok(proposal) = propose_machine(&p, ThreadId(0), &quiet()) else { continue };
        let whole = parsed(&format!("{text}\n{}", proposal.text));
        let machine = whole.machines.ids().last().expect("it is in the text");
        shown += usize::from(conforms_to(&whole, ThreadId(0), machine, &quiet()));
    }
    eprintln!("machines for {shown} of {many} threads");
    assert!(shown * 12 >= many * 11, "{shown} of {many}");
}

/// A thread over two numbers and a flag, with branches, a loop, locals and checks.
fn random_thread(seed: u64) -> String {
    let mut random = base::Random::new(seed);
    let mut body = String::new();
    let value = |random: &mut base::Random| ["a", "b", "x", "1", "0", "x + 1", "a + b", "b - x"][random.below(8)];
    let condition = |random: &mut base::Random| ["a > 0", "x > 0", "x == 1", "flag", "*", "a < b"][random.below(6)];
    let step = |random: &mut base::Random| match random.below(6) {
        0 => format!("a := {};", value(random)),
        1 => format!("b := {};", value(random)),
        2 => format!("x := {};", value(random)),
        3 => "flag := !flag;".into(),
        4 => format!("assume {};", ["a >= 0", "flag", "x >= 0", "b != 1"][random.below(4)]),
        _ => format!("assert {};", ["a >= 0", "x >= 0", "b + 1 > b"][random.below(3)]),
    };
    for _ in 0..2 + random.below(4) {
        match random.below(4) {
            0 => {
                body += &format!(
                    "if {} {{ {} }} else {{ {} }}",
                    condition(&mut random),
                    step(&mut random),
                    step(&mut random)
                )
            }
            1 => body += &format!("while {} {{ {} }}", condition(&mut random), step(&mut random)),
            _ => body += &step(&mut random),
        }
        body.push('\n');
    }
    format!("var a: int = 0; var b: int = 0; var flag: bool = false; thread T {{ var x: int := 0; {body} }}")
}

fn claims(text: &str) -> (Program, Claims) {
    let p = parsed(text);
    let task = Task {
        properties: p.properties.ids().collect(),
        program: p.clone(),
        threads: Default::default(),
        options: Default::default(),
    };
    let conform = Conform { composition: Vec::new(), calls: None, facts: Vec::new() };
    let claims = conform.run(&task, &quiet());
    (p, claims)
}

#[test]
fn check_machines_that_assert_nothing_make_a_program_safe_without_any_search() {
    let text = "var g: int = 0; machine M { start S; S -> S : <g> true; }
        thread T[*] follows M { var x: int := 1; while * { g := x; x := x + 1; } assert x > 0; }";
    let (_, found) = claims(text);
    assert!(found.claims.values().all(|c| matches!(c, Claim::Proved(_))), "{:?}", found.claims);
    // With something asserted it takes a proof of the composition, and here no method is given for one.
    let (p, found) = claims(&text.replace("start S", "start S asserts g >= 0"));
    for (q, claim) in &found.claims {
        let follows = matches!(p.properties[*q].kind, PropertyKind::Follows(_));
        assert_eq!(matches!(claim, Claim::Proved(_)), follows, "{claim:?}");
    }
}

#[test]
fn check_quantifiers_in_edges_are_decided_both_ways() {
    let text = "var g: int = 0; machine M { start S; S -> S : <g> exists x: int :: g' == x + x; } thread T follows M { g := NUMBER; }";
    let of = |number: &str| claims(&text.replace("NUMBER", number)).1.claims.into_values().next().expect("a claim");
    assert!(matches!(of("8"), Claim::Proved(_)), "{:?}", of("8"));
    assert!(!matches!(of("7"), Claim::Proved(_)), "{:?}", of("7"));
}

#[test]
fn check_a_run_ends_at_the_first_step_that_no_machine_state_follows() {
    let text = "var g: int = 0; strict machine M { start A; state B; state C; A -> B : <g> g' == g + 1; B -> C : <g> g' == g + 1; }
        thread T follows M { var i: int; g := g + 1; i := g; g := i + 1; }";
    let (p, found) = claims(text);
    let Some(Claim::Refuted(evidence::Counterexample::LocalRun(run))) = found.claims.values().next() else {
        panic!("{:?}", found.claims)
    };
    assert!(checker::rules::local_run::replay_local_run(&p, run).is_ok(), "{run:?}");
}
