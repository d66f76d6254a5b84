//! The refuters of the rules: random small programs that violate a property, by the reference semantics, and for each a search for a
//! certificate that the checker accepts all the same. There must be none.
//!
//! Each certificate is filled with everything from a small grammar that is true in the states of a smaller instance (two of each thread
//! of any number), before the violation: the strongest certificate that looks right from inside. A rule that assumes too much accepts it.
//! Then facts are left out at random, several times; of rule `environments`, whole premises are. Parts that cost no proof (cells without instances, pairs that exclude them) are
//! filled at random. A few programs of each rule here, with three certificates each; `THREADPROOF_REFUTE=5000` looks at as many for each. The rules that are not
//! here have their refuters beside the methods that fill their certificates (`methods/tests/differential/refuter`).

use crate::case::Case;
use base::Random;
use checker::{CheckLimits, Checker, OracleAnswer, Outcome, ValidityOracle};
use evidence::{
    AssumeGuarantee, Assumes, Certificate, Counter, Counting, Environments, InstanceCount, InstanceSymbols,
    NAMED_INSTANCES, PairsProof, Premises, ProductProof, Proof, QuantifiedFact, QuantifiedProof, RelatedPair,
    RelyGuarantee, ThreadAnnotation,
};
use logic::{Node, Sort, Symbol, Term, Terms, Value};
use program::semantics::{self, InstanceCounts, Sampling, Semantics, State, StepOutcome as Stepped};
use program::{LocId, Program, PropertyId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;
use testkit::oracle::Again;

fn programs_of_each() -> u64 {
    let given = std::env::var("THREADPROOF_REFUTE").ok().and_then(|n| n.parse().ok());
    given.unwrap_or(8)
}

/// Threads over `n` and `f`, in the given numbers, that step up and down, wait and assert; as text.
fn random_program(random: &mut Random, copies: &[&str]) -> String {
    let mut out = String::from("var n: int = 0;\nvar f: int = 1;\n");
    for (i, number) in copies.iter().enumerate() {
        out += &format!("thread T{i}{number} {{ var k{i}: int = 0;\n");
        for _ in 0..2 + random.below(4) {
            let small = random.below(3);
            let step = match random.below(9) {
                0 | 1 => "n := n + 1;".into(),
                2 => "n := n - 1;".into(),
                3 => format!("f := {small};"),
                4 => format!("assume f == {small};"),
                5 => format!("k{i} := {small}; assume k{i} == f;"),
                6 => format!("k{i} := n;"),
                7 => format!("assert n <= {};", small + 1),
                _ => format!("assert n >= {small};"),
            };
            out += &format!("  {step}\n");
        }
        out += &format!("  assert n <= {}; }}\n", 1 + random.below(2));
    }
    out
}

/// Facts about integers: bounds, equalities with small numbers and with each other.
fn facts(case: &Case, integers: &[Symbol]) -> Vec<Term> {
    let t = &case.terms;
    let mut out = Vec::new();
    for (i, x) in integers.iter().map(|s| t.sym(*s)).enumerate() {
        for c in 0..4 {
            out.extend([t.le(x, t.int(c)), t.le(t.int(c), x), t.eq(x, t.int(c)), t.ne(x, t.int(c))]);
        }
        out.extend(integers[..i].iter().map(|y| t.eq(x, t.sym(*y))));
    }
    out
}

/// What a small instance shows: its states before a violation, and its steps with who moved.
struct Seen {
    states: Vec<State>,
    steps: Vec<(usize, State, State)>,
}

fn seen(case: &Case, any: u32) -> Seen {
    let sem = Semantics::new(&case.program);
    let start = sem.initial(&InstanceCounts::of(&case.program, any), Sampling::default());
    let mut states: Vec<State> = start.states.into_iter().map(|(s, _)| s).collect();
    let (mut known, mut steps, mut next) = (states.iter().cloned().collect::<FxHashSet<State>>(), Vec::new(), 0);
    while next < states.len() && states.len() < 300 {
        let here = states[next].clone();
        for outcome in sem.successors(&here, Sampling::default()).outcomes {
            if let Stepped::Moved { state, step } = outcome {
                steps.push((step.instance as usize, here.clone(), state.clone()));
                if known.insert(state.clone()) {
                    states.push(state);
                }
            }
        }
        next += 1;
    }
    Seen { states, steps }
}

type Env = FxHashMap<Symbol, Value>;

fn shared_env(p: &Program, s: &State) -> Env {
    p.shared().map(|v| p.vars[v].symbol).zip(s.shared.iter().cloned()).collect()
}

/// The shared store and the own locals of an instance.
fn own_env(p: &Program, s: &State, i: usize) -> Env {
    let mut env = shared_env(p, s);
    let thread = &p.threads[s.instances[i].thread];
    env.extend(thread.locals.iter().map(|v| p.vars[*v].symbol).zip(s.instances[i].locals.iter().cloned()));
    env
}

fn both_env(p: &Program, before: &State, after: &State) -> Env {
    let mut env = shared_env(p, before);
    env.extend(p.shared().map(|v| p.vars[v].primed).zip(after.shared.iter().cloned()));
    env
}

/// The facts that are true in all the environments, some of them left out.
fn true_in(case: &Case, random: &mut Random, drop: u32, facts: &[Term], environments: &[Env]) -> Term {
    let t = &case.terms;
    let holds = |f: &&Term| environments.iter().all(|env| logic::eval::holds(t, **f, env) == Ok(true));
    let kept: Vec<Term> = facts.iter().filter(holds).filter(|_| !random.chance(drop)).copied().collect();
    t.and(&kept)
}

fn shared_symbols(p: &Program) -> Vec<Symbol> {
    p.shared().map(|v| p.vars[v].symbol).collect()
}

fn own_symbols(p: &Program, thread: program::ThreadId) -> Vec<Symbol> {
    let locals = p.threads[thread].locals.iter().map(|v| p.vars[*v].symbol);
    shared_symbols(p).into_iter().chain(locals).collect()
}

/// How each shared variable may change.
fn changes(case: &Case) -> Vec<Term> {
    let (p, t) = (&case.program, &case.terms);
    let of = |v| {
        let (x, y) = (t.sym(p.vars[v].symbol), t.sym(p.vars[v].primed));
        [t.eq(x, y), t.le(x, y), t.le(y, x)]
    };
    p.shared().flat_map(of).collect()
}

fn rely_guarantee(case: &mut Case, seen: &Seen, random: &mut Random, drop: u32) -> Proof {
    let p = &case.program;
    let stores: Vec<Env> = seen.states.iter().map(|s| shared_env(p, s)).collect();
    let invariant = true_in(case, random, drop, &facts(case, &shared_symbols(p)), &stores);
    let annotation = |thread| {
        let code = &p.threads[thread].code;
        let at = |location| {
            let here = |s: &State, i: usize| s.instances[i].thread == thread && s.instances[i].at == location;
            let envs: Vec<Env> = seen
                .states
                .iter()
                .flat_map(|s| (0..s.instances.len()).filter(move |i| here(s, *i)).map(move |i| own_env(p, s, i)))
                .collect();
            true_in(case, &mut Random::new(location.0.into()), drop, &facts(case, &own_symbols(p, thread)), &envs)
        };
        let own = seen.steps.iter().filter(|(i, s, _)| s.instances[*i].thread == thread);
        let own: Vec<Env> = own.map(|(_, a, b)| both_env(p, a, b)).collect();
        let guarantee = true_in(case, &mut Random::new(7), drop, &changes(case), &own);
        ThreadAnnotation { thread, at: code.locations.ids().map(at).collect(), guarantee, rely: None }
    };
    Proof::RelyGuarantee(RelyGuarantee { invariant, threads: p.threads.ids().map(annotation).collect() })
}

fn assume_guarantee(case: &mut Case, seen: &Seen, random: &mut Random, drop: u32) -> Proof {
    let p = &case.program;
    let stores: Vec<Env> = seen.states.iter().map(|s| shared_env(p, s)).collect();
    let invariant = true_in(case, random, drop, &facts(case, &shared_symbols(p)), &stores);
    let assumes = |thread| {
        // What others do: the steps of all other instances beside one of this thread.
        let others = seen
            .steps
            .iter()
            .filter(|(i, s, _)| s.instances.iter().enumerate().any(|(j, other)| j != *i && other.thread == thread));
        let others: Vec<Env> = others.map(|(_, a, b)| both_env(p, a, b)).collect();
        Assumes { thread, rely: true_in(case, &mut Random::new(3), drop, &changes(case), &others), cuts: Vec::new() }
    };
    let reach = if random.chance(50) { Premises::All } else { Premises::Relevant };
    Proof::AssumeGuarantee(AssumeGuarantee {
        invariant,
        threads: p.threads.ids().map(assumes).collect(),
        premises: reach,
    })
}

/// The instances of a program of single threads, and the environment of a state in their symbols.
fn instance_env(p: &Program, instances: &[InstanceSymbols], s: &State) -> Env {
    let mut env = shared_env(p, s);
    for (own, at) in instances.iter().zip(&s.instances) {
        env.extend(own.locals.iter().map(|l| l.0).zip(at.locals.iter().cloned()));
        env.insert(own.pc.0, Value::Int(i128::from(at.at.0)));
    }
    env
}

fn product(case: &mut Case, seen: &Seen, random: &mut Random, drop: u32) -> Proof {
    let instances = crate::environments::instances(case);
    let p = &case.program;
    let locals = instances.iter().flat_map(|i| i.locals.iter().map(|l| l.0));
    let candidates = facts(case, &shared_symbols(p).into_iter().chain(locals).collect::<Vec<_>>());
    let mut at: BTreeMap<Vec<LocId>, Vec<Env>> = BTreeMap::new();
    for s in &seen.states {
        let here = s.instances.iter().map(|i| i.at).collect();
        at.entry(here).or_default().push(instance_env(p, &instances, s));
    }
    let invariant = at.into_iter().map(|(at, envs)| (at, true_in(case, random, drop, &candidates, &envs))).collect();
    Proof::Product(ProductProof { instances, invariant })
}

fn pairs(case: &mut Case, seen: &Seen, random: &mut Random, drop: u32) -> Proof {
    let symbols = crate::pairs::symbols(case);
    let p = &case.program;
    let second = |own: Symbol| symbols.iter().find(|(x, ..)| *x == own).map(|(_, second, _)| *second);
    let mut at: BTreeMap<_, Vec<Env>> = BTreeMap::new();
    for s in &seen.states {
        for (i, a) in s.instances.iter().enumerate() {
            for (j, b) in s.instances.iter().enumerate().filter(|(j, b)| i != *j && a.thread <= b.thread) {
                let mut env = own_env(p, s, i);
                let locals = p.threads[b.thread].locals.iter().map(|v| p.vars[*v].symbol);
                env.extend(locals.filter_map(second).zip(s.instances[j].locals.iter().cloned()));
                at.entry(((a.thread, a.at), (b.thread, b.at))).or_default().push(env);
            }
        }
    }
    let related = at.into_iter().map(|((first, second_at), envs)| {
        let others = p.threads[second_at.0].locals.iter().filter_map(|v| second(p.vars[*v].symbol));
        let integers: Vec<Symbol> = own_symbols(p, first.0).into_iter().chain(others).collect();
        let formula = true_in(case, random, drop, &facts(case, &integers), &envs);
        RelatedPair { first, second: second_at, formula }
    });
    let related = related.collect();
    Proof::Pairs(PairsProof { symbols, related })
}

/// What is true of nobody, of one at each location, and of one beside others; who is never seen with whom is never there with whom. Counts of
/// `n` are filled at random, and with all locations but the entry.
fn quantified(case: &mut Case, seen: &Seen, random: &mut Random, drop: u32) -> Proof {
    let p = case.program.clone();
    let n = p.shared().next().expect("`n`");
    let counted = random.chance(50);
    let (symbols, control) = crate::quantified::symbols(case, NAMED_INSTANCES + usize::from(counted));
    let mut facts: Vec<QuantifiedFact> = Vec::new();
    let stores: Vec<Env> = seen.states.iter().map(|s| shared_env(&p, s)).collect();
    let always = true_in(case, random, drop, &self::facts(case, &shared_symbols(&p)), &stores);
    facts.push(QuantifiedFact { of: Vec::new(), formula: always, rests_on: Vec::new() });
    for (thread, x) in p.threads.iter_enumerated() {
        for l in x.code.locations.ids() {
            let here = |s: &State, i: usize| (s.instances[i].thread, s.instances[i].at) == (thread, l);
            let all = || seen.states.iter().flat_map(|s| (0..s.instances.len()).map(move |i| (s, i)));
            let mine: Vec<(&State, usize)> = all().filter(|(s, i)| here(s, *i)).collect();
            let envs: Vec<Env> = mine.iter().map(|(s, i)| own_env(&p, s, *i)).collect();
            let formula = true_in(case, random, drop, &self::facts(case, &own_symbols(&p, thread)), &envs);
            facts.push(QuantifiedFact { of: vec![(thread, vec![l])], formula, rests_on: Vec::new() });
            for (other, y) in p.threads.iter_enumerated().filter(|(other, _)| thread <= *other) {
                let copies = |t: program::ThreadId| p.threads[t].copies;
                if thread == other && copies(thread) == program::Copies::One {
                    continue;
                }
                let beside = |m: LocId| {
                    let is_there = |s: &State, i: usize| {
                        let there =
                            |(j, z): (usize, &program::semantics::Instance)| j != i && (z.thread, z.at) == (other, m);
                        s.instances.iter().enumerate().any(there)
                    };
                    mine.iter().any(|(s, i)| is_there(s, *i))
                };
                let never: Vec<LocId> = y.code.locations.ids().filter(|m| !beside(*m)).collect();
                if !never.is_empty() && !random.chance(drop) {
                    let of = vec![(thread, vec![l]), (other, never)];
                    facts.push(QuantifiedFact { of, formula: case.terms.ff(), rests_on: Vec::new() });
                }
            }
        }
    }
    let all: Vec<usize> = (0..facts.len()).collect();
    facts.iter_mut().for_each(|f| f.rests_on = all.clone());
    let mut counts = Vec::new();
    if counted {
        let everywhere = random.chance(50);
        let places = p.threads.iter_enumerated().map(|(id, x)| {
            let inner = x.code.locations.ids().filter(|l| *l != x.code.entry);
            (id, inner.filter(|_| everywhere || random.chance(60)).collect())
        });
        counts.push(InstanceCount { variable: n, places: places.collect() });
    }
    let shown = p.properties.ids().map(|q| (q, all.clone())).collect();
    Proof::Quantified(Box::new(QuantifiedProof { symbols, control, facts, counts, shown }))
}

/// What a certificate of rule `environments` takes for granted: each but the first leaves out what one premise is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Granted {
    /// What all runs show.
    Everything,
    /// Each instance as if the others did nothing.
    NobodyElse,
    /// The same, and others may do anything.
    NothingMatters,
    /// Only the start is ever reached.
    NoSteps,
    /// No state at all.
    NoStart,
    /// Any state.
    AnyState,
}

