//! The search for one unit's cuts: where its runs end, which steps are right movers, what holds between runs.
//!
//! In: the program without calls and one unit. Out: the unit's part of a certificate, and what it does not show: gates that
//! may fail, runs that are no action of the specification. Runs are as long as they can be (Calvin-R, figure 8): a run
//! ends before a step that is not a left mover. What holds at a cut starts as many guessed formulas, of which those that do
//! not hold are dropped (Houdini). Loops are cut between runs if that goes, else inside a run. A run with a step that is marked
//! `witness L` must be `L`, unless marks are passed over on purpose.

use super::ground::{Grounded, Quantified, grounded};
use super::guess::Guesses;
use super::hiding::mentions;
use super::setting::ReductionSetting;
use crate::infer::houdini::{refuted_goals, remove_refuted};
use evidence::{CutPoint, MoverPhase, Reason, Reduced};
use logic::{Symbol, Term, Value};
use program::call_summaries::CodeUnit;
use program::movers::primed;
use program::order::PerformsOrder;
use program::relation::{Ends, relates};
use program::symbolic::{CodePiece, PieceBounds, PiecePoint, piece};
use program::transition::{initial_locals_facts, initial_store_facts, loop_heads};
use program::{ActionId, Code, LocId, Mark, PropertyId, StorePlace, VarId};
use rustc_hash::FxHashSet;
use solver::{Satisfiability, Smt, SolverSettings, Z3};
use std::collections::{BTreeMap, BTreeSet};

/// A unit's part of a certificate, and what it does not show.
pub(crate) struct ReducedUnit {
    pub(crate) reduced: Reduced,
    /// Claimed gates that may fail, each with the first way it was seen to.
    pub open: BTreeMap<PropertyId, ReductionFailure>,
    /// The runs that are no action of the specification; empty if the unit performs it (or has none).
    pub(crate) strays: Vec<ReductionFailure>,
    /// How many runs there are.
    pub runs: usize,
    /// Whether it never waits and ends (RD8); its cuts have ranks then.
    pub prompt: bool,
    /// Whether it gives monitors back without waiting (RD10), if it has any.
    pub gives_back: bool,
    /// Where a `witness` may be written: each run that has the step performs the action.
    pub performed: Vec<(WitnessPosition, String)>,
}

/// Where a `witness` may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WitnessPosition {
    After(ActionId),
    /// Of a `return`.
    Before(ActionId),
}

/// Something that a step or a run may do and must not.
#[derive(Clone, Debug)]
pub(crate) struct ReductionFailure {
    /// The failing step; or where the run ended.
    pub action: Option<ActionId>,
    /// Where the run began.
    pub from: LocId,
    pub to: LocId,
    /// The last action of the specification that was performed.
    pub position: u32,
    /// The step before which the run had to end, and what others may touch there.
    pub(crate) broken_by: Option<BrokenRun>,
    /// The steps of the run, in order.
    pub steps: Vec<ActionId>,
    /// Shared variables and locals where the run began and where it ended.
    pub before: Vec<(VarId, Value)>,
    pub after: Vec<(VarId, Value)>,
    /// The written witness that the run does not keep to.
    pub witness: Option<(ActionId, String)>,
    /// No model was found: the solver did not decide.
    pub undecided: Option<String>,
}

/// Why a run ended where it did.
#[derive(Clone, Debug)]
pub(crate) struct BrokenRun {
    pub action: ActionId,
    /// What another thread may touch; none: the step may have to wait.
    pub place: Option<StorePlace>,
}

/// How the search prefers to read runs that are both idle and an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taste {
    IdleFirst,
    ActionFirst,
}

/// Whether a written `witness` binds the run it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Witnesses {
    Heeded,
    PassedOver,
}

/// Where runs end besides where they must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// Nowhere.
    Greedy,
    /// After steps marked by a witness, and around calls.
    Marked,
    /// Everywhere.
    Everywhere,
}

/// A location, a position of the specification, and inside a run what a witness has said it will be: 0 nothing, `n` the label
/// number `n - 1`, `TWO_LABELS` two labels.
pub(super) type Node = (LocId, u32, u32);

const TWO_LABELS: u32 = u32::MAX;
/// What a question may cost, in the solver's own units; less where quantifiers are left in it.
const QUESTION_LIMIT: u32 = 4_000_000;
const QUANTIFIED_LIMIT: u32 = 300_000;

