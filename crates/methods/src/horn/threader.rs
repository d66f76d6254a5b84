//! Abstraction, violation, refinement, until the trees are closed or the violation is real (Threader, section 5: Main).
//!
//! In: a program and wanted properties. Out: a proof (modular or global), a run that violates one of them, or why neither.
//! The modular attempt ends with "there is none" exactly when the clauses of a violation have no modular solution.

use super::abstraction::Abstraction;
use super::formula::Indices;
use super::indices::indices;
use super::refine::{Refined, Witness};
use super::show;
use super::system::System;
use super::trees::{Built, Failure, Forest, Mode, Trouble};
use base::Budget;
use evidence::{Choice, Claims, Instances, Proof, Trace, TraceStep};
use logic::{Place, Sort, SortKind, Symbol, Terms, Value};
use program::semantics::{Semantics, replay};
use program::{Program, PropertyId};
use solver::Settings;

pub enum Answer {
    Proved(Proof),
    Refuted(Box<Trace>),
    /// No proof of this form exists.
    None,
    /// Not yet, after as much work as was allowed.
    Unfinished(String),
    GaveUp(String),
}

/// What was found on the way, for people.
#[derive(Default)]
pub struct Account {
    pub refinements: usize,
    pub predicates: usize,
    pub transition_predicates: usize,
    pub states: usize,
    pub edges: usize,
    pub questions: u64,
    pub lines: Vec<String>,
    /// The trees, where asked for.
    pub trees: Option<show::Picture>,
}

impl Account {
    /// Adds it to what a run tells.
    pub fn tell(self, told: &mut Claims) {
        told.notes.push(format!(
            "{} refinements, {} predicates, {} transition predicates; trees of {} states and {} environment transitions; {} questions",
            self.refinements, self.predicates, self.transition_predicates, self.states, self.edges, self.questions
        ));
        if let Some(p) = self.trees {
            told.notes.extend(self.lines);
            told.notes.extend(p.text);
            told.pictures.push(p.svg);
        }
    }
}

#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    pub program: &'a Program,
    pub terms: &'a Terms,
    pub wanted: &'a [PropertyId],
    pub settings: Settings,
    pub budget: &'a Budget,
    /// How many abstract states may be made in all trees together.
    pub most_work: usize,
    /// Whether the trees are to be kept for people.
    pub show: bool,
}

