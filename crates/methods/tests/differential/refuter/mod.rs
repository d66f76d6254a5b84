//! Refuters of the rules of the checker, with certificates and runs made by the methods: for programs that violate a property, a
//! search for a proof that is accepted all the same; for properties that hold, a search for a run that is accepted all the same. There must
//! be none.
//!
//! In: a seed. Each rule and each kind of run has its random programs, its method, and an opinion on what is true that does not come from the
//! rule (`subjects`). A method cannot be made to lie, but it can be asked about a *sibling*: the program without the checks in question, so that
//! what it finds is what it would find with its own checks switched off, or the program with some steps changed. What it hands over is put to
//! the program itself, as it stands and with one thing changed at a time (`testkit::document`). Out: nothing, or the program and the evidence.
//! A few programs of each here; `THREADPROOF_REFUTE=5000` looks at as many of each. The rules whose certificates are also filled from a grammar
//! are in `testkit/tests/rules/refuter.rs`.

mod asked;
mod siblings;
mod subjects;

use base::Random;
use base::differential::limited_work;
use checker::{CheckLimits, Checker, Outcome};
use evidence::file::EvidenceEntry;
use evidence::{Claim, Counterexample};
use methods::{Method, MethodOptions, Run, Task};
use program::{Program, PropertyId};
use siblings::{edited, without_checks};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use subjects::{KINDS, RULES};
use testkit::document::Document;
use testkit::oracle::Again;

/// Random programs for the refuter of a rule, or of a kind of run.
pub(crate) struct Subject {
    /// The rule or the kind.
    name: &'static str,
    program: fn(u64) -> Program,
    /// For a rule: properties that are violated. For a kind of run: properties that hold.
    certain: fn(u64, &Program) -> Vec<PropertyId>,
    method: fn() -> Arc<dyn Method>,
    options: &'static [(&'static str, &'static str)],
}

/// Siblings of one program, and changed copies of one document.
const SIBLINGS: usize = 3;
const COPIES: usize = 6;

/// What a method may spend on one sibling. In the usual tests it is enough for the few programs that are looked at, whatever else the
/// machine does; in a long run hard siblings are left out.
fn method_time() -> Duration {
    Duration::from_millis(if std::env::var_os("THREADPROOF_REFUTE").is_some() { 700 } else { 2_000 })
}

fn programs_of_each() -> u64 {
    let given = std::env::var("THREADPROOF_REFUTE").ok().and_then(|n| n.parse().ok());
    given.unwrap_or(3)
}

/// What documents are put to.
struct Target<'a> {
    base: &'a Program,
    certain: &'a [PropertyId],
    seed: u64,
}

#[derive(Default)]
struct Tally {
    /// Programs for which there was something to try.
    programs: u64,
    documents: u64,
    /// Documents that are accepted of the sibling they were made for: the search is not for something that is never accepted.
    accepted_of_sibling: u64,
    panics: u64,
}

impl Subject {
    /// What the method claims of a program; nothing where it does not take it, or breaks down.
    fn claims(&self, program: &Program, wanted: &[PropertyId], tally: &mut Tally) -> Vec<(PropertyId, Claim)> {
        let options = self.options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let properties = if wanted.is_empty() { program.properties.ids().collect() } else { wanted.to_vec() };
        let task =
            Task { program: program.clone(), properties, threads: Default::default(), options: MethodOptions(options) };
        let method = (self.method)();
        let run = || -> Vec<(PropertyId, Claim)> {
            if method.admits(&task).is_err() {
                return Vec::new();
            }
            method.run(&task, &Run::quiet(limited_work(method_time()))).claims.into_iter().collect()
        };
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            tally.panics += 1;
            Vec::new()
        })
    }

    /// The siblings of a program that are programs.
    fn siblings(&self, program: &Program, without: &[PropertyId], random: &mut Random) -> Vec<Program> {
        let first = (!without.is_empty()).then(|| without_checks(program, without));
        let others: Vec<Program> = (0..SIBLINGS).map(|_| edited(program, random)).collect();
        first.into_iter().chain(others).filter(|p| program::wellformed(p).is_empty()).collect()
    }

    /// Tries the document and changed copies of it; panics where one is accepted of something that is not so.
    fn put(&self, document: &Document, to: &Target<'_>, random: &mut Random, tally: &mut Tally) -> u64 {
        let Target { base, certain, seed } = to;
        let mut tried = 0;
        for copy in 0..=COPIES {
            let document = if copy == 0 { document.clone() } else { document.mutated(random) };
            let document = document.put_to(base);
            let Some(entry) = document.read(base) else { continue };
            tried += 1;
            if let Some(property) = certain.iter().find(|p| accepted(base, &entry, **p)) {
                panic!(
                    "{}, seed {seed}, copy {copy}: accepted for {}, which is not so:\n{}\n{:#}",
                    self.name,
                    base.properties[*property].name,
                    program::text::print_program(base),
                    document.0
                );
            }
        }
        tally.documents += tried;
        tried
    }

    /// What the method hands over of this rule or kind about a program.
    fn entries(&self, program: &Program, wanted: &[PropertyId], tally: &mut Tally) -> Vec<EvidenceEntry> {
        let mut out: Vec<EvidenceEntry> = Vec::new();
        let mut seen: Vec<Arc<evidence::Certificate>> = Vec::new();
        for (property, claim) in self.claims(program, wanted, tally) {
            match claim {
                Claim::Proved(c) if c.proof.form() == self.name && !seen.iter().any(|s| Arc::ptr_eq(s, &c)) => {
                    out.push(EvidenceEntry::Certificate((*c).clone()));
                    seen.push(c);
                }
                Claim::Refuted(run) if kind(&run) == self.name => {
                    out.push(EvidenceEntry::Counterexample { method: "refuter".into(), property, run });
                }
                _ => {}
            }
        }
        out
    }

    /// Looks at as many programs as are asked for. For a rule, the checks in question are switched off in the first sibling.
    fn must_not_fall(&self, first_seed: u64) {
        let mut tally = Tally::default();
        let (goal, mut looked_at) = (programs_of_each(), 0);
        for seed in first_seed..first_seed + 300 * goal.max(4) {
            if tally.programs == goal {
                break;
            }
            looked_at += 1;
            let base = (self.program)(seed);
            let certain = (self.certain)(seed, &base);
            if certain.is_empty() {
                continue;
            }
            let mut random = Random::new(seed);
            let of_rule = RULES.iter().any(|r| r.name == self.name);
            let switched_off = if of_rule { &certain[..] } else { &[] };
            let (mut tried, target) = (0, Target { base: &base, certain: &certain, seed });
            for sibling in self.siblings(&base, switched_off, &mut random) {
                for entry in self.entries(&sibling, if of_rule { &[] } else { &certain }, &mut tally) {
                    let own = entry.properties().into_iter().any(|p| accepted(&sibling, &entry, p));
                    tally.accepted_of_sibling += u64::from(own);
                    let document = Document::of(&sibling, entry);
                    tried += self.put(&document, &target, &mut random, &mut tally);
                }
            }
            tally.programs += u64::from(tried > 0);
        }
        println!(
            "refuter of {}: {} programs of {looked_at}, {} documents tried, accepted = 0 ({} accepted of siblings, {} panics of the method)",
            self.name, tally.programs, tally.documents, tally.accepted_of_sibling, tally.panics
        );
        assert!(tally.programs > 0 && tally.accepted_of_sibling > 0, "{}: nothing was tried", self.name);
    }
}

