//! Expressions, types and actions on one line, with no more parentheses than the grammar needs.
//!
//! In: a tree. Out: its text on one line; reading it again gives an equal tree.

use crate::lang::ast::{
    ActionDecl, Binary, CallExpr, Expr, ExprKind, Param, Performs, PerformsKind, Prime, QuantifierWord, Radix,
    Strength, Type, TypeKind, Unary,
};
use std::fmt::Write;

/// An expression as text.
pub(crate) fn expr_text(expr: &Expr) -> String {
    let mut out = String::new();
    expr_to(&mut out, expr, Strength::Open);
    out
}

pub(super) fn strength(kind: &ExprKind) -> Strength {
    match kind {
        ExprKind::If(_) | ExprKind::Quantified(..) => Strength::Open,
        ExprKind::Or(_) => Strength::Or,
        ExprKind::And(_) => Strength::And,
        ExprKind::Binary(op, ..) => op.strength(),
        ExprKind::Unary(..) => Strength::Unary,
        _ => Strength::Postfix,
    }
}

/// Prints an expression where the weakest operator allowed without parentheses is given.
pub(super) fn expr_to(out: &mut String, expr: &Expr, weakest: Strength) {
    if strength(&expr.kind) < weakest {
        out.push('(');
        bare(out, expr);
        out.push(')');
    } else {
        bare(out, expr);
    }
}

/// The weakest operators allowed left and right of a binary operator.
pub(super) fn sides(op: Binary) -> (Strength, Strength) {
    match op.strength() {
        // What is open to the right may stand at the right end of an implication.
        Strength::Implies => (Strength::Iff, Strength::Open),
        Strength::Iff => (Strength::Iff, Strength::Or),
        Strength::Compare => (Strength::Add, Strength::Add),
        Strength::Add => (Strength::Add, Strength::Multiply),
        _ => (Strength::Multiply, Strength::Unary),
    }
}

fn bare(out: &mut String, expr: &Expr) {
    match &expr.kind {
        ExprKind::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        ExprKind::Int(value, Radix::Decimal) => display(out, value),
        ExprKind::Int(value, Radix::Hexadecimal) => display(out, format_args!("{value:#x}")),
        ExprKind::Null => out.push_str("null"),
        ExprKind::Tid => out.push_str("tid"),
        ExprKind::Unknown | ExprKind::Error => out.push('?'),
        ExprKind::Name(name, prime) => {
            out.push_str(name);
            prime_to(out, *prime);
        }
        ExprKind::Unary(op, operand) => {
            out.push(match op {
                Unary::Not => '!',
                Unary::Negate => '-',
            });
            expr_to(out, operand, Strength::Unary);
        }
        ExprKind::Binary(op, left, right) => {
            let (weakest_left, weakest_right) = sides(*op);
            expr_to(out, left, weakest_left);
            display(out, format_args!(" {} ", op.text()));
            expr_to(out, right, weakest_right);
        }
        ExprKind::And(parts) => joined(out, parts, " && ", Strength::Compare),
        ExprKind::Or(parts) => joined(out, parts, " || ", Strength::And),
        ExprKind::If(parts) => {
            out.push_str("if ");
            expr_to(out, &parts[0], Strength::Open);
            out.push_str(" then ");
            expr_to(out, &parts[1], Strength::Open);
            out.push_str(" else ");
            expr_to(out, &parts[2], Strength::Open);
        }
        ExprKind::Quantified(quantifier, binders, body) => {
            out.push_str(match quantifier {
                QuantifierWord::Forall => "forall ",
                QuantifierWord::Exists => "exists ",
            });
            params_to(out, binders);
            out.push_str(" :: ");
            expr_to(out, body, Strength::Open);
        }
        ExprKind::Index(base, key) => {
            expr_to(out, base, Strength::Postfix);
            out.push('[');
            expr_to(out, key, Strength::Open);
            out.push(']');
        }
        ExprKind::Update(parts) => {
            expr_to(out, &parts[0], Strength::Postfix);
            out.push('[');
            expr_to(out, &parts[1], Strength::Open);
            out.push_str(" := ");
            expr_to(out, &parts[2], Strength::Open);
            out.push(']');
        }
        ExprKind::Slice(base, from, to) => {
            expr_to(out, base, Strength::Postfix);
            out.push('[');
            if let Some(from) = from {
                expr_to(out, from, Strength::Open);
            }
            out.push_str("..");
            if let Some(to) = to {
                expr_to(out, to, Strength::Open);
            }
            out.push(']');
        }
        ExprKind::Field(base, field, prime) => {
            expr_to(out, base, Strength::Postfix);
            out.push('.');
            out.push_str(&field.kind);
            prime_to(out, *prime);
        }
        ExprKind::Set(items) => {
            out.push('{');
            joined(out, items, ", ", Strength::Open);
            out.push('}');
        }
        ExprKind::Seq(items) => {
            out.push('[');
            joined(out, items, ", ", Strength::Open);
            out.push(']');
        }
        ExprKind::Call(call) => call_to(out, call),
        // No text says it; a tree that has it is never formatted.
        ExprKind::Foreign(_) => out.push('?'),
        ExprKind::Convert(ty, inner) => {
            type_to(out, ty);
            out.push('(');
            expr_to(out, inner, Strength::Open);
            out.push(')');
        }
    }
}