const GRANTED: [Granted; 6] = [
    Granted::Everything,
    Granted::NobodyElse,
    Granted::NothingMatters,
    Granted::NoSteps,
    Granted::NoStart,
    Granted::AnyState,
];

/// States that a certificate of rule `environments` is filled from.
const MAX_STATES_LOOKED_AT: usize = 60;

/// The states that the steps of one instance alone lead to.
fn seen_alone(seen: &Seen, mover: usize) -> Vec<&State> {
    let mut states: Vec<&State> = seen.states.first().into_iter().collect();
    let mut next = 0;
    while next < states.len() {
        let here = states[next];
        for (_, _, after) in seen.steps.iter().filter(|(i, before, _)| *i == mover && before == here) {
            if !states.contains(&after) {
                states.push(after);
            }
        }
        next += 1;
    }
    states
}

/// What each instance reaches: facts, and facts that depend on where another one is; or the states themselves, one by one.
fn environments(case: &mut Case, seen: &Seen, random: &mut Random, drop: u32) -> Proof {
    let instances = crate::environments::instances(case);
    let granted = GRANTED[(random.below(GRANTED.len()) + drop as usize) % GRANTED.len()];
    let one_by_one = random.chance(50);
    let (p, t) = (&case.program, &case.terms);
    let locals = instances.iter().flat_map(|i| i.locals.iter().map(|l| l.0));
    let common: Vec<Symbol> = shared_symbols(p).into_iter().chain(locals).collect();
    let (mut reach, mut environment) = (Vec::new(), Vec::new());
    for (i, own) in instances.iter().enumerate() {
        let others: Vec<Symbol> =
            instances.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, other)| other.pc.0).collect();
        let spoken: Vec<Symbol> = common.iter().chain(&others).copied().collect();
        let mut candidates = facts(case, &spoken);
        let of_the_store: Vec<Term> = facts(case, &shared_symbols(p));
        for pc in others.iter().filter(|_| random.chance(25)) {
            let elsewhere = |l: i128| t.ne(t.sym(*pc), t.int(l));
            candidates.extend((0..4).flat_map(|l| of_the_store.iter().map(move |f| t.or(&[elsewhere(l), *f]))));
        }
        let entry = p.threads[own.thread].code.entry;
        // The first states are enough for facts that look right.
        let states: Vec<&State> = match granted {
            Granted::Everything => seen.states.iter().take(MAX_STATES_LOOKED_AT).collect(),
            _ => seen_alone(seen, i),
        };
        let at = |location: LocId| match granted {
            Granted::NoStart => t.ff(),
            Granted::AnyState => t.tt(),
            Granted::NoSteps => {
                if location == entry {
                    t.tt()
                } else {
                    t.ff()
                }
            }
            _ => {
                let here = states.iter().filter(|s| s.instances[i].at == location);
                let envs: Vec<Env> = here.map(|s| instance_env(p, &instances, s)).collect();
                if !one_by_one {
                    return true_in(case, &mut Random::new(5), drop, &candidates, &envs);
                }
                let is = |(s, v): (&Symbol, &Value)| match v {
                    Value::Int(n) => t.eq(t.sym(*s), t.int(*n)),
                    _ => t.tt(),
                };
                let one =
                    |env: &Env| t.and(&spoken.iter().filter_map(|s| env.get_key_value(s)).map(is).collect::<Vec<_>>());
                t.or(&envs.iter().map(one).collect::<Vec<_>>())
            }
        };
        reach.push(p.threads[own.thread].code.locations.ids().map(at).collect());
        environment.push(match granted {
            Granted::Everything => {
                let steps = seen.steps.iter().filter(|(k, ..)| *k != i);
                let steps: Vec<Env> = steps.map(|(_, a, b)| both_env(p, a, b)).collect();
                true_in(case, random, drop, &changes(case), &steps)
            }
            Granted::NobodyElse => {
                let mut same: Vec<(Symbol, Symbol)> =
                    p.shared().map(|v| (p.vars[v].symbol, p.vars[v].primed)).collect();
                for other in &instances {
                    same.extend(other.locals.iter().copied());
                }
                same.extend(instances.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, other)| other.pc));
                t.and(&same.iter().map(|(a, b)| t.eq(t.sym(*a), t.sym(*b))).collect::<Vec<_>>())
            }
            Granted::NoStart => t.ff(),
            Granted::NothingMatters | Granted::NoSteps | Granted::AnyState => t.tt(),
        });
    }
    Proof::Environments(Environments { instances, reach, environment })
}

