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
use program::transition::is_unique;
use program::{Program, PropertyId, PropertyKind};
use solver::SolverSettings;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use threader::{TreeAttempt, TreeOutcome};
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
        let mut groups = vec![wanted.clone()];
        if wanted.len() > 1 {
            groups.extend(wanted.iter().map(|w| vec![*w]));
        }
        // Everybody gets a little before anybody gets much: what is easy is not kept waiting by what is not.
        for (round, effort) in SHARES.iter().copied().map(Some).chain([None]).enumerate() {
            let mut again = Vec::new();
            let many = groups.len() as u32;
            for group in std::mem::take(&mut groups) {
                let done = |w: &PropertyId| matches!(claims.claims.get(w), Some(Claim::Proved(_) | Claim::Refuted(_)));
                if group.iter().all(done) {
                    continue;
                }
                let budget = match effort {
                    Some(effort) if group.len() > 1 || round > 0 => run.budget.share(effort),
                    Some(effort) => run.budget.share((effort * 2 / many).max(LEAST_SHARE)),
                    None => run.budget.clone(),
                };
                let claim = self.group(task, &Run { budget: budget.clone(), ..run.clone() }, &group, bias, &mut claims);
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
                    again.push(group);
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
    /// Trees of this kind, with so many abstract states at most while the other kind is still to be tried.
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
        let rounds = [FEW_STATES, usize::MAX].into_iter();
        let mut steps: VecDeque<HornAttempt> =
            rounds.flat_map(|most| kinds.into_iter().filter(worth).map(move |k| HornAttempt::Trees(k, most))).collect();
        steps.extend((bias == "modular").then_some(HornAttempt::ThreadClauses));
        steps.extend(fixed.then_some(HornAttempt::ProductClauses));
        Self(steps)
    }

    fn has_trees(&self, kind: TreeMode) -> bool {
        self.0.iter().any(|s| matches!(s, HornAttempt::Trees(k, _) if *k == kind))
    }

    /// Trees of this kind are not worth trying again.
    fn strike_trees(&mut self, kind: TreeMode) {
        self.0.retain(|s| !matches!(s, HornAttempt::Trees(k, _) if *k == kind));
    }

    fn strike(&mut self, step: HornAttempt) {
        self.0.retain(|s| *s != step);
    }

    /// This comes next, if it is still to be tried.
    fn prefer(&mut self, step: HornAttempt) {
        if self.0.contains(&step) {
            self.strike(step);
            self.0.push_front(step);
        }
    }
}

