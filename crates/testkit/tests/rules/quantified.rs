//! Rule `quantified`: accepted certificates, and for each premise and side condition one that lacks it.

use crate::case::Case;
use evidence::{InstanceCount, NAMED_INSTANCES, Proof, QuantifiedFact, QuantifiedProof};
use logic::{Sort, Symbol};
use program::{LocId, VarId};

/// A lock that does not say who holds it, and any number of threads that take it.
pub(crate) const LOCKED: &str = "var taken: int = 0;\nvar x: int = 0;\ninvariant taken <= 1;\nthread T[*] { var k: int = 0; atomic { assume taken == 0; taken := 1; } x := tid; assert x == tid; taken := 0; }\n";

/// Symbols for `tid` and every local in further instances (`NAME.2` and so on), and for locations (`at.1`).
pub(crate) fn symbols(case: &mut Case, roles: usize) -> (Vec<(Symbol, Vec<Symbol>)>, Vec<Symbol>) {
    let program = &case.program;
    let mut own = vec![(program.tid, "tid".to_string(), Sort::INT)];
    for v in program.threads.iter().flat_map(|t| t.locals.iter().map(|v| &program.vars[*v])) {
        own.push((v.symbol, v.name.clone(), v.sort));
    }
    let mut copies = |name: &str, sort: Sort| (2..=roles).map(|n| case.symbol(&format!("{name}.{n}"), sort)).collect();
    let symbols = own.into_iter().map(|(s, name, sort)| (s, copies(&name, sort))).collect();
    (symbols, (1..=roles).map(|n| case.symbol(&format!("at.{n}"), Sort::INT)).collect())
}

/// A fact about instances of `T` at these places, by their order in the code.
fn fact(case: &Case, of: &[&[usize]], formula: &str, rests_on: &[usize]) -> QuantifiedFact {
    let thread = case.thread("T");
    let path = case.path(thread);
    let place = |list: &&[usize]| {
        let mut at: Vec<LocId> = list.iter().map(|k| path[*k]).collect();
        at.sort_unstable();
        (thread, at)
    };
    QuantifiedFact { of: of.iter().map(place).collect(), formula: case.term(formula), rests_on: rests_on.to_vec() }
}

const INSIDE: &[usize] = &[2, 3, 4];

/// At most one is inside; the lock is taken then; `x` is its own once it was set; the lock is a bit.
pub(crate) fn locked(case: &mut Case) -> QuantifiedProof {
    let (symbols, control) = symbols(case, NAMED_INSTANCES);
    let facts = vec![
        fact(case, &[INSIDE, INSIDE], "false", &[0, 1]),
        fact(case, &[INSIDE], "(= taken 1)", &[0, 1]),
        fact(case, &[&[3, 4]], "(= x tid)", &[0, 2]),
        fact(case, &[], "(and (<= 0 taken) (<= taken 1))", &[]),
    ];
    let shown = [("assert:4", vec![2]), ("invariant:3", vec![3])];
    let shown = shown.into_iter().map(|(p, list)| (case.property(p), list)).collect();
    QuantifiedProof { symbols, control, facts, counts: Vec::new(), shown }
}

fn proof(p: &QuantifiedProof) -> Proof {
    Proof::Quantified(Box::new(p.clone()))
}

/// The certificate, changed.
fn but(p: &QuantifiedProof, change: impl FnOnce(&mut QuantifiedProof)) -> Proof {
    let mut changed = p.clone();
    change(&mut changed);
    proof(&changed)
}

#[test]
fn check_a_certificate_with_all_premises_is_accepted() {
    let mut case = Case::new(LOCKED);
    let p = locked(&mut case);
    for property in ["assert:4", "invariant:3"] {
        case.accepted(proof(&p), property);
    }
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    let mut case = Case::new(LOCKED);
    let p = locked(&mut case);
    case.lacks(but(&p, |p| p.facts[3] = fact(&case, &[], "(= x 7)", &[])), "assert:4", "QU1");
    case.lacks(but(&p, |p| p.facts[2] = fact(&case, &[&[0, 3]], "(= x tid)", &[0, 2])), "assert:4", "QU1");
    // Where nothing says so it is not so, whoever comes there and by which step.
    case.lacks(but(&p, |p| p.facts[2] = fact(&case, &[&[2, 3, 4]], "(= x tid)", &[0, 2])), "assert:4", "QU2");
    case.lacks(but(&p, |p| p.facts[0] = fact(&case, &[INSIDE, INSIDE], "false", &[0])), "assert:4", "QU2");
    case.lacks(but(&p, |p| p.facts[0] = fact(&case, &[INSIDE, &[1]], "false", &[0, 1])), "assert:4", "QU2");
    case.lacks(but(&p, |p| p.facts[1] = fact(&case, &[&[2, 3, 4, 5]], "(= taken 1)", &[0, 1])), "assert:4", "QU2");
    case.lacks(but(&p, |p| p.facts[2].rests_on = vec![2]), "assert:4", "QU3");
    case.lacks(but(&p, |p| p.facts[1].rests_on = vec![1]), "assert:4", "QU3");
    case.lacks(but(&p, |p| p.facts[3] = fact(&case, &[], "(= taken 0)", &[3])), "assert:4", "QU3");
    case.lacks(but(&p, |p| p.shown[0].1 = vec![0, 1, 3]), "assert:4", "QU4");
    case.lacks(but(&p, |p| p.shown[1].1 = vec![0, 1, 2]), "invariant:3", "QU4");
}

