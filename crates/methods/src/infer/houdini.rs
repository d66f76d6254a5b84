//! Elimination of candidate facts (Flanagan and Leino, Houdini): the largest part of them that every question keeps.
//!
//! In: `Elimination`: candidates, groups of questions about them that share premises, and which candidates are a premise of which group.
//! Out: the candidates that are dropped. A group is asked as a whole, and every model drops all candidates that it breaks; where the solver
//! does not decide, batch by batch and then one by one, and what is not known then is dropped. A candidate that is dropped is no premise
//! any longer: the groups that rest on it are asked again. What is left holds in every group, given all that is left.
//! Deliberately absent: where candidates come from (`vocabulary` and the methods), and what follows from those that are left.

use logic::{Term, Terms, Value};
use solver::Smt;
use std::collections::BTreeSet;
use std::convert::Infallible;

/// What must hold of a candidate in a group.
pub(crate) struct CandidateGoal {
    pub candidate: usize,
    /// Goals of one batch share a premise.
    pub batch: usize,
    pub formula: Term,
}

/// Which group is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionOrder {
    /// The first that is open: what fails early is settled before anything rests on it.
    First,
    /// In turns: each group once before any is asked again.
    Rounds,
}

/// Candidates and the groups of questions that judge them.
pub(crate) trait Elimination {
    /// Why it ended early.
    type Stop;

    /// What the group asks of candidates that are not dropped.
    fn goals(&mut self, group: usize) -> Vec<CandidateGoal>;
    /// The premise of each batch; none: there is one batch, without a premise of its own.
    fn batches(&self, group: usize) -> Vec<Term>;
    /// Literals of the candidates that are left and are premises here.
    fn premises(&self, group: usize) -> Vec<Term>;
    /// A session in which the facts of the group stand.
    fn session(&mut self, group: usize) -> Result<&mut dyn Smt, Self::Stop>;
    /// The candidate does not hold.
    fn lose(&mut self, candidate: usize);
    /// The groups of which a candidate is a premise.
    fn users(&self, candidate: usize) -> Vec<usize>;
    /// Nothing has to be shown of the group as things stand.
    fn is_vacuous(&self, _group: usize) -> bool {
        false
    }
    /// These premises were enough for what was asked of the group.
    fn rests_on(&mut self, _group: usize, _core: Vec<Term>) {}
    /// Called before each question.
    fn check_budget(&mut self) -> Result<(), Self::Stop> {
        Ok(())
    }
    /// What is left holds in the group; its facts may still stand in the session.
    fn settled(&mut self, _group: usize) -> Result<(), Self::Stop> {
        Ok(())
    }
}

/// Asks the open groups until none is open; gives the candidates that were dropped, in the order in which they fell.
pub(crate) fn eliminate<E: Elimination>(
    e: &mut E,
    terms: &Terms,
    open: &mut [bool],
    order: QuestionOrder,
) -> Result<Vec<usize>, E::Stop> {
    let mut dropped = Vec::new();
    let mut from = 0;
    while let Some(group) = next(open, from) {
        open[group] = false;
        if order == QuestionOrder::Rounds {
            from = group + 1;
        }
        if e.is_vacuous(group) {
            continue;
        }
        let before = dropped.len();
        eliminate_in_group(e, terms, group, None, &mut dropped)?;
        e.settled(group)?;
        // This group was asked until it holds without them.
        for k in &dropped[before..] {
            e.users(*k).into_iter().filter(|g| *g != group).for_each(|g| open[g] = true);
        }
    }
    Ok(dropped)
}

fn next(open: &[bool], from: usize) -> Option<usize> {
    let from = from.min(open.len());
    let later = open[from..].iter().position(|o| *o).map(|g| from + g);
    later.or_else(|| open[..from].iter().position(|o| *o))
}

