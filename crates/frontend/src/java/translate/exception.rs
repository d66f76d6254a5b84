//! Exceptions that a handler catches: `throw`, `try`, `catch`, `finally` (JLS 11, 14.20).
//!
//! An exception is the number of its class. Where the text tells which handler catches it, throwing is a jump to the handler; monitors are left and `finally`
//! blocks run on the way. What only a caller may catch is a second result of the method, in a copy of it for the types that are caught there. What
//! nobody catches is a property of its line, and ends the run that is looked at.
//!
//! In: statements and failing checks. Out: jumps, or checks.
//! Deliberately absent: what exceptions carry besides their class; errors of the machine (memory, stack); interruption.

use super::Translation;
use super::body::{Cleanup, Val};
use super::build::*;
use super::types::{Classes, Ty};
use crate::java::tree::{self, CatchClause, JavaExprKind, JavaStmtKind};
use crate::lang::ast::{self, Checked, Expr, Spanned};
use base::Span;
use std::collections::BTreeSet;

/// Exceptions of the library, each with what it extends.
const LIBRARY_EXCEPTIONS: &[(&str, &str)] = &[
    ("Throwable", ""),
    ("Exception", "Throwable"),
    ("Error", "Throwable"),
    ("RuntimeException", "Exception"),
    ("AssertionError", "Error"),
    ("IllegalArgumentException", "RuntimeException"),
    ("NumberFormatException", "IllegalArgumentException"),
    ("IllegalThreadStateException", "IllegalArgumentException"),
    ("IllegalStateException", "RuntimeException"),
    ("CancellationException", "IllegalStateException"),
    ("IllegalMonitorStateException", "RuntimeException"),
    ("UnsupportedOperationException", "RuntimeException"),
    ("NullPointerException", "RuntimeException"),
    ("ArithmeticException", "RuntimeException"),
    ("ClassCastException", "RuntimeException"),
    ("ArrayStoreException", "RuntimeException"),
    ("IndexOutOfBoundsException", "RuntimeException"),
    ("ArrayIndexOutOfBoundsException", "IndexOutOfBoundsException"),
    ("StringIndexOutOfBoundsException", "IndexOutOfBoundsException"),
    ("NegativeArraySizeException", "RuntimeException"),
    ("NoSuchElementException", "RuntimeException"),
    ("EmptyStackException", "RuntimeException"),
    ("ConcurrentModificationException", "RuntimeException"),
    ("SecurityException", "RuntimeException"),
    ("CloneNotSupportedException", "Exception"),
    ("InterruptedException", "Exception"),
    ("BrokenBarrierException", "Exception"),
    ("TimeoutException", "Exception"),
    ("RejectedExecutionException", "RuntimeException"),
    ("ExecutionException", "Exception"),
    ("ReflectiveOperationException", "Exception"),
    ("ClassNotFoundException", "ReflectiveOperationException"),
    ("IOException", "Exception"),
    ("FileNotFoundException", "IOException"),
    ("EOFException", "IOException"),
    ("OutOfMemoryError", "Error"),
    ("StackOverflowError", "Error"),
];

/// What the checks of the model throw.
const OF_CHECKS: &[&str] = &[
    "NullPointerException",
    "ArrayIndexOutOfBoundsException",
    "IndexOutOfBoundsException",
    "NegativeArraySizeException",
    "ArithmeticException",
    "ClassCastException",
    "IllegalMonitorStateException",
    "IllegalThreadStateException",
    "IllegalArgumentException",
    "NoSuchElementException",
    "EmptyStackException",
    "ConcurrentModificationException",
];

impl Classes<'_> {
    /// Whether a class is an exception.
    pub(crate) fn is_exception(&self, name: &str) -> bool {
        self.ancestors(name).iter().any(|n| n == "Throwable")
    }

    pub(crate) fn is_exception_of(&self, name: &str, of: &str) -> bool {
        self.ancestors(name).iter().any(|n| n == of)
    }

    /// The class and what it extends, up to the first that is not known.
    fn ancestors(&self, name: &str) -> Vec<String> {
        let mut out = vec![name.to_owned()];
        // The chain is finite, unless classes extend each other.
        for _ in 0..=self.all.len() + LIBRARY_EXCEPTIONS.len() {
            let at = &out[out.len() - 1];
            let parent = match self.get(at) {
                Some(class) => match class.extends.as_ref().map(|t| &t.kind) {
                    Some(tree::JavaTypeKind::Named(parent, _)) => parent.clone(),
                    _ => break,
                },
                None => match LIBRARY_EXCEPTIONS.iter().find(|(n, _)| n == at) {
                    Some((_, parent)) if !parent.is_empty() => (*parent).to_owned(),
                    _ => break,
                },
            };
            out.push(parent);
        }
        out
    }
}

