//! Mutated certificates of every form: none is accepted for a program that violates the claim, and every one that is accepted for a program
//! that does not is explained. Mutated runs of every kind: none shows a violation in a program that has none.
//!
//! A mutant is a change of the evidence file, as `audit` would read it: a number, an operator, a symbol, an entry of a list. It is harmless
//! if it is, by the rules of `Harmless`, the same certificate or another proof of the same statement. A mutant of the certificate of a
//! safe program is also held against a sibling that is unsafe: there every accepted one is a failure.

use crate::case::Case;
use crate::{
    asserted, assume_guarantee, callers, composed, counting, environments, local_run, pairs, performed, product,
    quantified, reduction, rely_guarantee, runs, simulation, spec_run, views,
};
use base::Random;
use checker::{CheckLimits, Checker, Outcome};
use evidence::file::EvidenceEntry;
use evidence::views::{Control, Val};
use evidence::{Certificate, Claim, Counterexample, Proof, Simulation};
use logic::{Symbol, Term, Value};
use program::call_summaries::CodeUnit;
use program::machine_assertions::with_assertions;
use program::semantics::{InstanceCounts, Sampling, Semantics, State, StepOutcome as Stepped};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;
use testkit::document::Document;
use testkit::oracle::Again;

/// A certificate of some form for a program, and for its sibling that violates the property.
struct Form {
    name: &'static str,
    safe: String,
    unsafe_: String,
    property: &'static str,
    proof: fn(&mut Case) -> Proof,
}

fn forms() -> Vec<Form> {
    let form = |name, safe: &str, (old, new): (&str, &str), property, proof: fn(&mut Case) -> Proof| {
        assert!(safe.contains(old), "{name}: the sibling differs");
        Form { name, safe: safe.into(), unsafe_: safe.replace(old, new), property, proof }
    };
    let look = ("assert x >= 1", "assert x >= 2");
    vec![
        form("rely-guarantee", rely_guarantee::COUNT, look, "assert:4", |c| {
            Proof::RelyGuarantee(rely_guarantee::count(c))
        }),
        form("assume-guarantee", rely_guarantee::COUNT, look, "assert:4", |c| {
            Proof::AssumeGuarantee(assume_guarantee::count(c))
        }),
        form("product", environments::TWO, look, "assert:4", |c| Proof::Product(product::product(c))),
        form("environments", environments::TWO, look, "assert:4", |c| Proof::Environments(environments::two(c))),
        form("pairs", pairs::LOCKED, ("assert x == tid", "assert x != tid"), "assert:4", |c| {
            Proof::Pairs(pairs::locked(c))
        }),
        form("quantified", quantified::LOCKED, ("assert x == tid", "assert x != tid"), "assert:4", |c| {
            Proof::Quantified(Box::new(quantified::locked(c)))
        }),
        form("counting", counting::PHASES, ("assert n >= 1", "assert n <= 2"), "assert:4", |c| {
            Proof::Counting(Box::new(counting::two_phases(c)))
        }),
        form("simulation", simulation::ONCE, ("x := x + 1", "x := x + 2"), "follows:T", |c| {
            Proof::Simulation(simulation::simulation_of(c))
        }),
        form("composed", simulation::ONCE, ("assert x >= 0", "assert x >= 2"), "assert:3", |c| {
            Proof::Composed(composed::composed(c, 10))
        }),
        form("search", environments::TWO, look, "assert:4", |_| {
            Proof::Search(evidence::ExhaustiveSearch { instances: vec![1, 1], states: 6 })
        }),
        form("callers", callers::OPEN, ("x := 1", "x := -1"), "invariant:2", |c| {
            Proof::Callers(callers::any_callers(c))
        }),
        form("reduction", reduction::LOCAL, ("assert k == 1", "assert k == 2"), "assert:2", |c| {
            Proof::Reduction(reduction::every_step(c))
        }),
        form("reduction with a rely", reduction::GROWS, ("n := n + 1", "n := n - 1"), "assert:4", |c| {
            Proof::Reduction(reduction::grows(c))
        }),
        form("reduction that hides a variable", reduction::HIDES, ("x := x + 1", "x := x + 2"), "performs:p", |c| {
            Proof::Reduction(reduction::hides(c))
        }),
        form("views", views::RAISED, ("up := true", "up := false"), "assert:2", |c| Proof::Views(views::raised(c))),
        form("views with open variables", views::NULLS, ("x := g", "x := new C"), "assert:3", |c| {
            Proof::Views(views::nulls(c))
        }),
        form("performed", performed::INCREMENT, ("count := count + 1", "count := count + 2"), "follows:T", |c| {
            Proof::Performed(performed::performed(c))
        }),
        form("asserted", asserted::ASKED, ("assert x >= 0", "assert x >= 2"), "assert:3", |c| {
            Proof::Asserted(asserted::asserted(c, ["(<= 0 x)", "(<= 0 x)"]))
        }),
    ]
}

