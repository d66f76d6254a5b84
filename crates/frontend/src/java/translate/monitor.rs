//! Monitors: `synchronized`, `wait`, `notify` (JLS 17.1, 17.2).
//!
//! A monitor is a lock of the model; entering it twice is told from the text and, where the text does not tell, asked at run
//! time. `wait` puts the thread into the wait set and leaves the monitor in one step, waits until it is taken out, and enters again.
//! Java allows it to return without a reason: so before it waits a thread chooses whether it will. A lost wake-up is then found as a
//! deadlock of threads that chose not to, and every assertion also holds where threads wake up by themselves.
//!
//! In: a block or method that is synchronized; calls of `wait` and `notify`. Out: their steps.
//! Deliberately absent: what interruption is (`model`).

use super::Translation;
use super::body::{Cleanup, Held, Named};
use super::build::*;
use super::place::{Base, Receiver};
use super::types::Ty;
use crate::java::tree::{self, JavaClass, JavaExprKind, JavaMethod};
use crate::lang::ast::{self, Binary, Checked, Expr, Spanned, Stmt, StmtKind};
use base::Span;

impl<'a> Translation<'a> {
    fn note_monitor(&mut self, receiver: &Receiver) {
        self.facts.monitors.insert(receiver.kind());
    }

    pub(super) fn synchronized(&mut self, on: &'a tree::JavaExpr, body: &'a [tree::JavaStmt], span: Span) {
        let receiver = match &on.kind {
            JavaExprKind::ClassLiteral(text) => match self.classes.get(text) {
                Some(class) => Some(self.class_receiver(class)),
                None => {
                    self.unmodelled("the monitor of a class that is not given", on.span);
                    None
                }
            },
            _ => self.receiver(on),
        };
        let Some(mut receiver) = receiver else {
            // Reaching it is unknown already.
            self.scoped(|t| t.stmts(body));
            return;
        };
        // The object is the one of the beginning, whatever becomes of the variable.
        if let Base::Heap(object) = &receiver.base
            && self.steady_variable(on).is_none()
        {
            let kept = self.bind("monitor", &receiver.ty.clone(), super::place::as_value(object.clone()), on.span);
            receiver.base = Base::Heap(kept);
        }
        self.with_monitor(receiver, on.span, |t| {
            t.scoped(|t| {
                t.stmts(body);
                // Annotations at the end of the block stand inside the monitor.
                t.notes_before(span.file, span.end);
            });
        });
    }

    pub(super) fn synchronized_method(
        &mut self,
        class: &'a JavaClass,
        method: &'a JavaMethod,
        body: &'a [tree::JavaStmt],
    ) {
        let receiver = if method.modifiers.is_static {
            self.class_receiver(class)
        } else {
            let Some((this, ty)) = self.frame.this.clone() else { return };
            let named = Some(Named::Of("this".into(), None));
            Receiver { base: Base::Heap(this), ty, named, object: Some("this".into()), length: None }
        };
        self.with_monitor(receiver, method.name_span, |t| {
            t.scoped(|t| {
                t.stmts(body);
                t.notes_before(method.span.file, method.body_span.end);
            });
        });
    }

    fn with_monitor(&mut self, receiver: Receiver, span: Span, body: impl FnOnce(&mut Self)) {
        self.note_monitor(&receiver);
        let lock = receiver.part("monitor", span);
        let release = if self.may_hold(&receiver.kind()) {
            // It may be held already: then it is left with the outermost block.
            let held = self.open_temp("held", &Ty::Boolean, span);
            let mine = || equal(lock.clone(), tid(span), span);
            let free = equal(lock.clone(), int(0, span), span);
            let stmts = vec![
                Spanned::new(StmtKind::Assume(or(vec![free, mine()], span)), span),
                assign(held.clone(), mine(), span),
                assign(lock.clone(), tid(span), span),
            ];
            self.push_stmt(step(stmts, span));
            let leave = vec![Spanned::new(StmtKind::Release(lock.clone()), span)];
            vec![if_else(not(held, span), leave, None, span)]
        } else {
            self.push(StmtKind::Acquire(lock.clone()), span);
            vec![Spanned::new(StmtKind::Release(lock.clone()), span)]
        };
        self.frame.held.push(Held { kind: receiver.kind(), lock: receiver.named.clone() });
        self.frame.cleanups.push(Cleanup::Release { statements: release.clone() });
        body(self);
        self.frame.cleanups.pop();
        self.frame.held.pop();
        release.into_iter().for_each(|s| self.push_stmt(s));
    }

