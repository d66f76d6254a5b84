//! Files without threads: only a rule about callers says anything of them.

use crate::case::Case;
use checker::{CheckLimits, Checker, Outcome};
use evidence::{
    AssumeGuarantee, Claim, Counting, Environments, ExhaustiveSearch, Premises, ProductProof, Proof, RelyGuarantee,
};
use std::sync::Arc;
use testkit::oracle::Again;

#[test]
fn check_a_certificate_about_another_program_is_rejected() {
    let [one, other] = ["x", "y"].map(|n| Case::new(&format!("var {n}: int = 0;\nthread T {{ assert {n} == 0; }}\n")));
    let search = || Proof::Search(ExhaustiveSearch { instances: vec![1], states: 2 });
    one.accepted(search(), "assert:2");
    let claim = Claim::Proved(Arc::new(other.certificate(search(), &["assert:2"])));
    let mut oracle = Again;
    let mut checker = Checker::new(&one.program, &mut oracle, CheckLimits::default());
    assert_eq!(checker.check(one.property("assert:2"), "by hand", &claim).outcome(), Outcome::Unknown);
}

#[test]
fn check_rules_over_threads_say_nothing_of_a_file_that_callers_use() {
    // Any caller makes it false.
    let case = Case::new("var x: int = 0;\ninvariant x == 0;\nproc p() { x := 1; }\n");
    let zero = case.term("(= x 0)");
    let proofs = [
        Proof::RelyGuarantee(RelyGuarantee { invariant: zero, threads: Vec::new() }),
        Proof::AssumeGuarantee(AssumeGuarantee { invariant: zero, threads: Vec::new(), premises: Premises::All }),
        Proof::Product(ProductProof { instances: Vec::new(), invariant: vec![(Vec::new(), zero)] }),
        Proof::Environments(Environments { instances: Vec::new(), reach: Vec::new(), environment: Vec::new() }),
        Proof::Search(ExhaustiveSearch { instances: Vec::new(), states: 1 }),
        Proof::Counting(Box::new(Counting {
            unique_threads: Vec::new(),
            counters: Vec::new(),
            peer_copy: vec![(case.program.tid, case.program.tid)],
            pairwise: Vec::new(),
            exclusive: Vec::new(),
            invariant: vec![(Vec::new(), zero)],
        })),
    ];
    for proof in proofs {
        case.rejected(proof, "invariant:2", "callers");
    }
}
