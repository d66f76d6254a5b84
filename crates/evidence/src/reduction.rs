//! The certificate of rule `reduction`: where the runs of right movers, one step and left movers are cut, and what holds there.
//!
//! Calvin-R, figures 6 and 8. Formulas are over the program without calls (`program::call_summaries`), which the checker builds
//! again: the certificate's terms extend that program's.
//! In: a program. Out: `Basis`, the program without calls that a certificate of this form is about.

use logic::{SortKind, Symbol, Term};
use program::access::{Touches, predicate};
use program::call_summaries::{CallSummaries, CodeUnit, call_summaries};
use program::symbolic::SymbolicStore;
use program::{
    AccessPredicate, Action, ActionId, Code, Gate, LocId, ProcId, Program, Property, PropertyId, PropertyKind, Scope,
    VarId, VarKind,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// Variables without an access predicate of their own, each with the lock that was found to guard it.
    pub guards: Vec<Guard>,
    /// The procedures whose calls are replaced by what they perform, increasing; each is a unit below.
    pub specified: Vec<ProcId>,
    /// Written invariants of the program that every step keeps, whoever takes it, and written relies that every step is one of: what is
    /// shown may rest on them.
    pub premises: Vec<PropertyId>,
    /// Those of its relies that hold of any number of steps of others together, as they do of one.
    pub lasting: Vec<PropertyId>,
    /// Procedures by specification that never wait and end, each calling by specification only those before it.
    pub prompt: Vec<ProcId>,
    /// Private variables that calls are seen without (`program::hidden`), increasing.
    pub hidden: Vec<VarId>,
    /// Locks among them of which it is shown that whoever holds one gives it back without waiting: a prompt owner may wait for them.
    pub monitors: Vec<VarId>,
    /// Invariants that nobody wrote, over the shared store: shown like written ones, and premises like them.
    pub found: Vec<Term>,
    pub units: Vec<Reduced>,
}

/// `var guarded_by lock`; where the lock is a map too, entry by entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard {
    pub var: VarId,
    pub lock: VarId,
}

/// The program a certificate speaks of.
#[derive(Clone, Debug)]
pub struct Basis {
    /// Without calls, with the found access predicates.
    pub specified: CallSummaries,
    /// The properties that the found predicates are respected, one for each guard: to be shown, not assumed.
    pub found: Vec<PropertyId>,
}

/// One thread or procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    pub unit: CodeUnit,
    /// One symbol for each shared variable: its value where the run at hand began.
    pub before: Vec<Symbol>,
    /// The actions that move to the right wherever a run has not committed, increasing.
    pub right: Vec<ActionId>,
    pub cuts: Vec<CutPoint>,
}

/// What holds at a location on every way there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutPoint {
    pub location: LocId,
    /// The last action of the specification that was performed (`program::order`); 0: none yet.
    pub position: u32,
    pub phase: MoverPhase,
    /// Over the shared store, the unit's own variables and `tid`; inside a run also over `before`.
    pub formula: Term,
    /// Inside the left movers, everywhere in a prompt procedure, and inside the runs of an owner of monitors: what comes down with every turn of a loop.
    pub rank: Option<Term>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MoverPhase {
    /// Between two runs: other threads may have moved.
    Between,
    /// Inside a run, before it commits.
    Right,
    /// Inside a run, after.
    Left,
}

impl MoverPhase {
    pub const ALL: [(MoverPhase, &'static str); 3] =
        [(MoverPhase::Between, "between"), (MoverPhase::Right, "right"), (MoverPhase::Left, "left")];

    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(p, _)| *p == self).map_or("", |(_, w)| w)
    }
}

impl Reduction {
    /// The program that the certificate speaks of; why there is none.
    pub fn basis(&self, program: &Program) -> Result<Basis, String> {
        basis(program, &self.guards, &self.specified)
    }
}

/// The program with the guards as access predicates (every access a gate), then without calls.
pub fn basis(program: &Program, guards: &[Guard], by_performs: &[ProcId]) -> Result<Basis, String> {
    if guards.is_empty() {
        return Ok(Basis { specified: call_summaries(program, by_performs), found: Vec::new() });
    }
    let mut p = program.clone();
    let mut found = Vec::new();
    for g in guards {
        found.push(guard(&mut p, *g)?);
    }
    let gated = p.clone();
    let touches = Touches::new(&gated, &gated.terms);
    let add = |code: &mut Code| code.actions.iter_mut().for_each(|a| gates(&gated, &touches, guards, &found, a));
    for t in p.threads.iter_mut() {
        add(&mut t.code);
        t.outline.iter_mut().for_each(add);
    }
    p.procedures.iter_mut().for_each(|q| add(&mut q.code));
    p.objects.iter_mut().for_each(|o| o.ops.iter_mut().for_each(|op| add(&mut op.code)));
    p.terms = gated.terms.clone();
    Ok(Basis { specified: call_summaries(&p, by_performs), found })
}

/// Declares the predicate `lock == 0 || lock == tid`.
fn guard(p: &mut Program, g: Guard) -> Result<PropertyId, String> {
    let (Some(var), Some(lock)) = (p.vars.get(g.var), p.vars.get(g.lock)) else {
        return Err("a guard names a variable that does not exist".into());
    };
    let free = var.scope == Scope::Shared && var.kind == VarKind::Plain;
    if !free || var.access.as_ref().is_some_and(|a| a.formula.is_some()) {
        return Err(format!("`{}` cannot be given an access predicate", var.name));
    }
    if lock.scope != Scope::Shared || lock.kind != VarKind::Lock {
        return Err(format!("`{}` is no lock", lock.name));
    }
    let t = &p.terms;
    let (key, of_lock) = (t.kind(var.sort), t.kind(lock.sort));
    let (binders, holder) = match (key, of_lock) {
        (SortKind::Map(k, _), SortKind::Map(l, inner)) if k == l && t.kind(inner) == SortKind::Int => {
            let binder = t.symbol("guarded", k);
            (vec![binder], t.select(t.sym(lock.symbol), t.sym(binder)))
        }
        (SortKind::Map(k, _), SortKind::Int) => (vec![t.symbol("guarded", k)], t.sym(lock.symbol)),
        (_, SortKind::Int) => (Vec::new(), t.sym(lock.symbol)),
        _ => return Err(format!("`{}` does not fit `{}`", lock.name, var.name)),
    };
    let formula = t.or(&[t.eq(holder, t.int(0)), t.eq(holder, t.sym(p.tid))]);
    let (origin, name) = (var.origin, format!("found:{}", var.name));
    p.vars[g.var].access = Some(AccessPredicate { binders, formula: Some(formula), writing: None, origin });
    Ok(p.properties.push(Property { kind: PropertyKind::Access(g.var), name, origin }))
}

/// Every access of a guarded variable becomes a gate.
fn gates(p: &Program, touches: &Touches<'_>, guards: &[Guard], found: &[PropertyId], a: &mut Action) {
    let (t, tid) = (&p.terms, p.terms.sym(p.tid));
    let mut new = Vec::new();
    for touch in touches.of(a) {
        let Some(i) = guards.iter().position(|g| g.var == touch.place.var) else { continue };
        if let Some(f) = predicate(p, t, &touch.place, touch.mode, tid, &SymbolicStore::default()) {
            let needed = t.forall(&f.any, f.formula);
            let formula = if t.is_true(touch.when) { needed } else { t.implies(touch.when, needed) };
            new.push(Gate { property: found[i], formula });
        }
    }
    // First, so that what follows may rest on them: they are shown in any case.
    a.gates.splice(0..0, new);
}