/// Drops candidates until the rest hold in a group, or in one of its batches, whose premise stands in the session then.
fn eliminate_in_group<E: Elimination>(
    e: &mut E,
    terms: &Terms,
    group: usize,
    batch: Option<usize>,
    dropped: &mut Vec<usize>,
) -> Result<(), E::Stop> {
    let whens = e.batches(group);
    loop {
        e.check_budget()?;
        let mut goals = e.goals(group);
        goals.retain(|g| batch.is_none_or(|b| g.batch == b) && !terms.is_true(g.formula));
        if goals.is_empty() {
            return Ok(());
        }
        let guarded = if batch.is_none() { &whens[..] } else { &[] };
        let denied = denied(terms, guarded, goals.iter().map(|g| (g.batch, g.formula)));
        let premises = e.premises(group);
        let smt = e.session(group)?;
        smt.push();
        smt.assert(denied);
        let answer = smt.check_assuming(&premises);
        let core = if answer.is_unsat() { smt.core() } else { Vec::new() };
        let mut gone: Vec<usize> = Vec::new();
        if answer.is_sat() {
            let no = Some(Value::Bool(false));
            let holds: Vec<bool> = guarded.iter().map(|w| smt.value(*w) != no).collect();
            let reached = |g: &CandidateGoal| holds.get(g.batch).copied().unwrap_or(true);
            gone = goals.iter().filter(|g| reached(g) && smt.value(g.formula) == no).map(|g| g.candidate).collect();
            gone.sort_unstable();
            gone.dedup();
        }
        smt.pop();
        if answer.is_unsat() {
            e.rests_on(group, core);
            return Ok(());
        }
        if !gone.is_empty() {
            lose(e, gone, dropped);
        } else if guarded.is_empty() {
            return one_by_one(e, terms, group, goals, dropped);
        } else {
            // The solver did not decide all at once, or its model does not say which.
            return batch_by_batch(e, terms, group, &whens, dropped);
        }
    }
}

fn lose<E: Elimination>(e: &mut E, gone: Vec<usize>, dropped: &mut Vec<usize>) {
    gone.iter().for_each(|k| e.lose(*k));
    dropped.extend(gone);
}

fn batch_by_batch<E: Elimination>(
    e: &mut E,
    terms: &Terms,
    group: usize,
    whens: &[Term],
    dropped: &mut Vec<usize>,
) -> Result<(), E::Stop> {
    for (b, when) in whens.iter().enumerate() {
        if !e.goals(group).iter().any(|g| g.batch == b) {
            continue;
        }
        let smt = e.session(group)?;
        smt.push();
        smt.assert(*when);
        let result = eliminate_in_group(e, terms, group, Some(b), dropped);
        e.session(group)?.pop();
        result?;
    }
    Ok(())
}

/// What is not known to hold is given up; what was shown before that is asked again.
fn one_by_one<E: Elimination>(
    e: &mut E,
    terms: &Terms,
    group: usize,
    mut goals: Vec<CandidateGoal>,
    dropped: &mut Vec<usize>,
) -> Result<(), E::Stop> {
    loop {
        let gone = one_pass(e, terms, group, &goals, dropped)?;
        if gone.is_empty() {
            return Ok(());
        }
        goals.retain(|g| !gone.contains(&g.candidate));
    }
}

fn one_pass<E: Elimination>(
    e: &mut E,
    terms: &Terms,
    group: usize,
    goals: &[CandidateGoal],
    dropped: &mut Vec<usize>,
) -> Result<BTreeSet<usize>, E::Stop> {
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    for g in goals {
        if gone.contains(&g.candidate) {
            continue;
        }
        e.check_budget()?;
        let premises = e.premises(group);
        let smt = e.session(group)?;
        smt.push();
        smt.assert(terms.not(g.formula));
        let holds = smt.check_assuming(&premises).is_unsat();
        let core = if holds { smt.core() } else { Vec::new() };
        smt.pop();
        if holds {
            e.rests_on(group, core);
        } else {
            gone.insert(g.candidate);
            lose(e, vec![g.candidate], dropped);
        }
    }
    Ok(gone)
}

