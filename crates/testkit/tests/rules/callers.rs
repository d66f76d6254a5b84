//! Rule `callers`: a file without threads, closed by its most general client.

use crate::case::Case;
use evidence::{CallersProof, ExhaustiveSearch, Proof, RelyGuarantee, ThreadAnnotation};
use program::callers::callers;
use program::client::Effort;

/// Whoever calls, `x` stays at least 0.
pub(crate) const OPEN: &str = "var x: int = 0;\ninvariant x >= 0;\nproc p() { x := 1; }\n";

/// The client's threads are annotated with nothing but the invariant.
pub(crate) fn any_callers(case: &Case) -> CallersProof {
    let client = callers(&case.program, None, &[], Effort::Any).expect("the file has callers").program;
    let inner = Case::of(client.clone());
    let yes = inner.term("true");
    let annotation = |(thread, t): (program::ThreadId, &program::Thread)| ThreadAnnotation {
        thread,
        at: vec![yes; t.code.locations.len()],
        guarantee: yes,
        rely: None,
    };
    let threads = client.threads.iter_enumerated().map(annotation).collect();
    let proof = Proof::RelyGuarantee(RelyGuarantee { invariant: inner.term("(<= 0 x)"), threads });
    let proof = Box::new(inner.certificate(proof, &["invariant:2"]));
    CallersProof { object: None, linearization_points: Vec::new(), proof }
}

#[test]
fn check_a_proof_for_any_callers_is_accepted() {
    let case = Case::new(OPEN);
    case.accepted(Proof::Callers(any_callers(&case)), "invariant:2");
}

#[test]
fn check_a_proof_that_lacks_a_premise_is_rejected() {
    let case = Case::new(OPEN);
    let rejected = |because: &str, change: &dyn Fn(&mut CallersProof)| {
        let mut changed = any_callers(&case);
        change(&mut changed);
        case.rejected(Proof::Callers(changed), "invariant:2", because);
    };
    // CL1: the proof inside is one, of the program with the client, and claims what it stands for.
    rejected("CL1", &|p| p.proof.properties.clear());
    rejected("fixed number of threads", &|p| {
        let search = Proof::Search(ExhaustiveSearch { instances: vec![2], states: 3 });
        p.proof.proof = search;
    });
    rejected("moments", &|p| {
        let effect = program::callers::PointEffect::Writes;
        p.linearization_points.push(program::callers::LinearizationPoint {
            operation: 0,
            action: program::ActionId(0),
            effect,
        });
    });
    let broken = Case::new(&OPEN.replace("x := 1", "x := -1"));
    broken.rejected(Proof::Callers(any_callers(&broken)), "invariant:2", "RG2");
    // Where there are threads, they are the callers.
    let closed = Case::new(&format!("{OPEN}thread T {{ p(); }}\n"));
    let proof = CallersProof {
        object: None,
        linearization_points: Vec::new(),
        proof: Box::new(
            closed.certificate(Proof::Search(ExhaustiveSearch { instances: vec![1], states: 2 }), &["invariant:2"]),
        ),
    };
    closed.rejected(Proof::Callers(proof), "invariant:2", "threads of its own");
}

#[test]
fn check_an_access_predicate_of_what_procedures_touch_is_not_for_callers_to_decide() {
    let case = Case::new("var m: lock;\nvar x: int = 0 guarded_by m;\nproc p() { x := 1; }\n");
    let yes = case.term("true");
    let proof = Proof::RelyGuarantee(RelyGuarantee { invariant: yes, threads: Vec::new() });
    let callers = CallersProof {
        object: None,
        linearization_points: Vec::new(),
        proof: Box::new(case.certificate(proof, &["access:x"])),
    };
    case.rejected(Proof::Callers(callers), "access:x", "says nothing about access:x");
}
