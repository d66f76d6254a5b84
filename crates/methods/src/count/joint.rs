//! Facts, what instances rely on, and which cells exclude each other: one elimination of all candidates, and the part that a proof needs.
//!
//! In: the counted system, without what its instances rely on, and candidates of every kind. Out: the largest part of them that every step keeps, given all that is left;
//! or, of those that are left, the ones that rule out ways to go wrong, with what these rest on in turn. Each candidate stands behind a literal, so that a core of the solver says
//! what an answer rested on: where a candidate falls, only the questions are asked again whose answers rested on it. The questions are
//! those of rule `counting`: CT1 to CT4, CT6, CT7 and CT9. Deliberately absent: where candidates come from (`relies`, `wide`, `marked`, `lemmas`).

use super::seen;
use super::system::{Bad, CellFacts, CountedStep, CountedSystem};
use crate::infer::houdini::{CandidateGoal, Elimination, QuestionOrder, denied, eliminate};
use logic::{Sort, Symbol, Term, Terms};
use program::PropertyId;
use solver::Smt;
use std::collections::{BTreeMap, BTreeSet};

/// More pairs of cells than this and nothing is asked about two instances.
pub(super) const MAX_PAIRS: usize = 1_500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateRole {
    /// Asked of nobody.
    Known,
    Fact,
    Holds(usize),
    Pair(usize, usize),
    Exclusive(usize, usize),
}

struct JointCandidate {
    role: CandidateRole,
    formula: Term,
    literal: Term,
    alive: bool,
    /// Known to hold, given all that is settled.
    settled: bool,
}

/// Goals that share their premises.
#[derive(Clone, Copy, Debug)]
enum JointQuestion {
    /// Facts, at the start.
    Initial,
    /// What the mover may rely on after a move.
    Arrive(usize),
    /// What a second instance in a cell may rely on, of the store and of the mover, after a move.
    Disturb(usize, usize),
    /// What an instance in a cell may rely on after a move of a single: the single, its move, the cell.
    Single(usize, usize, usize),
    Exclude(usize, usize),
    /// Facts after a step.
    Step(usize),
}

/// What questions share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OuterScope {
    Move(usize),
    /// A single and one of its moves.
    SingleMove(usize, usize),
}

struct Joint<'j, 'a> {
    system: &'j CountedSystem<'a>,
    steps: Vec<CountedStep>,
    candidates: Vec<JointCandidate>,
    of_literal: BTreeMap<Term, usize>,
    /// By role.
    known: Vec<usize>,
    facts: Vec<usize>,
    exclusive: Vec<usize>,
    of_cell: Vec<Vec<usize>>,
    of_pair: BTreeMap<(usize, usize), Vec<usize>>,
    /// Whether more than facts may rest on cells that exclude each other.
    relies_on_exclusion: bool,
    questions: Vec<JointQuestion>,
    /// Of the questions that were entered.
    goals: Vec<Option<Vec<(usize, Term)>>>,
    /// What the last answer to each question rested on, and the other way round (perhaps some that do not any longer).
    cores: Vec<BTreeSet<usize>>,
    rested: Vec<Vec<usize>>,
    /// The question whose scope is open.
    here: Option<usize>,
    /// The scope around it.
    outer: Option<OuterScope>,
    /// Only candidates about two instances may be dropped.
    protect: bool,
    lost: bool,
    smt: &'j mut dyn Smt,
}

/// Something was dropped that should stay.
struct Worse;

