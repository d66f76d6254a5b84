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
use program::call_summaries::{CallSummaries, CodeUnit, of_inlining};
use program::{Code, ProcId, Program, PropertyId, PropertyKind};
use rustc_hash::FxHashSet;

/// For each unit of the certificate.
pub(crate) struct UnitNeeds {
    /// Whether it is shown to perform its specification.
    pub performs: Vec<bool>,
    /// The claimed properties that rest on it.
    pub all: Vec<Vec<PropertyId>>,
    /// The claimed properties that rest on what it performs.
    pub performing: Vec<Vec<PropertyId>>,
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
        if !fine || !seen.contains(&CodeUnit::Procedure(*q)) {
            return Err(Rejection::shape("a procedure used by specification is not shown to perform it"));
        }
    }
    for (i, q) in proof.prompt.iter().enumerate() {
        let called = basis.unit(CodeUnit::Procedure(*q)).map(|u| u.called.as_slice()).unwrap_or_default();
        let earlier = &proof.prompt[..i];
        if !proof.specified.contains(q) || earlier.contains(q) || called.iter().any(|c| !earlier.contains(c)) {
            return Err(Rejection::shape(
                "a prompt procedure is listed twice, or calls one that is not listed before it",
            ));
        }
    }
    for (u, performs) in proof.units.iter().zip(&performs) {
        let prompt = matches!(u.unit, CodeUnit::Procedure(q) if proof.prompt.contains(&q));
        unit(basis, terms, u, *performs, prompt)?;
    }
    let direct: Vec<Vec<usize>> =
        claimed.iter().map(|c| units_of(program, basis, proof, *c)).collect::<Result<_, _>>()?;
    Ok(needs(basis, proof, claimed, performs, &direct))
}

fn performing(p: &Program, proof: &Reduction, claimed: &[PropertyId], unit: CodeUnit) -> bool {
    let CodeUnit::Procedure(q) = unit else { return false };
    let Some((_, property)) = &p.procedures[q].performs else { return false };
    proof.specified.contains(&q) || claimed.contains(property)
}

fn unit(basis: &CallSummaries, terms: &Terms, u: &Reduced, performs: bool, prompt: bool) -> Result<(), Rejection> {
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
    let mut between = AllowedSymbols::shared(p);
    between.extend(own);
    between.push(p.tid);
    let mut within = between.clone();
    within.extend(&u.before);
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
            Some(_) if !prompt && c.phase != MoverPhase::Left => {
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
) -> UnitNeeds {
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
    let mut out = UnitNeeds { performs, all: vec![Vec::new(); n], performing: vec![Vec::new(); n] };
    for (c, direct) in claimed.iter().zip(direct) {
        let mut reached: FxHashSet<usize> = FxHashSet::default();
        let mut todo = direct.clone();
        let mut used: FxHashSet<usize> = FxHashSet::default();
        if matches!(basis.program.properties[*c].kind, PropertyKind::Performs(_)) {
            used.extend(direct);
        }
        while let Some(u) = todo.pop() {
            if reached.insert(u) {
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
    out
}