/// A cell for each location of the one thread, and one without instances. The invariant: what the number of instances in each cell, and
/// sums of two and three of them, have to do with the store.
fn counting(case: &mut Case, seen: &Seen, random: &mut Random, drop: u32) -> Proof {
    let thread = case.program.threads.ids().next().expect("there is a thread");
    let locations: Vec<LocId> = case.program.threads[thread].code.locations.ids().collect();
    let symbols: Vec<Symbol> = locations.iter().map(|l| case.symbol(&format!("at {l}"), Sort::INT)).collect();
    let dummy = case.symbol("none", Sort::INT);
    let mut second = vec![(case.program.tid, case.symbol("tid.2", Sort::INT))];
    for v in case.program.threads[thread].locals.clone() {
        let var = case.program.vars[v].clone();
        second.push((var.symbol, case.symbol(&format!("{}.2", var.name), var.sort)));
    }
    let (p, t) = (&case.program, &case.terms);
    let candidates = facts(case, &own_symbols(p, thread));
    let cell = |(location, symbol): (&LocId, &Symbol)| {
        let envs: Vec<Env> = seen
            .states
            .iter()
            .flat_map(|s| {
                let here = move |i: &usize| s.instances[*i].at == *location;
                (0..s.instances.len()).filter(here).map(move |i| own_env(p, s, i))
            })
            .collect();
        let holds = if random.chance(50) { t.tt() } else { true_in(case, random, drop, &candidates, &envs) };
        Counter { thread, location: *location, cell: t.tt(), holds, symbol: *symbol }
    };
    let mut counters: Vec<Counter> = locations.iter().zip(&symbols).map(cell).collect();
    let empty = counters.len();
    counters.push(Counter { cell: t.ff(), holds: t.tt(), symbol: dummy, ..counters[0].clone() });
    let exclusive: Vec<(usize, usize)> = (0..empty).filter(|_| random.chance(80)).map(|c| (c, empty)).collect();
    let envs: Vec<Env> = seen
        .states
        .iter()
        .map(|s| {
            let mut env = shared_env(p, s);
            let number = |l: &LocId| s.instances.iter().filter(|i| i.at == *l).count();
            env.extend(symbols.iter().zip(&locations).map(|(c, l)| (*c, Value::Int(number(l) as i128))));
            env.insert(dummy, Value::Int(0));
            env
        })
        .collect();
    let mut sums: Vec<Term> = vec![t.int(0)];
    for (i, a) in symbols.iter().enumerate() {
        sums.push(t.sym(*a));
        for (j, b) in symbols[..i].iter().enumerate() {
            let two = t.add(t.sym(*a), t.sym(*b));
            sums.push(two);
            sums.extend(symbols[..j].iter().map(|c| t.add(two, t.sym(*c))));
        }
    }
    let shared = shared_symbols(p);
    let mut candidates = facts(case, &shared);
    candidates.extend(shared.iter().flat_map(|x| sums.iter().map(|s| t.eq(t.sym(*x), *s))));
    let invariant = vec![(Vec::new(), true_in(case, random, drop, &candidates, &envs))];
    Proof::Counting(Box::new(Counting {
        unique_threads: Vec::new(),
        counters,
        peer_copy: second,
        pairwise: Vec::new(),
        exclusive,
        invariant,
    }))
}