/// A run of some kind in a program that violates the property, and a sibling that does not.
struct RunForm {
    name: &'static str,
    violates: Case,
    safe: Case,
    property: String,
    run: Counterexample,
}

fn runs() -> Vec<RunForm> {
    let form = |name, text: &str, (old, new): (&str, &str), property: &str, run: &dyn Fn(&Case) -> Counterexample| {
        assert!(text.contains(old), "{name}: the sibling differs");
        let (violates, safe) = (Case::new(text), Case::new(&text.replace(old, new)));
        let run = run(&violates);
        RunForm { name, violates, safe, property: property.into(), run }
    };
    let register = Case::new(runs::REGISTER);
    let gate = register.property_beginning("assert:");
    vec![
        form("replay", runs::LOST, ("x == k + 1 && (x != 2 || n != 2)", "x >= 1"), "assert:5", &|c| {
            runs::run_of(c, "assert:5").into()
        }),
        form(
            "replay of an invariant",
            runs::LOST,
            ("invariant n != 1 || x <= 0", "invariant n != 1 || x <= 2"),
            "invariant:3",
            &|c| runs::run_of(c, "invariant:3").into(),
        ),
        form("client-run", runs::DOWN, ("by >= 0", "by == 0"), "assert:3", &|c| runs::client_run(c, "assert:3").into()),
        form("history", runs::REGISTER, ("e := k == 1", "e := k == 0"), "linearizable:Register", &|c| {
            runs::history(c, "linearizable:Register").into()
        }),
        form("history of a gate", runs::REGISTER, ("assert k <= 1", "assert k >= 0"), &gate, &|c| {
            runs::history(c, &gate).into()
        }),
        form(
            "local-run",
            &simulation::ONCE.replace("x := x + 1", "x := x + 2"),
            ("x := x + 2", "x := x + 1"),
            "follows:T",
            &|c| local_run::one_step(c, 0).into(),
        ),
        form(
            "spec-run",
            spec_run::SPLIT,
            ("k := c; c := k + 1;", "atomic { k := c; c := k + 1; }"),
            "performs:inc",
            &|c| spec_run::split(c).into(),
        ),
        form("spec-run of an access", spec_run::LATE, ("release m; c := 2;", "c := 2; release m;"), "access:c", &|c| {
            spec_run::late(c).into()
        }),
    ]
}

fn shows(case: &Case, property: &str, run: &Counterexample) -> bool {
    let mut oracle = Again;
    let mut checker = Checker::new(&case.program, &mut oracle, CheckLimits::default());
    let claim = Claim::Refuted(run.clone());
    checker.check(case.property(property), "mutant", &claim).outcome() == Outcome::Unsafe
}

#[test]
fn check_no_mutant_of_a_run_refutes_what_holds() {
    let (mut made, mut refuted, mut rejected) = (0, 0, 0);
    for (k, form) in runs().iter().enumerate() {
        let name = form.name;
        assert!(shows(&form.violates, &form.property, &form.run), "{name}: the run itself");
        assert!(!shows(&form.safe, &form.property, &form.run), "{name}: the run itself, of the sibling");
        let property = form.violates.property(&form.property);
        let entry = EvidenceEntry::Counterexample { method: "mutant".into(), property, run: form.run.clone() };
        let whole = Document::of(&form.violates.program, entry);
        let mut random = Random::new(9000 + k as u64);
        let before = rejected;
        for round in 0..mutants_of_each() {
            let changed = whole.mutated(&mut random);
            made += 1;
            let of = |case: &Case| match changed.put_to(&case.program).read(&case.program) {
                Some(EvidenceEntry::Counterexample { run, .. }) => Some(run),
                _ => None,
            };
            if let Some(run) = of(&form.safe) {
                assert!(!shows(&form.safe, &form.property, &run), "{name}, mutant {round}: {:#}", changed.0);
            }
            // In its own program a changed run may still be one: another value, another number of clients.
            match of(&form.violates) {
                Some(run) if shows(&form.violates, &form.property, &run) => refuted += 1,
                _ => rejected += 1,
            }
        }
        assert!(rejected > before, "{name}: no mutant is rejected");
    }
    println!("{made} mutants of runs; {refuted} are runs as well, {rejected} are rejected");
    assert!(rejected > refuted, "a run is not changed without harm: {refuted} of {made}");
}

