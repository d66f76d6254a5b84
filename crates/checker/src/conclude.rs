//! From claims to verdicts.
//!
//! `check` looks at one claim: a certificate is vetted against the program, its obligations are rebuilt and put to the
//! oracle; a trace is replayed. `conclude` turns what was checked into verdicts, and caps them: while some construct
//! outside the model may be reached, nothing is safe. A certificate that serves several properties is checked once.

use crate::leaves::{Answer, Leaves};
use crate::obligation::{Obligation, Serves};
use crate::rules::{self, Malformed};
use crate::verdict::{Evidence, Outcome, Trust, Verdict};
use evidence::{Callers, Certificate, Claim, Composed, Performed, Proof, Reason, Trace};
use logic::{Node, Term, Terms};
use program::callers::{keep_objects, touched_by_callers};
use program::client::Effort;
use program::semantics::Instances;
use program::specified::of_inlining;
use program::{Assumption, Copies, Program, PropertyId, PropertyKind, Start};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A claim that has been looked at. Not yet a verdict: see `Checker::conclude`.
#[derive(Clone, Debug)]
pub struct Checked(Verdict);

impl Checked {
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }
    pub fn property(&self) -> PropertyId {
        self.0.property
    }
}

/// What a certificate was found to establish.
#[derive(Clone, Debug)]
struct Established {
    trust: Trust,
    /// For each property it claims: nothing, or why it is not established after all.
    properties: BTreeMap<PropertyId, Result<(), Reason>>,
}

pub struct Checker<'a> {
    program: &'a Program,
    leaves: &'a mut dyn Leaves,
    limits: Limits,
    seen: Vec<(Arc<Certificate>, Result<Established, Reason>)>,
}

/// How much the checker may spend.
#[derive(Clone, Debug)]
pub struct Limits {
    pub budget: base::Budget,
    /// The largest number of states that are searched again.
    pub search: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { budget: base::Budget::unlimited(), search: 1_000_000 }
    }
}

impl<'a> Checker<'a> {
    pub fn new(program: &'a Program, leaves: &'a mut dyn Leaves, limits: Limits) -> Self {
        Self { program, leaves, limits, seen: Vec::new() }
    }

    /// Looks at a claim about a property.
    pub fn check(&mut self, property: PropertyId, method: &str, claim: &Claim) -> Checked {
        match claim {
            Claim::Undecided(reason) => self.unknown(property, method, reason.clone()),
            Claim::Refuted(trace) => self.refuted(property, method, trace),
            Claim::Disproved(history) => self.disproved(property, method, history),
            Claim::Called(called) => self.called(property, method, called),
            Claim::Breached(local) => match rules::local::check(self.program, local) {
                Ok(_) if local.violates == property => {
                    self.verdict(property, method, Outcome::Unsafe, Trust::Replayed, Evidence::Local(local.clone()))
                }
                Ok(_) => {
                    self.unknown(property, method, Reason::Internal("the local run is about another property".into()))
                }
                Err(why) => self.unknown(
                    property,
                    method,
                    Reason::Internal(format!("the local run of {method} was rejected: {why}")),
                ),
            },
            Claim::Strayed(stray) => match evidence::stray::replay(self.program, stray) {
                Ok(_) if stray.violates == property => {
                    self.verdict(property, method, Outcome::Unsafe, Trust::Replayed, Evidence::Stray(stray.clone()))
                }
                Ok(_) => self.unknown(property, method, Reason::Internal("the run is about another property".into())),
                Err(why) => {
                    let reason = Reason::Internal(format!("the run of {method} was rejected: {why}"));
                    self.unknown(property, method, reason)
                }
            },
            Claim::Proved(certificate) => self.proved(property, method, certificate),
        }
    }