impl<'j, 'a> Joint<'j, 'a> {
    /// Opens a scope that `close` leaves. What instances rely on must not stand in the system.
    fn new(
        system: &'j CountedSystem<'a>,
        known: Vec<Term>,
        facts: &[Term],
        cells: &CellFacts,
        settled: &CellFacts,
        smt: &'j mut dyn Smt,
    ) -> Self {
        let steps = if facts.is_empty() { Vec::new() } else { system.steps() };
        let mut joint = Self {
            system,
            steps,
            candidates: Vec::new(),
            of_literal: BTreeMap::new(),
            known: Vec::new(),
            facts: Vec::new(),
            exclusive: Vec::new(),
            of_cell: vec![Vec::new(); system.cells.len()],
            of_pair: BTreeMap::new(),
            relies_on_exclusion: false,
            questions: Vec::new(),
            goals: Vec::new(),
            cores: Vec::new(),
            rested: Vec::new(),
            here: None,
            outer: None,
            protect: false,
            lost: false,
            smt,
        };
        known.into_iter().for_each(|f| joint.add(CandidateRole::Known, f, true));
        facts.iter().for_each(|f| joint.add(CandidateRole::Fact, *f, false));
        for (c, holds) in cells.holds.iter().enumerate() {
            let settled = settled.holds.get(c).map_or(&[][..], |list| list);
            holds.iter().for_each(|f| joint.add(CandidateRole::Holds(c), *f, settled.contains(f)));
        }
        for ((a, b), list) in &cells.pairwise {
            let settled = settled.pairwise.get(&(*a, *b)).map_or(&[][..], |list| list);
            list.iter().for_each(|f| joint.add(CandidateRole::Pair(*a, *b), *f, settled.contains(f)));
        }
        cells.exclusive.iter().for_each(|(a, b)| joint.add(CandidateRole::Exclusive(*a, *b), system.terms.ff(), false));
        joint.open();
        joint.ask_about();
        joint
    }

    fn add(&mut self, role: CandidateRole, formula: Term, settled: bool) {
        let (t, at) = (self.system.terms, self.candidates.len());
        let literal = t.sym(t.symbol("candidate", Sort::BOOL));
        match role {
            CandidateRole::Known => self.known.push(at),
            CandidateRole::Fact => self.facts.push(at),
            CandidateRole::Exclusive(..) => self.exclusive.push(at),
            CandidateRole::Holds(c) => self.of_cell[c].push(at),
            CandidateRole::Pair(a, b) => self.of_pair.entry((a, b)).or_default().push(at),
        }
        self.of_literal.insert(literal, at);
        self.rested.push(Vec::new());
        self.candidates.push(JointCandidate { role, formula, literal, alive: true, settled });
    }

    /// Says what holds wherever it is assumed.
    fn open(&mut self) {
        let (t, s) = (self.system.terms, self.system);
        self.smt.push();
        let always = self.known.iter().chain(&self.facts).map(|k| {
            let c = &self.candidates[*k];
            t.implies(c.literal, s.instances.premise(t, c.formula))
        });
        let mut always: Vec<Term> = always.collect();
        let literals: BTreeMap<(usize, usize), Term> = self
            .exclusive
            .iter()
            .filter_map(|k| match &self.candidates[*k] {
                JointCandidate { role: CandidateRole::Exclusive(a, b), literal, .. } => Some(((*a, *b), *literal)),
                _ => None,
            })
            .collect();
        for e in s.exclusions(&literals.keys().copied().collect()) {
            let all: Vec<Term> = e.pairs.iter().map(|pair| literals[pair]).collect();
            always.push(t.implies(t.and(&all), e.fact));
        }
        self.smt.assert(t.and(&always));
    }

    /// Lists the questions. What fails early stands first, so that little rests on it.
    fn ask_about(&mut self) {
        let s = self.system;
        let mut out = Vec::new();
        if !self.facts.is_empty() {
            out.push(JointQuestion::Initial);
        }
        let n = s.cells.len();
        out.extend((0..s.moves.len()).map(JointQuestion::Arrive));
        out.extend((0..s.moves.len()).flat_map(|m| (0..n).map(move |r| JointQuestion::Disturb(m, r))));
        for (k, single) in s.unique_threads.iter().enumerate() {
            out.extend((0..single.moves.len()).flat_map(|m| (0..n).map(move |r| JointQuestion::Single(k, m, r))));
        }
        out.extend(self.exclusive.iter().filter_map(|k| match self.candidates[*k].role {
            CandidateRole::Exclusive(a, b) => Some(JointQuestion::Exclude(a, b)),
            _ => None,
        }));
        out.extend((0..self.steps.len()).map(JointQuestion::Step));
        self.goals = vec![None; out.len()];
        self.cores = vec![BTreeSet::new(); out.len()];
        self.questions = out;
    }

    fn close(mut self) {
        self.leave_outer();
        self.smt.pop();
    }