/// The certificate as a document.
fn document(case: &Case, certificate: &Certificate) -> Json {
    Document::of(&case.program, EvidenceEntry::Certificate(certificate.clone())).0
}

fn certificate_in(case: &Case, document: &Document) -> Option<Certificate> {
    match document.read(&case.program) {
        Some(EvidenceEntry::Certificate(c)) => Some(c),
        _ => None,
    }
}

/// Why a mutant that is accepted proves nothing that is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Harmless {
    /// Read and written again it is the certificate it was made of: what was changed is not used.
    Unused,
    /// It differs in the names of symbols alone.
    Names,
    /// Its claims are some of those of the certificate, or the same in another order or twice.
    FewerClaims,
    /// Another number of states, which the second search replaces by its own count.
    CountedAgain,
    /// Other formulas, all of which are true in every reachable state that they speak of.
    AnotherAnnotation,
}

fn explain(case: &Case, original: &Certificate, mutant: &Certificate) -> Option<Harmless> {
    let (before, after) = (document(case, original), document(case, mutant));
    if before == after {
        return Some(Harmless::Unused);
    }
    let unnamed = |document: &Json| without_names(document.clone());
    if unnamed(&before) == unnamed(&after) {
        return Some(Harmless::Names);
    }
    let claims = |d: &Json| {
        let mut d = d.clone();
        d["entries"][0]["properties"] = Json::Null;
        d
    };
    if claims(&before) == claims(&after) && mutant.properties.iter().all(|p| original.properties.contains(p)) {
        return Some(Harmless::FewerClaims);
    }
    if let (Proof::Search(a), Proof::Search(b)) = (&original.proof, &mutant.proof) {
        return (a.instances == b.instances).then_some(Harmless::CountedAgain);
    }
    annotations_hold(case, mutant).then_some(Harmless::AnotherAnnotation)
}

fn without_names(mut document: Json) -> Json {
    fn go(at: &mut Json) {
        match at {
            Json::Object(fields) => {
                fields.remove("shown");
                fields.remove("name");
                fields.values_mut().for_each(go);
            }
            Json::Array(list) => {
                if list.first().is_some_and(|f| f == "sym") {
                    list.truncate(2);
                }
                list.iter_mut().for_each(go);
            }
            _ => {}
        }
    }
    go(&mut document["entries"][0]);
    document
}