/// What is true of two alone is no proof for three: a third takes the lock while both are at their entries.
#[test]
fn check_another_instance_is_left_out_only_where_there_is_none() {
    let with = |copies: &str| {
        let mut case = Case::new(&LOCKED.replace("[*]", copies));
        let mut p = locked(&mut case);
        p.facts.push(fact(&case, &[&[0, 1], &[0, 1]], "(= taken 0)", &[4]));
        (case, proof(&p))
    };
    let (two, p) = with("[2]");
    two.accepted(p, "assert:4");
    for copies in ["[3]", "[*]"] {
        let (three, p) = with(copies);
        three.lacks(p, "assert:4", "QU3");
    }
}

/// Whoever is inside an atomic block is alone, and a fact that holds outside need not hold while another is inside one only if it is not claimed then.
#[test]
fn check_steps_inside_a_block_count() {
    let with = |body: &str, places: &[usize]| {
        let text = format!("var x: int = 0;\nvar y: int = 0;\nthread T[*] {{ {body} assert x == 0; }}\n");
        let mut case = Case::new(&text);
        let (symbols, control) = symbols(&mut case, NAMED_INSTANCES);
        let facts = vec![fact(&case, &[places], "(= x 0)", &[0])];
        let shown = vec![(case.property(&case.property_beginning("assert:")), vec![0])];
        (case, proof(&QuantifiedProof { symbols, control, facts, counts: Vec::new(), shown }))
    };
    let (fine, p) = with("y := 1;", &[0, 1, 2]);
    let name = |case: &Case| case.property_beginning("assert:");
    fine.accepted(p, &name(&fine));
    let (block, p) = with("atomic { x := 1; while * { y := y + 1; } x := 0; }", &[0]);
    let inside = block.program.threads[block.thread("T")].code.locations.iter().any(|l| l.in_atomic_block);
    assert!(inside, "the block has locations of its own");
    block.lacks(p, &name(&block), "QU3");
}

/// One variable that counts who is between two steps.
const COUNTED: &str = "var n: int = 0;\nvar m: int = 0;\ninvariant n >= 0;\nthread T[*] { var k: int = 0; n := n + 1; assert n >= 1; n := n - 1; m := m + 1; }\n";

fn counted(case: &mut Case, variable: &str, places: &[usize]) -> QuantifiedProof {
    let (symbols, control) = symbols(case, NAMED_INSTANCES + 1);
    let thread = case.thread("T");
    let path = case.path(thread);
    let mut at: Vec<LocId> = places.iter().map(|k| path[*k]).collect();
    at.sort_unstable();
    let variable = case.program.shared().find(|v| case.program.vars[*v].name == variable).expect("a variable");
    let counts = vec![InstanceCount { variable, places: vec![(thread, at)] }];
    let shown = ["assert:4", "invariant:3"].map(|p| (case.property(p), Vec::new())).to_vec();
    QuantifiedProof { symbols, control, facts: Vec::new(), counts, shown }
}

#[test]
fn check_a_number_of_instances_is_one_for_who_is_there_and_more_with_a_witness() {
    let mut case = Case::new(COUNTED);
    let p = counted(&mut case, "n", &[2, 3]);
    case.accepted(proof(&p), "assert:4");
    case.accepted(proof(&p), "invariant:3");
    // A witness is somebody of whom the facts hold: with a lock around, there is at most one.
    let text = "var taken: int = 0;\nvar n: int = 0;\ninvariant n <= 1;\nthread T[*] { var k: int = 0; atomic { assume taken == 0; taken := 1; } n := n + 1; assert n == 1; n := n - 1; taken := 0; }\n";
    let mut one = Case::new(text);
    let mut p = counted(&mut one, "n", &[3, 4]);
    let inside: &[usize] = &[2, 3, 4, 5];
    p.facts = vec![
        fact(&one, &[inside, inside], "false", &[0, 1]),
        fact(&one, &[inside], "(= taken 1)", &[0, 1]),
        fact(&one, &[&[3, 4]], "(= n 1)", &[0, 2]),
    ];
    p.shown = vec![(one.property("assert:4"), vec![2]), (one.property("invariant:3"), vec![2])];
    one.accepted(proof(&p), "assert:4");
    one.accepted(proof(&p), "invariant:3");
    let alone = |change: &dyn Fn(&mut QuantifiedProof)| but(&p, |p| change(p));
    one.lacks(alone(&|p| p.facts[2].rests_on = vec![2]), "assert:4", "QU3");
    one.lacks(alone(&|p| p.shown[1].1 = vec![]), "invariant:3", "QU4");
}

