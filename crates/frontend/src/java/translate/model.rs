//! What the library that is written in Java says of the model: waiting for a condition, the thread at hand, any value; and interruption.
//!
//! A thread is interrupted by setting its flag. What waits in a way that can be interrupted waits for the flag as well. Where nothing in the program
//! interrupts a thread there are no flags, and handlers of `InterruptedException` are never reached.
//!
//! In: calls of `Model` in the library, and of the methods of interruption. Out: steps.
//! Deliberately absent: interruption of a thread that waits in `join`, and by itself where nobody else interrupts.

use super::Translation;
use super::body::Val;
use super::build::*;
use super::place::as_value;
use super::types::{Ty, Width};
use crate::java::tree::{self, JavaExprKind};
use crate::lang::ast::{self, Binary, Expr, Foreign, Item, ItemKind, SourceSpan, Spanned, Stmt, StmtKind, VarDecl};
use base::Span;

/// The flags of all threads.
const INTERRUPTED: &str = "Thread.interrupted";

impl<'a> Translation<'a> {
    fn in_library(&self) -> bool {
        self.frame.class.is_some_and(|c| c.surroundings.is_library)
    }

    /// `Model.f(..)` in the library.
    pub(super) fn model_call(
        &mut self,
        object: &tree::JavaExpr,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        if !self.in_library() || !matches!(&object.kind, JavaExprKind::Name(n) if n == "Model") {
            return None;
        }
        let void = Val::new(boolean(false, span), Ty::Void);
        Some(match (method, args) {
            ("await", [condition]) => {
                let condition = self.expr_as(condition, &Ty::Boolean);
                self.push(StmtKind::Assume(condition), span);
                void
            }
            ("thread", []) => {
                let me = convert(machine(32, ast::Sign::Signed, span), tid(span), span);
                Val::new(self.bind("me", &Ty::INT, as_value(me), span), Ty::INT)
            }
            ("any", []) => {
                // Decided here, not where it is asked first: whether a thread is stuck may depend on it.
                let any = self.open_temp("any", &Ty::Boolean, span);
                let case = |value| block(vec![assign(any.clone(), boolean(value, span), span)], span);
                self.push(StmtKind::Choose(vec![case(true), case(false)]), span);
                Val::new(any, Ty::Boolean)
            }
            ("between", [low, high]) => {
                let ty = Ty::Int(Width::Long);
                let (low, high) = (self.expr_as(low, &ty), self.expr_as(high, &ty));
                let any = self.open_temp("any", &ty, span);
                let above = binary(Binary::LessEqual, low, any.clone(), span);
                let below = binary(Binary::LessEqual, any.clone(), high, span);
                let stmts = vec![
                    Spanned::new(StmtKind::Havoc(vec![any.clone()]), span),
                    Spanned::new(StmtKind::Assume(and(vec![above, below], span)), span),
                ];
                self.push_stmt(step(stmts, span));
                Val::new(any, ty)
            }
            ("interrupted", []) => match self.classes.interrupts {
                true => Val::new(self.bind("interrupted", &Ty::Boolean, as_value(my_flag(span)), span), Ty::Boolean),
                false => super::operator::literal(0, &Ty::Boolean, span),
            },
            ("clearInterrupted", []) => self.clear_flag(span),
            ("unknown", [tree::JavaExpr { kind: JavaExprKind::Text(what), .. }]) => {
                let what = what.trim_matches('"').to_owned();
                self.unmodelled(&what, span);
                void
            }
            _ => self.unknown("this call of the model", span),
        })
    }

    /// Whether the thread at hand is interrupted; it is not from then on.
    pub(super) fn clear_flag(&mut self, span: Span) -> Val {
        if !self.classes.interrupts {
            return super::operator::literal(0, &Ty::Boolean, span);
        }
        let hit = self.open_temp("interrupted", &Ty::Boolean, span);
        let stmts = vec![assign(hit.clone(), my_flag(span), span), assign(my_flag(span), boolean(false, span), span)];
        self.push_stmt(step(stmts, span));
        Val::new(hit, Ty::Boolean)
    }

    /// The flags, as a variable of the program.
    pub(super) fn declare_flags(&mut self) {
        if !self.classes.interrupts {
            return;
        }
        let span = Span::new(self.no_file(), 0, 0);
        let kind = |kind| Spanned::new(kind, span);
        let ty = kind(ast::TypeKind::Map(Box::new(kind(ast::TypeKind::Int)), Box::new(kind(ast::TypeKind::Bool))));
        let value = Some(foreign(Foreign::Everywhere(boolean(false, span)), span));
        let var = VarDecl {
            name: name(INTERRUPTED, span),
            ty,
            value,
            access: Vec::new(),
            privacy: ast::Privacy::Seen,
            span: SourceSpan(span),
        };
        let item: Item = Spanned::new(ItemKind::Var(var), span);
        self.items.insert(0, item);
    }