impl HornClauses {
    fn group(&self, task: &Task, run: &Run, group: &[PropertyId], bias: &str, report: &mut Claims) -> Claim {
        let p = &task.program;
        let terms = p.terms.clone();
        let settings = SolverSettings { seed: run.seed as u32, ..SolverSettings::default() };
        let certify = |proof: Proof| {
            let properties = group.to_vec();
            Claim::Proved(Arc::new(Certificate { method: "horn".into(), terms: terms.clone(), properties, proof }))
        };
        let attempt = TreeAttempt {
            program: p,
            terms: &terms,
            wanted: group,
            settings,
            budget: &run.budget,
            most_work: usize::MAX,
            known: &[],
            show: task.options.0.get("show-trees").is_some_and(|s| s == "on"),
        };
        let mut known = Vec::new();
        let counts = task.instances(0);
        let name = &p.properties[group[0]].name;
        let mut reason = Reason::NotAdmitted("no thread-modular proof, and the number of threads is not fixed".into());
        let mut agenda = AttemptQueue::new(task, group, bias);
        while let Some(step) = agenda.0.pop_front() {
            match step {
                HornAttempt::Trees(TreeMode::Global, most) => {
                    run.progress(format!("horn: all instances at once, {name}"));
                    let others = agenda.has_trees(TreeMode::Modular) || agenda.has_trees(TreeMode::Pairs);
                    let most_work = if others { most } else { usize::MAX };
                    let (answer, account) = TreeAttempt { most_work, known: &known, ..attempt }.global(&counts);
                    account.add_to(report);
                    match answer {
                        TreeOutcome::Proved(proof) => return certify(proof),
                        TreeOutcome::Refuted(trace) => return Claim::Refuted((*trace).into()),
                        TreeOutcome::None => agenda.strike_trees(TreeMode::Global),
                        TreeOutcome::Unfinished(why) => report.notes.push(format!("the trees of all instances: {why}")),
                        TreeOutcome::GaveUp(why) => {
                            agenda.strike_trees(TreeMode::Global);
                            report.notes.push(format!("the trees of all instances were given up: {why}"));
                        }
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
                    let (answer, account) = TreeAttempt { most_work: FEW_STATES, ..attempt }.run_of_few(&all, &few);
                    account.add_to(report);
                    if let TreeOutcome::Refuted(trace) = answer {
                        return Claim::Refuted((*trace).into());
                    }
                }
                HornAttempt::Trees(TreeMode::Pairs, most) => {
                    run.progress(format!("horn: two instances and a third, {name}"));
                    let others = agenda.has_trees(TreeMode::Global) || agenda.has_trees(TreeMode::Modular);
                    let most_work = if others { most } else { usize::MAX };
                    let (answer, account) = TreeAttempt { most_work, ..attempt }.pairs();
                    account.add_to(report);
                    match answer {
                        TreeOutcome::Proved(proof) => {
                            report.notes.push(pairs_note(p));
                            return certify(proof);
                        }
                        TreeOutcome::None | TreeOutcome::Refuted(_) => {
                            agenda.strike_trees(TreeMode::Pairs);
                            [3, 2].iter().for_each(|n| agenda.0.push_front(HornAttempt::FewInstances(*n)));
                            report.notes.push("facts about two instances at a time are not enough".into());
                            reason = Reason::Alarm("no proof by facts about two instances at a time exists".into());
                        }
                        TreeOutcome::Unfinished(why) => report.notes.push(format!("the trees of pairs: {why}")),
                        TreeOutcome::GaveUp(why) => {
                            agenda.strike_trees(TreeMode::Pairs);
                            report.notes.push(format!("the trees of pairs were given up: {why}"));
                        }
                    }
                }
                HornAttempt::Trees(TreeMode::Modular, most) => {
                    run.progress(format!("horn: thread-modular, {name}"));
                    let answer =
                        if most == FEW_STATES && modular_runs::has_modular_violation(p, &terms, group, &run.budget) {
                            report.notes.push(
                                "no modular proof exists: steps of others, without their locals, violate it".into(),
                            );
                            TreeOutcome::None
                        } else {
                            let others = agenda.has_trees(TreeMode::Global) || agenda.has_trees(TreeMode::Pairs);
                            let most_work = if others { most } else { usize::MAX };
                            let (answer, mut account) = TreeAttempt { most_work, ..attempt }.modular();
                            known = std::mem::take(&mut account.modular);
                            account.add_to(report);
                            answer
                        };
                    match answer {
                        TreeOutcome::Proved(proof) => {
                            report.notes.push(modular_note(p));
                            return certify(proof);
                        }
                        TreeOutcome::None | TreeOutcome::Refuted(_) => {
                            agenda.strike_trees(TreeMode::Modular);
                            agenda.strike(HornAttempt::ThreadClauses);
                            reason = Reason::Alarm("no thread-modular proof exists".into());
                        }
                        TreeOutcome::Unfinished(why) => report.notes.push(format!("the modular trees: {why}")),
                        TreeOutcome::GaveUp(why) => {
                            agenda.strike_trees(TreeMode::Modular);
                            agenda.prefer(HornAttempt::ThreadClauses);
                            report.notes.push(format!("the modular trees were given up: {why}"));
                        }
                    }
                }
                HornAttempt::ThreadClauses => {
                    // A modular proof is either found soon or not at all: most of the effort goes to the other attempt.
                    let short = SolverSettings { limit: 100_000_000, ..settings };
                    match modular::solve_modular(p, &terms, group, short, &run.budget) {
                        Ok(proof) => {
                            report.notes.push(modular_note(p));
                            return certify(Proof::RelyGuarantee(proof));
                        }
                        Err(why) => reason = why,
                    }
                }
                HornAttempt::ProductClauses => {
                    let long = SolverSettings { limit: 2_000_000_000, ..settings };
                    match product::solve_product(p, &terms, &counts.0, group, long, &run.budget) {
                        Ok(proof) => return certify(Proof::Product(proof)),
                        Err(why) => reason = why,
                    }
                }
            }
        }
        Claim::Undecided(reason)
    }
}

/// What a group of properties may take in the first rounds; in the last it is all that is left.
const SHARES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(8), Duration::from_secs(30)];
/// What a single property gets at least in the first round, however many there are.
const LEAST_SHARE: Duration = Duration::from_millis(300);

/// How many abstract states an attempt may make before the other kind of trees is tried.
const FEW_STATES: usize = 150_000;

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
            HornAttempt::Trees(TreeMode::Modular, FEW_STATES),
            HornAttempt::Trees(TreeMode::Global, FEW_STATES),
            HornAttempt::Trees(TreeMode::Modular, usize::MAX),
            HornAttempt::ThreadClauses,
            HornAttempt::ProductClauses,
        ]));
        agenda.strike_trees(TreeMode::Modular);
        assert!(!agenda.has_trees(TreeMode::Modular) && agenda.has_trees(TreeMode::Global));
        agenda.prefer(HornAttempt::ThreadClauses);
        assert_eq!(agenda.0.pop_front(), Some(HornAttempt::ThreadClauses), "moved to the front");
        agenda.prefer(HornAttempt::ThreadClauses);
        assert_eq!(agenda.0.pop_front(), Some(HornAttempt::Trees(TreeMode::Global, FEW_STATES)), "not tried twice");
        assert_eq!(agenda.0.pop_front(), Some(HornAttempt::ProductClauses));
    }
}
