//! `reduce`: access predicates, movers and `performs` (Calvin-R).
//!
//! In: a program with access predicates or `performs`. Out: proofs by the rule `reduction` that procedures perform what they
//! say, and that accesses, releases and other checks of threads and procedures do not fail, for any number of threads and any
//! callers: the other threads do anything the access predicates allow. Calls use the callee's specification where it is
//! shown, else they are inlined. A lock that is held wherever a variable is touched is found to guard it. What is not shown is reported: which step ended a run, what another thread may touch
//! there, which run is no action of the specification, with values. Units are looked at side by side, each with terms of its
//! own (`adopt` brings them together), so that the outcome does not depend on how many workers there are.
//! Deliberately absent: units that spawn threads; verdicts about properties that are not local to a unit (invariants, relies: those that
//! every step keeps are premises).

mod breach;
mod explain;
mod found;
mod frames;
mod ground;
mod guards;
mod guess;
mod hiding;
mod monitors;
mod premises;
mod prompt;
mod search;
mod setting;
mod witness;

use crate::adopt::Adopt;
use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use evidence::{Basis, Certificate, Claim, Claims, CutPoint, Guard, Proof, Reason, Reduced, Reduction};
use hiding::Hiding;
use logic::Terms;
use premises::Premises;
use program::call_summaries::{CallSummaries, CodeUnit, SummarizedUnit, call_summaries, of_inlining};
use program::transition::has_gate_of;
use program::{ProcId, Program, PropertyId, PropertyKind, VarId};
use search::{MoverSearch, ReducedUnit, Split, Taste, Witnesses, written};
use setting::ReductionSetting;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

pub struct Reduce;