/// Every formula of an annotation, in every reachable state with two instances of each thread of any number; of a certificate inside, in the
/// states of the program that it is about.
fn annotations_hold(case: &Case, c: &Certificate) -> bool {
    let p = &case.program;
    let states = reachable(case);
    let holds = |f: Term, env: &FxHashMap<Symbol, Value>| logic::eval::holds(&c.terms, f, env) == Ok(true);
    let shared = |s: &State| -> FxHashMap<Symbol, Value> {
        p.shared().map(|v| p.vars[v].symbol).zip(s.shared.iter().cloned()).collect()
    };
    let of_instance = |s: &State, i: usize| {
        let mut env = shared(s);
        let thread = &p.threads[s.instances[i].thread];
        env.extend(thread.locals.iter().map(|v| p.vars[*v].symbol).zip(s.instances[i].locals.iter().cloned()));
        env.insert(p.tid, Value::Int(i as i128 + 1));
        env
    };
    let all = |s: &State, instances: &[evidence::InstanceSymbols]| {
        let mut env = shared(s);
        for (i, own) in instances.iter().enumerate() {
            env.extend(own.locals.iter().map(|l| l.0).zip(s.instances[i].locals.iter().cloned()));
            env.insert(own.pc.0, Value::Int(i128::from(s.instances[i].at.0)));
        }
        env
    };
    let every = |check: &dyn Fn(&State) -> bool| states.iter().all(check);
    match &c.proof {
        Proof::RelyGuarantee(r) => every(&|s| {
            let at = |i: usize| {
                let own = &s.instances[i];
                let a = r.threads.iter().find(|a| a.thread == own.thread).expect("each thread is annotated");
                holds(a.at[own.at.index()], &of_instance(s, i))
            };
            holds(r.invariant, &shared(s)) && (0..s.instances.len()).all(at)
        }),
        Proof::AssumeGuarantee(r) => every(&|s| {
            let at = |i: usize| {
                let own = &s.instances[i];
                let a = r.threads.iter().find(|a| a.thread == own.thread).expect("each thread is annotated");
                a.cuts.iter().filter(|(l, _)| *l == own.at).all(|(_, f)| holds(*f, &of_instance(s, i)))
            };
            holds(r.invariant, &shared(s)) && (0..s.instances.len()).all(at)
        }),
        Proof::Product(r) => every(&|s| {
            let at: Vec<_> = s.instances.iter().map(|i| i.at).collect();
            r.invariant.iter().find(|(l, _)| *l == at).is_some_and(|(_, f)| holds(*f, &all(s, &r.instances)))
        }),
        Proof::Environments(r) => every(&|s| {
            let env = all(s, &r.instances);
            (0..s.instances.len()).all(|i| holds(r.reach[i][s.instances[i].at.index()], &env))
        }),
        Proof::Pairs(r) => every(&|s| {
            let both = |i: usize, j: usize| {
                let (a, b) = (&s.instances[i], &s.instances[j]);
                let mut env = of_instance(s, i);
                let other = of_instance(s, j);
                env.extend(r.symbols.iter().filter_map(|(own, second, _)| Some((*second, other.get(own)?.clone()))));
                let listed = r.related.iter().find(|x| x.first == (a.thread, a.at) && x.second == (b.thread, b.at));
                listed.is_some_and(|x| holds(x.formula, &env))
            };
            let n = s.instances.len();
            let ordered = |i: usize, j: usize| i != j && s.instances[i].thread <= s.instances[j].thread;
            (0..n).all(|i| (0..n).filter(|j| ordered(i, *j)).all(|j| both(i, j)))
        }),
        Proof::Quantified(r) => every(&|s| {
            let n = s.instances.len();
            let choices: Vec<Vec<usize>> = (0..n)
                .flat_map(|i| (0..n).filter(move |j| *j != i).map(move |j| vec![i, j]))
                .chain((0..n).map(|i| vec![i]))
                .chain([Vec::new()])
                .collect();
            let there = |(thread, places): &evidence::Placed, i: usize| {
                s.instances[i].thread == *thread && places.contains(&s.instances[i].at)
            };
            r.facts.iter().all(|f| {
                let fit =
                    |who: &&Vec<usize>| who.len() == f.of.len() && f.of.iter().zip(&**who).all(|(p, i)| there(p, *i));
                choices.iter().filter(fit).all(|who| {
                    let mut env = who.first().map_or_else(|| shared(s), |i| of_instance(s, *i));
                    if let Some(j) = who.get(1) {
                        let other = of_instance(s, *j);
                        let copies = r.symbols.iter().filter_map(|(own, l)| Some((l[0], other.get(own)?.clone())));
                        env.extend(copies.collect::<Vec<_>>());
                    }
                    holds(f.formula, &env)
                })
            })
        }),
        Proof::Simulation(r) => every(&|s| {
            let of = |i: usize| {
                let at = r.pairs.iter().filter(|p| p.location == s.instances[i].at);
                at.into_iter().any(|p| holds(p.formula, &of_instance(s, i)))
            };
            (0..s.instances.len()).filter(|i| s.instances[*i].thread == r.thread).all(of)
        }),
        // Some cell of its location fits every instance, so that what the cells rely on and the invariant hold.
        Proof::Counting(r) => every(&|s| {
            let fits = |i: usize| {
                let env = of_instance(s, i);
                let here = |k: &usize| r.counters[*k].location == s.instances[i].at;
                let both = |k: &usize| holds(r.counters[*k].cell, &env) && holds(r.counters[*k].holds, &env);
                (0..r.counters.len()).filter(here).filter(both).collect::<Vec<usize>>()
            };
            let mut ways: Vec<Vec<usize>> = vec![Vec::new()];
            for i in 0..s.instances.len() {
                let next = fits(i);
                ways = ways.iter().flat_map(|w| next.iter().map(move |k| [&w[..], &[*k]].concat())).collect();
            }
            ways.iter().any(|w| {
                let mut env = shared(s);
                let number = |k: usize| Value::Int(w.iter().filter(|x| **x == k).count() as i128);
                env.extend(r.counters.iter().enumerate().map(|(k, c)| (c.symbol, number(k))));
                r.invariant.iter().any(|(_, f)| holds(*f, &env))
            })
        }),
        Proof::Reduction(r) => every(&|s| {
            (0..s.instances.len()).all(|i| {
                let of = CodeUnit::Thread(s.instances[i].thread);
                let cuts = r.units.iter().filter(|u| u.unit == of).flat_map(|u| &u.cuts);
                let mut here = cuts.filter(|c| c.location == s.instances[i].at).peekable();
                here.peek().is_none() || here.any(|c| holds(c.formula, &of_instance(s, i)))
            })
        }),
        // The search inside is made again.
        Proof::Search(_) => true,
        Proof::Composed(r) => {
            let inner = program::compose::compose_machines(p).expect("it was composed before");
            let of = |s: &Simulation| Certificate { proof: Proof::Simulation(s.clone()), ..c.clone() };
            r.simulations.iter().all(|s| annotations_hold(case, &of(s)))
                && annotations_hold(&Case::of(inner), &r.composition)
        }
        // Of cells nothing is said here: the programs have none.
        Proof::Views(r) => every(&|s| {
            let fits = |i: usize, v: &evidence::views::View| {
                let own = &s.instances[i];
                let value = |x: &program::VarId| {
                    let shared = p.shared().position(|y| y == *x).map(|k| &s.shared[k]);
                    shared.or_else(|| own.locals.get(p.threads[own.thread].locals.iter().position(|y| y == x)?))
                };
                let says = |(x, v): &(program::VarId, Val)| match (v, value(x)) {
                    (Val::Any, _) => true,
                    (Val::Bool(b), Some(Value::Bool(c))) => b == c,
                    (Val::Number(n), Some(Value::Int(m))) => n == m,
                    (Val::Null, Some(Value::Ref(0))) => true,
                    _ => false,
                };
                let one_of = |(x, list): &(program::VarId, Vec<Val>)| list.iter().any(|v| says(&(*x, *v)));
                v.control == Control::Thread(own.thread, own.at) && v.vars.iter().all(says) && v.open.iter().all(one_of)
            };
            (0..s.instances.len()).all(|i| r.views.iter().any(|v| fits(i, v)))
        }),
        // What callees do inside is for the reduction's obligations alone; here, its threads and the proof inside.
        Proof::Performed(r) => {
            let Proof::Reduction(calls) = &r.calls.proof else { return false };
            let basis = calls.basis(&program::call_summaries::access_first(p)).expect("it was built before");
            let inside = r.program(p).expect("it was built before");
            annotations_hold(&Case::of(basis.specified.program), &r.calls)
                && annotations_hold(&Case::of(inside), &r.proof)
        }
        Proof::Asserted(r) => {
            let with = with_assertions(p, &c.terms, &r.assertions).expect("it was filled in before");
            annotations_hold(&Case::of(with), &r.proof)
        }
        Proof::Callers(r) => {
            let client = program::callers::callers(p, r.object, &r.linearization_points, program::client::Effort::Any);
            annotations_hold(&Case::of(client.expect("it was built before").program), &r.proof)
        }
    }
}

