//! Small pieces of the tree of `.tp` programs, made by the translation.
//!
//! In: parts. Out: nodes of the tree.

use crate::lang::ast::{
    self, AssignedValue, Expr, ExprKind, Foreign, Name, Prime, Radix, Sign, SourceSpan, Spanned, Stmt, StmtKind,
};
use base::Span;

pub(super) fn name(text: impl Into<String>, span: Span) -> Name {
    Spanned::new(text.into().into_boxed_str(), span)
}

pub(super) fn var(text: impl Into<String>, span: Span) -> Expr {
    Spanned::new(ExprKind::Name(text.into().into_boxed_str(), Prime::Before), span)
}

pub(super) fn int(value: i128, span: Span) -> Expr {
    let literal = Spanned::new(ExprKind::Int(value.abs(), Radix::Decimal), span);
    if value < 0 { Spanned::new(ExprKind::Unary(ast::Unary::Negate, Box::new(literal)), span) } else { literal }
}

pub(super) fn boolean(value: bool, span: Span) -> Expr {
    Spanned::new(ExprKind::Bool(value), span)
}

pub(super) fn null(span: Span) -> Expr {
    Spanned::new(ExprKind::Null, span)
}

pub(super) fn tid(span: Span) -> Expr {
    Spanned::new(ExprKind::Tid, span)
}

pub(super) fn field(base: Expr, text: impl Into<String>, span: Span) -> Expr {
    Spanned::new(ExprKind::Field(Box::new(base), name(text, span), Prime::Before), span)
}

pub(super) fn index(base: Expr, key: Expr, span: Span) -> Expr {
    Spanned::new(ExprKind::Index(Box::new(base), Box::new(key)), span)
}

pub(super) fn binary(op: ast::Binary, left: Expr, right: Expr, span: Span) -> Expr {
    Spanned::new(ExprKind::Binary(op, Box::new(left), Box::new(right)), span)
}

pub(super) fn equal(left: Expr, right: Expr, span: Span) -> Expr {
    binary(ast::Binary::Equal, left, right, span)
}

pub(super) fn not(operand: Expr, span: Span) -> Expr {
    Spanned::new(ExprKind::Unary(ast::Unary::Not, Box::new(operand)), span)
}

pub(super) fn negate(operand: Expr, span: Span) -> Expr {
    Spanned::new(ExprKind::Unary(ast::Unary::Negate, Box::new(operand)), span)
}

pub(super) fn and(parts: Vec<Expr>, span: Span) -> Expr {
    Spanned::new(ExprKind::And(parts), span)
}

pub(super) fn or(parts: Vec<Expr>, span: Span) -> Expr {
    Spanned::new(ExprKind::Or(parts), span)
}

pub(super) fn if_then_else(condition: Expr, yes: Expr, no: Expr, span: Span) -> Expr {
    Spanned::new(ExprKind::If(Box::new([condition, yes, no])), span)
}

pub(super) fn foreign(what: Foreign, span: Span) -> Expr {
    Spanned::new(ExprKind::Foreign(Box::new(what)), span)
}

/// An object that is known not to be null.
pub(super) fn present(object: Expr) -> Expr {
    let span = object.span;
    if matches!(&object.kind, ExprKind::Foreign(f) if matches!(**f, Foreign::Present(_))) {
        return object;
    }
    foreign(Foreign::Present(object), span)
}

pub(super) fn machine(bits: u32, sign: Sign, span: Span) -> ast::Type {
    Spanned::new(ast::TypeKind::Machine(ast::MachineInt { bits, sign }), span)
}

pub(super) fn convert(ty: ast::Type, operand: Expr, span: Span) -> Expr {
    Spanned::new(ExprKind::Convert(ty, Box::new(operand)), span)
}

pub(super) fn as_int(operand: Expr, span: Span) -> Expr {
    convert(Spanned::new(ast::TypeKind::Int, span), operand, span)
}

pub(super) fn set(items: Vec<Expr>, span: Span) -> Expr {
    Spanned::new(ExprKind::Set(items), span)
}

pub(super) fn block(stmts: Vec<Stmt>, span: Span) -> ast::Block {
    Spanned::new(stmts, span)
}

pub(super) fn assign(target: Expr, value: Expr, span: Span) -> Stmt {
    Spanned::new(StmtKind::Assign { targets: vec![target], value: AssignedValue::Exprs(vec![value]) }, span)
}

pub(super) fn if_else(condition: Expr, yes: Vec<Stmt>, no: Option<Vec<Stmt>>, span: Span) -> Stmt {
    let arm = ast::Arm { condition: ast::Condition::Expr(condition), body: block(yes, span) };
    Spanned::new(StmtKind::If { arms: vec![arm], otherwise: no.map(|n| block(n, span)) }, span)
}

pub(super) fn while_loop(condition: Expr, body: Vec<Stmt>, span: Span) -> Stmt {
    let condition = ast::Condition::Expr(condition);
    Spanned::new(StmtKind::While { condition, invariants: Vec::new(), body: block(body, span) }, span)
}

/// One step: an atomic block, unless there is only one statement.
pub(super) fn step(mut stmts: Vec<Stmt>, span: Span) -> Stmt {
    if stmts.len() == 1 {
        return stmts.remove(0);
    }
    Spanned::new(StmtKind::Atomic(block(stmts, span)), span)
}

pub(super) fn call(callee: &str, args: Vec<Expr>, span: Span) -> ast::CallExpr {
    ast::CallExpr { object: None, name: name(callee, span), args, span: SourceSpan(span) }
}

/// A formula whose reading is no access.
pub(super) fn peek(e: Expr, span: Span) -> Expr {
    foreign(Foreign::Peek(e), span)
}

/// That an object is null or was made by the thread at hand.
pub(super) fn own(object: Expr, span: Span) -> Expr {
    Spanned::new(ExprKind::Call(Box::new(call("own", vec![object], span))), span)
}