    fn alive(&self, list: &[usize]) -> Vec<usize> {
        list.iter().copied().filter(|k| self.candidates[*k].alive).collect()
    }

    /// What is true of the step that the question shares with others, besides candidates.
    fn outer_situation(&self, outer: OuterScope) -> Vec<Term> {
        let (t, s) = (self.system.terms, self.system);
        match outer {
            OuterScope::Move(m) => {
                let m = &s.moves[m];
                [self.someone(m.from, 1)].into_iter().chain(s.before(m)).collect()
            }
            OuterScope::SingleMove(k, m) => {
                let single = &s.unique_threads[k];
                let m = &single.moves[m];
                let a = &s.program.threads[single.thread].code.actions[m.action];
                let mut out = vec![t.sym(single.there[m.from]), single.cells[m.from].formula];
                out.extend(s.taken(a, t.sym(single.tid)));
                out
            }
        }
    }

    /// What else is true, besides candidates.
    fn situation(&self, question: JointQuestion) -> Vec<Term> {
        let (t, s) = (self.system.terms, self.system);
        let tid = t.sym(s.program.tid);
        let second = |cell: usize| s.within_cell(cell).into_iter().map(|f| s.of_peer(f));
        match question {
            JointQuestion::Initial => {
                s.initial().into_iter().chain(s.control()).map(|f| s.instances.premise(t, f)).collect()
            }
            JointQuestion::Arrive(_) => Vec::new(),
            JointQuestion::Disturb(m, r) => {
                let least = if s.group_of[r] == s.group_of[s.moves[m].from] { 2 } else { 1 };
                [self.someone(r, least), t.ne(tid, s.of_peer(tid))].into_iter().chain(second(r)).collect()
            }
            JointQuestion::Single(_, _, r) => [self.someone(r, 1)].into_iter().chain(s.within_cell(r)).collect(),
            JointQuestion::Exclude(a, b) => {
                s.within_cell(a).into_iter().chain(second(b)).chain([t.ne(tid, s.of_peer(tid))]).collect()
            }
            JointQuestion::Step(k) => self.steps[k].pre.clone(),
        }
    }

    fn someone(&self, cell: usize, least: i128) -> Term {
        let (t, s) = (self.system.terms, self.system);
        t.le(t.int(least), t.sym(s.groups[s.group_of[cell]].symbol))
    }

    /// Candidates about the mover, with what they say.
    fn of_mover(&self, question: JointQuestion) -> Vec<(usize, Term)> {
        match question {
            JointQuestion::Arrive(m) | JointQuestion::Disturb(m, _) => self.own(self.system.moves[m].from),
            _ => Vec::new(),
        }
    }

    fn own(&self, cell: usize) -> Vec<(usize, Term)> {
        self.alive(&self.of_cell[cell]).into_iter().map(|k| (k, self.candidates[k].formula)).collect()
    }

    /// Candidates about the other instances in question, with what they say of them.
    fn of_instances(&self, question: JointQuestion) -> Vec<(usize, Term)> {
        let s = self.system;
        let second = |c: usize| self.own(c).into_iter().map(|(k, f)| (k, s.of_peer(f)));
        match question {
            JointQuestion::Initial | JointQuestion::Arrive(_) => Vec::new(),
            JointQuestion::Disturb(m, r) => second(r).chain(self.of_two(s.moves[m].from, r)).collect(),
            JointQuestion::Single(_, _, r) => self.own(r),
            JointQuestion::Exclude(a, b) => self.own(a).into_iter().chain(second(b)).chain(self.of_two(a, b)).collect(),
            JointQuestion::Step(k) => self.steps[k].cell.into_iter().flat_map(|c| self.own(c)).collect(),
        }
    }

    /// What is said of an instance in cell `a` and a second one in cell `b`.
    fn of_two(&self, a: usize, b: usize) -> Vec<(usize, Term)> {
        let Some(list) = self.of_pair.get(&(a.min(b), a.max(b))) else { return Vec::new() };
        let of = |k: usize| (k, self.facing(self.candidates[k].formula, a, b));
        self.alive(list).into_iter().map(of).collect()
    }