/// That one of the goals, by batch, does not hold where the premise of its batch does.
pub(crate) fn denied(terms: &Terms, whens: &[Term], goals: impl Iterator<Item = (usize, Term)>) -> Term {
    if whens.is_empty() {
        return terms.or(&goals.map(|(_, g)| terms.not(g)).collect::<Vec<_>>());
    }
    let mut by_batch: Vec<Vec<Term>> = vec![Vec::new(); whens.len()];
    goals.for_each(|(b, g)| by_batch[b].push(terms.not(g)));
    let asked = whens.iter().zip(by_batch).filter(|(_, denied)| !denied.is_empty());
    terms.or(&asked.map(|(when, denied)| terms.and(&[*when, terms.or(&denied)])).collect::<Vec<_>>())
}

/// One group without batches, whose premises are no candidates.
struct OneQuestion<'a> {
    goals: &'a [Term],
    gone: BTreeSet<usize>,
    smt: &'a mut dyn Smt,
}

impl Elimination for OneQuestion<'_> {
    type Stop = Infallible;

    fn goals(&mut self, _: usize) -> Vec<CandidateGoal> {
        let left = self.goals.iter().enumerate().filter(|(k, _)| !self.gone.contains(k));
        left.map(|(candidate, formula)| CandidateGoal { candidate, batch: 0, formula: *formula }).collect()
    }
    fn batches(&self, _: usize) -> Vec<Term> {
        Vec::new()
    }
    fn premises(&self, _: usize) -> Vec<Term> {
        Vec::new()
    }
    fn session(&mut self, _: usize) -> Result<&mut dyn Smt, Infallible> {
        Ok(&mut *self.smt)
    }
    fn lose(&mut self, candidate: usize) {
        self.gone.insert(candidate);
    }
    fn users(&self, _: usize) -> Vec<usize> {
        Vec::new()
    }
}

/// The positions of goals that do not follow from what stands in the session.
pub(crate) fn refuted_goals(terms: &Terms, goals: &[Term], smt: &mut dyn Smt) -> BTreeSet<usize> {
    let mut question = OneQuestion { goals, gone: BTreeSet::new(), smt };
    let Ok(_) = eliminate(&mut question, terms, &mut [true], QuestionOrder::First);
    question.gone
}