    /// Throws where the thread at hand is interrupted.
    pub(super) fn raise_if_interrupted(&mut self, span: Span) {
        if self.classes.interrupts {
            let hit = self.clear_flag(span);
            self.raise_if(hit.expr, span);
        }
    }

    fn raise_if(&mut self, hit: Expr, span: Span) {
        let inner = self.branch(|t| t.raise("InterruptedException", span));
        self.push_stmt(if_else(hit, inner, None, span));
    }

    /// One step that waits for a condition, or until the thread is interrupted.
    pub(super) fn wait_interruptibly(&mut self, guard: Expr, done: Vec<Stmt>, span: Span) {
        let wait = |guard| Spanned::new(StmtKind::Assume(guard), span);
        if !self.classes.interrupts {
            let stmts = std::iter::once(wait(guard)).chain(done).collect();
            return self.push_stmt(step(stmts, span));
        }
        let hit = self.open_temp("interrupted", &Ty::Boolean, span);
        let clear = vec![assign(my_flag(span), boolean(false, span), span)];
        let stmts = vec![
            wait(or(vec![my_flag(span), guard], span)),
            assign(hit.clone(), my_flag(span), span),
            if_else(hit.clone(), clear, Some(done), span),
        ];
        self.push_stmt(Spanned::new(StmtKind::Atomic(block(stmts, span)), span));
        self.raise_if(hit, span);
    }

    /// Waiting in a set can be interrupted: a thread that was told to go on goes on.
    pub(super) fn leave_set_interrupted(&mut self, waiting: Expr, span: Span) {
        let hit = self.open_temp("interrupted", &Ty::Boolean, span);
        let me = || set(vec![tid(span)], span);
        let inside = binary(Binary::In, tid(span), waiting.clone(), span);
        let rest = binary(Binary::Subtract, waiting.clone(), me(), span);
        let clear = vec![assign(my_flag(span), boolean(false, span), span), assign(waiting, rest, span)];
        let stmts = vec![
            assign(hit.clone(), and(vec![inside, my_flag(span)], span), span),
            if_else(hit.clone(), clear, None, span),
        ];
        self.push_stmt(step(stmts, span));
        self.raise_if(hit, span);
    }

    /// Methods of the thread at hand: `Thread.currentThread().f()`.
    pub(super) fn current_thread_call(&mut self, method: &str, args: &'a [tree::JavaExpr], span: Span) -> Val {
        args.iter().for_each(|a| self.effects(a));
        match (method, args.len()) {
            ("interrupt", 0) if self.classes.interrupts => {
                self.push_stmt(assign(my_flag(span), boolean(true, span), span));
                Val::new(boolean(false, span), Ty::Void)
            }
            ("interrupt", 0) => self.unknown("a thread that interrupts itself, where nobody else interrupts", span),
            ("isInterrupted", 0) if self.classes.interrupts => {
                Val::new(self.bind("interrupted", &Ty::Boolean, as_value(my_flag(span)), span), Ty::Boolean)
            }
            ("isInterrupted", 0) => super::operator::literal(0, &Ty::Boolean, span),
            ("getName" | "toString", 0) => self.some_text(span),
            ("setName" | "setPriority", 1) => Val::new(boolean(false, span), Ty::Void),
            _ => self.unknown(&format!("`Thread.currentThread().{method}`"), span),
        }
    }

    /// `interrupt` and `isInterrupted` of a thread that is an object.
    pub(super) fn interruption_call(&mut self, id: Expr, method: &str, span: Span) -> Val {
        let flag = index(var(INTERRUPTED, span), id.clone(), span);
        let id = self.bind_int("id", as_value(id), span);
        let flag = Spanned::new(index(var(INTERRUPTED, span), id.clone(), span).kind, flag.span);
        if method == "interrupt" {
            let started = not(equal(id, int(0, span), span), span);
            let set = vec![assign(flag, boolean(true, span), span)];
            self.push_stmt(if_else(started, set, None, span));
            return Val::new(boolean(false, span), Ty::Void);
        }
        if !self.classes.interrupts {
            return super::operator::literal(0, &Ty::Boolean, span);
        }
        Val::new(self.bind("interrupted", &Ty::Boolean, as_value(flag), span), Ty::Boolean)
    }
}

pub(super) fn my_flag(span: Span) -> Expr {
    index(var(INTERRUPTED, span), tid(span), span)
}