/// A label that steps of a piece are marked with, and when one of them is taken.
pub(super) type Marked = (u32, Term);

pub(crate) struct MoverSearch<'s, 'a> {
    pub(super) s: &'s ReductionSetting<'a>,
    pub(super) unit: CodeUnit,
    pub(super) code: &'a Code,
    pub(super) order: Option<PerformsOrder<'a>>,
    results: Vec<VarId>,
    shared: Vec<VarId>,
    before: Vec<Symbol>,
    taste: Taste,
    pub(super) guesses: Guesses,
    pub(super) cuts: BTreeMap<LocId, MoverPhase>,
    broken: BTreeMap<LocId, BrokenRun>,
    pub(super) ranks: BTreeMap<LocId, Term>,
    pub(super) nodes: BTreeMap<Node, Vec<Term>>,
    right: BTreeSet<ActionId>,
    /// The labels of written witnesses, and the steps that have them.
    pub(super) labels: Vec<&'a str>,
    marks: BTreeMap<ActionId, Vec<u32>>,
    smt: Z3<'a>,
    quantified: Quantified,
    /// What no cut may mention: hidden variables, now and where a run began.
    unseen: FxHashSet<Symbol>,
}

/// An arrival: the node, when, and how formulas there read.
pub(super) struct Arrival {
    pub node: Node,
    pub when: Term,
}

impl<'s, 'a> MoverSearch<'s, 'a> {
    /// `performs`: whether runs are compared with the specification.
    pub(super) fn new(
        s: &'s ReductionSetting<'a>,
        unit: CodeUnit,
        performs: bool,
        taste: Taste,
        witnesses: Witnesses,
    ) -> Result<Self, Reason> {
        let (p, t) = (s.p, s.terms);
        let code = s.basis.code(unit);
        let (order, results) = match unit {
            CodeUnit::Procedure(q) => {
                let q = &p.procedures[q];
                let order = q.performs.as_ref().filter(|_| performs).map(|(x, _)| PerformsOrder::of(x));
                (order, q.results.clone())
            }
            CodeUnit::Thread(_) => (None, Vec::new()),
        };
        let shared: Vec<VarId> = p.shared().collect();
        let before: Vec<Symbol> =
            shared.iter().map(|v| t.symbol(format!("{} before", p.vars[*v].name), p.vars[*v].sort)).collect();
        let mut unseen = s.unseen.clone();
        if !unseen.is_empty() {
            let hidden = shared.iter().zip(&before).filter(|(v, _)| s.hiding.hidden.contains(v));
            unseen.extend(hidden.map(|(_, b): (_, &Symbol)| *b));
        }
        let settings = SolverSettings { seed: s.run.seed as u32, limit: QUESTION_LIMIT, ..SolverSettings::default() };
        let smt = Z3::new(t, settings, &s.run.budget).map_err(|r| Reason::Internal(r.to_string()))?;
        let right = code.actions.ids().collect();
        let guesses = Guesses::new(s, unit, &shared);
        let (mut labels, mut marks) = (Vec::new(), BTreeMap::new());
        if order.is_some() && witnesses == Witnesses::Heeded {
            for (id, label) in written(s, unit) {
                let known = labels.iter().position(|l| *l == label);
                let at = known.unwrap_or_else(|| {
                    labels.push(label);
                    labels.len() - 1
                });
                marks.entry(id).or_insert_with(Vec::new).push(at as u32 + 1);
            }
        }
        Ok(Self {
            s,
            unit,
            code,
            order,
            results,
            shared,
            before,
            taste,
            guesses,
            cuts: BTreeMap::new(),
            broken: BTreeMap::new(),
            ranks: BTreeMap::new(),
            nodes: BTreeMap::new(),
            right,
            labels,
            marks,
            smt,
            quantified: Quantified::default(),
            unseen,
        })
    }

    /// Looks for cuts with these loop heads inside runs.
    pub(super) fn find(mut self, inner: &BTreeSet<LocId>, split: Split) -> Result<ReducedUnit, Reason> {
        self.cuts.insert(self.code.entry, MoverPhase::Between);
        for at in self.code.exit.into_iter().chain(loop_heads(self.code)) {
            let inside = inner.contains(&at) && at != self.code.entry;
            self.cuts.insert(at, if inside { MoverPhase::Right } else { MoverPhase::Between });
        }
        self.split(split);
        loop {
            self.budget()?;
            self.houdini()?;
            if !self.movers()? {
                break;
            }
        }
        self.found()
    }

