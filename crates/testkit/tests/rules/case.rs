//! A program and certificates about it, written in the vocabulary of its text form: `(and (<= 0 x) (= x' x))`.

use base::Sources;
use checker::{CheckLimits, Checker, Evidence, OracleAnswer, Outcome, Trust, ValidityOracle, rules};
use evidence::file::EvidenceEntry;
use evidence::{Certificate, Claim, Counterexample, Proof};
use frontend::lang::{LoweringSettings, lower_file, parse_file};
use logic::{Sort, Symbol, Term, Terms};
use program::{LocId, Program, PropertyId, ThreadId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use testkit::oracle::Again;

pub(crate) fn program(text: &str) -> Program {
    let mut sources = Sources::new();
    let parsed = parse_file(&mut sources, "case.tp", text.as_bytes());
    let lowered = lower_file(&parsed, &sources, &LoweringSettings::default());
    lowered.program.unwrap_or_else(|| panic!("{text}: {:?}", lowered.diagnostics))
}

/// A program, and the terms of certificates about it.
pub(crate) struct Case {
    pub program: Program,
    pub terms: Terms,
    names: BTreeMap<String, Symbol>,
}

impl Case {
    pub(crate) fn new(text: &str) -> Self {
        Self::of(program(text))
    }

    pub(crate) fn of(program: Program) -> Self {
        let mut names: BTreeMap<String, Symbol> = program
            .vars
            .iter()
            .flat_map(|v| [(v.name.clone(), v.symbol), (format!("{}'", v.name), v.primed)])
            .collect();
        names.insert("tid".into(), program.tid);
        Self { terms: program.terms.clone(), program, names }
    }

    /// A new symbol, by which formulas may name it from now on.
    pub(crate) fn symbol(&mut self, name: &str, sort: Sort) -> Symbol {
        let symbol = self.terms.symbol(name, sort);
        self.names.insert(name.into(), symbol);
        symbol
    }

    pub(crate) fn known(&self, name: &str) -> Symbol {
        *self.names.get(name).unwrap_or_else(|| panic!("no symbol is called {name}"))
    }

    /// A formula or an integer, from its text.
    pub(crate) fn term(&self, text: &str) -> Term {
        // A name with spaces stands between bars.
        let joined: Vec<String> = text
            .split('|')
            .enumerate()
            .map(|(i, part)| if i % 2 == 1 { part.replace(' ', "\u{a0}") } else { part.to_string() })
            .collect();
        let spaced = joined.concat().replace('(', " ( ").replace(')', " ) ");
        let mut tokens = spaced.split([' ', '\n']).filter(|w| !w.is_empty()).peekable();
        let out = self.read(&mut tokens);
        assert!(tokens.next().is_none(), "{text}: more than one formula");
        out
    }

    fn read<'a>(&self, tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Term {
        let t = &self.terms;
        match tokens.next().expect("a formula is not empty") {
            "true" => t.tt(),
            "false" => t.ff(),
            "(" => {
                let op = tokens.next().expect("an operator follows");
                let mut bound = Vec::new();
                if op == "exists" || op == "forall" {
                    bound.push(self.known(tokens.next().expect("a binder follows")));
                }
                let mut args = Vec::new();
                while tokens.peek() != Some(&")") {
                    args.push(self.read(tokens));
                }
                tokens.next();
                match (op, &args[..]) {
                    ("and", all) => t.and(all),
                    ("or", all) => t.or(all),
                    ("not", [a]) => t.not(*a),
                    ("implies", [a, b]) => t.implies(*a, *b),
                    ("=", [a, b]) => t.eq(*a, *b),
                    ("!=", [a, b]) => t.ne(*a, *b),
                    ("<=", [a, b]) => t.le(*a, *b),
                    ("<", [a, b]) => t.lt(*a, *b),
                    ("+", [a, b]) => t.add(*a, *b),
                    ("-", [a, b]) => t.sub(*a, *b),
                    ("exists", [body]) => t.exists(&bound, *body),
                    ("forall", [body]) => t.forall(&bound, *body),
                    _ => panic!("no operator {op} of {} arguments", args.len()),
                }
            }
            word => match word.parse::<i128>() {
                Ok(n) => t.int(n),
                Err(_) => t.sym(self.known(&word.replace('\u{a0}', " "))),
            },
        }
    }

    pub(crate) fn property(&self, name: &str) -> PropertyId {
        let found = self.program.properties.iter_enumerated().find(|(_, p)| p.name == name);
        found.unwrap_or_else(|| panic!("no property is called {name}")).0
    }

    /// The one property whose name begins so.
    pub(crate) fn property_beginning(&self, start: &str) -> String {
        let mut found = self.program.properties.iter().filter(|p| p.name.starts_with(start));
        let name = found.next().unwrap_or_else(|| panic!("no property begins with {start}")).name.clone();
        assert!(found.next().is_none(), "two properties begin with {start}");
        name
    }

    pub(crate) fn thread(&self, name: &str) -> ThreadId {
        let found = self.program.threads.iter_enumerated().find(|(_, t)| t.name == name);
        found.unwrap_or_else(|| panic!("no thread is called {name}")).0
    }

    /// The locations of a thread in the order of its code: the entry first, then as straight-line code passes them.
    pub(crate) fn path(&self, thread: ThreadId) -> Vec<LocId> {
        let code = &self.program.threads[thread].code;
        let mut out = vec![code.entry];
        while let Some(next) = code.actions.iter().find(|a| a.from == out[out.len() - 1] && !out.contains(&a.to)) {
            out.push(next.to);
        }
        out
    }

    pub(crate) fn certificate(&self, proof: Proof, properties: &[&str]) -> Certificate {
        let properties = properties.iter().map(|p| self.property(p)).collect();
        Certificate { method: "by hand".into(), terms: self.terms.clone(), properties, proof }
    }

    /// What the checker makes of a proof of one property: what it rests on, or why it is rejected.
    pub(crate) fn checked(&self, proof: Proof, property: &str) -> Result<Trust, String> {
        let certificate = Arc::new(self.certificate(proof, &[property]));
        let mut oracle = Again;
        let mut checker = Checker::new(&self.program, &mut oracle, CheckLimits::default());
        let checked = checker.check(self.property(property), "by hand", &Claim::Proved(certificate.clone()));
        let verdict = checker.conclude(vec![checked]).remove(0);
        match (verdict.outcome(), verdict.evidence()) {
            (Outcome::Safe, _) => {
                // As `audit` gets it: what is accepted can be written to a file and read again.
                let entry = evidence::file::EvidenceEntry::Certificate((*certificate).clone());
                let text = evidence::file::write_evidence(&self.program, &[entry]);
                let read = evidence::file::read_evidence(&self.program, text.as_bytes());
                assert!(read.is_ok(), "what is accepted can be kept in a file: {read:?}");
                Ok(verdict.trust().clone())
            }
            (Outcome::Unknown, Evidence::Reason(reason)) => Err(reason.to_string()),
            other => panic!("a proof is accepted or not: {other:?}"),
        }
    }

    pub(crate) fn accepted(&self, proof: Proof, property: &str) {
        if let Err(why) = self.checked(proof, property) {
            panic!("rejected: {why}");
        }
    }

    /// The premises of which some obligation does not hold, where the certificate fits the program.
    pub(crate) fn failing(&self, proof: &Proof, property: &str) -> BTreeSet<&'static str> {
        let (p, t, claimed) = (&self.program, &self.terms, &[self.property(property)][..]);
        let counts = program::semantics::InstanceCounts::of(p, 0).0;
        let list = match proof {
            Proof::RelyGuarantee(x) => rules::rely_guarantee::obligations(p, t, x, claimed),
            Proof::AssumeGuarantee(x) => rules::assume_guarantee::obligations(p, t, x, claimed),
            Proof::Environments(x) => rules::environments::obligations(p, t, x, &counts, claimed),
            Proof::Product(x) => rules::product::obligations(p, t, x, &counts, claimed),
            Proof::Pairs(x) => rules::pairs::obligations(p, t, x, claimed),
            Proof::Quantified(x) => rules::quantified::obligations(p, t, x, claimed),
            Proof::Counting(x) => rules::counting::obligations(p, t, x, claimed),
            Proof::Simulation(x) => rules::simulation::obligations(p, t, x),
            other => panic!("{} has no obligations of its own", other.form()),
        };
        let list = list.unwrap_or_else(|why| panic!("rejected before any formula: {why}"));
        list.iter().filter(|o| Again.valid(t, o.formula) != OracleAnswer::Valid).map(|o| o.premise.name).collect()
    }

    /// Rejected, because this premise does not hold (others may fail with it).
    pub(crate) fn lacks(&self, proof: Proof, property: &str, premise: &str) {
        let failing = self.failing(&proof, property);
        assert!(failing.contains(premise), "{premise} holds; what does not: {failing:?}");
        if let Ok(trust) = self.checked(proof, property) {
            panic!("accepted ({trust}), though {premise} does not hold");
        }
    }

    /// Rejected, and by a reason that names the premise or the side condition.
    pub(crate) fn rejected(&self, proof: Proof, property: &str, because: &str) {
        match self.checked(proof, property) {
            Ok(trust) => panic!("accepted ({trust}), though {because} does not hold"),
            Err(why) => assert!(why.contains(because), "rejected, but not because of {because}: {why}"),
        }
    }

    /// What the checker makes of a run that is said to violate a property: why it shows nothing, if it does not.
    pub(crate) fn refutation(&self, run: Counterexample, property: &str) -> Result<(), String> {
        let property = self.property(property);
        let mut oracle = Again;
        let mut checker = Checker::new(&self.program, &mut oracle, CheckLimits::default());
        let checked = checker.check(property, "by hand", &Claim::Refuted(run.clone()));
        let verdict = checker.conclude(vec![checked]).remove(0);
        match (verdict.outcome(), verdict.evidence()) {
            (Outcome::Unsafe, _) => {
                // As `audit` gets it.
                let entry = EvidenceEntry::Counterexample { method: "by hand".into(), property, run: run.clone() };
                let text = evidence::file::write_evidence(&self.program, &[entry]);
                let read = evidence::file::read_evidence(&self.program, text.as_bytes()).expect("it can be read again");
                let [EvidenceEntry::Counterexample { run: again, .. }] = &read[..] else { panic!("one run: {read:?}") };
                assert_eq!(*again, run, "what is accepted can be kept in a file");
                Ok(())
            }
            (Outcome::Unknown, Evidence::Reason(reason)) => Err(reason.to_string()),
            other => panic!("a run shows a violation or nothing: {other:?}"),
        }
    }

    pub(crate) fn refuted(&self, run: Counterexample, property: &str) {
        if let Err(why) = self.refutation(run, property) {
            panic!("{property}: the run shows nothing: {why}");
        }
    }

    /// Rejected, by a reason that says so.
    pub(crate) fn not_refuted(&self, run: Counterexample, property: &str, because: &str) {
        match self.refutation(run, property) {
            Ok(()) => panic!("{property}: the run was accepted, though {because}"),
            Err(why) => assert!(why.contains(because), "rejected, but not because of {because}: {why}"),
        }
    }
}