    /// A candidate about two instances, for the first in cell `a` and the second in cell `b`; in one cell it says it both ways.
    fn facing(&self, formula: Term, a: usize, b: usize) -> Term {
        let (t, s) = (self.system.terms, self.system);
        let swapped =
            || t.substitute(formula, s.peer_copy.iter().flat_map(|(x, y)| [(*x, t.sym(*y)), (*y, t.sym(*x))]));
        match a.cmp(&b) {
            std::cmp::Ordering::Less => formula,
            std::cmp::Ordering::Equal => t.and(&[formula, swapped()]),
            std::cmp::Ordering::Greater => swapped(),
        }
    }

    /// Candidates that may be assumed, besides those about the instances in question.
    fn of_all(&self, question: JointQuestion) -> Vec<usize> {
        let mut out = match question {
            // That cells exclude each other has to follow from what is relied on there.
            JointQuestion::Exclude(..) => return Vec::new(),
            JointQuestion::Initial => self.known.clone(),
            _ => self.known.iter().chain(&self.facts).copied().collect(),
        };
        if self.relies_on_exclusion || matches!(question, JointQuestion::Initial | JointQuestion::Step(_)) {
            out.extend(&self.exclusive);
        }
        self.alive(&out)
    }

    fn assumed(&self, question: JointQuestion) -> BTreeSet<usize> {
        let of = self.of_mover(question).into_iter().chain(self.of_instances(question));
        self.of_all(question).into_iter().chain(of.map(|(k, _)| k)).collect()
    }

    /// What is to be shown of each candidate that the question touches.
    fn to_show(&self, question: JointQuestion) -> Vec<(usize, Term)> {
        let (t, s) = (self.system.terms, self.system);
        let tid = t.sym(s.program.tid);
        let each = |list: &[usize], say: &dyn Fn(Term) -> Term| -> Vec<(usize, Term)> {
            self.alive(list).into_iter().map(|k| (k, say(self.candidates[k].formula))).collect()
        };
        let mut out = match question {
            JointQuestion::Initial => each(&self.facts, &|f| s.instances.goal(t, f)),
            JointQuestion::Arrive(m) => {
                let m = &s.moves[m];
                let effect = s.effect(s.action(m), tid);
                each(&self.of_cell[m.to], &|f| t.substitute(f, effect.iter().copied()))
            }
            JointQuestion::Disturb(m, r) => {
                let m = &s.moves[m];
                let (effect, seen) = (s.effect(s.action(m), tid), s.shared_effect(s.action(m), tid));
                let mut out = each(&self.of_cell[r], &|f| unless_same(t, s.of_peer(f), &seen));
                let both = self.of_pair.get(&(m.to.min(r), m.to.max(r))).map_or(&[][..], |list| list);
                out.extend(each(both, &|f| t.substitute(self.facing(f, m.to, r), effect.iter().copied())));
                out
            }
            JointQuestion::Single(k, m, r) => {
                let single = &s.unique_threads[k];
                let a = &s.program.threads[single.thread].code.actions[single.moves[m].action];
                let effect = s.shared_effect(a, t.sym(single.tid));
                each(&self.of_cell[r], &|f| unless_same(t, f, &effect))
            }
            JointQuestion::Exclude(a, b) => {
                let this = |k: &usize| self.candidates[*k].role == CandidateRole::Exclusive(a, b);
                each(&self.exclusive.iter().copied().filter(this).collect::<Vec<_>>(), &|f| f)
            }
            JointQuestion::Step(k) => {
                let effect = &self.steps[k].effect;
                each(&self.facts, &|f| unless_same(t, s.instances.goal(t, f), effect))
            }
        };
        out.retain(|(k, f)| !self.candidates[*k].settled && !t.is_true(*f));
        out
    }

    fn find_goals(&mut self, question: usize) -> &[(usize, Term)] {
        if self.goals[question].is_none() {
            self.goals[question] = Some(self.to_show(self.questions[question]));
        }
        self.goals[question].as_deref().unwrap_or_default()
    }

