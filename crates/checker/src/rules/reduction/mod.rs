//! Rule `reduction`: access predicates, movers and `performs` (Calvin-R, section 3, figures 6 and 8).
//!
//! In: for threads and procedures, the locations where their runs are cut with what holds there, and which actions are right
//! movers. A run is right movers, one step, left movers. Out: obligations over the program without calls
//! (`program::call_summaries`), in which the other threads do anything that the access predicates allow:
//! Locks that were found to guard a variable are access predicates too; that all code keeps to them is shown with the rest.
//!   RD1  every step of the program touches a variable only where its access predicate holds (given its guard and gates);
//!   RD2  at the entry (with `requires`, or in an initial store) a cut holds; a cut between runs survives a step of others;
//!   RD3  from each cut, each step passes its claimed gates, and what arrives at the next cut satisfies one of the cuts there;
//!   RD4  each step before a run commits that is listed as a right mover is one, each step after it is a left mover;
//!   RD5  of a unit that performs: each finished run is idle or is an action that may come next; at the end the
//!        specification may end; results that an action named stay as they are;
//!   RD6  of a unit that performs: after it has committed a run can go on by a step of its own until it ends, and its
//!        loops come down in rank.
//!   RD7  written invariants that the proof rests on hold of initial stores, and every step of the program keeps them.
//!   RD8  a procedure listed as prompt never waits and ends: its calls count for RD6 (`prompt`).
//!   RD9  every step of the program is one that the relies which the proof rests on allow, seen by any other thread (`premises_hold`).
//!   RD10 whoever has a monitor (a hidden lock) gives it back without waiting, and nobody has one outside of its owners (`monitors`).
//! Variables that the certificate hides (`program::hidden`) are left out by RD5; no cut of a caller speaks of them, and no premise that does is used there.
//! A call by specification uses what RD5 and RD6 show of the callee: every property served by a caller is served by them.
//! Deliberately absent: spawning units; calls of procedures that may wait do not count as going on.

mod monitors;
mod premises;
mod premises_hold;
mod prompt;
mod vet;

use self::premises::WrittenPremises;
use super::wrong_form;
use crate::obligation::{self, Obligation, Premise, Serves};
use crate::rejection::{Rejection, SideCondition};
use crate::session::{CheckSession, Established};
use evidence::{Certificate, CutPoint, MoverPhase, Proof, Reduced, Reduction};
use logic::{Symbol, Term, Terms};
use program::access::{Touches, constant_facts, predicate};
use program::call_summaries::{CallSummaries, CodeUnit, SummarizedUnit};
use program::movers::{Others, primed};
use program::order::PerformsOrder;
use program::relation::{Ends, relates};
use program::symbolic::{CodePiece, PieceBounds, PiecePoint, SymbolicStore, piece};
use program::{Action, ActionId, Code, LocId, ProcId, Program, PropertyId, PropertyKind, VarId};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const RD1: Premise = Premise::new("reduction", "RD1");
const RD2: Premise = Premise::new("reduction", "RD2");
const RD3: Premise = Premise::new("reduction", "RD3");
/// What a run from a cut does is one question: that it arrives (RD3, RD5), by movers (RD4), and that the cut is stable (RD2).
const RD2_TO_RD5: Premise = Premise::new("reduction", "RD2 to RD5");
const RD6: Premise = Premise::new("reduction", "RD6");
const RD8: Premise = Premise::new("reduction", "RD8");
const RD10: Premise = Premise::new("reduction", "RD10");

pub(crate) fn check_reduction(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Reduction(proof) = &c.proof else { return Err(wrong_form()) };
    let list = obligations(session.program, &c.terms, proof, &c.properties)?;
    session.discharge(c, list)
}

