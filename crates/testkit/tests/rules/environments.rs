//! Rule `environments`.

use crate::case::Case;
use evidence::{Environments, InstanceSymbols, Proof};
use logic::Sort;

/// Two threads count, one looks. `x` is the number of steps taken.
pub(crate) const TWO: &str = "var x: int = 0;\ninvariant x <= 2;\nrely x' >= x;\nthread A { x := x + 1; assert x >= 1; }\nthread B { x := x + 1; }\n";

/// The one instance of each thread, with symbols `LOCAL.1`, `LOCAL.1'`, `pc.1`, `pc.1'` for the first and so on.
pub(crate) fn instances(case: &mut Case) -> Vec<InstanceSymbols> {
    let mut out = Vec::new();
    for (i, thread) in case.program.threads.ids().enumerate() {
        let locals = case.program.threads[thread].locals.clone();
        let pc = format!("pc.{}", i + 1);
        let pc = (case.symbol(&pc, Sort::INT), case.symbol(&format!("{pc}'"), Sort::INT));
        let locals = locals
            .into_iter()
            .map(|v| {
                let (name, sort) = (case.program.vars[v].name.clone(), case.program.vars[v].sort);
                let name = format!("{name}.{}", i + 1);
                (case.symbol(&name, sort), case.symbol(&format!("{name}'"), sort))
            })
            .collect();
        out.push(InstanceSymbols { thread, locals, pc });
    }
    out
}

#[test]
fn check_a_formula_does_not_bind_what_the_rule_puts_in() {
    let text = "var y: int = 0;\nthread A { y := 1; }\nthread B { var b: int := 0; b := b + 1; assert b == 0; }\n";
    let mut case = Case::new(text);
    let instances = instances(&mut case);
    // It says "b is 0 where B asserts it"; read with the value after a step under its binder, it would be true of every value.
    let forged = case.term("(or (!= pc.2 3) (exists b.2' (and (= b.2' 0) (= b.2 0))))");
    let locations = |name: &str, case: &Case| case.program.threads[case.thread(name)].code.locations.len();
    let yes = case.term("true");
    let proof = |about_b| {
        Proof::Environments(Environments {
            instances: instances.clone(),
            reach: vec![vec![about_b; locations("A", &case)], vec![yes; locations("B", &case)]],
            environment: vec![yes; 2],
        })
    };
    case.rejected(proof(forged), "assert:3", "b.2'");
    case.rejected(proof(yes), "assert:3", "assert:3");
}

/// What each reaches, with the other's control, and what the other does. The locations of A are 0, 2, 1 in the order of its code.
pub(crate) fn two(case: &mut Case) -> Environments {
    let instances = instances(case);
    let one_more = |other: &str, x: usize| {
        case.term(&format!("(or (and (= {other} 0) (= x {x})) (and (!= {other} 0) (= x {})))", x + 1))
    };
    Environments {
        instances,
        reach: vec![
            vec![one_more("pc.2", 0), one_more("pc.2", 1), one_more("pc.2", 1)],
            vec![one_more("pc.1", 0), one_more("pc.1", 1)],
        ],
        environment: vec![
            case.term("(and (= pc.2 0) (= pc.2' 1) (= x' (+ x 1)))"),
            case.term("(or (and (= pc.1 0) (= pc.1' 2) (= x' (+ x 1))) (and (= pc.1 2) (= pc.1' 1) (= x' x)))"),
        ],
    }
}

#[test]
fn check_a_certificate_with_all_premises_is_accepted() {
    let mut case = Case::new(TWO);
    let proof = two(&mut case);
    for property in ["assert:4", "invariant:2", "rely:3"] {
        case.accepted(Proof::Environments(proof.clone()), property);
    }
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    let mut case = Case::new(TWO);
    let proof = two(&mut case);
    let lacks = |premise: &str, property: &str, change: &dyn Fn(&mut Environments)| {
        let mut changed = proof.clone();
        change(&mut changed);
        case.lacks(Proof::Environments(changed), property, premise);
    };
    lacks("CS1", "assert:4", &|p| p.reach[0][0] = case.term("(= x 1)"));
    lacks("CS2", "assert:4", &|p| p.reach[0][2] = case.term("(= x 3)"));
    lacks("CS3", "assert:4", &|p| p.environment[0] = case.term("true"));
    lacks("CS4", "assert:4", &|p| p.environment[0] = case.term("(= x' x)"));
    lacks("CS4", "assert:4", &|p| p.environment[1] = case.term("(and (= pc.1 0) (= pc.1' 2) (= x' (+ x 1)))"));
    lacks("CS5", "assert:4", &|p| {
        p.reach.iter_mut().flatten().for_each(|f| *f = case.term("true"));
        p.environment.iter_mut().for_each(|f| *f = case.term("true"));
    });
    lacks("CS5", "invariant:2", &|p| {
        p.reach.iter_mut().flatten().for_each(|f| *f = case.term("true"));
        p.environment.iter_mut().for_each(|f| *f = case.term("true"));
    });
    let mut broken = Case::new(&TWO.replace("x' >= x", "x' == x"));
    let proof = two(&mut broken);
    broken.lacks(Proof::Environments(proof), "rely:3", "CS5");
}

