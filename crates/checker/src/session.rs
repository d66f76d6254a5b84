//! The checking of one certificate against one program: obligations are put to the oracle, certificates inside others are checked against
//! the programs that they are about.
//!
//! In: a program, an oracle, limits. Out: for a certificate what it establishes, and on what that rests. Deliberately absent: verdicts (`conclude`).

use crate::obligation::{Obligation, Serves};
use crate::oracle::{OracleAnswer, ValidityOracle};
use crate::rejection::{Rejection, SideCondition};
use crate::verdict::Trust;
use evidence::Certificate;
use logic::{Node, Term, Terms};
use program::{Program, PropertyId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a certificate was found to establish.
#[derive(Clone, Debug)]
pub struct Established {
    pub trust: Trust,
    /// For each property it claims: nothing, or why it is not established after all.
    pub properties: BTreeMap<PropertyId, Result<(), Rejection>>,
}

impl Established {
    /// Everything that is claimed.
    pub(crate) fn all(claimed: &[PropertyId], trust: Trust) -> Self {
        Self { trust, properties: claimed.iter().map(|p| (*p, Ok(()))).collect() }
    }
    /// Whether a property is among what is established; why not.
    pub(crate) fn shows(&self, property: PropertyId) -> Result<(), Rejection> {
        let missing = || Err(Rejection::missing("the proof inside does not claim what is needed of it"));
        self.properties.get(&property).cloned().unwrap_or_else(missing)
    }
}

/// How much the checker may spend.
#[derive(Clone, Debug)]
pub struct CheckLimits {
    pub budget: base::Budget,
    /// The largest number of states that are searched again.
    pub search: u64,
    /// The most effort of such a search. One that ends by it says that a method searched once.
    pub search_effort: Duration,
}

impl Default for CheckLimits {
    fn default() -> Self {
        Self { budget: base::Budget::unlimited(), search: 1_000_000, search_effort: Duration::from_secs(20) }
    }
}

/// A proof rule: what a certificate of its form establishes of the session's program.
pub(crate) type Rule = fn(&mut CheckSession<'_>, &Certificate) -> Result<Established, Rejection>;

/// A program, who answers, and the rules.
pub struct CheckSession<'a> {
    pub program: &'a Program,
    pub oracle: &'a mut dyn ValidityOracle,
    pub limits: CheckLimits,
    /// The rule for certificates of a form.
    pub rule: fn(&str) -> Result<Rule, Rejection>,
}

impl CheckSession<'_> {
    /// What a certificate establishes of the session's program.
    pub(crate) fn establish(&mut self, c: &Certificate) -> Result<Established, Rejection> {
        if !c.terms.extends(&self.program.terms) {
            return Err(SideCondition::AnotherProgram.into());
        }
        if c.properties.iter().any(|p| self.program.properties.get(*p).is_none()) {
            return Err(SideCondition::NoSuchProperty.into());
        }
        (self.rule)(c.proof.form())?(self, c)
    }

    /// What a certificate establishes of another program, which was built from the session's.
    pub(crate) fn check_inner(&mut self, program: &Program, c: &Certificate) -> Result<Established, Rejection> {
        CheckSession { program, oracle: &mut *self.oracle, limits: self.limits.clone(), rule: self.rule }.establish(c)
    }

    /// Puts the obligations to the oracle. A common obligation that is not valid takes every property with it.
    pub(crate) fn discharge(&mut self, c: &Certificate, list: Vec<Obligation>) -> Result<Established, Rejection> {
        let not_valid = self.not_valid(&c.terms, &list)?;
        // Whose word it was is known only now that everything has been asked.
        let trust = Trust::Certified {
            by: self.oracle.name(),
            independent: self.oracle.independent(),
            obligations: list.len(),
        };
        let mut out = Established::all(&c.properties, trust);
        for (formula, answer) in not_valid {
            for o in list.iter().filter(|o| formula.contains(&o.formula)) {
                let rejection = self.because(o, &answer);
                match &o.serves {
                    Serves::All => return Err(rejection),
                    Serves::These(these) => {
                        out.properties.extend(these.iter().map(|p| (*p, Err(rejection.clone()))));
                    }
                }
            }
        }
        Ok(out)
    }

    /// The formulas that are not found valid, in groups that differ in names alone, with the oracle's answer for each group.
    fn not_valid(&mut self, terms: &Terms, list: &[Obligation]) -> Result<Vec<(Vec<Term>, OracleAnswer)>, Rejection> {
        // The same formula is often asked for twice, once for each of several reasons.
        let mut seen = BTreeSet::new();
        let mut open: Vec<Term> =
            list.iter().map(|o| o.formula).filter(|f| !terms.is_true(*f) && seen.insert(*f)).collect();
        // One by one, before they are bunched: an edit changes few obligations, but may change every bunch.
        open.retain(|f| !self.oracle.remembers(terms, *f));
        // Code of one pattern gives obligations that differ in names alone: one of them is asked for all.
        let mut alike: FxHashMap<Term, Vec<Term>> =
            evidence::fingerprint::alike(terms, &open).into_iter().map(|group| (group[0], group)).collect();
        open.retain(|f| alike.contains_key(f));
        let (mut wave, mut out) = (bunches(terms, &open), Vec::new());
        while !wave.is_empty() {
            self.limits.budget.check().map_err(Rejection::Exhausted)?;
            let questions: Vec<Term> = wave.iter().map(|bunch| terms.and(bunch)).collect();
            let answers = self.oracle.valid_each(terms, &questions);
            if answers.len() != questions.len() {
                return Err(Rejection::Incomplete("the oracle did not answer every question".into()));
            }
            let mut next = Vec::new();
            for (bunch, answer) in wave.iter().zip(answers) {
                match (answer, &bunch[..]) {
                    (OracleAnswer::Valid, _) => {}
                    (answer, [one]) => out.push((alike.remove(one).unwrap_or_else(|| vec![*one]), answer)),
                    (_, many) => {
                        let (first, second) = many.split_at(many.len() / 2);
                        next.extend([first.to_vec(), second.to_vec()]);
                    }
                }
            }
            wave = next;
        }
        Ok(out)
    }

    /// Why an obligation that was not found valid leaves its property unknown.
    fn because(&self, o: &Obligation, answer: &OracleAnswer) -> Rejection {
        let (premise, what) = (o.premise, o.what.clone());
        match answer {
            OracleAnswer::Unknown(why) => {
                Rejection::Undecided { premise, what, why: format!("{}: {why}", self.oracle.name()) }
            }
            OracleAnswer::Invalid(values) => Rejection::Premise { premise, what, values: values.clone() },
            OracleAnswer::Valid => Rejection::Premise { premise, what, values: String::new() },
        }
    }
}