/// The states of a small instance, as many as there are up to a few hundred.
fn reachable(case: &Case) -> Vec<State> {
    let sem = Semantics::new(&case.program);
    let start = sem.initial(&InstanceCounts::of(&case.program, 2), Sampling::default());
    let mut out: Vec<State> = start.states.into_iter().map(|(s, _)| s).collect();
    let mut seen: FxHashSet<State> = out.iter().cloned().collect();
    let mut next = 0;
    while next < out.len() && out.len() < 400 {
        for outcome in sem.successors(&out[next].clone(), Sampling::default()).outcomes {
            if let Stepped::Moved { state, .. } = outcome
                && seen.insert(state.clone())
            {
                out.push(state);
            }
        }
        next += 1;
    }
    out
}

fn accepts(case: &Case, c: &Certificate) -> bool {
    let shared = Arc::new(c.clone());
    let mut oracle = Again;
    let mut checker = Checker::new(&case.program, &mut oracle, CheckLimits::default());
    c.properties.iter().any(|p| checker.check(*p, "mutant", &Claim::Proved(shared.clone())).outcome() == Outcome::Safe)
}

/// How many mutants of each form are looked at.
fn mutants_of_each() -> u64 {
    let given = std::env::var("THREADPROOF_MUTANTS").ok().and_then(|n| n.parse().ok());
    given.unwrap_or(120)
}

