//! Rule `assume-guarantee`: certificates made by hand, accepted and rejected premise by premise; and certificates of one
//! program put to a mutated one, where whatever a plain search finds must be refused.

use crate::proofs::wide;
use base::differential::{limited_work, programs_to_try};
use base::ids::Id;
use base::{Budget, Sources};
use checker::{CheckLimits, Checker, Outcome};
use evidence::{AssumeGuarantee, Assumes, Certificate, Claim, Premises, Proof};
use frontend::lang::{LoweringSettings, lower_file, parse_file};
use logic::{Op, Sort, Term, Terms};
use methods::RelyMethod;
use methods::{Method, MethodOptions, Run, Task};
use program::semantics::{self, InstanceCounts};
use program::transition::loop_heads;
use program::{Program, PropertyId};
use std::sync::Arc;
use std::time::Duration;
use testkit::oracle::Again;
use testkit::random;

fn load(text: &str) -> Program {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, "test.tp", text.as_bytes());
    let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
    lowered.program.unwrap_or_else(|| panic!("{:?}", lowered.diagnostics))
}

/// Names of variables as terms, `x'` the value after.
struct Vocabulary<'a>(&'a Program, &'a Terms);

impl Vocabulary<'_> {
    fn v(&self, name: &str) -> Term {
        let (plain, after) = name.strip_suffix('\'').map_or((name, false), |n| (n, true));
        let var = self.0.vars.iter().find(|v| v.name == plain).expect("a variable of the program");
        self.1.sym(if after { var.primed } else { var.symbol })
    }
    fn tid(&self) -> Term {
        self.1.sym(self.0.tid)
    }
}

