//! `System.arraycopy`, and small functions that the library calls: those that compute a new value of a place.
//!
//! In: calls with arrays or functions. Out: their steps. Copying reads and writes element by element, each access a step of its own; from the end where the
//! parts overlap so that every element is read before it is written (JLS has no order; overlapping parts are copied as if through a third array).
//! Deliberately absent: functions that read shared places where the library calls them inside one step.

use super::Translation;
use super::body::{Local, Val};
use super::build::*;
use super::place::{Base, Mode, Receiver, Shared, Target, as_value};
use super::types::Ty;
use crate::java::tree::{self, BinaryOp, JavaExprKind, JavaStmtKind};
use crate::lang::ast::{Binary, Checked, Expr};
use base::Span;

impl<'a> Translation<'a> {
    pub(super) fn array_copy(&mut self, args: &'a [tree::JavaExpr], span: Span) -> Val {
        let [from, from_at, to, to_at, count] = args else { return self.unknown("this call of `arraycopy`", span) };
        let void = Val::new(boolean(false, span), Ty::Void);
        let (Some(from), Some(from_at)) = (self.receiver(from), Some(self.number_kept(from_at))) else { return void };
        let from = self.steady(from, span);
        let (Some(to), Some(to_at)) = (self.receiver(to), Some(self.number_kept(to_at))) else { return void };
        let to = self.steady(to, span);
        let count = self.number_kept(count);
        let (Ty::Array(element), Ty::Array(other)) = (from.ty.clone(), to.ty.clone()) else {
            return self.unknown("`arraycopy` of what is no array", span);
        };
        if element != other {
            return self.unknown("`arraycopy` between arrays of different types", span);
        }
        let same = match (&from.base, &to.base) {
            (Base::Heap(a), Base::Heap(b)) => equal(a.clone(), b.clone(), span),
            (Base::Static(a), Base::Static(b)) => boolean(a == b, span),
            (Base::Field(a, p), Base::Field(b, q)) if p == q => equal(a.clone(), b.clone(), span),
            _ => boolean(false, span),
        };
        let zero = || int(0, span);
        let plain = |e: &Expr| as_int(e.clone(), span);
        let whole = |at: &Expr, of: &Receiver| {
            let end = binary(Binary::Add, plain(at), plain(&count), span);
            binary(Binary::LessEqual, end, as_int(of.part("length", span), span), span)
        };
        let positive = |e: &Expr| binary(Binary::LessEqual, zero(), e.clone(), span);
        let inside = and(
            vec![positive(&from_at), positive(&to_at), positive(&count), whole(&from_at, &from), whole(&to_at, &to)],
            span,
        );
        self.check(Checked::Bounds, inside, span);
        let behind = binary(Binary::Less, from_at.clone(), to_at.clone(), span);
        let backwards = and(vec![same, behind], span);
        let forward =
            self.branch(|t| t.copy_elements((&from, &from_at), (&to, &to_at), &count, (&element, true), span));
        let backward =
            self.branch(|t| t.copy_elements((&from, &from_at), (&to, &to_at), &count, (&element, false), span));
        self.push_stmt(if_else(backwards, backward, Some(forward), span));
        void
    }

    fn number_kept(&mut self, e: &'a tree::JavaExpr) -> Expr {
        let value = self.expr_as(e, &Ty::INT);
        let value = convert(machine(32, crate::lang::ast::Sign::Signed, e.span), value, e.span);
        self.bind("number", &Ty::INT, as_value(value), e.span)
    }