#[test]
fn check_every_accepted_mutant_is_explained_and_none_is_accepted_of_an_unsafe_program() {
    let (mut made, mut why) = (0, BTreeMap::new());
    for (k, form) in forms().iter().enumerate() {
        for (text, safe) in [(&form.safe, true), (&form.unsafe_, false)] {
            let mut case = Case::new(text);
            let proof = (form.proof)(&mut case);
            let original = case.certificate(proof, &[form.property]);
            assert_eq!(accepts(&case, &original), safe, "{}: the certificate itself, of {text}", form.name);
            let whole = Document(document(&case, &original));
            let mut random = Random::new(1000 + k as u64);
            for round in 0..mutants_of_each() {
                let changed = whole.mutated(&mut random);
                made += 1;
                let Some(mutant) = certificate_in(&case, &changed) else { continue };
                if !accepts(&case, &mutant) {
                    continue;
                }
                assert!(
                    safe,
                    "{}, mutant {round}: accepted for an unsafe program:\n{text}\n{:#}",
                    form.name, changed.0
                );
                let explained = explain(&case, &original, &mutant);
                let Some(reason) = explained else {
                    panic!("{}, mutant {round}: accepted, and no rule says why:\n{text}\n{:#}", form.name, changed.0);
                };
                *why.entry((form.name, reason)).or_insert(0) += 1;
            }
        }
    }
    println!("{made} mutants; accepted and explained: {why:?}");
    assert!(made >= 2_000 || mutants_of_each() < 100, "{made} mutants");
    assert!(
        why.keys().any(|(_, r)| *r == Harmless::Unused) && why.keys().any(|(_, r)| *r == Harmless::AnotherAnnotation)
    );
}

#[test]
fn check_the_rules_of_harmlessness_do_not_excuse_a_false_annotation() {
    let mut case = Case::new(environments::TWO);
    let proof = product::product(&mut case);
    let original = case.certificate(Proof::Product(proof), &["assert:4"]);
    let Proof::Product(proof) = &original.proof else { panic!("it is a product") };
    let with = |case: &Case, formula: Term| {
        let mut changed = proof.clone();
        changed.invariant[0].1 = formula;
        let terms = case.terms.clone();
        Certificate { proof: Proof::Product(changed), terms, ..original.clone() }
    };
    assert_eq!(explain(&case, &original, &with(&case, case.term("(= x 7)"))), None, "false in the first state");
    let weaker = with(&case, case.term("(<= x 0)"));
    assert_eq!(explain(&case, &original, &weaker), Some(Harmless::AnotherAnnotation));
    assert_eq!(explain(&case, &original, &original), Some(Harmless::Unused));
    let search = |instances, states| Proof::Search(evidence::ExhaustiveSearch { instances, states });
    let [one, two, three] = [search(vec![1, 1], 6), search(vec![1, 1], 7), search(vec![1, 2], 6)]
        .map(|proof| case.certificate(proof, &["assert:4"]));
    assert_eq!(explain(&case, &one, &two), Some(Harmless::CountedAgain));
    assert_eq!(explain(&case, &one, &three), None, "another number of instances");
}
