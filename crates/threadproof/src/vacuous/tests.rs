//! Each kind of vacuity with its line, and a twin that has nothing to warn of.

use super::*;
use base::Sources;
use methods::{MethodOptions, Task};

fn load(text: &str) -> (Program, Sources) {
    let mut sources = Sources::new();
    let parsed = frontend::lang::parse_file(&mut sources, "test.tp", text.as_bytes());
    let settings = frontend::lang::LoweringSettings { constants: Vec::new(), copies: Vec::new() };
    let lowered = frontend::lang::lower_file(&parsed, &sources, &settings);
    (lowered.program.unwrap_or_else(|| panic!("{:?}", lowered.diagnostics)), sources)
}

/// Codes and lines.
fn places(warnings: &[VacuityWarning], sources: &Sources) -> Vec<(&'static str, usize)> {
    let line = |w: &VacuityWarning| w.span.map_or(0, |s| sources.file(s.file).position(s.start).0);
    warnings.iter().map(|w| (w.code, line(w))).collect()
}

fn written(text: &str) -> Vec<(&'static str, usize)> {
    let (p, sources) = load(text);
    places(&warnings(&p, &|_| true), &sources)
}

/// What a search says, with all properties asked for, or those whose name starts so.
fn searched(text: &str, asked: &str) -> Vec<(&'static str, usize)> {
    let (program, sources) = load(text);
    let named = |(_, q): &(PropertyId, &program::Property)| q.name.starts_with(asked);
    let properties: Vec<PropertyId> = program.properties.iter_enumerated().filter(named).map(|(id, _)| id).collect();
    let task = Task {
        program,
        properties: properties.clone(),
        threads: Default::default(),
        options: MethodOptions::default(),
    };
    places(&reached::warnings(&task, &properties, &Budget::unlimited()), &sources)
}

#[test]
fn check_a_program_without_a_run_a_thread_or_a_property_is_warned_of() {
    assert_eq!(written("var x: int = 0;\ninit x == 1;\nthread T { assert false; }\n"), [(NO_FIRST_STORE, 2)]);
    assert_eq!(written("var x: int = 0;\n"), [(NOTHING_RUNS, 0), (NO_PROPERTY, 0)]);
    assert_eq!(written("var x: int = 0;\nthread T { x := 1; }\n"), [(NO_PROPERTY, 0)]);
    assert_eq!(written("var x: int = 0;\nthread T { x := 1; assert x == 1; }\n"), []);
}

#[test]
fn check_preconditions_that_no_call_satisfies_are_warned_of() {
    let with = |requires: &str| {
        format!("var x: int = 0;\nproc p(n: int)\n  requires {requires};\n{{ x := n; assert x > 0; }}\n")
    };
    assert_eq!(written(&with("n > 0 && n < 0")), [(NO_SUCH_CALL, 3)]);
    assert_eq!(written(&with("n > 0")), []);
}

#[test]
fn check_relies_that_are_false_or_forbid_idle_steps_are_warned_of() {
    let with = |rely: &str| format!("var x: int = 0;\nrely {rely};\nthread T[*] {{ x := x + 1; assert x > 0; }}\n");
    assert_eq!(written(&with("x' > x && x' < x")), [(FALSE_RELY, 2)]);
    assert_eq!(written(&with("x' > x")), [(NOT_REFLEXIVE, 2)]);
    assert_eq!(written(&with("x' >= x")), []);
}

#[test]
fn check_a_check_that_nothing_calls_is_warned_of() {
    let text = |body: &str| {
        format!("var x: int = 0;\nproc p() {{\n  assert x == 7; }}\nthread T {{ {body} assert x == 0; }}\n")
    };
    assert_eq!(written(&text("")), [(NOT_IN_RUNNING_CODE, 3)]);
    assert_eq!(written(&text("p();")), []);
    // Callers from outside return from every procedure of a file without threads.
    assert_eq!(written("var x: int = 0;\nproc p() returns (r: int) ensures r == 0; { r := 0; return r; }\n"), []);
}

#[test]
fn check_code_that_no_run_reaches_is_warned_of() {
    let text =
        |value: i32| format!("var x: int = 0;\nthread T {{\n  assume x == {value};\n  assert x == {value};\n}}\n");
    assert_eq!(searched(&text(5), ""), [(NEVER_REACHED, 4), (ALL_STOP_HERE, 3)]);
    assert_eq!(searched(&text(0), ""), []);
    // What fails wherever it is reached is meant not to be reached.
    assert_eq!(searched("var x: int = 0;\nthread T {\n  if x == 1 {\n    assert false; }\n}\n", ""), []);
}

#[test]
fn check_runs_that_end_at_a_violation_that_was_not_asked_about_are_warned_of() {
    let text = "var x: int = 0;\nthread T {\n  x := 1 / x;\n  assert x == 1;\n}\n";
    let found = searched(text, "assert");
    assert!(found.contains(&(ENDS_BEFORE, 3)), "{found:?}");
    assert!(!searched(text, "").iter().any(|(code, _)| *code == ENDS_BEFORE));
}

#[test]
fn check_a_requires_that_no_caller_can_meet_is_warned_of_at_its_line() {
    let called = |text: &str| {
        let (program, sources) = load(text);
        let properties: Vec<PropertyId> = program.properties.ids().collect();
        let task = Task {
            program,
            properties: properties.clone(),
            threads: Default::default(),
            options: MethodOptions::default(),
        };
        places(&called::warnings(&task, &properties, &Budget::unlimited()), &sources)
    };
    let with = |requires: &str, written: &str| {
        format!(
            "var x: int = 0;\nproc p()\n  requires {requires};\n{{ assert false; }}\nproc q() {{ x := {written}; }}\n"
        )
    };
    assert_eq!(called(&with("x == 5", "1")), [(NO_SUCH_CALL, 3)]);
    assert_eq!(called(&with("x == 5", "5")), []);
    assert_eq!(called(&with("x < 0", "if x < 3 then x + 1 else 0")), [(NO_SUCH_CALL, 3)]);
    // Said already, of the text alone.
    assert_eq!(called(&with("x > 0 && x < 0", "1")), []);
    // Far away, but there: neither the search nor a proof answers.
    assert_eq!(called(&with("x == 50", "x + 1")), []);
    let argument = "var x: int = 0;\nproc p(n: int)\n  requires n == 77;\n{ x := n; assert x == 77; }\n";
    assert_eq!(called(argument), []);
    // What one procedure requires another one may bring about, though its own call goes wrong behind it.
    let chain = "var x: int = 0;\nproc a() requires x == 0; { x := 1; }\nproc b() requires x == 1; { x := 2; assert x == 2; }\n";
    assert_eq!(called(chain), []);
    // No client holds the lock when it calls `get`, but `both` does.
    let inside = "var m: lock;\nvar x: int guarded_by m;\nproc get() returns (r: int)\n  requires m == tid;\n{ r := x; return r; }\n";
    assert_eq!(called(inside), [(NO_SUCH_CALL, 4)]);
    let both = "proc both() { var r: int; acquire m; r := get(); release m; }\n";
    assert_eq!(called(&format!("{inside}{both}")), []);
}