    fn copy_elements(
        &mut self,
        (from, from_at): (&Receiver, &Expr),
        (to, to_at): (&Receiver, &Expr),
        count: &Expr,
        (element, forward): (&Ty, bool),
        span: Span,
    ) {
        self.frame.phase = super::body::Phase::Together;
        let last = binary(Binary::Subtract, count.clone(), int(1, span), span);
        let start = if forward { int(0, span) } else { last };
        let at = self.bind("at", &Ty::INT, as_value(start), span);
        let body = self.branch(|t| {
            let place = |of: &Receiver, start: &Expr| {
                let key = binary(Binary::Add, start.clone(), at.clone(), span);
                Target::Shared(Box::new(Shared {
                    place: index(of.part("data", span), key.clone(), span),
                    marker: index(of.part("writing", span), key, span),
                    name: of.elements(),
                    ty: element.clone(),
                    mode: Mode::Plain,
                    checks: Vec::new(),
                    object: of.object.clone(),
                }))
            };
            let value = t.load(&place(from, from_at), span);
            t.store(&place(to, to_at), value.expr, span);
            let op = if forward { Binary::Add } else { Binary::Subtract };
            t.push_stmt(assign(at.clone(), binary(op, at.clone(), int(1, span), span), span));
        });
        let more = match forward {
            true => binary(Binary::Less, at.clone(), count.clone(), span),
            false => binary(Binary::LessEqual, int(0, span), at.clone(), span),
        };
        self.push_stmt(while_loop(more, body, span));
    }

    /// The value of a function at arguments, where it is one expression that reads nothing shared. `None`: it is not.
    pub(super) fn applied(&mut self, function: &'a tree::JavaExpr, args: &[Val], wanted: &Ty) -> Option<Expr> {
        let span = function.span;
        let (params, body) = match &function.kind {
            JavaExprKind::Lambda { params, body, .. } => (params, body),
            JavaExprKind::MethodReference(object, name) => {
                return self.applied_reference(object, name, args, wanted, span);
            }
            _ => return None,
        };
        let value = match &body[..] {
            [tree::JavaStmt { kind: JavaStmtKind::Expr(e) | JavaStmtKind::Return(Some(e)), .. }] => e,
            _ => return None,
        };
        if params.len() != args.len() || !self.reads_nothing_shared(value, params) {
            return None;
        }
        let locals = params.iter().zip(args);
        self.frame.scopes.push(Vec::new());
        for (param, arg) in locals {
            self.declare_local(param, Local::new(arg.expr.clone(), arg.ty.clone()));
        }
        let value = self.expr_as(value, wanted);
        self.frame.scopes.pop();
        Some(value)
    }

    fn applied_reference(
        &mut self,
        object: &'a tree::JavaExpr,
        name: &str,
        args: &[Val],
        wanted: &Ty,
        span: Span,
    ) -> Option<Expr> {
        let JavaExprKind::Name(class) = &object.kind else { return None };
        let [a, b] = args else { return None };
        if !matches!(&class[..], "Integer" | "Long" | "Math") {
            return None;
        }
        let value = match name {
            "sum" => self.operate(BinaryOp::Add, a.clone(), b.clone(), span),
            "max" | "min" => {
                let op = if name == "max" { BinaryOp::Greater } else { BinaryOp::Less };
                let first = self.operate(op, a.clone(), b.clone(), span);
                let (a, b) = (self.convert(a.clone(), wanted, span), self.convert(b.clone(), wanted, span));
                return Some(if_then_else(first.expr, a, b, span));
            }
            _ => return None,
        };
        Some(self.convert(value, wanted, span))
    }

    /// Whether an expression reads locals and constants only, and does nothing but make new objects of the library.
    fn reads_nothing_shared(&self, e: &tree::JavaExpr, params: &[String]) -> bool {
        let mut plain = true;
        tree::in_expr(e, &mut |e| {
            plain &= match &e.kind {
                JavaExprKind::Name(n) => params.contains(n) || self.local(n).is_some() || self.constant_of_name(e),
                JavaExprKind::New { ty, args, body } => {
                    let library = match &ty.kind {
                        tree::JavaTypeKind::Named(n, _) => self.classes.get(n).is_none(),
                        _ => false,
                    };
                    library && args.is_empty() && body.is_none()
                }
                JavaExprKind::Bool(_)
                | JavaExprKind::Int(_)
                | JavaExprKind::Long(_)
                | JavaExprKind::Char(_)
                | JavaExprKind::Text(_)
                | JavaExprKind::Null
                | JavaExprKind::Unary(..)
                | JavaExprKind::Binary(..)
                | JavaExprKind::Conditional(_)
                | JavaExprKind::Cast(..) => true,
                _ => false,
            };
        });
        plain
    }

    fn constant_of_name(&self, e: &tree::JavaExpr) -> bool {
        self.constant(e, &Ty::Int(super::types::Width::Long)).is_some()
    }
}