/// The list without the entries at these positions; whether there were any.
pub(crate) fn remove_refuted<T>(list: &mut Vec<T>, refuted: &BTreeSet<usize>) -> bool {
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        !refuted.contains(&(at - 1))
    });
    !refuted.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Budget;
    use logic::{Sort, Symbol};
    use solver::{SolverSettings, Z3};

    #[test]
    fn check_goals_that_do_not_follow_are_found_and_the_others_stay() {
        let t = Terms::new();
        let x = t.sym(t.symbol("x", Sort::INT));
        let y = t.sym(t.symbol("y", Sort::INT));
        let mut smt = Z3::new(&t, SolverSettings::default(), &Budget::unlimited()).expect("a session");
        smt.assert(t.lt(x, y));
        let list = vec![t.le(x, y), t.le(y, x), t.ne(x, y), t.le(t.int(0), x), t.tt()];
        assert_eq!(refuted_goals(&t, &list, &mut smt), [1, 3].into());
        smt.assert(t.le(t.int(5), x));
        assert_eq!(refuted_goals(&t, &list, &mut smt), [1].into(), "with one more premise");
        let mut left = list.clone();
        assert!(remove_refuted(&mut left, &[1].into()) && left.len() == 4 && !left.contains(&list[1]));
    }

    /// `x` and `y` are set from each other; a candidate says that one of them is at least some number.
    struct Ring<'a> {
        terms: &'a Terms,
        symbols: [Symbol; 2],
        /// What each variable is at least.
        candidates: Vec<(usize, i128)>,
        literals: Vec<Term>,
        alive: Vec<bool>,
        smt: Z3<'a>,
        asked: Vec<usize>,
    }

    impl Ring<'_> {
        fn says(&self, k: usize) -> Term {
            let (of, least) = self.candidates[k];
            self.terms.le(self.terms.int(least), self.terms.sym(self.symbols[of]))
        }
    }

    impl Elimination for Ring<'_> {
        type Stop = &'static str;

        /// Group 0: `x := y`; group 1: `y := x - 1` or, in a second batch where `x` is negative, `y := x`.
        fn goals(&mut self, group: usize) -> Vec<CandidateGoal> {
            let t = self.terms;
            let mut out = Vec::new();
            for candidate in (0..self.candidates.len()).filter(|k| self.alive[*k] && self.candidates[*k].0 == group) {
                let from = t.sym(self.symbols[1 - group]);
                let values = [t.sub(from, t.int(group as i128)), from];
                for (batch, value) in values.into_iter().enumerate().take(1 + group) {
                    let formula = t.substitute(self.says(candidate), [(self.symbols[group], value)]);
                    out.push(CandidateGoal { candidate, batch, formula });
                }
            }
            out
        }
        fn batches(&self, group: usize) -> Vec<Term> {
            let t = self.terms;
            let negative = t.lt(t.sym(self.symbols[0]), t.int(0));
            if group == 0 { Vec::new() } else { vec![t.not(negative), negative] }
        }
        fn premises(&self, _: usize) -> Vec<Term> {
            (0..self.candidates.len()).filter(|k| self.alive[*k]).map(|k| self.literals[k]).collect()
        }
        fn session(&mut self, group: usize) -> Result<&mut dyn Smt, &'static str> {
            self.asked.push(group);
            if self.asked.len() > 1_000 { Err("too many questions") } else { Ok(&mut self.smt) }
        }
        fn lose(&mut self, candidate: usize) {
            self.alive[candidate] = false;
        }
        fn users(&self, _: usize) -> Vec<usize> {
            vec![0, 1]
        }
    }

    #[test]
    fn check_what_rests_on_a_dropped_candidate_is_asked_again_in_either_order() {
        for order in [QuestionOrder::First, QuestionOrder::Rounds] {
            let t = Terms::new();
            let symbols = [t.symbol("x", Sort::INT), t.symbol("y", Sort::INT)];
            let smt = Z3::new(&t, SolverSettings::default(), &Budget::unlimited()).expect("a session");
            // `x >= 3` rests on `y >= 3`, which `y := x - 1` breaks; `y >= -1` stays, and with it `x >= -1`.
            let candidates = vec![(0, 3), (1, 3), (0, 0), (1, -1), (0, -1)];
            let literals = candidates.iter().map(|_| t.sym(t.symbol("on", Sort::BOOL))).collect();
            let alive = vec![true; candidates.len()];
            let mut ring = Ring { terms: &t, symbols, candidates, literals, alive, smt, asked: Vec::new() };
            for k in 0..ring.candidates.len() {
                ring.smt.assert(t.implies(ring.literals[k], ring.says(k)));
            }
            let mut dropped = eliminate(&mut ring, &t, &mut [true, true], order).expect("few questions are enough");
            dropped.sort_unstable();
            // Without `x >= 0` the step `y := x - 1` is taken from 0 at least: the batch of negative `x` keeps what `x` was.
            assert_eq!(dropped, [0, 1, 2], "{order:?}");
            assert_eq!(ring.alive, [false, false, false, true, true]);
        }
    }

    #[test]
    fn check_an_elimination_that_is_stopped_says_why() {
        let t = Terms::new();
        let symbols = [t.symbol("x", Sort::INT), t.symbol("y", Sort::INT)];
        let smt = Z3::new(&t, SolverSettings::default(), &Budget::unlimited()).expect("a session");
        let mut ring = Ring {
            terms: &t,
            symbols,
            candidates: vec![(0, 3)],
            literals: vec![t.tt()],
            alive: vec![true],
            smt,
            asked: vec![0; 1_000],
        };
        assert_eq!(eliminate(&mut ring, &t, &mut [true, true], QuestionOrder::First), Err("too many questions"));
    }
}
