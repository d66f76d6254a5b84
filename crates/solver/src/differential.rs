//! Differential tests: what a solver says of random terms against what evaluation says.
//!
//! In: random terms of every sort. Out: no difference. A model must make the formula true by `logic::eval`, and give
//! every term the value that evaluation gives it; no random assignment may satisfy a formula that was said to be
//! unsatisfiable. Both encodings of machine integers.

use crate::answer::Machines;
use crate::random::RandomTerms;
use crate::{Backend, Satisfiability, SolverSettings};
use base::Budget;
use base::Random;
use logic::{Sort, Symbol, Value, eval_term};
use rustc_hash::FxHashMap;

#[derive(Debug)]
struct Counts {
    sat: usize,
    unsat: usize,
    replayed: usize,
    unknown: usize,
}

fn compare(backend: &dyn Backend, world: &RandomTerms, machines: Machines, seeds: std::ops::Range<u64>) -> Counts {
    let t = &world.terms;
    let settings = SolverSettings { machines, limit: 400_000, ..SolverSettings::default() };
    let mut smt = backend.open(t, settings, &Budget::unlimited());
    let mut counts = Counts { sat: 0, unsat: 0, replayed: 0, unknown: 0 };
    for seed in seeds {
        let mut random = Random::new(seed);
        let parts: Vec<_> = (0..3).map(|_| world.term(&mut random, Sort::BOOL, 3)).collect();
        let formula = t.and(&parts);
        let probes: Vec<_> = (0..4)
            .map(|_| {
                let sort = random.one_of(&world.sorts);
                world.term(&mut random, sort, 2)
            })
            .collect();
        smt.push();
        smt.assert(formula);
        // Half of the probes are asserted, half are not.
        for probe in &probes[..2] {
            smt.assert(t.eq(*probe, t.sym(t.symbol("probe", t.sort_of(*probe)))));
        }
        match smt.check() {
            Satisfiability::Sat => {
                counts.sat += 1;
                let values: FxHashMap<Symbol, Value> =
                    world.symbols.iter().filter_map(|s| Some((*s, smt.value(t.sym(*s))?))).collect();
                if let Ok(truth) = eval_term(t, formula, &values) {
                    assert_eq!(truth, Value::Bool(true), "seed {seed}: the model satisfies {}", t.show(formula));
                    counts.replayed += 1;
                }
                for probe in probes {
                    if let (Some(said), Ok(known)) = (smt.value(probe), eval_term(t, probe, &values)) {
                        assert_eq!(said, known, "seed {seed}: the value of {} in {values:?}", t.show(probe));
                    }
                }
            }
            Satisfiability::Unsat => {
                counts.unsat += 1;
                for _ in 0..200 {
                    let values: FxHashMap<Symbol, Value> =
                        world.symbols.iter().map(|s| (*s, world.value(&mut random, t.symbol_sort(*s)))).collect();
                    let truth = eval_term(t, formula, &values);
                    assert_ne!(
                        truth,
                        Ok(Value::Bool(true)),
                        "seed {seed}: unsat, but {values:?} in {}",
                        t.show(formula)
                    );
                }
            }
            Satisfiability::Unknown(_) => counts.unknown += 1,
        }
        smt.pop();
    }
    counts
}

#[test]
fn check_models_of_z3_agree_with_evaluation() {
    let world = RandomTerms::new();
    for machines in [Machines::Integers, Machines::BitVectors] {
        let counts = compare(&crate::Z3InProcess, &world, machines, 0..150);
        assert!(counts.replayed > 60 && counts.unsat > 20, "most questions are decided and replayed: {counts:?}");
        assert!(counts.unknown < 50 && counts.replayed * 10 >= counts.sat * 9, "few are not: {counts:?}");
    }
}

#[test]
fn check_models_with_sequences_agree_with_evaluation() {
    let world = RandomTerms::new().with_seqs();
    let counts = compare(&crate::Z3InProcess, &world, Machines::Integers, 1000..1100);
    assert!(counts.replayed > 40, "most questions are decided and replayed: {counts:?}");
}