impl Method for Reduce {
    fn about(&self) -> MethodDescription {
        MethodDescription {
            name: "reduce",
            summary: "procedures perform what they say, by access predicates and movers; any number of threads",
            paper: "Calvin-R",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        let p = &task.program;
        let guarded = p.shared().any(|v| p.vars[v].access.as_ref().is_some_and(|a| a.formula.is_some()));
        let performs = p.procedures.iter().any(|q| q.performs.is_some());
        if !guarded && !performs {
            return Err(Refusal("no variable has an access predicate and no procedure says what it performs".into()));
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let p = &task.program;
        let mut claims = pursue(task, run, &[]);
        run.publish(&claims);
        if claims.claims.values().all(|x| matches!(x, Claim::Proved(_))) {
            return claims;
        }
        let plain = call_summaries(p, &[]);
        let roots: Vec<CodeUnit> = plain.units.iter().map(|u| u.unit).filter(|u| is_root(&plain.program, *u)).collect();
        let guards = guards::candidates(&plain, &roots);
        guarded(task, run, &guards, &mut claims);
        run.publish(&claims);
        for (id, q) in p.procedures.iter_enumerated() {
            let Some((_, property)) = &q.performs else { continue };
            if let Some(Claim::Undecided(_)) = claims.claims.get(property)
                && let Some(stray) = breach::find_breach(p, id, run, &guards)
            {
                let claim = Claim::Refuted(stray.into());
                run.publish_one(*property, claim.clone());
                claims.set(*property, claim);
            }
        }
        for q in &task.properties {
            let broken = matches!(p.properties[*q].kind, PropertyKind::Access(_))
                && matches!(claims.claims.get(q), Some(Claim::Undecided(Reason::Alarm(_))));
            let touching = |(id, x): (ProcId, &program::Procedure)| {
                is_root(p, CodeUnit::Procedure(id)) && has_gate_of(&x.code, *q)
            };
            let suspects = p.procedures.iter_enumerated().filter(|(id, x)| broken && touching((*id, x)));
            if let Some(stray) = suspects.map(|(id, _)| id).find_map(|id| breach::find_access(p, id, *q, run)) {
                claims.set(*q, Claim::Refuted(stray.into()));
            }
        }
        claims
    }
}

/// What is left may need a lock that guards a variable without an access predicate.
fn guarded(task: &Task, run: &Run, guards: &[Guard], claims: &mut Claims) {
    if guards.is_empty() {
        return;
    }
    let guarded = pursue(task, run, guards);
    let better = |q: &PropertyId| {
        let proved = |c: &Claims| matches!(c.claims.get(q), Some(Claim::Proved(_)));
        proved(&guarded) && !proved(claims)
    };
    let gained: Vec<PropertyId> = task.properties.iter().copied().filter(better).collect();
    if !gained.is_empty() {
        for q in gained {
            claims.set(q, guarded.claims[&q].clone());
        }
        claims.notes = guarded.notes;
    }
}

/// Everything that can be shown with these guards. What does not rest on a procedure that is not shown to perform its specification is claimed at once;
/// then such procedures are inlined, and guards that are not kept to are dropped, until nothing changes.
fn pursue(task: &Task, run: &Run, guards: &[Guard]) -> Claims {
    let p = &task.program;
    let mut claims = Claims::default();
    let mut guards = guards.to_vec();
    let mut monitors = true;
    let mut published = run.budget.elapsed();
    let mut by_performs: Vec<ProcId> =
        p.procedures.iter_enumerated().filter(|(_, q)| q.usable()).map(|(id, _)| id).collect();
    let mut lost: BTreeMap<ProcId, Claim> = BTreeMap::new();
    // Units that had no answer within their effort: with more calls inlined they would be no easier.
    let mut too_hard: BTreeMap<CodeUnit, Reason> = BTreeMap::new();
    loop {
        let proved = |q: &PropertyId| matches!(claims.claims.get(q), Some(Claim::Proved(_)));
        let open: Vec<PropertyId> = task.properties.iter().copied().filter(|q| !proved(q)).collect();
        let made = evidence::reduction::basis(p, &guards, &by_performs);
        let Basis { specified: basis, found } = match made {
            Ok(basis) => basis,
            Err(why) => return undecided(claims, &open, Reason::Internal(why)),
        };
        let hiding = Hiding::of(p, &guards, &by_performs, monitors);
        let premises = match premises::kept(&basis, &hiding, run) {
            Ok(premises) => premises,
            Err(reason) => return undecided(claims, &open, reason),
        };
        let scope = Scope { open: &open, found: &found, premises: &premises, hiding: &hiding };
        let mut early = |round: &ReductionRound<'_>| {
            if guards.is_empty() && is_due(run, &mut published) {
                let mut partial = Claims::default();
                round.claim(&guards, &by_performs, task, &open, &mut partial);
                partial.claims.retain(|_, c| matches!(c, Claim::Proved(_)));
                run.publish(&partial);
                partial.claims.into_iter().for_each(|(q, c)| claims.set(q, c));
            }
        };
        let round = match ReductionRound::run(&basis, task, run, &lost, (&scope, &too_hard), &mut early) {
            Ok(round) => round,
            Err(reason) => return undecided(claims, &open, reason),
        };
        if !hiding.monitors.is_empty() && round.keeps_a_monitor(&hiding) {
            monitors = false;
            continue;
        }
        for (unit, looked) in &round.units {
            if let Err(reason @ Reason::Exhausted(_)) = looked {
                too_hard.insert(*unit, reason.clone());
            }
        }
        let kept: Vec<Guard> = guards
            .iter()
            .zip(&found)
            .filter(|(_, f)| matches!(round.judge(**f, task), Some(Ok(()))))
            .map(|(g, _)| *g)
            .collect();
        if kept.len() < guards.len() {
            if kept.is_empty() {
                return claims;
            }
            guards = kept;
            continue;
        }
        let used = |q: &ProcId| round.units.iter().any(|(u, _)| *u == CodeUnit::Procedure(*q));
        let failed: Vec<ProcId> = by_performs.iter().copied().filter(|q| used(q) && !round.shown.contains(q)).collect();
        for q in &failed {
            lost.insert(*q, round.why(*q, p));
        }
        let spent = run.budget.check();
        let last = failed.is_empty() || spent.is_err();
        if last {
            claims.notes.extend(guards.iter().map(|g| guards::shown(p, *g)));
        }
        // Of programs that hide something: elsewhere what is written is enough to go on.
        let hides = !round.hiding.hidden.is_empty();
        let premises_found = if hides { round.premises.shown(&round.basis.program) } else { Vec::new() };
        let proved = |q: &PropertyId| matches!(claims.claims.get(q), Some(Claim::Proved(_)));
        let open: Vec<PropertyId> = open.into_iter().filter(|q| !proved(q)).collect();
        round.claim(&guards, &by_performs, task, &open, &mut claims);
        if last {
            claims.notes.extend(premises_found);
            for (q, claim) in lost {
                if let Some((_, property)) = &p.procedures[q].performs {
                    claims.set(*property, claim);
                }
            }
            claims.claims.retain(|q, _| task.properties.contains(q));
            return match spent {
                Ok(()) => claims,
                Err(reason) => {
                    let silent = |q: &PropertyId| !claims.claims.contains_key(q);
                    let silent: Vec<PropertyId> = open.iter().copied().filter(silent).collect();
                    undecided(claims, &silent, Reason::Exhausted(reason))
                }
            };
        }
        run.publish(&claims);
        by_performs.retain(|q| !failed.contains(q));
    }
}

/// The monitors all owners of which are shown to give them back.
struct KeptMonitors {
    monitors: Vec<VarId>,
    owners: BTreeSet<ProcId>,
    /// Prompt procedures that wait for another one.
    waits: BTreeSet<ProcId>,
}

impl KeptMonitors {
    fn of(round: &ReductionRound<'_>) -> Self {
        let hiding = &round.hiding;
        let has = |q: &ProcId| hiding.monitors_of(CodeUnit::Procedure(*q));
        let kept = |l: &VarId| hiding.owners.iter().all(|q| round.shown.contains(q) || !has(q).contains(l));
        let monitors: Vec<VarId> = hiding.monitors.iter().copied().filter(kept).collect();
        let other = |q: &ProcId| has(q).iter().any(|l| !monitors.contains(l));
        let mut waits: BTreeSet<ProcId> = BTreeSet::new();
        for q in &round.prompt {
            let called = round.basis.unit(CodeUnit::Procedure(*q)).map(|u| u.called.as_slice()).unwrap_or_default();
            if other(q) || called.iter().any(|c| waits.contains(c)) {
                waits.insert(*q);
            }
        }
        let owners = hiding.owners.iter().copied().filter(|q| has(q).iter().any(|l| monitors.contains(l))).collect();
        Self { monitors, owners, waits }
    }