    /// What is the same for several questions stands in a scope around theirs: it is taken in once.
    fn enter(&mut self, question: usize) {
        if self.here.is_some() {
            return;
        }
        let (t, what) = (self.system.terms, self.questions[question]);
        let outer = match what {
            JointQuestion::Arrive(m) | JointQuestion::Disturb(m, _) => Some(OuterScope::Move(m)),
            JointQuestion::Single(k, m, _) => Some(OuterScope::SingleMove(k, m)),
            _ => None,
        };
        if self.outer != outer {
            self.leave_outer();
            if let Some(outer) = outer {
                let all = self.outer_situation(outer).into_iter().chain(self.said(self.of_mover(what)));
                let all = t.and(&all.collect::<Vec<_>>());
                self.smt.push();
                self.smt.assert(all);
            }
            self.outer = outer;
        }
        self.here = Some(question);
        self.smt.push();
        let all = self.situation(what).into_iter().chain(self.said(self.of_instances(what)));
        let all = t.and(&all.collect::<Vec<_>>());
        self.smt.assert(all);
    }

    fn leave_outer(&mut self) {
        if self.outer.take().is_some() {
            self.smt.pop();
        }
    }

    fn said(&self, of_instances: Vec<(usize, Term)>) -> Vec<Term> {
        let t = self.system.terms;
        of_instances.into_iter().map(|(k, f)| t.implies(self.candidates[k].literal, f)).collect()
    }

    fn leave(&mut self) {
        if self.here.take().is_some() {
            self.smt.pop();
        }
    }

    /// Drops what some step does not keep.
    fn eliminate_from(&mut self, open: &mut [bool]) -> Result<(), Worse> {
        let t = self.system.terms;
        let result = eliminate(self, t, open, QuestionOrder::First);
        self.leave();
        self.leave_outer();
        result.map(|_| ())
    }

    /// Leaves facts about two instances out where only they would be lost: each is an obligation for many pairs.
    fn drop_idle_pairs(&mut self) {
        let pairs: Vec<usize> = self.of_pair.values().flatten().copied().collect();
        let mut pairs = self.alive(&pairs);
        // What is settled is not asked about, so it is not known what rests on it.
        pairs.retain(|k| !self.candidates[*k].settled);
        if pairs.is_empty() || !self.alive(&self.exclusive).is_empty() {
            return;
        }
        let before: Vec<bool> = self.candidates.iter().map(|c| c.alive).collect();
        let mut open = vec![false; self.questions.len()];
        for k in &pairs {
            self.candidates[*k].alive = false;
            self.users(*k).into_iter().for_each(|q| open[q] = true);
        }
        self.protect = true;
        if self.eliminate_from(&mut open).is_err() {
            self.candidates.iter_mut().zip(before).for_each(|(c, alive)| c.alive = alive);
        }
        self.protect = false;
    }

    /// The candidates that are left, where `which` says so.
    fn kept(&self, which: impl Fn(usize) -> bool) -> (Vec<Term>, CellFacts) {
        let mut facts = Vec::new();
        let mut cells = CellFacts { holds: vec![Vec::new(); self.of_cell.len()], ..CellFacts::default() };
        for (_, c) in self.candidates.iter().enumerate().filter(|(k, c)| c.alive && which(*k)) {
            match c.role {
                CandidateRole::Known => {}
                CandidateRole::Fact => facts.push(c.formula),
                CandidateRole::Holds(cell) => cells.holds[cell].push(c.formula),
                CandidateRole::Pair(a, b) => cells.pairwise.entry((a, b)).or_default().push(c.formula),
                CandidateRole::Exclusive(a, b) => {
                    cells.exclusive.insert((a, b));
                }
            }
        }
        (facts, cells)
    }

