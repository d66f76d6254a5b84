//! `horn`: environment transitions and reachable states as Horn clauses (Threader).
//!
//! In: a program with a fixed number of instances (or any number, for modular proofs). Out: proofs and runs. With the modular
//! bias (`--bias modular`, the default) thread-modular trees are built first (rule `rely-guarantee`; such a proof holds for
//! every number of instances); if there is no such proof, or with `--bias none`, and there may be three instances, trees over any two (rule `pairs`);
//! then trees over all instances (rule `environments`). Where trees are given up, Spacer solves the clauses of whole threads, then of all instances
//! at once (rule `product`). Control is explicit throughout. `--option clauses=spacer` leaves the trees out.

mod abstraction;
mod certify;
mod constants;
mod couples;
mod formula;
mod indices;
mod interpolate;
mod modular_runs;
mod pairs;
mod picture;
mod process;
mod product;
mod rational;
mod refine;
mod seeds;
mod show;
mod simplex;
mod system;
mod threader;
mod trees;

use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use crate::modular;
use evidence::{Certificate, Claim, Claims, Proof, Reason};
use logic::Terms;
use program::transition::is_unique;
use program::{Program, PropertyId, PropertyKind};
use solver::SolverSettings;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use threader::{TreeAttempt, TreeOutcome, TreeWork};
use trees::TreeMode;

pub struct HornClauses;

impl Method for HornClauses {
    fn about(&self) -> MethodDescription {
        MethodDescription {
            name: "horn",
            summary: "reachable states and environment steps as Horn clauses, thread-modular first",
            paper: "Threader: Predicate Abstraction and Refinement for Verifying Multi-Threaded Programs",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        modular::admits(&task.program).map_err(Refusal)?;
        if modular::wanted(&task.program, &task.properties).is_empty() {
            return Err(Refusal("no property that reachable states decide".into()));
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let p = &task.program;
        let wanted = modular::wanted(p, &task.properties);
        let mut claims = Claims::default();
        let bias = task.options.0.get("bias").map_or("modular", String::as_str);
        let terms = p.terms.clone();
        let mut groups = vec![GroupWork::new(task, wanted.clone(), bias)];
        if wanted.len() > 1 {
            groups.extend(wanted.iter().map(|w| GroupWork::new(task, vec![*w], bias)));
        }
        let keeps = groups.len() <= MAX_KEPT_GROUPS;
        // Everybody gets a little before anybody gets much: what is easy is not kept waiting by what is not.
        for (round, effort) in SHARES.iter().copied().map(Some).chain([None]).enumerate() {
            let mut again = Vec::new();
            let many = groups.len() as u32;
            for mut work in std::mem::take(&mut groups) {
                let group = work.group.clone();
                let done = |w: &PropertyId| matches!(claims.claims.get(w), Some(Claim::Proved(_) | Claim::Refuted(_)));
                if group.iter().all(done) {
                    continue;
                }
                let budget = match effort {
                    Some(effort) if group.len() > 1 || round > 0 => run.budget.share(effort),
                    Some(effort) => run.budget.share((effort * 2 / many).max(LEAST_SHARE)),
                    None => run.budget.clone(),
                };
                let claim =
                    self.group(task, &Run { budget: budget.clone(), ..run.clone() }, &terms, &mut work, &mut claims);
                // A run shows one property violated; the others are looked at alone.
                let shown = |w: &PropertyId| !matches!(&claim, Claim::Refuted(run) if run.violates() != Some(*w));
                for w in group.iter().filter(|w| shown(w)) {
                    if !matches!(claims.claims.get(w), Some(Claim::Proved(_) | Claim::Refuted(_))) {
                        claims.set(*w, claim.clone());
                    }
                }
                run.publish(&claims);
                if run.budget.check().is_err() {
                    return claims;
                }
                // What ended by itself ends so again; what its share ended goes on with a larger one.
                if matches!(claim, Claim::Undecided(_)) && budget.check().is_err() {
                    again.push(if keeps { work } else { GroupWork::new(task, group, bias) });
                }
            }
            groups = again;
        }
        claims
    }
}

/// One thing to try for a group of properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HornAttempt {
    /// Trees of this kind, with so much work at most while another kind is still to be tried.
    Trees(TreeMode, usize),
    /// A run of so many instances of each thread that comes in several, no proof.
    FewInstances(u32),
    /// Clauses of whole threads, by Spacer.
    ThreadClauses,
    /// Clauses of all instances at once, by Spacer.
    ProductClauses,
}

/// What is still to be tried, in order.
struct AttemptQueue(VecDeque<HornAttempt>);

impl AttemptQueue {
    fn new(task: &Task, group: &[PropertyId], bias: &str) -> Self {
        let p = &task.program;
        // A step as a rely sees it is not a predicate of a state: relies are left to the clauses of whole threads.
        let relies = group.iter().any(|w| matches!(p.properties[*w].kind, PropertyKind::Rely(_)));
        let trees = !relies && task.options.0.get("clauses").is_none_or(|c| c == "trees");
        let fixed = !task.is_parametric();
        // Without a bias nothing prefers modular predicates, and nothing falls back to them either, unless there is no other kind.
        let worth = |kind: &TreeMode| {
            trees
                && match kind {
                    TreeMode::Modular => bias == "modular" || !fixed,
                    TreeMode::Pairs => couples::is_worth_it(p),
                    TreeMode::Global => fixed,
                }
        };
        let kinds = [TreeMode::Modular, TreeMode::Pairs, TreeMode::Global];
        let turns = (0..TURNS_OF_TREES).map(|turn| FIRST_TURN_WORK << turn).chain([usize::MAX]).enumerate();
        // What is found with a bias for modular proofs should be one wherever there is one.
        let most = |kind: TreeMode, turn: usize, most: usize| {
            if kind == TreeMode::Modular && turn == 0 { most * MODULAR_HEAD_START } else { most }
        };
        let mut steps: VecDeque<HornAttempt> = turns
            .flat_map(|(turn, work)| {
                kinds.into_iter().filter(worth).map(move |k| HornAttempt::Trees(k, most(k, turn, work)))
            })
            .collect();
        steps.extend((bias == "modular").then_some(HornAttempt::ThreadClauses));
        steps.extend(fixed.then_some(HornAttempt::ProductClauses));
        Self(steps)
    }

