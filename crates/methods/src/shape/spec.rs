//! The sequential specification's operations, compiled to run on the ghost part of a view.
//!
//! In: the code of one `SpecOp`. Out: the same code over the ends of the ghost sequence (or the one key's membership), the
//! operation's parameters and the ghost results; and its pure paths: those that change nothing, with their conditions.
//! What a specification may do to its state is listed in `SpecChange`; anything else is a refusal.

use super::expr::{Compiled, Constant, Ex, ExId, ShapeCompiler, SymbolMeaning};
use super::types::{ShapeType, ShapeTypes};
use super::view::{Code, OPEN};
use logic::{Node, Op, Symbol, Term};
use program::{LocId, Program, SpecOp};
use rustc_hash::FxHashMap;

pub(crate) struct SpecOperation {
    pub entry: LocId,
    pub exit: LocId,
    pub steps: Vec<SpecStep>,
    /// Ghost results before the run.
    pub start: Vec<Code>,
    /// Paths from entry to exit that change nothing and give known results.
    pub(crate) pure: Vec<Pure>,
}

/// A path by its steps, and the results it gives.
pub(crate) struct Pure {
    pub steps: Vec<u16>,
    pub results: Vec<Code>,
}

pub(crate) struct SpecStep {
    pub from: LocId,
    pub to: LocId,
    pub(crate) arena: Vec<Ex>,
    pub guard: ExId,
    pub gates: Vec<ExId>,
    /// Ghost result slots and their values.
    pub results: Vec<(u16, ExId)>,
    pub change: Option<SpecChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpecChange {
    PushFront(ExId),
    PushBack(ExId),
    PopFront,
    AddKey(ExId),
    RemoveKey(ExId),
}

impl SpecOperation {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn compile(
        program: &Program,
        types: &mut ShapeTypes,
        meaning: &FxHashMap<Symbol, SymbolMeaning>,
        constants: &mut Vec<Constant>,
        op: &SpecOp,
        collection: Option<Symbol>,
        params: &[u16],
        results: u16,
    ) -> Compiled<Self> {
        let terms = &program.terms;
        let mut local = FxHashMap::default();
        for (p, slot) in op.params.iter().zip(params) {
            local.insert(program.vars[*p].symbol, SymbolMeaning::Slot(*slot));
        }
        for (i, r) in op.results.iter().enumerate() {
            local.insert(program.vars[*r].symbol, SymbolMeaning::Slot(results + i as u16));
        }
        if let Some(s) = collection {
            local.insert(s, SymbolMeaning::Collection);
        }
        let slot_of = |v| match local.get(&program.vars[v].symbol) {
            Some(SymbolMeaning::Slot(s)) => Some(*s),
            _ => None,
        };
        let mut steps = Vec::new();
        for action in op.code.actions.iter() {
            if !action.inputs.is_empty() {
                return Err("a specification that chooses a value".into());
            }
            // Outcomes of the specification are looked at for whoever waits for them, not only for the thread that moves.
            let mut all = action.updates.iter().map(|u| u.value).chain(action.gates.iter().map(|g| g.formula));
            if terms.free_symbols(action.guard).contains(&program.tid)
                || all.any(|t| terms.free_symbols(t).contains(&program.tid))
            {
                return Err("a specification that depends on which thread calls".into());
            }
            let mut c = ShapeCompiler::new(terms, types, meaning, constants);
            c.local = local.clone();
            let guard = c.term(action.guard, None)?;
            let mut gates = Vec::new();
            for g in &action.gates {
                gates.push(c.term(g.formula, None)?);
            }
            let (mut values, mut change) = (Vec::new(), None);
            for u in &action.updates {
                let v = &program.vars[u.var];
                if Some(v.symbol) == collection {
                    change = change_of(&mut c, u.value, v.symbol)?;
                } else if let Some(slot) = slot_of(u.var).filter(|_| op.results.contains(&u.var)) {
                    let ty = c.types.of(terms, v.symbol, v.sort);
                    values.push((slot, c.term(u.value, ty)?));
                } else {
                    return Err(format!("a specification that assigns {}", v.name));
                }
            }
            // A call about another key than the one of the proof is left out, so nothing may depend on any key but its own.
            let own = |e: ExId, arena: &[Ex]| matches!(arena[e as usize], Ex::Slot(s) if params.contains(&s));
            let keys = c.arena.iter().filter_map(|x| if let Ex::HasKey(e) = x { Some(*e) } else { None });
            let keys = keys.chain(match change {
                Some(SpecChange::AddKey(e) | SpecChange::RemoveKey(e)) => Some(e),
                _ => None,
            });
            if !keys.collect::<Vec<_>>().into_iter().all(|e| own(e, &c.arena)) {
                return Err("a specification that looks at another key than the call's own".into());
            }
            steps.push(SpecStep {
                from: action.from,
                to: action.to,
                arena: c.arena,
                guard,
                gates,
                results: values,
                change,
            });
        }
        let start = op
            .results
            .iter()
            .map(|r| {
                let v = &program.vars[*r];
                let Some(value) = v.initial else { return Ok(OPEN) };
                let mut c = ShapeCompiler::new(terms, types, meaning, constants);
                let ty: Option<ShapeType> = c.types.of(terms, v.symbol, v.sort);
                let at = c.term(value, ty)?;
                if let Ex::Code(code) = c.arena[at as usize] { Ok(code) } else { Ok(OPEN) }
            })
            .collect::<Compiled<Vec<Code>>>()?;
        let Some(exit) = op.code.exit else { return Err("a specification that does not end".into()) };
        let mut out = Self { entry: op.code.entry, exit, steps, start, pure: Vec::new() };
        // Of a set, outcomes are distinguished by membership instead.
        out.pure =
            if out.steps.iter().any(|s| matches!(s.change, Some(SpecChange::AddKey(_) | SpecChange::RemoveKey(_)))) {
                Vec::new()
            } else {
                out.pure_paths(results)?
            };
        Ok(out)
    }
    /// Paths without a change whose results are constants; one whose results depend on the state is never taken for granted.
    fn pure_paths(&self, base: u16) -> Compiled<Vec<Pure>> {
        let mut found = Vec::new();
        let mut todo = vec![(self.entry, Vec::new(), self.start.clone())];
        while let Some((at, path, results)) = todo.pop() {
            if at == self.exit {
                found.push(Pure { steps: path, results });
                continue;
            }
            if path.len() > self.steps.len() {
                return Err("a specification with a loop".into());
            }
            for (i, step) in self.steps.iter().enumerate().filter(|(_, s)| s.from == at && s.change.is_none()) {
                let mut next = results.clone();
                let mut known = true;
                for (slot, value) in &step.results {
                    match step.arena[*value as usize] {
                        Ex::Code(code) => next[(*slot - base) as usize] = code,
                        Ex::Slot(s) if (base..base + next.len() as u16).contains(&s) => {
                            next[(*slot - base) as usize] = results[(s - base) as usize];
                        }
                        _ => known = false,
                    }
                }
                if known {
                    todo.push((step.to, [path.as_slice(), &[i as u16]].concat(), next));
                }
            }
        }
        found.sort_by(|a, b| a.steps.cmp(&b.steps));
        if found.len() > 8 { Err("more pure paths than fit in a view".into()) } else { Ok(found) }
    }
}

fn change_of(c: &mut ShapeCompiler<'_>, value: Term, collection: Symbol) -> Compiled<Option<SpecChange>> {
    let terms = c.terms;
    let is_state = |t: Term| terms.as_symbol(t) == Some(collection);
    if is_state(value) {
        return Ok(None);
    }
    let unit = |t: Term| match terms.app(t) {
        Some((Op::Unit, a)) => Some(a[0]),
        _ => None,
    };
    let single = |t: Term| match terms.app(t) {
        Some((Op::Insert, a)) if matches!(terms.app(a[1]), Some((Op::EmptySet(_), _))) => Some(a[0]),
        _ => None,
    };
    let refusal = || Err(format!("what the specification does to its state: {}", terms.show(value)));
    let Some((op, args)) = terms.app(value) else { return refusal() };
    Ok(Some(match op {
        Op::Concat => match (unit(args[0]), unit(args[1])) {
            (Some(v), _) if is_state(args[1]) => SpecChange::PushFront(c.term(v, None)?),
            (_, Some(v)) if is_state(args[0]) => SpecChange::PushBack(c.term(v, None)?),
            _ => return refusal(),
        },
        Op::Slice if is_state(args[0]) => {
            let one = matches!(terms.node(args[1]), Node::Num(1, _));
            let whole = matches!(terms.app(args[2]), Some((Op::Len, a)) if is_state(a[0]));
            if !(one && whole) {
                return refusal();
            }
            SpecChange::PopFront
        }
        Op::Union if is_state(args[0]) => match single(args[1]) {
            Some(k) => SpecChange::AddKey(c.term(k, Some(ShapeType::Key))?),
            None => return refusal(),
        },
        Op::Insert if is_state(args[1]) => SpecChange::AddKey(c.term(args[0], Some(ShapeType::Key))?),
        Op::Minus if is_state(args[0]) => match single(args[1]) {
            Some(k) => SpecChange::RemoveKey(c.term(k, Some(ShapeType::Key))?),
            None => return refusal(),
        },
        _ => return refusal(),
    }))
}