    pub(super) fn budget(&self) -> Result<(), Reason> {
        self.s.run.budget.check().map_err(Reason::Exhausted)
    }

    fn split(&mut self, split: Split) {
        let of_calls = self.s.basis.unit(self.unit).map(|u| u.of_calls.clone()).unwrap_or_default();
        for (id, a) in self.code.actions.iter_enumerated() {
            let here = match split {
                Split::Greedy => false,
                Split::Marked => {
                    a.marks.iter().any(|m| matches!(m, Mark::Witness(_)))
                        || (of_calls.contains(&id) && a.relation.is_some())
                }
                Split::Everywhere => true,
            };
            if here {
                self.cuts.entry(a.to).or_insert(MoverPhase::Between);
            }
        }
    }

    pub(super) fn piece(&self, at: LocId) -> Result<CodePiece, Reason> {
        let bounds = PieceBounds {
            start: at,
            stops: &|l| self.cuts.contains_key(&l),
            commits: &|a| !self.right.contains(&a),
            committed: self.cuts[&at] == MoverPhase::Left,
        };
        piece(self.s.p, self.s.terms, self.code, &bounds)
            .map_err(|c| Reason::Internal(format!("a loop through {} has no cut", c.0)))
    }

    fn guesses_at(&self, at: LocId) -> Vec<Term> {
        let before = (self.cuts[&at] != MoverPhase::Between).then_some(&self.before);
        let mut out = self.guesses.at(self.s, self.code, at, before, &|l| self.cuts.contains_key(&l));
        if !self.unseen.is_empty() {
            out.retain(|f| !mentions(self.s.terms, *f, &self.unseen));
        }
        out
    }

    fn entered(&self) -> Term {
        let (p, t) = (self.s.p, self.s.terms);
        let sym = |v: VarId| t.sym(p.vars[v].symbol);
        let mut parts = Vec::new();
        match self.unit {
            CodeUnit::Thread(th) => {
                parts.extend(initial_locals_facts(p, t, th));
                if p.threads[th].start == program::Start::Initial {
                    parts.extend(initial_store_facts(p, t));
                }
            }
            CodeUnit::Procedure(q) => {
                parts.extend(p.procedures[q].requires.iter().filter_map(|f| f.formula));
                let copied = self.s.basis.unit(self.unit).map(|u| u.copied.clone()).unwrap_or_default();
                parts.extend(copied.iter().map(|(a, b)| t.eq(sym(*a), sym(*b))));
                if self.has_monitors() {
                    parts.extend(self.s.hiding.monitors_of(self.unit).iter().map(|l| t.ne(sym(*l), t.sym(p.tid))));
                }
            }
        }
        t.and(&parts)
    }

