//! Rule `pairs`: one accepted certificate, and for each premise and side condition one that lacks it.

use crate::case::Case;
use evidence::{PairsProof, Proof, RelatedPair};
use logic::{Sort, Symbol};

/// A lock that does not say who holds it, and any number of threads that take it.
pub(crate) const LOCKED: &str = "var taken: int = 0;\nvar x: int = 0;\ninvariant taken <= 1;\nthread T[*] { var k: int = 0; atomic { assume taken == 0; taken := 1; } x := tid; assert x == tid; taken := 0; }\n";

/// Symbols `NAME.2` and `NAME.3` for `tid` and every local.
pub(crate) fn symbols(case: &mut Case) -> Vec<(Symbol, Symbol, Symbol)> {
    let program = &case.program;
    let mut own = vec![(program.tid, "tid".to_string(), Sort::INT)];
    for v in program.threads.iter().flat_map(|t| t.locals.iter().map(|v| &program.vars[*v])) {
        own.push((v.symbol, v.name.clone(), v.sort));
    }
    let mut copy = |name: &str, n: u32, sort: Sort| case.symbol(&format!("{name}.{n}"), sort);
    own.into_iter().map(|(s, name, sort)| (s, copy(&name, 2, sort), copy(&name, 3, sort))).collect()
}

/// At most one is between taking and giving back; the lock is taken then, and `x` is the thread's own once it was set.
pub(crate) fn locked(case: &mut Case) -> PairsProof {
    let symbols = symbols(case);
    let thread = case.thread("T");
    let path = case.path(thread);
    let end = path.len() - 1;
    // The first step sets the local, the second takes the lock.
    let inside = |at: usize| 1 < at && at < end;
    let own = |at: usize, tid: &str| match at {
        _ if !inside(at) => "true".to_string(),
        2 => "(= taken 1)".into(),
        _ => format!("(and (= taken 1) (= x {tid}))"),
    };
    let mut related = Vec::new();
    for (i, l) in path.iter().enumerate() {
        for (j, m) in path.iter().enumerate().filter(|(j, _)| !inside(i) || !inside(*j)) {
            let text = format!("(and (<= 0 taken) (<= taken 1) {} {})", own(i, "tid"), own(j, "tid.2"));
            related.push(RelatedPair { first: (thread, *l), second: (thread, *m), formula: case.term(&text) });
        }
    }
    PairsProof { symbols, related }
}

/// The certificate with the formula of two places, by their order in the code, replaced; the other way round nothing is said of them.
fn but(case: &Case, proof: &PairsProof, (i, j): (usize, usize), formula: &str) -> Proof {
    let path = case.path(case.thread("T"));
    let mut changed = proof.clone();
    let mut replace = |(i, j): (usize, usize), formula: &str| {
        let here = changed.related.iter_mut().find(|r| (r.first.1, r.second.1) == (path[i], path[j]));
        here.expect("it is listed").formula = case.term(formula);
    };
    replace((j, i), "true");
    replace((i, j), formula);
    Proof::Pairs(changed)
}

#[test]
fn check_a_certificate_with_all_premises_is_accepted() {
    let mut case = Case::new(LOCKED);
    let proof = locked(&mut case);
    for property in ["assert:4", "invariant:3"] {
        case.accepted(Proof::Pairs(proof.clone()), property);
    }
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    let mut case = Case::new(LOCKED);
    let proof = locked(&mut case);
    case.lacks(but(&case, &proof, (0, 0), "(= x 7)"), "assert:4", "PA1");
    case.lacks(but(&case, &proof, (2, 0), "(= x 7)"), "assert:4", "PA2");
    case.lacks(but(&case, &proof, (3, 0), "(= taken 1)"), "assert:4", "PA2");
    case.lacks(but(&case, &proof, (0, 0), "(= taken 0)"), "assert:4", "PA3");
    case.lacks(but(&case, &proof, (0, 0), "true"), "invariant:3", "PA4");
    let mut missing = proof.clone();
    missing.related.retain(|r| r.first.1 != case.path(case.thread("T"))[2]);
    case.lacks(Proof::Pairs(missing), "assert:4", "PA2");
}

/// What is true of two alone is no proof for three: a third takes the lock while both are at their entries.
#[test]
fn check_a_third_instance_is_left_out_only_where_there_is_none() {
    let with = |copies: &str| {
        let mut case = Case::new(&LOCKED.replace("[*]", copies));
        let proof = locked(&mut case);
        let proof = but(&case, &proof, (0, 0), "(= taken 0)");
        (case, proof)
    };
    let (two, proof) = with("[2]");
    two.accepted(proof, "assert:4");
    for copies in ["[3]", "[*]"] {
        let (three, proof) = with(copies);
        three.lacks(proof, "assert:4", "PA3");
    }
}