    /// Whether these units need no other monitor.
    fn suffice(&self, round: &ReductionRound<'_>, units: &BTreeSet<CodeUnit>) -> bool {
        let mine = |u: &CodeUnit| round.hiding.monitors_of(*u).iter().all(|l| self.monitors.contains(l));
        let calls = |u: &CodeUnit| {
            let called = round.basis.unit(*u).map(|x| x.called.as_slice()).unwrap_or_default();
            called.iter().all(|q| !self.waits.contains(q))
        };
        units.iter().all(|u| mine(u) && calls(u))
    }
}

/// Whether a part of the time has gone since something was published: what is shown by then is not lost when time runs out.
fn is_due(run: &Run, published: &mut Duration) -> bool {
    let now = run.budget.elapsed();
    let Some(left) = run.budget.time_left() else { return false };
    let due = now.saturating_sub(*published) > (now + left) / 8;
    if due {
        *published = now;
    }
    due
}

/// The same claims, and no answer for these properties.
fn undecided(mut claims: Claims, open: &[PropertyId], reason: Reason) -> Claims {
    for q in open {
        claims.set(*q, Claim::Undecided(reason.clone()));
    }
    claims
}

/// What a round is about.
struct Scope<'a> {
    /// The properties that are not proved yet.
    open: &'a [PropertyId],
    found: &'a [PropertyId],
    premises: &'a Premises,
    hiding: &'a Hiding,
}

/// What was found with one set of procedures used by specification.
struct ReductionRound<'a> {
    basis: &'a CallSummaries,
    terms: Terms,
    units: Vec<(CodeUnit, Result<ReducedUnit, Reason>)>,
    /// Procedures shown to perform their specification.
    shown: BTreeSet<ProcId>,
    /// The invariants and relies that all of it rests on.
    premises: Premises,
    /// Procedures that never wait, callees first.
    prompt: Vec<ProcId>,
    hiding: Hiding,
}

