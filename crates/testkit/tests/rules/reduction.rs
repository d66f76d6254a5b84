//! Rule `reduction`, where every step is a run of its own; proofs with movers, one for each premise, are in `methods/tests`.

use crate::case::Case;
use evidence::{CutPoint, MoverPhase, Proof, Reduced, Reduction};
use program::call_summaries::CodeUnit;

/// What the thread asserts is its own.
pub(crate) const LOCAL: &str = "var x: int = 0;\nthread T { var k: int; havoc x; k := 1; assert k == 1; }\n";

/// A cut at every location: each step is a run. `k` is 1 from its assignment on.
pub(crate) fn every_step(case: &mut Case) -> Reduction {
    let thread = case.thread("T");
    let before = case
        .program
        .shared()
        .map(|v| (case.program.vars[v].name.clone(), case.program.vars[v].sort))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(name, sort)| case.symbol(&format!("{name} before"), sort))
        .collect();
    let path = case.path(thread);
    let cut = |(i, location): (usize, &program::LocId)| CutPoint {
        location: *location,
        position: 0,
        phase: MoverPhase::Between,
        formula: case.term(if i + 2 >= path.len() { "(= k 1)" } else { "true" }),
        rank: None,
    };
    let cuts = path.iter().enumerate().map(cut).collect();
    let unit = Reduced { unit: CodeUnit::Thread(thread), before, right: Vec::new(), cuts };
    Reduction {
        guards: Vec::new(),
        specified: Vec::new(),
        premises: Vec::new(),
        lasting: Vec::new(),
        prompt: Vec::new(),
        hidden: Vec::new(),
        monitors: Vec::new(),
        found: Vec::new(),
        units: vec![unit],
    }
}

#[test]
fn check_a_certificate_with_all_premises_is_accepted() {
    let mut case = Case::new(LOCAL);
    let proof = every_step(&mut case);
    case.accepted(Proof::Reduction(proof), "assert:2");
}

#[test]
fn check_a_certificate_that_lacks_a_premise_is_rejected() {
    let mut case = Case::new(LOCAL);
    let proof = every_step(&mut case);
    let rejected = |because: &str, change: &dyn Fn(&mut Reduction)| {
        let mut changed = proof.clone();
        change(&mut changed);
        case.rejected(Proof::Reduction(changed), "assert:2", because);
    };
    rejected("RD2", &|p| p.units[0].cuts[0].formula = case.term("(= k 1)"));
    // Others write x as they like.
    rejected("RD2 to RD5", &|p| p.units[0].cuts[3].formula = case.term("(and (= k 1) (= x 0))"));
    rejected("assert:2", &|p| p.units[0].cuts[2].formula = case.term("true"));
    rejected("its exit has no cut", &|p| {
        p.units[0].cuts.pop();
    });
    rejected("not all that assert:2 speaks of", &|p| p.units.clear());
    rejected("there twice", &|p| p.units.push(p.units[0].clone()));
    rejected("not new ones", &|p| p.units[0].before.clear());
    rejected("right mover does not exist", &|p| p.units[0].right.push(program::ActionId(9)));
    rejected("no location or position", &|p| p.units[0].cuts[0].position = 1);
    rejected("have a rank", &|p| p.units[0].cuts[0].rank = Some(case.term("x")));
    rejected("x before", &|p| p.units[0].cuts[0].formula = case.term("(= |x before| 0)"));
}

/// What was read is not above what is there: others only add.
pub(crate) const GROWS: &str = "var n: int = 0;\nrely n' >= n;\nthread U { n := n + 1; }\n\
    thread T[*] { var k: int; k := n; skip; assert k <= n; }\n";