    /// Whether trees of another kind are still to be tried.
    fn has_other_trees(&self, kind: TreeMode) -> bool {
        self.0.iter().any(|s| matches!(s, HornAttempt::Trees(k, _) if *k != kind))
    }

    /// Trees of this kind are not worth trying again.
    fn strike_trees(&mut self, kind: TreeMode) {
        self.0.retain(|s| !matches!(s, HornAttempt::Trees(k, _) if *k == kind));
    }

    fn strike(&mut self, step: HornAttempt) {
        self.0.retain(|s| *s != step);
    }

    /// This comes when no trees are left to be tried.
    fn after_trees(&mut self, step: HornAttempt) {
        let at = self.0.iter().rposition(|s| matches!(s, HornAttempt::Trees(..))).map_or(0, |last| last + 1);
        self.0.insert(at, step);
    }

    /// This comes next, if it is still to be tried.
    fn prefer(&mut self, step: HornAttempt) {
        if self.0.contains(&step) {
            self.strike(step);
            self.0.push_front(step);
        }
    }
}

/// A group of properties: what is still to be tried, and how far each kind of trees came.
struct GroupWork<'a> {
    group: Vec<PropertyId>,
    agenda: AttemptQueue,
    trees: Vec<TreeWork<'a>>,
    reason: Reason,
}

