//! Code under construction: locations that can be merged, actions, and what a body needs to know about its surroundings.
//!
//! Statements are lowered forwards. Where control only joins (behind an `if`, at `break`, at the end of an inlined
//! procedure) the two locations are merged instead of being joined by a step that the program does not have.
//! In: locations, merges and draft actions in any order. Out: a `Code` in which merged locations are one.

use super::Lowering;
use crate::lang::resolve::Allowed;
use base::{IdVec, Span};
use logic::{Symbol, Term};
use program::{
    Action, ActionId, Code, Gate, LocId, Location, Mark, OriginId, ProcedureCall, Scope, Spawn, TwoStore, Update,
    VarId, What,
};
use rustc_hash::FxHashMap;

/// What happens at calls of procedures that have a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallPolicy {
    Inline,
    Keep,
}

/// A loop around the statement at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    pub head: LocId,
    pub exit: LocId,
}

/// The procedure around the statement at hand: the outermost one is the code itself.
#[derive(Clone, Debug)]
pub(super) struct ProcedureFrame {
    pub exit: LocId,
    pub results: Vec<VarId>,
    /// Index of the routine; `None` in a thread's own body.
    pub routine: Option<usize>,
    /// What must hold at the return, over the symbols of the routine's own parameters and results, and which
    /// variables stand for those here.
    pub ensures: Vec<Gate>,
    pub instance: Vec<(Symbol, VarId)>,
    /// Loops outside this body cannot be left from inside.
    pub loops: usize,
}

/// An action before its place is known.
#[derive(Clone, Debug)]
pub(super) struct DraftAction {
    pub inputs: Vec<Symbol>,
    pub guard: Term,
    pub gates: Vec<Gate>,
    pub updates: Vec<Update>,
    pub spawn: Option<Spawn>,
    pub relation: Option<TwoStore>,
    pub what: What,
    pub origin: OriginId,
}

pub(super) struct Builder {
    pub scope: Scope,
    pub locations: IdVec<LocId, Location>,
    parent: Vec<LocId>,
    pub actions: IdVec<ActionId, Action>,
    /// Actions that lead to a location, by its representative.
    into: Vec<Vec<ActionId>>,
    pub calls: Vec<ProcedureCall>,
    pub locals: Vec<VarId>,
    pub loops: Vec<Loop>,
    /// Blocks that can be left by name, with the location behind each.
    pub labels: Vec<(String, LocId)>,
    pub frames: Vec<ProcedureFrame>,
    pub mode: CallPolicy,
    /// Whether `linearize` marks are kept.
    pub(crate) linearize: Allowed,
    /// Loops around the statement, those around inlined calls included.
    pub(crate) loop_depth: usize,
    /// Call sites on the way to the statement at hand.
    pub path: Vec<Span>,
    /// Variables by call path and place of declaration, so that two lowerings of one body agree on them.
    pub known: FxHashMap<(Vec<Span>, Span, String), VarId>,
}

