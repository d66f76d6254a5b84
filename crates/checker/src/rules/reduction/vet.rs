//! What must be right about a certificate of rule `reduction` before any formula is looked at, and which properties
//! need which units.
//!
//! In: the program without calls, the certificate, the claimed properties. Out: for each property the code units that
//! its proof must cover, or a `Rejection` (a guard that is none, cuts that are not in the code, symbols that are not
//! new). Deliberately absent: obligations; they are in the files beside this one.

use crate::obligation::AllowedSymbols;
use crate::rejection::{Rejection, SideCondition};
use evidence::{CutPoint, MoverPhase, Reduced, Reduction};
use logic::{Sort, Symbol, Terms};
use program::call_summaries::{CallSummaries, CodeUnit, SummarizedUnit, of_inlining};
use program::hidden::{Hidden, named_in_code};
use program::{Code, ProcId, Program, PropertyId, PropertyKind, VarId, VarKind};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// For each unit of the certificate.
pub(crate) struct UnitNeeds {
    /// Whether it is shown to perform its specification.
    pub performs: Vec<bool>,
    /// The claimed properties that rest on it.
    pub all: Vec<Vec<PropertyId>>,
    /// The claimed properties that rest on what it performs.
    pub performing: Vec<Vec<PropertyId>>,
    /// The owners of the variables that the certificate hides.
    pub owners: BTreeSet<ProcId>,
}

pub(crate) fn vet_reduction(
    program: &Program,
    basis: &CallSummaries,
    terms: &Terms,
    proof: &Reduction,
    claimed: &[PropertyId],
) -> Result<UnitNeeds, Rejection> {
    let p = &basis.program;
    if proof.specified.windows(2).any(|w| w[0] >= w[1]) {
        return Err(Rejection::shape("the procedures used by specification are not in order"));
    }
    let mut seen: FxHashSet<CodeUnit> = FxHashSet::default();
    for u in &proof.units {
        let exists = match u.unit {
            CodeUnit::Thread(t) => p.threads.get(t).is_some(),
            CodeUnit::Procedure(q) => p.procedures.get(q).is_some(),
        };
        if !exists || !seen.insert(u.unit) {
            return Err(Rejection::shape("a unit does not exist, or is there twice"));
        }
    }
    let performs: Vec<bool> = proof.units.iter().map(|u| performing(p, proof, claimed, u.unit)).collect();
    for q in &proof.specified {
        let fine = p
            .procedures
            .get(*q)
            .is_some_and(|x| x.performs.is_some() && x.requires.iter().all(|f| f.formula.is_some()));
        if !fine {
            return Err(Rejection::shape("a procedure used by specification has none, or asks for what it requires"));
        }
    }
    for (i, q) in proof.prompt.iter().enumerate() {
        let called = basis.unit(CodeUnit::Procedure(*q)).map(|u| u.called.as_slice()).unwrap_or_default();
        let earlier = &proof.prompt[..i];
        if !seen.contains(&CodeUnit::Procedure(*q))
            || !proof.specified.contains(q)
            || earlier.contains(q)
            || called.iter().any(|c| !earlier.contains(c))
        {
            return Err(Rejection::shape(
                "a prompt procedure is listed twice, or calls one that is not listed before it",
            ));
        }
    }
    let owners = hides(program, basis, proof)?;
    for (u, performs) in proof.units.iter().zip(&performs) {
        let listed = |list: &dyn Fn(ProcId) -> bool| matches!(u.unit, CodeUnit::Procedure(q) if list(q));
        let owner = listed(&|q| owners.contains(&q));
        let may = MayHave {
            performs: *performs,
            prompt: listed(&|q| proof.prompt.contains(&q)),
            owner_of_monitors: owner && !proof.monitors.is_empty(),
            unseen: if owner { &[] } else { &proof.hidden },
        };
        unit(basis, terms, u, &may)?;
    }
    let without_unit = proof.specified.iter().any(|q| !seen.contains(&CodeUnit::Procedure(*q)));
    let direct = claimed.iter().map(|c| units_of(program, basis, proof, *c)).collect::<Result<Vec<_>, _>>();
    let direct = match direct {
        Err(_) if without_unit => {
            return Err(Rejection::shape("a procedure used by specification is not shown to perform it"));
        }
        found => found?,
    };
    let has_one = |q: &ProcId| {
        let named = named_in_code(p, basis.code(CodeUnit::Procedure(*q)));
        proof.monitors.iter().any(|l| named.contains(l))
    };
    if owners.iter().any(|q| has_one(q) && !seen.contains(&CodeUnit::Procedure(*q))) {
        return Err(Rejection::shape("an owner of monitors is not in the certificate"));
    }
    Ok(UnitNeeds { owners, ..needs(basis, proof, claimed, performs, &direct)? })
}