    /// The largest set of guesses that hold at each node.
    fn houdini(&mut self) -> Result<(), Reason> {
        let t = self.s.terms;
        self.nodes.clear();
        let entry = (self.code.entry, 0, 0);
        let mut first = self.guesses_at(entry.0);
        self.retain(&[self.s.facts, self.entered()], &mut first, &|f| f);
        self.nodes.insert(entry, first);
        let mut todo = BTreeSet::from([entry]);
        while let Some(node) = todo.pop_first() {
            self.budget()?;
            let mut list = self.nodes[&node].clone();
            if self.cuts[&node.0] == MoverPhase::Between {
                while !list.is_empty() {
                    let all = t.and(&list);
                    let (p, invariant) = (self.s.p, self.s.invariant);
                    let (after, kept) = (primed(p, t, all), primed(p, t, invariant));
                    let rely = self.s.rely;
                    let moved = self.s.others.step(t.and(&[all, after, invariant, kept, rely]));
                    let locks = self.others_take_monitors_for_themselves();
                    let premises = [self.s.facts, all, moved, kept, rely, locks];
                    if !self.retain(&premises, &mut list, &|f| primed(p, t, f)) {
                        break;
                    }
                }
                self.nodes.insert(node, list.clone());
            }
            let piece = self.piece(node.0)?;
            let here = [self.s.facts, t.and(&list)];
            let marked = self.marked(&piece);
            for (at, end) in &piece.ends {
                for arrival in self.arrivals(node, *at, end, &marked) {
                    let premises = [here[0], here[1], arrival.when];
                    let known = self.nodes.contains_key(&arrival.node);
                    if !known && self.excluded(&premises, t.ff()) {
                        continue;
                    }
                    let mut there = match self.nodes.get(&arrival.node) {
                        Some(list) => list.clone(),
                        None => self.guesses_at(*at),
                    };
                    let read = self.reading(node.0, *at, end);
                    let dropped = self.retain(&premises, &mut there, &read);
                    if dropped || !known {
                        self.nodes.insert(arrival.node, there);
                        todo.insert(arrival.node);
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps the formulas that follow from the premises where they are read by `read`; whether some did not.
    fn retain(&mut self, premises: &[Term], formulas: &mut Vec<Term>, read: &dyn Fn(Term) -> Term) -> bool {
        let t = self.s.terms;
        let goals: Vec<Term> = formulas.iter().map(|f| read(*f)).collect();
        let asked = grounded(t, premises, &goals, &mut self.quantified);
        let Grounded { premises, goals } = asked.unwrap_or_else(|| Grounded { premises: premises.to_vec(), goals });
        self.smt.push();
        premises.iter().for_each(|f| self.smt.assert(*f));
        let refuted = refuted_goals(t, &goals, &mut self.smt);
        self.smt.pop();
        remove_refuted(formulas, &refuted)
    }

    /// Whether the goal follows, asked without quantifiers.
    fn excluded(&mut self, assumed: &[Term], goal: Term) -> bool {
        let t = self.s.terms;
        let asked = grounded(t, assumed, &[goal], &mut self.quantified);
        let asked = asked.unwrap_or_else(|| Grounded { premises: assumed.to_vec(), goals: vec![goal] });
        self.smt.push();
        asked.premises.iter().for_each(|f| self.smt.assert(*f));
        asked.goals.iter().for_each(|g| self.smt.assert(t.not(*g)));
        let answer = self.smt.check();
        self.smt.pop();
        answer.is_unsat()
    }

    /// Whether a question has quantifiers: then answers other than "it follows" take long.
    fn is_quantified(&mut self, assumed: &[Term], goal: Term) -> bool {
        let t = self.s.terms;
        assumed.iter().chain([&goal]).any(|f| self.quantified.has(t, *f))
    }

    /// How a formula at the end of a piece reads at its start.
    fn reading(&self, from: LocId, to: LocId, end: &PiecePoint) -> impl Fn(Term) -> Term + use<'s, 'a> {
        let (p, t) = (self.s.p, self.s.terms);
        let begins = self.cuts[&from] == MoverPhase::Between && self.cuts[&to] != MoverPhase::Between;
        let begin: Vec<(Symbol, Term)> = if begins {
            self.shared.iter().zip(&self.before).map(|(v, s)| (*s, t.sym(p.vars[*v].symbol))).collect()
        } else {
            Vec::new()
        };
        let store = end.store.clone();
        move |f| {
            let read = store.read(p, t, f);
            if begin.is_empty() { read } else { t.substitute(read, begin.iter().copied()) }
        }
    }

    /// The labels that steps of the piece are marked with.
    fn marked(&self, piece: &CodePiece) -> Vec<Marked> {
        let t = self.s.terms;
        let mut by: BTreeMap<u32, Vec<Term>> = BTreeMap::new();
        for step in &piece.steps {
            for label in self.marks.get(&step.action).into_iter().flatten() {
                by.entry(*label).or_default().push(step.taken);
            }
        }
        by.into_iter().map(|(label, taken)| (label, t.or(&taken))).collect()
    }

    /// The nodes that what arrives at a cut may be at, each with its condition; they exclude each other.
    pub(super) fn arrivals(&self, node: Node, at: LocId, end: &PiecePoint, marked: &[Marked]) -> Vec<Arrival> {
        let t = self.s.terms;
        let Some(order) = self.order.as_ref() else {
            return vec![Arrival { node: (at, node.1, 0), when: end.reached }];
        };
        let mut out = Vec::new();
        let mut rest = vec![end.reached];
        if self.cuts[&at] != MoverPhase::Between {
            // The run goes on, and what a witness said of it is remembered.
            for (i, (label, taken)) in marked.iter().enumerate() {
                let others = marked.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, (_, x))| t.not(*x));
                let alone = t.and(&others.chain([end.reached, *taken]).collect::<Vec<_>>());
                let said = if node.2 == 0 || node.2 == *label { *label } else { TWO_LABELS };
                out.push(Arrival { node: (at, node.1, said), when: alone });
                rest.push(t.not(*taken));
            }
            for (i, (_, one)) in marked.iter().enumerate() {
                for (_, two) in &marked[i + 1..] {
                    let when = t.and(&[end.reached, *one, *two]);
                    out.push(Arrival { node: (at, node.1, TWO_LABELS), when });
                }
            }
            out.push(Arrival { node: (at, node.1, node.2), when: t.and(&rest) });
            return out;
        }
        for position in self.candidates(order, node.1, at) {
            let Some(sim) = self.performed(node, end, order, position, marked) else { continue };
            out.push(Arrival { node: (at, position, 0), when: t.and(&[t.and(&rest), sim]) });
            rest.push(t.not(sim));
        }
        out
    }

    /// The positions that may be next, in the order of preference.
    fn candidates(&self, order: &PerformsOrder<'_>, position: u32, at: LocId) -> Vec<u32> {
        let mut out: Vec<u32> = order.next[position as usize].iter().map(|n| *n as u32).collect();
        let idle = if self.taste == Taste::IdleFirst { 0 } else { out.len() };
        if !out.contains(&position) {
            out.insert(idle, position);
        }
        if self.code.exit == Some(at) {
            out.retain(|n| order.ends[*n as usize]);
        }
        out
    }

    /// The run is idle, or an action that leads to the position; as the witnesses on its way have it.
    fn performed(
        &self,
        node: Node,
        end: &PiecePoint,
        order: &PerformsOrder<'_>,
        position: u32,
        marked: &[Marked],
    ) -> Option<Term> {
        let (p, t) = (self.s.p, self.s.terms);
        let between = self.cuts[&node.0] == MoverPhase::Between;
        let old = |v: VarId| match self.shared.iter().position(|x| *x == v) {
            Some(i) if !between => t.sym(self.before[i]),
            _ => t.sym(p.vars[v].symbol),
        };
        let new = |v: VarId| if self.s.hiding.hidden.contains(&v) { old(v) } else { end.store.value(p, t, v) };
        let mut ways = Vec::new();
        if position == node.1 && node.2 == 0 {
            let changed = self.shared.iter().filter(|v| old(**v) != new(**v));
            let same = changed.map(|v| t.eq(new(*v), old(*v)));
            ways.push(t.and(&same.chain(marked.iter().map(|(_, taken)| t.not(*taken))).collect::<Vec<_>>()));
        }
        let label = order.label(position as usize);
        let fits = |said: u32| self.labels.get(said as usize - 1).is_some_and(|l| *l == label);
        if order.next[node.1 as usize].contains(&(position as usize)) && (node.2 == 0 || fits(node.2)) {
            let given: Vec<(Symbol, Term)> = self.results.iter().map(|r| (p.vars[*r].symbol, new(*r))).collect();
            let ends = Ends { old: &old, new: &new, given: &given };
            let mut parts = vec![relates(p, t, order.actions[position as usize - 1].action, &ends)];
            parts.extend(marked.iter().filter(|(said, _)| !fits(*said)).map(|(_, taken)| t.not(*taken)));
            ways.push(t.and(&parts));
        }
        (!ways.is_empty()).then(|| t.or(&ways))
    }

    pub(super) fn valid(&mut self, assumed: &[Term], goal: Term) -> bool {
        let t = self.s.terms;
        if t.is_true(goal) || self.excluded(assumed, goal) {
            return true;
        }
        if !self.is_quantified(assumed, goal) {
            return false;
        }
        self.smt.set_limit(QUANTIFIED_LIMIT);
        self.smt.push();
        assumed.iter().for_each(|f| self.smt.assert(*f));
        self.smt.assert(t.not(goal));
        let answer = self.smt.check();
        self.smt.pop();
        self.smt.set_limit(QUESTION_LIMIT);
        answer.is_unsat()
    }

    /// Which steps are right movers, and whether those after them are left movers. A run that goes on too long is cut;
    /// gives whether one was.
    fn movers(&mut self) -> Result<bool, Reason> {
        let t = self.s.terms;
        let nodes: Vec<Node> = self.nodes.keys().copied().collect();
        let apart = self.s.others.apart();
        for node in &nodes {
            let known = self.known(*node);
            let mut piece = self.piece(node.0)?;
            let mut i = 0;
            while i < piece.steps.len() {
                self.budget()?;
                let step = &piece.steps[i];
                i += 1;
                if !self.right.contains(&step.action) || t.is_true(step.committed) {
                    continue;
                }
                let touches = self.s.touches.of(&self.code.actions[step.action]);
                let goal = t.and(&self.s.others.right(&touches, step));
                let assumed = [known, step.taken, t.not(step.committed), apart];
                if !self.valid(&assumed, goal) {
                    self.right.remove(&piece.steps[i - 1].action);
                    // What comes later is after the commit now.
                    piece = self.piece(node.0)?;
                }
            }
        }
        for node in &nodes {
            let known = self.known(*node);
            let piece = self.piece(node.0)?;
            if let Some((at, broken)) = self.too_long(&piece, known)? {
                self.cuts.insert(at, MoverPhase::Between);
                self.ranks.remove(&at);
                self.broken.insert(at, broken);
                return Ok(true);
            }
            for (at, end) in &piece.ends {
                if self.cuts[at] == MoverPhase::Right && !self.valid(&[known, end.reached], t.not(end.committed)) {
                    self.cuts.insert(*at, MoverPhase::Left);
                    return Ok(true);
                }
            }
        }
        self.rank()
    }

    pub(super) fn known(&self, node: Node) -> Term {
        let t = self.s.terms;
        t.and(&[self.s.facts, t.and(&self.nodes[&node])])
    }

    /// A location before which a run from here must end.
    fn too_long(&mut self, piece: &CodePiece, known: Term) -> Result<Option<(LocId, BrokenRun)>, Reason> {
        let t = self.s.terms;
        let apart = self.s.others.apart();
        for (at, point) in piece.points.iter().filter(|(_, x)| !t.is_false(x.committed)) {
            self.budget()?;
            let here = [known, point.reached, point.committed];
            for step in piece.steps.iter().filter(|s| self.code.actions[s.action].from == *at) {
                let action = &self.code.actions[step.action];
                let broken = |place: Option<StorePlace>| Some((*at, BrokenRun { action: step.action, place }));
                let touches = self.s.touches.of_guard(action);
                for (place, f) in self.s.others.excluded(&touches, &step.before, &step.before) {
                    if !self.valid(&[known, point.reached, point.committed, apart], f) {
                        return Ok(broken(Some(place)));
                    }
                }
                let touches = self.s.touches.of(action);
                // Also where a gate fails now: others must not be able to mend it before the step is taken.
                let tried = [known, step.tried, step.committed, apart];
                for (place, f) in self.s.others.excluded(&touches, &step.before, &step.before) {
                    if !self.valid(&tried, f) {
                        return Ok(broken(Some(place)));
                    }
                }
                let taken = [known, step.taken, step.committed, apart];
                if !self.valid(&taken, t.and(&self.s.others.left(&touches, step))) {
                    return Ok(broken(None));
                }
            }
            if self.order.is_some() {
                let goes_on = self.goes_on(*at, point);
                if !self.valid(&here, goes_on) {
                    let action = piece.steps.iter().map(|s| s.action).find(|a| self.code.actions[*a].from == *at);
                    if let Some(action) = action {
                        return Ok(Some((*at, BrokenRun { action, place: None })));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Loops among left movers must come down in rank; one that does not is cut between runs.
    fn rank(&mut self) -> Result<bool, Reason> {
        let t = self.s.terms;
        let heads: Vec<LocId> = self.cuts.iter().filter(|(_, p)| **p == MoverPhase::Left).map(|(l, _)| *l).collect();
        for head in heads {
            let nodes: Vec<Node> = self.nodes.keys().copied().filter(|n| n.0 == head).collect();
            let mut found = None;
            for rank in self.guesses.ranks(self.s, self.code, head) {
                let mut fine = true;
                for node in &nodes {
                    let known = self.known(*node);
                    fine &= self.valid(&[known], t.le(t.int(0), rank));
                    let piece = self.piece(head)?;
                    for (at, end) in &piece.ends {
                        if self.cuts[at] == MoverPhase::Left {
                            let later = if *at == head { rank } else { self.ranks.get(at).copied().unwrap_or(rank) };
                            let later = self.reading(head, *at, end)(later);
                            fine &= self.valid(&[known, end.reached], t.lt(later, rank));
                        }
                    }
                }
                if fine {
                    found = Some(rank);
                    break;
                }
            }
            match found {
                Some(rank) => {
                    self.ranks.insert(head, rank);
                }
                None => {
                    self.cuts.insert(head, MoverPhase::Between);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn found(mut self) -> Result<ReducedUnit, Reason> {
        let t = self.s.terms;
        let mut open = BTreeMap::new();
        let mut strays = Vec::new();
        let nodes: Vec<Node> = self.nodes.keys().copied().collect();
        let mut runs = 0;
        for node in &nodes {
            self.budget()?;
            let known = self.known(*node);
            let piece = self.piece(node.0)?;
            let marked = self.marked(&piece);
            for step in &piece.steps {
                let mut tried = vec![known, step.tried];
                for gate in &self.code.actions[step.action].gates {
                    let formula = step.before.read(self.s.p, t, gate.formula);
                    if !open.contains_key(&gate.property)
                        && let Some(f) = self.counter(*node, &piece, &tried, formula, Some(step.action), &step.before)
                    {
                        open.insert(gate.property, f);
                    }
                    tried.push(formula);
                }
            }
            runs += usize::from(self.cuts[&node.0] == MoverPhase::Between && !piece.steps.is_empty());
            for (at, end) in &piece.ends {
                if self.order.is_none() || self.cuts[at] != MoverPhase::Between {
                    continue;
                }
                let any = |ways: Vec<Arrival>| t.or(&ways.iter().map(|a| a.when).collect::<Vec<_>>());
                let goal = any(self.arrivals(*node, *at, end, &marked));
                if let Some(f) = self.counter(*node, &piece, &[known, end.reached], goal, None, &end.store) {
                    // Where it is an action all the same, the witness is wrong.
                    let marked = f.steps.iter().find_map(|a| Some((*a, *self.marks.get(a)?.first()?)));
                    let said = marked.or_else(|| self.marks.iter().find_map(|(a, l)| Some((*a, *l.first()?))));
                    let plain = any(self.arrivals((node.0, node.1, 0), *at, end, &[]));
                    let wrong = said.filter(|_| self.valid(&[known, end.reached], plain));
                    let witness = wrong.map(|(a, l)| (a, self.labels[l as usize - 1].to_string()));
                    strays.push(ReductionFailure { to: *at, broken_by: self.broken.get(at).cloned(), witness, ..f });
                }
                for r in self.settled(node.1) {
                    let (now, then) = (end.store.value(self.s.p, t, r), t.sym(self.s.p.vars[r].symbol));
                    let goal = t.eq(now, then);
                    if let Some(f) = self.counter(*node, &piece, &[known, end.reached], goal, None, &end.store) {
                        strays.push(ReductionFailure { to: *at, ..f });
                    }
                }
            }
        }
        self.ensured(&mut open)?;
        let performed = if strays.is_empty() { self.spots()? } else { Vec::new() };
        let gives_back = !self.has_monitors() || strays.is_empty() && self.gives_back()?;
        let prompt = strays.is_empty() && gives_back && self.is_prompt()?;
        let ranked =
            |phase| phase == MoverPhase::Left || phase == MoverPhase::Right && gives_back && self.has_monitors();
        let mut cuts = Vec::new();
        for ((at, position, _), list) in &self.nodes {
            let phase = self.cuts[at];
            let rank = self.ranks.get(at).copied().filter(|_| prompt || ranked(phase));
            cuts.push(CutPoint { location: *at, position: *position, phase, formula: t.and(list), rank });
        }
        // A cut that nothing reaches is there all the same, so that pieces end at it.
        for (at, phase) in &self.cuts {
            if !self.nodes.keys().any(|n| n.0 == *at) {
                let rank = (prompt || ranked(*phase)).then(|| t.int(0));
                cuts.push(CutPoint { location: *at, position: 0, phase: *phase, formula: t.ff(), rank });
            }
        }
        let reduced = Reduced { unit: self.unit, before: self.before, right: self.right.into_iter().collect(), cuts };
        Ok(ReducedUnit { reduced, open, strays, runs, prompt, gives_back, performed })
    }

    /// What the procedure ensures, where it ends.
    fn ensured(&mut self, open: &mut BTreeMap<PropertyId, ReductionFailure>) -> Result<(), Reason> {
        let CodeUnit::Procedure(q) = self.unit else { return Ok(()) };
        let nodes: Vec<Node> = self.nodes.keys().copied().filter(|n| self.code.exit == Some(n.0)).collect();
        for fact in &self.s.p.procedures[q].ensures {
            let (Some(formula), Some(property)) = (fact.formula, fact.property) else { continue };
            for node in &nodes {
                self.budget()?;
                let (known, piece) = (self.known(*node), self.piece(node.0)?);
                let store = program::symbolic::SymbolicStore::default();
                if let Some(f) = self.counter(*node, &piece, &[known], formula, None, &store) {
                    open.entry(property).or_insert(f);
                }
            }
        }
        Ok(())
    }

    /// The results that actions up to this position have named.
    fn settled(&self, position: u32) -> Vec<VarId> {
        let (p, t) = (self.s.p, self.s.terms);
        let Some(order) = &self.order else { return Vec::new() };
        let mut before = BTreeSet::new();
        let mut todo = vec![position as usize];
        while let Some(k) = todo.pop() {
            if before.insert(k) {
                todo.extend((0..order.next.len()).filter(|j| order.next[*j].contains(&k)));
            }
        }
        let named = |r: &VarId| {
            before.iter().filter(|k| **k > 0).any(|k| {
                let action = order.actions[k - 1].action;
                let keys = action.frame.iter().flat_map(|f| f.keys.iter().copied());
                keys.chain([action.relation]).any(|f| t.free_symbols(f).contains(&p.vars[*r].symbol))
            })
        };
        self.results.iter().copied().filter(named).collect()
    }

    /// A situation in which the goal does not follow, with values.
    fn counter(
        &mut self,
        node: Node,
        piece: &CodePiece,
        assumed: &[Term],
        goal: Term,
        action: Option<ActionId>,
        store: &program::symbolic::SymbolicStore,
    ) -> Option<ReductionFailure> {
        let (p, t) = (self.s.p, self.s.terms);
        if t.is_true(goal) || self.valid(assumed, goal) {
            return None;
        }
        // The values are those of the question at the keys at hand, where there are quantifiers.
        let asked = grounded(t, assumed, &[goal], &mut self.quantified);
        let asked = asked.unwrap_or_else(|| Grounded { premises: assumed.to_vec(), goals: vec![goal] });
        self.smt.push();
        asked.premises.iter().for_each(|f| self.smt.assert(*f));
        asked.goals.iter().for_each(|g| self.smt.assert(t.not(*g)));
        let answer = self.smt.check();
        let mut failure = ReductionFailure {
            action,
            from: node.0,
            to: action.map_or(node.0, |a| self.code.actions[a].from),
            position: node.1,
            broken_by: None,
            steps: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            witness: None,
            undecided: None,
        };
        match &answer {
            Satisfiability::Unsat => {
                self.smt.pop();
                return None;
            }
            Satisfiability::Unknown(why) => failure.undecided = Some(why.to_string()),
            Satisfiability::Sat => {
                let vars: Vec<VarId> = self.shared.iter().copied().chain(self.s.basis.locals(self.unit)).collect();
                let inner = self.cuts[&node.0] != MoverPhase::Between;
                for v in &vars {
                    let begin = match self.shared.iter().position(|x| x == v) {
                        Some(i) if inner => self.before[i],
                        _ => p.vars[*v].symbol,
                    };
                    failure.before.extend(self.smt.value(t.sym(begin)).map(|x| (*v, x)));
                    failure.after.extend(self.smt.value(store.value(p, t, *v)).map(|x| (*v, x)));
                }
                let passed: Vec<(ActionId, Term)> = piece.steps.iter().map(|s| (s.action, s.taken)).collect();
                for (a, taken) in passed {
                    if self.smt.value(taken) == Some(Value::Bool(true)) {
                        failure.steps.push(a);
                    }
                }
            }
        }
        self.smt.pop();
        Some(failure)
    }
}

/// The written witnesses of a procedure: not those of what it calls, which are about other specifications.
pub(super) fn written<'a>(s: &ReductionSetting<'a>, unit: CodeUnit) -> Vec<(ActionId, &'a str)> {
    let CodeUnit::Procedure(q) = unit else { return Vec::new() };
    let own = s.own.get(q.index()).copied().unwrap_or(0);
    let actions = s.basis.code(unit).actions.iter_enumerated().filter(|(id, _)| id.index() < own);
    let label = |m: &'a Mark| match m {
        Mark::Witness(l) => Some(l.as_str()),
        Mark::Linearize(_) => None,
    };
    actions.flat_map(|(id, a)| a.marks.iter().filter_map(label).map(move |l| (id, l))).collect()
}