impl Builder {
    pub(super) fn new(scope: Scope, mode: CallPolicy) -> Self {
        Self {
            scope,
            locations: IdVec::new(),
            parent: Vec::new(),
            actions: IdVec::new(),
            into: Vec::new(),
            calls: Vec::new(),
            locals: Vec::new(),
            loops: Vec::new(),
            labels: Vec::new(),
            frames: Vec::new(),
            mode,
            linearize: Allowed::No,
            loop_depth: 0,
            path: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    pub(super) fn location(&mut self, origin: OriginId) -> LocId {
        let id = self.locations.push(Location {
            name: String::new(),
            in_atomic_block: false,
            invariants: Vec::new(),
            origin,
        });
        self.parent.push(id);
        self.into.push(Vec::new());
        id
    }

    /// The representative of a location.
    pub(super) fn root(&self, mut at: LocId) -> LocId {
        while self.parent[at.index()] != at {
            at = self.parent[at.index()];
        }
        at
    }

    /// Makes two locations one. The second one's name and origin stay.
    pub(crate) fn merge(&mut self, from: LocId, to: LocId) {
        let (from, to) = (self.root(from), self.root(to));
        if from == to {
            return;
        }
        self.parent[from.index()] = to;
        let moved = std::mem::take(&mut self.into[from.index()]);
        self.into[to.index()].extend(moved);
        let invariants = std::mem::take(&mut self.locations[from].invariants);
        self.locations[to].invariants.extend(invariants);
        if self.locations[to].name.is_empty() {
            self.locations[to].name = std::mem::take(&mut self.locations[from].name);
            self.locations[to].origin = self.locations[from].origin;
        }
    }

    pub(super) fn emit(&mut self, from: LocId, to: LocId, draft: DraftAction) -> ActionId {
        let DraftAction { inputs, guard, gates, updates, spawn, relation, what, origin } = draft;
        let action =
            Action { from, to, inputs, guard, gates, updates, spawn, relation, marks: Vec::new(), what, origin };
        let id = self.actions.push(action);
        let root = self.root(to);
        self.into[root.index()].push(id);
        id
    }

    /// The steps that lead to a location so far.
    pub(crate) fn leading_to(&self, at: LocId) -> Vec<ActionId> {
        self.into[self.root(at).index()].clone()
    }

    pub(super) fn mark(&mut self, action: ActionId, mark: Mark) {
        self.actions[action].marks.push(mark);
    }

    /// Forgets the actions from an index on, and who they lead to.
    pub(crate) fn take_actions_from(&mut self, first: usize) -> Vec<Action> {
        let kept: IdVec<ActionId, Action> = self.actions.iter().take(first).cloned().collect();
        let all = std::mem::replace(&mut self.actions, kept);
        for list in &mut self.into {
            list.retain(|a| a.index() < first);
        }
        all.iter().skip(first).cloned().collect()
    }

    /// The finished code: merged locations are one, what cannot be reached is gone.
    pub(super) fn finish(self, entry: LocId, exit: LocId) -> Code {
        let entry = self.root(entry);
        let exit = self.root(exit);
        let mut next: Vec<Vec<LocId>> = vec![Vec::new(); self.locations.len()];
        for action in self.actions.iter() {
            next[self.root(action.from).index()].push(self.root(action.to));
        }
        for call in &self.calls {
            next[self.root(call.from).index()].push(self.root(call.to));
        }
        let mut reached = vec![false; self.locations.len()];
        let mut todo = vec![entry];
        while let Some(at) = todo.pop() {
            if !std::mem::replace(&mut reached[at.index()], true) {
                todo.extend(next[at.index()].iter().copied());
            }
        }
        let mut renamed: Vec<Option<LocId>> = vec![None; self.locations.len()];
        let mut code = Code::new();
        for (id, location) in self.locations.iter_enumerated() {
            if reached[id.index()] {
                let mut location = location.clone();
                if id == exit && location.name.is_empty() {
                    location.name = "end".to_owned();
                }
                renamed[id.index()] = Some(code.locations.push(location));
            }
        }
        let of = |at: LocId| renamed[self.root(at).index()];
        for action in self.actions.iter() {
            if let (Some(from), Some(to)) = (of(action.from), of(action.to)) {
                code.actions.push(Action { from, to, ..action.clone() });
            }
        }
        for call in &self.calls {
            if let (Some(from), Some(to)) = (of(call.from), of(call.to)) {
                code.calls.push(ProcedureCall { from, to, ..call.clone() });
            }
        }
        code.entry = of(entry).unwrap_or(LocId(0));
        code.exit = of(exit);
        code
    }
}

impl Lowering<'_> {
    /// A step that only passes on.
    pub(super) fn draft(&self, what: What, origin: OriginId) -> DraftAction {
        DraftAction {
            inputs: Vec::new(),
            guard: self.program.terms.tt(),
            gates: Vec::new(),
            updates: Vec::new(),
            spawn: None,
            relation: None,
            what,
            origin,
        }
    }

    /// Emits a step that waits for its guard: where a check fails it goes wrong at once, and does not wait.
    pub(super) fn emit_blocking(&mut self, b: &mut Builder, from: LocId, to: LocId, draft: DraftAction) -> ActionId {
        if draft.gates.is_empty() {
            return b.emit(from, to, draft);
        }
        let terms = &self.program.terms;
        let checks: Vec<Term> = draft.gates.iter().map(|g| g.formula).collect();
        let all = terms.and(&checks);
        let wrong =
            DraftAction { guard: terms.not(all), gates: draft.gates.clone(), ..self.draft(draft.what, draft.origin) };
        let guard = if terms.is_true(draft.guard) { all } else { terms.and(&[all, draft.guard]) };
        b.emit(from, to, wrong);
        b.emit(from, to, DraftAction { guard, gates: Vec::new(), ..draft })
    }

    /// A variable of the code: the same one for the same declaration on the same call path.
    pub(super) fn local_var(
        &mut self,
        b: &mut Builder,
        name: &str,
        declared: Span,
        sort: logic::Sort,
        origin: OriginId,
    ) -> VarId {
        let key = (b.path.clone(), declared, name.to_owned());
        if let Some(var) = b.known.get(&key) {
            if !b.locals.contains(var) {
                b.locals.push(*var);
            }
            return *var;
        }
        let var = self.fresh_var(name, sort, b.scope, origin);
        b.locals.push(var);
        b.known.insert(key, var);
        var
    }
}