pub(crate) fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &Reduction,
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Rejection> {
    let evidence::Basis { specified: basis, found } = proof.basis(program).map_err(Rejection::outside)?;
    if !terms.extends(&basis.program.terms) {
        return Err(SideCondition::AnotherProgram.into());
    }
    // Found predicates are not gates of the program: nothing holds unless they are shown too.
    let claimed: &[PropertyId] = &[claimed, &found].concat();
    let needs = vet::vet_reduction(program, &basis, terms, proof, claimed)?;
    let p = &basis.program;
    let mut facts = vec![terms.lt(terms.int(0), terms.sym(p.tid))];
    facts.extend(constant_facts(p, terms));
    let premises = WrittenPremises::of(p, terms, proof)?;
    facts.push(premises.invariant);
    let facts = terms.and(&facts);
    let rule = ReductionRule {
        basis: &basis,
        p,
        terms,
        touches: Touches::new(p, terms),
        facts,
        all_facts: terms.and(&[facts, premises.of_hidden]),
        premises,
        claimed,
        prompt: &proof.prompt,
        hidden: &proof.hidden,
        owners: needs.owners,
        monitors: &proof.monitors,
    };
    let mut out = rule.gated()?;
    rule.premises_hold(&mut out);
    rule.monitors_are_locks(&mut out);
    for (i, unit) in proof.units.iter().enumerate() {
        let served = Served { all: needs.all[i].clone().into(), performing: needs.performing[i].clone().into() };
        rule.unit(unit, &served, needs.performs[i], &mut out)?;
    }
    if !found.is_empty() {
        out.iter_mut().for_each(|o| o.serves = Serves::All);
    }
    Ok(out)
}

struct ReductionRule<'a> {
    basis: &'a CallSummaries,
    p: &'a Program,
    terms: &'a Terms,
    touches: Touches<'a>,
    /// What always holds, the invariants of the certificate included that speak of no hidden variable.
    facts: Term,
    /// All that always holds in the program itself: only owners of hidden variables are looked at there.
    all_facts: Term,
    premises: WrittenPremises,
    claimed: &'a [PropertyId],
    /// Procedures whose calls do not wait (RD8), in the order of the certificate.
    prompt: &'a [ProcId],
    /// Variables that calls are seen without.
    hidden: &'a [VarId],
    owners: BTreeSet<ProcId>,
    /// Locks among them that are given back without waiting (RD10).
    monitors: &'a [VarId],
}

/// Some code of the program, and the steps of threads in it.
struct AnyCode<'a> {
    code: &'a Code,
    /// `None`: an operation of an object.
    unit: Option<CodeUnit>,
    whose: String,
    steps: Vec<&'a Action>,
    /// What calls of owners of hidden variables perform.
    of_owners: Vec<&'a Action>,
}

/// Which properties need a unit.
struct Served {
    all: Arc<[PropertyId]>,
    /// And what it performs.
    performing: Arc<[PropertyId]>,
}

/// One cut of a unit, with the piece of code from it.
struct CutStart<'a> {
    unit: &'a Reduced,
    code: &'a Code,
    /// The other threads, as this unit may rely on them.
    others: &'a Others<'a>,
    order: Option<&'a PerformsOrder<'a>>,
    cut: &'a CutPoint,
    piece: CodePiece,
    /// The procedure's results, where it performs something.
    results: Vec<VarId>,
}