/// That calls can be seen without the variables that the certificate hides; their owners.
fn hides(program: &Program, basis: &CallSummaries, proof: &Reduction) -> Result<BTreeSet<ProcId>, Rejection> {
    let p = &basis.program;
    if proof.hidden.is_empty() {
        let none = proof.monitors.is_empty();
        return if none { Ok(BTreeSet::new()) } else { Err(Rejection::shape("a monitor is not hidden")) };
    }
    let may = Hidden::of(program);
    if proof.hidden.windows(2).any(|w| w[0] >= w[1]) || proof.hidden.iter().any(|v| !may.vars.contains(v)) {
        return Err(Rejection::shape("a variable is hidden that callers see"));
    }
    let hidden = |v: &VarId| proof.hidden.contains(v);
    let symbols: FxHashSet<Symbol> = proof.hidden.iter().flat_map(|v| [p.vars[*v].symbol, p.vars[*v].primed]).collect();
    for v in p.shared().filter(|v| !hidden(v)) {
        let mut access = p.vars[v].access.iter().flat_map(|a| a.formula.into_iter().chain(a.writing));
        if access.any(|f| p.terms.free_symbols(f).iter().any(|s| symbols.contains(s))) {
            let name = &p.vars[v].name;
            return Err(Rejection::shape(format!("who may access `{name}` depends on a hidden variable")));
        }
    }
    let mut owners = BTreeSet::new();
    for u in &basis.units {
        if !named_in_code(p, basis.code(u.unit)).iter().any(hidden) {
            continue;
        }
        match u.unit {
            CodeUnit::Procedure(q) if proof.specified.contains(&q) && may.owners.contains(&q) => {
                owners.insert(q);
            }
            CodeUnit::Procedure(_) if !is_root(p, u.unit) => {}
            _ => return Err(Rejection::shape(format!("{} names a hidden variable", basis.name(u.unit)))),
        }
    }
    for q in &owners {
        let called = basis.unit(CodeUnit::Procedure(*q)).map(|u| u.called.as_slice()).unwrap_or_default();
        if called.iter().any(|c| owners.contains(c)) {
            return Err(Rejection::shape("an owner of hidden variables calls another by specification"));
        }
    }
    let atomic = |u: &SummarizedUnit| {
        let inside = u.inside.iter().filter(|(_, q)| owners.contains(q));
        inside.into_iter().any(|(at, _)| basis.code(u.unit).locations[*at].in_atomic_block)
    };
    if basis.units.iter().any(atomic) {
        return Err(Rejection::shape("an owner of hidden variables is called inside an atomic block"));
    }
    let zero = p.terms.int(0);
    let lock = |v: &VarId| p.vars[*v].kind == VarKind::Lock && p.vars[*v].initial == Some(zero);
    if proof.monitors.iter().any(|v| !hidden(v) || !lock(v) || p.vars[*v].sort != Sort::INT) {
        return Err(Rejection::shape("a monitor is not hidden, or no lock that begins free"));
    }
    Ok(owners)
}

fn performing(p: &Program, proof: &Reduction, claimed: &[PropertyId], unit: CodeUnit) -> bool {
    let CodeUnit::Procedure(q) = unit else { return false };
    let Some((_, property)) = &p.procedures[q].performs else { return false };
    proof.specified.contains(&q) || claimed.contains(property)
}

/// What the certificate of a unit may have.
struct MayHave<'a> {
    performs: bool,
    prompt: bool,
    /// Then it has ranks inside its runs.
    owner_of_monitors: bool,
    /// Hidden variables, which no cut of the unit names.
    unseen: &'a [VarId],
}