/// A conjunction is valid if and only if each part is, and one question with many small parts costs less than many questions.
/// A bunch that is not found valid is taken apart.
const MAX_BUNCH: usize = 64;
/// The largest number of different terms in a bunch of several.
const MAX_BUNCH_TERMS: usize = 3000;

/// Formulas to be asked together. Those with quantifiers, and large ones, are asked alone.
fn bunches(terms: &Terms, formulas: &[Term]) -> Vec<Vec<Term>> {
    let (mut out, mut last, mut size) = (Vec::new(), Vec::new(), 0);
    for f in formulas {
        match quantifier_free_size(terms, *f) {
            Some(own) if own < MAX_BUNCH_TERMS => {
                if last.len() == MAX_BUNCH || size + own > MAX_BUNCH_TERMS {
                    out.extend((!last.is_empty()).then(|| std::mem::take(&mut last)));
                    size = 0;
                }
                last.push(*f);
                size += own;
            }
            _ => out.push(vec![*f]),
        }
    }
    out.extend((!last.is_empty()).then_some(last));
    out
}

/// The number of different terms in a formula; `None` if a quantifier occurs in it.
fn quantifier_free_size(terms: &Terms, formula: Term) -> Option<usize> {
    let (mut todo, mut seen) = (vec![formula], FxHashSet::default());
    while let Some(t) = todo.pop() {
        match terms.node(t) {
            Node::Quant(..) => return None,
            Node::App(_, args) => todo.extend(args.iter().filter(|a| seen.insert(**a))),
            _ => {}
        }
    }
    Some(seen.len() + 1)
}