fn accepts(case: &Case, proof: &Proof, property: PropertyId) -> bool {
    let certificate = Certificate {
        method: "refuter".into(),
        terms: case.terms.clone(),
        properties: vec![property],
        proof: proof.clone(),
    };
    let mut oracle = Again;
    let mut checker = Checker::new(&case.program, &mut oracle, CheckLimits::default());
    let claim = evidence::Claim::Proved(Arc::new(certificate));
    checker.check(property, "refuter", &claim).outcome() == Outcome::Safe
}

/// A refuter of one rule: which programs it looks at, and how it fills a certificate.
struct Refuter {
    rule: &'static str,
    copies: &'static [&'static str],
    first_seed: u64,
    build: Build,
}

type Build = fn(&mut Case, &Seen, &mut Random, u32) -> Proof;

/// A certificate of something false that was accepted.
struct Fallen {
    seed: u64,
    text: String,
    proof: Proof,
}

#[derive(Default)]
struct Tally {
    programs: u64,
    certificates: u64,
    /// Certificates of programs that violate nothing: that some are accepted shows that the grammar proves something at all.
    accepted_of_safe: u64,
}

impl Refuter {
    /// Looks at so many unsafe programs for a certificate of what they violate that `judge` accepts.
    fn search(&self, programs: u64, judge: &dyn Fn(&Case, &Proof, PropertyId) -> bool) -> (Tally, Option<Fallen>) {
        let mut tally = Tally::default();
        for seed in self.first_seed + 1..self.first_seed + 100 * programs {
            if tally.programs == programs {
                break;
            }
            let text = random_program(&mut Random::new(seed), self.copies);
            let program = crate::case::program(&text);
            let violated = violated_with_three(&program);
            let property = match violated {
                Some(property) => property,
                None if seed.is_multiple_of(4) => PropertyId(0),
                None => continue,
            };
            tally.programs += u64::from(violated.is_some());
            let seen = seen(&Case::of(program.clone()), 2);
            for drop in [0, 10, 50] {
                let mut case = Case::of(program.clone());
                let proof = (self.build)(&mut case, &seen, &mut Random::new(seed), drop);
                let accepted = judge(&case, &proof, property);
                match violated {
                    Some(_) if accepted => return (tally, Some(Fallen { seed, text, proof })),
                    Some(_) => tally.certificates += 1,
                    None => tally.accepted_of_safe += u64::from(accepted),
                }
            }
        }
        (tally, None)
    }