impl ReductionRule<'_> {
    /// All code of the program, whose it is, and the steps in it. What a callee performs is not a step of anybody: its code's steps are
    /// looked at instead.
    fn all_code(&self) -> Vec<AnyCode<'_>> {
        let ops = self.p.objects.iter().flat_map(|o| o.ops.iter().map(|op| (&op.code, None)));
        let units = self.basis.units.iter().map(|u| (self.basis.code(u.unit), Some(u)));
        let with_steps = |(code, unit): (_, Option<&SummarizedUnit>)| {
            let code: &Code = code;
            let performed = |id| unit.is_some_and(|u| u.of_calls.contains(&id));
            let steps = code.actions.iter_enumerated().filter(|(id, a)| a.relation.is_none() || !performed(*id));
            let whose = unit.map_or("an operation".into(), |u| self.basis.name(u.unit));
            let by_owner = |(id, a): &(ActionId, &Action)| {
                let callee = unit.and_then(|u| self.basis.under_way(u.unit, a.from));
                a.relation.is_some() && performed(*id) && callee.is_some_and(|q| self.owners.contains(&q))
            };
            let of_owners = code.actions.iter_enumerated().filter(by_owner).map(|(_, a)| a).collect();
            AnyCode { code, unit: unit.map(|u| u.unit), whose, steps: steps.map(|(_, a)| a).collect(), of_owners }
        };
        units.chain(ops).map(with_steps).collect()
    }

    /// RD1, for all code of the program.
    fn gated(&self) -> Result<Vec<Obligation>, Rejection> {
        let (p, t) = (self.p, self.terms);
        let mut out = Vec::new();
        let here = SymbolicStore::default();
        let tid = t.sym(p.tid);
        for AnyCode { code, whose, steps, .. } in self.all_code() {
            let mut goals = Vec::new();
            for a in steps {
                // A predicate reads variables too, but is no step of the program.
                let access = |g: &program::Gate| matches!(p.properties[g.property].kind, PropertyKind::Access(_));
                let mut real = a.clone();
                real.gates.retain(|g| !access(g));
                let mut needed = Vec::new();
                for touch in self.touches.of(&real) {
                    if let Some(f) = predicate(p, t, &touch.place, touch.mode, tid, &here) {
                        needed.push(t.implies(touch.when, f.formula));
                    }
                }
                if !needed.is_empty() {
                    let may = t.and(&[self.all_facts, a.guard, obligation::gates(t, a)]);
                    goals.push(t.implies(may, t.and(&needed)));
                }
            }
            for arg in code.calls.iter().flat_map(|c| &c.args) {
                if self.touches.of_term(*arg).iter().any(|x| p.vars[x.place.var].access.is_some()) {
                    return Err(Rejection::outside("an argument of a call that is kept reads a guarded variable"));
                }
            }
            let what = format!("every step of {whose} touches only what its access predicates allow");
            out.push(Obligation::common(RD1, what, t.and(&goals)));
        }
        Ok(out)
    }

    fn unit(
        &self,
        unit: &Reduced,
        served: &Served,
        performs: bool,
        out: &mut Vec<Obligation>,
    ) -> Result<(), Rejection> {
        let (p, t) = (self.p, self.terms);
        let code = self.basis.code(unit.unit);
        let name = self.basis.name(unit.unit);
        let order = match unit.unit {
            CodeUnit::Procedure(q) if performs => p.procedures[q].performs.as_ref().map(|(s, _)| PerformsOrder::of(s)),
            _ => None,
        };
        let results = match unit.unit {
            CodeUnit::Procedure(q) => p.procedures[q].results.clone(),
            CodeUnit::Thread(_) => Vec::new(),
        };
        let first =
            unit.cuts.iter().filter(|c| c.location == code.entry && c.phase == MoverPhase::Between && c.position == 0);
        let first: Vec<Term> = first.map(|c| c.formula).collect();
        let owner = matches!(unit.unit, CodeUnit::Procedure(q) if self.owners.contains(&q));
        // Callers' runs are looked at in a program that has no hidden variables.
        let (facts, invariant) = match owner || self.hidden.is_empty() {
            true => (self.all_facts, t.and(&[self.premises.invariant, self.premises.of_hidden])),
            false => (self.facts, self.premises.invariant),
        };
        let entry = t.implies(t.and(&[facts, self.entered(unit.unit)]), t.or(&first));
        out.push(Obligation::these(&served.all, RD2, format!("the entry of {name}"), entry));
        let others = self.premises.others(p, t, unit.unit, invariant);
        let at_cut: FxHashSet<LocId> = unit.cuts.iter().map(|c| c.location).collect();
        for cut in &unit.cuts {
            let here = format!("{name} at {} ({})", cut.location, code.locations[cut.location].name);
            let right: FxHashSet<_> = unit.right.iter().copied().collect();
            let bounds = PieceBounds {
                start: cut.location,
                stops: &|l| at_cut.contains(&l),
                commits: &|a| !right.contains(&a),
                committed: cut.phase == MoverPhase::Left,
            };
            let piece = piece(p, t, code, &bounds)
                .map_err(|c| Rejection::shape(format!("a loop of {name} through {} has no cut", c.0)))?;
            let start =
                CutStart { unit, code, others: &others, order: order.as_ref(), cut, piece, results: results.clone() };
            let known = t.and(&[facts, cut.formula]);
            self.gates(&start, known, &here, out);
            let mut core = self.movers(&start);
            core.extend(self.arrivals(&start)?);
            if cut.phase == MoverPhase::Between {
                // Whoever moves keeps the invariants (RD7), by a step that this unit may rely on (RD9).
                let (after, kept) = (primed(p, t, cut.formula), primed(p, t, invariant));
                let rely = self.premises.of_a_step(t, unit.unit);
                let moved = others.step(t.and(&[cut.formula, after, invariant, kept, rely]));
                let locks = if owner { self.taken_for_themselves(&others) } else { t.tt() };
                core.push(t.implies(t.and(&[moved, kept, rely, locks]), after));
            }
            let what = format!("the runs of {here}");
            // What is arrived at speaks of the specification only where the unit performs it.
            let whom = if order.is_some() { &served.performing } else { &served.all };
            let both: Arc<[PropertyId]> = whom.iter().chain(served.all.iter()).copied().collect();
            out.push(Obligation::these(&both, RD2_TO_RD5, what, t.implies(known, t.and(&core))));
            if order.is_some() {
                let goes_on = self.progress(&start);
                let what = format!("runs that have committed end, {here}");
                out.push(Obligation::these(&served.performing, RD6, what, t.implies(known, t.and(&goes_on))));
            }
            if let Some(goals) = self.never_waits(&start)? {
                let what = format!("a prompt procedure goes on, {here}");
                out.push(Obligation::these(&served.performing, RD8, what, t.implies(known, t.and(&goals))));
            }
            if owner && !self.monitors.is_empty() {
                let what = format!("whoever has a monitor gives it back, {here}");
                let goals = self.given_back(&start);
                out.push(Obligation::common(RD10, what, t.implies(known, t.and(&goals))));
            }
            self.ensures(&start, known, &here, out);
        }
        Ok(())
    }

    /// What holds when a unit is entered.
    fn entered(&self, unit: CodeUnit) -> Term {
        let (p, t) = (self.p, self.terms);
        match unit {
            CodeUnit::Thread(th) => {
                let mut parts = vec![obligation::initial_locals(p, t, th)];
                if p.threads[th].start == program::Start::Initial {
                    parts.push(obligation::initial_store(p, t));
                }
                t.and(&parts)
            }
            CodeUnit::Procedure(q) => {
                let procedure = &p.procedures[q];
                let mut parts: Vec<Term> = procedure.requires.iter().filter_map(|f| f.formula).collect();
                let copied = self.basis.unit(unit).map(|u| u.copied.as_slice()).unwrap_or_default();
                let sym = |v: VarId| t.sym(p.vars[v].symbol);
                parts.extend(copied.iter().map(|(from, copy)| t.eq(sym(*from), sym(*copy))));
                if self.owners.contains(&q) {
                    // Nobody has a monitor outside of its owners (RD10).
                    parts.extend(self.monitors.iter().map(|l| t.ne(sym(*l), t.sym(p.tid))));
                }
                t.and(&parts)
            }
        }
    }

    /// RD3: claimed gates.
    fn gates(&self, start: &CutStart<'_>, known: Term, here: &str, out: &mut Vec<Obligation>) {
        let (p, t) = (self.p, self.terms);
        let mut goals: BTreeMap<PropertyId, Vec<Term>> = BTreeMap::new();
        for step in &start.piece.steps {
            let mut tried = vec![step.tried];
            for gate in &start.code.actions[step.action].gates {
                let formula = step.before.read(p, t, gate.formula);
                if self.claimed.contains(&gate.property) {
                    goals.entry(gate.property).or_default().push(t.implies(t.and(&tried), formula));
                }
                tried.push(formula);
            }
        }
        for (property, goals) in goals {
            let what = format!("{} on the way from {here}", p.properties[property].name);
            out.push(Obligation::of(property, RD3, what, t.implies(known, t.and(&goals))));
        }
    }

    /// RD4.
    fn movers(&self, start: &CutStart<'_>) -> Vec<Term> {
        let (t, others) = (self.terms, start.others);
        let apart = others.apart();
        let mut out = Vec::new();
        for step in &start.piece.steps {
            let action = &start.code.actions[step.action];
            let touches = self.touches.of(action);
            if start.unit.right.contains(&step.action) && !t.is_true(step.committed) {
                let when = t.and(&[step.taken, t.not(step.committed), apart]);
                out.push(t.implies(when, t.and(&others.right(&touches, step))));
            }
            if !t.is_false(step.committed) {
                let when = t.and(&[step.taken, step.committed, apart]);
                out.push(t.implies(when, t.and(&others.left(&touches, step))));
                // Also where a gate fails now: others must not be able to mend it before the step is taken.
                let tried = t.and(&[step.tried, step.committed, apart]);
                let mine = others.excluded(&touches, &step.before, &step.before);
                out.push(t.implies(tried, t.and(&mine.into_iter().map(|(_, f)| f).collect::<Vec<_>>())));
                // No other thread may decide whether the step can be taken, even where it cannot.
                let at = t.and(&[reached(&start.piece, action), step.committed, apart]);
                let touches = self.touches.of_guard(action);
                let decided: Vec<Term> =
                    others.excluded(&touches, &step.before, &step.before).into_iter().map(|(_, f)| f).collect();
                out.push(t.implies(at, t.and(&decided)));
            }
        }
        out
    }

    /// RD3 and RD5: what arrives at the next cuts.
    fn arrivals(&self, start: &CutStart<'_>) -> Result<Vec<Term>, Rejection> {
        let (p, t) = (self.p, self.terms);
        let mut out = Vec::new();
        for (at, end) in &start.piece.ends {
            let cuts = start.unit.cuts.iter().filter(|c| c.location == *at);
            let ways: Vec<Term> = cuts.filter_map(|c| self.arrival(start, end, c)).collect();
            let mut goal = vec![t.or(&ways)];
            for r in self.settled(start) {
                goal.push(t.eq(end.store.value(p, t, r), t.sym(p.vars[r].symbol)));
            }
            out.push(t.implies(end.reached, t.and(&goal)));
        }
        Ok(out)
    }

    /// The results that actions so far have named.
    fn settled(&self, start: &CutStart<'_>) -> Vec<VarId> {
        let Some(order) = start.order else { return Vec::new() };
        // Every position from which this one can be reached, and itself.
        let mut before: FxHashSet<usize> = FxHashSet::default();
        let mut todo = vec![start.cut.position as usize];
        while let Some(k) = todo.pop() {
            if before.insert(k) {
                todo.extend((0..order.next.len()).filter(|j| order.next[*j].contains(&k)));
            }
        }
        let named = |r: &VarId| {
            let symbol = self.p.vars[*r].symbol;
            before.iter().filter(|k| **k > 0).any(|k| {
                let action = order.actions[k - 1].action;
                let keys = action.frame.iter().flat_map(|f| f.keys.iter().copied());
                keys.chain([action.relation]).any(|f| self.terms.free_symbols(f).contains(&symbol))
            })
        };
        start.results.iter().copied().filter(named).collect()
    }

    fn arrival(&self, start: &CutStart<'_>, end: &PiecePoint, to: &CutPoint) -> Option<Term> {
        let (p, t) = (self.p, self.terms);
        let formula = |f: Term| end.store.read(p, t, f);
        if to.phase == MoverPhase::Between {
            let mut parts = vec![formula(to.formula)];
            if let Some(order) = start.order {
                if start.code.exit == Some(to.location) && !order.ends[to.position as usize] {
                    return None;
                }
                parts.push(self.performed(start, end, order, to.position)?);
            }
            return Some(t.and(&parts));
        }
        if to.position != start.cut.position {
            return None;
        }
        // Inside a run the symbols of its begin stay; from a cut between runs they are the store there.
        let mut inner = formula(to.formula);
        let mut rank = to.rank.map(formula);
        if start.cut.phase == MoverPhase::Between {
            let begin: Vec<(Symbol, Term)> =
                p.shared().zip(&start.unit.before).map(|(v, s)| (*s, t.sym(p.vars[v].symbol))).collect();
            inner = t.substitute(inner, begin.iter().copied());
            rank = rank.map(|r| t.substitute(r, begin.iter().copied()));
        }
        let mut parts = vec![inner];
        if to.phase == MoverPhase::Right {
            parts.push(t.not(end.committed));
        }
        if start.order.is_some() && start.cut.phase == MoverPhase::Left {
            parts.push(t.lt(rank?, start.cut.rank?));
        }
        Some(t.and(&parts))
    }

    /// The run from the start is idle, or an action that leads to the position.
    fn performed(
        &self,
        start: &CutStart<'_>,
        end: &PiecePoint,
        order: &PerformsOrder<'_>,
        position: u32,
    ) -> Option<Term> {
        let (p, t) = (self.p, self.terms);
        let shared: Vec<VarId> = p.shared().collect();
        let old = |v: VarId| {
            let i = shared.iter().position(|x| *x == v);
            match (start.cut.phase, i) {
                (MoverPhase::Between, _) | (_, None) => t.sym(p.vars[v].symbol),
                (_, Some(i)) => t.sym(start.unit.before[i]),
            }
        };
        // What is hidden is not compared.
        let new = |v: VarId| if self.hidden.contains(&v) { old(v) } else { end.store.value(p, t, v) };
        let mut ways = Vec::new();
        let (from, to) = (start.cut.position as usize, position as usize);
        if from == to {
            let idle: Vec<Term> =
                shared.iter().filter(|v| old(**v) != new(**v)).map(|v| t.eq(new(*v), old(*v))).collect();
            ways.push(t.and(&idle));
        }
        if order.next[from].contains(&to) {
            let given: Vec<(Symbol, Term)> = start.results.iter().map(|r| (p.vars[*r].symbol, new(*r))).collect();
            let ends = Ends { old: &old, new: &new, given: &given };
            ways.push(relates(p, t, order.actions[to - 1].action, &ends));
        }
        (!ways.is_empty()).then(|| t.or(&ways))
    }

    /// RD6.
    fn progress(&self, start: &CutStart<'_>) -> Vec<Term> {
        let t = self.terms;
        let mut out = Vec::new();
        if let (MoverPhase::Left, Some(rank)) = (start.cut.phase, start.cut.rank) {
            out.push(t.le(t.int(0), rank));
        }
        for (at, point) in start.piece.points.iter().filter(|(_, x)| !t.is_false(x.committed)) {
            out.push(t.implies(t.and(&[point.reached, point.committed]), self.goes_on(start, *at, point, self.prompt)));
        }
        out
    }

    /// At a point of a piece the thread alone can go on: by a step of its own, or inside a call that does not wait.
    fn goes_on(&self, start: &CutStart<'_>, at: LocId, point: &PiecePoint, prompt: &[ProcId]) -> Term {
        let (p, t) = (self.p, self.terms);
        if let Some(q) = self.basis.under_way(start.unit.unit, at) {
            return t.bool(prompt.contains(&q));
        }
        let own = start.code.actions.iter().filter(|a| a.from == at);
        let way = |a: &Action| {
            let can = t.and(&[a.guard, obligation::gates(t, a)]);
            let used = t.free_symbols(can);
            let inputs: Vec<Symbol> = a.inputs.iter().copied().filter(|s| used.contains(s)).collect();
            // The inputs are chosen anew: the values in the store may mention those of earlier steps.
            let fresh: Vec<Symbol> = inputs.iter().map(|s| t.symbol(t.symbol_name(*s), t.symbol_sort(*s))).collect();
            let can = t.substitute(can, inputs.iter().copied().zip(fresh.iter().map(|s| t.sym(*s))));
            t.exists(&fresh, point.store.read(p, t, can))
        };
        t.or(&own.map(way).collect::<Vec<_>>())
    }

    /// What a procedure ensures follows from each cut at its exit.
    fn ensures(&self, start: &CutStart<'_>, known: Term, here: &str, out: &mut Vec<Obligation>) {
        let CodeUnit::Procedure(q) = start.unit.unit else { return };
        if start.code.exit != Some(start.cut.location) || start.cut.phase != MoverPhase::Between {
            return;
        }
        for fact in &self.p.procedures[q].ensures {
            if let (Some(formula), Some(property)) = (fact.formula, fact.property)
                && self.claimed.contains(&property)
            {
                let what = format!("{} at {here}", self.p.properties[property].name);
                out.push(Obligation::of(property, RD3, what, self.terms.implies(known, formula)));
            }
        }
    }
}

/// The location of an action is reached.
fn reached(piece: &CodePiece, action: &Action) -> Term {
    piece
        .points
        .iter()
        .find(|(at, _)| *at == action.from)
        .map(|(_, x)| x.reached)
        .expect("a step of the piece leaves one of its points")
}