/// Who catches an exception.
enum Catcher {
    /// The `try` at this depth.
    Try(usize),
    Caller,
    Nobody,
}

/// What a check that fails throws.
fn thrown_by(of: &Checked) -> Option<&'static str> {
    Some(match of {
        Checked::Null => "NullPointerException",
        Checked::Bounds => "ArrayIndexOutOfBoundsException",
        Checked::Release => "IllegalMonitorStateException",
        Checked::Language("division") => "ArithmeticException",
        Checked::Language("cast") => "ClassCastException",
        Checked::Language("start") => "IllegalThreadStateException",
        Checked::Language("size") => "NegativeArraySizeException",
        Checked::Language("index") => "IndexOutOfBoundsException",
        Checked::Language("argument") => "IllegalArgumentException",
        Checked::Language("element") => "NoSuchElementException",
        Checked::Language("modified") => "ConcurrentModificationException",
        _ => return None,
    })
}

impl<'a> Translation<'a> {
    /// The number that stands for an exception of a class.
    fn exception_number(&self, name: &str) -> i128 {
        let own = self.classes.number(name);
        if own > 0 {
            return own;
        }
        let library = LIBRARY_EXCEPTIONS.iter().position(|(n, _)| *n == name);
        library.map_or(499_999, |i| 400_000 + i as i128)
    }

    /// The classes whose exceptions the program may throw.
    fn possible(&self) -> Vec<String> {
        let mut out: BTreeSet<String> = OF_CHECKS.iter().map(|n| (*n).to_owned()).collect();
        if self.classes.interrupts {
            out.insert("InterruptedException".to_owned());
        }
        for class in &self.unit.classes {
            let is_library = class.surroundings.is_library;
            tree::in_class(class, &mut |e| {
                if let JavaExprKind::New { ty, .. } = &e.kind
                    && let tree::JavaTypeKind::Named(name, _) = &ty.kind
                    && self.classes.is_exception(name)
                    && !(is_library && name == "InterruptedException")
                {
                    out.insert(name.clone());
                }
            });
        }
        out.into_iter().collect()
    }

    /// The types of exceptions that someone around the statement at hand catches, and that may be thrown.
    pub(super) fn caught_here(&self) -> Vec<String> {
        let mut out: BTreeSet<String> = self.frame.caught.iter().cloned().collect();
        for cleanup in &self.frame.cleanups {
            if let Cleanup::Try { types, .. } = cleanup {
                out.extend(types.iter().cloned());
            }
        }
        out.into_iter().collect()
    }

    fn catcher(&self, name: &str) -> Catcher {
        let catches = |types: &[String]| types.iter().any(|t| self.classes.is_exception_of(name, t));
        for (at, cleanup) in self.frame.cleanups.iter().enumerate().rev() {
            if let Cleanup::Try { types, .. } = cleanup
                && catches(types)
            {
                return Catcher::Try(at);
            }
        }
        if catches(&self.frame.caught) { Catcher::Caller } else { Catcher::Nobody }
    }

    /// Whether some handler catches what a check throws.
    pub(super) fn is_caught(&self, of: &Checked) -> bool {
        thrown_by(of).is_some_and(|name| !matches!(self.catcher(name), Catcher::Nobody))
    }

    /// A check that throws where it fails and someone catches it: done now. Otherwise the statement that checks.
    pub(super) fn guarded(&mut self, of: Checked, condition: Expr, span: Span) -> Option<ast::Stmt> {
        match thrown_by(&of) {
            Some(name) if self.is_caught(&of) => {
                let inner = self.branch(|t| t.raise(name, span));
                self.push_stmt(if_else(not(condition, span), inner, None, span));
                None
            }
            _ => Some(Spanned::new(ast::StmtKind::Check { of, condition }, span)),
        }
    }

    /// Throws an exception of a class that is known.
    pub(super) fn raise(&mut self, name: &str, span: Span) {
        let number = int(self.exception_number(name), span);
        match self.catcher(name) {
            Catcher::Try(at) => self.go_to_handler(at, number, span),
            Catcher::Caller => self.throw_to_caller(number, span),
            Catcher::Nobody => {
                let of = Checked::Language("throw");
                self.push(ast::StmtKind::Check { of, condition: boolean(false, span) }, span);
            }
        }
    }