    /// Verdicts for all that was checked. A construct outside the model that is not proved unreachable makes every
    /// "safe" unknown; and whoever reaches one is not unsafe.
    pub fn conclude(&self, checked: Vec<Checked>) -> Vec<Verdict> {
        let constructs = self.program.properties.iter_enumerated();
        let open: Vec<PropertyId> = constructs
            .filter(|(id, p)| {
                let proved = |c: &Checked| c.0.property == *id && c.0.outcome == Outcome::Safe && !with_calls(c);
                matches!(p.kind, PropertyKind::Unmodelled(_)) && !checked.iter().any(proved)
            })
            .map(|(id, _)| id)
            .collect();
        let cap = |c: Checked| {
            // A proof over code with calls does not meet what stands only where they were inlined.
            let met = |q: &PropertyId| !(with_calls(&c) && of_inlining(self.program, *q));
            match open.iter().copied().find(met) {
                Some(q) if c.0.outcome == Outcome::Safe => {
                    let p = &self.program.properties[q];
                    let what = if let PropertyKind::Unmodelled(what) = &p.kind { what.as_str() } else { "" };
                    let why = format!("a construct outside the model may be reached: {what} ({})", p.name);
                    let evidence = Evidence::Reason(Reason::Incomplete(why));
                    Verdict { outcome: Outcome::Unknown, trust: Trust::Nothing, evidence, ..c.0 }
                }
                _ => c.0,
            }
        };
        checked.into_iter().map(cap).collect()
    }

    fn verdict(
        &self,
        property: PropertyId,
        method: &str,
        outcome: Outcome,
        trust: Trust,
        evidence: Evidence,
    ) -> Checked {
        let mut assumptions = vec![Assumption {
            code: "sequential-consistency".into(),
            text: "memory is sequentially consistent".into(),
        }];
        assumptions.extend(self.program.assumptions.iter().cloned());
        Checked(Verdict { property, outcome, method: method.into(), trust, assumptions, evidence })
    }

    fn unknown(&self, property: PropertyId, method: &str, reason: Reason) -> Checked {
        self.verdict(property, method, Outcome::Unknown, Trust::Nothing, Evidence::Reason(reason))
    }

    /// Rule `history`: the client program is built again from the program and the clients; the trace is replayed in it.
    fn disproved(&self, property: PropertyId, method: &str, h: &evidence::History) -> Checked {
        let rejected = |why: String| {
            self.unknown(property, method, Reason::Internal(format!("the history of {method} was rejected: {why}")))
        };
        let about = match h.gate {
            // Where there are threads, what goes wrong inside an operation is a matter of their calls alone.
            Some(gate) => gate == property && self.program.threads.is_empty(),
            None => self.program.properties[property].kind == PropertyKind::Linearizable(h.object),
        };
        if !about {
            return rejected("it is about another property".into());
        }
        let (clients, history) = match h.program(self.program) {
            Ok(made) => made,
            Err(why) => return rejected(why),
        };
        if h.trace.violates != h.gate.unwrap_or(history)
            || h.trace.instances != Instances(vec![1; clients.threads.len()])
        {
            return rejected("its trace is not one of the clients to the violation".into());
        }
        match program::semantics::replay(&clients, &h.trace) {
            Err(mismatch) => rejected(mismatch.to_string()),
            Ok(_) => self.run_found(property, method, Evidence::History(h.clone())),
        }
    }

    /// Rule `called`: the bounded client is built again from the program and the effort; the trace is replayed in it.
    fn called(&self, property: PropertyId, method: &str, c: &evidence::Called) -> Checked {
        let rejected = |why: String| {
            let why = format!("the run of callers of {method} was rejected: {why}");
            self.unknown(property, method, Reason::Internal(why))
        };
        if c.trace.violates != property {
            return rejected("it is about another property".into());
        }
        let client = match program::callers::callers(self.program, None, &[], c.effort) {
            Ok(client) => client,
            Err(why) => return rejected(why),
        };
        if !c.trace.instances.allowed(&client.program) {
            return rejected("its instances are not those of the callers".into());
        }
        match program::semantics::replay(&client.program, &c.trace) {
            Err(mismatch) => rejected(mismatch.to_string()),
            Ok(_) => self.run_found(property, method, Evidence::Called(c.clone())),
        }
    }

    /// A run that was replayed: the property is violated, unless it only marks a construct outside the model.
    fn run_found(&self, property: PropertyId, method: &str, evidence: Evidence) -> Checked {
        match &self.program.properties[property].kind {
            PropertyKind::Unmodelled(what) => {
                let reason = Reason::Incomplete(format!("a construct outside the model is reached: {what}"));
                self.unknown(property, method, reason)
            }
            _ => self.verdict(property, method, Outcome::Unsafe, Trust::Replayed, evidence),
        }
    }