    /// There must be none.
    fn must_not_fall(&self) {
        let (tally, fallen) = self.search(programs_of_each(), &accepts);
        if let Some(Fallen { seed, text, proof }) = fallen {
            panic!("{}, seed {seed}: a proof of something false is accepted:\n{text}\n{proof:?}", self.rule);
        }
        println!(
            "refuter of {}: {} unsafe programs, {} certificates tried, accepted = 0 (of safe programs {} accepted)",
            self.rule, tally.programs, tally.certificates, tally.accepted_of_safe
        );
        assert_eq!(tally.programs, programs_of_each(), "{}: too few programs are unsafe", self.rule);
    }
}

/// The first property that is violated with three instances of each thread of any number.
fn violated_with_three(program: &Program) -> Option<PropertyId> {
    let limits = semantics::ReachLimits { states: 4_000, ..semantics::ReachLimits::default() };
    semantics::reachable_states(program, &InstanceCounts::of(program, 3), &limits).violations.keys().next().copied()
}

const COUNTING: Refuter = Refuter { rule: "counting", copies: &["[*]"], first_seed: 20_000, build: counting };

#[test]
fn check_no_rule_for_any_number_of_threads_proves_what_is_violated() {
    let copies = &["[*]", ""];
    Refuter { rule: "rely-guarantee", copies, first_seed: 0, build: rely_guarantee }.must_not_fall();
    Refuter { rule: "assume-guarantee", copies, first_seed: 10_000, build: assume_guarantee }.must_not_fall();
    COUNTING.must_not_fall();
}