/// A unit to look at, and whether its runs are compared with a specification.
#[derive(Clone)]
struct UnitJob {
    unit: CodeUnit,
    performs: bool,
    refused: Option<Reason>,
}

/// Fewer units than this are not worth another worker.
const MIN_UNITS_PER_WORKER: usize = 4;
/// Deep terms are walked by recursion.
const STACK_BYTES: usize = 1 << 28;
/// So much effort for one unit at most: what is hard in one of them costs nothing of the others.
const UNIT_EFFORT: Duration = Duration::from_secs(8);

impl<'a> ReductionRound<'a> {
    fn run(
        basis: &'a CallSummaries,
        task: &Task,
        run: &Run,
        lost: &BTreeMap<ProcId, Claim>,
        (scope, too_hard): (&Scope<'_>, &BTreeMap<CodeUnit, Reason>),
        early: &mut dyn FnMut(&ReductionRound<'_>),
    ) -> Result<Self, Reason> {
        let job = |u: &SummarizedUnit| {
            let performs = match u.unit {
                CodeUnit::Procedure(q) => basis.program.procedures[q].usable() && !lost.contains_key(&q),
                CodeUnit::Thread(_) => false,
            };
            let refused = u.refused.clone().map(Reason::NotAdmitted).or_else(|| too_hard.get(&u.unit).cloned());
            UnitJob { unit: u.unit, performs, refused }
        };
        let mut units: BTreeSet<CodeUnit> =
            basis.units.iter().map(|u| u.unit).filter(|u| wanted(basis, *u, scope.open, scope.found)).collect();
        // What they call by specification; and owners, which show that monitors are given back.
        let owners = scope.hiding.owners.iter().filter(|_| !scope.hiding.monitors.is_empty());
        let mut todo: Vec<CodeUnit> = units.iter().copied().chain(owners.map(|q| CodeUnit::Procedure(*q))).collect();
        while let Some(unit) = todo.pop() {
            units.insert(unit);
            let called = basis.unit(unit).map(|u| u.called.as_slice()).unwrap_or_default();
            todo.extend(called.iter().map(|q| CodeUnit::Procedure(*q)).filter(|u| !units.contains(u)));
        }
        let jobs: Vec<UnitJob> = basis.units.iter().filter(|u| units.contains(&u.unit)).map(job).collect();
        let own: Vec<usize> = task.program.procedures.iter().map(|q| q.code.actions.len()).collect();
        let terms = basis.program.terms.clone();
        let premises = scope.premises.clone();
        let hiding = scope.hiding.clone();
        let mut out = ReductionRound {
            basis,
            terms,
            units: Vec::new(),
            shown: BTreeSet::new(),
            premises,
            prompt: Vec::new(),
            hiding,
        };
        // Callees first: whether they wait decides how long the runs of their callers may be.
        for level in levels(basis, jobs) {
            let looked = side_by_side(basis, &own, &level, &out.premises, (&out.prompt, &out.hiding), run)?;
            for (job, looked) in level.iter().zip(looked) {
                let found = looked.map(|(terms, found)| {
                    let mut adopt = Adopt::new(&basis.program.terms, &terms, &out.terms);
                    ReducedUnit { reduced: adopted(&mut adopt, found.reduced), ..found }
                });
                if let (CodeUnit::Procedure(q), Ok(f)) = (job.unit, &found)
                    && job.performs
                    && f.strays.is_empty()
                {
                    out.shown.insert(q);
                    out.prompt.extend(f.prompt.then_some(q));
                }
                out.units.push((job.unit, found));
            }
            early(&out);
        }
        out.units.sort_by_key(|(unit, _)| *unit);
        Ok(out)
    }

    /// Why a procedure is not shown to perform its specification.
    fn why(&self, q: ProcId, p: &Program) -> Claim {
        let found = self.units.iter().find(|(u, _)| *u == CodeUnit::Procedure(q));
        let reason = match found {
            Some((_, Ok(f))) => match f.strays.first() {
                Some(stray) => Reason::Alarm(explain::stray(self.basis, q, stray)),
                None => Reason::Internal("nothing stands against it".into()),
            },
            Some((_, Err(reason))) => reason.clone(),
            None => Reason::NotAdmitted(format!("{} is outside this method", p.procedures[q].name)),
        };
        Claim::Undecided(reason)
    }

    /// Some owner of monitors is shown to perform its specification, and not that it gives them back.
    fn keeps_a_monitor(&self, hiding: &Hiding) -> bool {
        let keeps = |(unit, looked): &(CodeUnit, Result<ReducedUnit, Reason>)| {
            hiding.is_owner(*unit) && looked.as_ref().is_ok_and(|f| f.strays.is_empty() && !f.gives_back)
        };
        self.units.iter().any(keeps)
    }

    /// The units that a unit rests on, itself included; none: one of them is not shown to perform its specification.
    fn rests_on(&self, unit: CodeUnit, by_performs: &[ProcId]) -> Option<BTreeSet<CodeUnit>> {
        // Its runs are compared with its specification, whatever the property is.
        if let CodeUnit::Procedure(q) = unit
            && by_performs.contains(&q)
            && !self.shown.contains(&q)
        {
            return None;
        }
        let (mut out, mut todo) = (BTreeSet::new(), vec![unit]);
        while let Some(u) = todo.pop() {
            if !out.insert(u) {
                continue;
            }
            let called = self.basis.unit(u).map(|x| x.called.as_slice()).unwrap_or_default();
            if called.iter().any(|q| !self.shown.contains(q)) {
                return None;
            }
            todo.extend(called.iter().map(|q| CodeUnit::Procedure(*q)));
        }
        Some(out)
    }

    /// The units that a property speaks of.
    fn speaks_of(&self, property: PropertyId) -> Vec<CodeUnit> {
        let p = &self.basis.program;
        match p.properties[property].kind {
            PropertyKind::Performs(q) | PropertyKind::Ensures(q) => vec![CodeUnit::Procedure(q)],
            _ => {
                let gated = |u: &CodeUnit| is_root(p, *u) && has_gate_of(self.basis.code(*u), property);
                self.basis.units.iter().map(|u| u.unit).filter(gated).collect()
            }
        }
    }

    /// One certificate for everything that was shown and rests on what was shown.
    fn claim(&self, guards: &[Guard], by_performs: &[ProcId], task: &Task, open: &[PropertyId], claims: &mut Claims) {
        let mut proved = Vec::new();
        let mut needed: BTreeSet<CodeUnit> = BTreeSet::new();
        let kept = KeptMonitors::of(self);
        // Found guards are shown of all code; so is what monitors need of their owners.
        let common: Vec<CodeUnit> = if guards.is_empty() {
            kept.owners.iter().map(|q| CodeUnit::Procedure(*q)).collect()
        } else {
            self.units.iter().map(|(u, _)| *u).collect()
        };
        let rests_on = |u: CodeUnit| self.rests_on(u, by_performs).filter(|units| kept.suffice(self, units));
        let common: Option<Vec<BTreeSet<CodeUnit>>> = common.into_iter().map(rests_on).collect();
        for property in open {
            let units: Option<Vec<BTreeSet<CodeUnit>>> = self.speaks_of(*property).into_iter().map(rests_on).collect();
            match (self.judge(*property, task), units, &common) {
                (Some(Ok(())), Some(units), Some(_)) => {
                    proved.push(*property);
                    needed.extend(units.into_iter().flatten());
                }
                (Some(Err(reason)), _, _) => claims.set(*property, Claim::Undecided(reason)),
                _ => {}
            }
        }
        if proved.is_empty() {
            return;
        }
        needed.extend(common.into_iter().flatten().flatten());
        let mut units = Vec::new();
        let mut runs = 0;
        for (unit, found) in &self.units {
            if let Ok(found) = found
                && needed.contains(unit)
            {
                runs += found.runs as u64;
                if let CodeUnit::Procedure(q) = unit
                    && by_performs.contains(q)
                {
                    claims.notes.extend(explain::witnesses(self.basis, *q, &found.performed));
                }
                units.push(found.reduced.clone());
            }
        }
        *claims.statistics.entry("units".into()).or_default() += units.len() as u64;
        *claims.statistics.entry("runs".into()).or_default() += runs;
        let in_it = |q: &ProcId| units.iter().any(|u| u.unit == CodeUnit::Procedure(*q));
        let certificate = Arc::new(Certificate {
            method: "reduce".into(),
            terms: self.terms.clone(),
            properties: proved.clone(),
            proof: Proof::Reduction(Reduction {
                guards: guards.to_vec(),
                specified: by_performs.to_vec(),
                premises: self.premises.all(),
                lasting: self.premises.lasting.clone(),
                prompt: self.prompt.iter().copied().filter(|q| in_it(q) && !kept.waits.contains(q)).collect(),
                hidden: self.hiding.hidden.clone(),
                monitors: kept.monitors,
                found: self.premises.found.clone(),
                units,
            }),
        });
        for property in proved {
            claims.set(property, Claim::Proved(certificate.clone()));
        }
    }

    /// Whether a procedure ensures what it says: at its own end, and where it was inlined.
    fn ensured(&self, q: ProcId, property: PropertyId) -> Option<Result<(), Reason>> {
        let p = &self.basis.program;
        let fact = p.procedures[q].ensures.iter().find(|f| f.property == Some(property))?.formula?;
        let symbols = p.terms.free_symbols(fact);
        if p.vars.iter().any(|v| symbols.contains(&v.primed)) {
            return None;
        }
        match self.units.iter().find(|(u, _)| *u == CodeUnit::Procedure(q))? {
            (_, Err(reason)) => return Some(Err(reason.clone())),
            (_, Ok(_)) => {}
        }
        for (u, found) in &self.units {
            if let Ok(found) = found
                && let Some(failure) = found.open.get(&property)
            {
                return Some(Err(Reason::Alarm(explain::gate(self.basis, *u, property, failure))));
            }
        }
        Some(Ok(()))
    }

    /// Whether the property is shown; `None`: it is none of ours.
    fn judge(&self, property: PropertyId, task: &Task) -> Option<Result<(), Reason>> {
        let p = &self.basis.program;
        match &p.properties[property].kind {
            PropertyKind::Performs(q) => self.shown.contains(q).then_some(Ok(())),
            PropertyKind::Unmodelled(_) if of_inlining(&task.program, property) => Some(Ok(())),
            PropertyKind::Ensures(q) => self.ensured(*q, property),
            PropertyKind::Invariant(_)
            | PropertyKind::Rely(_)
            | PropertyKind::Follows(_)
            | PropertyKind::Linearizable(_)
            | PropertyKind::Deadlock
            | PropertyKind::Leak
            | PropertyKind::Unmodelled(_) => None,
            _ => {
                if p.objects.iter().any(|o| o.ops.iter().any(|op| has_gate_of(&op.code, property))) {
                    return None;
                }
                let mut any = false;
                for u in self.basis.units.iter().map(|u| u.unit).filter(|u| is_root(p, *u)) {
                    if !has_gate_of(self.basis.code(u), property) {
                        continue;
                    }
                    any = true;
                    match self.units.iter().find(|(x, _)| *x == u).map(|(_, f)| f) {
                        Some(Ok(found)) => {
                            if let Some(failure) = found.open.get(&property) {
                                return Some(Err(Reason::Alarm(explain::gate(self.basis, u, property, failure))));
                            }
                        }
                        Some(Err(reason)) => return Some(Err(reason.clone())),
                        None => return None,
                    }
                }
                // Gates that stand only in code of no unit are not ours; one that stands nowhere cannot fail.
                let elsewhere = p.procedures.iter().any(|q| has_gate_of(&q.code, property))
                    || task.program.threads.iter().any(|t| has_gate_of(&t.code, property));
                (any || !elsewhere).then_some(Ok(()))
            }
        }
    }
}

/// As the checker has it: threads, procedures with a specification, and all procedures of a file without threads.
fn is_root(p: &Program, unit: CodeUnit) -> bool {
    let CodeUnit::Procedure(q) = unit else { return true };
    let q = &p.procedures[q];
    let specified = q.performs.is_some() || !q.requires.is_empty() || !q.ensures.is_empty();
    !q.inline && (specified || p.threads.is_empty())
}

fn wanted(basis: &CallSummaries, unit: CodeUnit, open: &[PropertyId], found: &[PropertyId]) -> bool {
    let p = &basis.program;
    let code = basis.code(unit);
    let spawns = code.actions.iter().any(|a| a.spawn.is_some());
    let about = |q: &PropertyId| match p.properties[*q].kind {
        PropertyKind::Performs(of) | PropertyKind::Ensures(of) => unit == CodeUnit::Procedure(of),
        _ => has_gate_of(code, *q),
    };
    is_root(p, unit) && !spawns && open.iter().chain(found).any(about)
}

/// The units in groups, each after those that it calls by specification. Those that call each other come last, together.
fn levels(basis: &CallSummaries, jobs: Vec<UnitJob>) -> Vec<Vec<UnitJob>> {
    let mut rest = jobs;
    let mut out = Vec::new();
    while !rest.is_empty() {
        let waits_for = |job: &UnitJob| {
            let called = basis.unit(job.unit).map(|u| u.called.as_slice()).unwrap_or_default();
            called.iter().any(|q| rest.iter().any(|x| x.unit == CodeUnit::Procedure(*q)))
        };
        let waiting: Vec<bool> = rest.iter().map(waits_for).collect();
        if waiting.iter().all(|w| *w) {
            out.push(std::mem::take(&mut rest));
            break;
        }
        let (mut now, mut later) = (Vec::new(), Vec::new());
        for (job, waits) in rest.into_iter().zip(waiting) {
            if waits { later.push(job) } else { now.push(job) }
        }
        out.push(now);
        rest = later;
    }
    out
}

/// What was found of a unit, with the terms it is made of.
type Looked = Result<(Terms, ReducedUnit), Reason>;

/// Every job by as many workers as there may be. Each starts with the terms of the program, so that it does not matter who does
/// what.
fn side_by_side(
    basis: &CallSummaries,
    own: &[usize],
    jobs: &[UnitJob],
    premises: &Premises,
    (prompt, hiding): (&[ProcId], &Hiding),
    run: &Run,
) -> Result<Vec<Looked>, Reason> {
    let next = AtomicUsize::new(0);
    let (say, says) = channel::<(usize, Looked)>();
    std::thread::scope(|scope| {
        for w in 0..run.workers.clamp(1, (jobs.len() / MIN_UNITS_PER_WORKER).max(1)) {
            // Programs are not shared between threads.
            let (basis, say, next) = (basis.clone(), say.clone(), &next);
            let work = move || {
                while let i = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(job) = jobs.get(i)
                {
                    run.progress(format!("reduce: {}", basis.name(job.unit)));
                    let looked = one(&basis, own, job, (premises, prompt, hiding), run);
                    if say.send((i, looked)).is_err() {
                        return;
                    }
                }
            };
            let builder = std::thread::Builder::new().name(format!("reduce {w}")).stack_size(STACK_BYTES);
            let started = builder.spawn_scoped(scope, work);
            started.map_err(|e| Reason::Internal(format!("a thread could not be started: {e}")))?;
        }
        drop(say);
        let mut out: Vec<Option<Looked>> = jobs.iter().map(|_| None).collect();
        for (i, looked) in says {
            out[i] = Some(looked);
        }
        let lost = || Err(Reason::Internal("a worker ended early".into()));
        Ok(out.into_iter().map(|looked| looked.unwrap_or_else(lost)).collect())
    })
}

fn one(
    basis: &CallSummaries,
    own: &[usize],
    job: &UnitJob,
    (premises, prompt, hiding): (&Premises, &[ProcId], &Hiding),
    run: &Run,
) -> Looked {
    run.budget.check().map_err(Reason::Exhausted)?;
    if let Some(why) = &job.refused {
        return Err(why.clone());
    }
    let terms = basis.program.terms.clone();
    let alone = Run { budget: run.budget.share(UNIT_EFFORT), ..run.clone() };
    let setting = ReductionSetting::new(own, basis, (job.unit, premises), (prompt, hiding), &terms, &alone);
    let found = look(&setting, job.unit, job.performs)?;
    Ok((terms, found))
}

fn adopted(adopt: &mut Adopt<'_>, reduced: Reduced) -> Reduced {
    let cut = |c: CutPoint, adopt: &mut Adopt<'_>| CutPoint {
        formula: adopt.term(c.formula),
        rank: c.rank.map(|r| adopt.term(r)),
        ..c
    };
    Reduced {
        before: reduced.before.into_iter().map(|s| adopt.symbol(s)).collect(),
        cuts: reduced.cuts.into_iter().map(|c| cut(c, adopt)).collect(),
        ..reduced
    }
}

/// One unit. Where its written witnesses stand in the way of everything, that is reported.
fn look(s: &ReductionSetting<'_>, unit: CodeUnit, performs: bool) -> Result<ReducedUnit, Reason> {
    let mut heeded = ways(s, unit, performs, Witnesses::Heeded)?;
    let marks = written(s, unit);
    if heeded.strays.is_empty() || !performs || marks.is_empty() {
        return Ok(heeded);
    }
    let free = ways(s, unit, performs, Witnesses::PassedOver)?;
    if !free.strays.is_empty() {
        return Ok(free);
    }
    for stray in &mut heeded.strays {
        let on_the_way: Vec<_> = marks.iter().filter(|(a, _)| stray.steps.contains(a)).collect();
        let mut labels: Vec<&str> = on_the_way.iter().map(|(_, l)| *l).collect();
        labels.dedup();
        let blamed = match (on_the_way.last(), &labels[..]) {
            (Some((a, _)), [_, _, ..]) => Some((*a, labels.join(" and "))),
            (one, _) => stray.witness.take().or(one.copied().or(marks.first()).map(|(a, l)| (*a, l.to_string()))),
        };
        stray.witness = blamed;
    }
    heeded.strays.sort_by_key(|f| (!marks.iter().any(|(m, _)| f.steps.contains(m)), f.position));
    Ok(heeded)
}

/// In several ways until one shows everything.
fn ways(s: &ReductionSetting<'_>, unit: CodeUnit, performs: bool, witnesses: Witnesses) -> Result<ReducedUnit, Reason> {
    let heads: BTreeSet<_> = program::transition::loop_heads(s.basis.code(unit)).into_iter().collect();
    let none = BTreeSet::new();
    let first = MoverSearch::new(s, unit, performs, Taste::IdleFirst, witnesses)?.find(&none, Split::Greedy)?;
    if first.strays.is_empty() {
        return Ok(first);
    }
    // Loops where a run was cut in vain go inside a run; then other ways to read and to split.
    let cut_in_vain: BTreeSet<_> = first.strays.iter().map(|f| f.to).filter(|at| heads.contains(at)).collect();
    let ways = [
        (Taste::ActionFirst, &none, Split::Greedy),
        (Taste::IdleFirst, &cut_in_vain, Split::Greedy),
        (Taste::IdleFirst, &heads, Split::Greedy),
        (Taste::ActionFirst, &heads, Split::Greedy),
        (Taste::ActionFirst, &none, Split::Marked),
        (Taste::IdleFirst, &none, Split::Everywhere),
        (Taste::ActionFirst, &none, Split::Everywhere),
    ];
    let mut best = first;
    for (i, (taste, inner, split)) in ways.into_iter().enumerate() {
        let loops = matches!(i, 1..=3);
        if loops && inner.is_empty() {
            continue;
        }
        let next = MoverSearch::new(s, unit, performs, taste, witnesses)?.find(inner, split)?;
        if next.strays.is_empty() {
            return Ok(next);
        }
        // With the loop inside the run, what remains is nearer to the cause; unless one turn of the loop is the cause.
        let turn = best.strays.iter().any(|f| f.from == f.to);
        if i == 1 && !turn {
            best = next;
        }
    }
    Ok(best)
}
