//! Abstraction, violation, refinement, until the trees are closed or the violation is real (Threader, section 5: Main).
//!
//! In: a program and wanted properties. Out: a proof (modular or global), a run that violates one of them, or why neither.
//! The modular attempt ends with "there is none" exactly when the clauses of a violation have no modular solution.

use super::abstraction::Abstraction;
use super::formula::Indices;
use super::indices::indices;
use super::refine::{Refined, Witness};
use super::show;
use super::system::HornSystem;
use super::trees::{Built, Forest, TreeFailure, TreeMode, Trouble};
use base::Budget;
use evidence::{Choice, Claims, InstanceCounts, Proof, Trace, TraceStep};
use logic::{ReadPlace, Sort, SortKind, Symbol, Term, Terms, Value};
use program::semantics::{Semantics, replay_trace};
use program::{Program, PropertyId, ThreadId};
use solver::SolverSettings;

pub(crate) enum TreeOutcome {
    Proved(Proof),
    Refuted(Box<Trace>),
    /// No proof of this form exists.
    None,
    /// Not yet, after as much work as was allowed.
    Unfinished,
    GaveUp(String),
}

/// What was found on the way, for people.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) refinements: usize,
    pub predicates: usize,
    pub(crate) transition_predicates: usize,
    pub states: usize,
    pub edges: usize,
    pub questions: u64,
    pub lines: Vec<String>,
    /// The trees, where asked for.
    pub trees: Option<show::TreePicture>,
}

impl Account {
    /// Adds it to what a run reports.
    pub(crate) fn add_to(self, report: &mut Claims) {
        report.notes.push(format!(
            "{} refinements, {} predicates, {} transition predicates; trees of {} states and {} environment transitions; {} questions",
            self.refinements, self.predicates, self.transition_predicates, self.states, self.edges, self.questions
        ));
        if let Some(p) = self.trees {
            report.notes.extend(self.lines);
            report.notes.extend(p.text);
            report.pictures.push(p.svg);
        }
    }
}

/// A predicate of a thread at one of its locations, over the shared store, its locals and `tid`.
pub(super) type ModularPredicate = (ThreadId, usize, Term);

#[derive(Clone, Copy)]
pub(crate) struct TreeAttempt<'a, 'b> {
    pub program: &'a Program,
    pub terms: &'a Terms,
    pub wanted: &'b [PropertyId],
    pub settings: SolverSettings,
    pub budget: &'b Budget,
    /// How much more work may be done: abstract posts looked up, those computed counted more, in all trees together.
    pub(crate) most_work: usize,
    /// Whether the trees are to be kept for people.
    pub show: bool,
}

/// Trees of one kind, and how far they came: where others have their turn in between, these go on afterwards.
pub(super) struct TreeWork<'a> {
    pub(super) forest: Forest<'a>,
    indices: Indices,
    counts: InstanceCounts,
    account: Account,
}