#[test]
fn check_no_facts_about_two_instances_prove_what_is_violated() {
    PAIRS.must_not_fall();
}

const PAIRS: Refuter = Refuter { rule: "pairs", copies: &["[*]", ""], first_seed: 30_000, build: pairs };

#[test]
fn check_no_facts_about_choices_of_instances_prove_what_is_violated() {
    QUANTIFIED.must_not_fall();
}

const QUANTIFIED: Refuter = Refuter { rule: "quantified", copies: &["[*]", ""], first_seed: 40_000, build: quantified };

/// A refuter that finds nothing says something only if it finds what is there to be found: what others do, and what is claimed. (What an instance does
/// itself one more of its thread does as well; `quantified` has certificates that only its own steps break.)
#[test]
fn check_the_refuter_of_facts_about_instances_falls_where_steps_of_others_or_claims_are_left_out() {
    for left_out in ["QU3", "QU4"] {
        let judge = |case: &Case, proof: &Proof, property: PropertyId| {
            let Proof::Quantified(proof) = proof else { panic!("a certificate of rule quantified") };
            let list = checker::rules::quantified::obligations(&case.program, &case.terms, proof, &[property]);
            let holds = |formula| Again.valid(&case.terms, formula) == OracleAnswer::Valid;
            list.is_ok_and(|list| list.iter().all(|o| o.premise.name == left_out || holds(o.formula)))
        };
        let (_, fallen) = Refuter { copies: &["[*]"], ..QUANTIFIED }.search(40, &judge);
        assert!(fallen.is_some(), "without {left_out} the rule proves nothing false that the refuter tries");
    }
}

