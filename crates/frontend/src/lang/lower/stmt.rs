//! Statements to actions.
//!
//! In: a block, and the location where it begins. Out: its actions in the builder, and the location where it ends.
//! Deliberately absent: atomic blocks, calls, locks and the heap, which have files of their own.

use super::Lowering;
use super::code::{Builder, DraftAction, Loop};
use super::scan;
use crate::lang::ast::{
    ActionDecl, AssignedValue, Block, CallExpr, Checked, Condition, Expr, ExprKind, Name, Stmt, StmtKind, Type,
};
use crate::lang::codes;
use crate::lang::resolve::Allowed;
use crate::lang::types::AssignTarget;
use base::{Diagnostic, Span};
use logic::{Sort, Term};
use program::{Gate, LocId, Mark, PropertyId, PropertyKind, Spawn, Update, VarId, What};

impl Lowering<'_> {
    /// Lowers a block from a location; gives the location behind it.
    pub(super) fn block(&mut self, b: &mut Builder, block: &Block, at: LocId) -> LocId {
        let depth = self.view.locals.len();
        let outer = std::mem::replace(&mut self.block_start, depth);
        let mut here = at;
        for (index, stmt) in block.kind.iter().enumerate() {
            here = self.stmt(b, stmt, &block.kind[index + 1..], here);
            self.noted.clear();
            self.under.clear();
        }
        self.view.locals.truncate(depth);
        self.block_start = outer;
        here
    }

    /// The following statements are looked at only to see whether a local is set before it is read.
    fn stmt(&mut self, b: &mut Builder, stmt: &Stmt, following: &[Stmt], at: LocId) -> LocId {
        let span = stmt.span;
        let origin = self.origin(span);
        let root = b.root(at);
        if b.locations[root].name.is_empty() {
            b.locations[root].name = self.program.origins[origin].text.clone();
            b.locations[root].origin = origin;
        }
        self.statements += 1;
        if self.statements > super::MAX_STATEMENTS {
            self.too_big(span);
            return at;
        }
        match &stmt.kind {
            StmtKind::Local { name, ty, value } => {
                self.local(b, (name, ty, value.as_ref()), following, span, at).unwrap_or(at)
            }
            StmtKind::Assign { targets, value } => self.assign(b, targets, value, span, at).unwrap_or(at),
            StmtKind::Havoc(places) => self.havoc(b, places, span, at).unwrap_or(at),
            StmtKind::Assume(e) => {
                let Some(guard) = self.formula(e) else { return at };
                let gates = self.gates_of_waiting(guard);
                let to = b.location(origin);
                self.emit_blocking(b, at, to, DraftAction { guard, gates, ..self.draft(What::Assume, origin) });
                to
            }
            StmtKind::Assert(e) => {
                let Some(formula) = self.formula(e) else { return at };
                let property = self.property_at(PropertyKind::Assertion, "assert", span);
                let (mut gates, accesses) = self.gates_apart();
                gates.push(Gate { property, formula });
                gates.extend(accesses);
                self.simple(b, at, DraftAction { gates, ..self.draft(What::Assert, origin) })
            }
            StmtKind::Acquire(e) => self.acquire(b, e, span, at).unwrap_or(at),
            StmtKind::Release(e) => self.release(b, e, span, at).unwrap_or(at),
            StmtKind::Free(e) => self.free(b, e, span, at).unwrap_or(at),
            StmtKind::Atomic(block) => self.atomic(b, block, span, at),
            StmtKind::Step(action) => self.step(b, action, span, at).unwrap_or(at),
            StmtKind::If { arms, otherwise } => {
                let join = b.location(origin);
                let mut here = at;
                for arm in arms {
                    let (yes, no) = (b.location(origin), b.location(origin));
                    self.test(b, &arm.condition, Vec::new(), here, yes, no);
                    let end = self.block(b, &arm.body, yes);
                    b.merge(end, join);
                    here = no;
                }
                if let Some(block) = otherwise {
                    here = self.block(b, block, here);
                }
                b.merge(here, join);
                join
            }
            StmtKind::While { condition, invariants, body } => {
                self.while_loop(b, condition, invariants, body, span, at)
            }
            StmtKind::Choose(branches) => {
                let join = b.location(origin);
                for branch in branches {
                    let entry = b.location(self.origin(branch.span));
                    b.emit(at, entry, self.draft(What::Choose, origin));
                    let end = self.block(b, branch, entry);
                    b.merge(end, join);
                }
                join
            }
            StmtKind::Block(block) => self.block(b, block, at),
            StmtKind::Call(call) => match self.joined_by(call) {
                Some(e) => self.join(b, e, span, at),
                None => self.call(b, call, None, span, at).unwrap_or(at),
            },
            StmtKind::Spawn(call) => self.spawn(b, call, None, span, at).unwrap_or(at),
            StmtKind::Join(e) => self.join(b, e, span, at),
            StmtKind::Witness(label) => self.witness(b, label, at),
            StmtKind::Linearize(condition) => self.linearize(b, condition.as_ref(), span, at),
            StmtKind::Skip => self.simple(b, at, self.draft(What::Skip, origin)),
            StmtKind::Return(values) => self.give_back(b, values, span, at),
            StmtKind::Break | StmtKind::Continue => self.leave_loop(b, &stmt.kind, span, at),
            StmtKind::Check { of, condition } => self.check(b, of, condition, span, at).unwrap_or(at),
            StmtKind::Labelled(label, block) => {
                let exit = b.location(origin);
                b.labels.push((label.to_string(), exit));
                let end = self.block(b, block, at);
                b.labels.pop();
                b.merge(end, exit);
                exit
            }
            StmtKind::Leave(label) => {
                let found = b.labels.iter().rev().find(|(l, _)| **l == **label);
                let exit = found.expect("a front end leaves blocks that stand around").1;
                b.merge(at, exit);
                b.location(origin)
            }
            StmtKind::Error => at,
        }
    }

    /// A check that a front end of another language asks for.
    fn check(&mut self, b: &mut Builder, of: &Checked, condition: &Expr, span: Span, at: LocId) -> Option<LocId> {
        let formula = self.formula(condition)?;
        let property = match of {
            Checked::Bounds => self.property_at(PropertyKind::Bounds, "bounds", span),
            Checked::Null => self.property_at(PropertyKind::Null, "null", span),
            Checked::Release => self.property_at(PropertyKind::Release, "release", span),
            Checked::Race(name) => self.race_property(name, span),
            Checked::Language(word) => self.property_at(PropertyKind::Assertion, word, span),
            Checked::Unmodelled(what) => {
                self.property_at(PropertyKind::Unmodelled(what.to_string()), "unmodelled", span)
            }
        };
        // A question that is asked for the check alone is no access of the program.
        let (mut gates, _) = self.gates_apart();
        gates.push(Gate { property, formula });
        let origin = self.origin(span);
        let what = if matches!(of, Checked::Unmodelled(_)) { What::Unmodelled } else { What::Assert };
        Some(self.simple(b, at, DraftAction { gates, ..self.draft(what, origin) }))
    }

    /// The property that no two conflicting accesses of a place meet: one for each name.
    fn race_property(&mut self, name: &str, span: Span) -> PropertyId {
        let name = format!("race:{name}");
        let known = self.program.properties.iter_enumerated().find(|(_, p)| p.name == name).map(|(id, _)| id);
        known.unwrap_or_else(|| self.property(PropertyKind::Race, &name, span))
    }

    /// `join (e);`, where no procedure is called so.
    fn joined_by<'e>(&self, call: &'e CallExpr) -> Option<&'e Expr> {
        let own = self.view.object.is_some_and(|o| self.globals.members[o].procs.contains("join"));
        let declared = own || self.globals.procs.contains("join");
        match &call.args[..] {
            [e] if scan::reads_as_join(call) && !declared => Some(e),
            _ => None,
        }
    }

    fn join(&mut self, b: &mut Builder, e: &Expr, span: Span, at: LocId) -> LocId {
        let origin = self.origin(span);
        let Some(thread) = self.expr(e, Sort::INT) else { return at };
        let Some(ended) = self.ended else { return at };
        let guard = self.program.terms.select(self.program.now(ended), thread);
        let gates = self.gates_of_waiting(guard);
        let to = b.location(origin);
        self.emit_blocking(b, at, to, DraftAction { guard, gates, ..self.draft(What::Join, origin) });
        to
    }

    /// One action to a new location.
    pub(super) fn simple(&mut self, b: &mut Builder, at: LocId, draft: DraftAction) -> LocId {
        let to = b.location(draft.origin);
        b.emit(at, to, draft);
        to
    }

    fn local(
        &mut self,
        b: &mut Builder,
        (name, ty, value): (&Name, &Type, Option<&AssignedValue>),
        following: &[Stmt],
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        let sort = self.sort(ty);
        let origin = self.origin(span);
        let earlier = self.view.locals.get(self.block_start..).and_then(|l| l.iter().find(|(n, _)| **n == *name.kind));
        if let Some((_, first)) = earlier {
            let first = self.program.origins[self.program.vars[*first].origin].span.unwrap_or(span);
            self.declared_twice(name, first);
        }
        if sort.is_none() {
            self.broken.insert(name.kind.to_string());
        }
        // Also with an unknown type, so that later uses of the name are understood.
        let var = self.local_var(b, &name.kind, name.span, sort.unwrap_or(Sort::INT), origin);
        if super::declare::is_lock(ty) {
            self.local_locks.insert(var);
        }
        let target = AssignTarget { var, path: Vec::new(), sort: sort.unwrap_or(Sort::INT), span: name.span };
        let end = match value {
            Some(value) if sort.is_some() => self.assign_to(b, vec![target], value, span, at),
            Some(_) => None,
            None if b.loop_depth > 0 && !scan::set_before_read(&name.kind, following) => {
                let (input, update) = self.arbitrary(var);
                let draft =
                    DraftAction { inputs: vec![input], updates: vec![update], ..self.draft(What::Havoc, origin) };
                Some(self.simple(b, at, draft))
            }
            None => Some(at),
        };
        self.view.locals.push((name.kind.to_string(), var));
        end
    }

    /// An input for a variable, and the update that takes it.
    pub(super) fn arbitrary(&self, var: VarId) -> (logic::Symbol, Update) {
        let entry = &self.program.vars[var];
        let input = self.program.terms.symbol(format!("any_{}", entry.name), entry.sort);
        (input, Update { var, value: self.program.terms.sym(input) })
    }

    fn assign(
        &mut self,
        b: &mut Builder,
        targets: &[Expr],
        value: &AssignedValue,
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        let places: Vec<Option<AssignTarget>> = targets.iter().map(|t| self.place(t)).collect();
        let places: Option<Vec<AssignTarget>> = places.into_iter().collect();
        let Some(places) = places else {
            // The values are looked at all the same, for their own errors.
            if let AssignedValue::Exprs(exprs) = value {
                for e in exprs.iter().filter(|e| !matches!(e.kind, ExprKind::Call(_))) {
                    self.infer(e, None);
                }
            }
            return None;
        };
        self.assign_to(b, places, value, span, at)
    }

    fn assign_to(
        &mut self,
        b: &mut Builder,
        targets: Vec<AssignTarget>,
        value: &AssignedValue,
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        for (index, target) in targets.iter().enumerate() {
            let whole = |t: &AssignTarget| t.path.is_empty();
            let earlier = targets[..index].iter().find(|e| e.var == target.var && (whole(e) || whole(target)));
            if let Some(earlier) = earlier {
                let diagnostic = Diagnostic::error(codes::SAME_PLACE_TWICE, target.span, "this is assigned twice")
                    .label("assigned again")
                    .also(earlier.span, "assigned here");
                self.report(diagnostic);
                return None;
            }
        }
        let origin = self.origin(span);
        match value {
            AssignedValue::Exprs(exprs) => {
                if let [only] = &exprs[..]
                    && let ExprKind::Call(call) = &only.kind
                    && !self.is_len(call)
                {
                    return self.call(b, call, Some(targets), span, at);
                }
                if exprs.len() != targets.len() {
                    let message = format!("{} values for {} places", exprs.len(), targets.len());
                    let label = format!("expected {}", targets.len());
                    self.report(Diagnostic::error(codes::WRONG_COUNT, span, message).label(label));
                    return None;
                }
                let values: Vec<Option<Term>> = exprs.iter().zip(&targets).map(|(e, t)| self.expr(e, t.sort)).collect();
                let values: Option<Vec<Term>> = values.into_iter().collect();
                let updates = self.updates(targets.iter().zip(values?));
                self.note_writes(&targets);
                let gates = self.gates();
                Some(self.simple(b, at, DraftAction { gates, updates, ..self.draft(What::Assign, origin) }))
            }
            AssignedValue::New(class) => {
                let [target] = &targets[..] else { return self.one_target(span) };
                self.allocate(b, target, class, span, at)
            }
            AssignedValue::Cas(cas) => {
                let [target] = &targets[..] else { return self.one_target(span) };
                self.compare_and_swap(b, target, cas, span, at)
            }
            AssignedValue::Spawn(call) => {
                let [target] = &targets[..] else { return self.one_target(span) };
                self.spawn(b, call, Some(target), span, at)
            }
        }
    }

    fn one_target(&mut self, span: Span) -> Option<LocId> {
        let message = "this gives one value, and here are several places for it";
        self.report(Diagnostic::error(codes::WRONG_COUNT, span, message).label("expected one place"));
        None
    }

    pub(super) fn note_writes(&mut self, targets: &[AssignTarget]) {
        for target in targets {
            self.note_write(target);
        }
    }

    /// Updates that write values to places, all read in the store before; entries of one map are written in order.
    pub(super) fn updates<'t>(&self, writes: impl Iterator<Item = (&'t AssignTarget, Term)>) -> Vec<Update> {
        let mut updates: Vec<Update> = Vec::new();
        for (target, value) in writes {
            let known = updates.iter().position(|u| u.var == target.var);
            let base = known.map_or_else(|| self.program.now(target.var), |at| updates[at].value);
            let value = self.written(base, &target.path, value);
            match known {
                Some(at) => updates[at].value = value,
                None => updates.push(Update { var: target.var, value }),
            }
        }
        updates
    }

    fn havoc(&mut self, b: &mut Builder, places: &[Expr], span: Span, at: LocId) -> Option<LocId> {
        let targets: Vec<Option<AssignTarget>> = places.iter().map(|p| self.place(p)).collect();
        let targets: Option<Vec<AssignTarget>> = targets.into_iter().collect();
        let targets = targets?;
        let mut inputs = Vec::new();
        let mut writes = Vec::new();
        for target in &targets {
            let name = format!("any_{}", self.program.vars[target.var].name);
            let input = self.program.terms.symbol(name, target.sort);
            inputs.push(input);
            writes.push((target, self.program.terms.sym(input)));
        }
        let updates = self.updates(writes.into_iter());
        self.note_writes(&targets);
        let gates = self.gates();
        let origin = self.origin(span);
        Some(self.simple(b, at, DraftAction { inputs, gates, updates, ..self.draft(What::Havoc, origin) }))
    }

    /// The two steps of a test, which both look at the gates before anything else.
    fn test(&mut self, b: &mut Builder, condition: &Condition, mut gates: Vec<Gate>, at: LocId, yes: LocId, no: LocId) {
        match condition {
            Condition::Any(place) => {
                let origin = self.origin(place.0);
                b.emit(at, yes, DraftAction { gates: gates.clone(), ..self.draft(What::Test, origin) });
                b.emit(at, no, DraftAction { gates, ..self.draft(What::Test, origin) });
            }
            Condition::Expr(e) => {
                let origin = self.origin(e.span);
                let Some(guard) = self.formula(e) else {
                    // Both ways stay open, so that the branches are not lost.
                    b.emit(at, yes, self.draft(What::Test, origin));
                    b.emit(at, no, self.draft(What::Test, origin));
                    return;
                };
                gates.extend(self.gates());
                let terms = &self.program.terms;
                let not = terms.not(guard);
                if !terms.is_false(guard) {
                    b.emit(at, yes, DraftAction { guard, gates: gates.clone(), ..self.draft(What::Test, origin) });
                }
                if !self.program.terms.is_true(guard) {
                    b.emit(at, no, DraftAction { guard: not, gates, ..self.draft(What::Test, origin) });
                }
            }
        }
    }

    fn while_loop(
        &mut self,
        b: &mut Builder,
        condition: &Condition,
        invariants: &[Expr],
        body: &Block,
        span: Span,
        at: LocId,
    ) -> LocId {
        let origin = self.origin(span);
        // A head of its own: several loops never share a location, and so never their invariants.
        let head = if b.locations[b.root(at)].invariants.is_empty() {
            at
        } else {
            self.simple(b, at, self.draft(What::Skip, origin))
        };
        let checks = std::mem::replace(&mut self.view.checks, Allowed::No);
        let mut gates = Vec::new();
        for invariant in invariants {
            let Some(written) = self.wanted_formula(invariant) else { continue };
            let root = b.root(head);
            b.locations[root].invariants.push(written);
            if let Some(formula) = written.filter(|_| !self.in_spec) {
                let property = self.property_at(PropertyKind::Assertion, "invariant", invariant.span);
                gates.push(Gate { property, formula });
            }
        }
        self.view.checks = checks;
        let (entry, exit) = (b.location(self.origin(body.span)), b.location(origin));
        self.test(b, condition, gates, head, entry, exit);
        b.loops.push(Loop { head, exit });
        b.loop_depth += 1;
        let end = self.block(b, body, entry);
        b.loop_depth -= 1;
        b.loops.pop();
        b.merge(end, head);
        exit
    }

    fn leave_loop(&mut self, b: &mut Builder, kind: &StmtKind, span: Span, at: LocId) -> LocId {
        let inner = b.frames.last().map_or(0, |f| f.loops);
        let Some(around) = b.loops.get(inner..).and_then(|l| l.last()).copied() else {
            let word = if matches!(kind, StmtKind::Break) { "break" } else { "continue" };
            let message = format!("`{word}` stands outside every loop");
            self.report(Diagnostic::error(codes::WRONG_PLACE, span, message).label("no loop to leave"));
            return at;
        };
        let to = if matches!(kind, StmtKind::Break) { around.exit } else { around.head };
        b.merge(at, to);
        b.location(self.origin(span))
    }

    fn witness(&mut self, b: &mut Builder, label: &Name, at: LocId) -> LocId {
        let routine = b.frames.last().and_then(|f| f.routine);
        let Some(routine) = routine else {
            let message = "`witness` stands outside every procedure";
            let hint = "it marks the step that performs a labelled action of the procedure's `performs`";
            self.report(Diagnostic::error(codes::WRONG_PLACE, label.span, message).label("no procedure").hint(hint));
            return at;
        };
        let labels = scan::labels(self.globals.routines[routine].ast);
        if !labels.contains(&&*label.kind) {
            let near = crate::lang::resolve::nearest(&label.kind, labels.iter().copied()).map(str::to_owned);
            let message = format!("the procedure performs no action `{}`", label.kind);
            let mut diagnostic = Diagnostic::error(codes::UNKNOWN_LABEL, label.span, message).label("no such label");
            if let Some(near) = near {
                diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
            }
            self.report(diagnostic);
            return at;
        }
        // Where the procedure is inlined its specification is not used.
        if b.frames.len() > 1 {
            return at;
        }
        self.mark_before(b, Mark::Witness(label.kind.to_string()), label.span, at)
    }

    fn linearize(&mut self, b: &mut Builder, condition: Option<&Expr>, span: Span, at: LocId) -> LocId {
        let routine = b.frames.last().and_then(|f| f.routine);
        if routine.is_none() {
            let message = "`linearize` stands outside every operation";
            self.report(Diagnostic::error(codes::WRONG_PLACE, span, message).label("no operation of an object"));
            return at;
        }
        let checks = std::mem::replace(&mut self.view.checks, Allowed::No);
        let condition = match condition {
            Some(e) => self.formula(e).map(Some),
            None => Some(None),
        };
        self.view.checks = checks;
        let Some(condition) = condition else { return at };
        if b.linearize == Allowed::No {
            return at;
        }
        self.mark_before(b, Mark::Linearize(condition), span, at)
    }

    /// Marks the steps that lead here; where there is none yet, a step is made to carry the mark.
    fn mark_before(&mut self, b: &mut Builder, mark: Mark, span: Span, at: LocId) -> LocId {
        let leading = b.leading_to(at);
        if leading.is_empty() {
            let origin = self.origin(span);
            let to = b.location(origin);
            let action = b.emit(at, to, self.draft(What::Skip, origin));
            b.mark(action, mark);
            return to;
        }
        for action in leading {
            b.mark(action, mark.clone());
        }
        at
    }

    fn spawn(
        &mut self,
        b: &mut Builder,
        call: &crate::lang::ast::CallExpr,
        target: Option<&AssignTarget>,
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        let (thread, params) = self.spawned_thread(call)?;
        let args: Vec<Option<Term>> = call.args.iter().zip(&params).map(|(a, p)| self.expr(a, *p)).collect();
        let args: Option<Vec<Term>> = args.into_iter().collect();
        let args = args?;
        if let Some(target) = target
            && target.sort != Sort::INT
        {
            let found = self.sort_name(target.sort);
            let message = format!("`spawn` gives a thread id, an `int`; the place for it has type {found}");
            self.report(Diagnostic::error(codes::TYPE_MISMATCH, target.span, message).label("expected an `int`"));
            return None;
        }
        if let Some(target) = target {
            self.note_write(target);
        }
        let gates = self.gates();
        let origin = self.origin(span);
        let direct = target.filter(|t| t.path.is_empty()).map(|t| t.var);
        let entry = target.filter(|t| !t.path.is_empty());
        let Some(entry) = entry else {
            let spawn = Some(Spawn { thread, args, into: direct });
            return Some(self.simple(b, at, DraftAction { gates, spawn, ..self.draft(What::Spawn, origin) }));
        };
        // The id goes to an entry of a map: a second step, which no other thread can come before.
        let var = self.local_var(b, "spawned", span, Sort::INT, origin);
        let spawn = Some(Spawn { thread, args, into: Some(var) });
        let between = self.simple(b, at, DraftAction { gates, spawn, ..self.draft(What::Spawn, origin) });
        b.locations[between].in_atomic_block = true;
        let updates = self.updates(std::iter::once((entry, self.program.now(var))));
        Some(self.simple(b, between, DraftAction { updates, ..self.draft(What::Assign, origin) }))
    }

    fn step(&mut self, b: &mut Builder, action: &ActionDecl, span: Span, at: LocId) -> Option<LocId> {
        let asserted = action.asserting.as_ref().map(|e| self.formula(e));
        let gates_of_assertion = self.gates();
        let relation = self.two_store(action);
        let mut gates = self.gates();
        let (relation, asserted) = (
            relation?,
            match asserted {
                Some(formula) => Some(formula?),
                None => None,
            },
        );
        let origin = self.origin(span);
        let (inputs, guard, updates) = self.executable(&relation, &mut gates);
        let to = b.location(origin);
        // It waits until there is a store to go to; only then is what it asserts looked at.
        let mut asserting = gates_of_assertion;
        if let Some(formula) = asserted {
            let property = self.property_at(PropertyKind::Assertion, "assert", span);
            asserting.push(Gate { property, formula });
        }
        asserting.extend(gates);
        let gates = asserting;
        let relation = Some(relation);
        b.emit(at, to, DraftAction { inputs, guard, gates, updates, relation, ..self.draft(What::Relation, origin) });
        Some(to)
    }
}