#[test]
fn check_a_count_that_is_none_is_rejected() {
    let mut case = Case::new(COUNTED);
    let p = counted(&mut case, "n", &[3]);
    case.rejected(proof(&p), "assert:4", "crosses the border");
    let p = counted(&mut case, "n", &[1, 2, 3]);
    case.rejected(proof(&p), "assert:4", "crosses the border");
    let p = counted(&mut case, "n", &[0, 1, 2, 3]);
    case.rejected(proof(&p), "assert:4", "an entry is among");
    let p = counted(&mut case, "m", &[2, 3]);
    case.rejected(proof(&p), "assert:4", "crosses the border");
    let mut p = counted(&mut case, "n", &[2, 3]);
    p.counts[0].variable = VarId(2);
    case.rejected(proof(&p), "assert:4", "a shared integer");
    let mut up = Case::new(&COUNTED.replace("n := n - 1", "n := n + 1"));
    let p = counted(&mut up, "n", &[2, 3]);
    up.lacks(proof(&p), "assert:4", "QU5");
    let mut late = Case::new(&COUNTED.replace("var n: int = 0", "var n: int = 1"));
    let p = counted(&mut late, "n", &[2, 3]);
    late.lacks(proof(&p), "assert:4", "QU5");
    let mut open = Case::new(&COUNTED.replace("var n: int = 0", "var n: int"));
    let p = counted(&mut open, "n", &[2, 3]);
    open.lacks(proof(&p), "assert:4", "QU5");
}

#[test]
fn check_a_certificate_that_does_not_fit_is_rejected() {
    let mut case = Case::new(LOCKED);
    let p = locked(&mut case);
    let other = case.symbol("other", Sort::INT);
    let number = case.term("x");
    let rejected = |because: &str, change: &dyn Fn(&mut QuantifiedProof)| {
        case.rejected(but(&p, |p| change(p)), "assert:4", because);
    };
    rejected("in order", &|p| {
        p.symbols.pop();
    });
    rejected("three instances", &|p| {
        p.control.pop();
    });
    rejected("three instances", &|p| {
        p.symbols[1].1.pop();
    });
    rejected("not a new one", &|p| p.symbols[1].1[0] = p.symbols[1].1[1]);
    rejected("not a new one", &|p| p.symbols[1].1[0] = p.symbols[0].0);
    rejected("not a new one", &|p| p.control[0] = p.control[1]);
    rejected("a location that is not there", &|p| p.facts[1].of[0].1.push(LocId(99)));
    rejected("a location that is not there", &|p| p.facts[1].of[0].1.reverse());
    rejected("about no instance, one, or two", &|p| {
        let one = p.facts[1].of[0].clone();
        p.facts[0].of.push(one);
    });
    rejected("rests on a fact that is not there", &|p| p.facts[0].rests_on.push(4));
    rejected("rests on a fact that is not there", &|p| p.shown[0].1.push(4));
    rejected("what a claim rests on", &|p| {
        p.shown.remove(0);
    });
    rejected("not a formula", &|p| p.facts[0].formula = number);
    // Of a third nothing is said, of none no `tid`, and nothing of symbols without a meaning.
    rejected("tid.3", &|p| p.facts[0].formula = case.term("(< 0 tid.3)"));
    rejected("tid.2", &|p| p.facts[1].formula = case.term("(< 0 tid.2)"));
    rejected("tid", &|p| p.facts[3].formula = case.term("(< 0 tid)"));
    rejected("at.1", &|p| p.facts[1].formula = case.term("(< 0 at.1)"));
    rejected("other", &|p| p.facts[0].formula = case.terms.lt(case.terms.int(0), case.terms.sym(other)));
    let third = p.symbols[0].1[1];
    let bound = case.terms.exists(&[third], case.terms.lt(case.terms.sym(third), case.term("taken")));
    rejected("tid.3", &|p| p.facts[0].formula = bound);
}

#[test]
fn check_what_the_rule_does_not_speak_of_is_rejected() {
    let empty = |case: &mut Case, property: &str| {
        let (symbols, control) = symbols(case, NAMED_INSTANCES);
        let shown = vec![(case.property(property), Vec::new())];
        proof(&QuantifiedProof { symbols, control, facts: Vec::new(), counts: Vec::new(), shown })
    };
    let mut rely = Case::new(crate::environments::TWO);
    let p = empty(&mut rely, "rely:3");
    rely.rejected(p, "rely:3", "relies are outside");
    let mut spawns = Case::new(
        "var x: int = 0;\nthread A { spawn B(); assert x <= 1; }\nthread B() { while * { spawn B(); } x := 1; }\n",
    );
    let p = empty(&mut spawns, "assert:2");
    spawns.rejected(p, "assert:2", "spawn, are spawned or call");
    let mut single = Case::new(&LOCKED.replace("T[*]", "T"));
    let p = locked(&mut single);
    single.rejected(proof(&p), "assert:4", "two that can exist");
}