/// What is true of two instances is no proof for three: without PA3 the rule would say so.
#[test]
fn check_the_refuter_of_pairs_falls_where_third_instances_are_left_out() {
    let judge = |case: &Case, proof: &Proof, property: PropertyId| {
        let Proof::Pairs(proof) = proof else { panic!("a certificate of rule pairs") };
        let list = checker::rules::pairs::obligations(&case.program, &case.terms, proof, &[property]);
        let holds = |formula| Again.valid(&case.terms, formula) == OracleAnswer::Valid;
        list.is_ok_and(|list| list.iter().all(|o| o.premise.name == "PA3" || holds(o.formula)))
    };
    let (_, fallen) = Refuter { copies: &["[*]"], ..PAIRS }.search(40, &judge);
    assert!(fallen.is_some(), "without PA3 the rule proves nothing false that the refuter tries");
}

#[test]
fn check_no_rule_for_fixed_numbers_of_threads_proves_what_is_violated() {
    let copies = &["", ""];
    Refuter { rule: "product", copies, first_seed: 500_000, build: product }.must_not_fall();
    ENVIRONMENTS.must_not_fall();
}

const ENVIRONMENTS: Refuter =
    Refuter { rule: "environments", copies: &["", ""], first_seed: 510_000, build: environments };

/// A refuter that finds nothing says something only if it finds what is there to be found.
#[test]
fn check_the_refuter_of_environments_falls_whichever_premise_is_left_out() {
    for left_out in ["CS1", "CS2", "CS3", "CS4", "CS5"] {
        let judge = |case: &Case, proof: &Proof, property: PropertyId| {
            let Proof::Environments(proof) = proof else { panic!("a certificate of rule environments") };
            let counts = InstanceCounts::of(&case.program, 0);
            let rule = &checker::rules::environments::obligations;
            let list = rule(&case.program, &case.terms, proof, &counts.0, &[property]);
            let holds = |formula| Again.valid(&case.terms, formula) == OracleAnswer::Valid;
            list.is_ok_and(|list| list.iter().all(|o| o.premise.name == left_out || holds(o.formula)))
        };
        let (_, fallen) = ENVIRONMENTS.search(30, &judge);
        assert!(fallen.is_some(), "without {left_out} the rule proves nothing false that the refuter tries");
    }
}

