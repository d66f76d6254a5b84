//! Statements about locks and the heap: `acquire`, `release`, `new`, `free`, `cas`.
//!
//! In: the statement, and where it begins. Out: its action with its gates, and where it ends; nothing after an error.

use super::Lowering;
use super::code::{Builder, DraftAction};
use crate::lang::ast::{Cas, Expr, Name};
use crate::lang::codes;
use crate::lang::types::AssignTarget;
use base::{Diagnostic, Span};
use logic::{Op, Sort, SortKind};
use program::{Gate, LocId, PropertyKind, Update, What};

impl Lowering<'_> {
    fn lock_place(&mut self, e: &Expr) -> Option<AssignTarget> {
        let target = self.place(e)?;
        let lock = self.program.vars[target.var].kind == program::VarKind::Lock
            || self.lock_fields.contains(&target.var)
            || self.local_locks.contains(&target.var);
        if target.sort != Sort::INT || !lock {
            let found = self.sort_name(target.sort);
            let message = format!("expected a lock, found a value of type {found}");
            self.report(Diagnostic::error(codes::TYPE_MISMATCH, e.span, message).label("expected a lock"));
            return None;
        }
        Some(target)
    }

    pub(super) fn acquire(&mut self, b: &mut Builder, e: &Expr, span: Span, at: LocId) -> Option<LocId> {
        let target = self.lock_place(e)?;
        let terms = &self.program.terms;
        let (tid, zero) = (terms.sym(self.program.tid), terms.int(0));
        let guard = terms.eq(self.read(&target), zero);
        let updates = self.updates(std::iter::once((&target, tid)));
        let gates = self.gates_of_waiting(guard);
        let origin = self.origin(span);
        let to = b.location(origin);
        self.emit_blocking(b, at, to, DraftAction { guard, gates, updates, ..self.draft(What::Acquire, origin) });
        Some(to)
    }

    pub(super) fn release(&mut self, b: &mut Builder, e: &Expr, span: Span, at: LocId) -> Option<LocId> {
        let target = self.lock_place(e)?;
        let mut gates = self.gates();
        let property = self.property_at(PropertyKind::Release, "release", span);
        let terms = &self.program.terms;
        let held = terms.eq(self.read(&target), terms.sym(self.program.tid));
        gates.push(Gate { property, formula: held });
        let updates = self.updates(std::iter::once((&target, terms.int(0))));
        let origin = self.origin(span);
        Some(self.simple(b, at, DraftAction { gates, updates, ..self.draft(What::Release, origin) }))
    }

    pub(super) fn free(&mut self, b: &mut Builder, e: &Expr, span: Span, at: LocId) -> Option<LocId> {
        let object = self.infer(e, None)?;
        let terms = &self.program.terms;
        let SortKind::Ref(class) = terms.kind(terms.sort_of(object)) else {
            let found = self.sort_name(self.program.terms.sort_of(object));
            let message = format!("only objects are freed, this is a {found}");
            self.report(Diagnostic::error(codes::WRONG_OPERAND, e.span, message).label("expected an object"));
            return None;
        };
        self.note_alive(object, e);
        let gates = self.gates();
        let live = self.program.classes[class].live;
        let terms = &self.program.terms;
        let set = self.program.now(live);
        let gone = terms.mk(Op::Insert, &[object, terms.mk(Op::EmptySet(terms.sort_of(set)), &[])]);
        let updates = vec![Update { var: live, value: terms.mk(Op::Minus, &[set, gone]) }];
        let origin = self.origin(span);
        Some(self.simple(b, at, DraftAction { gates, updates, ..self.draft(What::Free, origin) }))
    }

    pub(super) fn allocate(
        &mut self,
        b: &mut Builder,
        target: &AssignTarget,
        class: &Name,
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        let id = self.class_named(class)?;
        let sort = self.program.terms.sort(SortKind::Ref(id));
        if target.sort != sort {
            let (expected, found) = (self.sort_name(target.sort), self.sort_name(sort));
            let message = format!("expected a value of type {expected}, found a new {found}");
            self.report(
                Diagnostic::error(codes::TYPE_MISMATCH, class.span, message).label(format!("expected {expected}")),
            );
            return None;
        }
        self.note_write(target);
        let gates = self.gates();
        let terms = &self.program.terms;
        let object = terms.symbol(format!("new_{}", class.kind), sort);
        let reference = terms.sym(object);
        let live = self.program.classes[id].live;
        let set = self.program.now(live);
        let fresh = terms.not(terms.member(reference, set));
        let mut guard = vec![terms.ne(reference, terms.null(id)), fresh];
        if let Some(owner) = self.owners.get(&id) {
            let maker = terms.select(self.program.now(*owner), reference);
            guard.push(terms.eq(maker, terms.sym(self.program.tid)));
        }
        let guard = terms.and(&guard);
        let mut inputs = vec![object];
        let mut updates = vec![Update { var: live, value: terms.mk(Op::Insert, &[reference, set]) }];
        for &field in &self.program.classes[id].fields {
            let SortKind::Map(_, value_sort) = terms.kind(self.program.vars[field].sort) else { continue };
            // A lock in a new object is free.
            let lock = self.lock_fields.contains(&field);
            let value = if lock {
                terms.default_of(value_sort)
            } else {
                let input = terms.symbol(format!("any_{}", self.program.vars[field].name), value_sort);
                inputs.push(input);
                terms.sym(input)
            };
            updates.push(Update { var: field, value: terms.store(self.program.now(field), reference, value) });
        }
        match updates.iter_mut().find(|u| u.var == target.var) {
            Some(update) => update.value = self.written(update.value, &target.path, reference),
            None => {
                let value = self.written(self.program.now(target.var), &target.path, reference);
                updates.push(Update { var: target.var, value });
            }
        }
        let origin = self.origin(span);
        let to = b.location(origin);
        // `new` never waits, so that the checks stand beside its guard as gates.
        b.emit(at, to, DraftAction { inputs, guard, gates, updates, ..self.draft(What::New, origin) });
        Some(to)
    }

    pub(super) fn compare_and_swap(
        &mut self,
        b: &mut Builder,
        target: &AssignTarget,
        cas: &Cas,
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        let place = self.place(&cas.place)?;
        let (old, new) = (self.expr(&cas.old, place.sort), self.expr(&cas.new, place.sort));
        let (old, new) = (old?, new?);
        if target.sort != Sort::BOOL {
            let found = self.sort_name(target.sort);
            let message = format!("`cas` gives a `bool`, the place for it has type {found}");
            self.report(Diagnostic::error(codes::TYPE_MISMATCH, target.span, message).label("expected a `bool`"));
            return None;
        }
        if place.var == target.var && (place.path.is_empty() || target.path.is_empty()) {
            let message = "the result of `cas` goes to the place that it changes";
            self.report(Diagnostic::error(codes::SAME_PLACE_TWICE, target.span, message));
            return None;
        }
        self.note_write(&place);
        self.note_write(target);
        let gates = self.gates();
        let current = self.read(&place);
        let same = self.program.terms.eq(current, old);
        let value = self.program.terms.ite(same, new, current);
        let updates = self.updates([(&place, value), (target, same)].into_iter());
        let origin = self.origin(span);
        Some(self.simple(b, at, DraftAction { gates, updates, ..self.draft(What::Cas, origin) }))
    }
}
