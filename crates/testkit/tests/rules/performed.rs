//! Rule `performed`: one accepted certificate, and for each premise and side condition one that lacks it.
//!
//! The reduction is written by hand: taking the lock is a right mover, the rest of the call follows, and its begin and end are the cuts.

use crate::case::Case;
use evidence::{
    Certificate, CutPoint, MoverPhase, PerformedProof, Proof, Reduced, Reduction, Simulation, SimulationPair,
};
use program::call_summaries::{CodeUnit, access_first};
use program::{ActionId, ProcId};

/// A thread that follows a machine by what its callee performs, and one that looks.
pub(crate) const INCREMENT: &str = "var m: lock;\nvar count: int = 0 guarded_by m;\ninvariant m == 0 || m != 0;\n\
    proc increment() performs Inc: <count> m == 0 && count' == count + 1;\n\
    { acquire m; assert count == count; count := count + 1; release m; }\n\
    machine Counts { start B; state A; B -> A : <count> count' == count + 1; }\n\
    thread T follows Counts { increment(); }\n";

/// Every call is one run: from the entry to the exit, with the lock taken first.
fn reduction(case: &Case) -> Certificate {
    let program = access_first(&case.program);
    let specified = vec![ProcId(0)];
    let basis = evidence::reduction::basis(&program, &[], &specified).expect("there are no guards").specified;
    let mut inner = Case::of(basis.program.clone());
    let shared: Vec<_> = inner.program.shared().collect();
    let before: Vec<_> = shared
        .iter()
        .map(|v| {
            let (name, sort) = (inner.program.vars[*v].name.clone(), inner.program.vars[*v].sort);
            inner.symbol(&format!("{name} before"), sort)
        })
        .collect();
    let yes = inner.term("true");
    let units = basis.units.iter().map(|u| {
        let code = basis.code(u.unit);
        let performs = matches!(u.unit, CodeUnit::Procedure(_));
        let takes = code.actions.iter_enumerated().filter(|(_, a)| performs && a.from == code.entry).map(|(id, _)| id);
        let cut =
            |location, position| CutPoint { location, position, phase: MoverPhase::Between, formula: yes, rank: None };
        let exit = code.exit.expect("the code comes to an end");
        let cuts = vec![cut(code.entry, 0), cut(exit, u32::from(performs))];
        Reduced { unit: u.unit, before: before.clone(), right: takes.collect(), cuts }
    });
    let reduction = Reduction {
        guards: Vec::new(),
        specified,
        premises: Vec::new(),
        lasting: Vec::new(),
        prompt: Vec::new(),
        hidden: Vec::new(),
        monitors: Vec::new(),
        found: Vec::new(),
        units: units.collect(),
    };
    let shown =
        case.program.properties.iter_enumerated().filter(|(_, p)| {
            ["performs:", "access:", "release:", "assert:"].iter().any(|kind| p.name.starts_with(kind))
        });
    let properties = shown.map(|(id, _)| id).collect();
    Certificate { method: "by hand".into(), terms: inner.terms.clone(), properties, proof: Proof::Reduction(reduction) }
}

/// The steps of straight code up to the first that writes something shared, with that one.
pub(crate) fn steps_to_the_first_write(case: &Case) -> Vec<ActionId> {
    let p = &case.program;
    let thread = case.thread("T");
    let shared: Vec<_> = p.shared().collect();
    let code = &p.threads[thread].code;
    let steps = case.path(thread).into_iter().filter_map(|at| code.from(at).next());
    let mut out = Vec::new();
    for (id, a) in steps {
        out.push(id);
        if a.updates.iter().any(|u| shared.contains(&u.var)) {
            return out;
        }
    }
    panic!("nothing shared is written")
}

/// The thread follows with its call as one step.
pub(crate) fn performed(case: &Case) -> PerformedProof {
    let calls = Box::new(reduction(case));
    let by_specification = evidence::performed_program(&case.program, &calls).expect("calls are by specification");
    let inner = Case::of(by_specification);
    let thread = inner.thread("T");
    let calls_before = steps_to_the_first_write(&inner);
    let pairs = inner.path(thread).into_iter().enumerate().map(|(k, location)| SimulationPair {
        location,
        candidates: vec![u32::from(k >= calls_before.len())],
        formula: inner.term("true"),
    });
    let simulation = Simulation { thread, own: Vec::new(), pairs: pairs.collect(), symbolic: None };
    let proof = Box::new(inner.certificate(Proof::Simulation(simulation), &["follows:T"]));
    PerformedProof { calls, proof }
}

