//! Walks over the typed tree: which variables a piece of code assigns, which functions it calls.

use crate::c::ast::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a piece of code does, as far as its text shows.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    pub assigned: BTreeSet<VarId>,
    /// Variables that are named at all.
    pub used: BTreeSet<VarId>,
    pub calls: BTreeSet<FnId>,
    pub indirect: bool,
    /// An array is indexed by something that is not constant.
    pub indexes: bool,
    /// Labels jumped to, with the place of the last jump.
    pub gotos: BTreeMap<LabelId, u32>,
}

pub(super) fn effects_of(stmts: &[&Stmt], exprs: &[&Expr]) -> Effects {
    let mut effects = Effects::default();
    stmts.iter().for_each(|s| statement(s, &mut effects));
    exprs.iter().for_each(|e| expression(e, &mut effects));
    effects
}

fn statement(stmt: &Stmt, out: &mut Effects) {
    match &stmt.kind {
        StmtKind::Expr(e) => expression(e, out),
        StmtKind::Declare(v, init) => {
            out.assigned.insert(*v);
            init.iter().for_each(|i| initialiser(i, out));
        }
        StmtKind::Block(list) => list.iter().for_each(|s| statement(s, out)),
        StmtKind::If(c, a, b) => {
            expression(c, out);
            statement(a, out);
            b.iter().for_each(|b| statement(b, out));
        }
        StmtKind::While(c, b) | StmtKind::DoWhile(b, c) | StmtKind::Switch(c, b) => {
            expression(c, out);
            statement(b, out);
        }
        StmtKind::For { init, cond, step, body } => {
            init.iter().for_each(|s| statement(s, out));
            cond.iter().for_each(|e| expression(e, out));
            step.iter().for_each(|e| expression(e, out));
            statement(body, out);
        }
        StmtKind::Return(e) => e.iter().for_each(|e| expression(e, out)),
        StmtKind::Goto(l) => {
            let at = out.gotos.entry(*l).or_insert(0);
            *at = (*at).max(stmt.span.start);
        }
        _ => {}
    }
}

fn initialiser(init: &Init, out: &mut Effects) {
    match init {
        Init::Value(e) => expression(e, out),
        Init::Parts(parts) => parts.iter().for_each(|p| expression(&p.value, out)),
    }
}

fn assign(p: &Place, out: &mut Effects) {
    let mut at = p;
    loop {
        match &at.kind {
            PlaceKind::Var(v) => {
                out.assigned.insert(*v);
                break;
            }
            PlaceKind::Field(inner, _) | PlaceKind::Index(inner, _) => at = inner,
            _ => break,
        }
    }
    place(p, out);
}

fn place(p: &Place, out: &mut Effects) {
    match &p.kind {
        PlaceKind::Deref(e) | PlaceKind::Value(e) => {
            if let ExprKind::PointerAdd { index, .. } = &e.kind {
                out.indexes |= index.as_const().is_none();
            }
            expression(e, out);
        }
        PlaceKind::Field(inner, _) => place(inner, out),
        PlaceKind::Index(inner, e) => {
            out.indexes |= e.as_const().is_none();
            place(inner, out);
            expression(e, out);
        }
        PlaceKind::Var(v) => {
            out.used.insert(*v);
        }
        PlaceKind::Text(_) | PlaceKind::Unmodelled(_) => {}
    }
}

fn expression(e: &Expr, out: &mut Effects) {
    match &e.kind {
        ExprKind::Load(p) | ExprKind::Address(p) => place(p, out),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Not(a) => expression(a, out),
        ExprKind::Binary(_, a, b)
        | ExprKind::Compare(_, a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::Elvis(a, b)
        | ExprKind::Comma(a, b)
        | ExprKind::PointerDiff { left: a, right: b, .. }
        | ExprKind::PointerAdd { pointer: a, index: b, .. } => {
            expression(a, out);
            expression(b, out);
        }
        ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|x| expression(x, out)),
        ExprKind::Assign(p, v)
        | ExprKind::AssignOp { place: p, value: v, .. }
        | ExprKind::AssignPointer { place: p, index: v, .. } => {
            assign(p, out);
            expression(v, out);
        }
        ExprKind::Increment { place: p, .. } => assign(p, out),
        ExprKind::Call(callee, args) => {
            match callee {
                Callee::Direct(f) => {
                    out.calls.insert(*f);
                }
                Callee::Pointer(p) => {
                    out.indirect = true;
                    expression(p, out);
                }
            }
            args.iter().for_each(|a| expression(a, out));
        }
        ExprKind::Statements(list, value) => {
            list.iter().for_each(|s| statement(s, out));
            value.iter().for_each(|v| expression(v, out));
        }
        ExprKind::Literal(v, init, value) => {
            out.assigned.insert(*v);
            initialiser(init, out);
            expression(value, out);
        }
        ExprKind::Float { parts, .. } => parts.iter().for_each(|p| expression(p, out)),
        ExprKind::Const(_) | ExprKind::FunctionAddress(_) | ExprKind::TextAddress(_) | ExprKind::Unmodelled(_) => {}
    }
}