/// Each step of `T` is a run; `k` is at most `n` from its assignment on, because every other thread's step keeps the rely.
pub(crate) fn grows(case: &mut Case) -> Reduction {
    let thread = case.thread("T");
    let before = vec![case.symbol("n before", logic::Sort::INT)];
    let cut = |(i, location): (usize, &program::LocId)| CutPoint {
        location: *location,
        position: 0,
        phase: MoverPhase::Between,
        formula: case.term(if i > 0 { "(<= k n)" } else { "true" }),
        rank: None,
    };
    let cuts = case.path(thread).iter().enumerate().map(cut).collect();
    let unit = Reduced { unit: CodeUnit::Thread(thread), before, right: Vec::new(), cuts };
    Reduction {
        guards: Vec::new(),
        specified: Vec::new(),
        premises: vec![case.property("rely:2")],
        lasting: Vec::new(),
        prompt: Vec::new(),
        hidden: Vec::new(),
        monitors: Vec::new(),
        found: Vec::new(),
        units: vec![unit],
    }
}

#[test]
fn check_a_certificate_that_rests_on_a_rely_is_accepted() {
    let mut case = Case::new(GROWS);
    let mut proof = grows(&mut case);
    case.accepted(Proof::Reduction(proof.clone()), "assert:4");
    proof.lasting = proof.premises.clone();
    case.accepted(Proof::Reduction(proof), "assert:4");
}

#[test]
fn check_a_certificate_that_rests_on_a_rely_wrongly_is_rejected() {
    let rejected = |text: &str, because: &str, change: &dyn Fn(&Case, &mut Reduction)| {
        let mut case = Case::new(text);
        let mut proof = grows(&mut case);
        change(&case, &mut proof);
        case.rejected(Proof::Reduction(proof), "assert:4", because);
    };
    rejected(GROWS, "RD2 to RD5", &|_, r| r.premises.clear());
    // Some step is none that others rely on: of another thread, of another instance of the same thread.
    rejected(&GROWS.replace("n + 1", "n - 1"), "RD9", &|_, _| ());
    rejected(&GROWS.replace("skip", "n := 0"), "RD9", &|_, _| ());
    // What the only instance of a thread does is nothing that it has to rely on itself; but a rely of `U` says nothing to `T`.
    let of_u = GROWS.replace("rely n' >= n;\nthread U {", "thread U rely n' >= n;\n{");
    rejected(&of_u.replace("n + 1", "n - 1"), "RD2 to RD5", &|_, _| ());
    rejected(&of_u.replace("skip", "n := 0"), "RD9", &|_, _| ());
    rejected(GROWS, "neither an invariant nor a rely", &|case, r| r.premises = vec![case.property("assert:4")]);
    rejected(GROWS, "no rely among the premises", &|case, r| r.lasting = vec![case.property("assert:4")]);
    rejected(GROWS, "no rely among the premises", &|_, r| r.lasting = std::mem::take(&mut r.premises));
    // Lasting: no step is one, and two together are one.
    let (still, jump) = ("n' >= n && n' <= n + 1", "n' > n || n' == 7");
    for rely in [still, jump] {
        let text = GROWS.replace("n' >= n", rely);
        rejected(&text, "RD9", &|_, r| r.lasting = r.premises.clone());
    }
    rejected(&GROWS.replace("thread U", "invariant n >= 0; thread U"), "no rely among the premises", &|case, r| {
        r.premises.push(case.property("invariant:3"));
        r.lasting = vec![case.property("invariant:3")];
    });
}

#[test]
fn check_a_cut_does_not_bind_the_inputs_of_a_step() {
    // After `havoc x` the value of x is the step's input; under a binder of the same name it would be whatever the binder says.
    let mut case = Case::new("var x: int = 0;\nproc p() { havoc x; x := x; assert x == 0; }\n");
    let q = program::ProcId(0);
    let basis = evidence::reduction::basis(&case.program, &[], &[]).expect("there are no guards").specified;
    case.terms = basis.program.terms.clone();
    let code = basis.code(CodeUnit::Procedure(q)).clone();
    let input = code.actions.iter().find_map(|a| a.inputs.first().copied()).expect("havoc chooses a value");
    let before = vec![case.symbol("x before", logic::Sort::INT)];
    let (t, x) = (&case.terms, case.known("x"));
    let forged = t.exists(&[input], t.and(&[t.eq(t.sym(input), t.int(0)), t.eq(t.sym(x), t.int(0))]));
    let cuts = code.locations.ids().map(|location| {
        let formula = if location == code.entry { case.term("true") } else { forged };
        CutPoint { location, position: 0, phase: MoverPhase::Between, formula, rank: None }
    });
    let unit = Reduced { unit: CodeUnit::Procedure(q), before, right: Vec::new(), cuts: cuts.collect() };
    let proof = Reduction {
        guards: Vec::new(),
        specified: Vec::new(),
        premises: Vec::new(),
        lasting: Vec::new(),
        prompt: Vec::new(),
        hidden: Vec::new(),
        monitors: Vec::new(),
        found: Vec::new(),
        units: vec![unit],
    };
    assert!(case.checked(Proof::Reduction(proof), "assert:2").is_err(), "x may be anything");
}

