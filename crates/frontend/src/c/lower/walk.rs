//! Walks over the typed tree: which variables a piece of code assigns, which functions it calls.
//!
//! In: statements and expressions. Out: `Effects`. Deliberately absent: effects through pointers; memory whose address
//! is taken is treated apart.

use crate::c::ast::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a piece of code does, as far as its text shows.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    pub assigned: BTreeSet<VarId>,
    /// Variables that are named at all.
    pub used: BTreeSet<VarId>,
    pub calls: BTreeSet<FnId>,
    /// The places of direct calls.
    pub(crate) call_sites: Vec<(FnId, base::Span)>,
    pub(crate) indirect: bool,
    /// An array is indexed by something that is not constant.
    pub(crate) indexes: bool,
    /// Labels jumped to, with the last jump, and labels: by their order in the text, which is not that of their places where files
    /// are included or `#line` says otherwise.
    pub(crate) gotos: BTreeMap<LabelId, u32>,
    pub labels: BTreeMap<LabelId, u32>,
    statements: u32,
}

pub(super) fn effects_of(stmts: &[&Stmt], exprs: &[&Expr]) -> Effects {
    let mut effects = Effects::default();
    stmts.iter().for_each(|s| statement(s, &mut effects));
    exprs.iter().for_each(|e| expression(e, &mut effects));
    effects
}

fn statement(stmt: &Stmt, out: &mut Effects) {
    out.statements += 1;
    match &stmt.kind {
        CStmtKind::Expr(e) => expression(e, out),
        CStmtKind::Declare(v, init) => {
            out.assigned.insert(*v);
            init.iter().for_each(|i| initialiser(i, out));
        }
        CStmtKind::Block(list) => list.iter().for_each(|s| statement(s, out)),
        CStmtKind::If(c, a, b) => {
            expression(c, out);
            statement(a, out);
            b.iter().for_each(|b| statement(b, out));
        }
        CStmtKind::While(c, b) | CStmtKind::DoWhile(b, c) | CStmtKind::Switch(c, b) => {
            expression(c, out);
            statement(b, out);
        }
        CStmtKind::For { init, cond, step, body } => {
            init.iter().for_each(|s| statement(s, out));
            cond.iter().for_each(|e| expression(e, out));
            step.iter().for_each(|e| expression(e, out));
            statement(body, out);
        }
        CStmtKind::Return(e) => e.iter().for_each(|e| expression(e, out)),
        CStmtKind::Goto(l) => {
            out.gotos.insert(*l, out.statements);
        }
        CStmtKind::Label(l) => {
            out.labels.insert(*l, out.statements);
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

fn assign(p: &LValue, out: &mut Effects) {
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

fn place(p: &LValue, out: &mut Effects) {
    match &p.kind {
        PlaceKind::Deref(e) | PlaceKind::Value(e) => {
            if let CExprKind::PointerAdd { index, .. } = &e.kind {
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
        CExprKind::Load(p) | CExprKind::Address(p) => place(p, out),
        CExprKind::Unary(_, a) | CExprKind::Cast(a) | CExprKind::Not(a) | CExprKind::VaArg(a) => expression(a, out),
        CExprKind::Binary(_, a, b)
        | CExprKind::Compare(_, a, b)
        | CExprKind::And(a, b)
        | CExprKind::Or(a, b)
        | CExprKind::Elvis(a, b)
        | CExprKind::Comma(a, b)
        | CExprKind::PointerDiff { left: a, right: b, .. }
        | CExprKind::PointerAdd { pointer: a, index: b, .. } => {
            expression(a, out);
            expression(b, out);
        }
        CExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|x| expression(x, out)),
        CExprKind::Assign(p, v)
        | CExprKind::AssignOp { place: p, value: v, .. }
        | CExprKind::AssignPointer { place: p, index: v, .. } => {
            assign(p, out);
            expression(v, out);
        }
        CExprKind::Increment { place: p, .. } => assign(p, out),
        CExprKind::Call(callee, args) => {
            match callee {
                CCallee::Direct(f) => {
                    out.calls.insert(*f);
                    out.call_sites.push((*f, e.span));
                }
                CCallee::Pointer(p) => {
                    out.indirect = true;
                    expression(p, out);
                }
            }
            args.iter().for_each(|a| expression(a, out));
        }
        CExprKind::Statements(list, value) => {
            list.iter().for_each(|s| statement(s, out));
            value.iter().for_each(|v| expression(v, out));
        }
        CExprKind::Literal(v, init, value) => {
            out.assigned.insert(*v);
            initialiser(init, out);
            expression(value, out);
        }
        CExprKind::Float { parts, .. } => parts.iter().for_each(|p| expression(p, out)),
        CExprKind::Const(_) | CExprKind::FunctionAddress(_) | CExprKind::TextAddress(_) | CExprKind::Unmodelled(_) => {}
    }
}