    /// Candidates that rule out these ways to go wrong, and what they rest on in turn; nothing where something is not shown.
    fn needed(&mut self, bad: &[Bad]) -> Option<BTreeSet<usize>> {
        let t = self.system.terms;
        let mut needed: BTreeSet<usize> = BTreeSet::new();
        for b in bad {
            let own: Vec<(usize, Term)> = b
                .cell
                .iter()
                .flat_map(|c| self.alive(&self.of_cell[*c]))
                .map(|k| (k, self.candidates[k].formula))
                .collect();
            let all = self.known.iter().chain(&self.facts).chain(&self.exclusive).copied();
            let assumed = self.alive(&all.collect::<Vec<_>>()).into_iter().chain(own.iter().map(|(k, _)| *k)).collect();
            self.smt.push();
            let all: Vec<Term> = b.formula.iter().copied().chain(self.said(own)).collect();
            self.smt.assert(t.and(&all));
            let found = self.add_core(&assumed, &mut needed);
            self.smt.pop();
            found?;
        }
        let mut shown: BTreeSet<usize> = BTreeSet::new();
        while needed.len() > shown.len() {
            let new: BTreeSet<usize> = &needed - &shown;
            shown.extend(&new);
            for question in 0..self.questions.len() {
                let goals = self.find_goals(question).iter().filter(|(k, _)| new.contains(k));
                let goals: Vec<(usize, Term)> = goals.map(|(_, f)| (0, *f)).collect();
                if goals.is_empty() {
                    continue;
                }
                let assumed = self.assumed(self.questions[question]);
                self.enter(question);
                self.smt.push();
                self.smt.assert(denied(t, &[], goals.into_iter()));
                let found = self.add_core(&assumed, &mut needed);
                self.smt.pop();
                self.leave();
                found?;
            }
        }
        Some(needed)
    }

    /// Adds candidates that contradict what is asserted, if those that are there do not.
    fn add_core(&mut self, assumed: &BTreeSet<usize>, needed: &mut BTreeSet<usize>) -> Option<()> {
        let literals = |of: &BTreeSet<usize>| of.iter().map(|k| self.candidates[*k].literal).collect::<Vec<_>>();
        let mut mine: BTreeSet<usize> = assumed & needed;
        mine.extend(self.known.iter().filter(|k| assumed.contains(k)));
        if self.smt.check_assuming(&literals(&mine)).is_unsat() {
            return Some(());
        }
        if !self.smt.check_assuming(&literals(assumed)).is_unsat() {
            return None;
        }
        let core = self.smt.core();
        let mut new: BTreeSet<usize> = core.iter().filter_map(|f| self.of_literal.get(f)).copied().collect();
        new.retain(|k| !mine.contains(k));
        // A core need not be small: each that is new must be worth its obligations.
        for k in new.clone() {
            let without: BTreeSet<usize> = mine.iter().chain(&new).copied().filter(|m| *m != k).collect();
            if self.smt.check_assuming(&literals(&without)).is_unsat() {
                new.remove(&k);
            }
        }
        needed.extend(new);
        Some(())
    }
}

impl Elimination for Joint<'_, '_> {
    type Stop = Worse;

    fn goals(&mut self, question: usize) -> Vec<CandidateGoal> {
        let all = self.find_goals(question).to_vec();
        let left = all.into_iter().filter(|(k, _)| self.candidates[*k].alive);
        left.map(|(candidate, formula)| CandidateGoal { candidate, batch: 0, formula }).collect()
    }
    fn batches(&self, _: usize) -> Vec<Term> {
        Vec::new()
    }
    fn premises(&self, question: usize) -> Vec<Term> {
        self.assumed(self.questions[question]).into_iter().map(|k| self.candidates[k].literal).collect()
    }
    fn session(&mut self, question: usize) -> Result<&mut dyn Smt, Worse> {
        if self.here.is_none() {
            self.cores[question].clear();
            self.enter(question);
        }
        Ok(&mut *self.smt)
    }
    fn lose(&mut self, candidate: usize) {
        let c = &mut self.candidates[candidate];
        c.alive = false;
        self.lost |= !matches!(c.role, CandidateRole::Pair(..));
    }
    fn users(&self, candidate: usize) -> Vec<usize> {
        self.rested[candidate].iter().copied().filter(|q| self.cores[*q].contains(&candidate)).collect()
    }
    fn check_budget(&mut self) -> Result<(), Worse> {
        if self.protect && std::mem::take(&mut self.lost) { Err(Worse) } else { Ok(()) }
    }
    fn rests_on(&mut self, question: usize, core: Vec<Term>) {
        for k in core.iter().filter_map(|f| self.of_literal.get(f)) {
            if self.cores[question].insert(*k) {
                self.rested[*k].push(question);
            }
        }
    }
    fn settled(&mut self, _: usize) -> Result<(), Worse> {
        self.leave();
        self.check_budget()
    }
}