    fn go_to_handler(&mut self, at: usize, number: Expr, span: Span) {
        let Cleanup::Try { thrown, handler, .. } = self.frame.cleanups[at].clone() else {
            unreachable!("the index of a `try` was asked for")
        };
        self.push_stmt(assign(thrown, number, span));
        self.clean_up(at + 1);
        self.push(ast::StmtKind::Leave(handler.into_boxed_str()), span);
    }

    fn throw_to_caller(&mut self, number: Expr, span: Span) {
        self.clean_up(0);
        let ty = self.frame.result.clone();
        let value = (ty != Ty::Void).then(|| self.default_value(&ty, span));
        self.push(ast::StmtKind::Return(value.into_iter().chain([number]).collect()), span);
    }

    /// Throws an exception of which only the number is known, to whoever catches it.
    pub(super) fn raise_number(&mut self, number: Expr, span: Span) {
        let possible = self.possible();
        let mut rest: BTreeSet<String> = possible.into_iter().collect();
        let tries: Vec<(usize, Vec<String>)> = self
            .frame
            .cleanups
            .iter()
            .enumerate()
            .rev()
            .filter_map(|(at, c)| match c {
                Cleanup::Try { types, .. } => Some((at, types.clone())),
                _ => None,
            })
            .collect();
        let outermost = self.frame.caught.clone();
        let levels = tries.into_iter().map(|(at, t)| (Some(at), t)).chain([(None, outermost)]);
        for (at, types) in levels {
            let hit: Vec<String> =
                rest.iter().filter(|n| types.iter().any(|t| self.classes.is_exception_of(n, t))).cloned().collect();
            if hit.is_empty() {
                continue;
            }
            let cases: Vec<Expr> =
                hit.iter().map(|n| equal(number.clone(), int(self.exception_number(n), span), span)).collect();
            let condition = if cases.len() == 1 { cases[0].clone() } else { or(cases, span) };
            hit.iter().for_each(|n| {
                rest.remove(n);
            });
            let inner = self.branch(|t| match at {
                Some(at) => t.go_to_handler(at, number.clone(), span),
                None => t.throw_to_caller(number.clone(), span),
            });
            self.push_stmt(if_else(condition, inner, None, span));
        }
        let of = Checked::Language("throw");
        self.push(ast::StmtKind::Check { of, condition: boolean(false, span) }, span);
    }

    pub(super) fn throw(&mut self, value: &'a tree::JavaExpr, span: Span) {
        let thrown = self.expr(value);
        match (&thrown.ty, &thrown.exact) {
            (Ty::Thrown(_), Some(name)) => {
                let name = name.clone();
                self.raise(&name, span);
            }
            (Ty::Thrown(_), None) => self.raise_number(thrown.expr, span),
            (Ty::Unknown, _) => {}
            _ => self.unmodelled("an exception of a class that is not known", span),
        }
    }

    /// `new SomeException(..)`: what it carries is not kept.
    pub(super) fn new_exception(&mut self, name: &str, args: &'a [tree::JavaExpr], span: Span) -> Val {
        args.iter().for_each(|a| self.effects(a));
        if self.classes.get(name).is_some_and(|c| !is_plain_exception(c)) {
            return self.unknown("an exception whose constructor does more than set its fields", span);
        }
        let number = int(self.exception_number(name), span);
        Val { exact: Some(name.to_owned()), ..Val::new(number, Ty::Thrown(name.to_owned())) }
    }

    /// `e instanceof X` of an exception.
    pub(super) fn is_exception_instance(&self, value: &Val, class: &str, span: Span) -> Expr {
        let cases: Vec<Expr> = self
            .possible()
            .iter()
            .filter(|n| self.classes.is_exception_of(n, class))
            .map(|n| equal(value.expr.clone(), int(self.exception_number(n), span), span))
            .collect();
        match cases.len() {
            0 => boolean(false, span),
            1 => cases.into_iter().next().expect("there is one"),
            _ => or(cases, span),
        }
    }