/// The name of a kind of run, in files.
fn kind(run: &Counterexample) -> &'static str {
    match run {
        Counterexample::Run(_) => "trace",
        Counterexample::LocalRun(_) => "local",
        Counterexample::SpecRun(_) => "stray",
        Counterexample::ClientRun(_) => "called",
        Counterexample::History(_) => "history",
    }
}

/// Whether the checker takes the entry for a proof, or a refutation, of the property.
fn accepted(program: &Program, entry: &EvidenceEntry, property: PropertyId) -> bool {
    let (claim, wanted) = match entry {
        EvidenceEntry::Certificate(c) => {
            let c = evidence::Certificate { properties: vec![property], ..c.clone() };
            (Claim::Proved(Arc::new(c)), Outcome::Safe)
        }
        EvidenceEntry::Counterexample { property: of, .. } if *of != property => return false,
        EvidenceEntry::Counterexample { run, .. } => (Claim::Refuted(run.clone()), Outcome::Unsafe),
    };
    let mut oracle = Again;
    Checker::new(program, &mut oracle, CheckLimits::default()).check(property, "refuter", &claim).outcome() == wanted
}

fn subject<'a>(all: &'a [Subject], name: &str) -> &'a Subject {
    all.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no refuter is called {name}"))
}

/// Product is the last resort of its method and is filled from a grammar alone.
const FROM_A_GRAMMAR_ALONE: [&str; 1] = ["product"];

#[test]
fn check_every_rule_and_every_kind_of_run_has_a_refuter() {
    let here: BTreeSet<&str> = RULES.iter().map(|r| r.name).chain(FROM_A_GRAMMAR_ALONE).collect();
    let there: BTreeSet<&str> = checker::rules::RULES.iter().map(|(name, _)| *name).collect();
    assert_eq!(here, there);
    let kinds: BTreeSet<&str> = KINDS.iter().map(|k| k.name).collect();
    assert_eq!(kinds, BTreeSet::from(["trace", "local", "stray", "called", "history"]));
}

macro_rules! refuters {
    ($all:expr; $($test:ident $name:literal $seed:literal;)*) => {$(
        #[test]
        fn $test() {
            subject(&$all, $name).must_not_fall($seed);
        }
    )*};
}

refuters! { RULES;
    check_no_annotation_for_rely_and_guarantee_proves_what_is_violated "rely-guarantee" 0;
    check_no_assumption_about_others_proves_what_is_violated "assume-guarantee" 100_000;
    check_no_environments_prove_what_is_violated "environments" 200_000;
    check_no_facts_about_two_instances_prove_what_is_violated "pairs" 250_000;
    check_no_facts_about_choices_of_instances_prove_what_is_violated "quantified" 1_700_000;
    check_no_counters_prove_what_is_violated "counting" 300_000;
    check_no_search_proves_what_is_violated "search" 400_000;
    check_no_views_prove_what_is_violated "views" 500_000;
    check_no_simulation_proves_what_is_violated "simulation" 600_000;
    check_no_composition_proves_what_is_violated "composed" 700_000;
    check_no_reduction_proves_what_is_violated "reduction" 800_000;
    check_no_calls_by_specification_prove_what_is_violated "performed" 900_000;
    check_no_assertions_that_are_asked_for_prove_what_is_violated "asserted" 1_600_000;
    check_no_proof_for_any_callers_proves_what_is_violated "callers" 1_000_000;
}

refuters! { KINDS;
    check_no_run_refutes_what_holds "trace" 1_100_000;
    check_no_run_of_one_thread_refutes_what_it_follows "local" 1_200_000;
    check_no_run_of_a_procedure_refutes_what_it_performs "stray" 1_300_000;
    check_no_run_of_callers_refutes_what_holds_for_all_of_them "called" 1_400_000;
    check_no_history_refutes_what_is_linearizable "history" 1_500_000;
}