impl<'a> TreeAttempt<'a, '_> {
    /// Trees of this kind, not built yet.
    pub(super) fn begin(&self, mode: TreeMode, counts: &InstanceCounts) -> TreeWork<'a> {
        let system = match mode {
            TreeMode::Modular => HornSystem::modular(self.program, self.terms),
            TreeMode::Pairs => HornSystem::of_pairs(self.program, self.terms),
            TreeMode::Global => HornSystem::of_instances(self.program, self.terms, &counts.0),
        };
        self.begin_with(system, mode, counts)
    }
    fn begin_with(&self, system: HornSystem<'a>, mode: TreeMode, counts: &InstanceCounts) -> TreeWork<'a> {
        let indices = indices(&system);
        let abs = Abstraction::new(self.terms, self.settings, self.budget);
        let forest = Forest::new(system, mode, self.wanted, abs);
        TreeWork { forest, indices, counts: counts.clone(), account: Account::default() }
    }
    /// Looks for a run of a few instances of each thread: the others of the program stay where they start. No proof.
    pub(super) fn run_of_few(&self, counts: &InstanceCounts, few: &[u32]) -> (TreeOutcome, Account) {
        let system = HornSystem::of_some(self.program, self.terms, &counts.0, few);
        let mut work = self.begin_with(system, TreeMode::Global, counts);
        let answer = match self.go_on(&mut work) {
            TreeOutcome::Proved(_) => TreeOutcome::None,
            other => other,
        };
        (answer, self.account(&work))
    }
    /// Goes on where the trees were left, with `most_work` more.
    pub(super) fn go_on(&self, work: &mut TreeWork<'a>) -> TreeOutcome {
        let TreeWork { forest, indices, counts, account } = work;
        forest.abs.reopen(self.settings, self.budget);
        forest.most_work = forest.work.saturating_add(self.most_work);
        loop {
            match forest.build(self.budget) {
                Err(Trouble::Time) => break TreeOutcome::GaveUp("out of time".into()),
                Err(Trouble::Work) => {
                    break TreeOutcome::Unfinished;
                }
                Err(Trouble::Size) => break TreeOutcome::GaveUp("the trees are too large".into()),
                Err(Trouble::Solver(why)) => break TreeOutcome::GaveUp(why),
                Ok(Built::Closed) => {
                    break TreeOutcome::Proved(match forest.mode {
                        TreeMode::Modular => Proof::RelyGuarantee(forest.rely_guarantee()),
                        TreeMode::Pairs => Proof::Pairs(forest.pairs()),
                        TreeMode::Global => Proof::Environments(forest.environments()),
                    });
                }
                Ok(Built::Fails(failures)) => {
                    if let Some(answer) = self.refine(forest, &failures, indices, counts, account) {
                        break answer;
                    }
                }
            }
        }
    }
    /// What was found so far, for people.
    pub(super) fn account(&self, work: &TreeWork<'_>) -> Account {
        let forest = &work.forest;
        let distinct = |lists: &[Vec<Vec<Term>>]| {
            lists.iter().flatten().flatten().collect::<std::collections::BTreeSet<_>>().len()
        };
        Account {
            refinements: work.account.refinements,
            predicates: distinct(&forest.at),
            transition_predicates: distinct(&forest.on),
            states: forest.trees.states.len(),
            edges: forest.trees.edges.len(),
            questions: forest.abs.questions,
            lines: show::predicates(forest),
            trees: self.show.then(|| show::picture(forest)),
        }
    }
    /// Refines a few violations. An answer if one of them is real, or none of them gives a new predicate.
    fn refine(
        &self,
        forest: &mut Forest<'_>,
        failures: &[TreeFailure],
        indices: &Indices,
        counts: &InstanceCounts,
        account: &mut Account,
    ) -> Option<TreeOutcome> {
        let mut stuck = None;
        let mut progress = false;
        for failure in failures {
            account.refinements += 1;
            match forest.refine(*failure, indices, self.budget) {
                Refined::Progress => progress = true,
                Refined::Real(_) if forest.mode != TreeMode::Global => return Some(TreeOutcome::None),
                Refined::Real(witness) => {
                    return Some(match self.trace(forest, *failure, &witness, counts) {
                        Ok(trace) => TreeOutcome::Refuted(Box::new(trace)),
                        Err(why) => TreeOutcome::GaveUp(why),
                    });
                }
                Refined::Doubtful(witness, why) => {
                    if forest.mode == TreeMode::Global
                        && let Ok(trace) = self.trace(forest, *failure, &witness, counts)
                    {
                        return Some(TreeOutcome::Refuted(Box::new(trace)));
                    }
                    stuck = Some(why);
                }
                Refined::Stuck(why) => stuck = Some(why),
            }
        }
        // A refinement that was stopped says nothing.
        if !progress && self.budget.check().is_err() {
            return Some(TreeOutcome::GaveUp("out of time".into()));
        }
        if progress || forest.seed() { None } else { Some(TreeOutcome::GaveUp(stuck.unwrap_or_default())) }
    }
    fn trace(
        &self,
        forest: &Forest<'_>,
        failure: TreeFailure,
        w: &Witness,
        counts: &InstanceCounts,
    ) -> Result<Trace, String> {
        let p = self.program;
        let semantics = Semantics::new(p);
        let start = semantics.undecided_start(counts).map_err(|e| format!("no start: {e:?}"))?;
        let mut initial = Vec::new();
        let given = |s: Symbol| w.start.iter().find(|(x, _)| *x == s).map(|(_, v)| *v);
        for (v, value) in semantics.shared.iter().zip(&start.shared) {
            if value.is_open() && *value == Value::Any {
                let symbol = p.vars[*v].symbol;
                let value = self.value(given(symbol), p.vars[*v].sort);
                initial.push(Choice { instance: None, place: ReadPlace { symbol, keys: Vec::new() }, value });
            }
        }
        for (i, x) in start.instances.iter().enumerate() {
            for (k, v) in p.threads[x.thread].locals.iter().enumerate() {
                if x.locals[k] == Value::Any {
                    let here = forest.system.numbers.iter().position(|n| *n as usize == i);
                    let found = here.and_then(|n| given(forest.system.processes[n].locals[k]));
                    let value = self.value(found, p.vars[*v].sort);
                    let place = ReadPlace { symbol: p.vars[*v].symbol, keys: Vec::new() };
                    initial.push(Choice { instance: Some(i as u32), place, value });
                }
            }
        }
        let mut steps = Vec::new();
        for (via, inputs) in w.path.iter().chain(&w.last).zip(&w.inputs) {
            let process = &forest.system.processes[via.process];
            let act = &process.transitions[via.act];
            let values = act.inputs.iter().zip(inputs);
            steps.push(TraceStep {
                instance: forest.system.numbers[via.process],
                thread: process.thread,
                action: act.action,
                inputs: values.map(|(s, v)| self.value(*v, self.terms.symbol_sort(*s))).collect(),
                choices: Vec::new(),
            });
        }
        let violates = match failure {
            TreeFailure::Gate(s, act, gate) => {
                forest.system.processes[forest.trees.states[s].process].transitions[act].gates[gate].0
            }
            TreeFailure::Invariant(_, property) => property,
        };
        let trace = Trace { instances: counts.clone(), initial, steps, finally: Vec::new(), violates };
        match replay_trace(p, &trace) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use base::Sources;
    use frontend::lang::{LoweringSettings, lower_file, parse_file};

    #[test]
    fn check_trees_that_were_interrupted_go_on_where_they_stopped() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/seeds/threader/peterson.tp");
        let mut sources = Sources::new();
        let parsed = parse_file(&mut sources, "peterson.tp", &std::fs::read(path).unwrap());
        let p = lower_file(&parsed, &sources, &LoweringSettings::default()).program.unwrap();
        let wanted: Vec<PropertyId> = p.properties.ids().collect();
        let budget = Budget::unlimited();
        let settings = SolverSettings::default();
        let proved_after = |most_work: usize| {
            let attempt = TreeAttempt {
                program: &p,
                terms: &p.terms,
                wanted: &wanted,
                settings,
                budget: &budget,
                most_work,
                show: false,
            };
            let counts = InstanceCounts(p.threads.iter().map(|_| 1).collect());
            let mut trees = attempt.begin(TreeMode::Global, &counts);
            for turn in 1..1_000 {
                match attempt.go_on(&mut trees) {
                    TreeOutcome::Unfinished => {}
                    TreeOutcome::Proved(_) => return (turn, trees.forest.work, trees.forest.abs.questions),
                    _ => panic!("a proof or nothing yet"),
                }
            }
            panic!("no end");
        };
        let (turns, whole, questions) = proved_after(usize::MAX);
        assert_eq!(turns, 1);
        let (turns, parts, again) = proved_after(whole / 2);
        assert!((2..=12).contains(&turns), "{turns} turns");
        assert!(parts <= 3 * whole, "{parts} for {whole}");
        assert_eq!(again, questions, "nothing is asked twice");
    }
}