    fn refuted(&self, property: PropertyId, method: &str, trace: &Trace) -> Checked {
        let rejected = |why: String| {
            self.unknown(property, method, Reason::Internal(format!("the trace of {method} was rejected: {why}")))
        };
        if trace.violates != property {
            return rejected("it is about another property".into());
        }
        if !trace.instances.allowed(self.program) {
            return rejected("its numbers of threads are not those of the program".into());
        }
        match program::semantics::replay(self.program, trace) {
            Err(mismatch) => rejected(mismatch.to_string()),
            Ok(_) => self.run_found(property, method, Evidence::Trace(trace.clone())),
        }
    }

    fn proved(&mut self, property: PropertyId, method: &str, certificate: &Arc<Certificate>) -> Checked {
        let known = self.seen.iter().position(|(c, _)| Arc::ptr_eq(c, certificate));
        let at = known.unwrap_or_else(|| {
            let result = self.establish(certificate);
            self.seen.push((certificate.clone(), result));
            self.seen.len() - 1
        });
        match &self.seen[at].1 {
            Err(reason) => self.unknown(property, method, reason.clone()),
            Ok(found) => match found.properties.get(&property) {
                None => self.unknown(
                    property,
                    method,
                    Reason::Internal("the certificate does not claim this property".into()),
                ),
                Some(Err(reason)) => self.unknown(property, method, reason.clone()),
                Some(Ok(())) => {
                    let evidence = Evidence::Certificate(certificate.clone());
                    let mut checked = self.verdict(property, method, Outcome::Safe, found.trust.clone(), evidence);
                    if matches!(certificate.proof, Proof::Callers(_)) {
                        checked.0.assumptions.push(Assumption {
                            code: "callers-only-call".into(),
                            text: "callers touch the variables of the file only by calling what is in it".into(),
                        });
                    }
                    if self.leaves.recalled() > 0 {
                        checked.0.assumptions.push(Assumption {
                            code: "cache".into(),
                            text: "the answers in the cache are those that this tool and its solvers gave".into(),
                        });
                    }
                    checked
                }
            },
        }
    }

    fn establish(&mut self, c: &Certificate) -> Result<Established, Reason> {
        if !c.terms.extends(&self.program.terms) {
            return Err(Reason::Internal("the certificate speaks of another program".into()));
        }
        for p in &c.properties {
            if self.program.properties.get(*p).is_none() {
                return Err(Reason::Internal("the certificate names a property that does not exist".into()));
            }
        }
        let malformed = |m: Malformed| Reason::Internal(format!("the certificate was rejected: {}", m.0));
        match &c.proof {
            Proof::RelyGuarantee(p) => {
                let list =
                    rules::rely_guarantee::obligations(self.program, &c.terms, p, &c.properties).map_err(malformed)?;
                self.discharge(c, list)
            }
            Proof::AssumeGuarantee(p) => {
                let list = rules::assume_guarantee::obligations(self.program, &c.terms, p, &c.properties)
                    .map_err(malformed)?;
                self.discharge(c, list)
            }
            Proof::Environments(p) => {
                let counts = fixed_counts(self.program)
                    .ok_or_else(|| malformed(Malformed("it speaks of a fixed number of threads".into())))?;
                let list = rules::environments::obligations(self.program, &c.terms, p, &counts.0, &c.properties)
                    .map_err(malformed)?;
                self.discharge(c, list)
            }
            Proof::Product(p) => {
                let counts = fixed_counts(self.program)
                    .ok_or_else(|| malformed(Malformed("it speaks of a fixed number of threads".into())))?;
                let list = rules::product::obligations(self.program, &c.terms, p, &counts.0, &c.properties)
                    .map_err(malformed)?;
                self.discharge(c, list)
            }
            Proof::Search(p) => {
                let counts = fixed_counts(self.program)
                    .ok_or_else(|| malformed(Malformed("it speaks of a fixed number of threads".into())))?;
                let trust = rules::search::check(self.program, p, &counts, &c.properties, &self.limits)?;
                Ok(Established { trust, properties: c.properties.iter().map(|p| (*p, Ok(()))).collect() })
            }
            Proof::Counting(p) => {
                let list = rules::counting::obligations(self.program, &c.terms, p, &c.properties).map_err(malformed)?;
                self.discharge(c, list)
            }
            Proof::Simulation(p) => {
                let follows = PropertyKind::Follows(p.thread);
                if c.properties.iter().any(|q| self.program.properties[*q].kind != follows) {
                    return Err(malformed(Malformed(
                        "a simulation shows that its thread follows its machine, and nothing else".into(),
                    )));
                }
                let list = rules::simulation::obligations(self.program, &c.terms, p).map_err(malformed)?;
                self.discharge(c, list)
            }
            Proof::Composed(p) => self.composed(c, p),
            Proof::Reduction(p) => {
                let list =
                    rules::reduction::obligations(self.program, &c.terms, p, &c.properties).map_err(malformed)?;
                self.discharge(c, list)
            }
            Proof::Performed(p) => self.performed(c, p),
            Proof::Callers(p) => self.callers(c, p),
            Proof::Views(p) => {
                let found = crate::shape::check(self.program, p, &c.properties, &self.limits.budget)?;
                let trust = Trust::Argued {
                    rests_on: format!(
                        "{} views closed under every step, checked again by an independent transformer ({} steps, {} pairs), no solver",
                        found.views, found.steps, found.pairs
                    ),
                };
                Ok(Established { trust, properties: c.properties.iter().map(|p| (*p, Ok(()))).collect() })
            }
            Proof::Layers(_) => Err(malformed(Malformed("this form of proof is not checked by this version".into()))),
        }
    }