fn unit(basis: &CallSummaries, terms: &Terms, u: &Reduced, may: &MayHave<'_>) -> Result<(), Rejection> {
    let (performs, prompt) = (may.performs, may.prompt);
    let p = &basis.program;
    let code = basis.code(u.unit);
    let name = basis.name(u.unit);
    let wrong = |what: &str| Err(Rejection::shape(format!("{name}: {what}")));
    if !code.calls.is_empty() {
        return wrong("its calls could not be replaced");
    }
    if code.actions.iter().any(|a| a.spawn.is_some()) {
        return wrong("it spawns threads");
    }
    if code.locations.get(code.entry).is_none() {
        return wrong("it has no code");
    }
    let shared: Vec<Sort> = p.shared().map(|v| p.vars[v].sort).collect();
    let known = p.terms.symbol_count() as u32;
    let distinct: FxHashSet<Symbol> = u.before.iter().copied().collect();
    let fits = u.before.len() == shared.len()
        && distinct.len() == shared.len()
        && u.before
            .iter()
            .zip(&shared)
            .all(|(s, sort)| s.0 >= known && s.index() < terms.symbol_count() && terms.symbol_sort(*s) == *sort);
    if !fits {
        return wrong("the symbols for the begin of a run are not new ones of the right sorts");
    }
    if u.right.iter().any(|a| code.actions.get(*a).is_none()) {
        return wrong("a right mover does not exist");
    }
    let positions = match u.unit {
        CodeUnit::Procedure(q) if performs => p.procedures[q].performs.as_ref().map_or(0, |(s, _)| s.actions().len()),
        _ => 0,
    };
    let own: Vec<Symbol> = basis.locals(u.unit).into_iter().map(|v| p.vars[v].symbol).collect();
    // No other thread changes these.
    let constants = program::access::constants(p).into_iter().map(|v| p.vars[v].symbol);
    let steady: FxHashSet<Symbol> = own.iter().copied().chain(constants).chain([p.tid]).collect();
    let shared = p.shared().filter(|v| !may.unseen.contains(v));
    let mut between: Vec<Symbol> = shared.map(|v| p.vars[v].symbol).collect();
    between.extend(own);
    between.push(p.tid);
    let mut within = between.clone();
    let seen = p.shared().zip(&u.before).filter(|(v, _)| !may.unseen.contains(v));
    within.extend(seen.map(|(_, s)| *s));
    // The values of variables along a run speak of the inputs of its steps.
    let chosen = || code.actions.iter().flat_map(|a| a.inputs.iter().copied()).chain(u.before.iter().copied());
    let between = AllowedSymbols::new(p, between).reserving(chosen());
    let within = AllowedSymbols::new(p, within).reserving(chosen());
    for c in &u.cuts {
        let vocabulary = if c.phase == MoverPhase::Between { &between } else { &within };
        cut(terms, code, c, vocabulary, positions)?;
        match c.rank {
            Some(r) if prompt && terms.free_symbols(r).iter().any(|s| !steady.contains(s)) => {
                return wrong("a rank of a prompt procedure speaks of what others may change");
            }
            Some(_) if !prompt && c.phase == MoverPhase::Between => {
                return wrong("only cuts among left movers have a rank");
            }
            Some(_) if !prompt && !may.owner_of_monitors && c.phase != MoverPhase::Left => {
                return wrong("only cuts among left movers have a rank");
            }
            _ => {}
        }
    }
    if code.exit.is_some_and(|e| u.cuts.iter().any(|c| c.location == e && c.phase != MoverPhase::Between)) {
        return wrong("a run goes on after the exit");
    }
    // An exit without a cut would be an end of the piece where nothing is asked.
    let reaches_exit = code.exit.is_some_and(|e| !u.cuts.iter().any(|c| c.location == e));
    if reaches_exit {
        return wrong("its exit has no cut");
    }
    Ok(())
}

fn cut(
    terms: &Terms,
    code: &Code,
    c: &CutPoint,
    vocabulary: &AllowedSymbols,
    positions: usize,
) -> Result<(), Rejection> {
    if code.locations.get(c.location).is_none() || c.position as usize > positions {
        return Err(Rejection::shape("a cut is at no location or position"));
    }
    let what = format!("a cut at {}", c.location);
    vocabulary.admits(terms, c.formula, &what)?;
    let Some(rank) = c.rank else { return Ok(()) };
    if terms.sort_of(rank) != Sort::INT {
        return Err(Rejection::shape("a rank is not an integer"));
    }
    match vocabulary.stranger(terms, rank) {
        Some(s) => Err(SideCondition::Vocabulary { what, symbol: terms.symbol_name(s) }.into()),
        None => Ok(()),
    }
}

