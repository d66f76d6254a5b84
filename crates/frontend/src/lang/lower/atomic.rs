//! Atomic blocks: one action for each path, or inner locations at which no other thread moves.
//!
//! The block is lowered like any other; then, if it has no loop and few paths, each path becomes one action by
//! substituting the values after each step into the next. A path waits for all its guards. A check that fails before a
//! later guard could wait is a failure of its own, so it gets an action of its own. Where paths cannot be composed (a
//! loop, too many or too long paths, a `spawn`, a conditional mark that later steps would change) the inner locations
//! stay and are marked `inside`, which means the same.
//! In: the block, and where it begins. Out: its actions in the builder, and where it ends.

use super::Lowering;
use super::code::{Builder, CallPolicy, DraftAction};
use crate::lang::ast::Block;
use base::Span;
use base::ids::Id;
use logic::{Symbol, Term};
use program::{Action, Gate, LocId, Mark, OriginId, Update, VarId, What};

const MAX_PATHS: usize = 128;
const LONGEST_PATH: usize = 200;

impl Lowering<'_> {
    pub(super) fn atomic(&mut self, b: &mut Builder, block: &Block, span: Span, at: LocId) -> LocId {
        let origin = self.origin(span);
        let first_location = b.locations.len();
        let first_action = b.actions.len();
        let start = b.location(origin);
        // Inside one step nothing can be left to a specification.
        let mode = std::mem::replace(&mut b.mode, CallPolicy::Inline);
        let end = self.block(b, block, start);
        b.mode = mode;
        let fragment = BlockFragment { first_location, first_action, start: b.root(start), end: b.root(end) };
        if fragment.start == fragment.end {
            // A step all the same: the thread has not ended before it.
            b.merge(start, at);
            return self.simple(b, at, self.draft(What::Atomic, origin));
        }
        match self.composed(b, &fragment, origin) {
            Some(ComposedBlock::AsIs) => {}
            Some(ComposedBlock::Paths(paths)) => {
                b.take_actions_from(first_action);
                for (to, draft, marks) in paths {
                    let action = b.emit(start, to, draft);
                    marks.into_iter().for_each(|m| b.mark(action, m));
                }
            }
            None => {
                for index in first_location..b.locations.len() {
                    let id = LocId::from_index(index);
                    if b.root(id) == id && id != fragment.end && id != fragment.start {
                        b.locations[id].in_atomic_block = true;
                    }
                }
                // A loop that comes back to the first location must not open the block there.
                let comes_back = b.actions.iter().skip(first_action).any(|a| b.root(a.to) == fragment.start);
                if comes_back {
                    b.locations[fragment.start].in_atomic_block = true;
                    b.emit(at, start, self.draft(What::Atomic, origin));
                    return end;
                }
            }
        }
        b.merge(start, at);
        end
    }

    fn composed(&mut self, b: &Builder, fragment: &BlockFragment, origin: OriginId) -> Option<ComposedBlock> {
        let actions: Vec<&Action> = b.actions.iter().skip(fragment.first_action).collect();
        let inner = |at: LocId| {
            let root = b.root(at);
            root.index() >= fragment.first_location && root != fragment.end
        };
        if actions.iter().all(|a| b.root(a.from) == fragment.start && !inner(a.to)) {
            return Some(ComposedBlock::AsIs);
        }
        if actions.iter().any(|a| a.spawn.is_some()) {
            return None;
        }
        let mut walk = BlockWalk { paths: Vec::new(), origin, end: fragment.end };
        let path = BlockPath::default();
        self.walk(b, &actions, &inner, fragment.start, path, &mut walk)?;
        Some(ComposedBlock::Paths(walk.paths))
    }

    /// Extends a path by every step that leaves a location; `None` where the block cannot be composed.
    fn walk(
        &mut self,
        b: &Builder,
        actions: &[&Action],
        inner: &dyn Fn(LocId) -> bool,
        at: LocId,
        path: BlockPath,
        walk: &mut BlockWalk,
    ) -> Option<()> {
        if path.visited.contains(&at) || path.visited.len() >= LONGEST_PATH {
            return None;
        }
        let mut failure_made = false;
        for action in actions.iter().filter(|a| b.root(a.from) == at) {
            let waits = !self.program.terms.is_true(action.guard)
                && !matches!(action.what, What::Test | What::New | What::Choose);
            if waits && !failure_made && !path.gates.is_empty() {
                failure_made = true;
                let draft = self.failure(&path, walk.origin);
                walk.paths.push((walk.end, draft, Vec::new()));
            }
            let mut next = path.clone();
            next.visited.push(at);
            self.extend(&mut next, action)?;
            if inner(action.to) {
                self.walk(b, actions, inner, b.root(action.to), next, walk)?;
            } else {
                let draft = self.whole(&next, walk.origin);
                walk.paths.push((action.to, draft, next.marks));
            }
            if walk.paths.len() > MAX_PATHS {
                return None;
            }
        }
        Some(())
    }

    fn extend(&mut self, path: &mut BlockPath, action: &Action) -> Option<()> {
        let terms = &self.program.terms;
        // Inputs are renamed: a step may lie on several paths.
        let mut pairs: Vec<(Symbol, Term)> = Vec::new();
        for input in &action.inputs {
            let fresh = terms.symbol(terms.symbol_name(*input), terms.symbol_sort(*input));
            path.inputs.push(fresh);
            pairs.push((*input, terms.sym(fresh)));
        }
        pairs.extend(path.values.iter().map(|(v, value)| (self.program.vars[*v].symbol, *value)));
        let after = |term: Term| terms.substitute(term, pairs.iter().copied());
        let guard = after(action.guard);
        if !terms.is_true(guard) {
            path.guards.push(guard);
        }
        path.gates.extend(action.gates.iter().map(|g| Gate { property: g.property, formula: after(g.formula) }));
        let updates: Vec<(VarId, Term)> = action.updates.iter().map(|u| (u.var, after(u.value))).collect();
        // The condition of a mark speaks of the store after its own step.
        for mark in &path.marks {
            if let Mark::Linearize(Some(condition)) = mark {
                let free = terms.free_symbols(*condition);
                if updates.iter().any(|(v, _)| free.contains(&self.program.vars[*v].symbol)) {
                    return None;
                }
            }
        }
        for (var, value) in updates {
            match path.values.iter_mut().find(|(v, _)| *v == var) {
                Some(entry) => entry.1 = value,
                None => path.values.push((var, value)),
            }
        }
        path.marks.extend(action.marks.iter().cloned());
        Some(())
    }

    fn whole(&self, path: &BlockPath, origin: OriginId) -> DraftAction {
        let updates = path
            .values
            .iter()
            .filter(|(var, value)| self.program.now(*var) != *value)
            .map(|(var, value)| Update { var: *var, value: *value })
            .collect();
        self.with_own_inputs(DraftAction {
            inputs: path.inputs.clone(),
            guard: self.program.terms.and(&path.guards),
            gates: path.gates.clone(),
            updates,
            ..self.draft(What::Atomic, origin)
        })
    }

    /// The failure of the checks so far, which does not wait for what comes behind them.
    fn failure(&self, path: &BlockPath, origin: OriginId) -> DraftAction {
        let terms = &self.program.terms;
        let checks: Vec<Term> = path.gates.iter().map(|g| g.formula).collect();
        let mut guards = path.guards.clone();
        guards.push(terms.not(terms.and(&checks)));
        self.with_own_inputs(DraftAction {
            inputs: path.inputs.clone(),
            guard: terms.and(&guards),
            gates: path.gates.clone(),
            ..self.draft(What::Atomic, origin)
        })
    }

    /// Two paths share the inputs of the steps before they part; every action has its own.
    fn with_own_inputs(&self, draft: DraftAction) -> DraftAction {
        let terms = &self.program.terms;
        let inputs: Vec<Symbol> =
            draft.inputs.iter().map(|s| terms.symbol(terms.symbol_name(*s), terms.symbol_sort(*s))).collect();
        let pairs: Vec<(Symbol, Term)> =
            draft.inputs.iter().zip(&inputs).map(|(old, new)| (*old, terms.sym(*new))).collect();
        let own = |term: Term| terms.substitute(term, pairs.iter().copied());
        DraftAction {
            inputs,
            guard: own(draft.guard),
            gates: draft.gates.iter().map(|g| Gate { property: g.property, formula: own(g.formula) }).collect(),
            updates: draft.updates.iter().map(|u| Update { var: u.var, value: own(u.value) }).collect(),
            ..draft
        }
    }
}

/// The part of a builder that is the block.
struct BlockFragment {
    first_location: usize,
    first_action: usize,
    start: LocId,
    end: LocId,
}

enum ComposedBlock {
    /// Every step of the block is already a way through it.
    AsIs,
    Paths(Vec<(LocId, DraftAction, Vec<Mark>)>),
}

struct BlockWalk {
    paths: Vec<(LocId, DraftAction, Vec<Mark>)>,
    origin: OriginId,
    end: LocId,
}

#[derive(Clone, Default)]
struct BlockPath {
    visited: Vec<LocId>,
    inputs: Vec<Symbol>,
    guards: Vec<Term>,
    gates: Vec<Gate>,
    /// Values of changed variables, over the store before the block.
    values: Vec<(VarId, Term)>,
    marks: Vec<Mark>,
}
