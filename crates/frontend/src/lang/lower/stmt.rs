//! Statements to actions.

use super::Lowering;
use super::code::{Builder, Draft, Loop};
use super::scan;
use crate::lang::ast::{Action, Block, Condition, Expr, ExprKind, Name, Stmt, StmtKind, Type, Value};
use crate::lang::codes;
use crate::lang::resolve::Allowed;
use crate::lang::types::Target;
use base::{Diagnostic, Span};
use logic::{Sort, Term};
use program::{Gate, LocId, Mark, PropertyKind, Spawn, Update, VarId, What};

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
        if self.statements > super::MOST_STATEMENTS {
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
                let (mut gates, accesses) = self.gates_apart();
                // Who waits takes no step, and so accesses nothing: `assume m == 0` is no access while another holds m.
                let terms = &mut self.program.terms;
                gates.extend(accesses.into_iter().map(|g| Gate { formula: terms.implies(guard, g.formula), ..g }));
                let to = b.location(origin);
                self.emit_blocking(b, at, to, Draft { guard, gates, ..self.draft(What::Assume, origin) });
                to
            }
            StmtKind::Assert(e) => {
                let Some(formula) = self.formula(e) else { return at };
                let property = self.property_at(PropertyKind::Assertion, "assert", span);
                let (mut gates, accesses) = self.gates_apart();
                gates.push(Gate { property, formula });
                gates.extend(accesses);
                self.simple(b, at, Draft { gates, ..self.draft(What::Assert, origin) })
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
                    self.test(b, &arm.condition, here, yes, no);
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
            StmtKind::Call(call) => self.call(b, call, None, span, at).unwrap_or(at),
            StmtKind::Spawn(call) => self.spawn(b, call, None, span, at).unwrap_or(at),
            StmtKind::Join(e) => {
                let Some(thread) = self.expr(e, Sort::INT) else { return at };
                let gates = self.gates();
                let Some(ended) = self.ended else { return at };
                let guard = self.program.terms.select(self.program.now(ended), thread);
                let to = b.location(origin);
                self.emit_blocking(b, at, to, Draft { guard, gates, ..self.draft(What::Join, origin) });
                to
            }
            StmtKind::Witness(label) => self.witness(b, label, at),
            StmtKind::Linearize(condition) => self.linearize(b, condition.as_ref(), span, at),
            StmtKind::Skip => self.simple(b, at, self.draft(What::Skip, origin)),
            StmtKind::Return(values) => self.give_back(b, values, span, at),
            StmtKind::Break | StmtKind::Continue => self.leave_loop(b, &stmt.kind, span, at),
            StmtKind::Error => at,
        }
    }

    /// One action to a new location.
    pub(super) fn simple(&mut self, b: &mut Builder, at: LocId, draft: Draft) -> LocId {
        let to = b.location(draft.origin);
        b.emit(at, to, draft);
        to
    }

    fn local(
        &mut self,
        b: &mut Builder,
        (name, ty, value): (&Name, &Type, Option<&Value>),
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
        let target = Target { var, path: Vec::new(), sort: sort.unwrap_or(Sort::INT), span: name.span };
        let end = match value {
            Some(value) if sort.is_some() => self.assign_to(b, vec![target], value, span, at),
            Some(_) => None,
            None if b.loop_depth > 0 && !scan::set_before_read(&name.kind, following) => {
                let (input, update) = self.arbitrary(var);
                let draft = Draft { inputs: vec![input], updates: vec![update], ..self.draft(What::Havoc, origin) };
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

    fn assign(&mut self, b: &mut Builder, targets: &[Expr], value: &Value, span: Span, at: LocId) -> Option<LocId> {
        let places: Vec<Option<Target>> = targets.iter().map(|t| self.place(t)).collect();
        let places: Option<Vec<Target>> = places.into_iter().collect();
        let Some(places) = places else {
            // The values are looked at all the same, for their own errors.
            if let Value::Exprs(exprs) = value {
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
        targets: Vec<Target>,
        value: &Value,
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        for (index, target) in targets.iter().enumerate() {
            let whole = |t: &Target| t.path.is_empty();
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
            Value::Exprs(exprs) => {
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
                Some(self.simple(b, at, Draft { gates, updates, ..self.draft(What::Assign, origin) }))
            }
            Value::New(class) => {
                let [target] = &targets[..] else { return self.one_target(span) };
                self.allocate(b, target, class, span, at)
            }
            Value::Cas(cas) => {
                let [target] = &targets[..] else { return self.one_target(span) };
                self.compare_and_swap(b, target, cas, span, at)
            }
            Value::Spawn(call) => {
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

    pub(super) fn note_writes(&mut self, targets: &[Target]) {
        for target in targets {
            self.note_write(target);
        }
    }

    /// Updates that write values to places, all read in the store before; entries of one map are written in order.
    pub(super) fn updates<'t>(&self, writes: impl Iterator<Item = (&'t Target, Term)>) -> Vec<Update> {
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
        let targets: Vec<Option<Target>> = places.iter().map(|p| self.place(p)).collect();
        let targets: Option<Vec<Target>> = targets.into_iter().collect();
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
        Some(self.simple(b, at, Draft { inputs, gates, updates, ..self.draft(What::Havoc, origin) }))
    }

    /// The two steps of a test.
    fn test(&mut self, b: &mut Builder, condition: &Condition, at: LocId, yes: LocId, no: LocId) {
        match condition {
            Condition::Any(place) => {
                let origin = self.origin(place.0);
                b.emit(at, yes, self.draft(What::Test, origin));
                b.emit(at, no, self.draft(What::Test, origin));
            }
            Condition::Expr(e) => {
                let origin = self.origin(e.span);
                let Some(guard) = self.formula(e) else {
                    // Both ways stay open, so that the branches are not lost.
                    b.emit(at, yes, self.draft(What::Test, origin));
                    b.emit(at, no, self.draft(What::Test, origin));
                    return;
                };
                let gates = self.gates();
                let terms = &self.program.terms;
                let not = terms.not(guard);
                if !terms.is_false(guard) {
                    b.emit(at, yes, Draft { guard, gates: gates.clone(), ..self.draft(What::Test, origin) });
                }
                if !self.program.terms.is_true(guard) {
                    b.emit(at, no, Draft { guard: not, gates, ..self.draft(What::Test, origin) });
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
        for invariant in invariants {
            let formula = self.wanted_formula(invariant);
            if let Some(formula) = formula {
                let root = b.root(head);
                b.locations[root].invariants.push(formula);
            }
        }
        self.view.checks = checks;
        let (entry, exit) = (b.location(self.origin(body.span)), b.location(origin));
        self.test(b, condition, head, entry, exit);
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
        call: &crate::lang::ast::Call,
        target: Option<&Target>,
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
            return Some(self.simple(b, at, Draft { gates, spawn, ..self.draft(What::Spawn, origin) }));
        };
        // The id goes to an entry of a map: a second step, which no other thread can come before.
        let var = self.local_var(b, "spawned", span, Sort::INT, origin);
        let spawn = Some(Spawn { thread, args, into: Some(var) });
        let between = self.simple(b, at, Draft { gates, spawn, ..self.draft(What::Spawn, origin) });
        b.locations[between].inside = true;
        let updates = self.updates(std::iter::once((entry, self.program.now(var))));
        Some(self.simple(b, between, Draft { updates, ..self.draft(What::Assign, origin) }))
    }

    fn step(&mut self, b: &mut Builder, action: &Action, span: Span, at: LocId) -> Option<LocId> {
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
        let (inputs, mut guard, updates) = self.executable(&relation, &mut gates);
        let to = b.location(origin);
        if let Some(formula) = asserted {
            let property = self.property_at(PropertyKind::Assertion, "assert", span);
            let terms = &self.program.terms;
            let mut wrong = gates_of_assertion.clone();
            wrong.push(Gate { property, formula });
            let holds = terms.and(&wrong.iter().map(|g| g.formula).collect::<Vec<_>>());
            let failing = Draft { guard: terms.not(holds), gates: wrong, ..self.draft(What::Relation, origin) };
            guard = terms.and(&[holds, guard]);
            b.emit(at, to, failing);
        } else {
            gates.extend(gates_of_assertion);
        }
        let relation = Some(relation);
        b.emit(at, to, Draft { inputs, guard, gates, updates, relation, ..self.draft(What::Relation, origin) });
        Some(to)
    }
}