/// Rule `counting` as it stood before it was mended: of two cells that exclude each other it took for granted that they hold at most one
/// instance together, where CT7 shows that one of them is empty.
fn accepts_with_the_pairwise_bound(case: &Case, proof: &Proof, property: PropertyId) -> bool {
    let Proof::Counting(proof) = proof else { panic!("a certificate of rule counting") };
    let t = &case.terms;
    let bounds: Vec<(Term, Term)> = proof
        .exclusive
        .iter()
        .filter(|(a, b)| a != b)
        .map(|(a, b)| {
            let (x, y) = (t.sym(proof.counters[*a].symbol), t.sym(proof.counters[*b].symbol));
            (t.or(&[t.eq(x, t.int(0)), t.eq(y, t.int(0))]), t.le(t.add(x, y), t.int(1)))
        })
        .collect();
    let obligations = checker::rules::counting::obligations(&case.program, t, proof, &[property]);
    obligations
        .is_ok_and(|list| list.iter().all(|o| Again.valid(t, replaced(t, o.formula, &bounds)) == OracleAnswer::Valid))
}

/// The formula with parts of it replaced. Obligations of programs without quantifiers have none.
fn replaced(t: &Terms, formula: Term, parts: &[(Term, Term)]) -> Term {
    if let Some((_, new)) = parts.iter().find(|(old, _)| *old == formula) {
        return *new;
    }
    match t.node(formula) {
        Node::App(op, args) => {
            let args: Vec<Term> = args.iter().map(|a| replaced(t, *a, parts)).collect();
            t.mk(op, &args)
        }
        Node::Quant(..) => panic!("no obligation of these programs has a quantifier"),
        _ => formula,
    }
}

#[test]
fn check_the_refuter_of_counting_falls_on_the_pairwise_bound_that_was_mended() {
    // From the beginning it takes 170 programs or so.
    let (_, fallen) = Refuter { first_seed: 20_344, ..COUNTING }.search(20, &accepts_with_the_pairwise_bound);
    let fallen = fallen.expect("the refuter finds a certificate that only the old rule accepts");
    println!("seed {}:\n{}", fallen.seed, fallen.text);
    let program = crate::case::program(&fallen.text);
    assert!(violated_with_three(&program).is_some(), "what it proves is false");
}