/// What a procedure performs, without the variable that it hides.
pub(crate) const HIDES: &str = "private var h: int = 0;\nvar x: int = 0;\nproc p()\n  performs P: <x> x' == x + 1;\n{ atomic { h := h + 7; x := x + 1; } }\n";

/// One run: the step.
pub(crate) fn hides(case: &mut Case) -> Reduction {
    let q = program::ProcId(0);
    let basis = evidence::reduction::basis(&case.program, &[], &[q]).expect("there are no guards").specified;
    case.terms = basis.program.terms.clone();
    let code = basis.code(CodeUnit::Procedure(q)).clone();
    let before = ["h before", "x before"].map(|name| case.symbol(name, logic::Sort::INT)).to_vec();
    let cut = |(location, position)| CutPoint {
        location,
        position,
        phase: MoverPhase::Between,
        formula: case.term("true"),
        rank: None,
    };
    let exit = code.exit.expect("it ends");
    let cuts = [(code.entry, 0), (exit, 1)].into_iter().map(cut).collect();
    let unit = Reduced { unit: CodeUnit::Procedure(q), before, right: Vec::new(), cuts };
    Reduction {
        guards: Vec::new(),
        specified: vec![q],
        premises: Vec::new(),
        lasting: Vec::new(),
        prompt: Vec::new(),
        hidden: vec![case.program.shared().next().expect("h is the first")],
        monitors: Vec::new(),
        found: Vec::new(),
        units: vec![unit],
    }
}

#[test]
fn check_a_certificate_may_hide_what_is_private_and_nothing_else() {
    let mut case = Case::new(HIDES);
    let proof = hides(&mut case);
    case.accepted(Proof::Reduction(proof.clone()), "performs:p");
    let rejected = |because: &str, change: &dyn Fn(&mut Reduction)| {
        let mut changed = proof.clone();
        change(&mut changed);
        case.rejected(Proof::Reduction(changed), "performs:p", because);
    };
    rejected("RD2 to RD5", &|p| p.hidden.clear());
    rejected("hidden that callers see", &|p| p.hidden.extend(case.program.shared().nth(1)));
    rejected("hidden that callers see", &|p| p.hidden = case.program.shared().skip(1).collect());
    rejected("names a hidden variable", &|p| p.specified.clear());
    rejected("a monitor is not hidden", &|p| p.monitors = p.hidden.clone());
    rejected("a monitor is not hidden", &|p| {
        p.monitors = std::mem::take(&mut p.hidden);
    });
    rejected("RD7", &|p| p.found = vec![case.term("(= x 0)")]);
    rejected("RD7", &|p| p.found = vec![case.term("(= h x)")]);
    rejected("a found invariant", &|p| p.found = vec![case.term("(= |h before| 0)")]);
    let mut with_truth = proof.clone();
    with_truth.found = vec![case.term("(<= 0 h)"), case.term("(<= 0 x)")];
    case.accepted(Proof::Reduction(with_truth), "performs:p");
    // What is not private is compared.
    let mut seen = Case::new(&HIDES.replace("private var", "var"));
    let proof = hides(&mut seen);
    seen.rejected(Proof::Reduction(proof), "performs:p", "hidden that callers see");
}