/// The units that a claimed property speaks of; an error where the rule does not cover all of them.
fn units_of(
    program: &Program,
    basis: &CallSummaries,
    proof: &Reduction,
    claimed: PropertyId,
) -> Result<Vec<usize>, Rejection> {
    let p = &basis.program;
    let property = &p.properties[claimed];
    let at = |unit: CodeUnit| proof.units.iter().position(|u| u.unit == unit);
    let missing = || Rejection::missing(format!("not all that {} speaks of is in the certificate", property.name));
    match &property.kind {
        PropertyKind::Performs(q) => match &p.procedures[*q].performs {
            Some((_, own)) if *own == claimed => Ok(vec![at(CodeUnit::Procedure(*q)).ok_or_else(missing)?]),
            _ => Err(missing()),
        },
        PropertyKind::Ensures(q) => {
            let fact = p.procedures[*q].ensures.iter().find(|f| f.property == Some(claimed)).and_then(|f| f.formula);
            let primed = |s: &Symbol| p.vars.iter().any(|v| v.primed == *s);
            match fact {
                Some(f) if !p.terms.free_symbols(f).iter().any(primed) => {
                    Ok(vec![at(CodeUnit::Procedure(*q)).ok_or_else(missing)?])
                }
                _ => Err(Rejection::not_about(p, claimed)),
            }
        }
        // No step that this rule looks at: calls are kept.
        PropertyKind::Unmodelled(_) if of_inlining(program, claimed) => Ok(Vec::new()),
        PropertyKind::Invariant(_)
        | PropertyKind::Rely(_)
        | PropertyKind::Follows(_)
        | PropertyKind::Linearizable(_)
        | PropertyKind::Deadlock
        | PropertyKind::Leak
        | PropertyKind::Unmodelled(_) => Err(Rejection::not_about(p, claimed)),
        _ => {
            let gated = |code: &Code| code.actions.iter().any(|a| a.gates.iter().any(|g| g.property == claimed));
            if p.objects.iter().any(|o| o.ops.iter().any(|op| gated(&op.code))) {
                return Err(missing());
            }
            let roots = basis.units.iter().map(|u| u.unit).filter(|u| is_root(p, *u));
            let found: Vec<usize> =
                roots.filter(|u| gated(basis.code(*u))).map(|u| at(u).ok_or_else(missing)).collect::<Result<_, _>>()?;
            // A property that no code speaks of holds; one that only other code speaks of is not ours.
            let threads = program.threads.iter().any(|t| gated(&t.code) || t.outline.as_ref().is_some_and(gated));
            let elsewhere = threads || program.procedures.iter().any(|q| gated(&q.code));
            if found.is_empty() && elsewhere { Err(missing()) } else { Ok(found) }
        }
    }
}

/// Threads, and procedures that anybody may call: those with a specification, and all of a file without threads. A
/// procedure without one is part of the threads that call it.
fn is_root(p: &Program, unit: CodeUnit) -> bool {
    let CodeUnit::Procedure(q) = unit else { return true };
    let q = &p.procedures[q];
    let specified = q.performs.is_some() || !q.requires.is_empty() || !q.ensures.is_empty();
    !q.inline && (specified || p.threads.is_empty())
}

fn needs(
    basis: &CallSummaries,
    proof: &Reduction,
    claimed: &[PropertyId],
    performs: Vec<bool>,
    direct: &[Vec<usize>],
) -> Result<UnitNeeds, Rejection> {
    let called: Vec<Vec<usize>> = proof
        .units
        .iter()
        .map(|u| {
            let list: &[ProcId] = basis.unit(u.unit).map(|r| r.called.as_slice()).unwrap_or_default();
            proof
                .units
                .iter()
                .enumerate()
                .filter(|(_, v)| list.iter().any(|q| v.unit == CodeUnit::Procedure(*q)))
                .map(|(i, _)| i)
                .collect()
        })
        .collect();
    let n = proof.units.len();
    let mut out =
        UnitNeeds { performs, all: vec![Vec::new(); n], performing: vec![Vec::new(); n], owners: BTreeSet::new() };
    for (c, direct) in claimed.iter().zip(direct) {
        let mut reached: FxHashSet<usize> = FxHashSet::default();
        let mut todo = direct.clone();
        let mut used: FxHashSet<usize> = FxHashSet::default();
        if matches!(basis.program.properties[*c].kind, PropertyKind::Performs(_)) {
            used.extend(direct);
        }
        while let Some(u) = todo.pop() {
            if reached.insert(u) {
                let callees = basis.unit(proof.units[u].unit).map(|r| r.called.as_slice()).unwrap_or_default();
                if callees.len() != called[u].len() {
                    return Err(Rejection::shape("a procedure used by specification is not shown to perform it"));
                }
                used.extend(&called[u]);
                todo.extend(&called[u]);
            }
        }
        for u in 0..n {
            if reached.contains(&u) {
                out.all[u].push(*c);
            }
            if used.contains(&u) {
                out.performing[u].push(*c);
            }
        }
    }
    Ok(out)
}
