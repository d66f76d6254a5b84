//! Rule `rely-guarantee`: one accepted certificate, and for each premise and side condition one that lacks it.

use crate::case::Case;
use evidence::{Proof, RelyGuarantee, ThreadAnnotation};

/// One counts and looks, any number count.
pub(crate) const COUNT: &str = "var x: int = 0;\ninvariant x >= 0;\nrely x' >= x;\nthread A { x := x + 1; assert x >= 1; }\nthread B[*] { x := x + 1; }\n";
/// A thread that is started with an argument.
pub(crate) const JOB: &str =
    "var x: int = 0;\nthread Job(n: int) { assert n >= 1; }\nthread Main { while true { spawn Job(1); } }\n";

/// Formulas for the first locations of a thread in the order of its code; the others are annotated with nothing.
fn annotation(case: &Case, thread: &str, at: &[&str], guarantee: &str, rely: Option<&str>) -> ThreadAnnotation {
    let thread = case.thread(thread);
    let path = case.path(thread);
    let mut formulas = vec![case.term("true"); case.program.threads[thread].code.locations.len()];
    for (location, formula) in path.iter().zip(at) {
        formulas[location.index()] = case.term(formula);
    }
    ThreadAnnotation { thread, at: formulas, guarantee: case.term(guarantee), rely: rely.map(|r| case.term(r)) }
}

pub(crate) fn count(case: &Case) -> RelyGuarantee {
    RelyGuarantee {
        invariant: case.term("(<= 0 x)"),
        threads: vec![
            annotation(case, "A", &["true", "(<= 1 x)", "true"], "(<= x x')", Some("(<= x x')")),
            annotation(case, "B", &["true", "true"], "(<= x x')", None),
        ],
    }
}

fn job(case: &Case, entry: &str) -> Proof {
    Proof::RelyGuarantee(RelyGuarantee {
        invariant: case.term("true"),
        threads: vec![
            annotation(case, "Job", &[entry, "true"], "true", None),
            annotation(case, "Main", &["true", "true"], "true", None),
        ],
    })
}

/// The certificate, changed.
fn but(case: &Case, change: impl FnOnce(&mut RelyGuarantee)) -> Proof {
    let mut proof = count(case);
    change(&mut proof);
    Proof::RelyGuarantee(proof)
}

#[test]
fn check_a_certificate_with_all_premises_is_accepted() {
    let case = Case::new(COUNT);
    for property in ["assert:4", "invariant:2", "rely:3"] {
        case.accepted(Proof::RelyGuarantee(count(&case)), property);
    }
    // Where no rely is given, the guarantees of the others are taken as they are.
    case.accepted(but(&case, |p| p.threads[0].rely = None), "assert:4");
    let case = Case::new(JOB);
    case.accepted(job(&case, "(<= 1 n)"), "assert:2");
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    let case = Case::new(COUNT);
    let at = |p: &mut RelyGuarantee, name: &str, i: usize, formula: &str| {
        let thread = case.thread(name);
        let location = case.path(thread)[i].index();
        let of = p.threads.iter_mut().find(|a| a.thread == thread).expect("it is annotated");
        of.at[location] = case.term(formula);
    };
    let lacks = |premise: &str, property: &str, change: &dyn Fn(&mut RelyGuarantee)| {
        case.lacks(but(&case, change), property, premise);
    };
    lacks("RG1", "assert:4", &|p| p.invariant = case.term("(<= 1 x)"));
    lacks("RG1", "assert:4", &|p| at(p, "A", 0, "(<= 1 x)"));
    lacks("RG2", "assert:4", &|p| at(p, "A", 1, "true"));
    lacks("RG2", "assert:4", &|p| at(p, "A", 1, "(<= 2 x)"));
    lacks("RG3", "assert:4", &|p| p.threads[1].guarantee = case.term("(= x' x)"));
    lacks("RG4", "assert:4", &|p| p.threads[0].rely = Some(case.term("(= x' x)")));
    lacks("RG5", "assert:4", &|p| p.threads[0].rely = Some(case.term("true")));
    lacks("RG5", "assert:4", &|p| (p.threads[1].guarantee, p.threads[0].rely) = (case.term("true"), None));
    lacks("RG6", "invariant:2", &|p| p.invariant = case.term("true"));
    lacks("RG6", "rely:3", &|p| p.threads[1].guarantee = case.term("(<= 0 x')"));
    let case = Case::new(JOB);
    case.lacks(job(&case, "(<= 2 n)"), "assert:2", "RG7");
}

#[test]
fn check_instances_of_one_thread_disturb_each_other() {
    // The same certificate: with one instance no other thread writes x; with any number they do.
    let one = "var x: int = 0;\nthread T { x := x + 1; assert x == 1; }\n";
    let proof = |case: &Case| {
        Proof::RelyGuarantee(RelyGuarantee {
            invariant: case.term("true"),
            threads: vec![annotation(case, "T", &["(= x 0)", "(= x 1)", "true"], "(= x' (+ x 1))", None)],
        })
    };
    let case = Case::new(one);
    case.lacks(proof(&case), "assert:2", "RG3");
    let any = Case::new(&one.replace("thread T", "thread T[*]"));
    any.lacks(proof(&any), "assert:2", "RG5");
}

#[test]
fn check_a_certificate_that_does_not_fit_is_rejected() {
    let case = Case::new(COUNT);
    let rejected = |because: &str, change: &dyn Fn(&mut RelyGuarantee)| {
        case.rejected(but(&case, change), "assert:4", because);
    };
    rejected("exactly one annotation", &|p| {
        p.threads.pop();
    });
    rejected("exactly one annotation", &|p| p.threads[1] = p.threads[0].clone());
    rejected("a thread that is not there", &|p| {
        let mut more = p.threads[0].clone();
        more.thread = program::ThreadId(7);
        p.threads.push(more);
    });
    rejected("locations", &|p| {
        p.threads[0].at.pop();
    });
    rejected("x'", &|p| p.threads[0].at[0] = case.term("(<= 0 x')"));
    rejected("tid", &|p| p.invariant = case.term("(<= 0 tid)"));
    rejected("not a formula", &|p| p.threads[0].guarantee = case.term("x"));
    rejected("x", &|p| p.threads[0].at[0] = case.term("(forall x (<= 0 x))"));
    // A spawn that keeps the id, and properties of other kinds.
    let kept = Case::new(
        "var x: int = 0;\nthread Job(n: int) { assert n >= 1; }\nthread Main { var t: int; while true { t := spawn Job(1); } }\n",
    );
    kept.rejected(job(&kept, "(<= 1 n)"), "assert:2", "keeps the thread's id");
    let machine =
        "var x: int = 0;\nmachine M { start s; s -> s : <x> x' == x + 1; }\nthread T follows M { x := x + 1; }\n";
    let follows = Case::new(machine);
    let proof = RelyGuarantee {
        invariant: follows.term("true"),
        threads: vec![annotation(&follows, "T", &["true", "true"], "true", None)],
    };
    follows.rejected(Proof::RelyGuarantee(proof), "follows:T", "says nothing about follows:T");
}
