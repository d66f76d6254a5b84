//! Rule `assume-guarantee`: accepted certificates, and for each premise and side condition one that lacks it. More of them, with both
//! reaches and from the method, in `methods/tests`.

use crate::case::Case;
use crate::rely_guarantee::{COUNT, JOB};
use evidence::{AssumeGuarantee, Assumes, Premises, Proof};

pub(crate) fn count(case: &Case) -> AssumeGuarantee {
    let of = |name: &str| Assumes { thread: case.thread(name), rely: case.term("(<= x x')"), cuts: Vec::new() };
    AssumeGuarantee { invariant: case.term("(<= 0 x)"), threads: vec![of("A"), of("B")], premises: Premises::All }
}

fn job(case: &Case, entry: &str) -> AssumeGuarantee {
    let job = case.thread("Job");
    let cuts = vec![(case.program.threads[job].code.entry, case.term(entry))];
    let yes = case.term("true");
    let main = case.thread("Main");
    let heads = program::transition::loop_heads(&case.program.threads[main].code);
    let main = Assumes { thread: main, rely: yes, cuts: heads.into_iter().map(|l| (l, yes)).collect() };
    AssumeGuarantee {
        invariant: yes,
        threads: vec![Assumes { thread: job, rely: yes, cuts }, main],
        premises: Premises::All,
    }
}

#[test]
fn check_certificates_with_all_premises_are_accepted() {
    for premises in [Premises::All, Premises::Relevant] {
        let case = Case::new(COUNT);
        for property in ["assert:4", "invariant:2", "rely:3"] {
            case.accepted(Proof::AssumeGuarantee(AssumeGuarantee { premises, ..count(&case) }), property);
        }
        let case = Case::new(JOB);
        case.accepted(Proof::AssumeGuarantee(AssumeGuarantee { premises, ..job(&case, "(<= 1 n)") }), "assert:2");
    }
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    for premises in [Premises::All, Premises::Relevant] {
        let case = Case::new(COUNT);
        let lacks = |premise: &str, property: &str, change: &dyn Fn(&mut AssumeGuarantee)| {
            let mut changed = AssumeGuarantee { premises, ..count(&case) };
            change(&mut changed);
            case.lacks(Proof::AssumeGuarantee(changed), property, premise);
        };
        lacks("AG1", "assert:4", &|p| p.invariant = case.term("(<= 1 x)"));
        // Not reflexive; not transitive.
        lacks("AG2", "assert:4", &|p| p.threads[0].rely = case.term("(< x x')"));
        lacks("AG2", "assert:4", &|p| p.threads[0].rely = case.term("(<= x' (+ x 1))"));
        // Others do more than A assumes; A assumes too little for its assertion.
        lacks("AG3", "assert:4", &|p| p.threads[0].rely = case.term("(= x x')"));
        lacks("AG3", "assert:4", &|p| p.threads[0].rely = case.term("true"));
        lacks("AG3", "assert:4", &|p| p.invariant = case.term("(<= x 5)"));
        lacks("AG5", "invariant:2", &|p| p.invariant = case.term("true"));
        let case = Case::new(JOB);
        let job = AssumeGuarantee { premises, ..job(&case, "(<= 2 n)") };
        case.lacks(Proof::AssumeGuarantee(job), "assert:2", "AG4");
    }
}

#[test]
fn check_a_certificate_that_does_not_fit_is_rejected() {
    let case = Case::new(COUNT);
    let rejected = |because: &str, change: &dyn Fn(&mut AssumeGuarantee)| {
        let mut changed = count(&case);
        change(&mut changed);
        case.rejected(Proof::AssumeGuarantee(changed), "assert:4", because);
    };
    rejected("exactly one annotation", &|p| {
        p.threads.pop();
    });
    rejected("not locations in order", &|p| {
        p.threads[0].cuts = vec![(program::LocId(1), case.term("true")), (program::LocId(0), case.term("true"))];
    });
    rejected("not locations in order", &|p| p.threads[0].cuts = vec![(program::LocId(9), case.term("true"))]);
    rejected("x'", &|p| p.invariant = case.term("(<= 0 x')"));
    rejected("not a formula", &|p| p.threads[0].rely = case.term("x"));
    let turns = Case::new("var x: int = 0;\nthread T { while true { x := x + 1; assert x >= 1; } }\n");
    let bare = Assumes { thread: turns.thread("T"), rely: turns.term("true"), cuts: Vec::new() };
    let proof = AssumeGuarantee { invariant: turns.term("(<= 0 x)"), threads: vec![bare], premises: Premises::All };
    turns.rejected(Proof::AssumeGuarantee(proof), "assert:2", "has no cut");
    let started = Case::new(JOB);
    let mut proof = job(&started, "(<= 1 n)");
    proof.threads[0].cuts.clear();
    started.rejected(Proof::AssumeGuarantee(proof), "assert:2", "its entry has to be a cut");
}