    /// Rule `composed` (Abstract Threads, Theorem 1): every thread that follows a machine conforms to it, and the
    /// composition cannot go wrong in any way. Then neither can the program; and its stores are the composition's, so
    /// invariants of the composition carry over.
    fn composed(&mut self, c: &Certificate, p: &Composed) -> Result<Established, Reason> {
        let rejected = |why: String| Reason::Internal(format!("the certificate was rejected: {why}"));
        let program = self.program;
        let mut list = Vec::new();
        for (t, thread) in program.threads.iter_enumerated().filter(|(_, t)| t.follows.is_some()) {
            let mut of = p.simulations.iter().filter(|s| s.thread == t);
            let (Some(s), None) = (of.next(), of.next()) else {
                return Err(rejected(format!("one simulation of thread {} is needed", thread.name)));
            };
            list.extend(rules::simulation::obligations(program, &c.terms, s).map_err(|m| rejected(m.0))?);
        }
        let composed = program::compose::compose(program).map_err(rejected)?;
        for w in program::compose::ways_to_go_wrong(&composed) {
            if !p.composition.properties.contains(&w) {
                return Err(rejected(format!("the composition may go wrong by {}", composed.properties[w].name)));
            }
        }
        let gates = program::compose::ways_to_go_wrong(program);
        for q in &c.properties {
            let fine = match program.properties[*q].kind {
                PropertyKind::Invariant(_) => p.composition.properties.contains(q),
                PropertyKind::Follows(t) => program.threads[t].follows.is_some_and(|(_, own)| own == *q),
                _ => gates.contains(q),
            };
            if !fine {
                return Err(rejected(format!("a composition says nothing about {}", program.properties[*q].name)));
            }
        }
        let own = self.discharge(c, list)?;
        let mut inner =
            Checker { program: &composed, leaves: &mut *self.leaves, limits: self.limits.clone(), seen: Vec::new() };
        let found = inner.establish(&p.composition)?;
        if let Some(reason) = found.properties.into_values().find_map(Result::err) {
            return Err(reason);
        }
        Ok(Established { trust: Trust::Both(Box::new(own.trust), Box::new(found.trust)), properties: own.properties })
    }