fn display(out: &mut String, value: impl std::fmt::Display) {
    write!(out, "{value}").expect("writing to a string does not fail");
}

fn prime_to(out: &mut String, prime: Prime) {
    if prime == Prime::After {
        out.push('\'');
    }
}

pub(super) fn joined(out: &mut String, exprs: &[Expr], between: &str, weakest: Strength) {
    for (index, expr) in exprs.iter().enumerate() {
        if index > 0 {
            out.push_str(between);
        }
        expr_to(out, expr, weakest);
    }
}

pub(super) fn call_to(out: &mut String, call: &CallExpr) {
    if let Some(object) = &call.object {
        out.push_str(&object.kind);
        out.push('.');
    }
    out.push_str(&call.name.kind);
    out.push('(');
    joined(out, &call.args, ", ", Strength::Open);
    out.push(')');
}

pub(super) fn params_to(out: &mut String, params: &[Param]) {
    for (index, param) in params.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(&param.name.kind);
        out.push_str(": ");
        type_to(out, &param.ty);
    }
}

pub(super) fn type_to(out: &mut String, ty: &Type) {
    match &ty.kind {
        TypeKind::Bool => out.push_str("bool"),
        TypeKind::Int => out.push_str("int"),
        TypeKind::Machine(machine) => display(out, machine),
        TypeKind::Lock => out.push_str("lock"),
        TypeKind::Named(name) => out.push_str(name),
        TypeKind::Map(key, value) => {
            out.push('[');
            type_to(out, key);
            out.push(']');
            type_to(out, value);
        }
        TypeKind::Set(inner) => {
            out.push_str("set<");
            type_to(out, inner);
            out.push('>');
        }
        TypeKind::Seq(inner) => {
            out.push_str("seq<");
            type_to(out, inner);
            out.push('>');
        }
        TypeKind::Error => out.push('?'),
    }
}

pub(super) fn action_to(out: &mut String, action: &ActionDecl) {
    if let Some(label) = &action.label {
        out.push_str(&label.kind);
        out.push_str(": ");
    }
    frame_to(out, action);
    expr_to(out, &action.formula, Strength::Open);
    if let Some(asserting) = &action.asserting {
        out.push_str(" asserting ");
        expr_to(out, asserting, Strength::Open);
    }
}

/// `<new n, x> `.
pub(super) fn frame_to(out: &mut String, action: &ActionDecl) {
    out.push('<');
    if let Some(makes) = &action.makes {
        out.push_str("new ");
        out.push_str(&makes.kind);
        out.push_str(if action.frame.is_empty() { "" } else { ", " });
    }
    joined(out, &action.frame, ", ", Strength::Open);
    out.push_str("> ");
}

/// How strongly the parts of a `performs` hold together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hold {
    Or,
    Then,
    Single,
}

pub(super) fn performs_to(out: &mut String, performs: &Performs, weakest: Hold) {
    let hold = match &performs.kind {
        PerformsKind::Or(_) => Hold::Or,
        PerformsKind::Then(_) => Hold::Then,
        _ => Hold::Single,
    };
    if hold < weakest {
        out.push('(');
        performs_to(out, performs, Hold::Or);
        out.push(')');
        return;
    }
    match &performs.kind {
        PerformsKind::Action(action) => action_to(out, action),
        PerformsKind::Or(parts) => performs_joined(out, parts, " [] ", Hold::Then),
        PerformsKind::Then(parts) => performs_joined(out, parts, "; ", Hold::Single),
        PerformsKind::Repeat(inner) => {
            out.push('(');
            performs_to(out, inner, Hold::Or);
            out.push_str(")*");
        }
        PerformsKind::Error => out.push('?'),
    }
}

pub(super) fn performs_joined(out: &mut String, parts: &[Performs], between: &str, weakest: Hold) {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push_str(between);
        }
        performs_to(out, part, weakest);
    }
}