impl Attempt<'_> {
    pub fn modular(&self) -> (Answer, Account) {
        self.run(System::modular(self.program, self.terms), Mode::Modular, &Instances::default())
    }
    pub fn global(&self, counts: &Instances) -> (Answer, Account) {
        self.run(System::of_instances(self.program, self.terms, &counts.0), Mode::Global, counts)
    }
    fn run(&self, system: System<'_>, mode: Mode, counts: &Instances) -> (Answer, Account) {
        let indices = indices(&system);
        let abs = Abstraction::new(self.terms, self.settings, self.budget);
        let mut forest = Forest::new(system, mode, self.wanted, abs);
        let mut account = Account::default();
        let mut work = 0;
        let answer = loop {
            match forest.build(self.budget) {
                Err(Trouble::Time) => break Answer::GaveUp("out of time".into()),
                Err(Trouble::Size) => break Answer::GaveUp("the trees are too large".into()),
                Err(Trouble::Solver(why)) => break Answer::GaveUp(why),
                Ok(Built::Closed) => {
                    break Answer::Proved(match mode {
                        Mode::Modular => Proof::RelyGuarantee(forest.rely_guarantee()),
                        Mode::Global => Proof::Environments(forest.environments()),
                    });
                }
                Ok(Built::Fails(failures)) => {
                    work += forest.trees.states.len();
                    if work > self.most_work {
                        break Answer::Unfinished(format!("no end after {} refinements", account.refinements));
                    }
                    if let Some(answer) = self.refine(&mut forest, &failures, &indices, counts, &mut account) {
                        break answer;
                    }
                }
            }
        };
        account.predicates = forest.at.iter().flatten().flatten().collect::<std::collections::BTreeSet<_>>().len();
        account.transition_predicates =
            forest.on.iter().flatten().flatten().collect::<std::collections::BTreeSet<_>>().len();
        account.lines = show::predicates(&forest);
        account.states = forest.trees.states.len();
        account.edges = forest.trees.edges.len();
        account.questions = forest.abs.questions;
        if self.show {
            account.trees = Some(show::picture(&forest));
        }
        (answer, account)
    }
    /// Refines a few violations. An answer if one of them is real, or none of them gives a new predicate.
    fn refine(
        &self,
        forest: &mut Forest<'_>,
        failures: &[Failure],
        indices: &Indices,
        counts: &Instances,
        account: &mut Account,
    ) -> Option<Answer> {
        let mut stuck = None;
        let mut progress = false;
        for failure in failures {
            account.refinements += 1;
            match forest.refine(*failure, indices, self.budget) {
                Refined::Progress => progress = true,
                Refined::Real(_) if forest.mode == Mode::Modular => return Some(Answer::None),
                Refined::Real(witness) => {
                    return Some(match self.trace(forest, *failure, &witness, counts) {
                        Ok(trace) => Answer::Refuted(Box::new(trace)),
                        Err(why) => Answer::GaveUp(why),
                    });
                }
                Refined::Doubtful(witness, why) => {
                    if forest.mode == Mode::Global
                        && let Ok(trace) = self.trace(forest, *failure, &witness, counts)
                    {
                        return Some(Answer::Refuted(Box::new(trace)));
                    }
                    stuck = Some(why);
                }
                Refined::Stuck(why) => stuck = Some(why),
            }
        }
        if progress || forest.seed() { None } else { Some(Answer::GaveUp(stuck.unwrap_or_default())) }
    }
    fn trace(&self, forest: &Forest<'_>, failure: Failure, w: &Witness, counts: &Instances) -> Result<Trace, String> {
        let p = self.program;
        let semantics = Semantics::new(p);
        let start = semantics.undecided_start(counts).map_err(|e| format!("no start: {e:?}"))?;
        let mut initial = Vec::new();
        let given = |s: Symbol| w.start.iter().find(|(x, _)| *x == s).map(|(_, v)| *v);
        for (v, value) in semantics.shared.iter().zip(&start.shared) {
            if value.is_open() && *value == Value::Any {
                let symbol = p.vars[*v].symbol;
                let value = self.value(given(symbol), p.vars[*v].sort);
                initial.push(Choice { instance: None, place: Place { symbol, keys: Vec::new() }, value });
            }
        }
        for (i, x) in start.instances.iter().enumerate() {
            for (k, v) in p.threads[x.thread].locals.iter().enumerate() {
                if x.locals[k] == Value::Any {
                    let value = self.value(given(forest.system.parties[i].locals[k]), p.vars[*v].sort);
                    let place = Place { symbol: p.vars[*v].symbol, keys: Vec::new() };
                    initial.push(Choice { instance: Some(i as u32), place, value });
                }
            }
        }
        let mut steps = Vec::new();
        for (via, inputs) in w.path.iter().chain(&w.last).zip(&w.inputs) {
            let party = &forest.system.parties[via.party];
            let act = &party.acts[via.act];
            let values = act.inputs.iter().zip(inputs);
            steps.push(TraceStep {
                instance: via.party as u32,
                thread: party.thread,
                action: act.action,
                inputs: values.map(|(s, v)| self.value(*v, self.terms.symbol_sort(*s))).collect(),
                choices: Vec::new(),
            });
        }
        let violates = match failure {
            Failure::Gate(s, act, gate) => forest.system.parties[forest.trees.states[s].party].acts[act].gates[gate].0,
            Failure::Invariant(_, property) => property,
        };
        let trace = Trace { instances: counts.clone(), initial, steps, finally: Vec::new(), violates };
        match replay(p, &trace) {
            Ok(_) => Ok(trace),
            Err(why) => Err(format!("a run that does not replay: {why}")),
        }
    }
    fn value(&self, n: Option<i128>, sort: Sort) -> Value {
        match (n, self.terms.kind(sort)) {
            (Some(n), SortKind::Bool) => Value::Bool(n != 0),
            (Some(n), SortKind::Int | SortKind::Machine(_)) => Value::Int(n),
            (Some(n), SortKind::Enum(_)) => Value::Variant(u32::try_from(n).unwrap_or(0)),
            (Some(n), SortKind::Ref(_)) => Value::Ref(u32::try_from(n).unwrap_or(0)),
            _ => Value::default_of(self.terms, sort),
        }
    }
}