#[test]
fn check_models_over_a_pipe_agree_with_evaluation() {
    let z3 = crate::PipeSolver::z3().expect("the build brought z3");
    let counts = compare(&z3, &RandomTerms::new().with_seqs(), Machines::BitVectors, 2000..2025);
    assert!(counts.replayed > 5 && counts.unsat > 1, "most questions are decided and replayed: {counts:?}");
    let Some(cvc5) = crate::PipeSolver::cvc5() else { return };
    for machines in [Machines::Integers, Machines::BitVectors] {
        let counts = compare(&cvc5, &RandomTerms::new(), machines, 2000..2025);
        assert!(counts.replayed > 5 && counts.unsat > 1, "most questions are decided and replayed: {counts:?}");
    }
}

/// Under one quantifier, over every scalar sort: two solvers may not contradict each other, nor evaluation.
#[test]
fn check_solvers_agree_on_quantified_formulas() {
    let world = RandomTerms::new();
    let t = &world.terms;
    let z3 = crate::Z3InProcess;
    let cvc5 = crate::PipeSolver::cvc5();
    let settings = SolverSettings { limit: 200_000, ..SolverSettings::default() };
    let mut first = z3.open(t, settings, &Budget::unlimited());
    let mut second = cvc5.as_ref().map(|s| s.open(t, settings, &Budget::unlimited()));
    let (mut decided, mut agreed) = (0, 0);
    for seed in 3000..3040 {
        let mut random = Random::new(seed);
        let body = world.term(&mut random, Sort::BOOL, 3);
        let scalars: Vec<Symbol> =
            t.free_symbols(body).into_iter().filter(|s| world.sorts[..7].contains(&t.symbol_sort(*s))).collect();
        if scalars.is_empty() {
            continue;
        }
        let bound = [random.one_of(&scalars)];
        let formula = if random.below(2) == 0 { t.forall(&bound, body) } else { t.exists(&bound, body) };
        first.push();
        first.assert(formula);
        let said = first.check();
        first.pop();
        decided += usize::from(!matches!(said, Satisfiability::Unknown(_)));
        if said.is_unsat() {
            for _ in 0..100 {
                let values: FxHashMap<Symbol, Value> =
                    world.symbols.iter().map(|s| (*s, world.value(&mut random, t.symbol_sort(*s)))).collect();
                let truth = eval_term(t, formula, &values);
                assert_ne!(truth, Ok(Value::Bool(true)), "seed {seed}: unsat, but {values:?} in {}", t.show(formula));
            }
        }
        if let Some(second) = &mut second {
            second.push();
            second.assert(formula);
            let other = second.check();
            second.pop();
            if !matches!(said, Satisfiability::Unknown(_)) && !matches!(other, Satisfiability::Unknown(_)) {
                assert_eq!(said, other, "seed {seed}: {}", t.show(formula));
                agreed += 1;
            }
        }
    }
    assert!(decided > 10, "{decided} decided");
    assert!(cvc5.is_none() || agreed > 5, "{agreed} agreed");
}

#[test]
fn check_the_simplifier_keeps_the_meaning_of_formulas() {
    let world = RandomTerms::new();
    let t = &world.terms;
    let settings = SolverSettings { limit: 400_000, ..SolverSettings::default() };
    let mut smt = crate::Z3InProcess.open(t, settings, &Budget::unlimited());
    let mut proved = 0;
    for seed in 4000..4100 {
        let mut random = Random::new(seed);
        let formula = world.term(&mut random, Sort::BOOL, 4);
        let simple = t.simplify(formula);
        smt.push();
        smt.assert(t.ne(formula, simple));
        let said = smt.check();
        assert!(!said.is_sat(), "seed {seed}: {} became {}", t.show(formula), t.show(simple));
        proved += usize::from(said.is_unsat());
        smt.pop();
    }
    assert!(proved > 70, "{proved} proved equivalent");
}

#[test]
fn check_very_deep_terms_are_encoded_and_printed() {
    let t = logic::Terms::new();
    let x = t.sym(t.symbol("x", Sort::INT));
    let mut sum = x;
    for n in 0..20_000 {
        sum = t.add(sum, t.int(n % 3));
    }
    let mut encoder = crate::encode::Encoder::new(
        &t,
        crate::smtlib::Text::new(crate::smtlib::Dialect::Cvc5),
        Machines::Integers,
        crate::encode::EncodingPurpose::Models,
    );
    let root = encoder.encode(t.lt(x, sum)).expect("a sum can be encoded").expr;
    let text = crate::smtlib::Text::script(&encoder.target, &[root]);
    assert_eq!(text.matches("(+ ").count(), 20_000);
}