impl<'a> GroupWork<'a> {
    fn new(task: &Task, group: Vec<PropertyId>, bias: &str) -> Self {
        let agenda = AttemptQueue::new(task, &group, bias);
        let reason = Reason::NotAdmitted("no thread-modular proof, and the number of threads is not fixed".into());
        Self { group, agenda, trees: Vec::new(), reason }
    }

    /// The trees of a kind, perhaps new ones, with what the other kinds have found meanwhile.
    fn trees(&mut self, kind: TreeMode, attempt: &TreeAttempt<'a, '_>, task: &Task) -> &mut TreeWork<'a> {
        let at = self.trees.iter().position(|w| w.forest.mode == kind).unwrap_or_else(|| {
            self.trees.push(attempt.begin(kind, &task.instances(0)));
            self.trees.len() - 1
        });
        let modular = self.trees.iter().find(|w| w.forest.mode == TreeMode::Modular).map(|w| w.forest.found());
        let work = &mut self.trees[at];
        match kind {
            TreeMode::Modular => {}
            TreeMode::Pairs => work.forest.learn_of_instances(&modular.unwrap_or_default()),
            TreeMode::Global => work.forest.begin_with(&modular.unwrap_or_default()),
        }
        work
    }
}

impl HornClauses {
    /// Goes on with a group until it is decided, nothing is left to be tried, or the budget ends.
    fn group<'a>(
        &self,
        task: &'a Task,
        run: &Run,
        terms: &'a Terms,
        work: &mut GroupWork<'a>,
        report: &mut Claims,
    ) -> Claim {
        let p = &task.program;
        let group = work.group.clone();
        let settings = SolverSettings { seed: run.seed as u32, ..SolverSettings::default() };
        let certify = |proof: Proof| {
            let properties = group.clone();
            Claim::Proved(Arc::new(Certificate { method: "horn".into(), terms: terms.clone(), properties, proof }))
        };
        let counts = task.instances(0);
        let name = &p.properties[group[0]].name;
        while let Some(step) = work.agenda.0.pop_front() {
            let attempt = TreeAttempt {
                program: p,
                terms,
                wanted: &group,
                settings,
                budget: &run.budget,
                most_work: FEW_INSTANCES_WORK,
                show: task.options.0.get("show-trees").is_some_and(|s| s == "on"),
            };
            match step {
                HornAttempt::Trees(kind, most) => {
                    let others = work.agenda.has_other_trees(kind);
                    let what = match kind {
                        TreeMode::Modular => "thread-modular",
                        TreeMode::Pairs => "two instances and a third",
                        TreeMode::Global => "all instances at once",
                    };
                    run.progress(format!("horn: {what}, {name}"));
                    let first = !work.trees.iter().any(|w| w.forest.mode == kind);
                    let none = kind == TreeMode::Modular
                        && first
                        && modular_runs::has_modular_violation(p, terms, &group, &run.budget);
                    let answer = if none {
                        report
                            .notes
                            .push("no modular proof exists: steps of others, without their locals, violate it".into());
                        TreeOutcome::None
                    } else {
                        let attempt = TreeAttempt { most_work: if others { most } else { usize::MAX }, ..attempt };
                        let trees = work.trees(kind, &attempt, task);
                        let answer = attempt.go_on(trees);
                        // What ended because its share did goes on with the next.
                        if matches!(answer, TreeOutcome::GaveUp(_) | TreeOutcome::Unfinished)
                            && run.budget.check().is_err()
                        {
                            work.agenda.0.push_front(step);
                            return Claim::Undecided(Reason::Alarm("the trees were not finished".into()));
                        }
                        if !matches!(answer, TreeOutcome::Unfinished) {
                            attempt.account(trees).add_to(report);
                        }
                        answer
                    };
                    if let Some(claim) = self.after_trees(p, kind, answer, work, report, &certify) {
                        return claim;
                    }
                }
                HornAttempt::FewInstances(n) => {
                    // Where the program gives more, the others stay at their entries.
                    let all = task.instances(n);
                    let few: Vec<u32> = all.0.iter().map(|c| (*c).min(n)).collect();
                    if few == all.0 && !task.is_parametric() {
                        continue;
                    }
                    run.progress(format!("horn: a run of {n} of each thread, {name}"));
                    let (answer, account) = attempt.run_of_few(&all, &few);
                    account.add_to(report);
                    if let TreeOutcome::Refuted(trace) = answer {
                        return Claim::Refuted((*trace).into());
                    }
                }
                HornAttempt::ThreadClauses => {
                    // A modular proof is either found soon or not at all: most of the effort goes to the other attempts. They go on where
                    // they stopped, and clauses begin anew: what is cut off here waits until the others have ended.
                    let short = SolverSettings { limit: 100_000_000, ..settings };
                    let is_first = work.agenda.has_other_trees(TreeMode::Modular);
                    let share = if is_first { run.budget.share(FIRST_CLAUSES_EFFORT) } else { run.budget.clone() };
                    match modular::solve_modular(p, terms, &group, short, &share) {
                        Ok(proof) => {
                            report.notes.push(modular_note(p));
                            return certify(Proof::RelyGuarantee(proof));
                        }
                        Err(_) if is_first && share.check().is_err() => {
                            work.agenda.after_trees(step);
                            if run.budget.check().is_err() {
                                break;
                            }
                            continue;
                        }
                        Err(why) => work.reason = why,
                    }
                }
                HornAttempt::ProductClauses => {
                    let long = SolverSettings { limit: 2_000_000_000, ..settings };
                    match product::solve_product(p, terms, &counts.0, &group, long, &run.budget) {
                        Ok(proof) => return certify(Proof::Product(proof)),
                        Err(why) => work.reason = why,
                    }
                }
            }
            if run.budget.check().is_err() {
                work.agenda.0.push_front(step);
                break;
            }
        }
        Claim::Undecided(work.reason.clone())
    }

    /// What an answer of trees of one kind means for the group; a claim if it decides it.
    fn after_trees(
        &self,
        p: &Program,
        kind: TreeMode,
        answer: TreeOutcome,
        work: &mut GroupWork<'_>,
        report: &mut Claims,
        certify: &dyn Fn(Proof) -> Claim,
    ) -> Option<Claim> {
        let what = match kind {
            TreeMode::Modular => "the modular trees",
            TreeMode::Pairs => "the trees of pairs",
            TreeMode::Global => "the trees of all instances",
        };
        match (kind, answer) {
            (_, TreeOutcome::Proved(proof)) => {
                match kind {
                    TreeMode::Modular => report.notes.push(modular_note(p)),
                    TreeMode::Pairs => report.notes.push(pairs_note(p)),
                    TreeMode::Global => {}
                }
                return Some(certify(proof));
            }
            (TreeMode::Global, TreeOutcome::Refuted(trace)) => return Some(Claim::Refuted((*trace).into())),
            (_, TreeOutcome::None | TreeOutcome::Refuted(_)) => {
                work.agenda.strike_trees(kind);
                match kind {
                    TreeMode::Modular => {
                        work.agenda.strike(HornAttempt::ThreadClauses);
                        work.reason = Reason::Alarm("no thread-modular proof exists".into());
                    }
                    TreeMode::Pairs => {
                        [3, 2].iter().for_each(|n| work.agenda.0.push_front(HornAttempt::FewInstances(*n)));
                        report.notes.push("facts about two instances at a time are not enough".into());
                        work.reason = Reason::Alarm("no proof by facts about two instances at a time exists".into());
                    }
                    TreeMode::Global => {}
                }
            }
            (_, TreeOutcome::Unfinished) => {}
            (_, TreeOutcome::GaveUp(why)) => {
                work.agenda.strike_trees(kind);
                if kind == TreeMode::Modular {
                    work.agenda.prefer(HornAttempt::ThreadClauses);
                }
                report.notes.push(format!("{what} were given up: {why}"));
            }
        }
        None
    }
}