#[test]
fn check_a_certificate_with_all_premises_is_accepted() {
    let case = Case::new(INCREMENT);
    case.accepted(Proof::Performed(performed(&case)), "follows:T");
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    let case = Case::new(INCREMENT);
    let rejected = |because: &str, change: &dyn Fn(&mut PerformedProof)| {
        let mut changed = performed(&case);
        change(&mut changed);
        case.rejected(Proof::Performed(changed), "follows:T", because);
    };
    let without = |name: &str| {
        let q = case.property(name);
        move |p: &mut PerformedProof| p.calls.properties.retain(|r| *r != q)
    };
    let calls = |p: &mut PerformedProof| match &mut p.calls.proof {
        Proof::Reduction(r) => std::mem::replace(r, Reduction { units: Vec::new(), ..r.clone() }),
        other => panic!("calls are shown by a reduction, not by {}", other.form()),
    };
    let put = |p: &mut PerformedProof, r: Reduction| p.calls.proof = Proof::Reduction(r);
    // PC2: all that calls by specification rest on is shown of the calls.
    for name in ["performs:increment", "access:count", "release:5", "assert:5"] {
        rejected("PC2", &without(name));
    }
    rejected("is not shown to perform", &|p| {
        let mut r = calls(p);
        r.specified.clear();
        put(p, r);
    });
    // What shows it is checked: a left mover among the right ones, a run without its end, a unit that is missing.
    rejected("reduction RD", &|p| {
        let mut r = calls(p);
        let of_call = r.units.iter_mut().find(|u| !u.right.is_empty()).expect("the callee takes a lock");
        of_call.right = case.program.procedures[ProcId(0)].code.actions.ids().collect();
        put(p, r);
    });
    rejected("its exit has no cut", &|p| {
        let mut r = calls(p);
        r.units.iter_mut().for_each(|u| u.cuts.truncate(1));
        put(p, r);
    });
    rejected("not shown to perform it", &|p| {
        calls(p);
    });
    // PC3: the proof inside is one, and says so.
    let simulation = |p: &mut PerformedProof, change: &dyn Fn(&mut Simulation)| match &mut p.proof.proof {
        Proof::Simulation(s) => change(s),
        other => panic!("inside is a simulation, not {}", other.form()),
    };
    rejected("SM3", &|p| simulation(p, &|s| s.pairs.iter_mut().for_each(|x| x.candidates = vec![0])));
    rejected("SM1", &|p| simulation(p, &|s| s.pairs.iter_mut().for_each(|x| x.candidates = vec![1])));
    rejected("says nothing about follows:T", &|p| p.proof.properties.clear());
    rejected("neither a simulation nor a composition", &|p| p.proof = p.calls.clone());
    rejected("calls are shown by a reduction", &|p| p.calls = p.proof.clone());
    // The terms are those of the programs that the checker builds.
    rejected("another program", &|p| p.calls.terms = logic::Terms::new());
}

#[test]
fn check_an_invariant_or_an_access_predicate_is_not_claimed_so() {
    let case = Case::new(INCREMENT);
    for name in ["invariant:3", "access:count"] {
        let mut proof = performed(&case);
        proof.proof.properties.push(case.property(name));
        case.rejected(Proof::Performed(proof), name, &format!("says nothing about {name}"));
    }
}

#[test]
fn check_a_call_that_does_something_else_is_not_followed_by_specification() {
    let broken = |old: &str, new: &str, because: &str| {
        let text = INCREMENT.replace(old, new);
        assert_ne!(text, INCREMENT, "{old} stands in the program");
        let case = Case::new(&text);
        case.rejected(Proof::Performed(performed(&case)), "follows:T", because);
    };
    broken("count := count + 1;", "count := count + 2;", "reduction RD");
    broken("assert count == count", "assert count == 7", "reduction RD3");
    broken("B -> A : <count> count' == count + 1", "B -> A : <count> count' == count + 2", "SM3");
    broken("{ acquire m;", "{ count := 0; acquire m;", "reduction RD");
    broken(
        "thread T follows Counts { increment(); }",
        "thread T follows Counts { increment(); }\nthread U { count := 0; }",
        "access:count",
    );
}

#[test]
fn check_a_check_that_looks_at_what_others_may_change_is_not_shown_so() {
    // PC1: the thread's own check looks at the counter without the lock, and no access check of its step asks for it.
    let text = INCREMENT
        .replace("proc increment()", "proc increment() requires count >= 0;")
        .replace("requires count >= 0; performs", "requires count >= 0;\nperforms");
    let case = Case::new(&text);
    let why = case.checked(Proof::Performed(performed(&case)), "follows:T").expect_err("others may change the counter");
    assert!(why.contains("PC1") || why.contains("PC2") || why.contains("RD1"), "{why}");
}
