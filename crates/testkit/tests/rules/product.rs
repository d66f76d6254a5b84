//! Rule `product`: one accepted certificate, and for each premise and side condition one that lacks it.

use crate::case::Case;
use crate::environments::{TWO, instances};
use evidence::{ProductProof, Proof};
use logic::Sort;

/// `x` is the number of steps taken: the locations of A and B in the order of their code, and the value there.
pub(crate) fn product(case: &mut Case) -> ProductProof {
    let instances = instances(case);
    let (a, b) = (case.path(case.thread("A")), case.path(case.thread("B")));
    let mut invariant = Vec::new();
    for (i, la) in a.iter().enumerate() {
        for (j, lb) in b.iter().enumerate() {
            let x = usize::from(i > 0) + usize::from(j > 0);
            invariant.push((vec![*la, *lb], case.term(&format!("(= x {x})"))));
        }
    }
    ProductProof { instances, invariant }
}

#[test]
fn check_a_certificate_with_all_premises_is_accepted() {
    let mut case = Case::new(TWO);
    let proof = product(&mut case);
    for property in ["assert:4", "invariant:2", "rely:3"] {
        case.accepted(Proof::Product(proof.clone()), property);
    }
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    let mut case = Case::new(TWO);
    let proof = product(&mut case);
    // Combinations in the order of `product`: A at its entry, its assertion, its end; B at its entry, its end.
    let but = |at: usize, formula: &str| {
        let mut changed = proof.clone();
        changed.invariant[at].1 = case.term(formula);
        Proof::Product(changed)
    };
    case.lacks(but(0, "(= x 1)"), "assert:4", "PR1");
    case.lacks(but(2, "true"), "assert:4", "PR2");
    case.lacks(but(2, "(= x 7)"), "assert:4", "PR2");
    case.lacks(but(5, "(<= 2 x)"), "invariant:2", "PR3");
    let mut missing = proof.clone();
    missing.invariant.remove(3);
    case.lacks(Proof::Product(missing), "assert:4", "PR2");
    let mut broken = Case::new(&TWO.replace("x' >= x", "x' == x"));
    let proof = product(&mut broken);
    broken.lacks(Proof::Product(proof), "rely:3", "PR3");
}

#[test]
fn check_a_certificate_that_does_not_fit_is_rejected() {
    let mut case = Case::new(TWO);
    let proof = product(&mut case);
    let integer = case.symbol("another", Sort::BOOL);
    let rejected = |because: &str, change: &dyn Fn(&mut ProductProof)| {
        let mut changed = proof.clone();
        change(&mut changed);
        case.rejected(Proof::Product(changed), "assert:4", because);
    };
    rejected("not those of the program", &|p| {
        p.instances.pop();
    });
    rejected("not those of the program", &|p| p.instances.swap(0, 1));
    rejected("not a new one", &|p| p.instances[1].pc = p.instances[0].pc);
    rejected("not a new one", &|p| p.instances[1].pc.0 = case.program.tid);
    rejected("not a new one", &|p| p.instances[1].pc.0 = integer);
    rejected("listed twice", &|p| p.invariant.push(p.invariant[0].clone()));
    rejected("does not exist", &|p| p.invariant[0].0[0] = program::LocId(9));
    rejected("does not exist", &|p| {
        p.invariant[0].0.pop();
    });
    rejected("pc.1", &|p| p.invariant[0].1 = case.term("(= pc.1 0)"));
    rejected("not a formula", &|p| p.invariant[0].1 = case.term("x"));
    let mut any = Case::new(&TWO.replace("thread B", "thread B[*]"));
    let proof = product(&mut any);
    any.rejected(Proof::Product(proof), "assert:4", "fixed number of threads");
}
