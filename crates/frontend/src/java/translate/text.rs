//! Strings and numbers that are objects.
//!
//! A string is 0 for null, a positive number for a literal, -1 for one that was put together: printing it, passing it on and comparing it with null are modelled,
//! its letters are not. `Integer` and its kind are numbers, with one number that Java does not have for null.
//!
//! In: values of these types and calls of their methods. Out: values; what depends on the letters of a string is outside the model.

use super::Translation;
use super::body::Val;
use super::build::*;
use super::types::{NO_NUMBER, Ty, Width};
use crate::java::tree::{self, BinaryOp, JavaExprKind};
use crate::lang::ast::{self, Binary, Checked, Expr, Spanned};
use base::Span;

/// A string that was put together.
const PUT_TOGETHER: i128 = -1;

impl<'a> Translation<'a> {
    pub(super) fn some_text(&self, span: Span) -> Val {
        Val::new(int(PUT_TOGETHER, span), Ty::Text)
    }

    /// What follows depends on the letters of a string: it must be a literal.
    pub(super) fn known_text(&mut self, text: &Expr, span: Span) {
        let of = Checked::Unmodelled("a string that is put together, where its letters count".into());
        let condition = not(equal(text.clone(), int(PUT_TOGETHER, span), span), span);
        self.push(ast::StmtKind::Check { of, condition }, span);
    }

    /// Whether an expression is a string, a number object or an exception.
    pub(super) fn is_scalar_object(&self, e: &tree::JavaExpr) -> bool {
        match &e.kind {
            JavaExprKind::Text(_) => true,
            JavaExprKind::Binary(BinaryOp::Add, a, b) => self.is_scalar_object(a) || self.is_scalar_object(b),
            _ => matches!(self.static_type(e), Ty::Text | Ty::Boxed(_) | Ty::Thrown(_)),
        }
    }

    /// A method of a string, a number object or an exception.
    pub(super) fn scalar_call(
        &mut self,
        object: &'a tree::JavaExpr,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Val {
        let value = self.expr(object);
        let values = self.arguments(args);
        let none = match &value.ty {
            Ty::Boxed(_) => NO_NUMBER,
            _ => 0,
        };
        let there = not(equal(value.expr.clone(), int(none, span), span), span);
        if !matches!(object.kind, JavaExprKind::Text(_) | JavaExprKind::Binary(..)) {
            self.check(Checked::Null, there, object.span);
        }
        match (&value.ty, method, &values[..]) {
            (Ty::Thrown(_), "printStackTrace", _) => Val::new(boolean(false, span), Ty::Void),
            (Ty::Thrown(_), "getMessage" | "toString" | "getLocalizedMessage", []) => self.some_text(span),
            (_, "toString" | "trim" | "concat" | "toUpperCase" | "toLowerCase", _) => self.some_text(span),
            (Ty::Text, "equals", [other]) if matches!(other.ty, Ty::Text | Ty::Null) => {
                self.known_text(&value.expr, span);
                let other = self.convert(other.clone(), &Ty::Text, span);
                self.known_text(&other, span);
                Val::new(equal(value.expr, other, span), Ty::Boolean)
            }
            (Ty::Boxed(a), "equals", [other]) => match &other.ty {
                Ty::Boxed(b) if a == b => Val::new(equal(value.expr, other.expr.clone(), span), Ty::Boolean),
                Ty::Int(_) | Ty::Boolean if **a == other.ty => {
                    let ty = value.ty.clone();
                    let other = self.convert(other.clone(), &ty, span);
                    Val::new(equal(value.expr, other, span), Ty::Boolean)
                }
                _ => self.unknown("`equals` of these", span),
            },
            (Ty::Boxed(_), "intValue", []) => self.unboxed_as(value, &Ty::INT, span),
            (Ty::Boxed(_), "longValue", []) => self.unboxed_as(value, &Ty::Int(Width::Long), span),
            (Ty::Boxed(_), "booleanValue", []) => self.unboxed_as(value, &Ty::Boolean, span),
            (Ty::Unknown, ..) => Val::new(boolean(false, span), Ty::Unknown),
            _ => self.unknown(&format!("`{}.{method}`", value.ty.spelled()), span),
        }
    }

    fn unboxed_as(&mut self, value: Val, ty: &Ty, span: Span) -> Val {
        let value = self.unboxed(value, span);
        let expr = self.convert(value, ty, span);
        Val::new(expr, ty.clone())
    }

    /// The number in an object, which must be there.
    pub(super) fn unboxed(&mut self, value: Val, span: Span) -> Val {
        let Ty::Boxed(inner) = value.ty.clone() else { return value };
        let there = not(equal(value.expr.clone(), int(NO_NUMBER, span), span), span);
        self.check(Checked::Null, there, span);
        let expr = match &*inner {
            Ty::Boolean => equal(value.expr, int(1, span), span),
            ty => {
                let ty = self.tp_type(ty, span);
                convert(ty, value.expr, span)
            }
        };
        Val::new(expr, *inner)
    }

    /// A number as an object.
    pub(super) fn boxed(&mut self, value: Val, inner: &Ty, span: Span) -> Expr {
        let plain = self.convert(value, inner, span);
        match inner {
            Ty::Boolean => if_then_else(plain, int(1, span), int(0, span), span),
            _ => as_int(plain, span),
        }
    }

    /// Comparing objects that are numbers or strings.
    pub(super) fn scalar_equality(&mut self, op: BinaryOp, a: Val, b: Val, span: Span) -> Val {
        let operator = if op == BinaryOp::Equal { Binary::Equal } else { Binary::NotEqual };
        let (left, right) = match (&a.ty, &b.ty) {
            (Ty::Boxed(_), Ty::Boxed(_)) => return self.unknown("whether two number objects are the same", span),
            (Ty::Boxed(_), Ty::Null) => (a.expr, int(NO_NUMBER, span)),
            (Ty::Null, Ty::Boxed(_)) => (int(NO_NUMBER, span), b.expr),
            (Ty::Boxed(_), _) => {
                let a = self.unboxed(a, span);
                return self.operate(op, a, b, span);
            }
            (_, Ty::Boxed(_)) => {
                let b = self.unboxed(b, span);
                return self.operate(op, a, b, span);
            }
            (Ty::Text, Ty::Text) => {
                self.known_text(&a.expr, span);
                self.known_text(&b.expr, span);
                (a.expr, b.expr)
            }
            (Ty::Null, _) => (int(0, span), b.expr),
            (_, Ty::Null) => (a.expr, int(0, span)),
            (Ty::Thrown(_), Ty::Thrown(_)) => return self.unknown("whether two exceptions are the same", span),
            _ => return self.unknown("this comparison", span),
        };
        Val::new(binary(operator, left, right, span), Ty::Boolean)
    }

    /// A new local of the model's integers without a value.
    pub(super) fn open_int(&mut self, base: &str, span: Span) -> Expr {
        let fresh = self.fresh(base);
        let ty = Spanned::new(ast::TypeKind::Int, span);
        self.push(ast::StmtKind::Local { name: name(&fresh, span), ty, value: None }, span);
        var(fresh, span)
    }
}