    /// Rule `performed`: the callees perform their specifications, nothing goes wrong in a call first (`rules::performed`), and
    /// the proof inside is one of the program whose threads call by specification.
    fn performed(&mut self, c: &Certificate, p: &Performed) -> Result<Established, Reason> {
        let rejected = |why: String| Reason::Internal(format!("the certificate was rejected: {why}"));
        if !matches!(p.proof.proof, Proof::Simulation(_) | Proof::Composed(_)) {
            return Err(rejected("inside is neither a simulation nor a composition".into()));
        }
        let program = p.program(self.program).map_err(rejected)?;
        let own = program::compose::ways_to_go_wrong(&program);
        for q in &c.properties {
            let said = match self.program.properties[*q].kind {
                PropertyKind::Follows(_) => true,
                PropertyKind::Unmodelled(_) if of_inlining(self.program, *q) => continue,
                PropertyKind::Invariant(_) | PropertyKind::Access(_) | PropertyKind::Unmodelled(_) => false,
                _ => own.contains(q),
            };
            if !said || !p.proof.properties.contains(q) {
                let name = &self.program.properties[*q].name;
                return Err(rejected(format!("calls by specification say nothing about {name}")));
            }
        }
        let Proof::Reduction(reduction) = &p.calls.proof else {
            return Err(rejected("calls are shown by a reduction".into()));
        };
        let ordered = program::specified::access_first(self.program);
        let mut of_calls =
            Checker { program: &ordered, leaves: &mut *self.leaves, limits: self.limits.clone(), seen: Vec::new() };
        let calls = of_calls.establish(&p.calls)?;
        for q in evidence::needed_of_calls(self.program, &p.calls).map_err(rejected)? {
            match calls.properties.get(&q) {
                Some(Ok(())) => {}
                Some(Err(reason)) => return Err(reason.clone()),
                None => return Err(rejected(format!("{} is not shown of the calls", self.program.properties[q].name))),
            }
        }
        let shown: Vec<PropertyId> = calls.properties.iter().filter(|(_, r)| r.is_ok()).map(|(q, _)| *q).collect();
        if let Some(q) = evidence::shown_of_calls(self.program, &p.calls).iter().find(|q| !shown.contains(q)) {
            return Err(rejected(format!("{} is not shown of the calls", self.program.properties[*q].name)));
        }
        let list = rules::performed::obligations(self.program, &p.calls.terms, reduction, &shown);
        let touched = self.discharge(&p.calls, list.map_err(|m| rejected(m.0))?)?;
        let mut inner =
            Checker { program: &program, leaves: &mut *self.leaves, limits: self.limits.clone(), seen: Vec::new() };
        let found = inner.establish(&p.proof)?;
        let of = |q: &PropertyId| match found.properties.get(q) {
            Some(result) => result.clone(),
            None if of_inlining(self.program, *q) => Ok(()),
            None => Err(rejected("the proof inside does not claim it".into())),
        };
        let trust = calls.trust.and(touched.trust).and(found.trust.clone());
        Ok(Established { trust, properties: c.properties.iter().map(|q| (*q, of(q))).collect() })
    }

    /// Rule `callers`: the program with its most general client is built again, and the proof inside is one of that
    /// program. Properties keep their ids in it. With an object, only its linearizability follows: the specification
    /// beside it is there for nothing else.
    fn callers(&mut self, c: &Certificate, p: &Callers) -> Result<Established, Reason> {
        let rejected = |why: String| Reason::Internal(format!("the certificate was rejected: {why}"));
        let client = program::callers::callers(self.program, p.object, &p.moments, Effort::Any).map_err(rejected)?;
        let gated = program::compose::ways_to_go_wrong(&client.program);
        let mut stands_for = Vec::new();
        for q in &c.properties {
            let shown = match (&self.program.properties[*q].kind, p.object) {
                (PropertyKind::Linearizable(o), Some(object)) if *o == object => client.history,
                (PropertyKind::Linearizable(_), _) | (_, Some(_)) => None,
                (PropertyKind::Invariant(_) | PropertyKind::Rely(_), None) => Some(*q),
                (PropertyKind::Leak, None) => keep_objects(self.program).then_some(*q),
                (PropertyKind::Access(_), None) if touched_by_callers(self.program, *q) => None,
                (_, None) => gated.contains(q).then_some(*q),
            };
            let shown = shown.filter(|s| p.proof.properties.contains(s));
            let Some(shown) = shown else {
                return Err(rejected(format!("callers say nothing about {}", self.program.properties[*q].name)));
            };
            stands_for.push((*q, shown));
        }
        let mut inner = Checker {
            program: &client.program,
            leaves: &mut *self.leaves,
            limits: self.limits.clone(),
            seen: Vec::new(),
        };
        let found = inner.establish(&p.proof)?;
        let of = |shown: PropertyId| {
            let missing = || Err(rejected("the proof inside does not claim what it stands for".into()));
            found.properties.get(&shown).cloned().unwrap_or_else(missing)
        };
        Ok(Established {
            trust: found.trust.clone(),
            properties: stands_for.iter().map(|(q, shown)| (*q, of(*shown))).collect(),
        })
    }