/// The formula after an effect; true where the effect does not touch it.
fn unless_same(t: &Terms, formula: Term, effect: &[(Symbol, Term)]) -> Term {
    let touched = t.free_symbols(formula).iter().any(|s| effect.iter().any(|(x, _)| x == s));
    if touched { t.substitute(formula, effect.iter().copied()) } else { t.tt() }
}

/// Pairs of cells, both of which something may be relied on in.
fn may_exclude(system: &CountedSystem<'_>, cells: &CellFacts) -> BTreeSet<(usize, usize)> {
    let n = system.cells.len();
    let says = |c: &usize| !cells.holds[*c].is_empty();
    if n * n / 2 > MAX_PAIRS {
        return BTreeSet::new();
    }
    (0..n).filter(says).flat_map(|a| (a..n).filter(says).map(move |b| (a, b))).collect()
}

/// Gives the system the largest part of what instances may rely on that every step keeps, and the largest part of the facts with it.
/// `known` is true in every state, and what the system relies on already holds given that.
pub(super) fn find(
    system: &mut CountedSystem<'_>,
    known: Vec<Term>,
    facts: &[Term],
    mut cells: CellFacts,
    smt: &mut dyn Smt,
) -> Vec<Term> {
    let settled = relied_on(system);
    let mut facts = facts.to_vec();
    seen::refute(system, &mut facts, &mut cells);
    cells.exclusive = may_exclude(system, &cells);
    seen::refute_exclusion(system, &mut cells.exclusive);
    rely_on(system, &CellFacts { holds: vec![Vec::new(); system.cells.len()], ..CellFacts::default() });
    let mut joint = Joint::new(system, known, &facts, &cells, &settled, smt);
    let mut open = vec![true; joint.questions.len()];
    // Nothing is protected, so nothing stops it.
    let _ = joint.eliminate_from(&mut open);
    joint.lost = false;
    joint.drop_idle_pairs();
    let (facts, cells) = joint.kept(|_| true);
    joint.close();
    rely_on(system, &cells);
    facts
}

/// Leaves in the system only what a proof by these facts needs that the properties are not violated. Gives the facts that it needs, or all
/// where something is not shown here.
pub(super) fn needed(
    system: &CountedSystem<'_>,
    facts: &[Term],
    shown: &[PropertyId],
    smt: &mut dyn Smt,
) -> (Vec<Term>, CellFacts) {
    let t = system.terms;
    let all = relied_on(system);
    let mut bare = system.clone();
    rely_on(&mut bare, &CellFacts { holds: vec![Vec::new(); system.cells.len()], ..CellFacts::default() });
    let known = bare.facts().into_iter().chain(bare.control()).filter(|f| !t.is_true(*f)).collect();
    let mut joint = Joint::new(&bare, known, facts, &all, &CellFacts::default(), smt);
    joint.relies_on_exclusion = true;
    let found = joint.needed(&bare.bad(shown));
    let out = found.map(|found| joint.kept(|k| found.contains(&k)));
    joint.close();
    out.unwrap_or_else(|| (facts.to_vec(), all))
}

/// What the system says that instances rely on, in parts.
fn relied_on(system: &CountedSystem<'_>) -> CellFacts {
    let t = system.terms;
    let parts = |f: Term| t.conjuncts(f).into_iter().filter(|f| !t.is_true(*f)).collect::<Vec<_>>();
    CellFacts {
        holds: system.holds.iter().map(|f| parts(*f)).collect(),
        pairwise: system.pairwise.iter().map(|(k, f)| (*k, parts(*f))).collect(),
        exclusive: system.exclusive.clone(),
    }
}

pub(super) fn rely_on(system: &mut CountedSystem<'_>, cells: &CellFacts) {
    let t = system.terms;
    system.holds = cells.holds.iter().map(|h| t.and(h)).collect();
    let apart = cells.pairwise.iter().map(|(k, f)| (*k, t.and(f)));
    system.pairwise = apart.filter(|(_, f)| !t.is_true(*f)).collect();
    system.exclusive.clone_from(&cells.exclusive);
}