/// What a group of properties may take in the first rounds; in the last it is all that is left.
const SHARES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(8), Duration::from_secs(30)];
/// What a single property gets at least in the first round, however many there are.
const LEAST_SHARE: Duration = Duration::from_millis(300);

/// What clauses of whole threads may take at first, where trees of another kind are still to be tried.
const FIRST_CLAUSES_EFFORT: Duration = Duration::from_millis(500);
/// How much work a search for a run of few instances may be, in abstract posts.
const FEW_INSTANCES_WORK: usize = 6_000_000;
/// How much work trees of a kind may be in their first turn, in abstract posts, before the other kinds have theirs. Each turn is twice as long as the one before.
const FIRST_TURN_WORK: usize = 500_000;
/// How many times as long the first turn of modular trees is.
const MODULAR_HEAD_START: usize = 10;
/// After so many turns the kind whose turn it is goes on to its end.
const TURNS_OF_TREES: usize = 12;
/// Trees of more groups of properties than this are not kept from one share of effort to the next.
const MAX_KEPT_GROUPS: usize = 6;

/// What a modular proof says beyond its properties. It was asked of a second instance of a thread only where the program may have one.
fn modular_note(p: &Program) -> String {
    let several: Vec<&str> =
        p.threads.ids().filter(|t| !is_unique(p, *t)).map(|t| p.threads[t].name.as_str()).collect();
    let plain = "a modular proof: no fact relates two threads' locals";
    match &several[..] {
        [] => plain.into(),
        all if all.len() == p.threads.len() => format!("{plain}, and it holds for every number of instances"),
        some => format!("{plain}, and it holds for every number of instances of {}", some.join(", ")),
    }
}