    /// Puts the obligations to the oracle. A common obligation that is not valid takes every property with it.
    fn discharge(&mut self, c: &Certificate, list: Vec<Obligation>) -> Result<Established, Reason> {
        let mut properties: BTreeMap<PropertyId, Result<(), Reason>> =
            c.properties.iter().map(|p| (*p, Ok(()))).collect();
        let count = list.len();
        // The same formula is often asked for twice, once for each of several reasons.
        let mut seen = BTreeSet::new();
        let mut open: Vec<Term> =
            list.iter().map(|o| o.formula).filter(|f| !c.terms.is_true(*f) && seen.insert(*f)).collect();
        // One by one, before they are bunched: an edit changes few obligations, but may change every bunch.
        open.retain(|f| !self.leaves.remembers(&c.terms, *f));
        // Code of one pattern gives obligations that differ in names alone: one of them is asked for all.
        let alike: FxHashMap<Term, Vec<Term>> =
            evidence::fingerprint::alike(&c.terms, &open).into_iter().map(|group| (group[0], group)).collect();
        open.retain(|f| alike.contains_key(f));
        let mut wave = bunches(&c.terms, &open);
        while !wave.is_empty() {
            if let Err(e) = self.limits.budget.check() {
                return Err(Reason::Exhausted(e));
            }
            let questions: Vec<Term> = wave.iter().map(|bunch| c.terms.and(bunch)).collect();
            let answers = self.leaves.valid_each(&c.terms, &questions);
            if answers.len() != questions.len() {
                return Err(Reason::Internal("the oracle did not answer every question".into()));
            }
            let mut next = Vec::new();
            for (bunch, answer) in wave.iter().zip(answers) {
                match (answer, &bunch[..]) {
                    (Answer::Valid, _) => {}
                    (answer, [one]) => {
                        for o in list.iter().filter(|o| alike[one].contains(&o.formula)) {
                            let reason = self.not_valid(o, &answer);
                            match &o.serves {
                                Serves::All => return Err(reason),
                                Serves::These(these) => {
                                    these.iter().for_each(|p| {
                                        properties.insert(*p, Err(reason.clone()));
                                    });
                                }
                            }
                        }
                    }
                    (_, many) => {
                        let (first, second) = many.split_at(many.len() / 2);
                        next.extend([first.to_vec(), second.to_vec()]);
                    }
                }
            }
            wave = next;
        }
        let trust =
            Trust::Certified { by: self.leaves.name(), independent: self.leaves.independent(), obligations: count };
        Ok(Established { trust, properties })
    }

    /// Why an obligation that was not found valid leaves its property unknown.
    fn not_valid(&self, o: &Obligation, answer: &Answer) -> Reason {
        match answer {
            Answer::Unknown(why) => Reason::Solver {
                reason: format!("{}: {why}", self.leaves.name()),
                obligation: format!("{}: {}", o.rule, o.what),
            },
            Answer::Valid | Answer::Invalid(_) => {
                let values = if let Answer::Invalid(values) = answer { values.as_str() } else { "" };
                Reason::Internal(format!(
                    "an obligation of the certificate does not hold ({}: {}) {values}",
                    o.rule, o.what
                ))
            }
        }
    }
}

/// A conjunction is valid if and only if each part is, and one question with many small parts costs less than many questions.
/// A bunch that is not found valid is taken apart.
const BUNCH: usize = 64;
/// The largest number of different terms in a bunch of several.
const LARGE: usize = 3000;

/// Formulas to be asked together. Those with quantifiers, and large ones, are asked alone.
fn bunches(terms: &Terms, formulas: &[Term]) -> Vec<Vec<Term>> {
    let (mut out, mut last, mut size) = (Vec::new(), Vec::new(), 0);
    for f in formulas {
        match measured(terms, *f) {
            Some(own) if own < LARGE => {
                if last.len() == BUNCH || size + own > LARGE {
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
fn measured(terms: &Terms, formula: Term) -> Option<usize> {
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

/// Whether a proof looks at code with calls, never at code where they were inlined.
fn with_calls(c: &Checked) -> bool {
    matches!(&c.0.evidence, Evidence::Certificate(c) if matches!(c.proof, Proof::Reduction(_) | Proof::Performed(_)))
}

/// The numbers of instances, where the program fixes them all.
fn fixed_counts(program: &Program) -> Option<Instances> {
    let parametric = program.threads.iter().any(|t| t.start == Start::AtOnce && t.copies == Copies::Any);
    (!parametric).then(|| Instances::of(program, 0))
}