    pub(super) fn try_statement(
        &mut self,
        body: &'a [tree::JavaStmt],
        catches: &'a [CatchClause],
        finally: Option<&'a [tree::JavaStmt]>,
        span: Span,
    ) {
        let possible = self.possible();
        let may_be = |t: &String| possible.iter().any(|n| self.classes.is_exception_of(n, t));
        let names = |c: &CatchClause| -> Vec<String> {
            let named = |t: &tree::JavaType| match &t.kind {
                tree::JavaTypeKind::Named(n, _) => Some(n.clone()),
                _ => None,
            };
            c.types.iter().filter_map(named).filter(&may_be).collect()
        };
        let clauses: Vec<(&'a CatchClause, Vec<String>)> = catches.iter().map(|c| (c, names(c))).collect();
        if let Some(finally) = finally {
            self.frame.cleanups.push(Cleanup::Finally(finally));
        }
        let types: Vec<String> = clauses.iter().flat_map(|(_, t)| t.clone()).collect();
        let end_of_body = catches.first().map_or(span.end, |c| c.span.start);
        if types.is_empty() {
            self.scoped(|t| {
                t.stmts(body);
                t.notes_before(span.file, end_of_body);
            });
        } else {
            self.with_handlers(body, clauses, types, end_of_body, span);
        }
        if let Some(finally) = finally {
            self.frame.cleanups.pop();
            self.scoped(|t| t.stmts(finally));
        }
    }

    fn with_handlers(
        &mut self,
        body: &'a [tree::JavaStmt],
        clauses: Vec<(&'a CatchClause, Vec<String>)>,
        types: Vec<String>,
        end_of_body: u32,
        span: Span,
    ) {
        let thrown = self.bind_int("thrown", super::place::as_value(int(0, span)), span);
        let (handler, end) = (self.fresh("handler"), self.fresh("try"));
        let straight = std::mem::replace(&mut self.frame.straight, false);
        let cleanup = Cleanup::Try { handler: handler.clone(), thrown: thrown.clone(), types };
        self.frame.cleanups.push(cleanup);
        let mut inner = self.inner_block(|t| {
            t.stmts(body);
            t.notes_before(span.file, end_of_body);
        });
        self.frame.cleanups.pop();
        inner.push(Spanned::new(ast::StmtKind::Leave(end.clone().into_boxed_str()), span));
        let mut whole = vec![Spanned::new(ast::StmtKind::Labelled(handler.into_boxed_str(), block(inner, span)), span)];
        let mut seen: Vec<String> = Vec::new();
        let possible = self.possible();
        for (clause, names) in clauses {
            let hit: Vec<&String> = possible
                .iter()
                .filter(|n| !seen.contains(n) && names.iter().any(|t| self.classes.is_exception_of(n, t)))
                .collect();
            let cases: Vec<Expr> = hit
                .iter()
                .map(|n| equal(thrown.clone(), int(self.exception_number(n), clause.span), clause.span))
                .collect();
            seen.extend(hit.into_iter().cloned());
            if cases.is_empty() {
                continue;
            }
            let condition =
                if cases.len() == 1 { cases.into_iter().next().expect("there is one") } else { or(cases, clause.span) };
            let ty = Ty::Thrown(names.first().cloned().unwrap_or_default());
            let mut body = self.inner_block(|t| {
                t.declare_local(&clause.name, super::body::Local::new(thrown.clone(), ty));
                t.stmts(&clause.body);
                t.notes_before(clause.span.file, clause.span.end);
            });
            body.push(Spanned::new(ast::StmtKind::Leave(end.clone().into_boxed_str()), clause.span));
            whole.push(if_else(condition, body, None, clause.span));
        }
        self.frame.straight = straight;
        self.push(ast::StmtKind::Labelled(end.into_boxed_str(), block(whole, span)), span);
    }
}

/// Whether constructors of an exception only call those above and set fields, so that leaving them out changes nothing else.
fn is_plain_exception(class: &tree::JavaClass) -> bool {
    let plain = |s: &tree::JavaStmt| match &s.kind {
        JavaStmtKind::Construct { args, .. } => args.iter().all(is_plain),
        JavaStmtKind::Empty => true,
        JavaStmtKind::Expr(e) => match &e.kind {
            JavaExprKind::Assign(place, None, value) => {
                let own = match &place.kind {
                    JavaExprKind::Field(object, ..) => matches!(object.kind, JavaExprKind::This),
                    JavaExprKind::Name(n) => class.fields.iter().any(|f| f.name == *n && !f.modifiers.is_static),
                    _ => false,
                };
                own && is_plain(value)
            }
            _ => false,
        },
        _ => false,
    };
    let constructors = class.methods.iter().filter(|m| m.name == tree::CONSTRUCTOR);
    constructors.filter_map(|m| m.body.as_ref()).all(|b| b.iter().all(plain))
        && class.initializers.is_empty()
        && class.fields.iter().all(|f| f.modifiers.is_static || f.value.as_ref().is_none_or(is_plain))
}

fn is_plain(e: &tree::JavaExpr) -> bool {
    let mut plain = true;
    tree::in_expr(e, &mut |e| {
        plain &= !matches!(
            e.kind,
            JavaExprKind::Call { .. }
                | JavaExprKind::Assign(..)
                | JavaExprKind::Step { .. }
                | JavaExprKind::New { .. }
                | JavaExprKind::NewArray { .. }
                | JavaExprKind::Index(..)
        );
    });
    plain
}