#[test]
fn check_a_certificate_that_does_not_fit_is_rejected() {
    let mut case = Case::new(TWO);
    let proof = two(&mut case);
    let rejected = |because: &str, change: &dyn Fn(&mut Environments)| {
        let mut changed = proof.clone();
        change(&mut changed);
        case.rejected(Proof::Environments(changed), "assert:4", because);
    };
    rejected("not those of the program", &|p| {
        p.instances.pop();
    });
    rejected("not a new one", &|p| p.instances[1].pc.1 = p.instances[1].pc.0);
    rejected("for each instance", &|p| {
        p.environment.pop();
    });
    rejected("for each location", &|p| {
        p.reach[1].pop();
    });
    // Its own control is not for an instance to speak of: the rule puts it in.
    rejected("pc.1", &|p| p.reach[0][0] = case.term("(= pc.1 0)"));
    rejected("pc.2'", &|p| p.reach[0][0] = case.term("(= pc.2' 0)"));
    rejected("not a formula", &|p| p.environment[0] = case.term("x"));
    let mut any = Case::new(&TWO.replace("thread B", "thread B[*]"));
    let proof = two(&mut any);
    any.rejected(Proof::Environments(proof), "assert:4", "fixed number of threads");
}

/// A block of several steps: inside it x is 1, which nobody else sees.
const BLOCK: &str = "var x: int = 0;\nthread A { var i: int := 0; atomic { x := 1; while i < 2 { i := i + 1; } x := 0; } }\nthread B { assert x == 0; }\n";

/// B relies on x being 0 unless A is inside its block.
fn block(case: &mut Case) -> Environments {
    let instances = instances(case);
    let code = |name: &str, case: &Case| case.program.threads[case.thread(name)].code.clone();
    let (a, b) = (code("A", case), code("B", case));
    let zero = case.term("(= x 0)");
    let (yes, inside): (Vec<_>, Vec<_>) = (
        a.locations.iter().map(|l| if l.in_atomic_block { case.term("true") } else { zero }).collect(),
        a.locations
            .iter_enumerated()
            .filter(|(_, l)| l.in_atomic_block)
            .map(|(at, _)| format!("(= pc.1 {})", at.0))
            .collect(),
    );
    let outside = format!("(or (= x 0) {})", inside.join(" "));
    assert!(!inside.is_empty(), "the block has several steps");
    let after = outside.replace("x 0", "x' 0").replace("pc.1", "pc.1'");
    Environments {
        instances,
        reach: vec![yes, vec![case.term(&outside); b.locations.len()]],
        environment: vec![case.term("(= x' x)"), case.term(&after)],
    }
}

#[test]
fn check_nobody_moves_while_another_is_inside_an_atomic_block() {
    let mut case = Case::new(BLOCK);
    let proof = block(&mut case);
    case.accepted(Proof::Environments(proof.clone()), "assert:3");
    // The same steps, not in a block.
    let mut open = Case::new(&BLOCK.replace(
        "atomic { x := 1; while i < 2 { i := i + 1; } x := 0; }",
        "x := 1; while i < 2 { i := i + 1; } x := 0;",
    ));
    let wrong = {
        let instances = instances(&mut open);
        let zero = open.term("true");
        let a = open.program.threads[open.thread("A")].code.locations.len();
        let b = open.program.threads[open.thread("B")].code.locations.len();
        Environments { instances, reach: vec![vec![zero; a], vec![open.term("true"); b]], environment: vec![zero; 2] }
    };
    open.lacks(Proof::Environments(wrong), "assert:3", "CS5");
}