/// Whether the checker accepts a certificate with this invariant and this rely of every thread, and nothing at the loops
/// but what `at` gives.
fn accepted(p: &Program, make: impl Fn(&Vocabulary<'_>) -> (Term, Term, Term)) -> bool {
    let terms = p.terms.clone();
    let (invariant, rely, at) = make(&Vocabulary(p, &terms));
    let threads = p.threads.iter_enumerated().map(|(thread, t)| Assumes {
        thread,
        rely,
        cuts: loop_heads(&t.code).into_iter().map(|l| (l, at)).collect(),
    });
    let threads: Vec<Assumes> = threads.collect();
    // What is accepted with few premises is accepted with all of them, and here also the other way.
    let [all, near] = [Premises::All, Premises::Relevant].map(|premises| {
        let proof = AssumeGuarantee { invariant, threads: threads.clone(), premises };
        judge(p, terms.clone(), proof)
    });
    assert_eq!(all, near, "these annotations speak of nothing that is far from the code");
    all
}

fn judge(p: &Program, terms: Terms, proof: AssumeGuarantee) -> bool {
    let properties: Vec<PropertyId> = p.properties.ids().collect();
    let claim = Claim::Proved(Arc::new(Certificate {
        method: "test".into(),
        terms,
        properties: properties.clone(),
        proof: Proof::AssumeGuarantee(proof),
    }));
    let mut leaves = Again;
    let mut checker = Checker::new(p, &mut leaves, CheckLimits::default());
    properties.iter().all(|q| checker.check(*q, "test", &claim).outcome() == Outcome::Safe)
}

const LOCK: &str = "var m: lock; var x: int = 0;
thread T[*] { while true { acquire m; x := 5; assert x == 5; x := 0; release m; } }
invariant m == 0 ==> x == 0;";

fn protected(w: &Vocabulary<'_>) -> Term {
    let t = w.1;
    t.implies(t.eq(w.v("m"), w.tid()), t.and(&[t.eq(w.v("m'"), w.tid()), t.eq(w.v("x'"), w.v("x"))]))
}

fn free(w: &Vocabulary<'_>) -> Term {
    w.1.implies(w.1.eq(w.v("m"), w.1.int(0)), w.1.eq(w.v("x"), w.1.int(0)))
}

#[test]
fn check_calvins_annotation_of_a_lock_is_accepted() {
    assert!(accepted(&load(LOCK), |w| (free(w), protected(w), w.1.tt())));
}

/// Whoever has the lock by his code does not know what holds while it is free; where another takes it away, that is noticed.
#[test]
fn check_a_lock_that_another_gives_back_protects_nothing() {
    let thief = LOCK.replace("invariant", "thread Thief { atomic { m := 0; } }\ninvariant");
    assert!(!accepted(&load(&thief), |w| (free(w), protected(w), w.1.tt())));
    assert!(!accepted(&load(&thief), |w| (free(w), w.1.tt(), w.1.tt())));
}

/// Obligations that differ in names alone are asked once: the answer is that of each of them, yes or no.
#[test]
fn check_alike_obligations_share_their_answer() {
    let text = |change: &str| {
        format!(
            "var x: int = 0; var y: int = 0; thread A[*] {{ while true {{ assert x == 0; }} }}
thread B[*] {{ while true {{ assert y == 0; }} }} thread W {{ {change} }}"
        )
    };
    let of = |p: &Program| {
        let terms = p.terms.clone();
        let w = Vocabulary(p, &terms);
        let invariant = terms.and(&[terms.eq(w.v("x"), terms.int(0)), terms.eq(w.v("y"), terms.int(0))]);
        (invariant, terms)
    };
    let verdict = |change: &str, with_invariant: bool| {
        let p = load(&text(change));
        let (invariant, terms) = of(&p);
        let threads = p.threads.iter_enumerated().map(|(thread, t)| Assumes {
            thread,
            rely: terms.tt(),
            cuts: loop_heads(&t.code).into_iter().map(|l| (l, terms.tt())).collect(),
        });
        let threads = threads.collect();
        let invariant = if with_invariant { invariant } else { terms.tt() };
        let proof = Proof::AssumeGuarantee(AssumeGuarantee { invariant, threads, premises: Premises::All });
        let properties: Vec<PropertyId> = p.properties.ids().collect();
        let claim = Claim::Proved(Arc::new(Certificate {
            method: "test".into(),
            terms,
            properties: properties.clone(),
            proof,
        }));
        let mut leaves = Again;
        let mut checker = Checker::new(&p, &mut leaves, CheckLimits::default());
        properties.iter().map(|q| checker.check(*q, "test", &claim).outcome()).collect::<Vec<_>>()
    };
    assert_eq!(verdict("skip;", true), vec![Outcome::Safe; 2]);
    assert_eq!(verdict("skip;", false), vec![Outcome::Unknown; 2], "both are refused, not only the one that was asked");
    assert_eq!(verdict("x := 1;", true), vec![Outcome::Unknown; 2], "the invariant is common");
}

#[test]
fn check_a_rely_that_says_too_little_is_rejected() {
    // AG3, a gate: nothing protects x.
    assert!(!accepted(&load(LOCK), |w| (free(w), w.1.tt(), w.1.tt())));
}

#[test]
fn check_a_rely_that_a_step_breaks_is_rejected() {
    // AG3: x changes.
    let unchanged = |w: &Vocabulary<'_>| w.1.and(&[protected(w), w.1.eq(w.v("x'"), w.v("x"))]);
    assert!(!accepted(&load(LOCK), |w| (free(w), unchanged(w), w.1.tt())));
}

#[test]
fn check_an_invariant_that_says_less_than_what_is_claimed_is_rejected() {
    // AG5: everything else holds of the weaker annotation, without an assertion that needs it.
    let p = load(
        "var m: lock; var x: int = 0;
thread T[*] { acquire m; x := 5; x := 0; release m; }
invariant m == 0 ==> x == 0;",
    );
    assert!(accepted(&p, |w| (free(w), protected(w), w.1.tt())));
    assert!(!accepted(&p, |w| (w.1.tt(), protected(w), w.1.tt())));
    let weaker = |w: &Vocabulary<'_>| w.1.implies(w.1.eq(w.v("m"), w.1.int(0)), w.1.le(w.1.int(0), w.v("x")));
    assert!(!accepted(&p, |w| (weaker(w), protected(w), w.1.tt())));
}

#[test]
fn check_a_step_near_by_is_judged_by_what_it_could_break_far_away() {
    // With few premises: `x` is touched by no thread but Two, what is said of it together with `y` is One's to keep.
    let p = load(
        "var x: int = 0; var y: int = 0; var z: int = 0;
thread One { y := 1; }
thread Two { z := 1; x := 1; }
invariant y <= 1;",
    );
    let at = |premises: Premises, says: &dyn Fn(&Vocabulary<'_>) -> Term| {
        let terms = p.terms.clone();
        let w = Vocabulary(&p, &terms);
        let small = terms.le(w.v("y"), terms.int(1));
        let invariant = terms.and(&[small, says(&w)]);
        let threads = p.threads.ids().map(|thread| Assumes { thread, rely: terms.tt(), cuts: vec![] }).collect();
        judge(&p, terms.clone(), AssumeGuarantee { invariant, threads, premises })
    };
    for premises in [Premises::All, Premises::Relevant] {
        assert!(at(premises, &|w| w.1.le(w.v("x"), w.1.int(1))));
        assert!(!at(premises, &|w| w.1.eq(w.v("x"), w.1.int(0))), "Two breaks it");
        assert!(!at(premises, &|w| w.1.eq(w.v("x"), w.v("y"))), "each of them breaks it");
        assert!(!at(premises, &|w| w.1.le(w.v("z"), w.v("x"))), "Two breaks it for a moment");
    }
}

#[test]
fn check_an_invariant_that_does_not_hold_at_first_is_rejected() {
    // AG1.
    assert!(!accepted(&load(LOCK), |w| (w.1.and(&[free(w), w.1.lt(w.1.int(0), w.v("x"))]), protected(w), w.1.tt())));
}

#[test]
fn check_an_invariant_that_a_step_breaks_is_rejected_though_it_would_stop_the_environment() {
    // AG3: with the lock always free no thread could ever move on; what comes after the step must not excuse it.
    let never = |w: &Vocabulary<'_>| w.1.eq(w.v("m"), w.1.int(0));
    assert!(!accepted(&load(LOCK), |w| (w.1.and(&[free(w), never(w)]), protected(w), w.1.tt())));
    let taken_stays =
        |w: &Vocabulary<'_>| w.1.and(&[protected(w), w.1.implies(w.1.not(never(w)), w.1.ne(w.v("m'"), w.1.int(0)))]);
    assert!(!accepted(&load(LOCK), |w| (w.1.and(&[free(w), never(w)]), taken_stays(w), w.1.tt())));
}

#[test]
fn check_a_relation_that_is_not_reflexive_or_not_transitive_is_rejected() {
    // AG2. Every step of the program grows x by one, so only the shape of the relation is wrong.
    let grows = "var x: int = 0; thread T[*] { x := x + 1; } invariant x >= 0;";
    let p = load(grows);
    let positive = |w: &Vocabulary<'_>| w.1.le(w.1.int(0), w.v("x"));
    assert!(accepted(&p, |w| (positive(w), w.1.le(w.v("x"), w.v("x'")), w.1.tt())));
    assert!(!accepted(&p, |w| (positive(w), w.1.lt(w.v("x"), w.v("x'")), w.1.tt())));
    let one = |w: &Vocabulary<'_>| w.1.le(w.v("x'"), w.1.mk(Op::Add, &[w.v("x"), w.1.int(1)]));
    assert!(!accepted(&p, |w| (positive(w), one(w), w.1.tt())));
}

#[test]
fn check_what_is_said_at_a_loop_has_to_hold_when_it_is_reached() {
    // AG3, cuts.
    let text = "thread T { var i: int := 0; while i < 9 { i := i + 1; assert i > 0; } }";
    let p = load(text);
    assert!(accepted(&p, |w| (w.1.tt(), w.1.tt(), w.1.le(w.1.int(0), w.v("i")))));
    assert!(!accepted(&p, |w| (w.1.tt(), w.1.tt(), w.1.tt())));
    assert!(!accepted(&p, |w| (w.1.tt(), w.1.tt(), w.1.eq(w.v("i"), w.1.int(0)))));
}

#[test]
fn check_a_loop_without_a_cut_and_a_foreign_symbol_are_rejected() {
    let p = load("var x: int = 0; thread T { while x < 9 { x := x + 1; } assert x >= 9; }");
    let with = |cut: bool, rely: &dyn Fn(&Terms) -> Term| {
        let terms = p.terms.clone();
        let cuts = if cut { loop_heads(&p.threads[program::ThreadId(0)].code) } else { vec![] };
        let cuts = cuts.into_iter().map(|l| (l, terms.tt())).collect();
        let rely = rely(&terms);
        let threads = vec![Assumes { thread: program::ThreadId(0), rely, cuts }];
        judge(&p, terms.clone(), AssumeGuarantee { invariant: terms.tt(), threads, premises: Premises::default() })
    };
    let kept = |t: &Terms| t.eq(t.sym(p.vars[program::VarId(0)].primed), t.sym(p.vars[program::VarId(0)].symbol));
    assert!(with(true, &kept));
    assert!(!with(false, &kept));
    assert!(!with(true, &|t| t.and(&[kept(t), t.sym(t.symbol("free", Sort::BOOL))])));
}

#[test]
fn check_others_move_before_an_atomic_block_though_the_step_into_it_looks_at_nothing() {
    let p = load(
        "var x: int = 0;
thread A { skip; atomic { var i: int := 0; while i < 2 { i := i + 1; } assert x == 0; } }
thread B { x := 1; }",
    );
    assert!(!accepted(&p, |w| (w.1.tt(), w.1.tt(), w.1.tt())));
}

#[test]
fn check_a_spawned_thread_has_to_start_as_annotated() {
    // AG4.
    let p = load(
        "var x: int = 0;
thread Main { var i: int := 0; while i < 3 { i := i + 1; spawn Job(i); } }
thread Job(n: int) { assert n > 0; x := n; }",
    );
    let at = |low: i128| {
        let terms = p.terms.clone();
        let local = |name: &str| terms.sym(p.vars.iter().find(|v| v.name == name).expect("a local").symbol);
        let threads = p
            .threads
            .iter_enumerated()
            .map(|(thread, t)| {
                let mut cuts = loop_heads(&t.code);
                let formula = if t.name == "Job" {
                    cuts.push(t.code.entry);
                    terms.le(terms.int(low), local("n"))
                } else {
                    terms.le(terms.int(0), local("i"))
                };
                Assumes { thread, rely: terms.tt(), cuts: cuts.into_iter().map(|l| (l, formula)).collect() }
            })
            .collect();
        judge(&p, terms.clone(), AssumeGuarantee { invariant: terms.tt(), threads, premises: Premises::default() })
    };
    assert!(at(1));
    assert!(!at(2), "the first job has number 1");
    assert!(!at(0), "too weak for the assertion");
}

fn run(p: &Program) -> evidence::Claims {
    let properties = p.properties.ids().collect();
    let task = Task { program: p.clone(), properties, threads: Default::default(), options: MethodOptions::default() };
    RelyMethod.run(&task, &Run::quiet(limited_work(Duration::from_secs(60))))
}

#[test]
fn check_what_was_found_verifies_when_it_is_pasted_back() {
    let path = testkit::corpus::root().join("seeds/calvin/dekker_ask.tp");
    let asked = std::fs::read_to_string(path).expect("the corpus is there");
    let found = run(&load(&asked));
    assert!(found.claims.values().all(|c| matches!(c, Claim::Proved(_))), "{:?}", found.claims.keys());
    let of = |what: &str, thread: &str| -> String {
        let mine = |l: &&String| l.starts_with(what) && (!l.contains("// of thread") || l.ends_with(thread));
        found.notes.iter().filter(mine).map(|l| format!("{l}\n")).collect()
    };
    let mut text = asked.replacen("invariant ?;", &of("invariant", "nobody"), 1);
    for thread in ["One", "Two"] {
        text = text.replacen("rely ?;", &of("rely", thread), 1);
    }
    assert!(!text.contains('?') && text.contains("rely"), "{text}");
    let pasted = load(&text);
    let again = run(&pasted);
    assert_eq!(again.claims.len(), pasted.properties.len());
    assert!(again.claims.values().all(|c| matches!(c, Claim::Proved(_))), "{text}");
}

#[test]
fn check_a_broken_rely_is_told_once_with_step_thread_conjunct_and_values() {
    let p = load(
        "var m: lock; var x: int = 5;
rely m == tid ==> m' == tid && x' == x;
rely x' >= 0;
thread One { acquire m; x := x + 2; assert x > 1; release m; }
thread Two { x := 0; }",
    );
    let claims = run(&p).claims;
    let reason = |name: &str| {
        let id = p.properties.iter_enumerated().find(|(_, q)| q.name == name).expect("a property").0;
        match &claims[&id] {
            Claim::Undecided(reason) => reason.to_string(),
            other => panic!("{name} is decided: {other:?}"),
        }
    };
    let reason_text = reason("rely:2");
    assert_eq!(reason_text.matches("breaks").count(), 1, "one cause, one error: {reason_text}");
    for words in ["thread Two, `x := 0`", "every other thread relies on", "x = 0 (was ", "others: m = "] {
        assert!(reason_text.contains(words), "{words} in: {reason_text}");
    }
    assert!(reason("assert:4").contains("others: x = "), "who interferes is reported");
    let other = p.properties.iter_enumerated().find(|(_, q)| q.name == "rely:3").expect("a property").0;
    assert!(matches!(claims[&other], Claim::Proved(_)), "the other rely holds");
}

#[test]
fn check_conditions_grow_linearly_with_branches() {
    let size = |k: usize| {
        let branches: String = (0..k).map(|i| format!("if * {{ x := x + {i}; }} else {{ y := y + x; }}\n")).collect();
        let p = load(&format!("var x: int = 0; var y: int = 0; thread T[*] {{ {branches} assert true; }}"));
        let terms = p.terms.clone();
        let before = terms.len();
        let (names, none) = (program::parts::StoreSymbols::new(&p), program::parts::Parts::default());
        let env = program::passive::EnvironmentFacts { rely: &none, invariant: &none };
        let passive = program::passive::Passive::new(&p, &terms, &names, program::ThreadId(0), &[], env);
        let begin = program::passive::RegionStart::Entry(terms.tt());
        passive.region(begin, program::parts::Within::All).expect("no loop");
        terms.len() - before
    };
    let (small, large) = (size(50), size(200));
    assert!(large < 5 * small, "four times the branches: {small} and {large}");
}

/// Says yes to everything and counts what it is asked.
#[derive(Default)]
struct Counted {
    nodes: usize,
}

impl checker::ValidityOracle for Counted {
    fn name(&self) -> String {
        "nobody".into()
    }
    fn independent(&self) -> bool {
        false
    }
    fn valid(&mut self, terms: &Terms, formula: Term) -> checker::OracleAnswer {
        let (mut todo, mut seen) = (vec![formula], std::collections::BTreeSet::new());
        while let Some(t) = todo.pop() {
            if seen.insert(t) {
                todo.extend(terms.app(t).into_iter().flat_map(|(_, args)| args));
            }
        }
        self.nodes += seen.len();
        checker::OracleAnswer::Valid
    }
    /// Whatever is asked for once is counted, also what is like something else.
    fn remembers(&mut self, terms: &Terms, formula: Term) -> bool {
        self.valid(terms, formula);
        true
    }
}

/// No times: how many candidates, questions, conjuncts, and nodes of obligations a program of twice the size takes.
#[test]
fn check_the_work_for_a_large_program_grows_with_its_size() {
    let work = |procedures: usize, callers: testkit::scale::Callers| {
        let p = load(&testkit::scale::program(&testkit::scale::Shape::new(procedures, callers)));
        let properties: Vec<PropertyId> = p.properties.ids().collect();
        let many = properties.len();
        let task =
            Task { program: p.clone(), properties, threads: Default::default(), options: MethodOptions::default() };
        let run = Run { workers: 2, ..Run::quiet(Budget::unlimited()) };
        let claims = RelyMethod.run(&task, &run);
        let proved: Vec<_> = claims.claims.iter().filter(|(_, c)| matches!(c, Claim::Proved(_))).collect();
        assert_eq!(proved.len(), many, "every property is proved");
        let mut leaves = Counted::default();
        let mut checker = Checker::new(&p, &mut leaves, CheckLimits::default());
        checker.check(*proved[0].0, "rely", proved[0].1);
        let notes = claims.notes.len();
        [claims.statistics["candidates"] as usize, claims.statistics["questions"] as usize, notes, leaves.nodes]
    };
    for callers in [testkit::scale::Callers::Threads, testkit::scale::Callers::One] {
        let (small, large) = (work(16, callers), work(32, callers));
        for (a, b) in small.into_iter().zip(large) {
            assert!(10 * b <= 23 * a, "{callers:?}: {small:?} for 16 procedures, {large:?} for 32");
        }
    }
}

/// Changes one step: its guard, what it asserts, its updates, or where it leads.
fn mutate(p: &mut Program, seed: u64) {
    let dice = &mut base::random::Random::new(seed);
    let threads = p.threads.len();
    let thread = program::ThreadId::from_index(dice.below(threads));
    let code = &p.threads[thread].code;
    if code.actions.is_empty() {
        return;
    }
    let action = program::ActionId::from_index(dice.below(code.actions.len()));
    let locations = code.locations.len();
    let yes = p.terms.tt();
    let to = program::LocId::from_index(dice.below(locations));
    let choice = dice.below(8);
    let a = &mut p.threads[thread].code.actions[action];
    match choice {
        0 => a.guard = yes,
        1 => a.updates.clear(),
        2 => a.to = to,
        3..=6 => a.gates.iter_mut().for_each(|g| g.formula = p.terms.not(g.formula)),
        _ => a.guard = p.terms.not(a.guard),
    }
}

#[test]
fn check_a_proof_of_one_program_is_refused_for_another_that_goes_wrong() {
    let (mut refused, mut kept) = (0, 0);
    for seed in 0..programs_to_try(12) {
        let program = random::program(seed, &wide());
        let properties: Vec<PropertyId> = program.properties.ids().collect();
        let task = Task {
            program: program.clone(),
            properties,
            threads: Default::default(),
            options: MethodOptions::default(),
        };
        if RelyMethod.admits(&task).is_err() {
            continue;
        }
        let claims = RelyMethod.run(&task, &Run::quiet(limited_work(Duration::from_secs(4))));
        for round in 0..4 {
            let Some(Claim::Proved(first)) = claims.claims.values().find(|c| matches!(c, Claim::Proved(_))) else {
                continue;
            };
            let mut other = program.clone();
            other.terms = first.terms.clone();
            mutate(&mut other, seed * 7 + round);
            let limits = semantics::ReachLimits { states: 1_500, ..semantics::ReachLimits::default() };
            let mut certificate = (**first).clone();
            certificate.terms = other.terms.clone();
            if let Proof::AssumeGuarantee(proof) = &mut certificate.proof
                && round % 2 == 1
            {
                proof.premises = Premises::Relevant;
            }
            let claim = Claim::Proved(Arc::new(certificate));
            let found = [2, 3].map(|n| semantics::reachable_states(&other, &InstanceCounts::of(&other, n), &limits));
            let mut leaves = Again;
            let mut checker = Checker::new(&other, &mut leaves, CheckLimits::default());
            for property in first.properties.clone() {
                let outcome = checker.check(property, "rely", &claim).outcome();
                if found.iter().any(|f| f.violations.contains_key(&property)) {
                    let name = &other.properties[property].name;
                    assert_ne!(outcome, Outcome::Safe, "{name} of random program {seed}, mutation {round}");
                    refused += 1;
                } else {
                    kept += 1;
                }
            }
        }
    }
    assert!(refused + kept > 10, "{refused} refused, {kept} without a violation");
}