/// Two threads that are not alike: the steps of either count.
#[test]
fn check_the_steps_of_the_first_and_of_the_second_are_asked_for() {
    let program = "var x: int = 0;\nthread A { x := 1; }\nthread B { x := 2; assert x >= 1; }\n";
    let with = |before: &str, after: &str| {
        let mut case = Case::new(program);
        let symbols = symbols(&mut case);
        let threads = [case.thread("A"), case.thread("B")];
        let [a, b] = threads.map(|t| case.path(t));
        let mut related = Vec::new();
        for (i, l) in a.iter().enumerate() {
            for (j, m) in b.iter().enumerate() {
                let text = match (i, j) {
                    (0, 0) => "(= x 0)",
                    (_, 0) => before,
                    _ => after,
                };
                related.push(RelatedPair {
                    first: (threads[0], *l),
                    second: (threads[1], *m),
                    formula: case.term(text),
                });
            }
        }
        (case, Proof::Pairs(PairsProof { symbols, related }))
    };
    let (case, proof) = with("(= x 1)", "(<= 1 x)");
    case.accepted(proof, "assert:3");
    let (case, proof) = with("(= x 0)", "(<= 1 x)");
    case.lacks(proof, "assert:3", "PA2");
    let (case, proof) = with("(= x 1)", "(= x 1)");
    case.lacks(proof, "assert:3", "PA2");
}

/// Between the two steps of the code, `x` is not 0: nobody looks only if they are one block.
#[test]
fn check_a_block_is_left_alone_and_two_steps_are_not() {
    let with = |copies: &str, code: &str| {
        let mut case = Case::new(&format!("var x: int = 0;\ninvariant x == 0;\nthread T{copies} {{ {code} }}\n"));
        let symbols = symbols(&mut case);
        let thread = case.thread("T");
        let locations: Vec<_> = case.program.threads[thread].code.locations.ids().collect();
        let (entry, code) = (case.program.threads[thread].code.entry, &case.program.threads[thread].code);
        let ends: Vec<_> = locations.iter().filter(|l| code.actions.iter().all(|a| a.from != **l)).copied().collect();
        let outside = |l: program::LocId| l == entry || ends.contains(&l);
        let mut related = Vec::new();
        for l in &locations {
            for m in locations.iter().filter(|m| outside(*l) || outside(**m)) {
                let text = if outside(*l) && outside(*m) { "(= x 0)" } else { "true" };
                related.push(RelatedPair { first: (thread, *l), second: (thread, *m), formula: case.term(text) });
            }
        }
        (case, Proof::Pairs(PairsProof { symbols, related }))
    };
    let (block, proof) = with("[2]", "atomic { x := 1; while * { x := x + 1; } x := 0; }");
    let inside = block.program.threads[block.thread("T")].code.locations.iter().any(|l| l.in_atomic_block);
    assert!(inside, "the block has locations of its own");
    block.accepted(proof, "invariant:2");
    let (open, proof) = with("[*]", "x := 1; x := 0;");
    for premise in ["PA2", "PA3", "PA4"] {
        open.lacks(proof.clone(), "invariant:2", premise);
    }
    // What is said of two holds while a third is inside, too.
    let (three, proof) = with("[3]", "atomic { x := 1; while * { x := x + 1; } x := 0; }");
    three.lacks(proof, "invariant:2", "PA3");
}

#[test]
fn check_a_certificate_that_does_not_fit_is_rejected() {
    let mut case = Case::new(LOCKED);
    let proof = locked(&mut case);
    let (thread, other) = (case.thread("T"), case.symbol("other", Sort::INT));
    let (yes, number) = (case.term("true"), case.term("x"));
    let rejected = |because: &str, change: &dyn Fn(&mut PairsProof)| {
        let mut changed = proof.clone();
        change(&mut changed);
        case.rejected(Proof::Pairs(changed), "assert:4", because);
    };
    rejected("in order", &|p| {
        p.symbols.pop();
    });
    rejected("not a new one", &|p| p.symbols[1].2 = p.symbols[1].1);
    rejected("not a new one", &|p| p.symbols[1].1 = p.symbols[0].0);
    rejected("listed twice", &|p| p.related.push(p.related[0].clone()));
    rejected("no two instances can be at", &|p| {
        let first = (thread, program::LocId(99));
        p.related.push(RelatedPair { first, second: first, formula: yes });
    });
    rejected("not a formula", &|p| p.related[0].formula = number);
    // Of a third nothing is said, nor of symbols without a meaning.
    rejected("tid.3", &|p| p.related[0].formula = case.term("(< 0 tid.3)"));
    rejected("other", &|p| p.related[0].formula = case.terms.lt(case.terms.int(0), case.terms.sym(other)));
    let third = proof.symbols[0].2;
    let bound = case.terms.exists(&[third], case.terms.lt(case.terms.sym(third), case.term("taken")));
    rejected("tid.3", &|p| p.related[0].formula = bound);
}

#[test]
fn check_what_the_rule_does_not_speak_of_is_rejected() {
    let empty = |case: &mut Case| Proof::Pairs(PairsProof { symbols: symbols(case), related: Vec::new() });
    let mut rely = Case::new(crate::environments::TWO);
    let proof = empty(&mut rely);
    rely.rejected(proof, "rely:3", "relies are outside");
    let mut one = Case::new("var x: int = 0;\nthread A { x := 1; assert x == 1; }\n");
    let proof = empty(&mut one);
    one.rejected(proof, "assert:2", "two instances at least");
    let mut spawns = Case::new(
        "var x: int = 0;\nthread A { spawn B(); assert x <= 1; }\nthread B() { while * { spawn B(); } x := 1; }\n",
    );
    let proof = empty(&mut spawns);
    spawns.rejected(proof, "assert:2", "spawn or call");
    let mut single = Case::new(&LOCKED.replace("T[*]", "T"));
    let proof = locked(&mut single);
    single.rejected(Proof::Pairs(proof), "assert:4", "no two instances can be at");
}