    /// Whether the body at hand certainly holds the monitor of an object.
    fn holds(&self, receiver: &Receiver) -> bool {
        receiver.named.is_some() && self.frame.held.iter().any(|h| h.lock == receiver.named)
    }

    /// `wait`, `notify` and `notifyAll`. `None`: another method.
    pub(super) fn monitor_call(
        &mut self,
        receiver: &Receiver,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<()> {
        if !matches!(method, "wait" | "notify" | "notifyAll") || (method != "wait" && !args.is_empty()) {
            return None;
        }
        self.note_monitor(receiver);
        let lock = receiver.part("monitor", span);
        if !self.holds(receiver) {
            let held = equal(lock.clone(), tid(span), span);
            self.check(Checked::Release, held, span);
        }
        for arg in args {
            self.expr(arg);
        }
        if self.alone {
            // For any callers only what can go wrong is asked, and a thread may wake up by itself: who waits is nobody's business.
            if method == "wait" {
                self.push(StmtKind::Release(lock.clone()), span);
                self.push(StmtKind::Acquire(lock), span);
            }
            return Some(());
        }
        let waiting = receiver.part("waiting", span);
        self.facts.waited.insert(receiver.kind());
        match method {
            // With a limit of time it returns by itself.
            "wait" => self.wait_for(lock, waiting, args.is_empty(), span),
            "notify" => self.wake_one(waiting, span),
            _ => self.push_stmt(assign(waiting, set(Vec::new(), span), span)),
        }
        Some(())
    }

    /// Leaves a lock, waits in a set, and takes the lock again.
    pub(super) fn wait_for(&mut self, lock: Expr, waiting: Expr, for_ever: bool, span: Span) {
        let stmt = |kind| Spanned::new(kind, span);
        self.raise_if_interrupted(span);
        let by_itself = vec![stmt(StmtKind::Release(lock.clone()))];
        if for_ever {
            let me = || set(vec![tid(span)], span);
            let joined = binary(Binary::Add, waiting.clone(), me(), span);
            let enter: Stmt =
                step(vec![assign(waiting.clone(), joined, span), stmt(StmtKind::Release(lock.clone()))], span);
            let mut gone = not(binary(Binary::In, tid(span), waiting.clone(), span), span);
            if self.classes.interrupts {
                gone = or(vec![super::model::my_flag(span), gone], span);
            }
            let woken = vec![enter, stmt(StmtKind::Assume(gone))];
            self.push(StmtKind::Choose(vec![block(woken, span), block(by_itself, span)]), span);
        } else {
            by_itself.into_iter().for_each(|s| self.push_stmt(s));
        }
        self.push(StmtKind::Acquire(lock), span);
        if self.classes.interrupts && for_ever {
            self.leave_set_interrupted(waiting, span);
        } else {
            self.raise_if_interrupted(span);
        }
    }

    /// Takes some thread out of a set, if there is one.
    pub(super) fn wake_one(&mut self, waiting: Expr, span: Span) {
        let fresh = self.fresh("woken");
        let stmt = |kind| Spanned::new(kind, span);
        self.push(StmtKind::Local { name: name(&fresh, span), ty: stmt_type(span), value: None }, span);
        let woken = var(fresh, span);
        let some = not(equal(waiting.clone(), set(Vec::new(), span), span), span);
        let rest = binary(Binary::Subtract, waiting.clone(), set(vec![woken.clone()], span), span);
        let inner = vec![
            stmt(StmtKind::Havoc(vec![woken.clone()])),
            stmt(StmtKind::Assume(binary(Binary::In, woken, waiting.clone(), span))),
            assign(waiting, rest, span),
        ];
        let choice = if_else(some, inner, None, span);
        self.push(StmtKind::Atomic(block(vec![choice], span)), span);
    }
}

fn stmt_type(span: Span) -> ast::Type {
    Spanned::new(ast::TypeKind::Int, span)
}