/// What a proof by facts about two instances says beyond its properties: a third of a thread was looked at only where the program may have one.
fn pairs_note(p: &Program) -> String {
    let plain = "a proof by facts about two instances at a time";
    match &couples::in_every_number(p)[..] {
        [] => plain.into(),
        all if all.len() == p.threads.len() => format!("{plain}, and it holds for every number of instances"),
        some => format!("{plain}, and it holds for every number of instances of {}", some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_an_agenda_tries_each_kind_and_forgets_what_was_struck() {
        let mut agenda = AttemptQueue(VecDeque::from([
            HornAttempt::Trees(TreeMode::Modular, FIRST_TURN_WORK),
            HornAttempt::Trees(TreeMode::Global, FIRST_TURN_WORK),
            HornAttempt::Trees(TreeMode::Modular, usize::MAX),
            HornAttempt::ThreadClauses,
            HornAttempt::ProductClauses,
        ]));
        agenda.strike_trees(TreeMode::Modular);
        assert!(!agenda.has_other_trees(TreeMode::Global) && agenda.has_other_trees(TreeMode::Pairs));
        agenda.prefer(HornAttempt::ThreadClauses);
        assert_eq!(agenda.0.pop_front(), Some(HornAttempt::ThreadClauses), "moved to the front");
        agenda.prefer(HornAttempt::ThreadClauses);
        assert_eq!(
            agenda.0.pop_front(),
            Some(HornAttempt::Trees(TreeMode::Global, FIRST_TURN_WORK)),
            "not tried twice"
        );
        assert_eq!(agenda.0.pop_front(), Some(HornAttempt::ProductClauses));
        let global = HornAttempt::Trees(TreeMode::Global, usize::MAX);
        let mut agenda = AttemptQueue(VecDeque::from([global, HornAttempt::ProductClauses]));
        agenda.after_trees(HornAttempt::ThreadClauses);
        assert_eq!(agenda.0, [global, HornAttempt::ThreadClauses, HornAttempt::ProductClauses]);
    }
}
